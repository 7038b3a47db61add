/* mask.c -- values that must not be seen: what they look like.
 *
 * All forms of all values are one automaton (Aho and Corasick's): each byte of a
 * text is looked at once, however many there are, and a step costs a constant on
 * the average of all steps.
 *
 * In base64 a value's bytes stand in one of three ways, by how many came before.
 * The characters that it alone decides are looked for, and the one behind them
 * that has its last bits, with whatever its neighbour adds, and the padding.
 * One in front, which has at most four of its bits, stays.
 *
 * Other ways to write a byte are not listed but read: see masking.c.
 */
#include "core/base/mask.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mask_nodes.h"

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
    m->nodes[m->n++] = (struct mortise_mask_node){.byte = 0};
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

/* Memory that moves is wiped where it was: it has the values. */
static bool make_room(struct mortise_mask *m)
{
    size_t cap = m->cap * 2;
    struct mortise_mask_node *grown;

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
    from = *at == MORTISE_MASK_ROOT ? &m->first[byte] : &m->nodes[*at].child;
    m->nodes[m->n++] = (struct mortise_mask_node){
        .sibling = *at == MORTISE_MASK_ROOT ? 0 : *from,
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
    uint32_t at = MORTISE_MASK_ROOT;

    if (n < MORTISE_MASK_MIN)
        return true;
    for (size_t i = 0; i < n; i++) {
        uint32_t next = mortise_mask_child(m, at, (unsigned char)p[i]);

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

/* ---- base64 --------------------------------------------------------------- */

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
    char(*grown)[MORTISE_MASK_NAME + 1] = mortise_grow(
        m->mem, m->names, m->n_names, &m->cap_names, sizeof *m->names);

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

static void link_node(struct mortise_mask *m, uint32_t c, uint32_t parent)
{
    struct mortise_mask_node *n = &m->nodes[c];
    const struct mortise_mask_node *f;

    n->fail = parent == MORTISE_MASK_ROOT
                  ? MORTISE_MASK_ROOT
                  : mortise_mask_step(m, m->nodes[parent].fail, n->byte);
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
        link_node(m, m->first[i], MORTISE_MASK_ROOT);
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
        m->plain[i] = m->first[i] == 0 && i != '%' && i != '\\' &&
                      !(i >= 'A' && i <= 'F' && m->first[i - 'A' + 'a'] != 0);
    return true;
}
