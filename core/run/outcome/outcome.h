/* outcome.h -- executions: starting them, and processing their outputs,
 * failures and doubts.
 *
 * Layers    An output passes the stages of the pipeline (pipeline.c and
 *           stages.def; leaving.c, guard.c, judge.c, route.c, cache.c and
 *           done.c implement them; result.c records its effect).
 *           If there is no output, doubt.c, fail.c or stop.c takes over.
 *           start.c, gather.c, verdict.c, doubt_resolve.c, the node kinds in
 *           run/kinds/ and settle.c (ends of calls) hand in outputs.
 *           total.c handles a graph as a whole; arguments.c, call_start.c,
 *           cache.c and guard.c prepare calls.
 *
 * Names     r is the run and x one of its executions.  `err` reports an error
 *           of the engine (no memory, a corrupt record).  MORTISE_EINVAL with
 *           `why`, and often with `code`, reports a failure of the node.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_OUTCOME_H
#define MORTISE_RUN_OUTCOME_H

#include "core/run/outcome/pipeline.h"

/* ---- pipeline.c ---- */
/* x succeeded with this output (borrowed; NULL: none).  `how` tells how the
 * output came about. */
int mortise_pipeline_enter(struct mortise_run *r, struct exec *x,
                           json_t *output, enum done_how how,
                           struct mortise_err *err);
/* x is READY again: send its stored output, x->leaving, on through the
 * stages. */
int mortise_pipeline_continue_leaving(struct mortise_run *r, struct exec *x,
                                      struct mortise_err *err);
/* The wait of x's output is over.  Continue with this output, or reject it with
 * the message `refused`. */
int mortise_pipeline_resume(struct mortise_run *r, struct exec *x,
                            json_t *output, const struct mortise_err *refused,
                            struct mortise_err *err);
/* x is done without an output and takes its edge of this kind. */
int mortise_pipeline_end_by_edge(struct mortise_run *r, struct exec *x,
                                 enum mortise_edge_kind kind,
                                 struct mortise_err *err);

/* ---- result.c ---- */
/* mortise_result_record() records the result of x's effect if that matters: the
 * effect happened, even if its node fails later. mortise_result_is_kept(): is
 * there a result of the call that was made? mortise_result_is_reusable(): is there
 * one of the call that would be made now? */
int mortise_result_record(struct mortise_run *r, struct exec *x, json_t *output,
                          enum done_how how, struct mortise_err *err);
bool mortise_result_is_kept(const struct exec *x);
bool mortise_result_is_reusable(const struct mortise_run *r,
                                const struct exec *x);
void mortise_result_forget(struct exec *x);
/* x->said holds the update and goto that came with an output; NULL: none.  The
 * second function records it, too. */
void mortise_result_set_said(struct exec *x, json_t *said);
int mortise_result_record_said(struct mortise_run *r, struct exec *x,
                               json_t *said, struct mortise_err *err);

/* ---- total.c ---- */
/* How a graph begins, besides the edges that it takes out of START. */
struct mortise_beginning {
    json_t *lists;    /* of the map edges among them; NULL: no map */
    const char *code; /* the error code if it cannot begin */
};
/* Add the edges to take out of START to the entry.  Their conditions can use
 * only the input. */
int mortise_total_choose_start(struct mortise_run *r,
                               const struct mortise_graph *g, json_t *input,
                               struct mortise_entry *e,
                               struct mortise_beginning *b,
                               struct mortise_err *err);
/* Record the lists of the maps, then the entry with these edges. */
int mortise_total_record_start(struct mortise_run *r, struct mortise_entry *e,
                               struct mortise_beginning *b,
                               struct mortise_err *err);
/* *out: the input, normalized by its schema.  MORTISE_EINVAL: it is invalid. */
int mortise_total_check_input(const struct mortise_graph *g, json_t *input,
                              json_t **out, struct mortise_err *err);
/* The result of graph frame f: a new error ({code, message, path}), or NULL and
 * the final state. */
int mortise_total_get_result(struct mortise_run *r, struct frame *f,
                             json_t **error, json_t **state,
                             struct mortise_err *err);

/* ---- plan.c ---- */
/* Take no edge out of START until the plan is approved. */
void mortise_plan_set_waiting(struct mortise_run *r);
/* Open the request for the run's pending plan, or for the graph in x. */
int mortise_plan_ask(struct mortise_run *r, struct mortise_err *err);
int mortise_plan_ask_node(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err);
/* Is this the id of the pending request for the run's plan? */
bool mortise_plan_is_asked(const struct mortise_run *r, const char *id);
/* Check an answer to the run's plan; `edited` is the graph compiled from the
 * answer (NULL: none). mortise_plan_check_node_answer() checks one to the plan of a
 * node's graph.  MORTISE_EINVAL: the answer is invalid. */
int mortise_plan_check(struct mortise_run *r, const json_t *value,
                       const struct mortise_steering *edited,
                       struct mortise_err *err);
int mortise_plan_check_node_answer(const json_t *value,
                                   struct mortise_err *err);
/* Apply an answer that was checked. */
int mortise_plan_answer(struct mortise_run *r, json_t *value,
                        const struct mortise_steering *edited,
                        const char *actor, struct mortise_err *err);
/* Withdraw the pending request; do not ask again. */
int mortise_plan_withdraw(struct mortise_run *r, struct mortise_err *err);
void mortise_plan_forget(struct mortise_run *r);

/* The result of a call of a helper operation (a compaction, a judge): an
 * output, or an error code and message. */
struct aside {
    json_t *output; /* borrowed; NULL: none */
    const char *code, *words;
};

/* ---- brief.c ---- */
enum { MORTISE_BRIEF_WORDS = 250 };
/* Sets *is_short.  MORTISE_ENOMEM: no memory. */
int mortise_brief_check_short(const struct mortise_run *r, const json_t *output,
                              bool *is_short, struct mortise_err *err);
/* The first part of the output: {output, how: cut, error: {code, message}}. */
json_t *mortise_brief_cut(const struct mortise_run *r, const json_t *output,
                          const char *code, const char *message);
/* The compaction returned `gave` for this output: {output, how, error?}.  Falls
 * back to the cut output if `gave` is blank, and cuts `gave` if it is much too
 * long. */
json_t *mortise_brief_from_compaction(const struct mortise_run *r,
                                      const json_t *output, json_t *gave);
/* The text of y's output (not NULL) for the nodes that depend on y: a new
 * reference; NULL: no memory. */
json_t *mortise_brief_get(const struct mortise_run *r, const struct exec *y);

/* ---- compact.c ---- */
/* The call that compacts x's output has ended. */
int mortise_compact_settle(struct mortise_run *r, struct exec *x,
                           const struct aside *said, struct mortise_err *err);

/* ---- predecessors.c ---- */
/* *out: a new list with the outputs of the nodes that x depends on. */
int mortise_predecessors_list_outputs(struct mortise_run *r,
                                      const struct exec *x, json_t **out,
                                      struct mortise_err *err);

/* ---- talk.c ---- */
/* The part of `said` to store in the node's conversation: a new reference;
 * NULL: no memory. */
json_t *mortise_talk_filter(const struct outcome *o, json_t *said);

/* ---- judge.c ---- */
/* Append a write to the entry, its value normalized by the declared schema. */
int mortise_judge_add_write(const struct mortise_graph *g,
                            struct mortise_entry *e, uint16_t ref,
                            const struct mortise_path *path, json_t *value,
                            struct mortise_err *err);
/* Check an output against the schemas of the operation and the node. */
int mortise_judge_check_output(const struct mortise_graph *g,
                               const struct mortise_node *n,
                               const json_t *output, struct mortise_err *why);
/* Check the top-level fields that a write to `path` changed against their
 * schemas.  Keywords that concern a whole root, such as `required`, are checked
 * when the graph ends. */
int mortise_judge_check_fields(const struct mortise_graph *g,
                               const json_t *after,
                               const struct mortise_path *path,
                               struct mortise_err *why);
/* Maps the result of a check to MORTISE_OK, MORTISE_EINVAL (a failure of the
 * node) or MORTISE_ENOMEM (an error of the engine, in `err`). */
int mortise_judge_map_result(int rv, struct mortise_err *err);
/* Evaluate a template in the view of x.  *out is a new reference. */
int mortise_judge_eval(struct mortise_run *r, struct exec *x,
                       const struct mortise_tmpl *tmpl, json_t **out,
                       struct mortise_err *why, struct mortise_err *err);
/* The same, with `error` in scope. */
int mortise_judge_eval_with_error(struct mortise_run *r, struct exec *x,
                                  const struct mortise_tmpl *tmpl,
                                  const json_t *error, json_t **out,
                                  struct mortise_err *why,
                                  struct mortise_err *err);
/* Fails: the template of `key` gave v, but the key takes `takes`. */
int mortise_judge_set_type_error(const struct mortise_tmpl *t, const char *key,
                                 const char *takes, const json_t *v,
                                 struct mortise_err *why);
/* Fails: the template gave v, which is not in the list.  Append the list's
 * names to `why` with mortise_judge_append_name(). */
int mortise_judge_fail_unlisted(struct mortise_span at, const char *key,
                                const char *list, const json_t *v,
                                struct mortise_err *why);
void mortise_judge_append_name(struct mortise_err *why, bool first,
                               const char *name);
/* Evaluate a template that gives a duration.  On failure, *code is the error
 * code. */
int mortise_judge_eval_duration(struct mortise_run *r, struct exec *x,
                                const struct mortise_tmpl *t, const char *key,
                                uint64_t *ms, const char **code,
                                struct mortise_err *why,
                                struct mortise_err *err);

/* ---- route.c ---- */
/* Do n's edges depend on more than its success?  *uses: the names that their
 * conditions use. */
bool mortise_route_has_conditions(const struct mortise_graph *g,
                                  const struct mortise_node *n, uint32_t *uses);
/* Add the node's edge of this kind, if any, to the entry. */
void mortise_route_add_edge_of_kind(const struct exec *x,
                                    struct mortise_entry *e,
                                    enum mortise_edge_kind kind);
/* mortise_route_needs_value(): does taking edge e record a value: the list of a
 * map edge, the result of a discovery edge? */
/* mortise_route_eval_list(): the list of a map edge out of `from`, in the form that
 * mortise_map_store_list() takes.  On failure, *code and `why`. */
int mortise_route_eval_list(const struct mortise_region *map, const char *from,
                            const struct mortise_expr_env *env, json_t **out,
                            const char **code, struct mortise_err *why);
bool mortise_route_needs_value(const struct mortise_edge *e);
/* The query of a discovery edge, evaluated over the state after x's writes: a
 * new reference.  MORTISE_EINVAL: see o->why and o->code. */
int mortise_route_eval_query(struct outcome *o,
                             const struct mortise_edge_discovery *d,
                             json_t **query, struct mortise_err *err);

/* ---- leaving.c ---- */
/* Record an entry that holds the output, then the update and goto that came
 * with it. */
int mortise_leaving_record(struct outcome *o, struct mortise_entry *e,
                           struct mortise_err *err);
/* Apply such an entry: store the output and the results of x's discovery edges
 * (`sought`) on x.  The caller decides when x continues. */
int mortise_leaving_store(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e, json_t *sought,
                          struct mortise_err *err);
/* The same, and make x READY. */
int mortise_leaving_store_ready(struct mortise_run *r, struct exec *x,
                                const struct mortise_entry *e, json_t *sought,
                                struct mortise_err *err);

/* ---- sought.c ---- */
/* mortise_sought_is_in_flight(): is the call of x in flight for a discovery edge?
 * mortise_sought_settle(): that call ended, or (late) timed out. */
bool mortise_sought_is_in_flight(const struct exec *x);
int mortise_sought_settle(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool late,
                          struct mortise_err *err);

/* ---- arguments.c ---- */
/* Evaluate the arguments of x's call into x->body. mortise_arguments_eval()
 * requires x->view; mortise_arguments_eval_with_view() computes the view first. */
int mortise_arguments_eval_with_view(struct mortise_run *r, struct exec *x,
                                     struct mortise_err *why,
                                     struct mortise_err *err);
int mortise_arguments_eval(struct mortise_run *r, struct exec *x,
                           struct mortise_err *why, struct mortise_err *err);
/* MORTISE_EINVAL: the body does not match the operation's or the node's schema.
 * MORTISE_EDENIED: the deployment's policy denies the call. */
int mortise_arguments_check(const struct mortise_graph *g,
                            const struct mortise_node *n, const json_t *body,
                            const struct mortise_mem *mem,
                            struct mortise_err *err);
/* Does a call with x's arguments need approval, by the graph or by the
 * deployment's policy of the operation? */
bool mortise_arguments_need_approval(const struct exec *x,
                                     const struct mortise_node *n);

/* ---- call_start.c ---- */
/* Start a call of this kind.  Its intent, if any, is on disk already. */
int mortise_call_start(struct mortise_run *r, struct exec *x,
                       enum mortise_run_call_kind kind,
                       struct mortise_err *err);
/* The same with a body of its own (taken). */
int mortise_call_start_with(struct mortise_run *r, struct exec *x,
                            enum mortise_run_call_kind kind, json_t *body,
                            struct mortise_err *err);

/* ---- lookups.c ---- */
/* Start the next lookup that x needs; *asked is false if none is left.
 * Requires x->view. */
int mortise_lookups_start_next(struct mortise_run *r, struct exec *x,
                               bool *asked, struct mortise_err *err);
/* `said` if it is a code of this family ("memory" or "discovery"); else
 * FAMILY.failed, built in `room`. */
enum { MORTISE_LOOKUP_CODE = 32 };
const char *mortise_lookup_get_code(const char *said, const char *family,
                                    char room[MORTISE_LOOKUP_CODE]);
/* Is it the call kind of a lookup? */
bool mortise_lookup_is_call(enum mortise_run_call_kind kind);
/* The guardrails let the recalled traces pass, maybe changed.  *found as in
 * mortise_lookup_settle(). */
int mortise_lookup_handle_passed(struct mortise_run *r, struct exec *x,
                                 bool *found, struct mortise_err *err);
/* The lookup was answered, or (late) timed out.  *found: the answer is recorded
 * and x can continue; else x failed. */
int mortise_lookup_settle(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool late,
                          bool *found, struct mortise_err *err);
bool mortise_lookup_may_wait(const struct mortise_run *r, const struct exec *x,
                             const struct mortise_entry *e);

/* ---- recall.c ---- */
/* {persona, session, conversation?}: the keys of x's memory.  `code` and `why`
 * as in `ask` of a lookup (lookups.h). */
int mortise_memory_make_keys(struct mortise_run *r, struct exec *x,
                             json_t **out, const char **code,
                             struct mortise_err *why, struct mortise_err *err);

/* ---- remember.c ---- */
/* The guardrails allowed the trace, or (refused) rejected it. */
int mortise_remember_handle_verdict(struct mortise_run *r, struct exec *x,
                                    const struct mortise_err *refused,
                                    struct mortise_err *err);
/* The memory stored x's trace, or failed, or (late) timed out. */
int mortise_remember_settle(struct mortise_run *r, struct exec *x,
                            const struct mortise_result_in *in, bool late,
                            struct mortise_err *err);

/* ---- outbox.c ---- */
/* *out: a new list of the run's own undelivered traces that match a read with
 * this policy and these keys. */
int mortise_outbox_list_matching(struct mortise_run *r,
                                 const struct mortise_memory_policy *p,
                                 const json_t *keys, json_t **out,
                                 struct mortise_err *err);
/* Pin the snapshot number of the run, unless it has one. */
int mortise_outbox_pin_snapshot(struct mortise_run *r, uint64_t seq,
                                struct mortise_err *err);
/* The run is fetching its snapshot number: start nothing now. */
bool mortise_outbox_is_pinning(const struct mortise_run *r);
/* Start the next call to the memory if there is one and it can start now. */
int mortise_outbox_start_next(struct mortise_run *r, struct mortise_err *err);
/* The run has nothing else to do.  *waits: it must first write to its
 * memory. */
int mortise_outbox_flush_before_end(struct mortise_run *r, bool *waits,
                                    struct mortise_err *err);
/* The commit that the next delivery waits for; 0: none. */
uint64_t mortise_outbox_get_awaited_seq(const struct mortise_run *r);
/* A failed delivery keeps the run from ending. */
bool mortise_outbox_is_stuck(const struct mortise_run *r);
/* x is done: report the traces that it read as used. */
int mortise_outbox_add_uses(struct mortise_run *r, const struct exec *x,
                            uint64_t at_ms, struct mortise_err *err);
/* {traces, error} of a run whose delivery failed: a new reference. */
json_t *mortise_outbox_make_json(const struct mortise_run *r);
/* Try failed deliveries again; cancel the call that is in flight. */
int mortise_outbox_retry(struct mortise_run *r, struct mortise_err *err);
int mortise_outbox_stop(struct mortise_run *r, struct mortise_err *err);
/* Is this the handle of a call or timer of the run's own? */
bool mortise_outbox_owns_handle(uint64_t handle);
int mortise_outbox_settle(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err);
int mortise_outbox_abandon_call(struct mortise_run *r, uint64_t handle,
                                struct mortise_err *err);
int mortise_outbox_handle_timer(struct mortise_run *r, uint64_t handle,
                                struct mortise_err *err);
void mortise_outbox_finish(struct mortise_run *r);
/* Store a trace until it is delivered, which can start when the current commit
 * is on disk. */
int mortise_outbox_add_trace(struct mortise_run *r, json_t *trace,
                             enum mortise_consistency how,
                             struct mortise_err *err);

/* ---- guard.c ---- */
/* The id of the guardrail that x's round asks now; mortise_guard_get_violation_edge(): the
 * edge it checks. */
const char *mortise_guard_get_id(const struct mortise_run *r,
                                 const struct exec *x);
/* Is it the last guardrail of its stage? */
bool mortise_guard_is_last(const struct mortise_run *r, const struct exec *x);
const struct mortise_edge *
mortise_guard_get_violation_edge(const struct exec *x);
/* Start a round of checks of this subject.  The caller knows that the stage has
 * a guardrail. */
int mortise_guard_start_round(struct mortise_run *r, struct exec *x,
                              enum mortise_guard_stage stage, json_t *subject,
                              struct mortise_err *err);
/* Record the answer of one guardrail.  `replacement` replaces the subject
 * (NULL: keep it); a detour replaces the edge that was checked. */
void mortise_guard_set_answer(struct exec *x, json_t *replacement);
void mortise_guard_set_detour(struct exec *x);
/* Ask the next guardrail, if any.  After the last, mortise_guard_get_output() gives
 * the output that the round left (borrowed). */
int mortise_guard_ask_next(struct mortise_run *r, struct exec *x, bool *asked,
                           struct mortise_err *err);
int mortise_guard_get_output(struct exec *x, json_t **output,
                             struct mortise_err *err);
/* Does x have input guardrails that must run now? */
bool mortise_guard_must_check_input(const struct mortise_run *r,
                                    const struct exec *x);
/* Drop the subject of the round. */
void mortise_guard_drop_subject(struct exec *x);

/* ---- cache.c ---- */
/* x is about to call its operation.  *ask: look in the cache first. */
int mortise_cache_check_lookup(struct mortise_run *r, struct exec *x, bool *ask,
                               struct mortise_err *err);
/* The cache had no entry: allow to store the output of the coming call. */
void mortise_cache_allow_store(struct exec *x,
                               const struct mortise_result_in *in);
/* The call of x ended: remember its output if the cache may store it. */
void mortise_cache_store_output(struct exec *x,
                                const struct mortise_result_in *in);

/* ---- doubt.c ---- */
enum doubt { DOUBT_NONE, DOUBT_CALL, DOUBT_STEP };
extern const char
    mortise_doubt_stuck_message[]; /* message: the call never returned */
extern const char mortise_doubt_diverged_code
    []; /* code of a call that diverged from its journal */

/* Is an effect of x in doubt, or in flight? */
bool mortise_doubt_has_open_effect(const struct mortise_run *r,
                                   const struct exec *x);
/* The doubt that the end of a call leaves.  `broke`: the call diverged from its
 * journal, so its success proves no more than its silence. */
enum doubt mortise_doubt_find_at_end(const struct mortise_run *r,
                                     const struct exec *x,
                                     const struct mortise_result_in *in,
                                     bool broke);
/* Begin to settle the doubt that the end of x's call left;
 * mortise_doubt_open_diverged(): after the call diverged, with this message. */
int mortise_doubt_open_at_end(struct mortise_run *r, struct exec *x,
                              enum doubt what,
                              const struct mortise_result_in *in,
                              struct mortise_err *err);
int mortise_doubt_open_diverged(struct mortise_run *r, struct exec *x,
                                enum doubt what, const char *words,
                                struct mortise_err *err);
/* The schema of the result that a person can give for a step of n with this
 * method; NULL: any result of the method. */
const struct mortise_schema *
mortise_doubt_get_result_schema(const struct mortise_node *n,
                                const char *method);
/* The step of x that is in doubt; NULL: the whole call is.
 * mortise_doubt_get_cause(): why it is unknown. */
const struct step *mortise_doubt_get_step(const struct mortise_run *r,
                                          const struct exec *x);
const char *mortise_doubt_get_cause(const struct exec *x, const struct step *s);

/* Open a request: a person must decide whether the effect happened. */
int mortise_doubt_open_request(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);
/* Store how the attempt failed, {code, class, message} (taken); NULL: it did
 * not fail. */
void mortise_doubt_set_failure(struct exec *x, json_t *failure);
/* Store in x->failure that the result of x's effect was rejected, and why. */
int mortise_doubt_set_rejected_result(struct exec *x,
                                      const struct mortise_err *why,
                                      struct mortise_err *err);
/* Did x fail because the result of its effect was rejected? */
bool mortise_doubt_has_rejected_result(const struct exec *x);

/* If x is in doubt, record the cause before another entry ends the settling.
 * mortise_doubt_record_stopped(): x's call returned after a cancel; record that x
 * stopped. mortise_doubt_ask_before_pause(): the run pauses; ask a person if one must
 * decide. */
int mortise_doubt_record_cause(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);
int mortise_doubt_record_stopped(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err);
int mortise_doubt_ask_before_pause(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err);
/* A pause was recorded while x's effect was in flight. */
void mortise_doubt_set_paused(struct exec *x);
/* x continues: forget the recorded cause, since the next doubt can have
 * another. */
int mortise_doubt_forget_cause(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);

/* For x, which has lost. mortise_doubt_must_settle(): must its doubt be settled
 * before x ends? mortise_doubt_is_settling(): is the doubt being settled? */
bool mortise_doubt_must_settle(const struct mortise_run *r,
                               const struct exec *x);
bool mortise_doubt_is_settling(const struct exec *x);
/* Record that x ends in doubt. */
int mortise_doubt_record_left(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err);

/* For x, which has ended. mortise_doubt_has_ended_open(): did it end in doubt?
 * mortise_doubt_can_resume(): can a resume still continue it?
 * mortise_doubt_has_any_ended_open(): did any execution end in doubt? */
bool mortise_doubt_has_ended_open(const struct mortise_run *r,
                                  const struct exec *x);
bool mortise_doubt_can_resume(const struct exec *x);
bool mortise_doubt_has_any_ended_open(const struct mortise_run *r);
/* mortise_doubt_reopen_kept(): an ended run was resumed, so settle the doubt of
 * each execution that ended in doubt. mortise_doubt_has_any_reopened(): is such
 * a doubt not settled yet? mortise_doubt_stop_settling(): stop settling
 * them. */
int mortise_doubt_reopen_kept(struct mortise_run *r, struct mortise_err *err);
bool mortise_doubt_has_any_reopened(const struct mortise_run *r);
void mortise_doubt_stop_settling(struct mortise_run *r);
/* x is about to fail, in doubt or not. */
void mortise_doubt_set_at_failure(struct exec *x, bool in_doubt);
/* A cancel of the run stopped x; false: something else did, or it no longer
 * matters. */
void mortise_doubt_set_cancelled(struct exec *x, bool by_cancel);
/* mortise_doubt_restore_end(): restore the end that x had before its doubt was
 * settled. mortise_doubt_restore_all_ends(): do this for all such
 * executions. */
void mortise_doubt_restore_end(struct mortise_run *r, struct exec *x);
void mortise_doubt_restore_all_ends(struct mortise_run *r);

/* ---- choose.c ---- */
/* Choose the operation that x calls.  MORTISE_EINVAL: none, see *code and
 * `why`. */
int mortise_choose_operation(struct mortise_run *r, struct exec *x,
                             const char **code, struct mortise_err *why,
                             struct mortise_err *err);

/* ---- fail.c ---- */
/* Why an attempt failed; `class` as in plugin.h. */
struct failure {
    const char *code, *class, *message;
    struct mortise_exit_info ending;
    bool reported; /* by the operation: retry_on can list its code */
};
/* x failed: retry it, apply on_error, or fail the node. */
int mortise_fail_exec(struct mortise_run *r, struct exec *x,
                      const struct failure *f, struct mortise_err *err);
/* The same for a failure that the engine detected. */
int mortise_fail_attempt(struct mortise_run *r, struct exec *x,
                         const char *code, const char *class,
                         const char *message, struct mortise_err *err);
/* If rv is MORTISE_EINVAL, fail x with this code and `why`, without retry; else
 * return rv. */
int mortise_fail_if_invalid(struct mortise_run *r, struct exec *x, int rv,
                            const char *code, const struct mortise_err *why,
                            struct mortise_err *err);
/* Evaluate the message of the node's `fail` into *out.  `error`: the failure it
 * replaces; NULL for a fail node. */
int mortise_fail_eval_message(struct mortise_run *r, struct exec *x,
                              const json_t *error, struct mortise_buf *out,
                              struct mortise_err *why, struct mortise_err *err);
/* Fail without retry and without on_error.value.  `open`: the effect is in
 * doubt. */
int mortise_fail_without_retry(struct mortise_run *r, struct exec *x,
                               const char *code, const char *message, bool open,
                               struct mortise_err *err);
/* Delay the next retry by at least in_ms. */
void mortise_fail_delay_retry(struct exec *x, uint64_t in_ms);
/* The effect whose intent was recorded did not happen: return to the state
 * before the intent. */
int mortise_fail_undo_intent(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err);
/* {node, code, class, message, span}: a new reference. */
json_t *mortise_fail_make_error(const struct mortise_run *r,
                                const struct exec *x, const char *code,
                                const char *message);

/* ---- gather.c ---- */
/* Gather every map whose elements are over. */
int mortise_gather_maps(struct mortise_run *r, struct mortise_err *err);
/* End the node of every inner graph that is over. */
int mortise_gather_inner_graphs(struct mortise_run *r, struct mortise_err *err);

/* ---- kinds.c ---- */
/* The functions of a node kind; run/kinds/ has one table for each. */
struct node_kind {
    /* x is READY: start it, or continue after its input guardrails passed. */
    int (*start)(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);
    /* The id of the target to go to after x succeeded with entry e: a new
     * reference, or NULL: the kind names none.  May be NULL. */
    int (*choose)(struct mortise_run *r, const struct exec *x,
                  const struct mortise_entry *e, const struct env *env,
                  json_t **id, struct mortise_err *why,
                  struct mortise_err *err);
    /* The graph inside x is over. */
    int (*inner_graph_ended)(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err);

    /* For kinds that give a decision.  Can the actor settle the request with
     * this answer? */
    int (*check)(struct mortise_run *r, const struct exec *x,
                 const json_t *said, const char *actor,
                 struct mortise_err *err);
    /* The request is settled: store the decision until it is recorded. */
    int (*keep)(struct mortise_run *r, struct exec *x,
                const struct mortise_entry *e, struct mortise_err *err);
    /* The decision is stored: apply it as far as that needs no call. */
    int (*decided)(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err);
    /* The judge that decides in a person's place returned. */
    int (*judged)(struct mortise_run *r, struct exec *x,
                  const struct aside *said, struct mortise_err *err);
    /* The guardrails let the decision, or the target, pass. */
    int (*passed)(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);
};
const struct node_kind *mortise_exec_kind(const struct mortise_run *r,
                                          const struct exec *x);

/* ---- start.c ---- */
/* x is READY: start it by its kind. */
int mortise_start_exec(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* Fail x with x->refusal, which a decision set. */
int mortise_start_fail_refused(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);
/* Start x from its arguments up to its call; mortise_start_execute(): from the
 * reservation of its budget. */
int mortise_start_call(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
int mortise_start_execute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err);

/* ---- doubt_resolve.c ---- */
/* x is READY with an effect in doubt, or the schemas reject the result of its
 * effect: begin to settle it. */
int mortise_doubt_begin_settling(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err);
int mortise_doubt_begin_for_result(struct mortise_run *r, struct exec *x,
                                   const struct mortise_err *why,
                                   struct mortise_err *err);
/* The effect did not happen. mortise_doubt_handle_refuted(): the plugin reports this.
 * mortise_doubt_handle_denied(): a person decided this, and x is READY.
 * mortise_doubt_handle_loser_refuted(): x has lost, and ends. */
int mortise_doubt_handle_refuted(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err);
int mortise_doubt_handle_denied(struct mortise_run *r, struct exec *x,
                                struct mortise_err *err);
int mortise_doubt_handle_loser_refuted(struct mortise_run *r, struct exec *x,
                                       struct mortise_err *err);
/* x has lost and its doubt must be settled first: begin, if a slot is free. */
int mortise_doubt_begin_for_loser(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err);
/* Fail x with this message; its effect stays in doubt. */
int mortise_doubt_fail(struct mortise_run *r, struct exec *x, const char *words,
                       struct mortise_err *err);

/* ---- stop.c ---- */
/* Drop the state that x needed only while it worked: x ended, or starts
 * over. */
int mortise_stop_drop_state(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
/* End x, which has no call in flight, with an entry of this type. */
int mortise_stop_exec(struct mortise_run *r, struct exec *x,
                      enum mortise_entry_type type, struct mortise_err *err);
/* Fail the finalizers, and executions inside them, that wait for a person or a
 * time. */
int mortise_finals_end_waits(struct mortise_run *r, bool *any,
                             struct mortise_err *err);
/* Stop the executions that lost: cancel their calls, end the others. */
int mortise_stop_losers(struct mortise_run *r, struct mortise_err *err);
/* End x, which has lost and whose effect need not be known.  If it cannot
 * return, record that it ends in doubt. */
int mortise_stop_end_loser(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err);

/* ---- verdict.c ---- */
/* Store the verdicts of an entry on x and drop the unrecorded ones. */
int mortise_verdict_store(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err);
void mortise_verdict_drop(struct exec *x);
/* A guardrail answered, or failed with this message.  *end starts as zero;
 * end->over: a round about memory is over, and the caller continues. */
struct round_end {
    bool over, refused; /* refused: see why */
    struct mortise_err why;
};
int mortise_verdict_settle(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           const char *failure, struct round_end *end,
                           struct mortise_err *err);

/* ---- settle.c ---- */
/* mortise_settle_result(): a call ended. mortise_settle_unresponsive(): a call
 * was cancelled and never returned. */
int mortise_settle_result(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err);
int mortise_settle_unresponsive(struct mortise_run *r,
                                const struct mortise_result_in *in,
                                struct mortise_err *err);
int mortise_settle_timer(struct mortise_run *r, uint64_t timer,
                         struct mortise_err *err);
/* Tools of executions ended: inform the calls that wait for them, and end the
 * executions that waited only for them. */
int mortise_settle_tools(struct mortise_run *r, struct mortise_err *err);
/* Drop the stored end of x's call. */
void mortise_settle_drop_end(struct mortise_run *r, struct exec *x);

#endif
