/* tmpl.h -- compiling expressions, and templates: JSON values with ${...} in
 * their strings (graph.md 8).  A string that is exactly one ${...} keeps the
 * type of its value; `$${` is `${`.  core/model/expr.h has their evaluation. */
#ifndef MORTISE_LANG_TMPL_TMPL_H
#define MORTISE_LANG_TMPL_TMPL_H

#include "core/model/expr.h"
#include "lang/cel/cel.h"
#include "lang/yaml/tree.h"

enum mortise_tmpl_kind {
    MORTISE_TMPL_LITERAL,
    MORTISE_TMPL_EXPR,
    MORTISE_TMPL_TEXT,
    MORTISE_TMPL_LIST,
    MORTISE_TMPL_MAP
};

struct mortise_tmpl_part { /* in a TEXT: an expression, or n bytes */
    struct mortise_expr expr;
    const char *text;
    size_t n;
};

struct mortise_tmpl { /* in an arena */
    enum mortise_tmpl_kind kind;
    const struct mortise_mem *mem;   /* lent: the arena's */
    const struct mortise_yaml *node; /* the value itself; keys of a MAP */
    struct mortise_tmpl_part *parts; /* EXPR: one; TEXT: n */
    struct mortise_tmpl **items;     /* LIST, MAP: node->n */
    size_t n;
    uint32_t uses; /* outermost value only: bit mask of the names used */
};

/* The template's value as it was written in the file. */
const struct mortise_yaml *mortise_tmpl_yaml(const struct mortise_tmpl *t);
/* The place of a part of the expression. */
struct mortise_span mortise_expr_get_span(const struct mortise_expr *e,
                                          struct mortise_cel_range where);

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
