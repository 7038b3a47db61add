/* hold.c -- who holds a store.
 *
 * LevelDB keeps other processes out with fcntl(F_SETLK) on its file LOCK, and
 * itself out with a table of path names.  Both leak, so we stand in front:
 *
 *   (1) Within a process a store is open once, under whatever path: claims are
 *       by device and inode.  fcntl locks do not conflict within a process,
 *       and two LevelDBs on one directory destroy it.
 *   (2) LOCK is never opened in a process that holds it: closing *any*
 *       descriptor of a file drops the process's locks on it (fcntl(2), "the
 *       record locks are automatically released").  LevelDB's own refusal of a
 *       second open does just that; thanks to (1) it never gets there.
 *   (3) We ask who holds LOCK before LevelDB is let near: a refused
 *       leveldb_open() would already have rotated the holder's LOG.
 *
 * Between the question and LevelDB's own lock somebody else may come; then
 * leveldb_open() fails and the question is asked again.
 */
#include "store/hold.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* Guards `claims`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mortise_hold *claims; /* of all stores open in this process */

static struct mortise_hold *find(const struct mortise_hold *h)
{
    struct mortise_hold *c = claims;

    while (c != NULL &&
           !(c->dev == h->dev && c->ino == h->ino && c->pid == h->pid))
        c = c->next;
    return c;
}

int mortise_hold_take(struct mortise_hold *h, int dir, struct mortise_err *err)
{
    struct stat st;
    int rv = MORTISE_OK;

    if (fstat(dir, &st) != 0)
        return mortise_syserr(err, errno, "stat");
    h->dev = st.st_dev;
    h->ino = st.st_ino;
    h->pid = getpid();
    pthread_mutex_lock(&lock);
    if (find(h) != NULL) {
        rv = mortise_fail(err, MORTISE_EBUSY,
                          "already open in this process (pid %ld)",
                          (long)h->pid);
    } else {
        h->next = claims;
        claims = h;
    }
    pthread_mutex_unlock(&lock);
    return rv;
}

void mortise_hold_drop(struct mortise_hold *h)
{
    struct mortise_hold **at = &claims;

    pthread_mutex_lock(&lock);
    while (*at != h) {
        assert(*at != NULL); /* only what was taken is dropped */
        at = &(*at)->next;
    }
    *at = h->next;
    pthread_mutex_unlock(&lock);
}

int mortise_hold_probe(int dir, const char *name, struct mortise_err *err)
{
    struct flock lk = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC), rv;

    if (fd < 0 && errno == ENOENT)
        return MORTISE_OK; /* not made yet */
    if (fd < 0)
        return mortise_syserr(err, errno, "open %s", name);
    rv = fcntl(fd, F_GETLK, &lk) == 0
             ? MORTISE_OK
             : mortise_syserr(err, errno, "ask who holds %s", name);
    close(fd);
    if (rv != MORTISE_OK || lk.l_type == F_UNLCK)
        return rv;
    if (lk.l_pid <= 0) /* in another pid namespace */
        return mortise_fail(err, MORTISE_EBUSY, "held by another process");
    return mortise_fail(err, MORTISE_EBUSY, "held by process %ld",
                        (long)lk.l_pid);
}
