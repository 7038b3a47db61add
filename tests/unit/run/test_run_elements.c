/* test_run_elements.c -- what is an element's own, of a map (issue 15, point 7).
 *
 * What the nodes of a map's body write to the artifacts is their element's: its
 * later nodes see it, others never do, and at the join it is gone.  What leaves
 * is the map's results, and what a declared reducer is about. */
#include "lib/drive.h"

/* Rows of cells: each row has its own cells, each cell its own steps. */
#define ROWS                                                                   \
    HEAD "start: s\n"                                                          \
         "limits: {concurrency: 100}\n"                                        \
         "state: {reducers: {artifacts.log: concat}}\n"                        \
         "nodes:\n"                                                            \
         "  s: {type: tool, tool: t/read, map: {over: input.rows, as: row,\n"  \
         "      to: r, join: j}}\n"                                            \
         "  r: {type: tool, tool: t/read, args: {name: "                       \
         "\"${string(index)}\"},\n"                                            \
         "      map: {over: row, as: cell, to: c, join: k}}\n"                 \
         "  c: {type: tool, tool: t/read, next: d,\n"                          \
         "      args: {v: \"${artifacts.r.name + string(cell)}\"}}\n"          \
         "  d: {type: tool, tool: t/fail, next: k, outputs:\n"                 \
         "      {artifacts.log: '[output.v]'}, args:\n"                        \
         "      {v: \"${artifacts.r.name + ':' + artifacts.c.v}\",\n"          \
         "      times: \"${cell < 0 && !has(scratch.mended) ? 9 : 0}\",\n"     \
         "      code: negative}}\n"                                            \
         "  k: {type: tool, tool: t/read, next: j, args:\n"                    \
         "      {n: \"${artifacts.c.results.map(x, x.v)}\",\n"                 \
         "      of: \"${artifacts.r.name}\", d: \"${'d' in artifacts}\"}}\n"   \
         "  j: {type: tool, tool: t/echo, next: END,\n"                        \
         "      args: {all: \"${artifacts.r.results}\",\n"                     \
         "      seen: \"${artifacts.map(x, x)}\"}}\n"

#define TWO_ROWS "{\"rows\": [[1, 2], [3]]}"

static void assert_rows(void)
{
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "r",
                 "{\"failed\":[],\"results\":["
                 "{\"d\":false,\"n\":[\"0:01\",\"0:02\"],\"of\":\"0\"},"
                 "{\"d\":false,\"n\":[\"1:13\"],\"of\":\"1\"}]}");
    assert_value("artifacts", "log", "[\"0:01\",\"0:02\",\"1:13\"]");
    assert_value("artifacts", "c", "nothing");
    assert_value("artifacts", "d", "nothing");
    assert_value("artifacts", "k", "nothing");
    assert_runs("d", 3);
}

/* Nested maps: what is a row's its cells see, and nobody else does; what is a
 * cell's is gone at the row's join.  A path with a reducer leaves both. */
START_TEST(each_element_has_artifacts_of_its_own)
{
    uint32_t seed = (uint32_t)_i;

    begin(ROWS);
    admit(TWO_ROWS);
    sim_run(&s, &seed);
    assert_rows();
    end();
}
END_TEST

/* So it is wherever the process dies: in the middle of elements, too. */
START_TEST(they_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(ROWS);
    admit(TWO_ROWS);
    run_dying(&seed, 6);
    assert_rows();
    end();
}
END_TEST

/* One thing of the run happens: something is written, or a call ends. */
static bool step_once(void)
{
    return sim_sync_one(&s) || (s.n_calls > 0 && sim_end_call(&s, 0));
}

/* Killed behind each commit in turn, and behind each call, it comes to the
 * same. */
START_TEST(they_survive_a_death_behind_every_commit)
{
    for (int at = 1, more = 1; more != 0; at++) {
        uint32_t seed = (uint32_t)at;

        begin(ROWS);
        admit(TWO_ROWS);
        sim_sync_one(&s);
        more = 1;
        for (int i = 1; i < at && more != 0; i++)
            more = step_once();
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_rows();
        end();
    }
}
END_TEST

/* What is tried again sees what its element had. */
START_TEST(an_element_that_is_tried_again_has_its_own)
{
    uint32_t seed = 3;

    begin(ROWS);
    admit("{\"rows\": [[1, -2], [3]]}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("1.0/c#1[0][1]", "status", "done");
    sim_crash(&s, &seed);
    sim_recover(&s);
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/c#1[0][1]", "generation", "1");
    assert_record("1.0/d#1[0][1]", "output",
                  "{\"code\":\"negative\",\"times\":0,\"v\":\"0:0-2\"}");
    end();
}
END_TEST

/* It hides what the run has under that name, which stays as it was. */
START_TEST(they_hide_the_runs)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/read, args: {v: run}, output_as: x,\n"
              "      map: {over: '[1]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, args: {v: \"${artifacts.x.v}\"},"
              "\n      output_as: x, next: v}\n"
              "  v: {type: tool, tool: t/read, next: u,\n"
              "      args: {v: \"${artifacts.x.v + '!'}\"},\n"
              "      outputs: {'artifacts.x.v': output.v}}\n"
              "  u: {type: tool, tool: t/read, next: j,\n"
              "      args: {v: \"${artifacts.x.v + '?'}\"}}\n"
              "  j: {type: tool, tool: t/read, next: END,\n"
              "      args: {all: \"${artifacts.w.results}\",\n"
              "             x: \"${artifacts.x}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j",
                 "{\"all\":[{\"v\":\"run!?\"}],\"x\":{\"v\":\"run\"}}");
    assert_value("artifacts", "x", "{\"v\":\"run\"}");
    end();
}
END_TEST

/* In a loop around the map each round's elements begin with nothing. */
START_TEST(they_are_gone_in_the_next_round)
{
    run_plain(HEAD
              "start: s\n"
              "state: {reducers: {scratch.seen: concat}}\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: '[1, 2]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, next: v, outputs:\n"
              "      {scratch.seen: \"['v' in artifacts]\"}}\n"
              "  v: {type: tool, tool: t/read, next: j}\n"
              "  j: {type: router, routes: [{when: node.visit < 3, to: s}],\n"
              "      default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "seen", "[false,false,false,false,false,false]");
    assert_value("artifacts", "v", "nothing");
    end();
}
END_TEST

/* A loop in an element is all of one element: a round sees the last one's. */
START_TEST(a_loop_in_an_element_goes_on_with_its_own)
{
    run_plain(HEAD
              "start: s\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: '[1, 3]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, args: {n:\n"
              "      \"${has(artifacts.w) ? artifacts.w.n + 1 : 1}\"},\n"
              "      routes: [{when: output.n < item, to: w}], default: j}\n"
              "  j: {type: tool, tool: t/read, next: END,\n"
              "      args: {all: \"${artifacts.w.results}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"all\":[{\"n\":1},{\"n\":3}]}");
    end();
}
END_TEST

/* Of a graph inside, the elements are its own map's. */
START_TEST(a_map_in_a_graph_inside)
{
    run_plain(HEAD
              "start: s\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: '[1, 2]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, args: {n: \"${item}\"},"
              " next: t}\n"
              "  t:\n"
              "    type: subgraph\n"
              "    next: j\n"
              "    graph:\n"
              "      start: a\n"
              "      nodes:\n"
              "        a: {type: tool, tool: t/read,\n"
              "            map: {over: '[1]', to: x, join: k}}\n"
              "        x: {type: tool, tool: t/read, args: {n: 1}, next: y}\n"
              "        y: {type: tool, tool: t/read, next: k,\n"
              "            args: {n: \"${artifacts.x.n}\",\n"
              "                   w: \"${'w' in artifacts}\"}}\n"
              "        k: {type: tool, tool: t/read, next: END,\n"
              "            args: {all: \"${artifacts.x.results}\",\n"
              "                   y: \"${'y' in artifacts}\"}}\n"
              "  j: {type: tool, tool: t/read, next: END,\n"
              "      args: {all: \"${artifacts.w.results}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* An update is about the run: what an element has of its own, it keeps, even
 * where all artifacts are replaced; and what it has not, it sees. */
START_TEST(an_update_leaves_them)
{
    begin(HEAD "start: s\n"
               "state: {artifacts: {properties: {w: {}, mine: {}}}}\n"
               "nodes:\n"
               "  s: {type: tool, tool: t/read,\n"
               "      map: {over: '[1, 2]', to: w, join: j}}\n"
               "  w: {type: tool, tool: t/read, args: {n: \"${item}\"},\n"
               "      next: v}\n"
               "  v: {type: tool, tool: t/read, next: u, args:\n"
               "      {n: \"${artifacts.w.n}\", mine: \"${has(artifacts.mine)\n"
               "      ? artifacts.mine : 0}\"}}\n"
               "  u: {type: tool, tool: t/read, next: j, args:\n"
               "      {n: \"${artifacts.w.n + artifacts.v.n}\"}}\n"
               "  j: {type: tool, tool: t/read, next: END,\n"
               "      args: {all: \"${artifacts.w.results}\",\n"
               "             mine: \"${artifacts.mine}\"}}\n");
    admit("{}");
    finish("s");
    finish("w");
    ck_assert_int_eq(update("{\"artifacts\": {\"w\": 7, \"mine\": 8}}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/v#1[1]", "output", "{\"mine\":8,\"n\":2}");
    assert_value("artifacts", "j",
                 "{\"all\":[{\"n\":2},{\"n\":4}],\"mine\":8}");
    end();
}
END_TEST

/* A goto of people leaves the elements behind; the next ones begin anew. */
START_TEST(a_goto_leaves_them_behind)
{
    begin(ROWS);
    admit(TWO_ROWS);
    finish("s");
    finish("r");
    finish("c");
    ck_assert_int_eq(jump("s"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "c", "nothing");
    assert_record("1.0/d#1[0][1]", "output",
                  "{\"code\":\"negative\",\"times\":0,\"v\":\"0:02\"}");
    end();
}
END_TEST

/* Two branches of one element that write one path collide where they meet. */
START_TEST(they_collide_within_an_element)
{
    run_plain(HEAD "start: s\n"
                   "nodes:\n"
                   "  s: {type: tool, tool: t/read,\n"
                   "      map: {over: '[1]', to: w, join: j}}\n"
                   "  w: {type: tool, tool: t/read, next: [a, b]}\n"
                   "  a: {type: tool, tool: t/read, output_as: x, next: k}\n"
                   "  b: {type: tool, tool: t/read, output_as: x, next: k}\n"
                   "  k: {type: tool, tool: t/read, next: j}\n"
                   "  j: {type: tool, tool: t/read, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("k", "conflict");
    end();
}
END_TEST

/* The schema of the state is about the run's artifacts alone. */
START_TEST(the_states_schema_is_not_theirs)
{
    run_plain(HEAD
              "start: s\n"
              "state: {artifacts: {type: object, additionalProperties: false,\n"
              "  properties: {s: {type: object}, j: {type: object}, w: {type:\n"
              "  object, required: [results], properties: {results: {type:\n"
              "  array}}, additionalProperties: true}}}}\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: '[1]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, args: {n: 1}, next: v}\n"
              "  v: {type: tool, tool: t/read, args: {n: \"${artifacts.w.n}\","
              " all: \"${state.artifacts.w.n}\"}, next: u}\n"
              "  u: {type: tool, tool: t/read, args: {n: \"${artifacts.v.n}\"},"
              " next: j}\n"
              "  j: {type: tool, tool: t/read, next: END,\n"
              "      args: {all: \"${artifacts.w.results}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"all\":[{\"n\":1}]}");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s_ = suite_create("elements");
    TCase *tc = tcase_create("own");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, each_element_has_artifacts_of_its_own, 0, 20);
    tcase_add_loop_test(tc, they_survive_deaths, 0, 30);
    tcase_add_test(tc, they_survive_a_death_behind_every_commit);
    tcase_add_test(tc, an_element_that_is_tried_again_has_its_own);
    tcase_add_test(tc, they_hide_the_runs);
    tcase_add_test(tc, they_are_gone_in_the_next_round);
    tcase_add_test(tc, a_loop_in_an_element_goes_on_with_its_own);
    tcase_add_test(tc, a_map_in_a_graph_inside);
    tcase_add_test(tc, an_update_leaves_them);
    tcase_add_test(tc, a_goto_leaves_them_behind);
    tcase_add_test(tc, they_collide_within_an_element);
    tcase_add_test(tc, the_states_schema_is_not_theirs);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
