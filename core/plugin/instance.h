/* instance.h -- a created plugin, and calls into it.
 *
 * The engine chooses the id of a call, unique for the instance's life.  `done`
 * is called exactly once for each call that mortise_instance_call() accepted.
 * Errors of the plugin (finishing twice, returning an error after finish,
 * emitting afterwards) are logged and have no effect.  The exception is a
 * plugin that does not stop: mortise_instance_abandon() ends its call, and
 * anything that it sends later is ignored.  `done` is never called while the
 * plugin's function for that call is on a stack, so its receiver can call the
 * plugin again at once. */
#ifndef MORTISE_PLUGIN_INSTANCE_H
#define MORTISE_PLUGIN_INSTANCE_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/ending.h"
#include "core/json/usage.h"
#include "core/plugin/manifest.h"

struct mortise_instance;
struct mortise_culprit;  /* defined in inside.h */
struct mortise_endpoint; /* defined in endpoint.h */

struct mortise_call {
    const struct mortise_call_kind *kind; /* the function to call (kind.h) */
    uint64_t id;                          /* not 0 */
    uint32_t attempt, visit;
    uint32_t stage;        /* check(): MORTISE_STAGE_... of plugin.h */
    uint32_t flags;        /* MORTISE_REQUEST_... of plugin.h */
    uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
    const char *operation; /* check(): "" */
    const char *body;      /* JSON text */
    size_t body_size;
    const char *run_id, *node_path, *idempotency_key; /* "" if absent */
    const char *tenant; /* the run's, for notes of deaths; or NULL */
    bool is_unstored;   /* the run's admission may not be on disk yet */
};                      /* all lent until mortise_instance_call() returns */

/* Strings are lent for the call of `done`. */
struct mortise_call_result {
    uint64_t id;
    int32_t status;     /* mortise_status: 0 ok, < 0 error */
    /* An error that does not tell whether the effect happened: the plugin broke
     * a rule, or its result was lost. */
    bool mute;
    bool violation;     /* check() */
    bool has_output;    /* "output" was emitted, and status is 0 */
    /* The emitted bytes, with a NUL after them; the engine checks that they are
     * JSON. */
    const char *output;
    size_t output_size;
    bool has_update; /* the same for "update" */
    const char *update;
    size_t update_size;
    bool plain;         /* it emitted output only, and asked nothing */
    const char *target; /* emitted as "goto", sanitized; NULL: none */
    const struct mortise_usage *usage; /* the cost, also of a failed call */
    const char *message;     /* error, or the verdict's reason; "" if none */
    const char *error_class; /* transient, permanent, timeout, cancelled */
    const char *error_code;  /* the plugin's detail.code, or "" */
    uint64_t retry_after_ms; /* detail.retry_after_ms; 0: not given */
    struct mortise_exit_info ending; /* detail.exit_code, detail.status */
};

struct mortise_instance_ops {
    void *ud;
    /* A call ended.  [any] If it ended at once, this runs on the calling thread
     * before mortise_instance_call() returns. */
    void (*done)(void *ud, const struct mortise_call_result *done);
    /* emit() of kind "event" (type `progress`) or of a kind with its own event
     * type.  `type` is a static string.  [any] */
    void (*event)(void *ud, uint64_t call, const char *type, const char *json,
                  size_t n);
    /* emit() of kind "delta" or "reasoning" (`reasoning`): a piece of UTF-8
     * text of a streamed reply.  [any] */
    void (*delta)(void *ud, uint64_t call, bool reasoning, const char *text,
                  size_t n);
    /* The plugin asks a method of the host.  Answer each ask exactly once with
     * mortise_instance_answer(), never from within this function, also after
     * its call has ended.  `method` is one of the manifest's.  [any] */
    void (*ask)(void *ud, uint64_t call, uint64_t ask, const char *method,
                const char *body, size_t n);
    void (*log)(void *ud, int level, const char *plugin, const char *msg);
};

const struct mortise_manifest *
mortise_instance_manifest(const struct mortise_instance *i);

/* Start one call: on the loop thread for [inline] and [async] plugins, on a
 * worker for [blocking] ones.  The caller keeps within the manifest's
 * `concurrency`.  Nonzero: rejected before the plugin saw it, and `done` will
 * not be called. */
int mortise_instance_call(struct mortise_instance *i,
                          const struct mortise_call *call,
                          struct mortise_err *err);
/* Cancel a call; it still ends through `done`.  Its open asks are answered with
 * MORTISE_S_CANCELLED at once, on this thread for an async plugin.  False: no
 * such call is open.  A worker may be about to start it; then try again later.
 * [any]; [loop] for an async plugin */
bool mortise_instance_cancel(struct mortise_instance *i, uint64_t call);
/* True if an open call waits for no ask and has made no emit, ask or
 * cancelled() since the last call of this function.  [any] */
bool mortise_instance_is_idle(struct mortise_instance *i, uint64_t call);
/* End a call of a plugin that does not stop; true if it was open.  `done` will
 * not be called.  *usage (if not NULL) gets the reported usage, which the
 * caller must finish.  [loop] */
bool mortise_instance_abandon(struct mortise_instance *i, uint64_t call,
                              struct mortise_usage *usage);
/* Answer an ask. status is a mortise_status; MORTISE_S_PENDING: a chunk, and
 * the answer follows.  A chunk is dropped if memory runs out; the answer still
 * has everything.  [loop] */
void mortise_instance_answer(struct mortise_instance *i, uint64_t call,
                             uint64_t ask, int32_t status, const char *answer,
                             size_t n);
/* The number of open calls.  [any] */
size_t mortise_instance_count_calls(const struct mortise_instance *i);

enum {
    /* Bytes of "output", and of "update", per call. */
    MORTISE_OUTPUT_MAX = 16 << 20,
    MORTISE_ANSWER_MAX = 64 << 10, /* bytes of a "verdict" */
    MORTISE_CODE_MAX = 65,         /* an error's code, with its NUL */
    MORTISE_TARGET_MAX = 80,       /* "goto": longer than any node id */
    /* Bytes of one "event", "delta", "reasoning". */
    MORTISE_EVENT_MAX = 64 << 10,
    MORTISE_USAGE_TEXT_MAX = 4096,    /* bytes of one "usage" */
    MORTISE_ASKS_MAX = 4096,          /* asks of one call without an answer */
    MORTISE_ASKS_BYTES_MAX = 64 << 20 /* bytes of their bodies */
};

/* ---- for instantiate.c, the only creator of instances -------------------- */

/* Details of a failed creation. */
struct mortise_create_failure {
    /* It did not stop, and keeps its memory until the process ends. */
    bool leaked;
    bool transient;              /* create() reported that a retry may help */
    char code[MORTISE_CODE_MAX]; /* its error code; "": none */
    uint64_t retry_after_ms;     /* earliest retry; 0: not given */
};

/* Call create() and check the interfaces of the manifest.  The instance owns
 * the endpoint, also after a failure.  `manifest` and `culprit` (NULL: deaths
 * are not attributed) must outlive the instance.  *failure has the details of a
 * failure, else zeros.  [loop] */
int mortise_instance_open(
    struct mortise_instance **out, const struct mortise_mem *mem,
    struct mortise_endpoint *to, const struct mortise_manifest *manifest,
    const struct mortise_culprit *culprit,
    const struct mortise_instance_ops *ops, const char *config, size_t n,
    struct mortise_create_failure *failure, struct mortise_err *err);
/* Cancel open calls, quiesce, destroy.  False: code of the plugin still runs
 * after timeout_ms, so the instance and everything lent to it must stay until
 * the process ends.  [loop] */
bool mortise_instance_close(struct mortise_instance *i, uint64_t timeout_ms);

#endif
