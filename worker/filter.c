/* filter.c -- which system calls a program may make.
 *
 * A list of what programs need: interpreters, compilers, runtimes with threads.
 * What is not listed fails with EPERM.  Three kinds fail otherwise, because
 * libraries then try something else: clone3() and openat2(), whose arguments no
 * filter can see, and calls that are newer than this list, with ENOSYS; extended
 * attributes with EOPNOTSUPP.  Calls of another architecture fail whole.
 *
 * Sockets.  A program without a network has pairs of connected local streams,
 * with which runtimes speak to processes that they started.  Nothing else: a
 * pair of datagram sockets would reach each path and each abstract name of this
 * machine by sendto().  Online there are TCP and UDP, and the one family of
 * netlink that lists the machine's addresses.
 *
 * Files.  Landlock knows contents and names of files; modes, times, owners,
 * attributes and leases it does not.  None of them is changed by a path.  Modes
 * and times of an open file are changed by the supervisor (attributes.c), which
 * sees whether it is open for writing; the rest never.  No file is made
 * set-user-id or set-group-id.  fcntl() and ioctl() are lists, too: they set
 * leases, owners of signals and flags of files. */
#include "worker/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#define N(list) (sizeof(list) / sizeof(list)[0])

/* Numbers of calls that Debian 12's library has no name for; they are the same
 * on all machines. */
enum {
    CALL_MAP_SHADOW_STACK = 453,
    CALL_FUTEX_WAKE = 454,
    CALL_FUTEX_WAIT = 455,
    CALL_FUTEX_REQUEUE = 456,
    CALL_MSEAL = 462,
    CALL_SETXATTRAT = 463,
    CALL_GETXATTRAT = 464,
    CALL_LISTXATTRAT = 465,
    CALL_REMOVEXATTRAT = 466,
    CALL_NEWEST = 469, /* that was looked at for this list */
    CALL_LAST = 600
};

/* TCGETS2, whose structure two headers of the C library's would define. */
#define GET_TERMIOS2 0x802c542au

/* Whatever their arguments are. */
static const int allowed[] = {
    /* files, which Landlock opens */
    SCMP_SYS(access), SCMP_SYS(chdir), SCMP_SYS(close), SCMP_SYS(close_range),
    SCMP_SYS(copy_file_range), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(fadvise64), SCMP_SYS(fallocate),
    SCMP_SYS(fchdir), SCMP_SYS(fdatasync), SCMP_SYS(fgetxattr),
    SCMP_SYS(flistxattr), SCMP_SYS(flock), SCMP_SYS(fstat), SCMP_SYS(fstatfs),
    SCMP_SYS(fsync), SCMP_SYS(ftruncate), SCMP_SYS(getcwd), SCMP_SYS(getdents),
    SCMP_SYS(getdents64), SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(lseek),
    SCMP_SYS(lstat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(newfstatat),
    SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(pread64), SCMP_SYS(preadv),
    SCMP_SYS(preadv2), SCMP_SYS(pwrite64), SCMP_SYS(pwritev),
    SCMP_SYS(pwritev2), SCMP_SYS(read), SCMP_SYS(readahead), SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(readv), SCMP_SYS(rename), SCMP_SYS(renameat),
    SCMP_SYS(renameat2), SCMP_SYS(rmdir), SCMP_SYS(sendfile), SCMP_SYS(splice),
    SCMP_SYS(stat), SCMP_SYS(statfs), SCMP_SYS(statx), SCMP_SYS(symlink),
    SCMP_SYS(symlinkat), SCMP_SYS(sync_file_range), SCMP_SYS(tee),
    SCMP_SYS(truncate), SCMP_SYS(umask), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
    SCMP_SYS(vmsplice), SCMP_SYS(write), SCMP_SYS(writev),
    /* waiting for them */
    SCMP_SYS(epoll_create), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_wait),
    SCMP_SYS(eventfd), SCMP_SYS(eventfd2), SCMP_SYS(inotify_init),
    SCMP_SYS(inotify_init1), SCMP_SYS(inotify_rm_watch), SCMP_SYS(io_cancel),
    SCMP_SYS(io_destroy), SCMP_SYS(io_getevents), SCMP_SYS(io_pgetevents),
    SCMP_SYS(io_setup), SCMP_SYS(io_submit), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(pselect6), SCMP_SYS(select), SCMP_SYS(signalfd),
    SCMP_SYS(signalfd4),
    /* memory */
    SCMP_SYS(brk), SCMP_SYS(get_mempolicy), SCMP_SYS(madvise), SCMP_SYS(mbind),
    SCMP_SYS(membarrier), SCMP_SYS(memfd_create), SCMP_SYS(mincore),
    SCMP_SYS(mlock), SCMP_SYS(mlock2), SCMP_SYS(mlockall), SCMP_SYS(mmap),
    SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(msync), SCMP_SYS(munlock),
    SCMP_SYS(munlockall), SCMP_SYS(munmap), SCMP_SYS(pkey_alloc),
    SCMP_SYS(pkey_free), SCMP_SYS(pkey_mprotect), SCMP_SYS(remap_file_pages),
    SCMP_SYS(set_mempolicy), CALL_MAP_SHADOW_STACK, CALL_MSEAL,
    /* processes and threads of its own */
    SCMP_SYS(arch_prctl), SCMP_SYS(capget), SCMP_SYS(capset), SCMP_SYS(exit),
    SCMP_SYS(exit_group), SCMP_SYS(fork), SCMP_SYS(futex),
    SCMP_SYS(futex_waitv), SCMP_SYS(get_robust_list), SCMP_SYS(get_thread_area),
    SCMP_SYS(getcpu), SCMP_SYS(getegid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getgroups), SCMP_SYS(getpgid), SCMP_SYS(getpgrp), SCMP_SYS(getpid),
    SCMP_SYS(getppid), SCMP_SYS(getpriority), SCMP_SYS(getresgid),
    SCMP_SYS(getresuid), SCMP_SYS(getrlimit), SCMP_SYS(getrusage),
    SCMP_SYS(getsid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(ioprio_get),
    SCMP_SYS(kill), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(prctl), SCMP_SYS(restart_syscall), SCMP_SYS(rseq),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(sched_get_priority_max), SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getattr),
    SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_rr_get_interval), SCMP_SYS(sched_yield), SCMP_SYS(seccomp),
    SCMP_SYS(set_robust_list), SCMP_SYS(set_thread_area),
    SCMP_SYS(set_tid_address), SCMP_SYS(setfsgid), SCMP_SYS(setfsuid),
    SCMP_SYS(setgid), SCMP_SYS(setregid), SCMP_SYS(setresgid),
    SCMP_SYS(setresuid), SCMP_SYS(setreuid), SCMP_SYS(setrlimit),
    SCMP_SYS(setuid), SCMP_SYS(sigaltstack), SCMP_SYS(tgkill), SCMP_SYS(tkill),
    SCMP_SYS(vfork), SCMP_SYS(wait4), SCMP_SYS(waitid), CALL_FUTEX_WAKE,
    CALL_FUTEX_WAIT, CALL_FUTEX_REQUEUE,
    /* clocks, and what the machine is */
    SCMP_SYS(alarm), SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(getitimer), SCMP_SYS(getrandom),
    SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep), SCMP_SYS(pause),
    SCMP_SYS(setitimer), SCMP_SYS(sysinfo), SCMP_SYS(time),
    SCMP_SYS(timer_create), SCMP_SYS(timer_delete), SCMP_SYS(timer_getoverrun),
    SCMP_SYS(timer_gettime), SCMP_SYS(timer_settime), SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_gettime), SCMP_SYS(timerfd_settime), SCMP_SYS(times),
    SCMP_SYS(uname),
    /* streams that are connected: an address in the message is an error there */
    SCMP_SYS(getpeername), SCMP_SYS(getsockname), SCMP_SYS(getsockopt),
    SCMP_SYS(recvfrom), SCMP_SYS(recvmmsg), SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(sendmsg), SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown)};

/* Of those that are online. */
static const int allowed_online[] = {SCMP_SYS(accept), SCMP_SYS(accept4),
                                     SCMP_SYS(bind),   SCMP_SYS(connect),
                                     SCMP_SYS(listen), SCMP_SYS(sendto)};

/* Leases and the owners of signals are not among these. */
static const unsigned allowed_fcntl[] = {
    F_DUPFD,      F_GETFD,      F_SETFD,     F_GETFL,         F_SETFL,
    F_GETLK,      F_SETLK,      F_SETLKW,    F_GETOWN,        F_OFD_GETLK,
    F_OFD_SETLK,  F_OFD_SETLKW, F_GETLEASE,  F_DUPFD_CLOEXEC, F_SETPIPE_SZ,
    F_GETPIPE_SZ, F_ADD_SEALS,  F_GET_SEALS,
};

/* Asking a terminal, which it does not have; what a descriptor is like, and what
 * waits in it; copies that share blocks; names and addresses of interfaces. */
static const unsigned allowed_ioctl[] = {
    TCGETS,      GET_TERMIOS2, TIOCGWINSZ,   TIOCGPGRP,     FIONREAD,
    TIOCOUTQ,    FIONBIO,      FIOCLEX,      FIONCLEX,      FIOQSIZE,
    FICLONE,     FICLONERANGE, SIOCGIFNAME,  SIOCGIFCONF,   SIOCGIFFLAGS,
    SIOCGIFADDR, SIOCGIFMTU,   SIOCGIFINDEX, SIOCGIFHWADDR, FS_IOC_GETFLAGS,
};

/* Answered with EOPNOTSUPP, upon which programs go without. */
static const int without[] = {
    SCMP_SYS(getxattr),     SCMP_SYS(lgetxattr),   SCMP_SYS(listxattr),
    SCMP_SYS(llistxattr),   SCMP_SYS(setxattr),    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),    SCMP_SYS(removexattr), SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr), CALL_SETXATTRAT,       CALL_GETXATTRAT,
    CALL_LISTXATTRAT,       CALL_REMOVEXATTRAT};

#define NAMESPACES                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |             \
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define INT 0xffffffffu /* of an int argument the kernel looks at these bits */

/* Are these bits of that argument so? */
static struct scmp_arg_cmp bits(unsigned argument, uint64_t mask, uint64_t are)
{
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, mask, are};
}

static int allow_if(scmp_filter_ctx ctx, int call, unsigned n,
                    const struct scmp_arg_cmp *are)
{
    return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call, n, are);
}

static int add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls,
                   size_t n)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < n; i++)
        rv = seccomp_rule_add(ctx, action, calls[i], 0);
    return rv;
}

/* A call with one of these as its second argument. */
static int allow_second(scmp_filter_ctx ctx, int call, const unsigned *list,
                        size_t n)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < n; i++) {
        const struct scmp_arg_cmp second = bits(1, INT, list[i]);

        rv = allow_if(ctx, call, 1, &second);
    }
    return rv;
}

/* What concerns a process, of the one that asks; and no other personality. */
static int allow_itself(scmp_filter_ctx ctx)
{
    static const int calls[] = {
        SCMP_SYS(prlimit64), SCMP_SYS(sched_setaffinity),
        SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
        SCMP_SYS(sched_setattr)};
    const struct scmp_arg_cmp itself[] = {bits(0, INT, 0), bits(1, INT, 0)},
                              io[] = {bits(0, INT, 1), bits(1, INT, 0)},
                              asks = bits(0, INT, INT);
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < N(calls); i++)
        rv = allow_if(ctx, calls[i], 1, itself);
    if (rv == 0)
        rv = allow_if(ctx, SCMP_SYS(setpriority), 2, itself);
    if (rv == 0)
        rv = allow_if(ctx, SCMP_SYS(ioprio_set), 2, io);
    if (rv == 0)
        rv = allow_if(ctx, SCMP_SYS(personality), 1, &asks);
    return rv;
}

static int allow_clone(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp no_namespace = bits(0, NAMESPACES, 0);

    return allow_if(ctx, SCMP_SYS(clone), 1, &no_namespace);
}

/* A file is opened, and made where the mode that it gets is not set-user-id nor
 * set-group-id. */
static int allow_open(scmp_filter_ctx ctx)
{
    const struct {
        int call;
        unsigned mode, flags; /* arguments; flags 0: it always makes one */
    } calls[] = {{SCMP_SYS(open), 2, 1},
                 {SCMP_SYS(openat), 3, 2},
                 {SCMP_SYS(creat), 1, 0},
                 {SCMP_SYS(mknod), 1, 0},
                 {SCMP_SYS(mknodat), 2, 0}};
    const unsigned makes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < N(calls); i++) {
        const struct scmp_arg_cmp plain =
                                      bits(calls[i].mode, S_ISUID | S_ISGID, 0),
                                  there = bits(calls[i].flags, makes, 0);

        rv = allow_if(ctx, calls[i].call, 1, &plain);
        if (rv == 0 && calls[i].flags != 0)
            rv = allow_if(ctx, calls[i].call, 1, &there);
    }
    return rv;
}

/* Modes and times of open files: attributes.c answers. */
static int ask_for_attributes(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp no_path = {1, SCMP_CMP_EQ, 0, 0};
    int rv = seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(fchmod), 0);

    return rv == 0 ? seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY,
                                            SCMP_SYS(utimensat), 1, &no_path)
                   : rv;
}

/* A family, of one type and protocol. */
static int allow_socket(scmp_filter_ctx ctx, int call, uint64_t family,
                        uint64_t type, uint64_t protocol)
{
    const struct scmp_arg_cmp of[] = {
        bits(0, INT, family),
        bits(1, INT & ~(uint64_t)(SOCK_CLOEXEC | SOCK_NONBLOCK), type),
        bits(2, INT, protocol)};

    return allow_if(ctx, call, N(of), of);
}

static int allow_sockets_online(scmp_filter_ctx ctx)
{
    static const struct {
        int family, type, protocol;
    } of[] = {{AF_INET, SOCK_STREAM, 0},
              {AF_INET, SOCK_STREAM, IPPROTO_TCP},
              {AF_INET, SOCK_DGRAM, 0},
              {AF_INET, SOCK_DGRAM, IPPROTO_UDP},
              {AF_INET6, SOCK_STREAM, 0},
              {AF_INET6, SOCK_STREAM, IPPROTO_TCP},
              {AF_INET6, SOCK_DGRAM, 0},
              {AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
              {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE},
              {AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE}};
    int rv = add_all(ctx, SCMP_ACT_ALLOW, allowed_online, N(allowed_online));

    for (size_t i = 0; rv == 0 && i < N(of); i++)
        rv = allow_socket(ctx, SCMP_SYS(socket), (uint64_t)of[i].family,
                          (uint64_t)of[i].type, (uint64_t)of[i].protocol);
    return rv;
}

static int allow_sockets(scmp_filter_ctx ctx, bool offline)
{
    const struct scmp_arg_cmp no_address = {4, SCMP_CMP_EQ, 0, 0};
    int rv = allow_socket(ctx, SCMP_SYS(socketpair), AF_UNIX, SOCK_STREAM, 0);

    if (rv != 0)
        return rv;
    return offline ? allow_if(ctx, SCMP_SYS(sendto), 1, &no_address)
                   : allow_sockets_online(ctx);
}

static int refuse_otherwise(scmp_filter_ctx ctx)
{
    static const int unseen[] = {SCMP_SYS(clone3), SCMP_SYS(openat2)};
    int rv = add_all(ctx, SCMP_ACT_ERRNO(ENOSYS), unseen, N(unseen));

    for (int call = CALL_NEWEST + 1; rv == 0 && call < CALL_LAST; call++)
        rv = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), call, 0);
    return rv == 0
               ? add_all(ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), without, N(without))
               : rv;
}

static int fill(scmp_filter_ctx ctx, const struct launch *l)
{
    int rv = add_all(ctx, SCMP_ACT_ALLOW, allowed, N(allowed));

    if (rv == 0)
        rv =
            allow_second(ctx, SCMP_SYS(fcntl), allowed_fcntl, N(allowed_fcntl));
    if (rv == 0)
        rv =
            allow_second(ctx, SCMP_SYS(ioctl), allowed_ioctl, N(allowed_ioctl));
    if (rv == 0)
        rv = allow_itself(ctx);
    if (rv == 0)
        rv = allow_clone(ctx);
    if (rv == 0)
        rv = allow_open(ctx);
    if (rv == 0)
        rv = ask_for_attributes(ctx);
    if (rv == 0)
        rv = allow_sockets(ctx, l->offline);
    return rv == 0 ? refuse_otherwise(ctx) : rv;
}

bool mortise_launch_filter(const struct launch *l, int *listener,
                           char words[LAUNCH_WORDS])
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rv = ctx != NULL ? fill(ctx, l) : -ENOMEM;

    /* A call of another architecture is refused whole: its numbers are others. */
    if (rv == 0)
        rv = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
                              SCMP_ACT_ERRNO(EPERM));
    if (rv == 0)
        rv = seccomp_load(ctx);
    if (rv == 0)
        *listener = seccomp_notify_fd(ctx);
    if (ctx != NULL)
        seccomp_release(ctx);
    if (rv != 0)
        snprintf(words, LAUNCH_WORDS, "the system call filter: %s",
                 strerror(-rv));
    return rv == 0;
}
