/* ldb.h -- the internal interface of the store on LevelDB. leveldb.c opens and
 * writes, leveldb_read.c reads, leveldb_cache.c caches results, leveldb_spawn.c
 * stores spawn handles, leveldb_remove.c removes runs.  Only these files
 * include it. */
#ifndef MORTISE_LEVELDB_LDB_H
#define MORTISE_LEVELDB_LDB_H

#include <leveldb/c.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/base/table.h"
#include "core/base/tempdir.h"
#include "core/store/leveldb/highwater.h"
#include "core/store/leveldb/dir_lock.h"
#include "core/store/leveldb/key.h"
#include "core/store/leveldb/record.h"
#include "core/store/store.h"

/* The part of a head that the compare-and-set of a commit needs. */
struct mortise_head_version {
    uint64_t seq; /* 0: no such run */
    struct mortise_uuid checkpoint;
};

/* The result cache (leveldb_cache.c). */
struct mortise_ldb_cache {
    uint64_t most;       /* size limit in bytes */
    bool known;          /* the numbers below have been read */
    uint64_t first, end; /* numbers of the oldest and the next entry */
    uint64_t fresh;      /* the first entry of the batch in progress */
};

/* Spawn records changed by the batch in progress (leveldb_spawn.c). */
struct mortise_ldb_spawns {
    struct mortise_arena arena;       /* of the batch */
    struct mortise_ldb_staged **list; /* the records are in the arena */
    size_t n, cap;
    struct mortise_table newest; /* the newest version of each, by key */
};

enum { MORTISE_HEAD_CACHE_SLOTS = 1024 }; /* a power of two */

/* Graphs that are in use (leveldb_remove.c). */
struct mortise_graph_sweep {
    bool begun;
    uint8_t (*slots)[MORTISE_DIGEST]; /* all zero: free */
    size_t n, cap;                    /* cap: 0, or a power of two */
    uint8_t swept[MORTISE_DIGEST];    /* the last graph swept */
    bool sweeping;
};

struct mortise_ldb {
    struct mortise_store store;    /* first */
    const struct mortise_mem *mem; /* borrowed */
    char *path, *db_path;
    struct mortise_tempdir scratch; /* for the copy that a view reads */
    int copied;                     /* the db/ directory that is copied; -1 */
    bool looks; /* a view of the copy: skip unreadable data */
    struct mortise_dir_lock dir_lock;
    bool held;
    bool stamped;    /* STORE/format exists */
    bool unfinished; /* STORE/format has the mark of an unfinished store */
    leveldb_options_t *options;
    leveldb_readoptions_t *checked; /* verify checksums */
    leveldb_writeoptions_t *synced, *lazy;
    int db_dir;                   /* STORE/db while it is open; -1 */
    leveldb_t *db;                /* NULL after a failed reopen */
    atomic_bool dead;             /* a write failed (rule R6b) */
    atomic_bool refused;          /* memory ran out before a write */
    struct mortise_batch opening; /* written with each batch of this opening */
    uint64_t commits;             /* number of the last batch */
    bool identified;              /* the database has the identity */
    struct mortise_highwater water; /* numbers known to be synced */

    pthread_mutex_t writing; /* protects the members below, and `commits` */
    /* why a copy is incomplete; MORTISE_OK: not known to be */
    struct mortise_err lacks;
    /* bytes in the batch in progress, and their number at the last check for
     * memory (memory.c) */
    size_t batched, checked_at;
    /* upper bound of LevelDB's log, since we last began a new one */
    size_t buffered;
    bool full;                     /* the failed write had no space */
    bool roomy;                    /* the reserve exists, or is not needed */
    bool unsynced;                 /* the last writes may not be on disk */
    bool linked;                   /* tables may have second links (aside.c) */
    struct mortise_buf key, value; /* the entry being put */
    struct {
        uint64_t mark;
        struct mortise_head_version at;
    } spots
        [MORTISE_HEAD_CACHE_SLOTS]; /* the newest heads, in slots by their mark */
    uint64_t *marks;        /* hashes of the runs in the batch */
    size_t n_marks;         /* capacity */
    uint8_t graph[MORTISE_DIGEST]; /* a graph known to be stored */
    bool knows_graph;
    struct mortise_ldb_cache cache;
    struct mortise_ldb_spawns spawns;
    struct mortise_graph_sweep kept;
};

static inline struct mortise_ldb *mortise_ldb_of(struct mortise_store *s)
{
    return (struct mortise_ldb *)s;
}

/* The number of commit records that are kept (docs/runtime.md, rule R6b). */
enum { MORTISE_COMMIT_RECORDS_MAX = 65536 };
/* The first of the last `many` commit numbers. */
static inline uint64_t mortise_ldb_first_of(uint64_t many, uint64_t last)
{
    return last > many ? last - many + 1 : 1;
}

/* ---- leveldb.c: opening -------------------------------------------------- */

/* A struct with nothing open.  NULL: out of memory. */
struct mortise_ldb *mortise_ldb_new(const char *path,
                                    const struct mortise_mem *mem);
/* NULL is allowed. */
void mortise_ldb_close(struct mortise_ldb *s);
/* Take the lock of the store's directory, which is open as `dir`; takes `dir`
 * in any case.  Also checks that nothing in it belongs to other users
 * (owners.h). */
int mortise_ldb_lock(struct mortise_ldb *s, int dir, bool tables,
                     struct mortise_err *err);
/* Open the LevelDB database at s->db_path as s->db. */
int mortise_ldb_open(struct mortise_ldb *s, bool create,
                     struct mortise_err *err);
/* May a database be created in `db`?  MORTISE_ECORRUPT: there was one that has
 * lost its CURRENT, and LevelDB would create another in its place. */
int mortise_ldb_check_new(int db, struct mortise_err *err);
/* Check that the newest commits are in s->db. */
int mortise_ldb_verify(struct mortise_ldb *s, struct mortise_err *err);
/* Check the stamp in the database: MORTISE_EFORMAT, MORTISE_ECORRUPT. */
int mortise_ldb_verify_stamp(struct mortise_ldb *s, struct mortise_err *err);
/* Read the stamp file and the mark: each must exist if the other says so. */
int mortise_ldb_read_mark(struct mortise_ldb *s, bool writing,
                          struct mortise_err *err);
/* Open a store, made if missing.  With an identity: create a new store with it,
 * which is incomplete until mortise_ldb_mark_complete() (unfinished.c);
 * MORTISE_EEXISTS.  Call finish after a synced write. */
int mortise_ldb_open_or_create(struct mortise_ldb **out, const char *path,
                               const uint8_t identity[MORTISE_STORE_ID],
                               const struct mortise_mem *mem,
                               struct mortise_err *err);
int mortise_ldb_mark_complete(struct mortise_ldb *s, struct mortise_err *err);
/* "DIR/NAME"; NULL: out of memory. */
char *mortise_ldb_join_path(const struct mortise_mem *mem, const char *dir,
                            const char *name);

/* ---- functions for the maker's table (leveldb.c) ------------------------- */

/* leveldb_read.c.  mortise_ldb_read() calls done() before it returns;
 * mortise_ldb_read_now() returns the result instead. */
void mortise_ldb_read(struct mortise_store *store, struct mortise_read *r);
int mortise_ldb_read_now(struct mortise_ldb *s, struct mortise_read *r,
                         struct mortise_err *err);
/* Reads in leveldb_cache.c and leveldb_remove.c.  The caller has checked the
 * handle and the names.  `key` is a scratch buffer. */
typedef int mortise_ldb_read_fn(struct mortise_ldb *s, struct mortise_read *r,
                                struct mortise_buf *key,
                                struct mortise_err *err);
mortise_ldb_read_fn mortise_ldb_read_cached;
mortise_ldb_read_fn mortise_ldb_read_removed;
mortise_ldb_read_fn mortise_ldb_read_overdue_time;
/* view.c */
int mortise_ldb_open_view(struct mortise_store **out, const char *path,
                          const struct mortise_mem *mem,
                          struct mortise_err *err);
bool mortise_ldb_is_incomplete(struct mortise_store *store,
                               struct mortise_err *why);
/* leveldb_cache.c */
void mortise_ldb_set_cache_limit(struct mortise_store *store, uint64_t bytes);
/* leveldb_remove.c */
int mortise_ldb_remove(struct mortise_store *store,
                       struct mortise_removal *list, size_t n, uint64_t now_ms,
                       struct mortise_err *err);
int mortise_ldb_remove_rest(struct mortise_store *store, bool *more,
                            struct mortise_err *err);
int mortise_ldb_set_overdue_time(struct mortise_store *store, uint64_t ms,
                                 struct mortise_err *err);
void mortise_ldb_start_graph_sweep(struct mortise_store *store);
void mortise_ldb_keep_graphs(struct mortise_store *store,
                             const uint8_t (*digests)[MORTISE_DIGEST],
                             size_t n);
int mortise_ldb_sweep_graphs(struct mortise_store *store, bool *more,
                             struct mortise_err *err);

/* ---- view.c -------------------------------------------------------------- */

/* The prefix of the names of copies. */
#define MORTISE_VIEW "view"

enum mortise_ldb_logs {
    MORTISE_LOGS_NONE, /* copy only the tables */
    /* copy the tables and the logs; MORTISE_ECORRUPT if a log is not a file */
    MORTISE_LOGS_AS_IS,
    /* copy the tables, and the records of the logs that can be read */
    MORTISE_LOGS_READABLE
};

/* Copy the database in the directory `dir` to a new one, s->scratch, and set
 * s->db_path to it. */
int mortise_ldb_copy(struct mortise_ldb *s, int dir, enum mortise_ldb_logs logs,
                     struct mortise_err *err);
/* Open the copy, after repair if need be; *torn: a table is missing, or could
 * not be read completely. */
int mortise_ldb_open_copy(struct mortise_ldb *s, bool *torn,
                          struct mortise_err *err);
/* Record that the copy is incomplete.  Only the first message is kept. */
void mortise_ldb_set_incomplete(struct mortise_ldb *s, const char *words);
/* Remove the copy, which is closed. */
void mortise_ldb_drop_copy(struct mortise_ldb *s);

/* Convert an error string of LevelDB to ours and free it.  No other function
 * handles these strings.  MORTISE_OK if it is NULL. */
int mortise_ldb_convert_error(char *said, struct mortise_err *err,
                              const char *doing);

/* Destroy an iterator; returns its read error if it had one, else `rv`. */
int mortise_ldb_iter_destroy(leveldb_iterator_t *it, int rv, const char *doing,
                             struct mortise_err *err);

/* Check that the handle is usable: MORTISE_ESTATE after a failed write. */
int mortise_ldb_check_usable(struct mortise_ldb *s, struct mortise_err *err);

/* MORTISE_EINVAL if a name cannot be part of a key; NULL is allowed. */
int mortise_ldb_check_name(const char *name, struct mortise_err *err);

/* Read one value; free it with leveldb_free().  MORTISE_ENOTFOUND, without a
 * message: no such key. */
int mortise_ldb_get(struct mortise_ldb *s, const leveldb_readoptions_t *options,
                    const struct mortise_buf *key, char **value, size_t *size,
                    struct mortise_err *err);

/* Read one value and decode it as a record.  The record borrows from *value,
 * which must be freed in any case.  With `value` NULL, the record must borrow
 * nothing. */
int mortise_ldb_get_record(struct mortise_ldb *s,
                           const leveldb_readoptions_t *options,
                           const struct mortise_buf *key,
                           const struct mortise_record *of, void *out,
                           char **value, struct mortise_err *err);

/* ---- memory.c: checks before a call to LevelDB --------------------------- */

/* Is there enough memory for LevelDB to run, and to take a batch or replay a
 * log of `bytes` bytes?  The second returns MORTISE_ENOMEM if not. [any] */
bool mortise_ldb_has_memory(size_t bytes);
int mortise_ldb_check_memory(size_t bytes, struct mortise_err *err);

/* ---- writing, with `writing` locked -------------------------------------- */

/* Write one batch: `fill` puts into it and calls mortise_ldb_write().  Any
 * error leaves the handle dead, except if there was not enough memory to call
 * `fill`. */
typedef int mortise_ldb_fill_batch_fn(struct mortise_ldb *s,
                                      leveldb_writebatch_t *batch, void *ud,
                                      struct mortise_err *err);
int mortise_ldb_write_batch(struct mortise_ldb *s,
                            mortise_ldb_fill_batch_fn *fill, void *ud,
                            struct mortise_err *err);
/* Put s->key with s->value, or with an encoded record, into the batch, or
 * delete s->key.  Empties s->value.  MORTISE_ENOMEM.  Before
 * mortise_ldb_put_bytes(), call mortise_ldb_can_put() to check for memory for n
 * more bytes (memory.c). */
int mortise_ldb_put(struct mortise_ldb *s, leveldb_writebatch_t *batch);
bool mortise_ldb_can_put(struct mortise_ldb *s, size_t n);
void mortise_ldb_put_bytes(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const char *key, size_t key_size, const char *value,
                           size_t value_size);
int mortise_ldb_put_record(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const struct mortise_record *of, const void *record);
int mortise_ldb_delete(struct mortise_ldb *s, leveldb_writebatch_t *batch);
/* Write the batch with the records that every batch carries; `lazy`: do not
 * sync. */
int mortise_ldb_write(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                      bool lazy, struct mortise_err *err);
/* Forget the cached head of a run, which changed. */
void mortise_ldb_forget_head(struct mortise_ldb *s, const char *tenant,
                             const char *run);
/* mortise_ldb_keep_graph(): a new run needs the graph, so the sweep must keep
 * it.  mortise_ldb_cancel_graph_sweep(): stop the sweep, which then removes
 * nothing. */
void mortise_ldb_keep_graph(struct mortise_ldb *s,
                            const uint8_t digest[MORTISE_DIGEST]);
void mortise_ldb_cancel_graph_sweep(struct mortise_ldb *s);

/* ---- leveldb_cache.c, with `writing` locked ------------------------------ */

/* Begin a batch; put the results of a commit into it; evict the oldest ones. */
void mortise_ldb_cache_begin(struct mortise_ldb *s);
int mortise_ldb_cache_put(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                          const struct mortise_commit *c,
                          struct mortise_err *err);
int mortise_ldb_cache_trim(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err);

/* ---- leveldb_spawn.c, with `writing` locked ------------------------------ */

/* Begin and end a batch; end it in any case. */
void mortise_ldb_spawns_begin(struct mortise_ldb *s);
void mortise_ldb_spawns_end(struct mortise_ldb *s);
/* Stage the handle changes of the i-th commit; *fits: false: it conflicts.
 * After an error the batch must not be written. */
int mortise_ldb_spawns_stage(struct mortise_ldb *s,
                             struct mortise_commit *const *commits, size_t i,
                             bool *fits, struct mortise_err *err);
/* Put all staged changes into the batch. */
int mortise_ldb_spawns_put(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err);
/* Must a run be kept because of its handles? */
int mortise_ldb_spawns_are_open(struct mortise_ldb *s, const char *tenant,
                                const char *run, bool *open,
                                struct mortise_err *err);
/* Remove the handles of a run that is removed; adds the number of keys to
 * *n_dropped. */
int mortise_ldb_spawns_remove(struct mortise_ldb *s,
                              leveldb_writebatch_t *batch, const char *tenant,
                              const char *run, size_t *n_dropped,
                              struct mortise_err *err);
void mortise_ldb_spawns_close(struct mortise_ldb *s);

/* Fail for a record that cannot be decoded. */
int mortise_ldb_fail_record(struct mortise_err *err, int code,
                            const char *what);

#endif
