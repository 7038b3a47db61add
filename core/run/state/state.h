/* state.h -- the state of a run as one struct, and what keeps its parts in step:
 * executions, frames, what is pending, the views that it is folded to.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_STATE_H
#define MORTISE_RUN_STATE_H

#include <assert.h>

#include "core/base/real.h"
#include "core/base/table.h"
#include "core/run/record/journal.h"
#include "core/run/run.h"
#include "core/run/state/apply.h"
#include "core/run/state/fold.h"

enum {
    REQUEST_ID = 33,  /* 32 hex digits and a NUL */
    STEPS_MAX = 65536 /* of one generation */
};

enum exec_state {
    X_READY = 1, /* activated; waits for a free slot */
    X_ASKED,     /* its request is pending */
    X_INTENT,    /* its intent, or what it may spend, is recorded; its call not
                    yet allowed */
    X_INSIDE,    /* a subgraph's: its child is at work */
    X_RUNNING,   /* a call is out */
    X_STOPPING,  /* a call is out, and was asked to stop */
    X_SUSPENDED, /* it let go, until a step of its is answered */
    X_BACKOFF,   /* an attempt failed; the next waits for its time */
    X_HELD,      /* done; interrupt_after holds its edges back */
    X_DONE,      /* it is over, from here on */
    X_FAILED,
    X_CANCELLED
};

enum stop_why {
    STOP_NONE,
    STOP_TIMEOUT,
    STOP_BROKE,  /* it asked for something else than before */
    STOP_BUDGET, /* its graph's wall clock ran out */
    STOP_COMMAND,
    STOP_RACE,
    STOP_RUN,
    STOP_STUCK /* it was asked to stop, and does not let go */
};

/* Why an execution is not to come to its end (race.c). */
enum loss {
    LOSS_NONE,
    LOSS_RACE,   /* another branch was first at the join that it leads to */
    LOSS_END,    /* its graph reached END, and that is enough */
    LOSS_FAIL,   /* something failed, and that is enough, too */
    LOSS_TIME,   /* its graph took too long */
    LOSS_BUDGET, /* its graph spent too much */
    LOSS_OUTER,  /* the execution that it is in was stopped */
    LOSS_CANCEL  /* it had ended, and asks what its effect came to */
};

/* Indexes of executions, say, in an order. */
struct indexes {
    uint32_t *list;
    size_t n, cap;
};

/* The node of the execution that an `update` is, and of one that was withdrawn. */
#define NODE_UPDATE 0xFFFFFFFDu

/* ---- the journal inside an execution (step.c) ---- */

enum step_state {
    STEP_OUT = 1, /* being performed; nothing of it is recorded */
    STEP_OPEN,    /* its intent is recorded, its answer is not */
    STEP_PENDING, /* somebody is asked */
    STEP_ANSWERED
};

struct heard { /* an answer that leaves it open whether the effect happened */
    int32_t status;
    json_t *value;  /* or words */
    json_t *seen;   /* {cause, answer?}, for people; NULL: nothing */
    uint32_t after; /* so many asks came before it */
};

struct step { /* one ask; `key` and `method` lie behind it */
    size_t size;
    uint32_t index, ordinal;
    const char *key, *method;
    uint8_t digest[MORTISE_DIGEST]; /* of its arguments */
    enum mortise_step_kind kind;    /* 0: of no further consequence */
    enum step_state state;
    json_t *payload; /* OPEN: its arguments; PENDING: the request */

    struct mortise_hashed by_name;

    bool has_effect;                /* EFFECT, and all this is set: */
    uint8_t effect[MORTISE_DIGEST]; /* its idempotency key */
    /* In r->effects: the first of equal effects. */
    struct mortise_hashed like_it;
    uint64_t n_like_it; /* how many equal it, itself included */
    bool cleared; /* OPEN, and a person said that it is to be done again */

    char request[REQUEST_ID];
    bool inside; /* part of another step: in no order with others */
    uint64_t deadline_ms;
    uint64_t lasts_ms; /* a wait of so and so long; 0: until a time of day */
    uint64_t ends_ms;  /* of the former, by steady_ms; 0: not known yet */

    int32_t status;
    json_t *answer; /* or words */
    uint32_t after; /* so many asks came before the answer */
    bool completed; /* an effect that was done */
    uint32_t exec;  /* TOOL, OPEN: what runs it */
    bool of_model;  /* live only: a model is asked; */
    bool spends;    /* ... and its answer's `usage` is spent */

    /* Live only. */
    struct heard *heard; /* OPEN: of what became of it; NULL: nothing */
    uint64_t ask;        /* what waits for the answer; 0: nothing */
    bool made;           /* EFFECT: the host was told to, since its intent */
    uint32_t entrance;   /* in which it was asked last */
    uint32_t settled;    /* the entrance in which it was answered */
    bool later;          /* TOOL: its asker was told to wait, in that */
    uint64_t seq;        /* the commit that its answer waits for */
};

struct journal {
    struct step **steps; /* in the order in which they were first asked */
    size_t n, cap;
    size_t n_inside; /* of those recorded, parts of others */
    struct mortise_table by_name;
    struct mortise_table effects; /* those that are like no earlier one */
    struct indexes answers;       /* of steps, in the order of the answers */
    uint32_t recorded;            /* steps of which anything is */
    bool has_reply;               /* of a model */

    /* Of the entrance under way. */
    uint32_t entrance;
    uint32_t issued, next; /* asks so far; the next ordinal */
    size_t told;           /* answers handed back */
    bool leaves;           /* it was told to wait: it asks nothing more */
    /* What its steps' keys begin with: "" of an executor's, else which check it
     * is (step.c (9)). */
    char scope[MORTISE_DIGEST_HEX];
};

struct step_wait { /* a step whose commit is not on disk yet */
    uint64_t seq;
    uint32_t exec, step;
    bool of_check; /* in the journal of checks */
};

/* What an execution's calls of models cost (usage.c). */
struct cost {
    struct mortise_usage all; /* of all its attempts */
    /* What its call says once more, going on after its journal. */
    struct mortise_usage again;
    bool warned; /* that it used more than it had reserved */
};

/* What an execution's call may spend, at most (budget.c). */
struct hold {
    uint64_t amount[MORTISE_N_SPENDS];
    bool open;     /* reserved, not settled */
    bool uncalled; /* live only: ... and on disk, but it was not called */
    bool goes_on;  /* it let go: to enter it again is the same call */
    uint32_t asks; /* of models, that are out: `amount` is what they use */
    /* Live only: what an ask of a model found no room for, which the next call
     * is to have; zeroes: nothing. */
    uint64_t wants[MORTISE_N_SPENDS];
};

/* What people told the run (inbox.c). */
struct told {
    json_t *text;
    const char *node; /* whose models are to hear it; "": any */
    /* Live only: the step that is out with it; exec 0: none was. */
    uint32_t exec, step;
};

/* What a graph may spend. */
struct purse {
    uint64_t most[MORTISE_N_SPENDS]; /* UINT64_MAX: it is not bounded */
    uint64_t spent[MORTISE_N_SPENDS], held[MORTISE_N_SPENDS];
    /* Of the run's, in a tree: what other runs have spent or reserved of it, as
     * was recorded; of that what may come back (tree.c; live only). */
    uint64_t others[MORTISE_N_SPENDS], out[MORTISE_N_SPENDS];
    bool warned[MORTISE_N_SPENDS]; /* said that it is low */
    bool told[MORTISE_N_SPENDS];   /* said that it was exceeded */
    enum mortise_spend exceeded;   /* the last of those */
    bool led;                      /* on_exceeded: {goto} was followed */
};

/* With whom a run spends its budget (spend/tree.c). */
struct tree {
    const char *origin;                 /* NULL: it counts for nobody yet */
    uint64_t counted[MORTISE_N_SPENDS]; /* of what it has, as was recorded */
    struct mortise_spawn_spend spend;   /* of the next commit; live only */
    bool known, is_open;                /* live only: it was told; of `told` */
    struct mortise_tree_view told;
};

enum done_how { /* how an output came about; journaled */
                DONE_EXECUTED = 0,
                DONE_RECONCILED = 1,
                DONE_RESOLVED = 2,
                DONE_ANSWERED = 3,
                DONE_ON_ERROR = 4,
                DONE_RECORDED = 5,
                DONE_CACHED = 6
};

/* What an execution's call gives may be kept (cache.c).  Live only. */
struct fresh {
    bool open; /* its call may give something: to be kept under `key` */
    uint8_t key[MORTISE_DIGEST];
    json_t *output; /* NULL: it has given nothing that may */
};

/* How an execution ended before it was asked about its effect once more. */
struct end {
    enum exec_state state; /* 0: it was not */
    enum loss loss;
    uint64_t ended_ms;
};

enum mortise_lookup { /* journaled */
#define LOOKUP(ID, name, family) MORTISE_LOOKUP_##ID,
#include "core/run/record/lookups.def"
                      MORTISE_LOOKUPS
};

/* One execution: node#visit.  Lives in the run's arena; its JSON references
 * are given up by mortise_run_free().
 *
 * "By FILE:" says which file alone writes the fields up to the next such mark;
 * scripts/writers.sh proves it.  Who else has to change one calls that file. */
struct exec {
    /* By state/exec.c: its place, as it is made, and what several entries say
     * alike. */
    uint32_t index, node, visit, generation, attempt;
    enum exec_state state;
    struct frame *frame;
    struct exec *sibling; /* made before it in its frame */
    uint64_t started_ms, ended_ms;
    json_t *error;            /* {code, message} */
    json_t *sought;           /* what its discovery edges found, a list */
    json_t *trace;            /* what its output becomes in the memory */
    json_t *leaving;          /* its output, judged on the edges it takes: */
    uint32_t *chosen, *taken; /* those, the first ones twice (leaving.c) */
    uint32_t n_chosen, n_taken;
    uint64_t intent_seq;
    bool counted;      /* as a step */
    bool is_recorded;  /* so that it counts after a crash, too */
    bool handled;      /* a failure that on_error or a goto led elsewhere */
    bool effect_open;  /* an effect between intent and answer (runtime.md 6) */
    bool near;         /* live only: SUSPENDED, on a timer that is due soon */
    bool lent;         /* ... its place is its tools', which are at work */
    bool awaits_tools; /* ... SUSPENDED, until its tools are over */
    bool listed;       /* ... in r->askers, and which of them comes next */
    struct exec *next_asker;
    bool before_passed;  /* interrupt_before was answered */
    bool approved_whole; /* somebody approved that its node runs, */
    bool approved_plan;  /* or the graph in it */
    /* Somebody decided about it, or about what is run for it, and it did not go
     * on with that yet: nothing of it was recorded since. */
    bool decided;

    /* By state/state_view.c: the causal past. */
    bool shared;          /* several come after it, whatever edges it took */
    uint32_t n_preds;     /* in `preds` */
    uint32_t idom, depth; /* START: itself, 0 */
    uint32_t mark;        /* of the last walk that met it */
    uint32_t *preds;
    json_t *view;  /* the state before, once needed */
    json_t *after; /* the state after its own writes, once needed */
    /* By state/writes.c: */
    struct mortise_write *writes;
    size_t n_writes;
    /* By state/size.c: */
    uint64_t size_before; /* its view is no larger */
    uint64_t size_own;    /* its writes add no more than this */
    /* By so much both together are too high, as was measured. */
    uint64_t size_saved;
    uint64_t size_then; /* size_written when it was made */

    /* By state/identity.c: */
    uint8_t key[MORTISE_DIGEST]; /* the idempotency key of its effect */
    /* By state/actions.c: its calls and timers.  Live only. */
    uint32_t serial; /* of the newest call or timer */
    enum stop_why stop;
    bool timer, elapses; /* armed; for a while, not until a time of day */
    /* By outcome/call_start.c: likewise. */
    enum mortise_run_call_kind call;
    uint64_t called_ms; /* when the newest call began, by steady_ms */

    /* By flow/race.c: */
    enum loss loss;
    uint32_t discard; /* 1 + the innermost frame in which it lost a race that
                         lets losers finish: what it writes counts for nothing
                         there and farther out; 0: none */
    /* By outcome/start.c: of its attempt, where a template gives it; live only */
    uint64_t timeout_ms;
    /* By flow/map.c: */
    struct fan *fan; /* the map that it gathers; NULL: it is a node's */
    /* By flow/frame.c: */
    struct exec *next_yield; /* the one before it to yield in its element */
    /* What failed, of which on_error leads here; 0: none. */
    uint32_t handles;
    bool surfaced; /* its failure reached the end of its graph */
    /* By flow/join.c: */
    json_t *caught; /* failures that its join collected: [{node, error}] */
    /* By flow/final.c: */
    bool final;   /* it runs, or ran, as the last act of what was stopped */
    bool unbound; /* live only: it was at work before that */
    uint64_t spent_ms; /* of its attempt, by then; live only */
    /* By flow/sub.c: the graph in it. */
    struct frame *child; /* a subgraph's: of its newest attempt */
    json_t *child_state; /* the state that `child` ended with */
    bool child_over;     /* `child` ended well, and is done with */

    /* By flow/tools.c: what is run for it, */
    struct frame *tools; /* the graph of its tools; NULL: none was yet */
    uint32_t serves; /* ... and for whom it is: 1 + a step of its graph's owner;
                        0: for nobody */
    uint8_t served[MORTISE_DIGEST]; /* the key of that step, if it has one */
    bool taken_up; /* a later attempt of its asker asked for it again */
    /* By asks/earlier.c: the generation of its asker in which people took it as
     * failed, or rejected it; 0: none. */
    uint32_t turned_down;

    /* By asks/generation.c: what it has for one generation. */
    bool child_again; /* `child` failed, and what failed in it is tried again */
    /* Whether it is tried again depends on whether its input is the same. */
    bool child_asks;
    bool body_is_given; /* `body` is no longer what the template gives */
    bool unknown; /* it ends with its effect in doubt, and nobody is asked */
    uint32_t checked; /* the generation whose arguments passed; 0: none */
    uint32_t choice;  /* 1 + which of its node's choices it calls; 0: none yet,
                         or its node has none */
    uint32_t ordinal; /* of the next request */
    json_t *notes;    /* guardrail verdicts */
    json_t *approval; /* {actor, reason?, edited?}; NULL: nobody's */
    json_t *advice;   /* live only: what a judge said that did not decide */
    json_t *decision; /* what people decided, until it is recorded as output */
    json_t *refusal;  /* {code, message, actor?, goto?}: what it fails of by a
                         decision, of the actor or of a deadline, until that is
                         recorded */
    bool refused; /* it failed of an actor's decision, and the run was neither
                     paused nor resumed since */
    json_t *body; /* live only: the arguments, once evaluated */
    json_t *found[MORTISE_LOOKUPS]; /* NULL: nothing was looked up yet */
    /* {output, how, error?}: what of its output is told to who depends on it; NULL:
     * nobody is, or it is told as it is. */
    json_t *compacted;
    /* By asks/steps.c: what it asked (step.c). */
    struct journal *journal; /* NULL: nothing */
    struct journal *checks;  /* what its guardrails asked; likewise */
    /* {key: answer} of effects that were completed in earlier attempts and
     * generations; NULL: none. */
    json_t *effects;
    /* {request id: {key, method}}: those of which people said what they came to;
     * NULL: none. */
    json_t *resolved;
    /* By asks/step.c: live only. */
    json_t *broke; /* it asked for something else than before: the words */
    bool goes_on;  /* its newest call began with a journal */
    /* By asks/doubt_evidence.c: what people were told. */
    bool told_apart; /* `told` stands in an entry, not only in a request */
    json_t *told;    /* {cause, step?, answer?}; NULL: nothing */

    /* By spend/budget.c: */
    struct hold *hold; /* NULL: nothing was ever reserved for it */
    /* By spend/usage.c: */
    struct cost *cost; /* NULL: nothing that anybody told */

    /* By outcome/doubt.c: an effect that nobody knows about. */
    struct end was; /* how it had ended, which asks about that now */
    /* Live only: how the attempt failed whose effect is in doubt, {code, class,
     * message}; NULL: the process died. */
    json_t *failure;
    bool doubted; /* it failed with its effect open */
    bool cut;     /* a cancel stopped it */
    /* By outcome/doubt_resolve.c: */
    bool failing; /* just now, with its doubt */
    /* By outcome/result.c: what came of its effect, and with it. */
    json_t *result; /* that it gave in an attempt which failed all the same */
    /* {update?, goto?}: what it gives, or gave, beside its output. */
    json_t *said;
    uint8_t result_key[MORTISE_DIGEST];
    /* By outcome/settle.c: live only. */
    struct ended *ended; /* how its call did, before its tools did; NULL */
    /* By outcome/cache.c: live only. */
    struct fresh *fresh; /* NULL: nothing was ever looked up for it */
    /* By outcome/sought.c: live only.  Its output and the query, while that is
     * looked for. */
    json_t *seeking, *seeking_for;
    /* By outcome/recall.c: live only. */
    json_t *overlay; /* what the run itself remembers, of what it asks */
    /* By outcome/lookups.c: live only. */
    json_t *recalled; /* what was read, while guardrails look at it */
    /* By outcome/remember.c: live only.  Its output, while it is judged or written
     * to the memory; what guardrails put in its place. */
    json_t *encoded, *memorable;
    /* By outcome/compact.c: live only.  The output that an operation makes shorter,
     * and what that made of it, until it is recorded. */
    json_t *lengthy, *brief;
    /* By outcome/arguments.c: live only. */
    uint8_t body_digest[MORTISE_DIGEST];
    /* By outcome/fail.c: live only. */
    uint64_t retry_after_ms; /* of its error */
    /* By outcome/pipeline.c: how what waits came about, and where it waits
     * (stages.def). */
    enum done_how how;
    uint8_t awaits;
    /* By outcome/guard.c: what its guardrails look at. */
    bool replaced; /* a guardrail put another in the place of `subject` */
    enum mortise_guard_stage stage;
    uint32_t guard;  /* the guardrail that is being asked, */
    uint32_t turn;   /* and how many were asked in this stage before it */
    uint32_t at;     /* EDGE: which of those that x takes is looked at */
    json_t *subject; /* as sanitised so far */
    /* OUTPUT: the output that passed, while its update is looked at. */
    json_t *judged;
    /* By outcome/verdict.c: */
    json_t *verdicts; /* of now, not recorded yet */

    /* By apply_exec.c: how it went, and its pending request. */
    bool cached;       /* its output is what another call gave */
    bool by_on_error;  /* ... or what its on_error gave */
    bool child_failed; /* `child` failed, and so did this */
    bool approved;
    uint32_t noted; /* it is on disk that it starts in this generation */
    json_t *output;
    uint64_t next_ms;
    uint64_t pause_ms; /* that long before next_ms its attempt failed */
    uint64_t deadline_ms;
    json_t *payload;
    enum mortise_ask ask;
    char request[REQUEST_ID];
    uint8_t approved_digest[MORTISE_DIGEST];
    /* By apply_run.c: */
    uint32_t heir; /* held through this update: what follows comes after it */
};

enum edge_state { EDGE_OPEN, EDGE_TAKEN, EDGE_DEAD, EDGE_FAILED };

enum item_phase {
    ITEM_WAITS,
    ITEM_ACTIVE,
    ITEM_OVER,   /* done, or failed in a way that leads elsewhere */
    ITEM_FAILED, /* failed in a way that leads nowhere */
    ITEM_SKIPPED,
    ITEM_SKIPPED_FAILED
};

/* What a frame knows of one item of its region: a node, or a child region. */
struct item {
    enum item_phase phase;
    uint32_t n_decided, n_taken, n_failed; /* of the edges to it */
    uint32_t cause;  /* failed branches: the least execution behind one */
    uint32_t visits; /* a node's, in this naming scope, older frames' too */
    uint32_t exec;   /* of the newest visit in this frame; 0: none */
    uint32_t mark;   /* of the last walk that met it */
    bool lost;       /* another branch was first: it does not start */
    /* Another branch was first: it starts, but its writes do not count. */
    bool discard;
    struct frame *visit; /* a loop's newest, of an older frame at first */
    struct fan *fan;     /* a map's newest, likewise */
};

/* A live instance of a region.  In the run's arena. */
struct frame {
    uint32_t index; /* in creation order, which follows from the entries */
    const struct mortise_graph *graph;
    const struct mortise_graph *was; /* before the run was steered; or NULL */
    const struct mortise_region *region;
    struct frame *parent; /* of the region around it; the graph's: NULL */
    struct frame *top;    /* of the graph that it is in */
    struct exec *yields;  /* a map's: what took an edge to the join */
    struct scope *scope;
    struct item *items; /* nodes by slot, then child regions */
    uint8_t *edges;     /* enum edge_state, by slot */
    uint32_t *edge_src; /* the execution that decided it */
    uint32_t n_open;    /* items that wait or are active */
    struct exec *execs; /* those of its nodes, newest first */
    struct frame *kids; /* frames of child regions, newest first */
    struct frame *sibling;
    bool again;    /* a back edge was taken */
    bool left;     /* an exit was taken */
    bool failed;   /* a failure reached its end unhandled */
    bool for_good; /* it failed, and no join around it mends that */
    bool over;     /* a map's element: counted as such */
    bool late;     /* it was over after enough elements of its map were */
    bool waits;    /* it is to be tried again, when there is room */
    bool behind;   /* a goto left it behind */
    bool lost;     /* nothing more starts in it */
    bool halted;   /* nothing more starts in it, and nothing more is decided */
    uint32_t discard; /* what its executions begin with */
    uint32_t cause;   /* failed: the least execution that it failed of */
};

/* Where names are counted: the run's graph, a nested one, a map's element. */
struct scope {
    const char *prefix, *suffix; /* of its executions' paths */
    struct frame *root;
    const struct scope *outer;           /* an element's; a graph's: NULL */
    struct fan *fan;                     /* likewise */
    uint32_t at[MORTISE_MAX_MAPS], n_at; /* indexes, outermost first */

    /* A graph's. */
    struct exec *owner; /* that it is the child of; NULL: the run */
    json_t *input;
    struct artifact *artifacts; /* by node */
    json_t *loop_error;         /* a loop went on and was left: what of it, */
    uint32_t loop_left;         /* and the execution of its entry */
    struct purse *purse;        /* NULL: it has no budget */
    uint32_t n_live;    /* executions at work in it, not those in children */
    enum loss halt;     /* nothing more happens in it */
    bool at_end;        /* it came to END, and of what failed before that more
                           happens: it is tried again (race.c (4)) */
    bool over;          /* its owner is to end */
    uint32_t n_running; /* calls out in it, and in graphs in it */
    uint64_t active_ms; /* while there were any; since then, if it ticks */
    uint64_t since_ms;
    bool ticks, changed;
    struct scope *next_changed; /* of r->clocks */
    uint64_t wall_ms; /* of its budget.wall; since then, if it ticks */
    bool wall_over;   /* live only: that it is used up was seen */
    bool walled;      /* live only: it is in r->walls */
    struct scope *next_walled;
    struct scope *next; /* of the run */
};

/* A map at work, or that was. */
struct fan {
    const struct mortise_region *map;
    struct frame *home;
    struct item *item;        /* of home */
    struct fan *older, *next; /* of that item; of the run */
    uint32_t number;
    json_t *list;
    uint32_t max_parallel;
    struct frame **elements;
    size_t n, n_begun, n_over;
    size_t n_waiting;        /* of those that are over */
    size_t n_came, n_failed; /* likewise; the former took an edge to the join */
    bool enough;             /* a race is won: who is not over has lost it */
    struct indexes preds;    /* what the elements come after; in the arena */
    size_t made;             /* n_execs when it began */
    struct exec *gather;     /* NULL: not all is over */
    bool lost;               /* no more elements begin */
};

struct unsent {   /* a durable event whose commit is not on disk yet */
    uint64_t seq; /* of the commit */
    json_t *event;
};

struct due { /* an edge, in its home */
    struct frame *home;
    uint32_t edge;
};

struct artifact {
    /* artifacts.OUTPUT_AS of a node, once needed */
    struct mortise_path *path;
    const struct mortise_reducer *how; /* NULL: none is declared */
};

/* A graph that the run went by before it was steered: what is over is of it. */
struct former {
    struct former *next;
    struct mortise_graph *graph; /* a reference */
};

/* A list of commands that waits for what is in flight to stop. */
struct held_command {
    struct mortise_said said;   /* a copy, with references of the values */
    struct mortise_arena arena; /* of its strings */
    const char *cause; /* why calls were told to stop for it; static; NULL: no
                          reason of its own */
};

/* What was said under this id is recorded (order.c). */
struct order {
    const char *id;
    uint8_t digest[MORTISE_DIGEST];
};

/* What the run wrote and its memory need not have yet. */
struct unwritten {
    json_t *trace;
    enum mortise_consistency how; /* SNAPSHOT or JOURNALED */
    uint64_t seq;                 /* the commit that has it */
};

/* The memory of a run (outbox.c). */
struct outbox {
    bool pinned;
    uint64_t as_of;   /* of snapshots */
    uint64_t pin_seq; /* the commit that has it */
    struct unwritten *list;
    size_t n, cap;
    json_t *
        uses; /* {id, by, at}, which the memory is yet to be told; NULL: none */
    /* Live only. */
    enum { OUTBOX_RESTS, OUTBOX_PINS, OUTBOX_DELIVERS, OUTBOX_WAITS } state;
    uint32_t serial;   /* of its newest call or timer */
    size_t n_out;      /* DELIVERS: so many of the list, from its front ... */
    size_t uses_out;   /* ... and of the uses */
    uint64_t uses_seq; /* the commit that the newest of those is of */
    bool timer;        /* armed */
    bool asked;        /* as of what, once */
    bool opened;       /* the run is to complete: snapshots are written, too */
    unsigned fails;    /* deliveries, one after the other */
    json_t
        *error; /* {code, class, message} of the last, where no more is tried by
                        itself; NULL: it goes on */
};

/* A request that nobody need decide any more (settled.c). */
struct settled {
    char id[REQUEST_ID];
    const char *word;  /* what became of it; static */
    const char *actor; /* who said so, in the run's arena; "": nobody did */
};

/* The plan of a run that is to be approved (plan.c). */
struct plan {
    bool waits;               /* START leads nowhere until it is */
    char request[REQUEST_ID]; /* pending; "": none */
    json_t *payload;          /* of that */
    json_t *error;            /* it was rejected: what the run fails of */
};

/* A run.  Its marks are as those of struct exec; where there are two files, one
 * puts something in (or makes it), and the other takes it out. */
struct mortise_run {
    /* By run.c: what it is of, who watches, the event under way. */
    const struct mortise_mem *mem;
    const char *tenant, *id;
    json_t *self; /* {id, tenant, graph, version}: `run` in expressions */
    bool watched;
    mortise_run_sink *sink;
    void *sink_ud;
    uint64_t written, synced; /* written >= synced */
    uint64_t time_ms;
    /* Its time by a clock that goes on with the wall clock's of the first
     * event, and is never set: what takes so and so long is measured by it. */
    uint64_t steady_ms, elapsed_ms;
    struct mortise_actions *actions;
    size_t recorded; /* so much of the record is of earlier steps */
    size_t unsent_head;
    /* By run.c and flow/regraph.c: */
    struct mortise_graph *graph; /* a reference */
    struct former *formers;
    struct mortise_graph *newest; /* likewise: it, or what follows it */
    /* By all: what is made in it dies with the run. */
    struct mortise_arena arena;

    /* By state/rules.c: */
    bool ruled;                /* its rules were read */
    struct mortise_uuid store; /* in which it was admitted */
    /* By state/pins.c: */
    struct mortise_pin *pins;
    size_t n_pins;
    /* By state/size.c: */
    uint64_t size_written; /* by all commits */
    /* By state/state_view.c: */
    uint32_t stamp; /* of the last walk */
    /* By state/settled.c: */
    struct settled *settled; /* in the order of it */
    size_t n_settled, cap_settled;
    /* By state/exec.c: executions, and how many are how; n_running and n_waiting
     * count what is the run's own, too. */
    struct exec **execs; /* execs[0] is START */
    size_t n_execs, cap_execs;
    uint32_t n_running;                /* calls out: RUNNING and STOPPING */
    uint32_t n_own;                    /* of those, the run's own */
    uint32_t n_waiting;                /* READY, INTENT, BACKOFF */
    uint32_t n_asked;                  /* ASKED, HELD */
    uint32_t n_asked_so[MORTISE_ASKS]; /* ASKED, of each kind */
    uint32_t n_suspended, n_near, n_lent;
    uint32_t n_fresh;    /* READY, and not counted as a step */
    uint64_t n_started;  /* steps that were */
    uint32_t n_inside;   /* INSIDE */
    uint32_t n_failed;   /* unhandled */
    uint32_t n_finished; /* steps */
    /* By run.c and state/exec.c: */
    uint32_t *users; /* of each resource, the execution that has it; 0: none */
    /* By state/exec.c and run.c: */
    struct indexes ready; /* queue of executions in X_READY, oldest first */
    size_t ready_head;
    /* By state/exec.c: executions whose tools may have come to something. */
    struct exec *askers;
    /* By state/exec.c and outcome/gather.c: */
    struct indexes gathers; /* maps' executions in X_READY: they call nothing */
    /* By state/exec.c and run.c and command/command.c: */
    struct indexes intents; /* executions whose intent is not on disk yet */
    /* By state/exec.c and spend/clock.c: */
    struct scope *clocks; /* that are to start or stop */

    /* By flow/frame.c: */
    struct frame **frames; /* frames[0] is the graph's */
    size_t n_frames, cap_frames;
    struct indexes ended; /* frames with nothing left to do: a stack */
    struct indexes preds; /* of what starts just now */
    struct scope *graphs; /* all of them, to be freed */
    struct due *work;     /* decided edges whose targets do not know: a stack */
    size_t cap_work;
    /* By flow/frame.c and flow/reopen.c: */
    size_t n_work;
    /* By flow/final.c: */
    bool finals;   /* some were started */
    bool given_up; /* it is cancelled, and waits for none */
    /* By apply_run.c and flow/frame.c: what maps that START leads into go over, until
     * what takes the edges is applied; NULL: nothing. */
    json_t *lists;
    /* By flow/map.c: */
    struct fan *fans; /* all of them, to be freed */
    /* By flow/race.c and outcome/stop.c: */
    struct indexes losers; /* executions to be stopped, or that were */
    /* By flow/sub.c and outcome/gather.c: */
    struct indexes overs; /* executions whose child is over */

    /* By outcome/plan.c: */
    struct plan plan;
    /* By outcome/outbox.c: */
    struct outbox outbox;
    /* By state/inbox.c: what it was told, until somebody heard it. */
    struct told *inbox;
    size_t n_inbox, cap_inbox;

    /* By spend/budget.c: */
    struct indexes shorts; /* in X_READY, waiting for others to settle */
    bool purses_moved;     /* since they were looked at */
    /* By spend/clock.c: */
    struct scope *walls; /* whose wall clock went on since it was stored */
    /* By spend/limit.c: */
    uint64_t steps_raised, visits_raised; /* limits; 0: not raised */
    /* By spend/usage.c and run.c: */
    struct mortise_usage usage; /* of all executions; given up with the run */
    /* By asks/steps.c: */
    uint32_t n_questions; /* pending, of steps */
    uint32_t n_awaited;   /* ends of children that steps wait for */
    /* By asks/step.c: */
    struct step_wait *step_waits;
    size_t n_step_waits, cap_step_waits;
    uint64_t put_seq; /* the last commit with a put; 0: none since loading */

    /* By spend/tree.c: */
    struct tree tree;
    /* By state/spawned.c: */
    const char *spawned_by; /* a handle; NULL: it is no child */
    bool has_handles;       /* an execution claimed one */
    /* By state/spawned.c and commit.c and run.c: */
    bool leaves; /* the record may leave children behind (flow/left.c) */
    /* By apply_run.c: what was said of the run. */
    uint8_t seed[MORTISE_DIGEST];
    uint64_t created_ms;
    uint32_t update; /* the newest update; 0: none */
    json_t *error;   /* what the run failed of */
    bool cancelling; /* the cancel command was recorded, or it looks back */
    int after;       /* the end that it looks back on; 0: it does not */
    enum mortise_pause paused;
    /* By run.c and apply_run.c: */
    int status;
    const char *reason;
    /* By command/command.c: */
    struct held_command *held;
    /* By command/command.c and run.c: */
    const char *stays;      /* why it does not go on, where nobody paused it;
                          static; NULL: no command said so */
    bool applied;           /* a command was applied by this step */
    bool obeys;             /* a list of commands is being applied; */
    uint32_t failed_before; /* ... n_failed as that began */
    /* By command/decide.c: what the list's decisions are about; 0: nothing follows */
    struct indexes decided;
    /* By run.c and command/command.c and command/pause.c: */
    bool live; /* going; a replayed run is not until told */

    /* By commit.c: */
    uint64_t left_seq;   /* the newest commit that did; 0: none since loading */
    uint64_t sync_asked; /* a sync of commits up to here was asked for */
    bool stamped;        /* the record begins with the time of its first */
    bool asked;          /* the commit opens a question */
    /* By commit.c and run.c: */
    uint64_t seq;
    struct mortise_uuid head;
    uint64_t first_event;
    uint64_t applied_seq; /* answer it when this is synced; 0: none */
    /* By state/apply.c and commit.c: the record of the step under way. */
    uint32_t record_frame; /* that the last of its entries is in */
    unsigned phases;       /* bits 1 << enum mortise_phase: of the record */
    /* Of the last of its entries that has a time; 0: none. */
    uint64_t record_ms;
    /* By state/apply.c and commit.c and run.c: */
    struct mortise_buf record; /* its entries */
    bool must; /* something in it cannot wait for another step's commit */
    /* By state/request.c and asks/step.c and outcome/cache.c and commit.c: */
    struct mortise_run_commit kept; /* what goes with it besides the record */

    /* By state/event.c: */
    uint64_t n_events;
    int sink_said; /* nonzero: the sink wants no more */
    struct unsent *unsent;
    size_t cap_unsent;
    /* By state/event.c and run.c: */
    size_t n_unsent;
    /* By state/order.c: */
    struct order *orders; /* in the order of it */
    size_t n_orders, cap_orders;
    /* By state/order.c and commit.c and run.c: */
    const char *order; /* of what is recorded now; NULL: of none */
    /* By command/command.c and state/order.c: it is being applied, and nothing
     * of it is recorded yet. */
    const struct mortise_said *ordering;
};

/* ---- indexes.c ---- */
int mortise_indexes_add(const struct mortise_mem *mem, struct indexes *to,
                        uint32_t index, struct mortise_err *err);
void mortise_indexes_finish(const struct mortise_mem *mem,
                            const struct indexes *of);

/* ---- size.c ---- */
/* An execution has its preds; it has one more write; it has none after all. */
void mortise_size_link(struct mortise_run *r, struct exec *x);
void mortise_size_add(struct mortise_run *r, struct exec *x,
                      const struct mortise_write *w);
void mortise_size_forget(struct mortise_run *r, struct exec *x);
/* MORTISE_ELIMIT: the state is larger than it may be in this graph. */
int mortise_size_within(const struct mortise_graph *g, const json_t *state,
                        uint64_t *size, struct mortise_err *why);
/* The same of x->after, which is there; measured only when it must be. */
/* It is not too large, without measuring it. */
bool mortise_size_is_small(const struct exec *x);
int mortise_size_check(struct mortise_run *r, struct exec *x,
                       struct mortise_err *why);

/* ---- found.c ---- */
/* Was something discovered that narrows what x is offered?  Is the tool,
 * PLUGIN/OPERATION or graph/NAME, offered to it? */
bool mortise_exec_is_narrowed(const struct exec *x);
bool mortise_exec_is_offered(const struct exec *x, const char *tool);

/* ---- state_view.c ---- */
/* x comes after these, whatever it came after; none: it is START. */
int mortise_view_link(struct mortise_run *r, struct exec *x,
                      const uint32_t *preds, size_t n, struct mortise_err *err);
/* Several come after x, whatever edges it took. */
void mortise_view_share(struct exec *x);
/* What x wrote is taken back. */
void mortise_view_unwritten(struct exec *x);
/* A walk over executions begins; x is met in it. */
void mortise_view_walk(struct mortise_run *r);
void mortise_view_meet(const struct mortise_run *r, struct exec *x);
static inline bool mortise_view_was_met(const struct mortise_run *r,
                                        const struct exec *x)
{
    return x->mark == r->stamp;
}
/* All that is in its causal past has this mark, until others are marked. */
int mortise_view_mark(struct mortise_run *r, const struct exec *x,
                      uint32_t *mark, struct mortise_err *err);
/* x->view is there. */
int mortise_view_before(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* The state after x's writes, which are set: x->after is there. */
int mortise_view_after(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* Its writes succeed without trying, and would be made in a copy. */
bool mortise_view_may_wait(const struct exec *x);
/* Adds the executions that a commit after everything in f, a graph's, has as
 * its preds. */
int mortise_view_frontier(struct mortise_run *r, const struct frame *f,
                          struct indexes *preds, struct mortise_err *err);
/* The same of a commit after everything in these frames, as far as it counts in
 * f. */
int mortise_view_frontier_in(struct mortise_run *r, const struct frame *f,
                             struct frame *const *frames, size_t n_frames,
                             struct indexes *preds, struct mortise_err *err);
/* Adds the last commits of each of these frames: what follows all of them comes
 * after these.  A failure is no commit, and may be tried again behind an update
 * that comes later.  An update made since there were `since` executions is among
 * them. */
int mortise_view_frontier_of(struct mortise_run *r, struct frame *const *frames,
                             size_t n_frames, size_t since,
                             struct indexes *preds, struct mortise_err *err);
/* The fold over all commits in f, a graph's: a new reference.  `strict`:
 * conflicts, and what a reducer cannot take, count. */
int mortise_view_total(struct mortise_run *r, const struct frame *f,
                       bool strict, json_t **out, struct mortise_err *err);

/* ---- exec.c ---- */
struct exec *mortise_exec_new(struct mortise_run *r, struct frame *f,
                              uint32_t node, uint32_t visit,
                              const struct indexes *preds,
                              struct mortise_err *err);
/* From the handle of a call or timer; NULL when that is over. */
struct exec *mortise_exec_at(const struct mortise_run *r, uint64_t handle);
/* The execution of `top`'s graph that x is, or is inside of; NULL: neither. */
const struct exec *mortise_exec_within(const struct exec *x,
                                       const struct frame *top);
/* The only way a state changes: it keeps the run's counters. */
void mortise_exec_become(struct mortise_run *r, struct exec *x,
                         enum exec_state s);
/* Is somebody else at work with its node's resource? */
bool mortise_exec_must_wait(const struct mortise_run *r, const struct exec *x);
/* Its graph is another now, in which its node has that index. */
void mortise_exec_renumber(struct exec *x, uint32_t node);
/* It was READY, and never was: its node waits again, or is gone. */
void mortise_exec_withdraw(struct mortise_run *r, struct exec *x);
/* Who has which resource, as the run's graph counts them now. */
int mortise_exec_share_out(struct mortise_run *r, struct mortise_err *err);
/* READY, at the end of the queue. */
int mortise_exec_ready(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* INTENT: to be called once the entry, about its attempt, is on disk. */
int mortise_exec_intend(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err);
void mortise_exec_near(struct mortise_run *r, struct exec *x, bool near);
/* SUSPENDED, until all of its tools are over. */
void mortise_exec_await_tools(struct mortise_run *r, struct exec *x);
/* A call that is the run's own is out, or what it waits for; or no more. */
void mortise_run_own_call(struct mortise_run *r, bool out);
void mortise_run_own_wait(struct mortise_run *r, bool waits);
/* The newest call or timer of the run's own; is that what it is called? */
#define RUN_OWN ((uint64_t)UINT32_MAX << 32) /* of no execution */
static inline bool mortise_run_is_own(const struct mortise_run *r,
                                      uint64_t handle)
{
    return handle == (RUN_OWN | r->outbox.serial);
}
/* Nothing more happens to it, unless somebody has a failure tried again. */
static inline bool mortise_exec_is_over(const struct exec *x)
{
    return x->state >= X_DONE;
}
/* Are the edges of an entry some of these, in their order?  Then x took
 * them. */
bool mortise_exec_edges_fit(const uint32_t *out, uint32_t n_out,
                            const struct mortise_entry *e);
int mortise_exec_keep_taken(struct mortise_run *r, struct exec *x,
                            const struct mortise_entry *e,
                            struct mortise_err *err);
/* An entry about x, now. */
struct mortise_entry mortise_exec_entry(const struct mortise_run *r,
                                        const struct exec *x,
                                        enum mortise_entry_type type);
static inline const struct mortise_node *
mortise_exec_node(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];

    assert(x->node < x->frame->graph->n_nodes); /* not START, not an update */
    assert(x->choice <= n->n_choices);
    (void)r;
    return x->choice != 0 ? &n->choices[x->choice - 1] : n;
}
struct item *mortise_exec_item(const struct exec *x);
/* artifacts.OUTPUT_AS of its node, NULL when memory ran out. */
struct artifact *mortise_exec_artifact(struct mortise_run *r,
                                       const struct exec *x);
/* Does its output pass guardrails that may keep it back, or does x stand in the
 * graph of a node of which that is so? */
bool mortise_exec_is_held(const struct mortise_run *r, const struct exec *x);
/* ... the latter */
bool mortise_exec_is_within_held(const struct mortise_run *r,
                                 const struct exec *x);
/* The words in which what is behind x failed, for those who are before it: where
 * guardrails look at what it gives, who is behind it may have chosen them, and
 * none has looked at these.  Lent like `words`, or for good. */
const char *mortise_exec_failure_words(const struct mortise_run *r,
                                       const struct exec *x, const char *code,
                                       const char *words);
void mortise_exec_path(const struct mortise_run *r, const struct exec *x,
                       char out[MORTISE_EXEC_PATH]);
/* The order of a graph's executions, whatever the timing: declared position, then
 * visit, then element, the outermost map first.  <0, 0, >0. */
int mortise_exec_compare(const struct exec *a, const struct exec *b);
/* The lesser of two by that order; 0 stands for none. */
uint32_t mortise_exec_least(const struct mortise_run *r, uint32_t a,
                            uint32_t b);
/* Does what x does, in f or in frames in it, count for f? */
bool mortise_exec_counts_in(const struct exec *x, const struct frame *f);
/* x has started; or it is being made, and is no step, whatever it does. */
void mortise_exec_count(struct mortise_run *r, struct exec *x);
/* ... by an entry, so that it counts after a crash, too. */
void mortise_exec_count_recorded(struct mortise_run *r, struct exec *x);
void mortise_exec_is_no_step(struct exec *x);
/* Its attempt of this number began then. */
void mortise_exec_begun(struct exec *x, uint32_t attempt, uint64_t started_ms);
/* It ended then; 0: it is to end once more. */
void mortise_exec_ended(struct exec *x, uint64_t at_ms);
/* What it failed of, so far; NULL: nothing. */
void mortise_exec_failed_of(struct exec *x, json_t *error);
/* What it failed of, or is about to, leads elsewhere: nobody tries it again.
 * Not `handled`: it is about to fail, and leads nowhere. */
void mortise_exec_lead_elsewhere(struct mortise_run *r, struct exec *x,
                                 bool handled);
/* May its effect have happened, for all that its entries say? */
void mortise_exec_open_effect(struct exec *x, bool open);
/* Its interrupt_before asks nobody any more. */
void mortise_exec_pass_before(struct exec *x);
/* Somebody approved that its node runs (MORTISE_ASK_NODE), or the graph in it
 * (MORTISE_ASK_PLAN). */
void mortise_exec_approve_whole(struct exec *x);
void mortise_exec_approve_plan(struct exec *x);
/* Somebody decided about it: an update does not begin it anew, nor those who have
 * it run as a tool, before it went on with that; and it did. */
void mortise_exec_decided(struct exec *x);
void mortise_exec_went_on(struct exec *x);
/* A new generation: no attempt of it has begun, failed or ended. */
void mortise_exec_start_over(struct exec *x);
/* The entry's value leaves x, along the entry's edges; nothing does any more. */
int mortise_exec_keep_leaving(struct mortise_run *r, struct exec *x,
                              const struct mortise_entry *e,
                              struct mortise_err *err);
void mortise_exec_forget_leaving(struct exec *x);
/* That is what its discovery edges found. */
void mortise_exec_keep_sought(struct exec *x, json_t *found);
/* That is its trace; NULL: it has none. */
void mortise_exec_keep_trace(struct exec *x, json_t *trace);
/* The one that is looked for next; NULL: all were. */
const struct mortise_edge_discovery *
mortise_exec_sought_next(const struct exec *x);
/* What one of them found, {query, kind, results, error?}; NULL: nobody was asked.
 * And the id of the node that it leads to; NULL: to the fallback. */
const json_t *mortise_exec_sought(const struct exec *x,
                                  const struct mortise_edge_discovery *d);
const char *mortise_exec_sought_first(const struct exec *x,
                                      const struct mortise_edge_discovery *d);
/* Is x a finaliser of what was stopped, or in one? */
static inline bool mortise_exec_is_final(const struct exec *x)
{
    while (x != NULL && !x->final)
        x = x->frame->top->scope->owner;
    return x != NULL;
}
/* That it took longer, in words. */
const char *mortise_exec_timed_out(const struct exec *x,
                                   char out[MORTISE_TIMEOUT_WORDS]);
/* How long its attempt, or what is in it, may be active; 0: as long as it likes. */
enum { MORTISE_FINAL_MS = 60000 };
static inline uint64_t mortise_exec_timeout_ms(const struct exec *x)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];
    uint64_t own = n->timeout != NULL ? x->timeout_ms : n->timeout_ms;

    uint64_t most = x->spent_ms + MORTISE_FINAL_MS;

    return mortise_exec_is_final(x) && (own == 0 || own > most) ? most : own;
}
/* The edges that it takes, when detours have taken the place of some. */
static inline uint32_t *mortise_exec_going(const struct exec *x)
{
    return x->chosen + x->n_chosen;
}
/* Completed and cancelled runs are over; a failed one can be resumed. */
bool mortise_run_is_over(const struct mortise_run *r);
/* Nothing is left to do. */
static inline bool mortise_run_is_quiet(const struct mortise_run *r)
{
    return r->n_running + r->n_waiting + r->n_asked + r->n_suspended +
                   r->n_inside ==
               0 &&
           r->plan.request[0] == '\0';
}
/* The run is cancelled, and x is to stop. */
static inline bool mortise_exec_is_to_stop(const struct mortise_run *r,
                                           const struct exec *x)
{
    return r->cancelling && (r->given_up || !mortise_exec_is_final(x));
}
/* The next execution whose tools may have come to something; NULL: there is
 * none. */
struct exec *mortise_exec_take_asker(struct mortise_run *r);
/* x is to be looked at, too. */
void mortise_exec_list_asker(struct mortise_run *r, struct exec *x);
/* ... and the executions whose tool x is, or is inside of. */
void mortise_exec_list_askers_of(struct mortise_run *r, const struct exec *x);
/* Is there room for one more call? */
bool mortise_run_has_room(const struct mortise_run *r);

/* ---- actions.c ---- */
/* What x's newest call or timer is called; _renew(): the next one is called
 * otherwise, and what had the name before is nobody's. */
uint64_t mortise_exec_handle(const struct exec *x);
void mortise_exec_renew(struct exec *x);
struct mortise_action *mortise_action_new(struct mortise_run *r,
                                          enum mortise_action_kind kind,
                                          struct mortise_err *err);
/* Arm x's one timer: for when the wall clock says so, or so much later,
 * whatever that clock is set to. */
int mortise_exec_arm(struct mortise_run *r, struct exec *x, uint64_t at_ms,
                     struct mortise_err *err);
int mortise_exec_arm_in(struct mortise_run *r, struct exec *x, uint64_t in_ms,
                        struct mortise_err *err);
int mortise_exec_disarm(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
int mortise_exec_cancel(struct mortise_run *r, struct exec *x,
                        enum stop_why why, struct mortise_err *err);

/* Its timer is due: is it still armed? */
bool mortise_exec_fires(struct exec *x);
/* Its call was told to stop, for this; STOP_NONE: that is over. */
void mortise_exec_stop_for(struct exec *x, enum stop_why why);

/* When the call of x is to end by its timeout; 0: it has none. */
uint64_t mortise_call_end_ms(const struct exec *x);
/* A call's timer is due: is it because a pause waits for it no longer? */
bool mortise_call_is_given_up(const struct mortise_run *r,
                              const struct exec *x);

/* ---- items.c ---- */
/* The frame around f, or f itself, of that region. */
static inline struct frame *mortise_frame_around(struct frame *f,
                                                 uint32_t region)
{
    while (f->region->index != region)
        f = f->parent; /* the graph's holds everything */
    return f;
}
/* The item that an execution, or a node in a frame of its region, is of. */
static inline struct item *mortise_item_of(const struct frame *f, uint32_t node)
{
    assert(f->graph->nodes[node].region == f->region->index);
    return &f->items[f->graph->nodes[node].slot];
}
static inline const struct mortise_edge *
mortise_frame_edge(const struct frame *f, uint32_t e)
{
    return &f->graph->edges[e];
}
static inline size_t mortise_frame_n_items(const struct mortise_region *region)
{
    return (size_t)region->n_nodes + region->n_regions;
}
struct item *mortise_item_of_region(const struct frame *f, uint32_t region);
/* The frame around f where an edge out of f is decided. */
static inline struct frame *mortise_frame_home(struct frame *f, uint32_t edge)
{
    return mortise_frame_around(f, mortise_frame_edge(f, edge)->home);
}
/* Where an edge to `node` leads to in f; *child is NULL, or the region that the
 * node is the entry of. */
struct item *mortise_item_to(const struct frame *f, uint32_t node,
                             const struct mortise_region **child);
/* Where an edge comes from, which is not START. */
struct item *mortise_item_from(const struct frame *f, uint32_t edge,
                               const struct mortise_region **child);
/* What stands for `node` in the newest visits of the loops around it; *child as
 * for mortise_item_to(). */
const struct item *mortise_frame_innermost(const struct frame *f, uint32_t node,
                                           const struct mortise_region **child);
/* How often a node of f, which is a graph's, was visited. */
uint32_t mortise_frame_visits(const struct frame *f, uint32_t node);

/* ---- identity.c ---- */
/* Hashes what names an execution, for identities within it. */
void mortise_exec_hasher(struct mortise_hasher *h, const struct mortise_run *r,
                         const struct exec *x);
/* The name of what x leaves elsewhere (`what`): the same whoever tells it, and however
 * often. */
void mortise_exec_name(const struct mortise_run *r, const struct exec *x,
                       const char *what, char out[MORTISE_DIGEST_HEX]);
/* ... for identities of its effects. */
void mortise_exec_effect_hasher(struct mortise_hasher *h,
                                const struct mortise_run *r,
                                const struct exec *x);
/* The idempotency key of its call: the same on every attempt and in every
 * generation, different for another operation or other arguments. */
void mortise_exec_effect_key(const struct mortise_run *r, const struct exec *x,
                             uint8_t out[MORTISE_DIGEST]);
/* x->key: as its intent has it; or as it would be now, where there is none. */
void mortise_exec_keep_key(struct exec *x, const uint8_t key[MORTISE_DIGEST]);
void mortise_exec_find_key(const struct mortise_run *r, struct exec *x);
/* What approving a call with this body would be bound to. */
int mortise_exec_approval_digest(struct mortise_run *r, struct exec *x,
                                 const json_t *body,
                                 uint8_t out[MORTISE_DIGEST],
                                 struct mortise_err *err);
/* The same digest, given that of the body. */
void mortise_exec_approval_of(const struct mortise_run *r, const struct exec *x,
                              const uint8_t body[MORTISE_DIGEST],
                              uint8_t out[MORTISE_DIGEST]);

/* ---- writes.c ---- */
/* Put an entry's writes on x, unless they are there already. */
int mortise_writes_put(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err);
/* Take back what a result would have written. */
void mortise_writes_undo(struct mortise_run *r, struct exec *x);

/* ---- spawned.c ---- */
/* An execution of r claimed a handle. */
void mortise_spawned_claimed(struct mortise_run *r);
/* An execution of r may be given up now, and leave children (flow/left.c). */
void mortise_spawned_left(struct mortise_run *r);

/* ---- request.c ---- */
/* A request is open from now on, or (payload NULL) a timer; or it is over. */
int mortise_pending_open(struct mortise_run *r, const char *id,
                         uint64_t deadline_ms, json_t *payload,
                         struct mortise_err *err);
/* An open request has this payload from now on. */
int mortise_pending_renew(struct mortise_run *r, const char *id,
                          uint64_t deadline_ms, json_t *payload,
                          struct mortise_err *err);
int mortise_pending_close(struct mortise_run *r, const char *id,
                          uint64_t deadline_ms, bool timer,
                          struct mortise_err *err);
/* By which id x asks now: stable across restarts, different in each generation,
 * and in another run of the same name: of another store, or of one made anew. */
void mortise_request_id(const struct mortise_run *r, const struct exec *x,
                        char out[REQUEST_ID]);
/* Record a request; takes the payload (NULL: out of memory). */
int mortise_request_ask(struct mortise_run *r, struct exec *x,
                        enum mortise_ask kind, json_t *payload,
                        uint64_t deadline_ms, struct mortise_err *err);
/* A request of x is settled in this manner. */
int mortise_request_settle(struct mortise_run *r, struct exec *x,
                           enum mortise_settle how, json_t *value,
                           const uint8_t *digest, const char *actor,
                           struct mortise_err *err);

/* The question of x is asked again when x comes to it again. */
int mortise_request_withdraw(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err);

/* ---- env.c ---- */
/* Names in scope while x is at work; finish it before the state changes.
 * `uses`: those that are asked for (mortise_cel_uses). */
struct env {
    struct mortise_cel_env cel;
    const json_t *values[MORTISE_IN_N];
    json_t *state, *node, *diagnostics, *index, *handled;
};
int mortise_env_init(struct env *env, struct mortise_run *r, struct exec *x,
                     const json_t *state, const json_t *output,
                     const json_t *error, uint32_t uses,
                     struct mortise_err *err);
/* An error, as a run has them everywhere: {node?, code, class, message}.  node
 * NULL: it is none of a node; class NULL or "": permanent.  A new reference, NULL
 * when memory ran out. */
json_t *mortise_error_new(const char *node, const char *code, const char *class,
                          const char *message);
/* The error of x as expressions see it: {node, code, class, message, exit_code?,
 * status?}. */
json_t *mortise_env_error(const struct mortise_run *r, const struct exec *x,
                          const json_t *error);
/* The environment of output_mapping: the child's state, x->child_state. */
int mortise_env_init_child(struct env *env, struct mortise_run *r,
                           struct exec *x, uint32_t uses,
                           struct mortise_err *err);
void mortise_env_finish(struct env *env);

/* ---- event.c ---- */
/* Will anybody see an event that is made now? */
bool mortise_run_is_seen(const struct mortise_run *r);
/* Count a durable event; make and keep it when somebody will see it.  `extra`
 * is taken (NULL: none). */
int mortise_event_announce(struct mortise_run *r, const struct exec *x,
                           const char *type, json_t *extra,
                           struct mortise_err *err);
int mortise_event_command(struct mortise_run *r, const char *command,
                          const char *actor, const char *node, json_t *reason,
                          struct mortise_err *err);
/* Somebody is asked for something; a request of x was settled. */
int mortise_event_interrupt(struct mortise_run *r, const struct exec *x,
                            const char *id, json_t *request,
                            struct mortise_err *err);
int mortise_event_decision(struct mortise_run *r, const struct exec *x,
                           const struct mortise_entry *e,
                           struct mortise_err *err);
/* What guardrails said of it: one event each. */
int mortise_event_notes(struct mortise_run *r, const struct exec *x,
                        const json_t *notes, struct mortise_err *err);
int mortise_event_skipped(struct mortise_run *r, const struct mortise_node *n,
                          const char *why, struct mortise_err *err);
/* An event that is not stored: made, and sent to whoever watches. */
json_t *mortise_event_live(const struct mortise_run *r, const struct exec *x,
                           const char *type);
int mortise_event_announce_live(struct mortise_run *r, const struct exec *x,
                                const char *type, struct mortise_err *err);

/* ---- diagnostics.c ---- */
/* What x sees of the executions of the graph `top`, its own or its child's: a
 * new reference.  `itself`: it has ended, and counts. */
int mortise_diagnostics_of(struct mortise_run *r, const struct exec *x,
                           const struct frame *top, bool itself, json_t **out,
                           struct mortise_err *err);

/* ---- order.c ---- */
/* MORTISE_EMISMATCH: another list than this was recorded under its id, which
 * the run knows. */
int mortise_order_check(const struct mortise_run *r,
                        const struct mortise_said *h, struct mortise_err *err);
/* Ahead of the first entry of the list that is being applied. */
int mortise_order_record(struct mortise_run *r, struct mortise_err *err);
/* Ahead of the admission; NULL: nothing. */
int mortise_order_record_start(struct mortise_run *r, const char *id,
                               struct mortise_err *err);
/* What an event of what this actor did has as its `order`; NULL: nothing. */
const char *mortise_order_of(const struct mortise_run *r, const char *actor);

/* ---- inbox.c ---- */
int mortise_inbox_put(struct mortise_run *r, const char *node, json_t *text,
                      struct mortise_err *err);
/* x heard the first n of what waits for it. */
void mortise_inbox_heard(struct mortise_run *r, const struct exec *x, size_t n);
/* Is there something that x has not heard, and no other hears? */
bool mortise_inbox_waits(const struct mortise_run *r, const struct exec *x);
/* Of that, the bytes of text. */
size_t mortise_inbox_size(const struct mortise_run *r, const struct exec *x);
/* All that waits for x, as messages, for that step of it, which is out: a new
 * list; NULL when memory ran out. */
json_t *mortise_inbox_hear(struct mortise_run *r, const struct exec *x,
                           uint32_t step);
/* For show: [{text, node?} ...]; NULL when memory ran out. */
json_t *mortise_inbox_json(const struct mortise_run *r);
void mortise_inbox_finish(struct mortise_run *r);

/* ---- settled.c ---- */
/* A settle entry was applied. */
int mortise_settled_add(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err);
/* MORTISE_EMISMATCH: no such request is pending.  Says what became of it. */
int mortise_settled_refuse(const struct mortise_run *r, const char *id,
                           struct mortise_err *err);

/* ---- patch.c ---- */
struct patch {
    const struct mortise_mem *mem;
    const struct mortise_graph *graph;
    enum mortise_reduce plain;  /* where no reducer is declared */
    bool whole;                 /* roots as they stand, through no reducer */
    struct mortise_arena arena; /* of the writes, which have values of theirs */
    struct mortise_entry_write *writes;
    size_t n, cap;
};
void mortise_patch_init(struct patch *p, struct mortise_run *r,
                        const struct mortise_graph *g);
/* Of {scratch?, artifacts?}: MORTISE_EINVAL when it is something else. */
int mortise_patch_make(struct patch *p, const json_t *body,
                       struct mortise_err *err);
void mortise_patch_finish(struct patch *p);

/* ---- rules.c ---- */
/* Ahead of the admission: today's rules, and the store. */
int mortise_rules_record(struct mortise_run *r, struct mortise_uuid store,
                         struct mortise_err *err);

/* ---- pins.c ---- */
/* Of none: zeros. */
/* Is that name of a pin the plugin that the node calls, or its tool? */
bool mortise_pins_is_of(const char *pin, const struct mortise_node *n);
/* Of the definition of the tool that the node calls; NULL: its plugin has that. */
const uint8_t *mortise_pins_tool(const struct mortise_run *r,
                                 const struct mortise_node *n);
const uint8_t *mortise_pins_digest(const struct mortise_run *r,
                                   const char *plugin);
/* As entries have them; as people are shown a run's.  New references. */
json_t *mortise_pins_json(const struct mortise_pin *pins, size_t n);
json_t *mortise_pins_show(const struct mortise_run *r);
/* Is, or was, one of them signed by nobody?  The names of those. */
bool mortise_pins_dev(const struct mortise_run *r);
json_t *mortise_pins_dev_json(const struct mortise_run *r); /* new reference */
/* An event for each of an entry's that nobody signed. */
int mortise_pins_announce(struct mortise_run *r, const json_t *pins,
                          struct mortise_err *err);
/* What an entry says they are, or which ones took another's place. */
int mortise_pins_add(struct mortise_run *r, const json_t *pins,
                     struct mortise_err *err);
/* Record that the run goes on with this one, too, unless it does. */
int mortise_pins_use(struct mortise_run *r, const struct mortise_pin *used,
                     struct mortise_err *err);
int mortise_pins_replace(struct mortise_run *r, const json_t *pins,
                         struct mortise_err *err);

#endif
