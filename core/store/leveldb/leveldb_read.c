/* leveldb_read.c -- the store on LevelDB: reading.
 *
 * Reads come from any thread, concurrently with the writer.  Guarantees:
 *
 *   (1) One read sees the store at one moment, a LevelDB snapshot: never a part
 *       of a batch, so a record and those that it names are consistent.
 *   (2) Checksums are verified, and a walk fails if it cannot read an entry; it
 *       never skips one silently.  Checkpoints with a gap before the head, and
 *       a deadline without its request, are errors, too.  A walk over a copy
 *       (view.c) continues after such an entry and records it.
 *   (3) A walk stays within the tenant or the run that was requested (R1).
 */
#include <assert.h>
#include <string.h>

#include "core/store/leveldb/ldb.h"

enum {
    WALK_CHECK_INTERVAL = 64 * 1024, /* bytes between two checks for memory */
    /* that the caller may allocate for an entry, beside its bytes */
    ENTRY_OVERHEAD = 1024
};

/* A walk over all keys with one prefix, in one snapshot, for a read. */
struct store_walk {
    struct mortise_ldb *s;
    struct mortise_read *r;
    uint64_t number; /* the next expected checkpoint */
    bool stop;       /* the caller has enough */
    size_t passed;   /* bytes since the last check for memory */
    const leveldb_snapshot_t *snapshot;
    leveldb_readoptions_t *options;
    leveldb_iterator_t *it;
    struct mortise_buf prefix;
    struct mortise_buf key;   /* for lookups, and the cursor to begin at */
    bool at_key;              /* begin at the cursor, not after it */
    char *lent;               /* the value of the last lookup */
    struct mortise_buf names; /* names in the current key, as C strings */
};

static void walk_begin(struct store_walk *w, struct mortise_ldb *s,
                       struct mortise_read *r)
{
    assert(s->db != NULL);
    *w = (struct store_walk){.s = s, .r = r};
    w->snapshot = leveldb_create_snapshot(s->db);
    w->options = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(w->options, 1);
    leveldb_readoptions_set_snapshot(w->options, w->snapshot);
    w->it = leveldb_create_iterator(s->db, w->options);
    mortise_buf_init(&w->prefix, s->mem);
    mortise_buf_init(&w->key, s->mem);
    mortise_buf_init(&w->names, s->mem);
}

/* Free the walk.  Returns the iterator's error, if any, else `rv`. */
static int walk_end(struct store_walk *w, int rv, struct mortise_err *err)
{
    struct mortise_err why;
    int torn =
        mortise_ldb_iter_destroy(w->it, MORTISE_OK, "read the store", &why);

    if (torn != MORTISE_OK && w->s->looks) {
        mortise_ldb_set_incomplete(w->s, why.msg);
        torn = MORTISE_OK;
    } else if (torn != MORTISE_OK && err != NULL) {
        *err = why;
    }
    leveldb_readoptions_destroy(w->options);
    leveldb_release_snapshot(w->s->db, w->snapshot);
    if (torn == MORTISE_OK && rv == MORTISE_ENOMEM)
        torn = mortise_nomem(err);
    leveldb_free(w->lent);
    mortise_buf_finish(&w->names);
    mortise_buf_finish(&w->key);
    mortise_buf_finish(&w->prefix);
    return torn != MORTISE_OK ? torn : rv;
}

/* Seek the first key after w->key (or that key itself, if `at_key`).  If w->key
 * is empty, seek the first key with the prefix. */
static int walk_seek(struct store_walk *w)
{
    const struct mortise_buf *to = w->key.n > 0 ? &w->key : &w->prefix;
    size_t n;
    const char *p;

    if (w->key.failed || w->prefix.failed)
        return MORTISE_ENOMEM;
    assert(w->prefix.n > 0 && to->n >= w->prefix.n &&
           memcmp(to->p, w->prefix.p, w->prefix.n) == 0); /* (3) */
    leveldb_iter_seek(w->it, to->p, to->n);
    if (to == &w->prefix || w->at_key || !leveldb_iter_valid(w->it))
        return MORTISE_OK;
    p = leveldb_iter_key(w->it, &n);
    if (n == to->n && memcmp(p, to->p, n) == 0)
        leveldb_iter_next(w->it);
    return MORTISE_OK;
}

/* Is there a current key?  Then `r` reads it, after the prefix. */
static bool walk_at(struct store_walk *w, struct mortise_reader *r)
{
    size_t n;
    const char *p;

    if (!leveldb_iter_valid(w->it))
        return false;
    p = leveldb_iter_key(w->it, &n);
    if (n < w->prefix.n || memcmp(p, w->prefix.p, w->prefix.n) != 0)
        return false;
    mortise_reader_init(r, p + w->prefix.n, n - w->prefix.n);
    mortise_buf_clear(&w->names);
    return true;
}

/* Decode the current value; fails with a message. */
static int walk_value(struct store_walk *w, const struct mortise_record *of,
                      void *out, struct mortise_err *err)
{
    size_t n;
    const char *p = leveldb_iter_value(w->it, &n);
    int rv = mortise_record_decode(of, out, p, n);

    w->passed += n;
    return rv == MORTISE_OK ? rv : mortise_ldb_fail_record(err, rv, of->what);
}

/* Look up w->key in this snapshot.  The record borrows until the
 * next lookup. */
static int walk_get(struct store_walk *w, const struct mortise_record *of,
                    void *out, struct mortise_err *err)
{
    leveldb_free(w->lent);
    return mortise_ldb_get_record(w->s, w->options, &w->key, of, out, &w->lent,
                                  err);
}

/* A list entry cannot be decoded (`why`): fail, or record it and continue in a
 * view. */
static int skip_or_fail_entry(struct store_walk *w,
                              const struct mortise_err *why,
                              struct mortise_err *err)
{
    if (!w->s->looks || why->code != MORTISE_ECORRUPT)
        return mortise_fail(err, why->code, "%s", why->msg);
    mortise_ldb_set_incomplete(w->s, why->msg);
    return MORTISE_OK;
}

typedef int each_fn(struct store_walk *w, struct mortise_reader *key,
                    struct mortise_err *err);

/* The callback may store entries, so memory may run out during a walk
 * (memory.c). */
static int check_walk_memory(struct store_walk *w)
{
    w->passed = 0;
    return mortise_ldb_has_memory(0) ? MORTISE_OK : MORTISE_ENOMEM;
}

/* Call `each` for the keys with the prefix, from w->key on, until it stops. */
static int walk_all(struct store_walk *w, each_fn *each,
                    struct mortise_err *err)
{
    struct mortise_reader key;
    int rv = walk_seek(w);

    while (rv == MORTISE_OK && !w->stop && walk_at(w, &key)) {
        rv = each(w, &key, err);
        w->passed += ENTRY_OVERHEAD;
        if (rv == MORTISE_OK && w->passed >= WALK_CHECK_INTERVAL)
            rv = check_walk_memory(w);
        if (rv == MORTISE_OK)
            leveldb_iter_next(w->it);
    }
    return rv;
}

/* Check that the key was decoded to its end. */
static int check_key_read(struct store_walk *w, const struct mortise_reader *r,
                          struct mortise_err *err)
{
    if (w->names.failed)
        return MORTISE_ENOMEM;
    if (r->bad || r->p != r->end)
        return mortise_ldb_fail_record(err, MORTISE_ECORRUPT, "a key");
    return MORTISE_OK;
}

static const char *get_next_name(const char *name)
{
    return name + strlen(name) + 1;
}

static int get_head(struct mortise_ldb *s, struct mortise_read *r,
                    struct mortise_buf *key, struct mortise_err *err)
{
    struct mortise_head head;
    char *value;
    int rv;

    mortise_key_head(key, r->tenant, r->run);
    rv = mortise_ldb_get_record(s, s->checked, key, &mortise_record_head, &head,
                                &value, err);
    if (rv == MORTISE_OK)
        r->head(r->ud, r->tenant, r->run, &head);
    leveldb_free(value);
    return rv == MORTISE_ENOTFOUND ? mortise_fail(err, rv, "no run %s", r->run)
                                   : rv;
}

/* Report the current checkpoint, which must be the expected one. */
static int each_checkpoint(struct store_walk *w, struct mortise_reader *key,
                           struct mortise_err *err)
{
    struct mortise_checkpoint cp;
    int rv;

    assert(w->r->checkpoint != NULL && w->number > 0);
    cp.seq = mortise_key_read_number(key);
    rv = check_key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    if (cp.seq != w->number)
        return mortise_fail(err, MORTISE_ECORRUPT, "checkpoint %llu is missing",
                            (unsigned long long)w->number);
    rv = walk_value(w, &mortise_record_checkpoint, &cp, err);
    if (rv != MORTISE_OK)
        return rv;
    w->stop = w->r->checkpoint(w->r->ud, &cp) != 0;
    w->number++;
    return MORTISE_OK;
}

/* Walk up to the head of the run in this snapshot. */
static int walk_checkpoints(struct store_walk *w, struct mortise_err *err)
{
    const char *tenant = w->r->tenant, *run = w->r->run;
    struct mortise_head head;
    int rv;

    mortise_key_head(&w->key, tenant, run);
    rv = walk_get(w, &mortise_record_head, &head, err);
    w->number = w->r->number != 0 ? w->r->number : 1;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK; /* no run, no checkpoints */
    if (rv != MORTISE_OK || w->number > head.seq)
        return rv;
    mortise_key_prefix_of_run(&w->prefix, MORTISE_KEY_CHECKPOINT, tenant, run);
    mortise_key_checkpoint(&w->key, tenant, run, w->number);
    w->at_key = true;
    rv = walk_all(w, each_checkpoint, err);
    if (rv == MORTISE_OK && !w->stop && w->number != head.seq + 1)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "checkpoint %llu does not match the head at %llu",
                            (unsigned long long)w->number,
                            (unsigned long long)head.seq);
    return rv;
}

static int each_run(struct store_walk *w, struct mortise_reader *key,
                    struct mortise_err *err)
{
    bool of_all = w->r->kind == MORTISE_READ_HEADS; /* all tenants */
    const char *tenant = w->r->tenant, *run;
    struct mortise_head head;
    struct mortise_err why;
    int rv;

    assert(w->r->head != NULL);
    if (of_all)
        mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = check_key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    run = of_all ? get_next_name(w->names.p) : w->names.p;
    tenant = of_all ? w->names.p : tenant;
    if (walk_value(w, &mortise_record_head, &head, &why) != MORTISE_OK)
        return skip_or_fail_entry(w, &why, err);
    w->stop = w->r->head(w->r->ud, tenant, run, &head) != 0;
    return MORTISE_OK;
}

static int walk_runs(struct store_walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    mortise_key_prefix_of_tenant(&w->prefix, MORTISE_KEY_HEAD, r->tenant);
    if (r->run != NULL)
        mortise_key_head(&w->key, r->tenant, r->run);
    return walk_all(w, each_run, err);
}

static int walk_heads(struct store_walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    mortise_key_prefix_of_tag(&w->prefix, MORTISE_KEY_HEAD);
    if (r->tenant != NULL)
        mortise_key_head(&w->key, r->tenant, r->run);
    return walk_all(w, each_run, err);
}

static int each_pending(struct store_walk *w, struct mortise_reader *key,
                        struct mortise_err *err)
{
    const struct mortise_read *r = w->r;
    struct mortise_pending p = {.timer = false};
    struct mortise_err why;
    int rv;

    assert(r->pending != NULL && r->tenant != NULL);
    mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = check_key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    if (walk_value(w, &mortise_record_pending, &p, &why) != MORTISE_OK)
        return skip_or_fail_entry(w, &why, err);
    p.id = get_next_name(w->names.p);
    w->stop = r->pending(r->ud, r->tenant, w->names.p, &p) != 0;
    return MORTISE_OK;
}

static int walk_inbox(struct store_walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    mortise_key_prefix_of_tenant(&w->prefix, MORTISE_KEY_PENDING, r->tenant);
    if (r->run != NULL)
        mortise_key_pending(&w->key, r->tenant, r->run,
                            r->id != NULL ? r->id : "");
    return walk_all(w, each_pending, err);
}

/* Read the request of a deadline; w->names has tenant, run and id. */
static int due_request(struct store_walk *w, struct mortise_pending *p,
                       struct mortise_err *err)
{
    const char *tenant = w->names.p, *run = get_next_name(tenant);
    uint64_t deadline_ms = p->deadline_ms;
    int rv;

    mortise_key_pending(&w->key, tenant, run, get_next_name(run));
    rv = walk_get(w, &mortise_record_pending, p, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "run %s: a deadline has no request", run);
    if (rv == MORTISE_OK && p->deadline_ms != deadline_ms)
        return mortise_ldb_fail_record(err, MORTISE_ECORRUPT,
                                       mortise_record_pending.what);
    return rv;
}

static int each_deadline(struct store_walk *w, struct mortise_reader *key,
                         struct mortise_err *err)
{
    struct mortise_pending p = {.deadline_ms = mortise_key_read_number(key)};
    const char *run;
    int rv;

    if (p.deadline_ms > w->r->number) {
        w->stop = true;
        return MORTISE_OK;
    }
    mortise_key_read_name(key, &w->names);
    mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = check_key_read(w, key, err);
    if (rv == MORTISE_OK)
        rv = walk_value(w, &mortise_record_deadline, &p.timer, err);
    if (rv == MORTISE_OK && !p.timer)
        rv = due_request(w, &p, err);
    if (rv != MORTISE_OK)
        return rv;
    run = get_next_name(w->names.p);
    p.id = get_next_name(run);
    w->stop = w->r->pending(w->r->ud, w->names.p, run, &p) != 0;
    return MORTISE_OK;
}

static int walk_due(struct store_walk *w, struct mortise_err *err)
{
    mortise_key_prefix_of_tag(&w->prefix, MORTISE_KEY_DEADLINE);
    return walk_all(w, each_deadline, err);
}

static int get_graph(struct mortise_ldb *s, struct mortise_read *r,
                     struct mortise_buf *key, struct mortise_err *err)
{
    char *value;
    size_t n;
    int rv;

    mortise_key_graph(key, r->digest);
    rv = mortise_ldb_get(s, s->checked, key, &value, &n, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, rv, "no graph has this digest");
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_decode_graph(r->arena, &r->found.files,
                                     &r->found.n_files, value, n);
    leveldb_free(value);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK)
        mortise_ldb_fail_record(err, rv, "a graph");
    return rv;
}

static int get_kv(struct mortise_ldb *s, struct mortise_read *r,
                  struct mortise_buf *key, struct mortise_err *err)
{
    struct mortise_value found;
    char *value;
    int rv;

    mortise_key_kv(key, r->tenant, r->plugin, r->key, r->key_size);
    rv = mortise_ldb_get_record(s, s->checked, key, &mortise_record_kv, &found,
                                &value, err);
    if (rv == MORTISE_OK)
        mortise_buf_put(r->value, found.text, found.size);
    leveldb_free(value);
    return rv == MORTISE_OK && r->value->failed ? mortise_nomem(err) : rv;
}

static int count_kv(struct store_walk *w, struct mortise_reader *key,
                    struct mortise_err *err)
{
    (void)key;
    (void)err;
    w->stop = ++w->r->found.n == w->r->number;
    return MORTISE_OK;
}

static int walk_kvs(struct store_walk *w, struct mortise_err *err)
{
    w->r->found.n = 0;
    w->stop = w->r->number == 0;
    mortise_key_prefix_of_run(&w->prefix, MORTISE_KEY_KV, w->r->tenant,
                              w->r->plugin);
    return walk_all(w, count_kv, err);
}

/* ---- spawn handles ------------------------------------------------------- */

static void report_spawn(const struct mortise_read *r, const char *tenant,
                         const char *parent, const char *id,
                         struct mortise_spawn *spawn, bool *stop)
{
    assert(r->spawn != NULL);
    if (spawn->result_size == 0)
        spawn->result = NULL;
    *stop = r->spawn(r->ud, tenant, parent, id, spawn) != 0;
}

static int get_spawn(struct mortise_ldb *s, struct mortise_read *r,
                     struct mortise_buf *key, struct mortise_err *err)
{
    struct mortise_spawn spawn;
    char *value;
    bool stop;
    int rv;

    mortise_key_spawn(key, r->tenant, r->run, r->id);
    rv = mortise_ldb_get_record(s, s->checked, key, &mortise_record_spawn,
                                &spawn, &value, err);
    if (rv == MORTISE_OK)
        report_spawn(r, r->tenant, r->run, r->id, &spawn, &stop);
    leveldb_free(value);
    return rv;
}

/* Look up the handle by its child's record.  Both records exist together. */
static int walk_spawn_of(struct store_walk *w, struct mortise_err *err)
{
    struct mortise_spawn spawn;
    struct mortise_child child_ref;
    int rv;

    mortise_key_child(&w->key, w->r->tenant, w->r->run);
    rv = walk_get(w, &mortise_record_child, &child_ref, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_puts(&w->names, child_ref.parent);
    mortise_buf_put(&w->names, "", 1);
    mortise_buf_puts(&w->names, child_ref.id);
    mortise_buf_put(&w->names, "", 1);
    if (w->names.failed)
        return MORTISE_ENOMEM;
    mortise_key_spawn(&w->key, w->r->tenant, w->names.p,
                      get_next_name(w->names.p));
    rv = walk_get(w, &mortise_record_spawn, &spawn, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "%s is the child of a spawn handle that does not exist", w->r->run);
    if (rv == MORTISE_OK)
        report_spawn(w->r, w->r->tenant, w->names.p, get_next_name(w->names.p),
                     &spawn, &w->stop);
    return rv;
}

static int each_spawn(struct store_walk *w, struct mortise_reader *key,
                      struct mortise_err *err)
{
    const struct mortise_read *r = w->r;
    struct mortise_spawn spawn;
    struct mortise_err why;
    const char *tenant = r->tenant, *parent = r->run, *id;
    int rv;

    if (tenant == NULL) {
        mortise_key_read_name(key, &w->names);
        mortise_key_read_name(key, &w->names);
    }
    mortise_key_read_last(key, &w->names);
    rv = check_key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    if (walk_value(w, &mortise_record_spawn, &spawn, &why) != MORTISE_OK)
        return skip_or_fail_entry(w, &why, err);
    id = w->names.p;
    if (tenant == NULL) {
        tenant = id;
        parent = get_next_name(tenant);
        id = get_next_name(parent);
    }
    report_spawn(r, tenant, parent, id, &spawn, &w->stop);
    return MORTISE_OK;
}

static int walk_spawns(struct store_walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    if (r->tenant == NULL)
        mortise_key_prefix_of_tag(&w->prefix, MORTISE_KEY_SPAWN);
    else
        mortise_key_prefix_of_run(&w->prefix, MORTISE_KEY_SPAWN, r->tenant,
                                  r->run);
    return walk_all(w, each_spawn, err);
}

static int get_spawn_tree(struct mortise_ldb *s, struct mortise_read *r,
                          struct mortise_buf *key, struct mortise_err *err)
{
    int rv;

    r->found.tree = (struct mortise_spawn_tree){.total = 0};
    mortise_key_tree(key, r->tenant, r->run);
    rv = mortise_ldb_get_record(s, s->checked, key, &mortise_record_tree,
                                &r->found.tree, NULL, err);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

static int get_spawn_purse(struct mortise_ldb *s, struct mortise_read *r,
                           struct mortise_buf *key, struct mortise_err *err)
{
    mortise_key_purse(key, r->tenant, r->run);
    return mortise_ldb_get_record(s, s->checked, key, &mortise_record_purse,
                                  &r->found.purse, NULL, err);
}

/* ---- dispatch ------------------------------------------------------------ */

/* Each kind has one of two functions: a lookup or a walk. */
static const struct {
    mortise_ldb_read_fn *read_single;
    int (*store_walk)(struct store_walk *w, struct mortise_err *err);
} kinds[MORTISE_READ_KINDS] = {
    [MORTISE_READ_HEAD] = {.read_single = get_head},
    [MORTISE_READ_CHECKPOINTS] = {.store_walk = walk_checkpoints},
    [MORTISE_READ_RUNS] = {.store_walk = walk_runs},
    [MORTISE_READ_HEADS] = {.store_walk = walk_heads},
    [MORTISE_READ_INBOX] = {.store_walk = walk_inbox},
    [MORTISE_READ_DUE] = {.store_walk = walk_due},
    [MORTISE_READ_GRAPH] = {.read_single = get_graph},
    [MORTISE_READ_KV] = {.read_single = get_kv},
    [MORTISE_READ_KV_COUNT] = {.store_walk = walk_kvs},
    [MORTISE_READ_CACHED] = {.read_single = mortise_ldb_read_cached},
    [MORTISE_READ_REMOVED] = {.read_single = mortise_ldb_read_removed},
    [MORTISE_READ_OVERDUE_TIME] = {.read_single =
                                       mortise_ldb_read_overdue_time},
    [MORTISE_READ_SPAWN] = {.read_single = get_spawn},
    [MORTISE_READ_SPAWN_OF] = {.store_walk = walk_spawn_of},
    [MORTISE_READ_SPAWNS] = {.store_walk = walk_spawns},
    [MORTISE_READ_SPAWN_TREE] = {.read_single = get_spawn_tree},
    [MORTISE_READ_SPAWN_PURSE] = {.read_single = get_spawn_purse},
};

static int read_single(struct mortise_ldb *s, struct mortise_read *r,
                       struct mortise_err *err)
{
    struct mortise_buf key;
    int rv;

    mortise_buf_init(&key, s->mem);
    rv = kinds[r->kind].read_single(s, r, &key, err);
    mortise_buf_finish(&key);
    return rv;
}

static int store_walk(struct mortise_ldb *s, struct mortise_read *r,
                      struct mortise_err *err)
{
    struct store_walk w;
    int rv;

    walk_begin(&w, s, r);
    rv = walk_end(&w, kinds[r->kind].store_walk(&w, err), err);
    return rv != MORTISE_OK && r->kind == MORTISE_READ_CHECKPOINTS
               ? mortise_err_prefix(err, rv, "run %s", r->run)
               : rv;
}

int mortise_ldb_read_now(struct mortise_ldb *s, struct mortise_read *r,
                         struct mortise_err *err)
{
    const char *const names[] = {r->tenant, r->run, r->id, r->plugin};
    int rv = mortise_ldb_check_usable(s, err);

    for (size_t i = 0; rv == MORTISE_OK && i < 4; i++)
        rv = mortise_ldb_check_name(names[i], err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_check_memory(0, err);
    if (rv != MORTISE_OK)
        return rv;
    return kinds[r->kind].read_single != NULL ? read_single(s, r, err)
                                              : store_walk(s, r, err);
}

void mortise_ldb_read(struct mortise_store *store, struct mortise_read *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = mortise_ldb_read_now(mortise_ldb_of(store), r, &err);

    r->done(r, rv, &err);
}
