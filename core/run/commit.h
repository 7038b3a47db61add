/* commit.h -- the step function's own files: when what was recorded becomes a
 * commit; all of run/ lies below.  ROOMS has the order of its rooms.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_COMMIT_H
#define MORTISE_RUN_COMMIT_H

#include "core/run/command/command.h"

/* ---- commit.c ---- */
/* May these wait for the commit of a later step (entry_rules)?  Of what a node
 * gave; of what else says how far a node has come. */
bool mortise_commit_done_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e);
bool mortise_commit_prompt_may_wait(const struct mortise_run *r,
                                    const struct exec *x,
                                    const struct mortise_entry *e);
bool mortise_commit_node_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e);
/* The end of a step: the action at `slot` is its commit's, or goes. */
int mortise_commit_step(struct mortise_run *r, size_t slot,
                        struct mortise_err *err);
/* Will something happen without anybody's help? */
bool mortise_commit_is_going(const struct mortise_run *r);

/* ---- apply_exec.c ---- */
/* At the end of a step that is committed: open requests for budgets have the
 * limit and the use as they are by then. */
int mortise_requests_renew(struct mortise_run *r, struct mortise_err *err);

#endif
