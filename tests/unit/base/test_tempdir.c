/* test_tempdir.c -- directories of commands, and what a killed command left. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/tempdir.h"
#include "lib/test.h"

static char root[] = "/tmp/test-tempdir-XXXXXX";
static struct mortise_err err;

static void begin(void)
{
    test_begin();
    snprintf(root, sizeof root, "/tmp/test-tempdir-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    setenv("TMPDIR", root, 1);
}

static void end(void)
{
    ck_assert_int_eq(rmdir(root), 0);
    test_nothing_left();
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put(const char *dir, const char *name)
{
    char path[PATH_MAX + 32];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
}

/* A process makes one with a file below a directory in it, and is killed. */
static void leave_behind(const char *what, char path[PATH_MAX])
{
    int ends[2];
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct mortise_tempdir t;
        char below[PATH_MAX + 8];

        if (mortise_tempdir_make(&t, what, &err) == MORTISE_OK) {
            snprintf(below, sizeof below, "%s/store", t.path);
            mkdir(below, 0700);
            put(below, "CURRENT");
            if (write(ends[1], t.path, PATH_MAX) == PATH_MAX)
                kill(getpid(), SIGKILL);
        }
        _exit(1);
    }
    ck_assert_int_eq(read(ends[0], path, PATH_MAX), PATH_MAX);
    close(ends[0]);
    close(ends[1]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert(is_there(path));
}

/* The next of that name removes it; one that its maker has, one of another name and
 * what is not ours stay. */
START_TEST(what_was_left_behind_is_removed)
{
    char left[PATH_MAX], other[PATH_MAX], mine[PATH_MAX];
    struct mortise_tempdir a, b;

    leave_behind("once", left);
    leave_behind("case", other);
    snprintf(mine, sizeof mine, "%s/mortise-once-abcdef", root);
    ck_assert_int_eq(mkdir(mine, 0755), 0);
    ck_assert_int_eq(mortise_tempdir_make(&a, "once", &err), MORTISE_OK);
    ck_assert(!is_there(left));
    ck_assert(is_there(other));
    ck_assert(is_there(mine));
    ck_assert_int_eq(mortise_tempdir_make(&b, "once", &err), MORTISE_OK);
    ck_assert(is_there(a.path));
    mortise_tempdir_remove(&a);
    mortise_tempdir_remove(&a); /* once more does not matter */
    mortise_tempdir_remove(&b);
    ck_assert_int_eq(mortise_tempdir_make(&a, "case", &err), MORTISE_OK);
    ck_assert(!is_there(other));
    mortise_tempdir_remove(&a);
    ck_assert_int_eq(rmdir(mine), 0);
}
END_TEST

/* Where none can be made there is none. */
START_TEST(none_can_be_made)
{
    struct mortise_tempdir t;

    setenv("TMPDIR", "/proc/none", 1);
    ck_assert_int_ne(mortise_tempdir_make(&t, "once", &err), MORTISE_OK);
    ck_assert_ptr_nonnull(strstr(err.msg, "/proc/none"));
    mortise_tempdir_remove(&t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tempdir");
    TCase *tc = tcase_create("tempdir");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, what_was_left_behind_is_removed);
    tcase_add_test(tc, none_can_be_made);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
