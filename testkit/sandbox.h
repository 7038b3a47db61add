/* sandbox.h -- run a rehearsal in its own process and temporary directory. */
#ifndef MORTISE_TESTKIT_SANDBOX_H
#define MORTISE_TESTKIT_SANDBOX_H

#include <limits.h>

#include "testkit/rehearse.h"

/* Rehearse once in a new directory, which is removed afterwards.  If the
 * process kills itself as told, a second process resumes the run: *died.  *out
 * as from mortise_rehearse(). */
int mortise_sandbox_rehearse(struct mortise_rehearsal *r, json_t **out,
                             bool *died, struct mortise_err *err);

#endif
