/* eval.h -- a compiled program.  Internal to cel/. */
#ifndef MORTISE_LANG_CEL_EVAL_H
#define MORTISE_LANG_CEL_EVAL_H

#include "lang/cel/ast.h"

struct mortise_cel {               /* in the arena of the compilation */
    const struct mortise_mem *mem; /* the arena's: for evaluations */
    const struct cel_node *root;
    struct mortise_cel_name *names; /* copy of the scope's names */
    size_t n_names;
    uint32_t n_slots; /* maximum number of local variables at the same time */
    uint32_t uses;
    unsigned kinds;   /* bits of the possible kinds of the result */
    const char *path; /* or NULL */
};

/* The cost limit of an evaluation. */
static inline uint64_t cel_budget(const struct mortise_expr_env *env)
{
    return env->cost_limit != 0 ? env->cost_limit : MORTISE_COST;
}

#endif
