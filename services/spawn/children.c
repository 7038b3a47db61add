/* children.c -- native children, for plugins whose node is a gmi node or a leaf:
 *
 *   spawn.start/1 {handle, token, task}
 *                 {state, child, terminal_status?, terminal_result?}
 *   spawn.await/1  {handle}             {status, child, result?}
 *
 * A handle that was claimed with `native: true` has a run for a child.  `task` is
 * what the claim had, {instructions, result_schema?, message_schema?, seed?}; `seed`
 * names a step of model.call/1: the child begins with what the model was told
 * there.  To start it admits that run
 * and has the handle running, in one commit; asked again, after a crash or by a
 * later attempt, it finds that it is there, and that it goes on.  So it is a read
 * of the run's: that it happened is in the store.
 *
 * One that cannot begin, since its graph does not stand by itself or a plugin is
 * missing, has ended with that: the handle is settled, as failed.
 *
 * To wait is a step that the child's end answers (runs/children.c). */
#include <stdio.h>
#include <string.h>

#include "core/engine/common/news.h"
#include "core/engine/common/secret_store.h"
#include "services/spawn/handles.h"
#include "services/model/turns.h"
#include "core/engine/runs/call.h"
#include "core/engine/runs/children.h"
#include "core/engine/runs/start.h"

/* ---- bodies --------------------------------------------------------------- */

static int32_t check_start(struct mortise_asked *a, char *words)
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

static int32_t check_wait(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", NULL};
    int32_t status =
        mortise_handles_check_members(a, members, "{handle}", words);

    return status == MORTISE_S_OK
               ? mortise_handles_check_text(
                     a, "handle", MORTISE_SPAWN_HANDLE_MAX - 1, false, words)
               : status;
}

/* ---- starting ------------------------------------------------------------- */

struct starting {
    struct mortise_spawn_op op;
    struct mortise_new_run run;
    struct mortise_order order;
    struct mortise_task task;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was let go of */
    struct mortise_graph *graph; /* a reference; NULL: `why` */
    struct mortise_err why;
    json_t *input;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char handle[MORTISE_SPAWN_HANDLE_MAX], token[MORTISE_SPAWN_TEXT + 1];
    char name[MORTISE_SPAWN_TEXT + 1];
    char child[MORTISE_SPAWN_TEXT + 1], actor[MORTISE_SPAWN_HANDLE_MAX + 8];
    char *failure; /* JSON, of one that could not begin; NULL */
    bool starts,
        landed; /* the run is yet to be there; its commit is answered */
    int result; /* of that */
};

static void starting_free(struct starting *s)
{
    mortise_graph_unref(s->graph);
    json_decref(s->input);
    mortise_release_str(s->m->mem, s->failure);
    mortise_release(s->m->mem, s, sizeof *s);
}

static void let_go(struct mortise_asked *a)
{
    struct starting *s = a->data;

    if (s != NULL)
        s->asked = NULL;
    a->data = NULL;
}

static struct mortise_asked *asker(struct starting *s)
{
    struct mortise_asked *a = s->asked;

    s->asked = NULL;
    if (a != NULL)
        a->data = NULL;
    return a;
}

/* Its handle says what it is; takes nothing. */
static void answer(struct starting *s)
{
    const struct mortise_spawn *now = &s->op.put.change.now;
    struct mortise_asked *a = asker(s);
    json_t *result = NULL, *value;

    if (a == NULL)
        return;
    if (now->result != NULL)
        mortise_json_read(&result, now->result, now->result_size, NULL);
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

/* "E_CODE: words" of what the handle says, or why it could not be asked. */
static void answer_error(struct starting *s, int rv,
                         const struct mortise_err *err)
{
    struct mortise_asked *a = asker(s);

    if (a != NULL)
        mortise_handles_answer_error(a, rv, err);
}

/* The run is there, or not to be, and what became of its handle is known. */
static void conclude(struct starting *s)
{
    struct mortise_err err;

    if (s->starts || !s->landed)
        return;
    if (s->result == MORTISE_OK && s->asked == NULL)
        mortise_news_put(s->m, MORTISE_NEWS_BEGAN, s->tenant, s->handle);
    else if (s->result == MORTISE_OK)
        answer(s);
    else
        answer_error(s, s->result,
                     (mortise_fail(&err, s->result,
                                   "the engine does not know whether the child "
                                   "was started; repeat the request"),
                      &err));
    starting_free(s);
}

static void landed(struct mortise_spawn_op *op, int result)
{
    struct starting *s = MORTISE_OF(op, struct starting, op);

    s->landed = true;
    s->result = result;
    conclude(s);
}

/* Is it for good that it cannot begin? */
static bool is_final(int rv)
{
    return rv == MORTISE_ECHECK || rv == MORTISE_EINVAL ||
           rv == MORTISE_EDENIED || rv == MORTISE_EBLOCKED ||
           rv == MORTISE_EEXISTS || rv == MORTISE_ENOTFOUND;
}

/* Its handle is settled by that, in a commit of its own. */
static int settle_failed(struct starting *s, int rv,
                         const struct mortise_err *why, struct mortise_err *err)
{
    json_t *error = json_pack("{s:{s:s, s:s}}", "error", "code",
                              mortise_result_name(rv), "message", why->msg);
    int done = error != NULL
                   ? mortise_spawns_result(s->m, error, &s->failure, err)
                   : mortise_nomem(err);

    json_decref(error);
    if (done != MORTISE_OK)
        return done;
    mortise_spawn_after_end(&s->op.was, MORTISE_SPAWN_FAILED, s->failure,
                            strlen(s->failure), s->op.put.change.now.updated_ms,
                            &s->op.put.change.now);
    return mortise_commits_take_spawn(s->m, s->tenant, &s->op.put, err);
}

/* It cannot begin, now or ever. */
static void cannot(struct starting *s, int rv, const struct mortise_err *why)
{
    struct mortise_err err = *why;
    int done = is_final(rv) ? settle_failed(s, rv, why, &err) : rv;

    if (s->op.put.flying)
        return;
    mortise_spawns_drop(&s->op);
    answer_error(s, done, &err);
    starting_free(s);
}

static void started(struct mortise_new_run *n, struct mortise_live *live,
                    const struct mortise_err *err)
{
    struct starting *s = MORTISE_OF(n, struct starting, run);
    struct mortise_err why;

    s->starts = false;
    if (live == NULL)
        cannot(s, err->code, err);
    else if (!s->landed && !s->op.put.flying) /* its commit was never made */
        cannot(s, mortise_nomem(&why), &why);
    else
        conclude(s); /* where its commit was answered already */
}

static bool wants(const struct mortise_head_copy *head)
{
    return mortise_live_goes_on(head->status, head->reason);
}

static void goes_on(struct mortise_order *o, const struct mortise_err *err)
{
    struct starting *s = MORTISE_OF(o, struct starting, order);

    (void)err; /* one that stands still is there all the same */
    answer(s);
    starting_free(s);
}

/* It was started before: it is over, or goes on, if it is not at work. */
static void find(struct starting *s)
{
    bool over = mortise_spawn_is_over(&s->op.put.change.now);

    if (over || mortise_live_is_here(s->m, s->tenant, s->child))
        answer(s); /* what it says is the operation's */
    mortise_spawns_drop(&s->op);
    if (s->asked == NULL) {
        starting_free(s);
        return;
    }
    s->order = (struct mortise_order){.wants = wants, .done = goes_on};
    mortise_live_recover(s->m, s->tenant, s->child, &s->order);
}

static void begin_run(struct starting *s)
{
    s->starts = true;
    s->run = (struct mortise_new_run){.input = s->input,
                                      .actor = s->actor,
                                      .spawned_by = s->handle,
                                      .spawn = &s->op.put.change,
                                      .done = started};
    mortise_live_start(s->m, &s->run, s->graph, s->tenant, s->child);
}

static void decided(struct mortise_spawn_op *op, int rv,
                    const struct mortise_err *err)
{
    struct starting *s = MORTISE_OF(op, struct starting, op);

    if (rv != MORTISE_OK) {
        answer_error(s, rv, err);
        mortise_spawns_drop(op);
        starting_free(s);
        return;
    }
    strcpy(s->child, op->put.change.now.child); /* of no greater length */
    strcpy(s->name, op->put.change.now.name);
    if (!op->changes)
        find(s);
    else if (s->graph == NULL)
        cannot(s, s->why.code, &s->why);
    else
        begin_run(s);
}

/* What the child begins with.  MORTISE_EINVAL: there is no such step. */
static int put_seed(struct starting *s, const struct mortise_asked *a,
                    const json_t *task)
{
    const char *seed = json_string_value(json_object_get(task, "seed"));
    json_t *told;

    if (seed == NULL)
        return MORTISE_OK;
    told = mortise_turns_told(a, seed, &s->why);
    if (told == NULL)
        return s->why.code;
    if (json_object_set_new(s->input, "messages", told) != 0)
        return mortise_nomem(&s->why);
    return mortise_secret_store_tells(s->m->secret_store, s->input)
               ? mortise_fail(
                     &s->why, MORTISE_EINVAL,
                     "the child cannot start with the parent's conversation: "
                     "the run would store it, and it contains a secret")
               : MORTISE_OK;
}

static int prepare(struct starting *s, const struct mortise_asked *a)
{
    const json_t *task = json_object_get(a->body, "task");
    int rv = mortise_json_digest(s->op.task, task, s->m->mem);

    s->input = json_pack("{s:O}", "instructions",
                         json_object_get(task, "instructions"));
    if (rv != MORTISE_OK || s->input == NULL)
        return mortise_nomem(&s->why);
    rv = put_seed(s, a, task);
    if (rv == MORTISE_OK)
        rv = mortise_child_graph(a->live, a->call->node, "agent", task,
                                 &s->graph, &s->why);
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK; /* else decided() says it */
}

/* Behind the step of the run that asks: another run begins here. */
static void begin(struct mortise_task *t)
{
    struct starting *s = MORTISE_OF(t, struct starting, task);

    mortise_spawns_begin(s->m, &s->op);
}

static void start(struct mortise_asked *a)
{
    struct starting *s;

    if (mortise_secret_store_tells(a->m->secret_store, a->body)) {
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
    strcpy(s->tenant, a->live->tenant); /* live.c lets no longer name in */
    strcpy(s->handle, mortise_handles_text(a, "handle"));
    strcpy(s->token, mortise_handles_text(a, "token"));
    snprintf(s->actor, sizeof s->actor, "spawn %s", s->handle);
    if (!mortise_handles_parse(a, s->parent, s->op.id)) {
        answer_error(s, MORTISE_ENOTFOUND,
                     (mortise_fail(&s->why, MORTISE_ENOTFOUND,
                                   "this run has no such spawn handle"),
                      &s->why));
        starting_free(s);
        return;
    }
    if (prepare(s, a) != MORTISE_OK) {
        answer_error(s, MORTISE_ENOMEM, &s->why);
        starting_free(s);
        return;
    }
    s->op.kind = MORTISE_SPAWN_STARTS;
    s->op.tenant = s->tenant;
    s->op.parent = s->parent;
    s->op.token = s->token;
    s->op.decided = decided;
    s->op.landed = landed;
    s->task.run = begin;
    mortise_ready(s->m, &s->task);
}

const struct mortise_host_call_method mortise_host_call_spawn_start = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_start,
    .start = start,
    .cancel = let_go,
};

/* ---- waiting -------------------------------------------------------------- */

struct seeking {
    struct mortise *m;
    struct mortise_asked *asked;
    struct mortise_read read;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char id[MORTISE_SPAWN_ID];
};

/* Which run that is, for people; a native child's is known from the claim on, and
 * so the same each time that it is asked for. */
static int found(void *ud, const char *tenant, const char *parent,
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

static void unknown(struct mortise_asked *a)
{
    snprintf(a->words, sizeof a->words, "%s: this run has no such spawn handle",
             mortise_result_name(MORTISE_ENOTFOUND));
    mortise_host_call_weighed(a, true);
}

static void sought(struct mortise_read *r, int rv,
                   const struct mortise_err *err)
{
    struct seeking *s = MORTISE_OF(r, struct seeking, read);
    struct mortise_asked *a = s->asked;

    (void)err;
    mortise_release(s->m->mem, s, sizeof *s);
    if (a == NULL)
        return;
    a->data = NULL;
    if (rv == MORTISE_ENOTFOUND)
        unknown(a);
    else
        mortise_host_call_weighed(a, false);
}

static void let_seek(struct mortise_asked *a)
{
    struct seeking *s = a->data;

    if (s != NULL)
        s->asked = NULL;
    a->data = NULL;
}

/* A handle that was never there would be waited for for good. */
static void seek(struct mortise_asked *a)
{
    struct seeking *s = mortise_zalloc(a->m->mem, sizeof *s);

    if (s == NULL) {
        mortise_host_call_weighed(a, false); /* to wait is for the run to try */
        return;
    }
    s->m = a->m;
    s->asked = a;
    strcpy(s->tenant, a->live->tenant);
    if (!mortise_handles_parse(a, s->parent, s->id)) {
        mortise_release(s->m->mem, s, sizeof *s);
        unknown(a);
        return;
    }
    a->data = s;
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN,
                                    .tenant = s->tenant,
                                    .run = s->parent,
                                    .id = s->id,
                                    .spawn = found,
                                    .ud = s,
                                    .done = sought};
    mortise_store_read(s->m->store, &s->read);
}

const struct mortise_host_call_method mortise_host_call_spawn_await = {
    .effect = MORTISE_HOST_CALL_CHILD,
    .check = check_wait,
    .weigh = seek,
    .cancel = let_seek,
};
