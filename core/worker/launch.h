/* launch.h -- starting a program with no more than it was given.
 *
 * What it is given are words, each `NAME=VALUE` and a NUL behind it, in this
 * order or any other:
 *
 *     program=PATH   the program, absolute           arg=TEXT    argv[1] and on
 *     env=NAME=TEXT  all of its environment          cwd=PATH    absolute
 *     read=PATH      may be read, all below it, too  write=PATH  and written
 *     exec=PATH      may be read and run, if it is there
 *     system=PATH    may be read, if it is there     offline=    no sockets
 *     memory=BYTES   the most that its data may take
 *
 * Always, whatever is said: a new process group, which neither it nor what it
 * starts can leave, so that a signal to the group ends all of it; no more
 * privileges by what it runs; no core files; no descriptors but 0, 1 and 2; no
 * tracing of other processes, no namespaces, mounts, keys, kernel modules and
 * such; where the kernel can (Landlock 6), no signals to processes that it did
 * not start.
 *
 * The process that was started stays, and leads the group.  When the program has
 * ended it says how ("exit N" or "signal N"), and ends all of the group, itself
 * included.  So it does when whoever started it is gone, which it hears by the
 * closing of a socket: nothing outlives the engine that had it run.  What is said
 * over that socket has it tell the program to end (SIGTERM).
 *
 * What cannot be done is said, and then the program is not started. */
#ifndef MORTISE_WORKER_LAUNCH_H
#define MORTISE_WORKER_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LAUNCH_SPEC_FD = 3,  /* the words, to its end */
    LAUNCH_WORDS_FD = 4, /* why it was not started; closed when it was */
    LAUNCH_LIFE_FD = 5,  /* a socket: open for as long as it may live, and how
                            it ended */
    LAUNCH_SPEC_MAX = 4 << 20
};

struct launch_list { /* NULL behind the last */
    char **items;
    size_t n;
};

struct launch { /* all text is the spec's */
    char *program, *cwd;
    struct launch_list args, env; /* args[0]: the program */
    struct launch_list read, write, exec, system;
    bool offline, has_memory;
    uint64_t memory;
};

enum { LAUNCH_WORDS = 512 };

/* From n bytes, which are changed and lent for good; false with words. */
bool mortise_launch_read(struct launch *l, char *spec, size_t n,
                         char words[LAUNCH_WORDS]);
/* This process becomes the program, in the group that it is in; returns where it
 * cannot, with words. */
void mortise_launch_go(const struct launch *l, char words[LAUNCH_WORDS]);

/* ---- supervise.c ---- */
/* Until it has ended, or the socket is closed. */
_Noreturn void mortise_launch_supervise(pid_t program);

/* ---- landlock.c ---- */
/* Files, signals and abstract sockets, from now on; false with words. */
bool mortise_launch_landlock(const struct launch *l, char words[LAUNCH_WORDS]);

/* ---- capabilities.c ---- */
/* Whoever it is, it is nobody's superuser; false with words. */
bool mortise_launch_capabilities(char words[LAUNCH_WORDS]);

/* ---- filter.c ---- */
/* System calls, from now on; false with words. */
bool mortise_launch_filter(const struct launch *l, char words[LAUNCH_WORDS]);

#endif
