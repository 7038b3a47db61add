/* test_cli_flags.c -- options that the tests of their commands do not need. */
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
    tcase_add_test(tc, existing_says_nothing);
    tcase_add_test(tc, versions_are_revoked);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
