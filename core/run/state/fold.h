/* fold.h -- writes into the state, and the reducers (graph.md 7). */
#ifndef MORTISE_RUN_FOLD_H
#define MORTISE_RUN_FOLD_H

#include "core/model/graph.h"

/* One write: an operand for a path of {scratch, artifacts}. */
struct mortise_write {
    const struct mortise_path *path; /* root included; lent */
    enum mortise_reduce reduce;
    json_t *value;                     /* owned by who holds the write */
    const struct mortise_reducer *how; /* as declared for the path; NULL: by the
                                          kind alone.  EXPR has one. */
    /* It is the own of the map's element that it was written in (writes.c). */
    bool own;
};

/* Fold one write into *state.  What nobody else holds of *state is changed in
 * place (path.h).  MORTISE_EINVAL when the reducer cannot take the operand; the
 * state is then as it was. */
int mortise_fold_write(json_t **state, const struct mortise_write *w,
                       uint64_t expr_cost, struct mortise_err *err);

/* Would that surely succeed?  A no means that it has to be tried. */
bool mortise_fold_is_sure(const json_t *state, const struct mortise_write *w);

/* MORTISE_ELIMIT when a value nests so deep that what holds it could not be
 * written any more. */
int mortise_fold_check_depth(const json_t *value, struct mortise_err *err);

#endif
