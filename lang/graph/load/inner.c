/* inner.c -- a graph inside another one: made, and loaded.
 *
 * The same readers load it, with a loader of its own, into the arena of the
 * outer one, with which it dies.  Limits, name and version are the outermost
 * graph's; of hitl_mode the stricter holds.  `defaults` of a file hold in the
 * graphs that are written in it, each key until one of those says another; a
 * file that is named has its own.
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
    g->coarse = outer->coarse;           /* unless it says otherwise */
    g->consistency = outer->consistency; /* likewise */
    g->concurrency = outer->concurrency;
    g->expr_cost = outer->expr_cost;
    g->limits = outer->limits;
    return g;
}

/* Leave what the expressions of output_mapping see. */
static void keep_names(struct mortise_loader *inner, struct mortise_reading *r)
{
    if (inner->g->nodes_map == NULL) /* it was never told: a finding */
        return;
    mortise_load_stand_at(inner, MORTISE_START);
    inner->names[MORTISE_IN_OUTPUT].schema = inner->g->artifacts;
    r->inner = mortise_load_alloc(inner, sizeof inner->names);
    if (r->inner != NULL)
        memcpy(r->inner, inner->names, sizeof inner->names);
}

/* A loader for g, which stands in what ld loads, or (`apart`) in a file of its
 * own. */
static struct mortise_loader loader_of(struct mortise_loader *ld,
                                       struct mortise_graph *g, bool apart)
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
        .left_out_before = mortise_diags_errors_left_out(ld->diags),
        .roles = apart ? NULL : ld->roles,
        .n_roles = apart ? 0 : ld->n_roles,
        .diagnoses = ld->diagnoses,
    };

    if (!apart)
        inner.defaults = ld->defaults; /* what it says itself comes first */
    return inner;
}

static bool is_own(const struct mortise_graph *g, const struct mortise_node *n)
{
    return n->index < g->n_nodes && &g->nodes[n->index] == n;
}

/* Its keys were read. */
static void end(struct mortise_loader *ld, struct mortise_loader *inner,
                struct mortise_reading *r)
{
    if (!inner->nomem)
        ld->root->whole(inner);
    if (!inner->nomem)
        keep_names(inner, r);
    if (is_own(ld->g, r->node)) /* and none of its nodes' tools */
        ld->known_of[r->node->index] = inner->known;
    ld->suggestions = inner->suggestions;
    ld->n_inner_doubts += mortise_check_doubts(inner);
    ld->nomem |= inner->nomem;
    mortise_load_finish(inner);
}

void mortise_inner_load(struct mortise_loader *ld, struct mortise_reading *r,
                        const struct mortise_slot *slot)
{
    struct mortise_loader inner = loader_of(ld, r->node->sub, slot == NULL);

    mortise_load_persona_defaults(&inner);
    if (slot != NULL)
        mortise_load_inner(&inner, slot->value, slot->name->span);
    else
        mortise_load_file_keys(&inner);
    end(ld, &inner, r);
}

/* A file is loaded anew for each node that runs it, since what stands around
 * it counts; its own findings would be the same again. */
void mortise_inner_load_named(struct mortise_loader *ld,
                              struct mortise_reading *r,
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
