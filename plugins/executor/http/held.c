/* held.c -- can a value of Mortise hold what a server's JSON says?
 *
 * JSON has numbers of any size, and servers send ids beyond 64 bits, keys twice
 * and lists in lists without an end.  Values have none of them.  A request that
 * changed something must not fail for that, because its answer would be lost:
 * the body stays the text that it is, and the output says why.
 */
#include <stdbool.h>

#include "http.h"

enum {
    DEPTH = 60
}; /* the engine reads 64, of which some are around the body */

/* The names of one object, to find one that stands twice. */
struct names {
    mortise_str *list;
    char *room; /* for names with escapes */
};

struct held {
    char *why;
    size_t why_size;
    bool nomem;
};

static bool lacks(struct held *h, const char *what, mortise_str at,
                  const char *words)
{
    int shown = at.n > 60 ? 60 : (int)at.n;

    while (shown > 0 && shown < (int)at.n && (at.p[shown] & 0xC0) == 0x80)
        shown--;
    snprintf(h->why, h->why_size, "%s %.*s%s %s", what, shown, at.p,
             shown < (int)at.n ? "..." : "", words);
    return false;
}

static bool holds_number(struct held *h, mortise_jv v)
{
    bool whole = memchr(v.p, '.', (size_t)v.n) == NULL &&
                 memchr(v.p, 'e', (size_t)v.n) == NULL &&
                 memchr(v.p, 'E', (size_t)v.n) == NULL;
    mortise_str text = {v.p, v.n};
    int64_t i;
    double d;

    if (whole ? mortise_jv_int(v, &i) == MORTISE_S_OK
              : mortise_jv_double(v, &d) == MORTISE_S_OK && d <= DBL_MAX &&
                    d >= -DBL_MAX)
        return true;
    return lacks(h, "the number", text,
                 whole ? "does not fit into 64 bits"
                       : "does not fit into a double");
}

static int by_text(const void *a, const void *b)
{
    const mortise_str *x = a, *y = b;
    size_t n = (size_t)(x->n < y->n ? x->n : y->n);
    int d = n > 0 ? memcmp(x->p, y->p, n) : 0;

    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

static bool read_names(struct held *h, mortise_jv v, struct names *names)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, value;
    char *room = names->room;
    size_t n = 0;

    for (; mortise_jv_next(&it, &name, &value); n++) {
        mortise_jv_text(name, room, name.n, &names->list[n]);
        room += name.n;
        if (memchr(names->list[n].p, '\0', (size_t)names->list[n].n) != NULL)
            return lacks(h, "the key", names->list[n], "contains a NUL");
    }
    qsort(names->list, n, sizeof *names->list, by_text);
    for (size_t i = 1; i < n; i++)
        if (by_text(&names->list[i - 1], &names->list[i]) == 0)
            return lacks(h, "the key", names->list[i],
                         "occurs twice in one object");
    return true;
}

static bool holds_names(struct held *h, mortise_jv v)
{
    size_t n = (size_t)mortise_jv_count(v);
    struct names names = {.list = malloc((n + 1) * sizeof *names.list),
                          .room = malloc((size_t)v.n + 1)};
    bool good = false;

    h->nomem = names.list == NULL || names.room == NULL;
    if (!h->nomem)
        good = read_names(h, v, &names);
    free(names.list);
    free(names.room);
    return good;
}

static bool holds(struct held *h, mortise_jv v, int depth)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv one;
    int32_t type = mortise_jv_type(v);
    bool good = true;

    if (type == MORTISE_JV_NUMBER)
        return holds_number(h, v);
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_ARRAY)
        return true;
    if (depth == DEPTH) {
        snprintf(h->why, h->why_size,
                 "it has more than %d nested arrays and objects", DEPTH);
        return false;
    }
    if (type == MORTISE_JV_OBJECT)
        good = holds_names(h, v);
    while (good && mortise_jv_next(&it, NULL, &one))
        good = holds(h, one, depth + 1);
    return good;
}

mortise_status http_holds(mortise_jv v, char *why, size_t why_size)
{
    struct held h = {why, why_size, false};

    if (holds(&h, v, 0))
        return MORTISE_S_OK;
    return h.nomem ? MORTISE_S_NOMEM : MORTISE_S_INVALID;
}
