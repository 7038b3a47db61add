/* phase.h -- the reasons for which a checkpoint is written (docs/runtime.md,
 * section 3).  core/run/ chooses the phase, core/store/ stores it, and
 * `mortise history` shows it. */
#ifndef MORTISE_BASE_PHASE_H
#define MORTISE_BASE_PHASE_H

#include <stdbool.h>

#include "core/mortise.h"

enum mortise_phase {
    MORTISE_PHASE_ADMIT = 1,
    MORTISE_PHASE_BEFORE = 2, /* an intent: an effect is about to happen */
    MORTISE_PHASE_AFTER = 3,  /* something finished */
    MORTISE_PHASE_INTERRUPT = 4,
    MORTISE_PHASE_ERROR = 5,
    /* a command of a person: decision, update, goto ... */
    MORTISE_PHASE_COMMAND = 6,
    MORTISE_PHASE_END = 7
};

/* Has a run with this status ended?  A failed run has, until it is resumed.  An
 * unknown status, from a later version, has not. */
static inline bool mortise_status_has_ended(int status)
{
    return status >= MORTISE_RUN_COMPLETED && status <= MORTISE_RUN_CANCELLED;
}

#endif
