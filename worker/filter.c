/* filter.c -- the system calls that a program may make (seccomp).
 *
 * The filter is a list of the calls that interpreters, compilers and threaded
 * runtimes need.  Unlisted calls fail with EPERM.  Three kinds get another
 * error, because libraries then fall back to something else:
 *   ENOSYS      clone3() and openat2(), whose arguments a filter cannot see
 *   ENOSYS      calls that are newer than this list
 *   EOPNOTSUPP  calls for extended attributes
 * Every call of a foreign architecture fails.
 *
 * Sockets  Offline, a program may create only connected pairs of local
 *          streams; runtimes use them to talk to their own child processes.
 *          Pairs of datagram sockets are denied: sendto() on one reaches every
 *          path and every abstract name on this machine.  Online, TCP, UDP and
 *          the netlink family that lists the machine's addresses are allowed.
 *
 * Files    Landlock controls the contents and names of files, but not modes,
 *          times, owners, attributes and leases.  No call may change these by
 *          path.  The supervisor changes modes and times of open files
 *          (attributes.c), since it can see whether a file is open for
 *          writing; the others never change.  No file becomes set-user-id or
 *          set-group-id.  fcntl() and ioctl() are filtered by command, because
 *          they set leases, signal owners and flags.
 */
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

/* Calls that Debian 12's libseccomp does not name.  The numbers are the same
 * on all architectures. */
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
    CALL_NEWEST = 469, /* the newest call that was considered for this list */
    CALL_LAST = 600
};

/* TCGETS2; its structure is defined in two conflicting C library headers. */
#define GET_TERMIOS2 0x802c542au

/* Allowed with any arguments. */
static const int allowed[] = {
    /* files; Landlock restricts opening them */
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
    /* waiting for files */
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
    /* own processes and threads */
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
    /* clocks and system information */
    SCMP_SYS(alarm), SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(getitimer), SCMP_SYS(getrandom),
    SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep), SCMP_SYS(pause),
    SCMP_SYS(setitimer), SCMP_SYS(sysinfo), SCMP_SYS(time),
    SCMP_SYS(timer_create), SCMP_SYS(timer_delete), SCMP_SYS(timer_getoverrun),
    SCMP_SYS(timer_gettime), SCMP_SYS(timer_settime), SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_gettime), SCMP_SYS(timerfd_settime), SCMP_SYS(times),
    SCMP_SYS(uname),
    /* connected streams; an address in the message is an error on them */
    SCMP_SYS(getpeername), SCMP_SYS(getsockname), SCMP_SYS(getsockopt),
    SCMP_SYS(recvfrom), SCMP_SYS(recvmmsg), SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(sendmsg), SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown)};

/* Allowed in addition if the program is online. */
static const int allowed_online[] = {SCMP_SYS(accept), SCMP_SYS(accept4),
                                     SCMP_SYS(bind),   SCMP_SYS(connect),
                                     SCMP_SYS(listen), SCMP_SYS(sendto)};

/* F_SETLEASE, F_SETOWN and F_SETSIG are left out. */
static const unsigned allowed_fcntl[] = {
    F_DUPFD,      F_GETFD,      F_SETFD,     F_GETFL,         F_SETFL,
    F_GETLK,      F_SETLK,      F_SETLKW,    F_GETOWN,        F_OFD_GETLK,
    F_OFD_SETLK,  F_OFD_SETLKW, F_GETLEASE,  F_DUPFD_CLOEXEC, F_SETPIPE_SZ,
    F_GETPIPE_SZ, F_ADD_SEALS,  F_GET_SEALS,
};

/* Terminal queries (the program has no terminal), state of descriptors,
 * reflink copies, names and addresses of network interfaces. */
static const unsigned allowed_ioctl[] = {
    TCGETS,      GET_TERMIOS2, TIOCGWINSZ,   TIOCGPGRP,     FIONREAD,
    TIOCOUTQ,    FIONBIO,      FIOCLEX,      FIONCLEX,      FIOQSIZE,
    FICLONE,     FICLONERANGE, SIOCGIFNAME,  SIOCGIFCONF,   SIOCGIFFLAGS,
    SIOCGIFADDR, SIOCGIFMTU,   SIOCGIFINDEX, SIOCGIFHWADDR, FS_IOC_GETFLAGS,
};

/* Denied with EOPNOTSUPP; programs then do without. */
static const int unsupported_calls[] = {
    SCMP_SYS(getxattr),     SCMP_SYS(lgetxattr),   SCMP_SYS(listxattr),
    SCMP_SYS(llistxattr),   SCMP_SYS(setxattr),    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),    SCMP_SYS(removexattr), SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr), CALL_SETXATTRAT,       CALL_GETXATTRAT,
    CALL_LISTXATTRAT,       CALL_REMOVEXATTRAT};

#define NAMESPACES                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |             \
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define INT 0xffffffffu /* the kernel reads these bits of an int argument */

/* A condition: (argument & mask) == are. */
static struct scmp_arg_cmp match_bits(unsigned argument, uint64_t mask,
                                      uint64_t are)
{
    return (struct scmp_arg_cmp){argument, SCMP_CMP_MASKED_EQ, mask, are};
}

static int allow_if(scmp_filter_ctx ctx, int call, unsigned n,
                    const struct scmp_arg_cmp *are)
{
    return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call, n, are);
}

static int add_filter_rules(scmp_filter_ctx ctx, uint32_t action,
                            const int *calls, size_t n)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < n; i++)
        rv = seccomp_rule_add(ctx, action, calls[i], 0);
    return rv;
}

/* Allow the call if its second argument is in the list. */
static int allow_by_second_argument(scmp_filter_ctx ctx, int call,
                                    const unsigned *list, size_t n)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < n; i++) {
        const struct scmp_arg_cmp second = match_bits(1, INT, list[i]);

        rv = allow_if(ctx, call, 1, &second);
    }
    return rv;
}

/* Allow calls on the calling process only, and personality() only as a
 * query. */
static int allow_calls_on_itself(scmp_filter_ctx ctx)
{
    static const int calls[] = {
        SCMP_SYS(prlimit64), SCMP_SYS(sched_setaffinity),
        SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
        SCMP_SYS(sched_setattr)};
    const struct scmp_arg_cmp itself[] = {match_bits(0, INT, 0),
                                          match_bits(1, INT, 0)},
                              io[] = {match_bits(0, INT, 1),
                                      match_bits(1, INT, 0)},
                              asks = match_bits(0, INT, INT);
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

static int allow_clone_call(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp no_namespace = match_bits(0, NAMESPACES, 0);

    return allow_if(ctx, SCMP_SYS(clone), 1, &no_namespace);
}

/* Allow opening files; allow creating them only with a mode that has neither
 * set-user-id nor set-group-id. */
static int allow_open_calls(scmp_filter_ctx ctx)
{
    const struct {
        int call;
        unsigned mode, flags; /* argument numbers; flags 0: always creates */
    } calls[] = {{SCMP_SYS(open), 2, 1},
                 {SCMP_SYS(openat), 3, 2},
                 {SCMP_SYS(creat), 1, 0},
                 {SCMP_SYS(mknod), 1, 0},
                 {SCMP_SYS(mknodat), 2, 0}};
    const unsigned makes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < N(calls); i++) {
        const struct scmp_arg_cmp plain = match_bits(calls[i].mode,
                                                     S_ISUID | S_ISGID, 0),
                                  there = match_bits(calls[i].flags, makes, 0);

        rv = allow_if(ctx, calls[i].call, 1, &plain);
        if (rv == 0 && calls[i].flags != 0)
            rv = allow_if(ctx, calls[i].call, 1, &there);
    }
    return rv;
}

/* Forward changes of modes and times of open files to the supervisor. */
static int forward_attribute_calls(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp no_path = {1, SCMP_CMP_EQ, 0, 0};
    int rv = seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(fchmod), 0);

    return rv == 0 ? seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY,
                                            SCMP_SYS(utimensat), 1, &no_path)
                   : rv;
}

/* Allow sockets of one family, type and protocol. */
static int allow_socket(scmp_filter_ctx ctx, int call, uint64_t family,
                        uint64_t type, uint64_t protocol)
{
    const struct scmp_arg_cmp of[] = {
        match_bits(0, INT, family),
        match_bits(1, INT & ~(uint64_t)(SOCK_CLOEXEC | SOCK_NONBLOCK), type),
        match_bits(2, INT, protocol)};

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
    int rv = add_filter_rules(ctx, SCMP_ACT_ALLOW, allowed_online,
                              N(allowed_online));

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

static int add_error_rules(scmp_filter_ctx ctx)
{
    static const int unfilterable[] = {SCMP_SYS(clone3), SCMP_SYS(openat2)};
    int rv = add_filter_rules(ctx, SCMP_ACT_ERRNO(ENOSYS), unfilterable,
                              N(unfilterable));

    for (int call = CALL_NEWEST + 1; rv == 0 && call < CALL_LAST; call++)
        rv = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), call, 0);
    return rv == 0 ? add_filter_rules(ctx, SCMP_ACT_ERRNO(EOPNOTSUPP),
                                      unsupported_calls, N(unsupported_calls))
                   : rv;
}

static int build_filter(scmp_filter_ctx ctx, const struct launch *l)
{
    int rv = add_filter_rules(ctx, SCMP_ACT_ALLOW, allowed, N(allowed));

    if (rv == 0)
        rv = allow_by_second_argument(ctx, SCMP_SYS(fcntl), allowed_fcntl,
                                      N(allowed_fcntl));
    if (rv == 0)
        rv = allow_by_second_argument(ctx, SCMP_SYS(ioctl), allowed_ioctl,
                                      N(allowed_ioctl));
    if (rv == 0)
        rv = allow_calls_on_itself(ctx);
    if (rv == 0)
        rv = allow_clone_call(ctx);
    if (rv == 0)
        rv = allow_open_calls(ctx);
    if (rv == 0)
        rv = forward_attribute_calls(ctx);
    if (rv == 0)
        rv = allow_sockets(ctx, l->offline);
    return rv == 0 ? add_error_rules(ctx) : rv;
}

bool mortise_launch_set_filter(const struct launch *l, int *listener,
                               char words[LAUNCH_MESSAGE_MAX])
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rv = ctx != NULL ? build_filter(ctx, l) : -ENOMEM;

    /* A foreign architecture has other call numbers, so the list does not
     * apply to it. */
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
        snprintf(words, LAUNCH_MESSAGE_MAX, "the system call filter: %s",
                 strerror(-rv));
    return rv == 0;
}
