/* plugin_catalog.h -- the catalog that graphs are checked against, made from
 * the manifests of a plugin registry. */
#ifndef MORTISE_LANG_CONFIG_PLUGINS_PLUGIN_CATALOG_H
#define MORTISE_LANG_CONFIG_PLUGINS_PLUGIN_CATALOG_H

#include "core/base/table.h"
#include "core/model/catalog.h"
#include "lang/config/deploy.h"
#include "core/plugin/registry.h"

struct mortise_plugin_catalog {
    struct mortise_arena arena;
    struct mortise_plugins *plugins;             /* lent */
    const struct mortise_deployment *deployment; /* lent */
    /* the operations looked up so far */
    struct mortise_table ops;
    struct offer *pinned;       /* those that come from the lock file */
    struct mortise_table named; /* the operations looked up in `names` */
    /* Nothing is called, or a script answers: configs do not matter. */
    bool is_idle;
    /* Strict: knows only existing operations.  Lenient: accepts every name, for
     * graphs of old runs that are only read; a missing operation is
     * `external`. */
    struct mortise_catalog strict, lenient;
    /* Accepts every name and reads no manifest: each operation is `external`
     * and declares nothing. */
    struct mortise_catalog names;
    uint64_t guesses; /* how often runs relied on the declarations of `names` */
};

/* The struct must not move. */
void mortise_plugin_catalog_open(struct mortise_plugin_catalog *s,
                                 const struct mortise_mem *mem,
                                 struct mortise_plugins *plugins,
                                 const struct mortise_deployment *deployment);
/* A zeroed struct is fine. */
void mortise_plugin_catalog_close(struct mortise_plugin_catalog *s);

#endif
