/* recover.h -- what an engine goes on with when it comes, and how it leaves. */
#ifndef MORTISE_ENGINE_RECOVER_H
#define MORTISE_ENGINE_RECOVER_H

#include "core/engine/common/engine.h"

/* Go on with every run, of all tenants, that a crash interrupted or that was
 * paused as an engine stopped.  Turns the loop while many are at work; `stop`
 * says when to leave the rest alone. */
int mortise_recover_all(struct mortise *m, bool (*stop)(void *ud), void *ud,
                        struct mortise_err *err);
/* Go on with this one, if it is such a run and not in memory; of the order,
 * `done` is set. */
void mortise_recover_one(struct mortise *m, const char *tenant, const char *run,
                         struct mortise_order *o);
/* Is nothing at work, so that leaving interrupts nothing? */
bool mortise_rests(const struct mortise *m);
/* Pause all that is at work, until an engine comes; turns the loop until it
 * rests.  Nothing else begins from here on: whoever asks for it is told that
 * the engine closes, and asks the next one. */
void mortise_pause_all(struct mortise *m);

#endif
