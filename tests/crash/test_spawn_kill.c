/* test_spawn_kill.c -- thousands of spawns, killed at any moment: no child is
 * lost, none is made twice, and the counters are exact; and processes that want
 * the last place of a cap.
 *
 * A worker, forked, opens the engine and leads spawns from claim to end through
 * mortise.h, noting in memory that it shares with us what it was told.  The
 * children are entries of a list there: the world outside, which a crash leaves
 * as it is.  The worker is killed at a random moment behind a random number of
 * operations; what it left is read by somebody who shares no code with the store
 * (store_reader.c, which counts the records of each tree), and the next one goes
 * on.  A worker that nobody kills in time waits for that, so how fast a machine
 * is decides nothing.
 *
 * MORTISE_SPAWNS says how many (`make spawns`: 10,000, which takes minutes).  The
 * seed is fixed, the moments are not. */
#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/store_reader.h"
#include "lib/test.h"
#include "core/mortise.h"

enum {
    MOST = 20000,
    WINDOW = 8,
    CAP = WINDOW + 1,
    BETWEEN = 60, /* operations, from one death to the next, at most */
    TOKEN = MORTISE_SPAWN_TEXT_MAX
};

/* Shared with the workers. */
static struct notes {
    int told[MOST]; /* the state that the worker was told last; 0: none */
    int made[MOST]; /* children that are there */
    char zombie[MOST][TOKEN]; /* a token that holds no more; "" */
    char token[MOST][TOKEN];
    char handle[MOST][MORTISE_SPAWN_HANDLE_MAX];
    int done;    /* operations of this worker */
    int refused; /* claims beyond the cap */
    int stale;   /* zombies that were told so */
    char wrong[600];
} * notes;

static char dir[PATH_MAX - 64], store[PATH_MAX], graph[PATH_MAX];
static int n_spawns;
static uint64_t chance_state;

static uint32_t chance(uint32_t below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance_state >> 33) % below;
}

static void setup(void)
{
    const char *many = getenv("MORTISE_SPAWNS");

    test_begin();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(store, sizeof store, "%s/store", dir);
    snprintf(graph, sizeof graph, "%s/g.yaml", dir);
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(notes, MAP_FAILED);
    n_spawns = many != NULL ? atoi(many) : 300;
    ck_assert(n_spawns > 0 && n_spawns <= MOST);
    chance_state = 1;
}

static void teardown(void)
{
    munmap(notes, sizeof *notes);
    test_rmdir(dir);
    test_nothing_left();
}

/* ---- the worker ----------------------------------------------------------- */

static struct mortise *m;
static struct mortise_err err;

__attribute__((format(printf, 1, 2))) static _Noreturn void
wrong(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(notes->wrong, sizeof notes->wrong, fmt, ap);
    va_end(ap);
    _exit(1);
}

static void must(int rv, const char *what, int i)
{
    if (rv != MORTISE_OK)
        wrong("spawn %d, %s: %s", i, what, err.msg);
}

/* One more operation is over; behind so many it waits to be killed. */
static void count(void)
{
    if (__atomic_add_fetch(&notes->done, 1, __ATOMIC_SEQ_CST) == BETWEEN)
        for (;;)
            pause();
}

static void open_engine(void)
{
    struct mortise_options o = {.size = sizeof o, .store = store};

    must(mortise_open(&m, &o, &err), "open", -1);
}

/* Half of them are the origin's, half its child run's. */
static const char *parent_of(int i)
{
    return i % 2 == 0 ? "p" : "q";
}

static int claim(int i, struct mortise_spawn_claimed *got)
{
    char call[32];
    struct mortise_spawn_claim c = {.size = sizeof c,
                                    .flags =
                                        i % 5 == 0 ? MORTISE_SPAWN_DETACHED : 0,
                                    .run = parent_of(i),
                                    .call = call,
                                    .name = "helper"};

    snprintf(call, sizeof call, "c%d", i);
    *got = (struct mortise_spawn_claimed){.size = sizeof *got};
    return mortise_try_claim_spawn(m, &c, got, &err);
}

static void told(int i, int state)
{
    __atomic_store_n(&notes->told[i], state, __ATOMIC_SEQ_CST);
    count();
}

/* Whoever held it before is a zombie now. */
static void keep_token(int i, const struct mortise_spawn_claimed *got)
{
    if (got->token[0] == '\0')
        return;
    strcpy(notes->zombie[i], notes->token[i]);
    strcpy(notes->token[i], got->token);
    strcpy(notes->handle[i], got->handle);
}

static void try_zombie(int i)
{
    if (notes->zombie[i][0] == '\0')
        return;
    if (mortise_settle_spawn(m, NULL, notes->handle[i], notes->zombie[i],
                             MORTISE_SPAWN_FAILED, "\"zombie\"",
                             &err) != MORTISE_ESTALE_TOKEN)
        wrong("spawn %d: a zombie was told %s", i, err.msg);
    notes->stale++;
}

/* The world has it, or gets it: how a child is found by who claims again. */
static void make_child(int i)
{
    if (notes->made[i] == 0)
        notes->made[i]++;
}

static void lead_on(int i, const struct mortise_spawn_claimed *got)
{
    char child[32], result[32];

    snprintf(child, sizeof child, "s%d", i);
    snprintf(result, sizeof result, "{\"n\":%d}", i);
    if (got->outcome == MORTISE_SPAWN_ALREADY_SETTLED) {
        if (got->terminal_result == NULL ||
            strcmp(got->terminal_result, result) != 0)
            wrong("spawn %d ended with %s", i, got->terminal_result);
        return;
    }
    if (got->outcome != MORTISE_SPAWN_ALREADY_RUNNING) {
        make_child(i);
        must(mortise_register_child_session(m, NULL, got->handle, got->token,
                                            child, &err),
             "register", i);
        told(i, MORTISE_SPAWN_CREATED);
    } else if (strcmp(got->child, child) != 0) {
        wrong("spawn %d has child %s", i, got->child);
    }
    if (chance(3) == 0)
        return; /* another time */
    must(mortise_advance_spawn(m, NULL, got->handle, got->token,
                               MORTISE_SPAWN_RUNNING, &err),
         "advance", i);
    told(i, MORTISE_SPAWN_RUNNING);
    if (chance(3) == 0)
        return;
    must(mortise_settle_spawn(m, NULL, got->handle, got->token,
                              MORTISE_SPAWN_COMPLETED, result, &err),
         "settle", i);
    told(i, MORTISE_SPAWN_SETTLED);
}

/* Nothing that anybody was told before is gone. */
static void claim_noted(int i, struct mortise_spawn_claimed *got)
{
    must(claim(i, got), "claim", i);
    if (got->outcome == MORTISE_SPAWN_CLAIMED && notes->told[i] != 0)
        wrong("spawn %d is lost", i);
    if ((int)got->state < notes->told[i])
        wrong("spawn %d was told %d, and is at %u", i, notes->told[i],
              got->state);
    told(i, (int)got->state);
    keep_token(i, got);
}

static void work_on(int i)
{
    struct mortise_spawn_claimed got;

    claim_noted(i, &got);
    try_zombie(i);
    lead_on(i, &got);
    mortise_free(m, got.terminal_result);
}

/* All of a block are open, and one more is one too many. */
static void fill(int first)
{
    struct mortise_spawn_claimed got;

    if (first + WINDOW >= n_spawns)
        return;
    for (int i = first; i < first + WINDOW; i++)
        if (notes->told[i] == MORTISE_SPAWN_SETTLED)
            return;
    for (int i = first; i < first + WINDOW; i++)
        claim_noted(i, &got);
    for (int i = first; i < first + WINDOW; i++)
        if (notes->told[i] == MORTISE_SPAWN_SETTLED)
            return; /* who settled it was killed before he was told */
    if (claim(first + WINDOW, &got) != MORTISE_ELIMIT)
        wrong("one beyond the cap was admitted");
    notes->refused++;
}

static int first_open(void)
{
    int i = 0;

    while (i < n_spawns && notes->told[i] == MORTISE_SPAWN_SETTLED)
        i++;
    return i;
}

static _Noreturn void work(void)
{
    int first;

    open_engine();
    while ((first = first_open()) < n_spawns) {
        int block = first - first % WINDOW;
        int i = block + (int)chance(WINDOW);

        if (chance(4) == 0)
            fill(block);
        if (i < n_spawns && notes->told[i] != MORTISE_SPAWN_SETTLED)
            work_on(i);
    }
    mortise_close(m);
    _exit(0);
}

/* The runs whose spawns they are, before anything is killed. */
static _Noreturn void begin(void)
{
    static const char text[] =
        "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
        "limits: {spawn: {active: %d, total: 100000, detached_active: 100, "
        "detached_total: 100000}}\nstart: a\nnodes:\n"
        "  a: {type: human, prompt: well, next: END}\n";
    struct mortise_spawn_claim c = {
        .size = sizeof c, .run = "p", .call = "q", .name = "child run"};
    struct mortise_spawn_claimed got = {.size = sizeof got};
    struct mortise_graph *g;
    char yaml[1024], run[MORTISE_RUN_MAX];
    int n = snprintf(yaml, sizeof yaml, text, CAP);

    test_write(graph, yaml, (size_t)n);
    open_engine();
    must(mortise_load(m, graph, &g, NULL, &err), "load", -1);
    for (int i = 0; i < 2; i++) {
        struct mortise_start_options o = {.size = sizeof o,
                                          .run = parent_of(i)};

        must(mortise_start(m, g, &o, run, &err), "start", -1);
    }
    must(mortise_try_claim_spawn(m, &c, &got, &err), "claim q", -1);
    must(mortise_register_child_session(m, NULL, got.handle, got.token, "q",
                                        &err),
         "register q", -1);
    mortise_graph_close(g);
    mortise_close(m);
    _exit(0);
}

/* ---- what is left ----------------------------------------------------------- */

static void check_one(const struct reader_spawn *w, int *seen)
{
    char child[32], result[32];
    int i = atoi(w->call + 1);

    if (strcmp(w->call, "q") == 0)
        return;
    if (i < 0 || i >= n_spawns || strcmp(w->parent, parent_of(i)) != 0 ||
        strcmp(w->origin, "p") != 0 || seen[i]++ != 0)
        wrong("there is a record of %s in %s, origin %s", w->call, w->parent,
              w->origin);
    snprintf(child, sizeof child, "s%d", i);
    snprintf(result, sizeof result, "{\"n\":%d}", i);
    if ((int)w->state < notes->told[i])
        wrong("spawn %d: told %d, and the store has %u", i, notes->told[i],
              w->state);
    if (w->state >= 2 && strcmp(w->child, child) != 0)
        wrong("spawn %d has child %s", i, w->child);
    if (w->state >= 2 && notes->made[i] != 1)
        wrong("spawn %d: %d children were made", i, notes->made[i]);
    if (w->state == 5 && strcmp(w->result, result) != 0)
        wrong("spawn %d ended with %s", i, w->result);
}

static _Noreturn void look(void)
{
    static int seen[MOST];
    struct reader_store r;

    if (store_reader_read(&r, store) != 0)
        wrong("%s", r.why); /* its counters among the rest */
    for (size_t i = 0; i < r.n_spawns; i++)
        check_one(&r.spawns[i], seen);
    for (int i = 0; i < n_spawns; i++)
        if (notes->told[i] != 0 && seen[i] == 0)
            wrong("spawn %d was told %d, and is lost", i, notes->told[i]);
    if (store_reader_tree(&r, "default", "p")->active > CAP)
        wrong("more than the cap are open");
    store_reader_free(&r);
    _exit(0);
}

/* ---- the killer -------------------------------------------------------------- */

static pid_t begin_child(void (*what)(void))
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        what();
    return pid;
}

/* 0, or it says what is wrong; -1: it was killed. */
static int end_of(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(notes->wrong[0] == '\0', "%s", notes->wrong);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return -1;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x",
                  (unsigned)status);
    return 0;
}

/* Until it has done so much, or ended. */
static void wait_done(pid_t pid, int n)
{
    siginfo_t how = {.si_pid = 0};

    while (__atomic_load_n(&notes->done, __ATOMIC_SEQ_CST) < n &&
           how.si_pid == 0) {
        usleep(100);
        ck_assert_int_eq(
            waitid(P_PID, (id_t)pid, &how, WEXITED | WNOHANG | WNOWAIT), 0);
    }
}

/* Killed again and again, they all come to their end: each claimed once, its
 * child made once, told nothing that a crash took back. */
START_TEST(spawns_under_kills)
{
    int kills = 0, over = -1;

    ck_assert_int_eq(end_of(begin_child(begin)), 0);
    while (over != 0) {
        pid_t pid;

        int n = (int)chance(BETWEEN);

        notes->done = 0;
        chance_state += 0x9e3779b97f4a7c15u;
        pid = begin_child(work);
        wait_done(pid, n); /* 0: while it opens, maybe */
        usleep(chance(2000));
        kill(pid, SIGKILL);
        over = end_of(pid);
        kills += over != 0;
        ck_assert_int_eq(end_of(begin_child(look)), 0);
    }
    ck_assert_int_eq(first_open(), n_spawns);
    for (int i = 0; i < n_spawns; i++)
        ck_assert_int_eq(notes->made[i], 1);
    ck_assert_int_ge(kills, 3 * n_spawns / BETWEEN);
    ck_assert_int_gt(notes->refused, 0);
    ck_assert_int_gt(notes->stale, 0);
}
END_TEST

/* ---- processes at a cap -------------------------------------------------------- */

enum { CLAIMERS = 4 };

static int claim_call(const char *call)
{
    struct mortise_spawn_claim c = {
        .size = sizeof c, .run = "p", .call = call, .name = "helper"};
    struct mortise_spawn_claimed got = {.size = sizeof got};

    return mortise_try_claim_spawn(m, &c, &got, &err);
}

/* All but one of those that may be open are. */
static _Noreturn void fill_but_one(void)
{
    char call[16];

    open_engine();
    for (int i = 0; i < CAP - 2; i++) { /* and q */
        snprintf(call, sizeof call, "f%d", i);
        must(claim_call(call), "fill", i);
    }
    mortise_close(m);
    _exit(0);
}

/* Waits for the store, and claims one more; notes->refused counts those for whom
 * there was no room. */
static _Noreturn void claim_one_more(void)
{
    struct mortise_options o = {.size = sizeof o, .store = store};
    char call[32];
    int rv;

    snprintf(call, sizeof call, "by %d", (int)getpid());
    while ((rv = mortise_open(&m, &o, &err)) == MORTISE_EBUSY)
        usleep(1000); /* nothing is claimed without the store */
    must(rv, "open", -1);
    rv = claim_call(call);
    if (rv == MORTISE_ELIMIT)
        __atomic_add_fetch(&notes->refused, 1, __ATOMIC_SEQ_CST);
    else
        must(rv, "claim", -1);
    mortise_close(m);
    _exit(0);
}

static _Noreturn void look_at_the_cap(void)
{
    struct reader_store r;
    const struct reader_tree *t;

    if (store_reader_read(&r, store) != 0)
        wrong("%s", r.why);
    t = store_reader_tree(&r, "default", "p");
    if (t->active != CAP || t->total != CAP || r.n_spawns != CAP)
        wrong("%llu of %llu are open, and %zu there",
              (unsigned long long)t->active, (unsigned long long)t->total,
              r.n_spawns);
    store_reader_free(&r);
    _exit(0);
}

/* Processes with room for one: one of them is admitted, whichever it is. */
START_TEST(processes_at_one_less_than_a_cap)
{
    pid_t pids[CLAIMERS];

    ck_assert_int_eq(end_of(begin_child(begin)), 0);
    ck_assert_int_eq(end_of(begin_child(fill_but_one)), 0);
    for (int i = 0; i < CLAIMERS; i++)
        pids[i] = begin_child(claim_one_more);
    for (int i = 0; i < CLAIMERS; i++)
        ck_assert_int_eq(end_of(pids[i]), 0);
    ck_assert_int_eq(notes->refused, CLAIMERS - 1);
    ck_assert_int_eq(end_of(begin_child(look_at_the_cap)), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("spawn_kill");
    TCase *tc = tcase_create("kills");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 3600);
    tcase_add_test(tc, spawns_under_kills);
    tcase_add_test(tc, processes_at_one_less_than_a_cap);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
