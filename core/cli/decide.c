/* decide.c -- what people decide: approve, reject, answer, resolve, pause,
 * cancel.
 *
 * A decision is about one request of one run: the run is named in full (name.c),
 * the request by its id, or it is shown and asked about first (choice.c).  The
 * digest of what is approved is taken from the very request that was looked up,
 * so an approval can never settle something that changed since: the engine
 * compares.  Which command a decision becomes depends on the kind of the request;
 * a person need not know.
 *
 * Several requests of one run may be settled at once, each named by its id, as
 * `inbox RUN --ids` prints them.  All are looked up, and the decision is made of
 * each, before the first is recorded; what is recorded is one order of the run.
 */

#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "json/value.h"

/* An optional JSON argument. */
static int optional(struct mortise_cli *cli, const char *what,
                    const char *given, json_t **out, struct mortise_err *err)
{
    *out = NULL;
    if (given == NULL)
        return MORTISE_OK;
    return mortise_cli_value(cli, what, given, out, err);
}

/* What becomes of a decision: `make` says the command that it is.  One that
 * does not fit the request is refused before anybody is asked. */
typedef int make_fn(struct mortise_cli *cli, const json_t *request,
                    json_t **out, struct mortise_err *err);

/* The one request that is meant: maybe the only one that there is, or a person at
 * the terminal says so. */
static int decide_one(struct mortise_cli *cli, make_fn *make, const char *given,
                      struct mortise_err *err)
{
    struct mortise_cli_choice c;
    json_t *command = NULL;
    int rv = mortise_cli_choose(cli, given, &c, err);

    if (rv == MORTISE_OK && c.request != NULL)
        rv = make(cli, c.request, &command, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_confirm(cli, &c, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_command(cli, c.run, json_pack("[O]", command), false,
                                 err);
    json_decref(command);
    mortise_cli_choice_finish(&c);
    return rv;
}

static bool has_id(const json_t *commands, const json_t *request)
{
    MORTISE_JSON_EACH (one, i, commands)
        if (strcmp(mortise_cli_text(one, "id"),
                   mortise_cli_text(request, "id")) == 0)
            return true;
    return false;
}

/* One of several, put into `commands`, once. */
static int add_decision(struct mortise_cli *cli, make_fn *make,
                        const char *given, json_t *commands,
                        struct mortise_err *err)
{
    struct mortise_cli_choice c;
    json_t *command = NULL;
    int rv = mortise_cli_choose(cli, given, &c, err);

    if (rv == MORTISE_OK && !c.named)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "'%.64s' is no id: of several requests each is named "
                          "by its own; nothing was decided",
                          given);
    if (rv == MORTISE_OK && !has_id(commands, c.request)) {
        rv = make(cli, c.request, &command, err);
        if (rv == MORTISE_OK && json_array_append_new(commands, command) != 0)
            rv = mortise_nomem(err);
    }
    mortise_cli_choice_finish(&c);
    return rv;
}

/* RUN ID RUN ID, as `inbox RUN --ids` says it, or RUN ID ID. */
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
        rv = mortise_cli_command(cli, a->operands[0], json_incref(commands),
                                 false, err);
    json_decref(commands);
    return rv;
}

static int decide(struct mortise_cli *cli, make_fn *make,
                  struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    return a->n_operands > 2
               ? decide_several(cli, make, err)
               : decide_one(cli, make,
                            a->n_operands > 1 ? a->operands[1] : NULL, err);
}

/* ---- approve, reject --------------------------------------------------------
 */

static int decide_tool(struct mortise_cli *cli, const json_t *request,
                       bool approve, json_t **out, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    const char *digest =
        a->digest != NULL ? a->digest : mortise_cli_text(request, "digest");
    json_t *args;
    int rv;

    if (a->answer != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "--answer is for questions; this is a call of %s",
                            mortise_cli_text(request, "tool"));
    rv = optional(cli, "--args", a->args, &args, err);
    if (rv != MORTISE_OK)
        return rv;
    *out =
        json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:o*}", "kind", "approve_tool",
                  "id", mortise_cli_text(request, "id"), "decision",
                  approve ? "approve" : "reject", "reason", a->reason, "digest",
                  digest[0] != '\0' ? digest : NULL, "value", args);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int decide_human(struct mortise_cli *cli, const json_t *request,
                        bool approve, json_t **out, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *answer;
    int rv;

    if (a->args != NULL || a->digest != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "--args and --digest are for tool calls; this is a "
                            "question");
    if (approve && a->answer == NULL && mortise_cli_is_kind(request, "human") &&
        json_object_get(request, "schema") != NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the question wants an answer: give it with "
                            "--answer JSON; 'mortise show %s' has what it must "
                            "be",
                            cli->args.operands[0]);
    rv = optional(cli, "--answer", a->answer, &answer, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:{s:b, s:s*, s:o*}}", "kind", "answer", "id",
                     mortise_cli_text(request, "id"), "value", "approved",
                     approve, "reason", a->reason, "answer", answer);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* {source, path}: the graph by which it is to go instead; NULL: as it is. */
static int edited_plan(struct mortise_cli *cli, json_t **out,
                       struct mortise_err *err)
{
    const char *path = cli->args.graph;
    json_t *source = NULL;
    int rv = MORTISE_OK;

    *out = NULL;
    if (path == NULL)
        return rv;
    rv = mortise_cli_source(cli, path, &source, err);
    if (rv == MORTISE_OK) {
        *out = json_pack("{s:o, s:s}", "source", source, "path",
                         strcmp(path, "-") == 0 ? "stdin" : path);
        rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    return rv;
}

static int decide_plan(struct mortise_cli *cli, const json_t *request,
                       bool approve, json_t **out, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *graph;
    int rv;

    if (a->args != NULL || a->digest != NULL || a->answer != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "a plan takes --reason and, approved with edits, "
                            "--graph FILE");
    rv = edited_plan(cli, &graph, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:{s:b, s:s*, s:o*}}", "kind", "answer", "id",
                     mortise_cli_text(request, "id"), "value", "approved",
                     approve, "reason", a->reason, "graph", graph);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* What `approve` says yes to, `reject` says no to. */
static int make_decision(struct mortise_cli *cli, const json_t *request,
                         json_t **out, struct mortise_err *err)
{
    bool approve = cli->cmd == &mortise_cmd_approve;

    if (mortise_cli_is_kind(request, "plan"))
        return decide_plan(cli, request, approve, out, err);
    if (cli->args.graph != NULL)
        return mortise_fail(err, MORTISE_EDECISION,
                            "--graph is for plans; this is none");
    if (mortise_cli_is_kind(request, "approval_pending"))
        return decide_tool(cli, request, approve, out, err);
    if (mortise_cli_is_kind(request, "human") ||
        mortise_cli_is_kind(request, "node") ||
        mortise_cli_is_decision(request))
        return decide_human(cli, request, approve, out, err);
    return mortise_fail(err, MORTISE_EMISMATCH,
                        "request %s is neither a question nor an approval; "
                        "use 'mortise %s'",
                        mortise_cli_text(request, "id"),
                        mortise_cli_settled_by(request));
}

static int approve_or_reject(struct mortise_cli *cli, struct mortise_err *err)
{
    return decide(cli, make_decision, err);
}

#define COMMON_OPTS                                                            \
    MORTISE_OPT_FLAG("no-continue", no_continue,                               \
                     "Record the decision and run nothing"),                   \
        MORTISE_OPT_FLAG("accept-plugins", accept_plugins,                     \
                         "Go on although plugins or tools have changed"),      \
        MORTISE_OPT_DOWNGRADE,                                                 \
        MORTISE_OPT_JSON("One event a line, then how the run stands"),         \
        MORTISE_OPTS_OF_RUNS

static const struct mortise_opt approve_opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Keep these words with it"),
    MORTISE_OPT_TEXT("args", "JSON", args,
                     "Run the tool with these arguments instead:\n"
                     "JSON or @FILE"),
    MORTISE_OPT_TEXT("digest", "D", digest,
                     "Approve only the call of this digest"),
    MORTISE_OPT_TEXT("answer", "JSON", answer,
                     "What a question with a schema wants to know:\n"
                     "JSON or @FILE"),
    MORTISE_OPT_TEXT("graph", "FILE", graph,
                     "Of a plan: the run goes by this graph instead, which\n"
                     "is checked as 'mortise check' does"),
    COMMON_OPTS,
};

static const struct mortise_opt reject_opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Keep these words with it"),
    COMMON_OPTS,
};

#define ABOUT_IDS                                                              \
    "RUN is the whole id of a run.  ID is the id of what it asks, or the\n"    \
    "first eight digits of it, as 'mortise show' and 'mortise inbox' print\n"  \
    "it: a decision holds for what was seen.  Without it (or with the name\n"  \
    "of the node that asks), what is pending is shown, and you are asked;\n"   \
    "where stdin is no terminal, nothing is decided, and the line that "       \
    "names\n"                                                                  \
    "it is printed.  In scripts:\n"                                            \
    "mortise COMMAND $(mortise inbox RUN --ids)\n"                             \
    "which names all that the run asks: several requests of it are settled\n"  \
    "alike, all or, where one of them cannot be so, none.\n"
#define ABOUT_WHERE                                                            \
    "\n"                                                                       \
    "When another process has the store, it is told and goes on with the\n"    \
    "run; otherwise this command does.\n"
#define ABOUT_BLOCKED                                                          \
    "\n"                                                                       \
    "Where a plugin of the run is in the way (it is gone, another one, or\n"   \
    "trust refuses it), the decision is recorded and nothing runs: that is\n"  \
    "said, with the command that helps, and the exit code is 78 (77: "         \
    "trust).\n"                                                                \
    "Once the plugin is back, 'mortise engine' and 'resume' go on.\n"

const struct mortise_cmd mortise_cmd_approve = {
    .name = "approve",
    .operands = "RUN [ID]...",
    .summary = "Say yes to a question, a plan or a tool call",
    .text = ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = approve_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise approve night 8f31c09a --reason 'checked with Anna'",
    .run = approve_or_reject,
};

const struct mortise_cmd mortise_cmd_reject = {
    .name = "reject",
    .operands = "RUN [ID]...",
    .summary = "Say no to a question or to a tool call",
    .text = ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = reject_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise reject night 8f31c09a --reason 'wrong customer'",
    .run = approve_or_reject,
};

/* ---- answer
 * ------------------------------------------------------------------ */

static int make_answer(struct mortise_cli *cli, const json_t *request,
                       json_t **out, struct mortise_err *err)
{
    json_t *value;
    int rv = mortise_cli_value(cli, "--value", cli->args.value, &value, err);

    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:o}", "kind", "answer", "id",
                     mortise_cli_text(request, "id"), "value", value);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int answer(struct mortise_cli *cli, struct mortise_err *err)
{
    return cli->args.value != NULL
               ? decide(cli, make_answer, err)
               : mortise_cli_usage(cli, "--value is missing");
}

static const struct mortise_opt answer_opts[] = {
    MORTISE_OPT_TEXT("value", "JSON", value,
                     "The answer: JSON, @FILE or - for stdin"),
    COMMON_OPTS,
};

const struct mortise_cmd mortise_cmd_answer = {
    .name = "answer",
    .operands = "RUN [ID]...",
    .summary = "Answer a question in full",
    .text = "The answer to a `human` node is {\"approved\": true or false,\n"
            "\"reason\"?, \"answer\"?}, that to a node or a plan that is to "
            "be\n"
            "approved {\"approved\", \"reason\"?}, and a plan may be approved "
            "with\n"
            "\"graph\": {\"source\": TEXT}, too; 'approve' and 'reject' write "
            "that for\n"
            "you.\n"
            "What an executor asks takes the bare value that it asks for.\n"
            "\n" ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = answer_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise answer night 8f31c09a --value "
               "'{\"approved\": true, \"answer\": {\"amount\": 12}}'",
    .run = answer,
};

/* ---- resolve
 * ------------------------------------------------------------------ */

static int make_resolution(struct mortise_cli *cli, const json_t *request,
                           json_t **out, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *result;
    int rv;

    if (!mortise_cli_is_kind(request, "in_doubt"))
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "request %s is not in doubt; use 'mortise approve'",
                            mortise_cli_text(request, "id"));
    rv = optional(cli, "--done", a->done, &result, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = json_pack("{s:s, s:s, s:s, s:o*}", "kind", "resolve", "id",
                     mortise_cli_text(request, "id"), "decision",
                     a->done != NULL ? "done"
                     : a->retry      ? "retry"
                                     : "fail",
                     "value", result);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Is it what somebody said that a step came to, which can be said anew?  *id: of
 * its request. */
static int find_said(struct mortise_cli *cli, json_t **id,
                     struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    char run[MORTISE_RUN_MAX];
    json_t *entry = NULL;
    const char *how;
    int rv = mortise_cli_run_to_change(cli, a->operands[0], run, err);

    *id = NULL;
    if (rv == MORTISE_OK)
        rv = mortise_cli_settled(cli, run, a->operands[1], &entry, err);
    how = mortise_cli_text(entry, "how");
    if (rv == MORTISE_OK && entry != NULL &&
        (strcmp(how, "happened") == 0 ||
         strcmp(mortise_cli_text(entry, "entry"), "correct") == 0))
        *id = json_incref(json_object_get(entry, "id"));
    json_decref(entry);
    return rv;
}

/* --done of what is settled so already: it is said anew, and tried with that. */
static int correct(struct mortise_cli *cli, const json_t *id,
                   struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *result, *commands;
    int rv = mortise_cli_value(cli, "--done", a->done, &result, err);

    if (rv != MORTISE_OK)
        return rv;
    commands =
        json_pack("[{s:s, s:O, s:s, s:o}, {s:s}]", "kind", "resolve", "id", id,
                  "decision", "done", "value", result, "kind", "resume");
    return mortise_cli_command(cli, a->operands[0], commands, false, err);
}

static int resolve(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *id = NULL;
    int rv = MORTISE_OK;

    if ((a->done != NULL) + a->retry + a->fail != 1)
        return mortise_cli_usage(cli, "say one of --done, --retry and --fail");
    if (a->done != NULL && a->n_operands == 2)
        rv = find_said(cli, &id, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = id != NULL ? correct(cli, id, err) : decide(cli, make_resolution, err);
    json_decref(id);
    return rv;
}

static const struct mortise_opt resolve_opts[] = {
    MORTISE_OPT_TEXT("done", "JSON", done,
                     "It happened, and this is its result: JSON or\n"
                     "@FILE"),
    MORTISE_OPT_FLAG("retry", retry,
                     "It did not happen: do it again, unless it is over"),
    MORTISE_OPT_FLAG("fail", fail, "Take it as failed; the doubt stays"),
    COMMON_OPTS,
};

const struct mortise_cmd mortise_cmd_resolve = {
    .name = "resolve",
    .operands = "RUN [ID]...",
    .summary = "Say what became of an effect that is in doubt",
    .text =
        "An effect began, and nothing says whether it happened: the process\n"
        "died, a connection was lost, time ran out, a server failed in the\n"
        "middle.  The plugin can neither repeat it safely nor find out.\n"
        "Look at the world, then say.  'mortise show' has the cause, and\n"
        "what was heard.\n"
        "\n"
        "Where one step of a call is in doubt (a request that it made),\n"
        "--done takes the answer to that step; else the call's result.  The\n"
        "answer to a request is {\"status\": 200}, with `headers` (an object\n"
        "of strings) and `body` (a string) if it had them; to a program\n"
        "{\"exit\": 0}, with `stdout` and `stderr` (strings); to a step of "
        "the\n"
        "plugin's own {\"result\": ...}: of an MCP tool a text, or its output\n"
        "as 'mortise show' prints it.  Anything else is refused.\n"
        "With --retry it is made again, a call under the same idempotency\n"
        "key, a request the same to the byte, and what was asked before and\n"
        "answered is not.  --fail fails the node; who resumes it is asked\n"
        "again.\n"
        "\n"
        "What it is to be is shown with the request, and looked at before it "
        "is\n"
        "recorded.  Who was wrong about a step says it again, with the same ID "
        "and\n"
        "--done: as long as nothing went on with it, or where the call failed\n"
        "behind it, which is then tried again with the new answer.  The result "
        "of\n"
        "a whole call has become its node's output: that is corrected like "
        "any\n"
        "(resume --update, --goto).\n"
        "\n"
        "Of what is over (the run was cancelled or has completed, the node\n"
        "lost a race, on_error led on) nothing is made again, whatever you\n"
        "say: --retry only says that it did not happen.\n"
        "\n" ABOUT_IDS ABOUT_WHERE ABOUT_BLOCKED,
    .opts = resolve_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise resolve night 8f31c09a --done '{\"id\": \"re_123\"}'",
    .run = resolve,
};

/* ---- pause, cancel
 * -------------------------------------------------------------------- */

/* Send a command that has but a reason; `wanted` is the status it leads to,
 * also where another process works on the run. */
static int stop(struct mortise_cli *cli, const char *kind, int wanted,
                struct mortise_err *err)
{
    cli->wanted = wanted;
    return mortise_cli_order(
        cli,
        json_pack("[{s:s, s:s*}]", "kind", kind, "reason", cli->args.reason),
        true, err);
}

static int pause_run(struct mortise_cli *cli, struct mortise_err *err)
{
    return stop(cli, "pause", MORTISE_RUN_PAUSED, err);
}

static int cancel(struct mortise_cli *cli, struct mortise_err *err)
{
    return stop(cli, "cancel", MORTISE_RUN_CANCELLED, err);
}

static const struct mortise_opt stop_opts[] = {
    MORTISE_OPT_TEXT("reason", "WHY", reason, "Keep these words with it"),
    MORTISE_OPT_JSON("One event a line, then how the run stands"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_pause = {
    .name = "pause",
    .operands = "RUN",
    .summary = "Let a run stand still until it is resumed",
    .text =
        "RUN is the whole id of a run.\n"
        "\n"
        "What only reads is cancelled and will be done again; an effect "
        "that\n"
        "has begun is awaited (10 s at most) and recorded.  Then nothing "
        "of\n"
        "the run is at work or in memory.  Decisions are recorded "
        "meanwhile;\n"
        "'mortise resume' goes on.\n"
        "\n"
        "The exit code is 0 when the run is paused, and 5 when an effect "
        "of it\n"
        "is in doubt: how to say what became of it is printed.  So it is when\n"
        "the run was interrupted in the middle of one.\n" ABOUT_WHERE,
    .opts = stop_opts,
    .exits = MORTISE_EXITS_RUN,
    .session = MORTISE_SESSION_BRIEF,
    .example = "mortise pause night --reason 'maintenance until six'",
    .run = pause_run,
};

const struct mortise_cmd mortise_cmd_cancel = {
    .name = "cancel",
    .operands = "RUN",
    .summary = "End a run; only resume --goto has it go on",
    .text =
        "RUN is the whole id of a run.\n"
        "\n"
        "It has ended, then: 'resume RUN' shows it and runs nothing, and only\n"
        "'resume RUN --goto NODE' has it go on, from that node.\n"
        "\n"
        "What is at work is asked to stop and awaited; its effects are\n"
        "recorded.  Where one of them says nothing, nobody knows whether\n"
        "it happened: 'resume RUN' asks that, and 'resume RUN --goto NODE'\n"
        "is refused until it is settled.\n"
        "\n"
        "Then nodes with 'join: settled' run to which a branch ran, for\n"
        "at most 60 s each, and nothing behind them; one that was at work\n"
        "comes to its end.  One of them whose own plugin or pinned tool is\n"
        "missing or another fails, which is printed; the others run.  A\n"
        "second cancel stops them.  A signal leaves them to 'mortise resume'\n"
        "and 'mortise engine'.\n"
        "\n"
        "The exit code is 0 when the run is cancelled, and 5 when it is,\n"
        "but an effect of it may have happened: of which node is "
        "printed.\n" ABOUT_WHERE,
    .opts = stop_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise cancel night --reason 'wrong file'",
    .run = cancel,
};
