/* children.c -- native children, for plugins whose node is of type gmi or leaf.
 *
 *   spawn.start/1 {handle, token, task}
 *                 {state, child, terminal_status?, terminal_result?}
 *   spawn.await/1  {handle}             {status, child, result?}
 *
 * The child of a handle that was claimed with `native: true` is a run.  `task`
 * is that of the claim: {instructions, result_schema?, message_schema?, seed?}.
 * `seed` names a step of model.call/1: the child starts with the messages that
 * the model got in that step.
 *
 * spawn.start/1 admits the run and sets the handle to running, in one commit.
 * If it is repeated after a crash or by a later attempt, it finds the existing
 * run and resumes it.  Therefore it is recorded as a read: the effect itself is
 * in the store.
 *
 * If the child can never start, because its graph is invalid or a plugin is
 * missing, the handle is settled as failed.
 *
 * spawn.await/1 is a step that the child's end answers (runs/children.c). */
#include <stdio.h>
#include <string.h>

#include "core/engine/common/news.h"
#include "core/engine/common/secret_store.h"
#include "services/spawn/methods.h"
#include "services/spawn/handles.h"
#include "services/model/turns.h"
#include "core/engine/runs/call.h"
#include "core/engine/runs/children.h"
#include "core/engine/runs/start.h"

/* ---- bodies ------------------------------------------------------------- */

static int32_t check_spawn_start(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", "token", "task", NULL};
    int32_t status = mortise_handles_check_members(
        a, members, "{handle, token, task}", words);

    if (status == MORTISE_S_OK)
        status = mortise_handles_check_holder(a, words);
    if (status == MORTISE_S_OK)
        status = mortise_handles_check_node(a, words);
    return status == MORTISE_S_OK ? mortise_handles_check_task(a, words)
                                  : status;
}

static int32_t check_spawn_await(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", NULL};
    int32_t status =
        mortise_handles_check_members(a, members, "{handle}", words);

    return status == MORTISE_S_OK
               ? mortise_handles_check_text(
                     a, "handle", MORTISE_SPAWN_HANDLE_MAX - 1, false, words)
               : status;
}

/* ---- spawn.start/1 ------------------------------------------------------ */

struct starting {
    struct mortise_spawn_op op;
    struct mortise_new_run run;
    struct mortise_order order;
    struct mortise_task task;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: the call was cancelled */
    struct mortise_graph *graph; /* a reference; NULL: `why` says why not */
    struct mortise_err why;
    json_t *input;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char handle[MORTISE_SPAWN_HANDLE_MAX], token[MORTISE_SPAWN_TEXT + 1];
    char name[MORTISE_SPAWN_TEXT + 1];
    char child[MORTISE_SPAWN_TEXT + 1], actor[MORTISE_SPAWN_HANDLE_MAX + 8];
    char *failure;       /* JSON error of a failed start; NULL: none */
    bool starts, landed; /* the run is starting; its commit has ended */
    int result;          /* result of the commit */
};

static void free_starting(struct starting *s)
{
    mortise_graph_unref(s->graph);
    json_decref(s->input);
    mortise_release_str(s->m->mem, s->failure);
    mortise_release(s->m->mem, s, sizeof *s);
}

static void cancel_spawn_start(struct mortise_asked *a)
{
    struct starting *s = a->data;

    if (s != NULL)
        s->asked = NULL;
    a->data = NULL;
}

static struct mortise_asked *take_waiting_call(struct starting *s)
{
    struct mortise_asked *a = s->asked;

    s->asked = NULL;
    if (a != NULL)
        a->data = NULL;
    return a;
}

/* Answer with the state of the handle. */
static void answer_spawn_start(struct starting *s)
{
    const struct mortise_spawn *now = &s->op.put.change.now;
    struct mortise_asked *a = take_waiting_call(s);
    json_t *result = NULL, *value;

    if (a == NULL)
        return;
    if (now->result != NULL)
        mortise_json_parse_written(&result, now->result, now->result_size,
                                   NULL);
    value = json_pack(
        "{s:s, s:s, s:s, s:s, s:s*, s:o*}", "handle", s->handle, "name",
        s->name, "state", mortise_spawn_state_name((int)now->state), "child",
        s->child, "terminal_status",
        mortise_spawn_status_name((int)now->status), "terminal_result", result);
    if (value != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, value, "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

/* Answer with "E_CODE: message". */
static void answer_start_error(struct starting *s, int rv,
                               const struct mortise_err *err)
{
    struct mortise_asked *a = take_waiting_call(s);

    if (a != NULL)
        mortise_handles_answer_error(a, rv, err);
}

/* Called when the run has started or failed to, and again when the commit has
 * ended; the later one answers and frees. */
static void finish_starting(struct starting *s)
{
    struct mortise_err err;

    if (s->starts || !s->landed)
        return;
    if (s->result == MORTISE_OK && s->asked == NULL)
        mortise_news_add(s->m, MORTISE_NEWS_BEGAN, s->tenant, s->handle);
    else if (s->result == MORTISE_OK)
        answer_spawn_start(s);
    else
        answer_start_error(
            s, s->result,
            (mortise_fail(&err, s->result,
                          "the engine does not know whether the child "
                          "was started; repeat the request"),
             &err));
    free_starting(s);
}

static void on_start_committed(struct mortise_spawn_op *op, int result)
{
    struct starting *s = MORTISE_CONTAINER_OF(op, struct starting, op);

    s->landed = true;
    s->result = result;
    finish_starting(s);
}

/* Can a repeated start never succeed? */
static bool is_permanent_start_error(int rv)
{
    return rv == MORTISE_ECHECK || rv == MORTISE_EINVAL ||
           rv == MORTISE_EDENIED || rv == MORTISE_EBLOCKED ||
           rv == MORTISE_EEXISTS || rv == MORTISE_ENOTFOUND;
}

/* Settle the handle as failed, in a commit of its own. */
static int settle_failed_start(struct starting *s, int rv,
                               const struct mortise_err *why,
                               struct mortise_err *err)
{
    json_t *error = json_pack("{s:{s:s, s:s}}", "error", "code",
                              mortise_result_name(rv), "message", why->msg);
    int done = error != NULL
                   ? mortise_spawns_encode_result(s->m, error, &s->failure, err)
                   : mortise_nomem(err);

    json_decref(error);
    if (done != MORTISE_OK)
        return done;
    mortise_spawn_after_end(&s->op.was, MORTISE_SPAWN_FAILED, s->failure,
                            strlen(s->failure), s->op.put.change.now.updated_ms,
                            &s->op.put.change.now);
    return mortise_commits_take_spawn(s->m, s->tenant, &s->op.put, err);
}

/* The child cannot start: settle the handle if that is permanent, and answer.
 */
static void fail_child_start(struct starting *s, int rv,
                             const struct mortise_err *why)
{
    struct mortise_err err = *why;
    int done = is_permanent_start_error(rv)
                   ? settle_failed_start(s, rv, why, &err)
                   : rv;

    if (s->op.put.flying)
        return;
    mortise_spawns_drop(&s->op);
    answer_start_error(s, done, &err);
    free_starting(s);
}

static void on_child_started(struct mortise_new_run *n,
                             struct mortise_live *live,
                             const struct mortise_err *err)
{
    struct starting *s = MORTISE_CONTAINER_OF(n, struct starting, run);
    struct mortise_err why;

    s->starts = false;
    if (live == NULL)
        fail_child_start(s, err->code, err);
    else if (!s->landed && !s->op.put.flying) /* the commit was never made */
        fail_child_start(s, mortise_nomem(&why), &why);
    else
        finish_starting(s); /* answers if the commit has ended */
}

static bool is_resumable_child(const struct mortise_head_copy *head)
{
    return mortise_live_is_recoverable(head->status, head->reason);
}

static void on_child_resumed(struct mortise_order *o,
                             const struct mortise_err *err)
{
    struct starting *s = MORTISE_CONTAINER_OF(o, struct starting, order);

    (void)err; /* a run that is stopped has started, too */
    answer_spawn_start(s);
    free_starting(s);
}

/* The child was started before: resume its run unless it has ended or is
 * loaded. */
static void resume_existing_child(struct starting *s)
{
    bool over = mortise_spawn_has_ended(&s->op.put.change.now);

    if (over || mortise_live_is_loaded_or_loading(s->m, s->tenant, s->child))
        answer_spawn_start(s); /* copies from the operation, which ends now */
    mortise_spawns_drop(&s->op);
    if (s->asked == NULL) {
        free_starting(s);
        return;
    }
    s->order = (struct mortise_order){.wants = is_resumable_child,
                                      .done = on_child_resumed};
    mortise_live_recover(s->m, s->tenant, s->child, &s->order);
}

static void start_child_run(struct starting *s)
{
    s->starts = true;
    s->run = (struct mortise_new_run){.input = s->input,
                                      .actor = s->actor,
                                      .spawned_by = s->handle,
                                      .spawn = &s->op.put.change,
                                      .done = on_child_started};
    mortise_live_start(s->m, &s->run, s->graph, s->tenant, s->child);
}

static void on_start_decided(struct mortise_spawn_op *op, int rv,
                             const struct mortise_err *err)
{
    struct starting *s = MORTISE_CONTAINER_OF(op, struct starting, op);

    if (rv != MORTISE_OK) {
        answer_start_error(s, rv, err);
        mortise_spawns_drop(op);
        free_starting(s);
        return;
    }
    strcpy(s->child, op->put.change.now.child); /* at most as long */
    strcpy(s->name, op->put.change.now.name);
    if (!op->changes)
        resume_existing_child(s);
    else if (s->graph == NULL)
        fail_child_start(s, s->why.code, &s->why);
    else
        start_child_run(s);
}

/* Put the messages of the seed.  MORTISE_EINVAL: there is no such step. */
static int put_seed_messages(struct starting *s, const struct mortise_asked *a,
                             const json_t *task)
{
    const char *seed = json_string_value(json_object_get(task, "seed"));
    json_t *told;

    if (seed == NULL)
        return MORTISE_OK;
    told = mortise_turns_list_sent(a, seed, &s->why);
    if (told == NULL)
        return s->why.code;
    if (json_object_set_new(s->input, "messages", told) != 0)
        return mortise_nomem(&s->why);
    return mortise_secret_store_has_secret_in(s->m->secret_store, s->input)
               ? mortise_fail(
                     &s->why, MORTISE_EINVAL,
                     "the child cannot start with the parent's conversation: "
                     "the run would store it, and it contains a secret")
               : MORTISE_OK;
}

static int prepare_child(struct starting *s, const struct mortise_asked *a)
{
    const json_t *task = json_object_get(a->body, "task");
    int rv = mortise_json_digest(s->op.task, task, s->m->mem);

    s->input = json_pack("{s:O}", "instructions",
                         json_object_get(task, "instructions"));
    if (rv != MORTISE_OK || s->input == NULL)
        return mortise_nomem(&s->why);
    rv = put_seed_messages(s, a, task);
    if (rv == MORTISE_OK)
        rv = mortise_child_make_graph(a->live, a->call->node, "agent", task,
                                      &s->graph, &s->why);
    return rv == MORTISE_ENOMEM
               ? rv
               : MORTISE_OK; /* on_start_decided() reports it */
}

/* As a task of the loop, after the calling run's step, because this starts
 * another run. */
static void begin_spawn_op(struct mortise_task *t)
{
    struct starting *s = MORTISE_CONTAINER_OF(t, struct starting, task);

    mortise_spawns_begin(s->m, &s->op);
}

static void start_native_child(struct mortise_asked *a)
{
    struct starting *s;

    if (mortise_secret_store_has_secret_in(a->m->secret_store, a->body)) {
        mortise_host_call_answer(a, MORTISE_S_DENIED, NULL,
                                 "a value to be stored contains a secret");
        return;
    }
    s = mortise_zalloc(a->m->mem, sizeof *s);
    if (s == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
        return;
    }
    s->m = a->m;
    s->asked = a;
    a->data = s;
    strcpy(s->tenant, a->live->tenant); /* live.c admits no longer name */
    strcpy(s->handle, mortise_handles_get_text(a, "handle"));
    strcpy(s->token, mortise_handles_get_text(a, "token"));
    snprintf(s->actor, sizeof s->actor, "spawn %s", s->handle);
    if (!mortise_handles_parse(a, s->parent, s->op.id)) {
        answer_start_error(s, MORTISE_ENOTFOUND,
                           (mortise_fail(&s->why, MORTISE_ENOTFOUND,
                                         "this run has no such spawn handle"),
                            &s->why));
        free_starting(s);
        return;
    }
    if (prepare_child(s, a) != MORTISE_OK) {
        answer_start_error(s, MORTISE_ENOMEM, &s->why);
        free_starting(s);
        return;
    }
    s->op.kind = MORTISE_SPAWN_OP_START;
    s->op.tenant = s->tenant;
    s->op.parent = s->parent;
    s->op.token = s->token;
    s->op.decided = on_start_decided;
    s->op.landed = on_start_committed;
    s->task.run = begin_spawn_op;
    mortise_task_make_ready(s->m, &s->task);
}

const struct mortise_host_call_method mortise_host_call_spawn_start = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_spawn_start,
    .start = start_native_child,
    .cancel = cancel_spawn_start,
};

/* ---- spawn.await/1 ------------------------------------------------------ */

struct seeking {
    struct mortise *m;
    struct mortise_asked *asked;
    struct mortise_read read;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char id[MORTISE_SPAWN_ID];
};

/* Add the child's run to the request, for display.  A native child's run is
 * known since the claim, so repeated requests are identical. */
static int add_child_to_await(void *ud, const char *tenant, const char *parent,
                              const char *id, const struct mortise_spawn *s)
{
    struct seeking *seeking = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    if (s->native && seeking->asked != NULL)
        json_object_set_new(mortise_json_unconst(seeking->asked->body), "child",
                            json_string(s->child));
    return 0;
}

static void fail_unknown_handle(struct mortise_asked *a)
{
    snprintf(a->words, sizeof a->words, "%s: this run has no such spawn handle",
             mortise_result_name(MORTISE_ENOTFOUND));
    mortise_host_call_answer_weigh(a, true);
}

static void on_handle_found(struct mortise_read *r, int rv,
                            const struct mortise_err *err)
{
    struct seeking *s = MORTISE_CONTAINER_OF(r, struct seeking, read);
    struct mortise_asked *a = s->asked;

    (void)err;
    mortise_release(s->m->mem, s, sizeof *s);
    if (a == NULL)
        return;
    a->data = NULL;
    if (rv == MORTISE_ENOTFOUND)
        fail_unknown_handle(a);
    else
        mortise_host_call_answer_weigh(a, false);
}

static void cancel_handle_search(struct mortise_asked *a)
{
    struct seeking *s = a->data;

    if (s != NULL)
        s->asked = NULL;
    a->data = NULL;
}

/* Check that the handle exists; otherwise the run would wait forever. */
static void find_awaited_handle(struct mortise_asked *a)
{
    struct seeking *s = mortise_zalloc(a->m->mem, sizeof *s);

    if (s == NULL) {
        mortise_host_call_answer_weigh(a,
                                       false); /* the run reports any error */
        return;
    }
    s->m = a->m;
    s->asked = a;
    strcpy(s->tenant, a->live->tenant);
    if (!mortise_handles_parse(a, s->parent, s->id)) {
        mortise_release(s->m->mem, s, sizeof *s);
        fail_unknown_handle(a);
        return;
    }
    a->data = s;
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN,
                                    .tenant = s->tenant,
                                    .run = s->parent,
                                    .id = s->id,
                                    .spawn = add_child_to_await,
                                    .ud = s,
                                    .done = on_handle_found};
    mortise_store_read(s->m->store, &s->read);
}

const struct mortise_host_call_method mortise_host_call_spawn_await = {
    .effect = MORTISE_HOST_CALL_CHILD,
    .check = check_spawn_await,
    .weigh = find_awaited_handle,
    .cancel = cancel_handle_search,
};
