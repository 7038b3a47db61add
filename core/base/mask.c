/* mask.c -- secret values and the encoded forms in which they may appear.
 *
 * All forms of all values make one Aho-Corasick automaton: a text is read once,
 * however many values there are, at an amortised constant cost per byte.
 *
 * The base64 form of a value depends on the number of bytes before it, modulo
 * 3, so there are three forms.  Each form consists of the characters that the
 * value alone determines.  One more character holds the value's last bits
 * together with bits of its neighbour, so a form is added for each such
 * character, and one with padding.  A character at the front that holds at most
 * four bits of the value is not masked.
 *
 * Other spellings of a byte (URL, JSON) are not added as forms; masking.c
 * decodes them.
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
    m->nodes = mortise_array_grow(mem, NULL, 0, &m->cap, sizeof *m->nodes);
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

/* Wiped first: the nodes spell out the values. */
void mortise_mask_unref(struct mortise_mask *m)
{
    if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    explicit_bzero(m->nodes, m->n * sizeof *m->nodes);
    mortise_release(m->mem, m->nodes, m->cap * sizeof *m->nodes);
    mortise_release(m->mem, m->names, m->cap_names * sizeof *m->names);
    mortise_release(m->mem, m, sizeof *m);
}

/* ---- forms --------------------------------------------------------------- */

/* Like realloc(), but wipes the old memory, which holds the values. */
static bool reserve_mask_node(struct mortise_mask *m)
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

    if (!reserve_mask_node(m))
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

/* Forms shorter than MORTISE_MASK_MIN are not added: they would match by
 * chance. */
static bool add_form(struct mortise_mask *m, uint32_t name, const char *p,
                     size_t n)
{
    uint32_t at = MORTISE_MASK_ROOT;

    if (n < MORTISE_MASK_MIN)
        return true;
    for (size_t i = 0; i < n; i++) {
        uint32_t next = mortise_mask_find_child(m, at, (unsigned char)p[i]);

        if (next != 0)
            at = next;
        else if (!add_child(m, &at, (unsigned char)p[i]))
            return false;
    }
    m->nodes[at].longest = (uint32_t)n;
    m->nodes[at].name = name;
    return true;
}

/* Add the form that results if `put` encodes each byte of the value. */
static bool
add_encoded_form(struct mortise_mask *m, uint32_t name, const char *value,
                 size_t n, void (*put)(struct mortise_buf *b, unsigned char c))
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

/* application/x-www-form-urlencoded: only the space; masking.c decodes
 * the %XX. */
static void put_form_byte(struct mortise_buf *b, unsigned char c)
{
    mortise_buf_put(b, c == ' ' ? "+" : (const char *)&c, 1);
}

/* ---- base64 -------------------------------------------------------------- */

/* Bits [at, at + 6) of a stream in which `before` unknown bytes precede the
 * value. */
static unsigned get_base64_sextet(const char *value, size_t before, size_t at)
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

/* Add the form with each character that can hold the value's last bits (2 or 4
 * of its 6), and the one with padding, for a value at the end of the input. */
static bool add_base64_tails(struct mortise_mask *m, uint32_t name,
                             struct mortise_buf *b, unsigned char last,
                             unsigned bits, const char *last_two)
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
        unsigned d = get_base64_sextet(value, before, 6 * i);

        mortise_buf_put(&b, d < 62 ? &digits[d] : &last_two[d - 62], 1);
    }
    ok = !b.failed && add_form(m, name, b.p, b.n);
    if (ok && b.n >= MORTISE_MASK_MIN && 8 * (before + n) % 6 != 0)
        ok = add_base64_tails(m, name, &b, (unsigned char)value[n - 1],
                              (unsigned)(8 * (before + n) % 6), last_two);
    if (b.p != NULL)
        explicit_bzero(b.p, b.n);
    mortise_buf_finish(&b);
    return ok;
}

static bool add_secret_name(struct mortise_mask *m, const char *name)
{
    char(*grown)[MORTISE_MASK_NAME + 1] = mortise_array_grow(
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
    if (!add_secret_name(m, name) || !add_form(m, id, value, n) ||
        !add_encoded_form(m, id, value, n, put_form_byte) ||
        !add_encoded_form(m, id, value, n, put_hex) ||
        !add_encoded_form(m, id, value, n, put_upper_hex))
        return false;
    for (size_t before = 0; before < 3; before++)
        if (!add_base64(m, id, value, n, before, "+/") ||
            !add_base64(m, id, value, n, before, "-_"))
            return false;
    return true;
}

/* ---- the automaton ------------------------------------------------------- */

static void link_node(struct mortise_mask *m, uint32_t c, uint32_t parent)
{
    struct mortise_mask_node *n = &m->nodes[c];
    const struct mortise_mask_node *f;

    n->fail = parent == MORTISE_MASK_ROOT
                  ? MORTISE_MASK_ROOT
                  : mortise_mask_next_state(m, m->nodes[parent].fail, n->byte);
    f = &m->nodes[n->fail];
    if (n->longest == 0) {
        n->longest = f->longest;
        n->name = f->name;
    }
}

/* Breadth first: a fail link leads to a smaller depth, which is complete by
 * then. */
bool mortise_mask_build(struct mortise_mask *m)
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
