/* test_cli_flags.c -- options that the tests of their commands do not need. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static const char graph[] = "start: a\n"
                            "nodes:\n"
                            "  a: {type: tool, tool: tried/echo,"
                            " args: {value: 1}}\n";

/* --verbose: what the engine logs, on stderr; otherwise only what is wrong. */
START_TEST(verbose_says_more)
{
    desk_graph("g", graph);
    desk_ok("$MORTISE run g.yaml --id quiet");
    ck_assert_ptr_null(strstr(child.err, "started, graph"));
    desk_ok("$MORTISE run g.yaml --id loud --verbose");
    desk_err("run loud: started, graph 'g'");
    desk_ok("$MORTISE run g.yaml --id short -v");
    desk_err("run short: started, graph 'g'");
}
END_TEST

static const char prints[] = "start: a\n"
                             "nodes:\n"
                             "  a: {type: tool, tool: tried/print,"
                             " args: {value: 1}}\n";

/* issue 15, 5: what a plugin prints does not reach the stdout of --json, nor any
 * other; it is on stderr. */
START_TEST(plugins_do_not_print_into_json)
{
    static const char *const commands[] = {
        "run g.yaml --id r --json", "run g.yaml --id s",
        "plugin call tried/print '{\"value\": 1}'",
        "plugin call tried/print '{\"value\": 1}' --json"};

    desk_graph("g", prints);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        desk_ok("$MORTISE %s", commands[i]);
        desk_not_out("printed");
        desk_not_out("written");
        desk_err("printed 1\n");
        desk_err("written\n");
    }
    desk_ok("$MORTISE run g.yaml --json 2>both | grep -v '^{'; test $? = 1");
    desk_ok("$MORTISE run g.yaml --json >both 2>&1; grep -c written both");
    ck_assert_str_eq(child.out, "1\n");
    child_run("$MORTISE runs >&-"); /* that nobody hears it is said as ever */
    desk_code(1);
    desk_err("write the output");
}
END_TEST

/* issue 15, 5: each line of an engine's log says when; what one command says to
 * who types it does not. */
START_TEST(the_log_has_times)
{
    pid_t engine;

    desk_graph("g", graph);
    desk_ok("$MORTISE run g.yaml --id loud --verbose");
    desk_err("mortise: info: run loud: started");
    ck_assert_ptr_null(strstr(child.err, "Z mortise: "));
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    desk_ok("$MORTISE run g.yaml --id there");
    ck_assert_int_eq(kill(engine, SIGTERM), 0);
    ck_assert_int_eq(child_wait(engine), 0);
    desk_ok("grep -c 'run there: started' engine.err");
    desk_ok("date=$(date -u +%%Y-%%m-%%d); "
            "grep -vE \"^$date\"'T[0-9:]{8}[.][0-9]{3}Z mortise: info: ' "
            "engine.err; test $? = 1");
}
END_TEST

/* --existing: who only wants to know hears nothing where there is no store. */
START_TEST(existing_says_nothing)
{
    desk_ok("$MORTISE runs --existing --store nowhere");
    ck_assert_str_eq(child.out, "");
    desk_ok("test ! -e nowhere");
    child_run("$MORTISE runs --store nowhere");
    desk_code(3);
    desk_err("no store at nowhere");
    desk_ok("test ! -e nowhere");
}
END_TEST

/* An empty list names the store that the command looked at. */
START_TEST(an_empty_list_names_the_store)
{
    static const char *const commands[] = {"runs", "runs --by-id", "inbox"};

    for (size_t i = 0; i < 3; i++) {
        desk_ok("rm -rf state other && $MORTISE %s", commands[i]);
        desk_out(": there is no store at ");
        desk_out("/state\n");
        desk_ok("test ! -e state && mkdir -p other/empty && cd other/empty && "
                "$MORTISE %s",
                commands[i]);
        desk_out(": there is no store at ./.mortise\n");
    }
    desk_graph("g", graph);
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE runs --status failed");
    desk_out("no matching runs in the store ");
    desk_ok("$MORTISE inbox");
    desk_out("no requests are pending in the store ");
    desk_out("/state\n");
    desk_ok("$MORTISE runs --tenant other --json");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* --versions: some versions of a plugin are revoked, others not. */
START_TEST(versions_are_revoked)
{
    desk_graph("g", graph);
    desk_ok("cp -r %s/trust.d . && sed -i 's#{dir: .*trust.d}#{dir: trust.d}#' "
            "mortise.yaml",
            desk_plugins);
    desk_ok("$MORTISE key revoke --plugin tried --versions '<1.0.0' "
            "--trust trust.d");
    desk_ok("$MORTISE run g.yaml --id fine");
    desk_ok("$MORTISE key revoke --plugin tried --versions '>=1.0.0 <1.0.1' "
            "--trust trust.d");
    child_run("$MORTISE run g.yaml --id none");
    ck_assert_int_ne(child.code, 0);
    desk_err("revoked");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_flags");
    TCase *tc = tcase_create("cli_flags");

    tcase_set_timeout(tc, 30);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, verbose_says_more);
    tcase_add_test(tc, plugins_do_not_print_into_json);
    tcase_add_test(tc, the_log_has_times);
    tcase_add_test(tc, existing_says_nothing);
    tcase_add_test(tc, an_empty_list_names_the_store);
    tcase_add_test(tc, versions_are_revoked);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
