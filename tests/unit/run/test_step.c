/* test_step.c -- the journal inside an execution: what an executor asked is
 * neither lost nor done twice, whatever dies in between. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/script.h"
#include "lib/sim.h"
#include "lib/test.h"
#include "mortise/plugin.h"
#include "core/run/record/journal.h"

static struct sim s;
static struct mortise_err err;

/* A graph of one node, `a`, of operation t/OP, that asks these (an ASK of
 * script.h each, ' for "). */
static void begin(const char *op, const char *more, const char *asks)
{
    char yaml[8192];

    snprintf(yaml, sizeof yaml,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/%s, args: {asks: [%s]%s}, next: END}\n",
             op, asks, more);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    ck_assert(sim_sync_one(&s)); /* a run is announced once it is on disk */
}

static void assert_status(int status)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
}

/* The record of the node's one execution. */
static json_t *record(json_t **show)
{
    *show = sim_show(&s);
    return json_array_get(json_object_get(*show, "nodes"), 0);
}

static void assert_output(const char *want)
{
    json_t *show, *x = record(&show);
    char *have =
        json_dumps(json_object_get(x, "output"), JSON_COMPACT | JSON_SORT_KEYS);

    ck_assert_ptr_nonnull(have);
    ck_assert_str_eq(have, want);
    free(have);
    json_decref(show);
}

static void assert_error(const char *code, const char *words)
{
    json_t *show, *x = record(&show), *e = json_object_get(x, "error");

    ck_assert_str_eq(json_string_value(json_object_get(e, "code")), code);
    ck_assert_msg(
        strstr(json_string_value(json_object_get(e, "message")), words) != NULL,
        "%s", json_string_value(json_object_get(e, "message")));
    json_decref(show);
}

static int command(struct mortise_command c)
{
    int rv;

    c.size = sizeof c;
    rv = sim_command(&s, &c, 1, 0, "ann", &err);
    if (rv == MORTISE_OK)
        sim_run_plain(&s);
    return rv;
}

static int answer(const char *id, const char *json)
{
    return command((struct mortise_command){
        .kind = MORTISE_CMD_ANSWER, .id = id, .json = json});
}

static int resume(void)
{
    return command((struct mortise_command){.kind = MORTISE_CMD_RESUME});
}

static void end(void)
{
    sim_finish(&s);
}

/* The id of the pending request whose prompt is this. */
static const char *asked(const char *prompt)
{
    const char *id;
    json_t *p;

    json_object_foreach(s.pending, id, p)
    {
        const char *is = json_string_value(json_object_get(p, "prompt"));

        if (is != NULL && strcmp(is, prompt) == 0)
            return id;
    }
    ck_abort_msg("nobody asks: %s", prompt);
}

#define READ(n)   "{method: r, kind: read, body: {n: " #n "}}"
#define LOOK(n)   "{method: l, kind: look, body: {n: " #n "}}"
#define EFFECT(n) "{method: e, kind: effect, body: {n: " #n "}}"
#define ASK(q)    "{method: q, kind: question, body: {prompt: " #q "}}"
#define DID(n)    "{\"did\":{\"n\":" #n "}}"

/* ---- what was answered comes back ---------------------------------------- */

/* Undisturbed: each ask is performed and answered, in its order. */
START_TEST(asks_are_answered)
{
    begin("does", "", READ(1) ", " EFFECT(2) ", " LOOK(3));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) "," DID(2) "," DID(3) "]");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* The process dies after any number of things that happened, an idempotent
 * effect under way or not: the run ends as if nobody had died, and nothing was
 * done twice. */
START_TEST(killed_anywhere_it_goes_on)
{
    static const char asks[] =
        EFFECT(1) ", " READ(2) ", " EFFECT(3) ", " LOOK(4) ", " EFFECT(5);
    uint32_t seed = (uint32_t)_i;
    bool more = true;

    for (int until = 0; more; until++) {
        begin("does_idem", _i % 2 == 0 ? "" : ", at_once: true", asks);
        for (int i = 0; i < until && more; i++)
            more = (i % 3 == 0 && sim_sync_one(&s)) || sim_end_ask(&s, 0) ||
                   sim_end_call(&s, 0) || sim_sync_one(&s);
        sim_crash(&s, &seed);
        if (s.run != NULL && s.n_commits > 0) {
            sim_recover(&s);
            sim_run(&s, &seed);
            assert_status(MORTISE_RUN_COMPLETED);
            assert_output(
                "[" DID(1) "," DID(2) "," DID(3) "," DID(4) "," DID(5) "]");
            ck_assert_int_eq(sim_effect_count(&s, "a"), 3);
        }
        end();
    }
}
END_TEST

/* An effect that can be neither repeated nor looked for leaves its step in
 * doubt when the process dies over it; what was answered before is not asked
 * for again. */
START_TEST(an_effect_under_way_is_in_doubt)
{
    uint32_t seed = 1;
    const char *id;

    begin("does", "", EFFECT(1) ", " EFFECT(2));
    while (sim_effect_count(&s, "a") < 1)
        ck_assert(sim_sync_one(&s) || sim_end_ask(&s, 0));
    while (sim_sync_one(&s)) /* the second intent is on disk, and it is out */
        continue;
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    id = sim_request(&s, "a");
    ck_assert_ptr_nonnull(id);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                         .id = id,
                                         .decision = "done",
                                         .json = "{\"seen\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) ",{\"seen\":true}]");
    end();
}
END_TEST

/* ... and `retry` does that one step again, and only that. */
START_TEST(a_step_in_doubt_is_retried_alone)
{
    uint32_t seed = 2;
    int before;

    begin("does", "", EFFECT(1) ", " EFFECT(2));
    while (sim_effect_count(&s, "a") < 1)
        ck_assert(sim_sync_one(&s) || sim_end_ask(&s, 0));
    while (sim_sync_one(&s))
        continue;
    sim_crash(&s, &seed);
    before = sim_effect_count(&s, "a");
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                         .id = sim_request(&s, "a"),
                                         .decision = "retry"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) "," DID(2) "]");
    ck_assert_int_eq(sim_effect_count(&s, "a"), before + 1);
    end();
}
END_TEST

/* A new attempt has an empty journal, but what happened in the world it is told
 * of instead of doing it again. */
START_TEST(a_retry_repeats_no_effect)
{
    begin("does", "",
          EFFECT(1) ", {method: e, kind: effect, body: {n: 2}, fail: broken}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    end();
}
END_TEST

/* The same effect asked for several times in one execution happens as often:
 * the occurrence is part of what it is, to who knows its keys, too. */
START_TEST(the_same_ask_again_is_another)
{
    begin("does_idem", "", EFFECT(1) ", " EFFECT(1) ", " EFFECT(1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 3);
    end();
}
END_TEST

/* What has a name of its own does not count among its equals: whether it was
 * asked for before them is nobody's promise. */
START_TEST(a_named_effect_is_like_no_other)
{
    uint32_t seed = 7;

    begin("does", "",
          "{method: e, kind: effect, key: k, body: {n: 2}, then: {n: "
          "1}}, " EFFECT(
              1) ", {method: r, kind: read, body: {n: 2}, fail: broken}");
    sim_run_plain(&s);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    sim_crash(&s, &seed);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 3);
    end();
}
END_TEST

/* ---- what a plugin keeps --------------------------------------------------
 */

#define PUT(k, v) "{method: p, kind: put, body: {key: " #k ", value: " #v "}}"
#define DROP(k)   "{method: p, kind: put, body: {key: " #k "}}"
#define GET(k)    "{method: g, kind: get, body: {key: " #k "}}"

/* How often was it put, in commits that are on disk? */
static size_t puts_of(const char *key)
{
    size_t n = 0, k;
    json_t *kv;

    for (size_t i = 0; i < s.n_synced; i++) {
        json_array_foreach(s.commits[i].kvs, k, kv)
        {
            n +=
                strcmp(json_string_value(json_object_get(kv, "key")), key) == 0;
        }
    }
    return n;
}

static size_t answers_so_far(void)
{
    return s.calls[0].script.replied;
}

/* What is put is kept when the asker hears of it, and not gone before a put
 * says so. */
START_TEST(what_is_put_is_kept)
{
    begin("ask", "",
          GET(a) ", " PUT(a, 1) ", " GET(a) ", " PUT(a, null) ", " GET(
              a) ", " DROP(a) ", " GET(a));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"found\":false},null,{\"found\":true,\"value\":1},null,"
                  "{\"found\":true,\"value\":null},null,{\"found\":false}]");
    ck_assert_ptr_null(sim_kept(&s, "t", "a"));
    end();
}
END_TEST

/* A put is answered by the sync of its commit and by nothing before. */
START_TEST(a_put_is_answered_from_disk)
{
    begin("ask", "", PUT(a, 1) ", " READ(1));
    while (s.n_calls == 0)
        ck_assert(sim_sync_one(&s));
    while (s.n_synced + 1 < s.n_commits)
        sim_sync_one(&s);
    ck_assert_uint_eq(answers_so_far(), 0);
    ck_assert(!mortise_run_is_replaying(s.run, s.calls[0].call.id));
    ck_assert(!sim_end_ask(&s, 0)); /* there is nothing to perform */
    ck_assert_ptr_null(sim_kept(&s, "t", "a"));
    ck_assert(sim_sync_one(&s));
    ck_assert_ptr_nonnull(sim_kept(&s, "t", "a"));
    ck_assert_uint_eq(answers_so_far(), 1);
    end();
}
END_TEST

/* A get that is asked for while a put is on its way sees it. */
START_TEST(a_get_sees_puts_on_their_way)
{
    begin("ask", ", at_once: true",
          PUT(a, 1) ", " GET(a) ", " PUT(a, 2) ", " GET(a));
    while (s.n_calls == 0)
        ck_assert(sim_sync_one(&s));
    ck_assert(!sim_end_ask(&s, 0)); /* nothing looks before they are there */
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[null,{\"found\":true,\"value\":2},null,"
                  "{\"found\":true,\"value\":2}]");
    end();
}
END_TEST

/* The process dies after any number of things that happened: what was put is
 * there when its answer is, and is not put again by the one who goes on. */
START_TEST(killed_anywhere_a_put_is_put_once)
{
    static const char asks[] = PUT(a, 1) ", " READ(2) ", " PUT(b, 3) ", " GET(
        a) ", " PUT(a, 4) ", " GET(a);
    uint32_t seed = 5;
    bool more = true;

    for (int until = 0; more; until++) {
        begin("ask", _i == 0 ? "" : ", at_once: true", asks);
        for (int i = 0; i < until && more; i++)
            more = (i % 3 == 0 && sim_sync_one(&s)) || sim_end_ask(&s, 0) ||
                   sim_end_call(&s, 0) || sim_sync_one(&s);
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run(&s, &seed);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_uint_eq(puts_of("a"), 2);
        ck_assert_uint_eq(puts_of("b"), 1);
        ck_assert_int_eq(json_integer_value(sim_kept(&s, "t", "a")), 4);
        if (_i == 0)
            assert_output("[null," DID(2) ",null,{\"found\":true,\"value\":1},"
                                          "null,{\"found\":true,\"value\":4}]");
        end();
    }
}
END_TEST

/* A put that is refused, since there is no room, puts nothing; and it was
 * refused whenever the call is entered again, also when there is room by then.
 */
START_TEST(a_refused_put_stays_refused)
{
    uint32_t seed = 7;

    for (int until = 2; until < 9; until++) {
        begin("ask", "",
              "{method: p, kind: put, body: {key: a, value: 1}, refused: full},"
              " " READ(1) ", " PUT(b, 2));
        for (int i = 0; i < until; i++)
            if (!sim_end_ask(&s, 0))
                sim_sync_one(&s);
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run(&s, &seed);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_output("[{\"status\":-4}," DID(1) ",null]");
        ck_assert_uint_eq(puts_of("a"), 0);
        ck_assert_uint_eq(puts_of("b"), 1);
        end();
    }
}
END_TEST

/* A new attempt puts again: what others put in between is none of its. */
START_TEST(a_retry_puts_again)
{
    begin("ask", "",
          PUT(a, 1) ", {method: r, kind: read, body: {n: 2}, fail: broken}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_uint_eq(puts_of("a"), 1);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_uint_eq(puts_of("a"), 2);
    end();
}
END_TEST

/* Putting something else when it is entered again breaks the one rule, and
 * changes nothing. */
START_TEST(another_value_is_a_violation)
{
    uint32_t seed = 6;

    begin("ask", "",
          "{method: p, kind: put, body: {key: a, value: 1}, then: {key: a, "
          "value: 2}}, " READ(1));
    while (answers_so_far() == 0)
        ck_assert(sim_sync_one(&s));
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_error("determinism", "different arguments");
    ck_assert_int_eq(json_integer_value(sim_kept(&s, "t", "a")), 1);
    end();
}
END_TEST

/* Whatever allocation fails as something is put, that is what is said. */
START_TEST(putting_survives_oom)
{
    int rv = MORTISE_ENOMEM;

    for (int n = 0; rv != MORTISE_OK; n++) {
        struct mortise_input in = {.kind = MORTISE_IN_ASK};

        begin("ask", "", "");
        while (s.n_calls == 0)
            ck_assert(sim_sync_one(&s));
        in.now_ms = s.now_ms;
        in.u.ask = (struct mortise_ask_in){
            .call = s.calls[0].call.id,
            .ask = 1,
            .kind = MORTISE_STEP_PUT,
            .method = "p",
            .key = "",
            .body = json_pack("{s:s, s:[i]}", "key", "a", "value", 1)};
        test_mem_fail_at(n);
        rv = mortise_run_step(s.run, &in, &s.actions, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        test_mem_fail_at(-1);
        json_decref(in.u.ask.body);
        ck_assert(rv != MORTISE_OK || n > 5);
        if (rv == MORTISE_OK)
            ck_assert_uint_eq(s.actions.list[0].u.commit.n_kvs, 1);
        end();
    }
}
END_TEST

/* ---- what guardrails ask --------------------------------------------------- */

/* A graph of one node, `a`, of operation t/OP, whose guardrail `judge` asks
 * these of the arguments, and offers the answers in their place. */
static void begin_judged(const char *op, const char *how, const char *asks)
{
    char yaml[8192];

    snprintf(yaml, sizeof yaml,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/%s, args: {asks: [%s]}, next: END,\n"
             "      guardrail_policy: {input: [judge], on_violation: %s}}\n",
             op, asks, how);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    ck_assert(sim_sync_one(&s));
}

/* It gets answers as an executor does, by order or by name, one after the other
 * or at once. */
START_TEST(a_guardrail_asks)
{
    begin_judged(
        "echo", "sanitize",
        READ(1) ", {method: r, kind: read, key: x, body: {n: 2}}, " LOOK(
            3) ", {method: g, kind: get, body: {key: k}}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) "," DID(2) "," DID(3) ",{\"found\":false}]");
    end();
}
END_TEST

/* The process dies after any number of things that happened: the check is made
 * again and comes to the same. */
START_TEST(killed_anywhere_a_check_goes_on)
{
    uint32_t seed = (uint32_t)_i;
    bool more = true;

    for (int until = 0; more; until++) {
        begin_judged("echo", "sanitize",
                     READ(1) ", " LOOK(2) ", " READ(3) ", " READ(4));
        for (int i = 0; i < until && more; i++)
            more = (i % 3 == _i && sim_sync_one(&s)) || sim_end_ask(&s, 0) ||
                   sim_end_call(&s, 0) || sim_sync_one(&s);
        sim_crash(&s, &seed);
        if (s.run != NULL && s.n_commits > 0) {
            sim_recover(&s);
            sim_run(&s, &seed);
            assert_status(MORTISE_RUN_COMPLETED);
            assert_output("[" DID(1) "," DID(2) "," DID(3) "," DID(4) "]");
        }
        end();
    }
}
END_TEST

static int performed(void)
{
    int n = 0;

    for (;;) {
        if (sim_end_ask(&s, 0))
            n++;
        else if (!sim_sync_one(&s) && !sim_end_call(&s, 0))
            return n;
    }
}

/* What it was told before is not asked again. */
START_TEST(a_check_is_told_the_same)
{
    uint32_t seed = 1;

    begin_judged("echo", "sanitize", READ(1) ", " READ(2) ", " READ(3));
    for (int i = 0; i < 2; i++) {
        while (!sim_end_ask(&s, 0))
            ck_assert(sim_sync_one(&s));
        while (sim_sync_one(&s))
            continue;
    }
    sim_crash(&s, &seed);
    sim_recover(&s);
    ck_assert_int_eq(performed(), 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) "," DID(2) "," DID(3) "]");
    end();
}
END_TEST

/* A check and the executor behind it ask the same in the same order: neither is
 * told what the other was, nor misses it. */
START_TEST(a_check_and_its_node_do_not_mix)
{
    uint32_t seed = (uint32_t)_i;
    bool more = true;

    for (int until = 0; more; until++) {
        begin_judged("ask", "warn", READ(1) ", " READ(2));
        for (int i = 0; i < until && more; i++)
            more =
                sim_sync_one(&s) || sim_end_ask(&s, 0) || sim_end_call(&s, 0);
        if (!more)
            ck_assert_int_ge(until, 10);
        sim_crash(&s, &seed);
        if (s.run != NULL && s.n_commits > 0) {
            sim_recover(&s);
            sim_run(&s, &seed);
            assert_status(MORTISE_RUN_COMPLETED);
            assert_output("[" DID(1) "," DID(2) "]");
        }
        end();
    }
}
END_TEST

/* One that asks something else when it is made again did not pass, and says
 * why; the node behind it goes on where that is a warning. */
START_TEST(a_check_keeps_to_the_rule_too)
{
    static const char asks[] = "{method: r, kind: read, body: {n: 1}, "
                               "then: {n: 9}}, " READ(2);
    uint32_t seed = 1;

    begin_judged("echo", _i == 0 ? "block" : "warn", asks);
    while (!sim_end_ask(&s, 0))
        ck_assert(sim_sync_one(&s));
    while (sim_sync_one(&s))
        continue;
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(_i == 0 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
    if (_i == 0)
        assert_error("guardrail", "E_DETERMINISM: step 0 of 'a', r,");
    end();
}
END_TEST

/* It may read, and no more: what changes the world, or waits for somebody or
 * for a time, is refused; and it goes on. */
START_TEST(a_guardrail_only_reads)
{
    static const struct {
        enum mortise_step_kind kind;
        int32_t status;
    } refused[] = {{MORTISE_STEP_PUT, MORTISE_S_DENIED},
                   {MORTISE_STEP_EFFECT, MORTISE_S_DENIED},
                   {MORTISE_STEP_REPEAT, MORTISE_S_DENIED},
                   {MORTISE_STEP_QUESTION, MORTISE_S_UNSUPPORTED},
                   {MORTISE_STEP_TIMER, MORTISE_S_UNSUPPORTED}};
    struct mortise_input in = {.kind = MORTISE_IN_ASK};
    struct sim_call *c = &s.calls[0];

    sim_init(&s, sim_graph("apiVersion: mortise/v1\nkind: Graph\n"
                           "metadata: {name: g, version: 1.0.0}\n"
                           "start: a\n"
                           "nodes:\n"
                           "  a: {type: guardrail, guardrails: [ok], target: "
                           "scratch, next: END}\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    while (s.n_calls == 0)
        ck_assert(sim_sync_one(&s));
    ck_assert_int_eq(c->call.kind, MORTISE_RUN_CHECK);
    c->script.n = c->script.issued = 1;
    c->script.answers = json_pack("[n]");
    s.asks[s.n_asks++] = (struct sim_ask){.call = c->call.id, .id = 1};
    in.u.ask = (struct mortise_ask_in){.call = c->call.id,
                                       .ask = 1,
                                       .kind = refused[_i].kind,
                                       .method = "p",
                                       .key = "",
                                       .body = json_pack("{s:s}", "key", "a")};
    sim_feed(&s, &in);
    json_decref(in.u.ask.body);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_array_get(c->script.answers, 0), "status")),
                     refused[_i].status);
    json_decref(c->script.answers);
    c->script.answers = NULL;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(puts_of("a"), 0);
    end();
}
END_TEST

/* In a store that was tampered with: what no check can have asked, or done, is
 * refused. */
START_TEST(odd_answers_are_corrupt)
{
    static const char scope[] = "0123456789abcdef0123456789abcdef"
                                "0123456789abcdef0123456789abcdef";
    static const struct {
        uint32_t ordinal;
        const char *key;
        uint8_t completed;
        int rv;
    } said[] = {{0, scope, 0, MORTISE_OK},
                {0, "", 0, MORTISE_OK},
                {0, scope, 1, MORTISE_ECORRUPT},
                {0, "short", 0, MORTISE_ECORRUPT},
                {MORTISE_STEP_UNORDERED, "", 0, MORTISE_ECORRUPT}};
    struct mortise_entry e = {.type = MORTISE_E_ANSWER,
                              .node = 0,
                              .visit = 1,
                              .generation = 1,
                              .attempt = 1,
                              .ordinal = said[_i].ordinal,
                              .key = said[_i].key,
                              .method = "r",
                              .how = said[_i].completed};
    struct mortise_uuid id = {{7}};
    struct mortise_buf b;
    struct mortise_run *r;

    begin_judged("echo", "warn", "");
    ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s.graph, "default",
                                        "run-1", NULL, NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_run_apply(r, s.commits[0].seq,
                                       s.commits[0].time_ms, s.commits[0].id,
                                       s.commits[0].entries, s.commits[0].size,
                                       &err),
                     MORTISE_OK);
    mortise_buf_init(&b, &test_mem);
    e.value = json_integer(1);
    mortise_entry_write(&b, &e);
    json_decref(e.value);
    ck_assert_int_eq(mortise_run_apply(r, s.commits[0].seq + 1, s.now_ms, id,
                                       b.p, b.n, &err),
                     said[_i].rv);
    mortise_buf_finish(&b);
    mortise_run_free(r);
    end();
}
END_TEST

/* Its asks cope with running out of memory: none is lost. */
START_TEST(a_check_survives_oom)
{
    int rv = MORTISE_ENOMEM;

    for (int n = 0; rv != MORTISE_OK; n++) {
        struct mortise_input in = {.kind = MORTISE_IN_ASK};

        begin_judged("echo", "warn", "");
        while (s.n_calls == 0)
            ck_assert(sim_sync_one(&s));
        in.now_ms = s.now_ms;
        in.u.ask = (struct mortise_ask_in){.call = s.calls[0].call.id,
                                           .ask = 1,
                                           .kind = MORTISE_STEP_READ,
                                           .method = "r",
                                           .key = "",
                                           .body = json_pack("{s:i}", "n", 1)};
        test_mem_fail_at(n);
        rv = mortise_run_step(s.run, &in, &s.actions, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        test_mem_fail_at(-1);
        json_decref(in.u.ask.body);
        ck_assert(rv != MORTISE_OK || n > 3);
        if (rv == MORTISE_OK)
            ck_assert_int_eq(s.actions.list[0].kind, MORTISE_ACT_PERFORM);
        end();
    }
}
END_TEST

/* ---- the executor's one rule --------------------------------------------- */

static void die_after_first_answer(void)
{
    uint32_t seed = 3;

    while (sim_effect_count(&s, "a") < 1)
        ck_assert(sim_sync_one(&s) || sim_end_ask(&s, 0));
    while (sim_sync_one(&s))
        continue;
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
}

/* Entered again, it asks for something else: said loudly, and nothing more is
 * done. */
START_TEST(other_arguments_are_a_violation)
{
    begin("does_idem", "",
          "{method: e, kind: effect, body: {n: 1}, then: {n: 2}}, " ASK(go));
    die_after_first_answer();
    assert_status(MORTISE_RUN_FAILED);
    assert_error("determinism", "E_DETERMINISM: step 0 of 'a', e, has "
                                "different arguments after the re-entry");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Two asks under one key are a mistake that is said at once; the first is
 * answered all the same. */
START_TEST(a_key_names_one_step)
{
    begin("ask", ", at_once: true",
          "{method: r, kind: read, body: {n: 1}, key: k}, "
          "{method: r, kind: read, body: {n: 2}, key: k}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) ",{\"status\":-2}]");
    end();
}
END_TEST

/* ---- questions -------------------------------------------------------------
 */

/* A question waits on disk; what was done before it is not done again when its
 * answer comes, to another process. */
START_TEST(a_question_waits_and_is_answered)
{
    uint32_t seed = 4;
    const char *id;

    begin("does", "", EFFECT(1) ", " ASK(go) ", " EFFECT(2));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_uint_eq(s.n_calls, 0); /* it let go */
    sim_crash(&s, &seed);
    assert_status(MORTISE_RUN_WAITING);
    id = asked("go");
    ck_assert_int_eq(answer(id, "{\"yes\": 1}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) ",{\"yes\":1}," DID(2) "]");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    ck_assert(sim_saw(&s, "interrupt", "a"));
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

/* Several may be pending; they are answered in any order, and one that was
 * answered never fires again. */
START_TEST(questions_are_answered_in_any_order)
{
    char first[64], second[64];

    begin("ask", ", at_once: true", ASK(one) ", " READ(5) ", " ASK(two));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_uint_eq(json_object_size(s.pending), 2);
    strcpy(first, asked("one"));
    strcpy(second, asked("two"));
    ck_assert_int_eq(answer(second, "2"), MORTISE_OK);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_uint_eq(json_object_size(s.pending), 1);
    ck_assert_int_eq(answer(second, "2"), MORTISE_EMISMATCH);
    ck_assert_int_eq(answer(first, "1"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[1," DID(5) ",2]");
    end();
}
END_TEST

/* An answer that breaks the question's own schema is refused, and the question
 * is still there. */
START_TEST(an_answer_fits_its_schema)
{
    begin("ask", "",
          "{method: q, kind: question, body: {prompt: n, "
          "schema: {type: integer}}}");
    sim_run_plain(&s);
    ck_assert_int_eq(answer(asked("n"), "\"five\""), MORTISE_EINVAL);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(answer(asked("n"), "5"), MORTISE_OK);
    assert_output("[5]");
    end();
}
END_TEST

/* Nobody answers in time: the asker is told, and decides what that means. */
START_TEST(a_question_runs_out_of_time)
{
    char id[64];

    begin("ask", "",
          "{method: q, kind: question, body: {prompt: late, for_ms: 5000}}");
    while (sim_sync_one(&s) || sim_end_ask(&s, 0) || sim_end_call(&s, 0))
        continue;
    assert_status(MORTISE_RUN_WAITING);
    strcpy(id, asked("late"));
    sim_run_plain(&s); /* the deadline comes */
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"status\":-10}]");
    ck_assert_int_lt(answer(id, "1"), 0);
    end();
}
END_TEST

/* A durable sleep ends when its time has come, also where the process that
 * began it is long gone. */
START_TEST(a_timer_sleeps_through_a_crash)
{
    uint32_t seed = 5;
    uint64_t begun;

    begin("ask", "",
          READ(1) ", {method: t, kind: timer, body: {for_ms: 3600000}}");
    begun = s.now_ms;
    while (sim_sync_one(&s) || sim_end_ask(&s, 0) || sim_end_call(&s, 0))
        continue;
    assert_status(MORTISE_RUN_WAITING);
    sim_crash(&s, &seed);
    sim_recover(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_uint_eq(s.n_calls, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) ",null]");
    ck_assert_uint_ge(s.now_ms, begun + 3600000);
    end();
}
END_TEST

/* A cancelled run withdraws what its executions asked. */
START_TEST(cancelling_withdraws_questions)
{
    begin("ask", ", at_once: true", ASK(one) ", " ASK(two));
    sim_run_plain(&s);
    ck_assert_uint_eq(json_object_size(s.pending), 2);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

/* Questions, effects, reads and deaths in any mixture: the output is always the
 * same, and so is what happened. */
START_TEST(whatever_dies_the_end_is_the_same)
{
    for (uint32_t n = 0; n < 100; n++) {
        uint32_t seed = (uint32_t)_i * 100 + n;

        begin("does_idem", n % 2 == 0 ? "" : ", at_once: true",
              EFFECT(1) ", " ASK(one) ", " READ(2) ", " ASK(two) ", " EFFECT(
                  3) ", {method: t, kind: timer, body: {for_ms: 100}}");
        for (int i = 0; mortise_run_status(s.run) != MORTISE_RUN_COMPLETED;
             i++) {
            const char *id;
            json_t *p;

            ck_assert_int_lt(i, 100);
            for (uint32_t k = sim_random(&seed) % 12; k > 0; k--)
                if (!(sim_sync_one(&s) || sim_end_ask(&s, 0)))
                    sim_end_call(&s, 0);
            if (sim_random(&seed) % 2 == 0) {
                sim_crash(&s, &seed);
                sim_recover(&s);
            }
            json_object_foreach(s.pending, id, p)
            {
                if (strcmp(json_string_value(json_object_get(p, "kind")),
                           "custom") == 0 &&
                    sim_random(&seed) % 3 == 0) {
                    char copy[64];

                    strcpy(copy, id);
                    answer(copy, "7");
                    break;
                }
            }
            if (i > 20)
                sim_run(&s, &seed);
        }
        assert_output("[" DID(1) ",7," DID(2) ",7," DID(3) ",null]");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
        end();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s_ = suite_create("step");
    TCase *tc = tcase_create("step");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, asks_are_answered);
    tcase_add_loop_test(tc, killed_anywhere_it_goes_on, 0, 20);
    tcase_add_test(tc, an_effect_under_way_is_in_doubt);
    tcase_add_test(tc, a_step_in_doubt_is_retried_alone);
    tcase_add_test(tc, a_retry_repeats_no_effect);
    tcase_add_test(tc, the_same_ask_again_is_another);
    tcase_add_test(tc, a_named_effect_is_like_no_other);
    tcase_add_test(tc, what_is_put_is_kept);
    tcase_add_test(tc, a_put_is_answered_from_disk);
    tcase_add_test(tc, a_get_sees_puts_on_their_way);
    tcase_add_loop_test(tc, killed_anywhere_a_put_is_put_once, 0, 2);
    tcase_add_test(tc, a_refused_put_stays_refused);
    tcase_add_test(tc, a_retry_puts_again);
    tcase_add_test(tc, another_value_is_a_violation);
    tcase_add_test(tc, putting_survives_oom);
    tcase_add_test(tc, a_guardrail_asks);
    tcase_add_loop_test(tc, killed_anywhere_a_check_goes_on, 0, 3);
    tcase_add_test(tc, a_check_is_told_the_same);
    tcase_add_loop_test(tc, a_check_and_its_node_do_not_mix, 0, 3);
    tcase_add_loop_test(tc, a_check_keeps_to_the_rule_too, 0, 2);
    tcase_add_loop_test(tc, a_guardrail_only_reads, 0, 5);
    tcase_add_loop_test(tc, odd_answers_are_corrupt, 0, 5);
    tcase_add_test(tc, a_check_survives_oom);
    tcase_add_test(tc, other_arguments_are_a_violation);
    tcase_add_test(tc, a_key_names_one_step);
    tcase_add_test(tc, a_question_waits_and_is_answered);
    tcase_add_test(tc, questions_are_answered_in_any_order);
    tcase_add_test(tc, an_answer_fits_its_schema);
    tcase_add_test(tc, a_question_runs_out_of_time);
    tcase_add_test(tc, a_timer_sleeps_through_a_crash);
    tcase_add_test(tc, cancelling_withdraws_questions);
    tcase_add_loop_test(tc, whatever_dies_the_end_is_the_same, 0, 10);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
