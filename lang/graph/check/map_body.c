/* map_body.c -- maps: the nodes of each map's body.
 *
 * A map edge leads to its `to` once for each element.  The body consists of
 * everything on the paths from there to the map's `join`.  From outside, a map
 * is one item: the map edge is the only way into its body, and the join (or
 * END, which ends a branch anywhere) the only way out.  So each node is in
 * exactly one body, whatever path leads to it.  One walk from START finds the
 * body of each node, or an edge that contradicts an earlier result:
 *
 *   (1) a map edge leads into its map; the join is in the body of its source,
 *   (2) an edge from a body to that body's join yields: the element ends,
 *   (3) every other edge stays in the body of its source.
 *
 * Loops need no special rule: by (3), a loop is in one body as a whole.
 */
#include "lang/graph/load/loader.h"

#include <string.h>

#define UNSEEN 0xFFFFFFFFu

enum { MAX_CROSSINGS = 20 }; /* reports at most */

struct bodies {
    struct mortise_loader *ld;
    struct mortise_graph *g;
    uint32_t *stack, n; /* inner bodies are walked before outer ones, so that
                         * the finding is at the wrong edge */
    unsigned crossings;
    uint32_t *yields; /* per region: number of edges that yield */
};

static void report_crossing(struct bodies *b, const struct mortise_edge *e,
                            uint32_t body)
{
    const struct mortise_region *in = &b->g->regions[b->ld->body[e->to]],
                                *other = &b->g->regions[body];
    const struct mortise_node *nodes = b->g->nodes;
    const struct mortise_region *map = in->level >= other->level ? in : other;
    struct mortise_diag *d;

    if (b->ld->doubtful || b->crossings++ >= MAX_CROSSINGS)
        return;
    if (map->kind != MORTISE_REGION_MAP)
        map = other;
    d = mortise_diag_add(
        b->ld->diags, "E0312", e->span,
        "this edge to '%s' crosses the boundary of the map that runs '%s'",
        nodes[e->to].id, nodes[map->entry].id);
    mortise_diag_help(b->ld->diags, d,
                      "edges can enter the nodes between '%s' and '%s' only at "
                      "'%s', and leave them only to '%s'",
                      nodes[map->entry].id, nodes[map->join].id,
                      nodes[map->entry].id, nodes[map->join].id);
}

static void add_to_body(struct bodies *b, const struct mortise_edge *e,
                        uint32_t body)
{
    uint32_t *in = &b->ld->body[e->to];

    if (*in == UNSEEN) {
        *in = body;
        b->stack[b->n++] = e->to;
    } else if (*in != body) {
        report_crossing(b, e, body);
    }
}

/* ---- into a map (1) -------------------------------------------------- */

/* Nested maps must have different item names. */
static void check_item_names(struct bodies *b, const struct mortise_region *map)
{
    const struct mortise_map *draft = b->ld->edges[map->map_edge].map;
    const struct mortise_region *around = map;

    while (around->parent != 0) {
        around = &b->g->regions[around->parent];
        if (strcmp(around->as, map->as) != 0)
            continue;
        mortise_diag_help(
            b->ld->diags,
            mortise_diag_add(b->ld->diags, "E0314", draft->as_at->span,
                             "the outer map that runs '%s' already calls its "
                             "elements '%s'",
                             b->g->nodes[around->entry].id, map->as),
            "set another name with as: NAME");
        return;
    }
}

static uint32_t get_node_body(const struct bodies *b, uint32_t node)
{
    return node != MORTISE_START ? b->ld->body[node] : 0;
}

static void enter_map(struct bodies *b, const struct mortise_edge *e)
{
    struct mortise_region *map = &b->g->regions[e->map];
    uint32_t around = get_node_body(b, e->from);

    map->parent = around;
    map->level = around != 0 ? b->g->regions[around].level + 1 : 0;
    if (map->level >= MORTISE_MAX_MAPS) {
        mortise_diag_add(b->ld->diags, "E0313", e->span,
                         "maps can be nested at most %d deep",
                         MORTISE_MAX_MAPS);
        b->crossings++; /* the nodes after it are unknown */
        return;
    }
    if (!b->ld->doubtful)
        check_item_names(b, map);
    add_to_body(b, &b->g->edges[map->gather], around);
    add_to_body(b, e, map->index);
}

/* ---- the walk -------------------------------------------------------- */

static void follow_body_edge(struct bodies *b, struct mortise_edge *e)
{
    uint32_t body = get_node_body(b, e->from);

    if (e->to == MORTISE_END)
        return;
    if (mortise_edge_is_map(e)) {
        enter_map(b, e);
    } else if (body != 0 && e->to == b->g->regions[body].join) {
        e->yields = true; /* (2) */
        b->yields[body]++;
    } else {
        add_to_body(b, e, body); /* (3) */
    }
}

static void check_body_yields(struct bodies *b)
{
    const struct mortise_node *nodes = b->g->nodes;

    for (uint32_t i = 1; i <= b->ld->n_maps; i++) {
        const struct mortise_region *map = &b->g->regions[i];

        if (b->yields[i] > 0 || b->ld->body[map->entry] == UNSEEN)
            continue;
        mortise_diag_help(b->ld->diags,
                          mortise_diag_add(b->ld->diags, "E0312",
                                           b->g->edges[map->gather].span,
                                           "no path leads from '%s' to '%s'",
                                           nodes[map->entry].id,
                                           nodes[map->join].id),
                          "the result of an element is the output of its last "
                          "node: lead that node to '%s'",
                          nodes[map->join].id);
    }
}

static void find_map_bodies(struct bodies *b)
{
    struct mortise_graph *g = b->g;

    for (uint32_t i = 0; i < g->n_nodes; i++)
        b->ld->body[i] = UNSEEN;
    for (uint32_t i = 0; i < g->n_start; i++)
        follow_body_edge(b, &g->edges[g->start[i]]);
    while (b->n > 0) {
        const struct mortise_node *node = &g->nodes[b->stack[--b->n]];

        for (uint32_t i = 0; i < node->n_out; i++)
            follow_body_edge(b, &g->edges[node->out[i]]);
    }
    if (!b->ld->doubtful && b->crossings == 0)
        check_body_yields(b);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (b->ld->body[i] == UNSEEN)
            b->ld->body[i] = 0; /* unreachable: reported elsewhere */
}

/* ---- the regions of maps --------------------------------------------- */

/* The edge from a map to its join comes after the written edges. */
static void add_map_region(struct mortise_graph *g, uint32_t edge,
                           const struct mortise_map *draft)
{
    struct mortise_region *map = &g->regions[g->n_regions];

    map->kind = MORTISE_REGION_MAP;
    map->index = g->n_regions++;
    map->entry = draft->to;
    map->map_edge = edge;
    map->gather = g->n_edges++;
    map->join = draft->join;
    map->as = draft->as;
    map->max_parallel = draft->max_parallel;
    g->edges[edge].map = map->index;
    g->edges[map->gather] = (struct mortise_edge){.from = draft->to,
                                                  .to = draft->join,
                                                  .kind = MORTISE_EDGE_GATHER,
                                                  .span = draft->join_at,
                                                  .map = map->index};
}

void mortise_load_bodies(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;
    struct bodies b = {.ld = ld, .g = g};

    ld->body = mortise_load_alloc(ld, g->n_nodes * sizeof *ld->body);
    b.stack = mortise_load_alloc(ld, g->n_nodes * sizeof *b.stack);
    b.yields = mortise_load_alloc(ld, (ld->n_maps + 1) * sizeof *b.yields);
    g->regions = mortise_load_alloc(ld, (ld->n_maps + 1) * sizeof *g->regions);
    if (ld->nomem)
        return;
    g->regions[0].kind = MORTISE_REGION_GRAPH;
    g->regions[0].entry = MORTISE_START;
    g->n_regions = 1;
    for (uint32_t i = 0; i < ld->n_edges; i++)
        if (ld->edges[i].map != NULL)
            add_map_region(g, i, ld->edges[i].map);
    find_map_bodies(&b);
}
