/* executions.c -- print the executions of a run: one line each, or one in
 * full.
 *
 * (1) A line has the status, the name, the type, the number of attempts if
 *     more than one, the duration once it has ended, and the error.
 * (2) Elements of a map (`read[0]`, `read[1]`) with the same status share a
 *     line, `read[*]`: with their number, the sum of their attempts, the
 *     longest duration and the first error.  So a map of ten thousand elements
 *     prints at most one line per status.
 * (3) `show --node read`, or `--node 'read[7]'`, prints each execution.
 */
#include "cli/executions.h"

#include <string.h>

#include "core/base/err.h"
#include "core/json/value.h"

/* The executions that share a line. */
struct row {
    const json_t *first; /* borrowed */
    const json_t *error; /* borrowed: of `failed`, the first with an error */
    const json_t *failed;
    size_t n, unsettled;
    uint64_t attempts, ms; /* attempts: the sum; ms: the longest */
    bool timed;            /* at least one has ended */
};

void mortise_cli_print_error(struct mortise_out *o, const json_t *error)
{
    const json_t *cause = json_object_get(error, "cause");

    mortise_out_print_escaped(o, "%s: %s", mortise_cli_get_text(error, "code"),
                              mortise_cli_get_text(error, "message"));
    if (cause != NULL)
        mortise_out_print_escaped(o, " (on_error, after %s: %s)",
                                  mortise_cli_get_text(cause, "code"),
                                  mortise_cli_get_text(cause, "message"));
}

static enum mortise_style get_status_style(const char *status)
{
    return strcmp(status, "done") == 0                ? MORTISE_GOOD
           : strcmp(status, "failed") == 0            ? MORTISE_BAD
           : strcmp(status, "awaiting_approval") == 0 ? MORTISE_ATTENTION
           : strcmp(status, "in_doubt") == 0          ? MORTISE_BAD
                                                      : MORTISE_DIM;
}

/* The duration in ms; false if it has not begun or not ended. */
static bool get_duration(const json_t *node, uint64_t *ms)
{
    uint64_t from =
        mortise_cli_parse_time(mortise_cli_get_text(node, "started"));
    uint64_t to = mortise_cli_parse_time(mortise_cli_get_text(node, "ended"));

    *ms = from < to ? to - from : 0;
    return from != 0 && to != 0;
}

/* ---- rows ------------------------------------------------------------------- */

/* The name with `*` instead of each element index; true if it has one. */
static bool format_starred_name(const json_t *node,
                                char out[MORTISE_CLI_EXECUTION])
{
    char name[MORTISE_CLI_EXECUTION];
    bool any = false;
    size_t n = 0;

    mortise_cli_format_execution(node, name);
    for (const char *p = name; *p != '\0'; p++) {
        out[n++] = *p;
        if (*p != '[' || p[1] == '\0')
            continue;
        any = true;
        out[n++] = '*'; /* replaces at least one digit */
        p += strcspn(p, "]") - 1;
    }
    out[n] = '\0';
    return any;
}

static void add_to_row(struct row *r, const json_t *node)
{
    const json_t *error = json_object_get(node, "error");
    uint64_t ms;

    if (r->n++ == 0)
        r->first = node;
    if (error != NULL && r->error == NULL) {
        r->error = error;
        r->failed = node;
    }
    if (get_duration(node, &ms)) {
        r->timed = true;
        r->ms = ms > r->ms ? ms : r->ms;
    }
    r->attempts += mortise_cli_get_integer(node, "attempts");
    r->unsettled += mortise_cli_is_unsettled(node);
}

/* The row of an execution.  `known` maps a row's status and name to its
 * index. */
static struct row *get_execution_row(const json_t *node, json_t *known,
                                     struct row *rows, size_t *n)
{
    char name[MORTISE_CLI_EXECUTION], key[MORTISE_CLI_EXECUTION + 32];
    const json_t *at = NULL;

    if (format_starred_name(node, name)) {
        snprintf(key, sizeof key, "%s %s", mortise_cli_get_text(node, "status"),
                 name);
        at = json_object_get(known, key);
        if (at == NULL &&
            json_object_set_new(known, key, json_integer((json_int_t)*n)) != 0)
            return NULL;
    }
    return at != NULL ? &rows[json_integer_value(at)] : &rows[(*n)++];
}

static void print_row_times(struct mortise_out *o, const struct row *r)
{
    char text[32];

    if (r->n > 1)
        mortise_out_printf(o, "  %zu elements", r->n);
    if (r->attempts > r->n)
        mortise_out_printf(o, "  %llu attempts",
                           (unsigned long long)r->attempts);
    if (r->timed)
        mortise_out_printf(o, "  %s%s", r->n > 1 ? "at most " : "",
                           mortise_out_format_duration(r->ms, text));
}

/* The person who approved the call, and the reason. */
static void print_call_approval(struct mortise_out *o, const json_t *approval)
{
    const char *reason = mortise_cli_get_text(approval, "reason");

    if (approval != NULL)
        mortise_out_print_escaped(
            o, "  approved by %s%s%s%s",
            mortise_cli_get_text(approval, "actor"),
            json_is_true(json_object_get(approval, "edited"))
                ? ", with edited arguments"
                : "",
            reason[0] != '\0' ? ": " : "", reason);
}

/* Why the node uses its model. */
static void print_model_choice(struct mortise_out *o, const json_t *llm)
{
    if (llm != NULL)
        mortise_out_print_escaped(o, "  model: %s",
                                  mortise_cli_get_text(llm, "reason"));
}

static void format_row_name(const struct row *r,
                            char name[MORTISE_CLI_EXECUTION])
{
    if (r->n > 1)
        format_starred_name(r->first, name);
    else
        mortise_cli_format_execution(r->first, name);
}

/* The width of the longest name, within bounds. */
static size_t get_name_columns(const struct row *rows, size_t n)
{
    enum { LEAST = 20, MOST = 48 };
    char name[MORTISE_CLI_EXECUTION], shown[4 * MORTISE_CLI_EXECUTION];
    size_t most = LEAST;

    for (size_t i = 0; i < n; i++) {
        size_t columns;

        format_row_name(&rows[i], name);
        columns = mortise_out_truncate(shown, sizeof shown, name, MOST);
        most = columns > most ? columns : most;
    }
    return most;
}

static void print_execution_row(struct mortise_out *o, const struct row *r,
                                size_t columns)
{
    const char *status = mortise_cli_get_text(r->first, "status");
    char name[MORTISE_CLI_EXECUTION];

    format_row_name(r, name);
    mortise_out_puts(o, "  ");
    mortise_out_put_styled(o, get_status_style(status), status, 18);
    mortise_out_put_cell(o, name, columns);
    mortise_out_print_escaped(o, " %s", mortise_cli_get_text(r->first, "type"));
    if (r->n == 1 && json_object_get(r->first, "tool") != NULL)
        mortise_out_print_escaped(o, " %s",
                                  mortise_cli_get_text(r->first, "tool"));
    print_row_times(o, r);
    if (mortise_cli_waits_for_descriptor(r->first))
        mortise_out_puts(o, "  waits for a file descriptor");
    if (r->error != NULL) {
        mortise_out_puts(o, "  ");
        if (r->n > 1)
            mortise_out_print_escaped(
                o, "%s: ", mortise_cli_format_execution(r->failed, name));
        mortise_cli_print_error(o, r->error);
    }
    if (r->n == 1)
        print_call_approval(o, json_object_get(r->first, "approval"));
    if (r->n == 1)
        print_model_choice(o, json_object_get(r->first, "llm"));
    if (r->unsettled > 0 && r->n == 1)
        mortise_out_puts(o, "  an effect may have happened");
    else if (r->unsettled > 0)
        mortise_out_printf(o, "  effects of %zu elements may have happened",
                           r->unsettled);
    mortise_out_puts(o, "\n");
}

int mortise_cli_print_nodes(struct mortise_cli *cli, const json_t *nodes,
                            struct mortise_err *err)
{
    size_t most = json_array_size(nodes), n = 0, columns;
    struct row *rows = mortise_zalloc(cli->mem, most * sizeof *rows);
    json_t *known = json_object();
    bool ok = rows != NULL && known != NULL;

    MORTISE_JSON_EACH (node, i, nodes) {
        struct row *r = ok ? get_execution_row(node, known, rows, &n) : NULL;

        if (r != NULL)
            add_to_row(r, node);
        ok = r != NULL;
    }
    mortise_out_puts(&cli->out, "\nnodes\n");
    columns = ok ? get_name_columns(rows, n) : 0;
    for (size_t i = 0; ok && i < n; i++)
        print_execution_row(&cli->out, &rows[i], columns);
    json_decref(known);
    mortise_release(cli->mem, rows, most * sizeof *rows);
    return ok ? MORTISE_OK : mortise_nomem(err);
}

/* ---- one execution ----------------------------------------------------- */

bool mortise_cli_is_called(const json_t *object, const char *name)
{
    char called[MORTISE_CLI_EXECUTION];

    return strcmp(mortise_cli_get_text(object, "node"), name) == 0 ||
           strcmp(mortise_cli_get_text(object, "path"), name) == 0 ||
           strcmp(mortise_cli_format_execution(object, called), name) == 0;
}

enum { FIELD = 11 }; /* width of a member's name */

static bool is_list_of_strings(const json_t *list)
{
    MORTISE_JSON_EACH (one, i, list)
        if (!json_is_string(one))
            return false;
    return json_is_array(list);
}

static void print_execution_member(struct mortise_out *o, const char *name,
                                   const json_t *v)
{
    mortise_out_put_styled(o, MORTISE_DIM, name, FIELD);
    if (json_is_string(v)) {
        mortise_out_print_escaped(o, "%s\n", json_string_value(v));
    } else if (is_list_of_strings(v)) {
        MORTISE_JSON_EACH (one, i, v)
            mortise_out_print_escaped(o, "%s%s", i > 0 ? ", " : "",
                                      json_string_value(one));
        mortise_out_puts(o, "\n");
    } else {
        mortise_out_put_json(o, v, true);
    }
}

/* Members that the heading or another line shows. */
static bool is_shown_elsewhere(const char *name)
{
    static const char *const told[] = {"node", "generation", "error", "visit"};

    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        if (strcmp(name, told[i]) == 0)
            return true;
    return false;
}

static void print_execution(struct mortise_out *o, const json_t *node)
{
    const json_t *error = json_object_get(node, "error");
    char name[MORTISE_CLI_EXECUTION], text[32];
    const char *key;
    json_t *v;
    uint64_t ms;

    mortise_out_print_escaped(o, "%s\n",
                              mortise_cli_format_execution(node, name));
    json_object_foreach(mortise_json_unconst(node), key, v)
    {
        if (!is_shown_elsewhere(key) &&
            !(json_is_array(v) && json_array_size(v) == 0))
            print_execution_member(o, key, v);
        if (strcmp(key, "ended") != 0 || !get_duration(node, &ms))
            continue;
        mortise_out_put_styled(o, MORTISE_DIM, "took", FIELD);
        mortise_out_printf(o, "%s\n", mortise_out_format_duration(ms, text));
    }
    if (error == NULL)
        return;
    mortise_out_put_styled(o, MORTISE_BAD, "error", FIELD);
    mortise_cli_print_error(o, error);
    mortise_out_puts(o, "\n");
}

/* {run, nodes: [...]}, a new reference; NULL: memory ran out. */
static json_t *select_executions(const json_t *show, const char *name)
{
    json_t *list = json_array();

    MORTISE_JSON_EACH (node, i, json_object_get(show, "nodes"))
        if (mortise_cli_is_called(node, name) &&
            json_array_append(list, mortise_json_unconst(node)) != 0) {
            json_decref(list);
            return NULL;
        }
    return json_pack("{s:s, s:o}", "run", mortise_cli_get_text(show, "run"),
                     "nodes", list);
}

int mortise_cli_print_node(struct mortise_cli *cli, const json_t *show,
                           const char *name, struct mortise_err *err)
{
    json_t *v = select_executions(show, name);
    const json_t *nodes = json_object_get(v, "nodes");

    if (v == NULL)
        return mortise_nomem(err);
    if (json_array_size(nodes) == 0) {
        json_decref(v);
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "the run %s has no node or execution '%s'",
                            mortise_cli_get_text(show, "run"), name);
    }
    if (cli->args.json)
        return mortise_cli_print_json(cli, v, true, err);
    MORTISE_JSON_EACH (node, i, nodes) {
        if (i > 0)
            mortise_out_puts(&cli->out, "\n");
        print_execution(&cli->out, node);
    }
    json_decref(v);
    return MORTISE_OK;
}
