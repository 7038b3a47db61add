/* test_cli_spawn.c -- programs that a plugin keeps beside its calls, and speaks
 * with: background(), process.spawn/1, process.write/1, process.end/1.
 *
 * The plugin is tests/plugins/converses.c.  Programs count what they are told, so
 * that one which was started anew is known by beginning anew. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/desk.h"
#include "lib/test.h"

static const char programs[] =
    "programs:\n"
    "  counts: {path: /bin/sh, args: [-c, 'while read l; do n=$((n+1)); echo "
    "\"$n $l\"; [ \"$l\" = die ] && kill -9 $$; [ \"$l\" = leave ] && exit 3; "
    "done; echo bye >./out/bye'], write: [./out], dir: .}\n"
    "  stays: {path: /bin/sh, args: [-c, 'trap \"echo term >./out/term\" TERM; "
    "while read l; do echo \"$l\"; done; while :; do sleep 0.1; done'], write: "
    "[./out], dir: .}\n"
    "  long: {path: /bin/sh, args: [-c, 'while read l; do echo \"$l\"; head -c "
    "$l /dev/zero | tr \"\\0\" x; echo; done']}\n"
    "  shouts: {path: /bin/sh, args: [-c, 'while read l; do head -c 3000000 "
    "/dev/zero | tr \"\\0\" y >&2; echo \"$l\"; done']}\n"
    "  deaf: {path: /bin/sleep, args: ['4321.25']}\n"
    "  none: {path: /nowhere}\n";

static void deploy(const char *more)
{
    char text[8192];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\nplugins: {dev: [./dev]}\n%s%s",
             programs, more);
    desk_put("mortise.yaml", text);
}

static void begin(void)
{
    char manifest[PATH_MAX];

    desk_begin();
    ck_assert_ptr_nonnull(
        realpath("tests/plugins/converses.plugin.yaml", manifest));
    desk_ok("mkdir dev out && cp %s %s dev", manifest,
            child_build("tests/plugins/converses.so"));
    deploy("");
}

/* A chain of nodes a, b, c ..., each of which says one of these. */
static void graph(const char *const *args, size_t n)
{
    char body[4096] = "start: a\nnodes:\n";
    size_t at = strlen(body);

    for (size_t i = 0; i < n; i++) {
        char next[8] = "END";

        if (i + 1 < n)
            snprintf(next, sizeof next, "%c", (char)('b' + i));
        at += (size_t)snprintf(body + at, sizeof body - at,
                               "  %c: {type: tool, tool: converses/say, args: "
                               "%s, next: %s}\n",
                               (char)('a' + i), args[i], next);
    }
    desk_graph("g", body);
}

#define GRAPH(...)                                                             \
    do {                                                                       \
        const char *const list[] = {__VA_ARGS__};                              \
        graph(list, sizeof list / sizeof list[0]);                             \
    } while (0)

#define RUN "$MORTISE run g.yaml --id r && $MORTISE show r --json"

static void nobody_is_left(const char *of)
{
    child_run("for i in $(seq 300); do grep -la '%s' "
              "/proc/[0-9]*/cmdline 2>/dev/null | grep -qv self || exit 0; "
              "sleep 0.2; done; exit 1",
              of);
    ck_assert_msg(child.code == 0, "left behind: %s", child.out);
}

/* One program serves the calls of one engine after the other, and ends by itself
 * when its stdin does. */
START_TEST(programs_outlive_calls)
{
    GRAPH("{with: counts, text: one}", "{with: counts, text: \"zwei ü\"}",
          "{with: counts, text: three}");
    desk_ok(RUN);
    desk_out("\"line\": \"1 one\"");
    desk_out("\"line\": \"2 zwei ü\"");
    desk_out("\"line\": \"3 three\"");
    desk_ok("cat out/bye");
    desk_out("bye");
}
END_TEST

/* How it ended is told, and the next line is for a new one. */
START_TEST(one_that_ended_is_started_anew)
{
    GRAPH("{with: counts, text: one}", "{with: counts, end: true}",
          "{with: counts, text: again}");
    desk_ok(RUN);
    desk_out("\"ended\": 0");
    desk_out("exit");
    desk_out("\"line\": \"1 again\"");
    GRAPH("{with: counts, text: die}", "{with: counts, text: x}",
          "{with: counts, text: y}");
    desk_ok("$MORTISE run g.yaml --id s && $MORTISE show s --json");
    desk_out("\"line\": \"1 die\"");
    desk_out(" y\""); /* by which of them depends on when its end was heard */
}
END_TEST

/* Who does not end is told to, and then made to. */
START_TEST(one_that_stays_is_ended)
{
    pid_t pid;

    GRAPH("{with: stays, text: one}", "{with: stays, end: true}");
    desk_ok(RUN);
    desk_out("did not exit by itself");
    desk_out("\"ended\": -7");
    desk_ok("cat out/term");
    GRAPH("{with: stays, text: one}", "{with: deaf, text: x}");
    pid = child_start("k", "$MORTISE run g.yaml --id k");
    child_await("k.out", "node_start b");
    child_run("sleep 1"); /* its program has begun */
    child_kill(pid);
    nobody_is_left("[s]leep.4321.25");
}
END_TEST

/* No line is longer than may be; what is said beside lines hurts nobody. */
START_TEST(what_it_says_is_bounded)
{
    GRAPH("{with: long, text: \"65536\"}", "{with: long, text: \"10\"}",
          "{with: shouts, text: one}", "{with: shouts, text: two}");
    desk_ok(RUN);
    desk_out("\"line\": \"65536\"");
    desk_out("\"line\": \"one\"");
    desk_out("\"line\": \"two\"");
    GRAPH("{with: long, text: \"65537\"}", "{with: long, text: \"10\"}");
    desk_ok("$MORTISE run g.yaml --id s && $MORTISE show s --json");
    desk_out("longer than max_line");
}
END_TEST

/* Why it was not started is said. */
START_TEST(one_that_is_not_there)
{
    GRAPH("{with: none, text: x}", "{with: unheard, text: x}",
          "{with: \"mcp:gone\", text: x}", "{with: \"mcp:far\", text: x}");
    deploy("tools: {mcp: {far: {url: \"https://example.com/mcp\"}}}\n");
    desk_ok(RUN);
    desk_out("\"ended\": -5");
    desk_out("/nowhere");
    desk_out("the deployment has no program 'unheard'");
    desk_out("'gone'");
    desk_out("'far'");
}
END_TEST

/* A server of tools.mcp is one, with its own environment, and no other. */
START_TEST(servers_are_programs)
{
    deploy("secrets: {token: {env: TOKEN}}\n"
           "tools:\n"
           "  mcp:\n"
           "    it: {command: [sh, -c, 'while read l; do echo \"$l $MODE "
           "$T $LEAKED\"; done'], env: {MODE: fast, T: "
           "\"secret://token\"}}\n");
    GRAPH("{with: \"mcp:it\", text: one}");
    desk_ok("TOKEN=hunter2hunter2 LEAKED=1 $MORTISE run g.yaml --id r && "
            "TOKEN=hunter2hunter2 $MORTISE show r --json");
    desk_out("\"line\": \"one fast [secret token] \"");
    child_run("grep -rl hunter2hunter2 store; true");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* What is of no run may not look at one; what ended there begins again. */
START_TEST(the_background_is_of_no_run)
{
    GRAPH("{look: true, with: x}", "{wait: 300, with: y}",
          "{with: counts, text: one}", "{leave: true}",
          "{with: counts, text: two}");
    desk_ok(RUN);
    desk_out("\"ended\": -8");
    desk_out("belongs to no run");
    desk_out("\"ended\": 0");
    GRAPH("{wait: 600000, with: y}"); /* it is let go of with the rest */
    child_run("timeout -s INT 2 $MORTISE run g.yaml --id w; test $? -ne 124");
    GRAPH("{look: true, with: x}", "{with: counts, text: one}", "{leave: true}",
          "{with: counts, text: two}");
    desk_ok("$MORTISE run g.yaml --id s && $MORTISE show s --json");
    desk_out("\"line\": \"1 one\"");
    desk_out("\"line\": \"1 two\"");
}
END_TEST

/* What a plugin was given it has in the next process, too; nobody else sees it. */
START_TEST(secrets_are_kept)
{
    desk_own_home();
    GRAPH("{kept: token, with: x}", "{keep: token, value: hunter2, with: y}",
          "{kept: token, with: z}");
    desk_ok(RUN);
    desk_out("\"ended\": -5");
    desk_out("[secret kept by converses]");
    desk_not_out("hunter2hunter2");
    GRAPH("{kept: token, with: x}", "{kept: other, with: y}");
    desk_ok("$MORTISE run g.yaml --id s && $MORTISE show s --json");
    desk_out("[secret kept by converses]");
    desk_out("\"ended\": -5");
    GRAPH("{keep: token, with: x}", "{kept: token, with: y}");
    desk_ok("$MORTISE run g.yaml --id t && $MORTISE show t --json");
    desk_out("\"ended\": -5");
    desk_not_out("kept by");
    child_run("grep -rl hunter2hunter2 store; true");
    ck_assert_str_eq(child.out, "");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_spawn");
    TCase *tc = tcase_create("cli_spawn");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_add_test(tc, programs_outlive_calls);
    tcase_add_test(tc, one_that_ended_is_started_anew);
    tcase_add_test(tc, one_that_stays_is_ended);
    tcase_add_test(tc, what_it_says_is_bounded);
    tcase_add_test(tc, one_that_is_not_there);
    tcase_add_test(tc, servers_are_programs);
    tcase_add_test(tc, the_background_is_of_no_run);
    tcase_add_test(tc, secrets_are_kept);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
