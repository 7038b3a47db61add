/* spawn.h -- durable spawn handles: the record of a child that a call of a
 * parent starts, and of the child's result.
 *
 * This file has only the rules: each function gets a record and the counters of
 * its tree, and gives the record after one operation, or an error.  It uses no
 * clock, no store and no random numbers; callers make the tokens.
 *
 * The store applies a change only to the epoch that the decision used.  The
 * code that decides a change (core/engine/runs/spawns.c) reads the record
 * first.  [any] */
#ifndef MORTISE_SPAWN_SPAWN_H
#define MORTISE_SPAWN_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/hash.h"

enum {
    MORTISE_SPAWN_ID = 33, /* hex, with a NUL */
    MORTISE_SPAWN_TEXT = MORTISE_SPAWN_TEXT_MAX -
                         1, /* bytes: of a name, a call, a child, a token */
    MORTISE_SPAWN_RESULT = 1 << 20, /* bytes of JSON */
    MORTISE_SPAWN_PROGRESS = 4096,  /* bytes of text */
    /* Amounts that a budget can bound: enum mortise_spend. */
    MORTISE_SPAWN_AMOUNTS = 7
};

/* A record.  Strings are lent by its owner; only `result` may be NULL. */
struct mortise_spawn {
    uint64_t epoch; /* number of its claims, from 1 */
    uint64_t claimed_ms, updated_ms;
    uint32_t state, status;
    uint32_t depth;   /* the child's, in its tree; the origin has 0 */
    uint32_t attempt; /* the child's attempt at its task, from 1 */
    uint64_t reports; /* number of progress reports */
    bool detached;    /* the child outlives its parent */
    bool native;      /* the child is a run of the same store */
    uint8_t task[MORTISE_DIGEST]; /* digest of its task */
    const char *origin;           /* the run at the root of the tree */
    const char *execution; /* the parent's execution, "1.0/node#1"; or "" */
    const char *call;      /* the call in that execution */
    const char *name;
    /* "" until CREATED; a native child's from the claim on. */
    const char *child;
    const char *token; /* from its newest claim */
    const char
        *progress; /* progress of the attempt, as the child reports it; or "" */
    const char *result; /* JSON, of result_size bytes; NULL: none */
    size_t result_size;
};

/* Counters of the handles of one tree. */
struct mortise_spawn_tree {
    uint64_t active; /* neither settled nor abandoned */
    uint64_t total;
    uint64_t detached_active, detached_total; /* the detached ones of those */
};

/* The shared budget of the runs of one tree, from the origin's `budget`. */
struct mortise_spawn_budget {
    uint64_t most[MORTISE_SPAWN_AMOUNTS]; /* UINT64_MAX: no limit */
    uint64_t used[MORTISE_SPAWN_AMOUNTS]; /* spent or reserved */
};

/* The change of a purse by a commit of one of these runs. */
struct mortise_spawn_budget_change {
    const char *origin; /* NULL: no change */
    bool opens;         /* create the purse with these bounds */
    bool raises;        /* raise its bounds to these if they are higher */
    uint64_t most[MORTISE_SPAWN_AMOUNTS];
    uint64_t plus[MORTISE_SPAWN_AMOUNTS], minus[MORTISE_SPAWN_AMOUNTS];
};

/* limits.spawn, in the order of the keys. */
enum mortise_spawn_cap {
    MORTISE_SPAWN_CAP_DEPTH,
    MORTISE_SPAWN_CAP_ACTIVE,
    MORTISE_SPAWN_CAP_TOTAL,
    MORTISE_SPAWN_CAP_DETACHED_ACTIVE,
    MORTISE_SPAWN_CAP_DETACHED_TOTAL,
    MORTISE_SPAWN_CAPS
};

struct mortise_spawn_caps {
    uint64_t most[MORTISE_SPAWN_CAPS];
};

extern const struct mortise_spawn_caps mortise_spawn_default_caps;

/* MORTISE_SPAWN_UNENDED if the word is no status. */
enum mortise_spawn_status mortise_spawn_parse_status(const char *word);

static inline bool mortise_spawn_has_ended(const struct mortise_spawn *s)
{
    return s->state >= MORTISE_SPAWN_SETTLED;
}

/* ---- identity ------------------------------------------------------------ */

/* The id of a handle in its parent: a hash of the store's identity and the
 * call's identity.  It is the same after a crash, and differs in another
 * store. */
void mortise_spawn_make_id(char id[MORTISE_SPAWN_ID], const uint8_t *store,
                           size_t store_size, const char *tenant,
                           const char *parent, const char *execution,
                           const char *call);
/* The id of the child's run, if the child is native. */
void mortise_spawn_make_child_id(char child[MORTISE_SPAWN_ID],
                                 const char id[MORTISE_SPAWN_ID]);

/* ---- operations ------------------------------------------------------------
 *
 * `was` is the record (NULL: none), `now` gets the record after the operation;
 * its strings are lent by `was` and the arguments.  If *now has the epoch and
 * state of *was, there is nothing to write.  After an error *now is
 * undefined. */

struct mortise_spawn_request {
    const char *origin, *execution, *call, *name;
    const char *token; /* the token of this claim */
    const char *child; /* id of a native child's run; NULL: not native */
    uint8_t task[MORTISE_DIGEST];
    uint32_t depth; /* the child's */
    bool detached;
    uint64_t now_ms;
};

/* Claim a record.  `caps` are checked only for a new record, and may be NULL
 * otherwise.  MORTISE_EDETERMINISM: the call was claimed for something else.
 * MORTISE_ELIMIT: another child would exceed a cap, which the message names. */
int mortise_spawn_after_claim(const struct mortise_spawn *was,
                              const struct mortise_spawn_tree *tree,
                              const struct mortise_spawn_caps *caps,
                              const struct mortise_spawn_request *c,
                              struct mortise_spawn *now,
                              enum mortise_spawn_outcome *outcome,
                              struct mortise_err *err);

/* A native child's run is admitted with its instructions, in the same batch,
 * and runs.  No change if it was started before, even if it has ended.
 * MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN; MORTISE_EDETERMINISM: another task
 * was claimed; MORTISE_EDENIED: the child is not a run. */
int mortise_spawn_after_start(const struct mortise_spawn *was,
                              const char *token,
                              const uint8_t task[MORTISE_DIGEST],
                              uint64_t now_ms, struct mortise_spawn *now,
                              struct mortise_err *err);

/* The next three operations return MORTISE_EDENIED for a native child, because
 * the child reports for itself.
 *
 * The claimer registers its child.  MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN,
 * MORTISE_EALREADY_SETTLED, MORTISE_EALREADY_REGISTERED. */
int mortise_spawn_after_register(const struct mortise_spawn *was,
                                 const char *token, const char *child,
                                 uint64_t now_ms, struct mortise_spawn *now,
                                 struct mortise_err *err);

/* Advance to `state`, DISPATCHED or RUNNING; a later state stays.
 * MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN, MORTISE_EALREADY_SETTLED,
 * MORTISE_ENOT_RUNNING. */
int mortise_spawn_after_advance(const struct mortise_spawn *was,
                                const char *token,
                                enum mortise_spawn_state state, uint64_t now_ms,
                                struct mortise_spawn *now,
                                struct mortise_err *err);

/* The child ended.  MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN,
 * MORTISE_EALREADY_SETTLED, MORTISE_ENOT_RUNNING. */
int mortise_spawn_after_settle(const struct mortise_spawn *was,
                               const char *token,
                               enum mortise_spawn_status status,
                               const char *result, size_t result_size,
                               uint64_t now_ms, struct mortise_spawn *now,
                               struct mortise_err *err);

/* The child, a run, reports the progress of its attempt (NULL: only the
 * attempt's number).  A new attempt has no progress.  MORTISE_ENOTFOUND,
 * MORTISE_EALREADY_SETTLED; MORTISE_ESTALE_ATTEMPT: a later attempt has
 * reported. */
int mortise_spawn_after_report(const struct mortise_spawn *was,
                               uint32_t attempt, const char *progress,
                               uint64_t now_ms, struct mortise_spawn *now,
                               struct mortise_err *err);

/* Can its child receive a message about this attempt (0: the current one)?
 * MORTISE_EDENIED: the child is not a run; MORTISE_ENOT_RUNNING: it has not
 * started; MORTISE_EALREADY_SETTLED; MORTISE_ESTALE_ATTEMPT. */
int mortise_spawn_can_receive(const struct mortise_spawn *s, uint32_t attempt,
                              struct mortise_err *err);

/* The child ended.  The record must be open and have a child. */
void mortise_spawn_after_end(const struct mortise_spawn *was,
                             enum mortise_spawn_status status,
                             const char *result, size_t result_size,
                             uint64_t now_ms, struct mortise_spawn *now);

/* The parent of a linked child ended, so no claimer will settle the record.  An
 * ended record does not change. */
void mortise_spawn_after_abandon(const struct mortise_spawn *was,
                                 uint64_t now_ms, struct mortise_spawn *now);

/* Update the counters after `was` (NULL: none) became `now`.  False, without a
 * change: the counters do not match a tree with `was`. */
bool mortise_spawn_update_counters(struct mortise_spawn_tree *tree,
                                   const struct mortise_spawn *was,
                                   const struct mortise_spawn *now);

/* Apply a change to the purse; `is_there`: it existed before.  Used amounts do
 * not go below 0: a salvaged store may have runs that its purse did not
 * count. */
void mortise_spawn_budget_change(struct mortise_spawn_budget *purse,
                                 bool is_there,
                                 const struct mortise_spawn_budget_change *s);

/* ---- a change for the store ---------------------------------------------- */

struct mortise_spawn_change {
    const char *parent; /* a run of the commit's tenant */
    const char *id;     /* the handle's, in the parent */
    /* The version of the record that the decision used; all 0: no record.  Each
     * change raises one of these numbers, so together they identify the
     * version. */
    uint64_t from_epoch, from_reports;
    uint32_t from_state;
    struct mortise_spawn now;
};

/* Does the change still apply to the current record (NULL: none)? */
bool mortise_spawn_is_change_current(const struct mortise_spawn *is,
                                     const struct mortise_spawn_change *c);

#endif
