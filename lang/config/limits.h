/* limits.h -- the key `limits`: of a graph, and of a deployment. */
#ifndef MORTISE_LANG_CONFIG_LIMITS_H
#define MORTISE_LANG_CONFIG_LIMITS_H

#include "core/spawn/spawn.h"
#include "lang/yaml/keys.h"

enum mortise_limit { /* in the order of the table */
                     MORTISE_LIMIT_CONCURRENCY,
                     MORTISE_LIMIT_EXPR_COST,
                     MORTISE_LIMIT_NODES,
                     MORTISE_LIMIT_STEPS,
                     MORTISE_LIMIT_VISITS,
                     MORTISE_LIMIT_DEPTH,
                     MORTISE_LIMIT_STATE,   /* bytes */
                     MORTISE_LIMIT_TIMEOUT, /* ms; 0: none */
                     /* The first limit of `spawn` (enum mortise_spawn_cap). */
                     MORTISE_LIMIT_SPAWN,
                     MORTISE_N_LIMITS = MORTISE_LIMIT_SPAWN + MORTISE_SPAWN_CAPS
};

/* The limits in one file.  Those of a deployment are the defaults and the
 * maximums for graphs. */
struct mortise_bounds {
    uint64_t value[MORTISE_N_LIMITS];
    const struct mortise_yaml *said[MORTISE_N_LIMITS]; /* NULL: not set */
};

/* "steps", "spawn.depth". */
const char *mortise_limit_name(enum mortise_limit which);

/* For its readers, `into` is a struct mortise_bounds; `ctx` is unused. */
extern const struct mortise_place mortise_limits_place;

#endif
