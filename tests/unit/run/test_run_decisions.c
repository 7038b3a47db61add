/* test_run_decisions.c -- decisions beside other commands: what people decided is
 * used, carried over, or refused, and nobody is asked for it twice. */
#include "lib/drive.h"

/* ---- in one call ----------------------------------------------------------- */

/* The decision about what `node` asks, and another command; at once. */
static int decide_with(const char *node, struct mortise_command decision,
                       struct mortise_command other)
{
    struct mortise_command list[] = {decision, other};
    char id[64];

    snprintf(id, sizeof id, "%s", sim_request(&s, node));
    list[0].id = id;
    list[0].size = list[1].size = sizeof list[0];
    return sim_command(&s, list, 2, 0, "ann", &err);
}

#define APPROVE                                                                \
    ((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,                \
                              .decision = "approve"})
#define REJECT                                                                 \
    ((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,                \
                              .decision = "reject"})
#define ANSWER(text)                                                           \
    ((struct mortise_command){.kind = MORTISE_CMD_ANSWER, .json = (text)})
#define UPDATE                                                                 \
    ((struct mortise_command){.kind = MORTISE_CMD_UPDATE,                      \
                              .json = "{\"scratch\": {\"x\": 7}}"})

static void takes(int rv)
{
    ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
}

/* As far as it gets by itself, once somebody approved its plan. */
static void start(const char *yaml)
{
    run_plain(yaml, "{}");
    if (sim_request(&s, "START") != NULL)
        sim_let_go(&s, "START");
    assert_status(MORTISE_RUN_WAITING);
}

static void resumes(void)
{
    sync_all();
    takes(command((struct mortise_command){.kind = MORTISE_CMD_RESUME}, 0));
}

/* As far as it gets; `dies`: behind a crash, of which no more is heard. */
static void go_on(bool dies)
{
    uint32_t seed = 1;

    sync_all();
    if (dies) {
        sim_crash(&s, &seed);
        sim_recover(&s);
    }
    sim_run_plain(&s);
}

#define SEES_X                                                                 \
    "  b: {type: tool, tool: t/echo, args: {x: \"${has(scratch.x) "            \
    "? scratch.x : 0}\"}}\n"

/* ---- several in one call --------------------------------------------------- */

/* Yes to all that is asked, in one call. */
static int say_yes_to_all(void)
{
    struct mortise_command list[4];
    size_t n = 0;
    const char *id;
    json_t *p;

    json_object_foreach(s.pending, id, p)
    {
        const char *kind = json_string_value(json_object_get(p, "kind"));

        ck_assert_uint_lt(n, sizeof list / sizeof list[0]);
        list[n] = strcmp(kind, "approval_pending") == 0
                      ? APPROVE
                      : ANSWER("{\"approved\": true}");
        list[n].size = sizeof list[0];
        list[n++].id = id;
    }
    ck_assert_uint_eq(n, 2);
    return sim_command(&s, list, n, 0, "ann", &err);
}

static const char *const races[] = {
    /* a join */
    HEAD "start: [a, b]\nnodes:\n"
         "  a: {type: human, prompt: p, next: j}\n"
         "  b: {type: human, prompt: p, next: j}\n"
         "  j: {type: pass, join: any}\n",
    /* the end of the graph */
    HEAD "end: first\nstart: [a, b]\nnodes:\n"
         "  a: {type: human, prompt: p, next: END}\n"
         "  b: {type: human, prompt: p, next: END}\n",
    /* the elements of a map */
    HEAD
    "start: m\nnodes:\n"
    "  m: {type: pass, value: [1, 2], map: {over: output, to: w, join: j}}\n"
    "  w: {type: human, prompt: p, next: j}\n"
    "  j: {type: pass, join: any}\n",
    /* a call that a model's node wants */
    HEAD
    "start: [a, b]\nnodes:\n"
    "  a: {type: human, prompt: p, next: j}\n"
    "  b: {type: gmi, prompt: p, tool_allowlist: [{tool: t/idem, ask: true}], "
    "args: {asks: [{method: tool.invoke/1, kind: tool, body: {tool: t/idem, "
    "arguments: {v: 1}}}]}, next: j}\n"
    "  j: {type: pass, join: any}\n",
    /* a question inside a node */
    HEAD "start: [a, b]\nnodes:\n"
         "  a: {type: human, prompt: p, next: j}\n"
         "  b: {type: tool, tool: t/ask, args: {asks: [{method: q, kind: "
         "question, body: {prompt: x}}]}, next: j}\n"
         "  j: {type: pass, join: any}\n"};

/* Both decisions of a race are recorded, though the first ends it: the other branch
 * has lost, and so it does behind a crash. */
START_TEST(two_decisions_of_a_race)
{
    run_plain(races[_i / 2], "{}");
    assert_status(MORTISE_RUN_WAITING);
    takes(say_yes_to_all());
    go_on(_i % 2 == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

static const char model[] =
    HEAD "state: {scratch: {type: object}}\n"
         "start: a\n"
         "nodes:\n"
         "  a:\n"
         "    type: gmi\n"
         "    prompt: p\n"
         "    tool_allowlist: [{tool: t/idem, ask: true}]\n"
         "    args: {asks: [{method: tool.invoke/1, kind: tool, body: {tool: "
         "t/idem, arguments: {v: 1}}}]}\n"
         "    next: b\n" SEES_X;

/* Approved together with an update, a model's tool is called: the model is not asked
 * again, and nobody approves the same call twice. What follows sees the update. */
START_TEST(a_models_tool_is_approved_with_an_update)
{
    start(model);
    takes(decide_with("t__idem", APPROVE, UPDATE));
    go_on(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("t__idem", 1);
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 1);
    assert_record("a", "generation", "1");
    assert_record("b", "output", "{\"x\":7}");
    end();
}
END_TEST

/* A rejection reaches the model, which is not asked for the same call again. */
START_TEST(a_models_tool_is_rejected_with_an_update)
{
    start(model);
    takes(decide_with("t__idem", REJECT, UPDATE));
    go_on(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("t__idem", 1);
    assert_node_error("t__idem", "rejected");
    assert_record("a", "generation", "1");
    end();
}
END_TEST

static const char call[] =
    HEAD "hitl_mode: approve_tools\n"
         "state: {scratch: {type: object}}\n"
         "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/idem, args: {v: \"${has(scratch.x) ? "
         "scratch.x : 1}\"}, next: END}\n";

/* What runs is what was shown and approved, or what was put in its place, though
 * the state is another by then. */
START_TEST(what_was_approved_runs)
{
    struct mortise_command yes = APPROVE;

    if (_i % 2 == 1)
        yes.json = "{\"v\": 9}";
    start(call);
    takes(decide_with("a", yes, UPDATE));
    go_on(_i >= 2);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "output", _i % 2 == 1 ? "{\"v\":9}" : "{\"v\":1}");
    assert_record("a", "generation", "1");
    end();
}
END_TEST

/* An approval that was given and not used stays, whatever is said afterwards. */
START_TEST(an_approval_waits_for_its_use)
{
    struct mortise_command yes = APPROVE;

    yes.json = "{\"v\": 9}";
    start(call);
    yes.id = sim_request(&s, "a");
    ck_assert_int_eq(command(yes, MORTISE_NO_CONTINUE), MORTISE_OK);
    sync_all();
    takes(command(UPDATE, 0));
    go_on(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "output", "{\"v\":9}");
    end();
}
END_TEST

/* An answer inside a node is heard, and asked for once. */
START_TEST(an_answer_inside_a_node_with_an_update)
{
    run_plain(HEAD
              "state: {scratch: {type: object}}\nstart: a\nnodes:\n"
              "  a: {type: tool, tool: t/ask, args: {w: \"${has(scratch.x) "
              "? scratch.x : 1}\", asks: [{method: q, kind: question, "
              "body: {prompt: x}}]}, next: b}\n" SEES_X,
              "{}");
    takes(decide_with("a", ANSWER("\"yes\""), UPDATE));
    go_on(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "output", "[\"yes\"]");
    assert_record("a", "generation", "1");
    assert_record("b", "output", "{\"x\":7}");
    end();
}
END_TEST

/* An acceptance that guardrails have yet to see is no question again. */
START_TEST(an_acceptance_under_guardrails_with_an_update)
{
    run_plain(HEAD "start: h\nnodes:\n"
                   "  h: {type: human, prompt: well?, "
                   "post_approval_guardrails: [ok], next: END}\n",
              "{}");
    takes(decide_with("h", ANSWER("{\"approved\": true}"), UPDATE));
    go_on(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("h", "generation", "1");
    end();
}
END_TEST

/* A graph that was approved and waits to be tried again is no worse for an update:
 * the approval was used when it began. */
START_TEST(what_waits_for_a_retry_is_tried)
{
    run_plain(
        HEAD
        "hitl_mode: approve_each_node\n"
        "start: x\n"
        "nodes:\n"
        "  x: {type: subgraph, retry_policy: {max_attempts: 2, "
        "delay: 48h, max_delay: 48h, retry_on: [transient]}, graph: {start: i, "
        "nodes: {i: {type: tool, tool: t/fail, args: {code: lab, "
        "class: transient, times: 1}}}}}\n",
        "{}");
    for (const char *const *at = (const char *const[]){"START", "x", "i", NULL};
         *at != NULL; at++)
        sim_let_go(&s, *at);
    assert_record("x", "attempts", "2");
    ck_assert_uint_gt(s.n_timers, 0);
    takes(command(UPDATE, 0));
    sim_run_plain(&s);
    while (sim_request(&s, "i") != NULL)
        sim_let_go(&s, "i");
    ck_assert(s.n_timers > 0 || mortise_run_is_finished(s.run));
    end();
}
END_TEST

/* ---- what would come to nothing -------------------------------------------- */

/* A decision beside a command that stops what it is about is refused, and nothing
 * is recorded. */
START_TEST(no_decision_is_thrown_away)
{
    static const struct mortise_command others[] = {
        {.kind = MORTISE_CMD_GOTO, .node = "b"}, {.kind = MORTISE_CMD_CANCEL}};
    size_t commits;

    for (size_t i = 0; i < 2; i++) {
        start(model);
        commits = s.n_commits;
        ck_assert_int_eq(decide_with("t__idem", APPROVE, others[i]),
                         MORTISE_EINVAL);
        ck_assert_uint_eq(s.n_commits, commits);
        ck_assert_ptr_nonnull(sim_request(&s, "t__idem"));
        takes(decide_with("t__idem", REJECT, others[i]));
        go_on(false);
        assert_status(i == 0 ? MORTISE_RUN_COMPLETED : MORTISE_RUN_CANCELLED);
        end();
    }
}
END_TEST

/* What was rejected fails of it, also where the run is resumed by the same call. */
START_TEST(a_rejection_is_not_asked_for_again)
{
    start(call);
    takes(decide_with("a", REJECT,
                      (struct mortise_command){.kind = MORTISE_CMD_RESUME}));
    go_on(false);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("rejected");
    end();
}
END_TEST

/* What failed before a command that was to run nothing is tried again by the resume
 * behind it, which sees the update; what people rejected meanwhile fails first. */
START_TEST(a_resume_behind_a_command_that_runs_nothing)
{
    run_plain(HEAD "state: {scratch: {type: object}}\n"
                   "start: [a, q]\n"
                   "nodes:\n"
                   "  a: {type: pass, value: \"${1 / scratch.x}\", next: z}\n"
                   "  q: {type: human, prompt: p, next: z}\n"
                   "  z: {type: pass}\n",
              "{}");
    assert_node("a", "failed");
    ck_assert_int_eq(command(UPDATE, MORTISE_NO_CONTINUE), MORTISE_OK);
    resumes();
    sim_run_plain(&s);
    assert_node("a", "done");
    sim_let_go(&s, "q");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* So it is by the resume that ends a pause, whichever command came between. */
START_TEST(a_resume_ends_a_pause_and_retries)
{
    uint32_t seed = 1;

    run_plain(HEAD "state: {scratch: {type: object}}\n"
                   "start: [a, q]\n"
                   "nodes:\n"
                   "  a: {type: pass, value: \"${1 / scratch.x}\", next: z}\n"
                   "  q: {type: human, prompt: p, next: z}\n"
                   "  z: {type: pass}\n",
              "{}");
    assert_node("a", "failed");
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0),
        MORTISE_OK);
    sync_all();
    if (_i == 1)
        sim_crash(&s, &seed);
    ck_assert_int_eq(command(UPDATE, MORTISE_NO_CONTINUE), MORTISE_OK);
    sync_all();
    resumes();
    sim_run_plain(&s);
    assert_node("a", "done");
    sim_let_go(&s, "q");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A rejection while the run is paused comes about before anybody is asked again;
 * one that is older is tried again, as is a failure whose code the plugin chose. */
START_TEST(a_pause_and_a_rejection)
{
    static const char graph[] =
        HEAD "hitl_mode: approve_tools\n"
             "start: [a, q]\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/write, args: {v: 1}, next: z}\n"
             "  q: {type: human, prompt: p, next: z}\n"
             "  z: {type: pass}\n";
    struct mortise_command pause = {.kind = MORTISE_CMD_PAUSE}, no = REJECT;
    char id[64];

    start(graph);
    if (_i == 0)
        ck_assert_int_eq(command(pause, 0), MORTISE_OK);
    sync_all();
    snprintf(id, sizeof id, "%s", sim_request(&s, "a"));
    no.id = id;
    takes(command(no, 0));
    sync_all();
    if (_i == 1)
        ck_assert_int_eq(command(pause, 0), MORTISE_OK);
    sync_all();
    assert_node("a", "failed");
    resumes();
    sim_run_plain(&s);
    if (_i == 0) {
        assert_node("a", "failed");
        resumes();
        sim_run_plain(&s);
    }
    assert_node("a", "awaiting_approval");
    end();
}
END_TEST

/* ---- what has to wait ------------------------------------------------------ */

static const char rescued[] =
    HEAD "hitl_mode: approve_tools\n"
         "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/write, args: {v: 1}, on_error: {value: "
         "\"{'e': error.code}\"}, guardrail_policy: {output: [ok]}, next: "
         "END}\n";

/* A rejection whose substitute guardrails have yet to see starts nothing before
 * the whole list is obeyed, and nobody is asked again, whatever dies. */
START_TEST(a_rejection_waits_for_guardrails)
{
    static const struct mortise_command others[] = {
        {.kind = MORTISE_CMD_UPDATE, .json = "{\"scratch\": {\"x\": 1}}"},
        {.kind = MORTISE_CMD_PAUSE}};

    for (size_t i = 0; i < 2; i++) {
        start(rescued);
        takes(decide_with("a", REJECT, others[i]));
        if (i == 1) {
            ck_assert(!is_out("a"));
            resumes();
        }
        go_on(_i == 1);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_record("a", "output", "{\"e\":\"rejected\"}");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
        end();
    }
}
END_TEST

/* An answer that is made short for a leaf before its node ends: with each other
 * command; and killed meanwhile, nobody is asked again. */
START_TEST(an_answer_that_is_made_short)
{
    static const struct mortise_command others[] = {
        {.kind = MORTISE_CMD_UPDATE, .json = "{\"scratch\": {\"x\": 1}}"},
        {.kind = MORTISE_CMD_PAUSE},
        {.kind = MORTISE_CMD_RESUME}};
    char answer[4096], words[3000];

    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = '\0';
    snprintf(answer, sizeof answer, "{\"approved\": true, \"answer\": \"%s\"}",
             words);
    for (size_t i = 0; i < 3; i++) {
        run_plain(HEAD "start: h\nnodes:\n"
                       "  h: {type: human, prompt: well?, schema: {type: "
                       "string}}\n"
                       "  l: {goal: g, depends_on: h}\n",
                  "{}");
        takes(decide_with("h", ANSWER(answer), others[i]));
        if (i == 1)
            resumes();
        go_on(_i == 1);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_record("h", "generation", "1");
        end();
    }
}
END_TEST

/* An effect that is taken as failed is not done again by who dies behind that. */
START_TEST(what_is_taken_as_failed_is_not_done)
{
    uint32_t seed = 1;

    begin(HEAD
          "start: a\nnodes:\n"
          "  a: {type: tool, tool: t/write, args: {v: 1}, on_in_doubt: ask, "
          "on_error: {value: \"{'e': error.code}\"}, guardrail_policy: "
          "{output: [ok]}, next: END}\n");
    admit("{}");
    sync_all();
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    takes(command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                           .id = sim_request(&s, "a"),
                                           .decision = "fail"},
                  0));
    go_on(true);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "output", "{\"e\":\"in_doubt\"}");
    ck_assert_int_le(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* A goto is refused while the intent of an effect inside a node is on its way to the
 * disk: it would leave a doubt behind that nobody can settle. */
START_TEST(no_goto_past_an_intent)
{
    begin(HEAD
          "start: a\nnodes:\n"
          "  a: {type: tool, tool: t/does, args: {asks: [{method: e, kind: "
          "effect, body: {n: 1}}]}, next: END}\n");
    admit("{}");
    sim_sync_one(&s);
    ck_assert_uint_lt(s.n_synced, s.n_commits);
    ck_assert_int_eq(jump("a"), MORTISE_EINDOUBT);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(jump("a"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static void resolve(const char *node, const char *how)
{
    takes(command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                           .id = sim_request(&s, node),
                                           .decision = how},
                  0));
    sim_run_plain(&s);
}

/* Of an agent in doubt and its tool in doubt, the tool is settled first: what it did
 * is known by the agent's journal, which ends with the agent. */
START_TEST(a_tool_in_doubt_is_settled_before_its_agent)
{
    uint32_t seed = 1;

    begin(HEAD
          "start: a\nnodes:\n"
          "  a: {type: gmi, prompt: p, effect_class: write, on_in_doubt: "
          "ask, tool_allowlist: [t/write], args: {asks: [{method: "
          "tool.invoke/1, kind: tool, body: {tool: t/write, arguments: {v: "
          "1}}}]}, next: END}\n");
    admit("{}");
    while (!is_out("t__write") && sim_sync_one(&s))
        continue;
    ck_assert(is_out("t__write"));
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_ptr_null(sim_request(&s, "a"));
    resolve("t__write", "retry");
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("a", "fail");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_le(sim_effect_count(&s, "t__write"), 1);
    end();
}
END_TEST

/* Two agents were stopped with a tool in doubt each.  The first is settled: the run
 * is in doubt until the second is, whoever died between, and not at work. */
START_TEST(each_of_two_stopped_agents_is_settled)
{
    uint32_t seed = 1;

    begin(HEAD "failure: fail_fast\n"
               "start: [a, b, c]\nnodes:\n"
               "  a: {type: gmi, prompt: p, tool_allowlist: [t/write], args: "
               "{asks: [{method: tool.invoke/1, kind: tool, body: {tool: "
               "t/write, arguments: {v: 1}}}]}, next: END}\n"
               "  b: {type: gmi, prompt: p, tool_allowlist: [t/write], args: "
               "{asks: [{method: tool.invoke/1, kind: tool, body: {tool: "
               "t/write, arguments: {v: 2}}}]}, next: END}\n"
               "  c: {type: tool, tool: t/fail, args: {times: 9}}\n");
    admit("{}");
    sync_all();
    finish("c");
    ck_assert(s.calls[call_of("t__write")].cancelled);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    if (_i > 0)
        sim_crash(&s, &seed);
    if (_i > 1)
        sim_recover(&s);
    resolve("t__write", "fail");
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(resume(), MORTISE_EINDOUBT);
    resolve("t__write", "fail");
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* The timeout of an agent stopped its tool in doubt, and another process has the
 * run: once the tool is settled the agent goes on. */
START_TEST(an_agent_goes_on_behind_its_stopped_tool)
{
    uint32_t seed = 1;

    begin(HEAD "start: a\nnodes:\n"
               "  a: {type: gmi, prompt: p, timeout: 5s, "
               "tool_allowlist: [t/write], args: "
               "{asks: [{method: tool.invoke/1, kind: tool, body: {tool: "
               "t/write, arguments: {v: 1}}}]}, next: END}\n");
    admit("{}");
    sync_all();
    ck_assert(is_out("t__write"));
    s.now_ms += 6000;
    for (size_t i = 0; i < s.n_timers; i++)
        if (s.timers[i].at_ms <= s.now_ms)
            sim_fire_timer(&s, i);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    sim_crash(&s, &seed);
    if (_i > 0) {
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_IN_DOUBT);
    }
    resolve("t__write", _i < 2 ? "fail" : "retry");
    if (mortise_run_status(s.run) != MORTISE_RUN_COMPLETED)
        assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("run_decisions");
    TCase *tc = tcase_create("decisions");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, two_decisions_of_a_race, 0, 10);
    tcase_add_loop_test(tc, a_models_tool_is_approved_with_an_update, 0, 2);
    tcase_add_loop_test(tc, a_models_tool_is_rejected_with_an_update, 0, 2);
    tcase_add_loop_test(tc, what_was_approved_runs, 0, 4);
    tcase_add_loop_test(tc, an_approval_waits_for_its_use, 0, 2);
    tcase_add_loop_test(tc, an_answer_inside_a_node_with_an_update, 0, 2);
    tcase_add_loop_test(tc, an_acceptance_under_guardrails_with_an_update, 0,
                        2);
    tcase_add_test(tc, what_waits_for_a_retry_is_tried);
    tcase_add_test(tc, no_decision_is_thrown_away);
    tcase_add_test(tc, a_rejection_is_not_asked_for_again);
    tcase_add_test(tc, a_resume_behind_a_command_that_runs_nothing);
    tcase_add_loop_test(tc, a_resume_ends_a_pause_and_retries, 0, 2);
    tcase_add_loop_test(tc, a_pause_and_a_rejection, 0, 2);
    tcase_add_loop_test(tc, a_rejection_waits_for_guardrails, 0, 2);
    tcase_add_loop_test(tc, an_answer_that_is_made_short, 0, 2);
    tcase_add_test(tc, what_is_taken_as_failed_is_not_done);
    tcase_add_test(tc, no_goto_past_an_intent);
    tcase_add_test(tc, a_tool_in_doubt_is_settled_before_its_agent);
    tcase_add_loop_test(tc, each_of_two_stopped_agents_is_settled, 0, 3);
    tcase_add_loop_test(tc, an_agent_goes_on_behind_its_stopped_tool, 0, 3);
    suite_add_tcase(su, tc);
    return su;
}

int main(void)
{
    return test_run(suite());
}
