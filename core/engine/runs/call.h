/* call.h -- the state of a plugin call, shared by calls.c, host_calls.c and the
 * files that make calls. */
#ifndef MORTISE_ENGINE_RUNS_CALL_H
#define MORTISE_ENGINE_RUNS_CALL_H

#include <stdatomic.h>

#include "core/engine/runs/host_calls.h"
#include "core/plugin/inside.h"

enum {
    MORTISE_NODE_ID_MAX = 64
}; /* of node ids; the graph loader accepts no longer one */

struct mortise_lane {
    struct mortise_table_entry entry;
    struct mortise *m;
    const char *plugin; /* from the manifest */
    const char *as;     /* the instance: a guardrail id, a model instance, or
                           "" */
    enum mortise_kind kind;
    struct mortise_instance *instance;
    const struct mortise_manifest *manifest;
    enum mortise_threading threading;
    uint32_t limit, running;      /* limit 0: none */
    struct mortise_tasks waiting; /* the `turn` tasks of queued calls; they are
                                     never run */
    struct mortise_plugin_call *background; /* NULL: no background call is in
                                           progress */
    bool given_up;                      /* a call did not return */
    bool has_background;                /* from the manifest */
    bool has_waits;  /* one of its calls may wait for a child or a tool */
    bool room_task_queued; /* the task `room` is queued */
    struct mortise_task room;
    uint64_t idle_ms; /* 0: no idle timeout */
};

enum mortise_plugin_call_state {
    MORTISE_CALL_QUEUED = 1,
    MORTISE_CALL_CALLED,
    MORTISE_CALL_ENDED
};

/* A receiver for the result of a call that is part of another operation and
 * answers no ask (discover.c, remember.c, streams.c). */
struct mortise_result_receiver {
    void (*hear)(struct mortise_result_receiver *h,
                 const struct mortise_host_call_result *how);
    struct mortise_plugin_call *call; /* NULL: no call is in progress */
};

/* Work that replaces a plugin call for one of the run's calls.  stop() ends it;
 * no result is reported then. */
struct mortise_call_replacement {
    void (*stop)(struct mortise_call_replacement *w);
};

/* Data that a method attaches to a call until the call ends. */
struct mortise_call_attachment {
    void (*drop)(struct mortise_call_attachment *kept);
};

/* The single step of a scripted call: see promise (8) in
 * core/engine/runs/script.c. */
struct mortise_scripted_step {
    enum {
        MORTISE_SCRIPTED_NO_STEP,       /* it has none */
        MORTISE_SCRIPTED_WRITES_INTENT, /* its intent is being written to disk */
        MORTISE_SCRIPTED_PERFORMS,
        MORTISE_SCRIPTED_WRITES_RESULT, /* its result is being written to disk */
        MORTISE_SCRIPTED_DONE
    } phase;
    void (*ask)(void *m, uint64_t call, uint64_t ask, const char *method,
                const char *body, size_t n);
    uint64_t takes_ms;
    size_t token;      /* the script's name for the call */
    const char *doubt; /* the error of its first try; NULL: the script's
                          answer */
};

struct mortise_plugin_call { /* a call */
    struct mortise_table_entry by_id, by_run;
    uint64_t id, run_call;
    struct mortise *m;
    struct mortise_live *live; /* NULL: background work of an instance, without
                                  a run */
    struct mortise_plugin_call *next, **at; /* in the run's list */
    struct mortise_lane *lane;          /* NULL: not in a lane yet */
    struct mortise_task turn;           /* in the lane's queue */
    enum mortise_plugin_call_state state;
    bool scripted;                     /* script.c answers it; `idle` is the
                                          delay */
    struct mortise_scripted_step step; /* of a scripted call */
    bool cancelled;
    bool answered_suspended; /* one of its asks was answered `suspended` */
    bool yields;       /* it was told to release its slot (calls.c) */
    uint64_t give_up_ns;
    struct mortise_timer quiesce, idle;
    bool idle_over;           /* no activity for longer than idle_ms */
    struct mortise_timer due; /* timeout of a call that serves an ask:
                                 may_take_ms */
    uint64_t may_take_ms;
    bool let_go; /* the plugin reported only that it stopped */
    bool mute;   /* the end of the call does not tell its effects */
    struct mortise_task ended, starved;
    struct mortise_task parked; /* its plugin is not trusted: pause the run */
    bool is_parked;             /* it is in no lane: `parked`, or waiting for
                                   `again` */
    struct mortise_timer again; /* retry, because no descriptor was free */
    unsigned tries;             /* number of these retries */
    char *wanted;               /* the name that queue_call() got; NULL: use the
                                   lane's */
    bool out_of_memory_posted;  /* guarded by calls_lock */
    atomic_bool is_over;        /* the plugin reported its end; the loop has not
                                   handled it yet */
    uint64_t n_unreported_missed; /* missed events that were not reported yet */
    struct mortise_task job;    /* for a worker */
    atomic_uint refs;           /* held by the loop and by a worker */
    const struct mortise_mem *mem;
    struct mortise_asked *asked; /* its asks without an answer */
    /* It serves an ask or another operation, and is no call of the run.
     * `serves` NULL: no ask waits for it. */
    bool is_serving;
    bool is_aside; /* of a guardrail, or of the compaction of an output */
    bool is_held, is_within_held, is_last; /* as in struct mortise_run_call */
    struct mortise_asked *serves;
    struct mortise_result_receiver
        *result_receiver; /* gets the result instead of `serves`; or
                                      NULL */
    struct mortise_call_replacement
        *waits;                    /* work that replaces the plugin call; or
                                      NULL */
    struct mortise_asked *own;     /* an open step that the plugin performs
                                      itself; or NULL */
    struct mortise_usage served;   /* usage of its asks; [loop] */
    struct mortise_call_attachment *kept; /* NULL: none; [loop] */
    json_t *conversation; /* additions to its node's conversation; NULL: none;
                             [loop] */
    /* host_calls.c: the ask that is being decided with the store, or NULL; and
     * the asks queued behind it. */
    struct mortise_asked *deciding_ask;
    struct mortise_tasks asks_behind_decision;

    /* The plugin's view of the call; its strings are in text[]. */
    struct mortise_call call;
    const char *path, *run_id;
    struct mortise_visit_execution whose; /* to attribute a crash */
    const struct mortise_node *node;
    char *body;
    size_t body_room;

    /* The result; written before `ended` is posted. */
    int32_t status;
    bool violation;
    json_t *output;
    json_t *said; /* {update?, goto?} besides the output; NULL: none */
    struct mortise_usage usage;
    bool plain; /* it emitted its output and asked for nothing */
    char *message;
    char code[64];
    const char *error_class; /* static */
    uint64_t retry_after_ms;
    struct mortise_exit_info ending;
    bool has_cache_key; /* of a LOOKUP */
    uint8_t cache_key[MORTISE_DIGEST];

    size_t text_size;
    char text[];
};

/* NULL if the call has ended.  Outside the loop only for callers that know that
 * it has not. */
struct mortise_plugin_call *mortise_call_find(struct mortise *m, uint64_t id);
/* An event or ask of the call ran out of memory: cancel the call.  [any] */
void mortise_call_cancel_starved(struct mortise *m, uint64_t id);
/* Set the error of the call, replacing an earlier one.  [any] */
void mortise_call_set_error(struct mortise_plugin_call *c, const char *code,
                            const char *error_class, const char *message);
/* A call of a run begins to wait for a child or a tool: calls of this run that
 * wait release their slots if others are queued for them. */
void mortise_call_release_waiting(const struct mortise_plugin_call *c);
/* Post a task to the loop; skips the mailbox on the loop's own thread.
 * [any] */
void mortise_call_post(struct mortise *m, struct mortise_task *t);
/* Serve an ask by a plugin call of this kind.  `name` is the deployment's name
 * of the instance; permissions are the instance's, the run is the asker's.
 * `body` is JSON and taken from the buffer.  may_take_ms limits the call (0:
 * the asker's deadline), plus a short time in which the plugin may report its
 * timeout itself.  The method's served() gets the result once, unless
 * mortise_calls_stop_serving() comes first: that cancels the call, and no result is
 * reported. */
int mortise_calls_serve(struct mortise_asked *a,
                        const struct mortise_call_kind *kind, const char *name,
                        struct mortise_buf *body, uint64_t may_take_ms,
                        struct mortise_err *err);
void mortise_calls_stop_serving(struct mortise_asked *a);
/* Like mortise_calls_serve(), for a part of a call's work; `h` gets the result.
 * mortise_calls_stop_part() cancels it without a report. */
int mortise_calls_serve_part(struct mortise_plugin_call *by,
                             struct mortise_result_receiver *h,
                             const struct mortise_call_kind *kind,
                             const char *name, struct mortise_buf *body,
                             uint64_t may_take_ms, struct mortise_err *err);
void mortise_calls_stop_part(struct mortise_result_receiver *h);
/* Like mortise_calls_serve_part(), without a run.  The call continues until it
 * ends or the engine closes; `h` is informed of both. */
int mortise_calls_serve_runless(struct mortise *m,
                                struct mortise_result_receiver *h,
                                const struct mortise_call_kind *kind,
                                const char *name, struct mortise_buf *body,
                                struct mortise_err *err);

/* ---- begins.c ------------------------------------------------------------ */

/* The function that begins and ends the run's calls of this kind; NULL: the
 * plugin of the node is called. */
typedef void mortise_begin_fn(struct mortise_plugin_call *c,
                              const struct mortise_run_call *rc);
mortise_begin_fn *mortise_begin_find(enum mortise_run_call_kind kind);

/* ---- consult.c ----------------------------------------------------------- */

mortise_begin_fn mortise_consult_discovery;

/* ---- cache.c ------------------------------------------------------------- */

/* A LOOKUP; it ends with the outcome of the lookup. */
void mortise_cache_look_up(struct mortise_plugin_call *c,
                           const struct mortise_run_call *rc);

#endif
