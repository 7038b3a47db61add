/* script.h -- an engine whose calls of plugins are answered by a script, and
 * whose time passes when nobody would do anything but wait: for tests of
 * graphs (`mortise test`).
 *
 * Everything else is what it always is: the graph, the step function, the
 * store, plugins that the script leaves alone.  No request and nothing of
 * mortise.h leads here.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_SCRIPT_H
#define MORTISE_ENGINE_RUNS_SCRIPT_H

#include "core/engine/common/engine.h"

/* What a call is answered with; strings are lent until the engine closes. */
struct mortise_scripted {
    int32_t status; /* as plugin.h has them */
    bool violation;
    json_t *output;             /* taken; NULL: none */
    json_t *said;               /* {update?, goto?}; taken; NULL: nothing */
    struct mortise_usage usage; /* taken */
    const char *code, *error_class, *message;
    struct mortise_ending ending;
    uint64_t after_ms;
    /* Of a call with a step: why the step is in doubt when it is made for the first
     * time; NULL: it is not. */
    const char *doubt;
    size_t token; /* the script's name for the call */
};

struct mortise_script {
    void *ud;
    const char *name; /* runs of one name have the same ids and chances */
    /* True: the call got this answer.  False: it is the plugin's. */
    bool (*call)(void *ud, const struct mortise_run_call *call,
                 struct mortise_scripted *out);
    /* The step of that call is made; true: for the first time. */
    bool (*act)(void *ud, size_t token);
    /* A commit is about to be written; it is on disk, and nobody knows yet. */
    void (*commit)(void *ud, uint64_t seq, bool on_disk);
    /* Something real took so long that a clock of ours is due: it has to be set
     * forward by that (mortise_clock_skip). */
    void (*late)(void *ud, uint64_t ms);
};

/* From now on; `s` is lent.  Before any run is started or goes on. */
void mortise_script(struct mortise *m, const struct mortise_script *s);

/* The step of a scripted call whose operation has `intent: steps`.  NONE: the call
 * only reads, or is the effect itself. */
enum mortise_script_step {
    MORTISE_SCRIPT_NONE,
    MORTISE_SCRIPT_REPEAT,
    MORTISE_SCRIPT_EFFECT
};
enum mortise_script_step
mortise_script_step(const struct mortise *m,
                    const struct mortise_run_call *call);

/* Turn the loop until nothing is left to do but to wait. */
void mortise_script_settle(struct mortise *m);

/* Milliseconds until something happens by itself, UINT64_MAX: never.  Deadlines
 * of requests for which `waits` (by the request's id) is false are not waited
 * for: nothing that is later happens.  After settling. */
int mortise_script_next(struct mortise *m,
                        bool (*waits)(void *ud, const char *id), void *ud,
                        uint64_t *ms, struct mortise_err *err);

/* ---- for calls.c, host_calls.c and commits.c ----------------------------- */

struct mortise_ongoing;

/* A run is about to be admitted: what would be chance, or this store's, is the
 * script's, if there is one. */
void mortise_script_identify(const struct mortise *m,
                             struct mortise_admission *adm);
/* Is the call answered by the script?  Then it ends by itself.  `ask`: how it asks
 * for its step. */
typedef void mortise_script_ask_fn(void *m, uint64_t call, uint64_t ask,
                                   const char *method, const char *body,
                                   size_t n);
bool mortise_script_call(struct mortise_ongoing *c,
                         const struct mortise_run_call *call,
                         mortise_script_ask_fn *ask);
/* A scripted call is cancelled. */
void mortise_script_cancel(struct mortise_ongoing *c);
/* An ask of a scripted call is answered. */
void mortise_script_answer(struct mortise_ongoing *c, uint64_t ask,
                           int32_t status, const char *text, size_t n);
void mortise_script_commit(struct mortise *m, uint64_t seq, bool on_disk);

#endif
