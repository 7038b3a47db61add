/* fatal.c -- what ends the process, for who wants to know whether it was a
 * plugin.
 *
 * The library takes no signals and has no say in how a program exits; the
 * command line is the program, so it does.  Each way out asks core/plugin/death.c
 * whether a plugin took it.
 *
 *   (1) A signal counts that the kernel sent for what a thread did, or this very
 *       process (abort()).  One that somebody else sent does not: a service
 *       manager may well send SIGABRT.
 *   (2) What was there before is called: the signal comes again with that, so a
 *       core, or a report of a sanitizer, says the same as without us.
 *   (3) A process that a plugin ends does not end with 0.
 *
 * _exit() is main.c's.
 */
#include "cli/fatal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "core/plugin/death.h"

static const struct fatal {
    int number;
    const char *name;
} fatal[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
    {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"}, {SIGSYS, "SIGSYS"},
    {SIGTRAP, "SIGTRAP"},
};
enum { N_FATAL = sizeof fatal / sizeof fatal[0] };

static struct sigaction before[N_FATAL];

static bool is_own(const siginfo_t *info) /* (1) */
{
    return info->si_code > 0 ||
           ((info->si_code == SI_USER || info->si_code == SI_TKILL ||
             info->si_code == SI_QUEUE) &&
            info->si_pid == getpid());
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    size_t i = 0;

    while (i < N_FATAL - 1 && fatal[i].number != number)
        i++;
    if (is_own(info))
        mortise_death_by_signal(fatal[i].name, context);
    sigaction(number, &before[i], NULL);
    /* What faulted faults again as we return; other signals are sent again, and
     * come then (2). */
    if (info->si_code <= 0 || number == SIGTRAP || number == SIGSYS)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    errno = saved;
}

/* Registered when an engine is about to be opened, so before nearly everything
 * else that exit() does. */
static void on_exit_of_process(void)
{
    if (mortise_death_by_exit())
        syscall(SYS_exit_group, MORTISE_EXIT_FAILED);
}

void mortise_fatal_catch(void)
{
    static bool caught;
    struct sigaction a = {.sa_sigaction = on_fatal,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK};

    mortise_death_own();
    if (caught)
        return; /* children of fork have the handlers */
    caught = true;
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < N_FATAL; i++)
        sigaction(fatal[i].number, &a, &before[i]);
    atexit(on_exit_of_process);
    at_quick_exit(on_exit_of_process);
}
