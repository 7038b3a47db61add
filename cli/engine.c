/* engine.c -- `mortise engine`: hold a store and execute its runs.
 *
 * The engine stays in the foreground and logs one line per event to stderr, as
 * service managers expect.  Other commands reach it through the store's
 * socket.  It resumes runs that a crash interrupted or that an earlier engine
 * paused when it stopped, and it applies deadlines.  SIGTERM pauses all runs
 * durably and ends it.
 */
#include "core/base/clock.h"
#include "core/base/err.h"
#include "cli/cli.h"
#include "cli/service_unit.h"
#include "cli/stop.h"
#include "core/engine/recover.h"

static bool is_stop_requested(void *ud)
{
    (void)ud;
    return mortise_stop_has_signal();
}

static int fail_engine_exists(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *other = NULL;
    int rv =
        mortise_cli_call(cli, "engine", json_object(), NULL, NULL, &other, err);

    if (rv == MORTISE_OK)
        rv = mortise_fail(
            err, MORTISE_EBUSY, "process %llu already uses the store %s",
            (unsigned long long)mortise_cli_get_integer(other, "pid"),
            mortise_cli_get_text(other, "store"));
    json_decref(other);
    return rv;
}

/* Open the store.  A command that holds it for its own run releases it
 * eventually, so wait for that; another engine does not, so fail. */
static int open_or_wait_for_store(struct mortise_cli *cli,
                                  struct mortise_err *err)
{
    bool told = false;
    int rv = mortise_cli_open(cli, NULL, err);

    while (rv == MORTISE_OK && mortise_session_engine(cli->session) == NULL &&
           !is_stop_requested(NULL)) {
        if (mortise_session_is_persistent(cli->session))
            return fail_engine_exists(cli, err);
        if (!told)
            mortise_cli_log(cli, MORTISE_LOG_INFO,
                            "a command uses the store; waiting until it ends");
        told = true;
        rv = mortise_session_set_until(cli->session, mortise_stop_fd(), err);
        mortise_session_await_end(cli->session);
        if (rv == MORTISE_OK && !is_stop_requested(NULL))
            rv = mortise_cli_reopen(cli, err);
    }
    return rv;
}

/* Milliseconds until a plugin's quarantine ends; -1: none.  At most one
 * minute, because the clock may be set. */
static int get_quarantine_wait_ms(uint64_t until_ms)
{
    uint64_t now = mortise_now_ms();

    if (until_ms == 0)
        return -1;
    return until_ms <= now          ? 0
           : until_ms - now < 60000 ? (int)(until_ms - now)
                                    : 60000;
}

/* Serve until a signal comes.  A failed write was reported to its caller; then
 * the store is open again, or this fails.  When a temporary quarantine ends,
 * resume the runs that need its plugin. */
static int serve_until_signal(struct mortise_cli *cli, struct mortise *m,
                              struct mortise_err *err)
{
    uint64_t until_ms = mortise_plugins_quarantine_end(m->plugins);

    while (!mortise_session_is_interrupted(cli->session)) {
        int rv = mortise_poll(m, get_quarantine_wait_ms(until_ms), err);
        bool failed = rv < 0;

        if (failed && mortise_engine_check_ready(m, NULL) != MORTISE_OK)
            return rv;
        if (failed)
            mortise_log(m, MORTISE_LOG_ERROR, "%s", err->msg);
        if (!failed && get_quarantine_wait_ms(until_ms) != 0)
            continue;
        rv = mortise_recover_all(m, is_stop_requested, NULL, err);
        if (rv != MORTISE_OK)
            return rv;
        until_ms = mortise_plugins_quarantine_end(m->plugins);
    }
    return MORTISE_OK;
}

static int execute_runs(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise *m = mortise_session_engine(cli->session);
    int rv = mortise_session_set_until(cli->session, mortise_stop_fd(), err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_log(m, MORTISE_LOG_INFO, "holding the store %s", m->settings.store);
    rv = mortise_recover_all(m, is_stop_requested, NULL, err);
    if (rv == MORTISE_OK)
        rv = serve_until_signal(cli, m, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_log(m, MORTISE_LOG_INFO, "stopping");
    mortise_pause_all(m);
    return MORTISE_OK;
}

static int engine(struct mortise_cli *cli, struct mortise_err *err)
{
    int rv;

    if (cli->args.install_user_service)
        return mortise_service_unit_install(cli, err);
    rv = mortise_stop_install(err);
    cli->args.verbose = true;
    cli->dated = true;
    if (rv == MORTISE_OK)
        rv = open_or_wait_for_store(cli, err);
    if (rv == MORTISE_OK && mortise_session_engine(cli->session) != NULL)
        rv = execute_runs(cli, err);
    return rv;
}

static const struct mortise_opt engine_opts[] = {
    MORTISE_OPT_FLAG("install-user-service", install_user_service,
                     "Write a systemd unit that keeps this engine running\n"
                     "for this user, print how to start it, and exit"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_DOWNGRADE,
    MORTISE_OPT_STORE,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_engine = {
    .name = "engine",
    .operands = "",
    .summary = "Run the engine of a store in the foreground",
    .text = "The engine continues every run that a crash interrupted or that\n"
            "was paused when an engine stopped.  Runs that a person paused\n"
            "stay paused.  Other commands send runs and decisions to the\n"
            "engine through the store's socket.  The engine also applies\n"
            "deadlines.  If a plugin crashed the process in a run, the engine\n"
            "continues this run after all others.  The third crash in one\n"
            "execution blocks the run.\n"
            "\n"
            "The engine stays in the foreground.  It prints one line for each\n"
            "event to stderr, with the time (UTC).  On SIGINT or SIGTERM, it\n"
            "cancels calls that only read, waits at most 10 seconds for\n"
            "effects, and pauses all runs durably.  The exit code is then 0.\n"
            "A second signal kills the engine, and even then no recorded step\n"
            "is lost.\n"
            "\n"
            "A deadline (`wait` of a human node, for example) takes effect\n"
            "only while an engine runs.  If a deadline passes without an\n"
            "engine, it takes effect when the next engine starts.\n"
            "\n"
            "A store can have only one engine: a second engine on the store\n"
            "fails with E_STORE_BUSY.  To process more work at the same time,\n"
            "raise `limits.concurrency` and `max_parallel`, or use several\n"
            "stores, each with its own engine.\n"
            "\n"
            "--install-user-service writes a systemd unit for the deployment\n"
            "and store of the command.  It replaces a unit that an earlier\n"
            "call wrote for this deployment and store.\n",
    .opts = engine_opts,
    .exits = MORTISE_EXITS_STORE,
    .session = MORTISE_SESSION_PERSISTENT,
    .example = "mortise engine --deployment /etc/mortise/mortise.yaml\n"
               "mortise engine --install-user-service",
    .run = engine,
};
