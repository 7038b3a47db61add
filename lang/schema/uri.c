/* uri.c -- references to URIs, RFC 3986 section 5.2.
 *
 * Nothing is fetched with them: they are names, compared byte by byte after
 * resolving.  So nothing is checked, and no letter is changed, either: two
 * spellings of one name are two names, as section 6.1 allows.
 */
#include "lang/schema/uri.h"

#include <stdbool.h>
#include <string.h>

/* Parts of a text; .n counts the delimiters that belong to the part: "http:",
 * "//host", "/path", "?query", "#fragment". */
struct part {
    const char *p;
    size_t n;
};

struct uri {
    struct part scheme, authority, path, query, fragment;
};

static struct part take(const char **p, size_t n)
{
    struct part part = {*p, n};

    *p += n;
    return part;
}

/* The delimiters of appendix B's expression. */
static struct uri split(const char *text)
{
    struct uri u = {.scheme = {text, 0}};
    size_t n = strcspn(text, ":/?#");
    const char *p = text;

    if (n > 0 && text[n] == ':')
        u.scheme = take(&p, n + 1);
    u.authority = take(&p, 0);
    if (p[0] == '/' && p[1] == '/')
        u.authority = take(&p, 2 + strcspn(p + 2, "/?#"));
    u.path = take(&p, strcspn(p, "?#"));
    u.query = take(&p, strcspn(p, "#"));
    u.fragment = take(&p, strlen(p));
    return u;
}

static bool starts(const char *p, const char *end, const char *with)
{
    size_t n = strlen(with);

    return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

static bool is(const char *p, const char *end, const char *text)
{
    return starts(p, end, text) && (size_t)(end - p) == strlen(text);
}

/* Section 5.2.4, in place; returns the new length.  `path` has a leading
 * slash or is left as it is. */
static size_t remove_dots(char *path, size_t n)
{
    char *in = path, *end = path + n, *out = path;

    while (in < end && *in == '/') {
        if (starts(in, end, "/./")) {
            in += 2;
        } else if (is(in, end, "/.")) {
            in[1] = '/';
            in++;
        } else if (starts(in, end, "/../") || is(in, end, "/..")) {
            while (out > path && *--out != '/')
                ;
            in += 3;
            if (in == end)
                *--in = '/';
        } else {
            do
                *out++ = *in++;
            while (in < end && *in != '/');
        }
    }
    while (in < end)
        *out++ = *in++;
    return (size_t)(out - path);
}

static char *put(char *out, struct part part)
{
    memcpy(out, part.p, part.n);
    return out + part.n;
}

/* Section 5.2.3: all of the base's path but its last segment. */
static char *put_merged(char *out, const struct uri *base, struct part path)
{
    char *from = out;

    if (base->authority.n > 0 && base->path.n == 0) {
        *out++ = '/';
    } else {
        out = put(out, base->path);
        while (out > from && out[-1] != '/')
            out--;
    }
    out = put(out, path);
    return from + remove_dots(from, (size_t)(out - from));
}

static char *put_plain(char *out, struct part path)
{
    put(out, path);
    return out + remove_dots(out, path.n);
}

/* The path and the query; `ref` has neither scheme nor authority. */
static char *put_below(char *out, const struct uri *base, const struct uri *ref)
{
    if (ref->path.n == 0) {
        out = put(out, base->path);
        return put(out, ref->query.n > 0 ? ref->query : base->query);
    }
    out = ref->path.p[0] == '/' ? put_plain(out, ref->path)
                                : put_merged(out, base, ref->path);
    return put(out, ref->query);
}

char *mortise_uri_resolve(struct mortise_arena *a, const char *base,
                          const char *ref)
{
    struct uri b = split(base), r = split(ref);
    char *text = mortise_arena_alloc(a, strlen(base) + strlen(ref) + 2);
    char *out = text;
    bool whole = r.scheme.n > 0 || r.authority.n > 0;

    if (text == NULL)
        return NULL;
    out = put(out, r.scheme.n > 0 ? r.scheme : b.scheme);
    out = put(out, whole ? r.authority : b.authority);
    if (whole)
        out = put(put_plain(out, r.path), r.query);
    else
        out = put_below(out, &b, &r);
    out = put(out, r.fragment);
    *out = '\0';
    return text;
}
