/* store.h -- the store as the engine sees it: runs, not keys.
 *
 * The store knows runs, heads, checkpoints, pending requests, deadlines and
 * graphs.  Only run/ knows the meaning of a checkpoint's entries.  A store is a
 * struct mortise_store with the functions of its maker, which decides where the
 * data is; makers.def lists the makers.
 *
 * Writes     are synchronous.  They come from the thread of writer.h or, while
 *            that is idle, from the loop.
 * Reads      are asynchronous.  A store that has the answer at once calls
 *            done() inside mortise_store_read().  Otherwise done() is called
 *            later, on the same thread, inside mortise_store_deliver().  So a
 *            remote store never blocks the engine: other runs continue
 *            meanwhile.
 *
 * Threads    open, close, reopen [loop], while no other call is in progress.
 *            Reads [loop]: the one thread that reads this store.  Everything
 *            else [any]; writes wait for each other.
 * After a failed write the handle is dead (docs/runtime.md, rule R6b): every
 * call, and every read in flight, fails with MORTISE_ESTATE until
 * mortise_store_reopen(). */
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
    MORTISE_STORE_FREE_MIB = 8 /* free disk space that a new run requires */
};

/* One immutable record (docs/runtime.md, rule R8).  `seq` counts from 1 in its
 * run and defines the order; `time_ms` does not. */
struct mortise_checkpoint {
    struct mortise_uuid id, parent; /* parent is all zero for seq 1 */
    uint64_t seq;
    uint64_t time_ms;
    uint64_t first_event; /* seq of its first durable event */
    uint32_t n_events;
    uint32_t branch; /* always 0 */
    uint32_t step;   /* number of executions that have finished */
    enum mortise_phase phase;
    uint8_t graph[MORTISE_DIGEST];
    const void *entries; /* borrowed */
    size_t size;
};

/* The current state of a run.  Each commit of the run rewrites it. */
struct mortise_head {
    uint64_t seq; /* of the newest checkpoint */
    struct mortise_uuid checkpoint;
    uint64_t epoch; /* of the engine that wrote it */
    uint64_t created_ms, updated_ms;
    uint32_t branch, status; /* enum mortise_run_status */
    bool dev;                /* it uses an unsigned plugin */
    uint32_t n_pending;      /* open requests, without timers */
    uint8_t graph[MORTISE_DIGEST];
    const char *reason;     /* "approval", "" ...; borrowed */
    const char *graph_name; /* borrowed */
};

/* A request that waits for a decision.  Commits open and close it. */
struct mortise_pending {
    const char *id;       /* unique in its run */
    uint64_t deadline_ms; /* 0: none */
    const char *payload;  /* JSON, shown by `inbox` */
    size_t payload_size;
    bool timer; /* a deadline only, not shown in the inbox */
};

/* A value that a plugin stores under a key.  It replaces the previous one. */
struct mortise_kv {
    const char *plugin;
    const void *key; /* any bytes, including NULs */
    size_t key_size;
    const char *value; /* JSON; NULL: remove the key */
    size_t value_size;
};

/* The result of a call, cached for identical calls. */
struct mortise_cached_result {
    uint8_t key[MORTISE_DIGEST];
    const char *value; /* JSON */
    size_t value_size;
};

/* A commit.  Without a run, it only requires that all commits before it are
 * synced, or it carries changes of spawn handles that belong to no run's
 * commit. */
struct mortise_commit {
    const char *tenant, *run; /* may be NULL */
    uint64_t expected_seq;    /* seq of the current head; 0: a new run */
    struct mortise_checkpoint checkpoint; /* seq = expected_seq + 1 */
    struct mortise_head head;
    const struct mortise_pending *opens;
    size_t n_opens;
    const struct mortise_pending *closes; /* only id and deadline_ms are used */
    size_t n_closes;
    const struct mortise_kv *kvs; /* applied in this order */
    size_t n_kvs;
    const struct mortise_cached_result *cached;
    size_t n_cached;
    /* Changes of spawn handles, each handle at most once, and the counters of
     * their trees.  The whole commit conflicts if a change no longer fits the
     * record (spawn.h), if it makes a handle for a parent that does not exist
     * or has ended, or if another handle has the same child. */
    const struct mortise_spawn_change *const *spawns;
    size_t n_spawns;
    /* The change of a tree's purse.  It is ignored if the purse neither exists
     * nor is opened here: its origin was removed. */
    struct mortise_spawn_budget_change spend;
    /* For a commit that ends its run (by its head's status): the result for the
     * handle whose child is this run, if there is one.  The commit settles that
     * handle, unless it has ended already.  It also abandons handles that this
     * run made and nothing else will settle: linked ones whose child is not a
     * run. */
    enum mortise_spawn_status end_status;
    const char *end_result; /* JSON; NULL: no result */
    size_t end_result_size;
    /* The graph of a new run, and of a steered one; stored once per digest.
     * Otherwise NULL. */
    /* the graph's file first, then the files that it names */
    const struct mortise_source *graph;
    size_t n_graph;
    bool lazy;   /* may be answered before it is synced */
    bool synced; /* set with the answer: it is synced, with all before it */
    /* Result of this commit, set by mortise_store_write(): MORTISE_OK,
     * MORTISE_ECONFLICT (the head is not at expected_seq, or is not the
     * parent), MORTISE_EEXISTS (the id is or was in use), MORTISE_EINVAL (a
     * name is too long), MORTISE_ENOSPC (a new run, and the disk is nearly
     * full). */
    int result;
};

/* ---- reads --------------------------------------------------------------- */

/* Callbacks for the data that a read finds, called before done().  The data is
 * borrowed.  A nonzero result stops the read early and is not an error. */
typedef int mortise_head_fn(void *ud, const char *tenant, const char *run,
                            const struct mortise_head *head);
typedef int mortise_checkpoint_fn(void *ud,
                                  const struct mortise_checkpoint *cp);
typedef int mortise_pending_fn(void *ud, const char *tenant, const char *run,
                               const struct mortise_pending *p);
typedef int mortise_spawn_fn(void *ud, const char *tenant, const char *parent,
                             const char *id, const struct mortise_spawn *s);

/* The remains of a removed run; its id is never used again. */
struct mortise_tombstone {
    uint64_t removed_ms, ended_ms;
    uint32_t status; /* enum mortise_run_status, at its end */
};

/* The kinds of reads, each with the members of struct mortise_read that are its
 * arguments. */
enum mortise_read_kind {
    /* tenant, run: calls head() once.  MORTISE_ENOTFOUND: no such run. */
    MORTISE_READ_HEAD,
    /* tenant, run, number: calls checkpoint() for each with seq >= number, in
     * order, up to the head of the run.  MORTISE_ECORRUPT: one is missing.  No
     * calls if there is no such run. */
    MORTISE_READ_CHECKPOINTS,
    /* tenant, run: calls head() for each run of the tenant with an id > run
     * (NULL: all), in order of the ids. */
    MORTISE_READ_RUNS,
    /* tenant, run: calls head() for each run of all tenants, after that run
     * unless NULL. */
    MORTISE_READ_HEADS,
    /* tenant, run, id: calls pending() for each request of the tenant, in order
     * of (run, id), shorter run ids first; after that request unless run is
     * NULL. */
    MORTISE_READ_INBOX,
    /* number: calls pending() for each request and timer of all tenants with a
     * deadline <= number, earliest first. */
    MORTISE_READ_DUE,
    /* digest, arena: found.files are the files of the graph with that digest,
     * in the arena. */
    MORTISE_READ_GRAPH,
    /* tenant, plugin, key, key_size: appends the value of the plugin's key to
     * `value`.  MORTISE_ENOTFOUND, without a message: no such key. */
    MORTISE_READ_KV,
    /* tenant, plugin, number: found.n is the number of the plugin's keys;
     * counting stops at `number`. */
    MORTISE_READ_KV_COUNT,
    /* tenant, digest: appends the tenant's cached result with that key
     * to `value`.  MORTISE_ENOTFOUND, without a message: not cached,
     * or evicted. */
    MORTISE_READ_CACHED,
    /* tenant, run: found.tombstone.  MORTISE_ENOTFOUND: no run with that id was
     * removed. */
    MORTISE_READ_REMOVED,
    /* found.overdue_found_ms: the time of the last mortise_store_set_overdue_time(); 0: none. */
    MORTISE_READ_OVERDUE_TIME,
    /* tenant, run, id: calls spawn() once, for that handle of the parent `run`.
     * MORTISE_ENOTFOUND, without a message: no such handle. */
    MORTISE_READ_SPAWN,
    /* tenant, run: the same for the handle whose child is `run`. */
    MORTISE_READ_SPAWN_OF,
    /* tenant, run: calls spawn() for each handle of the parent `run`, in order
     * of the ids; if tenant is NULL, for those of all parents. */
    MORTISE_READ_SPAWNS,
    /* tenant, run: found.tree, the counters of the tree with that origin; zeros
     * if it has spawned nothing. */
    MORTISE_READ_SPAWN_TREE,
    /* tenant, run: found.purse, the purse of the tree with that origin.
     * MORTISE_ENOTFOUND, without a message: none. */
    MORTISE_READ_SPAWN_PURSE,
    MORTISE_READ_KINDS /* the number of kinds */
};

/* One read, from mortise_store_read() to done().  It belongs to the caller, who
 * must not change it, or anything that it points to, until then. */
struct mortise_read {
    enum mortise_read_kind kind;
    const char *tenant, *run, *id, *plugin; /* borrowed */
    const void *key;                        /* borrowed */
    size_t key_size;
    uint64_t number;
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_arena *arena; /* borrowed */
    struct mortise_buf *value;   /* borrowed */
    mortise_head_fn *head;
    mortise_checkpoint_fn *checkpoint;
    mortise_pending_fn *pending;
    mortise_spawn_fn *spawn;
    void *ud; /* for these four callbacks */
    union {
        struct {
            struct mortise_source *files;
            size_t n_files;
        };
        size_t n;
        uint64_t overdue_found_ms;
        struct mortise_tombstone tombstone;
        struct mortise_spawn_tree tree;
        struct mortise_spawn_budget purse;
    } found;
    /* The answer, called exactly once.  The read then belongs to the caller
     * again, who may start another read from inside done(), with the same
     * struct or another one. err is borrowed and has a message unless the kind
     * is documented as without one.
     *
     * The answer always comes.  An engine that closes waits for it without a
     * bound, because the read and its buffers may be written to until then.  A
     * remote store must have a timeout of its own, and then fails with
     * MORTISE_EIO. */
    void (*done)(struct mortise_read *r, int result,
                 const struct mortise_err *err);
    /* for the store's use while the read is in flight */
    struct mortise_read *next;
};

/* ---- a store ------------------------------------------------------------- */

struct mortise_removal {
    const char *tenant, *run;
    uint64_t seq; /* of the head that the caller looked at */
    bool gone;    /* result: it has been removed */
};

struct mortise_store {
    const struct mortise_store_ops *ops;
    /* Its open directory, which may have been renamed since, for files that are
     * stored beside the store's own. */
    int dir;
    /* The mode of that directory, if opening removed permissions of other users
     * from it; 0: it did not. */
    mode_t closed_off_mode;
    /* The number of this opening: one more than that of the last opening that
     * wrote.  It becomes durable with the first write, so an opening that only
     * reads writes no record. */
    uint64_t epoch;
    /* Random bytes that identify this store.  They are created with the store,
     * and durable before or with anything written under them.  A store without
     * an identity gets one with the first write of an opening. */
    uint8_t identity[MORTISE_STORE_ID];
    /* set by mortise_store_set_wake() */
    void (*wake)(void *ud);
    void *wake_ud;
};

/* The functions that a maker implements.  Each implements the function below
 * with the same name, which has its documentation. docs/extending.md describes
 * how to add a maker. */
struct mortise_store_ops {
    void (*close)(struct mortise_store *s);
    int (*reopen)(struct mortise_store *s, struct mortise_err *err);
    bool (*is_ours)(const struct mortise_store *s);
    bool (*wrote)(struct mortise_store *s);
    bool (*lacks)(struct mortise_store *s, struct mortise_err *why);

    void (*read)(struct mortise_store *s, struct mortise_read *r);
    /* All three NULL: every read is answered inside read(). */
    bool (*is_reading)(const struct mortise_store *s);
    void (*deliver)(struct mortise_store *s);
    void (*wait)(struct mortise_store *s, struct mortise_read *r);

    int (*write)(struct mortise_store *s, struct mortise_commit *const *commits,
                 size_t n, struct mortise_err *err);
    void (*set_cache_limit)(struct mortise_store *s, uint64_t bytes);
    int (*remove)(struct mortise_store *s, struct mortise_removal *list,
                  size_t n, uint64_t now_ms, struct mortise_err *err);
    int (*remove_rest)(struct mortise_store *s, bool *more,
                       struct mortise_err *err);
    int (*note)(struct mortise_store *s, uint64_t ms, struct mortise_err *err);
    void (*start_graph_sweep)(struct mortise_store *s);
    void (*keep_graphs)(struct mortise_store *s,
                        const uint8_t (*digests)[MORTISE_DIGEST], size_t n);
    int (*sweep)(struct mortise_store *s, bool *more, struct mortise_err *err);
    int (*get_mark)(struct mortise_store *s, const char *name, uint64_t *value,
                    struct mortise_err *err);
    int (*put_mark)(struct mortise_store *s, const char *name, uint64_t value,
                    bool may_fall, struct mortise_err *err);
};

/* A row of makers.def.  The first maker that accepts an address opens the store
 * there. */
struct mortise_store_maker {
    bool (*takes)(const char *path);
    /* Is there any part of a store at `path`?  True also if that cannot be
     * determined. */
    bool (*is_there)(const char *path);
    int (*open)(struct mortise_store **out, const char *path,
                const struct mortise_mem *mem, struct mortise_err *err);
    int (*open_view)(struct mortise_store **out, const char *path,
                     const struct mortise_mem *mem, struct mortise_err *err);
};

/* ---- store.c: opening ---------------------------------------------------- */

bool mortise_store_is_present(const char *path);
/* Open the store in the directory `path`, which is made (0700) if missing.
 * MORTISE_EBUSY: another process holds it; the message has its pid.
 * MORTISE_EFORMAT: another format; the store is unchanged.  MORTISE_ECORRUPT: a
 * gap in the commit numbers, or a wrong checksum.  MORTISE_EDENIED: other users
 * own files in it or can write to them. */
int mortise_store_open(struct mortise_store **out, const char *path,
                       const struct mortise_mem *mem, struct mortise_err *err);
/* Open a copy of the store read-only, for a store that is damaged or cannot be
 * written.  Writes fail with MORTISE_EDENIED.  Lists omit entries that cannot
 * be read. */
int mortise_store_open_view(struct mortise_store **out, const char *path,
                            const struct mortise_mem *mem,
                            struct mortise_err *err);
/* Is such a copy known to be incomplete?  Then *why has the message. [any] */
bool mortise_store_is_incomplete(struct mortise_store *s,
                                 struct mortise_err *why);
/* No read may be in flight.  NULL is allowed. */
void mortise_store_close(struct mortise_store *s);
/* Close, open and verify after a failed write.  No read may be in flight.  Only
 * a new read of the heads shows whether the failed batch was written. */
int mortise_store_reopen(struct mortise_store *s, struct mortise_err *err);
/* Did this process open the store?  In a child of fork() it did not: there,
 * every call fails with MORTISE_ESTATE, and closing does nothing. [any] */
bool mortise_store_is_ours(const struct mortise_store *s);
/* Has this opening written anything? */
bool mortise_store_has_written(struct mortise_store *s);

/* ---- reading ------------------------------------------------------------- */

void mortise_store_read(struct mortise_store *s, struct mortise_read *r);
/* Call before the first read. wake(ud) is called [any] when there is an answer
 * to deliver.  Without it, only mortise_store_wait() gets answers that come
 * later. */
void mortise_store_set_wake(struct mortise_store *s, void (*wake)(void *ud),
                            void *ud);
/* Is a read in flight? */
bool mortise_store_is_reading(const struct mortise_store *s);
/* Call done() for the reads whose answers have arrived. */
void mortise_store_deliver(struct mortise_store *s);
/* Complete this read, which is in flight, before anything else.  For when
 * nothing else is to happen, such as when an engine closes. */
void mortise_store_wait(struct mortise_store *s, struct mortise_read *r);

/* ---- writing ------------------------------------------------------------- */

/* Write all commits as one batch (docs/runtime.md, rules R5 and R6).  Sync
 * it with everything written before, unless every commit is lazy.  A commit
 * that conflicts is left out and its `result` set; the others are written.
 * A batch may have several commits of one run, in order.  After an error
 * the handle is dead and the outcome is unknown.
 *
 * Data that is written but not synced is visible to reads and survives the
 * process; a power failure loses the newest of it. */
int mortise_store_write(struct mortise_store *s,
                        struct mortise_commit *const *commits, size_t n,
                        struct mortise_err *err);
/* Set the size in bytes of the result cache, enforced from the next write on;
 * the default is 0.  Call it before other writes. */
void mortise_store_set_cache_limit(struct mortise_store *s, uint64_t bytes);

/* Remove runs with all their data, in one batch that is not synced: a power
 * failure restores whole runs only.  A run stays if it changed since, or has an
 * open request.  The last ones stay if the batch is full. */
int mortise_store_remove(struct mortise_store *s, struct mortise_removal *list,
                         size_t n, uint64_t now_ms, struct mortise_err *err);
/* Remove the remaining checkpoints of removed runs, one batch a call; *more:
 * call again. */
int mortise_store_remove_rest(struct mortise_store *s, bool *more,
                              struct mortise_err *err);
/* Record the time at which runs were found overdue. */
int mortise_store_set_overdue_time(struct mortise_store *s, uint64_t ms,
                                   struct mortise_err *err);

/* Remove unused graphs: call start_graph_sweep(), then keep_graphs() with the graph of
 * each head, then sweep() for one batch a call while *more.  The store itself
 * keeps the graphs of runs that are admitted or steered meanwhile. sweep() does
 * nothing without start_graph_sweep(), or after an error or a reopen since then. */
void mortise_store_start_graph_sweep(struct mortise_store *s);
void mortise_store_keep_graphs(struct mortise_store *s,
                               const uint8_t (*digests)[MORTISE_DIGEST],
                               size_t n);
int mortise_store_sweep_graphs(struct mortise_store *s, bool *more,
                               struct mortise_err *err);

/* Small durable numbers ("plugin:NAME KEY" -> highest seq seen), used when the
 * engine starts.  The default is 0.
 * mortise_store_raise_mark() only increases a number. */
int mortise_store_get_mark(struct mortise_store *s, const char *name,
                           uint64_t *value, struct mortise_err *err);
int mortise_store_raise_mark(struct mortise_store *s, const char *name,
                             uint64_t value, struct mortise_err *err);
/* Set a number to a value that may be lower, for a deliberate rollback. */
int mortise_store_set_mark(struct mortise_store *s, const char *name,
                           uint64_t value, struct mortise_err *err);

#endif
