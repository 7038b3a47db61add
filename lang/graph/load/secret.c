/* secret.c -- references to secrets in the arguments of a node's operation.
 *
 *   (1) A reference may be only where the operation's input_schema marks a
 *       secret, and must be the whole string, without ${...}.  Text from an
 *       expression is never a reference: otherwise the author of an input could
 *       choose a secret and its destination.
 *   (2) The same holds for the arguments at run time, including those that a
 *       person edited (core/run/outcome/arguments.c).
 *   (3) Elsewhere in the arguments, a literal `secret://` is an error, because
 *       its author expects an effect.  As the result of an expression it is
 *       ordinary text.
 */
#include "core/json/secret.h"

#include "lang/graph/load/node.h"

struct checking {
    struct mortise_loader *ld;
    struct mortise_node_reader *r;
    const struct mortise_yaml *args;
};

static void report_misplaced_secret(const struct checking *c,
                                    const struct mortise_yaml *at)
{
    const struct mortise_operation *op = c->r->node->op;
    struct mortise_diag *d = mortise_diag_add(
        c->ld->diags, "E0604", at->span, "%s/%s does not accept a secret here",
        op->plugin, op->name);

    if (op->secrets.n > 0)
        mortise_diag_help(c->ld->diags, d,
                          "use an argument that the operation's input_schema "
                          "marks with x-secret");
}

static int check_secret_mention(void *ud, const char *pointer, json_t **string)
{
    const struct checking *c = ud;
    const struct mortise_yaml *at = mortise_yaml_find_at(c->args, pointer);
    const char *name = mortise_secret_get_name(json_string_value(*string));
    const struct mortise_catalog *catalog = c->ld->catalog;
    struct mortise_err why = {0};

    if (!mortise_secret_is_allowed_at(&c->r->node->op->secrets, pointer))
        report_misplaced_secret(c, at);
    else if (name == NULL || mortise_tmpl_has_expr_within(at))
        mortise_diag_add(c->ld->diags, "E0604", at->span,
                         "write a reference to a secret as secret://NAME, "
                         "as the whole text or after its last space");
    else if (catalog->secret != NULL &&
             catalog->secret(catalog->ud, c->r->node->plugin, name, &why) !=
                 MORTISE_OK)
        mortise_diag_add(c->ld->diags, "E0605", at->span, "%s", why.msg);
    return MORTISE_OK;
}

void mortise_node_check_secrets(struct mortise_loader *ld,
                                struct mortise_node_reader *r)
{
    struct checking c = {ld, r, r->args};
    json_t *args =
        c.args != NULL ? mortise_yaml_to_json(c.args, false) : json_object();

    if (args == NULL ||
        mortise_secret_for_each(args, ld->arena->mem, check_secret_mention,
                                &c) != MORTISE_OK)
        ld->nomem = true;
    json_decref(args);
}
