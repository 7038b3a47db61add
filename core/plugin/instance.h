/* instance.h -- a created plugin, and calls into it.
 *
 * A call is named by a number that its owner chose (unique for the instance's
 * life) and ends exactly once: `done` is called once for each call that
 * mortise_instance_call() accepted, whatever the plugin does (finishing twice,
 * returning an error after finish, emitting afterwards: logged, without
 * effect).  Unless the plugin never lets go: then mortise_instance_abandon()
 * ends it, and anything later is ignored.  `done` never comes while the
 * plugin's own function for that call is still on a stack: whoever gets it may
 * call the plugin again at once. */
#ifndef MORTISE_PLUGIN_INSTANCE_H
#define MORTISE_PLUGIN_INSTANCE_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/ending.h"
#include "core/json/usage.h"
#include "core/plugin/manifest.h"

struct mortise_instance;
struct mortise_culprit;  /* of inside.h */
struct mortise_endpoint; /* of endpoint.h */

struct mortise_call {
    const struct mortise_call_kind *kind; /* which function (kind.h) */
    uint64_t id;                          /* not 0 */
    uint32_t attempt, visit;
    uint32_t stage;        /* check(): MORTISE_STAGE_... of plugin.h */
    uint32_t flags;        /* MORTISE_REQUEST_... of plugin.h */
    uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
    const char *operation; /* check(): "" */
    const char *body;      /* JSON text */
    size_t body_size;
    const char *run_id, *node_path, *idempotency_key; /* "" where none */
    const char *tenant; /* of the run, for who asks what died; or NULL */
    bool is_unstored;   /* the run's admission is not known to be on disk */
};                      /* all lent until mortise_instance_call() returns */

/* All strings lent for the call of `done`. */
struct mortise_call_done {
    uint64_t id;
    int32_t status;     /* mortise_status: 0 ok, < 0 error */
    bool mute;          /* an error that says nothing of what it did: it broke
                           its rules, or its result could not be kept */
    bool violation;     /* check() */
    bool has_output;    /* something was emitted as "output", status is 0 */
    const char *output; /* what was emitted, with a NUL behind; the engine
                           judges whether it is JSON */
    size_t output_size;
    bool has_update; /* the same of "update" */
    const char *update;
    size_t update_size;
    bool plain; /* it emitted output, and nothing else, and asked for nothing */
    const char *target; /* what was emitted as "goto", made fit for people;
                            NULL: nothing was */
    const struct mortise_usage *usage; /* what it cost, however it ended */
    const char *message;     /* error, or the verdict's reason; "" if none */
    const char *error_class; /* transient, permanent, timeout, cancelled */
    const char *error_code;  /* the plugin's own word from detail.code, or "" */
    uint64_t retry_after_ms; /* detail.retry_after_ms; 0: not said */
    struct mortise_ending ending; /* detail.exit_code, detail.status */
};

struct mortise_instance_ops {
    void *ud;
    /* A call ended.  [any]; on the calling thread, before
     * mortise_instance_call() returns, when it ended at once. */
    void (*done)(void *ud, const struct mortise_call_done *done);
    /* emit() of kind "event", which is `progress`, or of a kind that is an event
     * of that type (static): something for whoever watches.  [any] */
    void (*event)(void *ud, uint64_t call, const char *type, const char *json,
                  size_t n);
    /* emit() of kind "delta", or (`reasoning`) of that: a piece of UTF-8 text
     * of a reply, as it comes.  [any] */
    void (*delta)(void *ud, uint64_t call, bool reasoning, const char *text,
                  size_t n);
    /* The one door: answer later, never from in here, with
     * mortise_instance_answer(), each ask exactly once, also when its call has
     * ended meanwhile.  `method` is one of the manifest's.  [any] */
    void (*ask)(void *ud, uint64_t call, uint64_t ask, const char *method,
                const char *body, size_t n);
    void (*log)(void *ud, int level, const char *plugin, const char *msg);
};

const struct mortise_manifest *
mortise_instance_manifest(const struct mortise_instance *i);

/* Run one call.  [inline] and [async] plugins: on the loop thread; [blocking]
 * ones: on a worker.  The caller keeps within the manifest's `concurrency`.
 * Nonzero: refused before the plugin saw it, `done` will not be called. */
int mortise_instance_call(struct mortise_instance *i,
                          const struct mortise_call *call,
                          struct mortise_err *err);
/* Ask a call to stop; it still ends through `done`.  Its pending asks are
 * answered with MORTISE_S_CANCELLED at once, an async plugin's on this thread.
 * False: no such call is open; a worker may be just about to make it, then ask
 * again.  [any]; [loop] for an async plugin */
bool mortise_instance_cancel(struct mortise_instance *i, uint64_t call);
/* Has an open call, which has asked for nothing that it waits for, neither said
 * nor asked anything (cancelled() included) since this was last called?  [any]
 */
bool mortise_instance_is_idle(struct mortise_instance *i, uint64_t call);
/* End a call that does not let go; true if it was still open.  `done` is not
 * called for it any more; *usage (if not NULL) is then what it said that it
 * cost, the caller's to finish.  [loop] */
bool mortise_instance_abandon(struct mortise_instance *i, uint64_t call,
                              struct mortise_usage *usage);
/* Answer an ask.  status as mortise_status; MORTISE_S_PENDING: a piece, and the
 * answer is still to come.  A piece that runs out of memory is lost, and the
 * asker finds it in the answer.  [loop] */
void mortise_instance_answer(struct mortise_instance *i, uint64_t call,
                             uint64_t ask, int32_t status, const char *answer,
                             size_t n);
/* Open calls right now.  [any] */
size_t mortise_instance_open_calls(const struct mortise_instance *i);

enum {
    MORTISE_OUTPUT_MAX = 16 << 20, /* bytes that one call may emit as "output",
                                    and as "update" */
    MORTISE_ANSWER_MAX = 64 << 10, /* bytes of a "verdict" */
    MORTISE_CODE_MAX = 65,         /* of an error's code, with its NUL */
    MORTISE_TARGET_MAX = 80,       /* of "goto": more than any id has */
    MORTISE_EVENT_MAX = 64 << 10,  /* bytes of one "event", "delta",
                                    "reasoning" */
    MORTISE_USAGE_TEXT_MAX = 4096, /* bytes of one "usage" */
    MORTISE_ASKS_MAX = 4096, /* asks of one call that wait for an answer */
    MORTISE_ASKS_BYTES_MAX = 64 << 20 /* bytes of the bodies of those */
};

/* ---- for instantiate.c, which alone makes instances ---------------------- */

/* How one did not come to be. */
struct mortise_create_failure {
    bool leaked; /* it does not let go, and keeps what it was lent for good */
    bool transient;              /* create() says that another try may help, */
    char code[MORTISE_CODE_MAX]; /* by which word of its own ("": none), */
    uint64_t retry_after_ms;     /* and not before so long; 0: not said */
};

/* create() and the interfaces that the manifest promises.  The endpoint is the
 * instance's from now on, also where this fails.  Manifest and culprit (NULL:
 * deaths are nobody's) are lent for the instance's life.  *failure is what it is
 * where this fails, else zeroed.  [loop] */
int mortise_instance_open(
    struct mortise_instance **out, const struct mortise_mem *mem,
    struct mortise_endpoint *to, const struct mortise_manifest *manifest,
    const struct mortise_culprit *culprit,
    const struct mortise_instance_ops *ops, const char *config, size_t n,
    struct mortise_create_failure *failure, struct mortise_err *err);
/* Cancel what is open, quiesce, destroy.  False: something of the plugin still
 * runs after timeout_ms, so the instance, and all that it was lent, must stay
 * as it is for good.  [loop] */
bool mortise_instance_close(struct mortise_instance *i, uint64_t timeout_ms);

#endif
