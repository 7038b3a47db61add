/* leveldb_remove.c -- the store on LevelDB: removing runs and unused graphs.
 *
 * The engine decides which runs are removed, and when
 * (core/engine/retention.c).  Guarantees:
 *
 *   (1) The batch that deletes a run's head puts its tombstone.  So a reader
 *       finds a whole run or none, and its id stays in use.
 *   (2) A run's checkpoints are deleted with its head or, if there are many, in
 *       later batches.  A record `x` has the range that remains; it is deleted
 *       with the last one.  If the process is killed in between, the next
 *       opening continues.
 *   (3) A run is removed only if its head has not changed, it has no open
 *       request, and no handle that it made, or of its tree, is open.
 *   (4) A graph is removed only if no head uses it.  Heads are marked while
 *       commits continue.  So graphs of runs admitted since the beginning are
 *       marked, too, and the sweep holds the lock under which runs are
 *       admitted.
 *   (5) Nothing here is synced.  Batches are kept or lost in order: after a
 *       power failure, a run is as it was before, or its `x` exists.
 *   (6) Values of plugins, and marks, belong to no run and stay.
 *   (7) A record `w` has the time that the engine noted last.  A run is removed
 *       only if it was overdue at that time, too.
 */
#include <assert.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/store/leveldb/ldb.h"

enum {
    DELETED_AT_ONCE = 512, /* approximate number of keys in a batch, for 1 ms */
    GRAPHS_AT_ONCE = 64
};

/* ---- runs -------------------------------------------------------------- */

/* Delete the next checkpoints of the range, and record those that remain. */
static int delete_checkpoints(struct mortise_ldb *s,
                              leveldb_writebatch_t *batch, const char *tenant,
                              const char *run, struct mortise_leaving *l,
                              size_t *room)
{
    int rv = MORTISE_OK;

    assert(*room > 0); /* else it would never end */
    for (; rv == MORTISE_OK && l->first <= l->last && *room > 0; --*room) {
        mortise_key_checkpoint(&s->key, tenant, run, l->first++);
        rv = mortise_ldb_delete(s, batch);
    }
    if (rv != MORTISE_OK)
        return rv;
    mortise_key_leaving(&s->key, tenant, run);
    if (l->first > l->last)
        return mortise_ldb_delete(s, batch);
    return mortise_ldb_put_record(s, batch, &mortise_record_leaving, l);
}

static int replace_by_tombstone(struct mortise_ldb *s,
                                leveldb_writebatch_t *batch,
                                const struct mortise_removal *r,
                                const struct mortise_tombstone *t)
{
    int rv;

    mortise_key_tombstone(&s->key, r->tenant, r->run);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_tombstone, t);
    if (rv != MORTISE_OK)
        return rv;
    mortise_key_head(&s->key, r->tenant, r->run);
    mortise_ldb_forget_head(s, r->tenant, r->run);
    return mortise_ldb_delete(s, batch);
}

/* Can the run be removed (3)?  Prepares its tombstone.  MORTISE_ENOTFOUND: it
 * stays. */
static int check_removable(struct mortise_ldb *s,
                           const struct mortise_removal *r,
                           struct mortise_tombstone *t, struct mortise_err *err)
{
    struct mortise_head head;
    char *value;
    bool open;
    int rv;

    mortise_key_head(&s->key, r->tenant, r->run);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_head,
                                &head, &value, err);
    leveldb_free(value);
    if (rv != MORTISE_OK)
        return rv;
    t->ended_ms = head.updated_ms;
    t->status = head.status;
    if (head.seq != r->seq || head.n_pending != 0)
        return MORTISE_ENOTFOUND;
    rv = mortise_ldb_spawns_are_open(s, r->tenant, r->run, &open, err);
    return rv == MORTISE_OK && open ? MORTISE_ENOTFOUND : rv;
}

struct removal_batch {
    struct mortise_removal *list;
    size_t n;
    uint64_t now_ms;
};

static int remove_listed_runs(struct mortise_ldb *s,
                              leveldb_writebatch_t *batch, void *ud,
                              struct mortise_err *err)
{
    const struct removal_batch *all = ud;
    size_t room = DELETED_AT_ONCE;
    bool any = false;

    for (size_t i = 0; i < all->n && room > 0; i++) {
        struct mortise_removal *r = &all->list[i];
        struct mortise_leaving l = {1, r->seq};
        struct mortise_tombstone t = {.removed_ms = all->now_ms};
        size_t spawned = 0;
        int rv = check_removable(s, r, &t, err);

        if (rv == MORTISE_ENOTFOUND)
            continue;
        if (rv == MORTISE_OK)
            rv = replace_by_tombstone(s, batch, r, &t);
        if (rv == MORTISE_OK)
            rv = delete_checkpoints(s, batch, r->tenant, r->run, &l, &room);
        if (rv == MORTISE_OK)
            rv = mortise_ldb_spawns_remove(s, batch, r->tenant, r->run,
                                           &spawned, err);
        room -= spawned < room ? spawned : room;
        if (rv != MORTISE_OK)
            return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
        r->gone = any = true;
    }
    FAULT_POINT("store: before remove");
    return any ? mortise_ldb_write(s, batch, true, err) : MORTISE_OK;
}

int mortise_ldb_remove(struct mortise_store *store,
                       struct mortise_removal *list, size_t n, uint64_t now_ms,
                       struct mortise_err *err)
{
    struct removal_batch all = {list, n, now_ms};
    int rv;

    for (size_t i = 0; i < n; i++)
        list[i].gone = false;
    rv = mortise_ldb_write_batch(mortise_ldb_of(store), remove_listed_runs,
                                 &all, err);
    for (size_t i = 0; i < n && rv != MORTISE_OK; i++)
        list[i].gone = false; /* the outcome is unknown */
    return rv;
}

/* ---- remaining checkpoints --------------------------------------------- */

/* Read the `x` at the iterator: its names to `names`, as C strings.
 * MORTISE_ENOTFOUND: it is at none. */
static int decode_leaving(const leveldb_iterator_t *it,
                          struct mortise_buf *names, struct mortise_leaving *l,
                          struct mortise_err *err)
{
    struct mortise_reader r;
    const char *p;
    size_t n;

    if (!leveldb_iter_valid(it))
        return MORTISE_ENOTFOUND;
    p = leveldb_iter_key(it, &n);
    mortise_reader_init(&r, p, n);
    if (mortise_read_u8(&r) != MORTISE_KEY_LEAVING)
        return MORTISE_ENOTFOUND;
    mortise_key_read_name(&r, names);
    mortise_key_read_last(&r, names);
    if (names->failed)
        return MORTISE_ENOMEM;
    p = leveldb_iter_value(it, &n);
    if (r.bad || r.p != r.end ||
        mortise_record_decode(&mortise_record_leaving, l, p, n) != MORTISE_OK)
        return mortise_ldb_fail_record(err, MORTISE_ECORRUPT,
                                       mortise_record_leaving.what);
    return MORTISE_OK;
}

/* Find the first `x`; MORTISE_ENOTFOUND: there is none. */
static int find_first_leaving(struct mortise_ldb *s, struct mortise_buf *names,
                              struct mortise_leaving *l,
                              struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);
    int rv;

    mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_LEAVING);
    if (!s->key.failed)
        leveldb_iter_seek(it, s->key.p, s->key.n);
    rv = s->key.failed ? MORTISE_ENOMEM : decode_leaving(it, names, l, err);
    return mortise_ldb_iter_destroy(it, rv, "read the store", err);
}

static int remove_rest_batch(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                             void *ud, struct mortise_err *err)
{
    struct mortise_leaving l;
    struct mortise_buf names;
    size_t room = DELETED_AT_ONCE;
    bool *more = ud;
    int rv;

    mortise_buf_init(&names, s->mem);
    rv = find_first_leaving(s, &names, &l, err);
    *more = rv == MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = delete_checkpoints(s, batch, names.p,
                                names.p + strlen(names.p) + 1, &l, &room);
    mortise_buf_finish(&names);
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? mortise_ldb_write(s, batch, true, err) : rv;
}

int mortise_ldb_remove_rest(struct mortise_store *store, bool *more,
                            struct mortise_err *err)
{
    *more = false;
    return mortise_ldb_write_batch(mortise_ldb_of(store), remove_rest_batch,
                                   more, err);
}

int mortise_ldb_read_removed(struct mortise_ldb *s, struct mortise_read *r,
                             struct mortise_buf *key, struct mortise_err *err)
{
    mortise_key_tombstone(key, r->tenant, r->run);
    return mortise_ldb_get_record(s, s->checked, key, &mortise_record_tombstone,
                                  &r->found.tombstone, NULL, err);
}

/* ---- the noted time (7) ------------------------------------------------- */

int mortise_ldb_read_overdue_time(struct mortise_ldb *s, struct mortise_read *r,
                                  struct mortise_buf *key,
                                  struct mortise_err *err)
{
    int rv;

    r->found.overdue_found_ms = 0;
    mortise_key_prefix_of_tag(key, MORTISE_KEY_OVERDUE_TIME);
    rv =
        mortise_ldb_get_record(s, s->checked, key, &mortise_record_overdue_time,
                               &r->found.overdue_found_ms, NULL, err);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

static int put_noted_time(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                          void *ud, struct mortise_err *err)
{
    int rv;

    mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_OVERDUE_TIME);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_overdue_time, ud);
    return rv != MORTISE_OK ? mortise_nomem(err)
                            : mortise_ldb_write(s, batch, true, err);
}

int mortise_ldb_set_overdue_time(struct mortise_store *store, uint64_t ms,
                                 struct mortise_err *err)
{
    return mortise_ldb_write_batch(mortise_ldb_of(store), put_noted_time, &ms,
                                   err);
}

/* ---- graphs in use --------------------------------------------------------
 *
 * A set of digests, with open addressing.  The first bytes of a digest are its
 * hash. */

static size_t find_kept_slot(const struct mortise_graph_sweep *k,
                             const uint8_t digest[MORTISE_DIGEST])
{
    static const uint8_t none[MORTISE_DIGEST];
    size_t at;

    assert(k->cap > 0 && (k->cap & (k->cap - 1)) == 0 && k->n < k->cap);
    memcpy(&at, digest, sizeof at);
    at &= k->cap - 1;
    while (memcmp(k->slots[at], none, MORTISE_DIGEST) != 0 &&
           memcmp(k->slots[at], digest, MORTISE_DIGEST) != 0)
        at = (at + 1) & (k->cap - 1);
    return at;
}

static bool has_kept_graph(const struct mortise_graph_sweep *k,
                           const uint8_t digest[MORTISE_DIGEST])
{
    return k->n > 0 && memcmp(k->slots[find_kept_slot(k, digest)], digest,
                              MORTISE_DIGEST) == 0;
}

/* Double the set; at most half of it is used. */
static bool grow_kept_set(struct mortise_graph_sweep *k,
                          const struct mortise_mem *mem)
{
    static const uint8_t none[MORTISE_DIGEST];
    struct mortise_graph_sweep to = *k;

    to.cap = k->cap != 0 ? 2 * k->cap : 64;
    assert(k->n <= to.cap / 2);
    to.slots = mortise_zalloc(mem, to.cap * sizeof *to.slots);
    if (to.slots == NULL)
        return false;
    for (size_t i = 0; i < k->cap; i++)
        if (memcmp(k->slots[i], none, MORTISE_DIGEST) != 0)
            memcpy(to.slots[find_kept_slot(&to, k->slots[i])], k->slots[i],
                   MORTISE_DIGEST);
    mortise_release(mem, k->slots, k->cap * sizeof *k->slots);
    *k = to;
    return true;
}

void mortise_ldb_cancel_graph_sweep(struct mortise_ldb *s)
{
    struct mortise_graph_sweep *k = &s->kept;

    mortise_release(s->mem, k->slots, k->cap * sizeof *k->slots);
    *k = (struct mortise_graph_sweep){.begun = false};
}

/* Mark a graph as used.  Out of memory cancels the sweep. */
void mortise_ldb_keep_graph(struct mortise_ldb *s,
                            const uint8_t digest[MORTISE_DIGEST])
{
    struct mortise_graph_sweep *k = &s->kept;

    if (!k->begun || has_kept_graph(k, digest))
        return;
    if (k->n + 1 > k->cap / 2 && !grow_kept_set(k, s->mem)) {
        mortise_ldb_cancel_graph_sweep(s);
        return;
    }
    memcpy(k->slots[find_kept_slot(k, digest)], digest, MORTISE_DIGEST);
    k->n++;
    assert(k->n <= k->cap / 2); /* so a search ends at a free slot */
}

void mortise_ldb_start_graph_sweep(struct mortise_store *store)
{
    struct mortise_ldb *s = mortise_ldb_of(store);

    pthread_mutex_lock(&s->writing);
    mortise_ldb_cancel_graph_sweep(s);
    s->kept.begun = true;
    pthread_mutex_unlock(&s->writing);
}

void mortise_ldb_keep_graphs(struct mortise_store *store,
                             const uint8_t (*digests)[MORTISE_DIGEST], size_t n)
{
    struct mortise_ldb *s = mortise_ldb_of(store);

    pthread_mutex_lock(&s->writing);
    for (size_t i = 0; i < n; i++)
        mortise_ldb_keep_graph(s, digests[i]);
    pthread_mutex_unlock(&s->writing);
}

/* ---- the sweep ---------------------------------------------------------- */

static int sweep_graph(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                       const uint8_t digest[MORTISE_DIGEST], bool *any)
{
    assert(s->kept.begun); /* else no head would have marked its graph */
    if (has_kept_graph(&s->kept, digest))
        return MORTISE_OK;
    if (memcmp(s->graph, digest, MORTISE_DIGEST) == 0)
        s->knows_graph = false;
    *any = true;
    mortise_key_graph(&s->key, digest);
    return mortise_ldb_delete(s, batch);
}

/* Sweep the graphs after the last swept one. */
static int sweep_next_graphs(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                             leveldb_iterator_t *it, bool *any, bool *more)
{
    struct mortise_graph_sweep *k = &s->kept;
    int rv = MORTISE_OK;

    if (k->sweeping)
        mortise_key_graph(&s->key, k->swept);
    else
        mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_GRAPH);
    if (s->key.failed)
        return MORTISE_ENOMEM;
    leveldb_iter_seek(it, s->key.p, s->key.n);
    *more = false;
    for (int n = 0; rv == MORTISE_OK && leveldb_iter_valid(it); n++) {
        size_t size;
        const char *key = leveldb_iter_key(it, &size);

        if (size != 1 + MORTISE_DIGEST || key[0] != MORTISE_KEY_GRAPH)
            break;
        *more = n == GRAPHS_AT_ONCE;
        if (*more)
            break;
        memcpy(k->swept, key + 1, MORTISE_DIGEST);
        k->sweeping = true;
        rv = sweep_graph(s, batch, k->swept, any);
        leveldb_iter_next(it);
    }
    return rv;
}

static int sweep_graph_batch(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                             void *ud, struct mortise_err *err)
{
    leveldb_iterator_t *it;
    bool *more = ud, any = false;
    int rv;

    if (!s->kept.begun)
        return MORTISE_OK;
    it = leveldb_create_iterator(s->db, s->checked);
    rv = sweep_next_graphs(s, batch, it, &any, more);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    rv = mortise_ldb_iter_destroy(it, rv, "read the store", err);
    if (rv == MORTISE_OK && any)
        rv = mortise_ldb_write(s, batch, true, err);
    if (rv == MORTISE_OK && !*more)
        mortise_ldb_cancel_graph_sweep(s);
    return rv;
}

int mortise_ldb_sweep_graphs(struct mortise_store *store, bool *more,
                             struct mortise_err *err)
{
    *more = false;
    return mortise_ldb_write_batch(mortise_ldb_of(store), sweep_graph_batch,
                                   more, err);
}
