/* masking.c -- replace the values of a mask in a text.
 *
 *   (1) Overlapping matches are one part: of "abcdefgh" and "cdefghij" in
 *       "abcdefghij", nothing remains.
 *   (2) A byte is decided when no partial match can include it any more.  So
 *       the bytes held back are never more than the longest form.
 *   (3) A byte has many spellings: %2f, \u002f, \/, and these again inside one
 *       another.  Where a spelling begins, lanes start that read the text with
 *       such spellings decoded; the automaton reads the decoded bytes like the
 *       text.  A lane stops as soon as its partial match is the same as the
 *       text's, so a text without spellings costs nothing.  The lanes are
 *       fixed: one spelling, two kinds at once, one nested in the other, and
 *       broken lines (of base64) in any of these.
 *   (4) Some writers do not escape a backslash or a percent sign, but spell
 *       other bytes with it.  RAW lanes read it as itself if it continues a
 *       partial match.
 *   (5) One text may have hexadecimal digits of both cases: a capital is
 *       treated as a spelling of the small letter.  A lane starts for it only
 *       if the small letter begins or continues a form.
 */
#include <string.h>

#include "core/base/mask_nodes.h"

enum {
    PERCENT = MORTISE_SPELLED_PERCENT,
    ESCAPE = MORTISE_SPELLED_ESCAPE,
    BREAK = MORTISE_SPELLED_BREAK,
    CASE = 8, /* A to F (5) */
    RAW = 16  /* a byte that begins a spelling may stand for itself (4) */
};

/* The spellings that each lane decodes, in one or two passes. */
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

/* The input and the output of a search. */
struct search {
    const struct mortise_mask *mask;
    struct mortise_mask_stream *into; /* NULL: only set `found` */
    struct mortise_buf *out;
    bool found;
};

static void add_part(struct mortise_mask_stream *s, uint64_t from, uint64_t to,
                     uint32_t name, struct mortise_buf *out);

/* The length in the text of the lane's last n bytes. */
static uint64_t sum_last_widths(const struct mortise_mask_lane *l, size_t n)
{
    uint64_t width = 0;

    for (size_t i = l->widths.n - n; i < l->widths.n; i++)
        width += (unsigned char)l->widths.p[i];
    return width;
}

/* Drop the widths of all but the last n bytes. */
static void trim_widths(struct mortise_mask_lane *l, size_t n)
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

/* Read one decoded byte, which takes `width` bytes of the text. */
static void lane_step(struct search *h, struct mortise_mask_lane *l,
                      unsigned char c, unsigned char width)
{
    const struct mortise_mask_node *node;

    l->at = mortise_mask_next_state(h->mask, l->at, c);
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
        add_part(h->into, l->to - sum_last_widths(l, node->longest), l->to,
                 node->name, h->out);
    trim_widths(l, node->depth);
}

/* Skip `width` bytes of the text, a line break, and count them to the last
 * byte. */
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
    if (width > WIDE) { /* too many line breaks: give up the match */
        l->at = MORTISE_MASK_ROOT;
        trim_widths(l, 0);
        return;
    }
    l->width += width - (unsigned char)l->widths.p[l->widths.n - 1];
    l->widths.p[l->widths.n - 1] = (char)width;
}

static void give_to_next_pass(struct search *h, struct mortise_mask_lane *l,
                              unsigned pass, unsigned char c,
                              unsigned char width);

static bool is_capital(unsigned char c)
{
    return c >= 'A' && c <= 'F';
}

static unsigned char to_small_letter(unsigned char c)
{
    return (unsigned char)(c - 'A' + 'a');
}

/* The kind of spelling that c begins, in this state of the automaton;
 * 0: none. */
static unsigned spelling_kind_at(const struct mortise_mask *m, uint32_t at,
                                 unsigned char c)
{
    if (!is_capital(c))
        return mortise_spelling_kind(c);
    return mortise_mask_next_state(m, at, to_small_letter(c)) !=
                   MORTISE_MASK_ROOT
               ? CASE
               : 0;
}

/* Does the pass read c as itself, although c begins a spelling (4)?  Only
 * the last pass of a lane is RAW, so the lane's state is the right one to
 * look at. */
static bool is_read_as_itself(const struct search *h,
                              const struct mortise_mask_lane *l, unsigned pass,
                              unsigned char c)
{
    return (l->kinds[pass] & RAW) != 0 &&
           mortise_mask_find_child(h->mask, l->at, c) != 0;
}

/* Give a byte to a pass.  The pass holds it back while it may be part of a
 * spelling. */
static void give_to_pass(struct search *h, struct mortise_mask_lane *l,
                         unsigned pass, unsigned char c, unsigned char width)
{
    struct mortise_spelling *p = &l->passes[pass], begun;
    unsigned char out[4];
    size_t n;
    unsigned all = 0;

    if (p->n == 0 && (l->kinds[pass] & CASE) != 0 && is_capital(c)) {
        give_to_next_pass(h, l, pass, to_small_letter(c), width);
        l->same = 0;
        return;
    }
    if (p->n == 0 && ((mortise_spelling_kind(c) & l->kinds[pass]) == 0 ||
                      is_read_as_itself(h, l, pass, c))) {
        give_to_next_pass(h, l, pass, c, width);
        return;
    }
    p->bytes[p->n] = c;
    p->widths[p->n++] = width;
    switch (mortise_spelling_decode(p->bytes, p->n, out, &n)) {
    case MORTISE_SPELLED_PARTIAL:
        return;
    /* The first byte stands for itself; read the others again. */
    case MORTISE_SPELLED_NONE:
        begun = *p;
        p->n = 0;
        give_to_next_pass(h, l, pass, begun.bytes[0], begun.widths[0]);
        for (size_t i = 1; i < begun.n; i++)
            give_to_pass(h, l, pass, begun.bytes[i], begun.widths[i]);
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
        give_to_next_pass(h, l, pass, out[i],
                          (unsigned char)(i == 0 ? all : 0));
}

static void give_to_next_pass(struct search *h, struct mortise_mask_lane *l,
                              unsigned pass, unsigned char c,
                              unsigned char width)
{
    if (pass == 0 && l->kinds[1] != 0)
        give_to_pass(h, l, 1, c, width);
    else
        lane_step(h, l, c, width);
}

/* A lane whose partial match has only bytes that are not spelled is redundant:
 * the text's own state has the same match. */
static bool is_redundant_lane(const struct mortise_mask *m,
                              const struct mortise_mask_lane *l)
{
    return l->passes[0].n == 0 && l->passes[1].n == 0 &&
           m->nodes[l->at].depth <= l->same;
}

/* With no partial match: does the spelling at p (which is read up to `end`)
 * give a byte that begins nothing?  Then no lane is needed. */
static bool is_harmless_spelling(const struct mortise_mask *m, const char *p,
                                 const char *end)
{
    const unsigned char *bytes = (const unsigned char *)p;
    unsigned char out[4];
    enum mortise_spelling_result s = MORTISE_SPELLED_PARTIAL;
    size_t n = 1, n_out = 0;

    while (s == MORTISE_SPELLED_PARTIAL && p + n < end &&
           n < MORTISE_SPELLED_MAX && mortise_spelling_kind(bytes[n]) == 0)
        s = mortise_spelling_decode(bytes, ++n, out, &n_out);
    for (size_t i = 0; i < n_out; i++)
        if (m->first[out[i]] != 0 || mortise_spelling_kind(out[i]) != 0)
            return false;
    return s == MORTISE_SPELLED_WHOLE && n_out > 0;
}

/* Start the inactive lanes that decode this kind of spelling, in the state of
 * the text. */
static void start_lanes(struct search *h, struct mortise_mask_lane *lanes,
                        unsigned *active_lanes, uint32_t at, uint64_t seen,
                        unsigned kind)
{
    uint32_t depth = h->mask->nodes[at].depth;

    for (unsigned i = 0; i < MORTISE_MASK_LANES; i++) {
        struct mortise_mask_lane *l = &lanes[i];

        if ((*active_lanes & 1u << i) != 0 ||
            ((passes[i][0] | passes[i][1]) & kind) == 0 ||
            (kind == BREAK && depth == 0))
            continue;
        *active_lanes |= 1u << i;
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
                       unsigned *active_lanes, unsigned char c)
{
    for (unsigned i = 0; *active_lanes >> i != 0; i++) {
        if ((*active_lanes & 1u << i) == 0)
            continue;
        give_to_pass(h, &lanes[i], 0, c, 1);
        if (is_redundant_lane(h->mask, &lanes[i]))
            *active_lanes &= ~(1u << i);
    }
}

bool mortise_mask_is_match(const struct mortise_mask *m, const char *p,
                           size_t n)
{
    struct search h = {.mask = m};
    struct mortise_mask_lane lanes[MORTISE_MASK_LANES];
    unsigned active_lanes = 0;
    uint32_t at = MORTISE_MASK_ROOT;

    for (size_t i = 0; m != NULL && i < n && !h.found; i++) {
        unsigned char c = (unsigned char)p[i];
        unsigned kind = spelling_kind_at(m, at, c);

        if (kind != 0 && (at != MORTISE_MASK_ROOT || kind == CASE ||
                          !is_harmless_spelling(m, p + i, p + n)))
            start_lanes(&h, lanes, &active_lanes, at, 0, kind);
        at = mortise_mask_next_state(m, at, c);
        step_lanes(&h, lanes, &active_lanes, c);
        h.found |= m->nodes[at].longest > 0;
    }
    return h.found;
}

/* ---- a text -------------------------------------------------------------- */

void mortise_mask_stream_init(struct mortise_mask_stream *s,
                              const struct mortise_mask *mask,
                              const struct mortise_mem *mem)
{
    *s = (struct mortise_mask_stream){.mask = mask};
    mortise_buf_init(&s->held, mem);
    for (size_t i = 0; i < MORTISE_MASK_LANES; i++)
        mortise_buf_init(&s->lanes[i].widths, mem);
}

void mortise_mask_stream_finish(struct mortise_mask_stream *s)
{
    const struct mortise_mem *mem = s->held.mem;

    if (mem == NULL)
        return;
    mortise_release(mem, s->parts, s->cap_parts * sizeof *s->parts);
    mortise_buf_finish(&s->held);
    for (size_t i = 0; i < MORTISE_MASK_LANES; i++)
        mortise_buf_finish(&s->lanes[i].widths);
    *s = (struct mortise_mask_stream){.mask = NULL};
}

/* Remove the held bytes up to `to`, and append them to `out` (NULL: discard
 * them). */
static void release_held(struct mortise_mask_stream *s, uint64_t to,
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

static void put_placeholder(struct mortise_mask_stream *s,
                            struct mortise_masked_part *part,
                            struct mortise_buf *out)
{
    if (!part->shown)
        mortise_buf_printf(out, "[secret %s]", s->mask->names[part->name]);
    part->shown = true;
}

/* Output everything before `safe`, with placeholders for the parts (2). */
static void output_decided(struct mortise_mask_stream *s, uint64_t safe,
                           struct mortise_buf *out)
{
    while (s->told < safe) {
        struct mortise_masked_part *part = s->parts;

        if (s->n_parts == 0 || part->from >= safe) {
            release_held(s, safe, out);
            return;
        }
        if (s->told < part->from)
            release_held(s, part->from, out);
        put_placeholder(s, part, out);
        release_held(s, part->to < safe ? part->to : safe, NULL);
        if (part->to <= s->told)
            memmove(part, part + 1, --s->n_parts * sizeof *part);
    }
}

/* Add a part, merged with those that it overlaps (1). */
static void add_part(struct mortise_mask_stream *s, uint64_t from, uint64_t to,
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
    grown = mortise_array_grow(s->held.mem, s->parts, s->n_parts, &s->cap_parts,
                               sizeof *grown);
    if (grown == NULL) {
        out->failed = true;
        return;
    }
    s->parts = grown;
    s->parts[s->n_parts++] = part;
}

/* The offset that no partial match, in the text or in a lane, reaches back to
 * (2). */
static uint64_t find_decided_end(const struct mortise_mask_stream *s)
{
    uint64_t safe = s->seen - s->mask->nodes[s->at].depth;

    for (unsigned i = 0; s->active_lanes >> i != 0; i++)
        if ((s->active_lanes & 1u << i) != 0 &&
            s->lanes[i].to - s->lanes[i].width < safe)
            safe = s->lanes[i].to - s->lanes[i].width;
    return safe;
}

/* Read the byte at p of a piece that ends at `end`. */
static void put_byte(struct mortise_mask_stream *s, const char *p,
                     const char *end, struct mortise_buf *out)
{
    struct search h = {.mask = s->mask, .into = s, .out = out};
    unsigned char c = (unsigned char)*p;
    unsigned kind = spelling_kind_at(s->mask, s->at, c);
    const struct mortise_mask_node *node;

    mortise_buf_put(&s->held, p, 1);
    if (kind != 0 && (s->at != MORTISE_MASK_ROOT || kind == CASE ||
                      !is_harmless_spelling(s->mask, p, end)))
        start_lanes(&h, s->lanes, &s->active_lanes, s->at, s->seen, kind);
    s->seen++;
    s->at = mortise_mask_next_state(s->mask, s->at, c);
    node = &s->mask->nodes[s->at];
    if (node->longest > 0)
        add_part(s, s->seen - node->longest, s->seen, node->name, out);
    step_lanes(&h, s->lanes, &s->active_lanes, c);
    if (!out->failed)
        output_decided(s, find_decided_end(s), out);
}

void mortise_mask_stream_write(struct mortise_mask_stream *s, const char *p,
                               size_t n, struct mortise_buf *out)
{
    const char *end = p + n;

    if (s->mask == NULL) {
        mortise_buf_put(out, p, n);
        return;
    }
    while (p < end && !out->failed) {
        const char *from = p;

        /* Fast path: most bytes begin nothing. */
        if (s->at == MORTISE_MASK_ROOT && s->active_lanes == 0)
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

void mortise_mask_stream_flush(struct mortise_mask_stream *s,
                               struct mortise_buf *out)
{
    if (s->mask != NULL && !out->failed)
        output_decided(s, s->seen, out);
    s->at = MORTISE_MASK_ROOT;
    s->active_lanes = 0;
}

/* Add a part for the partial match at the end of the text.  Every branch of the
 * automaton ends in a form, which supplies the name. */
static void add_unfinished_part(struct mortise_mask_stream *s,
                                struct mortise_buf *out)
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
    struct mortise_mask_stream s;

    mortise_mask_stream_init(&s, m, out->mem);
    mortise_mask_stream_write(&s, p, n, out);
    if (is_cut)
        add_unfinished_part(&s, out);
    mortise_mask_stream_flush(&s, out);
    mortise_mask_stream_finish(&s);
}

void mortise_mask_text(const struct mortise_mask *m, const char *p, size_t n,
                       struct mortise_buf *out)
{
    mask_text(m, p, n, false, out);
}

void mortise_mask_truncated_text(const struct mortise_mask *m, const char *p,
                                 size_t n, struct mortise_buf *out)
{
    mask_text(m, p, n, true, out);
}
