/* test_run_review.c -- the step function where several things meet: commands
 * in one list, updates beside pauses and failures, effects that were stopped,
 * results that were judged unfit, records that were tampered with. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sim.h"
#include "lib/test.h"
#include "core/run/command/run_commands.h"
#include "core/run/record/journal.h"

#define HEAD                                                                   \
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: "       \
    "1.0.0}\n"

static struct sim s;
static struct mortise_err err;

static void begin(const char *yaml, const char *input)
{
    int rv;

    sim_init(&s, sim_graph(yaml));
    rv = sim_admit(&s, input, &err);
    ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
}

static void run_plain(const char *yaml, const char *input)
{
    begin(yaml, input);
    sim_run_plain(&s);
}

static void sync_all(void)
{
    while (sim_sync_one(&s))
        ;
}

static void assert_status(int status)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
}

static void assert_state(const char *want)
{
    char *have = sim_state(&s);

    ck_assert_str_eq(have, want);
    free(have);
}

/* A member of the record of a node's newest execution; a new reference. */
static json_t *record_member(const char *node, const char *member)
{
    json_t *show = sim_show(&s), *one, *found = NULL;
    size_t i;

    json_array_foreach(json_object_get(show, "nodes"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "node")), node) == 0)
            found = one;
    }
    ck_assert_ptr_nonnull(found);
    found = json_incref(json_object_get(found, member));
    json_decref(show);
    return found;
}

static void assert_node(const char *node, const char *status)
{
    json_t *have = record_member(node, "status");

    ck_assert_str_eq(json_string_value(have), status);
    json_decref(have);
}

static void assert_node_error(const char *node, const char *code,
                              const char *words)
{
    json_t *error = record_member(node, "error");
    const char *msg = json_string_value(json_object_get(error, "message"));

    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    ck_assert_msg(strstr(msg, words) != NULL, "%s", msg);
    json_decref(error);
}

static int command(const struct mortise_command *list, size_t n)
{
    int rv = sim_command(&s, list, n, 0, "ann", &err);

    if (rv == MORTISE_OK)
        sim_run_plain(&s);
    return rv;
}

static int one(struct mortise_command c)
{
    return command(&c, 1);
}

#define RESUME                                                                 \
    {                                                                          \
        .kind = MORTISE_CMD_RESUME                                             \
    }
#define UPDATE(text)                                                           \
    {                                                                          \
        .kind = MORTISE_CMD_UPDATE, .json = (text)                             \
    }
#define MERGE(text)                                                            \
    {                                                                          \
        .kind = MORTISE_CMD_UPDATE, .json = (text), .flags = MORTISE_CMD_MERGE \
    }
#define GOTO(id)                                                               \
    {                                                                          \
        .kind = MORTISE_CMD_GOTO, .node = (id)                                 \
    }
#define ANSWER(which)                                                          \
    {                                                                          \
        .kind = MORTISE_CMD_ANSWER, .id = (which),                             \
        .json = "{\"approved\": true}"                                         \
    }
#define ONE(...) one((struct mortise_command)__VA_ARGS__)

static void end(void)
{
    sim_finish(&s);
}

/* ---- lists of commands --------------------------------------------------- */

/* A step in doubt is resolved once a list. */
START_TEST(one_doubt_is_resolved_once)
{
    uint32_t seed = 1;
    struct mortise_command c[2] = {
        {.kind = MORTISE_CMD_RESOLVE, .decision = "retry"},
        {.kind = MORTISE_CMD_RESOLVE, .decision = "fail"}};

    begin(HEAD "start: w\n"
               "nodes: {w: {type: tool, tool: t/write}}\n",
          "{}");
    sync_all();
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    c[0].id = c[1].id = sim_request(&s, "w");
    ck_assert_int_eq(command(c, 2), MORTISE_EMISMATCH);
    assert_status(MORTISE_RUN_IN_DOUBT);
    end();
}
END_TEST

/* What a decision writes may be what a merge cannot be merged with: such a
 * list is refused whole, or it holds. */
START_TEST(a_merge_beside_an_answer_holds_or_is_refused)
{
    static const char yaml[] =
        HEAD "state: {reducers: {scratch.n: sum}}\n"
             "start: h\n"
             "nodes: {h: {type: human, prompt: n?,\n"
             "            outputs: {scratch.n: \"1\"}}}\n";
    struct mortise_command c[2] = {ANSWER(NULL),
                                   MERGE("{\"scratch\": {\"n\": \"x\"}}")};
    size_t commits;

    run_plain(yaml, "{}");
    commits = s.n_commits;
    c[0].id = sim_request(&s, "h");
    ck_assert_int_eq(command(c, 2), MORTISE_EINVAL);
    ck_assert_uint_eq(s.n_commits, commits);
    c[1].json = "{\"scratch\": {\"m\": \"x\"}}"; /* no reducer: no quarrel */
    ck_assert_int_eq(command(c, 2), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A decision that is none is said to be none, also when the run is over. */
START_TEST(no_decision_is_none_on_a_finished_run)
{
    run_plain(HEAD "start: a\n"
                   "nodes: {a: {type: tool, tool: t/echo}}\n",
              "{}");
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_APPROVE_TOOL,
                          .id = "x",
                          .decision = "await_external"}),
                     MORTISE_EDECISION);
    end();
}
END_TEST

/* cancel ends a run that is not going, too, whatever else was asked. */
START_TEST(cancel_ends_a_run_that_stands)
{
    uint32_t seed = 1;
    struct mortise_command c = {.kind = MORTISE_CMD_CANCEL};

    run_plain(HEAD "start: h\n"
                   "nodes: {h: {type: human, prompt: n?}}\n",
              "{}");
    sim_crash(&s, &seed);
    ck_assert_int_eq(sim_command(&s, &c, 1, MORTISE_NO_CONTINUE, "ann", &err),
                     MORTISE_OK);
    sync_all();
    assert_status(MORTISE_RUN_CANCELLED);
    end();
}
END_TEST

/* ---- update -------------------------------------------------------------- */

/* A failure that its join will mend is no reason to do it again, whoever goes
 * on with a run that stands still. */
START_TEST(resume_leaves_a_mended_failure_alone)
{
    struct mortise_command resume = RESUME;
    json_t *generation;

    run_plain(HEAD
              "start: [a, b]\n"
              "interrupt_before: [b]\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/fail, args: {times: 9}, next: j}\n"
              "  b: {type: tool, tool: t/read, next: j}\n"
              "  j: {type: tool, tool: t/read, join: best_effort}\n",
              "{}");
    assert_status(MORTISE_RUN_PAUSED);
    assert_node("a", "failed");
    ck_assert_int_eq(command(&resume, 1), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    generation = record_member("a", "generation");
    ck_assert_int_eq(json_integer_value(generation), 1);
    json_decref(generation);
    end();
}
END_TEST

/* What failed waits for `resume`; then everything behind it runs. */
START_TEST(update_does_not_forget_what_follows_a_failure)
{
    struct mortise_command resume = RESUME;

    run_plain(HEAD "start: [a, h]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, args: {x: "
                   "\"${scratch.x}\"}, next: b}\n"
                   "  b: {type: tool, tool: t/echo, args: {b: 1}}\n"
                   "  h: {type: human, prompt: hm?}\n",
              "{}");
    assert_status(MORTISE_RUN_WAITING);
    assert_node("a", "failed");
    ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {\"x\": 1}}")), MORTISE_OK);
    assert_node("a", "failed");
    ck_assert_int_eq(command(&resume, 1), MORTISE_OK);
    assert_node("b", "done");
    ck_assert_int_eq(ONE(ANSWER(sim_request(&s, "h"))), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* What starts after an update sees it: behind a node that is held ... */
START_TEST(what_a_pause_holds_back_sees_the_update)
{
    run_plain(HEAD "interrupt_after: [a]\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"1\"}, next: b}\n"
                   "  b: {type: tool, tool: t/echo, args: {x: "
                   "\"${scratch.x}\"}, outputs: {scratch.x: output.x + 1}}\n",
              "{}");
    ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {\"x\": 10}}")), MORTISE_OK);
    ck_assert_int_eq(ONE(RESUME), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{},\"b\":{\"x\":10}},\"input\":{},"
                 "\"scratch\":{\"x\":11}}");
    end();
}
END_TEST

/* ... and behind a join whose taken edges were there before it. */
START_TEST(what_a_join_holds_back_sees_the_update)
{
    for (int crash = 0; crash < 2; crash++) {
        uint32_t seed = 1;

        run_plain(HEAD "start: [a, h]\n"
                       "nodes:\n"
                       "  a: {type: tool, tool: t/echo, next: j, outputs: "
                       "{scratch.x: \"1\"}}\n"
                       "  h: {type: human, prompt: hm?, routes: [{when: "
                       "\"false\", to: j}], default: END}\n"
                       "  j: {type: tool, tool: t/echo, args: {x: "
                       "\"${scratch.x}\"}, outputs: {scratch.x: output.x + "
                       "1}}\n",
                  "{}");
        ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {\"x\": 10}}")), MORTISE_OK);
        if (crash)
            sim_crash(&s, &seed);
        ck_assert_int_eq(ONE(ANSWER(sim_request(&s, "h"))), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        end();
    }
}
END_TEST

/* A person may settle what two branches left in conflict. */
START_TEST(an_update_settles_a_conflict)
{
    static const struct mortise_command both[2] = {
        UPDATE("{\"scratch\": {\"x\": 3}}"), RESUME};

    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"1\"}, next: j}\n"
                   "  b: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"2\"}, next: j}\n"
                   "  j: {type: tool, tool: t/echo, args: {x: "
                   "\"${scratch.x}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(command(both, 2), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{},\"b\":{},\"j\":{\"x\":3}},"
                 "\"input\":{},\"scratch\":{\"x\":3}}");
    end();
}
END_TEST

/* `required` is a matter of the end: neither an update nor a guardrail that
 * writes a whole root on the way is held to it. */
START_TEST(required_is_checked_at_the_end)
{
    run_plain(HEAD "state:\n"
                   "  artifacts: {type: object, required: [b],\n"
                   "    properties: {b: {type: object}, n: {type: integer}},\n"
                   "    additionalProperties: false}\n"
                   "interrupt_before: [b]\n"
                   "start: b\n"
                   "nodes:\n"
                   "  b: {type: tool, tool: t/echo}\n",
              "{}");
    ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {\"x\": 3}}")), MORTISE_OK);
    ck_assert_int_eq(ONE(UPDATE("{\"artifacts\": {\"n\": 3}}")), MORTISE_OK);
    ck_assert_int_eq(ONE(UPDATE("{\"artifacts\": {\"n\": \"x\"}}")),
                     MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "artifacts.n"));
    ck_assert_int_eq(ONE(UPDATE("{\"artifacts\": {\"m\": 3}}")),
                     MORTISE_EINVAL);
    ck_assert_int_eq(ONE(RESUME), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A scheduled pause stays the same question through an update, and `resume` in
 * the same list passes it. */
START_TEST(update_and_resume_pass_a_pause)
{
    static const struct mortise_command both[2] = {
        UPDATE("{\"scratch\": {\"x\": 3}}"), RESUME};
    static const char yaml[] = HEAD "interrupt_before: [a]\n"
                                    "start: a\n"
                                    "nodes:\n"
                                    "  a: {type: tool, tool: t/echo, args: {x: "
                                    "\"${scratch.x}\"}}\n";
    uint32_t seed = 1;
    char id[40];

    run_plain(yaml, "{}");
    strcpy(id, sim_request(&s, "a"));
    ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {\"x\": 2}}")), MORTISE_OK);
    ck_assert_str_eq(sim_request(&s, "a"), id);
    sim_crash(&s, &seed);
    ck_assert_str_eq(sim_request(&s, "a"), id);
    ck_assert_int_eq(command(both, 2), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"x\":3}},\"input\":{},"
                 "\"scratch\":{\"x\":3}}");
    end();
}
END_TEST

/* A member's name is a name, whatever stands in it. */
START_TEST(merged_names_are_names)
{
    run_plain(HEAD "start: a\n"
                   "nodes: {a: {type: tool, tool: t/echo}}\n",
              "{}");
    ck_assert_int_eq(
        ONE(MERGE("{\"scratch\": {\"x\\\"].y[\\\"z\": 1, \"\\\\\": 2}}")),
        MORTISE_OK);
    assert_state("{\"artifacts\":{\"a\":{}},\"input\":{},"
                 "\"scratch\":{\"\\\\\":2,\"x\\\"].y[\\\"z\":1}}");
    end();
}
END_TEST

/* A merge goes through the reducers, also those further down. */
START_TEST(merge_finds_deep_reducers)
{
    run_plain(HEAD "state: {reducers: {scratch.a.n: sum, scratch.a.l.m: "
                   "concat}}\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, args: {m: [1]}, output_as: "
                   "null,\n"
                   "      outputs: {scratch.a.n: \"1\", scratch.a.k: \"2\",\n"
                   "                scratch.a.l.m: output.m}}\n",
              "{}");
    ck_assert_int_eq(ONE(MERGE("{\"scratch\": {\"a\": {\"n\": 5, \"l\": "
                               "{\"m\": [2]}}, \"b\": {\"n\": 7}}}")),
                     MORTISE_OK);
    assert_state("{\"artifacts\":{},\"input\":{},\"scratch\":{\"a\":{\"k\":2,"
                 "\"l\":{\"m\":[1,2]},\"n\":6},\"b\":{\"n\":7}}}");
    end();
}
END_TEST

/* ---- effects ------------------------------------------------------------- */

static void forget_calls(void)
{
    while (s.n_calls > 0)
        json_decref(s.calls[--s.n_calls].call.body);
}

static const char again[] =
    HEAD "start: w\n"
         "nodes:\n"
         "  w: {type: tool, tool: t/write, args: {v: 1, sure: true}, next: x, "
         "on_in_doubt: retry}\n"
         "  x: {type: tool, tool: t/echo}\n";

static const char writer[] =
    HEAD "start: w\n"
         "nodes:\n"
         "  w: {type: tool, tool: t/write, args: {v: 1, sure: true}, next: x}\n"
         "  x: {type: tool, tool: t/echo}\n";

/* A write that is under way is not stopped for what would move the run on
 * without it: that is refused, by name, and the write comes to its end. */
START_TEST(a_write_is_not_stopped_for_a_goto)
{
    static const struct mortise_command commands[2] = {
        UPDATE("{\"scratch\": {\"x\": 3}}"), GOTO("x")};
    struct mortise_command c = commands[_i];

    c.flags |= _i == 0 ? 0 : MORTISE_CMD_FORCE;
    begin(HEAD "start: w\n"
               "nodes:\n"
               "  w: {type: tool, tool: t/write, args: {v: 1}, next: x}\n"
               "  x: {type: tool, tool: t/echo}\n",
          "{}");
    sync_all();
    ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_EINDOUBT);
    ck_assert_ptr_nonnull(strstr(err.msg, "node 'w' is in flight"));
    ck_assert_ptr_nonnull(strstr(err.msg, "`mortise pause "));
    ck_assert(!s.calls[0].cancelled);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    end();
}
END_TEST

/* A write that may be done again is stopped for a command.  It says that it did
 * not happen: the command that waited for it is applied, and nothing is in
 * doubt, now or after a crash. */
START_TEST(a_stopped_write_has_answered)
{
    static const struct mortise_command commands[2] = {
        UPDATE("{\"scratch\": {\"x\": 3}}"), GOTO("x")};

    for (int i = 0; i < 4; i++) {
        uint32_t seed = 1;
        json_t *effect;

        begin(again, "{}");
        sync_all();
        ck_assert_uint_eq(s.n_calls, 1);
        ck_assert_int_eq(sim_command(&s, &commands[i % 2], 1, 0, "ann", &err),
                         MORTISE_OK);
        ck_assert(s.calls[0].cancelled);
        sim_end_call(&s, 0);
        sync_all();
        ck_assert_msg(s.applied == MORTISE_OK, "%s", s.applied_err.msg);
        if (i >= 2) {
            forget_calls(); /* nothing came of them */
            sim_crash(&s, &seed);
            effect = record_member("w", "effect");
            ck_assert(i == 2 || effect == NULL);
            json_decref(effect);
            sim_recover(&s);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "w"), i % 2 == 0 ? 1 : 0);
        end();
    }
}
END_TEST

/* An intent whose commit is not on disk when somebody moves the run never
 * becomes an effect. */
START_TEST(an_intent_is_not_carried_out_for_nothing)
{
    static const struct mortise_command jump = GOTO("x");

    begin(writer, "{}");
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(sim_command(&s, &jump, 1, 0, "ann", &err), MORTISE_OK);
    sim_run_plain(&s);
    ck_assert_msg(s.applied == MORTISE_OK, "%s", s.applied_err.msg);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 0);
    ck_assert(!sim_saw(&s, "node_start", "w"));
    end();
}
END_TEST

/* R11: a write that was acknowledged is not done again because its result was
 * of no use; the result is still there when the node is tried again. */
START_TEST(an_acknowledged_write_is_not_repeated)
{
    for (int crash = 0; crash < 2; crash++) {
        static const struct mortise_command both[2] = {
            UPDATE("{\"scratch\": {\"k\": \"v\"}}"), RESUME};
        uint32_t seed = 1;

        run_plain(HEAD "start: w\n"
                       "nodes:\n"
                       "  w: {type: tool, tool: t/write, args: {v: 1},\n"
                       "      outputs: {scratch.x: \"output[scratch.k]\"}}\n",
                  "{}");
        assert_status(MORTISE_RUN_FAILED);
        assert_node_error("w", "expression", "k");
        ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
        ck_assert_int_eq(ONE(RESUME), MORTISE_OK);
        assert_status(MORTISE_RUN_FAILED);
        ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
        if (crash)
            sim_crash(&s, &seed);
        ck_assert_int_eq(command(both, 2), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
        assert_state("{\"artifacts\":{\"w\":{\"v\":1}},\"input\":{},"
                     "\"scratch\":{\"k\":\"v\",\"x\":1}}");
        end();
    }
}
END_TEST

/* ... but with other arguments it is another effect. */
START_TEST(other_arguments_are_another_effect)
{
    static const struct mortise_command both[2] = {
        UPDATE("{\"scratch\": {\"k\": \"v\"}}"), RESUME};

    run_plain(HEAD "start: w\n"
                   "nodes:\n"
                   "  w: {type: tool, tool: t/write, args: {v: "
                   "\"${has(scratch.k)}\"},\n"
                   "      outputs: {scratch.x: \"output[scratch.k]\"}}\n",
              "{}");
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    ck_assert_int_eq(command(both, 2), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 2);
    end();
}
END_TEST

static void let_hang(void)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};

    sim_fire_timer(&s, 0);
    in.now_ms = s.now_ms;
    in.u.result.call = s.calls[0].call.id;
    forget_calls();
    sim_feed(&s, &in);
}

/* A write that never let go is in doubt, wherever its failure would lead, and
 * its plugin is why; once a person took it as failed, and the graph led that
 * elsewhere, it holds back who would go to a node until it is settled. */
START_TEST(a_handled_failure_is_behind_us)
{
    begin(HEAD "start: w\n"
               "nodes:\n"
               "  w: {type: tool, tool: t/write, timeout: 1s, on_error: {goto: "
               "h}}\n"
               "  h: {type: tool, tool: t/echo}\n",
          "{}");
    sync_all();
    let_hang();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_str_eq(
        json_string_value(json_object_get(
            json_object_get(s.pending, sim_request(&s, "w")), "cause")),
        "the plugin did not return after a cancellation");
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_RESOLVE,
                          .id = sim_request(&s, "w"),
                          .decision = "fail"}),
                     MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("w", "failed");
    ck_assert_int_eq(ONE(GOTO("h")), MORTISE_EINDOUBT);
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_RESUME}), MORTISE_OK);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_RESOLVE,
                          .id = sim_request(&s, "w"),
                          .decision = "retry"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(ONE(GOTO("h")), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("w", "failed"); /* history stays */
    end();
}
END_TEST

/* It is asked about before it is done again; a policy, and a goto, are no way
 * around. */
START_TEST(an_unresponsive_write_is_in_doubt)
{
    begin(HEAD "start: w\n"
               "nodes: {w: {type: tool, tool: t/write, timeout: 1s,\n"
               "  on_error: {value: 1},\n"
               "  retry_policy: {max_attempts: 3, retry_on: [timeout,\n"
               "    timeout.unresponsive]}}}\n",
          "{}");
    sync_all();
    let_hang();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(ONE(GOTO("w")), MORTISE_EINDOUBT);
    ck_assert_int_eq(ONE(RESUME), MORTISE_EINDOUBT);
    end();
}
END_TEST

/* What its author says of doubts holds for that one, too. */
START_TEST(an_unresponsive_write_heeds_its_author)
{
    static const char *const says[] = {"t/write, on_in_doubt: fail",
                                       "t/write, on_in_doubt: retry", "t/idem",
                                       "t/rec"};
    static const char *const codes[] = {"in_doubt", "timeout.unresponsive",
                                        "timeout.unresponsive",
                                        "timeout.unresponsive"};
    char yaml[512];

    snprintf(yaml, sizeof yaml,
             HEAD "start: w\nnodes: {w: {type: tool, timeout: 1s, tool: %s}}\n",
             says[_i]);
    begin(yaml, "{}");
    sync_all();
    let_hang();
    sim_run_plain(&s); /* t/rec says that it did not happen */
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("w", codes[_i], "");
    ck_assert_int_eq(ONE(RESUME), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(_i == 0 ? MORTISE_RUN_IN_DOUBT : MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- results ------------------------------------------------------------- */

/* A field that the schema calls a number is a double, in results too. */
START_TEST(results_are_typed_by_their_schema)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, args: {n: 3}, next: h,\n"
                   "      output_schema: {type: object, properties: {n: {type: "
                   "number}}},\n"
                   "      outputs: {scratch.n: output.n * 2.0}}\n"
                   "  h: {type: human, prompt: x, schema: {type: number},\n"
                   "      outputs: {scratch.m: output.answer * 2.0}}\n",
              "{}");
    assert_node("a", "done");
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_ANSWER,
                          .id = sim_request(&s, "h"),
                          .json = "{\"approved\": true, \"answer\": 4}"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* What is in scope by the loader's word is there. */
START_TEST(attempts_are_in_scope)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {class: transient, "
                   "times: 1, first: \"${node.attempt}\"},\n"
                   "      retry_policy: {max_attempts: 3, delay: 1ms},\n"
                   "      outputs: {scratch.at: node.attempt}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"class\":\"transient\",\"first\":1,"
                 "\"times\":1}},\"input\":{},\"scratch\":{\"at\":2}}");
    end();
}
END_TEST

/* A node that was done has no error, whatever its attempts were like. */
START_TEST(done_is_without_error)
{
    json_t *error;

    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {class: transient, "
                   "times: 1},\n"
                   "      retry_policy: {max_attempts: 3, delay: 1ms}}\n",
              "{}");
    assert_node("a", "done");
    error = record_member("a", "error");
    ck_assert_ptr_null(error);
    end();
}
END_TEST

/* When the value for an error fails, too, both are said. */
START_TEST(a_failing_error_value_says_both)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {code: boom},\n"
                   "      on_error: {value: scratch.none}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "expression", "none");
    assert_node_error("a", "expression", "boom: told to fail");
    end();
}
END_TEST

/* Values that grow deeper from node to node end in an error of a node, not in
 * a run that nobody can write. */
START_TEST(depth_is_bounded)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_puts(&b, HEAD "start: n0\nnodes:\n");
    for (int i = 0; i < 300; i++)
        mortise_buf_printf(&b,
                           "  n%d: {type: tool, tool: t/echo, output_as: null, "
                           "%s%d, outputs: {scratch.v: \"%s\"}}\n",
                           i,
                           i < 299 ? "next: n"
                                   : "args: {x: \"${scratch}\"}, "
                                     "x-n: ",
                           i + 1, i == 0 ? "1" : "[scratch.v]");
    begin(mortise_buf_cstr(&b), "{}");
    mortise_buf_finish(&b);
    for (int i = 0; i < 310 && mortise_run_status(s.run) < 7; i++) {
        sim_sync_one(&s);
        sim_end_call(&s, 0);
    }
    assert_status(MORTISE_RUN_FAILED);
    sync_all();
    end();
}
END_TEST

/* A guardrail that found nothing to change writes nothing: no conflict with who
 * does. */
START_TEST(an_idle_guardrail_writes_nothing)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, args: {v: {k: 1}},\n"
                   "      outputs: {scratch.x: output.v}, next: [g, b]}\n"
                   "  g: {type: guardrail, guardrails: [bad], target: "
                   "scratch.x,\n"
                   "      on_violation: sanitize, next: j}\n"
                   "  b: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"2\"}, next: j}\n"
                   "  j: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"v\":{\"k\":1}},\"b\":{},"
                 "\"g\":{\"k\":1},\"j\":{}},\"input\":{},"
                 "\"scratch\":{\"x\":2}}");
    end();
}
END_TEST

/* ... and what it may put in the place of a whole root is an object. */
START_TEST(a_root_stays_an_object)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    begin(HEAD "start: g\n"
               "nodes:\n"
               "  g: {type: guardrail, guardrails: [bad], on_violation: "
               "sanitize}\n",
          "{}");
    in.now_ms = s.now_ms;
    in.u.result = (struct mortise_result_in){.call = s.calls[0].call.id,
                                             .violation = true,
                                             .output = json_string("x"),
                                             .message = "m",
                                             .error_code = "",
                                             .error_class = ""};
    forget_calls();
    sim_feed(&s, &in);
    json_decref(in.u.result.output);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("g", "schema", "scratch must be an object");
    end();
}
END_TEST

/* What reconcile says is believed only when it is an answer. */
START_TEST(a_confused_reconcile_settles_nothing)
{
    for (int i = 0; i < 4; i++) {
        struct mortise_input in = {.kind = MORTISE_IN_RESULT};
        uint32_t seed = 1;

        begin(HEAD "start: w\n"
                   "nodes: {w: {type: tool, tool: t/rec, timeout: 1s}}\n",
              "{}");
        sync_all();
        sim_crash(&s, &seed);
        sim_recover(&s);
        ck_assert_uint_eq(s.calls[0].call.kind, MORTISE_RUN_RECONCILE);
        if (i == 3) { /* it says nothing, ever */
            let_hang();
        } else {
            in.u.result = (struct mortise_result_in){
                .call = s.calls[0].call.id,
                .output = i == 0 ? json_array()
                                 : json_pack("{s:s}", "happened", "yes"),
                .status = i == 2 ? -1 : 0,
                .message = "m",
                .error_code = "",
                .error_class = "transient"};
            forget_calls();
            sim_feed(&s, &in);
            json_decref(in.u.result.output);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_int_le(sim_effect_count(&s, "w"), 1);
        end();
    }
}
END_TEST

/* Ten thousand nodes side by side between a fork and a join, and a chain as
 * long. */
START_TEST(large_graphs_are_no_matter)
{
    for (int chain = 0; chain < 2; chain++) {
        struct mortise_buf b;
        int n = 5000;

        mortise_buf_init(&b, &mortise_heap);
        mortise_buf_puts(&b, HEAD "start: a\nlimits: {steps: 20000}\n"
                                  "nodes:\n"
                                  "  a: {type: router, condition: \"'n0'\", "
                                  "targets: [n0");
        for (int i = 1; i < n && !chain; i++)
            mortise_buf_printf(&b, ", n%d", i);
        mortise_buf_puts(&b, "]}\n");
        for (int i = 0; i < n; i++)
            mortise_buf_printf(&b,
                               "  n%d: {type: router, routes: [{when: "
                               "\"true\", to: n%d}], default: END}\n",
                               i, chain ? i + 1 : n);
        mortise_buf_printf(&b, "  n%d: {type: human, prompt: hm?}\n", n);
        run_plain(mortise_buf_cstr(&b), "{}");
        mortise_buf_finish(&b);
        assert_status(MORTISE_RUN_WAITING);
        ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {\"x\": 1}}")), MORTISE_OK);
        ck_assert_int_eq(
            ONE(ANSWER(json_object_iter_key(json_object_iter(s.pending)))),
            MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        end();
    }
}
END_TEST

/* A write that ends well while the run is being cancelled counts, and its
 * scheduled pause is over before anybody hears of it. */
START_TEST(a_late_success_counts_while_cancelling)
{
    struct mortise_command cancel = {.kind = MORTISE_CMD_CANCEL};

    begin(HEAD "interrupt_after: [w]\n"
               "start: w\n"
               "nodes:\n"
               "  w: {type: tool, tool: t/write, next: x}\n"
               "  x: {type: tool, tool: t/echo}\n",
          "{}");
    sync_all();
    ck_assert_int_eq(sim_command(&s, &cancel, 1, 0, "ann", &err), MORTISE_OK);
    ck_assert(s.calls[0].cancelled);
    s.calls[0].cancelled = false; /* it was done already */
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    assert_node("w", "done");
    assert_node("x", "skipped");
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    end();
}
END_TEST

/* A permanent error that an operation reports is retried by its code alone, and
 * one that says no class is permanent. */
START_TEST(permanent_errors_retry_by_code)
{
    static const char yaml[] =
        HEAD "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/fail, args: \"${input}\",\n"
             "      retry_policy: {max_attempts: 3, delay: 1ms, "
             "retry_on: [boom, timeout]}}\n";
    static const struct {
        const char *input;
        bool retried;
    } cases[] = {{"{\"code\": \"boom\"}", true},
                 {"{\"code\": \"boom\", \"class\": \"permanent\"}", true},
                 {"{\"code\": \"boom\", \"class\": \"\"}", true},
                 {"{\"code\": \"bang\", \"class\": \"\"}", false},
                 {"{\"code\": \"bang\", \"class\": \"permanent\"}", false},
                 {"{\"code\": \"bang\", \"class\": \"timeout\"}", true},
                 {"{\"code\": \"boom\", \"class\": \"transient\"}", true},
                 {"{\"code\": \"bang\", \"class\": \"transient\"}", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_plain(yaml, cases[i].input);
        assert_status(MORTISE_RUN_FAILED);
        ck_assert_int_eq(sim_saw(&s, "retry_scheduled", "a"), cases[i].retried);
        end();
    }
}
END_TEST

/* An intent waits for its own commit, whatever else is said to be on disk. */
START_TEST(only_its_own_sync_starts_an_effect)
{
    struct mortise_input in = {.kind = MORTISE_IN_SYNCED};

    begin(writer, "{}");
    in.u.seq = 0;
    sim_feed(&s, &in);
    in.u.seq = 99; /* there is no such commit */
    sim_feed(&s, &in);
    ck_assert_uint_eq(s.n_calls, 0);
    sync_all();
    ck_assert_uint_eq(s.n_calls, 1);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- after a goto -------------------------------------------------------- */

/* What a goto left behind is not waited for, and is not shown so. */
START_TEST(what_a_goto_passed_by_is_skipped)
{
    run_plain(HEAD "interrupt_before: [a]\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, next: b}\n"
                   "  b: {type: tool, tool: t/echo, next: c}\n"
                   "  c: {type: tool, tool: t/echo}\n",
              "{}");
    ck_assert_int_eq(ONE(GOTO("c")), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    end();
}
END_TEST

/* ---- events -------------------------------------------------------------- */

/* What there is not is left out. */
START_TEST(events_have_no_empty_members)
{
    json_t *event, *member;
    const char *key;
    size_t i;

    run_plain(HEAD "interrupt_before: [a]\n"
                   "start: a\n"
                   "nodes: {a: {type: tool, tool: t/echo}}\n",
              "{}");
    ck_assert_int_eq(ONE(UPDATE("{\"scratch\": {}}")), MORTISE_OK);
    ck_assert_int_eq(ONE(RESUME), MORTISE_OK);
    ck_assert_int_eq(ONE(GOTO("a")), MORTISE_OK);
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_CANCEL}), MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    json_array_foreach(s.published, i, event)
    {
        json_object_foreach(event, key, member)
        {
            ck_assert_msg(!json_is_null(member), "%s", key);
        }
    }
    ck_assert(sim_saw(&s, "command", NULL));
    end();
}
END_TEST

/* ---- anything in any order ------------------------------------------------
 */

static const char zoo[] = HEAD
    "limits: {concurrency: 3}\n"
    "state: {reducers: {scratch.log: concat, scratch.n: sum}}\n"
    "interrupt_before: [d]\n"
    "interrupt_after: [c]\n"
    "start: [a, b, c, h]\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/rec, args: {l: [a]}, next: [d, j],\n"
    "      outputs: {scratch.log: output.l, scratch.n: \"1\"}}\n"
    "  b: {type: tool, tool: t/fail, args: {class: transient, times: 1},\n"
    "      retry_policy: {max_attempts: 2, delay: 5ms}, timeout: 1s,\n"
    "      outputs: {scratch.log: \"['b']\"}, next: j}\n"
    "  c: {type: router, routes: [{when: has(scratch.x), to: e}], default: f}\n"
    "  d: {type: tool, tool: t/idem, args: {l: [d]}, timeout: 1s,\n"
    "      outputs: {scratch.log: output.l}, next: k}\n"
    "  e: {type: tool, tool: t/echo, args: {x: \"${scratch.y}\"},\n"
    "      outputs: {scratch.log: \"['e']\"}, next: k}\n"
    "  f: {type: tool, tool: t/fail, on_error: {goto: g}, next: k}\n"
    "  g: {type: guardrail, guardrails: [ok, bad], on_violation: sanitize,\n"
    "      target: scratch.w, next: k}\n"
    "  h: {type: human, prompt: hm?, wait: 2d, on_timeout: {goto: m},\n"
    "      post_approval_guardrails: [ok],\n"
    "      outputs: {scratch.log: \"['h']\"}, next: j}\n"
    "  j: {type: tool, tool: t/rec, args: {l: [j], n: \"${scratch.n}\", bad: "
    "1},\n"
    "      guardrail_policy: {input: [ok, bad], output: [bad], on_violation: "
    "sanitize},\n"
    "      outputs: {scratch.log: output.l, scratch.n: \"1\"}, next: k}\n"
    "  k: {type: tool, tool: t/read, args: {l: \"${scratch.log}\"},\n"
    "      guardrail_policy: {output: [ok]}}\n"
    "  m: {type: tool, tool: t/echo, next: k}\n";

static struct mortise_command any_command(uint32_t *seed)
{
    static const char *const nodes[] = {"a", "c", "d", "g", "h", "j", "k"};
    static const char *const updates[] = {
        "{\"scratch\": {\"x\": 1, \"log\": []}}",
        "{\"scratch\": {\"w\": {\"bad\": 1}, \"y\": 2}}",
        "{\"artifacts\": {}}"};
    size_t n = json_object_size(s.pending), pick = sim_random(seed) % (n + 1);
    const char *id = NULL;
    json_t *payload;

    switch (sim_random(seed) % 8) {
    case 0:
        return (struct mortise_command)UPDATE(updates[sim_random(seed) % 3]);
    case 1:
        return (struct mortise_command)MERGE(updates[sim_random(seed) % 3]);
    case 2:
        return (struct mortise_command)GOTO(nodes[sim_random(seed) % 7]);
    case 3:
        if (sim_random(seed) % 8 == 0)
            return (struct mortise_command){.kind = MORTISE_CMD_CANCEL};
        break;
    case 4:
    case 5:
        json_object_foreach(s.pending, id, payload)
        {
            if (pick-- == 0)
                return (struct mortise_command)ANSWER(id);
        }
        break;
    }
    return (struct mortise_command)RESUME;
}

/* What a run shows, without what only a live one knows. */
static json_t *essence(const struct mortise_run *r)
{
    json_t *show = mortise_run_show(r, NULL), *node, *status;
    size_t i;

    ck_assert_ptr_nonnull(show);
    json_object_del(show, "updated");
    json_object_del(show, "status");
    json_object_del(show, "reason");
    json_array_foreach(json_object_get(show, "nodes"), i, node)
    {
        status = json_object_get(node, "status");
        if (strcmp(json_string_value(status), "running") == 0)
            json_string_set(status, "pending");
        if (strcmp(json_string_value(status), "pending") == 0) {
            ck_assert_ptr_null(json_object_get(node, "ended"));
            json_object_del(node, "effect");
        }
        if (strcmp(json_string_value(status), "done") != 0)
            json_object_del(node, "started"); /* of a try that left no trace */
    }
    return show;
}

static void assert_replay_is_the_run(void)
{
    json_t *live = essence(s.run), *replayed;
    struct mortise_run *r;

    mortise_run_replay(&r, &test_mem, s.graph, "default", "run-1", NULL, NULL,
                       &err);
    for (size_t i = 0; i < s.n_commits; i++)
        ck_assert_int_eq(
            mortise_run_apply(r, s.commits[i].seq, s.commits[i].time_ms,
                              s.commits[i].id, s.commits[i].entries,
                              s.commits[i].size, &err),
            MORTISE_OK);
    replayed = essence(r);
    if (!json_equal(live, replayed)) {
        char *a = json_dumps(live, JSON_SORT_KEYS), *b;
        size_t at = 0;

        b = json_dumps(replayed, JSON_SORT_KEYS);
        while (a[at] == b[at])
            at++;
        at -= at < 100 ? at : 100;
        ck_abort_msg("live %.400s\nreplayed %.400s", a + at, b + at);
    }
    json_decref(live);
    json_decref(replayed);
    mortise_run_free(r);
}

static void anything(uint32_t *seed)
{
    uint32_t pick = sim_random(seed) % 12;
    struct mortise_command c;

    s.now_ms += sim_random(seed) % 20;
    if (pick < 4) {
        sim_sync_one(&s);
    } else if (pick < 8 && s.n_calls > 0) {
        sim_end_call(&s, sim_random(seed) % s.n_calls);
    } else if (pick == 8 && s.n_timers > 0) {
        sim_fire_timer(&s, sim_random(seed) % s.n_timers);
    } else if (pick == 9 && sim_random(seed) % 4 == 0) {
        sync_all();
        sim_crash(&s, seed);
        s.applied = MORTISE_OK; /* nobody is left to be answered */
        if (sim_random(seed) % 2 == 0)
            sim_recover(&s);
    } else if (pick >= 10) {
        int applied = s.applied;

        c = any_command(seed);
        if (sim_command(&s, &c, 1,
                        sim_random(seed) % 6 == 0 ? MORTISE_NO_CONTINUE : 0,
                        "ann", &err) != MORTISE_OK)
            s.applied = applied;
    }
}

/* Answer, resolve and resume until there is nothing left to do. */
static void bring_home(void)
{
    for (int i = 0; i < 40; i++) {
        const char *id = NULL;
        json_t *payload;

        json_object_foreach(s.pending, id, payload)
        {
            break;
        }
        if (id != NULL && ONE(ANSWER(id)) == MORTISE_OK)
            continue;
        if (id != NULL && ONE({.kind = MORTISE_CMD_RESOLVE,
                               .id = id,
                               .decision = "done",
                               .json = "{}"}) != MORTISE_OK)
            ONE({.kind = MORTISE_CMD_RESOLVE, .id = id, .decision = "fail"});
        if (i < 20) /* who resumes a doubt that failed is asked again */
            ONE(RESUME);
        if (json_object_size(s.pending) == 0)
            return;
    }
}

/* Promise 1 of run.c under fire: whatever people do, whatever dies and in
 * whatever order, what is on disk is the run; an effect that can be settled
 * happens once a key; and no run is left that neither goes nor waits. */
START_TEST(whatever_happens_replay_is_the_run)
{
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t seed = (uint32_t)_i * 100003 + i * 7919;

        begin(zoo, "{}");
        sync_all();
        for (int k = 0; k < 60 && s.n_commits < 300; k++) {
            anything(&seed);
            assert_replay_is_the_run();
        }
        sim_run_plain(&s);
        ck_assert_int_ne(s.applied, 1); /* every command was answered */
        bring_home();
        assert_replay_is_the_run();
        ck_assert(mortise_run_is_idle(s.run));
        ck_assert(mortise_run_is_finished(s.run));
        for (size_t k = 0; k < s.n_effects; k++)
            ck_assert_int_le(s.effects[k].times, 1);
        end();
    }
}
END_TEST

/* ---- memory -------------------------------------------------------------- */

static const char everything[] = HEAD
    "hitl_mode: approve_tools\n"
    "state: {reducers: {scratch.log: concat}}\n"
    "interrupt_before: [g]\n"
    "interrupt_after: [g]\n"
    "start: [w, h]\n"
    "nodes:\n"
    "  w: {type: tool, tool: t/write, args: {l: \"is ${input.v}\"},\n"
    "      outputs: {scratch.log: \"[output.l]\"}, next: g}\n"
    "  h: {type: human, prompt: \"May I, ${input.v}?\", wait: 3d,\n"
    "      outputs: {scratch.log: \"['h']\"}, next: g}\n"
    "  g: {type: guardrail, guardrails: [bad], on_violation: sanitize, next: "
    "r}\n"
    "  r: {type: router, routes: [{when: input.v == 1, to: e}], default: "
    "END}\n"
    "  e: {type: tool, tool: t/read, args: {x: \"${scratch.none}\"},\n"
    "      on_error: {value: error.code}}\n";

/* A world that keeps going until memory runs out. */
struct stingy {
    struct mortise_run *run;
    struct mortise_graph *graph;
    struct mortise_actions actions;
    struct sim_commit commits[64];
    size_t n_commits;
    char requests[8][40]; /* as they were opened */
    size_t n_requests;
    uint64_t now_ms;
};

static void keep_commit(struct stingy *w, const struct mortise_run_commit *c)
{
    struct sim_commit *k = &w->commits[w->n_commits++];

    *k = (struct sim_commit){.seq = c->seq,
                             .time_ms = c->now_ms,
                             .id = c->id,
                             .entries = malloc(c->size),
                             .size = c->size};
    memcpy(k->entries, c->entries, c->size);
    for (size_t i = 0; i < c->n_opens; i++)
        strcpy(w->requests[w->n_requests++ % 8], c->opens[i].id);
}

static int feed(struct stingy *w, struct mortise_input in)
{
    in.now_ms = ++w->now_ms;
    return mortise_run_step(w->run, &in, &w->actions, &err);
}

static int give_result(struct stingy *w, const struct mortise_run_call *c)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    in.u.result =
        (struct mortise_result_in){.call = c->id,
                                   .output = c->body,
                                   .violation = c->kind == MORTISE_RUN_CHECK,
                                   .message = "m",
                                   .error_code = "",
                                   .error_class = ""};
    return feed(w, in);
}

static int carry_on(struct stingy *w, int rv)
{
    for (size_t i = 0; rv == MORTISE_OK && i < w->actions.n; i++) {
        struct mortise_action *a = &w->actions.list[i];

        if (a->kind == MORTISE_ACT_COMMIT) {
            keep_commit(w, &a->u.commit);
            rv = feed(w, (struct mortise_input){.kind = MORTISE_IN_SYNCED,
                                                .u.seq = a->u.commit.seq});
        } else if (a->kind == MORTISE_ACT_CALL) {
            rv = give_result(w, &a->u.call);
        }
    }
    mortise_actions_clear(&w->actions);
    return rv;
}

static int order(struct stingy *w, struct mortise_command c)
{
    struct mortise_input in = {.kind = MORTISE_IN_COMMAND};
    struct mortise_run_command read;
    int rv;

    ck_assert_int_eq(mortise_command_read(&read, &c, &err), MORTISE_OK);
    in.u.command.list = &read;
    in.u.command.n = 1;
    in.u.command.actor = "ann";
    rv = carry_on(w, feed(w, in));
    json_decref(read.value);
    return rv;
}

static int die_and_rise(struct stingy *w)
{
    int rv;

    mortise_run_free(w->run);
    rv = mortise_run_replay(&w->run, &test_mem, w->graph, "t", "r", NULL, NULL,
                            &err);
    for (size_t i = 0; rv == MORTISE_OK && i < w->n_commits; i++)
        rv = mortise_run_apply(w->run, w->commits[i].seq, w->commits[i].time_ms,
                               w->commits[i].id, w->commits[i].entries,
                               w->commits[i].size, &err);
    if (rv == MORTISE_OK)
        mortise_run_watch(w->run, true);
    return rv == MORTISE_OK ? carry_on(w, feed(w,
                                               (struct mortise_input){
                                                   .kind = MORTISE_IN_RECOVER}))
                            : rv;
}

static int live_through(struct stingy *w)
{
    struct mortise_admission adm = {
        .tenant = "t", .run = "r", .actor = "x", .seed = {1}};
    int rv;

    adm.input = json_pack("{s:i}", "v", 1);
    rv = mortise_run_admit(&w->run, &test_mem, w->graph, &adm, 1, &w->actions,
                           &err);
    json_decref(adm.input);
    if (rv == MORTISE_OK)
        mortise_run_watch(w->run, true);
    rv = carry_on(w, rv);
    if (rv == MORTISE_OK) /* to its plan */
        rv = order(w, (struct mortise_command)ANSWER(w->requests[0]));
    if (rv == MORTISE_OK)
        rv = order(w, (struct mortise_command)MERGE(
                          "{\"scratch\": {\"log\": [\"u\"], \"v\": 2}}"));
    if (rv == MORTISE_OK)
        rv = die_and_rise(w);
    for (size_t i = 3; rv == MORTISE_OK && i < 5; i++) {
        rv = order(w, (struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                               .id = w->requests[i],
                                               .decision = "approve",
                                               .json = "{\"l\": \"x\"}"});
        if (rv == MORTISE_EMISMATCH) /* that one is the person's */
            rv = order(w, (struct mortise_command)ANSWER(w->requests[i]));
    }
    for (int i = 0; rv == MORTISE_OK && i < 2; i++)
        rv = order(w, (struct mortise_command)RESUME);
    if (rv == MORTISE_OK) {
        ck_assert_int_eq(mortise_run_status(w->run), MORTISE_RUN_COMPLETED);
        rv = order(w, (struct mortise_command)GOTO("h"));
    }
    if (rv == MORTISE_OK)
        rv = die_and_rise(w);
    if (rv == MORTISE_OK)
        rv = order(w, (struct mortise_command){.kind = MORTISE_CMD_CANCEL,
                                               .reason = "enough"});
    if (rv == MORTISE_OK)
        ck_assert_int_eq(mortise_run_status(w->run), MORTISE_RUN_CANCELLED);
    return rv;
}

/* Whatever allocation fails in a life full of commands and deaths, that is
 * what is said; nobody takes it for a failure of a node. */
START_TEST(memory_runs_out_anywhere)
{
    bool failed = true;

    for (int n = 0; failed; n++) {
        struct stingy w = {.graph = sim_graph(everything), .now_ms = 1};
        int rv;

        mortise_actions_init(&w.actions, &test_mem);
        test_mem_fail_at(n);
        rv = live_through(&w);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_msg(rv == (failed ? MORTISE_ENOMEM : MORTISE_OK),
                      "allocation %d: %d: %s", n, rv, err.msg);
        mortise_run_free(w.run);
        mortise_actions_finish(&w.actions);
        mortise_graph_unref(w.graph);
        for (size_t i = 0; i < w.n_commits; i++)
            free(w.commits[i].entries);
    }
}
END_TEST

/* ---- records that were tampered with ------------------------------------- */

static int ignore(void *ud, json_t *event)
{
    (void)ud;
    (void)event;
    return 0;
}

/* Whatever a byte of a record becomes, replaying, showing and going on either
 * works or is refused. */
START_TEST(no_byte_of_a_record_is_trusted)
{
    uint32_t seed = 7;
    static const struct mortise_command both[2] = {
        UPDATE("{\"scratch\": {\"x\": 3}}"), RESUME};

    run_plain(HEAD "hitl_mode: approve_tools\n"
                   "interrupt_before: [b]\n"
                   "interrupt_after: [b]\n"
                   "start: [a, h]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/write, args: {v: 1}, next: b}\n"
                   "  b: {type: router, condition: \"'c'\", targets: [c]}\n"
                   "  c: {type: guardrail, guardrails: [bad], next: d}\n"
                   "  d: {type: tool, tool: t/fail}\n"
                   "  h: {type: human, prompt: hm?}\n",
              "{\"x\": {\"y\": [1, 2]}}");
    ck_assert_int_eq(ONE(ANSWER(sim_request(&s, "START"))), MORTISE_OK);
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_APPROVE_TOOL,
                          .id = sim_request(&s, "a"),
                          .decision = "approve"}),
                     MORTISE_OK);
    ck_assert_int_eq(command(both, 2), MORTISE_OK);
    ck_assert_int_eq(ONE(RESUME), MORTISE_OK);
    ck_assert_int_eq(ONE(ANSWER(sim_request(&s, "h"))), MORTISE_OK);
    ck_assert_int_eq(ONE({.kind = MORTISE_CMD_APPROVE_TOOL,
                          .id = sim_request(&s, "d"),
                          .decision = "approve"}),
                     MORTISE_OK);
    ck_assert_int_eq(ONE(GOTO("b")), MORTISE_OK);
    for (int i = 0; i < 5000; i++) {
        size_t at = sim_random(&seed) % s.n_commits, byte;
        struct mortise_actions actions;
        struct mortise_input in = {.kind = MORTISE_IN_RECOVER, .now_ms = 1};
        struct mortise_run *r;
        char keep;
        int rv = MORTISE_OK;

        byte = sim_random(&seed) % s.commits[at].size;
        keep = s.commits[at].entries[byte];
        s.commits[at].entries[byte] =
            (char)(sim_random(&seed) % 2 ? keep ^ (1 << sim_random(&seed) % 8)
                                         : (int)(sim_random(&seed) % 16));
        mortise_run_replay(&r, &test_mem, s.graph, "default", "run-1", ignore,
                           NULL, &err);
        for (size_t k = 0; rv == MORTISE_OK && k < s.n_commits; k++) {
            rv = mortise_run_apply(r, s.commits[k].seq, s.commits[k].time_ms,
                                   s.commits[k].id, s.commits[k].entries,
                                   s.commits[k].size, &err);
            ck_assert_msg(rv == MORTISE_OK || rv == MORTISE_ECORRUPT ||
                              rv == MORTISE_EFORMAT, /* rules to come */
                          "%d: %s", rv, err.msg);
        }
        mortise_actions_init(&actions, &test_mem);
        if (rv == MORTISE_OK) {
            json_decref(mortise_run_show(r, NULL));
            mortise_run_step(r, &in, &actions, &err);
        }
        mortise_actions_finish(&actions);
        mortise_run_free(r);
        s.commits[at].entries[byte] = keep;
    }
    end();
}
END_TEST

/* A run of other rules than this program's is refused, in words; one whose rules
 * are missing is no journal. */
START_TEST(other_rules_are_refused)
{
    const char ours[] = {MORTISE_E_RULES, MORTISE_RULES};
    struct mortise_run *r;
    char *at;

    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/read, next: END}\n",
              "{}");
    at = memmem(s.commits[0].entries, s.commits[0].size, ours, sizeof ours);
    ck_assert_ptr_nonnull(at);
    for (int rules = 0; rules < 4; rules++) {
        at[1] = (char)rules;
        mortise_run_replay(&r, &test_mem, s.graph, "default", "run-1", ignore,
                           NULL, &err);
        ck_assert_int_eq(mortise_run_apply(r, 1, 1, s.commits[0].id,
                                           s.commits[0].entries,
                                           s.commits[0].size, &err),
                         rules == 0               ? MORTISE_ECORRUPT
                         : rules == MORTISE_RULES ? MORTISE_OK
                                                  : MORTISE_EFORMAT);
        if (rules > MORTISE_RULES)
            ck_assert_ptr_nonnull(strstr(err.msg, "supports only version 1"));
        mortise_run_free(r);
    }
    at[1] = MORTISE_RULES;
    mortise_run_replay(&r, &test_mem, s.graph, "default", "run-1", ignore, NULL,
                       &err);
    ck_assert_int_eq(
        mortise_run_apply(r, 1, 1, s.commits[0].id, at + 18,
                          s.commits[0].size - 18 -
                              (size_t)(at - (char *)s.commits[0].entries),
                          &err),
        MORTISE_ECORRUPT);
    mortise_run_free(r);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run: review");
    TCase *tc = tcase_create("review");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, one_doubt_is_resolved_once);
    tcase_add_test(tc, a_merge_beside_an_answer_holds_or_is_refused);
    tcase_add_test(tc, no_decision_is_none_on_a_finished_run);
    tcase_add_test(tc, cancel_ends_a_run_that_stands);
    tcase_add_test(tc, resume_leaves_a_mended_failure_alone);
    tcase_add_test(tc, update_does_not_forget_what_follows_a_failure);
    tcase_add_test(tc, what_a_pause_holds_back_sees_the_update);
    tcase_add_test(tc, what_a_join_holds_back_sees_the_update);
    tcase_add_test(tc, an_update_settles_a_conflict);
    tcase_add_test(tc, required_is_checked_at_the_end);
    tcase_add_test(tc, update_and_resume_pass_a_pause);
    tcase_add_test(tc, merged_names_are_names);
    tcase_add_test(tc, merge_finds_deep_reducers);
    tcase_add_loop_test(tc, a_write_is_not_stopped_for_a_goto, 0, 2);
    tcase_add_test(tc, a_stopped_write_has_answered);
    tcase_add_test(tc, an_intent_is_not_carried_out_for_nothing);
    tcase_add_test(tc, an_acknowledged_write_is_not_repeated);
    tcase_add_test(tc, other_arguments_are_another_effect);
    tcase_add_test(tc, a_handled_failure_is_behind_us);
    tcase_add_test(tc, an_unresponsive_write_is_in_doubt);
    tcase_add_loop_test(tc, an_unresponsive_write_heeds_its_author, 0, 4);
    tcase_add_test(tc, results_are_typed_by_their_schema);
    tcase_add_test(tc, attempts_are_in_scope);
    tcase_add_test(tc, done_is_without_error);
    tcase_add_test(tc, a_failing_error_value_says_both);
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, an_idle_guardrail_writes_nothing);
    tcase_add_test(tc, a_root_stays_an_object);
    tcase_add_test(tc, a_confused_reconcile_settles_nothing);
    tcase_add_test(tc, large_graphs_are_no_matter);
    tcase_add_test(tc, a_late_success_counts_while_cancelling);
    tcase_add_test(tc, permanent_errors_retry_by_code);
    tcase_add_test(tc, only_its_own_sync_starts_an_effect);
    tcase_add_test(tc, what_a_goto_passed_by_is_skipped);
    tcase_add_test(tc, events_have_no_empty_members);
    tcase_add_loop_test(tc, whatever_happens_replay_is_the_run, 0, 4);
    tcase_add_test(tc, memory_runs_out_anywhere);
    tcase_add_test(tc, no_byte_of_a_record_is_trusted);
    tcase_add_test(tc, other_rules_are_refused);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
