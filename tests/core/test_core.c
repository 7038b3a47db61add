/* test_core.c -- core/ alone, with a language of its own (language.c).
 *
 * The engine runs a graph with a fork, a join, a loop of regions and a person,
 * on a real store.  A child process is killed after each event that it heard;
 * the next one finds the run, and ends it.  Nothing of lang/, services/ or cli/
 * is linked. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/engine/common/engine.h"
#include "core/mortise.h"
#include "lib/test.h"

static const char graph[] =
    "{\"start\": [\"a\", \"b\"], \"nodes\": {\n"
    "  \"a\": {\"type\": \"pass\", \"value\": 1, \"next\": [\"j\"]},\n"
    "  \"b\": {\"type\": \"pass\", \"value\": 2, \"next\": [\"c\"]},\n"
    "  \"c\": {\"type\": \"pass\", \"value\": 3, \"next\": [\"j\"]},\n"
    "  \"j\": {\"type\": \"pass\", \"value\": \"$artifacts.a\",\n"
    "         \"next\": [\"q\"]},\n"
    "  \"q\": {\"type\": \"human\", \"value\": \"Well?\", \"next\": [\"z\"]},\n"
    "  \"z\": {\"type\": \"pass\", \"value\": \"$artifacts.j\",\n"
    "         \"next\": [\"END\"]}}}\n";

static char dir[512], store[600], path[600], question[64];
static int events; /* the pipe that a child reports to */

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(store, sizeof store, "%s/store", dir);
    snprintf(path, sizeof path, "%s/g.json", dir);
    test_write(path, graph, sizeof graph - 1);
    question[0] = '\0';
}

static void teardown(void)
{
    test_rmdir(dir);
}

/* In children: an error ends the process, and the parent sees its message. */
static void must(int rv, const struct mortise_err *err)
{
    if (rv == MORTISE_OK)
        return;
    fprintf(stderr, "%s: %s\n", mortise_result_name(rv), err->msg);
    _exit(1);
}

static struct mortise *open_engine(void)
{
    struct mortise_options o = {.size = sizeof o, .store = store};
    struct mortise_err err;
    struct mortise *m;

    must(mortise_engine_open(&m, &o, MORTISE_MODE_SERVER, NULL, &err), &err);
    return m;
}

static int hear(void *ud, const char *json, size_t n)
{
    const char *id = strstr(json, "\"id\":\"");

    (void)ud;
    (void)n;
    if (strstr(json, "\"seq\":") == NULL)
        return 0;
    if (strstr(json, "\"type\":\"interrupt\"") != NULL && id != NULL)
        snprintf(question, sizeof question, "%.*s",
                 (int)strcspn(id + 6, "\""), id + 6);
    if (write(events, "e", 1) != 1)
        _exit(1);
    return 0;
}

static int wait_for_run(struct mortise *m)
{
    struct mortise_err err;
    int status;

    must(mortise_wait(m, NULL, "r", &status, &err), &err);
    return status;
}

static void listen_to_run(struct mortise *m)
{
    struct mortise_err err;

    must(mortise_events(m, NULL, "r", 0, MORTISE_EVENTS_FOLLOW, hear, NULL,
                        NULL, &err),
         &err);
}

static void start_run(struct mortise *m)
{
    struct mortise_start_options s = {.size = sizeof s, .run = "r"};
    struct mortise_graph *g;
    struct mortise_err err;
    char id[MORTISE_RUN_MAX];

    must(mortise_load(m, path, &g, NULL, &err), &err);
    must(mortise_start(m, g, &s, id, &err), &err);
    mortise_graph_close(g);
}

static void give_command(struct mortise *m, enum mortise_command_kind kind)
{
    struct mortise_command c = {.size = sizeof c, .kind = kind};
    struct mortise_err err;

    if (kind == MORTISE_CMD_ANSWER) {
        c.id = question;
        c.json = "{\"approved\": true}";
    }
    must(mortise_apply(m, NULL, "r", &c, 1, 0, NULL, &err), &err);
}

static void answer_and_end(struct mortise *m)
{
    if (wait_for_run(m) != MORTISE_RUN_COMPLETED) {
        give_command(m, MORTISE_CMD_ANSWER);
        wait_for_run(m);
    }
    mortise_close(m);
    _exit(0);
}

static void be_first(void)
{
    struct mortise *m = open_engine();

    start_run(m);
    listen_to_run(m);
    answer_and_end(m);
}

/* Continue the run that the first child left, or begin it. */
static void be_second(void)
{
    struct mortise *m = open_engine();
    struct mortise_err err;
    char *show;

    if (mortise_show(m, NULL, "r", &show, &err) != MORTISE_OK)
        start_run(m);
    else if (strstr(show, "\"status\":\"completed\"") == NULL)
        give_command(m, MORTISE_CMD_RESUME);
    listen_to_run(m);
    answer_and_end(m);
}

static pid_t begin_child(void (*work)(void), int *from)
{
    int ends[2];
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close(ends[0]);
        events = ends[1];
        work();
    }
    close(ends[1]);
    *from = ends[0];
    return child;
}

/* How many events the child reported; it is killed after `most`. */
static int hear_child(pid_t child, int from, int most)
{
    int n = 0, status;
    char c;

    while (n < most && read(from, &c, 1) == 1)
        n++;
    if (n == most)
        kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (n < most)
        ck_assert_int_eq(status, 0);
    close(from);
    return n;
}

/* The history that a child of ours reads: each node ended once. */
static void be_reader(void)
{
    static const char *const ids[] = {"a", "b", "c", "j", "q", "z"};
    struct mortise *m = open_engine();
    struct mortise_err err;
    char *show, want[64];

    must(mortise_show(m, NULL, "r", &show, &err), &err);
    if (strstr(show, "\"status\":\"completed\"") == NULL) {
        fprintf(stderr, "%s\n", show);
        _exit(1);
    }
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        snprintf(want, sizeof want, "\"%s\":", ids[i]);
        if (strstr(show, want) == NULL) {
            fprintf(stderr, "no %s in %s\n", ids[i], show);
            _exit(1);
        }
    }
    mortise_free(m, show);
    mortise_close(m);
    _exit(0);
}

static void check_ended(void)
{
    int from;
    pid_t child = begin_child(be_reader, &from);

    hear_child(child, from, 1);
}

START_TEST(a_run_ends)
{
    int from;
    pid_t child = begin_child(be_first, &from);

    ck_assert_int_ge(hear_child(child, from, 1000), 10);
    check_ended();
}
END_TEST

/* Killed after its n-th event, for every n: the run ends, and nothing that was
 * told is lost. */
START_TEST(a_killed_run_ends)
{
    bool died = true;

    for (int n = 1; died; n++) {
        int from;
        pid_t child;

        teardown();
        setup();
        child = begin_child(be_first, &from);
        died = hear_child(child, from, n) == n;
        child = begin_child(be_second, &from);
        ck_assert_int_ge(hear_child(child, from, 1000), n - !died);
        check_ended();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("core");
    TCase *tc = tcase_create("core");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_run_ends);
    tcase_add_test(tc, a_killed_run_ends);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
