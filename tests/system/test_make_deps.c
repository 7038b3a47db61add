/* test_make_deps.c -- `make` changes no system: which targets install packages.
 *
 * PKG_CONFIG_LIBDIR hides all libraries, and the first apt-get on the PATH is one that
 * only writes its arguments down.  Nothing can be built, so each make ends with an
 * error. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static const char machine[] =
    "mkdir bin\n"
    "printf '#!/bin/sh\\necho \"$@\" >>%s/told\\n' $PWD >bin/apt-get\n"
    "printf '#!/bin/sh\\nexec \"$@\"\\n' >bin/sudo\n"
    "chmod +x bin/*\n";

static const char make[] =
    "rm -rf built told\n"
    "here=$PWD\n"
    "cd $TREE\n"
    "code=0\n"
    "env -u MAKEFLAGS -u MAKELEVEL PATH=$here/bin:$PATH "
    "PKG_CONFIG_LIBDIR=/none "
    "make B=$here/built $ARGS >$here/said 2>&1 || code=$?\n"
    "cd $here\n"
    "test $code = 2\n"
    "test ! -e built/deps.mk\n"
    "grep '^mortise: missing Debian packages:.* libyaml-dev ' said\n";

static const char names[] =
    "test ! -e told\n"
    "grep \"^mortise: 'make deps' installs them; or, as root: apt-get install"
    ".* libyaml-dev\" said\n";

static const char installs[] = "grep '^update ' told\n"
                               "grep '^install .* libyaml-dev ' told\n";

static const struct {
    const char *args;
    bool installs;
} rows[] = {
    {"", false},     {"install", false},
    {"unit", false}, {"deps NO_DEPS=1", false},
    {"deps", true},  {"demo", true},
    {"check", true}, {"check NO_DEPS=1", false},
};

START_TEST(who_installs)
{
    char root[PATH_MAX];
    const char *dir = test_mkdir();
    const char *const parts[] = {machine, make,
                                 rows[_i].installs ? installs : names};

    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    child_dir(dir);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s/script", dir);
        test_write(path, parts[i], strlen(parts[i]));
        child_run("TREE=%s ARGS='%s' sh -e script", root, rows[_i].args);
        ck_assert_msg(child.code == 0, "make %s: %s\n%s%s", rows[_i].args,
                      parts[i], child.out, child.err);
    }
    test_rmdir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("make_deps");
    TCase *tc = tcase_create("make_deps");

    tcase_add_loop_test(tc, who_installs, 0, sizeof rows / sizeof rows[0]);
    suite_add_tcase(s, tc);
    return test_run(s);
}
