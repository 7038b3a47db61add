/* thread.h -- threads that receive no signals. */
#ifndef MORTISE_BASE_THREAD_H
#define MORTISE_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Start a thread that receives no signals: an embedder's handlers run on the
 * embedder's threads only.  Returns 0 or an errno. */
int mortise_thread_start(pthread_t *out, void *(*run)(void *ud), void *ud);
/* Set the name that ps and gdb show for the calling thread: at most 15 bytes.
 * It is not possible for another thread, because the C library would then write
 * to /proc, which makes a process that leaves the thread behind exit 1 to 2 ms
 * later. */
void mortise_thread_set_name(const char *name);

/* Initialise a condition whose timeouts are times of CLOCK_MONOTONIC. */
void mortise_cond_init(pthread_cond_t *cond);

/* Block signals around a call of a library that creates threads, so that those
 * receive none, either.  Signals to the calling thread stay pending. */
void mortise_signals_block(sigset_t *before);
void mortise_signals_restore(const sigset_t *before);

#endif
