/* rollback_state.h -- releases and revoked keys that this user saw, across
 * stores.  [any] */
#ifndef MORTISE_PLUGIN_ROLLBACK_STATE_H
#define MORTISE_PLUGIN_ROLLBACK_STATE_H

#include <limits.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* The place of the records.  Zeroed, except for `mem`, until the first call. */
struct mortise_rollback_state {
    const struct mortise_mem *mem;
    /* Checked at the first call: no other user could change the path to it. */
    char dir[PATH_MAX];
    char lost[1024]; /* why a value could not be recorded; "": no failure */
};

/* The number recorded under a name; 0: none, or this user has no place for
 * records. */
int mortise_rollback_state_get(struct mortise_rollback_state *s,
                               const char *name, uint64_t *value,
                               struct mortise_err *err);
/* MORTISE_OK also without such a place, because a store records the number as
 * well; s->lost then has the reason. */
int mortise_rollback_state_put(struct mortise_rollback_state *s,
                               const char *name, uint64_t value,
                               struct mortise_err *err);

#endif
