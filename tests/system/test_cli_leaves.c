/* test_cli_leaves.c -- leaves with models: what exactly one is told and offered, how
 * it reports, and what of its output others are told.  The models are scripted, or
 * show what they were asked, or stand behind a server of the test's own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/shelf.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "speaks");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

static void deploy(const char *models)
{
    char text[3 * PATH_MAX + 4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\nmodels:\n%s",
             shelf.plugins, shelf.trust, models);
    desk_put("mortise.yaml", text);
}

/* What a node's record has under that name, a new reference. */
static json_t *record(const char *node, const char *name)
{
    json_t *show, *found = NULL, *one;
    size_t i;

    desk_ok("$MORTISE show r --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    json_array_foreach(json_object_get(show, "nodes"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "node")), node) == 0)
            found = json_object_get(one, name);
    }
    json_incref(found);
    json_decref(show);
    return found;
}

static void assert_record(const char *node, const char *name, const char *want)
{
    json_t *got = record(node, name),
           *value = json_loads(want, JSON_DECODE_ANY, NULL);
    char *text = json_dumps(got, JSON_ENCODE_ANY);

    ck_assert_msg(json_equal(got, value), "%s of %s is %s", name, node, text);
    free(text);
    json_decref(got);
    json_decref(value);
}

/* What the model of a leaf was asked, as it shows it. */
static json_t *asked(const char *node)
{
    json_t *output = record(node, "output");
    json_t *got = json_loads(json_string_value(output), 0, NULL);

    ck_assert_ptr_nonnull(got);
    json_decref(output);
    return got;
}

#define SAYS(role, text)                                                       \
    "{\"role\": \"" role                                                       \
    "\", \"parts\": [{\"type\": \"text\", \"text\": \"" text "\"}]}"
#define REPORT(schema)                                                         \
    "{\"name\": \"report_result\", \"description\": \"Say that you are done, " \
    "and what the result is. Nothing of your work but that is passed on.\", "  \
    "\"parameters\": {\"type\": \"object\", \"required\": [\"result\"], "      \
    "\"properties\": {\"result\": " schema "}}}"

static void assert_json(json_t *got, const char *want)
{
    json_t *value = json_loads(want, JSON_DECODE_ANY, NULL);
    char *text = json_dumps(got, JSON_ENCODE_ANY);

    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(got, value), "%s", text);
    free(text);
    json_decref(value);
}

/* ---- what it is told --------------------------------------------------------- */

/* A leaf's prompt, recorded, has what the language says and nothing else: neither the
 * graph's goal, nor its persona, nor what another node came to. */
START_TEST(a_prompt_is_what_it_says)
{
    json_t *got;

    deploy("  default: {provider: speaks, model: small}\n"
           "  other: {provider: speaks, model: large}\n");
    desk_graph(
        "g",
        "goal: The whole of it\n"
        "persona: {mood: grim}\n"
        "roles: {scout: {system_prompt_fragment: Look around., "
        "suggested_temperature: 0.5}}\n"
        "start: [a, d, e, far]\n"
        "nodes:\n"
        "  far: {type: tool, tool: text/join, args: {parts: [far away]}}\n"
        "  a: {goal: say found it}\n"
        "  b: {type: tool, tool: text/join, args: {parts: [x, y]}, depends_on: "
        "far}\n"
        "  c: {goal: show, role: scout, depends_on: [b, a], max_tokens: 99, "
        "llm: {provider_id: other, reason: it is big}, "
        "max_internal_iterations: "
        "3}\n"
        "  d: {goal: show, tool_allowlist: [text/join], temperature: 1}\n"
        "  e: {type: gmi, prompt: say so, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    got = asked("c");
    assert_json(
        got,
        "{\"model\": \"large\", \"messages\": [" SAYS(
            "system",
            "Look "
            "around."
            "\\n\\nshow") ", " SAYS("user",
                                    "Result of "
                                    "b:\\n\\n{\\\"text\\"
                                    "\":\\\"xy\\\"}") ", "
                                                      "" SAYS(
                                                          "user",
                                                          "Result of "
                                                          "a:\\n\\nfound "
                                                          "it") ", " SAYS("use"
                                                                          "r",
                                                                          "sho"
                                                                          "w") "], \"tools\": "
                                                                               "[" REPORT(
                                                                                   "{\"type\""
                                                                                   ": "
                                                                                   "\"string"
                                                                                   "\"}") "],"
                                                                                          " "
                                                                                          "\""
                                                                                          "pa"
                                                                                          "ra"
                                                                                          "ll"
                                                                                          "el"
                                                                                          "_t"
                                                                                          "oo"
                                                                                          "ls"
                                                                                          "\""
                                                                                          ": "
                                                                                          "fa"
                                                                                          "ls"
                                                                                          "e,"
                                                                                          " "
                                                                                          "\""
                                                                                          "te"
                                                                                          "mp"
                                                                                          "er"
                                                                                          "at"
                                                                                          "ur"
                                                                                          "e"
                                                                                          "\""
                                                                                          ": "
                                                                                          "0."
                                                                                          "5,"
                                                                                          " "
                                                                                          "\""
                                                                                          "ma"
                                                                                          "x_"
                                                                                          "to"
                                                                                          "ke"
                                                                                          "ns"
                                                                                          "\""
                                                                                          ": "
                                                                                          "99"
                                                                                          ", "
                                                                                          "\""
                                                                                          "st"
                                                                                          "re"
                                                                                          "am"
                                                                                          "\""
                                                                                          ": "
                                                                                          "tr"
                                                                                          "ue"
                                                                                          "}");
    json_decref(got);
    got = asked("d");
    ck_assert_uint_eq(json_array_size(json_object_get(got, "tools")), 2);
    ck_assert_str_eq(
        json_string_value(json_object_get(
            json_array_get(json_object_get(got, "tools"), 0), "name")),
        "text__join");
    ck_assert_uint_eq(json_array_size(json_object_get(got, "messages")), 2);
    assert_json(json_object_get(got, "temperature"), "1");
    json_decref(got);
}
END_TEST

/* ---- its report --------------------------------------------------------------- */

/* What it reports is its output, once it is what was asked for; what the same reply
 * calls besides is run. */
START_TEST(it_reports)
{
    deploy("  default:\n"
           "    provider: scripted\n"
           "    model: m\n"
           "    replies:\n"
           "      - {when: {user: plain, turn: 0}, tool_calls: [{name: "
           "report_result, arguments: {result: done}}, {name: text__join, "
           "arguments: {parts: [a, b]}}, {name: report_result, arguments: "
           "{result: too late}}]}\n"
           "      - {when: {user: shape, turn: 0}, tool_calls: [{name: "
           "report_result, arguments: {}}]}\n"
           "      - {when: {user: shape, turn: 1}, tool_calls: [{name: "
           "report_result, arguments: {result: three}}]}\n"
           "      - {when: {user: shape, turn: 2}, tool_calls: [{name: "
           "report_result, arguments: {result: {n: 3}}}]}\n"
           "      - {when: {user: talks}, text: as it is}\n"
           "      - {when: {user: never}, tool_calls: [{name: report_result, "
           "arguments: {}}]}\n");
    desk_graph("g",
               "start: [p, s, t, n]\n"
               "nodes:\n"
               "  p: {goal: plain, tool_allowlist: [text/join]}\n"
               "  s: {goal: shape, output_schema: {type: object, required: "
               "[n]}}\n"
               "  t: {goal: talks}\n"
               "  n: {goal: never, on_error: {value: error.code}}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    assert_record("p", "output", "\"done\"");
    assert_record("text__join", "output", "{\"text\": \"ab\"}");
    assert_record("s", "output", "{\"n\": 3}");
    assert_record("t", "output", "\"as it is\"");
    assert_record("n", "output", "\"loop\"");
    desk_ok(
        "$MORTISE events r --json | grep -o 'That is no result: [a-z_ {}]*' "
        "| sort -u || true");
}
END_TEST

/* A tool that is not in its list is none; what the list has is run as any node's tool
 * is, approved where the mode says so. */
START_TEST(its_tools_are_approved)
{
    deploy(
        "  default:\n"
        "    provider: scripted\n"
        "    model: m\n"
        "    replies:\n"
        "      - {when: {turn: 0}, tool_calls: [{name: text__lines, arguments: "
        "{text: x}}, {name: text__join, arguments: {parts: [a]}}]}\n"
        "      - {text: fine}\n");
    desk_graph("g", "hitl_mode: approve_tools\n"
                    "start: p\n"
                    "nodes:\n"
                    "  p: {goal: go, tool_allowlist: [text/join]}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_approve_plan("r");
    child_run("$MORTISE approve r $($MORTISE inbox r --ids | cut -d' ' -f2)");
    desk_code(4); /* the leaf, and then what it calls */
    desk_ok("$MORTISE approve r $($MORTISE inbox r --ids | cut -d' ' -f2)");
    assert_record("p", "output", "\"fine\"");
    desk_ok("$MORTISE events r --json | grep -c text__lines");
    desk_ok("! $MORTISE show r --json | grep -q '\"node\": \"text__lines\"'");
}
END_TEST

/* ---- what of it others are told ------------------------------------------------ */

static const char bodies[] =
    "  default: {provider: openai, model: m, base_url: \"%s\"}\n";

#define REPLY(text)                                                            \
    "{\"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": "     \
    "\"" text "\"}, \"finish_reason\": \"stop\"}], \"usage\": "                \
    "{\"prompt_tokens\": 5, \"completion_tokens\": 2}}"

/* What makes an output short asks a model once: a kill behind its answer asks nobody
 * again, and one before it asks for that alone. */
START_TEST(a_kill_asks_nothing_twice)
{
    struct httpd *d = httpd_start();
    char models[512];
    pid_t pid;

    snprintf(models, sizeof models, bodies, httpd_url(d, "/v1"));
    deploy(models);
    desk_ok("seq -s ' ' 600 >long");
    desk_graph("g", "start: a\n"
                    "nodes:\n"
                    "  a: {type: tool, tool: text/join, args: {parts: "
                    "[\"${input.long}\"]}}\n"
                    "  b: {goal: go, depends_on: a}\n");
    if (_i == 0) { /* the compaction is out */
        httpd_on(d, "/v1/chat/completions");
        httpd_wait(d, 60000);
        httpd_times(d, 1);
    }
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("in short"));
    pid = child_start("run",
                      "$MORTISE run g.yaml --id r --input \"{\\\"long\\\": "
                      "\\\"$(cat long)\\\"}\"");
    if (_i == 0) {
        httpd_await(d, 1);
        ck_assert_uint_eq(httpd_requests(d), 1);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        child_wait(pid);
        desk_ok("$MORTISE resume r");
    } else {
        child_wait(pid);
    }
    ck_assert_uint_eq(httpd_requests(d), _i == 0 ? 3 : 2);
    assert_record("a", "compacted_output", "\"in short\"");
    assert_record("a", "compaction", "{\"how\": \"made\"}");
    ck_assert_ptr_nonnull(strstr(httpd_request(d, _i == 0 ? 2 : 1),
                                 "Result of a:\\n\\nin short"));
    httpd_stop(d);
}
END_TEST

/* A server that fails is no dead run: the beginning is told, and the record says
 * why. */
START_TEST(a_server_that_fails_is_no_dead_run)
{
    struct httpd *d = httpd_start();
    char models[512];

    snprintf(models, sizeof models,
             "  default: {provider: speaks, model: m}\n"
             "  broken: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy(models);
    desk_ok("seq -s ' ' 600 >long");
    httpd_answer(d, "/v1/chat/completions", "400 Bad Request",
                 "Content-Type: application/json\r\n",
                 "{\"error\": {\"message\": \"no\"}}");
    desk_graph("h",
               "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: text/join, args: {parts: "
               "[\"${input.long}\"]}}\n"
               "  b: {goal: show, depends_on: a, llm: {provider_id: broken}, "
               "on_error: {value: \"'it failed'\"}}\n");
    desk_ok("$MORTISE run h.yaml --id r --input \"{\\\"long\\\": "
            "\\\"$(cat long)\\\"}\"");
    desk_out("the output was cut for dependent nodes: model.");
    desk_ok("$MORTISE show r --json | grep -A3 '\"compaction\"'");
    desk_out("\"how\": \"cut\"");
    httpd_stop(d);
}
END_TEST

/* ---- who judges ----------------------------------------------------------------- */

/* A model judges what people would be asked, by criteria; what it is not sure of, they
 * are asked, and see what it said.
 * key: judge.provider, judge.model */
START_TEST(a_model_judges)
{
    struct httpd *d = httpd_start();
    char models[512];
    const char *asked;

    snprintf(models, sizeof models,
             "  default: {provider: speaks, model: small}\n"
             "  sure: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy(models);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n",
                 REPLY("{\\\"approved\\\": true, \\\"confidence\\\": 0.8, "
                       "\\\"reason\\\": \\\"small\\\", \\\"answer\\\": 3}"));
    httpd_on(d, "/v1/chat/completions");
    desk_graph("g",
               "start: [a, b]\n"
               "nodes:\n"
               "  a: {type: human, prompt: \"pay ${input.n}?\", schema: "
               "{type: integer}, judge: {provider: sure, model: tiny, "
               "criteria: \"less than ${input.n}0\"}}\n"
               "  b: {type: human, prompt: really?, schema: {type: integer}, "
               "judge: {provider: sure, "
               "criteria: none, confidence_threshold: 0.81}}\n");
    child_run("$MORTISE run g.yaml --id r --input '{\"n\": 5}'");
    desk_code(4);
    assert_record("a", "output",
                  "{\"approved\": true, \"reason\": \"small\", \"decided_by\": "
                  "\"judge\", \"answer\": 3}");
    ck_assert_uint_eq(httpd_requests(d), 2);
    /* both start at once: either may come first */
    asked = httpd_request(d, strstr(httpd_request(d, 0), "pay 5?") == NULL);
    ck_assert_ptr_nonnull(strstr(asked, "pay 5?"));
    ck_assert_ptr_nonnull(strstr(asked, "less than 50"));
    ck_assert_ptr_nonnull(strstr(asked, "\"model\":\"tiny\""));
    desk_ok("$MORTISE inbox");
    desk_out("the confidence is below the threshold");
    desk_ok("$MORTISE approve r $($MORTISE inbox r --ids | cut -d' ' -f2) "
            "--answer 4");
    ck_assert_uint_eq(httpd_requests(d), 2);
    httpd_stop(d);
}
END_TEST

/* ---- findings ------------------------------------------------------------------- */

static const struct {
    const char *node, *says;
} findings[] = {
    {"goal: x, memory_policy: {read: {}}", "error[E0204]: 'memory_policy'"},
    {"goal: x, discovery_policy: {}", "error[E0204]: 'discovery_policy'"},
    {"goal: x, persona_policy: {mood: x}", "error[E0204]: 'persona_policy'"},
    {"goal: x, instructions: y", "error[E0204]: 'instructions'"},
    {"goal: x, conversation: y", "error[E0204]: 'conversation'"},
    {"goal: x, args: {}", "error[E0204]: 'args'"},
    {"type: leaf", "error[E0206]: a node of type 'leaf' needs the key 'goal'"},
    {"goal: x, role: reseacher", "did you mean 'researcher'?"},
    {"goal: x, tool_allowlist: [text/joyn]", "did you mean 'join'?"},
    {"goal: x, compaction: compact",
     "error[E0505]: 'compact' is not a valid operation"},
    {"goal: x, compaction: file/write", "error[E0520]: file/write has effects"},
    {"goal: x, compaction: agent/compakt", "did you mean 'compact'?"},
    {"goal: \"${input.\"", "never closed"},
    {"goal: x, llm: {provider_id: none}", "error[E0513]"},
    {"goal: x, depends_on: b", "error[E0301]"},
};

START_TEST(findings_are_made)
{
    char graph[512];

    deploy("  default: {provider: speaks, model: small}\n");
    snprintf(graph, sizeof graph, "start: a\nnodes:\n  a: {%s, next: END}\n",
             findings[_i].node);
    desk_graph("g", graph);
    child_run("$MORTISE check g.yaml mortise.yaml");
    desk_code(2);
    desk_out(findings[_i].says);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_leaves");
    TCase *tc = tcase_create("leaves");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_prompt_is_what_it_says);
    tcase_add_test(tc, it_reports);
    tcase_add_test(tc, its_tools_are_approved);
    tcase_add_loop_test(tc, a_kill_asks_nothing_twice, 0, 2);
    tcase_add_test(tc, a_server_that_fails_is_no_dead_run);
    tcase_add_test(tc, a_model_judges);
    tcase_add_loop_test(tc, findings_are_made, 0,
                        sizeof findings / sizeof findings[0]);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
