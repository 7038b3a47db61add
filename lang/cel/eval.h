/* eval.h -- a compiled program.  Internal to cel/. */
#ifndef MORTISE_LANG_CEL_EVAL_H
#define MORTISE_LANG_CEL_EVAL_H

#include "lang/cel/ast.h"

struct mortise_cel {               /* in the arena that it was compiled into */
    const struct mortise_mem *mem; /* the arena's: for evaluations */
    const struct cel_node *root;
    struct mortise_cel_name *names; /* the scope's, copied */
    size_t n_names;
    uint32_t n_slots; /* local variables alive at once */
    uint32_t uses;
    unsigned kinds;   /* bits of what the result may be */
    const char *path; /* or NULL */
};

/* What an evaluation may cost. */
static inline uint64_t cel_budget(const struct mortise_cel_env *env)
{
    return env->cost_limit != 0 ? env->cost_limit : MORTISE_COST;
}

#endif
