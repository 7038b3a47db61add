/* run.c -- `mortise run` and `mortise resume`: start or continue a run, and
 * watch it.
 *
 * The id is printed as soon as the admission is on disk (R3).  From then on the
 * run can be resumed, even if this process is killed. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/id.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "core/json/value.h"

/* ---- run ---------------------------------------------------------------- */

/* Make the body of a `start` request. */
static int make_start_body(struct mortise_cli *cli, const char *graph,
                           json_t **out, struct mortise_err *err)
{
    json_t *input = NULL, *source;
    char cwd[PATH_MAX], made[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];
    int rv = mortise_cli_read_source(cli, graph, &source, err);

    if (rv != MORTISE_OK)
        return rv;
    if (cli->args.input != NULL)
        rv = mortise_cli_parse_value(cli, "--input", cli->args.input, &input,
                                     err);
    if (rv != MORTISE_OK) {
        json_decref(source);
        return rv;
    }
    /* With an id of our own, the request can be repeated if the process that
     * admits the run is killed. */
    mortise_uuid_format(made, mortise_uuid7_make_now());
    mortise_uuid_format(order, mortise_uuid7_make_now());
    *out = json_pack("{s:{s:s, s:o, s:s*}, s:s, s:o*, s:s, s:s}", "graph",
                     "path", graph, "source", source, "cwd",
                     getcwd(cwd, sizeof cwd) != NULL ? cwd : NULL, "run",
                     cli->args.id != NULL ? cli->args.id : made, "input", input,
                     "order", order, "until", cli->args.wait ? "end" : "idle");
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int start_new_run(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *graph = cli->args.operands[0];
    json_t *body = NULL;
    int rv = make_start_body(cli, graph, &body, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, graph, err);
    if (rv == MORTISE_OK) /* before, there is nothing to pause */
        rv = mortise_stop_install(err);
    if (rv != MORTISE_OK) {
        json_decref(body);
        return rv;
    }
    return mortise_cli_run_and_watch(cli, "start", body, "", 0);
}

static const struct mortise_opt run_opts[] = {
    MORTISE_OPT_TEXT("input", "JSON", input,
                     "The run's input: JSON, @FILE or - for stdin\n"
                     "(default: {})"),
    MORTISE_OPT_TEXT("id", "X", id,
                     "Id of the run: letters, digits, . _ - (- not at the\n"
                     "start; default: a new UUID)"),
    MORTISE_OPT_FLAG("wait", wait,
                     "Return only when the run has ended; meanwhile people\n"
                     "answer its requests from other terminals"),
    MORTISE_OPTS_OF_CONTINUING,
};

const struct mortise_cmd mortise_cmd_run = {
    .name = "run",
    .operands = "GRAPH",
    .summary = "Start a run of a graph and show what happens",
    .text =
        "The command returns when the run has ended or needs a person.  If\n"
        "the run needs a person, the command prints the reason and the\n"
        "commands that continue the run.  Every step is on disk before it\n"
        "is printed: after a crash or a power cut, 'mortise resume'\n"
        "continues the run.\n"
        "\n"
        "Ctrl-C (SIGINT) or SIGTERM pauses the run durably.  A second\n"
        "signal kills the process, and even then no recorded step is lost.\n"
        "But if runs of other commands are active in this process, the\n"
        "process prints a message after the first Ctrl-C, and continues\n"
        "these runs until they wait or have ended.  A second Ctrl-C hands\n"
        "these runs over to their commands, and a third one kills the\n"
        "process.  SIGTERM hands these runs over at once.\n"
        "\n"
        "Without --deployment, Mortise uses the first of these that is set\n"
        "or exists: MORTISE_DEPLOYMENT, mortise.yaml beside GRAPH,\n"
        "./mortise.yaml.  Otherwise it uses the bundled plugins and the\n"
        "store ./.mortise.  If another process works on the store, that\n"
        "process executes the run under its own deployment.  If your\n"
        "deployment file differs from this deployment, the command ends\n"
        "with exit code 78 and starts nothing.\n",
    .opts = run_opts,
    .exits = MORTISE_EXITS_RUN,
    .session = MORTISE_SESSION_SAME_DEPLOYMENT,
    .example = "mortise run configs/triage/triage.graph.yaml "
               "--input '{\"log\": \"/var/log/dpkg.log\"}'",
    .run = start_new_run,
};

/* ---- resume ------------------------------------------------------------- */

/* Append {kind: KIND, ...}; takes the command. */
static int add_run_command(json_t *list, json_t *command,
                           struct mortise_err *err)
{
    if (command == NULL || json_array_append_new(list, command) != 0)
        return mortise_nomem(err);
    return MORTISE_OK;
}

static int add_update_command(struct mortise_cli *cli, json_t *list,
                              struct mortise_err *err)
{
    json_t *value;
    int rv =
        mortise_cli_parse_value(cli, "--update", cli->args.update, &value, err);

    if (rv != MORTISE_OK)
        return rv;
    return add_run_command(list,
                           json_pack("{s:s, s:o, s:b}", "kind", "update",
                                     "value", value, "merge", cli->args.merge),
                           err);
}

/* Add "steps=N" to an object. */
static int add_limit_value(json_t *bounds, const char *given,
                           struct mortise_err *err)
{
    size_t n = strcspn(given, "=");
    char name[16];
    uint64_t bound;
    int rv;

    if (given[n] != '=' || n >= sizeof name)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "--limit: '%.100s' must be steps=N or visits=N, such as steps=500",
            given);
    memcpy(name, given, n);
    name[n] = '\0';
    rv = mortise_cli_parse_number("--limit", given + n + 1, &bound, err);
    if (rv != MORTISE_OK)
        return rv;
    if (json_object_get(bounds, name) != NULL)
        return mortise_fail(err, MORTISE_EINVAL, "--limit: %s is given twice",
                            name);
    if (json_object_set_new(bounds, name, json_integer((json_int_t)bound)) != 0)
        return mortise_nomem(err);
    return MORTISE_OK;
}

static int add_limit_command(struct mortise_cli *cli, json_t *list,
                             struct mortise_err *err)
{
    json_t *bounds = json_object();
    int rv = bounds != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 0; i < 2 && rv == MORTISE_OK; i++)
        if (cli->args.raise[i] != NULL)
            rv = add_limit_value(bounds, cli->args.raise[i], err);
    if (rv == MORTISE_OK)
        return add_run_command(
            list, json_pack("{s:s, s:o}", "kind", "limit", "value", bounds),
            err);
    json_decref(bounds);
    return rv;
}

/* Translate the options of `resume` to commands.  A goto replaces the final
 * resume command, so that the run still pauses before its node
 * (interrupt_before). */
static int make_resume_commands(struct mortise_cli *cli, json_t **out,
                                struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *list = json_array();
    int rv = list != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && a->update != NULL)
        rv = add_update_command(cli, list, err);
    if (rv == MORTISE_OK && a->go_to != NULL)
        rv = add_run_command(list,
                             json_pack("{s:s, s:s, s:b}", "kind", "goto",
                                       "node", a->go_to, "force", a->force),
                             err);
    if (rv == MORTISE_OK && a->raise[0] != NULL)
        rv = add_limit_command(cli, list, err);
    if (rv == MORTISE_OK && a->go_to == NULL && !a->no_continue)
        rv = add_run_command(list, json_pack("{s:s}", "kind", "resume"), err);
    if (rv == MORTISE_OK)
        *out = list;
    else
        json_decref(list);
    return rv;
}

/* Append the members of `root` that are in the state, but not in the update,
 * like "artifacts.a, artifacts.b". */
static void list_removed_members(struct mortise_buf *out, const char *root,
                                 const json_t *update, const json_t *state)
{
    const json_t *given = json_object_get(update, root);

    if (!json_is_object(given)) /* absent, or rejected by the engine */
        return;
    MORTISE_JSON_MEMBERS (key, member, json_object_get(state, root))
        if (json_object_get(given, key) == NULL)
            mortise_buf_printf(out, "%s%s.%s", out->n > 0 ? ", " : "", root,
                               key);
}

/* Without --merge, an update replaces all of scratch or artifacts.  Warn about
 * the members that it removes, since a person who corrects one value seldom
 * intends that.  If the run cannot be read, the update itself fails. */
static void warn_of_removed_members(struct mortise_cli *cli, const char *run,
                                    const json_t *update)
{
    const json_t *state;
    struct mortise_buf names;
    struct mortise_err err;
    json_t *show;

    if (mortise_cli_get_show(cli, run, &show, &err) != MORTISE_OK)
        return;
    state = json_object_get(show, "state");
    mortise_buf_init(&names, cli->mem);
    list_removed_members(&names, "scratch", update, state);
    list_removed_members(&names, "artifacts", update, state);
    if (names.n > 0 && mortise_buf_cstr(&names) != NULL)
        mortise_cli_print_remark(
            cli, MORTISE_LOG_WARN,
            "without --merge, the update removes %s from the state", names.p);
    mortise_buf_finish(&names);
    json_decref(show);
}

static void warn_of_changed_file(struct mortise_cli *cli, const char *run)
{
    char *path = mortise_cli_find_changed_file(cli, run);

    if (path != NULL)
        mortise_cli_print_remark(cli, MORTISE_LOG_WARN,
                                 MORTISE_CLI_CHANGED_FILE, path);
    mortise_release_str(cli->mem, path);
}

static int resume_run(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *commands = NULL;
    char run[MORTISE_RUN_MAX];
    int rv;

    if (a->merge && a->update == NULL)
        return mortise_cli_fail_usage(cli, "--merge needs --update");
    if (a->force && a->go_to == NULL)
        return mortise_cli_fail_usage(cli, "--force needs --goto");
    if (a->no_continue && a->update == NULL && a->go_to == NULL)
        return mortise_cli_fail_usage(cli,
                                      "--no-continue needs --update or --goto");
    rv = make_resume_commands(cli, &commands, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_cli_find_run_to_change(cli, a->operands[0], run, err);
    if (rv != MORTISE_OK) {
        json_decref(commands);
        return rv;
    }
    if (a->update != NULL && !a->merge) /* the update is the first command */
        warn_of_removed_members(
            cli, run, json_object_get(json_array_get(commands, 0), "value"));
    warn_of_changed_file(cli, run);
    return mortise_cli_send_commands(cli, run, commands, true, err);
}

static const struct mortise_opt resume_opts[] = {
    MORTISE_OPT_TEXT("update", "JSON", update,
                     "First replace scratch, artifacts or both in the\n"
                     "state; an object with these members, as JSON or\n"
                     "@FILE"),
    MORTISE_OPT_FLAG("merge", merge,
                     "With --update: keep the members that JSON does not\n"
                     "name, and combine the others by their reducers"),
    MORTISE_OPT_TEXT("goto", "NODE", go_to,
                     "Continue at this node, not at the current position"),
    MORTISE_OPT_FLAG("force", force,
                     "Do not pause before the node of --goto, even if\n"
                     "`interrupt_before` names it"),
    {"limit", "NAME=N", offsetof(struct mortise_args, raise),
     "Raise a limit to N: steps=N or visits=N (to raise\n"
     "both, give --limit twice)",
     0, 1},
    MORTISE_OPT_FLAG("no-continue", no_continue,
                     "Record --update, --goto and --limit, but run nothing\n"
                     "(needs --update or --goto)"),
    MORTISE_OPT_FLAG("accept-plugins", accept_plugins,
                     "Continue with the present plugins and tools, even\n"
                     "if they have changed"),
    MORTISE_OPTS_OF_CONTINUING,
};

const struct mortise_cmd mortise_cmd_resume = {
    .name = "resume",
    .operands = "RUN",
    .summary = "Continue an interrupted, paused, blocked or failed run",
    .text =
        "The run continues from its newest checkpoint.  Completed nodes do\n"
        "not run again; failed nodes are retried.  Pending questions stay\n"
        "pending, and everything that does not need an answer continues.\n"
        "If the run has completed or was cancelled, the command only\n"
        "prints the run.  To continue such a run, name a node with --goto.\n"
        "\n"
        "A run is blocked if a plugin or tool that it needs is missing,\n"
        "has changed or is not trusted, or if a plugin crashed the process\n"
        "three times in one execution.  If the plugin or tool has changed,\n"
        "--accept-plugins continues the run with the present one.\n"
        "Otherwise remove the cause first: 'mortise why RUN' prints the\n"
        "cause and what to do.  While the run is blocked, the exit code is\n"
        "78, or 77 if trust refuses the plugin.\n"
        "\n"
        "The run keeps the graph that it started with.  If the graph file\n"
        "has changed since then, a warning names the file.\n"
        "\n"
        "--update changes the state before the run continues.  It replaces\n"
        "each object that it names: --update '{\"artifacts\": {\"b\": 5}}'\n"
        "removes all artifacts but b.  With --merge, the other artifacts\n"
        "stay.  Without --merge, a warning lists the members that are\n"
        "removed.\n"
        "\n"
        "--limit sets a new limit: N is the whole new limit, and must be\n"
        "higher than the present limit.  steps=N replaces limits.steps.\n"
        "visits=N replaces limits.visits, and also the `max_visits` of\n"
        "each node that has a lower one.\n"
        "\n"
        "If a run ended while an effect was in doubt (the run was\n"
        "cancelled, the node lost a race, or on_error continued), the\n"
        "command asks whether the effect happened.  The effect is not\n"
        "repeated, and the run keeps its status.\n"
        "\n"
        "RUN is the whole id of a run.\n",
    .opts = resume_opts,
    .exits = MORTISE_EXITS_RUN,
    .session = MORTISE_SESSION_SAME_DEPLOYMENT,
    .example = "mortise resume night --goto report\n"
               "mortise resume night --merge --update '{\"artifacts\": {\"b\": "
               "5}}'",
    .run = resume_run,
};
