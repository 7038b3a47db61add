/* apply_run.c -- applies the entries about the run as a whole: admission,
 * commands (update, goto, resume, pause, accepted plugins) and the end.
 *
 * apply.c has the common rules; apply_exec.c applies the entries about one
 * execution.
 */
#include <string.h>

#include "core/run/commit.h"

int mortise_apply_pins(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = json_is_object(e->value) ? mortise_pins_replace(r, e->value, err)
                                      : mortise_entry_corrupt(err, e);

    if (rv == MORTISE_OK)
        rv = mortise_event_announce_command(r, "accept_plugins", e->actor, NULL,
                                            NULL, err);
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
        !mortise_exec_can_take_edges(r->graph->start, r->graph->n_start, e))
        return mortise_entry_corrupt(err, e);
    mortise_json_set_ref(&r->frames[0]->scope->input, e->value);
    memcpy(r->seed, e->digest, sizeof r->seed);
    r->created_ms = r->time_ms;
    rv = mortise_pins_add(r, e->note, err);
    x = rv == MORTISE_OK
            ? mortise_exec_new(r, r->frames[0], MORTISE_START, 1, NULL, err)
            : NULL;
    if (x == NULL)
        return rv != MORTISE_OK ? rv : MORTISE_ENOMEM;
    rv = mortise_exec_store_taken(r, x, e, err);
    if (rv == MORTISE_OK && mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s, s:s*}", "graph", r->graph->name, "actor",
                          e->actor, "order",
                          mortise_order_get_for_actor(r, e->actor));
    if (rv == MORTISE_OK)
        rv = mortise_event_announce(r, NULL, "run_start", extra, err);
    if (rv == MORTISE_OK)
        rv = mortise_pins_announce(r, e->note, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, x, X_DONE);
    if (r->graph->approve_plan && e->n_edges == 0) {
        mortise_plan_set_waiting(r);
        return MORTISE_OK;
    }
    return mortise_frame_decide_start_edges(r, x, err);
}

/* Also for a graph inside another. */
int mortise_apply_lists(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    if (r->lists != NULL || !json_is_array(e->value))
        return mortise_entry_corrupt(err, e);
    r->lists = json_incref(e->value);
    return MORTISE_OK;
}

/* Everything that starts from now on follows the update.  Executions that
 * failed or have not ended are tried from its state, and edges that were taken
 * but have not led anywhere lead from it.  An execution with a pending decision
 * acts on that, in the generation and with the arguments that were decided
 * about. */
static int relink_after_update(struct mortise_run *r, struct exec *x,
                               const struct exec *u, struct mortise_err *err)
{
    bool again = x->child_again;
    int rv;

    if (x->state == X_HELD || (x == r->execs[0] && r->plan.waits))
        x->heir = u->index;
    if (x->state == X_HELD || x->state == X_DONE ||
        (x->state == X_CANCELLED && !mortise_race_has_undoable_loss(x)) ||
        (x->state == X_FAILED && x->handled))
        return MORTISE_OK;
    rv = mortise_view_set_preds(r, x, &u->index, 1, err);
    /* A failure, and executions that it stopped, wait for `resume`; a scheduled
     * pause remains. */
    if (rv != MORTISE_OK || x->state == X_FAILED || x->state == X_CANCELLED ||
        x->state == X_ASKED || x->state == X_INNER_GRAPH || x->decided)
        return rv;
    rv = mortise_generation_start_next(r, x, err);
    mortise_generation_continue(x, again, again);
    return rv;
}

/* A commit that follows everything, made by an execution of its own. */
int mortise_apply_update(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    struct indexes preds = {.n = 0};
    struct exec *u = NULL;
    size_t before = r->n_execs;
    int rv = mortise_view_add_frontier(r, r->frames[0], &preds, err);

    if (rv == MORTISE_OK)
        u = mortise_exec_new(r, r->frames[0], NODE_UPDATE, (uint32_t)before,
                             &preds, err);
    mortise_indexes_finish(r->mem, &preds);
    if (u == NULL)
        return MORTISE_ENOMEM;
    rv = mortise_writes_set(r, u, e, err);
    if (rv != MORTISE_OK)
        return rv;
    r->update = u->index;
    mortise_view_set_shared(u);
    mortise_exec_set_state(r, u, X_DONE);
    mortise_frame_replace_sources(r, u);
    for (size_t i = 0; rv == MORTISE_OK && i < before; i++) {
        if (r->execs[i]->frame->top == r->frames[0])
            rv = relink_after_update(r, r->execs[i], u, err);
    }
    return rv != MORTISE_OK ? rv
                            : mortise_event_announce_command(
                                  r, "update", e->actor, NULL, NULL, err);
}

/* The run continues, even if it had ended.  Returns its previous status. */
static int set_running_again(struct mortise_run *r)
{
    int before = r->status;

    r->status = MORTISE_RUN_RUNNING;
    return before;
}

/* Move the frontier of the entry's graph to its node: a new execution, which is
 * not ready yet. */
static int move_frontier(struct mortise_run *r, const struct mortise_entry *e,
                         struct exec **out, struct mortise_err *err)
{
    struct frame *f = r->frames[e->frame];

    if (f->parent != NULL || e->node >= f->graph->n_nodes ||
        e->visit != mortise_frame_count_visits(f, e->node) + 1)
        return mortise_entry_corrupt(err, e);
    for (size_t i = 0; i < r->n_execs; i++) {
        struct exec *old = r->execs[i];

        if (mortise_exec_find_within(old, f) == NULL)
            continue;
        if (!mortise_exec_has_ended(old))
            return mortise_entry_corrupt(
                err, e); /* their ends were recorded first */
        mortise_doubt_set_cancelled(old, false);
        if (old->state == X_FAILED && !old->handled)
            mortise_exec_set_handled(r, old, true);
    }
    return mortise_frame_goto(r, f, e->node, e->visit, out, err);
}

int mortise_apply_goto(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct exec *x;
    int rv;

    set_running_again(r);
    rv = move_frontier(r, e, &x, err);
    if (rv != MORTISE_OK)
        return rv;
    if (e->how != 0) /* force */
        mortise_exec_set_before_passed(x);
    mortise_json_clear_ref(&r->error);
    r->cancelling = false;
    mortise_final_clear_abandoned(r);
    mortise_plan_forget(r);
    rv = mortise_exec_make_ready(r, x, err);
    return rv != MORTISE_OK
               ? rv
               : mortise_event_announce_command(r, "goto", e->actor,
                                                r->graph->nodes[e->node].id,
                                                NULL, err);
}

/* Ask about effects that were in doubt when the run ended (doubt.c (11)).  A
 * run that had ended does nothing else.  A failed run that is resumed also
 * retries its failures, by an entry of its own. */
int mortise_apply_look_back(struct mortise_run *r,
                            const struct mortise_entry *e,
                            struct mortise_err *err)
{
    int ended = set_running_again(r), rv = MORTISE_OK;

    if (ended >= MORTISE_RUN_COMPLETED) {
        r->after = ended;
        r->cancelling = true;
        rv = mortise_event_announce_command(r, "resume", e->actor, NULL, NULL,
                                            err);
    }
    return rv == MORTISE_OK ? mortise_doubt_reopen_kept(r, err) : rv;
}

/* Retry failed executions, and reactivate the nodes that were skipped because
 * of them, if the run failed or will fail because of them.  If the run is
 * paused, only end the pause; for both, an entry `pause` that ends it comes
 * first.  A cancelled run looks back: old journals have `resume` for that. */
int mortise_apply_resume(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    bool paused = r->paused != MORTISE_PAUSE_OVER;
    int rv;

    if (r->status == MORTISE_RUN_CANCELLED)
        return mortise_apply_look_back(r, e, err);
    set_running_again(r);
    rv = mortise_event_announce_command(r, "resume", e->actor, NULL, NULL, err);
    r->paused = MORTISE_PAUSE_OVER;
    mortise_generation_clear_refused(r);
    if (r->error == NULL && (paused || !r->frames[0]->failed))
        return rv;
    mortise_json_clear_ref(&r->error);
    return mortise_frame_retry_failures(r, NULL, err);
}

int mortise_apply_cancel(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    if (r->cancelling)
        mortise_final_abandon(r);
    else
        mortise_final_mark_settled(r);
    r->cancelling = true;
    r->paused = MORTISE_PAUSE_OVER;
    mortise_doubt_stop_settling(r);
    return mortise_event_announce_command(r, "cancel", e->actor, NULL, e->value,
                                          err);
}

int mortise_apply_end(struct mortise_run *r, const struct mortise_entry *e,
                      struct mortise_err *err)
{
    json_t *extra = NULL;

    if (e->how != MORTISE_RUN_COMPLETED && e->how != MORTISE_RUN_FAILED &&
        e->how != MORTISE_RUN_CANCELLED)
        return mortise_entry_corrupt(err, e);
    mortise_doubt_restore_all_ends(r);
    r->after = 0;
    mortise_final_clear_abandoned(r);
    r->cancelling = e->how == MORTISE_RUN_CANCELLED;
    r->status = e->how;
    r->reason = "";
    mortise_json_set_ref(&r->error, e->value);
    if (mortise_run_has_watcher(r)) {
        extra = json_pack("{s:s, s:O*}", "status",
                          mortise_run_status_name(e->how), "error", e->value);
        if (extra == NULL || mortise_usage_add_run_json(extra, r) != 0) {
            json_decref(extra);
            return mortise_nomem(err);
        }
    }
    return mortise_event_announce(r, NULL, "run_end", extra, err);
}

/* The run is paused, or a pause ended; in the latter case the update or goto in
 * the same commit emits the event. */
int mortise_apply_pause(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    if (e->how > MORTISE_PAUSE_SHUTDOWN)
        return mortise_entry_corrupt(err, e);
    r->paused = (enum mortise_pause)e->how;
    if (r->paused == MORTISE_PAUSE_OVER)
        return MORTISE_OK;
    mortise_generation_clear_refused(r);
    for (size_t i = 1; i < r->n_execs; i++)
        mortise_doubt_set_paused(r->execs[i]);
    return mortise_event_announce_command(r, "pause", e->actor, NULL, e->value,
                                          err);
}

/* `text` is the message, so it is not in `reason`. */
int mortise_apply_tell(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = json_is_string(e->value)
                 ? mortise_inbox_add(r, e->id, e->value, err)
                 : mortise_entry_corrupt(err, e);
    json_t *extra = NULL;

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s, s:s*, s:O, s:s*}", "command", "tell",
                          "actor", e->actor, "node",
                          e->id[0] != '\0' ? e->id : NULL, "text", e->value,
                          "order", mortise_order_get_for_actor(r, e->actor));
    return mortise_event_announce(r, NULL, "command", extra, err);
}

int mortise_apply_halt(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct frame *f = r->frames[e->frame];

    if (f->parent != NULL || (e->how != LOSS_TIME && e->how != LOSS_BUDGET) ||
        (e->how == LOSS_BUDGET && f->scope->purse == NULL))
        return mortise_entry_corrupt(err, e);
    return mortise_race_halt_graph(r, f, (enum loss)e->how, err);
}

/* Follow a budget's on_exceeded: {goto}. */
int mortise_apply_lead(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct scope *in = r->frames[e->frame]->scope;
    struct exec *x;
    int rv = mortise_budget_has_goto(in) ? move_frontier(r, e, &x, err)
                                         : mortise_entry_corrupt(err, e);

    if (rv != MORTISE_OK)
        return rv;
    mortise_budget_set_goto_done(in);
    return mortise_exec_make_ready(r, x, err);
}
