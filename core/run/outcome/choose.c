/* choose.c -- the operation of a tool node whose `tool` is a template.
 *
 * The operation is chosen before anything else, from the state that the node
 * begins with, and recorded (`chosen`).  mortise_exec_node() then returns the
 * node with that operation, until the execution starts over with new arguments.
 * So a crash, an approval and an effect in doubt all concern the chosen
 * operation, even if the template would give another one now.  If the operation
 * is not in the node's tool_allowlist, the node fails without retry.
 */
#include <stdio.h>
#include <string.h>

#include "core/run/outcome/outcome.h"

/* Is `given` the name PLUGIN/OPERATION of this choice? */
static bool is_choice_named(const struct mortise_node *n, const char *given)
{
    size_t len = strlen(n->plugin);

    return strncmp(given, n->plugin, len) == 0 && given[len] == '/' &&
           strcmp(given + len + 1, n->operation) == 0;
}

/* 1 + the index of the choice with this name; 0: none. */
static uint32_t find_choice(const struct mortise_node *n, const json_t *value)
{
    const char *given = json_string_value(value);

    for (size_t i = 0; given != NULL && i < n->n_choices; i++)
        if (is_choice_named(&n->choices[i], given))
            return (uint32_t)i + 1;
    return 0;
}

int mortise_apply_chosen(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];
    uint32_t choice = x->fan == NULL ? find_choice(n, e->value) : 0;

    (void)r;
    if (choice == 0)
        return mortise_entry_corrupt(err, e);
    mortise_generation_set_choice(x, choice);
    return MORTISE_OK;
}

static int fail_unlisted_tool(const struct mortise_node *n, const json_t *value,
                              struct mortise_err *why)
{
    int rv = mortise_judge_fail_unlisted(mortise_tmpl_get_span(n->tool), "tool",
                                         "tool_allowlist", value, why);

    for (size_t i = 0; rv == MORTISE_EINVAL && i < n->n_choices; i++) {
        char tool[MORTISE_TOOL_MAX];

        snprintf(tool, sizeof tool, "%s/%s", n->choices[i].plugin,
                 n->choices[i].operation);
        mortise_judge_append_name(why, i == 0, tool);
    }
    return rv;
}

int mortise_choose_operation(struct mortise_run *r, struct exec *x,
                             const char **code, struct mortise_err *why,
                             struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_CHOSEN);
    json_t *value = NULL;
    int rv = mortise_judge_map_result(mortise_view_make_before(r, x, why), err);

    *code = "expression";
    if (rv == MORTISE_OK)
        rv = mortise_judge_eval(r, x, n->tool, &value, why, err);
    if (rv != MORTISE_OK)
        return rv;
    if (find_choice(n, value) != 0)
        return mortise_run_record_value(r, &e, value, err);
    *code = "not_listed";
    rv = mortise_judge_map_result(fail_unlisted_tool(n, value, why), err);
    json_decref(value);
    return rv;
}
