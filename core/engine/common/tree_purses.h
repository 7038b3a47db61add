/* tree_purses.h -- what the runs of spawn trees spend together, while some of them
 * are in memory.  [loop] */
#ifndef MORTISE_ENGINE_COMMON_TREE_PURSES_H
#define MORTISE_ENGINE_COMMON_TREE_PURSES_H

#include "core/engine/common/engine.h"
#include "core/run/run.h"

/* Of a tree that has a run in memory, or a commit of one on its way. */
struct mortise_tree_purse {
    struct mortise *m;
    struct mortise_tree_purse *next;
    char tenant[MORTISE_NAME_MAX + 1], origin[MORTISE_NAME_MAX + 1];
    struct mortise_live *members;
    size_t flying;       /* commits on their way that change it */
    bool known, is_open; /* it was read; it is there */
    bool was_raised;     /* those that it stopped are to be looked for */
    struct mortise_spawn_purse stored;
    /* runs/trees.c's */
    bool reads;    /* a read is out */
    bool outdated; /* ... and what it brings is too old */
    struct mortise_read read;
};

/* What a commit on its way changes of one. */
struct mortise_tree_flight {
    struct mortise_tree_purse *of;           /* NULL: nothing */
    uint64_t counted[MORTISE_SPAWN_AMOUNTS]; /* of the run, with it */
};

/* ---- live.c, commits.c: what happens to runs -------------------------------- */

/* A run came into memory: its tree's purse is looked for, if it has one.
 * MORTISE_ENOMEM. */
int mortise_tree_join(struct mortise_live *live, struct mortise_err *err);
/* It leaves memory, or is lost. */
void mortise_tree_leave(struct mortise_live *live);
/* It is about to step: it knows what is known. */
void mortise_tree_tell(const struct mortise_live *live);
/* It has stepped: others are to know of that.  MORTISE_ENOMEM. */
int mortise_tree_note(struct mortise_live *live, struct mortise_err *err);
/* Its commit is about to go to the store, with what it changes; and was answered.
 * False: memory ran out. */
bool mortise_tree_take(struct mortise_live *live,
                       const struct mortise_run_commit *c,
                       struct mortise_tree_flight *f, struct mortise_arena *a,
                       struct mortise_spawn_spend *out);
void mortise_tree_landed(struct mortise_live *live,
                         const struct mortise_tree_flight *f,
                         const struct mortise_spawn_spend *s, int result);

/* ---- trees.c: what comes of it ------------------------------------------------ */

/* The next member that is to be told, and was not; it is as if it was.  NULL: no
 * one. */
struct mortise_live *mortise_tree_take_stale(struct mortise *m);
/* A run that joined, and whose origin is not known; it is pending until that is
 * said (NULL: it has none).  NULL: no one. */
struct mortise_live *mortise_tree_take_seeker(struct mortise *m);
int mortise_tree_found(struct mortise_live *live, const char *origin,
                       struct mortise_err *err);
/* What was read (NULL: there is none): all members are to be told. */
void mortise_tree_learn(struct mortise_tree_purse *p,
                        const struct mortise_spawn_purse *stored);
/* Nobody needs it, or it stays. */
void mortise_tree_drop_unused(struct mortise_tree_purse *p);

#endif
