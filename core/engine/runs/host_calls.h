/* host_calls.h -- calls of plugins to the host: the table of methods that a
 * plugin may `ask`.
 *
 * A method is a row in the table of its service (core/plugin/services.h).  Its
 * own file does the work, and knows nothing of journals and calls.  The run
 * decides whether, when and how often a method starts (core/run/asks/step.c):
 *
 *   (1) check() decides whether the ask is valid, before anything is recorded.
 *       It may read the manifest, the body and the run's view.
 *   (2) start() begins the work on the loop and never blocks.  The method
 *       answers once, by mortise_host_call_answer(), at once or later; unless
 *   (3) cancel() comes first: when it returns, the method has stopped and does
 *       not answer.
 *
 * Everything here is [loop].
 */
#ifndef MORTISE_ENGINE_RUNS_HOST_CALLS_H
#define MORTISE_ENGINE_RUNS_HOST_CALLS_H

#include "core/engine/common/engine.h"
#include "mortise/plugin.h"

enum { MORTISE_HOST_CALL_WORDS = 512 };

enum mortise_host_call_effect {
    /* No effect: performed at once, and again after a crash unless its answer
     * is on disk. */
    MORTISE_HOST_CALL_READ = 1,
    /* The same, and so cheap that its answer needs no commit of its own. */
    MORTISE_HOST_CALL_CHEAP_READ,
    /* Depends on the operation that asks: inside a `write` or `external`
     * operation it is performed when its intent is on disk, otherwise like
     * READ. */
    MORTISE_HOST_CALL_CALLER,
    /* No effect, and not recorded: performed at once, each time anew. */
    MORTISE_HOST_CALL_UNRECORDED,
    /* Done by the run: checked here, never started, except for a TIMER without
     * a run. */
    MORTISE_HOST_CALL_QUESTION,
    MORTISE_HOST_CALL_TIMER,
    MORTISE_HOST_CALL_TOOL,
    MORTISE_HOST_CALL_CHILD, /* done by the run; the asking call stays in its
                                plugin until it is released */
    MORTISE_HOST_CALL_PUT,   /* a value of the plugin, or a spawn handle */
    /* Reads values that were put: ordered after the run's own puts. */
    MORTISE_HOST_CALL_GET
};

enum mortise_host_ask_state {
    MORTISE_HOST_ASK_WAITING = 1, /* the run has it */
    MORTISE_HOST_ASK_STARTED,     /* its method has it */
    MORTISE_HOST_ASK_HANDED_OVER, /* the asker will be told to perform it */
    MORTISE_HOST_ASK_DONE,        /* the result will be fed to the run */
    MORTISE_HOST_ASK_REPLIED      /* the answer will be given to the asker */
};

struct mortise_host_call_method;

/* An ask.  It belongs to host_calls.c; methods may read the fields and use
 * `data`. */
struct mortise_asked {
    struct mortise *m;
    const struct mortise_host_call_method *method;
    const char *method_name;                 /* static */
    void **kept; /* what the engine keeps for the method's service */
    const struct mortise_manifest *manifest; /* of the plugin that asks */
    const char *as;                          /* the instance that asks; or "" */
    const json_t *body; /* JSON, an object */
    char *raw; /* the text of the member `method->raw`, if it is not in the
                  body; NULL: the body has it, if anything */
    size_t raw_room;
    uint64_t deadline_ns; /* of its call, CLOCK_MONOTONIC; 0: none */
    const char *node_path;
    char key[MORTISE_DIGEST_HEX]; /* idempotency key of an effect; else "" */
    void *data; /* for the method, from start() to its answer or cancel() */
    struct mortise_pin by; /* set by check(): the plugin that performs it;
                              plugin NULL: none */
    void *made;   /* for the method, from check() on: data found there */
    json_t *told; /* for the method, a reference */
    /* For a method of kind PUT, weigh() sets two things: the change of the spawn
     * handle, borrowed until mortise_host_call_answer_weigh() returns, and an owned
     * reference to the answer. */
    const struct mortise_spawn_change *spawn;
    json_t *decided;
    json_t *alias; /* TOOL: the name that the model uses; NULL: none */
    /* For an effect, set by the method before it answers: it is unknown whether
     * it happened; and the evidence for people, {cause, answer?}. */
    bool doubtful;
    json_t *seen;
    struct mortise_asked **fetch; /* a secret is being fetched for it; set fetch
                                     to NULL to cancel that; NULL: none is */

    /* The run that asks; valid only while check(), weigh() and start() run. */
    struct mortise_live *live;
    uint64_t run_call;

    /* Private to host_calls.c. */
    struct mortise_plugin_call *call; /* NULL: the call has ended */
    struct mortise_asked *next, **at; /* in the call's list */
    struct mortise_table_entry entry;
    struct mortise_task task;
    bool queued;         /* `task` is queued */
    uint64_t id, handle; /* the instance's id, and ours */
    uint32_t step;
    enum mortise_host_ask_state state;
    bool is_part; /* part of an open step or a serving call: the run is not
                     told */
    bool is_told; /* the asker was told to perform it: it ends through
                     `ended` */
    struct mortise_asked *ended;
    bool undone;      /* it was cancelled before it had any effect */
    uint64_t hold_ms; /* QUESTION: how long the call stays for the answer; 0: it
                         does not */
    struct mortise_timer hold; /* for hold_ms; or for a TIMER without a run */
    json_t *name;              /* of the step; NULL: none */
    int32_t status;
    json_t *value;
    char words[MORTISE_HOST_CALL_WORDS];
};

/* The result of a plugin call that served an ask. */
struct mortise_host_call_result {
    int32_t status;
    const json_t *output; /* NULL: no output */
    const struct mortise_usage *usage;
    bool violation;                           /* of a check */
    const char *code, *error_class, *message; /* "" on success */
    uint64_t retry_after_ms;                  /* 0: not given */
};

struct mortise_host_call_method {
    enum mortise_host_call_effect effect;
    /* A member that may be long and is only passed on.  If nothing of the ask
     * is recorded, it is not parsed: `raw` has its text, and the body has null
     * in its place.  NULL: there is none. */
    const char *raw;
    /* CALLER: does this body have an effect?  NULL: always. */
    bool (*changes)(const json_t *body);
    /* CALLER, with an effect: is the request idempotent?  NULL: never. */
    bool (*repeats)(const json_t *body);
    /* CALLER: does this answer show that the effect is done, so that a new
     * attempt need not repeat it?  NULL: every success does. */
    bool (*completed)(const json_t *value);
    /* CALLER: is `value` a valid answer, which a person may supply if the
     * effect is in doubt?  Returns NULL if it is, else a description of valid
     * answers.  NULL: every value is. */
    const char *(*expects)(const json_t *value);
    bool ends; /* it ends an open step: allowed also for a call that must
                  stop */
    bool needs_no_run; /* allowed in the background, too */
    /* MORTISE_S_OK, or a status with a message of up to MORTISE_HOST_CALL_WORDS
     * bytes. */
    int32_t (*check)(struct mortise_asked *a, char *words);
    /* PUT, checked: is there room?  It calls mortise_host_call_answer_weigh() once,
     * at once or later; cancel() may come first.  NULL: there always is.  The
     * run records the answer, which stays valid when the call is re-entered. */
    void (*weigh)(struct mortise_asked *a);
    bool decides; /* PUT: weigh() also sets `decided`; without weigh() it is no
                     put */
    void (*start)(struct mortise_asked *a);
    /* For a method that asks a model, checked: the record of the request for
     * people, a new reference (NULL: out of memory), and the upper limit of its
     * usage. */
    json_t *(*says)(const struct mortise_asked *a,
                    uint64_t most[MORTISE_USED_N]);
    /* Has the request left the process, so that it may take effect although it
     * is cancelled?  NULL: yes, from the beginning. */
    bool (*has_left)(const struct mortise_asked *a);
    /* NULL: start() and weigh() always answer before they return. */
    void (*cancel)(struct mortise_asked *a);
    /* The plugin call that start() made (call.h) has ended.  The answers of
     * this method, live or recorded, have their cost in `usage`.  NULL: no
     * plugin performs it. */
    void (*served)(struct mortise_asked *a,
                   const struct mortise_host_call_result *how);
    /* The asker is about to get this successful answer, live or recorded.
     * NULL: not needed. */
    void (*answered)(struct mortise_asked *a, const json_t *value);
};

/* MORTISE_S_OK with `value`, whose reference is taken; else value NULL and a
 * message ("" for none). */
void mortise_host_call_answer(struct mortise_asked *a, int32_t status,
                              json_t *value, const char *words);

/* Instead of an answer, for a step that the plugin performs itself: tell the
 * plugin to begin.  Takes the value. */
void mortise_host_call_begin_step(struct mortise_asked *a, json_t *value);
/* The ask `by` reports that the plugin performed the step `a`, with its result
 * (the reference is taken); NULL: it did not happen. */
void mortise_host_call_end_step(struct mortise_asked *a,
                                struct mortise_asked *by, json_t *value);

/* For check(): format the error message and return the status. */
int32_t mortise_ask_format_error(char *words, int32_t status, const char *fmt,
                                 ...) MORTISE_PRINTF(3, 4);

/* The answer of weigh(); `full`: there is no room, and a->words has the
 * reason. */
void mortise_host_call_answer_weigh(struct mortise_asked *a, bool full);
/* The other answer of weigh(), for a method that decides: no decision was
 * possible.  The run is not told. */
void mortise_host_call_fail_weigh(struct mortise_asked *a, int32_t status,
                                  const char *words);

/* Before the answer: a piece of it, for an asker that takes pieces.  The ask
 * may be cancelled by this call. */
void mortise_host_call_send_piece(struct mortise_asked *a, const char *p,
                                  size_t n);

/* ---- for calls.c and live.c --------------------------------------------- */

/* The function behind the instance's `ask`.  [any] */
void mortise_host_call_ask(void *ud, uint64_t call, uint64_t ask,
                           const char *method, const char *body, size_t n);
/* The call must stop: cancel its asks. */
void mortise_host_call_cancel(struct mortise_plugin_call *c);
/* The call ended: the run gets finished answers, the other asks are
 * forgotten. */
void mortise_host_call_end(struct mortise_plugin_call *c);
/* Are these valid decisions of people about steps in doubt?  MORTISE_EINVAL:
 * the message describes valid answers. */
int mortise_host_call_check_resolved(const struct mortise_run *r,
                                     const struct mortise_run_command *list,
                                     size_t n, struct mortise_err *err);
/* Actions of a run for an ask, which may no longer exist. */
void mortise_host_call_perform(struct mortise_live *live, uint64_t ask,
                               uint32_t step, const char *key);
void mortise_host_call_reply(struct mortise *m, uint64_t ask, int32_t status,
                             json_t *value);
/* The child of that handle does not continue: release the call of the run that
 * waits for it. */
void mortise_host_call_release(struct mortise_live *live, const char *handle);
/* Does the call wait for a child (`tools`: or for a tool) of its run? */
bool mortise_host_call_is_waiting(const struct mortise_plugin_call *c,
                                  bool tools);

#endif
