/* test_models.c -- models: what a plugin asks of one under its alias, who
 * answers, and what it cost. */
#include <check.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/common/engine.h"
#include "core/json/value.h"
#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/shelf.h"
#include "lib/warm.h"
#include "mortise/plugin.h"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static struct httpd *d;
static char dir[PATH_MAX - 64], run_id[MORTISE_RUN_MAX];
static json_t *show; /* of the last run */
static char heard[1024];

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "speaks");
    shelf_put(&shelf, "asks_model");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
}

static int open_with(const char *models)
{
    struct mortise_options o = {.size = sizeof o};
    char text[3 * PATH_MAX], path[PATH_MAX], store[PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins: {path: [\"%s\"]}\n"
             "trust: {dir: \"%s\"}\n"
             "secrets: {k: {env: T_KEY}}\n"
             "models: %s\n",
             shelf.plugins, shelf.trust, models);
    put("mortise.yaml", text);
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    o.deployment = path;
    o.store = store;
    o.mem = &test_mem;
    return mortise_open(&m, &o, &err);
}

static void open_engine(const char *models)
{
    ck_assert_msg(open_with(models) == MORTISE_OK, "%s", err.msg);
    m->quiesce_ms = 300;
}

static void setup(void)
{
    warm_libuv();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    setenv("T_KEY", "0123456789abcdef", 1);
    d = httpd_start();
}

static void teardown(void)
{
    json_decref(show);
    show = NULL;
    mortise_close(m);
    m = NULL;
    httpd_stop(d);
    test_rmdir(dir);
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

/* ---- runs ------------------------------------------------------------------ */

static struct mortise_graph *load(const char *operation, const char *args)
{
    char text[8192], path[PATH_MAX], *report = NULL;
    struct mortise_graph *g;

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: asks_model/%s, args: %s}\n",
             operation, args);
    put("g.yaml", text);
    snprintf(path, sizeof path, "%s/g.yaml", dir);
    ck_assert_msg(mortise_load(m, path, &g, &report, &err) == MORTISE_OK, "%s",
                  report);
    mortise_free(m, report);
    return g;
}

/* Pieces of text, as they were told. */
static int hear(void *ud, const char *json, size_t n)
{
    json_t *event = json_loadb(json, n, 0, NULL);
    const char *type, *text;
    size_t at = strlen(heard);

    (void)ud;
    type = json_string_value(json_object_get(event, "type"));
    text = json_string_value(json_object_get(event, "text"));
    if (strstr(type, "_delta") != NULL)
        snprintf(heard + at, sizeof heard - at, "%.*s:%s ",
                 (int)strcspn(type, "_"), type, text);
    json_decref(event);
    return 0;
}

static void start(const char *operation, const char *args)
{
    struct mortise_start_options s = {
        .size = sizeof s, .input = "{}", .event = hear};
    struct mortise_graph *g = load(operation, args);

    heard[0] = '\0';
    ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
}

/* The run comes to its end; then `show` is of it. */
static void end_run(void)
{
    char *text = NULL;
    int status;

    ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_show(m, NULL, run_id, &text, &err), MORTISE_OK);
    json_decref(show);
    ck_assert_int_eq(
        mortise_json_parse_written(&show, text, strlen(text), &err),
        MORTISE_OK);
    mortise_free(m, text);
}

/* Run a graph of one node, to its end. */
static void run(const char *operation, const char *args)
{
    start(operation, args);
    end_run();
}

/* A call whose last message is that. */
static void say(const char *text)
{
    char args[256];

    snprintf(args, sizeof args,
             "{messages: [{role: user, parts: [{type: text, text: %s}]}]}",
             text);
    run("call", args);
}

static const json_t *node(void)
{
    return json_array_get(json_object_get(show, "nodes"), 0);
}

static void equals(const json_t *got, const char *want)
{
    json_t *value = json_loads(want, 0, NULL);
    char *all = json_dumps(show, 0);

    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(got, value), "no %s in\n%s", want, all);
    json_decref(value);
    free(all);
}

static void gave(const char *want)
{
    equals(json_object_get(node(), "output"), want);
}

/* What the provider got, of one that shows it. */
static void got(const char *want)
{
    const char *text = NULL;
    json_t *output = json_object_get(node(), "output"), *request;

    json_unpack(output, "{s:{s:{s:[{s:s}]}}}", "reply", "message", "parts",
                "text", &text);
    ck_assert_ptr_nonnull(text);
    request = json_loads(text, 0, NULL);
    equals(request, want);
    json_decref(request);
}

/* ... and all of it by one model. */
static void used(const json_t *of, const char *want)
{
    json_t *usage = json_copy(json_object_get(of, "usage"));
    json_t *by = json_incref(json_object_get(usage, "by_model"));
    json_t *one = json_object_iter_value(json_object_iter(by));

    ck_assert_uint_eq(json_object_size(by), 1);
    ck_assert(json_equal(json_object_get(one, "input_tokens"),
                         json_object_get(usage, "input_tokens")));
    ck_assert(
        json_equal(json_object_get(one, "usd"), json_object_get(usage, "usd")));
    json_object_del(usage, "by_model");
    equals(usage, want);
    json_decref(by);
    json_decref(usage);
}

static void failed(const char *words)
{
    const json_t *error = json_object_get(show, "error");
    const char *msg = json_string_value(json_object_get(error, "message"));
    char *all = json_dumps(show, 0);

    ck_assert_msg(msg != NULL && strstr(msg, words) != NULL, "%s", all);
    free(all);
}

#define REPLY(text)                                                            \
    "\"alias\":\"default\",\"reply\":{\"message\":{\"parts\":[{\"text\":"      \
    "\"" text                                                                  \
    "\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end\"}"
#define SHOW                                                                   \
    "{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": "         \
    "\"show\"}]}"
#define ONE_CALL_OF(model)                                                     \
    ",\"usage\":{\"input_tokens\":0,\"model_calls\":1,\"models\":[\"" model    \
    "\"],\"output_tokens\":0,\"usd\":0.0}"
#define ONE_CALL ONE_CALL_OF("small")

static const char plain[] = "{default: {provider: speaks, model: small}}";

/* ---- calls ------------------------------------------------------------------ */

/* The provider gets the request as it was made, and what the deployment says of
 * the alias.
 * key: deployment.models, model.provider, model.model, model.timeout
 * key: model.idle_timeout */
START_TEST(a_provider_gets_the_request)
{
    open_engine("{default: {provider: speaks, model: small, timeout: 5s, "
                "idle_timeout: 2s}, other: {provider: speaks, model: large}}");
    say("show");
    got("{\"messages\": [" SHOW "], \"model\": \"small\", \"timeout_ms\": "
        "5000, \"idle_timeout_ms\": 2000}");
    run("call", "{alias: other, messages: [{role: user, parts: [{type: text, "
                "text: show}]}], temperature: 0.5}");
    got("{\"messages\": [" SHOW "], \"temperature\": 0.5, \"model\": "
        "\"large\"}");
}
END_TEST

/* Each alias is an instance with a config of its own, secrets included. */
START_TEST(an_alias_has_its_config)
{
    char models[512];

    snprintf(models, sizeof models,
             "{default: {provider: speaks, model: m, api_key: secret://k, "
             "base_url: \"%s\"}, bare: {provider: speaks, model: m}}",
             httpd_url(d, "/v1"));
    open_engine(models);
    httpd_answer(d, "/v1", "200 OK", "", "from there");
    say("key");
    gave("{" REPLY("16") ONE_CALL_OF("m") "}");
    say("fetch");
    gave("{" REPLY("from there") ONE_CALL_OF("m") "}");
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* What a call used counts for who asked, by the alias's price, also where it
 * failed; a failure of the provider is an answer.
 * key: model.price, price.input_per_mtok, price.output_per_mtok
 * key: price.cached_per_mtok, price.cache_write_per_mtok */
START_TEST(it_is_paid_for)
{
    static const char usage[] =
        "{\"cached_tokens\":400,\"cache_write_tokens\":100,"
        "\"input_tokens\":1000,\"model_calls\":1,"
        "\"models\":[\"speaks-1\"],\"output_tokens\":100,\"usd\":0.0038}";
    char want[1024];

    open_engine("{default: {provider: speaks, model: m, price: "
                "{input_per_mtok: 2, output_per_mtok: 20, cached_per_mtok: "
                "1.25, cache_write_per_mtok: 3}}}");
    say("stream");
    snprintf(want, sizeof want, "{" REPLY("one two") ",\"usage\":%s}", usage);
    gave(want);
    used(node(), usage);
    used(show, usage);
    ck_assert_str_eq(heard, "reasoning:hm text:one  text:two ");
    say("fail");
    snprintf(want, sizeof want,
             "{\"alias\":\"default\",\"error\":{\"class\":\"transient\","
             "\"code\":\"model.rate_limit\","
             "\"message\":\"not now\",\"retry_after_ms\":1500},\"usage\":%s}",
             usage);
    gave(want);
    used(node(), usage);
}
END_TEST

/* ... as often as it was asked. */
START_TEST(each_call_counts)
{
    open_engine("{default: {provider: speaks, model: m, price: "
                "{output_per_mtok: 10}}}");
    run("twice", "{messages: [{role: user, parts: [{type: text, text: "
                 "stream}]}]}");
    used(node(), "{\"cached_tokens\":800,\"cache_write_tokens\":200,\"input_"
                 "tokens\":2000,\"model_calls\":"
                 "2,\"models\":[\"speaks-1\"],\"output_tokens\":200,\"usd\":"
                 "0.002}");
}
END_TEST

/* A provider that gives nothing, or no reply, gave an error. */
START_TEST(a_reply_is_one)
{
    open_engine(plain);
    say("none");
    gave("{\"alias\":\"default\",\"error\":{\"class\":\"permanent\",\"code\":"
         "\"model.protocol\",\"message\":\"the provider's reply is invalid: it "
         "has no output\"}" ONE_CALL "}");
    say("bad");
    gave("{\"alias\":\"default\",\"error\":{\"class\":\"permanent\",\"code\":"
         "\"model.protocol\",\"message\":\"the provider's reply is invalid: "
         "unknown member 'text'\"}" ONE_CALL "}");
}
END_TEST

/* "tools" follows from what a reply has, and so does that each of its calls can
 * be told from the others. */
START_TEST(calls_are_told_apart)
{
    open_engine(plain);
    say("call");
    gave("{\"alias\":\"default\",\"reply\":{\"message\":{\"parts\":[{"
         "\"arguments\":{},\"id\":\"1\",\"name\":\"f\",\"type\":\"tool_call\"}]"
         ",\"role\":\"assistant\"},\"stop\":\"tools\"}" ONE_CALL "}");
    say("calls");
    gave("{\"alias\":\"default\",\"error\":{\"class\":\"permanent\",\"code\":"
         "\"model.protocol\",\"message\":\"the provider's reply is invalid: "
         "two tool calls of the reply have the id '1'\"}" ONE_CALL "}");
    say("nul");
    gave("{\"alias\":\"default\",\"error\":{\"class\":\"permanent\",\"code\":"
         "\"model.protocol\",\"message\":\"the provider's reply is invalid: a "
         "tool call has a NUL in its id or name\"}" ONE_CALL "}");
    say("stop");
    gave("{\"alias\":\"default\",\"error\":{\"class\":\"permanent\",\"code\":"
         "\"model.protocol\",\"message\":\"the provider's reply is invalid: "
         "the reply has the stop reason 'tools', but no tool calls\"}" ONE_CALL
         "}");
}
END_TEST

/* An alias's timeout holds, whatever its plugin does about it. */
START_TEST(timeouts_hold)
{
    open_engine("{default: {provider: speaks, model: small, timeout: 50ms}}");
    say("hang");
    gave("{\"alias\":\"default\",\"error\":{\"class\":\"timeout\",\"code\":"
         "\"model.timeout\",\"message\":\"the call took longer than 50 "
         "ms\"}" ONE_CALL "}");
}
END_TEST

static const struct {
    const char *said, *response, *want;
} replies[] = {
    {"{\\\"a\\\": 1}", "{}", "\"json\":{\"a\":1}"},
    {"```json\\n[1]\\n```\\n", "{}", "\"json\":[1]"},
    {" 7 ", "{schema: {type: number}}", "\"json\":7.0"},
    {"<think>{hm}</think>\\n{\\\"a\\\": 1}", "{}", "\"json\":{\"a\":1}"},
    {"hm</think>\\n```json\\n[1]\\n```", "{}", "\"json\":[1]"},
    {"{\\\"a\\\": \\\"</think>\\\"}", "{}", "\"json\":{\"a\":\"</think>\"}"},
    {"<reasoning>hm</reasoning>", "{}",
     "\"invalid\":\"the reply is not JSON: line 1 column 0: unexpected token "
     "near end of file\""},
    {"```", "{}",
     "\"invalid\":\"the reply is not JSON: line 1 column 1: invalid token near "
     "'`'\""},
    {"hello", "{}",
     "\"invalid\":\"the reply is not JSON: line 1 column 5: invalid token near "
     "'hello'\""},
    {"{}", "{schema: {type: object, required: [b]}}",
     "\"invalid\":\"the member 'b' is missing\""},
};

/* A reply that was to be JSON is judged for who asked. */
START_TEST(json_is_judged)
{
    char args[512], want[512];

    open_engine(plain);
    snprintf(args, sizeof args,
             "{response: %s, messages: [{role: user, parts: [{type: text, "
             "text: \"say %s\"}]}]}",
             replies[_i].response, replies[_i].said);
    run("call", args);
    snprintf(want, sizeof want, "{" REPLY("%s") ",%s%s}", replies[_i].said,
             replies[_i].want, ONE_CALL);
    gave(want);
}
END_TEST

/* While it performs an ask a provider may look and go out, and no more. */
START_TEST(a_provider_keeps_nothing)
{
    static const struct {
        const char *does, *method;
    } asks[] = {{"keep", "kv.put/1"},
                {"ask", "model.call/1"},
                {"wait", "timer.wait/1"}};

    open_engine(plain);
    for (size_t i = 0; i < 3; i++) {
        char want[512], status[256];

        say(asks[i].does);
        snprintf(status, sizeof status,
                 "%d a call that serves another call cannot ask for %s; it can "
                 "ask for state.get/1, secret.get/1 and http.request/1",
                 (int)MORTISE_S_UNSUPPORTED, asks[i].method);
        snprintf(want, sizeof want, "{" REPLY("%s") "%s}", status, ONE_CALL);
        gave(want);
    }
}
END_TEST

START_TEST(vectors)
{
    open_engine(plain);
    run("embed", "{texts: [a, b]}");
    gave("{\"alias\":\"default\",\"reply\":{\"vectors\":[[2,0.5]]}" ONE_CALL
         "}");
}
END_TEST

/* ---- what is refused --------------------------------------------------------- */

static const struct {
    const char *args, *words;
} refused[] = {
    {"{}", "at /messages: there is no message to send"},
    {"{messages: []}", "at /messages: "},
    {"{alias: defalt, messages: [{role: user, parts: [{type: text, text: "
     "a}]}]}",
     "did you mean 'default'?"},
    {"{alias: \"default\\0x\", messages: [{role: user, parts: [{type: text, "
     "text: a}]}]}",
     "'alias' must be a string without a NUL"},
    {"{messages: [{role: user, parts: [{type: text, txt: a}]}]}",
     "at /messages/0/parts/0"},
    {"{messages: [{role: user, parts: [{type: song}]}]}",
     "at /messages/0/parts/0/type"},
    {"{messages: [{role: user, parts: []}]}", "at /messages/0/parts"},
    {"{messages: [{role: boss, parts: [{type: text, text: a}]}]}",
     "at /messages/0/role"},
    {"{messages: [{role: user, parts: [{type: reasoning}]}]}",
     "at /messages/0/parts/0/type"},
    {"{messages: [{role: assistant, parts: [{type: tool_call, id: c, name: "
     "n, arguments: {}}]}]}",
     "the tool call 'c' is not followed by a result"},
    {"{messages: [{role: assistant, parts: [{type: tool_call, id: c, name: "
     "n, arguments: {}}]}, {role: user, parts: [{type: text, text: a}]}]}",
     "at /messages/1: the tool call 'c' is not followed by a result"},
    {"{messages: [{role: tool, parts: [{type: tool_result, id: c, parts: "
     "[]}]}]}",
     "at /messages/0: no tool call matches the result 'c'"},
    {"{messages: [{role: assistant, parts: [{type: tool_call, id: c, name: "
     "n, arguments: {}}, {type: tool_call, id: c, name: n, arguments: {}}]}]}",
     "two tool calls of one message have the id 'c'"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}], tools: "
     "[{name: "
     "a/b, parameters: {}}]}",
     "at /tools/0/name"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}], tool_choice: "
     "maybe}",
     "at /tool_choice"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}], max_tokens: "
     "0}",
     "at /max_tokens"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}], response: "
     "{schema: {type: strnig}}}",
     "at /response/schema/type"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}], prune: 0.5}",
     "no more messages can be omitted"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}, {role: user, "
     "parts: [{type: text, text: b}]}, {role: user, parts: [{type: text, text: "
     "c}]}], prune: 0.5, beyond: 1}",
     "no more messages can be omitted"},
    {"{messages: [{role: user, parts: [{type: text, text: a}]}], seed: 1}",
     "unknown member 'seed'"},
};

/* What is no request is no step of the run, and says why not. */
START_TEST(requests_are_judged)
{
    open_engine(plain);
    run("call", refused[_i].args);
    failed(refused[_i].words);
}
END_TEST

static const struct {
    const char *models, *words;
} deployments[] = {
    {"{default: {provider: asks_model, model: m}}", "is not a model provider"},
    {"{default: {provider: speaks}}", "model"},
    {"{default: {model: m}}", "provider"},
    {"{default: {provider: speaks, model: m, base: x}}", "rejects this config"},
    {"{default: {provider: speaks, model: m, price: {input: 1}}}",
     "unknown key 'input'"},
    {"{default: {provider: speaks, model: m, price: {input_per_mtok: -1}}}",
     "input_per_mtok"},
    {"{default: {provider: speaks, model: m, base_url: secret://k}}",
     "accepts no secret here"},
    {"{a b: {provider: speaks, model: m}}", "the alias of a model"},
};

START_TEST(deployments_are_judged)
{
    ck_assert_int_ne(open_with(deployments[_i].models), MORTISE_OK);
    ck_assert_msg(strstr(err.msg, deployments[_i].words) != NULL, "%s",
                  err.msg);
    m = NULL;
}
END_TEST

/* A provider that is not there holds up who asks for it, and nobody else. */
START_TEST(absent_providers)
{
    open_engine("{default: {provider: nobody, model: m}, other: {provider: "
                "speaks, model: m}}");
    run("call", "{alias: other, messages: [" SHOW "]}");
    ck_assert_str_eq(json_string_value(json_object_get(show, "status")),
                     "completed");
    run("call", "{messages: [" SHOW "]}");
    failed("no plugin 'nobody'");
}
END_TEST

/* ---- the end ------------------------------------------------------------------ */

/* A call that is out when the engine closes is cancelled, and made again. */
START_TEST(closing_while_it_speaks)
{
    open_engine(plain);
    start("call", "{messages: [{role: user, parts: [{type: text, text: "
                  "hang}]}]}");
    for (int i = 0; i < 5; i++)
        mortise_poll(m, 20, &err);
    mortise_close(m);
    m = NULL;
}
END_TEST

/* A reply that is on disk is not asked for again; the one that was out is. */
START_TEST(a_reply_is_kept)
{
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_RESUME};
    char models[256];

    snprintf(models, sizeof models,
             "{default: {provider: speaks, model: m, base_url: \"%s\"}}",
             httpd_url(d, "/v1"));
    open_engine(models);
    httpd_answer(d, "/v1", "200 OK", "", "first");
    httpd_times(d, 1);
    httpd_on(d, "/v1");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    httpd_answer(d, "/v1", "200 OK", "", "third");
    start("twice", "{messages: [{role: user, parts: [{type: text, text: "
                   "fetch}]}]}");
    while (httpd_requests(d) < 2)
        mortise_poll(m, 20, &err);
    mortise_close(m);
    open_engine(models);
    ck_assert_msg(mortise_apply(m, NULL, run_id, &c, 1, 0, NULL, &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
    end_run();
    gave("[{" REPLY("first") ONE_CALL_OF("m") "},{" REPLY("third")
             ONE_CALL_OF("m") "}]");
    used(node(), "{\"model_calls\":2,\"models\":[\"m\"],\"input_tokens\":0,"
                 "\"output_tokens\":0,\"usd\":0.0}");
    ck_assert_uint_eq(httpd_requests(d), 3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("models");
    TCase *tc = tcase_create("models");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_provider_gets_the_request);
    tcase_add_test(tc, an_alias_has_its_config);
    tcase_add_test(tc, it_is_paid_for);
    tcase_add_test(tc, each_call_counts);
    tcase_add_test(tc, a_reply_is_one);
    tcase_add_test(tc, calls_are_told_apart);
    tcase_add_test(tc, timeouts_hold);
    tcase_add_test(tc, a_provider_keeps_nothing);
    tcase_add_loop_test(tc, json_is_judged, 0,
                        sizeof replies / sizeof replies[0]);
    tcase_add_test(tc, vectors);
    tcase_add_loop_test(tc, requests_are_judged, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(tc, absent_providers);
    tcase_add_loop_test(tc, deployments_are_judged, 0,
                        sizeof deployments / sizeof deployments[0]);
    tcase_add_test(tc, closing_while_it_speaks);
    tcase_add_test(tc, a_reply_is_kept);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
