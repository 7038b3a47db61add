/* refrun.c -- a model graph, run by the definition.
 *
 * A frame is one going through a region: the graph, one visit of a loop, one
 * element of a map.  It holds what was decided of the edges that are at home
 * there.  Seen from a frame, a loop or a map within is one item, as a node is:
 * it starts when the join of its entry says so, and its edges are decided when
 * it is over.
 *
 * settle() applies the rules wherever they fit, in no particular order, until
 * none fits.  A visit or an element in which nothing is at work then is over,
 * the innermost first, since nothing outside can start anything in it.
 *
 * What races is decided by the order in which calls end, and of one end by the
 * declared order of its edges: a join that does not wait for all its edges
 * starts when enough have been told of, and its losers are those whose end was
 * not told before.
 */
#include "lib/refrun.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void exec_end(struct ref_run *r, int at, enum ref_status status);
static void start_item(struct ref_run *r, int frame, int item,
                       const struct ref_set *past, int n_failed);
static void apply_rules(struct ref_run *r);

/* ---- starting ----------------------------------------------------------- */

static bool same_index(const struct ref_frame *a, const struct ref_frame *b)
{
    return a->n_index == b->n_index &&
           memcmp(a->index, b->index,
                  (size_t)a->n_index * sizeof a->index[0]) == 0;
}

/* How often its node came in its naming scope. */
static int visit_number(const struct ref_run *r, const struct ref_exec *x)
{
    int n = 0;

    for (const struct ref_exec *y = r->execs; y <= x; y++)
        n += y->node == x->node && y->gather == 0 &&
             same_index(&r->frames[y->frame], &r->frames[x->frame]);
    return n;
}

/* How often the map's edge was taken in that scope. */
static int map_number(const struct ref_run *r, int frame, int map)
{
    int edge = r->graph->regions[map].edge, n = 0;

    for (int i = 0; i <= frame; i++)
        n += r->frames[i].edges[edge] == REF_TAKEN &&
             same_index(&r->frames[i], &r->frames[frame]);
    return n;
}

static struct ref_exec *exec_new(struct ref_run *r, int frame, int node,
                                 const struct ref_set *past, int gather)
{
    struct ref_exec *x = &r->execs[r->n_execs++];
    const struct ref_frame *f = &r->frames[frame];
    int n;

    assert(r->n_execs < REF_EXECS); /* ref_play() stops far below */
    *x = (struct ref_exec){
        .frame = frame, .node = node, .past = *past, .gather = gather};
    x->visit = gather != 0 ? map_number(r, frame, gather) : visit_number(r, x);
    x->turn = x->visit + f->item + r->input;
    n = snprintf(x->path, REF_PATH, "%sn%d#%d", r->prefix, node, x->visit);
    for (int i = 0; i < f->n_index; i++)
        n += snprintf(x->path + n, (size_t)(REF_PATH - n), "[%d]", f->index[i]);
    if (gather != 0)
        snprintf(x->path + n, (size_t)(REF_PATH - n), "[*]");
    for (int at = frame, item = ref_exec_item(x);; at = f->parent) {
        f = &r->frames[at];
        if (f->loser[item] && x->discard == 0)
            x->discard = 1 + at;
        if (f->late && x->discard == 0)
            x->discard = 1 + f->parent;
        if (at == 0)
            return x;
        item = 100 + f->region;
    }
}

static struct ref_run *run_new(const struct ref_graph *g, const char *prefix,
                               int input);

static void start_node(struct ref_run *r, int frame, int node,
                       const struct ref_set *past, int n_failed)
{
    const struct ref_graph *sub = r->graph->nodes[node].sub;
    struct ref_exec *x = exec_new(r, frame, node, past, 0);
    char prefix[REF_PATH + 1];

    x->n_failed = n_failed;
    if (ref_conflicts(r, past, frame)) {
        x->conflict = true;
        exec_end(r, r->n_execs - 1, REF_FAILED);
    } else if (sub != NULL) {
        snprintf(prefix, sizeof prefix, "%s/", x->path);
        x->child = run_new(sub, prefix, x->turn);
    }
}

static int frame_new(struct ref_run *r, int parent, int region)
{
    struct ref_frame *f = &r->frames[r->n_frames], *p = &r->frames[parent];

    assert(r->n_frames < REF_FRAMES); /* each has an execution */
    *f = (struct ref_frame){.region = region,
                            .parent = parent,
                            .visit = 1,
                            .n_index = p->n_index,
                            .item = p->item};
    memcpy(f->index, p->index, sizeof f->index);
    return r->n_frames++;
}

static void start_frame(struct ref_run *r, int frame,
                        const struct ref_set *past, int n_failed)
{
    const struct ref_graph *g = r->graph;
    int region = r->frames[frame].region;

    start_item(r, frame, ref_item_of(g, region, g->regions[region].entry), past,
               n_failed);
}

/* The source's `over` is a function of what the source saw and wrote. */
static int n_elements(const struct ref_run *r, const struct ref_edge *map,
                      int source)
{
    struct ref_set past;
    json_t *state;
    bool holds;

    if (source < 0) /* START's condition asks nothing */
        return map->when.ask == REF_ALWAYS ? map->some : map->others;
    past = r->execs[source].past;
    ref_add(&past, source);
    state = ref_state_of(r, &past, r->execs[source].frame);
    holds = ref_holds(&map->when, r->execs[source].turn, state);
    json_decref(state);
    return holds ? map->some : map->others;
}

static void start_map(struct ref_run *r, int parent, int region,
                      const struct ref_set *past)
{
    int edge = r->graph->regions[region].edge;
    int source = r->frames[parent].source[edge];
    int n = n_elements(r, &r->graph->edges[edge], source);
    int item = r->frames[source < 0 ? parent : r->execs[source].frame].item;

    for (int i = 0; i < n; i++) {
        int at = frame_new(r, parent, region);
        struct ref_frame *f = &r->frames[at];

        f->index[f->n_index++] = i;
        f->item = item * 10 + i + 1;
        start_frame(r, at, past, 0);
    }
}

static void start_item(struct ref_run *r, int frame, int item,
                       const struct ref_set *past, int n_failed)
{
    *ref_item_state(&r->frames[frame], item) = REF_STARTED;
    if (item < 100)
        start_node(r, frame, item, past, n_failed);
    else if (r->graph->regions[item - 100].kind == REF_BODY)
        start_map(r, frame, item - 100, past);
    else
        start_frame(r, frame_new(r, frame, item - 100), past, n_failed);
}

/* ---- edges -------------------------------------------------------------- */

/* Those of an item's edges that are at home in the frame and open. */
static void decide_rest(struct ref_run *r, int frame, int item,
                        enum ref_decision as)
{
    struct ref_frame *f = &r->frames[frame];

    for (int e = 0; e < r->graph->n_edges; e++) {
        if (ref_is_home(r->graph, f->region, e) && f->edges[e] == REF_OPEN &&
            ref_source_item(r->graph, e) == item)
            f->edges[e] = (uint8_t)as;
    }
}

void ref_item_over(struct ref_run *r, int frame, int item, bool lost)
{
    *ref_item_state(&r->frames[frame], item) = REF_OVER;
    decide_rest(r, frame, item, lost ? REF_LOST : REF_DEAD);
    r->changed = true;
}

static void take_edge(struct ref_run *r, int frame, int edge, int source)
{
    if (r->frames[frame].edges[edge] != REF_OPEN)
        return;
    r->frames[frame].edges[edge] = REF_TAKEN;
    r->frames[frame].source[edge] = source;
}

/* ---- joins -------------------------------------------------------------- */

struct tally {
    int n[REF_LOST + 1]; /* branches: edges, and elements of maps */
    int total, open;     /* edges */
    bool gathered;       /* a map leads there, which wrote what came of it */
    struct ref_set past;
};

/* An element that took an edge to the join, and is over. */
static bool has_come(const struct ref_run *r, int at)
{
    const struct ref_graph *g = r->graph;
    const struct ref_frame *f = &r->frames[at];

    for (int i = 0;
         i < r->n_execs && f->closed && !f->late && f->loss == REF_MENDED;
         i++) {
        for (int e = 0; e < g->n_edges; e++)
            if (r->execs[i].took[e] && g->edges[e].yields &&
                ref_is_home(g, f->region, e) &&
                ref_is_within(r, r->execs[i].frame, at))
                return true;
    }
    return false;
}

/* So many elements of a map came, are at work, have failed. */
struct elements {
    int came, open, failed;
};

static struct elements elements_of(const struct ref_run *r, int frame,
                                   int region)
{
    struct elements all = {0, 0, 0};

    for (int i = frame + 1; i < r->n_frames; i++) {
        const struct ref_frame *f = &r->frames[i];

        if (f->parent != frame || f->region != region)
            continue;
        all.came += has_come(r, i);
        all.open += !f->closed;
        all.failed += f->closed && !f->late && f->loss != REF_MENDED;
    }
    return all;
}

static const struct ref_exec *gather_of(const struct ref_run *r, int frame,
                                        int region);
static bool may_start(const struct ref_run *r, int frame, int item);

/* The execution that gathered the map behind an edge of a frame; NULL: the edge
 * is another one, or is not decided by what was gathered. */
static const struct ref_exec *gathered(const struct ref_run *r, int frame,
                                       int edge)
{
    const struct ref_edge *e = &r->graph->edges[edge];
    const struct ref_frame *f = &r->frames[frame];
    const struct ref_exec *x = NULL;

    if (e->kind == REF_GATHER && f->edges[edge] == REF_TAKEN)
        x = &r->execs[f->source[edge]];
    else if (e->kind == REF_GATHER && f->edges[edge] != REF_OPEN)
        x = gather_of(r, frame, e->map);
    return x != NULL && x->status == REF_DONE ? x : NULL;
}

/* What a map that gathered counts at its join: each element in a race; else one,
 * if any came or none failed. */
static void count_map(const struct ref_run *r, int item,
                      const struct ref_exec *x, struct tally *t)
{
    struct elements all = elements_of(r, x->frame, x->gather);

    t->n[REF_LOST] += all.failed;
    if (ref_join_of(r->graph, item)->need > 0)
        t->n[REF_TAKEN] += all.came;
    else
        t->n[REF_TAKEN] += all.came > 0 || all.failed == 0;
    ref_add_past(&t->past, r, (int)(x - r->execs));
    t->gathered = true;
}

static void count_edges(const struct ref_run *r, int frame, int item,
                        struct tally *t)
{
    const struct ref_graph *g = r->graph;
    const struct ref_frame *f = &r->frames[frame];

    memset(t, 0, sizeof *t);
    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_exec *x;

        if (!ref_is_home(g, f->region, e) || ref_target_item(g, e) != item)
            continue;
        t->total++;
        t->open += f->edges[e] == REF_OPEN;
        x = gathered(r, frame, e);
        if (x != NULL) {
            count_map(r, item, x, t);
            continue;
        }
        t->n[f->edges[e]]++;
        if (f->edges[e] == REF_TAKEN)
            ref_add_past(&t->past, r, f->source[e]);
    }
}

int ref_lost_by(const struct ref_run *r, int frame, int edge)
{
    const struct ref_exec *x = gathered(r, frame, edge);

    return x != NULL ? elements_of(r, x->frame, x->gather).failed
                     : r->frames[frame].edges[edge] == REF_LOST;
}

/* Have elements of maps at work failed whose join does not bear that? */
static bool has_fatal(const struct ref_run *r, int frame, int item)
{
    const struct ref_graph *g = r->graph;

    for (int e = 0; e < g->n_edges; e++) {
        int map = g->edges[e].map;

        if (g->edges[e].kind == REF_GATHER &&
            ref_is_home(g, r->frames[frame].region, e) &&
            ref_target_item(g, e) == item && ref_is_fatal(g, map) &&
            r->frames[frame].edges[e] == REF_OPEN &&
            elements_of(r, frame, map).failed > 0)
            return true;
    }
    return false;
}

/* ---- what nothing but failures came after ------------------------------- */

static void look_back(const struct ref_run *r, int frame, int item,
                      struct ref_set *past);

static void add_set(struct ref_set *to, const struct ref_set *set)
{
    for (int k = 0; k < REF_EXECS / 64; k++)
        to->w[k] |= set->w[k];
}

/* What committed in a frame, and what the rest there came after. */
static void add_within(const struct ref_run *r, int frame, int in,
                       struct ref_set *past)
{
    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];

        if (!ref_is_within(r, x->frame, in))
            continue;
        add_set(past, &x->past);
        if (x->status == REF_DONE &&
            (x->discard == 0 || !ref_is_within(r, x->discard - 1, frame)))
            ref_add(past, i);
    }
}

/* A loop or a map that failed: its last visit, or all its elements. */
static void look_inside(const struct ref_run *r, int frame, int region,
                        struct ref_set *past)
{
    bool loop = r->graph->regions[region].kind == REF_LOOP;
    int last = -1;

    for (int i = frame + 1; i < r->n_frames; i++) {
        if (r->frames[i].parent != frame || r->frames[i].region != region)
            continue;
        last = i;
        if (!loop)
            add_within(r, frame, i, past);
    }
    if (loop && last >= 0 && r->frames[last].loss != REF_MENDED)
        add_within(r, frame, last, past);
    if (!loop)
        ref_add_past(past, r,
                     r->frames[frame].source[r->graph->regions[region].edge]);
}

/* The source of an edge that was not taken. */
static void look_at(const struct ref_run *r, int frame, int item,
                    struct ref_set *past)
{
    bool began = false;

    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];

        if (!ref_is_in_item(r, x, frame, item))
            continue;
        began = true;
        if (item < 100 && x->status != REF_DONE)
            add_set(past, &x->past);
    }
    if (!began)
        look_back(r, frame, item, past);
    else if (item >= 100)
        look_inside(r, frame, item - 100, past);
}

/* What led to an item of which no branch came: behind what failed, what that
 * came after.  What took another way does not lead there. */
static void look_back(const struct ref_run *r, int frame, int item,
                      struct ref_set *past)
{
    const struct ref_graph *g = r->graph;
    const struct ref_frame *f = &r->frames[frame];

    for (int e = 0; e < g->n_edges; e++) {
        if (!ref_is_home(g, f->region, e) || ref_target_item(g, e) != item)
            continue;
        if (f->edges[e] == REF_TAKEN)
            ref_add_past(past, r, f->source[e]);
        else if (f->edges[e] != REF_TAKEN && g->edges[e].from != REF_START)
            look_at(r, frame, ref_source_item(g, e), past);
    }
}

/* ---- starting at a join -------------------------------------------------- */

/* Every edge is decided, and it is enough, or not. */
static void try_all(struct ref_run *r, int frame, int item,
                    const struct ref_join *join, struct tally *t)
{
    int lost = t->n[REF_LOST];
    bool lists = join->on_error == REF_COLLECT;
    int came = t->n[REF_TAKEN] + (lists ? lost : 0);

    if (t->open > 0)
        return;
    if (came == 0 || (lost > 0 && join->on_error == REF_FAIL)) {
        ref_item_over(r, frame, item, lost > 0);
        return;
    }
    if (t->n[REF_TAKEN] == 0 && !t->gathered)
        look_back(r, frame, item, &t->past);
    start_item(r, frame, item, &t->past, lists ? lost : 0);
}

static void try_some(struct ref_run *r, int frame, int item,
                     const struct ref_join *join, const struct tally *t)
{
    if (may_start(r, frame, item) && t->n[REF_TAKEN] >= join->need) {
        start_item(r, frame, item, &t->past,
                   join->on_error == REF_COLLECT ? t->n[REF_LOST] : 0);
        ref_drop_losers(r, frame, item);
    } else if (t->open == 0) {
        ref_item_over(r, frame, item, t->n[REF_LOST] > 0);
    }
}

static void try_item(struct ref_run *r, int frame, int item)
{
    const struct ref_join *join = ref_join_of(r->graph, item);
    uint8_t *state = ref_item_state(&r->frames[frame], item);
    struct tally t;

    if (*state != REF_WAITING)
        return;
    count_edges(r, frame, item, &t);
    if (t.total == 0)
        return;
    if (join->need == 0)
        try_all(r, frame, item, join, &t);
    else
        try_some(r, frame, item, join, &t);
    r->changed |= *state != REF_WAITING;
}

static void try_frame(struct ref_run *r, int frame)
{
    for (int i = 0; i < 100 + REF_REGIONS; i++) {
        if (!r->frames[frame].closed &&
            ref_is_item(r->graph, r->frames[frame].region, i))
            try_item(r, frame, i);
    }
}

/* ---- the ends of visits, elements, maps --------------------------------- */

/* Did an execution of this visit take an edge out of the loop? */
static bool took_exit(const struct ref_run *r, int frame)
{
    const struct ref_graph *g = r->graph;
    uint32_t set = g->regions[r->frames[frame].region].set;

    for (int i = 0; i < r->n_execs; i++) {
        for (int e = 0; e < g->n_edges; e++) {
            int to = g->edges[e].to;

            if (r->execs[i].took[e] && to >= 0 && !(set >> to & 1) &&
                ref_is_within(r, r->execs[i].frame, frame))
                return true;
        }
    }
    return false;
}

static bool took_back(const struct ref_run *r, int frame)
{
    const struct ref_frame *f = &r->frames[frame];

    for (int e = 0; e < r->graph->n_edges; e++) {
        if (r->graph->edges[e].back && ref_is_home(r->graph, f->region, e) &&
            f->edges[e] == REF_TAKEN)
            return true;
    }
    return false;
}

/* All that happened in a frame and counts outside of it. */
static struct ref_set all_within(const struct ref_run *r, int frame)
{
    struct ref_set all = {{0}};

    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];

        if (ref_is_within(r, x->frame, frame) &&
            (x->discard == 0 || !ref_is_within(r, x->discard - 1, frame)))
            ref_add_past(&all, r, i);
    }
    return all;
}

static void close_visit(struct ref_run *r, int frame)
{
    struct ref_frame *f = &r->frames[frame];
    bool again = f->loss == REF_MENDED && took_back(r, frame);
    struct ref_set past;
    int next;

    if (!again || took_exit(r, frame)) {
        r->loop_error |= again;
        ref_item_over(r, f->parent, 100 + f->region, f->loss != REF_MENDED);
        return;
    }
    past = all_within(r, frame);
    next = frame_new(r, f->parent, f->region);
    r->frames[next].visit = f->visit + 1;
    start_frame(r, next, &past, 0);
}

/* What an element gives: what took an edge to the join. */
static json_t *result_of(const struct ref_run *r, int frame)
{
    const struct ref_graph *g = r->graph;
    json_t *by_node = json_object(), *only = NULL;
    char name[16];

    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];
        bool yields = false;

        for (int e = 0; e < g->n_edges; e++)
            yields |= x->took[e] && g->edges[e].yields &&
                      ref_is_home(g, r->frames[frame].region, e);
        if (!yields || !ref_is_within(r, x->frame, frame))
            continue;
        snprintf(name, sizeof name, "n%d", x->node);
        only = x->output != NULL ? x->output : json_null(); /* on_error */
        json_object_set(by_node, name, only);
    }
    if (json_object_size(by_node) > 1)
        return by_node;
    only = only != NULL ? json_incref(only) : json_null();
    json_decref(by_node);
    return only;
}

/* {results, failed} of a map whose elements are over. */
static json_t *results_of(const struct ref_run *r, int frame, int region)
{
    const struct ref_graph *g = r->graph;
    int edge = g->regions[region].edge;
    enum ref_branch how = g->nodes[g->edges[edge].join].join.on_error;
    json_t *results = json_array(), *failed = json_array();

    for (int i = frame + 1; i < r->n_frames; i++) {
        const struct ref_frame *f = &r->frames[i];

        if (f->parent != frame || f->region != region)
            continue;
        if (f->loss == REF_MENDED && !f->late)
            json_array_append_new(results, result_of(r, i));
        else if (how == REF_COLLECT)
            json_array_append_new(results, json_null());
        if (f->loss != REF_MENDED && !f->late && how == REF_COLLECT)
            json_array_append_new(failed,
                                  json_integer(f->index[f->n_index - 1]));
    }
    return json_pack("{s:o, s:o}", "results", results, "failed", failed);
}

/* Nothing more happens in a map. */
static bool is_map_over(const struct ref_run *r, int frame, int region)
{
    return elements_of(r, frame, region).open == 0;
}

/* Is the edge to its join taken?  If not: is it lost, or dead? */
static bool brings_something(const struct ref_run *r, int frame, int region,
                             bool *lost)
{
    const struct ref_graph *g = r->graph;
    struct elements all = elements_of(r, frame, region);
    const struct ref_join *join =
        &g->nodes[g->edges[g->regions[region].edge].join].join;
    bool counted = false;

    for (int e = 0; e < g->n_edges; e++)
        counted |= g->edges[e].kind == REF_GATHER &&
                   g->edges[e].map == region && !g->edges[e].back &&
                   join->need > 0;
    *lost = all.failed > 0 && all.came == 0 &&
            (counted || join->on_error != REF_COLLECT);
    return all.came > 0 || (!counted && !*lost);
}

/* A map ends when it is told to: it is not as if it called anybody, but it may
 * win or lose a race. */
static void end_gather(struct ref_run *r, int at)
{
    struct ref_exec *x = &r->execs[at];
    int frame = x->frame, region = x->gather;

    bool lost;

    x->status = ref_conflicts(r, &x->past, frame) ? REF_FAILED : REF_DONE;
    lost = x->status == REF_FAILED;
    if (!lost) {
        struct ref_write *w = &x->writes[x->n_writes++];

        *w = (struct ref_write){.root = "artifacts", .cell = REF_RESULTS};
        snprintf(w->key, sizeof w->key, "n%d", x->node);
        w->value = results_of(r, frame, region);
        for (int e = 0; e < r->graph->n_edges; e++) {
            if (r->graph->edges[e].kind == REF_GATHER &&
                r->graph->edges[e].map == region &&
                brings_something(r, frame, region, &lost))
                take_edge(r, frame, e, at);
        }
    }
    if (is_map_over(r, frame, region))
        ref_item_over(r, frame, 100 + region, lost);
    else if (x->status == REF_FAILED)
        decide_rest(r, frame, 100 + region, REF_LOST);
}

/* What gathers a map; NULL: nothing yet. */
static const struct ref_exec *gather_of(const struct ref_run *r, int frame,
                                        int region)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].frame == frame && r->execs[i].gather == region)
            return &r->execs[i];
    }
    return NULL;
}

/* It comes after all elements that are over. */
static void gather(struct ref_run *r, int frame, int region)
{
    const struct ref_graph *g = r->graph;
    struct ref_set past = {{0}};

    ref_add_past(&past, r, r->frames[frame].source[g->regions[region].edge]);
    for (int i = frame + 1; i < r->n_frames; i++) {
        struct ref_set all;

        if (r->frames[i].parent != frame || r->frames[i].region != region ||
            r->frames[i].late)
            continue;
        all = all_within(r, i);
        for (int k = 0; k < REF_EXECS / 64; k++)
            past.w[k] |= all.w[k];
    }
    exec_new(r, frame, g->regions[region].entry, &past, region);
    r->changed = true;
}

/* Its edge to the join, if that is a race which counts its elements. */
static int race_edge(const struct ref_run *r, int frame, int region)
{
    const struct ref_graph *g = r->graph;

    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].kind == REF_GATHER && g->edges[e].map == region &&
            !g->edges[e].back && g->nodes[g->edges[e].to].join.need > 0 &&
            ref_is_home(g, r->frames[frame].region, e))
            return e;
    }
    return -1;
}

/* What came of a map, which may be at work, to a race. */
static int came_to_race(const struct ref_run *r, int frame, int region)
{
    struct elements all = elements_of(r, frame, region);

    return r->frames[frame].regions[region] != REF_STARTED ||
                   (all.failed > 0 && ref_is_fatal(r->graph, region))
               ? 0
               : all.came;
}

/* Edges to an item that were taken, and elements of maps at work. */
static int came_to_item(const struct ref_run *r, int frame, int item)
{
    const struct ref_graph *g = r->graph;
    const struct ref_frame *f = &r->frames[frame];
    struct tally t;
    int n;

    count_edges(r, frame, item, &t);
    n = t.n[REF_TAKEN];
    for (int e = 0; e < g->n_edges; e++)
        if (g->edges[e].kind == REF_GATHER && ref_is_home(g, f->region, e) &&
            ref_target_item(g, e) == item && f->edges[e] == REF_OPEN)
            n += came_to_race(r, frame, g->edges[e].map);
    return n;
}

/* Does no branch that failed keep it from starting? */
static bool may_start(const struct ref_run *r, int frame, int item)
{
    struct tally t;

    count_edges(r, frame, item, &t);
    return ref_join_of(r->graph, item)->on_error != REF_FAIL ||
           (t.n[REF_LOST] == 0 && !has_fatal(r, frame, item));
}

/* Enough elements came to a race: who is not over has lost it. */
static void try_win(struct ref_run *r, int frame, int region)
{
    const struct ref_graph *g = r->graph;
    struct ref_frame *f = &r->frames[frame];
    int edge = race_edge(r, frame, region), item;
    const struct ref_join *join;

    if (edge < 0 || f->won[region] || f->edges[edge] != REF_OPEN ||
        came_to_race(r, frame, region) == 0 || is_map_over(r, frame, region))
        return;
    item = ref_target_item(g, edge);
    join = ref_join_of(g, item);
    if (*ref_item_state(f, item) != REF_WAITING ||
        came_to_item(r, frame, item) < join->need || !may_start(r, frame, item))
        return;
    f->won[region] = true;
    for (int i = frame + 1; i < r->n_frames; i++) {
        if (r->frames[i].parent == frame && r->frames[i].region == region &&
            !r->frames[i].closed)
            ref_drop_element(r, frame, i, join->finish);
    }
    gather(r, frame, region);
}

/* A map all of whose elements are over gathers. */
static void try_map(struct ref_run *r, int frame, int region)
{
    struct ref_frame *f = &r->frames[frame];
    const struct ref_exec *x = gather_of(r, frame, region);
    bool lost;

    if (f->regions[region] != REF_STARTED)
        return;
    if (x == NULL)
        try_win(r, frame, region);
    if (!is_map_over(r, frame, region) || f->won[region]) {
        if (x != NULL && x->status != REF_LIVE && is_map_over(r, frame, region))
            ref_item_over(r, frame, 100 + region, x->status == REF_FAILED);
        return;
    }
    lost = elements_of(r, frame, region).failed > 0;
    if (x != NULL)
        return;
    if (lost && ref_is_fatal(r->graph, region))
        ref_item_over(r, frame, 100 + region, lost);
    else
        gather(r, frame, region);
}

static bool is_quiet(const struct ref_run *r, int frame)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].status == REF_LIVE &&
            ref_is_within(r, r->execs[i].frame, frame))
            return false;
    }
    return true;
}

static void close_frame(struct ref_run *r, int frame)
{
    struct ref_frame *f = &r->frames[frame];

    f->closed = true;
    f->loss = ref_loss_of_frame(r, frame);
    r->changed = true;
    if (r->graph->regions[f->region].kind == REF_LOOP)
        close_visit(r, frame);
}

/* ---- settling ----------------------------------------------------------- */

static bool has_failed(struct ref_run *r)
{
    return ref_loss_of_frame(r, 0) != REF_MENDED || r->loop_error ||
           ref_conflicts_at_end(r);
}

static void try_children(struct ref_run *r)
{
    for (int i = 0; i < r->n_execs && !r->stopped; i++) {
        struct ref_exec *x = &r->execs[i];

        if (x->status == REF_LIVE && x->child != NULL &&
            ref_n_live(x->child) == 0)
            exec_end(r, i, has_failed(x->child) ? REF_FAILED : REF_DONE);
    }
}

static void try_everything(struct ref_run *r)
{
    for (int i = 0; i < r->n_frames && !r->stopped; i++) {
        if (!r->frames[i].closed)
            try_frame(r, i);
        for (int m = 1; m < r->graph->n_regions; m++) {
            if (r->graph->regions[m].kind == REF_BODY &&
                r->graph->regions[m].parent == r->frames[i].region &&
                !r->frames[i].closed)
                try_map(r, i, m);
        }
    }
    try_children(r);
}

static void apply_rules(struct ref_run *r)
{
    do {
        r->changed = false;
        try_everything(r);
    } while (r->changed);
}

static void settle(struct ref_run *r)
{
    do {
        apply_rules(r);
        /* Inner frames are younger. */
        for (int i = r->n_frames; --i > 0 && !r->changed && !r->stopped;) {
            if (!r->frames[i].closed && is_quiet(r, i))
                close_frame(r, i);
        }
    } while (r->changed);
}

void ref_stop(struct ref_run *r)
{
    r->stopped = true;
    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].status == REF_LIVE)
            ref_cancel(&r->execs[i]);
    }
}

/* ---- ends of executions ------------------------------------------------- */

static void put(struct ref_exec *x, const char *root, const char *key, int cell,
                json_t *value)
{
    struct ref_write *w = &x->writes[x->n_writes++];

    *w = (struct ref_write){.root = root, .cell = cell, .value = value};
    snprintf(w->key, sizeof w->key, "%s", key);
}

/* scratch.log: its own name, or all that a subgraph wrote there. */
static json_t *log_of(const struct ref_run *r, const struct ref_exec *x)
{
    int body = ref_body(r->graph, r->graph->nodes[x->node].region);
    json_t *state, *log;
    char name[48];

    if (x->child != NULL) {
        state = ref_state_at_end(x->child);
        log = json_object_get(json_object_get(state, "scratch"), "log");
        log = log != NULL ? json_incref(log) : json_array();
        json_decref(state);
        return log;
    }
    if (body != 0)
        snprintf(name, sizeof name, "n%d#%d.%d", x->node, x->visit,
                 r->frames[x->frame].item);
    else
        snprintf(name, sizeof name, "n%d#%d", x->node, x->visit);
    return json_pack("[s]", name);
}

/* What it says of where it goes stands in its output, too. */
static void set_target(const struct ref_graph *g, const struct ref_exec *x,
                       json_t *out)
{
    const struct ref_node *n = &g->nodes[x->node];
    char name[16] = "";

    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];

        if (edge->from != x->node || edge->kind != REF_TARGET ||
            (n->rescued && ref_holds(&n->fails, x->turn, NULL)))
            continue;
        if (ref_holds(&edge->when, x->turn, NULL))
            snprintf(name, sizeof name, "n%d", edge->to);
        json_object_set_new(out, "goto", json_string(name));
    }
}

static json_t *output_of(const struct ref_run *r, const struct ref_exec *x,
                         const json_t *view)
{
    const struct ref_node *n = &r->graph->nodes[x->node];
    json_t *out, *state;

    if (x->child != NULL) {
        state = ref_state_at_end(x->child);
        out = json_incref(json_object_get(state, "artifacts"));
        json_decref(state);
        return out;
    }
    out = json_pack(
        "{s:o, s:I}", "saw", json_deep_copy(json_object_get(view, "scratch")),
        "n", (json_int_t)json_object_size(json_object_get(view, "artifacts")));
    if (n->fails.ask != REF_NEVER)
        json_object_set_new(out, "times", json_integer(0));
    set_target(r->graph, x, out);
    if (n->join.on_error == REF_COLLECT &&
        !(n->rescued && ref_holds(&n->fails, x->turn, NULL)))
        json_object_set_new(out, "failed", json_integer(x->n_failed));
    return out;
}

/* Its output, and what it writes. */
static void commit(const struct ref_run *r, struct ref_exec *x,
                   const json_t *view)
{
    const struct ref_graph *g = r->graph;
    const struct ref_node *n = &g->nodes[x->node];
    char key[16];

    x->output = output_of(r, x, view);
    snprintf(key, sizeof key, "n%d", x->node);
    put(x, "artifacts", key, REF_ARTIFACT, json_incref(x->output));
    put(x, "scratch", "log", REF_LOG, log_of(r, x));
    for (int c = 0; c < REF_CELLS; c++) {
        if (n->writes[c])
            put(x, "scratch", ref_cell_name(c), c,
                ref_cell_value(c, x->node, n, x->turn));
    }
}

/* The edge that its executor names; -1: none.  Who failed names nothing. */
static int target_of(const struct ref_graph *g, const struct ref_exec *x)
{
    const struct ref_node *n = &g->nodes[x->node];

    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].from == x->node && g->edges[e].kind == REF_TARGET &&
            ref_holds(&g->edges[e].when, x->turn, NULL) &&
            !(n->rescued && ref_holds(&n->fails, x->turn, NULL)))
            return e;
    }
    return -1;
}

/* Which edges it takes. */
static void choose(const struct ref_graph *g, struct ref_exec *x,
                   const json_t *after)
{
    bool done = x->status == REF_DONE, routed = false;
    int target = done ? target_of(g, x) : -1;

    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];
        bool yes;

        if (edge->from != x->node)
            continue;
        x->took[e] = e == target;
        if (target >= 0)
            continue;
        yes = ref_holds(&edge->when, x->turn, after);
        switch (edge->kind) {
        case REF_GATHER:
            break;
        case REF_ERROR:
            x->handled |= !done;
            x->took[e] = !done;
            break;
        case REF_MAP:
        case REF_ELSE: /* nothing is ever found */
            x->took[e] = done;
            break;
        case REF_FIND:
        case REF_TARGET:
            break;
        case REF_STATIC:
        case REF_WHEN:
        case REF_ARM:
            x->took[e] = done && yes;
            break;
        case REF_ROUTE:
            x->took[e] = done && yes && !routed;
            routed |= yes;
            break;
        case REF_DEFAULT:
            x->took[e] = done && !routed;
            break;
        }
    }
}

/* Is it written at its node?  Those come before the edges that stand apart. */
static bool is_nodes_own(const struct ref_edge *e)
{
    return e->kind == REF_ROUTE || e->kind == REF_DEFAULT ||
           e->kind == REF_ERROR || e->kind == REF_TARGET;
}

/* One after another, and each with all that follows from it.  Exits of loops
 * that are not taken stay open. */
static void decide_edges(struct ref_run *r, int at)
{
    const struct ref_graph *g = r->graph;
    const struct ref_exec *x = &r->execs[at];
    bool lost = x->status == REF_FAILED && !x->handled;

    *ref_item_state(&r->frames[x->frame], x->node) = REF_OVER;
    for (int own = 1; own >= 0; own--) {
        for (int e = 0; e < g->n_edges && !r->stopped; e++) {
            const struct ref_edge *edge = &g->edges[e];

            if (edge->from != x->node || edge->kind == REF_GATHER ||
                is_nodes_own(edge) != own)
                continue;
            if (x->took[e])
                take_edge(r, ref_frame_of(r, x->frame, edge->home), e, at);
            else if (r->frames[x->frame].region == edge->home)
                r->frames[x->frame].edges[e] = lost ? REF_LOST : REF_DEAD;
            apply_rules(r);
        }
    }
    ref_item_over(r, x->frame, x->node, lost);
}

/* Does this end of an execution end everything? */
static bool ends_all(const struct ref_run *r, const struct ref_exec *x)
{
    const struct ref_graph *g = r->graph;

    if (x->discard != 0)
        return false;
    if (x->status == REF_FAILED)
        return g->fail_fast && !x->handled;
    for (int e = 0; e < g->n_edges; e++) {
        if (g->end_first && x->took[e] && g->edges[e].to == REF_END)
            return true;
    }
    return false;
}

static void exec_end(struct ref_run *r, int at, enum ref_status status)
{
    struct ref_exec *x = &r->execs[at];
    json_t *state = ref_state_of(r, &x->past, x->frame);

    x->status = status;
    if (status == REF_DONE) {
        commit(r, x, state);
        for (int i = 0; i < x->n_writes; i++)
            ref_fold(state, &x->writes[i]);
    }
    choose(r->graph, x, state);
    json_decref(state);
    if (ends_all(r, x))
        ref_stop(r);
    decide_edges(r, at);
}

/* ---- from outside ------------------------------------------------------- */

static struct ref_run *run_new(const struct ref_graph *g, const char *prefix,
                               int input)
{
    struct ref_run *r = calloc(1, sizeof *r);

    r->graph = g;
    r->input = input;
    snprintf(r->prefix, sizeof r->prefix, "%s", prefix);
    r->n_frames = 1;
    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].from != REF_START)
            continue;
        if (g->edges[e].kind == REF_MAP ||
            ref_holds(&g->edges[e].when, 0, NULL))
            take_edge(r, 0, e, -1);
        else
            r->frames[0].edges[e] = REF_DEAD;
        apply_rules(r);
    }
    settle(r);
    return r;
}

struct ref_run *ref_start(const struct ref_graph *g)
{
    return run_new(g, "1.0/", 0);
}

void ref_free(struct ref_run *r)
{
    for (int i = 0; i < r->n_execs; i++) {
        struct ref_exec *x = &r->execs[i];

        if (x->child != NULL)
            ref_free(x->child);
        json_decref(x->output);
        for (int k = 0; k < x->n_writes; k++)
            json_decref(x->writes[k].value);
    }
    free(r);
}

static void end_call(struct ref_run *r, int at)
{
    const struct ref_exec *x = &r->execs[at];
    const struct ref_node *n = &r->graph->nodes[x->node];
    bool fails = !n->rescued && ref_holds(&n->fails, x->turn, NULL);

    if (x->gather != 0)
        end_gather(r, at);
    else
        exec_end(r, at, fails ? REF_FAILED : REF_DONE);
}

const char *ref_end_call(struct ref_run *r, const char *path)
{
    for (int i = 0; i < r->n_execs; i++) {
        struct ref_exec *x = &r->execs[i];
        size_t n = strlen(x->path);
        const char *why = NULL;

        if (strncmp(x->path, path, n) != 0)
            continue;
        if (path[n] == '/' && x->child != NULL)
            why = ref_end_call(x->child, path);
        else if (path[n] != '\0')
            continue;
        else if (x->child == NULL && !x->conflict && x->status != REF_LIVE)
            return "must not be running any more";
        else if (x->child == NULL && x->status == REF_LIVE)
            end_call(r, i);
        settle(r);
        return why;
    }
    return "must not be running";
}

int ref_n_live(const struct ref_run *r)
{
    int n = 0;

    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];

        if (x->status == REF_LIVE)
            n += x->child != NULL ? ref_n_live(x->child) : 1;
    }
    return n;
}

/* The path of the call that is `pick` others after the first. */
static const char *live_path(const struct ref_run *r, int pick)
{
    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];
        int n = x->child != NULL ? ref_n_live(x->child) : 1;

        if (x->status != REF_LIVE)
            continue;
        if (pick < n)
            return x->child != NULL ? live_path(x->child, pick) : x->path;
        pick -= n;
    }
    abort(); /* ref_n_live() counted them */
}

static int n_execs(const struct ref_run *r)
{
    int n = r->n_execs;

    for (int i = 0; i < r->n_execs; i++)
        n += r->execs[i].child != NULL ? n_execs(r->execs[i].child) : 0;
    return n;
}

bool ref_play(struct ref_run *r, uint32_t *seed, int most)
{
    int n;

    while ((n = ref_n_live(r)) > 0 && n_execs(r) <= most) {
        *seed = *seed * 1664525u + 1013904223u;
        ref_end_call(r, live_path(r, (int)((*seed >> 8) % (uint32_t)n)));
    }
    return n_execs(r) <= most;
}

/* ---- the outcome -------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *ref_line(const char *what, const char *how, const json_t *value)
{
    char *json =
        value != NULL
            ? json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY)
            : NULL;
    size_t n = strlen(what) + strlen(how) + (json ? strlen(json) : 0) + 4;
    char *out = malloc(n);

    snprintf(out, n, "%s %s %s\n", what, how, json ? json : "");
    free(json);
    return out;
}

char *ref_lines(char **lines, size_t n)
{
    size_t size = 1, at = 0;
    char *out;

    qsort(lines, n, sizeof lines[0], by_text);
    for (size_t i = 0; i < n; i++)
        size += strlen(lines[i]);
    out = malloc(size);
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s", lines[i]);
        free(lines[i]);
    }
    out[at] = '\0';
    return out;
}

static size_t exec_lines(const struct ref_run *r, char **lines)
{
    static const char *const words[] = {"running", "done", "failed"};
    size_t n = 0;

    for (int i = 0; i < r->n_execs; i++) {
        const struct ref_exec *x = &r->execs[i];

        if (x->child != NULL)
            n += exec_lines(x->child, lines + n);
        if (!x->gather && x->status != REF_CANCELLED)
            lines[n++] = ref_line(x->path, words[x->status], x->output);
    }
    return n;
}

char *ref_outcome(struct ref_run *r)
{
    char **lines = malloc(((size_t)n_execs(r) + 3) * sizeof lines[0]), *out;
    size_t n = exec_lines(r, lines);
    json_t *state = ref_state_at_end(r);

    lines[n++] = ref_line("~scratch", "", json_object_get(state, "scratch"));
    lines[n++] =
        ref_line("~artifacts", "", json_object_get(state, "artifacts"));
    lines[n++] = ref_line("~run", has_failed(r) ? "failed" : "completed", NULL);
    out = ref_lines(lines, n);
    free(lines);
    json_decref(state);
    return out;
}
