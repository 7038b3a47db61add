/* apply.c -- applies entries to the run, and records them.
 *
 * Every durable change is an entry, and every entry is applied here, whether it
 * was just recorded or read from a checkpoint.  So a replay rebuilds the same
 * run.  State that matters only while the run is live (calls, timers) is kept
 * in separate fields and never written.
 *
 * Applying decides nothing.  The entry lists the edges that were taken; dead
 * edges, skipped nodes and activations follow from them by rule (frame.c) and
 * are not stored.
 *
 * Entries come from disk.  An entry that does not fit the run (an unknown
 * execution, an edge of another node) fails with MORTISE_ECORRUPT.
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

/* The execution that gathers the map whose entry is `node`, in f. */
static struct exec *find_gather(const struct frame *f, uint32_t node)
{
    const struct mortise_region *all = f->graph->regions;
    const struct mortise_region *child;
    uint32_t at = f->graph->nodes[node].region;
    const struct item *it;

    while (at != 0 && all[at].parent != f->region->index)
        at = all[at].parent;
    if (at == 0 || all[at].kind != MORTISE_REGION_MAP || all[at].entry != node)
        return NULL;
    it = mortise_item_find_target(f, node, &child);
    return it->fan != NULL ? it->fan->gather : NULL;
}

/* An execution of e's node and visit, newest first: a tool may run several
 * times at once. */
static struct exec *find_visit(const struct frame *f,
                               const struct mortise_entry *e)
{
    struct exec *x = f->execs;

    while (x != NULL && (x->node != e->node || x->visit != e->visit))
        x = x->sibling;
    return x;
}

/* An earlier visit of a settled join, replaced by a new visit when the run was
 * resumed.  It stays only to settle its doubt (outcome/doubt.c (11)). */
static struct exec *find_replaced_visit(const struct frame *f,
                                        const struct mortise_entry *e)
{
    struct exec *x = find_visit(f, e);

    return x != NULL && x->was.state != 0 ? x : NULL;
}

static struct exec *find_entry_exec(const struct mortise_run *r,
                                    const struct mortise_entry *e)
{
    const struct frame *f = r->frames[e->frame];
    struct exec *x;

    if (e->node >= f->graph->n_nodes)
        return NULL;
    if (f->graph->offers != NULL)
        return find_visit(f, e);
    if (f->graph->nodes[e->node].region != f->region->index)
        x = find_gather(f, e->node);
    else if (mortise_item_of(f, e->node)->exec != 0)
        x = r->execs[mortise_item_of(f, e->node)->exec];
    else
        return NULL;
    if (x != NULL && x->visit == e->visit)
        return x;
    return find_replaced_visit(f, e);
}

static int apply_exec_entry(struct mortise_run *r, const struct entry_rules *of,
                            const struct mortise_entry *e,
                            struct mortise_err *err)
{
    struct exec *x = find_entry_exec(r, e);

    if (x == NULL ||
        (mortise_exec_has_ended(x) &&
         !(of->valid_when_failed && x->state == X_FAILED)) ||
        (x->state == X_HELD && !of->valid_when_held))
        return mortise_entry_corrupt(err, e);
    if (!of->uncounted)
        mortise_exec_count_recorded(r, x);
    if (of->uses_decision)
        mortise_exec_clear_decided(x);
    assert(x->frame->index <= e->frame); /* a map's gathering execution is in
                                            its home frame */
    if (of->call != NULL)
        of->call(r, x);
    return of->of_exec(r, x, e, err);
}

static bool is_allowed_place(const struct mortise_run *r,
                             enum entry_position where)
{
    return where == STANDS_ANYWHERE ||
           (where == STANDS_FIRST) == (r->n_execs == 0);
}

int mortise_apply_entry(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    const struct entry_rules *of = mortise_entry_rules(e);

    /* marks are never applied */
    assert(of->of_run != NULL || of->of_exec != NULL);
    if (e->frame >= r->n_frames || !is_allowed_place(r, of->stands))
        return mortise_entry_corrupt(err, e);
    return of->of_run != NULL ? of->of_run(r, e, err)
                              : apply_exec_entry(r, of, e, err);
}

/* ---- recording ---------------------------------------------------------- */

/* The length of most entries; the record grows at most once for each of
 * them. */
enum { ENTRY_ROOM = 128 };

static bool has_entry_time(const struct mortise_entry *e)
{
    return !e->looked && !mortise_entry_rules(e)->untimed;
}

/* Write FRAME and TIME entries first, if the frame or the time differs from
 * that of the previous entry. */
static void write_frame_and_time(struct mortise_run *r,
                                 const struct mortise_entry *e)
{
    const struct mortise_entry frame = {.type = MORTISE_E_FRAME,
                                        .frame = e->frame};
    const struct mortise_entry now = {.type = MORTISE_E_TIME,
                                      .at_ms = r->time_ms};

    if (has_entry_time(e) && r->record_ms != r->time_ms) {
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
    x = find_entry_exec(r, e);
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
    write_frame_and_time(r, e);
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
