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
 */
#include "engine/runs/script.h"

#include <string.h>

#include "base/clock.h"
#include "engine/runs/call.h"
#include "mortise/plugin.h"

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

/* ---- answers (1, 2) ------------------------------------------------------ */

static void answer_due(struct mortise_timer *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, idle);

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
                         const struct mortise_run_call *call)
{
    struct mortise *m = c->m;
    struct mortise_scripted a = {.code = "", .error_class = "", .message = ""};

    if (m->script == NULL)
        return false;
    if (!m->script->call(m->script->ud, call, &a))
        return false;
    c->scripted = true;
    m->n_scripted++;
    take(c, &a);
    c->idle.fire = answer_due; /* no plugin, no idle clock */
    if (a.after_ms == 0)
        mortise_ready(m, &c->ended);
    else
        mortise_timer_arm(&m->timers, &c->idle, mortise_mono_in(a.after_ms));
    return true;
}

void mortise_script_cancel(struct mortise_ongoing *c)
{
    struct mortise *m = c->m;

    if (!c->idle.armed)
        return; /* its answer is on its way */
    mortise_timer_disarm(&m->timers, &c->idle);
    json_decref(c->output);
    json_decref(c->said);
    c->output = c->said = NULL;
    mortise_usage_finish(&c->usage);
    c->violation = false;
    /* It had begun, and stopped when it was asked to, as a plugin would. */
    c->cancelled = c->let_go = true;
    c->status = MORTISE_S_CANCELLED;
    mortise_call_error(c, "cancelled", "cancelled",
                       "cancelled before it was answered");
    mortise_ready(m, &c->ended);
}

void mortise_script_commit(struct mortise *m, uint64_t seq, bool on_disk)
{
    if (m->script != NULL)
        m->script->commit(m->script->ud, seq, on_disk);
}
