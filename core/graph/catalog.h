/* catalog.h -- what a graph needs to know of plugins to be checked.  Filled
 * from manifests alone (no plugin code runs), by who owns the plugins. */
#ifndef MORTISE_GRAPH_CATALOG_H
#define MORTISE_GRAPH_CATALOG_H

#include "json/schema.h"

enum mortise_effect { /* in order of strictness */
    MORTISE_PURE = 1,
    MORTISE_READ = 2,
    MORTISE_WRITE = 3,
    MORTISE_EXTERNAL = 4
};

struct mortise_operation { /* lives as long as the catalogue */
    const char *plugin, *name;
    enum mortise_effect effect;
    bool idempotent, reconcile;
    uint64_t timeout_ms; /* 0: none given */
    const struct mortise_schema *input, *output; /* NULL: anything */
    /* What it does to the world it does by asking the host, and nothing
     * besides: its effects are those of its steps. */
    bool by_asking;
};

struct mortise_catalog {
    void *ud;
    /* NULL when there is none of that name; *why then says so in a sentence
     * with what to do ("no plugin 'acme.pay' in ./plugins; did you mean ...",
     * "plugin 'file' has no operation 'wirte'; did you mean 'write'?"). */
    const struct mortise_operation *(*operation)(void *ud, const char *plugin,
                                                 const char *op,
                                                 struct mortise_err *why);
    /* MORTISE_OK when a guardrail answers to this id. */
    int (*guardrail)(void *ud, const char *id, struct mortise_err *why);
};

#endif
