/* thread.h -- threads that leave the program's signals alone. */
#ifndef MORTISE_BASE_THREAD_H
#define MORTISE_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Start a thread that takes no signals: a handler of the embedder's runs on
 * threads of the embedder's.  Returns 0 or an errno. */
int mortise_thread_start(pthread_t *out, void *(*run)(void *ud), void *ud);
/* What ps and gdb call the calling thread: at most 15 bytes.  For another one
 * the C library would go through /proc, and a process that leaves such a thread
 * behind then takes one or two milliseconds longer to end. */
void mortise_thread_name(const char *name);

/* A condition whose timeouts are times of CLOCK_MONOTONIC. */
void mortise_cond_init(pthread_cond_t *cond);

/* Around a call that makes threads which are not ours: they take no signals,
 * either.  Those of the calling thread are not lost; they wait. */
void mortise_signals_block(sigset_t *before);
void mortise_signals_restore(const sigset_t *before);

#endif
