/* refrun.c -- a model graph, run by the definition.
 *
 * A frame is one going through a region: the graph, or one visit of a loop.  It
 * holds what was decided of the edges that are at home there.  Seen from a
 * frame, a loop within is one item, as a node is: it starts when the join of
 * its entry says so, and is over when a visit ends without a back edge taken.
 *
 * settle() applies the rules wherever they fit, in no particular order, until
 * none fits.  A visit in which nothing is at work then is over, the innermost
 * first, since nothing outside can start anything in it.
 */
#include "lib/refgraph.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXECS = 256, FRAMES = 256, WRITES = REF_CELLS + 2, PATH = 64 };

enum status { LIVE, DONE, FAILED };
enum decision { OPEN, TAKEN, DEAD, LOST };
enum item_state { WAITING, STARTED, SKIPPED, SKIPPED_LOST };

struct set {
    uint64_t w[EXECS / 64];
};

struct exec {
    int frame, node, visit;
    enum status status;
    bool handled; /* it failed, and on_error led on */
    struct set past;
    bool took[REF_EDGES];
    json_t *output;
    struct ref_write writes[WRITES];
    int n_writes;
    char path[PATH];
};

struct frame {
    int region, parent, visit;
    bool closed;
    uint8_t edges[REF_EDGES]; /* enum decision, of those at home here */
    int source[REF_EDGES];    /* the execution that took it */
    uint8_t nodes[REF_NODES]; /* enum item_state */
    uint8_t loops[REF_REGIONS];
};

struct ref_run {
    const struct ref_graph *graph;
    struct exec execs[EXECS];
    int n_execs;
    struct frame frames[FRAMES];
    int n_frames;
    bool loop_error; /* a back edge and an exit in one visit */
    bool changed;    /* some rule did something */
};

/* ---- sets --------------------------------------------------------------- */

static bool has(const struct set *s, int i)
{
    return s->w[i / 64] >> i % 64 & 1;
}

static void add(struct set *s, int i)
{
    s->w[i / 64] |= (uint64_t)1 << i % 64;
}

/* x and all that it came after. */
static void add_with_past(struct set *s, const struct ref_run *r, int x)
{
    for (int i = 0; i < EXECS / 64; i++)
        s->w[i] |= r->execs[x].past.w[i];
    add(s, x);
}

/* ---- state -------------------------------------------------------------- */

/* Does `a` come before `b` where neither must? */
static bool is_less(const struct exec *a, const struct exec *b)
{
    return a->node != b->node ? a->node < b->node : a->visit < b->visit;
}

/* Have all commits of `set` that x comes after been listed? */
static bool is_next(const struct ref_run *r, const struct set *set,
                    const struct set *listed, int x)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (has(set, i) && has(&r->execs[x].past, i) && !has(listed, i))
            return false;
    }
    return true;
}

/* The commits of `set` in the least topological order. */
static int order(const struct ref_run *r, const struct set *all, int list[])
{
    struct set set = {{0}}, listed = {{0}};
    int n = 0;

    for (int i = 0; i < r->n_execs; i++) {
        if (has(all, i) && r->execs[i].status == DONE)
            add(&set, i);
    }
    for (;;) {
        int best = -1;

        for (int i = 0; i < r->n_execs; i++) {
            if (has(&set, i) && !has(&listed, i) &&
                (best < 0 || is_less(&r->execs[i], &r->execs[best])) &&
                is_next(r, &set, &listed, i))
                best = i;
        }
        if (best < 0)
            return n;
        add(&listed, best);
        list[n++] = best;
    }
}

static json_t *fold(const struct ref_run *r, const struct set *set)
{
    json_t *state = json_pack("{s:{}, s:{}}", "scratch", "artifacts");
    int list[EXECS], n = order(r, set, list);

    for (int i = 0; i < n; i++) {
        const struct exec *x = &r->execs[list[i]];

        for (int k = 0; k < x->n_writes; k++)
            ref_fold(state, &x->writes[k]);
    }
    return state;
}

static bool both_write(const struct exec *a, const struct exec *b)
{
    for (int i = 0; i < a->n_writes; i++) {
        for (int k = 0; k < b->n_writes; k++) {
            if (ref_cell_conflicts(a->writes[i].cell) &&
                strcmp(a->writes[i].root, b->writes[k].root) == 0 &&
                strcmp(a->writes[i].key, b->writes[k].key) == 0)
                return true;
        }
    }
    return false;
}

/* Do two of the commits in it write one path, neither after the other? */
static bool conflicts(const struct ref_run *r, const struct set *set)
{
    for (int a = 0; a < r->n_execs; a++) {
        for (int b = 0; b < a; b++) {
            const struct exec *x = &r->execs[a], *y = &r->execs[b];

            if (has(set, a) && has(set, b) && x->status == DONE &&
                y->status == DONE && !has(&x->past, b) && !has(&y->past, a) &&
                both_write(x, y))
                return true;
        }
    }
    return false;
}

static bool holds(const struct ref_cond *c, const struct exec *x,
                  const json_t *state)
{
    size_t n = json_array_size(
        json_object_get(json_object_get(state, "scratch"), "log"));

    switch (c->ask) {
    case REF_ALWAYS:
        return true;
    case REF_NEVER:
        return false;
    case REF_TURN:
        return x->visit % c->m == c->r;
    case REF_TURN_NOT:
        return x->visit % c->m != c->r;
    case REF_LOG:
        return (int)(n % (size_t)c->m) == c->r;
    }
    abort();
}

/* ---- items -------------------------------------------------------------- */

/* What a node is, seen from a region around it: itself, or (100 and more) the
 * region within that has it. */
static int item_of(const struct ref_graph *g, int region, int node)
{
    int in = g->nodes[node].region;

    if (in == region)
        return node;
    while (g->regions[in].parent != region)
        in = g->regions[in].parent;
    return 100 + in;
}

static int source_item(const struct ref_graph *g, int region, int edge)
{
    int from = g->edges[edge].from;

    return from == REF_START ? REF_START : item_of(g, region, from);
}

static uint8_t *item_state(struct frame *f, int item)
{
    return item < 100 ? &f->nodes[item] : &f->loops[item - 100];
}

/* Is frame `in` the frame `of`, or inside it? */
static bool is_within(const struct ref_run *r, int in, int of)
{
    while (in > of)
        in = r->frames[in].parent;
    return in == of;
}

/* The frame around (or at) `at` in which a region's edges are. */
static int frame_of(const struct ref_run *r, int at, int region)
{
    while (r->frames[at].region != region)
        at = r->frames[at].parent;
    return at;
}

static void start_loop(struct ref_run *r, int parent, int region, int visit,
                       const struct set *past);
static void exec_end(struct ref_run *r, int at, enum status status);

static void start_node(struct ref_run *r, int frame, int node,
                       const struct set *past)
{
    struct exec *x = &r->execs[r->n_execs++];

    assert(r->n_execs < EXECS); /* ref_play() stops far below */
    *x = (struct exec){.frame = frame, .node = node, .past = *past};
    for (struct exec *y = r->execs; y <= x; y++)
        x->visit += y->node == node;
    snprintf(x->path, PATH, "1.0/n%d#%d", node, x->visit);
    r->frames[frame].nodes[node] = STARTED;
    if (conflicts(r, past))
        exec_end(r, r->n_execs - 1, FAILED);
}

static void start_item(struct ref_run *r, int frame, int item,
                       const struct set *past)
{
    if (item < 100)
        start_node(r, frame, item, past);
    else
        start_loop(r, frame, item - 100, 1, past);
}

static void start_loop(struct ref_run *r, int parent, int region, int visit,
                       const struct set *past)
{
    struct frame *f = &r->frames[r->n_frames];

    assert(r->n_frames < FRAMES); /* each has an execution */
    *f = (struct frame){.region = region, .parent = parent, .visit = visit};
    r->frames[parent].loops[region] = STARTED;
    start_item(r, r->n_frames++, r->graph->regions[region].entry, past);
}

/* Those of an item's edges that are at home in the frame and open. */
static void decide_rest(struct ref_run *r, int frame, int item,
                        enum decision as)
{
    const struct ref_graph *g = r->graph;
    struct frame *f = &r->frames[frame];

    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].home == f->region && f->edges[e] == OPEN &&
            source_item(g, f->region, e) == item)
            f->edges[e] = (uint8_t)as;
    }
}

static void skip_item(struct ref_run *r, int frame, int item, bool lost)
{
    *item_state(&r->frames[frame], item) = lost ? SKIPPED_LOST : SKIPPED;
    decide_rest(r, frame, item, lost ? LOST : DEAD);
}

/* ---- rules -------------------------------------------------------------- */

/* A join: every edge decided, one taken, none lost. */
static void try_item(struct ref_run *r, int frame, int item)
{
    const struct ref_graph *g = r->graph;
    struct frame *f = &r->frames[frame];
    int n[LOST + 1] = {0}, total = 0;
    struct set past = {{0}};

    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].home != f->region || g->edges[e].back ||
            g->edges[e].to < 0 || item_of(g, f->region, g->edges[e].to) != item)
            continue;
        total++;
        n[f->edges[e]]++;
        if (f->edges[e] == TAKEN && f->source[e] >= 0)
            add_with_past(&past, r, f->source[e]);
    }
    if (total == 0 || n[OPEN] > 0)
        return;
    r->changed = true;
    if (n[LOST] > 0 || n[TAKEN] == 0)
        skip_item(r, frame, item, n[LOST] > 0);
    else
        start_item(r, frame, item, &past);
}

static void try_frame(struct ref_run *r, int frame)
{
    const struct ref_graph *g = r->graph;
    int region = r->frames[frame].region;

    for (int i = 0; i < g->n; i++) {
        if (g->nodes[i].region == region &&
            r->frames[frame].nodes[i] == WAITING)
            try_item(r, frame, i);
    }
    for (int i = 1; i < g->n_regions; i++) {
        if (g->regions[i].parent == region &&
            r->frames[frame].loops[i] == WAITING)
            try_item(r, frame, 100 + i);
    }
}

/* Did an execution of this visit take an edge out of the loop? */
static bool took_exit(const struct ref_run *r, int frame)
{
    const struct ref_graph *g = r->graph;
    uint32_t set = g->regions[r->frames[frame].region].set;

    for (int i = 0; i < r->n_execs; i++) {
        for (int e = 0; e < g->n_edges; e++) {
            int to = g->edges[e].to;

            if (r->execs[i].took[e] && to >= 0 && !(set >> to & 1) &&
                is_within(r, r->execs[i].frame, frame))
                return true;
        }
    }
    return false;
}

static bool took_back(const struct ref_run *r, int frame)
{
    const struct frame *f = &r->frames[frame];

    for (int e = 0; e < r->graph->n_edges; e++) {
        if (r->graph->edges[e].back && r->graph->edges[e].home == f->region &&
            f->edges[e] == TAKEN)
            return true;
    }
    return false;
}

/* Nothing is at work in a visit, and nothing can come to be. */
static void close_visit(struct ref_run *r, int frame)
{
    struct frame *f = &r->frames[frame];
    struct set all = {{0}};
    bool lost = false;

    for (int i = 0; i < r->n_execs; i++) {
        const struct exec *x = &r->execs[i];

        if (!is_within(r, x->frame, frame))
            continue;
        add_with_past(&all, r, i);
        lost |= x->status == FAILED && !x->handled;
    }
    f->closed = true;
    r->changed = true;
    if (!lost && took_back(r, frame) && !took_exit(r, frame)) {
        start_loop(r, f->parent, f->region, f->visit + 1, &all);
        return;
    }
    r->loop_error |= !lost && took_back(r, frame);
    decide_rest(r, f->parent, 100 + f->region, lost ? LOST : DEAD);
}

static bool is_quiet(const struct ref_run *r, int frame)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].status == LIVE &&
            is_within(r, r->execs[i].frame, frame))
            return false;
    }
    return true;
}

static void settle(struct ref_run *r)
{
    do {
        do {
            r->changed = false;
            for (int i = 0; i < r->n_frames; i++) {
                if (!r->frames[i].closed)
                    try_frame(r, i);
            }
        } while (r->changed);
        /* Inner frames are younger. */
        for (int i = r->n_frames; --i > 0 && !r->changed;) {
            if (!r->frames[i].closed && is_quiet(r, i))
                close_visit(r, i);
        }
    } while (r->changed);
}

/* ---- ends of executions ------------------------------------------------- */

static void put(struct exec *x, const char *root, const char *key, int cell,
                json_t *value)
{
    struct ref_write *w = &x->writes[x->n_writes++];

    *w = (struct ref_write){.root = root, .cell = cell, .value = value};
    snprintf(w->key, sizeof w->key, "%s", key);
}

/* Its output, and what it writes. */
static void commit(struct exec *x, const struct ref_node *n, json_t *view)
{
    char key[16];

    x->output = json_pack("{s:o}", "saw",
                          json_deep_copy(json_object_get(view, "scratch")));
    if (n->fails.ask != REF_NEVER)
        json_object_set_new(x->output, "times", json_integer(0));
    snprintf(key, sizeof key, "n%d", x->node);
    put(x, "artifacts", key, REF_CELLS + 1, json_incref(x->output));
    put(x, "scratch", "log", REF_CELLS,
        json_pack("[s]", strchr(x->path, '/') + 1));
    for (int c = 0; c < REF_CELLS; c++) {
        if (n->writes[c])
            put(x, "scratch", ref_cell_name(c), c,
                ref_cell_value(c, x->node, n, x->visit));
    }
}

/* Which edges it takes. */
static void choose(const struct ref_graph *g, struct exec *x,
                   const json_t *after)
{
    bool routed = false;

    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];
        bool yes = holds(&edge->when, x, after);

        if (edge->from != x->node)
            continue;
        switch (edge->kind) {
        case REF_ERROR:
            x->took[e] = x->status == FAILED;
            break;
        case REF_STATIC:
        case REF_WHEN:
            x->took[e] = x->status == DONE && yes;
            break;
        case REF_ROUTE:
            x->took[e] = x->status == DONE && yes && !routed;
            routed |= yes;
            break;
        case REF_DEFAULT:
            x->took[e] = x->status == DONE && !routed;
            break;
        }
        x->handled |= edge->kind == REF_ERROR && x->status == FAILED;
    }
}

static void decide_edges(struct ref_run *r, int at)
{
    const struct ref_graph *g = r->graph;
    const struct exec *x = &r->execs[at];
    bool lost = x->status == FAILED && !x->handled;

    for (int e = 0; e < g->n_edges; e++) {
        struct frame *f;

        if (g->edges[e].from != x->node)
            continue;
        f = &r->frames[frame_of(r, x->frame, g->edges[e].home)];
        if (x->took[e] && f->edges[e] == OPEN) {
            f->edges[e] = TAKEN;
            f->source[e] = at;
        }
    }
    decide_rest(r, x->frame, x->node, lost ? LOST : DEAD);
}

static void exec_end(struct ref_run *r, int at, enum status status)
{
    struct exec *x = &r->execs[at];
    json_t *state = fold(r, &x->past);

    x->status = status;
    if (status == DONE) {
        commit(x, &r->graph->nodes[x->node], state);
        for (int i = 0; i < x->n_writes; i++)
            ref_fold(state, &x->writes[i]);
    }
    choose(r->graph, x, state);
    json_decref(state);
    decide_edges(r, at);
    r->changed = true;
}

/* ---- from outside ------------------------------------------------------- */

struct ref_run *ref_start(const struct ref_graph *g)
{
    struct ref_run *r = calloc(1, sizeof *r);
    json_t *nothing = json_object();

    r->graph = g;
    r->n_frames = 1;
    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].from == REF_START)
            r->frames[0].edges[e] =
                holds(&g->edges[e].when, NULL, nothing) ? TAKEN : DEAD;
        r->frames[0].source[e] = -1;
    }
    json_decref(nothing);
    settle(r);
    return r;
}

void ref_free(struct ref_run *r)
{
    for (int i = 0; i < r->n_execs; i++) {
        json_decref(r->execs[i].output);
        for (int k = 0; k < r->execs[i].n_writes; k++)
            json_decref(r->execs[i].writes[k].value);
    }
    free(r);
}

static void end_call(struct ref_run *r, int at)
{
    const struct ref_node *n = &r->graph->nodes[r->execs[at].node];
    bool fails = holds(&n->fails, &r->execs[at], NULL) && !n->rescued;

    exec_end(r, at, fails ? FAILED : DONE);
    settle(r);
}

const char *ref_end_call(struct ref_run *r, const char *path)
{
    for (int i = 0; i < r->n_execs; i++) {
        if (strcmp(r->execs[i].path, path) != 0)
            continue;
        if (r->execs[i].status != LIVE)
            return "is over already";
        end_call(r, i);
        return NULL;
    }
    return "must not be running";
}

int ref_n_live(const struct ref_run *r)
{
    int n = 0;

    for (int i = 0; i < r->n_execs; i++)
        n += r->execs[i].status == LIVE;
    return n;
}

bool ref_play(struct ref_run *r, uint32_t *seed, int most)
{
    int n;

    while ((n = ref_n_live(r)) > 0) {
        int pick, i = 0;

        if (r->n_execs > most)
            return false;
        *seed = *seed * 1664525u + 1013904223u;
        pick = (int)((*seed >> 8) % (uint32_t)n);
        while (r->execs[i].status != LIVE || pick-- > 0)
            i++;
        end_call(r, i);
    }
    return r->n_execs <= most;
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
    size_t size = 1;
    char *out;

    qsort(lines, n, sizeof lines[0], by_text);
    for (size_t i = 0; i < n; i++)
        size += strlen(lines[i]);
    out = malloc(size);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        strcat(out, lines[i]);
        free(lines[i]);
    }
    return out;
}

static const char *final_status(const struct ref_run *r)
{
    struct set all;

    memset(&all, 0xFF, sizeof all);
    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].status == FAILED && !r->execs[i].handled)
            return "failed";
    }
    return r->loop_error || conflicts(r, &all) ? "failed" : "completed";
}

char *ref_outcome(struct ref_run *r)
{
    char *lines[EXECS + REF_NODES + 3];
    bool ran[REF_NODES] = {false};
    struct set all;
    size_t n = 0;
    json_t *state;

    for (int i = 0; i < r->n_execs; i++) {
        const struct exec *x = &r->execs[i];

        ran[x->node] = true;
        lines[n++] =
            ref_line(x->path, x->status == DONE ? "done" : "failed", x->output);
    }
    for (int i = 0; i < r->graph->n; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", i);
        if (!ran[i])
            lines[n++] = ref_line(name, "skipped", NULL);
    }
    memset(&all, 0xFF, sizeof all);
    state = fold(r, &all);
    lines[n++] = ref_line("~scratch", "", json_object_get(state, "scratch"));
    lines[n++] =
        ref_line("~artifacts", "", json_object_get(state, "artifacts"));
    lines[n++] = ref_line("~run", final_status(r), NULL);
    json_decref(state);
    return ref_lines(lines, n);
}
