/* clock.c -- how long a graph was active: limits.timeout, the timeout of a
 * subgraph's attempt, and budget.wall of either.
 *
 * A graph is active while a call of it is out, or of a graph in it; waiting for
 * a person, a timer or a retry is not.  Time stands still within a step, so it
 * is enough to look at the end of each at the graphs in which the first call
 * went out or the last came back (r->clocks).  While one is active, a timer of
 * its owner's (of START's, for the run) is armed for when its time is up.
 *
 * All of it is measured by a clock that is not set (steady_ms).
 *
 *   (1) That time is up is decided by an entry (`halt`), and replay follows it.
 *   (2) The run's active time is stored with each commit, so that a crash does
 *       not give it anew; an attempt's begins again with it, like a call's.
 *       What is used of a budget is stored with each commit after it grew, and
 *       nothing gives that anew.
 */

#include <assert.h>

#include "core/run/spend/spend.h"

static struct exec *timer_of(const struct mortise_run *r,
                             const struct scope *in)
{
    return in->owner != NULL ? in->owner : r->execs[0];
}

/* 0: it may take as long as it likes.  What tools take is told by who asked. */
static uint64_t most_ms(const struct scope *in)
{
    if (in->root->graph->offers != NULL)
        return 0;
    return in->owner != NULL ? mortise_exec_timeout_ms(in->owner)
                             : in->root->graph->limits.timeout_ms;
}

static bool is_timed(const struct scope *in)
{
    return most_ms(in) != 0 || mortise_budget_is_walled(in);
}

/* Since it began to tick. */
static uint64_t lately_ms(const struct mortise_run *r, const struct scope *in)
{
    return in->ticks && r->steady_ms > in->since_ms
               ? r->steady_ms - in->since_ms
               : 0;
}

uint64_t mortise_clock_active_ms(const struct mortise_run *r,
                                 const struct scope *in)
{
    return in->active_ms + lately_ms(r, in);
}

uint64_t mortise_clock_wall_ms(const struct mortise_run *r,
                               const struct scope *in)
{
    return in->wall_ms + lately_ms(r, in);
}

static uint64_t left(uint64_t used, uint64_t most)
{
    return used < most ? most - used : 0;
}

/* UINT64_MAX: never. */
static uint64_t due_ms(const struct mortise_run *r, const struct scope *in)
{
    uint64_t in_ms = UINT64_MAX, most = most_ms(in), wall;

    if (most != 0)
        in_ms = left(mortise_clock_active_ms(r, in), most);
    if (mortise_budget_is_walled(in) && !in->wall_over) {
        wall = left(mortise_clock_wall_ms(r, in),
                    in->purse->most[MORTISE_SPEND_WALL]);
        in_ms = wall < in_ms ? wall : in_ms;
    }
    return in_ms != UINT64_MAX ? r->steady_ms + in_ms : UINT64_MAX;
}

static int arm_clock(struct mortise_run *r, struct scope *in,
                     struct mortise_err *err)
{
    uint64_t due = due_ms(r, in);

    return due != UINT64_MAX ? mortise_exec_arm_in(r, timer_of(r, in),
                                                   due - r->steady_ms, err)
                             : MORTISE_OK;
}

/* It is stored while it ticks, and once more. */
static void note_wall(struct mortise_run *r, struct scope *in)
{
    assert(in->ticks);
    if (!mortise_budget_is_walled(in) || in->walled)
        return;
    in->walled = true;
    in->next_walled = r->walls;
    r->walls = in;
}

static int start_clock(struct mortise_run *r, struct scope *in,
                       struct mortise_err *err)
{
    struct exec *x = timer_of(r, in);

    if (in->ticks || in->halt != LOSS_NONE)
        return MORTISE_OK;
    in->ticks = true;
    in->since_ms = r->steady_ms;
    in->wall_over = false;
    note_wall(r, in);
    mortise_exec_renew(x);
    return arm_clock(r, in, err);
}

int mortise_clock_again(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err)
{
    struct exec *x = timer_of(r, in);
    int rv;

    in->wall_over = false;
    if (!in->ticks)
        return MORTISE_OK;
    rv = mortise_exec_disarm(r, x, err);
    mortise_exec_renew(x);
    return rv == MORTISE_OK ? arm_clock(r, in, err) : rv;
}

static int stop_clock(struct mortise_run *r, struct scope *in,
                      struct mortise_err *err)
{
    struct exec *x = timer_of(r, in);
    /* A call, and a retry, have armed a timer of their own. */
    bool ours =
        in->owner == NULL || (x->state != X_RUNNING && x->state != X_STOPPING &&
                              x->state != X_BACKOFF);

    if (!in->ticks)
        return MORTISE_OK;
    in->active_ms = mortise_clock_active_ms(r, in);
    in->wall_ms = mortise_clock_wall_ms(r, in);
    in->ticks = false;
    return ours ? mortise_exec_disarm(r, x, err) : MORTISE_OK;
}

int mortise_clock_tell(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && r->clocks != NULL) {
        struct scope *in = r->clocks;

        assert(in->changed); /* that is why it is in the list */
        r->clocks = in->next_changed;
        in->changed = false;
        if (!is_timed(in))
            continue;
        rv = in->n_running > 0 ? start_clock(r, in, err)
                               : stop_clock(r, in, err);
    }
    return rv;
}

int mortise_clock_store_wall(struct mortise_run *r, struct scope *in,
                             struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_WALL,
                              .frame = in->root->index,
                              .at_ms = mortise_clock_wall_ms(r, in)};

    return mortise_run_record(r, &e, err);
}

int mortise_apply_wall(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct scope *in = r->frames[e->frame]->scope;

    if (!mortise_budget_is_walled(in))
        return mortise_entry_corrupt(err, e);
    in->wall_ms = e->at_ms - lately_ms(r, in);
    return mortise_budget_wall(r, in, e->at_ms, err);
}

static int store_walls(struct mortise_run *r, struct mortise_err *err)
{
    struct scope **at = &r->walls;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && *at != NULL) {
        struct scope *in = *at;

        assert(in->walled && mortise_budget_is_walled(in));
        rv = mortise_clock_store_wall(r, in, err);
        in->walled = in->ticks;
        if (in->ticks)
            at = &in->next_walled;
        else
            *at = in->next_walled;
    }
    return rv;
}

int mortise_clock_store(struct mortise_run *r, struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;
    struct mortise_entry e = {.type = MORTISE_E_CLOCK};
    int rv = r->record.n != 0 ? store_walls(r, err) : MORTISE_OK;

    assert(in->owner == NULL); /* the run's own graph */
    if (rv != MORTISE_OK || r->record.n == 0 || most_ms(in) == 0)
        return rv;
    e.at_ms = mortise_clock_active_ms(r, in);
    return mortise_run_record(r, &e, err);
}

/* The run was active for so long. */
int mortise_apply_clock(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;

    (void)err;
    in->wall_ms = mortise_clock_wall_ms(r, in);
    in->active_ms = e->at_ms;
    in->since_ms = r->steady_ms;
    return MORTISE_OK;
}

int mortise_clock_is_due(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct scope *in = x->index == 0 ? r->frames[0]->scope : x->child->scope;
    struct mortise_entry e = {
        .type = MORTISE_E_HALT, .frame = in->root->index, .how = LOSS_TIME};
    int rv;

    assert(timer_of(r, in) == x);
    if (!in->ticks || in->halt != LOSS_NONE)
        return MORTISE_OK;
    if (most_ms(in) != 0 && mortise_clock_active_ms(r, in) >= most_ms(in))
        return mortise_run_record(r, &e, err);
    if (due_ms(r, in) > r->steady_ms) /* there is more to spend since */
        return arm_clock(r, in, err);
    in->wall_over = true;
    rv = mortise_budget_wall_over(r, in, err);
    return rv == MORTISE_OK && in->halt == LOSS_NONE ? arm_clock(r, in, err)
                                                     : rv;
}
