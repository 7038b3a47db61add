/* leveldb_spawn.c -- the store on LevelDB: spawn handles.
 *
 * A handle is a record under its parent.  A record of its child leads to it,
 * and each tree has a record with counters.  They change with a commit, in its
 * batch:
 *
 *   (1) A change applies only to the version of the record that it was decided
 *       on, by epoch and state.  Otherwise its whole commit conflicts and
 *       nothing of it is written.  So of two decisions about one version, one
 *       applies.
 *   (2) In every batch, the counters of a tree agree with its records.  They
 *       are computed from the changes of records, never set by a caller.  The
 *       purse of a tree works the same way: it changes by the difference that a
 *       commit of one of its runs spends, reserves or releases.
 *   (3) Later commits of a batch see the changes of earlier ones: `list` has
 *       the records that the batch puts, in order, and `newest` finds the
 *       newest one by its key.  A run that ends may abandon a hundred thousand
 *       handles in one batch, while all other commits wait: so no lookup
 *       searches the list.
 *   (4) A commit that ends its run also settles the handle whose child it is,
 *       and abandons the handles that nothing else will settle.  So readers see
 *       the run active and the handles open, or neither.
 *   (5) A run stays while one of its handles is open, or one of the tree of
 *       which it is the origin.  Its handles are removed with it, and the
 *       records of their children.
 *
 * Call everything here with `writing` locked.
 */
#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/store/leveldb/ldb.h"

struct mortise_ldb_staged {
    struct mortise_table_entry link; /* in `newest` while it is the newest */
    /* previous version of the same key, or NULL */
    struct mortise_ldb_staged *older;
    const char *key, *value;          /* in the arena */
    size_t key_size, value_size;
};

void mortise_ldb_spawns_begin(struct mortise_ldb *s)
{
    assert(s->spawns.n == 0); /* of the previous batch */
    mortise_arena_init(&s->spawns.arena, s->mem);
    mortise_table_init(&s->spawns.newest, s->mem);
}

void mortise_ldb_spawns_end(struct mortise_ldb *s)
{
    s->spawns.n = 0;
    mortise_table_finish(&s->spawns.newest);
    mortise_arena_finish(&s->spawns.arena);
}

void mortise_ldb_spawns_close(struct mortise_ldb *s)
{
    mortise_release(s->mem, s->spawns.list,
                    s->spawns.cap * sizeof *s->spawns.list);
}

/* ---- staging (3) --------------------------------------------------------- */

static uint64_t hash_staged_key(const void *key, size_t n)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    uint64_t hash;

    mortise_hasher_init(&h);
    mortise_hasher_add_field(&h, key, n);
    mortise_hasher_final(&h, digest);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

static struct mortise_ldb_staged *
find_staged_record(const struct mortise_ldb *s, const void *key, size_t n)
{
    struct mortise_table_entry *found =
        mortise_table_find(&s->spawns.newest, hash_staged_key(key, n));

    for (; found != NULL; found = mortise_table_find_next(found)) {
        struct mortise_ldb_staged *e =
            MORTISE_CONTAINER_OF(found, struct mortise_ldb_staged, link);

        if (e->key_size == n && memcmp(e->key, key, n) == 0)
            return e;
    }
    return NULL;
}

/* Make e the newest version of its key. */
static void set_newest_staged(struct mortise_ldb_spawns *sp,
                              struct mortise_ldb_staged *e)
{
    if (e->older != NULL)
        mortise_table_remove(&sp->newest, &e->older->link);
    mortise_table_add(&sp->newest, &e->link,
                      hash_staged_key(e->key, e->key_size));
}

/* Remove all staged records but the first n. */
static void unstage_records(struct mortise_ldb_spawns *sp, size_t n)
{
    while (sp->n > n) {
        struct mortise_ldb_staged *e = sp->list[--sp->n];

        mortise_table_remove(&sp->newest, &e->link);
        if (e->older != NULL)
            mortise_table_add(&sp->newest, &e->older->link,
                              e->older->link.hash);
    }
}

/* Stage a record under s->key.  Any error is MORTISE_ENOMEM. */
static int stage_spawn_record(struct mortise_ldb *s,
                              const struct mortise_record *of,
                              const void *record)
{
    struct mortise_ldb_spawns *sp = &s->spawns;
    struct mortise_ldb_staged **grown, *e;

    assert(s->value.n == 0);
    grown =
        mortise_array_grow(s->mem, sp->list, sp->n, &sp->cap, sizeof(*grown));
    if (grown == NULL)
        return MORTISE_ENOMEM;
    sp->list = grown;
    mortise_record_encode(&s->value, of, record);
    if (s->key.failed || s->value.failed)
        return MORTISE_ENOMEM;
    e = mortise_arena_alloc(&sp->arena, sizeof *e);
    if (e == NULL)
        return MORTISE_ENOMEM;
    *e = (struct mortise_ldb_staged){
        .older = find_staged_record(s, s->key.p, s->key.n),
        .key = mortise_arena_strndup(&sp->arena, s->key.p, s->key.n),
        .key_size = s->key.n,
        .value = mortise_arena_strndup(&sp->arena, s->value.p, s->value.n),
        .value_size = s->value.n};
    mortise_buf_clear(&s->value);
    if (e->key == NULL || e->value == NULL)
        return MORTISE_ENOMEM;
    set_newest_staged(sp, e);
    sp->list[sp->n++] = e;
    return MORTISE_OK;
}

/* Read the record under s->key as this batch will leave it.  It borrows from
 * the batch's arena.  MORTISE_ENOTFOUND: none. */
static int read_staged_record(struct mortise_ldb *s,
                              const struct mortise_record *of, void *out,
                              struct mortise_err *err)
{
    const struct mortise_ldb_staged *e =
        find_staged_record(s, s->key.p, s->key.n);
    const char *bytes = e != NULL ? e->value : NULL;
    size_t n = e != NULL ? e->value_size : 0;
    char *stored = NULL;
    int rv = MORTISE_OK;

    if (e == NULL) {
        rv = mortise_ldb_get(s, s->checked, &s->key, &stored, &n, err);
        if (rv == MORTISE_OK)
            bytes = mortise_arena_strndup(&s->spawns.arena, stored, n);
        leveldb_free(stored);
    }
    if (rv != MORTISE_OK)
        return rv;
    if (bytes == NULL)
        return MORTISE_ENOMEM;
    rv = mortise_record_decode(of, out, bytes, n);
    return rv == MORTISE_OK ? rv : mortise_ldb_fail_record(err, rv, of->what);
}

/* ---- changes ------------------------------------------------------------- */

/* Stage a change of a record, and of the counters of its tree (2). */
static int stage_handle_change(struct mortise_ldb *s, const char *tenant,
                               const char *parent, const char *id,
                               const struct mortise_spawn *was,
                               const struct mortise_spawn *now,
                               struct mortise_err *err)
{
    struct mortise_spawn_tree tree = {.total = 0};
    int rv;

    mortise_key_tree(&s->key, tenant, now->origin);
    rv = read_staged_record(s, &mortise_record_tree, &tree, err);
    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        return rv;
    if (!mortise_spawn_update_counters(&tree, was, now))
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "the counters of the child runs of run %s do not "
                            "match their records",
                            now->origin);
    if (was == NULL || mortise_spawn_has_ended(now)) {
        rv = stage_spawn_record(s, &mortise_record_tree, &tree);
        if (rv != MORTISE_OK)
            return rv;
    }
    mortise_key_spawn(&s->key, tenant, parent, id);
    return stage_spawn_record(s, &mortise_record_spawn, now);
}

/* May the run have handles, after the commits before the i-th?  It may if it
 * exists and has not ended. */
static int is_parent_active(struct mortise_ldb *s,
                            struct mortise_commit *const *commits, size_t i,
                            const char *run, bool *going,
                            struct mortise_err *err)
{
    struct mortise_head head;
    char *value;
    int rv;

    *going = commits[i]->run != NULL && strcmp(commits[i]->run, run) == 0;
    if (*going)
        return MORTISE_OK;
    for (size_t k = i; k-- > 0;) {
        const struct mortise_commit *c = commits[k];

        if (c->result != MORTISE_OK || c->run == NULL ||
            strcmp(c->run, run) != 0 ||
            strcmp(c->tenant, commits[i]->tenant) != 0)
            continue;
        *going = !mortise_status_has_ended((int)c->head.status);
        return MORTISE_OK;
    }
    mortise_key_head(&s->key, commits[i]->tenant, run);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_head,
                                &head, &value, err);
    leveldb_free(value);
    *going = rv == MORTISE_OK && !mortise_status_has_ended((int)head.status);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

/* Stage the record of a child.  *fits: no other handle has this child. */
static int stage_child_record(struct mortise_ldb *s, const char *tenant,
                              const struct mortise_spawn_change *c, bool *fits,
                              struct mortise_err *err)
{
    const struct mortise_child ours = {c->parent, c->id};
    struct mortise_child other;
    int rv;

    mortise_key_child(&s->key, tenant, c->now.child);
    rv = read_staged_record(s, &mortise_record_child, &other, err);
    *fits = rv == MORTISE_ENOTFOUND;
    return *fits ? stage_spawn_record(s, &mortise_record_child, &ours) : rv;
}

/* Stage a change if it matches the record (1). */
static int stage_change(struct mortise_ldb *s,
                        struct mortise_commit *const *commits, size_t i,
                        const struct mortise_spawn_change *c, bool *fits,
                        struct mortise_err *err)
{
    const char *tenant = commits[i]->tenant;
    struct mortise_spawn is, *was = &is;
    int rv;

    mortise_key_spawn(&s->key, tenant, c->parent, c->id);
    rv = read_staged_record(s, &mortise_record_spawn, &is, err);
    if (rv == MORTISE_ENOTFOUND) {
        was = NULL;
        rv = MORTISE_OK;
    }
    *fits = rv == MORTISE_OK && mortise_spawn_is_change_current(was, c);
    if (*fits && was == NULL)
        rv = is_parent_active(s, commits, i, c->parent, fits, err);
    if (rv == MORTISE_OK && *fits && c->now.child[0] != '\0' &&
        (was == NULL || was->child[0] == '\0'))
        rv = stage_child_record(s, tenant, c, fits, err);
    return rv == MORTISE_OK && *fits
               ? stage_handle_change(s, tenant, c->parent, c->id, was, &c->now,
                                     err)
               : rv;
}

/* Stage a change of the purse (2). */
static int spend(struct mortise_ldb *s, const struct mortise_commit *c,
                 struct mortise_err *err)
{
    struct mortise_spawn_budget purse;
    int rv;

    mortise_key_purse(&s->key, c->tenant, c->spend.origin);
    rv = read_staged_record(s, &mortise_record_purse, &purse, err);
    if (rv == MORTISE_ENOTFOUND && !c->spend.opens)
        /* removed with its origin, so there is nothing to account for */
        return MORTISE_OK;
    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        return rv;
    mortise_spawn_budget_change(&purse, rv == MORTISE_OK, &c->spend);
    return stage_spawn_record(s, &mortise_record_purse, &purse);
}

/* ---- ends (4) ------------------------------------------------------------ */

static int settle_own_handle(struct mortise_ldb *s,
                             const struct mortise_commit *c,
                             struct mortise_err *err)
{
    struct mortise_child handle_ref;
    struct mortise_spawn was, now;
    int rv;

    mortise_key_child(&s->key, c->tenant, c->run);
    rv = read_staged_record(s, &mortise_record_child, &handle_ref, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    mortise_key_spawn(&s->key, c->tenant, handle_ref.parent, handle_ref.id);
    rv = read_staged_record(s, &mortise_record_spawn, &was, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "run %s is the child of a spawn handle that does not exist",
            c->run);
    if (rv != MORTISE_OK || mortise_spawn_has_ended(&was))
        return rv;
    mortise_spawn_after_end(&was, c->end_status, c->end_result,
                            c->end_result_size, c->head.updated_ms, &now);
    return stage_handle_change(s, c->tenant, handle_ref.parent, handle_ref.id,
                               &was, &now, err);
}

/* Abandon the handle of the run at s->key, unless it is over, or somebody may
 * still settle it: the one who brings a detached child may come back for it.  A
 * native one is abandoned only if it did not begin, as only its run could begin
 * it. */
static int abandon_handle(struct mortise_ldb *s, const struct mortise_commit *c,
                          const char *id, struct mortise_err *err)
{
    struct mortise_spawn was, now;
    int rv = read_staged_record(s, &mortise_record_spawn, &was, err);

    if (rv != MORTISE_OK || mortise_spawn_has_ended(&was) ||
        (was.native ? was.state != MORTISE_SPAWN_PENDING : was.detached))
        return rv;
    mortise_spawn_after_abandon(&was, c->head.updated_ms, &now);
    return stage_handle_change(s, c->tenant, c->run, id, &was, &now, err);
}

/* Copy a key to s->key, and return the id after its prefix, in the arena.
 * NULL: out of memory. */
static const char *copy_handle_id(struct mortise_ldb *s, const char *key,
                                  size_t n, size_t prefix)
{
    mortise_buf_clear(&s->key);
    mortise_buf_put(&s->key, key, n);
    return s->key.failed ? NULL
                         : mortise_arena_strndup(&s->spawns.arena, key + prefix,
                                                 n - prefix);
}

/* First the handles in the store, then those that this batch made.  A stored
 * one that is staged is read in its staged version. */
static int abandon_open_handles(struct mortise_ldb *s,
                                const struct mortise_commit *c,
                                leveldb_iterator_t *it,
                                const struct mortise_buf *prefix,
                                struct mortise_err *err)
{
    size_t n_staged = s->spawns.n, n;
    int rv = MORTISE_OK;

    leveldb_iter_seek(it, prefix->p, prefix->n);
    for (; rv == MORTISE_OK && leveldb_iter_valid(it); leveldb_iter_next(it)) {
        const char *key = leveldb_iter_key(it, &n), *id;

        if (n < prefix->n || memcmp(key, prefix->p, prefix->n) != 0)
            break;
        id = copy_handle_id(s, key, n, prefix->n);
        rv = id != NULL ? abandon_handle(s, c, id, err) : MORTISE_ENOMEM;
    }
    for (size_t i = 0; rv == MORTISE_OK && i < n_staged; i++) {
        const struct mortise_ldb_staged *e = s->spawns.list[i];
        const char *id;

        if (e->key_size < prefix->n ||
            memcmp(e->key, prefix->p, prefix->n) != 0)
            continue;
        id = copy_handle_id(s, e->key, e->key_size, prefix->n);
        rv = id != NULL ? abandon_handle(s, c, id, err) : MORTISE_ENOMEM;
    }
    return rv;
}

static int abandon_made_handles(struct mortise_ldb *s,
                                const struct mortise_commit *c,
                                struct mortise_err *err)
{
    leveldb_iterator_t *it;
    struct mortise_buf prefix;
    int rv;

    mortise_buf_init(&prefix, s->mem);
    mortise_key_prefix_of_run(&prefix, MORTISE_KEY_SPAWN, c->tenant, c->run);
    if (prefix.failed) {
        mortise_buf_finish(&prefix);
        return MORTISE_ENOMEM;
    }
    it = leveldb_create_iterator(s->db, s->checked);
    rv = abandon_open_handles(s, c, it, &prefix, err);
    rv = mortise_ldb_iter_destroy(it, rv, "read the store", err);
    mortise_buf_finish(&prefix);
    return rv;
}

/* ---- a commit ------------------------------------------------------------ */

static bool is_end_commit(const struct mortise_commit *c)
{
    return c->run != NULL && mortise_status_has_ended((int)c->head.status);
}

int mortise_ldb_spawns_stage(struct mortise_ldb *s,
                             struct mortise_commit *const *commits, size_t i,
                             bool *fits, struct mortise_err *err)
{
    const struct mortise_commit *c = commits[i];
    size_t before = s->spawns.n;
    int rv = MORTISE_OK;

    *fits = true;
    for (size_t k = 0; rv == MORTISE_OK && *fits && k < c->n_spawns; k++)
        rv = stage_change(s, commits, i, c->spawns[k], fits, err);
    if (!*fits)
        unstage_records(&s->spawns, before);
    if (rv == MORTISE_OK && *fits && c->spend.origin != NULL)
        rv = spend(s, c, err);
    if (rv == MORTISE_OK && *fits && is_end_commit(c))
        rv = settle_own_handle(s, c, err);
    if (rv == MORTISE_OK && *fits && is_end_commit(c))
        rv = abandon_made_handles(s, c, err);
    return rv;
}

int mortise_ldb_spawns_put(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err)
{
    for (size_t i = 0; i < s->spawns.n; i++) {
        const struct mortise_ldb_staged *e = s->spawns.list[i];

        if (!mortise_ldb_can_put(s, e->key_size + e->value_size))
            return mortise_nomem(err);
        mortise_ldb_put_bytes(s, batch, e->key, e->key_size, e->value,
                              e->value_size);
    }
    return MORTISE_OK;
}

/* ---- removal (5) --------------------------------------------------------- */

/* *open: a handle of the run is open.  With a batch, also delete
 * the handles. */
static int check_or_drop_handles(struct mortise_ldb *s,
                                 leveldb_writebatch_t *batch,
                                 leveldb_iterator_t *it, const char *tenant,
                                 const struct mortise_buf *prefix, bool *open,
                                 size_t *n_dropped, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    leveldb_iter_seek(it, prefix->p, prefix->n);
    for (; rv == MORTISE_OK && leveldb_iter_valid(it); leveldb_iter_next(it)) {
        struct mortise_spawn spawn;
        size_t n, size;
        const char *key = leveldb_iter_key(it, &n), *value;

        if (n < prefix->n || memcmp(key, prefix->p, prefix->n) != 0)
            break;
        value = leveldb_iter_value(it, &size);
        rv = mortise_record_decode(&mortise_record_spawn, &spawn, value, size);
        if (rv != MORTISE_OK)
            return mortise_ldb_fail_record(err, rv, mortise_record_spawn.what);
        *open |= !mortise_spawn_has_ended(&spawn);
        if (batch == NULL)
            continue;
        mortise_buf_clear(&s->key);
        mortise_buf_put(&s->key, key, n);
        rv = mortise_ldb_delete(s, batch);
        ++*n_dropped;
        if (rv != MORTISE_OK || spawn.child[0] == '\0')
            continue;
        mortise_key_child(&s->key, tenant, spawn.child);
        rv = mortise_ldb_delete(s, batch);
        ++*n_dropped;
    }
    return rv;
}

static int walk_made_handles(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                             const char *tenant, const char *run, bool *open,
                             size_t *n_dropped, struct mortise_err *err)
{
    leveldb_iterator_t *it;
    struct mortise_buf prefix;
    int rv;

    mortise_buf_init(&prefix, s->mem);
    mortise_key_prefix_of_run(&prefix, MORTISE_KEY_SPAWN, tenant, run);
    if (prefix.failed) {
        mortise_buf_finish(&prefix);
        return MORTISE_ENOMEM;
    }
    it = leveldb_create_iterator(s->db, s->checked);
    rv = check_or_drop_handles(s, batch, it, tenant, &prefix, open, n_dropped,
                               err);
    rv = mortise_ldb_iter_destroy(it, rv, "read the store", err);
    mortise_buf_finish(&prefix);
    return rv;
}

int mortise_ldb_spawns_are_open(struct mortise_ldb *s, const char *tenant,
                                const char *run, bool *open,
                                struct mortise_err *err)
{
    struct mortise_spawn_tree tree = {.active = 0};
    size_t none = 0;
    int rv;

    *open = false;
    mortise_key_tree(&s->key, tenant, run);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_tree,
                                &tree, NULL, err);
    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        return rv;
    *open = tree.active > 0;
    return *open ? MORTISE_OK
                 : walk_made_handles(s, NULL, tenant, run, open, &none, err);
}

int mortise_ldb_spawns_remove(struct mortise_ldb *s,
                              leveldb_writebatch_t *batch, const char *tenant,
                              const char *run, size_t *n_dropped,
                              struct mortise_err *err)
{
    bool open = false;
    int rv = walk_made_handles(s, batch, tenant, run, &open, n_dropped, err);

    assert(rv != MORTISE_OK || !open); /* the caller has checked */
    if (rv != MORTISE_OK || *n_dropped == 0)
        return rv;
    mortise_key_tree(&s->key, tenant, run);
    ++*n_dropped;
    rv = mortise_ldb_delete(s, batch);
    if (rv != MORTISE_OK)
        return rv;
    mortise_key_purse(&s->key, tenant, run);
    ++*n_dropped;
    return mortise_ldb_delete(s, batch);
}
