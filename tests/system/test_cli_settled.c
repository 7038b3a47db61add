/* test_cli_settled.c -- finalisers and handlers from the outside (issue 15,
 * point 8): the example of docs/graph.md, and `mortise cancel`.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static char root[4096];

static void begin(void)
{
    desk_begin();
    desk_put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                             "metadata: {name: d}\n"
                             "store: {path: ./store}\n");
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    desk_graph("asks", "start: work\n"
                       "nodes:\n"
                       "  work: {type: human, prompt: go on?, next: next}\n"
                       "  next: {type: human, prompt: and on?, next: release}\n"
                       "  release:\n"
                       "    type: tool\n"
                       "    tool: text/template\n"
                       "    join: settled\n"
                       "    args: {template: released, values: {}}\n"
                       "    next: END\n");
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
}

/* The example of the page comes to what stands there: well, and with a pattern
 * that is none. */
START_TEST(the_example_of_the_page)
{
    desk_ok("awk '/^```yaml/ {in_it = 1; next} /^```/ {in_it = 0} in_it' "
            "%s/docs/graph.md | sed -n '/^# finally.yaml/,/next: END/p' "
            ">finally.yaml && $MORTISE check finally.yaml",
            root);
    desk_ok("$MORTISE run finally.yaml --id well --input '{\"text\": \"a\", "
            "\"pattern\": \"a\"}'");
    desk_ok("$MORTISE show well --json | tr -d '\\n'");
    desk_out("released, 0 failed");
    child_run("$MORTISE run finally.yaml --id ill --input '{\"text\": \"a\", "
              "\"pattern\": \"(\"}'");
    desk_ok("$MORTISE show ill --json | tr -d '\\n'");
    desk_out("\"text\": \"work: ");
    desk_out("released, 0 failed");
    desk_out("\"status\": \"completed\"");
}
END_TEST

/* What waits for a person is cancelled, by a program that had nothing to do with
 * it until then, and released. */
START_TEST(cancel_runs_the_finaliser)
{
    child_run("$MORTISE run asks.yaml --id r");
    ck_assert_int_eq(child.code, 4);
    desk_ok("$MORTISE cancel r");
    desk_ok("$MORTISE show r");
    desk_out("status   cancelled");
    desk_out("released");
    desk_ok("$MORTISE inbox");
    desk_out("no requests are pending");
}
END_TEST

/* A plugin that nobody signed, which can be taken away. */
static void put_plugin(void)
{
    char text[16384];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
             "plugins: {dev: [./dev]}\ntrust: {dir: %s/trust.d}\n"
             "store: {path: ./store}\n",
             desk_plugins);
    desk_put("mortise.yaml", text);
    desk_ok("mkdir dev && cp %s/tests/plugins/tried.plugin.yaml dev", root);
    desk_ok("cp %s dev/tried.so", child_build("tests/plugins/tried.so"));
    desk_ok("sed -i 's|text/template|tried/echo|; s|template: released, "
            "values: {}|value: released|' asks.yaml");
}

/* The plugin of another node is not there (0), or is another one (1), and so the
 * run is blocked.  Its finaliser, of a plugin that is as it was, runs; what dies
 * in it (2) is gone on with by whoever resumes the run. */
START_TEST(cancel_runs_what_is_not_blocked)
{
    pid_t pid;

    put_plugin();
    desk_ok("cp dev/tried.plugin.yaml dev/other.plugin.yaml && sed -i "
            "'s/tried/other/; /^seq/s/1/7/' dev/other.plugin.yaml && cp "
            "dev/tried.so dev/other.so");
    desk_ok("sed -i 's|{type: human, prompt: and on?, next: release}|{type: "
            "tool, tool: other/echo, args: {value: 1}, next: release}|' "
            "asks.yaml");
    if (_i == 2)
        desk_ok("sed -i 's|tried/echo|tried/nap|; s|value: released|ms: "
                "3000|' asks.yaml");
    child_run("$MORTISE run asks.yaml --id r");
    desk_code(4);
    desk_ok(_i == 0 ? "rm dev/other.*" : "printf more >>dev/other.so");
    child_run("$MORTISE resume r");
    ck_assert_ptr_nonnull(strstr(child.err, "E_BLOCKED"));
    if (_i == 2) {
        pid = child_start("w", "$MORTISE cancel r");
        child_await("w.out", "node_start release");
        child_kill(pid);
        child_run("$MORTISE resume r");
        desk_out("run r cancelled");
    } else {
        desk_ok("$MORTISE cancel r");
    }
    desk_ok("$MORTISE show r");
    desk_out("status   cancelled");
    desk_out("done              release");
    desk_ok("$MORTISE events r --json | grep -c '\"command\": *\"cancel\"'");
    ck_assert_str_eq(child.out, "1\n");
}
END_TEST

/* Where the plugin of the finaliser is not there, or another, it fails, which is
 * said, and the run ends without it. */
START_TEST(cancel_goes_without_the_plugin)
{
    put_plugin();
    child_run("$MORTISE run asks.yaml --id r");
    desk_code(4);
    desk_ok(_i == 0 ? "rm -r dev/*" : "printf more >>dev/tried.so");
    child_run("$MORTISE resume r");
    ck_assert_int_ne(child.code, 0);
    ck_assert_int_ne(child.code, 4);
    desk_ok("$MORTISE cancel r 2>&1");
    desk_out("release");
    desk_out("plugin 'tried'");
    desk_ok("$MORTISE show r");
    desk_out("status   cancelled");
    desk_out("failed            release");
    desk_out("plugin 'tried'");
    ck_assert_ptr_null(strstr(child.out, "released"));
}
END_TEST

/* ... and with it, where it is the same. */
START_TEST(cancel_runs_the_plugin)
{
    put_plugin();
    child_run("$MORTISE run asks.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE cancel r");
    desk_ok("$MORTISE show r");
    desk_out("status   cancelled");
    desk_out("released");
}
END_TEST

/* A finaliser that takes its time, under way by `mortise cancel`. */
static pid_t cancel_slowly(int ms)
{
    pid_t pid;

    put_plugin();
    desk_ok("sed -i 's|tried/echo|tried/nap|; s|value: released|ms: %d|' "
            "asks.yaml",
            ms);
    child_run("$MORTISE run asks.yaml --id r");
    desk_code(4);
    pid = child_start("w", "$MORTISE cancel r");
    child_await("w.out", "node_start release");
    return pid;
}

/* Meanwhile the store is there for others, and a second cancel is heard. */
START_TEST(a_second_cancel_stops_it)
{
    pid_t pid = cancel_slowly(50000);

    desk_ok("$MORTISE show r");
    desk_out("running           release");
    desk_ok("$MORTISE cancel r");
    desk_out("run r cancelled");
    ck_assert_int_eq(child_wait(pid), 0);
    desk_ok("$MORTISE show r");
    desk_out("skipped           release");
}
END_TEST

/* A signal leaves it to whoever goes on with the run. */
START_TEST(a_signal_leaves_it)
{
    pid_t pid = cancel_slowly(2000);

    kill(pid, _i == 0 ? SIGINT : SIGTERM);
    child_wait(pid);
    desk_ok("$MORTISE show r");
    desk_out("status   interrupted");
    child_run("$MORTISE resume r");
    desk_out("run r cancelled");
    desk_ok("$MORTISE show r");
    desk_out("done              release");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_settled");
    TCase *tc = tcase_create("settled");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, the_example_of_the_page);
    tcase_add_test(tc, cancel_runs_the_finaliser);
    tcase_add_loop_test(tc, cancel_runs_what_is_not_blocked, 0, 3);
    tcase_add_loop_test(tc, cancel_goes_without_the_plugin, 0, 2);
    tcase_add_test(tc, cancel_runs_the_plugin);
    tcase_add_test(tc, a_second_cancel_stops_it);
    tcase_add_loop_test(tc, a_signal_leaves_it, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
