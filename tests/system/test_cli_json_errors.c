/* test_cli_json_errors.c -- what goes wrong under --json is JSON, in one shape
 * for all commands: each line of stderr is {"error": ...} or {"log": ...}, and
 * stdout has what was asked for and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/desk.h"

static json_t *error; /* the last that was told; borrowed from: */
static json_t *line_;

static void forget(void)
{
    json_decref(line_);
    line_ = error = NULL;
}

static const char *text(const char *member)
{
    const char *s = json_string_value(json_object_get(error, member));

    return s != NULL ? s : "";
}

/* Each member of what was told stands in docs/json.md. */
static void is_documented(const char *what)
{
    static char *doc;
    const char *name;
    json_t *member;
    char words[64];

    if (doc == NULL)
        doc = test_read("docs/json.md", NULL);
    json_object_foreach(error, name, member)
    {
        const char *at = strstr(doc, "\n## Errors\n");

        snprintf(words, sizeof words, "`%s`", name);
        ck_assert_msg(at != NULL && strstr(at, words) != NULL &&
                          strstr(at, words) < strstr(at, "\n## Runs\n"),
                      "%s: '%s'", what, name);
    }
}

/* Each line of stderr is one or the other; returns how many are errors. */
static unsigned look(const char *what)
{
    unsigned n = 0;

    forget();
    for (const char *p = child.err; *p != '\0'; p += strcspn(p, "\n") + 1) {
        json_t *v = json_loadb(p, strcspn(p, "\n"), 0, NULL);
        json_t *its = json_object_get(v, "error");

        ck_assert_msg(v != NULL && json_object_size(v) == 1, "%s:\n%s", what,
                      child.err);
        if (its == NULL) {
            ck_assert_msg(json_is_string(json_object_get(
                              json_object_get(v, "log"), "message")),
                          "%s:\n%s", what, child.err);
            json_decref(v);
            continue;
        }
        forget();
        line_ = v;
        error = its;
        ck_assert_msg(text("code")[0] != '\0' && text("message")[0] != '\0',
                      "%s:\n%s", what, child.err);
        is_documented(what);
        n++;
    }
    return n;
}

/* Of stdout each line is JSON, or all of it is. */
static void look_at_output(const char *what)
{
    json_t *all = json_loads(child.out, JSON_DECODE_ANY, NULL);

    for (const char *p = child.out; all == NULL && *p != '\0';
         p += strcspn(p, "\n") + 1) {
        json_t *v = json_loadb(p, strcspn(p, "\n"), JSON_DECODE_ANY, NULL);

        ck_assert_msg(v != NULL, "%s:\n%s", what, child.out);
        json_decref(v);
    }
    json_decref(all);
}

/* A line that fails so, with that code; it is explained. */
static void fails(const char *line, int exit_code, const char *code)
{
    child_run("%s", line);
    desk_code(exit_code);
    ck_assert_msg(look(line) == 1, "%s:\n%s", line, child.err);
    look_at_output(line);
    ck_assert_msg(strcmp(text("code"), code) == 0, "%s: %s, not %s:\n%s", line,
                  text("code"), code, child.err);
    desk_ok("$MORTISE explain %s", code);
}

static bool takes_json(const struct mortise_cmd *cmd)
{
    const struct mortise_opt *o;

    for (size_t i = 0; (o = mortise_opt_get(cmd, i)) != NULL; i++)
        if (strcmp(o->name, "json") == 0)
            return true;
    return false;
}

static bool takes_deployment(const struct mortise_cmd *cmd)
{
    const struct mortise_opt *o;

    for (size_t i = 0; (o = mortise_opt_get(cmd, i)) != NULL; i++)
        if (strcmp(o->name, "deployment") == 0)
            return true;
    return false;
}

/* Issue 15, 4: each command that takes --json, where its line does not read and
 * where its deployment is not there. */
START_TEST(errors_are_json_of_each_command)
{
    unsigned n = 0;

    desk_put("f", "no graph\n");
    for (size_t i = 0; i < mortise_n_commands; i++) {
        const struct mortise_cmd *cmd = mortise_commands[i];
        char what[256];

        if (!takes_json(cmd))
            continue;
        n++;
        snprintf(what, sizeof what, "$MORTISE %s --nope --json", cmd->name);
        fails(what, 3, "E_INVALID");
        ck_assert_ptr_nonnull(strstr(text("help"), cmd->name));
        snprintf(what, sizeof what, "$MORTISE %s --json \"$(printf '\\377')\"",
                 cmd->name);
        fails(what, 3, "E_INVALID");
        ck_assert_ptr_nonnull(strstr(text("message"), "not UTF-8"));
        if (!takes_deployment(cmd) || strcmp(cmd->name, "doctor") == 0)
            continue;
        snprintf(what, sizeof what,
                 "$MORTISE %s %s --json --deployment nowhere.yaml%s", cmd->name,
                 strcmp(cmd->name, "plugin call") == 0 ? "a/b"
                 : strcmp(cmd->name, "mcp call") == 0  ? "a/b"
                 : strstr(cmd->operands, "TEXT") != NULL ||
                         strcmp(cmd->name, "raise-budget") == 0
                     ? "f usd=+1"
                 : strchr(cmd->operands, '[') == cmd->operands ? ""
                 : cmd->operands[0] != '\0'                    ? "f"
                                                               : "",
                 strcmp(cmd->name, "answer") == 0    ? " --value 1"
                 : strcmp(cmd->name, "resolve") == 0 ? " --fail"
                                                     : "");
        child_run("%s </dev/null", what);
        ck_assert_msg(child.code != 0 || strcmp(cmd->name, "explain") == 0,
                      "%s", what);
        if (strcmp(cmd->name, "check") != 0) /* it is a finding there */
            ck_assert_msg(look(what) >= 1, "%s:\n%s", what, child.err);
        look(what);
        look_at_output(what);
    }
    ck_assert_uint_gt(n, 30);
}
END_TEST

static const char strike[] =
    "start: a\nnodes:\n  a: {type: tool, tool: tried/strike, args: {marker: "
    "hit}, next: END}\n";

/* What went wrong elsewhere, with what there is to say of it. */
START_TEST(errors_are_json_whatever_they_are)
{
    fails("$MORTISE --json", 3, "E_INVALID");
    fails("$MORTISE nope --json", 3, "E_INVALID");
    fails("$MORTISE show r --json", 3, "E_NOT_FOUND");
    fails("$MORTISE show \"$(printf '\\377')\" --json", 3, "E_INVALID");
    fails("$MORTISE explain nope.nope --json", 3, "E_NOT_FOUND");
    fails("$MORTISE version --json >/dev/full", 1, "E_IO");
    desk_put("broken.yaml", "start: a\n");
    fails("$MORTISE run broken.yaml --json", 2, "E_CHECK");
    ck_assert_uint_gt(json_array_size(json_object_get(error, "findings")), 1);
    ck_assert_ptr_nonnull(json_object_get(
        json_array_get(json_object_get(error, "findings"), 0), "line"));
    desk_put("broken.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: b}\n"
             "graph: broken.yaml\n");
    fails("$MORTISE test broken.test.yaml --format json", 2, "E_CHECK");
    ck_assert_uint_gt(json_array_size(json_object_get(error, "findings")), 0);
    fails("$MORTISE plugin call tried/fail '{\"code\": \"http.503\"}' --json",
          1, "http.503");
    fails("$MORTISE plugin call tried/nope --json", 3, "E_NOT_FOUND");
    desk_put("bad.yaml", "apiVersion: mortise/v1\nkind: Deployment\nx: 1\n");
    fails("$MORTISE show r --json --deployment bad.yaml", 78, "E_CONFIG");
    fails("$MORTISE plugin list --json --deployment bad.yaml", 2, "E_CHECK");
    ck_assert_uint_gt(json_array_size(json_object_get(error, "findings")), 0);
}
END_TEST

/* What would help comes along, as with words. */
START_TEST(errors_have_what_helps)
{
    desk_graph("ask", "start: [a, b]\nnodes:\n"
                      "  a: {type: human, prompt: Well?, next: END}\n"
                      "  b: {type: human, prompt: Well?, next: END}\n");
    child_run("$MORTISE run ask.yaml --id r");
    fails("$MORTISE approve r --json </dev/null", 3, "E_INVALID");
    ck_assert_uint_eq(json_array_size(json_object_get(error, "pending")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(error, "commands")), 6);
    fails("$MORTISE approve r a --json </dev/null", 3, "E_INVALID");
    ck_assert_uint_eq(json_array_size(json_object_get(error, "commands")), 1);
    child_run("%s", json_string_value(
                        json_array_get(json_object_get(error, "commands"), 0)));
    desk_code(4);
    /* The id of one is no name of another, however it begins. */
    desk_graph("hex", "start: [a, b, c, d, e, f]\nnodes:\n"
                      "  a: {type: human, prompt: Well?, next: END}\n"
                      "  b: {type: human, prompt: Well?, next: END}\n"
                      "  c: {type: human, prompt: Well?, next: END}\n"
                      "  d: {type: human, prompt: Well?, next: END}\n"
                      "  e: {type: human, prompt: Well?, next: END}\n"
                      "  f: {type: human, prompt: Well?, next: END}\n");
    child_run("$MORTISE run hex.yaml --id h");
    for (char node = 'a'; node <= 'f'; node++) {
        char line[64];

        snprintf(line, sizeof line, "$MORTISE approve h %c --json </dev/null",
                 node);
        fails(line, 3, "E_INVALID");
        ck_assert_uint_eq(json_array_size(json_object_get(error, "commands")),
                          1);
    }
    desk_graph("strike", strike);
    child_run("$MORTISE run strike.yaml --id s");
    child_run("$MORTISE resume s");
    fails("$MORTISE resume s --json", 5, "E_IN_DOUBT");
    ck_assert_str_eq(text("run"), "s");
    ck_assert_msg(json_array_size(json_object_get(error, "commands")) > 0, "%s",
                  child.err);
    child_run("$MORTISE cancel s");
    fails("$MORTISE resume s --goto a --json", 5, "E_IN_DOUBT");
    ck_assert_uint_eq(json_array_size(json_object_get(error, "commands")), 1);
    child_run("%s", json_string_value(
                        json_array_get(json_object_get(error, "commands"), 0)));
    desk_code(5);
    desk_ok("rm state/db/CURRENT");
    child_run("$MORTISE show r --json");
    ck_assert_uint_ge(look("show r"), 1);
    ck_assert_str_eq(text("code"), "E_STORE_CORRUPT");
    ck_assert_ptr_nonnull(strstr(child.err, " store salvage"));
}
END_TEST

/* Warnings about a graph are no error, however its run ends. */
START_TEST(warnings_are_no_error)
{
    desk_graph("warned", "start: h\nend: first\nnodes:\n"
                         "  h: {type: human, prompt: Well?}\n");
    child_run("$MORTISE run warned.yaml --id w --json");
    desk_code(4);
    ck_assert_msg(look("run w") == 0, "%s", child.err);
    ck_assert_ptr_nonnull(strstr(child.err, "W0826"));
}
END_TEST

/* The line that docs/json.md shows is one that is told. */
START_TEST(errors_are_in_the_documentation)
{
    char *doc = test_read("docs/json.md", NULL);
    const char *at = strstr(doc, "\n    {\"error\": ");
    json_t *v;

    ck_assert_ptr_nonnull(at);
    v = json_loadb(at, strcspn(at + 1, "\n") + 1, 0, NULL);
    ck_assert_ptr_nonnull(v);
    fails("$MORTISE show x --json --store ./.mortise; code=$?; exit $code", 3,
          json_string_value(
              json_object_get(json_object_get(v, "error"), "code")));
    json_decref(v);
    free(doc);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_json_errors");
    TCase *tc = tcase_create("errors");

    tcase_set_timeout(tc, 100);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_checked_fixture(tc, NULL, forget);
    tcase_add_test(tc, errors_are_json_of_each_command);
    tcase_add_test(tc, errors_are_json_whatever_they_are);
    tcase_add_test(tc, errors_have_what_helps);
    tcase_add_test(tc, warnings_are_no_error);
    tcase_add_test(tc, errors_are_in_the_documentation);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
