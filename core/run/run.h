/* run.h -- THE STEP FUNCTION: one run as a value that events change.
 *
 * Pure: no clock, file, thread or randomness inside.  Time comes with each
 * event, ids and jitter come from the seed in the admission, and so does the
 * identity of the store, which is part of every key.  What must happen
 * in the world comes out as actions; whoever carries them out feeds the
 * outcome back as events.
 *
 * A run lives in memory (this struct) and on disk (its checkpoints).  The
 * checkpoints' entries (journal.h) are the run: every change of the struct is
 * the effect of an entry, and replaying them with mortise_run_apply() gives
 * the same struct.
 *
 * A step that fails with MORTISE_ENOMEM or MORTISE_ECORRUPT leaves a run that
 * is good for nothing but mortise_run_free(): load it again from its last
 * commit. Every other error leaves it unchanged.
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

/* The digest of a plugin that a run goes on with (R4), or ("tool:PLUGIN/OPERATION")
 * of the definition of a tool. */
struct mortise_pin {
    const char *plugin;
    uint8_t digest[MORTISE_DIGEST];
    bool dev; /* nobody signed it; of a run: it, or one that it followed */
};

struct mortise_admission {
    const char *tenant, *run;
    struct mortise_uuid store; /* whose it is: part of every key (rules.c) */
    json_t *input; /* borrowed; checked against the graph's schema here */
    const char *actor;
    uint8_t seed[MORTISE_DIGEST]; /* random */
    uint64_t elapsed_ms;          /* as an event has it */
    const struct mortise_pin *pins;
    size_t n_pins;
    const char *order; /* the id under which it was asked for; NULL: none */
    /* Whose child it is, and the change of that handle which its first commit
     * takes along (lent, as of mortise_ask_in); NULL: nobody's. */
    const char *spawned_by;
    const struct mortise_spawn_change *spawn;
};

/* ---- events ---------------------------------------------------------- */

enum mortise_input_kind {
    /* A run that was replayed does nothing by itself until this, or a command
     * without MORTISE_NO_CONTINUE: go on from the head, arm what is pending.
     * Not recorded, unless it ends a pause that an engine made as it stopped; a
     * person's pause it leaves alone.  (An admitted run is going from the
     * start.) */
    MORTISE_IN_RECOVER = 1,
    MORTISE_IN_RESULT,       /* a call ended */
    MORTISE_IN_UNRESPONSIVE, /* a cancelled call did not let go, and never will:
                                u.result has the call and its usage */
    MORTISE_IN_TIMER,        /* a timer that was armed is due */
    MORTISE_IN_SYNCED,       /* commits up to `seq` are on disk */
    MORTISE_IN_COMMAND,
    MORTISE_IN_ASK,    /* the executor of a call asks for something */
    MORTISE_IN_ANSWER, /* what was to be performed was */
    /* Commits up to `seq` are stored, and may be told of; a power cut may still
     * take them.  SYNCED says so, too. */
    MORTISE_IN_WRITTEN,
    /* Somebody is to be told of what was recorded and waits for a later step's
     * commit: commit it now. */
    MORTISE_IN_COMMIT,
    MORTISE_IN_CHILD, /* a child that a step waits for has ended */
    MORTISE_IN_YIELD, /* whoever stays in a call for a child, or a tool, lets go */
    MORTISE_IN_TREE /* what it was told of its tree is another thing now */
};

struct mortise_result_in {
    uint64_t call;
    int32_t status;           /* 0 ok, < 0 error */
    bool violation;           /* of a guardrail check */
    json_t *output;           /* borrowed; NULL: none */
    json_t *said;             /* borrowed: {update?, goto?}; NULL: nothing */
    bool plain;               /* EXECUTE: it gave its output, and neither said
                                nor asked anything besides */
    const uint8_t *cache_key; /* LOOKUP, which found nothing: what the call
                                 gives may be kept under this; NULL: nowhere */
    const char *message;      /* error or reason; "" */
    const char *error_code;  /* what `retry_on` and people see; "" = "failed" */
    const char *error_class; /* transient | permanent | timeout | cancelled */
    bool silent; /* an error that says no more than that it was told to stop,
                    or that its result was lost: whether its effect happened
                    is open */
    uint64_t retry_after_ms;      /* an error: not again before; 0: not said */
    struct mortise_ending ending; /* of an error */
    const struct mortise_usage *usage; /* however it ended; NULL: none */
};

enum mortise_step_kind { /* step.c says what becomes of each */
                         MORTISE_STEP_READ = 1,
                         MORTISE_STEP_LOOK,
                         MORTISE_STEP_EFFECT,
                         MORTISE_STEP_QUESTION, /* body: {prompt, payload,
                                                   schema, assignees, for_ms},
                                                   each of them optional */
                         MORTISE_STEP_TIMER,  /* body: {for_ms} or {until_ms} */
                         MORTISE_STEP_GET,    /* body: {key} */
                         MORTISE_STEP_PUT,    /* body: {key, value?} */
                         MORTISE_STEP_REPEAT, /* an effect that twice is once */
                         MORTISE_STEP_TOOL,   /* body: {tool, arguments} */
                         MORTISE_STEP_INNER,  /* of an entry alone: a QUESTION
                                                 inside an open step */
                         MORTISE_STEP_CHILD   /* body: {handle, child?}, of a
                                                 spawn: its end answers */
};

/* What people say to a run: a struct mortise_command (mortise.h), read. */
struct mortise_run_command {
    uint32_t kind, flags;
    const char *id, *decision, *reason, *digest, *node;
    json_t *value; /* borrowed; NULL: none */
};

/* What a diff, or who approves a plan with edits, makes of a run's graph. */
struct mortise_steering {
    struct mortise_graph *graph;    /* it follows the run's (lang/graph/former.h) */
    json_t *operations;             /* the diff: a list, recorded; else NULL */
    const struct mortise_pin *pins; /* of its plugins */
    size_t n_pins;
};

/* What somebody says in one call: a list of commands. */
struct mortise_said {
    const struct mortise_run_command *list;
    size_t n;
    uint32_t flags; /* MORTISE_NO_CONTINUE */
    /* With it: a plugin is what is in the way, and not who gave the command. */
    bool blocked;
    const char *actor;
    uint64_t patience_ms; /* of a pause, for what writes */
    /* Plugins of the run's that are others now, as they are; whoever gives the
     * command accepts them.  For a run that stands still: nothing is in flight
     * in it. */
    const struct mortise_pin *pins;
    size_t n_pins;
    /* The id that who gave it made for it; NULL: none.  A list that was
     * recorded under it is answered, and not applied again. */
    const char *order;
    /* Of its steer, or of the edited plan that it approves, made by who gives the
     * command; NULL: there is none, or it cannot be made. */
    const struct mortise_steering *steering;
};

/* What a model is asked.  It is not asked where no budget has room for that; what
 * the answer says of `usage` is spent with it. */
struct mortise_model_ask {
    const struct mortise_pin *by; /* the plugin that is the way to it */
    json_t *said; /* {alias, ...}: what is recorded of it, for people */
    /* The most that it uses (enum mortise_used), as far as that is known
     * beforehand; 0: it is not. */
    uint64_t most[MORTISE_USED_N];
};

struct mortise_ask_in {
    uint64_t call;
    uint64_t ask; /* the engine's name for it, not 0 */
    enum mortise_step_kind kind;
    const char *method; /* "http.request/1" */
    const char *key;    /* of the step, where order does not tell; "" */
    const char *alias;  /* TOOL: what a model calls it by; "" */
    json_t *body;       /* borrowed; an object, checked */
    /* A PUT, or a CHILD, that is asked for the first time is not made, but answered
     * with these words; NULL: it is made. */
    const char *refused;
    /* A PUT of a spawn handle, which was decided already: what changes of it,
     * lent until the commit that this step makes has it, and what is answered
     * (borrowed).  NULL, or with an answer NULL: there is nothing to change. */
    const struct mortise_spawn_change *spawn;
    json_t *decided;
    const struct mortise_model_ask *model; /* it asks one; NULL: it does not */
    /* Of a QUESTION, or a CHILD: its asker stays, and is told when it is answered;
     * the engine tells it that it takes longer. */
    bool holds;
    bool inside; /* ... in the middle of a step of its own; then it has a key */
};

/* Calls that stay for something are told that it comes later. */
struct mortise_yield_in {
    uint64_t call;      /* 0: all of them */
    uint64_t ask;       /* of those the one that waits for this; 0: */
    const char *handle; /* who waits for that child; NULL: for any */
    bool tools;         /* who waits for a tool, too */
};

struct mortise_answer_in {
    uint64_t call, ask;
    uint32_t step; /* as the action had it */
    int32_t status;
    json_t *value;     /* borrowed; status 0 only */
    const char *words; /* otherwise */
    bool completed;    /* an effect that need not be done again */
    bool doubtful;     /* whether it happened, nobody knows */
    bool undone;  /* it was stopped before anything of it left: it did not */
    json_t *seen; /* borrowed: {cause, answer?} of that, for people; or NULL */
};

struct mortise_input {
    enum mortise_input_kind kind;
    uint64_t now_ms; /* CLOCK_REALTIME of the event */
    /* Of a clock that is never set, whatever its zero; 0: the wall clock does.
     */
    uint64_t elapsed_ms;
    union {
        struct mortise_result_in result;
        struct mortise_ask_in ask;
        struct mortise_answer_in answer;
        uint64_t timer; /* TIMER */
        uint64_t seq;   /* SYNCED, WRITTEN */
        struct mortise_said command;
        struct {
            const char *handle;
            json_t *end; /* borrowed: what its asker is told */
        } child;
        struct mortise_yield_in yield;
    } u;
};

/* ---- actions --------------------------------------------------------- */

enum mortise_action_kind {
    /* Write this; feed SYNCED back, or WRITTEN, and SYNCED some time later.  At
     * most one a step, always the first. */
    MORTISE_ACT_COMMIT = 1,
    /* Start a call of a plugin.  Whatever had to be on disk before it is. */
    MORTISE_ACT_CALL,
    /* Ask a call to stop; a RESULT still comes, or UNRESPONSIVE. */
    MORTISE_ACT_CANCEL,
    MORTISE_ACT_ARM,    /* a timer; one not disarmed fires once */
    MORTISE_ACT_DISARM, /* a timer that may have fired already */
    /* Tell the watchers (see mortise_run_watch).  Durable events, those with a
     * "seq", are only ever emitted once their commit is stored. */
    MORTISE_ACT_PUBLISH,
    /* The command under way is on disk, or turned out to be impossible once
     * what was in flight had stopped (then nothing was recorded): answer who
     * gave it.  Exactly one for each COMMAND step that returned MORTISE_OK,
     * possibly many steps later. */
    MORTISE_ACT_APPLIED,
    MORTISE_ACT_PERFORM, /* an ask; feed ANSWER back, unless its call ends */
    MORTISE_ACT_REPLY,   /* the answer to an ask, for who asked */
    MORTISE_ACT_SYNC     /* something waits for what was committed: sync it */
};

/* A commit in run/'s words; the engine hands it to store/. */
struct mortise_run_open {
    char id[MORTISE_DIGEST_HEX];
    uint64_t deadline_ms; /* 0: none */
    bool timer;           /* nobody is asked: it is a deadline alone */
    bool again; /* it is open; its payload takes the old one's place */
    json_t *payload;      /* owned by the action; NULL: a timer, or a close */
};

/* What a plugin keeps of its own. */
struct mortise_run_kv {
    const char *plugin;  /* lent by the graph */
    json_t *key, *value; /* owned by the action; value NULL: nothing */
};

/* What a call gave, for the next one like it. */
struct mortise_run_cached {
    uint8_t key[MORTISE_DIGEST]; /* as a LOOKUP's result had it */
    json_t *value;               /* owned by the action */
};

struct mortise_run_commit {
    uint64_t seq; /* of the new checkpoint; expected head seq is seq - 1 */
    bool sync;    /* something waits for it to be on disk (R12) */
    struct mortise_uuid id, parent;
    uint64_t now_ms, first_event;
    uint32_t n_events, step;
    enum mortise_phase phase;
    void *entries;
    size_t size, room;  /* bytes of them; of what was allocated for them */
    int status;         /* enum mortise_run_status, after it */
    const char *reason; /* static */
    uint32_t n_pending;
    bool dev;    /* the run uses, or used, a plugin that nobody signed */
    bool leaves; /* it may leave children behind (flow/left.c) */
    struct mortise_run_open *opens, *closes;
    size_t n_opens, cap_opens, n_closes, cap_closes;
    struct mortise_run_kv *kvs; /* in their order */
    size_t n_kvs, cap_kvs;
    struct mortise_run_cached *cached;
    size_t n_cached, cap_cached;
    /* As asked: lent by who asked, who has them until this is handed over. */
    const struct mortise_spawn_change **spawns;
    size_t n_spawns, cap_spawns;
    struct mortise_spawn_spend spend; /* its origin is lent by the run */
};

enum mortise_run_call_kind {
    MORTISE_RUN_EXECUTE = 1,
    MORTISE_RUN_RECONCILE,
    MORTISE_RUN_CHECK,
    /* No call of a plugin, but of what such calls gave before.  Its RESULT is
     * what was found, with status 0; else EXECUTE follows, or nothing. */
    MORTISE_RUN_LOOKUP,
    /* Of the deployment's discovery and memory, and not of the node's plugin:
     * its RESULT has what discovery.h and memory.h say.  Such a call may be the
     * run's own, and of no execution. */
    MORTISE_RUN_DISCOVER,
    MORTISE_RUN_RECALL,
    MORTISE_RUN_REMEMBER,
    /* An operation that only reads, which is not its node's: what it gives is told
     * in the place of the node's output. */
    MORTISE_RUN_COMPACT,
    /* Likewise; what it gives decides in a person's place. */
    MORTISE_RUN_JUDGE
};

/* Is it of an operation that stands beside its node's? */
static inline bool mortise_call_is_beside(enum mortise_run_call_kind kind)
{
    return kind == MORTISE_RUN_COMPACT || kind == MORTISE_RUN_JUDGE;
}

/* Is what such a call asks part of it, and no step of its node's?  (Like the
 * `checks`, among which it is kept.) */
static inline bool mortise_call_is_aside(enum mortise_run_call_kind kind)
{
    return kind == MORTISE_RUN_CHECK || mortise_call_is_beside(kind);
}

enum { MORTISE_EXEC_PATH = 640 }; /* room for an execution's path */

struct mortise_run_call {
    uint64_t id; /* unique in this struct's life; not durable */
    enum mortise_run_call_kind kind;
    const struct mortise_node *node; /* of the run's own: none of the graph's */
    const char *plugin, *operation;  /* CHECK: plugin is the guardrail's id; "":
                                        the deployment says which */
    enum mortise_guard_stage stage;  /* CHECK */
    bool serves;  /* it is of a tool, which somebody else's step runs */
    bool is_held; /* what it gives passes guardrails that may keep it back,
                            its node's or those of a node around it ... */
    bool is_within_held; /* ... of which there are some */
    bool is_last;        /* CHECK: none of its stage comes behind it */
    uint32_t turn; /* CHECK: which question of its stage it is, from 0; the same
                      after a crash */
    json_t *body;  /* owned by the action */
    uint32_t attempt, visit, generation;
    char key[MORTISE_DIGEST_HEX]; /* idempotency key of a `write` or `external`
                                     execution; else "" */
    uint64_t timeout_ms;          /* 0: none; the run arms it itself */
    bool resumed; /* it let go before, to wait, and was answered */
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
            bool wall;      /* but if the clock is set, at_ms counts */
        } timer;            /* ARM, DISARM */
        json_t *publish;    /* owned */
        struct {
            int result; /* MORTISE_OK or why not */
            struct mortise_err err;
        } applied;
        struct {
            uint64_t ask;
            uint32_t step;
            char key[MORTISE_DIGEST_HEX]; /* of an effect, else "" */
        } perform;
        struct {
            uint64_t ask;
            int32_t status; /* as plugin.h has them */
            json_t *value;  /* owned; a string of words unless status is 0 */
        } reply;
    } u;
};

struct mortise_actions {
    const struct mortise_mem *mem;
    struct mortise_action *list;
    size_t n, cap;
};

/* Give up what a commit owns: for who took one out of its action. */
void mortise_run_commit_finish(const struct mortise_run_commit *c,
                               const struct mortise_mem *mem);

void mortise_actions_init(struct mortise_actions *a,
                          const struct mortise_mem *mem);
void mortise_actions_clear(struct mortise_actions *a); /* keeps the room */
void mortise_actions_finish(struct mortise_actions *a);

/* ---- a run ------------------------------------------------------------ */

/* Admit: a new run and its first actions (the admission's commit, and what may
 * start on it).  MORTISE_EINVAL when the input breaks its schema.  Takes a
 * reference of the graph. */
int mortise_run_admit(struct mortise_run **out, const struct mortise_mem *mem,
                      struct mortise_graph *g,
                      const struct mortise_admission *adm, uint64_t now_ms,
                      struct mortise_actions *actions, struct mortise_err *err);

/* A run to be replayed: then one mortise_run_apply() for each checkpoint, in
 * order; then steps.  `g` is what it is steered to in the end.  `sink` (may be NULL) sees each durable event that the
 * replay expands; it gets a borrowed value and may end the replay by nonzero.
 */
typedef int mortise_run_sink(void *ud, json_t *event);
int mortise_run_replay(struct mortise_run **out, const struct mortise_mem *mem,
                       struct mortise_graph *g, const char *tenant,
                       const char *run, mortise_run_sink *sink, void *ud,
                       struct mortise_err *err);
/* The run may be steered to this one further on: it follows what was known. */
void mortise_run_know(struct mortise_run *r, struct mortise_graph *g);
int mortise_run_apply(struct mortise_run *r, uint64_t seq, uint64_t time_ms,
                      struct mortise_uuid id, const void *entries, size_t size,
                      struct mortise_err *err);

/* One event in, actions out (appended).  See the top for errors. */
int mortise_run_step(struct mortise_run *r, const struct mortise_input *in,
                     struct mortise_actions *actions, struct mortise_err *err);

void mortise_run_free(struct mortise_run *r); /* NULL is fine */

/* Events cost something to make, so they are made only while somebody watches.
 * Returns the number of durable events so far: what PUBLISH brings from now on
 * has a greater seq; the ones up to it are had by replaying the stored
 * checkpoints (once every commit of now is stored: mortise_run_newest()). */
uint64_t mortise_run_watch(struct mortise_run *r, bool on);

/* What a watcher that comes late has missed of the ephemeral: a `node_start`
 * for each call that is out.  A new array; NULL when memory ran out. */
json_t *mortise_run_running(const struct mortise_run *r);

/* What the execution behind a call sees: {input, scratch, artifacts}, a new
 * reference; NULL when the call is not open or memory ran out.  Release it
 * before the next step: what nobody else holds is changed in place. */
json_t *mortise_run_view(struct mortise_run *r, uint64_t call);

/* What was said in the conversation of its node before it: a new list; NULL
 * when memory ran out.  Of a call that is open, and whose node has one. */
json_t *mortise_run_conversation(struct mortise_run *r, uint64_t call);

/* What people told it that it has not heard: a list of messages, for that step,
 * which is out; with its answer, in whose `told` they stand, it has heard them.
 * NULL when memory ran out.  Of a call that is open. */
json_t *mortise_run_hear(struct mortise_run *r, uint64_t call, uint32_t step);
/* Is there something that it has not heard, but for that? */
bool mortise_run_has_news(const struct mortise_run *r, uint64_t call);
/* How many bytes of text would it hear, if it were told now? */
size_t mortise_run_news_size(const struct mortise_run *r, uint64_t call);

/* Is the execution behind a call still hearing what it heard before?  Then what
 * it tells was told before, too. */
bool mortise_run_is_replaying(const struct mortise_run *r, uint64_t call);

/* Is the tool, PLUGIN/OPERATION or graph/NAME, offered to the execution behind a
 * call, by what was discovered for it?  Of a call that is open. */
bool mortise_run_offers(const struct mortise_run *r, uint64_t call,
                        const char *tool);
/* Is any of its node's tools not? */
bool mortise_run_narrows(const struct mortise_run *r, uint64_t call);

/* The handle of the spawn whose child it is, RUN/ID; NULL: it is none. */
const char *mortise_run_spawned_by(const struct mortise_run *r);
/* Did an execution of it claim a handle? */
bool mortise_run_has_children(const struct mortise_run *r);
/* Is it a child, or does it wait for one? */
bool mortise_run_has_family(const struct mortise_run *r);
/* ---- what it spends with others (spend/tree.c) ---- */

/* What the runs of a tree have spent of its origin's budget, as seen by one of
 * them. */
struct mortise_tree_view {
    const char *origin;              /* lent until it is told something else */
    uint64_t most[MORTISE_N_SPENDS]; /* UINT64_MAX: it is not bounded */
    uint64_t others[MORTISE_N_SPENDS]; /* what the others have, or reserved */
    uint64_t out[MORTISE_N_SPENDS]; /* of that, what may come back by itself */
};
/* `known`: it is `v` from now on, copied; NULL: nobody counts it.  Else whatever it
 * needs of that waits. */
void mortise_run_tell_tree(struct mortise_run *r, bool known,
                           const struct mortise_tree_view *v);

/* What it is for the others. */
struct mortise_tree_use {
    const char *origin; /* lent by the run; NULL: it counts for nobody yet */
    uint64_t most[MORTISE_N_SPENDS];
    uint64_t
        used[MORTISE_N_SPENDS];     /* spent, or reserved, and counted or not */
    uint64_t out[MORTISE_N_SPENDS]; /* of that, what may come back by itself */
    bool waits;                     /* for what others give back */
};
/* False: it is in no tree, or has no budget to share. */
bool mortise_run_tree_use(const struct mortise_run *r,
                          struct mortise_tree_use *out);
/* What of it is counted, with the commits made so far. */
void mortise_run_tree_counted(const struct mortise_run *r,
                              uint64_t out[MORTISE_N_SPENDS]);

/* What came of a run that has ended, for that: {output: artifacts} of a completed
 * one, {error} of a failed one; a new reference, or NULL: nothing. */
int mortise_run_end_result(struct mortise_run *r, json_t **out,
                           struct mortise_err *err);
/* Has r given up the execution with this path for good, so that its children are to
 * be cancelled (flow/left.c)?  False while a commit with `leaves` is newer than
 * `written`: ask again when that is written. */
bool mortise_run_has_left(const struct mortise_run *r, const char *path,
                          uint64_t written);
/* Each handle of a spawn for whose child a step waits; lent until fn() returns,
 * which changes nothing of the run. */
void mortise_run_awaited(const struct mortise_run *r,
                         void (*fn)(void *ud, const char *handle), void *ud);

/* Does the command say what the answer was to a step in doubt?  What that had
 * asked then ("http.request/1"), else NULL.  Lent. */
const char *mortise_run_resolved(const struct mortise_run *r,
                                 const struct mortise_run_command *c);

/* Is it cancelled, and its finalisers are yet to come to their end? */
bool mortise_run_is_ending(const struct mortise_run *r);
/* Was it cancelled in the middle of an effect of which nobody knows whether it
 * happened?  Then a `resume` asks. */
bool mortise_run_keeps_doubt(const struct mortise_run *r);

/* Was something recorded under this id: the admission, or a list of commands?
 * NULL: no. */
bool mortise_run_knows_order(const struct mortise_run *r, const char *id);

/* ---- looking at it ---------------------------------------------------- */

/* What the entries of the next commit say of the end of their run: *status, 0
 * at first, becomes that with which it ended, or 0 when it goes on. */
void mortise_run_follow_end(const void *entries, size_t size, uint32_t *status);

/* The graph that it goes by now; lent. */
struct mortise_graph *mortise_run_graph(const struct mortise_run *r);
/* The graph, {source, path?}, with which c approves the plan that the run waits for;
 * NULL: it does no such thing. */
const json_t *mortise_run_edited_plan(const struct mortise_run *r,
                                      const struct mortise_run_command *c);
/* May it be steered to this graph, which follows that; or (NULL) at all?  Says why
 * not. */
int mortise_run_may_steer(const struct mortise_run *r,
                          const struct mortise_graph *to,
                          struct mortise_err *err);
/* Has the node begun, or ended, that is there (NODE, or TEAM/.../NODE, by their
 * ids)?  In words, static, that follow its name; NULL: not yet, or there is none.
 */
const char *mortise_run_begun(const struct mortise_run *r, const char *path);
int mortise_run_status(const struct mortise_run *r);
const char *mortise_run_reason(const struct mortise_run *r); /* static */
uint64_t mortise_run_seq(const struct mortise_run *r);
/* The commit that has what happened last: one more, if that is yet to come. */
uint64_t mortise_run_newest(const struct mortise_run *r);
uint64_t mortise_run_events(const struct mortise_run *r); /* durable, so far */
/* Has a run of that status ended? */
static inline bool mortise_run_has_ended(int status)
{
    return mortise_status_has_ended(status);
}
bool mortise_run_is_finished(const struct mortise_run *r);
/* A run that was replayed, and is not going, was left so: why it stands still
 * where nobody paused it is in its head alone. */
void mortise_run_left(struct mortise_run *r, int status, const char *reason);
/* Does it go on by itself?  One that was replayed does not yet, and does not
 * know how it was left. */
bool mortise_run_is_going(const struct mortise_run *r);
/* Nothing is in flight (no call, no unsynced commit, no command under way) and
 * nothing will happen without a command or a deadline. */
bool mortise_run_is_idle(const struct mortise_run *r);
const struct mortise_pin *mortise_run_pins(const struct mortise_run *r,
                                           size_t *n);
/* docs/json.md: {run, tenant, graph, status, reason, state, nodes, pending,
 * error ...}; a new reference, NULL when memory ran out.  Where r was replayed,
 * `now` is the same run at work, which may be ahead of what is stored: its calls
 * are the status of the executions that r has; NULL: it is not in memory. */
json_t *mortise_run_show(const struct mortise_run *r,
                         const struct mortise_run *now);
/* What one checkpoint's entries say, for `history`: an array of objects.  The
 * run has applied them, and maybe later ones, too. */
json_t *mortise_run_describe(const struct mortise_run *r, const void *entries,
                             size_t size);

#endif
