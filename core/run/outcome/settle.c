/* settle.c -- ends of calls, and timers.
 *
 * Error codes of the core: determinism, suspended, expression, schema, reducer,
 * conflict, route, limit, guardrail, rejected, timeout, timeout.call,
 * timeout.unresponsive, in_doubt; and `failed` for a plugin that gave no code.
 */
#include <assert.h>
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/outcome/outcome.h"

static const char left_unasked[] =
    "E_DETERMINISM: the call ended without repeating all its earlier asks";

static const char left_open[] =
    "the call succeeded while one of its steps was still open";

static bool is_call_in_flight(const struct exec *x)
{
    return (x->state == X_RUNNING || x->state == X_STOPPING) &&
           x->ended == NULL;
}

/* ---- results ------------------------------------------------------------ */

/* The call happened, with this output (NULL: none). */
static int enter_effect_output(struct mortise_run *r, struct exec *x,
                               const struct mortise_result_in *in,
                               json_t *given, enum done_how how,
                               struct mortise_err *err)
{
    mortise_result_set_said(x, in->said);
    return mortise_pipeline_enter(r, x, given != NULL ? given : json_null(),
                                  how, err);
}

/* x's lookup is recorded: x continues in its slot. */
static int restart_after_lookup(struct mortise_run *r, struct exec *x,
                                struct mortise_err *err)
{
    mortise_exec_set_state(r, x, X_READY);
    return mortise_start_exec(r, x, err);
}

static int settle_lookup_call(struct mortise_run *r, struct exec *x,
                              const struct mortise_result_in *in, bool late,
                              struct mortise_err *err)
{
    bool found;
    int rv = mortise_lookup_settle(r, x, in, late, &found, err);

    return rv == MORTISE_OK && found ? restart_after_lookup(r, x, err) : rv;
}

/* Settle a guardrail's verdict, then continue a round about memory. */
static int settle_guard_verdict(struct mortise_run *r, struct exec *x,
                                const struct mortise_result_in *in,
                                const char *failure, struct mortise_err *err)
{
    struct round_end end = {.over = false};
    bool found;
    int rv = mortise_verdict_settle(r, x, in, failure, &end, err);

    if (rv != MORTISE_OK || !end.over)
        return rv;
    if (x->stage == MORTISE_GUARD_REMEMBERED)
        return mortise_remember_handle_verdict(
            r, x, end.refused ? &end.why : NULL, err);
    rv = mortise_lookup_handle_passed(r, x, &found, err);
    return rv == MORTISE_OK && found ? restart_after_lookup(r, x, err) : rv;
}

/* A guardrail answered, or failed with a message. */
static int settle_check_call(struct mortise_run *r, struct exec *x,
                             const struct mortise_result_in *in,
                             struct mortise_err *err)
{
    json_t *broke = mortise_step_take_divergence(x);
    const char *failure = NULL;
    int rv;

    assert(x->call == MORTISE_RUN_CHECK);
    if (broke != NULL)
        failure = json_string_value(broke);
    else if (in->status != MORTISE_S_OK)
        failure = in->message;
    else if (mortise_step_has_unasked(x))
        failure = left_unasked;
    rv = settle_guard_verdict(r, x, in, failure, err);
    json_decref(broke);
    return rv;
}

/* End of a helper operation's call.  `late` (NULL: in time): the message of a
 * timeout; then `in` is ignored. */
static int settle_helper_call(struct mortise_run *r, struct exec *x,
                              const struct mortise_result_in *in,
                              const char *late, struct mortise_err *err)
{
    json_t *broke = mortise_step_take_divergence(x), *output = NULL;
    struct aside said = {.code = "failed", .words = "it returned no output"};
    int rv;

    if (broke != NULL) {
        said.code = "determinism";
        said.words = json_string_value(broke);
    } else if (late != NULL) {
        said.code = "timeout";
        said.words = late;
    } else if (in->status != MORTISE_S_OK) {
        said.code = in->error_code[0] != '\0' ? in->error_code : "failed";
        said.words = in->message;
    } else if (!json_is_null(in->output) && in->output != NULL &&
               mortise_fold_check_depth(in->output, NULL) == MORTISE_OK) {
        said.output = output = json_incref(in->output);
    }
    rv = x->call == MORTISE_RUN_JUDGE
             ? mortise_exec_kind(r, x)->judged(r, x, &said, err)
             : mortise_compact_settle(r, x, &said, err);
    json_decref(output);
    json_decref(broke);
    return rv;
}

/* Answer of `reconcile`: {happened, result}. */
static int settle_reconcile_call(struct mortise_run *r, struct exec *x,
                                 const struct mortise_result_in *in,
                                 struct mortise_err *err)
{
    const json_t *happened = json_object_get(in->output, "happened");
    json_t *result = json_object_get(in->output, "result");
    struct mortise_err why;
    int rv = MORTISE_OK;

    assert(x->call == MORTISE_RUN_RECONCILE);
    if (in->status != 0 || !json_is_boolean(happened))
        return mortise_doubt_open_request(r, x,
                                          err); /* the plugin does not know */
    if (json_is_false(happened))
        return x->loss == LOSS_NONE
                   ? mortise_doubt_handle_refuted(r, x, err)
                   : mortise_doubt_handle_loser_refuted(r, x, err);
    if (result == NULL)
        result = json_null();
    if (mortise_result_is_kept(x)) /* rejected before: is this result better? */
        rv = mortise_judge_map_result(
            mortise_judge_check_output(x->frame->graph, mortise_exec_node(r, x),
                                       result, &why),
            err);
    if (rv == MORTISE_OK)
        return enter_effect_output(r, x, in, result, DONE_RECONCILED, err);
    if (rv != MORTISE_EINVAL)
        return rv;
    rv = mortise_doubt_set_rejected_result(x, &why, err);
    return rv == MORTISE_OK ? mortise_doubt_open_request(r, x, err) : rv;
}

/* The call diverged from its journal.  Settle its effect first (doubt.c (12)),
 * unless the run was cancelled. */
static int settle_divergence(struct mortise_run *r, struct exec *x,
                             const struct mortise_result_in *in,
                             const char *words, struct mortise_err *err)
{
    enum doubt doubt = mortise_doubt_find_at_end(r, x, in, true);

    if (doubt == DOUBT_NONE)
        return mortise_fail_attempt(r, x, "determinism", "permanent", words,
                                    err);
    return x->stop == STOP_RUN
               ? mortise_doubt_record_stopped(r, x, err)
               : mortise_doubt_open_diverged(r, x, doubt, words, err);
}

static int suspend_call(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    int rv = mortise_step_suspend(r, x, err);

    return rv == MORTISE_ENOTFOUND
               ? mortise_fail_attempt(r, x, "suspended", "permanent",
                                      "the plugin returned MORTISE_S_SUSPENDED "
                                      "but has no ask in flight",
                                      err)
               : rv;
}

static int settle_execute_call(struct mortise_run *r, struct exec *x,
                               const struct mortise_result_in *in,
                               struct mortise_err *err)
{
    enum doubt doubt = mortise_doubt_find_at_end(r, x, in, false);

    mortise_fail_delay_retry(x, in->retry_after_ms);
    if (x->broke != NULL)
        return settle_divergence(r, x, in, json_string_value(x->broke), err);
    if (doubt != DOUBT_NONE)
        return mortise_doubt_open_at_end(r, x, doubt, in, err);
    if (in->status == MORTISE_S_SUSPENDED)
        return suspend_call(r, x, err);
    if (in->status == MORTISE_S_OK && mortise_step_has_unasked(x))
        return settle_divergence(r, x, in, left_unasked, err);
    if (in->status == MORTISE_S_OK && mortise_step_find_in_doubt(r, x) != NULL)
        return settle_divergence(r, x, in, left_open, err);
    if (in->status != MORTISE_S_OK)
        return mortise_fail_exec(
            r, x,
            &(struct failure){.code = in->error_code[0] != '\0' ? in->error_code
                                                                : "failed",
                              .class = in->error_class,
                              .message = in->message,
                              .ending = in->ending,
                              .reported = true},
            err);
    mortise_cache_store_output(x, in);
    return enter_effect_output(r, x, in, in->output, DONE_EXECUTED, err);
}

/* Does the end of this call, of an execution that cannot return, tell whether
 * its effect happened? */
static bool tells_effect(const struct mortise_run *r, const struct exec *x,
                         const struct mortise_result_in *in)
{
    if (x->call == MORTISE_RUN_RECONCILE)
        return in->status == 0 &&
               json_is_boolean(json_object_get(in->output, "happened"));
    return x->call == MORTISE_RUN_EXECUTE &&
           mortise_doubt_find_at_end(r, x, in, false) == DOUBT_NONE;
}

/* A call of an execution that lost has ended.  If the execution may be retried,
 * its effect must be known (doubt.c (9)). */
static int settle_loser_call(struct mortise_run *r, struct exec *x,
                             const struct mortise_result_in *in,
                             struct mortise_err *err)
{
    enum doubt doubt = mortise_doubt_find_at_end(r, x, in, false);

    assert(x->loss != LOSS_NONE);
    if (!mortise_race_can_resume(x) ||
        mortise_exec_node(r, x)->effect < MORTISE_WRITE)
        return tells_effect(r, x, in)
                   ? mortise_stop_exec(r, x, MORTISE_E_LOST, err)
                   : mortise_stop_end_loser(r, x, err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return settle_reconcile_call(r, x, in, err);
    if (x->call != MORTISE_RUN_EXECUTE) /* open effects stay open */
        return mortise_exec_make_ready(r, x, err);
    if (doubt != DOUBT_NONE)
        return mortise_doubt_open_at_end(r, x, doubt, in, err);
    if (in->status != MORTISE_S_OK)
        return in->silent ? mortise_stop_end_loser(r, x, err)
                          : mortise_doubt_handle_loser_refuted(r, x, err);
    return enter_effect_output(r, x, in, in->output, DONE_EXECUTED, err);
}

/* A call that was asked to stop has ended.  A `write` or `external` effect that
 * succeeded counts.  An effect without a report is in doubt (doubt.c).  Any
 * other result came too late and is dropped. */
static int settle_stopped_call(struct mortise_run *r, struct exec *x,
                               const struct mortise_result_in *in,
                               struct mortise_err *err)
{
    bool happened = in->status == 0 && x->call == MORTISE_RUN_EXECUTE &&
                    mortise_exec_node(r, x)->effect >= MORTISE_WRITE;
    bool let_go = in->status == MORTISE_S_SUSPENDED && x->stop != STOP_RUN;
    enum doubt doubt = mortise_doubt_find_at_end(r, x, in, false);
    char words[MORTISE_TIMEOUT_WORDS];
    int rv = MORTISE_OK;

    if (x->call == MORTISE_RUN_CHECK && x->stop == STOP_DIVERGED)
        return settle_check_call(r, x, in, err);
    if (mortise_call_is_helper(x->call) && x->stop == STOP_DIVERGED)
        return settle_helper_call(r, x, in, NULL, err);
    if (happened || let_go || x->stop == STOP_DIVERGED)
        return settle_execute_call(r, x, in, err);
    if (doubt != DOUBT_NONE && x->stop != STOP_RUN)
        return mortise_doubt_open_at_end(r, x, doubt, in, err);
    if (x->stop == STOP_RUN) { /* a doubt stays open (doubt.c (11)) */
        if (doubt == DOUBT_NONE && x->effect_open &&
            x->call == MORTISE_RUN_EXECUTE)
            rv = mortise_fail_undo_intent(r, x, err);
        return rv == MORTISE_OK ? mortise_doubt_record_stopped(r, x, err) : rv;
    }
    if (x->stop == STOP_BUDGET || x->stop == STOP_COMMAND) {
        mortise_exec_set_stop(x, STOP_NONE);
        return x->effect_open && x->call == MORTISE_RUN_EXECUTE
                   ? mortise_fail_undo_intent(r, x, err)
                   : mortise_exec_make_ready(r, x, err);
    }
    if (x->call == MORTISE_RUN_CHECK)
        return settle_guard_verdict(r, x, in, "no answer in time", err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return mortise_doubt_open_request(r, x, err);
    if (mortise_sought_is_in_flight(x))
        return mortise_sought_settle(r, x, in, true, err);
    if (mortise_lookup_is_call(x->call))
        return settle_lookup_call(r, x, in, true, err);
    if (x->call == MORTISE_RUN_REMEMBER)
        return mortise_remember_settle(r, x, in, true, err);
    if (mortise_call_is_helper(x->call))
        return settle_helper_call(r, x, in,
                                  mortise_exec_print_timeout(x, words), err);
    return mortise_fail_attempt(r, x, "timeout.call", "timeout",
                                mortise_exec_print_timeout(x, words), err);
}

/* The cache answered, with an output or without. */
static int settle_cache_lookup(struct mortise_run *r, struct exec *x,
                               const struct mortise_result_in *in,
                               struct mortise_err *err)
{
    if (in->status == 0 && in->output != NULL)
        return mortise_pipeline_enter(r, x, in->output, DONE_CACHED, err);
    mortise_cache_allow_store(x, in);
    mortise_exec_set_state(r, x, X_READY); /* the call may need a slot */
    return mortise_start_execute(r, x, err);
}

/* Close a call that ended, or never returned (`stuck`).  *out: its execution;
 * NULL: it has none any more. */
static int close_ended_call(struct mortise_run *r,
                            const struct mortise_result_in *in, bool stuck,
                            struct exec **out, struct mortise_err *err)
{
    struct exec *x = mortise_exec_find_by_handle(r, in->call);
    int rv;

    *out = NULL;
    if (x == NULL || !is_call_in_flight(x))
        return MORTISE_OK; /* the execution ended without it */
    rv = mortise_exec_disarm_timer(r, x, err);
    if (rv == MORTISE_OK)
        rv = mortise_usage_add_reported(r, x, in->usage, stuck, err);
    if (rv == MORTISE_OK && in->status != MORTISE_S_OK)
        rv = mortise_step_undo_unstarted(r, x, err);
    mortise_exec_renew_handle(x); /* ignore a second answer */
    *out = x;
    return rv;
}

static int dispatch_call_end(struct mortise_run *r, struct exec *x,
                             const struct mortise_result_in *in,
                             struct mortise_err *err)
{
    if (x->loss != LOSS_NONE && x->stop != STOP_RUN)
        return settle_loser_call(r, x, in, err);
    if (x->state == X_STOPPING && x->stop != STOP_NONE)
        return settle_stopped_call(r, x, in, err);
    if (mortise_sought_is_in_flight(x))
        return mortise_sought_settle(r, x, in, false, err);
    switch (x->call) {
    case MORTISE_RUN_CHECK:
        return settle_check_call(r, x, in, err);
    case MORTISE_RUN_RECONCILE:
        return settle_reconcile_call(r, x, in, err);
    case MORTISE_RUN_LOOKUP:
        return settle_cache_lookup(r, x, in, err);
    case MORTISE_RUN_DISCOVER:
    case MORTISE_RUN_RECALL:
        return settle_lookup_call(r, x, in, false, err);
    case MORTISE_RUN_REMEMBER:
        return mortise_remember_settle(r, x, in, false, err);
    case MORTISE_RUN_COMPACT:
    case MORTISE_RUN_JUDGE:
        return settle_helper_call(r, x, in, NULL, err);
    case MORTISE_RUN_EXECUTE:
        break;
    }
    return settle_execute_call(r, x, in, err);
}

/* The call never returned: it failed, unless its effect is in doubt. */
static int settle_unresponsive_call(struct mortise_run *r, struct exec *x,
                                    struct mortise_err *err)
{
    const struct mortise_result_in mute = {.status = MORTISE_S_TIMEOUT,
                                           .silent = true};
    enum doubt doubt = mortise_doubt_find_at_end(r, x, &mute, false);
    bool open = x->call <= MORTISE_RUN_RECONCILE &&
                (x->effect_open || mortise_step_find_in_doubt(r, x) != NULL);
    bool cut = x->stop == STOP_RUN;
    bool over = cut || !mortise_race_can_resume(x);

    mortise_exec_set_stop(x, STOP_UNRESPONSIVE);
    if (doubt != DOUBT_NONE && !over)
        return mortise_doubt_open_at_end(r, x, doubt, &mute, err);
    mortise_exec_set_stop(x, STOP_NONE);
    if (x->call == MORTISE_RUN_RECONCILE && !over)
        return mortise_doubt_open_request(r, x,
                                          err); /* it did not return either */
    if (x->loss != LOSS_NONE)
        return mortise_stop_end_loser(r, x, err);
    if (mortise_call_is_helper(x->call) && !cut)
        return settle_helper_call(
            r, x, NULL, "the plugin did not return after a cancellation", err);
    if (cut && open) /* its on_error is not followed any more */
        return mortise_doubt_record_stopped(r, x, err);
    return mortise_fail_without_retry(r, x, "timeout.unresponsive",
                                      mortise_doubt_stuck_message, open, err);
}

/* ---- calls that end before their tools ---------------------------------- */

/* How a call ended: a copy of its result, followed by the texts. */
struct ended {
    struct mortise_result_in in;
    bool stuck;
    size_t size;
    char text[];
};

void mortise_settle_drop_end(struct mortise_run *r, struct exec *x)
{
    struct ended *e = x->ended;

    if (e == NULL)
        return;
    json_decref(e->in.output);
    json_decref(e->in.said);
    mortise_release(r->mem, e, e->size);
    x->ended = NULL;
}

/* Copies the text to `to`; returns the end of the copy. */
static char *copy_result_text(char *to, const char **out, const char *text)
{
    size_t n = strlen(text) + 1;

    *out = memcpy(to, text, n);
    return to + n;
}

static int store_call_end(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool stuck,
                          struct mortise_err *err)
{
    size_t size = sizeof *x->ended + strlen(in->message) +
                  strlen(in->error_code) + strlen(in->error_class) + 3;
    struct mortise_entry abandon =
        mortise_exec_make_entry(r, x, MORTISE_E_ABANDON);
    struct ended *e = mortise_zalloc(r->mem, size);
    char *to;

    if (e == NULL)
        return mortise_nomem(err);
    assert(x->ended == NULL && in->cache_key == NULL);
    e->in = *in;
    e->stuck = stuck;
    e->size = size;
    json_incref(e->in.output);
    json_incref(e->in.said);
    e->in.usage = NULL; /* noted already */
    to = copy_result_text(e->text, &e->in.message, in->message);
    to = copy_result_text(to, &e->in.error_code, in->error_code);
    copy_result_text(to, &e->in.error_class, in->error_class);
    x->ended = e;
    if (x->state == X_RUNNING)
        /* A later stop may set another reason. */
        mortise_exec_set_stop(x, STOP_NONE);
    mortise_exec_set_state(r, x, X_STOPPING);
    return mortise_run_record(r, &abandon, err);
}

/* An attempt ends after its tools.  Not if it is suspended or stopped by a
 * command or budget, since its tools then continue; nor if the run stops. */
static bool must_await_tools(const struct exec *x,
                             const struct mortise_result_in *in, bool stuck)
{
    return mortise_tools_are_active(x) && x->stop != STOP_RUN &&
           (stuck || (in->status != MORTISE_S_SUSPENDED &&
                      x->stop != STOP_COMMAND && x->stop != STOP_BUDGET));
}

static int settle_call(struct mortise_run *r,
                       const struct mortise_result_in *in, bool stuck,
                       struct mortise_err *err)
{
    struct exec *x;
    int rv = close_ended_call(r, in, stuck, &x, err);

    if (rv != MORTISE_OK || x == NULL)
        return rv;
    if (must_await_tools(x, in, stuck))
        return store_call_end(r, x, in, stuck, err);
    return stuck ? settle_unresponsive_call(r, x, err)
                 : dispatch_call_end(r, x, in, err);
}

int mortise_settle_result(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    return settle_call(r, in, false, err);
}

int mortise_settle_unresponsive(struct mortise_run *r,
                                const struct mortise_result_in *in,
                                struct mortise_err *err)
{
    static const struct mortise_result_in nothing = {
        .message = "", .error_code = "", .error_class = ""};
    struct mortise_result_in what = nothing;

    what.call = in->call;
    what.usage = in->usage;
    return settle_call(r, &what, true, err);
}

static int settle_stored_end(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    struct ended *e = x->ended;
    int rv;

    x->ended = NULL;
    rv = e->stuck ? settle_unresponsive_call(r, x, err)
                  : dispatch_call_end(r, x, &e->in, err);
    x->ended = e;
    mortise_settle_drop_end(r, x);
    return rv;
}

/* Does each active tool wait for somebody, for example for a doubt to be
 * settled? */
static bool is_every_tool_waiting(const struct mortise_run *r,
                                  const struct exec *x)
{
    for (const struct exec *y = x->tools->execs; y != NULL; y = y->sibling)
        if (!mortise_exec_has_ended(y) && !mortise_tool_is_only_waiting(r, y))
            return false;
    return true;
}

/* Forget the end of the call, as a crash would: x is re-entered when its tools
 * are over.  Until then the run is at rest. */
static void suspend_ended_call(struct mortise_run *r, struct exec *x)
{
    mortise_settle_drop_end(r, x);
    mortise_exec_set_stop(x, STOP_NONE);
    mortise_exec_await_tools(r, x);
}

static int update_tool_asker(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    bool over = !mortise_tools_are_active(x);

    if (x->ended != NULL && over)
        return settle_stored_end(r, x, err);
    if (x->ended != NULL && is_every_tool_waiting(r, x))
        suspend_ended_call(r, x);
    if (x->ended != NULL)
        return MORTISE_OK;
    if (!x->awaits_tools)
        return mortise_step_check_tools(r, x, mortise_tool_is_only_waiting,
                                        err);
    return over && !mortise_tools_have_open_doubt(r, x)
               ? mortise_exec_make_ready(r, x, err)
               : MORTISE_OK;
}

int mortise_settle_tools(struct mortise_run *r, struct mortise_err *err)
{
    struct exec *x;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && (x = mortise_exec_take_asker(r)) != NULL)
        rv = update_tool_asker(r, x, err);
    return rv;
}

/* ---- time --------------------------------------------------------------- */

/* The pending request of x expired.  Only requests of human nodes have a
 * deadline. */
static int settle_expired_request(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_SETTLE);
    char id[REQUEST_ID];
    int rv;

    assert(x->ask == MORTISE_ASK_HUMAN && x->deadline_ms != 0);
    memcpy(id, x->request, sizeof id);
    e.how = MORTISE_SETTLE_EXPIRED;
    e.id = id;
    rv = mortise_run_record(r, &e, err);
    return rv == MORTISE_OK ? mortise_exec_kind(r, x)->decided(r, x, err) : rv;
}

int mortise_settle_timer(struct mortise_run *r, uint64_t timer,
                         struct mortise_err *err)
{
    struct exec *x = mortise_exec_find_by_handle(r, timer);

    if (x == NULL || !mortise_exec_take_due_timer(x))
        return MORTISE_OK; /* disarmed, or fired already */
    if (x->index == 0 || x->state == X_INNER_GRAPH)
        return mortise_clock_handle_timer(r, x, err);
    if (x->state == X_RUNNING)
        return mortise_exec_cancel_call(
            r, x,
            mortise_call_has_lost_patience(r, x) ? STOP_COMMAND : STOP_TIMEOUT,
            err);
    if (x->state == X_SUSPENDED)
        return mortise_step_expire_due(r, x, err);
    assert(x->state == X_BACKOFF || x->state == X_ASKED); /* else no timer */
    if (x->state == X_BACKOFF)
        return mortise_exec_make_ready(r, x, err);
    if (r->time_ms < x->deadline_ms) /* the clock was set back */
        return mortise_exec_arm_timer_at(r, x, x->deadline_ms, err);
    return settle_expired_request(r, x, err);
}
