/* choose.c -- which operation a tool node calls whose `tool` is a template.
 *
 * It is found ahead of all else that the node does, from the state that it
 * begins with, and recorded (`chosen`): the node is what it is with that
 * operation (mortise_exec_node()) until it is started over, with new arguments.
 * So a crash, an approval and an effect in doubt are about the operation that
 * was chosen, whatever the template would give now.  An operation that the
 * node's tool_allowlist lacks fails the node for good.
 */
#include <stdio.h>
#include <string.h>

#include "core/run/outcome/outcome.h"

/* Fits `given` that choice? */
static bool is_choice(const struct mortise_node *n, const char *given)
{
    size_t len = strlen(n->plugin);

    return strncmp(given, n->plugin, len) == 0 && given[len] == '/' &&
           strcmp(given + len + 1, n->operation) == 0;
}

/* 1 + its position; 0: there is none. */
static uint32_t find(const struct mortise_node *n, const json_t *value)
{
    const char *given = json_string_value(value);

    for (size_t i = 0; given != NULL && i < n->n_choices; i++)
        if (is_choice(&n->choices[i], given))
            return (uint32_t)i + 1;
    return 0;
}

int mortise_apply_chosen(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];
    uint32_t choice = x->fan == NULL ? find(n, e->value) : 0;

    (void)r;
    if (choice == 0)
        return mortise_entry_corrupt(err, e);
    mortise_generation_choose(x, choice);
    return MORTISE_OK;
}

static int refuse(const struct mortise_node *n, const json_t *value,
                  struct mortise_err *why)
{
    int rv = mortise_judge_unlisted(mortise_tmpl_yaml(n->tool)->span, "tool",
                                    "tool_allowlist", value, why);

    for (size_t i = 0; rv == MORTISE_EINVAL && i < n->n_choices; i++) {
        char tool[MORTISE_TOOL_MAX];

        snprintf(tool, sizeof tool, "%s/%s", n->choices[i].plugin,
                 n->choices[i].operation);
        mortise_judge_name(why, i == 0, tool);
    }
    return rv;
}

int mortise_choose(struct mortise_run *r, struct exec *x, const char **code,
                   struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_CHOSEN);
    json_t *value = NULL;
    int rv = mortise_judge_verdict(mortise_view_before(r, x, why), err);

    *code = "expression";
    if (rv == MORTISE_OK)
        rv = mortise_judge_text(r, x, n->tool, &value, why, err);
    if (rv != MORTISE_OK)
        return rv;
    if (find(n, value) != 0)
        return mortise_run_record_value(r, &e, value, err);
    *code = "not_listed";
    rv = mortise_judge_verdict(refuse(n, value, why), err);
    json_decref(value);
    return rv;
}
