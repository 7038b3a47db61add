/* func.c -- what the functions of the language share.
 *
 * Each function is handed values of any kind, in the number that its row says,
 * and answers with a value or a fault.  What it reads it is charged for, and
 * what it makes lies in the evaluation's arena.  The rows are in the file of
 * their subject.
 */
#include "cel/func.h"

#include <string.h>

bool mortise_cel_overload(struct mortise_cel_ctx *c,
                          const struct mortise_cel_node *n,
                          const struct mortise_cel_value *args)
{
    mortise_cel_fault(c, MORTISE_CEL_OVERLOAD);
    c->fault.x = args[0].kind;
    c->fault.y = n->n > 1 ? args[1].kind : MORTISE_CEL_KINDS;
    return false;
}

bool mortise_cel_cannot_convert(struct mortise_cel_ctx *c,
                                const struct mortise_cel_value *from,
                                enum mortise_cel_kind to)
{
    mortise_cel_fault(c, MORTISE_CEL_CONVERT);
    c->fault.x = from->kind;
    c->fault.y = (uint8_t)to;
    return false;
}

bool mortise_cel_named_fault(struct mortise_cel_ctx *c,
                             enum mortise_cel_fault_kind kind, const char *name,
                             size_t n)
{
    mortise_cel_fault(c, kind);
    c->fault.name = name;
    c->fault.n_name = n;
    return false;
}

bool mortise_cel_copy(struct mortise_cel_ctx *c, const char *text, size_t n,
                      struct mortise_cel_value *out)
{
    char *copy = mortise_cel_alloc(c, n, 1);

    if (copy == NULL)
        return false;
    if (n > 0)
        memcpy(copy, text, n);
    *out = mortise_cel_text(MORTISE_CEL_STRING, copy, n);
    return true;
}

void mortise_cel_fold(const struct mortise_cel_source *src,
                      struct mortise_cel_node *n)
{
    struct mortise_cel_ctx c = {.left = UINT64_MAX, .arena = src->arena};
    struct mortise_cel_node *arg = n->kids[0];
    struct mortise_cel_value v;

    if (arg->op != MORTISE_CEL_CONST ||
        arg->u.constant.kind != MORTISE_CEL_STRING)
        return;
    if (!n->u.call.function->call(&c, n, &arg->u.constant, &v)) {
        c.fault.at = arg;
        mortise_escape(src->out,
                       mortise_cel_report(&c, src->where, src->out->err));
    }
    n->op = MORTISE_CEL_CONST;
    n->n = 0;
    n->u.constant = v;
}
