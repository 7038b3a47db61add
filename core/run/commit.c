/* commit.c -- when what was recorded becomes a commit, and what waits for it.
 *
 * A step's record is one commit.  It stands first among the step's actions;
 * what the others may do before it is on disk is said in start.c.
 *
 * Some of what is recorded may wait for the commit of a later step, and goes
 * with it: that an execution looked at something, and, where the graph's
 * checkpoint_policy or the node's `checkpoint` says so, that an execution which
 * only computed or read succeeded.  After a crash these are done again, from
 * the last commit on: recovery is coarser for it, and comes to the same.
 *
 *   (1) Everything else is committed by its own step, with all that waited:
 *       admission, intents, journal entries, answers, failures, races that were
 *       decided, commands, ends.  So nothing that changes the world or is told
 *       to anybody stands on something that a crash could take.
 *   (2) A record waits only while a call is out that will end; what comes to
 *       rest is committed.  And it waits no longer than it is small, or than
 *       somebody is to be told what stands behind it (MORTISE_IN_COMMIT).
 *   (3) Nobody is told of what waits (r->unsent).
 *   (4) The times of events are those of their steps, and stand in the record
 *       (MORTISE_E_TIME) where they are not the commit's.
 */
#include <assert.h>
#include <string.h>

#include "core/run/commit.h"

enum { MOST_WAITING = 256 * 1024 }; /* bytes of a record */

/* ---- what may wait ------------------------------------------------------ */

/* Does the graph want it on disk that this node has ended? */
static bool is_wanted(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    return n->checkpoint_said ? n->checkpoint_after : !x->frame->graph->coarse;
}

bool mortise_commit_done_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    return (e->how == DONE_EXECUTED || e->how == DONE_CACHED) &&
           !is_wanted(r, x) && (n->op == NULL || n->effect < MORTISE_WRITE);
}

bool mortise_commit_node_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e)
{
    (void)e;
    return !is_wanted(r, x);
}

/* It is for people, unless something is reserved. */
bool mortise_commit_prompt_may_wait(const struct mortise_run *r,
                                    const struct exec *x,
                                    const struct mortise_entry *e)
{
    (void)r;
    (void)x;
    return json_object_get(e->value, "budget") == NULL;
}

/* ---- what waits for a sync ---------------------------------------------- */

bool mortise_commit_is_going(const struct mortise_run *r)
{
    return r->live && !mortise_run_is_finished(r) &&
           r->n_running + r->n_waiting + r->n_near > 0 &&
           mortise_limit_holds(r) == NULL;
}

static void later(uint64_t *seq, uint64_t other)
{
    *seq = other > *seq ? other : *seq;
}

/* The newest commit that something waits for: an effect, an asker, who gave a
 * command (R12); whoever was given the run's id (R3), or is to be asked; and
 * what comes to rest, so that it can leave memory. */
static uint64_t awaited(const struct mortise_run *r)
{
    uint64_t seq = r->applied_seq;

    for (size_t i = 0; i < r->intents.n; i++)
        later(&seq, r->execs[r->intents.list[i]]->intent_seq);
    if (r->n_step_waits > 0)
        later(&seq, r->step_waits[r->n_step_waits - 1].seq);
    later(&seq, mortise_outbox_awaits(r));
    if (r->seq == 1 || r->asked || !mortise_commit_is_going(r))
        later(&seq, r->seq);
    return seq;
}

/* At the end of a step: `commit` is its own, or NULL. */
static int ask_for_sync(struct mortise_run *r,
                        struct mortise_run_commit *commit,
                        struct mortise_err *err)
{
    uint64_t seq = awaited(r);

    assert(seq <= r->seq && r->synced <= r->seq); /* both are made */
    r->asked = false;
    if (seq <= r->sync_asked || seq <= r->synced)
        return MORTISE_OK;
    r->sync_asked = r->seq;
    if (commit == NULL)
        return mortise_action_new(r, MORTISE_ACT_SYNC, err) != NULL
                   ? MORTISE_OK
                   : MORTISE_ENOMEM;
    commit->sync = true;
    return MORTISE_OK;
}

/* ---- the commit --------------------------------------------------------- */

/* Every bit of v in every bit of what comes out; different values stay
 * different (splitmix64). */
static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

/* The checkpoint's id: time, and chance that belongs to (run, seq).  The seed
 * is the run's own, so ids need no more than to be spread. */
static struct mortise_uuid checkpoint_id(const struct mortise_run *r,
                                         uint64_t seq)
{
    uint64_t chance[2];

    memcpy(chance, r->seed, sizeof chance);
    chance[0] = mix(chance[0] + seq * 0x9e3779b97f4a7c15u);
    chance[1] = mix(chance[1] ^ chance[0]);
    return mortise_uuid7(r->time_ms, (const uint8_t *)chance);
}

/* The gravest of what the record holds. */
static enum mortise_phase phase_of_step(const struct mortise_run *r)
{
    static const enum mortise_phase order[] = {
        MORTISE_PHASE_ADMIT,     MORTISE_PHASE_END,     MORTISE_PHASE_ERROR,
        MORTISE_PHASE_INTERRUPT, MORTISE_PHASE_COMMAND, MORTISE_PHASE_BEFORE};

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (r->phases & 1u << order[i])
            return order[i];
    }
    return MORTISE_PHASE_AFTER;
}

/* Requests opened and settled in one step were never pending. */
static void cancel_out(struct mortise_run_commit *c)
{
    for (size_t i = 0; i < c->n_closes;) {
        size_t k = 0;

        while (k < c->n_opens && strcmp(c->opens[k].id, c->closes[i].id) != 0)
            k++;
        if (k == c->n_opens) {
            i++;
            continue;
        }
        json_decref(c->opens[k].payload);
        c->opens[k] = c->opens[--c->n_opens];
        c->closes[i] = c->closes[--c->n_closes];
    }
}

static void fill_commit(struct mortise_run *r, struct mortise_run_commit *c)
{
    *c = r->kept;
    r->kept = (struct mortise_run_commit){0};
    c->spend = mortise_tree_take_spend(r);
    cancel_out(c);
    for (size_t i = 0; i < c->n_opens; i++)
        r->asked |= !c->opens[i].timer && !c->opens[i].again;
    c->seq = ++r->seq;
    assert(r->record.n > 0 && r->phases != 0); /* it says something */
    assert(r->n_events >= r->first_event);
    c->parent = r->head;
    c->id = r->head = checkpoint_id(r, c->seq);
    c->now_ms = r->time_ms;
    c->first_event = r->first_event + 1;
    c->n_events = (uint32_t)(r->n_events - r->first_event);
    c->step = r->n_finished;
    c->phase = phase_of_step(r);
    c->status = r->status;
    c->reason = r->reason;
    c->n_pending = r->n_asked + r->n_questions + (r->plan.request[0] != '\0');
    c->dev = mortise_pins_dev(r);
    c->leaves = r->leaves;
    if (r->leaves)
        r->left_seq = c->seq;
    r->leaves = false;
    c->size = r->record.n;
    c->room = r->record.cap;
    c->entries = r->record.p;
    mortise_buf_init(&r->record, r->mem);
    r->record_frame = 0;
    r->record_ms = 0;
    r->order = NULL;
    r->stamped = r->must = false;
    r->first_event = r->n_events;
    r->phases = 0;
}

/* The record waits: its first entries say when they were made (4). */
static int stamp(struct mortise_run *r, struct mortise_err *err)
{
    const struct mortise_entry e = {.type = MORTISE_E_TIME,
                                    .at_ms = r->record_ms};
    struct mortise_buf *b = &r->record;
    char bytes[16];
    size_t before = b->n, n;

    if (r->record_ms == 0 || r->stamped)
        return MORTISE_OK;
    mortise_entry_write(b, &e);
    if (b->failed)
        return mortise_nomem(err);
    n = b->n - before;
    assert(n <= sizeof bytes); /* a type and a time */
    memcpy(bytes, b->p + before, n);
    memmove(b->p + n, b->p, before);
    memcpy(b->p, bytes, n);
    r->stamped = true;
    return MORTISE_OK;
}

/* No commit now: its place among the actions goes. */
static int go_without(struct mortise_run *r, size_t slot,
                      struct mortise_err *err)
{
    struct mortise_actions *a = r->actions;
    int rv = stamp(r, err);

    assert(slot < a->n && a->list[slot].kind == MORTISE_ACT_COMMIT);
    a->n--;
    memmove(a->list + slot, a->list + slot + 1,
            (a->n - slot) * sizeof a->list[0]);
    if (rv == MORTISE_OK && r->applied &&
        mortise_action_new(r, MORTISE_ACT_APPLIED, err) == NULL)
        return MORTISE_ENOMEM;
    return rv == MORTISE_OK ? ask_for_sync(r, NULL, err) : rv;
}

int mortise_commit_step(struct mortise_run *r, size_t slot,
                        struct mortise_err *err)
{
    int rv = mortise_tree_give_back(r, err);
    bool waits = !r->must && r->n_running > 0 && r->record.n < MOST_WAITING &&
                 mortise_commit_is_going(r);
    struct mortise_run_commit *c;

    if (rv != MORTISE_OK)
        return rv;
    if (r->record.n == 0 || waits)
        return go_without(r, slot, err);
    assert(r->actions != NULL && slot < r->actions->n);
    rv = mortise_clock_store(r, err);
    if (rv == MORTISE_OK)
        rv = mortise_tree_count(r, err);
    if (rv == MORTISE_OK)
        rv = mortise_requests_renew(r, err);
    if (rv != MORTISE_OK)
        return rv;
    c = &r->actions->list[slot].u.commit;
    fill_commit(r, c);
    if (r->applied)
        r->applied_seq = r->seq;
    return ask_for_sync(r, c, err);
}
