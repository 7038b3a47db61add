/* phase.h -- what a checkpoint was written for (runtime.md 3): run/ decides
 * it, store/ keeps it, people read it in `history`. */
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
    MORTISE_PHASE_COMMAND = 6, /* a person's decision, update, goto ... */
    MORTISE_PHASE_END = 7
};

/* Has a run of that status ended?  A failed one has, until it is resumed; one of
 * a status that is none, from a later program, has not. */
static inline bool mortise_status_has_ended(int status)
{
    return status >= MORTISE_RUN_COMPLETED && status <= MORTISE_RUN_CANCELLED;
}

#endif
