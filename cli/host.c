/* host.c -- when others count on the store that we hold.
 *
 * Of the commands on one store one holds it, and the others' runs are at work
 * in its process.  Such a host has a life of its own: its run ends, or somebody
 * presses Ctrl-C, which means that run and no other.  So before it lets go of
 * the store:
 *
 *   (1) It stays until nothing is at work any more: no effect in flight becomes
 *       a doubt because somebody else's command was done.  It says so, unless
 *       all that it waits for are the calls of runs that left memory because a
 *       write failed: they are cancelled, and nobody waits for them.
 *   (2) Another Ctrl-C, or a SIGTERM, does not wait for that: what is at work is
 *       paused, durably, and the store handed over.  Its clients wait for that,
 *       take the store and go on (session.c).
 *   (3) A third one kills; effects in flight are then what the rules say.
 */
#include <signal.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "server/control.h"
#include "core/engine/recover.h"

bool mortise_cli_hosts(const struct mortise_cli *cli)
{
    const struct mortise *m =
        cli->session != NULL ? mortise_session_engine(cli->session) : NULL;

    return m != NULL && mortise_control_is_used(m);
}

static size_t count_at_work(const struct mortise *m)
{
    struct mortise_hashed *e;
    size_t n = 0;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e))
        n += !MORTISE_OF(e, struct mortise_live, entry)->lost;
    return n;
}

static void say(struct mortise_cli *cli, const struct mortise *m)
{
    size_t n = count_at_work(m);

    if (n == 0)
        return;
    mortise_cli_note(cli, MORTISE_LOG_INFO, /* our own result comes first */
                     "%zu other run%s active here: this process stays as the "
                     "engine until %s (Ctrl-C stops this process)",
                     n, n == 1 ? " is" : "s are",
                     n == 1 ? "the run waits or ends" : "the runs wait or end");
}

/* Turn until nothing is at work, or a signal comes. */
static void stay(struct mortise_cli *cli, struct mortise *m)
{
    struct mortise_err err;

    say(cli, m);
    if (mortise_stop_begin(&err) != MORTISE_OK)
        return;
    mortise_stop_again();
    if (mortise_session_until(cli->session, mortise_stop_fd(), &err) !=
        MORTISE_OK)
        return;
    while (!mortise_rests(m) && !mortise_session_is_over(cli->session))
        if (mortise_poll(m, -1, &err) < 0)
            return; /* the disk failed: nothing is at work any more */
}

static void hand_over(struct mortise_cli *cli, struct mortise *m)
{
    mortise_cli_note(cli, MORTISE_LOG_INFO,
                     "pausing these runs and releasing the store");
    mortise_control_close(m);
    mortise_pause_all(m);
}

void mortise_cli_leave(struct mortise_cli *cli)
{
    struct mortise *m =
        cli->session != NULL ? mortise_session_engine(cli->session) : NULL;
    bool hasty = cli->hasty || mortise_stop_signal() == SIGTERM;

    if (m != NULL) /* a run whose command was refused is at work nowhere */
        mortise_live_settle(m);
    if (m != NULL && m->holding == MORTISE_HOLDING_PASSES &&
        !mortise_rests(m)) {
        if (!hasty)
            stay(cli, m);
        if (!mortise_rests(m))
            hand_over(cli, m);
    }
    mortise_session_close(cli->session);
    cli->session = NULL;
}
