/* salvage.h -- what can be read of a damaged store, into a new one.  [loop] */
#ifndef MORTISE_TOOLS_SALVAGE_SALVAGE_H
#define MORTISE_TOOLS_SALVAGE_SALVAGE_H

#include "core/store/store.h"

struct mortise_salvaged {
    uint64_t runs; /* that are in the new store */
    uint64_t cut;  /* of these, not up to their newest commit, or maybe not */
    uint64_t dropped; /* runs that are not: known by name alone */
    uint64_t missing; /* commits that are known of, and cannot be read */
    bool holes; /* pieces of tables cannot be read: runs may be missing of which
                 * nothing is left */
    bool unmarked;   /* no mark says how much there was: more may be missing */
    uint64_t unused; /* graphs that were handed in, and no run pins */
};

/* A graph that is handed in, for runs whose own copy cannot be read. */
struct mortise_salvage_graph {
    const char *path; /* what it is called */
    uint8_t digest[MORTISE_DIGEST];
    const struct mortise_source *files; /* its own, then those it names */
    size_t n_files;
};

/* Where the store's own knowledge ends: `ud` is handed to all. */
struct mortise_salvage_how {
    void *ud;
    /* A sentence about something that is not there; no line end. */
    void (*say)(void *ud, const char *words);
    /* The next checkpoint of a run: *status, 0 before the first one, becomes
     * that with which the run ended, or 0. */
    void (*follow)(void *ud, const struct mortise_checkpoint *cp,
                   uint32_t *status);
    /* A head made anew has that status and n_pending: its status and reason. */
    void (*stand)(void *ud, struct mortise_head *head);
    /* The name of the graph with these files is appended. */
    void (*name)(void *ud, const struct mortise_source *files, size_t n,
                 struct mortise_buf *name);
    const struct mortise_salvage_graph *graphs;
    size_t n_graphs; /* at most 32 */
};

/* `from` is read and not changed; `to` becomes a store, whole or not at all: it
 * must not be there, or be an empty directory, or what a call that was cut off
 * left (MORTISE_EEXISTS).  MORTISE_EBUSY when somebody has `from` open,
 * MORTISE_EFORMAT when it is of another format: nothing is made then. */
int mortise_store_salvage(const char *from, const char *to,
                          const struct mortise_mem *mem,
                          const struct mortise_salvage_how *how,
                          struct mortise_salvaged *out,
                          struct mortise_err *err);

#endif
