/* test_cli_events.c -- what the command line shows of a run: every event, in
 * order, whoever holds the store and whatever becomes of them. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static void add_plugin(const char *name)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath("tests/plugins", source));
    desk_ok("$MORTISE plugin sign %s/%s.plugin.yaml %s/%s.so --key %s/k.key "
            "--out %s/plugins",
            source, name, child_build("tests/plugins"), name, desk_plugins,
            desk_plugins);
}

static void sign(void)
{
    desk_sign();
    add_plugin("emits_many");
    desk_ok("$MORTISE key trust %s/k.pub --trust %s/trust.d --name emits "
            "--plugins 'emits_*' --in-process",
            desk_plugins, desk_plugins);
}

/* Sixteen events, then the end. */
static void add_graph(void)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: emits_many/run, args: {n: 16}, "
                    "next: END}\n");
}

/* The last run printed run_start, node_start, progress 0 to 15 and its ends. */
static void check_sixteen(void)
{
    const char *at = strstr(child.out, "\"type\":\"run_start\"");
    char want[64];

    ck_assert_msg(at != NULL, "%s", child.out);
    at = strstr(at, "\"type\":\"node_start\"");
    for (int i = 0; i < 16 && at != NULL; i++) {
        snprintf(want, sizeof want, "\"data\":{\"i\":%d,", i);
        at = strstr(at, want);
    }
    if (at != NULL)
        at = strstr(at, "\"type\":\"node_end\"");
    ck_assert_msg(at != NULL && strstr(at, "\"type\":\"run_end\"") != NULL,
                  "%s", child.out);
}

/* Fifty of fifty, in a process of its own and through another's engine. */
START_TEST(nothing_is_lost)
{
    pid_t pid;

    add_graph();
    for (int i = 0; i < 25; i++) {
        desk_ok("$MORTISE run g.yaml --json");
        check_sixteen();
    }
    pid = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    for (int i = 0; i < 25; i++) {
        desk_ok("$MORTISE run g.yaml --json");
        check_sixteen();
    }
    kill(pid, SIGTERM);
    child_wait(pid);
}
END_TEST

/* A decision is followed by all that it leads to. */
START_TEST(decisions_are_followed)
{
    desk_graph("h", "start: h\nnodes:\n"
                    "  h: {type: human, prompt: Well?, next: a}\n"
                    "  a: {type: tool, tool: emits_many/run, args: {n: 16}, "
                    "next: END}\n");
    child_run("$MORTISE run h.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE approve r $($MORTISE show r --json | "
            "sed -n 's/.*\"id\": \"\\([0-9a-f]*\\)\",/\\1/p') --json");
    desk_out("\"decision\"");
    desk_out("\"data\":{\"i\":0,");
    desk_out("\"data\":{\"i\":15,");
}
END_TEST

/* A follower that comes back with the number of the last event that it has
 * sees the rest, without a gap or a repetition, whatever was killed. */
START_TEST(followers_come_back)
{
    pid_t engine, follower;

    desk_graph("n", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: b}\n"
                    "  b: {type: tool, tool: tried/nap, args: {ms: 600}, "
                    "next: c}\n"
                    "  c: {type: tool, tool: tried/nap, args: {ms: 600}, "
                    "next: d}\n"
                    "  d: {type: tool, tool: tried/nap, args: {ms: 600}, "
                    "next: END}\n");
    engine = child_start("run", "$MORTISE run n.yaml --id r --json");
    child_await("run.out", "\"seq\":2,");
    follower = child_start("first", "$MORTISE events r --follow --json");
    child_await("first.out", "\"seq\":2,");
    child_kill(engine);
    child_kill(follower); /* it would wait for the run to go on */
    follower = child_start("resume", "$MORTISE resume r --json");
    child_await("resume.out", "node_start");
    desk_ok("last=$(sed -n 's/.*\"seq\":\\([0-9]*\\),.*/\\1/p' first.out | "
            "tail -1); $MORTISE events r --follow --json --after $last "
            ">second.out");
    ck_assert_int_eq(child_wait(follower), 0);
    desk_ok("$MORTISE events r --json >all.out; "
            "cat first.out second.out | grep '\"seq\":' >both.out; "
            "grep '\"seq\":' all.out | cmp - both.out");
    desk_ok("grep -c run_end both.out");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_events");
    TCase *tc = tcase_create("cli_events");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, nothing_is_lost);
    tcase_add_test(tc, decisions_are_followed);
    tcase_add_test(tc, followers_come_back);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
