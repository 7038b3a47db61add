/* doctor_host.c -- `mortise doctor`: the host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "cli/doctor.h"
#include "services/http/curl.h"
#include "core/plugin/memfd.h"

#ifndef SYS_landlock_create_ruleset /* Linux 5.13, all architectures */
#define SYS_landlock_create_ruleset 444
#endif

enum { PAGE = 4096, DESCRIPTORS = 1024 };

/* 2026-01-01: an earlier time means that the clock is wrong. */
#define BORN_MS 1767225600000ull

/* Landlock ABIs: the minimum of worker/landlock.c, and the full set. */
enum { LANDLOCK_ENOUGH = 3, LANDLOCK_ALL = 6 };

static void check_landlock(struct mortise_doctor *d)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1u);

    if (abi >= LANDLOCK_ALL)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "landlock", NULL, "ABI %ld",
                              abi);
    else if (abi >= LANDLOCK_ENOUGH)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_OK, "landlock", NULL,
            "ABI %ld; with ABI 6 (Linux 6.12) or later, programs also cannot "
            "signal other processes of their user",
            abi);
    else if (abi > 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "landlock", "use Linux 6.2 or newer",
            "ABI %ld is too old to restrict a program's files, "
            "so Mortise starts no programs",
            abi);
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "landlock",
            "use Linux 6.2 or newer, and include landlock in "
            "the boot parameter lsm=...",
            "not available: Mortise cannot restrict a program's "
            "files, so it starts no programs");
}

static void check_kernel(struct mortise_doctor *d)
{
    struct utsname u;

    uname(&u);
    mortise_doctor_report(d, MORTISE_DOCTOR_OK, "kernel", NULL, "%s %s on %s",
                          u.sysname, u.release, u.machine);
    check_landlock(d);
    if (prctl(PR_GET_SECCOMP) >= 0)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "seccomp", NULL,
                              "available");
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_WARN, "seccomp",
                              "use a kernel with CONFIG_SECCOMP_FILTER",
                              "not available: Mortise cannot restrict system "
                              "calls, so it starts no programs");
}

/* Plugins are loaded from sealed memory: can it be created and executed? */
static void check_memfd(struct mortise_doctor *d)
{
    int fd = mortise_memfd_new("doctor");
    void *p = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, PAGE) == 0)
        p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "memfd",
            "allow memfd_create() and executable mappings of it "
            "(seccomp, SELinux, vm.memfd_noexec)",
            "plugins cannot be loaded from sealed memory: %s", strerror(errno));
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "memfd", NULL, "%s",
                              mortise_memfd_is_noexec(fd)
                                  ? "sealed memory, noexec"
                                  : "sealed memory (noexec: Linux 6.3)");
    if (p != MAP_FAILED)
        munmap(p, PAGE);
    if (fd >= 0)
        close(fd);
}

static void check_proc(struct mortise_doctor *d)
{
    if (access("/proc/self/fd", R_OK | X_OK) == 0)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "proc", NULL,
                              "/proc is mounted");
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "proc", "mount -t proc proc /proc",
            "/proc/self/fd: %s; plugins and the control socket need it",
            strerror(errno));
}

static void check_descriptor_limit(struct mortise_doctor *d)
{
    struct rlimit r;
    bool few = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < DESCRIPTORS;

    mortise_doctor_report(
        d, few ? MORTISE_DOCTOR_WARN : MORTISE_DOCTOR_OK, "descriptors",
        "raise the limit: 'ulimit -n 4096', or LimitNOFILE=4096 "
        "in the unit of the service",
        "at most %llu open files%s", (unsigned long long)r.rlim_cur,
        few ? ": too few for many runs, connections and plugins "
              "at the same time"
            : "");
}

static void check_clock(struct mortise_doctor *d)
{
    char now[MORTISE_TIME_TEXT];
    bool wrong = mortise_now_ms() < BORN_MS;

    mortise_time_format(now, mortise_now_ms());
    mortise_doctor_report(
        d, wrong ? MORTISE_DOCTOR_FAIL : MORTISE_DOCTOR_OK, "clock",
        "synchronize the clock (timedatectl set-ntp true)", "%s%s", now,
        wrong ? ": with a wrong clock, deadlines and signatures "
                "are judged wrongly"
              : "");
}

/* libcurl is loaded on first use, so its absence is not noticed before. */
static void check_curl(struct mortise_doctor *d)
{
    const struct mortise_curl *curl;
    struct mortise_err err;

    if (mortise_curl_get(&curl, &err) == MORTISE_OK)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "libcurl", NULL, "%.*s",
                              (int)strcspn(curl->version(), " "),
                              curl->version());
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "libcurl",
            "install libcurl 7.87 or later (apt-get install libcurl4)",
            "%s: http.request/1 does not work in any plugin", err.msg);
}

void mortise_doctor_check_host(struct mortise_doctor *d)
{
    check_kernel(d);
    check_memfd(d);
    check_proc(d);
    check_descriptor_limit(d);
    check_clock(d);
    check_curl(d);
}
