/* spawn.h -- a durable spawn handle: what a parent's call made, and what became
 * of it.
 *
 * The rules alone: a record and the counters of its tree go in, and what they
 * are after one operation comes out, or why it cannot be.  No clock, no store,
 * no chance: a token is made by who calls.
 *
 * Who keeps records (store/) applies a change by the epoch that it was decided
 * upon; who decides one (core/engine/runs/spawns.c) reads them first.  [any] */
#ifndef MORTISE_SPAWN_SPAWN_H
#define MORTISE_SPAWN_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/hash.h"

enum {
    MORTISE_SPAWN_ID = 33, /* hex, with a NUL */
    MORTISE_SPAWN_TEXT =
        MORTISE_SPAWN_TEXT_MAX - 1, /* bytes: of a name, a call,
                                                        a child, a token */
    MORTISE_SPAWN_RESULT = 1 << 20, /* bytes of JSON */
    MORTISE_SPAWN_PROGRESS = 4096,  /* bytes of text */
    MORTISE_SPAWN_AMOUNTS = 7 /* that a budget may bound: enum mortise_spend
                                       has which */
};

/* One record.  Strings are lent by whoever has it, and never NULL but for
 * `result`. */
struct mortise_spawn {
    uint64_t epoch; /* of its newest claim, from 1 */
    uint64_t claimed_ms, updated_ms;
    uint32_t state, status;
    uint32_t depth;   /* of the child in its tree; the origin is at 0 */
    uint32_t attempt; /* of the child's at its task, from 1 */
    uint64_t reports; /* how often it said how far it is */
    bool detached;    /* it outlives its parent */
    bool native;      /* its child is a run of the same store */
    uint8_t task[MORTISE_DIGEST]; /* of what it is to do */
    const char *origin;           /* the run at the root of the tree */
    const char *execution;        /* of the parent's, "1.0/node#1"; "" */
    const char *call;             /* in that execution */
    const char *name;
    const char *child; /* ""; known from CREATED on, a native one's from the
                           claim on */
    const char *token; /* of its newest claim */
    const char
        *progress;      /* how far that attempt is, in the child's words; "" */
    const char *result; /* JSON, of result_size bytes; NULL: none */
    size_t result_size;
};

/* The handles of one tree. */
struct mortise_spawn_tree {
    uint64_t active; /* neither settled nor abandoned */
    uint64_t total;
    uint64_t detached_active, detached_total; /* of those */
};

/* What the runs of one tree may spend together, and have: an origin's budget. */
struct mortise_spawn_purse {
    uint64_t most[MORTISE_SPAWN_AMOUNTS]; /* UINT64_MAX: it is not bounded */
    uint64_t used[MORTISE_SPAWN_AMOUNTS]; /* spent, or reserved */
};

/* What a commit of one of these runs changes of that. */
struct mortise_spawn_spend {
    const char *origin; /* NULL: nothing */
    bool opens;         /* the purse is there from now on, with these bounds */
    bool raises;        /* its bounds are these, where they are higher */
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

/* MORTISE_SPAWN_UNENDED when the word is none of them. */
enum mortise_spawn_status mortise_spawn_status_of(const char *word);

static inline bool mortise_spawn_is_over(const struct mortise_spawn *s)
{
    return s->state >= MORTISE_SPAWN_SETTLED;
}

/* ---- which it is ----------------------------------------------------------- */

/* The id of a handle in its parent: a hash of the store's identity and the
 * identity of the call.  The same after a crash, another one elsewhere. */
void mortise_spawn_id(char id[MORTISE_SPAWN_ID], const uint8_t *store,
                      size_t store_size, const char *tenant, const char *parent,
                      const char *execution, const char *call);
/* The id of the run that is its child, where that is one of the same store. */
void mortise_spawn_child(char child[MORTISE_SPAWN_ID],
                         const char id[MORTISE_SPAWN_ID]);

/* ---- operations ------------------------------------------------------------
 *
 * `was` is the record (NULL: there is none), `now` gets the one after it, whose
 * strings are lent by `was` and the arguments.  *now equal to *was in epoch and
 * state: nothing is to be written.  On an error *now is not to be looked at. */

struct mortise_spawn_request {
    const char *origin, *execution, *call, *name;
    const char *token; /* of this claim, from now on */
    const char *child; /* of a native one: the run that it is to be; NULL: it is
                          not */
    uint8_t task[MORTISE_DIGEST];
    uint32_t depth; /* that a child would have */
    bool detached;
    uint64_t now_ms;
};

/* Of a record that is there `caps` are not looked at, and may be NULL.
 * MORTISE_EDETERMINISM: the call was claimed for something else.
 * MORTISE_ELIMIT: one more would pass a cap, which the words name. */
int mortise_spawn_after_claim(const struct mortise_spawn *was,
                              const struct mortise_spawn_tree *tree,
                              const struct mortise_spawn_caps *caps,
                              const struct mortise_spawn_request *c,
                              struct mortise_spawn *now,
                              enum mortise_spawn_outcome *outcome,
                              struct mortise_err *err);

/* A native child's run is admitted, in the same batch, and has its instructions:
 * it works.  Of one that was started before nothing changes, be it over or not.
 * MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN; MORTISE_EDETERMINISM: that is not the
 * task that was claimed; MORTISE_EDENIED: its child is no run. */
int mortise_spawn_after_start(const struct mortise_spawn *was,
                              const char *token,
                              const uint8_t task[MORTISE_DIGEST],
                              uint64_t now_ms, struct mortise_spawn *now,
                              struct mortise_err *err);

/* What a claimer says of a native child is MORTISE_EDENIED, in each of the
 * following: the child says it itself.
 *
 * The claimer knows its child.  MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN,
 * MORTISE_EALREADY_SETTLED, MORTISE_EALREADY_REGISTERED. */
int mortise_spawn_after_register(const struct mortise_spawn *was,
                                 const char *token, const char *child,
                                 uint64_t now_ms, struct mortise_spawn *now,
                                 struct mortise_err *err);

/* It came to `state`, DISPATCHED or RUNNING; one that is further stays there.
 * MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN, MORTISE_EALREADY_SETTLED,
 * MORTISE_ENOT_RUNNING. */
int mortise_spawn_after_advance(const struct mortise_spawn *was,
                                const char *token,
                                enum mortise_spawn_state state, uint64_t now_ms,
                                struct mortise_spawn *now,
                                struct mortise_err *err);

/* It ended.  MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN,
 * MORTISE_EALREADY_SETTLED, MORTISE_ENOT_RUNNING. */
int mortise_spawn_after_settle(const struct mortise_spawn *was,
                               const char *token,
                               enum mortise_spawn_status status,
                               const char *result, size_t result_size,
                               uint64_t now_ms, struct mortise_spawn *now,
                               struct mortise_err *err);

/* Its child, a run, says how far its attempt is (NULL: that it makes this one,
 * and no more).  An attempt that is new has no progress yet.
 * MORTISE_ENOTFOUND, MORTISE_EALREADY_SETTLED; MORTISE_ESTALE_ATTEMPT: a later one
 * was heard of. */
int mortise_spawn_after_report(const struct mortise_spawn *was,
                               uint32_t attempt, const char *progress,
                               uint64_t now_ms, struct mortise_spawn *now,
                               struct mortise_err *err);

/* May something be said to its child, about that attempt (0: whichever it makes)?
 * MORTISE_EDENIED: that is no run; MORTISE_ENOT_RUNNING: it has not begun;
 * MORTISE_EALREADY_SETTLED; MORTISE_ESTALE_ATTEMPT. */
int mortise_spawn_hears(const struct mortise_spawn *s, uint32_t attempt,
                        struct mortise_err *err);

/* The run that is its child ended.  Of one that is open, and has that child. */
void mortise_spawn_after_end(const struct mortise_spawn *was,
                             enum mortise_spawn_status status,
                             const char *result, size_t result_size,
                             uint64_t now_ms, struct mortise_spawn *now);

/* Its parent has ended, and it is linked to that: nobody will settle it.  One
 * that is over stays as it is. */
void mortise_spawn_after_abandon(const struct mortise_spawn *was,
                                 uint64_t now_ms, struct mortise_spawn *now);

/* The counters after `was` (NULL: none) became `now`.  False: they cannot have
 * been those of a tree with `was`, and stay. */
bool mortise_spawn_count(struct mortise_spawn_tree *tree,
                         const struct mortise_spawn *was,
                         const struct mortise_spawn *now);

/* The purse after that; `is_there`: it was one before.  Less than nothing is
 * nothing: in a store that was salvaged runs may stand before what it counts. */
void mortise_spawn_spend(struct mortise_spawn_purse *purse, bool is_there,
                         const struct mortise_spawn_spend *s);

/* ---- a change, on its way to the store -------------------------------------- */

struct mortise_spawn_change {
    const char *parent; /* a run of the commit's tenant */
    const char *id;     /* of the handle, in it */
    /* What it was decided upon; all 0: there was no record.  Each change raises
     * one of them, so together they say which record it was. */
    uint64_t from_epoch, from_reports;
    uint32_t from_state;
    struct mortise_spawn now;
};

/* May that change still be made of the record as it is (NULL: there is none)? */
bool mortise_spawn_fits(const struct mortise_spawn *is,
                        const struct mortise_spawn_change *c);

#endif
