/* apply.c -- what each entry does to the struct of a run.
 *
 * Every durable change is an entry, and every entry is applied here, whether
 * it was decided a moment ago or read from a checkpoint.  So a replayed run is
 * the run that was, by construction; what only matters while it is live (calls,
 * timers) is kept apart and never written.
 *
 * Applying decides nothing: which edges were taken stands in the entry.  What
 * follows by rule alone is derived (frame.c) and not stored: dead edges,
 * skipped nodes, activations.
 *
 * Entries come from a disk.  One that does not fit the run (an execution that
 * is not there, an edge of another node) makes it MORTISE_ECORRUPT.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

int mortise_entry_corrupt(struct mortise_err *err,
                          const struct mortise_entry *e)
{
    return mortise_fail(
        err, MORTISE_ECORRUPT,
        "a journal entry of type '%s' does not match the state of the run",
        mortise_entry_type_name(e->type));
}

/* ---- applying ------------------------------------------------------------ */

/* What gathers the map that `node` is the entry of, in f. */
static struct exec *gather_of(const struct frame *f, uint32_t node)
{
    const struct mortise_region *all = f->graph->regions;
    const struct mortise_region *child;
    uint32_t at = f->graph->nodes[node].region;
    const struct item *it;

    while (at != 0 && all[at].parent != f->region->index)
        at = all[at].parent;
    if (at == 0 || all[at].kind != MORTISE_REGION_MAP || all[at].entry != node)
        return NULL;
    it = mortise_item_to(f, node, &child);
    return it->fan != NULL ? it->fan->gather : NULL;
}

/* Of a tool there may be several at once, and the newest first. */
static struct exec *visit_of(const struct frame *f,
                             const struct mortise_entry *e)
{
    struct exec *x = f->execs;

    while (x != NULL && (x->node != e->node || x->visit != e->visit))
        x = x->sibling;
    return x;
}

/* An earlier visit of a settled join, which was replaced by a new one when its run
 * was resumed: its doubt is settled beside that (outcome/doubt.c (11)). */
static struct exec *replaced_of(const struct frame *f,
                                const struct mortise_entry *e)
{
    struct exec *x = visit_of(f, e);

    return x != NULL && x->was.state != 0 ? x : NULL;
}

static struct exec *exec_of(const struct mortise_run *r,
                            const struct mortise_entry *e)
{
    const struct frame *f = r->frames[e->frame];
    struct exec *x;

    if (e->node >= f->graph->n_nodes)
        return NULL;
    if (f->graph->offers != NULL)
        return visit_of(f, e);
    if (f->graph->nodes[e->node].region != f->region->index)
        x = gather_of(f, e->node);
    else if (mortise_item_of(f, e->node)->exec != 0)
        x = r->execs[mortise_item_of(f, e->node)->exec];
    else
        return NULL;
    if (x != NULL && x->visit == e->visit)
        return x;
    return replaced_of(f, e);
}

static int apply_of_exec(struct mortise_run *r, const struct entry_rules *of,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    struct exec *x = exec_of(r, e);

    if (x == NULL ||
        (mortise_exec_is_over(x) && !(of->of_failed && x->state == X_FAILED)) ||
        (x->state == X_HELD && !of->of_held))
        return mortise_entry_corrupt(err, e);
    if (!of->uncounted)
        mortise_exec_count_recorded(r, x);
    if (of->uses_decision)
        mortise_exec_went_on(x);
    assert(x->frame->index <= e->frame); /* a map's stands in its home */
    if (of->call != NULL)
        of->call(r, x);
    return of->of_exec(r, x, e, err);
}

static bool may_stand(const struct mortise_run *r, enum entry_stands where)
{
    return where == STANDS_ANYWHERE ||
           (where == STANDS_FIRST) == (r->n_execs == 0);
}

int mortise_apply_entry(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    const struct entry_rules *of = mortise_entry_rules(e);

    assert(of->of_run != NULL || of->of_exec != NULL); /* it is no mark */
    if (e->frame >= r->n_frames || !may_stand(r, of->stands))
        return mortise_entry_corrupt(err, e);
    return of->of_run != NULL ? of->of_run(r, e, err)
                              : apply_of_exec(r, of, e, err);
}

/* ---- recording ---------------------------------------------------------- */

/* Most entries are no longer: a record grows once for each, at most. */
enum { ENTRY_ROOM = 128 };

static bool is_timed(const struct mortise_entry *e)
{
    return !e->looked && !mortise_entry_rules(e)->untimed;
}

/* What goes ahead of an entry: where it is, and when, if that is not as for the
 * one before it. */
static void place(struct mortise_run *r, const struct mortise_entry *e)
{
    const struct mortise_entry frame = {.type = MORTISE_E_FRAME,
                                        .frame = e->frame};
    const struct mortise_entry now = {.type = MORTISE_E_TIME,
                                      .at_ms = r->time_ms};

    if (is_timed(e) && r->record_ms != r->time_ms) {
        if (r->record_ms != 0)
            mortise_entry_write(&r->record, &now);
        r->record_ms = r->time_ms;
    }
    if (e->frame != r->record_frame)
        mortise_entry_write(&r->record, &frame);
    r->record_frame = e->frame;
}

static bool may_wait(const struct mortise_run *r, const struct mortise_entry *e)
{
    const struct entry_rules *of = mortise_entry_rules(e);
    const struct exec *x;

    if (e->looked)
        return true;
    if (of->may_wait == NULL)
        return false;
    x = exec_of(r, e);
    return x != NULL && of->may_wait(r, x, e);
}

static enum mortise_phase phase_of(const struct mortise_entry *e)
{
    const struct entry_rules *of = mortise_entry_rules(e);

    return of->phase_of != NULL ? of->phase_of(e) : of->phase;
}

int mortise_run_record(struct mortise_run *r, struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = mortise_order_record(r, err);

    if (rv != MORTISE_OK)
        return rv;
    if (e->actor == NULL)
        e->actor = "";
    if (e->id == NULL)
        e->id = "";
    if (e->key == NULL)
        e->key = e->method = "";
    assert(e->frame < r->n_frames);
    mortise_buf_reserve(&r->record, ENTRY_ROOM);
    place(r, e);
    mortise_entry_write(&r->record, e);
    if (r->record.failed)
        return mortise_nomem(err);
    r->must |= !may_wait(r, e);
    r->phases |= 1u << phase_of(e);
    return mortise_apply_entry(r, e, err);
}

uint64_t mortise_run_commit_now(struct mortise_run *r)
{
    r->must |= r->record.n > 0;
    return r->record.n > 0 ? r->seq + 1 : r->seq;
}

int mortise_run_record_value(struct mortise_run *r, struct mortise_entry *e,
                             json_t *value, struct mortise_err *err)
{
    int rv;

    assert(e->value == NULL);
    e->value = value;
    rv = value != NULL ? mortise_run_record(r, e, err) : mortise_nomem(err);
    mortise_entry_finish(e);
    return rv;
}
