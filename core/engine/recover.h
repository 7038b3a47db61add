/* recover.h -- continue interrupted runs when an engine starts, and pause runs
 * when it leaves. */
#ifndef MORTISE_ENGINE_RECOVER_H
#define MORTISE_ENGINE_RECOVER_H

#include "core/engine/common/engine.h"

/* Continue every run, of all tenants, that a crash interrupted or that was
 * paused when an engine stopped.  Turns the loop while many runs are in memory;
 * when `stop` returns true, the remaining runs are left alone. */
int mortise_recover_all(struct mortise *m, bool (*stop)(void *ud), void *ud,
                        struct mortise_err *err);
/* Continue this run if recovery applies to it and it is not in memory.  The
 * order has `done` set. */
void mortise_recover_one(struct mortise *m, const char *tenant, const char *run,
                         struct mortise_order *o);
/* Is the engine idle, so that leaving interrupts nothing? */
bool mortise_engine_is_idle(const struct mortise *m);
/* Pause all runs in memory until another engine continues them; turns the loop
 * until the engine is idle or a time limit has passed.  From now on nothing
 * starts: new requests fail because the engine closes, and callers repeat them
 * at the next one. */
void mortise_pause_all(struct mortise *m);

#endif
