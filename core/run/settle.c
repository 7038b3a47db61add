/* settle.c -- a result, a failure, a timeout: which entries they become.
 *
 * A result is judged in full before anything is recorded (judge.c); only then
 * does one `done` entry say all of it.  Whatever goes wrong on the way makes it
 * a failure of the node instead (fail.c), with a code of its own, and leaves no
 * trace of the result.
 *
 * Codes that the core gives: determinism, suspended, expression, schema,
 * reducer, conflict, route, limit, guardrail, rejected, timeout, timeout.call,
 * timeout.unresponsive, in_doubt, and `failed` for a plugin that gave none.
 *
 * A `write` or `external` call whose result fails that judgement did happen.
 * A `result` entry keeps what it gave, so that nobody who tries the node again
 * makes it happen twice (R11).
 */
#include <assert.h>
#include <string.h>

#include "mortise/plugin.h"
#include "run/internal.h"

static bool call_is_out(const struct exec *x)
{
    return x->state == X_RUNNING || x->state == X_STOPPING;
}

/* ---- success ------------------------------------------------------------ */

/* Room for the arrays of an entry of this node; what its executor wants written
 * stands in it already. */
static int entry_room(const struct mortise_node *n, const struct patch *said,
                      struct mortise_arena *a, struct mortise_entry *e,
                      struct mortise_err *err)
{
    e->edges = mortise_arena_alloc(a, n->n_out * sizeof e->edges[0]);
    e->writes = mortise_arena_alloc(
        a, (said->n + n->n_outputs + n->n_output_mapping + 2) *
               sizeof e->writes[0]);
    if (e->edges == NULL || e->writes == NULL)
        return mortise_nomem(err);
    for (; e->n_writes < said->n; e->n_writes++) {
        e->writes[e->n_writes] = said->writes[e->n_writes];
        json_incref(e->writes[e->n_writes].value);
    }
    return MORTISE_OK;
}

/* What its executor said besides the output, as writes. */
static int make_said(struct patch *said, const struct exec *x,
                     enum done_how how, struct mortise_err *why,
                     struct mortise_err *err)
{
    const json_t *update = judge_said(x, how, "update");

    return update != NULL ? judge_verdict(patch_make(said, update, why), err)
                          : MORTISE_OK;
}

int settle_ask_after(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    return request_ask(r, x, MORTISE_ASK_AFTER,
                       json_pack("{s:s}", "when", "after"), 0, err);
}

/* What was judged: what its edges stand on, then the success itself. */
static int record_done(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, const json_t *grounds,
                       struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;
    int rv = cache_keep(r, x, (enum done_how)e->how, err);

    for (size_t i = 0, k = 0; rv == MORTISE_OK && i < e->n_edges; i++) {
        const struct mortise_edge *edge = &g->edges[e->edges[i]];
        struct mortise_entry first = entry_of(
            r, x,
            edge->kind == MORTISE_EDGE_MAP ? MORTISE_E_FAN : MORTISE_E_FOUND);

        if (!route_stands_on(edge))
            continue;
        first.edges = &e->edges[i];
        first.n_edges = 1;
        first.value = json_array_get(grounds, k++);
        rv = record(r, &first, err);
    }
    return rv == MORTISE_OK ? record(r, e, err) : rv;
}

static bool is_kept(const struct exec *x)
{
    return x->result != NULL &&
           memcmp(x->key, x->result_key, sizeof x->key) == 0;
}

/* ... with its result; what nobody could use is as if it were not said. */
static int keep_said(struct mortise_run *r, struct exec *x, json_t *said,
                     struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_SAID);

    e.value = said;
    return mortise_fold_check_depth(said, NULL) == MORTISE_OK
               ? record(r, &e, err)
               : MORTISE_OK;
}

/* The effect is acknowledged, whatever becomes of its node. */
static int keep_result(struct mortise_run *r, struct exec *x, json_t *output,
                       enum done_how how, struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_RESULT);
    json_t *said;
    int rv;

    if (node_of(r, x)->effect < MORTISE_WRITE ||
        (how != DONE_EXECUTED && how != DONE_RECONCILED &&
         how != DONE_RESOLVED) ||
        (is_kept(x) &&
         judge_output(node_of(r, x), x->result, NULL) == MORTISE_OK))
        return MORTISE_OK;
    said = json_incref(x->said);
    e.value = mortise_fold_check_depth(output, NULL) == MORTISE_OK
                  ? json_incref(output)
                  : json_null(); /* nobody could use it either */
    memcpy(e.digest, x->key, sizeof e.digest);
    rv = record(r, &e, err);
    json_decref(e.value);
    if (rv == MORTISE_OK && said != NULL && how != DONE_RESOLVED)
        rv = keep_said(r, x, said, err);
    json_decref(said);
    return rv;
}

int settle_judged(struct mortise_run *r, struct exec *x, json_t *output,
                  enum done_how how, struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_DONE);
    const char *code = "schema";
    json_t *grounds = NULL;
    struct patch said;
    struct mortise_arena a;
    struct mortise_err why;
    int rv;

    mortise_arena_init(&a, r->mem);
    e.how = (uint8_t)how;
    e.value = json_incref(output);
    e.note = json_incref(x->verdicts);
    patch_init(&said, r, x->frame->graph);
    rv = make_said(&said, x, how, &why, err);
    if (rv == MORTISE_OK)
        rv = entry_room(node_of(r, x), &said, &a, &e, err);
    if (rv == MORTISE_OK && x->child_over && how == DONE_EXECUTED)
        rv = sub_recall(r, x, output, err);
    if (rv == MORTISE_OK)
        rv = judge_done(r, x, &e, &grounds, &code, &why, err);
    if (rv == MORTISE_OK && leave_is_judged(x, &e)) {
        writes_undo(r, x);
        rv = keep_result(r, x, output, how, err);
        if (rv == MORTISE_OK)
            rv = leave_choose(r, x, &e, err);
    } else if (rv == MORTISE_OK) {
        rv = record_done(r, x, &e, grounds, err);
        if (rv == MORTISE_OK && x->state == X_HELD)
            rv = settle_ask_after(r, x, err);
    } else if (rv == MORTISE_EINVAL) {
        writes_undo(r, x);
        exec_forget_leaving(x);
        rv = keep_result(r, x, output, how, err);
        if (rv == MORTISE_OK && how == DONE_ON_ERROR)
            rv = fail_for_good(r, x, code, why.msg, false, err);
        else if (rv == MORTISE_OK)
            rv = fail_attempt_err(r, x, code, &why, err);
    }
    mortise_entry_finish(&e);
    if (x->child_over)
        drop(&x->inner);
    json_decref(grounds);
    patch_finish(&said);
    mortise_arena_finish(&a);
    return rv;
}

static int record_stopped(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_STOPPED);
    int rv = doubt_cancelled(r, x, err);

    return rv == MORTISE_OK ? record(r, &e, err) : rv;
}

/* Its guardrails look at the output now; or, where it is to stop, when it goes
 * on: then the effect is known to have happened, and is not done again. */
static int guard_output(struct mortise_run *r, struct exec *x, json_t *output,
                        enum done_how how, struct mortise_err *err)
{
    int rv = keep_result(r, x, output, how, err);
    bool stopping = x->state == X_STOPPING;

    if (rv != MORTISE_OK || how == DONE_RESOLVED) /* it is READY by now */
        return rv;
    if (stopping && x->stop == STOP_RUN)
        return record_stopped(r, x, err);
    if ((stopping && (x->stop == STOP_COMMAND || x->stop == STOP_BUDGET)) ||
        r->held != NULL) {
        x->stop = STOP_NONE;
        return exec_ready(r, x, err);
    }
    x->how = how;
    drop(&x->judged);
    return guard_begin(r, x, MORTISE_GUARD_OUTPUT, output, err);
}

int settle_done(struct mortise_run *r, struct exec *x, json_t *output,
                enum done_how how, struct mortise_err *err)
{
    /* One that breaks its schema fails without being looked at. */
    if (!guard_wants_output(r, x, how) ||
        judge_output(node_of(r, x), output, NULL) != MORTISE_OK)
        return settle_judged(r, x, output, how, err);
    return node_of(r, x)->sub != NULL ? leave_inside(r, x, output, err)
                                      : guard_output(r, x, output, how, err);
}

/* ---- results ------------------------------------------------------------ */

int settle_lost_done(struct mortise_run *r, struct exec *x, json_t *output,
                     enum done_how how, struct mortise_err *err)
{
    int rv = keep_result(r, x, output, how, err);

    return rv == MORTISE_OK ? stop_lost_known(r, x, err) : rv;
}

/* It happened, and this came of it (NULL: nothing). */
static int settle_happened(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in, json_t *given,
                           enum done_how how, struct mortise_err *err)
{
    json_t *output = given != NULL ? json_incref(given) : json_null();
    int rv;

    hold(&x->said, in->said);
    rv = x->loss == LOSS_NONE ? settle_done(r, x, output, how, err)
                              : settle_lost_done(r, x, output, how, err);
    json_decref(output);
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

    if (in->status != 0 || !json_is_boolean(happened))
        return doubt_ask(r, x, err); /* it does not know: a person must */
    if (json_is_false(happened))
        return x->loss == LOSS_NONE ? doubt_refuted(r, x, err)
                                    : doubt_of_loser_refuted(r, x, err);
    if (result == NULL)
        result = json_null();
    if (is_kept(x)) /* that was useless, and it is asked for better */
        rv = judge_verdict(judge_output(node_of(r, x), result, &why), err);
    if (rv == MORTISE_OK)
        return settle_happened(r, x, in, result, DONE_RECONCILED, err);
    return rv == MORTISE_EINVAL ? doubt_useless(r, x, &why, err) : rv;
}

/* It broke its word.  What may have happened is settled first (doubt.c (12));
 * where people cancelled, it stays. */
static int settle_broke(struct mortise_run *r, struct exec *x,
                        const struct mortise_result_in *in, const char *words,
                        struct mortise_err *err)
{
    enum doubt doubt = doubt_at_break(r, x, in);

    if (doubt == DOUBT_NONE)
        return fail_attempt(r, x, "determinism", "permanent", words, err);
    return x->stop == STOP_RUN ? record_stopped(r, x, err)
                               : doubt_broke(r, x, doubt, words, err);
}

static int let_go(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err)
{
    int rv = step_let_go(r, x, err);

    return rv == MORTISE_ENOTFOUND
               ? fail_attempt(r, x, "suspended", "permanent",
                              "it let go as if it waited for an answer, and it "
                              "waits for none",
                              err)
               : rv;
}

static int settle_executed(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           struct mortise_err *err)
{
    enum doubt doubt = doubt_at_end(r, x, in);

    x->retry_after_ms = in->retry_after_ms;
    if (x->broke != NULL)
        return settle_broke(r, x, in, json_string_value(x->broke), err);
    if (doubt != DOUBT_NONE)
        return doubt_ended(r, x, doubt, in, err);
    if (in->status == MORTISE_S_SUSPENDED)
        return let_go(r, x, err);
    if (in->status == MORTISE_S_OK && step_left_unasked(x))
        return settle_broke(r, x, in,
                            "E_DETERMINISM: it ended without asking all that "
                            "it had asked before",
                            err);
    if (in->status != MORTISE_S_OK)
        return fail_attempt(
            r, x, in->error_code[0] != '\0' ? in->error_code : "failed",
            in->error_class, in->message, err);
    cache_note(x, in);
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
           doubt_at_end(r, x, in) == DOUBT_NONE;
}

/* A call of one that lost has ended.  Where that may be tried again it matters
 * whether its effect happened (doubt.c (9)). */
static int settle_lost(struct mortise_run *r, struct exec *x,
                       const struct mortise_result_in *in,
                       struct mortise_err *err)
{
    enum doubt doubt = doubt_at_end(r, x, in);

    if (!race_may_come_back(x) || node_of(r, x)->effect < MORTISE_WRITE)
        return says_enough(r, x, in) ? stop_lost_known(r, x, err)
                                     : stop_lost(r, x, err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return settle_reconciled(r, x, in, err);
    if (x->call != MORTISE_RUN_EXECUTE) /* what is open in it stays so */
        return exec_ready(r, x, err);
    if (doubt != DOUBT_NONE)
        return doubt_ended(r, x, doubt, in, err);
    if (in->status != MORTISE_S_OK)
        return in->silent ? stop_lost(r, x, err)
                          : doubt_of_loser_refuted(r, x, err);
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
                    node_of(r, x)->effect >= MORTISE_WRITE;
    bool let_go = in->status == MORTISE_S_SUSPENDED && x->stop != STOP_RUN;
    enum doubt doubt = doubt_at_end(r, x, in);
    int rv = MORTISE_OK;

    if (happened || let_go || x->stop == STOP_BROKE)
        return settle_executed(r, x, in, err);
    if (doubt != DOUBT_NONE && x->stop != STOP_RUN)
        return doubt_ended(r, x, doubt, in, err);
    switch (x->stop) {
    case STOP_RUN: /* what is in doubt stays so (doubt.c (11)) */
        if (doubt == DOUBT_NONE && x->effect_open &&
            x->call == MORTISE_RUN_EXECUTE)
            rv = fail_not_done(r, x, err);
        return rv == MORTISE_OK ? record_stopped(r, x, err) : rv;
    case STOP_BUDGET:
    case STOP_COMMAND:
        x->stop = STOP_NONE;
        return x->effect_open && x->call == MORTISE_RUN_EXECUTE
                   ? fail_not_done(r, x, err)
                   : exec_ready(r, x, err);
    case STOP_TIMEOUT:
    case STOP_RACE: /* it has lost */
    case STOP_BROKE:
    case STOP_STUCK:
    case STOP_NONE:
        break;
    }
    if (x->call == MORTISE_RUN_CHECK)
        return guard_settle(r, x, in, "it did not answer in time", err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return doubt_ask(r, x, err);
    return fail_attempt(r, x, "timeout.call", "timeout",
                        "the attempt took longer than its timeout", err);
}

int settle_result(struct mortise_run *r, const struct mortise_result_in *in,
                  struct mortise_err *err)
{
    struct exec *x = exec_at(r, in->call);
    int rv;

    if (x == NULL || !call_is_out(x))
        return MORTISE_OK; /* it was ended without it */
    rv = disarm(r, x, err);
    if (rv == MORTISE_OK)
        rv = usage_note(r, x, in->usage, false, err);
    if (rv != MORTISE_OK)
        return rv;
    x->serial++; /* a second answer is nobody's */
    if (x->loss != LOSS_NONE && x->stop != STOP_RUN)
        return settle_lost(r, x, in, err);
    if (x->state == X_STOPPING)
        return settle_stopped(r, x, in, err);
    switch (x->call) {
    case MORTISE_RUN_CHECK:
        return guard_settle(r, x, in, in->status != 0 ? in->message : NULL,
                            err);
    case MORTISE_RUN_RECONCILE:
        return settle_reconciled(r, x, in, err);
    case MORTISE_RUN_LOOKUP:
        return cache_settle(r, x, in, err);
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
    enum doubt doubt = doubt_at_end(r, x, &mute);
    bool open = x->call != MORTISE_RUN_CHECK &&
                (x->effect_open || step_in_doubt(r, x) != NULL);
    bool cut = x->stop == STOP_RUN;
    bool over = cut || !race_may_come_back(x);

    x->stop = STOP_STUCK;
    if (doubt != DOUBT_NONE && !over)
        return doubt_ended(r, x, doubt, &mute, err);
    x->stop = STOP_NONE;
    if (x->call == MORTISE_RUN_RECONCILE && !over)
        return doubt_ask(r, x, err); /* nor did whoever was to tell */
    if (x->loss != LOSS_NONE)
        return stop_lost(r, x, err);
    if (cut && open) /* nobody follows its on_error now */
        return record_stopped(r, x, err);
    return fail_for_good(r, x, "timeout.unresponsive", doubt_stuck, open, err);
}

int settle_unresponsive(struct mortise_run *r,
                        const struct mortise_result_in *in,
                        struct mortise_err *err)
{
    struct exec *x = exec_at(r, in->call);
    int rv;

    if (x == NULL || !call_is_out(x))
        return MORTISE_OK;
    rv = disarm(r, x, err);
    if (rv == MORTISE_OK)
        rv = usage_note(r, x, in->usage, true, err);
    if (rv != MORTISE_OK)
        return rv;
    x->serial++;
    return settle_stuck(r, x, err);
}

/* ---- time --------------------------------------------------------------- */

int settle_expired(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_entry e = entry_of(r, x, MORTISE_E_SETTLE);
    char id[REQUEST_ID];
    int rv;

    memcpy(id, x->request, sizeof id);
    e.how = MORTISE_SETTLE_EXPIRED;
    e.id = id;
    rv = record(r, &e, err);
    if (rv != MORTISE_OK)
        return rv;
    if (n->on_timeout == MORTISE_TIMEOUT_ERROR ||
        n->on_timeout == MORTISE_TIMEOUT_GOTO) {
        x->expired_to_goto = n->on_timeout == MORTISE_TIMEOUT_GOTO;
        return fail_attempt(r, x, "timeout", "permanent",
                            "nobody answered in time", err);
    }
    return human_decided(r, x, human_expired(r, x), err);
}

int settle_timer(struct mortise_run *r, uint64_t timer, struct mortise_err *err)
{
    struct exec *x = exec_at(r, timer);

    if (x == NULL || !x->timer)
        return MORTISE_OK; /* it was disarmed, or fired already */
    x->timer = false;
    if (x->index == 0 || x->state == X_INSIDE)
        return clock_is_due(r, x, err);
    if (x->state == X_RUNNING)
        return cancel_call(
            r, x, call_is_given_up(r, x) ? STOP_COMMAND : STOP_TIMEOUT, err);
    if (x->state == X_SUSPENDED)
        return step_expired(r, x, err);
    assert(x->state == X_BACKOFF || x->state == X_ASKED); /* who else arms */
    if (x->state == X_BACKOFF)
        return exec_ready(r, x, err);
    if (r->time_ms < x->deadline_ms) /* the clock was set back */
        return arm(r, x, x->deadline_ms, err);
    return settle_expired(r, x, err);
}
