/* engine.h -- the engine, and a run in memory: the structs and functions that
 * the files of engine/ share.
 *
 * The rooms, from the ground up (ROOMS):
 *   parts/    timers, the task queue between threads, workers, the
 *             embedder's thread: they know nothing of an engine
 *   common/   this struct, its log, secrets
 *   runs/     a run in memory: started, loaded, stepped, dropped, lost
 *             (live.c); its commits to the store, its plugin calls, its
 *             watches, and the calls of plugins to their host (host_calls.c)
 *   .         open and close, one turn (loop.c), deadlines, recovery, retention
 *
 * deployment.h and language.h are ports: they declare what the engine asks of its
 * deployment and of the language of graph files, which lie above it.  So do the
 * services that plugins can ask, and the server with the control socket.
 *
 * Threads:
 *   [loop]    the thread that opened the engine: everything without a tag
 *   [worker]  a thread of pool.c
 *   [store]   the thread of writer.c
 *   [any]     all of them, and threads of plugins
 *
 * Promises that the tests try to break:
 *   (E1) A run's events are fed to it one at a time, never while its actions
 *        are carried out: an action that ends at once becomes a task.
 *   (E2) Commits of a run reach the store in order.  If a commit cannot be
 *        handed over, the run is lost: nothing of it that is not stored is ever
 *        shown.
 *   (E3) Every request, command and wait is answered exactly once, whatever
 *        happens to its run.
 *   (E4) An idle run is not in memory.
 *   (E5) No step looks at all runs, all calls or all watches.
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
#include "core/engine/deployment.h"
#include "core/base/table.h"
#include "core/engine/parts/timers.h"
#include "core/model/graph.h"
#include "core/run/run.h"
#include "core/store/store.h"
#include "core/store/writer.h"

enum {
    MORTISE_START_MS = 10000,   /* timeout of a plugin's create() */
    MORTISE_QUIESCE_MS = 10000, /* time for a cancelled call to return */
    MORTISE_NAME_MAX = 128,     /* of run ids and tenants */
    /* Limit in bytes of live events queued for watches. */
    MORTISE_PASSING_MAX = 64 << 20
};

struct mortise_control;       /* of the control socket */
struct mortise_secret_store;  /* secret_store.c */
struct mortise_retention;
struct mortise_script;  /* runs/script.h */
struct mortise_watch_read; /* watch.c: a read of the store for a watch */
struct mortise_watch_registration;
struct mortise_commit_flight; /* commits.c: a commit in flight */
struct mortise_plugin_call;   /* calls.c: a call that has not ended */
struct mortise_spawn_op; /* spawns.h */
struct mortise_news;

enum mortise_engine_state {
    MORTISE_ENGINE_RUNNING = 1,
    MORTISE_ENGINE_FAILING, /* a write failed; runs are being dropped */
    MORTISE_ENGINE_BROKEN,  /* the store cannot be reopened */
    MORTISE_ENGINE_CLOSING
};

/* How long an engine holds its store, and for which purpose. */
enum mortise_engine_mode {
    MORTISE_MODE_SERVER = 0, /* until it is stopped: it serves other
                                  processes */
    MORTISE_MODE_TEMPORARY,  /* while it has work: it serves, too */
    MORTISE_MODE_MOMENTARY,  /* for a moment: it serves nobody, and nothing
                                  starts by itself */
    /* A copy of the store, for reading while another engine holds the store: no
     * timer fires, nobody is served, nothing is removed, and writes are
     * refused. */
    MORTISE_MODE_COPY
};

struct mortise {
    const struct mortise_mem *mem; /* lent */
    enum mortise_engine_mode holding;
    pthread_t thread;
    locale_t c_locale;
    struct mortise_thread_state thread_state; /* of `thread` */
    mortise_log_fn *log;                      /* NULL: silent */
    void *log_ud;
    char *actor; /* the name of our uid */
    enum mortise_engine_state state;
    bool leaving; /* nothing starts any more (recover.c) */
    bool looks;   /* reads a copy of the store: no run continues here */
    /* MORTISE_START_MS, MORTISE_QUIESCE_MS; tests set shorter times. */
    uint64_t start_ms, quiesce_ms;
    struct mortise_err trouble; /* FAILING, BROKEN: the error */
    bool trouble_unreported;    /* mortise_poll() has yet to return it */

    struct mortise_settings settings;
    struct mortise_plugins *plugins;
    struct mortise_catalogs *catalogs; /* of `plugins` */
    struct mortise_secret_store *secret_store;
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
    struct mortise_tasks landed; /* urgent tasks: answered commits */
    struct mortise_tasks ready;
    struct mortise_timers timers;
    bool turning;
    size_t n_listing; /* core/query/newest.c: lists of runs between two of their
                         reads */

    /* live.c */
    struct mortise_table lives; /* struct mortise_live */
    struct mortise_table loads; /* runs that are being loaded */
    struct mortise_live *touched;
    struct mortise_table run_timers; /* by (run, the run's id of the timer) */
    struct mortise_actions actions;  /* of the current step */

    /* graphs.c */
    struct mortise_kept_graph *graphs;

    /* watch.c */
    struct mortise_table topics;
    uint64_t last_watch;

    /* held_events.c: bytes of live events queued for watches. */
    atomic_size_t passing;
    size_t
        passing_max; /* bytes of events on their way, at most; tests set less */

    /* commits.c */
    struct mortise_commit **batch; /* collected, not handed over yet */
    size_t n_batch, cap_batch;
    size_t n_commits_in_flight; /* handed over, not answered */
    /* The error of the first batch that failed: set before its answers are
     * posted, unchanged until no run is left. */
    struct mortise_err write_why;
    struct mortise_live *unsynced;  /* with commits that are not on disk */
    struct mortise_commit_flight
        *barrier; /* waits until all earlier commits are
                                       synced; NULL: all written commits are */
    bool barrier_in_flight,
        sync_again; /* the barrier is in flight; another one is
                                       needed after it */
    /* Deadline for syncing the commits that are written and not synced. */
    struct mortise_timer sync;

    /* calls.c */
    struct mortise_table lanes;     /* (plugin, interface) */
    pthread_mutex_t calls_lock;     /* guards `calls` */
    struct mortise_table calls;     /* by our id; changed by [loop] only */
    struct mortise_table run_calls; /* by (run, the run's id of the call) */
    uint64_t last_call;
    size_t n_calls;                  /* calls of runs, begun and not ended */
    size_t n_background;             /* calls of instances themselves and calls
                                        without a run, begun and not ended */
    struct mortise_plugin_call
        *calls_without_run; /* calls without a run; calls that serve a
                                        run's ask are not in it */

    /* script.c */
    const struct mortise_script *script; /* lent; NULL: none */
    size_t n_scripted;                   /* the scripted ones among n_calls */

    /* host_calls.c */
    struct mortise_table asks; /* by our id */
    uint64_t last_ask;

    /* spawns.c: the decisions about spawn handles, in the order of their
     * asks. */
    struct mortise_spawn_op *spawns;
    struct mortise_task spawns_task; /* queued when spawns_queued */
    bool spawns_queued;

    /* tree_purses.c: the budgets of trees with a run in memory; runs whose tree
     * is not known yet.  The task is set by runs/trees.c, and queued while
     * tree_queued. */
    struct mortise_tree_budget *tree_purses;
    struct mortise_live *tree_seekers;
    struct mortise_task tree_task;
    bool tree_queued;

    /* news.c; the task is set by runs/children.c */
    struct mortise_news *news; /* the oldest first */
    struct mortise_task news_task;
    bool news_queued;
    struct mortise_timer news_again; /* news was lost: all runs look again */

    /* deadlines.c */
    struct mortise_timer deadline_timer;
    bool deadlines_looking;  /* the store is being read, or runs are being
                                notified */
    uint64_t deadline_at_ms; /* the deadline that it is armed for; 0: not
                                armed */
    size_t deadline_skip;    /* runs at the front of the index that could not
                                continue */

    struct mortise_retention *retention; /* retention.c; NULL: nothing is
                                            removed */
    struct mortise_control *control;     /* NULL: no other process is served */
    void (*stop_control)(struct mortise *m); /* stops `control` */

    /* What each service keeps here, in the order of mortise_services. */
    void **kept;
    size_t n_kept;
};

/* Every function without a tag is for the thread that opened the engine. */
static inline void assert_on_loop(const struct mortise *m)
{
    assert(pthread_equal(m->thread, pthread_self()));
    (void)m;
}

/* ---- loop.c ------------------------------------------------------------- */

int mortise_loop_open(struct mortise *m, struct mortise_err *err);
void mortise_loop_close(struct mortise *m); /* a zeroed engine is fine */
/* Handle all events that are ready; if there are none, wait up to timeout_ms
 * for one (-1: without limit). */
void mortise_loop_turn(struct mortise *m, int timeout_ms);
/* Turn the loop until a read is done; sets the read's `done`. */
int mortise_loop_turn_for_read(struct mortise *m, struct mortise_read *r,
                               struct mortise_err *err);
/* Run the task later in this turn, or in the next. */
void mortise_task_make_ready(struct mortise *m, struct mortise_task *t);
/* Around all work on the embedder's thread (thread_state.h); pairs nest. */
void mortise_loop_enter(struct mortise *m);
void mortise_loop_leave(struct mortise *m);
/* Milliseconds that the embedder may poll the loop's descriptor: 0 if there is
 * work, -1: no limit. */
int mortise_loop_get_timeout(struct mortise *m);

/* Write to the embedder's log function.  [any] */
void mortise_log(struct mortise *m, int level, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* ---- names.c ------------------------------------------------------------- */

/* Check a run id, a tenant or an order id. */
int mortise_name_check(const char *what, const char *name,
                       struct mortise_err *err);

/* ---- pins.c -------------------------------------------------------------- */

/* Find a plugin by a name of graph->plugins or of a run's pin; also the
 * definition of a tool.  *here: the pin for a run that begins now.  Returns the
 * plugin's manifest; NULL: no such plugin or tool (*err). */
const struct mortise_manifest *
mortise_pin_find(const struct mortise_deployment *d,
                 struct mortise_plugins *plugins, const char *name,
                 struct mortise_pin *here, struct mortise_err *err);
/* Map an error of a plugin to the error of a run that needs it: MORTISE_EDENIED
 * (trust), MORTISE_ELIMIT, else MORTISE_EBLOCKED. */
int mortise_pin_map_error(const struct mortise_err *why);
/* The digests of the plugins and tools that a graph uses, each once.  `pins`
 * has room for g->n_plugins. */
int mortise_pins_find(struct mortise *m, const struct mortise_graph *g,
                      struct mortise_pin *pins, size_t *n,
                      struct mortise_err *err);

/* ---- graphs.c ----------------------------------------------------------- */

/* A reference to the graph with this digest if it is kept, else NULL.  It may
 * be a stand-in, which can be read and not run.  `names`: a graph is good
 * enough whose operations have names and nothing else, so that no manifest is
 * read. */
struct mortise_graph *mortise_graphs_find(struct mortise *m,
                                          const uint8_t digest[MORTISE_DIGEST],
                                          bool names);
/* Compile the graph with this digest from the store's copy, `files`, and keep
 * it.  *out: a reference.  If the graph does not compile here, for example
 * because a plugin is missing, the result is a stand-in. `names`: as in
 * mortise_graphs_find(). */
int mortise_graphs_load_pinned(struct mortise *m,
                               const uint8_t digest[MORTISE_DIGEST],
                               struct mortise_source *files, size_t n_files,
                               bool names, struct mortise_graph **out,
                               struct mortise_err *err);
/* A reference to the executable graph for `g`, which `run` pinned and which may
 * be a stand-in.  MORTISE_EBLOCKED if it does not compile (MORTISE_EDENIED:
 * because of trust); the message names the run. */
int mortise_graphs_load_executable(struct mortise *m, const char *run,
                                   const struct mortise_graph *g,
                                   struct mortise_graph **out,
                                   struct mortise_err *err);
/* Compile a generated file as part of a loaded graph: names in it refer to the
 * pinned files of that graph. */
int mortise_graphs_derive(struct mortise *m, const struct mortise_graph *from,
                          const struct mortise_source *file,
                          struct mortise_graph **out,
                          struct mortise_buf *report, struct mortise_err *err);
void mortise_graphs_close(struct mortise *m);
/* Compile a file relative to the directory `cwd` (NULL: ours), with the files
 * that it names, and keep the graph so that runs with its digest share it.
 * Findings are appended to `report` as text, and to `findings` (if not NULL) as
 * JSON (language.h). */
enum {
    MORTISE_GRAPH_ALONE = 1,  /* do not open the files that it names */
    MORTISE_GRAPH_KEYLESS = 2 /* ... and no secret is available */
};
int mortise_graphs_compile(struct mortise *m, const struct mortise_source *file,
                           const char *cwd, unsigned flags,
                           struct mortise_graph **out,
                           struct mortise_buf *report,
                           struct mortise_buf *findings,
                           struct mortise_err *err);

/* ---- live.c ------------------------------------------------------------- */

/* Does this error mean that a run cannot continue until its plugins are
 * repaired? */
static inline bool mortise_is_blocked(int rv)
{
    return rv == MORTISE_EBLOCKED || rv == MORTISE_EDENIED;
}

/* May the run continue?  MORTISE_EBLOCKED: its graph or a plugin is missing or
 * has changed (R4), or the plugin crashed the process too often for this run.
 * MORTISE_EDENIED: trust refuses a plugin. */
int mortise_live_check_run(struct mortise *m, const char *tenant,
                           const char *run, const struct mortise_graph *graph,
                           const struct mortise_run *r,
                           struct mortise_err *err);
/* The steps that would remove the obstacles which mortise_live_check_run()
 * reports: none if `stuck`. */
struct mortise_obstacles {
    bool stuck;    /* its graph or a plugin is missing */
    bool changed;  /* MORTISE_ACCEPT_PLUGINS is needed */
    json_t *lifts; /* array, to be released: plugins to unquarantine */
};
void mortise_live_find_obstacles(struct mortise *m, const char *tenant,
                                 const char *run,
                                 const struct mortise_graph *graph,
                                 const struct mortise_run *r,
                                 struct mortise_obstacles *out);

struct mortise_head_copy;

/* A command to a run that waits for its answer. */
struct mortise_order {
    struct mortise_order *next;
    const char *id;                         /* set by the caller; NULL: none */
    const struct mortise_run_command *list; /* lent until `done` */
    size_t n;
    uint32_t flags;
    bool blocked; /* a plugin blocks the run: the command is only recorded */
    const char *actor;
    /* Get the findings about its diff, as text and as JSON; NULL: they become
     * part of the error message. */
    struct mortise_buf *report, *findings;
    /* No commands: the run continues from its head.  `wants`, if not NULL,
     * decides first; *stayed: it decided against it. */
    bool recovers, stayed;
    bool (*wants)(const struct mortise_head_copy *head);
    /* NULL, or called when the order was given to the run, which is in memory
     * and may have answered it; nothing has happened since. */
    void (*given)(struct mortise_order *o);
    /* Called exactly once; err->code MORTISE_OK: it is on disk.  May free the
     * order. */
    void (*done)(struct mortise_order *o, const struct mortise_err *err);
};

struct mortise_run_timer;

/* The state of a run in memory within the budget of its tree
 * (tree_purses.c). */
struct mortise_tree_member {
    struct mortise_tree_budget *of;      /* NULL: none */
    struct mortise_live *next;           /* in the tree's list, or in
                                            tree_seekers */
    uint64_t now[MORTISE_SPAWN_AMOUNTS]; /* what it has spent and reserved, by
                                            its own decisions */
    uint64_t landed[MORTISE_SPAWN_AMOUNTS]; /* the same as counted in the
                                               store */
    uint64_t out[MORTISE_SPAWN_AMOUNTS];    /* the part of `now` that may be
                                               released */
    bool waits, stale; /* stale: it must be told, and is pending for that */
};

struct mortise_live { /* a run in memory */
    struct mortise_table_entry entry;
    struct mortise *m;
    char tenant[MORTISE_NAME_MAX + 1], id[MORTISE_NAME_MAX + 1];
    struct mortise_run *run;     /* NULL when it is lost */
    struct mortise_graph *graph; /* a reference */
    struct mortise_topic *topic; /* its watches; NULL: none */
    /* Live events that must wait for an earlier durable event. */
    struct mortise_held_event *held, *last_held;
    uint64_t n_held;            /* ever held */
    struct mortise_timer hurry; /* watch.c: deadline for committing the events
                                   that `held` waits for */
    uint64_t
        n_unreported_missed; /* live events that were missed, to be reported with the
                        next held event */
    uint64_t created_ms;
    char *starter; /* the actor of a new run, until the run is on disk */
    uint64_t written, synced; /* the newest commit that is stored; that is
                                 synced */
    /* The newest synced commit that the run knows. */
    uint64_t told_synced;
    uint64_t told; /* the newest commit whose events the watches have or are
                      being sent */
    /* commits.c: the list `unsynced`; NULL: not in it */
    struct mortise_live *next_unsynced, **link_to_unsynced;
    size_t flying;  /* commits taken and not answered */
    size_t pending; /* queued tasks that use this struct */
    struct mortise_plugin_call *calls;
    struct mortise_stream *streams; /* streams.c: texts that are held back */
    struct mortise_run_timer *timers;
    struct mortise_task landed_task; /* queued when landed_queued */
    bool landed_queued;
    bool
        waits_for_watch; /* a watch is still reading stored events; landed_task follows
                     when all have finished (watch.c) */
    uint64_t told_written; /* the newest stored commit that the run knows */
    struct mortise_order *orders; /* the first was given to the run, unless
                                     order_task is about to do so */
    struct mortise_task order_task;
    struct mortise_live *next_touched;
    struct mortise_tree_member tree;
    bool touched;
    bool checked; /* its plugins match its pins */
    bool lost;
    struct mortise_err why; /* if `lost`: the error */
};

/* May this plugin be called by this operation (of an executor; else NULL)?  For
 * a run that was not `checked` as a whole, for example one that is cancelled
 * while it is blocked.  MORTISE_OK, or as mortise_live_check_run(). */
int mortise_live_check_call(struct mortise_live *live, const char *plugin,
                            const char *op, struct mortise_err *err);

/* The run in memory, or NULL. */
struct mortise_live *mortise_live_find(struct mortise *m, const char *tenant,
                                       const char *run);
/* Give a command to a run after the commands that it has not answered yet;
 * loads the run if necessary.  Flags of the order: MORTISE_NO_CONTINUE,
 * MORTISE_ACCEPT_PLUGINS. */
void mortise_live_send_order(struct mortise *m, const char *tenant,
                             const char *run, struct mortise_order *o);
/* Pause one run the way a stopping engine does: the next engine continues it
 * (pause.c). */
void mortise_pause_one(struct mortise *m, const struct mortise_live *live);
/* Load a run that is neither in memory nor being loaded, and continue it from
 * its head.  The order has `wants` and `done` set. */
void mortise_live_recover(struct mortise *m, const char *tenant,
                          const char *run, struct mortise_order *o);
/* Notify parents and children of each other from now on (children.c). */
void mortise_children_open(struct mortise *m);
/* Keep the budgets of spawn trees from now on (trees.c). */
void mortise_trees_open(struct mortise *m);
/* Does a run with this status and reason continue by itself? */
bool mortise_live_is_recoverable(int status, const char *reason);
/* Is the run in memory, and not lost? */
bool mortise_live_is_in_memory(struct mortise *m, const char *tenant,
                               const char *run);
/* Is the run in memory, or being loaded? */
bool mortise_live_is_loaded_or_loading(struct mortise *m, const char *tenant,
                                       const char *run);
/* Feed one event (not a command) and carry out the run's actions. */
void mortise_live_feed(struct mortise_live *live, struct mortise_input *in);
/* live->graph follows the graph of its run; true: the run was steered to
 * another. */
bool mortise_live_update_graph(struct mortise_live *live);
/* The wall clock was set: rearm the timers that depend on it. */
void mortise_live_rearm_timers(struct mortise *m);
/* Examine the run at the end of the turn: it may be idle, or lost and
 * finished. */
void mortise_live_queue_check(struct mortise_live *live);
/* Drop everything of the run that is not on disk. */
void mortise_live_discard(struct mortise_live *live,
                          const struct mortise_err *why);
void mortise_live_discard_all(struct mortise *m, const struct mortise_err *why);
/* Commits up to `written` are stored, and up to `synced` on disk. */
void mortise_live_set_written(struct mortise_live *live, uint64_t written,
                              uint64_t synced);
/* The watches that delayed the run have read the stored events. */
void mortise_live_continue(struct mortise_live *live);
/* At the end of a turn: drop idle runs. */
void mortise_live_drop_idle(struct mortise *m);

/* ---- stored.c ------------------------------------------------------------ */

/* The part of a head that is kept after the read. */
struct mortise_head_copy {
    uint64_t seq, created_ms, updated_ms;
    int status;
    uint8_t graph[MORTISE_DIGEST];
    char reason[64];
};

/* ---- event_replay.c ------------------------------------------------------ */

struct mortise_event_replay;

/* The reason why a piece ended. */
enum mortise_event_replay_end {
    MORTISE_EVENT_REPLAY_ALL = 1,
    MORTISE_EVENT_REPLAY_FULL,
    MORTISE_EVENT_REPLAY_ENDED /* event() stopped it */
};

struct mortise_event_replay_ops {
    int (*event)(void *ud, json_t *event); /* nonzero: stop */
    bool (*full)(void *ud);                /* it can take no event now */
    /* A piece is over; the replay may be closed here. */
    void (*over)(void *ud, enum mortise_event_replay_end end, int rv,
                 const struct mortise_err *err);
};

/* Replays the durable events of a run from its first.  Takes a reference to the
 * graph. */
int mortise_event_replay_open(struct mortise_event_replay **out,
                              struct mortise *m, const char *tenant,
                              const char *run, struct mortise_graph *g,
                              const struct mortise_event_replay_ops *ops,
                              void *ud, struct mortise_err *err);
/* Replay the next events, of stored checkpoints up to `last`; over() may be
 * called before this returns. */
void mortise_event_replay_continue(struct mortise_event_replay *r,
                                   uint64_t last);
/* The run was steered to this graph, or may have advanced. */
void mortise_event_replay_set_graph(struct mortise_event_replay *r,
                                    struct mortise_graph *g);
/* Continue with another `ud`. */
void mortise_event_replay_set_ud(struct mortise_event_replay *r, void *ud);
/* Number of events read so far. */
uint64_t
mortise_event_replay_count_events(const struct mortise_event_replay *r);
/* NULL is fine. */
void mortise_event_replay_close(struct mortise_event_replay *r);

/* ---- steering.c ---------------------------------------------------------- */

/* Apply the diff to the run's graph; the result must be dropped in any case.
 * MORTISE_ECHECK, MORTISE_EDENIED: there are findings, or the diff is
 * invalid. */
int mortise_steering_make(struct mortise *m, const struct mortise_run *r,
                          const json_t *diff, struct mortise_steering *out,
                          struct mortise_buf *report,
                          struct mortise_buf *findings,
                          struct mortise_err *err);
/* The same with a whole graph, {source, path?}, that replaces the run's. */
int mortise_steering_replace(struct mortise *m, const struct mortise_run *r,
                             const json_t *graph, struct mortise_steering *out,
                             struct mortise_buf *report,
                             struct mortise_buf *findings,
                             struct mortise_err *err);
void mortise_steering_free(struct mortise *m, struct mortise_steering *s);

/* ---- held_events.c ------------------------------------------------------- */

/* Reserve queue space for a live event, and release the same size.  [any] */
bool mortise_event_space_reserve(struct mortise *m, size_t n);
void mortise_event_space_release(struct mortise *m, size_t n);

/* Hold a live event, or the count of n missed ones, until all earlier durable
 * events have been sent. */
void mortise_held_events_add(struct mortise_live *live, const json_t *event);
void mortise_held_events_add_missed(struct mortise_live *live, uint64_t n);
/* The commit that the first held event waits for; and the number of the durable
 * event that it follows, UINT64_MAX: none is held. */
uint64_t mortise_held_events_get_seq(const struct mortise_live *live);
uint64_t mortise_held_events_get_preceding(const struct mortise_live *live);
/* Remove the first: an event, or NULL and the number of missed events. */
json_t *mortise_held_events_take(struct mortise_live *live, uint64_t *id,
                                 uint64_t *missed);
/* Find the next held event, starting at `from` (NULL: the first), with a
 * greater id and before the durable event `seq`; NULL: none.  The copy has a
 * new reference to the event. */
struct mortise_held_event_copy {
    json_t *event; /* NULL: `missed` events were dropped */
    uint64_t id, missed;
};
const struct mortise_held_event *
mortise_held_events_find(const struct mortise_live *live,
                         const struct mortise_held_event *from, uint64_t id,
                         uint64_t seq, struct mortise_held_event_copy *out);
void mortise_held_events_drop(struct mortise_live *live);

/* ---- watch.c ------------------------------------------------------------ */

enum mortise_until {
    MORTISE_UNTIL_CLOSED = 1, /* until mortise_watch_end() */
    MORTISE_UNTIL_NOW,        /* stored events only */
    MORTISE_UNTIL_SYNCED,     /* until commit 1, the admission, is synced */
    MORTISE_UNTIL_IDLE,
    MORTISE_UNTIL_END
};

struct mortise_watch {
    struct mortise *m;
    struct mortise_watch *next, **at; /* of its topic */
    struct mortise_topic *topic;      /* NULL: the watch has ended */
    uint64_t id;
    enum mortise_until until;
    uint64_t after;      /* number of the newest event that it received */
    uint64_t known;      /* the run's newest event when the watch began */
    uint64_t held_after; /* it does not need held events up to this id, or has
                            them */
    /* Its position in the held events. */
    const struct mortise_held_event *held;
    bool behind; /* it reads stored events; live events are missed */
    /* It stays behind at least until the events up to this commit are sent. */
    uint64_t goal;
    /* The store is being read for it: a piece of the events up to `last`, or
     * its run.  `looking` NULL: no read. */
    bool reading;
    uint64_t last;
    struct mortise_watch_read *looking;
    struct mortise_watch_registration
        *adding;    /* mortise_watch_add() has not returned */
    bool beginning; /* its run was not in memory, and is still being read */
    /* The position of that read; NULL: none. */
    struct mortise_event_replay *replay;
    json_t *running; /* `node_start` events of nodes that were running when it
                        began; NULL: none left */
    uint64_t missed, since; /* number of missed live events, since this durable
                               event */
    /* NULL: it needs no events.  The event is borrowed; nonzero ends the
     * watch. */
    int (*event)(struct mortise_watch *w, json_t *event);
    /* Can it take no event now?  Then call mortise_watch_continue() later.  NULL:
     * it takes all. */
    bool (*full)(struct mortise_watch *w);
    /* It reached `until` (err->code MORTISE_OK) or never will; or event() ended
     * it (err NULL).  The watch is over; may free it. */
    void (*done)(struct mortise_watch *w, int status, const char *reason,
                 const struct mortise_err *err);
};

/* `w` is the caller's: zeroed, with until, after, event, full and done set; use
 * it once.  Stored events arrive before this returns, and so does `done` if the
 * watch waits for nothing; if commits are in flight or the store is slow, they
 * arrive soon after.  MORTISE_ENOTFOUND: no such run.  If this fails, the watch
 * never existed; later errors go to `done`. */
int mortise_watch_add(struct mortise *m, struct mortise_watch *w,
                      const char *tenant, const char *run,
                      struct mortise_err *err);
/* End the watch without calling `done`.  Does nothing if the watch has
 * ended. */
void mortise_watch_end(struct mortise *m, struct mortise_watch *w);
struct mortise_watch *mortise_watch_find(struct mortise *m, uint64_t id);
/* The receiver of events can take events again: full() would return false
 * now. */
void mortise_watch_continue(struct mortise *m, struct mortise_watch *w);

/* Notifications from live.c: */
void mortise_live_start_watches(
    struct mortise_live *live);                       /* a run was created */
void mortise_watch_attach(struct mortise_live *live); /* it was loaded */
void mortise_watch_detach(struct mortise_live *live); /* it leaves memory */
/* live->graph was replaced */
void mortise_watch_handle_steered(struct mortise_live *live);
void mortise_watch_publish(struct mortise_live *live, json_t *event);
/* n live events were not even created. */
void mortise_watch_add_missed(struct mortise_live *live, uint64_t n);
/* Commits are stored, and the run has not yet published their events. */
void mortise_watch_handle_written(struct mortise_live *live);
/* Is a watch still reading stored events?  Until it has finished, the run is
 * fed no further event, nothing of it is published, and it stays in memory;
 * then mortise_live_continue() is called. */
bool mortise_watch_must_delay_run(struct mortise_live *live);
/* The run has published the events of the commits up to seq. */
void mortise_watch_handle_published(struct mortise_live *live, uint64_t seq);
void mortise_watch_handle_idle(struct mortise_live *live);
void mortise_watch_handle_lost(struct mortise_live *live,
                               const struct mortise_err *e);
/* Fail all watches that still wait, with the error err. */
void mortise_watch_fail_all(struct mortise *m, const struct mortise_err *err);
/* The store was reopened after an error: the remaining watches continue to
 * read. */
void mortise_watch_handle_reopened(struct mortise *m);
void mortise_watch_close(struct mortise *m); /* ends all watches */

/* ---- commits.c ---------------------------------------------------------- */

int mortise_commits_open(struct mortise *m, struct mortise_err *err);
void mortise_commits_close(struct mortise *m);
/* No commit is in flight any more: sync the commits that were shown before they
 * were synced. */
void mortise_commits_sync_all(struct mortise *m);
/* Detach a run that leaves memory from the commits. */
void mortise_commits_detach_run(struct mortise_live *live);
/* Take a commit out of an action; the next flush hands it over. */
int mortise_commits_take(struct mortise_live *live,
                         struct mortise_run_commit *c, struct mortise_err *err);
void mortise_commits_flush(struct mortise *m);

/* A change of a spawn handle, from its decision to its answer.  A commit owns
 * it from when `flying` is set until landed() gets the result.  MORTISE_OK: it
 * is stored, and on disk before dependent answers are given.
 * MORTISE_ECONFLICT: the stored record had changed since the decision.  Else
 * the result is unknown, or the write was not tried. */
struct mortise_spawn_put {
    struct mortise_spawn_change change;
    bool flying;
    void (*landed)(struct mortise_spawn_put *p, int result);
};

static inline struct mortise_spawn_put *
mortise_spawn_put_from_change(const struct mortise_spawn_change *c)
{
    return (struct mortise_spawn_put *)(uintptr_t)c; /* its first member */
}

/* Write the change in a commit of its own, synced; `tenant` is lent until
 * landed(). */
int mortise_commits_take_spawn(struct mortise *m, const char *tenant,
                               struct mortise_spawn_put *p,
                               struct mortise_err *err);
/* Something waits for the commits that were taken: sync them soon. */
void mortise_commits_request_sync(struct mortise *m);
/* Forget commits of a run that were taken and not handed over. */
void mortise_commits_drop_unflushed(struct mortise_live *live);
/* Handle answers from the store thread. */
void mortise_commits_handle_answers(struct mortise *m);
mortise_writer_done_fn mortise_commits_post_answers; /* [store] */
/* A write failed: it is unknown which data is on disk. */
void mortise_commits_handle_failure(struct mortise *m, int result,
                                    const struct mortise_err *why);
/* A write failed, all runs are dropped and no commit is in flight: reopen the
 * store. */
void mortise_commits_reopen(struct mortise *m);

/* ---- calls.c ------------------------------------------------------------ */

void mortise_calls_init_ops(struct mortise *m,
                            struct mortise_instance_ops *ops);
int mortise_calls_open(struct mortise *m);
void mortise_calls_close(struct mortise *m);
/* Start a plugin before its first call; `name` is from
 * mortise_graph.plugins. */
int mortise_calls_start_plugin(struct mortise *m, const char *name,
                               struct mortise_err *err);
/* Takes the body out of `call`. */
int mortise_calls_begin(struct mortise_live *live,
                        struct mortise_run_call *call, struct mortise_err *err);
void mortise_calls_cancel(struct mortise_live *live, uint64_t run_call);
void mortise_calls_cancel_all(struct mortise_live *live);
/* Cancel the background calls of instances; m->n_background counts those that
 * are left. */
void mortise_calls_cancel_background(struct mortise *m);

/* ---- deadline_timer.c ---------------------------------------------------- */

/* Maximum time between two looks at the deadlines. */
enum { MORTISE_DEADLINES_LOOK_MS = 60000 };
/* A commit of a run has this deadline: the timer must fire by then. */
void mortise_deadlines_add(struct mortise *m, uint64_t deadline_ms);
/* Rearm the timer for at_ms; both times are of the wall clock. */
void mortise_deadlines_arm(struct mortise *m, uint64_t now_ms, uint64_t at_ms);

/* ---- deadlines.c --------------------------------------------------------- */

/* An engine with MORTISE_MODE_SERVER looks for due deadlines from now on. An
 * engine with MORTISE_MODE_TEMPORARY looks for them when
 * mortise_deadlines_check() is called. */
void mortise_deadlines_open(struct mortise *m);
/* Look in the next turn: the wall clock was set, or the engine has received the
 * command that it was opened for.  An engine with MORTISE_MODE_MOMENTARY never
 * looks. */
void mortise_deadlines_check(struct mortise *m);

/* ---- clocks.c ------------------------------------------------------------ */

/* Detect changes of the wall clock.  If the kernel does not support that,
 * deadlines.c notices them later. */
void mortise_clocks_open(struct mortise *m);
void mortise_clocks_close(struct mortise *m);

/* ---- retention.c --------------------------------------------------------- */

int mortise_retention_open(struct mortise *m, struct mortise_err *err);
/* Call it when nothing is in flight any more. */
void mortise_retention_finish(struct mortise *m);
void mortise_retention_close(struct mortise *m);

/* ---- engine.c ----------------------------------------------------------- */

/* Like mortise_open(), with a choice of `holding`.  `settings`: the values of
 * options->deployment and ->store if the caller has read them; they are taken,
 * and `settings` is zeroed.  Zeroed or NULL: they are read here. */
int mortise_engine_open(struct mortise **out,
                        const struct mortise_options *options,
                        enum mortise_engine_mode holding,
                        struct mortise_settings *settings,
                        struct mortise_err *err);

/* MORTISE_OK if the engine can take requests. */
int mortise_engine_check_ready(struct mortise *m, struct mortise_err *err);

#endif
