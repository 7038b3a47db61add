/* process.h -- run programs to their end on the loop.
 *
 * mortise-worker starts each program (worker/launch.h) in its own process
 * group, and removes everything that the program was not granted.  Any number
 * of programs can run at once; none needs a thread.  When a program ends or is
 * killed, its whole process group is killed.
 *
 * A request with `piece` starts an interactive program: its stdin stays open,
 * and its output is delivered as it arrives.
 *
 * This file knows nothing of runs, plugins or journals.  Everything is [loop].
 * Callbacks come from the loop, never from inside start() or cancel(), and may
 * call both.
 */
#ifndef MORTISE_SERVICES_PROCESS_PROCESS_H
#define MORTISE_SERVICES_PROCESS_PROCESS_H

#include <uv.h>

#include "core/base/err.h"
#include "core/base/mask.h"
#include "core/base/mem.h"
#include "core/engine/parts/timers.h"

enum {
    MORTISE_PROCESS_OUTPUT_MAX = 1 << 20,  /* bytes, the default */
    MORTISE_PROCESS_ERRORS_MAX = 64 << 10, /* bytes kept of stderr */
    MORTISE_PROCESS_WAITING_MAX = 64 << 20 /* bytes written and not read yet */
};

struct mortise_processes;
struct mortise_process;

enum mortise_process_outcome {
    MORTISE_PROCESS_EXITED = 0, /* `code` is the exit status */
    MORTISE_PROCESS_SIGNALLED,  /* `code` is the number of the signal */
    MORTISE_PROCESS_TIMEOUT,    /* this and the next: it was killed */
    MORTISE_PROCESS_TOO_LARGE,
    MORTISE_PROCESS_REFUSED, /* it was never started */
    MORTISE_PROCESS_LOST     /* its exit status or output is unknown */
};

struct mortise_process_end {
    enum mortise_process_outcome outcome;
    int code;
    const char *words; /* SIGNALLED, REFUSED, LOST: a message */
    const char *output, *errors;
    size_t n_output, n_errors;
    bool errors_cut; /* stderr was longer than the limit */
};

struct mortise_process_request {
    const char *worker; /* the path of mortise-worker */
    const char *words;  /* in the format of worker/launch.h */
    size_t n_words;
    const void *input; /* the whole stdin */
    size_t n_input;
    struct mortise_mask *mask; /* applied to the output; NULL: none */
    uint64_t timeout_ms;       /* 0: none */
    size_t output_max;         /* 0: the default above */
    /* Set: the program is interactive.  Gets each masked piece of stdout, or of
     * stderr (`is_error`); it is lent.  The request has no input and no
     * output_max then, and the end has no output. */
    void (*piece)(void *ud, bool is_error, const char *p, size_t n);
    /* Called exactly once, unless the process was cancelled; everything is
     * lent. */
    void (*done)(void *ud, const struct mortise_process_end *end);
    void *ud;
};

/* The loop and the timers are lent. */
int mortise_processes_open(struct mortise_processes **out,
                           const struct mortise_mem *mem, uv_loop_t *loop,
                           struct mortise_timers *timers,
                           struct mortise_err *err);
/* Does any process exist, including cancelled and abandoned processes? NULL is
 * fine. */
bool mortise_processes_exist(const struct mortise_processes *all);
/* Kill all processes that are left; the loop must turn once more afterwards.
 * NULL is fine. */
void mortise_processes_close(struct mortise_processes *all);

/* Everything is copied.  MORTISE_ENOMEM, MORTISE_EIO, or MORTISE_EUNAVAILABLE
 * if there is no mortise-worker: nothing happened.  MORTISE_ESTATE: the program
 * may have begun, and was killed. */
int mortise_process_start(struct mortise_processes *all,
                          const struct mortise_process_request *request,
                          struct mortise_process **out,
                          struct mortise_err *err);
/* Kill the process group; done() is not called. */
void mortise_process_cancel(struct mortise_process *p);

/* A text that waits to be written to the stdin of an interactive program.  It
 * is the caller's memory until done() or mortise_process_text_detach(). */
struct mortise_process_text {
    void (*done)(struct mortise_process_text *t, bool taken);
    struct mortise_process *process; /* NULL: it does not wait */
    struct mortise_process_text *next, **at;
    uint64_t until; /* position of its end among all bytes ever put */
};

/* The text is copied.  MORTISE_OK with t->process NULL: the pipe took it, and
 * done() is not called.  MORTISE_OK otherwise: it waits, and done() reports
 * whether the pipe took it before the program ended.  MORTISE_ELIMIT: too many
 * bytes wait.  MORTISE_ESTATE: stdin is closed.  MORTISE_ENOMEM. */
int mortise_process_write(struct mortise_process *p, const char *text, size_t n,
                          struct mortise_process_text *t,
                          struct mortise_err *err);
/* Do not call done(); the text may be written all the same.  A text that does
 * not wait is fine. */
void mortise_process_text_detach(struct mortise_process_text *t);
/* Close stdin after the texts that wait.  Ask the program to end after
 * grace_ms, and kill it after another grace_ms. */
void mortise_process_end_input(struct mortise_process *p, uint64_t grace_ms);

/* Like mortise_process_end_input(), but done() is not called. */
void mortise_process_abandon(struct mortise_process *p, uint64_t grace_ms);

/* Did mortise-worker become the program?  Until then the program has done
 * nothing. */
bool mortise_process_has_begun(const struct mortise_process *p);

#endif
