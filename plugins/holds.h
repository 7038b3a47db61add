/* holds.h -- can a value of Mortise hold the JSON of somebody else?
 *
 * JSON has numbers of any size, and servers and programs write ids beyond 64
 * bits, keys twice and deeply nested lists.  Values have none of them.  A call
 * that changed something must not fail for that, because its result would be
 * lost: the text stays a text, and the output has the reason.
 *
 *     status = holds_json(v, why, sizeof why);
 *
 * Threads    No state but its own.
 */
#ifndef PLUGINS_HOLDS_H
#define PLUGINS_HOLDS_H

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/ask.h>

enum {
    HOLDS_DEPTH = 60
}; /* the engine reads 64, of which some are around the text */

/* The names of one object, to find one that stands twice. */
struct holds_names {
    mortise_str *list;
    char *room; /* for names with escapes */
};

struct holds {
    char *why;
    size_t why_size;
    int nomem;
};

MORTISE_INLINE int holds_lack(struct holds *h, const char *what, mortise_str at,
                              const char *words)
{
    int shown = at.n > 60 ? 60 : (int)at.n;

    while (shown > 0 && shown < (int)at.n && (at.p[shown] & 0xC0) == 0x80)
        shown--;
    snprintf(h->why, h->why_size, "%s %.*s%s %s", what, shown, at.p,
             shown < (int)at.n ? "..." : "", words);
    return 0;
}

MORTISE_INLINE int holds_number(struct holds *h, mortise_jv v)
{
    int whole = memchr(v.p, '.', (size_t)v.n) == NULL &&
                memchr(v.p, 'e', (size_t)v.n) == NULL &&
                memchr(v.p, 'E', (size_t)v.n) == NULL;
    mortise_str text = {v.p, v.n};
    int64_t i;
    double d;

    if (whole ? mortise_jv_int(v, &i) == MORTISE_S_OK
              : mortise_jv_double(v, &d) == MORTISE_S_OK && d <= DBL_MAX &&
                    d >= -DBL_MAX)
        return 1;
    return holds_lack(h, "the number", text,
                      whole ? "does not fit into 64 bits"
                            : "does not fit into a double");
}

MORTISE_INLINE int holds_by_text(const void *a, const void *b)
{
    const mortise_str *x = a, *y = b;
    size_t n = (size_t)(x->n < y->n ? x->n : y->n);
    int d = n > 0 ? memcmp(x->p, y->p, n) : 0;

    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

MORTISE_INLINE int holds_read_names(struct holds *h, mortise_jv v,
                                    struct holds_names *names)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, value;
    char *room = names->room;
    size_t n = 0;

    for (; mortise_jv_next(&it, &name, &value); n++) {
        mortise_jv_text(name, room, name.n, &names->list[n]);
        room += name.n;
        if (memchr(names->list[n].p, '\0', (size_t)names->list[n].n) != NULL)
            return holds_lack(h, "the key", names->list[n], "contains a NUL");
    }
    qsort(names->list, n, sizeof *names->list, holds_by_text);
    for (size_t i = 1; i < n; i++)
        if (holds_by_text(&names->list[i - 1], &names->list[i]) == 0)
            return holds_lack(h, "the key", names->list[i],
                              "occurs twice in one object");
    return 1;
}

MORTISE_INLINE int holds_object(struct holds *h, mortise_jv v)
{
    size_t n = (size_t)mortise_jv_count(v);
    struct holds_names names = {.list = malloc((n + 1) * sizeof *names.list),
                                .room = malloc((size_t)v.n + 1)};
    int good = 0;

    h->nomem = names.list == NULL || names.room == NULL;
    if (!h->nomem)
        good = holds_read_names(h, v, &names);
    free(names.list);
    free(names.room);
    return good;
}

MORTISE_INLINE int holds_value(struct holds *h, mortise_jv v, int depth)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv one;
    int32_t type = mortise_jv_type(v);
    int good = 1;

    if (type == MORTISE_JV_NUMBER)
        return holds_number(h, v);
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_ARRAY)
        return 1;
    if (depth == HOLDS_DEPTH) {
        snprintf(h->why, h->why_size,
                 "it has more than %d nested arrays and objects", HOLDS_DEPTH);
        return 0;
    }
    if (type == MORTISE_JV_OBJECT)
        good = holds_object(h, v);
    while (good && mortise_jv_next(&it, NULL, &one))
        good = holds_value(h, one, depth + 1);
    return good;
}

/* MORTISE_S_INVALID, with a sentence that says why; or MORTISE_S_NOMEM. */
MORTISE_INLINE mortise_status holds_json(mortise_jv v, char *why,
                                         size_t why_size)
{
    struct holds h = {why, why_size, 0};

    if (holds_value(&h, v, 0))
        return MORTISE_S_OK;
    return h.nomem ? MORTISE_S_NOMEM : MORTISE_S_INVALID;
}

/* The same; the sentence follows `because`, which is shorter than the note. */
MORTISE_INLINE mortise_status holds_note(mortise_jv v, const char *because,
                                         char *note, size_t size)
{
    size_t n = (size_t)snprintf(note, size, "%s", because);

    return holds_json(v, note + n, size - n);
}

#endif
