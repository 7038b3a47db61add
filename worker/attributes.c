/* attributes.c -- change modes and times of files on behalf of a program.
 *
 * A file's owner may change its mode and times through a read-only descriptor,
 * but a deployment that grants only `read` expects the file to stay unchanged.
 * A seccomp filter cannot see how a descriptor was opened.  Therefore fchmod()
 * and futimens() are forwarded to the supervisor by seccomp's user
 * notification.  The supervisor copies the descriptor, checks it and makes the
 * call itself, if:
 *
 *   (1) the descriptor is a regular file open for writing, which Landlock has
 *       allowed;
 *   (2) the program's user owns the file, unless its times become now (a write
 *       would set them, too).  This is checked because the supervisor may be
 *       root and the program is not;
 *   (3) the mode has neither set-user-id nor set-group-id.
 *
 * The call uses the supervisor's copy of the descriptor, so other threads of
 * the program cannot exchange the file meanwhile.  Every other failure is
 * EPERM.
 */
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

/* ---- passing the listener to the supervisor ------------------------------ */

union control { /* for the alignment of cmsghdr */
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr init_listener_message(struct iovec *byte, union control *c)
{
    memset(c, 0, sizeof *c);
    return (struct msghdr){.msg_iov = byte,
                           .msg_iovlen = 1,
                           .msg_control = c,
                           .msg_controllen = sizeof *c};
}

bool mortise_launch_send_listener(int channel, int listener,
                                  char words[LAUNCH_MESSAGE_MAX])
{
    char byte = 0;
    struct iovec iov = {&byte, 1};
    union control c;
    struct msghdr m = init_listener_message(&iov, &c);

    c.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof listener),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&c.head), &listener, sizeof listener);
    if (sendmsg(channel, &m, MSG_NOSIGNAL) == 1)
        return true;
    snprintf(words, LAUNCH_MESSAGE_MAX, "the supervisor: %s", strerror(errno));
    return false;
}

int mortise_launch_get_listener(int channel)
{
    char byte;
    struct iovec iov = {&byte, 1};
    union control c;
    struct msghdr m = init_listener_message(&iov, &c);
    int listener = -1;

    if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) == 1 &&
        m.msg_controllen >= CMSG_LEN(sizeof listener) &&
        c.head.cmsg_type == SCM_RIGHTS)
        memcpy(&listener, CMSG_DATA(&c.head), sizeof listener);
    return listener;
}

/* ---- one call -------------------------------------------------------------- */

/* The process id (Tgid) of a thread; 0 if the thread is gone. */
static pid_t get_thread_process(pid_t thread)
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

/* Copy the caller's descriptor; -1 on failure. */
static int copy_caller_descriptor(pid_t process, uint64_t fd)
{
    int pidfd = (int)syscall(SYS_pidfd_open, process, 0), copy = -1;

    if (pidfd >= 0) {
        copy = (int)syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0);
        close(pidfd);
    }
    return copy;
}

/* (1) */
static bool is_open_for_writing(int fd, struct stat *st)
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

/* A forwarded call, and the file that it changes. */
struct attribute_call {
    int listener, fd; /* descriptors of the supervisor */
    const struct seccomp_notif *call;
    pid_t process;
    bool is_program_owner; /* the program's user owns the file (2) */
};

/* Does the caller still wait?  If so, its process id was not reused while we
 * read from it. */
static bool is_caller_waiting(const struct attribute_call *a)
{
    return seccomp_notify_id_valid(a->listener, a->call->id) == 0;
}

/* Returns 0 or an errno value. */
static int change_file_mode(const struct attribute_call *a)
{
    mode_t mode = (mode_t)a->call->data.args[1];

    if (!a->is_program_owner || (mode & (S_ISUID | S_ISGID)) != 0 ||
        !is_caller_waiting(a))
        return EPERM;
    return fchmod(a->fd, mode & 01777) == 0 ? 0 : errno;
}

static int change_file_times(const struct attribute_call *a)
{
    uint64_t at = a->call->data.args[2];
    struct timespec times[2];

    if (a->call->data.args[3] != 0)
        return EINVAL;
    if (at != 0 && (!a->is_program_owner || !read_times(a->process, at, times)))
        return EPERM;
    if (!is_caller_waiting(a))
        return EPERM;
    return futimens(a->fd, at != 0 ? times : NULL) == 0 ? 0 : errno;
}

/* Root in a container may lack CAP_SYS_PTRACE, which reading another user's
 * process requires.  The supervisor therefore takes the real ids of the
 * program's user while it copies the descriptor.  Real ids affect nothing else
 * here. */
static bool set_real_ids(uid_t uid, gid_t gid)
{
    bool both = setresgid(gid, (gid_t)-1, (gid_t)-1) == 0;

    return setresuid(uid, (uid_t)-1, (uid_t)-1) == 0 && both;
}

static int decide_attribute_call(int listener, const struct seccomp_notif *call,
                                 const struct launch *l)
{
    struct attribute_call a = {.listener = listener,
                               .call = call,
                               .process = get_thread_process((pid_t)call->pid)};
    bool other = false;
    struct stat st;
    int rv = EPERM;

    a.fd = a.process > 0 ? copy_caller_descriptor(a.process, call->data.args[0])
                         : -1;
    if (a.fd < 0 && a.process > 0 && l->has_user) {
        other = true;
        if (set_real_ids(l->uid, l->gid))
            a.fd = copy_caller_descriptor(a.process, call->data.args[0]);
    }
    if (a.fd >= 0 && is_open_for_writing(a.fd, &st)) {
        a.is_program_owner = st.st_uid == (l->has_user ? l->uid : geteuid());
        rv = call->data.nr == SYS_fchmod ? change_file_mode(&a)
                                         : change_file_times(&a);
    }
    if (a.fd >= 0)
        close(a.fd);
    return !other || set_real_ids(0, 0) ? rv : EPERM;
}

void mortise_launch_answer_call(int listener, const struct launch *l)
{
    struct seccomp_notif *call;
    struct seccomp_notif_resp *answer;

    if (seccomp_notify_alloc(&call, &answer) != 0)
        return;
    if (seccomp_notify_receive(listener, call) == 0) {
        answer->id = call->id;
        answer->error = -decide_attribute_call(listener, call, l);
        seccomp_notify_respond(listener, answer);
    }
    seccomp_notify_free(call, answer);
}
