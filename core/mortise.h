/* mortise.h -- the embedding API: durable agent graphs in your own program.
 *
 * An engine (struct mortise) opens one store, loads graphs, runs them and
 * applies commands.  This header is also the vocabulary of the whole core
 * (result codes, the error struct, the memory door), so it includes nothing
 * of ours and everything of ours may include it.
 *
 * Threads    An engine belongs to the thread that opened it; every function
 *            taking a `struct mortise *` is [loop]: call it from that thread
 *            alone.  Inside an event callback only mortise_free() and
 *            mortise_unsubscribe() may be called; what else comes from there
 *            is refused, mortise_close() with a word to `log`.  Several engines
 *            may live in one process, each with its own thread and store.
 * Loop       The engine does nothing by itself: mortise_poll() turns it, in a
 *            loop of your own or beside yours (mortise_fd()).  Its own store
 *            thread and workers call nothing of yours but `log` and `mem`.
 * Ownership  What you pass in is copied before the call returns.  A `char *`
 *            result is yours: give it to mortise_free().
 * Errors     0 or a negative enum mortise_result; the words go into the
 *            caller's struct mortise_err, or nowhere when that is NULL; a
 *            call that succeeds leaves it as it was.
 * ABI        Structs that you fill start with `size` = sizeof of the struct
 *            you compiled with, and only ever grow at the end.  A flag that
 *            this version does not know is MORTISE_EINVAL.
 * Process    The library is a guest: it installs no signal handler, never
 *            exits, prints only through `log`, changes no locale, mask,
 *            directory or environment that outlives a call, and raises no
 *            SIGPIPE.  (A program under `ulimit -f` ignores SIGXFSZ, or a
 *            write beyond it ends the process; ignored, it is as a disk
 *            that is full.)  Its threads take no signals (the store's one may take
 *            what the opener's thread takes).  Its descriptors are
 *            closed by exec; after a fork() the child must not use an engine
 *            of the parent's, not even close it, and should exec or _exit.
 *            It reads the environment (a deployment's `${env:...}`, the
 *            usual proxy variables, SSL_CERT_FILE and SSL_CERT_DIR) only in
 *            mortise_open().
 */
#ifndef MORTISE_H
#define MORTISE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: MAJOR.MINOR.PATCH, as text and as a number, e.g.
 *     #if MORTISE_VERSION_NUMBER >= MORTISE_VERSION_OF(0, 2, 0) */
#define MORTISE_VERSION       "0.1.0"
#define MORTISE_VERSION_MAJOR 0
#define MORTISE_VERSION_MINOR 1
#define MORTISE_VERSION_PATCH 0
#define MORTISE_VERSION_OF(major, minor, patch)                                \
    ((major)*1000000 + (minor)*1000 + (patch))
#define MORTISE_VERSION_NUMBER                                                 \
    MORTISE_VERSION_OF(MORTISE_VERSION_MAJOR, MORTISE_VERSION_MINOR,           \
                       MORTISE_VERSION_PATCH)

#if defined(__GNUC__)
#define MORTISE_API           __attribute__((visibility("default")))
#define MORTISE_PRINTF(f, va) __attribute__((format(printf, f, va)))
#else
#define MORTISE_API
#define MORTISE_PRINTF(f, va)
#endif

/* Results.  Few, each something that a caller would act upon. */
enum mortise_result {
    MORTISE_OK = 0,
    MORTISE_ENOMEM = -1,         /* out of memory */
    MORTISE_EIO = -2,            /* the disk or the system said no */
    MORTISE_EINVAL = -3,         /* input that breaks its rules */
    MORTISE_ENOTFOUND = -4,      /* no such run, checkpoint, file */
    MORTISE_ECHECK = -5,         /* a file has findings; they were reported */
    MORTISE_ECONFIG = -6,        /* the deployment cannot work as written */
    MORTISE_EFORMAT = -7,        /* of a format that we do not read */
    MORTISE_ECORRUPT = -8,       /* the store contradicts itself */
    MORTISE_EBUSY = -9,          /* another process holds the store */
    MORTISE_EDENIED = -10,       /* trust, permission or actor refuses */
    MORTISE_ECONFLICT = -11,     /* somebody else moved the run first */
    MORTISE_EEXISTS = -12,       /* a run of that id exists */
    MORTISE_EUNKNOWN_NODE = -13, /* goto to a node that is not there */
    MORTISE_EMISMATCH = -14,     /* a decision that fits no pending request */
    MORTISE_EDECISION = -15,     /* a decision that is none */
    MORTISE_EINDOUBT = -16,      /* an effect's outcome must be resolved; of a
                                    run that has ended, after a resume */
    MORTISE_EBLOCKED = -17,      /* a plugin is missing, changed or deadly */
    MORTISE_EUNAVAILABLE = -18,  /* exists in the design, not in this build */
    MORTISE_EDETERMINISM = -19,  /* a replay asked for something else */
    MORTISE_ELIMIT = -20,        /* a bound was passed; no descriptor left */
    MORTISE_ESTATE = -21,        /* not in this state of the object */
    MORTISE_ENOSPC = -22,        /* the disk is full */
    /* Of spawn handles. */
    MORTISE_ESTALE_TOKEN = -23,        /* it was claimed again since */
    MORTISE_EALREADY_SETTLED = -24,    /* ... with another value */
    MORTISE_ENOT_RUNNING = -25,        /* no child is registered */
    MORTISE_EALREADY_REGISTERED = -26, /* ... another child */
    MORTISE_ESTALE_ATTEMPT = -27 /* its child makes another attempt by now */
};

/* The MORTISE_VERSION of the library that runs, which may be a later one than the
 * header's.  Static.  [any] */
MORTISE_API const char *mortise_version(void);

/* "E_NOT_FOUND" for MORTISE_ENOTFOUND and so on; "E_UNKNOWN" for others.
 * Static.  [any] */
MORTISE_API const char *mortise_result_name(int result);

/* Words for a failure; caller-owned and of fixed size, so that running out of
 * memory can be reported and no thread sees another's message. */
struct mortise_err {
    int code;       /* enum mortise_result */
    char msg[1020]; /* NUL-terminated UTF-8, one or more lines, no final \n */
};

/* The memory door: Lua's single function.  new_size 0 frees and returns NULL;
 * ptr NULL allocates.  Must be callable from any thread. */
struct mortise_mem {
    void *(*realloc)(void *ud, void *ptr, size_t old_size, size_t new_size);
    void *ud;
};

enum mortise_log_level {
    MORTISE_LOG_ERROR = 1,
    MORTISE_LOG_WARN = 2,
    MORTISE_LOG_INFO = 3,
    MORTISE_LOG_DEBUG = 4
};

/* [any]: also from workers and the store thread. */
typedef void mortise_log_fn(void *ud, int level, const char *msg);

/* ---- engine ---------------------------------------------------------- */

struct mortise;       /* an engine: one store, its runs and plugins */
struct mortise_graph; /* a checked graph, immutable */

/* For mortise_options.flags. */
enum mortise_open_flag {
    /* Nobody named `deployment`: the program found it, beside a graph or in the
     * working directory.  MORTISE_EDENIED then if it says what code runs or who
     * gets secrets, and `mortise config allow` was never told that it may. */
    MORTISE_OPEN_FOUND = 1 << 0,
    /* Plugins and trust may be older than what was seen before: going back is
     * meant, and remembered. */
    MORTISE_OPEN_ALLOW_DOWNGRADE = 1 << 1,
    /* Listen on the store's control socket while it is open, so that `mortise
     * approve`, `inbox` and others of this user work beside this program
     * (docs/control.md).  Without it they hear that the store is busy. */
    MORTISE_OPEN_LISTEN = 1 << 2
};

struct mortise_options {
    uint32_t size;
    uint32_t flags;                /* of enum mortise_open_flag; 0: none */
    const char *deployment;        /* path of a Deployment file; NULL: none */
    const char *store;             /* overrides store.path; NULL: as deployed */
    const struct mortise_mem *mem; /* NULL: the C heap; lent, outlives all */
    mortise_log_fn *log;           /* NULL: silent */
    void *log_ud;
};

/* Open the store (made if missing, mode 0700) and read the plugins' manifests.
 * MORTISE_EBUSY names the pid that holds the store.  Runs that a crash
 * interrupted stay as they are until a command resumes them. */
MORTISE_API int mortise_open(struct mortise **out,
                             const struct mortise_options *options,
                             struct mortise_err *err);

/* Stop: cancel and await what is in flight (10 s at most), close the store.
 * Runs stay resumable.  NULL is fine. */
MORTISE_API void mortise_close(struct mortise *m);

/* Turn the loop: handle what is ready, wait up to timeout_ms for something if
 * nothing is (-1: without bound, 0: do not wait).  Returns 1 while runs are
 * live, 0 when none is.  Negative: a write to the store failed.  Runs that were
 * live then are dropped, as nobody knows what of them is on disk; every waiting
 * call was told.  Told once when the store could be opened again (resume the
 * runs), and from then on always when it could not (close the engine). */
MORTISE_API int mortise_poll(struct mortise *m, int timeout_ms,
                             struct mortise_err *err);

/* For a loop of your own, epoll or any other.  mortise_fd() is readable when
 * the engine has something to do; it stays the same, and is the engine's.  Wait
 * for it no longer than mortise_timeout() says: milliseconds, 0 when there is
 * work already, -1 without bound.  Then call mortise_poll(m, 0).  Every call
 * of this API may change the timeout, so ask for it right before you wait. */
MORTISE_API int mortise_fd(struct mortise *m);
MORTISE_API int mortise_timeout(struct mortise *m);

/* Free a `char *` that this API returned.  [any] */
MORTISE_API void mortise_free(struct mortise *m, char *text);

/* ---- graphs and runs ------------------------------------------------- */

/* Read, check and compile one graph file: the very function that `mortise
 * check` runs.  On MORTISE_ECHECK, and MORTISE_EDENIED where trust refuses a
 * plugin of it, `*report` (may be NULL) gets the findings as text in the format
 * of the command line; warnings come with MORTISE_OK. */
MORTISE_API int mortise_load(struct mortise *m, const char *path,
                             struct mortise_graph **out, char **report,
                             struct mortise_err *err);
/* Runs keep what they need of a graph; NULL is fine.  Before mortise_close().
 */
MORTISE_API void mortise_graph_close(struct mortise_graph *g);

/* One event, as JSON text (NUL-terminated, `len` without it), lent until you
 * return.  Return nonzero to end the subscription. */
typedef int mortise_event_fn(void *ud, const char *json, size_t len);

struct mortise_start_options {
    uint32_t size;
    uint32_t flags;     /* 0 */
    const char *tenant; /* NULL: "default" */
    const char *run;    /* id, [A-Za-z0-9._][A-Za-z0-9._-]{0,127}; NULL: a new
                           UUIDv7 */
    const char *input;  /* JSON text; NULL: {} */
    const char *actor;  /* who starts it, for the record; NULL: this uid */
    /* A subscription as mortise_events() makes with FOLLOW, from the very first
     * event on, live ones too.  Events may come before mortise_start() returns.
     * A `size` that ends before this is fine. */
    mortise_event_fn *event; /* NULL: none */
    void *event_ud;
    uint64_t *event_id; /* gets what mortise_unsubscribe() takes; NULL: unused;
                           0 when the start fails */
};

#define MORTISE_RUN_MAX 129 /* a run id with its NUL */

/* Admit a run.  Returns, and fills run_id, only after its admission is on
 * disk (R3); the run proceeds as the loop turns. */
MORTISE_API int mortise_start(struct mortise *m, struct mortise_graph *g,
                              const struct mortise_start_options *start,
                              char run_id[MORTISE_RUN_MAX],
                              struct mortise_err *err);

/* Commands.  The list is open: later versions add kinds. */
enum mortise_command_kind {
    MORTISE_CMD_RESUME = 1,       /* go on from the head as it stands; of a run
                                     that has failed, what failed is tried again;
                                     of one that has completed or was cancelled
                                     nothing runs, but what is in doubt of it is
                                     asked (MORTISE_OK; a GOTO goes on) */
    MORTISE_CMD_UPDATE = 2,       /* json: {scratch?, artifacts?} */
    MORTISE_CMD_GOTO = 3,         /* node: replaces the whole frontier */
    MORTISE_CMD_APPROVE_TOOL = 4, /* id, decision approve | reject, reason,
                                     json: edited args, digest */
    MORTISE_CMD_ANSWER = 5,       /* id, json: the answer */
    MORTISE_CMD_RESOLVE = 6,      /* id; decision done | retry | fail, json: the
                                     result for done; done again, with a RESUME,
                                     corrects that of a step */
    MORTISE_CMD_CANCEL = 7,       /* reason; the run has ended, then, and goes
                                     on by a GOTO alone */
    MORTISE_CMD_PAUSE = 8,        /* reason: calls that only read are cancelled,
                                     effects are awaited (10 s at most, then
                                     cancelled), and the run stands still until
                                     RESUME, or an UPDATE or GOTO that goes on;
                                     what is decided meanwhile is recorded */
    MORTISE_CMD_LIMIT = 9,        /* json: {steps?: N, visits?: N}, each beyond
                                     what holds now: a run that a limit paused
                                     goes on */
    MORTISE_CMD_BUDGET = 10,      /* json: {tool_calls?, wall?, model_calls?,
                                     input_tokens?, output_tokens?, tokens?,
                                     usd?: N or "+N"}, each beyond what holds
                                     now, wall in ms, usd a decimal of dollars
                                     (counted in whole nano-dollars): what
                                     waits for it goes on; node: the path of
                                     the subgraph whose budget it is, NULL: the
                                     run's */
    MORTISE_CMD_TELL = 11,        /* json: a text of at most 1 MiB, that a model
                                     hears with its next turn, as a message of
                                     the user's; node: whose, NULL: whichever
                                     asks one next */
    MORTISE_CMD_STEER = 12        /* json: a diff of the run's graph, a list of
                                     operations, or {source, path?}: the text of
                                     one (docs/steering.md).  What has not
                                     begun is from then on as it says; all of it
                                     holds, or MORTISE_ECHECK, with the findings
                                     as words */
};

#define MORTISE_CMD_MERGE    1u /* UPDATE through the reducers, not replacing */
#define MORTISE_CMD_FORCE    2u /* GOTO past interrupt_before */
#define MORTISE_CMD_SHUTDOWN 4u /* PAUSE until `mortise engine` is started */

struct mortise_command {
    uint32_t size;
    uint32_t kind;        /* enum mortise_command_kind */
    uint32_t flags;       /* MORTISE_CMD_... of its kind; others are refused */
    const char *id;       /* of the pending request, whole: a decision holds for
                             what was asked under it and for nothing else */
    const char *decision; /* see the kinds */
    const char *reason;
    const char *digest; /* of what is approved; NULL: not compared */
    const char *json;
    const char *node;
};

/* Record the commands, run nothing: the run stands still until it is resumed, or
 * something more is decided about it. */
#define MORTISE_NO_CONTINUE 1u
/* Go on with plugins, and definitions of MCP tools, that changed.  It is recorded:
 * later commands need not say so again.  Calls of them that wait for approval are
 * asked about again. */
#define MORTISE_ACCEPT_PLUGINS 2u

/* Apply commands to a run as one, in the order decisions, update, goto,
 * continue; all are validated before anything is recorded.  A decision about a
 * request that is settled gives MORTISE_EMISMATCH, and the words say how and by
 * whom; PAUSE or CANCEL of a run that has ended, MORTISE_ESTATE.  UPDATE and GOTO
 * cancel what is in flight first; where that is in the middle of an effect which
 * may not be done twice, they are MORTISE_EINDOUBT, and nothing is stopped.
 * Decisions alone are recorded also where a plugin of the run is missing, has
 * changed or is refused (but edited arguments, which it has to check): nothing
 * runs then, mortise_show() says why, and the run goes on when the plugin is
 * back, with the next engine that stays or with RESUME; all else is
 * MORTISE_EBLOCKED or MORTISE_EDENIED there.  Returns after their commit is on
 * disk.  tenant NULL: "default"; actor NULL: this uid. */
MORTISE_API int mortise_apply(struct mortise *m, const char *tenant,
                              const char *run,
                              const struct mortise_command *commands,
                              size_t n_commands, uint32_t flags,
                              const char *actor, struct mortise_err *err);

enum mortise_run_status {
    MORTISE_RUN_ACCEPTED = 1,
    MORTISE_RUN_RUNNING = 2,
    MORTISE_RUN_WAITING = 3, /* for a person or a timer */
    MORTISE_RUN_PAUSED = 4,
    MORTISE_RUN_IN_DOUBT = 5,
    MORTISE_RUN_BLOCKED = 6, /* as shown: its plugins are missing, changed, or
                                took the process down */
    MORTISE_RUN_COMPLETED = 7,
    MORTISE_RUN_FAILED = 8,
    MORTISE_RUN_CANCELLED = 9
};

/* "waiting" and so on; static.  [any] */
MORTISE_API const char *mortise_run_status_name(int status);

/* Turn the loop until nothing of the run is left to do without a person (it
 * ended, waits, is paused or in doubt); `*status` says which. */
MORTISE_API int mortise_wait(struct mortise *m, const char *tenant,
                             const char *run, int *status,
                             struct mortise_err *err);

/* ---- spawn handles --------------------------------------------------- */

/* For who brings children of their own to a run: a session, a process, a job
 * somewhere else.  A handle is a durable record of one call of the run that makes
 * a child.  Claim it, make the child, register it, tell it what to do, settle
 * the handle with what came of it.  Who is interrupted anywhere in between claims
 * again, under the same names, and is told how far it was; so no child is lost,
 * and none is made twice.
 *
 * Threads    [loop], as all functions of an engine; other processes get
 *            MORTISE_EBUSY from mortise_open().  Plugins have the same of their
 *            host, `spawn.claim/1` and so on (<mortise/ask.h>).
 * Durable    Each returns after what it did is on disk, with the counters of
 *            `limits.spawn`, in one batch: after a crash it was done, or not.
 * Tokens     A claim of a handle that is open makes its token another one.  Who
 *            comes with an older one gets MORTISE_ESTALE_TOKEN, whatever it wants:
 *            somebody else has taken over.
 * Ends       When the run ends, handles of it that are open are abandoned, unless
 *            they are detached. */

enum mortise_spawn_outcome {
    MORTISE_SPAWN_CLAIMED = 1, /* there was none: it is made */
    /* It was claimed, and no child registered: make it, or find it. */
    MORTISE_SPAWN_CLAIMED_PENDING_CHILD = 2,
    /* A child is registered, and the handle open: go on with it.  It needs its
     * instructions only where `state` says that it has not got them. */
    MORTISE_SPAWN_ALREADY_RUNNING = 3,
    /* It is over; nothing is left to do but to read how it ended. */
    MORTISE_SPAWN_ALREADY_SETTLED = 4
};

/* It only ever grows. */
enum mortise_spawn_state {
    MORTISE_SPAWN_PENDING = 1,    /* claimed; no child is known */
    MORTISE_SPAWN_CREATED = 2,    /* a child is registered */
    MORTISE_SPAWN_DISPATCHED = 3, /* the child has its instructions */
    MORTISE_SPAWN_RUNNING = 4,    /* it works */
    MORTISE_SPAWN_SETTLED = 5,
    MORTISE_SPAWN_ABANDONED = 6 /* nobody will settle it any more */
};

/* How it ended. */
enum mortise_spawn_status {
    MORTISE_SPAWN_UNENDED = 0,
    MORTISE_SPAWN_COMPLETED = 1,
    MORTISE_SPAWN_FAILED = 2,
    MORTISE_SPAWN_CANCELLED = 3,
    MORTISE_SPAWN_TIMED_OUT = 4,
    MORTISE_SPAWN_MAX_ITERATIONS = 5,
    MORTISE_SPAWN_BUDGET = 6,
    MORTISE_SPAWN_GIVEN_UP = 7 /* "abandoned", the status of that state */
};

/* "claimed", "pending", "completed" and so on; static.  NULL: there is none of
 * that number.  [any] */
MORTISE_API const char *mortise_spawn_outcome_name(int outcome);
MORTISE_API const char *mortise_spawn_state_name(int state);
MORTISE_API const char *mortise_spawn_status_name(int status);

#define MORTISE_SPAWN_HANDLE_MAX 162 /* with its NUL */
#define MORTISE_SPAWN_TEXT_MAX   129 /* of a token, of a child's id */

/* The handle outlives its run, and counts as detached. */
#define MORTISE_SPAWN_DETACHED 1u

/* What is claimed: which call of which execution of which run, and what for.  The
 * first four say which handle it is; the same with another name, task or
 * lifetime is MORTISE_EDETERMINISM.  Texts are UTF-8 of 128 bytes at most and
 * without control characters, `execution` of 639. */
struct mortise_spawn_claim {
    uint32_t size;
    uint32_t flags;        /* MORTISE_SPAWN_DETACHED, or 0 */
    const char *tenant;    /* NULL: "default" */
    const char *run;       /* that is here and has not ended */
    const char *execution; /* "1.0/node#1" of its events; NULL: none */
    const char *call;      /* unique in the execution, the same in a replay */
    const char *name;      /* for people */
    const char *task;      /* JSON; NULL: null.  A digest of it is kept */
    const char *token;     /* to be the handle's; NULL: one is made */
};

/* Filled in; the `char *` is yours. */
struct mortise_spawn_claimed {
    uint32_t size;
    uint32_t outcome;         /* enum mortise_spawn_outcome */
    uint32_t state;           /* enum mortise_spawn_state */
    uint32_t terminal_status; /* enum mortise_spawn_status */
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    char token[MORTISE_SPAWN_TEXT_MAX]; /* ALREADY_SETTLED: "" */
    char child[MORTISE_SPAWN_TEXT_MAX]; /* "": none is registered */
    char *terminal_result;              /* JSON; NULL: none.  mortise_free() */
};

/* MORTISE_ENOTFOUND: there is no such run.  MORTISE_ESTATE: it has ended.
 * MORTISE_ELIMIT: one more would pass a cap of `limits.spawn`, which the words
 * name; nothing is made.  MORTISE_EDETERMINISM.  On any error `out` has zeros
 * behind its size. */
MORTISE_API int mortise_try_claim_spawn(struct mortise *m,
                                        const struct mortise_spawn_claim *claim,
                                        struct mortise_spawn_claimed *out,
                                        struct mortise_err *err);

/* The child is there: its id, as of MORTISE_SPAWN_TEXT_MAX.  Again with the same
 * one is fine.  MORTISE_ENOTFOUND: no such handle.  MORTISE_ESTALE_TOKEN.
 * MORTISE_EALREADY_REGISTERED: the handle has another child, or the child
 * another handle.  MORTISE_EALREADY_SETTLED: it was abandoned. */
MORTISE_API int
mortise_register_child_session(struct mortise *m, const char *tenant,
                               const char *handle, const char *token,
                               const char *child, struct mortise_err *err);

/* The child came to `state`, DISPATCHED or RUNNING; one that is further stays as
 * it is.  MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN, MORTISE_EALREADY_SETTLED;
 * MORTISE_ENOT_RUNNING: no child is registered. */
MORTISE_API int mortise_advance_spawn(struct mortise *m, const char *tenant,
                                      const char *handle, const char *token,
                                      int state, struct mortise_err *err);

/* It ended: `status`, and what came of it, JSON of 1 MiB at most (NULL: none).
 * Again with the same two is fine; with others it is MORTISE_EALREADY_SETTLED.
 * MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN; MORTISE_ENOT_RUNNING: no child is
 * registered. */
MORTISE_API int mortise_settle_spawn(struct mortise *m, const char *tenant,
                                     const char *handle, const char *token,
                                     int status, const char *result,
                                     struct mortise_err *err);

/* ---- reading --------------------------------------------------------- */

/* JSON text each; docs/json.md (installed below share/doc/mortise) names the
 * members.  `after` NULL: from the start; else the cursor that the previous
 * page returned as "next". */
MORTISE_API int mortise_runs(struct mortise *m, const char *tenant,
                             const char *after, size_t limit, char **json,
                             struct mortise_err *err);
MORTISE_API int mortise_inbox(struct mortise *m, const char *tenant,
                              const char *after, size_t limit, char **json,
                              struct mortise_err *err);
MORTISE_API int mortise_show(struct mortise *m, const char *tenant,
                             const char *run, char **json,
                             struct mortise_err *err);
MORTISE_API int mortise_history(struct mortise *m, const char *tenant,
                                const char *run, char **json,
                                struct mortise_err *err);

#define MORTISE_EVENTS_FOLLOW 1u /* go on with live ones */

/* Events of one run with seq > after, oldest first, delivered before the call
 * returns; with FOLLOW later ones too, from mortise_poll(), each after the
 * commit that carries it.  Live events (those without `seq`) that happen from
 * now on come in their place among them; what nobody was subscribed to is not
 * kept.  Where too many are on their way at once (64 MiB of them), a `missed`
 * event says how many were left out.  *id (may be NULL) names the subscription.
 */
MORTISE_API int mortise_events(struct mortise *m, const char *tenant,
                               const char *run, uint64_t after, uint32_t flags,
                               mortise_event_fn *fn, void *ud, uint64_t *id,
                               struct mortise_err *err);
/* No event comes to it any more.  An id that is over is fine. */
MORTISE_API void mortise_unsubscribe(struct mortise *m, uint64_t id);

#ifdef __cplusplus
}
#endif
#endif
