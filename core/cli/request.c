/* request.c -- what a run waits for: a request, and the commands that settle
 * it.
 *
 * The commands work as they are printed: pasted into the same shell, they find
 * the store, name the request and carry what it needs.  Where an answer has a
 * schema, the command has the smallest answer that fits, for a person to
 * change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/real.h"
#include "cli/cli.h"
#include "cli/sample.h"
#include "json/value.h"

/* ---- the commands --------------------------------------------------------
 */

/* `  PROGRAM WHAT ... RUN ID`, without a line end. */
static void settle(struct mortise_cli *cli, struct mortise_out *o,
                   const char *what, const char *run, const char *id)
{
    char start[MORTISE_CLI_SHORT_ID + 1] = "";

    strncat(start, id, MORTISE_CLI_SHORT_ID);
    mortise_cli_suggest(cli, o, what, run);
    mortise_out_puts(o, " ");
    mortise_out_shell(o, start);
}

/* ` --OPTION JSON`, of what a schema asks for; NULL: anything. */
static void put_sample(struct mortise_out *o, const char *option,
                       const json_t *schema)
{
    json_t *sample = mortise_json_sample(schema);
    char *text = json_dumps(sample, JSON_ENCODE_ANY);

    mortise_out_printf(o, " --%s ", option);
    mortise_out_shell(o, text != NULL ? text : "null");
    free(text);
    json_decref(sample);
}

/* ` --done JSON`: what the call gives, or the ask of a step. */
static void put_done(struct mortise_out *o, const json_t *request)
{
    const json_t *schema = json_object_get(request, "schema");

    if (schema != NULL)
        put_sample(o, "done", schema);
    else if (strcmp(mortise_cli_text(request, "method"), "http.request/1") == 0)
        mortise_out_puts(o, " --done '{\"status\": 200, \"body\": \"\"}'");
    else
        mortise_out_puts(o, " --done '{}'");
}

static void settle_doubt(struct mortise_cli *cli, struct mortise_out *o,
                         const char *run, const json_t *request,
                         const char *more)
{
    const char *id = mortise_cli_text(request, "id");

    settle(cli, o, "resolve", run, id);
    put_done(o, request);
    mortise_out_printf(o, "%s\n", more);
    settle(cli, o, "resolve", run, id);
    mortise_out_printf(o, " --retry%s\n", more);
    settle(cli, o, "resolve", run, id);
    mortise_out_printf(o, " --fail%s\n", more);
}

const char *mortise_cli_status(const json_t *run)
{
    const char *name = mortise_cli_text(run, "status");
    int status = mortise_status_of_name(name);

    return (status == MORTISE_RUN_ACCEPTED || status == MORTISE_RUN_RUNNING) &&
                   json_is_false(json_object_get(run, "live"))
               ? "interrupted"
               : name;
}

uint64_t mortise_cli_time(const char *text)
{
    struct tm tm = {0};
    unsigned ms = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (rest == NULL || timegm(&tm) < 0)
        return 0;
    sscanf(rest, ".%3u", &ms);
    return (uint64_t)timegm(&tm) * 1000 + ms;
}

bool mortise_cli_is_timer(const json_t *request)
{
    return strcmp(mortise_cli_text(request, "kind"), "timer") == 0;
}

bool mortise_cli_has_expired(const json_t *request)
{
    uint64_t deadline = mortise_cli_time(mortise_cli_text(request, "deadline"));

    return deadline != 0 && deadline <= mortise_now_ms();
}

void mortise_cli_settle(struct mortise_cli *cli, struct mortise_out *o,
                        const char *run, const json_t *request,
                        const char *more)
{
    const char *kind = mortise_cli_text(request, "kind");
    const char *id = mortise_cli_text(request, "id");

    if (mortise_cli_is_timer(request))
        return; /* time does */
    if (strcmp(kind, "in_doubt") == 0) {
        settle_doubt(cli, o, run, request, more);
    } else if (mortise_cli_has_expired(request)) {
        mortise_cli_suggest(cli, o, "resume", run);
        mortise_out_printf(o, "%s\n", more);
    } else if (strcmp(kind, "custom") == 0) {
        settle(cli, o, "answer", run, id);
        put_sample(o, "value", json_object_get(request, "schema"));
        mortise_out_printf(o, "%s\n", more);
    } else if (strcmp(kind, "scheduled_pause") == 0) {
        mortise_cli_suggest(cli, o, "resume", run);
        mortise_out_printf(o, "%s\n", more);
    } else if (strcmp(kind, "budget") == 0) {
        mortise_cli_raise_budget(cli, o, run, request, more);
    } else {
        settle(cli, o, "approve", run, id);
        if (json_object_get(request, "schema") != NULL)
            put_sample(o, "answer", json_object_get(request, "schema"));
        mortise_out_printf(o, "%s\n", more);
        settle(cli, o, "reject", run, id);
        mortise_out_printf(o, " --reason WHY%s\n", more);
    }
}

void mortise_cli_raise(struct mortise_cli *cli, struct mortise_out *o,
                       const char *run, const json_t *limit, const char *more)
{
    mortise_cli_suggest(cli, o, "resume", run);
    mortise_out_puts(o, " --limit ");
    mortise_out_word(o, mortise_cli_text(limit, "limit"));
    mortise_out_printf(
        o, "=%llu%s\n",
        2 * (unsigned long long)mortise_cli_integer(limit, "value"), more);
}

/* ---- printing one -------------------------------------------------------- */

static void field(struct mortise_out *o, const char *name, const json_t *v)
{
    if (v == NULL)
        return;
    mortise_out_puts(o, "    ");
    mortise_out_cell(o, name, 9);
    if (json_is_string(v)) {
        mortise_out_word(o, json_string_value(v));
        mortise_out_puts(o, "\n");
    } else {
        mortise_out_json(o, v, false);
    }
}

const char *mortise_cli_asks(const json_t *request)
{
    static const char *const words[][2] = {
        {"human", "asks a person"},
        {"approval_pending", "wants to run a tool and needs an approval"},
        {"scheduled_pause", "is paused here by the graph"},
        {"budget", "would spend more than its graph may"},
        {"custom", "asks a question"},
        {"timer", "waits for a timer"},
        {"in_doubt", "has an effect that may or may not have happened"},
    };
    const char *kind = mortise_cli_text(request, "kind");

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], kind) == 0)
            return words[i][1];
    return "waits";
}

void mortise_cli_describe(struct mortise_out *o, const json_t *request)
{
    char name[MORTISE_CLI_EXECUTION];

    mortise_out_style(o, MORTISE_ASKS);
    mortise_out_word(o, mortise_cli_execution(request, name));
    mortise_out_printf(o, " %s", mortise_cli_asks(request));
    mortise_out_style(o, MORTISE_PLAIN);
    mortise_out_puts(o, "\n");
    mortise_out_text(o, json_string_value(json_object_get(request, "prompt")),
                     4);
    field(o, "request", json_object_get(request, "id"));
    field(o, "tool", json_object_get(request, "tool"));
    field(o, "args", json_object_get(request, "args"));
    field(o, "effect", json_object_get(request, "effect"));
    field(o, "key", json_object_get(request, "idempotency_key"));
    field(o, "because", json_object_get(request, "cause"));
    field(o, "step", json_object_get(request, "method"));
    field(o, "heard", json_object_get(request, "answer"));
    field(o, "inside", json_object_get(request, "open"));
    field(o, "budget", json_object_get(request, "budget"));
    field(o, "limit", json_object_get(request, "limit"));
    field(o, "graph", json_object_get(request, "graph"));
    field(o, "digest", json_object_get(request, "digest"));
    field(o,
          strcmp(mortise_cli_text(request, "kind"), "in_doubt") == 0 ? "result"
                                                                     : "answer",
          json_object_get(request, "schema"));
    field(o, "for", json_object_get(request, "assignees"));
    field(o, "until", json_object_get(request, "deadline"));
    if (json_is_true(json_object_get(request, "over")))
        mortise_out_puts(o, "    note     it is over: nothing is made again, "
                            "and --retry says that it did not happen\n");
}

struct mortise_cli_way mortise_cli_way_on(const json_t *blocked)
{
    const json_t *lifts = json_object_get(blocked, "unquarantine");
    bool accept = json_is_true(json_object_get(blocked, "accept_plugins"));

    return (struct mortise_cli_way){
        .more = accept ? " --accept-plugins" : "",
        .stuck = json_is_object(blocked) && !accept && lifts == NULL,
        .lifts = lifts,
    };
}

void mortise_cli_lift(struct mortise_cli *cli, struct mortise_out *o,
                      const struct mortise_cli_way *way)
{
    size_t i;
    json_t *plugin;

    json_array_foreach(mortise_json_unconst(way->lifts), i, plugin)
    {
        mortise_cli_suggest(cli, o, "plugin unquarantine",
                            json_string_value(plugin));
        mortise_out_puts(o, "\n");
    }
}

bool mortise_cli_is_asked_again(const struct mortise_cli_way *way,
                                const json_t *request)
{
    return way->more[0] != '\0' &&
           strcmp(mortise_cli_text(request, "kind"), "approval_pending") == 0;
}

void mortise_cli_print_request(struct mortise_cli *cli, struct mortise_out *o,
                               const char *run, const json_t *request,
                               const json_t *blocked)
{
    const struct mortise_cli_way way = mortise_cli_way_on(blocked);

    mortise_cli_describe(o, request);
    if (way.stuck || mortise_cli_is_timer(request))
        return;
    mortise_cli_lift(cli, o, &way);
    if (!mortise_cli_is_asked_again(&way, request)) {
        mortise_cli_settle(cli, o, run, request, way.more);
        return;
    }
    mortise_cli_suggest(cli, o, "resume", run);
    mortise_out_printf(o, "%s\n", way.more);
}

/* Said with a unit, kept in milliseconds. */
bool mortise_cli_is_time(const char *name)
{
    return strcmp(name, "wall") == 0;
}

/* Dollars; everything else is counted. */
bool mortise_cli_is_money(const char *name)
{
    return strcmp(name, "usd") == 0;
}

/* As much again. */
void mortise_cli_raise_budget(struct mortise_cli *cli, struct mortise_out *o,
                              const char *run, const json_t *request,
                              const char *more)
{
    const char *graph = mortise_cli_text(request, "graph");
    const char *name = mortise_cli_text(request, "budget");
    char amount[MORTISE_REAL_TEXT];

    mortise_cli_suggest(cli, o, "raise-budget", run);
    mortise_out_puts(o, " ");
    mortise_out_word(o, name);
    if (mortise_cli_is_money(name))
        mortise_real_text(amount,
                          json_number_value(json_object_get(request, "limit")));
    else
        snprintf(amount, sizeof amount, "%lld",
                 (long long)mortise_cli_integer(request, "limit"));
    mortise_out_printf(o, "=+%s%s", amount,
                       mortise_cli_is_time(name) ? "ms" : "");
    if (graph[0] != '\0') {
        mortise_out_puts(o, " --at ");
        mortise_out_shell(o, graph);
    }
    mortise_out_printf(o, "%s\n", more);
}
