/* plugin_catalog.h -- the catalogue that graphs are checked against, made from
 * the manifests of a registry. */
#ifndef MORTISE_ENGINE_COMMON_PLUGIN_CATALOG_H
#define MORTISE_ENGINE_COMMON_PLUGIN_CATALOG_H

#include "core/base/table.h"
#include "core/model/catalog.h"
#include "lang/config/deploy.h"
#include "core/plugin/registry.h"

struct mortise_plugin_catalog {
    struct mortise_arena arena;
    struct mortise_plugins *plugins;             /* lent */
    const struct mortise_deployment *deployment; /* lent */
    struct mortise_table ops;                    /* those asked for so far */
    struct offer *pinned;       /* those of them that the lock has */
    struct mortise_table named; /* those that `names` was asked for */
    /* Nothing is called, or a script answers: configs do not matter. */
    bool is_idle;
    /* Strict: knows what there is.  Lenient: takes every name, for graphs of
     * old runs that are only looked at; what is missing is `external`. */
    struct mortise_catalog strict, lenient;
    /* Takes every name as the lenient one does, and reads no manifest: whatever
     * plugins there are, each operation is `external` and declares nothing. */
    struct mortise_catalog names;
    uint64_t guesses; /* how often runs went by what those declare */
};

/* It must not move. */
void mortise_plugin_catalog_open(struct mortise_plugin_catalog *s,
                                 const struct mortise_mem *mem,
                                 struct mortise_plugins *plugins,
                                 const struct mortise_deployment *deployment);
/* Zeroed is fine. */
void mortise_plugin_catalog_close(struct mortise_plugin_catalog *s);

#endif
