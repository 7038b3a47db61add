/* mem.c -- the allocator interface and arenas.
 *
 * All heap memory of the core comes from one function (as in Lua, the caller
 * passes the old size).  So tests can count blocks and fail any allocation, and
 * an embedder can supply an allocator. jansson, libuv, LevelDB and RE2
 * (automaton.cpp) allocate on their own; only tests hook those.
 *
 * An arena is a list of blocks, each twice as large as the last, up to a bound.
 * A request larger than half a block gets a block of its own.  Memory in an
 * arena is never freed singly, because a compiled graph, a parsed file or a
 * program is freed as a whole.  Objects of other libraries that belong to an
 * arena have a cleanup, which runs before the blocks are freed.
 */
#include "core/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The first block and its header fit into malloc()'s per-thread cache: many
 * arenas live for one event only. */
enum { FIRST_BLOCK = 960, LARGEST_BLOCK = 256 * 1024 };

struct mortise_arena_block {
    struct mortise_arena_block *next;
    size_t size, used; /* of data[] */
    max_align_t data[];
};

struct mortise_arena_cleanup {
    struct mortise_arena_cleanup *next;
    void (*destroy)(void *);
    void *object;
};

static void *heap_realloc(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    (void)ud;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

const struct mortise_mem mortise_heap = {heap_realloc, NULL};

void *mortise_alloc(const struct mortise_mem *mem, size_t size)
{
    return mem->realloc(mem->ud, NULL, 0, size != 0 ? size : 1);
}

void *mortise_zalloc(const struct mortise_mem *mem, size_t size)
{
    void *p = mortise_alloc(mem, size);

    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void *mortise_realloc(const struct mortise_mem *mem, void *ptr, size_t old_size,
                      size_t new_size)
{
    return mem->realloc(mem->ud, ptr, old_size, new_size != 0 ? new_size : 1);
}

void mortise_release(const struct mortise_mem *mem, void *ptr, size_t size)
{
    if (ptr != NULL)
        mem->realloc(mem->ud, ptr, size != 0 ? size : 1, 0);
}

char *mortise_strndup(const struct mortise_mem *mem, const char *s, size_t n)
{
    char *copy = mortise_alloc(mem, n + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mortise_strdup(const struct mortise_mem *mem, const char *s)
{
    return mortise_strndup(mem, s, strlen(s));
}

void mortise_release_str(const struct mortise_mem *mem, char *s)
{
    if (s != NULL)
        mortise_release(mem, s, strlen(s) + 1);
}

void *mortise_array_grow_full(const struct mortise_mem *mem, void *array,
                              size_t *cap, size_t elem_size)
{
    size_t want;
    void *grown;

    want = *cap != 0 ? 2 * *cap : 8;
    if (want > SIZE_MAX / elem_size)
        return NULL;
    grown = mortise_realloc(mem, array, *cap * elem_size, want * elem_size);
    if (grown != NULL)
        *cap = want;
    return grown;
}

void mortise_arena_init(struct mortise_arena *a, const struct mortise_mem *mem)
{
    *a = (struct mortise_arena){.mem = mem};
}

void mortise_arena_finish(struct mortise_arena *a)
{
    struct mortise_arena_block *b = a->blocks, *next;

    for (; a->cleanups != NULL; a->cleanups = a->cleanups->next)
        a->cleanups->destroy(a->cleanups->object);
    for (; b != NULL; b = next) {
        next = b->next;
        mortise_release(a->mem, b, sizeof *b + b->size);
    }
    a->blocks = NULL;
    a->used = 0;
}

/* Add a block to the front of the list.  A block for one large request goes
 * second, so that the space left in the first one stays in use. */
static struct mortise_arena_block *add_block(struct mortise_arena *a,
                                             size_t need)
{
    struct mortise_arena_block *first = a->blocks, *b;
    size_t size = first != NULL ? 2 * first->size : FIRST_BLOCK;
    int alone;

    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    alone = need > size / 2;
    if (alone)
        size = need;
    b = mortise_alloc(a->mem, sizeof *b + size);
    if (b == NULL)
        return NULL;
    b->size = size;
    b->used = 0;
    if (alone && first != NULL) {
        b->next = first->next;
        first->next = b;
    } else {
        b->next = first;
        a->blocks = b;
    }
    return b;
}

void *mortise_arena_alloc(struct mortise_arena *a, size_t size)
{
    const size_t unit = sizeof(max_align_t);
    struct mortise_arena_block *b = a->blocks;
    size_t need;
    char *p;

    if (size > SIZE_MAX / 4)
        return NULL;
    need = (size + unit - 1) / unit * unit;
    if (b == NULL || b->size - b->used < need)
        b = add_block(a, need);
    if (b == NULL)
        return NULL;
    p = (char *)b->data + b->used;
    b->used += need;
    a->used += need;
    memset(p, 0, need);
    return p;
}

int mortise_arena_cleanup(struct mortise_arena *a, void (*destroy)(void *),
                          void *object)
{
    struct mortise_arena_cleanup *c = mortise_arena_alloc(a, sizeof *c);

    if (c == NULL)
        return MORTISE_ENOMEM;
    *c = (struct mortise_arena_cleanup){a->cleanups, destroy, object};
    a->cleanups = c;
    return MORTISE_OK;
}

char *mortise_arena_strndup(struct mortise_arena *a, const char *s, size_t n)
{
    char *copy = mortise_arena_alloc(a, n + 1);

    if (copy != NULL)
        memcpy(copy, s, n);
    return copy;
}

char *mortise_arena_strdup(struct mortise_arena *a, const char *s)
{
    return mortise_arena_strndup(a, s, strlen(s));
}
