/* compaction.c -- which predecessors a leaf receives, and how outputs are
 * shortened.
 *
 *   (1) A leaf receives the outputs of the nodes in its depends_on, in that
 *       order, and no others, whichever edges lead to it.
 *   (2) The output of a predecessor is shortened by an operation.  A leaf can
 *       name the operation for its own output (`compaction`); then every output
 *       of the leaf passes through it.  For any other node, agent/compact
 *       shortens long outputs if it is installed.
 *   (3) The operation only reads, so that it can be called again after a crash.
 *   (4) The operation gets the model of the node itself if that node has
 *       `compaction`, else the model of the first leaf that depends on the
 *       node, in the order of the file.
 */
#include "lang/graph/load/node.h"

#include <stdio.h>
#include <string.h>

/* The JSON text of {provider_id, ...}, in the graph's arena; NULL if `llm` is
 * NULL. */
static const char *get_llm_text(struct mortise_loader *ld,
                                const struct mortise_yaml *llm)
{
    json_t *json = llm != NULL ? mortise_yaml_to_json(llm, false) : NULL;
    const char *text = llm != NULL ? mortise_load_json(ld, json) : NULL;

    json_decref(json);
    return text;
}

/* ---- compaction of a leaf ------------------------------------------------ */

/* (3) */
static void check_compaction_effect(struct mortise_loader *ld,
                                    const struct mortise_side_operation *c,
                                    struct mortise_span at)
{
    if (c->op->effect <= MORTISE_READ)
        return;
    mortise_diag_help(
        ld->diags,
        mortise_diag_add(
            ld->diags, "E0520", at,
            "%s/%s has effects (%s), but compaction must not have effects",
            c->plugin, c->operation, mortise_effect_name(c->op->effect)),
        "use an operation that is pure or read, such as agent/compact, which "
        "asks a model");
}

static void read_compaction(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    const char *name = slot->value->str, *slash = strchr(name, '/');
    struct mortise_side_operation *c = mortise_load_alloc(ld, sizeof *c);
    struct mortise_err why = {0};

    if (slash == NULL || slash == name || slash[1] == '\0') {
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0505", slot->value->span,
                             "'%s' is not a valid operation", name),
            "write compaction as PLUGIN/OPERATION, such as agent/compact");
        return;
    }
    if (c == NULL)
        return;
    c->plugin = mortise_arena_strndup(ld->arena, name, (size_t)(slash - name));
    c->operation = slash + 1;
    c->declared_by_node = true;
    ld->nomem |= c->plugin == NULL;
    if (ld->nomem)
        return;
    c->op =
        ld->catalog->operation(ld->catalog->ud, c->plugin, c->operation, &why);
    ld->nomem |= why.code == MORTISE_ENOMEM;
    if (c->op == NULL) {
        mortise_load_report_refusal(
            ld, why.code == MORTISE_ECONFIG ? "E0507" : "E0501",
            slot->value->span, c->plugin, &why);
        return;
    }
    if (why.code == MORTISE_EINVAL)
        mortise_diag_add(ld->diags, "E0607", slot->value->span, "%s", why.msg);
    check_compaction_effect(ld, c, slot->value->span);
    mortise_load_plugin(ld, "", c->plugin);
    r->node->compaction = c;
}

const struct mortise_key mortise_compaction_row = {
    .name = "compaction",
    .about = "PLUGIN/OPERATION that shortens the output for dependent nodes "
             "(default: agent/compact, for long outputs).",
    .value = MORTISE_V_STRING,
    .read = read_compaction};

/* ---- the default compaction (2) ------------------------------------------ */

static struct mortise_side_operation *
new_default_compaction(struct mortise_loader *ld,
                       const struct mortise_yaml *llm)
{
    struct mortise_side_operation *c = mortise_load_alloc(ld, sizeof *c);
    struct mortise_err why = {0};

    if (c == NULL)
        return NULL;
    c->plugin = "agent";
    c->operation = "compact";
    c->llm = get_llm_text(ld, llm);
    c->op =
        ld->catalog->operation(ld->catalog->ud, c->plugin, c->operation, &why);
    ld->nomem |= why.code == MORTISE_ENOMEM;
    if (why.code != MORTISE_OK)
        c->op = NULL; /* without the operation, long outputs are cut */
    if (c->op != NULL)
        mortise_load_plugin(ld, "", c->plugin);
    return c;
}

/* Add one entry of depends_on.  An unknown node has been reported by the reader
 * of that key. */
static void add_leaf_predecessor(struct mortise_loader *ld,
                                 struct mortise_node_reader *r, uint32_t *list,
                                 const struct mortise_yaml *id,
                                 const struct mortise_yaml *llm)
{
    const struct mortise_node *found =
        id->kind == MORTISE_YAML_STRING
            ? mortise_graph_find_node(ld->g, id->str)
            : NULL;
    struct mortise_node *of;

    if (found == NULL || found == r->node)
        return;
    of = &ld->g->nodes[found->index];
    for (uint32_t i = 0; i < r->node->n_hears; i++)
        if (list[i] == of->index)
            return;
    list[r->node->n_hears++] = of->index;
    if (of->compaction == NULL)
        of->compaction = new_default_compaction(ld, llm);
}

void mortise_node_complete_predecessors(struct mortise_loader *ld,
                                        struct mortise_node_reader *r,
                                        const struct mortise_yaml *llm)
{
    const struct mortise_yaml *ids = mortise_yaml_get(r->map, "depends_on");
    const size_t n = ids == NULL                     ? 0
                     : ids->kind == MORTISE_YAML_SEQ ? ids->n
                                                     : 1;
    uint32_t *list = n > 0 ? mortise_load_alloc(ld, n * sizeof *list) : NULL;

    if (r->node->compaction != NULL && r->node->compaction->declared_by_node)
        r->node->compaction->llm = get_llm_text(ld, llm);
    for (size_t i = 0; list != NULL && i < n && !ld->nomem; i++)
        add_leaf_predecessor(
            ld, r, list,
            n > 1 || ids->kind == MORTISE_YAML_SEQ ? ids->items[i] : ids, llm);
    r->node->hears = list;
}
