/* expand.h -- ${env:...} and ${file:...} in a deployment's strings. */
#ifndef MORTISE_LANG_CONFIG_EXPAND_H
#define MORTISE_LANG_CONFIG_EXPAND_H

#include "lang/yaml/tree.h"

/* The tree with all its string values expanded, once; keys and what x- keys
 * hold stay as they are, and parts without ${ are shared with the old tree.
 * Not `resolve`: neither the environment nor a file is read.  A ${...} stays as it
 * is written, or becomes its default.
 * Findings go to diags: then the tree is not to be used.  NULL when memory ran
 * out. */
struct mortise_yaml *mortise_expand(struct mortise_arena *a,
                                    struct mortise_yaml *root, bool resolve,
                                    struct mortise_diags *diags);

/* What a string takes from outside: one ${...} of it. */
struct mortise_outside {
    bool file;        /* ${file:...}; else ${env:...} */
    bool by_default;  /* its default stands in */
    const char *name; /* n bytes of the string */
    size_t n;
};

/* The next one of a string at or behind *p, which moves on; false: no more.
 * Strings that mortise_expand() refused are not for this. */
bool mortise_expand_next(const char **p, struct mortise_outside *out);

/* A path as written in the file of `at`, from where that file is.  NULL when
 * memory ran out. */
const char *mortise_expand_path(struct mortise_arena *a,
                                const struct mortise_yaml *at);

#endif
