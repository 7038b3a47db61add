/* script.h -- an engine whose plugin calls are answered by a script, and whose
 * clock advances only while everything waits: for tests of graphs (`mortise
 * test`).
 *
 * Everything else is real: the graph, the step function, the store, and plugins
 * that the script does not answer for.  No request and no function of mortise.h
 * leads here.  [loop]
 */
#ifndef MORTISE_ENGINE_RUNS_SCRIPT_H
#define MORTISE_ENGINE_RUNS_SCRIPT_H

#include "core/engine/common/engine.h"

/* The answer to a call; strings are lent until the engine closes. */
struct mortise_script_reply {
    int32_t status; /* from plugin.h */
    bool violation;
    json_t *output;             /* taken; NULL: none */
    json_t *said;               /* {update?, goto?}; taken; NULL: none */
    struct mortise_usage usage; /* taken */
    const char *code, *error_class, *message;
    struct mortise_exit_info ending;
    uint64_t after_ms;
    /* For a call with a step: the reason why the step is in doubt when it is
     * performed for the first time; NULL: it is not. */
    const char *doubt;
    size_t token; /* the script's name for the call */
};

struct mortise_script {
    void *ud;
    const char *name; /* runs with the same name get the same ids and random
                         numbers */
    /* True: `out` has the answer.  False: the plugin is called. */
    bool (*call)(void *ud, const struct mortise_run_call *call,
                 struct mortise_script_reply *out);
    /* The step of that call is performed; returns true for the first time. */
    bool (*act)(void *ud, size_t token);
    /* A commit is about to be written; or it is on disk, and nothing depends on
     * it yet. */
    void (*commit)(void *ud, uint64_t seq, bool on_disk);
    /* Real work took so long that a timer is due: advance the clock by ms
     * (mortise_clock_skip). */
    void (*late)(void *ud, uint64_t ms);
};

/* Use the script from now on; `s` is lent.  Call it before any run starts or
 * continues. */
void mortise_script(struct mortise *m, const struct mortise_script *s);

/* The step of a scripted call whose operation has `intent: steps`.  NONE: the
 * call only reads, or is the effect itself. */
enum mortise_script_step {
    MORTISE_SCRIPT_NONE,
    MORTISE_SCRIPT_REPEAT,
    MORTISE_SCRIPT_EFFECT
};
enum mortise_script_step
mortise_script_step(const struct mortise *m,
                    const struct mortise_run_call *call);

/* Turn the loop until nothing can continue without waiting for time or an
 * event. */
void mortise_script_turn_until_idle(struct mortise *m);

/* Milliseconds to the next event that happens by itself, UINT64_MAX: never.  If
 * `waits` (by the request's id) is false, the deadline of that request is not
 * waited for, and neither is anything later.  Call it after settling. */
int mortise_script_find_next_event(struct mortise *m,
                                   bool (*waits)(void *ud, const char *id),
                                   void *ud, uint64_t *ms,
                                   struct mortise_err *err);

/* ---- for calls.c, host_calls.c and commits.c ----------------------------- */

struct mortise_plugin_call;

/* A run is about to be admitted: if there is a script, set the random seed and
 * the store's identity from its name. */
void mortise_script_set_identity(const struct mortise *m,
                                 struct mortise_admission *adm);
/* Does the script answer the call?  Then the call ends by itself.  `ask` is the
 * function by which it asks for its step. */
typedef void mortise_script_ask_fn(void *m, uint64_t call, uint64_t ask,
                                   const char *method, const char *body,
                                   size_t n);
bool mortise_script_call(struct mortise_plugin_call *c,
                         const struct mortise_run_call *call,
                         mortise_script_ask_fn *ask);
/* Cancel a scripted call. */
void mortise_script_cancel(struct mortise_plugin_call *c);
/* Answer an ask of a scripted call. */
void mortise_script_answer(struct mortise_plugin_call *c, uint64_t ask,
                           int32_t status, const char *text, size_t n);
void mortise_script_commit(struct mortise *m, uint64_t seq, bool on_disk);

#endif
