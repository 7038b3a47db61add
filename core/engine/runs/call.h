/* call.h -- a call of a plugin, as calls.c and host_calls.c share it. */
#ifndef MORTISE_ENGINE_RUNS_CALL_H
#define MORTISE_ENGINE_RUNS_CALL_H

#include <stdatomic.h>

#include "core/engine/runs/host_calls.h"
#include "core/plugin/inside.h"

enum {
    MORTISE_NODE_ID_MAX = 64
}; /* of node ids: graph/ lets no longer one in */

struct mortise_lane {
    struct mortise_hashed entry;
    struct mortise *m;
    const char *plugin; /* the manifest's */
    const char *as;     /* which of its instances: a guardrail's id, a model's
                           instance, or "" */
    enum mortise_kind kind;
    struct mortise_instance *instance;
    const struct mortise_manifest *manifest;
    enum mortise_threading threading;
    uint32_t limit, running;      /* limit 0: none */
    struct mortise_tasks waiting; /* the `turn`s of calls, which never run */
    struct mortise_ongoing *background; /* NULL: none is under way */
    bool given_up;                      /* a call did not let go */
    bool has_background;                /* by its manifest */
    bool has_waits;  /* a call of it may wait for a child or a tool */
    bool wants_room; /* `room` is queued */
    struct mortise_task room;
    uint64_t idle_ms; /* 0: no such clock */
};

enum mortise_ongoing_state {
    MORTISE_CALL_WAITING = 1,
    MORTISE_CALL_CALLED,
    MORTISE_CALL_ENDED
};

/* Who hears how a call ended that is a part of what somebody does, and answers no
 * ask (discover.c, remember.c, streams.c). */
struct mortise_hearer {
    void (*hear)(struct mortise_hearer *h,
                 const struct mortise_host_call_served *how);
    struct mortise_ongoing *call; /* NULL: none is out */
};

/* What a call of the run's own waits for, instead of a plugin of its own:
 * cancelling it stops that, and nothing is heard of it. */
struct mortise_waiting {
    void (*stop)(struct mortise_waiting *w);
};

/* What a method keeps for a call, as long as that is out. */
struct mortise_kept {
    void (*drop)(struct mortise_kept *kept);
};

/* The one step of a scripted call (script.c (8)). */
struct mortise_scripted_step {
    enum {
        MORTISE_SCRIPTED_PLAIN, /* it has none */
        MORTISE_SCRIPTED_ASKS,  /* its intent goes to disk */
        MORTISE_SCRIPTED_ACTS,
        MORTISE_SCRIPTED_TELLS, /* its result goes to disk */
        MORTISE_SCRIPTED_OVER
    } phase;
    void (*ask)(void *m, uint64_t call, uint64_t ask, const char *method,
                const char *body, size_t n);
    uint64_t takes_ms;
    size_t token;      /* the script's name for the call */
    const char *doubt; /* how it ends the first time; NULL: as ever */
};

struct mortise_ongoing { /* a call */
    struct mortise_hashed by_id, by_run;
    uint64_t id, run_call;
    struct mortise *m;
    struct mortise_live *live; /* NULL: the instance's own, and of no run */
    struct mortise_ongoing *next, **at; /* of the run's */
    struct mortise_lane *lane;          /* NULL: it never got to one */
    struct mortise_task turn;           /* in the lane */
    enum mortise_ongoing_state state;
    bool scripted;                     /* script.c answers it, by `idle` */
    struct mortise_scripted_step step; /* of that */
    bool cancelled;
    bool told_to_wait; /* an ask of its was answered `suspended` */
    bool yields;       /* it is to let go of what it waits for (calls.c) */
    uint64_t give_up_ns;
    struct mortise_timer quiesce, idle;
    bool idle_over;           /* it was silent for too long */
    struct mortise_timer due; /* of one that serves, and may take so long */
    uint64_t may_take_ms;
    bool let_go; /* its plugin's end says no more than that it stopped */
    bool mute;   /* its plugin's end says nothing at all of what it did */
    struct mortise_task ended, starved;
    struct mortise_task parked; /* nobody may be called: its run is paused */
    bool is_parked;             /* ... or `again` calls: no lane has it */
    struct mortise_timer again; /* no descriptor was left to call it */
    unsigned tries;             /* that ended so */
    char *wanted;               /* whose, as queue() got it; NULL: the lane's */
    bool is_starved;            /* under calls_lock */
    atomic_bool is_over; /* its plugin said so, and the loop is yet to hear */
    uint64_t unsaid;     /* events that were missed, which is yet to be told */
    struct mortise_task job; /* of a worker */
    atomic_uint refs;        /* the loop's, and a worker's */
    const struct mortise_mem *mem;
    struct mortise_asked *asked; /* its calls to the host, unanswered */
    /* It is no call of the run's, but serves what a call of the run's asked;
     * NULL: nobody waits for it any more. */
    bool is_serving;
    bool is_aside; /* a guardrail's, or what makes an output short */
    bool is_held, is_within_held, is_last; /* as struct mortise_run_call has
                                              them */
    struct mortise_asked *serves;
    struct mortise_hearer *hearer; /* in the place of that; or NULL */
    struct mortise_waiting *waits; /* for the plugins of others; or NULL */
    struct mortise_asked *own;   /* a step that its plugin performs; or NULL */
    struct mortise_usage served; /* what its asks used; [loop] */
    struct mortise_kept *kept;   /* NULL: nothing; [loop] */
    json_t
        *conversation; /* what it adds to its node's; NULL: nothing; [loop] */
    /* host_calls.c: the one that is weighed, or NULL, and those behind it. */
    struct mortise_asked *weighed;
    struct mortise_tasks behind_weighed;

    /* What the plugin gets; the strings lie behind us. */
    struct mortise_call call;
    const char *path, *run_id;
    struct mortise_whose whose; /* for who asks what died */
    const struct mortise_node *node;
    char *body;
    size_t body_room;

    /* How it ended; written before `ended` is posted. */
    int32_t status;
    bool violation;
    json_t *output;
    json_t *said; /* {update?, goto?}: besides its output; NULL: nothing */
    struct mortise_usage usage;
    bool plain; /* it emitted its output, and asked for nothing */
    char *message;
    char code[64];
    const char *error_class; /* static */
    uint64_t retry_after_ms;
    struct mortise_ending ending;
    bool has_cache_key; /* of a LOOKUP */
    uint8_t cache_key[MORTISE_DIGEST];

    size_t text_size;
    char text[];
};

/* NULL when it has ended.  Elsewhere than on the loop only for who knows that
 * it has not. */
struct mortise_ongoing *mortise_call_find(struct mortise *m, uint64_t id);
/* Its memory ran out where nothing could be said: cancel it.  [any] */
void mortise_call_starve(struct mortise *m, uint64_t id);
/* Why it failed, in place of what was said before.  [any] */
void mortise_call_error(struct mortise_ongoing *c, const char *code,
                        const char *error_class, const char *message);
/* A run's call begins to wait for a child or a tool: it, and what waits for it,
 * release their places if others queue for them. */
void mortise_call_waits(const struct mortise_ongoing *c);
/* A task to the loop; without the mailbox when this is the loop.  [any] */
void mortise_call_post(struct mortise *m, struct mortise_task *t);
/* An ask is performed by a plugin: a call of this kind, of the instance that a
 * deployment's name stands for (grants are its own, the run is the asker's).
 * `body` is its JSON, taken from the buffer.  It may take so long (0: as long as
 * the asker), and a little more, in which its plugin may say so itself.
 * The method's served() hears how it ended, once, unless _let_go() comes
 * first: then it is told to stop, and nobody hears of it. */
int mortise_calls_serve(struct mortise_asked *a,
                        const struct mortise_call_kind *kind, const char *name,
                        struct mortise_buf *body, uint64_t may_take_ms,
                        struct mortise_err *err);
void mortise_calls_let_go(struct mortise_asked *a);
/* The same for a part of what a call does; _stop_part(): nobody hears of it. */
int mortise_calls_serve_part(struct mortise_ongoing *by,
                             struct mortise_hearer *h,
                             const struct mortise_call_kind *kind,
                             const char *name, struct mortise_buf *body,
                             uint64_t may_take_ms, struct mortise_err *err);
void mortise_calls_stop_part(struct mortise_hearer *h);
/* The same for nobody's: of no run, and under way until it ends or the engine
 * does, which it hears. */
int mortise_calls_serve_nobody(struct mortise *m, struct mortise_hearer *h,
                               const struct mortise_call_kind *kind,
                               const char *name, struct mortise_buf *body,
                               struct mortise_err *err);

/* ---- begins.c ------------------------------------------------------------ */

/* Who begins a call of this kind of a run's, and has it end; NULL: it is the
 * plugin's. */
typedef void mortise_begin_fn(struct mortise_ongoing *c,
                              const struct mortise_run_call *rc);
mortise_begin_fn *mortise_begin_of(enum mortise_run_call_kind kind);

/* ---- consult.c ----------------------------------------------------------- */

mortise_begin_fn mortise_consult_discovery;

/* ---- cache.c ------------------------------------------------------------- */

/* A LOOKUP, which ends with its outcome. */
void mortise_cache_look_up(struct mortise_ongoing *c,
                           const struct mortise_run_call *rc);

#endif
