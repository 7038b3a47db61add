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
 */
#include "base/mask.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    ROOT = 0,
    FORM_MAX = 6, /* bytes that one may become: \u00e4 */
    NAME_MAX_ = 64
};

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

/* How one byte is written; bytes of `out`. */
typedef size_t write_fn(char out[FORM_MAX + 1], const char **p,
                        const char *end);

static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";

static size_t write_url(char *out, unsigned char c, const char *as_is,
                        const char *hex)
{
    if (c != '\0' && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                      (c >= 'a' && c <= 'z') || strchr(as_is, c) != NULL)) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = '%';
    out[1] = hex[c >> 4];
    out[2] = hex[c & 15];
    return 3;
}

static size_t url_upper(char *out, const char **p, const char *end)
{
    (void)end;
    return write_url(out, (unsigned char)*(*p)++, "-_.~", upper);
}

static size_t url_lower(char *out, const char **p, const char *end)
{
    (void)end;
    return write_url(out, (unsigned char)*(*p)++, "-_.~", lower);
}

/* encodeURIComponent() of JavaScript */
static size_t url_script(char *out, const char **p, const char *end)
{
    (void)end;
    return write_url(out, (unsigned char)*(*p)++, "-_.~!*'()", upper);
}

/* application/x-www-form-urlencoded */
static size_t write_form(char *out, const char **p, const char *hex)
{
    char c = *(*p)++;

    if (c != ' ')
        return write_url(out, (unsigned char)c, "-_.*", hex);
    out[0] = '+';
    return 1;
}

static size_t form_upper(char *out, const char **p, const char *end)
{
    (void)end;
    return write_form(out, p, upper);
}

static size_t form_lower(char *out, const char **p, const char *end)
{
    (void)end;
    return write_form(out, p, lower);
}

/* A code point of UTF-8; the bytes were judged when the value was read. */
static uint32_t take_code(const char **p, const char *end)
{
    unsigned char c = (unsigned char)*(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    uint32_t code = more == 0 ? c : c & (0x3fu >> more);

    for (; more > 0 && *p < end; more--)
        code = code << 6 | ((unsigned char)*(*p)++ & 0x3f);
    return code;
}

static size_t write_u(char *out, uint32_t code, const char *hex)
{
    out[0] = '\\';
    out[1] = 'u';
    for (int i = 0; i < 4; i++)
        out[2 + i] = hex[code >> (12 - 4 * i) & 15];
    return 6;
}

/* A control character, a quote or a backslash; 0: it is none. */
static size_t write_escape(char *out, char c, const char *hex)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c != '\0' ? strchr(from, c) : NULL;

    if (at != NULL) {
        out[0] = '\\';
        out[1] = to[at - from];
        return 2;
    }
    return (unsigned char)c < 0x20 ? write_u(out, (unsigned char)c, hex) : 0;
}

static size_t json_plain(char *out, const char **p, const char *end)
{
    char c = *(*p)++;
    size_t n = write_escape(out, c, lower);

    (void)end;
    out[0] = n > 0 ? out[0] : c;
    return n > 0 ? n : 1;
}

/* With \/, as PHP does it. */
static size_t json_slash(char *out, const char **p, const char *end)
{
    if (**p != '/')
        return json_plain(out, p, end);
    ++*p;
    memcpy(out, "\\/", 2);
    return 2;
}

static size_t json_ascii(char *out, const char **p, const char *end,
                         const char *hex)
{
    uint32_t code;

    if ((unsigned char)**p < 0x80)
        return json_plain(out, p, end);
    code = take_code(p, end);
    if (code < 0x10000)
        return write_u(out, code, hex);
    code -= 0x10000;
    write_u(out, 0xd800 + (code >> 10), hex);
    return 6 + write_u(out + 6, 0xdc00 + (code & 0x3ff), hex);
}

static size_t json_lower(char *out, const char **p, const char *end)
{
    return json_ascii(out, p, end, lower);
}

static size_t json_upper(char *out, const char **p, const char *end)
{
    return json_ascii(out, p, end, upper);
}

static bool add_written(struct mortise_mask *m, uint32_t name,
                        const char *value, size_t n, write_fn *write)
{
    const char *p = value, *end = value + n;
    struct mortise_buf b;
    bool ok;

    mortise_buf_init(&b, m->mem);
    while (p < end) {
        char one[2 * FORM_MAX + 1];

        mortise_buf_put(&b, one, write(one, &p, end));
    }
    ok = !b.failed && add_form(m, name, b.p, b.n);
    if (b.p != NULL)
        explicit_bzero(b.p, b.n);
    mortise_buf_finish(&b);
    return ok;
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
    static write_fn *const written[] = {url_upper,  url_lower,  url_script,
                                        form_upper, form_lower, json_plain,
                                        json_slash, json_lower, json_upper};
    uint32_t id = (uint32_t)m->n_names;

    if (n < MORTISE_MASK_MIN)
        return true;
    if (!add_name(m, name) || !add_form(m, id, value, n))
        return false;
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
        if (!add_written(m, id, value, n, written[i]))
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
    return true;
}

bool mortise_mask_finds(const struct mortise_mask *m, const char *p, size_t n)
{
    uint32_t at = ROOT;

    for (size_t i = 0; m != NULL && i < n; i++) {
        at = step(m, at, (unsigned char)p[i]);
        if (m->nodes[at].longest > 0)
            return true;
    }
    return false;
}

/* ---- a text on its way ------------------------------------------------------
 */

void mortise_masking_init(struct mortise_masking *s,
                          const struct mortise_mask *mask,
                          const struct mortise_mem *mem)
{
    *s = (struct mortise_masking){.mask = mask};
    mortise_buf_init(&s->held, mem);
}

void mortise_masking_finish(struct mortise_masking *s)
{
    const struct mortise_mem *mem = s->held.mem;

    if (mem == NULL)
        return;
    mortise_release(mem, s->parts, s->cap_parts * sizeof *s->parts);
    mortise_buf_finish(&s->held);
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
static void add_part(struct mortise_masking *s, uint64_t from, uint32_t name,
                     struct mortise_buf *out)
{
    struct mortise_masked_part part = {from, s->seen, name, false}, *grown;

    while (s->n_parts > 0 && s->parts[s->n_parts - 1].to > part.from) {
        const struct mortise_masked_part *last = &s->parts[--s->n_parts];

        if (last->from < part.from) {
            part.from = last->from;
            part.name = last->name;
        }
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

static void put_byte(struct mortise_masking *s, char c, struct mortise_buf *out)
{
    const struct node *node;

    mortise_buf_put(&s->held, &c, 1);
    s->seen++;
    s->at = step(s->mask, s->at, (unsigned char)c);
    node = &s->mask->nodes[s->at];
    if (node->longest > 0)
        add_part(s, s->seen - node->longest, node->name, out);
    if (!out->failed)
        drain(s, s->seen - node->depth, out);
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
        while (p < end && s->at == ROOT &&
               s->mask->first[(unsigned char)*p] == 0)
            p++;
        if (p > from) {
            s->seen += (uint64_t)(p - from);
            s->told = s->seen;
            mortise_buf_put(out, from, (size_t)(p - from));
        }
        if (p < end)
            put_byte(s, *p++, out);
        out->failed |= s->held.failed;
    }
}

void mortise_masking_end(struct mortise_masking *s, struct mortise_buf *out)
{
    if (s->mask != NULL && !out->failed)
        drain(s, s->seen, out);
    s->at = ROOT;
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
