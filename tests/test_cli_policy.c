/* test_cli_policy.c -- what a deployment lets graphs do: tools allowed, asked
 * for and denied. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/desk.h"

/* The desk's deployment with more in it. */
static void deploy(const char *more)
{
    char text[16384];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins: {path: [%s/plugins]}\n"
             "trust: {dir: %s/trust.d}\n"
             "store: {path: ./state}\n"
             "%s\n",
             desk_plugins, desk_plugins, more);
    desk_put("mortise.yaml", text);
}

static void put_echo(void)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
}

/* What is denied, or not among what is allowed, is an error at the tool, which
 * names the line that says so; extension nodes are no way around it. */
START_TEST(denied_is_an_error)
{
    put_echo();
    deploy("tools: {allow: [\"*\"], deny: [other/*, \"tried/e*\"]}");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("g.yaml:6:25: error[E0507]: the deployment denies tried/echo "
             "(mortise.yaml:7:39)");
    child_run("$MORTISE run g.yaml");
    desk_code(2);
    desk_graph("e", "start: a\nnodes:\n"
                    "  a: {type: extension, extension: tried, method: echo, "
                    "args: {value: 1}, next: END}\n");
    child_run("$MORTISE check e.yaml");
    desk_code(2);
    desk_out("error[E0507]");
    deploy("tools: {allow: [tried/say, \"file/*\"], ask: [tried/nap]}");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("denies tried/echo (mortise.yaml:7:9)");
    deploy("tools: {allow: [\"*/echo\"]}");
    desk_ok("$MORTISE check g.yaml");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* What is asked for pauses like every call under approve_tools; the strictest
 * word counts, and what is approved runs. */
START_TEST(asked_for_is_approved)
{
    put_echo();
    deploy("tools: {allow: [\"*\"], ask: [\"*\"], deny: [tried/fail]}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("tried/echo");
    desk_ok("$MORTISE approve r");
    desk_ok("$MORTISE show r --json");
    desk_out("completed");
    child_run("$MORTISE run g.yaml --id s");
    child_run("$MORTISE reject s --reason no");
    desk_ok("$MORTISE show s --json");
    desk_out("rejected");
}
END_TEST

/* allow takes nothing away from what the graph itself wants approved. */
START_TEST(allowed_is_still_asked_for)
{
    desk_graph("g", "hitl_mode: approve_tools\nstart: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    deploy("tools: {allow: [tried/echo]}");
    child_run("$MORTISE run g.yaml");
    desk_code(4);
}
END_TEST

/* A run that began before its tool was denied is blocked, and goes on when it
 * is allowed again. */
START_TEST(runs_are_held_to_it)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: human, prompt: go on?, next: b}\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    deploy("tools: {deny: [tried/echo]}");
    child_run("$MORTISE approve r");
    ck_assert_int_ne(child.code, 0);
    desk_err("denies tried/echo (mortise.yaml:7:16)");
    desk_ok("$MORTISE show r");
    deploy("");
    desk_ok("$MORTISE approve r");
}
END_TEST

/* An approval that waits stays one when nobody asks any more. */
START_TEST(pending_approvals_stay)
{
    put_echo();
    deploy("tools: {ask: [tried/echo]}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    deploy("");
    child_run("$MORTISE resume r");
    desk_code(4);
    desk_ok("$MORTISE approve r");
    desk_ok("$MORTISE show r --json");
    desk_out("completed");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_policy");
    TCase *tc = tcase_create("cli_policy");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, denied_is_an_error);
    tcase_add_test(tc, asked_for_is_approved);
    tcase_add_test(tc, allowed_is_still_asked_for);
    tcase_add_test(tc, runs_are_held_to_it);
    tcase_add_test(tc, pending_approvals_stay);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
