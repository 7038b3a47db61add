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

/* Bit i: the template uses name i of its scope, as in mortise_cel_get_uses(). */
uint32_t mortise_tmpl_get_used_names(const struct mortise_tmpl *t);
/* Evaluate it; *out is a new reference.  An error message starts with
 * path:line:col. */
int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err);

/* The template's value as it was written in the file. */
const struct mortise_yaml *mortise_tmpl_yaml(const struct mortise_tmpl *t);

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
