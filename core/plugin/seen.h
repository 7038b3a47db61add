/* seen.h -- what this user saw of plugins and of trust, in any store.  [any] */
#ifndef MORTISE_PLUGIN_SEEN_H
#define MORTISE_PLUGIN_SEEN_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/* What is remembered under a name; 0: nothing is, also when this user has no
 * place to remember things. */
int mortise_seen_get(void *mem, const char *name, uint64_t *value,
                     struct mortise_err *err);
/* MORTISE_OK also when there is no such place: a store remembers as well. */
int mortise_seen_put(void *mem, const char *name, uint64_t value,
                     struct mortise_err *err);

#endif
