/* table.c -- an intrusive hash table.
 *
 * Runs, calls, timers and watchers are looked up on every step, so a lookup
 * must not depend on their number.  The links are members of the entries, so
 * that adding one allocates nothing.  If growing the table fails, the chains
 * become longer, and the next addition tries again.
 */
#include "core/base/table.h"

#include <assert.h>
#include <string.h>

void mortise_table_init(struct mortise_table *t, const struct mortise_mem *mem)
{
    *t = (struct mortise_table){.mem = mem,
                                .n_slots = MORTISE_TABLE_INLINE_SLOTS};
    t->slots = t->few;
}

void mortise_table_finish(struct mortise_table *t)
{
    if (t->slots != t->few)
        mortise_release(t->mem, t->slots, t->n_slots * sizeof *t->slots);
    mortise_table_init(t, t->mem);
}

static void link_entry(struct mortise_table_entry **slots, size_t n_slots,
                       struct mortise_table_entry *e)
{
    struct mortise_table_entry **slot = &slots[e->hash & (n_slots - 1)];

    e->next = *slot;
    *slot = e;
}

static void grow_table(struct mortise_table *t)
{
    size_t n = 4 * t->n_slots;
    struct mortise_table_entry **slots =
        mortise_zalloc(t->mem, n * sizeof *slots);
    struct mortise_table_entry *e, *next;

    if (slots == NULL)
        return;
    for (size_t i = 0; i < t->n_slots; i++) {
        for (e = t->slots[i]; e != NULL; e = next) {
            next = e->next;
            link_entry(slots, n, e);
        }
    }
    if (t->slots != t->few)
        mortise_release(t->mem, t->slots, t->n_slots * sizeof *t->slots);
    t->slots = slots;
    t->n_slots = n;
}

void mortise_table_add(struct mortise_table *t, struct mortise_table_entry *e,
                       uint64_t hash)
{
    if (t->n >= t->n_slots)
        grow_table(t);
    e->hash = hash;
    link_entry(t->slots, t->n_slots, e);
    t->n++;
}

void mortise_table_remove(struct mortise_table *t,
                          struct mortise_table_entry *e)
{
    struct mortise_table_entry **at = &t->slots[e->hash & (t->n_slots - 1)];

    for (; *at != e; at = &(*at)->next)
        assert(*at != NULL); /* `e` must be in the table */
    *at = e->next;
    e->next = NULL;
    t->n--;
}

/* The first entry with this hash, from `e` on. */
static struct mortise_table_entry *skip_to_hash(struct mortise_table_entry *e,
                                                uint64_t hash)
{
    while (e != NULL && e->hash != hash)
        e = e->next;
    return e;
}

struct mortise_table_entry *mortise_table_find(const struct mortise_table *t,
                                               uint64_t hash)
{
    return skip_to_hash(t->slots[hash & (t->n_slots - 1)], hash);
}

struct mortise_table_entry *
mortise_table_find_next(const struct mortise_table_entry *e)
{
    return skip_to_hash(e->next, e->hash);
}

/* The first entry in the slots from `i` on. */
static struct mortise_table_entry *
first_from_slot(const struct mortise_table *t, size_t i)
{
    for (; i < t->n_slots; i++)
        if (t->slots[i] != NULL)
            return t->slots[i];
    return NULL;
}

struct mortise_table_entry *mortise_table_first(const struct mortise_table *t)
{
    return t->n != 0 ? first_from_slot(t, 0) : NULL;
}

struct mortise_table_entry *
mortise_table_next(const struct mortise_table *t,
                   const struct mortise_table_entry *e)
{
    if (e->next != NULL)
        return e->next;
    return first_from_slot(t, (e->hash & (t->n_slots - 1)) + 1);
}

/* Let every input bit affect every output bit (the finaliser
 * of MurmurHash3). */
static uint64_t mix_hash_bits(uint64_t h)
{
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

/* FNV-1a.  It includes the NUL, so that ("a", "bc") and ("ab", "c") differ. */
static uint64_t hash_fnv1a(uint64_t h, const char *s)
{
    do
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    while (*s++ != '\0');
    return h;
}

uint64_t mortise_hash_strs(const char *a, const char *b)
{
    return mix_hash_bits(hash_fnv1a(hash_fnv1a(0xcbf29ce484222325u, a), b));
}

uint64_t mortise_hash_u64s(uint64_t a, uint64_t b)
{
    return mix_hash_bits(mix_hash_bits(a) + b);
}
