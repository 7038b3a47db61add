/* script.c -- calls that are answered by a script, and time that passes.
 *
 *   (1) There is one place where a plugin is called (calls.c), and one hook in
 *       it: what the script answers never reaches a plugin, which is not even
 *       started, and what it leaves alone is called as ever.
 *   (2) A scripted answer arrives as a plugin's would: as a task, never from
 *       inside the step that made the call; and it is cancelled like one.
 *   (3) Commits are written on the spot, one batch after the other, so that
 *       with scripted answers a run is the same each time.
 *   (4) Time stands still, and is set forward (clock.h) only when nothing is
 *       under way whose end does not depend on it: so what starts together is
 *       due together, however busy the machine is.  What is really called takes
 *       no time, unless it takes longer than a clock of ours allows.
 *   (5) Nothing in a scripted run is of chance, or of the store that it happens
 *       to be in: what backoff's jitter comes to, the ids of requests.
 *   (6) What is really called and may block takes turns, so that the order in
 *       which such calls end does not depend on the threads that ran them.
 *   (7) The deployment's memory and discovery are never asked: it answers for
 *       them, too.

 *   (8) Of an operation that has its effects by steps (`intent: steps`) the script
 *       knows the end of the call, and not what it asks.  So a scripted call asks
 *       for one step of its own, as a plugin would (journal.begin/1): its answer's
 *       time is the step's, and what a crash, a timeout or a doubt leaves open is
 *       the step.  A step that the run has recorded is not made again: its result
 *       is what the call gives.
 */
#include "core/engine/runs/script.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/engine/runs/call.h"
#include "mortise/plugin.h"

enum { ASK_BEGIN = 1, ASK_END };

void mortise_script(struct mortise *m, const struct mortise_script *s)
{
    assert(m->lives.n == 0);
    m->script = s;
    m->plugin_catalog.is_idle = true;
    mortise_pool_take_turns(m->pool); /* (6) */
}

/* ---- identity (5) -------------------------------------------------------- */

void mortise_script_identify(const struct mortise *m,
                             struct mortise_admission *adm)
{
    if (m->script == NULL)
        return;
    mortise_digest(adm->seed, m->script->name, strlen(m->script->name));
    memcpy(adm->store.b, adm->seed, sizeof adm->store.b);
}

/* ---- steps (8) ----------------------------------------------------------- */

/* The one method by which the plugin can change the world; NULL: there is none, or
 * several. */
static const struct mortise_host_call_row *only_way(const struct mortise *m,
                                                    const char *plugin)
{
    const struct mortise_manifest *man =
        mortise_plugins_find(m->plugins, plugin, NULL);
    const struct mortise_host_call_row *way = NULL;
    size_t n = 0;

    for (size_t i = 0; man != NULL && i < man->n_methods; i++) {
        const struct mortise_host_call_row *row = mortise_host_call_methods;

        while (row->name != NULL && strcmp(row->name, man->methods[i]) != 0)
            row++;
        if (row->name == NULL ||
            row->method->effect != MORTISE_HOST_CALL_CALLER)
            continue;
        way = row;
        n++;
    }
    return n == 1 ? way : NULL;
}

/* Where all that a plugin can do is to make requests, the `method` of its
 * arguments is taken for that of the request. */
enum mortise_script_step
mortise_script_step(const struct mortise *m,
                    const struct mortise_run_call *call)
{
    const struct mortise_host_call_row *way;

    if (call->kind != MORTISE_RUN_EXECUTE ||
        call->node->effect < MORTISE_WRITE || !call->node->op->steps)
        return MORTISE_SCRIPT_NONE;
    way = only_way(m, call->plugin);
    if (way == NULL || strcmp(way->name, "http.request/1") != 0 ||
        !json_is_string(json_object_get(call->body, "method")))
        return MORTISE_SCRIPT_EFFECT;
    if (!way->method->changes(call->body))
        return MORTISE_SCRIPT_NONE;
    return way->method->repeats(call->body) ? MORTISE_SCRIPT_REPEAT
                                            : MORTISE_SCRIPT_EFFECT;
}

static void end(struct mortise_ongoing *c)
{
    c->step.phase = MORTISE_SCRIPTED_OVER;
    mortise_ready(c->m, &c->ended);
}

static void drop(struct mortise_ongoing *c)
{
    json_decref(c->output);
    json_decref(c->said);
    c->output = c->said = NULL;
    mortise_usage_finish(&c->usage);
    c->violation = false;
}

/* End the call with an error that is not the script's. */
static void end_with(struct mortise_ongoing *c, int32_t status,
                     const char *code, const char *words)
{
    drop(c);
    c->status = status;
    mortise_call_error(
        c, code, status == MORTISE_S_CANCELLED ? "cancelled" : "permanent",
        words);
    end(c);
}

/* Takes the body (NULL: memory ran out). */
static void ask_host(struct mortise_ongoing *c, uint64_t id, const char *method,
                     json_t *body)
{
    char *text = body != NULL ? mortise_json_text(c->mem, body) : NULL;

    json_decref(body);
    if (text == NULL) {
        end_with(c, MORTISE_S_NOMEM, "memory", "out of memory");
        return;
    }
    c->step.ask(c->m, c->id, id, method, text, strlen(text));
    mortise_release_str(c->mem, text);
}

static void begin(struct mortise_ongoing *c,
                  const struct mortise_run_call *call,
                  enum mortise_script_step step)
{
    c->step.phase = MORTISE_SCRIPTED_ASKS;
    ask_host(c, ASK_BEGIN, "journal.begin/1",
             json_pack("{s:s, s:O, s:b}", "step", "call", "arguments",
                       call->body, "repeat",
                       (int)(step == MORTISE_SCRIPT_REPEAT)));
}

/* The step has taken its time: report its result, or leave it in doubt. */
static void acted(struct mortise_ongoing *c)
{
    if (c->step.doubt != NULL) {
        end_with(c, MORTISE_S_DOUBT, "in_doubt", c->step.doubt);
        return;
    }
    c->step.phase = MORTISE_SCRIPTED_TELLS;
    if (c->status != MORTISE_S_OK)
        ask_host(c, ASK_END, "journal.end/1",
                 json_pack("{s:s, s:b}", "step", "call", "undone", 1));
    else
        ask_host(
            c, ASK_END, "journal.end/1",
            c->output != NULL
                ? json_pack("{s:s, s:O}", "step", "call", "result", c->output)
                : json_pack("{s:s, s:n}", "step", "call", "result"));
}

/* Takes the result. */
static void end_recorded(struct mortise_ongoing *c, json_t *result)
{
    if (c->output == NULL && json_is_null(result)) {
        json_decref(result);
    } else {
        json_decref(c->output);
        c->output = result;
    }
    c->status = MORTISE_S_OK;
    mortise_call_error(c, "", "", "");
    end(c);
}

static void act(struct mortise_ongoing *c)
{
    const struct mortise_script *script = c->m->script;

    c->step.phase = MORTISE_SCRIPTED_ACTS;
    if (!script->act(script->ud, c->step.token))
        c->step.doubt = NULL;
    if (c->step.takes_ms == 0)
        acted(c);
    else
        mortise_timer_arm(&c->m->timers, &c->idle,
                          mortise_mono_in(c->step.takes_ms));
}

static void begun(struct mortise_ongoing *c, const char *text, size_t n)
{
    json_t *answer = NULL, *result;

    if (mortise_json_parse(&answer, text, n, NULL) != MORTISE_OK) {
        end_with(c, MORTISE_S_NOMEM, "memory", "out of memory");
        return;
    }
    result = json_object_get(answer, "result");
    if (result != NULL) {
        end_recorded(c, json_incref(result));
    } else {
        act(c);
    }
    json_decref(answer);
}

void mortise_script_answer(struct mortise_ongoing *c, uint64_t ask,
                           int32_t status, const char *text, size_t n)
{
    bool begins = c->step.phase == MORTISE_SCRIPTED_ASKS && ask == ASK_BEGIN;
    char words[MORTISE_HOST_CALL_WORDS];

    if (!begins && (c->step.phase != MORTISE_SCRIPTED_TELLS || ask != ASK_END))
        return; /* it was stopped */
    snprintf(words, sizeof words, "%.*s",
             (int)(n < sizeof words ? n : sizeof words - 1), text);
    if (status != MORTISE_S_OK)
        end_with(c, status,
                 status == MORTISE_S_CANCELLED ? "cancelled" : "failed", words);
    else if (begins)
        begun(c, text, n);
    else
        end(c);
}

/* ---- answers (1, 2) ------------------------------------------------------ */

static void answer_due(struct mortise_timer *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, idle);

    if (c->step.phase == MORTISE_SCRIPTED_ACTS)
        acted(c);
    else
        mortise_ready(c->m, &c->ended);
}

static void take(struct mortise_ongoing *c, const struct mortise_scripted *a)
{
    c->violation = a->violation;
    c->output = a->output;
    c->said = a->said;
    c->usage = a->usage;
    c->status = a->status;
    if (a->status != MORTISE_S_OK || a->violation)
        mortise_call_error(c, a->code, a->error_class, a->message);
    c->ending = a->ending;
}

bool mortise_script_call(struct mortise_ongoing *c,
                         const struct mortise_run_call *call,
                         mortise_script_ask_fn *ask)
{
    struct mortise *m = c->m;
    struct mortise_scripted a = {.code = "", .error_class = "", .message = ""};
    enum mortise_script_step step;

    if (m->script == NULL)
        return false;
    if (!m->script->call(m->script->ud, call, &a))
        return false;
    c->scripted = true;
    m->n_scripted++;
    take(c, &a);
    c->idle.fire = answer_due; /* no plugin, no idle clock */
    c->step.ask = ask;
    c->step.takes_ms = a.after_ms;
    c->step.token = a.token;
    c->step.doubt = a.doubt;
    step = mortise_script_step(m, call);
    if (step != MORTISE_SCRIPT_NONE)
        begin(c, call, step);
    else if (a.after_ms == 0)
        mortise_ready(m, &c->ended);
    else
        mortise_timer_arm(&m->timers, &c->idle, mortise_mono_in(a.after_ms));
    return true;
}

void mortise_script_cancel(struct mortise_ongoing *c)
{
    struct mortise *m = c->m;

    if (!c->idle.armed && c->step.phase != MORTISE_SCRIPTED_ASKS)
        return; /* its answer is on its way */
    mortise_timer_disarm(&m->timers, &c->idle);
    drop(c);
    /* It had begun, and stopped when it was asked to, as a plugin would. */
    c->cancelled = c->let_go = true;
    c->status = MORTISE_S_CANCELLED;
    mortise_call_error(c, "cancelled", "cancelled",
                       "cancelled before it was answered");
    end(c);
}

void mortise_script_commit(struct mortise *m, uint64_t seq, bool on_disk)
{
    if (m->script != NULL)
        m->script->commit(m->script->ud, seq, on_disk);
}
