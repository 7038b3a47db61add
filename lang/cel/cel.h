/* cel.h -- the Common Expression Language: total, side-effect free, bounded.
 *
 * A program is compiled once against names and schemas, and evaluated often.
 * Errors contain an offset into the expression's text; the caller knows the
 * position of that text in a file.  A program is immutable: [any] may evaluate
 * it.
 *
 * Limits: 64 KiB of text, 250 levels of nesting (for both functions up to 400
 * KiB of stack), and the cost of an evaluation: each step, each element, and
 * each processed byte of a string. */
#ifndef MORTISE_LANG_CEL_CEL_H
#define MORTISE_LANG_CEL_CEL_H

#include "lang/schema/schema.h"
#include "core/json/value.h"
#include "core/model/expr.h"

/* A name in scope.  It may contain dots: then a.b is found before a member b of
 * a. schema NULL: dynamic. */
struct mortise_cel_name {
    const char *name;
    const struct mortise_schema *schema;
};

struct mortise_cel_scope {
    const struct mortise_cel_name *names;
    size_t n;
};

struct mortise_cel_range {
    size_t offset, length; /* bytes, in the expression's text */
};

/* In the arena of its compilation; evaluations use the `mem` of that arena. */
struct mortise_cel;

/* MORTISE_EINVAL: a syntax error, an unknown name or function, an unknown
 * member of a closed schema, or types that do not match for any value.
 * MORTISE_EUNAVAILABLE: a part of CEL that this build does not have.  The text
 * is copied. */
int mortise_cel_compile(struct mortise_cel **out, struct mortise_arena *a,
                        const char *text, size_t n,
                        const struct mortise_cel_scope *scope,
                        struct mortise_cel_range *where,
                        struct mortise_err *err);

/* The result as JSON, a new reference.  Evaluation errors (no such key,
 * overflow, division by zero, no such overload, cost) are MORTISE_EINVAL, or
 * MORTISE_ELIMIT for the cost limit; `where` (may be NULL) is set to the
 * position.  A result without a form in JSON (bytes, uint beyond int64, NaN) is
 * an error.
 */
int mortise_cel_eval(const struct mortise_cel *prog,
                     const struct mortise_expr_env *env, json_t **out,
                     struct mortise_cel_range *where, struct mortise_err *err);

/* The same for conditions: a result that is not a bool is an error. */
int mortise_cel_test(const struct mortise_cel *prog,
                     const struct mortise_expr_env *env, bool *out,
                     struct mortise_cel_range *where, struct mortise_err *err);

/* Bit i: the program uses scope->names[i] (for the first 32). */
uint32_t mortise_cel_get_uses(const struct mortise_cel *prog);

/* The possible types of the result as JSON, MORTISE_T_..., as far as the
 * checker knows.  A caller that needs another type can refuse the program after
 * the compilation.  Numbers may be integers or not. 0: no form in JSON. */
unsigned mortise_cel_get_types(const struct mortise_cel *prog);

/* The same as text, "string or null". */
enum { MORTISE_CEL_WORDS = 128 };
const char *mortise_cel_format_types(const struct mortise_cel *prog,
                                     char out[MORTISE_CEL_WORDS]);

/* The text of a program that is only a path of member selections and constant
 * indexes from a name (scratch.a["b"][0]); else NULL. */
const char *mortise_cel_get_path(const struct mortise_cel *prog);

/* Callbacks that find the members that an expression uses.  The caller defines
 * the places.  A NULL place is unknown, and no callback is called for it. */
struct mortise_cel_walk {
    void *ctx;
    /* scope->names[index]. */
    const void *(*name)(void *ctx, size_t index);
    /* The place of its member of that name; `where` is the position in the
     * text. */
    const void *(*member)(void *ctx, const void *of, const char *name,
                          struct mortise_cel_range where);
    /* The place of its elements. */
    const void *(*item)(void *ctx, const void *of);
};
/* The place of the result. */
const void *mortise_cel_walk(const struct mortise_cel *prog,
                             const struct mortise_cel_walk *by);

#endif
