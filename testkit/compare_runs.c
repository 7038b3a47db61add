/* compare_runs.c -- compare a run that crashed with the same run without a
 * crash.
 *
 * Compared are: the end of the run (status, reason, error); the whole state;
 * for each execution, by path, its status, attempts, output and error; and the
 * durable events, in order for each execution and for the run.
 *
 * Not compared are: times (`at`, `ms`, `next_at`, deadlines, creation of
 * traces); sequence numbers and the order of parallel executions, which the
 * state does not depend on; and the requests about doubt with their decisions,
 * which only a crash causes.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "testkit/expect.h"
#include "core/json/diff.h"

struct run_comparison {
    const struct mortise_case *c;
    const char *where;
    struct mortise_diags *diags;
    bool same;
};

enum {
    SHOWN = 200, /* maximum bytes of a value */
    PLACES = 8,  /* maximum differences shown */
    GROUP = 1024 /* a path and the id of a call */
};

/* The places where two values differ, for a finding's help. */
struct difference_list {
    struct mortise_buf words;
    const struct mortise_mem *mem;
    size_t n;
};

static void append_shown_value(struct difference_list *p, const json_t *v)
{
    char *text = v != NULL ? mortise_json_to_text(p->mem, v) : NULL;

    mortise_buf_printf(&p->words, "%.*s", SHOWN,
                       text != NULL ? text : "nothing");
    mortise_release_str(p->mem, text);
}

static void append_difference(void *ud, const char *pointer,
                              const json_t *plain, const json_t *crashed)
{
    struct difference_list *p = ud;

    if (++p->n > PLACES)
        return;
    if (p->n > 1)
        mortise_buf_puts(&p->words, "; ");
    if (pointer[0] != '\0')
        mortise_buf_printf(&p->words, "%s: ", pointer + 1);
    mortise_buf_puts(&p->words, "without the crash ");
    append_shown_value(p, plain);
    mortise_buf_puts(&p->words, ", with the crash ");
    append_shown_value(p, crashed);
}

static void report_run_difference(struct run_comparison *x, const char *what,
                                  const json_t *plain, const json_t *crashed)
{
    struct difference_list p = {.mem = x->diags->arena.mem};
    struct mortise_diag *d = mortise_diag_add(
        x->diags, "E0904", x->c->name->span,
        "when the process is killed %s, the continued run differs in %s",
        x->where, what);

    mortise_buf_init(&p.words, p.mem);
    x->diags->failed |= mortise_json_diff(plain, crashed, p.mem,
                                          append_difference, &p) != MORTISE_OK;
    if (p.n > PLACES)
        mortise_buf_printf(&p.words, "; and %zu more", p.n - PLACES);
    if (mortise_buf_cstr(&p.words) != NULL)
        mortise_diag_help(x->diags, d, "%s", p.words.p);
    mortise_buf_finish(&p.words);
    x->same = false;
}

static bool is_equal_or_absent(const json_t *a, const json_t *b)
{
    return (a == NULL && b == NULL) ||
           (a != NULL && b != NULL && json_equal(a, b));
}

static void compare_values(struct run_comparison *x, const char *what,
                           const json_t *plain, const json_t *crashed)
{
    if (x->same && !is_equal_or_absent(plain, crashed))
        report_run_difference(x, what, plain, crashed);
}

static void compare_show_member(struct run_comparison *x, const char *key,
                                const json_t *plain, const json_t *crashed)
{
    compare_values(x, key, json_object_get(plain, key),
                   json_object_get(crashed, key));
}

/* ---- executions ---------------------------------------------------------- */

static const json_t *find_execution_by_path(const json_t *nodes,
                                            const char *path)
{
    MORTISE_JSON_EACH (n, i, nodes) {
        if (strcmp(mortise_cli_get_text(n, "path"), path) == 0)
            return n;
    }
    return NULL;
}

static void compare_node(struct run_comparison *x, const json_t *plain,
                         const json_t *crashed)
{
    static const char *const keys[] = {"status", "attempts", "output", "error",
                                       "failed"};
    char name[MORTISE_CLI_EXECUTION], what[MORTISE_CLI_EXECUTION + 32];

    mortise_cli_format_execution(plain, name);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        snprintf(what, sizeof what, "the %s of %s", keys[i], name);
        compare_values(x, what, json_object_get(plain, keys[i]),
                       json_object_get(crashed, keys[i]));
    }
}

/* Check that each of `these` is in `those`. */
static void compare_nodes(struct run_comparison *x, const json_t *these,
                          const json_t *those, bool swapped)
{
    for (size_t i = 0; i < json_array_size(these) && x->same; i++) {
        const json_t *n = json_array_get(these, i);
        const char *path = mortise_cli_get_text(n, "path");
        const json_t *other =
            path[0] != '\0' ? find_execution_by_path(those, path) : NULL;

        if (path[0] == '\0')
            continue;
        if (other == NULL)
            report_run_difference(x, path, swapped ? NULL : n,
                                  swapped ? n : NULL);
        else if (!swapped)
            compare_node(x, n, other);
    }
}

/* ---- events -------------------------------------------------------------- */

static bool is_about_doubt(const json_t *event, const json_t *events)
{
    const json_t *request = json_object_get(event, "request");
    const char *type = mortise_cli_get_text(event, "type");
    const char *id = mortise_cli_get_text(event, "id");

    if (strcmp(type, "interrupt") == 0)
        return strcmp(mortise_cli_get_text(request, "kind"), "in_doubt") == 0;
    if (strcmp(type, "decision") != 0)
        return false;
    MORTISE_JSON_EACH (e, i, events) {
        if (strcmp(mortise_cli_get_text(e, "type"), "interrupt") == 0 &&
            strcmp(mortise_cli_get_text(e, "id"), id) == 0)
            return is_about_doubt(e, events);
    }
    return false;
}

static bool is_event_type(const json_t *event, const char *type)
{
    return strcmp(mortise_cli_get_text(event, "type"), type) == 0;
}

/* A copy without the members that a crash may change. */
static json_t *copy_comparable_event(const json_t *event)
{
    static const char *const volatile_members[] = {"seq", "at", "ms",
                                                   "next_at"};
    json_t *v = json_deep_copy(event);

    for (size_t i = 0; i < sizeof volatile_members / sizeof volatile_members[0];
         i++)
        json_object_del(v, volatile_members[i]);
    json_object_del(json_object_get(v, "request"), "deadline");
    json_object_del(json_object_get(v, "trace"), "created_at");
    return v;
}

/* Is it a model call that was repeated because its answer was lost in the
 * crash? */
static bool is_repeated_model_call(const json_t *list, const json_t *event)
{
    if (!is_event_type(event, "model_call"))
        return false;
    MORTISE_JSON_EACH (one, i, list)
        if (json_equal(one, event))
            return true;
    return false;
}

/* Takes the event. */
static int add_comparable_event(json_t *list, json_t *event)
{
    if (!is_repeated_model_call(list, event))
        return json_array_append_new(list, event);
    json_decref(event);
    return 0;
}

/* The execution that an event belongs to.  The tool calls of one agent run in
 * parallel, so each of them is its own group. */
static void format_event_group(const json_t *e, char name[GROUP])
{
    bool of_tool =
        is_event_type(e, "tool_call") || is_event_type(e, "tool_result");

    snprintf(name, GROUP, "%s%s%s", mortise_cli_get_text(e, "path"),
             of_tool ? "/" : "",
             of_tool ? mortise_cli_get_text(e, "call") : "");
}

/* The events of each execution in order: {name: [event ...]}. */
static json_t *group_events(const json_t *events)
{
    json_t *groups = json_object();

    for (size_t i = 0; i < json_array_size(events) && groups != NULL; i++) {
        const json_t *e = json_array_get(events, i);
        char name[GROUP];
        json_t *list;

        if (is_about_doubt(e, events) || is_event_type(e, "budget_warning"))
            continue;
        format_event_group(e, name);
        list = json_object_get(groups, name);
        if (list == NULL) {
            json_object_set_new(groups, name, json_array());
            list = json_object_get(groups, name);
        }
        if (add_comparable_event(list, copy_comparable_event(e)) != 0)
            mortise_json_clear_ref(&groups);
    }
    return groups;
}

static void compare_events(struct run_comparison *x, const json_t *plain,
                           const json_t *crashed)
{
    json_t *a = group_events(plain), *b = group_events(crashed);
    char what[MORTISE_CLI_EXECUTION + 32], name[MORTISE_CLI_EXECUTION];

    x->diags->failed |= a == NULL || b == NULL;
    MORTISE_JSON_MEMBERS (path, list, a) {
        snprintf(what, sizeof what, "the list of events of %s",
                 path[0] != '\0' ? mortise_cli_format_short_path(path, name)
                                 : "the run");
        compare_values(x, what, list, json_object_get(b, path));
    }
    MORTISE_JSON_MEMBERS (path, list, b)
        if (json_object_get(a, path) == NULL)
            compare_values(x, path, NULL, list);
    json_decref(a);
    json_decref(b);
}

static bool exceeds_budget(const json_t *outcome)
{
    const json_t *events = json_object_get(outcome, "events");

    MORTISE_JSON_EACH (e, i, events) {
        if (is_event_type(e, "budget_exceeded"))
            return true;
    }
    return false;
}

static bool has_error_code(const json_t *error, const char *code)
{
    return strcmp(mortise_cli_get_text(error, "code"), code) == 0;
}

static size_t count_failed_doubts(const json_t *outcome)
{
    const json_t *events = json_object_get(outcome, "events");
    size_t n = 0;

    MORTISE_JSON_EACH (e, i, events)
        n += is_event_type(e, "node_failed") &&
             has_error_code(json_object_get(e, "error"), "in_doubt");
    return n;
}

/* Count timeouts of the run (`limits.timeout`) and of nested graphs.  A call's
 * timeout restarts when the call is repeated, so it is not counted. */
static size_t count_graph_timeouts(const json_t *outcome)
{
    const json_t *show = json_object_get(outcome, "show");
    const json_t *error = json_object_get(show, "error");
    size_t n = has_error_code(error, "timeout") &&
               json_object_get(error, "node") == NULL;

    MORTISE_JSON_EACH (one, i, json_object_get(show, "nodes")) {
        const char *type = mortise_cli_get_text(one, "type");

        n += (strcmp(type, "subgraph") == 0 || strcmp(type, "team") == 0) &&
             has_error_code(json_object_get(one, "error"), "timeout");
    }
    return n;
}

/* After a crash the graph may legitimately take another way:
 * - Calls in flight are charged with their whole reservation, which may exceed
 *   a budget that suffices without the crash (`on_exceeded`).
 * - An effect left in doubt fails its node (`on_in_doubt: fail`).
 * - Time since the last commit does not count for a graph's timeout, so the
 *   graph may end before its timeout.
 * Runs that differ in one of these points are not compared. */
bool mortise_expect_check_same(const struct mortise_case *c,
                               const json_t *plain, const json_t *crashed,
                               const char *where, struct mortise_diags *diags)
{
    struct run_comparison x = {c, where, diags, true};
    const json_t *a = json_object_get(plain, "show");
    const json_t *b = json_object_get(crashed, "show");

    if (exceeds_budget(crashed) ||
        count_failed_doubts(crashed) > count_failed_doubts(plain) ||
        count_graph_timeouts(plain) > count_graph_timeouts(crashed))
        return true;
    compare_show_member(&x, "status", a, b);
    compare_show_member(&x, "reason", a, b);
    compare_show_member(&x, "error", a, b);
    compare_show_member(&x, "state", a, b);
    compare_nodes(&x, json_object_get(a, "nodes"), json_object_get(b, "nodes"),
                  false);
    compare_nodes(&x, json_object_get(b, "nodes"), json_object_get(a, "nodes"),
                  true);
    compare_events(&x, json_object_get(plain, "events"),
                   json_object_get(crashed, "events"));
    return x.same;
}
