/* filter.c -- which system calls a program may make.
 *
 * A list of what is refused, since a program that somebody else wrote makes
 * whatever calls its libraries make: what reaches into other processes, what
 * changes the machine, what leaves the process group, what makes namespaces
 * (in which more of the kernel can be reached) and, where it is to be offline,
 * sockets and the one other way to them (io_uring, which goes by no filter).
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
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    /* the group that it is ended by */
    SCMP_SYS(setpgid),
    SCMP_SYS(setsid),
    /* namespaces and what is seen of the file system */
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsmount),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(open_by_handle_at),
    /* the machine */
    SCMP_SYS(reboot),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(syslog),
    SCMP_SYS(vhangup),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    /* parts of the kernel with a history */
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
};

#define NAMESPACES                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |             \
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static int fill(scmp_filter_ctx ctx, const struct launch *l)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < sizeof refused / sizeof refused[0]; i++)
        rv = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
    for (unsigned bit = 0; rv == 0 && bit < 32; bit++)
        if (NAMESPACES & 1u << bit)
            rv = seccomp_rule_add(
                ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                SCMP_A0(SCMP_CMP_MASKED_EQ, 1u << bit, 1u << bit));
    if (rv == 0)
        rv = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    /* what is typed into the terminal that the engine runs in */
    if (rv == 0)
        rv =
            seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI));
    if (rv == 0 && l->offline)
        rv = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 0);
    return rv;
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
