/* func.c -- common parts of the functions of the language.
 *
 * A function receives values in the number and of the kinds of its row.  It
 * returns a value or a fault.  It charges for the input that it reads, and its
 * output is in the evaluation's arena.  The rows are in the files of their
 * subjects.
 */
#include "lang/cel/func.h"

#include <string.h>

bool mortise_cel_fail_overload(struct cel_ctx *c, const struct cel_node *n,
                               const struct cel_value *args)
{
    return mortise_cel_fault_of(c, CEL_OVERLOAD, args[0].kind,
                                n->n > 1 ? args[1].kind : CEL_KINDS);
}

bool mortise_cel_fail_conversion(struct cel_ctx *c,
                                 const struct cel_value *from, enum cel_kind to)
{
    return mortise_cel_fault_of(c, CEL_CONVERT, from->kind, to);
}

bool mortise_cel_copy_text(struct cel_ctx *c, const char *text, size_t n,
                           struct cel_value *out)
{
    char *copy = mortise_cel_alloc(c, n, 1);

    if (copy == NULL)
        return false;
    if (n > 0)
        memcpy(copy, text, n);
    *out = cel_text(CEL_STRING, copy, n);
    return true;
}

void mortise_cel_fold(const struct cel_source *src, struct cel_node *n)
{
    struct cel_ctx c = {.left = UINT64_MAX, .arena = src->arena};
    struct cel_node *arg = n->kids[0];
    struct cel_value v;

    if (arg->op != CEL_CONST || arg->u.constant.kind != CEL_STRING)
        return;
    if (!n->u.call.function->call(&c, n, &arg->u.constant, &v)) {
        c.fault.at = arg;
        mortise_escape(src->out,
                       mortise_cel_report_fault(&c, src->where, src->out->err));
    }
    n->op = CEL_CONST;
    n->n = 0;
    n->u.constant = v;
}
