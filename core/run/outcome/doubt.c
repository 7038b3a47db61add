/* doubt.c -- effects in doubt: nobody knows whether they happened.
 *
 * Two things can be in doubt, the two that record an intent before they begin
 * (start.c, step.c):
 *
 *   a call  of an operation with `intent: call`: everything that its plugin did
 *           in that call, itself or by asks.  The intent stays open until the
 *           plugin reports a result, an error or a suspension.
 *   a step  an ask with an effect, inside a call of either intent.  Its intent
 *           stays open until its answer.
 *
 * A doubt arises when the process dies; when a cancelled call returns without a
 * report, or never returns; when a call succeeds and its result cannot be
 * stored; when a plugin reports one (MORTISE_S_DOUBT); or when the answer to a
 * step is inconclusive: a connection that broke after the request, a server
 * that failed during it (host_calls.h).
 *
 *   (1) An effect in doubt is never repeated before the doubt is settled: by
 *       the plugin, if it has `reconcile`, else by a person.  No retry_policy,
 *       resume, race, pause or timeout bypasses this.
 *   (2) Repeatable effects are never in doubt: an `idempotent` operation, for
 *       which the same key twice counts once; a node with `on_in_doubt: retry`;
 *       a step that is repeatable by nature (PUT and DELETE).  The answer to
 *       such a step is used as it is, and an error is an ordinary error.
 *   (3) A call in doubt is settled as a whole, so that there is one question
 *       for one crash.  The plugin's `reconcile`, or the person who sees the
 *       call, decides for all of it: "it did not happen" includes its open
 *       steps.  Answered steps stay answered, and the engine re-enters the call
 *       with the same journal.
 *   (4) If only a step is open, because the plugin reported the rest, that step
 *       alone is settled: its result becomes the answer to the ask, or it is
 *       made again under the same key.
 *   (5) Until a step in doubt is settled, its asker is suspended
 *       (MORTISE_S_SUSPENDED), as for an answer from a person.  A call that
 *       fails instead of suspending is in doubt too: it failed without the
 *       answer.  A call that succeeds did not need the answer, and nobody is
 *       asked.
 *   (6) If an attempt failed in another way than by a crash, and the plugin
 *       says "it did not happen", the attempt's failure stands, and its
 *       retry_policy limits the tries.  Otherwise an effect that always fails
 *       would be tried forever.  For a step, the answer that was heard is used.
 *   (7) If a doubt fails the node (on_in_doubt: fail, or a person's decision),
 *       the doubt stays with the failure, even if on_error supplies a value.  A
 *       retry of the node first asks whether the effect happened.
 *   (8) A person is asked as soon as a doubt is known, even if the run is about
 *       to pause, so that the operator who paused it sees the doubt and its
 *       cause.
 *   (9) An execution that a failure, a timeout or a budget stopped in the
 *       middle of an effect may be retried later, or a goto may lead to it.
 *       Its doubt is settled before it ends, and so before its graph ends.  "It
 *       happened" becomes its result; "it did not" leaves nothing; if the doubt
 *       fails it (7), the doubt stays with it.  Executions that lost a race, or
 *       missed the end of their graph, never return: nobody is asked, and they
 *       end in doubt (11).
 *  (10) A result that the schemas reject fails the node and is kept (R11),
 *       since the effect happened.  A retry would get the same result forever,
 *       so it settles the effect as if it were in doubt: repeat the operation,
 *       if allowed; ask the plugin, unless it reports the same result; ask a
 *       person.
 *  (11) Some doubts stay open without blocking anything: those of a cancelled
 *       run; of an execution that lost a race or missed the end of its graph;
 *       of a failure in doubt, or with a rejected result, that on_error led on
 *       from.  A `resume` of the ended run settles each of them as in (9).  No
 *       goto leads to a node of the run before that, and nothing that ended is
 *       made again, whatever the decision.  A completed or cancelled run then
 *       ends as before, even if it is cancelled meanwhile; a failed run also
 *       retries its failures.  For a loser, and for a value of on_error, an
 *       entry records the doubt, because most of them end without one.
 *  (12) A call that diverged from its journal (E_DETERMINISM) proves nothing by
 *       its end except an error of its own.  The effect that was in flight is
 *       settled before the failure takes effect.  "It did not happen" leads to
 *       that failure, since the call would diverge again.
 *
 *  (13) An answer that was heard, or the cause of a failure, is not recorded by
 *       itself: after a crash the cause of the doubt is the crash.  It is
 *       recorded in a request to a person; and in a `doubt` entry ahead of
 *       something other than the settling (a failure, a stop, a pause).  A
 *       later request about the same doubt shows the same cause and subject.
 *       If only a step was in doubt, the call's journal is kept for that.
 *
 *  (14) A person can correct a decision about a step in two cases: before the
 *       call gets the answer; or, if the call failed after it (maybe because of
 *       it), together with the `resume` that retries the call.  If the call has
 *       continued with the answer, it is too late.
 */
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/outcome/outcome.h"

/* ---- detecting a doubt -------------------------------------------------- */

enum doubt mortise_doubt_find_at_end(const struct mortise_run *r,
                                     const struct exec *x,
                                     const struct mortise_result_in *in,
                                     bool broke)
{
    bool silent = in->silent || in->status == MORTISE_S_DOUBT ||
                  (broke && in->status >= 0);

    if ((in->status == MORTISE_S_OK && !broke) ||
        x->call != MORTISE_RUN_EXECUTE ||
        mortise_doubt_may_be_repeated(mortise_exec_node(r, x)))
        return DOUBT_NONE;
    if (silent && x->effect_open) /* its intent, which the plugin would close */
        return DOUBT_CALL;
    return mortise_step_find_in_doubt(r, x) != NULL ? DOUBT_STEP : DOUBT_NONE;
}

bool mortise_doubt_has_open_effect(const struct mortise_run *r,
                                   const struct exec *x)
{
    return x->fan == NULL && mortise_exec_node(r, x)->op != NULL &&
           (x->effect_open || mortise_step_find_in_doubt(r, x) != NULL) &&
           !mortise_doubt_may_be_repeated(mortise_exec_node(r, x));
}

/* Must the doubt be settled before x ends or runs again? */
static bool must_settle_before_end(const struct mortise_run *r,
                                   const struct exec *x)
{
    return mortise_doubt_has_open_effect(r, x) && mortise_race_can_resume(x);
}

/* ---- the start of a doubt ----------------------------------------------- */

void mortise_doubt_set_failure(struct exec *x, json_t *failure)
{
    mortise_json_clear_ref(&x->failure);
    x->failure = failure;
}

/* Store how the attempt failed (6): {code, class, message}. */
static int store_failure(struct exec *x, const char *code, const char *class,
                         const char *message, struct mortise_err *err)
{
    mortise_doubt_set_failure(x, json_pack("{s:s, s:s, s:s}", "code", code,
                                           "class", class, "message", message));
    return x->failure != NULL ? MORTISE_OK : mortise_nomem(err);
}

static const char doubt_of_cancel[] =
    "the run was cancelled while the effect was in flight";
const char mortise_doubt_stuck_message[] =
    "the plugin did not return after a cancellation";

/* Why x's call was cancelled, if x itself did not fail. */
static const char *get_stop_reason(const struct mortise_run *r,
                                   const struct exec *x)
{
    while (x->loss == LOSS_OUTER && x->frame->top->scope->owner != NULL)
        x = x->frame->top->scope->owner;
    if (x->loss != LOSS_NONE)
        return mortise_race_get_message(x->loss);
    if (mortise_exec_must_stop(r, x))
        return mortise_race_get_message(LOSS_CANCEL);
    if (x->stop == STOP_BUDGET)
        return mortise_race_get_message(LOSS_BUDGET);
    return r->held != NULL && r->held->cause != NULL
               ? r->held->cause
               : mortise_race_get_message(LOSS_NONE);
}

/* Store why the call was cancelled. */
static int store_stop_failure(const struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    char words[160];

    if (x->stop == STOP_UNRESPONSIVE)
        return store_failure(x, "timeout.unresponsive", "permanent",
                             mortise_doubt_stuck_message, err);
    if (x->stop == STOP_TIMEOUT)
        return store_failure(x, "timeout.call", "timeout",
                             mortise_exec_print_timeout(x, words), err);
    snprintf(words, sizeof words,
             "%s: the call was cancelled and did not report whether its effect "
             "happened",
             get_stop_reason(r, x));
    return store_failure(x, "", "", words, err);
}

/* The plugin reported everything but the step: close the call's intent, and
 * continue with the doubt of the step. */
static int record_call_closed(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_LET_GO);

    e.how = true; /* at once */
    return mortise_run_record(r, &e, err);
}

void mortise_doubt_set_paused(struct exec *x)
{
    struct mortise_err err; /* without memory, the request lacks the cause */

    if (x->effect_open && x->failure == NULL && x->told == NULL &&
        x->was.state == 0)
        store_failure(
            x, "", "",
            "the run was paused, and it is unknown how the call ended", &err);
}

/* (8) */
static bool must_ask_person(const struct exec *x, const struct mortise_node *n)
{
    if (n->on_in_doubt == MORTISE_DOUBT_FAIL)
        return x->failed_in_doubt; /* else it can fail without a person */
    return n->on_in_doubt == MORTISE_DOUBT_ASK || !n->op->reconcile;
}

/* Let x settle the doubt, now that the end of its call is stored. */
static int start_settling(struct mortise_run *r, struct exec *x,
                          enum doubt what, struct mortise_err *err)
{
    int rv;

    assert(mortise_exec_node(r, x)->op != NULL && x->leaving == NULL);
    mortise_exec_set_stop(x, STOP_NONE);
    json_decref(mortise_step_take_divergence(x));
    rv = what == DOUBT_STEP ? record_call_closed(r, x, err)
                            : mortise_exec_make_ready(r, x, err);
    return rv == MORTISE_OK && r->held != NULL &&
                   must_ask_person(x, mortise_exec_node(r, x))
               ? mortise_doubt_open_request(r, x, err)
               : rv;
}

int mortise_doubt_open_at_end(struct mortise_run *r, struct exec *x,
                              enum doubt what,
                              const struct mortise_result_in *in,
                              struct mortise_err *err)
{
    int rv = MORTISE_OK;

    assert(what != DOUBT_NONE && x->call == MORTISE_RUN_EXECUTE);
    if (x->state == X_STOPPING || x->stop == STOP_UNRESPONSIVE)
        rv = store_stop_failure(r, x, err);
    else if (what == DOUBT_CALL)
        rv = store_failure(
            x, in->error_code[0] != '\0' ? in->error_code : "in_doubt",
            in->error_class, in->message, err);
    else
        rv = store_failure(x, "", "",
                           in->status == MORTISE_S_DOUBT &&
                                   in->message[0] != '\0'
                               ? in->message
                               : "the call ended before its answer arrived",
                           err);
    return rv == MORTISE_OK ? start_settling(r, x, what, err) : rv;
}

const char mortise_doubt_diverged_code[] = "determinism";

int mortise_doubt_open_diverged(struct mortise_run *r, struct exec *x,
                                enum doubt what, const char *words,
                                struct mortise_err *err)
{
    int rv =
        store_failure(x, mortise_doubt_diverged_code, "permanent", words, err);

    return rv == MORTISE_OK ? start_settling(r, x, what, err) : rv;
}

/* ---- the subject and its cause ------------------------------------------- */

/* The subject of the doubt: a step, or NULL for the call (3). */
const struct step *mortise_doubt_get_step(const struct mortise_run *r,
                                          const struct exec *x)
{
    return x->effect_open ? NULL : mortise_step_find_in_doubt(r, x);
}

/* How x ended; the question about that end was reopened (11). */
static const char *get_end_cause(const struct exec *x)
{
    if (x->was.state != X_CANCELLED)
        return "it was recorded as failed, but it is unknown whether the "
               "effect happened";
    if (x->cut)
        return doubt_of_cancel;
    return x->was.loss == LOSS_RACE
               ? "another branch finished first while the effect was in flight"
               : "it was stopped while the effect was in flight";
}

/* The doubt recorded in x->told, if it has the same subject s. */
static const json_t *get_told_doubt(const struct exec *x, const struct step *s)
{
    json_t *name = s != NULL ? mortise_step_make_name(s) : NULL;
    const json_t *told = json_object_get(x->told, "step");
    bool same = name == NULL ? told == NULL : json_equal(name, told);

    json_decref(name);
    return same ? x->told : NULL;
}

static const char *get_nonempty_text(const json_t *from, const char *member)
{
    const char *words = json_string_value(json_object_get(from, member));

    return words != NULL && words[0] != '\0' ? words : NULL;
}

const char *mortise_doubt_get_cause(const struct exec *x, const struct step *s)
{
    const json_t *seen = s != NULL && s->heard != NULL ? s->heard->seen : NULL;
    const char *words = get_nonempty_text(seen, "cause");

    if (words == NULL)
        words = get_nonempty_text(x->failure, "message");
    if (words == NULL)
        words = get_nonempty_text(get_told_doubt(x, s), "cause");
    if (words == NULL && x->was.state != 0)
        words = get_end_cause(x);
    return words != NULL ? words
                         : "the process died while the effect was in flight";
}

/* The answer to a step that was heard, if any. */
static json_t *get_heard_answer(const struct exec *x, const struct step *s)
{
    return json_object_get(
        s->heard != NULL ? s->heard->seen : get_told_doubt(x, s), "answer");
}

/* ---- the recorded doubt (13) --------------------------------------------- */

int mortise_apply_doubt(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    (void)r;
    if (!json_is_object(e->value))
        return mortise_entry_corrupt(err, e);
    if (json_object_size(e->value) == 0) {
        mortise_doubt_remove_evidence(x);
        return MORTISE_OK;
    }
    return mortise_doubt_set_evidence(x, e->value, true) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* For the call, or for step s. */
static json_t *make_doubt_record(const struct exec *x, const struct step *s)
{
    return json_pack("{s:s, s:o*, s:O*}", "cause",
                     mortise_doubt_get_cause(x, s), "step",
                     s != NULL ? mortise_step_make_name(s) : NULL, "answer",
                     s != NULL ? get_heard_answer(x, s) : NULL);
}

int mortise_doubt_record_cause(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_DOUBT);
    json_t *what;

    if (!mortise_doubt_has_open_effect(r, x))
        return MORTISE_OK;
    what = make_doubt_record(x, mortise_doubt_get_step(r, x));
    if (what == NULL || !x->evidence_has_entry || !json_equal(what, x->told))
        return mortise_run_record_value(r, &e, what, err);
    json_decref(what);
    return MORTISE_OK;
}

int mortise_doubt_forget_cause(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_DOUBT);

    return x->told != NULL ? mortise_run_record_value(r, &e, json_object(), err)
                           : MORTISE_OK;
}

/* ---- the request to a person --------------------------------------------- */

const struct mortise_schema *
mortise_doubt_get_result_schema(const struct mortise_node *n,
                                const char *method)
{
    return n->op != NULL && strcmp(method, "journal.begin/1") == 0
               ? n->op->step_result
               : NULL;
}

static int add_open_step(json_t *list, const struct step *s)
{
    char key[MORTISE_DIGEST_HEX];

    mortise_hex_encode(key, s->effect, MORTISE_DIGEST);
    return json_array_append_new(
        list, json_pack("{s:o, s:s, s:O, s:s}", "step",
                        mortise_step_make_name(s), "method", s->method, "args",
                        s->payload, "idempotency_key", key));
}

/* Add the open steps that the decision about the call includes (3), so that the
 * person sees them. */
static int add_open_steps(json_t *payload, const struct exec *x)
{
    const struct journal *j = x->journal;
    json_t *list = mortise_step_has_open_effect(x) ? json_array() : NULL;
    int rv = 0;

    for (size_t i = 0; list != NULL && rv == 0 && i < j->n; i++)
        if (j->steps[i]->state == STEP_OPEN &&
            j->steps[i]->kind != MORTISE_STEP_TOOL)
            rv = add_open_step(list, j->steps[i]);
    if (list != NULL && rv == 0)
        return json_object_set_new(payload, "open", list);
    json_decref(list);
    return rv;
}

/* Add the schema of the answer to a step of the plugin's own. */
static int add_step_schema(json_t *payload, const struct mortise_node *n,
                           const struct step *s)
{
    const struct mortise_schema *its =
        mortise_doubt_get_result_schema(n, s->method);

    return its == NULL
               ? 0
               : json_object_set_new(
                     payload, "schema",
                     json_pack("{s:s, s:[s], s:{s:o}, s:b}", "type", "object",
                               "required", "result", "properties", "result",
                               json_deep_copy(mortise_schema_json(its)),
                               "additionalProperties", 0));
}

/* Add the name, method, schema and answer of the step. */
static int add_step_details(json_t *payload, const struct exec *x,
                            const struct mortise_node *n, const struct step *s)
{
    json_t *answer = get_heard_answer(x, s);

    if (json_object_set_new(payload, "step", mortise_step_make_name(s)) != 0 ||
        json_object_set_new(payload, "method", json_string(s->method)) != 0 ||
        add_step_schema(payload, n, s) != 0)
        return -1;
    return answer == NULL ? 0 : json_object_set(payload, "answer", answer);
}

/* Does the schema contain a reference, which would break inside of another
 * schema? */
static bool has_schema_reference(const json_t *v)
{
    const char *key;
    json_t *member;
    size_t i;

    json_object_foreach(mortise_json_unconst(v), key, member)
    {
        if (strstr(key, "$ref") != NULL || strstr(key, "Ref") != NULL ||
            has_schema_reference(member))
            return true;
    }
    json_array_foreach(mortise_json_unconst(v), i, member)
    {
        if (has_schema_reference(member))
            return true;
    }
    return false;
}

/* Add the schema of the call's result: those of the operation and of the
 * node. */
static int add_result_schema(json_t *payload, const struct mortise_node *n)
{
    const json_t *its =
        n->op->output != NULL ? mortise_schema_json(n->op->output) : NULL;
    const json_t *of_node =
        n->output_schema != NULL ? mortise_schema_json(n->output_schema) : NULL;
    json_t *all;

    if (its == NULL && of_node == NULL)
        return 0;
    if (its != NULL && of_node != NULL && !has_schema_reference(its) &&
        !has_schema_reference(of_node))
        all = json_pack("{s:[o, o]}", "allOf", json_deep_copy(its),
                        json_deep_copy(of_node));
    else
        all = json_deep_copy(of_node != NULL ? of_node : its);
    return json_object_set_new(payload, "schema", all);
}

/* The payload is {tool, args, idempotency_key, effect, cause, over?}.  For a
 * call it adds the `open` steps and the schema of the result; for a step its
 * name, method, schema and answer. */
int mortise_doubt_open_request(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const struct step *s = mortise_doubt_get_step(r, x);
    char tool[MORTISE_TOOL_MAX], key[MORTISE_DIGEST_HEX];
    json_t *payload;

    assert(s != NULL || x->body != NULL); /* the payload shows the arguments */
    if (s == NULL && n->op->steps)        /* no intent has fixed the key */
        mortise_exec_compute_key(r, x);
    mortise_hex_encode(key, s != NULL ? s->effect : x->key, MORTISE_DIGEST);
    snprintf(tool, sizeof tool, "%s/%s", n->plugin, n->operation);
    payload = json_pack("{s:s, s:O, s:s, s:s, s:s, s:o*}", "tool", tool, "args",
                        s != NULL ? s->payload : x->body, "idempotency_key",
                        key, "effect", mortise_effect_name(n->effect), "cause",
                        mortise_doubt_get_cause(x, s), "over",
                        x->was.state != 0 ? json_true() : NULL);
    if (payload != NULL && (s != NULL ? add_step_details(payload, x, n, s)
                                      : add_open_steps(payload, x) |
                                            add_result_schema(payload, n)) != 0)
        mortise_json_clear_ref(&payload);
    return mortise_request_record(r, x, MORTISE_ASK_DOUBT, payload, 0, err);
}

int mortise_doubt_ask_before_pause(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err)
{
    struct mortise_err why;
    int rv;

    if (mortise_exec_has_ended(x) || x->state == X_ASKED ||
        !must_settle_before_end(r, x))
        return MORTISE_OK;
    if (!must_ask_person(x, mortise_exec_node(r, x)))
        return mortise_doubt_record_cause(r, x, err);
    rv = mortise_arguments_eval_with_view(r, x, &why, err);
    if (rv == MORTISE_EINVAL) /* reported when x continues */
        return mortise_doubt_record_cause(r, x, err);
    return rv == MORTISE_OK ? mortise_doubt_open_request(r, x, err) : rv;
}

/* ---- rejected results (10) ----------------------------------------------- */

int mortise_doubt_set_rejected_result(struct exec *x,
                                      const struct mortise_err *why,
                                      struct mortise_err *err)
{
    char words[sizeof why->msg + 64];

    snprintf(words, sizeof words,
             "the effect happened, but its result was rejected: %s", why->msg);
    return store_failure(x, "", "", words, err);
}

/* ---- stopped executions (9) ---------------------------------------------- */

bool mortise_doubt_must_settle(const struct mortise_run *r,
                               const struct exec *x)
{
    return must_settle_before_end(r, x) &&
           (x->failed_in_doubt ||
            mortise_exec_node(r, x)->on_in_doubt != MORTISE_DOUBT_FAIL) &&
           (x->state == X_READY || x->state == X_BACKOFF ||
            x->state == X_SUSPENDED);
}

/* Would a resume reach x?  Not if a goto abandoned it, or on_error led on from
 * it. */
static bool is_reached_by_resume(const struct exec *x)
{
    const struct frame *f = x->frame;
    const struct exec *owner = f->top->scope->owner;
    const struct item *it = mortise_exec_item(x);

    return !f->behind && !x->handled && it->exec == x->index &&
           (it->phase == ITEM_ACTIVE || it->phase == ITEM_FAILED) &&
           (owner == NULL ||
            (owner->child == f->top && is_reached_by_resume(owner)));
}

bool mortise_doubt_is_settling(const struct exec *x)
{
    return mortise_race_can_resume(x) &&
           ((x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT) ||
            (x->state == X_RUNNING && x->call == MORTISE_RUN_RECONCILE));
}

/* ---- ended executions (11) ----------------------------------------------- */

int mortise_doubt_record_left(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_LEFT);

    return mortise_run_record(r, &e, err);
}

bool mortise_doubt_has_rejected_result(const struct exec *x)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];

    return n->op != NULL && x->result != NULL &&
           mortise_judge_check_output(x->frame->graph, n, x->result, NULL) !=
               MORTISE_OK;
}

/* A loser that cannot return may have ended well: only an entry tells its
 * doubt. */
bool mortise_doubt_has_ended_open(const struct mortise_run *r,
                                  const struct exec *x)
{
    return mortise_exec_has_ended(x) && x->node < x->frame->graph->n_nodes &&
           mortise_doubt_has_open_effect(r, x) &&
           (x->state != X_DONE || x->effect_open) &&
           (x->state != X_CANCELLED || x->cut || x->unknown ||
            mortise_race_can_resume(x));
}

bool mortise_doubt_can_resume(const struct exec *x)
{
    return x->state == X_FAILED
               ? !x->handled
               : x->state == X_CANCELLED && is_reached_by_resume(x);
}

bool mortise_doubt_has_any_ended_open(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (mortise_doubt_has_ended_open(r, r->execs[i]))
            return true;
    return false;
}

bool mortise_run_has_kept_doubt(const struct mortise_run *r)
{
    return mortise_run_is_closed(r) && mortise_doubt_has_any_ended_open(r);
}

int mortise_doubt_record_stopped(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_STOPPED);
    int rv = MORTISE_OK;

    if (x->call == MORTISE_RUN_EXECUTE) /* the end of the call is unknown */
        rv = store_failure(x, "", "", doubt_of_cancel, err);
    if (rv == MORTISE_OK)
        rv = mortise_doubt_record_cause(r, x, err);
    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}

void mortise_doubt_set_at_failure(struct exec *x, bool in_doubt)
{
    x->failed_in_doubt = in_doubt;
    if (!in_doubt)
        mortise_doubt_remove_evidence(x);
}

void mortise_doubt_set_cancelled(struct exec *x, bool by_cancel)
{
    x->cut = by_cancel;
}

static int reopen_kept_doubt(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    int rv;

    assert(mortise_exec_has_ended(x));
    x->was.state = x->state;
    x->was.loss = x->loss;
    x->was.ended_ms = x->ended_ms;
    x->failed_in_doubt = true; /* even if on_in_doubt is `fail` */
    mortise_race_set_loss(x, LOSS_NONE);
    mortise_exec_set_ended(x, 0);
    rv = mortise_exec_make_ready(r, x, err);
    return rv == MORTISE_OK ? mortise_race_stop_exec(r, x, LOSS_CANCEL, err)
                            : rv;
}

int mortise_doubt_reopen_kept(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        if (mortise_doubt_has_ended_open(r, r->execs[i]))
            rv = reopen_kept_doubt(r, r->execs[i], err);
    return rv;
}

void mortise_doubt_restore_end(struct mortise_run *r, struct exec *x)
{
    assert(x->was.state != 0);
    mortise_exec_set_state(r, x, x->was.state);
    mortise_race_set_loss(x, x->was.loss);
    mortise_exec_set_ended(x, x->was.ended_ms);
    x->was.state = 0;
}

void mortise_doubt_restore_all_ends(struct mortise_run *r)
{
    for (size_t i = 1; r->after != 0 && i < r->n_execs; i++)
        if (r->execs[i]->was.state != 0)
            mortise_doubt_restore_end(r, r->execs[i]);
}

bool mortise_doubt_has_any_reopened(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (r->execs[i]->loss == LOSS_CANCEL &&
            !mortise_exec_has_ended(r->execs[i]))
            return true;
    return false;
}

void mortise_doubt_stop_settling(struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (r->execs[i]->loss == LOSS_CANCEL)
            mortise_race_set_loss(r->execs[i], LOSS_NONE);
}
