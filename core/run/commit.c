/* commit.c -- commits: when recorded entries are committed, and when a commit
 * is synced.
 *
 * The record of a step is one commit, the first of the step's actions.  start.c
 * describes which of the others must wait for its sync.
 *
 * Some entries may wait and become part of the commit of a later step: lookups,
 * and, if the graph's checkpoint_policy or the node's `checkpoint` allows it,
 * the success of an execution that only computed or read.  After a crash this
 * work is repeated from the last commit on: recovery repeats more, with the
 * same result.
 *
 *   (1) All other entries are committed by their own step, together with the
 *       waiting ones: admission, intents, journal entries, answers, failures,
 *       decided races, commands, ends.  So neither an effect on the world nor a
 *       published event depends on an entry that a crash could lose.
 *   (2) A record waits only while a call that will end is in flight; a run that
 *       becomes idle commits it.  It also ends its wait when it grows large, or
 *       when somebody needs an event that follows it (MORTISE_IN_COMMIT).
 *   (3) Events of waiting entries are not published (r->unsent).
 *   (4) Events have the time of their step.  If that differs from the time of
 *       the commit, the record has it (MORTISE_E_TIME).
 */
#include <assert.h>
#include <string.h>

#include "core/run/commit.h"

enum { MOST_WAITING = 256 * 1024 }; /* bytes of a record */

/* ---- waiting entries ----------------------------------------------------- */

/* Does the graph require that the end of this node is on disk? */
static bool must_commit_end(const struct mortise_run *r, const struct exec *x)
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
           !must_commit_end(r, x) &&
           (n->op == NULL || n->effect < MORTISE_WRITE);
}

bool mortise_commit_node_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e)
{
    (void)e;
    return !must_commit_end(r, x);
}

/* A prompt is only information for people, unless an amount is reserved. */
bool mortise_commit_prompt_may_wait(const struct mortise_run *r,
                                    const struct exec *x,
                                    const struct mortise_entry *e)
{
    (void)r;
    (void)x;
    return json_object_get(e->value, "budget") == NULL;
}

/* ---- waiting for a sync -------------------------------------------------- */

bool mortise_commit_has_work(const struct mortise_run *r)
{
    return r->live && !mortise_run_is_finished(r) &&
           r->n_running + r->n_waiting + r->n_near > 0 &&
           mortise_limit_find_blocked(r) == NULL;
}

static void raise_seq(uint64_t *seq, uint64_t other)
{
    *seq = other > *seq ? other : *seq;
}

/* The newest commit that something waits for: an effect, an asker, the sender
 * of a command (R12), a caller that received the run's id (R3), or a request to
 * people; and, if the run becomes idle, its last commit, so that it can leave
 * memory. */
static uint64_t get_awaited_seq(const struct mortise_run *r)
{
    uint64_t seq = r->applied_seq;

    for (size_t i = 0; i < r->intents.n; i++)
        raise_seq(&seq, r->execs[r->intents.list[i]]->intent_seq);
    if (r->n_step_waits > 0)
        raise_seq(&seq, r->step_waits[r->n_step_waits - 1].seq);
    raise_seq(&seq, mortise_outbox_get_awaited_seq(r));
    if (r->seq == 1 || r->asked || !mortise_commit_has_work(r))
        raise_seq(&seq, r->seq);
    return seq;
}

/* At the end of a step: `commit` is the commit of the step, or NULL. */
static int ask_for_sync(struct mortise_run *r,
                        struct mortise_run_commit *commit,
                        struct mortise_err *err)
{
    uint64_t seq = get_awaited_seq(r);

    assert(seq <= r->seq && r->synced <= r->seq); /* both exist */
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

/* Mix the bits of v; different values stay different (splitmix64). */
static uint64_t mix_bits(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

/* The checkpoint's id: the time, and pseudo-random bits from (run, seq).  The
 * seed is random and the run's own, so the bits only need to be spread. */
static struct mortise_uuid make_checkpoint_id(const struct mortise_run *r,
                                              uint64_t seq)
{
    uint64_t chance[2];

    memcpy(chance, r->seed, sizeof chance);
    chance[0] = mix_bits(chance[0] + seq * 0x9e3779b97f4a7c15u);
    chance[1] = mix_bits(chance[1] ^ chance[0]);
    return mortise_uuid7_make(r->time_ms, (const uint8_t *)chance);
}

/* The most important phase of the entries in the record. */
static enum mortise_phase get_record_phase(const struct mortise_run *r)
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

/* Drop requests that were opened and settled in the same commit. */
static void drop_settled_requests(struct mortise_run_commit *c)
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
    drop_settled_requests(c);
    for (size_t i = 0; i < c->n_opens; i++)
        r->asked |= !c->opens[i].timer && !c->opens[i].again;
    c->seq = ++r->seq;
    assert(r->record.n > 0 && r->phases != 0); /* the record is not empty */
    assert(r->n_events >= r->first_event);
    c->parent = r->head;
    c->id = r->head = make_checkpoint_id(r, c->seq);
    c->now_ms = r->time_ms;
    c->first_event = r->first_event + 1;
    c->n_events = (uint32_t)(r->n_events - r->first_event);
    c->step = r->n_finished;
    c->phase = get_record_phase(r);
    c->status = r->status;
    c->reason = r->reason;
    c->n_pending = r->n_asked + r->n_questions + (r->plan.request[0] != '\0');
    c->dev = mortise_pins_has_unsigned(r);
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

/* The record waits: prepend the time of its first entries (4). */
static int prepend_record_time(struct mortise_run *r, struct mortise_err *err)
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

/* No commit in this step: remove its action. */
static int end_without_commit(struct mortise_run *r, size_t slot,
                              struct mortise_err *err)
{
    struct mortise_actions *a = r->actions;
    int rv = prepend_record_time(r, err);

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
    int rv = mortise_tree_release_unused(r, err);
    bool waits = !r->must && r->n_running > 0 && r->record.n < MOST_WAITING &&
                 mortise_commit_has_work(r);
    struct mortise_run_commit *c;

    if (rv != MORTISE_OK)
        return rv;
    if (r->record.n == 0 || waits)
        return end_without_commit(r, slot, err);
    assert(r->actions != NULL && slot < r->actions->n);
    rv = mortise_clock_record_active(r, err);
    if (rv == MORTISE_OK)
        rv = mortise_tree_record_amounts(r, err);
    if (rv == MORTISE_OK)
        rv = mortise_requests_update_budgets(r, err);
    if (rv != MORTISE_OK)
        return rv;
    c = &r->actions->list[slot].u.commit;
    fill_commit(r, c);
    if (r->applied)
        r->applied_seq = r->seq;
    return ask_for_sync(r, c, err);
}
