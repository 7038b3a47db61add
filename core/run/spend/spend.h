/* spend.h -- what a run may spend: budgets, the usage of models, limits, time.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_SPEND_H
#define MORTISE_RUN_SPEND_H

#include "run/state/state.h"

/* ---- usage.c ---- */
/* The call of x that is out ended, and this (NULL: nothing) is what it said;
 * `lost`: it was given up, and may have used more. */
int mortise_usage_note(struct mortise_run *r, struct exec *x,
                       const struct mortise_usage *said, bool lost,
                       struct mortise_err *err);
/* It has used so much more that nobody told (its cost is there). */
void mortise_usage_assume(struct mortise_run *r, struct exec *x,
                          const uint64_t used[MORTISE_USED_N]);
/* Its cost is there. */
int mortise_usage_begin(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);
/* Its next call begins without a journal. */
void mortise_usage_forget(struct exec *x);
void mortise_usage_drop(struct exec *x);
/* Put a member `usage`, where there was any. */
int mortise_usage_put(json_t *to, const struct exec *x);
int mortise_usage_put_all(json_t *to, const struct mortise_run *r);

/* ---- budget.c ---- */
/* A going through g, which is `in`, has what its budget says. */
int mortise_budget_begin(struct mortise_run *r, struct scope *in,
                         const struct mortise_graph *g,
                         struct mortise_err *err);
enum claimed {
    CLAIM_FREE,     /* x may be called */
    CLAIM_RESERVED, /* ... once its reservation is on disk: it is in X_INTENT */
    CLAIM_LATER     /* not now: it waits, asks, or has lost */
};
int mortise_budget_claim(struct mortise_run *r, struct exec *x,
                         enum claimed *out, struct mortise_err *err);
/* Its call used so much; `ended`: and is over, so the rest of what it reserved
 * is given back. */
int mortise_budget_used(struct mortise_run *r, struct exec *x,
                        const struct mortise_usage *used, bool ended,
                        struct mortise_err *err);
/* What its call has reserved of usage, and has not told: NULL, nothing. */
bool mortise_budget_owes(const struct exec *x, uint64_t used[MORTISE_USED_N]);
/* Its call ended; let go, to be entered again. */
void mortise_budget_call_ended(struct mortise_run *r, struct exec *x);
void mortise_budget_call_let_go(struct mortise_run *r, struct exec *x);
/* ... or was cut off: all that it reserved is spent. */
void mortise_budget_cut_off(struct mortise_run *r, struct exec *x);
/* ... or never made: what it reserved is for the next one. */
void mortise_budget_not_called(struct exec *x);
/* Has it a budget.wall? */
bool mortise_budget_is_walled(const struct scope *in);
/* ... of which so much is used, as was stored. */
int mortise_budget_wall(struct mortise_run *r, struct scope *in, uint64_t used,
                        struct mortise_err *err);
/* ... and which is used up. */
int mortise_budget_wall_over(struct mortise_run *r, struct scope *in,
                             struct mortise_err *err);
/* Whoever waits for others starts again, if any settled. */
int mortise_budget_try_again(struct mortise_run *r, struct mortise_err *err);
/* Does `in`, which is halted and quiet, go on where its budget leads? */
bool mortise_budget_leads(const struct scope *in);
int mortise_budget_lead(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err);
void mortise_budget_has_led(struct scope *in);
/* What a graph that it halted failed of. */
json_t *mortise_budget_error(const struct scope *in);
/* An amount in words: dollars as people write them. */
enum { BUDGET_TEXT = MORTISE_REAL_TEXT };
#define BUDGET_MOST ((uint64_t)INT64_MAX / 2) /* and no more can be spent */
const char *mortise_budget_spell(char out[BUDGET_TEXT], enum mortise_spend what,
                                 uint64_t amount);
/* Where the graph of a purse is: "" for the run's. */
const char *mortise_budget_path(const struct mortise_run *r,
                                const struct scope *in,
                                char path[MORTISE_EXEC_PATH]);
/* The most that a new call of x spends.  One that goes on has told a part. */
void mortise_budget_need(const struct mortise_run *r, const struct exec *x,
                         uint64_t need[MORTISE_N_SPENDS]);
/* May it fit, once others have settled? */
bool mortise_budget_leaves_room(const struct purse *p, const uint64_t *need,
                                int k);
/* {NAME: {limit, used}}, where there is a purse. */
json_t *mortise_budget_json(const struct mortise_run *r,
                            const struct scope *in);

/* ---- clock.c ---- */
/* At the end of a step: start and stop what changed; store the run's. */
int mortise_clock_tell(struct mortise_run *r, struct mortise_err *err);
int mortise_clock_store(struct mortise_run *r, struct mortise_err *err);
/* The run was active for so long. */
void mortise_clock_set(struct mortise_run *r, uint64_t active);
/* What a graph used of its budget.wall: now; to be stored; as was stored. */
uint64_t mortise_clock_wall_ms(const struct mortise_run *r,
                               const struct scope *in);
int mortise_clock_store_wall(struct mortise_run *r, struct scope *in,
                             struct mortise_err *err);
/* Its budget.wall was raised. */
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
/* The body of MORTISE_CMD_LIMIT. */
int mortise_limit_check(const struct mortise_run *r, const json_t *body,
                        struct mortise_err *err);
void mortise_limit_raise(struct mortise_run *r, const json_t *body);

#endif
