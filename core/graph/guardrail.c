/* guardrail.c -- guardrail nodes: who looks at what, and what follows. */
#include "graph/node.h"

#include <string.h>

void mortise_node_read_guardrails(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    const struct mortise_yaml *list = slot->value;
    struct mortise_err why;

    r->node->guardrails = mortise_load_strings(ld, list);
    r->node->n_guardrails = list->n;
    for (size_t i = 0; i < list->n && !ld->nomem; i++) {
        int rv =
            ld->catalog->guardrail(ld->catalog->ud, list->items[i]->str, &why);

        ld->nomem |= rv == MORTISE_ENOMEM;
        if (rv == MORTISE_OK)
            mortise_load_plugin(ld, "guardrail:", list->items[i]->str);
        else if (rv != MORTISE_ENOMEM)
            mortise_diag_add(ld->diags, "E0502", list->items[i]->span, "%s",
                             why.msg);
    }
}

/* What may be replaced in place is a write. */
static void add_write(struct mortise_loader *ld, struct mortise_node *node)
{
    if (node->target_is_path &&
        node->on_violation == MORTISE_VIOLATION_SANITIZE)
        mortise_node_add_write(ld, node, &node->target_path, node->span);
}

/* A target that is a path below scratch or artifacts can be sanitised in
 * place; `state.scratch.x` is the same as `scratch.x`. */
static void find_target_path(struct mortise_loader *ld,
                             struct mortise_node *node)
{
    const char *text = mortise_cel_as_path(node->target.cel);
    int rv;

    if (text == NULL)
        return;
    if (strncmp(text, "state.", 6) == 0)
        text += 6;
    if (strncmp(text, "scratch", 7) != 0 && strncmp(text, "artifacts", 9) != 0)
        return;
    rv = mortise_path_parse(&node->target_path, ld->arena, text, strlen(text),
                            NULL);
    ld->nomem |= rv == MORTISE_ENOMEM;
    node->target_is_path =
        rv == MORTISE_OK &&
        strcmp(node->target_path.steps[0].key,
               text[0] == 's' ? "scratch" : "artifacts") == 0;
}

static void late_target(struct mortise_loader *ld,
                        const struct mortise_late *late)
{
    struct mortise_node *node = late->into;

    mortise_load_expr(ld, &node->target, late->at, late->end);
    if (node->target.cel != NULL)
        find_target_path(ld, node);
    add_write(ld, node);
}

void mortise_node_read_target(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    r->node->has_target = true;
    mortise_load_late(ctx, (struct mortise_late){.fn = late_target,
                                                 .into = r->node,
                                                 .at = slot->value,
                                                 .node = r->node->index,
                                                 .end = MORTISE_IN_OUTPUT});
}

void mortise_node_read_on_violation(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;

    r->node->on_violation = (enum mortise_on_violation)slot->word;
    if (slot->word == MORTISE_VIOLATION_REROUTE &&
        mortise_yaml_get(r->map, "reroute_target") == NULL)
        mortise_diag_add(ld->diags, "E0310", slot->value->span,
                         "'reroute' needs 'reroute_target'");
}

void mortise_node_read_reroute_target(void *ctx, void *into,
                                      const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;

    if (r->node->on_violation != MORTISE_VIOLATION_REROUTE)
        mortise_diag_add(ld->diags, "E0310", slot->name->span,
                         "'reroute_target' needs 'on_violation: reroute'");
    mortise_load_edge(ld, r->node->index, slot->value, MORTISE_EDGE_REROUTE);
}

/* Guardrails look at the whole scratch unless they say otherwise. */
void mortise_node_finish_guardrail(struct mortise_loader *ld,
                                   struct mortise_reading *r)
{
    struct mortise_node *node = r->node;

    if (node->has_target)
        return;
    node->target_is_path = true;
    ld->nomem |= mortise_path_parse(&node->target_path, ld->arena, "scratch", 7,
                                    NULL) != MORTISE_OK;
    add_write(ld, node);
}
