/* load.h -- the bytes of a .so, held so that they cannot change, and the module
 * that is made of them.  Internal to verification.c and instantiate.c. */
#ifndef MORTISE_PLUGIN_LOAD_H
#define MORTISE_PLUGIN_LOAD_H

#include <mortise/plugin.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/hash.h"

/* A sealed memfd and its bytes. */
struct mortise_object {
    int fd;
    void *p; /* mapped read-only */
    size_t n;
    uint8_t digest[MORTISE_DIGEST];
};

/* Copy a file; `label` names the memfd, for perf and gdb.  [any] */
int mortise_object_open(struct mortise_object *o, const char *path,
                        const char *label, struct mortise_err *err);
void mortise_object_close(struct mortise_object *o);

struct mortise_loaded; /* a module in this process, for good */

/* dlopen these very bytes, or find that they are loaded already, and look at
 * what they export.  The descriptor is taken when it is needed for good; close
 * the object in any case.  Nothing of the plugin's own runs but its
 * constructors.  Each success wants one mortise_module_release().  [any] */
int mortise_module_load(struct mortise_loaded **out, struct mortise_object *o,
                        const char *name, struct mortise_err *err);
/* The plugin of that name and version in a module; init() was called.  [any] */
int mortise_module_plugin(const mortise_plugin **out, struct mortise_loaded *l,
                          const char *name, const char *version,
                          struct mortise_err *err);
/* The last user calls fini(); `leaked`: not any more, as some of its code still
 * runs.  The code stays mapped.  [any] */
void mortise_module_release(struct mortise_loaded *l, bool leaked);

#endif
