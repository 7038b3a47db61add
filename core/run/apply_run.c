/* apply_run.c -- what the entries about a run as a whole do to its struct.
 *
 * Admission, what people said (update, goto, resume, pause, other plugins) and
 * the end.  apply.c has the rules that hold for these, too, and the entries
 * about one execution.
 */
#include <string.h>

#include "core/run/commit.h"

int mortise_apply_pins(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = json_is_object(e->value) ? mortise_pins_replace(r, e->value, err)
                                      : mortise_entry_corrupt(err, e);

    if (rv == MORTISE_OK)
        rv = mortise_event_command(r, "accept_plugins", e->actor, NULL, NULL,
                                   err);
    return rv == MORTISE_OK ? mortise_pins_announce(r, e->value, err) : rv;
}

int mortise_apply_uses(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = json_is_object(e->value) ? mortise_pins_add(r, e->value, err)
                                      : mortise_entry_corrupt(err, e);

    return rv == MORTISE_OK ? mortise_pins_announce(r, e->value, err) : rv;
}

int mortise_apply_admit(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    json_t *extra = NULL;
    struct exec *x;
    int rv;

    if (r->n_execs != 0 || !r->ruled || !json_is_object(e->value) ||
        !mortise_exec_edges_fit(r->graph->start, r->graph->n_start, e))
        return mortise_entry_corrupt(err, e);
    mortise_json_hold(&r->frames[0]->scope->input, e->value);
    memcpy(r->seed, e->digest, sizeof r->seed);
    r->created_ms = r->time_ms;
    rv = mortise_pins_add(r, e->note, err);
    x = rv == MORTISE_OK
            ? mortise_exec_new(r, r->frames[0], MORTISE_START, 1, NULL, err)
            : NULL;
    if (x == NULL)
        return rv != MORTISE_OK ? rv : MORTISE_ENOMEM;
    rv = mortise_exec_keep_taken(r, x, e, err);
    if (rv == MORTISE_OK && mortise_run_is_seen(r))
        extra = json_pack("{s:s, s:s, s:s*}", "graph", r->graph->name, "actor",
                          e->actor, "order", mortise_order_of(r, e->actor));
    if (rv == MORTISE_OK)
        rv = mortise_event_announce(r, NULL, "run_start", extra, err);
    if (rv == MORTISE_OK)
        rv = mortise_pins_announce(r, e->note, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_become(r, x, X_DONE);
    if (r->graph->approve_plan && e->n_edges == 0) {
        mortise_plan_holds(r);
        return MORTISE_OK;
    }
    return mortise_frame_follow_start(r, x, err);
}

/* Those of a graph inside another, too. */
int mortise_apply_lists(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    if (r->lists != NULL || !json_is_array(e->value))
        return mortise_entry_corrupt(err, e);
    r->lists = json_incref(e->value);
    return MORTISE_OK;
}

/* What starts from now on comes after the update: what failed or has not ended
 * is tried from the state that it wrote, and edges that were taken but led
 * nowhere yet lead from it.  An execution about which somebody decided goes on
 * with that, in the generation and with the arguments that it was about. */
static int follow_update(struct mortise_run *r, struct exec *x,
                         const struct exec *u, struct mortise_err *err)
{
    bool again = x->child_again;
    int rv;

    if (x->state == X_HELD || (x == r->execs[0] && r->plan.waits))
        x->heir = u->index;
    if (x->state == X_HELD || x->state == X_DONE ||
        (x->state == X_CANCELLED && !mortise_race_may_return(x)) ||
        (x->state == X_FAILED && x->handled))
        return MORTISE_OK;
    rv = mortise_view_link(r, x, &u->index, 1, err);
    /* A failure, and what it stopped, waits for `resume`; a scheduled pause is
     * still one. */
    if (rv != MORTISE_OK || x->state == X_FAILED || x->state == X_CANCELLED ||
        x->state == X_ASKED || x->state == X_INSIDE || x->decided)
        return rv;
    rv = mortise_generation_next(r, x, err);
    mortise_generation_go_on(x, again, again);
    return rv;
}

/* A commit after everything, by an execution of its own. */
int mortise_apply_update(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    struct indexes preds = {.n = 0};
    struct exec *u = NULL;
    size_t before = r->n_execs;
    int rv = mortise_view_frontier(r, r->frames[0], &preds, err);

    if (rv == MORTISE_OK)
        u = mortise_exec_new(r, r->frames[0], NODE_UPDATE, (uint32_t)before,
                             &preds, err);
    mortise_indexes_finish(r->mem, &preds);
    if (u == NULL)
        return MORTISE_ENOMEM;
    rv = mortise_writes_put(r, u, e, err);
    if (rv != MORTISE_OK)
        return rv;
    r->update = u->index;
    mortise_view_share(u);
    mortise_exec_become(r, u, X_DONE);
    mortise_frame_lead_from(r, u);
    for (size_t i = 0; rv == MORTISE_OK && i < before; i++) {
        if (r->execs[i]->frame->top == r->frames[0])
            rv = follow_update(r, r->execs[i], u, err);
    }
    return rv != MORTISE_OK
               ? rv
               : mortise_event_command(r, "update", e->actor, NULL, NULL, err);
}

/* It goes on, whether or not it had ended; its status so far. */
static int reopen(struct mortise_run *r)
{
    int before = r->status;

    r->status = MORTISE_RUN_RUNNING;
    return before;
}

/* The frontier of the entry's graph moves to its node: a new execution, which
 * is not ready yet. */
static int move_frontier(struct mortise_run *r, const struct mortise_entry *e,
                         struct exec **out, struct mortise_err *err)
{
    struct frame *f = r->frames[e->frame];

    if (f->parent != NULL || e->node >= f->graph->n_nodes ||
        e->visit != mortise_frame_visits(f, e->node) + 1)
        return mortise_entry_corrupt(err, e);
    for (size_t i = 0; i < r->n_execs; i++) {
        struct exec *old = r->execs[i];

        if (mortise_exec_within(old, f) == NULL)
            continue;
        if (!mortise_exec_is_over(old))
            return mortise_entry_corrupt(
                err, e); /* their ends were recorded before */
        mortise_doubt_cut(old, false);
        if (old->state == X_FAILED && !old->handled)
            mortise_exec_lead_elsewhere(r, old, true);
    }
    return mortise_frame_goto(r, f, e->node, e->visit, out, err);
}

int mortise_apply_goto(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct exec *x;
    int rv;

    reopen(r);
    rv = move_frontier(r, e, &x, err);
    if (rv != MORTISE_OK)
        return rv;
    if (e->how != 0) /* force */
        mortise_exec_pass_before(x);
    mortise_json_drop(&r->error);
    r->cancelling = false;
    mortise_final_forget(r);
    mortise_plan_forget(r);
    rv = mortise_exec_ready(r, x, err);
    return rv != MORTISE_OK
               ? rv
               : mortise_event_command(r, "goto", e->actor,
                                       r->graph->nodes[e->node].id, NULL, err);
}

/* What an end left in doubt is asked about (doubt.c (11)).  A run that had
 * ended so does that, and no more; beside what failed, which is tried again. */
int mortise_apply_look_back(struct mortise_run *r,
                            const struct mortise_entry *e,
                            struct mortise_err *err)
{
    int ended = reopen(r), rv = MORTISE_OK;

    if (ended >= MORTISE_RUN_COMPLETED) {
        r->after = ended;
        r->cancelling = true;
        rv = mortise_event_command(r, "resume", e->actor, NULL, NULL, err);
    }
    return rv == MORTISE_OK ? mortise_doubt_return(r, err) : rv;
}

/* What failed is tried again, and what was skipped for it waits again: once the
 * run failed of it, or will.  Of a run that is paused it ends the pause alone:
 * who is to try again ends that first (`pause`).  And a run that was cancelled
 * looks back, as `resume` had it do before there was another entry for that. */
int mortise_apply_resume(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    bool paused = r->paused != MORTISE_PAUSE_OVER;
    int rv;

    if (r->status == MORTISE_RUN_CANCELLED)
        return mortise_apply_look_back(r, e, err);
    reopen(r);
    rv = mortise_event_command(r, "resume", e->actor, NULL, NULL, err);
    r->paused = MORTISE_PAUSE_OVER;
    mortise_generation_came_about(r);
    if (r->error == NULL && (paused || !r->frames[0]->failed))
        return rv;
    mortise_json_drop(&r->error);
    return mortise_frame_reopen(r, NULL, err);
}

int mortise_apply_cancel(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    if (r->cancelling)
        mortise_final_give_up(r);
    else
        mortise_final_cancelled(r);
    r->cancelling = true;
    r->paused = MORTISE_PAUSE_OVER;
    mortise_doubt_leave(r);
    return mortise_event_command(r, "cancel", e->actor, NULL, e->value, err);
}

int mortise_apply_end(struct mortise_run *r, const struct mortise_entry *e,
                      struct mortise_err *err)
{
    json_t *extra = NULL;

    if (e->how != MORTISE_RUN_COMPLETED && e->how != MORTISE_RUN_FAILED &&
        e->how != MORTISE_RUN_CANCELLED)
        return mortise_entry_corrupt(err, e);
    mortise_doubt_all_over(r);
    r->after = 0;
    mortise_final_forget(r);
    r->cancelling = e->how == MORTISE_RUN_CANCELLED;
    r->status = e->how;
    r->reason = "";
    mortise_json_hold(&r->error, e->value);
    if (mortise_run_is_seen(r)) {
        extra = json_pack("{s:s, s:O*}", "status",
                          mortise_run_status_name(e->how), "error", e->value);
        if (extra == NULL || mortise_usage_put_all(extra, r) != 0) {
            json_decref(extra);
            return mortise_nomem(err);
        }
    }
    return mortise_event_announce(r, NULL, "run_end", extra, err);
}

/* It stands still, or does so no more: then the update or the goto that comes
 * with it says why. */
int mortise_apply_pause(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    if (e->how > MORTISE_PAUSE_SHUTDOWN)
        return mortise_entry_corrupt(err, e);
    r->paused = (enum mortise_pause)e->how;
    if (r->paused == MORTISE_PAUSE_OVER)
        return MORTISE_OK;
    mortise_generation_came_about(r);
    for (size_t i = 1; i < r->n_execs; i++)
        mortise_doubt_paused(r->execs[i]);
    return mortise_event_command(r, "pause", e->actor, NULL, e->value, err);
}

/* The text is what was said, not why. */
int mortise_apply_tell(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = json_is_string(e->value)
                 ? mortise_inbox_put(r, e->id, e->value, err)
                 : mortise_entry_corrupt(err, e);
    json_t *extra = NULL;

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_run_is_seen(r))
        extra =
            json_pack("{s:s, s:s, s:s*, s:O, s:s*}", "command", "tell", "actor",
                      e->actor, "node", e->id[0] != '\0' ? e->id : NULL, "text",
                      e->value, "order", mortise_order_of(r, e->actor));
    return mortise_event_announce(r, NULL, "command", extra, err);
}

int mortise_apply_halt(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct frame *f = r->frames[e->frame];

    if (f->parent != NULL || (e->how != LOSS_TIME && e->how != LOSS_BUDGET) ||
        (e->how == LOSS_BUDGET && f->scope->purse == NULL))
        return mortise_entry_corrupt(err, e);
    return mortise_race_halt(r, f, (enum loss)e->how, err);
}

/* A budget's on_exceeded: {goto}. */
int mortise_apply_lead(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct scope *in = r->frames[e->frame]->scope;
    struct exec *x;
    int rv = mortise_budget_leads(in) ? move_frontier(r, e, &x, err)
                                      : mortise_entry_corrupt(err, e);

    if (rv != MORTISE_OK)
        return rv;
    mortise_budget_has_led(in);
    return mortise_exec_ready(r, x, err);
}
