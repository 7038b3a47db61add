/* fold.h -- writes into the state, and the reducers (graph.md 7). */
#ifndef MORTISE_RUN_FOLD_H
#define MORTISE_RUN_FOLD_H

#include "core/model/graph.h"

/* One write: an operand for a path of {scratch, artifacts}. */
struct mortise_write {
    const struct mortise_path *path; /* root included; borrowed */
    enum mortise_reduce reduce;
    json_t *value;                     /* owned by the holder of the write */
    const struct mortise_reducer *how; /* the declared reducer of the path;
                                          NULL: none, use `reduce` alone.
                                          Always set for EXPR. */
    /* The write belongs to the map element that made it (writes.c). */
    bool own;
};

/* Fold one write into *state.  Parts of *state without other references are
 * changed in place (path.h).  MORTISE_EINVAL when the reducer cannot take the
 * operand; *state is unchanged then. */
int mortise_fold_write(json_t **state, const struct mortise_write *w,
                       uint64_t expr_cost, struct mortise_err *err);

/* Is mortise_fold_write() certain to succeed?  False: it may succeed or
 * fail. */
bool mortise_fold_is_certain(const json_t *state,
                             const struct mortise_write *w);

/* MORTISE_ELIMIT when a value nests too deep to be stored in a state. */
int mortise_fold_check_depth(const json_t *value, struct mortise_err *err);

#endif
