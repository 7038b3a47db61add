/* thread_state.h -- locale and signal mask of the embedder's thread. */
#ifndef MORTISE_ENGINE_PARTS_THREAD_STATE_H
#define MORTISE_ENGINE_PARTS_THREAD_STATE_H

#include <locale.h>
#include <signal.h>
#include <stdbool.h>

struct mortise_thread_state { /* zeroed: the engine is not on the thread */
    unsigned visits;          /* nested */
    locale_t locale;          /* the host's, during a visit */
    bool blocked;             /* we blocked SIGPIPE */
    bool waits;               /* a SIGPIPE of the host, which blocks it, was
                                 pending */
    sigset_t mask;            /* during a visit */
};

/* Enter sets our locale and blocks SIGPIPE; leave restores the host's.  Pairs
 * nest. */
void mortise_thread_state_enter(struct mortise_thread_state *g, locale_t ours);
void mortise_thread_state_leave(struct mortise_thread_state *g);

/* Within a visit: undo what plugins changed in the signal mask.  One system
 * call if any plugin may have changed it, else none. */
void mortise_thread_state_settle(struct mortise_thread_state *g);

/* Around a callback of the host: restore its locale and signals, then set ours
 * again.  Does nothing outside a visit. */
void mortise_thread_state_pause(struct mortise_thread_state *g);
void mortise_thread_state_resume(struct mortise_thread_state *g, locale_t ours);

#endif
