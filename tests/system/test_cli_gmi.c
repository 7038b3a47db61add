/* test_cli_gmi.c -- gmi nodes: what a model is asked, what its replies become,
 * and what a kill in the middle costs.  The models are scripted, and one of
 * tests/plugins shows what it was asked. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
    shelf_put(&shelf, "asks_model");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

/* A deployment of these models, with more at its end. */
static void deploy(const char *models, const char *more)
{
    char text[3 * PATH_MAX + 4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\nmodels:\n%s%s",
             shelf.plugins, shelf.trust, models, more);
    desk_put("mortise.yaml", text);
}

static const char shows[] = "  default: {provider: speaks, model: small}\n"
                            "  other: {provider: speaks, model: large}\n";

/* Run a graph of one node, whose keys these are; its artifact is then
 * child.out. */
static void run(const char *node)
{
    char graph[4096];

    snprintf(graph, sizeof graph,
             "state: {input: {type: object, properties: {q: {type: string}}}}\n"
             "start: a\nnodes:\n  a:\n    type: gmi\n%s    next: END\n",
             node);
    desk_graph("g", graph);
    child_run("$MORTISE run g.yaml --id r --input '{\"q\": \"why?\"}'");
}

static json_t *shown(void)
{
    json_t *show;

    desk_ok("$MORTISE show r --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    return show;
}

/* The node's output is that. */
static void gave(const char *want)
{
    json_t *show = shown(), *value = json_loads(want, JSON_DECODE_ANY, NULL);
    const json_t *got = json_object_get(
        json_array_get(json_object_get(show, "nodes"), 0), "output");

    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(got, value), "not %s:\n%s", want, child.out);
    json_decref(value);
    json_decref(show);
}

/* What the model was asked, of one that shows it, is that. */
static void asked(const char *want)
{
    json_t *show = shown(), *value = json_loads(want, 0, NULL), *got;
    const char *text = json_string_value(json_object_get(
        json_array_get(json_object_get(show, "nodes"), 0), "output"));

    ck_assert_msg(text != NULL, "%s", child.out);
    got = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(got, value), "not %s:\n%s", want, text);
    json_decref(value);
    json_decref(got);
    json_decref(show);
}

static void failed(const char *code, const char *words)
{
    json_t *show = shown();
    const json_t *error = json_object_get(show, "error");

    ck_assert_msg(json_is_object(error), "%s", child.out);
    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    ck_assert_msg(strstr(json_string_value(json_object_get(error, "message")),
                         words) != NULL,
                  "%s", child.out);
    json_decref(show);
}

#define USER(text)                                                             \
    "{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"" text  \
    "\"}]}"

/* ---- what is asked ------------------------------------------------------- */

/* Each key arrives where the provider has it.
 * key: node.type=gmi, gmi.prompt, gmi.instructions, node.temperature
 * key: gmi.max_tokens, node.reasoning_effort, node.extra, node.stream
 * key: gmi.cache, llm.model, gmi.llm */
START_TEST(every_key_is_asked)
{
    deploy(shows, "");
    run("    instructions: Be short.\n"
        "    prompt: show\n"
        "    temperature: 0.25\n"
        "    max_tokens: 100\n"
        "    reasoning_effort: low\n"
        "    extra: {seed: 7}\n"
        "    stream: false\n"
        "    cache: true\n"
        "    llm: {model: tiny, reason: it is enough}\n");
    desk_code(0);
    asked("{\"model\": \"tiny\", \"messages\": [{\"role\": \"system\", "
          "\"parts\": [{\"type\": \"text\", \"text\": \"Be short.\"}]}, " USER(
              "show") "], \"temperature\": 0.25, \"max_tokens\": 100, "
                      "\"reasoning_effort\": \"low\", \"extra\": {\"seed\": "
                      "7}, \"cache\": true, \"stream\": false}");
}
END_TEST

/* What is not written is not asked.
 * key: llm.provider_id */
START_TEST(nothing_is_made_up)
{
    deploy(shows, "");
    run("    prompt: show\n    llm: {provider_id: other}\n");
    desk_code(0);
    asked("{\"model\": \"large\", \"messages\": [" USER("show") "], "
                                                                "\"stream\": "
                                                                "true}");
}
END_TEST

/* A template chooses among the aliases of the allowlist, of a node, of `defaults`
 * and of a leaf; one that it lacks is not asked, and the node fails for good.
 * key: llm.allowlist */
START_TEST(a_template_chooses)
{
    static const char choice[] =
        "llm: {provider_id: \"${input.q}\", allowlist: [default, other]}";
    char graph[1024];

    deploy(shows, "");
    for (int i = 0; i < 3; i++) {
        snprintf(graph, sizeof graph,
                 i == 0   ? "start: a\nnodes:\n  a: {type: gmi, prompt: show, "
                            "%s}\n"
                 : i == 1 ? "defaults: {%s}\nstart: a\nnodes:\n  a: {type: "
                            "gmi, prompt: show}\n"
                          : "start: a\nnodes:\n  a: {type: leaf, goal: show, "
                            "%s}\n",
                 choice);
        desk_graph("g", graph);
        desk_ok("$MORTISE run g.yaml --id r%d --input '{\"q\": \"other\"}' && "
                "$MORTISE show r%d --json",
                i, i);
        if (i < 2)
            desk_out("\\\"model\\\":\\\"large\\\"");
        desk_ok("$MORTISE history r%d --json", i);
        if (i == 2)
            desk_out("\"alias\":\"other\"");
    }
    run("    prompt: show\n    llm: {provider_id: \"${input.q}\", allowlist: "
        "[default, other]}\n    retry_policy: {max_attempts: 3, retry_on: "
        "[not_listed]}\n");
    desk_code(1);
    failed("not_listed", "g.yaml:10:24: 'provider_id' is \"why?\", but its "
                         "allowlist contains only default, other");
}
END_TEST

#define ADAPTS                                                                 \
    "\\nAdapt your style to whom you talk with: to their tone, how much they " \
    "write and how formal they are."
static const struct {
    const char *policy, *emotionality, *openness, *rest;
} personas[] = {
    {"", "0.25", "0.75", "\\n- mood: as ann" ADAPTS},
    {"    persona_policy: {traits: {openness: 1}}\n", "0.25", "1.0",
     "\\n- mood: as ann" ADAPTS},
    {"    persona_policy: {mood: calm}\n", "0.25", "0.75",
     "\\n- mood: calm" ADAPTS},
    {"    persona_policy: {mood: \"${null}\"}\n", "0.25", "0.75", ADAPTS},
    {"    persona_policy: {adapt_style: false}\n", "0.25", "0.75",
     "\\n- mood: as ann"},
};

/* Each part of a persona is in the prompt, to the letter, and what a node says of it
 * comes before what its graph says. */
START_TEST(a_persona_is_told)
{
    char want[2048];

    deploy(shows, "");
    snprintf(want, sizeof want,
             "persona: {traits: {openness: 0.75, emotionality: 0.25}, mood: "
             "\"as ${input.who}\", adapt_style: true}\n"
             "start: a\nnodes:\n  a:\n    type: gmi\n    instructions: Be "
             "short.\n    prompt: show\n%s    next: END\n",
             personas[_i].policy);
    desk_graph("g", want);
    desk_ok("$MORTISE run g.yaml --id r --input '{\"who\": \"ann\"}'");
    snprintf(want, sizeof want,
             "{\"model\": \"small\", \"messages\": [{\"role\": \"system\", "
             "\"parts\": [{\"type\": \"text\", \"text\": \"Be short.\"}, "
             "{\"type\": \"text\", \"text\": \"Your persona:\\n- "
             "honesty_humility: 0.5\\n- emotionality: %s\\n- extraversion: "
             "0.5\\n- agreeableness: 0.5\\n- conscientiousness: 0.5\\n- "
             "openness: %s%s\"}]}, " USER("show") "], \"stream\": true}",
             personas[_i].emotionality, personas[_i].openness,
             personas[_i].rest);
    asked(want);
}
END_TEST

/* A schema is asked for as it is written, with nothing in it a template. */
START_TEST(schemas_are_no_templates)
{
    deploy(shows, "");
    run("    prompt: show\n"
        "    output_schema: {type: object, description: \"a ${brace} and "
        "$${two}\"}\n");
    desk_code(0);
    desk_ok("$MORTISE show r --json");
    desk_out("\"description\": \"a ${brace} and $${two}\"");
}
END_TEST

/* Parts of a prompt, and values in the place of texts. */
START_TEST(prompts_have_parts)
{
    deploy(shows, "");
    run("    instructions: {tone: kind}\n"
        "    prompt:\n"
        "      - {type: image, url: \"http://x/${input.q}.png\"}\n"
        "      - {type: text, text: show}\n");
    desk_code(0);
    asked("{\"model\": \"small\", \"messages\": [{\"role\": \"system\", "
          "\"parts\": [{\"type\": \"text\", \"text\": "
          "\"{\\\"tone\\\":\\\"kind\\\"}\"}]}, {\"role\": \"user\", \"parts\": "
          "[{\"type\": \"image\", \"url\": \"http://x/why?.png\"}, {\"type\": "
          "\"text\", \"text\": \"show\"}]}], \"stream\": true}");
}
END_TEST

/* ---- what becomes of it ---------------------------------------------------- */

static const char scripted[] =
    "  default:\n"
    "    provider: scripted\n"
    "    model: s\n"
    "    price: {input_per_mtok: 1, output_per_mtok: 2}\n"
    "    replies:\n"
    "      - {when: {user: twice, turn: 0}, text: soon}\n"
    "      - {when: {user: never, turn: 0}, text: no}\n"
    "      - {when: {user: not what}, json: {n: 3}}\n"
    "      - {when: {user: '{\"q\":\"why?\"}'}, text: you asked why}\n"
    "      - {when: {user: pauses, turn: 0}, text: wait, stop: pause}\n"
    "      - {when: {user: pauses}, text: done}\n"
    "      - {when: {user: cut}, text: so, stop: length}\n"
    "      - {when: {user: full}, text: so, stop: context}\n"
    "      - {when: {user: bad}, refusal: no}\n"
    "      - {when: {user: silent}, reasoning: hm}\n"
    "      - {when: {user: Your reply was empty}, text: a text at last}\n"
    "      - {when: {user: hush}, text: ' '}\n"
    "      - {when: {user: odd}, text: so, stop: other}\n"
    "      - {when: {user: filtered}, text: so, stop: filter}\n"
    "      - {when: {user: calls}, tool_calls: [{name: f}]}\n"
    "      - {when: {user: busy}, error: {code: model.overloaded, class: "
    "transient, message: too many}}\n"
    "      - {text: a text}\n"
    "  second: {provider: scripted, model: s, replies: [{error: {code: "
    "model.auth}}]}\n"
    "  third: {provider: scripted, model: s, replies: [{text: the third}]}\n";

static const struct {
    const char *node, *gives;
} outputs[] = {
    {"    prompt: hello\n", "\"a text\""},
    {"    instructions: x\n", "\"you asked why\""},
    {"    prompt: pauses\n", "\"done\""},
    {"    prompt: twice\n    execution_mode: react_bounded\n"
     "    output_schema: {type: object, properties: {n: {type: number}}}\n",
     "{\"n\": 3.0}"},
    {"    prompt: never\n    response: text\n", "\"no\""},
    {"    prompt: twice\n    execution_mode: react_bounded\n"
     "    response: json\n",
     "{\"n\": 3}"},
    {"    prompt: busy\n    llm: {fallback: [second, third]}\n",
     "\"the third\""},
    {"    prompt: silent\n    llm: {fallback: [third]}\n", "\"the third\""},
    {"    prompt: hush\n    execution_mode: react_bounded\n",
     "\"a text at last\""},
};

/* key: node.execution_mode, node.response, llm.fallback */
START_TEST(replies_become_outputs)
{
    deploy(scripted, "");
    run(outputs[_i].node);
    desk_code(0);
    gave(outputs[_i].gives);
}
END_TEST

static const struct {
    const char *node, *code, *words;
} failures[] = {
    {"    prompt: cut\n", "length", "cut at max_tokens"},
    {"    prompt: full\n", "context", "window is full"},
    {"    prompt: bad\n", "refusal", "the model refused to answer"},
    {"    prompt: filtered\n", "filter", "removed a part"},
    {"    prompt: odd\n", "reply", "an unknown reason (no reason given)"},
    {"    prompt: silent\n", "model.empty", "is empty"},
    {"    prompt: hush\n", "model.empty", "is empty"},
    {"    prompt: calls\n", "reply",
     "called the tool 'f', but the node offers no tools"},
    {"    prompt: busy\n", "model.overloaded", "too many"},
    {"    prompt: busy\n    llm: {fallback: [second]}\n", "model.auth", ""},
    {"    prompt: twice\n    execution_mode: single_turn\n"
     "    response: json\n",
     "schema", "the reply is not JSON"},
    {"    prompt: pauses\n    max_internal_iterations: 1\n", "max_iterations",
     "max_internal_iterations"},
};

/* key: node.max_internal_iterations */
START_TEST(others_are_failures)
{
    deploy(scripted, "");
    run(failures[_i].node);
    desk_code(1);
    failed(failures[_i].code, failures[_i].words);
}
END_TEST

static const struct {
    const char *prompt, *code, *words; /* code NULL: words are the output */
} unused[] = {
    {"image", "model.empty", "is an image without a text; ask the model for"},
    {"file", "model.empty", "is a file without a text; ask the model for"},
    {"blank", "model.empty", "the model's reply is empty"},
    {"refuses", "refusal", "the model refused to answer"},
    {"shown", NULL, "\"a cat\""},
};

/* A reply of nothing that a node can use is an error, and never an empty output. */
START_TEST(no_reply_becomes_an_empty_output)
{
    char node[64];

    deploy(shows, "");
    snprintf(node, sizeof node, "    prompt: %s\n", unused[_i].prompt);
    run(node);
    desk_code(unused[_i].code != NULL);
    if (unused[_i].code == NULL)
        gave(unused[_i].words);
    else
        failed(unused[_i].code, unused[_i].words);
}
END_TEST

/* A request that was too long is not made again as it is: where nothing can be
 * left out, once is all; where as much as can be left out was. */
START_TEST(the_same_is_not_asked_again)
{
    static const char *const nodes[] = {
        "    prompt: hello\n",
        "    messages: [" USER("a") ", " USER("b") ", " USER("c") ", " USER(
            "d") "]\n    prompt: e\n"};
    static const char *const calls[] = {"\"model_calls\": 1,",
                                        "\"model_calls\": 2,"};

    deploy("  default: {provider: scripted, model: s, replies: [{error: "
           "{code: model.context, message: too long}}]}\n",
           "");
    run(nodes[_i]);
    desk_code(1);
    failed("model.context", "too long");
    desk_ok("$MORTISE show r --json");
    desk_out(calls[_i]);
}
END_TEST

/* A reply that does not fit is the operation's error `schema`.  With single_turn it is
 * retried if its code is listed.  The graph gets no warning. */
START_TEST(a_reply_that_does_not_fit_is_retried)
{
    char node[256];

    deploy("  default: {provider: scripted, model: s, replies: [{when: "
           "{attempt: 1}, text: no number}, {text: '7'}]}\n",
           "");
    snprintf(node, sizeof node,
             "    prompt: hello\n    output_schema: {type: integer}\n"
             "    retry_policy: {max_attempts: 2, delay: 10ms, retry_on: "
             "[%s]}\n",
             _i == 0 ? "schema" : "timeout");
    run(node);
    desk_code(_i);
    ck_assert_ptr_null(strstr(child.err, "W0813"));
    if (_i == 0)
        gave("7");
    else
        failed("schema", "the reply is not JSON");
}
END_TEST

/* retry_policy holds for what a provider calls transient. */
START_TEST(transient_errors_are_retried)
{
    deploy("  default: {provider: scripted, model: s, replies: [{when: "
           "{attempt: 1}, error: {code: model.rate_limit, class: transient}}, "
           "{text: at last}]}\n",
           "");
    run("    prompt: hello\n"
        "    retry_policy: {max_attempts: 2, delay: 10ms}\n");
    desk_code(0);
    gave("\"at last\"");
}
END_TEST

/* A budget is spent reply by reply, and the most that the next may cost is
 * reserved: where there is no room for that it is not asked for, people are, and
 * what was answered is not asked for again.  What is proposed to them is enough.
 */
static const struct {
    const char *budget;
    bool at_once; /* even the first is too much */
} bounds[] = {
    {"model_calls: 1", false},  {"output_tokens: 8", false},
    {"output_tokens: 7", true}, {"tokens: 80", false},
    {"tokens: 10", true},       {"input_tokens: 60", false},
    {"usd: 0.00006", false},    {"usd: 0.000001", true},
};

START_TEST(budgets_hold_inside)
{
    static const char graph[] =
        "budget: {%s}\nstart: a\nnodes:\n"
        "  a: {type: gmi, prompt: twice, execution_mode: react_bounded, "
        "response: json, max_tokens: 8, next: END}\n";
    char text[1024];
    int pauses = 0;

    deploy(scripted, "");
    snprintf(text, sizeof text, graph, bounds[_i].budget);
    desk_graph("g", text);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_out("budget_exceeded");
    desk_ok("$MORTISE show r --json");
    if (bounds[_i].at_once)
        desk_not_out("\"model_calls\": 1");
    else
        desk_out("\"model_calls\": 1");
    do {
        desk_ok("$MORTISE show r");
        desk_out("needs");
        child_run("$MORTISE%s",
                  desk_line(child.out, "mortise raise-budget r ") + 7);
        pauses++;
    } while (child.code == 4 && pauses < 3);
    desk_code(0);
    ck_assert_int_le(pauses, bounds[_i].at_once ? 2 : 1);
    gave("{\"n\": 3}");
    desk_ok("$MORTISE show r --json");
    desk_out("\"model_calls\": 2");
    desk_not_out("reported more usage");
}
END_TEST

/* Text is told as it comes, and usage counted. */
START_TEST(it_is_told_as_it_comes)
{
    deploy(scripted, "");
    run("    prompt: hello\n");
    desk_code(0);
    desk_out("text_delta a text=a ");
    desk_out("text_delta a text=text");
    desk_out("\"model_calls\":1,\"input_tokens\":1,\"output_tokens\":2");
}
END_TEST

/* Where a server told more than anybody had reserved, what is proposed is enough
 * to go on; and no more is taken than can be kept. */
START_TEST(budgets_are_raised_enough)
{
    deploy("  default: {provider: scripted, model: s, replies: [{text: dear, "
           "usage: {input_tokens: 5000000}}]}\n",
           "");
    desk_graph("g", "budget: {tokens: 1000000}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, max_tokens: 9, next: b}\n"
                    "  b: {type: gmi, prompt: x, max_tokens: 9, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    child_run("$MORTISE raise-budget r tokens=+1000000000000000");
    desk_code(3);
    desk_err("a whole number, 1 to 1e15");
    desk_ok("$MORTISE show r");
    child_run("$MORTISE%s",
              desk_line(child.out, "mortise raise-budget r ") + 7);
    ck_assert_int_ne(child.code, 3);
    deploy("  default: {provider: scripted, model: s, price: {input_per_mtok: "
           "1}, replies: [{text: x}]}\n",
           "");
    desk_graph("g", "budget: {usd: 0.000001}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, max_tokens: 9, next: END}\n");
    child_run("$MORTISE run g.yaml --id d");
    desk_code(4);
    child_run("$MORTISE raise-budget d usd=+1000000");
    desk_code(3);
    desk_err("a decimal number of dollars, at most 1000000");
    desk_ok("$MORTISE show d");
}
END_TEST

/* The help names the key that is missing before it names unpriced: allow. */
START_TEST(the_help_declares_what_is_missing)
{
    deploy("  default: {provider: scripted, model: s, price: {input_per_mtok: "
           "1}, replies: [{text: x}]}\n"
           "  free: {provider: scripted, model: s, replies: [{text: x}]}\n",
           "");
    desk_graph("g", "budget: {usd: 1, output_tokens: 9}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, next: END}\n");
    child_run("$MORTISE check g.yaml --plugins");
    desk_code(2);
    desk_out("help: set max_tokens: N on the node\n");
    desk_out("help: set max_tokens: N on the node; or set unpriced: allow");
    desk_graph("g", "budget: {usd: 1}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, llm: {provider_id: free}, prompt: x, "
                    "max_tokens: 9, next: END}\n");
    child_run("$MORTISE check g.yaml --plugins");
    desk_code(2);
    desk_out("help: set price: on the model alias in the deployment; or set "
             "unpriced: allow");
}
END_TEST

/* A server that says nothing of what a reply used does not make it free. */
START_TEST(untold_usage_counts)
{
    deploy("  default: {provider: speaks, model: s, price: {input_per_mtok: 1, "
           "output_per_mtok: 1}}\n",
           "");
    desk_graph("g",
               "budget: {output_tokens: 25, on_exceeded: fail}\n"
               "start: a\nnodes:\n"
               "  a: {type: gmi, prompt: say x, max_tokens: 10, next: b}\n"
               "  b: {type: gmi, prompt: say x, max_tokens: 10, next: c}\n"
               "  c: {type: gmi, prompt: say x, max_tokens: 10, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(1);
    desk_out("the output_tokens limit of the budget (25) is used up");
    desk_ok("$MORTISE show r --json | tr -d ' \\n'");
    desk_out("\"output_tokens\":{\"limit\":25,\"used\":20}");
    desk_out("\"model_calls\":2,");
}
END_TEST

/* What people told the run is reserved with what is said. */
START_TEST(told_texts_are_reserved)
{
    deploy(scripted, "");
    desk_graph("g", "budget: {input_tokens: 500}\nstart: h\nnodes:\n"
                    "  h: {type: human, prompt: go, next: a}\n"
                    "  a: {type: gmi, prompt: x, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    child_run("$MORTISE tell r \"$(head -c 6000 /dev/zero | tr '\\0' x)\"");
    desk_code(4);
    desk_ok("$MORTISE inbox r --json | sed "
            "'s/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/' > id");
    child_run("$MORTISE approve r $(cat id)");
    desk_code(4);
    desk_out("budget_exceeded");
    desk_ok("$MORTISE show r");
    desk_out("needs    20");
}
END_TEST

/* What fits once another's answer has given back what it did not need waits for
 * that: nobody is asked. */
START_TEST(calls_wait_for_each_other)
{
    deploy(scripted, "");
    desk_graph("g", "budget: {output_tokens: 12}\nstart: [a, b, c]\nnodes:\n"
                    "  a: {type: gmi, prompt: x, max_tokens: 8, next: END}\n"
                    "  b: {type: gmi, prompt: x, max_tokens: 8, next: END}\n"
                    "  c: {type: gmi, prompt: x, max_tokens: 8, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    desk_not_out("budget_exceeded");
    desk_ok("$MORTISE show r --json | tr -d ' \\n'");
    desk_out("\"output_tokens\":{\"limit\":12,\"used\":6}");
    desk_ok("$MORTISE events r --json | grep -c '\"model_call\"'");
    ck_assert_str_eq(child.out, "3\n");
}
END_TEST

/* ---- what people see of it --------------------------------------------------- */

/* Each call of a model, and what came of it, stands among the run's events and
 * in its history: who was asked, what it heard, how that ended. */
START_TEST(models_are_watched)
{
    json_t *event;
    const char *at;

    deploy(scripted, "");
    run("    prompt: busy\n    instructions: Be brief.\n"
        "    llm: {fallback: [third]}\n");
    desk_code(0);
    desk_ok("$MORTISE events r --json > events");
    desk_ok("grep -e model_ events");
    at = child.out;
    event = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(event, "type")),
                     "model_call");
    ck_assert_str_eq(json_string_value(json_object_get(event, "alias")),
                     "default");
    ck_assert_uint_eq(json_array_size(json_object_get(event, "messages")), 2);
    ck_assert_ptr_nonnull(strstr(at, "Be brief."));
    json_decref(event);
    at = strchr(at, '\n') + 1;
    event = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(event, "type")),
                     "model_reply");
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(event, "error"), "code")),
                     "model.overloaded");
    json_decref(event);
    at = strchr(at, '\n') + 1;
    ck_assert_msg(strstr(at, "\"alias\":\"third\"") != NULL, "%s", at);
    ck_assert_ptr_nonnull(strstr(at, "\"text\":\"the third\""));
    ck_assert_ptr_nonnull(strstr(at, "\"usage\":{\"model_calls\":2"));
    desk_ok("$MORTISE history r --json");
    desk_out("\"entry\":\"prompt\"");
    desk_out("\"alias\":\"third\"");
    desk_out("\"stop\":\"end\"");
    desk_out("\"code\":\"model.overloaded\"");
}
END_TEST

/* What each model cost is counted, and edges may depend on it. */
START_TEST(usage_is_by_model)
{
    deploy(scripted, "");
    desk_graph(
        "g", "start: a\nnodes:\n"
             "  a:\n    type: gmi\n    prompt: hello\n    routes:\n"
             "      - when: diagnostics.a.usage.by_model['s'].model_calls == 1 "
             "&& diagnostics.b.usage.by_model.size() == 0\n"
             "        to: b\n    default: END\n"
             "  b: {type: gmi, prompt: hello, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --json | tr -d ' \\n'");
    desk_out("\"by_model\":{\"s\":{\"model_calls\":2,\"input_tokens\":2,"
             "\"output_tokens\":4,\"usd\":");
    desk_out("\"by_model\":{\"s\":{\"model_calls\":1,");
}
END_TEST

/* ---- kills ------------------------------------------------------------------- */

#define REPLY(text)                                                            \
    "{\"id\": \"x\", \"object\": \"chat.completion\", \"choices\": "           \
    "[{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": "     \
    "\"" text                                                                  \
    "\"}, \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": "      \
    "5, \"completion_tokens\": 2}}"

/* After kill -9 only the call that was out is made again: the server's own log
 * says so, between two nodes and inside of one. */
START_TEST(a_kill_costs_one_call)
{
    static const char *const nodes[] = {
        "  a: {type: gmi, prompt: one, next: b}\n"
        "  b: {type: gmi, prompt: two, next: END}\n",
        "  a: {type: gmi, prompt: one, execution_mode: react_bounded, "
        "response: json, next: END}\n",
        /* the model that a template gave is the one that is asked again */
        "  a: {type: gmi, prompt: one, execution_mode: react_bounded, "
        "response: json, llm: {provider_id: \"${['default', "
        "'big'][run.id == 'r' ? 1 : 0]}\", allowlist: [default, big]}, next: "
        "END}\n"};
    struct httpd *d = httpd_start();
    char models[512], graph[512];
    pid_t pid;

    snprintf(models, sizeof models,
             "  default: {provider: openai, model: m, base_url: \"%s\"}\n"
             "  big: {provider: openai, model: l, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"), httpd_url(d, "/v1"));
    deploy(models, "");
    snprintf(graph, sizeof graph, "start: a\nnodes:\n%s", nodes[_i]);
    desk_graph("g", graph);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("no json"));
    httpd_times(d, 1);
    httpd_on(d, "/v1/chat/completions");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("7"));
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    httpd_await(d, 2);
    ck_assert_uint_eq(httpd_requests(d), 2);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_wait(pid);
    child_run("$MORTISE resume r");
    desk_code(0);
    ck_assert_uint_eq(httpd_requests(d), 3);
    ck_assert_ptr_nonnull(strstr(
        httpd_request(d, 2), _i < 2 ? "\"model\":\"m\"" : "\"model\":\"l\""));
    ck_assert_str_eq(strstr(httpd_request(d, 1), "\r\n\r\n"),
                     strstr(httpd_request(d, 2), "\r\n\r\n"));
    desk_ok("$MORTISE show r --json");
    desk_out("\"model_calls\": 2");
    desk_out("\"output_tokens\": 4");
    httpd_stop(d);
}
END_TEST

/* Where a budget bounds it, what the call that was out may have cost is spent:
 * its most was on disk before it was made. */
START_TEST(a_kill_is_paid_for)
{
    struct httpd *d = httpd_start();
    char models[512];
    pid_t pid;

    snprintf(models, sizeof models,
             "  default: {provider: openai, model: m, base_url: \"%s\", "
             "price: {input_per_mtok: 1, output_per_mtok: 2}}\n",
             httpd_url(d, "/v1"));
    deploy(models, "");
    desk_graph("g",
               "budget: {output_tokens: 1000, usd: 1}\nstart: a\nnodes:\n"
               "  a: {type: gmi, prompt: one, max_tokens: 500, next: b}\n"
               "  b: {type: gmi, prompt: two, max_tokens: 500, next: END}\n");
    httpd_on(d, "/v1/chat/completions");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("7"));
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    httpd_await(d, 1);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_wait(pid);
    desk_ok("$MORTISE show r --json"); /* what is reserved counts as used */
    desk_out("\"limit\": 1000,\n      \"used\": 500");
    child_run("$MORTISE resume r");
    desk_code(4); /* 502 are spent: 500 do not fit */
    desk_ok("$MORTISE show r --json");
    desk_out("\"limit\": 1000,\n      \"used\": 502");
    httpd_stop(d);
}
END_TEST

/* An answer with a head that nobody would keep is no reply, and another model is
 * asked; what is too large to be asked says so. */
START_TEST(sizes_have_bounds)
{
    struct httpd *d = httpd_start();
    char models[512];

    snprintf(
        models, sizeof models,
        "  default: {provider: openai, model: m, base_url: \"%s\"}\n"
        "  second: {provider: scripted, model: s, replies: [{text: ok}]}\n",
        httpd_url(d, "/v1"));
    deploy(models, "");
    httpd_on(d, "/v1/chat/completions");
    httpd_say(d, "HTTP/1.1 200 OK\r\nX: ");
    httpd_repeat(d, 'y', 2 << 20);
    httpd_say(d, "\r\n\r\n");
    run("    prompt: x\n    llm: {fallback: [second]}\n");
    desk_code(0);
    gave("\"ok\"");
    desk_ok("$MORTISE events r --json");
    desk_out("\"code\":\"model.protocol\"");
    httpd_stop(d);
    deploy("  default: {provider: scripted, model: s, replies: [{text: x}]}\n",
           "");
    desk_ok("rm -r store && head -c 20000000 /dev/zero | tr '\\0' x > large");
    child_run("$MORTISE chat <large");
    desk_out("asked for model.call/1 with 19 MiB, but the limit is 16");
}
END_TEST

/* The deployment may have another operation for such nodes.
 * key: deployment.executors, executors.gmi */
START_TEST(executors_are_deployed)
{
    deploy(shows, "executors: {gmi: asks_model/call}\n");
    run("    prompt: hello\n");
    desk_code(1);
    failed("failed", "unknown member 'node'");
}
END_TEST

/* ---- what is found before --------------------------------------------------- */

static const struct {
    const char *node, *words;
} findings[] = {
    {"    prompt: x\n    llm: {provider_id: othr}\n",
     "E0513]: the deployment has no model 'othr'; did you mean 'other'?"},
    {"    prompt: x\n    llm: {fallback: [none]}\n", "E0513"},
    {"    prompt: x\n    llm: {providr_id: other}\n",
     "unknown key 'providr_id'"},
    {"    prompt: x\n    temperature: warm\n", "temperature"},
    {"    prompt: x\n    max_tokens: 0\n", "max_tokens"},
    {"    prompt: x\n    execution_mode: planner_controlled\n",
     "needs the key 'planner'"},
    {"    prompt: x\n    planner: other\n", "E0212"},
    {"    prompt: x\n    planner: othr\n    execution_mode: "
     "planner_controlled\n",
     "E0513"},
    {"    prompt: x\n    conversation: a b\n", "conversation"},
    {"    prompt: x\n    tool_allowlist: [nope/read]\n", "no plugin 'nope'"},
    {"    prompt: \"${input.x\"\n", "never closed"},
    {"    prompt: x\n    response: xml\n", "response"},
    {"    prompt: []\n", "a prompt needs at least one part"},
    {"    prompt: [{type: image}]\n", "type image needs url or data"},
    {"    prompt: [{type: text}]\n", "type text needs text"},
    {"    prompt: [{type: audio, url: x}]\n", "file, not 'audio'"},
    {"    prompt: [x]\n",
     "a part of a prompt must be {type: text, text: TEXT}"},
    {"    prompt: x\n    llm: {tiers: {}}\n", "tiers"},
    {"    prompt: x\n    llm: {provider_id: \"${input.q}\"}\n",
     "E0206]: a template in 'provider_id' needs the key 'allowlist'"},
    {"    prompt: x\n    llm: {provider_id: other, allowlist: [other]}\n",
     "E0212]: 'allowlist' needs a template in 'provider_id'"},
    {"    prompt: x\n    llm: {provider_id: \"${input.q}\", allowlist: "
     "[othr]}\n",
     "E0513]: the deployment has no model 'othr'"},
    {"    prompt: x\n    llm: {provider_id: \"${nothing}\", allowlist: "
     "[other]}\n",
     "E0401]: unknown name 'nothing'"},
    {"    prompt: x\n    subagents: true\n    llm: {provider_id: "
     "\"${input.q}\", "
     "allowlist: [other]}\n",
     "E0212]: 'provider_id' cannot be a template if 'subagents' is true"},
};

START_TEST(findings_are_made)
{
    char graph[1024];

    deploy(shows, "");
    snprintf(graph, sizeof graph,
             "start: a\nnodes:\n  a:\n    type: gmi\n%s    next: END\n",
             findings[_i].node);
    desk_graph("g", graph);
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    ck_assert_msg(strstr(child.out, findings[_i].words) != NULL ||
                      strstr(child.err, findings[_i].words) != NULL,
                  "%s%s", child.out, child.err);
}
END_TEST

/* Without a model that is meant, nothing begins. */
START_TEST(default_is_needed)
{
    deploy("  other: {provider: speaks, model: m}\n", "");
    run("    prompt: hello\n");
    desk_err("the deployment has no model 'default'");
    desk_code(2);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_gmi");
    TCase *tc = tcase_create("cli_gmi");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, every_key_is_asked);
    tcase_add_test(tc, nothing_is_made_up);
    tcase_add_test(tc, a_template_chooses);
    tcase_add_loop_test(tc, a_persona_is_told, 0,
                        sizeof personas / sizeof personas[0]);
    tcase_add_test(tc, schemas_are_no_templates);
    tcase_add_test(tc, prompts_have_parts);
    tcase_add_loop_test(tc, replies_become_outputs, 0,
                        sizeof outputs / sizeof outputs[0]);
    tcase_add_loop_test(tc, no_reply_becomes_an_empty_output, 0,
                        (int)(sizeof unused / sizeof unused[0]));
    tcase_add_loop_test(tc, others_are_failures, 0,
                        sizeof failures / sizeof failures[0]);
    tcase_add_loop_test(tc, the_same_is_not_asked_again, 0, 2);
    tcase_add_loop_test(tc, a_reply_that_does_not_fit_is_retried, 0, 2);
    tcase_add_test(tc, transient_errors_are_retried);
    tcase_add_loop_test(tc, budgets_hold_inside, 0,
                        sizeof bounds / sizeof bounds[0]);
    tcase_add_test(tc, it_is_told_as_it_comes);
    tcase_add_loop_test(tc, a_kill_costs_one_call, 0, 3);
    tcase_add_test(tc, sizes_have_bounds);
    tcase_add_test(tc, a_kill_is_paid_for);
    tcase_add_test(tc, budgets_are_raised_enough);
    tcase_add_test(tc, the_help_declares_what_is_missing);
    tcase_add_test(tc, untold_usage_counts);
    tcase_add_test(tc, told_texts_are_reserved);
    tcase_add_test(tc, calls_wait_for_each_other);
    tcase_add_test(tc, models_are_watched);
    tcase_add_test(tc, usage_is_by_model);
    tcase_add_test(tc, executors_are_deployed);
    tcase_add_loop_test(tc, findings_are_made, 0,
                        sizeof findings / sizeof findings[0]);
    tcase_add_test(tc, default_is_needed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
