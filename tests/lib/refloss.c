/* refloss.c -- who loses a race, and what becomes of failures.
 *
 * A loser leads nowhere but to a join that has started without it.  A failure
 * is mended where all its ways come to joins that collect or drop.
 */
#include "lib/refrun.h"

/* Does every way from this item come to the join?  To END, out of the region,
 * back to its entry, and nowhere are other ways. */
static bool always_leads(const struct ref_graph *g, int region, int item,
                         int join)
{
    int n = 0;

    if (item == join)
        return true;
    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];
        int to = ref_target_item(g, e);

        if (ref_is_home(g, region, e) && ref_source_item(g, e) == item) {
            if (to < 0 || !always_leads(g, region, to, join))
                return false;
            n++;
            continue;
        }
        if (edge->kind == REF_GATHER || edge->from < 0)
            continue;
        /* Other edges of the node; of a loop, those to END or farther out, but
         * not what ends in an element of a map within it. */
        if (item < 100 ? edge->from == item
                       : g->regions[item - 100].set >> edge->from & 1 &&
                             ref_body(g, g->nodes[edge->from].region) ==
                                 ref_body(g, region) &&
                             (edge->to < 0 ||
                              !(g->regions[region].set >> edge->to & 1)))
            return false;
    }
    return n > 0;
}

/* ... and is there one over edges that are not decided?  An edge to what has
 * started already does nothing. */
static bool may_lead(struct ref_run *r, int frame, int item, int join)
{
    struct ref_frame *f = &r->frames[frame];

    if (item == join)
        return true;
    for (int e = 0; e < r->graph->n_edges; e++) {
        int to = ref_target_item(r->graph, e);

        if (ref_is_home(r->graph, f->region, e) && f->edges[e] == REF_OPEN &&
            ref_source_item(r->graph, e) == item && to >= 0 &&
            (to == join || *ref_item_state(f, to) == REF_WAITING) &&
            may_lead(r, frame, to, join))
            return true;
    }
    return false;
}

void ref_cancel(struct ref_exec *x)
{
    x->status = REF_CANCELLED;
    if (x->child != NULL)
        ref_stop(x->child);
}

static void cancel_item(struct ref_run *r, int frame, int item)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].status == REF_LIVE &&
            ref_is_in_item(r, &r->execs[i], frame, item))
            ref_cancel(&r->execs[i]);
    }
    for (int i = frame + 1; i < r->n_frames; i++) {
        if (item >= 100 && ref_is_frame_in_item(r, i, frame, item))
            r->frames[i].closed = true;
    }
    ref_item_over(r, frame, item, false);
}

static void discard_item(struct ref_run *r, int frame, int item)
{
    r->frames[frame].loser[item] = true;
    for (int i = 0; i < r->n_execs; i++) {
        struct ref_exec *x = &r->execs[i];

        if (x->status == REF_LIVE && ref_is_in_item(r, x, frame, item) &&
            x->discard < 1 + frame)
            x->discard = 1 + frame;
    }
}

void ref_drop_element(struct ref_run *r, int frame, int element, bool finish)
{
    r->frames[element].late = true;
    for (int i = 0; i < r->n_execs; i++) {
        struct ref_exec *x = &r->execs[i];

        if (x->status != REF_LIVE || !ref_is_within(r, x->frame, element))
            continue;
        if (!finish)
            ref_cancel(x);
        else if (x->discard < 1 + frame)
            x->discard = 1 + frame;
    }
    for (int i = element; i < r->n_frames && !finish; i++)
        r->frames[i].closed |= ref_is_within(r, i, element);
}

void ref_drop_losers(struct ref_run *r, int frame, int join)
{
    const struct ref_graph *g = r->graph;
    struct ref_frame *f = &r->frames[frame];
    bool loses[100 + REF_REGIONS] = {false};

    for (int i = 0; i < 100 + REF_REGIONS; i++)
        loses[i] = ref_is_item(g, f->region, i) && i != join &&
                   *ref_item_state(f, i) != REF_OVER &&
                   always_leads(g, f->region, i, join) &&
                   may_lead(r, frame, i, join);
    for (int i = 0; i < 100 + REF_REGIONS; i++) {
        if (loses[i] && ref_join_of(g, join)->finish)
            discard_item(r, frame, i);
        else if (loses[i])
            cancel_item(r, frame, i);
    }
}

static bool has_started(const struct ref_run *r, int frame, int item)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (ref_is_in_item(r, &r->execs[i], frame, item))
            return true;
    }
    return false;
}

/* Has an item an exit, not taken, that leaves the frame, too?  It is decided
 * when what is around the frame is over. */
static bool has_far_exit(const struct ref_run *r, int frame, int item)
{
    const struct ref_graph *g = r->graph;
    uint32_t around = g->regions[r->frames[frame].region].set;
    uint32_t set =
        item < 100 ? (uint32_t)1 << item : g->regions[item - 100].set;

    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];
        int home;

        if (edge->from < 0 || !(set >> edge->from & 1) || edge->to < 0 ||
            around >> edge->to & 1 || edge->yields || edge->kind == REF_GATHER)
            continue;
        home = ref_frame_of(r, frame, edge->home);
        if (r->frames[home].edges[e] == REF_OPEN)
            return true;
    }
    return false;
}

/* What becomes of a failure where an item has handed it on to its edges: those
 * at home in the frame are asked one by one. */
static enum ref_loss loss_of_item(const struct ref_run *r, int frame, int item)
{
    const struct ref_frame *f = &r->frames[frame];

    if (has_far_exit(r, frame, item))
        return REF_LOST_HERE;
    for (int e = 0; e < r->graph->n_edges; e++) {
        if (ref_is_home(r->graph, f->region, e) && f->edges[e] == REF_LOST &&
            ref_source_item(r->graph, e) == item)
            return REF_MENDED;
    }
    return REF_LOST_FOR_GOOD;
}

/* Are the failures of an edge made good by the join it leads to, or handed on? */
static enum ref_loss loss_of_edge(struct ref_run *r, int frame, int edge)
{
    const struct ref_graph *g = r->graph;
    struct ref_frame *f = &r->frames[frame];
    int to = ref_target_item(g, edge);
    const struct ref_join *join;

    if (f->loser[ref_source_item(g, edge)])
        return REF_MENDED; /* for nothing */
    if (to < 0)
        return g->edges[edge].to == REF_END ? REF_LOST_FOR_GOOD : REF_LOST_HERE;
    join = ref_join_of(g, to);
    if (join->on_error != REF_FAIL && has_started(r, frame, to))
        return REF_MENDED;
    if (*ref_item_state(f, to) != REF_OVER || has_started(r, frame, to))
        return REF_LOST_FOR_GOOD;
    return loss_of_item(r, frame, to);
}

static enum ref_loss loss_of_exec(const struct ref_run *r,
                                  const struct ref_exec *x)
{
    if (x->status != REF_FAILED || x->gather || x->handled ||
        x->discard == 1 + x->frame) /* for nothing */
        return REF_MENDED;
    return loss_of_item(r, x->frame, x->node);
}

/* Does a failed element of this map make its join fail? */
bool ref_is_fatal(const struct ref_graph *g, int body)
{
    int join = g->edges[g->regions[body].edge].join;

    return g->nodes[join].join.on_error == REF_FAIL;
}

static enum ref_loss loss_of_child(struct ref_run *r, int frame, int child)
{
    const struct ref_frame *in = &r->frames[child];
    /* One that is not closed was stopped. */
    enum ref_loss loss = in->closed ? in->loss : ref_loss_of_frame(r, child);

    if (r->frames[frame].loser[100 + in->region] || in->late ||
        loss == REF_MENDED)
        return REF_MENDED;
    if (r->graph->regions[in->region].kind == REF_BODY)
        return r->frames[frame].regions[in->region] != REF_OVER &&
                       ref_is_fatal(r->graph, in->region)
                   ? REF_LOST_FOR_GOOD /* whatever stopped the others */
                   : REF_MENDED;       /* the map's edge says it */
    if (loss == REF_LOST_FOR_GOOD)
        return loss;
    return loss_of_item(r, frame, 100 + in->region);
}

/* Did a failure in this frame go unmended? */
enum ref_loss ref_loss_of_frame(struct ref_run *r, int frame)
{
    const struct ref_graph *g = r->graph;
    const struct ref_frame *f = &r->frames[frame];
    enum ref_loss worst = REF_MENDED, loss;

    for (int i = 0; i < r->n_execs; i++) {
        loss = r->execs[i].frame == frame ? loss_of_exec(r, &r->execs[i])
                                          : REF_MENDED;
        worst = loss > worst ? loss : worst;
    }
    for (int e = 0; e < g->n_edges; e++) {
        loss = ref_is_home(g, f->region, e) && ref_lost_by(r, frame, e) > 0
                   ? loss_of_edge(r, frame, e)
                   : REF_MENDED;
        worst = loss > worst ? loss : worst;
    }
    for (int i = frame + 1; i < r->n_frames; i++) {
        loss = r->frames[i].parent == frame ? loss_of_child(r, frame, i)
                                            : REF_MENDED;
        worst = loss > worst ? loss : worst;
    }
    return worst;
}
