/* launch.h -- start a program in a sandbox.
 *
 * The launch arguments (the "spec") are strings of the form NAME=VALUE, each
 * terminated by a NUL, in any order:
 *
 *     program=PATH   the program, absolute
 *     arg=TEXT       one argument, from argv[1] on
 *     env=NAME=TEXT  one variable of its environment
 *     cwd=PATH       its working directory, absolute
 *     read=PATH      readable, with everything below
 *     write=PATH     readable and writable, with everything below
 *     exec=PATH      readable and executable; skipped if it does not exist
 *     system=PATH    readable; skipped if it does not exist
 *     offline=       no network sockets
 *     memory=BYTES   RLIMIT_DATA
 *     user=UID:GID   the user to run as; required if this process is root, and
 *                    possible only then
 *     opens=         may open files of other users, within read= and write=
 *
 * Every program is restricted as follows:
 *
 *   - It has a new process group, which neither it nor its descendants can
 *     leave, so that one signal reaches all of them.
 *   - It has no_new_privs, and no descriptors but 0, 1 and 2.
 *   - It cannot write core files, trace other processes, or use namespaces,
 *     mounts, keys or kernel modules.
 *   - If the kernel supports it (Landlock 6), it cannot send signals to
 *     processes outside its sandbox.
 *
 * The process that the engine started stays as supervisor and group leader.
 * When the program exits, the supervisor sends "exit N" or "signal N" on
 * LAUNCH_LIFE_FD and kills the group, itself included.  It also kills the
 * group when the engine closes its end of that socket, so no program outlives
 * its engine.  A message from the engine on that socket makes the supervisor
 * send SIGTERM to the program.  The supervisor also changes modes and times of
 * files that the program has open for writing (attributes.c).
 *
 * If a restriction cannot be applied, the program is not started and the
 * reason is written to LAUNCH_ERROR_FD.
 */
#ifndef MORTISE_WORKER_LAUNCH_H
#define MORTISE_WORKER_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LAUNCH_SPEC_FD = 3,  /* the launch arguments, until end of file */
    LAUNCH_ERROR_FD = 4, /* why the start failed; closed on success */
    LAUNCH_LIFE_FD = 5,  /* a socket: lifetime, and the exit status */
    LAUNCH_SPEC_MAX = 4 << 20
};

struct launch_list { /* NULL-terminated */
    char **items;
    size_t n;
};

struct launch { /* all text points into the spec */
    char *program, *cwd;
    struct launch_list args, env; /* args[0]: the program */
    struct launch_list read, write, exec, system;
    bool offline, has_memory;
    bool has_user, opens;
    uint64_t memory;
    uid_t uid; /* valid if has_user */
    gid_t gid;
};

enum { LAUNCH_MESSAGE_MAX = 512 };

/* Parse a spec of n bytes.  The spec is modified, and *l points into it.  On
 * failure, returns false with a message in `words`. */
bool mortise_launch_parse(struct launch *l, char *spec, size_t n,
                          char words[LAUNCH_MESSAGE_MAX]);
/* Apply all restrictions and execve() the program in the current process
 * group. Returns only on failure, with a message in `words`.  On `channel`, a
 * socket, the supervisor receives the listener for the calls that it decides
 * about. */
void mortise_launch_exec(const struct launch *l, int channel,
                         char words[LAUNCH_MESSAGE_MAX]);

/* ---- supervise.c ---- */
/* Wait until the program exits or the engine closes LAUNCH_LIFE_FD, then kill
 * the process group. */
_Noreturn void mortise_launch_supervise(const struct launch *l, pid_t program,
                                        int channel);

/* ---- attributes.c ---- */
/* In the program's process: send the filter's listener to the supervisor;
 * false with a message. */
bool mortise_launch_send_listener(int channel, int listener,
                                  char words[LAUNCH_MESSAGE_MAX]);
/* In the supervisor: receive the listener; -1 if the program was not
 * started. */
int mortise_launch_get_listener(int channel);
/* Decide about the system call that waits on the listener, and answer it. */
void mortise_launch_answer_call(int listener, const struct launch *l);

/* ---- landlock.c ---- */
/* Restrict files, signals and abstract sockets of this process; false with a
 * message. */
bool mortise_launch_set_landlock(const struct launch *l,
                                 char words[LAUNCH_MESSAGE_MAX]);

/* ---- user.c ---- */
/* Change to the user of the arguments and drop root's capabilities; false with
 * a message. */
bool mortise_launch_set_user(const struct launch *l,
                             char words[LAUNCH_MESSAGE_MAX]);

/* ---- filter.c ---- */
/* Restrict the system calls of this process; false with a message.  *listener
 * receives the calls that mortise_launch_answer_call() decides about. */
bool mortise_launch_set_filter(const struct launch *l, int *listener,
                               char words[LAUNCH_MESSAGE_MAX]);

#endif
