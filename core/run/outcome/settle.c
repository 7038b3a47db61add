/* settle.c -- a call has ended, or time is up: what that comes to.
 *
 * Codes that the core gives: determinism, suspended, expression, schema,
 * reducer, conflict, route, limit, guardrail, rejected, timeout, timeout.call,
 * timeout.unresponsive, in_doubt, and `failed` for a plugin that gave none.
 */
#include <assert.h>
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/outcome/outcome.h"

static const char left_unasked[] =
    "E_DETERMINISM: the call ended without repeating all its earlier asks";

static const char left_open[] =
    "the call succeeded while one of its steps was still open";

static bool call_is_out(const struct exec *x)
{
    return (x->state == X_RUNNING || x->state == X_STOPPING) &&
           x->ended == NULL;
}

/* ---- results ------------------------------------------------------------ */

/* It happened, and this came of it (NULL: nothing). */
static int settle_happened(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in, json_t *given,
                           enum done_how how, struct mortise_err *err)
{
    mortise_result_say(x, in->said);
    return mortise_pipeline_enter(r, x, given != NULL ? given : json_null(),
                                  how, err);
}

/* What was looked up for x is there: it goes on, and has its slot. */
static int go_on_found(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    mortise_exec_become(r, x, X_READY);
    return mortise_start_exec(r, x, err);
}

static int settle_looked_up(struct mortise_run *r, struct exec *x,
                            const struct mortise_result_in *in, bool late,
                            struct mortise_err *err)
{
    bool found;
    int rv = mortise_lookup_settle(r, x, in, late, &found, err);

    return rv == MORTISE_OK && found ? go_on_found(r, x, err) : rv;
}

/* A guardrail said this; what it judged of memory goes on from here. */
static int settle_verdict(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in,
                          const char *failure, struct mortise_err *err)
{
    struct round_end end = {.over = false};
    bool found;
    int rv = mortise_verdict_settle(r, x, in, failure, &end, err);

    if (rv != MORTISE_OK || !end.over)
        return rv;
    if (x->stage == MORTISE_GUARD_REMEMBERED)
        return mortise_remember_judged(r, x, end.refused ? &end.why : NULL,
                                       err);
    rv = mortise_lookup_passed(r, x, &found, err);
    return rv == MORTISE_OK && found ? go_on_found(r, x, err) : rv;
}

/* A guardrail answered, or did not: then in these words. */
static int settle_checked(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    json_t *broke = mortise_step_take_broke(x);
    const char *failure = NULL;
    int rv;

    assert(x->call == MORTISE_RUN_CHECK);
    if (broke != NULL)
        failure = json_string_value(broke);
    else if (in->status != MORTISE_S_OK)
        failure = in->message;
    else if (mortise_step_left_unasked(x))
        failure = left_unasked;
    rv = settle_verdict(r, x, in, failure, err);
    json_decref(broke);
    return rv;
}

/* Of an operation that is asked aside; `late` (else NULL): not in time, and `in` is of
 * no account. */
static int settle_aside(struct mortise_run *r, struct exec *x,
                        const struct mortise_result_in *in, const char *late,
                        struct mortise_err *err)
{
    json_t *broke = mortise_step_take_broke(x), *output = NULL;
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

/* "did it happen?" -> {happened, result}. */
static int settle_reconciled(struct mortise_run *r, struct exec *x,
                             const struct mortise_result_in *in,
                             struct mortise_err *err)
{
    const json_t *happened = json_object_get(in->output, "happened");
    json_t *result = json_object_get(in->output, "result");
    struct mortise_err why;
    int rv = MORTISE_OK;

    assert(x->call == MORTISE_RUN_RECONCILE);
    if (in->status != 0 || !json_is_boolean(happened))
        return mortise_doubt_ask(r, x, err); /* the plugin does not know */
    if (json_is_false(happened))
        return x->loss == LOSS_NONE ? mortise_doubt_refuted(r, x, err)
                                    : mortise_doubt_of_loser_refuted(r, x, err);
    if (result == NULL)
        result = json_null();
    if (mortise_result_is_kept(x)) /* useless; it is asked for better */
        rv = mortise_judge_verdict(mortise_judge_output(x->frame->graph,
                                                        mortise_exec_node(r, x),
                                                        result, &why),
                                   err);
    if (rv == MORTISE_OK)
        return settle_happened(r, x, in, result, DONE_RECONCILED, err);
    if (rv != MORTISE_EINVAL)
        return rv;
    rv = mortise_doubt_note_useless(x, &why, err);
    return rv == MORTISE_OK ? mortise_doubt_ask(r, x, err) : rv;
}

/* It broke its word.  What may have happened is settled first (doubt.c (12));
 * where people cancelled, it stays. */
static int settle_broke(struct mortise_run *r, struct exec *x,
                        const struct mortise_result_in *in, const char *words,
                        struct mortise_err *err)
{
    enum doubt doubt = mortise_doubt_at_end(r, x, in, true);

    if (doubt == DOUBT_NONE)
        return mortise_fail_attempt(r, x, "determinism", "permanent", words,
                                    err);
    return x->stop == STOP_RUN ? mortise_doubt_cancelled(r, x, err)
                               : mortise_doubt_broke(r, x, doubt, words, err);
}

static int let_go(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err)
{
    int rv = mortise_step_let_go(r, x, err);

    return rv == MORTISE_ENOTFOUND
               ? mortise_fail_attempt(r, x, "suspended", "permanent",
                                      "the plugin returned MORTISE_S_SUSPENDED "
                                      "but has no ask in flight",
                                      err)
               : rv;
}

static int settle_executed(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           struct mortise_err *err)
{
    enum doubt doubt = mortise_doubt_at_end(r, x, in, false);

    mortise_fail_no_sooner(x, in->retry_after_ms);
    if (x->broke != NULL)
        return settle_broke(r, x, in, json_string_value(x->broke), err);
    if (doubt != DOUBT_NONE)
        return mortise_doubt_ended(r, x, doubt, in, err);
    if (in->status == MORTISE_S_SUSPENDED)
        return let_go(r, x, err);
    if (in->status == MORTISE_S_OK && mortise_step_left_unasked(x))
        return settle_broke(r, x, in, left_unasked, err);
    if (in->status == MORTISE_S_OK && mortise_step_in_doubt(r, x) != NULL)
        return settle_broke(r, x, in, left_open, err);
    if (in->status != MORTISE_S_OK)
        return mortise_fail_as(
            r, x,
            &(struct failure){.code = in->error_code[0] != '\0' ? in->error_code
                                                                : "failed",
                              .class = in->error_class,
                              .message = in->message,
                              .ending = in->ending,
                              .reported = true},
            err);
    mortise_cache_note(x, in);
    return settle_happened(r, x, in, in->output, DONE_EXECUTED, err);
}

/* A call of one that never returns has ended: does that say whether its effect
 * happened? */
static bool says_enough(const struct mortise_run *r, const struct exec *x,
                        const struct mortise_result_in *in)
{
    if (x->call == MORTISE_RUN_RECONCILE)
        return in->status == 0 &&
               json_is_boolean(json_object_get(in->output, "happened"));
    return x->call == MORTISE_RUN_EXECUTE &&
           mortise_doubt_at_end(r, x, in, false) == DOUBT_NONE;
}

/* A call of one that lost has ended.  Where that may be tried again it matters
 * whether its effect happened (doubt.c (9)). */
static int settle_lost(struct mortise_run *r, struct exec *x,
                       const struct mortise_result_in *in,
                       struct mortise_err *err)
{
    enum doubt doubt = mortise_doubt_at_end(r, x, in, false);

    assert(x->loss != LOSS_NONE);
    if (!mortise_race_may_come_back(x) ||
        mortise_exec_node(r, x)->effect < MORTISE_WRITE)
        return says_enough(r, x, in)
                   ? mortise_stop_exec(r, x, MORTISE_E_LOST, err)
                   : mortise_stop_lost(r, x, err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return settle_reconciled(r, x, in, err);
    if (x->call != MORTISE_RUN_EXECUTE) /* what is open in it stays so */
        return mortise_exec_ready(r, x, err);
    if (doubt != DOUBT_NONE)
        return mortise_doubt_ended(r, x, doubt, in, err);
    if (in->status != MORTISE_S_OK)
        return in->silent ? mortise_stop_lost(r, x, err)
                          : mortise_doubt_of_loser_refuted(r, x, err);
    return settle_happened(r, x, in, in->output, DONE_EXECUTED, err);
}

/* A call that was asked to stop has let go.  A `write` or `external` effect
 * that succeeded all the same did happen, and counts; one of which its end says
 * nothing is in doubt (doubt.c); anything else that came too late changes
 * nothing. */
static int settle_stopped(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    bool happened = in->status == 0 && x->call == MORTISE_RUN_EXECUTE &&
                    mortise_exec_node(r, x)->effect >= MORTISE_WRITE;
    bool let_go = in->status == MORTISE_S_SUSPENDED && x->stop != STOP_RUN;
    enum doubt doubt = mortise_doubt_at_end(r, x, in, false);
    char words[MORTISE_TIMEOUT_WORDS];
    int rv = MORTISE_OK;

    if (x->call == MORTISE_RUN_CHECK && x->stop == STOP_BROKE)
        return settle_checked(r, x, in, err);
    if (mortise_call_is_beside(x->call) && x->stop == STOP_BROKE)
        return settle_aside(r, x, in, NULL, err);
    if (happened || let_go || x->stop == STOP_BROKE)
        return settle_executed(r, x, in, err);
    if (doubt != DOUBT_NONE && x->stop != STOP_RUN)
        return mortise_doubt_ended(r, x, doubt, in, err);
    if (x->stop == STOP_RUN) { /* what is in doubt stays so (doubt.c (11)) */
        if (doubt == DOUBT_NONE && x->effect_open &&
            x->call == MORTISE_RUN_EXECUTE)
            rv = mortise_fail_not_done(r, x, err);
        return rv == MORTISE_OK ? mortise_doubt_cancelled(r, x, err) : rv;
    }
    if (x->stop == STOP_BUDGET || x->stop == STOP_COMMAND) {
        mortise_exec_stop_for(x, STOP_NONE);
        return x->effect_open && x->call == MORTISE_RUN_EXECUTE
                   ? mortise_fail_not_done(r, x, err)
                   : mortise_exec_ready(r, x, err);
    }
    if (x->call == MORTISE_RUN_CHECK)
        return settle_verdict(r, x, in, "no answer in time", err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return mortise_doubt_ask(r, x, err);
    if (mortise_sought_is_out(x))
        return mortise_sought_settle(r, x, in, true, err);
    if (mortise_lookup_is_call(x->call))
        return settle_looked_up(r, x, in, true, err);
    if (x->call == MORTISE_RUN_REMEMBER)
        return mortise_remember_settle(r, x, in, true, err);
    if (mortise_call_is_beside(x->call))
        return settle_aside(r, x, in, mortise_exec_timed_out(x, words), err);
    return mortise_fail_attempt(r, x, "timeout.call", "timeout",
                                mortise_exec_timed_out(x, words), err);
}

/* What was found in the cache, or nothing. */
static int settle_lookup(struct mortise_run *r, struct exec *x,
                         const struct mortise_result_in *in,
                         struct mortise_err *err)
{
    if (in->status == 0 && in->output != NULL)
        return mortise_pipeline_enter(r, x, in->output, DONE_CACHED, err);
    mortise_cache_missed(x, in);
    mortise_exec_become(r, x, X_READY); /* the call may have to wait */
    return mortise_start_execute(r, x, err);
}

/* The call has ended, or is given up (`stuck`): whose it was; NULL: nobody's. */
static int end_call(struct mortise_run *r, const struct mortise_result_in *in,
                    bool stuck, struct exec **out, struct mortise_err *err)
{
    struct exec *x = mortise_exec_at(r, in->call);
    int rv;

    *out = NULL;
    if (x == NULL || !call_is_out(x))
        return MORTISE_OK; /* it was ended without it */
    rv = mortise_exec_disarm(r, x, err);
    if (rv == MORTISE_OK)
        rv = mortise_usage_note(r, x, in->usage, stuck, err);
    if (rv == MORTISE_OK && in->status != MORTISE_S_OK)
        rv = mortise_step_take_back(r, x, err);
    mortise_exec_renew(x); /* a second answer is nobody's */
    *out = x;
    return rv;
}

static int settle_end(struct mortise_run *r, struct exec *x,
                      const struct mortise_result_in *in,
                      struct mortise_err *err)
{
    if (x->loss != LOSS_NONE && x->stop != STOP_RUN)
        return settle_lost(r, x, in, err);
    if (x->state == X_STOPPING && x->stop != STOP_NONE)
        return settle_stopped(r, x, in, err);
    if (mortise_sought_is_out(x))
        return mortise_sought_settle(r, x, in, false, err);
    switch (x->call) {
    case MORTISE_RUN_CHECK:
        return settle_checked(r, x, in, err);
    case MORTISE_RUN_RECONCILE:
        return settle_reconciled(r, x, in, err);
    case MORTISE_RUN_LOOKUP:
        return settle_lookup(r, x, in, err);
    case MORTISE_RUN_DISCOVER:
    case MORTISE_RUN_RECALL:
        return settle_looked_up(r, x, in, false, err);
    case MORTISE_RUN_REMEMBER:
        return mortise_remember_settle(r, x, in, false, err);
    case MORTISE_RUN_COMPACT:
    case MORTISE_RUN_JUDGE:
        return settle_aside(r, x, in, NULL, err);
    case MORTISE_RUN_EXECUTE:
        break;
    }
    return settle_executed(r, x, in, err);
}

/* It never let go: it failed, unless its effect may have happened. */
static int settle_stuck(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    const struct mortise_result_in mute = {.status = MORTISE_S_TIMEOUT,
                                           .silent = true};
    enum doubt doubt = mortise_doubt_at_end(r, x, &mute, false);
    bool open = x->call <= MORTISE_RUN_RECONCILE &&
                (x->effect_open || mortise_step_in_doubt(r, x) != NULL);
    bool cut = x->stop == STOP_RUN;
    bool over = cut || !mortise_race_may_come_back(x);

    mortise_exec_stop_for(x, STOP_STUCK);
    if (doubt != DOUBT_NONE && !over)
        return mortise_doubt_ended(r, x, doubt, &mute, err);
    mortise_exec_stop_for(x, STOP_NONE);
    if (x->call == MORTISE_RUN_RECONCILE && !over)
        return mortise_doubt_ask(r, x, err); /* nor did whoever was to tell */
    if (x->loss != LOSS_NONE)
        return mortise_stop_lost(r, x, err);
    if (mortise_call_is_beside(x->call) && !cut)
        return settle_aside(
            r, x, NULL, "the plugin did not return after a cancellation", err);
    if (cut && open) /* nobody follows its on_error now */
        return mortise_doubt_cancelled(r, x, err);
    return mortise_fail_for_good(r, x, "timeout.unresponsive",
                                 mortise_doubt_stuck, open, err);
}

/* ---- whose tools are still at work ---------------------------------------- */

/* How a call ended: a copy, with its texts behind it. */
struct ended {
    struct mortise_result_in in;
    bool stuck;
    size_t size;
    char text[];
};

void mortise_settle_forget(struct mortise_run *r, struct exec *x)
{
    struct ended *e = x->ended;

    if (e == NULL)
        return;
    json_decref(e->in.output);
    json_decref(e->in.said);
    mortise_release(r->mem, e, e->size);
    x->ended = NULL;
}

/* The place behind a copy of that text, whose copy *out is. */
static char *copy(char *to, const char **out, const char *text)
{
    size_t n = strlen(text) + 1;

    *out = memcpy(to, text, n);
    return to + n;
}

static int hold_end(struct mortise_run *r, struct exec *x,
                    const struct mortise_result_in *in, bool stuck,
                    struct mortise_err *err)
{
    size_t size = sizeof *x->ended + strlen(in->message) +
                  strlen(in->error_code) + strlen(in->error_class) + 3;
    struct mortise_entry abandon = mortise_exec_entry(r, x, MORTISE_E_ABANDON);
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
    e->in.usage = NULL; /* it is noted */
    to = copy(e->text, &e->in.message, in->message);
    to = copy(to, &e->in.error_code, in->error_code);
    copy(to, &e->in.error_class, in->error_class);
    x->ended = e;
    if (x->state == X_RUNNING)
        mortise_exec_stop_for(x, STOP_NONE); /* somebody else may say why */
    mortise_exec_become(r, x, X_STOPPING);
    return mortise_run_record(r, &abandon, err);
}

/* An attempt ends behind its tools.  Not one that is entered again, for which
 * they go on, nor where all is stopped. */
static bool awaits_tools(const struct exec *x,
                         const struct mortise_result_in *in, bool stuck)
{
    return mortise_tools_are_at_work(x) && x->stop != STOP_RUN &&
           (stuck || (in->status != MORTISE_S_SUSPENDED &&
                      x->stop != STOP_COMMAND && x->stop != STOP_BUDGET));
}

static int settle(struct mortise_run *r, const struct mortise_result_in *in,
                  bool stuck, struct mortise_err *err)
{
    struct exec *x;
    int rv = end_call(r, in, stuck, &x, err);

    if (rv != MORTISE_OK || x == NULL)
        return rv;
    if (awaits_tools(x, in, stuck))
        return hold_end(r, x, in, stuck, err);
    return stuck ? settle_stuck(r, x, err) : settle_end(r, x, in, err);
}

int mortise_settle_result(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    return settle(r, in, false, err);
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
    return settle(r, &what, true, err);
}

static int settle_ended(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    struct ended *e = x->ended;
    int rv;

    x->ended = NULL;
    rv = e->stuck ? settle_stuck(r, x, err) : settle_end(r, x, &e->in, err);
    x->ended = e;
    mortise_settle_forget(r, x);
    return rv;
}

/* Does each tool that is at work wait for somebody, for a doubt to be settled, say? */
static bool all_wait(const struct mortise_run *r, const struct exec *x)
{
    for (const struct exec *y = x->tools->execs; y != NULL; y = y->sibling)
        if (!mortise_exec_is_over(y) && !mortise_tool_waits(r, y))
            return false;
    return true;
}

/* Its call is over, and it waits for somebody: it is entered again when its tools
 * are over, as after a crash.  Until then the run is at rest. */
static void suspend(struct mortise_run *r, struct exec *x)
{
    mortise_settle_forget(r, x);
    mortise_exec_stop_for(x, STOP_NONE);
    mortise_exec_await_tools(r, x);
}

static int look_at(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err)
{
    bool over = !mortise_tools_are_at_work(x);

    if (x->ended != NULL && over)
        return settle_ended(r, x, err);
    if (x->ended != NULL && all_wait(r, x))
        suspend(r, x);
    if (x->ended != NULL)
        return MORTISE_OK;
    if (!x->awaits_tools)
        return mortise_step_look(r, x, mortise_tool_waits, err);
    return over && !mortise_tools_have_returned(r, x)
               ? mortise_exec_ready(r, x, err)
               : MORTISE_OK;
}

int mortise_settle_tools(struct mortise_run *r, struct mortise_err *err)
{
    struct exec *x;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && (x = mortise_exec_take_asker(r)) != NULL)
        rv = look_at(r, x, err);
    return rv;
}

/* ---- time --------------------------------------------------------------- */

/* The pending request of x ran out of time: of those that we make, a question to
 * people alone has a deadline. */
static int settle_expired(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_SETTLE);
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
    struct exec *x = mortise_exec_at(r, timer);

    if (x == NULL || !mortise_exec_fires(x))
        return MORTISE_OK; /* it was disarmed, or fired already */
    if (x->index == 0 || x->state == X_INSIDE)
        return mortise_clock_is_due(r, x, err);
    if (x->state == X_RUNNING)
        return mortise_exec_cancel(
            r, x, mortise_call_is_given_up(r, x) ? STOP_COMMAND : STOP_TIMEOUT,
            err);
    if (x->state == X_SUSPENDED)
        return mortise_step_expired(r, x, err);
    assert(x->state == X_BACKOFF || x->state == X_ASKED); /* who else arms */
    if (x->state == X_BACKOFF)
        return mortise_exec_ready(r, x, err);
    if (r->time_ms < x->deadline_ms) /* the clock was set back */
        return mortise_exec_arm(r, x, x->deadline_ms, err);
    return settle_expired(r, x, err);
}
