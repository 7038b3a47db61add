/* tmpl.h -- compiling templates and expressions. */
#ifndef MORTISE_LANG_GRAPH_LOAD_TMPL_H
#define MORTISE_LANG_GRAPH_LOAD_TMPL_H

#include "core/model/tmpl.h"

/* Compile a template.  Findings go to diags; then *out is NULL and the result
 * is MORTISE_ECHECK. */
int mortise_tmpl_compile(struct mortise_tmpl **out, struct mortise_arena *a,
                         const struct mortise_yaml *node,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags);
/* Is it a string with a `${` that is not `$${`? */
bool mortise_tmpl_has_expr(const struct mortise_yaml *node);

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
/* The same for the part [offset, offset+length) of a scalar. */
int mortise_expr_compile_at(struct mortise_expr *out, struct mortise_arena *a,
                            const struct mortise_yaml *scalar, size_t offset,
                            size_t length,
                            const struct mortise_cel_scope *scope,
                            struct mortise_diags *diags);

#endif
