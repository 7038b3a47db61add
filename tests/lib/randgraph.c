/* randgraph.c -- random structured graphs.
 *
 * A graph is made from the outside in: a region is a row of items, each a node
 * or a loop, and edges lead from an item to later ones; out of a loop they may
 * start at any node within, into it they lead to its entry.  At the end the
 * nodes are shuffled, so that the declared order says nothing.
 *
 * Loops end because each of their back edges is not taken at some turns.
 */
#include "lib/randgraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { ITEMS = 12 };

struct item {
    uint32_t set;
    int entry;
    int back, back_m; /* a loop's: who goes back, and not at which turns */
};

struct maker {
    struct ref_graph *g;
    unsigned families;
    uint32_t *seed;
    int room; /* for so many more nodes */
};

static int pick(struct maker *m, int n)
{
    *m->seed = *m->seed * 1664525u + 1013904223u;
    return (int)((*m->seed >> 8) % (uint32_t)n);
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

static void put_edge(struct maker *m, int from, int to, enum ref_edge_kind kind,
                     struct ref_cond when)
{
    struct ref_graph *g = m->g;

    if (g->n_edges < REF_EDGES && !has_edge(g, from, to))
        g->edges[g->n_edges++] = (struct ref_edge){
            .from = from, .to = to, .kind = kind, .when = when};
}

static struct ref_cond some_cond(struct maker *m)
{
    struct ref_cond c = {.m = 2 + pick(m, 2)};

    c.r = pick(m, c.m);
    c.ask = pick(m, 2) == 0 ? REF_TURN : REF_LOG;
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

/* Some edge from one item to another. */
static void link_items(struct maker *m, const struct item *a,
                       const struct item *b)
{
    static const struct ref_cond always = {.ask = REF_ALWAYS};
    int from = member(m, a->set);

    if (a->back >= 0 && pick(m, 4) != 0) {
        struct ref_cond over = {REF_TURN, a->back_m, 0};

        put_edge(m, a->back, b->entry, REF_WHEN, over);
    } else if (may_go_to_on_error(m->g, from) && pick(m, 2) == 0) {
        put_edge(m, from, b->entry, REF_ERROR, always);
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

/* ---- nodes and loops ---------------------------------------------------- */

static struct item make_node(struct maker *m)
{
    int i = m->g->n++;
    struct ref_node *n = &m->g->nodes[i];

    m->room--;
    n->value = pick(m, 20);
    n->op = pick(m, 4);
    n->fails.ask = REF_NEVER;
    for (int c = 0; c < REF_PLAIN; c++)
        n->writes[c] = pick(m, 5) == 0;
    n->writes[REF_PLAIN] = pick(m, 24) == 0;
    if (m->families & RAND_FAILS && pick(m, 8) == 0) {
        n->fails = (struct ref_cond){REF_TURN, 1 + pick(m, 2), 0};
        n->rescued = pick(m, 3) == 0;
    }
    return (struct item){.set = (uint32_t)1 << i, .entry = i, .back = -1};
}

static struct item make_item(struct maker *m, int depth);

static struct item make_loop(struct maker *m, int depth)
{
    struct item row[4], loop = {.back_m = 2 + pick(m, 2)};
    struct ref_cond again = {REF_TURN_NOT, loop.back_m, 0};
    int n = 1 + pick(m, 4);

    row[0] = make_node(m);
    loop.entry = row[0].entry;
    for (int i = 1; i < n; i++)
        row[i] = make_item(m, depth + 1);
    link_row(m, row, n, false);
    for (int i = 0; i < n; i++)
        loop.set |= row[i].set;
    loop.back = member(m, row[n - 1].set);
    put_edge(m, loop.back, loop.entry, REF_WHEN, again);
    if (pick(m, 3) == 0)
        put_edge(m, member(m, loop.set), loop.entry, REF_WHEN, again);
    return loop;
}

static struct item make_item(struct maker *m, int depth)
{
    if (m->families & RAND_LOOPS && depth < 3 && m->room > 4 && pick(m, 3) == 0)
        return make_loop(m, depth);
    return make_node(m);
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
    static const struct ref_cond always = {.ask = REF_ALWAYS};

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

/* Some nodes choose among their edges instead. */
static void make_routes(struct maker *m)
{
    struct ref_graph *g = m->g;

    for (int i = 0; i < g->n; i++) {
        int n = 0, last = -1;

        for (int e = 0; e < g->n_edges; e++) {
            if (g->edges[e].from == i && g->edges[e].kind != REF_ERROR) {
                last = e;
                n++;
            }
        }
        if (n < 2 || pick(m, 3) != 0)
            continue;
        for (int e = 0; e < g->n_edges; e++) {
            if (g->edges[e].from == i && g->edges[e].kind != REF_ERROR)
                g->edges[e].kind = e == last ? REF_DEFAULT : REF_ROUTE;
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
    }
}

void rand_graph(struct ref_graph *g, unsigned families, uint32_t *seed)
{
    do {
        struct maker m = {g, families, seed, 14};
        struct item row[ITEMS];
        int n = 2 + pick(&m, ITEMS - 2);

        memset(g, 0, sizeof *g);
        for (int i = 0; i < n; i++) {
            if (m.room <= 0)
                n = i;
            else
                row[i] = make_item(&m, 0);
        }
        link_row(&m, row, n, true);
        make_ends(&m, row, n);
        if (families & RAND_ROUTES)
            make_routes(&m);
        shuffle(&m);
    } while (!ref_regions(g));
}

/* ---- YAML --------------------------------------------------------------- */

static void put_cond(struct mortise_buf *b, const struct ref_cond *c)
{
    switch (c->ask) {
    case REF_ALWAYS:
        mortise_buf_puts(b, "true");
        break;
    case REF_NEVER:
        mortise_buf_puts(b, "false");
        break;
    case REF_TURN:
    case REF_TURN_NOT:
        mortise_buf_printf(b, "node.visit %% %d %s %d", c->m,
                           c->ask == REF_TURN ? "==" : "!=", c->r);
        break;
    case REF_LOG:
        mortise_buf_printf(b, "size(scratch.log) %% %d == %d", c->m, c->r);
        break;
    }
}

static void put_target(struct mortise_buf *b, int to)
{
    if (to == REF_END)
        mortise_buf_puts(b, "END");
    else
        mortise_buf_printf(b, "n%d", to);
}

static void put_outputs(struct mortise_buf *b, int i, const struct ref_node *n)
{
    mortise_buf_printf(b,
                       "    outputs:\n"
                       "      scratch.log: \"['n%d#' + string(node.visit)]\"\n",
                       i);
    for (int c = 0; c < REF_CELLS; c++) {
        char expr[128];

        if (!n->writes[c])
            continue;
        ref_cell_expr(c, i, n, expr, sizeof expr);
        mortise_buf_printf(b, "      scratch.%s: \"%s\"\n", ref_cell_name(c),
                           expr);
    }
}

static void put_routes(struct mortise_buf *b, const struct ref_graph *g, int i)
{
    bool opened = false;

    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];

        if (edge->from != i || edge->kind != REF_ROUTE)
            continue;
        mortise_buf_puts(b, opened ? "" : "    routes:\n");
        mortise_buf_puts(b, "      - {when: \"");
        put_cond(b, &edge->when);
        mortise_buf_puts(b, "\", to: ");
        put_target(b, edge->to);
        mortise_buf_puts(b, "}\n");
        opened = true;
    }
    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];

        if (edge->from == i && edge->kind == REF_DEFAULT) {
            mortise_buf_puts(b, "    default: ");
            put_target(b, edge->to);
            mortise_buf_puts(b, "\n");
        } else if (edge->from == i && edge->kind == REF_ERROR) {
            mortise_buf_printf(b, "    on_error: {goto: n%d}\n", edge->to);
        }
    }
}

static void put_node(struct mortise_buf *b, const struct ref_graph *g, int i)
{
    static const char *const ops[] = {"echo", "read", "idem", "rec"};
    const struct ref_node *n = &g->nodes[i];
    bool may_fail = n->fails.ask != REF_NEVER;

    mortise_buf_printf(b, "  n%d:\n    type: tool\n    tool: t/%s\n", i,
                       may_fail ? "fail" : ops[n->op]);
    mortise_buf_puts(b, "    args: {saw: \"${scratch}\"");
    if (may_fail) {
        mortise_buf_puts(b, ", times: \"${");
        put_cond(b, &n->fails);
        mortise_buf_puts(b, " ? 9 : 0}\"");
    }
    mortise_buf_puts(b, "}\n");
    put_outputs(b, i, n);
    if (n->rescued)
        mortise_buf_puts(
            b, "    on_error: {value: \"{'saw': scratch, 'times': 0}\"}\n");
    put_routes(b, g, i);
}

static void put_edges(struct mortise_buf *b, const struct ref_graph *g)
{
    mortise_buf_puts(b, "edges:\n");
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (e->kind != REF_STATIC && e->kind != REF_WHEN)
            continue;
        mortise_buf_puts(b, "  - {from: ");
        if (e->from == REF_START)
            mortise_buf_puts(b, "START");
        else
            put_target(b, e->from);
        mortise_buf_puts(b, ", to: ");
        put_target(b, e->to);
        if (e->kind == REF_WHEN && e->from == REF_START) {
            mortise_buf_printf(b, ", when: input.%s",
                               e->when.ask == REF_ALWAYS ? "yes" : "no");
        } else if (e->kind == REF_WHEN) {
            mortise_buf_puts(b, ", when: \"");
            put_cond(b, &e->when);
            mortise_buf_puts(b, "\"");
        }
        mortise_buf_puts(b, "}\n");
    }
}

char *rand_yaml(const struct ref_graph *g)
{
    struct mortise_buf b;
    char *text;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_puts(&b, "apiVersion: mortise/v1\nkind: Graph\n"
                         "metadata: {name: g, version: 1.0.0}\n"
                         "limits: {concurrency: 4}\n"
                         "state:\n  reducers:\n");
    for (int c = 0; c <= REF_CELLS; c++) {
        if (ref_cell_reducer(c) != NULL)
            mortise_buf_printf(&b, "    scratch.%s: %s\n", ref_cell_name(c),
                               ref_cell_reducer(c));
    }
    mortise_buf_puts(&b, "nodes:\n");
    for (int i = 0; i < g->n; i++)
        put_node(&b, g, i);
    put_edges(&b, g);
    text = strdup(mortise_buf_cstr(&b));
    mortise_buf_finish(&b);
    return text;
}
