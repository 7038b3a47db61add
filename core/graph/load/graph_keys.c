/* graph_keys.c -- the keys of a graph: of a file, or inside a node.
 *
 * The tables share most of their rows.  A file that a node names is
 * read like any other; of its limits the run has its own already, so they are
 * checked and hold when it runs by itself.
 *
 * Their order in the table is the order in which they are read: what others
 * build on (schemas, limits, defaults) before the nodes, and what names nodes
 * after them.
 */
#include <string.h>

#include "graph/load/files.h"

#include "yaml/header.h"

static void read_metadata(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_metadata m;

    (void)into;
    mortise_metadata_read(&m, slot, ld->diags);
    ld->g->name = m.name;
    ld->g->version = m.version;
}

static void read_hitl_mode(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->g->approve_tools |= slot->word == 1; /* or that of a graph around it */
}

static void read_checkpoint_policy(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->g->coarse = slot->word == 1;
}

static void read_failure(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->g->fail_fast = slot->word == 1;
}

static void read_end(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->g->end_first = slot->word == 1;
}

static void read_state(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_state(ctx, slot);
}

static void read_limits(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_limits(ctx, slot);
}

static void read_defaults(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_defaults(ctx, slot);
}

static void read_persona(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_persona(ctx, slot);
}

static void read_roles(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_roles(ctx, slot);
}

static void read_nodes(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    mortise_load_scope(ld, slot->value);
    if (!ld->nomem)
        mortise_load_nodes(ld, slot->name, slot->value);
}

static void read_edges(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    if (!ld->nomem)
        mortise_load_edges(ld, slot->value);
}

static void read_start(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_start(ctx, slot);
}

static void pause_before(struct mortise_loader *ld, void *ud,
                         const struct mortise_yaml *id)
{
    uint32_t i = mortise_load_node_id(ld, id);

    (void)ud;
    if (i != MORTISE_NOWHERE)
        ld->g->nodes[i].interrupt_before = true;
}

static void pause_after(struct mortise_loader *ld, void *ud,
                        const struct mortise_yaml *id)
{
    uint32_t i = mortise_load_node_id(ld, id);

    (void)ud;
    if (i != MORTISE_NOWHERE)
        ld->g->nodes[i].interrupt_after = true;
}

static void read_interrupt_before(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_each_id(ctx, slot, pause_before, NULL);
}

static void read_interrupt_after(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_each_id(ctx, slot, pause_after, NULL);
}

static void read_budget(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_budget(ctx, slot);
}

static const struct mortise_word hitl_modes[] = {
    {"none", 0, false},        {"approve_tools", 1, false},
    {"approve_plan", 0, true}, {"approve_each_node", 0, true},
    {NULL, 0, false},
};

/* A node that says so is written under either of the latter. */
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

/* What every graph has, in three parts: files have keys of their own between
 * them. */
static const struct mortise_key mode_keys[] = {
    {.name = "hitl_mode",
     .about =
         "What waits for an approval: none (the default) or approve_tools.",
     .value = MORTISE_V_WORD,
     .words = hitl_modes,
     .read = read_hitl_mode},
    {.name = "failure",
     .about = "What a failed node means for the others: continue (the default) "
              "or fail_fast.",
     .value = MORTISE_V_WORD,
     .words = failures,
     .read = read_failure},
    {.name = "end",
     .about = "When the run ends: all (the default: when nothing is active) or "
              "first (at the first arrival at END).",
     .value = MORTISE_V_WORD,
     .words = ends,
     .read = read_end},
    {.name = "checkpoint_policy",
     .about = "Which nodes are written when they are done: every_node (the "
              "default), explicit or none.",
     .value = MORTISE_V_WORD,
     .words = checkpoint_policies,
     .read = read_checkpoint_policy},
    {.name = "state",
     .about = "What the state may hold, and how writes to it meet.",
     .value = MORTISE_V_MAP,
     .place = &mortise_state_place,
     .read = read_state},
};

static const struct mortise_key default_keys[] = {
    {.name = "defaults",
     .about = "What holds for nodes that say nothing.",
     .value = MORTISE_V_MAP,
     .place = &mortise_defaults_place,
     .read = read_defaults},
    {.name = "persona",
     .about = "Whose traits decide where personality edges lead.",
     .value = MORTISE_V_MAP,
     .place = &mortise_persona_place,
     .read = read_persona},
};

static const struct mortise_key node_keys[] = {
    {.name = "nodes",
     .about = "Ids of nodes to what each does.",
     .value = MORTISE_V_MAP,
     .required = true,
     .each = &mortise_node_row,
     .read = read_nodes},
    {.name = "edges",
     .about = "Edges that nodes do not carry themselves.",
     .value = MORTISE_V_LIST,
     .each = &mortise_edge_row,
     .read = read_edges},
    {.name = "start",
     .about = "The node or nodes that a run begins with.",
     .value = MORTISE_V_IDS,
     .read = read_start},
    {.name = "interrupt_before",
     .about = "Nodes before which the run pauses.",
     .value = MORTISE_V_IDS,
     .read = read_interrupt_before},
    {.name = "interrupt_after",
     .about = "Nodes after which the run pauses.",
     .value = MORTISE_V_IDS,
     .read = read_interrupt_after},
    {.name = "budget",
     .about = "What the graph may spend, with the graphs in it.",
     .value = MORTISE_V_MAP,
     .place = &mortise_budget_place,
     .read = read_budget},
};

static const struct mortise_key file_keys[] = {
    MORTISE_HEADER_KEYS(kinds),
    {.name = "metadata",
     .about = "What the graph is called.",
     .value = MORTISE_V_MAP,
     .required = true,
     .place = &mortise_metadata_place,
     .read = read_metadata},
    {.name = "goal",
     .about = "What the graph is for, in words.",
     .value = MORTISE_V_STRING},
    MORTISE_ROWS(mode_keys),
    {.name = "limits",
     .about = "What bounds a run.",
     .value = MORTISE_V_MAP,
     .place = &mortise_limits_place,
     .read = read_limits},
    MORTISE_ROWS(default_keys),
    {.name = "roles",
     .value = MORTISE_V_MAP,
     .later = true,
     .each = &mortise_role_row,
     .read = read_roles},
    MORTISE_ROWS(node_keys),
    {.name = "memory_consistency", .later = true},
};

static const struct mortise_key inner_keys[] = {
    MORTISE_ROWS(mode_keys),
    MORTISE_ROWS(default_keys),
    MORTISE_ROWS(node_keys),
};

const struct mortise_place mortise_graph_place = {.what = "a graph",
                                                  .keys = file_keys,
                                                  .n = sizeof file_keys /
                                                       sizeof file_keys[0]};

/* A graph in a node, for which a key may be the file's. */
static const struct mortise_place any_graph;
static const struct mortise_place file_place = {.what = "a graph",
                                                .keys = file_keys,
                                                .n = sizeof file_keys /
                                                     sizeof file_keys[0],
                                                .type = "the graph of a file",
                                                .of = &any_graph};
static const struct mortise_place inner_place = {.what = "a graph",
                                                 .keys = inner_keys,
                                                 .n = sizeof inner_keys /
                                                      sizeof inner_keys[0],
                                                 .type = "an inner graph",
                                                 .of = &any_graph};
static const struct mortise_place *const graph_types[] = {&file_place,
                                                          &inner_place, NULL};
static const struct mortise_place any_graph = {.types = graph_types};

const struct mortise_key mortise_inner_forms[3] = {
    {.value = MORTISE_V_MAP, .place = &inner_place},
    {.value = MORTISE_V_MAP, .place = &mortise_graph_ref_place},
    {.value = MORTISE_V_STRING},
};

void mortise_load_file_keys(struct mortise_loader *ld)
{
    const struct mortise_yaml *root = ld->g->tree;

    ld->diagnoses = strstr(root->span.file->text, "diagnostics") != NULL;
    if (mortise_header_check(root, "Graph", ld->diags))
        mortise_keys_read(&mortise_graph_place, root, root->span, ld, NULL,
                          ld->diags);
}

void mortise_load_inner(struct mortise_loader *ld,
                        const struct mortise_slot *slot)
{
    mortise_keys_read(&inner_place, slot->value, slot->name->span, ld, NULL,
                      ld->diags);
}
