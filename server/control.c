/* control.c -- the control socket (docs/control.md).
 *
 * Other processes reach the engine that holds a store at STORE/control.sock.
 * Each line is one JSON object, in both directions.
 *
 *   (1) Only our user, root and members of the deployment's group
 *       (store.access) are served.  The kernel identifies them, so a client
 *       cannot choose the actor of its commands.  The socket gets its group
 *       before its mode lets other users connect.
 *   (2) A client cannot block the engine or exhaust its memory (conn.c).
 *   (3) When descriptors run out, a new client gets an error, through a spare
 *       descriptor that is reserved for this.  The engine neither spins nor
 *       stops.
 *   (4) A socket is removed only if no process listens there, or if it is our
 *       own.  The store's directory may have been renamed, and another one may
 *       have taken its name.
 *   (5) The client checks the engine before it sends anything (peer.c).
 *   (6) When STORE/control.sock appears, a process listens there: the socket is
 *       bound under another name, and renamed once it is ready.
 *
 * libuv's own pipes are not used: they would raise SIGPIPE, and a library must
 * not depend on signal handlers; and they cut paths at 107 bytes.  The socket
 * is bound and connected through /proc/self/fd/DIR, so a store's path may have
 * any length.  The socket is bound in the directory that we hold the lock of,
 * even if its path leads elsewhere by now.
 */
#include "server/control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/group.h"
#include "server/conn.h"
#include "server/peer.h"

enum {
    BACKLOG = 1024, /* connections waiting to be accepted */
    ACCEPTS = 64,   /* per turn of the loop */
    REST_MS = 200   /* pause before the next try when accepting fails */
};

static const char socket_name[] = "control.sock";
static const char unready_name[] = "control.sock.new"; /* until it listens */

struct mortise_control {
    struct mortise *m;
    int dir, fd;
    int spare; /* a reserved descriptor; -1 if it could not be opened */
    dev_t dev; /* device and inode of our socket's */
    ino_t ino; /* directory entry */
    uv_poll_t poll;
    struct mortise_conns conns;
    struct mortise_timer accept_pause;
    bool is_shortage_logged; /* that descriptors ran out was logged */
};

/* ---- accepting ---------------------------------------------------------- */

static void on_connection(uv_poll_t *h, int status, int events);

static void resume_accepting(struct mortise_timer *t)
{
    struct mortise_control *k =
        MORTISE_CONTAINER_OF(t, struct mortise_control, accept_pause);

    uv_poll_start(&k->poll, UV_READABLE, on_connection);
}

static int open_spare_descriptor(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Accepting fails while connections wait, so poll() would return at once.  Do
 * not watch the listener for a while. */
static void accept_pause(struct mortise_control *k)
{
    uv_poll_stop(&k->poll);
    if (!k->accept_pause.armed)
        mortise_timer_arm(&k->m->timers, &k->accept_pause,
                          mortise_mono_ns_after(REST_MS));
}

static int accept_connection(struct mortise_control *k)
{
    int fd;

    do
        fd = accept4(k->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd;
}

static unsigned long long get_descriptor_limit(void)
{
    struct rlimit r = {.rlim_cur = 0};

    getrlimit(RLIMIT_NOFILE, &r);
    return r.rlim_cur;
}

/* Descriptors ran out.  Accept the next connection with the spare descriptor
 * and reject it.  Returns false if there is no spare or no connection. */
static bool reject_with_spare(struct mortise_control *k)
{
    struct mortise_err why;
    int fd;

    if (!k->is_shortage_logged)
        mortise_log(k->m, MORTISE_LOG_ERROR,
                    "no file descriptors are left, so connections are rejected "
                    "(ulimit -n, or LimitNOFILE= of the service)");
    k->is_shortage_logged = true;
    if (k->spare < 0)
        return false;
    close(k->spare);
    fd = accept_connection(k);
    mortise_fail(
        &why, MORTISE_ELIMIT,
        "the engine has no file descriptors left: process %ld can have at most "
        "%llu, and calls of its runs wait.  Start it with a higher limit "
        "(ulimit -n, or LimitNOFILE= of the service), or try again",
        (long)getpid(), get_descriptor_limit());
    if (fd >= 0)
        mortise_conn_reject(fd, &why);
    k->spare = open_spare_descriptor();
    return fd >= 0;
}

/* The group that may use the socket; NULL if only our user may. */
static const gid_t *get_access_group(const struct mortise_control *k)
{
    return k->m->settings.access;
}

static bool is_client_allowed(const struct mortise_control *k, int fd,
                              uid_t uid)
{
    const gid_t *group = get_access_group(k);

    return uid == geteuid() || uid == 0 ||
           (group != NULL && mortise_group_has_peer(k->m->mem, *group, fd));
}

static void admit_client(struct mortise_control *k, int fd)
{
    struct mortise_err why;
    struct ucred who;
    socklen_t n = sizeof who;
    int rv;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 ||
        !is_client_allowed(k, fd, who.uid))
        rv = mortise_fail(
            &why, MORTISE_EDENIED,
            "only the user of this engine can use its control socket%s",
            get_access_group(k) != NULL
                ? ", and members of its store.access group"
                : "");
    else
        rv = mortise_conns_add(&k->conns, fd, who.uid, &why);
    if (rv != MORTISE_OK)
        mortise_conn_reject(fd, &why);
}

/* Returns true if another connection may be waiting. */
static bool accept_or_reject(struct mortise_control *k)
{
    int fd = accept_connection(k);

    if (fd >= 0) {
        if (k->spare < 0)
            k->spare = open_spare_descriptor();
        k->is_shortage_logged &= k->spare < 0;
        admit_client(k, fd);
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return false;
    if ((errno == EMFILE || errno == ENFILE) &&
        (mortise_conns_close_idle(&k->conns) || reject_with_spare(k)))
        return true;
    accept_pause(k);
    return false;
}

static void on_connection(uv_poll_t *h, int status, int events)
{
    struct mortise_control *k = h->data;

    (void)events;
    if (status < 0) {
        accept_pause(k);
        return;
    }
    for (int i = 0; i < ACCEPTS && accept_or_reject(k); i++)
        continue;
}

/* ---- the socket --------------------------------------------------------- */

static void fill_socket_address(struct sockaddr_un *a, int dir,
                                const char *name)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", dir, name);
}

static int open_store_dir(int at, const char *store, struct mortise_err *err)
{
    int dir = openat(at, store, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return dir >= 0 ? dir : mortise_syserr(err, errno, "open %s", store);
}

/* Connect; returns 0 or an errno.  A symbolic link is refused: it would lead
 * to the engine of another store. */
static int connect_store_socket(int fd, int dir)
{
    struct sockaddr_un a;
    struct stat st;

    if (fstatat(dir, socket_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (S_ISLNK(st.st_mode))
        return ECONNREFUSED;
    fill_socket_address(&a, dir, socket_name);
    return connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
}

bool mortise_control_is_alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Remove the socket of an engine that has exited, but not one with a listener.
 * A child process of that engine may have inherited the socket and keep it
 * open; it never answers, so its socket is removed, too. */
static int remove_stale_socket(int dir, const char *store,
                               struct mortise_err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred who = {.pid = 0};
    char other[32] = "another process";
    socklen_t n = sizeof who;
    int errnum = fd >= 0 ? connect_store_socket(fd, dir) : errno;
    bool there = errnum == EAGAIN;

    if (fd < 0)
        return mortise_syserr(err, errnum, "make a socket");
    if (errnum == 0)
        there = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 ||
                mortise_control_is_alive(who.pid);
    close(fd);
    if (there && who.pid > 0)
        snprintf(other, sizeof other, "process %ld", (long)who.pid);
    if (there)
        return mortise_fail(
            err, MORTISE_EBUSY,
            "%s listens at %s/%s, but does not hold the lock of this store, so "
            "the store cannot be opened; probably somebody copied or renamed "
            "the store while that process used it: stop that process, then try "
            "again",
            other, store, socket_name);
    if (errnum != ENOENT)
        unlinkat(dir, socket_name, 0);
    return MORTISE_OK;
}

/* The bound socket is ours alone; give it to the group, if there is one. */
static int share_with_group(const struct mortise_control *k)
{
    const gid_t *group = get_access_group(k);

    if (group == NULL)
        return 0;
    return fchownat(k->dir, unready_name, (uid_t)-1, *group,
                    AT_SYMLINK_NOFOLLOW) == 0 &&
                   fchmodat(k->dir, unready_name, 0660, 0) == 0
               ? 0
               : errno;
}

static int bind_control_socket(struct mortise_control *k)
{
    struct sockaddr_un a;
    struct stat st;

    fill_socket_address(&a, k->dir, unready_name);
    unlinkat(k->dir, unready_name, 0); /* a crash may have left it */
    /* The file's mode is the descriptor's mode without the umask. */
    if (fchmod(k->fd, 0600) != 0 ||
        bind(k->fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        fchmodat(k->dir, unready_name, 0600, 0) != 0 ||
        fstatat(k->dir, unready_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        share_with_group(k) != 0 || listen(k->fd, BACKLOG) != 0 ||
        renameat(k->dir, unready_name, k->dir, socket_name) != 0)
        return errno;
    k->dev = st.st_dev;
    k->ino = st.st_ino;
    return 0;
}

static int open_control_socket(struct mortise_control *k, const char *store,
                               struct mortise_err *err)
{
    int rv = remove_stale_socket(k->dir, store, err), errnum;

    if (rv != MORTISE_OK)
        return rv;
    k->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (k->fd < 0)
        return mortise_syserr(err, errno, "make a socket");
    errnum = bind_control_socket(k);
    if (errnum != 0) {
        unlinkat(k->dir, unready_name, 0);
        return mortise_syserr(err, errnum, "listen at %s/%s", store,
                              socket_name);
    }
    if (uv_poll_init(&k->m->loop, &k->poll, k->fd) != 0)
        return mortise_fail(err, MORTISE_EIO,
                            "cannot watch the control socket");
    return MORTISE_OK;
}

static void close_descriptors(struct mortise_control *k)
{
    const int fds[] = {k->fd, k->dir, k->spare};

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Listen at STORE/control.sock. */
static int control_open(struct mortise *m, struct mortise_err *err)
{
    struct mortise_control *k = mortise_zalloc(m->mem, sizeof *k);
    int rv = k != NULL ? open_store_dir(m->store->dir, ".", err)
                       : mortise_nomem(err);

    if (rv < 0) {
        mortise_release(m->mem, k, sizeof *k);
        return rv;
    }
    *k = (struct mortise_control){.m = m, .dir = rv, .fd = -1};
    k->spare = open_spare_descriptor();
    rv = open_control_socket(k, m->settings.store, err);
    if (rv != MORTISE_OK) {
        close_descriptors(k);
        mortise_release(m->mem, k, sizeof *k);
        return rv;
    }
    mortise_conns_init(&k->conns, m);
    k->accept_pause.fire = resume_accepting;
    k->poll.data = k;
    uv_poll_start(&k->poll, UV_READABLE, on_connection);
    m->control = k;
    m->stop_control = mortise_control_close;
    return MORTISE_OK;
}

static void free_control(uv_handle_t *h)
{
    struct mortise_control *k = h->data;

    mortise_release(k->m->mem, k, sizeof *k);
}

/* Remove our socket, unless another engine has replaced it. */
static void remove_socket(const struct mortise_control *k)
{
    struct stat st;

    if (fstatat(k->dir, socket_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_dev == k->dev && st.st_ino == k->ino)
        unlinkat(k->dir, socket_name, 0);
}

void mortise_control_close(struct mortise *m)
{
    struct mortise_control *k = m->control;
    struct mortise_err why;

    if (k == NULL)
        return;
    m->control = NULL;
    remove_socket(k);
    mortise_fail(&why, MORTISE_EBUSY,
                 "the engine that held the store is closing; try again");
    mortise_conns_close(&k->conns, &why);
    mortise_timer_disarm(&m->timers, &k->accept_pause);
    uv_close((uv_handle_t *)&k->poll, free_control);
    close_descriptors(k);
}

bool mortise_control_has_clients(const struct mortise *m)
{
    return m->control != NULL && m->control->conns.n > 0;
}

/* ---- the client's end ---------------------------------------------------- */

static int fail_connect(int errnum, const char *store, struct mortise_err *err)
{
    if (errnum == ECONNREFUSED || errnum == ENOENT)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "no process listens at %s/%s", store, socket_name);
    if (errnum == EAGAIN) /* the queue of waiting connections is full */
        return mortise_fail(
            err, MORTISE_EBUSY,
            "connections to %s/%s are queued, but no process accepts them",
            store, socket_name);
    return mortise_syserr(err, errnum, "connect to %s/%s", store, socket_name);
}

/* Connect and check the peer.  A socket held only by a child of a former
 * engine counts as no listener. */
static int connect_and_check(int dir, const char *store, const gid_t *group,
                             int *fd, pid_t *pid, struct mortise_err *err)
{
    int rv = mortise_peer_check_store(dir, store, group, err), errnum;

    if (rv != MORTISE_OK)
        return rv;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return mortise_syserr(err, errno, "make a socket");
    errnum = connect_store_socket(*fd, dir);
    if (errnum != 0)
        return fail_connect(errnum, store, err);
    rv = mortise_peer_check_socket(*fd, dir, store, pid, err);
    return rv != MORTISE_OK || mortise_control_is_alive(*pid)
               ? rv
               : fail_connect(ECONNREFUSED, store, err);
}

int mortise_control_connect(const char *store, const gid_t *group, int *fd,
                            pid_t *pid, struct mortise_err *err)
{
    int dir = open_store_dir(AT_FDCWD, store, err), rv;

    *fd = -1;
    *pid = 0;
    if (dir < 0)
        return dir;
    rv = connect_and_check(dir, store, group, fd, pid, err);
    close(dir);
    if (rv != MORTISE_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return rv;
}

int mortise_control_listen(struct mortise **m, struct mortise_err *err)
{
    int rv = control_open(*m, err);

    if (rv == MORTISE_OK)
        return rv;
    mortise_close(*m);
    *m = NULL;
    return rv;
}

int mortise_control_serve(struct mortise **out,
                          const struct mortise_options *options,
                          enum mortise_engine_mode holding,
                          struct mortise_settings *settings,
                          struct mortise_err *err)
{
    int rv = mortise_engine_open(out, options, holding, settings, err);

    return rv == MORTISE_OK && holding != MORTISE_MODE_MOMENTARY
               ? mortise_control_listen(out, err)
               : rv;
}
