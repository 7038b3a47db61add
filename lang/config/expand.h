/* expand.h -- ${env:...} and ${file:...} in a deployment's strings. */
#ifndef MORTISE_LANG_CONFIG_EXPAND_H
#define MORTISE_LANG_CONFIG_EXPAND_H

#include "lang/yaml/tree.h"

/* Returns a tree in which all string values are expanded, once.  Keys and the
 * values of x- keys remain as they are, and parts without ${ are shared with
 * the old tree.  Without `resolve`, neither the environment nor files are read:
 * each ${...} remains as written, or becomes its default.  Findings go to
 * `diags`; then do not use the tree.  NULL: memory ran out. */
struct mortise_yaml *mortise_expand_tree(struct mortise_arena *a,
                                         struct mortise_yaml *root,
                                         bool resolve,
                                         struct mortise_diags *diags);

/* A ${...} of a string. */
struct mortise_expansion {
    bool file;        /* ${file:...}; otherwise ${env:...} */
    bool by_default;  /* the default was used */
    const char *name; /* n bytes of the string */
    size_t n;
};

/* Find the next ${...} at or after *p, and advance *p; false: no more.  Only
 * for strings that mortise_expand_tree() accepted. */
bool mortise_expand_find_next(const char **p, struct mortise_expansion *out);

/* A path relative to the file of `at`.  NULL: memory ran out. */
const char *mortise_expand_path(struct mortise_arena *a,
                                const struct mortise_yaml *at);

#endif
