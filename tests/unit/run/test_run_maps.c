/* test_run_maps.c -- one activation for each element of a list. */
#include "lib/drive.h"
#include "core/run/record/journal.h"

/* Each element doubles its number; `spec` is what the map says besides, `node`
 * what the join does. */
static void doubling(const char *spec, const char *node, const char *input)
{
    char yaml[2048];

    snprintf(
        yaml, sizeof yaml,
        HEAD
        "start: s\n"
        "limits: {concurrency: 100}\n"
        "state: {reducers: {scratch.log: concat}}\n"
        "nodes:\n"
        "  s: {type: tool, tool: t/read, args: {list: \"${input.list}\"},\n"
        "      map: {over: output.list, to: w, join: j%s}}\n"
        "  w: {type: tool, tool: t/fail, next: v,\n"
        "      args: {n: \"${item}\", times: \"${item < 0 ? 9 : 0}\",\n"
        "             code: negative},\n"
        "      outputs: {scratch.log: \"['w' + string(index)]\"}}\n"
        "  v: {type: tool, tool: t/read, next: j,\n"
        "      args: {n: \"${item * 2}\", log: \"${scratch.log}\"},\n"
        "      outputs: {scratch.log: \"['v' + string(index)]\"}}\n"
        "  j: {type: tool, tool: t/echo, next: END%s,\n"
        "      args: {all: \"${artifacts.w}\"}}\n",
        spec, node);
    begin(yaml);
    admit(input);
}

/* Elements run side by side; each sees the state at the fork and its own
 * writes; the results come in input order, whatever the timing.
 * key: node.map, map.over, map.to, map.join */
START_TEST(elements_in_their_order)
{
    uint32_t seed = (uint32_t)_i;

    doubling("", "", "{\"list\": [1, 2, 3]}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    assert_runs("v", 3);
    assert_record("1.0/v#1[1]", "output", "{\"log\":[\"w1\"],\"n\":4}");
    assert_value("artifacts", "w",
                 "{\"failed\":[],\"results\":["
                 "{\"log\":[\"w0\"],\"n\":2},{\"log\":[\"w1\"],\"n\":4},"
                 "{\"log\":[\"w2\"],\"n\":6}]}");
    assert_value("scratch", "log",
                 "[\"w0\",\"w1\",\"w2\",\"v0\",\"v1\",\"v2\"]");
    end();
}
END_TEST

/* No elements: the join starts with nothing. */
START_TEST(an_empty_list)
{
    doubling("", "", "{\"list\": []}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 0);
    assert_node("j", "done");
    assert_value("artifacts", "w", "{\"failed\":[],\"results\":[]}");
    end();
}
END_TEST

/* What is no list is the source's failure. */
START_TEST(no_list)
{
    doubling("", "", "{\"list\": 3}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("s", "type");
    assert_node("j", "skipped");
    end();
}
END_TEST

/* At most max_parallel at a time, started in index order.
 * key: map.max_parallel */
START_TEST(only_so_many_at_once)
{
    doubling(", max_parallel: 2", "", "{\"list\": [1, 2, 3]}");
    finish("s");
    ck_assert_uint_eq(s.n_calls, 2);
    finish("w");
    finish("v");
    ck_assert_uint_eq(s.n_calls, 2);
    ck_assert_str_eq(s.calls[call_of("w")].call.path, "1.0/w#1[2]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Finished elements are never run again, wherever the process dies. */
START_TEST(maps_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    doubling(", max_parallel: 2", "", "{\"list\": [1, 2, 3]}");
    run_dying(&seed, 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    assert_value("scratch", "log",
                 "[\"w0\",\"w1\",\"w2\",\"v0\",\"v1\",\"v2\"]");
    end();
}
END_TEST

/* fail: the others come to their end; a resume tries again what failed. */
START_TEST(a_failed_element_fails_the_run)
{
    doubling("", "", "{\"list\": [1, -2, 3]}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("negative");
    assert_record("1.0/v#1[2]", "status", "done");
    assert_node("j", "skipped");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("1.0/w#1[0]", "generation", "1");
    assert_record("1.0/w#1[1]", "generation", "2");
    end();
}
END_TEST

/* A map that fails of what its elements wrote, one of which failed besides, is
 * tried again as a whole: that element, and then what they come to, once. */
START_TEST(what_failed_twice_is_tried_once)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, map: {over: '[1, 2, 3]',"
                   " to: n, join: j}}\n"
                   "  n: {type: tool, tool: t/fail, next: j,\n"
                   "      args: {times: \"${item == 1 ? 9 : 0}\"},\n"
                   "      outputs: {scratch.v: item}}\n"
                   "  j: {type: tool, tool: t/read, join: best_effort}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("conflict");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(MORTISE_RUN_FAILED);
        assert_run_error("conflict");
    }
    assert_record("1.0/n#1[0]", "generation", "3");
    assert_record("1.0/n#1[1]", "generation", "1");
    end();
}
END_TEST

/* collect: null in its place, and the error by index. */
START_TEST(a_failed_element_is_collected)
{
    json_t *show, *w;

    doubling("", ", on_branch_error: collect", "{\"list\": [1, -2, 3]}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    show = sim_show(&s);
    w = json_object_get(
        json_object_get(json_object_get(show, "state"), "artifacts"), "w");
    ck_assert_uint_eq(json_array_size(json_object_get(w, "results")), 3);
    ck_assert(json_is_null(json_array_get(json_object_get(w, "results"), 1)));
    w = json_array_get(json_object_get(w, "failed"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(w, "index")), 1);
    ck_assert_str_eq(
        json_string_value(json_object_get(json_object_get(w, "error"), "code")),
        "negative");
    json_decref(show);
    end();
}
END_TEST

/* drop: as if it had not been there. */
START_TEST(a_failed_element_is_dropped)
{
    doubling("", ", join: best_effort", "{\"list\": [1, -2, 3]}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "w",
                 "{\"failed\":[],\"results\":[{\"log\":[\"w0\"],\"n\":2},"
                 "{\"log\":[\"w2\"],\"n\":6}]}");
    end();
}
END_TEST

/* Maps in maps, with the items of both in scope.
 * key: map.as */
START_TEST(maps_in_maps)
{
    run_plain(
        HEAD
        "start: s\n"
        "nodes:\n"
        "  s: {type: tool, tool: t/read, map: {over: input.rows, as: row,\n"
        "      to: r, join: j}}\n"
        "  r: {type: tool, tool: t/read, map: {over: row, as: cell,\n"
        "      to: c, join: k}}\n"
        "  c: {type: tool, tool: t/read, next: k, args:\n"
        "      {v: \"${cell}\", of: \"${size(row)}\", i: \"${index}\"}}\n"
        "  k: {type: tool, tool: t/read, next: j, args:\n"
        "      {i: \"${index}\", n: \"${artifacts.c.results.map(x,\n"
        "      x.v)}\"}}\n"
        "  j: {type: tool, tool: t/echo, next: END,\n"
        "      args: {all: \"${artifacts.r.results}\"}}\n",
        "{\"rows\": [[1, 2], [], [3]]}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/c#1[0][1]", "output", "{\"i\":1,\"of\":2,\"v\":2}");
    assert_runs("k", 3);
    end();
}
END_TEST

/* A map in a loop: its elements' visits go on from round to round. */
START_TEST(a_map_in_a_loop)
{
    run_plain(HEAD
              "start: s\n"
              "state: {reducers: {scratch.n: sum}}\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: \"[1, 2, 3].filter(x, x <= node.visit)\",\n"
              "      to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, next: j,\n"
              "      args: {n: \"${item}\"}, outputs: {scratch.n: output.n}}\n"
              "  j: {type: router, routes: [{when: node.visit < 3, to: s}],\n"
              "      default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 6);
    assert_record("1.0/w#3[0]", "status", "done");
    assert_record("1.0/w#1[2]", "status", "done");
    assert_value("scratch", "n", "10");
    end();
}
END_TEST

/* The elements meet at the entry of the loop that the map is in: gathering them
 * begins the next round. */
START_TEST(a_map_back_to_its_loop)
{
    uint32_t seed = (uint32_t)_i;

    begin(HEAD "start: o\n"
               "state: {reducers: {scratch.log: concat}}\n"
               "nodes:\n"
               "  o: {type: tool, tool: t/read, default: END,\n"
               "      routes: [{when: node.visit < 3, to: m}]}\n"
               "  m: {type: tool, tool: t/read,\n"
               "      map: {over: \"[1, 2]\", to: w, join: o}}\n"
               "  w: {type: tool, tool: t/read, args: {n: \"${item}\"},\n"
               "      outputs: {scratch.log: \"[item]\"}, next: v}\n"
               "  v: {type: tool, tool: t/read, next: o}\n");
    admit("{}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("o", 3);
    assert_runs("v", 4);
    assert_value("scratch", "log", "[1,2,1,2]");
    end();
}
END_TEST

/* A loop in an element, counted for itself. */
START_TEST(a_loop_in_an_element)
{
    run_plain(HEAD
              "start: s\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read,\n"
              "      map: {over: \"[1, 3]\", to: x, join: j}}\n"
              "  x: {type: tool, tool: t/read, args: {v: \"${node.visit}\"},\n"
              "      routes: [{when: node.visit < item, to: x}], default: j}\n"
              "  j: {type: tool, tool: t/echo, next: END,\n"
              "      args: {all: \"${artifacts.x.results}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("x", 4);
    assert_value("artifacts", "j", "{\"all\":[{\"v\":1},{\"v\":3}]}");
    end();
}
END_TEST

/* Nobody can go to where there is no element; but before it. */
START_TEST(no_way_into_a_body)
{
    doubling("", "", "{\"list\": [1]}");
    sim_run_plain(&s);
    ck_assert_int_eq(jump("v"), MORTISE_EINVAL);
    ck_assert_int_eq(jump("s"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 2);
    assert_record("1.0/w#2[0]", "status", "done");
    end();
}
END_TEST

/* An update in between: what starts after it sees it. */
START_TEST(an_update_in_between)
{
    doubling(", max_parallel: 1", "", "{\"list\": [1, 2]}");
    finish("s");
    finish("w");
    ck_assert_int_eq(update("{\"scratch\": {\"log\": [\"ann\"]}}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "log", "[\"ann\",\"w1\",\"v0\",\"v1\"]");
    assert_value("artifacts", "j",
                 "{\"all\":{\"failed\":[],\"results\":["
                 "{\"log\":[\"ann\"],\"n\":2},{\"log\":[\"ann\",\"w1\"],"
                 "\"n\":4}]}}");
    end();
}
END_TEST

/* An update behind a join that started although an element failed: what failed is no
 * part of what the join came after, whether it is tried again or not. */
START_TEST(an_update_behind_a_failed_element)
{
    static const char *const joins[] = {"join: settled", "join: best_effort",
                                        "on_branch_error: collect"};
    char yaml[600];
    uint32_t seed = 1;

    snprintf(yaml, sizeof yaml,
             HEAD "start: [s, q]\n"
                  "nodes:\n"
                  "  s: {type: pass, value: [1, 2], map: {over: output, as: e, "
                  "to: w, join: j}}\n"
                  "  w: {type: pass, value: \"${1 / (e - 1)}\", next: j}\n"
                  "  j: {type: pass, %s, next: k}\n"
                  "  q: {type: human, prompt: p, next: k}\n"
                  "  k: {type: pass}\n",
             joins[_i]);
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_WAITING);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(update("{\"scratch\": {\"x\": 1}}"), MORTISE_OK);
        sync_all();
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
    }
    assert_record("1.0/w#1[0]", "status", "failed");
    assert_node("j", "done");
    assert_value("scratch", "x", "1");
    sim_let_go(&s, "q");
    assert_status(_i == 0 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* What a map comes to is judged like anything else that is written. */
START_TEST(a_result_breaks_its_schema)
{
    run_plain(HEAD "start: s\n"
                   "state: {artifacts: {type: object, properties:\n"
                   "        {w: {type: string}}}}\n"
                   "nodes:\n"
                   "  s: {type: tool, tool: t/read, output_as: null,\n"
                   "      map: {over: \"[1]\", to: w, join: j}}\n"
                   "  w: {type: tool, tool: t/read, next: j}\n"
                   "  j: {type: tool, tool: t/read, output_as: null}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("schema");
    assert_node("j", "skipped");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* A map that has lost a race begins no more elements. */
START_TEST(a_losing_map)
{
    begin(HEAD "start: [a, s]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: z}\n"
               "  s: {type: tool, tool: t/read,\n"
               "      map: {over: \"[1, 2, 3]\", to: w, join: j,\n"
               "            max_parallel: 1}}\n"
               "  w: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read, next: z}\n"
               "  z: {type: tool, tool: t/read, join: any}\n");
    admit("{}");
    finish("s");
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 1);
    assert_node("w", "skipped");
    assert_node("j", "skipped");
    end();
}
END_TEST

/* So has a map inside it, which writes nothing either. */
START_TEST(a_map_in_a_losing_map)
{
    begin(HEAD "start: [a, s]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: z}\n"
               "  s: {type: tool, tool: t/read,\n"
               "      map: {over: \"[1]\", as: x, to: w, join: j}}\n"
               "  w: {type: tool, tool: t/read,\n"
               "      map: {over: \"[1, 2]\", to: v, join: k}}\n"
               "  v: {type: tool, tool: t/read, next: k}\n"
               "  k: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read, next: z}\n"
               "  z: {type: tool, tool: t/read, join: any}\n");
    admit("{}");
    finish("s");
    finish("w");
    finish("v");
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("v", 2);
    assert_value("artifacts", "v", "nothing");
    end();
}
END_TEST

/* A map that is over calls nobody, so it waits for nobody's slot: its end
 * stands in the commit of its last element's. */
START_TEST(gathering_takes_no_slot)
{
    begin(HEAD "start: [a, s]\n"
               "limits: {concurrency: 2}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: [b, c]}\n"
               "  b: {type: tool, tool: t/read}\n"
               "  c: {type: tool, tool: t/read}\n"
               "  s: {type: tool, tool: t/read,\n"
               "      map: {over: \"[1]\", to: w, join: j}}\n"
               "  w: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read}\n");
    admit("{}");
    finish("s");
    finish("a"); /* c waits for w's slot */
    finish("w");
    assert_value("artifacts", "w", "{\"failed\":[],\"results\":[{}]}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- races among elements ----------------------------------------------- */

/* Three elements of two steps each, and a join that wants some of them. */
static void racing(const char *map, const char *join, const char *list)
{
    char yaml[2048];

    snprintf(
        yaml, sizeof yaml,
        HEAD
        "start: s\n"
        "limits: {concurrency: 100}\n"
        "state: {reducers: {scratch.log: concat}}\n"
        "nodes:\n"
        "  s: {type: tool, tool: t/read,\n"
        "      map: {over: '%s', to: w, join: j%s}}\n"
        "  w: {type: tool, tool: t/fail, next: v, output_as: null,\n"
        "      args: {n: \"${item}\", times: \"${item < 0 ? 1 : 0}\",\n"
        "             code: negative},\n"
        "      outputs: {scratch.log: \"['w' + string(index)]\"}}\n"
        "  v: {type: tool, tool: t/read, next: j, output_as: null,\n"
        "      args: {n: \"${item}\"},\n"
        "      outputs: {scratch.log: \"['v' + string(index)]\"}}\n"
        "  j: {type: tool, tool: t/echo, next: END, %s,\n"
        "      args: {all: \"${artifacts.w}\", saw: \"${scratch.log}\"}}\n",
        list, map, join);
    begin(yaml);
    admit("{}");
    sync_all();
}

static size_t call_at(const char *path)
{
    for (size_t i = 0; i < s.n_calls; i++) {
        if (strcmp(s.calls[i].call.path, path) == 0)
            return i;
    }
    ck_abort_msg("no call of %s", path);
    return 0;
}

/* The call of that element comes to its end. */
static void finish_element(const char *path)
{
    sim_end_call(&s, call_at(path));
    sync_all();
}

/* ... which is a good one, whatever it was told. */
static void succeed(const char *path)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    in.u.result =
        (struct mortise_result_in){.call = s.calls[call_at(path)].call.id,
                                   .output = json_true(),
                                   .message = "",
                                   .error_code = "",
                                   .error_class = ""};
    sim_feed(&s, &in);
}

/* People resume; the calls that come of it wait. */
static void resume_slowly(void)
{
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}, 0),
        MORTISE_OK);
    sync_all();
}

/* `any`: the first element starts the join, the others are cancelled and
 * awaited; what they had done counts, as in any race.
 * key: node.join=any */
START_TEST(any_takes_the_first_element)
{
    racing("", "join: any", "[1, 2, 3]");
    finish("s");
    finish_element("1.0/w#1[1]");
    finish_element("1.0/w#1[2]");
    ck_assert(!is_out("j"));
    finish_element("1.0/v#1[1]");
    ck_assert(is_out("j"));
    ck_assert(s.calls[call_of("w")].cancelled);
    ck_assert(s.calls[call_of("v")].cancelled);
    finish("j");
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_RUNNING);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/w#1[0]", "status", "skipped");
    assert_record("1.0/w#1[2]", "status", "done");
    assert_record("1.0/v#1[2]", "status", "skipped");
    assert_runs("v", 2);
    assert_value("artifacts", "j",
                 "{\"all\":{\"failed\":[],\"results\":[{\"n\":2}]},"
                 "\"saw\":[\"w1\",\"v1\"]}");
    assert_value("artifacts", "w", "{\"failed\":[],\"results\":[{\"n\":2}]}");
    assert_value("scratch", "log", "[\"w1\",\"w2\",\"v1\"]");
    end();
}
END_TEST

/* A quorum of elements, in input order; those that were not begun are not.
 * key: join.quorum */
START_TEST(a_quorum_of_elements)
{
    racing(", max_parallel: 2", "join: {quorum: 2}", "[1, 2, 3, 4]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("j", 1);
    assert_value("artifacts", "w",
                 "{\"failed\":[],\"results\":[{\"n\":1},{\"n\":2}]}");
    end();
}
END_TEST

/* losers: finish: all elements come to their end, those too that had not begun;
 * what they write late, nobody sees.
 * key: node.losers=finish */
START_TEST(losing_elements_finish)
{
    racing(", max_parallel: 2", "join: any, losers: finish", "[1, 2, 3]");
    finish("s");
    finish_element("1.0/w#1[1]");
    finish_element("1.0/v#1[1]");
    finish("j");
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_RUNNING);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    assert_runs("v", 3);
    assert_runs("j", 1);
    assert_value("artifacts", "w", "{\"failed\":[],\"results\":[{\"n\":2}]}");
    assert_value("scratch", "log", "[\"w1\",\"v1\"]");
    end();
}
END_TEST

/* Failed elements are nothing to it while enough others may come. */
START_TEST(a_race_of_elements_drops_failures)
{
    racing("", "join: {quorum: 2}", "[-1, 2, 3]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "w",
                 "{\"failed\":[],\"results\":[{\"n\":2},{\"n\":3}]}");
    end();
}
END_TEST

/* Once it is out of reach the run fails, and every failure is named; a resume
 * tries the failed elements again, and no others. */
START_TEST(a_quorum_of_elements_out_of_reach)
{
    json_t *show;

    racing("", "join: {quorum: 2}", "[-1, 2, -3]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    show = sim_show(&s);
    ck_assert_uint_eq(json_array_size(json_object_get(
                          json_object_get(show, "error"), "failed")),
                      2);
    json_decref(show);
    resume_slowly();
    ck_assert_uint_eq(s.n_calls, 2);
    succeed("1.0/w#1[2]");
    finish_element("1.0/v#1[2]");
    ck_assert(is_out("j"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/w#1[0]", "status", "skipped");
    assert_record("1.0/w#1[1]", "generation", "1");
    assert_value("artifacts", "w",
                 "{\"failed\":[],\"results\":[{\"n\":2},{\"n\":-3}]}");
    assert_runs("j", 1);
    end();
}
END_TEST

/* Fewer elements than it wants, and none failed: nothing leads to the join, as
 * with edges that are not taken. */
START_TEST(too_few_elements)
{
    racing("", _i == 0 ? "join: {quorum: 3}" : "join: any",
           _i == 0 ? "[1, 2]" : "[]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("j", "skipped");
    end();
}
END_TEST

/* fail: an element that failed before enough came fails the join. */
START_TEST(a_race_of_elements_may_fail)
{
    racing("", "join: any, on_branch_error: fail", "[-1, 2, 3]");
    finish("s");
    finish_element("1.0/w#1[0]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    assert_runs("v", 2);
    resume_slowly();
    ck_assert_uint_eq(s.n_calls, 1);
    succeed("1.0/w#1[0]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("j", 1);
    end();
}
END_TEST

/* collect: null in its place for who failed or came too late, and the failures
 * by index. */
START_TEST(a_race_of_elements_collects)
{
    racing(", max_parallel: 1", "join: any, on_branch_error: collect",
           "[-1, 2, 3]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("v", 1);
    assert_value("artifacts", "w",
                 "{\"failed\":[{\"error\":{\"class\":\"permanent\",\"code\":"
                 "\"negative\",\"message\":\"told to fail\",\"node\":\"w\"},"
                 "\"index\":0}],"
                 "\"results\":[null,{\"n\":2},null]}");
    end();
}
END_TEST

/* Elements and edges count together. */
START_TEST(elements_beside_edges)
{
    begin(HEAD "start: [a, s]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: j}\n"
               "  s: {type: tool, tool: t/read,\n"
               "      map: {over: '[1, 2, 3]', to: w, join: j}}\n"
               "  w: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read, join: {quorum: 3}}\n");
    admit("{}");
    sync_all();
    finish("s");
    finish_element("1.0/w#1[2]");
    if (_i == 0)
        finish("a");
    finish_element("1.0/w#1[1]");
    if (_i == 1)
        finish("a");
    if (_i == 2) /* without it */
        finish_element("1.0/w#1[0]");
    ck_assert(is_out("j"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("j", 1);
    assert_record("1.0/w#1[0]", "status", _i == 2 ? "done" : "skipped");
    assert_record("1.0/a#1", "status", _i == 2 ? "skipped" : "done");
    end();
}
END_TEST

/* Two maps fill one quorum: both have gathered when the join starts. */
START_TEST(two_maps_fill_a_quorum)
{
    begin(HEAD "start: [s, z]\n"
               "nodes:\n"
               "  s: {type: tool, tool: t/read,\n"
               "      map: {over: '[1, 2]', to: w, join: j}}\n"
               "  z: {type: tool, tool: t/read,\n"
               "      map: {over: '[1, 2]', to: v, join: j}}\n"
               "  w: {type: tool, tool: t/read, next: j}\n"
               "  v: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/echo, join: {quorum: 2}, args:\n"
               "      {n: \"${size(artifacts.w.results) +\n"
               "            size(artifacts.v.results)}\"}}\n");
    admit("{}");
    sync_all();
    finish("s");
    finish("z");
    finish_element("1.0/w#1[1]");
    finish_element("1.0/v#1[0]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"n\":2}");
    end();
}
END_TEST

/* Decided once, wherever the process dies, and whatever the timing. */
START_TEST(races_of_elements_survive_deaths)
{
    static const char *const joins[] = {
        "join: any", "join: {quorum: 2}", "join: {quorum: 2}, losers: finish",
        "join: {quorum: 2}, on_branch_error: collect"};
    uint32_t seed = (uint32_t)_i;

    racing(_i % 3 == 0 ? ", max_parallel: 2" : "", joins[_i % 4],
           "[1, -2, 3, 4]");
    run_dying(&seed, 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("j", 1);
    end();
}
END_TEST

/* A map in the body of a loop begins its race anew in each round. */
START_TEST(a_race_of_elements_in_a_loop)
{
    run_plain(HEAD
              "start: s\n"
              "state: {reducers: {scratch.n: sum}}\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/read, outputs: {scratch.n: '1'},\n"
              "      map: {over: '[1, 2, 3]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, next: j}\n"
              "  j: {type: tool, tool: t/read, join: {quorum: 2},\n"
              "      routes: [{when: scratch.n < 3, to: s}], default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("j", 3);
    end();
}
END_TEST

/* An inner map whose race is decided inside an element of another. */
START_TEST(a_race_in_an_element)
{
    run_plain(HEAD "start: s\n"
                   "nodes:\n"
                   "  s: {type: tool, tool: t/read, map: {over: '[1, 2]',\n"
                   "      as: row, to: r, join: j}}\n"
                   "  r: {type: tool, tool: t/read, map: {over: '[1, 2, 3]',\n"
                   "      as: cell, to: c, join: k}}\n"
                   "  c: {type: tool, tool: t/read, next: k}\n"
                   "  k: {type: tool, tool: t/echo, next: j, join: any, args:\n"
                   "      {n: \"${size(artifacts.c.results)}\"}}\n"
                   "  j: {type: tool, tool: t/echo, next: END, args:\n"
                   "      {all: \"${artifacts.r.results.map(x, x.n)}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"all\":[1,1]}");
    end();
}
END_TEST

/* ---- maps out of START, and of routes ------------------------------------ */

/* Each element of the input doubles its number, from the start on. */
static const char from_start[] =
    HEAD "limits: {concurrency: 100}\n"
         "state: {reducers: {scratch.log: concat}}\n"
         "start: {map: {over: input.list, to: w, join: j, max_parallel: 2}}\n"
         "nodes:\n"
         "  w: {type: tool, tool: t/fail, next: j,\n"
         "      args: {n: \"${item * 2}\", times: \"${item < 0 ? 9 : 0}\",\n"
         "             code: negative},\n"
         "      outputs: {scratch.log: \"['w' + string(index)]\"}}\n"
         "  j: {type: tool, tool: t/echo, next: END,\n"
         "      args: {all: \"${artifacts.w}\"}}\n";

static void run_from_start(const char *input)
{
    run_plain(from_start, input);
}

/* A run may begin with a map over its input, whatever the timing.
 * key: graph.start, fan-out.map */
START_TEST(a_map_out_of_start)
{
    uint32_t seed = (uint32_t)_i;

    begin(from_start);
    admit("{\"list\": [1, 2, 3]}");
    ck_assert_uint_eq(s.n_calls, 2); /* max_parallel */
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    assert_record("1.0/w#1[2]", "output",
                  "{\"code\":\"negative\",\"n\":6,\"times\":0}");
    assert_value("scratch", "log", "[\"w0\",\"w1\",\"w2\"]");
    end();
}
END_TEST

/* Its elements survive deaths, and those that are done are not run again. */
START_TEST(a_map_out_of_start_survives_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(from_start);
    admit("{\"list\": [1, 2, 3]}");
    run_dying(&seed, 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    assert_value("scratch", "log", "[\"w0\",\"w1\",\"w2\"]");
    end();
}
END_TEST

/* An input without a list is refused, as one that breaks a condition out of
 * START is; an empty list leads to the join. */
START_TEST(a_map_out_of_start_needs_a_list)
{
    begin(from_start);
    ck_assert_int_eq(sim_admit(&s, "{\"list\": 3}", &err), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg,
                     "test.yaml:6:21: map.over of 'START' must be a list");
    end();
    begin(from_start);
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_EINVAL);
    end();
    run_from_start("{\"list\": []}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 0);
    assert_node("j", "done");
    end();
}
END_TEST

/* What failed in it is tried again by a resume; a goto and an update are as in
 * any map. */
START_TEST(commands_about_a_map_out_of_start)
{
    run_from_start("{\"list\": [1, -2, 3]}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("negative");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("1.0/w#1[0]", "generation", "1");
    assert_record("1.0/w#1[1]", "generation", "2");
    ck_assert_int_eq(
        do_command((struct mortise_command){
            .kind = MORTISE_CMD_UPDATE, .json = "{\"artifacts\": {\"w\": 7}}"}),
        MORTISE_OK);
    ck_assert_int_eq(do_command((struct mortise_command){
                         .kind = MORTISE_CMD_GOTO, .node = "j"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("j", "done");
    end();
}
END_TEST

/* A graph inside may begin with one; what is no list fails its node. */
START_TEST(a_map_out_of_start_inside)
{
    static const char inner[] =
        HEAD "start: s\n"
             "nodes:\n"
             "  s: {type: subgraph, input_mapping: {input.list: input.list},\n"
             "      graph: {start: {map: {over: input.list, to: w, join: j}},\n"
             "        nodes: {w: {type: tool, tool: t/echo, next: j,\n"
             "                    args: {n: \"${item}\"}},\n"
             "                j: {type: pass, value: "
             "\"${artifacts.w.results}\"}}}}\n";

    run_plain(inner, "{\"list\": [1, 2]}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/s#1/w#1[1]", "output", "{\"n\":2}");
    end();
    run_plain(inner, "{\"list\": 3}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("s", "type");
    end();
}
END_TEST

/* Under approve_plan the list is kept with the yes. */
START_TEST(a_map_out_of_start_waits_for_its_plan)
{
    uint32_t seed = 1;

    begin(HEAD
          "hitl_mode: approve_plan\n"
          "start: {map: {over: input.list, to: w, join: j}}\n"
          "nodes:\n"
          "  w: {type: tool, tool: t/read, next: j, args: {n: \"${item}\"}}\n"
          "  j: {type: pass, value: \"${size(artifacts.w.results)}\"}\n");
    admit("{\"list\": [1, 2]}");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = sim_request(&s, "START"),
                                            .json = "{\"approved\": true}"}),
        MORTISE_OK);
    run_dying(&seed, 2);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "2");
    end();
}
END_TEST

/* Where a condition says whether START leads into a map. */
START_TEST(a_map_out_of_start_on_condition)
{
    static const char yaml[] = HEAD
        "start: a\n"
        "nodes:\n"
        "  a: {type: pass, next: j}\n"
        "  w: {type: tool, tool: t/echo, next: j, args: {n: \"${item}\"}}\n"
        "  j: {type: pass, value: \"${has(artifacts.w)}\"}\n"
        "edges:\n"
        "  - {from: START, when: has(input.list),\n"
        "     map: {over: input.list, to: w, join: j}}\n";

    run_plain(yaml, "{\"list\": [1]}");
    assert_value("artifacts", "j", "true");
    end();
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 0);
    assert_value("artifacts", "j", "false");
    end();
}
END_TEST

/* A route, or the default, may lead into a map; those that are not taken do
 * nothing.
 * key: route.map */
START_TEST(routes_fan_out)
{
    static const struct {
        const char *input, *result;
        unsigned w, v;
    } runs[] = {
        {"{\"list\": [1, 2]}",
         "{\"failed\":[],\"results\":[{\"n\":1},{\"n\":2}]}", 2, 0},
        {"{\"list\": [1]}", "null", 0, 0},
        {"{\"list\": []}", "null", 0, 3},
    };
    static const char *const types[] = {
        "type: router", "type: tool, tool: t/read, args: {v: 1}"};
    char yaml[2048];
    uint32_t seed = (uint32_t)_i;

    snprintf(
        yaml, sizeof yaml,
        HEAD
        "start: r\n"
        "nodes:\n"
        "  r: {%s,\n"
        "      routes: [{when: size(input.list) > 1,\n"
        "                map: {over: input.list, to: w, join: j}},\n"
        "               {when: size(input.list) == 1, to: j}],\n"
        "      default: {map: {over: \"[1, 2, 3]\", to: v, join: j}}}\n"
        "  w: {type: tool, tool: t/read, next: j, args: {n: \"${item}\"}}\n"
        "  v: {type: tool, tool: t/read, next: j, args: {n: \"${item}\"}}\n"
        "  j: {type: tool, tool: t/echo, args: {all: \"${has(artifacts.w) "
        "? artifacts.w : null}\"}}\n",
        types[_i % 2]);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char want[256];

        begin(yaml);
        admit(runs[i].input);
        run_dying(&seed, 3);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_runs("w", runs[i].w);
        assert_runs("v", runs[i].v);
        snprintf(want, sizeof want, "{\"all\":%s}", runs[i].result);
        assert_value("artifacts", "j", want);
        end();
    }
}
END_TEST

/* Several routes that hold may each lead into a map; a list that is none fails
 * the router. */
START_TEST(all_routes_fan_out)
{
    run_plain(
        HEAD
        "start: r\n"
        "nodes:\n"
        "  r: {type: router, default: END, routes: {all: [\n"
        "        {when: \"true\", map: {over: '[1]', to: w, join: j}},\n"
        "        {when: \"true\", map: {over: '[2]', to: v, join: j}}]}}\n"
        "  w: {type: tool, tool: t/echo, next: j, args: {n: \"${item}\"}}\n"
        "  v: {type: tool, tool: t/echo, next: j, args: {n: \"${item}\"}}\n"
        "  j: {type: pass, value: \"${artifacts.w.results[0].n + "
        "artifacts.v.results[0].n}\"}\n",
        "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "3");
    end();
    run_plain(HEAD "start: r\n"
                   "nodes:\n"
                   "  r: {type: router, default: j, routes: [{when: \"true\",\n"
                   "        map: {over: input.list, to: w, join: j}}]}\n"
                   "  w: {type: pass, next: j}\n"
                   "  j: {type: pass}\n",
              "{\"list\": 3}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("r", "type");
    end();
}
END_TEST

static Suite *maps(void)
{
    Suite *suite = suite_create("maps");
    TCase *tc = tcase_create("maps");

    tcase_add_loop_test(tc, elements_in_their_order, 0, 20);
    tcase_add_test(tc, an_empty_list);
    tcase_add_test(tc, no_list);
    tcase_add_test(tc, only_so_many_at_once);
    tcase_add_loop_test(tc, maps_survive_deaths, 0, 60);
    tcase_add_test(tc, a_failed_element_fails_the_run);
    tcase_add_test(tc, what_failed_twice_is_tried_once);
    tcase_add_test(tc, a_failed_element_is_collected);
    tcase_add_test(tc, a_failed_element_is_dropped);
    tcase_add_test(tc, maps_in_maps);
    tcase_add_test(tc, a_map_in_a_loop);
    tcase_add_loop_test(tc, a_map_back_to_its_loop, 0, 10);
    tcase_add_test(tc, a_loop_in_an_element);
    tcase_add_test(tc, no_way_into_a_body);
    tcase_add_test(tc, an_update_in_between);
    tcase_add_loop_test(tc, an_update_behind_a_failed_element, 0, 3);
    tcase_add_test(tc, a_result_breaks_its_schema);
    tcase_add_test(tc, a_losing_map);
    tcase_add_test(tc, a_map_in_a_losing_map);
    tcase_add_test(tc, gathering_takes_no_slot);
    tcase_add_test(tc, any_takes_the_first_element);
    tcase_add_test(tc, a_quorum_of_elements);
    tcase_add_test(tc, losing_elements_finish);
    tcase_add_test(tc, a_race_of_elements_drops_failures);
    tcase_add_test(tc, a_quorum_of_elements_out_of_reach);
    tcase_add_loop_test(tc, too_few_elements, 0, 2);
    tcase_add_test(tc, a_race_of_elements_may_fail);
    tcase_add_test(tc, a_race_of_elements_collects);
    tcase_add_loop_test(tc, elements_beside_edges, 0, 3);
    tcase_add_test(tc, two_maps_fill_a_quorum);
    tcase_add_loop_test(tc, races_of_elements_survive_deaths, 0, 60);
    tcase_add_test(tc, a_race_of_elements_in_a_loop);
    tcase_add_test(tc, a_race_in_an_element);
    tcase_add_loop_test(tc, a_map_out_of_start, 0, 10);
    tcase_add_loop_test(tc, a_map_out_of_start_survives_deaths, 0, 40);
    tcase_add_test(tc, a_map_out_of_start_needs_a_list);
    tcase_add_test(tc, commands_about_a_map_out_of_start);
    tcase_add_test(tc, a_map_out_of_start_inside);
    tcase_add_test(tc, a_map_out_of_start_waits_for_its_plan);
    tcase_add_test(tc, a_map_out_of_start_on_condition);
    tcase_add_loop_test(tc, routes_fan_out, 0, 6);
    tcase_add_test(tc, all_routes_fan_out);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(maps());
}
