/* test_cli_init.c -- `mortise init`: what it makes runs as it is, what it prints
 * works when it is pasted, and nothing that was there is written over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

/* What was just printed below "next:", as a script with a line for each command's
 * exit code: a person goes on after `run`, which waits. */
static void paste(void)
{
    const char *p = strstr(child.out, "next:\n");
    char script[8192];
    size_t n = 0;

    ck_assert_msg(p != NULL, "no commands in:\n%s%s", child.out, child.err);
    for (p += strlen("next:\n"); strncmp(p, "  ", 2) == 0;
         p += strcspn(p, "\n") + 1)
        n += (size_t)snprintf(script + n, sizeof script - n,
                              "%.*s\necho \"code $?\"\n", (int)strcspn(p, "\n"),
                              p);
    ck_assert_str_eq(p, "");
    desk_put("pasted", script);
    desk_ok("sh pasted");
}

/* All of it, in order: the way there, check, test, a run that asks, the answer,
 * and how it stands then. */
static void says_what_it_should(void)
{
    static const char *const parts[] = {"code 0\n",
                                        "3 passed, 0 failed\ncode 0\n",
                                        "Keep a note of 10 words?",
                                        "code 4\n",
                                        "run first completed",
                                        "code 0\n",
                                        "status   completed",
                                        "code 0\n"};
    const char *at = child.out;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *next = strstr(at, parts[i]);

        ck_assert_msg(next != NULL, "no '%s' in:\n%s%s", parts[i], at,
                      child.err);
        at = next + strlen(parts[i]);
    }
    ck_assert_str_eq(child.err, "");
}

/* issue 15, 12: a graph, its deployment and its test, which run offline; and each
 * printed command does what it should. */
static const struct {
    const char *before, *call, *note;
} calls[] = {
    {"", "$MORTISE init hello", "hello/note.txt"},
    {"", "$MORTISE init './a b' --name 1.0", "a b/note.txt"},
    {"mkdir 'it'\\''s' && ", "$MORTISE init \"it's/deep-er\"",
     "it's/deep-er/note.txt"},
    {"", "$MORTISE init --name null -- -x", "-x/note.txt"},
    {"ln -s $MORTISE called && ", "./called init hello/", "hello/note.txt"},
    {"rm mortise.yaml && ", "$MORTISE init . --name true", "note.txt"},
};

START_TEST(what_is_printed_works)
{
    desk_ok("%s%s", calls[_i].before, calls[_i].call);
    paste();
    says_what_it_should();
    desk_ok("cat -- '%s' | wc -l", strchr(calls[_i].note, '\'') == NULL
                                       ? calls[_i].note
                                       : "it'\\''s/deep-er/note.txt");
    ck_assert_str_eq(child.out, "1\n");
}
END_TEST

/* Nor does it matter that the shell speaks of another deployment. */
START_TEST(another_deployment)
{
    setenv("MORTISE_DEPLOYMENT", "/nowhere/mortise.yaml", 1);
    desk_ok("$MORTISE init hello");
    paste();
    unsetenv("MORTISE_DEPLOYMENT");
    says_what_it_should();
}
END_TEST

/* The name is the directory's, also of one that is called `.`; one that no graph
 * can have is said to be none, and nothing is made. */
START_TEST(names)
{
    desk_ok("mkdir here && cd here && $MORTISE init .");
    desk_out("made ./here.graph.yaml\n");
    desk_ok("grep 'name: \"here\"' here/here.graph.yaml");
    child_run("$MORTISE init 'no name'");
    desk_code(3);
    desk_err("--name");
    desk_err("'no name' is not a valid name");
    child_run("$MORTISE init fine --name -no");
    desk_code(3);
    desk_err("'-no' is not a valid name");
    child_run("$MORTISE init fine --name $(printf %%0200d 1)");
    desk_code(3);
    child_run("$MORTISE init no/such/place");
    desk_code(3);
    desk_err("no/such/place");
    desk_ok("ls");
    desk_not_out("no");
    desk_not_out("fine");
}
END_TEST

/* Whichever of its files is there already, it and all else stay as they were. */
static const char *const taken[] = {"x.graph.yaml", "x.test.yaml",
                                    "mortise.yaml", ".gitignore"};

START_TEST(nothing_is_written_over)
{
    desk_ok("mkdir x && echo mine >x/%s", taken[_i]);
    child_run("$MORTISE init x");
    desk_code(3);
    desk_err(taken[_i]);
    desk_err("exists; nothing was written");
    ck_assert_str_eq(child.out, "");
    desk_ok("ls -A x && cat x/%s", taken[_i]);
    desk_out(taken[_i]);
    ck_assert_uint_eq(strlen(child.out),
                      strlen(taken[_i]) + strlen("\nmine\n"));
    desk_ok("rm x/%s && ln -s nowhere x/%s", taken[_i], taken[_i]);
    child_run("$MORTISE init x");
    desk_code(3);
    desk_ok("ls -A x . | grep -c 'nowhere' || true");
    ck_assert_str_eq(child.out, "0\n");
}
END_TEST

/* Nor is a file in the directory's place, and what a disk did not take leaves
 * nothing behind. */
START_TEST(all_or_nothing)
{
    desk_ok("echo mine >x");
    child_run("$MORTISE init x");
    desk_code(3);
    desk_err("not a directory; nothing was written");
    child_run("trap '' XFSZ; ulimit -f 1; $MORTISE init y");
    desk_code(1);
    desk_ok("ls -A && mkdir y");
    desk_not_out("y\n");
    child_run("trap '' XFSZ; ulimit -f 1; $MORTISE init y");
    desk_code(1);
    desk_ok("ls -A y");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* Its tests hold wherever the process dies. */
START_TEST(its_tests_hold)
{
    desk_ok("$MORTISE init hello");
    desk_ok("cd hello && $MORTISE test --crash-everywhere hello.test.yaml");
    desk_out("3 passed, 0 failed");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_init");
    TCase *tc = tcase_create("init");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, what_is_printed_works, 0,
                        sizeof calls / sizeof calls[0]);
    tcase_add_test(tc, another_deployment);
    tcase_add_test(tc, names);
    tcase_add_loop_test(tc, nothing_is_written_over, 0,
                        sizeof taken / sizeof taken[0]);
    tcase_add_test(tc, all_or_nothing);
    tcase_add_test(tc, its_tests_hold);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
