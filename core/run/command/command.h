/* command.h -- what people say to a run: validated, then recorded.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_COMMAND_H
#define MORTISE_RUN_COMMAND_H

#include "core/run/command/run_commands.h"
#include "core/run/outcome/outcome.h"

/* ---- what each row names, in the file of the command ---- */
#define RUN_COMMAND(id, ...)                                                   \
    mortise_command_fn mortise_command_check_##id, mortise_command_obey_##id;
#include "core/run/command/run_commands.def"

/* ---- decide.c ---- */
/* What a decision is about (run_commands.h): an approval or an answer; what
 * became of an effect. */
const void *mortise_decide_request(const struct mortise_run *r,
                                   const struct mortise_run_command *c);
const void *mortise_decide_doubt(const struct mortise_run *r,
                                 const struct mortise_run_command *c);

/* Would one of the list's decisions come to nothing, since `what` leaves behind the
 * execution that it is about?  MORTISE_EINVAL, and which. */
int mortise_decide_check_used(const struct mortise_run *r,
                              const struct mortise_said *h, const char *what,
                              struct mortise_err *err);

/* Nothing follows from decisions of an earlier list. */
void mortise_decide_begin(struct mortise_run *r);
/* What follows from the list's decisions, each of which was obeyed: in its order. */
int mortise_decide_follow(struct mortise_run *r, const struct mortise_said *h,
                          struct mortise_err *err);

/* ---- goto.c ---- */
/* No effect may hang between intent and answer while its frontier moves, and
 * none is stopped for that.  One that is over for good is behind what goes on,
 * but not behind what goes `back`, or begins once more (doubt.c (11)). */
int mortise_goto_check_settled(const struct mortise_run *r, bool back,
                               struct mortise_err *err);

/* ---- cancel.c ---- */
/* End, by entries, everything that is not done and has no call out. */
int mortise_command_stop_idle(struct mortise_run *r, struct mortise_err *err);

/* ---- pause.c ---- */
const char *mortise_pause_cause(const struct mortise_run_command *c);
/* It stands still, or (MORTISE_PAUSE_OVER) no more; `reason` may be NULL. */
int mortise_pause_record(struct mortise_run *r, enum mortise_pause how,
                         const char *reason, const char *actor,
                         struct mortise_err *err);

/* ---- raise.c ---- */
/* What the run was told of its tree is another thing: who waits for that goes on,
 * as far as it reaches. */
int mortise_command_hear_tree(struct mortise_run *r, struct mortise_err *err);

/* ---- command.c ---- */
/* Is there one of that kind in the list?  One by which an ended run goes on? */
bool mortise_command_has(const struct mortise_said *h, uint32_t kind);
bool mortise_command_restarts(const struct mortise_said *h);
/* Does the run go on with another version of what the node calls, by it? */
bool mortise_command_replaces(const struct mortise_said *h,
                              const struct mortise_node *n);
/* A list of commands came in: validated, and applied, or held until what is in
 * flight has stopped. */
int mortise_command_step(struct mortise_run *r, const struct mortise_input *in,
                         struct mortise_err *err);
/* Apply the list that is held, if what was in flight has stopped; give it up.
 */
int mortise_command_apply_held(struct mortise_run *r, struct mortise_err *err);
void mortise_command_drop_held(struct mortise_run *r);
/* A replayed run goes on from its head, unless a person paused it. */
int mortise_command_recover(struct mortise_run *r, struct mortise_err *err);

#endif
