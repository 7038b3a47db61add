/* test_run_steer.c -- runs that go by another graph from now on.
 *
 * Who steers has made the graph of a diff, and checked it (test_cli_steer.c); here
 * it is given whole.  agent/leaf of this world gives what it is called with. */
#include "lib/drive.h"

#include "core/model/former.h"

/* Two ways from one node to another; those in the middle have effects. */
static const char diamond[] =
    HEAD "start: a\n"
         "nodes:\n"
         "  a: {goal: begin}\n"
         "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
         "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: a}\n"
         "  d: {goal: end, depends_on: [b, c]}\n";

/* Steer the run to this graph; it is no other where that is refused. */
static int steer(const char *yaml)
{
    struct mortise_graph *g = sim_graph(yaml);
    struct mortise_steering to = {.graph = g};
    size_t n_commits = s.n_commits;
    int rv;

    ck_assert_int_eq(
        mortise_graph_set_predecessor(g, mortise_run_graph(s.run), &err),
        MORTISE_OK);
    to.operations = json_pack("[{s:{s:s}}]", "remove", "id", "x");
    s.steering = &to;
    rv = command((struct mortise_command){.kind = MORTISE_CMD_STEER}, 0);
    s.steering = NULL;
    json_decref(to.operations);
    if (rv != MORTISE_OK) {
        ck_assert_uint_eq(s.n_commits, n_commits);
        ck_assert_ptr_ne(mortise_run_graph(s.run), g);
        mortise_graph_unref(g);
        return rv;
    }
    mortise_graph_unref(s.graph);
    s.graph = g; /* with all that stands behind it */
    ck_assert_ptr_eq(mortise_run_graph(s.run), g);
    return rv;
}

static void steers(const char *yaml)
{
    ck_assert_msg(steer(yaml) == MORTISE_OK, "%s", err.msg);
}

static void refused(const char *yaml, int rv, const char *why)
{
    ck_assert_int_eq(steer(yaml), rv);
    ck_assert_msg(strstr(err.msg, why) != NULL, "%s", err.msg);
}

/* The ids that a leaf was told of, in their order. */
static void assert_told(const char *leaf, const char *want)
{
    json_t *show = sim_show(&s), *last, *one;
    char have[256] = "";
    size_t i;

    records_of(show, leaf, &last);
    json_array_foreach(
        json_object_get(json_object_get(last, "output"), "predecessors"), i,
        one)
    {
        bool goal = json_object_get(one, "goal") != NULL;
        const char *status = json_string_value(json_object_get(one, "status"));

        snprintf(have + strlen(have), sizeof have - strlen(have), "%s%s%s%s",
                 i > 0 ? " " : "",
                 json_string_value(json_object_get(one, "id")),
                 goal ? ":goal" : "", status != NULL ? status : "");
    }
    ck_assert_str_eq(have, want);
    json_decref(show);
}

/* What a replay of all that is on disk comes to is what there is. */
static void assert_replays(void)
{
    uint32_t seed = 1;
    json_t *before, *after;

    sync_all();
    before = sim_show(&s);
    sim_crash(&s, &seed);
    after = sim_show(&s);
    ck_assert(json_equal(json_object_get(before, "state"),
                         json_object_get(after, "state")));
    ck_assert(json_equal(json_object_get(before, "graph"),
                         json_object_get(after, "graph")));
    json_decref(before);
    json_decref(after);
    sim_recover(&s);
}

/* What a goto left behind has begun as well, be it ready again or not. */
START_TEST(what_ran_before_a_goto_stays)
{
    begin(diamond);
    admit("{}");
    finish("a");
    finish("b");
    finish("c");
    finish("d");
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_GOTO, .node = "a"},
                _i == 0 ? 0 : MORTISE_NO_CONTINUE),
        MORTISE_OK);
    sync_all();
    refused(HEAD "start: a\n"
                 "nodes:\n"
                 "  a: {goal: begin}\n"
                 "  b: {type: tool, tool: t/write, args: {v: 1}, "
                 "depends_on: a}\n"
                 "  d: {goal: end, depends_on: [b]}\n",
            MORTISE_ESTATE, "has run before");
    refused(HEAD "start: b\n"
                 "nodes:\n"
                 "  b: {type: tool, tool: t/write, args: {v: 1}}\n",
            MORTISE_ESTATE, "has started");
    steers(HEAD
           "start: a\n"
           "nodes:\n"
           "  a: {goal: begin}\n"
           "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
           "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: a}\n"
           "  d: {goal: end, depends_on: [b, c]}\n"
           "  e: {goal: more, depends_on: a}\n");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("d", 2);
    assert_runs("e", 1);
    assert_replays();
    end();
}
END_TEST

/* ---- what may become another ---------------------------------------------------- */

/* A node more comes after those that it names: one that ended, and one that is at
 * work, which goes on. */
START_TEST(a_node_more_sees_what_ended)
{
    begin(diamond);
    admit("{}");
    finish("a");
    finish("b");
    ck_assert(is_out("c"));
    steers(HEAD
           "start: a\n"
           "nodes:\n"
           "  e: {goal: early, depends_on: b}\n"
           "  a: {goal: begin}\n"
           "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
           "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: a}\n"
           "  d: {goal: end, depends_on: [b, c, e]}\n"
           "  f: {goal: late, depends_on: [a, c]}\n");
    sync_all();
    ck_assert(is_out("e")); /* it need not wait */
    ck_assert(is_out("c"));
    ck_assert(sim_saw(&s, "steering_applied", NULL));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("e", "b");
    assert_told("d", "b c e");
    assert_told("f", "a c");
    assert_runs("a", 1);
    assert_runs("b", 1);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "c"), 1);
    end();
}
END_TEST

/* Of what ended, and nobody was to be told of it, the beginning is told where it is
 * long. */
START_TEST(what_ended_is_told_briefly)
{
    static char yaml[8192], after[9000];
    char words[4000] = "";
    json_t *show, *last, *told;

    for (int i = 0; i < 600; i++)
        strcat(words, "word ");
    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, b]\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/echo, args: {text: \"%s\"}}\n"
                  "  b: {goal: wait}\n",
             words);
    snprintf(after, sizeof after, "%s  c: {goal: late, depends_on: a}\n", yaml);
    begin(yaml);
    admit("{}");
    finish("a");
    steers(after);
    sim_run_plain(&s);
    show = sim_show(&s);
    records_of(show, "c", &last);
    told = json_object_get(
        json_array_get(
            json_object_get(json_object_get(last, "output"), "predecessors"),
            0),
        "output");
    ck_assert_ptr_nonnull(
        strstr(json_string_value(told), "[cut here: the first "));
    ck_assert_uint_lt(json_string_length(told), 2100);
    json_decref(show);
    end();
}
END_TEST

/* What waits may go, be another, and come after others. */
START_TEST(what_waits_may_be_another)
{
    begin(diamond);
    admit("{}");
    steers(HEAD "start: a\n"
                "nodes:\n"
                "  a: {goal: begin}\n"
                "  d: {goal: \"at once\", role: critic, depends_on: a}\n");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("d", "a");
    assert_record("d", "role",
                  "{\"display_name\":\"Critic\",\"id\":\"critic\"}");
    assert_runs("b", 0);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 0);
    end();
}
END_TEST

/* All that waits may go: the run ends with what it has. */
START_TEST(nothing_may_be_left)
{
    begin(HEAD "start: a\nlimits: {concurrency: 1}\n"
               "nodes:\n"
               "  a: {goal: begin}\n"
               "  b: {goal: go on, depends_on: a}\n");
    admit("{}");
    sync_all();
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0),
        MORTISE_OK);
    finish("a");
    sync_all();
    assert_status(MORTISE_RUN_PAUSED);
    steers(HEAD "start: a\nlimits: {concurrency: 1}\n"
                "nodes:\n"
                "  a: {goal: begin}\n");
    assert_replays();
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("a", 1);
    end();
}
END_TEST

/* What is ready, and not begun, waits again where it comes after others, and goes
 * where it is nowhere; what is ready all the same is started once. */
START_TEST(what_is_ready_may_wait_again)
{
    const char *before = HEAD "start: [a, b, c, d]\nlimits: {concurrency: 1}\n"
                              "nodes:\n"
                              "  a: {goal: one}\n"
                              "  b: {goal: two}\n"
                              "  c: {goal: three}\n"
                              "  d: {goal: four}\n";

    begin(before);
    admit("{}");
    sync_all();
    ck_assert(is_out("a"));
    steers(HEAD "start: [a, e, d]\nlimits: {concurrency: 1}\n"
                "nodes:\n"
                "  e: {goal: five}\n"
                "  a: {goal: one}\n"
                "  b: {goal: two, depends_on: d}\n"
                "  d: {goal: four and more}\n");
    assert_replays();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("b", "d");
    for (const char *const *id =
             (const char *const[]){"a", "b", "d", "e", NULL};
         *id != NULL; id++)
        assert_runs(*id, 1);
    assert_runs("1.0/b#1", 1); /* it was never made before */
    ck_assert(!sim_saw(&s, "node_start", "c"));
    end();
}
END_TEST

/* Who depends on what failed is skipped, whenever it comes. */
START_TEST(who_depends_on_a_failure_is_skipped)
{
    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, args: {code: broken, class: "
               "permanent, times: 9}}\n"
               "  b: {goal: go on}\n");
    admit("{}");
    finish("a");
    steers(HEAD "start: [a, b]\n"
                "nodes:\n"
                "  a: {type: tool, tool: t/fail, args: {code: broken, class: "
                "permanent, times: 9}}\n"
                "  b: {goal: go on}\n"
                "  c: {goal: after, depends_on: a}\n"
                "  d: {goal: after, depends_on: b}\n");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("c", "skipped");
    assert_node("d", "done");
    end();
}
END_TEST

/* What people wrote into the state, whoever comes later comes after. */
START_TEST(who_comes_later_comes_after_an_update)
{
    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {goal: begin}\n"
               "  b: {goal: wait}\n");
    admit("{}");
    finish("a");
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_UPDATE,
                                         .json = "{\"scratch\": {\"n\": 5}}"},
                0),
        MORTISE_OK);
    sync_all();
    if (is_out("b"))
        finish("b"); /* it was told to stop */
    steers(HEAD "start: [a, b]\n"
                "nodes:\n"
                "  a: {goal: begin}\n"
                "  b: {goal: wait}\n"
                "  c: {type: tool, tool: t/echo, args: {n: \"${scratch.n}\"}, "
                "depends_on: a}\n");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("c", "output", "{\"n\":5}");
    end();
}
END_TEST

static const char crew[] =
    HEAD "start: look\n"
         "nodes:\n"
         "  look: {goal: find it}\n"
         "  crew:\n"
         "    type: team\n"
         "    goal: build\n"
         "    depends_on: look\n"
         "    graph:\n"
         "      start: [dig, fill]\n"
         "      nodes:\n"
         "        dig: {type: tool, tool: t/write, args: {v: 1}}\n"
         "        fill: {goal: fill it, depends_on: dig}\n"
         "  last: {goal: close, depends_on: crew}\n";

/* A team at work is another inside, and its result is made of what is left; the
 * node that makes it is planned anew with that. */
START_TEST(a_team_at_work_is_another_inside)
{
    static const char after[] =
        HEAD "start: look\n"
             "nodes:\n"
             "  look: {goal: find it}\n"
             "  crew:\n"
             "    type: team\n"
             "    goal: build\n"
             "    depends_on: look\n"
             "    graph:\n"
             "      start: [dig, plant]\n"
             "      nodes:\n"
             "        dig: {type: tool, tool: t/write, args: {v: 1}}\n"
             "        plant: {goal: plant it}\n"
             "        water: {goal: water it, depends_on: [dig, plant]}\n"
             "        watch: {goal: watch it, depends_on: dig}\n"
             "  last: {goal: close, depends_on: [crew, look]}\n";
    static const char was[] =
        HEAD "start: look\n"
             "nodes:\n"
             "  look: {goal: find it}\n"
             "  crew:\n"
             "    type: team\n"
             "    goal: build\n"
             "    depends_on: look\n"
             "    graph:\n"
             "      start: dig\n"
             "      nodes:\n"
             "        dig: {type: tool, tool: t/write, args: {v: 1}}\n"
             "        fill: {goal: fill it, depends_on: dig}\n"
             "  last: {goal: close, depends_on: crew}\n";

    begin(was);
    admit("{}");
    finish("look");
    ck_assert(is_out("dig"));
    ck_assert_ptr_null(mortise_run_get_node_progress(s.run, "crew/fill"));
    ck_assert_str_eq(mortise_run_get_node_progress(s.run, "crew/dig"),
                     "has started");
    ck_assert_str_eq(mortise_run_get_node_progress(s.run, "look"), "has ended");
    ck_assert_ptr_null(mortise_run_get_node_progress(s.run, "crew/nobody/x"));
    steers(after);
    sync_all();
    ck_assert(is_out("plant"));
    ck_assert(is_out("dig"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("plant", "crew:goal look");
    assert_told("water", "dig plant");
    assert_told("1.0/crew#1/synthesis#1", "water watch");
    assert_told("last", "crew look");
    ck_assert_int_eq(sim_effect_count(&s, "dig"), 1);
    ck_assert_str_eq(mortise_run_get_node_progress(s.run, "crew/dig"),
                     "is in a part that has ended");
    end();
}
END_TEST

/* What shares a resource goes on sharing it, however the graphs count those. */
START_TEST(resources_are_counted_anew)
{
    begin(HEAD
          "start: [a, b]\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/write, resource: disk, args: {v: 1}}\n"
          "  b: {goal: think}\n"
          "  c: {type: tool, tool: t/write, resource: disk, args: {v: 2}, "
          "depends_on: b}\n");
    admit("{}");
    finish("b");
    ck_assert(is_out("a") && !is_out("c"));
    steers(HEAD
           "start: [f, a, b]\n"
           "nodes:\n"
           "  f: {type: tool, tool: t/write, resource: other, args: {v: "
           "3}}\n"
           "  a: {type: tool, tool: t/write, resource: disk, args: {v: 1}}\n"
           "  b: {goal: think}\n"
           "  c: {type: tool, tool: t/write, resource: disk, args: {v: 4}, "
           "depends_on: b}\n");
    sync_all();
    ck_assert(is_out("f") && is_out("a") && !is_out("c"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("c", "output", "{\"v\":4}");
    end();
}
END_TEST

/* Edges that a person holds back lead to who came meanwhile, too. */
START_TEST(what_is_held_leads_on)
{
    begin(HEAD "start: a\ninterrupt_after: [a]\n"
               "nodes:\n"
               "  a: {goal: begin}\n"
               "  b: {goal: go on, depends_on: a}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    steers(HEAD "start: a\ninterrupt_after: [a]\n"
                "nodes:\n"
                "  c: {goal: beside, depends_on: a}\n"
                "  a: {goal: begin}\n"
                "  b: {goal: go on, depends_on: a}\n");
    sync_all();
    ck_assert(!is_out("c"));
    assert_replays();
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("b", 1);
    assert_runs("c", 1);
    end();
}
END_TEST

/* ---- what may not ---------------------------------------------------------------- */

/* What has begun is there, is the same, and comes after the same; nothing of what is
 * refused is recorded. */
START_TEST(what_has_begun_stands)
{
    begin(diamond);
    admit("{}");
    finish("a");
    finish("b");
    refused(HEAD "start: a\nnodes:\n  a: {goal: begin}\n", MORTISE_ESTATE,
            "b' has ended: it cannot be removed");
    refused(HEAD
            "start: a\n"
            "nodes:\n"
            "  a: {goal: begin}\n"
            "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
            "  c: {type: tool, tool: t/write, args: {v: 3}, depends_on: a}\n",
            MORTISE_ESTATE, "c' has started: it cannot be changed");
    refused(HEAD
            "start: [a, e]\n"
            "nodes:\n"
            "  a: {goal: begin}\n"
            "  e: {goal: before}\n"
            "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
            "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: [a, "
            "e]}\n",
            MORTISE_ESTATE, "c' has started: it cannot be changed");
    refused(HEAD
            "start: a\n"
            "nodes:\n"
            "  a: {goal: begin, next: e}\n"
            "  e: {goal: before, next: c}\n"
            "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
            "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: a}\n",
            MORTISE_ESTATE, "a' has ended: it cannot be changed");
    refused(
        HEAD "start: a\n"
             "nodes:\n"
             "  a: {goal: begin}\n"
             "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
             "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: a}\n"
             "  e: {goal: before, depends_on: b, next: c}\n",
        MORTISE_ESTATE, "c' has started: its dependencies cannot be changed");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    refused(diamond, MORTISE_ESTATE, "has ended, so it cannot be steered");
    end();
}
END_TEST

/* A team that has ended is what it was, inside, too. */
START_TEST(a_team_that_ended_stands)
{
    begin(HEAD "start: crew\n"
               "nodes:\n"
               "  crew: {type: team, goal: go, graph: {start: a, nodes: {a: "
               "{goal: go}}}}\n"
               "  last: {goal: close, depends_on: crew}\n");
    admit("{}");
    finish("a");
    finish("synthesis");
    refused(HEAD "start: crew\n"
                 "nodes:\n"
                 "  crew: {type: team, goal: go, graph: {start: [a, b], nodes: "
                 "{a: {goal: go}, b: {goal: more}}}}\n"
                 "  last: {goal: close, depends_on: crew}\n",
            MORTISE_ESTATE, "crew' has ended: it cannot be changed");
    end();
}
END_TEST

/* Loops and maps are no task graph, nor are edges that somebody judges. */
START_TEST(only_task_graphs_are_steered)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {goal: go, map: {over: \"[1, 2]\", to: b, join: c}}\n"
               "  b: {type: tool, tool: t/echo, next: c}\n"
               "  c: {goal: gather}\n");
    admit("{}");
    refused(HEAD "start: a\nnodes:\n  a: {goal: go}\n", MORTISE_EINVAL,
            "only task graphs can be steered");
    end();
}
END_TEST

/* A graph that was made of another one is refused: somebody was first. */
START_TEST(who_comes_second_is_told)
{
    struct mortise_graph *g;
    struct mortise_steering to = {.graph = NULL};

    begin(diamond);
    admit("{}");
    g = sim_graph(HEAD "start: a\nnodes:\n  a: {goal: begin}\n");
    ck_assert_int_eq(mortise_graph_set_predecessor(g, s.graph, &err),
                     MORTISE_OK);
    steers(diamond);
    sync_all();
    to.graph = g;
    to.operations = json_array();
    s.steering = &to;
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_STEER}, 0),
        MORTISE_ECONFLICT);
    ck_assert_ptr_nonnull(strstr(err.msg, "another command steered"));
    s.steering = NULL;
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_STEER}, 0),
        MORTISE_EINVAL);
    json_decref(to.operations);
    mortise_graph_unref(g);
    end();
}
END_TEST

/* It waits with a pause that it is given with until calls let go, and is judged
 * anew. */
START_TEST(it_may_come_with_a_pause)
{
    struct mortise_graph *g =
        sim_graph(HEAD "start: a\n"
                       "nodes:\n"
                       "  a: {goal: begin}\n"
                       "  e: {goal: end, depends_on: a}\n");
    struct mortise_steering to = {.graph = g};
    struct mortise_command both[] = {
        {.size = sizeof both[0], .kind = MORTISE_CMD_STEER},
        {.size = sizeof both[0], .kind = MORTISE_CMD_PAUSE}};

    begin(diamond);
    admit("{}");
    sync_all();
    ck_assert(is_out("a"));
    ck_assert_int_eq(mortise_graph_set_predecessor(g, s.graph, &err),
                     MORTISE_OK);
    to.operations = json_array();
    s.steering = &to;
    ck_assert_int_eq(sim_command(&s, both, 2, 0, "ann", &err), MORTISE_OK);
    s.steering = NULL;
    json_decref(to.operations);
    mortise_graph_unref(s.graph);
    s.graph = g;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_ptr_eq(mortise_run_graph(s.run), g);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("e", "a");
    end();
}
END_TEST

/* ---- deaths ----------------------------------------------------------------------- */

static void go_to_commit(size_t n)
{
    while (s.n_commits < n && (s.n_calls > 0 || sim_sync_one(&s)))
        if (!sim_sync_one(&s))
            sim_end_call(&s, 0);
}

/* Killed at every commit, before and after it was steered, a run comes to the same
 * end; nothing that was finished is done again. */
START_TEST(killed_at_every_commit)
{
    static const char after[] =
        HEAD "start: look\n"
             "nodes:\n"
             "  new: {goal: new, depends_on: look}\n"
             "  look: {goal: find it}\n"
             "  crew:\n"
             "    type: team\n"
             "    goal: build\n"
             "    depends_on: look\n"
             "    graph:\n"
             "      start: [dig, plant]\n"
             "      nodes:\n"
             "        plant: {type: tool, tool: t/idem, args: {v: 3}}\n"
             "        dig: {type: tool, tool: t/idem, args: {v: 1}}\n"
             "        fill: {goal: fill it, depends_on: [plant, dig]}\n"
             "  last: {goal: close, depends_on: [new, crew]}\n";
    static const char before[] =
        HEAD "start: look\n"
             "nodes:\n"
             "  look: {goal: find it}\n"
             "  crew:\n"
             "    type: team\n"
             "    goal: build\n"
             "    depends_on: look\n"
             "    graph:\n"
             "      start: dig\n"
             "      nodes:\n"
             "        dig: {type: tool, tool: t/idem, args: {v: 1}}\n"
             "        fill: {goal: fill it, depends_on: dig}\n"
             "  last: {goal: close, depends_on: crew}\n";

    bool inside = false;

    for (size_t steer_at = 1; steer_at < 8; steer_at++) {
        for (size_t die_at = steer_at; die_at < steer_at + 14; die_at++) {
            uint32_t seed = (uint32_t)(steer_at * 31 + die_at);
            bool steered;

            begin(before);
            admit("{}");
            go_to_commit(steer_at);
            sync_all();
            if (mortise_run_get_node_progress(s.run, "crew/fill") != NULL) {
                end(); /* it stands */
                continue;
            }
            inside |= mortise_run_get_node_progress(s.run, "crew/dig") != NULL;
            steers(after);
            go_to_commit(die_at);
            if (seed % 3 != 0)
                sync_all();
            sim_crash(&s, &seed);
            steered = mortise_run_graph(s.run) == s.graph;
            sim_recover(&s);
            sim_run_plain(&s);
            assert_status(MORTISE_RUN_COMPLETED);
            assert_told("last", steered ? "new crew" : "crew");
            assert_told("fill", steered ? "plant dig" : "dig");
            assert_runs("look", 1);
            assert_runs("1.0/crew#1/synthesis#1", 1);
            ck_assert(sim_saw(&s, "node_start", "new") == steered);
            end();
        }
    }
    ck_assert(inside); /* it was steered with the team at work, too */
}
END_TEST

/* ---- any graph, any diff, any order -------------------------------------------------- */

enum { NODES = 12, NEEDS = 3 };

struct plan { /* of a node that is there: it needs ids less than its own */
    bool there[NODES];
    int needs[NODES][NEEDS], n[NODES];
    int order[NODES]; /* in which they are written */
};

static void plan_node(struct plan *p, int i, uint32_t *seed)
{
    p->there[i] = true;
    p->n[i] = 0;
    for (int k = 0; k < i; k++)
        if (p->there[k] && p->n[i] < NEEDS && sim_random(seed) % 3 == 0)
            p->needs[i][p->n[i]++] = k;
}

static void shuffle(struct plan *p, uint32_t *seed)
{
    for (int i = 0; i < NODES; i++)
        p->order[i] = i;
    for (int i = NODES - 1; i > 0; i--) {
        int k = (int)(sim_random(seed) % (unsigned)(i + 1)), was = p->order[i];

        p->order[i] = p->order[k];
        p->order[k] = was;
    }
}

/* Each gives one more than the sum of what it needs. */
static void write_plan(const struct plan *p, char *out, size_t size)
{
    FILE *f = fmemopen(out, size, "w");

    fputs(HEAD "limits: {concurrency: 3}\nstart: [", f);
    for (int i = 0, any = 0; i < NODES; i++)
        if (p->there[i] && p->n[i] == 0)
            fprintf(f, "%sn%d", any++ ? ", " : "", i);
    fputs("]\nnodes:\n", f);
    for (int at = 0; at < NODES; at++) {
        int i = p->order[at];

        if (!p->there[i])
            continue;
        fprintf(f, "  n%d: {type: tool, tool: t/%s, args: {v: \"${1", i,
                i % 3 == 0 ? "idem" : "echo");
        for (int k = 0; k < p->n[i]; k++)
            fprintf(f, " + artifacts.n%d.v", p->needs[i][k]);
        fputs("}\"}", f);
        for (int k = 0; k < p->n[i]; k++)
            fprintf(f, "%sn%d", k == 0 ? ", depends_on: [" : ", ",
                    p->needs[i][k]);
        fputs(p->n[i] > 0 ? "]}\n" : "}\n", f);
    }
    fclose(f);
}

/* What has not begun is any other, as long as what has begun needs nothing else; that
 * a node needs what is gone is no graph. */
static void replan(struct plan *p, uint32_t *seed)
{
    for (int i = 0; i < NODES; i++) {
        char id[16];

        snprintf(id, sizeof id, "n%d", i);
        if (p->there[i] && mortise_run_get_node_progress(s.run, id) != NULL)
            continue;
        if (sim_random(seed) % 4 == 0)
            p->there[i] = false;
        else
            plan_node(p, i, seed);
    }
    p->there[0] = true; /* something is there to start with */
    shuffle(p, seed);
}

/* A run that was steered, anywhere and however often, and died in between, comes to
 * what a run of its last graph comes to. */
START_TEST(it_comes_to_what_the_last_graph_does)
{
    for (uint32_t world = 1; world <= 300; world++) {
        uint32_t seed = world;
        struct plan p = {.n = {0}};
        char text[8192], *have, *want;

        for (int i = 0; i < NODES - 4; i++)
            plan_node(&p, i, &seed);
        shuffle(&p, &seed);
        write_plan(&p, text, sizeof text);
        begin(text);
        admit("{}");
        for (int times = 0; times < 3; times++) {
            for (uint32_t n = sim_random(&seed) % 9; n > 0; n--) {
                if (sim_random(&seed) % 2 == 0)
                    sim_sync_one(&s);
                else if (s.n_calls > 0)
                    sim_end_call(&s, sim_random(&seed) % s.n_calls);
            }
            sync_all();
            if (mortise_run_is_finished(s.run))
                break;
            replan(&p, &seed);
            write_plan(&p, text, sizeof text);
            steers(text);
            sync_all();
            if (sim_random(&seed) % 2 == 0) {
                sim_crash(&s, &seed);
                sim_recover(&s);
            }
        }
        sim_run(&s, &seed);
        assert_status(MORTISE_RUN_COMPLETED);
        have = sim_state(&s);
        end();
        run_plain(text, "{}");
        want = sim_state(&s);
        end();
        ck_assert_msg(strcmp(have, want) == 0, "world %u: %s\nnot %s", world,
                      have, want);
        free(have);
        free(want);
    }
}
END_TEST

/* A run may be steered again and again; and back, which is a graph of its own. */
START_TEST(again_and_back)
{
    uint8_t first[MORTISE_DIGEST];

    begin(diamond);
    memcpy(first, s.graph->digest, sizeof first);
    admit("{}");
    steers(HEAD "start: a\nnodes:\n  a: {goal: begin}\n");
    assert_replays();
    steers(diamond);
    ck_assert_mem_ne(s.graph->digest, first, sizeof first);
    ck_assert_mem_eq(mortise_graph_get_first(s.graph)->digest, first,
                     sizeof first);
    assert_replays();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("d", "b c");
    end();
}
END_TEST

/* So often, and no oftener. */
START_TEST(not_without_end)
{
    struct mortise_graph *g;

    begin(crew);
    admit("{}");
    for (int i = 0; i < MORTISE_PREDECESSORS_MAX; i++) {
        steers(crew);
        sync_all();
    }
    g = sim_graph(crew);
    ck_assert_int_eq(mortise_graph_set_predecessor(g, s.graph, &err),
                     MORTISE_ELIMIT);
    mortise_graph_unref(g);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Where failures lead elsewhere, the same holds: what was decided stays so, and who
 * comes later to what ended well is not led there. */
START_TEST(edges_of_other_kinds_stay)
{
#define LED                                                                    \
    HEAD "start: [a, b]\n"                                                     \
         "nodes:\n"                                                            \
         "  a: {type: tool, tool: t/fail, args: {code: broken, class: "        \
         "permanent, times: 9}, on_error: {goto: mend}}\n"                     \
         "  b: {type: router, routes: [{when: \"true\", to: c}], default: "    \
         "d}\n"                                                                \
         "  mend: {goal: mend it}\n"                                           \
         "  c: {goal: go on}\n"                                                \
         "  d: {goal: or so}\n"                                                \
         "  w: {goal: wait, depends_on: [c, mend]}\n"
    begin(LED);
    admit("{}");
    finish("a");
    sync_all();
    ck_assert(is_out("mend"));
    steers(LED "  e: {goal: late, depends_on: [mend, c]}\n");
#undef LED
    assert_replays();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("e", "mend c");
    assert_told("w", "c mend");
    assert_node("d", "skipped");
    assert_runs("a", 1);
    assert_runs("mend", 1);
    end();
}
END_TEST

/* A team that is to be tried again has begun: its graph goes on as it was. */
START_TEST(a_team_between_attempts_stands)
{
    static const char was[] =
        HEAD "start: crew\n"
             "nodes:\n"
             "  crew:\n"
             "    type: team\n"
             "    goal: go\n"
             "    retry_policy: {max_attempts: 2, delay: 10s}\n"
             "    graph:\n"
             "      start: a\n"
             "      nodes:\n"
             "        a: {type: tool, tool: t/fail, args: {code: broken, "
             "class: transient, times: 1}}\n";

    begin(was);
    admit("{}");
    finish("a");
    sync_all();
    ck_assert_uint_gt(s.n_timers, 0);
    ck_assert_str_eq(mortise_run_get_node_progress(s.run, "crew/a"),
                     "is in a part that has started");
    refused(HEAD "start: crew\n"
                 "nodes:\n"
                 "  crew:\n"
                 "    type: team\n"
                 "    goal: go\n"
                 "    retry_policy: {max_attempts: 2, delay: 10s}\n"
                 "    graph:\n"
                 "      start: [a, b]\n"
                 "      nodes:\n"
                 "        a: {type: tool, tool: t/fail, args: {code: broken, "
                 "class: transient, times: 1}}\n"
                 "        b: {goal: more}\n",
            MORTISE_ESTATE, "crew' has started: it cannot be changed");
    steers(HEAD "start: crew\n"
                "nodes:\n"
                "  new: {goal: new, depends_on: crew}\n"
                "  crew:\n"
                "    type: team\n"
                "    goal: go\n"
                "    retry_policy: {max_attempts: 2, delay: 10s}\n"
                "    graph:\n"
                "      start: a\n"
                "      nodes:\n"
                "        a: {type: tool, tool: t/fail, args: {code: broken, "
                "class: transient, times: 1}}\n");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED); /* its first attempt fails, anew */
    assert_record("crew", "attempts", "2");
    assert_node("new", "skipped");
    end();
}
END_TEST

static const char wider[] =
    HEAD "start: [a, e]\n"
         "nodes:\n"
         "  a: {goal: begin}\n"
         "  e: {goal: new}\n"
         "  b: {type: tool, tool: t/write, args: {v: 1}, depends_on: a}\n"
         "  c: {type: tool, tool: t/write, args: {v: 2}, depends_on: a}\n"
         "  d: {goal: end, depends_on: [b, c, e]}\n"
         "  f: {goal: late, depends_on: a}\n";

/* Without memory it is said, and the run is good for nothing but to be loaded
 * again. */
static bool steer_without_memory(int n)
{
    struct mortise_run_command c = {.kind = MORTISE_CMD_STEER};
    struct mortise_graph *g = sim_graph(wider);
    struct mortise_steering to = {.graph = g};
    struct mortise_input in = {.kind = MORTISE_IN_COMMAND};
    struct mortise_actions actions;
    bool failed;
    int rv;

    begin(diamond);
    admit("{}");
    finish("a");
    ck_assert_int_eq(mortise_graph_set_predecessor(g, s.graph, &err),
                     MORTISE_OK);
    to.operations = json_pack("[{s:s}]", "remove", "x");
    in.now_ms = s.now_ms;
    in.u.command = (struct mortise_command_list){
        .list = &c, .n = 1, .actor = "ann", .steering = &to};
    mortise_actions_init(&actions, &test_mem);
    test_mem_fail_at(n);
    rv = mortise_run_step(s.run, &in, &actions, &err);
    failed = test_mem_failed();
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
    mortise_actions_finish(&actions);
    json_decref(to.operations);
    mortise_graph_unref(g);
    end();
    return failed;
}

START_TEST(running_out_of_memory_is_an_error)
{
    int n = 0;

    while (steer_without_memory(n))
        n++;
    ck_assert_int_gt(n, 2); /* arenas ask seldom */
}
END_TEST

/* A record that was damaged, or whose graph is not there, is refused. */
START_TEST(damaged_entries_are_refused)
{
    struct mortise_graph *first;

    begin(diamond);
    first = mortise_graph_ref(s.graph);
    admit("{}");
    finish("a");
    steers(wider);
    sync_all();
    sim_run_plain(&s);
    for (size_t i = 0; i < s.n_commits; i++) {
        for (size_t at = 0; at < 2 * s.commits[i].size; at++) {
            struct mortise_run *r;
            char *bytes = malloc(s.commits[i].size);
            int rv = MORTISE_OK;

            memcpy(bytes, s.commits[i].entries, s.commits[i].size);
            bytes[at / 2] ^= at % 2 == 0 ? 1 : 0x40;
            ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s.graph,
                                                "default", "run-1", NULL, NULL,
                                                &err),
                             MORTISE_OK);
            for (size_t k = 0; rv == MORTISE_OK && k < s.n_commits; k++)
                rv = mortise_run_apply(r, s.commits[k].seq,
                                       s.commits[k].time_ms, s.commits[k].id,
                                       k == i ? bytes : s.commits[k].entries,
                                       s.commits[k].size, &err);
            ck_assert_msg(rv == MORTISE_OK || rv == MORTISE_ECORRUPT ||
                              rv == MORTISE_EFORMAT,
                          "%d", rv);
            mortise_run_free(r);
            free(bytes);
        }
    }
    for (int known = 0; known < 2; known++) {
        struct mortise_run *r;
        int rv = MORTISE_OK;

        mortise_run_replay(&r, &test_mem, first, "default", "run-1", NULL, NULL,
                           &err);
        for (size_t k = 0; rv == MORTISE_OK && k < s.n_commits; k++) {
            if (k == 2 && known) /* it is told in time */
                mortise_run_add_next_graph(r, s.graph);
            rv = mortise_run_apply(r, s.commits[k].seq, s.commits[k].time_ms,
                                   s.commits[k].id, s.commits[k].entries,
                                   s.commits[k].size, &err);
        }
        ck_assert_int_eq(rv, known ? MORTISE_OK : MORTISE_ECORRUPT);
        mortise_run_free(r);
    }
    mortise_graph_unref(first);
    end();
}
END_TEST

/* Of entries that stand before it in its checkpoint, history has the nodes of the
 * graph before. */
START_TEST(history_names_nodes_as_of_then)
{
    bool seen = false;

    begin(HEAD "start: [a, b]\ncheckpoint_policy: none\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/echo, args: {v: 1}}\n"
               "  b: {type: tool, tool: t/read, args: {v: 1}}\n");
    admit("{}");
    finish("a"); /* waits for another's commit */
    steers(HEAD "start: [z, a, b]\ncheckpoint_policy: none\n"
                "nodes:\n"
                "  z: {goal: new}\n"
                "  a: {type: tool, tool: t/echo, args: {v: 1}}\n"
                "  b: {type: tool, tool: t/read, args: {v: 1}}\n");
    sync_all();
    {
        struct sim_commit *c = &s.commits[s.n_commits - 1];
        json_t *list = mortise_run_describe_entries(s.run, c->entries, c->size),
               *one;
        size_t i;

        json_array_foreach(list, i, one)
        {
            const char *node = json_string_value(json_object_get(one, "node"));

            if (node == NULL)
                continue;
            ck_assert_str_eq(node, "a");
            seen = true;
        }
        json_decref(list);
    }
    ck_assert(seen);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* What the decision ends could be what the diff is about. */
START_TEST(no_decision_beside_it)
{
    static const char yaml[] = HEAD "start: a\n"
                                    "nodes:\n"
                                    "  a: {type: human, prompt: yes?}\n"
                                    "  b: {goal: then, depends_on: a}\n";
    struct mortise_command both[2] = {
        {.size = sizeof *both,
         .kind = MORTISE_CMD_ANSWER,
         .json = "{\"approved\": false}"},
        {.size = sizeof *both, .kind = MORTISE_CMD_STEER}};
    struct mortise_steering to = {.operations = NULL};
    size_t n_commits;

    begin(yaml);
    admit("{}");
    sync_all();
    to.graph = sim_graph(yaml);
    ck_assert_int_eq(
        mortise_graph_set_predecessor(to.graph, mortise_run_graph(s.run), &err),
        MORTISE_OK);
    to.operations = json_pack("[{s:{s:s}}]", "remove", "id", "b");
    both[0].id = sim_request(&s, "a");
    n_commits = s.n_commits;
    s.steering = &to;
    ck_assert_int_eq(sim_command(&s, both, 2, 0, "ann", &err), MORTISE_EINVAL);
    s.steering = NULL;
    ck_assert_ptr_nonnull(strstr(err.msg, "give the decision first"));
    ck_assert_uint_eq(s.n_commits, n_commits);
    json_decref(to.operations);
    mortise_graph_unref(to.graph);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_steer");
    TCase *tc = tcase_create("steer");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, what_ran_before_a_goto_stays, 0, 2);
    tcase_add_test(tc, a_node_more_sees_what_ended);
    tcase_add_test(tc, what_ended_is_told_briefly);
    tcase_add_test(tc, what_waits_may_be_another);
    tcase_add_test(tc, nothing_may_be_left);
    tcase_add_test(tc, what_is_ready_may_wait_again);
    tcase_add_test(tc, who_depends_on_a_failure_is_skipped);
    tcase_add_test(tc, who_comes_later_comes_after_an_update);
    tcase_add_test(tc, a_team_at_work_is_another_inside);
    tcase_add_test(tc, resources_are_counted_anew);
    tcase_add_test(tc, what_is_held_leads_on);
    tcase_add_test(tc, what_has_begun_stands);
    tcase_add_test(tc, a_team_that_ended_stands);
    tcase_add_test(tc, only_task_graphs_are_steered);
    tcase_add_test(tc, who_comes_second_is_told);
    tcase_add_test(tc, it_may_come_with_a_pause);
    tcase_add_test(tc, edges_of_other_kinds_stay);
    tcase_add_test(tc, a_team_between_attempts_stands);
    tcase_add_test(tc, running_out_of_memory_is_an_error);
    tcase_add_test(tc, damaged_entries_are_refused);
    tcase_add_test(tc, history_names_nodes_as_of_then);
    tcase_add_test(tc, killed_at_every_commit);
    tcase_add_test(tc, it_comes_to_what_the_last_graph_does);
    tcase_add_test(tc, again_and_back);
    tcase_add_test(tc, not_without_end);
    tcase_add_test(tc, no_decision_beside_it);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
