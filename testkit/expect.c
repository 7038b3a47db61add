/* expect.c -- compare the outcome of a case with its expectations.
 *
 * Each failed expectation is one finding.  It marks the deepest differing
 * value in the test file, so the right line of a large state is shown.
 */
#include "testkit/expect.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "testkit/expect_time.h"
#include "testkit/rehearsing.h"
#include "core/json/value.h"

enum {
    WHERE = 256,
    SHOWN = 240,
    WORDS = 512
}; /* maximum bytes of a place, a value and a message */

/* Findings go to diags.  NULL: only the result of the comparison is needed. */
struct value_checker {
    struct mortise_diags *diags;
    const struct mortise_mem *mem;
};

/* ---- values -------------------------------------------------------------- */

/* A value on one line, truncated. */
static const char *format_shown_value(const struct value_checker *j,
                                      const json_t *v, char out[SHOWN])
{
    char *text = v != NULL ? mortise_json_to_text(j->mem, v) : NULL;
    size_t n = text != NULL ? strlen(text) : 0;

    snprintf(out, SHOWN, "%s", text != NULL ? text : "?");
    if (n >= SHOWN)
        memcpy(out + SHOWN - 4, "...", 4);
    mortise_release_str(j->mem, text);
    return out;
}

static bool report_value_difference(struct value_checker *j,
                                    const struct mortise_yaml *want,
                                    const json_t *got, const char *where)
{
    char a[SHOWN], b[SHOWN];
    json_t *v;

    if (j->diags == NULL)
        return false;
    v = mortise_yaml_to_json(want, false);
    if (got == NULL)
        mortise_diag_add(j->diags, "E0902", want->span,
                         "%s: expected %s, but it is absent", where,
                         format_shown_value(j, v, a));
    else
        mortise_diag_add(
            j->diags, "E0902", want->span, "%s: expected %s, got %s", where,
            format_shown_value(j, v, a), format_shown_value(j, got, b));
    json_decref(v);
    return false;
}

static bool is_same_scalar(const struct mortise_yaml *want, const json_t *got)
{
    switch (want->kind) {
    case MORTISE_YAML_NULL:
        return json_is_null(got);
    case MORTISE_YAML_BOOL:
        return json_is_boolean(got) && json_is_true(got) == want->u.b;
    case MORTISE_YAML_INT:
        return json_is_integer(got)
                   ? json_integer_value(got) == want->u.i
                   : json_is_real(got) &&
                         json_real_value(got) == (double)want->u.i;
    case MORTISE_YAML_REAL:
        return json_is_number(got) && json_number_value(got) == want->u.d;
    case MORTISE_YAML_STRING:
        return json_is_string(got) && json_string_length(got) == want->len &&
               memcmp(json_string_value(got), want->str, want->len) == 0;
    case MORTISE_YAML_SEQ:
    case MORTISE_YAML_MAP:
        break;
    }
    return false;
}

static bool compare_expected(struct value_checker *j,
                             const struct mortise_yaml *want, const json_t *got,
                             const char *where);

static bool compare_expected_map(struct value_checker *j,
                                 const struct mortise_yaml *want,
                                 const json_t *got, const char *where)
{
    bool same = true;
    char inner[WHERE];

    if (!json_is_object(got))
        return report_value_difference(j, want, got, where);
    for (size_t i = 0; i < want->n; i++) {
        const char *key = want->keys[i]->str;

        snprintf(inner, sizeof inner, "%s%s%s", where,
                 where[0] != '\0' ? "." : "", key);
        same &= compare_expected(j, want->items[i], json_object_get(got, key),
                                 inner);
    }
    return same;
}

/* Report lists of different length, with their first difference. */
static bool report_length_difference(struct value_checker *j,
                                     const struct mortise_yaml *want,
                                     const json_t *got, const char *where)
{
    size_t n = json_array_size(got), i = 0;
    char a[SHOWN], b[SHOWN];
    json_t *v = NULL;

    if (j->diags == NULL)
        return false;
    while (i < n && i < want->n &&
           mortise_expect_is_match(want->items[i], json_array_get(got, i)))
        i++;
    if (i < want->n)
        v = mortise_yaml_to_json(want->items[i], false);
    mortise_diag_add(
        j->diags, "E0902", i < want->n ? want->items[i]->span : want->span,
        "%s: expected %zu elements, got %zu; at [%zu] expected %s, got %s",
        where, want->n, n, i,
        i < want->n ? format_shown_value(j, v, a) : "nothing more",
        i < n ? format_shown_value(j, json_array_get(got, i), b) : "none");
    json_decref(v);
    return false;
}

static bool compare_expected_list(struct value_checker *j,
                                  const struct mortise_yaml *want,
                                  const json_t *got, const char *where)
{
    bool same = true;
    char inner[WHERE];

    if (!json_is_array(got))
        return report_value_difference(j, want, got, where);
    if (json_array_size(got) != want->n)
        return report_length_difference(j, want, got, where);
    for (size_t i = 0; i < want->n; i++) {
        snprintf(inner, sizeof inner, "%s[%zu]", where, i);
        same &=
            compare_expected(j, want->items[i], json_array_get(got, i), inner);
    }
    return same;
}

static bool compare_expected(struct value_checker *j,
                             const struct mortise_yaml *want, const json_t *got,
                             const char *where)
{
    if (want->kind == MORTISE_YAML_MAP)
        return compare_expected_map(j, want, got, where);
    if (want->kind == MORTISE_YAML_SEQ)
        return compare_expected_list(j, want, got, where);
    return is_same_scalar(want, got) ||
           report_value_difference(j, want, got, where);
}

bool mortise_expect_is_match(const struct mortise_yaml *want, const json_t *got)
{
    struct value_checker j = {NULL, NULL};

    return compare_expected(&j, want, got, "");
}

/* ---- the path ------------------------------------------------------------ */

/* Did this execution begin, and was it not skipped? */
static bool is_run_execution(const json_t *node)
{
    return json_object_get(node, "path") != NULL &&
           strcmp(mortise_cli_get_text(node, "status"), "skipped") != 0;
}

/* Compare with `name`, ignoring visits and map elements unless `name` has
 * them. */
static bool is_execution_named(const json_t *node, const char *name)
{
    char whole[MORTISE_CLI_EXECUTION], bare[MORTISE_CLI_EXECUTION];
    size_t n = 0;

    mortise_cli_format_execution(node, whole);
    if (strcmp(whole, name) == 0)
        return true;
    for (const char *p = whole; *p != '\0';) {
        if (*p == '#')
            p += 1 + strspn(p + 1, "0123456789");
        else if (*p == '[')
            p += strcspn(p, "]") + 1;
        else
            bare[n++] = *p++;
    }
    bare[n] = '\0';
    return strcmp(bare, name) == 0;
}

/* The next execution that ran, from *i on; NULL if there is none. */
static const json_t *get_next_run(const json_t *nodes, size_t *i)
{
    while (*i < json_array_size(nodes)) {
        const json_t *node = json_array_get(nodes, (*i)++);

        if (is_run_execution(node))
            return node;
    }
    return NULL;
}

/* Did an execution with that name run, from *i on?  Moves *i behind it. */
static bool find_run_named(const json_t *nodes, size_t *i, const char *name)
{
    const json_t *node;

    do
        node = get_next_run(nodes, i);
    while (node != NULL && !is_execution_named(node, name));
    return node != NULL;
}

static void add_path_help(struct value_checker *j, struct mortise_diag *d,
                          const json_t *nodes)
{
    char text[1024], name[MORTISE_CLI_EXECUTION];
    const json_t *node;
    size_t i = 0, n = 0;

    text[0] = '\0';
    while ((node = get_next_run(nodes, &i)) != NULL && n < sizeof text - 300)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                              n > 0 ? ", " : "",
                              mortise_cli_format_execution(node, name));
    mortise_diag_help(j->diags, d, "executions: %s%s", n > 0 ? text : "nothing",
                      node != NULL ? ", ..." : "");
}

static void judge_path(struct value_checker *j, const struct mortise_yaml *want,
                       const json_t *nodes)
{
    char name[MORTISE_CLI_EXECUTION];
    const json_t *node;
    size_t at = 0;

    for (size_t i = 0; i < want->n; i++) {
        const char *expected = want->items[i]->str;

        node = get_next_run(nodes, &at);
        if (node != NULL && is_execution_named(node, expected))
            continue;
        add_path_help(
            j,
            mortise_diag_add(j->diags, "E0902", want->items[i]->span,
                             "path: expected '%s' here, but %s%s%s ran",
                             expected, node != NULL ? "'" : "",
                             node != NULL
                                 ? mortise_cli_format_execution(node, name)
                                 : "nothing more",
                             node != NULL ? "'" : ""),
            nodes);
        return;
    }
    node = get_next_run(nodes, &at);
    if (node != NULL)
        add_path_help(
            j,
            mortise_diag_add(j->diags, "E0902", want->span,
                             "path: expected no more executions, but '%s' ran",
                             mortise_cli_format_execution(node, name)),
            nodes);
}

static void judge_path_contains(struct value_checker *j,
                                const struct mortise_yaml *want,
                                const json_t *nodes)
{
    size_t at = 0;

    for (size_t i = 0; i < want->n; i++) {
        const char *expected = want->items[i]->str;

        if (find_run_named(nodes, &at, expected))
            continue;
        add_path_help(
            j,
            mortise_diag_add(j->diags, "E0902", want->items[i]->span,
                             "path: '%s' did not run%s", expected,
                             i > 0 ? " after the previous entry" : ""),
            nodes);
        return;
    }
}

static void judge_path_lacks(struct value_checker *j,
                             const struct mortise_yaml *want,
                             const json_t *nodes)
{
    for (size_t i = 0; i < want->n; i++) {
        size_t at = 0;

        if (find_run_named(nodes, &at, want->items[i]->str))
            add_path_help(j,
                          mortise_diag_add(j->diags, "E0902",
                                           want->items[i]->span,
                                           "path: '%s' ran, but must not",
                                           want->items[i]->str),
                          nodes);
    }
}

/* ---- events -------------------------------------------------------------- */

static void judge_events(struct value_checker *j,
                         const struct mortise_yaml *want, const json_t *events)
{
    size_t at = 0;

    for (size_t i = 0; i < want->n; i++) {
        bool found = false;
        struct mortise_diag *d;

        while (!found && at < json_array_size(events))
            found = mortise_expect_is_match(want->items[i],
                                            json_array_get(events, at++));
        if (found)
            continue;
        d = mortise_diag_add(j->diags, "E0902", want->items[i]->span,
                             "events: no event matches this entry%s",
                             i > 0 ? " after the previous entry" : "");
        mortise_diag_help(j->diags, d,
                          "`mortise test --format json` prints all events");
        return;
    }
}

/* ---- all expectations -------------------------------------------------- */

static const char *get_show_error_code(const json_t *show)
{
    return mortise_cli_get_text(json_object_get(show, "error"), "code");
}

/* Describe the request that a run waits for in `words`; "" if there is none. */
static const char *describe_pending_request(const json_t *show,
                                            char words[WORDS])
{
    const json_t *list = json_object_get(show, "pending");
    const json_t *request = json_array_get(list, 0);
    char name[MORTISE_CONTEXT_SIZE];

    words[0] = '\0';
    mortise_make_context_node(mortise_cli_get_text(request, "path"), name);
    if (name[0] != '\0')
        snprintf(words, WORDS,
                 "'%.160s' %s; write the person's decision under people: "
                 "{%.160s: ...}",
                 name, mortise_cli_describe_kind(request), name);
    return words;
}

static void judge_status(struct value_checker *j,
                         const struct mortise_yaml *want, const json_t *show)
{
    const char *status = mortise_cli_get_text(show, "status");
    const char *reason = mortise_cli_get_text(show, "reason");
    const json_t *error = json_object_get(show, "error");
    struct mortise_diag *d;
    char words[WORDS];

    if (strcmp(status, want->str) == 0)
        return;
    d = mortise_diag_add(j->diags, "E0902", want->span,
                         "status: expected %s, got %s%s%s%s", want->str, status,
                         reason[0] != '\0' ? " (" : "", reason,
                         reason[0] != '\0' ? ")" : "");
    if (json_is_object(error))
        mortise_diag_help(j->diags, d, "%s: %s (%s)", get_show_error_code(show),
                          mortise_cli_get_text(error, "message"),
                          mortise_cli_get_text(error, "path"));
    else if (describe_pending_request(show, words)[0] != '\0')
        mortise_diag_help(j->diags, d, "%s", words);
}

static void judge_word(struct value_checker *j, const struct mortise_yaml *want,
                       const char *got, const char *where)
{
    if (strcmp(got, want->str) != 0)
        mortise_diag_add(j->diags, "E0902", want->span,
                         "%s: expected '%s', but %s%s%s", where, want->str,
                         got[0] != '\0' ? "it is '" : "it is absent", got,
                         got[0] != '\0' ? "'" : "");
}

void mortise_expect_report_problems(const struct mortise_case *c,
                                    const json_t *outcome, const char *where,
                                    struct mortise_diags *diags)
{
    const json_t *problems = json_object_get(outcome, "problems");

    for (size_t i = 0; i < json_array_size(problems); i++) {
        const json_t *p = json_array_get(problems, i);
        const char *help = mortise_cli_get_text(p, "help");
        bool crash = strcmp(mortise_cli_get_text(p, "code"), "E0904") == 0;
        struct mortise_diag *d = mortise_diag_add(
            diags, crash ? "E0904" : "E0903", c->name->span, "%s%s%s%s",
            where != NULL ? "killed " : "", where != NULL ? where : "",
            where != NULL ? ": " : "", mortise_cli_get_text(p, "message"));

        if (help[0] != '\0')
            mortise_diag_help(diags, d, "%s", help);
    }
}

void mortise_expect_check(const struct mortise_case *c, const json_t *outcome,
                          struct mortise_diags *diags)
{
    struct value_checker j = {diags, diags->arena.mem};
    const struct mortise_case_expect *e = &c->expect;
    const json_t *show = json_object_get(outcome, "show");
    const json_t *state = json_object_get(show, "state");
    const json_t *nodes = json_object_get(show, "nodes");

    mortise_expect_report_problems(c, outcome, NULL, diags);
    if (e->status != NULL)
        judge_status(&j, e->status, show);
    if (e->reason != NULL)
        judge_word(&j, e->reason, mortise_cli_get_text(show, "reason"),
                   "reason");
    if (e->error != NULL)
        judge_word(&j, e->error, get_show_error_code(show), "error");
    if (e->path != NULL)
        judge_path(&j, e->path, nodes);
    if (e->contains != NULL)
        judge_path_contains(&j, e->contains, nodes);
    if (e->lacks != NULL)
        judge_path_lacks(&j, e->lacks, nodes);
    if (e->scratch != NULL)
        compare_expected(&j, e->scratch, json_object_get(state, "scratch"),
                         "state.scratch");
    if (e->artifacts != NULL)
        compare_expected(&j, e->artifacts, json_object_get(state, "artifacts"),
                         "state.artifacts");
    if (e->events != NULL)
        judge_events(&j, e->events, json_object_get(outcome, "events"));
    mortise_expect_check_times(e, outcome, diags);
}
