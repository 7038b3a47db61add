/* spawns.h -- what is asked of spawn handles, decided one after another.
 *
 * Who asks fills in an operation and begins it; `decided` is told what comes of
 * it.  What changes is not stored by then: who was told has a commit take it, the
 * run's or its own, or drops it.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_SPAWNS_H
#define MORTISE_ENGINE_RUNS_SPAWNS_H

#include "core/engine/runs/stored.h"

enum mortise_spawn_kind {
    MORTISE_SPAWN_CLAIMS = 1,
    MORTISE_SPAWN_REGISTERS,
    MORTISE_SPAWN_ADVANCES,
    MORTISE_SPAWN_SETTLES,
    MORTISE_SPAWN_STARTS, /* a native one: what changes goes with its admission */
    MORTISE_SPAWN_REPORTS /* ...: it says how far it is */
};

struct mortise_spawn_op {
    /* ---- who asks fills in; all of it is lent until the operation is over ---- */
    enum mortise_spawn_kind kind;
    const char *tenant, *parent;
    char id[MORTISE_SPAWN_ID]; /* but of a claim */
    const char *token;         /* of a claim NULL: one is made */
    /* CLAIMS */
    const char *execution, *call, *name;
    uint8_t task[MORTISE_DIGEST]; /* STARTS, too */
    bool detached, native;
    const struct mortise_graph *graph; /* the parent's, which is running; NULL:
                                          look for it, and whether it is there */
    const char *child;                 /* REGISTERS */
    enum mortise_spawn_state state;    /* ADVANCES */
    uint32_t attempt;                  /* REPORTS; and text, or NULL */
    const char *progress;
    enum mortise_spawn_status status; /* SETTLES; and JSON, or NULL */
    const char *result;
    size_t result_size;
    /* Exactly once.  rv MORTISE_OK: `put.change.now` is what the record comes to,
     * and `changes` whether that is another one.  Else err, lent, has words.  The
     * operation is to be taken or dropped from inside, or later. */
    void (*decided)(struct mortise_spawn_op *op, int rv,
                    const struct mortise_err *err);
    /* What was taken: as of mortise_spawn_put.  The operation is over, and the
     * asker's to free. */
    void (*landed)(struct mortise_spawn_op *op, int result);

    /* ---- what comes of it ---- */
    struct mortise_spawn_put put;
    bool changes;
    enum mortise_spawn_outcome outcome; /* CLAIMS */

    /* ---- spawns.c's ---- */
    struct mortise *m;
    struct mortise_spawn_op *next;
    int step;
    bool waits;         /* for its turn */
    const char *origin; /* NULL: not known yet */
    uint32_t parent_depth;
    bool starved;           /* memory ran out in a read */
    bool has_was, is_taken; /* by another handle: the child */
    struct mortise_spawn was;
    struct mortise_spawn_tree tree;
    char made[MORTISE_SPAWN_ID];     /* a token */
    char child_id[MORTISE_SPAWN_ID]; /* of a native one */
    struct mortise_arena arena;
    struct mortise_read read;
    struct mortise_stored stored;
};

/* Zeroed first. */
void mortise_spawns_begin(struct mortise *m, struct mortise_spawn_op *op);
/* It was decided, and nobody takes it: it is over, and the asker's to free. */
void mortise_spawns_drop(struct mortise_spawn_op *op);

/* "RUN/ID": the handle as people and programs have it. */
void mortise_spawns_handle(char handle[MORTISE_SPAWN_HANDLE_MAX],
                           const char *parent, const char *id);
/* False: no handle ever had that form. */
bool mortise_spawns_parse(const char *handle, char parent[MORTISE_NAME_MAX + 1],
                          char id[MORTISE_SPAWN_ID]);
/* A result as it is kept: in canonical form, so that two that say the same are
 * one.  `text` is the caller's to release.  MORTISE_EINVAL: it is too long. */
int mortise_spawns_result(const struct mortise *m, const json_t *value,
                          char **text, struct mortise_err *err);

#endif
