/* asks.h -- the journal inside an execution: what it asked, what was answered,
 * and what it forgets between two generations.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_ASKS_H
#define MORTISE_RUN_ASKS_H

#include "core/run/spend/spend.h"

/* How an ANSWER is one, beside being one; journaled. */
enum {
    ANSWER_COMPLETED = 1, /* of an effect, which happened */
    ANSWER_SPENT = 2,     /* what its `usage` says is spent */
    ANSWER_TOOL = 4,      /* of a tool that was not run */
    ANSWER_HEARD = 8,     /* what its `told` has is heard (inbox.c) */
    ANSWER_MODEL = 16,    /* of a model (prompt.c) */
    ANSWER_UNDONE = 32,   /* no answer: it did not happen, and is to be made as
                             if for the first time */
    ANSWER_INSIDE = 64,   /* of what was asked inside an open step */
    ANSWER_ALL = 127
};

/* ---- steps.c ---- */
/* The name of a step: the how-manieth ask of its call it is, or (ordinal
 * MORTISE_STEP_UNORDERED) the key that its asker gave it.  A guardrail's has
 * both: its key begins with which check it is, and its ordinal is
 * MORTISE_STEP_NAMED where the rest of the key is a name of the asker's. */
struct step_id {
    uint32_t ordinal;
    const char *key;
};
/* Is it a guardrail's, and so in x->checks rather than in x->journal? */
bool mortise_step_is_of_check(struct step_id id);
/* What its asker called it; "": its ordinal is its name. */
const char *mortise_step_called(struct step_id id);
/* Puts it there as `step`, with `check` where it is a guardrail's; -1: memory
 * ran out. */
int mortise_step_put_name(json_t *to, struct step_id id);
/* The step of that name; NULL: there is none. */
struct step *mortise_step_find(const struct journal *j, struct step_id id);
/* A new step.  One of that name of which nothing was recorded makes way. */
int mortise_step_put(struct mortise_run *r, struct journal *j,
                     struct step_id id, const char *method,
                     const uint8_t *digest, struct step **out,
                     struct mortise_err *err);
/* *out: x->checks (`of_check`) or x->journal, made where there is none. */
int mortise_step_journal(struct mortise_run *r, struct exec *x, bool of_check,
                         struct journal **out, struct mortise_err *err);
/* Is that what s asks, with these arguments? */
bool mortise_step_is_like(const struct step *s, const char *method,
                          const uint8_t digest[MORTISE_DIGEST]);
/* Is s a question, a timer or a child's end, which is answered later? */
bool mortise_step_is_request(const struct step *s);
/* What an effect of that key gave in an earlier attempt or generation; NULL:
 * there was none. */
json_t *mortise_step_effect_answer(const struct exec *x,
                                   const uint8_t key[MORTISE_DIGEST]);
/* s is an effect from now on, under a key that is the same in every attempt and
 * generation of x, and never another effect's. */
void mortise_step_become_effect(const struct mortise_run *r,
                                const struct exec *x, struct step *s);
/* A person said that none of the open effects of x happened: all are to be made
 * again. */
void mortise_step_clear_doubts(const struct exec *x);
/* The first effect of x between intent and answer that must not be repeated by
 * itself; NULL: there is none. */
const struct step *mortise_step_in_doubt(const struct mortise_run *r,
                                         const struct exec *x);
/* Is any effect of x between intent and answer?  The same live and replayed. */
bool mortise_step_is_open(const struct exec *x);
/* Was anything answered that x let go for? */
bool mortise_step_was_awaited(const struct exec *x);
/* Is the journal of x, whose call is over, kept for a step that is in doubt? */
bool mortise_step_is_kept(const struct exec *x);
/* The name as people see it: the ordinal or the key.  A new reference. */
json_t *mortise_step_name(const struct step *s);
/* The step of x that has the pending request of this id; NULL: none has. */
struct step *mortise_step_requested(const struct exec *x, const char *id);
/* The generation of x ends: its requests are withdrawn, its journal forgotten;
 * or (rest) its requests are, and its journal stays. */
int mortise_step_clear(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
int mortise_step_rest(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err);
/* Free what x asked. */
void mortise_step_finish(struct mortise_run *r, struct exec *x);
/* Apply a `settle` of a step's request; or of the doubt about the step of that
 * name. */
int mortise_apply_settle_step(struct mortise_run *r, struct exec *x,
                              const struct mortise_entry *e,
                              struct mortise_err *err);
int mortise_step_resolved(struct mortise_run *r, struct exec *x,
                          const json_t *name, const struct mortise_entry *e,
                          struct mortise_err *err);

/* The method of the step of x that the request of this id asked about, if a
 * person said what it came to and may say that anew: its call failed behind it,
 * or is not told of it yet; NULL: not so. */
const char *mortise_step_corrigible(const struct mortise_run *r,
                                    const struct exec *x, const char *id);

/* An entry begins a tool for x: its step, which is open from now on; of a tool
 * that has an effect, if it does.  _runs(): this is what runs it. */
int mortise_step_begin_tool(struct mortise_run *r, struct exec *x,
                            const struct mortise_entry *e, bool effect,
                            struct step **out, struct mortise_err *err);
void mortise_step_runs(struct step *s, const struct exec *tool);
/* The open step that `tool` is run for; NULL: nobody waits for it. */
struct step *mortise_step_served(const struct exec *tool);
/* s of x is answered; `completed`: if it had an effect, that happened.  Or it
 * was stopped, and it is as if it had not been asked for. */
int mortise_step_end_tool(struct mortise_run *r, struct exec *x, struct step *s,
                          json_t *value, bool completed,
                          struct mortise_err *err);
void mortise_step_take_back_tool(struct exec *x, struct step *s);

/* ---- step.c ---- */
/* What a checkpoint with this `step` was written for. */
enum mortise_phase mortise_step_phase(const struct mortise_entry *e);
/* A spawn handle changes with the next commit; lent until that is handed over. */
int mortise_run_keep_spawn(struct mortise_run *r,
                           const struct mortise_spawn_change *change,
                           struct mortise_err *err);
/* A call asks; what it asked is answered. */
int mortise_step_ask(struct mortise_run *r, const struct mortise_ask_in *in,
                     struct mortise_err *err);
int mortise_step_answer(struct mortise_run *r,
                        const struct mortise_answer_in *in,
                        struct mortise_err *err);
/* A call of x has ended without a result: effects whose intents were not on disk
 * in time did not begin, and are not in doubt. */
int mortise_step_take_back(struct mortise_run *r, const struct exec *x,
                           struct mortise_err *err);
/* Commits are on disk: the steps that waited for them go on. */
int mortise_step_synced(struct mortise_run *r, struct mortise_err *err);
/* A call of x begins: what it asks is compared with the journal from now. */
int mortise_step_enter(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* Has the call of x that ended asked less than its journal has? */
bool mortise_step_left_unasked(const struct exec *x);
/* A tool that x asked for may have come to something: tell it. */
int mortise_step_look(struct mortise_run *r, struct exec *x,
                      bool (*waits)(const struct mortise_run *r,
                                    const struct exec *tool),
                      struct mortise_err *err);
/* The call of x ended as suspended.  MORTISE_ENOTFOUND, and nothing is
 * recorded: it waits for nothing. */
int mortise_step_let_go(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* x is SUSPENDED: wait for the first deadline of its steps; which has come. */
int mortise_step_arm(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err);
int mortise_step_expired(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);
/* "custom", "timer" or "spawn". */
const char *mortise_step_kind_name(const struct step *s);
/* The child of that handle has ended: who waits for it is answered. */
int mortise_step_child_ended(struct mortise_run *r, const char *handle,
                             json_t *end, struct mortise_err *err);
int mortise_step_yield(struct mortise_run *r, const struct mortise_yield_in *in,
                       struct mortise_err *err);
/* MORTISE_EINVAL: the value is not what the question's schema wants. */
int mortise_step_check_answer(struct mortise_run *r, const struct step *s,
                              const json_t *value, struct mortise_err *err);
/* How x's call broke its word, in words (NULL: it did not); x forgets it, and
 * the caller has them. */
json_t *mortise_step_take_broke(struct exec *x);
/* Somebody answered the question s of x with this value, which was checked. */
int mortise_step_answered(struct mortise_run *r, struct exec *x, struct step *s,
                          json_t *value, const char *actor,
                          struct mortise_err *err);

/* The effect s of x, which was in doubt, did not happen.  Its answer is what
 * was heard of it, or that it did not. */
int mortise_step_refute(struct mortise_run *r, struct exec *x, struct step *s,
                        struct mortise_err *err);

/* ---- earlier.c ---- */
/* What ran for x under that key, and failed or was stopped; NULL: nothing. */
struct exec *mortise_tool_earlier(const struct exec *x,
                                  const uint8_t key[MORTISE_DIGEST]);
/* Did people reject y, which ran for x, or take it as failed, in the generation
 * that x is in?  Then x is told that. */
bool mortise_tool_is_refused(const struct exec *x, const struct exec *y);
/* {error: {code, class, message, exit_code?, status?}}: of that, and of any y
 * that failed.  NULL: memory ran out. */
json_t *mortise_tool_refusal(const struct mortise_run *r, const struct exec *y);
json_t *mortise_tool_error(const struct mortise_run *r, const struct exec *y);
/* People rejected x, or took its effect as failed. */
void mortise_tool_turned_down(struct exec *x);
/* Is anybody asked about a doubt that a tool of x ended with? */
bool mortise_tools_have_returned(const struct mortise_run *r,
                                 const struct exec *x);

/* ---- doubt_evidence.c ---- */
/* May an effect of n be done twice: is it idempotent, or does its author want
 * it so (doubt.c (2))? */
bool mortise_doubt_may_be_repeated(const struct mortise_node *n);
/* Where the answer to s says nothing: is it in doubt whether its effect
 * happened, until somebody settles that? */
bool mortise_doubt_is_of_step(const struct mortise_run *r, const struct exec *x,
                              const struct step *s);
/* Keep what the answer to s says, though it does not say whether the effect
 * happened.  `value`: the answer, or words. */
int mortise_doubt_heard(struct mortise_run *r, struct exec *x, struct step *s,
                        const struct mortise_answer_in *in, json_t *value,
                        struct mortise_err *err);
/* Nothing was heard of s. */
void mortise_heard_forget(struct mortise_run *r, struct step *s);
/* Keep what people are told of the doubt of x, {cause, step?, answer?} among
 * others; `apart`: by an entry of its own.  0, or -1 when memory ran out. */
int mortise_doubt_tell(struct exec *x, const json_t *what, bool apart);
/* People are told nothing of a doubt of x. */
void mortise_doubt_forget(struct exec *x);

/* ---- generation.c ---- */
/* What was looked up for x. */
void mortise_generation_found_out(struct exec *x, enum mortise_lookup which,
                                  json_t *value);
/* The arguments of x were found (taken); guardrails passed them, or (not NULL)
 * left these; somebody approved them, or (not NULL) made these of them, which
 * guardrails judge like any. */
void mortise_generation_find(struct exec *x, json_t *body);
void mortise_generation_choose(struct exec *x, uint32_t choice);
void mortise_generation_checked(struct exec *x, json_t *body);
/* A call is approved with these arguments, which were shown, or `edited`. */
void mortise_generation_approved(struct exec *x, json_t *shown, json_t *edited);
/* What a judge said that did not decide. */
void mortise_generation_advised(struct exec *x, json_t *advice);
/* What of its output is told to who depends on it. */
void mortise_generation_compacted(struct exec *x, json_t *told);
/* Who approved its call, and in which words, as that entry has it. */
int mortise_generation_approved_by(struct exec *x,
                                   const struct mortise_entry *e,
                                   struct mortise_err *err);
/* ... or they are these, whatever the node says. */
void mortise_generation_given(struct exec *x, json_t *body);
/* The arguments of a tool that goes on in its next generation. */
void mortise_generation_again(struct exec *x, json_t *body);
/* Guardrails said this; and an acceptance is to pass them. */
int mortise_generation_note(struct exec *x, json_t *verdicts,
                            struct mortise_err *err);
void mortise_generation_decide(struct exec *x, json_t *decision);
/* By a decision it fails of that (taken; NULL: memory ran out). */
int mortise_generation_refuse(struct exec *x, json_t *refusal,
                              struct mortise_err *err);
/* x fails, maybe of that; the run goes on or stood still since such failures. */
void mortise_generation_refused(struct exec *x);
void mortise_generation_came_about(struct mortise_run *r);
/* x->child_again and x->child_asks: whether x goes on in the graph that failed
 * in it, or begins another. */
void mortise_generation_go_on(struct exec *x, bool again, bool asks);
/* One more request of x was made in this generation. */
void mortise_generation_asked(struct exec *x);
/* x has ended: what only mattered while it was at work is given up. */
int mortise_generation_rest(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
/* A new start of the visit that x is: it is READY. */
int mortise_generation_next(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);

/* ---- prompt.c ---- */
/* Record that a model is asked that, with what is reserved for it (NULL:
 * nothing is); e is a PROMPT of its step. */
int mortise_prompt_record(struct mortise_run *r, struct mortise_entry *e,
                          const struct mortise_model_ask *ask, json_t *budget,
                          struct mortise_err *err);
/* No tool was run for a call of one, but that is what it gave: that entry. */
int mortise_prompt_untooled(struct mortise_run *r, const struct exec *x,
                            const struct mortise_entry *e,
                            struct mortise_err *err);
/* A model answered: that entry. */
int mortise_prompt_answered(struct mortise_run *r, const struct exec *x,
                            const struct mortise_entry *e,
                            struct mortise_err *err);

/* ---- children.c ---- */
/* s was answered; what that says of a child is told. */
int mortise_child_changed(struct mortise_run *r, const struct exec *x,
                          const struct step *s, const struct mortise_entry *e,
                          struct mortise_err *err);
/* The child that s waited for has ended. */
int mortise_child_over(struct mortise_run *r, const struct exec *x,
                       const struct step *s, const struct mortise_entry *e,
                       struct mortise_err *err);

#endif
