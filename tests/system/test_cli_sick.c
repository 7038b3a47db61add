/* test_cli_sick.c -- `mortise doctor` on a host with something wrong that no
 * test can bring about: system calls are answered by tests/preload/sickhost.c.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/desk.h"

static const struct {
    const char *sick;
    int code;
    const char *line, *remedy;
} bad[] = {
    {"landlock", 0, "warn landlock    not available", "lsm="},
    {"seccomp", 0, "warn seccomp     not available", "CONFIG_SECCOMP_FILTER"},
    {"memfd", 2, "fail memfd       plugins cannot be loaded", "allow memfd"},
    {"proc", 2, "fail proc        /proc/self/fd: No such", "mount -t proc"},
    {"clock", 2, "fail clock       1970-01-01T00:16:40", "timedatectl"},
    {"nfs", 0, "warn disk        NFS: ", "a disk of this machine"},
    {"full", 2, "fail space       0 MiB free", "make space"},
    {"slow", 0, "warn sync        a synced write takes 6", "a faster disk"},
    {"curl", 0, "warn libcurl     HTTP needs libcurl (Debian: libcurl4): ",
     "apt-get install libcurl4"},
    {"eio", 2, "fail sync        a synced write failed: Input/output", "disk"},
};
enum { N_BAD = sizeof bad / sizeof bad[0] };

/* Each ill of the host has its line and its remedy. */
START_TEST(sick)
{
    desk_ok("mkdir -m 700 state");
    child_run("SICK=%s LD_PRELOAD=%s $MORTISE doctor", bad[_i].sick,
              child_build("tests/preload/sickhost.so"));
    desk_code(bad[_i].code);
    desk_out(bad[_i].line);
    desk_out(bad[_i].remedy);
}
END_TEST

/* libuv would end the process: an engine for which there are no descriptors says so
 * before it makes a loop. */
START_TEST(no_pipe)
{
    desk_graph("echo", "start: a\nnodes:\n"
                       "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                       "next: END}\n");
    child_run("SICK=pipes LD_PRELOAD=%s $MORTISE run echo.yaml --id r",
              child_build("tests/preload/sickhost.so"));
    desk_code(1);
    desk_err("E_LIMIT");
    desk_err("open files is reached");
    desk_ok("$MORTISE run echo.yaml --id r");
}
END_TEST

/* However little memory there is, the process ends with words and never by a signal.
 * What is in the store can be read.  The second time all looks for memory find some
 * that LevelDB does not find: its allocations throw through C. */
START_TEST(memory_is_short)
{
    unsigned done = 0, thrown = 0, refused = 0;
    char blind[PATH_MAX] = "";

    if (_i == 1)
        snprintf(blind, sizeof blind, "SICK=blind LD_PRELOAD=%s",
                 child_build("tests/preload/sickhost.so"));

    desk_graph("echo", "start: a\nnodes:\n"
                       "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                       "next: END}\n");
    desk_ok("printf '{\"x\": \"%%04000000d\"}' 0 >in.json");
    for (int kib = 30000; kib < 130000; kib += 1500) {
        child_run("ulimit -c 0; ulimit -v %d; %s $MORTISE run echo.yaml "
                  "--store s%d --input "
                  "@in.json",
                  kib, blind, kib);
        ck_assert_msg(child.code < 126, "%d KiB: %d\n%s%s", kib, child.code,
                      child.out, child.err);
        thrown +=
            strstr(child.err, "what was recorded stays (E_NO_MEMORY)") != NULL;
        refused += strstr(child.err, "E_NO_MEMORY") != NULL;
        done += child.code == 0;
        if (child.code == 0 || kib % 4500 != 0)
            continue;
        child_run("test ! -d s%d || $MORTISE runs --store s%d", kib, kib);
        desk_code(0);
    }
    ck_assert_uint_gt(_i == 1 ? thrown : refused, 0);
    ck_assert_uint_gt(done, 0);
}
END_TEST

/* Without libcurl whoever asks for HTTP is told so, and nobody else. */
START_TEST(no_curl)
{
    desk_put("mortise.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
             "plugins: {config: {http: {allow: [\"127.0.0.1:1\"]}}}\n");
    desk_graph("get", "start: a\nnodes:\n  a: {type: tool, tool: http/get,"
                      " args: {url: \"http://127.0.0.1:1/\"}, next: END}\n");
    child_run("SICK=curl LD_PRELOAD=%s $MORTISE run get.yaml --id r",
              child_build("tests/preload/sickhost.so"));
    desk_code(1);
    desk_out("HTTP needs libcurl (Debian: libcurl4)");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_sick");
    TCase *tc = tcase_create("sick");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, sick, 0, N_BAD);
    tcase_add_loop_test(tc, memory_is_short, 0, 2);
    tcase_add_test(tc, no_curl);
    tcase_add_test(tc, no_pipe);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
