/* salvage_runs.c -- of what was read of a damaged store: what is a run.
 *
 * What LevelDB's tables hold of a run may have holes anywhere, and its head,
 * which is rewritten by each commit, stands in one place.  So the commits
 * count: they are numbered, and each names the one before.  Two passes:
 *
 *   tables were read   A run whose head is not the last of its commits without
 *                      a gap gets one that is, made from them.  So what a log
 *                      has of it can follow (salvage.c).
 *   logs were read     What has no use is left out: commits behind a gap,
 *                      runs without a first commit or without their graph,
 *                      requests that the commits which are kept do not name,
 *                      deadlines of requests that are not there.
 *
 *   (1) Every run of which there is any record is either in the new store, or
 *       in a line, with a tombstone in the new store: its id is not used again.
 *   (2) A head that was made anew says what is known: where it was cut, and the
 *       requests that are there; the run stands still until somebody resumes
 *       it, unless its commits say that it ended.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "tools/salvage/salvaging.h"

enum { AT_ONCE = 1000 };

void mortise_salvage_say(struct salvage *v, const char *fmt, ...)
{
    char words[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    v->how->say(v->how->ud, words);
}

/* ---- keys --------------------------------------------------------------- */

/* Does a key with this tag name a tenant and a run? */
static bool has_run(uint8_t tag)
{
    return tag != 0 && strchr("dhkptx", tag) != NULL;
}

bool mortise_salvage_run_of(struct salvage *v, const void *key, size_t n,
                            uint64_t *seq)
{
    struct mortise_reader r;
    uint8_t tag;

    mortise_reader_init(&r, key, n);
    tag = mortise_read_u8(&r);
    *seq = 0;
    mortise_buf_clear(&v->names);
    if (r.bad || !has_run(tag))
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

static const char *tenant_of(const struct salvage *v)
{
    return v->names.p;
}

static const char *run_of(const struct salvage *v)
{
    return v->names.p + strlen(v->names.p) + 1;
}

/* The id of the request that a key is about, behind tenant and run; NULL: no
 * memory, or there is none. */
static const char *id_in(struct salvage *v, const void *key, size_t n)
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

bool mortise_salvage_equals(const struct mortise_buf *b, const void *p,
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
        return mortise_ldb_drop(to, batch);
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

/* What is done with a record under v->it. */
typedef int record_fn(struct salvage *v, leveldb_writebatch_t *batch,
                      const char *key, size_t n, struct mortise_err *err);

/* All records with a tag; 0: with any. */
struct records {
    struct salvage *v;
    uint8_t tag;
    record_fn *fn;
};

static bool is_at(const struct records *all)
{
    const leveldb_iterator_t *it = all->v->it;
    size_t n;

    return leveldb_iter_valid(it) &&
           (all->tag == 0 || (uint8_t)leveldb_iter_key(it, &n)[0] == all->tag);
}

/* A few more of them. */
static int each_of_some(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                        void *ud, struct mortise_err *err)
{
    const struct records *all = ud;
    leveldb_iterator_t *it = all->v->it;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < AT_ONCE && is_at(all);
         i++, leveldb_iter_next(it)) {
        size_t n;
        const char *key = leveldb_iter_key(it, &n);

        rv = all->fn(all->v, batch, key, n, err);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

static int each(struct salvage *v, uint8_t tag, record_fn *fn,
                struct mortise_err *err)
{
    struct records all = {v, tag, fn};
    const char first = (char)tag;
    int rv = MORTISE_OK;

    v->it = leveldb_create_iterator(v->to->db, v->to->checked);
    leveldb_iter_seek(v->it, &first, tag != 0 ? 1 : 0);
    while (rv == MORTISE_OK && is_at(&all))
        rv = mortise_ldb_batch(v->to, each_of_some, &all, err);
    leveldb_iter_destroy(v->it);
    return rv;
}

/* Is there such a key?  Without words when not. */
static bool is_there(struct salvage *v, const struct mortise_buf *key)
{
    char *value;
    size_t n;
    int rv = mortise_ldb_get(v->to, v->to->checked, key, &value, &n, NULL);

    leveldb_free(value);
    return rv == MORTISE_OK;
}

/* Was the run in v->names removed? */
static bool is_removed(struct salvage *v)
{
    mortise_key_tombstone(&v->value, tenant_of(v), run_of(v));
    return is_there(v, &v->value);
}

int mortise_salvage_stored(struct salvage *v, uint64_t *seq,
                           struct mortise_err *err)
{
    struct mortise_head head = {0};
    char *value;
    size_t n;
    int rv = mortise_ldb_get(v->to, v->to->checked, &v->key, &value, &n, err);

    *seq = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_OK && mortise_record_read(&mortise_record_head, &head,
                                                value, n) == MORTISE_OK)
        *seq = head.seq;
    leveldb_free(value);
    return rv;
}

/* (1): its id stays taken. */
static int bury(struct salvage *v, leveldb_writebatch_t *batch)
{
    const struct mortise_tombstone t = {.removed_ms = mortise_now_ms()};
    struct mortise_ldb *to = v->to;

    mortise_key_tombstone(&to->key, tenant_of(v), run_of(v));
    return mortise_ldb_put_record(to, batch, &mortise_record_tombstone, &t);
}

/* ---- runs that are not as they were ------------------------------------- */

static struct salvage_trouble *trouble_of(const struct salvage *v)
{
    uint64_t hash =
        mortise_hash_strs(v->names.p, v->names.p + strlen(v->names.p) + 1);
    struct mortise_hashed *e = mortise_table_find(&v->troubles, hash);

    for (; e != NULL; e = mortise_table_more(e)) {
        struct salvage_trouble *t = MORTISE_OF(e, struct salvage_trouble, link);

        if (mortise_salvage_equals(&v->key, t->key, t->n))
            return t;
    }
    return NULL;
}

int mortise_salvage_note(struct salvage *v, uint64_t known, uint64_t anew,
                         struct mortise_err *err)
{
    struct salvage_trouble *t = trouble_of(v);

    if (t == NULL) {
        t = mortise_zalloc(v->mem, sizeof *t + v->key.n);
        if (t == NULL)
            return mortise_nomem(err);
        t->n = v->key.n;
        memcpy(t->key, v->key.p, t->n);
        *v->end = t;
        v->end = &t->next;
        mortise_table_add(&v->troubles, &t->link,
                          mortise_hash_strs(tenant_of(v), run_of(v)));
    }
    if (known > t->known)
        t->known = known;
    if (anew > t->anew)
        t->anew = anew;
    return MORTISE_OK;
}

void mortise_salvage_forget(struct salvage *v)
{
    struct salvage_trouble *t;

    while ((t = v->first) != NULL) {
        v->first = t->next;
        mortise_release(v->mem, t, sizeof *t + t->n);
    }
    mortise_table_finish(&v->troubles);
}

/* ---- heads from commits ------------------------------------------------- */

/* What the graph of this digest is called, as v->name. */
static void find_name(struct salvage *v, const uint8_t digest[MORTISE_DIGEST])
{
    struct mortise_arena arena;
    struct mortise_read r = {.kind = MORTISE_READ_GRAPH, .arena = &arena};

    mortise_key_graph(&v->value, digest);
    if (mortise_salvage_equals(&v->graph_key, v->value.p, v->value.n))
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

/* Put the head of the run v->key, which was made anew. */
static int put_head(struct salvage *v, leveldb_writebatch_t *batch,
                    struct mortise_head *head)
{
    const char *name;

    find_name(v, head->graph);
    name = mortise_buf_cstr(&v->name);
    head->graph_name = name != NULL ? name : "";
    v->how->stand(v->how->ud, head);
    return rewrite_head(v, batch, head);
}

/* All commits of v->group were seen. */
static int end_group(struct salvage *v, leveldb_writebatch_t *batch,
                     struct mortise_err *err)
{
    struct salvage_group *g = &v->group;
    uint64_t at, newest;
    int rv;

    if (g->key.n == 0)
        return MORTISE_OK;
    mortise_salvage_run_of(v, g->key.p, g->key.n, &at);
    mortise_buf_clear(&g->key);
    rv = mortise_salvage_stored(v, &at, err);
    if (rv != MORTISE_OK || (at != 0 && at == g->whole && !is_removed(v)))
        return rv;
    if (is_removed(v))
        return mortise_salvage_put(v->to, batch, v->key.p, v->key.n, NULL, 0);
    newest = at > g->newest ? at : g->newest;
    v->out->missing += newest - g->n;
    rv = mortise_salvage_note(v, newest, at == 0 ? g->whole : 0, err);
    if (rv == MORTISE_OK)
        trouble_of(v)->made = g->whole;
    if (rv == MORTISE_OK && g->whole == 0)
        return mortise_salvage_put(v->to, batch, v->key.p, v->key.n, NULL, 0);
    g->head.status = g->status;
    g->head.epoch = v->to->opening.epoch;
    return rv == MORTISE_OK ? put_head(v, batch, &g->head) : rv;
}

/* The next commit of a run, if it can be read. */
static void add_commit(struct salvage *v, uint64_t seq, const void *p, size_t n)
{
    struct salvage_group *g = &v->group;
    struct mortise_checkpoint cp;

    if (mortise_record_read(&mortise_record_checkpoint, &cp, p, n) !=
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

/* One commit more. */
static int group_one(struct salvage *v, leveldb_writebatch_t *batch,
                     const char *key, size_t size, struct mortise_err *err)
{
    const char *p;
    uint64_t seq;
    size_t n;
    int rv = MORTISE_OK;

    if (!mortise_salvage_run_of(v, key, size, &seq))
        return MORTISE_OK;
    if (!mortise_salvage_equals(&v->group.key, v->key.p, v->key.n)) {
        rv = end_group(v, batch, err);
        mortise_salvage_run_of(v, key, size, &seq);
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
    return mortise_salvage_write(to, batch, end_group(ud, batch, err), err);
}

/* A head without a commit goes. */
static int behead_one(struct salvage *v, leveldb_writebatch_t *batch,
                      const char *key, size_t size, struct mortise_err *err)
{
    uint64_t at;
    int rv;

    if (!mortise_salvage_run_of(v, key, size, &at))
        return MORTISE_OK;
    mortise_key_checkpoint(&v->value, tenant_of(v), run_of(v), 1);
    if (is_there(v, &v->value))
        return MORTISE_OK;
    rv = mortise_salvage_stored(v, &at, err);
    if (rv == MORTISE_OK && at > 0 && !is_removed(v)) {
        v->out->missing += trouble_of(v) == NULL ? at : 0;
        rv = mortise_salvage_note(v, at, 0, err);
    }
    return rv == MORTISE_OK
               ? mortise_salvage_put(v->to, batch, key, size, NULL, 0)
               : rv;
}

int mortise_salvage_make_heads(struct salvage *v, struct mortise_err *err)
{
    int rv;

    mortise_buf_clear(&v->group.key);
    rv = each(v, MORTISE_KEY_CHECKPOINT, group_one, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_batch(v->to, end_last_group, v, err);
    return rv == MORTISE_OK ? each(v, MORTISE_KEY_HEAD, behead_one, err) : rv;
}

/* ---- what is of use ----------------------------------------------------- */

struct naming {
    const char *id;
    size_t n;
    bool found;
};

static int look_for(void *ud, const struct mortise_checkpoint *cp)
{
    struct naming *l = ud;

    l->found = memmem(cp->entries, cp->size, l->id, l->n) != NULL;
    return l->found;
}

/* Do the commits that are kept of the run in v->names ask this?  The id of a
 * request stands in what recorded it. */
static bool is_asked(struct salvage *v, const char *tenant, const char *run,
                     const char *id)
{
    struct naming l = {id, strlen(id), false};

    struct mortise_read r = {.kind = MORTISE_READ_CHECKPOINTS,
                             .tenant = tenant,
                             .run = run,
                             .number = 1,
                             .checkpoint = look_for,
                             .ud = &l};

    return mortise_ldb_read_now(v->to, &r, NULL) == MORTISE_OK && l.found;
}

/* The request under the iterator: does it stay? */
static bool stays(struct salvage *v, const struct salvage_trouble *t,
                  const void *key, size_t n)
{
    struct mortise_pending p;
    size_t size;
    const char *value = leveldb_iter_value(v->it, &size), *id;
    bool yes = mortise_record_read(&mortise_record_pending, &p, value, size) ==
               MORTISE_OK;

    if (!yes || t == NULL)
        return yes;
    id = id_in(v, key, n);
    return id != NULL && is_asked(v, tenant_of(v), run_of(v), id);
}

/* Requests of the run v->key: those that go, and how many stay. */
static int judge_requests(struct salvage *v, leveldb_writebatch_t *batch,
                          const struct salvage_trouble *t, uint32_t *n_stay)
{
    leveldb_iterator_t *heads = v->it;
    struct mortise_buf prefix;
    int rv = MORTISE_OK;

    *n_stay = 0;
    mortise_buf_init(&prefix, v->mem);
    mortise_key_of_run(&prefix, MORTISE_KEY_PENDING, tenant_of(v), run_of(v));
    v->it = leveldb_create_iterator(v->to->db, v->to->checked);
    leveldb_iter_seek(v->it, prefix.p, prefix.n);
    for (; rv == MORTISE_OK && leveldb_iter_valid(v->it);
         leveldb_iter_next(v->it)) {
        size_t n;
        const char *key = leveldb_iter_key(v->it, &n);

        if (n < prefix.n || memcmp(key, prefix.p, prefix.n) != 0)
            break;
        if (stays(v, t, key, n))
            ++*n_stay;
        else
            rv = mortise_salvage_put(v->to, batch, key, n, NULL, 0);
    }
    leveldb_iter_destroy(v->it);
    v->it = heads;
    mortise_buf_finish(&prefix);
    return rv;
}

/* Without its graph a run can neither go on nor be shown. */
static int leave_graphless(struct salvage *v, leveldb_writebatch_t *batch,
                           const struct mortise_head *head,
                           struct mortise_err *err)
{
    char digest[MORTISE_DIGEST_HEX];
    int rv = mortise_salvage_note(v, head->seq, 0, err);

    if (rv != MORTISE_OK)
        return rv;
    trouble_of(v)->told = true;
    v->out->dropped++;
    mortise_hex(digest, head->graph, MORTISE_DIGEST);
    mortise_salvage_say(
        v,
        "run %s: left out; the text of its graph %s%s(digest %.12s) cannot "
        "be read: salvage again, into another directory, with --graph and an "
        "unchanged copy of the file",
        run_of(v), head->graph_name, head->graph_name[0] != '\0' ? " " : "",
        digest);
    rv = mortise_salvage_put(v->to, batch, v->key.p, v->key.n, NULL, 0);
    return rv == MORTISE_OK ? bury(v, batch) : rv;
}

/* One that was handed in may be why it is there. */
static void note_graph(struct salvage *v, const uint8_t digest[MORTISE_DIGEST])
{
    assert(v->how->n_graphs <= 32); /* bits of `pinned` */
    for (size_t i = 0; i < v->how->n_graphs; i++)
        if (memcmp(v->how->graphs[i].digest, digest, MORTISE_DIGEST) == 0)
            v->pinned |= 1u << i;
}

/* A run that is kept: up to where?  (t NULL: it has no trouble of its own.) */
static void tell_kept(struct salvage *v, struct salvage_trouble *t,
                      const struct mortise_head *head)
{
    if (t != NULL) {
        t->told = true;
        v->out->cut++;
    }
    if (t != NULL && t->known > head->seq)
        mortise_salvage_say(v,
                            "run %s: kept up to commit %" PRIu64 " of %" PRIu64
                            "; number %" PRIu64 " cannot be read",
                            run_of(v), head->seq, t->known, head->seq + 1);
    else
        mortise_salvage_say(v,
                            "run %s: kept up to commit %" PRIu64
                            ", the last readable one; it may have had more",
                            run_of(v), head->seq);
}

static int judge_run(struct salvage *v, leveldb_writebatch_t *batch,
                     struct mortise_head *head, struct mortise_err *err)
{
    struct salvage_trouble *t = trouble_of(v);
    uint32_t n;
    int rv;

    assert(head->seq > 0 && v->key.n > 0);
    if (t != NULL && t->known <= head->seq && t->anew != head->seq)
        t = NULL; /* a log has the rest of it */
    mortise_key_graph(&v->value, head->graph);
    if (!is_there(v, &v->value))
        return leave_graphless(v, batch, head, err);
    note_graph(v, head->graph);
    if (t != NULL || (mortise_salvage_behind(v) > 0 &&
                      !mortise_status_has_ended((int)head->status)))
        tell_kept(v, t, head);
    v->out->runs++;
    rv = judge_requests(v, batch, t, &n);
    if (rv != MORTISE_OK || n == head->n_pending)
        return rv;
    if (t == NULL)
        mortise_salvage_say(v,
                            "run %s: the inbox does not list all of its "
                            "requests; 'mortise show' does",
                            run_of(v));
    head->n_pending = n;
    if (t != NULL && t->made == head->seq)
        return put_head(v, batch, head);
    return rewrite_head(v, batch, head);
}

/* A head: is it that of a run? */
static int judge_head(struct salvage *v, leveldb_writebatch_t *batch,
                      const char *key, size_t size, struct mortise_err *err)
{
    struct mortise_head head;
    size_t n;
    const char *p = leveldb_iter_value(v->it, &n);
    uint64_t seq;

    if (mortise_record_read(&mortise_record_head, &head, p, n) != MORTISE_OK ||
        !mortise_salvage_run_of(v, key, size, &seq))
        return mortise_salvage_put(v->to, batch, key, size, NULL, 0);
    return judge_run(v, batch, &head, err);
}

/* Runs that are known, and have no head: (1). */
static int bury_all(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                    void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    int rv = MORTISE_OK;

    for (struct salvage_trouble *t = v->first; rv == MORTISE_OK && t != NULL;
         t = t->next) {
        uint64_t at;

        mortise_salvage_run_of(v, t->key, t->n, &at);
        rv = mortise_salvage_stored(v, &at, err);
        if (rv != MORTISE_OK || at > 0 || t->told)
            continue;
        t->told = true;
        v->out->dropped++;
        if (t->known > 0)
            mortise_salvage_say(v,
                                "run %s: left out; of its %" PRIu64
                                " commit%s, number 1 cannot be read",
                                run_of(v), t->known, t->known == 1 ? "" : "s");
        else
            mortise_salvage_say(
                v, "run %s: left out; its commits cannot be read", run_of(v));
        rv = bury(v, batch);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

/* Graphs that were handed in, and are none that a run pins. */
static int drop_graphs(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                       void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < v->how->n_graphs; i++) {
        char digest[MORTISE_DIGEST_HEX];

        if ((v->pinned & 1u << i) != 0)
            continue;
        v->out->unused++;
        mortise_hex(digest, v->how->graphs[i].digest, MORTISE_DIGEST);
        mortise_salvage_say(
            v, "%s: not used; no run pins a graph with its digest, %.12s",
            v->how->graphs[i].path, digest);
        mortise_key_graph(&to->key, v->how->graphs[i].digest);
        rv = mortise_ldb_drop(to, batch);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

/* ---- the rest ----------------------------------------------------------- */

/* A deadline of a request that is not there. */
static bool is_stray(struct salvage *v, const char *key, size_t n)
{
    size_t size;
    const char *p = leveldb_iter_value(v->it, &size), *id;
    bool timer;

    if (key[0] != MORTISE_KEY_DEADLINE)
        return false;
    if (mortise_record_read(&mortise_record_deadline, &timer, p, size) !=
        MORTISE_OK)
        return true;
    if (timer)
        return false;
    id = id_in(v, key, n);
    if (id == NULL)
        return true;
    mortise_key_pending(&v->value, tenant_of(v), run_of(v), id);
    return !is_there(v, &v->value);
}

/* The index of deadlines lost that of this request: put it again. */
static int put_deadline(struct salvage *v, leveldb_writebatch_t *batch,
                        const char *key, size_t n)
{
    struct mortise_pending p;
    size_t size;
    const char *value = leveldb_iter_value(v->it, &size), *id;
    struct mortise_ldb *to = v->to;
    const bool timer = false;

    if (key[0] != MORTISE_KEY_PENDING ||
        mortise_record_read(&mortise_record_pending, &p, value, size) !=
            MORTISE_OK ||
        p.deadline_ms == 0)
        return MORTISE_OK;
    id = id_in(v, key, n); /* sweep_one() read the key: there is one */
    if (id == NULL)
        return MORTISE_ENOMEM;
    mortise_key_deadline(&to->key, p.deadline_ms, tenant_of(v), run_of(v), id);
    if (is_there(v, &to->key))
        return MORTISE_OK;
    return mortise_ldb_put_record(to, batch, &mortise_record_deadline, &timer);
}

/* One record of a run: what no head counts goes, and a run of which it is all
 * that is left is named. */
static int sweep_one(struct salvage *v, leveldb_writebatch_t *batch,
                     const char *key, size_t size, struct mortise_err *err)
{
    uint64_t seq, at;
    int rv;

    if (size == 0 || key[0] == MORTISE_KEY_TOMBSTONE ||
        key[0] == MORTISE_KEY_LEAVING ||
        !mortise_salvage_run_of(v, key, size, &seq))
        return MORTISE_OK;
    rv = mortise_salvage_stored(v, &at, err);
    if (rv != MORTISE_OK)
        return rv;
    if (at == 0 && !is_removed(v) && trouble_of(v) == NULL) {
        v->out->missing++;
        rv = mortise_salvage_note(v, 0, 0, err);
    }
    if (rv != MORTISE_OK)
        return rv;
    if (at == 0 || seq > at || is_stray(v, key, size))
        return mortise_salvage_put(v->to, batch, key, size, NULL, 0);
    return put_deadline(v, batch, key, size);
}

int mortise_salvage_leave_out(struct salvage *v, struct mortise_err *err)
{
    int rv = each(v, MORTISE_KEY_HEAD, judge_head, err);

    if (rv == MORTISE_OK)
        rv = each(v, 0, sweep_one, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_batch(v->to, bury_all, v, err);
    return rv == MORTISE_OK ? mortise_ldb_batch(v->to, drop_graphs, v, err)
                            : rv;
}
