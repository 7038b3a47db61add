/* decide.c -- decisions of people: approve, reject, answer, resolve, pause,
 * cancel.
 *
 * A decision applies to one request of one run.  The run is named by its whole
 * id (name.c), and the request by its id, or it is shown and confirmed first
 * (choice.c).  The digest to approve is copied from the request that was
 * looked up, and the engine compares it, so an approval never settles a call
 * that has changed since.  The kind of the request determines the command that
 * a decision becomes.
 *
 * Several requests of a run can be settled at once, each named by its id, as
 * `inbox RUN --ids` prints them.  All commands are made before the first is
 * recorded, and they are recorded together as one order.
 */

#include <string.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* Parse an optional JSON argument. */
static int parse_optional_json(struct mortise_cli *cli, const char *what,
                               const char *given, json_t **out,
                               struct mortise_err *err)
{
    *out = NULL;
    if (given == NULL)
        return MORTISE_OK;
    return mortise_cli_parse_value(cli, what, given, out, err);
}

/* Makes the command for a decision.  A decision that does not fit the request
 * fails before a person is asked to confirm; so does one for another kind of
 * request, with the commands that settle it. */
typedef int make_fn(struct mortise_cli *cli, const struct mortise_cli_choice *c,
                    json_t **out, struct mortise_err *err);

/* Decide one request: the one that is named, or the one that a person
 * confirms. */
static int decide_one(struct mortise_cli *cli, make_fn *make, const char *given,
                      struct mortise_err *err)
{
    struct mortise_cli_choice c;
    json_t *command = NULL;
    int rv = mortise_cli_choose_request(cli, given, &c, err);

    if (rv == MORTISE_OK && c.request != NULL)
        rv = make(cli, &c, &command, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_confirm(cli, &c, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_send_commands(cli, c.run, json_pack("[O]", command),
                                       false, err);
    json_decref(command);
    mortise_cli_choice_finish(&c);
    return rv;
}

static bool has_command_for(const json_t *commands, const json_t *request)
{
    MORTISE_JSON_EACH (one, i, commands)
        if (strcmp(mortise_cli_get_text(one, "id"),
                   mortise_cli_get_text(request, "id")) == 0)
            return true;
    return false;
}

/* Make one of several commands and append it, unless it is a duplicate. */
static int add_decision(struct mortise_cli *cli, make_fn *make,
                        const char *given, json_t *commands,
                        struct mortise_err *err)
{
    struct mortise_cli_choice c;
    json_t *command = NULL;
    int rv = mortise_cli_choose_request(cli, given, &c, err);

    if (rv == MORTISE_OK && !c.named)
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "'%.64s' is not a request id; give the id of each request when you "
            "decide several; no decision was recorded",
            given);
    if (rv == MORTISE_OK && !has_command_for(commands, c.request)) {
        rv = make(cli, &c, &command, err);
        if (rv == MORTISE_OK && json_array_append_new(commands, command) != 0)
            rv = mortise_nomem(err);
    }
    mortise_cli_choice_finish(&c);
    return rv;
}

/* RUN ID RUN ID, as `inbox RUN --ids` prints it, or RUN ID ID. */
static int decide_several(struct mortise_cli *cli, make_fn *make,
                          struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *commands = json_array();
    int rv = commands != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 1; rv == MORTISE_OK && i < a->n_operands; i++)
        if (i == 1 || strcmp(a->operands[i], a->operands[0]) != 0)
            rv = add_decision(cli, make, a->operands[i], commands, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_send_commands(cli, a->operands[0],
                                       json_incref(commands), false, err);
    json_decref(commands);
    return rv;
}

static int decide_requests(struct mortise_cli *cli, make_fn *make,
                           struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    return a->n_operands > 2
               ? decide_several(cli, make, err)
               : decide_one(cli, make,
                            a->n_operands > 1 ? a->operands[1] : NULL, err);
}

/* ---- approve, reject --------------------------------------------------- */

static int make_tool_decision(struct mortise_cli *cli, const json_t *request,
                              bool approve, json_t **out,
                              struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    const char *digest =
        a->digest != NULL ? a->digest : mortise_cli_get_text(request, "digest");
    json_t *args;
    int rv;

    if (a->answer != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "--answer is only for questions, but this request "
                            "is a call of %s: omit --answer",
                            mortise_cli_get_text(request, "tool"));
    rv = parse_optional_json(cli, "--args", a->args, &args, err);
    if (rv != MORTISE_OK)
        return rv;
    *out =
        json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:o*}", "kind", "approve_tool",
                  "id", mortise_cli_get_text(request, "id"), "decision",
                  approve ? "approve" : "reject", "reason", a->reason, "digest",
                  digest[0] != '\0' ? digest : NULL, "value", args);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int make_human_decision(struct mortise_cli *cli, const json_t *request,
                               bool approve, json_t **out,
                               struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *answer;
    int rv;

    if (a->args != NULL || a->digest != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "--args and --digest are for tool calls; this "
                            "request is a question");
    if (approve && a->answer == NULL && mortise_cli_is_kind(request, "human") &&
        json_object_get(request, "schema") != NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the question needs an answer: give --answer JSON; "
                            "'mortise show %s' prints its schema",
                            cli->args.operands[0]);
    rv = parse_optional_json(cli, "--answer", a->answer, &answer, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:{s:b, s:s*, s:o*}}", "kind", "answer", "id",
                     mortise_cli_get_text(request, "id"), "value", "approved",
                     approve, "reason", a->reason, "answer", answer);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* {source, path} of an edited plan; NULL: unchanged. */
static int read_edited_plan(struct mortise_cli *cli, json_t **out,
                            struct mortise_err *err)
{
    const char *path = cli->args.graph;
    json_t *source = NULL;
    int rv = MORTISE_OK;

    *out = NULL;
    if (path == NULL)
        return rv;
    rv = mortise_cli_read_source(cli, path, &source, err);
    if (rv == MORTISE_OK) {
        *out = json_pack("{s:o, s:s}", "source", source, "path",
                         strcmp(path, "-") == 0 ? "stdin" : path);
        rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    return rv;
}

static int make_plan_decision(struct mortise_cli *cli, const json_t *request,
                              bool approve, json_t **out,
                              struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *graph;
    int rv;

    if (a->args != NULL || a->digest != NULL || a->answer != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "for a plan, give only --reason or, to approve an "
                            "edited plan, --graph FILE");
    rv = read_edited_plan(cli, &graph, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:{s:b, s:s*, s:o*}}", "kind", "answer", "id",
                     mortise_cli_get_text(request, "id"), "value", "approved",
                     approve, "reason", a->reason, "graph", graph);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* `approve` and `reject` settle the same kinds of requests. */
static int make_decision(struct mortise_cli *cli,
                         const struct mortise_cli_choice *c, json_t **out,
                         struct mortise_err *err)
{
    const json_t *request = c->request;
    bool approve = cli->cmd == &mortise_cmd_approve;

    if (mortise_cli_is_kind(request, "plan"))
        return make_plan_decision(cli, request, approve, out, err);
    if (cli->args.graph != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "--graph is for plans; this request is not a plan");
    if (mortise_cli_is_kind(request, "approval_pending"))
        return make_tool_decision(cli, request, approve, out, err);
    if (mortise_cli_is_kind(request, "human") ||
        mortise_cli_is_kind(request, "node") ||
        mortise_cli_is_decision(request))
        return make_human_decision(cli, request, approve, out, err);
    return mortise_cli_refuse_kind(cli, c, "is no approval");
}

static int approve_or_reject(struct mortise_cli *cli, struct mortise_err *err)
{
    return decide_requests(cli, make_decision, err);
}

#define COMMON_OPTS                                                            \
    MORTISE_OPT_FLAG("no-continue", no_continue,                               \
                     "Record the decision, but run nothing"),                  \
        MORTISE_OPT_FLAG("accept-plugins", accept_plugins,                     \
                         "Continue with the present plugins and tools, even\n" \
                         "if they have changed"),                              \
        MORTISE_OPT_DOWNGRADE,                                                 \
        MORTISE_OPT_JSON("One event a line, then the status of the run"),      \
        MORTISE_OPTS_OF_RUNS

static const struct mortise_opt approve_opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Record this reason"),
    MORTISE_OPT_TEXT("args", "JSON", args,
                     "Run the tool with these arguments instead:\n"
                     "JSON or @FILE"),
    MORTISE_OPT_TEXT("digest", "D", digest,
                     "Approve the call only if it has this digest"),
    MORTISE_OPT_TEXT("answer", "JSON", answer,
                     "Answer to a question with a schema: JSON or @FILE"),
    MORTISE_OPT_TEXT("graph", "FILE", graph,
                     "For a plan: run this graph instead, after a check\n"
                     "as by 'mortise check'"),
    COMMON_OPTS,
};

static const struct mortise_opt reject_opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Record this reason"),
    COMMON_OPTS,
};

#define ABOUT_IDS                                                              \
    "RUN is the whole id of a run.  ID is the id of a request, or the\n"       \
    "first eight digits of this id; 'mortise show' and 'mortise inbox'\n"      \
    "print the id.  The decision applies to exactly this request.\n"           \
    "\n"                                                                       \
    "Without an ID, or with the name of the node that asks, the\n"             \
    "command shows the pending request and asks you to confirm.  If\n"         \
    "several requests are pending, or stdin is not a terminal, the\n"          \
    "command decides nothing.  It prints the commands that name each\n"        \
    "request by its ID, and the exit code is 3.  In scripts, name all\n"       \
    "pending requests of the run:\n"                                           \
    "  mortise COMMAND $(mortise inbox RUN --ids)\n"                           \
    "\n"                                                                       \
    "If you name several requests, all of them get the decision.  If\n"        \
    "one of these requests does not accept the decision, the command\n"        \
    "fails, and none of them gets the decision.\n"
#define ABOUT_WHERE                                                            \
    "\n"                                                                       \
    "If another process has the store open, that process executes the\n"       \
    "command and continues the run.  Otherwise this command continues\n"       \
    "the run.\n"
#define ABOUT_BLOCKED                                                          \
    "\n"                                                                       \
    "If a plugin of the run cannot be used (it is missing, has\n"              \
    "changed, or trust refuses it), the command records the decision,\n"       \
    "runs nothing, and prints what to do.  The exit code is then 78,\n"        \
    "or 77 if trust refuses the plugin.  When the plugin can be used\n"        \
    "again, 'mortise engine' and 'mortise resume' continue the run.\n"

const struct mortise_cmd mortise_cmd_approve = {
    .name = "approve",
    .operands = "RUN [ID]...",
    .summary = "Approve a question, a plan or a tool call",
    .text = ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = approve_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise approve night 8f31c09a --reason 'checked with Anna'",
    .run = approve_or_reject,
};

const struct mortise_cmd mortise_cmd_reject = {
    .name = "reject",
    .operands = "RUN [ID]...",
    .summary = "Reject a question or a tool call",
    .text = ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = reject_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise reject night 8f31c09a --reason 'wrong customer'",
    .run = approve_or_reject,
};

/* ---- answer ------------------------------------------------------------ */

/* A human node takes {approved, reason?, answer?}.  Is this value only the
 * answer? */
static bool is_bare_answer(const json_t *request, const json_t *value)
{
    static const char *const members[] = {"approved", "reason", "answer"};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (json_object_get(value, members[i]) != NULL)
            return false;
    return mortise_cli_is_kind(request, "human");
}

/* Report the command that records this value as the answer.  A long value is
 * replaced, because it would not fit into the message. */
static int fail_bare_answer(struct mortise_cli *cli,
                            const struct mortise_cli_choice *c,
                            struct mortise_err *err)
{
    enum { LONGEST = 80 };
    const char *given = cli->args.value, *command;
    struct mortise_buf b;
    struct mortise_out o;
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(cli, &o, c->run, c->blocked);

    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    mortise_cli_start_command_line(&way, "approve", c->request);
    mortise_out_puts(&o, " --answer ");
    mortise_out_put_shell_word(&o, strlen(given) <= LONGEST ? given : "JSON");
    mortise_out_flush(&o);
    command = mortise_buf_cstr(&b);
    mortise_fail(err, MORTISE_EINVAL,
                 "the value for a human node must be {\"approved\": true or "
                 "false}, optionally with \"reason\" (a string) and "
                 "\"answer\"; to approve with this answer:%s",
                 command != NULL ? command + 1 : " approve --answer JSON");
    mortise_buf_finish(&b);
    return MORTISE_EINVAL;
}

static int make_answer(struct mortise_cli *cli,
                       const struct mortise_cli_choice *c, json_t **out,
                       struct mortise_err *err)
{
    static const char *const others[] = {"approval_pending", "in_doubt",
                                         "budget"};
    const json_t *request = c->request;
    json_t *value;
    int rv;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (mortise_cli_is_kind(request, others[i]))
            return mortise_cli_refuse_kind(cli, c, "is no question");
    rv = mortise_cli_parse_value(cli, "--value", cli->args.value, &value, err);
    if (rv != MORTISE_OK)
        return rv;
    if (is_bare_answer(request, value)) {
        json_decref(value);
        return fail_bare_answer(cli, c, err);
    }
    *out = json_pack("{s:s, s:s, s:o}", "kind", "answer", "id",
                     mortise_cli_get_text(request, "id"), "value", value);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int answer(struct mortise_cli *cli, struct mortise_err *err)
{
    return cli->args.value != NULL
               ? decide_requests(cli, make_answer, err)
               : mortise_cli_fail_usage(
                     cli, "--value is missing; for a human node, 'mortise "
                          "approve RUN ID --answer JSON' is shorter");
}

static const struct mortise_opt answer_opts[] = {
    MORTISE_OPT_TEXT("value", "JSON", value,
                     "The answer: JSON, @FILE or - for stdin"),
    COMMON_OPTS,
};

const struct mortise_cmd mortise_cmd_answer = {
    .name = "answer",
    .operands = "RUN [ID]...",
    .summary = "Answer a question with a JSON value",
    .text =
        "For a `human` node, JSON is {\"approved\": true or false,\n"
        "\"reason\"?, \"answer\"?}; members with ? are optional.  For a node\n"
        "or a plan that needs approval, JSON is {\"approved\", \"reason\"?}.\n"
        "An approval of a plan can also have \"graph\": {\"source\": TEXT}.\n"
        "'approve' and 'reject' write these values for you.  For a\n"
        "question that an executor asked, JSON is the plain value that the\n"
        "question asks for.\n"
        "\n" ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = answer_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise answer night 8f31c09a --value "
               "'{\"approved\": true, \"answer\": {\"amount\": 12}}'",
    .run = answer,
};

/* ---- resolve ----------------------------------------------------------- */

static int make_resolution(struct mortise_cli *cli,
                           const struct mortise_cli_choice *c, json_t **out,
                           struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    const json_t *request = c->request;
    json_t *result;
    int rv;

    if (!mortise_cli_is_kind(request, "in_doubt"))
        return mortise_cli_refuse_kind(cli, c, "is not in doubt");
    rv = parse_optional_json(cli, "--done", a->done, &result, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:s, s:o*}", "kind", "resolve", "id",
                     mortise_cli_get_text(request, "id"), "decision",
                     a->done != NULL ? "done"
                     : a->retry      ? "retry"
                                     : "fail",
                     "value", result);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Is the request already resolved as done, so that its result can be
 * corrected? *id: the id of the request. */
static int find_resolved_request(struct mortise_cli *cli, json_t **id,
                                 struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    char run[MORTISE_RUN_MAX];
    json_t *entry = NULL;
    const char *how;
    int rv = mortise_cli_find_run_to_change(cli, a->operands[0], run, err);

    *id = NULL;
    if (rv == MORTISE_OK)
        rv = mortise_cli_find_settled(cli, run, a->operands[1], &entry, err);
    how = mortise_cli_get_text(entry, "how");
    if (rv == MORTISE_OK && entry != NULL &&
        (strcmp(how, "happened") == 0 ||
         strcmp(mortise_cli_get_text(entry, "entry"), "correct") == 0))
        *id = json_incref(json_object_get(entry, "id"));
    json_decref(entry);
    return rv;
}

/* Correct a result with --done, and retry with it. */
static int send_corrected_result(struct mortise_cli *cli, const json_t *id,
                                 struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *result, *commands;
    int rv = mortise_cli_parse_value(cli, "--done", a->done, &result, err);

    if (rv != MORTISE_OK)
        return rv;
    commands =
        json_pack("[{s:s, s:O, s:s, s:o}, {s:s}]", "kind", "resolve", "id", id,
                  "decision", "done", "value", result, "kind", "resume");
    return mortise_cli_send_commands(cli, a->operands[0], commands, false, err);
}

static int run_resolve_command(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *id = NULL;
    int rv = MORTISE_OK;

    if ((a->done != NULL) + a->retry + a->fail != 1)
        return mortise_cli_fail_usage(
            cli, "give exactly one of --done, --retry and --fail");
    if (a->done != NULL && a->n_operands == 2)
        rv = find_resolved_request(cli, &id, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = id != NULL ? send_corrected_result(cli, id, err)
                    : decide_requests(cli, make_resolution, err);
    json_decref(id);
    return rv;
}

static const struct mortise_opt resolve_opts[] = {
    MORTISE_OPT_TEXT("done", "JSON", done,
                     "The effect happened, with this result: JSON or @FILE"),
    MORTISE_OPT_FLAG("retry", retry,
                     "The effect did not happen: repeat it, unless the\n"
                     "node has ended"),
    MORTISE_OPT_FLAG("fail", fail, "Fail the node; the effect stays in doubt"),
    COMMON_OPTS,
};

const struct mortise_cmd mortise_cmd_resolve = {
    .name = "resolve",
    .operands = "RUN [ID]...",
    .summary = "Settle an effect that is in doubt",
    .text =
        "An effect began, and it is unknown whether it happened: the\n"
        "process died, a connection was lost, time ran out, or a server\n"
        "failed in the middle.  The plugin can neither repeat the effect\n"
        "safely nor find out whether it happened.  Check whether the\n"
        "effect happened, then settle the doubt with this command.\n"
        "'mortise show' prints the cause and the data that was received.\n"
        "\n"
        "--done takes the result of the effect.  If only one step of a\n"
        "call is in doubt (a request that the call made), give the result\n"
        "of this step.  Otherwise give the result of the whole call.  The\n"
        "result of a step is one of these:\n"
        "  a request: {\"status\": 200}, with `headers` (an object of "
        "strings)\n"
        "             and `body` (a string) if the response had them\n"
        "  a program: {\"exit\": 0}, with `stdout` and `stderr` (strings)\n"
        "  a step of the plugin's own: {\"result\": ...}; for an MCP tool a "
        "text,\n"
        "             or its output as 'mortise show' prints it\n"
        "\n"
        "Every other value is rejected.\n"
        "\n"
        "--retry repeats the effect: a call with the same idempotency key,\n"
        "or a request with the same bytes.  Steps whose results are\n"
        "recorded are not repeated.  --fail fails the node.  If you resume\n"
        "the run later, the run asks about the effect again.\n"
        "\n"
        "The request shows the type of the result, and Mortise checks the\n"
        "result before it records it.  To correct the result of a step,\n"
        "run this command again with the same ID and the correct --done.\n"
        "You can do this until the call uses the result.  You can also do\n"
        "it if the call failed after it used the result: Mortise then\n"
        "retries the call with the new result.  The result of a whole call\n"
        "is already the output of its node.  Correct it like any output\n"
        "(resume --update, --goto).\n"
        "\n"
        "If the node or the run has ended (the run was cancelled or has\n"
        "completed, the node lost a race, on_error continued), nothing is\n"
        "repeated.  --retry then only records that the effect did not\n"
        "happen.\n"
        "\n" ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = resolve_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise resolve night 8f31c09a --done '{\"id\": \"re_123\"}'",
    .run = run_resolve_command,
};

/* ---- pause, cancel ----------------------------------------------------- */

/* Send a command that has only a reason.  `wanted` is the expected status,
 * also if another process executes the run. */
static int send_stop_command(struct mortise_cli *cli, const char *kind,
                             int wanted, struct mortise_err *err)
{
    cli->wanted = wanted;
    return mortise_cli_send_to_operand(
        cli,
        json_pack("[{s:s, s:s*}]", "kind", kind, "reason", cli->args.reason),
        true, err);
}

static int run_pause_command(struct mortise_cli *cli, struct mortise_err *err)
{
    return send_stop_command(cli, "pause", MORTISE_RUN_PAUSED, err);
}

static int run_cancel_command(struct mortise_cli *cli, struct mortise_err *err)
{
    return send_stop_command(cli, "cancel", MORTISE_RUN_CANCELLED, err);
}

static const struct mortise_opt stop_opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Record this reason"),
    MORTISE_OPT_JSON("One event a line, then the status of the run"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_pause = {
    .name = "pause",
    .operands = "RUN",
    .summary = "Pause a run until somebody resumes it",
    .text =
        "RUN is the whole id of a run.\n"
        "\n"
        "Calls that only read are cancelled, and repeated when the run\n"
        "resumes.  The command waits at most 10 s for the results of\n"
        "effects that have begun, and records these results.  The run then\n"
        "uses no thread and no memory.  Decisions on its requests are\n"
        "still recorded.  'mortise resume' continues the run.\n"
        "\n"
        "The exit code is 0, and not 4, if the run is paused and no effect\n"
        "is in doubt.  It is 5 if an effect is in doubt, for example\n"
        "because the run was interrupted during the effect.  The command\n"
        "then prints how to settle the effect.\n"
        "\n"
        "If another process has the store open, that process pauses the\n"
        "run.  Otherwise this command does.\n",
    .opts = stop_opts,
    .exits = MORTISE_EXITS_RUN,
    .session = MORTISE_SESSION_BRIEF,
    .example = "mortise pause night --reason 'maintenance until six'",
    .run = run_pause_command,
};

const struct mortise_cmd mortise_cmd_cancel = {
    .name = "cancel",
    .operands = "RUN",
    .summary = "Cancel a run; only resume --goto can continue it",
    .text =
        "RUN is the whole id of a run.\n"
        "\n"
        "A cancelled run has ended: 'resume RUN' prints the run and runs\n"
        "nothing.  Only 'resume RUN --goto NODE' continues the run, at\n"
        "NODE.\n"
        "\n"
        "Calls in flight are asked to stop.  The command waits for these\n"
        "calls and records their effects.  If the result of an effect does\n"
        "not arrive, the effect is in doubt: 'resume RUN' asks whether it\n"
        "happened, and 'resume RUN --goto NODE' fails until you settle the\n"
        "effect.\n"
        "\n"
        "Then the finalisers run: the nodes with 'join: settled' that a\n"
        "branch reached.  Each finaliser has at most 60 s, or its own\n"
        "`timeout` if that is less.  No other node starts.  If a finaliser\n"
        "needs a plugin or a pinned tool that is missing or has changed,\n"
        "this finaliser fails, the command prints the failure, and the\n"
        "other finalisers run.  A second cancel stops all finalisers.  If\n"
        "a signal stops this command, 'mortise resume' or 'mortise engine'\n"
        "runs the remaining finalisers.\n"
        "\n"
        "The exit code is 0 if the run is cancelled.  It is 5 if the run\n"
        "is cancelled and one of its effects may or may not have happened.\n"
        "The command then names the node of the effect.\n"
        "\n"
        "If another process has the store open, that process cancels the\n"
        "run.  Otherwise this command does.\n",
    .opts = stop_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise cancel night --reason 'wrong file'",
    .run = run_cancel_command,
};
