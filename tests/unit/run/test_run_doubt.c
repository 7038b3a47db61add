/* test_run_doubt.c -- an effect of which nobody knows whether it happened: by a
 * crash, a lost answer, a timeout, a race.  None is done twice before somebody
 * settled the doubt (core/run/outcome/doubt.c). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/script.h"
#include "lib/sim.h"
#include "lib/test.h"
#include "mortise/plugin.h"

static struct sim s;
static struct mortise_err err;

#define HEAD                                                                   \
    "apiVersion: mortise/v1\nkind: Graph\n"                                    \
    "metadata: {name: g, version: 1.0.0}\n"

#define EFFECT(n)  "{method: e, kind: effect, body: {n: " #n "}}"
#define REPEAT(n)  "{method: e, kind: repeat, body: {n: " #n "}}"
#define READ(n)    "{method: r, kind: read, body: {n: " #n "}}"
#define ASK(q)     "{method: q, kind: question, body: {prompt: " #q "}}"
#define LOST(n, m) "{method: e, kind: effect, lost: " #m ", body: {n: " #n "}}"
#define DID(n)     "{\"did\":{\"n\":" #n "}}"

/* One node `a`, that asks these. */
static void begin(const char *op, const char *more, const char *asks)
{
    char yaml[8192];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/%s, args: {asks: [%s]}%s, next: "
                  "END}\n",
             op, asks, more);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    ck_assert(sim_sync_one(&s));
}

static void end(void)
{
    sim_finish(&s);
}

static void assert_status(int status)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
}

static void assert_output(const char *want)
{
    json_t *show = sim_show(&s);
    json_t *x = json_array_get(json_object_get(show, "nodes"), 0);
    char *have =
        json_dumps(json_object_get(x, "output"), JSON_COMPACT | JSON_SORT_KEYS);

    ck_assert_ptr_nonnull(have);
    ck_assert_str_eq(have, want);
    free(have);
    json_decref(show);
}

static void assert_error(const char *code)
{
    json_t *show = sim_show(&s);
    json_t *x = json_array_get(json_object_get(show, "nodes"), 0);
    json_t *error = json_object_get(x, "error");

    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    json_decref(show);
}

/* A member of the one request that is pending. */
static const char *asked(const char *member)
{
    const char *id;
    json_t *p;

    ck_assert_uint_eq(json_object_size(s.pending), 1);
    json_object_foreach(s.pending, id, p)
    {
        return json_string_value(json_object_get(p, member));
    }
    return NULL;
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

static void resolve(const char *how, const char *json)
{
    char id[64];

    snprintf(id, sizeof id, "%s", asked("id"));
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                         .id = id,
                                         .decision = how,
                                         .json = json}),
        MORTISE_OK);
}

static void resume(void)
{
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
        MORTISE_OK);
}

/* On until nothing can happen but that an ask or a call ends. */
static void sync_all(void)
{
    while (sim_sync_one(&s))
        continue;
}

/* The process dies, and what was under way happened or not. */
static void die(bool happens)
{
    uint32_t seed = 1;

    for (size_t i = 0; happens && i < s.n_asks; i++)
        script_happen(&s, &s.asks[i]);
    s.n_asks = 0;
    for (size_t i = 0; i < s.n_calls; i++)
        s.calls[i].call.kind = MORTISE_RUN_RECONCILE; /* no effect by itself */
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
}

/* ---- a call ------------------------------------------------------------- */

/* Each entry of a call has an intent, whatever it asks: a crash in the middle is
 * a doubt about all of it, and one question. */
START_TEST(a_call_that_asks_is_in_doubt)
{
    begin("acts", "", EFFECT(1) ", " EFFECT(2));
    sync_all();
    ck_assert(sim_end_ask(&s, 0));
    sync_all();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    die(false);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_ptr_null(asked("step"));
    ck_assert_uint_eq(
        json_array_size(json_object_get(
            json_object_get(s.pending, sim_request(&s, "a")), "open")),
        1);
    ck_assert_str_eq(asked("cause"),
                     "the process died while the effect was in flight");
    if (_i == 0) {
        resolve("done", "{\"all\": 1}");
        assert_output("{\"all\":1}");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    } else { /* what was answered is not asked for again; nor the person */
        resolve("retry", NULL);
        assert_output("[" DID(1) "," DID(2) "]");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 3);
    }
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Waiting for a person is no doubt, and to go on begins with another intent. */
START_TEST(a_suspension_closes_it)
{
    char id[64];

    begin("acts", "", EFFECT(1) ", " ASK(q) ", " EFFECT(2));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    die(false);
    assert_status(MORTISE_RUN_WAITING);
    snprintf(id, sizeof id, "%s", asked("id"));
    ck_assert_int_eq(command((struct mortise_command){
                         .kind = MORTISE_CMD_ANSWER, .id = id, .json = "7"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 3);
    end();
}
END_TEST

/* ... in the middle of which a crash is a doubt again. */
START_TEST(another_entry_is_another_intent)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_ANSWER, .json = "7"};
    char id[64];

    begin("acts", "", ASK(q) ", " READ(2));
    sim_run_plain(&s);
    snprintf(id, sizeof id, "%s", asked("id"));
    c.id = id;
    ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
    sync_all();
    ck_assert_uint_eq(s.n_calls, 1);
    die(false);
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("retry", NULL);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* The plugin speaks for the whole call: "no" has it entered again, with the
 * answers that it had, and the step in it that was under way is made again
 * without another question. */
START_TEST(no_says_the_plugin)
{
    begin("acts_rec", "", EFFECT(1) ", " EFFECT(2) "], sure: [1");
    sync_all();
    ck_assert(sim_end_ask(&s, 0));
    sync_all();
    die(false);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[" DID(1) "," DID(2) "]");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 3);
    end();
}
END_TEST

/* A timeout, a pause, whatever stops a call that then says no more than that it
 * let go: retry_policy is no way to have it done again. */
START_TEST(a_timeout_is_no_failure)
{
    begin("acts",
          ", timeout: 50ms, retry_policy: {max_attempts: 5, delay: 1ms}",
          _i == 0 ? READ(1) : EFFECT(1));
    sync_all();
    ck_assert(sim_fire_timer(&s, 0));
    ck_assert(s.calls[0].cancelled);
    if (_i == 1)
        script_happen(&s, &s.asks[0]);
    ck_assert(sim_end_call(&s, 0));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_str_eq(asked("cause"),
                     "the attempt took longer than 50 ms, its `timeout`");
    ck_assert_int_eq(sim_effect_count(&s, "a"), _i);
    resolve("done", "1");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Where the plugin can say that it did not happen, it is a failure, which is
 * tried as often as the policy says and no more. */
START_TEST(a_timeout_that_did_nothing_is_one)
{
    int entered = 0;

    begin("acts_rec",
          ", timeout: 50ms, retry_policy: {max_attempts: 3, delay: 1ms}",
          READ(1));
    sync_all();
    while (mortise_run_status(s.run) == MORTISE_RUN_RUNNING) {
        ck_assert_int_lt(entered, 10);
        if (s.n_calls == 1 && s.calls[0].call.kind == MORTISE_RUN_EXECUTE &&
            !s.calls[0].cancelled) {
            entered++;
            ck_assert(sim_fire_timer(&s, 0));
        } else if (!sim_end_call(&s, 0)) {
            ck_assert(sim_sync_one(&s) || sim_fire_timer(&s, 0));
        }
        sync_all();
    }
    assert_status(MORTISE_RUN_FAILED);
    assert_error("timeout.call");
    ck_assert_int_eq(entered, 3);
    end();
}
END_TEST

/* A plugin may say that it does not know. */
START_TEST(a_plugin_may_not_know)
{
    sim_init(&s, sim_graph(HEAD "start: a\n"
                                "nodes:\n"
                                "  a: {type: tool, tool: t/write, args: "
                                "{unsure: 1}, retry_policy: {max_attempts: 3, "
                                "retry_on: [in_doubt, transient]}}\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    resolve("done", "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- a step ------------------------------------------------------------- */

static const char *const intents[] = {"does", "acts"};

#define N_ITEMS(array) (sizeof(array) / sizeof(array)[0])

/* An answer that leaves it open what happened is none: no policy repeats it, a
 * person sees what there was to see, and says. */
START_TEST(a_lost_answer_is_in_doubt)
{
    int own = _i % 2; /* what it does by itself */

    begin(intents[_i % 2], ", retry_policy: {max_attempts: 5, delay: 1ms}",
          LOST(1, 1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert_str_eq(asked("cause"), "the wire was cut");
    ck_assert_ptr_nonnull(json_object_get(
        json_object_get(s.pending, sim_request(&s, "a")), "answer"));
    ck_assert_ptr_nonnull(json_object_get(
        json_object_get(s.pending, sim_request(&s, "a")), "step"));
    if (_i / 2 == 0) {
        resolve("done", "5");
        assert_status(MORTISE_RUN_COMPLETED);
        assert_output("[5]");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1 + own);
    } else if (_i / 2 == 1) {
        resolve("retry", NULL);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_output("[" DID(1) "]");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 2 + own);
    } else { /* the doubt stays with the failure */
        resolve("fail", NULL);
        assert_status(MORTISE_RUN_FAILED);
        assert_error("in_doubt");
        resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    }
    end();
}
END_TEST

/* After a crash, too; others of the call that were under way were heard of. */
START_TEST(a_lost_answer_stays_in_doubt)
{
    begin(intents[_i], "", LOST(1, 1));
    sim_run_plain(&s);
    die(false);
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("done", "5");
    assert_output("[5]");
    ck_assert_int_eq(sim_effect_times(&s, s.effects[0].key), 1);
    end();
}
END_TEST

/* One member of the request, as JSON text. */
static char *asked_json(const char *member)
{
    json_t *request = json_object_get(s.pending, sim_request(&s, "a"));
    const json_t *value = json_object_get(request, member);

    return value != NULL ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS |
                                                 JSON_ENCODE_ANY)
                         : NULL;
}

static bool is_asked(const char *member)
{
    char *text = asked_json(member);

    free(text);
    return text != NULL;
}

/* What a question about a step is about, and what is known of it. */
static void question(char *out, size_t size)
{
    static const char *const members[] = {
        "step",  "method", "args",   "idempotency_key",
        "cause", "answer", "schema", "open"};
    size_t n = 0;

    for (size_t i = 0; i < N_ITEMS(members); i++) {
        char *one = asked_json(members[i]);

        n += (size_t)snprintf(out + n, size - n, "%s: %s\n", members[i],
                              one != NULL ? one : "-");
        ck_assert_uint_lt(n, size);
        free(one);
    }
}

/* The same is asked, again. */
static void assert_asked(const char *want)
{
    char have[2048];

    assert_status(MORTISE_RUN_IN_DOUBT);
    question(have, sizeof have);
    ck_assert_str_eq(have, want);
}

/* Who takes a step as failed, or cancels its run, is asked about that step again
 * when it is tried again, with what was heard of it, whether the process died
 * in between or not; and it is made again under the same key. */
START_TEST(a_step_is_asked_about_again)
{
    bool dies = _i / 2 % 2 != 0, cancels = _i / 4 != 0;
    char key[80], want[2048];

    begin(intents[_i % 2], "", EFFECT(3) ", " LOST(1, 1));
    sim_run_plain(&s);
    ck_assert_str_eq(asked("cause"), "the wire was cut");
    snprintf(key, sizeof key, "%s", asked("idempotency_key"));
    question(want, sizeof want);
    for (int k = 0; k < 3; k++) {
        if (cancels)
            ck_assert_int_eq(
                command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
                MORTISE_OK);
        else
            resolve("fail", NULL);
        assert_status(cancels ? MORTISE_RUN_CANCELLED : MORTISE_RUN_FAILED);
        if (dies)
            die(false);
        resume();
        assert_asked(want);
        if (dies)
            die(false);
        assert_asked(want);
    }
    ck_assert_int_eq(sim_effect_times(&s, key), 1);
    resolve("retry", NULL);
    assert_status(cancels ? MORTISE_RUN_CANCELLED : MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_times(&s, key), cancels ? 1 : 2);
    if (!cancels) { /* and what was answered before is not asked for again */
        assert_output("[" DID(3) "," DID(1) "]");
        ck_assert_int_eq(sim_effect_count(&s, "a"), 3 + (_i % 2));
    }
    end();
}
END_TEST

/* ... also where its author had it fail. */
START_TEST(a_step_that_failed_is_asked_about)
{
    begin(intents[_i % 2], ", on_in_doubt: fail", LOST(1, 1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    if (_i / 2 != 0)
        die(false);
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_str_eq(asked("cause"), "the wire was cut");
    ck_assert_str_eq(asked("method"), "e");
    ck_assert_int_gt(sim_effect_times(&s, asked("idempotency_key")), 0);
    resolve("done", "5");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[5]");
    end();
}
END_TEST

/* What else the call waited for is asked for anew. */
START_TEST(a_kept_journal_asks_its_questions_anew)
{
    char id[64];

    begin("does", "", ASK(q) ", " LOST(1, 1) "], at_once: true, other: [1");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    for (int k = 0; k < 2; k++) {
        const char *at;
        json_t *p;

        json_object_foreach(s.pending, at, p)
        {
            if (strcmp(json_string_value(json_object_get(p, "kind")),
                       "in_doubt") == 0)
                snprintf(id, sizeof id, "%s", at);
        }
        ck_assert_uint_eq(json_object_size(s.pending), k == 0 ? 2 : 1);
        ck_assert_int_eq(command((struct mortise_command){
                             .kind = MORTISE_CMD_RESOLVE,
                             .id = id,
                             .decision = k == 0 ? "fail" : "done",
                             .json = k == 0 ? NULL : "5"}),
                         MORTISE_OK);
        if (k == 0) {
            ck_assert_uint_eq(json_object_size(s.pending), 0);
            die(false);
            resume();
        }
    }
    assert_status(MORTISE_RUN_WAITING);
    die(false);
    snprintf(id, sizeof id, "%s", asked("id"));
    ck_assert_int_eq(command((struct mortise_command){
                         .kind = MORTISE_CMD_ANSWER, .id = id, .json = "7"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[7,5]");
    die(false);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* The plugin said that it did not happen: then what was heard is the answer,
 * and an error like any. */
START_TEST(a_lost_answer_that_was_nothing)
{
    begin("does_rec", "",
          "{method: e, kind: effect, lost: 2, body: {n: 1}, fail: broken}");
    s.effects[0].lost = 1; /* the second does not happen */
    sync_all();
    strcpy(s.effects[0].key, s.asks[0].key);
    strcpy(s.effects[0].node, "a");
    s.n_effects = 1;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_error("broken");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* on_in_doubt: fail and retry.
 * key: node.on_in_doubt=retry, node.on_in_doubt=fail */
START_TEST(what_the_author_said)
{
    begin("does", ", on_in_doubt: fail, retry_policy: {max_attempts: 3}",
          LOST(1, 1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_error("in_doubt");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    end();
    begin("does", ", on_in_doubt: retry", LOST(1, 1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"status\":-7}]"); /* it was told, and made do */
    end();
}
END_TEST

/* What twice is once is never in doubt: whoever asked is told of the loss, and
 * after a crash it is made again. */
START_TEST(what_may_be_repeated_is_not_in_doubt)
{
    begin("does", "",
          "{method: e, kind: repeat, lost: 1, body: {n: 1}}, " EFFECT(2));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"status\":-7}," DID(2) "]");
    end();
    begin("does", "", REPEAT(1));
    sync_all();
    die(true);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    end();
    begin("does_idem", "", LOST(1, 1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"status\":-7}]");
    end();
}
END_TEST

/* ---- what something else stopped ---------------------------------------- */

static const char *const stops[] = {
    "failure: fail_fast\nstart: [a, b]\nnodes:\n  b: {type: tool, tool: "
    "t/fail, "
    "next: END}\n  a: ",
    "limits: {timeout: 5s}\nstart: a\nnodes:\n  a: ",
    "budget: {wall: 5s, on_exceeded: fail}\nstart: a\nnodes:\n  a: ",
    "start: s\nnodes:\n  s:\n    type: subgraph\n    timeout: 5s\n    "
    "graph:\n      start: a\n      nodes:\n        a: ",
    "failure: fail_fast\nstart: [s, b]\nnodes:\n  b: {type: tool, tool: "
    "t/fail, next: END}\n  s:\n    type: subgraph\n    graph:\n      start: "
    "a\n      nodes:\n        a: ",
    "failure: fail_fast\nstart: [m, b]\nnodes:\n  b: {type: tool, tool: "
    "t/fail, next: END}\n  m: {type: tool, tool: t/echo, map: {over: \"[1]\", "
    "to: a, join: j}}\n  j: {type: tool, tool: t/echo, next: END}\n  a: ",
};

enum { N_STOPS = sizeof stops / sizeof stops[0] };

/* `a`, that asks for an effect, is stopped in the middle of it, which happens or
 * not.  It only lets go, unless nobody hears of it again. */
static void stop_in_the_middle(int stop, const char *op, const char *more,
                               bool happens)
{
    char yaml[4096];
    uint32_t seed = 1;

    snprintf(yaml, sizeof yaml,
             HEAD "%s{type: tool, tool: t/%s, next: %s, args: {asks: "
                  "[" EFFECT(1) "]}%s}\n",
             stops[stop % N_STOPS], op,
             strstr(stops[stop % N_STOPS], "join: j") != NULL ? "j" : "END",
             more);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sync_all();
    for (size_t i = 0; i < s.n_calls; i++)
        if (strcmp(s.calls[i].call.operation, "echo") == 0)
            sim_end_call(&s, i);
    sync_all();
    ck_assert_uint_eq(s.n_asks, 1);
    if (happens)
        script_happen(&s, &s.asks[0]);
    for (size_t i = s.n_timers; i-- > 0;)
        if (s.timers[i].at_ms < s.now_ms + 10000)
            sim_fire_timer(&s, i);
    for (size_t i = 0; i < s.n_calls; i++)
        if (strcmp(s.calls[i].call.operation, "fail") == 0)
            sim_end_call(&s, i);
    s.n_asks = 0;
    if (stop / N_STOPS > 0) { /* the process dies before it let go */
        sync_all();
        for (size_t i = 0; i < s.n_calls; i++)
            s.calls[i].call.kind = MORTISE_RUN_RECONCILE;
        sim_crash(&s, &seed);
        if (stop / N_STOPS == 1)
            sim_recover(&s);
        else
            resume();
    }
    sim_run_plain(&s);
}

/* ... is asked about before the graph ends, by whatever it was stopped. */
START_TEST(what_is_stopped_is_asked_about)
{
    for (size_t k = 0; k < 2 * N_ITEMS(intents); k++) {
        const char *op = intents[k % N_ITEMS(intents)];

        stop_in_the_middle(
            _i, op, k < N_ITEMS(intents) ? "" : ", on_in_doubt: ask", true);
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_str_eq(asked("node"), "a");
        ck_assert_int_eq(
            command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
            MORTISE_EINDOUBT);
        die(false); /* it is asked still */
        assert_status(MORTISE_RUN_IN_DOUBT);
        resolve("done", strcmp(op, "does") == 0 ? DID(1) : "[" DID(1) "]");
        assert_status(MORTISE_RUN_FAILED);
        ck_assert_uint_eq(json_object_size(s.pending), 0);
        die(false);
        resume(); /* it is known what it did */
        if (mortise_run_status(s.run) == MORTISE_RUN_FAILED)
            resume(); /* a subgraph's only let it end */
        ck_assert_int_eq(sim_effect_times(&s, s.effects[0].key), 1);
        end();
    }
}
END_TEST

/* "It did not happen" leaves nothing to ask; who takes it as failed is asked
 * when it is tried again, and may not go around that. */
START_TEST(what_is_stopped_may_be_undone)
{
    struct mortise_command jump = {.kind = MORTISE_CMD_GOTO, .node = "b"};

    for (size_t k = 0; k < N_ITEMS(intents); k++) {
        stop_in_the_middle(_i, intents[k], "", false);
        assert_status(MORTISE_RUN_IN_DOUBT);
        resolve("retry", NULL);
        assert_status(MORTISE_RUN_FAILED);
        resume();
        ck_assert_int_le(sim_effect_times(&s, s.effects[0].key), 1);
        end();
        stop_in_the_middle(_i, intents[k], "", true);
        resolve("fail", NULL);
        assert_status(MORTISE_RUN_FAILED);
        jump.node = _i % N_STOPS == 0 || _i % N_STOPS == 5 ? "b"
                    : _i % N_STOPS < 3                     ? "a"
                                                           : "s";
        die(false);
        ck_assert_int_eq(command(jump), MORTISE_EINDOUBT);
        resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_int_eq(sim_effect_times(&s, s.effects[0].key), 1);
        end();
    }
}
END_TEST

/* What its author says, and its plugin, holds for that one, too. */
START_TEST(what_is_stopped_heeds_its_author)
{
    stop_in_the_middle(_i, "does", ", on_in_doubt: retry", true);
    assert_status(MORTISE_RUN_FAILED);
    end();
    stop_in_the_middle(_i, "does_idem", "", true);
    assert_status(MORTISE_RUN_FAILED);
    end();
    stop_in_the_middle(_i, "does", ", on_in_doubt: fail", true);
    assert_status(MORTISE_RUN_FAILED);
    resume();
    resume();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
    stop_in_the_middle(_i, "does_rec", "", true); /* "it did" */
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    resume();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
    stop_in_the_middle(_i, "does_rec", "", false); /* "it did not" */
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* What stopped it is told, and told again: in the question, after it was taken
 * as failed, in the failure of one whose author had it fail. */
START_TEST(what_stopped_it_is_told)
{
    static const char *const words[N_STOPS] = {
        "another node failed: ",          "the graph exceeded its time limit: ",
        "the graph used up its budget: ", "the graph exceeded its time limit: ",
        "another node failed: ",          "another node failed: "};

    for (size_t k = 0; k < 2 * N_ITEMS(intents); k++) {
        bool dies = k >= N_ITEMS(intents);
        json_t *show, *error;
        char *said;

        stop_in_the_middle(_i, intents[k % 2], "", true);
        for (int again = 0; again < 3; again++) {
            assert_status(MORTISE_RUN_IN_DOUBT);
            ck_assert_msg(
                strncmp(asked("cause"), words[_i], strlen(words[_i])) == 0,
                "%s", asked("cause"));
            if (dies)
                die(false);
            resolve("fail", NULL);
            assert_status(MORTISE_RUN_FAILED);
            if (dies)
                die(false);
            resume();
        }
        end();
        stop_in_the_middle(_i, intents[k % 2], ", on_in_doubt: fail", true);
        assert_status(MORTISE_RUN_FAILED);
        if (dies)
            die(false);
        resume();
        if (dies && mortise_run_status(s.run) == MORTISE_RUN_FAILED)
            die(false);
        show = sim_show(&s);
        error = json_object_get(show, "nodes");
        said = json_dumps(error, 0);
        ck_assert_ptr_nonnull(strstr(said, words[_i]));
        ck_assert_ptr_null(strstr(said, "the process died"));
        free(said);
        json_decref(show);
        end();
    }
}
END_TEST

/* ---- what a cancel stopped ----------------------------------------------- */

static int jump_to(const char *node)
{
    return command(
        (struct mortise_command){.kind = MORTISE_CMD_GOTO, .node = node});
}

static void cancel(void)
{
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
        MORTISE_OK);
}

/* How a run comes to be cancelled in the middle of an effect. */
enum { CUT_SILENT, CUT_DIED, CUT_STUCK, CUT_ASKED, CUT_INSIDE, N_CUTS };

/* `a`, that asks for an effect, or `s` that has it inside, is cancelled in the
 * middle of it, which happens or not. */
static void cancel_in_the_middle(int cut, const char *op, const char *more,
                                 bool happens)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_CANCEL};
    char inside[256];
    uint32_t seed = 1;

    if (cut == CUT_INSIDE) {
        char yaml[4096];

        snprintf(yaml, sizeof yaml,
                 HEAD "start: s\nnodes:\n  s:\n    type: subgraph\n    next: "
                      "END\n    graph:\n      start: a\n      nodes:\n        "
                      "a: {type: tool, tool: t/%s, next: END, args: {asks: "
                      "[" EFFECT(1) "]}%s}\n",
                 op, more);
        sim_init(&s, sim_graph(yaml));
        ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    } else {
        snprintf(inside, sizeof inside, "%s", more);
        begin(op, inside, EFFECT(1));
    }
    sync_all();
    ck_assert_uint_eq(s.n_asks, 1);
    if (happens)
        script_happen(&s, &s.asks[0]);
    if (cut == CUT_ASKED) { /* it is in doubt already */
        die(false);
        cancel();
        return;
    }
    ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
    in.u.result.call = s.calls[0].call.id;
    s.n_asks = 0;
    if (cut == CUT_STUCK) {
        sim_drop_calls(&s);
        sim_feed(&s, &in);
    } else if (cut == CUT_DIED) {
        sync_all();
        s.calls[0].call.kind = MORTISE_RUN_RECONCILE;
        sim_crash(&s, &seed);
        sim_recover(&s);
    }
    sim_run_plain(&s);
}

/* Nobody brings a cancelled run back to where its effect may be made again
 * before somebody settled whether it happened: `resume` asks, and the run ends
 * as it had. */
START_TEST(what_is_cancelled_is_asked_about)
{
    const char *node = _i == CUT_INSIDE ? "s" : "a";

    for (size_t k = 0; k < 2 * N_ITEMS(intents); k++) {
        const char *op = intents[k % N_ITEMS(intents)];

        if (k >= N_ITEMS(intents) && _i == CUT_ASKED)
            continue; /* it fails of that */
        cancel_in_the_middle(
            _i, op, k < N_ITEMS(intents) ? "" : ", on_in_doubt: fail", true);
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_uint_eq(json_object_size(s.pending), 0);
        ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
        die(false);
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
        resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_str_eq(asked("node"), "a");
        ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
        cancel(); /* nobody wants to say */
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
        resume();
        die(false); /* it is asked still */
        assert_status(MORTISE_RUN_IN_DOUBT);
        resolve("fail", NULL);
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
        resume();
        ck_assert_int_eq(sim_effect_times(&s, s.effects[0].key), 1);
        resolve("done", strcmp(op, "does") == 0 ? DID(1) : "[" DID(1) "]");
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_int_eq(sim_effect_times(&s, s.effects[0].key), 1);
        resume(); /* nothing is left to ask */
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_int_eq(jump_to(node), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        end();
    }
}
END_TEST

/* "It did not happen" leaves nothing to ask, and what may be repeated, or was
 * said to have come to nothing, never did; a plugin that can tell is asked. */
START_TEST(what_is_cancelled_may_be_undone)
{
    static const char *const mores[] = {"", ", on_in_doubt: retry", ""};
    const char *node = _i == CUT_INSIDE ? "s" : "a";

    for (size_t k = 0; k < N_ITEMS(intents); k++) {
        cancel_in_the_middle(_i, intents[k], "", false);
        resume();
        resolve("retry", NULL);
        assert_status(MORTISE_RUN_CANCELLED);
        ck_assert_int_eq(jump_to(node), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "a"), k == 0 ? 1 : 2);
        end();
    }
    for (size_t k = 0; k < 2 * N_ITEMS(mores); k++) {
        const char *op = k % 3 == 0   ? "does_idem"
                         : k % 3 == 1 ? "does"
                                      : "does_rec";

        if (_i == CUT_ASKED)
            continue; /* it is settled without being asked */
        cancel_in_the_middle(_i, op, mores[k % 3], k < 3);
        assert_status(MORTISE_RUN_CANCELLED);
        if (k % 3 == 2) {
            ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
            resume();
            assert_status(MORTISE_RUN_CANCELLED);
        }
        ck_assert_int_eq(jump_to(node), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        end();
    }
}
END_TEST

/* ---- what a process left behind ------------------------------------------ */

/* The process died in the middle of an effect, and its run was replayed: nobody
 * goes on with it. */
static void leave_behind(const char *op, const char *more)
{
    uint32_t seed = 1;

    begin(op, more, EFFECT(1));
    sync_all();
    script_happen(&s, &s.asks[0]);
    s.n_asks = 0;
    s.calls[0].call.kind = MORTISE_RUN_RECONCILE;
    sim_crash(&s, &seed);
}

static const char died[] = "the process died while the effect was in flight";

/* To pause it asks what came of that, at once, and leaves nothing to guess. */
START_TEST(a_pause_of_what_was_left_asks)
{
    for (size_t k = 0; k < 4; k++) {
        leave_behind(intents[k % 2], k < 2 ? "" : ", on_in_doubt: ask");
        ck_assert_int_eq(
            command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}),
            MORTISE_OK);
        assert_status(MORTISE_RUN_PAUSED);
        ck_assert_str_eq(asked("kind"), "in_doubt");
        ck_assert_str_eq(asked("cause"), died);
        ck_assert(is_asked("args"));
        resolve("fail", NULL);
        if (_i == 1)
            die(false);
        resume();
        if (mortise_run_status(s.run) == MORTISE_RUN_FAILED)
            resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_str_eq(asked("cause"), died);
        resolve("done", k % 2 == 0 ? DID(1) : "[1]");
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_times(&s, s.effects[0].key), 1);
        end();
    }
}
END_TEST

/* That it died stays the cause, whoever asks later, whatever came between. */
START_TEST(that_it_died_is_told)
{
    static const struct mortise_command pause = {.kind = MORTISE_CMD_PAUSE},
                                        cancel = {.kind = MORTISE_CMD_CANCEL};
    bool dies = _i % 2 != 0;

    for (size_t k = 0; k < N_ITEMS(intents); k++) {
        leave_behind(intents[k], "");
        ck_assert_int_eq(command(cancel), MORTISE_OK);
        assert_status(MORTISE_RUN_CANCELLED);
        if (dies)
            die(false);
        resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_str_eq(asked("cause"), died);
        ck_assert_int_eq(is_asked("step"), k == 0);
        end();
        leave_behind(intents[k], ", on_in_doubt: fail");
        ck_assert_int_eq(command(pause), MORTISE_OK);
        if (dies)
            die(false);
        resume();
        assert_status(MORTISE_RUN_FAILED);
        resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_str_eq(asked("cause"), died);
        end();
    }
    leave_behind("acts_rec", ""); /* which does not know */
    ck_assert_int_eq(command(pause), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    if (dies)
        die(false);
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_str_eq(asked("cause"), died);
    end();
}
END_TEST

/* ... and what a cancel stopped is told as that. */
START_TEST(that_it_was_cancelled_is_told)
{
    for (size_t k = 0; k < N_ITEMS(intents); k++) {
        cancel_in_the_middle(CUT_SILENT, intents[k], "", true);
        for (int again = 0; again < 2; again++) {
            if (_i != 0)
                die(false);
            resume();
            assert_status(MORTISE_RUN_IN_DOUBT);
            ck_assert_str_eq(
                asked("cause"),
                "the run was cancelled while the effect was in flight");
            resolve("fail", NULL);
            assert_status(MORTISE_RUN_CANCELLED);
        }
        end();
    }
}
END_TEST

/* A pause that stops one is told as that, by the plugin that does not know,
 * too. */
START_TEST(that_it_was_paused_is_told)
{
    static const char *const ops[] = {"does", "acts", "acts_rec"};
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_PAUSE};

    for (size_t k = 0; k < N_ITEMS(ops); k++) {
        begin(ops[k], "", EFFECT(1));
        sync_all();
        script_happen(&s, &s.asks[0]);
        s.n_asks = 0;
        ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
        ck_assert(sim_fire_timer(&s, 0));
        ck_assert(sim_end_call(&s, 0));
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_PAUSED);
        ck_assert_uint_eq(json_object_size(s.pending), k < 2);
        if (_i != 0)
            die(false);
        if (k == 2)
            resume();
        ck_assert_ptr_nonnull(strstr(asked("cause"), "the run was paused: "));
        end();
    }
}
END_TEST

/* ---- what did not begin --------------------------------------------------- */

/* A call that was about to begin, or said that it had done nothing, leaves no
 * doubt. */
START_TEST(what_did_not_begin_leaves_no_doubt)
{
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_CANCEL};

    sim_init(&s, sim_graph(HEAD "start: a\nnodes:\n  a: {type: tool, tool: "
                                "t/write, args: {sure: true}, next: END}\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    if (_i == 1) {
        sync_all();
        ck_assert_uint_eq(s.n_calls, 1);
    }
    ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_int_eq(jump_to("a"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* A call is stopped while the intent of its effect is on its way to the disk, and the
 * intent gets there before or after the end of the call.  The effect has not begun:
 * nobody is asked about it, also after a crash, and a resume makes it once. */
START_TEST(what_is_stopped_ahead_of_its_sync_did_not_begin)
{
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_PAUSE};

    begin("does",
          _i % 4 >= 2 ? ", timeout: 5s, retry_policy: {max_attempts: 2}" : "",
          EFFECT(1));
    ck_assert_uint_eq(s.n_asks, 1);
    ck_assert(!s.asks[0].performing);
    if (_i % 4 < 2)
        ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
    ck_assert(sim_fire_timer(&s, 0));
    if (_i % 2 == 0)
        sync_all();
    ck_assert(!s.asks[0].performing);
    ck_assert(sim_end_call(&s, 0));
    sync_all();
    if (_i >= 4)
        die(false);
    sim_run_plain(&s);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    if (mortise_run_status(s.run) == MORTISE_RUN_PAUSED)
        resume();
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* ---- everything, at random ---------------------------------------------- */

static const char *const ops[] = {"does", "acts", "does_rec", "acts_rec",
                                  "does_idem"};

/* A person who looks at the world, by the keys. */
static void settle_by_looking(void)
{
    bool happened = sim_effect_times(&s, asked("idempotency_key")) > 0;
    const json_t *open = json_object_get(
        json_object_get(s.pending, sim_request(&s, "a")), "open");
    json_t *one;
    size_t i;

    json_array_foreach(open, i, one)
    {
        happened |= sim_effect_times(&s, json_string_value(json_object_get(
                                             one, "idempotency_key"))) > 0;
    }

    resolve(happened ? "done" : "retry", happened ? "[]" : NULL);
}

static void stumble(uint32_t *seed)
{
    switch (sim_random(seed) % 6) {
    case 0:
        sim_crash(&s, seed);
        sim_recover(&s);
        break;
    case 1:
        sim_fire_timer(&s, 0);
        break;
    case 2:
        sim_end_call(&s, 0);
        break;
    default:
        if (!sim_sync_one(&s))
            sim_end_ask(&s, 0);
    }
}

/* Whatever dies, runs out of time or is lost, and however often it is tried: no
 * effect happens twice when those who are asked look. */
START_TEST(never_twice_without_a_doubt)
{
    for (uint32_t n = 0; n < 60; n++) {
        uint32_t first = (uint32_t)_i * 1000 + n, seed = first;

        begin(ops[_i],
              ", timeout: 1s, retry_policy: {max_attempts: 3, delay: 1ms}",
              LOST(1, 1) ", " READ(2) ", " LOST(3, 2));
        for (int i = 0; i < 60 && !mortise_run_is_finished(s.run); i++) {
            if (mortise_run_status(s.run) == MORTISE_RUN_IN_DOUBT)
                settle_by_looking();
            else if (mortise_run_status(s.run) == MORTISE_RUN_FAILED)
                resume();
            else
                stumble(&seed);
        }
        for (size_t k = 0; k < s.n_effects; k++)
            ck_assert_msg(s.effects[k].times <= 1, "%s, seed %u: %d times",
                          ops[_i], (unsigned)first, s.effects[k].times);
        end();
    }
}
END_TEST

/* ---- a call that never let go ------------------------------------------- */

/* It is told to stop, and says nothing; nobody waits for its asks. */
static void let_hang(void)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};

    ck_assert_uint_eq(s.n_timers, 1);
    sim_fire_timer(&s, 0);
    in.u.result.call = s.calls[0].call.id;
    sim_drop_calls(&s);
    sim_feed(&s, &in);
    sim_run_plain(&s);
}

/* Where each step has an intent of its own, those that were answered leave no
 * doubt: what failed is tried again, and they stay answered. */
START_TEST(answered_steps_leave_no_doubt)
{
    begin("does", ", timeout: 1s", EFFECT(1) ", " READ(2));
    sync_all();
    ck_assert(sim_end_ask(&s, 0));
    sync_all();
    let_hang();
    assert_status(MORTISE_RUN_FAILED);
    assert_error("timeout.unresponsive");
    resume();
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* One that was open is asked about, at once, and once. */
START_TEST(an_open_step_is_asked_about_once)
{
    begin("does", ", timeout: 1s", EFFECT(1));
    sync_all();
    let_hang();
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("retry", NULL);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Where what on_error gives instead is refused in turn, the doubt stays with
 * that failure. */
START_TEST(a_doubt_outlives_its_value)
{
    static const char *const values[] = {
        ", on_error: {value: \"{'x': 1 / size(error.code.substring(0, 0))}\"}",
        ", output_schema: {required: [x], type: object}, on_error: {value: "
        "\"{'y': error.code}\"}",
    };
    char more[256];

    snprintf(more, sizeof more, "%s%s", values[_i % 2],
             _i < 2 ? "" : ", on_in_doubt: fail");
    begin("acts", more, EFFECT(1));
    sync_all();
    ck_assert(sim_end_ask(&s, 0));
    sync_all();
    die(false);
    if (_i < 2) {
        assert_status(MORTISE_RUN_IN_DOUBT);
        resolve("fail", NULL);
    }
    assert_status(MORTISE_RUN_FAILED);
    die(false);
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* ---- a call that broke its word ------------------------------------------ */

static const char *const leads[] = {
    "",
    ", on_error: {goto: b}",
    ", on_error: {value: \"0\"}",
};

/* `a`, entered again after an answer, asks for something else than before, with
 * an effect of its own under way; then it ends or does not even do that. */
static void break_in_the_middle(const char *op, const char *more, bool hangs)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_ANSWER, .json = "7"};
    char yaml[4096], id[64];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\nnodes:\n  a: {type: tool, tool: t/%s, args: "
                  "{asks: [{method: r, kind: read, body: {n: 1}, then: {n: "
                  "2}}, " ASK(q) "]}%s, next: END}\n  b: {type: tool, tool: "
                                 "t/echo, next: END}\n",
             op, more);
    if (strstr(more, "goto") == NULL)
        *strstr(yaml, "  b: ") = '\0';
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
    die(false);
    assert_status(MORTISE_RUN_WAITING);
    snprintf(id, sizeof id, "%s", asked("id"));
    c.id = id;
    ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
    if (hangs) {
        sync_all();
        ck_assert_uint_eq(s.n_calls, 1);
        in.u.result.call = s.calls[0].call.id;
        sim_drop_calls(&s);
        sim_feed(&s, &in);
    }
    sim_run_plain(&s);
}

static bool saw_error(const char *code)
{
    json_t *event;
    size_t i;

    json_array_foreach(s.published, i, event)
    {
        const char *have = json_string_value(
            json_object_get(json_object_get(event, "error"), "code"));

        if (have != NULL && strcmp(have, code) == 0)
            return true;
    }
    return false;
}

/* Nothing follows its failure before it is settled what it did; "it did not
 * happen" is that failure. */
START_TEST(a_broken_word_is_in_doubt)
{
    const char *more = leads[_i % 3];
    int after = more[0] == '\0' ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED;
    bool hangs = _i >= 3;

    break_in_the_middle("acts", more, hangs);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_ptr_nonnull(
        strstr(asked("cause"), hangs ? "did not return" : "E_DETERMINISM"));
    resolve("done", "[]");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[]");
    end();
    if (!hangs) {
        break_in_the_middle("acts", more, hangs);
        resolve("retry", NULL);
        assert_status(after);
        ck_assert(saw_error("determinism") || strstr(more, "value") != NULL);
        ck_assert_uint_eq(json_object_size(s.pending), 0);
        end();
        break_in_the_middle("acts_rec", more, hangs);
        ck_assert_uint_eq(json_object_size(s.pending), 0);
        end();
    }
    break_in_the_middle("acts", more, hangs);
    resolve("fail", NULL);
    assert_status(after);
    end();
    break_in_the_middle("acts", more, hangs);
    die(false); /* one of the crash, now: it is entered, and breaks it again */
    resolve("retry", NULL);
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("retry", NULL);
    assert_status(after);
    end();
}
END_TEST

/* What its author takes upon himself is not asked about. */
START_TEST(a_broken_word_heeds_its_author)
{
    break_in_the_middle("acts", ", on_in_doubt: retry, on_error: {goto: b}",
                        false);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert(saw_error("determinism"));
    end();
    break_in_the_middle("acts", ", on_in_doubt: fail, on_error: {goto: b}",
                        false);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert(saw_error("in_doubt"));
    end();
}
END_TEST

/* ---- what came of it is useless ----------------------------------------- */

#define USELESS ", output_schema: {required: [x], type: object}"

/* It was done, and its node failed. */
static void begin_useless(const char *op, const char *more)
{
    char all[256];

    snprintf(all, sizeof all, USELESS "%s", more);
    begin(op, all, op[0] == 'd' ? EFFECT(1) : "");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_error("schema");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
}

/* Who tries again is asked what came of it, also behind a crash, as often as it
 * is of no use; only their word does it again. */
START_TEST(a_useless_result_is_asked_about)
{
    begin_useless("acts", _i % 2 == 0 ? "" : ", on_in_doubt: fail");
    for (int i = 0; i < 3; i++) {
        if (_i >= 2)
            die(false);
        resume();
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_ptr_nonnull(strstr(asked("cause"), "was rejected"));
        if (i == 2)
            break;
        resolve("fail", NULL);
        assert_status(MORTISE_RUN_FAILED);
    }
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    resolve("done", "{\"x\": 1}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("{\"x\":1}");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* "It did not happen" is believed. */
START_TEST(a_useless_result_may_be_made_again)
{
    begin_useless("acts", "");
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("retry", NULL);
    assert_status(MORTISE_RUN_FAILED); /* it gives the same */
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 2);
    end();
}
END_TEST

/* The plugin is asked first; what it says is as useless. */
START_TEST(a_useless_result_is_reconciled)
{
    begin_useless(_i % 2 == 0 ? "acts_rec" : "does_rec", "");
    if (_i >= 2)
        die(false);
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_ptr_nonnull(strstr(asked("cause"), "was rejected"));
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    resolve("done", "{\"x\": 1}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- what is over, with its doubt ---------------------------------------- */

/* `a` loses to `b`. */
static const char *const races[] = {
    "start: [a, b]\nnodes:\n  j: {type: tool, tool: t/echo, join: any, next: "
    "END}\n  b: {type: tool, tool: t/read, next: j}\n  a: {next: j, ",
    "end: first\nstart: [a, b]\nnodes:\n  b: {type: tool, tool: t/read, next: "
    "END}\n  a: {next: END, ",
    "start: [s, b]\nnodes:\n  j: {type: tool, tool: t/echo, join: any, next: "
    "END}\n  b: {type: tool, tool: t/read, next: j}\n  s:\n    type: subgraph\n"
    "    next: j\n    graph:\n      start: a\n      nodes:\n        a: {next: "
    "END, ",
};

enum { N_RACES = sizeof races / sizeof races[0] };

/* How a loser ends. */
enum { LOSES_SILENT, LOSES_DEAD, LOSES_STUCK, LOSES_ASKED, N_LOSES };

static size_t call_of(const char *op)
{
    size_t i = 0;

    while (i < s.n_calls && strcmp(s.calls[i].call.operation, op) != 0)
        i++;
    ck_assert_uint_lt(i, s.n_calls);
    return i;
}

static void begin_race(int race, const char *op, const char *args,
                       const char *more)
{
    char yaml[4096];

    snprintf(yaml, sizeof yaml, HEAD "%stype: tool, tool: t/%s, args: %s%s}\n",
             races[race], op, args, more);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sync_all();
}

/* It loses in the middle of an effect, which happens or not. */
static void lose_in_the_middle(int race, int how, const char *op, bool happens)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};
    uint32_t seed = 1;

    begin_race(race, op, "{asks: [" EFFECT(1) "]}", "");
    ck_assert_uint_eq(s.n_asks, 1);
    if (happens)
        script_happen(&s, &s.asks[0]);
    if (how == LOSES_ASKED) {
        die(false); /* `b` ends after that */
        return;
    }
    sim_end_call(&s, call_of("read"));
    sync_all();
    if (race != 1)
        sim_end_call(&s, call_of("echo"));
    sync_all();
    s.n_asks = 0;
    in.u.result.call = s.calls[call_of(op)].call.id;
    if (how == LOSES_STUCK) {
        sim_drop_calls(&s);
        sim_feed(&s, &in);
    } else if (how == LOSES_DEAD) {
        s.calls[call_of(op)].call.kind = MORTISE_RUN_RECONCILE;
        sim_crash(&s, &seed);
        sim_recover(&s);
    }
    sim_run_plain(&s);
}

/* A member of the node `a`'s record. */
static void assert_member(const char *member, const char *want)
{
    json_t *show = sim_show(&s), *x;
    const char *have = NULL;
    size_t i;

    json_array_foreach(json_object_get(show, "nodes"), i, x)
    {
        if (strcmp(json_string_value(json_object_get(x, "node")), "a") == 0 &&
            json_integer_value(json_object_get(x, "visit")) == 1)
            have = json_string_value(json_object_get(x, member));
    }
    if (want == NULL)
        ck_assert_ptr_null(have);
    else
        ck_assert_str_eq(have != NULL ? have : "", want);
    json_decref(show);
}

/* Nobody goes on, and nothing is recorded of who tried. */
static void assert_refused(const char *node)
{
    size_t n = s.n_commits;

    ck_assert_int_eq(jump_to(node), MORTISE_EINDOUBT);
    ck_assert_ptr_nonnull(strstr(err.msg, "'a'"));
    ck_assert_uint_eq(s.n_commits, n);
}

static json_t *state(void)
{
    json_t *show = sim_show(&s);
    json_t *kept = json_pack("{s:O?, s:O?, s:O?, s:O?}", "status",
                             json_object_get(show, "status"), "artifacts",
                             json_object_get(show, "artifacts"), "scratch",
                             json_object_get(show, "scratch"), "error",
                             json_object_get(show, "error"));

    ck_assert_ptr_nonnull(kept);
    json_decref(show);
    return kept;
}

/* It is as it was. */
static void assert_state(json_t *want)
{
    json_t *have = state();

    ck_assert(json_equal(have, want));
    json_decref(have);
}

/* What its end left in doubt is asked about by a `resume`, until somebody says
 * more than that it failed; the run is as it was whatever is said, and only then
 * does anybody go on. */
static void settle_what_is_over(const char *node, const char *result)
{
    json_t *was = state();
    size_t n = s.n_effects;

    ck_assert_uint_eq(json_object_size(s.pending), 0);
    assert_member("effect", "unsettled");
    assert_refused(node);
    ck_assert_ptr_nonnull(strstr(err.msg, "mortise resume"));
    die(false);
    assert_refused(node);
    assert_member("effect", "unsettled");
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_str_eq(asked("node"), "a");
    assert_refused(node);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
        MORTISE_EINDOUBT);
    cancel(); /* nobody wants to say */
    assert_state(was);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    assert_refused(node);
    resume();
    die(false); /* it is asked still */
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("fail", NULL);
    assert_state(was);
    assert_refused(node);
    resume();
    resolve(result != NULL ? "done" : "retry", result);
    assert_state(was);
    assert_member("effect", NULL);
    die(false);
    assert_state(was);
    n -= s.n_effects;
    ck_assert_uint_eq(n, 0); /* nothing was made again */
    n = s.n_commits;
    resume(); /* nothing is left to ask */
    ck_assert_uint_eq(s.n_commits, n);
    ck_assert_int_eq(jump_to(node), MORTISE_OK);
    json_decref(was);
}

START_TEST(who_lost_is_asked_about)
{
    int race = _i % N_RACES, how = _i / N_RACES;

    for (size_t k = 0; k < 2 * N_ITEMS(intents); k++) {
        const char *op = intents[k % N_ITEMS(intents)];

        lose_in_the_middle(race, how, op, k < N_ITEMS(intents));
        assert_status(MORTISE_RUN_COMPLETED);
        assert_member("status", "skipped");
        settle_what_is_over(race == 2 ? "s" : "a", k >= N_ITEMS(intents) ? NULL
                                                   : strcmp(op, "does") == 0
                                                       ? DID(1)
                                                       : "[" DID(1) "]");
        assert_status(MORTISE_RUN_COMPLETED);
        end();
    }
}
END_TEST

/* Where the plugin can tell nobody else is asked. */
START_TEST(who_lost_is_reconciled)
{
    for (int k = 0; k < 2; k++) {
        lose_in_the_middle(_i % N_RACES, _i / N_RACES, "does_rec", k == 0);
        assert_status(MORTISE_RUN_COMPLETED);
        if (_i / N_RACES != LOSES_ASKED) /* it may have told before */
            assert_refused(_i % N_RACES == 2 ? "s" : "a");
        resume();
        assert_status(MORTISE_RUN_COMPLETED);
        assert_member("effect", NULL);
        ck_assert_int_eq(jump_to(_i % N_RACES == 2 ? "s" : "a"), MORTISE_OK);
        end();
    }
}
END_TEST

/* One that said what it did, never began, or may be repeated leaves no doubt. */
START_TEST(a_loser_may_leave_no_doubt)
{
    static const struct {
        const char *op, *args, *more;
        bool ends; /* well, too late */
    } cases[] = {
        {"write", "{sure: true}", "", false},
        {"write", "{}", "", true},
        {"write", "{}", ", on_in_doubt: retry", false},
        {"idem", "{}", "", false},
    };
    const char *node = _i == 2 ? "s" : "a";

    for (size_t k = 0; k < N_ITEMS(cases); k++) {
        struct mortise_input in = {.kind = MORTISE_IN_RESULT};

        begin_race(_i, cases[k].op, cases[k].args, cases[k].more);
        sim_end_call(&s, call_of("read"));
        if (cases[k].ends) {
            in.u.result = (struct mortise_result_in){
                .call = s.calls[call_of(cases[k].op)].call.id,
                .output = json_true(),
                .message = "",
                .error_code = "",
                .error_class = ""};
            sim_feed(&s, &in);
        }
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_member("status", "skipped");
        assert_member("effect", NULL);
        ck_assert_int_eq(jump_to(node), MORTISE_OK);
        end();
    }
}
END_TEST

/* What failed is tried again as ever, and who lost before that is asked about
 * beside it. */
START_TEST(who_lost_does_not_hold_back)
{
    static const char tail[] =
        "  f: {type: tool, tool: t/fail, args: {code: no, times: 1}, next: "
        "END}\n";
    char yaml[2048];
    bool happens = _i == 0;

    snprintf(
        yaml, sizeof yaml,
        HEAD
        "start: [a, b]\nnodes:\n"
        "  a: {type: tool, tool: t/acts, next: j, args: {asks: "
        "[" EFFECT(1) "]}}\n"
                      "  b: {type: tool, tool: t/read, next: j}\n"
                      "  j: {type: tool, tool: t/echo, join: any, next: f}\n%s",
        tail);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sync_all();
    if (happens)
        script_happen(&s, &s.asks[0]);
    sim_end_call(&s, call_of("read"));
    s.n_asks = 0;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_refused("a");
    assert_refused("f");
    resume();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_str_eq(asked("node"), "a");
    die(false);
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve(happens ? "done" : "retry", happens ? "[" DID(1) "]" : NULL);
    if (mortise_run_status(s.run) == MORTISE_RUN_FAILED)
        resume(); /* `times` are attempts */
    assert_member("effect", NULL);
    ck_assert_int_eq(sim_effect_count(&s, "a"), happens);
    end();
}
END_TEST

/* ... of which on_error made something: a word, its author's, or a result that
 * is refused. */
enum { LED_WORD, LED_AUTHOR, LED_USELESS, N_LED };

static void lead_on(int why, bool value, const char *op)
{
    char yaml[4096];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\nnodes:\n  a: {type: tool, tool: t/%s, args: "
                  "{asks: [" EFFECT(1) "]}, on_error: {%s}%s, next: END}\n%s",
             op, value ? "value: \"{'y': 1}\"" : "goto: h",
             why == LED_AUTHOR    ? ", on_in_doubt: fail"
             : why == LED_USELESS ? ", output_schema: {anyOf: [{required: [x], "
                                    "type: object}, {required: [y], type: "
                                    "object}]}"
                                  : "",
             value ? "" : "  h: {type: tool, tool: t/echo, next: END}\n");
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    if (why == LED_USELESS) {
        sim_run_plain(&s);
        return;
    }
    sync_all();
    ck_assert_uint_eq(s.n_asks, 1);
    die(true);
    if (why == LED_WORD)
        resolve("fail", NULL);
}

START_TEST(what_was_led_on_is_asked_about)
{
    for (size_t k = 0; k < 2 * N_ITEMS(intents); k++) {
        const char *op = intents[k % N_ITEMS(intents)];
        bool value = k < N_ITEMS(intents);

        lead_on(_i, value, op);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_member("status", value ? "done" : "failed");
        settle_what_is_over("a", _i == LED_USELESS         ? "{\"x\": 1}"
                                 : strcmp(op, "does") == 0 ? DID(1)
                                                           : "[" DID(1) "]");
        end();
    }
}
END_TEST

/* A doubt inside a subgraph that failed of it, and was led on. */
START_TEST(what_was_led_on_around_is_asked_about)
{
    char yaml[4096];

    snprintf(yaml, sizeof yaml,
             HEAD "start: s\nnodes:\n  s:\n    type: subgraph\n    on_error: "
                  "{value: \"{'y': 1}\"}\n    next: END\n%s    graph:\n      "
                  "start: a\n      nodes:\n        a: {type: tool, tool: "
                  "t/acts, args: {asks: [" EFFECT(1) "]}, next: END}\n",
             _i == 0 ? "" : "    timeout: 5s\n");
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sync_all();
    script_happen(&s, &s.asks[0]);
    if (_i == 0) {
        die(false);
    } else {
        sim_fire_timer(&s, 0);
        s.n_asks = 0;
        sim_run_plain(&s);
    }
    assert_status(MORTISE_RUN_IN_DOUBT);
    resolve("fail", NULL);
    assert_status(MORTISE_RUN_COMPLETED);
    settle_what_is_over("s", "[" DID(1) "]");
    end();
}
END_TEST

/* While the run goes on only who goes back is refused: what it becomes is told
 * when it is over. */
START_TEST(who_lost_is_behind_an_update)
{
    struct mortise_command pause = {.kind = MORTISE_CMD_PAUSE};

    begin_race(0, "acts", "{asks: [" EFFECT(1) "]}", "");
    sim_end_call(&s, call_of("read"));
    s.n_asks = 0;
    sim_end_call(&s, call_of("acts"));
    sync_all();
    ck_assert_int_eq(command(pause), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    assert_refused("a");
    ck_assert_ptr_nonnull(strstr(err.msg, "mortise cancel"));
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_UPDATE,
                                         .json = "{\"scratch\": {\"k\": 1}}"}),
        MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_UPDATE,
                                         .json = "{\"scratch\": {\"k\": 1}}"}),
        MORTISE_EINDOUBT);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s_ = suite_create("doubt");
    TCase *tc = tcase_create("doubt");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_call_that_asks_is_in_doubt, 0, 2);
    tcase_add_test(tc, a_suspension_closes_it);
    tcase_add_test(tc, another_entry_is_another_intent);
    tcase_add_test(tc, no_says_the_plugin);
    tcase_add_loop_test(tc, a_timeout_is_no_failure, 0, 2);
    tcase_add_test(tc, a_timeout_that_did_nothing_is_one);
    tcase_add_test(tc, a_plugin_may_not_know);
    tcase_add_loop_test(tc, a_lost_answer_is_in_doubt, 0, 6);
    tcase_add_loop_test(tc, a_lost_answer_stays_in_doubt, 0, 2);
    tcase_add_loop_test(tc, a_step_is_asked_about_again, 0, 8);
    tcase_add_loop_test(tc, a_step_that_failed_is_asked_about, 0, 4);
    tcase_add_test(tc, a_kept_journal_asks_its_questions_anew);
    tcase_add_loop_test(tc, what_stopped_it_is_told, 0, N_STOPS);
    tcase_add_loop_test(tc, a_pause_of_what_was_left_asks, 0, 2);
    tcase_add_loop_test(tc, that_it_died_is_told, 0, 2);
    tcase_add_loop_test(tc, that_it_was_cancelled_is_told, 0, 2);
    tcase_add_loop_test(tc, that_it_was_paused_is_told, 0, 2);
    tcase_add_test(tc, a_lost_answer_that_was_nothing);
    tcase_add_test(tc, what_the_author_said);
    tcase_add_test(tc, what_may_be_repeated_is_not_in_doubt);
    tcase_add_loop_test(tc, what_is_stopped_is_asked_about, 0, 3 * N_STOPS);
    tcase_add_loop_test(tc, what_is_stopped_may_be_undone, 0, 3 * N_STOPS);
    tcase_add_loop_test(tc, what_is_cancelled_is_asked_about, 0, N_CUTS);
    tcase_add_loop_test(tc, what_is_cancelled_may_be_undone, 0, N_CUTS);
    tcase_add_loop_test(tc, what_did_not_begin_leaves_no_doubt, 0, 2);
    tcase_add_loop_test(tc, what_is_stopped_ahead_of_its_sync_did_not_begin, 0,
                        8);
    tcase_add_loop_test(tc, what_is_stopped_heeds_its_author, 0, 3 * N_STOPS);
    tcase_add_loop_test(tc, never_twice_without_a_doubt, 0,
                        sizeof ops / sizeof ops[0]);
    tcase_add_test(tc, answered_steps_leave_no_doubt);
    tcase_add_test(tc, an_open_step_is_asked_about_once);
    tcase_add_loop_test(tc, a_doubt_outlives_its_value, 0, 4);
    tcase_add_loop_test(tc, a_broken_word_is_in_doubt, 0, 6);
    tcase_add_test(tc, a_broken_word_heeds_its_author);
    tcase_add_loop_test(tc, a_useless_result_is_asked_about, 0, 4);
    tcase_add_test(tc, a_useless_result_may_be_made_again);
    tcase_add_loop_test(tc, a_useless_result_is_reconciled, 0, 4);
    tcase_add_loop_test(tc, who_lost_is_asked_about, 0, N_RACES * N_LOSES);
    tcase_add_loop_test(tc, who_lost_is_reconciled, 0, N_RACES * N_LOSES);
    tcase_add_loop_test(tc, a_loser_may_leave_no_doubt, 0, N_RACES);
    tcase_add_loop_test(tc, who_lost_does_not_hold_back, 0, 2);
    tcase_add_loop_test(tc, what_was_led_on_is_asked_about, 0, N_LED);
    tcase_add_loop_test(tc, what_was_led_on_around_is_asked_about, 0, 2);
    tcase_add_test(tc, who_lost_is_behind_an_update);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
