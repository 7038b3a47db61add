/* process.h -- programs, run to their end on the loop.
 *
 * Each is started by mortise-worker (worker/launch.h), which takes from it what
 * it was not given, in a process group of its own.  Any number are under way at
 * once, and none of them has a thread.  When one ends, by itself or because it
 * was told to, all of its group ends with it.
 *
 * It knows nothing of runs, plugins or journals.  Everything is [loop];
 * callbacks come from the loop, never from inside start() or cancel(), and may
 * call both. */
#ifndef MORTISE_ENGINE_PARTS_PROCESS_H
#define MORTISE_ENGINE_PARTS_PROCESS_H

#include <uv.h>

#include "base/err.h"
#include "base/mask.h"
#include "base/mem.h"
#include "engine/parts/timers.h"

enum {
    MORTISE_PROCESS_OUTPUT_MAX = 1 << 20, /* bytes, where nothing is said */
    MORTISE_PROCESS_ERRORS_MAX = 64 << 10 /* of which no more are kept */
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
    /* Exactly once, unless cancelled; everything lent. */
    void (*done)(void *ud, const struct mortise_process_end *end);
    void *ud;
};

/* Loop and timers are lent. */
int mortise_processes_open(struct mortise_processes **out,
                           const struct mortise_mem *mem, uv_loop_t *loop,
                           struct mortise_timers *timers,
                           struct mortise_err *err);
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
/* Is it the program by now?  Until then nothing of it happened. */
bool mortise_process_has_begun(const struct mortise_process *p);

#endif
