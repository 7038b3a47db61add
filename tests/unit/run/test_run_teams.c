/* test_run_teams.c -- teams: task graphs in task graphs, and one result of each.
 *
 * agent/leaf of this world gives what it is called with. */
#include "lib/drive.h"

/* Eight nodes that somebody wrote, three deep; those in the middle have effects. */
static const char three[] = HEAD
    "start: look\n"
    "nodes:\n"
    "  look: {goal: find it}\n"
    "  crew:\n"
    "    type: team\n"
    "    goal: \"build ${input.what}\"\n"
    "    depends_on: look\n"
    "    graph:\n"
    "      start: [dig, inner]\n"
    "      nodes:\n"
    "        dig: {type: tool, tool: t/write, args: {v: 1}}\n"
    "        inner:\n"
    "          type: team\n"
    "          goal: inside\n"
    "          role: critic\n"
    "          graph:\n"
    "            start: deep\n"
    "            nodes:\n"
    "              deep: {goal: go}\n"
    "              then: {type: tool, tool: t/write, args: {v: 2}, depends_on: "
    "deep}\n"
    "  last: {goal: close, depends_on: crew}\n";

/* What the newest execution of a leaf has under that name of what it was called
 * with. */
static void assert_called(const char *leaf, const char *name, const char *want)
{
    json_t *show = sim_show(&s), *last;
    char *have;

    records_of(show, leaf, &last);
    ck_assert_msg(last != NULL, "no record of %s", leaf);
    have = json_dumps(json_object_get(json_object_get(last, "output"), name),
                      JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    ck_assert_str_eq(have != NULL ? have : "nothing", want);
    free(have);
    json_decref(show);
}

static void assert_text(const char *json, const char *part)
{
    ck_assert_msg(strstr(json, part) != NULL, "no %s in %s", part, json);
}

/* ---- what is told to whom ------------------------------------------------------ */

/* Who comes first in a team is told its goal and what it depends on, from the outermost
 * inwards; who comes behind is told of its own alone; and one result is made of what
 * nothing depends on.
 * key: node.type=team, team.graph, team.goal, team.role */
START_TEST(a_team_is_told_and_gives_one_result)
{
    json_t *show, *last;
    char *text;

    run_plain(three, "{\"what\": \"it\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_called("deep", "predecessors",
                  "[{\"goal\":\"build it\",\"id\":\"crew\"},{\"id\":\"look\","
                  "\"output\":{\"node\":{\"goal\":\"find it\"}}},{\"goal\":"
                  "\"inside\",\"id\":\"inner\"}]");
    assert_called("1.0/crew#1/inner#1/synthesis#1", "predecessors",
                  "[{\"id\":\"then\",\"output\":{\"v\":2}}]");
    show = sim_show(&s);
    records_of(show, "1.0/crew#1/inner#1/synthesis#1", &last);
    text = json_dumps(json_object_get(last, "output"), JSON_COMPACT);
    assert_text(text, "\"goal\":\"inside\"");
    assert_text(text, "\"role\":\"You are a critic.");
    free(text);
    records_of(show, "1.0/crew#1/synthesis#1", &last);
    text = json_dumps(json_object_get(last, "output"), JSON_COMPACT);
    assert_text(text, "\"goal\":\"build it\"");
    assert_text(text, "\"role\":\"You bring results together.");
    assert_text(text,
                "{\"id\":\"dig\",\"output\":{\"v\":1}},{\"id\":\"inner\"");
    free(text);
    json_decref(show);
    assert_record("inner", "role",
                  "{\"display_name\":\"Critic\",\"id\":\"critic\"}");
    ck_assert_uint_eq(s.compactions, 0);
    end();
}
END_TEST

/* The result is what an operation makes of all of them, where the team names one.
 * key: node.synthesis */
START_TEST(an_operation_may_make_the_result)
{
    run_plain(HEAD "start: crew\n"
                   "nodes:\n"
                   "  crew:\n"
                   "    type: team\n"
                   "    goal: go\n"
                   "    synthesis: t/echo\n"
                   "    graph:\n"
                   "      start: [a, b]\n"
                   "      nodes:\n"
                   "        a: {type: tool, tool: t/echo, args: {v: 1}, next: "
                   "END}\n"
                   "        b: {type: tool, tool: t/echo, args: {v: 2}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record(
        "crew", "output",
        "{\"goal\":\"go\",\"results\":{\"a\":{\"v\":1},\"b\":{\"v\":2}"
        "}}");
    end();
}
END_TEST

/* What the team says of its model is that leaf's, and nobody else's.
 * key: team.llm, team.max_tokens */
START_TEST(a_team_says_who_makes_the_result)
{
    json_t *show, *last, *node;
    char *llm;

    run_plain(HEAD "start: crew\n"
                   "nodes:\n"
                   "  crew:\n"
                   "    type: team\n"
                   "    goal: go\n"
                   "    llm: {provider_id: other, model: large}\n"
                   "    max_tokens: 77\n"
                   "    graph: {start: a, nodes: {a: {goal: do}}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_called("a", "node", "{\"goal\":\"do\"}");
    show = sim_show(&s);
    records_of(show, "synthesis", &last);
    node = json_object_get(json_object_get(last, "output"), "node");
    llm =
        json_dumps(json_object_get(node, "llm"), JSON_COMPACT | JSON_SORT_KEYS);
    ck_assert_str_eq(llm, "{\"model\":\"large\",\"provider_id\":\"other\"}");
    ck_assert_int_eq(json_integer_value(json_object_get(node, "max_tokens")),
                     77);
    ck_assert_str_eq(json_string_value(json_object_get(node, "goal")), "go");
    free(llm);
    json_decref(show);
    end();
}
END_TEST

/* What is led to by edges is no last node; a skipped one is no result. */
START_TEST(what_comes_last_is_found)
{
    run_plain(HEAD
              "start: crew\n"
              "nodes:\n"
              "  crew:\n"
              "    type: team\n"
              "    goal: go\n"
              "    graph:\n"
              "      start: a\n"
              "      nodes:\n"
              "        a: {type: tool, tool: t/echo, args: {v: 1}, routes: "
              "[{when: \"true\", to: b}], default: c}\n"
              "        b: {type: tool, tool: t/echo, args: {v: 2}}\n"
              "        c: {type: tool, tool: t/echo, args: {v: 3}}\n"
              "        d: {type: tool, tool: t/echo, args: {v: 4}}\n"
              "        e: {type: tool, tool: t/echo, args: {v: 5}}\n"
              "      edges:\n"
              "        - {from: a, to: d}\n"
              "        - {from: d, to: e}\n"
              "        - {from: e, to: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_called("synthesis", "predecessors",
                  "[{\"id\":\"b\",\"output\":{\"v\":2}},{\"id\":\"c\","
                  "\"status\":\"skipped\"},{\"id\":\"e\",\"output\":{\"v\":5}}"
                  "]");
    end();
}
END_TEST

/* ---- failures, deaths ----------------------------------------------------------- */

/* What fails in it fails it; it is tried again there, and what was done stays done. */
START_TEST(it_fails_and_is_tried_again)
{
    run_plain(HEAD
              "start: crew\n"
              "nodes:\n"
              "  crew:\n"
              "    type: team\n"
              "    goal: go\n"
              "    retry_policy: {max_attempts: 2, retry_on: [x], delay: "
              "1ms}\n"
              "    graph:\n"
              "      start: [a, b]\n"
              "      nodes:\n"
              "        a: {type: tool, tool: t/write, args: {v: 1}}\n"
              "        b: {type: tool, tool: t/fail, args: {code: x, times: "
              "9}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("crew", "x");
    ck_assert_uint_eq((unsigned)sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Killed at every commit, a run of eight nodes in three levels goes on, and nothing
 * that was finished is done again. */
START_TEST(killed_at_every_commit)
{
    size_t all;

    begin(three);
    admit("{\"what\": \"it\"}");
    sim_run_plain(&s);
    all = s.n_commits;
    end();
    ck_assert_uint_ge(all, 8);
    for (size_t at = 1; at < all; at++) {
        uint32_t seed = (uint32_t)at;

        begin(three);
        admit("{\"what\": \"it\"}");
        while (s.n_commits < at) {
            if (sim_sync_one(&s))
                continue;
            ck_assert_uint_gt(s.n_calls, 0);
            sim_end_call(&s, 0);
        }
        sync_all();
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        if (mortise_run_status(s.run) == MORTISE_RUN_IN_DOUBT) {
            /* a write was out, of which nobody knows: it happened */
            const char *const writes[] = {"dig", "then"};

            for (int i = 0; i < 2; i++)
                if (sim_request(&s, writes[i]) != NULL)
                    ck_assert_int_eq(
                        do_command((struct mortise_command){
                            .kind = MORTISE_CMD_RESOLVE,
                            .id = sim_request(&s, writes[i]),
                            .decision = "done",
                            .json = i == 0 ? "{\"v\": 1}" : "{\"v\": 2}"}),
                        MORTISE_OK);
        }
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_le(sim_effect_count(&s, "dig"), 1);
        ck_assert_int_le(sim_effect_count(&s, "then"), 1);
        assert_runs("1.0/crew#1/inner#1/deep#1", 1);
        assert_runs("1.0/crew#1/synthesis#1", 1);
        end();
    }
}
END_TEST

static const char bossed[] =
    HEAD "start: crew\n"
         "roles: {boss: {requires_approval: true}}\n"
         "nodes:\n"
         "  crew:\n"
         "    type: team\n"
         "    goal: \"go ${input.v}\"\n"
         "    role: boss\n"
         "    compaction: t/brief\n"
         "%s"
         "    graph: {start: a, nodes: {a: {goal: go}}}\n";

static int answer_team(const char *json)
{
    return do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                               .id = sim_request(&s, "crew"),
                                               .json = json});
}

/* A role that wants an approval has the team wait for one, once: before anything in it
 * runs, and not again for its result.  What it is to do is shown. */
START_TEST(a_team_may_want_an_approval)
{
    static const char *const by[] = {"", "    synthesis: t/echo\n"};
    char graph[1024];
    json_t *asked;

    snprintf(graph, sizeof graph, bossed, by[_i]);
    run_plain(graph, "{\"v\": 1}");
    assert_status(MORTISE_RUN_WAITING);
    assert_runs("1.0/crew#1/a#1", 0);
    asked = json_object_get(s.pending, sim_request(&s, "crew"));
    ck_assert_str_eq(json_string_value(json_object_get(asked, "kind")), "node");
    ck_assert_str_eq(json_string_value(json_object_get(asked, "type")), "team");
    ck_assert_str_eq(json_string_value(json_object_get(asked, "role")), "boss");
    ck_assert_str_eq(json_string_value(json_object_get(asked, "goal")), "go 1");
    ck_assert_int_eq(answer_team("{\"approved\": true}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("crew", "compacted_output", "brief of crew");
    end();
}
END_TEST

/* A rejected team did nothing, and one whose goal cannot be said is not asked for. */
START_TEST(a_team_may_not_begin)
{
    char graph[1024];

    snprintf(graph, sizeof graph, bossed, "");
    run_plain(graph, "{\"v\": 1}");
    ck_assert_int_eq(answer_team("{\"approved\": false}"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("crew", "rejected");
    assert_runs("1.0/crew#1/a#1", 0);
    end();
    run_plain(graph, "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("crew", "expression");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_teams");
    TCase *tc = tcase_create("teams");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_team_is_told_and_gives_one_result);
    tcase_add_test(tc, an_operation_may_make_the_result);
    tcase_add_test(tc, a_team_says_who_makes_the_result);
    tcase_add_test(tc, what_comes_last_is_found);
    tcase_add_test(tc, it_fails_and_is_tried_again);
    tcase_add_test(tc, killed_at_every_commit);
    tcase_add_loop_test(tc, a_team_may_want_an_approval, 0, 2);
    tcase_add_test(tc, a_team_may_not_begin);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
