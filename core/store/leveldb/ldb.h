/* ldb.h -- what the parts of the store on LevelDB share: leveldb.c opens and
 * writes, leveldb_read.c reads, leveldb_cache.c keeps results, leveldb_spawn.c
 * spawn handles, leveldb_remove.c removes runs.  Included by these alone. */
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

/* Where a run stands, as far as the compare-and-set looks. */
struct mortise_spot {
    uint64_t seq; /* 0: there is no such run */
    struct mortise_uuid checkpoint;
};

/* Results that are kept (leveldb_cache.c). */
struct mortise_ldb_cache {
    uint64_t most;       /* bytes */
    bool known;          /* what follows was read */
    uint64_t first, end; /* the oldest one's number; the next one's */
    uint64_t fresh;      /* the first of the batch under way */
};

/* What the batch under way has come to so far (leveldb_spawn.c). */
struct mortise_ldb_spawns {
    struct mortise_arena arena;       /* of the batch */
    struct mortise_ldb_staged **list; /* in the arena, all but the list */
    size_t n, cap;
    struct mortise_table newest; /* by their keys */
};

enum { MORTISE_SPOTS = 1024 }; /* a power of two */

/* Graphs that are needed (leveldb_remove.c). */
struct mortise_kept {
    bool begun;
    uint8_t (*slots)[MORTISE_DIGEST]; /* zeros: free */
    size_t n, cap;                    /* cap: 0, or a power of two */
    uint8_t swept[MORTISE_DIGEST];    /* the sweep is behind this one */
    bool sweeping;
};

struct mortise_ldb {
    struct mortise_store store;    /* first */
    const struct mortise_mem *mem; /* lent */
    char *path, *db_path;
    struct mortise_tempdir
        scratch; /* of a copy that is looked at, if there is */
    int copied;  /* of what: its db/; -1 */
    bool looks;  /* at that copy: what does not read is passed over */
    struct mortise_dir_lock dir_lock;
    bool held;
    bool stamped;    /* STORE/format is there */
    bool unfinished; /* and says that it is no store yet */
    leveldb_options_t *options;
    leveldb_readoptions_t *checked; /* verifies checksums */
    leveldb_writeoptions_t *synced, *lazy;
    int db_dir;                     /* STORE/db while that is open; -1 */
    leveldb_t *db;                  /* NULL while it could not be reopened */
    atomic_bool dead;               /* a write failed (R6b) */
    atomic_bool refused;            /* ... or had no memory to begin with */
    struct mortise_batch opening;   /* what its batches say */
    uint64_t commits;               /* the number of the last batch */
    bool identified;                /* the database has it */
    struct mortise_highwater water; /* of what is synced */

    pthread_mutex_t writing;  /* guards what follows, and `commits` */
    struct mortise_err lacks; /* why a copy is not whole; MORTISE_OK: it
                                      is, as far as is known */
    size_t batched, checked_at; /* bytes of the batch under way, and of it when
                                   memory was last looked for (memory.c) */
    size_t buffered;          /* LevelDB's log holds no more, since it was
                                      last begun by us */
    bool full;                /* the write that failed found no room */
    bool roomy;               /* the reserve is there, or need not be */
    bool unsynced; /* the end of what was written may not be on disk */
    bool linked;   /* tables may have second names (aside.c) */
    struct mortise_buf key, value; /* of the entry being put */
    struct {
        uint64_t mark;
        struct mortise_spot at;
    } spots[MORTISE_SPOTS];        /* heads as last put, by their mark */
    uint64_t *marks;               /* hashes of the runs in a batch */
    size_t n_marks;                /* there is room for */
    uint8_t graph[MORTISE_DIGEST]; /* one that is surely stored */
    bool knows_graph;
    struct mortise_ldb_cache cache;
    struct mortise_ldb_spawns spawns;
    struct mortise_kept kept;
};

static inline struct mortise_ldb *mortise_ldb_of(struct mortise_store *s)
{
    return (struct mortise_ldb *)s;
}

enum { MORTISE_KEPT_COMMITS = 65536 }; /* of their numbers: R6b */
/* Of the last `many` commit numbers, the first. */
static inline uint64_t mortise_ldb_first_of(uint64_t many, uint64_t last)
{
    return last > many ? last - many + 1 : 1;
}

/* ---- leveldb.c: opening -------------------------------------------------- */

/* With nothing open.  NULL: no memory. */
struct mortise_ldb *mortise_ldb_new(const char *path,
                                    const struct mortise_mem *mem);
/* NULL is fine. */
void mortise_ldb_close(struct mortise_ldb *s);
/* Take the lock of its directory, open as `dir`, which is taken too; what is in
 * it is nobody else's (owners.h). */
int mortise_ldb_hold(struct mortise_ldb *s, int dir, bool tables,
                     struct mortise_err *err);
/* LevelDB's open, of s->db_path, into s->db. */
int mortise_ldb_open(struct mortise_ldb *s, bool create,
                     struct mortise_err *err);
/* A database may be made in `db`: MORTISE_ECORRUPT where one was written to and
 * lost its CURRENT, so that LevelDB would make another in its place. */
int mortise_ldb_check_new(int db, struct mortise_err *err);
/* Are the newest commits in what is open in s->db? */
int mortise_ldb_verify(struct mortise_ldb *s, struct mortise_err *err);
/* The stamp in the database: MORTISE_EFORMAT, MORTISE_ECORRUPT. */
int mortise_ldb_verify_stamp(struct mortise_ldb *s, struct mortise_err *err);
/* Its stamp and its mark: each is to be there if the other says so. */
int mortise_ldb_read_mark(struct mortise_ldb *s, bool writing,
                          struct mortise_err *err);
/* Open a store, made if missing.  With an identity: a new one that gets it, and
 * is none before mortise_ldb_finish(), after a synced write (unfinished.c);
 * MORTISE_EEXISTS. */
int mortise_ldb_begin(struct mortise_ldb **out, const char *path,
                      const uint8_t identity[MORTISE_STORE_ID],
                      const struct mortise_mem *mem, struct mortise_err *err);
int mortise_ldb_finish(struct mortise_ldb *s, struct mortise_err *err);
/* DIR/NAME; NULL: no memory. */
char *mortise_ldb_join(const struct mortise_mem *mem, const char *dir,
                       const char *name);

/* ---- what the table of the maker is made of (leveldb.c) ------------------- */

/* leveldb_read.c: answered before it returns; and the same without an answer. */
void mortise_ldb_read(struct mortise_store *store, struct mortise_read *r);
int mortise_ldb_read_now(struct mortise_ldb *s, struct mortise_read *r,
                         struct mortise_err *err);
/* The reads of leveldb_cache.c and leveldb_remove.c: of what can be used, with
 * names that keys can hold.  `key` is theirs to look something up by. */
typedef int mortise_ldb_read_fn(struct mortise_ldb *s, struct mortise_read *r,
                                struct mortise_buf *key,
                                struct mortise_err *err);
mortise_ldb_read_fn mortise_ldb_read_cached;
mortise_ldb_read_fn mortise_ldb_read_removed;
mortise_ldb_read_fn mortise_ldb_read_noted;
/* view.c */
int mortise_ldb_open_view(struct mortise_store **out, const char *path,
                          const struct mortise_mem *mem,
                          struct mortise_err *err);
bool mortise_ldb_lacks(struct mortise_store *store, struct mortise_err *why);
/* leveldb_cache.c */
void mortise_ldb_cache_bound(struct mortise_store *store, uint64_t bytes);
/* leveldb_remove.c */
int mortise_ldb_remove(struct mortise_store *store,
                       struct mortise_removal *list, size_t n, uint64_t now_ms,
                       struct mortise_err *err);
int mortise_ldb_remove_rest(struct mortise_store *store, bool *more,
                            struct mortise_err *err);
int mortise_ldb_note(struct mortise_store *store, uint64_t ms,
                     struct mortise_err *err);
void mortise_ldb_sweep_begin(struct mortise_store *store);
void mortise_ldb_sweep_keep(struct mortise_store *store,
                            const uint8_t (*digests)[MORTISE_DIGEST], size_t n);
int mortise_ldb_sweep(struct mortise_store *store, bool *more,
                      struct mortise_err *err);

/* ---- view.c -------------------------------------------------------------- */

/* What names of copies begin with. */
#define MORTISE_VIEW "view"

enum mortise_ldb_logs {
    MORTISE_LOGS_NONE,    /* what is in tables alone */
    MORTISE_LOGS_AS_IS,   /* and MORTISE_ECORRUPT where something is no file */
    MORTISE_LOGS_READABLE /* the records that can be read */
};

/* Copy the database of the directory open as `dir` to a fresh one, s->scratch,
 * and have s->db_path name it. */
int mortise_ldb_copy(struct mortise_ldb *s, int dir, enum mortise_ldb_logs logs,
                     struct mortise_err *err);
/* Open the copy, mended if need be; *torn: a table is missing, or could not be
 * read to its end. */
int mortise_ldb_open_copy(struct mortise_ldb *s, bool *torn,
                          struct mortise_err *err);
/* What is looked at is not all of the store; the first words count. */
void mortise_ldb_note_lack(struct mortise_ldb *s, const char *words);
/* The copy is closed: remove it. */
void mortise_ldb_drop_copy(struct mortise_ldb *s);

/* What LevelDB said, as ours; frees it.  The only function that sees one of
 * its strings.  MORTISE_OK when there is none. */
int mortise_ldb_taken(char *said, struct mortise_err *err, const char *doing);

/* An iterator is done: what it could not read, or else `rv`. */
int mortise_ldb_iter_end(leveldb_iterator_t *it, int rv, const char *doing,
                         struct mortise_err *err);

/* May it be used?  MORTISE_ESTATE after a failed write. */
int mortise_ldb_alive(struct mortise_ldb *s, struct mortise_err *err);

/* MORTISE_EINVAL for a name that no key can hold; NULL is fine. */
int mortise_ldb_name(const char *name, struct mortise_err *err);

/* One value; MORTISE_ENOTFOUND (without words) when there is none.  Free it
 * with leveldb_free(). */
int mortise_ldb_get(struct mortise_ldb *s, const leveldb_readoptions_t *options,
                    const struct mortise_buf *key, char **value, size_t *size,
                    struct mortise_err *err);

/* The same, read as a record; what that lends is in *value, to be freed
 * whatever comes of it, or with `value` NULL it lends nothing. */
int mortise_ldb_get_record(struct mortise_ldb *s,
                           const leveldb_readoptions_t *options,
                           const struct mortise_buf *key,
                           const struct mortise_record *of, void *out,
                           char **value, struct mortise_err *err);

/* ---- memory.c: before LevelDB is entered --------------------------------- */

/* Is there memory for LevelDB to do anything, and to take a batch, or replay a
 * log, of so many bytes?  The second: MORTISE_ENOMEM if not.  [any] */
bool mortise_ldb_has_memory(size_t bytes);
int mortise_ldb_want_memory(size_t bytes, struct mortise_err *err);

/* ---- writing: with `writing` locked ---------------------------------------
 */

/* One batch: `fill` puts into it and calls mortise_ldb_write(); any error
 * leaves the handle dead.  Without memory to begin with `fill` is not called,
 * and the handle stays as it is. */
typedef int mortise_fill_fn(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                            void *ud, struct mortise_err *err);
int mortise_ldb_batch(struct mortise_ldb *s, mortise_fill_fn *fill, void *ud,
                      struct mortise_err *err);
/* Put what s->key and s->value, or s->key and a record, say into the batch, or
 * have the key deleted; s->value is empty after it.  MORTISE_ENOMEM.  Before
 * mortise_ldb_put_bytes() ask whether there is memory for n bytes more
 * (memory.c). */
int mortise_ldb_put(struct mortise_ldb *s, leveldb_writebatch_t *batch);
bool mortise_ldb_may_put(struct mortise_ldb *s, size_t n);
void mortise_ldb_put_bytes(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const char *key, size_t key_size, const char *value,
                           size_t value_size);
int mortise_ldb_put_record(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const struct mortise_record *of, const void *record);
int mortise_ldb_drop(struct mortise_ldb *s, leveldb_writebatch_t *batch);
/* With the bookkeeping that every batch carries; `lazy`: unsynced. */
int mortise_ldb_write(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                      bool lazy, struct mortise_err *err);
/* The head of a run is not what it was. */
void mortise_ldb_forget(struct mortise_ldb *s, const char *tenant,
                        const char *run);
/* A new run needs that graph. */
void mortise_ldb_keep(struct mortise_ldb *s,
                      const uint8_t digest[MORTISE_DIGEST]);
void mortise_ldb_keep_none(struct mortise_ldb *s);

/* ---- leveldb_cache.c: while s->writing is held --------------------------- */

/* A batch begins; a commit's results go into it; what is too much goes. */
void mortise_ldb_cache_begin(struct mortise_ldb *s);
int mortise_ldb_cache_put(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                          const struct mortise_commit *c,
                          struct mortise_err *err);
int mortise_ldb_cache_trim(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err);

/* ---- leveldb_spawn.c: while s->writing is held --------------------------- */

/* A batch begins, and ends, whatever became of it. */
void mortise_ldb_spawns_begin(struct mortise_ldb *s);
void mortise_ldb_spawns_end(struct mortise_ldb *s);
/* What the i-th commit changes of handles; *fits: it may stand.  An error leaves
 * the batch undone. */
int mortise_ldb_spawns_stage(struct mortise_ldb *s,
                             struct mortise_commit *const *commits, size_t i,
                             bool *fits, struct mortise_err *err);
/* All of it goes into the batch. */
int mortise_ldb_spawns_put(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err);
/* Does a run stay for its handles? */
int mortise_ldb_spawns_are_open(struct mortise_ldb *s, const char *tenant,
                                const char *run, bool *open,
                                struct mortise_err *err);
/* It does not, and goes: they do, too; *n_dropped grows by the keys. */
int mortise_ldb_spawns_remove(struct mortise_ldb *s,
                              leveldb_writebatch_t *batch, const char *tenant,
                              const char *run, size_t *n_dropped,
                              struct mortise_err *err);
void mortise_ldb_spawns_close(struct mortise_ldb *s);

/* Words for a record that does not read. */
int mortise_ldb_bad(struct mortise_err *err, int code, const char *what);

#endif
