/* watchdog.h -- ends the process when a plugin holds up a thread that may not
 * wait.  For death.c alone. */
#ifndef MORTISE_PLUGIN_WATCHDOG_H
#define MORTISE_PLUGIN_WATCHDOG_H

/* It starts when somebody comes inside who may not wait; again in a child of
 * fork, where no thread is left.  The process keeps it. */
void mortise_watchdog_enable(void);

#endif
