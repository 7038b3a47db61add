/* test_api_memory.c -- a program that embeds Mortise, with hardly any memory
 * left: RLIMIT_AS leaves a little more from one try to the next.  Each try is a
 * child of its own.  What was acknowledged is in the store.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "core/mortise.h"

enum {
    KIB = 1024,
    RUNS = 8,
    INPUT = 96 * KIB,
    RUN_ID = 16,
    ENOUGH = 256 * KIB, /* of these */
    SHORT = 100 /* the child's exit code: that, and the runs that it started */
};

static char dir[512];
static char graph_path[1024];
static char input[INPUT + 64];

static void setup(void)
{
    static const char graph[] = "apiVersion: mortise/v1\n"
                                "kind: Graph\n"
                                "metadata: {name: test, version: 1.0.0}\n"
                                "start: h\n"
                                "nodes:\n"
                                "  h: {type: human, prompt: Well?}\n";

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(graph_path, sizeof graph_path, "%s/test.graph.yaml", dir);
    test_write(graph_path, graph, sizeof graph - 1);
    snprintf(input, sizeof input, "{\"text\": \"%0*d\"}", INPUT, 0);
}

static void teardown(void)
{
    test_rmdir(dir);
}

static const char *store_of(size_t kib)
{
    static char path[1024];

    snprintf(path, sizeof path, "%s/store-%zu", dir, kib);
    return path;
}

/* ---- in the child --------------------------------------------------------- */

static void leave(size_t kib)
{
    FILE *f = fopen("/proc/self/statm", "re");
    struct rlimit as;
    size_t pages = 0;

    if (f == NULL || fscanf(f, "%zu", &pages) != 1)
        _exit(1);
    fclose(f);
    as.rlim_cur = as.rlim_max =
        pages * (size_t)sysconf(_SC_PAGESIZE) + kib * KIB;
    if (setrlimit(RLIMIT_AS, &as) != 0)
        _exit(1);
}

static int open_engine(struct mortise **m, const char *store)
{
    struct mortise_options o = {.size = sizeof o, .store = store};
    struct mortise_err err;

    return mortise_open(m, &o, &err);
}

/* How many runs were started before memory ran out. */
static int start_runs(struct mortise *m, struct mortise_graph *g)
{
    int n = 0, rv = MORTISE_OK;

    while (n < RUNS && rv == MORTISE_OK) {
        char id[RUN_ID], made[MORTISE_RUN_MAX], *text = NULL;
        struct mortise_start_options s = {
            .size = sizeof s, .run = id, .input = input};
        struct mortise_err err;
        int status;

        snprintf(id, sizeof id, "r%d", n);
        rv = mortise_start(m, g, &s, made, &err);
        n += rv == MORTISE_OK;
        if (rv == MORTISE_OK)
            rv = mortise_wait(m, NULL, made, &status, &err);
        if (rv == MORTISE_OK)
            rv = mortise_show(m, NULL, made, &text, &err);
        mortise_free(m, text);
    }
    return n;
}

/* It is short of memory from the beginning, or once the store is open. */
static void embed(size_t kib, bool late)
{
    struct mortise *m = NULL;
    struct mortise_graph *g = NULL;
    struct mortise_err err;
    int n = 0;

    if (!late)
        leave(kib);
    if (open_engine(&m, store_of(kib)) == MORTISE_OK &&
        mortise_load(m, graph_path, &g, NULL, &err) == MORTISE_OK) {
        if (late)
            leave(kib);
        n = start_runs(m, g);
    }
    mortise_graph_close(g);
    mortise_close(m);
    _exit(n < RUNS ? SHORT + n : 0);
}

/* ---- around it ------------------------------------------------------------ */

/* The exit code of a child that embeds it. */
static int try_with(size_t kib, bool late)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        embed(kib, late);
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "%zu KiB: signal %d", kib,
                  WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void assert_there(size_t kib, int n)
{
    struct mortise *m;
    struct mortise_err err;

    ck_assert_int_eq(open_engine(&m, store_of(kib)), MORTISE_OK);
    for (int i = 0; i < n; i++) {
        char id[RUN_ID], *text;

        snprintf(id, sizeof id, "r%d", i);
        ck_assert_msg(mortise_show(m, NULL, id, &text, &err) == MORTISE_OK,
                      "%zu KiB: %s", kib, err.msg);
        mortise_free(m, text);
    }
    mortise_close(m);
}

/* However little memory is left, a call returns an error, and no library ends
 * the program. */
START_TEST(memory_is_short)
{
    bool late = _i == 1;
    int too_late = 0;

    for (size_t kib = 0; kib < 24 * KIB; kib += 512) {
        int code = try_with(kib, late), n = code >= SHORT ? code - SHORT : RUNS;

        ck_assert_msg(code == 0 || code >= SHORT, "%zu KiB: %d", kib, code);
        too_late += n < RUNS;
        if (n > 0)
            assert_there(kib, n);
        test_rmdir(store_of(kib));
    }
    ck_assert_int_gt(too_late, 0);
    ck_assert_int_eq(try_with(ENOUGH, late), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("api_memory");
    TCase *tc = tcase_create("memory");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, memory_is_short, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
