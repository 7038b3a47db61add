/* guardrail.c -- guardrails: who looks at what, and what follows.
 *
 * A guardrail node looks at its target; a node that calls has a policy, whose
 * guardrails look at what goes in and at what comes out; that of an edge looks
 * at what passes along it.  Each has one word for what becomes of a violation,
 * and one place where that leads: an edge of its own.
 */
#include "graph/load/node.h"

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
    struct mortise_err why = {0};
    int rv = ld->catalog->guardrail(ld->catalog->ud, id->str, &why);

    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        mortise_load_plugin(ld, MORTISE_GUARD_PREFIX, id->str);
    else if (rv != MORTISE_ENOMEM) {
        mortise_diag_add(ld->diags, "E0502", id->span, "%s", why.msg);
        mortise_diags_because(ld->diags, &why);
    }
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
                              enum mortise_on_violation *out,
                              const struct mortise_yaml *map,
                              const struct mortise_slot *slot)
{
    *out = (enum mortise_on_violation)slot->word;
    if (slot->word == MORTISE_VIOLATION_REROUTE &&
        mortise_yaml_get(map, "reroute_target") == NULL)
        mortise_diag_add(ld->diags, "E0310", slot->value->span,
                         "'reroute' needs 'reroute_target'");
}

static void check_reroute(struct mortise_loader *ld,
                          enum mortise_on_violation on,
                          const struct mortise_slot *target)
{
    if (on != MORTISE_VIOLATION_REROUTE)
        mortise_diag_add(ld->diags, "E0310", target->name->span,
                         "'reroute_target' needs 'on_violation: reroute'");
}

static void read_reroute_target(struct mortise_loader *ld,
                                struct mortise_node *node,
                                const struct mortise_slot *slot)
{
    check_reroute(ld, node->on_violation, slot);
    mortise_load_edge(ld, node->index, slot->value, MORTISE_EDGE_REROUTE);
}

void mortise_node_read_on_violation(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    read_on_violation(ctx, &r->node->on_violation, r->map, slot);
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

    read_on_violation(ctx, &p->node->on_violation, p->map, slot);
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

/* ---- ... of edges -------------------------------------------------------- */

struct edge_policy {
    struct mortise_edge_policy *p;
    const struct mortise_yaml *map, *target;
};

static void edge_input(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct edge_policy *r = into;

    read_ids(ctx, &r->p->guards, slot->value);
}

static void edge_on_violation(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct edge_policy *r = into;

    read_on_violation(ctx, &r->p->on_violation, r->map, slot);
}

static void edge_reroute_target(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct edge_policy *r = into;

    check_reroute(ctx, r->p->on_violation, slot);
    r->target = slot->value;
}

static const struct mortise_key edge_policy_keys[] = {
    {.name = "input",
     .about = "Ids of guardrails that judge what passes along the edge: the "
              "output of the node that it leaves.",
     .value = MORTISE_V_STRINGS,
     .here = MORTISE_HERE,
     .required = MORTISE_HERE,
     .min = 1,
     .read = edge_input},
    {.name = "on_violation",
     .about = "block (the default), reroute, warn or sanitize.",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = mortise_violation_words,
     .read = edge_on_violation},
    {.name = "reroute_target",
     .about = "The node to go to instead of along this edge when something is "
              "violated.",
     .value = MORTISE_V_ID,
     .here = MORTISE_HERE,
     .read = edge_reroute_target},
};

const struct mortise_place mortise_edge_policy_place = {
    .what = "guardrail_policy of an edge",
    .keys = edge_policy_keys,
    .n = sizeof edge_policy_keys / sizeof edge_policy_keys[0]};

/* Does anything pass along edges that leave there? */
static bool check_source(struct mortise_loader *ld, uint32_t from,
                         const struct mortise_slot *slot)
{
    const struct mortise_node *node =
        from != MORTISE_START ? &ld->g->nodes[from] : NULL;
    const char *type;

    if (node == NULL) {
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0318", slot->name->span,
                             "nothing passes along an edge from START"),
            "put it on the node that the edge leads to");
        return false;
    }
    if (mortise_node_gives(node) != MORTISE_GIVES_ROUTE)
        return true;
    type = mortise_node_type_name(node->type);
    mortise_diag_help(
        ld->diags,
        mortise_diag_add(ld->diags, "E0318", slot->name->span,
                         "nothing passes along an edge of a %s", type),
        "put it on the edge to the %s, or on the node that this one leads to",
        type);
    return false;
}

void mortise_load_edge_policy(struct mortise_loader *ld, uint32_t from,
                              size_t first, const struct mortise_slot *slot)
{
    struct edge_policy r = {.p = mortise_load_alloc(ld, sizeof *r.p),
                            .map = slot->value};

    if (r.p == NULL)
        return;
    r.p->on_violation = MORTISE_VIOLATION_BLOCK;
    mortise_keys_enter(slot, ld, &r, ld->diags);
    if (from == MORTISE_NOWHERE || !check_source(ld, from, slot))
        return;
    if (r.target != NULL)
        mortise_load_edge(ld, from, r.target, MORTISE_EDGE_DETOUR);
    for (size_t i = first; i < ld->n_edges; i++)
        ld->edges[i].policy = r.p;
}
