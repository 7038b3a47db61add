/* inner.c -- creating and loading a graph inside another one.
 *
 * The same readers load the inner graph, with a loader of its own, into the
 * arena of the outer graph.  Limits, name and version are those of the
 * outermost graph.  The stricter hitl_mode of both applies.  The `defaults` of
 * a file also apply to the graphs written in it, except for the keys that such
 * a graph sets itself.  A file that a node names has only its own defaults.
 */
#include "lang/graph/load/files.h"
#include "lang/graph/load/node.h"

#include <string.h>

bool mortise_inner_is_too_deep(struct mortise_loader *ld,
                               struct mortise_span at)
{
    struct mortise_diag *d;

    if (ld->depth < ld->root->max_depth)
        return false;
    d = mortise_diag_add(ld->diags, "E0313", at,
                         "graphs can be nested at most %u deep",
                         ld->root->max_depth);
    mortise_diag_help(ld->diags, d, "raise limits.depth (default: 8)");
    return true;
}

struct mortise_graph *mortise_inner_new(struct mortise_loader *ld,
                                        const struct mortise_yaml *tree)
{
    const struct mortise_graph *outer = ld->g;
    struct mortise_graph *g = mortise_load_alloc(ld, sizeof *g);

    if (g == NULL)
        return NULL;
    g->name = outer->name;
    g->version = outer->version;
    g->path = tree->span.file->path;
    g->tree = tree;
    g->approve_tools = outer->approve_tools;
    g->approve_nodes = outer->approve_nodes;
    g->approve_plan = outer->approve_plan;
    g->coarse = outer->coarse;           /* unless the graph sets it */
    g->consistency = outer->consistency; /* unless the graph sets it */
    g->concurrency = outer->concurrency;
    g->expr_cost = outer->expr_cost;
    g->limits = outer->limits;
    return g;
}

/* Keep the names that the expressions of output_mapping see. */
static void keep_inner_scope(struct mortise_loader *inner,
                             struct mortise_node_reader *r)
{
    if (inner->g->nodes_map == NULL) /* the names were never set: a finding */
        return;
    mortise_load_set_scope_node(inner, MORTISE_START);
    inner->names[MORTISE_IN_OUTPUT].schema = inner->g->artifacts;
    r->inner = mortise_load_alloc(inner, sizeof inner->names);
    if (r->inner != NULL)
        memcpy(r->inner, inner->names, sizeof inner->names);
}

/* A loader for `g`, which is written in the graph of `ld`, or in a file of its
 * own (`apart`). */
static struct mortise_loader
new_inner_loader(struct mortise_loader *ld, struct mortise_graph *g, bool apart)
{
    struct mortise_loader inner = {
        .root = ld->root,
        .outer = ld,
        .depth = ld->depth + 1,
        .g = g,
        .arena = ld->arena,
        .mem = ld->mem,
        .catalog = ld->catalog,
        .diags = ld->diags,
        .defaults = {.retry = mortise_retry_default},
        .suggestions = ld->suggestions,
        .first_diag = ld->diags->n,
        .left_out_before = mortise_diags_count_lost_errors(ld->diags),
        .roles = apart ? NULL : ld->roles,
        .n_roles = apart ? 0 : ld->n_roles,
        .diagnoses = ld->diagnoses,
    };

    if (!apart)
        inner.defaults = ld->defaults; /* its own keys override these */
    return inner;
}

static bool is_graph_node(const struct mortise_graph *g,
                          const struct mortise_node *n)
{
    return n->index < g->n_nodes && &g->nodes[n->index] == n;
}

/* Finish the inner graph after its keys were read. */
static void finish_inner_graph(struct mortise_loader *ld,
                               struct mortise_loader *inner,
                               struct mortise_node_reader *r)
{
    if (!inner->nomem)
        ld->root->whole(inner);
    if (!inner->nomem)
        keep_inner_scope(inner, r);
    if (is_graph_node(ld->g, r->node)) /* not for a tool of a node */
        ld->known_of[r->node->index] = inner->known;
    ld->suggestions = inner->suggestions;
    ld->n_inner_doubts += mortise_check_count_doubts(inner);
    ld->nomem |= inner->nomem;
    mortise_load_finish(inner);
}

void mortise_inner_load(struct mortise_loader *ld,
                        struct mortise_node_reader *r,
                        const struct mortise_slot *slot)
{
    struct mortise_loader inner =
        new_inner_loader(ld, r->node->sub, slot == NULL);

    mortise_load_persona_defaults(&inner);
    if (slot != NULL)
        mortise_load_inner(&inner, slot->value, slot->name->span);
    else
        mortise_load_file_keys(&inner);
    finish_inner_graph(ld, &inner, r);
}

/* A file is loaded again for each node that runs it, because the scope around
 * the node matters.  Its own findings would be the same, so a file with
 * findings is not loaded twice. */
void mortise_inner_load_file(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_yaml *ref)
{
    struct mortise_graph_file *f = mortise_load_file(ld, ref);
    size_t errors = ld->diags->n_errors;

    if (f == NULL || (r->node->sub = mortise_inner_new(ld, f->tree)) == NULL)
        return;
    mortise_inner_load(ld, r, NULL);
    f->bad = ld->diags->n_errors > errors;
    if (!f->bad && !ld->nomem && !f->loaded)
        mortise_load_digest(ld, f->digest, f->tree);
    f->loaded = !f->bad;
    if (f->loaded)
        mortise_load_check_digest(ld, ref, f);
}
