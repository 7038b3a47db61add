/* table.h -- an intrusive hash table.
 *
 * The table owns nothing and compares no keys: it finds entries by their hash,
 * and the caller compares the keys.  Adding cannot fail, so an object that
 * exists can always be found.  Not thread-safe: one thread, or a lock of the
 * owner. */
#ifndef MORTISE_BASE_TABLE_H
#define MORTISE_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/mem.h"

enum { MORTISE_TABLE_INLINE_SLOTS = 16 };

struct mortise_table_entry {
    struct mortise_table_entry *next;
    uint64_t hash;
};

struct mortise_table {
    const struct mortise_mem *mem; /* borrowed */
    /* n_slots of them, a power of two; `few` at first */
    struct mortise_table_entry **slots;
    size_t n_slots, n;
    struct mortise_table_entry *few[MORTISE_TABLE_INLINE_SLOTS];
};

/* A table must not move after it is initialised: `slots` may point into it. */
void mortise_table_init(struct mortise_table *t, const struct mortise_mem *mem);
/* the entries are not freed */
void mortise_table_finish(struct mortise_table *t);

void mortise_table_add(struct mortise_table *t, struct mortise_table_entry *e,
                       uint64_t hash);
void mortise_table_remove(struct mortise_table *t,
                          struct mortise_table_entry *e);
/* The first entry with this hash, and the next one after `e`; NULL at
 * the end. */
struct mortise_table_entry *mortise_table_find(const struct mortise_table *t,
                                               uint64_t hash);
struct mortise_table_entry *
mortise_table_find_next(const struct mortise_table_entry *e);
/* Iterate over all entries, in no order.  Do not remove `e` before you ask for
 * the entry after it. */
struct mortise_table_entry *mortise_table_first(const struct mortise_table *t);
struct mortise_table_entry *
mortise_table_next(const struct mortise_table *t,
                   const struct mortise_table_entry *e);

/* Hashes of two strings (either may be "") and of two numbers. */
uint64_t mortise_hash_strs(const char *a, const char *b);
uint64_t mortise_hash_u64s(uint64_t a, uint64_t b);

/* The struct that contains `*ptr` as `member`. */
#define MORTISE_CONTAINER_OF(ptr, type, member)                                \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
