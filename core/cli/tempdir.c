/* tempdir.c -- directories that are gone when the command is.
 *
 * In memory if that can be: what a killed process wrote there outlives it, and
 * nobody pulls the plug on what is thrown away anyhow.
 */
#define _XOPEN_SOURCE 700
#include "cli/tempdir.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOR_FILES = 64, OPEN_AT_ONCE = 16 };

static const char *parent(void)
{
    const char *tmp = getenv("TMPDIR");

    if (tmp != NULL && tmp[0] != '\0')
        return tmp;
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

int mortise_tempdir_make(char dir[PATH_MAX], const char *what,
                         struct mortise_err *err)
{
    int n = snprintf(dir, PATH_MAX, "%s/mortise-%s-XXXXXX", parent(), what);

    if (n < 0 || n >= PATH_MAX - FOR_FILES)
        return mortise_fail(err, MORTISE_EIO, "make a directory in %.200s: %s",
                            parent(), strerror(ENAMETOOLONG));
    if (mkdtemp(dir) == NULL)
        return mortise_fail(err, MORTISE_EIO, "make a directory in %.200s: %s",
                            parent(), strerror(errno));
    return MORTISE_OK;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

void mortise_tempdir_remove(const char *dir)
{
    nftw(dir, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}
