/* events.c -- `mortise events`: print the events of a run. */
#include "core/base/err.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"

/* Nonzero if stdout is closed: stop following. */
static int print_event_item(void *ud, json_t *item)
{
    return mortise_progress_print_event(ud, item);
}

/* A signal ends only the following: runs of other processes that are executed
 * here continue (host.c). */
static int stop_on_signal(struct mortise_cli *cli, struct mortise_err *err)
{
    int rv = mortise_stop_install(err);

    return rv == MORTISE_OK
               ? mortise_session_set_until(cli->session, mortise_stop_fd(), err)
               : rv;
}

static int events(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct mortise_progress progress;
    char run[MORTISE_RUN_MAX];
    uint64_t after = 0;
    int rv = MORTISE_OK;

    if (a->after != NULL)
        rv = mortise_cli_parse_number("--after", a->after, &after, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_find_run_to_read(cli, a->operands[0], run, err);
    if (rv == MORTISE_OK && a->follow)
        rv = stop_on_signal(cli, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_progress_init(&progress, &cli->out, a->json);
    progress.live = false; /* print events, not the nodes in progress */
    return mortise_cli_call(cli, "follow",
                            json_pack("{s:s, s:I, s:s}", "run", run, "after",
                                      (json_int_t)after, "until",
                                      a->follow ? "end" : "now"),
                            print_event_item, &progress, NULL, err);
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("after", "SEQ", after,
                     "Only events with a greater sequence number"),
    MORTISE_OPT_FLAG("follow", follow,
                     "Print new events, too, until the run has ended"),
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_events = {
    .name = "events",
    .operands = "RUN",
    .looks = true,
    .summary = "Print the events of a run",
    .text =
        "Each line has the time, the type, the node and the details of an\n"
        "event.  Events with a sequence number (\"seq\", see --json) are on\n"
        "disk.  Transient events have no number; only --follow prints\n"
        "them.\n"
        "\n" MORTISE_CLI_RUN_BEGINS,
    .opts = opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise events 0197c2 --follow",
    .run = events,
};
