/* test_store_crash.c -- the store, killed, cut off and let down by its disk.
 *
 * "At every call" holds for `make whole`; else it is at a part of them (lib/matrix.h).
 *
 * A victim, forked, opens a store and commits to two runs, noting in memory
 * that it shares with us what was acknowledged.  It dies at a call of ours, or
 * its disk fails at one.  Then the power is cut (tests/lib/powercut.c), and
 * somebody who shares no code with the store reads what is left
 * (store_reader.c): every acknowledged commit whole, none in part.  At last a
 * victim that nobody disturbs finishes the work.
 *
 * LevelDB has a thread for good once it is used, so this process, which forks,
 * never uses it: it all happens in children. */
#include <check.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/commits.h"
#include "lib/matrix.h"
#include "lib/powercut.h"
#include "lib/store_reader.h"
#include "lib/test.h"
#include "lib/store_now.h"
#include "core/store/writer.h"

enum {
    N_RUNS = 2,
    PER_ROUND = 3,
    CACHE = 500 /* bytes: four results */
};

static const char *const runs[N_RUNS] = {"first", "second/1"};

/* Shared with the victims. */
static struct notes {
    uint64_t acked[N_RUNS]; /* as on disk */
    uint64_t seen[N_RUNS];  /* as stored */
    uint64_t mark;
    unsigned long calls; /* watched ones, of one that lived */
    int gave_up;         /* the error that it could not get over */
    char wrong[600];     /* what a reader found wrong */
} * notes;

static char dir[4096], disk[4096 + 32], path[4096 + 64], state[4096 + 64],
    journaled[4096 + 80];
static bool strict; /* is the journal in LevelDB's directory alone? */

/* How much work: commits per run, and the size of each; of how many one is
 * synced (1: all are). */
static uint64_t target, synced_of;
static size_t entries;
static bool removes; /* a third run, which is removed when it is over */
static unsigned long slow_ms; /* a sync */

static void setup(void)
{
    test_begin();
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    target = 7;
    entries = 100;
    synced_of = 1;
    slow_ms = 0;
    strict = removes = false;
}

static void teardown(void)
{
    munmap(notes, sizeof *notes);
    test_nothing_left();
}

static void new_place(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(disk, sizeof disk, "%s/disk", dir);
    ck_assert_int_eq(mkdir(disk, 0700), 0);
    snprintf(path, sizeof path, "%s/store", disk);
    snprintf(journaled, sizeof journaled, "%s%s", strict ? path : disk,
             strict ? "/db" : "");
    snprintf(state, sizeof state, "%s/books", dir);
    memset(notes, 0, sizeof *notes);
}

/* ---- the victim -------------------------------------------------------- */

struct round {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    size_t n_open; /* commits not yet answered */
    int result;
    struct made_commit m[PER_ROUND];
};

static int which_run(const struct mortise_commit *c)
{
    return c->run == runs[0] ? 0 : 1;
}

static int refused; /* MORTISE_ENOSPC: a new run, for want of room */

static void acknowledge(const struct mortise_commit *c)
{
    if (c->result == MORTISE_ENOSPC)
        refused = c->result;
    if (c->result != MORTISE_OK)
        return;
    notes->seen[which_run(c)] = c->checkpoint.seq;
    for (int i = 0; i < N_RUNS && c->synced; i++)
        notes->acked[i] = notes->seen[i]; /* and all before it */
}

static void on_done(void *ud, struct mortise_commit *const *commits, size_t n,
                    int result, const struct mortise_err *err)
{
    struct round *r = ud;

    (void)err;
    for (size_t i = 0; i < n && result == MORTISE_OK; i++)
        acknowledge(commits[i]);
    pthread_mutex_lock(&r->lock);
    if (r->result == MORTISE_OK)
        r->result = result;
    r->n_open -= n;
    pthread_cond_signal(&r->answered);
    pthread_mutex_unlock(&r->lock);
}

static int keep_seq(void *ud, const char *tenant, const char *run,
                    const struct mortise_head *head)
{
    uint64_t *seq = ud;

    (void)tenant;
    (void)run;
    *seq = head->seq;
    return 0;
}

static int read_heads(struct mortise_store *s, uint64_t seq[N_RUNS])
{
    for (int i = 0; i < N_RUNS; i++) {
        int rv =
            mortise_store_head(s, "default", runs[i], keep_seq, &seq[i], NULL);

        if (rv == MORTISE_ENOTFOUND)
            seq[i] = 0;
        else if (rv != MORTISE_OK)
            return rv;
        if (seq[i] > notes->seen[i])
            notes->seen[i] = notes->acked[i] =
                seq[i]; /* what was seen at the opening must stay, too */
    }
    return MORTISE_OK;
}

/* Up to two commits of the first run and one of the second, as far as there
 * is work. */
static size_t make_round(struct round *r, const uint64_t seq[N_RUNS])
{
    size_t n = 0;

    for (uint64_t k = 1; k <= 2 && seq[0] + k <= target; k++)
        make_commit(&r->m[n++], "default", runs[0], seq[0] + k, entries);
    if (seq[1] < target)
        make_commit(&r->m[n++], "default", runs[1], seq[1] + 1, entries);
    for (size_t i = 0; i < n; i++) {
        r->m[i].c.cached = &r->m[i].cached;
        r->m[i].c.n_cached = 1;
        r->m[i].c.lazy = (seq[0] / 2) % synced_of != 0;
    }
    return n;
}

/* Commit a round, on this thread or through the store thread. */
static int commit_round(struct mortise_writer *w, struct round *r, size_t n,
                        bool inline_)
{
    struct mortise_commit *list[PER_ROUND];
    int rv;

    for (size_t i = 0; i < n; i++)
        list[i] = &r->m[i].c;
    if (inline_ && mortise_writer_write_inline(w, list, n, &rv, NULL)) {
        for (size_t i = 0; i < n && rv == MORTISE_OK; i++)
            acknowledge(list[i]);
        return rv;
    }
    r->n_open = n;
    r->result = MORTISE_OK;
    if (mortise_writer_submit(w, list, n, NULL) != MORTISE_OK)
        _exit(9);
    pthread_mutex_lock(&r->lock);
    while (r->n_open > 0)
        pthread_cond_wait(&r->answered, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return r->result;
}

/* ---- a run that goes --------------------------------------------------- */

/* More checkpoints than go in one batch; nobody is asked anything at the end. */
enum { GOES = 1201 };
static const uint8_t its_graph[MORTISE_DIGEST] = {0x60, 0xE5};

static int admit_all_of_it(struct mortise_store *s)
{
    static struct made_commit m[GOES];
    static struct mortise_commit *list[GOES];

    for (uint64_t i = 0; i < GOES; i++) {
        make_commit(&m[i], "default", "goes", i + 1, 10);
        memcpy(m[i].c.checkpoint.graph, its_graph, sizeof its_graph);
        memcpy(m[i].c.head.graph, its_graph, sizeof its_graph);
        list[i] = &m[i].c;
    }
    return mortise_store_write(s, list, GOES, NULL);
}

static int keep_graph(void *ud, const char *tenant, const char *run,
                      const struct mortise_head *head)
{
    (void)tenant;
    (void)run;
    mortise_store_keep_graphs(ud, &head->graph, 1);
    return 0;
}

/* Its head may be there, or its tombstone, or neither yet. */
static int remove_it(struct mortise_store *s)
{
    struct mortise_removal it = {
        .tenant = "default", .run = "goes", .seq = GOES};
    struct mortise_tombstone t;
    uint64_t seq;
    bool more = true;
    int rv = mortise_store_removed(s, "default", "goes", &t, NULL);

    if (rv == MORTISE_ENOTFOUND) {
        rv = mortise_store_head(s, "default", "goes", keep_seq, &seq, NULL);
        if (rv == MORTISE_ENOTFOUND)
            rv = admit_all_of_it(s);
        if (rv == MORTISE_OK)
            rv = mortise_store_remove(s, &it, 1, 5, NULL);
    }
    while (rv == MORTISE_OK && more)
        rv = mortise_store_remove_rest(s, &more, NULL);
    mortise_store_start_graph_sweep(s);
    if (rv == MORTISE_OK)
        rv = mortise_store_heads(s, NULL, NULL, keep_graph, s, NULL);
    for (more = true; rv == MORTISE_OK && more;)
        rv = mortise_store_sweep_graphs(s, &more, NULL);
    return rv;
}

static int work(struct mortise_store *s, struct mortise_writer *w,
                struct round *r)
{
    uint64_t seq[N_RUNS];
    int rv = read_heads(s, seq);

    for (unsigned k = 0; rv == MORTISE_OK; k++) {
        size_t n = make_round(r, seq);

        if (n == 0)
            break;
        refused = MORTISE_OK;
        rv = commit_round(w, r, n, k % 2 == 0);
        if (rv == MORTISE_OK)
            rv = refused;
        if (rv == MORTISE_OK)
            rv = read_heads(s, seq);
    }
    if (rv == MORTISE_OK && removes)
        rv = remove_it(s);
    if (rv == MORTISE_OK)
        rv = mortise_store_raise_mark(s, "plugin:x", target, NULL);
    if (rv == MORTISE_OK)
        notes->mark = target;
    return rv;
}

/* R6b: after an error nothing works until the store is reopened; then the
 * heads are reread and the work goes on. */
static int work_on(struct mortise_store *s, struct mortise_writer *w,
                   struct round *r)
{
    int rv = work(s, w, r);

    for (int tries = 0; rv != MORTISE_OK && tries < 3; tries++) {
        if (mortise_store_reopen(s, NULL) != MORTISE_OK)
            continue;
        mortise_writer_reset(w);
        rv = work(s, w, r);
    }
    return rv;
}

static int open_and_work(void)
{
    static struct round r = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .answered = PTHREAD_COND_INITIALIZER};
    struct mortise_store *s = NULL;
    struct mortise_writer *w;
    int rv = MORTISE_EIO;

    for (int tries = 0; tries < 3 && rv != MORTISE_OK; tries++)
        rv = mortise_store_open(&s, path, &mortise_heap, NULL);
    if (rv != MORTISE_OK)
        return rv;
    mortise_store_set_cache_limit(s, CACHE);
    if (mortise_writer_start(&w, s, &mortise_heap, on_done, &r, NULL) !=
        MORTISE_OK)
        _exit(9);
    rv = work_on(s, w, &r);
    mortise_writer_stop(w);
    mortise_store_close(s);
    return rv;
}

/* Only look at where the runs are. */
static int open_and_look(void)
{
    struct mortise_store *s;
    uint64_t seq[N_RUNS];
    int rv = mortise_store_open(&s, path, &mortise_heap, NULL);

    if (rv != MORTISE_OK)
        return rv;
    rv = read_heads(s, seq);
    mortise_store_close(s);
    return rv;
}

/* What disturbs a victim. */
struct trouble {
    bool look;             /* do not work */
    unsigned long kill_at; /* watched call; 0: none */
    const char *fail;      /* powercut_fail(); NULL: none */
    unsigned fault_point;  /* 0: none */
};

static _Noreturn void be_victim(const struct trouble *t)
{
    char n[16];

    if (t->fault_point != 0) {
        snprintf(n, sizeof n, "%u", t->fault_point);
        setenv("MORTISE_FAULT_CRASH", n, 1);
    }
    powercut_begin(state, disk, journaled, NULL);
    powercut_fail(t->fail);
    powercut_kill_at(t->kill_at);
    powercut_slow(slow_ms);
    notes->gave_up = t->look ? open_and_look() : open_and_work();
    notes->calls = powercut_calls();
    _exit(0);
}

/* Was it killed? */
static bool run_victim(const struct trouble *t)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        be_victim(t);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
        return true;
    }
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    return false;
}

/* ---- the reader -------------------------------------------------------- */

static void wrong(const char *what, const char *run, uint64_t seq)
{
    snprintf(notes->wrong, sizeof notes->wrong, "%s %s %llu", run, what,
             (unsigned long long)seq);
}

/* Is all of each commit there, and nothing of others? */
static void check_run(const struct reader_run *r, const char *run)
{
    static char expected[MADE_ENTRIES];

    for (size_t i = 0; i < r->n_checkpoints; i++) {
        const struct reader_checkpoint *c = &r->checkpoints[i];
        struct mortise_uuid id = made_id(run, c->seq);

        made_entries(expected, run, c->seq, entries);
        if (c->size != entries || memcmp(c->entries, expected, entries) != 0 ||
            memcmp(c->id, id.b, sizeof id.b) != 0)
            wrong("has a strange checkpoint", run, c->seq);
    }
    if (r->n_requests != made_is_pending(r->seq))
        wrong("has requests of another commit than", run, r->seq);
    else if (r->n_requests == 1 && r->requests[0].deadline_ms != 1000 * r->seq)
        wrong("has an old request at", run, r->seq);
}

/* What its last commit put is kept, and nothing of others. */
static void check_kvs(const struct reader_store *s, const char *run,
                      uint64_t seq)
{
    const struct reader_kv *last, *odd;
    struct made_commit m;

    make_commit(&m, "default", run, seq > 0 ? seq : 1, 0);
    last =
        store_reader_kv(s, "default", "made", m.kvs[0].key, m.kvs[0].key_size);
    odd =
        store_reader_kv(s, "default", "made", m.kvs[1].key, m.kvs[1].key_size);
    if ((last != NULL) != (seq > 0) || (odd != NULL) != (seq % 2 == 1) ||
        (last != NULL && strcmp(last->value, m.value) != 0) ||
        (odd != NULL && strcmp(odd->value, m.value) != 0))
        wrong("keeps values of another commit than", run, seq);
}

/* The results of the last commits are there, as many as there is room for. */
static void check_cached(const struct reader_store *s, const char *run,
                         uint64_t seq)
{
    const struct reader_cached *c;
    uint8_t key[MORTISE_DIGEST];
    char value[24];

    made_key(key, run, seq);
    c = store_reader_cached(s, "default", key);
    snprintf(value, sizeof value, "%llu", (unsigned long long)seq);
    if (seq > 0 && c != NULL && strcmp(c->value, value) != 0)
        wrong("has another result than", run, seq);
    made_key(key, run, seq + 1);
    if (store_reader_cached(s, "default", key) != NULL)
        wrong("has a result too much behind", run, seq);
    if (seq > 0 && s->n_cached == 0)
        wrong("has no result at", run, seq);
    if (s->n_cached > 0 && s->cached[s->n_cached - 1].number +
                                   s->cached[s->n_cached - 1].size -
                                   s->cached[0].number >
                               CACHE)
        wrong("has too many results at", run, seq);
}

/* All of it is there or its tombstone; and behind a sync, nothing else. */
static void check_removed(const struct reader_store *s)
{
    const struct reader_run *r = store_reader_run(s, "default", "goes");
    const struct reader_tombstone *t =
        store_reader_tombstone(s, "default", "goes");
    bool has_graph = false;

    for (size_t i = 0; i < s->n_graphs; i++)
        has_graph |= memcmp(s->graphs[i].digest, its_graph, 32) == 0;
    if (r != NULL && r->seq != GOES)
        wrong("is there in part", "goes", r->seq);
    if (t != NULL && (t->removed_ms != 5 || t->ended_ms == 0))
        wrong("has a strange tombstone", "goes", t->removed_ms);
    if (notes->mark != 0 && (t == NULL || s->n_leaving != 0 || has_graph))
        wrong("is not all gone", "goes", 0);
}

static void check_store(const struct reader_store *s)
{
    if (removes)
        check_removed(s);
    for (int i = 0; i < N_RUNS; i++) {
        const struct reader_run *r = store_reader_run(s, "default", runs[i]);
        uint64_t seq = r != NULL ? r->seq : 0;

        if (seq < notes->acked[i])
            wrong("lost what was acknowledged, it is at", runs[i], seq);
        check_kvs(s, runs[i], seq);
        check_cached(s, runs[i], seq);
        if (r != NULL)
            check_run(r, runs[i]);
    }
    if (notes->mark != 0 && (s->n_marks != 1 || s->marks[0].value != target))
        wrong("the mark is lost", "", 0);
}

/* Before the stamp is there, there may be no database either. */
static bool is_made(void)
{
    char stamp[4096 + 80];

    snprintf(stamp, sizeof stamp, "%s/format", path);
    return access(stamp, F_OK) == 0;
}

static _Noreturn void be_reader(void)
{
    struct reader_store s;

    if (!is_made()) {
        if (notes->acked[0] != 0 || notes->acked[1] != 0)
            wrong("lost all", "store", 0);
        _exit(0);
    }
    powercut_begin(state, disk, journaled, NULL); /* no real syncs */
    if (store_reader_read(&s, path) != 0)
        snprintf(notes->wrong, sizeof notes->wrong, "%s", s.why);
    else
        check_store(&s);
    powercut_end();
    powercut_settle(state);
    _exit(0);
}

static void all_is_well(const char *where, unsigned long n)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        be_reader();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_msg(notes->wrong[0] == '\0', "%s %lu: %s", where, n,
                  notes->wrong);
}

/* Nobody disturbs: the work is finished and all of it is there. */
static void finish_the_work(const char *where, unsigned long n)
{
    struct trouble none = {0};

    ck_assert(!run_victim(&none));
    ck_assert_msg(notes->gave_up == MORTISE_OK, "%s %lu: gave up with %d",
                  where, n, notes->gave_up);
    ck_assert_uint_eq(notes->mark, target);
    notes->acked[0] = notes->acked[1] = target; /* by it or by one before */
    ck_assert_int_eq(powercut_apply(state, 0), 0);
    all_is_well(where, n);
}

/* How many watched calls the undisturbed work takes. */
static unsigned long calls_of_work(void)
{
    new_place();
    finish_the_work("undisturbed", 0);
    test_rmdir(dir);
    return notes->calls;
}

/* ---- tests ------------------------------------------------------------- */

/* Killed at its n-th call, with the power cut, then killed again at some call
 * while it recovers, and cut again: old or new, whole; then it finishes. */
static void die_twice(unsigned long n, int keep)
{
    struct trouble first = {.kill_at = n};
    struct trouble second = {.kill_at = 1 + n * 13 % 61};

    new_place();
    run_victim(&first);
    ck_assert_int_eq(powercut_apply(state, keep), 0);
    all_is_well("killed at call", n);
    run_victim(&second);
    ck_assert_int_eq(powercut_apply(state, keep), 0);
    all_is_well("killed again after call", n);
    finish_the_work("killed at call", n);
    test_rmdir(dir);
}

/* Dying at each call of a series of commits, each followed by a cut that
 * leaves nothing, half or all of what was not synced; and one that leaves
 * nothing where only LevelDB's directory is journaled. */
START_TEST(dies_at_every_call)
{
    static const int keep[] = {0, 50, 100, 0};
    unsigned long total;

    strict = _i == 3;
    total = calls_of_work();

    ck_assert_uint_gt(total, 40);
    for (unsigned long n = 1; n <= total; n++)
        if (matrix_takes(n + (unsigned)_i, 5))
            die_twice(n, keep[_i]);
}
END_TEST

/* The same where a run is removed: it is there whole, or its tombstone is; what
 * one process leaves of it the next takes away; and its id stays taken. */
START_TEST(dies_while_a_run_goes)
{
    static const int keep[] = {0, 50, 100, 0};
    unsigned long total;

    target = 2;
    removes = true;
    strict = _i == 3;
    total = calls_of_work();
    for (unsigned long n = 1; n <= total; n++)
        if (matrix_takes(n + (unsigned)_i, 9))
            die_twice(n, keep[_i]);
}
END_TEST

/* What somebody saw who opened the store after a kill, the page cache still
 * being there, stays when the power goes, though he wrote nothing. */
START_TEST(what_was_seen_stays)
{
    struct trouble look = {.look = true};
    unsigned long total = calls_of_work();

    for (unsigned long n = 1; n <= total; n++) {
        struct trouble killed = {.kill_at = n};

        if (!matrix_takes(n, 3))
            continue;
        new_place();
        run_victim(&killed);
        ck_assert(!run_victim(&look));
        ck_assert_int_eq(notes->gave_up, MORTISE_OK);
        ck_assert_int_eq(powercut_apply(state, 0), 0);
        all_is_well("seen after a kill at call", n);
        test_rmdir(dir);
    }
}
END_TEST

/* The files of the database that a pattern of the shell means. */
static void glob_db(const char *pattern, glob_t *found)
{
    char full[sizeof path + 64];

    snprintf(full, sizeof full, "%s/db/%s", path, pattern);
    if (glob(full, 0, NULL, found) != 0)
        *found = (glob_t){0};
}

/* Flip a bit in the first header of the store's log: LevelDB takes all of it
 * for never written.  Twice is never. */
static void flip_the_log(void)
{
    glob_t log;
    size_t n;
    char *bytes;

    glob_db("0*.log", &log);
    ck_assert_uint_eq(log.gl_pathc, 1); /* the one that there was */
    bytes = test_read(log.gl_pathv[0], &n);
    ck_assert_uint_gt(n, 100);
    bytes[5] ^= 0x40;
    test_write(log.gl_pathv[0], bytes, n);
    free(bytes);
    globfree(&log);
}

/* A cut while LevelDB goes on in the MANIFEST that an opening made, which has no
 * second name: of the record under way the file has the size, its beginning,
 * and zeros.  False: it had made none. */
static bool tear_the_manifest(void)
{
    static const char half[100] = {1, 2, 3, 4, 90, 0, 1, 5, 5, 5};
    glob_t aside, all;
    struct stat newest = {0};

    glob_db("aside.CURRENT", &aside);
    glob_db("MANIFEST-*", &all);
    if (aside.gl_pathc == 1 && all.gl_pathc > 0)
        ck_assert_int_eq(stat(all.gl_pathv[all.gl_pathc - 1], &newest), 0);
    if (newest.st_nlink == 1) {
        FILE *f = fopen(all.gl_pathv[all.gl_pathc - 1], "a");

        ck_assert_ptr_nonnull(f);
        ck_assert_uint_eq(fwrite(half, 1, sizeof half, f), sizeof half);
        ck_assert_int_eq(fclose(f), 0);
    }
    globfree(&aside);
    globfree(&all);
    return newest.st_nlink == 1;
}

/* Work, and an opening that is killed at its n-th call, of a store that was
 * damaged in between or not; then comes the cut.  Was it killed, or is there no
 * such call? */
static bool kill_an_opening(unsigned long n, void (*damage)(void), int keep)
{
    struct trouble work = {0}, opening = {.look = true, .kill_at = n};
    bool killed;

    new_place();
    ck_assert(!run_victim(&work));
    ck_assert_int_eq(powercut_settle(state), 0);
    if (damage != NULL)
        damage();
    killed = run_victim(&opening);
    ck_assert_int_eq(powercut_apply(state, keep), 0);
    return killed;
}

/* The opening that comes next says this, at once. */
static void open_next(int want, unsigned long n)
{
    struct trouble look = {.look = true};

    ck_assert(!run_victim(&look));
    ck_assert_msg(notes->gave_up == want, "killed at call %lu: %d", n,
                  notes->gave_up);
    ck_assert_int_eq(powercut_settle(state), 0);
}

/* Dying at each call of an opening, with a cut that leaves all of what was not
 * synced, half or nothing, and its MANIFEST torn or not: the next opening finds
 * what that one had put aside, and what LevelDB had made of it by then.  It is
 * not refused, not even once, and all that was acknowledged is there. */
START_TEST(dies_while_it_opens)
{
    static const int keep[] = {100, 100, 0, 50};
    bool killed = true;
    int torn = 0;

    for (unsigned long n = 1; killed; n++) {
        if (!matrix_takes(n + (unsigned)_i, 3))
            continue;
        killed = kill_an_opening(n, NULL, keep[_i]);
        if (_i % 2 == 1)
            torn += tear_the_manifest();
        open_next(MORTISE_OK, n);
        all_is_well("killed while it opened, at call", n);
        test_rmdir(dir);
    }
    ck_assert_int_eq(torn > 0, _i % 2 == 1);
}
END_TEST

/* Dying at each call of an opening that refuses a store, with the power cut or
 * not: the next opening refuses it, too, and nothing of it is lost to whoever
 * knows how to mend it. */
START_TEST(dies_while_it_refuses)
{
    bool killed = true;

    for (unsigned long n = 1; killed; n++) {
        if (!matrix_takes(n + (unsigned)_i, 3))
            continue;
        killed = kill_an_opening(n, flip_the_log, _i == 0 ? 100 : 0);
        open_next(MORTISE_ECORRUPT, n);
        flip_the_log();
        all_is_well("killed while it refused, at call", n);
        test_rmdir(dir);
    }
}
END_TEST

/* Dying where LevelDB's log is full and its tables are written and merged in
 * the background, at every seventh call. */
START_TEST(dies_among_compactions)
{
    unsigned long total;

    target = 120;
    entries = MADE_ENTRIES;
    total = calls_of_work();
    ck_assert_uint_gt(total, 200);
    for (unsigned long n = 1 + (unsigned long)_i; n <= total; n += 7)
        if (matrix_takes(n / 7, 4))
            die_twice(n, _i % 2 == 0 ? 0 : 50);
}
END_TEST

/* The same where only every seventh batch has to be synced, and a sync takes
 * its time: LevelDB goes on to another log while the old one's contents are on
 * their way to a table.  What is left is what was stored up to some batch, and
 * all that was answered as synced. */
START_TEST(dies_among_lazy_batches)
{
    unsigned long total;

    target = 90;
    entries = MADE_ENTRIES;
    synced_of = 7;
    slow_ms = 2;
    total = calls_of_work();
    for (unsigned long n = 1 + (unsigned long)_i; n <= total; n += 7) {
        struct trouble t = {.kill_at = n};

        if (!matrix_takes(n / 7, 3))
            continue;
        new_place();
        run_victim(&t);
        ck_assert_int_eq(powercut_apply(state, _i % 2 == 0 ? 0 : 50), 0);
        all_is_well("killed at call", n);
        test_rmdir(dir);
    }
}
END_TEST

/* Its disk fails at the n-th call of a kind, once or from then on: it goes on
 * after reopening or gives up with an error that says what is wrong; nothing
 * acknowledged is lost, with a cut or without.  (A link that gives EPERM is one
 * where the file system has none.) */
static bool disk_fails(const char *kind, unsigned long n, const char *error,
                       const char *mode, bool cut)
{
    char spec[64];
    struct trouble t = {.fail = spec};

    snprintf(spec, sizeof spec, "%s:%lu:%s:%s", kind, n, error, mode);
    new_place();
    ck_assert_msg(!run_victim(&t), "%s", spec);
    if (strcmp(mode, "once") == 0)
        ck_assert_msg(notes->gave_up == MORTISE_OK, "%s: gave up with %d", spec,
                      notes->gave_up);
    else if (notes->gave_up != MORTISE_OK)
        ck_assert_msg(
            notes->gave_up ==
                (strcmp(error, "EIO") == 0 ? MORTISE_EIO : MORTISE_ENOSPC),
            "%s: gave up with %d", spec, notes->gave_up);
    if (cut)
        ck_assert_int_eq(powercut_apply(state, 0), 0);
    else
        ck_assert_int_eq(powercut_settle(state), 0);
    all_is_well(spec, n);
    finish_the_work(spec, n);
    test_rmdir(dir);
    return n > notes->calls; /* beyond what there is to do */
}

static const struct {
    const char *kind, *error;
} failures[] = {{"sync", "EIO"},      {"write", "short"}, {"write", "ENOSPC"},
                {"write", "EIO"},     {"open", "ENOSPC"}, {"rename", "EIO"},
                {"rename", "ENOSPC"}, {"sync", "ENOSPC"}, {"mkdir", "ENOSPC"},
                {"unlink", "EIO"},    {"any", "EIO"},     {"link", "ENOSPC"},
                {"link", "EPERM"}};
enum { N_FAILURES = sizeof failures / sizeof failures[0] };

START_TEST(the_disk_fails_at_every_call)
{
    static const char *const modes[] = {"once", "always"};
    const char *kind = failures[_i].kind;
    unsigned long total = calls_of_work();
    /* There are not more of a kind than this. */
    unsigned long most = strcmp(kind, "any") == 0      ? total
                         : strcmp(kind, "rename") == 0 ? 6
                         : strcmp(kind, "mkdir") == 0  ? 3
                         : strcmp(kind, "unlink") == 0 ? 20
                         : strcmp(kind, "link") == 0   ? 12
                                                       : total / 2;

    for (unsigned long n = 1; n <= most; n++)
        for (int m = 0; m < 2 && matrix_takes(n + (unsigned)_i, 5); m++)
            disk_fails(kind, n, failures[_i].error, modes[m], n % 2 == 0);
}
END_TEST

/* The same while a run is removed. */
START_TEST(the_disk_fails_while_a_run_goes)
{
    unsigned long total;

    target = 2;
    removes = true;
    total = calls_of_work();
    for (unsigned long n = 1; n <= total; n++)
        if (matrix_takes(n + (unsigned)_i, 7))
            disk_fails("any", n, _i == 0 ? "EIO" : "ENOSPC", "once",
                       n % 2 == 0);
}
END_TEST

/* Dying at each fault point: this program is linked with them. */
START_TEST(dies_at_every_fault_point)
{
    struct trouble t = {0};
    bool died = true;

    while (died) {
        t.fault_point++;
        new_place();
        died = run_victim(&t);
        ck_assert_int_eq(powercut_apply(state, 0), 0);
        all_is_well("fault point", t.fault_point);
        finish_the_work("fault point", t.fault_point);
        test_rmdir(dir);
    }
    ck_assert_uint_gt(t.fault_point, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store crash");
    TCase *tc = tcase_create("crash");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, dies_at_every_call, 0, 4);
    tcase_add_loop_test(tc, dies_while_a_run_goes, 0, 4);
    tcase_add_loop_test(tc, the_disk_fails_while_a_run_goes, 0, 2);
    tcase_add_test(tc, what_was_seen_stays);
    tcase_add_loop_test(tc, dies_while_it_opens, 0, 4);
    tcase_add_loop_test(tc, dies_while_it_refuses, 0, 2);
    tcase_add_loop_test(tc, dies_among_compactions, 0, 2);
    tcase_add_loop_test(tc, dies_among_lazy_batches, 0, 2);
    tcase_add_loop_test(tc, the_disk_fails_at_every_call, 0, N_FAILURES);
    tcase_add_test(tc, dies_at_every_fault_point);
    suite_add_tcase(s, tc);
    return s;
}

/* Thousands of small files: in memory if there is a place for them. */
int main(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    return test_run(suite());
}
