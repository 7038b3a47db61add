/* thread_state.c -- locale and signals of a thread that is somebody else's.
 *
 * The engine works on the embedder's thread, and leaves it as it found it:
 *
 *   (1) While we work, numbers have points: the C locale, for this thread.
 *   (2) A write of ours to a peer that went away is an error code, never a
 *       signal.  Our own sockets say MSG_NOSIGNAL; TLS and plugins may not, so
 *       SIGPIPE is blocked for this thread meanwhile, and one that came is
 *       taken before it is let through again.  Where the host has it blocked,
 *       one that waited for it before we came goes on waiting.
 *   (3) What a plugin made of the signal mask of this thread ends with the
 *       turn, and before a callback of the embedder's.
 *   (4) The embedder's callbacks run with the embedder's locale and signals.
 *
 * Only the outermost visit changes anything.
 */
#include "core/engine/parts/thread_state.h"

#include <assert.h>
#include <time.h>

#include "core/plugin/inside.h"

static void only_sigpipe(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
}

static bool is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
}

static void block(struct mortise_thread_state *g)
{
    sigset_t pipe, before;

    only_sigpipe(&pipe);
    g->blocked = pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 &&
                 !sigismember(&before, SIGPIPE);
    g->waits = !g->blocked && is_pending();
    g->mask = before;
    sigaddset(&g->mask, SIGPIPE);
}

void mortise_thread_state_settle(struct mortise_thread_state *g)
{
    if (mortise_inside_stirred())
        pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}

static void unblock(struct mortise_thread_state *g)
{
    const struct timespec now = {0, 0};
    sigset_t pipe;

    mortise_thread_state_settle(g);
    only_sigpipe(&pipe);
    if (!g->waits)
        sigtimedwait(&pipe, NULL, &now);
    if (g->blocked)
        pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
    g->blocked = false;
}

void mortise_thread_state_enter(struct mortise_thread_state *g, locale_t ours)
{
    if (g->visits++ > 0)
        return;
    g->locale = uselocale(ours);
    block(g);
}

void mortise_thread_state_leave(struct mortise_thread_state *g)
{
    assert(g->visits > 0); /* pairs */
    if (--g->visits > 0)
        return;
    unblock(g);
    uselocale(g->locale);
}

void mortise_thread_state_pause(struct mortise_thread_state *g)
{
    if (g->visits == 0)
        return;
    unblock(g);
    uselocale(g->locale);
}

void mortise_thread_state_resume(struct mortise_thread_state *g, locale_t ours)
{
    if (g->visits == 0)
        return;
    g->locale = uselocale(ours);
    block(g);
}
