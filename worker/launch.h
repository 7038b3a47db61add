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
 *     user=UID:GID   who it runs as; root needs this word, and nobody else has
 *                    another user to run it as
 *     opens=         files of others, too, as far as it may read and write
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
 * over that socket has it tell the program to end (SIGTERM).  It also changes the
 * modes and times of files that the program has open for writing: attributes.c.
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
    bool has_user, opens;
    uint64_t memory;
    uid_t uid; /* of has_user */
    gid_t gid;
};

enum { LAUNCH_WORDS = 512 };

/* From n bytes, which are changed and lent for good; false with words. */
bool mortise_launch_read(struct launch *l, char *spec, size_t n,
                         char words[LAUNCH_WORDS]);
/* This process becomes the program, in the group that it is in; returns where it
 * cannot, with words.  On `channel`, a socket, the supervisor gets the descriptor
 * by which it hears of calls that it is to judge. */
void mortise_launch_go(const struct launch *l, int channel,
                       char words[LAUNCH_WORDS]);

/* ---- supervise.c ---- */
/* Until it has ended, or the socket is closed. */
_Noreturn void mortise_launch_supervise(const struct launch *l, pid_t program,
                                        int channel);

/* ---- attributes.c ---- */
/* The program's side: hand over the listener of its filter; false with words. */
bool mortise_launch_send_listener(int channel, int listener,
                                  char words[LAUNCH_WORDS]);
/* The supervisor's: the listener, or -1: the program was not started. */
int mortise_launch_get_listener(int channel);
/* Answer the call that waits on it. */
void mortise_launch_answer(int listener, const struct launch *l);

/* ---- landlock.c ---- */
/* Files, signals and abstract sockets, from now on; false with words. */
bool mortise_launch_landlock(const struct launch *l, char words[LAUNCH_WORDS]);

/* ---- user.c ---- */
/* It is the user that the words name, and nobody's superuser; false with
 * words. */
bool mortise_launch_user(const struct launch *l, char words[LAUNCH_WORDS]);

/* ---- filter.c ---- */
/* System calls, from now on; false with words.  *listener hears of those that
 * mortise_launch_answer() is for. */
bool mortise_launch_filter(const struct launch *l, int *listener,
                           char words[LAUNCH_WORDS]);

#endif
