/* filter.c -- which system calls a program may make.
 *
 * A list of what is refused, since a program that somebody else wrote makes
 * whatever calls its libraries make: what reaches into other processes, what
 * changes the machine, what leaves the process group, what makes namespaces
 * (in which more of the kernel can be reached), what outlives it (System V's
 * memory and queues), and the one way around a filter (io_uring).
 *
 * Landlock knows contents and names of files; owners, modes, times and attributes
 * it does not.  So those are changed of open files alone, never by a path, owners
 * never, and nothing is set-user-id.
 *
 * Of sockets there are those of the Internet, and what asks the kernel about
 * them; offline none.  Local ones lead to whatever listens on this machine, the
 * engine among it.
 *
 * A refused call fails with EPERM; clone3(), whose flags no filter can see,
 * with ENOSYS, upon which libraries make clone(). */
#include "worker/launch.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static const int refused[] = {
    /* other processes */
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise), SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd),
    /* the group that it is ended by */
    SCMP_SYS(setpgid), SCMP_SYS(setsid),
    /* namespaces and what is seen of the file system */
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(mount), SCMP_SYS(umount2),
    SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(open_tree),
    SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsmount),
    SCMP_SYS(fsconfig), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(open_by_handle_at),
    /* the machine */
    SCMP_SYS(reboot), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex),
    SCMP_SYS(clock_adjtime), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
    SCMP_SYS(syslog), SCMP_SYS(vhangup), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    /* parts of the kernel with a history */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    /* what outlives it */
    SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl), SCMP_SYS(msgget),
    SCMP_SYS(msgsnd), SCMP_SYS(msgrcv), SCMP_SYS(msgctl), SCMP_SYS(semget),
    SCMP_SYS(semop), SCMP_SYS(semtimedop), SCMP_SYS(semctl), SCMP_SYS(mq_open),
    SCMP_SYS(mq_unlink),
    /* files by their paths */
    SCMP_SYS(chmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(lchown),
    SCMP_SYS(fchown), SCMP_SYS(fchownat), SCMP_SYS(utime), SCMP_SYS(utimes),
    SCMP_SYS(futimesat), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr),
    SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(inotify_add_watch),
    SCMP_SYS(fanotify_init),
    /* newer than Debian 12's library; numbers are the same on all machines */
    443 /* quotactl_fd */, 452 /* fchmodat2 */, 457 /* statmount */,
    458 /* listmount */, 463 /* setxattrat */, 466 /* removexattrat */,
    467 /* open_tree_attr */, 469 /* file_setattr */
};

#define NAMESPACES                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |             \
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* Refused where an argument compares so with that. */
static int refuse(scmp_filter_ctx ctx, int call, unsigned argument,
                  enum scmp_compare how, uint64_t with)
{
    const struct scmp_arg_cmp rule = {argument, how, with, 0};

    return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call, 1, &rule);
}

/* Where it has all of these bits; of an int the kernel looks at no others. */
static int refuse_bits(scmp_filter_ctx ctx, int call, unsigned argument,
                       uint64_t mask, uint64_t bits)
{
    const struct scmp_arg_cmp rule = {argument, SCMP_CMP_MASKED_EQ, mask, bits};

    return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call, 1, &rule);
}

/* What concerns a process, for any but the one that asks. */
static int refuse_others(scmp_filter_ctx ctx)
{
    static const int calls[] = {
        SCMP_SYS(prlimit64), SCMP_SYS(sched_setaffinity),
        SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
        SCMP_SYS(sched_setattr)};
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < sizeof calls / sizeof calls[0]; i++)
        rv = refuse(ctx, calls[i], 0, SCMP_CMP_NE, 0);
    if (rv == 0) /* of a process, and this one */
        rv = refuse(ctx, SCMP_SYS(setpriority), 0, SCMP_CMP_NE, 0);
    if (rv == 0)
        rv = refuse(ctx, SCMP_SYS(setpriority), 1, SCMP_CMP_NE, 0);
    if (rv == 0)
        rv = refuse(ctx, SCMP_SYS(ioprio_set), 0, SCMP_CMP_NE, 1);
    if (rv == 0)
        rv = refuse(ctx, SCMP_SYS(ioprio_set), 1, SCMP_CMP_NE, 0);
    return rv;
}

static int refuse_namespaces(scmp_filter_ctx ctx)
{
    int rv = 0;

    for (unsigned bit = 0; rv == 0 && bit < 32; bit++)
        if (NAMESPACES & 1u << bit)
            rv = refuse_bits(ctx, SCMP_SYS(clone), 0, 1u << bit, 1u << bit);
    return rv == 0 ? seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS),
                                      SCMP_SYS(clone3), 0)
                   : rv;
}

/* Times by a path; set-user-id and set-group-id of what is open. */
static int refuse_attributes(scmp_filter_ctx ctx)
{
    int rv = refuse(ctx, SCMP_SYS(utimensat), 1, SCMP_CMP_NE, 0);

    for (unsigned bit = 02000; rv == 0 && bit <= 04000; bit <<= 1)
        rv = refuse_bits(ctx, SCMP_SYS(fchmod), 1, bit, bit);
    return rv;
}

/* All families but those of the Internet; offline those, too. */
static int refuse_sockets(scmp_filter_ctx ctx, bool offline)
{
    int rv = 0;

    if (offline)
        return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket),
                                0);
    for (unsigned family = 0; rv == 0 && family <= AF_NETLINK; family++)
        if (family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
            rv = refuse(ctx, SCMP_SYS(socket), 0, SCMP_CMP_EQ, family);
    return rv == 0 ? refuse(ctx, SCMP_SYS(socket), 0, SCMP_CMP_GT, AF_NETLINK)
                   : rv;
}

static int fill(scmp_filter_ctx ctx, const struct launch *l)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < sizeof refused / sizeof refused[0]; i++)
        rv = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
    if (rv == 0)
        rv = refuse_others(ctx);
    if (rv == 0)
        rv = refuse_namespaces(ctx);
    if (rv == 0)
        rv = refuse_attributes(ctx);
    /* what is typed into the terminal that the engine runs in */
    if (rv == 0)
        rv = refuse_bits(ctx, SCMP_SYS(ioctl), 1, 0xffffffffu, TIOCSTI);
    return rv == 0 ? refuse_sockets(ctx, l->offline) : rv;
}

bool mortise_launch_filter(const struct launch *l, char words[LAUNCH_WORDS])
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int rv = ctx != NULL ? fill(ctx, l) : -ENOMEM;

    /* A call of another architecture is refused whole: its numbers are others. */
    if (rv == 0)
        rv = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
                              SCMP_ACT_ERRNO(EPERM));
    if (rv == 0)
        rv = seccomp_load(ctx);
    if (ctx != NULL)
        seccomp_release(ctx);
    if (rv != 0)
        snprintf(words, LAUNCH_WORDS, "the filter of system calls: %s",
                 strerror(-rv));
    return rv == 0;
}
