/* fatal.c -- detect whether a plugin ended the process.
 *
 * The library installs no signal handlers and does not decide how a program
 * exits; the command line does.  For each way to exit, it asks
 * core/plugin/death.c whether a plugin caused it.
 *
 *   (1) A signal counts if the kernel sent it for an action of a thread, or if
 *       this process sent it (abort()).  One from another process does not: a
 *       service manager may send SIGABRT.
 *   (2) The previous handler then runs: the signal is raised again with it, so
 *       a core file or a sanitizer's report is the same as without us.
 *   (3) A process that a plugin ends does not exit with 0.
 *
 * main.c handles _exit().
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

static struct sigaction previous_actions[N_FATAL];

static bool is_own_signal(const siginfo_t *info) /* (1) */
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
    if (is_own_signal(info))
        mortise_death_record_signal(fatal[i].name, context);
    sigaction(number, &previous_actions[i], NULL);
    /* A faulting instruction faults again on return; other signals are sent
     * again (2). */
    if (info->si_code <= 0 || number == SIGTRAP || number == SIGSYS)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    errno = saved;
}

/* Registered before an engine is opened, so it runs after nearly all other
 * exit handlers. */
static void on_exit_of_process(void)
{
    if (mortise_death_record_exit())
        syscall(SYS_exit_group, MORTISE_EXIT_FAILED);
}

void mortise_fatal_catch(void)
{
    static bool caught;
    struct sigaction a = {.sa_sigaction = on_fatal,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK};

    mortise_death_start_recording();
    if (caught)
        return; /* a forked child inherits the handlers */
    caught = true;
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < N_FATAL; i++)
        sigaction(fatal[i].number, &a, &previous_actions[i]);
    atexit(on_exit_of_process);
    at_quick_exit(on_exit_of_process);
}
