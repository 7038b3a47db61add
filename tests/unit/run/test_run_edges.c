/* test_run_edges.c -- edges that are chosen by something else than a condition:
 * a personality, a discovery, what an executor says. */
#include "core/model/graph.h"
#include "lib/drive.h"

/* ---- personality --------------------------------------------------------- */

#define ARMS                                                                   \
    "  hi: {type: tool, tool: t/read}\n"                                       \
    "  lo: {type: tool, tool: t/read}\n"

/* Of a graph whose persona has one trait, each arm is taken from its side of
 * the threshold: at it, above it, below it.
 * key: graph.persona, persona.traits, traits.honesty_humility
 * key: traits.emotionality, traits.extraversion, traits.agreeableness
 * key: traits.conscientiousness, traits.openness, edge.type=personality
 * key: edge.personality, personality.trait=honesty_humility
 * key: personality.trait=emotionality, personality.trait=extraversion
 * key: personality.trait=agreeableness
 * key: personality.trait=conscientiousness, personality.trait=openness
 * key: personality.threshold, personality.above, personality.below */
START_TEST(traits_choose)
{
    static const char *const traits[] = {"honesty_humility",  "emotionality",
                                         "extraversion",      "agreeableness",
                                         "conscientiousness", "openness"};
    static const struct {
        const char *value, *threshold;
        bool above;
    } cases[] = {{"0.7", "0.7", true},
                 {"1", "0.9", true},
                 {"0.69", "0.7", false},
                 {"0", "0.1", false},
                 {"0", "0", true}};
    char yaml[768];

    for (size_t t = 0; t < 6; t++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            snprintf(yaml, sizeof yaml,
                     HEAD "start: a\n"
                          "persona: {traits: {%s: %s}}\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: t/read}\n" ARMS "edges:\n"
                          "  - {from: a, type: personality, personality:\n"
                          "     {trait: %s, threshold: %s, above: hi,\n"
                          "      below: lo}}\n",
                     traits[t], cases[i].value, traits[t], cases[i].threshold);
            run_plain(yaml, "{}");
            assert_status(MORTISE_RUN_COMPLETED);
            assert_node("hi", cases[i].above ? "done" : "skipped");
            assert_node("lo", cases[i].above ? "skipped" : "done");
            end();
        }
}
END_TEST

/* A node's own trait comes before its graph's, and that before a half; START
 * has the graph's.  A graph inside another has its own persona.
 * key: node.persona_policy */
START_TEST(the_nearest_persona_counts)
{
    run_plain(HEAD
              "persona: {traits: {openness: 0.9, emotionality: 0.9}}\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/read,\n"
              "      persona_policy: {traits: {openness: 0.1}}}\n"
              "  b: {type: tool, tool: t/read}\n"
              "  own: {type: tool, tool: t/read}\n"
              "  graphs: {type: tool, tool: t/read}\n"
              "  half: {type: tool, tool: t/read}\n"
              "  sub:\n"
              "    type: subgraph\n"
              "    graph:\n"
              "      nodes: {hi: {type: tool, tool: t/read},\n"
              "              lo: {type: tool, tool: t/read}}\n"
              "      edges:\n"
              "        - {from: START, personality: {trait: openness,\n"
              "           threshold: 0.6, above: hi, below: lo}}\n"
              "edges:\n"
              "  - {from: START, personality: {trait: openness,\n"
              "     threshold: 0.9, above: a, below: b}}\n"
              "  - {from: a, personality: {trait: openness, threshold: 0.2,\n"
              "     above: b, below: own}}\n"
              "  - {from: a, personality: {trait: emotionality,\n"
              "     threshold: 0.8, above: graphs, below: b}}\n"
              "  - {from: a, personality: {trait: extraversion,\n"
              "     threshold: 0.5, above: half, below: b}}\n"
              "  - {from: a, to: sub}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "done");
    assert_node("own", "done");
    assert_node("graphs", "done");
    assert_node("half", "done");
    assert_node("b", "skipped");
    assert_node("1.0/sub#1/lo#1", "done");
    end();
}
END_TEST

/* Arms count in joins: the dead one is not waited for, and what only it leads
 * to does not run. */
START_TEST(a_dead_arm_is_not_awaited)
{
    run_plain(HEAD
              "start: [a, c]\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/read}\n"
              "  c: {type: tool, tool: t/read, next: [both, two]}\n" ARMS
              "  both: {type: tool, tool: t/read, depends_on: [hi, lo]}\n"
              "  two: {type: tool, tool: t/read, join: {quorum: 2},\n"
              "        depends_on: [lo]}\n"
              "edges:\n"
              "  - {from: a, personality: {trait: openness, threshold: 0.6,\n"
              "     above: hi, below: lo}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("hi", "skipped");
    assert_runs("both", 1);
    assert_runs("two", 1);
    end();
}
END_TEST

/* ---- discovery ----------------------------------------------------------- */

#define FIND(discovery)                                                        \
    HEAD "start: a\n"                                                          \
         "nodes:\n"                                                            \
         "  a: {type: tool, tool: t/read, args: {v: \"${input.v}\"}}\n"        \
         "  translate: {type: tool, tool: t/read,\n"                           \
         "              capability: translates text}\n"                        \
         "  pay: {type: extension, extension: t, method: read,\n"              \
         "        capability: pays bills}\n"                                   \
         "  else: {type: tool, tool: t/read, depends_on: [translate, pay]}\n"  \
         "edges:\n"                                                            \
         "  - {from: a, type: discovery, discovery: " discovery "}\n"

static json_t *event_of(const char *type)
{
    json_t *one, *found = NULL;
    size_t i;

    json_array_foreach(s.published, i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "type")), type) == 0)
            found = one;
    }
    return found;
}

static void assert_found(const char *want)
{
    json_t *event = event_of("discovery_result"), *have;
    char *text;

    ck_assert_ptr_nonnull(event);
    have = json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "query",
                     json_object_get(event, "query"), "kind",
                     json_object_get(event, "kind"), "results",
                     json_object_get(event, "results"), "chosen",
                     json_object_get(event, "chosen"), "path",
                     json_object_get(event, "path"));
    text = json_dumps(have, JSON_COMPACT | JSON_SORT_KEYS);
    ck_assert_str_eq(text, want);
    free(text);
    json_decref(have);
}

static void assert_error(const char *code)
{
    const char *has = json_string_value(json_object_get(
        json_object_get(event_of("discovery_result"), "error"), "code"));

    ck_assert_str_eq(has != NULL ? has : "", code);
}

/* Nobody is there to rank capabilities: nothing is found, the fallback is taken,
 * and the run says what it looked for, and why that was not found.
 * key: node.capability, edge.type=discovery, edge.discovery
 * key: discovery.query, discovery.fallback */
START_TEST(nothing_is_found)
{
    begin(FIND("{query: \"who does ${output.v}?\", fallback: else}"));
    admit("{\"v\": \"laundry\"}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("translate", "skipped");
    assert_node("pay", "skipped");
    assert_runs("else", 1);
    assert_found("{\"chosen\":\"else\",\"kind\":\"any\",\"path\":"
                 "\"1.0/a#1\",\"query\":\"who does laundry?\",\"results\":[]}");
    assert_error("discovery.failed");
    end();
}
END_TEST

/* As with a deployment that has discovery plugins. */
static void begin_asking(const char *yaml)
{
    begin(yaml);
    for (uint32_t i = 0; i < s.graph->n_edges; i++) {
        const struct mortise_edge_discovery *d = s.graph->edges[i].discovery;

        if (d != NULL)
            ((struct mortise_edge_discovery *)(uintptr_t)d)->nobody = NULL;
    }
}

static const struct mortise_run_call *the_call_of(const char *node)
{
    return &s.calls[call_of(node)].call;
}

/* It leads to the node that is ranked first, and to no other; the query sees the
 * output and what its node wrote.
 * key: edge.discovery, discovery.query, node.capability */
START_TEST(what_is_found_is_led_to)
{
    begin_asking(HEAD
                 "start: a\n"
                 "nodes:\n"
                 "  a: {type: tool, tool: t/read, args: {v: \"${input.v}\"},\n"
                 "      outputs: {scratch.w: output.v}}\n"
                 "  pay: {type: tool, tool: t/read, capability: pays}\n"
                 "  else: {type: tool, tool: t/read}\n"
                 "edges:\n"
                 "  - {from: a, discovery: {query: \"${scratch.w}\", fallback: "
                 "else}}\n");
    admit("{\"v\": \"pay\"}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("pay", 1);
    assert_node("else", "skipped");
    assert_found("{\"chosen\":\"pay\",\"kind\":\"any\",\"path\":"
                 "\"1.0/a#1\",\"query\":\"pay\",\"results\":[{\"id\":"
                 "\"pay\",\"score\":1.0}]}");
    end();
}
END_TEST

/* Nothing found, nobody who answers, an answer that is none, and a query that is
 * empty lead to the fallback; which of these it was is said. */
START_TEST(else_it_is_the_fallback)
{
    static const struct {
        const char *input, *lie, *code;
        unsigned mutes;
    } cases[] = {
        {"{\"v\": \"laundry\"}", NULL, "", 0},
        {"{\"v\": \"pay\"}", NULL, "discovery.failed", 1},
        {"{\"v\": \"pay\"}", "{\"results\": [{\"id\": \"a\"}]}",
         "discovery.bad_answer", 0},
        {"{\"v\": \"pay\"}", "{}", "discovery.bad_answer", 0},
        {"{\"v\": \"\"}", NULL, "discovery.query", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_asking(FIND("{query: \"${output.v}\", fallback: else}"));
        s.mutes = cases[i].mutes;
        if (cases[i].lie != NULL)
            s.lie = json_loads(cases[i].lie, 0, NULL);
        admit(cases[i].input);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("pay", "skipped");
        assert_runs("else", 1);
        assert_error(cases[i].code);
        end();
    }
}
END_TEST

/* A node with two of them looks for one after the other; guardrails of its output
 * and of its edges are asked once each. */
START_TEST(one_after_the_other)
{
    begin_asking(HEAD
                 "start: a\n"
                 "nodes:\n"
                 "  a: {type: tool, tool: t/read, args: {v: pay, w: wash},\n"
                 "      guardrail_policy: {output: [ok]}}\n"
                 "  pay: {type: tool, tool: t/read, capability: pays}\n"
                 "  wash: {type: tool, tool: t/read, capability: washes}\n"
                 "  x: {type: tool, tool: t/read}\n"
                 "  y: {type: tool, tool: t/read}\n"
                 "edges:\n"
                 "  - {from: a, discovery: {query: \"${output.v}\", fallback: "
                 "x}, guardrail_policy: {input: [ok]}}\n"
                 "  - {from: a, discovery: {query: \"${output.w}\", fallback: "
                 "y}}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("pay", 1);
    assert_runs("wash", 1);
    assert_node("x", "skipped");
    assert_node("y", "skipped");
    end();
}
END_TEST

/* Killed behind the record of what was found, it leads there, though nobody would
 * find it any more; and its node does not run again. */
START_TEST(killed_it_leads_to_the_same)
{
    for (int k = 0; k < 4; k++) {
        uint32_t seed = (uint32_t)k + 1;
        bool recorded;

        begin_asking(FIND("{query: \"${output.v}\", fallback: else}"));
        admit("{\"v\": \"pay\"}");
        finish("a");
        sim_end_call(&s, call_of("a")); /* it is found */
        for (int i = 0; i < k; i++)
            sim_sync_one(&s);
        recorded = k > 0;
        sim_crash(&s, &seed);
        sim_recover(&s);
        s.mutes = 100;
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        if (recorded) {
            assert_runs("pay", 1);
            assert_record("a", "attempts", "1");
        }
        end();
    }
}
END_TEST

/* Killed anywhere, any number of times, it leads to what is found. */
START_TEST(killed_anywhere)
{
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t seed = i + 1;

        begin_asking(FIND("{query: \"${output.v}\", fallback: else}"));
        admit("{\"v\": \"pay\"}");
        run_dying(&seed, 3);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("pay", "done");
        assert_node("translate", "skipped");
        end();
    }
}
END_TEST

/* Every kind of node may be left by a discovery edge: what is looked for is asked
 * for beside the node, which need not call anything itself.  Killed, paused or
 * updated meanwhile, the node does nothing again, and asks nobody again. */
START_TEST(every_kind_looks)
{
    static const char *const kinds[] = {
        "type: tool, tool: t/read, args: {v: 1}",
        "type: extension, extension: t, method: read, args: {v: 1}",
        "type: gmi, prompt: hi",
        "type: leaf, goal: g",
        "type: voice, voice: {mode: listen-only, audio_in: a.wav}",
        "type: guardrail, guardrails: [ok], target: \"1\"",
        "type: human, prompt: well?, auto_accept: true",
        "type: human, prompt: well?",
        "type: human, prompt: well?, wait: 1s, on_timeout: accept",
        "type: subgraph, timeout: 9s, output_mapping: {scratch.m: "
        "artifacts.i.v}, graph: {start: i, nodes: {i: {type: tool, tool: "
        "t/rec, "
        "args: {v: 1}}}}",
        "type: team, goal: g, timeout: 9s, graph: {start: i, nodes: {i: {goal: "
        "q}}}",
        "type: subgraph, on_error: {value: \"1\"}, graph: {start: i, nodes: "
        "{i: "
        "{type: tool, tool: t/fail, args: {code: lab}}}}",
    };
    static const struct mortise_command commands[] = {
        {.size = sizeof commands[0], .kind = MORTISE_CMD_PAUSE},
        {.size = sizeof commands[0],
         .kind = MORTISE_CMD_UPDATE,
         .json = "{\"scratch\": {\"x\": 1}}"}};
    uint32_t seed = (uint32_t)_i + 1;
    char yaml[1024];

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        snprintf(yaml, sizeof yaml,
                 HEAD
                 "start: x\n"
                 "nodes:\n"
                 "  x: {%s}\n"
                 "  pay: {type: tool, tool: t/read, capability: pays}\n"
                 "  else: {type: tool, tool: t/read}\n"
                 "edges:\n"
                 "  - {from: x, discovery: {query: pay, fallback: else}}\n",
                 kinds[i]);
        begin_asking(yaml);
        admit("{}");
        sync_all();
        while (sim_request(&s, "x") == NULL && s.n_calls > 0 &&
               s.calls[0].call.kind != MORTISE_RUN_DISCOVER)
            if (!sim_end_call(&s, 0) || sim_sync_one(&s))
                sync_all();
        if (sim_request(&s, "x") != NULL && s.n_timers > 0)
            sim_fire_timer(&s, 0);
        else if (sim_request(&s, "x") != NULL)
            ck_assert_int_eq(
                command(
                    (struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                             .id = sim_request(&s, "x"),
                                             .json = "{\"approved\": true}"},
                    0),
                MORTISE_OK);
        sync_all();
        ck_assert_int_eq(the_call_of("x")->kind, MORTISE_RUN_DISCOVER);
        if (_i < 2) {
            ck_assert_int_eq(sim_command(&s, &commands[_i], 1, 0, "ann", &err),
                             MORTISE_OK);
            sim_run_plain(&s);
        }
        if (_i == 0)
            ck_assert_int_eq(resume(), MORTISE_OK);
        if (_i == 2) {
            sim_crash(&s, &seed);
            sim_recover(&s);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_runs("pay", 1);
        assert_node("else", "skipped");
        assert_runs("x", 1);
        if (strstr(kinds[i], "t/rec") != NULL)
            ck_assert_int_eq(sim_effect_count(&s, "i"), 1);
        if (strstr(kinds[i], "output_mapping") != NULL)
            assert_value("scratch", "m", "1");
        end();
    }
}
END_TEST

/* What may be found is what `kind` says.
 * key: discovery.kind=any, discovery.kind=tool, discovery.kind=extension */
START_TEST(kinds_narrow)
{
    static const struct {
        const char *yaml, *found;
    } cases[] = {
        {FIND("{query: q, kind: any, fallback: else}"), "translate pay "},
        {FIND("{query: q, kind: tool, fallback: else}"), "translate "},
        {FIND("{query: q, kind: extension, fallback: else}"), "pay "},
    };

    for (size_t i = 0; i < 3; i++) {
        struct mortise_graph *g;
        char found[64] = "";

        char *yaml = strdup(cases[i].yaml);

        if (i > 0) /* what cannot be found is led to by nothing else */
            strcat(
                strcpy(yaml = realloc(yaml, strlen(yaml) + 64), cases[i].yaml),
                i == 1 ? "  - {from: a, to: pay}\n"
                       : "  - {from: a, to: translate}\n");
        g = sim_graph(yaml);
        for (uint32_t e = 0; e < g->n_edges; e++)
            if (g->edges[e].kind == MORTISE_EDGE_FOUND)
                strcat(strcat(found, g->nodes[g->edges[e].to].id), " ");
        ck_assert_str_eq(found, cases[i].found);
        mortise_graph_unref(g);
        free(yaml);
    }
}
END_TEST

/* key: discovery.kind=gmi, discovery.kind=leaf, discovery.kind=voice */
START_TEST(models_are_found)
{
    static const char *const kinds[][2] = {
        {"gmi", "type: gmi, prompt: x"},
        {"leaf", "type: leaf, goal: x"},
        {"voice", "type: voice, voice: {mode: listen-only, audio_in: a.wav}"}};
    char yaml[1024], found[64] = "";
    struct mortise_graph *g;

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/read, args: {v: 1}}\n"
                  "  pay: {type: tool, tool: t/read, capability: pays,\n"
                  "        depends_on: a}\n"
                  "  think: {%s, capability: thinks}\n"
                  "  else: {type: tool, tool: t/read, depends_on: think}\n"
                  "edges:\n"
                  "  - {from: a, type: discovery, discovery: {query: q, "
                  "kind: %s, fallback: else}}\n",
             kinds[_i][1], kinds[_i][0]);
    g = sim_graph(yaml);
    for (uint32_t e = 0; e < g->n_edges; e++)
        if (g->edges[e].kind == MORTISE_EDGE_FOUND)
            strcat(strcat(found, g->nodes[g->edges[e].to].id), " ");
    ck_assert_str_eq(found, "think ");
    mortise_graph_unref(g);
}
END_TEST

/* A query that cannot be evaluated, or is no text, fails the node. */
START_TEST(a_query_is_text)
{
    run_plain(FIND("{query: \"${output.v.w}\", fallback: else}"), "{\"v\": 1}");
    assert_node_error("a", "expression");
    end();
    run_plain(FIND("{query: \"${output.v}\", fallback: else}"), "{\"v\": 1}");
    assert_node_error("a", "type");
    end();
}
END_TEST

/* ---- goto ---------------------------------------------------------------- */

#define CHOOSE(op)                                                             \
    HEAD                                                                       \
        "start: [a, z]\n"                                                      \
        "nodes:\n"                                                             \
        "  a: {type: tool, tool: t/" op ", args: \"${input}\",\n"              \
        "      next: b, routes: [{when: \"true\", to: c}], targets: [d, END]}" \
        "\n"                                                                   \
        "  b: {type: tool, tool: t/read}\n"                                    \
        "  c: {type: tool, tool: t/read}\n"                                    \
        "  d: {type: extension, extension: t, method: read}\n"                 \
        "  z: {type: tool, tool: t/read}\n"                                    \
        "  all: {type: tool, tool: t/read, depends_on: [b, c, d, z]}\n"

/* What an executor names is taken instead of all that it would take else; the
 * others are dead, also for joins.
 * key: node.targets */
START_TEST(a_goto_replaces)
{
    run_plain(CHOOSE("read"), "{\"goto\": \"d\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("c", "skipped");
    assert_node("d", "done");
    assert_runs("all", 1);
    end();
    run_plain(CHOOSE("read"), "{\"goto\": \"END\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("d", "skipped");
    assert_runs("all", 1);
    end();
}
END_TEST

/* Who names nothing goes where it goes without targets. */
START_TEST(targets_are_not_taken_by_themselves)
{
    run_plain(CHOOSE("read"), "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "done");
    assert_node("c", "done");
    assert_node("d", "skipped");
    end();
}
END_TEST

/* A name that is no target fails the node, and the error says which it was. */
START_TEST(a_goto_is_a_target)
{
    static const char *const names[] = {"b", "nowhere", "a", "START", "d "};
    char input[64], message[96];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *show, *last;

        snprintf(input, sizeof input, "{\"goto\": \"%s\"}", names[i]);
        run_plain(CHOOSE("read"), input);
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("a", "route");
        show = sim_show(&s);
        records_of(show, "a", &last);
        snprintf(message, sizeof message,
                 "'a' chose '%s', which is not one of its targets", names[i]);
        ck_assert_str_eq(json_string_value(json_object_get(
                             json_object_get(last, "error"), "message")),
                         message);
        json_decref(show);
        end();
    }
    run_plain(HEAD "start: a\nnodes:\n  a: {type: tool, tool: t/read, args: "
                   "{goto: END}}\n",
              "{}");
    assert_node_error("a", "route"); /* it has no targets */
    end();
}
END_TEST

/* A value in an error's place names nothing; nor does a call that failed. */
START_TEST(only_successes_go)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {goto: b},\n"
                   "      targets: [b], next: c, on_error: {value: \"1\"}}\n"
                   "  b: {type: tool, tool: t/read}\n"
                   "  c: {type: tool, tool: t/read}\n",
              "{}");
    assert_node("b", "skipped");
    assert_node("c", "done");
    end();
}
END_TEST

/* An effect that was acknowledged with a goto that is none does not happen
 * again: the node fails each time of the same. */
START_TEST(what_was_said_is_kept)
{
    struct mortise_command again = {.kind = MORTISE_CMD_RESUME};
    uint32_t seed = 1;

    run_plain(CHOOSE("write"), "{\"goto\": \"nowhere\"}");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    sim_crash(&s, &seed);
    ck_assert_int_eq(command(again, 0), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "route");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Who is asked whether it happened says where it goes, too. */
START_TEST(what_was_reconciled_goes)
{
    begin(CHOOSE("rec"));
    admit("{\"goto\": \"d\"}");
    sync_all();
    ck_assert(is_out("a"));
    for (uint32_t seed = 1; sim_effect_count(&s, "a") == 0; seed++) {
        end();
        begin(CHOOSE("rec"));
        admit("{\"goto\": \"d\"}");
        sync_all();
        sim_crash(&s, &seed);
    }
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("d", "done");
    assert_node("b", "skipped");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* ---- routers that call --------------------------------------------------- */

#define ROUTER(keys)                                                           \
    HEAD "start: r\n"                                                          \
         "nodes:\n"                                                            \
         "  r: {type: router, targets: [a, b, END], " keys "}\n"               \
         "  a: {type: tool, tool: t/read}\n"                                   \
         "  b: {type: tool, tool: t/read}\n"

/* What the operation gives is the route: an id, or {to: id}.
 * key: node.operation */
START_TEST(an_operation_routes)
{
    static const char *const inputs[] = {"{\"v\": \"b\"}",
                                         "{\"v\": {\"to\": \"b\"}}"};

    for (size_t i = 0; i < 2; i++) {
        run_plain(ROUTER("operation: t/read, args: \"${input.v}\""), inputs[i]);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("r", "done");
        assert_node("a", "skipped");
        assert_node("b", "done");
        assert_value("artifacts", "r", "nothing");
        end();
    }
}
END_TEST

/* What is no target of the router's fails it, by name. */
START_TEST(an_operation_gives_a_target)
{
    static const char *const inputs[] = {"{\"v\": \"r\"}", "{\"v\": 1}",
                                         "{\"v\": {\"to\": null}}",
                                         "{\"v\": {\"a\": \"b\"}}"};

    for (size_t i = 0; i < 4; i++) {
        run_plain(ROUTER("operation: t/read, args: \"${input.v}\""), inputs[i]);
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("r", "route");
        end();
    }
}
END_TEST

/* It is a call like any other: tried again, led on when it fails, asked for. */
START_TEST(a_router_calls)
{
    run_plain(ROUTER("operation: t/fail, args: {to: b, times: 1, class: "
                     "transient}, retry_policy: {max_attempts: 2}"),
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("r", "attempts", "2");
    assert_node("b", "done");
    end();
    run_plain(ROUTER("operation: t/fail, on_error: {goto: a}"), "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "done");
    end();
    run_plain("apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
              "hitl_mode: approve_tools\nstart: r\nnodes:\n"
              "  r: {type: router, operation: t/read, args: {to: END},\n"
              "      targets: [END]}\n",
              "{}");
    sim_let_go(&s, "START");
    assert_node("r", "awaiting_approval");
    end();
    run_plain(ROUTER("operation: t/write, args: {to: b}"), "{}");
    assert_node("b", "done");
    ck_assert_int_eq(sim_effect_count(&s, "r"), 1);
    end();
}
END_TEST

/* ---- updates ------------------------------------------------------------- */

/* What an executor wants written is, through the reducers, before what the
 * graph makes of its output. */
START_TEST(executors_write)
{
    run_plain(HEAD
              "state: {reducers: {scratch.list: concat, scratch.in.sum: sum}}\n"
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/read, args: {update: {scratch: {list: "
              "[1],\n      in: {sum: 2, x: 1}, v: 1, w: 1}}}, next: b,\n"
              "      outputs: {scratch.w: \"2\"}, output_as: null}\n"
              "  b: {type: tool, tool: t/read, args: {update: {scratch: {list: "
              "[2],\n      in: {sum: 3}, v: 2}}}, output_as: null}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state(
        "{\"artifacts\":{},\"input\":{},\"scratch\":{\"in\":{\"sum\":5,"
        "\"x\":1},\"list\":[1,2],\"v\":2,\"w\":2}}");
    end();
}
END_TEST

/* An artifact that an executor sets itself is not its output; others are apart.
 */
START_TEST(artifacts_of_its_own_win)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, output_as: report,\n"
                   "      args: {update: {artifacts: {report: 1, more: 2}}}}\n"
                   "  b: {type: tool, tool: t/read, depends_on: a,\n"
                   "      args: {update: {artifacts: {more: 3}}}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "report", "1");
    assert_value("artifacts", "more", "3");
    assert_value("artifacts", "b", "{\"update\":{\"artifacts\":{\"more\":3}}}");
    end();
}
END_TEST

/* Two that write one thing, neither after the other, are in conflict. */
START_TEST(executors_conflict)
{
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, output_as: null,\n"
                   "      args: {update: {scratch: {v: 1}}}}\n"
                   "  b: {type: tool, tool: t/read, output_as: null,\n"
                   "      args: {update: {scratch: {v: 2}}}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("conflict");
    end();
}
END_TEST

/* What is no update, or breaks the state's schema, fails the node; and nothing
 * of it is written. */
START_TEST(updates_are_judged)
{
    static const char *const inputs[] = {
        "{\"update\": 1}", "{\"update\": {\"scratch\": [1]}}",
        "{\"update\": {\"input\": {}}}",
        "{\"update\": {\"scratch\": {\"v\": \"text\"}}}",
        "{\"update\": {\"scratch\": {\"\\u0001\\\"]\": 1, \"v\": null}}}"};

    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        run_plain(HEAD "state: {scratch: {type: object, properties: {v: {type: "
                       "integer}}}}\n"
                       "start: a\n"
                       "nodes:\n"
                       "  a: {type: tool, tool: t/read, args: \"${input}\"}\n",
                  inputs[i]);
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("a", "schema");
        assert_value("scratch", "v", "nothing");
        end();
    }
}
END_TEST

/* ---- trying again -------------------------------------------------------- */

/* What failed is mended, and tried again. */
static void mend_and_resume(void)
{
    struct mortise_command c[2] = {
        {.size = sizeof c[0],
         .kind = MORTISE_CMD_UPDATE,
         .flags = MORTISE_CMD_MERGE,
         .json = "{\"scratch\": {\"ok\": true}}"},
        {.size = sizeof c[0], .kind = MORTISE_CMD_RESUME}};

    ck_assert_int_eq(sim_command(&s, c, 2, 0, "ann", &err), MORTISE_OK);
    sync_all();
}

#define FAILS                                                                  \
    "type: tool, tool: t/fail, args: {times: \"${has(scratch.ok) ? 0 : 9}\"}"

/* A failure that came to races which were over is tried again: what it led to
 * went on without it, and does not start once more. */
START_TEST(late_failures_are_tried_again)
{
    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: [x, y]}\n"
               "  b: {" FAILS ", next: [x, y]}\n"
               "  x: {type: tool, tool: t/read, join: any,\n"
               "      on_branch_error: fail}\n"
               "  y: {type: tool, tool: t/read, join: any,\n"
               "      on_branch_error: fail}\n");
    admit("{}");
    finish("a");
    finish("x");
    finish("b");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    mend_and_resume();
    ck_assert(is_out("b"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "done");
    assert_runs("x", 1);
    assert_runs("y", 1);
    end();
}
END_TEST

/* So is one that came before enough others did, and kept the race from starting;
 * and it may fail again. */
START_TEST(early_failures_are_tried_again)
{
    struct mortise_command again = {.kind = MORTISE_CMD_RESUME};

    begin(HEAD "start: [a, b, c]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: x}\n"
               "  b: {" FAILS ", next: x}\n"
               "  c: {type: tool, tool: t/read, next: x}\n"
               "  x: {type: tool, tool: t/read, join: {quorum: 2},\n"
               "      on_branch_error: fail}\n");
    admit("{}");
    finish("b");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("x", 0);
    ck_assert_int_eq(command(again, 0), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("b", "generation", "2");
    mend_and_resume();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "done");
    assert_runs("x", 1);
    end();
}
END_TEST

/* One that a join collected or dropped, or that lost its race, is not. */
START_TEST(mended_failures_stay)
{
    static const char *const how[] = {
        "on_branch_error: collect", "on_branch_error: drop", "losers: finish"};
    char yaml[768];

    for (size_t i = 0; i < 3; i++) {
        snprintf(yaml, sizeof yaml,
                 HEAD "start: [a, b, c]\n"
                      "nodes:\n"
                      "  a: {type: tool, tool: t/read, next: x}\n"
                      "  b: {" FAILS ", next: x}\n"
                      "  c: {" FAILS "}\n"
                      "  x: {type: tool, tool: t/read, join: any, %s}\n",
                 how[i]);
        begin(yaml);
        admit("{}");
        if (i == 2)
            finish("a");
        finish("b");
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_FAILED); /* of c */
        mend_and_resume();
        ck_assert(is_out("c"));
        ck_assert(!is_out("b"));
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("b", "failed");
        end();
    }
}
END_TEST

/* Failed elements of a map are tried again at most max_parallel at a time, in
 * the order of the list, and across a death of the process. */
START_TEST(elements_return_a_few_at_a_time)
{
    uint32_t seed = 1;

    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, map: {over: \"[0, 1, 2, 3, 4, "
               "5]\",\n      to: w, join: j, max_parallel: 2}}\n"
               "  w: {" FAILS ", next: v}\n"
               "  v: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("w", 6);
    mend_and_resume();
    for (int done = 0; s.n_calls > 0 && done < 12; done++) {
        ck_assert_uint_le(s.n_calls, 2);
        if (done == 5) {
            sim_crash(&s, &seed);
            sim_recover(&s);
            ck_assert_uint_le(s.n_calls, 2);
        }
        sim_end_call(&s, (size_t)done % s.n_calls);
        sync_all();
        if (is_out("j"))
            break;
    }
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 6);
    assert_runs("v", 6);
    assert_runs("j", 1);
    end();
}
END_TEST

/* Those that fail again do not keep the others back, and a second resume is of
 * them alone. */
START_TEST(elements_may_fail_again)
{
    struct mortise_command again = {.kind = MORTISE_CMD_RESUME};

    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, map: {over: \"[0, 1, 2, 3]\",\n"
               "      to: w, join: j, max_parallel: 1}}\n"
               "  w: {type: tool, tool: t/fail, next: j, args: {times: \"${"
               "has(scratch.ok) && item > 1 ? 0 : item == 1 ? 0 : 9}\"}}\n"
               "  j: {type: tool, tool: t/read}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    mend_and_resume();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("1.0/w#1[0]", "generation", "2");
    assert_record("1.0/w#1[1]", "generation", "1");
    assert_node("1.0/w#1[2]", "done");
    assert_node("1.0/w#1[3]", "done");
    ck_assert_int_eq(command(again, 0), MORTISE_OK);
    sync_all();
    ck_assert_uint_eq(s.n_calls, 1);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("1.0/w#1[0]", "generation", "3");
    assert_record("1.0/w#1[3]", "generation", "2");
    end();
}
END_TEST

/* ---- */

static Suite *edges(void)
{
    Suite *suite = suite_create("edges");
    TCase *tc = tcase_create("personality");

    tcase_add_test(tc, traits_choose);
    tcase_add_test(tc, the_nearest_persona_counts);
    tcase_add_test(tc, a_dead_arm_is_not_awaited);
    suite_add_tcase(suite, tc);
    tc = tcase_create("discovery");
    tcase_add_test(tc, nothing_is_found);
    tcase_add_test(tc, what_is_found_is_led_to);
    tcase_add_test(tc, else_it_is_the_fallback);
    tcase_add_test(tc, one_after_the_other);
    tcase_add_test(tc, killed_it_leads_to_the_same);
    tcase_add_test(tc, killed_anywhere);
    tcase_add_loop_test(tc, every_kind_looks, 0, 4);
    tcase_add_test(tc, kinds_narrow);
    tcase_add_loop_test(tc, models_are_found, 0, 3);
    tcase_add_test(tc, a_query_is_text);
    suite_add_tcase(suite, tc);
    tc = tcase_create("goto");
    tcase_add_test(tc, a_goto_replaces);
    tcase_add_test(tc, targets_are_not_taken_by_themselves);
    tcase_add_test(tc, a_goto_is_a_target);
    tcase_add_test(tc, only_successes_go);
    tcase_add_test(tc, what_was_said_is_kept);
    tcase_add_test(tc, what_was_reconciled_goes);
    tcase_add_test(tc, an_operation_routes);
    tcase_add_test(tc, an_operation_gives_a_target);
    tcase_add_test(tc, a_router_calls);
    suite_add_tcase(suite, tc);
    tc = tcase_create("updates");
    tcase_add_test(tc, executors_write);
    tcase_add_test(tc, artifacts_of_its_own_win);
    tcase_add_test(tc, executors_conflict);
    tcase_add_test(tc, updates_are_judged);
    suite_add_tcase(suite, tc);
    tc = tcase_create("again");
    tcase_add_test(tc, late_failures_are_tried_again);
    tcase_add_test(tc, early_failures_are_tried_again);
    tcase_add_test(tc, mended_failures_stay);
    tcase_add_test(tc, elements_return_a_few_at_a_time);
    tcase_add_test(tc, elements_may_fail_again);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(edges());
}
