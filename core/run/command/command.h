/* command.h -- what people say to a run: validated, then recorded.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_COMMAND_H
#define MORTISE_RUN_COMMAND_H

#include "run/outcome/outcome.h"

/* ---- decide.c ---- */
bool mortise_decide_is(uint32_t kind);
/* What a decision is about, under whatever name; NULL: nothing. */
const void *mortise_decide_subject(const struct mortise_run *r,
                                   const struct mortise_command *c);
int mortise_decide_check_approve(struct mortise_run *r,
                                 const struct mortise_command *c,
                                 struct mortise_err *err);
int mortise_decide_check_answer(struct mortise_run *r,
                                const struct mortise_command *c,
                                const char *actor, struct mortise_err *err);
int mortise_decide_check_resolve(struct mortise_run *r,
                                 const struct mortise_command *c,
                                 struct mortise_err *err);
int mortise_decide_do(struct mortise_run *r, const struct mortise_command *c,
                      const char *actor, struct mortise_err *err);

/* ---- raise.c: MORTISE_CMD_BUDGET ---- */
/* MORTISE_CMD_BUDGET. */
int mortise_budget_check(const struct mortise_run *r,
                         const struct mortise_command *c,
                         struct mortise_err *err);
int mortise_budget_raise(struct mortise_run *r, const struct mortise_command *c,
                         const char *actor, struct mortise_err *err);

/* ---- update.c ---- */
int mortise_update_check(struct mortise_run *r, const struct held_command *h,
                         const struct mortise_command *c,
                         struct mortise_err *err);
int mortise_update_do(struct mortise_run *r, const struct mortise_command *c,
                      const char *actor, struct mortise_err *err);

/* ---- command.c ---- */
/* Is there one of that kind in the list? */
bool mortise_command_has(const struct held_command *h, uint32_t kind);
/* What it carries, `what` in words; NULL: nothing. */
int mortise_command_json(json_t **out, const struct mortise_command *c,
                         const char *what, struct mortise_err *err);
int mortise_command_step(struct mortise_run *r, const struct mortise_input *in,
                         struct mortise_err *err);
/* Go on from the head, unless a person paused the run. */
int mortise_command_recover(struct mortise_run *r, struct mortise_err *err);
/* Apply the command that waits, if what was in flight has stopped. */
int mortise_command_apply_held(struct mortise_run *r, struct mortise_err *err);
void mortise_command_drop_held(struct mortise_run *r);
/* End, by entries, everything that is not done and has no call out. */
int mortise_command_stop_idle(struct mortise_run *r, struct mortise_err *err);

#endif
