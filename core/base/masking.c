/* masking.c -- a text on its way through a mask.
 *
 *   (1) What overlaps is one part: of "abcdefgh" and "cdefghij" in "abcdefghij"
 *       nothing stays.
 *   (2) A byte is settled when no form that has begun can reach it any more, so
 *       what is held back is never longer than the longest form.
 *   (3) A byte may be written in many ways: %2f, \u002f, \/, and those again in
 *       another text.  Where one begins, lanes part from the text that take it
 *       for what it spells, and the automaton reads what they say as it reads
 *       the text.  A lane is given up as soon as it has nothing in progress that
 *       the text has not, so that a text without spellings costs nothing, and
 *       their number is fixed: one spelling, two at once, one in another, and
 *       lines that are broken (of base64) in any of these.
 *   (4) Some writers leave a backslash or a percent sign as it is, and spell other
 *       bytes with it.  RAW lanes read it as itself where a value that has begun
 *       goes on with it.
 *   (5) Hexadecimal digits may be of both cases in one text: a capital is a
 *       spelling of the small letter.  A lane parts for it only where the small
 *       letter would begin a form, or go on with one.
 */
#include <string.h>

#include "core/base/mask_nodes.h"

enum {
    PERCENT = MORTISE_SPELLED_PERCENT,
    ESCAPE = MORTISE_SPELLED_ESCAPE,
    BREAK = MORTISE_SPELLED_BREAK,
    CASE = 8, /* A to F (5) */
    RAW = 16  /* what begins a spelling may stand for itself (4) */
};

/* What a lane takes for one byte, in up to two passes. */
static const unsigned char passes[MORTISE_MASK_LANES][2] = {
    {PERCENT, 0},
    {ESCAPE, 0},
    {PERCENT | ESCAPE, 0},
    {PERCENT, PERCENT},
    {ESCAPE, ESCAPE},
    {PERCENT, ESCAPE},
    {ESCAPE, PERCENT},
    {PERCENT | ESCAPE, PERCENT | ESCAPE},
    {PERCENT | ESCAPE | RAW, 0},
    {ESCAPE, ESCAPE | RAW},
    {PERCENT, PERCENT | ESCAPE | RAW},
    {BREAK | CASE, 0},
    {PERCENT, BREAK},
    {ESCAPE, BREAK},
};

enum { WIDE = 250 };

/* What is being searched, and where what is found goes. */
struct search {
    const struct mortise_mask *mask;
    struct mortise_masking *into; /* NULL: it is only asked whether */
    struct mortise_buf *out;
    bool found;
};

static void add_part(struct mortise_masking *s, uint64_t from, uint64_t to,
                     uint32_t name, struct mortise_buf *out);

/* So wide are the last n bytes, as they were written. */
static uint64_t width_of(const struct mortise_mask_lane *l, size_t n)
{
    uint64_t width = 0;

    for (size_t i = l->widths.n - n; i < l->widths.n; i++)
        width += (unsigned char)l->widths.p[i];
    return width;
}

/* The bytes before those in progress are of no account any more. */
static void keep_last(struct mortise_mask_lane *l, size_t n)
{
    struct mortise_buf *b = &l->widths;

    for (; b->n - l->head > n; l->head++)
        l->width -= (unsigned char)b->p[l->head];
    if (l->head > 4096 && l->head > b->n / 2) {
        memmove(b->p, b->p + l->head, b->n - l->head);
        b->n -= l->head;
        l->head = 0;
    }
}

static void put_widths(struct search *h, struct mortise_mask_lane *l,
                       unsigned char width, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mortise_buf_put(&l->widths, (const char *)&width, 1);
    l->width += width * n;
    if (l->widths.failed)
        h->out->failed = true;
}

/* The lane reads one byte more, of `width` in the text. */
static void lane_step(struct search *h, struct mortise_mask_lane *l,
                      unsigned char c, unsigned char width)
{
    const struct mortise_mask_node *node;

    l->at = mortise_mask_step(h->mask, l->at, c);
    l->same = width == 1 ? l->same + 1 : 0;
    node = &h->mask->nodes[l->at];
    h->found |= node->longest > 0;
    if (h->into == NULL)
        return;
    l->to += width;
    put_widths(h, l, width, 1);
    if (l->widths.failed)
        return;
    if (node->longest > 0)
        add_part(h->into, l->to - width_of(l, node->longest), l->to, node->name,
                 h->out);
    keep_last(l, node->depth);
}

/* The text goes on, and nothing of it was read. */
static void lane_skip(struct search *h, struct mortise_mask_lane *l,
                      size_t width)
{
    l->same = 0;
    if (h->into == NULL)
        return;
    l->to += width;
    if (l->widths.n == l->head)
        return;
    width += (unsigned char)l->widths.p[l->widths.n - 1];
    if (width > WIDE) { /* nobody breaks lines so often */
        l->at = MORTISE_MASK_ROOT;
        keep_last(l, 0);
        return;
    }
    l->width += width - (unsigned char)l->widths.p[l->widths.n - 1];
    l->widths.p[l->widths.n - 1] = (char)width;
}

static void pass_on(struct search *h, struct mortise_mask_lane *l,
                    unsigned pass, unsigned char c, unsigned char width);

static bool is_capital(unsigned char c)
{
    return c >= 'A' && c <= 'F';
}

static unsigned char small(unsigned char c)
{
    return (unsigned char)(c - 'A' + 'a');
}

/* What c begins, for who is at that state: a kind, or 0. */
static unsigned kind_of(const struct mortise_mask *m, uint32_t at,
                        unsigned char c)
{
    if (!is_capital(c))
        return mortise_spelling_kind(c);
    return mortise_mask_step(m, at, small(c)) != MORTISE_MASK_ROOT ? CASE : 0;
}

/* Does a pass take c for itself, though it begins a spelling (4)?  Only the last
 * pass of a lane is RAW: its state is that of the value. */
static bool is_raw(const struct search *h, const struct mortise_mask_lane *l,
                   unsigned pass, unsigned char c)
{
    return (l->kinds[pass] & RAW) != 0 &&
           mortise_mask_child(h->mask, l->at, c) != 0;
}

/* One byte into a pass, which holds it back while it may be part of more. */
static void take(struct search *h, struct mortise_mask_lane *l, unsigned pass,
                 unsigned char c, unsigned char width)
{
    struct mortise_spelling *p = &l->passes[pass], begun;
    unsigned char out[4];
    size_t n;
    unsigned all = 0;

    if (p->n == 0 && (l->kinds[pass] & CASE) != 0 && is_capital(c)) {
        pass_on(h, l, pass, small(c), width);
        l->same = 0;
        return;
    }
    if (p->n == 0 && ((mortise_spelling_kind(c) & l->kinds[pass]) == 0 ||
                      is_raw(h, l, pass, c))) {
        pass_on(h, l, pass, c, width);
        return;
    }
    p->bytes[p->n] = c;
    p->widths[p->n++] = width;
    switch (mortise_spelling_read(p->bytes, p->n, out, &n)) {
    case MORTISE_SPELLED_MORE:
        return;
    case MORTISE_SPELLED_NONE: /* the first stands for itself, and the others begin anew */
        begun = *p;
        p->n = 0;
        pass_on(h, l, pass, begun.bytes[0], begun.widths[0]);
        for (size_t i = 1; i < begun.n; i++)
            take(h, l, pass, begun.bytes[i], begun.widths[i]);
        return;
    case MORTISE_SPELLED_WHOLE:
        break;
    }
    for (size_t i = 0; i < p->n; i++)
        all += p->widths[i];
    p->n = 0;
    if (n == 0)
        lane_skip(h, l, all);
    for (size_t i = 0; i < n; i++)
        pass_on(h, l, pass, out[i], (unsigned char)(i == 0 ? all : 0));
}

static void pass_on(struct search *h, struct mortise_mask_lane *l,
                    unsigned pass, unsigned char c, unsigned char width)
{
    if (pass == 0 && l->kinds[1] != 0)
        take(h, l, 1, c, width);
    else
        lane_step(h, l, c, width);
}

/* A lane that has read the same bytes as the text has, as far as they matter,
 * goes on with it. */
static bool is_as_the_text(const struct mortise_mask *m,
                           const struct mortise_mask_lane *l)
{
    return l->passes[0].n == 0 && l->passes[1].n == 0 &&
           m->nodes[l->at].depth <= l->same;
}

/* Where nothing is in progress: does what begins here (to be looked at up to
 * `end`) spell what begins nothing?  Then no lane need look at it. */
static bool spells_nothing(const struct mortise_mask *m, const char *p,
                           const char *end)
{
    const unsigned char *bytes = (const unsigned char *)p;
    unsigned char out[4];
    enum mortise_spelled s = MORTISE_SPELLED_MORE;
    size_t n = 1, n_out = 0;

    while (s == MORTISE_SPELLED_MORE && p + n < end &&
           n < MORTISE_SPELLED_MAX && mortise_spelling_kind(bytes[n]) == 0)
        s = mortise_spelling_read(bytes, ++n, out, &n_out);
    for (size_t i = 0; i < n_out; i++)
        if (m->first[out[i]] != 0 || mortise_spelling_kind(out[i]) != 0)
            return false;
    return s == MORTISE_SPELLED_WHOLE && n_out > 0;
}

/* Those lanes part from the text that take c for something else. */
static void part_lanes(struct search *h, struct mortise_mask_lane *lanes,
                       unsigned *going, uint32_t at, uint64_t seen,
                       unsigned kind)
{
    uint32_t depth = h->mask->nodes[at].depth;

    for (unsigned i = 0; i < MORTISE_MASK_LANES; i++) {
        struct mortise_mask_lane *l = &lanes[i];

        if ((*going & 1u << i) != 0 ||
            ((passes[i][0] | passes[i][1]) & kind) == 0 ||
            (kind == BREAK && depth == 0))
            continue;
        *going |= 1u << i;
        memcpy(l->kinds, passes[i], sizeof l->kinds);
        l->at = at;
        l->same = depth;
        l->to = seen;
        l->passes[0].n = l->passes[1].n = 0;
        l->widths.n = l->head = 0;
        l->width = 0;
        if (h->into != NULL)
            put_widths(h, l, 1, depth);
    }
}

static void step_lanes(struct search *h, struct mortise_mask_lane *lanes,
                       unsigned *going, unsigned char c)
{
    for (unsigned i = 0; *going >> i != 0; i++) {
        if ((*going & 1u << i) == 0)
            continue;
        take(h, &lanes[i], 0, c, 1);
        if (is_as_the_text(h->mask, &lanes[i]))
            *going &= ~(1u << i);
    }
}

bool mortise_mask_finds(const struct mortise_mask *m, const char *p, size_t n)
{
    struct search h = {.mask = m};
    struct mortise_mask_lane lanes[MORTISE_MASK_LANES];
    unsigned going = 0;
    uint32_t at = MORTISE_MASK_ROOT;

    for (size_t i = 0; m != NULL && i < n && !h.found; i++) {
        unsigned char c = (unsigned char)p[i];
        unsigned kind = kind_of(m, at, c);

        if (kind != 0 && (at != MORTISE_MASK_ROOT || kind == CASE ||
                          !spells_nothing(m, p + i, p + n)))
            part_lanes(&h, lanes, &going, at, 0, kind);
        at = mortise_mask_step(m, at, c);
        step_lanes(&h, lanes, &going, c);
        h.found |= m->nodes[at].longest > 0;
    }
    return h.found;
}

/* ---- a text on its way ------------------------------------------------------
 */

void mortise_masking_init(struct mortise_masking *s,
                          const struct mortise_mask *mask,
                          const struct mortise_mem *mem)
{
    *s = (struct mortise_masking){.mask = mask};
    mortise_buf_init(&s->held, mem);
    for (size_t i = 0; i < MORTISE_MASK_LANES; i++)
        mortise_buf_init(&s->lanes[i].widths, mem);
}

void mortise_masking_finish(struct mortise_masking *s)
{
    const struct mortise_mem *mem = s->held.mem;

    if (mem == NULL)
        return;
    mortise_release(mem, s->parts, s->cap_parts * sizeof *s->parts);
    mortise_buf_finish(&s->held);
    for (size_t i = 0; i < MORTISE_MASK_LANES; i++)
        mortise_buf_finish(&s->lanes[i].widths);
    *s = (struct mortise_masking){.mask = NULL};
}

/* Settle up to `to`, into `out` or, NULL, to nowhere. */
static void settle(struct mortise_masking *s, uint64_t to,
                   struct mortise_buf *out)
{
    size_t n = (size_t)(to - s->told);

    if (out != NULL && n > 0)
        mortise_buf_put(out, s->held.p + s->skip, n);
    s->skip += n;
    s->told = to;
    if (s->skip == s->held.n) {
        s->held.n = s->skip = 0;
    } else if (s->skip > 4096 && s->skip > s->held.n / 2) {
        memmove(s->held.p, s->held.p + s->skip, s->held.n - s->skip);
        s->held.n -= s->skip;
        s->skip = 0;
    }
}

static void show(struct mortise_masking *s, struct mortise_masked_part *part,
                 struct mortise_buf *out)
{
    if (!part->shown)
        mortise_buf_printf(out, "[secret %s]", s->mask->names[part->name]);
    part->shown = true;
}

/* Everything before `safe` is decided (2). */
static void drain(struct mortise_masking *s, uint64_t safe,
                  struct mortise_buf *out)
{
    while (s->told < safe) {
        struct mortise_masked_part *part = s->parts;

        if (s->n_parts == 0 || part->from >= safe) {
            settle(s, safe, out);
            return;
        }
        if (s->told < part->from)
            settle(s, part->from, out);
        show(s, part, out);
        settle(s, part->to < safe ? part->to : safe, NULL);
        if (part->to <= s->told)
            memmove(part, part + 1, --s->n_parts * sizeof *part);
    }
}

/* (1) */
static void add_part(struct mortise_masking *s, uint64_t from, uint64_t to,
                     uint32_t name, struct mortise_buf *out)
{
    struct mortise_masked_part part = {from, to, name, false}, *grown;

    while (s->n_parts > 0 && s->parts[s->n_parts - 1].to > part.from) {
        const struct mortise_masked_part *last = &s->parts[--s->n_parts];

        if (last->from < part.from) {
            part.from = last->from;
            part.name = last->name;
        }
        if (last->to > part.to)
            part.to = last->to;
        part.shown |= last->shown;
    }
    grown = mortise_grow(s->held.mem, s->parts, s->n_parts, &s->cap_parts,
                         sizeof *grown);
    if (grown == NULL) {
        out->failed = true;
        return;
    }
    s->parts = grown;
    s->parts[s->n_parts++] = part;
}

/* What no form that has begun, in the text or in a lane, reaches back to (2). */
static uint64_t settled(const struct mortise_masking *s)
{
    uint64_t safe = s->seen - s->mask->nodes[s->at].depth;

    for (unsigned i = 0; s->going >> i != 0; i++)
        if ((s->going & 1u << i) != 0 &&
            s->lanes[i].to - s->lanes[i].width < safe)
            safe = s->lanes[i].to - s->lanes[i].width;
    return safe;
}

/* The byte at p, of a piece that ends at `end`. */
static void put_byte(struct mortise_masking *s, const char *p, const char *end,
                     struct mortise_buf *out)
{
    struct search h = {.mask = s->mask, .into = s, .out = out};
    unsigned char c = (unsigned char)*p;
    unsigned kind = kind_of(s->mask, s->at, c);
    const struct mortise_mask_node *node;

    mortise_buf_put(&s->held, p, 1);
    if (kind != 0 && (s->at != MORTISE_MASK_ROOT || kind == CASE ||
                      !spells_nothing(s->mask, p, end)))
        part_lanes(&h, s->lanes, &s->going, s->at, s->seen, kind);
    s->seen++;
    s->at = mortise_mask_step(s->mask, s->at, c);
    node = &s->mask->nodes[s->at];
    if (node->longest > 0)
        add_part(s, s->seen - node->longest, s->seen, node->name, out);
    step_lanes(&h, s->lanes, &s->going, c);
    if (!out->failed)
        drain(s, settled(s), out);
}

void mortise_masking_put(struct mortise_masking *s, const char *p, size_t n,
                         struct mortise_buf *out)
{
    const char *end = p + n;

    if (s->mask == NULL) {
        mortise_buf_put(out, p, n);
        return;
    }
    while (p < end && !out->failed) {
        const char *from = p;

        /* Most bytes begin nothing. */
        if (s->at == MORTISE_MASK_ROOT && s->going == 0)
            while (p < end && s->mask->plain[(unsigned char)*p])
                p++;
        if (p > from) {
            s->seen += (uint64_t)(p - from);
            s->told = s->seen;
            mortise_buf_put(out, from, (size_t)(p - from));
        }
        if (p < end)
            put_byte(s, p++, end, out);
        out->failed |= s->held.failed;
    }
}

void mortise_masking_end(struct mortise_masking *s, struct mortise_buf *out)
{
    if (s->mask != NULL && !out->failed)
        drain(s, s->seen, out);
    s->at = MORTISE_MASK_ROOT;
    s->going = 0;
}

/* What has begun where the text ends, and would be found if it went on.  The
 * ends of all forms have a name. */
static void find_begun(struct mortise_masking *s, struct mortise_buf *out)
{
    const struct mortise_mask_node *at, *nodes;

    if (s->mask == NULL || out->failed)
        return;
    nodes = s->mask->nodes;
    at = &nodes[s->at];
    if (at->depth < MORTISE_MASK_MIN)
        return;
    while (at->longest == 0)
        at = &nodes[at->child];
    add_part(s, s->seen - nodes[s->at].depth, s->seen, at->name, out);
}

static void mask_text(const struct mortise_mask *m, const char *p, size_t n,
                      bool is_cut, struct mortise_buf *out)
{
    struct mortise_masking s;

    mortise_masking_init(&s, m, out->mem);
    mortise_masking_put(&s, p, n, out);
    if (is_cut)
        find_begun(&s, out);
    mortise_masking_end(&s, out);
    mortise_masking_finish(&s);
}

void mortise_mask_text(const struct mortise_mask *m, const char *p, size_t n,
                       struct mortise_buf *out)
{
    mask_text(m, p, n, false, out);
}

void mortise_mask_cut_text(const struct mortise_mask *m, const char *p,
                           size_t n, struct mortise_buf *out)
{
    mask_text(m, p, n, true, out);
}
