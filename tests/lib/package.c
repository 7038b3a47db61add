#include "lib/package.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char root[PATH_MAX]; /* of the tree */
static char dir[PATH_MAX];

static const char *const surroundings =
    "unset MAKEFLAGS MFLAGS MAKELEVEL B V ONLY\n"
    "prefix=$(sed 's/PREFIX=\\([^ ]*\\).*/\\1/' $BUILD/places)\n"
    "libdir=$(sed 's/.*LIBDIR=\\([^ ]*\\).*/\\1/' $BUILD/places)\n"
    "export PKG_CONFIG_SYSROOT_DIR=$PWD/stage\n"
    "export PKG_CONFIG_PATH=$PWD/stage$libdir/pkgconfig\n"
    "export LD_LIBRARY_PATH=$PWD/stage$libdir\n"
    "bin=stage$prefix/bin lib=stage$libdir\n"
    "cc=\"${CC:-cc} -Wall -Wextra -Wpedantic -Werror ${CFLAGS:-} -std=c11\"\n"
    "cxx=\"${CXX:-c++} -Wall -Wextra -Wpedantic -Werror ${CFLAGS:-} "
    "-std=c++11\"\n";

const char *package_file(const char *name)
{
    static char path[2 * PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

void package_must(const char *script)
{
    char *text;
    size_t n = strlen(surroundings) + strlen(script) + 1;

    text = malloc(n);
    ck_assert_ptr_nonnull(text);
    snprintf(text, n, "%s%s", surroundings, script);
    test_write(package_file("script"), text, n - 1);
    free(text);
    child_run("BUILD=%s TREE=%s sh -e script", child_build(""), root);
    ck_assert_msg(child.code == 0, "exit code %d of\n%s\n%s%s", child.code,
                  script, child.out, child.err);
}

void package_begin(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    strcpy(dir, test_mkdir());
    child_dir(dir);
}

void package_install(void)
{
    package_begin();
    package_must("make -s -C $TREE install B=$BUILD $(cat $BUILD/places) "
                 "DESTDIR=$PWD/stage\n");
}

void package_remove(void)
{
    test_rmdir(dir);
}
