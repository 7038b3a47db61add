/* budget.c -- `mortise raise-budget`: raise the budget of a run. */
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/real.h"
#include "core/base/unit.h"
#include "cli/cli.h"
#include "core/json/value.h"

bool mortise_cli_is_same_budget(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"kind", "budget", "graph"};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(mortise_cli_get_text(a, members[i]),
                   mortise_cli_get_text(b, members[i])) != 0)
            return false;
    }
    return mortise_cli_is_kind(a, "budget");
}

bool mortise_cli_is_time_field(const char *name)
{
    return strcmp(name, "wall") == 0;
}

bool mortise_cli_is_money(const char *name)
{
    return strcmp(name, "usd") == 0;
}

/* Returns a new reference. */
static json_t *make_money_amount(const char *text, bool more,
                                 struct mortise_err *err)
{
    double usd;

    if (mortise_real_parse(&usd, text, strlen(text)) != 0 || !(usd >= 0)) {
        mortise_fail(
            err, MORTISE_EINVAL,
            "usd: '%.100s' is not a decimal number of dollars, such as 0.50",
            text);
        return NULL;
    }
    mortise_nomem(err); /* in case the next line returns NULL */
    return more ? json_sprintf("+%s", text) : json_real(usd);
}

static int parse_amount(const char *name, const char *text, uint64_t *out,
                        struct mortise_err *err)
{
    if (!mortise_cli_is_time_field(name))
        return mortise_cli_parse_number(name, text, out, err);
    return mortise_duration_parse(text, strlen(text), out)
               ? MORTISE_OK
               : mortise_fail(
                     err, MORTISE_EINVAL,
                     "%s: '%.100s' is not a duration, such as 90s or 2h", name,
                     text);
}

/* Returns a new reference; NULL with *err. */
static json_t *make_amount(const char *name, const char *text, bool more,
                           struct mortise_err *err)
{
    uint64_t number;

    if (mortise_cli_is_money(name))
        return make_money_amount(text, more, err);
    if (parse_amount(name, text, &number, err) != MORTISE_OK)
        return NULL;
    mortise_nomem(err); /* in case the next line returns NULL */
    return more ? json_sprintf("+%llu", (unsigned long long)number)
                : json_integer((json_int_t)number);
}

/* Add NAME=N or NAME=+N to the command's value.  The run checks the amount. */
static int add_budget_operand(json_t *value, const char *given,
                              struct mortise_err *err)
{
    size_t n = strcspn(given, "=");
    const char *amount = given + n + 1;
    bool more = given[n] != '\0' && amount[0] == '+';
    char name[32];
    json_t *one;

    if (n == 0 || n >= sizeof name || given[n] == '\0')
        return mortise_fail(
            err, MORTISE_EINVAL,
            "'%.100s' must be NAME=N or NAME=+N, such as tool_calls=+10",
            given);
    memcpy(name, given, n);
    name[n] = '\0';
    if (json_object_get(value, name) != NULL)
        return mortise_fail(err, MORTISE_EINVAL, "%s is given twice", name);
    one = make_amount(name, amount + more, more, err);
    if (one == NULL)
        return err->code;
    return json_object_set_new(value, name, one) == 0 ? MORTISE_OK
                                                      : mortise_nomem(err);
}

static int make_budget_command(const struct mortise_args *a, json_t **out,
                               struct mortise_err *err)
{
    json_t *value = json_object();
    int rv = value != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 1; rv == MORTISE_OK && i < a->n_operands; i++)
        rv = add_budget_operand(value, a->operands[i], err);
    *out = rv == MORTISE_OK ? json_pack("[{s:s, s:O, s:s*}]", "kind", "budget",
                                        "value", value, "node", a->at)
                            : NULL;
    json_decref(value);
    return rv;
}

static int raise_budget(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *commands;

    if (make_budget_command(&cli->args, &commands, err) != MORTISE_OK)
        return mortise_cli_fail_usage(cli, "%s", err->msg);
    return mortise_cli_send_to_operand(cli, commands, false, err);
}

static const struct mortise_opt raise_budget_opts[] = {
    MORTISE_OPT_TEXT("at", "PATH", at,
                     "Raise the budget of the subgraph whose execution\n"
                     "has this path (default: the budget of the run)"),
    MORTISE_OPT_FLAG("accept-plugins", accept_plugins,
                     "Continue with the present plugins and tools, even\n"
                     "if they have changed"),
    MORTISE_OPT_JSON("One event a line, then the status of the run"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_raise_budget = {
    .name = "raise-budget",
    .operands = "RUN NAME=[+]N...",
    .summary = "Raise the budget of a run above the value in its graph",
    .text = "NAME is a limit of the graph's budget: tool_calls, model_calls,\n"
            "input_tokens, output_tokens, tokens, usd in dollars (usd=+0.50),\n"
            "or wall with a unit (wall=+10m).  N is the new limit; +N adds N\n"
            "to the current limit.  The command fails if the new limit is not\n"
            "higher than the current limit, or is lower than the amount that\n"
            "is already used.\n"
            "\n"
            "Nodes that wait for this budget continue.  If the run has failed\n"
            "because of this budget, continue the run with 'mortise resume'.\n"
            "The run records who raised the budget.\n"
            "\n"
            "RUN is the whole id of a run.\n",
    .opts = raise_budget_opts,
    .exits = MORTISE_EXITS_RUN,
    .example = "mortise raise-budget night tool_calls=+10",
    .run = raise_budget,
};
