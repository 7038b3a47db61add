/* tempdir.c -- temporary directories that do not outlive the command.
 *
 * They are in memory (/dev/shm) if possible: their content is never needed
 * after a power failure.
 *
 * The command holds a lock (flock(2)) on its directory while it runs.  An
 * unlocked directory belongs to a command that was killed, and the next command
 * that makes one with the same name removes it.
 */
#include "core/base/tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOR_FILES = 64, OPEN_AT_ONCE = 16, CHANCE = 6, TRIES = 8 };

static const char *get_tempdir_parent(void)
{
    const char *tmp = getenv("TMPDIR");

    if (tmp != NULL && tmp[0] != '\0')
        return tmp;
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

static int remove_tree_entry(const char *path, const struct stat *st, int type,
                             struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

static void remove_tempdir_tree(const char *path)
{
    nftw(path, remove_tree_entry, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

/* ---- abandoned directories ----------------------------------------------- */

static int open_tempdir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Remove a directory of this user, made here, whose maker no longer runs. */
static void remove_if_abandoned(const char *path)
{
    int fd = open_tempdir(path);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        (st.st_mode & 07777) == 0700 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_tempdir_tree(path);
    close(fd);
}

static void remove_abandoned_dirs(const char *name)
{
    size_t n = strlen(name);
    DIR *d = opendir(get_tempdir_parent());
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        char path[PATH_MAX];

        if (strncmp(e->d_name, name, n) != 0 ||
            strlen(e->d_name) != n + CHANCE ||
            snprintf(path, sizeof path, "%s/%s", get_tempdir_parent(),
                     e->d_name) >= (int)sizeof path)
            continue;
        remove_if_abandoned(path);
    }
    if (d != NULL)
        closedir(d);
}

/* ---- making one ---------------------------------------------------------- */

/* Lock a new directory; -1: somebody removed it first. */
static int lock_tempdir(const char *path)
{
    int fd = open_tempdir(path);
    struct stat ours, there;

    /* On a file system without such locks, nothing is ever removed. */
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
    if (fd >= 0 && fstat(fd, &ours) == 0 && lstat(path, &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int fail_make_tempdir(struct mortise_tempdir *t, int e,
                             struct mortise_err *err)
{
    t->path[0] = '\0';
    return mortise_fail(err, MORTISE_EIO, "make a directory in %.200s: %s",
                        get_tempdir_parent(), strerror(e));
}

int mortise_tempdir_make(struct mortise_tempdir *t, const char *what,
                         struct mortise_err *err)
{
    char name[64];
    int n;

    snprintf(name, sizeof name, MORTISE_TEMPDIR_NAME("%s"), what);
    remove_abandoned_dirs(name);
    for (int i = 0; i < TRIES; i++) {
        n = snprintf(t->path, sizeof t->path, "%s/%sXXXXXX",
                     get_tempdir_parent(), name);
        if (n < 0 || n >= PATH_MAX - FOR_FILES)
            return fail_make_tempdir(t, ENAMETOOLONG, err);
        if (mkdtemp(t->path) == NULL)
            return fail_make_tempdir(t, errno, err);
        t->lock = lock_tempdir(t->path);
        if (t->lock >= 0)
            return MORTISE_OK;
        /* Another command took the directory for an abandoned one before it was
     * locked. */
    }
    return fail_make_tempdir(t, EAGAIN, err);
}

void mortise_tempdir_remove(struct mortise_tempdir *t)
{
    if (!mortise_tempdir_is_made(t))
        return;
    remove_tempdir_tree(t->path);
    t->path[0] = '\0';
    close(t->lock);
}
