/* mask_nodes.h -- the automaton of a mask: mask.c builds it, masking.c reads
 * texts with it. */
#ifndef MORTISE_BASE_MASK_NODES_H
#define MORTISE_BASE_MASK_NODES_H

#include <stdatomic.h>

#include "core/base/mask.h"

enum { MORTISE_MASK_ROOT = 0, MORTISE_MASK_NAME = 64 };

struct mortise_mask_node {
    uint32_t child, sibling; /* 0: none */
    uint32_t fail; /* node of the longest proper suffix that begins a form */
    uint32_t depth;
    uint32_t longest; /* length of the longest form that ends here; 0: none */
    uint32_t name;    /* index in `names`, of that form */
    unsigned char byte;
};

struct mortise_mask {
    const struct mortise_mem *mem;
    atomic_uint refs;
    struct mortise_mask_node *nodes;
    size_t n, cap;
    uint32_t first[256]; /* the root's children */
    bool plain[256];     /* begins neither a form nor a spelling */
    char (*names)[MORTISE_MASK_NAME + 1];
    size_t n_names, cap_names;
};

/* The child of `at` for this byte; 0: none. */
static inline uint32_t mortise_mask_find_child(const struct mortise_mask *m,
                                               uint32_t at, unsigned char byte)
{
    uint32_t c = at == MORTISE_MASK_ROOT ? m->first[byte] : m->nodes[at].child;

    while (at != MORTISE_MASK_ROOT && c != 0 && m->nodes[c].byte != byte)
        c = m->nodes[c].sibling;
    return c;
}

/* The next state of the automaton: the longest beginning of a form that the
 * text read so far, with this byte, ends with. */
static inline uint32_t mortise_mask_next_state(const struct mortise_mask *m,
                                               uint32_t at, unsigned char byte)
{
    uint32_t next;

    while ((next = mortise_mask_find_child(m, at, byte)) == 0 &&
           at != MORTISE_MASK_ROOT)
        at = m->nodes[at].fail;
    return next;
}

#endif
