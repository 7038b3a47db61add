/* process.h -- programs, run to their end on the loop.
 *
 * Each is started by mortise-worker (worker/launch.h), which takes from it what
 * it was not given, in a process group of its own.  Any number are under way at
 * once, and none of them has a thread.  When one ends, by itself or because it
 * was told to, all of its group ends with it.
 *
 * One that is `kept` is spoken with: its stdin stays open, and what it says is
 * told as it comes.
 *
 * It knows nothing of runs, plugins or journals.  Everything is [loop];
 * callbacks come from the loop, never from inside start() or cancel(), and may
 * call both. */
#ifndef MORTISE_ENGINE_PARTS_PROCESS_H
#define MORTISE_ENGINE_PARTS_PROCESS_H

#include <uv.h>

#include "core/base/err.h"
#include "core/base/mask.h"
#include "core/base/mem.h"
#include "core/engine/parts/timers.h"

enum {
    MORTISE_PROCESS_OUTPUT_MAX = 1 << 20,  /* bytes, where nothing is said */
    MORTISE_PROCESS_ERRORS_MAX = 64 << 10, /* of which no more are kept */
    MORTISE_PROCESS_WAITING_MAX = 64 << 20 /* written to one, and not taken */
};

struct mortise_processes;
struct mortise_process;

enum mortise_process_outcome {
    MORTISE_PROCESS_EXITED = 0, /* with `code` */
    MORTISE_PROCESS_SIGNALLED,  /* `code` is the signal's number */
    MORTISE_PROCESS_TIMEOUT,    /* these two: it was killed */
    MORTISE_PROCESS_TOO_LARGE,
    MORTISE_PROCESS_REFUSED, /* it was never started */
    MORTISE_PROCESS_LOST     /* how it ended nobody knows */
};

struct mortise_process_end {
    enum mortise_process_outcome outcome;
    int code;
    const char *words; /* SIGNALLED, REFUSED, LOST: in words */
    const char *output, *errors;
    size_t n_output, n_errors;
    bool errors_cut; /* it said more than is kept */
};

struct mortise_process_request {
    const char *worker; /* the path of mortise-worker */
    const char *words;  /* worker/launch.h has them */
    size_t n_words;
    const void *input; /* all of its stdin */
    size_t n_input;
    struct mortise_mask *mask; /* over what it says; NULL: none */
    uint64_t timeout_ms;       /* 0: none */
    size_t output_max;         /* 0: the default above */
    /* It is kept: what comes of its stdout, or (`is_error`) its stderr, masked,
     * lent; then it has no input, output_max and output.  NULL: it is not. */
    void (*piece)(void *ud, bool is_error, const char *p, size_t n);
    /* Exactly once, unless cancelled; everything lent. */
    void (*done)(void *ud, const struct mortise_process_end *end);
    void *ud;
};

/* Loop and timers are lent. */
int mortise_processes_open(struct mortise_processes **out,
                           const struct mortise_mem *mem, uv_loop_t *loop,
                           struct mortise_timers *timers,
                           struct mortise_err *err);
/* Are there any yet, also such that were left or cancelled?  NULL is fine. */
bool mortise_processes_are_left(const struct mortise_processes *all);
/* Ends what is left; the loop must turn once more.  NULL is fine. */
void mortise_processes_close(struct mortise_processes *all);

/* Everything is copied.  MORTISE_ENOMEM, MORTISE_EIO, or MORTISE_EUNAVAILABLE
 * where there is no mortise-worker: nothing happened.  MORTISE_ESTATE: it may
 * have begun, and was killed. */
int mortise_process_start(struct mortise_processes *all,
                          const struct mortise_process_request *request,
                          struct mortise_process **out,
                          struct mortise_err *err);
/* Its group is killed; nobody is told. */
void mortise_process_cancel(struct mortise_process *p);

/* A text on its way to the stdin of one that is kept.  The caller's memory, until
 * it is done or forgotten. */
struct mortise_process_text {
    void (*done)(struct mortise_process_text *t, bool taken);
    struct mortise_process *process; /* NULL: it is not under way */
    struct mortise_process_text *next, **at;
    uint64_t until; /* so many bytes went before it and with it */
};

/* Everything is copied.  MORTISE_OK: t->process is NULL, it is taken, and done()
 * is not called; or it waits, and done() will be, which says whether the pipe took
 * it before the program ended.  MORTISE_ELIMIT: too much waits.  MORTISE_ESTATE:
 * its stdin is closed.  MORTISE_ENOMEM. */
int mortise_process_write(struct mortise_process *p, const char *text, size_t n,
                          struct mortise_process_text *t,
                          struct mortise_err *err);
/* It may be taken all the same; done() is not called.  One that is not under way
 * is fine. */
void mortise_process_text_forget(struct mortise_process_text *t);
/* No more will come: its stdin is closed behind what waits; it is told to end
 * after grace_ms, and killed after as much again. */
void mortise_process_finish(struct mortise_process *p, uint64_t grace_ms);

/* The same, and nobody is told; as _cancel() does, without force at first. */
void mortise_process_leave(struct mortise_process *p, uint64_t grace_ms);

/* Is it the program by now?  Until then nothing of it happened. */
bool mortise_process_has_begun(const struct mortise_process *p);

#endif
