/* url.h -- where a page leads: URLs as RFC 3986 reads them, one member of a
 * query, and the Link header of RFC 8288.
 *
 *   (1) Text in, text out: nothing is asked, and no URL is judged to be one.
 *       Who requests it does that.
 *   (2) A fragment is no part of what is requested: it is left out.
 *
 * Threads    No state: [any]. */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include <strings.h>

#include "../../bytes.h"

/* ---- parts --------------------------------------------------------------- */

/* Slices of a URL or of a reference; p NULL: there is no such part. */
struct url {
    mortise_str scheme, authority, query;
    mortise_str path; /* may be empty */
};

MORTISE_INLINE int url_is_among(char c, const char *these)
{
    return c != '\0' && strchr(these, c) != NULL;
}

/* What is in front of the first of some characters; *s begins there then. */
MORTISE_INLINE mortise_str url_until(mortise_str *s, const char *stops)
{
    mortise_str out = *s;

    for (out.n = 0; out.n < s->n && !url_is_among(s->p[out.n], stops);)
        out.n++;
    s->p += out.n;
    s->n -= out.n;
    return out;
}

MORTISE_INLINE int url_begins(mortise_str s, const char *text)
{
    size_t n = strlen(text);

    return s.n >= n && memcmp(s.p, text, n) == 0;
}

/* As the expression of RFC 3986, appendix B. */
MORTISE_INLINE struct url url_split(mortise_str text)
{
    mortise_str rest = text, first = url_until(&rest, ":/?#");
    struct url out;

    memset(&out, 0, sizeof out);
    if (first.n > 0 && rest.n > 0 && rest.p[0] == ':') {
        out.scheme = first;
        rest = mortise_strn(rest.p + 1, rest.n - 1);
    } else {
        rest = text;
    }
    if (url_begins(rest, "//")) {
        rest = mortise_strn(rest.p + 2, rest.n - 2);
        out.authority = url_until(&rest, "/?#");
    }
    out.path = url_until(&rest, "?#");
    if (url_begins(rest, "?")) {
        rest = mortise_strn(rest.p + 1, rest.n - 1);
        out.query = url_until(&rest, "#");
    }
    return out;
}

/* ---- where a reference leads --------------------------------------------- */

/* A path that begins with a slash, or is empty, without "." and "..". */
MORTISE_INLINE mortise_status url_put_path(struct bytes *out, mortise_str path)
{
    uint64_t start = out->n;
    mortise_status status = MORTISE_S_OK;

    while (path.n > 0 && status == MORTISE_S_OK) {
        mortise_str rest = mortise_strn(path.p + 1, path.n - 1);
        mortise_str segment = url_until(&rest, "/");
        int up = mortise_str_is(segment, "..");

        while (up && out->n > start && out->p[--out->n] != '/')
            ;
        if (!up && !mortise_str_is(segment, "."))
            status = bytes_put(out, mortise_strn(path.p, segment.n + 1));
        else if (rest.n == 0)
            status = bytes_put(out, mortise_strz("/"));
        path = rest;
    }
    return status;
}

/* One that is relative to that of a URL. */
MORTISE_INLINE mortise_status url_merge(struct bytes *out, struct url base,
                                        mortise_str path)
{
    uint64_t n = base.path.n;
    mortise_status status;

    while (n > 0 && base.path.p[n - 1] != '/')
        n--;
    status = n > 0 ? bytes_put(out, mortise_strn(base.path.p, n))
                   : bytes_put(out, mortise_strz("/"));
    return status == MORTISE_S_OK ? bytes_put(out, path) : status;
}

MORTISE_INLINE mortise_status url_put_part(struct bytes *out, const char *mark,
                                           mortise_str part)
{
    mortise_status status = MORTISE_S_OK;

    if (part.p == NULL)
        return status;
    status = bytes_put(out, mortise_strz(mark));
    return status == MORTISE_S_OK ? bytes_put(out, part) : status;
}

MORTISE_INLINE mortise_status url_join(struct bytes *out, struct url u)
{
    mortise_status status = bytes_put(out, u.scheme);

    if (status == MORTISE_S_OK && u.scheme.p != NULL)
        status = bytes_put(out, mortise_strz(":"));
    if (status == MORTISE_S_OK)
        status = url_put_part(out, "//", u.authority);
    if (status == MORTISE_S_OK)
        status = url_put_path(out, u.path);
    return status == MORTISE_S_OK ? url_put_part(out, "?", u.query) : status;
}

/* What a reference means that stands at a URL (RFC 3986, 5.2.2). */
MORTISE_INLINE mortise_status url_resolve(struct bytes *out, mortise_str at,
                                          mortise_str reference)
{
    struct url base = url_split(at), r = url_split(reference);
    struct bytes path = {NULL, 0, 0};
    mortise_status status = MORTISE_S_OK;

    if (r.scheme.p != NULL)
        return url_join(out, r);
    r.scheme = base.scheme;
    if (r.authority.p == NULL) {
        r.authority = base.authority;
        if (r.path.n == 0 && r.query.p == NULL)
            r.query = base.query;
        if (r.path.n == 0)
            r.path = base.path;
        else if (r.path.p[0] != '/')
            status = url_merge(&path, base, r.path);
        if (path.n > 0)
            r.path = bytes_str(&path);
    }
    if (status == MORTISE_S_OK)
        status = url_join(out, r);
    bytes_free(&path);
    return status;
}

/* ---- origins -------------------------------------------------------------- */

MORTISE_INLINE int url_is_same(mortise_str a, mortise_str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

/* The authority without a port that is the scheme's own. */
MORTISE_INLINE mortise_str url_host(struct url u)
{
    const char *port =
        url_is_same(u.scheme, mortise_strz("https")) ? ":443" : ":80";
    size_t n = strlen(port);

    if (u.authority.n > n &&
        memcmp(u.authority.p + u.authority.n - n, port, n) == 0)
        u.authority.n -= n;
    return u.authority;
}

/* Scheme, host and port are the same. */
MORTISE_INLINE int url_same_origin(mortise_str a, mortise_str b)
{
    struct url one = url_split(a), other = url_split(b);

    return url_is_same(one.scheme, other.scheme) &&
           url_is_same(url_host(one), url_host(other));
}

/* ---- queries --------------------------------------------------------------
 */

/* What may stand in a query as it is; the rest as %XX. */
MORTISE_INLINE mortise_status url_encode(struct bytes *out, mortise_str text)
{
    static const char plain[] = "-._~0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char hex[] = "0123456789ABCDEF";
    mortise_status status = MORTISE_S_OK;

    for (uint64_t i = 0; i < text.n && status == MORTISE_S_OK; i++) {
        unsigned char c = (unsigned char)text.p[i];
        char coded[3] = {'%', hex[c >> 4], hex[c & 15]};

        status = url_is_among(text.p[i], plain)
                     ? bytes_put(out, mortise_strn(&text.p[i], 1))
                     : bytes_put(out, mortise_strn(coded, 3));
    }
    return status;
}

/* The members of a query but those of that name, and "&" behind each. */
MORTISE_INLINE mortise_status url_put_others(struct bytes *out,
                                             mortise_str query,
                                             mortise_str name,
                                             mortise_str coded)
{
    mortise_status status = MORTISE_S_OK;

    while (query.n > 0 && status == MORTISE_S_OK) {
        mortise_str one = url_until(&query, "&"), rest = one;
        mortise_str key = url_until(&rest, "=");

        if (query.n > 0)
            query = mortise_strn(query.p + 1, query.n - 1);
        if (one.n == 0 ||
            (key.n == name.n && memcmp(key.p, name.p, key.n) == 0) ||
            (key.n == coded.n && memcmp(key.p, coded.p, key.n) == 0))
            continue;
        status = bytes_put(out, one);
        if (status == MORTISE_S_OK)
            status = bytes_put(out, mortise_strz("&"));
    }
    return status;
}

/* A URL with name=value in its query, in the place of any others of that name.
 */
MORTISE_INLINE mortise_status url_with(struct bytes *out, mortise_str text,
                                       mortise_str name, mortise_str value)
{
    struct bytes query = {NULL, 0, 0}, coded = {NULL, 0, 0};
    struct url u = url_split(text);
    mortise_status status = url_encode(&coded, name);

    if (status == MORTISE_S_OK)
        status = url_put_others(&query, u.query, name, bytes_str(&coded));
    if (status == MORTISE_S_OK)
        status = bytes_put(&query, bytes_str(&coded));
    if (status == MORTISE_S_OK)
        status = bytes_put(&query, mortise_strz("="));
    if (status == MORTISE_S_OK)
        status = url_encode(&query, value);
    u.query = bytes_str(&query);
    if (status == MORTISE_S_OK)
        status = url_join(out, u);
    bytes_free(&query);
    bytes_free(&coded);
    return status;
}

/* ---- Link ----------------------------------------------------------------- */

MORTISE_INLINE void url_skip(mortise_str *s, const char *these)
{
    while (s->n > 0 && url_is_among(s->p[0], these)) {
        s->p++;
        s->n--;
    }
}

/* A token or what stands between quotes, as it is written. */
MORTISE_INLINE mortise_str url_link_value(mortise_str *s)
{
    mortise_str out;

    if (!url_begins(*s, "\""))
        return url_until(s, ";, \t");
    out = mortise_strn(s->p + 1, 0);
    for (s->p++, s->n--; s->n > 0 && s->p[0] != '"'; s->p++, s->n--) {
        if (s->p[0] == '\\' && s->n > 1) {
            s->p++;
            s->n--;
        }
    }
    out.n = (uint64_t)(s->p - out.p);
    if (s->n > 0)
        *s = mortise_strn(s->p + 1, s->n - 1);
    return out;
}

/* Is `next` one of the relations? */
MORTISE_INLINE int url_is_next(mortise_str relations)
{
    while (relations.n > 0) {
        mortise_str one;

        url_skip(&relations, " \t");
        one = url_until(&relations, " \t");
        if (url_is_same(one, mortise_strz("next")))
            return 1;
    }
    return 0;
}

/* The parameters behind a target: do they say that it comes next?  One with an
 * anchor is said of another page. */
MORTISE_INLINE int url_link_params(mortise_str *s)
{
    int is_next = 0, has_rel = 0, is_foreign = 0;

    for (;;) {
        mortise_str name, value = mortise_strn(NULL, 0);

        url_skip(s, " \t");
        if (!url_begins(*s, ";"))
            return is_next && !is_foreign;
        url_skip(s, "; \t");
        name = url_until(s, "=;, \t");
        url_skip(s, " \t");
        if (url_begins(*s, "=")) {
            url_skip(s, "= \t");
            value = url_link_value(s);
        }
        is_foreign |= url_is_same(name, mortise_strz("anchor"));
        if (url_is_same(name, mortise_strz("rel")) && !has_rel) {
            has_rel = 1;
            is_next = url_is_next(value);
        }
    }
}

/* The reference with rel="next" in the value of a Link header, or p NULL. */
MORTISE_INLINE mortise_str url_link_next(mortise_str header)
{
    while (header.n > 0) {
        mortise_str target;

        url_skip(&header, " \t,\n");
        if (!url_begins(header, "<")) {
            url_until(&header, ",");
            continue;
        }
        header = mortise_strn(header.p + 1, header.n - 1);
        target = url_until(&header, ">");
        if (header.n == 0)
            break;
        header = mortise_strn(header.p + 1, header.n - 1);
        if (url_link_params(&header))
            return target;
        url_until(&header, ",");
    }
    return mortise_strn(NULL, 0);
}

#endif
