/* dir_lock.c -- the lock that gives a process a store.
 *
 * LevelDB excludes other processes by fcntl(F_SETLK) on its file LOCK, and a
 * second open in the same process by a table of path names.  Both have gaps,
 * and a file can be removed while it is locked.  So we also lock the directory
 * itself (flock(2)), which nobody can take away from us:
 *
 *   (1) A store is open once in a process, whatever its path: claims are by
 *       device and inode. fcntl locks do not conflict within a process, and two
 *       LevelDB instances on one directory would destroy it.
 *   (2) Only closing the directory releases its lock.  Removing or renaming it,
 *       or files in it, does not.  The lock follows the directory to another
 *       name.
 *   (3) A child of fork() has no claim.  Its copy of the descriptor would keep
 *       the lock after the parent exits, so it is closed at once, and
 *       mortise_dir_lock_is_ours() is false.  A child made without fork()'s
 *       handlers (a bare clone) keeps the lock; the error message then has its
 *       pid.
 *   (4) A process that holds LOCK never opens it: closing any descriptor of a
 *       file releases the process's locks on that file (fcntl(2), "the record
 *       locks are automatically released").  LevelDB's own check for a second
 *       open would do that, but (1) prevents such an open.
 *   (5) We test LOCK before LevelDB opens the store: an older program locks
 *       nothing else, and a failed leveldb_open() would already have rotated
 *       the holder's LOG.
 *
 * Another program may lock LOCK between the test (5) and LevelDB's own lock.
 * Then leveldb_open() fails, and we test again.  If the file system cannot lock
 * directories (NFS allows only writers to lock), LOCK is the only lock;
 * `doctor` reports such a disk.
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

/* Protects `claims`. */
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
static void drop_claims_in_child(void)
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
    pthread_atfork(before_fork, after_fork, drop_claims_in_child);
}

bool mortise_dir_lock_is_ours(const struct mortise_dir_lock *h)
{
    return h->pid == getpid();
}

/* ---- error messages ------------------------------------------------------ */

/* The process with the lock on this directory, from the kernel's list; 0: not
 * in the list, or not visible to us. */
static pid_t find_lock_owner(const struct mortise_dir_lock *h)
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

/* Does this process have the directory open? */
static bool has_process_open(const char *pid, const struct mortise_dir_lock *h)
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

/* Another process that has the directory open; 0: none that we can see. */
static long find_lock_heir(const struct mortise_dir_lock *h)
{
    DIR *all = opendir("/proc");
    struct dirent *e;
    long found = 0;

    while (all != NULL && found == 0 && (e = readdir(all)) != NULL) {
        long pid = strtol(e->d_name, NULL, 10);

        if (pid > 0 && pid != (long)getpid() && has_process_open(e->d_name, h))
            found = pid;
    }
    if (all != NULL)
        closedir(all);
    return found;
}

static int fail_lock_held(const struct mortise_dir_lock *h,
                          struct mortise_err *err)
{
    long pid = find_lock_owner(h), heir;

    if (pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
        return mortise_fail(err, MORTISE_EBUSY, "held by process %ld", pid);
    heir = find_lock_heir(h);
    if (heir == 0) /* it is in another pid namespace */
        return mortise_fail(err, MORTISE_EBUSY, "held by another process");
    return mortise_fail(err, MORTISE_EBUSY,
                        "held by process %ld, which a former owner of the "
                        "store started: stop this process",
                        heir);
}

/* ---- claims ------------------------------------------------------------- */

static struct mortise_dir_lock *find_dir_claim(const struct mortise_dir_lock *h)
{
    struct mortise_dir_lock *c = claims;

    while (c != NULL &&
           !(c->dev == h->dev && c->ino == h->ino && c->pid == h->pid))
        c = c->next;
    return c;
}

/* (2).  Call with `lock` held, so that no fork() comes between it and the
 * claim. */
static int flock_store_dir(struct mortise_dir_lock *h, struct mortise_err *err)
{
    if (flock(h->dir, LOCK_EX | LOCK_NB) == 0)
        return MORTISE_OK;
    switch (errno) {
    case EWOULDBLOCK:
        return fail_lock_held(h, err);
    case EBADF: /* on NFS, which requires it to be open for writing */
    case EINVAL:
    case ENOLCK:
    case ENOSYS:
    case EOPNOTSUPP:
        return MORTISE_OK;
    default:
        return mortise_syserr(err, errno, "lock the directory");
    }
}

int mortise_dir_lock_acquire(struct mortise_dir_lock *h, int dir,
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
    rv = find_dir_claim(h) != NULL
             ? mortise_fail(err, MORTISE_EBUSY,
                            "already open in this process (pid %ld)",
                            (long)h->pid)
             : flock_store_dir(h, err);
    if (rv == MORTISE_OK) {
        assert(find_dir_claim(h) == NULL); /* (1) */
        h->next = claims;
        claims = h;
    } else {
        close(dir);
    }
    pthread_mutex_unlock(&lock);
    return rv;
}

void mortise_dir_lock_release(struct mortise_dir_lock *h)
{
    struct mortise_dir_lock **at = &claims;

    assert(mortise_dir_lock_is_ours(h)); /* a child has no claim (3) */
    pthread_mutex_lock(&lock);
    while (*at != h) {
        assert(*at != NULL); /* it must have been taken */
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
        return MORTISE_OK; /* the file does not exist yet */
    if (fd < 0 && errno == MORTISE_ERRNO_NOT_REGULAR)
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
    if (lk.l_pid <= 0) /* it is in another pid namespace */
        return mortise_fail(err, MORTISE_EBUSY, "held by another process");
    return mortise_fail(err, MORTISE_EBUSY, "held by process %ld",
                        (long)lk.l_pid);
}
