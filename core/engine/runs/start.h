/* start.h -- start a run (live.c). */
#ifndef MORTISE_ENGINE_RUNS_START_H
#define MORTISE_ENGINE_RUNS_START_H

#include "core/engine/runs/stored.h"

/* A run to start. */
struct mortise_new_run {
    json_t *input;     /* lent until `done` */
    const char *actor; /* lent, too */
    const char *order; /* the caller's id for the request; NULL: none */
    /* For a child: its handle, and the change of the handle that goes with its
     * admission (of a mortise_spawn_put); lent, too.  NULL: it is no child. */
    const char *spawned_by;
    const struct mortise_spawn_change *spawn;
    /* Called exactly once; err->code MORTISE_OK: the run is in memory, and none
     * of its events was sent yet.  It is on disk when `synced` is 1. */
    void (*done)(struct mortise_new_run *n, struct mortise_live *live,
                 const struct mortise_err *err);
    /* Private to live.c. */
    struct mortise *m;
    struct mortise_graph *graph;
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    struct mortise_stored_read stored; /* an existing run with this id */
};
/* Admit the run; `run` NULL: generate an id. */
void mortise_live_start(struct mortise *m, struct mortise_new_run *n,
                        struct mortise_graph *g, const char *tenant,
                        const char *run);

#endif
