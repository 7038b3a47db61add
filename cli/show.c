/* show.c -- `mortise show` and `mortise history`: prints the state of a run,
 * and its checkpoints. */
#include <string.h>

#include "core/base/err.h"
#include "cli/executions.h"
#include "cli/transcript.h"
#include "core/json/value.h"

/* ---- show ------------------------------------------------------------------
 */

enum { FIELD_COLUMNS = 9 }; /* columns of a field's name */

static void print_run_field(struct mortise_out *o, const char *name,
                            const char *value)
{
    if (value[0] == '\0')
        return;
    mortise_out_put_styled(o, MORTISE_DIM, name, FIELD_COLUMNS);
    mortise_out_print_escaped(o, "%s\n", value);
}

static void print_run_head(struct mortise_out *o, const json_t *run)
{
    const json_t *graph = json_object_get(run, "graph");
    const char *reason = mortise_cli_get_text(run, "reason");
    const char *version = mortise_cli_get_text(graph, "version");
    char blocked[MORTISE_CLI_BLOCKED];

    print_run_field(o, "run", mortise_cli_get_text(run, "run"));
    mortise_out_put_styled(o, MORTISE_DIM, "graph", FIELD_COLUMNS);
    mortise_out_print_escaped(o, "%s%s%s\n",
                              mortise_cli_get_text(graph, "name"),
                              version[0] != '\0' ? " " : "", version);
    print_run_field(o, "status", mortise_cli_get_status(run));
    print_run_field(o, "reason", reason);
    mortise_cli_format_block(json_object_get(run, "blocked"), blocked);
    print_run_field(o, "blocked", blocked);
    MORTISE_JSON_EACH (plugin, i, json_object_get(run, "unsigned"))
        print_run_field(o, "unsigned", json_string_value(plugin));
    print_run_field(o, "created", mortise_cli_get_text(run, "created"));
    print_run_field(o, "updated", mortise_cli_get_text(run, "updated"));
}

static void print_state_part(struct mortise_out *o, const json_t *state,
                             const char *part)
{
    const json_t *v = json_object_get(state, part);

    if (v == NULL || (json_is_object(v) && json_object_size(v) == 0))
        return;
    mortise_out_printf(o, "\n%s ", part);
    mortise_out_put_json(o, v, true);
}

/* Print the messages to the run that no model has received yet. */
static void print_unread_messages(struct mortise_out *o, const json_t *told)
{
    if (json_array_size(told) > 0)
        mortise_out_puts(o, "\nmessages that no model has received yet\n");
    MORTISE_JSON_EACH (one, i, told) {
        const char *node = mortise_cli_get_text(one, "node");

        mortise_out_puts(o, "  ");
        if (node[0] != '\0')
            mortise_out_print_escaped(o, "(%s) ", node);
        mortise_out_put_escaped(o, mortise_cli_get_text(one, "text"));
        mortise_out_puts(o, "\n");
    }
}

static void print_children(struct mortise_out *o, const json_t *children)
{
    if (json_array_size(children) > 0)
        mortise_out_puts(o, "\nchildren\n");
    MORTISE_JSON_EACH (one, i, children) {
        const char *status = mortise_cli_get_text(one, "status");
        const char *progress = mortise_cli_get_text(one, "progress");

        mortise_out_puts(o, "  ");
        mortise_out_put_cell(
            o, status[0] != '\0' ? status : mortise_cli_get_text(one, "state"),
            14);
        mortise_out_print_escaped(o, "  %s  %s",
                                  mortise_cli_get_text(one, "child"),
                                  mortise_cli_get_text(one, "name"));
        if (progress[0] != '\0')
            mortise_out_print_escaped(o, ": %s", progress);
        mortise_out_puts(o, "\n");
    }
}

static int print_shown_run(struct mortise_cli *cli, const json_t *run,
                           struct mortise_err *err)
{
    struct mortise_out *o = &cli->out;
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(cli, o, mortise_cli_get_text(run, "run"),
                                     json_object_get(run, "blocked"));
    const json_t *error = json_object_get(run, "error");
    int rv;

    print_run_head(o, run);
    if (json_is_object(error)) {
        mortise_out_put_styled(o, MORTISE_BAD, "error", FIELD_COLUMNS);
        mortise_cli_print_error(o, error);
        mortise_out_puts(o, "\n");
    }
    rv = mortise_cli_print_nodes(cli, json_object_get(run, "nodes"), err);
    if (rv != MORTISE_OK)
        return rv;
    print_state_part(o, json_object_get(run, "state"), "input");
    print_state_part(o, json_object_get(run, "state"), "scratch");
    print_state_part(o, json_object_get(run, "state"), "artifacts");
    print_unread_messages(o, json_object_get(run, "told"));
    print_children(o, json_object_get(run, "children"));
    if (json_array_size(json_object_get(run, "pending")) > 0)
        mortise_out_puts(o, "\n");
    MORTISE_JSON_EACH (one, i, json_object_get(run, "pending"))
        mortise_cli_print_request(&way, one);
    if (!way.stuck)
        mortise_cli_print_corrections(&way, run);
    mortise_cli_print_run_engine_hint(cli, run);
    return MORTISE_OK;
}

/* Send a request about the run of the command line. */
static int request_about_run(struct mortise_cli *cli, const char *what,
                             json_t **reply, struct mortise_err *err)
{
    char run[MORTISE_RUN_MAX];
    int rv = mortise_cli_find_run_to_read(cli, cli->args.operands[0], run, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(cli, what, json_pack("{s:s}", "run", run), NULL,
                              NULL, reply, err);
    return rv == MORTISE_OK ? mortise_cli_mark_incomplete(cli, *reply, err)
                            : rv;
}

static int show_transcript(struct mortise_cli *cli, struct mortise_err *err)
{
    char run[MORTISE_RUN_MAX];
    int rv = mortise_cli_find_run_to_read(cli, cli->args.operands[0], run, err);

    return rv == MORTISE_OK ? mortise_cli_print_transcript(cli, run, err) : rv;
}

static int show_run(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *reply = NULL;
    int rv;

    if (cli->args.transcript)
        return show_transcript(cli, err);
    rv = request_about_run(cli, "show", &reply, err);
    if (rv == MORTISE_OK && cli->args.node != NULL)
        rv = mortise_cli_print_node(cli, reply, cli->args.node, err);
    else if (rv == MORTISE_OK && cli->args.json)
        mortise_out_put_json(&cli->out, reply, true);
    else if (rv == MORTISE_OK)
        rv = print_shown_run(cli, reply, err);
    json_decref(reply);
    return rv;
}

static const struct mortise_opt show_opts[] = {
    MORTISE_OPT_FLAG("transcript", transcript,
                     "Print the messages to models and their replies\n"
                     "instead"),
    MORTISE_OPT_TEXT("node", "NODE", node,
                     "Only this node, with the details of each execution;\n"
                     "or only one execution: work#2 is the second visit\n"
                     "of work, read[3] is an element of a map"),
    MORTISE_OPT_JSON("Print one JSON object, with the output of each node"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_show = {
    .name = "show",
    .operands = "RUN",
    .looks = true,
    .summary = "Show the status of a run: nodes, state, pending requests",
    .text =
        "The line of a node has its status, the number of attempts (if\n"
        "more than one) and the duration.  Elements of a map with the same\n"
        "status share one line, with the longest duration and the first\n"
        "error.  With --node, each element has its own line.\n"
        "\n"
        "With --json, `state.artifacts` has the results of the run: the\n"
        "output of each node, by its id.  docs/json.md describes all\n"
        "members.\n"
        "\n" MORTISE_CLI_RUN_BEGINS,
    .opts = show_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise show 0197c2 --json\n"
               "mortise show 0197c2 --node 'read[3]'",
    .run = show_run,
};

/* ---- history ---------------------------------------------------------------
 */

/* Print an entry, like "settle write (approved by anna: it is hers)". */
static void print_checkpoint_entry(struct mortise_out *o, const json_t *entry)
{
    char name[MORTISE_CLI_EXECUTION];
    const char *node = mortise_cli_format_execution(entry, name);
    const char *how = mortise_cli_get_text(entry, "how");
    const char *actor = mortise_cli_get_text(entry, "actor");
    const char *reason = mortise_cli_get_text(entry, "reason");
    const json_t *error = json_object_get(entry, "error");

    mortise_out_print_escaped(o, "%s%s%s", mortise_cli_get_text(entry, "entry"),
                              node[0] != '\0' ? " " : "", node);
    if (how[0] != '\0' || actor[0] != '\0')
        mortise_out_print_escaped(o, " (%s%s%s%s%s%s)", how,
                                  how[0] != '\0' && actor[0] != '\0' ? " " : "",
                                  actor[0] != '\0' ? "by " : "", actor,
                                  reason[0] != '\0' ? ": " : "", reason);
    if (json_is_object(error)) {
        mortise_out_puts(o, " ");
        mortise_cli_print_error(o, error);
    }
}

static void print_checkpoint(struct mortise_out *o, const json_t *cp)
{
    const json_t *entries = json_object_get(cp, "entries");

    mortise_out_printf(o, "%5llu  ",
                       (unsigned long long)mortise_cli_get_integer(cp, "seq"));
    mortise_out_put_cell(o, mortise_cli_get_text(cp, "time"), 24);
    mortise_out_puts(o, "  ");
    mortise_out_put_cell(o, mortise_cli_get_text(cp, "phase"), 9);
    MORTISE_JSON_EACH (entry, i, entries) {
        mortise_out_puts(o, i > 0 ? ", " : "  ");
        print_checkpoint_entry(o, entry);
    }
    mortise_out_puts(o, "\n");
}

static int print_history(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *reply = NULL;
    int rv = request_about_run(cli, "history", &reply, err);

    if (rv != MORTISE_OK)
        return rv;
    MORTISE_JSON_EACH (cp, i, json_object_get(reply, "checkpoints")) {
        if (cli->args.json)
            mortise_out_put_json(&cli->out, cp, false);
        else
            print_checkpoint(&cli->out, cp);
    }
    json_decref(reply);
    return MORTISE_EXIT_OK;
}

static const struct mortise_opt history_opts[] = {
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_history = {
    .name = "history",
    .operands = "RUN",
    .looks = true,
    .summary = "List the checkpoints of a run: what was recorded, and when",
    .text = "Each line has the number, time, phase and entries of a\n"
            "checkpoint.  A checkpoint is on disk completely or not at all,\n"
            "and it never changes.\n"
            "\n" MORTISE_CLI_RUN_BEGINS,
    .opts = history_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise history 0197c2",
    .run = print_history,
};
