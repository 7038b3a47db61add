/* door.h -- the one door out: what a plugin may `ask`, as a table of methods.
 *
 * A method is an entry of a table; what it does in the world is its own file
 * (kv.c, http.c ...), which knows nothing of runs, journals or calls.  Whether,
 * when and how often a method is started is not its business either:
 *
 *   (1) check() says whether the ask is one at all, before anything is
 *       recorded.  It may look at the manifest, the body and the run's view.
 *   (2) start() begins it, on the loop, and never blocks.  It is answered once,
 *       by mortise_door_answer(), at once or later; unless
 *   (3) cancel() comes first: then the method has let go when that returns, and
 *       answers no more.
 *
 * Everything here is [loop]. */
#ifndef MORTISE_ENGINE_DOOR_H
#define MORTISE_ENGINE_DOOR_H

#include "engine/engine.h"
#include "mortise/plugin.h"

enum { MORTISE_DOOR_WORDS = 512 };

enum mortise_door_effect {
    /* Changes nothing: performed at once, and again after a crash. */
    MORTISE_DOOR_READ = 1,
    /* Settled by whose operation asks: inside a `write` or `external` one it
     * is performed once its intent is on disk, inside others it is a read. */
    MORTISE_DOOR_CALLER
};

struct mortise_door_method;

/* An ask.  door.c's; the fields are for methods to read, `data` to use. */
struct mortise_asked {
    struct mortise *m;
    const struct mortise_door_method *method;
    const struct mortise_manifest *manifest; /* of the plugin that asks */
    const json_t *body;                      /* JSON, an object */
    uint64_t deadline_ns; /* of its call, CLOCK_MONOTONIC; 0: none */
    const char *node_path;
    const char *key; /* of an effect: its idempotency key; else "" */
    void *data;      /* the method's, from start() to its answer or cancel() */

    /* The run that asks; only while check() and start() run. */
    struct mortise_live *live;
    uint64_t run_call;

    /* door.c's alone. */
    struct mortise_ongoing *call;      /* NULL: it is over */
    struct mortise_asked *next, *prev; /* of the call's */
    struct mortise_task task;
    uint64_t id;
    bool started, answered;
    int32_t status;
    json_t *value;
    char words[MORTISE_DOOR_WORDS];
};

struct mortise_door_method {
    const char *name; /* "state.get/1" */
    enum mortise_door_effect effect;
    /* CALLER: does this body change anything at all?  NULL: always. */
    bool (*changes)(const json_t *body);
    /* MORTISE_S_OK, or a status and words (room for MORTISE_DOOR_WORDS). */
    int32_t (*check)(const struct mortise_asked *a, char *words);
    void (*start)(struct mortise_asked *a);
    /* NULL: start() always answers before it returns. */
    void (*cancel)(struct mortise_asked *a);
};

/* The methods of this build, NULL behind the last. */
extern const struct mortise_door_method *const mortise_door_methods[];

/* Each in the file that performs it. */
extern const struct mortise_door_method mortise_door_state_get; /* state.c */
extern const struct mortise_door_method
    mortise_door_http_request; /* request.c */

/* MORTISE_S_OK: `value`, whose reference is taken.  Else words ("" for none),
 * and value NULL. */
void mortise_door_answer(struct mortise_asked *a, int32_t status, json_t *value,
                         const char *words);

/* Before the answer: a piece of it, for an asker that does not wait.  The ask
 * may be cancelled from inside it. */
void mortise_door_piece(struct mortise_asked *a, const char *p, size_t n);

/* ---- for calls.c -------------------------------------------------------- */

/* The instance's `ask`.  [any] */
void mortise_door_ask(void *ud, uint64_t call, uint64_t ask, const char *method,
                      const char *body, size_t n);
/* Let go of all that a call has asked; it ended, or is to. */
void mortise_door_forget(struct mortise_ongoing *c);

#endif
