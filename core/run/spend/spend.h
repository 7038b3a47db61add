/* spend.h -- what a run may spend: budgets, the usage of models, limits, time.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_SPEND_H
#define MORTISE_RUN_SPEND_H

#include "core/run/state/state.h"

/* ---- usage.c ---- */
/* The call of x that was out ended, and this (NULL: nothing) is what it said
 * that it used; `lost`: it was given up, and may have used more. */
int mortise_usage_note(struct mortise_run *r, struct exec *x,
                       const struct mortise_usage *said, bool lost,
                       struct mortise_err *err);
/* A step of x was answered, and this entry's value says in `usage` what that
 * cost. */
int mortise_usage_of_step(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err);
/* x, of which x->cost is there, has used so much that nobody told. */
void mortise_usage_assume(struct mortise_run *r, struct exec *x,
                          const uint64_t used[MORTISE_USED_N]);
/* x->cost is there. */
int mortise_usage_begin(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* The next call of x begins without a journal: it says nothing again. */
void mortise_usage_forget(struct exec *x);
/* Free what x->cost holds. */
void mortise_usage_drop(struct exec *x);
/* Put a member `usage`, of an execution, of a run, where it used any.  0, or -1
 * when memory ran out. */
int mortise_usage_put(json_t *to, const struct exec *x);
int mortise_usage_put_all(json_t *to, const struct mortise_run *r);

/* ---- budget.c ---- */
/* `in`, a going through g, has the purse that the budget of g says. */
int mortise_budget_begin(struct mortise_run *r, struct scope *in,
                         const struct mortise_graph *g,
                         struct mortise_err *err);
/* Nothing of it was spent, and it is that of another graph now. */
int mortise_budget_renew(struct mortise_run *r, struct scope *in,
                         const struct mortise_graph *g,
                         struct mortise_err *err);
enum claimed {
    CLAIM_FREE,     /* x may be called */
    CLAIM_RESERVED, /* once its reservation is on disk (X_INTENT) */
    CLAIM_LATER     /* not now: it waits, asks, or has lost */
};
/* May x be called, as far as budgets go? */
int mortise_budget_claim(struct mortise_run *r, struct exec *x,
                         enum claimed *out, struct mortise_err *err);
/* The call of x is about to ask a model that uses so much at most (0: nobody
 * knows).  Is there room for it?  If not, its next call claims that room. */
int mortise_budget_has_room(struct mortise_run *r, struct exec *x,
                            const uint64_t most[MORTISE_USED_N], bool *room,
                            struct mortise_err *err);
/* {NAME: amount} of that, to be reserved; *out NULL: nothing bounds it. */
int mortise_budget_amounts(json_t **out, const struct exec *x,
                           const uint64_t most[MORTISE_USED_N],
                           struct mortise_err *err);
/* Apply that it is: the call of x holds them, instead of what it held for models
 * before any was out.  MORTISE_EINVAL: x cannot hold that. */
int mortise_budget_ask(struct mortise_run *r, struct exec *x,
                       const json_t *amounts, struct mortise_err *err);
/* The call of x used so much; `ended`: and is over, so the rest of what it
 * reserved is given back. */
int mortise_budget_used(struct mortise_run *r, struct exec *x,
                        const struct mortise_usage *used, bool ended,
                        struct mortise_err *err);
/* What the call of x has reserved of usage, and has not told; false: nothing.
 */
bool mortise_budget_owes(const struct mortise_run *r, const struct exec *x,
                         uint64_t used[MORTISE_USED_N]);
/* The call of x ended; it let go, to be entered again; it was cut off, so that
 * all that it reserved is spent; it was never made, so that what it reserved is
 * for the next one. */
void mortise_budget_call_ended(struct mortise_run *r, struct exec *x);
void mortise_budget_call_let_go(struct mortise_run *r, struct exec *x);
void mortise_budget_cut_off(struct mortise_run *r, struct exec *x);
void mortise_budget_not_called(struct exec *x);
/* Has `in` a budget.wall; so much of it is used, as was stored; it is used up.
 */
bool mortise_budget_is_walled(const struct scope *in);
int mortise_budget_wall(struct mortise_run *r, struct scope *in, uint64_t used,
                        struct mortise_err *err);
int mortise_budget_wall_over(struct mortise_run *r, struct scope *in,
                             struct mortise_err *err);
/* Does x wait for what others have reserved? */
bool mortise_budget_is_short(const struct mortise_run *r, const struct exec *x);
/* Executions that wait for what others have reserved are READY again, if any of
 * it was given back. */
int mortise_budget_try_again(struct mortise_run *r, struct mortise_err *err);
/* ... or others of its tree gave some of it back. */
void mortise_budget_moved(struct mortise_run *r);
/* Does `in`, which is halted and quiet, go on where its on_exceeded leads?
 * Lead it there; it was led. */
bool mortise_budget_leads(const struct scope *in);
int mortise_budget_lead(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err);
void mortise_budget_has_led(struct scope *in);
/* What `in`, which its budget halted, failed of. */
json_t *mortise_budget_error(const struct scope *in);
enum { BUDGET_TEXT = MORTISE_REAL_TEXT };
#define BUDGET_MOST ((uint64_t)INT64_MAX / 2) /* and no more can be spent */
/* An amount in words: dollars as people write them. */
const char *mortise_budget_spell(char out[BUDGET_TEXT], enum mortise_spend what,
                                 uint64_t amount);
/* The path of the execution that `in` is inside of; "" for the run. */
const char *mortise_budget_path(const struct mortise_run *r,
                                const struct scope *in,
                                char path[MORTISE_EXEC_PATH]);
/* The most that a new call of x spends.  One that goes on has told a part. */
void mortise_budget_need(const struct mortise_run *r, const struct exec *x,
                         uint64_t need[MORTISE_N_SPENDS]);
/* May this need of the k-th amount fit, once others have settled? */
bool mortise_budget_leaves_room(const struct purse *p, const uint64_t *need,
                                int k);
/* Spent, or reserved, by whomever. */
static inline uint64_t mortise_budget_used_of(const struct purse *p, int k)
{
    return p->spent[k] + p->held[k] + p->others[k];
}
/* The bounds of the run's own budget are these, where they are others. */
void mortise_budget_bound(struct mortise_run *r,
                          const uint64_t most[MORTISE_N_SPENDS]);
/* {NAME: amount} of those that are not 0 (NULL: memory ran out); and back:
 * MORTISE_EINVAL. */
json_t *mortise_budget_write(const uint64_t amounts[MORTISE_N_SPENDS]);
int mortise_budget_read(const json_t *value, uint64_t out[MORTISE_N_SPENDS]);
/* Say of `in` what is low, once. */
int mortise_budget_warn(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err);
/* The request for a budget that x waits for, with the limit and the use as they
 * are: a new reference, NULL if memory ran out. */
json_t *mortise_budget_request(const struct mortise_run *r,
                               const struct exec *x);
/* {NAME: {limit, used}} of `in`, which has a purse; {own} besides, of one that
 * others spend from, too. */
json_t *mortise_budget_json(const struct mortise_run *r,
                            const struct scope *in);

/* ---- tree.c ---- */
/* The run's own purse, as it stands with what was told of its tree. */
struct purse mortise_tree_purse(const struct mortise_run *r);
/* Nothing can be decided by what bounds any of this: it is not known yet. */
bool mortise_tree_is_unknown(const struct mortise_run *r,
                             const uint64_t need[MORTISE_N_SPENDS]);
/* What was told of its tree is recorded, and so may decide something. */
int mortise_tree_look(struct mortise_run *r, struct mortise_err *err);
/* It is about to spawn something: whoever comes of that spends with it. */
int mortise_tree_open(struct mortise_run *r, struct mortise_err *err);
/* It is another run's budget, of which it has asked for nothing yet. */
bool mortise_tree_is_foreign(const struct mortise_run *r);
/* Bounds of its budget were raised, by somebody, just now. */
void mortise_tree_raised(struct mortise_run *r);
/* At the end of a step that is committed: what it has is counted so. */
int mortise_tree_count(struct mortise_run *r, struct mortise_err *err);
/* The same of a run that waits for others, where it has less than is counted: to be
 * committed with this step. */
int mortise_tree_give_back(struct mortise_run *r, struct mortise_err *err);
/* What the commit of that changes of the tree's purse: once. */
struct mortise_spawn_spend mortise_tree_take_spend(struct mortise_run *r);

/* ---- clock.c ---- */
/* At the end of a step: start and stop the clocks of graphs in which calls
 * began or ended; and record how long the run was active. */
int mortise_clock_tell(struct mortise_run *r, struct mortise_err *err);
int mortise_clock_store(struct mortise_run *r, struct mortise_err *err);
/* How long `in` was active; of its owner's newest attempt. */
uint64_t mortise_clock_active_ms(const struct mortise_run *r,
                                 const struct scope *in);
/* What `in` has used of its budget.wall, by now; record that. */
uint64_t mortise_clock_wall_ms(const struct mortise_run *r,
                               const struct scope *in);
int mortise_clock_store_wall(struct mortise_run *r, struct scope *in,
                             struct mortise_err *err);
/* The budget.wall of `in` was raised. */
int mortise_clock_again(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err);
/* The timer of x's child, or of the run (START), is due. */
int mortise_clock_is_due(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err);

/* ---- limit.c ---- */
enum limit { LIMIT_NONE, LIMIT_STEPS, LIMIT_VISITS };
/* The limit that x would pass if it started now. */
enum limit mortise_limit_of(const struct mortise_run *r, const struct exec *x);
/* The execution that a limit holds back, when nothing else is left to do; NULL:
 * none. */
const struct exec *mortise_limit_holds(const struct mortise_run *r);
json_t *mortise_limit_json(const struct mortise_run *r, const struct exec *x);
/* The value of a command that raises limits. */
int mortise_limit_check(const struct mortise_run *r, const json_t *body,
                        struct mortise_err *err);

#endif
