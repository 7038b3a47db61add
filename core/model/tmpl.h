/* tmpl.h -- JSON values with ${...} in their strings (graph.md 8).  A string
 * that is one whole ${...} keeps the type of its value; `$${` is `${`. */
#ifndef MORTISE_MODEL_TMPL_H
#define MORTISE_MODEL_TMPL_H

#include "lang/cel/cel.h"
#include "lang/yaml/tree.h"

/* An expression and where it stands. */
struct mortise_expr {
    const struct mortise_cel *cel;
    const struct mortise_yaml *at; /* the scalar that holds it */
    size_t offset;                 /* of the expression in the scalar */
};

struct mortise_tmpl; /* lives in an arena */

/* Findings go to diags: then *out is NULL and the result MORTISE_ECHECK. */
int mortise_tmpl_compile(struct mortise_tmpl **out, struct mortise_arena *a,
                         const struct mortise_yaml *node,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags);
/* Is it a string with a `${` that is not `$${`? */
bool mortise_tmpl_opens(const struct mortise_yaml *node);
/* Bit i: it mentions name i of its scope, as mortise_cel_uses(). */
uint32_t mortise_tmpl_uses(const struct mortise_tmpl *t);
/* A new reference.  The message of an error starts with path:line:col. */
int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err);

/* The value as it was written. */
const struct mortise_yaml *mortise_tmpl_yaml(const struct mortise_tmpl *t);

/* A place of the value that a template fills. */
struct mortise_tmpl_place {
    const struct mortise_expr *expr; /* whose value it gets; NULL: a string */
    const struct mortise_yaml *at;
    const struct mortise_schema *schema; /* that holds there; NULL: none */
};

/* Each of them, where the whole value has the schema s (or NULL). */
void mortise_tmpl_each(const struct mortise_tmpl *t,
                       const struct mortise_schema *s,
                       void (*fn)(void *ud, const struct mortise_tmpl_place *p),
                       void *ud);

/* Each expression in it, in the order of the text. */
void mortise_tmpl_exprs(const struct mortise_tmpl *t,
                        void (*fn)(void *ud, const struct mortise_expr *e),
                        void *ud);

/* The value, with each ${ in its strings as $${: so it is compiled to itself.
 * NULL: memory ran out. */
const struct mortise_yaml *
mortise_tmpl_literal(struct mortise_arena *a, const struct mortise_yaml *node);
/* Is there a ${ anywhere in the value? */
bool mortise_tmpl_in(const struct mortise_yaml *node);

/* MORTISE_ECHECK when there was a finding. */
int mortise_expr_compile(struct mortise_expr *out, struct mortise_arena *a,
                         const struct mortise_yaml *scalar,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags);
/* Where a part of it stands. */
struct mortise_span mortise_expr_place(const struct mortise_expr *e,
                                       struct mortise_cel_where where);
/* Put it before the words of a failure of what an expression gave; returns rv. */
int mortise_expr_at_place(const struct mortise_expr *e, int rv,
                          struct mortise_err *err);
int mortise_expr_eval(const struct mortise_expr *e,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err);
int mortise_expr_test(const struct mortise_expr *e,
                      const struct mortise_cel_env *env, bool *out,
                      struct mortise_err *err);

#endif
