/* errors.c -- the error messages of CEL.
 *
 * Lexer, parser and checker fail with a position in the text and a message.
 * The evaluator only records the kind of a fault and its position, because most
 * faults are absorbed (`||`, `has`).  This file makes the message once, for the
 * final fault.
 */
#include <stdarg.h>

#include "core/base/utf8.h"
#include "lang/cel/eval.h"

/* ---- of a text -------------------------------------------------------- */

void mortise_cel_fail(const struct cel_source *src, int code, size_t offset,
                      size_t length, const char *fmt, ...)
{
    va_list ap;

    if (src->where != NULL)
        *src->where = (struct mortise_cel_range){offset, length};
    va_start(ap, fmt);
    mortise_vfail(src->out->err, code, fmt, ap);
    va_end(ap);
    mortise_escape(src->out, code);
}

/* ---- of an evaluation -------------------------------------------------- */

const char *mortise_cel_symbol(unsigned op)
{
    static const char *const symbols[] = {
        [CEL_NEGATE] = "-",   [CEL_ADD] = "+",    [CEL_SUBTRACT] = "-",
        [CEL_MULTIPLY] = "*", [CEL_DIVIDE] = "/", [CEL_MODULO] = "%",
        [CEL_LT] = "<",       [CEL_LE] = "<=",    [CEL_GT] = ">",
        [CEL_GE] = ">=",      [CEL_IN] = "in"};

    return op < sizeof symbols / sizeof symbols[0] && symbols[op] != NULL
               ? symbols[op]
               : "!";
}

/* "no such overload: size(int)", "... string > int", "... -bool". */
static int report_overload(const struct mortise_cel_fault *f,
                           struct mortise_err *err)
{
    const char *x = mortise_cel_kind_name(f->x);
    const char *y = f->y < CEL_KINDS ? mortise_cel_kind_name(f->y) : "";

    if (f->at->op == CEL_CALL)
        return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s(%s%s%s)",
                            f->at->u.call.name.p, x, *y != '\0' ? ", " : "", y);
    if (*y == '\0')
        return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s%s",
                            mortise_cel_symbol(f->at->op), x);
    return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s %s %s", x,
                        mortise_cel_symbol(f->at->op), y);
}

static int report_named_fault(const struct mortise_cel_fault *f,
                              struct mortise_err *err)
{
    int n;

    if (f->name == NULL)
        return mortise_fail(err, MORTISE_EINVAL, "no such key");
    n = (int)mortise_utf8_get_prefix_size(f->name, f->n_name, 100);
    if (f->kind == CEL_NO_ZONE)
        return mortise_fail(err, MORTISE_EINVAL, "no time zone '%.*s'", n,
                            f->name);
    if (f->kind == CEL_UNSET)
        return mortise_fail(err, MORTISE_EINVAL, "'%.*s' is not set here", n,
                            f->name);
    return mortise_fail(err, MORTISE_EINVAL, "no such key: '%.*s'", n, f->name);
}

/* Faults about kinds. */
static int report_kind_fault(const struct mortise_cel_fault *f,
                             struct mortise_err *err)
{
    const char *x = mortise_cel_kind_name(f->x);

    switch (f->kind) {
    case CEL_NOT_BOOL:
        return mortise_fail(err, MORTISE_EINVAL,
                            "a condition must be a bool, not %s", x);
    case CEL_NO_MEMBERS:
        return mortise_fail(err, MORTISE_EINVAL, "%s has no members", x);
    case CEL_KEY_KIND:
        return mortise_fail(err, MORTISE_EINVAL, "a map's key cannot be %s", x);
    case CEL_RANGE:
        return mortise_fail(err, MORTISE_EINVAL, "%s out of range", x);
    case CEL_ELEMENT:
        return mortise_fail(err, MORTISE_EINVAL,
                            "no such overload: %s of a list that contains %s",
                            f->at->u.call.function->name, x);
    case CEL_CLAUSE:
        return mortise_fail(err, MORTISE_EINVAL, "%%%c cannot format %s", f->y,
                            x);
    case CEL_CONVERT:
        return mortise_fail(err, MORTISE_EINVAL, "cannot convert this %s to %s",
                            x, mortise_cel_kind_name(f->y));
    default:
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the result contains %s, which JSON cannot represent", x);
    }
}

int mortise_cel_report_fault(const struct cel_ctx *c,
                             struct mortise_cel_range *where,
                             struct mortise_err *err)
{
    static const char *const words[] = {
        [CEL_OVERFLOW] = "integer overflow",
        [CEL_BY_ZERO] = "division by zero",
        [CEL_NO_INDEX] = "index out of bounds",
        [CEL_BAD_INDEX] = "the index of a list must be an integer",
        [CEL_KEY_TWICE] = "a map has the same key twice",
        [CEL_NOT_UTF8] = "the bytes are not valid UTF-8",
        [CEL_NOT_JSON_KEY] = "the result contains a map with keys that are not "
                             "strings, which JSON cannot represent",
        [CEL_REGEX] = "not a valid regular expression of RE2, or too large",
        [CEL_EMPTY] = "the list is empty",
        [CEL_SHIFT] = "a bit shift cannot be negative",
        [CEL_NO_CLAUSE] = "unknown format clause: use %s %d %f %e %b %o %x %X "
                          "or %%, and .N only before f and e",
        [CEL_TOO_FEW] = "the format has more clauses than the list has values",
        [CEL_NO_LEVEL] = "the number of levels must be at least 0",
        [CEL_NOT_BASE64] = "the string is not valid base64, or has no padding",
        [CEL_NO_JSON] = "the string is not valid JSON, or has a number or a "
                        "depth that values do not support",
        [CEL_COST] = "the expression exceeds its cost limit",
        [CEL_STEPS] = "matching this regular expression against this text "
                      "exceeds limits.expr_cost",
        [CEL_DEPTH] = "values are nested too deeply",
        [CEL_MEMORY] = "out of memory",
    };
    const struct mortise_cel_fault *f = &c->fault;
    int code = f->kind == CEL_MEMORY ? MORTISE_ENOMEM
               : f->kind >= CEL_COST ? MORTISE_ELIMIT
                                     : MORTISE_EINVAL;

    if (where != NULL && f->at != NULL)
        *where = (struct mortise_cel_range){f->at->offset, f->at->length};
    switch (f->kind) {
    case CEL_FINE:
        return MORTISE_OK;
    case CEL_OVERLOAD:
        return report_overload(f, err);
    case CEL_NO_KEY:
    case CEL_UNSET:
    case CEL_NO_ZONE:
        return report_named_fault(f, err);
    default:
        return words[f->kind] != NULL
                   ? mortise_fail(err, code, "%s", words[f->kind])
                   : report_kind_fault(f, err);
    }
}
