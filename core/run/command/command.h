/* command.h -- commands to a run: validated, then recorded.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_COMMAND_H
#define MORTISE_RUN_COMMAND_H

#include "core/run/command/run_commands.h"
#include "core/run/outcome/outcome.h"

/* ---- functions of the rows of run_commands.def, in the commands' files -- */
#define RUN_COMMAND(id, ...)                                                   \
    mortise_command_fn mortise_command_check_##id, mortise_command_obey_##id;
#include "core/run/command/run_commands.def"

/* ---- decide.c ---- */
/* The subject of a decision (run_commands.h): the request of an approval or an
 * answer; the execution with an effect in doubt. */
const void *mortise_decide_find_request(const struct mortise_run *r,
                                        const struct mortise_run_command *c);
const void *mortise_decide_find_doubt(const struct mortise_run *r,
                                      const struct mortise_run_command *c);

/* Would a decision of the list have no effect, because the command `what`
 * abandons the execution that it is about?  Then MORTISE_EINVAL. */
int mortise_decide_check_used(const struct mortise_run *r,
                              const struct mortise_command_list *h,
                              const char *what, struct mortise_err *err);

/* Start a new list of decisions. */
void mortise_decide_reset(struct mortise_run *r);
/* Apply what follows from the list's decisions, which are all recorded, in
 * their order. */
int mortise_decide_apply_decisions(struct mortise_run *r,
                                   const struct mortise_command_list *h,
                                   struct mortise_err *err);

/* ---- goto.c ---- */
/* Fail if an effect is between intent and answer, since the frontier cannot
 * move then and no effect is stopped for that.  A doubt of an ended execution
 * blocks only a run that goes `back` or starts over, not one that continues
 * after it (doubt.c (11)). */
int mortise_goto_check_no_doubt(const struct mortise_run *r, bool back,
                                struct mortise_err *err);

/* ---- cancel.c ---- */
/* End, by entries, all active executions that have no call in flight. */
int mortise_command_stop_idle(struct mortise_run *r, struct mortise_err *err);

/* ---- pause.c ---- */
const char *mortise_pause_get_cause(const struct mortise_run_command *c);
/* Record that the run is paused, or (MORTISE_PAUSE_OVER) resumed; `reason` may
 * be NULL. */
int mortise_pause_record(struct mortise_run *r, enum mortise_pause how,
                         const char *reason, const char *actor,
                         struct mortise_err *err);

/* ---- raise.c ---- */
/* The budget of the spawn tree changed: pass the requests for which it is now
 * large enough. */
int mortise_command_tree_changed(struct mortise_run *r,
                                 struct mortise_err *err);

/* ---- command.c ---- */
/* mortise_command_has_kind(): does the list contain a command of this kind?
 * mortise_command_has_restart(): does it contain a command that continues an ended
 * run? */
bool mortise_command_has_kind(const struct mortise_command_list *h,
                              uint32_t kind);
bool mortise_command_has_restart(const struct mortise_command_list *h);
/* Does the list replace the plugin that n calls? */
bool mortise_command_replaces_plugin(const struct mortise_command_list *h,
                                     const struct mortise_node *n);
/* Validate a list of commands and apply it, or hold it until the calls in
 * flight have stopped. */
int mortise_command_step(struct mortise_run *r, const struct mortise_input *in,
                         struct mortise_err *err);
/* mortise_command_apply_held(): apply the held list if nothing is in flight any
 * more. mortise_command_drop_held(): discard it. */
int mortise_command_apply_held(struct mortise_run *r, struct mortise_err *err);
void mortise_command_drop_held(struct mortise_run *r);
/* A replayed run continues from its head, unless a person paused it. */
int mortise_command_recover(struct mortise_run *r, struct mortise_err *err);

#endif
