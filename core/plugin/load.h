/* load.h -- the bytes of a .so in a sealed copy, and the module loaded from it.
 * Internal to verification.c and instantiate.c. */
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

struct mortise_loaded_module; /* a module in this process; never unloaded */

/* dlopen() exactly these bytes, or find the module if they are loaded already,
 * and check its exports.  Takes the descriptor over if it must stay open; close
 * the object in any case.  Only constructors of the plugin run.  Each success
 * needs one mortise_module_release().  [any] */
int mortise_module_load(struct mortise_loaded_module **out,
                        struct mortise_object *o, const char *name,
                        struct mortise_err *err);
/* Find the plugin with this name and version in a module; runs init().
 * [any] */
int mortise_module_find_plugin(const mortise_plugin **out,
                               struct mortise_loaded_module *l,
                               const char *name, const char *version,
                               struct mortise_err *err);
/* The last user's release calls fini(), or, if code of the plugin still runs
 * (`leaked`), never does.  The code stays mapped.  [any] */
void mortise_module_release(struct mortise_loaded_module *l, bool leaked);

#endif
