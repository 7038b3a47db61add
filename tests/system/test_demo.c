/* test_demo.c -- the commands that `make demo` prints work when pasted.
 *
 * The demo runs with a directory of its own for what it writes.  Its printed
 * commands, and nothing else, are then given to another shell, which has none of
 * the demo's variables. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

/* The files of the build, so that build/demo is the test's. */
static const char demo[] =
    "mkdir build\n"
    "ln -s $BUILT/* build\n"
    "rm -f build/demo\n"
    "MORTISE_BUILD=$PWD/build sh $TREE/scripts/demo.sh >said\n"
    "sed -n 's/^\\$ //p' said >lines\n";

/* Who pastes a line that ends with & reads its output before the next line.  The
 * code of `kill` depends on how far the process came meanwhile. */
static const char paste[] =
    "cat >program <<'end'\n"
    "{ print }\n"
    "/ &$/ { print \"while kill -0 $! && ! grep -q '\" (n++ ? \"node_start "
    "write\" : \"node_end read\") \"' $OUT; do sleep 0.01; done\"; next }\n"
    "/^kill / { next }\n"
    "{ print \"printf '%s ' $? >>$CODES\" }\n"
    "end\n"
    "awk -f program lines >pasted\n"
    "export OUT=$PWD/out CODES=$PWD/codes\n"
    "(cd $TREE && env -u TRIAGE_DIR -u XDG_STATE_HOME sh $OLDPWD/pasted) "
    ">out\n";

/* Three commands begin anew; the first resume waits for a person. */
static const char found[] =
    "cat codes\n"
    "test \"$(cat codes)\" = '0 0 0 0 4 0 0 0 0 0 '\n"
    "grep -c '^\\$ kill -9 \\$!$' said | grep -x 2\n"
    "grep -c '^# Triage' build/demo/report.md | grep -x 1\n"
    "grep 'end (completed)' out\n";

START_TEST(pasted_commands_work)
{
    const char *const parts[] = {demo, paste, found};
    char root[PATH_MAX], built[PATH_MAX], path[PATH_MAX];
    const char *dir = test_mkdir();

    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    snprintf(built, sizeof built, "%s", child_build(""));
    child_dir(dir);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(path, sizeof path, "%s/script", dir);
        test_write(path, parts[i], strlen(parts[i]));
        child_run("TREE=%s BUILT=%s sh -e script", root, built);
        ck_assert_msg(child.code == 0, "%s\n%s%s", parts[i], child.out,
                      child.err);
    }
    test_rmdir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("demo");
    TCase *tc = tcase_create("demo");

    tcase_add_test(tc, pasted_commands_work);
    suite_add_tcase(s, tc);
    return test_run(s);
}
