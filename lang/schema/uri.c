/* uri.c -- resolving references to URIs, RFC 3986 section 5.2.
 *
 * Nothing is fetched: URIs are names, compared byte by byte after resolving.
 * So they are neither checked nor normalized: two spellings of one name are two
 * names, as section 6.1 allows.
 */
#include "lang/schema/uri.h"

#include <stdbool.h>
#include <string.h>

/* A part of a text. .n includes the delimiters of the part: "http:", "//host",
 * "/path", "?query", "#fragment". */
struct part {
    const char *p;
    size_t n;
};

struct uri {
    struct part scheme, authority, path, query, fragment;
};

static struct part take_uri_part(const char **p, size_t n)
{
    struct part part = {*p, n};

    *p += n;
    return part;
}

/* Split at the delimiters of the expression in appendix B. */
static struct uri split_uri(const char *text)
{
    struct uri u = {.scheme = {text, 0}};
    size_t n = strcspn(text, ":/?#");
    const char *p = text;

    if (n > 0 && text[n] == ':')
        u.scheme = take_uri_part(&p, n + 1);
    u.authority = take_uri_part(&p, 0);
    if (p[0] == '/' && p[1] == '/')
        u.authority = take_uri_part(&p, 2 + strcspn(p + 2, "/?#"));
    u.path = take_uri_part(&p, strcspn(p, "?#"));
    u.query = take_uri_part(&p, strcspn(p, "#"));
    u.fragment = take_uri_part(&p, strlen(p));
    return u;
}

static bool text_starts_with(const char *p, const char *end, const char *with)
{
    size_t n = strlen(with);

    return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

static bool text_equals(const char *p, const char *end, const char *text)
{
    return text_starts_with(p, end, text) && (size_t)(end - p) == strlen(text);
}

/* Section 5.2.4, in place; returns the new length.  A `path` without a leading
 * slash is not changed. */
static size_t remove_dot_segments(char *path, size_t n)
{
    char *in = path, *end = path + n, *out = path;

    while (in < end && *in == '/') {
        if (text_starts_with(in, end, "/./")) {
            in += 2;
        } else if (text_equals(in, end, "/.")) {
            in[1] = '/';
            in++;
        } else if (text_starts_with(in, end, "/../") ||
                   text_equals(in, end, "/..")) {
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

static char *append_uri_part(char *out, struct part part)
{
    memcpy(out, part.p, part.n);
    return out + part.n;
}

/* Section 5.2.3: the base's path without its last segment, then the path. */
static char *append_merged_path(char *out, const struct uri *base,
                                struct part path)
{
    char *from = out;

    if (base->authority.n > 0 && base->path.n == 0) {
        *out++ = '/';
    } else {
        out = append_uri_part(out, base->path);
        while (out > from && out[-1] != '/')
            out--;
    }
    out = append_uri_part(out, path);
    return from + remove_dot_segments(from, (size_t)(out - from));
}

static char *append_plain_path(char *out, struct part path)
{
    append_uri_part(out, path);
    return out + remove_dot_segments(out, path.n);
}

/* Append the path and the query; `ref` has neither a scheme nor an
 * authority. */
static char *append_relative_path(char *out, const struct uri *base,
                                  const struct uri *ref)
{
    if (ref->path.n == 0) {
        out = append_uri_part(out, base->path);
        return append_uri_part(out,
                               ref->query.n > 0 ? ref->query : base->query);
    }
    out = ref->path.p[0] == '/' ? append_plain_path(out, ref->path)
                                : append_merged_path(out, base, ref->path);
    return append_uri_part(out, ref->query);
}

char *mortise_uri_resolve(struct mortise_arena *a, const char *base,
                          const char *ref)
{
    struct uri b = split_uri(base), r = split_uri(ref);
    char *text = mortise_arena_alloc(a, strlen(base) + strlen(ref) + 2);
    char *out = text;
    bool whole = r.scheme.n > 0 || r.authority.n > 0;

    if (text == NULL)
        return NULL;
    out = append_uri_part(out, r.scheme.n > 0 ? r.scheme : b.scheme);
    out = append_uri_part(out, whole ? r.authority : b.authority);
    if (whole)
        out = append_uri_part(append_plain_path(out, r.path), r.query);
    else
        out = append_relative_path(out, &b, &r);
    out = append_uri_part(out, r.fragment);
    *out = '\0';
    return text;
}
