/* test_cli_values.c -- wherever a value meets a schema: a run's input, the
 * state, what nodes take and give, what people answer and a plugin's config.
 * Each says which part of the value is wrong, and where the rule is if that
 * was behind a reference. */
#include <stdio.h>

#include "lib/desk.h"

static const char refund[] =
    "state:\n"
    "  input:\n"
    "    type: object\n"
    "    properties: {who: {$ref: '#/$defs/name'}, v: true}\n"
    "    $defs: {name: {type: string, pattern: '^[a-z]+$'}}\n"
    "  scratch:\n"
    "    properties: {rows: {type: array, items: {$ref: '#/$defs/row'}}}\n"
    "    $defs: {row: {type: object, required: [id]}}\n"
    "start: a\n"
    "nodes:\n"
    "  a:\n"
    "    type: tool\n"
    "    tool: tried/echo\n"
    "    args: {value: '${input.v}'}\n"
    "    input_schema: {properties: {value: {not: {type: 'null'}}}}\n"
    "    output_schema:\n"
    "      anyOf: [{type: array, maxItems: 2}, {type: string}]\n"
    "    outputs: {scratch.rows: output}\n";

/* The run fails with the code "schema", these words, which end with the place
 * of the rule, and the node's place. */
static void fails(const char *input, const char *words)
{
    char quoted[256];

    child_run("$MORTISE run --json refund.yaml --input '%s'", input);
    desk_code(1);
    snprintf(quoted, sizeof quoted,
             "{\"node\":\"a\",\"code\":\"schema\",\"class\":\"permanent\","
             "\"message\":\"%s\",\"span\":\"refund.yaml:14:3\"}",
             words);
    desk_out(quoted);
}

/* Input is refused before there is a run. */
START_TEST(inputs_are_held_against_their_schema)
{
    desk_graph("refund", refund);
    child_run("$MORTISE run refund.yaml --input '{\"who\":\"Bob\"}'");
    desk_code(3);
    desk_err("input: at /who: does not match /^[a-z]+$/ "
             "(schema: refund.yaml:8:34) (E_INVALID)");
    desk_ok("$MORTISE runs");
    desk_not_out("refund");
    desk_ok("$MORTISE run refund.yaml --input "
            "'{\"who\":\"bob\",\"v\":[{\"id\":1}]}'");
}
END_TEST

/* A text without quotes, or the name of a file, is not JSON: the message has a hint. */
START_TEST(what_is_not_json_is_helped)
{
    desk_graph("refund", refund);
    child_run("$MORTISE run refund.yaml --input hello");
    desk_code(3);
    desk_err("--input: line 1 column 5: invalid token near 'hello'; write JSON, "
             "such as '{\"key\": \"text\"}', '\"text\"' or 12; or @FILE; or - for "
             "stdin (E_INVALID)");
    child_run("$MORTISE run refund.yaml --input refund.yaml");
    desk_code(3);
    desk_err("; to read the file, write @refund.yaml (E_INVALID)");
}
END_TEST

/* What a node takes, what it gives and what of that becomes state. */
START_TEST(nodes_are_held_against_their_schemas)
{
    desk_graph("refund", refund);
    fails("{\"v\":null}", "arguments of tried/echo: at /value: matches the "
                          "schema of 'not' (schema: refund.yaml:18:41)");
    fails("{\"v\":[1,2,3]}",
          "output of 'a': 3 items, expected at most 2 (schema: "
          "refund.yaml:20:29)");
    fails("{\"v\":7}", "output of 'a': matches none of the 2 schemas of "
                       "'anyOf' (schema: refund.yaml:20:7)");
    fails("{\"v\":[{\"id\":1},{}]}",
          "scratch.rows: at /1: the member 'id' is missing (schema: "
          "refund.yaml:11:33)");
}
END_TEST

/* A person is told what is wrong with the answer, and may try again. */
START_TEST(answers_are_held_against_their_schema)
{
    desk_graph("ask", "start: q\n"
                      "nodes:\n"
                      "  q:\n"
                      "    type: human\n"
                      "    prompt: How much?\n"
                      "    schema:\n"
                      "      $ref: '#/$defs/money'\n"
                      "      $defs:\n"
                      "        money:\n"
                      "          type: object\n"
                      "          required: [sum]\n"
                      "          properties:\n"
                      "            sum: {type: number, multipleOf: 0.01}\n");
    child_run("$MORTISE run ask.yaml --id r");
    desk_code(4);
    desk_out("--answer '{\"sum\": 0}'"); /* what it suggests would do */
    child_run("$MORTISE approve $($MORTISE inbox r --ids) --answer "
              "'{\"sum\":1.005}'");
    desk_code(3);
    desk_err("answer: at /sum: 1.005 is not a multiple of 0.01 (schema: "
             "ask.yaml:16:33) (E_INVALID)");
    child_run("$MORTISE approve $($MORTISE inbox r --ids) --answer '{}'");
    desk_code(3);
    desk_err("answer: the member 'sum' is missing (schema: "
             "ask.yaml:14:11) (E_INVALID)");
    desk_ok(
        "$MORTISE approve $($MORTISE inbox r --ids) --answer '{\"sum\":4.35}'");
    desk_ok("$MORTISE show r");
    desk_out("completed");
}
END_TEST

/* A plugin's config is refused before the plugin is loaded. */
START_TEST(configs_are_held_against_their_schema)
{
    desk_graph("refund", refund);
    child_run("sed 's|^plugins: {|plugins: {config: {tried: {pace: 0}}, |' "
              "mortise.yaml >m && mv m mortise.yaml && "
              "$MORTISE run refund.yaml --input '{\"v\":[]}'");
    desk_code(78);
    desk_err("mortise.yaml:4:34: error[E0607]: plugin 'tried' rejects this "
             "config: at /pace: 0 is not greater than 0 (schema: "
             "/$defs/pace/exclusiveMinimum)");
    desk_ok("sed 's|pace: 0|pace: 1|' mortise.yaml >m && mv m mortise.yaml && "
            "$MORTISE run refund.yaml --input '{\"v\":[]}'");
}
END_TEST

/* A template in the arguments hides nothing: what is missing beside it, what no value
 * in its place would mend, and what is wrong further in. */
START_TEST(templates_hide_nothing)
{
    static const struct {
        const char *operation, *args, *words;
    } findings[] = {
        {"text/grep", "{text: '${input.v}'}",
         "text/grep does not accept these args: the member 'pattern' is "
         "missing"},
        {"text/count",
         "{text: '${input.v}', patterns: {a: '${input.v}', b: 1}}",
         "text/count does not accept the argument 'patterns': at /b: expected "
         "string"},
        {"text/join", "{parts: ['${input.v}', {}]}",
         "text/join does not accept the argument 'parts': at /1: expected"},
        {"text/hash", "{text: '${input.v}', algorithm: md5}",
         "text/hash does not accept the argument 'algorithm': expected one of"},
        {"text/hash", "{text: '${input.v}', algo: sha256}",
         "text/hash has no argument 'algo'"},
        {"text/hash", "{text: '${input.v}', algorithm: '${input.v}'}", NULL},
    };
    char graph[512];

    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++) {
        snprintf(graph, sizeof graph,
                 "start: a\nnodes:\n  a: {type: tool, tool: %s, args: %s}\n",
                 findings[i].operation, findings[i].args);
        desk_graph("g", graph);
        child_run("$MORTISE check g.yaml");
        desk_code(findings[i].words != NULL ? 2 : 0);
        if (findings[i].words != NULL)
            desk_out(findings[i].words);
    }
}
END_TEST

/* Nor does a value of a config that the environment does not have. */
START_TEST(lost_values_hide_nothing)
{
    child_run("sed 's|^plugins: {|plugins: {config: {tried: {pace: "
              "\"${NOT_SET_HERE}\", pce: 1}}, |' mortise.yaml >m && mv m "
              "mortise.yaml && $MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("NOT_SET_HERE");
    desk_out("plugin 'tried' rejects this config: unknown member 'pce'");
    desk_not_out("expected integer");
}
END_TEST

/* Expressions see through references: a wrong name is found at check time, at
 * its place, and what the reference allows is fine. */
START_TEST(expressions_see_through_references)
{
    desk_graph("types",
               "state:\n"
               "  input: {$ref: '#/$defs/order', $defs: {order: {type: object, "
               "unevaluatedProperties: false, allOf: [{properties: "
               "{sum: {type: number}}}]}}}\n"
               "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: tried/echo, args: "
               "{value: '${state.input.sum + 0.5}'}}\n"
               "  b: {type: tool, tool: tried/echo, args: "
               "{value: '${input.smu}'}}\n"
               "edges: [{from: a, to: b}]\n");
    child_run("$MORTISE check types.yaml");
    desk_code(2);
    desk_out("types.yaml:9:60: error[E0401]: unknown member 'smu', did you "
             "mean 'sum'?");
    desk_ok("sed 's|smu|sum|' types.yaml >t && mv t types.yaml && "
            "$MORTISE run types.yaml --input '{\"sum\":1}'");
    child_run("$MORTISE run types.yaml --input '{\"sum\":1,\"x\":2}'");
    desk_err("input: unknown member 'x'");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_values");
    TCase *tc = tcase_create("values");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, inputs_are_held_against_their_schema);
    tcase_add_test(tc, what_is_not_json_is_helped);
    tcase_add_test(tc, nodes_are_held_against_their_schemas);
    tcase_add_test(tc, answers_are_held_against_their_schema);
    tcase_add_test(tc, configs_are_held_against_their_schema);
    tcase_add_test(tc, templates_hide_nothing);
    tcase_add_test(tc, lost_values_hide_nothing);
    tcase_add_test(tc, expressions_see_through_references);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
