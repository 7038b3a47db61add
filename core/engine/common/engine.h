/* engine.h -- what the files of engine/ share: the engine, and a run in memory.
 *
 * The rooms, from the ground up (ROOMS):
 *   parts/    timers, the task queue between threads, workers, the embedder's
 *             thread: they know nothing of an engine
 *   http/     requests of others' servers
 *   common/   this struct, its log, secrets, the catalogue of operations
 *   runs/     a run in memory: started, loaded, stepped, dropped, lost
 *             (live.c); its commits to the store, its calls of plugins, who
 *             watches it, and the calls of plugins to their host (host_calls.c)
 *   host/     what they ask for, a method each
 *   .         open and close, one turn (loop.c), deadlines, what an engine that
 *             stays goes on with, and how it leaves
 *
 * service/ lies above: requests, wherever they come from, the control socket
 * and its other end, and mortise.h's functions.
 *
 * Threads    [loop] the thread that opened the engine: everything that is not
 *            tagged otherwise.  [worker] a thread of pool.c.  [store]
 * writer.c's. [any] all of them, and plugins' own.
 *
 * Promises that the tests try to break:
 *   (E1) A run's events are fed to it one at a time, never from inside the
 *        carrying out of its actions: what ends at once becomes a task.
 *   (E2) Commits of a run reach the store in order; a run that could not hand
 *        one over is lost: nothing of it that is not stored is ever shown.
 *   (E3) Every request, command and wait is answered exactly once, whatever
 *        becomes of its run.
 *   (E4) A run that nobody works on is not in memory.
 *   (E5) No step looks at all runs, all calls or all watchers.
 */
#ifndef MORTISE_ENGINE_COMMON_ENGINE_H
#define MORTISE_ENGINE_COMMON_ENGINE_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "core/engine/parts/thread_state.h"
#include "core/engine/parts/task_queue.h"
#include "core/engine/parts/pool.h"
#include "lang/config/settings.h"
#include "core/engine/common/plugin_catalog.h"
#include "core/base/table.h"
#include "core/engine/parts/timers.h"
#include "core/model/graph.h"
#include "core/run/run.h"
#include "core/store/store.h"
#include "core/store/writer.h"

enum {
    MORTISE_START_MS = 10000,   /* a plugin's create() */
    MORTISE_QUIESCE_MS = 10000, /* a cancelled call has so long to let go */
    MORTISE_NAME_MAX = 128,     /* of run ids and tenants */
    /* Bytes of live events on their way to watchers. */
    MORTISE_PASSING_MAX = 64 << 20
};

struct mortise_control;       /* control.c */
struct mortise_secret_store;  /* secret_store.c */
struct mortise_conversations; /* host/conversation.c */
struct mortise_retention;
struct mortise_script;  /* script.h */
struct mortise_looking; /* watch.c: what a watch asks of the store */
struct mortise_adding;
struct mortise_flight;   /* commits.c: a commit on its way */
struct mortise_ongoing;  /* calls.c: a call that has not ended */
struct mortise_spawn_op; /* spawns.h */
struct mortise_news;

enum mortise_engine_state {
    MORTISE_ENGINE_UP = 1,
    MORTISE_ENGINE_FAILING, /* a write failed; runs are being dropped */
    MORTISE_ENGINE_BROKEN,  /* the store cannot be opened again */
    MORTISE_ENGINE_CLOSING
};

/* How long an engine holds its store, and for whom. */
enum mortise_holding {
    MORTISE_HOLDING_STAYS = 0, /* until somebody stops it: it serves others */
    MORTISE_HOLDING_PASSES,  /* while it has something to do: it serves, too */
    MORTISE_HOLDING_BRIEFLY, /* for a moment: it serves nobody, and nothing
                                begins by itself */
    /* A copy of it, where it cannot be had, to be looked at: no timer fires,
     * nobody is listened to, nothing is removed, and what would write is
     * refused. */
    MORTISE_HOLDING_COPY
};

struct mortise {
    const struct mortise_mem *mem; /* lent */
    enum mortise_holding holding;
    pthread_t thread;
    locale_t c_locale;
    struct mortise_thread_state thread_state; /* of that thread */
    mortise_log_fn *log;                      /* NULL: silent */
    void *log_ud;
    char *actor; /* the name of our uid */
    enum mortise_engine_state state;
    bool leaving; /* nothing begins any more (recover.c) */
    bool looks;   /* at a copy of the store: nothing goes on here */
    /* MORTISE_START_MS, MORTISE_QUIESCE_MS, unless a test is in a hurry. */
    uint64_t start_ms, quiesce_ms;
    struct mortise_err trouble; /* FAILING, BROKEN: of what */
    bool trouble_untold;        /* mortise_poll() has yet to say it */

    struct mortise_settings settings;
    struct mortise_plugins *plugins;
    struct mortise_plugin_catalog plugin_catalog;
    struct mortise_secret_store *secret_store;
    struct mortise_conversations *conversations; /* NULL: not needed yet */
    struct mortise_store *store;
    struct mortise_writer *writer;
    struct mortise_pool *pool;

    /* loop.c */
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t alarm;
    uv_poll_t clock_poll; /* clocks.c; in use when clock_fd is not -1 */
    int clock_fd;
    struct mortise_task_queue task_queue;
    struct mortise_tasks landed; /* urgent tasks: commits that were answered */
    struct mortise_tasks ready;
    struct mortise_timers timers;
    bool turning;
    size_t n_listing; /* lists of runs between two reads of them: go_on() */

    /* live.c */
    struct mortise_table lives; /* struct mortise_live */
    struct mortise_table loads; /* runs on their way there */
    struct mortise_live *touched;
    struct mortise_table run_timers; /* by (run, its id for the timer) */
    struct mortise_actions actions;  /* of the step under way */

    /* graphs.c */
    struct mortise_kept_graph *graphs;

    /* watch.c */
    struct mortise_table topics;
    uint64_t last_watch;

    /* held_events.c: bytes of live events on their way to watchers. */
    atomic_size_t passing;
    size_t passing_max; /* MORTISE_PASSING_MAX, unless a test wants less */

    /* commits.c */
    struct mortise_commit **batch; /* taken, not handed over yet */
    size_t n_batch, cap_batch;
    size_t n_flying; /* handed over, not answered */
    /* Of the first batch that failed: set before its answers are posted, left
     * alone until all is quiet. */
    struct mortise_err write_why;
    struct mortise_live *unsynced;  /* with commits that are not on disk */
    struct mortise_flight *barrier; /* wants all before it synced; NULL: all
                                       that is written is */
    bool barrier_flies, sync_again; /* and another one is wanted behind it */
    /* When what is unsynced is synced at the latest. */
    struct mortise_timer sync;

    /* calls.c */
    struct mortise_table lanes;     /* (plugin, interface) */
    pthread_mutex_t calls_lock;     /* guards `calls` */
    struct mortise_table calls;     /* by our id; changed by [loop] only */
    struct mortise_table run_calls; /* by (run, its id for the call) */
    uint64_t last_call;
    size_t n_calls;                  /* of runs, begun and not ended */
    size_t n_background;             /* instances' own and nobody's, likewise */
    struct mortise_ongoing *runless; /* nobody's: those that serve no run's */

    /* script.c */
    const struct mortise_script *script; /* lent; NULL: none */
    size_t n_scripted;                   /* of n_calls */

    /* host_calls.c */
    struct mortise_table asks; /* by our name for them */
    uint64_t last_ask;

    /* kv.c */
    struct mortise_table kv_rooms; /* by (tenant, plugin) */

    /* spawns.c: what is being decided of handles, in the order in which it was
     * asked. */
    struct mortise_spawn_op *spawns;
    struct mortise_task spawns_task; /* queued when spawns_queued */
    bool spawns_queued;

    /* tree_purses.c: of trees that have a run in memory; runs whose tree is not
     * known.  The task is runs/trees.c's, queued when tree_queued. */
    struct mortise_tree_purse *tree_purses;
    struct mortise_live *tree_seekers;
    struct mortise_task tree_task;
    bool tree_queued;

    /* news.c; the task is runs/children.c's */
    struct mortise_news *news; /* the oldest first */
    struct mortise_task news_task;
    bool news_queued;
    struct mortise_timer news_again; /* some were missed: all look again */

    /* deadlines.c */
    struct mortise_timer deadline_timer;
    bool deadlines_looking;  /* the store is asked, or runs are being told */
    uint64_t deadline_at_ms; /* what it is armed for; 0: not armed */
    size_t deadline_skip; /* runs in front of the index that would not go on */

    struct mortise_retention *retention; /* retention.c; NULL: nothing goes */
    struct mortise_control *control;     /* NULL: nobody else is served */
    void (*unserve)(struct mortise *m);  /* ends `control` */
    struct mortise_http *http; /* request.c; NULL: nobody asked for it yet */
    struct mortise_processes *processes; /* program.c */
};

/* Every function without a tag is for the thread that opened the engine. */
static inline void assert_on_loop(const struct mortise *m)
{
    assert(pthread_equal(m->thread, pthread_self()));
    (void)m;
}

/* ---- loop.c ------------------------------------------------------------- */

int mortise_loop_open(struct mortise *m, struct mortise_err *err);
void mortise_loop_close(struct mortise *m); /* zeroed is fine */
/* Handle what is ready; if nothing is, wait up to timeout_ms for something
 * (-1: without bound). */
void mortise_turn(struct mortise *m, int timeout_ms);
/* Have a read done where the loop may be turned until it is; `done` is set
 * here. */
int mortise_turn_for(struct mortise *m, struct mortise_read *r,
                     struct mortise_err *err);
/* Do this later in this turn, or in the next. */
void mortise_ready(struct mortise *m, struct mortise_task *t);
/* Around all work on the embedder's thread (thread_state.h); pairs nest. */
void mortise_enter(struct mortise *m);
void mortise_leave(struct mortise *m);
/* Milliseconds that a poll may wait for the loop's descriptor: 0 when there is
 * work, -1: no bound. */
int mortise_loop_timeout(struct mortise *m);

/* To whoever opened the engine.  [any] */
void mortise_log(struct mortise *m, int level, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* ---- names.c ------------------------------------------------------------- */

/* Names of runs and tenants, and ids of orders. */
int mortise_check_name(const char *what, const char *name,
                       struct mortise_err *err);

/* ---- pins.c -------------------------------------------------------------- */

/* Find a plugin or the definition of a tool by its name among a graph's plugins, or
 * by the name of a run's pin.  *here: the pin of a run that begins now.  The
 * manifest is the plugin's; NULL: there is none, or no such tool (*err). */
const struct mortise_manifest *
mortise_pin_find(const struct mortise_deployment *d,
                 struct mortise_plugins *plugins, const char *name,
                 struct mortise_pin *here, struct mortise_err *err);
/* A plugin that a run needs cannot be used: trust says so, or something else. */
int mortise_pin_unusable(const struct mortise_err *why);
/* The digests of the plugins and tools that a graph uses, each once: there is room
 * for all. */
int mortise_pins_find(struct mortise *m, const struct mortise_graph *g,
                      struct mortise_pin *pins, size_t *n,
                      struct mortise_err *err);

/* ---- graphs.c ----------------------------------------------------------- */

/* A reference to the graph of a digest, if it is kept; it may be one that only
 * stands in, to be looked at.  `names`: one will do whose operations have names
 * and nothing else, so that no manifest is read. */
struct mortise_graph *mortise_graphs_find(struct mortise *m,
                                          const uint8_t digest[MORTISE_DIGEST],
                                          bool names);
/* The same, compiled from the store's copy.  Where it does not compile here, as
 * plugins may be gone, it stands in. */
int mortise_graphs_pinned(struct mortise *m,
                          const uint8_t digest[MORTISE_DIGEST],
                          struct mortise_source *files, size_t n_files,
                          bool names, struct mortise_graph **out,
                          struct mortise_err *err);
/* A reference to the one that can run, for a graph which `run` pinned and which
 * may stand in.  MORTISE_EBLOCKED when it does not compile (MORTISE_EDENIED: trust
 * is why); words name the run. */
int mortise_graphs_strict(struct mortise *m, const char *run,
                          const struct mortise_graph *g,
                          struct mortise_graph **out, struct mortise_err *err);
/* Compile a file that nobody wrote, as part of a graph that is here: what it names
 * are files of that one, as they were pinned. */
int mortise_graphs_derive(struct mortise *m, const struct mortise_graph *from,
                          const struct mortise_source *file,
                          struct mortise_graph **out,
                          struct mortise_buf *report, struct mortise_err *err);
void mortise_graphs_close(struct mortise *m);
/* Compile a file that is seen from the directory `cwd` (NULL: ours), where
 * those that it names are, too, and keep the graph for runs of its digest to
 * share.  Findings are appended to `report` as text, and (not NULL) to
 * `findings` as mortise_diags_json() has them, where there are any. */
enum {
    MORTISE_GRAPH_ALONE = 1,  /* none that it names is opened */
    MORTISE_GRAPH_KEYLESS = 2 /* ... and no secret is to be had */
};
int mortise_graphs_compile(struct mortise *m, const struct mortise_source *file,
                           const char *cwd, unsigned flags,
                           struct mortise_graph **out,
                           struct mortise_buf *report,
                           struct mortise_buf *findings,
                           struct mortise_err *err);

/* ---- live.c ------------------------------------------------------------- */

/* Does a run of which this was said stand still until its plugins are mended?
 */
static inline bool mortise_is_blocked(int rv)
{
    return rv == MORTISE_EBLOCKED || rv == MORTISE_EDENIED;
}

/* MORTISE_EBLOCKED: the graph or a plugin that a run goes on with is not here,
 * or is another one by now (R4), or took the process down too often for it.
 * MORTISE_EDENIED: it is here, and trust refuses it. */
int mortise_live_may_run(struct mortise *m, const char *tenant, const char *run,
                         const struct mortise_graph *graph,
                         const struct mortise_run *r, struct mortise_err *err);
/* What would let a run go on which that refuses: nothing when `stuck`. */
struct mortise_obstacles {
    bool stuck;    /* its graph or a plugin is not here */
    bool changed;  /* MORTISE_ACCEPT_PLUGINS is to be said */
    json_t *lifts; /* array, to be released: plugins to unquarantine */
};
void mortise_live_obstacles(struct mortise *m, const char *tenant,
                            const char *run, const struct mortise_graph *graph,
                            const struct mortise_run *r,
                            struct mortise_obstacles *out);

struct mortise_head_copy;

/* A command that was given to a run and waits for its answer. */
struct mortise_order {
    struct mortise_order *next;
    const char *id; /* made by who gives it; NULL: none */
    const struct mortise_run_command *list; /* lent until `done` */
    size_t n;
    uint32_t flags;
    bool blocked; /* a plugin is in the way: it is recorded, and that is all */
    const char *actor;
    /* Where findings about its diff go, as text and as JSON, if it has one; NULL:
     * they are part of the error's words. */
    struct mortise_buf *report, *findings;
    /* No commands: the run is to go on from its head.  `wants`, unless NULL, is
     * asked first; *stayed: it did not want it. */
    bool recovers, stayed;
    bool (*wants)(const struct mortise_head_copy *head);
    /* NULL, or: the order is with the run, which is in memory, and may have
     * answered it; nothing has happened since. */
    void (*given)(struct mortise_order *o);
    /* Exactly once; err->code MORTISE_OK: it is on disk.  May free the order.
     */
    void (*done)(struct mortise_order *o, const struct mortise_err *err);
};

struct mortise_run_timer;

/* What a run in memory is for the purse of its tree (tree_purses.c). */
struct mortise_tree_member {
    struct mortise_tree_purse *of;       /* NULL: none */
    struct mortise_live *next;           /* of it, or of those that seek one */
    uint64_t now[MORTISE_SPAWN_AMOUNTS]; /* what it has, as it decided */
    uint64_t landed[MORTISE_SPAWN_AMOUNTS]; /* as it is counted in the store */
    uint64_t out[MORTISE_SPAWN_AMOUNTS];    /* of `now`, what may come back */
    bool waits, stale; /* stale: it is to be told; it is pending for that */
};

struct mortise_live { /* a run in memory */
    struct mortise_hashed entry;
    struct mortise *m;
    char tenant[MORTISE_NAME_MAX + 1], id[MORTISE_NAME_MAX + 1];
    struct mortise_run *run;     /* NULL once it is lost */
    struct mortise_graph *graph; /* a reference */
    struct mortise_topic *topic; /* who watches; NULL: nobody */
    /* Ephemeral events, too early. */
    struct mortise_held_event *held, *last_held;
    uint64_t n_held;            /* so far */
    struct mortise_timer hurry; /* watch.c: until what they wait for must be
                                   committed */
    uint64_t unsaid; /* live events that were missed, to be said with the next
                        one that is held back */
    uint64_t created_ms;
    char *starter; /* the actor of a new run, until the run is on disk */
    uint64_t written, synced; /* the newest commit that is stored; on disk */
    /* The newest synced commit that the run was told of. */
    uint64_t told_synced;
    uint64_t told; /* the newest commit whose events watchers have, or are being
                      told */
    struct mortise_live *next_unsynced, **at_unsynced; /* commits.c: NULL when
                                                          it is not there */
    size_t flying;  /* commits taken and not answered */
    size_t pending; /* tasks in the ready queue that are about it */
    struct mortise_ongoing *calls;
    struct mortise_stream *streams; /* streams.c's: texts that are held back */
    struct mortise_run_timer *timers;
    struct mortise_task landed_task; /* queued when landed_queued */
    bool landed_queued;
    bool held_up; /* it was asked whether watches read (watch.c), and some do:
                     landed_task comes when they have */
    uint64_t told_written; /* the newest commit that the run knows as stored */
    struct mortise_order *orders; /* the first was given to the run, unless
                                     order_task is about to do so */
    struct mortise_task order_task;
    struct mortise_live *next_touched;
    struct mortise_tree_member tree;
    bool touched;
    bool checked; /* its plugins are those that it is pinned to */
    bool lost;
    struct mortise_err why; /* lost */
};

/* Of a run that was not checked as a whole (`checked`), perhaps as it is cancelled
 * although it is blocked: may this plugin be called, by this operation (of an
 * executor; else NULL)?  MORTISE_OK, or as mortise_live_may_run(). */
int mortise_live_may_call(struct mortise_live *live, const char *plugin,
                          const char *op, struct mortise_err *err);

/* In memory, or NULL. */
struct mortise_live *mortise_live_find(struct mortise *m, const char *tenant,
                                       const char *run);
/* Give a command to a run, which is loaded if need be; behind the commands that
 * it has not answered yet.  The order's flags: MORTISE_NO_CONTINUE,
 * MORTISE_ACCEPT_PLUGINS. */
void mortise_live_command(struct mortise *m, const char *tenant,
                          const char *run, struct mortise_order *o);
/* Have one run stand still, as an engine that stops does: it goes on when it
 * can (pause.c). */
void mortise_pause_one(struct mortise *m, const struct mortise_live *live);
/* Load a run that is neither in memory nor on its way there, and let it go on
 * from its head; of the order, `wants` and `done` are set. */
void mortise_live_recover(struct mortise *m, const char *tenant,
                          const char *run, struct mortise_order *o);
/* Parents and children hear of each other from now on (children.c). */
void mortise_children_open(struct mortise *m);
/* Runs of a tree hear of what they spend together (trees.c). */
void mortise_trees_open(struct mortise *m);
/* Does a run that was left so go on by itself? */
bool mortise_live_goes_on(int status, const char *reason);
/* Is it in memory, and not lost? */
bool mortise_live_is_at_work(struct mortise *m, const char *tenant,
                             const char *run);
/* Is it in memory, or on its way there? */
bool mortise_live_is_here(struct mortise *m, const char *tenant,
                          const char *run);
/* Feed one event (not a command) and carry out what follows. */
void mortise_live_feed(struct mortise_live *live, struct mortise_input *in);
/* It goes by the graph of its run: was that steered since? */
bool mortise_live_regraph(struct mortise_live *live);
/* The wall clock was set: timers that it tells are armed anew. */
void mortise_live_clock_set(struct mortise *m);
/* Look at it at the end of the turn: is it idle, lost and done with? */
void mortise_live_touch(struct mortise_live *live);
/* Nothing more will be done with it: forget everything that is not on disk. */
void mortise_live_lose(struct mortise_live *live,
                       const struct mortise_err *why);
void mortise_live_lose_all(struct mortise *m, const struct mortise_err *why);
/* Commits up to `written` are stored, and up to `synced` on disk. */
void mortise_live_landed(struct mortise_live *live, uint64_t written,
                         uint64_t synced);
/* Watches that held it up have read what they had to. */
void mortise_live_go_on(struct mortise_live *live);
/* At the end of a turn: drop what is idle. */
void mortise_live_settle(struct mortise *m);

/* ---- stored.c ------------------------------------------------------------ */

/* What is kept of a head that was read. */
struct mortise_head_copy {
    uint64_t seq, created_ms, updated_ms;
    int status;
    uint8_t graph[MORTISE_DIGEST];
    char reason[64];
};

/* ---- event_replay.c ------------------------------------------------------ */

struct mortise_event_replay;

/* Why a piece ended. */
enum mortise_event_replay_end {
    MORTISE_EVENT_REPLAY_ALL = 1,
    MORTISE_EVENT_REPLAY_FULL,
    MORTISE_EVENT_REPLAY_ENDED /* event() wants no more */
};

struct mortise_event_replay_ops {
    int (*event)(void *ud, json_t *event); /* nonzero: it wants no more */
    bool (*full)(void *ud);                /* it can take none now */
    /* A piece is over, which may be closed then. */
    void (*over)(void *ud, enum mortise_event_replay_end end, int rv,
                 const struct mortise_err *err);
};

/* Durable events of a run from its first.  Takes a reference of the graph. */
int mortise_event_replay_open(struct mortise_event_replay **out,
                              struct mortise *m, const char *tenant,
                              const char *run, struct mortise_graph *g,
                              const struct mortise_event_replay_ops *ops,
                              void *ud, struct mortise_err *err);
/* The next ones, of checkpoints up to `last` and as far as they are stored;
 * over() may be called before this returns. */
void mortise_event_replay_go(struct mortise_event_replay *r, uint64_t last);
/* The run was steered to this graph, or may be further on. */
void mortise_event_replay_know(struct mortise_event_replay *r,
                               struct mortise_graph *g);
/* Go on with another `ud`. */
void mortise_event_replay_lend(struct mortise_event_replay *r, void *ud);
/* How many were read so far; more than that are had by going on. */
uint64_t mortise_event_replay_events(const struct mortise_event_replay *r);
/* NULL is fine. */
void mortise_event_replay_close(struct mortise_event_replay *r);

/* ---- steering.c ---------------------------------------------------------- */

/* What the diff makes of the run's graph; to be dropped, whatever comes of it.
 * MORTISE_ECHECK, MORTISE_EDENIED: there are findings, or the diff is none. */
int mortise_steering_make(struct mortise *m, const struct mortise_run *r,
                          const json_t *diff, struct mortise_steering *out,
                          struct mortise_buf *report,
                          struct mortise_buf *findings,
                          struct mortise_err *err);
/* The same of a graph, {source, path?}, by which the run is to go instead. */
int mortise_steering_replace(struct mortise *m, const struct mortise_run *r,
                             const json_t *graph, struct mortise_steering *out,
                             struct mortise_buf *report,
                             struct mortise_buf *findings,
                             struct mortise_err *err);
void mortise_steering_drop(struct mortise *m, struct mortise_steering *s);

/* ---- held_events.c ------------------------------------------------------- */

/* Room for an event on its way; give it back with the same size.  [any] */
bool mortise_passing_take(struct mortise *m, size_t n);
void mortise_passing_give(struct mortise *m, size_t n);

/* Keep a live event, or that n were missed, until all that has happened so far
 * is told. */
void mortise_held_events_put(struct mortise_live *live, const json_t *event);
void mortise_held_events_miss(struct mortise_live *live, uint64_t n);
/* The commit that the first of them waits for, and the number of the durable
 * event behind which it stands; UINT64_MAX: there is none. */
uint64_t mortise_held_events_seq(const struct mortise_live *live);
uint64_t mortise_held_events_behind(const struct mortise_live *live);
/* Take the first: an event, or NULL and how many were missed. */
json_t *mortise_held_events_take(struct mortise_live *live, uint64_t *id,
                                 uint64_t *missed);
/* Look at the next one, from `from` on (NULL: the first), that has a greater id
 * and stands in front of the durable event `seq`; NULL: there is none.  The
 * event is a new reference. */
struct mortise_held_event_copy {
    json_t *event; /* NULL: so many were missed */
    uint64_t id, missed;
};
const struct mortise_held_event *
mortise_held_events_find(const struct mortise_live *live,
                         const struct mortise_held_event *from, uint64_t id,
                         uint64_t seq, struct mortise_held_event_copy *out);
void mortise_held_events_drop(struct mortise_live *live);

/* ---- watch.c ------------------------------------------------------------ */

enum mortise_until {
    MORTISE_UNTIL_CLOSED = 1, /* for ever */
    MORTISE_UNTIL_NOW,        /* what is stored */
    MORTISE_UNTIL_SYNCED,     /* commit 1: the admission */
    MORTISE_UNTIL_IDLE,
    MORTISE_UNTIL_END
};

struct mortise_watch {
    struct mortise *m;
    struct mortise_watch *next, **at; /* of its topic */
    struct mortise_topic *topic;      /* NULL: it is over */
    uint64_t id;
    enum mortise_until until;
    uint64_t after;      /* the newest event that it has */
    uint64_t known;      /* the run's newest event when it began */
    uint64_t held_after; /* events held back up to here are none of its, or it
                            has them */
    /* Where it reads among events that are held back. */
    const struct mortise_held_event *held;
    bool behind; /* it gets what is stored; live events are missed */
    /* It is behind at least until events up to this commit are told. */
    uint64_t goal;
    /* What the store is asked for by it: a piece of the events up to `last`, or
     * its run; NULL: nothing. */
    bool reading;
    uint64_t last;
    struct mortise_looking *looking;
    struct mortise_adding *adding; /* mortise_watch_add() has not returned */
    bool beginning; /* its run was not in memory, and is not known yet */
    /* How far it has come with them; NULL: nowhere. */
    struct mortise_event_replay *replay;
    json_t *running; /* `node_start`s of when it began; NULL: none are left */
    uint64_t missed, since; /* so many live events, since that durable one */
    /* NULL: it wants no events.  Borrowed; nonzero ends the watch. */
    int (*event)(struct mortise_watch *w, json_t *event);
    /* Can it take none now?  Then mortise_watch_go_on() once it can.  NULL: it
     * takes all. */
    bool (*full)(struct mortise_watch *w);
    /* What it waited for came (err->code MORTISE_OK), or never will; or it
     * wanted no more events (err NULL).  The watch is over; may free it. */
    void (*done)(struct mortise_watch *w, int status, const char *reason,
                 const struct mortise_err *err);
};

/* The caller's struct, zeroed, with until, after, event, full and done set;
 * once.  Stored events come before this returns unless commits are on their way
 * or the store takes its time (then soon), and so does `done` when it waits for
 * nothing.  MORTISE_ENOTFOUND without such a run.  On an error here the watch
 * never was; an error that comes later is told by `done`. */
int mortise_watch_add(struct mortise *m, struct mortise_watch *w,
                      const char *tenant, const char *run,
                      struct mortise_err *err);
/* End it without `done`; fine when it is over. */
void mortise_watch_end(struct mortise *m, struct mortise_watch *w);
struct mortise_watch *mortise_watch_find(struct mortise *m, uint64_t id);
/* It has room again. */
void mortise_watch_go_on(struct mortise *m, struct mortise_watch *w);

/* What live.c tells. */
void mortise_watch_open(struct mortise_live *live);    /* it was made */
void mortise_watch_attach(struct mortise_live *live);  /* it came to memory */
void mortise_watch_detach(struct mortise_live *live);  /* it leaves */
void mortise_watch_steered(struct mortise_live *live); /* live->graph is new */
void mortise_watch_publish(struct mortise_live *live, json_t *event);
/* So many live events were not even made. */
void mortise_watch_miss(struct mortise_live *live, uint64_t n);
/* Commits are stored, and the run has not yet published what they carry. */
void mortise_watch_written(struct mortise_live *live);
/* Does a watch read what is stored?  Until it has, the run is told of nothing
 * that happened since, nothing is told of the run, and it stays in memory; then
 * mortise_live_go_on() is called. */
bool mortise_watch_holds(struct mortise_live *live);
/* The run has published what the commits up to seq carry. */
void mortise_watch_published(struct mortise_live *live, uint64_t seq);
void mortise_watch_idle(struct mortise_live *live);
void mortise_watch_lost(struct mortise_live *live, const struct mortise_err *e);
/* Every watch that waits for something gets this answer. */
void mortise_watch_fail_all(struct mortise *m, const struct mortise_err *err);
/* The store that failed is open again: those who stayed read on. */
void mortise_watch_reopened(struct mortise *m);
void mortise_watch_close(struct mortise *m); /* every subscription ends */

/* ---- commits.c ---------------------------------------------------------- */

int mortise_commits_open(struct mortise *m, struct mortise_err *err);
void mortise_commits_close(struct mortise *m);
/* Nothing is on its way any more: sync what was told before it was synced. */
void mortise_commits_finish(struct mortise *m);
/* It leaves memory. */
void mortise_commits_leave(struct mortise_live *live);
/* Take a commit out of an action; it goes with the next flush. */
int mortise_commits_take(struct mortise_live *live,
                         struct mortise_run_commit *c, struct mortise_err *err);
void mortise_commits_flush(struct mortise *m);

/* A change of a spawn handle, from its decision to its answer.  A commit has it
 * from when `flying` is set until landed() is told how that came out: MORTISE_OK,
 * it is stored, and on disk when what follows is answered; MORTISE_ECONFLICT, the
 * record was not what was decided upon; else it is not known, or was not tried. */
struct mortise_spawn_put {
    struct mortise_spawn_change change;
    bool flying;
    void (*landed)(struct mortise_spawn_put *p, int result);
};

static inline struct mortise_spawn_put *
mortise_spawn_put_of(const struct mortise_spawn_change *c)
{
    return (struct mortise_spawn_put *)(uintptr_t)c; /* its first member */
}

/* Put it without a run's commit, synced; `tenant` is lent until it landed. */
int mortise_commits_take_spawn(struct mortise *m, const char *tenant,
                               struct mortise_spawn_put *p,
                               struct mortise_err *err);
/* Something waits for what was taken: it is synced soon. */
void mortise_commits_sync(struct mortise *m);
/* Forget what was taken of a run and not handed over. */
void mortise_commits_forget(struct mortise_live *live);
/* Answers from the store thread. */
void mortise_commits_landed(struct mortise *m);
mortise_written_fn mortise_commits_written; /* [store] */
/* A write failed: nobody knows what is on disk. */
void mortise_commits_failed(struct mortise *m, int result,
                            const struct mortise_err *why);
/* A write failed, all runs are dropped and nothing is under way: open the
 * store again. */
void mortise_commits_reopen(struct mortise *m);

/* ---- calls.c ------------------------------------------------------------ */

void mortise_calls_ops(struct mortise *m, struct mortise_instance_ops *ops);
int mortise_calls_open(struct mortise *m);
void mortise_calls_close(struct mortise *m);
/* Start a plugin before anybody calls it; named as in mortise_graph.plugins. */
int mortise_calls_bring_up(struct mortise *m, const char *name,
                           struct mortise_err *err);
/* Takes the body out of the action. */
int mortise_calls_begin(struct mortise_live *live,
                        struct mortise_run_call *call, struct mortise_err *err);
void mortise_calls_cancel(struct mortise_live *live, uint64_t run_call);
void mortise_calls_cancel_all(struct mortise_live *live);
/* What instances do in the background is to stop; m->n_background tells. */
void mortise_calls_cancel_background(struct mortise *m);

/* ---- kv.c --------------------------------------------------------------- */

void mortise_kv_close(struct mortise *m);

/* ---- deadline_timer.c ---------------------------------------------------- */

/* At the latest after so long it is looked again. */
enum { MORTISE_DEADLINES_LOOK_MS = 60000 };
/* A deadline was committed. */
void mortise_deadlines_note(struct mortise *m, uint64_t deadline_ms);
/* The timer for it, anew; both times are of the wall clock. */
void mortise_deadlines_arm(struct mortise *m, uint64_t now_ms, uint64_t at_ms);

/* ---- deadlines.c --------------------------------------------------------- */

/* An engine that stays looks from now on; one that passes, when it is told. */
void mortise_deadlines_open(struct mortise *m);
/* Look with the next turn: the wall clock was set, or the engine has got what
 * it was opened for.  One that is held briefly never looks. */
void mortise_deadlines_look(struct mortise *m);

/* ---- clocks.c ------------------------------------------------------------ */

/* Hear of it when the wall clock is set.  Without the means, it is found out
 * later (deadlines.c). */
void mortise_clocks_open(struct mortise *m);
void mortise_clocks_close(struct mortise *m);

/* ---- retention.c --------------------------------------------------------- */

int mortise_retention_open(struct mortise *m, struct mortise_err *err);
/* Nothing is under way any more. */
void mortise_retention_finish(struct mortise *m);
void mortise_retention_close(struct mortise *m);

/* ---- engine.c ----------------------------------------------------------- */

/* mortise_open() is this, and stays.  `settings`: what options->deployment and
 * ->store say, by whoever has read it already; it is taken, and zeroed.  Zeroed
 * or NULL: it is read here. */
int mortise_engine_open(struct mortise **out,
                        const struct mortise_options *options,
                        enum mortise_holding holding,
                        struct mortise_settings *settings,
                        struct mortise_err *err);

/* MORTISE_OK when it can take requests. */
int mortise_engine_ready(struct mortise *m, struct mortise_err *err);

#endif
