/* mem.h -- the memory door and arenas.  [any], an arena by one thread. */
#ifndef MORTISE_BASE_MEM_H
#define MORTISE_BASE_MEM_H

#include <stddef.h>

#include "core/mortise.h"

/* The C heap. */
extern const struct mortise_mem mortise_heap;

/* NULL when memory ran out; size 0 gives a block of one byte. */
void *mortise_alloc(const struct mortise_mem *mem, size_t size);
void *mortise_zalloc(const struct mortise_mem *mem, size_t size);
/* The old block stays valid when NULL is returned. */
void *mortise_realloc(const struct mortise_mem *mem, void *ptr, size_t old_size,
                      size_t new_size);
/* `size` as it was allocated; NULL is fine. */
void mortise_release(const struct mortise_mem *mem, void *ptr, size_t size);

/* NUL-terminated copies, freed with mortise_release_str(). */
char *mortise_strdup(const struct mortise_mem *mem, const char *s);
char *mortise_strndup(const struct mortise_mem *mem, const char *s, size_t n);
void mortise_release_str(const struct mortise_mem *mem, char *s);

void *mortise_grow_full(const struct mortise_mem *mem, void *array, size_t *cap,
                        size_t elem_size);
/* Make room for one more element in a growing array: doubles `*cap` when
 * `n == *cap`.  Returns the (moved) array, or NULL with the old one intact. */
static inline void *mortise_grow(const struct mortise_mem *mem, void *array,
                                 size_t n, size_t *cap, size_t elem_size)
{
    return n < *cap ? array : mortise_grow_full(mem, array, cap, elem_size);
}

/* Many allocations that die at once.  Memory is zeroed and aligned for any
 * type. */
struct mortise_arena {
    const struct mortise_mem *mem; /* lent; outlives the arena */
    struct mortise_arena_block *blocks;
    struct mortise_arena_cleanup *cleanups; /* the last one first */
    size_t used;                            /* bytes handed out in all */
};

void mortise_arena_init(struct mortise_arena *a, const struct mortise_mem *mem);
void mortise_arena_finish(struct mortise_arena *a);
/* Call `destroy(object)` when the arena is finished, the last one first: for an
 * object of another library, which owns memory outside of the arena.
 * MORTISE_ENOMEM: destroy() was not and will not be called. */
int mortise_arena_cleanup(struct mortise_arena *a, void (*destroy)(void *),
                          void *object);
void *mortise_arena_alloc(struct mortise_arena *a, size_t size);
char *mortise_arena_strdup(struct mortise_arena *a, const char *s);
char *mortise_arena_strndup(struct mortise_arena *a, const char *s, size_t n);

#endif
