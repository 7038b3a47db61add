/* stock.h -- the catalogue that graphs are checked against, made from the
 * manifests of a registry. */
#ifndef MORTISE_ENGINE_COMMON_STOCK_H
#define MORTISE_ENGINE_COMMON_STOCK_H

#include "base/table.h"
#include "graph/model/catalog.h"
#include "config/deploy.h"
#include "plugin/registry.h"

struct mortise_stock {
    struct mortise_arena arena;
    struct mortise_plugins *plugins;             /* lent */
    const struct mortise_deployment *deployment; /* lent */
    struct mortise_table ops;                    /* those asked for so far */
    /* Strict: knows what there is.  Lenient: takes every name, for graphs of
     * old runs that are only looked at; what is missing is `external`. */
    struct mortise_catalog strict, lenient;
};

/* A stock must not move. */
void mortise_stock_open(struct mortise_stock *s, const struct mortise_mem *mem,
                        struct mortise_plugins *plugins,
                        const struct mortise_deployment *deployment);
void mortise_stock_close(struct mortise_stock *s); /* zeroed is fine */
/* The plugin behind the id of a guardrail: lent by the deployment, or `id`. */
const char *mortise_stock_guardrail(const struct mortise_stock *s,
                                    const char *id);

#endif
