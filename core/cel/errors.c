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

void mortise_cel_vfail(const struct mortise_cel_source *src, int code,
                       size_t offset, size_t length, const char *fmt,
                       va_list ap)
{
    if (src->where != NULL)
        *src->where = (struct mortise_cel_where){offset, length};
    mortise_escape(src->out, mortise_vfail(src->out->err, code, fmt, ap));
}

void mortise_cel_fail(const struct mortise_cel_source *src, int code,
                      size_t offset, size_t length, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_cel_vfail(src, code, offset, length, fmt, ap);
}

/* ---- of an evaluation -------------------------------------------------- */

const char *mortise_cel_symbol(unsigned op)
{
    switch (op) {
    case MORTISE_CEL_ADD:
        return "+";
    case MORTISE_CEL_NEGATE:
    case MORTISE_CEL_SUBTRACT:
        return "-";
    case MORTISE_CEL_MULTIPLY:
        return "*";
    case MORTISE_CEL_DIVIDE:
        return "/";
    case MORTISE_CEL_MODULO:
        return "%";
    case MORTISE_CEL_LT:
        return "<";
    case MORTISE_CEL_LE:
        return "<=";
    case MORTISE_CEL_GT:
        return ">";
    case MORTISE_CEL_GE:
        return ">=";
    case MORTISE_CEL_IN:
        return "in";
    default:
        return "!";
    }
}

/* "no such overload: size(int)", "... string > int", "... -bool". */
static int say_overload(const struct mortise_cel_fault *f,
                        struct mortise_err *err)
{
    const char *x = mortise_cel_kind_name(f->x);
    const char *y = f->y < MORTISE_CEL_KINDS ? mortise_cel_kind_name(f->y) : "";

    if (f->at->op == MORTISE_CEL_CALL)
        return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s(%s%s%s)",
                            f->at->u.call.name.p, x, *y != '\0' ? ", " : "", y);
    if (*y == '\0')
        return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s%s",
                            mortise_cel_symbol(f->at->op), x);
    return mortise_fail(err, MORTISE_EINVAL, "no such overload: %s %s %s", x,
                        mortise_cel_symbol(f->at->op), y);
}

static int say_named(const struct mortise_cel_fault *f, struct mortise_err *err)
{
    int n;

    if (f->name == NULL)
        return mortise_fail(err, MORTISE_EINVAL, "no such key");
    n = (int)mortise_utf8_cut(f->name, f->n_name, 100);
    if (f->kind == MORTISE_CEL_NO_ZONE)
        return mortise_fail(err, MORTISE_EINVAL, "no time zone '%.*s'", n,
                            f->name);
    if (f->kind == MORTISE_CEL_UNSET)
        return mortise_fail(err, MORTISE_EINVAL, "'%.*s' is not set here", n,
                            f->name);
    return mortise_fail(err, MORTISE_EINVAL, "no such key: '%.*s'", n, f->name);
}

/* Faults about kinds. */
static int say_kinds(const struct mortise_cel_fault *f, struct mortise_err *err)
{
    const char *x = mortise_cel_kind_name(f->x);

    switch (f->kind) {
    case MORTISE_CEL_NOT_BOOL:
        return mortise_fail(err, MORTISE_EINVAL,
                            "a condition is a bool, this is %s", x);
    case MORTISE_CEL_NO_MEMBERS:
        return mortise_fail(err, MORTISE_EINVAL, "%s has no members", x);
    case MORTISE_CEL_KEY_KIND:
        return mortise_fail(err, MORTISE_EINVAL, "a map's key cannot be %s", x);
    case MORTISE_CEL_RANGE:
        return mortise_fail(err, MORTISE_EINVAL, "%s out of range", x);
    case MORTISE_CEL_ELEMENT:
        return mortise_fail(err, MORTISE_EINVAL,
                            "no such overload: %s of a list that holds %s",
                            f->at->u.call.function->name, x);
    case MORTISE_CEL_CLAUSE:
        return mortise_fail(err, MORTISE_EINVAL, "%%%c cannot show %s", f->y,
                            x);
    case MORTISE_CEL_CONVERT:
        return mortise_fail(err, MORTISE_EINVAL, "this %s is no %s", x,
                            mortise_cel_kind_name(f->y));
    default:
        return mortise_fail(err, MORTISE_EINVAL,
                            "the result holds %s that JSON has no form for", x);
    }
}

int mortise_cel_report(const struct mortise_cel_ctx *c,
                       struct mortise_cel_where *where, struct mortise_err *err)
{
    static const struct {
        int code;
        const char *words;
    } plain[] = {
        [MORTISE_CEL_OVERFLOW] = {MORTISE_EINVAL, "integer overflow"},
        [MORTISE_CEL_BY_ZERO] = {MORTISE_EINVAL, "division by zero"},
        [MORTISE_CEL_NO_INDEX] = {MORTISE_EINVAL, "index out of bounds"},
        [MORTISE_CEL_BAD_INDEX] = {MORTISE_EINVAL,
                                   "a list's index is a whole number"},
        [MORTISE_CEL_KEY_TWICE] = {MORTISE_EINVAL,
                                   "the same key twice in one map"},
        [MORTISE_CEL_NOT_UTF8] = {MORTISE_EINVAL, "these bytes are not UTF-8"},
        [MORTISE_CEL_NOT_JSON_KEY] =
            {MORTISE_EINVAL, "the result holds a map whose keys are not all "
                             "strings, which JSON has no form for"},
        [MORTISE_CEL_REGEX] = {MORTISE_EINVAL, "not a regular expression"},
        [MORTISE_CEL_EMPTY] = {MORTISE_EINVAL, "the list is empty"},
        [MORTISE_CEL_SHIFT] = {MORTISE_EINVAL, "a shift by less than 0"},
        [MORTISE_CEL_NO_CLAUSE] =
            {MORTISE_EINVAL, "no such clause: there are %s %d %f %e %b %o %x "
                             "%X and %%, with .N before f and e"},
        [MORTISE_CEL_TOO_FEW] = {MORTISE_EINVAL,
                                 "more clauses than values for them"},
        [MORTISE_CEL_COST] = {MORTISE_ELIMIT,
                              "the expression passes its cost limit"},
        [MORTISE_CEL_STEPS] = {MORTISE_ELIMIT,
                               "the regular expression takes too many steps "
                               "on this text"},
        [MORTISE_CEL_DEPTH] = {MORTISE_ELIMIT, "values nest too deeply"},
        [MORTISE_CEL_MEMORY] = {MORTISE_ENOMEM, "out of memory"},
    };
    const struct mortise_cel_fault *f = &c->fault;

    if (where != NULL && f->at != NULL)
        *where = (struct mortise_cel_where){f->at->offset, f->at->length};
    switch (f->kind) {
    case MORTISE_CEL_FINE:
        return MORTISE_OK;
    case MORTISE_CEL_OVERLOAD:
        return say_overload(f, err);
    case MORTISE_CEL_NO_KEY:
    case MORTISE_CEL_UNSET:
    case MORTISE_CEL_NO_ZONE:
        return say_named(f, err);
    case MORTISE_CEL_NOT_BOOL:
    case MORTISE_CEL_NO_MEMBERS:
    case MORTISE_CEL_KEY_KIND:
    case MORTISE_CEL_RANGE:
    case MORTISE_CEL_ELEMENT:
    case MORTISE_CEL_CLAUSE:
    case MORTISE_CEL_CONVERT:
    case MORTISE_CEL_NOT_JSON:
        return say_kinds(f, err);
    default:
        return mortise_fail(err, plain[f->kind].code, "%s",
                            plain[f->kind].words);
    }
}
