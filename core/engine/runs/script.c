/* script.c -- calls that a script answers, and a clock that the script
 * advances.
 *
 *   (1) Plugins are called at one place (calls.c), which has one hook.  A call
 *       that the script answers never reaches its plugin, which is not even
 *       started; other calls are made as usual.
 *   (2) A scripted answer arrives like a plugin's: as a task, never from inside
 *       the step that made the call; and it can be cancelled.
 *   (3) Commits are written on the loop, one batch after the other, so that a
 *       run with scripted answers is the same each time.
 *   (4) Time stands still, and advances (clock.h) only when no work is in
 *       flight that ends without it.  So timers that start together are due
 *       together, however busy the machine is.  A real call takes no time,
 *       unless it takes longer than one of our timers allows.
 *   (5) A scripted run contains no randomness, and nothing of the store that it
 *       is in: this covers the jitter of backoff and the ids of requests.
 *   (6) Real calls of blocking plugins run one at a time, so that their order
 *       does not depend on threads.
 *   (7) The deployment's memory and discovery plugins are never called: the
 *       script answers for them, too.
 *   (8) For an operation that has its effects by steps (`intent: steps`) the
 *       script knows the result of the call, and not its asks.  So a scripted
 *       call asks for one step of its own, as a plugin would (journal.begin/1).
 *       The script's delay is the step's, and a crash, a timeout or a doubt
 *       leaves the step open.  A step that the run has recorded is not
 *       performed again: its result is the result of the call.
 */
#include "core/engine/runs/script.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/engine/runs/call.h"
#include "core/plugin/services.h"
#include "mortise/plugin.h"

enum { ASK_BEGIN = 1, ASK_END };

void mortise_script(struct mortise *m, const struct mortise_script *s)
{
    assert(m->lives.n == 0);
    m->script = s;
    m->catalogs->is_idle = true;
    mortise_pool_set_sequential(m->pool); /* (6) */
}

/* ---- identity (5) -------------------------------------------------------- */

void mortise_script_set_identity(const struct mortise *m,
                                 struct mortise_admission *adm)
{
    if (m->script == NULL)
        return;
    mortise_digest(adm->seed, m->script->name, strlen(m->script->name));
    memcpy(adm->store.b, adm->seed, sizeof adm->store.b);
}

/* ---- steps (8) ----------------------------------------------------------- */

/* The single method by which the plugin can have an effect; NULL: none, or
 * several. */
static const struct mortise_method *find_effect_method(const struct mortise *m,
                                                       const char *plugin)
{
    const struct mortise_manifest *man =
        mortise_plugins_find(m->plugins, plugin, NULL);
    const struct mortise_method *way = NULL;
    size_t n = 0;

    for (size_t i = 0; man != NULL && i < man->n_methods; i++) {
        const struct mortise_method *row =
            mortise_method_find(man->methods[i], NULL);

        if (row == NULL || row->performs->effect != MORTISE_HOST_CALL_CALLER)
            continue;
        way = row;
        n++;
    }
    return n == 1 ? way : NULL;
}

/* If the plugin can have effects only by HTTP requests, the `method` in its
 * arguments is taken as the method of the request. */
enum mortise_script_step
mortise_script_step(const struct mortise *m,
                    const struct mortise_run_call *call)
{
    const struct mortise_method *way;

    if (call->kind != MORTISE_RUN_EXECUTE ||
        call->node->effect < MORTISE_WRITE || !call->node->op->steps)
        return MORTISE_SCRIPT_NONE;
    way = find_effect_method(m, call->plugin);
    if (way == NULL || strcmp(way->name, "http.request/1") != 0 ||
        !json_is_string(json_object_get(call->body, "method")))
        return MORTISE_SCRIPT_EFFECT;
    if (!way->performs->changes(call->body))
        return MORTISE_SCRIPT_NONE;
    return way->performs->repeats(call->body) ? MORTISE_SCRIPT_REPEAT
                                              : MORTISE_SCRIPT_EFFECT;
}

static void end_scripted_call(struct mortise_plugin_call *c)
{
    c->step.phase = MORTISE_SCRIPTED_DONE;
    mortise_task_make_ready(c->m, &c->ended);
}

static void drop_scripted_result(struct mortise_plugin_call *c)
{
    json_decref(c->output);
    json_decref(c->said);
    c->output = c->said = NULL;
    mortise_usage_finish(&c->usage);
    c->violation = false;
}

/* End the call with an error that is not the script's. */
static void end_scripted_with(struct mortise_plugin_call *c, int32_t status,
                              const char *code, const char *words)
{
    drop_scripted_result(c);
    c->status = status;
    mortise_call_set_error(
        c, code, status == MORTISE_S_CANCELLED ? "cancelled" : "permanent",
        words);
    end_scripted_call(c);
}

/* Takes the body (NULL: out of memory). */
static void ask_host(struct mortise_plugin_call *c, uint64_t id,
                     const char *method, json_t *body)
{
    char *text = body != NULL ? mortise_json_to_text(c->mem, body) : NULL;

    json_decref(body);
    if (text == NULL) {
        end_scripted_with(c, MORTISE_S_NOMEM, "memory", "out of memory");
        return;
    }
    c->step.ask(c->m, c->id, id, method, text, strlen(text));
    mortise_release_str(c->mem, text);
}

static void begin_scripted_step(struct mortise_plugin_call *c,
                                const struct mortise_run_call *call,
                                enum mortise_script_step step)
{
    c->step.phase = MORTISE_SCRIPTED_WRITES_INTENT;
    ask_host(c, ASK_BEGIN, "journal.begin/1",
             json_pack("{s:s, s:O, s:b}", "step", "call", "arguments",
                       call->body, "repeat",
                       (int)(step == MORTISE_SCRIPT_REPEAT)));
}

/* The time of the step has passed: report its result, or leave it in doubt. */
static void report_scripted_step(struct mortise_plugin_call *c)
{
    if (c->step.doubt != NULL) {
        end_scripted_with(c, MORTISE_S_DOUBT, "in_doubt", c->step.doubt);
        return;
    }
    c->step.phase = MORTISE_SCRIPTED_WRITES_RESULT;
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
static void end_recorded(struct mortise_plugin_call *c, json_t *result)
{
    if (c->output == NULL && json_is_null(result)) {
        json_decref(result);
    } else {
        json_decref(c->output);
        c->output = result;
    }
    c->status = MORTISE_S_OK;
    mortise_call_set_error(c, "", "", "");
    end_scripted_call(c);
}

static void perform_scripted_step(struct mortise_plugin_call *c)
{
    const struct mortise_script *script = c->m->script;

    c->step.phase = MORTISE_SCRIPTED_PERFORMS;
    if (!script->act(script->ud, c->step.token))
        c->step.doubt = NULL;
    if (c->step.takes_ms == 0)
        report_scripted_step(c);
    else
        mortise_timer_arm(&c->m->timers, &c->idle,
                          mortise_mono_ns_after(c->step.takes_ms));
}

static void scripted_step_begun(struct mortise_plugin_call *c, const char *text,
                                size_t n)
{
    json_t *answer = NULL, *result;

    if (mortise_json_parse(&answer, text, n, NULL) != MORTISE_OK) {
        end_scripted_with(c, MORTISE_S_NOMEM, "memory", "out of memory");
        return;
    }
    result = json_object_get(answer, "result");
    if (result != NULL) {
        end_recorded(c, json_incref(result));
    } else {
        perform_scripted_step(c);
    }
    json_decref(answer);
}

void mortise_script_answer(struct mortise_plugin_call *c, uint64_t ask,
                           int32_t status, const char *text, size_t n)
{
    bool begins =
        c->step.phase == MORTISE_SCRIPTED_WRITES_INTENT && ask == ASK_BEGIN;
    char words[MORTISE_HOST_CALL_WORDS];

    if (!begins &&
        (c->step.phase != MORTISE_SCRIPTED_WRITES_RESULT || ask != ASK_END))
        return; /* the call was cancelled */
    snprintf(words, sizeof words, "%.*s",
             (int)(n < sizeof words ? n : sizeof words - 1), text);
    if (status != MORTISE_S_OK)
        end_scripted_with(
            c, status, status == MORTISE_S_CANCELLED ? "cancelled" : "failed",
            words);
    else if (begins)
        scripted_step_begun(c, text, n);
    else
        end_scripted_call(c);
}

/* ---- answers (1, 2) ------------------------------------------------------ */

static void on_scripted_delay(struct mortise_timer *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, idle);

    if (c->step.phase == MORTISE_SCRIPTED_PERFORMS)
        report_scripted_step(c);
    else
        mortise_task_make_ready(c->m, &c->ended);
}

static void take_scripted_answer(struct mortise_plugin_call *c,
                                 const struct mortise_script_reply *a)
{
    c->violation = a->violation;
    c->output = a->output;
    c->said = a->said;
    c->usage = a->usage;
    c->status = a->status;
    if (a->status != MORTISE_S_OK || a->violation)
        mortise_call_set_error(c, a->code, a->error_class, a->message);
    c->ending = a->ending;
}

bool mortise_script_call(struct mortise_plugin_call *c,
                         const struct mortise_run_call *call,
                         mortise_script_ask_fn *ask)
{
    struct mortise *m = c->m;
    struct mortise_script_reply a = {
        .code = "", .error_class = "", .message = ""};
    enum mortise_script_step step;

    if (m->script == NULL)
        return false;
    if (!m->script->call(m->script->ud, call, &a))
        return false;
    c->scripted = true;
    m->n_scripted++;
    take_scripted_answer(c, &a);
    c->idle.fire = on_scripted_delay; /* a scripted call has no idle timeout */
    c->step.ask = ask;
    c->step.takes_ms = a.after_ms;
    c->step.token = a.token;
    c->step.doubt = a.doubt;
    step = mortise_script_step(m, call);
    if (step != MORTISE_SCRIPT_NONE)
        begin_scripted_step(c, call, step);
    else if (a.after_ms == 0)
        mortise_task_make_ready(m, &c->ended);
    else
        mortise_timer_arm(&m->timers, &c->idle,
                          mortise_mono_ns_after(a.after_ms));
    return true;
}

void mortise_script_cancel(struct mortise_plugin_call *c)
{
    struct mortise *m = c->m;

    if (!c->idle.armed && c->step.phase != MORTISE_SCRIPTED_WRITES_INTENT)
        return; /* its answer is queued */
    mortise_timer_disarm(&m->timers, &c->idle);
    drop_scripted_result(c);
    /* The call had begun, and stopped when asked to, like a plugin's. */
    c->cancelled = c->let_go = true;
    c->status = MORTISE_S_CANCELLED;
    mortise_call_set_error(c, "cancelled", "cancelled",
                           "cancelled before it was answered");
    end_scripted_call(c);
}

void mortise_script_commit(struct mortise *m, uint64_t seq, bool on_disk)
{
    if (m->script != NULL)
        m->script->commit(m->script->ud, seq, on_disk);
}
