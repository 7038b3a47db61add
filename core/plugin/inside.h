/* inside.h -- track which plugin each thread is in, and for which execution.
 *
 * Every call into a plugin's code is a visit: enter, call, leave.  A visit
 * records the plugin and the execution to blame if the process dies during it
 * (death.h).  When it ends, it restores the thread's state. */
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
    MORTISE_VISIT_NAME = 129, /* names of tenants and runs */
    MORTISE_VISIT_PATH = 641, /* paths of executions */
    MORTISE_VISIT_DEPTH = 4   /* nested visits that are recorded */
};

/* A plugin, as notes of deaths name it. */
struct mortise_culprit {
    char name[MORTISE_CULPRIT_NAME];
    char hex[MORTISE_DIGEST_HEX]; /* the manifest's digest */
    int dir;                      /* directory for notes of deaths; -1: none */
    uintptr_t code, code_end;     /* bounds of its code; 0 until it is loaded */
    struct mortise_culprit *next; /* in the list of culprits with known code */
};

enum mortise_visit_stage {
    MORTISE_VISIT_CREATE = 1, /* constructors, init(), create() */
    MORTISE_VISIT_CALL,       /* execute(), reconcile(), check() */
    MORTISE_VISIT_ANSWER,
    MORTISE_VISIT_CANCEL,
    MORTISE_VISIT_END,   /* quiesce(), destroy(), fini() */
    MORTISE_VISIT_THREAD /* a thread of the plugin; never a visit */
};

/* The execution that a visit works for; an absent field is "" or NULL. */
struct mortise_visit_execution {
    const char *tenant, *run, *path;
    /* The run may not be on disk yet, so no user knows its id. */
    bool is_unstored;
};

struct mortise_visit_record {
    const struct mortise_culprit *culprit;
    enum mortise_visit_stage stage;
    _Atomic uint64_t patience_ms; /* time limit of the visit; 0: none */
    char tenant[MORTISE_VISIT_NAME], run[MORTISE_VISIT_NAME];
    char path[MORTISE_VISIT_PATH];
    bool is_unstored;
};

/* The floating-point control state of a thread. */
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

/* When the signal mask is restored, which takes system calls: at once in
 * leave(), or once for all visits of an engine turn, at its end
 * (core/engine/parts/thread_state.c). */
enum mortise_visit_mask {
    MORTISE_VISIT_MASK_NOW = 1,
    MORTISE_VISIT_MASK_LATER
};

/* Call these around each call into a plugin; pairs nest.  `culprit` NULL: no
 * plugin is blamed.  `whose` NULL: the execution of mortise_visit_set_execution().
 * `patience_ms` is the time limit on the engine's thread, which must not block;
 * else 0.  [any] */
void mortise_visit_enter(struct mortise_visit *v,
                         const struct mortise_culprit *culprit,
                         enum mortise_visit_stage stage,
                         const struct mortise_visit_execution *whose,
                         uint64_t patience_ms, enum mortise_visit_mask mask);
void mortise_visit_leave(struct mortise_visit *v);

/* Set the execution for visits of this thread that pass `whose` NULL; NULL
 * clears it.  It is lent until the next call.  Returns the previous one. */
const struct mortise_visit_execution *
mortise_visit_set_execution(const struct mortise_visit_execution *whose);

/* Did this thread make visits with MORTISE_VISIT_MASK_LATER since the last call? */
bool mortise_visit_take_mask_change(void);

/* The innermost visit of this thread, or NULL.  Async-signal-safe. */
const struct mortise_visit_record *mortise_visit_get_current(void);
/* Did this thread ever enter a plugin?  Async-signal-safe. */
bool mortise_visit_has_entered(void);

/* ---- fork ---------------------------------------------------------------- */

/* An id of this process; a child of fork() gets another one.  [any] */
uint64_t mortise_process_get_id(void);

/* Is this the process with that id?  Usually without a system call.  [any] */
bool mortise_process_is_current(uint64_t process);

/* End a child of fork() that returned into its parent's engine. */
_Noreturn void mortise_process_end_child(void);

/* ---- for death.c and watchdog.c ------------------------------------------ */

/* Threads that enter a plugin from now on get an alternate signal stack; so
 * does the calling thread. */
void mortise_visit_enable_signal_stacks(void);

/* enter() calls mortise_watchdog_wake() if it has a time limit and
 * mortise_watchdog_is_asleep is set. */
extern _Atomic bool mortise_watchdog_is_asleep;
extern void (*mortise_watchdog_wake)(void);

/* One poll of the watchdog, `tick_ms` after the previous one.  *out: a visit
 * that exceeds its time limit, or NULL.  False: no visit with a time limit is
 * in progress. */
bool mortise_visit_find_overdue(uint64_t tick_ms,
                                const struct mortise_visit_record **out);

#endif
