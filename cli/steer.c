/* steer.c -- `mortise steer`: changes the task graph of a run. */
#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* Read {source, path}, for a command or a request. */
static int read_graph_diff(struct mortise_cli *cli, json_t **out,
                           struct mortise_err *err)
{
    const char *path = cli->args.operands[1];
    json_t *source;
    int rv = mortise_cli_read_source(cli, path, &source, err);

    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:o, s:s}", "source", source, "path",
                     path[0] == '-' && path[1] == '\0' ? "stdin" : path);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Print the graph that would result, and a picture of it. */
static int print_changed_graph(struct mortise_cli *cli, const char *run,
                               const json_t *graph, struct mortise_err *err)
{
    const json_t *sources = json_object_get(graph, "sources");
    json_t *show;
    int rv;

    if (cli->args.json)
        return mortise_cli_print_json(
            cli, json_incref(mortise_json_unconst(graph)), true, err);
    rv = mortise_cli_get_show(cli, run, &show, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_out_put_text(
        &cli->out, mortise_cli_get_text(json_array_get(sources, 0), "text"), 0);
    mortise_out_puts(&cli->out, "\n");
    rv = mortise_cli_print_drawing(cli, sources, show, err);
    json_decref(show);
    return rv;
}

/* Print the findings like those of a graph. */
static int print_diff_findings(struct mortise_cli *cli, const json_t *answer,
                               struct mortise_err *err)
{
    if (cli->args.json)
        mortise_cli_keep_findings(cli, json_object_get(answer, "findings"));
    else
        mortise_out_put_text(&cli->err, mortise_cli_get_text(answer, "report"),
                             0);
    return mortise_fail(err, MORTISE_ECHECK,
                        "the diff has errors; it would not be applied");
}

static int try_graph_diff(struct mortise_cli *cli, json_t *diff,
                          struct mortise_err *err)
{
    char run[MORTISE_RUN_MAX];
    json_t *answer = NULL;
    int rv = mortise_cli_find_run_to_read(cli, cli->args.operands[0], run, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(cli, "graph",
                              json_pack("{s:s, s:O}", "run", run, "diff", diff),
                              NULL, NULL, &answer, err);
    json_decref(diff);
    if (rv != MORTISE_OK)
        return rv;
    rv = json_object_get(answer, "findings") != NULL
             ? print_diff_findings(cli, answer, err)
             : print_changed_graph(cli, run, answer, err);
    json_decref(answer);
    return rv;
}

static int steer(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *diff;
    int rv = read_graph_diff(cli, &diff, err);

    if (rv != MORTISE_OK)
        return rv;
    if (cli->args.dry_run)
        return try_graph_diff(cli, diff, err);
    return mortise_cli_send_to_operand(
        cli, json_pack("[{s:s, s:o}]", "kind", "steer", "value", diff), false,
        err);
}

static const struct mortise_opt steer_opts[] = {
    MORTISE_OPT_FLAG("dry-run", dry_run,
                     "Show the new graph, and change nothing"),
    MORTISE_OPT_FLAG("no-continue", no_continue,
                     "Record the change, but run "
                     "nothing"),
    MORTISE_OPT_FLAG("accept-plugins", accept_plugins,
                     "Continue with the present plugins and tools, even\n"
                     "if they have changed"),
    MORTISE_OPT_JSON("One event a line, then the status of the run; with\n"
                     "--dry-run the graph as one JSON object"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_steer = {
    .name = "steer",
    .operands = "RUN DIFF",
    .summary = "Change the task graph of a run in progress",
    .text =
        "DIFF is a file, or - for stdin.  It contains a list of\n"
        "operations.  Mortise applies all of them in the order of the\n"
        "list, or none of them.\n"
        "\n"
        "  - add: {id: check, node: {goal: check it, depends_on: write}}\n"
        "  - remove: draft\n"
        "  - split: {id: write, into: {head: {goal: ...}, body: {goal: ...}}}\n"
        "  - reroute: {id: print, depends_on: [head, body]}\n"
        "  - set_role: {id: check, role: critic}\n"
        "  - set_tools: {id: check, tool_allowlist: [text/lines]}\n"
        "  - wrap: {ids: [head, body], team: {id: authors, goal: write it}}\n"
        "\n"
        "To name a node in a team, write TEAM/NODE.  Nodes that have begun\n"
        "continue unchanged.  A node that now depends on a completed node\n"
        "gets the output of that completed node.  Mortise checks the new\n"
        "graph as 'mortise check' does.  If the check finds errors, the\n"
        "command prints them with their places in DIFF, and nothing\n"
        "changes.  The run uses the new graph from its next checkpoint.\n"
        "The file from which the run was started does not change.\n"
        "\n"
        "RUN is the whole id of a run.\n",
    .opts = steer_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise steer night changes.yaml --dry-run",
    .run = steer,
};
