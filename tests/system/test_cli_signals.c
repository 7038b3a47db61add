/* test_cli_signals.c -- SIGINT and SIGTERM end whatever waits, whatever it waits
 * for, with the code that `mortise --help` says; a second one kills. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static void sign_all(void)
{
    desk_sign();
    desk_sign_ours("create_hangs");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name hangs "
            "--plugins 'create_*' --in-process");
}

static void put_files(void)
{
    desk_graph("time", "start: a\nnodes:\n"
                       "  a: {type: tool, tool: time/sleep, args: {for: 55s}, "
                       "next: END}\n");
    desk_graph("person", "start: a\nnodes:\n"
                         "  a: {type: human, prompt: Well?, wait: 1h, "
                         "on_timeout: reject, next: END}\n");
    desk_graph("both", "start: [a, b]\nnodes:\n"
                       "  a: {type: human, prompt: Well?, next: END}\n"
                       "  b: {type: tool, tool: time/sleep, args: {for: 55s}, "
                       "next: END}\n");
    desk_graph("hangs", "start: a\nnodes:\n"
                        "  a: {type: tool, tool: create_hangs/run, args: {}, "
                        "next: END}\n");
    desk_graph("talk", "start: [a, b]\nnodes:\n"
                       "  a: {type: human, prompt: Well?, next: c}\n"
                       "  b: {type: human, prompt: Well?, next: END}\n"
                       "  c: {type: tool, tool: time/sleep, args: {for: 55s}, "
                       "next: END}\n");
    desk_put("slow.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: slow}\n"
             "graph: slow.yaml\ncases:\n"
             "  one: {real: [tried], expect: {status: completed}}\n");
    desk_graph("slow", "start: a\nnodes:\n"
                       "  a: {type: tool, tool: tried/nap, args: {ms: 55000}, "
                       "next: END}\n");
}

/* What waits: a file that says that it does (NULL: there is none, it is given
 * time), and how it ends. */
static const struct waits {
    const char *line, *before, *file, *text;
    int code;
} waits[] = {
    {"run time.yaml --id r", NULL, "w.out", "node_start a", 4},
    {"run person.yaml --id r --wait", NULL, "w.out", "interrupt a", 4},
    {"run both.yaml --id r", NULL, "w.out", "interrupt a", 4},
    {"run both.yaml --id r --wait --json", NULL, "w.out", "\"interrupt\"", 4},
    {"resume r",
     "$MORTISE run time.yaml --id r >p & p=$!; until grep -q node_start p; "
     "do sleep 0.1; done; kill $p; wait $p; test $? = 4",
     "w.out", "command=resume", 4},
    {"approve r $($MORTISE inbox r --ids | sed -n 's/^r //;1p')",
     "$MORTISE run talk.yaml --id r >/dev/null; test $? = 4", "w.out",
     "node_start c", 4},
    {"events r --follow", "$MORTISE run person.yaml --id r >p; test $? = 4",
     "w.out", "interrupt a", 0},
    {"events r --follow --json",
     "$MORTISE run person.yaml --id r >p; test $? = 4", "w.out", "interrupt",
     0},
    {"engine", NULL, "w.err", "holding the store", 0},
    {"plugin call time/sleep '{\"for\": \"55s\"}'", NULL, "w.out", NULL, 1},
    {"check --plugins hangs.yaml", NULL, "w.out", NULL, 1},
    {"test slow.test.yaml", NULL, "w.out", NULL, 1},
};
enum { WAITS = sizeof waits / sizeof waits[0] };

/* Issue 15, 2: each command that waits, by either signal; whatever it started is
 * gone, and nothing lies about. */
START_TEST(signals_end_what_waits)
{
    const struct waits *w = &waits[_i / 2];
    int code;
    pid_t pid;

    put_files();
    desk_ok("mkdir tmp");
    if (w->before != NULL)
        desk_ok("%s", w->before);
    pid = child_start("w", "env TMPDIR=$PWD/tmp $MORTISE %s", w->line);
    if (w->text != NULL)
        child_await(w->file, w->text);
    usleep(500000); /* it has let go, and waits */
    child_signal(pid, _i % 2 == 0 ? SIGINT : SIGTERM);
    code = child_wait(pid);
    child_run("cat w.out w.err");
    ck_assert_msg(code == w->code, "%s: %d, not %d\n%s", w->line, code, w->code,
                  child.out);
    desk_ok("ls tmp");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* The words of --help, which say so. */
START_TEST(help_has_the_codes)
{
    desk_ok("$MORTISE --help");
    desk_out("SIGINT (Ctrl-C) and SIGTERM end every command that waits");
    desk_out("130 after SIGINT");
}
END_TEST

/* Where the process that has the store does not move: a signal ends who has not
 * begun, and the second one whoever waits for it to pause its run. */
START_TEST(signals_end_who_waits_for_another)
{
    pid_t host, late, run;

    put_files();
    host = child_start("host", "$MORTISE run time.yaml --id h");
    child_await("host.out", "node_start");
    run = child_start("run", "$MORTISE run time.yaml --id r");
    child_await("run.out", "node_start");
    kill(host, SIGSTOP);
    late = child_start("late", "$MORTISE run time.yaml --id l");
    usleep(500000);
    kill(late, SIGINT);
    ck_assert_int_eq(child_wait(late), 128 + SIGINT);
    child_signal(run, SIGTERM);
    kill(run, SIGTERM);
    ck_assert_int_eq(child_wait(run), 128 + SIGTERM);
    kill(host, SIGCONT);
    child_kill(host);
    desk_ok("$MORTISE show r");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_signals");
    TCase *tc = tcase_create("signals");

    tcase_set_timeout(tc, 50);
    tcase_add_unchecked_fixture(tc, sign_all, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, signals_end_what_waits, 0, 2 * WAITS);
    tcase_add_test(tc, help_has_the_codes);
    tcase_add_test(tc, signals_end_who_waits_for_another);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
