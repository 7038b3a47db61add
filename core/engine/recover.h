/* recover.h -- an engine that stays: `mortise engine`. */
#ifndef MORTISE_ENGINE_RECOVER_H
#define MORTISE_ENGINE_RECOVER_H

#include "engine/engine.h"

/* Go on with every run, of all tenants, that a crash interrupted or that was
 * paused as an engine stopped.  Turns the loop while many are at work; `stop`
 * says when to leave the rest alone. */
int mortise_recover_all(struct mortise *m, bool (*stop)(void *ud), void *ud,
                        struct mortise_err *err);
/* Pause all that is at work, until an engine comes; turns the loop until it
 * rests. */
void mortise_pause_all(struct mortise *m);

#endif
