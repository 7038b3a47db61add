/* clock.c -- how long a graph was active: limits.timeout, and the timeout of a
 * subgraph's attempt.
 *
 * A graph is active while a call of it is out, or of a graph in it; waiting for
 * a person, a timer or a retry is not.  Time stands still within a step, so it
 * is enough to look at the end of each at the graphs in which the first call
 * went out or the last came back (r->clocks).  While one is active, a timer of
 * its owner's (of START's, for the run) is armed for when its time is up.
 *
 *   (1) That time is up is decided by an entry (`halt`), and replay follows it.
 *   (2) The run's active time is stored with each commit, so that a crash does
 *       not give it anew; an attempt's begins again with it, like a call's.
 */

#include "run/internal.h"

static struct exec *timer_of(const struct mortise_run *r,
                             const struct scope *in)
{
    return in->owner != NULL ? in->owner : r->execs[0];
}

/* 0: it may take as long as it likes. */
static uint64_t most_ms(const struct mortise_run *r, const struct scope *in)
{
    return in->owner != NULL ? node_of(r, in->owner)->timeout_ms
                             : in->root->graph->limits.timeout_ms;
}

void clock_count(struct mortise_run *r, struct exec *x, uint32_t by)
{
    struct scope *in = x->frame->top->scope;

    for (;; in = in->owner->frame->top->scope) {
        bool was = in->n_running > 0;

        in->n_running += by;
        if (was != (in->n_running > 0) && !in->changed && most_ms(r, in) != 0) {
            in->changed = true;
            in->next_changed = r->clocks;
            r->clocks = in;
        }
        if (in->owner == NULL)
            return;
    }
}

static uint64_t active_ms(const struct mortise_run *r, const struct scope *in)
{
    uint64_t now =
        in->ticks && r->time_ms > in->since_ms ? r->time_ms - in->since_ms : 0;

    return in->active_ms + now;
}

static uint64_t due_ms(const struct mortise_run *r, const struct scope *in)
{
    uint64_t active = active_ms(r, in), most = most_ms(r, in);

    return r->time_ms + (active < most ? most - active : 0);
}

static int start_clock(struct mortise_run *r, struct scope *in,
                       struct mortise_err *err)
{
    struct exec *x = timer_of(r, in);

    if (in->ticks || in->halt != LOSS_NONE)
        return MORTISE_OK;
    in->ticks = true;
    in->since_ms = r->time_ms;
    x->serial++;
    return arm(r, x, due_ms(r, in), err);
}

static int stop_clock(struct mortise_run *r, struct scope *in,
                      struct mortise_err *err)
{
    struct exec *x = timer_of(r, in);
    bool ours = in->owner == NULL || x->state == X_INSIDE || x->state == X_DONE;

    if (!in->ticks)
        return MORTISE_OK;
    in->active_ms = active_ms(r, in);
    in->ticks = false;
    return ours ? disarm(r, x, err) : MORTISE_OK;
}

int clock_tell(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && r->clocks != NULL) {
        struct scope *in = r->clocks;

        r->clocks = in->next_changed;
        in->changed = false;
        rv = in->n_running > 0 ? start_clock(r, in, err)
                               : stop_clock(r, in, err);
    }
    return rv;
}

int clock_store(struct mortise_run *r, struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;
    struct mortise_entry e = {.type = MORTISE_E_CLOCK};

    if (r->record.n == 0 || most_ms(r, in) == 0)
        return MORTISE_OK;
    e.at_ms = active_ms(r, in);
    return record(r, &e, err);
}

void clock_set(struct mortise_run *r, uint64_t active)
{
    struct scope *in = r->frames[0]->scope;

    in->active_ms = active;
    in->since_ms = r->time_ms;
}

int clock_is_due(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    struct scope *in = x->index == 0 ? r->frames[0]->scope : x->child->scope;
    struct mortise_entry e = {
        .type = MORTISE_E_HALT, .frame = in->root->index, .how = LOSS_TIME};

    if (!in->ticks || in->halt != LOSS_NONE)
        return MORTISE_OK;
    if (active_ms(r, in) < most_ms(r, in)) /* the clock was set back */
        return arm(r, x, due_ms(r, in), err);
    return record(r, &e, err);
}
