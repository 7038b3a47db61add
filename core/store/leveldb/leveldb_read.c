/* leveldb_read.c -- the store on LevelDB: reading.
 *
 * Reads come from any thread, beside the writer.  The promises:
 *
 *   (1) One call sees the store at one moment, a LevelDB snapshot: never half
 *       of a batch, and what it names it also finds.
 *   (2) Checksums are verified, and a walk that meets something it cannot read
 *       says so; it never skips it.  So do checkpoints that do not follow each
 *       other up to the head, and a deadline without its request.  A walk over
 *       a copy that is looked at (view.c) goes on behind it, and notes it.
 *   (3) A walk stays within the tenant or the run that it was asked for (R1).
 */
#include <assert.h>
#include <string.h>

#include "core/store/leveldb/ldb.h"

enum {
    LOOKED_EACH = 64 * 1024, /* bytes: between two looks for memory */
    AN_ENTRY = 1024          /* costs whoever keeps it, beside its bytes */
};

/* A walk over all keys with one prefix, in one snapshot, for a read. */
struct walk {
    struct mortise_ldb *s;
    struct mortise_read *r;
    uint64_t number; /* the next checkpoint that is to be met */
    bool stop;       /* who reads has enough */
    size_t passed;   /* bytes, since memory was last looked for */
    const leveldb_snapshot_t *snapshot;
    leveldb_readoptions_t *options;
    leveldb_iterator_t *it;
    struct mortise_buf prefix;
    struct mortise_buf key;   /* to look something up by */
    bool at_key;              /* the walk begins with it, and not behind it */
    char *lent;               /* what was found last by it, in bytes */
    struct mortise_buf names; /* of the key it stands on, as C strings */
};

static void walk_begin(struct walk *w, struct mortise_ldb *s,
                       struct mortise_read *r)
{
    assert(s->db != NULL);
    *w = (struct walk){.s = s, .r = r};
    w->snapshot = leveldb_create_snapshot(s->db);
    w->options = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(w->options, 1);
    leveldb_readoptions_set_snapshot(w->options, w->snapshot);
    w->it = leveldb_create_iterator(s->db, w->options);
    mortise_buf_init(&w->prefix, s->mem);
    mortise_buf_init(&w->key, s->mem);
    mortise_buf_init(&w->names, s->mem);
}

/* The walk's result, `rv` if nothing worse happened, and its end. */
static int walk_end(struct walk *w, int rv, struct mortise_err *err)
{
    struct mortise_err why;
    int torn = mortise_ldb_iter_end(w->it, MORTISE_OK, "read the store", &why);

    if (torn != MORTISE_OK && w->s->looks) {
        mortise_ldb_note_lack(w->s, why.msg);
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

/* Go to the first key that is greater than w->key (or that one, if `at_key`),
 * or without that the first with the prefix. */
static int walk_seek(struct walk *w)
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

/* Is there one (more)?  Then `r` reads its key behind the prefix. */
static bool walk_at(struct walk *w, struct mortise_reader *r)
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

/* The value that it stands on; with words when that does not read. */
static int walk_value(struct walk *w, const struct mortise_record *of,
                      void *out, struct mortise_err *err)
{
    size_t n;
    const char *p = leveldb_iter_value(w->it, &n);
    int rv = mortise_record_read(of, out, p, n);

    w->passed += n;
    return rv == MORTISE_OK ? rv : mortise_ldb_bad(err, rv, of->what);
}

/* What stands under w->key in this snapshot; its bytes stay until the next. */
static int walk_get(struct walk *w, const struct mortise_record *of, void *out,
                    struct mortise_err *err)
{
    leveldb_free(w->lent);
    return mortise_ldb_get_record(w->s, w->options, &w->key, of, out, &w->lent,
                                  err);
}

/* A record of a list does not read: `why`. */
static int bad_in_list(struct walk *w, const struct mortise_err *why,
                       struct mortise_err *err)
{
    if (!w->s->looks || why->code != MORTISE_ECORRUPT)
        return mortise_fail(err, why->code, "%s", why->msg);
    mortise_ldb_note_lack(w->s, why->msg);
    return MORTISE_OK;
}

typedef int each_fn(struct walk *w, struct mortise_reader *key,
                    struct mortise_err *err);

/* `each` may keep what it reads, so memory may run out on the way (memory.c). */
static int look_for_memory(struct walk *w)
{
    w->passed = 0;
    return mortise_ldb_has_memory(0) ? MORTISE_OK : MORTISE_ENOMEM;
}

/* From beyond w->key, if it says one, up to the end of the prefix. */
static int walk_all(struct walk *w, each_fn *each, struct mortise_err *err)
{
    struct mortise_reader key;
    int rv = walk_seek(w);

    while (rv == MORTISE_OK && !w->stop && walk_at(w, &key)) {
        rv = each(w, &key, err);
        w->passed += AN_ENTRY;
        if (rv == MORTISE_OK && w->passed >= LOOKED_EACH)
            rv = look_for_memory(w);
        if (rv == MORTISE_OK)
            leveldb_iter_next(w->it);
    }
    return rv;
}

/* The key was read to its end. */
static int key_read(struct walk *w, const struct mortise_reader *r,
                    struct mortise_err *err)
{
    if (w->names.failed)
        return MORTISE_ENOMEM;
    if (r->bad || r->p != r->end)
        return mortise_ldb_bad(err, MORTISE_ECORRUPT, "a key");
    return MORTISE_OK;
}

static const char *next_name(const char *name)
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

/* The checkpoint that the walk stands on must be the next. */
static int each_checkpoint(struct walk *w, struct mortise_reader *key,
                           struct mortise_err *err)
{
    struct mortise_checkpoint cp;
    int rv;

    assert(w->r->checkpoint != NULL && w->number > 0);
    cp.seq = mortise_key_read_number(key);
    rv = key_read(w, key, err);
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

/* Up to the head of the run, as it is in this snapshot. */
static int walk_checkpoints(struct walk *w, struct mortise_err *err)
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
    mortise_key_of_run(&w->prefix, MORTISE_KEY_CHECKPOINT, tenant, run);
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

static int each_run(struct walk *w, struct mortise_reader *key,
                    struct mortise_err *err)
{
    bool of_all = w->r->kind == MORTISE_READ_HEADS; /* tenants */
    const char *tenant = w->r->tenant, *run;
    struct mortise_head head;
    struct mortise_err why;
    int rv;

    assert(w->r->head != NULL);
    if (of_all)
        mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    run = of_all ? next_name(w->names.p) : w->names.p;
    tenant = of_all ? w->names.p : tenant;
    if (walk_value(w, &mortise_record_head, &head, &why) != MORTISE_OK)
        return bad_in_list(w, &why, err);
    w->stop = w->r->head(w->r->ud, tenant, run, &head) != 0;
    return MORTISE_OK;
}

static int walk_runs(struct walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    mortise_key_of_tenant(&w->prefix, MORTISE_KEY_HEAD, r->tenant);
    if (r->run != NULL)
        mortise_key_head(&w->key, r->tenant, r->run);
    return walk_all(w, each_run, err);
}

static int walk_heads(struct walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    mortise_key_of_tag(&w->prefix, MORTISE_KEY_HEAD);
    if (r->tenant != NULL)
        mortise_key_head(&w->key, r->tenant, r->run);
    return walk_all(w, each_run, err);
}

static int each_pending(struct walk *w, struct mortise_reader *key,
                        struct mortise_err *err)
{
    const struct mortise_read *r = w->r;
    struct mortise_pending p = {.timer = false};
    struct mortise_err why;
    int rv;

    assert(r->pending != NULL && r->tenant != NULL);
    mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    if (walk_value(w, &mortise_record_pending, &p, &why) != MORTISE_OK)
        return bad_in_list(w, &why, err);
    p.id = next_name(w->names.p);
    w->stop = r->pending(r->ud, r->tenant, w->names.p, &p) != 0;
    return MORTISE_OK;
}

static int walk_inbox(struct walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    mortise_key_of_tenant(&w->prefix, MORTISE_KEY_PENDING, r->tenant);
    if (r->run != NULL)
        mortise_key_pending(&w->key, r->tenant, r->run,
                            r->id != NULL ? r->id : "");
    return walk_all(w, each_pending, err);
}

/* The request that a deadline (in w->names: tenant, run, id) belongs to. */
static int due_request(struct walk *w, struct mortise_pending *p,
                       struct mortise_err *err)
{
    const char *tenant = w->names.p, *run = next_name(tenant);
    uint64_t deadline_ms = p->deadline_ms;
    int rv;

    mortise_key_pending(&w->key, tenant, run, next_name(run));
    rv = walk_get(w, &mortise_record_pending, p, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "run %s: a deadline has no request", run);
    if (rv == MORTISE_OK && p->deadline_ms != deadline_ms)
        return mortise_ldb_bad(err, MORTISE_ECORRUPT,
                               mortise_record_pending.what);
    return rv;
}

static int each_deadline(struct walk *w, struct mortise_reader *key,
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
    rv = key_read(w, key, err);
    if (rv == MORTISE_OK)
        rv = walk_value(w, &mortise_record_deadline, &p.timer, err);
    if (rv == MORTISE_OK && !p.timer)
        rv = due_request(w, &p, err);
    if (rv != MORTISE_OK)
        return rv;
    run = next_name(w->names.p);
    p.id = next_name(run);
    w->stop = w->r->pending(w->r->ud, w->names.p, run, &p) != 0;
    return MORTISE_OK;
}

static int walk_due(struct walk *w, struct mortise_err *err)
{
    mortise_key_of_tag(&w->prefix, MORTISE_KEY_DEADLINE);
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
    rv = mortise_record_read_graph(r->arena, &r->found.files, &r->found.n_files,
                                   value, n);
    leveldb_free(value);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK)
        mortise_ldb_bad(err, rv, "a graph");
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

static int count_kv(struct walk *w, struct mortise_reader *key,
                    struct mortise_err *err)
{
    (void)key;
    (void)err;
    w->stop = ++w->r->found.n == w->r->number;
    return MORTISE_OK;
}

static int walk_kvs(struct walk *w, struct mortise_err *err)
{
    w->r->found.n = 0;
    w->stop = w->r->number == 0;
    mortise_key_of_run(&w->prefix, MORTISE_KEY_KV, w->r->tenant, w->r->plugin);
    return walk_all(w, count_kv, err);
}

/* ---- spawn handles -------------------------------------------------------- */

static void give_spawn(const struct mortise_read *r, const char *tenant,
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
        give_spawn(r, r->tenant, r->run, r->id, &spawn, &stop);
    leveldb_free(value);
    return rv;
}

/* The way to it is never another one's, and goes with it. */
static int walk_spawn_of(struct walk *w, struct mortise_err *err)
{
    struct mortise_spawn spawn;
    struct mortise_child way;
    int rv;

    mortise_key_child(&w->key, w->r->tenant, w->r->run);
    rv = walk_get(w, &mortise_record_child, &way, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_puts(&w->names, way.parent);
    mortise_buf_put(&w->names, "", 1);
    mortise_buf_puts(&w->names, way.id);
    mortise_buf_put(&w->names, "", 1);
    if (w->names.failed)
        return MORTISE_ENOMEM;
    mortise_key_spawn(&w->key, w->r->tenant, w->names.p, next_name(w->names.p));
    rv = walk_get(w, &mortise_record_spawn, &spawn, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "%s is the child of a spawn handle that does not exist", w->r->run);
    if (rv == MORTISE_OK)
        give_spawn(w->r, w->r->tenant, w->names.p, next_name(w->names.p),
                   &spawn, &w->stop);
    return rv;
}

static int each_spawn(struct walk *w, struct mortise_reader *key,
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
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    if (walk_value(w, &mortise_record_spawn, &spawn, &why) != MORTISE_OK)
        return bad_in_list(w, &why, err);
    id = w->names.p;
    if (tenant == NULL) {
        tenant = id;
        parent = next_name(tenant);
        id = next_name(parent);
    }
    give_spawn(r, tenant, parent, id, &spawn, &w->stop);
    return MORTISE_OK;
}

static int walk_spawns(struct walk *w, struct mortise_err *err)
{
    const struct mortise_read *r = w->r;

    if (r->tenant == NULL)
        mortise_key_of_tag(&w->prefix, MORTISE_KEY_SPAWN);
    else
        mortise_key_of_run(&w->prefix, MORTISE_KEY_SPAWN, r->tenant, r->run);
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

/* ---- all of them --------------------------------------------------------- */

/* Each has one of them: it looks something up, or walks. */
static const struct {
    mortise_ldb_read_fn *get;
    int (*walk)(struct walk *w, struct mortise_err *err);
} kinds[MORTISE_READ_KINDS] = {
    [MORTISE_READ_HEAD] = {.get = get_head},
    [MORTISE_READ_CHECKPOINTS] = {.walk = walk_checkpoints},
    [MORTISE_READ_RUNS] = {.walk = walk_runs},
    [MORTISE_READ_HEADS] = {.walk = walk_heads},
    [MORTISE_READ_INBOX] = {.walk = walk_inbox},
    [MORTISE_READ_DUE] = {.walk = walk_due},
    [MORTISE_READ_GRAPH] = {.get = get_graph},
    [MORTISE_READ_KV] = {.get = get_kv},
    [MORTISE_READ_KV_COUNT] = {.walk = walk_kvs},
    [MORTISE_READ_CACHED] = {.get = mortise_ldb_read_cached},
    [MORTISE_READ_REMOVED] = {.get = mortise_ldb_read_removed},
    [MORTISE_READ_NOTED] = {.get = mortise_ldb_read_noted},
    [MORTISE_READ_SPAWN] = {.get = get_spawn},
    [MORTISE_READ_SPAWN_OF] = {.walk = walk_spawn_of},
    [MORTISE_READ_SPAWNS] = {.walk = walk_spawns},
    [MORTISE_READ_SPAWN_TREE] = {.get = get_spawn_tree},
    [MORTISE_READ_SPAWN_PURSE] = {.get = get_spawn_purse},
};

static int get(struct mortise_ldb *s, struct mortise_read *r,
               struct mortise_err *err)
{
    struct mortise_buf key;
    int rv;

    mortise_buf_init(&key, s->mem);
    rv = kinds[r->kind].get(s, r, &key, err);
    mortise_buf_finish(&key);
    return rv;
}

static int walk(struct mortise_ldb *s, struct mortise_read *r,
                struct mortise_err *err)
{
    struct walk w;
    int rv;

    walk_begin(&w, s, r);
    rv = walk_end(&w, kinds[r->kind].walk(&w, err), err);
    return rv != MORTISE_OK && r->kind == MORTISE_READ_CHECKPOINTS
               ? mortise_doing(err, rv, "run %s", r->run)
               : rv;
}

int mortise_ldb_read_now(struct mortise_ldb *s, struct mortise_read *r,
                         struct mortise_err *err)
{
    const char *const names[] = {r->tenant, r->run, r->id, r->plugin};
    int rv = mortise_ldb_alive(s, err);

    for (size_t i = 0; rv == MORTISE_OK && i < 4; i++)
        rv = mortise_ldb_name(names[i], err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_want_memory(0, err);
    if (rv != MORTISE_OK)
        return rv;
    return kinds[r->kind].get != NULL ? get(s, r, err) : walk(s, r, err);
}

void mortise_ldb_read(struct mortise_store *store, struct mortise_read *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = mortise_ldb_read_now(mortise_ldb_of(store), r, &err);

    r->done(r, rv, &err);
}
