/* api_spawn.c -- the functions of mortise.h for spawn handles.
 *
 * As in api.c, a function submits its operation and turns the loop until it is
 * decided and on disk.  If the record changed between the two, the operation is
 * decided again: a child or a parent in this store ended in between. */
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/engine/common/secret_store.h"
#include "core/engine/runs/spawns.h"
#include "core/json/value.h"
#include "core/api/api.h"

/* An operation on the stack of an API function that waits for it. */
struct spawn_op_wait {
    struct mortise_spawn_op op;
    bool over;
    int rv;
    struct mortise_err err;
    struct mortise_spawn_claimed *out; /* CLAIMS */
};

/* ---- the result of a claim ----------------------------------------------- */

static void copy_record_text(char *to, size_t size, const char *from)
{
    assert(strlen(from) < size); /* the store's limit */
    (void)size;
    strcpy(to, from);
}

static int fill_claimed(struct spawn_op_wait *w)
{
    const struct mortise_spawn *now = &w->op.put.change.now;
    struct mortise_spawn_claimed *out = w->out;

    out->outcome = w->op.outcome;
    out->state = now->state;
    out->terminal_status = now->status;
    mortise_spawns_print_handle(out->handle, w->op.parent, w->op.id);
    copy_record_text(out->child, sizeof out->child, now->child);
    if (!mortise_spawn_has_ended(now))
        copy_record_text(out->token, sizeof out->token, now->token);
    if (now->result == NULL)
        return MORTISE_OK;
    out->terminal_result =
        mortise_strndup(w->op.m->mem, now->result, now->result_size);
    return out->terminal_result != NULL ? MORTISE_OK : mortise_nomem(&w->err);
}

/* ---- waiting ------------------------------------------------------------- */

static void handle_landed(struct mortise_spawn_op *op, int result)
{
    struct spawn_op_wait *w =
        MORTISE_CONTAINER_OF(op, struct spawn_op_wait, op);

    w->over = true;
    w->rv = result;
    if (result != MORTISE_OK && result != MORTISE_ECONFLICT)
        mortise_fail(
            &w->err, result,
            "a write to the store failed, so it is unknown whether the spawn "
            "handle changed; open the store again to find out");
}

static void handle_decided(struct mortise_spawn_op *op, int rv,
                           const struct mortise_err *err)
{
    struct spawn_op_wait *w =
        MORTISE_CONTAINER_OF(op, struct spawn_op_wait, op);

    if (rv == MORTISE_OK && w->out != NULL)
        rv = fill_claimed(w);
    else if (rv != MORTISE_OK)
        w->err = *err;
    if (rv == MORTISE_OK && op->changes)
        rv = mortise_commits_take_spawn(op->m, op->tenant, &op->put, &w->err);
    w->rv = rv;
    if (op->put.flying)
        return;
    w->over = true;
    mortise_spawns_drop(op);
}

static void clear_claimed(struct mortise *m, struct mortise_spawn_claimed *out)
{
    uint32_t size = out->size;

    mortise_release_str(m->mem, out->terminal_result);
    *out = (struct mortise_spawn_claimed){.size = size};
}

/* Run the operation; `ask` is its initial state for each try. */
static int run_op_and_wait(struct mortise *m,
                           const struct mortise_spawn_op *ask,
                           struct mortise_spawn_claimed *out,
                           struct mortise_err *err)
{
    struct spawn_op_wait w;

    do {
        w = (struct spawn_op_wait){.op = *ask, .out = out};
        w.op.decided = handle_decided;
        w.op.landed = handle_landed;
        mortise_loop_enter(m);
        mortise_spawns_begin(m, &w.op);
        mortise_loop_leave(m);
        while (!w.over)
            mortise_loop_turn(m, -1);
        if (w.rv != MORTISE_OK && out != NULL)
            clear_claimed(m, out);
    } while (w.rv == MORTISE_ECONFLICT);
    if (w.rv != MORTISE_OK)
        *err = w.err;
    return w.rv;
}

/* ---- claims -------------------------------------------------------------- */

static int check_claim_fields(const struct mortise_spawn_claim *c,
                              struct mortise_err *err)
{
    int rv = mortise_name_check("tenant", tenant_or_default(c->tenant), err);

    if (c->run == NULL || c->call == NULL || c->name == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "a claim needs a run, a call and a name");
    if (rv == MORTISE_OK)
        rv = mortise_name_check("run id", c->run, err);
    if (rv == MORTISE_OK && c->execution != NULL)
        rv = mortise_utf8_check_line("execution", c->execution,
                                     MORTISE_EXEC_PATH - 1, err);
    if (rv == MORTISE_OK)
        rv = mortise_utf8_check_line("call", c->call, MORTISE_SPAWN_TEXT, err);
    if (rv == MORTISE_OK)
        rv = mortise_utf8_check_line("name", c->name, MORTISE_SPAWN_TEXT, err);
    if (rv == MORTISE_OK && c->token != NULL)
        rv =
            mortise_utf8_check_line("token", c->token, MORTISE_SPAWN_TEXT, err);
    return rv;
}

/* The digest of a JSON value, independent of blanks and the order of
 * members. */
static int compute_task_digest(const struct mortise *m, const char *text,
                               uint8_t digest[MORTISE_DIGEST],
                               struct mortise_err *err)
{
    json_t *task = json_null();
    int rv = MORTISE_OK;

    if (text != NULL)
        rv = mortise_json_parse(&task, text, strlen(text), err);
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "task");
    rv = mortise_json_digest(digest, task, m->mem);
    json_decref(task);
    return rv == MORTISE_OK ? rv : mortise_nomem(err);
}

int mortise_try_claim_spawn(struct mortise *m,
                            const struct mortise_spawn_claim *c,
                            struct mortise_spawn_claimed *out,
                            struct mortise_err *err)
{
    struct mortise_spawn_op op = {.kind = MORTISE_SPAWN_OP_CLAIM};
    int rv;

    WITH_ERR(err);
    if (c == NULL || c->size != sizeof *c || out == NULL ||
        out->size != sizeof *out || (c->flags & ~MORTISE_SPAWN_DETACHED) != 0)
        return copy_out_error(
            mortise_fail(err, MORTISE_EINVAL,
                         "claim.size, claim.flags or claimed.size is invalid"),
            err, their_err);
    *out = (struct mortise_spawn_claimed){.size = sizeof *out};
    rv = begin_api_call(m, err);
    if (rv == MORTISE_OK)
        rv = check_claim_fields(c, err);
    if (rv == MORTISE_OK)
        rv = compute_task_digest(m, c->task, op.task, err);
    if (rv != MORTISE_OK)
        return copy_out_error(rv, err, their_err);
    op.tenant = tenant_or_default(c->tenant);
    op.parent = c->run;
    op.execution = c->execution != NULL ? c->execution : "";
    op.call = c->call;
    op.name = c->name;
    op.token = c->token;
    op.detached = (c->flags & MORTISE_SPAWN_DETACHED) != 0;
    return copy_out_error(run_op_and_wait(m, &op, out, err), err, their_err);
}

/* ---- operations on a handle ---------------------------------------------- */

/* Run the operation `op` on this handle. */
static int run_handle_op(struct mortise *m, const char *tenant,
                         const char *handle, const char *token,
                         struct mortise_spawn_op *op, struct mortise_err *err)
{
    char parent[MORTISE_NAME_MAX + 1];
    int rv = begin_api_call(m, err);

    if (rv != MORTISE_OK)
        return rv;
    if (handle == NULL || token == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "a handle and its token are required");
    if (!mortise_spawns_parse_handle(handle, parent, op->id))
        return mortise_fail(err, MORTISE_ENOTFOUND, "no such spawn handle");
    op->tenant = tenant_or_default(tenant);
    op->parent = parent;
    op->token = token;
    return run_op_and_wait(m, op, NULL, err);
}

int mortise_register_child_session(struct mortise *m, const char *tenant,
                                   const char *handle, const char *token,
                                   const char *child, struct mortise_err *err)
{
    struct mortise_spawn_op op = {.kind = MORTISE_SPAWN_OP_REGISTER,
                                  .child = child};
    int rv;

    WITH_ERR(err);
    rv = mortise_utf8_check_line("child", child != NULL ? child : "",
                                 MORTISE_SPAWN_TEXT, err);
    if (rv == MORTISE_OK)
        rv = run_handle_op(m, tenant, handle, token, &op, err);
    return copy_out_error(rv, err, their_err);
}

int mortise_advance_spawn(struct mortise *m, const char *tenant,
                          const char *handle, const char *token, int state,
                          struct mortise_err *err)
{
    struct mortise_spawn_op op = {.kind = MORTISE_SPAWN_OP_ADVANCE,
                                  .state = (enum mortise_spawn_state)state};
    int rv;

    WITH_ERR(err);
    if (state == MORTISE_SPAWN_DISPATCHED || state == MORTISE_SPAWN_RUNNING)
        rv = run_handle_op(m, tenant, handle, token, &op, err);
    else
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "a spawn can be advanced only to dispatched or running; claiming, "
            "registering and settling set the other states");
    return copy_out_error(rv, err, their_err);
}

/* Parse a result; *text is the compact JSON that is stored. */
static int parse_result_text(const struct mortise *m, const char *result,
                             char **text, struct mortise_err *err)
{
    json_t *value;
    int rv;

    *text = NULL;
    if (result == NULL)
        return MORTISE_OK;
    rv = mortise_json_parse(&value, result, strlen(result), err);
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "result");
    if (mortise_secret_store_has_secret_in(m->secret_store, value))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the result contains a secret and would be stored");
    else
        rv = mortise_spawns_encode_result(m, value, text, err);
    json_decref(value);
    return rv;
}

int mortise_settle_spawn(struct mortise *m, const char *tenant,
                         const char *handle, const char *token, int status,
                         const char *result, struct mortise_err *err)
{
    struct mortise_spawn_op op = {.kind = MORTISE_SPAWN_OP_SETTLE,
                                  .status = (enum mortise_spawn_status)status};
    char *text = NULL;
    int rv;

    WITH_ERR(err);
    if (mortise_spawn_status_name(status) == NULL)
        return copy_out_error(
            mortise_fail(err, MORTISE_EINVAL,
                         "%d is not a status of an ended child (enum "
                         "mortise_spawn_status)",
                         status),
            err, their_err);
    rv = parse_result_text(m, result, &text, err);
    op.result = text;
    op.result_size = text != NULL ? strlen(text) : 0;
    if (rv == MORTISE_OK)
        rv = run_handle_op(m, tenant, handle, token, &op, err);
    mortise_release_str(m->mem, text);
    return copy_out_error(rv, err, their_err);
}
