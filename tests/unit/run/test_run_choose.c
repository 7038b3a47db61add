/* test_run_choose.c -- a `tool` that is a template: which operation is called, what
 * holds for it, and that it stays the same. */
#include "lib/drive.h"

#define CHOICES(list, more)                                                    \
    "start: a\nnodes:\n"                                                       \
    "  a: {type: tool, tool: \"t/${input.op}\", tool_allowlist: [" list        \
    "], args: {v: \"${input.v}\"}" more "}\n"

static uint32_t seed = 1;

static void restart(void)
{
    sync_all();
    sim_crash(&s, &seed);
    sim_recover(&s);
}

/* Each value calls its operation, with that one's effect class.
 *
 * key: tool.tool_allowlist */
START_TEST(each_value_has_its_operation)
{
    static const struct {
        const char *op, *tool;
        int effects;
    } all[] = {{"echo", "t/echo", 0}, {"write", "t/write", 1}};
    char input[64];

    snprintf(input, sizeof input, "{\"op\": \"%s\", \"v\": 1}", all[_i].op);
    begin(HEAD CHOICES("t/echo, t/write, t/idem", ""));
    admit(input);
    sync_all();
    ck_assert_str_eq(s.calls[0].call.operation, all[_i].op);
    ck_assert_str_eq(s.calls[0].call.node->operation, all[_i].op);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "tool", all[_i].tool);
    ck_assert_int_eq(sim_effect_count(&s, "a"), all[_i].effects);
    assert_value("artifacts", "a", "{\"v\":1}");
    end();
}
END_TEST

/* What the list lacks is not called: the node fails for good, and names the list;
 * on_error applies. */
START_TEST(what_is_not_listed_fails)
{
    static const char *const inputs[] = {"\"fail\"", "\"\"", "\"echo \"",
                                         "null", "{}"};
    char input[64];
    json_t *show, *record;
    const char *message;

    snprintf(input, sizeof input, "{\"op\": %s, \"v\": 1}", inputs[_i]);
    run_plain(HEAD CHOICES("t/echo, t/write",
                           ", retry_policy: {max_attempts: 3, delay: 1ms}"),
              input);
    assert_status(MORTISE_RUN_FAILED);
    if (_i < 3) {
        assert_node_error("a", "not_listed");
        show = sim_show(&s);
        records_of(show, "a", &record);
        message = json_string_value(
            json_object_get(json_object_get(record, "error"), "message"));
        ck_assert_msg(
            strstr(message, "test.yaml:6:25: 'tool' is \"t/") == message &&
                strstr(message, ", but its tool_allowlist contains only "
                                "t/echo, t/write") != NULL,
            "%s", message);
        json_decref(show);
    }
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_uint_eq(s.n_timers, 0);
    end();
}
END_TEST

/* Killed at any time, the run calls the same; an effect of which nobody heard is
 * in doubt by the rules of its own operation. */
START_TEST(a_crash_changes_nothing)
{
    static const char *const ops[] = {"read", "idem", "write"};
    char input[64];

    snprintf(input, sizeof input, "{\"op\": \"%s\", \"v\": 1}", ops[_i]);
    begin(HEAD CHOICES("t/read, t/idem, t/write", ""));
    admit(input);
    restart();
    sync_all();
    restart();
    if (_i < 2) {
        sync_all();
        ck_assert_uint_eq(s.n_calls, 1);
        ck_assert_str_eq(s.calls[0].call.operation, ops[_i]);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
    } else {
        assert_status(MORTISE_RUN_IN_DOUBT);
    }
    end();
}
END_TEST

/* Who approves is shown the operation that runs; it is the one that was approved,
 * also after a crash. */
START_TEST(approvals_are_of_the_choice)
{
    char id[65];

    begin(HEAD "hitl_mode: approve_tools\n" CHOICES("t/echo, t/write", ""));
    admit("{\"op\": \"write\", \"v\": 1}");
    sim_run_plain(&s);
    sim_let_go(&s, "START");
    assert_status(MORTISE_RUN_WAITING);
    strcpy(id, sim_request(&s, "a"));
    restart();
    ck_assert_str_eq(sim_request(&s, "a"), id);
    assert_record("a", "tool", "t/write");
    ck_assert_int_eq(
        do_command((struct mortise_command){
            .kind = MORTISE_CMD_APPROVE_TOOL, .id = id, .decision = "approve"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Started over, the node chooses anew: here by the attempt and the visit of a
 * loop. */
START_TEST(a_new_visit_chooses_anew)
{
    run_plain(HEAD
              "start: a\nnodes:\n"
              "  a: {type: tool, tool: \"t/${node.visit == 1 ? 'echo' : "
              "'read'}\", tool_allowlist: [t/echo, t/read], max_visits: 2,\n"
              "      routes: [{when: node.visit < 2, to: a}], default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/a#1", "tool", "t/echo");
    assert_record("1.0/a#2", "tool", "t/read");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_choose");
    TCase *tc = tcase_create("choose");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, each_value_has_its_operation, 0, 2);
    tcase_add_loop_test(tc, what_is_not_listed_fails, 0, 5);
    tcase_add_loop_test(tc, a_crash_changes_nothing, 0, 3);
    tcase_add_test(tc, approvals_are_of_the_choice);
    tcase_add_test(tc, a_new_visit_chooses_anew);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
