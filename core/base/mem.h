/* mem.h -- the allocator interface and arenas. [any], but an arena by one
 * thread. */
#ifndef MORTISE_BASE_MEM_H
#define MORTISE_BASE_MEM_H

#include <stddef.h>

#include "core/mortise.h"

/* The C heap. */
extern const struct mortise_mem mortise_heap;

/* NULL: out of memory.  A size of 0 gives a block of one byte. */
void *mortise_alloc(const struct mortise_mem *mem, size_t size);
void *mortise_zalloc(const struct mortise_mem *mem, size_t size);
/* If it returns NULL, the old block stays valid. */
void *mortise_realloc(const struct mortise_mem *mem, void *ptr, size_t old_size,
                      size_t new_size);
/* `size` is the allocated size; NULL is allowed. */
void mortise_release(const struct mortise_mem *mem, void *ptr, size_t size);

/* NUL-terminated copies, freed with mortise_release_str(). */
char *mortise_strdup(const struct mortise_mem *mem, const char *s);
char *mortise_strndup(const struct mortise_mem *mem, const char *s, size_t n);
void mortise_release_str(const struct mortise_mem *mem, char *s);

void *mortise_array_grow_full(const struct mortise_mem *mem, void *array,
                              size_t *cap, size_t elem_size);
/* Make room for one more element of a growing array: if `n == *cap`, double
 * `*cap`.  Returns the array, which may have moved, or NULL with the old one
 * intact. */
static inline void *mortise_array_grow(const struct mortise_mem *mem,
                                       void *array, size_t n, size_t *cap,
                                       size_t elem_size)
{
    return n < *cap ? array
                    : mortise_array_grow_full(mem, array, cap, elem_size);
}

/* Allocations that are freed together.  Memory is zeroed and aligned for any
 * type. */
struct mortise_arena {
    const struct mortise_mem *mem; /* borrowed; outlives the arena */
    struct mortise_arena_block *blocks;
    struct mortise_arena_cleanup *cleanups; /* last one first */
    size_t used;                            /* bytes allocated in total */
};

void mortise_arena_init(struct mortise_arena *a, const struct mortise_mem *mem);
void mortise_arena_finish(struct mortise_arena *a);
/* Call `destroy(object)` when the arena is finished, in reverse order of
 * registration.  This is for an object of another library, which owns
 * memory outside the arena.  MORTISE_ENOMEM: destroy() was not called and
 * will not be. */
int mortise_arena_cleanup(struct mortise_arena *a, void (*destroy)(void *),
                          void *object);
void *mortise_arena_alloc(struct mortise_arena *a, size_t size);
char *mortise_arena_strdup(struct mortise_arena *a, const char *s);
char *mortise_arena_strndup(struct mortise_arena *a, const char *s, size_t n);

#endif
