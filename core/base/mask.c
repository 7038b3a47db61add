/* mask.c -- values that must not be seen, found in whatever passes by.
 *
 * All forms of all values are one automaton (Aho and Corasick's): each byte is
 * looked at once, however many there are, and a step costs a constant on the
 * average of all steps.
 *
 *   (1) What overlaps is one part: of "abcdefgh" and "cdefghij" in "abcdefghij"
 *       nothing stays.
 *   (2) A byte is settled when no form that has begun can reach it any more, so
 *       what is held back is never longer than the longest form.
 *   (3) In base64 a value's bytes stand in one of three ways, by how many came
 *       before.  The characters that it alone decides are looked for, and the
 *       one behind them that has its last bits, with whatever its neighbour
 *       adds, and the padding.  One in front, which has at most four of its
 *       bits, stays.
 *   (4) A byte may be written in many ways: %2f, \u002f, \/, and those again in
 *       another text.  They are not listed but read: where one begins, lanes
 *       part from the text that take it for what it spells, and the automaton
 *       reads what they say as it reads the text.  A lane is given up as soon
 *       as it has nothing in progress that the text has not, so that a text
 *       without spellings costs nothing, and their number is fixed: one
 *       spelling, two at once, one in another, and lines that are broken (of
 *       base64) in any of these.
 */
#include "base/mask.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROOT = 0, NAME_MAX_ = 64 };

struct node {
    uint32_t child, sibling; /* 0: none */
    uint32_t fail;           /* the longest proper end that begins a form */
    uint32_t depth;
    uint32_t longest; /* bytes of the longest form that ends here; 0: none */
    uint32_t name;    /* of that one */
    unsigned char byte;
};

struct mortise_mask {
    const struct mortise_mem *mem;
    atomic_uint refs;
    struct node *nodes;
    size_t n, cap;
    uint32_t first[256]; /* the root's children */
    bool plain[256];     /* begins no form, and spells nothing */
    char (*names)[NAME_MAX_ + 1];
    size_t n_names, cap_names;
};

struct mortise_mask *mortise_mask_new(const struct mortise_mem *mem)
{
    struct mortise_mask *m = mortise_zalloc(mem, sizeof *m);

    if (m == NULL)
        return NULL;
    m->mem = mem;
    atomic_init(&m->refs, 1);
    m->nodes = mortise_grow(mem, NULL, 0, &m->cap, sizeof *m->nodes);
    if (m->nodes == NULL) {
        mortise_release(mem, m, sizeof *m);
        return NULL;
    }
    m->nodes[m->n++] = (struct node){.byte = 0};
    return m;
}

struct mortise_mask *mortise_mask_ref(struct mortise_mask *m)
{
    if (m != NULL)
        atomic_fetch_add(&m->refs, 1);
    return m;
}

/* The nodes are the values. */
void mortise_mask_unref(struct mortise_mask *m)
{
    if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    explicit_bzero(m->nodes, m->n * sizeof *m->nodes);
    mortise_release(m->mem, m->nodes, m->cap * sizeof *m->nodes);
    mortise_release(m->mem, m->names, m->cap_names * sizeof *m->names);
    mortise_release(m->mem, m, sizeof *m);
}

/* ---- forms ---------------------------------------------------------------- */

static uint32_t child_of(const struct mortise_mask *m, uint32_t at,
                         unsigned char byte)
{
    uint32_t c = at == ROOT ? m->first[byte] : m->nodes[at].child;

    while (at != ROOT && c != 0 && m->nodes[c].byte != byte)
        c = m->nodes[c].sibling;
    return c;
}

/* Memory that moves is wiped where it was: it has the values. */
static bool make_room(struct mortise_mask *m)
{
    size_t cap = m->cap * 2;
    struct node *grown;

    if (m->n < m->cap)
        return true;
    grown = mortise_alloc(m->mem, cap * sizeof *grown);
    if (grown == NULL)
        return false;
    memcpy(grown, m->nodes, m->n * sizeof *grown);
    explicit_bzero(m->nodes, m->n * sizeof *m->nodes);
    mortise_release(m->mem, m->nodes, m->cap * sizeof *m->nodes);
    m->nodes = grown;
    m->cap = cap;
    return true;
}

static bool add_child(struct mortise_mask *m, uint32_t *at, unsigned char byte)
{
    uint32_t c = (uint32_t)m->n, *from;

    if (!make_room(m))
        return false;
    from = *at == ROOT ? &m->first[byte] : &m->nodes[*at].child;
    m->nodes[m->n++] = (struct node){.sibling = *at == ROOT ? 0 : *from,
                                     .depth = m->nodes[*at].depth + 1,
                                     .byte = byte};
    *from = c;
    *at = c;
    return true;
}

/* What is too short to mean anything by itself is left out. */
static bool add_form(struct mortise_mask *m, uint32_t name, const char *p,
                     size_t n)
{
    uint32_t at = ROOT;

    if (n < MORTISE_MASK_MIN)
        return true;
    for (size_t i = 0; i < n; i++) {
        uint32_t next = child_of(m, at, (unsigned char)p[i]);

        if (next != 0)
            at = next;
        else if (!add_child(m, &at, (unsigned char)p[i]))
            return false;
    }
    m->nodes[at].longest = (uint32_t)n;
    m->nodes[at].name = name;
    return true;
}

/* As `put` writes each byte of it. */
static bool add_written(struct mortise_mask *m, uint32_t name,
                        const char *value, size_t n,
                        void (*put)(struct mortise_buf *b, unsigned char c))
{
    struct mortise_buf b;
    bool ok;

    mortise_buf_init(&b, m->mem);
    for (size_t i = 0; i < n; i++)
        put(&b, (unsigned char)value[i]);
    ok = !b.failed && add_form(m, name, b.p, b.n);
    if (b.p != NULL)
        explicit_bzero(b.p, b.n);
    mortise_buf_finish(&b);
    return ok;
}

static void put_hex(struct mortise_buf *b, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";

    mortise_buf_put(b, &digits[c >> 4], 1);
    mortise_buf_put(b, &digits[c & 15], 1);
}

static void put_upper_hex(struct mortise_buf *b, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";

    mortise_buf_put(b, &digits[c >> 4], 1);
    mortise_buf_put(b, &digits[c & 15], 1);
}

/* application/x-www-form-urlencoded; the rest of it is (4)'s. */
static void put_form(struct mortise_buf *b, unsigned char c)
{
    mortise_buf_put(b, c == ' ' ? "+" : (const char *)&c, 1);
}

/* ---- base64 (3) ------------------------------------------------------------
 */

/* Bits [at, at + 6) of the value behind `before` bytes of nobody knows what. */
static unsigned sextet(const char *value, size_t before, size_t at)
{
    unsigned bits = 0;

    for (size_t i = at; i < at + 6; i++) {
        unsigned char c = (unsigned char)value[i / 8 - before];

        bits = bits << 1 | (c >> (7 - i % 8) & 1);
    }
    return bits;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789";

/* The form with each last character that its last bits, 2 or 4, leave open;
 * with the padding behind it where the value ends there. */
static bool add_tails(struct mortise_mask *m, uint32_t name,
                      struct mortise_buf *b, unsigned char last, unsigned bits,
                      const char *last_two)
{
    unsigned open = 6 - bits, d = (last & ((1u << bits) - 1)) << open;
    bool ok = true;

    for (unsigned i = 0; ok && i < 1u << open; i++) {
        mortise_buf_put(b, d + i < 62 ? &digits[d + i] : &last_two[d + i - 62],
                        1);
        ok = !b->failed && add_form(m, name, b->p, b->n);
        if (ok && i == 0) {
            mortise_buf_put(b, "==", open / 2);
            ok = !b->failed && add_form(m, name, b->p, b->n);
            b->n -= open / 2;
        }
        b->n -= 1;
    }
    return ok;
}

static bool add_base64(struct mortise_mask *m, uint32_t name, const char *value,
                       size_t n, size_t before, const char *last_two)
{
    size_t from = (8 * before + 5) / 6, to = 8 * (before + n) / 6;
    struct mortise_buf b;
    bool ok;

    mortise_buf_init(&b, m->mem);
    for (size_t i = from; i < to; i++) {
        unsigned d = sextet(value, before, 6 * i);

        mortise_buf_put(&b, d < 62 ? &digits[d] : &last_two[d - 62], 1);
    }
    ok = !b.failed && add_form(m, name, b.p, b.n);
    if (ok && b.n >= MORTISE_MASK_MIN && 8 * (before + n) % 6 != 0)
        ok = add_tails(m, name, &b, (unsigned char)value[n - 1],
                       (unsigned)(8 * (before + n) % 6), last_two);
    if (b.p != NULL)
        explicit_bzero(b.p, b.n);
    mortise_buf_finish(&b);
    return ok;
}

static bool add_name(struct mortise_mask *m, const char *name)
{
    char(*grown)[NAME_MAX_ + 1] = mortise_grow(m->mem, m->names, m->n_names,
                                               &m->cap_names, sizeof *m->names);

    if (grown == NULL)
        return false;
    m->names = grown;
    snprintf(m->names[m->n_names++], sizeof *m->names, "%s", name);
    return true;
}

bool mortise_mask_add(struct mortise_mask *m, const char *name,
                      const char *value, size_t n)
{
    uint32_t id = (uint32_t)m->n_names;

    if (n < MORTISE_MASK_MIN)
        return true;
    if (!add_name(m, name) || !add_form(m, id, value, n) ||
        !add_written(m, id, value, n, put_form) ||
        !add_written(m, id, value, n, put_hex) ||
        !add_written(m, id, value, n, put_upper_hex))
        return false;
    for (size_t before = 0; before < 3; before++)
        if (!add_base64(m, id, value, n, before, "+/") ||
            !add_base64(m, id, value, n, before, "-_"))
            return false;
    return true;
}

/* ---- the automaton --------------------------------------------------------- */

static uint32_t step(const struct mortise_mask *m, uint32_t at,
                     unsigned char byte)
{
    uint32_t next;

    while ((next = child_of(m, at, byte)) == 0 && at != ROOT)
        at = m->nodes[at].fail;
    return next;
}

static void link_node(struct mortise_mask *m, uint32_t c, uint32_t parent)
{
    struct node *n = &m->nodes[c];
    const struct node *f;

    n->fail = parent == ROOT ? ROOT : step(m, m->nodes[parent].fail, n->byte);
    f = &m->nodes[n->fail];
    if (n->longest == 0) {
        n->longest = f->longest;
        n->name = f->name;
    }
}

/* By depth, so that what a link leads to has its own. */
bool mortise_mask_close(struct mortise_mask *m)
{
    uint32_t *queue = mortise_alloc(m->mem, m->n * sizeof *queue);
    size_t head = 0, n = 0;

    if (queue == NULL)
        return false;
    for (size_t i = 0; i < 256; i++) {
        if (m->first[i] == 0)
            continue;
        link_node(m, m->first[i], ROOT);
        queue[n++] = m->first[i];
    }
    for (; head < n; head++)
        for (uint32_t c = m->nodes[queue[head]].child; c != 0;
             c = m->nodes[c].sibling) {
            link_node(m, c, queue[head]);
            queue[n++] = c;
        }
    mortise_release(m->mem, queue, m->n * sizeof *queue);
    for (size_t i = 0; i < 256; i++)
        m->plain[i] = m->first[i] == 0 && i != '%' && i != '\\';
    return true;
}

/* ---- spellings (4) ----------------------------------------------------------
 */

enum { PERCENT = 1, ESCAPE = 2, BREAK = 4, WIDE = 250 };

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
    {BREAK, 0},
    {PERCENT, BREAK},
    {ESCAPE, BREAK},
};

static unsigned kind_of(unsigned char c)
{
    return c == '%'                 ? PERCENT
           : c == '\\'              ? ESCAPE
           : c == '\n' || c == '\r' ? BREAK
                                    : 0;
}

static int digit_of(unsigned char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

enum spelled { MORE, NONE, WHOLE };

/* The hexadecimal digits p[from, to), of which n are there. */
static enum spelled digits_of(const unsigned char *p, size_t n, size_t from,
                              size_t to, uint32_t *code)
{
    *code = 0;
    for (size_t i = from; i < to && i < n; i++) {
        int d = digit_of(p[i]);

        if (d < 0)
            return NONE;
        *code = *code << 4 | (uint32_t)d;
    }
    return n < to ? MORE : WHOLE;
}

/* \uXXXX, and another where that is half a character. */
static enum spelled read_u(const unsigned char *p, size_t n, uint32_t *code)
{
    enum spelled s = digits_of(p, n, 2, 6, code);
    uint32_t low;

    if (s != WHOLE || *code < 0xd800 || *code > 0xdfff)
        return s;
    if (*code > 0xdbff || (n > 6 && p[6] != '\\') || (n > 7 && p[7] != 'u'))
        return NONE;
    s = digits_of(p, n, 8, 12, &low);
    if (s == WHOLE && (low < 0xdc00 || low > 0xdfff))
        return NONE;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return s;
}

static enum spelled read_escape(const unsigned char *p, size_t n,
                                uint32_t *code)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *at;

    if (n < 2)
        return MORE;
    if (p[1] == 'u')
        return read_u(p, n, code);
    if (p[1] == 'x')
        return digits_of(p, n, 2, 4, code);
    at = p[1] != '\0' ? strchr(from, p[1]) : NULL;
    *code = at != NULL ? (unsigned char)to[at - from] : p[1];
    return WHOLE;
}

/* The bytes that these ones spell. */
static enum spelled read_spelling(const unsigned char *p, size_t n,
                                  unsigned char out[4], size_t *n_out)
{
    bool one = p[0] == '%' || (n > 1 && p[1] != 'u'); /* a byte as it is */
    uint32_t code = 0;
    enum spelled s;

    *n_out = 0;
    if (kind_of(p[0]) == BREAK)
        return WHOLE;
    s = p[0] == '%' ? digits_of(p, n, 1, 3, &code) : read_escape(p, n, &code);
    if (s != WHOLE)
        return s;
    if (one || code < 0x80) {
        out[(*n_out)++] = (unsigned char)code;
    } else if (code < 0x800) {
        out[(*n_out)++] = (unsigned char)(0xc0 | code >> 6);
    } else {
        out[(*n_out)++] = (unsigned char)(code < 0x10000 ? 0xe0 | code >> 12
                                                         : 0xf0 | code >> 18);
        if (code >= 0x10000)
            out[(*n_out)++] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
        out[(*n_out)++] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    }
    if (!one && code >= 0x80)
        out[(*n_out)++] = (unsigned char)(0x80 | (code & 0x3f));
    return WHOLE;
}

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
    const struct node *node;

    l->at = step(h->mask, l->at, c);
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
        l->at = ROOT;
        keep_last(l, 0);
        return;
    }
    l->width += width - (unsigned char)l->widths.p[l->widths.n - 1];
    l->widths.p[l->widths.n - 1] = (char)width;
}

static void pass_on(struct search *h, struct mortise_mask_lane *l,
                    unsigned pass, unsigned char c, unsigned char width);

/* One byte into a pass, which holds it back while it may be part of more. */
static void take(struct search *h, struct mortise_mask_lane *l, unsigned pass,
                 unsigned char c, unsigned char width)
{
    struct mortise_spelling *p = &l->passes[pass], begun;
    unsigned char out[4];
    size_t n;
    unsigned all = 0;

    if (p->n == 0 && (kind_of(c) & l->kinds[pass]) == 0) {
        pass_on(h, l, pass, c, width);
        return;
    }
    p->bytes[p->n] = c;
    p->widths[p->n++] = width;
    switch (read_spelling(p->bytes, p->n, out, &n)) {
    case MORE:
        return;
    case NONE: /* the first stands for itself, and the others begin anew */
        begun = *p;
        p->n = 0;
        pass_on(h, l, pass, begun.bytes[0], begun.widths[0]);
        for (size_t i = 1; i < begun.n; i++)
            take(h, l, pass, begun.bytes[i], begun.widths[i]);
        return;
    case WHOLE:
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
    enum spelled s = MORE;
    size_t n = 1, n_out = 0;

    while (s == MORE && p + n < end && n < MORTISE_SPELLED_MAX &&
           kind_of(bytes[n]) == 0)
        s = read_spelling(bytes, ++n, out, &n_out);
    for (size_t i = 0; i < n_out; i++)
        if (m->first[out[i]] != 0 || kind_of(out[i]) != 0)
            return false;
    return s == WHOLE && n_out > 0;
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
    uint32_t at = ROOT;

    for (size_t i = 0; m != NULL && i < n && !h.found; i++) {
        unsigned char c = (unsigned char)p[i];
        unsigned kind = kind_of(c);

        if (kind != 0 && (at != ROOT || !spells_nothing(m, p + i, p + n)))
            part_lanes(&h, lanes, &going, at, 0, kind);
        at = step(m, at, c);
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
    unsigned kind = kind_of(c);
    const struct node *node;

    mortise_buf_put(&s->held, p, 1);
    if (kind != 0 && (s->at != ROOT || !spells_nothing(s->mask, p, end)))
        part_lanes(&h, s->lanes, &s->going, s->at, s->seen, kind);
    s->seen++;
    s->at = step(s->mask, s->at, c);
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
        if (s->at == ROOT && s->going == 0)
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
    s->at = ROOT;
    s->going = 0;
}

void mortise_mask_text(const struct mortise_mask *m, const char *p, size_t n,
                       struct mortise_buf *out)
{
    struct mortise_masking s;

    mortise_masking_init(&s, m, out->mem);
    mortise_masking_put(&s, p, n, out);
    mortise_masking_end(&s, out);
    mortise_masking_finish(&s);
}
