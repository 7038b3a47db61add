/* control.c -- requests from the control socket (docs/control.md).
 *
 * STORE/control.sock is how other processes reach the engine that holds a
 * store: one JSON object a line, both ways.  The promises:
 *
 *   (1) Only our uid, root and members of the deployment's group
 *       (store.access) get an answer, and the kernel says who they are: the
 *       actor of what they do is never their own word.  The socket is the
 *       group's before its mode lets anybody but us connect.
 *   (2) Nothing that a client sends or fails to read can block or bloat the
 *       engine; conn.c says how.
 *   (3) When descriptors run out, whoever connects is told so, with one that is
 *       kept for that; nothing spins and nothing ends.
 *   (4) A socket is taken away only when nobody listens there, or when it is
 *       ours: the store's directory may have been renamed, and another one may
 *       stand in its place.
 *   (5) The other end looks before it speaks: peer.c.
 *
 * libuv's own pipes are not used: they would raise SIGPIPE (a library has no
 * business with signals), and cut paths at 107 bytes.  The socket is bound and
 * reached through /proc/self/fd/DIR, so that the store may lie arbitrarily
 * deep.  The directory that we hold the lock of is the one that we bind in,
 * whatever its path leads to by now.
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
    BACKLOG = 1024, /* wait to be accepted */
    ACCEPTS = 64,   /* before others have their turn */
    REST_MS = 200   /* no descriptor is to be had: try again then */
};

static const char socket_name[] = "control.sock";

struct mortise_control {
    struct mortise *m;
    int dir, fd;
    int spare; /* a descriptor to fall back on; -1: not to be had */
    dev_t dev; /* our socket's, */
    ino_t ino; /* as it stands in the directory */
    uv_poll_t poll;
    struct mortise_conns conns;
    struct mortise_timer rest;
    bool told; /* that descriptors ran out */
};

/* ---- accepting ---------------------------------------------------------- */

static void on_connection(uv_poll_t *h, int status, int events);

static void listen_again(struct mortise_timer *t)
{
    struct mortise_control *k = MORTISE_OF(t, struct mortise_control, rest);

    uv_poll_start(&k->poll, UV_READABLE, on_connection);
}

static int take_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Nobody can be accepted, and poll() would say at once that somebody waits:
 * leave the listener alone for a while. */
static void rest(struct mortise_control *k)
{
    uv_poll_stop(&k->poll);
    if (!k->rest.armed)
        mortise_timer_arm(&k->m->timers, &k->rest, mortise_mono_in(REST_MS));
}

static int accept_one(struct mortise_control *k)
{
    int fd;

    do
        fd = accept4(k->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd;
}

static unsigned long long most_descriptors(void)
{
    struct rlimit r = {.rlim_cur = 0};

    getrlimit(RLIMIT_NOFILE, &r);
    return r.rlim_cur;
}

/* Descriptors ran out.  Whoever waits is told so with the one that was kept
 * for this.  False when there is none, or nobody waits any more. */
static bool say_full(struct mortise_control *k)
{
    struct mortise_err why;
    int fd;

    if (!k->told)
        mortise_log(k->m, MORTISE_LOG_ERROR,
                    "no file descriptors are left, so connections are rejected "
                    "(ulimit -n, or LimitNOFILE= of the service)");
    k->told = true;
    if (k->spare < 0)
        return false;
    close(k->spare);
    fd = accept_one(k);
    mortise_fail(
        &why, MORTISE_ELIMIT,
        "the engine has no file descriptors left: process %ld can have at most "
        "%llu, and calls of its runs wait.  Start it with a higher limit "
        "(ulimit -n, or LimitNOFILE= of the service), or try again",
        (long)getpid(), most_descriptors());
    if (fd >= 0)
        mortise_conn_turn_away(fd, &why);
    k->spare = take_spare();
    return fd >= 0;
}

/* Whose socket it is, too; NULL: ours alone. */
static const gid_t *group_of(const struct mortise_control *k)
{
    return mortise_settings_shares(&k->m->settings)
               ? k->m->settings.deployment->access
               : NULL;
}

static bool is_welcome(const struct mortise_control *k, int fd, uid_t uid)
{
    const gid_t *group = group_of(k);

    return uid == geteuid() || uid == 0 ||
           (group != NULL && mortise_group_has_peer(k->m->mem, *group, fd));
}

static void welcome(struct mortise_control *k, int fd)
{
    struct mortise_err why;
    struct ucred who;
    socklen_t n = sizeof who;
    int rv;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 ||
        !is_welcome(k, fd, who.uid))
        rv = mortise_fail(
            &why, MORTISE_EDENIED,
            "only the user of this engine can use its control socket%s",
            group_of(k) != NULL ? ", and members of its store.access group"
                                : "");
    else
        rv = mortise_conns_add(&k->conns, fd, who.uid, &why);
    if (rv != MORTISE_OK)
        mortise_conn_turn_away(fd, &why);
}

/* Another could be accepted, or told why not. */
static bool accept_next(struct mortise_control *k)
{
    int fd = accept_one(k);

    if (fd >= 0) {
        if (k->spare < 0)
            k->spare = take_spare();
        k->told &= k->spare < 0;
        welcome(k, fd);
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return false;
    if ((errno == EMFILE || errno == ENFILE) &&
        (mortise_conns_drop_idle(&k->conns) || say_full(k)))
        return true;
    rest(k);
    return false;
}

static void on_connection(uv_poll_t *h, int status, int events)
{
    struct mortise_control *k = h->data;

    (void)events;
    if (status < 0) {
        rest(k);
        return;
    }
    for (int i = 0; i < ACCEPTS && accept_next(k); i++)
        continue;
}

/* ---- the socket --------------------------------------------------------- */

static void fill_address(struct sockaddr_un *a, int dir)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", dir,
             socket_name);
}

static int open_dir(int at, const char *store, struct mortise_err *err)
{
    int dir = openat(at, store, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return dir >= 0 ? dir : mortise_syserr(err, errno, "open %s", store);
}

/* Connect; 0 or the errno.  A link would lead to the engine of another store,
 * which would run what is meant for this one. */
static int reach(int fd, int dir)
{
    struct sockaddr_un a;
    struct stat st;

    if (fstatat(dir, socket_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (S_ISLNK(st.st_mode))
        return ECONNREFUSED;
    fill_address(&a, dir);
    return connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
}

bool mortise_control_is_alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Take away the socket that an engine left behind; not one at which somebody
 * listens.  (A child that an engine forked and left holds its socket open,
 * and nobody will ever answer there.) */
static int clear_stale(int dir, const char *store, struct mortise_err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred who = {.pid = 0};
    char other[32] = "another process";
    socklen_t n = sizeof who;
    int errnum = fd >= 0 ? reach(fd, dir) : errno;
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

/* What is bound is ours alone, and then the group's, too. */
static int share(const struct mortise_control *k)
{
    const gid_t *group = group_of(k);

    if (group == NULL)
        return 0;
    return fchownat(k->dir, socket_name, (uid_t)-1, *group,
                    AT_SYMLINK_NOFOLLOW) == 0 &&
                   fchmodat(k->dir, socket_name, 0660, 0) == 0
               ? 0
               : errno;
}

static int bind_at(struct mortise_control *k)
{
    struct sockaddr_un a;
    struct stat st;

    fill_address(&a, k->dir);
    /* The mode of the descriptor, less the umask, is that of the file. */
    if (fchmod(k->fd, 0600) != 0 ||
        bind(k->fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        fchmodat(k->dir, socket_name, 0600, 0) != 0 ||
        fstatat(k->dir, socket_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        share(k) != 0 || listen(k->fd, BACKLOG) != 0)
        return errno;
    k->dev = st.st_dev;
    k->ino = st.st_ino;
    return 0;
}

static int listen_at(struct mortise_control *k, const char *store,
                     struct mortise_err *err)
{
    int rv = clear_stale(k->dir, store, err), errnum;

    if (rv != MORTISE_OK)
        return rv;
    k->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (k->fd < 0)
        return mortise_syserr(err, errno, "make a socket");
    errnum = bind_at(k);
    if (errnum != 0)
        return mortise_syserr(err, errnum, "listen at %s/%s", store,
                              socket_name);
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
    int rv = k != NULL ? open_dir(m->store->dir, ".", err) : mortise_nomem(err);

    if (rv < 0) {
        mortise_release(m->mem, k, sizeof *k);
        return rv;
    }
    *k = (struct mortise_control){.m = m, .dir = rv, .fd = -1};
    k->spare = take_spare();
    rv = listen_at(k, m->settings.store, err);
    if (rv != MORTISE_OK) {
        close_descriptors(k);
        mortise_release(m->mem, k, sizeof *k);
        return rv;
    }
    mortise_conns_init(&k->conns, m);
    k->rest.fire = listen_again;
    k->poll.data = k;
    uv_poll_start(&k->poll, UV_READABLE, on_connection);
    m->control = k;
    m->unserve = mortise_control_close;
    return MORTISE_OK;
}

static void control_gone(uv_handle_t *h)
{
    struct mortise_control *k = h->data;

    mortise_release(k->m->mem, k, sizeof *k);
}

/* Ours, not that of whoever has taken our place in the directory since. */
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
    mortise_timer_disarm(&m->timers, &k->rest);
    uv_close((uv_handle_t *)&k->poll, control_gone);
    close_descriptors(k);
}

bool mortise_control_is_used(const struct mortise *m)
{
    return m->control != NULL && m->control->conns.n > 0;
}

/* ---- the other end ------------------------------------------------------ */

static int no_connection(int errnum, const char *store, struct mortise_err *err)
{
    if (errnum == ECONNREFUSED || errnum == ENOENT)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "no process listens at %s/%s", store, socket_name);
    if (errnum == EAGAIN) /* too many wait to be accepted */
        return mortise_fail(
            err, MORTISE_EBUSY,
            "connections to %s/%s are queued, but no process accepts them",
            store, socket_name);
    return mortise_syserr(err, errnum, "connect to %s/%s", store, socket_name);
}

/* Connect and look who is there: nobody, where a child that an engine left
 * behind has its socket. */
static int connect_at(int dir, const char *store, const gid_t *group, int *fd,
                      pid_t *pid, struct mortise_err *err)
{
    int rv = mortise_peer_check_store(dir, store, group, err), errnum;

    if (rv != MORTISE_OK)
        return rv;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return mortise_syserr(err, errno, "make a socket");
    errnum = reach(*fd, dir);
    if (errnum != 0)
        return no_connection(errnum, store, err);
    rv = mortise_peer_check(*fd, dir, store, pid, err);
    return rv != MORTISE_OK || mortise_control_is_alive(*pid)
               ? rv
               : no_connection(ECONNREFUSED, store, err);
}

int mortise_control_connect(const char *store, const gid_t *group, int *fd,
                            pid_t *pid, struct mortise_err *err)
{
    int dir = open_dir(AT_FDCWD, store, err), rv;

    *fd = -1;
    *pid = 0;
    if (dir < 0)
        return dir;
    rv = connect_at(dir, store, group, fd, pid, err);
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
                          enum mortise_holding holding,
                          struct mortise_settings *settings,
                          struct mortise_err *err)
{
    int rv = mortise_engine_open(out, options, holding, settings, err);

    return rv == MORTISE_OK && holding != MORTISE_HOLDING_BRIEFLY
               ? mortise_control_listen(out, err)
               : rv;
}
