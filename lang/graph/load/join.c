/* join.c -- how nodes are entered: join, losers, on_branch_error.
 *
 * `join: best_effort` waits for all branches and drops those that failed.  It
 * is stored as `all` with `drop`, so runs know one kind of join less.
 *
 * `settled` waits for all branches too.  It then starts whatever the results
 * were, unless no branch ran.  It lists the failed branches, but does not
 * handle their errors: they fail the run at its end unless the graph sets
 * `collect`.  (`drop` would do neither.)
 *
 * `any` and `quorum` need only some of their branches.  While enough others may
 * succeed, a failed branch does not matter, so they drop it unless the graph
 * sets something else.  The join of a map counts the map's elements.
 */
#include "lang/graph/load/node.h"

static const struct mortise_word joins[] = {
    {"all", MORTISE_JOIN_ALL, false},
    {"any", MORTISE_JOIN_ANY, false},
    {"best_effort", 0, false},
    {"settled", MORTISE_JOIN_SETTLED, false},
    {NULL, 0, false},
};

static void read_join_quorum(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    (void)ctx;
    r->node->join.kind = MORTISE_JOIN_QUORUM;
    r->node->join.quorum = (uint32_t)slot->value->u.i;
    r->node->join.on_branch_error = MORTISE_BRANCH_DROP;
}

static const struct mortise_key quorum_keys[] = {
    {.name = "quorum",
     .about = "The number of edges or map elements that must arrive before the "
              "node starts.",
     .value = MORTISE_V_INT,
     .required = true,
     .min = 1,
     .max = 1e9,
     .read = read_join_quorum},
};

MORTISE_PLACE(quorum, "join");

const struct mortise_key mortise_join_forms[2] = {
    {.value = MORTISE_V_WORD, .words = joins},
    {.value = MORTISE_V_MAP, .place = &quorum_place},
};

void mortise_node_read_join(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    struct mortise_join *join = &r->node->join;
    const struct mortise_word *w =
        mortise_node_word_or_map(ctx, r, slot, "{quorum: N}");

    if (w == NULL)
        return;
    if (w->value != 0)
        join->kind = (enum mortise_join_kind)w->value;
    if (w->value == 0 || join->kind == MORTISE_JOIN_ANY)
        join->on_branch_error = MORTISE_BRANCH_DROP;
    ld->g->settles |= join->kind == MORTISE_JOIN_SETTLED;
}

void mortise_node_read_losers(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    r->node->join.finish = slot->word == 1;
    if (!mortise_join_is_race(&r->node->join) &&
        !mortise_keys_is_uncertain(slot->place, slot->map, "join"))
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'losers' needs join: any or {quorum: N}: the other "
                         "joins wait for all branches");
}

void mortise_node_read_on_branch_error(void *ctx, void *into,
                                       const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    enum mortise_branch_error how = (enum mortise_branch_error)slot->word;

    if (r->node->join.kind == MORTISE_JOIN_ALL &&
        r->node->join.on_branch_error == MORTISE_BRANCH_DROP &&
        how != MORTISE_BRANCH_DROP)
        mortise_diag_add(ld->diags, "E0212", slot->value->span,
                         "join: best_effort always drops the errors of "
                         "branches: remove 'on_branch_error'");
    if (r->node->join.kind == MORTISE_JOIN_SETTLED &&
        how == MORTISE_BRANCH_DROP)
        mortise_diag_help(ld->diags,
                          mortise_diag_add(ld->diags, "E0212",
                                           slot->value->span,
                                           "join: settled lists the errors of "
                                           "branches, and cannot drop them"),
                          "use collect, which does not fail the run, or fail, "
                          "which fails it at the end");
    r->node->join.on_branch_error = how;
}

/* Each element of a map counts, and their number is not known yet. */
static bool is_map_join(const struct mortise_graph *g,
                        const struct mortise_node *node)
{
    /* The edges that gather a map come after the written ones. */
    return node->n_in > 0 &&
           g->edges[node->in[node->n_in - 1]].kind == MORTISE_EDGE_GATHER;
}

/* A quorum larger than the number of edges can never be reached. */
static void check_join_quorum(struct mortise_loader *ld,
                              const struct mortise_node *node)
{
    const struct mortise_yaml *map =
        mortise_yaml_get(ld->g->nodes_map, node->id);

    if (node->join.kind == MORTISE_JOIN_QUORUM &&
        node->join.quorum > node->n_in && !is_map_join(ld->g, node))
        mortise_diag_add(
            ld->diags, "E0208",
            mortise_yaml_get(mortise_yaml_get(map, "join"), "quorum")->span,
            "'quorum' is %u, but only %u edge%s to '%s' (edges back to the "
            "entry of a loop do not count)",
            node->join.quorum, node->n_in,
            node->n_in == 1 ? " leads" : "s lead", node->id);
}

/* Only the map starts an element, so no element can start if the map fails. */
static void check_join_settled(struct mortise_loader *ld,
                               const struct mortise_node *node)
{
    if (node->join.kind == MORTISE_JOIN_SETTLED && node->n_in > 0 &&
        mortise_edge_is_map(&ld->g->edges[node->in[0]]))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(
                ld->diags, "E0212",
                mortise_yaml_get(mortise_yaml_get(ld->g->nodes_map, node->id),
                                 "join")
                    ->span,
                "'%s' is the first node of a map, and only the map leads to it",
                node->id),
            "set join: settled on a later node of the map, or on the join of "
            "the map");
}

void mortise_check_joins(struct mortise_loader *ld)
{
    for (uint32_t i = 0; i < ld->g->n_nodes; i++) {
        check_join_quorum(ld, &ld->g->nodes[i]);
        check_join_settled(ld, &ld->g->nodes[i]);
    }
}
