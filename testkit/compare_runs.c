/* compare_runs.c -- is a run that crashed the same as one that did not?
 *
 * What is compared: how it ended (status, reason, error); the whole state;
 * each execution, by its path: its status, attempts, output and error; and the
 * durable events, those of each execution in their order, and those of the run.
 *
 * What is not: when something was (`at`, `ms`, `next_at`, deadlines, when a
 * trace was made); which number an event has, and the order of executions
 * beside each other, which no state depends on; and the questions about doubt
 * with their answers, which only a crash raises.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "testkit/expect.h"
#include "core/json/diff.h"

struct comparing {
    const struct mortise_case *c;
    const char *where;
    struct mortise_diags *diags;
    bool same;
};

enum {
    SHOWN = 200, /* bytes of a value */
    PLACES = 8,  /* that are shown */
    GROUP = 1024 /* a path, and the id of a call */
};

/* Where two values differ, for a finding's help. */
struct places {
    struct mortise_buf words;
    const struct mortise_mem *mem;
    size_t n;
};

static void put_value(struct places *p, const json_t *v)
{
    char *text = v != NULL ? mortise_json_text(p->mem, v) : NULL;

    mortise_buf_printf(&p->words, "%.*s", SHOWN,
                       text != NULL ? text : "nothing");
    mortise_release_str(p->mem, text);
}

static void put_place(void *ud, const char *pointer, const json_t *plain,
                      const json_t *crashed)
{
    struct places *p = ud;

    if (++p->n > PLACES)
        return;
    if (p->n > 1)
        mortise_buf_puts(&p->words, "; ");
    if (pointer[0] != '\0')
        mortise_buf_printf(&p->words, "%s: ", pointer + 1);
    mortise_buf_puts(&p->words, "without the crash ");
    put_value(p, plain);
    mortise_buf_puts(&p->words, ", with the crash ");
    put_value(p, crashed);
}

static void differ(struct comparing *x, const char *what, const json_t *plain,
                   const json_t *crashed)
{
    struct places p = {.mem = x->diags->arena.mem};
    struct mortise_diag *d = mortise_diag_add(
        x->diags, "E0904", x->c->name->span,
        "when the process is killed %s, the continued run differs in %s",
        x->where, what);

    mortise_buf_init(&p.words, p.mem);
    x->diags->failed |=
        mortise_json_diff(plain, crashed, p.mem, put_place, &p) != MORTISE_OK;
    if (p.n > PLACES)
        mortise_buf_printf(&p.words, "; and %zu more", p.n - PLACES);
    if (mortise_buf_cstr(&p.words) != NULL)
        mortise_diag_help(x->diags, d, "%s", p.words.p);
    mortise_buf_finish(&p.words);
    x->same = false;
}

static bool is_equal(const json_t *a, const json_t *b)
{
    return (a == NULL && b == NULL) ||
           (a != NULL && b != NULL && json_equal(a, b));
}

static void compare(struct comparing *x, const char *what, const json_t *plain,
                    const json_t *crashed)
{
    if (x->same && !is_equal(plain, crashed))
        differ(x, what, plain, crashed);
}

static void compare_member(struct comparing *x, const char *key,
                           const json_t *plain, const json_t *crashed)
{
    compare(x, key, json_object_get(plain, key), json_object_get(crashed, key));
}

/* ---- executions ---------------------------------------------------------- */

static const json_t *by_path(const json_t *nodes, const char *path)
{
    MORTISE_JSON_EACH (n, i, nodes) {
        if (strcmp(mortise_cli_text(n, "path"), path) == 0)
            return n;
    }
    return NULL;
}

static void compare_node(struct comparing *x, const json_t *plain,
                         const json_t *crashed)
{
    static const char *const keys[] = {"status", "attempts", "output", "error",
                                       "failed"};
    char name[MORTISE_CLI_EXECUTION], what[MORTISE_CLI_EXECUTION + 32];

    mortise_cli_execution(plain, name);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        snprintf(what, sizeof what, "the %s of %s", keys[i], name);
        compare(x, what, json_object_get(plain, keys[i]),
                json_object_get(crashed, keys[i]));
    }
}

/* Each of these is in those. */
static void compare_nodes(struct comparing *x, const json_t *these,
                          const json_t *those, bool swapped)
{
    for (size_t i = 0; i < json_array_size(these) && x->same; i++) {
        const json_t *n = json_array_get(these, i);
        const char *path = mortise_cli_text(n, "path");
        const json_t *other = path[0] != '\0' ? by_path(those, path) : NULL;

        if (path[0] == '\0')
            continue;
        if (other == NULL)
            differ(x, path, swapped ? NULL : n, swapped ? n : NULL);
        else if (!swapped)
            compare_node(x, n, other);
    }
}

/* ---- events -------------------------------------------------------------- */

static bool is_about_doubt(const json_t *event, const json_t *events)
{
    const json_t *request = json_object_get(event, "request");
    const char *type = mortise_cli_text(event, "type");
    const char *id = mortise_cli_text(event, "id");

    if (strcmp(type, "interrupt") == 0)
        return strcmp(mortise_cli_text(request, "kind"), "in_doubt") == 0;
    if (strcmp(type, "decision") != 0)
        return false;
    MORTISE_JSON_EACH (e, i, events) {
        if (strcmp(mortise_cli_text(e, "type"), "interrupt") == 0 &&
            strcmp(mortise_cli_text(e, "id"), id) == 0)
            return is_about_doubt(e, events);
    }
    return false;
}

static bool is_type(const json_t *event, const char *type)
{
    return strcmp(mortise_cli_text(event, "type"), type) == 0;
}

/* Without what a crash may change; a new reference. */
static json_t *bare(const json_t *event)
{
    static const char *const passing[] = {"seq", "at", "ms", "next_at"};
    json_t *v = json_deep_copy(event);

    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        json_object_del(v, passing[i]);
    json_object_del(json_object_get(v, "request"), "deadline");
    json_object_del(json_object_get(v, "trace"), "created_at");
    return v;
}

/* A model was asked again whose answer went with the process. */
static bool is_asked_again(const json_t *list, const json_t *event)
{
    if (!is_type(event, "model_call"))
        return false;
    MORTISE_JSON_EACH (one, i, list)
        if (json_equal(one, event))
            return true;
    return false;
}

/* Takes the event. */
static int add_event(json_t *list, json_t *event)
{
    if (!is_asked_again(list, event))
        return json_array_append_new(list, event);
    json_decref(event);
    return 0;
}

/* The execution that an event is of.  The tools of one agent run beside each other:
 * each of their calls is one of its own. */
static void name_group(const json_t *e, char name[GROUP])
{
    bool of_tool = is_type(e, "tool_call") || is_type(e, "tool_result");

    snprintf(name, GROUP, "%s%s%s", mortise_cli_text(e, "path"),
             of_tool ? "/" : "", of_tool ? mortise_cli_text(e, "call") : "");
}

/* The events of each execution in their order: {name: [event ...]}. */
static json_t *grouped(const json_t *events)
{
    json_t *groups = json_object();

    for (size_t i = 0; i < json_array_size(events) && groups != NULL; i++) {
        const json_t *e = json_array_get(events, i);
        char name[GROUP];
        json_t *list;

        if (is_about_doubt(e, events) || is_type(e, "budget_warning"))
            continue;
        name_group(e, name);
        list = json_object_get(groups, name);
        if (list == NULL) {
            json_object_set_new(groups, name, json_array());
            list = json_object_get(groups, name);
        }
        if (add_event(list, bare(e)) != 0)
            mortise_json_drop(&groups);
    }
    return groups;
}

static void compare_events(struct comparing *x, const json_t *plain,
                           const json_t *crashed)
{
    json_t *a = grouped(plain), *b = grouped(crashed);
    char what[MORTISE_CLI_EXECUTION + 32], name[MORTISE_CLI_EXECUTION];

    x->diags->failed |= a == NULL || b == NULL;
    MORTISE_JSON_MEMBERS (path, list, a) {
        snprintf(what, sizeof what, "the list of events of %s",
                 path[0] != '\0' ? mortise_cli_short_path(path, name)
                                 : "the run");
        compare(x, what, list, json_object_get(b, path));
    }
    MORTISE_JSON_MEMBERS (path, list, b)
        if (json_object_get(a, path) == NULL)
            compare(x, path, NULL, list);
    json_decref(a);
    json_decref(b);
}

static bool exceeds_budget(const json_t *outcome)
{
    const json_t *events = json_object_get(outcome, "events");

    MORTISE_JSON_EACH (e, i, events) {
        if (is_type(e, "budget_exceeded"))
            return true;
    }
    return false;
}

static bool has_code(const json_t *error, const char *code)
{
    return strcmp(mortise_cli_text(error, "code"), code) == 0;
}

static size_t count_failed_doubts(const json_t *outcome)
{
    const json_t *events = json_object_get(outcome, "events");
    size_t n = 0;

    MORTISE_JSON_EACH (e, i, events)
        n += is_type(e, "node_failed") &&
             has_code(json_object_get(e, "error"), "in_doubt");
    return n;
}

/* Timeouts of the run (`limits.timeout`) and of graphs in it.  That of a node that
 * is a call begins anew with the call. */
static size_t count_graph_timeouts(const json_t *outcome)
{
    const json_t *show = json_object_get(outcome, "show");
    const json_t *error = json_object_get(show, "error");
    size_t n =
        has_code(error, "timeout") && json_object_get(error, "node") == NULL;

    MORTISE_JSON_EACH (one, i, json_object_get(show, "nodes")) {
        const char *type = mortise_cli_text(one, "type");

        n += (strcmp(type, "subgraph") == 0 || strcmp(type, "team") == 0) &&
             has_code(json_object_get(one, "error"), "timeout");
    }
    return n;
}

/* A crash may have the graph take another way, which the graph itself names:
 * - The calls in flight count as spent with all that was reserved for them.  They
 *   may exceed a budget that is large enough without the crash (`on_exceeded`).
 * - An effect that the crash left in doubt fails its node (`on_in_doubt: fail`).
 * - The time since the last commit does not count for the timeout of a graph, so
 *   the graph may end before its timeout.
 * Such a run is not compared. */
bool mortise_expect_same(const struct mortise_case *c, const json_t *plain,
                         const json_t *crashed, const char *where,
                         struct mortise_diags *diags)
{
    struct comparing x = {c, where, diags, true};
    const json_t *a = json_object_get(plain, "show");
    const json_t *b = json_object_get(crashed, "show");

    if (exceeds_budget(crashed) ||
        count_failed_doubts(crashed) > count_failed_doubts(plain) ||
        count_graph_timeouts(plain) > count_graph_timeouts(crashed))
        return true;
    compare_member(&x, "status", a, b);
    compare_member(&x, "reason", a, b);
    compare_member(&x, "error", a, b);
    compare_member(&x, "state", a, b);
    compare_nodes(&x, json_object_get(a, "nodes"), json_object_get(b, "nodes"),
                  false);
    compare_nodes(&x, json_object_get(b, "nodes"), json_object_get(a, "nodes"),
                  true);
    compare_events(&x, json_object_get(plain, "events"),
                   json_object_get(crashed, "events"));
    return x.same;
}
