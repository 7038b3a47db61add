/* deadly.h -- what takes an engine down, or tries to: die {how} and create with
 * config {create: how}.  It does so unless the file config.mended is there.
 *
 * Each entry writes a line into config.file, if that is given. */
#ifndef DEADLY_H
#define DEADLY_H

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simple.h"

static char deadly_mended[1024];

MORTISE_INLINE void deadly_fault(void)
{
    volatile int *volatile nowhere = NULL;

    *nowhere = 1;
}

static int deadly_deep(const volatile char *p, int n)
{
    volatile char here[4096];

    here[0] = p[0];
    return n < 0 ? 0 : deadly_deep(here, n + 1) + here[0];
}

static void *deadly_thread(void *ud)
{
    (void)ud;
    simple_sleep_ms(20); /* the call that made it may be pending by now */
    deadly_fault();
    return NULL;
}

/* What is not deadly, but must not last either. */
MORTISE_INLINE void deadly_leave_behind(void)
{
    sigset_t all;
    locale_t comma = newlocale(LC_NUMERIC_MASK, "de_DE.UTF-8", (locale_t)0);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    fesetround(FE_UPWARD);
    if (comma != (locale_t)0)
        uselocale(comma);
}

/* A child that lives on: its pid is in the file config.mended with `.heir`. */
MORTISE_INLINE void deadly_leave_heir(pid_t child)
{
    char path[sizeof deadly_mended + 8], tmp[sizeof path + 8];
    FILE *f;

    if (child != 0)
        return;
    snprintf(path, sizeof path, "%s.heir", deadly_mended);
    snprintf(tmp, sizeof tmp, "%s.new", path);
    f = fopen(tmp, "w");
    if (f == NULL || fprintf(f, "%ld\n", (long)getpid()) < 0 ||
        fclose(f) != 0 || rename(tmp, path) != 0)
        abort();
    for (;;)
        pause();
}

MORTISE_INLINE void deadly_do(const char *how)
{
    pthread_t thread;

    if (deadly_mended[0] != '\0' && access(deadly_mended, F_OK) == 0)
        return;
    if (strcmp(how, "segv") == 0)
        deadly_fault();
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "trap") == 0)
        __builtin_trap();
    else if (strcmp(how, "overflow") == 0)
        deadly_deep("", 0);
    else if (strcmp(how, "exit") == 0)
        exit(0);
    else if (strcmp(how, "quick_exit") == 0)
        quick_exit(0);
    else if (strcmp(how, "_exit") == 0)
        _exit(0);
    else if (strcmp(how, "leave") == 0)
        pthread_exit(NULL);
    else if (strcmp(how, "thread") == 0)
        pthread_create(&thread, NULL, deadly_thread, NULL);
    else if (strcmp(how, "hang") == 0)
        for (;;)
            simple_sleep_ms(1000);
    else if (strcmp(how, "slow") == 0)
        simple_sleep_ms(500);
    else if (strcmp(how, "fork") == 0)
        fork(); /* and both come back */
    else if (strcmp(how, "heir") == 0)
        deadly_leave_heir(fork());
    else if (strcmp(how, "clone") == 0) /* nobody is told of it */
        deadly_leave_heir((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    else if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL); /* nobody can tell it from outside */
    else if (strcmp(how, "masks") == 0)
        deadly_leave_behind();
}

MORTISE_INLINE void deadly_note(const mortise_inst *i)
{
    int fd =
        i->file[0] != '\0'
            ? open(i->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
            : -1;

    if (fd < 0)
        return;
    if (write(fd, "entered\n", 8) != 8)
        abort();
    close(fd);
}

MORTISE_INLINE mortise_status deadly_create(mortise_host *host,
                                            const mortise_host_api *api,
                                            mortise_str config,
                                            mortise_inst **out)
{
    char how[32] = "";
    mortise_jv c;

    mortise_jv_parse(config, &c);
    mortise_jv_cstr(mortise_jv_get(c, "create"), how, sizeof how);
    mortise_jv_cstr(mortise_jv_get(c, "mended"), deadly_mended,
                    sizeof deadly_mended);
    deadly_do(how);
    return simple_create(host, api, config, out);
}

/* die {how}: and gives {how} back, if it is still there. */
MORTISE_INLINE mortise_status deadly_execute(mortise_inst *i,
                                             const mortise_request *r)
{
    char how[32] = "";
    mortise_jv body;

    deadly_note(i);
    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "how"), how, sizeof how);
    deadly_do(how);
    return simple_emit(i, r, "\"survived\"");
}

#endif
