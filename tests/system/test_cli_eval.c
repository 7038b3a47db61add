/* test_cli_eval.c -- `mortise eval`: what it prints and what it ends with. */
#include <check.h>
#include <string.h>

#include "lib/desk.h"

static void gives(const char *want)
{
    desk_code(0);
    ck_assert_str_eq(child.out, want);
    ck_assert_str_eq(child.err, "");
}

/* JSON in, JSON out, one line. */
START_TEST(values_are_json)
{
    desk_put("v.json", "{\"tags\":[\"a\",\"b\"],\"n\":2.5,\"a-b\":1}");
    child_run("$MORTISE eval '1 + 1'");
    gives("2\n");
    child_run("$MORTISE eval 'size(tags) > 1 && n == 2.5' --vars v.json");
    gives("true\n");
    child_run("$MORTISE eval --vars=v.json '{\"t\": tags.map(t, t + \"!\")}'");
    gives("{\"t\":[\"a!\",\"b!\"]}\n");
    child_run("echo '{\"x\":[1]}' | $MORTISE eval 'x[0]' --vars -");
    gives("1\n");
    child_run("printf '1 +\\n 2' | $MORTISE eval -");
    gives("3\n");
}
END_TEST

/* A minus is no option here, but what looks like a name is one. */
START_TEST(expressions_may_begin_with_a_dash)
{
    desk_put("v.json", "{\"x\":5,\"v\":1}");
    child_run("$MORTISE eval '-x < 0' --vars v.json");
    gives("true\n");
    child_run("$MORTISE eval -x --vars v.json");
    gives("-5\n");
    child_run("$MORTISE eval --1");
    gives("1\n");
    child_run("$MORTISE eval --vars v.json -- -v");
    gives("-1\n");
    child_run("$MORTISE eval --vras 1");
    desk_code(3);
    desk_err("unknown option '--vras'; did you mean '--vars'?");
}
END_TEST

/* 2: it can never work; 1: it failed; 3: it cannot be asked. */
START_TEST(failures_say_where)
{
    child_run("printf 'true &&\\n  inptu.ok' | $MORTISE eval -");
    desk_code(2);
    ck_assert_str_eq(child.out, "");
    ck_assert_str_eq(child.err,
                     "expression:2:3: error[E0401]: unknown name 'inptu'\n"
                     "    2 |   inptu.ok\n"
                     "      |   ^^^^^\n");
    child_run("$MORTISE eval 'x.?y'");
    desk_code(2);
    desk_err("expression:1:3: error[E0404]: ");
    child_run("$MORTISE eval '[1, 2][5]'");
    desk_code(1);
    desk_err("expression:1:7: index out of bounds");
    child_run("$MORTISE eval 'b\"x\"'");
    desk_code(1);
    desk_err("expression:1:1: the result contains bytes, which JSON cannot "
             "represent");
    child_run("$MORTISE eval x --vars /nowhere");
    desk_code(3);
    child_run("echo '[1]' | $MORTISE eval x --vars -");
    desk_code(3);
    desk_err("not an object of names and values");
    child_run("echo 1 | $MORTISE eval - --vars -");
    desk_code(3);
    child_run("$MORTISE eval");
    desk_code(3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_eval");
    TCase *tc = tcase_create("eval");

    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, values_are_json);
    tcase_add_test(tc, expressions_may_begin_with_a_dash);
    tcase_add_test(tc, failures_say_where);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
