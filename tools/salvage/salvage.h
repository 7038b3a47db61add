/* salvage.h -- copy the readable part of a damaged store into a new one.
 * [loop] */
#ifndef MORTISE_TOOLS_SALVAGE_SALVAGE_H
#define MORTISE_TOOLS_SALVAGE_SALVAGE_H

#include "core/store/store.h"

struct mortise_salvage_result {
    uint64_t runs; /* in the new store */
    uint64_t cut;  /* runs that lost, or may have lost, their newest commits */
    uint64_t dropped; /* runs that were left out, known by name only */
    uint64_t missing; /* known commits that cannot be read */
    /* parts of tables cannot be read: there may have been other runs */
    bool holes;
    bool unmarked;   /* there is no mark: newer commits may be missing */
    uint64_t unused; /* supplied graphs that no run uses */
};

/* A graph that the caller supplies, for runs whose copy cannot be read. */
struct mortise_salvage_graph {
    const char *path; /* for messages */
    uint8_t digest[MORTISE_DIGEST];
    /* the graph's own file, then those that it names */
    const struct mortise_source *files;
    size_t n_files;
};

/* Callbacks for knowledge that the store lacks; `ud` is passed to each. */
struct mortise_salvage_callbacks {
    void *ud;
    /* Report a loss: one sentence without a line end. */
    void (*say)(void *ud, const char *words);
    /* The next checkpoint of a run: set *status, which is 0 at first, to the
     * status with which the run has ended, or 0. */
    void (*follow)(void *ud, const struct mortise_checkpoint *cp,
                   uint32_t *status);
    /* Set the status and reason of a new head by its status and n_pending. */
    void (*stand)(void *ud, struct mortise_head *head);
    /* Append the name of the graph that has these files. */
    void (*name)(void *ud, const struct mortise_source *files, size_t n,
                 struct mortise_buf *name);
    const struct mortise_salvage_graph *graphs;
    size_t n_graphs; /* at most 32 */
};

/* Copy `from`, which is not changed, to the new store `to`, which is completed
 * or not made at all.  `to` must not exist, or be an empty directory, or remain
 * from an interrupted call (MORTISE_EEXISTS).  MORTISE_EBUSY: another process
 * has `from` open.  MORTISE_EFORMAT: `from` has another format.  In both cases
 * nothing is made. */
int mortise_store_salvage(const char *from, const char *to,
                          const struct mortise_mem *mem,
                          const struct mortise_salvage_callbacks *how,
                          struct mortise_salvage_result *out,
                          struct mortise_err *err);

#endif
