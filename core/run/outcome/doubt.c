/* doubt.c -- an effect of which nobody knows whether it happened.
 *
 * Two things can be in doubt, since two things have an intent on disk before
 * they begin (start.c, step.c):
 *
 *   a call  of an operation with `intent: call`: all that its plugin did in that
 *           entry, by itself or by asking.  Its intent is open from the entry
 *           until the plugin has spoken: a result, an error, a suspension.
 *   a step  an effectful ask, inside a call of either intent: open from its
 *           intent until its answer.
 *
 * They come to be in doubt when the process dies, when a call was told to stop
 * and only let go, or did not even do that, when it ended well and its result
 * could not be kept, when a plugin says so (MORTISE_S_DOUBT), or when what was
 * heard of a step says nothing: a connection that broke behind the request, a
 * server that failed while it worked (host_calls.h).
 *
 *   (1) Nothing that is in doubt is done again before somebody settled that: the
 *       plugin, which is asked where it can tell (`reconcile`); else a person.
 *       No retry_policy, resume, race, pause or timeout is a way around.
 *   (2) What may be done again is not in doubt: an operation that is
 *       `idempotent`, which says that the same key twice is once; a node with
 *       `on_in_doubt: retry`, whose author wants it so; a step that by its
 *       nature may be repeated (PUT and DELETE).  What was heard of it is its
 *       answer, and an error like any.
 *   (3) A call in doubt is settled as a whole.  The plugin's `reconcile` speaks
 *       for all of it, and so does the person who is shown the call: "it did not
 *       happen" covers the steps in it that are open, too, so that there is one
 *       question for one crash.  Steps that were answered stay answered: the
 *       call is entered again with the same journal.
 *   (4) Where only a step is open, because the plugin has spoken for the rest,
 *       that step alone is settled: with the result that it had, which is then
 *       the answer to its ask, or by being made again under the same key.
 *   (5) Until a step in doubt is settled its asker is told that the answer
 *       comes later (MORTISE_S_SUSPENDED), as with any that people give.  One
 *       that fails instead of letting go is in doubt all the same: its error
 *       stands on an answer that it did not get.  One that succeeds needs no
 *       answer, and nobody is asked.
 *   (6) "It did not happen", said by the plugin of what failed in other ways
 *       than by a crash, is that failure: its retry_policy says how often it is
 *       tried.  Otherwise an effect that can never come to be would be tried for
 *       ever.  Of a step, what was heard of it is its answer then.
 *   (7) Where doubt fails the node (on_in_doubt: fail, or a person's word), the
 *       doubt stays with the failure, also where that is what its on_error gave
 *       instead: who has it tried again is asked what happened.
 *   (8) A person is asked as soon as the doubt is known, also where the run is
 *       about to stand still: whoever paused it hears of it, and why.
 *   (9) What a failure, a timeout or a budget of its graph stopped in the middle
 *       of an effect may be tried again, or gone to: its doubt is settled before
 *       it ends, and so before its graph does.  "It was done" is kept as its
 *       result; "it was not" leaves nothing; where the doubt fails it (7), it
 *       stays with what was stopped.  Who lost a race or was late for a graph's
 *       end never returns, and nobody is asked: it ends with its doubt (11).
 *  (10) A result that its schemas refuse fails the node, and is kept (R11): the
 *       effect happened.  Since the same would come out for ever, who has the
 *       node tried again is asked what it came to, as if nobody knew: the
 *       operation again, where it may be repeated; the plugin, where it can
 *       tell, unless it tells the same; a person.
 *  (11) What ends with its doubt, and nobody waits for it, holds nothing up: a
 *       run that was cancelled, who lost a race, or was late for a graph's end,
 *       a failure with its doubt, or of a result that is refused, that on_error
 *       led on from.  But nobody goes to a node of the run before it is settled:
 *       a `resume` of a run that has ended settles each doubt as (9) does, and
 *       nothing of what ended is made again, whatever is said.  A run that
 *       completed or was cancelled ends as it had then, also where it is
 *       cancelled instead; of one that failed what failed is tried again beside
 *       that.  An entry says of a loser, and of what on_error gave instead, that
 *       there is a doubt: others of them end without one.
 *  (12) A call that broke its word (E_DETERMINISM) says nothing by its end but an
 *       error of its own: what it was in the middle of is settled before that
 *       failure is one, and leads anywhere.  "It did not happen", whoever says
 *       so, is that failure, since it would break its word again.
 *
 *  (13) What was heard, and why an attempt failed, is not recorded by itself:
 *       after a crash the doubt is one of the crash.  It is with a request to a
 *       person, which shows both, and where something else than its settling
 *       comes next (it fails, it is stopped, its run is paused): ahead of that
 *       stands why nobody knows (`doubt`).  Whoever is asked about it later, or
 *       again, is told the same, of the same: where only a step was in doubt,
 *       the call's journal is kept for it.
 *
 *  (14) What a person says that a step came to may be said anew, as people are
 *       wrong: where its call failed behind it, which may be of just that answer,
 *       together with the `resume` that tries it again; and as long as nothing
 *       was told of it.  What went on with it is past that.
 */
#include <string.h>

#include "lang/config/policy.h"
#include "mortise/plugin.h"
#include "core/run/outcome/outcome.h"

/* ---- is it one? --------------------------------------------------------- */

enum doubt mortise_doubt_at_end(const struct mortise_run *r,
                                const struct exec *x,
                                const struct mortise_result_in *in, bool broke)
{
    bool silent = in->silent || in->status == MORTISE_S_DOUBT ||
                  (broke && in->status >= 0);

    if ((in->status == MORTISE_S_OK && !broke) ||
        x->call != MORTISE_RUN_EXECUTE ||
        mortise_doubt_may_be_repeated(mortise_exec_node(r, x)))
        return DOUBT_NONE;
    if (silent && x->effect_open) /* its intent, which its plugin closes */
        return DOUBT_CALL;
    return mortise_step_in_doubt(r, x) != NULL ? DOUBT_STEP : DOUBT_NONE;
}

bool mortise_doubt_is_open(const struct mortise_run *r, const struct exec *x)
{
    return x->fan == NULL && mortise_exec_node(r, x)->op != NULL &&
           (x->effect_open || mortise_step_in_doubt(r, x) != NULL) &&
           !mortise_doubt_may_be_repeated(mortise_exec_node(r, x));
}

/* Nobody does it again before somebody knows. */
static bool is_held(const struct mortise_run *r, const struct exec *x)
{
    return mortise_doubt_is_open(r, x) && mortise_race_may_come_back(x);
}

/* ---- it came to be ------------------------------------------------------ */

void mortise_doubt_note_failure(struct exec *x, json_t *failure)
{
    mortise_json_drop(&x->failure);
    x->failure = failure;
}

/* How the attempt failed (6): {code, class, message}. */
static int note_failure(struct exec *x, const char *code, const char *class,
                        const char *message, struct mortise_err *err)
{
    mortise_doubt_note_failure(x,
                               json_pack("{s:s, s:s, s:s}", "code", code,
                                         "class", class, "message", message));
    return x->failure != NULL ? MORTISE_OK : mortise_nomem(err);
}

static const char doubt_of_cancel[] =
    "the run was cancelled while the effect was in flight";
const char mortise_doubt_stuck[] =
    "the plugin did not return after a cancellation";

/* What it came of that a call was told to stop, which is no failure of its. */
static const char *who_stopped(const struct mortise_run *r,
                               const struct exec *x)
{
    while (x->loss == LOSS_OUTER && x->frame->top->scope->owner != NULL)
        x = x->frame->top->scope->owner;
    if (x->loss != LOSS_NONE)
        return mortise_race_words(x->loss);
    if (mortise_exec_is_to_stop(r, x))
        return mortise_race_words(LOSS_CANCEL);
    if (x->stop == STOP_BUDGET)
        return mortise_race_words(LOSS_BUDGET);
    return r->held != NULL && r->held->cause != NULL
               ? r->held->cause
               : mortise_race_words(LOSS_NONE);
}

/* Why a call that was told to stop was. */
static int note_stop(const struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    char words[160];

    if (x->stop == STOP_STUCK)
        return note_failure(x, "timeout.unresponsive", "permanent",
                            mortise_doubt_stuck, err);
    if (x->stop == STOP_TIMEOUT)
        return note_failure(x, "timeout.call", "timeout",
                            mortise_exec_timed_out(x, words), err);
    snprintf(words, sizeof words,
             "%s: the call was cancelled and did not report whether its effect "
             "happened",
             who_stopped(r, x));
    return note_failure(x, "", "", words, err);
}

/* The plugin spoke for all but the step: its intent is closed, and it goes on
 * with the doubt (doubt_start). */
static int close_call(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_LET_GO);

    e.how = true; /* at once */
    return mortise_run_record(r, &e, err);
}

void mortise_doubt_paused(struct exec *x)
{
    struct mortise_err err; /* it is shown without, then */

    if (x->effect_open && x->failure == NULL && x->told == NULL &&
        x->was.state == 0)
        note_failure(x, "", "",
                     "the run was paused, and it is unknown how the call ended",
                     &err);
}

/* (8) */
static bool is_for_a_person(const struct exec *x, const struct mortise_node *n)
{
    if (n->on_in_doubt == MORTISE_DOUBT_FAIL)
        return x->doubted; /* it has failed already */
    return n->on_in_doubt == MORTISE_DOUBT_ASK || !n->op->reconcile;
}

/* x is to settle it, now that it is noted how its call ended. */
static int begin_doubt(struct mortise_run *r, struct exec *x, enum doubt what,
                       struct mortise_err *err)
{
    int rv;

    assert(mortise_exec_node(r, x)->op != NULL && x->leaving == NULL);
    mortise_exec_stop_for(x, STOP_NONE);
    json_decref(mortise_step_take_broke(x));
    rv = what == DOUBT_STEP ? close_call(r, x, err)
                            : mortise_exec_ready(r, x, err);
    return rv == MORTISE_OK && r->held != NULL &&
                   is_for_a_person(x, mortise_exec_node(r, x))
               ? mortise_doubt_ask(r, x, err)
               : rv;
}

int mortise_doubt_ended(struct mortise_run *r, struct exec *x, enum doubt what,
                        const struct mortise_result_in *in,
                        struct mortise_err *err)
{
    int rv = MORTISE_OK;

    assert(what != DOUBT_NONE && x->call == MORTISE_RUN_EXECUTE);
    if (x->state == X_STOPPING || x->stop == STOP_STUCK)
        rv = note_stop(r, x, err);
    else if (what == DOUBT_CALL)
        rv = note_failure(
            x, in->error_code[0] != '\0' ? in->error_code : "in_doubt",
            in->error_class, in->message, err);
    else
        rv =
            note_failure(x, "", "",
                         in->status == MORTISE_S_DOUBT && in->message[0] != '\0'
                             ? in->message
                             : "the call ended before its answer arrived",
                         err);
    return rv == MORTISE_OK ? begin_doubt(r, x, what, err) : rv;
}

const char mortise_doubt_broken[] = "determinism";

int mortise_doubt_broke(struct mortise_run *r, struct exec *x, enum doubt what,
                        const char *words, struct mortise_err *err)
{
    int rv = note_failure(x, mortise_doubt_broken, "permanent", words, err);

    return rv == MORTISE_OK ? begin_doubt(r, x, what, err) : rv;
}

/* ---- a person is asked -------------------------------------------------- */

/* What is in doubt: NULL, the call (3). */
const struct step *mortise_doubt_subject(const struct mortise_run *r,
                                         const struct exec *x)
{
    return x->effect_open ? NULL : mortise_step_in_doubt(r, x);
}

/* How it ended, which is asked about now (11). */
static const char *cause_of_end(const struct exec *x)
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

/* What was told of it before; NULL: nothing, or of something else. */
static const json_t *told_of(const struct exec *x, const struct step *s)
{
    json_t *name = s != NULL ? mortise_step_name(s) : NULL;
    const json_t *told = json_object_get(x->told, "step");
    bool same = name == NULL ? told == NULL : json_equal(name, told);

    json_decref(name);
    return same ? x->told : NULL;
}

static const char *words_in(const json_t *from, const char *member)
{
    const char *words = json_string_value(json_object_get(from, member));

    return words != NULL && words[0] != '\0' ? words : NULL;
}

/* Why nobody knows. */
const char *mortise_doubt_cause(const struct exec *x, const struct step *s)
{
    const json_t *seen = s != NULL && s->heard != NULL ? s->heard->seen : NULL;
    const char *words = words_in(seen, "cause");

    if (words == NULL)
        words = words_in(x->failure, "message");
    if (words == NULL)
        words = words_in(told_of(x, s), "cause");
    if (words == NULL && x->was.state != 0)
        words = cause_of_end(x);
    return words != NULL ? words
                         : "the process died while the effect was in flight";
}

/* What the world answered to a step, if it did. */
static json_t *answer_of(const struct exec *x, const struct step *s)
{
    return json_object_get(s->heard != NULL ? s->heard->seen : told_of(x, s),
                           "answer");
}

/* ---- what was told of it (13) -------------------------------------------- */

int mortise_apply_doubt(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    (void)r;
    if (!json_is_object(e->value))
        return mortise_entry_corrupt(err, e);
    if (json_object_size(e->value) == 0) {
        mortise_doubt_forget(x);
        return MORTISE_OK;
    }
    return mortise_doubt_tell(x, e->value, true) == 0 ? MORTISE_OK
                                                      : mortise_nomem(err);
}

/* Of the call, or of the one step. */
static json_t *tell(const struct exec *x, const struct step *s)
{
    return json_pack("{s:s, s:o*, s:O*}", "cause", mortise_doubt_cause(x, s),
                     "step", s != NULL ? mortise_step_name(s) : NULL, "answer",
                     s != NULL ? answer_of(x, s) : NULL);
}

int mortise_doubt_note(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_DOUBT);
    json_t *what;

    if (!mortise_doubt_is_open(r, x))
        return MORTISE_OK;
    what = tell(x, mortise_doubt_subject(r, x));
    if (what == NULL || !x->told_apart || !json_equal(what, x->told))
        return mortise_run_record_value(r, &e, what, err);
    json_decref(what);
    return MORTISE_OK;
}

/* It goes on, and may come to be in doubt for another reason. */
int mortise_doubt_untell(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_DOUBT);

    return x->told != NULL ? mortise_run_record_value(r, &e, json_object(), err)
                           : MORTISE_OK;
}

/* ---- the question -------------------------------------------------------- */

const struct mortise_schema *
mortise_doubt_step_result(const struct mortise_node *n, const char *method)
{
    return n->op != NULL && strcmp(method, "journal.begin/1") == 0
               ? n->op->step_result
               : NULL;
}

static int add_open(json_t *list, const struct step *s)
{
    char key[MORTISE_DIGEST_HEX];

    mortise_hex(key, s->effect, MORTISE_DIGEST);
    return json_array_append_new(list, json_pack("{s:o, s:s, s:O, s:s}", "step",
                                                 mortise_step_name(s), "method",
                                                 s->method, "args", s->payload,
                                                 "idempotency_key", key));
}

/* The steps that the word about a call covers, too (3): who gives it has to
 * look at them. */
static int show_open(json_t *payload, const struct exec *x)
{
    const struct journal *j = x->journal;
    json_t *list = mortise_step_is_open(x) ? json_array() : NULL;
    int rv = 0;

    for (size_t i = 0; list != NULL && rv == 0 && i < j->n; i++)
        if (j->steps[i]->state == STEP_OPEN &&
            j->steps[i]->kind != MORTISE_STEP_TOOL)
            rv = add_open(list, j->steps[i]);
    if (list != NULL && rv == 0)
        return json_object_set_new(payload, "open", list);
    json_decref(list);
    return rv;
}

/* What the answer to a step of the plugin's own has to be like. */
static int show_step_schema(json_t *payload, const struct mortise_node *n,
                            const struct step *s)
{
    const struct mortise_schema *its = mortise_doubt_step_result(n, s->method);

    return its == NULL
               ? 0
               : json_object_set_new(
                     payload, "schema",
                     json_pack("{s:s, s:[s], s:{s:o}, s:b}", "type", "object",
                               "required", "result", "properties", "result",
                               json_deep_copy(mortise_schema_json(its)),
                               "additionalProperties", 0));
}

/* What there is to see of a step, besides. */
static int show_step(json_t *payload, const struct exec *x,
                     const struct mortise_node *n, const struct step *s)
{
    json_t *answer = answer_of(x, s);

    if (json_object_set_new(payload, "step", mortise_step_name(s)) != 0 ||
        json_object_set_new(payload, "method", json_string(s->method)) != 0 ||
        show_step_schema(payload, n, s) != 0)
        return -1;
    return answer == NULL ? 0 : json_object_set(payload, "answer", answer);
}

/* Does it refer to a part of itself, and so mean nothing inside of another? */
static bool refers(const json_t *v)
{
    const char *key;
    json_t *member;
    size_t i;

    json_object_foreach(mortise_json_unconst(v), key, member)
    {
        if (strstr(key, "$ref") != NULL || strstr(key, "Ref") != NULL ||
            refers(member))
            return true;
    }
    json_array_foreach(mortise_json_unconst(v), i, member)
    {
        if (refers(member))
            return true;
    }
    return false;
}

/* What the result of the call has to be like, in its place: as the operation has
 * it, and as the node does. */
static int show_schema(json_t *payload, const struct mortise_node *n)
{
    const json_t *its =
        n->op->output != NULL ? mortise_schema_json(n->op->output) : NULL;
    const json_t *of_node =
        n->output_schema != NULL ? mortise_schema_json(n->output_schema) : NULL;
    json_t *all;

    if (its == NULL && of_node == NULL)
        return 0;
    if (its != NULL && of_node != NULL && !refers(its) && !refers(of_node))
        all = json_pack("{s:[o, o]}", "allOf", json_deep_copy(its),
                        json_deep_copy(of_node));
    else
        all = json_deep_copy(of_node != NULL ? of_node : its);
    return json_object_set_new(payload, "schema", all);
}

/* {tool, args, idempotency_key, effect, cause, over?}: of the call, with a list
 * of the steps in it that are `open`, and the schema of its result; or of the
 * one step of it that is in doubt, with that step's name and method, and with
 * what the world answered, if it did. */
int mortise_doubt_ask(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const struct step *s = mortise_doubt_subject(r, x);
    char tool[MORTISE_TOOL_MAX], key[MORTISE_DIGEST_HEX];
    json_t *payload;

    assert(s != NULL || x->body != NULL); /* what is asked about is shown */
    if (s == NULL && n->op->steps)        /* no intent has left its key */
        mortise_exec_find_key(r, x);
    mortise_hex(key, s != NULL ? s->effect : x->key, MORTISE_DIGEST);
    snprintf(tool, sizeof tool, "%s/%s", n->plugin, n->operation);
    payload = json_pack("{s:s, s:O, s:s, s:s, s:s, s:o*}", "tool", tool, "args",
                        s != NULL ? s->payload : x->body, "idempotency_key",
                        key, "effect", mortise_effect_name(n->effect), "cause",
                        mortise_doubt_cause(x, s), "over",
                        x->was.state != 0 ? json_true() : NULL);
    if (payload != NULL &&
        (s != NULL ? show_step(payload, x, n, s)
                   : show_open(payload, x) | show_schema(payload, n)) != 0)
        mortise_json_drop(&payload);
    return mortise_request_ask(r, x, MORTISE_ASK_DOUBT, payload, 0, err);
}

int mortise_doubt_hold(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    struct mortise_err why;
    int rv;

    if (mortise_exec_is_over(x) || x->state == X_ASKED || !is_held(r, x))
        return MORTISE_OK;
    if (!is_for_a_person(x, mortise_exec_node(r, x)))
        return mortise_doubt_note(r, x, err);
    rv = mortise_arguments_find(r, x, &why, err);
    if (rv == MORTISE_EINVAL) /* whoever goes on with it hears of that */
        return mortise_doubt_note(r, x, err);
    return rv == MORTISE_OK ? mortise_doubt_ask(r, x, err) : rv;
}

/* ---- what came of it is useless (10) ------------------------------------- */

int mortise_doubt_note_useless(struct exec *x, const struct mortise_err *why,
                               struct mortise_err *err)
{
    char words[sizeof why->msg + 64];

    snprintf(words, sizeof words,
             "the effect happened, but its result was rejected: %s", why->msg);
    return note_failure(x, "", "", words, err);
}

/* ---- of what was stopped (9) -------------------------------------------- */

bool mortise_doubt_outlives(const struct mortise_run *r, const struct exec *x)
{
    return is_held(r, x) &&
           (x->doubted ||
            mortise_exec_node(r, x)->on_in_doubt != MORTISE_DOUBT_FAIL) &&
           (x->state == X_READY || x->state == X_BACKOFF ||
            x->state == X_SUSPENDED);
}

/* Would a resume come to x?  Not to what a goto left behind, or on_error. */
static bool is_ahead(const struct exec *x)
{
    const struct frame *f = x->frame;
    const struct exec *owner = f->top->scope->owner;
    const struct item *it = mortise_exec_item(x);

    return !f->behind && !x->handled && it->exec == x->index &&
           (it->phase == ITEM_ACTIVE || it->phase == ITEM_FAILED) &&
           (owner == NULL || (owner->child == f->top && is_ahead(owner)));
}

bool mortise_doubt_is_asked(const struct exec *x)
{
    return mortise_race_may_come_back(x) &&
           ((x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT) ||
            (x->state == X_RUNNING && x->call == MORTISE_RUN_RECONCILE));
}

/* ---- of what is over (11) ------------------------------------------------ */

int mortise_doubt_left(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_LEFT);

    return mortise_run_record(r, &e, err);
}

bool mortise_doubt_is_useless(const struct exec *x)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];

    return n->op != NULL && x->result != NULL &&
           mortise_judge_output(x->frame->graph, n, x->result, NULL) !=
               MORTISE_OK;
}

/* Of a loser that never returns an entry says so: it may have ended well. */
bool mortise_doubt_is_kept(const struct mortise_run *r, const struct exec *x)
{
    return mortise_exec_is_over(x) && x->node < x->frame->graph->n_nodes &&
           mortise_doubt_is_open(r, x) &&
           (x->state != X_DONE || x->effect_open) &&
           (x->state != X_CANCELLED || x->cut || x->unknown ||
            mortise_race_may_come_back(x));
}

bool mortise_doubt_may_go_on(const struct exec *x)
{
    return x->state == X_FAILED ? !x->handled
                                : x->state == X_CANCELLED && is_ahead(x);
}

bool mortise_doubt_is_any_kept(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (mortise_doubt_is_kept(r, r->execs[i]))
            return true;
    return false;
}

bool mortise_run_keeps_doubt(const struct mortise_run *r)
{
    return mortise_run_is_over(r) && mortise_doubt_is_any_kept(r);
}

int mortise_doubt_cancelled(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_STOPPED);
    int rv = MORTISE_OK;

    if (x->call == MORTISE_RUN_EXECUTE) /* nothing more is known of it */
        rv = note_failure(x, "", "", doubt_of_cancel, err);
    if (rv == MORTISE_OK)
        rv = mortise_doubt_note(r, x, err);
    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}

void mortise_doubt_at_failure(struct exec *x, bool in_doubt)
{
    x->doubted = in_doubt;
    if (!in_doubt)
        mortise_doubt_forget(x);
}

void mortise_doubt_cut(struct exec *x, bool by_cancel)
{
    x->cut = by_cancel;
}

static int return_one(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    int rv;

    assert(mortise_exec_is_over(x));
    x->was.state = x->state;
    x->was.loss = x->loss;
    x->was.ended_ms = x->ended_ms;
    x->doubted = true; /* whatever its author said of the first time */
    mortise_race_mark(x, LOSS_NONE);
    mortise_exec_ended(x, 0);
    rv = mortise_exec_ready(r, x, err);
    return rv == MORTISE_OK ? mortise_race_lose(r, x, LOSS_CANCEL, err) : rv;
}

int mortise_doubt_return(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        if (mortise_doubt_is_kept(r, r->execs[i]))
            rv = return_one(r, r->execs[i], err);
    return rv;
}

void mortise_doubt_over(struct mortise_run *r, struct exec *x)
{
    assert(x->was.state != 0);
    mortise_exec_become(r, x, x->was.state);
    mortise_race_mark(x, x->was.loss);
    mortise_exec_ended(x, x->was.ended_ms);
    x->was.state = 0;
}

void mortise_doubt_all_over(struct mortise_run *r)
{
    for (size_t i = 1; r->after != 0 && i < r->n_execs; i++)
        if (r->execs[i]->was.state != 0)
            mortise_doubt_over(r, r->execs[i]);
}

bool mortise_doubt_has_returned(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (r->execs[i]->loss == LOSS_CANCEL &&
            !mortise_exec_is_over(r->execs[i]))
            return true;
    return false;
}

void mortise_doubt_leave(struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (r->execs[i]->loss == LOSS_CANCEL)
            mortise_race_mark(r->execs[i], LOSS_NONE);
}
