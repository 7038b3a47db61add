/* launch.c -- a process becomes a program that has no more than it was given. */
#include "worker/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void refuse(char words[LAUNCH_WORDS], const char *what)
{
    snprintf(words, LAUNCH_WORDS, "%.400s: %s", what, strerror(errno));
}

/* What a program inherits and may have been changed by whoever started us. */
static void reset_signals(void)
{
    sigset_t none;

    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL); /* fails for those that cannot be changed */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool set_memory(uint64_t most, char words[LAUNCH_WORDS])
{
    struct rlimit now, wanted = {most, most};

    /* never more than there was */
    if (getrlimit(RLIMIT_DATA, &now) == 0 && now.rlim_max < most)
        wanted = (struct rlimit){now.rlim_max, now.rlim_max};
    if (setrlimit(RLIMIT_DATA, &wanted) == 0)
        return true;
    refuse(words, "a limit");
    return false;
}

/* What its files and its calls are held to, and whom the supervisor hears. */
static bool confine(const struct launch *l, int channel,
                    char words[LAUNCH_WORDS])
{
    int listener;

    return mortise_launch_landlock(l, words) &&
           mortise_launch_filter(l, &listener, words) &&
           mortise_launch_send_listener(channel, listener, words);
}

void mortise_launch_go(const struct launch *l, int channel,
                       char words[LAUNCH_WORDS])
{
    reset_signals();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        refuse(words, "no_new_privs");
        return;
    }
    if (!mortise_launch_user(l, words))
        return;
    /* A change of user sets this to fs.suid_dumpable, which may be 2: a program
     * that gets core files would then get the secrets of the words. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (chdir(l->cwd) != 0) {
        refuse(words, l->cwd);
        return;
    }
    /* the limit last: what is done here is not to be held to it */
    if (!confine(l, channel, words) ||
        (l->has_memory && !set_memory(l->memory, words)))
        return;
    execve(l->program, l->args.items, l->env.items);
    refuse(words, l->program);
}
