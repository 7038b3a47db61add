/* sandbox.h -- rehearsals in processes and directories of their own. */
#ifndef MORTISE_TESTKIT_SANDBOX_H
#define MORTISE_TESTKIT_SANDBOX_H

#include <limits.h>

#include "testkit/rehearse.h"

/* Rehearse once from the start, in a fresh directory that is gone afterwards.
 * When it is to die and does, a second process goes on: *died.  *out as
 * mortise_rehearse() gives it. */
int mortise_sandbox(struct mortise_rehearsal *r, json_t **out, bool *died,
                    struct mortise_err *err);

#endif
