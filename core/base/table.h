/* table.h -- a hash table of things that carry their own link.
 *
 * The table owns nothing and compares nothing: it finds by hash, and who asks
 * looks at the keys.  Adding cannot fail, so a thing that exists can always be
 * found.  One thread, or a lock of the owner's. */
#ifndef MORTISE_BASE_TABLE_H
#define MORTISE_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/mem.h"

enum { MORTISE_TABLE_FEW = 16 };

struct mortise_hashed {
    struct mortise_hashed *next;
    uint64_t hash;
};

struct mortise_table {
    const struct mortise_mem *mem; /* lent */
    struct mortise_hashed **slots; /* n_slots, a power of two; `few` at first */
    size_t n_slots, n;
    struct mortise_hashed *few[MORTISE_TABLE_FEW];
};

/* A table must not move once it is used: `slots` may point into it. */
void mortise_table_init(struct mortise_table *t, const struct mortise_mem *mem);
void mortise_table_finish(struct mortise_table *t); /* what was in it stays */

void mortise_table_add(struct mortise_table *t, struct mortise_hashed *e,
                       uint64_t hash);
void mortise_table_remove(struct mortise_table *t, struct mortise_hashed *e);
/* The entries with that hash: the first, and those after it; NULL at the
 * end. */
struct mortise_hashed *mortise_table_find(const struct mortise_table *t,
                                          uint64_t hash);
struct mortise_hashed *mortise_table_more(const struct mortise_hashed *e);
/* Every entry, in no order: the first, and the one after `e`.  Removing `e`
 * itself in between is not allowed. */
struct mortise_hashed *mortise_table_first(const struct mortise_table *t);
struct mortise_hashed *mortise_table_next(const struct mortise_table *t,
                                          const struct mortise_hashed *e);

/* Hashes of two strings (either may be "") and of two numbers. */
uint64_t mortise_hash_strs(const char *a, const char *b);
uint64_t mortise_hash_u64s(uint64_t a, uint64_t b);

/* The struct of which `member` is a part. */
#define MORTISE_OF(ptr, type, member)                                          \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
