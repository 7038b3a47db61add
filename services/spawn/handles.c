/* handles.c -- host calls about spawn handles.
 *
 * The child of a handle is managed by the plugin, or (`native`) it is a run of
 * the same store (children.c).
 *
 *   spawn.claim/1    {call, name, task?, detached?, native?, token?}
 *                    {outcome, handle, name, state, token?, child?,
 *                    terminal_status?, terminal_result?}
 *   spawn.register/1 {handle, token, child}             {handle, name, state}
 *   spawn.advance/1  {handle, token, state}             {handle, name, state}
 *   spawn.settle/1   {handle, token, status, result?}   {handle, name, state}
 *   spawn.report/1   {progress?, attempt?}           {handle?, name?, attempt,
 *                                                    progress?}
 *
 * `call` identifies the spawn within the execution.  It is the same in a replay
 * and in a later attempt, which thereby finds the child of the earlier one.  A
 * run can use only its own handles; others are not found.
 *
 * Each call is a put of the run: the decision is made here from the stored
 * record, and its answer is committed together with the change
 * (core/run/asks/step.c).  A rejection is recorded, too; its message begins
 * with the code: "E_LIMIT: ...".
 *
 * A result or name that contains a secret is rejected: only references to
 * secrets are stored. */
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/engine/common/secret_store.h"
#include "services/spawn/handles.h"
#include "core/engine/runs/call.h"
#include "core/run/run.h"
#include "services/spawn/methods.h"

/* ---- bodies ------------------------------------------------------------- */

static int32_t reject_handle_member(char *words, const char *member,
                                    const char *takes)
{
    return mortise_ask_format_error(words, MORTISE_S_INVALID, "%s takes %s",
                                    member, takes);
}

int32_t mortise_handles_check_members(const struct mortise_asked *a,
                                      const char *const *members,
                                      const char *form, char *words)
{
    json_t *body = mortise_json_unconst(a->body);
    const char *key;
    json_t *value;

    json_object_foreach(body, key, value)
    {
        size_t i = 0;

        while (members[i] != NULL && strcmp(members[i], key) != 0)
            i++;
        if (members[i] == NULL)
            return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                            "a request of %s must be %s",
                                            a->method_name, form);
    }
    return MORTISE_S_OK;
}

int32_t mortise_handles_check_text(const struct mortise_asked *a,
                                   const char *member, size_t most,
                                   bool optional, char *words)
{
    const json_t *value = json_object_get(a->body, member);
    const char *text = json_string_value(value);
    struct mortise_err why;

    if (value == NULL && optional)
        return MORTISE_S_OK;
    if (text == NULL || strlen(text) != json_string_length(value))
        return reject_handle_member(words, member, "text");
    if (mortise_utf8_check_line(member, text, most, &why) == MORTISE_OK)
        return MORTISE_S_OK;
    return mortise_ask_format_error(words, MORTISE_S_INVALID, "%s", why.msg);
}

const char *mortise_handles_get_text(const struct mortise_asked *a,
                                     const char *member)
{
    return json_string_value(json_object_get(a->body, member));
}

int32_t mortise_handles_check_node(const struct mortise_asked *a, char *words)
{
    const struct mortise_node *n = a->call->node;

    if (n->type == MORTISE_NODE_GMI || n->type == MORTISE_NODE_LEAF)
        return MORTISE_S_OK;
    return mortise_ask_format_error(
        words, MORTISE_S_UNSUPPORTED,
        "only nodes of type gmi or leaf can have native children");
}

/* Check that a member is a boolean or absent. */
static int32_t check_handle_flag(const struct mortise_asked *a,
                                 const char *member, char *words)
{
    const json_t *value = json_object_get(a->body, member);

    return value == NULL || json_is_boolean(value)
               ? MORTISE_S_OK
               : reject_handle_member(words, member, "true or false");
}

static bool is_schema_or_absent(const json_t *v)
{
    return v == NULL || json_is_object(v);
}

int32_t mortise_handles_check_task(const struct mortise_asked *a, char *words)
{
    const json_t *task = json_object_get(a->body, "task");
    const json_t *result = json_object_get(task, "result_schema");
    const json_t *message = json_object_get(task, "message_schema");
    const json_t *seed = json_object_get(task, "seed");
    size_t n = 1 + (size_t)(result != NULL) + (size_t)(message != NULL) +
               (size_t)(seed != NULL);

    if (json_string_length(json_object_get(task, "instructions")) == 0 ||
        !is_schema_or_absent(result) || !is_schema_or_absent(message) ||
        (seed != NULL && json_string_length(seed) == 0) ||
        json_object_size(task) != n)
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "the task of a native child must be {instructions: text, "
            "result_schema?: a schema, message_schema?: a schema, seed?: a "
            "step of model.call/1}");
    if (seed != NULL && a->call->is_held)
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "guardrails withhold the replies of this node's model, so a child "
            "cannot start with its conversation (seed)");
    return MORTISE_S_OK;
}

static int32_t check_native_claim(const struct mortise_asked *a, char *words)
{
    int32_t status = mortise_handles_check_node(a, words);

    return status == MORTISE_S_OK ? mortise_handles_check_task(a, words)
                                  : status;
}

static int32_t check_handle_claim(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"call",   "name",  "task", "detached",
                                          "native", "token", NULL};
    int32_t status = mortise_handles_check_members(
        a, members, "{call, name, task?, detached?, native?, token?}", words);

    if (status == MORTISE_S_OK)
        status = mortise_handles_check_text(a, "call", MORTISE_SPAWN_TEXT,
                                            false, words);
    if (status == MORTISE_S_OK)
        status = mortise_handles_check_text(a, "name", MORTISE_SPAWN_TEXT,
                                            false, words);
    if (status == MORTISE_S_OK)
        status = mortise_handles_check_text(a, "token", MORTISE_SPAWN_TEXT,
                                            true, words);
    if (status == MORTISE_S_OK)
        status = check_handle_flag(a, "detached", words);
    if (status == MORTISE_S_OK)
        status = check_handle_flag(a, "native", words);
    return status == MORTISE_S_OK &&
                   json_is_true(json_object_get(a->body, "native"))
               ? check_native_claim(a, words)
               : status;
}

int32_t mortise_handles_check_attempt(const json_t *attempt, char *words)
{
    json_int_t n = json_integer_value(attempt);

    if (attempt == NULL ||
        (json_is_integer(attempt) && n > 0 && n <= INT32_MAX))
        return MORTISE_S_OK;
    return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                    "attempt must be a number, at least 1");
}

int32_t mortise_handles_check_holder(const struct mortise_asked *a, char *words)
{
    int32_t status = mortise_handles_check_text(
        a, "handle", MORTISE_SPAWN_HANDLE_MAX - 1, false, words);

    return status == MORTISE_S_OK
               ? mortise_handles_check_text(a, "token", MORTISE_SPAWN_TEXT,
                                            false, words)
               : status;
}

static int32_t check_handle_register(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", "token", "child", NULL};
    int32_t status = mortise_handles_check_members(
        a, members, "{handle, token, child}", words);

    if (status == MORTISE_S_OK)
        status = mortise_handles_check_holder(a, words);
    return status == MORTISE_S_OK
               ? mortise_handles_check_text(a, "child", MORTISE_SPAWN_TEXT,
                                            false, words)
               : status;
}

/* DISPATCHED or RUNNING; 0: neither. */
static enum mortise_spawn_state
parse_requested_state(const struct mortise_asked *a)
{
    const char *word = mortise_handles_get_text(a, "state");

    for (int s = MORTISE_SPAWN_DISPATCHED; s <= MORTISE_SPAWN_RUNNING; s++)
        if (word != NULL && strcmp(word, mortise_spawn_state_name(s)) == 0)
            return (enum mortise_spawn_state)s;
    return (enum mortise_spawn_state)0;
}

static int32_t check_handle_advance(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", "token", "state", NULL};
    int32_t status = mortise_handles_check_members(
        a, members, "{handle, token, state}", words);

    if (status == MORTISE_S_OK)
        status = mortise_handles_check_holder(a, words);
    if (status == MORTISE_S_OK && parse_requested_state(a) == 0)
        status = reject_handle_member(words, "state", "dispatched or running");
    return status;
}

static int32_t check_handle_settle(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", "token", "status", "result",
                                          NULL};
    const char *word = mortise_handles_get_text(a, "status");
    int32_t status = mortise_handles_check_members(
        a, members, "{handle, token, status, result?}", words);

    if (status == MORTISE_S_OK)
        status = mortise_handles_check_holder(a, words);
    if (status == MORTISE_S_OK &&
        (word == NULL ||
         mortise_spawn_parse_status(word) == MORTISE_SPAWN_UNENDED))
        status =
            reject_handle_member(words, "status",
                                 "completed, failed, cancelled, timed_out, "
                                 "max_iterations, budget or abandoned");
    return status;
}

/* ---- operations --------------------------------------------------------- */

struct handle_op {
    struct mortise_spawn_op op;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: the call was cancelled */
    json_t *body;                /* a reference; op's texts are in it */
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char path[MORTISE_EXEC_PATH];
    char *result; /* JSON; NULL: none */
};

static void free_handle_op(struct handle_op *h)
{
    json_decref(h->body);
    mortise_release_str(h->m->mem, h->result);
    mortise_release(h->m->mem, h, sizeof *h);
}

static void cancel_handle_op(struct mortise_asked *a)
{
    struct handle_op *h = a->data;

    if (h != NULL)
        h->asked = NULL;
    a->data = NULL;
}

/* Encode a child's report about itself. */
static json_t *encode_child_report(const struct handle_op *h, uint32_t attempt,
                                   const char *progress)
{
    const struct mortise_spawn_op *op = &h->op;
    char handle[MORTISE_SPAWN_HANDLE_MAX];

    mortise_spawns_print_handle(handle, op->parent, op->id);
    return json_pack("{s:s, s:s, s:s, s:I, s:s*}", "handle", handle, "name",
                     op->put.change.now.name, "state",
                     mortise_spawn_state_name((int)op->put.change.now.state),
                     "attempt", (json_int_t)attempt, "progress", progress);
}

/* Encode {handle, name, state, outcome?, ...}; NULL: memory ran out. */
static json_t *encode_handle_answer(const struct handle_op *h)
{
    const struct mortise_spawn_op *op = &h->op;
    const struct mortise_spawn *now = &op->put.change.now;
    bool claims = op->kind == MORTISE_SPAWN_OP_CLAIM;
    const char *status = mortise_spawn_status_name((int)now->status);
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    json_t *result = NULL;

    if (op->kind == MORTISE_SPAWN_OP_REPORT)
        return encode_child_report(h, now->attempt, op->progress);
    mortise_spawns_print_handle(handle, op->parent, op->id);
    if (!claims)
        return json_pack("{s:s, s:s, s:s}", "handle", handle, "name", now->name,
                         "state", mortise_spawn_state_name((int)now->state));
    if (now->result != NULL &&
        mortise_json_parse_written(&result, now->result, now->result_size,
                                   NULL) != MORTISE_OK)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*, s:s*, s:o*}", "outcome",
                     mortise_spawn_outcome_name((int)op->outcome), "handle",
                     handle, "name", now->name, "state",
                     mortise_spawn_state_name((int)now->state), "token",
                     mortise_spawn_has_ended(now) ? NULL : now->token, "child",
                     now->child[0] != '\0' ? now->child : NULL,
                     "terminal_status", status, "terminal_result", result);
}

bool mortise_handles_is_record_error(int rv)
{
    return rv == MORTISE_ENOTFOUND || rv == MORTISE_EDETERMINISM ||
           rv == MORTISE_ELIMIT || rv == MORTISE_ESTALE_TOKEN ||
           rv == MORTISE_EALREADY_SETTLED || rv == MORTISE_ENOT_RUNNING ||
           rv == MORTISE_EDENIED || rv == MORTISE_EALREADY_REGISTERED ||
           rv == MORTISE_ESTALE_ATTEMPT;
}

void mortise_handles_answer_error(struct mortise_asked *a, int rv,
                                  const struct mortise_err *err)
{
    bool is_word = mortise_handles_is_record_error(rv) || rv == MORTISE_EINVAL;
    char words[MORTISE_HOST_CALL_WORDS];

    snprintf(words, sizeof words, "%.32s: %.440s", mortise_result_name(rv),
             err->msg);
    mortise_host_call_answer(a,
                             is_word                ? MORTISE_S_DENIED
                             : rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM
                                                    : MORTISE_S_IO,
                             NULL, words);
}

bool mortise_handles_parse(const struct mortise_asked *a,
                           char parent[MORTISE_NAME_MAX + 1],
                           char id[MORTISE_SPAWN_ID])
{
    return mortise_spawns_parse_handle(mortise_handles_get_text(a, "handle"),
                                       parent, id) &&
           strcmp(parent, a->live->id) == 0;
}

static void fail_undecided(struct mortise_asked *a, int rv, const char *words)
{
    mortise_host_call_fail_weigh(
        a, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_IO, words);
}

/* Pass the decision to the run, to be committed. */
static void pass_decision_to_run(struct handle_op *h, struct mortise_asked *a,
                                 int rv, const struct mortise_err *err)
{
    if (rv != MORTISE_OK)
        snprintf(a->words, sizeof a->words, "%.32s: %.440s",
                 mortise_result_name(rv), err->msg);
    else
        a->decided = encode_handle_answer(h);
    if (rv == MORTISE_OK && a->decided == NULL) {
        fail_undecided(a, MORTISE_ENOMEM, "out of memory");
        return;
    }
    a->spawn = h->op.changes ? &h->op.put.change : NULL;
    mortise_host_call_answer_weigh(a, rv != MORTISE_OK);
}

static void on_handle_decided(struct mortise_spawn_op *op, int rv,
                              const struct mortise_err *err)
{
    struct handle_op *h = MORTISE_CONTAINER_OF(op, struct handle_op, op);
    struct mortise_asked *a = h->asked;

    if (a != NULL) {
        a->data = NULL;
        if (rv == MORTISE_OK || mortise_handles_is_record_error(rv))
            pass_decision_to_run(h, a, rv, err);
        else
            fail_undecided(a, rv, err->msg);
    }
    if (op->put.flying)
        return;
    mortise_spawns_drop(op);
    free_handle_op(h);
}

static void on_handle_committed(struct mortise_spawn_op *op, int result)
{
    (void)result; /* the run handles its commit's result */
    free_handle_op(MORTISE_CONTAINER_OF(op, struct handle_op, op));
}

/* NULL: memory ran out, or the body contains a secret; the call was answered.
 */
static struct handle_op *new_handle_op(struct mortise_asked *a,
                                       enum mortise_spawn_op_kind kind)
{
    struct handle_op *h;

    if (mortise_secret_store_has_secret_in(a->m->secret_store, a->body)) {
        mortise_host_call_fail_weigh(a, MORTISE_S_DENIED,
                                     "a value to be stored contains a secret");
        return NULL;
    }
    h = mortise_zalloc(a->m->mem, sizeof *h);
    if (h == NULL) {
        fail_undecided(a, MORTISE_ENOMEM, "out of memory");
        return NULL;
    }
    h->m = a->m;
    h->asked = a;
    h->body = json_incref(mortise_json_unconst(a->body));
    strcpy(h->tenant, a->live->tenant); /* live.c admits no longer name */
    strcpy(h->parent, a->live->id);
    snprintf(h->path, sizeof h->path, "%s", a->node_path);
    h->op =
        (struct mortise_spawn_op){.kind = kind,
                                  .tenant = h->tenant,
                                  .parent = h->parent,
                                  .token = mortise_handles_get_text(a, "token"),
                                  .decided = on_handle_decided,
                                  .landed = on_handle_committed};
    a->data = h;
    return h;
}

static void decide_handle_claim(struct mortise_asked *a)
{
    const json_t *task = json_object_get(a->body, "task");
    struct handle_op *h = new_handle_op(a, MORTISE_SPAWN_OP_CLAIM);
    json_t *none = json_null();

    if (h == NULL)
        return;
    h->op.execution = h->path;
    h->op.call = mortise_handles_get_text(a, "call");
    h->op.name = mortise_handles_get_text(a, "name");
    h->op.detached = json_is_true(json_object_get(a->body, "detached"));
    h->op.native = json_is_true(json_object_get(a->body, "native"));
    h->op.graph = a->live->graph;
    if (mortise_json_digest(h->op.task, task != NULL ? task : none,
                            a->m->mem) != MORTISE_OK) {
        a->data = NULL;
        free_handle_op(h);
        fail_undecided(a, MORTISE_ENOMEM, "out of memory");
        return;
    }
    mortise_spawns_begin(a->m, &h->op);
}

/* A handle of another run is reported as not found. */
static void start_handle_op(struct mortise_asked *a, struct handle_op *h)
{
    char parent[MORTISE_NAME_MAX + 1];

    if (mortise_handles_parse(a, parent, h->op.id)) {
        mortise_spawns_begin(a->m, &h->op);
        return;
    }
    a->data = NULL;
    free_handle_op(h);
    snprintf(a->words, sizeof a->words, "%s: this run has no such spawn handle",
             mortise_result_name(MORTISE_ENOTFOUND));
    mortise_host_call_answer_weigh(a, true);
}

static void decide_handle_register(struct mortise_asked *a)
{
    struct handle_op *h = new_handle_op(a, MORTISE_SPAWN_OP_REGISTER);

    if (h == NULL)
        return;
    h->op.child = mortise_handles_get_text(a, "child");
    start_handle_op(a, h);
}

static void decide_handle_advance(struct mortise_asked *a)
{
    struct handle_op *h = new_handle_op(a, MORTISE_SPAWN_OP_ADVANCE);

    if (h == NULL)
        return;
    h->op.state = parse_requested_state(a);
    start_handle_op(a, h);
}

static void decide_handle_settle(struct mortise_asked *a)
{
    const json_t *result = json_object_get(a->body, "result");
    struct handle_op *h = new_handle_op(a, MORTISE_SPAWN_OP_SETTLE);
    struct mortise_err why;
    int rv = MORTISE_OK;

    if (h == NULL)
        return;
    h->op.status =
        mortise_spawn_parse_status(mortise_handles_get_text(a, "status"));
    if (result != NULL)
        rv = mortise_spawns_encode_result(a->m, result, &h->result, &why);
    h->op.result = h->result;
    h->op.result_size = h->result != NULL ? strlen(h->result) : 0;
    if (rv == MORTISE_OK) {
        start_handle_op(a, h);
        return;
    }
    a->data = NULL;
    free_handle_op(h);
    if (rv == MORTISE_EINVAL)
        mortise_host_call_fail_weigh(a, MORTISE_S_INVALID, why.msg);
    else
        fail_undecided(a, rv, why.msg);
}

/* ---- reports ------------------------------------------------------------ */

static int32_t check_handle_report(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"progress", "attempt", NULL};
    const json_t *progress = json_object_get(a->body, "progress");
    const json_t *attempt = json_object_get(a->body, "attempt");
    int32_t status = mortise_handles_check_members(
        a, members, "{progress?, attempt?}", words);

    if (status == MORTISE_S_OK && progress != NULL &&
        (!json_is_string(progress) ||
         json_string_length(progress) > MORTISE_SPAWN_PROGRESS ||
         strlen(json_string_value(progress)) != json_string_length(progress)))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "progress must be a text of at most %d bytes",
            MORTISE_SPAWN_PROGRESS);
    if (status == MORTISE_S_OK && progress != NULL && a->call->is_held)
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "guardrails withhold the replies of this node's model, so it "
            "cannot report progress as text");
    return status == MORTISE_S_OK
               ? mortise_handles_check_attempt(attempt, words)
               : status;
}

/* The attempt given, or else that of the call. */
static uint32_t get_reported_attempt(const struct mortise_asked *a)
{
    const json_t *said = json_object_get(a->body, "attempt");

    return said != NULL ? (uint32_t)json_integer_value(said)
                        : a->call->call.attempt;
}

/* A run without a handle (no child) only emits the report to its watchers. */
static void report_without_handle(struct mortise_asked *a)
{
    const char *progress = mortise_handles_get_text(a, "progress");

    a->decided =
        json_pack("{s:I, s:s*}", "attempt", (json_int_t)get_reported_attempt(a),
                  "progress", progress);
    if (a->decided == NULL)
        fail_undecided(a, MORTISE_ENOMEM, "out of memory");
    else
        mortise_host_call_answer_weigh(a, false);
}

/* Report to the handle whose child this run is. */
static void decide_handle_report(struct mortise_asked *a)
{
    const char *by = mortise_run_get_spawn_handle(a->live->run);
    struct handle_op *h;

    if (by == NULL) {
        report_without_handle(a);
        return;
    }
    h = new_handle_op(a, MORTISE_SPAWN_OP_REPORT);
    if (h == NULL)
        return;
    h->op.attempt = get_reported_attempt(a);
    h->op.progress = mortise_handles_get_text(a, "progress");
    if (mortise_spawns_parse_handle(by, h->parent, h->op.id)) {
        mortise_spawns_begin(a->m, &h->op);
        return;
    }
    a->data = NULL;
    free_handle_op(h);
    fail_undecided(a, MORTISE_ECORRUPT, "the run's spawn handle is damaged");
}

/* ---- methods ------------------------------------------------------------ */

#define HANDLE_METHOD(verb)                                                    \
    const struct mortise_host_call_method mortise_host_call_spawn_##verb = {   \
        .effect = MORTISE_HOST_CALL_PUT,                                       \
        .check = check_handle_##verb,                                          \
        .weigh = decide_handle_##verb,                                         \
        .decides = true,                                                       \
        .cancel = cancel_handle_op,                                            \
    }

HANDLE_METHOD(claim);
HANDLE_METHOD(register);
HANDLE_METHOD(advance);
HANDLE_METHOD(settle);
HANDLE_METHOD(report);
