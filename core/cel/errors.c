/* errors.c -- what CEL says when something is wrong.
 *
 * Lexer, parser and checker fail with a place in the text and a sentence.  The
 * evaluator only notes what kind of fault it met and where, since most faults
 * are forgiven (`||`, `has`); the sentence is made here, once, for the fault
 * that is left.
 */
#include <stdarg.h>

#include "base/utf8.h"
#include "cel/eval.h"

/* ---- of a text -------------------------------------------------------- */

void cel_vfail(const struct cel_source *src, int code, size_t offset,
               size_t length, const char *fmt, va_list ap)
{
    if (src->where != NULL)
        *src->where = (struct mortise_cel_where){offset, length};
    mortise_escape(src->out, mortise_vfail(src->out->err, code, fmt, ap));
}

void cel_fail(const struct cel_source *src, int code, size_t offset,
              size_t length, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    cel_vfail(src, code, offset, length, fmt, ap);
}

/* ---- of an evaluation -------------------------------------------------- */

const char *cel_symbol(unsigned op)
{
    switch (op) {
    case CEL_ADD:
        return "+";
    case CEL_NEGATE:
    case CEL_SUBTRACT:
        return "-";
    case CEL_MULTIPLY:
        return "*";
    case CEL_DIVIDE:
        return "/";
    case CEL_MODULO:
        return "%";
    case CEL_LT:
        return "<";
    case CEL_LE:
        return "<=";
    case CEL_GT:
        return ">";
    case CEL_GE:
        return ">=";
    case CEL_IN:
        return "in";
    default:
        return "!";
    }
}

/* "no such overload: size(int)", "... string > int", "... -bool". */
static int say_overload(const struct cel_fault *f, struct mortise_err *err)
{
    const char *x = cel_kind_name(f->x);
    const char *y = f->y < CEL_KINDS ? cel_kind_name(f->y) : "";

    if (f->at->op == CEL_CALL)
        return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s(%s%s%s)",
                            f->at->u.call.name.p, x, *y != '\0' ? ", " : "", y);
    if (*y == '\0')
        return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s%s",
                            cel_symbol(f->at->op), x);
    return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s %s %s", x,
                        cel_symbol(f->at->op), y);
}

static int say_named(const struct cel_fault *f, struct mortise_err *err)
{
    int n;

    if (f->name == NULL)
        return mortise_fail(err, MORTISE_EINVAL, "no such key");
    n = (int)mortise_utf8_cut(f->name, f->n_name, 100);
    if (f->kind == CEL_NO_ZONE)
        return mortise_fail(err, MORTISE_EINVAL, "no time zone '%.*s'", n,
                            f->name);
    if (f->kind == CEL_UNSET)
        return mortise_fail(err, MORTISE_EINVAL, "'%.*s' is not set here", n,
                            f->name);
    return mortise_fail(err, MORTISE_EINVAL, "no such key: '%.*s'", n, f->name);
}

/* Faults about kinds. */
static int say_kinds(const struct cel_fault *f, struct mortise_err *err)
{
    const char *x = cel_kind_name(f->x);

    switch (f->kind) {
    case CEL_NOT_BOOL:
        return mortise_fail(err, MORTISE_EINVAL,
                            "a condition is a bool, this is %s", x);
    case CEL_NO_MEMBERS:
        return mortise_fail(err, MORTISE_EINVAL, "%s has no members", x);
    case CEL_KEY_KIND:
        return mortise_fail(err, MORTISE_EINVAL, "a map's key cannot be %s", x);
    case CEL_RANGE:
        return mortise_fail(err, MORTISE_EINVAL, "%s out of range", x);
    case CEL_ELEMENT:
        return mortise_fail(err, MORTISE_EINVAL,
                            "no such overload: %s of a list that holds %s",
                            f->at->u.call.function->name, x);
    case CEL_CLAUSE:
        return mortise_fail(err, MORTISE_EINVAL, "%%%c cannot show %s", f->y,
                            x);
    case CEL_CONVERT:
        return mortise_fail(err, MORTISE_EINVAL, "this %s is no %s", x,
                            cel_kind_name(f->y));
    default:
        return mortise_fail(err, MORTISE_EINVAL,
                            "the result holds %s that JSON has no form for", x);
    }
}

int cel_report(const struct cel_ctx *c, struct mortise_cel_where *where,
               struct mortise_err *err)
{
    static const struct {
        int code;
        const char *words;
    } plain[] = {
        [CEL_OVERFLOW] = {MORTISE_EINVAL, "integer overflow"},
        [CEL_BY_ZERO] = {MORTISE_EINVAL, "division by zero"},
        [CEL_NO_INDEX] = {MORTISE_EINVAL, "index out of bounds"},
        [CEL_BAD_INDEX] = {MORTISE_EINVAL, "a list's index is a whole number"},
        [CEL_KEY_TWICE] = {MORTISE_EINVAL, "the same key twice in one map"},
        [CEL_NOT_UTF8] = {MORTISE_EINVAL, "these bytes are not UTF-8"},
        [CEL_NOT_JSON_KEY] = {MORTISE_EINVAL,
                              "the result holds a map whose keys are not all "
                              "strings, which JSON has no form for"},
        [CEL_REGEX] = {MORTISE_EINVAL, "not a regular expression"},
        [CEL_EMPTY] = {MORTISE_EINVAL, "the list is empty"},
        [CEL_SHIFT] = {MORTISE_EINVAL, "a shift by less than 0"},
        [CEL_NO_CLAUSE] = {MORTISE_EINVAL,
                           "no such clause: there are %s %d %f %e %b %o %x "
                           "%X and %%, with .N before f and e"},
        [CEL_TOO_FEW] = {MORTISE_EINVAL, "more clauses than values for them"},
        [CEL_COST] = {MORTISE_ELIMIT, "the expression passes its cost limit"},
        [CEL_STEPS] = {MORTISE_ELIMIT,
                       "the regular expression takes too many steps "
                       "on this text"},
        [CEL_DEPTH] = {MORTISE_ELIMIT, "values nest too deeply"},
        [CEL_MEMORY] = {MORTISE_ENOMEM, "out of memory"},
    };
    const struct cel_fault *f = &c->fault;

    if (where != NULL && f->at != NULL)
        *where = (struct mortise_cel_where){f->at->offset, f->at->length};
    switch (f->kind) {
    case CEL_FINE:
        return MORTISE_OK;
    case CEL_OVERLOAD:
        return say_overload(f, err);
    case CEL_NO_KEY:
    case CEL_UNSET:
    case CEL_NO_ZONE:
        return say_named(f, err);
    case CEL_NOT_BOOL:
    case CEL_NO_MEMBERS:
    case CEL_KEY_KIND:
    case CEL_RANGE:
    case CEL_ELEMENT:
    case CEL_CLAUSE:
    case CEL_CONVERT:
    case CEL_NOT_JSON:
        return say_kinds(f, err);
    default:
        return mortise_fail(err, plain[f->kind].code, "%s",
                            plain[f->kind].words);
    }
}
