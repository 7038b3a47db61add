/* test_cli_together.c -- many commands on one store.
 *
 * One of them holds it, and is a command like the others: it ends, is stopped
 * or killed.  What the others do goes on. */
#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/errand.h"

/* ---- graphs and runs ----------------------------------------------------- */

/* NAME.yaml: a node that asks our server for /NAME, then one that says its
 * input. */
static void put_graph_of(const char *name, const char *op, const char *args)
{
    char text[1024], file[64], path[64];

    snprintf(path, sizeof path, "/%s", name);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: http/%s, args: {url: \"%s\"%s}, "
             "next: b}\n"
             "  b: {type: tool, tool: text/template, args: {values: "
             "{word: \"${input.word}\"}, template: \"said {{word}}\"}}\n",
             op, httpd_url(errand_httpd, path), args);
    snprintf(file, sizeof file, "%s.yaml", name);
    errand_put(file, text);
}

/* ... which is an effect. */
static void put_graph(const char *name)
{
    put_graph_of(name, "request", ", method: POST");
}

/* The effect at /NAME takes so long, each time. */
static void takes(const char *name, int ms)
{
    char path[64];

    snprintf(path, sizeof path, "/%s", name);
    httpd_on(errand_httpd, path);
    httpd_wait(errand_httpd, ms);
    httpd_say(errand_httpd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* Nothing is said before httpd_release(). */
static void holds(const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/%s", name);
    httpd_on(errand_httpd, path);
    httpd_hold(errand_httpd);
    httpd_say(errand_httpd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static pid_t start_run(const char *graph, const char *id)
{
    return child_start(id,
                       "%s run %s.yaml --id %s --input '{\"word\": \"%s\"}'",
                       child_build("mortise"), graph, id, id);
}

static unsigned times(const char *text, const char *words)
{
    unsigned n = 0;

    for (; (text = strstr(text, words)) != NULL; text++)
        n++;
    return n;
}

/* It completed, with its own output. */
static void assert_completed(const char *id)
{
    char line[128];

    snprintf(line, sizeof line, "show %s --json", id);
    ck_assert_int_eq(errand_mortise(line), 0);
    ck_assert_msg(strstr(child.out, "\"status\": \"completed\"") != NULL, "%s",
                  child.out);
    snprintf(line, sizeof line, "\"said %s\"", id);
    ck_assert_msg(strstr(child.out, line) != NULL, "%s", child.out);
}

/* ---- many at once -------------------------------------------------------- */

enum { MANY = 50 };

/* Fifty at once: each ends well, has its own output and one effect. */
START_TEST(fifty_at_once)
{
    pid_t pids[MANY];
    char id[16], name[32];

    put_graph("x");
    takes("x", 30);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "r%d", i);
        pids[i] = start_run("x", id);
    }
    for (int i = 0; i < MANY; i++) {
        int code = child_wait(pids[i]);

        snprintf(name, sizeof name, "r%d.err", i);
        ck_assert_msg(code == 0, "run %d: %d\n%s", i, code, errand_file(name));
        snprintf(name, sizeof name, "r%d.out", i);
        ck_assert_uint_eq(times(errand_file(name), "run_start"), 1);
        errand_says(name, "completed");
    }
    ck_assert_uint_eq(httpd_requests(errand_httpd), MANY);
    for (int i = 0; i < MANY; i += 7) {
        snprintf(id, sizeof id, "r%d", i);
        assert_completed(id);
    }
}
END_TEST

/* ---- a host that is done ------------------------------------------------- */

/* Its own run is done while another's effect is in flight: it stays for it,
 * and says so. */
START_TEST(a_host_stays_for_others)
{
    pid_t host, guest;

    put_graph("short");
    put_graph("long");
    holds("short");
    holds("long");
    host = start_run("short", "mine");
    httpd_await(errand_httpd, 1);
    guest = start_run("long", "theirs");
    httpd_await(errand_httpd, 2);
    httpd_release(errand_httpd);
    child_await("mine.err", "active here");
    httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(host), 0);
    ck_assert_int_eq(child_wait(guest), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
    errand_says("mine.out", "completed");
    errand_says("mine.err", "1 other run is active here");
    assert_completed("mine");
    assert_completed("theirs");
}
END_TEST

/* Whose command was refused is nobody's host: nothing is at work there. */
START_TEST(a_refusal_is_no_host)
{
    errand_put("ask.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                           "metadata: {name: g, version: 1.0.0}\nstart: h\n"
                           "nodes:\n  h: {type: human, prompt: Well?}\n");
    ck_assert_int_eq(errand_mortise("run ask.yaml --id r"), 4);
    ck_assert_int_eq(errand_mortise("resume r --goto nowhere"), 3);
    ck_assert_msg(strstr(child.err, "nowhere") != NULL &&
                      strstr(child.err, "active here") == NULL,
                  "%s", child.err);
}
END_TEST

/* Ctrl-C means the run of that command and no other. */
START_TEST(a_signal_pauses_ones_own)
{
    pid_t host, guest;

    put_graph("short");
    put_graph("long");
    holds("short");
    holds("long");
    host = start_run("short", "mine");
    httpd_await(errand_httpd, 1);
    guest = start_run("long", "theirs");
    httpd_await(errand_httpd, 2);
    child_signal(host, SIGINT);
    httpd_release(errand_httpd);
    child_await("mine.err", "active here");
    httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(guest), 0);
    ck_assert_int_eq(child_wait(host), 4);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
    errand_says("mine.out", "paused: operator");
    errand_says("mine.err", "active here");
    assert_completed("theirs");
    ck_assert_int_eq(errand_mortise("resume mine"), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
    assert_completed("mine");
}
END_TEST

/* A second one, or SIGTERM, hands over: what is at work is paused, and its
 * client goes on with it, and tells each event once. */
START_TEST(a_second_signal_hands_over)
{
    pid_t host, guest;

    put_graph("short");
    put_graph("long");
    takes("short", 1);
    holds("long");
    host = start_run("long", "mine");
    httpd_await(errand_httpd, 1);
    guest = start_run("long", "theirs");
    httpd_await(errand_httpd, 2);
    child_signal(host, _i == 0 ? SIGINT : SIGTERM);
    httpd_release(errand_httpd);
    if (_i == 0) {
        child_await("mine.err", "active here");
        child_signal(host, SIGINT);
    }
    httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(host), 4);
    ck_assert_int_eq(child_wait(guest), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
    ck_assert_uint_eq(times(errand_file("theirs.out"), "node_end a"), 1);
    ck_assert_uint_eq(times(errand_file("theirs.out"), "node_end b"), 1);
    assert_completed("theirs");
}
END_TEST

/* One that is killed leaves effects in doubt, as ever; but runs whose calls may
 * be made again go on in the processes of those who wait for them. */
START_TEST(a_killed_host_is_replaced)
{
    pid_t host, guests[3];
    char id[16];

    put_graph_of("get", "get", "");
    httpd_on(errand_httpd, "/get");
    httpd_wait(errand_httpd, 60000);
    httpd_times(errand_httpd, 4);
    httpd_answer(errand_httpd, "/get", "200 OK", "", "there");
    host = start_run("get", "mine");
    httpd_await(errand_httpd, 1);
    for (int i = 0; i < 3; i++) {
        snprintf(id, sizeof id, "g%d", i);
        guests[i] = start_run("get", id);
    }
    httpd_await(errand_httpd, 4);
    child_kill(host);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(child_wait(guests[i]), 0);
        snprintf(id, sizeof id, "g%d", i);
        assert_completed(id);
    }
    ck_assert_int_eq(errand_mortise("resume mine"), 0);
}
END_TEST

/* Who only follows events may be the host, too: Ctrl-C ends that, and nothing
 * else. */
START_TEST(a_follower_is_a_host)
{
    pid_t host, guest;

    put_graph("long");
    holds("long");
    errand_put("ask.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                           "metadata: {name: g, version: 1.0.0}\nstart: h\n"
                           "nodes:\n  h: {type: human, prompt: Well?}\n");
    ck_assert_int_eq(errand_mortise("run ask.yaml --id waits"), 4);
    host =
        child_start("host", "%s events --follow waits", child_build("mortise"));
    child_await("host.out", "interrupt");
    guest = start_run("long", "theirs");
    httpd_await(errand_httpd, 1);
    child_signal(host, SIGINT);
    httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(guest), 0);
    ck_assert_int_eq(child_wait(host), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
    assert_completed("theirs");
}
END_TEST

/* ---- deployments ---------------------------------------------------------- */

/* A run under another deployment than the engine's is refused, with both named;
 * whoever names none, or the same one under another name, is served. */
START_TEST(another_deployment_is_refused)
{
    pid_t engine;

    put_graph("x");
    takes("x", 1);
    errand_deploy("b.yaml", "limits: {steps: 7}\n");
    errand_deploy("same.yaml", "limits: {}\n# nothing else\n");
    engine = errand_engine("one");
    ck_assert_int_eq(errand_mortise("run x.yaml --deployment b.yaml"), 78);
    ck_assert_msg(strstr(child.err, "b.yaml") != NULL &&
                      strstr(child.err, "mortise.yaml") != NULL &&
                      strstr(child.err, "E_CONFIG") != NULL,
                  "%s", child.err);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 0);
    ck_assert_int_eq(
        errand_mortise("run x.yaml --id same --deployment same.yaml "
                       "--input '{\"word\": \"same\"}'"),
        0);
    ck_assert_int_eq(errand_mortise("runs --deployment b.yaml"), 0);
    ck_assert_int_eq(errand_mortise("show same --deployment b.yaml"), 0);
    ck_assert_int_eq(errand_mortise("resume same --deployment b.yaml"), 78);
    ck_assert_int_eq(child_run("mkdir elsewhere; cd elsewhere; %s run "
                               "../x.yaml --deployment ../b.yaml",
                               child_build("mortise")),
                     78);
    errand_stop(engine);
}
END_TEST

/* An engine that finds a command at work waits for it; one that finds another
 * engine does not. */
START_TEST(an_engine_waits_for_a_command)
{
    pid_t run, engine;

    put_graph("x");
    holds("x");
    run = start_run("x", "mine");
    httpd_await(errand_httpd, 1);
    engine = child_start("one", "%s engine", child_build("mortise"));
    child_await("one.err", "waiting until it ends");
    httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(run), 0);
    child_await("one.err", "holding the store");
    errand_stop(engine);
}
END_TEST

/* ---- an engine that says nothing ------------------------------------------ */

/* A stopped engine is told of, with its pid, by whoever asks and by doctor. */
START_TEST(a_stopped_engine_is_named)
{
    pid_t engine = errand_engine("one");
    char pid[32];

    snprintf(pid, sizeof pid, "process %d", (int)engine);
    kill(engine, SIGSTOP);
    ck_assert_int_eq(errand_mortise("runs"), 1);
    ck_assert_msg(strstr(child.err, pid) != NULL &&
                      strstr(child.err, "has not answered") != NULL,
                  "%s", child.err);
    ck_assert_int_eq(errand_mortise("doctor"), 2);
    ck_assert_msg(strstr(child.out, pid) != NULL &&
                      strstr(child.out, "has not answered") != NULL,
                  "%s", child.out);
    kill(engine, SIGCONT);
    ck_assert_int_eq(errand_mortise("runs"), 0);
    errand_stop(engine);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("cli_together");
    TCase *tc = tcase_create("together");

    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, fifty_at_once);
    tcase_add_test(tc, a_host_stays_for_others);
    tcase_add_test(tc, a_refusal_is_no_host);
    tcase_add_test(tc, a_signal_pauses_ones_own);
    tcase_add_loop_test(tc, a_second_signal_hands_over, 0, 2);
    tcase_add_test(tc, a_killed_host_is_replaced);
    tcase_add_test(tc, a_follower_is_a_host);
    tcase_add_test(tc, another_deployment_is_refused);
    tcase_add_test(tc, an_engine_waits_for_a_command);
    tcase_add_test(tc, a_stopped_engine_is_named);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
