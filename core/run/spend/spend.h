/* spend.h -- limits of a run: budgets, the usage of models, steps, visits,
 * time.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_SPEND_H
#define MORTISE_RUN_SPEND_H

#include "core/run/state/state.h"

/* ---- usage.c ---- */
/* The call of x ended and reported this usage (NULL: none).  `lost`: the call
 * was abandoned and may have used more. */
int mortise_usage_add_reported(struct mortise_run *r, struct exec *x,
                               const struct mortise_usage *said, bool lost,
                               struct mortise_err *err);
/* A step of x was answered; the `usage` in the entry's value is spent. */
int mortise_usage_add_step(struct mortise_run *r, struct exec *x,
                           const struct mortise_entry *e,
                           struct mortise_err *err);
/* Add usage of x that was never reported.  x->cost exists. */
void mortise_usage_add_unreported(struct mortise_run *r, struct exec *x,
                                  const uint64_t used[MORTISE_USED_N]);
/* Make x->cost. */
int mortise_usage_create_cost(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err);
/* The next call of x starts without a journal and repeats no earlier usage. */
void mortise_usage_clear_repeated(struct exec *x);
/* Free the contents of x->cost. */
void mortise_usage_free_cost(struct exec *x);
/* Add a member `usage`, of an execution or of a run, unless it is zero.  0, or
 * -1 when memory ran out. */
int mortise_usage_add_exec_json(json_t *to, const struct exec *x);
int mortise_usage_add_run_json(json_t *to, const struct mortise_run *r);

/* ---- budget.c ---- */
/* Give `in`, a scope that runs g, the purse for the budget of g. */
int mortise_budget_create_purse(struct mortise_run *r, struct scope *in,
                                const struct mortise_graph *g,
                                struct mortise_err *err);
/* Nothing of the purse was spent; replace it by that of another graph. */
int mortise_budget_replace_purse(struct mortise_run *r, struct scope *in,
                                 const struct mortise_graph *g,
                                 struct mortise_err *err);
enum claimed {
    CLAIM_FREE,     /* x may be called */
    CLAIM_RESERVED, /* x may be called once its reservation is on disk
                       (X_INTENT) */
    CLAIM_LATER     /* not now: x waits, asks a person, or is stopped */
};
/* May x be called within all budgets? */
int mortise_budget_claim(struct mortise_run *r, struct exec *x,
                         enum claimed *out, struct mortise_err *err);
/* The call of x is about to ask a model with at most this usage (0: unknown).
 * Is there room for it?  If not, the next call of x reserves that room. */
int mortise_budget_has_room(struct mortise_run *r, struct exec *x,
                            const uint64_t most[MORTISE_USED_N], bool *room,
                            struct mortise_err *err);
/* {NAME: amount} to reserve for this ask; *out NULL: no budget limits it. */
int mortise_budget_make_amounts(json_t **out, const struct exec *x,
                                const uint64_t most[MORTISE_USED_N],
                                struct mortise_err *err);
/* Apply the reservation for an ask of a model.  The first one replaces the
 * amount that the call had reserved for models.  MORTISE_EINVAL: x cannot
 * reserve it. */
int mortise_budget_reserve_for_ask(struct mortise_run *r, struct exec *x,
                                   const json_t *amounts,
                                   struct mortise_err *err);
/* The call of x used this.  `ended`: the call ended, so release the rest of its
 * reservation. */
int mortise_budget_add_used(struct mortise_run *r, struct exec *x,
                            const struct mortise_usage *used, bool ended,
                            struct mortise_err *err);
/* The reserved usage that the call of x has not reported; false: none. */
bool mortise_budget_get_unreported(const struct mortise_run *r,
                                   const struct exec *x,
                                   uint64_t used[MORTISE_USED_N]);
/* Settle the reservation of x.  The call of x: ended; suspended, to be
 * re-entered; was cut off, so that all of the reservation is spent; never
 * started, so that the next call keeps the reservation. */
void mortise_budget_settle_ended(struct mortise_run *r, struct exec *x);
void mortise_budget_settle_suspended(struct mortise_run *r, struct exec *x);
void mortise_budget_settle_cut_off(struct mortise_run *r, struct exec *x);
void mortise_budget_settle_uncalled(struct exec *x);
/* mortise_budget_has_wall(): does `in` have a budget.wall?
 * mortise_budget_set_wall_used(): set the used time of that budget, from an entry.
 * mortise_budget_set_wall_exceeded(): that time is used up. */
bool mortise_budget_has_wall(const struct scope *in);
int mortise_budget_set_wall_used(struct mortise_run *r, struct scope *in,
                                 uint64_t used, struct mortise_err *err);
int mortise_budget_set_wall_exceeded(struct mortise_run *r, struct scope *in,
                                     struct mortise_err *err);
/* Does x wait until other executions release reservations? */
bool mortise_budget_must_wait(const struct mortise_run *r,
                              const struct exec *x);
/* Executions that wait for reservations become READY again, if any reservation
 * was released. */
int mortise_budget_retry_waiting(struct mortise_run *r,
                                 struct mortise_err *err);
/* Other runs of the spawn tree released reservations, so executions that wait
 * for reservations must check again. */
void mortise_budget_set_released(struct mortise_run *r);
/* For `in`, a scope that is halted and has nothing active.
 * mortise_budget_has_goto(): does it continue at the target of its on_exceeded?
 * mortise_budget_start_goto(): record that it does.
 * mortise_budget_set_goto_done(): store that it did. */
bool mortise_budget_has_goto(const struct scope *in);
int mortise_budget_start_goto(struct mortise_run *r, struct scope *in,
                              struct mortise_err *err);
void mortise_budget_set_goto_done(struct scope *in);
/* The error of `in`, which its budget halted. */
json_t *mortise_budget_make_error(const struct scope *in);
enum { BUDGET_TEXT = MORTISE_REAL_TEXT };
/* The upper bound of all sums of amounts. */
#define BUDGET_MOST ((uint64_t)INT64_MAX / 2)
/* Print an amount; dollars as a decimal. */
const char *mortise_budget_print_amount(char out[BUDGET_TEXT],
                                        enum mortise_spend what,
                                        uint64_t amount);
/* The path of the execution that `in` is inside of; "" for the run. */
const char *mortise_budget_print_path(const struct mortise_run *r,
                                      const struct scope *in,
                                      char path[MORTISE_EXEC_PATH]);
/* The most that a new call of x spends.  A call that continues has reported a
 * part of it. */
void mortise_budget_get_need(const struct mortise_run *r, const struct exec *x,
                             uint64_t need[MORTISE_N_SPENDS]);
/* Can the k-th amount of `need` fit after other executions have settled? */
bool mortise_budget_can_fit(const struct purse *p, const uint64_t *need, int k);
/* Spent or reserved, by this run and by others. */
static inline uint64_t mortise_budget_get_used(const struct purse *p, int k)
{
    return p->spent[k] + p->held[k] + p->others[k];
}
/* Set the limits of the run's own budget; 0: unchanged. */
void mortise_budget_set_limits(struct mortise_run *r,
                               const uint64_t most[MORTISE_N_SPENDS]);
/* Encode as {NAME: amount}, without zeroes (NULL: memory ran out); and decode:
 * MORTISE_EINVAL. */
json_t *mortise_budget_encode_amounts(const uint64_t amounts[MORTISE_N_SPENDS]);
int mortise_budget_decode_amounts(const json_t *value,
                                  uint64_t out[MORTISE_N_SPENDS]);
/* Emit a warning, once, for each amount of `in` that is low. */
int mortise_budget_warn_if_low(struct mortise_run *r, struct scope *in,
                               struct mortise_err *err);
/* The request for a budget that x waits for, with the current limit and use: a
 * new reference, NULL if memory ran out. */
json_t *mortise_budget_make_request(const struct mortise_run *r,
                                    const struct exec *x);
/* {NAME: {limit, used}} of `in`, which has a purse; with {own} if the purse is
 * shared with other runs. */
json_t *mortise_budget_make_json(const struct mortise_run *r,
                                 const struct scope *in);

/* ---- tree.c ---- */
/* The run's own purse, with the latest view of its tree. */
struct purse mortise_tree_get_purse(const struct mortise_run *r);
/* Is any of this limited by a view of the tree that the run has not received
 * yet? */
bool mortise_tree_is_unknown(const struct mortise_run *r,
                             const uint64_t need[MORTISE_N_SPENDS]);
/* Record the view of the tree, so that a decision may depend on it. */
int mortise_tree_record_view(struct mortise_run *r, struct mortise_err *err);
/* The run is about to spawn: its budget becomes the budget of a tree. */
int mortise_tree_create(struct mortise_run *r, struct mortise_err *err);
/* Does the budget belong to another run, and has this run not reserved any of
 * it? */
bool mortise_tree_is_foreign_unused(const struct mortise_run *r);
/* A person raised limits of its budget. */
void mortise_tree_set_raised(struct mortise_run *r);
/* At the end of a step that is committed: record the amounts that the tree
 * counts for this run. */
int mortise_tree_record_amounts(struct mortise_run *r, struct mortise_err *err);
/* Like mortise_tree_record_amounts(), for a run that waits for other runs and has less
 * than the tree counts: commit the amounts with this step. */
int mortise_tree_release_unused(struct mortise_run *r, struct mortise_err *err);
/* The change of the tree's purse for the next commit; it is reset. */
struct mortise_spawn_budget_change
mortise_tree_take_spend(struct mortise_run *r);

/* ---- clock.c ---- */
/* At the end of a step: start and stop the clocks of graphs in which calls
 * started or ended; and record how long the run was active. */
int mortise_clock_update_all(struct mortise_run *r, struct mortise_err *err);
int mortise_clock_record_active(struct mortise_run *r, struct mortise_err *err);
/* How long `in` was active, in its owner's newest attempt. */
uint64_t mortise_clock_get_active_ms(const struct mortise_run *r,
                                     const struct scope *in);
/* mortise_clock_get_wall_ms(): the used part of the budget.wall of `in`.
 * mortise_clock_record_wall(): record it. */
uint64_t mortise_clock_get_wall_ms(const struct mortise_run *r,
                                   const struct scope *in);
int mortise_clock_record_wall(struct mortise_run *r, struct scope *in,
                              struct mortise_err *err);
/* The budget.wall of `in` was raised, or its time limit changed: arm its timer
 * anew. */
int mortise_clock_rearm(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err);
/* The timer of x's child, or of the run (START), is due. */
int mortise_clock_handle_timer(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err);

/* ---- limit.c ---- */
enum limit { LIMIT_NONE, LIMIT_STEPS, LIMIT_VISITS };
/* The limit that x would exceed if it started now. */
enum limit mortise_limit_find_exceeded(const struct mortise_run *r,
                                       const struct exec *x);
/* The execution that a limit prevents from starting, when nothing else is left
 * to do; NULL: none. */
const struct exec *mortise_limit_find_blocked(const struct mortise_run *r);
json_t *mortise_limit_make_json(const struct mortise_run *r,
                                const struct exec *x);
/* Check the value of a command that raises limits. */
int mortise_limit_check_raise(const struct mortise_run *r, const json_t *body,
                              struct mortise_err *err);

#endif
