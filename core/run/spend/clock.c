/* clock.c -- active time of graphs: limits.timeout, the timeout of a subgraph's
 * attempt, and the budget.wall of either.
 *
 * A graph is active while a call in it, or in a graph inside it, is in flight.
 * Waiting for a person, a timer or a retry does not count.  Time does not
 * advance within a step, so it is enough to check, at the end of each step, the
 * graphs in which the first call started or the last call ended (r->clocks).
 * While a graph is active, a timer of its owner (of START, for the run) is
 * armed for the end of its time.
 *
 * All durations are measured by a clock that is never adjusted (steady_ms).
 *
 *   (1) An entry (`halt`) decides that the time is up; a replay follows it.
 *   (2) The run's active time is stored with each commit, so a crash does not
 *       reset it.  An attempt's active time restarts after a crash, like the
 *       timeout of a call.  The used part of a budget is stored with each
 *       commit after it grew, and nothing resets it.
 */

#include <assert.h>

#include "core/run/spend/spend.h"

static struct exec *get_timer_owner(const struct mortise_run *r,
                                    const struct scope *in)
{
    return in->owner != NULL ? in->owner : r->execs[0];
}

/* 0: no limit.  The time of tools counts for their asker. */
static uint64_t get_time_limit_ms(const struct scope *in)
{
    if (in->root->graph->offers != NULL)
        return 0;
    return in->owner != NULL ? mortise_exec_get_timeout_ms(in->owner)
                             : in->root->graph->limits.timeout_ms;
}

static bool is_time_limited(const struct scope *in)
{
    return get_time_limit_ms(in) != 0 || mortise_budget_has_wall(in);
}

/* The time since the clock started. */
static uint64_t get_running_ms(const struct mortise_run *r,
                               const struct scope *in)
{
    return in->ticks && r->steady_ms > in->since_ms
               ? r->steady_ms - in->since_ms
               : 0;
}

uint64_t mortise_clock_get_active_ms(const struct mortise_run *r,
                                     const struct scope *in)
{
    return in->active_ms + get_running_ms(r, in);
}

uint64_t mortise_clock_get_wall_ms(const struct mortise_run *r,
                                   const struct scope *in)
{
    return in->wall_ms + get_running_ms(r, in);
}

static uint64_t get_time_left(uint64_t used, uint64_t most)
{
    return used < most ? most - used : 0;
}

/* UINT64_MAX: never. */
static uint64_t get_clock_due_ms(const struct mortise_run *r,
                                 const struct scope *in)
{
    uint64_t in_ms = UINT64_MAX, most = get_time_limit_ms(in), wall;

    if (most != 0)
        in_ms = get_time_left(mortise_clock_get_active_ms(r, in), most);
    if (mortise_budget_has_wall(in) && !in->wall_used_up) {
        wall = get_time_left(mortise_clock_get_wall_ms(r, in),
                             in->purse->most[MORTISE_SPEND_WALL]);
        in_ms = wall < in_ms ? wall : in_ms;
    }
    return in_ms != UINT64_MAX ? r->steady_ms + in_ms : UINT64_MAX;
}

static int arm_clock(struct mortise_run *r, struct scope *in,
                     struct mortise_err *err)
{
    uint64_t due = get_clock_due_ms(r, in);

    return due != UINT64_MAX
               ? mortise_exec_arm_timer_after(r, get_timer_owner(r, in),
                                              due - r->steady_ms, err)
               : MORTISE_OK;
}

/* Add to r->walls: the wall time is stored while the clock runs, and once after
 * that. */
static void list_wall(struct mortise_run *r, struct scope *in)
{
    assert(in->ticks);
    if (!mortise_budget_has_wall(in) || in->in_wall_list)
        return;
    in->in_wall_list = true;
    in->next_in_wall_list = r->walls;
    r->walls = in;
}

static int start_clock(struct mortise_run *r, struct scope *in,
                       struct mortise_err *err)
{
    struct exec *x = get_timer_owner(r, in);

    if (in->ticks || in->halt != LOSS_NONE)
        return MORTISE_OK;
    in->ticks = true;
    in->since_ms = r->steady_ms;
    in->wall_used_up = false;
    list_wall(r, in);
    mortise_exec_renew_handle(x);
    return arm_clock(r, in, err);
}

int mortise_clock_rearm(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err)
{
    struct exec *x = get_timer_owner(r, in);
    int rv;

    in->wall_used_up = false;
    if (!in->ticks)
        return MORTISE_OK;
    rv = mortise_exec_disarm_timer(r, x, err);
    mortise_exec_renew_handle(x);
    return rv == MORTISE_OK ? arm_clock(r, in, err) : rv;
}

static int stop_clock(struct mortise_run *r, struct scope *in,
                      struct mortise_err *err)
{
    struct exec *x = get_timer_owner(r, in);
    /* A call and a retry have armed their own timer of x. */
    bool ours =
        in->owner == NULL || (x->state != X_RUNNING && x->state != X_STOPPING &&
                              x->state != X_BACKOFF);

    if (!in->ticks)
        return MORTISE_OK;
    in->active_ms = mortise_clock_get_active_ms(r, in);
    in->wall_ms = mortise_clock_get_wall_ms(r, in);
    in->ticks = false;
    return ours ? mortise_exec_disarm_timer(r, x, err) : MORTISE_OK;
}

int mortise_clock_update_all(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && r->clocks != NULL) {
        struct scope *in = r->clocks;

        assert(in->changed); /* true for members of the list */
        r->clocks = in->next_changed;
        in->changed = false;
        if (!is_time_limited(in))
            continue;
        rv = in->n_running > 0 ? start_clock(r, in, err)
                               : stop_clock(r, in, err);
    }
    return rv;
}

int mortise_clock_record_wall(struct mortise_run *r, struct scope *in,
                              struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_WALL,
                              .frame = in->root->index,
                              .at_ms = mortise_clock_get_wall_ms(r, in)};

    return mortise_run_record(r, &e, err);
}

int mortise_apply_wall(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct scope *in = r->frames[e->frame]->scope;

    if (!mortise_budget_has_wall(in))
        return mortise_entry_corrupt(err, e);
    in->wall_ms = e->at_ms - get_running_ms(r, in);
    return mortise_budget_set_wall_used(r, in, e->at_ms, err);
}

static int store_walls(struct mortise_run *r, struct mortise_err *err)
{
    struct scope **at = &r->walls;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && *at != NULL) {
        struct scope *in = *at;

        assert(in->in_wall_list && mortise_budget_has_wall(in));
        rv = mortise_clock_record_wall(r, in, err);
        in->in_wall_list = in->ticks;
        if (in->ticks)
            at = &in->next_in_wall_list;
        else
            *at = in->next_in_wall_list;
    }
    return rv;
}

int mortise_clock_record_active(struct mortise_run *r, struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;
    struct mortise_entry e = {.type = MORTISE_E_CLOCK};
    int rv = r->record.n != 0 ? store_walls(r, err) : MORTISE_OK;

    assert(in->owner == NULL); /* the run's own graph */
    if (rv != MORTISE_OK || r->record.n == 0 || get_time_limit_ms(in) == 0)
        return rv;
    e.at_ms = mortise_clock_get_active_ms(r, in);
    return mortise_run_record(r, &e, err);
}

/* Set the stored active time of the run. */
int mortise_apply_clock(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;

    (void)err;
    in->wall_ms = mortise_clock_get_wall_ms(r, in);
    in->active_ms = e->at_ms;
    in->since_ms = r->steady_ms;
    return MORTISE_OK;
}

int mortise_clock_handle_timer(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    struct scope *in = x->index == 0 ? r->frames[0]->scope : x->child->scope;
    struct mortise_entry e = {
        .type = MORTISE_E_HALT, .frame = in->root->index, .how = LOSS_TIME};
    int rv;

    assert(get_timer_owner(r, in) == x);
    if (!in->ticks || in->halt != LOSS_NONE)
        return MORTISE_OK;
    if (get_time_limit_ms(in) != 0 &&
        mortise_clock_get_active_ms(r, in) >= get_time_limit_ms(in))
        return mortise_run_record(r, &e, err);
    if (get_clock_due_ms(r, in) >
        r->steady_ms) /* the budget was raised since */
        return arm_clock(r, in, err);
    in->wall_used_up = true;
    rv = mortise_budget_set_wall_exceeded(r, in, err);
    return rv == MORTISE_OK && in->halt == LOSS_NONE ? arm_clock(r, in, err)
                                                     : rv;
}
