/* test_run_subs.c -- a graph inside a node. */
#include "lib/drive.h"

#define N_ITEMS(array) (sizeof(array) / sizeof(array)[0])

#define INNER                                                                  \
    "    graph:\n"                                                             \
    "      state: {reducers: {scratch.log: concat}}\n"                         \
    "      start: p\n"                                                         \
    "      nodes:\n"                                                           \
    "        p: {type: tool, tool: t/read, next: q, output_as: null,\n"        \
    "            args: {n: \"${input.n}\"},\n"                                 \
    "            outputs: {scratch.log: \"[output.n]\"}}\n"                    \
    "        q: {type: tool, tool: t/fail, next: END,\n"                       \
    "            args: {n: \"${scratch.log[0] + 1}\", code: broken,\n"         \
    "                   times: \"${input.times}\"}}\n"

static const char nested[] =
    HEAD "start: a\n"
         "state: {reducers: {scratch.log: concat}}\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/read, output_as: null, next: review,\n"
         "      outputs: {scratch.log: \"['outer']\"}}\n"
         "  review:\n"
         "    type: subgraph\n"
         "    input_mapping: {input.n: \"size(scratch.log)\", input.times: "
         "input.times}\n"
         "    output_mapping: {scratch.got: \"artifacts.q.n + \n"
         "                     size(scratch.log)\"}\n"
         "    next: z\n" INNER "  z: {type: tool, tool: t/echo, next: END,\n"
         "      args: {got: \"${scratch.got}\", log: \"${scratch.log}\"}}\n";

/* Input in, artifacts out; the child's state is its own.
 * key: node.type=subgraph, subgraph.graph, node.input_mapping
 * key: node.output_mapping */
START_TEST(in_and_out)
{
    run_plain(nested, "{\"times\": 0}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("review", "output",
                  "{\"q\":{\"code\":\"broken\",\"n\":2,\"times\":0}}");
    assert_value("artifacts", "z", "{\"got\":3,\"log\":[\"outer\"]}");
    assert_record("1.0/review#1/q#1", "status", "done");
    assert_record("1.0/review#1/q#1", "after", "[\"1.0/review#1/p#1\"]");
    end();
}
END_TEST

/* It survives dying anywhere. */
START_TEST(children_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(nested);
    admit("{\"times\": 0}");
    run_dying(&seed, 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("p", 1);
    assert_value("artifacts", "z", "{\"got\":3,\"log\":[\"outer\"]}");
    end();
}
END_TEST

/* A child's failure is the node's; a resume goes inside and tries again what
 * failed there, and nothing else. */
START_TEST(a_failed_child)
{
    run_plain(nested, "{\"times\": 9}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("broken");
    assert_node("review", "failed");
    assert_node("z", "skipped");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("p", 1);
    assert_record("q", "generation", "2");
    assert_record("review", "generation", "1");
    end();
}
END_TEST

static const char tried[] =
    HEAD "start: review\n"
         "nodes:\n"
         "  review:\n"
         "    type: subgraph\n"
         "    input_mapping: {input.n: \"1\", input.times: \"9\"}\n"
         "    retry_policy: {max_attempts: 2, delay: 1s, retry_on: [broken]}\n"
         "    on_error: {value: \"'instead'\"}\n"
         "    next: END\n" INNER;

/* Permanent failures are not retried; on_error is obeyed. */
START_TEST(a_failed_child_is_led_on)
{
    run_plain(tried, "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "review", "\"instead\"");
    assert_runs("q", 1);
    end();
}
END_TEST

/* What the child is given must suit it. */
START_TEST(the_input_is_checked)
{
    run_plain(HEAD "start: s\n"
                   "nodes:\n"
                   "  s:\n"
                   "    type: subgraph\n"
                   "    input_mapping: {input.n: input.n}\n"
                   "    graph:\n"
                   "      state: {input: {type: object, properties:\n"
                   "              {n: {type: integer}}}}\n"
                   "      start: p\n"
                   "      nodes: {p: {type: tool, tool: t/read}}\n",
              "{\"n\": \"no\"}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("s", "schema");
    assert_runs("p", 0);
    end();
}
END_TEST

/* ... and what it ends with must suit its schemas.
 * key: state.artifacts */
START_TEST(the_end_is_checked)
{
    run_plain(HEAD "start: s\n"
                   "nodes:\n"
                   "  s:\n"
                   "    type: subgraph\n"
                   "    graph:\n"
                   "      state: {artifacts: {type: object,\n"
                   "              required: [other]}}\n"
                   "      start: p\n"
                   "      nodes: {p: {type: tool, tool: t/read}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("s", "schema");
    assert_node("p", "done");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

static const struct {
    const char *outside, *inside, *code;
} ends[] = {
    {"", "reducers: {scratch.n: sum}, artifacts: {required: [other]}",
     "schema"},
    {"", "reducers: {scratch.other: sum}", "conflict"},
    {"    output_mapping: {scratch.m: artifacts.w.none}\n",
     "reducers: {scratch.n: sum}", "expression"},
    {"    output_mapping: {scratch.n: '1'}\n", "reducers: {scratch.n: sum}",
     "reducer"},
};

/* What a child came to is refused, but nothing in it failed: it stays done, and
 * is judged again, from what an update left. */
START_TEST(an_end_is_judged_again)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\n"
                  "state: {reducers: {scratch.n: sum}}\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/read, next: s,\n"
                  "      outputs: {scratch.n: \"'none'\"}}\n"
                  "  s:\n"
                  "    type: subgraph\n%s"
                  "    graph:\n"
                  "      state: {%s}\n"
                  "      start: [w, v]\n"
                  "      nodes:\n"
                  "        w: {type: tool, tool: t/write,\n"
                  "            outputs: {scratch.n: '1'}}\n"
                  "        v: {type: tool, tool: t/write,\n"
                  "            outputs: {scratch.n: '2'}}\n",
             ends[_i].outside, ends[_i].inside);
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("s", ends[_i].code);
    ck_assert_int_eq(update("{\"scratch\": {\"n\": 1}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(strcmp(ends[_i].code, "reducer") == 0 ? MORTISE_RUN_COMPLETED
                                                        : MORTISE_RUN_FAILED);
    assert_runs("w", 1);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "v"), 1);
    end();
}
END_TEST

/* A person inside is asked like any other; the run waits. */
START_TEST(a_question_inside)
{
    uint32_t seed = 3;
    const char *id;

    run_plain(HEAD "start: s\n"
                   "nodes:\n"
                   "  s:\n"
                   "    type: subgraph\n"
                   "    graph:\n"
                   "      start: h\n"
                   "      nodes: {h: {type: human, prompt: well?}}\n",
              "{}");
    assert_status(MORTISE_RUN_WAITING);
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    id = sim_request(&s, "h");
    ck_assert_ptr_nonnull(id);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = id,
                                            .json = "{\"approved\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static const char racing[] =
    HEAD "start: [a, s]\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/read, next: j}\n"
         "  s:\n"
         "    type: subgraph\n"
         "    next: j\n"
         "    graph:\n"
         "      start: [p, h]\n"
         "      nodes:\n"
         "        p: {type: tool, tool: t/read, next: p2}\n"
         "        p2: {type: tool, tool: t/read}\n"
         "        h: {type: human, prompt: well?}\n"
         "  j: {type: tool, tool: t/read, join: any, next: END}\n";

/* A child that writes, reads and asks; what becomes of `r` is the test's. */
static const char *const tried_again =
    HEAD "start: s\n"
         "nodes:\n"
         "  s:\n"
         "    type: subgraph\n"
         "    retry_policy: {max_attempts: 3, delay: 1s, jitter: 0}\n"
         "    next: END\n"
         "    graph:\n"
         "      start: w\n"
         "      nodes:\n"
         "        w: {type: tool, tool: t/write, args: {n: 1}, next: [r, q]}\n"
         "        r: {type: tool, tool: t/read, next: z}\n"
         "        q: {type: tool, tool: t/read, next: z}\n"
         "        z: {type: tool, tool: t/read}\n";

static void fail_call(const char *node, const char *code, const char *class)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    sync_all();
    in.u.result =
        (struct mortise_result_in){.call = s.calls[call_of(node)].call.id,
                                   .status = -1,
                                   .message = "no",
                                   .error_code = code,
                                   .error_class = class};
    sim_feed(&s, &in);
    sync_all();
}

/* Let the pause before the next attempt pass. */
static void pass_pause(void)
{
    ck_assert_uint_gt(s.n_timers, 0);
    s.now_ms = s.timers[s.n_timers - 1].at_ms;
    sim_fire_timer(&s, s.n_timers - 1);
    sync_all();
}

/* retry_policy of a subgraph: what failed in the child is tried again, in a new
 * generation, as often as it says; what was done there stays done.
 * key: node.retry_policy */
START_TEST(a_child_is_tried_again)
{
    begin(tried_again);
    admit("{}");
    sync_all();
    finish("w");
    finish("q");
    fail_call("r", "busy", "transient");
    ck_assert(sim_saw(&s, "retry_scheduled", "s"));
    ck_assert(!is_out("z"));
    pass_pause();
    assert_record("r", "generation", "2");
    fail_call("r", "slow", "timeout");
    pass_pause();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 1);
    assert_runs("q", 1);
    assert_runs("r", 1);
    assert_record("r", "generation", "3");
    assert_record("s", "attempts", "3");
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    end();
}
END_TEST

/* ... and no longer; a failure that is permanent, alone or among others, is not
 * tried again. */
START_TEST(a_child_is_not_tried_for_ever)
{
    begin(tried_again);
    admit("{}");
    sync_all();
    finish("w");
    finish("q");
    for (int i = 0; i < 3; i++) {
        fail_call("r", "busy", "transient");
        if (i < 2)
            pass_pause();
    }
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("busy");
    assert_record("s", "attempts", "3");
    end();

    for (int first = 0; first < 2; first++) {
        begin(tried_again);
        admit("{}");
        sync_all();
        finish("w");
        fail_call(first ? "r" : "q", "broken", "permanent");
        fail_call(first ? "q" : "r", "busy", "transient");
        assert_status(MORTISE_RUN_FAILED);
        assert_record("s", "attempts", "1");
        end();
    }
}
END_TEST

/* Whenever the process dies, also between two attempts, the next one goes on in
 * the same child and does nothing twice. */
START_TEST(attempts_of_children_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(tried_again);
    admit("{}");
    sync_all();
    finish("w");
    finish("q");
    fail_call("r", "busy", "transient");
    if (_i % 2 == 0)
        pass_pause();
    run_dying(&seed, 3);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("s", "attempts", "2");
    assert_runs("w", 1);
    assert_record("r", "generation", "2");
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    end();
}
END_TEST

/* Who stops the node stops all that is in it, and waits for it. */
START_TEST(a_losing_child)
{
    begin(racing);
    admit("{}");
    finish("a");
    ck_assert(s.calls[call_of("p")].cancelled);
    assert_node("s", "running");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("s", "skipped");
    assert_node("p", "skipped");
    assert_node("h", "skipped");
    assert_runs("p2", 0);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

START_TEST(losing_children_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(racing);
    admit("{}");
    run_dying(&seed, 3);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("s", "skipped");
    end();
}
END_TEST

/* Cancel goes through. */
START_TEST(cancelling)
{
    begin(racing);
    admit("{}");
    sync_all();
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

/* end: first inside ends the child and nothing else. */
START_TEST(the_first_end_inside)
{
    begin(HEAD "start: [o, s]\n"
               "nodes:\n"
               "  o: {type: tool, tool: t/read, next: END}\n"
               "  s:\n"
               "    type: subgraph\n"
               "    next: z\n"
               "    graph:\n"
               "      end: first\n"
               "      start: [p, q]\n"
               "      nodes:\n"
               "        p: {type: tool, tool: t/read, next: END}\n"
               "        q: {type: human, prompt: well?}\n"
               "  z: {type: tool, tool: t/read, next: END}\n");
    admit("{}");
    sync_all();
    sim_end_call(&s, call_of("p"));
    sync_all();
    ck_assert(is_out("o") && is_out("z"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("q", "skipped");
    end();
}
END_TEST

/* fail_fast inside, too; a resume brings back what it stopped. */
START_TEST(fail_fast_inside)
{
    begin(HEAD "start: s\n"
               "nodes:\n"
               "  s:\n"
               "    type: subgraph\n"
               "    next: z\n"
               "    graph:\n"
               "      failure: fail_fast\n"
               "      start: [p, q]\n"
               "      nodes:\n"
               "        p: {type: tool, tool: t/fail, next: END}\n"
               "        q: {type: human, prompt: well?}\n"
               "  z: {type: tool, tool: t/read, next: END}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("q", "skipped");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("q", "generation", "2");
    end();
}
END_TEST

static const char slow[] =
    HEAD "start: s\n"
         "nodes:\n"
         "  s:\n"
         "    type: subgraph\n"
         "    timeout: 10s\n"
         "    next: z\n"
         "    retry_policy: {max_attempts: 2, delay: 1s}\n"
         "    graph:\n"
         "      start: p\n"
         "      nodes:\n"
         "        p: {type: tool, tool: t/read, next: h}\n"
         "        h: {type: human, prompt: well?, next: q}\n"
         "        q: {type: tool, tool: t/read}\n"
         "  z: {type: tool, tool: t/read, next: END}\n";

/* A child that takes too long is stopped and awaited before what was stopped in
 * it is tried again, with as much time; waiting for a person does not count. */
START_TEST(a_slow_child)
{
    const char *id;

    begin(slow);
    admit("{}");
    sync_all();
    s.now_ms += 4000;
    finish("p");
    s.now_ms += 3600000;
    id = sim_request(&s, "h");
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                         .id = id,
                                         .json = "{\"approved\": true}"},
                0),
        MORTISE_OK);
    sync_all();
    ck_assert_uint_eq(s.n_timers, 1);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 6000);
    sim_fire_timer(&s, 0);
    ck_assert(s.calls[call_of("q")].cancelled);
    assert_node("s", "running");
    finish("q");
    ck_assert(!is_out("q"));
    sim_fire_timer(&s, 0);
    ck_assert(is_out("q"));
    ck_assert_str_eq(s.calls[call_of("q")].call.path, "1.0/s#1/q#1");
    s.now_ms += 9000;
    finish("q");
    sim_run_plain(&s);
    assert_runs("p", 1);
    assert_record("q", "generation", "2");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("z", "done");
    end();
}
END_TEST

/* An update of the outer state leaves what is inside alone. */
START_TEST(an_update_outside)
{
    begin(nested);
    admit("{\"times\": 0}");
    finish("a");
    finish("p");
    ck_assert_int_eq(update("{\"scratch\": {\"log\": [\"ann\"]}}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("p", 1);
    assert_value("artifacts", "z", "{\"got\":3,\"log\":[\"ann\"]}");
    end();
}
END_TEST

/* An update while a failed child waits to be tried again: it is tried again,
 * and what it did stays done, unless the update gives it another input. */
START_TEST(an_update_before_a_retry)
{
    begin(HEAD "start: s\n"
               "nodes:\n"
               "  s:\n"
               "    type: subgraph\n"
               "    input_mapping:\n"
               "      input.n: \"has(scratch.n) ? scratch.n : 1\"\n"
               "    retry_policy: {max_attempts: 2, delay: 10s}\n"
               "    graph:\n"
               "      start: w\n"
               "      nodes:\n"
               "        w: {type: tool, tool: t/write, next: f,\n"
               "            args: {n: \"${input.n}\"}}\n"
               "        f: {type: tool, tool: t/fail,"
               " args: {times: 9, class: transient}}\n");
    admit("{}");
    finish("w");
    finish("f");
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(command(
                         (struct mortise_command){
                             .kind = MORTISE_CMD_UPDATE,
                             .json = _i == 0 ? "{\"scratch\": {\"m\": 1}}"
                                             : "{\"scratch\": {\"n\": 2}}"},
                         0),
                     MORTISE_OK);
    sync_all();
    if (_i == 0) {
        ck_assert_uint_eq(s.n_calls, 1);
        ck_assert_str_eq(s.calls[0].call.path, "1.0/s#1/f#1");
    }
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("w", _i == 0 ? 1 : 2);
    ck_assert_int_eq(sim_effect_count(&s, "w"), _i == 0 ? 1 : 2);
    end();
}
END_TEST

/* goto the node itself starts a new child. */
START_TEST(jumping_to_the_node)
{
    run_plain(nested, "{\"times\": 0}");
    ck_assert_int_eq(jump("p"), MORTISE_EUNKNOWN_NODE);
    ck_assert_int_eq(jump("review"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/review#2/q#1", "status", "done");
    end();
}
END_TEST

static const char deep[] =
    HEAD "start: s\n"
         "nodes:\n"
         "  s: {type: tool, tool: t/read, map: {over: \"[1, 2]\", to: w,\n"
         "      join: j}}\n"
         "  w:\n"
         "    type: subgraph\n"
         "    input_mapping: {input.n: item}\n"
         "    next: j\n"
         "    graph:\n"
         "      start: x\n"
         "      state: {reducers: {scratch.n: sum}}\n"
         "      nodes:\n"
         "        x: {type: tool, tool: t/read, next: y,\n"
         "            outputs: {scratch.n: input.n}}\n"
         "        y:\n"
         "          type: subgraph\n"
         "          input_mapping: {input.n: scratch.n}\n"
         "          routes: [{when: scratch.n < 4, to: x}]\n"
         "          default: END\n"
         "          graph:\n"
         "            start: v\n"
         "            nodes: {v: {type: tool, tool: t/read,\n"
         "                    args: {n: \"${input.n}\"}}}\n"
         "  j: {type: tool, tool: t/echo, next: END,\n"
         "      args: {n: \"${artifacts.w.results.map(r, r.y.v.n)}\"}}\n";

/* Children in loops in children in elements of a map. */
START_TEST(all_of_it_nested)
{
    uint32_t seed = (uint32_t)_i;

    begin(deep);
    admit("{}");
    if (_i % 2 == 0)
        run_dying(&seed, 3);
    else
        sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"n\":[4,4]}");
    assert_runs("v", 6);
    assert_record("1.0/w#1[1]/y#2/v#1", "status", "done");
    end();
}
END_TEST

/* A resume in the same call as the answer that ends the graph inside: that has ended,
 * and the run goes on. */
START_TEST(a_resume_with_the_last_answer_inside)
{
    struct mortise_command list[] = {
        {.size = sizeof list[0],
         .kind = MORTISE_CMD_ANSWER,
         .json = "{\"approved\": true}"},
        {.size = sizeof list[0], .kind = MORTISE_CMD_RESUME}};

    run_plain(HEAD "start: [x, side]\n"
                   "nodes:\n"
                   "  side: {type: tool, tool: t/fail, args: {code: lab}}\n"
                   "  x: {type: subgraph, graph: {start: i, nodes: {i: {type: "
                   "human, prompt: inner?}}}}\n",
              "{}");
    assert_status(MORTISE_RUN_WAITING);
    list[0].id = sim_request(&s, "i");
    ck_assert_int_eq(sim_command(&s, list, 2, 0, "ann", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED); /* of `side`, once more */
    assert_node("x", "done");
    end();
}
END_TEST

/* A graph inside that a goto left behind is not tried again by a resume. */
START_TEST(a_resume_leaves_behind_what_a_goto_did)
{
    run_plain(HEAD "start: x\n"
                   "nodes:\n"
                   "  x: {type: subgraph, graph: {start: i, nodes: {i: {type: "
                   "tool, tool: t/fail, args: {code: lab}}}}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(jump("x"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_record("1.0/x#1/i#1", "generation", "1");
    assert_record("1.0/x#2/i#1", "generation", "2");
    end();
}
END_TEST

/* What is mapped out of a graph inside is written, also where its output is made
 * short for a leaf first; paused meanwhile, nothing in it is done twice. */
START_TEST(its_mapping_survives_what_its_output_waits_for)
{
    char yaml[4096], words[3001];

    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = '\0';
    snprintf(yaml, sizeof yaml,
             HEAD "start: x\n"
                  "nodes:\n"
                  "  x:\n"
                  "    type: subgraph\n"
                  "    output_mapping: {scratch.m: \"size(artifacts.i.v)\"}\n"
                  "    graph:\n"
                  "      start: i\n"
                  "      nodes: {i: {type: tool, tool: t/rec, args: {v: %s}}}\n"
                  "  l: {goal: g, depends_on: x}\n",
             words);
    for (int paused = 0; paused < 2; paused++) {
        begin(yaml);
        admit("{}");
        finish("i");
        ck_assert_int_eq(s.calls[call_of("x")].call.kind, MORTISE_RUN_COMPACT);
        if (paused) {
            ck_assert_int_eq(
                do_command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}),
                MORTISE_OK);
            ck_assert_int_eq(resume(), MORTISE_OK);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("scratch", "m", "3000");
        ck_assert_int_eq(sim_effect_count(&s, "i"), 1);
        assert_runs("i", 1);
        end();
    }
}
END_TEST

/* The clock of a graph inside stops when that is over, also where its node then
 * waits for somebody. */
START_TEST(its_clock_stops_with_it)
{
    begin(HEAD
          "interrupt_after: [x]\n"
          "start: x\n"
          "nodes:\n"
          "  x: {type: subgraph, timeout: 5s, graph: {start: i, nodes: {i: "
          "{type: tool, tool: t/read}}}}\n");
    admit("{}");
    ck_assert_uint_gt(s.n_timers, 0);
    finish("i");
    ck_assert_uint_eq(s.n_timers, 0);
    sim_let_go(&s, "x");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static Suite *subs(void)
{
    Suite *suite = suite_create("subgraphs");
    TCase *tc = tcase_create("subgraphs");

    tcase_add_test(tc, in_and_out);
    tcase_add_loop_test(tc, children_survive_deaths, 0, 40);
    tcase_add_test(tc, a_failed_child);
    tcase_add_test(tc, a_failed_child_is_led_on);
    tcase_add_test(tc, the_input_is_checked);
    tcase_add_test(tc, the_end_is_checked);
    tcase_add_loop_test(tc, an_end_is_judged_again, 0, N_ITEMS(ends));
    tcase_add_test(tc, a_question_inside);
    tcase_add_test(tc, a_child_is_tried_again);
    tcase_add_test(tc, a_child_is_not_tried_for_ever);
    tcase_add_loop_test(tc, attempts_of_children_survive_deaths, 0, 20);
    tcase_add_test(tc, a_losing_child);
    tcase_add_loop_test(tc, losing_children_survive_deaths, 0, 40);
    tcase_add_test(tc, cancelling);
    tcase_add_test(tc, the_first_end_inside);
    tcase_add_test(tc, fail_fast_inside);
    tcase_add_test(tc, a_slow_child);
    tcase_add_test(tc, an_update_outside);
    tcase_add_loop_test(tc, an_update_before_a_retry, 0, 2);
    tcase_add_test(tc, jumping_to_the_node);
    tcase_add_loop_test(tc, all_of_it_nested, 0, 40);
    tcase_add_test(tc, a_resume_with_the_last_answer_inside);
    tcase_add_test(tc, a_resume_leaves_behind_what_a_goto_did);
    tcase_add_test(tc, its_mapping_survives_what_its_output_waits_for);
    tcase_add_test(tc, its_clock_stops_with_it);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(subs());
}
