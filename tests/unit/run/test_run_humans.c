/* test_run_humans.c -- who decides in a human node's place, and guardrails
 * behind an acceptance. */
#include "lib/drive.h"

/* A human node h with these keys; one of two arms runs. */
static void asking(const char *keys)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: h\n"
                  "nodes:\n"
                  "  h: {type: human, prompt: \"pay ${input.to}?\", %s,\n"
                  "      routes: [{when: output.approved, to: yes}], default: "
                  "no}\n"
                  "  yes: {type: tool, tool: t/echo, next: END}\n"
                  "  no: {type: tool, tool: t/echo, next: END}\n"
                  "  safe: {type: tool, tool: t/echo, next: END}\n"
                  "edges: [{from: START, to: safe, when: \"false\"}]\n",
             keys);
    begin(yaml);
    admit("{\"to\": \"bob\"}");
    sim_run_plain(&s);
}

static int answer(const char *json)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_ANSWER, .id = sim_request(&s, "h"), .json = json});
}

static void assert_arm(const char *arm, const char *decision)
{
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("yes", strcmp(arm, "yes") == 0 ? "done" : "skipped");
    assert_node("no", strcmp(arm, "no") == 0 ? "done" : "skipped");
    assert_value("artifacts", "h", decision);
}

/* Nobody is asked where the graph has decided, and the decision says so; false
 * is as if it had not been said.
 * key: node.auto_accept, node.auto_reject, node.effect_class=human */
START_TEST(the_graph_may_decide)
{
    asking("effect_class: human, auto_accept: true");
    assert_arm(
        "yes",
        "{\"answer\":null,\"approved\":true,\"decided_by\":\"auto-accept\","
        "\"reason\":\"\"}");
    ck_assert(!sim_saw(&s, "interrupt", "h"));
    end();
    asking("auto_accept: true, schema: {type: [integer, 'null']}");
    assert_arm("yes", "{\"answer\":null,\"approved\":true,\"decided_by\":"
                      "\"auto-accept\",\"reason\":\"\"}");
    end();
    asking("auto_reject: true");
    assert_arm(
        "no",
        "{\"answer\":null,\"approved\":false,\"decided_by\":\"auto-reject\","
        "\"reason\":\"\"}");
    end();
    asking("auto_reject: not today, schema: {type: integer}");
    assert_arm(
        "no",
        "{\"answer\":null,\"approved\":false,\"decided_by\":\"auto-reject\","
        "\"reason\":\"not today\"}");
    end();
    asking("auto_accept: false, auto_reject: false");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(answer("{\"approved\": true}"), MORTISE_OK);
    assert_arm(
        "yes",
        "{\"answer\":null,\"approved\":true,\"decided_by\":\"person ann\","
        "\"reason\":\"\"}");
    end();
}
END_TEST

/* A decision has an answer, null where nobody gave one: what reads it need not
 * ask who decided.  What is given fits the schema, with a rejection, too. */
START_TEST(a_decision_always_has_an_answer)
{
    static const struct {
        const char *keys, *answer, *artifact;
    } all[] = {
        {"schema: {type: integer}", "{\"approved\": true, \"answer\": 3}", "3"},
        {"schema: {type: integer}", "{\"approved\": false}", "null no"},
        {"schema: {type: integer}", "{\"approved\": false, \"answer\": 3}",
         "3 no"},
        {"assignees: [ann]", "{\"approved\": true}", "null"},
        {"on_timeout: reject, wait: 1h", NULL, "null no"},
        {"on_timeout: accept, wait: 1h", NULL, "null"},
        {"on_timeout: accept, wait: 1h, schema: {type: integer}", NULL, "null"},
        {"auto_reject: true", NULL, "null no"},
        {"auto_accept: true", NULL, "null"},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char keys[256];
        bool no = strstr(all[i].artifact, "no") != NULL;

        snprintf(keys, sizeof keys,
                 "%s, outputs: {scratch.a: \"output.answer == null ? 'null' : "
                 "string(output.answer)\"}",
                 all[i].keys);
        asking(keys);
        if (all[i].answer != NULL)
            ck_assert_int_eq(answer(all[i].answer), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node(no ? "no" : "yes", "done");
        assert_value("scratch", "a",
                     all[i].artifact[0] == '3' ? "\"3\"" : "\"null\"");
        end();
    }
    asking("schema: {type: integer}");
    ck_assert_int_eq(answer("{\"approved\": false, \"answer\": \"three\"}"),
                     MORTISE_EINVAL);
    ck_assert_int_eq(answer("{\"approved\": false, \"answer\": null}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* An acceptance passes guardrails, a rejection need not; what does not pass
 * fails the node and is no rejection.
 * key: node.post_approval_guardrails */
START_TEST(acceptances_are_guarded)
{
    asking("post_approval_guardrails: [ok, ok]");
    ck_assert_int_eq(answer("{\"approved\": true}"), MORTISE_OK);
    assert_arm(
        "yes",
        "{\"answer\":null,\"approved\":true,\"decided_by\":\"person ann\","
        "\"reason\":\"\"}");
    ck_assert(sim_saw(&s, "guardrail_result", "h"));
    ck_assert(!sim_saw(&s, "guardrail_override", "h"));
    end();

    asking("post_approval_guardrails: [stern]");
    ck_assert_int_eq(answer("{\"approved\": false}"), MORTISE_OK);
    assert_arm(
        "no",
        "{\"answer\":null,\"approved\":false,\"decided_by\":\"person ann\","
        "\"reason\":\"\"}");
    end();

    asking("post_approval_guardrails: [ok, stern], on_error: {goto: safe}");
    ck_assert_int_eq(answer("{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node_error("h", "guardrail");
    assert_node("yes", "skipped");
    assert_node("no", "skipped");
    assert_node("safe", "done");
    ck_assert(sim_saw(&s, "guardrail_override", "h"));
    end();

    asking("post_approval_guardrails: [down]");
    ck_assert_int_eq(answer("{\"approved\": true}"), MORTISE_OK);
    assert_node_error("h", "guardrail");
    ck_assert_int_eq(resume(), MORTISE_OK); /* the question is asked again */
    assert_status(MORTISE_RUN_WAITING);
    end();
}
END_TEST

/* They see what is accepted automatically or by time, too, unless
 * guardrail_override says that an automatic acceptance is trusted.
 * key: node.guardrail_override */
START_TEST(automatic_acceptances_are_guarded)
{
    asking("auto_accept: true, post_approval_guardrails: [stern]");
    assert_node_error("h", "guardrail");
    end();
    asking("auto_accept: true, post_approval_guardrails: [stern], "
           "guardrail_override: true");
    assert_node_error("h", "guardrail");
    end();
    asking("auto_accept: true, post_approval_guardrails: [stern], "
           "guardrail_override: false");
    assert_arm(
        "yes",
        "{\"answer\":null,\"approved\":true,\"decided_by\":\"auto-accept\","
        "\"reason\":\"\"}");
    end();
    asking("auto_reject: true, post_approval_guardrails: [stern]");
    assert_status(MORTISE_RUN_COMPLETED);
    end();

    asking("wait: 1h, on_timeout: accept, post_approval_guardrails: [stern]");
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_node_error("h", "guardrail");
    end();
}
END_TEST

/* What was answered is answered: killed while guardrails look at it, the run
 * asks them again and nobody else. */
START_TEST(answers_survive_deaths)
{
    uint32_t seed = (uint32_t)_i + 1;

    asking("post_approval_guardrails: [ok, ok]");
    command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                     .id = sim_request(&s, "h"),
                                     .json = "{\"approved\": true}"},
            0);
    sync_all();
    for (int k = 0; k < _i % 2; k++)
        finish("h");
    sim_crash(&s, &seed);
    ck_assert_ptr_null(sim_request(&s, "h"));
    sim_recover(&s);
    sim_run(&s, &seed);
    assert_arm(
        "yes",
        "{\"answer\":null,\"approved\":true,\"decided_by\":\"person ann\","
        "\"reason\":\"\"}");
    end();
}
END_TEST

/* ... and so does a pause. */
START_TEST(answers_survive_pauses)
{
    asking("post_approval_guardrails: [ok]");
    command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                     .id = sim_request(&s, "h"),
                                     .json = "{\"approved\": true}"},
            MORTISE_NO_CONTINUE);
    sync_all();
    command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_arm(
        "yes",
        "{\"answer\":null,\"approved\":true,\"decided_by\":\"person ann\","
        "\"reason\":\"\"}");
    end();
}
END_TEST

/* A prompt that cannot be made is a failure, whoever decides. */
START_TEST(prompts_are_made_all_the_same)
{
    run_plain(HEAD "start: h\nnodes:\n"
                   "  h: {type: human, prompt: \"${input.no}\", auto_accept: "
                   "true, next: END}\n",
              "{}");
    assert_node_error("h", "expression");
    end();
}
END_TEST

/* ---- who judges in a person's place ---------------------------------------- */

/* In this world a judge says what its criteria are. */
#define JUDGED(said) "judge: {criteria: '" said "'}"

/* A model decides where it is sure, and the decision says that it did.
 * key: node.judge, judge.criteria */
START_TEST(a_judge_decides)
{
    asking(JUDGED("{\"approved\": true, \"confidence\": 0.7, \"reason\": "
                  "\"as agreed\"}"));
    assert_arm("yes",
               "{\"answer\":null,\"approved\":true,\"decided_by\":\"judge\","
               "\"reason\":\"as agreed\"}");
    ck_assert(!sim_saw(&s, "interrupt", "h"));
    ck_assert_uint_eq(s.judgements, 1);
    end();
    asking(JUDGED("{\"approved\": false, \"confidence\": 1}"));
    assert_arm("no",
               "{\"answer\":null,\"approved\":false,\"decided_by\":\"judge\","
               "\"reason\":\"\"}");
    end();
    asking("schema: {type: integer}, " JUDGED(
        "{\"approved\": true, \"confidence\": 1, \"answer\": 3}"));
    assert_arm("yes",
               "{\"answer\":3,\"approved\":true,\"decided_by\":\"judge\","
               "\"reason\":\"\"}");
    end();
}
END_TEST

/* Else people are asked, and told what it said, or why it said nothing; what they
 * say holds.
 * key: judge.confidence_threshold */
START_TEST(else_people_do)
{
    static const struct {
        const char *keys, *judge;
    } cases[] = {
        {JUDGED("{\"approved\": true, \"confidence\": 0.69, \"reason\": "
                "\"so so\"}"),
         "{\"approved\":true,\"confidence\":0.69,\"message\":\"the confidence "
         "is below the threshold\",\"reason\":\"so so\"}"},
        {"judge: {confidence_threshold: 1, criteria: '{\"approved\": true, "
         "\"confidence\": 0.99}'}",
         "{\"approved\":true,\"confidence\":0.99,\"message\":\"the confidence "
         "is below the threshold\"}"},
        {JUDGED("it broke"),
         "{\"code\":\"model.failed\",\"message\":\"it broke\"}"},
        {JUDGED("{\"approved\": 1, \"confidence\": 1}"),
         "{\"approved\":1,\"confidence\":1,\"message\":\"the reply is not "
         "{approved, confidence, reason?, answer?}\"}"},
        {JUDGED("{\"approved\": true, \"confidence\": \"high\"}"),
         "{\"approved\":true,\"confidence\":\"high\",\"message\":\"the reply "
         "is not {approved, confidence, reason?, answer?}\"}"},
        {"schema: {type: [integer, 'null']}, " JUDGED(
             "{\"approved\": true, \"confidence\": 1}"),
         "{\"approved\":true,\"confidence\":1,\"message\":\"the question needs "
         "an answer, but the reply has none\"}"},
        {"schema: {type: [integer, 'null']}, " JUDGED(
             "{\"approved\": true, \"confidence\": 1, \"answer\": \"x\"}"),
         NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *judge;
        char *have;

        asking(cases[i].keys);
        assert_status(MORTISE_RUN_WAITING);
        judge = json_object_get(
            json_object_get(s.pending, sim_request(&s, "h")), "judge");
        have = json_dumps(judge, JSON_COMPACT | JSON_SORT_KEYS |
                                     JSON_REAL_PRECISION(3));
        if (cases[i].judge != NULL)
            ck_assert_str_eq(have, cases[i].judge);
        else
            ck_assert_ptr_nonnull(strstr(have, "integer"));
        free(have);
        ck_assert_int_eq(answer("{\"approved\": true, \"answer\": null}"),
                         MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("yes", "done");
        ck_assert_uint_eq(s.judgements, 1);
        end();
    }
}
END_TEST

/* Its acceptance is shown to the guardrails like a person's. */
START_TEST(judgements_are_guarded)
{
    asking("post_approval_guardrails: [stern], " JUDGED(
        "{\"approved\": true, \"confidence\": 1}"));
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("h", "guardrail");
    end();
}
END_TEST

/* Whenever the process dies, it comes to the same. */
START_TEST(judgements_outlive_deaths)
{
    uint32_t seed = 1 + (uint32_t)_i;

    begin(HEAD "start: h\nnodes:\n"
               "  h: {type: human, prompt: well?, judge: {criteria: "
               "'{\"approved\": false, \"confidence\": 1}'}, next: END}\n");
    admit("{}");
    run_dying(&seed, 3);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h",
                 "{\"answer\":null,\"approved\":false,\"decided_by\":\"judge\","
                 "\"reason\":\"\"}");
    end();
}
END_TEST

/* Who is cancelled while it is judged is cancelled; who is paused is judged anew. */
START_TEST(judging_can_be_stopped)
{
    for (int i = 0; i < 2; i++) {
        begin(HEAD "start: h\nnodes:\n"
                   "  h: {type: human, prompt: well?, judge: {criteria: "
                   "'{\"approved\": true, \"confidence\": 1}'}, next: END}\n");
        admit("{}");
        sync_all();
        ck_assert(is_out("h"));
        ck_assert_int_eq(
            do_command((struct mortise_command){
                .kind = i == 0 ? MORTISE_CMD_CANCEL : MORTISE_CMD_PAUSE}),
            MORTISE_OK);
        if (i == 1)
            ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(i == 0 ? MORTISE_RUN_CANCELLED : MORTISE_RUN_COMPLETED);
        end();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_humans");
    TCase *tc = tcase_create("humans");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, the_graph_may_decide);
    tcase_add_test(tc, acceptances_are_guarded);
    tcase_add_test(tc, automatic_acceptances_are_guarded);
    tcase_add_test(tc, a_decision_always_has_an_answer);
    tcase_add_loop_test(tc, answers_survive_deaths, 0, 20);
    tcase_add_test(tc, answers_survive_pauses);
    tcase_add_test(tc, prompts_are_made_all_the_same);
    suite_add_tcase(suite, tc);
    tc = tcase_create("judges");
    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_judge_decides);
    tcase_add_test(tc, else_people_do);
    tcase_add_test(tc, judgements_are_guarded);
    tcase_add_loop_test(tc, judgements_outlive_deaths, 0, 20);
    tcase_add_test(tc, judging_can_be_stopped);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
