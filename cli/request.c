/* request.c -- prints pending requests and the commands that settle them.
 *
 * The commands work as printed: pasted into the same shell, they find the
 * store, name the request and have the necessary options.  If the answer has a
 * schema, the command contains the smallest valid answer, for the user to edit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/real.h"
#include "cli/cli.h"
#include "cli/sample.h"
#include "core/json/value.h"

/* ---- commands ----------------------------------------------------------- */

void mortise_cli_start_command_line(const struct mortise_cli_continuation *way,
                                    const char *what, const json_t *request)
{
    char start[MORTISE_CLI_SHORT_ID + 1] = "";

    strncat(start, mortise_cli_get_text(request, "id"), MORTISE_CLI_SHORT_ID);
    mortise_cli_print_suggestion(way->cli, way->o, what, way->run);
    mortise_out_puts(way->o, " ");
    mortise_out_put_shell_word(way->o, start);
}

/* Put the last option, if any, then the common ones and the line end. */
static void end_command_line(const struct mortise_cli_continuation *way,
                             const char *option)
{
    mortise_out_printf(way->o, "%s%s\n", option, way->more);
}

void mortise_cli_print_command(const struct mortise_cli_continuation *way,
                               const char *what)
{
    mortise_cli_print_suggestion(way->cli, way->o, what, way->run);
    end_command_line(way, "");
}

/* Put ` --OPTION JSON` with a sample for the schema; NULL: anything. */
static void put_sample_option(struct mortise_out *o, const char *option,
                              const json_t *schema)
{
    json_t *sample = mortise_json_make_sample(schema);
    char *text = json_dumps(sample, JSON_ENCODE_ANY);

    mortise_out_printf(o, " --%s ", option);
    mortise_out_put_shell_word(o, text != NULL ? text : "null");
    free(text);
    json_decref(sample);
}

/* Put ` --done JSON`: a sample of the result of the call or step. */
static void put_done_option(struct mortise_out *o, const json_t *request)
{
    static const struct {
        const char *method, *done;
    } examples[] = {
        {"http.request/1", " --done '{\"status\": 200, \"body\": \"\"}'"},
        {"journal.begin/1", " --done '{\"result\": null}'"},
        {"process.run/1", " --done '{\"exit\": 0, \"stdout\": \"\"}'"},
        {"", " --done '{}'"},
    };
    const json_t *schema = json_object_get(request, "schema");
    const char *method = mortise_cli_get_text(request, "method");
    size_t i = 0;

    if (schema != NULL) {
        put_sample_option(o, "done", schema);
        return;
    }
    while (examples[i].method[0] != '\0' &&
           strcmp(method, examples[i].method) != 0)
        i++;
    mortise_out_puts(o, examples[i].done);
}

static void print_doubt_commands(const struct mortise_cli_continuation *way,
                                 const json_t *request)
{
    mortise_cli_start_command_line(way, "resolve", request);
    put_done_option(way->o, request);
    end_command_line(way, "");
    mortise_cli_start_command_line(way, "resolve", request);
    end_command_line(way, " --retry");
    mortise_cli_start_command_line(way, "resolve", request);
    end_command_line(way, " --fail");
}

const json_t *mortise_cli_get_answer_field(const json_t *request,
                                           const char *name)
{
    return json_object_get(
        json_object_get(json_object_get(request, "schema"), "properties"),
        name);
}

bool mortise_cli_is_decision(const json_t *request)
{
    return mortise_cli_is_kind(request, "custom") &&
           mortise_cli_get_answer_field(request, "approved") != NULL;
}

/* Print approve, with a sample if an answer is expected, and reject. */
static void print_yes_no_commands(const struct mortise_cli_continuation *way,
                                  const json_t *request, const json_t *answer)
{
    mortise_cli_start_command_line(way, "approve", request);
    if (answer != NULL)
        put_sample_option(way->o, "answer", answer);
    end_command_line(way, "");
    mortise_cli_start_command_line(way, "reject", request);
    end_command_line(way, " --reason WHY");
}

static void print_question_commands(const struct mortise_cli_continuation *way,
                                    const json_t *request)
{
    if (mortise_cli_is_decision(request)) {
        print_yes_no_commands(way, request,
                              mortise_cli_get_answer_field(request, "answer"));
        return;
    }
    mortise_cli_start_command_line(way, "answer", request);
    put_sample_option(way->o, "value", json_object_get(request, "schema"));
    end_command_line(way, "");
}

static void print_pause_commands(const struct mortise_cli_continuation *way,
                                 const json_t *request)
{
    (void)request;
    mortise_cli_print_command(way, "resume");
}

static double get_request_number(const json_t *request, const char *key)
{
    return json_number_value(json_object_get(request, key));
}

/* Double the limit, or add the amount that the call needs if that is more. */
static double suggest_budget_raise(const json_t *request)
{
    double limit = get_request_number(request, "limit");
    double needs = get_request_number(request, "needs"); /* 0: unknown */
    double lacks = get_request_number(request, "used") +
                   (needs > 0 ? needs : limit) - limit;

    return lacks > limit ? lacks : limit;
}

static void print_budget_commands(const struct mortise_cli_continuation *way,
                                  const json_t *request)
{
    const char *graph = mortise_cli_get_text(request, "graph");
    const char *name = mortise_cli_get_text(request, "budget");
    double more = suggest_budget_raise(request);
    char amount[MORTISE_REAL_TEXT];

    if (mortise_cli_is_money(name))
        mortise_real_format(amount, round(more * 1e9) / 1e9);
    else
        snprintf(amount, sizeof amount, "%.0f", more);
    mortise_cli_print_suggestion(way->cli, way->o, "raise-budget", way->run);
    mortise_out_print_escaped(way->o, " %s=+%s%s", name, amount,
                              mortise_cli_is_time_field(name) ? "ms" : "");
    if (graph[0] != '\0') {
        mortise_out_puts(way->o, " --at ");
        mortise_out_put_shell_word(way->o, graph);
    }
    end_command_line(way, "");
}

/* A request for a child is settled by the child's end, and the child may wait
 * for a person: suggest `why` for the child. */
static void print_child_commands(const struct mortise_cli_continuation *way,
                                 const json_t *request)
{
    const char *child = mortise_cli_get_text(request, "child");

    if (child[0] == '\0')
        return;
    mortise_cli_print_suggestion(way->cli, way->o, "why", child);
    mortise_out_puts(way->o, "\n");
}

static void print_decision_commands(const struct mortise_cli_continuation *way,
                                    const json_t *request)
{
    const json_t *schema = json_object_get(request, "schema");

    print_yes_no_commands(way, request, schema);
    if (schema == NULL && mortise_cli_is_kind(request, "human")) {
        mortise_cli_start_command_line(way, "approve", request);
        end_command_line(way, " --answer '\"TEXT\"'"); /* any JSON is valid */
    }
}

/* The kinds of requests. */
static const struct kind {
    const char *kind; /* kind of the request; NULL: any other */
    const char *asks; /* description of the node's state */
    void (*settle)(const struct mortise_cli_continuation *way,
                   const json_t *request);
} kinds[] = {
    {"human", "asks a person", print_decision_commands},
    {"approval_pending", "wants to call a tool and needs an approval",
     print_decision_commands},
    {"node", "is about to run and needs an approval", print_decision_commands},
    {"plan", "waits for the approval of its plan", print_decision_commands},
    {"scheduled_pause", "is paused by the graph", print_pause_commands},
    {"budget", "would exceed the budget of its graph", print_budget_commands},
    {"custom", "asks a question", print_question_commands},
    {"timer", "waits for a timer", NULL}, /* only time settles it */
    {"spawn", "waits for its child", print_child_commands},
    {"in_doubt", "has an effect that may or may not have happened",
     print_doubt_commands},
    {NULL, "waits", print_decision_commands},
};

static const struct kind *get_request_kind(const json_t *request)
{
    const char *name = mortise_cli_get_text(request, "kind");
    const struct kind *k = kinds;

    while (k->kind != NULL && strcmp(k->kind, name) != 0)
        k++;
    return k;
}

const char *mortise_cli_describe_kind(const json_t *request)
{
    return get_request_kind(request)->asks;
}

bool mortise_cli_is_kind(const json_t *request, const char *kind)
{
    return strcmp(mortise_cli_get_text(request, "kind"), kind) == 0;
}

bool mortise_cli_needs_no_person(const json_t *request)
{
    return mortise_cli_is_kind(request, "timer") ||
           mortise_cli_is_kind(request, "spawn");
}

bool mortise_cli_has_kind(const json_t *pending, const char *kind)
{
    MORTISE_JSON_EACH (request, i, pending)
        if (mortise_cli_is_kind(request, kind))
            return true;
    return false;
}

bool mortise_cli_has_expired(const json_t *request)
{
    uint64_t deadline =
        mortise_cli_parse_time(mortise_cli_get_text(request, "deadline"));

    return deadline != 0 && deadline <= mortise_now_ms();
}

void mortise_cli_print_settling(const struct mortise_cli_continuation *way,
                                const json_t *request)
{
    const struct kind *k = get_request_kind(request);

    if (k->settle == NULL)
        return;
    if (k->settle != print_doubt_commands && mortise_cli_has_expired(request))
        print_pause_commands(way, request);
    else
        k->settle(way, request);
}

void mortise_cli_print_corrections(const struct mortise_cli_continuation *way,
                                   const json_t *show)
{
    const json_t *nodes = json_object_get(show, "nodes");
    const char *id;
    json_t *said;

    MORTISE_JSON_EACH (node, i, nodes)
        json_object_foreach(
            mortise_json_unconst(json_object_get(node, "resolved")), id, said)
        {
            json_t *request = json_pack("{s:s, s:O*}", "id", id, "method",
                                        json_object_get(said, "method"));

            if (request != NULL) {
                mortise_cli_start_command_line(way, "resolve", request);
                put_done_option(way->o, request);
                end_command_line(way, "");
            }
            json_decref(request);
        }
}

void mortise_cli_print_limit_raise(const struct mortise_cli_continuation *way,
                                   const json_t *limit)
{
    const char *name = mortise_cli_get_text(limit, "limit");
    uint64_t raise = mortise_cli_get_integer(limit, "raise");

    if (raise == 0) {
        mortise_out_print_escaped(
            way->o,
            "  limits.%s of the deployment does not allow a higher limit.\n",
            name);
        return;
    }
    mortise_cli_print_suggestion(way->cli, way->o, "resume", way->run);
    mortise_out_print_escaped(way->o, " --limit %s=%llu", name,
                              (unsigned long long)raise);
    end_command_line(way, "");
}

/* ---- printing requests -------------------------------------------------- */

static void print_request_field(struct mortise_out *o, const char *name,
                                const json_t *v)
{
    if (v == NULL)
        return;
    mortise_out_puts(o, "    ");
    mortise_out_put_cell(o, name, 9);
    if (json_is_string(v)) {
        mortise_out_put_escaped(o, json_string_value(v));
        mortise_out_puts(o, "\n");
    } else {
        mortise_out_put_json(o, v, false);
    }
}

/* The idempotency key that the other side has seen.  For a call, or a step that
 * the plugin performs itself, the plugin got it.  For a plugin's HTTP request,
 * only a header that the author set was sent. */
const json_t *mortise_cli_get_idempotency_key(const json_t *request)
{
    const json_t *headers =
        json_object_get(json_object_get(request, "args"), "headers");
    const char *name;
    json_t *value;

    if (json_object_get(request, "step") == NULL ||
        strcmp(mortise_cli_get_text(request, "method"), "journal.begin/1") == 0)
        return json_object_get(request, "idempotency_key");
    json_object_foreach(mortise_json_unconst(headers), name, value)
    {
        if (strcasecmp(name, "idempotency-key") == 0)
            return value;
    }
    return NULL;
}

/* Print the payload of a plugin's question.  Known members have a line each;
 * any other payload is printed as a whole. */
static void print_request_payload(struct mortise_out *o, const json_t *payload)
{
    static const char *const members[] = {"server", "tool", "url"};
    bool known = false;

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *v = json_object_get(payload, members[i]);

        print_request_field(o, members[i], v);
        known |= v != NULL;
    }
    if (!known)
        print_request_field(o, "payload", payload);
}

/* Print the picture of the plan, and its text to be edited. */
static void print_requested_plan(struct mortise_out *o, const json_t *request)
{
    mortise_out_put_text(o, mortise_cli_get_text(request, "picture"), 4);
    mortise_out_puts(o, "\n");
    mortise_out_put_text(o, mortise_cli_get_text(request, "graph"), 4);
}

bool mortise_cli_is_offered(const json_t *pending, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (mortise_cli_is_same_budget(json_array_get(pending, k),
                                       json_array_get(pending, i)))
            return true;
    }
    return false;
}

void mortise_cli_print_question(struct mortise_out *o, const json_t *request)
{
    /* Member NULL: the idempotency key. */
    static const struct {
        const char *word, *member;
    } fields[] = {
        {"request", "id"},    {"tool", "tool"},     {"goal", "goal"},
        {"args", "args"},     {"effect", "effect"}, {"key", NULL},
        {"because", "cause"}, {"step", "method"},   {"heard", "answer"},
        {"inside", "open"},   {"budget", "budget"}, {"limit", "limit"},
        {"used", "used"},     {"needs", "needs"},   {"graph", "graph"},
        {"digest", "digest"}, {"role", "role"},     {"judge", "judge"},
        {"child", "child"},
    };
    bool is_plan = mortise_cli_is_kind(request, "plan");
    char name[MORTISE_CLI_EXECUTION];

    mortise_out_set_style(o, MORTISE_ATTENTION);
    mortise_out_print_escaped(o, "%s %s",
                              mortise_cli_format_execution(request, name),
                              mortise_cli_describe_kind(request));
    mortise_out_set_style(o, MORTISE_PLAIN);
    mortise_out_puts(o, "\n");
    mortise_out_put_text(
        o, json_string_value(json_object_get(request, "prompt")), 4);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!is_plan || strcmp(fields[i].word, "graph") != 0)
            print_request_field(o, fields[i].word,
                                fields[i].member != NULL
                                    ? json_object_get(request, fields[i].member)
                                    : mortise_cli_get_idempotency_key(request));
    print_request_payload(o, json_object_get(request, "payload"));
    if (is_plan)
        print_requested_plan(o, request);
    print_request_field(
        o, mortise_cli_is_kind(request, "in_doubt") ? "result" : "answer",
        json_object_get(request, "schema"));
    print_request_field(o, "for", json_object_get(request, "assignees"));
    print_request_field(o, "until", json_object_get(request, "deadline"));
    if (!mortise_cli_needs_no_person(request) &&
        mortise_cli_has_expired(request))
        mortise_out_puts(
            o, "    note     it expired and cannot be answered any more; when "
               "the run is resumed, the node follows its on_timeout\n");
    if (json_is_true(json_object_get(request, "over")))
        mortise_out_puts(
            o, "    note     its node has ended: nothing is repeated, and "
               "--retry records that the effect did not happen\n");
}

void mortise_cli_format_block(const json_t *blocked,
                              char out[MORTISE_CLI_BLOCKED])
{
    static const char mark[] = ": error[";
    const char *line = mortise_cli_get_text(blocked, "message");
    size_t n = strcspn(line, "\n");

    snprintf(out, MORTISE_CLI_BLOCKED, "%.*s", (int)n, line);
    for (line += n; *line != '\0'; line += n) {
        size_t at = strlen(out);

        line++;
        n = strcspn(line, "\n");
        if (memmem(line, n, mark, sizeof mark - 1) != NULL)
            snprintf(out + at, MORTISE_CLI_BLOCKED - at, "  %.*s", (int)n,
                     line);
    }
}

struct mortise_cli_continuation
mortise_cli_get_continuation(struct mortise_cli *cli, struct mortise_out *o,
                             const char *run, const json_t *blocked)
{
    const json_t *lifts = json_object_get(blocked, "unquarantine");
    bool accept = json_is_true(json_object_get(blocked, "accept_plugins"));

    return (struct mortise_cli_continuation){
        .cli = cli,
        .o = o,
        .run = run,
        .more = accept ? " --accept-plugins" : "",
        .stuck = json_is_object(blocked) && !accept && lifts == NULL,
        .lifts = lifts,
    };
}

void mortise_cli_print_unquarantine(const struct mortise_cli_continuation *way,
                                    const char *plugin)
{
    mortise_cli_print_suggestion(way->cli, way->o, "plugin unquarantine",
                                 plugin);
    mortise_out_puts(way->o, "\n");
}

void mortise_cli_print_unquarantines(const struct mortise_cli_continuation *way)
{
    MORTISE_JSON_EACH (plugin, i, way->lifts)
        mortise_cli_print_unquarantine(way, json_string_value(plugin));
}

bool mortise_cli_is_asked_again(const struct mortise_cli_continuation *way,
                                const json_t *request)
{
    return way->more[0] != '\0' &&
           mortise_cli_is_kind(request, "approval_pending");
}

void mortise_cli_print_commands(const struct mortise_cli_continuation *way,
                                const json_t *request)
{
    if (way->stuck)
        return;
    mortise_cli_print_unquarantines(way);
    if (mortise_cli_is_asked_again(way, request))
        mortise_cli_print_command(way, "resume");
    else
        mortise_cli_print_settling(way, request);
}

void mortise_cli_print_request(const struct mortise_cli_continuation *way,
                               const json_t *request)
{
    mortise_cli_print_question(way->o, request);
    if (!way->stuck && !mortise_cli_needs_no_person(request))
        mortise_cli_print_commands(way, request);
    else if (mortise_cli_is_kind(request, "spawn"))
        print_child_commands(way, request);
}

json_t *mortise_cli_split_commands(const char *lines)
{
    json_t *list = json_array();

    while (*lines != '\0') {
        size_t n = strcspn(lines, "\n");

        if (n > 2 && strncmp(lines, "  ", 2) == 0)
            json_array_append_new(list, json_stringn(lines + 2, n - 2));
        lines += n + (lines[n] == '\n');
    }
    return list;
}

bool mortise_cli_has_deadline(const json_t *request)
{
    return json_object_get(request, "deadline") != NULL &&
           !mortise_cli_has_expired(request);
}

void mortise_cli_print_engine_hint(struct mortise_cli *cli,
                                   const json_t *pending)
{
    bool any = false;

    MORTISE_JSON_EACH (request, i, pending)
        any = any || mortise_cli_has_deadline(request);
    if (!any || mortise_session_is_persistent(cli->session))
        return;
    mortise_out_puts(&cli->out, "A deadline takes effect only while an engine "
                                "runs for this store:\n");
    mortise_cli_start_suggestion(cli, &cli->out, "engine");
    mortise_out_puts(&cli->out, "\n");
}

void mortise_cli_print_run_engine_hint(struct mortise_cli *cli,
                                       const json_t *show)
{
    /* the engine ignores deadlines of a run that a person paused */
    if (strcmp(mortise_cli_get_text(show, "reason"), "operator") != 0)
        mortise_cli_print_engine_hint(cli, json_object_get(show, "pending"));
}

/* ---- all pending requests ----------------------------------------------- */

static bool has_no_request_for_person(const json_t *pending)
{
    MORTISE_JSON_EACH (request, i, pending)
        if (!mortise_cli_needs_no_person(request))
            return false;
    return true;
}

void mortise_cli_print_unblock(const struct mortise_cli_continuation *way,
                               const json_t *show)
{
    const json_t *limit = json_object_get(show, "limit");
    bool limited = json_is_object(limit);

    if (way->stuck ||
        (!limited &&
         !has_no_request_for_person(json_object_get(show, "pending")) &&
         strcmp(mortise_cli_get_text(show, "reason"), "operator") != 0))
        return;
    mortise_cli_print_unquarantines(way);
    if (limited)
        mortise_cli_print_limit_raise(way, limit);
    else
        mortise_cli_print_command(way, "resume");
}

void mortise_cli_print_unblock_refused(
    const struct mortise_cli_continuation *way, const json_t *show, bool doubt)
{
    const json_t *pending = json_object_get(show, "pending");

    MORTISE_JSON_EACH (one, i, pending)
        if (!doubt || mortise_cli_is_kind(one, "in_doubt"))
            mortise_cli_print_request(way, one);
    if (way->stuck ||
        (json_is_true(json_object_get(show, "live")) &&
         mortise_session_engine(way->cli->session) == NULL) ||
        (doubt ? mortise_cli_has_kind(pending, "in_doubt")
               : !has_no_request_for_person(pending)))
        return;
    mortise_cli_print_unquarantines(way);
    mortise_cli_print_command(way, "resume");
}
