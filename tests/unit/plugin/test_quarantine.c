/* test_quarantine.c -- a quarantine without a time limit is on disk or is not,
 * wherever the process that writes it dies and whenever the power fails. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/powercut.h"
#include "lib/test.h"
#include "core/plugin/quarantine.h"

#define REASON "the plugin did not return from a call"

static char dir[4096], store[8192], books[8192], file[16384];
static struct mortise_manifest manifest;
static struct mortise_err err;

static void begin(void)
{
    strcpy(dir, test_mkdir());
    snprintf(store, sizeof store, "%s/store", dir);
    snprintf(books, sizeof books, "%s/books", dir);
    snprintf(file, sizeof file, "%s/quarantine/p", store);
    memset(&manifest, 0, sizeof manifest);
    manifest.name = "p";
    memset(manifest.digest, 0xab, sizeof manifest.digest);
}

static void end(void)
{
    test_rmdir(dir);
}

/* What is there before: nothing; or a death, and half a line of the next. */
static void prepare(bool dead)
{
    char path[8200], hex[MORTISE_DIGEST_HEX], text[1024];

    test_rmdir(store);
    ck_assert_int_eq(mkdir(store, 0700), 0);
    if (!dead)
        return;
    snprintf(path, sizeof path, "%s/quarantine", store);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    mortise_hex_encode(hex, manifest.digest, sizeof manifest.digest);
    snprintf(text, sizeof text, "\n%s died 1000 SIGSEGV call - - -\n\n%s di",
             hex, hex);
    test_write(file, text, strlen(text));
}

static int put(int at)
{
    return mortise_quarantine_add(at, "quarantine", &manifest, REASON, &err);
}

/* Another process puts the reason there.  It is killed at the n-th call, and with
 * 0 it is not: then the number of its calls, else -1. */
static int put_and_die(unsigned long n)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int at = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        powercut_begin(books, store, NULL, NULL);
        powercut_kill_at(n);
        _exit(put(at) == MORTISE_OK ? (int)powercut_calls() : 255);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
        return -1;
    }
    ck_assert_int_ne(WEXITSTATUS(status), 255);
    return WEXITSTATUS(status);
}

/* Is the reason there, and is the death? */
static bool has_reason(bool dead)
{
    char why[MORTISE_WHY_MAX];
    uint64_t until_ms;
    bool noted;
    int at = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_eq(mortise_quarantine_read_reason(why, &until_ms, &noted, at,
                                                    "quarantine", &manifest,
                                                    2000, &err),
                     MORTISE_OK);
    close(at);
    ck_assert_int_eq(noted, dead);
    ck_assert_uint_eq(until_ms, 0);
    ck_assert_msg(why[0] == '\0' || strcmp(why, REASON) == 0, "%s", why);
    return why[0] != '\0';
}

static void put_again(bool dead)
{
    int at = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_eq(put(at), MORTISE_OK);
    close(at);
    ck_assert(has_reason(dead));
}

/* Killed at each call, and with a power cut behind it or without: the reason is
 * there or is not, the death still counts, and the reason can be put again. */
START_TEST(killed_at_each_call)
{
    bool dead = _i % 2 != 0, cut = _i >= 2;
    int calls;

    prepare(dead);
    calls = put_and_die(0);
    ck_assert_int_gt(calls, 3);
    ck_assert_int_eq(powercut_settle(books), 0);
    for (int n = 1; n <= calls; n++) {
        prepare(dead);
        ck_assert_int_eq(put_and_die((unsigned long)n), -1);
        ck_assert_int_eq(cut ? powercut_apply(books, 0)
                             : powercut_settle(books),
                         0);
        has_reason(dead);
        put_again(dead);
    }
}
END_TEST

/* Once the reason was put there, no power cut takes it away. */
START_TEST(a_power_cut_takes_no_reason)
{
    bool dead = _i != 0;

    prepare(dead);
    ck_assert_int_gt(put_and_die(0), 3);
    ck_assert_int_eq(powercut_apply(books, 0), 0);
    ck_assert(has_reason(dead));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("quarantine");
    TCase *tc = tcase_create("quarantine");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, killed_at_each_call, 0, 4);
    tcase_add_loop_test(tc, a_power_cut_takes_no_reason, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
