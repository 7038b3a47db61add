/* test_run_leaves.c -- leaves: of whom they are told, and what.
 *
 * agent/leaf of this world gives what it is called with: so the output of a leaf says
 * what it was told. */
#include "lib/drive.h"

/* A text that is long: words that are numbers, in order. */
static const char *lengthy(void)
{
    static char text[4096];
    size_t at = 0;

    for (int i = 0; i < 400; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%d ", i);
    text[at - 1] = '\0';
    return text;
}

/* The graph of these nodes (and keys of it), with a long text as input.text. */
static void begin_long(const char *yaml)
{
    char input[8192];

    snprintf(input, sizeof input, "{\"text\": \"%s\"}", lengthy());
    begin(yaml);
    admit(input);
}

static void run_long(const char *yaml)
{
    begin_long(yaml);
    sim_run_plain(&s);
}

/* What the newest execution of a leaf was told, as JSON. */
static void assert_told(const char *leaf, const char *want)
{
    json_t *show = sim_show(&s), *last;
    char *have;

    records_of(show, leaf, &last);
    have = json_dumps(
        json_object_get(json_object_get(last, "output"), "predecessors"),
        JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    ck_assert_str_eq(have != NULL ? have : "nothing", want);
    free(have);
    json_decref(show);
}

static void assert_compaction(const char *node, const char *how,
                              const char *begins, const char *error)
{
    json_t *show = sim_show(&s), *last, *c;
    const char *text;

    records_of(show, node, &last);
    c = json_object_get(last, "compaction");
    ck_assert_str_eq(json_string_value(json_object_get(c, "how")), how);
    text = json_string_value(json_object_get(last, "compacted_output"));
    ck_assert_msg(strncmp(text, begins, strlen(begins)) == 0, "%s", text);
    if (error == NULL)
        ck_assert_ptr_null(json_object_get(c, "error"));
    else
        ck_assert_str_eq(json_string_value(json_object_get(
                             json_object_get(c, "error"), "code")),
                         error);
    json_decref(show);
}

/* ---- of whom it is told ---------------------------------------------------- */

/* Of each of depends_on, in that order, and of nobody else: neither who leads to it
 * by another edge, nor what is further back.
 * key: node.type=leaf, leaf.goal */
START_TEST(it_is_told_of_those_it_depends_on)
{
    run_plain(HEAD "start: [a, b, c]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, args: {v: 1}, next: far}\n"
                   "  b: {type: tool, tool: t/echo, args: {v: 2}}\n"
                   "  c: {goal: see, next: l}\n"
                   "  l: {goal: \"do ${input.v}\", depends_on: [b, a]}\n"
                   "  far: {goal: rest, depends_on: l}\n",
              "{\"v\": 7}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("c", "nothing");
    assert_told("l", "[{\"id\":\"b\",\"output\":{\"v\":2}},"
                     "{\"id\":\"a\",\"output\":{\"v\":1}}]");
    assert_record("l", "type", "leaf");
    assert_record("c", "output", "{\"node\":{\"goal\":\"see\"}}");
    assert_told("far",
                "[{\"id\":\"l\",\"output\":{\"node\":{\"goal\":\"do 7\"},"
                "\"predecessors\":[{\"id\":\"b\",\"output\":{\"v\":2}},{\"id\":"
                "\"a\",\"output\":{\"v\":1}}]}}]");
    end();
}
END_TEST

/* Who gave nothing is told of as that; a join that collects tells of failures. */
START_TEST(it_is_told_of_those_who_gave_nothing)
{
    run_plain(
        HEAD "start: [a, b, r]\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/echo, args: {v: 1}}\n"
             "  b: {type: tool, tool: t/fail, args: {code: x}}\n"
             "  r: {type: router, routes: [{when: \"false\", to: c}], default: "
             "END}\n"
             "  c: {type: tool, tool: t/echo}\n"
             "  l: {goal: go, depends_on: [a, b, c], on_branch_error: "
             "collect}\n",
        "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("l", "[{\"id\":\"a\",\"output\":{\"v\":1}},{\"id\":\"b\","
                     "\"status\":\"failed\"},{\"id\":\"c\",\"status\":"
                     "\"skipped\"}]");
    end();
}
END_TEST

/* In a map each element has its own; in a loop it is the newest visit's. */
START_TEST(it_is_told_of_its_own)
{
    run_plain(HEAD
              "start: m\n"
              "nodes:\n"
              "  m: {type: tool, tool: t/echo, map: {over: \"[1, 2]\", as: "
              "i, to: a, join: j}}\n"
              "  a: {type: tool, tool: t/echo, args: {v: \"${i}\"}}\n"
              "  l: {goal: go, depends_on: a, next: j}\n"
              "  j: {type: guardrail, guardrails: [ok], next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("1.0/l#1[0]", "[{\"id\":\"a\",\"output\":{\"v\":1}}]");
    assert_told("1.0/l#1[1]", "[{\"id\":\"a\",\"output\":{\"v\":2}}]");
    end();
    run_plain(HEAD
              "state: {reducers: {scratch.n: {reduce: sum}}}\n"
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/echo, args: {v: \"${node.visit}\"}}\n"
              "  l: {goal: go, depends_on: a, outputs: {scratch.n: \"1\"}, "
              "routes: [{when: scratch.n < 3, to: a}], default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("1.0/l#3", "[{\"id\":\"a\",\"output\":{\"v\":3}}]");
    end();
}
END_TEST

/* A goto leads to it, and it still knows of what was done before. */
START_TEST(a_goto_leaves_it_what_was_done)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, args: {v: 1}}\n"
                   "  l: {goal: go, depends_on: a, next: h}\n"
                   "  h: {type: human, prompt: well?, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(jump("l"), MORTISE_OK);
    assert_told("1.0/l#2", "[{\"id\":\"a\",\"output\":{\"v\":1}}]");
    end();
}
END_TEST

/* ---- what it is told ------------------------------------------------------- */

static const char two[] =
    HEAD "start: [a, b]\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/echo, args: {t: \"${input.text}\"}}\n"
         "  b: {goal: \"say ${input.text}\"}\n"
         "  l: {goal: go, depends_on: [a, b]}\n";

/* What is long is made short, once for all who are told of it, and recorded with
 * the node's own commit; the output stays as it is. */
START_TEST(what_is_long_is_made_short)
{
    run_long(two);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("l", "[{\"id\":\"a\",\"output\":\"compact of a\"},"
                     "{\"id\":\"b\",\"output\":\"compact of b\"}]");
    ck_assert_uint_eq(s.compactions, 2);
    assert_compaction("a", "made", "compact of a", NULL);
    ck_assert(sim_saw(&s, "node_compacting", "a"));
    assert_record("l", "compacted_output", ""); /* nobody is told of it */
    end();
}
END_TEST

/* Whenever the process dies, all are told the same, and each ends once. */
START_TEST(deaths_change_nothing)
{
    uint32_t seed = 1 + (uint32_t)_i;

    begin_long(two);
    run_dying(&seed, 6);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("l", "[{\"id\":\"a\",\"output\":\"compact of a\"},"
                     "{\"id\":\"b\",\"output\":\"compact of b\"}]");
    assert_runs("a", 1);
    end();
}
END_TEST

/* Nothing fails of it: what cannot be made short is cut, and says so.
 * Its beginning is whole words, as far as 250 of them. */
START_TEST(what_cannot_be_made_short_is_cut)
{
    begin_long(two);
    s.mutes = 2;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_compaction("a", "cut", "{\"t\":\"0 1 2 3 ", "mute");
    assert_compaction("b", "cut", "{\"node\":{\"goal\":\"say 0 1 2 ", "mute");
    ck_assert(sim_saw(&s, "warning", "a"));
    end();

    for (int i = 0; i < 2; i++) { /* it gives nothing */
        begin_long(HEAD "start: a\nnodes:\n"
                        "  a: {type: tool, tool: t/echo, args: {t: "
                        "\"${input.text}\"}}\n"
                        "  l: {goal: go, depends_on: a}\n");
        if (i == 0)
            s.lie = json_null();
        else
            s.lie = json_string("fine");
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_compaction("a", i == 0 ? "cut" : "made",
                          i == 0 ? "{\"t\":" : "fine",
                          i == 0 ? "failed" : NULL);
        end();
    }
}
END_TEST

static const struct {
    const char *unit, *how, *begins, *error;
    int times;
} given[] = {
    {"", "cut", "{\"t\":\"0 1 2", "failed", 1}, /* no word */
    {" \n\t", "cut", "{\"t\":\"0 1 2", "failed", 9},
    {"w ", "made", "w w w", NULL, 500},           /* nearly short */
    {"w ", "cut", "w w w", "failed", 501},        /* more words */
    {"wwwwwwww", "made", "wwwww", NULL, 500},     /* nearly short, too */
    {"wwwwwwwww", "cut", "wwwww", "failed", 500}, /* more bytes */
    {"w ", "cut", "w w w", "failed", 100000}};    /* more than there was */

/* What makes an output short gives words, and few: of many the beginning is told. */
START_TEST(what_is_given_is_short)
{
    json_t *show, *last;
    char *text;

    text = calloc((size_t)given[_i].times, strlen(given[_i].unit) + 1);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0, n = strlen(given[_i].unit); i < (size_t)given[_i].times;
         i++)
        memcpy(text + i * n, given[_i].unit, n);
    begin_long(HEAD "start: a\nnodes:\n"
                    "  a: {type: tool, tool: t/echo, args: {t: "
                    "\"${input.text}\"}}\n"
                    "  l: {goal: go, depends_on: a}\n");
    s.lie = json_string(text);
    free(text);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_compaction("a", given[_i].how, given[_i].begins, given[_i].error);
    show = sim_show(&s);
    records_of(show, "a", &last);
    ck_assert_uint_le(
        json_string_length(json_object_get(last, "compacted_output")), 4000);
    json_decref(show);
    end();
}
END_TEST

/* The beginning ends between words and characters, and is marked. */
START_TEST(a_cut_is_marked)
{
    json_t *show, *last;
    const char *text;

    begin_long(HEAD
               "start: a\nnodes:\n"
               "  a: {type: tool, tool: t/fail, args: {code: x}, on_error: "
               "{value: input.text}}\n"
               "  l: {goal: go, depends_on: a}\n");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(s.compactions, 0); /* what on_error gave */
    assert_compaction("a", "cut", "0 1 2 ", "cancelled");
    show = sim_show(&s);
    records_of(show, "a", &last);
    text = json_string_value(json_object_get(last, "compacted_output"));
    ck_assert_msg(strstr(text, " 248 249 \n[cut here: the first 890 of 1489 "
                               "bytes]") != NULL,
                  "%s", text);
    json_decref(show);
    end();
}
END_TEST

/* An operation that a leaf names is asked whatever its output is, also where nobody
 * depends on it.
 * key: node.compaction */
START_TEST(a_leaf_may_say_what_makes_it_short)
{
    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {goal: go, compaction: t/brief}\n"
                   "  l: {goal: go, depends_on: a, compaction: t/brief}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("l", "[{\"id\":\"a\",\"output\":\"brief of a\"}]");
    assert_compaction("l", "made", "brief of l", NULL);
    ck_assert_uint_eq(s.compactions, 2);
    end();
}
END_TEST

/* It sees the output as its guardrails left it. */
START_TEST(it_is_made_of_what_passed)
{
    run_plain(HEAD
              "start: a\nnodes:\n"
              "  a: {type: tool, tool: t/echo, args: {bad: 1, v: 2}, "
              "guardrail_policy: {output: [bad], on_violation: sanitize}}\n"
              "  l: {goal: go, depends_on: a}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_told("l", "[{\"id\":\"a\",\"output\":{\"v\":2}}]");
    end();
}
END_TEST

/* The status of `a` in a show of what is stored by now. */
static void assert_stored_node(const char *want)
{
    struct mortise_run *r;
    json_t *show, *last;

    ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s.graph, "default",
                                        "run-1", NULL, NULL, &err),
                     MORTISE_OK);
    for (size_t i = 0; i < s.n_synced; i++)
        ck_assert_int_eq(
            mortise_run_apply(r, s.commits[i].seq, s.commits[i].time_ms,
                              s.commits[i].id, s.commits[i].entries,
                              s.commits[i].size, &err),
            MORTISE_OK);
    show = mortise_run_show(r, s.run);
    records_of(show, "a", &last);
    ck_assert_str_eq(json_string_value(json_object_get(last, "status")), want);
    json_decref(show);
    mortise_run_free(r);
}

/* What is shown from the store, while the run is ahead of it in memory, has the
 * status of the call that is out: running, from the first to the last of its
 * tools, and compacting. */
START_TEST(a_stored_run_shows_what_is_at_work)
{
    begin_long(
        HEAD
        "start: a\nnodes:\n"
        "  a: {type: gmi, prompt: p, tool_allowlist: [t/echo], args: {asks: [\n"
        "    {method: tool.invoke/1, kind: tool, body: {tool: t/echo, "
        "arguments: {n: 1}}},\n"
        "    {method: r, kind: read, body: {t: \"${input.text}\"}}]}}\n"
        "  l: {goal: go, depends_on: a}\n");
    sim_sync_one(&s);
    assert_stored_node("running");
    sim_end_call(&s, call_of("t__echo"));
    assert_stored_node("running");
    sync_all();
    assert_stored_node("running");
    ck_assert(sim_end_ask(&s, 0));
    assert_stored_node("running");
    sim_end_call(&s, call_of("a"));
    ck_assert_int_eq((int)s.calls[call_of("a")].call.kind, MORTISE_RUN_COMPACT);
    assert_stored_node("compacting");
    sync_all();
    assert_stored_node("compacting");
    sim_end_call(&s, call_of("a"));
    assert_stored_node("running"); /* its end is not stored */
    sync_all();
    assert_stored_node("done");
    end();
}
END_TEST

/* So has a leaf, whose output is made short for another leaf. */
START_TEST(a_stored_leaf_shows_that_it_is_made_short)
{
    begin_long(HEAD "start: a\nnodes:\n"
                    "  a: {goal: \"say ${input.text}\"}\n"
                    "  l: {goal: go, depends_on: a}\n");
    sync_all();
    ck_assert_int_eq((int)s.calls[call_of("a")].call.kind, MORTISE_RUN_EXECUTE);
    assert_stored_node("running");
    sim_end_call(&s, call_of("a"));
    ck_assert_int_eq((int)s.calls[call_of("a")].call.kind, MORTISE_RUN_COMPACT);
    assert_stored_node("compacting");
    sync_all();
    assert_stored_node("compacting");
    sim_end_call(&s, call_of("a"));
    assert_stored_node("running"); /* its end is not stored */
    sync_all();
    assert_stored_node("done");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_compaction("a", "made", "compact of a", NULL);
    end();
}
END_TEST

/* Who is stopped meanwhile is stopped; who is paused goes on. */
START_TEST(it_can_be_stopped)
{
    for (int i = 0; i < 2; i++) {
        begin_long(two);
        sync_all();
        sim_end_call(&s, call_of("a")); /* its operation; now it is compacted */
        sync_all();
        ck_assert_int_eq((int)s.calls[call_of("a")].call.kind,
                         MORTISE_RUN_COMPACT);
        assert_node("a", "compacting");
        ck_assert_int_eq(
            do_command((struct mortise_command){
                .kind = i == 0 ? MORTISE_CMD_CANCEL : MORTISE_CMD_PAUSE}),
            MORTISE_OK);
        if (i == 1)
            ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(i == 0 ? MORTISE_RUN_CANCELLED : MORTISE_RUN_COMPLETED);
        if (i == 1)
            assert_compaction("a", "made", "compact of a", NULL);
        end();
    }
}
END_TEST

/* The node's time is over, or what makes it short never lets go: it is cut, and the
 * node is done. */
START_TEST(it_may_take_too_long)
{
    for (int i = 0; i < 2; i++) {
        struct mortise_input stuck = {.kind = MORTISE_IN_UNRESPONSIVE};

        begin_long(HEAD
                   "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/echo, timeout: 5s, args: {t: "
                   "\"${input.text}\"}}\n"
                   "  l: {goal: go, depends_on: a}\n");
        sync_all();
        sim_end_call(&s, call_of("a"));
        sync_all();
        ck_assert(sim_fire_timer(&s, 0));
        ck_assert(s.calls[call_of("a")].cancelled);
        if (i == 1) {
            stuck.u.result.call = s.calls[call_of("a")].call.id;
            sim_drop_calls(&s);
            sim_feed(&s, &stuck);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_compaction("a", "cut", "{\"t\":", "timeout");
        end();
    }
}
END_TEST

/* ---- roles ----------------------------------------------------------------- */

/* All that a role says, where the leaf says nothing itself; each word of the leaf's
 * comes first.
 * key: leaf.role, graph.roles, role.display_name, role.system_prompt_fragment
 * key: role.default_tool_allowlist, role.suggested_temperature */
START_TEST(roles_are_played)
{
    run_plain(
        HEAD "start: [a, b, c]\n"
             "roles:\n"
             "  scout: {display_name: The Scout, system_prompt_fragment: "
             "\"Look ${around}.\", default_tool_allowlist: [t/echo], "
             "suggested_temperature: 0.25}\n"
             "  writer: {}\n"
             "nodes:\n"
             "  a: {goal: go, role: scout, next: END}\n"
             "  b: {goal: go, role: scout, tool_allowlist: [], temperature: 1, "
             "next: END}\n"
             "  c: {goal: go, role: writer, next: END}\n",
        "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "output",
                  "{\"node\":{\"goal\":\"go\",\"role\":\"Look ${around}.\","
                  "\"temperature\":0.25,\"tools\":true}}");
    assert_record("a", "role",
                  "{\"display_name\":\"The Scout\",\"id\":\"scout\"}");
    assert_record("b", "output",
                  "{\"node\":{\"goal\":\"go\",\"role\":\"Look ${around}.\","
                  "\"temperature\":1}}");
    /* one of the file comes before the built-in one of that id */
    assert_record("c", "output", "{\"node\":{\"goal\":\"go\"}}");
    assert_record("c", "role", "{\"id\":\"writer\"}");
    end();
}
END_TEST

/* Who plays a role that wants one waits for an approval, which shows what it is
 * about.
 * key: role.requires_approval */
START_TEST(a_role_may_want_an_approval)
{
    json_t *asked;

    run_plain(HEAD "start: a\n"
                   "roles: {boss: {display_name: The Boss, requires_approval: "
                   "true}}\n"
                   "nodes:\n"
                   "  a: {goal: \"go ${input.v}\", role: boss, next: b}\n"
                   "  b: {goal: go, next: END}\n",
              "{\"v\": 1}");
    assert_status(MORTISE_RUN_WAITING);
    asked = json_object_get(s.pending, sim_request(&s, "a"));
    ck_assert_str_eq(json_string_value(json_object_get(asked, "kind")), "node");
    ck_assert_str_eq(json_string_value(json_object_get(asked, "role")),
                     "The Boss");
    ck_assert_str_eq(
        json_string_value(json_object_get(
            json_object_get(json_object_get(asked, "args"), "node"), "goal")),
        "go 1");
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = sim_request(&s, "a"),
                                            .json = "{\"approved\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_leaves");
    TCase *tc = tcase_create("leaves");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, it_is_told_of_those_it_depends_on);
    tcase_add_test(tc, it_is_told_of_those_who_gave_nothing);
    tcase_add_test(tc, it_is_told_of_its_own);
    tcase_add_test(tc, a_goto_leaves_it_what_was_done);
    tcase_add_test(tc, what_is_long_is_made_short);
    tcase_add_loop_test(tc, deaths_change_nothing, 0, 20);
    tcase_add_test(tc, what_cannot_be_made_short_is_cut);
    tcase_add_loop_test(tc, what_is_given_is_short, 0,
                        sizeof given / sizeof given[0]);
    tcase_add_test(tc, a_cut_is_marked);
    tcase_add_test(tc, a_leaf_may_say_what_makes_it_short);
    tcase_add_test(tc, it_is_made_of_what_passed);
    tcase_add_test(tc, a_stored_run_shows_what_is_at_work);
    tcase_add_test(tc, a_stored_leaf_shows_that_it_is_made_short);
    tcase_add_test(tc, it_can_be_stopped);
    tcase_add_test(tc, it_may_take_too_long);
    tcase_add_test(tc, roles_are_played);
    tcase_add_test(tc, a_role_may_want_an_approval);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
