/* host_calls.h -- calls to the host: what a plugin may `ask`, as a table of
 * methods.
 *
 * A method is an entry of a table; what it does in the world is its own file
 * (state.c, http.c ...), which knows nothing of journals and calls.  Whether,
 * when and how often a method is started is the run's business
 * (core/run/asks/step.c):
 *
 *   (1) check() says whether the ask is one at all, before anything is
 *       recorded.  It may look at the manifest, the body and the run's view.
 *   (2) start() begins it, on the loop, and never blocks.  It is answered once,
 *       by mortise_host_call_answer(), at once or later; unless
 *   (3) cancel() comes first: then the method has let go when that returns, and
 *       answers no more.
 *
 * Everything here is [loop]. */
#ifndef MORTISE_ENGINE_RUNS_HOST_CALLS_H
#define MORTISE_ENGINE_RUNS_HOST_CALLS_H

#include "core/engine/common/engine.h"
#include "mortise/plugin.h"

enum { MORTISE_HOST_CALL_WORDS = 512 };

enum mortise_host_call_effect {
    /* Changes nothing: performed at once, and again after a crash unless its
     * answer is on disk. */
    MORTISE_HOST_CALL_READ = 1,
    /* The same, and so cheap that the answer need not go to disk by itself. */
    MORTISE_HOST_CALL_LOOK,
    /* Settled by whose operation asks: inside a `write` or `external` one it
     * is performed once its intent is on disk, inside others it is a read. */
    MORTISE_HOST_CALL_CALLER,
    /* Changes nothing and is no business of the run's: performed at once, each
     * time anew, and no record ever holds the answer. */
    MORTISE_HOST_CALL_UNRECORDED,
    /* The run's own: checked here, never started; but for a TIMER of no run. */
    MORTISE_HOST_CALL_QUESTION,
    MORTISE_HOST_CALL_TIMER,
    MORTISE_HOST_CALL_TOOL,
    MORTISE_HOST_CALL_CHILD, /* ...; its asker stays until it is released */
    MORTISE_HOST_CALL_PUT,   /* a value of the plugin's, or a spawn handle */
    /* Reads what was put: behind the run's own puts. */
    MORTISE_HOST_CALL_GET
};

enum mortise_asked_state {
    MORTISE_ASKED_WAITS = 1, /* with the run */
    MORTISE_ASKED_BEGUN,     /* with its method */
    MORTISE_ASKED_GOES,      /* who asked is to hear that it may do it */
    MORTISE_ASKED_DONE,      /* the run is to hear of it */
    MORTISE_ASKED_REPLIED    /* who asked is to hear of it */
};

struct mortise_host_call_method;

/* An ask.  host_calls.c's; the fields are for methods to read, `data` to
 * use. */
struct mortise_asked {
    struct mortise *m;
    const struct mortise_host_call_method *method;
    const char *method_name;                 /* static */
    const struct mortise_manifest *manifest; /* of the plugin that asks */
    const char *as;     /* the instance of the plugin that asks; or "" */
    const json_t *body; /* JSON, an object */
    char *raw; /* the value of the method's member of that name, as text, where
                  it is not in the body; NULL: it is there, if it is said */
    size_t raw_room;
    uint64_t deadline_ns; /* of its call, CLOCK_MONOTONIC; 0: none */
    const char *node_path;
    char key[MORTISE_DIGEST_HEX]; /* of an effect: for its idempotency; "" */
    void *data; /* the method's, from start() to its answer or cancel() */
    struct mortise_pin by; /* by check(): the plugin that performs it; plugin
                              NULL: none */
    void *made;   /* the method's, from check() on: what it found there */
    json_t *told; /* the method's, a reference */
    /* PUT, by weigh(): a spawn handle's.  What it comes to, lent until
     * mortise_host_call_weighed() has returned; a reference to the answer. */
    const struct mortise_spawn_change *spawn;
    json_t *decided;
    json_t *alias; /* TOOL: what a model calls it by; NULL: nothing */
    /* The method's, of an effect, when it answers: whether it happened, nobody
     * knows; and what there is to see of it, {cause, answer?}, for people. */
    bool doubtful;
    json_t *seen;
    struct mortise_asked **fetch; /* secret.c has it go on from there, unless it
                                     is NULL by then; NULL: it waits not */

    /* The run that asks; only while check(), weigh() and start() run. */
    struct mortise_live *live;
    uint64_t run_call;

    /* host_calls.c's alone. */
    struct mortise_ongoing *call;     /* NULL: it is over */
    struct mortise_asked *next, **at; /* of the call's */
    struct mortise_hashed entry;
    struct mortise_task task;
    bool queued;         /* the task is */
    uint64_t id, handle; /* the instance's name for it, and the run's */
    uint32_t step;
    enum mortise_asked_state state;
    bool is_part; /* of the step under way, so the run hears nothing of it */
    bool is_told; /* who asked heard, of its own step: with `ended` it ends */
    struct mortise_asked *ended;
    bool undone;      /* it was let go of before anything of it had left */
    uint64_t hold_ms; /* QUESTION: its asker stays for so long; 0: not */
    struct mortise_timer hold; /* of that; or of a TIMER of no run */
    json_t *name;              /* of the step; NULL: none */
    int32_t status;
    json_t *value;
    char words[MORTISE_HOST_CALL_WORDS];
};

/* How a call of a plugin ended that performed an ask. */
struct mortise_host_call_served {
    int32_t status;
    const json_t *output; /* NULL: nothing was emitted */
    const struct mortise_usage *usage;
    bool violation;                           /* of a check */
    const char *code, *error_class, *message; /* "" where it succeeded */
    uint64_t retry_after_ms;                  /* 0: not said */
};

struct mortise_host_call_method {
    enum mortise_host_call_effect effect;
    /* A member that may be long and is only passed on: where nothing of the ask
     * is recorded it is not parsed, `raw` has it, and the body has null in its
     * place.  NULL: there is none. */
    const char *raw;
    /* CALLER: does this body change anything at all?  NULL: always. */
    bool (*changes)(const json_t *body);
    /* CALLER, of a body that changes something: is twice the same as once?
     * NULL: never. */
    bool (*repeats)(const json_t *body);
    /* CALLER: does that answer say that it was done, so that it need not be
     * done again by a new attempt?  NULL: every success does. */
    bool (*completed)(const json_t *value);
    /* CALLER: can that be an answer of it, so that a person may give it where
     * nobody knows?  Then NULL, else what is expected.  NULL: anything can. */
    const char *(*expects)(const json_t *value);
    bool ends; /* a step of the plugin's own: also of a call that is to stop */
    bool needs_no_run; /* it may be asked in the background, too */
    /* MORTISE_S_OK, or a status and words, which have room for
     * MORTISE_HOST_CALL_WORDS bytes. */
    int32_t (*check)(struct mortise_asked *a, char *words);
    /* PUT, checked: is there room for it?  mortise_host_call_weighed() says,
     * once, at once or later; cancel() may come first.  NULL: there always is.
     * The run records the answer, which holds when the call is entered again.
     */
    void (*weigh)(struct mortise_asked *a);
    bool decides; /* PUT: weigh() sets `decided`, and not asked, it is no put */
    void (*start)(struct mortise_asked *a);
    /* Of one that asks a model, checked: what is recorded of it for people, a
     * new reference (NULL: memory ran out), and the most that it uses. */
    json_t *(*says)(const struct mortise_asked *a,
                    uint64_t most[MORTISE_USED_N]);
    /* Has anything left, so that it may happen although it is cancelled?  NULL:
     * from the beginning. */
    bool (*has_left)(const struct mortise_asked *a);
    /* NULL: start() and weigh() always answer before they return. */
    void (*cancel)(struct mortise_asked *a);
    /* Of one that start() had a plugin perform (call.h): that has ended.  Its
     * answers, live or from the record, say in `usage` what they cost.  NULL:
     * no plugin performs it. */
    void (*served)(struct mortise_asked *a,
                   const struct mortise_host_call_served *how);
    /* Who asked is about to be given this answer, a success, be it live or from
     * the record.  NULL: that is nothing to it. */
    void (*answered)(struct mortise_asked *a, const json_t *value);
};

/* The methods of this build; a row of NULL behind the last. */
extern const struct mortise_host_call_row {
    const char *name; /* "state.get/1" */
    const struct mortise_host_call_method *method;
} mortise_host_call_methods[];

/* Each in the file that performs it. */
#define METHOD(id, name, changes, late)                                        \
    extern const struct mortise_host_call_method mortise_host_call_##id;
#include "core/plugin/methods.def"
#undef METHOD

/* MORTISE_S_OK: `value`, whose reference is taken.  Else words ("" for none),
 * and value NULL. */
void mortise_host_call_answer(struct mortise_asked *a, int32_t status,
                              json_t *value, const char *words);

/* In the place of that, for a step of the plugin's own: it is to do it.  Takes
 * what it is told. */
void mortise_host_call_go(struct mortise_asked *a, json_t *value);
/* It did, says the ask `by`: the answer of `a` (the reference is taken); NULL: it
 * did not happen. */
void mortise_host_call_went(struct mortise_asked *a, struct mortise_asked *by,
                            json_t *value);

/* What check() says of an ask that is none: the status, with words for it. */
int32_t mortise_ask_refuse(char *words, int32_t status, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* The answer of weigh(); `full`: there is no room, a->words say why. */
void mortise_host_call_weighed(struct mortise_asked *a, bool full);
/* The other one, of a method that decides: it could not, this time.  The run
 * hears nothing of it. */
void mortise_host_call_undecided(struct mortise_asked *a, int32_t status,
                                 const char *words);

/* Before the answer: a piece of it, for an asker that does not wait.  The ask
 * may be cancelled from inside it. */
void mortise_host_call_piece(struct mortise_asked *a, const char *p, size_t n);

/* ---- for calls.c and live.c --------------------------------------------- */

/* The instance's `ask`.  [any] */
void mortise_host_call_ask(void *ud, uint64_t call, uint64_t ask,
                           const char *method, const char *body, size_t n);
/* A call is to stop: let go of what is being performed for it. */
void mortise_host_call_cancel(struct mortise_ongoing *c);
/* A call ended: the run hears of what was done, the rest is forgotten. */
void mortise_host_call_end(struct mortise_ongoing *c);
/* Can those be what people say of steps in doubt?  MORTISE_EINVAL says what is
 * expected. */
int mortise_host_call_check_resolved(const struct mortise_run *r,
                                     const struct mortise_run_command *list,
                                     size_t n, struct mortise_err *err);
/* What a run wants of an ask, which may be gone by now. */
void mortise_host_call_perform(struct mortise_live *live, uint64_t ask,
                               uint32_t step, const char *key);
void mortise_host_call_reply(struct mortise *m, uint64_t ask, int32_t status,
                             json_t *value);
/* The child of that handle does not go on: whoever waits for it in a call of that
 * run lets go. */
void mortise_host_call_release(struct mortise_live *live, const char *handle);
/* Does it stay for a child of its run's (`tools`: or for a tool)? */
bool mortise_host_call_waits(const struct mortise_ongoing *c, bool tools);

/* ---- host/tools.c -------------------------------------------------------- */

/* The tools that are offered to who asks, as models are told: JSON, behind what
 * is there.  Of a node that has some. */
int mortise_tools_write(const struct mortise_asked *a,
                        struct mortise_buf *text);

#endif
