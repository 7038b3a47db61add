/* store.h -- what the engine needs of a store, in runs rather than keys.
 *
 * The store knows runs, heads, checkpoints, pending requests, deadlines and
 * graphs; what a checkpoint's entries mean is run/'s business.  Where it keeps
 * them is its maker's: a store is a struct mortise_store that has the functions
 * of its maker, and makers.def lists the makers.
 *
 * Writes     return when they are done.  They come from the thread of writer.h
 *            or, while that has nothing to do, from the loop.
 * Reads      are answered.  The answer may come from inside of
 *            mortise_store_read(), which is what a store does that has it at
 *            once, or later, from inside of mortise_store_deliver() on the same
 *            thread.  So nobody waits for a store that is far away: other runs
 *            go on meanwhile.
 *
 * Threads    open, close, reopen [loop], while no other call is under way.
 *            Reads [loop]: the one thread that reads this store.  Everything
 *            else [any]; writes wait for each other.
 * After a failed write the handle is dead (R6b): every call, and every read
 * that is out, gives MORTISE_ESTATE until mortise_store_reopen(). */
#ifndef MORTISE_STORE_STORE_H
#define MORTISE_STORE_STORE_H

#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/base/id.h"
#include "core/base/phase.h"
#include "core/base/source.h"
#include "core/spawn/spawn.h"

enum {
    MORTISE_STORE_ID = 16,     /* bytes */
    MORTISE_STORE_FREE_MIB = 8 /* a new run wants so much room on the disk */
};

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

/* Without a run it is no commit, but wants those before it synced; or it has
 * spawn handles change that no run's commit does. */
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
    /* Spawn handles that change with it, each once, and the counters of their
     * trees.  A change that does not fit the record any more (spawn.h), or makes
     * one for a parent that is not there or has ended, has the whole commit
     * conflict; so has a child that another handle has. */
    const struct mortise_spawn_change *const *spawns;
    size_t n_spawns;
    /* What it changes of the purse of a tree.  One that is not there, and is not
     * opened, is left so: its origin was removed. */
    struct mortise_spawn_spend spend;
    /* Of a commit with which its run ends (by its head's status): how that is
     * said of the handle whose child the run is, if any.  That is settled with
     * it, unless it is over; and the handles are abandoned that the run made and
     * nobody else will settle: linked ones, whose child is no run. */
    enum mortise_spawn_status end_status;
    const char *end_result; /* JSON; NULL: none */
    size_t end_result_size;
    /* With a new run, and one that is steered: its graph, stored once per digest.
     * NULL otherwise. */
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

/* ---- reads ---------------------------------------------------------------- */

/* What a read calls for what it finds: lent data, before the read is done;
 * nonzero ends the walk early and is no error. */
typedef int mortise_head_fn(void *ud, const char *tenant, const char *run,
                            const struct mortise_head *head);
typedef int mortise_checkpoint_fn(void *ud,
                                  const struct mortise_checkpoint *cp);
typedef int mortise_pending_fn(void *ud, const char *tenant, const char *run,
                               const struct mortise_pending *p);
typedef int mortise_spawn_fn(void *ud, const char *tenant, const char *parent,
                             const char *id, const struct mortise_spawn *s);

/* What is left of a run that was removed; its id is never used again. */
struct mortise_tombstone {
    uint64_t removed_ms, ended_ms;
    uint32_t status; /* enum mortise_run_status, as it ended */
};

/* What can be read; behind each, the members that say what of it. */
enum mortise_read_kind {
    /* tenant, run: MORTISE_ENOTFOUND, or head() called once. */
    MORTISE_READ_HEAD,
    /* tenant, run, number: checkpoint() for those with seq >= number, in order,
     * up to the head of the run: one that is missing is MORTISE_ECORRUPT.  No
     * run, no checkpoints. */
    MORTISE_READ_CHECKPOINTS,
    /* tenant, run: head() for the runs of the tenant with id > run (NULL: all),
     * in order of id. */
    MORTISE_READ_RUNS,
    /* tenant, run: head() for runs of all tenants, beyond that cursor when it is
     * not NULL. */
    MORTISE_READ_HEADS,
    /* tenant, run, id: pending() for the requests of the tenant, by (run, id),
     * shorter run ids first, beyond that cursor when run is not NULL. */
    MORTISE_READ_INBOX,
    /* number: pending() for requests and timers of all tenants whose deadline is
     * <= that, soonest first. */
    MORTISE_READ_DUE,
    /* digest, arena: the files of the graph of that digest, in the arena, are
     * found.files. */
    MORTISE_READ_GRAPH,
    /* tenant, plugin, key, key_size: what the plugin has under the key is
     * appended to `value`.  MORTISE_ENOTFOUND, without words, when there is
     * nothing. */
    MORTISE_READ_KV,
    /* tenant, plugin, number: how many keys the plugin has, counted as far as
     * that, is found.n. */
    MORTISE_READ_KV_COUNT,
    /* tenant, digest: what the tenant's call of that key gave is appended to
     * `value`.  MORTISE_ENOTFOUND, without words, when it is not there, or not
     * any more. */
    MORTISE_READ_CACHED,
    /* tenant, run: found.tombstone.  MORTISE_ENOTFOUND when that run was never
     * removed. */
    MORTISE_READ_REMOVED,
    /* found.noted_ms: when it was last noted which runs are overdue, 0: never.
     */
    MORTISE_READ_NOTED,
    /* tenant, run, id: spawn() once, for the handle of that parent.
     * MORTISE_ENOTFOUND, without words, when there is none. */
    MORTISE_READ_SPAWN,
    /* tenant, run: the same for the handle whose child that is. */
    MORTISE_READ_SPAWN_OF,
    /* tenant, run: spawn() for each handle of that parent, in order of id; with
     * tenant NULL of all parents. */
    MORTISE_READ_SPAWNS,
    /* tenant, run: found.tree, the counters of the tree of that origin; zeros
     * where it has spawned nothing. */
    MORTISE_READ_SPAWN_TREE,
    /* tenant, run: found.purse, that of the tree of that origin.
     * MORTISE_ENOTFOUND, without words, when it has none. */
    MORTISE_READ_SPAWN_PURSE,
    MORTISE_READ_KINDS /* how many there are */
};

/* One read, from mortise_store_read() to its answer: the caller's, which leaves
 * it, and all that it lends, alone until then. */
struct mortise_read {
    enum mortise_read_kind kind;
    const char *tenant, *run, *id, *plugin; /* lent */
    const void *key;                        /* lent */
    size_t key_size;
    uint64_t number;
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_arena *arena; /* lent */
    struct mortise_buf *value;   /* lent */
    mortise_head_fn *head;
    mortise_checkpoint_fn *checkpoint;
    mortise_pending_fn *pending;
    mortise_spawn_fn *spawn;
    void *ud; /* of these four */
    union {
        struct {
            struct mortise_source *files;
            size_t n_files;
        };
        size_t n;
        uint64_t noted_ms;
        struct mortise_tombstone tombstone;
        struct mortise_spawn_tree tree;
        struct mortise_spawn_purse purse;
    } found;
    /* The answer, exactly once: the read is the caller's again, who may begin
     * another one from inside, with it or without.  err, lent, has words where
     * result is an error that comes with some.
     *
     * It always comes: an engine that closes waits for it without a bound, as
     * the read, and what it lends, may be written to until then.  How long one
     * that is far away is waited for is the store's to know: it gives
     * MORTISE_EIO after that. */
    void (*done)(struct mortise_read *r, int result,
                 const struct mortise_err *err);
    struct mortise_read *next; /* the store's, while the read is out */
};

/* ---- a store -------------------------------------------------------------- */

struct mortise_removal {
    const char *tenant, *run;
    uint64_t seq; /* of the head that was looked at */
    bool gone;    /* set: it is removed now */
};

struct mortise_store {
    const struct mortise_store_ops *ops;
    /* Its directory, whatever it is called by now, for what is kept beside it.
     */
    int dir;
    /* The mode of that directory before opening took it away from others; 0: it
     * was the owner's alone. */
    mode_t was_open;
    /* Of this opening: one more than that of the last opening that wrote,
     * durable with its own first write.  So an opening that only reads writes no
     * record. */
    uint64_t epoch;
    /* Random bytes that no other store has.  They are made with the store and
     * durable with whatever was written under them; a store that has none gets
     * them with the first write of an opening. */
    uint8_t identity[MORTISE_STORE_ID];
    /* mortise_store_attach()'s */
    void (*wake)(void *ud);
    void *wake_ud;
};

/* What a maker of stores implements: each is the function below that is called
 * by its name, and is documented there.  docs/extending.md says how a maker is
 * added. */
struct mortise_store_ops {
    void (*close)(struct mortise_store *s);
    int (*reopen)(struct mortise_store *s, struct mortise_err *err);
    bool (*is_ours)(const struct mortise_store *s);
    bool (*wrote)(struct mortise_store *s);
    bool (*lacks)(struct mortise_store *s, struct mortise_err *why);

    void (*read)(struct mortise_store *s, struct mortise_read *r);
    /* These three NULL: every read is answered from inside of read(). */
    bool (*is_reading)(const struct mortise_store *s);
    void (*deliver)(struct mortise_store *s);
    void (*wait)(struct mortise_store *s, struct mortise_read *r);

    int (*write)(struct mortise_store *s, struct mortise_commit *const *commits,
                 size_t n, struct mortise_err *err);
    void (*cache_bound)(struct mortise_store *s, uint64_t bytes);
    int (*remove)(struct mortise_store *s, struct mortise_removal *list,
                  size_t n, uint64_t now_ms, struct mortise_err *err);
    int (*remove_rest)(struct mortise_store *s, bool *more,
                       struct mortise_err *err);
    int (*note)(struct mortise_store *s, uint64_t ms, struct mortise_err *err);
    void (*sweep_begin)(struct mortise_store *s);
    void (*sweep_keep)(struct mortise_store *s,
                       const uint8_t (*digests)[MORTISE_DIGEST], size_t n);
    int (*sweep)(struct mortise_store *s, bool *more, struct mortise_err *err);
    int (*mark_get)(struct mortise_store *s, const char *name, uint64_t *value,
                    struct mortise_err *err);
    int (*mark_put)(struct mortise_store *s, const char *name, uint64_t value,
                    bool may_fall, struct mortise_err *err);
};

/* A row of makers.def: the first that takes an address has the store there. */
struct mortise_store_maker {
    bool (*takes)(const char *path);
    /* Is anything of a store there?  What cannot be looked at may be. */
    bool (*is_there)(const char *path);
    int (*open)(struct mortise_store **out, const char *path,
                const struct mortise_mem *mem, struct mortise_err *err);
    int (*open_view)(struct mortise_store **out, const char *path,
                     const struct mortise_mem *mem, struct mortise_err *err);
};

/* ---- store.c: opening ----------------------------------------------------- */

bool mortise_store_is_there(const char *path);
/* `path`: a directory, made (0700) if missing.  MORTISE_EBUSY names the pid
 * that holds it; MORTISE_EFORMAT leaves it untouched; MORTISE_ECORRUPT for a
 * hole in the commit numbers or what the checksums refuse; MORTISE_EDENIED for
 * what others own or may write in it. */
int mortise_store_open(struct mortise_store **out, const char *path,
                       const struct mortise_mem *mem, struct mortise_err *err);
/* Where that fails, or nothing could be written: look at a copy of it, whatever
 * is damaged and as far as it can be read.  Nothing is written to the store, and
 * writing gives MORTISE_EDENIED.  What does not read is passed over in lists. */
int mortise_store_open_view(struct mortise_store **out, const char *path,
                            const struct mortise_mem *mem,
                            struct mortise_err *err);
/* Is such a copy, as far as it was looked at, less than the store was?  Then
 * *why has the words.  [any] */
bool mortise_store_lacks(struct mortise_store *s, struct mortise_err *why);
/* No read is out.  NULL is fine. */
void mortise_store_close(struct mortise_store *s);
/* After a failed write, when no read is out: close, open, verify.  Whether the
 * failed batch is there is known only by reading the heads again. */
int mortise_store_reopen(struct mortise_store *s, struct mortise_err *err);
/* Did this process open it?  A child of fork() has a copy, every call on which
 * gives MORTISE_ESTATE, and closing which does nothing.  [any] */
bool mortise_store_is_ours(const struct mortise_store *s);
/* Did this opening write anything yet? */
bool mortise_store_wrote(struct mortise_store *s);

/* ---- reading -------------------------------------------------------------- */

void mortise_store_read(struct mortise_store *s, struct mortise_read *r);
/* Before the first read: wake(ud) is called [any] when there is something to
 * deliver.  Without it answers that come later are had by waiting alone. */
void mortise_store_attach(struct mortise_store *s, void (*wake)(void *ud),
                          void *ud);
/* Is any read out? */
bool mortise_store_is_reading(const struct mortise_store *s);
/* Have the reads done whose answers came. */
void mortise_store_deliver(struct mortise_store *s);
/* Have this one, which is out, done before anything else: for where nothing else
 * is to go on, as an engine closes. */
void mortise_store_wait(struct mortise_store *s, struct mortise_read *r);

/* ---- writing -------------------------------------------------------------- */

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
/* So many bytes of results are kept, from the next that is written on; before
 * this is said, none.  Before others write to the store. */
void mortise_store_cache_bound(struct mortise_store *s, uint64_t bytes);

/* Remove runs with all they had, in one batch that is not synced: what a power
 * cut brings back is a whole run.  One that moved on, or has a request open,
 * stays; so do the last ones when the batch is full. */
int mortise_store_remove(struct mortise_store *s, struct mortise_removal *list,
                         size_t n, uint64_t now_ms, struct mortise_err *err);
/* Go on with those of which some checkpoints are still there, a batch a call;
 * *more: call again. */
int mortise_store_remove_rest(struct mortise_store *s, bool *more,
                              struct mortise_err *err);
/* Note which reading of the clock found runs overdue. */
int mortise_store_note(struct mortise_store *s, uint64_t ms,
                       struct mortise_err *err);

/* Graphs that no run needs: begin, keep the graph of each head that there is,
 * and sweep, a batch a call.  Graphs of runs that are admitted, or steered, in the
 * meantime are kept by the store.  Without a beginning, and after an error or
 * a reopening since then, sweeping does nothing. */
void mortise_store_sweep_begin(struct mortise_store *s);
void mortise_store_sweep_keep(struct mortise_store *s,
                              const uint8_t (*digests)[MORTISE_DIGEST],
                              size_t n);
int mortise_store_sweep(struct mortise_store *s, bool *more,
                        struct mortise_err *err);

/* Small durable numbers ("plugin:NAME KEY" -> highest seq seen), for opening.
 * get gives 0 for one never put. */
int mortise_store_mark_get(struct mortise_store *s, const char *name,
                           uint64_t *value, struct mortise_err *err);
int mortise_store_mark_put(struct mortise_store *s, const char *name,
                           uint64_t value, struct mortise_err *err);
/* The same, also to a smaller value: going back was meant. */
int mortise_store_mark_set(struct mortise_store *s, const char *name,
                           uint64_t value, struct mortise_err *err);

#endif
