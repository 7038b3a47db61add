/* asks.h -- the journal inside an execution: its steps and their answers; and
 * the fields of an execution that last for one generation.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_ASKS_H
#define MORTISE_RUN_ASKS_H

#include "core/run/spend/spend.h"

/* Flags of an ANSWER entry; journaled. */
enum {
    ANSWER_COMPLETED = 1,     /* of an effect that happened */
    ANSWER_SPENT = 2,         /* its `usage` is spent */
    ANSWER_TOOL = 4,          /* of a tool that did not run */
    ANSWER_TOOK_MESSAGES = 8, /* a model received the messages in its `told`
                             (inbox.c) */
    ANSWER_MODEL = 16,        /* of a model (prompt.c) */
    ANSWER_UNDONE = 32,       /* no answer: the effect did not happen, and is
                             performed as if for the first time */
    ANSWER_INSIDE = 64,       /* of a step that was asked inside an open step */
    ANSWER_ALL = 127
};

/* ---- steps.c ---- */
/* The name of a step: the ordinal of the ask in its call, or the key that the
 * asker gave (then ordinal is MORTISE_STEP_UNORDERED).  A guardrail's step has
 * both: its key begins with the id of the check, and its ordinal is
 * MORTISE_STEP_NAMED if the asker gave a key, which follows in `key`. */
struct step_id {
    uint32_t ordinal;
    const char *key;
};
/* Is the step a guardrail's, and so in x->checks instead of x->journal? */
bool mortise_step_is_of_check(struct step_id id);
/* The key that the asker gave; "": the step is named by its ordinal. */
const char *mortise_step_get_asker_key(struct step_id id);
/* Add the name as member `step`, and `check` if it is a guardrail's; -1: memory
 * ran out. */
int mortise_step_add_name(json_t *to, struct step_id id);
/* Find the step of that name; NULL: none. */
struct step *mortise_step_find(const struct journal *j, struct step_id id);
/* Add a step.  It replaces a step of that name with nothing recorded. */
int mortise_step_add(struct mortise_run *r, struct journal *j,
                     struct step_id id, const char *method,
                     const uint8_t *digest, struct step **out,
                     struct mortise_err *err);
/* *out: x->checks (`of_check`) or x->journal, created if necessary. */
int mortise_step_get_journal(struct mortise_run *r, struct exec *x,
                             bool of_check, struct journal **out,
                             struct mortise_err *err);
/* Does s have this method and these arguments? */
bool mortise_step_is_same_ask(const struct step *s, const char *method,
                              const uint8_t digest[MORTISE_DIGEST]);
/* Is s a pending question, timer or wait for a child? */
bool mortise_step_is_request(const struct step *s);
/* The answer of the effect with that key in an earlier attempt or generation;
 * NULL: none. */
json_t *mortise_step_find_effect_answer(const struct exec *x,
                                        const uint8_t key[MORTISE_DIGEST]);
/* Make s an effect, with a key that is the same in every attempt and generation
 * of x, and different from that of every other effect. */
void mortise_step_become_effect(const struct mortise_run *r,
                                const struct exec *x, struct step *s);
/* A person decided that no open effect of x happened: all are performed
 * again. */
void mortise_step_clear_doubts(const struct exec *x);
/* The first effect of x that is between intent and answer and must not be
 * repeated automatically; NULL: none. */
const struct step *mortise_step_find_in_doubt(const struct mortise_run *r,
                                              const struct exec *x);
/* Is any effect of x between intent and answer?  The same live and replayed. */
bool mortise_step_has_open_effect(const struct exec *x);
/* Was any request of x answered? */
bool mortise_step_has_answered_request(const struct exec *x);
/* Is the journal of x kept for a step in doubt, although its call ended? */
bool mortise_step_has_kept_journal(const struct exec *x);
/* The name for people: the ordinal or the key.  A new reference. */
json_t *mortise_step_make_name(const struct step *s);
/* The step of x with the pending request of this id; NULL: none. */
struct step *mortise_step_find_by_request(const struct exec *x, const char *id);
/* The generation of x ends. mortise_step_clear_journal() withdraws its requests and
 * removes its journal. mortise_step_withdraw_requests() withdraws its requests
 * and keeps its journal. */
int mortise_step_clear_journal(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);
int mortise_step_withdraw_requests(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err);
/* Free the journals and the effects of x. */
void mortise_step_finish(struct mortise_run *r, struct exec *x);
/* Apply a `settle` of a step's request; or of the doubt about the step of that
 * name. */
int mortise_apply_settle_step(struct mortise_run *r, struct exec *x,
                              const struct mortise_entry *e,
                              struct mortise_err *err);
int mortise_step_apply_resolution(struct mortise_run *r, struct exec *x,
                                  const json_t *name,
                                  const struct mortise_entry *e,
                                  struct mortise_err *err);

/* The method of the step that the request of this id was about, if a person
 * resolved its doubt and may still correct that: the call failed after it, or
 * has not received the answer yet.  NULL: otherwise. */
const char *mortise_step_get_correctable(const struct mortise_run *r,
                                         const struct exec *x, const char *id);

/* An entry starts a tool for x. mortise_step_begin_tool() opens its step, and
 * makes the step an effect if the tool has one (`effect`).
 * mortise_step_set_tool_exec() sets the execution that runs the tool. */
int mortise_step_begin_tool(struct mortise_run *r, struct exec *x,
                            const struct mortise_entry *e, bool effect,
                            struct step **out, struct mortise_err *err);
void mortise_step_set_tool_exec(struct step *s, const struct exec *tool);
/* The open step that `tool` runs for; NULL: no step waits for it. */
struct step *mortise_step_find_served(const struct exec *tool);
/* Answer s of x; `completed`: the effect of the tool, if it has one, happened.
 * Or reopen s as if it had not been asked: the tool was stopped. */
int mortise_step_end_tool(struct mortise_run *r, struct exec *x, struct step *s,
                          json_t *value, bool completed,
                          struct mortise_err *err);
void mortise_step_reopen_tool(struct exec *x, struct step *s);

/* ---- step.c ---- */
/* The phase of a checkpoint with this `step`. */
enum mortise_phase mortise_step_get_phase(const struct mortise_entry *e);
/* A spawn handle changes with the next commit; `change` is borrowed until the
 * engine takes the commit. */
int mortise_run_add_spawn_change(struct mortise_run *r,
                                 const struct mortise_spawn_change *change,
                                 struct mortise_err *err);
/* A call asks; an ask was performed. */
int mortise_step_handle_ask(struct mortise_run *r,
                            const struct mortise_ask_in *in,
                            struct mortise_err *err);
int mortise_step_handle_answer(struct mortise_run *r,
                               const struct mortise_answer_in *in,
                               struct mortise_err *err);
/* A call of x ended without a result: effects whose intents were not synced did
 * not start, and are not in doubt. */
int mortise_step_undo_unstarted(struct mortise_run *r, const struct exec *x,
                                struct mortise_err *err);
/* Commits were synced: continue the steps that waited for them. */
int mortise_step_handle_synced(struct mortise_run *r, struct mortise_err *err);
/* A call of x starts: its asks are compared with the journal, from the
 * start. */
int mortise_step_begin_call(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
/* Did the call of x end with fewer asks than its journal has? */
bool mortise_step_has_unasked(const struct exec *x);
/* Tools of x may have changed: answer their steps, or suspend x if it only
 * waits. */
int mortise_step_check_tools(struct mortise_run *r, struct exec *x,
                             bool (*waits)(const struct mortise_run *r,
                                           const struct exec *tool),
                             struct mortise_err *err);
/* The call of x ended as suspended.  MORTISE_ENOTFOUND, with nothing recorded:
 * x waits for nothing. */
int mortise_step_suspend(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);
/* x is SUSPENDED: arm a timer for the first deadline of its steps; and expire
 * the steps that are due. */
int mortise_step_arm_deadline(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err);
int mortise_step_expire_due(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
/* "custom", "timer" or "spawn". */
const char *mortise_step_kind_name(const struct step *s);
/* The child of that handle ended: answer the steps that wait for it. */
int mortise_step_handle_child_end(struct mortise_run *r, const char *handle,
                                  json_t *end, struct mortise_err *err);
int mortise_step_handle_yield(struct mortise_run *r,
                              const struct mortise_yield_in *in,
                              struct mortise_err *err);
/* MORTISE_EINVAL: the value does not match the question's schema. */
int mortise_step_check_answer(struct mortise_run *r, const struct step *s,
                              const json_t *value, struct mortise_err *err);
/* The error message of a replayed call of x that made a different ask (NULL:
 * none).  The caller owns it; x does not keep it. */
json_t *mortise_step_take_divergence(struct exec *x);
/* A person answered the question s of x with this value, which was checked. */
int mortise_step_record_answer(struct mortise_run *r, struct exec *x,
                               struct step *s, json_t *value, const char *actor,
                               struct mortise_err *err);

/* The effect s of x, which was in doubt, did not happen.  Record the unclear
 * answer, or that it did not happen. */
int mortise_step_set_not_happened(struct mortise_run *r, struct exec *x,
                                  struct step *s, struct mortise_err *err);

/* ---- earlier.c ---- */
/* The execution that ran for x with that key, and failed or was stopped; NULL:
 * none. */
struct exec *mortise_tool_find_earlier(const struct exec *x,
                                       const uint8_t key[MORTISE_DIGEST]);
/* Did a person reject y, a tool of x, or declare it failed, in the current
 * generation of x?  Then its step is answered with that error. */
bool mortise_tool_was_rejected(const struct exec *x, const struct exec *y);
/* A new object {error: {code, class, message, exit_code?, status?}}; NULL:
 * memory ran out. mortise_tool_make_rejection(): for a y that a person rejected, as in
 * mortise_tool_was_rejected(). mortise_tool_make_error(): for any y that failed. */
json_t *mortise_tool_make_rejection(const struct mortise_run *r,
                                    const struct exec *y);
json_t *mortise_tool_make_error(const struct mortise_run *r,
                                const struct exec *y);
/* A person rejected x, or declared its effect failed. */
void mortise_tool_set_rejected(struct exec *x);
/* Does a request ask about a doubt that an ended tool of x left? */
bool mortise_tools_have_open_doubt(const struct mortise_run *r,
                                   const struct exec *x);

/* ---- doubt_evidence.c ---- */
/* May an effect of n be repeated: is it idempotent, or does the graph allow it
 * (doubt.c (2))? */
bool mortise_doubt_may_be_repeated(const struct mortise_node *n);
/* If the answer to s is unclear: is its effect in doubt until that is
 * settled? */
bool mortise_doubt_can_arise_in_step(const struct mortise_run *r,
                                     const struct exec *x,
                                     const struct step *s);
/* Keep an unclear answer to s.  `value`: the answer, or an error message. */
int mortise_doubt_add_unclear(struct mortise_run *r, struct exec *x,
                              struct step *s,
                              const struct mortise_answer_in *in, json_t *value,
                              struct mortise_err *err);
/* Remove the unclear answer to s. */
void mortise_doubt_remove_unclear(struct mortise_run *r, struct step *s);
/* Keep the evidence in a request about the doubt of x, members {cause, step?,
 * answer?} of `what`; `apart`: it has an entry of its own.  0, or -1 when
 * memory ran out. */
int mortise_doubt_set_evidence(struct exec *x, const json_t *what, bool apart);
/* Remove the evidence. */
void mortise_doubt_remove_evidence(struct exec *x);

/* ---- generation.c ---- */
/* Set the result of a lookup for x. */
void mortise_generation_set_lookup(struct exec *x, enum mortise_lookup which,
                                   json_t *value);
/* The arguments of x: were evaluated (takes them); the choice was made; passed
 * the guardrails, which replaced them if `body` is not NULL. */
void mortise_generation_set_body(struct exec *x, json_t *body);
void mortise_generation_set_choice(struct exec *x, uint32_t choice);
void mortise_generation_set_checked(struct exec *x, json_t *body);
/* A call is approved with the arguments that were shown, or with `edited`,
 * which the guardrails must check. */
void mortise_generation_set_approved(struct exec *x, json_t *shown,
                                     json_t *edited);
/* Set the verdict of a judge that did not decide. */
void mortise_generation_set_advice(struct exec *x, json_t *advice);
/* Set the shortened output. */
void mortise_generation_set_compacted(struct exec *x, json_t *told);
/* Set the approving person and the reason, from an entry. */
int mortise_generation_set_approver(struct exec *x,
                                    const struct mortise_entry *e,
                                    struct mortise_err *err);
/* Use `body` as the arguments of x, instead of those from the template of its
 * node. */
void mortise_generation_set_given_body(struct exec *x, json_t *body);
/* Set the arguments of a tool that continues in its next generation. */
void mortise_generation_set_tool_body(struct exec *x, json_t *body);
/* Add verdicts of guardrails; and set an acceptance that guardrails must
 * check. */
int mortise_generation_add_verdicts(struct exec *x, json_t *verdicts,
                                    struct mortise_err *err);
void mortise_generation_set_decision(struct exec *x, json_t *decision);
/* x fails because of a decision, with this error (taken; NULL: memory ran
 * out). */
int mortise_generation_set_refusal(struct exec *x, json_t *refusal,
                                   struct mortise_err *err);
/* mortise_generation_set_refused(): x fails; if a decision is the cause, mark that.
 * mortise_generation_clear_refused(): the run was paused or resumed, so clear
 * all these marks. */
void mortise_generation_set_refused(struct exec *x);
void mortise_generation_clear_refused(struct mortise_run *r);
/* Set x->child_again (x continues in its failed child graph, instead of
 * starting a new one) and x->child_asks (it does so only if the child's input
 * is unchanged). */
void mortise_generation_continue(struct exec *x, bool again, bool asks);
/* x made another request in this generation. */
void mortise_generation_count_request(struct exec *x);
/* x ended: release the fields that only matter while it is active. */
int mortise_generation_release(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);
/* Start the visit of x anew: it is READY. */
int mortise_generation_start_next(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err);

/* ---- prompt.c ---- */
/* Record an ask of a model, with the amounts reserved for it (NULL: none); e is
 * a PROMPT of its step. */
int mortise_prompt_record(struct mortise_run *r, struct mortise_entry *e,
                          const struct mortise_model_ask *ask, json_t *budget,
                          struct mortise_err *err);
/* The entry is the answer to a tool call of a model for which no tool ran. */
int mortise_prompt_announce_untooled(struct mortise_run *r,
                                     const struct exec *x,
                                     const struct mortise_entry *e,
                                     struct mortise_err *err);
/* The entry is the answer of a model. */
int mortise_prompt_announce_answer(struct mortise_run *r, const struct exec *x,
                                   const struct mortise_entry *e,
                                   struct mortise_err *err);

/* ---- children.c ---- */
/* s was answered: emit the change of a child that the answer describes. */
int mortise_child_announce_change(struct mortise_run *r, const struct exec *x,
                                  const struct step *s,
                                  const struct mortise_entry *e,
                                  struct mortise_err *err);
/* The child that s waited for ended. */
int mortise_child_announce_end(struct mortise_run *r, const struct exec *x,
                               const struct step *s,
                               const struct mortise_entry *e,
                               struct mortise_err *err);

#endif
