/* count.h -- counts of tokens, as servers of models report them. */
#ifndef PLUGINS_COUNT_H
#define PLUGINS_COUNT_H

#include <mortise/json.h>

enum {
    NOT_SAID = -1, /* the server reported no count */
    NO_COUNT = -2  /* it reported one that is no whole number from 0 */
};

MORTISE_INLINE int64_t count_read(mortise_jv v)
{
    int64_t n;

    if (v.n == 0 || mortise_jv_type(v) == MORTISE_JV_NULL)
        return NOT_SAID;
    return mortise_jv_int(v, &n) == MORTISE_S_OK && n >= 0 ? n : NO_COUNT;
}

/* A member of a usage. */
MORTISE_INLINE void count_write(mortise_jw *w, const char *name, int64_t n)
{
    if (n == NOT_SAID)
        return;
    mortise_jw_key(w, name);
    if (n == NO_COUNT)
        mortise_jw_null(w); /* no amount: the host calls the usage unclear */
    else
        mortise_jw_int(w, n);
}

#endif
