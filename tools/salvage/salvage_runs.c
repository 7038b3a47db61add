/* salvage_runs.c -- decide which records of each run of a damaged store are
 * kept.
 *
 * LevelDB's tables may have gaps anywhere in a run.  Its head, which each
 * commit rewrites, is in one place only.  So the commits decide: they are
 * numbered, and each names its predecessor.  There are two passes:
 *
 *   after the tables  A run gets a new head, made from its commits, unless its
 *                     head is the last one without a gap before it.  Then
 *                     commits in a log can follow (salvage.c).
 *   after the logs    Unusable records are removed: commits after a gap, runs
 *                     without their first commit or their graph, requests that
 *                     no remaining commit names, deadlines without a request.
 *
 *   (1) Every run with any record is in the new store or in the report.  In the
 *       second case it has a tombstone in the new store, so that its id is not
 *       used again.
 *   (2) A new head has only known data: the commit at which the run was cut,
 *       and the existing requests.  The run is stopped until somebody resumes
 *       it, unless its commits show that it ended.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "tools/salvage/salvaging.h"

enum { SWEEP_MAX_RECORDS = 1000 };

void mortise_salvage_report(struct salvage *v, const char *fmt, ...)
{
    char words[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    v->how->say(v->how->ud, words);
}

/* ---- keys --------------------------------------------------------------- */

/* Do keys with this tag contain a tenant and a run? */
static bool is_run_tag(uint8_t tag)
{
    return tag != 0 && strchr("dhkptx", tag) != NULL;
}

bool mortise_salvage_decode_run(struct salvage *v, const void *key, size_t n,
                                uint64_t *seq)
{
    struct mortise_reader r;
    uint8_t tag;

    mortise_reader_init(&r, key, n);
    tag = mortise_read_u8(&r);
    *seq = 0;
    mortise_buf_clear(&v->names);
    if (r.bad || !is_run_tag(tag))
        return false;
    if (tag == MORTISE_KEY_DEADLINE)
        mortise_key_read_number(&r);
    mortise_key_read_name(&r, &v->names);
    if (tag == MORTISE_KEY_CHECKPOINT || tag == MORTISE_KEY_PENDING ||
        tag == MORTISE_KEY_DEADLINE)
        mortise_key_read_name(&r, &v->names);
    else
        mortise_key_read_last(&r, &v->names);
    if (tag == MORTISE_KEY_CHECKPOINT)
        *seq = mortise_key_read_number(&r);
    if (r.bad || v->names.failed)
        return false;
    mortise_key_head(&v->key, v->names.p, v->names.p + strlen(v->names.p) + 1);
    return true;
}

static const char *get_tenant_name(const struct salvage *v)
{
    return v->names.p;
}

static const char *get_run_name(const struct salvage *v)
{
    return v->names.p + strlen(v->names.p) + 1;
}

/* The id of the request in a key, after tenant and run; NULL: out of memory, or
 * none. */
static const char *decode_request_id(struct salvage *v, const void *key,
                                     size_t n)
{
    struct mortise_reader r;

    mortise_reader_init(&r, key, n);
    if (mortise_read_u8(&r) == MORTISE_KEY_DEADLINE)
        mortise_key_read_number(&r);
    mortise_buf_clear(&v->names);
    mortise_key_read_name(&r, &v->names);
    mortise_key_read_name(&r, &v->names);
    mortise_buf_clear(&v->id);
    mortise_key_read_last(&r, &v->id);
    return v->id.failed || v->id.n == 0 ? NULL : v->id.p;
}

bool mortise_salvage_is_equal(const struct mortise_buf *b, const void *p,
                              size_t n)
{
    return b->n == n && memcmp(b->p, p, n) == 0;
}

/* ---- the new store ------------------------------------------------------ */

int mortise_salvage_put(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                        const void *key, size_t key_size, const void *value,
                        size_t value_size)
{
    mortise_buf_clear(&to->key);
    mortise_buf_put(&to->key, key, key_size);
    if (value == NULL)
        return mortise_ldb_delete(to, batch);
    mortise_buf_clear(&to->value);
    mortise_buf_put(&to->value, value, value_size);
    return mortise_ldb_put(to, batch);
}

int mortise_salvage_write(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                          int rv, struct mortise_err *err)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? mortise_ldb_write(to, batch, true, err) : rv;
}

/* Handle the record at v->it. */
typedef int record_fn(struct salvage *v, leveldb_writebatch_t *batch,
                      const char *key, size_t n, struct mortise_err *err);

/* Iterate over the records with a tag; 0: over all. */
struct record_walk {
    struct salvage *v;
    uint8_t tag;
    record_fn *fn;
};

static bool has_next_record(const struct record_walk *all)
{
    const leveldb_iterator_t *it = all->v->it;
    size_t n;

    return leveldb_iter_valid(it) &&
           (all->tag == 0 || (uint8_t)leveldb_iter_key(it, &n)[0] == all->tag);
}

/* Handle the next records, in one batch. */
static int handle_next_records(struct mortise_ldb *to,
                               leveldb_writebatch_t *batch, void *ud,
                               struct mortise_err *err)
{
    const struct record_walk *all = ud;
    leveldb_iterator_t *it = all->v->it;
    int rv = MORTISE_OK;

    for (size_t i = 0;
         rv == MORTISE_OK && i < SWEEP_MAX_RECORDS && has_next_record(all);
         i++, leveldb_iter_next(it)) {
        size_t n;
        const char *key = leveldb_iter_key(it, &n);

        rv = all->fn(all->v, batch, key, n, err);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

static int for_each_record(struct salvage *v, uint8_t tag, record_fn *fn,
                           struct mortise_err *err)
{
    struct record_walk all = {v, tag, fn};
    const char first = (char)tag;
    int rv = MORTISE_OK;

    v->it = leveldb_create_iterator(v->to->db, v->to->checked);
    leveldb_iter_seek(v->it, &first, tag != 0 ? 1 : 0);
    while (rv == MORTISE_OK && has_next_record(&all))
        rv = mortise_ldb_write_batch(v->to, handle_next_records, &all, err);
    leveldb_iter_destroy(v->it);
    return rv;
}

/* Does the key exist? */
static bool has_stored_key(struct salvage *v, const struct mortise_buf *key)
{
    char *value;
    size_t n;
    int rv = mortise_ldb_get(v->to, v->to->checked, key, &value, &n, NULL);

    leveldb_free(value);
    return rv == MORTISE_OK;
}

/* Was the run in v->names removed? */
static bool has_run_tombstone(struct salvage *v)
{
    mortise_key_tombstone(&v->value, get_tenant_name(v), get_run_name(v));
    return has_stored_key(v, &v->value);
}

int mortise_salvage_find_stored(struct salvage *v, uint64_t *seq,
                                struct mortise_err *err)
{
    struct mortise_head head = {0};
    char *value;
    size_t n;
    int rv = mortise_ldb_get(v->to, v->to->checked, &v->key, &value, &n, err);

    *seq = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_OK && mortise_record_decode(&mortise_record_head, &head,
                                                  value, n) == MORTISE_OK)
        *seq = head.seq;
    leveldb_free(value);
    return rv;
}

/* Keep the id of a run in use (1). */
static int put_run_tombstone(struct salvage *v, leveldb_writebatch_t *batch)
{
    const struct mortise_tombstone t = {.removed_ms = mortise_now_ms()};
    struct mortise_ldb *to = v->to;

    mortise_key_tombstone(&to->key, get_tenant_name(v), get_run_name(v));
    return mortise_ldb_put_record(to, batch, &mortise_record_tombstone, &t);
}

/* ---- incomplete runs ---------------------------------------------------- */

static struct salvage_trouble *find_trouble(const struct salvage *v)
{
    uint64_t hash =
        mortise_hash_strs(v->names.p, v->names.p + strlen(v->names.p) + 1);
    struct mortise_table_entry *e = mortise_table_find(&v->troubles, hash);

    for (; e != NULL; e = mortise_table_find_next(e)) {
        struct salvage_trouble *t =
            MORTISE_CONTAINER_OF(e, struct salvage_trouble, link);

        if (mortise_salvage_is_equal(&v->key, t->key, t->n))
            return t;
    }
    return NULL;
}

int mortise_salvage_add_trouble(struct salvage *v, uint64_t known,
                                uint64_t anew, struct mortise_err *err)
{
    struct salvage_trouble *t = find_trouble(v);

    if (t == NULL) {
        t = mortise_zalloc(v->mem, sizeof *t + v->key.n);
        if (t == NULL)
            return mortise_nomem(err);
        t->n = v->key.n;
        memcpy(t->key, v->key.p, t->n);
        *v->end = t;
        v->end = &t->next;
        mortise_table_add(
            &v->troubles, &t->link,
            mortise_hash_strs(get_tenant_name(v), get_run_name(v)));
    }
    if (known > t->known)
        t->known = known;
    if (anew > t->anew)
        t->anew = anew;
    return MORTISE_OK;
}

void mortise_salvage_free_troubles(struct salvage *v)
{
    struct salvage_trouble *t;

    while ((t = v->first) != NULL) {
        v->first = t->next;
        mortise_release(v->mem, t, sizeof *t + t->n);
    }
    mortise_table_finish(&v->troubles);
}

/* ---- heads from commits ------------------------------------------------- */

/* Set v->name to the name of the graph with this digest. */
static void find_graph_name(struct salvage *v,
                            const uint8_t digest[MORTISE_DIGEST])
{
    struct mortise_arena arena;
    struct mortise_read r = {.kind = MORTISE_READ_GRAPH, .arena = &arena};

    mortise_key_graph(&v->value, digest);
    if (mortise_salvage_is_equal(&v->graph_key, v->value.p, v->value.n))
        return;
    mortise_buf_clear(&v->graph_key);
    mortise_buf_put(&v->graph_key, v->value.p, v->value.n);
    mortise_buf_clear(&v->name);
    mortise_arena_init(&arena, v->mem);
    memcpy(r.digest, digest, sizeof r.digest);
    if (mortise_ldb_read_now(v->to, &r, NULL) == MORTISE_OK)
        v->how->name(v->how->ud, r.found.files, r.found.n_files, &v->name);
    mortise_arena_finish(&arena);
}

/* Put a head of the run v->key. */
static int rewrite_head(struct salvage *v, leveldb_writebatch_t *batch,
                        const struct mortise_head *head)
{
    mortise_buf_clear(&v->to->key);
    mortise_buf_put(&v->to->key, v->key.p, v->key.n);
    return mortise_ldb_put_record(v->to, batch, &mortise_record_head, head);
}

/* Put a new head of the run v->key. */
static int put_new_head(struct salvage *v, leveldb_writebatch_t *batch,
                        struct mortise_head *head)
{
    const char *name;

    find_graph_name(v, head->graph);
    name = mortise_buf_cstr(&v->name);
    head->graph_name = name != NULL ? name : "";
    v->how->stand(v->how->ud, head);
    return rewrite_head(v, batch, head);
}

/* All commits of v->group have been read: put a new head if the old one does
 * not match them. */
static int finish_group(struct salvage *v, leveldb_writebatch_t *batch,
                        struct mortise_err *err)
{
    struct salvage_group *g = &v->group;
    uint64_t at, newest;
    int rv;

    if (g->key.n == 0)
        return MORTISE_OK;
    mortise_salvage_decode_run(v, g->key.p, g->key.n, &at);
    mortise_buf_clear(&g->key);
    rv = mortise_salvage_find_stored(v, &at, err);
    if (rv != MORTISE_OK ||
        (at != 0 && at == g->whole && !has_run_tombstone(v)))
        return rv;
    if (has_run_tombstone(v))
        return mortise_salvage_put(v->to, batch, v->key.p, v->key.n, NULL, 0);
    newest = at > g->newest ? at : g->newest;
    v->out->missing += newest - g->n;
    rv = mortise_salvage_add_trouble(v, newest, at == 0 ? g->whole : 0, err);
    if (rv == MORTISE_OK)
        find_trouble(v)->made = g->whole;
    if (rv == MORTISE_OK && g->whole == 0)
        return mortise_salvage_put(v->to, batch, v->key.p, v->key.n, NULL, 0);
    g->head.status = g->status;
    g->head.epoch = v->to->opening.epoch;
    return rv == MORTISE_OK ? put_new_head(v, batch, &g->head) : rv;
}

/* Add a commit to the group, if it can be decoded. */
static void add_commit(struct salvage *v, uint64_t seq, const void *p, size_t n)
{
    struct salvage_group *g = &v->group;
    struct mortise_checkpoint cp;

    if (mortise_record_decode(&mortise_record_checkpoint, &cp, p, n) !=
        MORTISE_OK)
        return;
    cp.seq = seq;
    g->n++;
    g->newest = seq;
    if (seq != g->whole + 1 ||
        (seq > 1 &&
         memcmp(&cp.parent, &g->head.checkpoint, sizeof cp.parent) != 0))
        return;
    g->whole = seq;
    g->head.seq = seq;
    g->head.checkpoint = cp.id;
    g->head.branch = cp.branch;
    g->head.created_ms = seq == 1 ? cp.time_ms : g->head.created_ms;
    g->head.updated_ms = cp.time_ms;
    memcpy(g->head.graph, cp.graph, sizeof g->head.graph);
    v->how->follow(v->how->ud, &cp, &g->status);
}

static int begin_group(struct salvage *v)
{
    struct salvage_group *g = &v->group;

    g->whole = g->newest = g->n = 0;
    g->status = 0;
    g->head = (struct mortise_head){0};
    mortise_buf_clear(&g->key);
    mortise_buf_put(&g->key, v->key.p, v->key.n);
    return g->key.failed ? MORTISE_ENOMEM : MORTISE_OK;
}

/* Handle one checkpoint. */
static int group_checkpoint(struct salvage *v, leveldb_writebatch_t *batch,
                            const char *key, size_t size,
                            struct mortise_err *err)
{
    const char *p;
    uint64_t seq;
    size_t n;
    int rv = MORTISE_OK;

    if (!mortise_salvage_decode_run(v, key, size, &seq))
        return MORTISE_OK;
    if (!mortise_salvage_is_equal(&v->group.key, v->key.p, v->key.n)) {
        rv = finish_group(v, batch, err);
        mortise_salvage_decode_run(v, key, size, &seq);
        if (rv == MORTISE_OK)
            rv = begin_group(v);
    }
    p = leveldb_iter_value(v->it, &n);
    add_commit(v, seq, p, n);
    return rv;
}

static int end_last_group(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                          void *ud, struct mortise_err *err)
{
    return mortise_salvage_write(to, batch, finish_group(ud, batch, err), err);
}

/* Remove a head without its first commit. */
static int drop_orphan_head(struct salvage *v, leveldb_writebatch_t *batch,
                            const char *key, size_t size,
                            struct mortise_err *err)
{
    uint64_t at;
    int rv;

    if (!mortise_salvage_decode_run(v, key, size, &at))
        return MORTISE_OK;
    mortise_key_checkpoint(&v->value, get_tenant_name(v), get_run_name(v), 1);
    if (has_stored_key(v, &v->value))
        return MORTISE_OK;
    rv = mortise_salvage_find_stored(v, &at, err);
    if (rv == MORTISE_OK && at > 0 && !has_run_tombstone(v)) {
        v->out->missing += find_trouble(v) == NULL ? at : 0;
        rv = mortise_salvage_add_trouble(v, at, 0, err);
    }
    return rv == MORTISE_OK
               ? mortise_salvage_put(v->to, batch, key, size, NULL, 0)
               : rv;
}

int mortise_salvage_make_heads(struct salvage *v, struct mortise_err *err)
{
    int rv;

    mortise_buf_clear(&v->group.key);
    rv = for_each_record(v, MORTISE_KEY_CHECKPOINT, group_checkpoint, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_write_batch(v->to, end_last_group, v, err);
    return rv == MORTISE_OK
               ? for_each_record(v, MORTISE_KEY_HEAD, drop_orphan_head, err)
               : rv;
}

/* ---- usable records ----------------------------------------------------- */

struct request_search {
    const char *id;
    size_t n;
    bool found;
};

static int find_request_id(void *ud, const struct mortise_checkpoint *cp)
{
    struct request_search *l = ud;

    l->found = memmem(cp->entries, cp->size, l->id, l->n) != NULL;
    return l->found;
}

/* Does a remaining commit of the run name this request?  The record of a
 * request contains its id. */
static bool is_request_named(struct salvage *v, const char *tenant,
                             const char *run, const char *id)
{
    struct request_search l = {id, strlen(id), false};

    struct mortise_read r = {.kind = MORTISE_READ_CHECKPOINTS,
                             .tenant = tenant,
                             .run = run,
                             .number = 1,
                             .checkpoint = find_request_id,
                             .ud = &l};

    return mortise_ldb_read_now(v->to, &r, NULL) == MORTISE_OK && l.found;
}

/* Is the request at v->it kept? */
static bool is_request_kept(struct salvage *v, const struct salvage_trouble *t,
                            const void *key, size_t n)
{
    struct mortise_pending p;
    size_t size;
    const char *value = leveldb_iter_value(v->it, &size), *id;
    bool yes = mortise_record_decode(&mortise_record_pending, &p, value,
                                     size) == MORTISE_OK;

    if (!yes || t == NULL)
        return yes;
    id = decode_request_id(v, key, n);
    return id != NULL &&
           is_request_named(v, get_tenant_name(v), get_run_name(v), id);
}

/* Remove unusable requests of the run v->key; *n_stay: the number of the
 * others. */
static int filter_requests(struct salvage *v, leveldb_writebatch_t *batch,
                           const struct salvage_trouble *t, uint32_t *n_stay)
{
    leveldb_iterator_t *heads = v->it;
    struct mortise_buf prefix;
    int rv = MORTISE_OK;

    *n_stay = 0;
    mortise_buf_init(&prefix, v->mem);
    mortise_key_prefix_of_run(&prefix, MORTISE_KEY_PENDING, get_tenant_name(v),
                              get_run_name(v));
    v->it = leveldb_create_iterator(v->to->db, v->to->checked);
    leveldb_iter_seek(v->it, prefix.p, prefix.n);
    for (; rv == MORTISE_OK && leveldb_iter_valid(v->it);
         leveldb_iter_next(v->it)) {
        size_t n;
        const char *key = leveldb_iter_key(v->it, &n);

        if (n < prefix.n || memcmp(key, prefix.p, prefix.n) != 0)
            break;
        if (is_request_kept(v, t, key, n))
            ++*n_stay;
        else
            rv = mortise_salvage_put(v->to, batch, key, n, NULL, 0);
    }
    leveldb_iter_destroy(v->it);
    v->it = heads;
    mortise_buf_finish(&prefix);
    return rv;
}

/* Leave out a run without its graph: it can neither resume nor be shown. */
static int drop_run_without_graph(struct salvage *v,
                                  leveldb_writebatch_t *batch,
                                  const struct mortise_head *head,
                                  struct mortise_err *err)
{
    char digest[MORTISE_DIGEST_HEX];
    int rv = mortise_salvage_add_trouble(v, head->seq, 0, err);

    if (rv != MORTISE_OK)
        return rv;
    find_trouble(v)->told = true;
    v->out->dropped++;
    mortise_hex_encode(digest, head->graph, MORTISE_DIGEST);
    mortise_salvage_report(
        v,
        "run %s: left out; the text of its graph %s%s(digest %.12s) cannot "
        "be read: salvage again, into another directory, with --graph and an "
        "unchanged copy of the file",
        get_run_name(v), head->graph_name,
        head->graph_name[0] != '\0' ? " " : "", digest);
    rv = mortise_salvage_put(v->to, batch, v->key.p, v->key.n, NULL, 0);
    return rv == MORTISE_OK ? put_run_tombstone(v, batch) : rv;
}

/* Note that a run uses a graph, which the caller may have supplied. */
static void note_graph(struct salvage *v, const uint8_t digest[MORTISE_DIGEST])
{
    assert(v->how->n_graphs <= 32); /* the number of bits of `pinned` */
    for (size_t i = 0; i < v->how->n_graphs; i++)
        if (memcmp(v->how->graphs[i].digest, digest, MORTISE_DIGEST) == 0)
            v->pinned |= 1u << i;
}

/* Report how much of a run is kept. t NULL: no trouble of its own. */
static void report_kept_run(struct salvage *v, struct salvage_trouble *t,
                            const struct mortise_head *head)
{
    if (t != NULL) {
        t->told = true;
        v->out->cut++;
    }
    if (t != NULL && t->known > head->seq)
        mortise_salvage_report(
            v,
            "run %s: kept up to commit %" PRIu64 " of %" PRIu64
            "; number %" PRIu64 " cannot be read",
            get_run_name(v), head->seq, t->known, head->seq + 1);
    else
        mortise_salvage_report(v,
                               "run %s: kept up to commit %" PRIu64
                               ", the last readable one; it may have had more",
                               get_run_name(v), head->seq);
}

static int decide_run(struct salvage *v, leveldb_writebatch_t *batch,
                      struct mortise_head *head, struct mortise_err *err)
{
    struct salvage_trouble *t = find_trouble(v);
    uint32_t n;
    int rv;

    assert(head->seq > 0 && v->key.n > 0);
    if (t != NULL && t->known <= head->seq && t->anew != head->seq)
        t = NULL; /* a log has the rest of it */
    mortise_key_graph(&v->value, head->graph);
    if (!has_stored_key(v, &v->value))
        return drop_run_without_graph(v, batch, head, err);
    note_graph(v, head->graph);
    if (t != NULL || (mortise_salvage_get_lost_count(v) > 0 &&
                      !mortise_status_has_ended((int)head->status)))
        report_kept_run(v, t, head);
    v->out->runs++;
    rv = filter_requests(v, batch, t, &n);
    if (rv != MORTISE_OK || n == head->n_pending)
        return rv;
    if (t == NULL)
        mortise_salvage_report(v,
                               "run %s: the inbox does not list all of its "
                               "requests; 'mortise show' does",
                               get_run_name(v));
    head->n_pending = n;
    if (t != NULL && t->made == head->seq)
        return put_new_head(v, batch, head);
    return rewrite_head(v, batch, head);
}

/* Remove a head that cannot be decoded; else decide about its run. */
static int decide_head(struct salvage *v, leveldb_writebatch_t *batch,
                       const char *key, size_t size, struct mortise_err *err)
{
    struct mortise_head head;
    size_t n;
    const char *p = leveldb_iter_value(v->it, &n);
    uint64_t seq;

    if (mortise_record_decode(&mortise_record_head, &head, p, n) !=
            MORTISE_OK ||
        !mortise_salvage_decode_run(v, key, size, &seq))
        return mortise_salvage_put(v->to, batch, key, size, NULL, 0);
    return decide_run(v, batch, &head, err);
}

/* Leave out known runs without a head (1). */
static int drop_runs_without_head(struct mortise_ldb *to,
                                  leveldb_writebatch_t *batch, void *ud,
                                  struct mortise_err *err)
{
    struct salvage *v = ud;
    int rv = MORTISE_OK;

    for (struct salvage_trouble *t = v->first; rv == MORTISE_OK && t != NULL;
         t = t->next) {
        uint64_t at;

        mortise_salvage_decode_run(v, t->key, t->n, &at);
        rv = mortise_salvage_find_stored(v, &at, err);
        if (rv != MORTISE_OK || at > 0 || t->told)
            continue;
        t->told = true;
        v->out->dropped++;
        if (t->known > 0)
            mortise_salvage_report(v,
                                   "run %s: left out; of its %" PRIu64
                                   " commit%s, number 1 cannot be read",
                                   get_run_name(v), t->known,
                                   t->known == 1 ? "" : "s");
        else
            mortise_salvage_report(
                v, "run %s: left out; its commits cannot be read",
                get_run_name(v));
        rv = put_run_tombstone(v, batch);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

/* Remove supplied graphs that no run uses. */
static int drop_unused_graphs(struct mortise_ldb *to,
                              leveldb_writebatch_t *batch, void *ud,
                              struct mortise_err *err)
{
    struct salvage *v = ud;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < v->how->n_graphs; i++) {
        char digest[MORTISE_DIGEST_HEX];

        if ((v->pinned & 1u << i) != 0)
            continue;
        v->out->unused++;
        mortise_hex_encode(digest, v->how->graphs[i].digest, MORTISE_DIGEST);
        mortise_salvage_report(
            v, "%s: not used; no run pins a graph with its digest, %.12s",
            v->how->graphs[i].path, digest);
        mortise_key_graph(&to->key, v->how->graphs[i].digest);
        rv = mortise_ldb_delete(to, batch);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

/* ---- other records ------------------------------------------------------ */

/* Does this deadline belong to a request that does not exist? */
static bool is_stray_deadline(struct salvage *v, const char *key, size_t n)
{
    size_t size;
    const char *p = leveldb_iter_value(v->it, &size), *id;
    bool timer;

    if (key[0] != MORTISE_KEY_DEADLINE)
        return false;
    if (mortise_record_decode(&mortise_record_deadline, &timer, p, size) !=
        MORTISE_OK)
        return true;
    if (timer)
        return false;
    id = decode_request_id(v, key, n);
    if (id == NULL)
        return true;
    mortise_key_pending(&v->value, get_tenant_name(v), get_run_name(v), id);
    return !has_stored_key(v, &v->value);
}

/* Restore the missing deadline of a request. */
static int restore_deadline(struct salvage *v, leveldb_writebatch_t *batch,
                            const char *key, size_t n)
{
    struct mortise_pending p;
    size_t size;
    const char *value = leveldb_iter_value(v->it, &size), *id;
    struct mortise_ldb *to = v->to;
    const bool timer = false;

    if (key[0] != MORTISE_KEY_PENDING ||
        mortise_record_decode(&mortise_record_pending, &p, value, size) !=
            MORTISE_OK ||
        p.deadline_ms == 0)
        return MORTISE_OK;
    /* sweep_run_record() has decoded the key, so there is one */
    id = decode_request_id(v, key, n);
    if (id == NULL)
        return MORTISE_ENOMEM;
    mortise_key_deadline(&to->key, p.deadline_ms, get_tenant_name(v),
                         get_run_name(v), id);
    if (has_stored_key(v, &to->key))
        return MORTISE_OK;
    return mortise_ldb_put_record(to, batch, &mortise_record_deadline, &timer);
}

/* Remove a record of a run without a head, and note this run.  Also remove
 * commits after the head and deadlines without a request. */
static int sweep_run_record(struct salvage *v, leveldb_writebatch_t *batch,
                            const char *key, size_t size,
                            struct mortise_err *err)
{
    uint64_t seq, at;
    int rv;

    if (size == 0 || key[0] == MORTISE_KEY_TOMBSTONE ||
        key[0] == MORTISE_KEY_LEAVING ||
        !mortise_salvage_decode_run(v, key, size, &seq))
        return MORTISE_OK;
    rv = mortise_salvage_find_stored(v, &at, err);
    if (rv != MORTISE_OK)
        return rv;
    if (at == 0 && !has_run_tombstone(v) && find_trouble(v) == NULL) {
        v->out->missing++;
        rv = mortise_salvage_add_trouble(v, 0, 0, err);
    }
    if (rv != MORTISE_OK)
        return rv;
    if (at == 0 || seq > at || is_stray_deadline(v, key, size))
        return mortise_salvage_put(v->to, batch, key, size, NULL, 0);
    return restore_deadline(v, batch, key, size);
}

int mortise_salvage_remove_unusable(struct salvage *v, struct mortise_err *err)
{
    int rv = for_each_record(v, MORTISE_KEY_HEAD, decide_head, err);

    if (rv == MORTISE_OK)
        rv = for_each_record(v, 0, sweep_run_record, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_write_batch(v->to, drop_runs_without_head, v, err);
    return rv == MORTISE_OK
               ? mortise_ldb_write_batch(v->to, drop_unused_graphs, v, err)
               : rv;
}
