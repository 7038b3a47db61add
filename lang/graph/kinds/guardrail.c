/* guardrail.c -- guardrail nodes: guardrails that check a target of their
 * own. */
#include "lang/graph/load/node.h"

#include <string.h>

/* ---- the target ---------------------------------------------------------- */

/* A target that is sanitized in place is a write. */
static void add_sanitize_write(struct mortise_loader *ld,
                               struct mortise_node *node)
{
    if (node->target_is_path &&
        node->on_violation == MORTISE_VIOLATION_SANITIZE)
        mortise_node_add_write(ld, node, &node->target_path, NULL, node->span);
}

/* A target that is a path below scratch or artifacts can be sanitized in place.
 * `state.scratch.x` is the same path as `scratch.x`. */
static void find_target_path(struct mortise_loader *ld,
                             struct mortise_node *node)
{
    const char *text = mortise_cel_get_path(node->target.cel);
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

static void compile_guard_target(struct mortise_loader *ld,
                                 const struct mortise_deferred_expr *late)
{
    struct mortise_node *node = late->into;

    mortise_load_expr(ld, &node->target, late->at, late->end);
    if (node->target.cel != NULL)
        find_target_path(ld, node);
    add_sanitize_write(ld, node);
}

static void read_guard_target(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->has_target = true;
    mortise_load_defer(ctx, compile_guard_target, r->node, slot->value,
                       r->node->index, MORTISE_IN_OUTPUT);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    MORTISE_ROW(mortise_timeout_row),
    {.name = "guardrails",
     .about = "Ids of guardrails that check the target, one after the other.",
     .value = MORTISE_V_STRINGS,
     .required = true,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_TARGET])},
    {.name = "target",
     .about = "An expression that gives the checked value (default: the whole "
              "scratch).",
     .value = MORTISE_V_EXPR,
     .read = read_guard_target},
    {.name = "on_violation",
     .about = "The reaction to a violation: block (the default), reroute, warn "
              "or sanitize.",
     .value = MORTISE_V_WORD,
     .words = mortise_violation_words,
     .read = mortise_node_read_on_violation,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(enum mortise_on_violation, struct mortise_node, on_violation)},
    {.name = "reroute_target",
     .about = "The target of a reroute after a violation.",
     .value = MORTISE_V_ID,
     .read = mortise_node_read_reroute_target},
    MORTISE_ROWS(mortise_work_rows),
};

/* ---- the kind ------------------------------------------------------------ */

/* The default target is the whole of scratch. */
static void finish_guardrail_node(struct mortise_loader *ld,
                                  struct mortise_node_reader *r)
{
    struct mortise_node *node = r->node;

    node->effect = MORTISE_READ;
    if (node->has_target)
        return;
    node->target_is_path = true;
    ld->nomem |= mortise_path_parse(&node->target_path, ld->arena, "scratch", 7,
                                    NULL) != MORTISE_OK;
    add_sanitize_write(ld, node);
}

const struct mortise_node_kind mortise_graph_kind_guardrail = {
    .place = {MORTISE_KIND_PLACE("guardrail", keys)},
    .finish = finish_guardrail_node};
