/* tmpl.h -- JSON values with ${...} in their strings (graph.md 8).  A string
 * that is exactly one ${...} keeps the type of its value; `$${` is `${`. */
#ifndef MORTISE_MODEL_TMPL_H
#define MORTISE_MODEL_TMPL_H

#include "lang/cel/cel.h"
#include "lang/yaml/tree.h"

/* An expression and its place. */
struct mortise_expr {
    const struct mortise_cel *cel;
    const struct mortise_yaml *at; /* the scalar that holds it */
    size_t offset;                 /* the expression's, in the scalar */
};

struct mortise_tmpl; /* lives in an arena */

/* Compile a template.  Findings go to diags; then *out is NULL and the result
 * is MORTISE_ECHECK. */
int mortise_tmpl_compile(struct mortise_tmpl **out, struct mortise_arena *a,
                         const struct mortise_yaml *node,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags);
/* Is it a string with a `${` that is not `$${`? */
bool mortise_tmpl_has_expr(const struct mortise_yaml *node);
/* Bit i: the template uses name i of its scope, as in mortise_cel_get_uses(). */
uint32_t mortise_tmpl_get_used_names(const struct mortise_tmpl *t);
/* Evaluate it; *out is a new reference.  An error message starts with
 * path:line:col. */
int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err);

/* The template's value as it was written in the file. */
const struct mortise_yaml *mortise_tmpl_yaml(const struct mortise_tmpl *t);

/* A place in the value that a template fills. */
struct mortise_tmpl_place {
    const struct mortise_expr *expr; /* gives its value; NULL: a string */
    const struct mortise_yaml *at;
    /* Schema for this place; NULL: none. */
    const struct mortise_schema *schema;
};

/* Call fn for each place; s is the schema of the whole value, or NULL. */
void mortise_tmpl_for_each_place(
    const struct mortise_tmpl *t, const struct mortise_schema *s,
    void (*fn)(void *ud, const struct mortise_tmpl_place *p), void *ud);

/* Call fn for each expression, in the order of the text. */
void mortise_tmpl_for_each_expr(const struct mortise_tmpl *t,
                                void (*fn)(void *ud,
                                           const struct mortise_expr *e),
                                void *ud);

/* A copy of the value with each ${ escaped as $${, so that it compiles to
 * itself.  NULL: out of memory. */
const struct mortise_yaml *mortise_tmpl_escape(struct mortise_arena *a,
                                               const struct mortise_yaml *node);
/* Is there a ${ anywhere in the value? */
bool mortise_tmpl_has_expr_within(const struct mortise_yaml *node);

/* Compile an expression.  MORTISE_ECHECK after a finding. */
int mortise_expr_compile(struct mortise_expr *out, struct mortise_arena *a,
                         const struct mortise_yaml *scalar,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags);
/* The place of a part of the expression. */
struct mortise_span mortise_expr_get_span(const struct mortise_expr *e,
                                          struct mortise_cel_range where);
/* Put the place in front of an error message about the expression's value;
 * returns rv. */
int mortise_expr_prefix_error(const struct mortise_expr *e, int rv,
                              struct mortise_err *err);
int mortise_expr_eval(const struct mortise_expr *e,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err);
int mortise_expr_test(const struct mortise_expr *e,
                      const struct mortise_cel_env *env, bool *out,
                      struct mortise_err *err);

#endif
