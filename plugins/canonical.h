/* canonical.h -- JSON in one form of its own, and the digest of that.
 *
 *   (1) The members of an object stand by their names, compared as bytes of
 *       UTF-8, at every depth.  Of several of one name the last counts.
 *   (2) No blanks.
 *   (3) A number is written as it was: 1.0 and 1 are not the same.  Who writes
 *       them differently changed the text, and somebody may look why.
 *   (4) A string has escapes only where JSON needs them: \" and \\, \b \t \n \f
 *       \r, and \u00XX (lower case) for the other controls; all else is UTF-8.
 *
 * So neither the order of members, nor blanks, nor how a string was escaped
 * matters, and everything else does. */
#ifndef PLUGINS_CANONICAL_H
#define PLUGINS_CANONICAL_H

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { CANONICAL_HEX = 64 };

/* A member, as it is sorted. */
struct canonical_member {
    mortise_str name; /* decoded; in `names` */
    mortise_jv value;
    uint64_t at; /* its place in the object */
};

/* (4) is what the SDK's writer does. */
static inline mortise_status canonical_text(struct bytes *to, mortise_jv v)
{
    struct bytes text = {0};
    mortise_status status = bytes_decode(&text, v);

    if (status == MORTISE_S_OK)
        status = bytes_quote(to, bytes_str(&text));
    bytes_free(&text);
    return status;
}

static inline int canonical_order(const void *a, const void *b)
{
    const struct canonical_member *x = (const struct canonical_member *)a;
    const struct canonical_member *y = (const struct canonical_member *)b;
    uint64_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int order = n > 0 ? memcmp(x->name.p, y->name.p, n) : 0;

    if (order != 0)
        return order;
    if (x->name.n != y->name.n)
        return x->name.n < y->name.n ? -1 : 1;
    return x->at < y->at ? -1 : 1; /* the last is the last (1) */
}

static inline int canonical_same(const struct canonical_member *x,
                                 const struct canonical_member *y)
{
    return x->name.n == y->name.n &&
           (x->name.n == 0 || memcmp(x->name.p, y->name.p, x->name.n) == 0);
}

static inline mortise_status canonical_put(struct bytes *to, mortise_jv v,
                                           int depth);

static inline mortise_status
canonical_members(struct bytes *to, const struct canonical_member *list,
                  uint64_t n, int depth)
{
    mortise_status status = bytes_put(to, mortise_strz("{"));
    int comma = 0;

    for (uint64_t i = 0; i < n && status == MORTISE_S_OK; i++) {
        if (i + 1 < n && canonical_same(&list[i], &list[i + 1]))
            continue;
        if (comma)
            status = bytes_put(to, mortise_strz(","));
        comma = 1;
        if (status == MORTISE_S_OK)
            status = bytes_quote(to, list[i].name);
        if (status == MORTISE_S_OK)
            status = bytes_put(to, mortise_strz(":"));
        if (status == MORTISE_S_OK)
            status = canonical_put(to, list[i].value, depth);
    }
    return status == MORTISE_S_OK ? bytes_put(to, mortise_strz("}")) : status;
}

/* The members into `list`, whose names go into `names`: room for v.n bytes. */
static inline mortise_status
canonical_collect(mortise_jv v, struct canonical_member *list, char *names)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, value;
    uint64_t n = 0, at = 0, len;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &value)) {
        status = mortise_jv_decode(name, names + at, v.n - at, &len);
        list[n] =
            (struct canonical_member){mortise_strn(names + at, len), value, n};
        at += len;
        n++;
    }
    return status;
}

static inline mortise_status canonical_object(struct bytes *to, mortise_jv v,
                                              int depth)
{
    uint64_t n = mortise_jv_count(v);
    struct canonical_member *list =
        (struct canonical_member *)calloc(n + 1, sizeof *list);
    char *names = (char *)malloc(v.n + 1);
    mortise_status status = MORTISE_S_NOMEM;

    if (list != NULL && names != NULL)
        status = canonical_collect(v, list, names);
    if (status == MORTISE_S_OK) {
        qsort(list, n, sizeof *list, canonical_order);
        status = canonical_members(to, list, n, depth);
    }
    free(names);
    free(list);
    return status;
}

static inline mortise_status canonical_array(struct bytes *to, mortise_jv v,
                                             int depth)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_status status = bytes_put(to, mortise_strz("["));
    mortise_jv one;

    for (int comma = 0;
         status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one);
         comma = 1) {
        if (comma)
            status = bytes_put(to, mortise_strz(","));
        if (status == MORTISE_S_OK)
            status = canonical_put(to, one, depth);
    }
    return status == MORTISE_S_OK ? bytes_put(to, mortise_strz("]")) : status;
}

/* Behind what is in `to`.  MORTISE_S_NOMEM, or MORTISE_S_INVALID where `v` is nested
 * deeper than MORTISE_JV_DEPTH; `depth` 0. */
static inline mortise_status canonical_put(struct bytes *to, mortise_jv v,
                                           int depth)
{
    if (depth > MORTISE_JV_DEPTH)
        return MORTISE_S_INVALID;
    switch (mortise_jv_type(v)) {
    case MORTISE_JV_OBJECT:
        return canonical_object(to, v, depth + 1);
    case MORTISE_JV_ARRAY:
        return canonical_array(to, v, depth + 1);
    case MORTISE_JV_STRING:
        return canonical_text(to, v);
    case MORTISE_JV_NONE:
        return MORTISE_S_INVALID;
    default:
        return bytes_put(to, mortise_strn(v.p, v.n));
    }
}

/* BLAKE2b-256 of a text, in lower-case hexadecimal. */
static inline void canonical_digest(const struct bytes *text,
                                    char hex[CANONICAL_HEX + 1])
{
    unsigned char digest[CANONICAL_HEX / 2];

    crypto_generichash(digest, sizeof digest, (const unsigned char *)text->p,
                       text->n, NULL, 0);
    sodium_bin2hex(hex, CANONICAL_HEX + 1, digest, sizeof digest);
}

#endif
