/* spawns.c -- operations on spawn handles, decided one after another.
 *
 * The rules are pure functions (core/spawn/spawn.h), and the store applies a
 * change only to the record that it was decided on.  This file reads the data
 * that a decision needs, and keeps it unchanged until the decision is written.
 *
 *   (1) Each tree has at most one operation in progress, from its reads to the
 *       answer of its commit; later ones wait in order.  So each decision is
 *       based on stored records and counters, and no commit of ours is refused
 *       because of another of ours.  Trees do not wait for each other.
 *   (2) No state is kept here between two operations.  That suffices even for a
 *       store with several engines: if two decide on the same record, the
 *       record's epoch refuses the second commit, and its owner asks again.
 *   (3) The tree is known when the parent's own handle was read, if it has one;
 *       until then the operation waits in the order of the tenant's operations.
 *       A run's place in a tree never changes: a run that has spawned does not
 *       become a child, and a child gets no second handle.
 *   (4) An operation without a change ends its turn with its decision.
 */
#include "core/engine/runs/spawns.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/run/run.h"

/* ---- handles ------------------------------------------------------------- */

void mortise_spawns_print_handle(char handle[MORTISE_SPAWN_HANDLE_MAX],
                                 const char *parent, const char *id)
{
    size_t n = strlen(parent);

    assert(n <= MORTISE_NAME_MAX && strlen(id) == MORTISE_SPAWN_ID - 1);
    memcpy(handle, parent, n);
    handle[n] = '/';
    memcpy(handle + n + 1, id, MORTISE_SPAWN_ID);
}

bool mortise_spawns_parse_handle(const char *handle,
                                 char parent[MORTISE_NAME_MAX + 1],
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

int mortise_spawns_encode_result(const struct mortise *m, const json_t *value,
                                 char **text, struct mortise_err *err)
{
    struct mortise_buf b;
    int rv;

    *text = NULL;
    mortise_buf_init(&b, m->mem);
    rv = mortise_json_write_canonical(&b, value);
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

/* ---- turns (1) ----------------------------------------------------------- */

static void do_next_spawn_step(struct mortise_spawn_op *op);

/* Does `other`, which comes earlier, possibly belong to the same tree? */
static bool is_ahead_in_tree(const struct mortise_spawn_op *other,
                             const struct mortise_spawn_op *op)
{
    return strcmp(other->tenant, op->tenant) == 0 &&
           (other->origin == NULL || strcmp(other->origin, op->origin) == 0);
}

static bool has_spawn_turn(const struct mortise_spawn_op *op)
{
    const struct mortise_spawn_op *other = op->m->spawns;

    assert(op->origin != NULL);
    while (other != op && !is_ahead_in_tree(other, op))
        other = other->next;
    return other == op;
}

/* The turn of other operations may have come. */
static void continue_waiting_ops(struct mortise_task *t)
{
    struct mortise *m = MORTISE_CONTAINER_OF(t, struct mortise, spawns_task);
    struct mortise_spawn_op *op = m->spawns;

    m->spawns_queued = false;
    while (op != NULL) {
        if (!op->waits || !has_spawn_turn(op)) {
            op = op->next;
            continue;
        }
        op->waits = false;
        do_next_spawn_step(op);
        op = m->spawns; /* the list may have changed */
    }
}

static void queue_waiting_ops(struct mortise *m)
{
    if (m->spawns == NULL || m->spawns_queued)
        return;
    m->spawns_queued = true;
    m->spawns_task.run = continue_waiting_ops;
    mortise_task_make_ready(m, &m->spawns_task);
}

static void add_spawn_op(struct mortise_spawn_op *op)
{
    struct mortise_spawn_op **at = &op->m->spawns;

    while (*at != NULL)
        at = &(*at)->next;
    op->next = NULL;
    *at = op;
}

static void remove_spawn_op(struct mortise_spawn_op *op)
{
    struct mortise_spawn_op **at = &op->m->spawns;

    while (*at != NULL && *at != op)
        at = &(*at)->next;
    if (*at == NULL)
        return; /* (4) */
    *at = op->next;
    queue_waiting_ops(op->m);
}

static void finish_spawn_op(struct mortise_spawn_op *op)
{
    remove_spawn_op(op);
    mortise_stored_finish(&op->stored);
    mortise_arena_finish(&op->arena);
}

void mortise_spawns_drop(struct mortise_spawn_op *op)
{
    assert(!op->put.flying);
    finish_spawn_op(op);
}

static void spawn_put_landed(struct mortise_spawn_put *p, int result)
{
    struct mortise_spawn_op *op =
        MORTISE_CONTAINER_OF(p, struct mortise_spawn_op, put);

    finish_spawn_op(op);
    op->landed(op, result);
}

/* ---- the decision -------------------------------------------------------- */

static void report_spawn_decision(struct mortise_spawn_op *op, int rv,
                                  const struct mortise_err *err)
{
    op->changes = rv == MORTISE_OK &&
                  (!op->has_was || op->put.change.now.epoch != op->was.epoch ||
                   op->put.change.now.state != op->was.state ||
                   op->put.change.now.reports != op->was.reports);
    if (!op->changes)
        remove_spawn_op(op); /* (4) */
    op->decided(op, rv, err);
}

static void fail_spawn_op(struct mortise_spawn_op *op, int rv,
                          const struct mortise_err *err)
{
    struct mortise_err why = *err;

    if (why.code == MORTISE_OK) /* a read failed without a message */
        mortise_fail(&why, rv, "%s", mortise_result_name(rv));
    report_spawn_decision(op, rv, &why);
}

static int decide_spawn_claim(struct mortise_spawn_op *op,
                              struct mortise_err *err)
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
        mortise_spawn_make_child_id(op->child_id, op->id);
        c.child = op->child_id;
    }
    if (op->token == NULL) {
        randombytes_buf(chance, sizeof chance);
        mortise_hex_encode(op->made, chance, sizeof chance);
        c.token = op->made;
    }
    assert(op->has_was || op->graph != NULL);
    return mortise_spawn_after_claim(
        op->has_was ? &op->was : NULL, &op->tree,
        op->graph != NULL ? &op->graph->limits.spawn : NULL, &c,
        &op->put.change.now, &op->outcome, err);
}

static int decide_spawn_op(struct mortise_spawn_op *op, struct mortise_err *err)
{
    const struct mortise_spawn *was = op->has_was ? &op->was : NULL;
    struct mortise_spawn *now = &op->put.change.now;
    uint64_t now_ms = mortise_now_ms();
    int rv;

    switch (op->kind) {
    case MORTISE_SPAWN_OP_CLAIM:
        return decide_spawn_claim(op, err);
    case MORTISE_SPAWN_OP_REGISTER:
        rv = mortise_spawn_after_register(was, op->token, op->child, now_ms,
                                          now, err);
        if (rv == MORTISE_OK && now->state != was->state && op->is_taken)
            rv = mortise_fail(
                err, MORTISE_EALREADY_REGISTERED,
                "run '%s' cannot be the child of this handle: it already is a "
                "child, has children, or is an ancestor of the handle's run",
                op->child);
        return rv;
    case MORTISE_SPAWN_OP_START:
        return mortise_spawn_after_start(was, op->token, op->task, now_ms, now,
                                         err);
    case MORTISE_SPAWN_OP_ADVANCE:
        return mortise_spawn_after_advance(was, op->token, op->state, now_ms,
                                           now, err);
    case MORTISE_SPAWN_OP_REPORT:
        return mortise_spawn_after_report(was, op->attempt, op->progress,
                                          now_ms, now, err);
    case MORTISE_SPAWN_OP_SETTLE:
        return mortise_spawn_after_settle(was, op->token, op->status,
                                          op->result, op->result_size, now_ms,
                                          now, err);
    }
    assert(false);
    return MORTISE_EINVAL;
}

/* ---- data for the decision ----------------------------------------------- */

static const char *copy_op_text(struct mortise_spawn_op *op, const char *s)
{
    const char *copy = mortise_arena_strdup(&op->arena, s);

    op->starved |= copy == NULL;
    return copy;
}

static int copy_spawn_record(void *ud, const char *tenant, const char *parent,
                             const char *id, const struct mortise_spawn *s)
{
    struct mortise_spawn_op *op = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    op->was = *s;
    op->was.origin = copy_op_text(op, s->origin);
    op->was.execution = copy_op_text(op, s->execution);
    op->was.call = copy_op_text(op, s->call);
    op->was.name = copy_op_text(op, s->name);
    op->was.child = copy_op_text(op, s->child);
    op->was.token = copy_op_text(op, s->token);
    op->was.progress = copy_op_text(op, s->progress);
    if (s->result != NULL)
        op->was.result =
            mortise_arena_strndup(&op->arena, s->result, s->result_size);
    op->starved |= s->result != NULL && op->was.result == NULL;
    op->has_was = true;
    return 0;
}

/* The parent is a child itself, of the same tree. */
static int copy_parent_place(void *ud, const char *tenant, const char *parent,
                             const char *id, const struct mortise_spawn *s)
{
    struct mortise_spawn_op *op = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    op->origin = copy_op_text(op, s->origin);
    op->parent_depth = s->depth;
    return 0;
}

static int set_child_taken(void *ud, const char *tenant, const char *parent,
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

/* ---- steps of an operation ----------------------------------------------- */

static void spawn_data_read(struct mortise_read *r, int rv,
                            const struct mortise_err *err)
{
    struct mortise_spawn_op *op =
        MORTISE_CONTAINER_OF(r, struct mortise_spawn_op, read);

    struct mortise_err why;

    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        fail_spawn_op(op, rv, err);
    else if (op->starved)
        fail_spawn_op(op, mortise_nomem(&why), &why);
    else
        do_next_spawn_step(op);
}

static void read_spawn_data(struct mortise_spawn_op *op,
                            enum mortise_read_kind kind, const char *run,
                            mortise_spawn_fn *fn)
{
    op->read = (struct mortise_read){.kind = kind,
                                     .tenant = op->tenant,
                                     .run = run,
                                     .id = op->id,
                                     .spawn = fn,
                                     .ud = op,
                                     .done = spawn_data_read};
    mortise_store_read(op->m->store, &op->read);
}

static void parent_graph_read(struct mortise_stored_read *s, int rv,
                              const struct mortise_err *err)
{
    struct mortise_spawn_op *op =
        MORTISE_CONTAINER_OF(s, struct mortise_spawn_op, stored);

    if (rv != MORTISE_OK) {
        fail_spawn_op(op, rv, err);
        return;
    }
    op->graph = s->graph;
    do_next_spawn_step(op);
}

static void spawning_head_read(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err)
{
    struct mortise_spawn_op *op =
        MORTISE_CONTAINER_OF(s, struct mortise_spawn_op, stored);
    struct mortise_err why;

    if (rv == MORTISE_OK && mortise_run_has_ended(s->head.status)) {
        mortise_fail(&why, MORTISE_ESTATE,
                     "run %s has ended and cannot spawn runs", op->parent);
        fail_spawn_op(op, MORTISE_ESTATE, &why);
    } else if (rv != MORTISE_OK) {
        fail_spawn_op(op, rv, err);
    } else {
        mortise_stored_read_graph(s, parent_graph_read);
    }
}

static void wait_for_spawn_turn(struct mortise_spawn_op *op)
{
    if (op->origin == NULL)
        op->origin = op->parent; /* the parent is no child: it is the origin */
    queue_waiting_ops(op->m);    /* operations that waited because this tree was
                                    unknown */
    op->waits = !has_spawn_turn(op);
    if (!op->waits)
        do_next_spawn_step(op);
}

static void make_spawn_decision(struct mortise_spawn_op *op)
{
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = decide_spawn_op(op, &err);

    op->put.change.parent = op->parent;
    op->put.change.id = op->id;
    op->put.change.from_epoch = op->has_was ? op->was.epoch : 0;
    op->put.change.from_reports = op->has_was ? op->was.reports : 0;
    op->put.change.from_state = op->has_was ? op->was.state : 0;
    op->put.landed = spawn_put_landed;
    report_spawn_decision(op, rv, &err);
}

/* The next step of an operation. */
enum step {
    PLACE = 1, /* of the parent in its tree */
    TURN,
    RECORD,
    COUNTERS,
    GRAPH,      /* CLAIMS of a new record, if the caller has no graph */
    CHILD,      /* REGISTERS: is it already a child? */
    CHILD_TREE, /* ... or has it spawned? */
    DECISION
};

static void do_next_spawn_step(struct mortise_spawn_op *op)
{
    bool registers = op->kind == MORTISE_SPAWN_OP_REGISTER;

    if (op->step == CHILD_TREE && op->read.found.tree.total > 0)
        op->is_taken = true;
    if (op->step == COUNTERS)
        op->tree = op->read.found.tree;
    op->step++;
    if (op->step == GRAPH && (op->kind != MORTISE_SPAWN_OP_CLAIM ||
                              op->graph != NULL || op->has_was))
        op->step = CHILD;
    if (op->step == CHILD && !registers)
        op->step = DECISION;
    switch ((enum step)op->step) {
    case PLACE:
        read_spawn_data(op, MORTISE_READ_SPAWN_OF, op->parent,
                        copy_parent_place);
        break;
    case TURN:
        wait_for_spawn_turn(op);
        break;
    case RECORD:
        read_spawn_data(op, MORTISE_READ_SPAWN, op->parent, copy_spawn_record);
        break;
    case COUNTERS:
        read_spawn_data(op, MORTISE_READ_SPAWN_TREE, op->origin, NULL);
        break;
    case GRAPH:
        mortise_stored_read_head(op->m, &op->stored, op->tenant, op->parent,
                                 spawning_head_read);
        break;
    case CHILD:
        op->is_taken = strcmp(op->child, op->parent) == 0 ||
                       strcmp(op->child, op->origin) == 0;
        read_spawn_data(op, MORTISE_READ_SPAWN_OF, op->child, set_child_taken);
        break;
    case CHILD_TREE:
        read_spawn_data(op, MORTISE_READ_SPAWN_TREE, op->child, NULL);
        break;
    case DECISION:
        make_spawn_decision(op);
        break;
    }
}

void mortise_spawns_begin(struct mortise *m, struct mortise_spawn_op *op)
{
    assert_on_loop(m);
    assert(op->decided != NULL && op->landed != NULL);
    op->m = m;
    mortise_arena_init(&op->arena, m->mem);
    if (op->kind == MORTISE_SPAWN_OP_CLAIM)
        mortise_spawn_make_id(op->id, m->store->identity, MORTISE_STORE_ID,
                              op->tenant, op->parent, op->execution, op->call);
    add_spawn_op(op);
    do_next_spawn_step(op);
}
