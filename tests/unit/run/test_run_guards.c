/* test_run_guards.c -- guardrail_policy: what guards a node's arguments and its
 * output, and that nothing runs, and nothing is written, that did not pass. */
#include "lib/drive.h"

/* A node of this operation, with this policy and what else; `bad` of the input
 * is what guardrails are after. */
static void guarded(const char *op, const char *policy, const char *more)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\n"
                  "nodes:\n"
                  "  a:\n"
                  "    type: tool\n"
                  "    tool: t/%s\n"
                  "    args: \"${input}\"\n"
                  "    guardrail_policy: {%s}\n"
                  "    %s\n"
                  "    next: b\n"
                  "  b: {type: tool, tool: t/echo, next: END}\n"
                  "  safe: {type: tool, tool: t/echo, next: END}\n"
                  "edges: [{from: START, to: safe, when: \"false\"}]\n",
             op, policy, more);
    begin(yaml);
}

static void run_guarded(const char *op, const char *policy, const char *more,
                        const char *input)
{
    guarded(op, policy, more);
    admit(input);
    sim_run_plain(&s);
}

#define BAD "{\"bad\": 1, \"good\": 2}"

static int decide(const char *decision, const char *args)
{
    return do_command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                               .id = sim_request(&s, "a"),
                                               .decision = decision,
                                               .json = args});
}

static const char *const sides[] = {"input", "output"};

static const char *policy(const char *side, const char *ids, const char *how)
{
    static char text[256];

    snprintf(text, sizeof text, "%s: %s, on_violation: %s", side, ids, how);
    return text;
}

/* ---- what becomes of violations ------------------------------------------ */

/* What passes goes on as it is, and each verdict is an event that says at which
 * stage.
 * key: node.guardrail_policy, guardrail_policy.input, guardrail_policy.output
 */
START_TEST(what_passes_goes_on)
{
    run_guarded("write", "input: [ok, bad], output: [ok]", "", "{\"v\": 1}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"v\":1}");
    assert_record("a", "guardrails",
                  "[{\"action\":\"pass\",\"guardrail\":\"ok\",\"stage\":"
                  "\"input\",\"violation\":false},"
                  "{\"action\":\"pass\",\"guardrail\":\"bad\",\"stage\":"
                  "\"input\",\"violation\":false},"
                  "{\"action\":\"pass\",\"guardrail\":\"ok\",\"stage\":"
                  "\"output\",\"violation\":false}]");
    ck_assert(sim_saw(&s, "guardrail_result", "a"));
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* block is what holds when nothing is said: the node fails, its input never
 * reached the operation, its output nobody.
 * key: guardrail_policy.on_violation=block */
START_TEST(block_fails_the_node)
{
    for (size_t i = 0; i < 4; i++) {
        run_guarded("write", policy(sides[i % 2], "[ok, bad]", "block"),
                    i < 2 ? "" : "on_error: {goto: safe}", BAD);
        assert_node_error("a", "guardrail");
        assert_node("b", "skipped");
        assert_node("safe", i < 2 ? "skipped" : "done");
        assert_status(i < 2 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "a"), i % 2 == 0 ? 0 : 1);
        assert_value("artifacts", "a", "nothing");
        end();
    }
    run_guarded("write", "input: [stern]", "", BAD);
    assert_node_error("a", "guardrail");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* reroute goes there instead: what follows the node does not run, and the
 * node's output is nowhere.
 * key: guardrail_policy.on_violation=reroute, guardrail_policy.reroute_target */
START_TEST(reroute_goes_elsewhere)
{
    for (size_t i = 0; i < 2; i++) {
        char how[64];

        snprintf(how, sizeof how, "reroute, reroute_target: safe");
        run_guarded("write", policy(sides[i], "[bad]", how), "", BAD);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("a", "done");
        assert_node("b", "skipped");
        assert_node("safe", "done");
        assert_value("artifacts", "a", "nothing");
        ck_assert_int_eq(sim_effect_count(&s, "a"), i == 0 ? 0 : 1);
        end();
    }
}
END_TEST

/* warn records it and goes on.
 * key: guardrail_policy.on_violation=warn */
START_TEST(warn_goes_on)
{
    for (size_t i = 0; i < 2; i++) {
        run_guarded("write", policy(sides[i], "[bad, down, ok]", "warn"), "",
                    BAD);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("artifacts", "a", "{\"bad\":1,\"good\":2}");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
        end();
    }
}
END_TEST

/* sanitize puts the replacement in its place, for the call and for who comes
 * after; without one, or by a guardrail that failed, it is block.
 * key: guardrail_policy.on_violation=sanitize */
START_TEST(sanitize_replaces)
{
    for (size_t i = 0; i < 2; i++) {
        run_guarded("write", policy(sides[i], "[bad, bad, ok]", "sanitize"), "",
                    BAD);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("artifacts", "a", "{\"good\":2}");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
        end();
        run_guarded("write", policy(sides[i], "[bad, stern]", "sanitize"), "",
                    BAD);
        assert_node_error("a", "guardrail");
        end();
        run_guarded("write", policy(sides[i], "[down]", "sanitize"), "", BAD);
        assert_node_error("a", "guardrail");
        end();
    }
}
END_TEST

/* A replacement is held to the schemas like what it replaces. */
START_TEST(replacements_are_checked)
{
    run_guarded("write", "input: [bad], on_violation: sanitize",
                "input_schema: {required: [bad]}", BAD);
    assert_node_error("a", "schema");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
    run_guarded("write", "output: [bad], on_violation: sanitize",
                "output_schema: {required: [bad]}", BAD);
    assert_node_error("a", "schema");
    assert_value("artifacts", "a", "nothing");
    end();
}
END_TEST

/* What breaks a schema is not shown to anybody. */
START_TEST(schemas_come_first)
{
    run_guarded("write", "input: [bad], on_violation: warn",
                "input_schema: {required: [v]}", BAD);
    assert_node_error("a", "schema");
    ck_assert(!sim_saw(&s, "guardrail_result", "a"));
    end();
    run_guarded("write", "output: [bad], on_violation: warn",
                "output_schema: {required: [v]}", BAD);
    assert_node_error("a", "schema");
    ck_assert(!sim_saw(&s, "guardrail_result", "a"));
    end();
}
END_TEST

/* What an executor writes by itself is judged like its output. */
START_TEST(updates_are_output)
{
    static const char input[] =
        "{\"v\": 1, \"update\": {\"bad\": {}, \"scratch\": {\"x\": 1}}}";

    run_guarded("write", "output: [ok, bad], on_violation: sanitize", "",
                input);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "x", "1");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
    run_guarded("write", "output: [bad]", "", input);
    assert_node_error("a", "guardrail");
    assert_value("scratch", "x", "nothing");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "guardrail");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* The value of on_error is the graph's own; what it stands for is not judged
 * again. */
START_TEST(values_of_on_error_pass)
{
    run_guarded("echo", "output: [bad]",
                "on_error: {value: \"{'bad': error.code}\"}", BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"bad\":\"guardrail\"}");
    end();
}
END_TEST

/* ---- approvals ----------------------------------------------------------- */

#define ASKS "hitl_mode: approve_tools\n"

static void approving(const char *how)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD ASKS
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: t/write, args: \"${input}\", next: END,\n"
             "      guardrail_policy: {input: [bad], on_violation: %s}}\n",
             how);
    run_plain(yaml, BAD);
    sim_let_go(&s, "START");
}

/* What is shown for approval is what passed, and what runs. */
START_TEST(approvals_are_of_what_passed)
{
    json_t *show, *args;

    approving("sanitize");
    assert_status(MORTISE_RUN_WAITING);
    show = sim_show(&s);
    args = json_object_get(json_array_get(json_object_get(show, "pending"), 0),
                           "args");
    ck_assert_uint_eq(json_object_size(args), 1);
    ck_assert_ptr_nonnull(json_object_get(args, "good"));
    json_decref(show);
    ck_assert_int_eq(decide("approve", NULL), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"good\":2}");
    end();
}
END_TEST

/* Arguments that whoever approves edits are judged like the first: replaced
 * ones are approved anew, blocked ones run nothing. */
START_TEST(edited_arguments_are_judged)
{
    approving("sanitize");
    ck_assert_int_eq(decide("approve", "{\"bad\": 3, \"v\": 4}"), MORTISE_OK);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_int_eq(decide("approve", NULL), MORTISE_OK);
    assert_value("artifacts", "a", "{\"v\":4}");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();

    approving("warn");
    ck_assert_int_eq(decide("approve", "{\"bad\": 3}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"bad\":3}");
    end();
}
END_TEST

/* ---- trouble ------------------------------------------------------------- */

/* One that does not answer in time is a violation, at either side. */
START_TEST(silence_is_a_violation)
{
    for (size_t i = 0; i < 2; i++) {
        guarded("write", policy(sides[i], "[ok]", "block"), "timeout: 1s");
        admit(BAD);
        for (size_t k = 0; k < i; k++)
            finish("a");
        sync_all();
        sim_fire_timer(&s, 0);
        sim_run_plain(&s);
        assert_node_error("a", "guardrail");
        ck_assert_int_eq(sim_effect_count(&s, "a"), (int)i);
        end();
    }
}
END_TEST

/* A write whose output was blocked did happen: to try the node again judges the
 * output again, and does nothing twice. */
START_TEST(a_blocked_output_happened)
{
    run_guarded("write", "output: [bad]", "", BAD);
    assert_node_error("a", "guardrail");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "guardrail");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();

    run_guarded("read", "output: [bad]", "", BAD); /* this asks again */
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "guardrail");
    assert_record("a", "generation", "2");
    end();
}
END_TEST

/* Each generation judges its arguments; a retry within one has them already. */
START_TEST(a_generation_judges_once)
{
    guarded("fail", "input: [bad], on_violation: warn",
            "retry_policy: {max_attempts: 2, delay: 1s}");
    admit("{\"times\": 1, \"class\": \"transient\"}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "attempts", "2");
    assert_record("a", "guardrails",
                  "[{\"action\":\"pass\",\"guardrail\":\"bad\",\"stage\":"
                  "\"input\",\"violation\":false}]");
    end();
}
END_TEST

static const char *const ops[] = {"write", "idem",      "rec",     "read",
                                  "does",  "does_idem", "does_rec"};

/* Killed anywhere: what was to be sanitised never shows, an effect happens with
 * the arguments that passed, and once. */
START_TEST(survives_deaths)
{
    uint32_t seed = (uint32_t)_i + 1;
    const char *op = ops[_i % (int)(sizeof ops / sizeof ops[0])];
    bool does = strncmp(op, "does", 4) == 0;

    guarded(op, "input: [ok, bad], output: [bad, ok], on_violation: sanitize",
            "on_in_doubt: retry");
    admit(does ? "{\"bad\": 1, \"do\": []}" : BAD);
    run_dying(&seed, 1 + _i % 4);
    assert_status(MORTISE_RUN_COMPLETED);
    if (!does)
        assert_value("artifacts", "a", "{\"good\":2}");
    end();
}
END_TEST

/* ... and where nobody can tell what happened, a person is asked about the
 * arguments that passed. */
START_TEST(doubts_are_about_what_passed)
{
    uint32_t seed = (uint32_t)_i + 1;
    const char *id;

    guarded("write", "input: [bad], output: [ok], on_violation: sanitize", "");
    admit(BAD);
    run_dying(&seed, 2);
    id = sim_request(&s, "a");
    if (id != NULL) {
        json_t *show = sim_show(&s);
        json_t *args = json_object_get(
            json_array_get(json_object_get(show, "pending"), 0), "args");

        ck_assert_ptr_null(json_object_get(args, "bad"));
        json_decref(show);
        ck_assert_int_eq(
            do_command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                                .id = id,
                                                .decision = "done",
                                                .json = "{\"good\": 2}"}),
            MORTISE_OK);
    }
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"good\":2}");
    ck_assert_int_le(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* A pause lets go of a check; what had happened is judged when the run goes on,
 * and not done again. */
START_TEST(pauses_between)
{
    for (int calls = 0; calls < 3; calls++) {
        guarded("write", "input: [ok], output: [bad], on_violation: sanitize",
                "");
        admit(BAD);
        for (int k = 0; k < calls; k++)
            finish("a");
        command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_PAUSED);
        ck_assert_uint_eq(s.n_calls, 0);
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("artifacts", "a", "{\"good\":2}");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
        end();
    }
}
END_TEST

/* A cancelled run keeps what had happened, and asks nobody any more. */
START_TEST(cancels_between)
{
    for (int calls = 0; calls < 3; calls++) {
        guarded("write", "input: [ok], output: [bad]", "");
        admit(BAD);
        for (int k = 0; k < calls; k++)
            finish("a");
        command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}, 0);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_uint_eq(s.n_calls, 0);
        end();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_guards");
    TCase *tc = tcase_create("guards");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_passes_goes_on);
    tcase_add_test(tc, block_fails_the_node);
    tcase_add_test(tc, reroute_goes_elsewhere);
    tcase_add_test(tc, warn_goes_on);
    tcase_add_test(tc, sanitize_replaces);
    tcase_add_test(tc, replacements_are_checked);
    tcase_add_test(tc, schemas_come_first);
    tcase_add_test(tc, updates_are_output);
    tcase_add_test(tc, values_of_on_error_pass);
    tcase_add_test(tc, approvals_are_of_what_passed);
    tcase_add_test(tc, edited_arguments_are_judged);
    tcase_add_test(tc, silence_is_a_violation);
    tcase_add_test(tc, a_blocked_output_happened);
    tcase_add_test(tc, a_generation_judges_once);
    tcase_add_loop_test(tc, survives_deaths, 0, 140);
    tcase_add_loop_test(tc, doubts_are_about_what_passed, 0, 60);
    tcase_add_test(tc, pauses_between);
    tcase_add_test(tc, cancels_between);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
