/* outcome.h -- what is done with an execution: it is started, and what came of it
 * goes through a pipeline, or is in doubt, or failed.
 *
 * From the ground up: what comes of a whole graph (total), with what a call is
 * made (arguments, call_start, cache, guard); the pipeline of an output
 * (pipeline.h has its stages: leaving, guard, judge, route, cache, done; result
 * acknowledges its effect); the ways on where there is none (doubt, fail, stop);
 * and who hands outputs in: start, gather, verdict, doubt_resolve, the kinds of
 * nodes in run/kinds/, and settle.c, into which the ends of calls come.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_OUTCOME_H
#define MORTISE_RUN_OUTCOME_H

#include "core/run/outcome/pipeline.h"

/* ---- pipeline.c ---- */
/* x succeeded with this output (borrowed; NULL: none), which came about so. */
int mortise_pipeline_enter(struct mortise_run *r, struct exec *x,
                           json_t *output, enum done_how how,
                           struct mortise_err *err);
/* x is READY again, and its output goes on: x->leaving. */
int mortise_pipeline_go_on(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err);
/* What x's output waited for is over, and it goes on with this output; or it is
 * refused, in these words. */
int mortise_pipeline_resume(struct mortise_run *r, struct exec *x,
                            json_t *output, const struct mortise_err *refused,
                            struct mortise_err *err);
/* x is done without an output, and leads along its edge of this kind. */
int mortise_pipeline_divert(struct mortise_run *r, struct exec *x,
                            enum mortise_edge_kind kind,
                            struct mortise_err *err);

/* ---- result.c ---- */
/* The effect of x is acknowledged, whatever becomes of its node: its result is
 * recorded, where that matters.  Is it, of the call that was made?  And of the
 * one that would be? */
int mortise_result_keep(struct mortise_run *r, struct exec *x, json_t *output,
                        enum done_how how, struct mortise_err *err);
bool mortise_result_is_kept(const struct exec *x);
bool mortise_result_is_there(const struct mortise_run *r, const struct exec *x);
void mortise_result_forget(struct exec *x);
/* x->said: what came with an output, NULL: nothing; is that, recorded too. */
void mortise_result_say(struct exec *x, json_t *said);
int mortise_result_record_said(struct mortise_run *r, struct exec *x,
                               json_t *said, struct mortise_err *err);

/* ---- total.c ---- */
/* With what a graph begins, besides the edges that it takes out of START. */
struct mortise_beginning {
    json_t *lists;    /* of those that lead into maps; NULL: none does */
    const char *code; /* of why it cannot begin */
};
/* Edges out of START, into the entry; their conditions see the input alone. */
int mortise_total_choose_start(struct mortise_run *r,
                               const struct mortise_graph *g, json_t *input,
                               struct mortise_entry *e,
                               struct mortise_beginning *b,
                               struct mortise_err *err);
/* Record the entry that takes these edges, behind their lists. */
int mortise_total_record_start(struct mortise_run *r, struct mortise_entry *e,
                               struct mortise_beginning *b,
                               struct mortise_err *err);
/* MORTISE_EINVAL, or the input as its schema types it. */
int mortise_total_check_input(const struct mortise_graph *g, json_t *input,
                              json_t **out, struct mortise_err *err);
/* What f, a graph's, came to: a new error ({code, message, path}), or NULL and
 * its state. */
int mortise_total_outcome(struct mortise_run *r, struct frame *f,
                          json_t **error, json_t **state,
                          struct mortise_err *err);

/* ---- plan.c ---- */
/* START is to lead nowhere until the plan is approved. */
void mortise_plan_holds(struct mortise_run *r);
/* Ask about the plan of the run, which waits; about the graph in x. */
int mortise_plan_ask(struct mortise_run *r, struct mortise_err *err);
int mortise_plan_ask_of(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* Is the request of this id about the plan of the run? */
bool mortise_plan_is_asked(const struct mortise_run *r, const char *id);
/* MORTISE_EINVAL: that is no answer; or not with what was made of its graph
 * (NULL: nothing).  Of the run's plan; of that of a graph in a node. */
int mortise_plan_check(struct mortise_run *r, const json_t *value,
                       const struct mortise_steering *edited,
                       struct mortise_err *err);
int mortise_plan_check_of(const json_t *value, struct mortise_err *err);
/* It was answered so, and the answer checked. */
int mortise_plan_answer(struct mortise_run *r, json_t *value,
                        const struct mortise_steering *edited,
                        const char *actor, struct mortise_err *err);
/* Nobody need answer any more; and nobody is asked again. */
int mortise_plan_withdraw(struct mortise_run *r, struct mortise_err *err);
void mortise_plan_forget(struct mortise_run *r);

/* What an operation gave that is asked aside: an output, or why there is none. */
struct aside {
    json_t *output; /* borrowed; NULL: none */
    const char *code, *words;
};

/* ---- brief.c ---- */
enum { MORTISE_BRIEF_WORDS = 250 };
/* Is the output short?  MORTISE_ENOMEM, or *is_short. */
int mortise_brief_look(const struct mortise_run *r, const json_t *output,
                       bool *is_short, struct mortise_err *err);
/* Its beginning: {output, how: cut, error: {code, message}}. */
json_t *mortise_brief_cut(const struct mortise_run *r, const json_t *output,
                          const char *code, const char *message);
/* What an operation `gave` in place of the output: {output, how, error?}.  Where
 * that has no word the output is cut, where it is not nearly short, itself. */
json_t *mortise_brief_made(const struct mortise_run *r, const json_t *output,
                           json_t *gave);
/* What of y's output, which there is, they are told who depend on it: a new
 * reference; NULL when memory ran out. */
json_t *mortise_brief_told(const struct mortise_run *r, const struct exec *y);

/* ---- compact.c ---- */
/* The call that makes an output short has ended. */
int mortise_compact_settle(struct mortise_run *r, struct exec *x,
                           const struct aside *said, struct mortise_err *err);

/* ---- predecessors.c ---- */
/* What x is told of the nodes that it depends on: *out, a new reference. */
int mortise_predecessors(struct mortise_run *r, const struct exec *x,
                         json_t **out, struct mortise_err *err);

/* ---- talk.c ---- */
/* What stays of `said` in the node's conversation: a new reference; NULL: memory ran
 * out. */
json_t *mortise_talk_of(const struct outcome *o, json_t *said);

/* ---- judge.c ---- */
/* Append one write to an entry, its value typed as declared. */
int mortise_judge_add_write(const struct mortise_graph *g,
                            struct mortise_entry *e, uint16_t ref,
                            const struct mortise_path *path, json_t *value,
                            struct mortise_err *err);
/* An output against the schemas of the operation and the node. */
int mortise_judge_output(const struct mortise_graph *g,
                         const struct mortise_node *n, const json_t *output,
                         struct mortise_err *why);
/* The top-level fields that a write to `path` changed, against their schemas.
 * Keywords about a root as a whole, such as `required`, wait for the end. */
int mortise_judge_field_of(const struct mortise_graph *g, const json_t *after,
                           const struct mortise_path *path,
                           struct mortise_err *why);
/* What became of judging something: MORTISE_OK, MORTISE_EINVAL, or
 * MORTISE_ENOMEM (then in `err`), which is no failure of a node's. */
int mortise_judge_verdict(int rv, struct mortise_err *err);
/* A template in the view of x: *out is a new reference, or *why and
 * MORTISE_EINVAL. */
int mortise_judge_text(struct mortise_run *r, struct exec *x,
                       const struct mortise_tmpl *tmpl, json_t **out,
                       struct mortise_err *why, struct mortise_err *err);
/* The same, where `error` is in scope. */
int mortise_judge_text_of(struct mortise_run *r, struct exec *x,
                          const struct mortise_tmpl *tmpl, const json_t *error,
                          json_t **out, struct mortise_err *why,
                          struct mortise_err *err);
/* MORTISE_EINVAL: the key, for which the template gave v, takes something else. */
int mortise_judge_unfit(const struct mortise_tmpl *t, const char *key,
                        const char *takes, const json_t *v,
                        struct mortise_err *why);
/* A template gave what its list lacks: *why, to which the names of the list are
 * added, and MORTISE_EINVAL. */
int mortise_judge_unlisted(struct mortise_span at, const char *key,
                           const char *list, const json_t *v,
                           struct mortise_err *why);
void mortise_judge_name(struct mortise_err *why, bool first, const char *name);
/* The duration that a template gives in the view of x; else *why, and the code of
 * that, and MORTISE_EINVAL. */
int mortise_judge_duration(struct mortise_run *r, struct exec *x,
                           const struct mortise_tmpl *t, const char *key,
                           uint64_t *ms, const char **code,
                           struct mortise_err *why, struct mortise_err *err);

/* ---- route.c ---- */
/* Do the edges of a node depend on anything but its success?  Then which names
 * do their conditions use? */
bool mortise_route_uses(const struct mortise_graph *g,
                        const struct mortise_node *n, uint32_t *uses);
/* The one edge of a kind, if the node has it, into the entry. */
void mortise_route_of_kind(const struct exec *x, struct mortise_entry *e,
                           enum mortise_edge_kind kind);
/* Does taking it stand on a value: the list of a map edge, what a discovery
 * edge came to? */
/* What a map goes over, which `from` leads to, as mortise_map_keep() takes it; else
 * why not, and the code of that. */
int mortise_route_list(const struct mortise_region *map, const char *from,
                       const struct mortise_cel_env *env, json_t **out,
                       const char **code, struct mortise_err *why);
bool mortise_route_stands_on(const struct mortise_edge *e);
/* What a discovery edge looks for, over the state after x's writes: a new
 * reference.  MORTISE_EINVAL: in o->why, with o->code. */
int mortise_route_query(struct outcome *o,
                        const struct mortise_edge_discovery *d, json_t **query,
                        struct mortise_err *err);

/* ---- leaving.c ---- */
/* Record an entry with the output, and with what came with it. */
int mortise_leaving_record(struct outcome *o, struct mortise_entry *e,
                           struct mortise_err *err);
/* Such an entry: x keeps that output, and what its discovery edges found; the
 * caller says when it goes on. */
int mortise_leaving_keep(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, json_t *sought,
                         struct mortise_err *err);
/* The same, and x is READY, to go on when its turn comes. */
int mortise_leaving_hold(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, json_t *sought,
                         struct mortise_err *err);

/* ---- sought.c ---- */
/* Is the call of x that of an edge?  It has ended, or (late) its time is over. */
bool mortise_sought_is_out(const struct exec *x);
int mortise_sought_settle(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool late,
                          struct mortise_err *err);

/* ---- arguments.c ---- */
/* x->body is there: what its call was, or would be, made with; `why` for
 * MORTISE_EINVAL.  _eval() needs x->view. */
int mortise_arguments_find(struct mortise_run *r, struct exec *x,
                           struct mortise_err *why, struct mortise_err *err);
int mortise_arguments_eval(struct mortise_run *r, struct exec *x,
                           struct mortise_err *why, struct mortise_err *err);
/* MORTISE_EINVAL when a body breaks the operation's or the node's schema;
 * MORTISE_EDENIED when the deployment denies a call with it. */
int mortise_arguments_judge(const struct mortise_graph *g,
                            const struct mortise_node *n, const json_t *body,
                            const struct mortise_mem *mem,
                            struct mortise_err *err);
/* Must somebody approve a call with them?  The graph may want it, and the
 * deployment of an operation. */
bool mortise_arguments_are_approved(const struct exec *x,
                                    const struct mortise_node *n);

/* ---- call_start.c ---- */
/* Make a call of this kind.  One that has an intent: it is on disk. */
int mortise_call_start(struct mortise_run *r, struct exec *x,
                       enum mortise_run_call_kind kind,
                       struct mortise_err *err);
/* The same with a body of its own, which is taken. */
int mortise_call_start_with(struct mortise_run *r, struct exec *x,
                            enum mortise_run_call_kind kind, json_t *body,
                            struct mortise_err *err);

/* ---- lookups.c ---- */
/* What is still to be looked up for x is asked; or *asked is false, and there
 * is nothing.  x->view is there. */
int mortise_lookups_begin(struct mortise_run *r, struct exec *x, bool *asked,
                          struct mortise_err *err);
/* The code that somebody gave, if that is one of the family, "memory" or
 * "discovery"; else that it failed, in `room`. */
enum { MORTISE_LOOKUP_CODE = 32 };
const char *mortise_lookup_code(const char *said, const char *family,
                                char room[MORTISE_LOOKUP_CODE]);
/* Is it a call of that kind? */
bool mortise_lookup_is_call(enum mortise_run_call_kind kind);
/* Guardrails let pass what was recalled, as they left it: *found as below. */
int mortise_lookup_passed(struct mortise_run *r, struct exec *x, bool *found,
                          struct mortise_err *err);
/* One was answered, or (`late`) was not in time.  *found: it is recorded, and x
 * may go on; else it failed. */
int mortise_lookup_settle(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool late,
                          bool *found, struct mortise_err *err);
bool mortise_lookup_may_wait(const struct mortise_run *r, const struct exec *x,
                             const struct mortise_entry *e);

/* ---- recall.c ---- */
/* {persona, session, conversation?}: whose memory x's is.  As for `ask` of a
 * lookup (lookups.h). */
int mortise_memory_keys(struct mortise_run *r, struct exec *x, json_t **out,
                        const char **code, struct mortise_err *why,
                        struct mortise_err *err);

/* ---- remember.c ---- */
/* Guardrails judged what is to be remembered: it may be, or (refused) not. */
int mortise_remember_judged(struct mortise_run *r, struct exec *x,
                            const struct mortise_err *refused,
                            struct mortise_err *err);
/* What x's output became was written, or (`late`) not in time. */
int mortise_remember_settle(struct mortise_run *r, struct exec *x,
                            const struct mortise_result_in *in, bool late,
                            struct mortise_err *err);

/* ---- outbox.c ---- */
/* The traces of the run that its memory need not have yet, and that a read of
 * this policy with these keys would give: a new list. */
int mortise_outbox_overlay(struct mortise_run *r,
                           const struct mortise_memory_policy *p,
                           const json_t *keys, json_t **out,
                           struct mortise_err *err);
/* The run reads as of this, unless it does so already as of something. */
int mortise_outbox_pin(struct mortise_run *r, uint64_t seq,
                       struct mortise_err *err);
/* Nothing starts now: what the run reads as of is being asked. */
bool mortise_outbox_is_pinning(const struct mortise_run *r);
/* What may be asked or written now is. */
int mortise_outbox_go(struct mortise_run *r, struct mortise_err *err);
/* The run is quiet: *waits, since it has something to write first. */
int mortise_outbox_before_end(struct mortise_run *r, bool *waits,
                              struct mortise_err *err);
/* The commit that something waits for that is to be written; 0: none. */
uint64_t mortise_outbox_awaits(const struct mortise_run *r);
/* What could not be written keeps the run from its end. */
bool mortise_outbox_is_stuck(const struct mortise_run *r);
/* x is done, and has used what it read. */
int mortise_outbox_use(struct mortise_run *r, const struct exec *x,
                       uint64_t at_ms, struct mortise_err *err);
/* {traces, error} of one that is: a new reference. */
json_t *mortise_outbox_json(const struct mortise_run *r);
/* The run goes on, or is told to try again; calls are to stop. */
int mortise_outbox_again(struct mortise_run *r, struct mortise_err *err);
int mortise_outbox_stop(struct mortise_run *r, struct mortise_err *err);
/* Is that the name of a call or a timer of the run's own? */
bool mortise_outbox_made(uint64_t handle);
int mortise_outbox_settle(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err);
int mortise_outbox_give_up(struct mortise_run *r, uint64_t handle,
                           struct mortise_err *err);
int mortise_outbox_timer(struct mortise_run *r, uint64_t handle,
                         struct mortise_err *err);
void mortise_outbox_finish(struct mortise_run *r);
/* Kept until it is written, from that commit on. */
int mortise_outbox_put(struct mortise_run *r, json_t *trace,
                       enum mortise_consistency how, struct mortise_err *err);

/* ---- guard.c ---- */
/* The guardrail that is being asked; of an edge, the edge. */
const char *mortise_guard_id(const struct mortise_run *r, const struct exec *x);
/* Does none of its stage come behind that? */
bool mortise_guard_is_last(const struct mortise_run *r, const struct exec *x);
const struct mortise_edge *mortise_guard_edge(const struct exec *x);
/* A round about this subject begins: there is a guardrail to ask. */
int mortise_guard_begin(struct mortise_run *r, struct exec *x,
                        enum mortise_guard_stage stage, json_t *subject,
                        struct mortise_err *err);
/* One answered, and this is in the place of the subject (NULL: it stays); or the
 * edge is not taken, but its detour. */
void mortise_guard_answered(struct exec *x, json_t *replacement);
void mortise_guard_detour(struct exec *x);
/* The next is asked, if there is one; else *output (borrowed) is what the round
 * left of an output. */
int mortise_guard_ask(struct mortise_run *r, struct exec *x, bool *asked,
                      struct mortise_err *err);
int mortise_guard_left(struct exec *x, json_t **output,
                       struct mortise_err *err);
/* Are there some to be asked before x runs? */
bool mortise_guard_wants_input(const struct mortise_run *r,
                               const struct exec *x);
/* Nothing is looked at any more. */
void mortise_guard_forget(struct exec *x);

/* ---- cache.c ---- */
/* x is about to call: *ask, whether the cache is to be asked first. */
int mortise_cache_begin(struct mortise_run *r, struct exec *x, bool *ask,
                        struct mortise_err *err);
/* The cache had nothing: what the call gives may be kept under its key. */
void mortise_cache_missed(struct exec *x, const struct mortise_result_in *in);
/* The call of x came to an end. */
void mortise_cache_note(struct exec *x, const struct mortise_result_in *in);

/* ---- doubt.c ---- */
enum doubt { DOUBT_NONE, DOUBT_CALL, DOUBT_STEP };
extern const char mortise_doubt_stuck[]; /* in words: a call never let go */
extern const char
    mortise_doubt_broken[]; /* the code of a call that broke its word */

/* May the effect of x have happened, and nobody settled that?  Its call may be
 * out. */
bool mortise_doubt_is_open(const struct mortise_run *r, const struct exec *x);
/* What the end of a call leaves open; of one that `broke` its word, which says
 * by its success no more than by its silence. */
enum doubt mortise_doubt_at_end(const struct mortise_run *r,
                                const struct exec *x,
                                const struct mortise_result_in *in, bool broke);
/* x is to settle what the end of its call left open; of one that broke its
 * word, in these words. */
int mortise_doubt_ended(struct mortise_run *r, struct exec *x, enum doubt what,
                        const struct mortise_result_in *in,
                        struct mortise_err *err);
int mortise_doubt_broke(struct mortise_run *r, struct exec *x, enum doubt what,
                        const char *words, struct mortise_err *err);
/* What a person may say that a step of n gave which asked for `method`; NULL:
 * anything that the method does. */
const struct mortise_schema *
mortise_doubt_step_result(const struct mortise_node *n, const char *method);
/* What is in doubt of x: a step, or NULL, its call; and why nobody knows. */
const struct step *mortise_doubt_subject(const struct mortise_run *r,
                                         const struct exec *x);
const char *mortise_doubt_cause(const struct exec *x, const struct step *s);

/* A person is to say what happened. */
int mortise_doubt_ask(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err);
/* How the attempt failed, {code, class, message}, which is taken; NULL: it did
 * not. */
void mortise_doubt_note_failure(struct exec *x, json_t *failure);
/* x->failure says that what came of its effect is refused, and why. */
int mortise_doubt_note_useless(struct exec *x, const struct mortise_err *why,
                               struct mortise_err *err);
/* Did x fail because what came of its effect is refused? */
bool mortise_doubt_is_useless(const struct exec *x);

/* If x is in doubt: record why nobody knows, ahead of what is not the doubt's
 * settling; and then that a cancel ended x, whose call has let go; of one that
 * is to stand still, and is asked about if a person is to say. */
int mortise_doubt_note(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
int mortise_doubt_cancelled(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err);
int mortise_doubt_hold(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* A pause was recorded while x was in the middle of its effect. */
void mortise_doubt_paused(struct exec *x);
/* x goes on, and may come to be in doubt for another reason. */
int mortise_doubt_untell(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);

/* x has lost: is something in doubt that is to be settled before it ends?  Is
 * that being settled? */
bool mortise_doubt_outlives(const struct mortise_run *r, const struct exec *x);
bool mortise_doubt_is_asked(const struct exec *x);
/* Record that x ends in doubt. */
int mortise_doubt_left(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);

/* x is over: did it end with its doubt?  Could it go on all the same? */
bool mortise_doubt_is_kept(const struct mortise_run *r, const struct exec *x);
bool mortise_doubt_may_go_on(const struct exec *x);
bool mortise_doubt_is_any_kept(const struct mortise_run *r);
/* A run that looks back: each execution that ended with its doubt is asked
 * about; is one still?  Nobody wants to say any more. */
int mortise_doubt_return(struct mortise_run *r, struct mortise_err *err);
bool mortise_doubt_has_returned(const struct mortise_run *r);
void mortise_doubt_leave(struct mortise_run *r);
/* x is about to fail, with its effect in doubt or not. */
void mortise_doubt_at_failure(struct exec *x, bool in_doubt);
/* A cancel stopped x; or (false) something else did, or what became of it
 * matters no more. */
void mortise_doubt_cut(struct exec *x, bool by_cancel);
/* x is over as it was before; so are all that were asked about. */
void mortise_doubt_over(struct mortise_run *r, struct exec *x);
void mortise_doubt_all_over(struct mortise_run *r);

/* ---- choose.c ---- */
/* Which of its choices x calls; else why none, and MORTISE_EINVAL. */
int mortise_choose(struct mortise_run *r, struct exec *x, const char **code,
                   struct mortise_err *why, struct mortise_err *err);

/* ---- fail.c ---- */
/* Why an attempt failed; class as in plugin.h. */
struct failure {
    const char *code, *class, *message;
    struct mortise_ending ending;
    bool reported; /* by its operation: its code may be tried again by name */
};
/* x failed: retry, on_error or failure. */
int mortise_fail_as(struct mortise_run *r, struct exec *x,
                    const struct failure *f, struct mortise_err *err);
/* The same, of a failure that is the engine's. */
int mortise_fail_attempt(struct mortise_run *r, struct exec *x,
                         const char *code, const char *class,
                         const char *message, struct mortise_err *err);
/* The same, for good, where a judgement, rv, is MORTISE_EINVAL; else rv. */
int mortise_fail_refused(struct mortise_run *r, struct exec *x, int rv,
                         const char *code, const struct mortise_err *why,
                         struct mortise_err *err);
/* The message of the node's `failing`, as text into *out.  `error`: what the
 * attempt failed of; NULL of a fail node.  MORTISE_EINVAL: `why`. */
int mortise_fail_message(struct mortise_run *r, struct exec *x,
                         const json_t *error, struct mortise_buf *out,
                         struct mortise_err *why, struct mortise_err *err);
/* It failed for good, whatever retry_policy and on_error.value say.  `open`:
 * its effect never answered. */
int mortise_fail_for_good(struct mortise_run *r, struct exec *x,
                          const char *code, const char *message, bool open,
                          struct mortise_err *err);
/* The next retry waits so long at least. */
void mortise_fail_no_sooner(struct exec *x, uint64_t in_ms);
/* The effect that was intended did not happen: as before the intent. */
int mortise_fail_not_done(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err);
/* {node, code, class, message, span}: a new reference. */
json_t *mortise_fail_json(const struct mortise_run *r, const struct exec *x,
                          const char *code, const char *message);

/* ---- gather.c ---- */
/* Every map that is over is gathered. */
int mortise_gather_all(struct mortise_run *r, struct mortise_err *err);
/* Every graph inside that is over ends its execution. */
int mortise_gather_inside(struct mortise_run *r, struct mortise_err *err);

/* ---- kinds.c ---- */
/* How the nodes of a kind run: one of each, in run/kinds/. */
struct node_kind {
    /* x is READY: it starts; or goes on, as guardrails passed its input. */
    int (*start)(struct mortise_run *r, struct exec *x,
                 struct mortise_err *err);
    /* The id of the target to which x, which succeeded as the entry says, is to
     * go: a new reference, or NULL, none is named.  No `choose`: never. */
    int (*choose)(struct mortise_run *r, const struct exec *x,
                  const struct mortise_entry *e, const struct env *env,
                  json_t **id, struct mortise_err *why,
                  struct mortise_err *err);
    /* The graph inside x is over. */
    int (*inside_over)(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);

    /* Where nodes give a decision.  May the actor settle the question with that?
     */
    int (*check)(struct mortise_run *r, const struct exec *x,
                 const json_t *said, const char *actor,
                 struct mortise_err *err);
    /* It is settled: keep what was decided, until that is recorded. */
    int (*keep)(struct mortise_run *r, struct exec *x,
                const struct mortise_entry *e, struct mortise_err *err);
    /* What was decided is kept: go on with it as far as that needs no call. */
    int (*decided)(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err);
    /* Who judges in people's place said this. */
    int (*judged)(struct mortise_run *r, struct exec *x,
                  const struct aside *said, struct mortise_err *err);
    /* The guardrails passed the decision, or the target. */
    int (*passed)(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err);
};
const struct node_kind *mortise_exec_kind(const struct mortise_run *r,
                                          const struct exec *x);

/* ---- start.c ---- */
/* x is READY: it starts, by its kind. */
int mortise_start_exec(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
/* By a decision it fails of x->refusal, which is there. */
int mortise_start_refused(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err);
/* One with an operation, from its arguments to its call; and from there. */
int mortise_start_call(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err);
int mortise_start_execute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err);

/* ---- doubt_resolve.c ---- */
/* x is READY, with something in doubt; or its schemas refuse what came of its
 * effect. */
int mortise_doubt_start(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
int mortise_doubt_of_result(struct mortise_run *r, struct exec *x,
                            const struct mortise_err *why,
                            struct mortise_err *err);
/* The effect did not happen: the plugin says so; a person does, and x is READY;
 * it is of one that has lost, and x ends. */
int mortise_doubt_refuted(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err);
int mortise_doubt_denied(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);
int mortise_doubt_of_loser_refuted(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err);
/* x has lost, and mortise_doubt_outlives(): begin to settle that, if there is
 * room. */
int mortise_doubt_of_loser(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err);
/* It is taken as failed; the doubt stays. */
int mortise_doubt_fail(struct mortise_run *r, struct exec *x, const char *words,
                       struct mortise_err *err);

/* ---- stop.c ---- */
/* x has ended, or is to begin again with what it gave: what only mattered while
 * it was at work is given up. */
int mortise_stop_forget(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* End x, which has no call out, by this kind of entry. */
int mortise_stop_exec(struct mortise_run *r, struct exec *x,
                      enum mortise_entry_type type, struct mortise_err *err);
/* Finalisers, and what is in them, that wait for a person or a time fail. */
int mortise_finals_wait_for_nobody(struct mortise_run *r, bool *any,
                                   struct mortise_err *err);
/* Stop who has lost: calls are cancelled, everything else ends. */
int mortise_stop_losers(struct mortise_run *r, struct mortise_err *err);
/* End x, which has lost, and of which it need not be known what came of it: one
 * that never returns ends in doubt. */
int mortise_stop_lost(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err);

/* ---- verdict.c ---- */
/* The verdicts of an entry are the execution's; those that are in none yet are
 * given up. */
int mortise_verdict_keep(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e,
                         struct mortise_err *err);
void mortise_verdict_forget(struct exec *x);
/* A guardrail answered, or failed to with these words.  *end, all zero before: a
 * round about memory is over, and who asked is to go on. */
struct round_end {
    bool over, refused; /* and why */
    struct mortise_err why;
};
int mortise_verdict_settle(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           const char *failure, struct round_end *end,
                           struct mortise_err *err);

/* ---- settle.c ---- */
/* A call ended; or never lets go. */
int mortise_settle_result(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err);
int mortise_settle_unresponsive(struct mortise_run *r,
                                const struct mortise_result_in *in,
                                struct mortise_err *err);
int mortise_settle_timer(struct mortise_run *r, uint64_t timer,
                         struct mortise_err *err);
/* Tools may have come to something: who asked for them is told, or ends, if that
 * is all that it waited for. */
int mortise_settle_tools(struct mortise_run *r, struct mortise_err *err);
/* x is given up: so is how its call ended. */
void mortise_settle_forget(struct mortise_run *r, struct exec *x);

#endif
