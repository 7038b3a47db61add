/* tempdir.c -- directories that are gone when the command is.
 *
 * In memory if that can be: what a killed process wrote there outlives it, and
 * nobody pulls the plug on what is thrown away anyhow.
 *
 * The maker has a lock on its directory (flock(2)) for as long as it lives.  So a
 * directory that nobody has locked was left behind, and the next maker of one with
 * that name removes it.
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

static const char *parent(void)
{
    const char *tmp = getenv("TMPDIR");

    if (tmp != NULL && tmp[0] != '\0')
        return tmp;
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
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

static void remove_all(const char *path)
{
    nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

/* ---- those that were left behind ------------------------------------------ */

static int open_dir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* One that was made as ours are, by this user, if its maker is gone. */
static void clear_one(const char *path)
{
    int fd = open_dir(path);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        (st.st_mode & 07777) == 0700 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_all(path);
    close(fd);
}

static void clear_left_behind(const char *name)
{
    size_t n = strlen(name);
    DIR *d = opendir(parent());
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        char path[PATH_MAX];

        if (strncmp(e->d_name, name, n) != 0 ||
            strlen(e->d_name) != n + CHANCE ||
            snprintf(path, sizeof path, "%s/%s", parent(), e->d_name) >=
                (int)sizeof path)
            continue;
        clear_one(path);
    }
    if (d != NULL)
        closedir(d);
}

/* ---- making one ------------------------------------------------------------- */

/* Its lock, once nobody else has it; -1: the directory is gone by then. */
static int lock_dir(const char *path)
{
    int fd = open_dir(path);
    struct stat ours, there;

    /* Where there are no such locks nothing is ever cleared away. */
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
    if (fd >= 0 && fstat(fd, &ours) == 0 && lstat(path, &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int fail(struct mortise_tempdir *t, int e, struct mortise_err *err)
{
    t->path[0] = '\0';
    return mortise_fail(err, MORTISE_EIO, "make a directory in %.200s: %s",
                        parent(), strerror(e));
}

int mortise_tempdir_make(struct mortise_tempdir *t, const char *what,
                         struct mortise_err *err)
{
    char name[64];
    int n;

    snprintf(name, sizeof name, MORTISE_TEMPDIR_NAME("%s"), what);
    clear_left_behind(name);
    for (int i = 0; i < TRIES; i++) {
        n = snprintf(t->path, sizeof t->path, "%s/%sXXXXXX", parent(), name);
        if (n < 0 || n >= PATH_MAX - FOR_FILES)
            return fail(t, ENAMETOOLONG, err);
        if (mkdtemp(t->path) == NULL)
            return fail(t, errno, err);
        t->lock = lock_dir(t->path);
        if (t->lock >= 0)
            return MORTISE_OK;
    } /* another maker cleared it away before it was locked */
    return fail(t, EAGAIN, err);
}

void mortise_tempdir_remove(struct mortise_tempdir *t)
{
    if (!mortise_tempdir_is_there(t))
        return;
    remove_all(t->path);
    t->path[0] = '\0';
    close(t->lock);
}
