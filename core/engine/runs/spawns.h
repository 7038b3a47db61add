/* spawns.h -- operations on spawn handles, decided one after another.
 *
 * The caller fills in an operation and begins it; decided() gets the decision.
 * The change is not stored at that time: the caller has a commit take it, the
 * run's or a separate one, or drops it.  [loop]
 */
#ifndef MORTISE_ENGINE_RUNS_SPAWNS_H
#define MORTISE_ENGINE_RUNS_SPAWNS_H

#include "core/engine/runs/stored.h"

enum mortise_spawn_op_kind {
    MORTISE_SPAWN_OP_CLAIM = 1,
    MORTISE_SPAWN_OP_REGISTER,
    MORTISE_SPAWN_OP_ADVANCE,
    MORTISE_SPAWN_OP_SETTLE,
    MORTISE_SPAWN_OP_START, /* of a native child: the change goes with its
                             admission */
    MORTISE_SPAWN_OP_REPORT /* of a native child: it reports its progress */
};

struct mortise_spawn_op {
    /* ---- set by the caller; lent until the operation is over ------------- */
    enum mortise_spawn_op_kind kind;
    const char *tenant, *parent;
    char id[MORTISE_SPAWN_ID]; /* not for a claim */
    const char *token;         /* of a claim: NULL, a token is generated */
    /* CLAIMS */
    const char *execution, *call, *name;
    uint8_t task[MORTISE_DIGEST]; /* also for STARTS */
    bool detached, native;
    const struct mortise_graph *graph; /* of the parent, if it is in memory;
                                          NULL: read it, and check that the
                                          parent exists */
    const char *child;                 /* REGISTERS */
    enum mortise_spawn_state state;    /* ADVANCES */
    uint32_t attempt;                  /* REPORTS; and a text, or NULL */
    const char *progress;
    enum mortise_spawn_status status; /* SETTLES; and JSON, or NULL */
    const char *result;
    size_t result_size;
    /* Called exactly once.  rv MORTISE_OK: `put.change.now` is the new record,
     * and `changes` tells whether it differs.  Else `err`, lent, has the
     * message.  The operation must be taken or dropped, from inside or
     * later. */
    void (*decided)(struct mortise_spawn_op *op, int rv,
                    const struct mortise_err *err);
    /* The result of a taken operation, as in mortise_spawn_put.  The operation
     * is over; the caller frees it. */
    void (*landed)(struct mortise_spawn_op *op, int result);

    /* ---- the decision ---------------------------------------------------- */
    struct mortise_spawn_put put;
    bool changes;
    enum mortise_spawn_outcome outcome; /* CLAIMS */

    /* ---- private to spawns.c --------------------------------------------- */
    struct mortise *m;
    struct mortise_spawn_op *next;
    int step;
    bool waits;         /* for its turn */
    const char *origin; /* NULL: not known yet */
    uint32_t parent_depth;
    bool starved;           /* a read ran out of memory */
    bool has_was, is_taken; /* the child already belongs to another handle */
    struct mortise_spawn was;
    struct mortise_spawn_tree tree;
    char made[MORTISE_SPAWN_ID];     /* a generated token */
    char child_id[MORTISE_SPAWN_ID]; /* of a native child */
    struct mortise_arena arena;
    struct mortise_read read;
    struct mortise_stored_read stored;
};

/* The operation was zeroed before it was filled in. */
void mortise_spawns_begin(struct mortise *m, struct mortise_spawn_op *op);
/* End a decided operation that is not taken; the caller frees it. */
void mortise_spawns_drop(struct mortise_spawn_op *op);

/* "RUN/ID": the external form of a handle. */
void mortise_spawns_print_handle(char handle[MORTISE_SPAWN_HANDLE_MAX],
                                 const char *parent, const char *id);
/* False: this is not the form of a handle. */
bool mortise_spawns_parse_handle(const char *handle,
                                 char parent[MORTISE_NAME_MAX + 1],
                                 char id[MORTISE_SPAWN_ID]);
/* A result in canonical JSON, so that equal results are equal texts.  The
 * caller releases `text`.  MORTISE_EINVAL: it is too long. */
int mortise_spawns_encode_result(const struct mortise *m, const json_t *value,
                                 char **text, struct mortise_err *err);

#endif
