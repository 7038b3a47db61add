/* thread_state.c -- locale and signal mask of the embedder's thread.
 *
 * The engine works on the embedder's thread and leaves it as it found it:
 *
 *   (1) During a visit the thread has the C locale, so decimal points are dots.
 *   (2) A write of ours to a closed peer is an error code, never a signal.  Our
 *       own sockets use MSG_NOSIGNAL; TLS and plugins may not.  So SIGPIPE is
 *       blocked for this thread during a visit, and a pending one is consumed
 *       before it is unblocked.  If the host blocks SIGPIPE and one was pending
 *       before the visit, it stays pending.
 *   (3) Changes that a plugin makes to this thread's signal mask are undone at
 *       the end of the turn, and before a callback of the embedder.
 *   (4) The embedder's callbacks run with the embedder's locale and signals.
 *
 * Only the outermost visit changes anything.
 */
#include "core/engine/parts/thread_state.h"

#include <assert.h>
#include <time.h>

#include "core/plugin/inside.h"

static void set_only_sigpipe(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
}

static bool is_sigpipe_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
}

static void block_sigpipe(struct mortise_thread_state *g)
{
    sigset_t pipe, before;

    set_only_sigpipe(&pipe);
    g->blocked = pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 &&
                 !sigismember(&before, SIGPIPE);
    g->waits = !g->blocked && is_sigpipe_pending();
    g->mask = before;
    sigaddset(&g->mask, SIGPIPE);
}

void mortise_thread_state_settle(struct mortise_thread_state *g)
{
    if (mortise_visit_take_mask_change())
        pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}

static void unblock_sigpipe(struct mortise_thread_state *g)
{
    const struct timespec now = {0, 0};
    sigset_t pipe;

    mortise_thread_state_settle(g);
    set_only_sigpipe(&pipe);
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
    block_sigpipe(g);
}

void mortise_thread_state_leave(struct mortise_thread_state *g)
{
    assert(g->visits > 0); /* calls are paired */
    if (--g->visits > 0)
        return;
    unblock_sigpipe(g);
    uselocale(g->locale);
}

void mortise_thread_state_pause(struct mortise_thread_state *g)
{
    if (g->visits == 0)
        return;
    unblock_sigpipe(g);
    uselocale(g->locale);
}

void mortise_thread_state_resume(struct mortise_thread_state *g, locale_t ours)
{
    if (g->visits == 0)
        return;
    g->locale = uselocale(ours);
    block_sigpipe(g);
}
