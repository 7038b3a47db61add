/* tool.c -- tool nodes: one operation of a plugin.
 *
 *     tool: file/write
 *     tool: "${input.where}/send"
 *     tool_allowlist: [mail/send, chat/send]
 *
 * For a template, each operation of the list becomes a copy of the node
 * (`choices`), as if its name were written: with its own effect class, timeout
 * and schemas, and with the same checks.  A run evaluates the template before
 * it does anything else with the node (core/run/outcome/choose.c).  Until then,
 * the node is as strict as the strictest choice.
 */
#include "lang/graph/load/node.h"

#include <assert.h>
#include <string.h>

struct tool {
    const struct mortise_yaml *chosen; /* `tool` if that is a template; else
                                        * NULL */
    const struct mortise_yaml *list;   /* NULL: not set */
};

static struct tool *get_tool_data(const struct mortise_node_reader *r)
{
    return r->node->own;
}

static void read_tool_name(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    if (!mortise_tmpl_has_expr(slot->value)) {
        mortise_node_read_operation(ctx, into, slot, "a tool");
        return;
    }
    if (r->node->own != NULL)
        get_tool_data(r)->chosen = slot->value;
    mortise_load_defer(ctx, mortise_load_deferred_tmpl, &r->node->tool,
                       slot->value, r->node->index, MORTISE_IN_OUTPUT);
}

/* Copy the fields that depend on the operation. */
static void copy_operation(struct mortise_node *to,
                           const struct mortise_node *from)
{
    to->plugin = from->plugin;
    to->operation = from->operation;
    to->op = from->op;
    to->effect = from->effect;
    to->timeout_ms = from->timeout_ms;
    to->timeout_of = from->timeout_of;
}

/* Make `choice` a copy of the node that keeps its own operation. */
static void make_choice_node(struct mortise_node *choice,
                             const struct mortise_node *node)
{
    const struct mortise_node with = *choice;

    *choice = *node;
    copy_operation(choice, &with);
    choice->choices = NULL;
    choice->n_choices = 0;
}

static void read_tool_choices(struct mortise_loader *ld,
                              struct mortise_node_reader *r)
{
    const struct mortise_yaml *list = get_tool_data(r)->list;
    struct mortise_node *node = r->node;
    const struct mortise_schema *output = NULL;

    node->choices = mortise_load_alloc(ld, list->n * sizeof *node->choices);
    for (size_t i = 0; node->choices != NULL && !ld->nomem && i < list->n;
         i++) {
        struct mortise_node *one = &node->choices[node->n_choices];
        struct mortise_node_reader reading = *r;

        reading.node = one;
        mortise_node_name_operation(ld, &reading, list->items[i], "operation",
                                    "an operation");
        if (one->op == NULL) /* has a finding */
            continue;
        output = node->n_choices == 0 || output == one->op->output
                     ? one->op->output
                     : NULL;
        if (node->op == NULL || one->op->effect > node->op->effect)
            copy_operation(node, one);
        node->n_choices++;
    }
    ld->names[MORTISE_IN_OUTPUT].schema = output;
}

static void read_tool_choice_list(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    if (r->node->own == NULL)
        return;
    get_tool_data(r)->list = slot->value;
    if (r->node->tool == NULL && get_tool_data(r)->chosen == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'tool_allowlist' needs a template in 'tool'");
    else
        read_tool_choices(ld, r);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "tool",
     .about = "PLUGIN/OPERATION that the node runs, or a template that gives "
              "one of its tool_allowlist.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_tool_name},
    {.name = "tool_allowlist",
     .about = "The operations that a template in `tool` can choose.",
     .value = MORTISE_V_STRINGS,
     .min = 1,
     .read = read_tool_choice_list},
    MORTISE_ROWS(mortise_operation_rows),
};

/* The node itself was checked with the strictest operation; check the
 * others. */
static void check_tool_node_choice(struct mortise_loader *ld,
                                   const struct mortise_node_reader *r,
                                   struct mortise_node *choice)
{
    struct mortise_node_reader one = *r;

    make_choice_node(choice, r->node);
    one.node = choice;
    if (r->has_effect)
        choice->effect = r->node->effect;
    if (mortise_yaml_get(r->map, "timeout") != NULL)
        choice->timeout_ms = r->node->timeout_ms;
    mortise_node_apply_defaults(ld, &one);
    if (choice->op == r->node->op)
        return;
    if (choice->on_in_doubt == MORTISE_DOUBT_RECONCILE &&
        !choice->op->reconcile)
        mortise_diag_add(ld->diags, "E0506",
                         mortise_yaml_get(r->map, "on_in_doubt")->span,
                         "%s/%s does not support reconcile", choice->plugin,
                         choice->operation);
    if (choice->op->input != NULL)
        mortise_node_check_args(ld, &one, choice->op->input);
    mortise_node_check_secrets(ld, &one);
}

static void finish_tool_node(struct mortise_loader *ld,
                             struct mortise_node_reader *r)
{
    struct mortise_node *node = r->node;

    if (node->own == NULL || get_tool_data(r)->chosen == NULL)
        return;
    if (!mortise_node_has_key(r, "tool_allowlist"))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(
                ld->diags, "E0206", get_tool_data(r)->chosen->span,
                "a template in 'tool' needs the key 'tool_allowlist'"),
            "list the operations that it can choose: tool_allowlist: "
            "[mail/send, chat/send]");
    for (size_t i = 0; i < node->n_choices && !ld->nomem; i++)
        check_tool_node_choice(ld, r, &node->choices[i]);
}

void mortise_node_copy_choices(struct mortise_loader *ld)
{
    for (uint32_t i = 0; i < ld->g->n_nodes; i++) {
        struct mortise_node *node = &ld->g->nodes[i];

        for (size_t k = 0; k < node->n_choices; k++)
            make_choice_node(&node->choices[k], node);
    }
}

/* PLUGIN/OPERATION. */
static void read_operation_tool_name(struct mortise_loader *ld,
                                     struct mortise_node_reader *r,
                                     const char *name,
                                     const struct mortise_yaml *at)
{
    const char *slash = strchr(name, '/');
    struct mortise_node *node = r->node;

    assert(slash != NULL); /* the caller checked it */
    node->plugin =
        mortise_arena_strndup(ld->arena, name, (size_t)(slash - name));
    node->operation = mortise_arena_strdup(ld->arena, slash + 1);
    if (node->plugin == NULL || node->operation == NULL)
        ld->nomem = true;
    else
        mortise_node_find_operation(ld, r, at->span);
}

static const struct mortise_node_as_tool as_tool = {
    .prefix = "", .has_approvals = true, .read = read_operation_tool_name};

const struct mortise_node_kind mortise_graph_kind_tool = {
    .place = {MORTISE_KIND_PLACE("tool", keys)},
    .size = sizeof(struct tool),
    .finish = finish_tool_node,
    .as_tool = &as_tool};
