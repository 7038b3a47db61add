/* prefix.h -- what messages became before: each request of a conversation begins
 * with all of the one before it, and what was made of that need not be made
 * again.
 *
 *     struct prefixes known;             zeroed: it knows nothing
 *
 *     at = prefix_find(&known, messages, &made);      behind it, go on there
 *     ...
 *     prefix_keep(&known, messages, made);            all of it
 *     prefixes_free(&known);
 *
 * Texts are compared byte by byte, so what is found is what was asked about.  It
 * is found only where a message of the assistant comes next: whatever is made of
 * neighbours together is whole up to there.  What is made must follow from the
 * messages alone.
 *
 * It takes no more than PREFIX_BYTES, and what was used longest ago goes first.
 *
 * Threads    Of one thread. */
#ifndef PLUGINS_PREFIX_H
#define PLUGINS_PREFIX_H

#include "bytes.h"

enum {
    PREFIXES = 64,
    PREFIX_LEAST = 4096, /* bytes; what is shorter is made as fast */
    PREFIX_BYTES = 16 << 20
};

struct prefix {
    struct bytes both; /* the messages, `[` ahead and nothing behind; and what
                          they became */
    uint64_t n, used;  /* bytes of the former; when */
};

struct prefixes {
    struct prefix list[PREFIXES];
    uint64_t clock, total;
};

/* Does the list go on there with a message of the assistant? */
MORTISE_INLINE int prefix_goes_on(mortise_jv messages, uint64_t n)
{
    mortise_jv_iter it = mortise_jv_each(messages);
    mortise_jv message;

    it.p = messages.p + n;
    return it.p < it.end && *it.p == ',' &&
           mortise_jv_next(&it, NULL, &message) &&
           mortise_jv_is(mortise_jv_get(message, "role"),
                         mortise_strz("assistant"));
}

/* How many bytes of `messages`, a list, it knows, 0: none; *made is lent until
 * the next change. */
MORTISE_INLINE uint64_t prefix_find(struct prefixes *k, mortise_jv messages,
                                    mortise_str *made)
{
    struct prefix *best = NULL;

    for (size_t i = 0; i < PREFIXES; i++) {
        struct prefix *p = &k->list[i];

        if (p->n > 0 && p->n < messages.n && (best == NULL || p->n > best->n) &&
            memcmp(p->both.p, messages.p, p->n) == 0 &&
            prefix_goes_on(messages, p->n))
            best = p;
    }
    if (best == NULL)
        return 0;
    best->used = ++k->clock;
    *made = mortise_strn(best->both.p + best->n, best->both.n - best->n);
    return best->n;
}

MORTISE_INLINE void prefix_drop(struct prefixes *k, struct prefix *p)
{
    k->total -= p->both.n;
    p->n = 0;
    bytes_free(&p->both);
}

/* The place for one more: that of what it goes on from, a free one, or the
 * oldest. */
MORTISE_INLINE struct prefix *prefix_place(struct prefixes *k,
                                           mortise_jv messages)
{
    struct prefix *place = &k->list[0];

    for (size_t i = 0; i < PREFIXES; i++) {
        struct prefix *p = &k->list[i];

        if (p->n > 0 && p->n < messages.n &&
            memcmp(p->both.p, messages.p, p->n) == 0)
            return p;
        if (p->n == 0 || (place->n > 0 && p->used < place->used))
            place = p;
    }
    return place;
}

/* What memory has no room for is not kept. */
MORTISE_INLINE void prefix_keep(struct prefixes *k, mortise_jv messages,
                                mortise_str made)
{
    struct prefix *p = prefix_place(k, messages);
    uint64_t n = messages.n > 0 ? messages.n - 1 : 0;

    prefix_drop(k, p);
    if (n < PREFIX_LEAST || made.n == 0 || n + made.n > PREFIX_BYTES / 4)
        return;
    for (size_t i = 0; i < PREFIXES && k->total + n + made.n > PREFIX_BYTES;
         i++)
        if (k->list[i].n > 0)
            prefix_drop(k, &k->list[i]);
    if (bytes_put(&p->both, mortise_strn(messages.p, n)) != MORTISE_S_OK ||
        bytes_put(&p->both, made) != MORTISE_S_OK) {
        bytes_free(&p->both);
        return;
    }
    p->n = n;
    p->used = ++k->clock;
    k->total += p->both.n;
}

MORTISE_INLINE void prefixes_free(struct prefixes *k)
{
    for (size_t i = 0; i < PREFIXES; i++)
        bytes_free(&k->list[i].both);
}

#endif
