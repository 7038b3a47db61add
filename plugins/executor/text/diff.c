/* diff.c -- what lines were taken out and put in between two texts.
 *
 * Eugene Myers, "An O(ND) Difference Algorithm and Its Variations"
 * (Algorithmica 1, 1986), in its linear-space form: find the middle of a
 * shortest edit script by walking from both ends at once, and do the same with
 * what lies before and behind it.  Lines are numbered first (equal lines, equal
 * numbers), so that comparing two costs one comparison.
 *
 * Promises:
 *   (1) Applying the result to the old text gives the new one, byte for byte.
 *       A line is all of its bytes, its \n included; \r is content.
 *   (2) It ends: two texts that have little in common cost N x D, and beyond
 *       MAX_WORK steps what is not yet compared is taken as replaced as a
 *       whole.  That is still a right answer, only not a shortest one, and it
 *       depends on the texts alone, not on the machine's speed.
 *   (3) A call that was cancelled, or is out of time, ends with that.
 *   (4) Memory is linear in the number of lines.
 */
#include <stdlib.h>

#include "text.h"

enum {
    MAX_LINES = 1000000, /* of either text */
    MAX_WORK = 1 << 26,  /* steps of the search */
    MAX_CONTEXT = 1000,
    HEADING = 96 /* room for "@@ -1,2 +3,4 @@" */
};

struct side {
    char *room;         /* of the decoded text, if it had escapes */
    mortise_str *lines; /* each with its \n, if it has one */
    uint32_t *ids;      /* equal lines have equal ids */
    bool *changed;      /* not in the other text */
    uint32_t n;
};

struct diff {
    struct job *job;
    struct side a, b;      /* old, new */
    int32_t *forth, *back; /* furthest x on each diagonal, from either end */
    uint32_t work;
};

/* ---- lines and their numbers -------------------------------------------- */

static uint64_t count_lines(mortise_str s)
{
    uint64_t n = s.n > 0 && s.p[s.n - 1] != '\n';

    for (uint64_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

static mortise_status open_side(struct diff *d, const char *name,
                                struct side *s)
{
    mortise_str text;
    mortise_status status = text_string(
        d->job, name, mortise_jv_get(d->job->body, name), &s->room, &text);
    uint64_t n;

    if (status != MORTISE_S_OK)
        return status;
    n = count_lines(text);
    if (n > MAX_LINES)
        return text_no(d->job, &text_too_large, "%s: more than %d lines", name,
                       MAX_LINES);
    s->lines = calloc(n + 1, sizeof *s->lines);
    s->ids = calloc(n + 1, sizeof *s->ids);
    s->changed = calloc(n + 1, sizeof *s->changed);
    if (s->lines == NULL || s->ids == NULL || s->changed == NULL)
        return text_no_mem(d->job);
    while (text.n > 0) {
        const char *nl = memchr(text.p, '\n', text.n);
        uint64_t len = nl != NULL ? (uint64_t)(nl - text.p) + 1 : text.n;

        s->lines[s->n++] = mortise_strn(text.p, len);
        text.p += len;
        text.n -= len;
    }
    return MORTISE_S_OK;
}

static void close_side(struct side *s)
{
    free(s->room);
    free(s->lines);
    free(s->ids);
    free(s->changed);
}

/* FNV-1a. */
static uint32_t hash_line(mortise_str s)
{
    uint32_t h = 2166136261u;

    for (uint64_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    return h;
}

/* An open-addressed table of the first line of each number. */
struct names {
    const mortise_str **slots;
    uint32_t *ids, mask, n;
};

static uint32_t number_of(struct names *t, const mortise_str *line)
{
    uint32_t at = hash_line(*line) & t->mask;

    for (; t->slots[at] != NULL; at = (at + 1) & t->mask) {
        if (t->slots[at]->n == line->n &&
            memcmp(t->slots[at]->p, line->p, line->n) == 0)
            return t->ids[at];
    }
    t->slots[at] = line;
    t->ids[at] = ++t->n;
    return t->n;
}

static mortise_status number_lines(struct diff *d)
{
    struct names t = {.mask = 63};
    mortise_status status = MORTISE_S_OK;

    while (t.mask < 2 * (d->a.n + d->b.n))
        t.mask = 2 * t.mask + 1;
    t.slots = calloc((size_t)t.mask + 1, sizeof *t.slots);
    t.ids = calloc((size_t)t.mask + 1, sizeof *t.ids);
    if (t.slots == NULL || t.ids == NULL)
        status = text_no_mem(d->job);
    for (uint32_t i = 0; status == MORTISE_S_OK && i < d->a.n; i++)
        d->a.ids[i] = number_of(&t, &d->a.lines[i]);
    for (uint32_t i = 0; status == MORTISE_S_OK && i < d->b.n; i++)
        d->b.ids[i] = number_of(&t, &d->b.lines[i]);
    free(t.slots);
    free(t.ids);
    return status;
}

/* ---- the search ---------------------------------------------------------- */

/* A part of both texts: lines a0..a1 of the old, b0..b1 of the new. */
struct box {
    int32_t a0, a1, b0, b1;
};

static bool same(const struct diff *d, int32_t x, int32_t y)
{
    return d->a.ids[x] == d->b.ids[y];
}

/* One more edit from the front, along diagonal k (= x - y, absolute): the
 * furthest x from which the box goes on. */
static int32_t advance(struct diff *d, const struct box *box, int32_t *v,
                       int32_t k)
{
    int32_t x = v[k - 1] >= v[k + 1] ? v[k - 1] + 1 : v[k + 1];

    for (; x < box->a1 && x - k < box->b1 && same(d, x, x - k); x++)
        d->work++;
    d->work++;
    return v[k] = x;
}

static int32_t retreat(struct diff *d, const struct box *box, int32_t *v,
                       int32_t k)
{
    int32_t x = v[k + 1] <= v[k - 1] ? v[k + 1] - 1 : v[k - 1];

    for (; x > box->a0 && x - k > box->b0 && same(d, x - 1, x - 1 - k); x--)
        d->work++;
    d->work++;
    return v[k] = x;
}

/* The diagonals that an edit more reaches: one to each side, but never out of
 * the box; the places beside them are out of reach. */
static void widen(int32_t *v, int32_t *lo, int32_t *hi, int32_t least,
                  int32_t most, int32_t never)
{
    if (*lo > least)
        v[--*lo - 1] = never;
    else
        ++*lo;
    if (*hi < most)
        v[++*hi + 1] = never;
    else
        --*hi;
}

/* A point on a shortest way through the box, whose corners differ; false when
 * that is too much work. */
static bool middle(struct diff *d, const struct box *box, int32_t *mx,
                   int32_t *my)
{
    const int32_t least = box->a0 - box->b1, most = box->a1 - box->b0;
    const int32_t k1 = box->a0 - box->b0, k2 = box->a1 - box->b1;
    int32_t flo = k1, fhi = k1, blo = k2, bhi = k2;
    bool odd = ((k2 - k1) & 1) != 0;

    d->forth[k1] = box->a0;
    d->back[k2] = box->a1;
    while (d->work < MAX_WORK && regex_asked(&d->job->run) == REGEX_NONE) {
        widen(d->forth, &flo, &fhi, least, most, -1);
        for (int32_t k = fhi; k >= flo; k -= 2) {
            int32_t x = advance(d, box, d->forth, k);

            if (odd && k >= blo && k <= bhi && x >= d->back[k]) {
                *mx = x;
                *my = x - k;
                return true;
            }
        }
        widen(d->back, &blo, &bhi, least, most, INT32_MAX);
        for (int32_t k = bhi; k >= blo; k -= 2) {
            int32_t x = retreat(d, box, d->back, k);

            if (!odd && k >= flo && k <= fhi && x <= d->forth[k]) {
                *mx = x;
                *my = x - k;
                return true;
            }
        }
    }
    return false;
}

static void change(struct side *s, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++)
        s->changed[i] = true;
}

/* Mark what changed in the box.  The recursion halves the number of edits each
 * time, so it is no deeper than that number has bits. */
static void compare(struct diff *d, struct box box)
{
    int32_t x, y;

    while (box.a0 < box.a1 && box.b0 < box.b1 && same(d, box.a0, box.b0)) {
        box.a0++;
        box.b0++;
    }
    while (box.a0 < box.a1 && box.b0 < box.b1 &&
           same(d, box.a1 - 1, box.b1 - 1)) {
        box.a1--;
        box.b1--;
    }
    if (box.a0 == box.a1 || box.b0 == box.b1 || !middle(d, &box, &x, &y)) {
        change(&d->a, box.a0, box.a1);
        change(&d->b, box.b0, box.b1);
        return;
    }
    compare(d, (struct box){box.a0, x, box.b0, y});
    compare(d, (struct box){x, box.a1, y, box.b1});
}

static mortise_status search(struct diff *d)
{
    size_t n = (size_t)d->a.n + d->b.n + 5;
    int32_t *room = calloc(2 * n, sizeof *room);

    if (room == NULL)
        return text_no_mem(d->job);
    /* diagonals go from -b.n to a.n, and one beside each */
    d->forth = room + d->b.n + 2;
    d->back = room + n + d->b.n + 2;
    compare(d, (struct box){0, (int32_t)d->a.n, 0, (int32_t)d->b.n});
    free(room);
    return d->job->run.stop == REGEX_NONE
               ? MORTISE_S_OK
               : text_no_result(d->job, d->job->run.stop);
}

/* ---- the result -----------------------------------------------------------
 */

static void put_line(mortise_jw *w, char sign, mortise_str line)
{
    mortise_jw_string_put(w, mortise_strn(&sign, 1));
    mortise_jw_string_put(w, line);
    if (line.p[line.n - 1] != '\n')
        mortise_jw_string_put(w,
                              mortise_strz("\n\\ No newline at end of file\n"));
}

/* "-3,2": an empty range stands behind the line before it. */
static int put_range(char *out, size_t size, char sign, uint32_t from,
                     uint32_t n)
{
    return snprintf(out, size, "%c%u,%u", sign, from + (n > 0), n);
}

/* Lines i..i_to of the old and k..k_to of the new text as one hunk. */
static void put_hunk(mortise_jw *w, const struct diff *d, uint32_t i,
                     uint32_t i_to, uint32_t k, uint32_t k_to)
{
    char old[HEADING / 3], new[HEADING / 3], heading[HEADING];

    put_range(old, sizeof old, '-', i, i_to - i);
    put_range(new, sizeof new, '+', k, k_to - k);
    snprintf(heading, sizeof heading, "@@ %s %s @@\n", old, new);
    mortise_jw_string_put(w, mortise_strz(heading));
    while (i < i_to || k < k_to) {
        if (i < i_to && d->a.changed[i])
            put_line(w, '-', d->a.lines[i++]);
        else if (k < k_to && d->b.changed[k])
            put_line(w, '+', d->b.lines[k++]);
        else {
            put_line(w, ' ', d->a.lines[i++]);
            k++;
        }
    }
}

/* Past what is equal in both, from i and k on; how much that was. */
static uint32_t equal_run(const struct diff *d, uint32_t *i, uint32_t *k)
{
    uint32_t n = 0;

    for (; *i < d->a.n && *k < d->b.n && !d->a.changed[*i] && !d->b.changed[*k];
         n++) {
        ++*i;
        ++*k;
    }
    return n;
}

static void changed_run(const struct diff *d, uint32_t *i, uint32_t *k)
{
    while (*i < d->a.n && d->a.changed[*i])
        ++*i;
    while (*k < d->b.n && d->b.changed[*k])
        ++*k;
}

/* Changes no further apart than twice the context share a hunk. */
static void put_hunks(mortise_jw *w, const struct diff *d, uint32_t context)
{
    uint32_t i = 0, k = 0, equal = equal_run(d, &i, &k);

    while (i < d->a.n || k < d->b.n) {
        uint32_t before = equal < context ? equal : context;
        uint32_t i0 = i - before, k0 = k - before, ie, ke;

        do {
            changed_run(d, &i, &k);
            ie = i;
            ke = k;
            equal = equal_run(d, &i, &k);
        } while ((i < d->a.n || k < d->b.n) && equal <= 2 * context);
        if (equal > context) {
            ie += context;
            ke += context;
        } else {
            ie += equal;
            ke += equal;
        }
        put_hunk(w, d, i0, ie, k0, ke);
    }
}

static uint32_t count_changed(const struct side *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        n += s->changed[i];
    return n;
}

static mortise_status emit_diff(struct diff *d, uint32_t context)
{
    uint32_t removed = count_changed(&d->a), added = count_changed(&d->b);
    mortise_jw *w = text_begin(d->job);

    mortise_jw_key(w, "equal");
    mortise_jw_bool(w, removed == 0 && added == 0);
    text_put_number(w, "removed", removed);
    text_put_number(w, "added", added);
    mortise_jw_key(w, "unified");
    mortise_jw_string_begin(w);
    if (removed > 0 || added > 0)
        mortise_jw_string_put(w, mortise_strz("--- old\n+++ new\n"));
    put_hunks(w, d, context);
    mortise_jw_string_end(w);
    return text_finish(d->job);
}

mortise_status text_diff(struct job *j)
{
    struct diff d = {.job = j};
    int64_t context = 3;
    mortise_status status = text_number(j, "context", 0, MAX_CONTEXT, &context);

    if (status == MORTISE_S_OK)
        status = open_side(&d, "old", &d.a);
    if (status == MORTISE_S_OK)
        status = open_side(&d, "new", &d.b);
    if (status == MORTISE_S_OK)
        status = number_lines(&d);
    if (status == MORTISE_S_OK)
        status = search(&d);
    if (status == MORTISE_S_OK)
        status = emit_diff(&d, (uint32_t)context);
    close_side(&d.a);
    close_side(&d.b);
    return status;
}
