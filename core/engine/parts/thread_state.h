/* thread_state.h -- locale and signals of a thread that is somebody else's. */
#ifndef MORTISE_ENGINE_PARTS_THREAD_STATE_H
#define MORTISE_ENGINE_PARTS_THREAD_STATE_H

#include <locale.h>
#include <signal.h>
#include <stdbool.h>

struct mortise_thread_state { /* zeroed: nobody is visiting */
    unsigned visits;          /* nested */
    locale_t locale;          /* the host's, while we are here */
    bool blocked;             /* SIGPIPE, by us */
    bool waits;               /* one of the host's own, which it blocks */
    sigset_t mask;            /* while we are here */
};

/* Come in, with our locale, and leave; pairs nest. */
void mortise_thread_state_enter(struct mortise_thread_state *g, locale_t ours);
void mortise_thread_state_leave(struct mortise_thread_state *g);

/* Within a visit: put back what plugins made of the mask.  A system call if
 * there were any. */
void mortise_thread_state_settle(struct mortise_thread_state *g);

/* Around a callback of the host: its own locale and signals.  Nothing when
 * nobody is visiting. */
void mortise_thread_state_pause(struct mortise_thread_state *g);
void mortise_thread_state_resume(struct mortise_thread_state *g, locale_t ours);

#endif
