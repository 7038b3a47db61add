/* test_run_plan.c -- hitl_mode: approve_plan: of a graph nothing starts before
 * somebody said yes to it as a whole. */
#include "lib/drive.h"

#include "core/model/former.h"

#define TOOL(id, v, next)                                                      \
    "  " id ": {type: tool, tool: t/write, args: {v: " v "}, next: " next "}"  \
    "\n"

static const char two[] =
    HEAD "hitl_mode: approve_plan\n"
         "start: a\n"
         "nodes:\n" TOOL("a", "1", "b") TOOL("b", "2", "END");

static const char *plan_id(void)
{
    return sim_request(&s, "START");
}

static const json_t *asked(const char *path)
{
    return json_object_get(s.pending, sim_request(&s, path));
}

static const char *text_of(const json_t *request, const char *member)
{
    const char *text = json_string_value(json_object_get(request, member));

    ck_assert_msg(text != NULL, "the request has no %s", member);
    return text;
}

static int answer_to(const char *path, const char *json)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_ANSWER, .id = sim_request(&s, path), .json = json});
}

static void assert_waits(void)
{
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_str_eq(mortise_run_reason(s.run), "approval");
    ck_assert_str_eq(text_of(asked("START"), "kind"), "plan");
}

/* How many events of that type were there? */
static size_t count_events(const char *type)
{
    size_t i, n = 0;
    json_t *one;

    json_array_foreach(s.published, i, one) n +=
        strcmp(json_string_value(json_object_get(one, "type")), type) == 0;
    return n;
}

/* The plan is shown as it would run; then all of it does, and nobody is asked
 * again.
 * key: graph.hitl_mode=approve_plan */
START_TEST(nothing_starts_before)
{
    char digest[MORTISE_DIGEST_HEX];
    json_t *show;

    run_plain(two, "{}");
    assert_waits();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    assert_node("a", "pending");
    mortise_hex_encode(digest, s.graph->digest, MORTISE_DIGEST);
    ck_assert_str_eq(text_of(asked("START"), "digest"), digest);
    ck_assert_ptr_nonnull(
        strstr(text_of(asked("START"), "graph"), "hitl_mode: approve_plan\n"));
    ck_assert_ptr_nonnull(strstr(text_of(asked("START"), "picture"), "START"));
    show = sim_show(&s);
    ck_assert_uint_eq(json_array_size(json_object_get(show, "pending")), 1);
    json_decref(show);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_waits(); /* a resume is no word */
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

/* Who watches hears of the plan, and of what became of it.
 * event: plan_proposed, plan_approved, plan_rejected */
START_TEST(watchers_are_told)
{
    begin(two);
    admit("{}");
    mortise_run_watch(s.run, true);
    sim_run_plain(&s);
    ck_assert_int_eq(answer_to("START", "{\"approved\": false}"), MORTISE_OK);
    ck_assert_uint_eq(count_events("plan_rejected"), 1);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_uint_eq(count_events("plan_proposed"), 1); /* since it watched */
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    ck_assert_uint_eq(count_events("plan_approved"), 1);
    end();
}
END_TEST

/* A no is the end, in that person's words; whoever resumes is asked again, by
 * another name. */
START_TEST(a_rejected_plan_fails_the_run)
{
    char first[65];
    json_t *show;

    run_plain(two, "{}");
    strcpy(first, plan_id());
    ck_assert_int_eq(answer_to("START", "{\"approved\": false, \"reason\": "
                                        "\"no budget\"}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("rejected");
    show = sim_show(&s);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(show, "error"), "message")),
                     "the plan was rejected by ann: no budget");
    json_decref(show);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = first,
                                            .json = "{\"approved\": true}"}),
        MORTISE_EMISMATCH);
    ck_assert_ptr_nonnull(strstr(err.msg, "already settled: rejected by ann"));
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_waits();
    ck_assert_str_ne(plan_id(), first);
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
    end();
}
END_TEST

/* What is no answer settles nothing. */
START_TEST(nothing_else_is_an_answer)
{
    static const char *const bad[] = {
        "null",
        "true",
        "{}",
        "{\"approved\": 1}",
        "{\"approved\": true, \"reason\": 1}",
        "{\"approved\": true, \"answer\": 1}",
    };

    run_plain(two, "{}");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(answer_to("START", bad[i]), MORTISE_EINVAL);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                            .id = plan_id(),
                                            .decision = "approve"}),
        MORTISE_EMISMATCH);
    ck_assert_int_eq(
        do_command((struct mortise_command){
            .kind = MORTISE_CMD_RESOLVE, .id = plan_id(), .decision = "retry"}),
        MORTISE_EMISMATCH);
    assert_waits();
    end();
}
END_TEST

/* The question, and what was said, outlive the process. */
START_TEST(the_word_outlives_deaths)
{
    uint32_t seed = 1 + (uint32_t)_i;
    char id[65];

    run_plain(two, "{}");
    strcpy(id, plan_id());
    sim_crash(&s, &seed);
    ck_assert_str_eq(plan_id(), id);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                         .id = id,
                                         .json = "{\"approved\": true}"},
                MORTISE_NO_CONTINUE),
        MORTISE_OK);
    sync_all();
    sim_crash(&s, &seed);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
    end();
}
END_TEST

/* Rejected, it is so after a death, too; and asks again. */
START_TEST(a_no_outlives_deaths)
{
    uint32_t seed = 7;

    run_plain(two, "{}");
    ck_assert_int_eq(answer_to("START", "{\"approved\": false}"), MORTISE_OK);
    sync_all();
    sim_crash(&s, &seed);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_waits();
    sync_all();
    sim_crash(&s, &seed);
    sim_recover(&s);
    assert_waits();
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A run that is cancelled asks nobody any more; one that is sent to a node goes
 * on there, without a word. */
START_TEST(other_commands_end_the_wait)
{
    run_plain(two, "{}");
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    ck_assert_int_eq(jump("b"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "skipped");
    end();

    run_plain(two, "{}");
    ck_assert_int_eq(jump("b"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();

    run_plain(two, "{}");
    ck_assert_int_eq(answer_to("START", "{\"approved\": false}"), MORTISE_OK);
    ck_assert_int_eq(jump("b"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* What is written meanwhile is there for the first node; and a pause is one. */
START_TEST(it_waits_through_updates_and_pauses)
{
    run_plain(HEAD "hitl_mode: approve_plan\n"
                   "start: a\n"
                   "nodes:\n" TOOL("a", "\"${scratch.x}\"", "END"),
              "{}");
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 5}}"), MORTISE_OK);
    assert_waits();
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"v\":5}");
    end();
}
END_TEST

/* Conditions out of START hold as ever. */
START_TEST(conditions_of_the_start_hold)
{
    run_plain(HEAD
              "hitl_mode: approve_plan\n"
              "nodes:\n" TOOL("a", "1", "END") TOOL(
                  "b", "2",
                  "END") "edges:\n"
                         "  - {from: START, to: a, when: \"input.n == 1\"}\n"
                         "  - {from: START, to: b, when: \"input.n == 2\"}\n",
              "{\"n\": 2}");
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "skipped");
    assert_node("b", "done");
    end();
}
END_TEST

#define NESTED(outer, inner)                                                   \
    HEAD outer "start: sub\n"                                                  \
               "nodes:\n"                                                      \
               "  sub:\n"                                                      \
               "    type: subgraph\n"                                          \
               "    on_error: {goto: no}\n"                                    \
               "    next: END\n"                                               \
               "    graph:\n" inner "      start: in\n"                        \
               "      nodes: {in: {type: tool, tool: t/write, args: {v: 2}, "  \
               "next: END}}\n"                                                 \
               "  no: {type: guardrail, guardrails: [ok], next: END}\n"

/* Of graphs in each other the outermost that says so asks, about all that is in
 * it. */
START_TEST(a_graph_in_a_graph_asks_for_itself)
{
    run_plain(NESTED("", "      hitl_mode: approve_plan\n"), "{}");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_str_eq(text_of(asked("sub"), "kind"), "plan");
    ck_assert_ptr_nonnull(strstr(text_of(asked("sub"), "graph"), "in:\n"));
    ck_assert_int_eq(sim_effect_count(&s, "in"), 0);
    ck_assert_int_eq(answer_to("sub", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("sub", "approval", "{\"actor\":\"ann\"}");
    ck_assert_int_eq(sim_effect_count(&s, "in"), 1);
    end();

    run_plain(NESTED("", "      hitl_mode: approve_plan\n"), "{}");
    ck_assert_int_eq(answer_to("sub", "{\"approved\": false}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node_error("sub", "rejected");
    assert_node("no", "done");
    ck_assert_int_eq(sim_effect_count(&s, "in"), 0);
    end();

    run_plain(
        NESTED("hitl_mode: approve_plan\n", "      hitl_mode: approve_plan\n"),
        "{}");
    assert_waits();
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* However the process dies, the plan is approved before anything happens. */
START_TEST(any_death_leaves_it_waiting_or_approved)
{
    uint32_t seed = 100 + (uint32_t)_i;

    begin(two);
    admit("{}");
    run_dying(&seed, 3);
    assert_waits();
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                         .id = plan_id(),
                                         .json = "{\"approved\": true}"},
                0),
        MORTISE_OK);
    sync_all();
    run_dying(&seed, 3);
    ck_assert_int_le(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* ---- with edits ------------------------------------------------------------ */

/* Approve the plan with that graph: MORTISE_OK, or why not. */
static int approve_with(const char *yaml)
{
    struct mortise_graph *g = sim_graph(yaml);
    struct mortise_steering to = {.graph = g};
    int rv = mortise_graph_set_predecessor(g, mortise_run_graph(s.run), &err);

    if (rv == MORTISE_OK) {
        s.steering = &to;
        rv = answer_to("START", "{\"approved\": true, \"reason\": \"like so\", "
                                "\"graph\": {\"source\": \"as it is made\"}}");
        s.steering = NULL;
    }
    if (rv != MORTISE_OK) {
        ck_assert_ptr_ne(mortise_run_graph(s.run), g);
        mortise_graph_unref(g);
        return rv;
    }
    mortise_graph_unref(s.graph);
    s.graph = g; /* with the one that stands behind it */
    ck_assert_ptr_eq(mortise_run_graph(s.run), g);
    return rv;
}

/* Another graph in each respect: a loop, a map, a budget, other limits. */
static const char other[] = HEAD
    "limits: {steps: 9}\n"
    "budget: {tool_calls: 5}\n"
    "start: n\n"
    "nodes:\n"
    "  n: {type: router, routes: [{when: node.visit < 2, to: n}], default: m}\n"
    "  m: {type: tool, tool: t/echo, args: {v: 1}, map: {over: \"[1, 2]\", "
    "as: i, to: a, join: z}}\n"
    "  a: {type: tool, tool: t/write, args: {v: \"${i}\"}, next: z}\n"
    "  z: {type: guardrail, guardrails: [ok], target: artifacts.a, next: "
    "END}\n";

static const char chain[] =
    HEAD "budget: {tool_calls: 5}\n"
         "start: x\n"
         "nodes:\n"
         "  x: {type: tool, tool: t/write, args: {v: 7}, next: y}\n"
         "  y: {type: tool, tool: t/write, args: {v: 8}, next: END}\n";

/* The run goes by that graph, from its START on, and by its digest; so it does when
 * it is read again. */
START_TEST(it_goes_by_the_edited_graph)
{
    uint32_t seed = 1 + (uint32_t)_i;

    run_plain(two, "{}");
    ck_assert_int_eq(approve_with(chain), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_int_eq(sim_effect_count(&s, "x"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "y"), 1);
    assert_value("artifacts", "x", "{\"v\":7}");
    sync_all();
    sim_crash(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "y", "{\"v\":8}");
    end();
}
END_TEST

/* It may have what steering cannot make; and dies and goes on like any. */
START_TEST(any_graph_will_do)
{
    uint32_t seed = 50 + (uint32_t)_i;

    run_plain(two, "{}");
    ck_assert_int_eq(approve_with(other), MORTISE_OK);
    sync_all();
    run_dying(&seed, 3);
    assert_node("z", "done");
    end();
}
END_TEST

/* One that does not take the run's input is refused, and nothing is recorded; so
 * is one with a no, and one that nobody made. */
START_TEST(what_does_not_fit_is_refused)
{
    size_t before;

    run_plain(two, "{}");
    before = s.n_commits;
    ck_assert_int_eq(approve_with(HEAD
                                  "state: {input: {type: object, required: "
                                  "[n]}}\n"
                                  "start: a\n"
                                  "nodes:\n" TOOL("a", "1", "END")),
                     MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "input"));
    ck_assert_int_eq(answer_to("START", "{\"approved\": true, \"graph\": "
                                        "{\"source\": \"x\"}}"),
                     MORTISE_EINVAL);
    ck_assert_int_eq(answer_to("START", "{\"approved\": false, \"graph\": "
                                        "{\"source\": \"x\"}}"),
                     MORTISE_EINVAL);
    ck_assert_uint_eq(s.n_commits, before);
    assert_waits();
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 5}}"), MORTISE_OK);
    ck_assert_int_eq(approve_with(chain), MORTISE_ESTATE);
    assert_waits();
    ck_assert_int_eq(mortise_run_check_steer(s.run, NULL, &err),
                     MORTISE_ESTATE);
    ck_assert_int_eq(answer_to("START", "{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();

    run_plain(NESTED("", "      hitl_mode: approve_plan\n"), "{}");
    ck_assert_int_eq(answer_to("sub", "{\"approved\": true, \"graph\": "
                                      "{\"source\": \"x\"}}"),
                     MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "steer the run"));
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_plan");
    TCase *tc = tcase_create("plan");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, nothing_starts_before);
    tcase_add_test(tc, watchers_are_told);
    tcase_add_test(tc, a_rejected_plan_fails_the_run);
    tcase_add_test(tc, nothing_else_is_an_answer);
    tcase_add_loop_test(tc, the_word_outlives_deaths, 0, 5);
    tcase_add_test(tc, a_no_outlives_deaths);
    tcase_add_test(tc, other_commands_end_the_wait);
    tcase_add_test(tc, it_waits_through_updates_and_pauses);
    tcase_add_test(tc, conditions_of_the_start_hold);
    tcase_add_test(tc, a_graph_in_a_graph_asks_for_itself);
    tcase_add_loop_test(tc, any_death_leaves_it_waiting_or_approved, 0, 20);
    tcase_add_loop_test(tc, it_goes_by_the_edited_graph, 0, 3);
    tcase_add_loop_test(tc, any_graph_will_do, 0, 10);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
