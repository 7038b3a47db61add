/* death.h -- detect and record that a plugin ended the process.
 *
 * This works only in a program that reports fatal signals and exits here: the
 * command line does, the library does not.  The note tells a fatal signal, an
 * exit() or a hang of a plugin from causes outside the process.  A kill, a
 * power cut and the out-of-memory killer leave no note. */
#ifndef MORTISE_PLUGIN_DEATH_H
#define MORTISE_PLUGIN_DEATH_H

#include "core/base/err.h"
#include "core/plugin/inside.h"

/* The cause, as a note spells it; quarantine.c parses these words. */
#define MORTISE_DEATH_EXIT   "exit"   /* exit(), _exit() */
#define MORTISE_DEATH_THREAD "thread" /* it ended a thread of the host */
#define MORTISE_DEATH_HANG   "hang"

/* Start to record deaths of this process, and start the watchdog.  Call it
 * again in a child of fork() that opens an engine. */
void mortise_death_start_recording(void);

/* Record a fatal signal that the kernel or this process raised.  `name` is the
 * signal's name, `context` its ucontext_t.  Async-signal-safe. */
void mortise_death_record_signal(const char *name, const void *context);

/* From now on, threads that run the plugin's code are attributed to it.
 * `in_its_object` is any address in its shared object.  The culprit must not
 * move until mortise_death_remove_culprit(). */
void mortise_death_add_culprit(struct mortise_culprit *c,
                               const void *in_its_object);
void mortise_death_remove_culprit(struct mortise_culprit *c);

/* Record the exit of the process if a plugin called exit().  True if it did.
 * Async-signal-safe. */
bool mortise_death_record_exit(void);

/* ---- for inside.c and watchdog.c ----------------------------------------- */

void mortise_death_record_thread(
    void);                             /* the calling thread; does not return */
void mortise_death_report_child(void); /* prints a message only */
_Noreturn void mortise_death_record_hang(const struct mortise_visit_record *e);

#endif
