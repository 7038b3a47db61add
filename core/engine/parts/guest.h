/* guest.h -- manners on a thread that is somebody else's. */
#ifndef MORTISE_ENGINE_PARTS_GUEST_H
#define MORTISE_ENGINE_PARTS_GUEST_H

#include <locale.h>
#include <signal.h>
#include <stdbool.h>

struct mortise_guest { /* zeroed: nobody is visiting */
    unsigned visits;   /* nested */
    locale_t locale;   /* the host's, while we are here */
    bool blocked;      /* SIGPIPE, by us */
    bool waits;        /* one of the host's own, which it blocks */
    sigset_t mask;     /* while we are here */
};

/* Come in, with our locale, and leave; pairs nest. */
void mortise_guest_enter(struct mortise_guest *g, locale_t ours);
void mortise_guest_leave(struct mortise_guest *g);

/* Within a visit: put back what plugins made of the mask.  A system call if
 * there were any. */
void mortise_guest_settle(struct mortise_guest *g);

/* Around a callback of the host: its own locale and signals.  Nothing when
 * nobody is visiting. */
void mortise_guest_pause(struct mortise_guest *g);
void mortise_guest_resume(struct mortise_guest *g, locale_t ours);

#endif
