/* call.h -- a call of the plugin, as its files share it.
 *
 *     mcp.c       how it begins and is cancelled
 *     step.c      the steps in which it does things, and its end
 *     call.c      what is asked of the server, and what comes of it
 *     offers.c    ... of operation `list`
 *     output.c    a result as the call's output
 *     inputs.c    what the server wants to know before it goes on; held.c: at once
 *     question.c  ... of a person
 *     granted.c   ... of a model, or of us
 *     task.c      a result that comes later
 *     consent.c   an authorization that a person has to give
 *
 * A call goes from step to step (journal.begin/1, journal.end/1).  What it asks
 * next is a function of its request and of what its steps gave; all that depends
 * on the connection is inside of a step, and recorded with its result.  Every ask
 * has a name of its own, so that none is known by how many came before it.
 *
 * A function that `takes the call` may end it: nothing of it is touched behind
 * that. */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "server.h"

enum mcp_op { MCP_OP_TOOL, MCP_OP_LIST, MCP_OP_READ, MCP_OP_PROMPT };

enum { MCP_STEP_ROOM = 64, MCP_ROUNDS_MAX = 10, MCP_FRESH_MAX = 2 };

/* A mark of ours where a server's resultType stands: it does not know its own
 * requestState any more. */
#define MCP_RESULT_EXPIRED "{\"resultType\":\"expired\"}"

struct mcp_task {
    struct bytes id;       /* JSON text */
    struct bytes name;     /* decoded */
    struct bytes answered; /* the keys of what was answered: JSON texts, each
                              with a newline behind */
    uint64_t polls, updates, rounds; /* rounds: that wanted to know something */
    uint64_t keys;                   /* in `answered` */
    uint64_t waits;
    uint64_t base_ms, wait_ms;        /* what the server wants; the next wait */
    uint64_t failures;                /* in succession: nothing came through */
    void (*next)(struct mcp_call *c); /* behind the wait */
};

struct mcp_offers {
    struct mcp_walk *walk; /* under way */
    size_t at;             /* which list */
    struct bytes text;     /* the output so far */
    mortise_jw w;
};

/* How it fails, once its step is undone. */
struct mcp_failure {
    mortise_status status;
    const char *code, *klass;
    struct bytes words;
    uint64_t retry_after_ms;
};

struct mcp_call {
    struct mcp_call *next, **at; /* of the instance's */
    mortise_inst *inst;
    struct mcp_server *server;
    mortise_call id;
    int held; /* what a server said is in no words of a failure */
    enum mcp_op op;
    struct bytes subject; /* the tool, uri or prompt: JSON text; or nothing */
    struct bytes name;    /* ... as it is */
    mortise_jv arguments; /* of tool or prompt; none: not said */

    /* The step (step.c writes these, and `sent` whoever sends). */
    char step[MCP_STEP_ROOM];
    int begun; /* it is under way: to be ended, or left in doubt */
    int sent;  /* what may change something may have arrived */
    void (*perform)(struct mcp_call *c);
    void (*take)(struct mcp_call *c); /* `result` is there */
    /* The server cannot be asked; NULL: the call fails. */
    void (*unreachable)(struct mcp_call *c, const struct mcp_trouble *why);
    struct bytes result; /* of the newest step, JSON */
    unsigned changed;    /* what was mended of it: bits of mend.h */
    struct mcp_failure failure;

    /* call.c */
    uint64_t n_calls; /* steps that called */
    uint64_t rounds, fresh;
    int retried;                    /* within this step */
    struct bytes consent, redirect; /* consent.c: what a person allowed, for the
                                       next; or nothing */
    int consenting;                 /* the transport is told of it */
    struct bytes answers; /* {key: answer}, for the next; or nothing */
    struct bytes state; /* requestState, JSON text, for the next; or nothing */
    struct mcp_waiter waiter;
    struct mcp_request request;

    /* inputs.c: those of `result`. */
    uint64_t n_questions; /* asked so far, for their names */
    mortise_jv_iter questions;
    mortise_jv key, question;
    mortise_jw answering;
    void (*answered)(struct mcp_call *c); /* `answers` is there */

    struct mcp_asked *asked;  /* asked.c: what the server asks in this step */
    struct bytes asked_names; /* of those before: lines */

    struct mcp_task task;
    struct mcp_offers offers;

    uint64_t asks; /* of the host, that have no answer */
    int ended;     /* it is gone with the last of them */
};

/* ---- step.c ---------------------------------------------------------------- */

/* Begin a step: c->perform, and then c->take once there is a result; or c->take
 * alone where there is one.  `arguments` is JSON.  Takes the call. */
void mcp_step_begin(struct mcp_call *c, const char *name, int repeat,
                    mortise_status made, mortise_str arguments);
/* It gave that, JSON: c->take comes when that is recorded.  Takes the call. */
void mcp_step_done(struct mcp_call *c, mortise_str result);
/* It gave an answer that cannot be read, or kept: takes the call.  `answer` may be
 * any bytes. */
void mcp_step_done_badly(struct mcp_call *c, const char *why,
                         mortise_str answer);
/* It gave {kind: word, name: value}: takes the call. */
void mcp_step_done_as(struct mcp_call *c, const char *kind, const char *word,
                      const char *name, mortise_jv value);
/* The call fails: a step that nothing was sent of is undone first, one of which
 * something was is left in doubt.  `words` is copied.  Takes the call. */
void mcp_call_fail(struct mcp_call *c, const char *code, const char *klass,
                   mortise_str words);
void mcp_call_fail_with(struct mcp_call *c, const struct mcp_trouble *why);
/* It ends like that: MORTISE_S_OK, _SUSPENDED, _CANCELLED, _NOMEM; the step
 * likewise.  Takes the call. */
void mcp_call_end(struct mcp_call *c, mortise_status status);
/* Asks for the call: its answer gets `c`, and begins with mcp_call_answered(),
 * which is false when there is no call any more. */
mortise_status mcp_call_ask(struct mcp_call *c, const char *method,
                            mortise_str body, mortise_answer_fn *on_answer,
                            void *ud);
int mcp_call_answered(struct mcp_call *c);
/* What waits and is under way for it is let go of. */
void mcp_call_let_go(struct mcp_call *c);

/* ---- call.c ---------------------------------------------------------------- */

/* Takes the call: the next request (the first, or with answers). */
void mcp_call_next(struct mcp_call *c);
/* Takes the call: whatever the newest step gave. */
void mcp_call_take(struct mcp_call *c);
/* When the server can be asked, c->perform again; true: it can, now.  False takes
 * the call. */
int mcp_call_wait(struct mcp_call *c, int wants_tools);
/* {"what": [...], "structured_text"?} of a result that was mended. */
#define MCP_MENDED "mortise.mended"
/* What an error of the server's says, for people. */
void mcp_call_put_error(const struct mcp_call *c, struct bytes *to,
                        mortise_jv error);

/* ---- consent.c ------------------------------------------------------------- */

/* {"resultType": "consent", ...}, which is what the step gives: takes the call. */
void mcp_consent_record(struct mcp_call *c, mortise_str consent);
/* Takes the call: a person is asked for what that step gave. */
void mcp_consent_ask(struct mcp_call *c);
/* 1: there is nothing that the transport has to be told; 0: takes the call, which
 * performs again once it was. */
int mcp_consent_is_told(struct mcp_call *c);
void mcp_consent_leave(struct mcp_call *c);

/* ---- offers.c -------------------------------------------------------------- */

void mcp_offers_perform(struct mcp_call *c); /* takes the call */
void mcp_offers_stop(struct mcp_call *c);

/* ---- output.c -------------------------------------------------------------- */

/* Is it what a tool may give: with content, or structuredContent; or an error? */
int mcp_output_is_result(mortise_jv result);
/* Takes the call: it ends with that, an object; or fails, where it says so. */
void mcp_output_give(struct mcp_call *c, mortise_jv result);

/* ---- question.c ------------------------------------------------------------ */

/* NULL: a person can be asked that; else why not (a literal). */
const char *mcp_question_judge(mortise_jv params);
/* A question as interrupt.request/1 has it.  MORTISE_S_INVALID: it cannot be
 * asked (*why, a literal). */
mortise_status mcp_question_write(mortise_jw *w, const char *server,
                                  mortise_str tool, mortise_jv params,
                                  const char *step, uint64_t hold_ms,
                                  const char **why);
/* A person's answer, as elicitation/create has it: the members of an open
 * object. */
void mcp_question_write_answer(mortise_jw *w, mortise_jv params,
                               mortise_jv answer);

/* ---- granted.c: what the deployment lets a server have of us ----------------- */

int mcp_sampling_is_offered(const struct mcp_server *s);
/* NULL: a model can be asked that; else why not (a literal). */
const char *mcp_sampling_judge(mortise_jv params);
/* What was judged so, as model.call/1 has it: a whole object. */
void mcp_sampling_write(mortise_jw *w, const struct mcp_server *s,
                        mortise_jv params, const char *step);
/* Has the answer of model.call/1 no reply?  Then why, for people; or takes the
 * call, which fails by that. */
int mcp_sampling_has_failed(mortise_jv answer);
void mcp_sampling_put_error(struct bytes *to, mortise_jv answer);
void mcp_sampling_fail(struct mcp_call *c, mortise_jv answer);
/* A reply, as sampling/createMessage has it: the members of an open object. */
void mcp_sampling_write_answer(mortise_jw *w, mortise_jv params,
                               mortise_jv answer);
/* The member of roots/list's result, into an open object. */
void mcp_roots_write(mortise_jw *w, const struct mcp_server *s);

/* ---- inputs.c -------------------------------------------------------------- */

/* Takes the call: what the inputRequests of its result ask, one after the other;
 * then c->answered.  Of a task, not those that were answered before. */
void mcp_inputs_ask(struct mcp_call *c, void (*answered)(struct mcp_call *));

/* ---- held.c ---------------------------------------------------------------- */

/* Takes the call: what the server asks in the middle of a step. */
void mcp_question_hold(struct mcp_call *c, struct mcp_asked *a);

/* ---- asked.c --------------------------------------------------------------- */

mortise_jv mcp_asked_params(const struct mcp_asked *a);
uint64_t mcp_asked_serial(const struct mcp_asked *a);
/* Is it for a model (sampling), and not for a person? */
int mcp_asked_is_sampling(const struct mcp_asked *a);
/* The answer, JSON of its method's result; or a refusal, in words.  The question
 * is gone, and its call goes on. */
void mcp_asked_answer(struct mcp_asked *a, mortise_str result);
void mcp_asked_refuse(struct mcp_asked *a, int64_t code, mortise_str words);
/* Its call ends, or has its answer: it is forgotten. */
void mcp_asked_drop(struct mcp_call *c);

/* ---- task.c ---------------------------------------------------------------- */

void mcp_task_begin(struct mcp_call *c); /* takes the call */
/* The call is cancelled while it looks after one: the server is told. */
void mcp_task_cancel(struct mcp_call *c);
void mcp_task_free(struct mcp_task *t);
/* Was that key of the task's questions answered before? */
int mcp_task_has_answered(const struct mcp_call *c, mortise_jv key);

#endif
