/* event_replay.c -- the stored events of a run, read in pieces.
 *
 * Durable events are had by replaying a run's checkpoints.  Who cannot take all
 * of them at once stops and goes on later: the replayed run is kept in between,
 * so that every checkpoint is replayed once, however many pieces it takes.
 */
#include "engine/common/engine.h"

struct mortise_event_replay {
    struct mortise *m;
    struct mortise_run *run; /* replayed as far as it was read */
    const struct mortise_event_replay_ops *ops;
    void *ud;
    uint64_t last; /* of this piece */
    enum mortise_event_replay_end end;
    int rv;
    struct mortise_err err;
};

static int on_event(void *ud, json_t *event)
{
    struct mortise_event_replay *r = ud;

    if (r->ops->event(r->ud, event) == 0)
        return 0;
    r->end = MORTISE_EVENT_REPLAY_ENDED;
    return 1;
}

int mortise_event_replay_open(struct mortise_event_replay **out,
                              struct mortise *m, const char *tenant,
                              const char *run, struct mortise_graph *g,
                              const struct mortise_event_replay_ops *ops,
                              void *ud, struct mortise_err *err)
{
    struct mortise_event_replay *r = mortise_zalloc(m->mem, sizeof *r);
    int rv;

    *out = NULL;
    if (r == NULL)
        return mortise_nomem(err);
    r->m = m;
    r->ops = ops;
    r->ud = ud;
    rv = mortise_run_replay(&r->run, m->mem, g, tenant, run, on_event, r, err);
    if (rv != MORTISE_OK) {
        mortise_release(m->mem, r, sizeof *r);
        return rv;
    }
    *out = r;
    return MORTISE_OK;
}

void mortise_event_replay_close(struct mortise_event_replay *r)
{
    if (r == NULL)
        return;
    mortise_run_free(r->run);
    mortise_release(r->m->mem, r, sizeof *r);
}

void mortise_event_replay_lend(struct mortise_event_replay *r, void *ud)
{
    r->ud = ud;
}

uint64_t mortise_event_replay_events(const struct mortise_event_replay *r)
{
    return mortise_run_events(r->run);
}

/* One checkpoint; nonzero: the piece ends before or behind it. */
static int apply(void *ud, const struct mortise_checkpoint *cp)
{
    struct mortise_event_replay *r = ud;

    if (cp->seq > r->last)
        return 1;
    r->rv = mortise_run_apply(r->run, cp->seq, cp->time_ms, cp->id, cp->entries,
                              cp->size, &r->err);
    if (r->rv != MORTISE_OK || r->end == MORTISE_EVENT_REPLAY_ENDED)
        return 1;
    if (!r->ops->full(r->ud))
        return 0;
    r->end = MORTISE_EVENT_REPLAY_FULL;
    return 1;
}

int mortise_event_replay_go(struct mortise_event_replay *r, const char *tenant,
                            const char *run, uint64_t last,
                            enum mortise_event_replay_end *end,
                            struct mortise_err *err)
{
    uint64_t next = mortise_run_seq(r->run) + 1;
    int rv = MORTISE_OK;

    r->last = last;
    r->end = r->ops->full(r->ud) ? MORTISE_EVENT_REPLAY_FULL
                                 : MORTISE_EVENT_REPLAY_ALL;
    r->rv = MORTISE_OK;
    if (r->end == MORTISE_EVENT_REPLAY_ALL && next <= last)
        rv = mortise_store_checkpoints(r->m->store, tenant, run, next, apply, r,
                                       err);
    if (rv == MORTISE_OK && r->rv != MORTISE_OK &&
        r->end != MORTISE_EVENT_REPLAY_ENDED) {
        rv = r->rv;
        if (err != NULL)
            *err = r->err;
    }
    *end = r->end;
    return rv == MORTISE_OK ? rv : mortise_doing(err, rv, "load run %s", run);
}
