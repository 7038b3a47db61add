/* spawns.c -- what is asked of spawn handles, decided one after another.
 *
 * The rules are pure (core/spawn/spawn.h) and the store holds to what was decided
 * (store/).  Here is what lies between: what a decision needs is read, and nothing
 * that it stands on changes before it is written.
 *
 *   (1) Of one tree one operation is under way at any time, from its reads to
 *       the answer of its commit; those that come meanwhile wait in their order.
 *       So each decides upon what is on disk, counters too, and no commit of
 *       ours is ever refused for what another of ours did.  Trees do not wait
 *       for each other.
 *   (2) Nothing is kept here between two operations.  A store that several
 *       engines write to needs no more: the loser of two that decided upon the
 *       same record has its commit refused by the record's epoch, and asks
 *       again.
 *   (3) Which tree it is, is known once the parent's own handle was read, if it
 *       has one; until then the operation keeps its place among those of the
 *       tenant.  A run's place in a tree never changes: no run becomes a child
 *       that has spawned something, and none that has a handle gets another.
 *   (4) An operation that changes nothing gives up its turn with its decision.
 */
#include "core/engine/runs/spawns.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/run/run.h"

/* ---- handles --------------------------------------------------------------- */

void mortise_spawns_handle(char handle[MORTISE_SPAWN_HANDLE_MAX],
                           const char *parent, const char *id)
{
    size_t n = strlen(parent);

    assert(n <= MORTISE_NAME_MAX && strlen(id) == MORTISE_SPAWN_ID - 1);
    memcpy(handle, parent, n);
    handle[n] = '/';
    memcpy(handle + n + 1, id, MORTISE_SPAWN_ID);
}

bool mortise_spawns_parse(const char *handle, char parent[MORTISE_NAME_MAX + 1],
                          char id[MORTISE_SPAWN_ID])
{
    const char *slash = strchr(handle, '/');
    size_t n = slash != NULL ? (size_t)(slash - handle) : 0;

    if (n == 0 || n > MORTISE_NAME_MAX ||
        strlen(slash + 1) != MORTISE_SPAWN_ID - 1)
        return false;
    memcpy(parent, handle, n);
    parent[n] = '\0';
    memcpy(id, slash + 1, MORTISE_SPAWN_ID);
    return true;
}

int mortise_spawns_result(const struct mortise *m, const json_t *value,
                          char **text, struct mortise_err *err)
{
    struct mortise_buf b;
    int rv;

    *text = NULL;
    mortise_buf_init(&b, m->mem);
    rv = mortise_json_canonical(&b, value);
    if (rv == MORTISE_OK)
        *text = mortise_strndup(m->mem, b.p, b.n);
    mortise_buf_finish(&b);
    if (*text == NULL)
        return mortise_nomem(err);
    if (strlen(*text) <= MORTISE_SPAWN_RESULT)
        return MORTISE_OK;
    mortise_release_str(m->mem, *text);
    *text = NULL;
    return mortise_fail(err, MORTISE_EINVAL,
                        "a result can have at most %d bytes of JSON",
                        MORTISE_SPAWN_RESULT);
}

/* ---- turns (1) -------------------------------------------------------------- */

static void go_on(struct mortise_spawn_op *op);

/* Before it in the order, and maybe of its tree. */
static bool is_ahead(const struct mortise_spawn_op *other,
                     const struct mortise_spawn_op *op)
{
    return strcmp(other->tenant, op->tenant) == 0 &&
           (other->origin == NULL || strcmp(other->origin, op->origin) == 0);
}

static bool has_turn(const struct mortise_spawn_op *op)
{
    const struct mortise_spawn_op *other = op->m->spawns;

    assert(op->origin != NULL);
    while (other != op && !is_ahead(other, op))
        other = other->next;
    return other == op;
}

/* Somebody's turn may have come. */
static void look_again(struct mortise_task *t)
{
    struct mortise *m = MORTISE_OF(t, struct mortise, spawns_task);
    struct mortise_spawn_op *op = m->spawns;

    m->spawns_queued = false;
    while (op != NULL) {
        if (!op->waits || !has_turn(op)) {
            op = op->next;
            continue;
        }
        op->waits = false;
        go_on(op);
        op = m->spawns; /* the list may be another one */
    }
}

static void let_others(struct mortise *m)
{
    if (m->spawns == NULL || m->spawns_queued)
        return;
    m->spawns_queued = true;
    m->spawns_task.run = look_again;
    mortise_ready(m, &m->spawns_task);
}

static void enlist(struct mortise_spawn_op *op)
{
    struct mortise_spawn_op **at = &op->m->spawns;

    while (*at != NULL)
        at = &(*at)->next;
    op->next = NULL;
    *at = op;
}

static void leave(struct mortise_spawn_op *op)
{
    struct mortise_spawn_op **at = &op->m->spawns;

    while (*at != NULL && *at != op)
        at = &(*at)->next;
    if (*at == NULL)
        return; /* (4) */
    *at = op->next;
    let_others(op->m);
}

static void finish(struct mortise_spawn_op *op)
{
    leave(op);
    mortise_stored_finish(&op->stored);
    mortise_arena_finish(&op->arena);
}

void mortise_spawns_drop(struct mortise_spawn_op *op)
{
    assert(!op->put.flying);
    finish(op);
}

static void landed(struct mortise_spawn_put *p, int result)
{
    struct mortise_spawn_op *op = MORTISE_OF(p, struct mortise_spawn_op, put);

    finish(op);
    op->landed(op, result);
}

/* ---- the decision ------------------------------------------------------------ */

static void decided(struct mortise_spawn_op *op, int rv,
                    const struct mortise_err *err)
{
    op->changes = rv == MORTISE_OK &&
                  (!op->has_was || op->put.change.now.epoch != op->was.epoch ||
                   op->put.change.now.state != op->was.state ||
                   op->put.change.now.reports != op->was.reports);
    if (!op->changes)
        leave(op); /* (4) */
    op->decided(op, rv, err);
}

static void fail(struct mortise_spawn_op *op, int rv,
                 const struct mortise_err *err)
{
    struct mortise_err why = *err;

    if (why.code == MORTISE_OK) /* a read without words */
        mortise_fail(&why, rv, "%s", mortise_result_name(rv));
    decided(op, rv, &why);
}

static int claim(struct mortise_spawn_op *op, struct mortise_err *err)
{
    struct mortise_spawn_request c = {
        .origin = op->origin,
        .execution = op->execution,
        .call = op->call,
        .name = op->name,
        .token = op->token,
        .depth = op->detached ? 1 : op->parent_depth + 1,
        .detached = op->detached,
        .now_ms = mortise_now_ms()};
    uint8_t chance[(MORTISE_SPAWN_ID - 1) / 2];

    memcpy(c.task, op->task, sizeof c.task);
    if (op->native) {
        mortise_spawn_child(op->child_id, op->id);
        c.child = op->child_id;
    }
    if (op->token == NULL) {
        randombytes_buf(chance, sizeof chance);
        mortise_hex(op->made, chance, sizeof chance);
        c.token = op->made;
    }
    assert(op->has_was || op->graph != NULL);
    return mortise_spawn_after_claim(
        op->has_was ? &op->was : NULL, &op->tree,
        op->graph != NULL ? &op->graph->limits.spawn : NULL, &c,
        &op->put.change.now, &op->outcome, err);
}

static int decide(struct mortise_spawn_op *op, struct mortise_err *err)
{
    const struct mortise_spawn *was = op->has_was ? &op->was : NULL;
    struct mortise_spawn *now = &op->put.change.now;
    uint64_t now_ms = mortise_now_ms();
    int rv;

    switch (op->kind) {
    case MORTISE_SPAWN_CLAIMS:
        return claim(op, err);
    case MORTISE_SPAWN_REGISTERS:
        rv = mortise_spawn_after_register(was, op->token, op->child, now_ms,
                                          now, err);
        if (rv == MORTISE_OK && now->state != was->state && op->is_taken)
            rv = mortise_fail(
                err, MORTISE_EALREADY_REGISTERED,
                "run '%s' cannot be the child of this handle: it already is a "
                "child, has children, or is an ancestor of the handle's run",
                op->child);
        return rv;
    case MORTISE_SPAWN_STARTS:
        return mortise_spawn_after_start(was, op->token, op->task, now_ms, now,
                                         err);
    case MORTISE_SPAWN_ADVANCES:
        return mortise_spawn_after_advance(was, op->token, op->state, now_ms,
                                           now, err);
    case MORTISE_SPAWN_REPORTS:
        return mortise_spawn_after_report(was, op->attempt, op->progress,
                                          now_ms, now, err);
    case MORTISE_SPAWN_SETTLES:
        return mortise_spawn_after_settle(was, op->token, op->status,
                                          op->result, op->result_size, now_ms,
                                          now, err);
    }
    assert(false);
    return MORTISE_EINVAL;
}

/* ---- what it needs to know ----------------------------------------------------- */

static const char *keep(struct mortise_spawn_op *op, const char *s)
{
    const char *copy = mortise_arena_strdup(&op->arena, s);

    op->starved |= copy == NULL;
    return copy;
}

static int keep_was(void *ud, const char *tenant, const char *parent,
                    const char *id, const struct mortise_spawn *s)
{
    struct mortise_spawn_op *op = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    op->was = *s;
    op->was.origin = keep(op, s->origin);
    op->was.execution = keep(op, s->execution);
    op->was.call = keep(op, s->call);
    op->was.name = keep(op, s->name);
    op->was.child = keep(op, s->child);
    op->was.token = keep(op, s->token);
    op->was.progress = keep(op, s->progress);
    if (s->result != NULL)
        op->was.result =
            mortise_arena_strndup(&op->arena, s->result, s->result_size);
    op->starved |= s->result != NULL && op->was.result == NULL;
    op->has_was = true;
    return 0;
}

/* The parent is a child itself: of the same tree. */
static int keep_place(void *ud, const char *tenant, const char *parent,
                      const char *id, const struct mortise_spawn *s)
{
    struct mortise_spawn_op *op = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    op->origin = keep(op, s->origin);
    op->parent_depth = s->depth;
    return 0;
}

static int note_taken(void *ud, const char *tenant, const char *parent,
                      const char *id, const struct mortise_spawn *s)
{
    struct mortise_spawn_op *op = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    (void)s;
    op->is_taken = true;
    return 0;
}

/* ---- step by step ------------------------------------------------------------- */

static void was_read(struct mortise_read *r, int rv,
                     const struct mortise_err *err)
{
    struct mortise_spawn_op *op = MORTISE_OF(r, struct mortise_spawn_op, read);

    struct mortise_err why;

    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        fail(op, rv, err);
    else if (op->starved)
        fail(op, mortise_nomem(&why), &why);
    else
        go_on(op);
}

static void ask(struct mortise_spawn_op *op, enum mortise_read_kind kind,
                const char *run, mortise_spawn_fn *fn)
{
    op->read = (struct mortise_read){.kind = kind,
                                     .tenant = op->tenant,
                                     .run = run,
                                     .id = op->id,
                                     .spawn = fn,
                                     .ud = op,
                                     .done = was_read};
    mortise_store_read(op->m->store, &op->read);
}

static void graph_read(struct mortise_stored *s, int rv,
                       const struct mortise_err *err)
{
    struct mortise_spawn_op *op =
        MORTISE_OF(s, struct mortise_spawn_op, stored);

    if (rv != MORTISE_OK) {
        fail(op, rv, err);
        return;
    }
    op->graph = s->graph;
    go_on(op);
}

static void head_read(struct mortise_stored *s, int rv,
                      const struct mortise_err *err)
{
    struct mortise_spawn_op *op =
        MORTISE_OF(s, struct mortise_spawn_op, stored);
    struct mortise_err why;

    if (rv == MORTISE_OK && mortise_run_has_ended(s->head.status)) {
        mortise_fail(&why, MORTISE_ESTATE,
                     "run %s has ended and cannot spawn runs", op->parent);
        fail(op, MORTISE_ESTATE, &why);
    } else if (rv != MORTISE_OK) {
        fail(op, rv, err);
    } else {
        mortise_stored_graph(s, graph_read);
    }
}

static void turn(struct mortise_spawn_op *op)
{
    if (op->origin == NULL)
        op->origin = op->parent; /* it is nobody's child */
    let_others(op->m); /* whose place was behind one that nobody knew */
    op->waits = !has_turn(op);
    if (!op->waits)
        go_on(op);
}

static void conclude(struct mortise_spawn_op *op)
{
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = decide(op, &err);

    op->put.change.parent = op->parent;
    op->put.change.id = op->id;
    op->put.change.from_epoch = op->has_was ? op->was.epoch : 0;
    op->put.change.from_reports = op->has_was ? op->was.reports : 0;
    op->put.change.from_state = op->has_was ? op->was.state : 0;
    op->put.landed = landed;
    decided(op, rv, &err);
}

/* What is read next, if anything is. */
enum step {
    PLACE = 1, /* of the parent in its tree */
    TURN,
    RECORD,
    COUNTERS,
    GRAPH,      /* CLAIMS, of a record that is to be made: where nobody brought
                   it */
    CHILD,      /* REGISTERS: whose child it is already */
    CHILD_TREE, /* ... and what it spawned */
    DECISION
};

static void go_on(struct mortise_spawn_op *op)
{
    bool registers = op->kind == MORTISE_SPAWN_REGISTERS;

    if (op->step == CHILD_TREE && op->read.found.tree.total > 0)
        op->is_taken = true;
    if (op->step == COUNTERS)
        op->tree = op->read.found.tree;
    op->step++;
    if (op->step == GRAPH &&
        (op->kind != MORTISE_SPAWN_CLAIMS || op->graph != NULL || op->has_was))
        op->step = CHILD;
    if (op->step == CHILD && !registers)
        op->step = DECISION;
    switch ((enum step)op->step) {
    case PLACE:
        ask(op, MORTISE_READ_SPAWN_OF, op->parent, keep_place);
        break;
    case TURN:
        turn(op);
        break;
    case RECORD:
        ask(op, MORTISE_READ_SPAWN, op->parent, keep_was);
        break;
    case COUNTERS:
        ask(op, MORTISE_READ_SPAWN_TREE, op->origin, NULL);
        break;
    case GRAPH:
        mortise_stored_head(op->m, &op->stored, op->tenant, op->parent,
                            head_read);
        break;
    case CHILD:
        op->is_taken = strcmp(op->child, op->parent) == 0 ||
                       strcmp(op->child, op->origin) == 0;
        ask(op, MORTISE_READ_SPAWN_OF, op->child, note_taken);
        break;
    case CHILD_TREE:
        ask(op, MORTISE_READ_SPAWN_TREE, op->child, NULL);
        break;
    case DECISION:
        conclude(op);
        break;
    }
}

void mortise_spawns_begin(struct mortise *m, struct mortise_spawn_op *op)
{
    assert_on_loop(m);
    assert(op->decided != NULL && op->landed != NULL);
    op->m = m;
    mortise_arena_init(&op->arena, m->mem);
    if (op->kind == MORTISE_SPAWN_CLAIMS)
        mortise_spawn_id(op->id, m->store->identity, MORTISE_STORE_ID,
                         op->tenant, op->parent, op->execution, op->call);
    enlist(op);
    go_on(op);
}
