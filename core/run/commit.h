/* commit.h -- commits of a step; the top header of run/, which includes all
 * rooms below it.  ROOMS has their order.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_COMMIT_H
#define MORTISE_RUN_COMMIT_H

#include "core/run/command/command.h"

/* ---- commit.c ---- */
/* May this entry wait for the commit of a later step (entry_rules)?  For a
 * `done`; for a prompt; for other entries about a node's progress. */
bool mortise_commit_done_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e);
bool mortise_commit_prompt_may_wait(const struct mortise_run *r,
                                    const struct exec *x,
                                    const struct mortise_entry *e);
bool mortise_commit_node_may_wait(const struct mortise_run *r,
                                  const struct exec *x,
                                  const struct mortise_entry *e);
/* The end of a step: fill in the commit action at `slot`, or remove it. */
int mortise_commit_step(struct mortise_run *r, size_t slot,
                        struct mortise_err *err);
/* Will anything happen without a command or an answer? */
bool mortise_commit_has_work(const struct mortise_run *r);

/* ---- apply_exec.c ---- */
/* At the end of a step that is committed: update the limit and the use in open
 * requests for budgets. */
int mortise_requests_update_budgets(struct mortise_run *r,
                                    struct mortise_err *err);

#endif
