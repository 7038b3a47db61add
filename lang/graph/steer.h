/* steer.h -- diffs of task graphs: changes to the graph of a run. */
#ifndef MORTISE_LANG_GRAPH_STEER_H
#define MORTISE_LANG_GRAPH_STEER_H

#include "core/model/graph.h"

/* The run that a diff applies to. */
struct mortise_steer_target {
    const struct mortise_graph *graph;
    /* Has the node at this path begun or ended?  Returns text that follows the
     * node's name in a message, or NULL (mortise_run_get_node_progress()). */
    const char *(*begun)(void *ud, const char *path);
    void *ud;
};

/* Apply a diff to a graph. *out is a tree in `a`; each part keeps the position
 * where it was written, in the graph's file or in the diff's (named `path`).
 * It lives as long as both. *operations is the diff as JSON, a new reference.
 * The result is not loaded yet, which may cause further findings.
 *
 * MORTISE_ECHECK: there are findings; both results are NULL. */
int mortise_steer_apply(const struct mortise_yaml **out, json_t **operations,
                        struct mortise_arena *a,
                        const struct mortise_steer_target *of, const char *path,
                        const char *text, size_t n, struct mortise_diags *diags,
                        struct mortise_err *err);

#endif
