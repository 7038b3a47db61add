/* command.h -- what people say to a run: validated, then recorded.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_COMMAND_H
#define MORTISE_RUN_COMMAND_H

#include "run/outcome/outcome.h"

/* ---- decide.c ---- */
/* Is a command of that kind a decision about a request? */
bool mortise_decide_is(uint32_t kind);
/* What a decision is about, under whatever name; NULL: nothing. */
const void *mortise_decide_subject(const struct mortise_run *r,
                                   const struct mortise_command *c);
/* May this decision be made now? */
int mortise_decide_check_approve(struct mortise_run *r,
                                 const struct mortise_command *c,
                                 struct mortise_err *err);
int mortise_decide_check_answer(struct mortise_run *r,
                                const struct mortise_command *c,
                                const char *actor, struct mortise_err *err);
int mortise_decide_check_resolve(struct mortise_run *r,
                                 const struct mortise_command *c,
                                 struct mortise_err *err);
/* Record a decision that was checked, and what follows from it. */
int mortise_decide_do(struct mortise_run *r, const struct mortise_command *c,
                      const char *actor, struct mortise_err *err);

/* ---- raise.c: MORTISE_CMD_BUDGET ---- */
/* May a budget be raised so?  Then do. */
int mortise_budget_check(const struct mortise_run *r,
                         const struct mortise_command *c,
                         struct mortise_err *err);
int mortise_budget_raise(struct mortise_run *r, const struct mortise_command *c,
                         const char *actor, struct mortise_err *err);

/* ---- update.c: MORTISE_CMD_UPDATE ---- */
/* May the state be written so?  Then do. */
int mortise_update_check(struct mortise_run *r, const struct held_command *h,
                         const struct mortise_command *c,
                         struct mortise_err *err);
int mortise_update_do(struct mortise_run *r, const struct mortise_command *c,
                      const char *actor, struct mortise_err *err);

/* ---- command.c ---- */
/* Is there one of that kind in the list? */
bool mortise_command_has(const struct held_command *h, uint32_t kind);
/* The JSON that c carries, `what` in words for errors; NULL: it carries none.
 */
int mortise_command_json(json_t **out, const struct mortise_command *c,
                         const char *what, struct mortise_err *err);
/* A list of commands came in: validated, and applied, or held until what is in
 * flight has stopped. */
int mortise_command_step(struct mortise_run *r, const struct mortise_input *in,
                         struct mortise_err *err);
/* A replayed run goes on from its head, unless a person paused it. */
int mortise_command_recover(struct mortise_run *r, struct mortise_err *err);
/* Apply the list that is held, if what was in flight has stopped; give it up.
 */
int mortise_command_apply_held(struct mortise_run *r, struct mortise_err *err);
void mortise_command_drop_held(struct mortise_run *r);
/* End, by entries, everything that is not done and has no call out. */
int mortise_command_stop_idle(struct mortise_run *r, struct mortise_err *err);

#endif
