/* agent.h -- a call of the agent, as its files share it.
 *
 *     agent.c    what is made of a reply, until there is an output
 *     model.c    asks a model, another one, or again after a while
 *     batch.c    runs the tools that one reply calls
 *     plan.c     asks a planner whether it is done
 *     said.c     messages, in the host's format
 *     ahead.c    what is said ahead of everything
 *     leaf.c     what a leaf is told
 *     tools.c    the agent's own tools: what is offered, and how they run
 *     tasks.c    ... those about children
 *     reports.c  ... those with which it reports
 *     compact.c  an output is made short
 *     judge.c    a question is judged in a person's place
 *     proposal.c whether a model wrote a graph that can run
 *
 * A function that `takes the call` may end it: nothing of it is touched behind
 * that. */
#ifndef AGENT_H
#define AGENT_H

#include "../../bytes.h"

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
};

enum mode { MODE_ONCE, MODE_REACTS, MODE_PLANNED };

enum { SEEN_MAX = 1000 /* max_internal_iterations is no more */ };

struct call;
struct result;

/* What the host answered becomes a result; PENDING: something else was asked. */
typedef mortise_status take_fn(struct result *r, mortise_jv answer);
/* ... what it refused, in those words. */
typedef mortise_status refuse_fn(struct result *r, mortise_str words);
/* Makes the result; PENDING: it is made another time. */
typedef mortise_status run_fn(struct result *r);

struct result {
    struct call *of;
    struct bytes parts; /* a list, closed */
    mortise_jv call;    /* the part, of the batch's message */
    int is_error, is_started;

    run_fn *held;            /* of agent_hold() */
    const struct tool *tool; /* the agent's own; NULL: the graph's */
    take_fn *take;           /* of what the host is asked */
    take_fn *fits;           /* of what is judged, where it fits */
    refuse_fn *refuse;
    struct bytes handle; /* JSON; spawn_agent's child, once there is one */
    int claims;          /* so often it was asked for */
};

/* Which of the agent's own tools a call offers. */
enum { AGENT_TASKS = 1, AGENT_REPORTS = 2, AGENT_PROGRESS = 4 };

/* A tool of the agent's own. */
struct tool {
    const char *name, *description;
    int of; /* AGENT_... */

    /* The JSON Schema of its arguments, which fit when it runs.  NULL: it is the
     * call's to say, and they are run()'s to check. */
    const char *parameters;
    void (*write_parameters)(const struct call *c, mortise_jw *w);

    /* NULL: `method` is asked with the arguments, and take() gets the answer. */
    run_fn *run;
    const char *method;
    take_fn *take;
};

/* The tools that one reply calls. */
struct batch {
    struct bytes message; /* the reply's, JSON */
    struct result *results;
    uint64_t n, next, out; /* calls; the next to be run; those that run */
    uint64_t held;         /* of those: how many agent_hold() has */
    int released;          /* it holds none any more */
    int waits;             /* one of them is answered another time */
    mortise_status status; /* what went wrong with asking */
    struct bytes error;    /* the first that a tool gave, JSON; or nothing */
};

struct call {
    mortise_inst *inst;
    mortise_call id;
    mortise_jv node; /* of the request, lent until the end */
    enum mode mode;
    int is_json, has_tools, keeps; /* keeps: in its conversation */
    int held;        /* what the model said is in no words of a failure */
    int own;         /* AGENT_...: tools that it offers itself */
    int must_report; /* what it says at its end is no output */
    int is_reminded; /* ... and it was told so */
    int quiet;       /* nobody watches what the model says */
    int32_t is_last; /* a proposal that cannot run fails it */
    uint32_t attempt;

    struct bytes ahead;    /* the system's message: a list, or nothing */
    struct bytes append;   /* what is said next: a list, or nothing */
    struct bytes offered;  /* all that its model is offered, a list; or nothing:
                            * what the graph lets its node use */
    struct bytes reported; /* what it reported, JSON; or nothing */
    struct bytes
        schema;    /* what a reply is to be, JSON; nothing: output_schema */
    int64_t asked; /* calls of models so far: the newest is its name */
    int64_t after; /* whose reply it goes on from; 0: none yet */
    int64_t left;  /* replies that it may yet have */

    uint64_t alias, tried; /* whose turn it is, and how many failed before */
    uint64_t waited;       /* how often, for this reply */
    uint64_t pruned;       /* likewise; and what is asked next is */
    int prunes;
    int64_t left_out;    /* messages, of the last one that was pruned */
    struct bytes window; /* why what is asked next is pruned, JSON */
    int is_nudged;       /* it was told that its reply was empty */

    struct batch batch;
    int used_tools;      /* some were run */
    struct bytes called; /* the batch before, and how often it came */
    int n_called;
    struct bytes last;       /* the text of the newest reply, */
    struct bytes output;     /* and, where it was to be JSON and is, that */
    int64_t n_turns;         /* in which the model came to an end */
    uint64_t seen[SEEN_MAX]; /* what turns came to */
    uint64_t n_seen;
    int stale;          /* so many of the last came to nothing new */
    struct bytes heads; /* the node that it hands over to, or nothing */
};

/* ---- agent.c --------------------------------------------------------------- */

/* Is that key of its node said, and true? */
int agent_says(const struct call *c, const char *key);
/* Takes the call, which ends like that; a failure has its detail's code. */
void agent_end_as(struct call *c, mortise_status status);
void agent_fail(struct call *c, const char *code, mortise_str msg);
/* ... with an error of the host's form: {code, class, message}. */
void agent_fail_as(struct call *c, mortise_jv error);
/* Takes the call: the reply that was asked for.  {reply, ...} of model.call/1. */
void agent_take_reply(struct call *c, mortise_jv answer);
/* Takes the call: all tools of the batch have their results. */
void agent_take_results(struct call *c);
/* Takes the call: the next turn, unless that is no success. */
void agent_go_on(struct call *c, mortise_status status);
/* Takes the call: the newest reply is its output. */
void agent_succeed(struct call *c);

/* ---- model.c --------------------------------------------------------------- */

/* Takes the call: a reply is asked for. */
void agent_ask(struct call *c);
/* Takes the call: the window was too small for what was said, says that answer;
 * `error` is its own where there is nothing to be left out. */
void agent_ask_shorter(struct call *c, mortise_jv answer, mortise_jv error);
/* {after, append} of what is there; into a request. */
void agent_write_after(const struct call *c, mortise_jw *w);
/* "m3". */
#define AGENT_STEP_ROOM 32
mortise_str agent_step(char *room, const char *kind, int64_t n);

/* ---- batch.c --------------------------------------------------------------- */

/* Takes the call: the tool calls of that message are run. */
void agent_run_batch(struct call *c, mortise_jv message);
void agent_batch_free(struct batch *b);

/* A result that is one text. */
mortise_status agent_put_words(struct result *r, mortise_str words);
/* ... of a tool that failed: what the model is told, and as what the node fails with
 * tool_errors: fail. */
mortise_status agent_tool_fail(struct result *r, const char *code,
                               mortise_str words, mortise_str told);
/* "t3.1" + part: the name of what is asked for a result. */
#define AGENT_RESULT_ROOM 80
mortise_str agent_result_step(char *room, const struct result *r,
                              const char *part);
/* Takes the call: one that was pending is there, or could not be made. */
void agent_result_is_there(struct result *r, mortise_status status);
/* The result's next step may wait for long: `run` is called once no other result
 * can be kept from its beginning by that. */
mortise_status agent_hold(struct result *r, run_fn *run);
/* Takes the call, if agent_hold() has the result. */
void agent_result_is_held(struct result *r);

/* ---- shown.c --------------------------------------------------------------- */

/* What a tool gave, as a list of parts. */
mortise_status agent_write_shown(mortise_jw *w, mortise_jv output);

/* ---- leaf.c ---------------------------------------------------------------- */

mortise_status agent_begin_leaf(struct call *c, mortise_jv body);

/* ---- tools.c --------------------------------------------------------------- */

/* Takes the call: its model is offered all that there is, and asked. */
void agent_offer(struct call *c);
/* The tool of that name, of those that the call offers itself; or NULL. */
const struct tool *agent_tool_of(const struct call *c, mortise_jv name);
/* r->tool makes the result; PENDING: it is made another time. */
mortise_status agent_run_tool(struct result *r);

/* Is it a no of the host's, in words? */
int agent_is_refusal(mortise_status status);
/* They are the tool's error. */
mortise_status agent_refuse(struct result *r, mortise_str words);
/* The object that w has written is asked; what comes of it is the result's. */
mortise_status agent_ask_host(struct result *r, const char *method,
                              mortise_jw *w, take_fn *take, refuse_fn *refuse);
/* Does the value fit the schema?  Then `fits` makes the result, or goes on; else
 * `refuse` has the reason. */
mortise_status agent_judge(struct result *r, mortise_jv schema,
                           mortise_jv value, take_fn *fits, refuse_fn *refuse);
/* The member `step` of what is asked. */
void agent_write_step(mortise_jw *w, const struct result *r, const char *part);

/* ---- tasks.c --------------------------------------------------------------- */

enum { AGENT_TASK_TOOLS = 6 };
extern const struct tool agent_task_tools[AGENT_TASK_TOOLS];

/* ---- reports.c ------------------------------------------------------------- */

enum { AGENT_REPORT_TOOLS = 2 };
extern const struct tool agent_report_tools[AGENT_REPORT_TOOLS];

/* Takes the call: the model came to its end, and was to report ahead of it. */
void agent_take_unreported(struct call *c);
/* Takes the call: its attempt is known to whose child it is, and it begins. */
void agent_say_attempt(struct call *c);

/* ---- compact.c ------------------------------------------------------------- */

mortise_status agent_begin_compact(struct call *c, mortise_jv body);

/* ---- judge.c --------------------------------------------------------------- */

mortise_status agent_begin_judge(struct call *c, mortise_jv body);

/* ---- proposal.c ------------------------------------------------------------ */

mortise_status agent_begin_proposal(struct call *c, mortise_jv body);
void agent_start_proposal(struct call *c); /* takes the call */

/* ---- plan.c ---------------------------------------------------------------- */

/* Takes the call: is it done? */
void agent_plan(struct call *c);

/* ---- ahead.c --------------------------------------------------------------- */

/* The system's message, of a request's body and the node in it, unless there is
 * nothing to be said. */
mortise_status agent_add_ahead(struct bytes *list, mortise_jv node,
                               mortise_jv body);

/* ---- said.c ---------------------------------------------------------------- */

/* One more message in a list, as JSON. */
mortise_status agent_add(struct bytes *list, mortise_str message);
/* ... of a value: a list of parts, or what becomes one text. */
mortise_status agent_add_of(struct bytes *list, const char *role, mortise_jv v);
mortise_status agent_add_text(struct bytes *list, const char *role,
                              mortise_str text);
/* A member of that name, unless it is not there. */
void agent_write_member(mortise_jw *w, const char *name, mortise_jv v);
/* Is it a list of parts? */
int agent_is_parts(mortise_jv v);
/* {type: text, text} of a value: a text is itself, any other its JSON. */
void agent_write_text(mortise_jw *w, mortise_jv v);
/* The texts of a message, one behind the other. */
mortise_status agent_text_of(struct bytes *to, mortise_jv message);
/* The results of a batch, as a message. */
mortise_status agent_add_results(struct bytes *list, const struct batch *b);

#endif
