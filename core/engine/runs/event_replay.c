/* event_replay.c -- read the stored events of a run in pieces.
 *
 * Replaying a run's checkpoints produces its durable events.  A reader that
 * cannot take all events at once stops and continues later.  The replayed run
 * is kept in between, so that every checkpoint is replayed once, however many
 * pieces it takes.  A piece is one read of the store; a replay that is closed
 * during a read is freed by its answer, without a report.
 */
#include "core/engine/common/engine.h"

#include <string.h>

struct mortise_event_replay {
    struct mortise *m;
    char tenant[MORTISE_NAME_MAX + 1], id[MORTISE_NAME_MAX + 1];
    struct mortise_read read;
    bool out, closed;        /* a read is in flight; close() was called
                                meanwhile */
    struct mortise_run *run; /* replayed as far as it was read */
    const struct mortise_event_replay_ops *ops;
    void *ud;
    uint64_t last; /* of this piece */
    enum mortise_event_replay_end end;
    int rv;
    struct mortise_err err;
};

static int on_replayed_event(void *ud, json_t *event)
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
    strcpy(r->tenant, tenant); /* live.c admits no longer names */
    strcpy(r->id, run);
    r->ops = ops;
    r->ud = ud;
    rv = mortise_run_replay(&r->run, m->mem, g, tenant, run, on_replayed_event,
                            r, err);
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
    r->closed = true;
    if (r->out)
        return; /* piece_read() frees it */
    mortise_run_free(r->run);
    mortise_release(r->m->mem, r, sizeof *r);
}

void mortise_event_replay_set_graph(struct mortise_event_replay *r,
                                    struct mortise_graph *g)
{
    mortise_run_add_next_graph(r->run, g);
}

void mortise_event_replay_set_ud(struct mortise_event_replay *r, void *ud)
{
    r->ud = ud;
}

uint64_t mortise_event_replay_count_events(const struct mortise_event_replay *r)
{
    return mortise_run_count_events(r->run);
}

/* Apply one checkpoint; nonzero: the piece ends before or after it. */
static int apply_replay_checkpoint(void *ud,
                                   const struct mortise_checkpoint *cp)
{
    struct mortise_event_replay *r = ud;

    if (cp->seq > r->last || r->closed)
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

static void piece_read(struct mortise_read *read, int rv,
                       const struct mortise_err *err)
{
    struct mortise_event_replay *r =
        MORTISE_CONTAINER_OF(read, struct mortise_event_replay, read);
    struct mortise_err why = *err;

    r->out = false;
    if (r->closed) {
        mortise_event_replay_close(r);
        return;
    }
    if (rv == MORTISE_OK && r->rv != MORTISE_OK &&
        r->end != MORTISE_EVENT_REPLAY_ENDED) {
        rv = r->rv;
        why = r->err;
    }
    if (rv != MORTISE_OK)
        mortise_err_prefix(&why, rv, "load run %s", r->id);
    r->ops->over(r->ud, r->end, rv, &why);
}

void mortise_event_replay_continue(struct mortise_event_replay *r,
                                   uint64_t last)
{
    const struct mortise_err fine = {.code = MORTISE_OK};
    uint64_t next = mortise_run_seq(r->run) + 1;

    assert(!r->out);
    r->last = last;
    r->end = r->ops->full(r->ud) ? MORTISE_EVENT_REPLAY_FULL
                                 : MORTISE_EVENT_REPLAY_ALL;
    r->rv = MORTISE_OK;
    if (r->end == MORTISE_EVENT_REPLAY_FULL || next > last) {
        r->ops->over(r->ud, r->end, MORTISE_OK, &fine);
        return;
    }
    r->out = true;
    r->read = (struct mortise_read){.kind = MORTISE_READ_CHECKPOINTS,
                                    .tenant = r->tenant,
                                    .run = r->id,
                                    .number = next,
                                    .checkpoint = apply_replay_checkpoint,
                                    .ud = r,
                                    .done = piece_read};
    mortise_store_read(r->m->store, &r->read);
}
