/* test_make_unit.c -- scripts/test.sh: what `make unit` prints, and its exit code.
 *
 * Small shell scripts stand in for test programs. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char root[PATH_MAX], dir[PATH_MAX];

static void begin(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    child_dir(dir);
    setenv("TEST_SH", strcat(strcpy(child.out, root), "/scripts/test.sh"), 1);
    unsetenv("TESTS_AT_ONCE");
    unsetenv("UNDER");
}

static void end(void)
{
    test_rmdir(dir);
}

/* A program test_NAME that does this. */
static void put(const char *name, const char *script)
{
    char path[PATH_MAX + 64], text[2048];

    snprintf(path, sizeof path, "%s/test_%s", dir, name);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    test_write(path, text, strlen(text));
    ck_assert_int_eq(chmod(path, 0755), 0);
}

#define PASSED(n) "echo '100%: Checks: " #n ", Failures: 0, Errors: 0'"

/* The output of the last run without seconds, which differ. */
static void printed(const char *out, const char *err)
{
    static char text[sizeof child.out];
    size_t n = 0;

    for (const char *c = child.out; *c != '\0'; c++) {
        const char *s = c;

        if (*c == '(') {
            int digits = (int)strspn(c + 1, "0123456789");

            if (digits > 0 && strncmp(c + 1 + digits, " s)", 3) == 0)
                s = c + digits + 3;
        }
        if (s != c)
            n += (size_t)snprintf(text + n, sizeof text - n, "(N s)");
        else
            text[n++] = *c;
        c = s;
    }
    text[n] = '\0';
    ck_assert_str_eq(text, out);
    ck_assert_str_eq(child.err, err);
}

/* Each program has a line with its number, its result and its time.  Below the
 * line of a failed program are its failed tests with their reasons; or the end of
 * its output, if it reported none. */
START_TEST(each_program_has_a_line)
{
    static const struct {
        const char *name, *script, *out, *err;
    } rows[] = {
        {"pass", PASSED(3),
         "  OK    1 of 1  test_pass: 100%: Checks: 3, Failures: 0, Errors: 0 "
         "(N s)\n",
         ""},
        {"quiet", "exit 0", "  OK    1 of 1  test_quiet: passed (N s)\n", ""},
        {"fails",
         "echo 'Running suite(s): x'; echo noise >&2\n"
         "echo '33%: Checks: 3, Failures: 1, Errors: 1'\n"
         "echo 'a/test_x.c:12:F:x:one:0: 1 != 2'\n"
         "echo 'a/test_x.c:15:E:x:two:0: (after this point) Received signal 11'"
         "\nexit 1",
         "  FAIL  1 of 1  test_fails: 33%: Checks: 3, Failures: 1, Errors: 1 "
         "(N s)\n"
         "          a/test_x.c:12:F:x:one:0: 1 != 2\n"
         "          a/test_x.c:15:E:x:two:0: (after this point) Received "
         "signal "
         "11\n"
         "          all output: ./test_fails.log\n",
         "0 of 1 suites passed; failed: fails\n"},
        {"says", "echo started; echo 'to stderr' >&2; exit 7",
         "  FAIL  1 of 1  test_says: exit status 7 (N s)\n"
         "          started\n"
         "          to stderr\n"
         "          all output: ./test_says.log\n",
         "0 of 1 suites passed; failed: says\n"},
        {"lies", PASSED(3) "; exit 23",
         "  FAIL  1 of 1  test_lies: 100%: Checks: 3, Failures: 0, Errors: 0 "
         "(N s)\n"
         "          100%: Checks: 3, Failures: 0, Errors: 0\n"
         "          all output: ./test_lies.log\n",
         "0 of 1 suites passed; failed: lies\n"},
        {"bytes",
         "printf '\\000\\377\\n'\n"
         "echo '0%: Checks: 1, Failures: 1, Errors: 0'\n"
         "echo 'test_x.c:12:F:x:one:0: reason'; exit 1",
         "  FAIL  1 of 1  test_bytes: 0%: Checks: 1, Failures: 1, Errors: 0 "
         "(N s)\n"
         "          test_x.c:12:F:x:one:0: reason\n"
         "          all output: ./test_bytes.log\n",
         "0 of 1 suites passed; failed: bytes\n"},
    };

    put(rows[_i].name, rows[_i].script);
    child_run("sh $TEST_SH ./test_%s", rows[_i].name);
    printed(rows[_i].out, rows[_i].err);
    ck_assert_int_eq(child.code, rows[_i].err[0] != '\0');
}
END_TEST

/* Of a program that died after much output, the last lines are there. */
START_TEST(the_end_of_a_crash)
{
    put("long", "seq 100; kill -SEGV $$");
    child_run("sh $TEST_SH ./test_long");
    ck_assert_int_eq(child.code, 1);
    ck_assert_ptr_nonnull(strstr(child.out, "test_long: exit status 139 ("));
    ck_assert_ptr_nonnull(strstr(child.out, "          100\n"));
    ck_assert_ptr_null(strstr(child.out, "          60\n"));
    child_run("sed -n '1p;100p' test_long.log");
    ck_assert_str_eq(child.out, "1\n100\n");
}
END_TEST

/* All programs run, whatever failed before, and the last line names each that
 * failed.  The numbers are as wide as the largest. */
START_TEST(the_rest_runs)
{
    put("a", "echo 't.c:1:F:a:b:0: wrong'; exit 1");
    put("b", PASSED(1));
    put("c", "kill -KILL $$");
    child_run("TESTS_AT_ONCE=1 sh $TEST_SH ./test_b ./test_b ./test_b ./test_b "
              "./test_a ./test_b ./test_c ./test_none ./test_b ./test_b");
    ck_assert_int_eq(child.code, 1);
    ck_assert_str_eq(child.err, "7 of 10 suites passed; failed: a c none\n");
    ck_assert_ptr_nonnull(strstr(child.out, "  OK     1 of 10  test_b: "));
    ck_assert_ptr_nonnull(strstr(child.out, "  FAIL   5 of 10  test_a: "));
    ck_assert_ptr_nonnull(strstr(child.out, "  FAIL   7 of 10  test_c: "));
    ck_assert_ptr_nonnull(strstr(child.out, "  FAIL   8 of 10  test_none: "));
    ck_assert_ptr_nonnull(strstr(child.out, "  OK    10 of 10  test_b: "));
}
END_TEST

/* A line is printed as soon as its program ends, while others run. */
START_TEST(lines_come_at_once)
{
    pid_t pid;

    put("slow", "until test -e go; do sleep 0.01; done");
    put("fast", "exit 0");
    pid = child_start(
        "unit", "env TESTS_AT_ONCE=2 sh $TEST_SH ./test_slow ./test_fast");
    child_await("unit.out", "  OK    1 of 2  test_fast: passed");
    child_run("cat unit.out; touch go");
    ck_assert_ptr_null(strstr(child.out, "test_slow"));
    ck_assert_int_eq(child_wait(pid), 0);
    child_await("unit.out", "  OK    2 of 2  test_slow: passed");
}
END_TEST

/* Two programs run at the same time, also without TESTS_AT_ONCE: each of these
 * needs the other. */
START_TEST(programs_run_beside_others)
{
    put("reads", "read line <meet; test $line = hello");
    put("writes", "echo hello >meet");
    child_run("mkfifo meet; sh $TEST_SH ./test_reads ./test_writes");
    ck_assert_int_eq(child.code, 0);
}
END_TEST

/* The lines of programs that end at the same moment stay together, and each has
 * a number of its own. */
START_TEST(lines_stay_together)
{
    unsigned seen = 0;
    char *line;

    for (int i = 0; i < 20; i++) {
        char name[8], script[256];

        snprintf(name, sizeof name, "%c", 'a' + i);
        snprintf(
            script, sizeof script,
            "for n in 1 2 3 4 5; do echo t.c:$n:F:%s:x:0: no; done; exit 1",
            name);
        put(name, script);
    }
    child_run("TESTS_AT_ONCE=20 sh $TEST_SH ./test_?");
    ck_assert_int_eq(child.code, 1);
    line = strtok(child.out, "\n");
    for (int i = 1; i <= 20; i++) {
        char want[64], name;
        int number;

        ck_assert_ptr_nonnull(line);
        ck_assert_int_eq(
            sscanf(line, "  FAIL  %d of 20  test_%c:", &number, &name), 2);
        ck_assert_int_eq(number, i);
        seen |= 1u << (name - 'a');
        for (int n = 1; n <= 5; n++) {
            line = strtok(NULL, "\n");
            ck_assert_ptr_nonnull(line);
            snprintf(want, sizeof want, "          t.c:%d:F:%c:x:0: no", n,
                     name);
            ck_assert_str_eq(line, want);
        }
        line = strtok(NULL, "\n");
        ck_assert_ptr_nonnull(line);
        snprintf(want, sizeof want, "          all output: ./test_%c.log",
                 name);
        ck_assert_str_eq(line, want);
        line = strtok(NULL, "\n");
    }
    ck_assert_ptr_null(line);
    ck_assert_uint_eq(seen, (1u << 20) - 1);
}
END_TEST

/* A runner that is killed is no success: the programs after it did not run. */
START_TEST(a_killed_runner_is_a_failure)
{
    put("a", "exit 0");
    put("kills", "kill -KILL $PPID");
    child_run("TESTS_AT_ONCE=1 sh $TEST_SH ./test_a ./test_kills ./test_a");
    ck_assert_int_eq(child.code, 1);
    ck_assert_ptr_nonnull(strstr(
        child.err, "1 of 3 suites passed; failed:; the rest did not run\n"));
}
END_TEST

/* No programs are no success, either. */
START_TEST(no_programs_are_a_failure)
{
    child_run("sh $TEST_SH");
    ck_assert_int_eq(child.code, 2);
    ck_assert_str_eq(child.out, "");
    ck_assert_str_eq(child.err, "test.sh: name the test programs to run\n");
}
END_TEST

/* A program runs under what UNDER says, and with limits for hanging tests, unless
 * the caller has others. */
START_TEST(programs_get_their_environment)
{
    static const char limits[] = "echo $FOUND $CK_DEFAULT_TIMEOUT "
                                 "$CK_TIMEOUT_MULTIPLIER; exit 1";

    put("under", limits);
    child_run("env -u CK_DEFAULT_TIMEOUT -u CK_TIMEOUT_MULTIPLIER "
              "UNDER='env FOUND=it' sh $TEST_SH ./test_under; "
              "CK_DEFAULT_TIMEOUT=7 CK_TIMEOUT_MULTIPLIER=2 "
              "sh $TEST_SH ./test_under");
    ck_assert_ptr_nonnull(strstr(child.out, "          it 60 5\n"));
    ck_assert_ptr_nonnull(strstr(child.out, "          7 2\n"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("make_unit");
    TCase *tc = tcase_create("make_unit");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, each_program_has_a_line, 0, 6);
    tcase_add_test(tc, the_end_of_a_crash);
    tcase_add_test(tc, the_rest_runs);
    tcase_add_test(tc, lines_come_at_once);
    tcase_add_test(tc, programs_run_beside_others);
    tcase_add_test(tc, lines_stay_together);
    tcase_add_test(tc, a_killed_runner_is_a_failure);
    tcase_add_test(tc, no_programs_are_a_failure);
    tcase_add_test(tc, programs_get_their_environment);
    suite_add_tcase(s, tc);
    return test_run(s);
}
