/* graph_keys.c -- the keys of a graph, in a file or inside a node.
 *
 * Both tables share most rows.  A file that a node names is read like any other
 * file.  Its `limits` are checked, but they apply only when the file runs by
 * itself: a run has the limits of its outermost graph.
 *
 * Keys are read in the order of the table: first the keys that others build on
 * (schemas, limits, defaults), then the nodes, then the keys that name nodes.
 */
#include <string.h>

#include "lang/graph/load/files.h"

#include "lang/yaml/header.h"

static void read_graph_metadata(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_graph *g = into;
    struct mortise_metadata m;

    mortise_metadata_read(&m, slot, ld->diags);
    g->name = m.name;
    g->version = m.version;
}

/* From the weakest to the strictest. */
enum { APPROVE_NOTHING, APPROVE_PLAN, APPROVE_NODES, APPROVE_TOOLS };

static void read_hitl_mode(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    (void)ctx;
    /* The mode of the graph around this one applies too. */
    g->approve_tools |= slot->word >= APPROVE_TOOLS;
    g->approve_nodes |= slot->word >= APPROVE_NODES;
    g->approve_plan |= slot->word >= APPROVE_PLAN;
}

/* Set the field of the row in each listed node.  The field is one of the node,
 * not of `into`. */
static void read_interrupt_nodes(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *id;

    (void)into;
    for (size_t i = 0; (id = mortise_load_id(slot, i)) != NULL; i++) {
        uint32_t node = mortise_load_node_id(ld, id);

        if (node != MORTISE_NOWHERE)
            *(bool *)((char *)&ld->g->nodes[node] + slot->key->at) = true;
    }
}

static const struct mortise_word hitl_modes[] = {
    {"none", APPROVE_NOTHING, false},
    {"approve_plan", APPROVE_PLAN, false},
    {"approve_each_node", APPROVE_NODES, false},
    {"approve_tools", APPROVE_TOOLS, false},
    {NULL, 0, false},
};

/* Under `explicit` and `none`, the `checkpoint` of a node still applies. */
static const struct mortise_word checkpoint_policies[] = {
    {"every_node", 0, false},
    {"explicit", 1, false},
    {"none", 1, false},
    {NULL, 0, false},
};

static const struct mortise_word failures[] = {
    {"continue", 0, false},
    {"fail_fast", 1, false},
    {NULL, 0, false},
};

static const struct mortise_word ends[] = {
    {"all", 0, false},
    {"first", 1, false},
    {NULL, 0, false},
};

static const struct mortise_word kinds[] = {{.word = "Graph"}, {.word = NULL}};

/* The rows of every graph, in three parts: files have further keys between
 * them. */
static const struct mortise_key mode_keys[] = {
    {.name = "hitl_mode",
     .about =
         "What needs an approval: none (the default), approve_plan (the graph, "
         "before its first node), approve_each_node, or approve_tools (each "
         "call of a plugin). Each includes the weaker ones.",
     .value = MORTISE_V_WORD,
     .words = hitl_modes,
     .read = read_hitl_mode},
    {.name = "failure",
     .about = "The effect of a failed node on other nodes: continue (the "
              "default) or fail_fast.",
     .words = failures,
     MORTISE_INTO_WORD_BOOL(struct mortise_graph, fail_fast)},
    {.name = "end",
     .about = "When the run ends: all (when nothing is active, the default) or "
              "first (at the first arrival at END).",
     .words = ends,
     MORTISE_INTO_WORD_BOOL(struct mortise_graph, end_first)},
    {.name = "checkpoint_policy",
     .about = "Which completed nodes are written to disk: every_node (the "
              "default), explicit or none.",
     .words = checkpoint_policies,
     MORTISE_INTO_WORD_BOOL(struct mortise_graph, coarse)},
    {.name = "state",
     .about =
         "The schema of the state, and how writes to one path are combined.",
     MORTISE_INTO_SAME(mortise_state_place)},
};

static const struct mortise_key default_keys[] = {
    {.name = "memory_consistency",
     .about = "The default consistency of memory policies: snapshot (the "
              "default), live or journaled.",
     .words = mortise_consistency_words,
     MORTISE_INTO_WORD(struct mortise_graph, consistency)},
    {.name = "defaults",
     .about = "Default values for nodes.",
     .value = MORTISE_V_MAP,
     .place = &mortise_defaults_place,
     .read = mortise_load_defaults},
    {.name = "persona",
     .about = "The persona: its traits decide personality edges and shape the "
              "prompts of gmi nodes.",
     .value = MORTISE_V_MAP,
     .place = &mortise_persona_place,
     .read = mortise_load_persona},
};

static const struct mortise_key node_keys[] = {
    {.name = "nodes",
     .about = "Maps ids of nodes to nodes.",
     .value = MORTISE_V_MAP,
     .required = true,
     .each = &mortise_node_row,
     .read = mortise_load_nodes},
    {.name = "edges",
     .about = "Edges, in addition to those that nodes define.",
     .value = MORTISE_V_LIST,
     .each = &mortise_edge_row,
     .read = mortise_load_edges},
    {.name = "start",
     .about = "The node or nodes where a run begins, or {map: ...}.",
     MORTISE_FORMS(mortise_start_forms),
     .read = mortise_load_start},
    {.name = "interrupt_before",
     .about = "Nodes before which the run pauses.",
     .value = MORTISE_V_IDS,
     .read = read_interrupt_nodes,
     MORTISE_AT(bool, struct mortise_node, interrupt_before)},
    {.name = "interrupt_after",
     .about = "Nodes after which the run pauses.",
     .value = MORTISE_V_IDS,
     .read = read_interrupt_nodes,
     MORTISE_AT(bool, struct mortise_node, interrupt_after)},
    {.name = "budget",
     .about = "The budget of the graph, including its inner graphs.",
     .value = MORTISE_V_MAP,
     .place = &mortise_budget_place,
     .read = mortise_load_budget},
};

static const struct mortise_key file_keys[] = {
    MORTISE_HEADER_KEYS(kinds),
    {.name = "metadata",
     .about = "The name of the graph.",
     .value = MORTISE_V_MAP,
     .required = true,
     .place = &mortise_metadata_place,
     .read = read_graph_metadata},
    {.name = "goal",
     .about = "The purpose of the graph, for people.",
     .value = MORTISE_V_STRING},
    MORTISE_ROWS(mode_keys),
    {.name = "limits",
     .about = "The limits of a run.",
     .value = MORTISE_V_MAP,
     .place = &mortise_limits_place,
     .read = mortise_load_limits},
    MORTISE_ROWS(default_keys),
    {.name = "roles",
     .about = "Maps ids of roles to roles, in addition to the built-in ones.",
     .value = MORTISE_V_MAP,
     .each = &mortise_role_row,
     .read = mortise_load_roles},
    MORTISE_ROWS(node_keys),
};

static const struct mortise_key inner_keys[] = {
    MORTISE_ROWS(mode_keys),
    MORTISE_ROWS(default_keys),
    MORTISE_ROWS(node_keys),
};

const struct mortise_place mortise_graph_place = {
    MORTISE_PLACE_OF("a graph", file_keys)};

/* A graph in a node, for the suggestions on misspelled keys: a key may be one
 * that only files have. */
static const struct mortise_place any_graph;
static const struct mortise_place file_place = {
    MORTISE_PLACE_OF("a graph", file_keys), .type = "the graph of a file",
    .of = &any_graph};
const struct mortise_place mortise_inner_place = {
    MORTISE_PLACE_OF("a graph", inner_keys), .type = "an inner graph",
    .of = &any_graph};
static const struct mortise_place *const graph_types[] = {
    &file_place, &mortise_inner_place, NULL};
static const struct mortise_place any_graph = {.types = graph_types};

const struct mortise_key mortise_inner_forms[3] = {
    {.value = MORTISE_V_MAP, .place = &mortise_inner_place},
    {.value = MORTISE_V_MAP, .place = &mortise_graph_ref_place},
    {.value = MORTISE_V_STRING},
};

void mortise_load_file_keys(struct mortise_loader *ld)
{
    const struct mortise_yaml *root = ld->g->tree;

    ld->diagnoses = strstr(root->span.file->text, "diagnostics") != NULL;
    if (!mortise_header_check(root, "Graph", ld->diags))
        return;
    mortise_keys_read(&mortise_graph_place, root, root->span, ld, ld->g,
                      ld->diags);
    mortise_check_roles(ld);
}

void mortise_load_inner(struct mortise_loader *ld,
                        const struct mortise_yaml *map, struct mortise_span at)
{
    mortise_keys_read(&mortise_inner_place, map, at, ld, ld->g, ld->diags);
}
