/* rollback_state.h -- what this user saw of plugins and of trust, in any store.
 * [any] */
#ifndef MORTISE_PLUGIN_ROLLBACK_STATE_H
#define MORTISE_PLUGIN_ROLLBACK_STATE_H

#include <limits.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Where it is kept; zeroed, but for `mem`, it was not looked for yet. */
struct mortise_rollback_state {
    const struct mortise_mem *mem;
    char dir[PATH_MAX]; /* nobody else could change the way to it when it was
                           looked at, at the first question */
    char lost[1024];    /* why something could not be kept; "": nothing was */
};

/* What is remembered under a name; 0: nothing is, also when this user has no
 * place to remember things. */
int mortise_rollback_state_get(struct mortise_rollback_state *s,
                               const char *name, uint64_t *value,
                               struct mortise_err *err);
/* MORTISE_OK also when there is no such place: a store remembers as well, and
 * s->lost says so. */
int mortise_rollback_state_put(struct mortise_rollback_state *s,
                               const char *name, uint64_t value,
                               struct mortise_err *err);

#endif
