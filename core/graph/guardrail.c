/* guardrail.c -- guardrails: who looks at what, and what follows.
 *
 * A guardrail node looks at its target; a node that calls has a policy, whose
 * guardrails look at what goes in and at what comes out.  Either has one word
 * for what becomes of a violation, and one place where that leads.
 */
#include "graph/node.h"

#include <string.h>

const struct mortise_word mortise_violation_words[] = {
    {"block", MORTISE_VIOLATION_BLOCK, false},
    {"reroute", MORTISE_VIOLATION_REROUTE, false},
    {"warn", MORTISE_VIOLATION_WARN, false},
    {"sanitize", MORTISE_VIOLATION_SANITIZE, false},
    {NULL, 0, false},
};

/* ---- ids ----------------------------------------------------------------- */

static void read_id(struct mortise_loader *ld, const struct mortise_yaml *id)
{
    struct mortise_err why;
    int rv = ld->catalog->guardrail(ld->catalog->ud, id->str, &why);

    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        mortise_load_plugin(ld, "guardrail:", id->str);
    else if (rv != MORTISE_ENOMEM)
        mortise_diag_add(ld->diags, "E0502", id->span, "%s", why.msg);
}

static void read_ids(struct mortise_loader *ld, struct mortise_guard_list *out,
                     const struct mortise_yaml *list)
{
    out->ids = mortise_load_strings(ld, list);
    out->n = list->n;
    for (size_t i = 0; i < list->n && !ld->nomem; i++)
        read_id(ld, list->items[i]);
}

void mortise_node_read_guardrails(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    read_ids(ctx, &r->node->guards[MORTISE_GUARD_TARGET], slot->value);
}

void mortise_node_read_post_approval(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    read_ids(ctx, &r->node->guards[MORTISE_GUARD_DECISION], slot->value);
}

/* ---- targets ------------------------------------------------------------- */

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

/* ---- violations ---------------------------------------------------------- */

/* `map` is where on_violation and reroute_target stand. */
static void read_on_violation(struct mortise_loader *ld,
                              struct mortise_node *node,
                              const struct mortise_yaml *map,
                              const struct mortise_slot *slot)
{
    node->on_violation = (enum mortise_on_violation)slot->word;
    if (slot->word == MORTISE_VIOLATION_REROUTE &&
        mortise_yaml_get(map, "reroute_target") == NULL)
        mortise_diag_add(ld->diags, "E0310", slot->value->span,
                         "'reroute' needs 'reroute_target'");
}

static void read_reroute_target(struct mortise_loader *ld,
                                struct mortise_node *node,
                                const struct mortise_slot *slot)
{
    if (node->on_violation != MORTISE_VIOLATION_REROUTE)
        mortise_diag_add(ld->diags, "E0310", slot->name->span,
                         "'reroute_target' needs 'on_violation: reroute'");
    mortise_load_edge(ld, node->index, slot->value, MORTISE_EDGE_REROUTE);
}

void mortise_node_read_on_violation(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    read_on_violation(ctx, r->node, r->map, slot);
}

void mortise_node_read_reroute_target(void *ctx, void *into,
                                      const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    read_reroute_target(ctx, r->node, slot);
}

/* ---- guardrail_policy ---------------------------------------------------- */

struct policy {
    struct mortise_node *node;
    const struct mortise_yaml *map;
};

static void policy_input(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct policy *p = into;

    read_ids(ctx, &p->node->guards[MORTISE_GUARD_INPUT], slot->value);
}

static void policy_output(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct policy *p = into;

    read_ids(ctx, &p->node->guards[MORTISE_GUARD_OUTPUT], slot->value);
}

static void policy_on_violation(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct policy *p = into;

    read_on_violation(ctx, p->node, p->map, slot);
}

static void policy_reroute_target(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct policy *p = into;

    read_reroute_target(ctx, p->node, slot);
}

static const struct mortise_key policy_keys[] = {
    {.name = "input",
     .about = "Ids of guardrails that judge what goes in.",
     .value = MORTISE_V_STRINGS,
     .here = MORTISE_HERE,
     .read = policy_input},
    {.name = "output",
     .about = "Ids of guardrails that judge what comes out.",
     .value = MORTISE_V_STRINGS,
     .here = MORTISE_HERE,
     .read = policy_output},
    {.name = "on_violation",
     .about = "block (the default), reroute, warn or sanitize.",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = mortise_violation_words,
     .read = policy_on_violation},
    {.name = "reroute_target",
     .about = "The node to go to instead when something is violated.",
     .value = MORTISE_V_ID,
     .here = MORTISE_HERE,
     .read = policy_reroute_target},
};

const struct mortise_place mortise_guard_policy_place = {
    .what = "guardrail_policy",
    .keys = policy_keys,
    .n = sizeof policy_keys / sizeof policy_keys[0]};

void mortise_node_read_guard_policy(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    struct policy p = {r->node, slot->value};

    mortise_keys_enter(slot, ld, &p, ld->diags);
    if (mortise_yaml_get(slot->value, "input") == NULL &&
        mortise_yaml_get(slot->value, "output") == NULL)
        mortise_diag_add(ld->diags, "E0206", slot->name->span,
                         "guardrail_policy needs 'input' or 'output': the ids "
                         "of guardrails");
}
