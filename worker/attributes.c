/* attributes.c -- modes and times of files, changed for a program.
 *
 * The kernel lets a file's owner change them with a descriptor for reading.  A
 * deployment that gives a file to be read means that it stays as it is.  No
 * filter sees how a file was opened, so fchmod() and futimens() come here, to the
 * supervisor (seccomp's notifications), which gets the descriptor, looks at it and
 * makes the call itself:
 *
 *   (1) A regular file that is open for writing, which Landlock allowed then.
 *   (2) The program's own file, unless its times become now, which writing would
 *       do as well.  The supervisor may be root, and the program is not.
 *   (3) Never set-user-id, never set-group-id.
 *
 * The call is made on the supervisor's copy of the descriptor: what other threads
 * of the program do meanwhile does not change which file that is.  Whatever goes
 * wrong is EPERM: the call is refused. */
#include "worker/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- the listener's way to the supervisor --------------------------------- */

union control { /* aligned as the kernel wants it */
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr message_of(struct iovec *byte, union control *c)
{
    memset(c, 0, sizeof *c);
    return (struct msghdr){.msg_iov = byte,
                           .msg_iovlen = 1,
                           .msg_control = c,
                           .msg_controllen = sizeof *c};
}

bool mortise_launch_send_listener(int channel, int listener,
                                  char words[LAUNCH_WORDS])
{
    char byte = 0;
    struct iovec iov = {&byte, 1};
    union control c;
    struct msghdr m = message_of(&iov, &c);

    c.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof listener),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&c.head), &listener, sizeof listener);
    if (sendmsg(channel, &m, MSG_NOSIGNAL) == 1)
        return true;
    snprintf(words, LAUNCH_WORDS, "the supervisor: %s", strerror(errno));
    return false;
}

int mortise_launch_get_listener(int channel)
{
    char byte;
    struct iovec iov = {&byte, 1};
    union control c;
    struct msghdr m = message_of(&iov, &c);
    int listener = -1;

    if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) == 1 &&
        m.msg_controllen >= CMSG_LEN(sizeof listener) &&
        c.head.cmsg_type == SCM_RIGHTS)
        memcpy(&listener, CMSG_DATA(&c.head), sizeof listener);
    return listener;
}

/* ---- one call -------------------------------------------------------------- */

/* The process of a thread; 0: it is gone. */
static pid_t process_of(pid_t thread)
{
    char path[64], line[128];
    int pid = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL &&
           sscanf(line, "Tgid: %d", &pid) != 1)
        ;
    if (f != NULL)
        fclose(f);
    return pid;
}

/* A copy of the caller's descriptor; -1: there is none to be had. */
static int copy_of(pid_t process, uint64_t fd)
{
    int pidfd = (int)syscall(SYS_pidfd_open, process, 0), copy = -1;

    if (pidfd >= 0) {
        copy = (int)syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0);
        close(pidfd);
    }
    return copy;
}

/* (1) */
static bool is_written(int fd, struct stat *st)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
           fstat(fd, st) == 0 && S_ISREG(st->st_mode);
}

static bool read_times(pid_t process, uint64_t at, struct timespec times[2])
{
    const struct iovec here = {times, 2 * sizeof *times},
                       there = {(void *)(uintptr_t)at, here.iov_len};

    return process_vm_readv(process, &here, 1, &there, 1, 0) ==
           (ssize_t)here.iov_len;
}

/* One call of a program, and the file that it is about. */
struct asked {
    int listener, fd; /* of ours */
    const struct seccomp_notif *call;
    pid_t process;
    bool is_its; /* the file's owner is the program's user */
};

/* Is the caller still there, and everything that was read its own? */
static bool is_there(const struct asked *a)
{
    return seccomp_notify_id_valid(a->listener, a->call->id) == 0;
}

/* 0, or the error that it is answered with. */
static int set_mode(const struct asked *a)
{
    mode_t mode = (mode_t)a->call->data.args[1];

    if (!a->is_its || (mode & (S_ISUID | S_ISGID)) != 0 || !is_there(a))
        return EPERM;
    return fchmod(a->fd, mode & 01777) == 0 ? 0 : errno;
}

static int set_times(const struct asked *a)
{
    uint64_t at = a->call->data.args[2];
    struct timespec times[2];

    if (a->call->data.args[3] != 0)
        return EINVAL;
    if (at != 0 && (!a->is_its || !read_times(a->process, at, times)))
        return EPERM;
    if (!is_there(a))
        return EPERM;
    return futimens(a->fd, at != 0 ? times : NULL) == 0 ? 0 : errno;
}

/* Root in a container may lack the power to look into processes of others
 * (CAP_SYS_PTRACE).  It looks into a program as that program's user: by its real
 * ids alone, which decide that and nothing else here. */
static bool set_real(uid_t uid, gid_t gid)
{
    bool both = setresgid(gid, (gid_t)-1, (gid_t)-1) == 0;

    return setresuid(uid, (uid_t)-1, (uid_t)-1) == 0 && both;
}

static int judge(int listener, const struct seccomp_notif *call,
                 const struct launch *l)
{
    struct asked a = {.listener = listener,
                      .call = call,
                      .process = process_of((pid_t)call->pid)};
    bool other = false;
    struct stat st;
    int rv = EPERM;

    a.fd = a.process > 0 ? copy_of(a.process, call->data.args[0]) : -1;
    if (a.fd < 0 && a.process > 0 && l->has_user) {
        other = true;
        if (set_real(l->uid, l->gid))
            a.fd = copy_of(a.process, call->data.args[0]);
    }
    if (a.fd >= 0 && is_written(a.fd, &st)) {
        a.is_its = st.st_uid == (l->has_user ? l->uid : geteuid());
        rv = call->data.nr == SYS_fchmod ? set_mode(&a) : set_times(&a);
    }
    if (a.fd >= 0)
        close(a.fd);
    return !other || set_real(0, 0) ? rv : EPERM;
}

void mortise_launch_answer(int listener, const struct launch *l)
{
    struct seccomp_notif *call;
    struct seccomp_notif_resp *answer;

    if (seccomp_notify_alloc(&call, &answer) != 0)
        return;
    if (seccomp_notify_receive(listener, call) == 0) {
        answer->id = call->id;
        answer->error = -judge(listener, call, l);
        seccomp_notify_respond(listener, answer);
    }
    seccomp_notify_free(call, answer);
}
