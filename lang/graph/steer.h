/* steer.h -- diffs of task graphs: what is to be another in one that runs. */
#ifndef MORTISE_LANG_GRAPH_STEER_H
#define MORTISE_LANG_GRAPH_STEER_H

#include "core/model/graph.h"

/* What a diff is held against. */
struct mortise_steered {
    const struct mortise_graph *graph;
    /* Has the node there begun, or ended?  In words that follow its name, or NULL
     * (mortise_run_begun()). */
    const char *(*begun)(void *ud, const char *path);
    void *ud;
};

/* The graph as the diff makes it: a tree in `a`, each part of which knows where it
 * was written, in the graph's file or in the diff's (whose name is `path`); it lasts
 * as long as both.  *operations: the diff as JSON, a new reference.  It is not
 * loaded yet: that has findings of its own.
 *
 * MORTISE_ECHECK: findings, and neither of both. */
int mortise_steer_apply(const struct mortise_yaml **out, json_t **operations,
                        struct mortise_arena *a,
                        const struct mortise_steered *of, const char *path,
                        const char *text, size_t n, struct mortise_diags *diags,
                        struct mortise_err *err);

#endif
