/* store.h -- what the engine needs of a store, in runs rather than keys.
 *
 * The store knows runs, heads, checkpoints, pending requests, deadlines and
 * graphs; what a checkpoint's entries mean is run/'s business.  LevelDB stands
 * behind it today (leveldb.c); nothing here says so.
 *
 * Threads    open, close, reopen [loop], while no other call is under way.
 *            Everything else [any]; writes wait for each other.
 * After a failed write the handle is dead (R6b): every call gives
 * MORTISE_ESTATE until mortise_store_reopen(). */
#ifndef MORTISE_STORE_STORE_H
#define MORTISE_STORE_STORE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/phase.h"
#include "base/source.h"

struct mortise_store;

enum { MORTISE_STORE_ID = 16 }; /* bytes */

/* One immutable record (R8).  seq counts from 1 in its run and is the order;
 * the clock is not. */
struct mortise_checkpoint {
    struct mortise_uuid id, parent; /* parent all zero for seq 1 */
    uint64_t seq;
    uint64_t time_ms;
    uint64_t first_event; /* seq of the first durable event it carries */
    uint32_t n_events;
    uint32_t branch; /* 0 */
    uint32_t step;   /* executions finished so far */
    enum mortise_phase phase;
    uint8_t graph[MORTISE_DIGEST];
    const void *entries; /* lent */
    size_t size;
};

/* Where a run stands; rewritten by each of its commits. */
struct mortise_head {
    uint64_t seq; /* of the newest checkpoint */
    struct mortise_uuid checkpoint;
    uint64_t epoch; /* of the engine that wrote it */
    uint64_t created_ms, updated_ms;
    uint32_t branch, status; /* enum mortise_run_status */
    bool dev;                /* it uses a plugin that nobody signed */
    uint32_t n_pending;      /* open requests, timers not among them */
    uint8_t graph[MORTISE_DIGEST];
    const char *reason;     /* "approval", "" ...; lent */
    const char *graph_name; /* lent */
};

/* A question that waits for somebody: opened and closed by commits. */
struct mortise_pending {
    const char *id;       /* unique in its run */
    uint64_t deadline_ms; /* 0: none */
    const char *payload;  /* JSON; what inbox shows */
    size_t payload_size;
    bool timer; /* it asks nobody: a deadline, and nothing in the inbox */
};

/* A value of a plugin's own, which replaces what its key had. */
struct mortise_kv {
    const char *plugin;
    const void *key; /* bytes, NULs among them if need be */
    size_t key_size;
    const char *value; /* JSON; NULL: there is none any more */
    size_t value_size;
};

/* What a call gave, for the next one like it. */
struct mortise_cached {
    uint8_t key[MORTISE_DIGEST];
    const char *value; /* JSON */
    size_t value_size;
};

/* Without a run it is no commit, but wants those before it synced. */
struct mortise_commit {
    const char *tenant, *run; /* NULL */
    uint64_t expected_seq;    /* the head's seq before; 0: the run is new */
    struct mortise_checkpoint checkpoint; /* seq = expected_seq + 1 */
    struct mortise_head head;
    const struct mortise_pending *opens;
    size_t n_opens;
    const struct mortise_pending *closes; /* id and deadline_ms count */
    size_t n_closes;
    const struct mortise_kv *kvs; /* put in this order */
    size_t n_kvs;
    const struct mortise_cached *cached;
    size_t n_cached;
    /* With a new run: its graph, stored once per digest.  NULL otherwise. */
    const struct mortise_source *graph; /* its file, then those it names */
    size_t n_graph;
    bool lazy;   /* it may be answered before it is synced */
    bool synced; /* when it was answered: it is, with all before it */
    /* Result of this commit, set by mortise_store_write(): MORTISE_OK,
     * MORTISE_ECONFLICT (the head is not at expected_seq, or not the parent),
     * MORTISE_EEXISTS (the id is taken, or was), MORTISE_EINVAL (a name too
     * long), MORTISE_ENOSPC (a new run, and the disk is nearly full). */
    int result;
};

/* `path`: a directory, made (0700) if missing.  MORTISE_EBUSY names the pid
 * that holds it; MORTISE_ENEWER leaves it untouched; MORTISE_ECORRUPT for a
 * hole in the commit numbers or what the checksums refuse; MORTISE_EDENIED for
 * what others own or may write in it (owners.h). */
int mortise_store_open(struct mortise_store **out, const char *path,
                       const struct mortise_mem *mem, struct mortise_err *err);
/* Where that fails, or nothing could be written: look at a copy of it, whatever
 * is damaged and as far as it can be read (view.c).  Nothing is written to the
 * store, and writing gives MORTISE_EDENIED.  What does not read is passed over
 * in lists. */
int mortise_store_open_view(struct mortise_store **out, const char *path,
                            const struct mortise_mem *mem,
                            struct mortise_err *err);
/* Is such a copy, as far as it was looked at, less than the store was?  Then
 * *why has the words.  [any] */
bool mortise_store_lacks(struct mortise_store *s, struct mortise_err *why);
void mortise_store_close(struct mortise_store *s);
/* After a failed write: close, open, verify.  Whether the failed batch is
 * there is known only by reading the heads again. */
int mortise_store_reopen(struct mortise_store *s, struct mortise_err *err);
const char *mortise_store_path(const struct mortise_store *s);
/* Its directory, whatever it is called by now; lent. */
int mortise_store_dir(const struct mortise_store *s);
/* The mode of its directory before opening took it away from others; 0: it was
 * the owner's alone. */
mode_t mortise_store_was_open(const struct mortise_store *s);
/* Did this process open it?  A child of fork() has a copy, every call on which
 * gives MORTISE_ESTATE, and closing which does nothing.  [any] */
bool mortise_store_is_ours(const struct mortise_store *s);
/* Of this opening: one more than that of the last opening that wrote, durable
 * with its own first write.  So an opening that only reads writes no record. */
uint64_t mortise_store_epoch(const struct mortise_store *s);

/* MORTISE_STORE_ID random bytes that no other store has; lent, the same until
 * the store is closed.  They are made with the store and durable with whatever
 * was written under them; a store that has none gets them with the first write
 * of an opening. */
const uint8_t *mortise_store_identity(const struct mortise_store *s);

/* Did this opening write anything yet? */
bool mortise_store_wrote(struct mortise_store *s);

/* Write all as one batch (R5, R6), and sync it, with all that was written
 * before, unless every commit in it is lazy.  A commit that conflicts is left
 * out with its `result` set, the others are written; several of one run may
 * follow each other.  An error means: dead handle, outcome unknown.
 *
 * What was written and not synced is read, and survives this process; a power
 * cut takes the newest of it. */
int mortise_store_write(struct mortise_store *s,
                        struct mortise_commit *const *commits, size_t n,
                        struct mortise_err *err);

/* Reads.  Callbacks get lent data; nonzero from them ends the walk early and
 * is no error. */
typedef int mortise_head_fn(void *ud, const char *tenant, const char *run,
                            const struct mortise_head *head);
typedef int mortise_checkpoint_fn(void *ud,
                                  const struct mortise_checkpoint *cp);
typedef int mortise_pending_fn(void *ud, const char *tenant, const char *run,
                               const struct mortise_pending *p);

/* MORTISE_ENOTFOUND, or fn called once. */
int mortise_store_head(struct mortise_store *s, const char *tenant,
                       const char *run, mortise_head_fn *fn, void *ud,
                       struct mortise_err *err);
/* Checkpoints of a run with seq >= from, in order, up to its head: one that is
 * missing is MORTISE_ECORRUPT.  No run, no checkpoints. */
int mortise_store_checkpoints(struct mortise_store *s, const char *tenant,
                              const char *run, uint64_t from,
                              mortise_checkpoint_fn *fn, void *ud,
                              struct mortise_err *err);
/* Runs of a tenant with id > after (NULL: all), in order of id. */
int mortise_store_runs(struct mortise_store *s, const char *tenant,
                       const char *after, mortise_head_fn *fn, void *ud,
                       struct mortise_err *err);
/* Runs of all tenants, beyond the cursor (after_tenant, after_run) when that is
 * not NULL. */
int mortise_store_heads(struct mortise_store *s, const char *after_tenant,
                        const char *after_run, mortise_head_fn *fn, void *ud,
                        struct mortise_err *err);
/* Pending requests of a tenant, by (run, id), shorter run ids first, beyond the
 * cursor (after_run, after_id) when that is not NULL. */
int mortise_store_inbox(struct mortise_store *s, const char *tenant,
                        const char *after_run, const char *after_id,
                        mortise_pending_fn *fn, void *ud,
                        struct mortise_err *err);
/* Requests and timers of all tenants whose deadline is <= until, soonest first.
 */
int mortise_store_due(struct mortise_store *s, uint64_t until_ms,
                      mortise_pending_fn *fn, void *ud,
                      struct mortise_err *err);
/* The files of the graph of a digest, in the arena. */
int mortise_store_graph(struct mortise_store *s,
                        const uint8_t digest[MORTISE_DIGEST],
                        struct mortise_arena *a, struct mortise_source **files,
                        size_t *n_files, struct mortise_err *err);

/* What a plugin has under a key: appended.  MORTISE_ENOTFOUND, without words,
 * when there is nothing. */
int mortise_store_kv(struct mortise_store *s, const char *tenant,
                     const char *plugin, const void *key, size_t size,
                     struct mortise_buf *value, struct mortise_err *err);

/* How many keys a plugin has; counted as far as `most`. */
int mortise_store_kv_count(struct mortise_store *s, const char *tenant,
                           const char *plugin, size_t most, size_t *n,
                           struct mortise_err *err);

/* What a tenant's call of that key gave: appended.  MORTISE_ENOTFOUND, without
 * words, when it is not there, or not any more. */
int mortise_store_cached(struct mortise_store *s, const char *tenant,
                         const uint8_t key[MORTISE_DIGEST],
                         struct mortise_buf *value, struct mortise_err *err);
/* So many bytes of results are kept, from the next that is written on; before
 * this is said, none.  Before others write to the store. */
void mortise_store_cache_bound(struct mortise_store *s, uint64_t bytes);

/* ---- runs that go (leveldb_remove.c) ------------------------------------- */

/* What is left of a run that was removed; its id is never used again. */
struct mortise_tombstone {
    uint64_t removed_ms, ended_ms;
    uint32_t status; /* enum mortise_run_status, as it ended */
};

struct mortise_removal {
    const char *tenant, *run;
    uint64_t seq; /* of the head that was looked at */
    bool gone;    /* set: it is removed now */
};

/* Remove runs with all they had, in one batch that is not synced: what a power
 * cut brings back is a whole run.  One that moved on, or has a request open,
 * stays; so do the last ones when the batch is full. */
int mortise_store_remove(struct mortise_store *s, struct mortise_removal *list,
                         size_t n, uint64_t now_ms, struct mortise_err *err);
/* Go on with those of which some checkpoints are still there, a batch a call;
 * *more: call again. */
int mortise_store_remove_rest(struct mortise_store *s, bool *more,
                              struct mortise_err *err);
/* When it was last noted which runs are overdue, 0: never; and to note it. */
int mortise_store_noted(struct mortise_store *s, uint64_t *ms,
                        struct mortise_err *err);
int mortise_store_note(struct mortise_store *s, uint64_t ms,
                       struct mortise_err *err);
/* MORTISE_ENOTFOUND when that run was never removed. */
int mortise_store_removed(struct mortise_store *s, const char *tenant,
                          const char *run, struct mortise_tombstone *out,
                          struct mortise_err *err);

/* Graphs that no run needs: begin, keep the graph of each head that there is,
 * and sweep, a batch a call.  Graphs of runs that are admitted in the meantime
 * are kept by the store.  Without a beginning, and after an error or
 * a reopening since then, sweeping does nothing. */
void mortise_store_sweep_begin(struct mortise_store *s);
void mortise_store_sweep_keep(struct mortise_store *s,
                              const uint8_t (*digests)[MORTISE_DIGEST],
                              size_t n);
int mortise_store_sweep(struct mortise_store *s, bool *more,
                        struct mortise_err *err);

/* Small durable numbers ("plugin:NAME KEY" -> highest seq seen).
 * get gives 0 for one never put. */
int mortise_store_mark_get(struct mortise_store *s, const char *name,
                           uint64_t *value, struct mortise_err *err);
int mortise_store_mark_put(struct mortise_store *s, const char *name,
                           uint64_t value, struct mortise_err *err);
/* The same, also to a smaller value: going back was meant. */
int mortise_store_mark_set(struct mortise_store *s, const char *name,
                           uint64_t value, struct mortise_err *err);

#endif
