/* base.c -- what the rows are held against, measured in the same minute. */
#include "bench.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <leveldb/c.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEATS = 200, RECORD = 200 };

struct bench_base bench_base;

/* ---- calls and threads -----------------------------------------------------
 */

/* A million calls, so that the clock does not count. */
static double one_call(void)
{
    enum { CALLS = 1000000 };
    void *sym = dlsym(RTLD_DEFAULT, "labs");
    long (*f)(long);
    volatile long sum = 0;
    double begun;

    if (sym == NULL)
        bench_die("no labs() in the C library");
    memcpy(&f, &sym, sizeof f);
    begun = bench_cpu();
    for (long i = 0; i < CALLS; i++)
        sum = f(sum - i);
    return (bench_cpu() - begun) / CALLS;
}

static double measure_call(void)
{
    double v[9];

    for (int i = 0; i < 9; i++)
        v[i] = one_call();
    return bench_median(v, 9);
}

struct table_tennis {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int ball; /* 0: ours, 1: theirs, 2: over */
};

static void await_ball(struct table_tennis *t, int mine)
{
    while (t->ball != mine && t->ball != 2)
        pthread_cond_wait(&t->news, &t->lock);
}

static void *partner(void *ud)
{
    struct table_tennis *t = ud;

    pthread_mutex_lock(&t->lock);
    for (await_ball(t, 1); t->ball != 2; await_ball(t, 1)) {
        t->ball = 0;
        pthread_cond_signal(&t->news);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void serve(struct table_tennis *t, int ball)
{
    pthread_mutex_lock(&t->lock);
    t->ball = ball;
    pthread_cond_signal(&t->news);
    await_ball(t, 0);
    pthread_mutex_unlock(&t->lock);
}

static double measure_handoff(void)
{
    enum { ROUNDS = 200, SETS = 15 };
    struct table_tennis t = {PTHREAD_MUTEX_INITIALIZER,
                             PTHREAD_COND_INITIALIZER, 0};
    pthread_t thread;
    double v[SETS];

    if (pthread_create(&thread, NULL, partner, &t) != 0)
        bench_die("no thread");
    for (int i = 0; i < SETS; i++) {
        double begun = bench_now();

        for (int k = 0; k < ROUNDS; k++)
            serve(&t, 1);
        v[i] = (bench_now() - begun) / ROUNDS;
    }
    serve(&t, 2);
    pthread_join(thread, NULL);
    return bench_median(v, SETS);
}

/* ---- JSON
 * --------------------------------------------------------------------- */

/* An object of RECORD bytes. */
static void make_json(char out[RECORD + 1])
{
    static const char head[] = "{\"id\":12345,\"ok\":true,\"ratio\":0.75,"
                               "\"tags\":[\"a\",\"b\",\"c\"],\"text\":\"";

    memset(out, 'x', RECORD);
    memcpy(out, head, sizeof head - 1);
    memcpy(out + RECORD - 2, "\"}", 3);
}

/* A thousand of each, so that the clock does not count. */
static void one_json(const char *text, double *parse, double *dump)
{
    enum { TIMES = 1000 };
    static json_t *values[TIMES];
    double at = bench_cpu();

    for (int i = 0; i < TIMES; i++)
        values[i] = json_loadb(text, RECORD, 0, NULL);
    *parse = (bench_cpu() - at) / TIMES;
    at = bench_cpu();
    for (int i = 0; i < TIMES; i++)
        free(json_dumps(values[i], JSON_COMPACT));
    *dump = (bench_cpu() - at) / TIMES;
    if (values[0] == NULL)
        bench_die("jansson does not read the benchmarks' JSON");
    for (int i = 0; i < TIMES; i++)
        json_decref(values[i]);
}

static void measure_json(void)
{
    char text[RECORD + 1];
    double parse[15], dump[15];

    make_json(text);
    for (int i = 0; i < 15; i++)
        one_json(text, &parse[i], &dump[i]);
    bench_base.parse = bench_median(parse, 15);
    bench_base.dump = bench_median(dump, 15);
}

/* ---- the disk
 * ------------------------------------------------------------------ */

static double measure_sync(void)
{
    char record[RECORD] = {0};
    double v[REPEATS];
    int fd = open(bench_path("sync"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    for (int i = 0; i < REPEATS; i++) {
        double begun = bench_now();

        if (write(fd, record, sizeof record) != RECORD || fdatasync(fd) != 0)
            bench_die("cannot write to %s", bench_path("sync"));
        v[i] = bench_now() - begun;
    }
    close(fd);
    return bench_median(v, REPEATS);
}

/* Seconds for one of n records in a synced batch. */
static double measure_put(leveldb_t *db, leveldb_writeoptions_t *synced,
                          size_t n, size_t repeats)
{
    char record[RECORD] = {0}, *said = NULL;
    double v[REPEATS];
    uint64_t key = 0;

    for (size_t i = 0; i < repeats; i++) {
        double begun = bench_now();
        leveldb_writebatch_t *batch = leveldb_writebatch_create();

        for (size_t k = 0; k < n; k++, key++)
            leveldb_writebatch_put(batch, (const char *)&key, sizeof key,
                                   record, sizeof record);
        leveldb_write(db, synced, batch, &said);
        leveldb_writebatch_destroy(batch);
        if (said != NULL)
            bench_die("bare LevelDB: %s", said);
        v[i] = (bench_now() - begun) / (double)n;
    }
    return bench_median(v, repeats);
}

static void measure_leveldb(void)
{
    leveldb_options_t *options = leveldb_options_create();
    leveldb_writeoptions_t *synced = leveldb_writeoptions_create();
    char *said = NULL;
    leveldb_t *db;

    leveldb_options_set_create_if_missing(options, 1);
    leveldb_writeoptions_set_sync(synced, 1);
    db = leveldb_open(options, bench_path("bare"), &said);
    if (said != NULL)
        bench_die("bare LevelDB: %s", said);
    bench_base.put = measure_put(db, synced, 1, REPEATS);
    bench_base.batched = measure_put(db, synced, 32, REPEATS / 4);
    leveldb_close(db);
    leveldb_options_destroy(options);
    leveldb_writeoptions_destroy(synced);
}

static double measure_spawn(void)
{
    static const char *const argv[] = {"/bin/true", NULL};
    double v[15];

    for (int i = 0; i < 15; i++) {
        struct bench_child c = bench_spawn(argv);

        bench_reap(&c);
        v[i] = bench_now() - c.begun;
    }
    return bench_median(v, 15);
}

/* ---- all of them
 * ------------------------------------------------------------------ */

static void print(const char *what, double measured)
{
    bench_row(&(struct bench_row){.what = what, .measured = measured});
}

void bench_measure_base(void)
{
    struct bench_base *b = &bench_base;

    bench_section("what it is held against");
    b->call = measure_call();
    b->handoff = measure_handoff();
    measure_json();
    b->sync = measure_sync();
    measure_leveldb();
    b->spawn = measure_spawn();
    print("a call through a pointer (dlsym)", b->call);
    print("a hand-off to another thread and back", b->handoff);
    print("jansson parses 200 B", b->parse);
    print("jansson dumps 200 B", b->dump);
    print("write and fdatasync of 200 B", b->sync);
    print("bare LevelDB, synced put of 200 B", b->put);
    print("bare LevelDB, one of 32 in a synced batch", b->batched);
    print("/bin/true, to its end", b->spawn);
}
