/* watchdog.h -- end the process if a plugin blocks a thread that must not
 * block.  For death.c alone. */
#ifndef MORTISE_PLUGIN_WATCHDOG_H
#define MORTISE_PLUGIN_WATCHDOG_H

/* Enable the watchdog.  Its thread starts at the first visit with a time limit
 * and lives as long as the process.  Enable it again in a child of fork(),
 * which has no such thread. */
void mortise_watchdog_enable(void);

#endif
