/* host.c -- when other commands use the store through this process.
 *
 * One process holds a store, and executes the runs of other commands on it,
 * too.  Ctrl-C in that process means its own run only.  So before it releases
 * the store:
 *
 *   (1) It waits until no run is active.  Otherwise the end of one command
 *       would leave the effects in flight of another in doubt.  It prints a
 *       notice, unless it only waits for calls of runs that left memory after a
 *       failed write: these are cancelled, and nobody waits for them.
 *   (2) Another Ctrl-C, or a SIGTERM, ends the wait: the active runs are paused
 *       durably, and the store is released.  The other commands wait for that,
 *       open the store and continue (session.c).
 *   (3) A third one kills the process; effects in flight are then treated as
 *       after a crash. */
#include <signal.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "server/control.h"
#include "core/engine/recover.h"

bool mortise_cli_has_clients(const struct mortise_cli *cli)
{
    const struct mortise *m =
        cli->session != NULL ? mortise_session_engine(cli->session) : NULL;

    return m != NULL && mortise_control_has_clients(m);
}

static size_t count_active_runs(const struct mortise *m)
{
    struct mortise_table_entry *e;
    size_t n = 0;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e))
        n += !MORTISE_CONTAINER_OF(e, struct mortise_live, entry)->lost;
    return n;
}

static void print_stay_notice(struct mortise_cli *cli, const struct mortise *m)
{
    size_t n = count_active_runs(m);

    if (n == 0)
        return;
    mortise_cli_print_remark(
        cli, MORTISE_LOG_INFO, /* after our own result */
        "%zu other run%s active here: this process stays as the "
        "engine until %s (Ctrl-C stops this process)",
        n, n == 1 ? " is" : "s are",
        n == 1 ? "the run waits or ends" : "the runs wait or end");
}

/* Run the loop until no run is active, or a signal arrives. */
static void wait_for_other_runs(struct mortise_cli *cli, struct mortise *m)
{
    struct mortise_err err;

    print_stay_notice(cli, m);
    if (mortise_stop_install(&err) != MORTISE_OK)
        return;
    mortise_stop_reset();
    if (mortise_session_set_until(cli->session, mortise_stop_fd(), &err) !=
        MORTISE_OK)
        return;
    while (!mortise_engine_is_idle(m) &&
           !mortise_session_is_interrupted(cli->session))
        if (mortise_poll(m, -1, &err) < 0)
            return; /* the disk failed, so no run is active */
}

static void release_store(struct mortise_cli *cli, struct mortise *m)
{
    mortise_cli_print_remark(cli, MORTISE_LOG_INFO,
                             "pausing these runs and releasing the store");
    mortise_control_close(m);
    mortise_pause_all(m);
}

void mortise_cli_release_store(struct mortise_cli *cli)
{
    struct mortise *m =
        cli->session != NULL ? mortise_session_engine(cli->session) : NULL;
    bool hasty = cli->hasty || mortise_stop_get_signal() == SIGTERM;

    if (m != NULL) /* drops a run whose command was refused */
        mortise_live_drop_idle(m);
    if (m != NULL && m->holding == MORTISE_MODE_TEMPORARY &&
        !mortise_engine_is_idle(m)) {
        if (!hasty)
            wait_for_other_runs(cli, m);
        if (!mortise_engine_is_idle(m))
            release_store(cli, m);
    }
    mortise_session_close(cli->session);
    cli->session = NULL;
}
