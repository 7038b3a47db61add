/* store_reader.c -- the store read by somebody else.
 *
 * One pass over LevelDB in the order of its keys (tags: c d g h i k m n o p r t v x),
 * then the checks that need more than one record:
 *
 *   - commits are numbered without a gap, up to 65,536 of them, from 1 when
 *     there are fewer; the first record is the stamp's;
 *   - a run's checkpoints are 1, 2, ... head.seq, each the child of the one
 *     before, the last one the head's; their events follow each other;
 *   - as many requests are open as the head says; each deadline has its
 *     request or is a timer's, and each request with a deadline is in the
 *     index;
 *   - each result that is kept has its age and each age its result; ages follow
 *     each other by the bytes that the results count with;
 *   - the graph of every run is there;
 *   - the mark, where there is one, is of this store, and names no batch that
 *     is not there.
 *
 * With -DSTORE_READER_MAIN this is a command: store_reader STORE prints it all,
 * one record a line, and exits with 2 when something is wrong.
 */
#include "store_reader.h"

#include <leveldb/c.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ------------------------------------------------------------- */

struct bytes {
    const unsigned char *p;
    size_t n;
    bool bad;
};

static const unsigned char *take(struct bytes *b, size_t n)
{
    static const unsigned char nothing[32];
    const unsigned char *p = b->p;

    if (b->bad || n > b->n) {
        b->bad = true;
        return n <= sizeof nothing ? nothing : NULL;
    }
    b->p += n;
    b->n -= n;
    return p;
}

static uint64_t little(struct bytes *b, size_t n)
{
    const unsigned char *p = take(b, n);
    uint64_t v = 0;

    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

static uint32_t little32(struct bytes *b)
{
    return (uint32_t)little(b, 4);
}

static uint64_t big(struct bytes *b, size_t n)
{
    const unsigned char *p = take(b, n);
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

static void array(struct bytes *b, void *out, size_t n)
{
    memcpy(out, take(b, n), n);
}

/* n bytes as a fresh string. */
static char *copy(struct bytes *b, size_t n)
{
    const unsigned char *p = take(b, n);
    char *s = calloc(1, n + 1);

    if (s == NULL)
        abort();
    if (!b->bad)
        memcpy(s, p, n);
    return s;
}

static char *blob(struct bytes *b, size_t *n)
{
    *n = little32(b);
    if (*n > b->n)
        b->bad = true;
    if (b->bad)
        *n = 0;
    return copy(b, *n);
}

/* A blob that ends with its NUL. */
static char *text(struct bytes *b)
{
    size_t n;
    char *s = blob(b, &n);

    if (n == 0 || strlen(s) != n - 1)
        b->bad = true;
    return s;
}

/* A name in a key: behind its length, or the rest of the key. */
static char *name(struct bytes *b)
{
    size_t n = (size_t)big(b, 2);

    if (n > b->n)
        b->bad = true;
    return copy(b, b->bad ? 0 : n);
}

static char *last_name(struct bytes *b)
{
    return copy(b, b->n);
}

/* ---- records ----------------------------------------------------------- */

/* One more element of a growing array, zeroed. */
#define ADD(array, n)                                                          \
    ((array) = grow((array), (n), sizeof *(array)), &(array)[(n)++])

static void *grow(void *p, size_t n, size_t size)
{
    p = realloc(p, (n + 1) * size);
    if (p == NULL)
        abort();
    memset((char *)p + n * size, 0, size);
    return p;
}

static int wrong(struct reader_store *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int wrong(struct reader_store *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    return -1;
}

static int read_commit(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    uint64_t n = big(k, 8), epoch = little(v, 8), verified = little(v, 8);

    if (s->first_commit == 0)
        s->first_commit = n;
    else if (n != s->last_commit + 1)
        return wrong(s, "commit %llu follows %llu", (unsigned long long)n,
                     (unsigned long long)s->last_commit);
    if (epoch < s->epoch || verified < s->verified || verified >= n)
        return wrong(s, "commit %llu: the epoch went back",
                     (unsigned long long)n);
    s->verified = verified;
    s->last_commit = n;
    s->epoch = epoch;
    return 0;
}

static int read_deadline(struct reader_store *s, struct bytes *k,
                         struct bytes *v)
{
    struct reader_deadline *d = ADD(s->deadlines, s->n_deadlines);

    d->ms = big(k, 8);
    d->tenant = name(k);
    d->run = name(k);
    d->id = last_name(k);
    d->timer = (unsigned)little(v, 1);
    return d->timer <= 1 ? 0 : wrong(s, "a deadline of nothing known");
}

static int read_graph(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_graph *g = ADD(s->graphs, s->n_graphs);
    uint32_t files = little32(v);

    array(k, g->digest, 32);
    g->path = text(v);
    free(blob(v, &g->size));
    for (uint32_t i = 1; i < files && !v->bad; i++) {
        size_t size;

        free(text(v));
        free(blob(v, &size));
    }
    return 0;
}

static int read_head(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_run *r = ADD(s->runs, s->n_runs);

    r->tenant = name(k);
    r->run = last_name(k);
    r->seq = little(v, 8);
    array(v, r->checkpoint, 16);
    r->epoch = little(v, 8);
    r->created_ms = little(v, 8);
    r->updated_ms = little(v, 8);
    r->branch = little32(v);
    r->status = (uint32_t)little(v, 2);
    r->flags = (uint32_t)little(v, 2);
    r->n_pending = little32(v);
    array(v, r->graph, 32);
    r->reason = text(v);
    r->graph_name = text(v);
    return 0;
}

static int read_tombstone(struct reader_store *s, struct bytes *k,
                          struct bytes *v)
{
    struct reader_tombstone *t = ADD(s->tombstones, s->n_tombstones);

    t->tenant = name(k);
    t->run = last_name(k);
    t->removed_ms = little(v, 8);
    t->ended_ms = little(v, 8);
    t->status = little32(v);
    return 0;
}

static int read_leaving(struct reader_store *s, struct bytes *k,
                        struct bytes *v)
{
    struct reader_leaving *l = ADD(s->leaving, s->n_leaving);

    l->tenant = name(k);
    l->run = last_name(k);
    l->first = little(v, 8);
    l->last = little(v, 8);
    return 0;
}

/* Is it a checkpoint of a run that is on its way out? */
static bool is_leaving(struct reader_store *s, struct bytes k)
{
    char *tenant = name(&k), *run = name(&k);
    uint64_t seq = big(&k, 8);
    bool found = false;

    for (size_t i = 0; i < s->n_leaving && !found; i++) {
        struct reader_leaving *l = &s->leaving[i];

        found = strcmp(l->tenant, tenant) == 0 && strcmp(l->run, run) == 0 &&
                seq >= l->first && seq <= l->last;
        l->n += found;
    }
    free(tenant);
    free(run);
    return found;
}

/* Heads came first: the run that a key belongs to is there, or never was. */
static struct reader_run *run_of(struct reader_store *s, struct bytes *k)
{
    char *tenant = name(k), *run = name(k);
    struct reader_run *found = NULL;

    for (size_t i = 0; i < s->n_runs && found == NULL; i++)
        if (strcmp(s->runs[i].tenant, tenant) == 0 &&
            strcmp(s->runs[i].run, run) == 0)
            found = &s->runs[i];
    if (found == NULL)
        wrong(s, "a record of run %s, which has no head", run);
    free(tenant);
    free(run);
    return found;
}

static int read_checkpoint(struct reader_store *s, struct bytes *k,
                           struct bytes *v)
{
    struct reader_run *r = run_of(s, k);
    struct reader_checkpoint *c;

    if (r == NULL)
        return -1;
    c = ADD(r->checkpoints, r->n_checkpoints);
    c->seq = big(k, 8);
    array(v, c->id, 16);
    array(v, c->parent, 16);
    c->time_ms = little(v, 8);
    c->first_event = little(v, 8);
    c->n_events = little32(v);
    c->branch = little32(v);
    c->step = little32(v);
    c->phase = (unsigned)little(v, 1);
    array(v, c->graph, 32);
    c->entries = blob(v, &c->size);
    return 0;
}

static int read_mark(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_mark *m = ADD(s->marks, s->n_marks);

    m->name = last_name(k);
    m->value = little(v, 8);
    return 0;
}

static int read_kv(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_kv *kv = ADD(s->kvs, s->n_kvs);

    kv->tenant = name(k);
    kv->plugin = name(k);
    kv->key_size = k->n;
    kv->key = last_name(k);
    kv->value = blob(v, &kv->value_size);
    return 0;
}

/* Ages come before the results, the oldest first. */
static int read_age(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_cached *c = ADD(s->cached, s->n_cached);

    c->number = big(k, 8);
    c->tenant = name(k);
    array(k, c->digest, 32);
    c->size = little(v, 8);
    return 0;
}

static struct reader_cached *cached_of(struct reader_store *s,
                                       const char *tenant,
                                       const uint8_t digest[32],
                                       uint64_t number)
{
    for (size_t i = 0; i < s->n_cached; i++)
        if (s->cached[i].number == number &&
            strcmp(s->cached[i].tenant, tenant) == 0 &&
            memcmp(s->cached[i].digest, digest, 32) == 0)
            return &s->cached[i];
    return NULL;
}

static int read_cached(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    size_t size = 2 * (k->n + 1);
    char *tenant = name(k);
    uint8_t digest[32];
    struct reader_cached *c;

    array(k, digest, 32);
    c = cached_of(s, tenant, digest, big(k, 8));
    free(tenant);
    if (c == NULL || c->value != NULL)
        return wrong(s, "a result that is kept, without an age");
    c->value = blob(v, &c->value_size);
    if (c->size != size + 1 + 4 + c->value_size + 1 + 8)
        return wrong(s, "a result counts with %llu bytes",
                     (unsigned long long)c->size);
    return 0;
}

static int read_request(struct reader_store *s, struct bytes *k,
                        struct bytes *v)
{
    struct reader_run *r = run_of(s, k);
    struct reader_request *q;

    if (r == NULL)
        return -1;
    q = ADD(r->requests, r->n_requests);
    q->id = last_name(k);
    q->deadline_ms = little(v, 8);
    q->payload = blob(v, &q->size);
    return 0;
}

static int read_spawn(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_spawn *w = ADD(s->spawns, s->n_spawns);

    w->tenant = name(k);
    w->parent = name(k);
    w->id = last_name(k);
    w->epoch = little(v, 8);
    w->claimed_ms = little(v, 8);
    w->updated_ms = little(v, 8);
    w->state = little32(v);
    w->status = little32(v);
    w->depth = little32(v);
    w->attempt = little32(v);
    w->reports = little(v, 8);
    w->detached = (unsigned)little(v, 1);
    w->native = (unsigned)little(v, 1);
    array(v, w->task, 32);
    w->origin = text(v);
    w->execution = text(v);
    w->call = text(v);
    w->name = text(v);
    w->child = text(v);
    w->token = text(v);
    w->progress = text(v);
    w->result = blob(v, &w->result_size);
    return 0;
}

static int read_child(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_child *c = ADD(s->children, s->n_children);

    c->tenant = name(k);
    c->child = last_name(k);
    c->parent = text(v);
    c->id = text(v);
    return 0;
}

static int read_tree(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_tree *t = ADD(s->trees, s->n_trees);

    t->tenant = name(k);
    t->origin = last_name(k);
    t->active = little(v, 8);
    t->total = little(v, 8);
    t->detached_active = little(v, 8);
    t->detached_total = little(v, 8);
    return 0;
}

static int read_purse(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    struct reader_purse *p = ADD(s->purses, s->n_purses);

    p->tenant = name(k);
    p->origin = last_name(k);
    for (int i = 0; i < 7; i++)
        p->most[i] = little(v, 8);
    for (int i = 0; i < 7; i++)
        p->used[i] = little(v, 8);
    return 0;
}

static int read_noted(struct bytes *v)
{
    little(v, 8); /* any time: clocks are set */
    return 0;
}

static int read_stamp(struct reader_store *s, struct bytes *v)
{
    s->format = little32(v);
    return 0;
}

static int read_record(struct reader_store *s, struct bytes *k, struct bytes *v)
{
    int tag = (int)big(k, 1), rv;

    if (little(v, 1) != 1)
        return wrong(s, "a record '%c' of another version", tag);
    if (tag == 'x' || (tag == 'k' && is_leaving(s, *k)))
        return 0; /* read before */
    switch (tag) {
    case 'b':
        rv = read_purse(s, k, v);
        break;
    case 'c':
        rv = read_commit(s, k, v);
        break;
    case 'd':
        rv = read_deadline(s, k, v);
        break;
    case 'e':
        rv = read_tree(s, k, v);
        break;
    case 'g':
        rv = read_graph(s, k, v);
        break;
    case 'h':
        rv = read_head(s, k, v);
        break;
    case 'i':
        array(v, s->identity, sizeof s->identity);
        s->identified = 1;
        rv = 0;
        break;
    case 'k':
        rv = read_checkpoint(s, k, v);
        break;
    case 'm':
        rv = read_mark(s, k, v);
        break;
    case 'n':
        rv = read_kv(s, k, v);
        break;
    case 'o':
        rv = read_age(s, k, v);
        break;
    case 'r':
        rv = read_cached(s, k, v);
        break;
    case 'p':
        rv = read_request(s, k, v);
        break;
    case 's':
        rv = read_spawn(s, k, v);
        break;
    case 't':
        rv = read_tombstone(s, k, v);
        break;
    case 'v':
        rv = read_stamp(s, v);
        break;
    case 'w':
        rv = read_noted(v);
        break;
    case 'y':
        rv = read_child(s, k, v);
        break;
    default:
        return wrong(s, "a key of an unknown kind, %d", tag);
    }
    if (rv == 0 && (k->bad || v->bad || k->n != 0 || v->n != 0))
        return wrong(s, "a record '%c' does not read", tag);
    return rv;
}

/* ---- checks over several records --------------------------------------- */

static int check_checkpoints(struct reader_store *s, const struct reader_run *r)
{
    static const uint8_t zero[16];
    const uint8_t *parent = zero;
    uint64_t event = 0;

    for (size_t i = 0; i < r->n_checkpoints; i++) {
        const struct reader_checkpoint *c = &r->checkpoints[i];

        if (c->seq != i + 1)
            return wrong(s, "run %s: checkpoint %llu stands at %zu", r->run,
                         (unsigned long long)c->seq, i + 1);
        if (memcmp(c->parent, parent, 16) != 0)
            return wrong(s, "run %s: checkpoint %zu has another parent", r->run,
                         i + 1);
        if (c->n_events > 0 && event != 0 && c->first_event != event)
            return wrong(s, "run %s: events of checkpoint %zu", r->run, i + 1);
        if (c->n_events > 0)
            event = c->first_event + c->n_events;
        parent = c->id;
    }
    if (r->n_checkpoints != r->seq || r->seq == 0 ||
        memcmp(parent, r->checkpoint, 16) != 0)
        return wrong(s, "run %s: %zu checkpoints, the head says %llu", r->run,
                     r->n_checkpoints, (unsigned long long)r->seq);
    return 0;
}

static bool has_graph(const struct reader_store *s, const uint8_t digest[32])
{
    for (size_t i = 0; i < s->n_graphs; i++)
        if (memcmp(s->graphs[i].digest, digest, 32) == 0)
            return true;
    return false;
}

static int check_run(struct reader_store *s, const struct reader_run *r)
{
    if (check_checkpoints(s, r) != 0)
        return -1;
    if (r->n_requests != r->n_pending)
        return wrong(s, "run %s: %zu requests, the head says %u", r->run,
                     r->n_requests, r->n_pending);
    if (r->epoch > s->epoch)
        return wrong(s, "run %s: written in an epoch to come", r->run);
    if (!has_graph(s, r->graph))
        return wrong(s, "run %s: its graph is missing", r->run);
    return 0;
}

static const struct reader_request *
find_request(const struct reader_store *s, const struct reader_deadline *d)
{
    const struct reader_run *r = store_reader_run(s, d->tenant, d->run);

    for (size_t i = 0; r != NULL && i < r->n_requests; i++)
        if (strcmp(r->requests[i].id, d->id) == 0)
            return &r->requests[i];
    return NULL;
}

static int check_deadlines(struct reader_store *s)
{
    size_t expected = 0, timers = 0;

    for (size_t i = 0; i < s->n_deadlines; i++) {
        const struct reader_deadline *d = &s->deadlines[i];
        const struct reader_request *q = find_request(s, d);

        if (d->timer && store_reader_run(s, d->tenant, d->run) == NULL)
            return wrong(s, "run %s: a timer without its run", d->run);
        timers += d->timer;
        if (d->timer ? q != NULL : q == NULL || q->deadline_ms != d->ms)
            return wrong(s, "run %s: a deadline without its request", d->run);
    }
    for (size_t i = 0; i < s->n_runs; i++)
        for (size_t k = 0; k < s->runs[i].n_requests; k++)
            expected += s->runs[i].requests[k].deadline_ms != 0;
    if (expected + timers != s->n_deadlines)
        return wrong(s, "%zu deadlines for %zu requests",
                     s->n_deadlines - timers, expected);
    return 0;
}

static int check_cached(struct reader_store *s)
{
    for (size_t i = 0; i < s->n_cached; i++) {
        const struct reader_cached *c = &s->cached[i];

        if (c->value == NULL)
            return wrong(s, "an age without its result");
        if (i > 0 && c->number != c[-1].number + c[-1].size)
            return wrong(s, "a result is numbered %llu, behind %llu",
                         (unsigned long long)c->number,
                         (unsigned long long)c[-1].number);
    }
    return 0;
}

/* What was removed has no head, and what is left of it is known. */
static int check_removed(struct reader_store *s)
{
    for (size_t i = 0; i < s->n_tombstones; i++)
        if (store_reader_run(s, s->tombstones[i].tenant,
                             s->tombstones[i].run) != NULL)
            return wrong(s, "run %s is there, and has a tombstone",
                         s->tombstones[i].run);
    for (size_t i = 0; i < s->n_leaving; i++) {
        const struct reader_leaving *l = &s->leaving[i];

        if (store_reader_tombstone(s, l->tenant, l->run) == NULL)
            return wrong(s, "run %s leaves without a tombstone", l->run);
        if (l->n == 0 || l->n != l->last - l->first + 1)
            return wrong(s, "run %s: checkpoints of it are left elsewhere",
                         l->run);
    }
    return 0;
}

static bool has_ended(const struct reader_spawn *w)
{
    return w->state >= 5;
}

/* A handle says what it is, and who has it is there. */
static int check_spawn(struct reader_store *s, const struct reader_spawn *w)
{
    const struct reader_run *r = store_reader_run(s, w->tenant, w->parent);
    bool over = has_ended(w);

    if (w->state < 1 || w->state > 6 || w->status > 7 || w->epoch == 0 ||
        w->depth == 0 || over != (w->status != 0) ||
        (w->state == 6) != (w->status == 7))
        return wrong(s, "spawn %s/%s: state %u with status %u", w->parent,
                     w->id, w->state, w->status);
    if (w->state != 6 && (w->state >= 2 || w->native) != (w->child[0] != '\0'))
        return wrong(s, "spawn %s/%s: state %u with child '%s'", w->parent,
                     w->id, w->state, w->child);
    if (r == NULL && store_reader_tombstone(s, w->tenant, w->parent) == NULL)
        return wrong(s, "spawn %s/%s: its parent is not there", w->parent,
                     w->id);
    if (r != NULL && !over && w->detached == 0 && w->native == 0 &&
        r->status >= 7)
        return wrong(s, "spawn %s/%s is open, and its parent has ended",
                     w->parent, w->id);
    if (store_reader_tree(s, w->tenant, w->origin) == NULL)
        return wrong(s, "spawn %s/%s: nobody counts it", w->parent, w->id);
    return w->ways == (w->child[0] != '\0')
               ? 0
               : wrong(s, "spawn %s/%s: %u ways lead to it", w->parent, w->id,
                       w->ways);
}

/* The counters are those of the records; of runs that were removed, ended ones
 * are still among the totals. */
static int check_tree(struct reader_store *s, const struct reader_tree *t)
{
    struct reader_tree found = {.total = 0};

    for (size_t i = 0; i < s->n_spawns; i++) {
        const struct reader_spawn *w = &s->spawns[i];

        if (strcmp(w->tenant, t->tenant) != 0 ||
            strcmp(w->origin, t->origin) != 0)
            continue;
        found.total++;
        found.active += !has_ended(w);
        found.detached_total += w->detached;
        found.detached_active += w->detached && !has_ended(w);
    }
    if (t->active != found.active ||
        t->detached_active != found.detached_active || t->total < found.total ||
        t->detached_total < found.detached_total ||
        (s->n_tombstones == 0 && (t->total != found.total ||
                                  t->detached_total != found.detached_total)))
        return wrong(s,
                     "tree %s counts %llu of %llu, detached %llu of %llu; "
                     "there are %llu of %llu, detached %llu of %llu",
                     t->origin, (unsigned long long)t->active,
                     (unsigned long long)t->total,
                     (unsigned long long)t->detached_active,
                     (unsigned long long)t->detached_total,
                     (unsigned long long)found.active,
                     (unsigned long long)found.total,
                     (unsigned long long)found.detached_active,
                     (unsigned long long)found.detached_total);
    return 0;
}

static int by_handle(const void *one, const void *other)
{
    const struct reader_spawn *a = one, *b = other;
    int order = strcmp(a->tenant, b->tenant);

    if (order == 0)
        order = strcmp(a->parent, b->parent);
    return order != 0 ? order : strcmp(a->id, b->id);
}

/* A child leads to its handle, and that says the same. */
static int check_child(struct reader_store *s, const struct reader_child *c)
{
    struct reader_spawn key = {
        .tenant = c->tenant, .parent = c->parent, .id = c->id};
    struct reader_spawn *w =
        s->n_spawns > 0
            ? bsearch(&key, s->spawns, s->n_spawns, sizeof key, by_handle)
            : NULL;

    if (w == NULL || strcmp(w->child, c->child) != 0)
        return wrong(s, "child %s leads to no spawn handle of it", c->child);
    w->ways++;
    return 0;
}

static int check_spawns(struct reader_store *s)
{
    if (s->n_spawns > 0)
        qsort(s->spawns, s->n_spawns, sizeof s->spawns[0], by_handle);
    for (size_t i = 0; i < s->n_children; i++)
        if (check_child(s, &s->children[i]) != 0)
            return -1;
    for (size_t i = 0; i < s->n_spawns; i++)
        if (check_spawn(s, &s->spawns[i]) != 0)
            return -1;
    for (size_t i = 0; i < s->n_trees; i++)
        if (check_tree(s, &s->trees[i]) != 0)
            return -1;
    for (size_t i = 0; i < s->n_purses; i++)
        if (store_reader_tree(s, s->purses[i].tenant, s->purses[i].origin) ==
            NULL)
            return wrong(s, "a purse of %s, which spawned nothing",
                         s->purses[i].origin);
    return 0;
}

static int check_store(struct reader_store *s)
{
    uint64_t kept = s->last_commit - s->first_commit + 1;

    if (s->last_commit == 0)
        return s->n_runs == 0 && s->n_marks == 0 && s->n_kvs == 0 &&
                       s->n_cached == 0
                   ? 0
                   : wrong(s, "records, but no commit");
    if (s->format != 1)
        return wrong(s, "no stamp, or another format");
    if (kept != (s->last_commit < 65536 ? s->last_commit : 65536))
        return wrong(s, "%llu commit numbers are kept",
                     (unsigned long long)kept);
    for (size_t i = 0; i < s->n_runs; i++)
        if (check_run(s, &s->runs[i]) != 0)
            return -1;
    if (check_cached(s) != 0 || check_removed(s) != 0 || check_spawns(s) != 0)
        return -1;
    return check_deadlines(s);
}

/* ---- the mark ----------------------------------------------------------- */

/* One slot; false when it is torn. */
static bool read_slot(struct reader_store *s, const unsigned char *p)
{
    unsigned char digest[32];
    struct bytes b = {.p = p + 8, .n = 56};
    uint64_t number = little(&b, 8);

    crypto_generichash(digest, sizeof digest, p, 32, NULL, 0);
    if (memcmp(p, "mortmark", 8) != 0 || memcmp(p + 32, digest, 32) != 0)
        return false;
    if (s->has_mark == 0 || number > s->mark) {
        s->mark = number;
        array(&b, s->mark_identity, sizeof s->mark_identity);
    }
    s->has_mark = 1;
    return true;
}

static int read_mark_file(struct reader_store *s, const char *path)
{
    unsigned char all[513] = {0};
    char full[4096];
    size_t n;
    FILE *f;

    snprintf(full, sizeof full, "%s/mark", path);
    f = fopen(full, "re");
    if (f == NULL)
        return 0;
    n = fread(all, 1, sizeof all, f);
    fclose(f);
    read_slot(s, all);
    read_slot(s, all + 256);
    if (n != 512 || s->has_mark == 0)
        return wrong(s, "the mark does not read");
    return 0;
}

static int check_mark(struct reader_store *s)
{
    if (s->has_mark == 0)
        return s->format < 2 ? 0 : wrong(s, "the mark is missing");
    if (s->mark > s->last_commit)
        return wrong(s, "the mark says %llu, the last commit is %llu",
                     (unsigned long long)s->mark,
                     (unsigned long long)s->last_commit);
    if (s->identified != 0 && memcmp(s->identity, s->mark_identity, 16) != 0)
        return wrong(s, "the mark is another store's");
    return 0;
}

/* ---- the whole --------------------------------------------------------- */

/* They stand behind what they are about. */
static int read_all_leaving(struct reader_store *s, leveldb_iterator_t *it)
{
    for (leveldb_iter_seek(it, "x", 1); leveldb_iter_valid(it);
         leveldb_iter_next(it)) {
        struct bytes k = {0}, v = {0};

        k.p = (const unsigned char *)leveldb_iter_key(it, &k.n);
        v.p = (const unsigned char *)leveldb_iter_value(it, &v.n);
        if (k.n > 0 && k.p[0] != 'x')
            break;
        if (big(&k, 1) != 'x' || little(&v, 1) != 1 ||
            read_leaving(s, &k, &v) != 0 || k.bad || v.bad || v.n != 0)
            return wrong(s, "a record 'x' does not read");
    }
    return 0;
}

static int read_all(struct reader_store *s, leveldb_t *db)
{
    leveldb_readoptions_t *options = leveldb_readoptions_create();
    leveldb_iterator_t *it;
    char *said = NULL;
    int rv = 0;

    leveldb_readoptions_set_verify_checksums(options, 1);
    it = leveldb_create_iterator(db, options);
    rv = read_all_leaving(s, it);
    for (leveldb_iter_seek_to_first(it); rv == 0 && leveldb_iter_valid(it);
         leveldb_iter_next(it)) {
        struct bytes k = {0}, v = {0};

        k.p = (const unsigned char *)leveldb_iter_key(it, &k.n);
        v.p = (const unsigned char *)leveldb_iter_value(it, &v.n);
        rv = read_record(s, &k, &v);
    }
    leveldb_iter_get_error(it, &said);
    if (said != NULL)
        rv = wrong(s, "%s", said);
    leveldb_free(said);
    leveldb_iter_destroy(it);
    leveldb_readoptions_destroy(options);
    return rv;
}

int store_reader_read(struct reader_store *out, const char *path)
{
    leveldb_options_t *options = leveldb_options_create();
    char db_path[4096];
    char *said = NULL;
    leveldb_t *db;
    int rv;

    memset(out, 0, sizeof *out);
    snprintf(db_path, sizeof db_path, "%s/db", path);
    leveldb_options_set_paranoid_checks(options, 1);
    db = leveldb_open(options, db_path, &said);
    if (said != NULL) {
        rv = wrong(out, "%s", said);
        leveldb_free(said);
    } else {
        rv = read_all(out, db);
        if (rv == 0)
            rv = read_mark_file(out, path);
        if (rv == 0)
            rv = check_store(out);
        if (rv == 0)
            rv = check_mark(out);
        leveldb_close(db);
    }
    leveldb_options_destroy(options);
    return rv;
}

const struct reader_run *store_reader_run(const struct reader_store *s,
                                          const char *tenant, const char *run)
{
    for (size_t i = 0; i < s->n_runs; i++)
        if (strcmp(s->runs[i].tenant, tenant) == 0 &&
            strcmp(s->runs[i].run, run) == 0)
            return &s->runs[i];
    return NULL;
}

const struct reader_cached *store_reader_cached(const struct reader_store *s,
                                                const char *tenant,
                                                const uint8_t digest[32])
{
    for (size_t i = 0; i < s->n_cached; i++)
        if (strcmp(s->cached[i].tenant, tenant) == 0 &&
            memcmp(s->cached[i].digest, digest, 32) == 0)
            return &s->cached[i];
    return NULL;
}

const struct reader_tombstone *
store_reader_tombstone(const struct reader_store *s, const char *tenant,
                       const char *run)
{
    for (size_t i = 0; i < s->n_tombstones; i++)
        if (strcmp(s->tombstones[i].tenant, tenant) == 0 &&
            strcmp(s->tombstones[i].run, run) == 0)
            return &s->tombstones[i];
    return NULL;
}

const struct reader_kv *store_reader_kv(const struct reader_store *s,
                                        const char *tenant, const char *plugin,
                                        const void *key, size_t size)
{
    for (size_t i = 0; i < s->n_kvs; i++) {
        const struct reader_kv *kv = &s->kvs[i];

        if (strcmp(kv->tenant, tenant) == 0 &&
            strcmp(kv->plugin, plugin) == 0 && kv->key_size == size &&
            memcmp(kv->key, key, size) == 0)
            return kv;
    }
    return NULL;
}

const struct reader_purse *store_reader_purse(const struct reader_store *s,
                                              const char *tenant,
                                              const char *origin)
{
    for (size_t i = 0; i < s->n_purses; i++)
        if (strcmp(s->purses[i].tenant, tenant) == 0 &&
            strcmp(s->purses[i].origin, origin) == 0)
            return &s->purses[i];
    return NULL;
}

const struct reader_tree *store_reader_tree(const struct reader_store *s,
                                            const char *tenant,
                                            const char *origin)
{
    for (size_t i = 0; i < s->n_trees; i++)
        if (strcmp(s->trees[i].tenant, tenant) == 0 &&
            strcmp(s->trees[i].origin, origin) == 0)
            return &s->trees[i];
    return NULL;
}

static void free_spawns(struct reader_store *s)
{
    for (size_t i = 0; i < s->n_spawns; i++) {
        struct reader_spawn *w = &s->spawns[i];
        char *const texts[] = {w->tenant,    w->parent,   w->id,    w->origin,
                               w->execution, w->call,     w->name,  w->child,
                               w->token,     w->progress, w->result};

        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            free(texts[k]);
    }
    for (size_t i = 0; i < s->n_children; i++) {
        free(s->children[i].tenant);
        free(s->children[i].child);
        free(s->children[i].parent);
        free(s->children[i].id);
    }
    for (size_t i = 0; i < s->n_trees; i++) {
        free(s->trees[i].tenant);
        free(s->trees[i].origin);
    }
    free(s->spawns);
    free(s->children);
    free(s->trees);
    for (size_t i = 0; i < s->n_purses; i++) {
        free(s->purses[i].tenant);
        free(s->purses[i].origin);
    }
    free(s->purses);
}

static void free_run(struct reader_run *r)
{
    for (size_t i = 0; i < r->n_checkpoints; i++)
        free(r->checkpoints[i].entries);
    for (size_t i = 0; i < r->n_requests; i++) {
        free(r->requests[i].id);
        free(r->requests[i].payload);
    }
    free(r->checkpoints);
    free(r->requests);
    free(r->tenant);
    free(r->run);
    free(r->reason);
    free(r->graph_name);
}

void store_reader_free(struct reader_store *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        free_run(&s->runs[i]);
    for (size_t i = 0; i < s->n_tombstones; i++) {
        free(s->tombstones[i].tenant);
        free(s->tombstones[i].run);
    }
    for (size_t i = 0; i < s->n_leaving; i++) {
        free(s->leaving[i].tenant);
        free(s->leaving[i].run);
    }
    free(s->tombstones);
    free(s->leaving);
    free_spawns(s);
    for (size_t i = 0; i < s->n_graphs; i++)
        free(s->graphs[i].path);
    for (size_t i = 0; i < s->n_marks; i++)
        free(s->marks[i].name);
    for (size_t i = 0; i < s->n_deadlines; i++) {
        free(s->deadlines[i].tenant);
        free(s->deadlines[i].run);
        free(s->deadlines[i].id);
    }
    for (size_t i = 0; i < s->n_kvs; i++) {
        free(s->kvs[i].tenant);
        free(s->kvs[i].plugin);
        free(s->kvs[i].key);
        free(s->kvs[i].value);
    }
    free(s->kvs);
    for (size_t i = 0; i < s->n_cached; i++) {
        free(s->cached[i].tenant);
        free(s->cached[i].value);
    }
    free(s->cached);
    free(s->runs);
    free(s->graphs);
    free(s->marks);
    free(s->deadlines);
}

#ifdef STORE_READER_MAIN
static void print_hex(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%02x", p[i]);
}

static void print_run(const struct reader_run *r)
{
    printf("run %s %s seq=%llu status=%u pending=%u epoch=%llu reason=%s "
           "graph=%s\n",
           r->tenant, r->run, (unsigned long long)r->seq, r->status,
           r->n_pending, (unsigned long long)r->epoch, r->reason,
           r->graph_name);
    for (size_t i = 0; i < r->n_checkpoints; i++) {
        const struct reader_checkpoint *c = &r->checkpoints[i];

        printf("checkpoint %s %s %llu phase=%u step=%u events=%llu+%u "
               "bytes=%zu id=",
               r->tenant, r->run, (unsigned long long)c->seq, c->phase, c->step,
               (unsigned long long)c->first_event, c->n_events, c->size);
        print_hex(c->id, sizeof c->id);
        putchar('\n');
    }
    for (size_t i = 0; i < r->n_requests; i++)
        printf("request %s %s %s deadline=%llu %s\n", r->tenant, r->run,
               r->requests[i].id,
               (unsigned long long)r->requests[i].deadline_ms,
               r->requests[i].payload);
}

static void print_store(const struct reader_store *s)
{
    if (s->has_mark != 0)
        printf("mark %llu\n", (unsigned long long)s->mark);
    printf("commits %llu..%llu epoch=%llu\n",
           (unsigned long long)s->first_commit,
           (unsigned long long)s->last_commit, (unsigned long long)s->epoch);
    for (size_t i = 0; i < s->n_graphs; i++) {
        printf("graph ");
        print_hex(s->graphs[i].digest, 32);
        printf(" %s bytes=%zu\n", s->graphs[i].path, s->graphs[i].size);
    }
    for (size_t i = 0; i < s->n_runs; i++)
        print_run(&s->runs[i]);
    for (size_t i = 0; i < s->n_marks; i++)
        printf("mark %s %llu\n", s->marks[i].name,
               (unsigned long long)s->marks[i].value);
    for (size_t i = 0; i < s->n_kvs; i++)
        printf("kept %s %s %s %s\n", s->kvs[i].tenant, s->kvs[i].plugin,
               s->kvs[i].key, s->kvs[i].value);
    for (size_t i = 0; i < s->n_spawns; i++)
        printf("spawn %s %s/%s epoch=%llu state=%u status=%u depth=%u "
               "detached=%u native=%u origin=%s call=%s name=%s child=%s "
               "result=%s\n",
               s->spawns[i].tenant, s->spawns[i].parent, s->spawns[i].id,
               (unsigned long long)s->spawns[i].epoch, s->spawns[i].state,
               s->spawns[i].status, s->spawns[i].depth, s->spawns[i].detached,
               s->spawns[i].native, s->spawns[i].origin, s->spawns[i].call,
               s->spawns[i].name, s->spawns[i].child, s->spawns[i].result);
    for (size_t i = 0; i < s->n_trees; i++)
        printf("tree %s %s active=%llu total=%llu detached=%llu of %llu\n",
               s->trees[i].tenant, s->trees[i].origin,
               (unsigned long long)s->trees[i].active,
               (unsigned long long)s->trees[i].total,
               (unsigned long long)s->trees[i].detached_active,
               (unsigned long long)s->trees[i].detached_total);
    for (size_t i = 0; i < s->n_cached; i++) {
        printf("result %s ", s->cached[i].tenant);
        print_hex(s->cached[i].digest, 32);
        printf(" %llu bytes=%llu\n", (unsigned long long)s->cached[i].number,
               (unsigned long long)s->cached[i].size);
    }
}

int main(int argc, char **argv)
{
    struct reader_store s;
    int rv;

    if (argc != 2) {
        fprintf(stderr, "usage: store_reader STORE\n");
        return 3;
    }
    rv = store_reader_read(&s, argv[1]);
    print_store(&s);
    if (rv != 0)
        fprintf(stderr, "store_reader: %s: %s\n", argv[1], s.why);
    store_reader_free(&s);
    return rv == 0 ? 0 : 2;
}
#endif
