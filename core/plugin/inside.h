/* inside.h -- which thread is inside which plugin, and on whose behalf.
 *
 * Every call of a plugin's code is a visit: enter, the call, leave.  A visit
 * says what to blame when the process dies meanwhile (death.h), and gives the
 * thread back as it was lent. */
#ifndef MORTISE_PLUGIN_INSIDE_H
#define MORTISE_PLUGIN_INSIDE_H

#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/hash.h"

enum {
    MORTISE_CULPRIT_NAME = 129,
    MORTISE_INSIDE_NAME = 129, /* of tenants and runs */
    MORTISE_INSIDE_PATH = 641, /* of executions */
    MORTISE_INSIDE_DEPTH = 4   /* visits within visits that are told apart */
};

/* A plugin, as a death names it. */
struct mortise_culprit {
    char name[MORTISE_CULPRIT_NAME];
    char hex[MORTISE_DIGEST_HEX]; /* of its manifest */
    int dir;                      /* where its deaths are noted; -1: nowhere */
    uintptr_t code, code_end;     /* its object's; 0 until it is loaded */
    struct mortise_culprit *next; /* of those whose threads are known */
};

enum mortise_inside_stage {
    MORTISE_INSIDE_CREATE = 1, /* constructors, init(), create() */
    MORTISE_INSIDE_CALL,       /* execute(), reconcile(), check() */
    MORTISE_INSIDE_ANSWER,
    MORTISE_INSIDE_CANCEL,
    MORTISE_INSIDE_END,   /* quiesce(), destroy(), fini() */
    MORTISE_INSIDE_THREAD /* one that the plugin made; never a visit */
};

/* The execution that it works for; each "" or NULL where there is none. */
struct mortise_whose {
    const char *tenant, *run, *path;
    bool is_unstored; /* the run may not be on disk yet: nobody knows its id */
};

struct mortise_inside_entry {
    const struct mortise_culprit *culprit;
    enum mortise_inside_stage stage;
    _Atomic uint64_t
        patience_ms; /* it must have returned by then; 0: any time */
    char tenant[MORTISE_INSIDE_NAME], run[MORTISE_INSIDE_NAME];
    char path[MORTISE_INSIDE_PATH];
    bool is_unstored;
};

/* How a thread computes. */
#if defined(__x86_64__)
struct mortise_numbers {
    uint32_t sse; /* MXCSR */
    uint16_t x87; /* control word */
};
#else
struct mortise_numbers {
    fenv_t env;
};
#endif

struct mortise_visit { /* on the caller's stack */
    sigset_t mask;
    locale_t locale;
    struct mortise_numbers numbers;
    bool noted, masked;
};

/* Who puts the signal mask back, which takes system calls: leave(), or the
 * engine's thread at the end of its turn (core/engine/parts/thread_state.c), once
 * for all visits of that. */
enum mortise_inside_mask { MORTISE_MASK_NOW = 1, MORTISE_MASK_LATER };

/* Around each call into a plugin; pairs nest.  `culprit` NULL: nobody is
 * blamed; `whose` NULL: whoever mortise_inside_for() named.  `patience_ms`: on
 * the engine's thread, where nothing else happens meanwhile; else 0.  [any] */
void mortise_inside_enter(struct mortise_visit *v,
                          const struct mortise_culprit *culprit,
                          enum mortise_inside_stage stage,
                          const struct mortise_whose *whose,
                          uint64_t patience_ms, enum mortise_inside_mask mask);
void mortise_inside_leave(struct mortise_visit *v);

/* Visits of this thread that name nobody are for this execution, which is lent,
 * until somebody else is named or nobody (NULL).  Gives who was before. */
const struct mortise_whose *
mortise_inside_for(const struct mortise_whose *whose);

/* Has this thread made visits since this was last asked whose masks nobody put
 * back? */
bool mortise_inside_stirred(void);

/* What this thread is inside of, or NULL.  Signal-safe. */
const struct mortise_inside_entry *mortise_inside_now(void);
/* Was this thread ever inside of any plugin?  Signal-safe. */
bool mortise_inside_ever(void);

/* ---- fork ---------------------------------------------------------------- */

/* The process as it is; another number in each child.  [any] */
uint64_t mortise_inside_process(void);

/* Is this that one?  No system call.  [any] */
bool mortise_inside_is(uint64_t process);

/* The child of a fork came back into its parent's engine: it is ended. */
_Noreturn void mortise_inside_end_child(void);

/* ---- for death.c and watchdog.c ------------------------------------------ */

/* Threads that are new to plugins get a stack for signals from now on. */
void mortise_inside_want_stacks(void);

/* Called by enter() with patience while `mortise_inside_kick` is set. */
extern _Atomic bool mortise_inside_dozes;
extern void (*mortise_inside_wake)(void);

/* One look of the watchdog, `tick_ms` after the last: somebody who has been
 * inside for longer than patience allows into *out, else NULL.  False: nobody
 * with patience is inside. */
bool mortise_inside_look(uint64_t tick_ms,
                         const struct mortise_inside_entry **out);

#endif
