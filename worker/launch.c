/* launch.c -- restrict this process and execute the program in it. */
#include "worker/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void set_launch_error(char words[LAUNCH_MESSAGE_MAX], const char *what)
{
    snprintf(words, LAUNCH_MESSAGE_MAX, "%.400s: %s", what, strerror(errno));
}

/* Undo signal settings that were inherited from the engine's parents. */
static void reset_signals(void)
{
    sigset_t none;

    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL); /* fails for SIGKILL and SIGSTOP */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool set_memory_limit(uint64_t most, char words[LAUNCH_MESSAGE_MAX])
{
    struct rlimit now, wanted = {most, most};

    /* never raise the inherited limit */
    if (getrlimit(RLIMIT_DATA, &now) == 0 && now.rlim_max < most)
        wanted = (struct rlimit){now.rlim_max, now.rlim_max};
    if (setrlimit(RLIMIT_DATA, &wanted) == 0)
        return true;
    set_launch_error(words, "a limit");
    return false;
}

/* Apply Landlock and the system call filter, and pass the filter's listener to
 * the supervisor. */
static bool confine_program(const struct launch *l, int channel,
                            char words[LAUNCH_MESSAGE_MAX])
{
    int listener;

    return mortise_launch_set_landlock(l, words) &&
           mortise_launch_set_filter(l, &listener, words) &&
           mortise_launch_send_listener(channel, listener, words);
}

void mortise_launch_exec(const struct launch *l, int channel,
                         char words[LAUNCH_MESSAGE_MAX])
{
    reset_signals();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        set_launch_error(words, "no_new_privs");
        return;
    }
    if (!mortise_launch_set_user(l, words))
        return;
    /* The change of user resets this flag to fs.suid_dumpable, which may be
     * 2: then a core-file handler would get the secrets in the launch
     * arguments. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (chdir(l->cwd) != 0) {
        set_launch_error(words, l->cwd);
        return;
    }
    /* set the limit last, so that the setup is not subject to it */
    if (!confine_program(l, channel, words) ||
        (l->has_memory && !set_memory_limit(l->memory, words)))
        return;
    execve(l->program, l->args.items, l->env.items);
    set_launch_error(words, l->program);
}
