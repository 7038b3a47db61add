/* state.h -- the state of a run in memory: executions, frames, pending requests
 * and cached state views.
 *
 * struct mortise_run is the root.  It lists all executions and frames.  An
 * execution (struct exec) is one visit of a node; a frame is one live instance
 * of a region; a scope is one graph, or one element of a map.  Every durable
 * field changes only when an entry is applied (apply.c), so a replay rebuilds
 * the same struct.  Fields marked "live only" are not rebuilt.
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
    STEPS_MAX = 65536 /* the most steps in one generation */
};

enum exec_state {
    X_READY = 1,   /* activated; waits for a free slot */
    X_ASKED,       /* its request is pending */
    X_INTENT,      /* its intent or reservation is recorded but not synced */
    X_INNER_GRAPH, /* a subgraph node: its child graph runs */
    X_RUNNING,     /* its call is in flight */
    X_STOPPING,    /* its call is in flight and was asked to stop */
    X_SUSPENDED,   /* its call suspended until a step is answered */
    X_BACKOFF,     /* an attempt failed; the next one waits for its time */
    X_HELD,        /* done, but interrupt_after delays its edges */
    X_DONE,        /* this state and all after it are final */
    X_FAILED,
    X_CANCELLED
};

enum stop_why {
    STOP_NONE,
    STOP_TIMEOUT,
    STOP_DIVERGED, /* a replayed call made a different ask than before */
    STOP_BUDGET,   /* the wall clock budget of its graph is used up */
    STOP_COMMAND,
    STOP_RACE,
    STOP_RUN,
    STOP_UNRESPONSIVE /* it was asked to stop and did not return in time */
};

/* Why an execution is stopped, or is not started (flow/race.c). */
enum loss {
    LOSS_NONE,
    LOSS_RACE,   /* another branch reached the race join first */
    LOSS_END,    /* its graph reached END with `end: first` */
    LOSS_FAIL,   /* another node failed and the graph is fail_fast */
    LOSS_TIME,   /* its graph exceeded its time limit */
    LOSS_BUDGET, /* its graph exceeded its budget */
    LOSS_OUTER,  /* the execution around it was stopped */
    LOSS_CANCEL  /* the run was cancelled while this ended execution asked again
                    about its effect in doubt */
};

/* A growing list of indexes, mostly of executions. */
struct indexes {
    uint32_t *list;
    size_t n, cap;
};

/* The `node` of an execution that stands for an `update`, or that was
 * withdrawn. */
#define NODE_UPDATE 0xFFFFFFFDu

/* ---- steps: the journal inside an execution (asks/step.c) ---- */

enum step_state {
    STEP_IN_FLIGHT = 1, /* being performed; nothing of it is recorded */
    STEP_OPEN,          /* its intent is recorded, its answer is not */
    STEP_PENDING, /* a question, timer or child; its request is recorded */
    STEP_ANSWERED
};

struct heard { /* an answer that leaves the effect in doubt */
    int32_t status;
    json_t *value;  /* the answer, or an error message */
    json_t *seen;   /* {cause, answer?} for the request about the doubt; NULL:
                       none */
    uint32_t after; /* number of asks of the call before it */
};

struct step { /* one ask; `key` and `method` follow it in memory */
    size_t size;
    uint32_t index, ordinal;
    const char *key, *method;
    uint8_t digest[MORTISE_DIGEST]; /* digest of its arguments */
    enum mortise_step_kind kind;    /* 0: a replayed read */
    enum step_state state;
    json_t *payload; /* OPEN: its arguments; PENDING: the request */

    struct mortise_table_entry by_name;

    bool has_effect; /* an EFFECT; `effect` to `n_equal_effects` are
                                       set */
    uint8_t effect[MORTISE_DIGEST]; /* its idempotency key */
    /* Entry in journal.effects; only the first of equal effects is there. */
    struct mortise_table_entry effect_links;
    uint64_t
        n_equal_effects; /* number of effects equal to it, itself included */
    bool cleared; /* OPEN: a person decided that it is to be performed again */

    char request[REQUEST_ID];
    bool inside; /* asked within another step: it has no place in the order */
    uint64_t deadline_ms;
    uint64_t lasts_ms; /* a relative wait of this length; 0: `deadline_ms` is a
                          time of day */
    uint64_t ends_ms;  /* end of a relative wait, by steady_ms; 0: not computed
                          yet */

    int32_t status;
    json_t *answer; /* or an error message */
    uint32_t after; /* number of asks of the call before the answer */
    bool completed; /* an effect that happened */
    uint32_t exec;  /* TOOL, OPEN: the execution that runs it */
    bool of_model;  /* live only: it asks a model, */
    bool spends;    /* ... and the `usage` of the answer counts as spent */

    /* Live only, down to `seq`. */
    struct heard *heard; /* OPEN: an unclear answer; NULL: none */
    uint64_t ask;        /* the engine's id of the ask that waits; 0: none */
    bool made;           /* EFFECT: it was performed since its intent */
    uint32_t entrance;   /* the entrance that asked it last */
    uint32_t settled;    /* the entrance in which it was answered */
    bool later;          /* TOOL: its asker was told to suspend, in that
                            entrance */
    uint64_t seq;        /* sync this commit before its answer is sent */
};

struct journal {
    struct step **steps; /* in the order in which they were first asked */
    size_t n, cap;
    size_t n_inside; /* number of recorded steps that have `inside` */
    struct mortise_table by_name;
    struct mortise_table effects; /* the first of each set of equal effects */
    struct indexes answers;       /* steps in the order of their answers */
    uint32_t recorded;            /* number of steps with anything recorded */
    bool has_reply;               /* a model answered */

    /* The current entrance: one call, from its start until it returns. */
    uint32_t entrance;
    uint32_t issued, next; /* number of asks; the next ordinal */
    size_t told;           /* position in `answers`: those before it were
                              sent */
    bool leaves;           /* it was told to suspend: it asks nothing more */
    /* Prefix of the keys of its steps: "" for an executor, otherwise the name
     * of the check (asks/step.c (9)). */
    char scope[MORTISE_DIGEST_HEX];
};

struct step_wait { /* a step whose commit is not synced yet */
    uint64_t seq;
    uint32_t exec, step;
    bool of_check; /* the step is in x->checks */
};

/* The usage of models by an execution (spend/usage.c). */
struct cost {
    struct mortise_usage all; /* of all its attempts */
    /* Usage that a re-entered call will report again while its journal is
     * replayed; it counts once. */
    struct mortise_usage again;
    bool warned; /* a warning was emitted: it used more than it had reserved */
};

/* The amounts that an execution reserved for its call (spend/budget.c). */
struct hold {
    uint64_t amount[MORTISE_N_SPENDS];
    bool open;     /* reserved and not settled */
    /* live only: the reservation is on disk, but the call did not start */
    bool call_not_started;
    bool goes_on;  /* it suspended; re-entering it continues the same call */
    uint32_t asks; /* asks of models in flight, covered by `amount` */
    /* Live only: amounts that an ask of a model did not fit into.  The next
     * call reserves them.  Zeroes: none. */
    uint64_t wants[MORTISE_N_SPENDS];
};

/* A message from a person to the run (inbox.c). */
struct told {
    json_t *text;
    const char *node; /* only models of this node receive it; "": any */
    /* Live only: the step that carries it to a model; exec 0: none. */
    uint32_t exec, step;
};

/* The budget of a graph. */
struct purse {
    uint64_t most[MORTISE_N_SPENDS]; /* limits; UINT64_MAX: none */
    uint64_t spent[MORTISE_N_SPENDS], held[MORTISE_N_SPENDS];
    /* Only the run's purse, if the run is in a tree.  `others`: recorded
     * amounts that other runs of the tree spent or reserved.  `out`: the part
     * of it that may be released again (tree.c; live only). */
    uint64_t others[MORTISE_N_SPENDS], out[MORTISE_N_SPENDS];
    bool warned[MORTISE_N_SPENDS]; /* low budget: the warning was emitted */
    bool told[MORTISE_N_SPENDS];   /* exceeded budget: the event was emitted */
    enum mortise_spend exceeded;   /* the amount that was exceeded last */
    bool led;                      /* on_exceeded: {goto} was followed */
};

/* The run's share in a budget that several runs spend from (spend/tree.c). */
struct tree {
    const char *origin;                 /* the run with the budget; NULL: none
                                           yet */
    uint64_t counted[MORTISE_N_SPENDS]; /* amounts that the tree counts */
    /* for the next commit; live only */
    struct mortise_spawn_budget_change spend;
    bool known, is_open;                /* live only: a view was supplied; it is
                                           in `told` */
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

/* Output of an execution's call that the cache may store (outcome/cache.c).
 * Live only. */
struct fresh {
    bool open; /* the output of the call may be stored under `key` */
    uint8_t key[MORTISE_DIGEST];
    json_t *output; /* NULL: no output that may be stored */
};

/* How an execution had ended before it asked again about its effect in
 * doubt. */
struct end {
    enum exec_state state; /* 0: it had not ended */
    enum loss loss;
    uint64_t ended_ms;
};

enum mortise_lookup { /* journaled */
#define LOOKUP(ID, name, family) MORTISE_LOOKUP_##ID,
#include "core/run/record/lookups.def"
                      MORTISE_LOOKUPS
};

/* One execution: node#visit.  It lives in the run's arena; mortise_run_free()
 * releases its JSON references.
 *
 * "By FILE:" names the only file that writes the fields up to the next such
 * mark; scripts/writers.sh checks it.  Other files call a function of that file
 * to change a field. */
struct exec {
    /* By state/exec.c: its identity and place, and fields that several entries
     * set. */
    uint32_t index, node, visit, generation, attempt;
    enum exec_state state;
    struct frame *frame;
    struct exec *sibling; /* the execution created before it in its frame */
    uint64_t started_ms, ended_ms;
    json_t *error;            /* {code, message} */
    json_t *sought;           /* results of its discovery edges, a list */
    json_t *trace;            /* its output as a trace for the memory */
    json_t *leaving;          /* its output, checked for its edges: */
    uint32_t *chosen, *taken; /* `chosen` holds the chosen edges twice; in the
                                 copy, detours replace some (leaving.c) */
    uint32_t n_chosen, n_taken;
    uint64_t intent_seq;
    bool counted;      /* as a step of the run */
    bool is_recorded;  /* the step is also counted after a crash */
    bool handled;      /* it failed, and on_error or a goto handled that */
    bool effect_open;  /* an effect is between intent and answer (runtime.md
                          6) */
    bool near;         /* live only: SUSPENDED on a timer that is due soon */
    bool lent;         /* ... its slot is used by its tools, which run */
    bool awaits_tools; /* ... SUSPENDED until its tools have ended */
    bool listed;       /* ... it is in the list r->askers */
    struct exec *next_asker;
    bool before_passed;  /* interrupt_before was approved */
    bool approved_whole; /* a person approved that its node runs (ASK_NODE), */
    bool approved_plan;  /* or its child graph (ASK_PLAN) */
    /* A decision about it, or about a tool that runs for it, is recorded, and
     * no later entry shows that it acted on the decision. */
    bool decided;

    /* By state/state_view.c: the causal past. */
    bool shared;          /* it has several successors */
    uint32_t n_preds;     /* length of `preds` */
    uint32_t idom, depth; /* immediate dominator, and its depth in the tree */
    uint32_t mark;        /* stamp of the last walk that reached it */
    uint32_t *preds;
    json_t *view;  /* the state before its writes, made on demand */
    json_t *after; /* the state after its writes, made on demand */
    /* By state/writes.c: */
    struct mortise_write *writes;
    size_t n_writes;
    /* By state/size.c: */
    uint64_t size_before; /* upper bound of the size of its view */
    uint64_t size_own;    /* upper bound of the size that its writes add */
    /* A measurement showed that the sum of both is this much too high. */
    uint64_t size_saved;
    uint64_t size_then; /* size_written when it was created */

    /* By state/identity.c: */
    uint8_t key[MORTISE_DIGEST]; /* the idempotency key of its effect */
    /* By state/actions.c: its calls and timers.  Live only. */
    uint32_t serial; /* of the newest call or timer */
    enum stop_why stop;
    bool timer, elapses; /* a timer is armed; it is relative, not a time of
                            day */
    /* By outcome/call_start.c: its newest call.  Live only. */
    enum mortise_run_call_kind call;
    uint64_t called_ms; /* start of the newest call, by steady_ms */

    /* By flow/race.c: */
    enum loss loss;
    /* 1 + the index of the innermost frame in which it lost a race with
     * `losers: finish`.  Its writes do not count in that frame and farther out.
     * 0: none. */
    uint32_t discard;
    /* By outcome/start.c: timeout of the attempt, if a template gives it; live
     * only */
    uint64_t timeout_ms;
    /* By flow/map.c: */
    struct fan *fan; /* the map that it gathers; NULL: a visit of a node */
    /* By flow/frame.c: */
    struct exec *next_yield; /* the one before it that yielded in its element */
    /* Index of the failed execution whose on_error edge led here; 0: none. */
    uint32_t handles;
    bool failed_to_graph_end; /* its failure reached the end of its graph unhandled */
    /* By flow/join.c: */
    json_t *caught; /* failures that its join collected: [{node, error}] */
    /* By flow/final.c: */
    bool final;   /* it is a finaliser: it runs after its graph was stopped */
    bool ran_before_stop; /* live only: it ran before the stop */
    uint64_t spent_ms; /* time that its attempt had used by then; live only */
    /* By flow/sub.c: the child graph. */
    struct frame *child; /* subgraph node: the graph of its newest attempt */
    json_t *child_state; /* the final state of `child` */
    bool child_over;     /* `child` completed, and its result was used */

    /* By flow/tools.c: tools that run for it, */
    struct frame *tools; /* the graph of its tools; NULL: none ran yet */
    /* ... and the step that it runs for, if it is a tool: 1 + the index of a
     * step of its graph's owner; 0: it is no tool */
    uint32_t serves;
    uint8_t served[MORTISE_DIGEST]; /* the key of that step, if it has one */
    bool asked_again; /* a later attempt of its asker asked for it again */
    /* By asks/earlier.c: the generation of its asker in which a person rejected
     * it or declared it failed; 0: none. */
    uint32_t rejected_in_generation;

    /* By asks/generation.c: fields that last for one generation. */
    bool child_again; /* `child` failed; retry in it, not in a new child */
    /* Retry inside `child` only if its input is unchanged. */
    bool child_asks;
    bool body_is_given; /* `body` does not come from the template */
    bool unknown;       /* it ends with its effect in doubt; nobody is asked */
    uint32_t checked;   /* the generation whose arguments passed the guardrails;
                           0: none */
    /* 1 + the index of the choice of its node that it calls; 0: none yet, or
     * its node has no choices */
    uint32_t choice;
    uint32_t ordinal; /* of the next request */
    json_t *notes;    /* guardrail verdicts */
    json_t *approval; /* {actor, reason?, edited?}; NULL: no person approved */
    json_t *advice;   /* live only: a judge's verdict that did not decide */
    json_t *decision; /* the accepted decision, until it is recorded */
    /* {code, message, actor?, goto?}: the failure that a rejection or an
     * expired deadline causes, until it is recorded */
    json_t *refusal;
    /* a person's decision made it fail, and since then the run was neither
     * paused nor resumed */
    bool refused;
    json_t *body; /* live only: the arguments, once evaluated */
    json_t *found[MORTISE_LOOKUPS]; /* NULL: that lookup did not run yet */
    /* {output, how, error?}: the shortened output that its successors see;
     * NULL: they see the output itself. */
    json_t *compacted;
    /* By asks/steps.c: its steps (asks/step.c). */
    struct journal *journal; /* NULL: none */
    struct journal *checks;  /* steps of its guardrails; NULL: none */
    /* {key: answer} of effects that were completed in earlier attempts and
     * generations; NULL: none. */
    json_t *effects;
    /* {request id: {key, method}}: steps in doubt that a person resolved; NULL:
     * none. */
    json_t *resolved;
    /* By asks/step.c: live only. */
    json_t *broke; /* error message: the replayed call made a different ask than
                      before */
    bool goes_on;  /* its newest call started with a journal to replay */
    /* By asks/doubt_evidence.c: evidence in the request about its doubt. */
    bool evidence_has_entry; /* `told` is in an entry of its own, not only in a
                        request */
    json_t *told;    /* {cause, step?, answer?}; NULL: none */

    /* By spend/budget.c: */
    struct hold *hold; /* NULL: it never reserved anything */
    /* By spend/usage.c: */
    struct cost *cost; /* NULL: no usage was reported */

    /* By outcome/doubt.c: an effect in doubt. */
    struct end was; /* how the call ended before x asked whether its effect happened */
    /* Live only: the failure of the attempt whose effect is in doubt, {code,
     * class, message}; NULL: the process died. */
    json_t *failure;
    bool failed_in_doubt; /* an attempt failed with its effect open */
    bool cut;     /* a cancel command stopped it */
    /* By outcome/doubt_resolve.c: */
    bool failing; /* it fails now because of its doubt */
    /* By outcome/result.c: results of its call. */
    json_t *result; /* output of an attempt that failed nevertheless */
    /* {update?, goto?}: returned beside its output. */
    json_t *said;
    uint8_t result_key[MORTISE_DIGEST];
    /* By outcome/settle.c: live only. */
    struct ended *ended; /* how its call ended, while its tools still run;
                            NULL */
    /* By outcome/cache.c: live only. */
    struct fresh *fresh; /* NULL: the cache was not looked up for it */
    /* By outcome/sought.c: live only.  Its output and the query, while a
     * discovery edge is looked up. */
    json_t *seeking, *searched_query;
    /* By outcome/recall.c: live only. */
    json_t *overlay; /* matching traces that this run wrote itself */
    /* By outcome/lookups.c: live only. */
    json_t *recalled; /* the result of a lookup, while guardrails check it */
    /* By outcome/remember.c: live only.  Its output while it is checked for or
     * written to the memory; and the replacement that guardrails made. */
    json_t *encoded, *replaced_trace;
    /* By outcome/compact.c: live only.  The output that is to be shortened, and
     * the shortened output, until it is recorded. */
    json_t *full_output, *brief;
    /* By outcome/arguments.c: live only. */
    uint8_t body_digest[MORTISE_DIGEST];
    /* By outcome/fail.c: live only. */
    uint64_t retry_after_ms; /* from its error */
    /* By outcome/pipeline.c: the origin of the output in the pipeline, and the
     * stage that it waits at (stages.def). */
    enum done_how how;
    uint8_t awaits;
    /* By outcome/guard.c: the guardrail check in progress. */
    bool replaced; /* a guardrail replaced `subject` */
    enum mortise_guard_stage stage;
    uint32_t guard;  /* the guardrail that is asked, */
    uint32_t turn;   /* and the number that were asked in this stage before
                        it */
    uint32_t at;     /* EDGE: position of the checked edge among those that x
                        takes */
    json_t *subject; /* as sanitised so far */
    /* OUTPUT: the output that passed, while its update is checked. */
    json_t *judged;
    /* By outcome/verdict.c: */
    json_t *verdicts; /* new verdicts that are not recorded yet */

    /* By apply_exec.c: its progress and its pending request. */
    bool cached;       /* its output came from the cache */
    bool by_on_error;  /* ... or from its on_error */
    bool child_failed; /* `child` failed, and this failed with it */
    bool approved;
    uint32_t noted; /* the generation whose start is recorded */
    json_t *output;
    uint64_t next_ms;
    uint64_t pause_ms; /* its attempt failed this long before next_ms */
    uint64_t deadline_ms;
    json_t *payload;
    enum mortise_ask ask;
    char request[REQUEST_ID];
    uint8_t approved_digest[MORTISE_DIGEST];
    /* By apply_run.c: */
    uint32_t heir; /* index of the update during which it was held: its
                      successors follow that update */
};

enum edge_state { EDGE_OPEN, EDGE_TAKEN, EDGE_DEAD, EDGE_FAILED };

enum item_phase {
    ITEM_WAITS,
    ITEM_ACTIVE,
    ITEM_OVER,   /* done, or failed and handled */
    ITEM_FAILED, /* failed and not handled */
    ITEM_SKIPPED,
    ITEM_SKIPPED_FAILED
};

/* The state of one item of a frame's region: a node, or a child region. */
struct item {
    enum item_phase phase;
    uint32_t n_decided, n_taken, n_failed; /* number of incoming edges in each
                                              state */
    uint32_t cause;  /* failed branches: the least execution that one failed
                        of */
    uint32_t visits; /* visits of a node in this scope, including older
                        frames */
    uint32_t exec;   /* the newest visit in this frame; 0: none */
    uint32_t mark;   /* stamp of the last walk that reached it */
    bool lost;       /* another branch won the race: it does not start */
    /* Another branch won the race: it starts, but its writes do not count. */
    bool discard;
    struct frame *visit; /* a loop's newest frame; at first one of an older
                            frame */
    struct fan *fan;     /* a map's newest fan; at first one of an older
                            frame */
};

/* A live instance of a region.  It lives in the run's arena. */
struct frame {
    uint32_t index; /* order of creation; a replay creates the same order */
    const struct mortise_graph *graph;
    const struct mortise_graph *was; /* the graph before the run was steered; or
                                        NULL */
    const struct mortise_region *region;
    struct frame *parent; /* frame of the region around it; NULL for a
                             graph's */
    struct frame *top;    /* the frame of the graph that it is in */
    struct exec *yields;  /* map element: executions that took an edge to the
                             join */
    struct scope *scope;
    struct item *items; /* nodes by slot, then child regions */
    uint8_t *edges;     /* enum edge_state, by slot */
    uint32_t *edge_src; /* the execution that decided the edge */
    uint32_t n_open;    /* number of items that wait or are active */
    struct exec *execs; /* executions of its nodes, newest first */
    struct frame *kids; /* frames of child regions, newest first */
    struct frame *sibling;
    bool again;    /* a back edge was taken */
    bool left;     /* an exit was taken */
    bool failed;   /* a failure reached its end unhandled */
    bool failed_unhandled; /* it failed, and no join around it handles that */
    bool over;     /* map element: its end was counted */
    bool late;     /* map element: it ended after the race of its map was won */
    bool waits;    /* map element: it is to be retried when a slot is free */
    bool behind;   /* a goto abandoned it */
    bool lost;     /* it starts nothing more */
    bool halted;   /* it starts nothing more, and no edges are decided */
    uint32_t discard; /* initial `discard` of its executions */
    uint32_t cause;   /* failed: the least execution that it failed of */
};

/* A namespace for visits: the run's graph, a nested graph, or a map element. */
struct scope {
    const char *prefix, *suffix; /* of the paths of its executions */
    struct frame *root;
    const struct scope *outer;           /* map element: the scope around it;
                                            NULL for a graph */
    struct fan *fan;                     /* map element: its map; NULL for a
                                            graph */
    uint32_t at[MORTISE_MAX_MAPS], n_at; /* indexes of map elements, outermost
                                            first */

    /* The rest is for graphs only. */
    struct exec *owner; /* the parent execution; NULL: the run */
    json_t *input;
    struct artifact *artifacts; /* by node */
    json_t *loop_error;         /* a loop took both a back edge and an exit: the
                                   error, */
    uint32_t loop_left;         /* and the execution of its entry */
    struct purse *purse;        /* NULL: it has no budget */
    uint32_t n_live;            /* active executions in it, without children */
    enum loss halt;             /* why it was stopped, if it was */
    /* it reached END with `end: first`; a resume only retries nodes that failed
     * before that (race.c (4)) */
    bool at_end;
    bool over;          /* its owner is to end */
    uint32_t n_running; /* calls in flight in it and in its nested graphs */
    uint64_t active_ms; /* time with calls in flight; while `ticks`, up to
                           since_ms */
    uint64_t since_ms;
    bool ticks, changed;
    struct scope *next_changed; /* list r->clocks */
    uint64_t wall_ms; /* used part of budget.wall; while `ticks`, up to
                         since_ms */
    bool wall_used_up; /* live only: the loop noticed that it is used up */
    bool in_wall_list; /* live only: it is in r->walls */
    struct scope *next_in_wall_list;
    struct scope *next; /* next in r->graphs */
};

/* A map that runs or has run. */
struct fan {
    const struct mortise_region *map;
    struct frame *home;
    struct item *item;        /* of home */
    struct fan *older, *next; /* the item's previous fan; next in r->fans */
    uint32_t number;
    json_t *list;
    uint32_t max_parallel;
    struct frame **elements;
    size_t n, n_started_elements, n_over;
    size_t n_waiting;        /* ended elements that are to be retried */
    size_t n_reached_join,
        n_failed; /* ended elements; those of `n_reached_join` took an edge
                                to the join */
    bool enough;             /* the race is won: elements that still run have
                                lost */
    struct indexes preds;    /* predecessors of the elements; in the arena */
    size_t made;             /* n_execs when the map began */
    struct exec *gather;     /* NULL: not all elements have ended */
    bool lost;               /* no more elements start */
};

struct unsent {   /* a durable event whose commit is not written yet */
    uint64_t seq; /* of the commit */
    json_t *event;
};

struct due { /* an edge, in its home frame */
    struct frame *home;
    uint32_t edge;
};

struct artifact {
    /* Path of artifacts.OUTPUT_AS of a node, made on demand. */
    struct mortise_path *path;
    const struct mortise_reducer *how; /* NULL: no reducer is declared */
};

/* A graph that the run used before it was steered; executions that ended refer
 * to it. */
struct former {
    struct former *next;
    struct mortise_graph *graph; /* a reference */
};

/* A list of commands that waits for calls in flight to stop. */
struct held_command {
    struct mortise_command_list said; /* a copy that owns references */
    struct mortise_arena arena; /* for its strings */
    /* error cause of the calls that it stopped; static; NULL: none */
    const char *cause;
};

/* An id under which a list of commands is recorded (order.c). */
struct order {
    const char *id;
    uint8_t digest[MORTISE_DIGEST];
};

/* A trace that the run recorded and its memory may not have yet. */
struct unwritten {
    json_t *trace;
    enum mortise_consistency how; /* SNAPSHOT or JOURNALED */
    uint64_t seq;                 /* the commit that contains it */
};

/* Writes to the memory that are still to be made (outcome/outbox.c). */
struct outbox {
    bool pinned;
    uint64_t as_of;   /* the version that snapshots read */
    uint64_t pin_seq; /* the commit that contains it */
    struct unwritten *list;
    size_t n, cap;
    /* {id, by, at}: uses of traces to report to the memory; NULL: none */
    json_t *uses;
    /* Live only, from here on. */
    enum {
        OUTBOX_IDLE,
        OUTBOX_PINNING,
        OUTBOX_DELIVERING,
        OUTBOX_WAITING
    } state;
    uint32_t serial;   /* of its newest call or timer */
    size_t n_out;      /* DELIVERS: number of traces in the write, from the
                          front */
    size_t n_uses_sent; /* ... and of the uses */
    uint64_t uses_seq; /* the commit that contains the newest use */
    bool timer;        /* armed */
    bool asked;        /* the version for snapshots was requested, once */
    bool opened;       /* the run is about to complete: write snapshots, too */
    unsigned fails;    /* consecutive failed deliveries */
    /* {code, class, message} of the last failure, if the engine does not retry
     * by itself; NULL: none */
    json_t *error;
};

/* A request that was settled (settled.c). */
struct settled {
    char id[REQUEST_ID];
    const char *word;  /* how it was settled; static */
    const char *actor; /* the person who decided, in the run's arena; "":
                          none */
};

/* The approval of a run's plan (outcome/plan.c). */
struct plan {
    bool waits;               /* START's edges wait for the approval */
    char request[REQUEST_ID]; /* pending; "": none */
    json_t *payload;          /* of that request */
    json_t *error;            /* the plan was rejected: the error that the run
                                 fails with */
};

/* A run.  Its marks are like those of struct exec.  If a mark names two files,
 * the first adds to the fields and the second removes from them. */
struct mortise_run {
    /* By run.c: identity, watchers, and the current event. */
    const struct mortise_mem *mem;
    const char *tenant, *id;
    json_t *self; /* {id, tenant, graph, version}: `run` in expressions */
    bool watched;
    mortise_run_sink *sink;
    void *sink_ud;
    uint64_t written, synced; /* commits; written >= synced */
    uint64_t time_ms;
    /* A clock for durations: it starts at the wall clock of the first event and
     * is never adjusted. */
    uint64_t steady_ms, elapsed_ms;
    struct mortise_actions *actions;
    size_t recorded; /* bytes of the record that earlier steps wrote */
    size_t unsent_head;
    /* By run.c and flow/regraph.c: */
    struct mortise_graph *graph; /* a reference */
    struct former *formers;
    struct mortise_graph *newest; /* a reference: `graph`, or a graph that the
                                     run may be steered to */
    /* By all: memory that lives as long as the run. */
    struct mortise_arena arena;

    /* By state/rules.c: */
    bool ruled;                /* the `rules` entry was applied */
    struct mortise_uuid store; /* the store that admitted the run */
    /* By state/pins.c: */
    struct mortise_pin *pins;
    size_t n_pins;
    /* By state/size.c: */
    uint64_t size_written; /* size of the writes of all commits */
    /* By state/state_view.c: */
    uint32_t stamp; /* of the last walk */
    /* By state/settled.c: */
    struct settled *settled; /* in the order in which they were settled */
    size_t n_settled, cap_settled;
    /* By state/exec.c: executions and counters of their states; n_running and
     * n_waiting include the run's own calls and timers. */
    struct exec **execs; /* execs[0] is START */
    size_t n_execs, cap_execs;
    uint32_t n_running;                /* calls in flight: RUNNING and
                                          STOPPING */
    uint32_t n_own;                    /* the run's own calls among them */
    uint32_t n_waiting;                /* READY, INTENT, BACKOFF */
    uint32_t n_asked;                  /* ASKED, HELD */
    uint32_t n_asked_so[MORTISE_ATTENTION]; /* ASKED, by kind */
    uint32_t n_suspended, n_near, n_slots_lent;
    uint32_t n_fresh;    /* READY, and not counted as a step */
    uint64_t n_started;  /* started steps */
    uint32_t n_inside;   /* INSIDE */
    uint32_t n_failed;   /* failed and not handled */
    uint32_t n_finished; /* ended steps */
    /* By run.c and state/exec.c: */
    uint32_t *users; /* by resource: the execution that uses it; 0: none */
    /* By state/exec.c and run.c: */
    struct indexes ready; /* queue of executions in X_READY, oldest first */
    size_t ready_head;
    /* By state/exec.c: executions whose tools may have ended. */
    struct exec *askers;
    /* By state/exec.c and outcome/gather.c: */
    struct indexes gathers; /* executions in X_READY that gather a map: they
                               call nothing */
    /* By state/exec.c and run.c and command/command.c: */
    struct indexes intents; /* executions whose intent is not synced yet */
    /* By state/exec.c and spend/clock.c: */
    struct scope *clocks; /* scopes whose clocks are to start or stop */

    /* By flow/frame.c: */
    struct frame **frames; /* frames[0] is the graph's */
    size_t n_frames, cap_frames;
    struct indexes ended; /* stack of frames with nothing left to do */
    struct indexes preds; /* predecessors of the execution being started */
    struct scope *graphs; /* all graphs, to be freed */
    struct due *work;     /* stack of decided edges whose targets are to be
                             updated */
    size_t cap_work;
    /* By flow/frame.c and flow/reopen.c: */
    size_t n_work;
    /* By flow/final.c: */
    bool finals;   /* finalisers were started */
    bool given_up; /* a second cancel: do not wait for finalisers */
    /* By apply_run.c and flow/frame.c: lists of the maps that START leads to,
     * until its edges are applied; NULL: none. */
    json_t *lists;
    /* By flow/map.c: */
    struct fan *fans; /* all maps, to be freed */
    /* By flow/race.c and outcome/stop.c: */
    struct indexes losers; /* executions to stop, or stopped already */
    /* By flow/sub.c and outcome/gather.c: */
    struct indexes ended_inner_graphs; /* executions whose child graph has ended */

    /* By outcome/plan.c: */
    struct plan plan;
    /* By outcome/outbox.c: */
    struct outbox outbox;
    /* By state/inbox.c: messages that no model has received yet. */
    struct told *inbox;
    size_t n_inbox, cap_inbox;

    /* By spend/budget.c: */
    /* executions in X_READY that wait until reservations are released */
    struct indexes waiting_for_budget;
    bool budgets_released;     /* some reservation was released since the last
                              check */
    /* By spend/clock.c: */
    struct scope *walls; /* scopes with wall time that is not recorded yet */
    /* By spend/limit.c: */
    uint64_t raised_steps, raised_visits; /* raised limits; 0: not raised */
    /* By spend/usage.c and run.c: */
    struct mortise_usage usage; /* of all executions; freed with the run */
    /* By asks/steps.c: */
    uint32_t n_questions; /* pending questions of steps */
    uint32_t n_awaited;   /* open steps that wait for the end of a child */
    /* By asks/step.c: */
    struct step_wait *step_waits;
    size_t n_step_waits, cap_step_waits;
    uint64_t put_seq; /* the last commit with a put; 0: none since loading */

    /* By spend/tree.c: */
    struct tree tree;
    /* By state/spawned.c: */
    const char *spawned_by; /* a spawn handle; NULL: the run is no child */
    bool has_handles;       /* an execution claimed a spawn handle */
    /* By state/spawned.c and commit.c and run.c: */
    bool leaves; /* the record may abandon children (flow/left.c) */
    /* By apply_run.c: entries about the run itself. */
    uint8_t seed[MORTISE_DIGEST];
    uint64_t created_ms;
    uint32_t update; /* the newest update; 0: none */
    json_t *error;   /* the error that the run failed with */
    bool cancelling; /* a cancel is recorded, or the run looks back (`after`) */
    int after;       /* status before a resume that only settles doubts; 0:
                        none */
    enum mortise_pause paused;
    /* By run.c and apply_run.c: */
    int status;
    const char *reason;
    /* By command/command.c: */
    struct held_command *held;
    /* By command/command.c and run.c: */
    /* reason why the run does not continue though it is not paused; static;
     * NULL: no command gave one */
    const char *stays;
    bool applied;           /* this step applied a command */
    bool obeys;             /* a list of commands is being applied, */
    uint32_t failed_before; /* ... and n_failed when that began */
    /* By command/decide.c: executions that the list's decisions are about;
     * index 0: nothing follows */
    struct indexes decided;
    /* By run.c and command/command.c and command/pause.c: */
    bool live; /* the run continues by itself; false after a replay */

    /* By commit.c: */
    uint64_t left_seq;   /* the newest commit with `leaves`; 0: none since
                            loading */
    uint64_t sync_asked; /* a sync up to this commit was requested */
    bool stamped;        /* the record begins with the time of its first
                            entry */
    bool asked;          /* the commit creates a request to a person */
    /* By commit.c and run.c: */
    uint64_t seq;
    struct mortise_uuid head;
    uint64_t first_event;
    uint64_t applied_seq; /* answer the command when this is synced; 0: none */
    /* By state/apply.c and commit.c: the record of the current step. */
    uint32_t record_frame; /* frame of its last entry */
    unsigned phases;       /* bits 1 << enum mortise_phase: of the record */
    /* Time of its last entry that has one; 0: none. */
    uint64_t record_ms;
    /* By state/apply.c and commit.c and run.c: */
    struct mortise_buf record; /* its entries */
    bool must; /* an entry in it cannot wait for the commit of a later step */
    /* By state/request.c and asks/step.c and outcome/cache.c and commit.c: */
    struct mortise_run_commit kept; /* the parts of the next commit besides the
                                       record */

    /* By state/event.c: */
    uint64_t n_events;
    int sink_said; /* nonzero: the sink ended the replay */
    struct unsent *unsent;
    size_t cap_unsent;
    /* By state/event.c and run.c: */
    size_t n_unsent;
    /* By state/order.c: */
    struct order *orders; /* in the order of recording */
    size_t n_orders, cap_orders;
    /* By state/order.c and commit.c and run.c: */
    const char *order; /* order of the current record; NULL: none */
    /* By command/command.c and state/order.c: the list of commands that is
     * being applied, until its first entry is recorded. */
    const struct mortise_command_list *ordering;
};

/* ---- indexes.c ---- */
int mortise_indexes_add(const struct mortise_mem *mem, struct indexes *to,
                        uint32_t index, struct mortise_err *err);
void mortise_indexes_finish(const struct mortise_mem *mem,
                            const struct indexes *of);

/* ---- size.c ---- */
/* Update the size bounds: x has its preds; x has one more write; x has no
 * writes any more. */
void mortise_size_add_preds(struct mortise_run *r, struct exec *x);
void mortise_size_add_write(struct mortise_run *r, struct exec *x,
                            const struct mortise_write *w);
void mortise_size_subtract_writes(struct mortise_run *r, struct exec *x);
/* MORTISE_ELIMIT: the state is larger than the graph's limits.state. */
int mortise_size_check_state(const struct mortise_graph *g, const json_t *state,
                             uint64_t *size, struct mortise_err *why);
/* mortise_size_is_small(): the bounds show that x is within the limit.
 * mortise_size_check() measures x->after, which must be set, only if they do
 * not. */
bool mortise_size_is_small(const struct exec *x);
int mortise_size_check(struct mortise_run *r, struct exec *x,
                       struct mortise_err *why);

/* ---- found.c ---- */
/* Did discovery restrict the tools that x is offered?  Is the tool,
 * PLUGIN/OPERATION or graph/NAME, offered to x? */
bool mortise_exec_is_narrowed(const struct exec *x);
bool mortise_exec_is_offered(const struct exec *x, const char *tool);

/* ---- state_view.c ---- */
/* Replace the predecessors of x.  n is 0 only for START. */
int mortise_view_set_preds(struct mortise_run *r, struct exec *x,
                           const uint32_t *preds, size_t n,
                           struct mortise_err *err);
/* x has several successors, even if it took only one edge. */
void mortise_view_set_shared(struct exec *x);
/* The writes of x were removed: drop x->after. */
void mortise_view_drop_after(struct exec *x);
/* Begin a walk over executions; mark x as reached in it. */
void mortise_view_begin_walk(struct mortise_run *r);
void mortise_view_set_reached(const struct mortise_run *r, struct exec *x);
static inline bool mortise_view_is_reached(const struct mortise_run *r,
                                           const struct exec *x)
{
    return x->mark == r->stamp;
}
/* Mark the causal past of x.  *mark is valid until the next walk. */
int mortise_view_mark_past(struct mortise_run *r, const struct exec *x,
                           uint32_t *mark, struct mortise_err *err);
/* Make x->view. */
int mortise_view_make_before(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err);
/* Make x->after, the state after the writes of x, which must be set. */
int mortise_view_make_after(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
/* Can x->after be made later?  True if its writes surely succeed and would have
 * to copy the state. */
bool mortise_view_can_defer(const struct exec *x);
/* Add the predecessors of a commit that follows everything in f, a graph's
 * frame. */
int mortise_view_add_frontier(struct mortise_run *r, const struct frame *f,
                              struct indexes *preds, struct mortise_err *err);
/* The same for a commit that follows everything in these frames, as far as it
 * counts in f. */
int mortise_view_add_frontier_in(struct mortise_run *r, const struct frame *f,
                                 struct frame *const *frames, size_t n_frames,
                                 struct indexes *preds,
                                 struct mortise_err *err);
/* Add the last commits of each of these frames.  A failure is no commit: it may
 * be retried after a later update.  An update that was made after the first
 * `since` executions is added, too. */
int mortise_view_add_frontier_of(struct mortise_run *r,
                                 struct frame *const *frames, size_t n_frames,
                                 size_t since, struct indexes *preds,
                                 struct mortise_err *err);
/* The fold over all commits in f, a graph's frame: a new reference.  `strict`:
 * fail on conflicts and on operands that a reducer cannot take. */
int mortise_view_fold_all(struct mortise_run *r, const struct frame *f,
                          bool strict, json_t **out, struct mortise_err *err);

/* ---- exec.c ---- */
struct exec *mortise_exec_new(struct mortise_run *r, struct frame *f,
                              uint32_t node, uint32_t visit,
                              const struct indexes *preds,
                              struct mortise_err *err);
/* Find by the handle of a call or timer; NULL if the handle is stale. */
struct exec *mortise_exec_find_by_handle(const struct mortise_run *r,
                                         uint64_t handle);
/* The execution of `top`'s graph that is x or contains x; NULL: none. */
const struct exec *mortise_exec_find_within(const struct exec *x,
                                            const struct frame *top);
/* The only function that changes x->state: it keeps the run's counters. */
void mortise_exec_set_state(struct mortise_run *r, struct exec *x,
                            enum exec_state s);
/* Does another execution use its node's resource? */
bool mortise_exec_must_await_resource(const struct mortise_run *r,
                                      const struct exec *x);
/* The run was steered: its node has this index in the new graph. */
void mortise_exec_renumber(struct exec *x, uint32_t node);
/* Remove x, which is READY, as if it had never been: its node waits again, or
 * does not exist any more. */
void mortise_exec_withdraw(struct mortise_run *r, struct exec *x);
/* Rebuild r->users for the resources of the run's graph. */
int mortise_exec_rebuild_users(struct mortise_run *r, struct mortise_err *err);
/* Make x READY, at the end of the queue. */
int mortise_exec_make_ready(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
/* Make x INTENT: its call starts once the entry for its attempt is synced. */
int mortise_exec_make_intent(struct mortise_run *r, struct exec *x,
                             const struct mortise_entry *e,
                             struct mortise_err *err);
void mortise_exec_set_near(struct mortise_run *r, struct exec *x, bool near);
/* Make x SUSPENDED until all of its tools have ended. */
void mortise_exec_await_tools(struct mortise_run *r, struct exec *x);
/* Count a call of the run itself, or a timer that it waits for. */
void mortise_run_count_own_call(struct mortise_run *r, bool out);
void mortise_run_count_own_wait(struct mortise_run *r, bool waits);
/* Handle of the run's own newest call or timer, and a test for it. */
#define RUN_OWN ((uint64_t)UINT32_MAX << 32) /* belongs to no execution */
static inline bool mortise_run_is_own(const struct mortise_run *r,
                                      uint64_t handle)
{
    return handle == (RUN_OWN | r->outbox.serial);
}
/* Has x ended?  Only a retry of a failure can change it after that. */
static inline bool mortise_exec_has_ended(const struct exec *x)
{
    return x->state >= X_DONE;
}
/* Are the edges of the entry among `out`, in its order?  Then x can have taken
 * them. */
bool mortise_exec_can_take_edges(const uint32_t *out, uint32_t n_out,
                                 const struct mortise_entry *e);
int mortise_exec_store_taken(struct mortise_run *r, struct exec *x,
                             const struct mortise_entry *e,
                             struct mortise_err *err);
/* An entry about x, with the current time. */
struct mortise_entry mortise_exec_make_entry(const struct mortise_run *r,
                                             const struct exec *x,
                                             enum mortise_entry_type type);
static inline const struct mortise_node *
mortise_exec_node(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];

    assert(x->node < x->frame->graph->n_nodes); /* neither START nor an
                                                   update */
    assert(x->choice <= n->n_choices);
    (void)r;
    return x->choice != 0 ? &n->choices[x->choice - 1] : n;
}
struct item *mortise_exec_item(const struct exec *x);
/* The path artifacts.OUTPUT_AS of its node; NULL when memory ran out. */
struct artifact *mortise_exec_artifact(struct mortise_run *r,
                                       const struct exec *x);
/* Do guardrails that may block its output check x, or a node around x? */
bool mortise_exec_is_held(const struct mortise_run *r, const struct exec *x);
/* Like mortise_exec_is_held(), but only for the guardrails of the nodes around
 * x. */
bool mortise_exec_is_within_held(const struct mortise_run *r,
                                 const struct exec *x);
/* The error message of x for its successors.  If guardrails check the output of
 * x but not this message, return a fixed text instead.  Either `words` or
 * static. */
const char *mortise_exec_get_failure_message(const struct mortise_run *r,
                                             const struct exec *x,
                                             const char *code,
                                             const char *words);
void mortise_exec_print_path(const struct mortise_run *r, const struct exec *x,
                             char out[MORTISE_EXEC_PATH]);
/* A total order that does not depend on timing: declared position, then visit,
 * then map element, the outermost map first.  <0, 0, >0. */
int mortise_exec_compare(const struct exec *a, const struct exec *b);
/* The lesser of two executions in that order; 0 stands for none. */
uint32_t mortise_exec_get_least(const struct mortise_run *r, uint32_t a,
                                uint32_t b);
/* Do the writes of x, which is in f or in a frame in f, count for f? */
bool mortise_exec_is_counted_in(const struct exec *x, const struct frame *f);
/* mortise_exec_count_started(): count x as a started step. mortise_exec_set_no_step(): x
 * is being created and never counts as a step. */
void mortise_exec_count_started(struct mortise_run *r, struct exec *x);
/* Like mortise_exec_count_started(), because of an entry: x is also counted after a
 * crash. */
void mortise_exec_count_recorded(struct mortise_run *r, struct exec *x);
void mortise_exec_set_no_step(struct exec *x);
/* Set the number and the start of its attempt. */
void mortise_exec_set_attempt(struct exec *x, uint32_t attempt,
                              uint64_t started_ms);
/* Set the time at which x ended; 0: clear it, because x will end again. */
void mortise_exec_set_ended(struct exec *x, uint64_t at_ms);
/* Set its error; NULL: none. */
void mortise_exec_set_error(struct exec *x, json_t *error);
/* Its failure, present or next, is handled, so a resume does not retry it.
 * `handled` false: it is about to fail and nothing handles that. */
void mortise_exec_set_handled(struct mortise_run *r, struct exec *x,
                              bool handled);
/* Set whether its effect may have happened without a recorded answer. */
void mortise_exec_set_effect_open(struct exec *x, bool open);
/* Its interrupt_before is settled. */
void mortise_exec_set_before_passed(struct exec *x);
/* A person approved that its node runs (MORTISE_ASK_NODE), or its child graph
 * (MORTISE_ASK_PLAN). */
void mortise_exec_set_whole_approved(struct exec *x);
void mortise_exec_set_plan_approved(struct exec *x);
/* Set and clear x->decided.  While it is set, an update restarts neither x nor
 * the executions that x runs for as a tool. */
void mortise_exec_set_decided(struct exec *x);
void mortise_exec_clear_decided(struct exec *x);
/* Begin a new generation: no attempt has started, failed or ended. */
void mortise_exec_begin_generation(struct exec *x);
/* Store the output and the edges of an entry in x->leaving; and drop them. */
int mortise_exec_store_leaving(struct mortise_run *r, struct exec *x,
                               const struct mortise_entry *e,
                               struct mortise_err *err);
void mortise_exec_drop_leaving(struct exec *x);
/* Set the results of its discovery edges. */
void mortise_exec_set_sought(struct exec *x, json_t *found);
/* Set its trace; NULL: none. */
void mortise_exec_set_trace(struct exec *x, json_t *trace);
/* The discovery edge to look up next; NULL: all were looked up. */
const struct mortise_edge_discovery *
mortise_exec_get_next_discovery(const struct exec *x);
/* The result for one edge, {query, kind, results, error?}; NULL: not looked up.
 * And the id of the node that it leads to; NULL: to the fallback. */
const json_t *
mortise_exec_get_discovery(const struct exec *x,
                           const struct mortise_edge_discovery *d);
const char *
mortise_exec_get_discovered_node(const struct exec *x,
                                 const struct mortise_edge_discovery *d);
/* Is x a finaliser, or in one? */
static inline bool mortise_exec_is_final(const struct exec *x)
{
    while (x != NULL && !x->final)
        x = x->frame->top->scope->owner;
    return x != NULL;
}
/* The error message of a timeout of x. */
const char *mortise_exec_print_timeout(const struct exec *x,
                                       char out[MORTISE_TIMEOUT_WORDS]);
/* Time limit of its attempt or of its child graph; 0: none. */
enum { MORTISE_FINAL_MS = 60000 };
static inline uint64_t mortise_exec_get_timeout_ms(const struct exec *x)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];
    uint64_t own = n->timeout != NULL ? x->timeout_ms : n->timeout_ms;

    uint64_t most = x->spent_ms + MORTISE_FINAL_MS;

    return mortise_exec_is_final(x) && (own == 0 || own > most) ? most : own;
}
/* The edges that x takes, after detours replaced some. */
static inline uint32_t *mortise_exec_get_taken_edges(const struct exec *x)
{
    return x->chosen + x->n_chosen;
}
/* Completed and cancelled runs are over; a failed one can be resumed. */
bool mortise_run_is_closed(const struct mortise_run *r);
/* Nothing is left to do. */
static inline bool mortise_run_has_nothing_to_do(const struct mortise_run *r)
{
    return r->n_running + r->n_waiting + r->n_asked + r->n_suspended +
                   r->n_inside ==
               0 &&
           r->plan.request[0] == '\0';
}
/* The run is cancelled, and x must stop. */
static inline bool mortise_exec_must_stop(const struct mortise_run *r,
                                          const struct exec *x)
{
    return r->cancelling && (r->given_up || !mortise_exec_is_final(x));
}
/* Remove and return the next execution whose tools may have ended; NULL:
 * none. */
struct exec *mortise_exec_take_asker(struct mortise_run *r);
/* Add x to that list. */
void mortise_exec_add_asker(struct mortise_run *r, struct exec *x);
/* Add to that list the executions that x runs for as a tool, directly or inside
 * a tool. */
void mortise_exec_add_askers_of(struct mortise_run *r, const struct exec *x);
/* Is a slot free for one more call? */
bool mortise_run_has_free_slot(const struct mortise_run *r);

/* ---- actions.c ---- */
/* mortise_exec_get_handle(): the handle of x's newest call or timer.
 * mortise_exec_renew_handle() makes the next handle, which invalidates the current
 * one. */
uint64_t mortise_exec_get_handle(const struct exec *x);
void mortise_exec_renew_handle(struct exec *x);
struct mortise_action *mortise_action_new(struct mortise_run *r,
                                          enum mortise_action_kind kind,
                                          struct mortise_err *err);
/* Arm x's one timer: for a time of day, or for a duration that changes of the
 * wall clock do not affect. */
int mortise_exec_arm_timer_at(struct mortise_run *r, struct exec *x,
                              uint64_t at_ms, struct mortise_err *err);
int mortise_exec_arm_timer_after(struct mortise_run *r, struct exec *x,
                                 uint64_t in_ms, struct mortise_err *err);
int mortise_exec_disarm_timer(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err);
int mortise_exec_cancel_call(struct mortise_run *r, struct exec *x,
                             enum stop_why why, struct mortise_err *err);

/* Disarm the timer of x, which is due.  False: it was not armed any more. */
bool mortise_exec_take_due_timer(struct exec *x);
/* Set why its call was asked to stop; STOP_NONE: it ended. */
void mortise_exec_set_stop(struct exec *x, enum stop_why why);

/* When the timeout of x ends its call, by steady_ms; 0: never. */
uint64_t mortise_call_get_timeout_end(const struct exec *x);
/* The timer of a call is due: is it the end of a pause's patience rather than
 * the call's timeout? */
bool mortise_call_has_lost_patience(const struct mortise_run *r,
                                    const struct exec *x);

/* ---- items.c ---- */
/* The frame of that region: f, or a frame around f. */
static inline struct frame *mortise_frame_find_region(struct frame *f,
                                                      uint32_t region)
{
    while (f->region->index != region)
        f = f->parent; /* the graph's frame contains all others */
    return f;
}
/* The item of a node in a frame of its region. */
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
static inline size_t
mortise_frame_count_items(const struct mortise_region *region)
{
    return (size_t)region->n_nodes + region->n_regions;
}
struct item *mortise_item_of_region(const struct frame *f, uint32_t region);
/* The frame, f or around f, in which the edge is decided. */
static inline struct frame *mortise_frame_find_home(struct frame *f,
                                                    uint32_t edge)
{
    return mortise_frame_find_region(f, mortise_frame_edge(f, edge)->home);
}
/* The item that an edge to `node` leads to in f.  *child is NULL, or the child
 * region that contains the node. */
struct item *mortise_item_find_target(const struct frame *f, uint32_t node,
                                      const struct mortise_region **child);
/* The item that an edge, not one from START, comes from. */
struct item *mortise_item_find_source(const struct frame *f, uint32_t edge,
                                      const struct mortise_region **child);
/* The item of `node` in the newest visits of the loops around it; *child as for
 * mortise_item_find_target(). */
const struct item *
mortise_frame_find_newest_item(const struct frame *f, uint32_t node,
                               const struct mortise_region **child);
/* The number of visits of a node of f, a graph's frame. */
uint32_t mortise_frame_count_visits(const struct frame *f, uint32_t node);

/* ---- identity.c ---- */
/* Begin a hash with the identity of an execution. */
void mortise_exec_begin_hash(struct mortise_hasher *h,
                             const struct mortise_run *r, const struct exec *x);
/* A stable name for something that x stores outside the run (`what`): it does
 * not depend on the caller or on the number of calls. */
void mortise_exec_print_stable_name(const struct mortise_run *r,
                                    const struct exec *x, const char *what,
                                    char out[MORTISE_DIGEST_HEX]);
/* The same for the identities of its effects. */
void mortise_exec_begin_effect_hash(struct mortise_hasher *h,
                                    const struct mortise_run *r,
                                    const struct exec *x);
/* The idempotency key of its call: the same in every attempt and generation,
 * different for another operation or other arguments. */
void mortise_exec_compute_effect_key(const struct mortise_run *r,
                                     const struct exec *x,
                                     uint8_t out[MORTISE_DIGEST]);
/* Set x->key: the key of its recorded intent; or the key that an intent would
 * get now. */
void mortise_exec_set_key(struct exec *x, const uint8_t key[MORTISE_DIGEST]);
void mortise_exec_compute_key(const struct mortise_run *r, struct exec *x);
/* The digest that an approval of a call with this body is bound to. */
int mortise_exec_approval_digest(struct mortise_run *r, struct exec *x,
                                 const json_t *body,
                                 uint8_t out[MORTISE_DIGEST],
                                 struct mortise_err *err);
/* The same, given the digest of the body. */
void mortise_exec_approval_of_digest(const struct mortise_run *r,
                                     const struct exec *x,
                                     const uint8_t body[MORTISE_DIGEST],
                                     uint8_t out[MORTISE_DIGEST]);

/* ---- writes.c ---- */
/* Set the writes of x from an entry, unless they are set. */
int mortise_writes_set(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err);
/* Remove the writes of a result. */
void mortise_writes_remove(struct mortise_run *r, struct exec *x);

/* ---- spawned.c ---- */
/* An execution of r claimed a spawn handle. */
void mortise_spawned_set_claimed(struct mortise_run *r);
/* An execution of r may have been given up, which may abandon children
 * (flow/left.c). */
void mortise_spawned_mark_left(struct mortise_run *r);

/* ---- request.c ---- */
/* The next commit opens a request or, if payload is NULL, a timer; or closes
 * one. */
int mortise_pending_open(struct mortise_run *r, const char *id,
                         uint64_t deadline_ms, json_t *payload,
                         struct mortise_err *err);
/* The next commit replaces the payload of an open request. */
int mortise_pending_replace(struct mortise_run *r, const char *id,
                            uint64_t deadline_ms, json_t *payload,
                            struct mortise_err *err);
int mortise_pending_close(struct mortise_run *r, const char *id,
                          uint64_t deadline_ms, bool timer,
                          struct mortise_err *err);
/* The id of the next request of x.  It is stable across restarts, and differs
 * by generation and by store, and from that of a run of the same name that was
 * created anew. */
void mortise_request_make_id(const struct mortise_run *r, const struct exec *x,
                             char out[REQUEST_ID]);
/* Record a request.  Takes the payload (NULL: out of memory). */
int mortise_request_record(struct mortise_run *r, struct exec *x,
                           enum mortise_ask kind, json_t *payload,
                           uint64_t deadline_ms, struct mortise_err *err);
/* Settle the pending request of x. */
int mortise_request_settle(struct mortise_run *r, struct exec *x,
                           enum mortise_settle how, json_t *value,
                           const uint8_t *digest, const char *actor,
                           struct mortise_err *err);

/* Withdraw the pending request of x.  x asks again when it reaches that
 * point. */
int mortise_request_withdraw(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err);

/* ---- env.c ---- */
/* The names that expressions of x can use.  Finish it before the state changes.
 * `uses`: the names that the expression uses (mortise_expr_get_uses). */
struct env {
    struct mortise_expr_env cel;
    const json_t *values[MORTISE_IN_N];
    json_t *state, *node, *diagnostics, *index, *handled;
};
int mortise_env_init(struct env *env, struct mortise_run *r, struct exec *x,
                     const json_t *state, const json_t *output,
                     const json_t *error, uint32_t uses,
                     struct mortise_err *err);
/* An error object {node?, code, class, message}. node NULL: not about a node;
 * class NULL or "": permanent.  A new reference, NULL when memory ran out. */
json_t *mortise_error_new(const char *node, const char *code, const char *class,
                          const char *message);
/* The error of x as expressions see it: {node, code, class, message,
 * exit_code?, status?}. */
json_t *mortise_env_make_error(const struct mortise_run *r,
                               const struct exec *x, const json_t *error);
/* The environment of output_mapping: the child's state, x->child_state. */
int mortise_env_init_child(struct env *env, struct mortise_run *r,
                           struct exec *x, uint32_t uses,
                           struct mortise_err *err);
void mortise_env_finish(struct env *env);

/* ---- event.c ---- */
/* Is there a watcher or a sink for events? */
bool mortise_run_has_watcher(const struct mortise_run *r);
/* Count a durable event; build it if mortise_run_has_watcher().  Takes `extra`
 * (NULL: none). */
int mortise_event_announce(struct mortise_run *r, const struct exec *x,
                           const char *type, json_t *extra,
                           struct mortise_err *err);
int mortise_event_announce_command(struct mortise_run *r, const char *command,
                                   const char *actor, const char *node,
                                   json_t *reason, struct mortise_err *err);
/* A request was opened; a request of x was settled. */
int mortise_event_announce_request(struct mortise_run *r, const struct exec *x,
                                   const char *id, json_t *request,
                                   struct mortise_err *err);
int mortise_event_announce_decision(struct mortise_run *r, const struct exec *x,
                                    const struct mortise_entry *e,
                                    struct mortise_err *err);
/* One event for each guardrail verdict in `notes`. */
int mortise_event_announce_verdicts(struct mortise_run *r, const struct exec *x,
                                    const json_t *notes,
                                    struct mortise_err *err);
int mortise_event_announce_skipped(struct mortise_run *r,
                                   const struct mortise_node *n,
                                   const char *why, struct mortise_err *err);
/* An event that is not stored: build it; build it and publish it to
 * watchers. */
json_t *mortise_event_make_live(const struct mortise_run *r,
                                const struct exec *x, const char *type);
int mortise_event_announce_live(struct mortise_run *r, const struct exec *x,
                                const char *type, struct mortise_err *err);

/* ---- diagnostics.c ---- */
/* `diagnostics` of x for the graph `top`, its own or its child's: a new
 * reference.  `itself`: x has ended, and is included. */
int mortise_diagnostics_make(struct mortise_run *r, const struct exec *x,
                             const struct frame *top, bool itself, json_t **out,
                             struct mortise_err *err);

/* ---- order.c ---- */
/* MORTISE_EMISMATCH: another list was recorded under the id of this order,
 * which the run knows. */
int mortise_order_check(const struct mortise_run *r,
                        const struct mortise_command_list *h,
                        struct mortise_err *err);
/* Record the order before the first entry of the list that is being applied. */
int mortise_order_record(struct mortise_run *r, struct mortise_err *err);
/* Record the order of the admission; id NULL: none. */
int mortise_order_record_admission(struct mortise_run *r, const char *id,
                                   struct mortise_err *err);
/* The `order` member of an event about this actor's command; NULL: none. */
const char *mortise_order_get_for_actor(const struct mortise_run *r,
                                        const char *actor);

/* ---- inbox.c ---- */
int mortise_inbox_add(struct mortise_run *r, const char *node, json_t *text,
                      struct mortise_err *err);
/* Remove the first n messages for x: it received them. */
void mortise_inbox_remove(struct mortise_run *r, const struct exec *x,
                          size_t n);
/* Is there a message for x that no call in flight carries? */
bool mortise_inbox_has_messages(const struct mortise_run *r,
                                const struct exec *x);
/* The bytes of text of those messages. */
size_t mortise_inbox_count_bytes(const struct mortise_run *r,
                                 const struct exec *x);
/* All messages for x, which this step of x carries: a new list; NULL when
 * memory ran out. */
json_t *mortise_inbox_take_messages(struct mortise_run *r, const struct exec *x,
                                    uint32_t step);
/* For `show`: [{text, node?} ...]; NULL when memory ran out. */
json_t *mortise_inbox_make_json(const struct mortise_run *r);
void mortise_inbox_finish(struct mortise_run *r);

/* ---- settled.c ---- */
/* A settle entry was applied. */
int mortise_settled_add(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err);
/* Fail with MORTISE_EMISMATCH: no such request is pending.  The message has the
 * earlier decision, if there was one. */
int mortise_settled_reject_late(const struct mortise_run *r, const char *id,
                                struct mortise_err *err);

/* ---- patch.c ---- */
struct patch {
    const struct mortise_mem *mem;
    const struct mortise_graph *graph;
    enum mortise_reduce plain;  /* for paths without a declared reducer */
    bool whole;                 /* replace whole roots, without reducers */
    struct mortise_arena arena; /* for the writes; their values are
                                   references */
    struct mortise_entry_write *writes;
    size_t n, cap;
};
void mortise_patch_init(struct patch *p, struct mortise_run *r,
                        const struct mortise_graph *g);
/* From {scratch?, artifacts?}; MORTISE_EINVAL for anything else. */
int mortise_patch_parse(struct patch *p, const json_t *body,
                        struct mortise_err *err);
void mortise_patch_finish(struct patch *p);

/* ---- rules.c ---- */
/* Record the rules version and the store, before the admission. */
int mortise_rules_record(struct mortise_run *r, struct mortise_uuid store,
                         struct mortise_err *err);

/* ---- pins.c ---- */
/* Is this the name of a pin of the node's plugin, or of its tool? */
bool mortise_pins_is_of_node(const char *pin, const struct mortise_node *n);
/* The pinned definition of the tool that the node calls; NULL: not pinned.  And
 * the pinned digest of a plugin; zeros: not pinned. */
const uint8_t *mortise_pins_get_tool(const struct mortise_run *r,
                                     const struct mortise_node *n);
const uint8_t *mortise_pins_get_digest(const struct mortise_run *r,
                                       const char *plugin);
/* The form in entries; the form in `show`.  New references. */
json_t *mortise_pins_make_entry_json(const struct mortise_pin *pins, size_t n);
json_t *mortise_pins_make_show_json(const struct mortise_run *r);
/* Did the run ever use an unsigned plugin?  The names of its unsigned
 * plugins. */
bool mortise_pins_has_unsigned(const struct mortise_run *r);
/* A new reference. */
json_t *mortise_pins_list_unsigned(const struct mortise_run *r);
/* Emit a warning event for each unsigned plugin of an entry. */
int mortise_pins_announce(struct mortise_run *r, const json_t *pins,
                          struct mortise_err *err);
/* Apply the pins of an entry: add them, or replace pins of the same name. */
int mortise_pins_add(struct mortise_run *r, const json_t *pins,
                     struct mortise_err *err);
/* Record a pin that the run uses from now on, unless it has one of that
 * name. */
int mortise_pins_record_used(struct mortise_run *r,
                             const struct mortise_pin *used,
                             struct mortise_err *err);
int mortise_pins_replace(struct mortise_run *r, const json_t *pins,
                         struct mortise_err *err);

#endif
