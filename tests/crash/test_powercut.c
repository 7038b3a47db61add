/* test_powercut.c -- the instrument: does it cut what a power cut would, and
 * nothing else?  A crash test can only be as good. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/powercut.h"
#include "lib/test.h"

static char dir[4096], state[4200], disk[4200], strict[4300], journal[4300],
    renames[4200];

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(state, sizeof state, "%s/books", dir);
    snprintf(renames, sizeof renames, "%s/renames", dir);
    snprintf(disk, sizeof disk, "%s/disk", dir);
    snprintf(strict, sizeof strict, "%s/strict", disk);
    snprintf(journal, sizeof journal, "%s/journal", disk);
    ck_assert_int_eq(mkdir(disk, 0700), 0);
    ck_assert_int_eq(mkdir(strict, 0700), 0);
    ck_assert_int_eq(mkdir(journal, 0700), 0);
    test_begin();
}

static void teardown(void)
{
    powercut_end();
    test_rmdir(dir);
    test_nothing_left();
}

static void begin(void)
{
    powercut_begin(state, disk, journal, renames);
}

static void cut(int keep)
{
    powercut_end();
    ck_assert_int_eq(powercut_apply(state, keep), 0);
}

static char *in(const char *at, const char *name)
{
    static char full[8][8600];
    static int i;

    i = (i + 1) % 8;
    snprintf(full[i], sizeof full[i], "%s/%s", at, name);
    return full[i];
}

/* Append to a file, made if missing. */
static void put(const char *path, const char *text, bool sync)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    if (sync)
        ck_assert_int_eq(fdatasync(fd), 0);
    ck_assert_int_eq(close(fd), 0);
}

static void sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fsync(fd), 0);
    ck_assert_int_eq(close(fd), 0);
}

/* NULL: there is no such file. */
static void holds(const char *path, const char *text)
{
    char *got;

    if (text == NULL) {
        ck_assert_msg(access(path, F_OK) != 0, "%s is there", path);
        return;
    }
    got = test_read(path, NULL);
    ck_assert_str_eq(got, text);
    free(got);
}

/* Of a file what was synced stays, of its tail what the cut lets be. */
START_TEST(unsynced_data_is_cut)
{
    put(in(strict, "old"), "before", false);
    begin();
    put(in(strict, "old"), "+more", false);
    put(in(strict, "new"), "synced", true);
    put(in(strict, "new"), "1234", false);
    put(in(strict, "none"), "12", false);
    sync_dir(strict);
    cut(_i);
    holds(in(strict, "old"), _i == 0    ? "before"
                             : _i == 50 ? "before+m"
                                        : "before+more");
    holds(in(strict, "new"), _i == 0    ? "synced"
                             : _i == 50 ? "synced12"
                                        : "synced1234");
    holds(in(strict, "none"), _i == 0 ? "" : _i == 50 ? "1" : "12");
}
END_TEST

/* A name is durable once its directory was synced: syncing the file is not
 * enough. */
START_TEST(unsynced_names_vanish)
{
    begin();
    put(in(strict, "lost"), "x", true);
    ck_assert_int_eq(mkdir(in(strict, "sub"), 0700), 0);
    put(in(strict, "sub/deep"), "x", true);
    cut(0);
    holds(in(strict, "lost"), NULL);
    holds(in(strict, "sub"), NULL);
    begin();
    put(in(strict, "kept"), "x", true);
    ck_assert_int_eq(mkdir(in(strict, "sub"), 0700), 0);
    put(in(strict, "sub/deep"), "x", true);
    sync_dir(strict);
    cut(0);
    holds(in(strict, "kept"), "x");
    ck_assert_int_eq(access(in(strict, "sub"), F_OK), 0);
    holds(in(strict, "sub/deep"), NULL);
}
END_TEST

/* A rename that was not synced is undone, its old target back; so is an
 * unlink; and the log of renames tells. */
START_TEST(unsynced_renames_are_undone)
{
    char *log, expected[40000];
    int at = open(strict, O_RDONLY | O_DIRECTORY);

    put(in(strict, "report"), "old", false);
    put(in(strict, "gone"), "alive", false);
    begin();
    put(in(strict, "tmp"), "new", true);
    sync_dir(strict);
    ck_assert_int_eq(renameat(at, "tmp", at, "report"), 0);
    ck_assert_int_eq(unlinkat(at, "gone", 0), 0);
    holds(in(strict, "report"), "new");
    cut(0);
    holds(in(strict, "report"), "old");
    holds(in(strict, "tmp"), "new");
    holds(in(strict, "gone"), "alive");
    begin();
    ck_assert_int_eq(rename(in(strict, "tmp"), in(strict, "report")), 0);
    ck_assert_int_eq(unlink(in(strict, "gone")), 0);
    sync_dir(strict);
    cut(0);
    holds(in(strict, "report"), "new");
    holds(in(strict, "tmp"), NULL);
    holds(in(strict, "gone"), NULL);
    close(at);

    log = test_read(renames, NULL);
    snprintf(expected, sizeof expected,
             "rename %s %s\nundone %s\nrename %s %s\n", in(strict, "tmp"),
             in(strict, "report"), in(strict, "report"), in(strict, "tmp"),
             in(strict, "report"));
    ck_assert_str_eq(log, expected);
    free(log);
}
END_TEST

/* In a journaled directory any sync there makes earlier names durable, in
 * order; one elsewhere does not. */
START_TEST(a_journal_orders_names)
{
    begin();
    put(in(journal, "CURRENT"), "1", true);
    put(in(journal, "tmp"), "2", true);
    ck_assert_int_eq(rename(in(journal, "tmp"), in(journal, "CURRENT")), 0);
    put(in(strict, "other"), "x", true);
    cut(0);
    holds(in(journal, "CURRENT"), "1");
    begin();
    ck_assert_int_eq(rename(in(journal, "tmp"), in(journal, "CURRENT")), 0);
    put(in(journal, "log"), "x", true);
    ck_assert_int_eq(unlink(in(journal, "log")), 0);
    cut(0);
    holds(in(journal, "CURRENT"), "2");
    holds(in(journal, "log"), "x");
}
END_TEST

/* A journaled directory may be made later, and the one around it. */
START_TEST(a_journal_may_be_made_later)
{
    powercut_begin(state, disk, in(disk, "later/journal"), NULL);
    ck_assert_int_eq(mkdir(in(disk, "later"), 0700), 0);
    ck_assert_int_eq(mkdir(in(disk, "later/journal"), 0700), 0);
    sync_dir(disk);
    sync_dir(in(disk, "later"));
    put(in(disk, "later/journal/f"), "x", true);
    put(in(disk, "later/g"), "x", true);
    cut(0);
    holds(in(disk, "later/journal/f"), "x");
    holds(in(disk, "later/g"), NULL);
}
END_TEST

/* Half of the journaled names, in order, may have come through. */
START_TEST(a_journal_may_be_half_written)
{
    begin();
    for (int i = 0; i < 4; i++) {
        char name[2] = {(char)('a' + i), '\0'};

        close(open(in(journal, name), O_CREAT | O_WRONLY, 0600));
    }
    cut(50);
    holds(in(journal, "a"), "");
    holds(in(journal, "b"), "");
    holds(in(journal, "c"), NULL);
    holds(in(journal, "d"), NULL);
}
END_TEST

/* Truncation, a hard link and pieces written at once are followed too. */
START_TEST(the_other_calls_are_followed)
{
    struct iovec two[2] = {{(char *)(uintptr_t) "ab", 2},
                           {(char *)(uintptr_t) "cd", 2}};
    int fd;

    begin();
    fd = creat(in(strict, "f"), 0600);
    ck_assert_int_eq(writev(fd, two, 2), 4);
    ck_assert_int_eq(fsync(fd), 0);
    ck_assert_int_eq(ftruncate(fd, 1), 0);
    ck_assert_int_eq(pwrite(fd, "xyz", 3, 1), 3);
    ck_assert_int_eq(link(in(strict, "f"), in(strict, "g")), 0);
    sync_dir(strict);
    ck_assert_int_eq(link(in(strict, "f"), in(strict, "h")), 0);
    close(fd);
    cut(0);
    holds(in(strict, "f"), "a");
    holds(in(strict, "g"), "a");
    holds(in(strict, "h"), NULL);
}
END_TEST

/* What lies outside of the roots is left alone. */
START_TEST(others_are_left_alone)
{
    begin();
    powercut_fail("any:1:EIO:always");
    put(in(dir, "mine"), "x", false);
    cut(0);
    holds(in(dir, "mine"), "x");
}
END_TEST

/* A root may be as large as a directory in "/".  There is no cut here: others'
 * files lie in it, too, and one of them may be given the inode of ours. */
START_TEST(a_root_may_lie_in_the_root)
{
    char root[4096];

    snprintf(root, sizeof root, "%s", dir);
    *strchrnul(root + 1, '/') = '\0';
    powercut_begin(state, root, NULL, NULL);
    ck_assert_uint_eq(powercut_calls(), 0);
    put(in(strict, "f"), "x", true);
    ck_assert_uint_gt(powercut_calls(), 0);
    powercut_end();
}
END_TEST

/* A fault comes at the call that was asked for, once or always. */
START_TEST(faults_come_as_asked_for)
{
    int fd;

    begin();
    powercut_fail("write:2:EIO:once");
    fd = open(in(strict, "f"), O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, "a", 1), 1);
    ck_assert_int_eq(write(fd, "b", 1), -1);
    ck_assert_int_eq(errno, EIO);
    ck_assert_int_eq(write(fd, "c", 1), 1);
    powercut_fail("write:1:short:always");
    ck_assert_int_eq(write(fd, "defg", 4), 2);
    ck_assert_int_eq(write(fd, "fg", 2), -1);
    ck_assert_int_eq(errno, ENOSPC);
    ck_assert_int_eq(write(fd, "fg", 2), -1);
    powercut_fail("fdatasync:1:ENOSPC:always");
    ck_assert_int_eq(fsync(fd), -1);
    ck_assert_int_eq(fdatasync(fd), -1);
    ck_assert_int_eq(errno, ENOSPC);
    powercut_fail("rename:1:EACCES:once");
    ck_assert_int_eq(rename(in(strict, "f"), in(strict, "g")), -1);
    ck_assert_int_eq(errno, EACCES);
    powercut_fail("open:1:EMFILE:once");
    ck_assert_int_eq(open(in(strict, "f"), O_RDONLY), -1);
    ck_assert_int_eq(errno, EMFILE);
    powercut_fail(NULL);
    ck_assert_int_eq(rename(in(strict, "f"), in(strict, "g")), 0);
    close(fd);
    holds(in(strict, "g"), "acde");
}
END_TEST

/* Killed before its n-th call, a process has made n - 1 of them; what it had
 * noted is cut; a rename that it never made counts as undone. */
START_TEST(a_kill_comes_at_the_call)
{
    int status;
    pid_t child;

    put(in(strict, "old"), "old", false);
    child = fork();
    if (child == 0) {
        begin();
        powercut_kill_at((unsigned long)_i);
        put(in(strict, "tmp"), "new", true); /* 4 calls */
        rename(in(strict, "tmp"), in(strict, "old"));
        sync_dir(strict); /* 3 calls */
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                     _i <= 8);
    if (_i == 5)
        holds(in(strict, "old"), "old");
    if (_i == 6)
        holds(in(strict, "old"), "new");
    ck_assert_int_eq(powercut_apply(state, 0), 0);
    holds(in(strict, "old"), _i <= 7 ? "old" : "new");
    holds(in(strict, "tmp"), NULL);
}
END_TEST

/* Without a cut, settling removes the books and touches nothing. */
START_TEST(settling_cuts_nothing)
{
    begin();
    put(in(strict, "f"), "unsynced", false);
    ck_assert_int_eq(rename(in(strict, "f"), in(strict, "g")), 0);
    powercut_end();
    ck_assert_int_eq(powercut_settle(state), 0);
    holds(in(strict, "g"), "unsynced");
    holds(state, NULL);
    ck_assert_int_eq(powercut_settle(state), -1);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("powercut");
    TCase *tc = tcase_create("powercut");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, unsynced_data_is_cut, 0, 1);
    tcase_add_loop_test(tc, unsynced_data_is_cut, 50, 51);
    tcase_add_loop_test(tc, unsynced_data_is_cut, 100, 101);
    tcase_add_test(tc, unsynced_names_vanish);
    tcase_add_test(tc, unsynced_renames_are_undone);
    tcase_add_test(tc, a_journal_orders_names);
    tcase_add_test(tc, a_journal_may_be_made_later);
    tcase_add_test(tc, a_journal_may_be_half_written);
    tcase_add_test(tc, the_other_calls_are_followed);
    tcase_add_test(tc, others_are_left_alone);
    tcase_add_test(tc, a_root_may_lie_in_the_root);
    tcase_add_test(tc, faults_come_as_asked_for);
    tcase_add_loop_test(tc, a_kill_comes_at_the_call, 1, 10);
    tcase_add_test(tc, settling_cuts_nothing);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
