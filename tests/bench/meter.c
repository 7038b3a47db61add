/* meter.c -- a meter in front of LevelDB.
 *
 * The store calls LevelDB through its C API, and LevelDB syncs through
 * fdatasync().  Symbols of the program win over those of its libraries, so
 * those defined here see each of these calls before passing it on: what is
 * counted is what was put, not what somebody meant to put.
 *
 * Writes come from the loop or from the store thread, so everything is under
 * one lock; a write takes microseconds, the lock nanoseconds.
 */
#include "bench.h"

#include <dlfcn.h>
#include <leveldb/c.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/store/leveldb/key.h"

#define METER_SEES __attribute__((visibility("default")))

struct put { /* key, then value */
    size_t key, value;
    bool checkpoint;
    char bytes[];
};

struct bench_records {
    struct put **list;
    size_t n, cap, checkpoints;
};

/* Guards what follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bench_meter meter;
static struct bench_records *recording; /* NULL: not */
static bool no_sync;

typedef void write_fn(leveldb_t *, const leveldb_writeoptions_t *,
                      leveldb_writebatch_t *, char **);
typedef void put_fn(leveldb_writebatch_t *, const char *, size_t, const char *,
                    size_t);

static write_fn *next_write;
static put_fn *next_put;

/* ISO C has no cast from an object to a function; POSIX has dlsym(). */
static void find(void *into, const char *name)
{
    void *sym = dlsym(RTLD_NEXT, name);

    if (sym == NULL)
        bench_die("no %s in LevelDB", name);
    memcpy(into, &sym, sizeof sym);
}

__attribute__((constructor)) static void find_all(void)
{
    find(&next_write, "leveldb_write");
    find(&next_put, "leveldb_writebatch_put");
}

/* ---- in between -----------------------------------------------------------
 */

METER_SEES int fdatasync(int fd)
{
    bool skip;

    pthread_mutex_lock(&lock);
    meter.syncs++;
    skip = no_sync;
    pthread_mutex_unlock(&lock);
    return skip ? 0 : (int)syscall(SYS_fdatasync, fd);
}

METER_SEES void leveldb_write(leveldb_t *db, const leveldb_writeoptions_t *o,
                              leveldb_writebatch_t *batch, char **err)
{
    double begun = bench_now(), cpu = bench_cpu();

    next_write(db, o, batch, err);
    pthread_mutex_lock(&lock);
    meter.batches++;
    meter.write += bench_now() - begun;
    if (getpid() == gettid())
        meter.write_cpu += bench_cpu() - cpu;
    pthread_mutex_unlock(&lock);
}

static void record(struct bench_records *r, const char *key, size_t nk,
                   const char *value, size_t nv)
{
    struct put *p = malloc(sizeof *p + nk + nv);

    if (r->n == r->cap) {
        r->cap = r->cap > 0 ? 2 * r->cap : 1024;
        r->list = realloc(r->list, r->cap * sizeof r->list[0]);
    }
    if (p == NULL || r->list == NULL)
        bench_die("out of memory");
    *p = (struct put){nk, nv, key[0] == MORTISE_KEY_CHECKPOINT};
    memcpy(p->bytes, key, nk);
    memcpy(p->bytes + nk, value, nv);
    r->checkpoints += p->checkpoint;
    r->list[r->n++] = p;
}

METER_SEES void leveldb_writebatch_put(leveldb_writebatch_t *batch,
                                       const char *key, size_t nk,
                                       const char *value, size_t nv)
{
    next_put(batch, key, nk, value, nv);
    pthread_mutex_lock(&lock);
    meter.puts++;
    meter.checkpoints += key[0] == MORTISE_KEY_CHECKPOINT;
    meter.bytes += nk + nv;
    if (recording != NULL)
        record(recording, key, nk, value, nv);
    pthread_mutex_unlock(&lock);
}

/* ---- reading it
 * --------------------------------------------------------------- */

void bench_meter_reset(void)
{
    pthread_mutex_lock(&lock);
    meter = (struct bench_meter){0};
    pthread_mutex_unlock(&lock);
}

struct bench_meter bench_meter_read(void)
{
    struct bench_meter m;

    pthread_mutex_lock(&lock);
    m = meter;
    pthread_mutex_unlock(&lock);
    return m;
}

void bench_sync(bool on)
{
    pthread_mutex_lock(&lock);
    no_sync = !on;
    pthread_mutex_unlock(&lock);
}

/* ---- records
 * ------------------------------------------------------------------- */

struct bench_records *bench_record_start(void)
{
    struct bench_records *r = calloc(1, sizeof *r);

    if (r == NULL)
        bench_die("out of memory");
    pthread_mutex_lock(&lock);
    recording = r;
    pthread_mutex_unlock(&lock);
    return r;
}

void bench_record_stop(void)
{
    pthread_mutex_lock(&lock);
    recording = NULL;
    pthread_mutex_unlock(&lock);
}

void bench_records_free(struct bench_records *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->list[i]);
    free(r->list);
    free(r);
}

size_t bench_records_checkpoints(const struct bench_records *r)
{
    return r->checkpoints;
}

/* ---- bare LevelDB
 * ---------------------------------------------------------------- */

struct bench_bare {
    leveldb_options_t *options;
    leveldb_writeoptions_t *synced;
    leveldb_t *db;
};

static void must(char *said)
{
    if (said != NULL)
        bench_die("bare LevelDB: %s", said);
}

struct bench_bare *bench_bare_open(void)
{
    static int number;
    struct bench_bare *b = calloc(1, sizeof *b);
    char *said = NULL;

    if (b == NULL)
        bench_die("out of memory");
    b->options = leveldb_options_create();
    leveldb_options_set_create_if_missing(b->options, 1);
    b->synced = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(b->synced, 1);
    b->db = leveldb_open(b->options, bench_path("bare-%d", number++), &said);
    must(said);
    return b;
}

void bench_bare_close(struct bench_bare *b)
{
    leveldb_close(b->db);
    leveldb_options_destroy(b->options);
    leveldb_writeoptions_destroy(b->synced);
    free(b);
}

/* As many puts as hold per_batch checkpoints; returns behind them. */
static size_t write_some(struct bench_bare *b, const struct bench_records *r,
                         size_t at, size_t per_batch)
{
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    char *said = NULL;

    for (size_t n = 0; at < r->n; at++) {
        const struct put *p = r->list[at];

        if (p->checkpoint && n++ == per_batch)
            break;
        next_put(batch, p->bytes, p->key, p->bytes + p->key, p->value);
    }
    next_write(b->db, b->synced, batch, &said);
    must(said);
    leveldb_writebatch_destroy(batch);
    return at;
}

double bench_bare_write(struct bench_bare *b, const struct bench_records *r,
                        size_t per_batch)
{
    double begun = bench_now();

    for (size_t at = 0; at < r->n;)
        at = write_some(b, r, at, per_batch);
    return bench_now() - begun;
}
