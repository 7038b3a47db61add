/* edge.c -- edges, from all the keys that define them.
 *
 * An edge is written at its source (next, routes, targets ...), at its target
 * (depends_on), or separately (edges, start).  The loader collects all edges as
 * drafts in one list, in the order of the file.  At the end mortise_load_link_out_edges()
 * assigns them to the nodes.  An unknown id is reported once, where it is
 * written, with a suggestion.
 */
#include "core/model/structure.h"
#include "lang/graph/load/node.h"

#include <stdlib.h>
#include <string.h>

/* ---- ids ------------------------------------------------------------- */

static void report_unknown_node(struct mortise_loader *ld,
                                const struct mortise_yaml *id, const char *what)
{
    const struct mortise_node *node;
    struct mortise_diag *d = mortise_diag_add(ld->diags, "E0301", id->span,
                                              "%s '%s'", what, id->str);
    const char *near;

    if (ld->suggestions == 0)
        return;
    ld->suggestions--;
    near = mortise_nearest_find(id->str, ld->ids, ld->n_ids);
    node = near != NULL ? mortise_graph_find_node(ld->g, near) : NULL;
    if (node != NULL)
        mortise_diag_help(ld->diags, d,
                          "did you mean '%s' (defined at "
                          "%u:%u)?",
                          near, node->span.line, node->span.col);
    else if (near != NULL)
        mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
}

/* A node's index, MORTISE_START, MORTISE_END, or MORTISE_NOWHERE. */
static uint32_t find_edge_node(struct mortise_loader *ld,
                               const struct mortise_yaml *id,
                               const char *unknown)
{
    const struct mortise_node *node;

    if (ld->g->nodes_map == NULL) /* `nodes` is missing: already reported */
        return MORTISE_NOWHERE;
    if (strcmp(id->str, "START") == 0)
        return MORTISE_START;
    if (strcmp(id->str, "END") == 0)
        return MORTISE_END;
    node = mortise_graph_find_node(ld->g, id->str);
    if (node != NULL)
        return node->index;
    report_unknown_node(ld, id, unknown);
    return MORTISE_NOWHERE;
}

/* The node that a scalar names, MORTISE_END, or MORTISE_NOWHERE after a
 * finding. */
static uint32_t find_edge_target(struct mortise_loader *ld,
                                 const struct mortise_yaml *scalar)
{
    uint32_t i = find_edge_node(ld, scalar, "edge to unknown node");

    if (i != MORTISE_START)
        return i;
    mortise_diag_add(ld->diags, "E0302", scalar->span,
                     "an edge cannot lead to START");
    return MORTISE_NOWHERE;
}

uint32_t mortise_load_node_id(struct mortise_loader *ld,
                              const struct mortise_yaml *scalar)
{
    uint32_t i = find_edge_node(ld, scalar, "unknown node");

    if (i != MORTISE_START && i != MORTISE_END)
        return i;
    mortise_diag_add(ld->diags, "E0302", scalar->span,
                     "'%s' is not a node: write the id of a node", scalar->str);
    return MORTISE_NOWHERE;
}

/* ---- drafts ---------------------------------------------------------- */

static struct mortise_edge_draft *add_draft(struct mortise_loader *ld,
                                            uint32_t from, uint32_t to,
                                            enum mortise_edge_kind kind,
                                            struct mortise_span span)
{
    struct mortise_edge_draft *list = mortise_array_grow(
        ld->mem, ld->edges, ld->n_edges, &ld->cap_edges, sizeof *list);

    if (list == NULL || ld->n_edges >= MORTISE_NOWHERE) {
        ld->nomem = true;
        return NULL;
    }
    ld->edges = list;
    list[ld->n_edges] = (struct mortise_edge_draft){
        .edge = {.from = from, .to = to, .kind = kind, .span = span}};
    return &list[ld->n_edges++];
}

struct mortise_edge_draft *mortise_load_edge(struct mortise_loader *ld,
                                             uint32_t from,
                                             const struct mortise_yaml *to,
                                             enum mortise_edge_kind kind)
{
    uint32_t target = find_edge_target(ld, to);

    return target != MORTISE_NOWHERE
               ? add_draft(ld, from, target, kind, to->span)
               : NULL;
}

/* An edge with a condition; `when` is NULL if it has none. */
static void add_when_edge(struct mortise_loader *ld, uint32_t from,
                          const struct mortise_yaml *to,
                          enum mortise_edge_kind kind,
                          const struct mortise_yaml *when)
{
    struct mortise_edge_draft *draft = mortise_load_edge(ld, from, to, kind);

    if (draft != NULL)
        draft->when = when;
}

const struct mortise_yaml *mortise_load_id(const struct mortise_slot *slot,
                                           size_t i)
{
    const struct mortise_yaml *v = slot->value;

    if (v->kind != MORTISE_YAML_SEQ)
        return i == 0 ? v : NULL;
    return i < v->n ? v->items[i] : NULL;
}

/* ---- routes ---------------------------------------------------------- */

/* A `{when, to}` while it is read.  The edge is created when both are known. */
struct route {
    const struct mortise_yaml *when, *to;
    struct mortise_slot map, policy; /* the key is NULL: none */
};

static const struct mortise_key route_keys[] = {
    {.name = "when",
     .about = "An expression: the route is taken if it is true.",
     .value = MORTISE_V_EXPR,
     .required = true,
     MORTISE_INTO_YAML(struct route, when)},
    {.name = "to",
     .about = "The node that the route leads to, or END.",
     .value = MORTISE_V_ID,
     MORTISE_INTO_YAML(struct route, to)},
    {.name = "map",
     .about =
         "Instead of `to`: one execution of a node for each element of a list.",
     .value = MORTISE_V_MAP,
     .place = &mortise_map_place,
     MORTISE_INTO_SLOT(struct route, map)},
    {.name = "guardrail_policy",
     .about = "Guardrails that check the value that passes along the route.",
     .value = MORTISE_V_MAP,
     .place = &mortise_edge_policy_place,
     MORTISE_INTO_SLOT(struct route, policy)},
};

MORTISE_PLACE(route, "a route");

/* A route needs exactly one of `to` and `map`. */
static void check_route_target(struct mortise_loader *ld,
                               const struct mortise_yaml *v,
                               const struct route *route)
{
    if (route->map.key != NULL && route->to != NULL)
        mortise_diag_add(
            ld->diags, "E0307", route->map.name->span,
            "the map has its own 'to': remove 'to' from the route");
    else if (v->kind == MORTISE_YAML_MAP &&
             !mortise_keys_has_key(&route_place, v, "to") &&
             !mortise_keys_has_key(&route_place, v, "map"))
        mortise_diag_add(ld->diags, "E0206", v->span,
                         "a route needs the key 'to', or 'map'");
}

static void read_route(struct mortise_loader *ld, struct mortise_node *node,
                       const struct mortise_yaml *v,
                       enum mortise_edge_kind kind)
{
    struct route route = {.when = NULL};
    size_t first = ld->n_edges;

    mortise_keys_read(&route_place, v, v->span, ld, &route, ld->diags);
    check_route_target(ld, v, &route);
    if (route.map.key != NULL)
        mortise_load_map(ld, node->index, kind, route.when, &route.map);
    else if (route.to != NULL)
        add_when_edge(ld, node->index, route.to, kind, route.when);
    if (route.policy.key != NULL)
        mortise_load_edge_policy(ld, node->index, first, &route.policy);
}

static void read_route_list(struct mortise_loader *ld,
                            struct mortise_node *node,
                            const struct mortise_yaml *list,
                            enum mortise_edge_kind kind)
{
    if (list->kind != MORTISE_YAML_SEQ || list->n == 0)
        mortise_diag_add(ld->diags, "E0203", list->span,
                         "'routes' must be a list of {when, to}, or {all: "
                         "[...]}, and not empty");
    for (size_t i = 0; list->kind == MORTISE_YAML_SEQ && i < list->n; i++)
        read_route(ld, node, list->items[i], kind);
}

static void read_all_routes(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    read_route_list(ctx, r->node, slot->value, MORTISE_EDGE_ROUTE_ALL);
}

static const struct mortise_key route_row = {.value = MORTISE_V_MAP,
                                             .place = &route_place};

static const struct mortise_key routes_keys[] = {
    {.name = "all",
     .about =
         "true: take every route whose condition is true, not only the first.",
     .value = MORTISE_V_LIST,
     .required = true,
     .min = 1,
     .each = &route_row,
     .read = read_all_routes},
};

MORTISE_PLACE(routes, "routes");

const struct mortise_key mortise_routes_forms[2] = {
    {.value = MORTISE_V_LIST, .min = 1, .each = &route_row},
    {.value = MORTISE_V_MAP, .place = &routes_place},
};

void mortise_node_read_routes(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    if (slot->value->kind == MORTISE_YAML_MAP)
        mortise_keys_read(&routes_place, slot->value, slot->name->span, ld, r,
                          ld->diags);
    else
        read_route_list(ld, r->node, slot->value, MORTISE_EDGE_ROUTE);
}

/* ---- `edges` --------------------------------------------------------- */

/* An entry of `edges` while it is read. */
struct entry {
    const struct mortise_yaml *to, *when;
    const struct mortise_yaml *form; /* the key of its form; NULL: a plain
                                      * edge */
    struct mortise_slot policy;      /* its key is NULL: none */
    uint32_t from;                   /* MORTISE_NOWHERE: missing or unknown */
    int type; /* enum mortise_edge_kind, or A_MAP; 0: not given */
};

enum { A_MAP = -1 }; /* an edge with a map has any kind */

static void read_edge_from(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct entry *e = into;

    e->from = find_edge_node(ld, slot->value, "edge from unknown node");
    if (e->from == MORTISE_END) {
        mortise_diag_add(ld->diags, "E0302", slot->value->span,
                         "an edge cannot leave END");
        e->from = MORTISE_NOWHERE;
    }
}

static void read_edge_when(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct entry *e = into;

    e->when = slot->value;
    if (e->type == MORTISE_EDGE_STATIC)
        mortise_diag_add(ld->diags, "E0307", slot->name->span,
                         "a static edge cannot have 'when'");
}

/* The forms of an edge that define the target in a mapping of their own. */
static const struct form {
    const char *key, *what;
    int kind;
    bool leaves_node; /* the form needs a source execution, which START lacks */
    void (*load)(struct mortise_loader *ld, uint32_t from,
                 const struct mortise_slot *slot); /* NULL: a map */
} forms[] = {
    {"map", "a map", A_MAP, false, NULL},
    {"personality", "a personality edge", MORTISE_EDGE_ABOVE, false,
     mortise_load_personality},
    {"discovery", "a discovery edge", MORTISE_EDGE_FOUND, true,
     mortise_load_discovery},
};

static enum mortise_edge_kind get_plain_edge_kind(const struct entry *e)
{
    return e->when != NULL ? MORTISE_EDGE_WHEN : MORTISE_EDGE_STATIC;
}

/* The source of the edge; MORTISE_NOWHERE after a finding. */
static uint32_t get_form_source(struct mortise_loader *ld,
                                const struct entry *e, const struct form *form,
                                const struct mortise_slot *slot)
{
    if (e->from != MORTISE_START || !form->leaves_node)
        return e->from;
    mortise_diag_add(ld->diags, "E0302", slot->name->span,
                     "%s must leave a node, not START", form->what);
    return MORTISE_NOWHERE;
}

/* The keys of the forms are read last, so that `from`, `to`, `type` and `when`
 * are known. */
static void read_edge_form(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct entry *e = into;
    const struct form *form = forms;

    while (strcmp(form->key, slot->key->name) != 0)
        form++; /* every key with this reader is in forms */
    if (e->form != NULL)
        mortise_diag_add(ld->diags, "E0307", slot->name->span,
                         "an edge with '%s' cannot have '%s'", e->form->str,
                         slot->name->str);
    e->form = slot->name;
    if (e->to != NULL || (e->when != NULL && form->load != NULL))
        mortise_diag_add(ld->diags, "E0307", slot->name->span,
                         "%s has its own 'to': remove 'to'%s from the edge",
                         form->what, form->load != NULL ? " and 'when'" : "");
    if (e->type != 0 && e->type != form->kind)
        mortise_diag_add(ld->diags, "E0307", slot->name->span,
                         "an edge with '%s' must have the type %s",
                         slot->name->str, slot->name->str);
    if (form->load == NULL)
        mortise_load_map(ld, e->from, get_plain_edge_kind(e), e->when, slot);
    else
        form->load(ld, get_form_source(ld, e, form, slot), slot);
}

static const struct mortise_word edge_types[] = {
    {"static", MORTISE_EDGE_STATIC, false},
    {"conditional", MORTISE_EDGE_WHEN, false},
    {"discovery", MORTISE_EDGE_FOUND, false},
    {"personality", MORTISE_EDGE_ABOVE, false},
    {"map", A_MAP, false},
    {NULL, 0, false},
};

static const struct mortise_key edge_keys[] = {
    {.name = "from",
     .about = "The node that the edge leaves, or START.",
     .value = MORTISE_V_ID,
     .required = true,
     .read = read_edge_from},
    {.name = "to",
     .about = "The node that the edge leads to, or END.",
     .value = MORTISE_V_ID,
     MORTISE_INTO_YAML(struct entry, to)},
    {.name = "type",
     .about = "static, conditional, discovery, personality or map (default: "
              "derived from the other keys).",
     .words = edge_types,
     MORTISE_INTO_WORD(struct entry, type)},
    {.name = "when",
     .about = "An expression: the edge is taken if it is true.",
     .value = MORTISE_V_EXPR,
     .read = read_edge_when},
    {.name = "discovery",
     .about =
         "The edge leads to the node whose capability matches a query best.",
     .value = MORTISE_V_MAP,
     .place = &mortise_discovery_place,
     .read = read_edge_form},
    {.name = "personality",
     .about = "The edge leads to one of two nodes, depending on a trait of the "
              "persona.",
     .value = MORTISE_V_MAP,
     .place = &mortise_personality_place,
     .read = read_edge_form},
    {.name = "map",
     .about = "One execution for each element of a list.",
     .value = MORTISE_V_MAP,
     .place = &mortise_map_place,
     .read = read_edge_form},
    {.name = "guardrail_policy",
     .about = "Guardrails that check the value that passes along the edge.",
     .value = MORTISE_V_MAP,
     .place = &mortise_edge_policy_place,
     MORTISE_INTO_SLOT(struct entry, policy)},
};

MORTISE_PLACE(edge, "an edge");

const struct mortise_key mortise_edge_row = {.value = MORTISE_V_MAP,
                                             .place = &edge_place};

/* The entry must define a target.  An entry with a key of a form does, even if
 * the form has errors. */
static void check_edge_target(struct mortise_loader *ld,
                              const struct mortise_yaml *v,
                              const struct entry *e)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (mortise_keys_has_key(&edge_place, v, forms[i].key))
            return;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (e->type == forms[i].kind) {
            mortise_diag_add(
                ld->diags, "E0307", mortise_yaml_get(v, "type")->span,
                "an edge of type %s needs '%s'", forms[i].key, forms[i].key);
            return;
        }
    if (!mortise_keys_has_key(&edge_place, v, "to"))
        mortise_diag_add(ld->diags, "E0206", v->span,
                         "an edge needs the key 'to'");
}

static void check_edge_parts(struct mortise_loader *ld,
                             const struct mortise_yaml *v,
                             const struct entry *e)
{
    if (e->type == MORTISE_EDGE_WHEN && e->when == NULL &&
        !mortise_keys_has_key(&edge_place, v, "when"))
        mortise_diag_add(ld->diags, "E0307", mortise_yaml_get(v, "type")->span,
                         "a conditional edge needs 'when'");
    if (v->kind == MORTISE_YAML_MAP)
        check_edge_target(ld, v, e);
}

static void read_edge_entry(struct mortise_loader *ld,
                            const struct mortise_yaml *v)
{
    struct entry e = {.from = MORTISE_NOWHERE};
    size_t first = ld->n_edges;

    mortise_keys_read(&edge_place, v, v->span, ld, &e, ld->diags);
    check_edge_parts(ld, v, &e);
    if (e.from != MORTISE_NOWHERE && e.to != NULL && e.form == NULL)
        add_when_edge(ld, e.from, e.to, get_plain_edge_kind(&e), e.when);
    if (e.policy.key != NULL)
        mortise_load_edge_policy(ld, e.from, first, &e.policy);
}

void mortise_load_edges(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    for (size_t i = 0; i < slot->value->n && !ld->nomem; i++)
        read_edge_entry(ld, slot->value->items[i]);
}

/* ---- `start` --------------------------------------------------------- */

const struct mortise_key mortise_start_forms[2] = {
    {.value = MORTISE_V_IDS},
    {.value = MORTISE_V_MAP, .place = &mortise_only_map_place},
};

void mortise_load_start(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *id;

    (void)into;
    if (slot->value->kind == MORTISE_YAML_MAP) {
        mortise_load_only_map(ld, MORTISE_START, MORTISE_EDGE_STATIC, slot);
        return;
    }
    if (!mortise_keys_is_fit(slot, &mortise_start_forms[0], ld->diags))
        return;
    for (size_t i = 0; (id = mortise_load_id(slot, i)) != NULL; i++) {
        uint32_t node = mortise_load_node_id(ld, id);

        if (node != MORTISE_NOWHERE)
            add_draft(ld, MORTISE_START, node, MORTISE_EDGE_STATIC, id->span);
    }
}

/* ---- linking --------------------------------------------------------- */

/* Copy the draft to its final place.  The edges of one policy are adjacent. */
static void link_edge_policy(struct mortise_loader *ld, uint32_t i)
{
    struct mortise_edge_policy *p = ld->edges[i].policy;
    struct mortise_edge *e = &ld->g->edges[i];

    *e = ld->edges[i].edge;
    e->policy = p;
    if (p == NULL)
        return;
    if (i == 0 || ld->edges[i - 1].policy != p)
        p->first = i;
    p->end = e->kind == MORTISE_EDGE_DETOUR ? i : i + 1;
}

/* Collect the guardrails of all edges that leave the node. */
static void collect_edge_guards(struct mortise_loader *ld,
                                struct mortise_node *node)
{
    struct mortise_guard_list *all = &node->guards[MORTISE_GUARD_EDGE];
    const struct mortise_edge *edges = ld->g->edges;
    const char **ids;
    size_t n = 0;

    for (uint32_t i = 0; i < node->n_out; i++)
        if (mortise_edge_is_guarded(&edges[node->out[i]]))
            n += edges[node->out[i]].policy->guards.n;
    ids = n > 0 ? mortise_load_alloc(ld, n * sizeof *ids) : NULL;
    if (ids == NULL)
        return;
    all->ids = ids;
    for (uint32_t i = 0; i < node->n_out; i++) {
        const struct mortise_edge *e = &edges[node->out[i]];

        for (size_t k = 0;
             mortise_edge_is_guarded(e) && k < e->policy->guards.n; k++)
            ids[all->n++] = e->policy->guards.ids[k];
    }
}

void mortise_load_link_out_edges(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    g->edges =
        mortise_load_alloc(ld, (ld->n_edges + ld->n_maps) * sizeof *g->edges);
    if (ld->nomem)
        return;
    for (size_t i = 0; i < ld->n_edges; i++)
        link_edge_policy(ld, (uint32_t)i);
    g->n_edges = (uint32_t)ld->n_edges;
    if (mortise_graph_link_out(g, ld->arena) != MORTISE_OK)
        ld->nomem = true;
    for (uint32_t i = 0; i < g->n_nodes && !ld->nomem; i++)
        collect_edge_guards(ld, &g->nodes[i]);
}
