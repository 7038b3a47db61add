/* start.h -- a run that is to begin (live.c). */
#ifndef MORTISE_ENGINE_RUNS_START_H
#define MORTISE_ENGINE_RUNS_START_H

#include "core/engine/runs/stored.h"

/* A run that is to begin. */
struct mortise_new_run {
    json_t *input;     /* lent until `done` */
    const char *actor; /* lent, too */
    const char *order; /* the id that who asks made for that; NULL: none */
    /* Of a child: its handle, and the change of that which goes with its admission
     * (a mortise_spawn_put's); lent, too.  NULL: it is none. */
    const char *spawned_by;
    const struct mortise_spawn_change *spawn;
    /* Exactly once; err->code MORTISE_OK: it is in memory, and nothing was told
     * of it yet.  It is on disk once `synced` is 1. */
    void (*done)(struct mortise_new_run *n, struct mortise_live *live,
                 const struct mortise_err *err);
    /* live.c's. */
    struct mortise *m;
    struct mortise_graph *graph;
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    struct mortise_stored stored; /* one of that id, if there is */
};
/* Admit it; `run` NULL: a new id. */
void mortise_live_start(struct mortise *m, struct mortise_new_run *n,
                        struct mortise_graph *g, const char *tenant,
                        const char *run);

#endif
