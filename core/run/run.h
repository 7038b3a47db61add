/* run.h -- THE STEP FUNCTION: a run is a value, and each event is a step that
 * changes it and returns actions.
 *
 * Pure: it uses no clock, file, thread or random source.  The time comes with
 * each event.  Ids and jitter derive from the seed in the admission; the
 * identity of the store comes with the admission, too, and is part of every
 * key.  Effects outside are returned as actions; the caller carries them out
 * and feeds the outcome back as events.
 *
 * A run exists in memory (this struct) and on disk (its checkpoints).  The
 * entries of the checkpoints (journal.h) define the run: every change of the
 * struct is the effect of an entry, and a replay with mortise_run_apply()
 * rebuilds the same struct.
 *
 * After a step that failed with MORTISE_ENOMEM or MORTISE_ECORRUPT, only
 * mortise_run_free() may be called: load the run again from its last commit.
 * Every other error leaves the run unchanged.
 *
 * One thread at a time; [loop] in the engine. */
#ifndef MORTISE_RUN_RUN_H
#define MORTISE_RUN_RUN_H

#include "core/base/id.h"
#include "core/base/phase.h"
#include "core/model/graph.h"
#include "core/json/ending.h"
#include "core/json/usage.h"
#include "core/spawn/spawn.h"

struct mortise_run;

/* The digest of a plugin that the run is pinned to (R4), or
 * ("tool:PLUGIN/OPERATION") of the definition of a tool. */
struct mortise_pin {
    const char *plugin;
    uint8_t digest[MORTISE_DIGEST];
    bool dev; /* unsigned; in a run: it, or a plugin that it replaced */
};

struct mortise_admission {
    const char *tenant, *run;
    struct mortise_uuid store; /* the store that admits it: part of every key
                                  (rules.c) */
    json_t *input; /* borrowed; checked against the graph's schema here */
    const char *actor;
    uint8_t seed[MORTISE_DIGEST]; /* random */
    uint64_t elapsed_ms;          /* as in struct mortise_input */
    const struct mortise_pin *pins;
    size_t n_pins;
    const char *order; /* the client's id for the request; NULL: none */
    /* For a child: its spawn handle, and the change of the handle for its first
     * commit (borrowed, as in mortise_ask_in); NULL: no child. */
    const char *spawned_by;
    const struct mortise_spawn_change *spawn;
};

/* ---- events ---------------------------------------------------------- */

enum mortise_input_kind {
    /* A replayed run does nothing by itself until this event, or a command
     * without MORTISE_NO_CONTINUE: continue from the head, arm what is pending.
     * Not recorded, unless it ends a pause that an engine made at its shutdown;
     * it does not end a person's pause.  (An admitted run is live at once.) */
    MORTISE_IN_RECOVER = 1,
    MORTISE_IN_RESULT,       /* a call ended */
    MORTISE_IN_UNRESPONSIVE, /* a cancelled call did not return and is
                                abandoned: u.result has the call and its
                                usage */
    MORTISE_IN_TIMER,        /* an armed timer is due */
    MORTISE_IN_SYNCED,       /* commits up to `seq` are synced to disk */
    MORTISE_IN_COMMAND,
    MORTISE_IN_ASK,    /* the executor of a call asks for something */
    MORTISE_IN_ANSWER, /* an action PERFORM was carried out */
    /* Commits up to `seq` are stored, and their events may be published; a
     * power failure may still lose them.  SYNCED implies it. */
    MORTISE_IN_WRITTEN,
    /* Commit the recorded entries now, instead of with a later step: somebody
     * needs their events. */
    MORTISE_IN_COMMIT,
    MORTISE_IN_CHILD, /* a child that a step waits for has ended */
    MORTISE_IN_YIELD, /* a call that stays for a child or a tool must suspend */
    MORTISE_IN_TREE /* mortise_run_set_tree_view() changed the view of its tree */
};

struct mortise_result_in {
    uint64_t call;
    int32_t status;           /* 0 ok, < 0 error */
    bool violation;           /* of a guardrail check */
    json_t *output;           /* borrowed; NULL: none */
    json_t *said;             /* borrowed: {update?, goto?}; NULL: none */
    bool plain;               /* EXECUTE: the call returned its output, and
                                 emitted and asked nothing else */
    const uint8_t *cache_key; /* LOOKUP that found nothing: the key under which
                                 the output of the call may be cached; NULL: do
                                 not cache it */
    const char *message;      /* error or reason; "" */
    const char *error_code;   /* the code for `retry_on` and for people; "" =
                                 "failed" */
    const char *error_class; /* transient | permanent | timeout | cancelled */
    bool silent; /* an error that only shows that the call was stopped, or its
                    result lost: it is unknown whether its effect happened */
    uint64_t retry_after_ms;      /* an error: earliest time of a retry; 0: none
                                     given */
    struct mortise_exit_info ending;   /* of an error */
    const struct mortise_usage *usage; /* however the call ended; NULL: none */
};

enum mortise_step_kind { /* step.c describes each kind */
                         MORTISE_STEP_READ = 1,
                         MORTISE_STEP_CHEAP_READ,
                         MORTISE_STEP_EFFECT,
                         MORTISE_STEP_QUESTION, /* body: {prompt, payload,
                                                   schema, assignees, for_ms},
                                                   each optional */
                         MORTISE_STEP_TIMER,  /* body: {for_ms} or {until_ms} */
                         MORTISE_STEP_GET,    /* body: {key} */
                         MORTISE_STEP_PUT,    /* body: {key, value?} */
                         MORTISE_STEP_REPEAT, /* an effect that may be
                                                 repeated */
                         MORTISE_STEP_TOOL,   /* body: {tool, arguments} */
                         MORTISE_STEP_INNER,  /* only in entries: a QUESTION
                                                 inside an open step */
                         MORTISE_STEP_CHILD   /* body: {handle, child?} of a
                                                 spawn: answered when the child
                                                 ends */
};

/* A command: a decoded struct mortise_command (mortise.h). */
struct mortise_run_command {
    uint32_t kind, flags;
    const char *id, *decision, *reason, *digest, *node;
    json_t *value; /* borrowed; NULL: none */
};

/* A new graph for a run, made by a diff or by a plan that was approved with
 * edits. */
struct mortise_steering {
    struct mortise_graph *graph;    /* it succeeds the run's graph
                                       (core/model/former.h) */
    json_t *operations;             /* the recorded list of the diff; otherwise
                                       NULL */
    const struct mortise_pin *pins; /* of its plugins */
    size_t n_pins;
};

/* The commands of one request. */
struct mortise_command_list {
    const struct mortise_run_command *list;
    size_t n;
    uint32_t flags; /* MORTISE_NO_CONTINUE */
    /* With MORTISE_NO_CONTINUE: a plugin is the reason, not a wish of the
     * client. */
    bool blocked;
    const char *actor;
    uint64_t patience_ms; /* of a pause, for calls that write */
    /* Changed plugins of the run, with their current digests; the client
     * accepts them.  Only for a run with nothing in flight. */
    const struct mortise_pin *pins;
    size_t n_pins;
    /* The client's id for the request; NULL: none.  A list that is already
     * recorded under the id is answered, not applied again. */
    const char *order;
    /* For a steer, or the approval of an edited plan: the new graph, made by
     * the client; NULL: none, or it cannot be made. */
    const struct mortise_steering *steering;
};

/* An ask of a model.  It is not made if it does not fit into a budget; the
 * `usage` of its answer is spent. */
struct mortise_model_ask {
    const struct mortise_pin *by; /* the plugin that connects to the model */
    json_t *said; /* {alias, ...}: the recorded description, for people */
    /* The most that it uses (enum mortise_usage_amount), if known in advance; 0:
     * unknown. */
    uint64_t most[MORTISE_USED_N];
};

struct mortise_ask_in {
    uint64_t call;
    uint64_t ask; /* the engine's id for it, not 0 */
    enum mortise_step_kind kind;
    const char *method; /* "http.request/1" */
    const char *key;    /* key of the step; "": it is named by its ordinal */
    const char *alias;  /* TOOL: the model's id for the tool call; "" */
    json_t *body;       /* borrowed; an object, checked */
    /* A PUT or CHILD that is asked for the first time is answered with this
     * error message instead of being made; NULL: it is made. */
    const char *refused;
    /* A PUT of a spawn handle, already decided: the change of the handle
     * (borrowed until the commit of this step contains it) and the answer
     * (borrowed).  NULL, or with an answer NULL: no change. */
    const struct mortise_spawn_change *spawn;
    json_t *decided;
    const struct mortise_model_ask *model; /* it asks a model; NULL: it does
                                              not */
    /* A QUESTION or a CHILD: its asker stays, and receives the answer; the
     * engine informs it of the wait. */
    bool holds;
    bool inside; /* the request is made inside a step, and so has its key */
};

/* Calls that stay for an answer must suspend. */
struct mortise_yield_in {
    uint64_t call;      /* 0: all calls */
    uint64_t ask;       /* only the call that waits for this ask; 0: any */
    const char *handle; /* calls that wait for this child; NULL: any */
    bool tools;         /* calls that wait for a tool, too */
};

struct mortise_answer_in {
    uint64_t call, ask;
    uint32_t step; /* from the action */
    int32_t status;
    json_t *value;     /* borrowed; status 0 only */
    const char *words; /* error message, for another status */
    bool completed;    /* an effect that happened and need not be repeated */
    bool doubtful;     /* an effect in doubt: it may or may not have happened */
    bool undone;       /* it was stopped before any of it was sent: it did not
                          happen */
    json_t *seen;      /* borrowed: {cause, answer?}, evidence about a doubt; or
                          NULL */
};

struct mortise_input {
    enum mortise_input_kind kind;
    uint64_t now_ms; /* CLOCK_REALTIME of the event */
    /* A monotonic clock with any zero; 0: use the wall clock. */
    uint64_t elapsed_ms;
    union {
        struct mortise_result_in result;
        struct mortise_ask_in ask;
        struct mortise_answer_in answer;
        uint64_t timer; /* TIMER */
        uint64_t seq;   /* SYNCED, WRITTEN */
        struct mortise_command_list command;
        struct {
            const char *handle;
            json_t *end; /* borrowed: the answer for the asker */
        } child;
        struct mortise_yield_in yield;
    } u;
};

/* ---- actions --------------------------------------------------------- */

enum mortise_action_kind {
    /* Write this; feed back SYNCED, or WRITTEN and later SYNCED.  At most one
     * in a step, always the first action. */
    MORTISE_ACT_COMMIT = 1,
    /* Start a call of a plugin.  Everything that it depends on is synced. */
    MORTISE_ACT_CALL,
    /* Ask a call to stop; a RESULT or UNRESPONSIVE still follows. */
    MORTISE_ACT_CANCEL,
    MORTISE_ACT_ARM,    /* a timer; it fires once unless it is disarmed */
    MORTISE_ACT_DISARM, /* a timer that may have fired already */
    /* Send an event to the watchers (see mortise_run_watch).  Durable events,
     * those with a "seq", are only emitted after their commit is stored. */
    MORTISE_ACT_PUBLISH,
    /* Answer the command: it is synced; or, after calls in flight had stopped,
     * it turned out to be impossible (then nothing was recorded).  Exactly one
     * for each COMMAND step that returned MORTISE_OK, possibly many steps
     * later. */
    MORTISE_ACT_APPLIED,
    MORTISE_ACT_PERFORM, /* an ask; feed back ANSWER, unless its call ends */
    MORTISE_ACT_REPLY,   /* the answer to an ask, for its asker */
    MORTISE_ACT_SYNC     /* sync the last commit: something waits for it */
};

/* A commit in terms of run/; the engine passes it to store/. */
struct mortise_run_open {
    char id[MORTISE_DIGEST_HEX];
    uint64_t deadline_ms; /* 0: none */
    bool timer;           /* no request, only a deadline */
    bool again;           /* the request is open: replace its payload */
    json_t *payload;      /* owned by the action; NULL: a timer, or a close */
};

/* A value in a plugin's own key-value store. */
struct mortise_run_kv {
    const char *plugin;  /* borrowed from the graph */
    json_t *key, *value; /* owned by the action; value NULL: remove the key */
};

/* The output of a call, for the cache. */
struct mortise_run_cached {
    uint8_t key[MORTISE_DIGEST]; /* from the result of LOOKUP */
    json_t *value;               /* owned by the action */
};

struct mortise_run_commit {
    uint64_t seq; /* of the new checkpoint; the expected head is seq - 1 */
    bool sync;    /* something waits for its sync (R12) */
    struct mortise_uuid id, parent;
    uint64_t now_ms, first_event;
    uint32_t n_events, step;
    enum mortise_phase phase;
    void *entries;
    size_t size, room;  /* bytes of `entries`; bytes allocated for them */
    int status;         /* enum mortise_run_status, after the commit */
    const char *reason; /* static */
    uint32_t n_pending;
    bool dev;    /* the run uses, or used, an unsigned plugin */
    bool leaves; /* it may abandon children (flow/left.c) */
    struct mortise_run_open *opens, *closes;
    size_t n_opens, cap_opens, n_closes, cap_closes;
    struct mortise_run_kv *kvs; /* in order of application */
    size_t n_kvs, cap_kvs;
    struct mortise_run_cached *cached;
    size_t n_cached, cap_cached;
    /* Borrowed from the asker until the commit is taken. */
    const struct mortise_spawn_change **spawns;
    size_t n_spawns, cap_spawns;
    struct mortise_spawn_budget_change
        spend; /* its origin is borrowed from the run */
};

enum mortise_run_call_kind {
    MORTISE_RUN_EXECUTE = 1,
    MORTISE_RUN_RECONCILE,
    MORTISE_RUN_CHECK,
    /* Not a call of a plugin: look up the output of an earlier call in the
     * cache.  RESULT has the output and status 0 if one is found; otherwise
     * EXECUTE follows, or nothing. */
    MORTISE_RUN_LOOKUP,
    /* Calls of the deployment's discovery and memory, not of the node's plugin.
     * Their RESULT is described in discovery.h and memory.h.  They may be calls
     * of the run itself, without an execution. */
    MORTISE_RUN_DISCOVER,
    MORTISE_RUN_RECALL,
    MORTISE_RUN_REMEMBER,
    /* A reading operation of another plugin shortens the output for the node's
     * successors. */
    MORTISE_RUN_COMPACT,
    /* The same; its output decides instead of a person. */
    MORTISE_RUN_JUDGE
};

/* Is it a call of an operation other than its node's? */
static inline bool mortise_call_is_helper(enum mortise_run_call_kind kind)
{
    return kind == MORTISE_RUN_COMPACT || kind == MORTISE_RUN_JUDGE;
}

/* Is it a check, a compaction or a judgement?  The steps of such a call are
 * recorded in `checks`. */
static inline bool
mortise_call_is_check_or_helper(enum mortise_run_call_kind kind)
{
    return kind == MORTISE_RUN_CHECK || mortise_call_is_helper(kind);
}

enum { MORTISE_EXEC_PATH = 640 }; /* size of a buffer for an execution's path */

struct mortise_run_call {
    uint64_t id; /* unique for this struct; not durable */
    enum mortise_run_call_kind kind;
    const struct mortise_node *node; /* for the run's own calls, a node
                                        outside the graph */
    const char *plugin, *operation;  /* CHECK: plugin is the guardrail's id; "":
                                        the deployment decides */
    enum mortise_guard_stage stage;  /* CHECK */
    bool serves;                     /* it is the call of a tool */
    bool is_held; /* guardrails may block its output: those of its node or of a
                     node around it, */
    bool is_within_held; /* ... a node around it has such guardrails */
    bool is_last;        /* CHECK: the last of its stage */
    uint32_t turn; /* CHECK: number of the check in its stage, from 0; the same
                      after a crash */
    json_t *body;  /* owned by the action */
    uint32_t attempt, visit, generation;
    char key[MORTISE_DIGEST_HEX]; /* idempotency key of a `write` or `external`
                                     execution; otherwise "" */
    uint64_t timeout_ms;          /* 0: none; the run arms the timer itself */
    bool resumed;                 /* it suspended before and was answered */
    char path[MORTISE_EXEC_PATH]; /* "1.0/node#1" */
};

struct mortise_action {
    enum mortise_action_kind kind;
    union {
        struct mortise_run_commit commit;
        struct mortise_run_call call;
        uint64_t cancel; /* call id */
        struct {
            uint64_t id, at_ms;
            uint64_t in_ms; /* from now on, */
            bool wall;      /* but if the clock is adjusted, at_ms counts */
        } timer;            /* ARM, DISARM */
        json_t *publish;    /* owned */
        struct {
            int result; /* MORTISE_OK or the error */
            struct mortise_err err;
        } applied;
        struct {
            uint64_t ask;
            uint32_t step;
            char key[MORTISE_DIGEST_HEX]; /* of an effect, otherwise "" */
        } perform;
        struct {
            uint64_t ask;
            int32_t status; /* as in plugin.h */
            json_t *value;  /* owned; an error message unless status is 0 */
        } reply;
    } u;
};

struct mortise_actions {
    const struct mortise_mem *mem;
    struct mortise_action *list;
    size_t n, cap;
};

/* Release the contents of a commit that was taken out of its action. */
void mortise_run_commit_finish(const struct mortise_run_commit *c,
                               const struct mortise_mem *mem);

void mortise_actions_init(struct mortise_actions *a,
                          const struct mortise_mem *mem);
/* Keeps the memory of the list. */
void mortise_actions_clear(struct mortise_actions *a);
void mortise_actions_finish(struct mortise_actions *a);

/* ---- a run ------------------------------------------------------------ */

/* Admit: a new run and its first actions (the commit of the admission, and the
 * calls that may start).  MORTISE_EINVAL when the input violates its schema.
 * Takes a reference of the graph. */
int mortise_run_admit(struct mortise_run **out, const struct mortise_mem *mem,
                      struct mortise_graph *g,
                      const struct mortise_admission *adm, uint64_t now_ms,
                      struct mortise_actions *actions, struct mortise_err *err);

/* Make a run to be replayed: call mortise_run_apply() for each checkpoint, in
 * order; then steps are possible.  `g` is the last graph that the run was
 * steered to.  `sink` (may be NULL) gets each durable event of the replay, as a
 * borrowed value, and ends the replay by returning nonzero. */
typedef int mortise_run_sink(void *ud, json_t *event);
int mortise_run_replay(struct mortise_run **out, const struct mortise_mem *mem,
                       struct mortise_graph *g, const char *tenant,
                       const char *run, mortise_run_sink *sink, void *ud,
                       struct mortise_err *err);
/* The run may be steered to this graph later; it succeeds the newest known
 * graph. */
void mortise_run_add_next_graph(struct mortise_run *r, struct mortise_graph *g);
int mortise_run_apply(struct mortise_run *r, uint64_t seq, uint64_t time_ms,
                      struct mortise_uuid id, const void *entries, size_t size,
                      struct mortise_err *err);

/* Take in one event and append the actions.  See the top for errors. */
int mortise_run_step(struct mortise_run *r, const struct mortise_input *in,
                     struct mortise_actions *actions, struct mortise_err *err);

void mortise_run_free(struct mortise_run *r); /* NULL is fine */

/* Building events has a cost, so they are built only while somebody watches.
 * Returns the number of durable events so far: later PUBLISH actions have a
 * greater seq; replay the stored checkpoints for the events up to it (once all
 * current commits are stored: mortise_run_get_newest_seq()). */
uint64_t mortise_run_watch(struct mortise_run *r, bool on);

/* Ephemeral events for a new watcher: a `node_start` for each call in flight.
 * A new array; NULL when memory ran out. */
json_t *mortise_run_list_running(const struct mortise_run *r);

/* The state as the execution of a call sees it: {input, scratch, artifacts}, a
 * new reference; NULL when the call is not open or memory ran out.  Release it
 * before the next step, which changes values in place if they have no other
 * reference. */
json_t *mortise_run_get_state_view(struct mortise_run *r, uint64_t call);

/* The earlier messages in the conversation of the call's node: a new list; NULL
 * when memory ran out.  The call must be open and its node have a
 * conversation. */
json_t *mortise_run_get_conversation(struct mortise_run *r, uint64_t call);

/* Messages from people that the call's execution has not received: a list, to
 * be sent with that step, which is in flight.  They are received when the step
 * is answered and its `told` lists them.  NULL when memory ran out.  The call
 * must be open. */
json_t *mortise_run_take_messages(struct mortise_run *r, uint64_t call,
                                  uint32_t step);
/* Is there a message that it has not received, and that no other call in flight
 * carries? */
bool mortise_run_has_messages(const struct mortise_run *r, uint64_t call);
/* The bytes of text of those messages. */
size_t mortise_run_messages_size(const struct mortise_run *r, uint64_t call);

/* Does the execution of a call still replay its journal?  Then its emitted
 * events were emitted before, too. */
bool mortise_run_is_replaying(const struct mortise_run *r, uint64_t call);

/* Does discovery allow the tool, PLUGIN/OPERATION or graph/NAME, for the
 * execution of an open call? */
bool mortise_run_is_tool_offered(const struct mortise_run *r, uint64_t call,
                                 const char *tool);
/* Does discovery exclude any tools of its node? */
bool mortise_run_has_excluded_tools(const struct mortise_run *r, uint64_t call);

/* The spawn handle of a child run, RUN/ID; NULL: the run is no child. */
const char *mortise_run_get_spawn_handle(const struct mortise_run *r);
/* Did an execution of the run claim a spawn handle? */
bool mortise_run_has_children(const struct mortise_run *r);
/* Is the run a child, or does it have children or wait for children? */
bool mortise_run_has_family(const struct mortise_run *r);
/* ---- the shared budget of a spawn tree (spend/tree.c) ---- */

/* The amounts that the runs of a tree have spent of its origin's budget, as
 * seen by one of them. */
struct mortise_tree_view {
    const char *origin;                /* borrowed until the next view */
    uint64_t most[MORTISE_N_SPENDS];   /* UINT64_MAX: no limit */
    uint64_t others[MORTISE_N_SPENDS]; /* spent or reserved by the others */
    uint64_t out[MORTISE_N_SPENDS];    /* the part of it that may be released by
                                          itself */
};
/* Set the view of the tree, which is copied; NULL: there is no tree.  If not
 * `known`, everything that depends on the view waits. */
void mortise_run_set_tree_view(struct mortise_run *r, bool known,
                               const struct mortise_tree_view *v);

/* The amounts of this run for the others. */
struct mortise_tree_use {
    const char *origin; /* borrowed from the run; NULL: not in the tree yet */
    uint64_t most[MORTISE_N_SPENDS];
    /* Spent or reserved, counted by the tree or not. */
    uint64_t used[MORTISE_N_SPENDS];
    uint64_t out[MORTISE_N_SPENDS]; /* the part of it that may be released by
                                       itself */
    bool waits;                     /* for releases by others */
};
/* False: it is in no tree, or its graph has no budget to share. */
bool mortise_run_get_tree_use(const struct mortise_run *r,
                              struct mortise_tree_use *out);
/* The amounts that the tree counts for it, with the commits made so far. */
void mortise_run_get_tree_counted(const struct mortise_run *r,
                                  uint64_t out[MORTISE_N_SPENDS]);

/* The result of an ended child run, for its handle: {output: artifacts} if it
 * completed, {error} if it failed; a new reference, or NULL: none. */
int mortise_run_get_end_result(struct mortise_run *r, json_t **out,
                               struct mortise_err *err);
/* Has r finally given up the execution with this path, so that its children
 * must be cancelled (flow/left.c)?  False while a commit with `leaves` is newer
 * than `written`: ask again after that commit is written. */
bool mortise_run_has_abandoned(const struct mortise_run *r, const char *path,
                               uint64_t written);
/* Call fn() for each spawn handle whose child a step waits for.  The handle is
 * borrowed until fn() returns; fn() must not change the run. */
void mortise_run_for_each_awaited(const struct mortise_run *r,
                                  void (*fn)(void *ud, const char *handle),
                                  void *ud);

/* Does the command give the answer of a step in doubt, or correct it?  The
 * method of the step ("http.request/1"), otherwise NULL.  Borrowed. */
const char *
mortise_run_get_resolved_method(const struct mortise_run *r,
                                const struct mortise_run_command *c);

/* Is the run cancelled, with finalizers that have not ended? */
bool mortise_run_is_ending(const struct mortise_run *r);
/* Was the run cancelled with an effect in doubt?  Then a `resume` asks a person
 * about that effect. */
bool mortise_run_has_kept_doubt(const struct mortise_run *r);

/* Is the admission or a list of commands recorded under this id?  NULL: no. */
bool mortise_run_has_order(const struct mortise_run *r, const char *id);

/* ---- queries ---------------------------------------------------------- */

/* Follow the status over the entries of the next commit: *status, 0 at first,
 * becomes the status that the run ended with, or 0 when it continues. */
void mortise_run_update_end_status(const void *entries, size_t size,
                                   uint32_t *status);

/* The current graph; borrowed. */
struct mortise_graph *mortise_run_graph(const struct mortise_run *r);
/* The edited graph, {source, path?}, with which c approves the pending plan;
 * NULL: c does not do that. */
const json_t *mortise_run_get_edited_plan(const struct mortise_run *r,
                                          const struct mortise_run_command *c);
/* Can the run be steered to this graph, the successor of its own, or (NULL) at
 * all?  `err` has the reason if not. */
int mortise_run_check_steer(const struct mortise_run *r,
                            const struct mortise_graph *to,
                            struct mortise_err *err);
/* Has the node at this path (NODE, or TEAM/.../NODE, by their ids) started or
 * ended?  A static phrase to follow its name; NULL: not yet, or no such
 * node. */
const char *mortise_run_get_node_progress(const struct mortise_run *r,
                                          const char *path);
int mortise_run_status(const struct mortise_run *r);
/* A static string. */
const char *mortise_run_reason(const struct mortise_run *r);
uint64_t mortise_run_seq(const struct mortise_run *r);
/* The commit that contains the newest events: the next one, if they are not
 * committed yet. */
uint64_t mortise_run_get_newest_seq(const struct mortise_run *r);
/* The number of durable events so far. */
uint64_t mortise_run_count_events(const struct mortise_run *r);
/* Has a run with that status ended? */
static inline bool mortise_run_has_ended(int status)
{
    return mortise_status_has_ended(status);
}
bool mortise_run_is_finished(const struct mortise_run *r);
/* Set the stored status of a replayed run that is not live: if the run is
 * blocked but not paused by a person, only its head has the reason. */
void mortise_run_set_stored_status(struct mortise_run *r, int status,
                                   const char *reason);
/* Does the run continue by itself?  False after a replay until the run is
 * resumed, and while it is paused. */
bool mortise_run_is_live(const struct mortise_run *r);
/* Nothing is in flight (no call, no unsynced commit, no pending command), and
 * nothing will happen without a command or a deadline. */
bool mortise_run_is_idle(const struct mortise_run *r);
const struct mortise_pin *mortise_run_pins(const struct mortise_run *r,
                                           size_t *n);
/* docs/json.md: {run, tenant, graph, status, reason, state, nodes, pending,
 * error ...}; a new reference, NULL when memory ran out.  If r was replayed,
 * `now` is the live run, which may be ahead of the stored one: its calls
 * determine the status of the executions in r; NULL: it is not in memory. */
json_t *mortise_run_show(const struct mortise_run *r,
                         const struct mortise_run *now);
/* The entries of one checkpoint, for `history`: an array of objects.  The run
 * must have applied them, and may have applied later ones. */
json_t *mortise_run_describe_entries(const struct mortise_run *r,
                                     const void *entries, size_t size);

#endif
