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

#include "store/leveldb/ldb.h"

/* A walk over all keys with one prefix, in one snapshot. */
struct walk {
    struct mortise_ldb *s;
    const leveldb_snapshot_t *snapshot;
    leveldb_readoptions_t *options;
    leveldb_iterator_t *it;
    struct mortise_buf prefix;
    struct mortise_buf key;   /* to look something up by */
    struct mortise_buf names; /* of the key it stands on, as C strings */
};

static void walk_begin(struct walk *w, struct mortise_ldb *s)
{
    assert(s->db != NULL);
    *w = (struct walk){.s = s};
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
    char *said = NULL;
    int torn;

    leveldb_iter_get_error(w->it, &said);
    torn = mortise_ldb_taken(said, &why, "read the store");
    if (torn != MORTISE_OK && w->s->looks) {
        mortise_ldb_note_lack(w->s, why.msg);
        torn = MORTISE_OK;
    } else if (torn != MORTISE_OK && err != NULL) {
        *err = why;
    }
    leveldb_iter_destroy(w->it);
    leveldb_readoptions_destroy(w->options);
    leveldb_release_snapshot(w->s->db, w->snapshot);
    if (torn == MORTISE_OK && rv == MORTISE_ENOMEM)
        torn = mortise_nomem(err);
    mortise_buf_finish(&w->names);
    mortise_buf_finish(&w->key);
    mortise_buf_finish(&w->prefix);
    return torn != MORTISE_OK ? torn : rv;
}

/* Go to the first key that is not less than w->key, and not equal to it if
 * `beyond`. */
static int walk_seek(struct walk *w, bool beyond)
{
    size_t n;
    const char *p;

    if (w->key.failed || w->prefix.failed)
        return MORTISE_ENOMEM;
    assert(w->prefix.n > 0 && w->key.n >= w->prefix.n &&
           memcmp(w->key.p, w->prefix.p, w->prefix.n) == 0); /* (3) */
    leveldb_iter_seek(w->it, w->key.p, w->key.n);
    if (!beyond || !leveldb_iter_valid(w->it))
        return MORTISE_OK;
    p = leveldb_iter_key(w->it, &n);
    if (n == w->key.n && memcmp(p, w->key.p, n) == 0)
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

/* What a walk is for: `fn` of its kind, and what it hands out so far. */
struct listing {
    const char *tenant; /* NULL: the keys say whose they are */
    mortise_head_fn *head;
    mortise_checkpoint_fn *checkpoint;
    mortise_pending_fn *pending;
    void *ud;
    uint64_t number; /* the next checkpoint; the last deadline */
    bool stop;       /* it has enough */
};

/* A record of a list does not read. */
static int bad_in_list(struct walk *w, struct mortise_err *err, int code,
                       const char *what)
{
    struct mortise_err why;

    if (!w->s->looks || code != MORTISE_ECORRUPT)
        return mortise_ldb_bad(err, code, what);
    mortise_ldb_bad(&why, code, what);
    mortise_ldb_note_lack(w->s, why.msg);
    return MORTISE_OK;
}

typedef int each_fn(struct walk *w, struct mortise_reader *key,
                    struct listing *l, struct mortise_err *err);

/* From w->key on, or beyond it, up to the end of the prefix. */
static int walk_all(struct walk *w, bool beyond, each_fn *each,
                    struct listing *l, struct mortise_err *err)
{
    struct mortise_reader key;
    int rv = walk_seek(w, beyond);

    while (rv == MORTISE_OK && !l->stop && walk_at(w, &key)) {
        rv = each(w, &key, l, err);
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

/* The head of a run in this snapshot; `*value` is what it lends from. */
static int read_head(struct walk *w, const char *tenant, const char *run,
                     struct mortise_head *head, char **value,
                     struct mortise_err *err)
{
    size_t n;
    int rv;

    mortise_key_head(&w->key, tenant, run);
    rv = mortise_ldb_get(w->s, w->options, &w->key, value, &n, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_read_head(head, *value, n);
    return rv != MORTISE_OK ? mortise_ldb_bad(err, rv, "the head of a run")
                            : MORTISE_OK;
}

int mortise_ldb_get_of(struct mortise_ldb *s, mortise_ldb_key_fn *make,
                       const char *tenant, const char *run, char **value,
                       size_t *n, struct mortise_err *err)
{
    struct mortise_buf key;
    int rv = mortise_ldb_alive(s, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(tenant, run, NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&key, s->mem);
    make(&key, tenant, run);
    rv = mortise_ldb_get(s, s->checked, &key, value, n, err);
    mortise_buf_finish(&key);
    return rv;
}

static int get_head(struct mortise_ldb *s, struct mortise_read *r,
                    struct mortise_err *err)
{
    struct mortise_head head;
    char *value = NULL;
    size_t n;
    int rv = mortise_ldb_get_of(s, mortise_key_head, r->tenant, r->run, &value,
                                &n, err);

    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, rv, "no run %s", r->run);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_read_head(&head, value, n);
    if (rv == MORTISE_OK)
        r->head(r->ud, r->tenant, r->run, &head);
    else
        mortise_ldb_bad(err, rv, "the head of a run");
    leveldb_free(value);
    return rv;
}

/* The checkpoint that the walk stands on must be the next. */
static int each_checkpoint(struct walk *w, struct mortise_reader *key,
                           struct listing *l, struct mortise_err *err)
{
    struct mortise_checkpoint cp;
    size_t n;
    const char *p = leveldb_iter_value(w->it, &n);
    int rv;

    assert(l->checkpoint != NULL && l->number > 0);
    cp.seq = mortise_key_read_number(key);
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    if (cp.seq != l->number)
        return mortise_fail(err, MORTISE_ECORRUPT, "checkpoint %llu is missing",
                            (unsigned long long)l->number);
    rv = mortise_record_read_checkpoint(&cp, p, n);
    if (rv != MORTISE_OK)
        return mortise_ldb_bad(err, rv, "a checkpoint");
    l->stop = l->checkpoint(l->ud, &cp) != 0;
    l->number++;
    return MORTISE_OK;
}

static int walk_checkpoints(struct walk *w, const char *tenant, const char *run,
                            uint64_t last, struct listing *l,
                            struct mortise_err *err)
{
    int rv;

    mortise_key_of_run(&w->prefix, MORTISE_KEY_CHECKPOINT, tenant, run);
    mortise_key_checkpoint(&w->key, tenant, run, l->number);
    rv = walk_all(w, false, each_checkpoint, l, err);
    if (rv == MORTISE_OK && !l->stop && l->number != last + 1)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "checkpoint %llu does not fit the head at %llu",
                            (unsigned long long)l->number,
                            (unsigned long long)last);
    return rv;
}

static int get_checkpoints(struct mortise_ldb *s, struct mortise_read *r,
                           struct mortise_err *err)
{
    struct listing l = {.checkpoint = r->checkpoint,
                        .ud = r->ud,
                        .number = r->number != 0 ? r->number : 1};
    struct mortise_head head;
    struct walk w;
    char *value = NULL;
    int rv = mortise_ldb_alive(s, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(r->tenant, r->run, NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    walk_begin(&w, s);
    rv = read_head(&w, r->tenant, r->run, &head, &value, err);
    if (rv == MORTISE_ENOTFOUND)
        rv = MORTISE_OK; /* no run, no checkpoints */
    else if (rv == MORTISE_OK && l.number <= head.seq)
        rv = walk_checkpoints(&w, r->tenant, r->run, head.seq, &l, err);
    leveldb_free(value);
    rv = walk_end(&w, rv, err);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "run %s", r->run) : rv;
}

static int each_run(struct walk *w, struct mortise_reader *key,
                    struct listing *l, struct mortise_err *err)
{
    const char *tenant = l->tenant, *run;
    struct mortise_head head;
    size_t n;
    const char *p = leveldb_iter_value(w->it, &n);
    int rv;

    assert(l->head != NULL);
    if (tenant == NULL)
        mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    run = tenant == NULL ? next_name(w->names.p) : w->names.p;
    tenant = tenant == NULL ? w->names.p : tenant;
    rv = mortise_record_read_head(&head, p, n);
    if (rv != MORTISE_OK)
        return bad_in_list(w, err, rv, "the head of a run");
    l->stop = l->head(l->ud, tenant, run, &head) != 0;
    return MORTISE_OK;
}

static int get_runs(struct mortise_ldb *s, struct mortise_read *r,
                    struct mortise_err *err)
{
    struct listing l = {.tenant = r->tenant, .head = r->head, .ud = r->ud};
    struct walk w;
    int rv = mortise_ldb_alive(s, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(r->tenant, r->run, NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    walk_begin(&w, s);
    mortise_key_of_tenant(&w.prefix, MORTISE_KEY_HEAD, r->tenant);
    mortise_key_head(&w.key, r->tenant, r->run != NULL ? r->run : "");
    rv = walk_all(&w, r->run != NULL, each_run, &l, err);
    return walk_end(&w, rv, err);
}

static int get_heads(struct mortise_ldb *s, struct mortise_read *r,
                     struct mortise_err *err)
{
    struct listing l = {.head = r->head, .ud = r->ud};
    struct walk w;
    int rv = mortise_ldb_alive(s, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(r->tenant, r->run, NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    walk_begin(&w, s);
    mortise_key_of_tag(&w.prefix, MORTISE_KEY_HEAD);
    if (r->tenant != NULL)
        mortise_key_head(&w.key, r->tenant, r->run);
    else
        mortise_key_of_tag(&w.key, MORTISE_KEY_HEAD);
    rv = walk_all(&w, r->tenant != NULL, each_run, &l, err);
    return walk_end(&w, rv, err);
}

static int each_pending(struct walk *w, struct mortise_reader *key,
                        struct listing *l, struct mortise_err *err)
{
    struct mortise_pending p;
    size_t n;
    const char *value = leveldb_iter_value(w->it, &n);
    int rv;

    assert(l->pending != NULL && l->tenant != NULL);
    mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_read_pending(&p, value, n);
    if (rv != MORTISE_OK)
        return bad_in_list(w, err, rv, "a request");
    p.id = next_name(w->names.p);
    l->stop = l->pending(l->ud, l->tenant, w->names.p, &p) != 0;
    return MORTISE_OK;
}

static int get_inbox(struct mortise_ldb *s, struct mortise_read *r,
                     struct mortise_err *err)
{
    struct listing l = {
        .tenant = r->tenant, .pending = r->pending, .ud = r->ud};
    struct walk w;
    int rv = mortise_ldb_alive(s, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(r->tenant, r->run, r->id, err);
    if (rv != MORTISE_OK)
        return rv;
    walk_begin(&w, s);
    mortise_key_of_tenant(&w.prefix, MORTISE_KEY_PENDING, r->tenant);
    if (r->run != NULL)
        mortise_key_pending(&w.key, r->tenant, r->run,
                            r->id != NULL ? r->id : "");
    else
        mortise_key_of_tenant(&w.key, MORTISE_KEY_PENDING, r->tenant);
    rv = walk_all(&w, r->run != NULL, each_pending, &l, err);
    return walk_end(&w, rv, err);
}

/* The request that a deadline (in w->names: tenant, run, id) belongs to; what
 * it lends is in `*value`. */
static int due_request(struct walk *w, uint64_t deadline_ms, char **value,
                       struct mortise_pending *p, struct mortise_err *err)
{
    const char *tenant = w->names.p, *run = next_name(tenant);
    size_t n;
    int rv;

    mortise_key_pending(&w->key, tenant, run, next_name(run));
    rv = mortise_ldb_get(w->s, w->options, &w->key, value, &n, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "run %s: a deadline without its request", run);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_read_pending(p, *value, n);
    if (rv == MORTISE_OK && p->deadline_ms != deadline_ms)
        rv = MORTISE_ECORRUPT;
    return rv == MORTISE_OK ? rv : mortise_ldb_bad(err, rv, "a request");
}

static int each_deadline(struct walk *w, struct mortise_reader *key,
                         struct listing *l, struct mortise_err *err)
{
    struct mortise_pending p = {.deadline_ms = mortise_key_read_number(key)};
    size_t n;
    const char *kind = leveldb_iter_value(w->it, &n), *run;
    char *value = NULL;
    int rv;

    if (p.deadline_ms > l->number) {
        l->stop = true;
        return MORTISE_OK;
    }
    mortise_key_read_name(key, &w->names);
    mortise_key_read_name(key, &w->names);
    mortise_key_read_last(key, &w->names);
    rv = key_read(w, key, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_read_deadline(&p.timer, kind, n);
    if (rv != MORTISE_OK)
        return mortise_ldb_bad(err, rv, "a deadline");
    if (!p.timer)
        rv = due_request(w, p.deadline_ms, &value, &p, err);
    run = next_name(w->names.p);
    p.id = next_name(run);
    if (rv == MORTISE_OK)
        l->stop = l->pending(l->ud, w->names.p, run, &p) != 0;
    leveldb_free(value);
    return rv;
}

static int get_due(struct mortise_ldb *s, struct mortise_read *r,
                   struct mortise_err *err)
{
    struct listing l = {
        .pending = r->pending, .ud = r->ud, .number = r->number};
    struct walk w;
    int rv = mortise_ldb_alive(s, err);

    if (rv != MORTISE_OK)
        return rv;
    walk_begin(&w, s);
    mortise_key_of_tag(&w.prefix, MORTISE_KEY_DEADLINE);
    mortise_key_of_tag(&w.key, MORTISE_KEY_DEADLINE);
    rv = walk_all(&w, false, each_deadline, &l, err);
    return walk_end(&w, rv, err);
}

static int get_graph(struct mortise_ldb *s, struct mortise_read *r,
                     struct mortise_err *err)
{
    struct mortise_buf key;
    char *value = NULL;
    size_t n;
    int rv = mortise_ldb_alive(s, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&key, s->mem);
    mortise_key_graph(&key, r->digest);
    rv = mortise_ldb_get(s, s->checked, &key, &value, &n, err);
    mortise_buf_finish(&key);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, rv, "no graph of that digest");
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
                  struct mortise_err *err)
{
    const char *text;
    struct mortise_buf k;
    char *p = NULL;
    size_t n, size;
    int rv = mortise_ldb_alive(s, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(r->tenant, r->plugin, NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&k, s->mem);
    mortise_key_kv(&k, r->tenant, r->plugin, r->key, r->key_size);
    rv = mortise_ldb_get(s, s->checked, &k, &p, &n, err);
    mortise_buf_finish(&k);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_record_read_kv(&text, &size, p, n);
    if (rv != MORTISE_OK)
        mortise_ldb_bad(err, rv, "a value of a plugin's");
    else
        mortise_buf_put(r->value, text, size);
    leveldb_free(p);
    return rv == MORTISE_OK && r->value->failed ? mortise_nomem(err) : rv;
}

static int count_kvs(struct mortise_ldb *s, struct mortise_read *r,
                     struct mortise_err *err)
{
    struct mortise_reader key;
    struct walk w;
    int rv = mortise_ldb_alive(s, err);

    r->found.n = 0;
    if (rv == MORTISE_OK)
        rv = mortise_ldb_names(r->tenant, r->plugin, NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    walk_begin(&w, s);
    mortise_key_of_run(&w.prefix, MORTISE_KEY_KV, r->tenant, r->plugin);
    mortise_key_of_run(&w.key, MORTISE_KEY_KV, r->tenant, r->plugin);
    rv = walk_seek(&w, false);
    for (; rv == MORTISE_OK && r->found.n < r->number && walk_at(&w, &key);
         r->found.n++)
        leveldb_iter_next(w.it);
    return walk_end(&w, rv, err);
}

/* ---- all of them --------------------------------------------------------- */

static mortise_ldb_read_fn *const kinds[MORTISE_READ_KINDS] = {
    [MORTISE_READ_HEAD] = get_head,
    [MORTISE_READ_CHECKPOINTS] = get_checkpoints,
    [MORTISE_READ_RUNS] = get_runs,
    [MORTISE_READ_HEADS] = get_heads,
    [MORTISE_READ_INBOX] = get_inbox,
    [MORTISE_READ_DUE] = get_due,
    [MORTISE_READ_GRAPH] = get_graph,
    [MORTISE_READ_KV] = get_kv,
    [MORTISE_READ_KV_COUNT] = count_kvs,
    [MORTISE_READ_CACHED] = mortise_ldb_read_cached,
    [MORTISE_READ_REMOVED] = mortise_ldb_read_removed,
    [MORTISE_READ_NOTED] = mortise_ldb_read_noted,
};

int mortise_ldb_read_now(struct mortise_ldb *s, struct mortise_read *r,
                         struct mortise_err *err)
{
    assert(kinds[r->kind] != NULL);
    return kinds[r->kind](s, r, err);
}

void mortise_ldb_read(struct mortise_store *store, struct mortise_read *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = mortise_ldb_read_now(mortise_ldb_of(store), r, &err);

    r->done(r, rv, &err);
}
