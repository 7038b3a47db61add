/* randgraph.c -- random structured graphs.
 *
 * A graph is made from the outside in: a region is a row of items, each a node,
 * a loop or a map with its source and join, and edges lead from an item to
 * later ones; out of a loop they may start at any node within, into it they
 * lead to its entry.  At the end the nodes are shuffled, so that the declared
 * order says nothing.
 *
 * Loops end because each of their back edges is not taken at some turns.
 */
#include "lib/randgraph.h"

#include <stdlib.h>
#include <string.h>

#include "lib/sim.h"

enum { ITEMS = 12, ROOM = 10 };

static const struct ref_cond always = {.ask = REF_ALWAYS};

struct item {
    uint32_t set, out; /* its nodes, and those that edges may leave */
    int entry;
    int back, back_m; /* a loop's: who goes back, and not at which turns */
};

struct maker {
    struct ref_graph *g;
    unsigned families;
    uint32_t *seed;
    int room;  /* for so many more nodes */
    int depth; /* of subgraphs */
};

static int pick(struct maker *m, int n)
{
    *m->seed = *m->seed * 1664525u + 1013904223u;
    return (int)((*m->seed >> 8) % (uint32_t)n);
}

static bool may(struct maker *m, unsigned family, int one_in)
{
    return (m->families & family) != 0 && pick(m, one_in) == 0;
}

/* ---- edges -------------------------------------------------------------- */

static bool has_edge(const struct ref_graph *g, int from, int to)
{
    for (int i = 0; i < g->n_edges; i++) {
        if (g->edges[i].from == from && g->edges[i].to == to)
            return true;
    }
    return false;
}

static struct ref_edge *put_edge(struct maker *m, int from, int to,
                                 enum ref_edge_kind kind, struct ref_cond when)
{
    static struct ref_edge nowhere;
    struct ref_graph *g = m->g;
    struct ref_edge *e = &nowhere;

    if (g->n_edges < REF_EDGES && !has_edge(g, from, to))
        e = &g->edges[g->n_edges++];
    *e = (struct ref_edge){.from = from, .to = to, .kind = kind, .when = when};
    return e;
}

static struct ref_cond some_cond(struct maker *m)
{
    struct ref_cond c = {.m = 2 + pick(m, 2)};

    c.r = pick(m, c.m);
    c.ask = pick(m, 2) == 0 ? REF_TURN : REF_LOG_SIZE;
    return c;
}

static int member(struct maker *m, uint32_t set)
{
    int i;

    do {
        i = pick(m, m->g->n);
    } while (!(set >> i & 1));
    return i;
}

/* on_error says one thing. */
static bool may_go_to_on_error(const struct ref_graph *g, int from)
{
    for (int i = 0; i < g->n_edges; i++) {
        if (g->edges[i].from == from && g->edges[i].kind == REF_ERROR)
            return false;
    }
    return g->nodes[from].fails.ask != REF_NEVER && !g->nodes[from].rescued;
}

static const struct ref_cond never = {.ask = REF_NEVER};

/* A personality edge, whose other arm leads to END. */
static void put_arms(struct maker *m, int from, int to)
{
    bool above = pick(m, 2) == 0;

    put_edge(m, from, to, REF_ARM, above ? always : never);
    put_edge(m, from, REF_END, REF_ARM, above ? never : always);
}

static bool may_have_arms(const struct ref_graph *g, int from, int to)
{
    return g->n_edges + 2 <= REF_EDGES && !has_edge(g, from, to) &&
           !has_edge(g, from, REF_END);
}

/* One for each executor. */
static bool may_have_target(const struct ref_graph *g, int from)
{
    for (int i = 0; i < g->n_edges; i++) {
        if (g->edges[i].from == from && g->edges[i].kind == REF_TARGET)
            return false;
    }
    return g->nodes[from].sub == NULL;
}

static struct ref_cond some_turn(struct maker *m)
{
    struct ref_cond c = {.ask = REF_TURN, .m = 2 + pick(m, 2)};

    c.r = pick(m, c.m);
    return c;
}

/* Some edge from one item to another. */
static void link_items(struct maker *m, const struct item *a,
                       const struct item *b)
{
    int from = member(m, a->out);

    if (a->back >= 0 && pick(m, 4) != 0) {
        struct ref_cond over = {REF_TURN, a->back_m, 0};

        put_edge(m, a->back, b->entry, REF_WHEN, over);
    } else if (may_go_to_on_error(m->g, from) && pick(m, 2) == 0) {
        put_edge(m, from, b->entry, REF_ERROR, always);
    } else if (a->back < 0 && may(m, RAND_CHOICES, 3) &&
               may_have_arms(m->g, from, b->entry)) {
        put_arms(m, from, b->entry);
    } else if (a->back < 0 && may(m, RAND_CHOICES, 4) &&
               may_have_target(m->g, from)) {
        put_edge(m, from, b->entry, REF_TARGET, some_turn(m));
    } else if (a->back >= 0 || pick(m, 2) == 0) {
        put_edge(m, from, b->entry, REF_WHEN, some_cond(m));
    } else {
        put_edge(m, from, b->entry, REF_STATIC, always);
    }
}

/* Edges between the items of a row; each but the first is led to, unless it is
 * the graph's own row. */
static void link_row(struct maker *m, const struct item *row, int n,
                     bool is_graph)
{
    for (int to = 1; to < n; to++) {
        bool led = is_graph;

        for (int from = 0; from < to; from++) {
            if (pick(m, 3) == 0) {
                link_items(m, &row[from], &row[to]);
                led = true;
            }
        }
        if (!led)
            link_items(m, &row[pick(m, to)], &row[to]);
    }
}

/* ---- items -------------------------------------------------------------- */

static struct item make_node(struct maker *m)
{
    int i = m->g->n++;
    struct ref_node *n = &m->g->nodes[i];
    uint32_t set = (uint32_t)1 << i;

    m->room--;
    n->value = pick(m, 20);
    n->op = pick(m, 4);
    n->fails.ask = REF_NEVER;
    for (int c = 0; c < REF_PLAIN; c++)
        n->writes[c] = pick(m, 5) == 0;
    n->writes[REF_PLAIN] = !(m->families & (RAND_RACES | RAND_STOPS)) &&
                           pick(m, m->depth > 0 ? 6 : 24) == 0;
    if (may(m, RAND_FAILS, 8)) {
        n->fails = (struct ref_cond){REF_TURN, 1 + pick(m, 2), 0};
        n->rescued = pick(m, 3) == 0;
    }
    return (struct item){.set = set, .out = set, .entry = i, .back = -1};
}

static void make_graph(struct maker *m, int room);

static struct item make_sub(struct maker *m)
{
    struct item item = make_node(m);
    struct ref_node *n = &m->g->nodes[item.entry];
    struct maker sub = {.families = m->families & ~(unsigned)RAND_STOPS,
                        .seed = m->seed,
                        .depth = m->depth + 1};

    *n = (struct ref_node){.fails.ask = REF_NEVER};
    n->sub = sub.g = calloc(1, sizeof *sub.g);
    m->room--;
    make_graph(&sub, 4);
    return item;
}

static struct item make_item(struct maker *m, int depth);

static bool leads_on(const struct ref_graph *g, const struct item *a)
{
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (e->from >= 0 && a->set >> e->from & 1 &&
            (e->to < 0 || !(a->set >> e->to & 1)))
            return true;
    }
    return false;
}

/* What mostly goes back: out of a loop within that would be an exit, too, and
 * an exit together with a back edge is an error. */
static struct item make_last(struct maker *m, int depth)
{
    return pick(m, 6) == 0 ? make_item(m, depth) : make_node(m);
}

static struct item make_loop(struct maker *m, int depth)
{
    struct item row[4], loop = {.back_m = 2 + pick(m, 2)};
    struct ref_cond again = {REF_TURN_NOT, loop.back_m, 0};
    int n = 1 + pick(m, 4);

    row[0] = make_node(m);
    loop.entry = row[0].entry;
    for (int i = 1; i < n; i++)
        row[i] = i < n - 1 ? make_item(m, depth + 1) : make_last(m, depth + 1);
    link_row(m, row, n, false);
    for (int i = 0; i < n; i++) {
        if (i < n - 1 && !leads_on(m->g, &row[i]))
            link_items(m, &row[i], &row[n - 1]);
        loop.set |= row[i].set;
        loop.out |= row[i].out;
    }
    loop.back = member(m, row[n - 1].out);
    put_edge(m, loop.back, loop.entry, REF_WHEN, again);
    if (n > 1 && pick(m, 3) == 0)
        put_edge(m, member(m, row[pick(m, n - 1)].out), loop.entry, REF_WHEN,
                 again);
    return loop;
}

static struct ref_edge *put_map(struct maker *m, int from, int to, int join,
                                struct ref_cond when)
{
    struct ref_edge *e = put_edge(m, from, to, REF_MAP, when);

    e->join = join;
    e->some = pick(m, 4);
    e->others = pick(m, 4);
    e->max_parallel = 1 + pick(m, 3);
    return e;
}

/* A map, with the node that starts it and the one that joins it. */
static struct item make_map(struct maker *m, int depth)
{
    struct item row[3], source = make_node(m), join, map;
    int n = 1 + pick(m, 3);

    for (int i = 0; i < n; i++)
        row[i] = make_item(m, depth + 1);
    join = make_node(m);
    link_row(m, row, n, false);
    put_map(m, source.entry, row[0].entry, join.entry, some_cond(m));
    for (int i = 0; i < n; i++) {
        if (i == n - 1 || pick(m, 3) == 0)
            link_items(m, &row[i], &join);
    }
    if (pick(m, 6) == 0)
        link_items(m, &source, &join);
    map = (struct item){.set = source.set | join.set,
                        .out = source.out | join.out,
                        .entry = source.entry,
                        .back = -1};
    for (int i = 0; i < n; i++)
        map.set |= row[i].set;
    return map;
}

static struct item make_item(struct maker *m, int depth)
{
    if (depth < 3 && m->room > 4 && may(m, RAND_LOOPS, 3))
        return make_loop(m, depth);
    if (depth < 2 && m->room > 4 && may(m, RAND_MAPS, 3))
        return make_map(m, depth);
    if (m->depth < 2 && m->room > 2 && may(m, RAND_SUBS, 4))
        return make_sub(m);
    return make_node(m);
}

/* ---- START, END, routes, joins ------------------------------------------ */

/* A map that the graph begins with, and whose join is that item. */
static void make_start_map(struct maker *m, const struct item *join)
{
    struct ref_cond when = {pick(m, 3) ? REF_ALWAYS : REF_NEVER, 0, 0};
    struct item body = make_item(m, 2);

    put_map(m, REF_START, body.entry, join->entry, when);
    link_items(m, &body, join);
}

static bool is_led_to(const struct ref_graph *g, const struct item *item)
{
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (e->to == item->entry &&
            (e->from < 0 || !(item->set >> e->from & 1)))
            return true;
    }
    return false;
}

static void make_ends(struct maker *m, const struct item *row, int n)
{
    for (int i = 0; i < n; i++) {
        struct ref_cond when = {pick(m, 3) ? REF_ALWAYS : REF_NEVER, 0, 0};

        if (!is_led_to(m->g, &row[i]))
            put_edge(m, REF_START, row[i].entry, REF_STATIC, always);
        else if (pick(m, 8) == 0)
            put_edge(m, REF_START, row[i].entry, REF_WHEN, when);
    }
    for (int i = 0; i < m->g->n; i++) {
        if (pick(m, 8) == 0)
            put_edge(m, i, REF_END, REF_WHEN, some_cond(m));
    }
}

static bool may_be_route(const struct ref_edge *e, int from)
{
    return e->from == from && (e->kind == REF_STATIC || e->kind == REF_WHEN);
}

/* Some nodes choose among their edges instead. */
static void make_routes(struct maker *m)
{
    struct ref_graph *g = m->g;

    for (int i = 0; i < g->n; i++) {
        int n = 0, last = -1;

        for (int e = 0; e < g->n_edges; e++) {
            if (may_be_route(&g->edges[e], i)) {
                last = e;
                n++;
            }
        }
        if (n < 2 || pick(m, 3) != 0)
            continue;
        for (int e = 0; e < g->n_edges; e++) {
            if (may_be_route(&g->edges[e], i))
                g->edges[e].kind = e == last ? REF_DEFAULT : REF_ROUTE;
        }
    }
}

static int n_in(const struct ref_graph *g, int node)
{
    int n = 0;

    for (int i = 0; i < g->n_edges; i++)
        n += g->edges[i].to == node && !g->edges[i].back && !g->edges[i].yields;
    return n;
}

static bool joins_a_map(const struct ref_graph *g, int node)
{
    for (int i = 0; i < g->n_edges; i++) {
        if (g->edges[i].kind == REF_GATHER && g->edges[i].to == node)
            return true;
    }
    return false;
}

static bool is_routed(const struct ref_graph *g, int node)
{
    for (int i = 0; i < g->n_edges; i++) {
        if (g->edges[i].from == node && g->edges[i].kind == REF_ROUTE)
            return true;
    }
    return false;
}

/* One static edge is a discovery's instead.  What it may find is where it leads
 * to anyway: so the graph is as structured as before. */
static void make_find(struct maker *m)
{
    struct ref_graph *g = m->g;
    int i = pick(m, g->n_edges);
    struct ref_edge *e = &g->edges[i];

    if (e->kind != REF_STATIC || e->from < 0 || e->to < 0 ||
        is_routed(g, e->from) || g->n_edges == REF_EDGES)
        return;
    memmove(e + 1, e, (size_t)(g->n_edges - i) * sizeof *e);
    g->n_edges++;
    e[0].kind = REF_FIND;
    e[1].kind = REF_ELSE;
}

/* After ref_regions(), which says which edges count. */
static void make_joins(struct maker *m)
{
    for (int i = 0; i < m->g->n; i++) {
        struct ref_join *join = &m->g->nodes[i].join;
        int n = n_in(m->g, i);

        if (n < 2 && !joins_a_map(m->g, i))
            continue;
        if (may(m, RAND_BRANCHES, 2)) {
            join->on_error = pick(m, 2) == 0 ? REF_COLLECT : REF_DROP;
            join->best_effort = join->on_error == REF_DROP && pick(m, 2) == 0;
        }
        if (!join->best_effort && may(m, RAND_RACES, 2)) {
            /* As many elements as there are may come. */
            join->need = 1 + pick(m, joins_a_map(m->g, i) ? n + 2 : n - 1);
            join->finish = pick(m, 2) == 0;
        }
    }
}

static void shuffle(struct maker *m)
{
    struct ref_graph *g = m->g, old = *g;
    int to[REF_NODES];

    for (int i = 0; i < g->n; i++)
        to[i] = i;
    for (int i = g->n - 1; i > 0; i--) {
        int k = pick(m, i + 1), swap = to[i];

        to[i] = to[k];
        to[k] = swap;
    }
    for (int i = 0; i < g->n; i++)
        g->nodes[to[i]] = old.nodes[i];
    for (int i = 0; i < g->n_edges; i++) {
        struct ref_edge *e = &g->edges[i];

        e->from = e->from >= 0 ? to[e->from] : e->from;
        e->to = e->to >= 0 ? to[e->to] : e->to;
        e->join = to[e->join];
    }
}

/* ---- graphs ------------------------------------------------------------- */

static void make_graph(struct maker *m, int room)
{
    struct item row[ITEMS];

    do {
        int n = 2 + pick(m, room < ITEMS ? room - 1 : ITEMS - 2);

        rand_free(m->g);
        memset(m->g, 0, sizeof *m->g);
        m->g->is_sub = m->depth > 0;
        m->room = room;
        for (int i = 0; i < n; i++) {
            if (m->room <= 0)
                n = i;
            else
                row[i] = make_item(m, 0);
        }
        link_row(m, row, n, true);
        if (m->room > 0 && may(m, RAND_MAPS, 4))
            make_start_map(m, &row[pick(m, n)]);
        make_ends(m, row, n);
        if (m->families & RAND_ROUTES)
            make_routes(m);
        if (may(m, RAND_CHOICES, 2))
            make_find(m);
        shuffle(m);
    } while (!ref_regions(m->g));
    make_joins(m);
    m->g->calls = may(m, RAND_PAUSES, 2) ? 1 + pick(m, 6) : 0;
    m->g->tokens = m->g->calls % 2 != 0 ? SIM_TOKENS * m->g->calls : 0;
    m->g->fail_fast = may(m, RAND_STOPS, 2);
    m->g->end_first = may(m, RAND_STOPS, 2);
}

/* What follows a node that interrupt_after holds is decided later than its end
 * was: no order of ends says so. */
static void make_pauses(struct maker *m)
{
    m->g->steps = may(m, RAND_PAUSES, 2) ? 1 + pick(m, 8) : 0;
    m->g->visits = may(m, RAND_PAUSES, 2) ? 1 + pick(m, 2) : 0;
    for (int i = 0; i < m->g->n; i++) {
        m->g->before[i] = may(m, RAND_PAUSES, 6);
        m->g->after[i] = may(m, RAND_PAUSES, 6) &&
                         !(m->families & (RAND_RACES | RAND_STOPS));
    }
}

void rand_graph(struct ref_graph *g, unsigned families, uint32_t *seed)
{
    struct maker m = {.g = g, .families = families, .seed = seed};

    memset(g, 0, sizeof *g);
    make_graph(&m, ROOM);
    make_pauses(&m);
}

bool rand_wild(struct ref_graph *g, uint32_t *seed)
{
    struct maker m = {.g = g, .seed = seed, .room = REF_NODES};
    int n = 2 + pick(&m, 6), extra = pick(&m, n), n_maps = pick(&m, 3);

    memset(g, 0, sizeof *g);
    for (int i = 0; i < n; i++) {
        make_node(&m);
        put_edge(&m, i > 0 ? pick(&m, i) : REF_START, i, REF_WHEN,
                 i > 0 ? some_cond(&m) : always);
    }
    for (int i = 0; i < n_maps && n > 2; i++) {
        struct ref_edge *e =
            pick(&m, 4) > 0
                ? put_edge(&m, pick(&m, n), pick(&m, n), REF_MAP, some_cond(&m))
                : put_edge(&m, REF_START, pick(&m, n), REF_MAP, always);

        do {
            e->join = pick(&m, n);
        } while (e->join == e->to);
        e->max_parallel = 1;
    }
    while (extra-- > 0)
        put_edge(&m, pick(&m, n), pick(&m, n), REF_WHEN, some_cond(&m));
    shuffle(&m);
    return ref_regions(g);
}

void rand_free(struct ref_graph *g)
{
    for (int i = 0; i < g->n; i++) {
        if (g->nodes[i].sub == NULL)
            continue;
        rand_free(g->nodes[i].sub);
        free(g->nodes[i].sub);
        g->nodes[i].sub = NULL;
    }
}
