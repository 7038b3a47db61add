/* discovery.c -- capabilities, and discovery edges, which search for one.
 *
 * A discovery edge leads to the node whose `capability` ranks first for the
 * edge's query.  The run decides which node that is.  The loader therefore adds
 * an edge to each candidate (a node of the right `kind` other than the source)
 * and an edge to the fallback for an empty result; a run takes exactly one of
 * them.  All checks apply to them as to any edge: for example, none may lead
 * into the middle of a loop.  Their number grows with the square of the nodes,
 * so MAX_FOUND bounds it.
 *
 * The deployment's discovery plugins rank the candidates when a run reaches the
 * edge (core/run/outcome/sought.c).  Without a plugin the result is empty: the
 * run records that (discovery_result) and takes the fallback, which is
 * required.  `check` warns about a missing plugin.
 */
#include "lang/graph/load/node.h"

enum { MAX_FOUND = 100000 }; /* discovery edges of a graph, without fallbacks */

struct reading {
    struct mortise_edge_discovery *d;
    const struct mortise_yaml *query, *fallback;
    enum mortise_node_type type; /* 0: any */
};

/* ---- capabilities ------------------------------------------------------- */

static bool uses_capabilities(const struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].kind == MORTISE_EDGE_FALLBACK)
            return true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].tools != NULL && g->nodes[i].tools->n_handovers > 0)
            return true; /* models see the capabilities of handover targets */
    return false;
}

void mortise_check_capabilities(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    if (uses_capabilities(g))
        return;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].capability != NULL) {
            mortise_diag_add(
                ld->diags, "E0212",
                mortise_yaml_key(mortise_yaml_get(g->nodes_map, g->nodes[i].id),
                                 "capability")
                    ->span,
                "'capability' has no effect: the graph has no discovery edge "
                "and no handoffs");
            return;
        }
}

/* ---- keys --------------------------------------------------------------- */

static void read_discovery_kind(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->d->kind = slot->value->str;
    r->type = (enum mortise_node_type)slot->word;
}

static const struct mortise_word kinds[] = {
    {"any", 0, false},
#define FOUND_RESULT(KIND, word) {#word, MORTISE_NODE_##KIND, false},
#define FOUND_OUTPUT(KIND, word)
#define FOUND_DECISION(KIND, word)
#define FOUND_ROUTE(KIND, word)
#define NODE_KIND(KIND, word, gives) FOUND_##gives(KIND, word)
#include "core/model/node_kinds.def"
    {"skill", 0, true},
    {NULL, 0, false},
};

static const struct mortise_key keys[] = {
    {.name = "query",
     .about = "The text to search for: a template.",
     .value = MORTISE_V_STRING,
     .required = true,
     MORTISE_INTO_YAML(struct reading, query)},
    {.name = "kind",
     .about = "The type that the node must have: tool, extension, gmi, leaf, "
              "voice or any (the default).",
     .value = MORTISE_V_WORD,
     .words = kinds,
     .read = read_discovery_kind},
    {.name = "fallback",
     .about = "The next node if nothing is found.",
     .value = MORTISE_V_ID,
     .required = true,
     MORTISE_INTO_YAML(struct reading, fallback)},
};

const struct mortise_place mortise_discovery_place = {
    MORTISE_PLACE_OF("discovery", keys)};

/* ---- edges -------------------------------------------------------------- */

static bool can_find_node(const struct reading *r,
                          const struct mortise_node *node, uint32_t from)
{
    return node->capability != NULL && node->index != from &&
           (r->type == 0 || node->type == r->type);
}

static void list_capable(struct mortise_loader *ld)
{
    if (ld->capable != NULL)
        return;
    ld->capable = mortise_load_alloc(ld, ld->g->n_nodes * sizeof *ld->capable);
    for (uint32_t i = 0; ld->capable != NULL && i < ld->g->n_nodes; i++)
        if (ld->g->nodes[i].capability != NULL)
            ld->capable[ld->n_capable++] = i;
}

static void add_found_edge(struct mortise_loader *ld, uint32_t from,
                           const struct mortise_node *to,
                           const struct reading *r, struct mortise_span span)
{
    const struct mortise_yaml id = {.str = to->id, .span = span};
    struct mortise_edge_draft *draft =
        mortise_load_edge(ld, from, &id, MORTISE_EDGE_FOUND);

    if (draft != NULL)
        draft->edge.discovery = r->d;
}

/* Add an edge to each candidate.  Return their number, or SIZE_MAX if the graph
 * reached MAX_FOUND. */
static size_t add_found_edges(struct mortise_loader *ld, uint32_t from,
                              const struct reading *r, struct mortise_span span)
{
    size_t n = 0;

    list_capable(ld);
    for (uint32_t i = 0; i < ld->n_capable && !ld->nomem; i++) {
        const struct mortise_node *node = &ld->g->nodes[ld->capable[i]];

        if (!can_find_node(r, node, from))
            continue;
        if (ld->n_found >= MAX_FOUND)
            return SIZE_MAX;
        ld->n_found++;
        add_found_edge(ld, from, node, r, span);
        n++;
    }
    return n;
}

/* The excess is reported once a graph: later edges get SIZE_MAX too. */
static void check_found_count(struct mortise_loader *ld,
                              const struct reading *r, size_t n,
                              struct mortise_span span)
{
    struct mortise_diag *d;

    if (n == 0) {
        d = mortise_diag_add(ld->diags, "E0307", span,
                             "this discovery edge cannot find any node");
        mortise_diag_help(ld->diags, d, "give another node a 'capability'%s",
                          r->type != 0 ? " and the type in 'kind'" : "");
    } else if (n == SIZE_MAX && ld->n_found == MAX_FOUND) {
        ld->n_found++;
        d = mortise_diag_add(
            ld->diags, "E0307", span,
            "the discovery edges up to this one can lead to more than %d "
            "nodes in all",
            MAX_FOUND);
        mortise_diag_help(
            ld->diags, d,
            "use fewer discovery edges, or give fewer nodes a 'capability'");
    }
}

static void use_discovery_plugin(void *into, const char *name)
{
    mortise_load_plugin(into, "", name);
}

int mortise_load_discovery_plugins(struct mortise_loader *ld,
                                   struct mortise_err *why)
{
    const struct mortise_catalog *catalog = ld->catalog;
    int rv =
        catalog->discovery != NULL
            ? catalog->discovery(catalog->ud, use_discovery_plugin, ld, why)
            : MORTISE_OK;

    ld->nomem |= rv == MORTISE_ENOMEM;
    return rv;
}

/* A missing plugin is no error, because the graph has a fallback.  `check`
 * warns, since the author may have meant something else. */
static void find_discovery_plugins(struct mortise_loader *ld,
                                   const struct reading *r,
                                   struct mortise_span span)
{
    struct mortise_err why = {0};

    if (ld->catalog->discovery == NULL)
        mortise_fail(&why, MORTISE_ENOTFOUND,
                     "no discovery plugin is available");
    else if (mortise_load_discovery_plugins(ld, &why) == MORTISE_OK ||
             ld->nomem)
        return;
    else if (ld->catalog->advise)
        mortise_load_report_refusal(ld, "W0453", span, "discovery", &why);
    r->d->nobody = mortise_arena_strdup(ld->arena, why.msg);
    ld->nomem |= r->d->nobody == NULL;
}

static void add_discovery_edges(struct mortise_loader *ld, uint32_t from,
                                const struct reading *r,
                                struct mortise_span span)
{
    struct mortise_edge_draft *draft;

    find_discovery_plugins(ld, r, span);
    check_found_count(ld, r, add_found_edges(ld, from, r, span), span);
    draft = mortise_load_edge(ld, from, r->fallback, MORTISE_EDGE_FALLBACK);
    if (draft != NULL)
        draft->edge.discovery = r->d;
    mortise_load_defer(ld, mortise_load_deferred_tmpl, &r->d->query, r->query,
                       from, MORTISE_IN_ERROR);
}

void mortise_load_discovery(struct mortise_loader *ld, uint32_t from,
                            const struct mortise_slot *slot)
{
    struct reading r = {.d = mortise_load_alloc(ld, sizeof *r.d)};

    if (r.d == NULL)
        return;
    r.d->kind = "any";
    mortise_keys_read_slot(slot, ld, &r, ld->diags);
    if (from != MORTISE_NOWHERE && r.query != NULL && r.fallback != NULL)
        add_discovery_edges(ld, from, &r, slot->name->span);
}
