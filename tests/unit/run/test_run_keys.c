/* test_run_keys.c -- keys of a graph that no other test of runs is about, each
 * with what becomes of a run that has it.
 *
 * tests/graph_keys.md lists all keys and their tests, here and elsewhere. */
#include "core/model/graph.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"
#include "lib/drive.h"

/* ---- defaults that are said --------------------------------------------- */

/* Nobody is asked.
 * key: graph.hitl_mode=none */
START_TEST(nobody_is_asked)
{
    run_plain(HEAD "hitl_mode: none\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static const char two[] = HEAD "%s\n"
                               "start: [bad, good]\n"
                               "nodes:\n"
                               "  bad: {type: tool, tool: t/fail}\n"
                               "  good: {type: tool, tool: t/read, next: on}\n"
                               "  on: {type: tool, tool: t/read}\n";

/* What does not depend on a failure comes to its end.
 * key: graph.failure=continue */
START_TEST(others_continue)
{
    char yaml[512];

    snprintf(yaml, sizeof yaml, two, "failure: continue");
    begin(yaml);
    admit("{}");
    finish("bad");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("on", "done");
    end();
}
END_TEST

/* Reaching END ends a branch, not the run.
 * key: graph.end=all */
START_TEST(all_have_to_end)
{
    begin(HEAD "end: all\n"
               "start: [a, b]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: END}\n"
               "  b: {type: tool, tool: t/read, next: c}\n"
               "  c: {type: tool, tool: t/read, next: END}\n");
    admit("{}");
    finish("a");
    sim_run_plain(&s);
    assert_node("c", "done");
    end();
}
END_TEST

/* A failed branch fails what it leads to.
 * key: node.on_branch_error=fail */
START_TEST(a_branch_fails_its_join)
{
    run_plain(HEAD
              "start: [bad, good]\n"
              "nodes:\n"
              "  bad: {type: tool, tool: t/fail, next: both}\n"
              "  good: {type: tool, tool: t/read, next: both}\n"
              "  both: {type: tool, tool: t/read, on_branch_error: fail}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("both", "skipped");
    end();
}
END_TEST

/* All: every edge decided.
 * key: node.join=all */
START_TEST(all_are_awaited)
{
    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: both}\n"
               "  b: {type: tool, tool: t/read, next: both}\n"
               "  both: {type: tool, tool: t/read, join: all}\n");
    admit("{}");
    finish("a");
    ck_assert(!is_out("both"));
    finish("b");
    ck_assert(is_out("both"));
    sim_run_plain(&s);
    end();
}
END_TEST

/* ---- what a node runs, and after whom ----------------------------------- */

/* An operation in two keys; an edge that is written at its end.
 * key: node.type=extension, node.extension, node.method, node.depends_on */
START_TEST(extensions_run_behind_others)
{
    begin(HEAD "nodes:\n"
               "  b: {type: extension, extension: t, method: read,\n"
               "      depends_on: [a], args: {v: 2}}\n"
               "  a: {type: tool, tool: t/read, args: {v: 1}}\n"
               "start: a\n");
    admit("{}");
    ck_assert(!is_out("b"));
    finish("a");
    ck_assert(is_out("b"));
    sim_run_plain(&s);
    assert_value("artifacts", "b", "{\"v\":2}");
    end();
}
END_TEST

/* What a node gets, and what it gives, has to suit it.
 * key: node.input_schema, node.output_schema */
START_TEST(nodes_have_schemas)
{
    static const char yaml[] =
        HEAD "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/echo, args: {v: \"${input.v}\"},\n"
             "      %s: {type: object, properties: {v: {type: integer}}}}\n";
    static const char *const keys[] = {"input_schema", "output_schema"};
    char text[512];

    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, yaml, keys[i]);
        run_plain(text, "{\"v\": 1}");
        assert_status(MORTISE_RUN_COMPLETED);
        end();
        run_plain(text, "{\"v\": \"one\"}");
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("a", "schema");
        end();
    }
}
END_TEST

/* What the patterns of a schema cost together counts to expr_cost.  A node whose
 * value costs more fails. */
START_TEST(patterns_of_schemas_cost)
{
    static const char yaml[] =
        HEAD "limits: {expr_cost: %d}\nstart: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/echo, args: {v: \"${input.v}\"},\n"
             "      %s: {properties: {v: {pattern: '%s'}}}}\n";
    static const char *const keys[] = {"input_schema", "output_schema"};
    static const char *const patterns[] = {"a$", "(?=a)a*$"};
    char text[512], input[2100];

    snprintf(input, sizeof input, "{\"v\": \"%02000d\"}", 0);
    memset(strchr(input, '0'), 'a', 2000);
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, yaml, 3000, keys[i % 2], patterns[i / 2]);
        run_plain(text, input);
        assert_status(MORTISE_RUN_COMPLETED);
        end();
        snprintf(text, sizeof text, yaml, 200, keys[i % 2], patterns[i / 2]);
        run_plain(text, input);
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("a", "schema");
        end();
    }
}
END_TEST

/* Kinds of edges that are said.
 * key: edge.type=static, edge.type=conditional, edge.type=map, edge.map */
START_TEST(edges_have_types)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read}\n"
                   "  b: {type: tool, tool: t/read}\n"
                   "  c: {type: tool, tool: t/read}\n"
                   "  e: {type: tool, tool: t/read, args: {i: \"${item}\"}}\n"
                   "  j: {type: tool, tool: t/read}\n"
                   "edges:\n"
                   "  - {from: a, to: b, type: static}\n"
                   "  - {from: a, to: c, type: conditional, when: 1 > 2}\n"
                   "  - {from: a, type: map,\n"
                   "     map: {over: \"[7]\", to: e, join: j}}\n"
                   "  - {from: e, to: j}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "done");
    assert_node("c", "skipped");
    assert_value("artifacts", "e", "{\"failed\":[],\"results\":[{\"i\":7}]}");
    end();
}
END_TEST

/* ---- effects ------------------------------------------------------------ */

/* Is the call of node `a` out before anything is on disk? */
static bool starts_at_once(const char *defaults, const char *tool,
                           const char *node)
{
    char yaml[512];
    bool at_once;

    snprintf(yaml, sizeof yaml,
             HEAD "%s\nstart: a\nnodes:\n  a: {type: tool, tool: t/%s%s}\n",
             defaults, tool, node);
    begin(yaml);
    admit("{}");
    at_once = is_out("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    return at_once;
}

/* R12: what is said to change something waits for what it stands on.
 * key: node.effect_class=write, node.effect_class=external
 * key: defaults.effect_class=write, defaults.effect_class=external */
START_TEST(stricter_effects_wait)
{
    ck_assert(starts_at_once("", "read", ""));
    ck_assert(!starts_at_once("", "read", ", effect_class: write"));
    ck_assert(!starts_at_once("", "read", ", effect_class: external"));
    ck_assert(!starts_at_once("defaults: {effect_class: write}", "read", ""));
    ck_assert(
        !starts_at_once("defaults: {effect_class: external}", "read", ""));
}
END_TEST

/* The effect of node `a`. */
static enum mortise_effect effect_of(const char *defaults, const char *node)
{
    char yaml[512];
    struct mortise_graph *g;
    enum mortise_effect effect;

    snprintf(yaml, sizeof yaml,
             HEAD "%s\nstart: a\nnodes:\n  a: {type: tool, tool: t/%s}\n",
             defaults, node);
    g = sim_graph(yaml);
    effect = g->nodes[0].effect;
    mortise_graph_unref(g);
    return effect;
}

/* What only looks may start at once; that it does more than compute is known.
 * key: node.effect_class=pure, node.effect_class=read
 * key: defaults.effect_class=pure, defaults.effect_class=read */
START_TEST(weaker_effects_are_known)
{
    ck_assert(starts_at_once("", "echo", ", effect_class: read"));
    ck_assert_int_eq(effect_of("", "echo, effect_class: pure"), MORTISE_PURE);
    ck_assert_int_eq(effect_of("", "echo, effect_class: read"), MORTISE_READ);
    ck_assert_int_eq(effect_of("defaults: {effect_class: pure}", "echo"),
                     MORTISE_PURE);
    ck_assert_int_eq(effect_of("defaults: {effect_class: read}", "echo"),
                     MORTISE_READ);
    ck_assert_int_eq(
        effect_of("defaults: {effect_class: read}", "echo, effect_class: pure"),
        MORTISE_PURE);
}
END_TEST

/* ---- trying again ------------------------------------------------------- */

/* How long a node waited between four attempts, in all. */
static uint64_t waits(const char *top, const char *policy)
{
    char yaml[512];
    uint64_t before;

    snprintf(yaml, sizeof yaml,
             HEAD "%s\nstart: a\nnodes:\n"
                  "  a: {type: tool, tool: t/fail,\n"
                  "      args: {class: transient, times: 3}%s}\n",
             top, policy);
    begin(yaml);
    admit("{}");
    before = s.now_ms;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    return s.now_ms - before;
}

static void waits_about(const char *top, const char *policy, uint64_t ms)
{
    uint64_t have = waits(top, policy);

    ck_assert_msg(have >= ms && have < ms + 100, "%llu ms, not %llu",
                  (unsigned long long)have, (unsigned long long)ms);
}

/* The k-th retry waits b, b k, b 2^(k-1), and never more than the most.
 * key: retry_policy.backoff=fixed, retry_policy.backoff=linear
 * key: retry_policy.backoff=exponential, retry_policy.delay
 * key: retry_policy.max_delay, retry_policy.max_attempts, node.retry_policy */
START_TEST(waits_between_attempts)
{
    waits_about("",
                ", retry_policy: {max_attempts: 4, jitter: 0,"
                " backoff: fixed, delay: 2s}",
                6000);
    waits_about("",
                ", retry_policy: {max_attempts: 4, jitter: 0,"
                " backoff: linear, delay: 2s}",
                12000);
    waits_about("",
                ", retry_policy: {max_attempts: 4, jitter: 0,"
                " backoff: exponential, delay: 2s}",
                14000);
    waits_about("",
                ", retry_policy: {max_attempts: 4, jitter: 0,"
                " backoff: exponential, delay: 2s, max_delay: 3s}",
                8000);
}
END_TEST

/* A tenth of each wait is chance, unless it is said otherwise.
 * key: retry_policy.jitter */
START_TEST(waits_vary)
{
    uint64_t some = waits("", ", retry_policy: {max_attempts: 4, jitter: 0.5,"
                              " backoff: fixed, delay: 20s}");

    ck_assert_uint_ne(some / 100, 600);
    waits_about("",
                ", retry_policy: {max_attempts: 4, jitter: 0,"
                " backoff: fixed, delay: 20s}",
                60000);
}
END_TEST

/* For nodes that say nothing; and not for those that do.
 * key: graph.defaults, defaults.retry_policy */
START_TEST(retries_by_default)
{
    static const char top[] = "defaults: {retry_policy: {max_attempts: 4,"
                              " jitter: 0, backoff: fixed, delay: 5s}}";

    waits_about(top, "", 15000);
    waits_about(top,
                ", retry_policy: {max_attempts: 4, jitter: 0,"
                " backoff: fixed, delay: 1s}",
                3000);
}
END_TEST

/* Only what is listed is tried again, by code or by class.
 * key: retry_policy.retry_on */
START_TEST(only_some_failures_retry)
{
    static const char yaml[] = HEAD
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: t/fail, args: {class: \"${input.class}\",\n"
        "      code: \"${input.code}\", times: 1},\n"
        "      retry_policy: {max_attempts: 2, retry_on: [busy, timeout]}}"
        "\n";

    run_plain(yaml, "{\"class\": \"transient\", \"code\": \"busy\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    run_plain(yaml, "{\"class\": \"timeout\", \"code\": \"slow\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    run_plain(yaml, "{\"class\": \"transient\", \"code\": \"lost\"}");
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* A timeout for nodes that say nothing.
 * key: defaults.timeout */
START_TEST(timeouts_by_default)
{
    begin(HEAD "defaults: {timeout: 5s}\n"
               "start: a\nnodes:\n  a: {type: tool, tool: t/read}\n");
    admit("{}");
    ck_assert_uint_eq(s.calls[0].call.timeout_ms, 5000);
    ck_assert_uint_eq(s.n_timers, 1);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 5000);
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_node_error("a", "timeout.call");
    end();
}
END_TEST

/* Nobody answers, which is an error of the node.
 * key: node.on_timeout=error */
START_TEST(silence_is_an_error)
{
    begin(HEAD "start: a\nnodes:\n"
               "  a: {type: human, prompt: Well?, wait: 1h,\n"
               "      on_timeout: error}\n");
    admit("{}");
    sync_all();
    ck_assert_uint_eq(s.n_timers, 1);
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "timeout");
    end();
}
END_TEST

/* ---- bounds of the graph itself ----------------------------------------- */

static void refused(const char *yaml, const char *code)
{
    struct mortise_diags diags;
    struct mortise_graph *g = NULL;
    struct mortise_err why;

    mortise_diags_init(&diags, &test_mem);
    ck_assert_int_eq(mortise_graph_load(&g, &test_mem, "t.yaml", yaml,
                                        strlen(yaml), &sim_catalog, &diags,
                                        &why),
                     MORTISE_ECHECK);
    ck_assert_uint_ge(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, code);
    mortise_diags_finish(&diags);
}

/* More nodes, or graphs deeper in each other, than it may have.
 * key: limits.nodes, limits.depth */
START_TEST(graphs_have_bounds)
{
    static const char inner[] =
        HEAD "limits: {nodes: %d, depth: %d}\n"
             "start: a\nnodes:\n"
             "  a:\n"
             "    type: subgraph\n"
             "    graph:\n"
             "      start: b\n"
             "      nodes:\n"
             "        b: {type: tool, tool: t/read}\n"
             "        c: {type: tool, tool: t/read, depends_on: b}\n";
    char yaml[512];

    snprintf(yaml, sizeof yaml, inner, 3, 1);
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    snprintf(yaml, sizeof yaml, inner, 2, 1);
    refused(yaml, "E0311");
    snprintf(yaml, sizeof yaml, inner, 3, 0);
    refused(yaml, "E0313");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_keys");
    TCase *tc = tcase_create("run_keys");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, nobody_is_asked);
    tcase_add_test(tc, others_continue);
    tcase_add_test(tc, all_have_to_end);
    tcase_add_test(tc, a_branch_fails_its_join);
    tcase_add_test(tc, all_are_awaited);
    tcase_add_test(tc, extensions_run_behind_others);
    tcase_add_test(tc, nodes_have_schemas);
    tcase_add_test(tc, patterns_of_schemas_cost);
    tcase_add_test(tc, edges_have_types);
    tcase_add_test(tc, stricter_effects_wait);
    tcase_add_test(tc, weaker_effects_are_known);
    tcase_add_test(tc, waits_between_attempts);
    tcase_add_test(tc, waits_vary);
    tcase_add_test(tc, retries_by_default);
    tcase_add_test(tc, only_some_failures_retry);
    tcase_add_test(tc, timeouts_by_default);
    tcase_add_test(tc, silence_is_an_error);
    tcase_add_test(tc, graphs_have_bounds);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
