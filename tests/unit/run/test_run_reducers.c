/* test_run_reducers.c -- how writes are joined, one reducer after another. */
#include "lib/drive.h"
#include "core/run/state/fold.h"

/* Two or three branches write scratch.x side by side, after `seed` has. */
static const char *branches(const char *reducer, const char *seed,
                            const char *const writes[3])
{
    static const char *const others[] = {"o1", "o2", "o3"};
    static char yaml[2048];
    int n = snprintf(yaml, sizeof yaml,
                     HEAD "start: s\n"
                          "state: {reducers: {scratch.x: %s}}\n"
                          "nodes:\n"
                          "  s: {type: tool, tool: t/echo, output_as: null,\n"
                          "      next: [a, b, c],\n"
                          "      outputs: {scratch.%s: \"%s\"}}\n",
                     reducer, seed != NULL ? "x" : "other",
                     seed != NULL ? seed : "0");

    for (int i = 0; i < 3; i++)
        n += snprintf(yaml + n, sizeof yaml - (size_t)n,
                      "  %c: {type: tool, tool: t/read, output_as: null,\n"
                      "      next: j, outputs: {scratch.%s: \"%s\"}}\n",
                      "abc"[i], writes[i] != NULL ? "x" : others[i],
                      writes[i] != NULL ? writes[i] : "0");
    snprintf(yaml + n, sizeof yaml - (size_t)n,
             "  j: {type: tool, tool: t/echo, next: END,\n"
             "      args: {x: \"${scratch.x}\"}, output_as: seen}\n");
    return yaml;
}

static const struct {
    const char *reducer, *seed;
    const char *writes[3];
    const char *want; /* NULL: the join fails with `reducer` */
} cases[] = {
    {"sum", "10", {"1", "1", NULL}, "12"},
    {"concat", "['s']", {"['l']", "['r']", NULL}, "[\"s\",\"l\",\"r\"]"},
    {"concat", "'s'", {"'l'", "'r'", NULL}, "\"slr\""},
    {"avg", NULL, {"1", "2", "6"}, "3.0"},
    {"avg", "1.5", {"2.5", NULL, NULL}, "2.0"},
    {"avg", "-4", {"1", "2", "6"}, "1.25"},
    {"merge",
     "{'a': {'b': 1, 'c': {'d': 1}}}",
     {"{'a': {'c': {'e': 2}}}", "{'a': {'b': 3}}", NULL},
     "{\"a\":{\"b\":3,\"c\":{\"d\":1,\"e\":2}}}"},
    {"min", "3", {"1", "2", NULL}, "1"},
    {"max", "3", {"1", "7", NULL}, "7"},
    {"first", "3", {"1", "7", NULL}, "3"},
    {"first", NULL, {"1", "7", NULL}, "1"},
    {"last", "3", {"1", "7", NULL}, "7"},
    {"longest", "'ab'", {"'abc'", "'xyz'", NULL}, "\"abc\""},
    {"{expr: \"old * 10 + new\"}", "1", {"2", "3", NULL}, "123"},
    {"{expr: \"old.size() > new.size() ? old : new\"}",
     "'a'",
     {"'bb'", "'cc'", NULL},
     "\"cc\""},
    {"{reduce: concat, max_items: 3, overflow: drop_oldest}",
     "[1, 2]",
     {"[3]", "[4, 5]", NULL},
     "[3,4,5]"},
    {"{reduce: concat, max_items: 3, overflow: drop_oldest}",
     "[1, 2, 3, 4]",
     {NULL, NULL, NULL},
     "[2,3,4]"},
    {"{reduce: concat, max_items: 3, overflow: error}",
     "[1]",
     {"[2]", "[3]", NULL},
     "[1,2,3]"},
    {"{reduce: concat, max_items: 3, overflow: error}",
     "[1]",
     {"[2]", "[3]", "[4]"},
     NULL},
    {"{reduce: concat, max_items: 3, overflow: drop_oldest}",
     "'a'",
     {"'b'", NULL, NULL},
     NULL},
    {"sum", "1", {"1", "'no'", NULL}, NULL},
    {"avg", "1", {"1", "'no'", NULL}, NULL},
    {"{expr: \"old / new\"}", "1", {"1", "0", NULL}, NULL},
};

/* Side by side, in declared order, whatever the timing.
 * key: reducer.reduce, reducer.expr, reducer.max_items
 * key: reducer.overflow=error, reducer.overflow=drop_oldest */
START_TEST(branches_are_joined)
{
    for (uint32_t seed = 0; seed < 6; seed++) {
        uint32_t random = seed;

        begin(branches(cases[_i].reducer, cases[_i].seed, cases[_i].writes));
        admit("{}");
        sim_run(&s, &random);
        if (cases[_i].want != NULL) {
            assert_status(MORTISE_RUN_COMPLETED);
            assert_value("scratch", "x", cases[_i].want);
        } else {
            assert_status(MORTISE_RUN_FAILED);
        }
        end();
    }
}
END_TEST

/* A mean is that of all its operands, over joins, loops and a crash.
 * key: state.reducers=avg */
START_TEST(a_mean_is_of_all)
{
    uint32_t seed = (uint32_t)_i;

    begin(HEAD
          "start: x\n"
          "state: {reducers: {scratch.m: avg}}\n"
          "nodes:\n"
          "  x: {type: tool, tool: t/read, output_as: null,\n"
          "      args: {v: \"${node.visit * node.visit}\"},\n"
          "      outputs: {scratch.m: output.v},\n"
          "      routes: [{when: node.visit < 4, to: x}], default: END}\n");
    admit("{}");
    run_dying(&seed, 3);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "m", "7.5"); /* (1 + 4 + 9 + 16) / 4 */
    end();
}
END_TEST

/* An update sets a mean as of one operand; so does what writes above it. */
START_TEST(an_update_begins_a_mean_anew)
{
    const char *const set[] = {"{\"scratch\": {\"m\": 10}}",
                               "{\"scratch\": {\"m\": 10, \"n\": 1}}"};

    run_plain(HEAD "start: a\n"
                   "state: {reducers: {scratch.m: avg}}\n"
                   "interrupt_before: [c]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: b,\n"
                   "      outputs: {scratch.m: \"1\"}}\n"
                   "  b: {type: tool, tool: t/read, next: c,\n"
                   "      outputs: {scratch.m: \"3\"}}\n"
                   "  c: {type: tool, tool: t/read, next: END,\n"
                   "      outputs: {scratch.m: \"20\"}}\n",
              "{}");
    assert_value("scratch", "m", "2.0");
    ck_assert_int_eq(update(set[_i]), MORTISE_OK);
    assert_value("scratch", "m", "10");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "m", "15.0");
    end();
}
END_TEST

/* An update through the reducers is an operand like any other. */
START_TEST(an_update_through_reducers)
{
    run_plain(HEAD "start: a\n"
                   "state: {reducers: {scratch.m: avg, scratch.e:\n"
                   "        {expr: old + '+' + new}}}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: END,\n"
                   "      outputs: {scratch.m: \"1\", scratch.e: \"'a'\"}}\n",
              "{}");
    ck_assert_int_eq(do_command((struct mortise_command){
                         .kind = MORTISE_CMD_UPDATE,
                         .flags = MORTISE_CMD_MERGE,
                         .json = "{\"scratch\": {\"m\": 3, \"e\": \"b\"}}"}),
                     MORTISE_OK);
    assert_value("scratch", "m", "2.0");
    assert_value("scratch", "e", "\"a+b\"");
    end();
}
END_TEST

/* What parallel branches wrote and a reducer cannot take is cured by whoever
 * writes the state. */
START_TEST(an_update_cures_a_type_error)
{
    run_plain(branches("sum", NULL, (const char *const[3]){"1", "'no'", NULL}),
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("j", "reducer");
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 5}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "x", "5");
    end();
}
END_TEST

/* An expression that costs too much, or makes a value too deep, fails.
 * key: limits.expr_cost */
START_TEST(expressions_are_bounded)
{
    run_plain(HEAD "start: a\n"
                   "limits: {expr_cost: 60, steps: 300, visits: 300}\n"
                   "state: {reducers: {scratch.e: {expr: \"old + new\"}}}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read,\n"
                   "      outputs: {scratch.e: \"'0123456789'\"},\n"
                   "      routes: [{when: node.visit < 9, to: a}],\n"
                   "      default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "reducer");
    end();
    run_plain(HEAD "start: a\n"
                   "limits: {steps: 3000, visits: 3000}\n"
                   "state: {reducers: {scratch.e: {expr: \"[old, new]\"}}}\n"
                   "nodes:\n"
                   "  a: {type: router, routes: [{when: node.visit < 2000,\n"
                   "      to: b}], default: END}\n"
                   "  b: {type: tool, tool: t/echo, next: a,\n"
                   "      outputs: {scratch.e: \"1\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("b", "reducer");
    end();
}
END_TEST

static json_t *state_of(const char *text)
{
    json_t *state = json_loads(text, 0, NULL);

    ck_assert_ptr_nonnull(state);
    return state;
}

/* A list grows where it is, unless somebody holds it; what was appended is the
 * same, and so is who fails. */
START_TEST(a_list_grows_in_place)
{
    struct mortise_path_step steps[] = {{"scratch", 0}, {"l", 0}};
    const struct mortise_path path = {steps, 2, "scratch.l"};
    const struct mortise_reducer three = {.max_items = 3};
    struct mortise_write w = {.path = &path,
                              .reduce = MORTISE_REDUCE_CONCAT,
                              .value = json_pack("[i]", 2),
                              .how = &three};
    json_t *state = state_of("{\"scratch\": {\"l\": [1]}}"), *held, *want;
    json_t *list = mortise_path_get(state, &path);

    ck_assert_int_eq(mortise_fold_write(&state, &w, 100, &err), MORTISE_OK);
    ck_assert_ptr_eq(mortise_path_get(state, &path), list);
    held = json_incref(state);
    ck_assert_int_eq(mortise_fold_write(&state, &w, 100, &err), MORTISE_OK);
    want = state_of("{\"scratch\": {\"l\": [1, 2, 2]}}");
    ck_assert(json_equal(state, want));
    ck_assert_uint_eq(json_array_size(list), 2);
    json_decref(held);
    ck_assert_int_eq(mortise_fold_write(&state, &w, 100, &err), MORTISE_EINVAL);
    ck_assert(json_equal(state, want)); /* as it was */
    json_decref(want);
    json_decref(state);
    json_decref(w.value);
}
END_TEST

/* Branches whose state after nobody asked for are judged all the same: what
 * does not fit fails its node, and what does is there when it is asked for. */
START_TEST(branches_are_judged_before_the_join)
{
    static const struct {
        const char *outputs, *after; /* NULL: the node fails */
    } of[] = {
        {"scratch.text.x: \"1\"", NULL},
        {"'scratch.list[3]': \"1\"", NULL},
        {"'scratch.list[0].x': \"1\"", NULL},
        {"scratch.log: \"1\"", NULL},
        {"scratch.all: \"[1]\"", NULL},
        {"scratch.o: \"1\", scratch.o.x: \"2\"", NULL},
        {"scratch.o.x: \"2\", scratch.o: \"1\"", "1"},
        {"scratch.o: \"{'x': 1}\", scratch.o.y: \"2\"", "{\"x\":1,\"y\":2}"},
        {"scratch.o.n.x: \"1\", scratch.o.n.y: \"2\"",
         "{\"b\":0,\"n\":{\"x\":1,\"y\":2}}"},
        {"scratch.new.x: \"1\", scratch.o.b: \"2\"", "{\"b\":2}"},
    };
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: s\n"
                  "state: {reducers: {scratch.log: concat, scratch.all: "
                  "merge}}\n"
                  "nodes:\n"
                  "  s: {type: tool, tool: t/echo, output_as: null,\n"
                  "      next: [a, b], outputs: {scratch.text: \"'t'\",\n"
                  "      scratch.list: \"[1]\", scratch.log: \"[1]\",\n"
                  "      scratch.all: \"{}\", scratch.o: \"{'b': 0}\"}}\n"
                  "  a: {type: tool, tool: t/echo, output_as: null,\n"
                  "      outputs: {%s}, next: c}\n"
                  "  c: {type: tool, tool: t/echo, next: END,\n"
                  "      args: {x: \"${scratch.o}\"}, output_as: seen}\n"
                  "  b: {type: tool, tool: t/echo, output_as: null,\n"
                  "      next: END}\n",
             of[_i].outputs);
    run_plain(yaml, "{}");
    if (of[_i].after == NULL) {
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("a", "reducer");
    } else {
        char want[128];

        snprintf(want, sizeof want, "{\"x\":%s}", of[_i].after);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("artifacts", "seen", want);
    }
    end();
}
END_TEST

static Suite *reducers(void)
{
    Suite *suite = suite_create("reducers");
    TCase *tc = tcase_create("reducers");

    tcase_add_loop_test(tc, branches_are_joined, 0,
                        sizeof cases / sizeof cases[0]);
    tcase_add_loop_test(tc, a_mean_is_of_all, 0, 20);
    tcase_add_loop_test(tc, an_update_begins_a_mean_anew, 0, 2);
    tcase_add_test(tc, an_update_through_reducers);
    tcase_add_test(tc, an_update_cures_a_type_error);
    tcase_add_test(tc, expressions_are_bounded);
    tcase_add_test(tc, a_list_grows_in_place);
    tcase_add_loop_test(tc, branches_are_judged_before_the_join, 0, 10);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(reducers());
}
