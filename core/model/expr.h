/* expr.h -- expressions, and templates: JSON values with ${...} in their
 * strings (docs/graph.md, section 8).
 *
 * A loader compiles them into the arena of a graph, and runs evaluate them.  The
 * core knows no language of expressions: it declares these functions, and
 * lang/tmpl/ defines them.  Everything is immutable once compiled: [any] may
 * evaluate it.
 */
#ifndef MORTISE_MODEL_EXPR_H
#define MORTISE_MODEL_EXPR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/span.h"

/* An expression and its place.  A zeroed one is absent. */
struct mortise_expr {
    const struct mortise_cel *cel;
    const struct mortise_yaml *at; /* the scalar that holds it */
    size_t offset;                 /* the expression's, in the scalar */
};

struct mortise_tmpl;

/* Values for the names of the scope in which an expression was compiled, in its
 * order; NULL: not set here (its use is an evaluation error).  Lent for the
 * call. */
struct mortise_expr_env {
    const json_t *const *values;
    uint64_t cost_limit; /* 0: MORTISE_COST, 1,000,000 */
};

/* Bit i: the expression uses name i of its scope (the first 32). */
uint32_t mortise_expr_get_uses(const struct mortise_expr *e);
/* The value, a new reference.  MORTISE_EINVAL: the evaluation failed;
 * MORTISE_ELIMIT: it cost too much.  The error message starts with
 * path:line:col. */
int mortise_expr_eval(const struct mortise_expr *e,
                      const struct mortise_expr_env *env, json_t **out,
                      struct mortise_err *err);
/* The same for conditions: a value that is not a bool is MORTISE_EINVAL. */
int mortise_expr_test(const struct mortise_expr *e,
                      const struct mortise_expr_env *env, bool *out,
                      struct mortise_err *err);
/* Put the place in front of an error message about the expression's value;
 * returns rv. */
int mortise_expr_prefix_error(const struct mortise_expr *e, int rv,
                              struct mortise_err *err);

/* The same for templates. */
uint32_t mortise_tmpl_get_used_names(const struct mortise_tmpl *t);
int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_expr_env *env, json_t **out,
                      struct mortise_err *err);
struct mortise_span mortise_tmpl_get_span(const struct mortise_tmpl *t);
/* Does the file have exactly this string at the RFC 6901 pointer in the
 * template? */
bool mortise_tmpl_has_string(const struct mortise_tmpl *t, const char *pointer,
                             const char *string);

#endif
