/* death.h -- a plugin takes the process down: noted, said, and never taken for
 * success.
 *
 * Where somebody catches signals and exits for it (the command line does, the
 * library does not), fatal signals, exit() and calls that never return are told
 * from what comes from outside: a kill, a power cut and the system running out
 * of memory leave no note. */
#ifndef MORTISE_PLUGIN_DEATH_H
#define MORTISE_PLUGIN_DEATH_H

#include "core/base/err.h"
#include "core/plugin/inside.h"

/* How, as a note has it; quarantine.c reads them. */
#define MORTISE_DEATH_EXIT   "exit"   /* exit(), _exit() */
#define MORTISE_DEATH_THREAD "thread" /* it ended the thread that it was lent */
#define MORTISE_DEATH_HANG   "hang"

/* From now on deaths of this process are noted, and a thread watches those that
 * may not wait.  Again in a child of fork that opens an engine of its own. */
void mortise_death_own(void);

/* A fatal signal came, from the kernel or from this process itself, with that
 * name and ucontext_t.  Signal-safe. */
void mortise_death_by_signal(const char *name, const void *context);

/* Threads of this plugin's own are known by its code from now on; until it is
 * forgotten, the culprit stays where it is.  Any address in its object. */
void mortise_death_know(struct mortise_culprit *c, const void *in_its_object);
void mortise_death_forget(struct mortise_culprit *c);

/* The process is about to exit: was it a plugin who said so?  Then it is noted.
 * Signal-safe. */
bool mortise_death_by_exit(void);

/* ---- for inside.c and watchdog.c ----------------------------------------- */

void mortise_death_of_thread(void); /* this one; does not return */
void mortise_death_of_child(void);  /* words alone */
_Noreturn void mortise_death_by_hanging(const struct mortise_inside_entry *e);

#endif
