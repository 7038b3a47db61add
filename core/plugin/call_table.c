/* call_table.c -- the open calls of one instance.
 *
 * A plugin names a call by its handle: 40 bits of generation, 24 bits of slot
 * index.
 *
 *   (1) Slots live in chunks that never move and are freed only with the
 *       instance.  A number that a plugin invents either has no slot, or has a
 *       slot that is safe to read.
 *   (2) A slot's generation grows with each use.  A handle is unique for the
 *       instance's life, and a stale handle never matches.
 *   (3) cancelled(), which plugins call often, takes no lock: two loads and a
 *       comparison.
 *   (4) A hash table with chains maps the engine's call ids to slots, so a
 *       lookup does not depend on the number of calls.
 *
 * Chunk k has FIRST << k slots, so 20 chunks hold every index that a handle can
 * name.  No thread takes a slot's lock while it holds the table's lock. */
#include "core/plugin/call_table.h"

#include <assert.h>
#include <string.h>

enum { FIRST = 16, INDEX_BITS = 24, BUCKETS = 16, KEEP = 64 * 1024 };

_Static_assert(((uint64_t)FIRST << MORTISE_SLOT_CHUNKS) - FIRST <=
                   (uint64_t)1 << INDEX_BITS,
               "every slot has an index");

static size_t chunk_size(size_t k)
{
    return (size_t)FIRST << k;
}

/* The slot with this index, or NULL if no chunk has it. */
static struct mortise_call_slot *get_slot_at(struct mortise_call_table *c,
                                             uint64_t index)
{
    uint64_t at = index + FIRST;
    size_t k = (size_t)(63 - __builtin_clzll(at)) - 4; /* FIRST is 1 << 4 */
    struct mortise_call_slot *chunk;

    if (k >= MORTISE_SLOT_CHUNKS)
        return NULL;
    assert(at >= chunk_size(k) && at - chunk_size(k) < chunk_size(k));
    chunk = atomic_load_explicit(&c->chunks[k], memory_order_acquire);
    return chunk != NULL ? &chunk[at - chunk_size(k)] : NULL;
}

int mortise_call_table_init(struct mortise_call_table *c,
                            const struct mortise_mem *mem)
{
    memset(c, 0, sizeof *c);
    c->mem = mem;
    c->buckets =
        mortise_zalloc(mem, BUCKETS * sizeof(struct mortise_call_slot *));
    if (c->buckets == NULL)
        return MORTISE_ENOMEM;
    c->n_buckets = BUCKETS;
    pthread_mutex_init(&c->lock, NULL);
    return MORTISE_OK;
}

static void finish_slot(struct mortise_call_slot *s, void *ud)
{
    const struct mortise_call_table *c = ud;
    struct mortise_ask *next;

    for (struct mortise_ask *a = s->asks; a != NULL; a = next) {
        next = a->next;
        mortise_release(c->mem, a, sizeof *a);
    }
    mortise_buf_finish(&s->output);
    mortise_buf_finish(&s->update);
    mortise_buf_finish(&s->own);
    mortise_buf_finish(&s->answer);
    mortise_usage_finish(&s->usage);
    mortise_wire_release(&s->held);
    pthread_cond_destroy(&s->answered);
    pthread_mutex_destroy(&s->lock);
}

void mortise_call_table_finish(struct mortise_call_table *c)
{
    mortise_call_table_for_each(c, finish_slot, c);
    for (size_t k = 0; k < c->n_chunks; k++)
        mortise_release(c->mem, atomic_load(&c->chunks[k]),
                        chunk_size(k) * sizeof(struct mortise_call_slot));
    mortise_release(c->mem, c->buckets,
                    c->n_buckets * sizeof(struct mortise_call_slot *));
    pthread_mutex_destroy(&c->lock);
}

static void init_slot(struct mortise_call_table *c, struct mortise_call_slot *s,
                      size_t index)
{
    s->index = (uint32_t)index;
    s->held.mem = c->mem;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->answered, NULL);
    mortise_buf_init(&s->output, c->mem);
    mortise_buf_init(&s->update, c->mem);
    mortise_buf_init(&s->own, c->mem);
    mortise_buf_init(&s->answer, c->mem);
    s->next = c->free;
    c->free = s;
}

/* Add a chunk.  Publish it only after its slots are initialized, because
 * slot_at() takes no lock.  False: out of memory, or the table is full. */
static bool add_chunk(struct mortise_call_table *c)
{
    size_t n = chunk_size(c->n_chunks);
    struct mortise_call_slot *chunk;

    assert(c->free == NULL && c->n_chunks <= MORTISE_SLOT_CHUNKS);
    if (c->n_chunks == MORTISE_SLOT_CHUNKS)
        return false;
    chunk = mortise_zalloc(c->mem, n * sizeof *chunk);
    if (chunk == NULL)
        return false;
    for (size_t i = n; i-- > 0;)
        init_slot(c, &chunk[i], n - FIRST + i);
    atomic_store_explicit(&c->chunks[c->n_chunks++], chunk,
                          memory_order_release);
    return true;
}

/* Ids usually count up, so a plain modulo fills the buckets evenly. */
static struct mortise_call_slot **find_bucket(struct mortise_call_table *c,
                                              uint64_t id)
{
    return &c->buckets[id % c->n_buckets];
}

/* Double the buckets.  Without memory for them, the chains grow instead. */
static void grow_buckets(struct mortise_call_table *c)
{
    struct mortise_call_slot **old = c->buckets, *next;
    size_t n = c->n_buckets;

    assert(n >= BUCKETS && n % BUCKETS == 0);
    c->buckets = mortise_zalloc(c->mem, 2 * n * sizeof *old);
    if (c->buckets == NULL) {
        c->buckets = old;
        return;
    }
    c->n_buckets = 2 * n;
    for (size_t i = 0; i < n; i++)
        for (struct mortise_call_slot *s = old[i]; s != NULL; s = next) {
            struct mortise_call_slot **b = find_bucket(c, s->key_id);

            next = s->next;
            s->next = *b;
            *b = s;
        }
    mortise_release(c->mem, old, n * sizeof *old);
}

struct mortise_call_slot *mortise_call_table_add(struct mortise_call_table *c,
                                                 uint64_t id, uint64_t *handle)
{
    struct mortise_call_slot *s = NULL, **b;

    pthread_mutex_lock(&c->lock);
    if (c->free != NULL || add_chunk(c)) {
        s = c->free;
        c->free = s->next;
        assert(s->handle == 0 && s->pins == 0);
        if (++c->n_used > 2 * c->n_buckets)
            grow_buckets(c);
        b = find_bucket(c, id);
        s->next = *b;
        *b = s;
        s->key_id = id;
        s->key_handle = ((s->key_handle >> INDEX_BITS) + 1) << INDEX_BITS;
        s->key_handle |= s->index;
        *handle = s->key_handle;
        assert(*handle != 0 && get_slot_at(c, s->index) == s); /* (1), (2) */
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

void mortise_call_table_remove(struct mortise_call_table *c,
                               struct mortise_call_slot *s)
{
    struct mortise_buf *const bufs[] = {&s->output, &s->update, &s->own,
                                        &s->answer};
    struct mortise_call_slot **at;

    /* Keep some buffer space for the next call, but not that of the largest
     * call. */
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++) {
        mortise_buf_clear(bufs[i]);
        if (bufs[i]->cap > KEEP)
            mortise_buf_finish(bufs[i]);
    }
    mortise_usage_finish(&s->usage);
    assert(s->asks == NULL && s->pins == 0); /* no reference is left */
    assert(s->handle == 0 && !s->open && !s->inside);
    pthread_mutex_lock(&c->lock);
    assert(c->n_used > 0);
    for (at = find_bucket(c, s->key_id); *at != s; at = &(*at)->next)
        assert(*at != NULL); /* mortise_call_table_add() added it */
    *at = s->next;
    s->next = c->free;
    c->free = s;
    c->n_used--;
    pthread_mutex_unlock(&c->lock);
}

struct mortise_call_slot *
mortise_call_table_find_handle(struct mortise_call_table *c, uint64_t handle)
{
    const uint64_t mask = ((uint64_t)1 << INDEX_BITS) - 1;
    struct mortise_call_slot *s =
        handle != 0 ? get_slot_at(c, handle & mask) : NULL;

    if (s == NULL)
        return NULL;
    pthread_mutex_lock(&s->lock);
    assert(s->index == (handle & mask)); /* fixed, (1) */
    if (s->handle == handle)
        return s;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct mortise_call_slot *
mortise_call_table_find_id(struct mortise_call_table *c, uint64_t id)
{
    struct mortise_call_slot *s;
    uint64_t handle;

    pthread_mutex_lock(&c->lock);
    s = *find_bucket(c, id);
    while (s != NULL && s->key_id != id)
        s = s->next;
    handle = s != NULL ? s->key_handle : 0;
    pthread_mutex_unlock(&c->lock);
    return mortise_call_table_find_handle(c, handle);
}

bool mortise_call_table_is_stopped(struct mortise_call_table *c,
                                   uint64_t handle)
{
    const uint64_t mask = ((uint64_t)1 << INDEX_BITS) - 1;
    struct mortise_call_slot *s =
        handle != 0 ? get_slot_at(c, handle & mask) : NULL;

    if (s == NULL ||
        atomic_load_explicit(&s->live, memory_order_relaxed) != handle)
        return true;
    atomic_store_explicit(&s->was_active, true, memory_order_relaxed);
    return false;
}

void mortise_call_table_for_each(struct mortise_call_table *c,
                                 void (*fn)(struct mortise_call_slot *s,
                                            void *ud),
                                 void *ud)
{
    struct mortise_call_slot *chunk;

    for (size_t k = 0; k < MORTISE_SLOT_CHUNKS; k++) {
        chunk = atomic_load_explicit(&c->chunks[k], memory_order_acquire);
        for (size_t i = 0; chunk != NULL && i < chunk_size(k); i++)
            fn(&chunk[i], ud);
    }
}
