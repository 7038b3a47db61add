/* secret.c -- references to secrets in what a node's operation is given.
 *
 *   (1) A reference stands where the operation's input_schema marks a secret,
 *       and as it is: not with ${...} beside it.  Text that an expression gave
 *       is never one, or whoever writes an input would choose a secret and the
 *       place that it is sent to.
 *   (2) What is given as arguments keeps to that at run time, too, those that a
 *       person edited included: each reference in them is one of the graph's.
 *   (3) Elsewhere `secret://` in arguments is an error when it is written in
 *       the graph (somebody expects something of it), and text like any other
 *       when it comes out of an expression.
 */
#include "core/json/secret.h"

#include <string.h>

#include "lang/graph/load/node.h"

/* ---- as it is written --------------------------------------------------- */

struct checking {
    struct mortise_loader *ld;
    struct mortise_reading *r;
    const struct mortise_yaml *args;
};

static void misplaced(const struct checking *c, const struct mortise_yaml *at)
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

static int check_mention(void *ud, const char *pointer, json_t **string)
{
    const struct checking *c = ud;
    const struct mortise_yaml *at = mortise_yaml_at(c->args, pointer);
    const char *name = mortise_secret_name(json_string_value(*string));
    const struct mortise_catalog *catalog = c->ld->catalog;
    struct mortise_err why = {0};

    if (!mortise_secret_place(&c->r->node->op->secrets, pointer))
        misplaced(c, at);
    else if (name == NULL || mortise_tmpl_in(at))
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
                                struct mortise_reading *r)
{
    struct checking c = {ld, r, r->args};
    json_t *args =
        c.args != NULL ? mortise_yaml_json(c.args, false) : json_object();

    if (args == NULL || mortise_secret_each(args, ld->arena->mem, check_mention,
                                            &c) != MORTISE_OK)
        ld->nomem = true;
    json_decref(args);
}

/* ---- as it is given ----------------------------------------------------- */

struct given {
    const struct mortise_yaml *args; /* as the graph has them, or NULL */
    const struct mortise_operation *op;
    struct mortise_err *err;
};

static int check_given(void *ud, const char *pointer, json_t **string)
{
    const struct given *g = ud;
    const struct mortise_yaml *at =
        g->args != NULL ? mortise_yaml_at(g->args, pointer) : NULL;

    if (!mortise_secret_place(&g->op->secrets, pointer) ||
        (at != NULL && at->kind == MORTISE_YAML_STRING &&
         strcmp(at->str, json_string_value(*string)) == 0))
        return MORTISE_OK;
    return mortise_fail(g->err, MORTISE_EINVAL,
                        "at %s: a reference to a secret must be written in the "
                        "graph, not computed when the node runs",
                        pointer);
}

int mortise_node_given_secrets(const struct mortise_node *n, const json_t *args,
                               const struct mortise_mem *mem,
                               struct mortise_err *err)
{
    struct given g = {n->args != NULL ? mortise_tmpl_yaml(n->args) : NULL,
                      n->op, err};
    int rv;

    if (n->op->secrets.n == 0)
        return MORTISE_OK;
    rv = mortise_secret_each(mortise_json_unconst(args), mem, check_given, &g);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}
