/* tree_purses.h -- the shared budgets of spawn trees that have runs in memory.
 * [loop] */
#ifndef MORTISE_ENGINE_COMMON_TREE_PURSES_H
#define MORTISE_ENGINE_COMMON_TREE_PURSES_H

#include "core/engine/common/engine.h"
#include "core/run/run.h"

/* The budget of a tree with a run, or a commit of a run, in memory. */
struct mortise_tree_budget {
    struct mortise *m;
    struct mortise_tree_budget *next;
    char tenant[MORTISE_NAME_MAX + 1], origin[MORTISE_NAME_MAX + 1];
    struct mortise_live *members;
    size_t flying;       /* commits in flight that change it */
    bool known, is_open; /* it was read; it exists */
    bool was_raised;     /* look for runs that it stopped */
    struct mortise_spawn_budget stored;
    /* used by runs/trees.c */
    bool reads;    /* a read is in flight */
    bool outdated; /* ... and its result is already too old */
    struct mortise_read read;
};

/* The change that a commit in flight makes to a budget. */
struct mortise_tree_commit_flight {
    struct mortise_tree_budget *of;          /* NULL: none */
    uint64_t counted[MORTISE_SPAWN_AMOUNTS]; /* amounts of the run, including
                                                this commit */
};

/* ---- for live.c and commits.c -------------------------------------------- */

/* A run was loaded or created: attach it to the budget of its tree, if it has
 * one.  MORTISE_ENOMEM. */
int mortise_tree_attach_run(struct mortise_live *live, struct mortise_err *err);
/* The run leaves memory, or is lost: detach it from its tree. */
void mortise_tree_detach_run(struct mortise_live *live);
/* Before a step: tell the run the state of the budget. */
void mortise_tree_update_run(const struct mortise_live *live);
/* After a step: record its new amounts and notify the others.
 * MORTISE_ENOMEM. */
int mortise_tree_record_run(struct mortise_live *live, struct mortise_err *err);
/* mortise_tree_begin_flight(): a commit of the run is about to be given to the store,
 * with the change `out` of the tree's budget.  False: out of memory.
 * mortise_tree_end_flight(): the store answered that commit. */
bool mortise_tree_begin_flight(struct mortise_live *live,
                               const struct mortise_run_commit *c,
                               struct mortise_tree_commit_flight *f,
                               struct mortise_arena *a,
                               struct mortise_spawn_budget_change *out);
void mortise_tree_end_flight(struct mortise_live *live,
                             const struct mortise_tree_commit_flight *f,
                             const struct mortise_spawn_budget_change *s,
                             int result);

/* ---- for trees.c --------------------------------------------------------- */

/* The next member that must be told; it counts as told.  NULL: none. */
struct mortise_live *mortise_tree_take_stale(struct mortise *m);
/* The next run whose origin is unknown; it is pending until
 * mortise_tree_set_origin() (origin NULL: it has none).  NULL: none. */
struct mortise_live *mortise_tree_take_seeker(struct mortise *m);
int mortise_tree_set_origin(struct mortise_live *live, const char *origin,
                            struct mortise_err *err);
/* The budget was read (NULL: there is none): all members must be told. */
void mortise_tree_set_stored(struct mortise_tree_budget *p,
                             const struct mortise_spawn_budget *stored);
/* Free the budget if nothing uses it. */
void mortise_tree_drop_unused(struct mortise_tree_budget *p);

#endif
