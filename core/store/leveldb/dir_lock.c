/* dir_lock.c -- who holds a store.
 *
 * LevelDB keeps other processes out with fcntl(F_SETLK) on its file LOCK, and
 * itself out with a table of path names.  Both leak, and a file can be removed
 * under its lock; so we stand in front, with a lock on the directory itself
 * (flock(2)), which nobody can take away while we live:
 *
 *   (1) Within a process a store is open once, under whatever path: claims are
 *       by device and inode.  fcntl locks do not conflict within a process,
 *       and two LevelDBs on one directory destroy it.
 *   (2) The directory's lock is let go of by closing it, and by nothing else:
 *       not by removing or renaming what is in it, nor the directory.  It
 *       follows the directory to another name.
 *   (3) A child of fork() has no claim: its copy of the descriptor, with which
 *       it would keep the lock beyond our death, is closed as it begins, and
 *       mortise_dir_lock_is_ours() says no.  One that was made behind fork()'s
 *       back (a bare clone) keeps the lock; whoever is refused then reads its
 *       pid.
 *   (4) LOCK is never opened in a process that holds it: closing *any*
 *       descriptor of a file drops the process's locks on it (fcntl(2), "the
 *       record locks are automatically released").  LevelDB's own refusal of a
 *       second open does just that; thanks to (1) it never gets there.
 *   (5) We ask who holds LOCK before LevelDB is let near: an older program
 *       locks nothing else, and a refused leveldb_open() would already have
 *       rotated the holder's LOG.
 *
 * Between the question (5) and LevelDB's own lock such a program may come; then
 * leveldb_open() fails and the question is asked again.  Where the file system
 * has no locks for directories (NFS lets only writers lock), LOCK is all there
 * is; doctor says what to think of such a disk.
 */
#include "core/store/leveldb/dir_lock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/infile.h"

/* Guards `claims`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mortise_dir_lock *claims; /* of all stores open in this process */

/* ---- fork --------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* (3) */
static void in_child(void)
{
    for (struct mortise_dir_lock *h = claims; h != NULL; h = h->next) {
        if (h->dir >= 0)
            close(h->dir);
        h->dir = -1;
    }
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

bool mortise_dir_lock_is_ours(const struct mortise_dir_lock *h)
{
    return h->pid == getpid();
}

/* ---- words -------------------------------------------------------------- */

/* Who took the lock on this directory, as the kernel's list says; 0: it does
 * not, or not to us. */
static pid_t who_locked(const struct mortise_dir_lock *h)
{
    FILE *f = fopen("/proc/locks", "re");
    char line[256];
    pid_t found = 0;

    while (f != NULL && found == 0 && fgets(line, sizeof line, f) != NULL) {
        unsigned major, minor;
        unsigned long ino;
        int pid;

        if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid, &major,
                   &minor, &ino) == 4 &&
            ino == h->ino && makedev(major, minor) == h->dev)
            found = pid;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

/* Has this process the directory open? */
static bool has_open(const char *pid, const struct mortise_dir_lock *h)
{
    char path[300];
    struct dirent *e;
    struct stat st;
    bool found = false;
    DIR *fds;

    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    fds = opendir(path);
    while (fds != NULL && !found && (e = readdir(fds)) != NULL)
        found = fstatat(dirfd(fds), e->d_name, &st, 0) == 0 &&
                st.st_dev == h->dev && st.st_ino == h->ino;
    if (fds != NULL)
        closedir(fds);
    return found;
}

/* Another process that has the directory open; 0: none that we may see. */
static long who_inherited(const struct mortise_dir_lock *h)
{
    DIR *all = opendir("/proc");
    struct dirent *e;
    long found = 0;

    while (all != NULL && found == 0 && (e = readdir(all)) != NULL) {
        long pid = strtol(e->d_name, NULL, 10);

        if (pid > 0 && pid != (long)getpid() && has_open(e->d_name, h))
            found = pid;
    }
    if (all != NULL)
        closedir(all);
    return found;
}

static int refuse(const struct mortise_dir_lock *h, struct mortise_err *err)
{
    long pid = who_locked(h), heir;

    if (pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
        return mortise_fail(err, MORTISE_EBUSY, "held by process %ld", pid);
    heir = who_inherited(h);
    if (heir == 0) /* in another pid namespace */
        return mortise_fail(err, MORTISE_EBUSY, "held by another process");
    return mortise_fail(err, MORTISE_EBUSY,
                        "held by process %ld, which a former owner of the "
                        "store started: stop this process",
                        heir);
}

/* ---- claims ------------------------------------------------------------- */

static struct mortise_dir_lock *find(const struct mortise_dir_lock *h)
{
    struct mortise_dir_lock *c = claims;

    while (c != NULL &&
           !(c->dev == h->dev && c->ino == h->ino && c->pid == h->pid))
        c = c->next;
    return c;
}

/* (2).  With `lock` held, so that no fork comes between it and the claim. */
static int lock_dir(struct mortise_dir_lock *h, struct mortise_err *err)
{
    if (flock(h->dir, LOCK_EX | LOCK_NB) == 0)
        return MORTISE_OK;
    switch (errno) {
    case EWOULDBLOCK:
        return refuse(h, err);
    case EBADF: /* NFS: open it to write */
    case EINVAL:
    case ENOLCK:
    case ENOSYS:
    case EOPNOTSUPP:
        return MORTISE_OK;
    default:
        return mortise_syserr(err, errno, "lock the directory");
    }
}

int mortise_dir_lock_take(struct mortise_dir_lock *h, int dir,
                          struct mortise_err *err)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    struct stat st;
    int rv;

    assert(dir >= 0);
    pthread_once(&watched, watch_forks);
    if (fstat(dir, &st) != 0) {
        rv = mortise_syserr(err, errno, "stat");
        close(dir);
        return rv;
    }
    *h = (struct mortise_dir_lock){
        .dev = st.st_dev, .ino = st.st_ino, .pid = getpid(), .dir = dir};
    pthread_mutex_lock(&lock);
    rv = find(h) != NULL
             ? mortise_fail(err, MORTISE_EBUSY,
                            "already open in this process (pid %ld)",
                            (long)h->pid)
             : lock_dir(h, err);
    if (rv == MORTISE_OK) {
        assert(find(h) == NULL); /* (1) */
        h->next = claims;
        claims = h;
    } else {
        close(dir);
    }
    pthread_mutex_unlock(&lock);
    return rv;
}

void mortise_dir_lock_drop(struct mortise_dir_lock *h)
{
    struct mortise_dir_lock **at = &claims;

    assert(mortise_dir_lock_is_ours(h)); /* a child has nothing to drop (3) */
    pthread_mutex_lock(&lock);
    while (*at != h) {
        assert(*at != NULL); /* only what was taken is dropped */
        at = &(*at)->next;
    }
    *at = h->next;
    if (h->dir >= 0)
        close(h->dir);
    h->dir = -1;
    pthread_mutex_unlock(&lock);
}

int mortise_dir_lock_probe(int dir, const char *name, struct mortise_err *err)
{
    struct flock lk = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = mortise_infile_open(dir, name, 0), rv;

    if (fd < 0 && errno == ENOENT)
        return MORTISE_OK; /* not made yet */
    if (fd < 0 && errno == MORTISE_NO_FILE)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "%s is not a regular file: it was replaced; remove it, and it is "
            "created again (the original is always empty)",
            name);
    if (fd < 0)
        return mortise_syserr(err, errno, "open %s", name);
    rv = fcntl(fd, F_GETLK, &lk) == 0
             ? MORTISE_OK
             : mortise_syserr(err, errno, "read the lock of %s", name);
    close(fd);
    if (rv != MORTISE_OK || lk.l_type == F_UNLCK)
        return rv;
    if (lk.l_pid <= 0) /* in another pid namespace */
        return mortise_fail(err, MORTISE_EBUSY, "held by another process");
    return mortise_fail(err, MORTISE_EBUSY, "held by process %ld",
                        (long)lk.l_pid);
}
