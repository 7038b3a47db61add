/* test_cli_engine.c -- processes that stay, and processes that are stopped:
 * `mortise engine`, and what SIGINT and SIGTERM do to a run. */
#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/test.h"

static struct httpd *d;
static char dir[PATH_MAX - 64];

/* ---- around each test --------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
}

static void setup(void)
{
    char text[2 * PATH_MAX];

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    child_dir(dir);
    d = httpd_start();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {config: {http: {allow: [\"%s\"]}}}\n"
             "store: {path: ./store}\n",
             httpd_url(d, ""));
    put("mortise.yaml", text);
}

static void teardown(void)
{
    httpd_stop(d);
    test_rmdir(dir);
}

/* g.yaml: one node that asks our server for /x by this operation. */
static void put_graph(const char *op)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: http/%s, args: {url: \"%s\"}}\n",
             op, httpd_url(d, "/x"));
    put("g.yaml", text);
}

/* The first request of /x gets no answer for a minute, later ones do. */
static void stall_once(void)
{
    httpd_on(d, "/x");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    httpd_answer(d, "/x", "200 OK", "", "there");
}

static pid_t start_run(const char *id)
{
    pid_t pid =
        child_start("run", "%s run g.yaml --id %s", child_build("mortise"), id);

    child_await("run.out", "run ");
    for (int i = 0; i < 200 && httpd_requests(d) == 0; i++)
        usleep(50000);
    ck_assert_uint_ge(httpd_requests(d), 1);
    return pid;
}

static pid_t start_engine(const char *name)
{
    char err[64];
    pid_t pid = child_start(name, "%s engine", child_build("mortise"));

    snprintf(err, sizeof err, "%s.err", name);
    child_await(err, "holding the store");
    return pid;
}

static const char *file(const char *name)
{
    static char text[1 << 16];
    char path[PATH_MAX], *p;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    p = test_read(path, &n);
    snprintf(text, sizeof text, "%s", p);
    free(p);
    return text;
}

static void assert_says(const char *name, const char *words)
{
    const char *text = file(name);

    ck_assert_msg(strstr(text, words) != NULL, "%s:\n%s", name, text);
}

static int mortise(const char *what)
{
    return child_run("%s %s", child_build("mortise"), what);
}

/* ---- signals ------------------------------------------------------------ */

/* The first signal pauses what reads, says how to go on, and that works. */
START_TEST(a_signal_pauses)
{
    pid_t pid;

    put_graph("get");
    stall_once();
    pid = start_run("night");
    kill(pid, _i == 0 ? SIGINT : SIGTERM);
    ck_assert_int_eq(child_wait(pid), 4);
    assert_says("run.out", "paused: operator");
    assert_says("run.out", "resume night");
    ck_assert_int_eq(mortise("show night"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "paused"));
    ck_assert_int_eq(mortise("resume night"), 0);
    ck_assert_uint_eq(httpd_requests(d), 2);
}
END_TEST

/* An effect is awaited: it counts, and is not made again. */
START_TEST(an_effect_is_awaited)
{
    pid_t pid;

    put_graph("request");
    httpd_on(d, "/x");
    httpd_wait(d, 700);
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    pid = start_run("night");
    kill(pid, SIGTERM);
    ck_assert_int_eq(child_wait(pid), 4);
    ck_assert_int_eq(mortise("resume night"), 0);
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* A second signal kills at once, and what it interrupted is in doubt. */
START_TEST(a_second_signal_kills)
{
    pid_t pid;

    put_graph("request");
    stall_once();
    pid = start_run("night");
    kill(pid, SIGINT);
    usleep(300000);
    kill(pid, SIGINT);
    ck_assert_int_eq(child_wait(pid), 128 + SIGINT);
    ck_assert_int_eq(mortise("resume night"), 5);
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* ---- an engine ---------------------------------------------------------- */

/* `why` has a sentence of its own for a run that its engine left, and the
 * command that goes on with it. */
static void assert_why(const char *run)
{
    char command[64];

    snprintf(command, sizeof command, "why %s", run);
    ck_assert_int_eq(mortise(command), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "is paused since the engine that "
                                            "worked on it was stopped at"));
    ck_assert_ptr_nonnull(strstr(child.out, "The next `mortise engine`"));
    snprintf(command, sizeof command, " resume %s\n", run);
    ck_assert_ptr_nonnull(strstr(child.out, command));
}

/* It pauses what is at work when it is stopped, ends with 0, and the next one
 * goes on. */
START_TEST(engines_take_over)
{
    pid_t engine = start_engine("one"), run;

    put_graph("get");
    stall_once();
    run = start_run("night");
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
    child_wait(run);
    assert_says("one.err", "run night: paused, shutdown");
    ck_assert_int_eq(mortise("show night"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "shutdown"));
    assert_why("night");
    engine = start_engine("two");
    child_await("two.err", "run night: completed");
    kill(engine, SIGINT);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* What a crash interrupted goes on; what a person paused does not. */
START_TEST(engines_go_on_after_a_crash)
{
    pid_t engine = start_engine("one"), run;

    put_graph("get");
    httpd_on(d, "/x");
    httpd_wait(d, 60000);
    httpd_times(d, 2);
    httpd_answer(d, "/x", "200 OK", "", "there");
    run = start_run("night");
    kill(run, SIGINT); /* the client's: the run is the engine's */
    ck_assert_int_eq(child_wait(run), 4);
    run =
        child_start("other", "%s run g.yaml --id day", child_build("mortise"));
    for (int i = 0; i < 200 && httpd_requests(d) < 2; i++)
        usleep(50000);
    child_kill(run); /* or it would take the store over, and go on itself */
    child_kill(engine);
    engine = start_engine("two");
    child_await("two.err", "run day: completed");
    ck_assert_ptr_null(strstr(file("two.err"), "night"));
    ck_assert_int_eq(mortise("show night"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "operator"));
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* A deadline passes while only the engine is there, of a run that it never had
 * in memory. */
START_TEST(deadlines_fire)
{
    pid_t engine;

    put("g.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                  "metadata: {name: g, version: 1.0.0}\n"
                  "start: h\nnodes:\n"
                  "  h: {type: human, prompt: well?, wait: 2s, on_timeout: "
                  "reject}\n");
    ck_assert_int_eq(mortise("run g.yaml --id night"), 4);
    engine = start_engine("one");
    child_await("one.err", "run night: completed");
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* One store, one engine: the second one says who is there. */
START_TEST(there_is_one)
{
    pid_t engine = start_engine("one");
    char pid[32];

    snprintf(pid, sizeof pid, "process %d", (int)engine);
    ck_assert_int_eq(mortise("engine"), 1);
    ck_assert_msg(strstr(child.err, pid) != NULL, "%s", child.err);
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("cli_engine");
    TCase *tc = tcase_create("engine");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 90);
    tcase_add_loop_test(tc, a_signal_pauses, 0, 2);
    tcase_add_test(tc, an_effect_is_awaited);
    tcase_add_test(tc, a_second_signal_kills);
    tcase_add_test(tc, engines_take_over);
    tcase_add_test(tc, engines_go_on_after_a_crash);
    tcase_add_test(tc, deadlines_fire);
    tcase_add_test(tc, there_is_one);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
