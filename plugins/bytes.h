/* bytes.h -- bytes on the heap that grow, for the plugins that put texts
 * together.
 *
 *     struct bytes b = {0};
 *
 *     status = bytes_put(&b, text);         as it is
 *     status = bytes_decode(&b, value);     the content of a JSON string
 *     status = bytes_quote(&b, text);       the JSON string of a text
 *     bytes_free(&b);                       whatever happened
 *
 * A buffer at least doubles when it is full, so that many small pieces cost as
 * much as one large.  What fails (MORTISE_S_NOMEM, or what is no string) leaves
 * the bytes as they were.
 *
 * bytes_more() is the same for a mortise_jw, whose `p` is then on the heap:
 *
 *     mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
 *     ...
 *     free(w.p);
 *
 * Threads    No state but its own.
 */
#ifndef PLUGINS_BYTES_H
#define PLUGINS_BYTES_H

#include <stdlib.h>
#include <string.h>

#include <mortise/ask.h>

struct bytes {
    char *p; /* malloc()ed; NULL: none yet */
    uint64_t n, cap;
};

/* What there is, lent until the next change. */
MORTISE_INLINE mortise_str bytes_str(const struct bytes *b)
{
    return mortise_strn(b->p, b->n);
}

MORTISE_INLINE void bytes_free(struct bytes *b)
{
    free(b->p);
    b->p = NULL;
    b->n = b->cap = 0;
}

/* Room for n bytes more. */
MORTISE_INLINE mortise_status bytes_room(struct bytes *b, uint64_t n)
{
    uint64_t cap = 2 * b->cap > b->n + n ? 2 * b->cap : b->n + n;
    char *p;

    if (n <= b->cap - b->n)
        return MORTISE_S_OK;
    p = (char *)realloc(b->p, cap);
    if (p == NULL)
        return MORTISE_S_NOMEM;
    b->p = p;
    b->cap = cap;
    return MORTISE_S_OK;
}

MORTISE_INLINE mortise_status bytes_put(struct bytes *b, mortise_str s)
{
    mortise_status status = bytes_room(b, s.n);

    if (status == MORTISE_S_OK && s.n > 0) {
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
    }
    return status;
}

/* MORTISE_S_INVALID: v is no string. */
MORTISE_INLINE mortise_status bytes_decode(struct bytes *b, mortise_jv v)
{
    mortise_status status = bytes_room(b, v.n + 1); /* never of none */
    uint64_t n;

    if (status == MORTISE_S_OK)
        status = mortise_jv_decode(v, b->p + b->n, b->cap - b->n, &n);
    if (status == MORTISE_S_OK)
        b->n += n;
    return status;
}

/* A mortise_jw_more_fn. */
MORTISE_INLINE mortise_status bytes_more(mortise_jw *w, void *ud)
{
    uint64_t cap = w->cap > 0 ? 2 * w->cap : 256;
    char *p = (char *)realloc(w->p, cap);

    (void)ud;
    if (p == NULL)
        return MORTISE_S_NOMEM;
    w->p = p;
    w->cap = cap;
    return MORTISE_S_OK;
}

MORTISE_INLINE mortise_status bytes_quote(struct bytes *b, mortise_str text)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_string(&w, text);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = bytes_put(b, json);
    free(w.p);
    return status;
}

#endif
