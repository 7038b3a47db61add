/* internal.h -- what the files of run/ share: the struct of a run.
 *
 * Nobody outside run/ includes this.  The files, from the ground up:
 *   fold.c     one write into the state
 *   past.c     who is in whose causal past; views by folding
 *   journal.c  entries <-> bytes
 *   actions.c  what a step asks of the world
 *   items.c    what a frame knows of nodes and regions
 *   exec.c     an execution: made, named, moved from state to state
 *   identity.c what names the things that an execution does
 *   request.c  questions to people
 *   env.c      the names that expressions use
 *   event.c    durable events
 *   join.c     what a join says of its edges
 *   failures.c what a graph failed of, every failure named
 *   frame.c    activation: frames, items, edges, loops
 *   again.c    what people do to frames: goto, and trying again
 *   clock.c    how long a graph was active
 *   sub.c      subgraphs: an execution that is a run of another graph
 *   map.c      maps: a frame for each element, and what they come to
 *   limit.c    limits that pause, and raising them
 *   usage.c    what calls of models cost
 *   diagnostics.c  what came before an execution, counted
 *   budget.c   what a graph may spend
 *   cache.c    what was given before, and is not called for again
 *   size.c     limits.state
 *   race.c     who has lost, once enough of a graph is done
 *   entries.c  the rows of entries.def
 *   apply.c    entries, recorded and applied by them
 *   apply_exec.c  what those about an execution do to the struct
 *   apply_run.c   what those about the run do to it
 *   rules.c    under which rules it was admitted, and in which store
 *   start.c    an activated execution: up to its call, its question, its end
 *   doubt.c    an effect of which nobody knows whether it happened
 *   steps.c    the steps of an execution's journal: kept and recorded
 *   step.c     ... asked and answered
 *   route.c    the edges that an execution takes
 *   judge.c    is a result what the graph said it would be?
 *   fail.c     what becomes of an attempt that failed
 *   human.c    what people decide, and what is decided for them
 *   guard.c    what guardrails said
 *   leave.c    ... of what leaves along edges
 *   settle.c   a result, a timeout, a deadline: which entries they become
 *   decide.c   people's decisions about requests
 *   update.c   the command that gives a run another state
 *   command.c  people's commands, validated, then recorded
 *   commit.c   when what was recorded becomes a commit, and what waits for it
 *   run.c      admission, replay, the step itself, status
 *   show.c     JSON views of a run
 *   history.c  ... of its entries
 */
#ifndef MORTISE_RUN_INTERNAL_H
#define MORTISE_RUN_INTERNAL_H

#include "base/real.h"
#include "base/table.h"
#include "run/apply.h"
#include "run/fold.h"
#include "run/journal.h"
#include "run/run.h"

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
    X_STOPPING,  /* ... and was asked to stop */
    X_SUSPENDED, /* it let go, until a step of its is answered */
    X_BACKOFF,   /* an attempt failed; the next waits for its time */
    X_HELD,      /* done; interrupt_after holds its edges back */
    X_DONE,
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
    LOSS_BUDGET, /* ... or spent too much */
    LOSS_OUTER,  /* the execution that it is in was stopped */
    LOSS_CANCEL  /* it had ended, and asks what its effect came to */
};

/* The node of the execution that an `update` is. */
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
    struct mortise_hashed like_it;  /* the first of equal ones ... */
    uint64_t n_like_it;             /* ... so many */
    bool cleared; /* OPEN, and a person said that it is to be done again */

    char request[REQUEST_ID];
    uint64_t deadline_ms;
    uint64_t lasts_ms; /* a wait of so and so long; 0: until a time of day */
    uint64_t ends_ms;  /* of the former, by steady_ms; 0: not known yet */

    int32_t status;
    json_t *answer; /* or words */
    uint32_t after; /* so many asks came before the answer */
    bool completed; /* an effect that was done */

    /* Live only. */
    struct heard *heard; /* OPEN: of what became of it; NULL: nothing */
    uint64_t ask;        /* what waits for the answer; 0: nothing */
    uint32_t entrance;   /* in which it was asked last */
    uint32_t settled;    /* ... and answered */
    uint64_t seq;        /* the commit that its answer waits for */
};

struct journal {
    struct step **steps; /* in the order in which they were first asked */
    size_t n, cap;
    struct mortise_table by_name;
    struct mortise_table effects; /* those that are like no earlier one */
    uint32_t *answers;            /* indexes, in the order of the answers */
    size_t n_answers, cap_answers;
    uint32_t recorded; /* steps of which anything is */

    /* Of the entrance under way. */
    uint32_t entrance;
    uint32_t issued, next; /* asks so far; the next ordinal */
    size_t told;           /* answers handed back */
};

struct effect { /* completed in an earlier attempt or generation */
    struct mortise_hashed entry;
    uint8_t key[MORTISE_DIGEST];
    json_t *answer;
};

struct step_wait { /* a step whose commit is not on disk yet */
    uint64_t seq;
    uint32_t exec, step;
};

/* What an execution's calls of models cost (usage.c). */
struct cost {
    struct mortise_usage all; /* of all its attempts */
    struct mortise_usage
        again;   /* what its call says once more, going on after its journal */
    bool warned; /* that it used more than it had reserved */
};

/* What an execution's call may spend, at most (budget.c). */
struct hold {
    uint64_t amount[MORTISE_N_SPENDS];
    bool open;     /* reserved, not settled */
    bool uncalled; /* live only: ... and on disk, but it was not called */
    bool goes_on;  /* it let go: to enter it again is the same call */
};

/* What a graph may spend. */
struct purse {
    uint64_t most[MORTISE_N_SPENDS]; /* UINT64_MAX: it is not bounded */
    uint64_t spent[MORTISE_N_SPENDS], held[MORTISE_N_SPENDS];
    bool warned[MORTISE_N_SPENDS]; /* said that it is low */
    bool told[MORTISE_N_SPENDS];   /* ... that it was exceeded */
    enum mortise_spend exceeded;   /* the last of those */
    bool led;                      /* on_exceeded: {goto} was followed */
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
    bool open; /* ... under this */
    uint8_t key[MORTISE_DIGEST];
    json_t *output; /* NULL: it has given nothing that may */
};

/* One execution: node#visit.  Lives in the run's arena; its JSON references
 * are given up by mortise_run_free(). */
struct exec {
    uint32_t index, node, visit, generation, attempt;
    enum exec_state state;
    struct frame *frame;
    struct exec *sibling; /* made before it in its frame */
    enum loss loss;
    uint32_t discard; /* 1 + the innermost frame in which it lost a race that
                         lets losers finish: what it writes counts for nothing
                         there and farther out; 0: none */
    bool counted;     /* as a step */
    bool shared;      /* several come after it, whatever edges it took */
    struct fan *fan;  /* the map that it gathers; NULL: it is a node's */
    struct exec *next_yield; /* the one before it to yield in its element */
    struct frame *child;     /* a subgraph's: of its newest attempt */
    json_t *inner;           /* ... and the state that it ended with */
    bool child_failed;       /* ... which failed, and so did this */
    bool child_over;         /* ... which did not, and is done with */
    bool child_again;        /* ... which failed, and what did is tried again */
    bool child_asks;         /* ... unless its input would be another by now */
    bool surfaced;           /* its failure reached the end of its graph */
    json_t *caught; /* failures that its join collected: [{node, error}] */

    /* The causal past (past.c). */
    uint32_t *preds, n_preds;
    uint32_t idom, depth; /* START: itself, 0 */
    uint32_t mark;        /* of the last walk that met it */
    json_t *view;         /* the state before, once needed */
    json_t *after;        /* ... and after its own writes */
    struct mortise_write *writes;
    size_t n_writes;
    uint64_t size_before; /* its view is no larger (size.c) */
    uint64_t size_own;    /* ... and its writes add no more ... */
    uint64_t size_saved;  /* ... and this is too much, as was measured */
    uint64_t size_then;   /* size_written when it was made */

    /* How it went. */
    json_t *output, *error; /* error: {code, message} */
    json_t *notes;          /* guardrail verdicts, of this generation */
    json_t *decision;       /* an acceptance that they have not passed yet */
    uint32_t checked;       /* the generation whose arguments passed; 0: none */
    bool body_is_given;     /* `body` is no longer what the template gives */
    json_t *leaving;        /* its output, judged on the edges ... */
    uint32_t *chosen, n_chosen; /* ... that it takes (leave.c) */
    uint32_t *taken, n_taken;
    bool handled;  /* a failure that on_error or a goto led elsewhere */
    uint32_t heir; /* held through this update: what follows comes after it */
    uint64_t started_ms, ended_ms, next_ms;
    uint64_t pause_ms; /* that long before next_ms its attempt failed */

    /* An effect between intent and answer (runtime.md 6). */
    bool effect_open;
    bool doubted;    /* it failed with its effect open */
    bool cut;        /* a cancel stopped it */
    bool failing;    /* just now, with its doubt */
    json_t *told;    /* of it: {cause, step?, answer?}; NULL: nothing */
    bool told_apart; /* ... by an entry, not only to people */
    bool unknown;    /* it ends with its effect in doubt, and nobody is asked */
    struct {         /* how it had ended, which asks about that now */
        enum exec_state state; /* 0: it is none of these */
        enum loss loss;
        uint64_t ended_ms;
    } was;
    uint64_t intent_seq;
    uint8_t key[MORTISE_DIGEST];
    json_t *result; /* that it gave in an attempt which failed all the same */
    json_t *said;   /* ... or gives just now: {update?, goto?} besides it */
    uint8_t result_key[MORTISE_DIGEST];

    struct hold *hold; /* NULL: nothing was ever reserved for it */
    struct cost *cost; /* NULL: nothing that anybody told */
    bool cached;       /* its output is what another call gave */

    /* Its pending request. */
    char request[REQUEST_ID];
    enum mortise_ask ask;
    uint64_t deadline_ms;
    json_t *payload;
    uint32_t ordinal;   /* of the next request in this generation */
    bool before_passed; /* interrupt_before was answered */
    uint32_t noted;     /* it is on disk that it starts in this generation */
    bool approved;
    uint8_t approved_digest[MORTISE_DIGEST];

    /* What it asked (step.c). */
    struct journal *journal;       /* NULL: nothing */
    struct mortise_table *effects; /* by key; NULL: none */

    /* Live only. */
    json_t *failure; /* how the attempt failed whose effect is in doubt: {code,
                        class, message}; NULL: the process died */
    json_t *broke;   /* it asked for something else than before: the words */
    bool near;       /* SUSPENDED, on a timer that is due soon */
    bool goes_on;    /* its newest call began with a journal */
    uint32_t serial; /* of the newest call or timer */
    enum mortise_run_call_kind call;
    enum stop_why stop;
    uint64_t called_ms;      /* when the newest call began, by steady_ms */
    uint64_t retry_after_ms; /* of its error */
    bool timer, elapses; /* armed; for a while, not until a time of day */
    struct fresh *fresh; /* NULL: nothing was ever looked up for it */
    json_t *body;        /* the arguments, once evaluated in this generation */
    uint8_t body_digest[MORTISE_DIGEST];
    bool expired_to_goto; /* its deadline leads along the TIMEOUT edge */

    /* What its guardrails look at (guard.c). */
    enum mortise_guard_stage stage;
    uint32_t guard;    /* the one that is being asked ... */
    uint32_t turn;     /* ... and how many were in this stage before it */
    json_t *subject;   /* as sanitised so far */
    bool replaced;     /* ... by one of them */
    enum done_how how; /* OUTPUT, EDGE: it came about */
    json_t *judged;    /* ... it passed, and the update is looked at */
    json_t *verdicts;  /* of now, not recorded yet */
    uint32_t *going;   /* EDGE: `chosen`, but for detours */
    uint32_t at;       /* EDGE: which of them is looked at */
};

enum edge_state { EDGE_OPEN, EDGE_TAKEN, EDGE_DEAD, EDGE_FAILED };

enum item_phase {
    ITEM_WAITS,
    ITEM_ACTIVE,
    ITEM_OVER,   /* done, or failed in a way that leads elsewhere */
    ITEM_FAILED, /* ... in a way that does not */
    ITEM_SKIPPED,
    ITEM_SKIPPED_FAILED
};

/* What a frame knows of one item of its region: a node, or a child region. */
struct item {
    enum item_phase phase;
    uint32_t n_decided, n_taken, n_failed; /* of the edges to it */
    uint32_t cause;      /* failed edges: the least execution behind one */
    uint32_t visits;     /* a node's, in this naming scope, older frames' too */
    uint32_t exec;       /* of the newest visit in this frame; 0: none */
    uint32_t mark;       /* of the last walk that met it */
    bool lost;           /* another branch was first: it does not start */
    bool discard;        /* ... it starts, but what it writes does not count */
    struct frame *visit; /* a loop's newest, of an older frame at first */
    struct fan *fan;     /* a map's newest, likewise */
};

/* A live instance of a region.  In the run's arena. */
struct frame {
    uint32_t index; /* in creation order, which follows from the entries */
    const struct mortise_graph *graph;
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
    bool again;       /* a back edge was taken */
    bool left;        /* an exit was taken */
    bool failed;      /* a failure reached its end unhandled */
    bool for_good;    /* ... and no join around it mends that */
    bool over;        /* a map's element: counted as such */
    bool late;        /* ... and not when enough of them were */
    bool waits;       /* ... and to be tried again, when there is room */
    bool behind;      /* a goto left it behind */
    bool lost;        /* nothing more starts in it */
    bool halted;      /* ... and nothing more is decided */
    uint32_t discard; /* what its executions begin with */
    uint32_t cause;   /* failed: the execution */
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
    json_t *loop_error;         /* a loop went on and was left: what of it */
    struct purse *purse;        /* NULL: it has no budget */
    uint32_t n_live;    /* executions at work in it, not those in children */
    enum loss halt;     /* nothing more happens in it */
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
    struct frame **elements;
    size_t n, n_begun, n_over;
    size_t n_waiting;         /* of those that are over */
    size_t n_came, n_failed; /* likewise; the former took an edge to the join */
    bool enough;             /* a race is won: who is not over has lost it */
    uint32_t *preds, n_preds; /* what the elements come after */
    size_t made;              /* n_execs when it began */
    struct exec *gather;      /* NULL: not all is over */
    bool lost;                /* no more elements begin */
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

/* A list of commands, as it is applied; kept while it waits for what is in
 * flight to stop. */
struct held_command {
    struct mortise_arena arena;
    const struct mortise_command *list;
    size_t n;
    bool blocked; /* it runs nothing since a plugin is in the way */
    uint32_t flags;
    const char *actor;
    const struct mortise_pin *pins; /* only where nothing is in flight */
    size_t n_pins;
    uint64_t patience_ms;
    const char *order; /* its id; NULL: none */
};

/* What was said under this id is recorded (order.c). */
struct order {
    const char *id;
    uint8_t digest[MORTISE_DIGEST];
};

/* A request that nobody need decide any more (settled.c). */
struct settled {
    char id[REQUEST_ID];
    const char *word;  /* what became of it; static */
    const char *actor; /* who said so, in the run's arena; "": nobody did */
};

struct mortise_run {
    const struct mortise_mem *mem;
    struct mortise_graph *graph; /* a reference */
    struct mortise_arena arena;
    const char *tenant, *id;
    uint64_t size_written; /* by all commits (size.c) */
    uint8_t seed[MORTISE_DIGEST];
    enum mortise_rules rules;  /* under which it was admitted (rules.c) */
    struct mortise_uuid store; /* in which; by the first rules, zeroes */
    json_t *self; /* {id, tenant, graph, version}: `run` in expressions */
    struct mortise_pin *pins;
    size_t n_pins;

    struct exec **execs; /* execs[0] is START */
    size_t n_execs, cap_execs;
    struct frame **frames; /* frames[0] is the graph's */
    size_t n_frames, cap_frames;
    struct due *work; /* decided edges whose targets do not know: a stack */
    size_t n_work, cap_work;
    struct frame **ended; /* with nothing left to do in them: a stack */
    size_t n_ended, cap_ended;
    struct scope *graphs; /* all of them, to be freed */
    struct fan *fans;     /* all of them, to be freed */
    uint32_t update;      /* the newest update; 0: none */
    struct scope *clocks; /* that are to start or stop */
    struct scope *walls;  /* whose wall clock went on since it was stored */
    uint32_t *overs;      /* executions whose child is over */
    size_t n_overs, cap_overs;
    uint32_t stamp; /* of the last walk */

    uint32_t *users; /* of each resource, the execution that has it; 0: none */
    uint32_t *ready; /* queue of executions in X_READY, oldest first */
    size_t ready_head, n_ready, cap_ready;
    uint32_t *shorts; /* in X_READY, waiting for others to settle */
    size_t n_shorts, cap_shorts;
    bool purses_moved; /* since they were looked at */
    uint32_t *gathers; /* maps' executions in X_READY: they call nothing */
    size_t n_gathers, cap_gathers;
    uint32_t *losers; /* executions to be stopped, or that were */
    size_t n_losers, cap_losers;
    uint32_t *intents; /* executions whose intent is not on disk yet */
    size_t n_intents, cap_intents;
    uint32_t n_running; /* calls out: RUNNING and STOPPING */
    uint32_t n_waiting; /* READY, INTENT, BACKOFF */
    uint32_t n_asked, n_doubt, n_human, n_approval, n_budget;
    uint32_t n_suspended, n_near;
    uint32_t n_questions, n_timers;    /* pending steps */
    uint32_t n_fresh;                  /* READY, and not counted as a step */
    uint64_t n_started;                /* steps that were */
    uint64_t max_steps, visits_raised; /* limits; 0: none was raised */
    uint32_t n_inside;                 /* INSIDE */
    uint32_t n_failed;                 /* unhandled */
    uint32_t n_finished;               /* steps */
    struct mortise_usage usage;        /* of all executions */

    int status;
    const char *reason;
    json_t *error;   /* what the run failed of */
    bool live;       /* going; a replayed run is not until told */
    bool cancelling; /* the cancel command was recorded, or it looks back */
    int after;       /* ... on this end; 0: it does not */
    enum mortise_pause paused;

    uint64_t seq, written, synced; /* written >= synced */
    uint64_t sync_asked; /* a sync of commits up to here was asked for */
    struct mortise_uuid head;
    uint64_t time_ms, created_ms; /* of the event under way */
    /* Its time by a clock that goes on with the wall clock's of the first event,
     * and is never set: what takes so and so long is measured by it. */
    uint64_t steady_ms, elapsed_ms;
    uint64_t n_events;

    bool watched;
    mortise_run_sink *sink;
    void *sink_ud;
    int sink_said; /* nonzero: the sink wants no more */

    /* The step under way. */
    struct mortise_buf record; /* its entries */
    uint32_t record_frame;     /* that the last of them is in */
    uint64_t first_event;
    unsigned phases; /* bits 1 << enum mortise_phase: of the record */
    size_t recorded; /* so much of the record is of earlier steps */
    bool must;       /* something in it cannot wait for another step's commit */
    uint64_t
        record_ms; /* of the last of its entries that has a time; 0: none */
    bool stamped;  /* it begins with the time of its first */
    struct mortise_run_open *opens, *closes;
    size_t n_opens, cap_opens, n_closes, cap_closes;
    bool asked; /* its commit opens a question */
    struct mortise_run_kv *kvs;
    size_t n_kvs, cap_kvs;
    struct mortise_run_cached *cached;
    size_t n_cached, cap_cached;
    struct mortise_actions *actions;
    struct unsent *unsent;
    size_t n_unsent, cap_unsent, unsent_head;

    struct step_wait *step_waits;
    size_t n_step_waits, cap_step_waits;
    uint64_t put_seq; /* the last commit with a put; 0: none since loading */

    struct settled *settled; /* in the order of it */
    size_t n_settled, cap_settled;

    struct order *orders; /* in the order of it */
    size_t n_orders, cap_orders;
    const char *order; /* of what is recorded now; NULL: of none */
    const struct held_command *ordering; /* is being applied, and nothing of it
                                            is recorded yet */

    struct held_command *held;
    const char *stays;    /* why it does not go on, where nobody paused it;
                          static; NULL: no command said so */
    bool applied;         /* a command was applied by this step */
    uint64_t applied_seq; /* answer it when this is synced; 0: none */
};

/* ---- size.c ---- */
/* An execution has its preds; it has one more write; it has none after all. */
void size_link(struct mortise_run *r, struct exec *x);
void size_add(struct mortise_run *r, struct exec *x,
              const struct mortise_write *w);
void size_forget(struct mortise_run *r, struct exec *x);
/* MORTISE_ELIMIT: the state is larger than it may be in this graph. */
int size_within(const struct mortise_graph *g, const json_t *state,
                uint64_t *size, struct mortise_err *why);
/* The same of x->after, which is there; measured only when it must be. */
/* It is not too large, without measuring it. */
bool size_is_small(const struct exec *x);
int size_check(struct mortise_run *r, struct exec *x, struct mortise_err *why);

/* ---- past.c ---- */
int past_link(struct mortise_run *r, struct exec *x, const uint32_t *preds,
              uint32_t n, struct mortise_err *err);
/* All that is in its causal past has this mark, until others are marked. */
int past_mark(struct mortise_run *r, const struct exec *x, uint32_t *mark,
              struct mortise_err *err);
/* x->view is there. */
int past_view(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* The state after x's writes, which are set: x->after is there. */
int past_after(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* Its writes succeed without trying, and would be made in a copy. */
bool past_may_wait(const struct exec *x);
/* The executions that a commit after everything in f, a graph's, has as its
 * preds: a new array. */
int past_frontier(struct mortise_run *r, const struct frame *f,
                  uint32_t **preds, uint32_t *n, size_t *room,
                  struct mortise_err *err);
/* ... and that what comes after all of these frames has: a new array.  An
 * update made since there were `since` executions is among them. */
int past_of_frames(struct mortise_run *r, struct frame *const *frames,
                   size_t n_frames, size_t since, uint32_t **preds, uint32_t *n,
                   size_t *room, struct mortise_err *err);
/* The fold over all commits in f, a graph's: a new reference.  `strict`:
 * conflicts, and what a reducer cannot take, count. */
int past_total(struct mortise_run *r, const struct frame *f, bool strict,
               json_t **out, struct mortise_err *err);

/* ---- exec.c ---- */
struct exec *exec_new(struct mortise_run *r, struct frame *f, uint32_t node,
                      uint32_t visit, const uint32_t *preds, uint32_t n,
                      struct mortise_err *err);
/* From the handle of a call or timer; NULL when that is over. */
struct exec *exec_at(const struct mortise_run *r, uint64_t handle);
/* The only way a state changes: it keeps the run's counters. */
void exec_become(struct mortise_run *r, struct exec *x, enum exec_state s);
/* Is somebody else at work with its node's resource? */
bool exec_must_wait(const struct mortise_run *r, const struct exec *x);
/* READY, at the end of the queue. */
int exec_ready(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* INTENT: to be called once the entry, about its attempt, is on disk. */
int exec_intend(struct mortise_run *r, struct exec *x,
                const struct mortise_entry *e, struct mortise_err *err);
void exec_near(struct mortise_run *r, struct exec *x, bool near);
/* Nothing more happens to it, unless somebody has a failure tried again. */
bool exec_is_over(const struct exec *x);
/* Are the edges of an entry some of these, in their order?  Then x took
 * them. */
bool exec_edges_fit(const uint32_t *out, uint32_t n_out,
                    const struct mortise_entry *e);
int exec_keep_taken(struct mortise_run *r, struct exec *x,
                    const struct mortise_entry *e, struct mortise_err *err);
/* An entry about x, now. */
struct mortise_entry entry_of(const struct mortise_run *r, const struct exec *x,
                              enum mortise_entry_type type);
const struct mortise_node *node_of(const struct mortise_run *r,
                                   const struct exec *x);
struct item *item_of_exec(const struct exec *x);
/* artifacts.OUTPUT_AS of its node, NULL when memory ran out. */
struct artifact *artifact_of(struct mortise_run *r, const struct exec *x);
void exec_path(const struct mortise_run *r, const struct exec *x,
               char out[MORTISE_EXEC_PATH]);
/* Does what x does, in f or in frames in it, count for f? */
bool exec_counts_in(const struct exec *x, const struct frame *f);
/* It has started. */
void exec_count(struct mortise_run *r, struct exec *x);
/* Nothing leaves x any more. */
void exec_forget_leaving(struct exec *x);
/* Completed and cancelled runs are over; a failed one can be resumed. */
bool run_is_over(const struct mortise_run *r);
/* Is there room for one more call? */
bool run_has_room(const struct mortise_run *r);
void drop(json_t **ref);                /* decref and forget */
void hold(json_t **ref, json_t *value); /* replace by a borrowed value */

/* ---- actions.c ---- */
uint64_t exec_handle(const struct exec *x);
/* What the step under way keeps beside its record is given up. */
void action_forget_kept(struct mortise_run *r);
struct mortise_action *action_new(struct mortise_run *r,
                                  enum mortise_action_kind kind,
                                  struct mortise_err *err);
/* Arm x's one timer: for when the wall clock says so, or so much later, whatever
 * that clock is set to. */
int arm(struct mortise_run *r, struct exec *x, uint64_t at_ms,
        struct mortise_err *err);
int arm_in(struct mortise_run *r, struct exec *x, uint64_t in_ms,
           struct mortise_err *err);
int disarm(struct mortise_run *r, struct exec *x, struct mortise_err *err);
int cancel_call(struct mortise_run *r, struct exec *x, enum stop_why why,
                struct mortise_err *err);

/* When the call of x is to end by its timeout; 0: it has none. */
uint64_t call_end_ms(const struct mortise_run *r, const struct exec *x);
/* A call's timer is due: is it because a pause waits for it no longer? */
bool call_is_given_up(const struct mortise_run *r, const struct exec *x);

/* ---- items.c ---- */
/* The frame around f, or f itself, of that region. */
struct frame *frame_around(struct frame *f, uint32_t region);
/* The item that an execution, or a node in a frame of its region, is of. */
struct item *item_of(const struct frame *f, uint32_t node);
const struct mortise_edge *frame_edge(const struct frame *f, uint32_t e);
size_t frame_n_items(const struct mortise_region *region);
struct item *item_of_region(const struct frame *f, uint32_t region);
/* The frame around f where an edge out of f is decided. */
struct frame *frame_home(struct frame *f, uint32_t edge);
/* Where an edge to `node` leads to in f; *child is NULL, or the region that the
 * node is the entry of. */
struct item *item_to(const struct frame *f, uint32_t node,
                     const struct mortise_region **child);
/* ... and where an edge comes from, which is not START. */
struct item *item_from(const struct frame *f, uint32_t edge,
                       const struct mortise_region **child);
/* What stands for `node` in the newest visits of the loops around it; *child as
 * for item_to(). */
const struct item *frame_innermost(const struct frame *f, uint32_t node,
                                   const struct mortise_region **child);
/* How often a node of f, which is a graph's, was visited. */
uint32_t frame_visits(const struct frame *f, uint32_t node);

/* ---- identity.c ---- */
/* Hashes what names an execution, for identities within it. */
void exec_hasher(struct mortise_hasher *h, const struct mortise_run *r,
                 const struct exec *x);
/* The idempotency key of its call: the same on every attempt and in every
 * generation, different for another operation or other arguments. */
void exec_effect_key(const struct mortise_run *r, const struct exec *x,
                     uint8_t out[MORTISE_DIGEST]);
/* What approving a call with this body would be bound to. */
int exec_approval_digest(struct mortise_run *r, struct exec *x,
                         const json_t *body, uint8_t out[MORTISE_DIGEST],
                         struct mortise_err *err);
/* ... given the digest of that body. */
void exec_approval_of(const struct mortise_run *r, const struct exec *x,
                      const uint8_t body[MORTISE_DIGEST],
                      uint8_t out[MORTISE_DIGEST]);

/* ---- writes.c ---- */
/* Put an entry's writes on x, unless they are there already. */
int writes_put(struct mortise_run *r, struct exec *x,
                 const struct mortise_entry *e, struct mortise_err *err);
/* Take back what a result would have written. */
void writes_undo(struct mortise_run *r, struct exec *x);

/* ---- request.c ---- */
/* A request is open from now on, or (payload NULL) a timer; or it is over. */
int pending_open(struct mortise_run *r, const char *id, uint64_t deadline_ms,
                 json_t *payload, struct mortise_err *err);
int pending_close(struct mortise_run *r, const char *id, uint64_t deadline_ms,
                  bool timer, struct mortise_err *err);
/* Record a request; takes the payload (NULL: out of memory). */
int request_ask(struct mortise_run *r, struct exec *x, enum mortise_ask kind,
        json_t *payload, uint64_t deadline_ms, struct mortise_err *err);
/* A request of x is settled in this manner. */
int request_settle(struct mortise_run *r, struct exec *x,
                  enum mortise_settle how, json_t *value, const uint8_t *digest,
                  const char *actor, struct mortise_err *err);

/* The question of x is asked again when x comes to it again. */
int request_withdraw(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err);

/* ---- env.c ---- */
/* Names in scope while x is at work; finish it before the state changes.
 * `uses`: those that are asked for (mortise_cel_uses). */
struct env {
    struct mortise_cel_env cel;
    const json_t *values[MORTISE_IN_N];
    json_t *state, *node, *diagnostics, *index;
};
int env_init(struct env *env, struct mortise_run *r, struct exec *x,
             const json_t *state, const json_t *output, const json_t *error,
             uint32_t uses, struct mortise_err *err);
/* ... of output_mapping: the child's state, x->inner. */
int env_init_child(struct env *env, struct mortise_run *r, struct exec *x,
                   uint32_t uses, struct mortise_err *err);
void env_finish(struct env *env);

/* ---- event.c ---- */
/* Will anybody see an event that is made now? */
bool seen(const struct mortise_run *r);
/* Count a durable event; make and keep it when somebody will see it.  `extra`
 * is taken (NULL: none). */
int announce(struct mortise_run *r, const struct exec *x, const char *type,
             json_t *extra, struct mortise_err *err);
int announce_command(struct mortise_run *r, const char *command,
                     const char *actor, const char *node, json_t *reason,
                     struct mortise_err *err);
/* A request of x was settled. */
int announce_decision(struct mortise_run *r, const struct exec *x,
                      const struct mortise_entry *e, struct mortise_err *err);
/* What guardrails said of it: one event each. */
int announce_notes(struct mortise_run *r, const struct exec *x,
                   const json_t *notes, struct mortise_err *err);
int announce_skipped(struct mortise_run *r, const struct mortise_node *n,
                     const char *why, struct mortise_err *err);
/* An event that is not stored: made, and sent to whoever watches. */
json_t *live_event(const struct mortise_run *r, const struct exec *x,
                   const char *type);
int announce_live(struct mortise_run *r, const struct exec *x, const char *type,
                  struct mortise_err *err);


/* ---- join.c ---- */
enum join_verdict { JOIN_WAIT, JOIN_FIRE, JOIN_SKIP, JOIN_SKIP_FAILED };
/* What a failed branch is to the join of n, by the run's rules. */
enum mortise_branch_error join_on_error(const struct mortise_run *r,
                                        const struct mortise_node *n);
enum join_verdict join_judge(const struct mortise_run *r, const struct frame *f,
                             const struct mortise_node *n,
                             const struct item *it);
bool join_minds_late(const struct mortise_run *r, const struct mortise_node *n,
                     const struct item *it);
/* Is it a race in which each element of a map counts? */
bool join_counts_elements(const struct mortise_run *r,
                          const struct mortise_node *n);
/* So many have to come to n, a race's. */
uint32_t join_need(const struct mortise_node *n);
/* May they, still?  `over`: a map that has no more to come; NULL: none. */
bool join_in_reach(const struct mortise_run *r, const struct frame *f,
                   const struct mortise_node *n, const struct item *it,
                   const struct fan *over);
/* How many maps lead to n, and the k-th of them; NULL: it is not at work in f,
 * or its edge is decided. */
uint32_t join_n_maps(const struct frame *f, const struct mortise_node *n);
struct fan *join_map(const struct frame *f, const struct mortise_node *n,
                     uint32_t k);
/* Edges that failed, for x, which collects them: [{node, error}]. */
int join_collect(struct mortise_run *r, const struct frame *f,
                 const struct mortise_node *n, struct exec *x,
                 struct mortise_err *err);
/* The executions behind the edges that were taken; `preds` has room for n_in.
 */
uint32_t join_sources(const struct frame *f, const struct mortise_node *n,
                      uint32_t *preds);

/* ---- failures.c ---- */
/* What the graph of this frame, which failed, failed of: {code, message, span,
 * path} of the first, in the order of activation, and of several also `failed`,
 * [{node, path, error}].  A new reference; NULL when memory ran out. */
json_t *failures_of(struct mortise_run *r, const struct frame *top);

/* ---- frame.c ---- */
/* A frame of a graph, with nothing decided; visits go on from `before`. */
struct frame *frame_begin(struct mortise_run *r, const struct mortise_graph *g,
                          const char *prefix, const struct frame *before,
                          struct mortise_err *err);
/* All in f, a graph's, is over, whatever became of it. */
void frame_leave_behind(struct frame *f);
/* Does its item in the frame around it live, and so on outwards? */
bool frame_is_alive(const struct frame *f);
/* The edges out of START: those in `taken` (in their order) are taken. */
int frame_follow_start(struct mortise_run *r, const struct exec *start,
                       struct mortise_err *err);
/* The edges out of x: x->taken are taken, the others are `rest`.  Its item is
 * over, and whatever follows from that happens. */
int frame_follow(struct mortise_run *r, struct exec *x, enum edge_state rest,
                 struct mortise_err *err);
/* An edge is decided, and its target is to be told: by frame_spread(), which
 * tells all that are. */
int frame_push(struct mortise_run *r, struct frame *home, uint32_t edge,
               struct mortise_err *err);
int frame_spread(struct mortise_run *r, struct mortise_err *err);
/* Has the join of `node`, which waits, something to say by now? */
int frame_weigh(struct mortise_run *r, struct frame *f, uint32_t node,
                const struct item *it, struct mortise_err *err);
/* Was it, or what it is in, skipped? */
bool frame_skipped(const struct frame *f, uint32_t node);

struct frame *frame_new(struct mortise_run *r, struct frame *parent,
                        struct scope *scope,
                        const struct mortise_region *region,
                        const struct frame *before, struct mortise_err *err);
/* Start what `node` is, or is the entry of, in f: after `preds`, and after an
 * update made since there were `since` executions. */
int frame_enter(struct mortise_run *r, struct frame *f, uint32_t node,
                const uint32_t *preds, uint32_t n, size_t since,
                struct mortise_err *err);
/* The map's edge to the join is this ... */
int frame_map_decided(struct mortise_run *r, struct fan *fan,
                      enum edge_state state, uint32_t src,
                      struct mortise_err *err);
/* ... and it has no more to do. */
int frame_map_over(struct mortise_run *r, struct fan *fan, bool failed,
                   struct mortise_err *err);

/* ---- again.c ---- */
/* Taken edges that led nowhere yet lead from u. */
void frame_lead_from(struct mortise_run *r, const struct exec *u);
/* In f, which is a graph's, all is behind but what `node` leads to; it is made,
 * to start after everything there. */
int frame_goto(struct mortise_run *r, struct frame *f, uint32_t node,
               uint32_t visit, struct exec **out, struct mortise_err *err);
/* What failed is tried again, and what was skipped for it waits again: in the
 * element of a map that waited for it, or (NULL) everywhere. */
int frame_again(struct mortise_run *r, const struct frame *element,
                struct mortise_err *err);

/* ---- usage.c ---- */
/* The call of x that is out ended, and this (NULL: nothing) is what it said;
 * `lost`: it was given up, and may have used more. */
int usage_note(struct mortise_run *r, struct exec *x,
               const struct mortise_usage *said, bool lost,
               struct mortise_err *err);
/* It has used so much more that nobody told (its cost is there). */
void usage_assume(struct mortise_run *r, struct exec *x,
                  const uint64_t used[MORTISE_USED_N]);
/* Its cost is there. */
int usage_begin(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* Its next call begins without a journal. */
void usage_forget(struct exec *x);
void usage_finish(struct exec *x);
/* Put a member `usage`, where there was any. */
int usage_put(json_t *to, const struct exec *x);
int usage_put_all(json_t *to, const struct mortise_run *r);

/* ---- diagnostics.c ---- */
/* What x sees of the executions of the graph `top`, its own or its child's: a
 * new reference.  `itself`: it has ended, and counts. */
int diagnostics_of(struct mortise_run *r, const struct exec *x,
                   const struct frame *top, bool itself, json_t **out,
                   struct mortise_err *err);

/* ---- budget.c ---- */
/* A going through g, which is `in`, has what its budget says. */
int budget_begin(struct mortise_run *r, struct scope *in,
                 const struct mortise_graph *g, struct mortise_err *err);
enum claimed {
    CLAIM_FREE,     /* x may be called */
    CLAIM_RESERVED, /* ... once its reservation is on disk: it is in X_INTENT */
    CLAIM_LATER     /* not now: it waits, asks, or has lost */
};
int budget_claim(struct mortise_run *r, struct exec *x, enum claimed *out,
                 struct mortise_err *err);
/* Its call used so much; `ended`: and is over, so the rest of what it reserved
 * is given back. */
int budget_used(struct mortise_run *r, struct exec *x,
                const struct mortise_usage *used, bool ended,
                struct mortise_err *err);
/* What its call has reserved of usage, and has not told: NULL, nothing. */
bool budget_owes(const struct exec *x, uint64_t used[MORTISE_USED_N]);
/* Its call ended; let go, to be entered again. */
void budget_call_ended(struct mortise_run *r, struct exec *x);
void budget_call_let_go(struct mortise_run *r, struct exec *x);
/* ... or was cut off: all that it reserved is spent. */
void budget_cut_off(struct mortise_run *r, struct exec *x);
/* ... or never made: what it reserved is for the next one. */
void budget_not_called(struct exec *x);
/* Has it a budget.wall? */
bool budget_is_walled(const struct scope *in);
/* ... of which so much is used, as was stored. */
int budget_wall(struct mortise_run *r, struct scope *in, uint64_t used,
                struct mortise_err *err);
/* ... and which is used up. */
int budget_wall_over(struct mortise_run *r, struct scope *in,
                     struct mortise_err *err);
/* Whoever waits for others starts again, if any settled. */
int budget_try_again(struct mortise_run *r, struct mortise_err *err);
/* Does `in`, which is halted and quiet, go on where its budget leads? */
bool budget_leads(const struct scope *in);
int budget_lead(struct mortise_run *r, struct scope *in,
                struct mortise_err *err);
void budget_has_led(struct scope *in);
/* What a graph that it halted failed of. */
json_t *budget_error(const struct scope *in);
/* An amount in words: dollars as people write them. */
enum { BUDGET_TEXT = MORTISE_REAL_TEXT };
#define BUDGET_MOST ((uint64_t)INT64_MAX / 2) /* and no more can be spent */
const char *budget_spell(char out[BUDGET_TEXT], enum mortise_spend what,
                         uint64_t amount);
/* Where the graph of a purse is: "" for the run's. */
const char *budget_path(const struct mortise_run *r, const struct scope *in,
                        char path[MORTISE_EXEC_PATH]);
/* The most that a new call of x spends.  One that goes on has told a part. */
void budget_need(const struct mortise_run *r, const struct exec *x,
                 uint64_t need[MORTISE_N_SPENDS]);
/* May it fit, once others have settled? */
bool budget_leaves_room(const struct purse *p, const uint64_t *need, int k);
/* {NAME: {limit, used}}, where there is a purse. */
json_t *budget_json(const struct mortise_run *r, const struct scope *in);

/* ---- cache.c ---- */
/* Look it up, where that makes sense; or call. */
int cache_start(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* What was found, or nothing. */
int cache_settle(struct mortise_run *r, struct exec *x,
                 const struct mortise_result_in *in, struct mortise_err *err);
/* Its call came to an end ... */
void cache_note(struct exec *x, const struct mortise_result_in *in);
/* ... and was judged a success: what it gave goes with the commit. */
int cache_keep(struct mortise_run *r, const struct exec *x, enum done_how how,
               struct mortise_err *err);

/* ---- race.c ---- */
/* The join of `node` in f fired: what leads nowhere but to it has lost. */
int race_won(struct mortise_run *r, struct frame *f, uint32_t node,
             struct mortise_err *err);
/* Nothing more happens in f, which is a graph's. */
int race_halt(struct mortise_run *r, struct frame *f, enum loss why,
              struct mortise_err *err);
/* If nobody is at work any more in f, a graph's that is halted, it is over. */
int race_quiet(struct mortise_run *r, struct frame *f, struct mortise_err *err);
/* x is not to come to its end.  Nothing where it did, or has lost already. */
int race_lose(struct mortise_run *r, struct exec *x, enum loss why,
              struct mortise_err *err);
/* f, an element that is not over, lost a race in the frame `in`. */
int race_beaten(struct mortise_run *r, struct frame *f, const struct frame *in,
                bool finish, struct mortise_err *err);
/* What begins in an item of f is discarded so. */
uint32_t race_discard(const struct frame *f, const struct item *it);
/* Was it stopped by a failure, which a resume may mend? */
bool race_may_return(const struct exec *x);
/* ... and nothing around it otherwise?  Also of what was not stopped at all. */
bool race_may_come_back(const struct exec *x);
const char *race_words(enum loss why);

/* ---- commit.c ---- */
/* May these wait for the commit of a later step (entry_rules)?  Of what a node
 * gave; of the elements of a map, as the `done` behind it; of what else says how
 * far a node has come. */
bool commit_done_may_wait(const struct mortise_run *r, const struct exec *x,
                          const struct mortise_entry *e);
bool commit_fan_may_wait(const struct mortise_run *r, const struct exec *x,
                         const struct mortise_entry *e);
bool commit_node_may_wait(const struct mortise_run *r, const struct exec *x,
                          const struct mortise_entry *e);
/* The end of a step: the action at `slot` is its commit's, or goes. */
int commit_step(struct mortise_run *r, size_t slot, struct mortise_err *err);
/* Will something happen without anybody's help? */
bool commit_is_going(const struct mortise_run *r);

/* ---- clock.c ---- */
/* At the end of a step: start and stop what changed; store the run's. */
int clock_tell(struct mortise_run *r, struct mortise_err *err);
int clock_store(struct mortise_run *r, struct mortise_err *err);
/* The run was active for so long. */
void clock_set(struct mortise_run *r, uint64_t active);
/* What a graph used of its budget.wall: now; to be stored; as was stored. */
uint64_t clock_wall_ms(const struct mortise_run *r, const struct scope *in);
int clock_store_wall(struct mortise_run *r, struct scope *in,
                     struct mortise_err *err);
/* Its budget.wall was raised. */
int clock_again(struct mortise_run *r, struct scope *in,
                struct mortise_err *err);
/* The timer of x's child, or of the run (START), is due. */
int clock_is_due(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);

/* ---- sub.c ---- */
/* Its child begins. */
int sub_begin(struct mortise_run *r, struct exec *x, json_t *input,
              struct mortise_err *err);
/* Nothing is left to do in f, a graph's: its owner will end. */
int sub_over(struct mortise_run *r, struct frame *f, struct mortise_err *err);
/* Is what ended it a failure inside? */
bool sub_failed(const struct frame *f);
/* x->inner, of a child that is over and did not fail, with these artifacts. */
int sub_recall(struct mortise_run *r, struct exec *x, json_t *artifacts,
               struct mortise_err *err);

/* ---- map.c ---- */
/* The list for a map edge that x is about to take. */
int map_keep(struct mortise_run *r, struct exec *x, uint32_t edge, json_t *list,
             struct mortise_err *err);
/* The edge was taken. */
int map_begin(struct mortise_run *r, struct item *it, const uint32_t *preds,
              uint32_t n, struct mortise_err *err);
int map_element_over(struct mortise_run *r, struct frame *f,
                     struct mortise_err *err);
/* Are all elements over that are to be? */
bool map_is_over(const struct fan *fan);
/* The join of `node` waits in f: have enough elements come to it?  Then the
 * maps that they are of gather.  `own` is one of them, if anything. */
int map_look(struct mortise_run *r, struct frame *f, uint32_t node,
             const struct item *it, struct fan *own, struct mortise_err *err);
/* An element that is over is to be tried again, when its turn comes ... */
void map_wait(struct frame *f);
/* ... which it does now, where there is room. */
int map_go_on(struct mortise_run *r, struct mortise_err *err);
void map_finish(struct mortise_run *r);

/* ---- limit.c ---- */
enum limit { LIMIT_NONE, LIMIT_STEPS, LIMIT_VISITS };
/* The limit that x would pass if it started now. */
enum limit limit_of(const struct mortise_run *r, const struct exec *x);
/* The execution that a limit holds back, when nothing else is left to do; NULL:
 * none. */
const struct exec *limit_holds(const struct mortise_run *r);
json_t *limit_json(const struct mortise_run *r, const struct exec *x);
/* The body of MORTISE_CMD_LIMIT. */
int limit_check(const struct mortise_run *r, const json_t *body,
                struct mortise_err *err);
void limit_raise(struct mortise_run *r, const json_t *body);

/* ---- steps.c ---- */
/* Who asked: an ordinal, or (ordinal UNORDERED) a key. */
struct step_id {
    uint32_t ordinal;
    const char *key;
};
/* NULL: no step has that name. */
struct step *step_find(const struct journal *j, struct step_id id);
/* A new step; one of that name that was never recorded makes way. */
int step_put(struct mortise_run *r, struct journal *j, struct step_id id,
             const char *method, const uint8_t *digest, struct step **out,
             struct mortise_err *err);
/* x has a journal. */
int step_journal(struct mortise_run *r, struct exec *x, struct journal **out,
                 struct mortise_err *err);
bool step_is_request(const struct step *s);
/* What an effect of that key gave in an earlier attempt or generation; NULL:
 * there was none. */
json_t *step_effect_answer(const struct exec *x,
                           const uint8_t key[MORTISE_DIGEST]);
/* It is an effect, with a key that is the same in every attempt and generation,
 * and never another's. */
void step_become_effect(const struct mortise_run *r, const struct exec *x,
                        struct step *s);
/* All that are between intent and answer are to be made again. */
void step_clear_doubts(const struct exec *x);
/* The first effect between intent and answer that must not be repeated by
 * itself; NULL: none. */
const struct step *step_in_doubt(const struct mortise_run *r,
                                 const struct exec *x);
/* Is there one, on disk already or not?  What a replay sees, too. */
bool step_is_open(const struct exec *x);
/* Was anything that it waited for answered? */
bool step_was_awaited(const struct exec *x);
/* Is its journal kept for the step of it that is in doubt? */
bool step_is_kept(const struct exec *x);
json_t *step_name(const struct step *s);
/* The pending request of that id, NULL: none of x. */
struct step *step_requested(const struct exec *x, const char *id);
int step_pending_json(const struct exec *x, json_t *list);
/* A generation ends: its requests are withdrawn, its journal forgotten. */
int step_clear(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* ... but its requests only. */
int step_rest(struct mortise_run *r, struct exec *x, struct mortise_err *err);
void step_finish(struct mortise_run *r, struct exec *x);
/* A `settle` of one of its requests ... */
int apply_settle_step(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, struct mortise_err *err);
/* ... or of the doubt about the step of that name. */
int step_resolved(struct mortise_run *r, struct exec *x, const json_t *name,
                  const struct mortise_entry *e, struct mortise_err *err);

/* ---- step.c ---- */
enum mortise_phase step_phase(const struct mortise_entry *e);
int step_ask(struct mortise_run *r, const struct mortise_ask_in *in,
             struct mortise_err *err);
int step_answer(struct mortise_run *r, const struct mortise_answer_in *in,
                struct mortise_err *err);
/* Commits are on disk: what waited for them goes on. */
int step_synced(struct mortise_run *r, struct mortise_err *err);
/* A call of x begins: what it asks is compared with the journal from now. */
void step_enter(struct exec *x);
/* Did it, this time, ask less than what is recorded? */
bool step_left_unasked(const struct exec *x);
/* The call ended as suspended.  MORTISE_ENOTFOUND, and nothing is recorded: it
 * waits for nothing. */
int step_let_go(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* x is SUSPENDED: wait for the first of its deadlines. */
int step_arm(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* ... which has come. */
int step_expired(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);
const char *step_kind_name(const struct step *s);
/* MORTISE_EINVAL: not what the question's schema wants. */
int step_check_answer(struct mortise_run *r, const struct step *s,
                      const json_t *value, struct mortise_err *err);
/* Somebody answered (checked). */
int step_answered(struct mortise_run *r, struct exec *x, struct step *s,
                  json_t *value, const char *actor, struct mortise_err *err);

/* A step in doubt did not happen: what was heard of it is its answer, or
 * that. */
int step_refute(struct mortise_run *r, struct exec *x, struct step *s,
                struct mortise_err *err);

/* ---- heard.c ---- */
/* An effect of which twice is once, or whose author wants it so (doubt.c (2)). */
bool doubt_may_be_repeated(const struct mortise_node *n);
/* Is it open whether that effect happened, until somebody settles it? */
bool doubt_is_of_step(const struct mortise_run *r, const struct exec *x,
                      const struct step *s);
/* `value`: the answer, or words. */
int doubt_heard(struct mortise_run *r, struct exec *x, struct step *s,
                const struct mortise_answer_in *in, json_t *value,
                struct mortise_err *err);
void heard_forget(struct mortise_run *r, struct step *s);
/* What people are told of its doubt, {cause, step?, answer?} among others;
 * `apart`: by an entry of its own.  Nothing but memory can be missing. */
int doubt_tell(struct exec *x, const json_t *what, bool apart);
void doubt_forget(struct exec *x);

/* ---- generation.c ---- */
int exec_next_generation(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);
/* Its arguments are to be found anew; unless an effect is in doubt, which is
 * about those that it was begun with. */
void exec_drop_body(struct exec *x);
/* Nothing that it asked matters any more. */
int exec_forget_live(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err);

/* ---- doubt.c ---- */
enum doubt { DOUBT_NONE, DOUBT_CALL, DOUBT_STEP };
extern const char doubt_stuck[]; /* in words: a call never let go */
/* What that end of its call leaves open; and then what becomes of it. */
enum doubt doubt_at_end(const struct mortise_run *r, const struct exec *x,
                        const struct mortise_result_in *in);
int doubt_ended(struct mortise_run *r, struct exec *x, enum doubt what,
                const struct mortise_result_in *in, struct mortise_err *err);
/* The same of a call that broke its word, in these words. */
enum doubt doubt_at_break(const struct mortise_run *r, const struct exec *x,
                          const struct mortise_result_in *in);
int doubt_broke(struct mortise_run *r, struct exec *x, enum doubt what,
                const char *words, struct mortise_err *err);
/* The run stands still, x with it. */
void doubt_paused(struct exec *x);
/* x is READY, with something in doubt. */
int doubt_start(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* A person is to say what happened. */
int doubt_ask(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* x is READY, and its schemas refuse what came of its effect; so they do what
 * the plugin says came of it. */
int doubt_of_result(struct mortise_run *r, struct exec *x,
                    const struct mortise_err *why, struct mortise_err *err);
int doubt_useless(struct mortise_run *r, struct exec *x,
                  const struct mortise_err *why, struct mortise_err *err);
/* The plugin says that it did not. */
int doubt_refuted(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);
/* A person does, and x is READY. */
int doubt_denied(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);
/* x has lost: is something in doubt that is to be settled before it ends?  Then
 * begin with that, if there is room; is it being settled, or was it not? */
bool doubt_outlives(const struct mortise_run *r, const struct exec *x);
int doubt_of_loser(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err);
bool doubt_is_asked(const struct exec *x);
/* x loses, and never returns: does it end in doubt?  Say so first. */
int doubt_is_lost(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);
int doubt_left(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* Did it fail because what came of its effect is refused? */
bool doubt_is_useless(const struct exec *x);
/* x is over: did it end with its doubt?  Could it go on all the same? */
bool doubt_is_kept(const struct mortise_run *r, const struct exec *x);
bool doubt_may_go_on(const struct exec *x);
/* Is any kept?  Each is asked about; is one still?  Nobody wants to say.  It is
 * settled, and is over as it was; so are all. */
bool doubt_is_any_kept(const struct mortise_run *r);
int doubt_return(struct mortise_run *r, struct mortise_err *err);
bool doubt_has_returned(const struct mortise_run *r);
void doubt_leave(struct mortise_run *r);
void doubt_over(struct mortise_run *r, struct exec *x);
void doubt_all_over(struct mortise_run *r);
/* It did not happen: x ends. */
int doubt_of_loser_refuted(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err);
/* It fails; the doubt stays. */
int doubt_fail(struct mortise_run *r, struct exec *x, const char *words,
               struct mortise_err *err);
/* Ahead of what is not its settling: record why nobody knows, if x is in doubt.
 */
int doubt_note(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* ... which a cancel stopped in the middle of a call. */
int doubt_cancelled(struct mortise_run *r, struct exec *x,
                    struct mortise_err *err);
/* ... which is to stand still, and is asked about if a person is to say. */
int doubt_hold(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* May the effect of x have happened, and nobody settled that?  Its call may be
 * out. */
bool doubt_is_open(const struct mortise_run *r, const struct exec *x);

/* ---- start.c ---- */
/* A tool's: from its arguments to its call. */
int start_tool(struct mortise_run *r, struct exec *x, struct mortise_err *err);
int start_exec(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* The arguments that it was, or would be, called with are there; `why` for
 * MORTISE_EINVAL. */
int start_body(struct mortise_run *r, struct exec *x, struct mortise_err *why,
               struct mortise_err *err);
/* Its intent is on disk: call. */
int start_call(struct mortise_run *r, struct exec *x,
               enum mortise_run_call_kind kind, struct mortise_err *err);
int start_execute(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);

/* ---- route.c ---- */
/* Do the edges of a node depend on anything but its success?  Then which names
 * do their conditions use? */
bool route_uses(const struct mortise_graph *g, const struct mortise_node *n,
                uint32_t *uses);
/* Those that a success takes, into the entry. */
int route_choose(struct mortise_run *r, struct exec *x, struct mortise_entry *e,
                 struct mortise_err *why, struct mortise_err *err);
/* The one edge of a kind, if the node has it, into the entry. */
void route_of_kind(struct mortise_run *r, const struct exec *x,
                   struct mortise_entry *e, enum mortise_edge_kind kind);
/* Does taking it stand on a value: the list of a map edge, what a discovery
 * edge came to? */
bool route_stands_on(const struct mortise_edge *e);
/* The values of such edges that the entry takes, in that order; NULL where it
 * takes none. */
int route_grounds(struct mortise_run *r, struct exec *x,
                  const struct mortise_entry *e, json_t **grounds,
                  const char **code, struct mortise_err *why,
                  struct mortise_err *err);

/* ---- judge.c ---- */
/* What x said besides an output that came about so: NULL: nothing. */
json_t *judge_said(const struct exec *x, enum done_how how, const char *what);
/* Judge a success and make its entry; MORTISE_EINVAL with *code and `why` when
 * it is none after all. */
int judge_done(struct mortise_run *r, struct exec *x, struct mortise_entry *e,
               json_t **grounds, const char **code, struct mortise_err *why,
               struct mortise_err *err);
/* Append one write to an entry, its value typed as declared. */
int judge_add_write(const struct mortise_graph *g, struct mortise_entry *e,
                    uint16_t ref, const struct mortise_path *path,
                    json_t *value, struct mortise_err *err);
/* Put the entry's writes on the execution and fold them: x->after, unless that
 * may wait. */
int judge_writes(struct mortise_run *r, struct exec *x,
                 const struct mortise_entry *e, const char **code,
                 struct mortise_err *why, struct mortise_err *err);
/* Is any value of the entry too deep to be kept? */
int judge_depths(const struct mortise_entry *e, struct mortise_err *why);
/* MORTISE_EINVAL when a body breaks the operation's or the node's schema. */
int judge_body(const struct mortise_node *n, const json_t *body,
                    const struct mortise_mem *mem, struct mortise_err *err);
/* An output against the schemas of the operation and the node. */
int judge_output(const struct mortise_node *n, const json_t *output,
                 struct mortise_err *why);
/* The top-level fields that a write to `path` changed, against their schemas.
 * Keywords about a root as a whole, such as `required`, wait for the end. */
int judge_field_of(const struct mortise_graph *g, const json_t *after,
                   const struct mortise_path *path, struct mortise_err *why);
/* What became of judging something: MORTISE_OK, MORTISE_EINVAL, or
 * MORTISE_ENOMEM (then in `err`), which is no failure of a node's. */
int judge_verdict(int rv, struct mortise_err *err);

/* ---- total.c ---- */
/* Edges out of START, into the entry; their conditions see the input alone. */
int total_choose_start(struct mortise_run *r, const struct mortise_graph *g,
                     json_t *input, struct mortise_entry *e,
                     struct mortise_err *err);
/* MORTISE_EINVAL, or the input as its schema types it. */
int total_check_input(const struct mortise_graph *g, json_t *input, json_t **out,
                    struct mortise_err *err);
/* What f, a graph's, came to: a new error ({code, message, path}), or NULL and
 * its state. */
int total_outcome(struct mortise_run *r, struct frame *f, json_t **error,
                json_t **state, struct mortise_err *err);

/* ---- gather.c ---- */
/* All that are. */
int gather_all(struct mortise_run *r, struct mortise_err *err);

/* ---- stop.c ---- */
/* End x, which has no call out, by this kind of entry. */
int stop_exec(struct mortise_run *r, struct exec *x,
                     enum mortise_entry_type type, struct mortise_err *err);
/* Stop who has lost: calls are cancelled, everything else ends. */
int stop_losers(struct mortise_run *r, struct mortise_err *err);
int stop_lost(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* ... of which it is known what came of it. */
int stop_lost_known(struct mortise_run *r, struct exec *x,
                    struct mortise_err *err);

/* ---- subgraph.c ---- */
int subgraph_start(struct mortise_run *r, struct exec *x, struct mortise_err *err);
int subgraph_end_all(struct mortise_run *r, struct mortise_err *err);

/* ---- fail.c ---- */
/* x failed: retry, on_error or failure.  class as in plugin.h. */
int fail_attempt(struct mortise_run *r, struct exec *x, const char *code,
                 const char *class, const char *message,
                 struct mortise_err *err);
int fail_attempt_err(struct mortise_run *r, struct exec *x, const char *code,
                     const struct mortise_err *why, struct mortise_err *err);
/* It failed for good, whatever retry_policy and on_error.value say.  `open`:
 * its effect never answered. */
int fail_for_good(struct mortise_run *r, struct exec *x, const char *code,
                  const char *message, bool open, struct mortise_err *err);
/* The effect that was intended did not happen: as before the intent. */
int fail_not_done(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);
/* {code, message, span}: a new reference. */
json_t *fail_json(const struct mortise_run *r, const struct exec *x,
                  const char *code, const char *message);

/* ---- human.c ---- */
int human_start(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* What people said, {approved, reason?, answer?}, is the node's output: a new
 * reference. */
json_t *human_answered(const struct mortise_run *r, const struct exec *x,
                       const json_t *said, const char *actor);
/* ... and what it is that they said nothing in time. */
json_t *human_expired(const struct mortise_run *r, const struct exec *x);
/* It was decided; takes the decision (NULL: out of memory). */
int human_decided(struct mortise_run *r, struct exec *x, json_t *decided,
                  struct mortise_err *err);
/* A question was settled: keep a decision that guardrails are to see. */
int human_keep(struct mortise_run *r, struct exec *x,
               const struct mortise_entry *e, struct mortise_err *err);
/* They passed it. */
int human_passed(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);

/* ---- guard.c ---- */
/* Ask the guardrails of a stage about this, one after the other. */
int guard_begin(struct mortise_run *r, struct exec *x,
                enum mortise_guard_stage stage, json_t *subject,
                struct mortise_err *err);
/* The one that is being asked. */
const char *guard_id(const struct mortise_run *r, const struct exec *x);
/* Are there some to be asked before it runs, and before this is its output? */
bool guard_wants_input(const struct mortise_run *r, const struct exec *x);
bool guard_wants_output(const struct mortise_run *r, const struct exec *x,
                        enum done_how how);
/* The verdicts of an entry are the execution's. */
int guard_keep(struct mortise_run *r, struct exec *x,
               const struct mortise_entry *e, struct mortise_err *err);
/* A guardrail answered, or failed to with these words. */
int guard_settle(struct mortise_run *r, struct exec *x,
                 const struct mortise_result_in *in, const char *failure,
                 struct mortise_err *err);

/* An update as it passed is what was said. */
int guard_keep_update(struct exec *x, struct mortise_err *err);

/* ---- leave.c ---- */
/* Are edges of this success to be looked at, and were not yet? */
bool leave_is_judged(const struct exec *x, const struct mortise_entry *e);
/* Record it as one whose edges are; x is READY then. */
int leave_choose(struct mortise_run *r, struct exec *x,
                 const struct mortise_entry *done, struct mortise_err *err);
/* Likewise what a graph inside x gave, before x's own guardrails see it. */
int leave_inside(struct mortise_run *r, struct exec *x, json_t *output,
                 struct mortise_err *err);
/* x is READY, and something leaves it: ask. */
int leave_start(struct mortise_run *r, struct exec *x, struct mortise_err *err);
/* Of the edge that is looked at: its policy, and where it leads. */
const struct mortise_edge_policy *leave_policy(const struct exec *x);
const char *leave_to(const struct exec *x);
/* What its guardrail's answer comes to: the next one is asked, that edge is not
 * taken, the node failed. */
int leave_passed(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);
int leave_reroute(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);
int leave_block(struct mortise_run *r, struct exec *x,
                const struct mortise_err *why, struct mortise_err *err);

/* ---- settle.c ---- */
/* x succeeded with this output (borrowed; NULL: none). */
int settle_done(struct mortise_run *r, struct exec *x, json_t *output,
                enum done_how how, struct mortise_err *err);
/* ... which its guardrails have seen. */
int settle_judged(struct mortise_run *r, struct exec *x, json_t *output,
                  enum done_how how, struct mortise_err *err);
/* It is done, but interrupt_after holds back what follows. */
int settle_ask_after(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err);
int settle_result(struct mortise_run *r, const struct mortise_result_in *in,
                  struct mortise_err *err);
/* x has lost, and its effect had this output (borrowed): that is kept. */
int settle_lost_done(struct mortise_run *r, struct exec *x, json_t *output,
                     enum done_how how, struct mortise_err *err);
int settle_unresponsive(struct mortise_run *r,
                        const struct mortise_result_in *in,
                        struct mortise_err *err);
int settle_timer(struct mortise_run *r, uint64_t timer,
                 struct mortise_err *err);
/* The pending request of x ran out of time. */
int settle_expired(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err);

/* ---- decide.c ---- */
bool decide_is(uint32_t kind);
/* What a decision is about, under whatever name; NULL: nothing. */
const void *decide_subject(const struct mortise_run *r,
                           const struct mortise_command *c);
int decide_check_approve(struct mortise_run *r, const struct mortise_command *c,
                         struct mortise_err *err);
int decide_check_answer(struct mortise_run *r, const struct mortise_command *c,
                        const char *actor, struct mortise_err *err);
int decide_check_resolve(struct mortise_run *r, const struct mortise_command *c,
                         struct mortise_err *err);
int decide_do(struct mortise_run *r, const struct mortise_command *c,
              const char *actor, struct mortise_err *err);

/* ---- order.c ---- */
/* MORTISE_EMISMATCH: another list than this was recorded under its id, which the
 * run knows. */
int order_check(const struct mortise_run *r, const struct held_command *h,
                struct mortise_err *err);
/* Ahead of the first entry of the list that is being applied. */
int order_record(struct mortise_run *r, struct mortise_err *err);
/* Ahead of the admission; NULL: nothing. */
int order_record_start(struct mortise_run *r, const char *id,
                       struct mortise_err *err);
/* What an event of what this actor did has as its `order`; NULL: nothing. */
const char *order_of(const struct mortise_run *r, const char *actor);

/* ---- settled.c ---- */
/* A settle entry was applied. */
int settled_add(struct mortise_run *r, const struct mortise_entry *e,
                struct mortise_err *err);
/* MORTISE_EMISMATCH: no such request is pending.  Says what became of it. */
int settled_refuse(const struct mortise_run *r, const char *id,
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
void patch_init(struct patch *p, struct mortise_run *r,
                const struct mortise_graph *g);
/* Of {scratch?, artifacts?}: MORTISE_EINVAL when it is something else. */
int patch_make(struct patch *p, const json_t *body, struct mortise_err *err);
void patch_finish(struct patch *p);

/* ---- raise.c: MORTISE_CMD_BUDGET ---- */
/* MORTISE_CMD_BUDGET. */
int budget_check(const struct mortise_run *r, const struct mortise_command *c,
                 struct mortise_err *err);
int budget_raise(struct mortise_run *r, const struct mortise_command *c,
                 const char *actor, struct mortise_err *err);

/* ---- update.c ---- */
int update_check(struct mortise_run *r, const struct held_command *h,
                 const struct mortise_command *c, struct mortise_err *err);
int update_do(struct mortise_run *r, const struct mortise_command *c,
              const char *actor, struct mortise_err *err);

/* ---- command.c ---- */
/* Is there one of that kind in the list? */
bool command_has(const struct held_command *h, uint32_t kind);
/* What it carries, `what` in words; NULL: nothing. */
int command_json(json_t **out, const struct mortise_command *c,
                 const char *what, struct mortise_err *err);
int command_step(struct mortise_run *r, const struct mortise_input *in,
                 struct mortise_err *err);
/* Go on from the head, unless a person paused the run. */
int command_recover(struct mortise_run *r, struct mortise_err *err);
/* Apply the command that waits, if what was in flight has stopped. */
int command_apply_held(struct mortise_run *r, struct mortise_err *err);
void command_drop_held(struct mortise_run *r);
/* End, by entries, everything that is not done and has no call out. */
int command_stop_idle(struct mortise_run *r, struct mortise_err *err);

/* ---- rules.c ---- */
/* Ahead of the admission: today's rules, and the store. */
int rules_record(struct mortise_run *r, struct mortise_uuid store,
                 struct mortise_err *err);
/* What tells apart the same names in two stores. */
void rules_hash(const struct mortise_run *r, struct mortise_hasher *h);

/* ---- pins.c ---- */
/* Of none: zeros. */
const uint8_t *pins_digest(const struct mortise_run *r, const char *plugin);
/* As entries have them; as people are shown a run's.  New references. */
json_t *pins_json(const struct mortise_pin *pins, size_t n);
json_t *pins_show(const struct mortise_run *r);
/* Is, or was, one of them signed by nobody?  The names of those. */
bool pins_dev(const struct mortise_run *r);
json_t *pins_dev_json(const struct mortise_run *r); /* new reference */
/* An event for each of an entry's that nobody signed. */
int pins_announce(struct mortise_run *r, const json_t *pins,
                  struct mortise_err *err);
/* What an entry says they are, or which ones took another's place. */
int pins_admit(struct mortise_run *r, const json_t *pins,
               struct mortise_err *err);
int pins_replace(struct mortise_run *r, const json_t *pins,
                 struct mortise_err *err);

/* ---- run.c ---- */

#endif
