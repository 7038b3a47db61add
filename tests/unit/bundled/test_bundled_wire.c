/* test_bundled_wire.c -- the plugins that speak to model servers, in an engine,
 * against a server that says exactly the bytes it was told to.  What they make of
 * them is their own tests'; here is what the host has a part in, and that
 * whatever a server does ends in a reply or in an error of docs/models.md. */
#include <check.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/common/engine.h"
#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/matrix.h"
#include "lib/shelf.h"
#include "lib/warm.h"

#define HI "messages: [{role: user, parts: [{type: text, text: Hi}]}]"
#define CHUNK(delta, reason)                                                   \
    "data: {\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{" delta     \
    "},\"finish_reason\":" reason "}]}\r\n\r\n"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static struct httpd *d;
static char dir[PATH_MAX - 64], heard[256];
static json_t *show; /* of the last run */

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "asks_model");
    shelf_sign(&shelf, "openai", "plugins/model/openai/openai.plugin.yaml",
               child_build("plugins/openai.so"));
    shelf_sign(&shelf, "anthropic",
               "plugins/model/anthropic/anthropic.plugin.yaml",
               child_build("plugins/anthropic.so"));
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

/* A file of ours; static until the next call. */
static const char *put(const char *name, const char *text)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
    return path;
}

static void setup(void)
{
    struct mortise_options o = {.size = sizeof o, .mem = &test_mem};
    char text[3 * PATH_MAX], store[PATH_MAX];

    warm_libuv();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    setenv("T_KEY", "0123456789abcdef", 1);
    d = httpd_start();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "secrets: {k: {env: T_KEY}}\n"
             "models:\n"
             "  default: {provider: openai, model: m, api_key: secret://k, "
             "base_url: \"%s\", price: {input_per_mtok: 2, output_per_mtok: "
             "10, cached_per_mtok: 1}}\n"
             "  responses: {provider: openai, api: responses, model: m, "
             "base_url: \"%s\", idle_timeout: 1500ms}\n"
             "  messages: {provider: anthropic, model: m, base_url: \"%s\", "
             "idle_timeout: 1500ms}\n"
             "  chat: {provider: openai, model: m, base_url: \"%s\", "
             "idle_timeout: 1500ms}\n",
             shelf.plugins, shelf.trust, httpd_url(d, "/v1"),
             httpd_url(d, "/v1"), httpd_url(d, ""), httpd_url(d, "/v1"));
    snprintf(store, sizeof store, "%s/store", dir);
    o.store = store;
    o.deployment = put("mortise.yaml", text);
    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
    m->quiesce_ms = 300;
}

static void teardown(void)
{
    json_decref(show);
    show = NULL;
    mortise_close(m);
    httpd_stop(d);
    test_rmdir(dir);
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

static int hear(void *ud, const char *json, size_t n)
{
    json_t *event = json_loadb(json, n, 0, NULL);
    const char *text = json_string_value(json_object_get(event, "text"));

    (void)ud;
    if (text != NULL)
        snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s|",
                 text);
    json_decref(event);
    return 0;
}

/* A run of one node that asks for that, to its end. */
static void run(const char *operation, const char *args, const char *more)
{
    struct mortise_start_options s = {
        .size = sizeof s, .input = "{}", .event = hear};
    char text[4096], run_id[MORTISE_RUN_MAX], *report = NULL;
    struct mortise_graph *g;
    int status;

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: asks_model/%s, args: {%s}%s}\n",
             operation, args, more);
    ck_assert_msg(mortise_load(m, put("g.yaml", text), &g, &report, &err) ==
                      MORTISE_OK,
                  "%s", report);
    mortise_free(m, report);
    heard[0] = '\0';
    ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
    ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, &err), MORTISE_OK);
    report = NULL;
    ck_assert_int_eq(mortise_show(m, NULL, run_id, &report, &err), MORTISE_OK);
    json_decref(show);
    show = json_loads(report, 0, NULL);
    ck_assert_ptr_nonnull(show);
    mortise_free(m, report);
}

/* What the node gave has that at "MEMBER/MEMBER". */
static void gave(const char *path, const char *want)
{
    const json_t *have = json_object_get(
        json_array_get(json_object_get(show, "nodes"), 0), "output");
    json_t *value = json_loads(want, JSON_DECODE_ANY, NULL);
    char *all = json_dumps(show, 0), name[64];

    for (; *path != '\0';
         path += strcspn(path, "/") + (strchr(path, '/') != 0)) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(path, "/"), path);
        have = json_object_get(have, name);
    }
    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(have, value), "no %s in %s", want, all);
    json_decref(value);
    free(all);
}

/* A text of the i-th part of its reply. */
static const char *reply_part(size_t i, const char *name)
{
    const json_t *nodes = json_object_get(show, "nodes"), *parts;

    parts = json_object_get(
        json_object_get(
            json_object_get(json_object_get(json_array_get(nodes, 0), "output"),
                            "reply"),
            "message"),
        "parts");
    return json_string_value(json_object_get(json_array_get(parts, i), name));
}

static bool asked(size_t i, const char *text)
{
    return strstr(httpd_request(d, i), text) != NULL;
}

#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

/* A stream is told while it comes, byte by byte even; its key goes out with the
 * request, and what it used is paid for. */
START_TEST(a_stream)
{
    httpd_on(d, "/v1/chat/completions");
    httpd_say(d, STREAM);
    httpd_split(d, CHUNK("\"reasoning\":\"hm\"", "null")
                       CHUNK("\"content\":\"Gr\xc3\xbc\"", "null"));
    httpd_wait(d, 50);
    httpd_say(
        d,
        CHUNK("\"content\":\"\xc3\x9f"
              "e\"",
              "null")
            CHUNK(
                "",
                "\"stop\"") "data: "
                            "{\"choices\":[],\"usage\":{\"prompt_tokens\":1000,"
                            "\"completion_tokens\":10,\"prompt_tokens_"
                            "details\":"
                            "{\"cached_tokens\":500}}}\r\n\r\ndata: "
                            "[DONE]\r\n\r\n");
    httpd_close(d);
    run("call", HI ", stream: true", "");
    gave("reply/stop", "\"end\"");
    ck_assert_str_eq(reply_part(0, "text"), "hm");
    ck_assert_str_eq(reply_part(1, "text"), "Gr\xc3\xbc\xc3\x9f"
                                            "e");
    gave("usage",
         "{\"model_calls\":1,\"input_tokens\":1000,\"output_tokens\":10,"
         "\"cached_tokens\":500,\"usd\":0.0016,\"models\":[\"m-1\"]}");
    ck_assert_str_eq(heard, "hm|Gr\xc3\xbc|\xc3\x9f"
                            "e|");
    ck_assert(asked(0, "POST /v1/chat/completions HTTP/1.1\r\n"));
    ck_assert(asked(0, "Authorization: Bearer 0123456789abcdef\r\n"));
    ck_assert(asked(0, "Accept: text/event-stream\r\n"));
    ck_assert(asked(0, "Content-Type: application/json\r\n"));
    ck_assert(
        asked(0, "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"));
}
END_TEST

/* A stream that is cut is an error that may go away, in a length that was
 * promised and in one that was not. */
START_TEST(a_cut)
{
    httpd_on(d, "/v1/chat/completions");
    httpd_say(d, STREAM CHUNK("\"content\":\"a\"", "null") "data: {\"cho");
    httpd_close(d);
    httpd_times(d, 1);
    httpd_on(d, "/v1/chat/completions");
    httpd_say(d, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "5\r\ndata:\r\n");
    httpd_close(d);
    run("call", HI ", stream: true", "");
    gave("error/code", "\"model.stream\"");
    run("call", HI ", stream: true", "");
    gave("error/code", "\"model.stream\"");
    gave("error/class", "\"transient\"");
    ck_assert_uint_eq(httpd_requests(d), 2);
}
END_TEST

/* The server's wait is the error's, and nothing is tried again here. */
START_TEST(an_error)
{
    httpd_answer(d, "/v1/chat/completions", "429 Slow", "Retry-After: 3\r\n",
                 "{\"error\":{\"message\":\"slower\",\"code\":"
                 "\"rate_limit_exceeded\"}}");
    run("call", HI, "");
    gave("error", "{\"code\":\"model.rate_limit\",\"class\":\"transient\","
                  "\"message\":\"the server answered with status 429: slower\","
                  "\"retry_after_ms\":3000}");
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* A redirect is not followed: where the key goes is base_url's to say. */
START_TEST(a_redirect)
{
    httpd_answer(d, "/v1/chat/completions", "307 There",
                 "Location: /v2/chat/completions\r\n", "");
    run("call", HI, "");
    ck_assert_uint_eq(httpd_requests(d), 1);
    gave("error/code", "\"model.protocol\"");
}
END_TEST

/* Vectors, of the same alias. */
START_TEST(vectors)
{
    httpd_answer(d, "/v1/embeddings", "200 OK", "",
                 "{\"data\":[{\"index\":1,\"embedding\":[0.5,1]},{\"index\":0,"
                 "\"embedding\":[1,-0.25]}],\"usage\":{\"prompt_tokens\":4}}");
    run("embed", "texts: [a, b]", "");
    gave("reply/vectors", "[[1,-0.25],[0.5,1]]");
}
END_TEST

/* A node that runs out of time ends its request: the server would answer for 20 s. */
START_TEST(a_timeout)
{
    httpd_on(d, "/v1/chat/completions");
    httpd_say(d, STREAM CHUNK("\"content\":\"a\"", "null"));
    httpd_wait(d, 20000);
    run("call", HI ", stream: true", ", timeout: 300ms");
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(show, "error"), "class")),
                     "timeout");
}
END_TEST

/* ---- all of them ------------------------------------------------------------- */

static const struct {
    const char *alias, *path, *recorded;
    /* What a server's error looks like there, with a message in it. */
    const char *error;
} dialects[] = {
    {"chat", "/v1/chat/completions", "tests/replies/openai/chat_calls.sse",
     "{\"error\":{\"message\":\"no\",\"type\":\"t\",\"code\":null}}"},
    {"responses", "/v1/responses", "tests/replies/openai/responses_calls.sse",
     "{\"error\":{\"message\":\"no\",\"type\":\"t\",\"code\":null}}"},
    {"messages", "/v1/messages", "tests/replies/anthropic/messages_calls.sse",
     "{\"type\":\"error\",\"error\":{\"type\":\"t\",\"message\":\"no\"}}"},
};
enum { N_DIALECTS = 3 };

/* Ask that server, for a stream or not. */
static void ask(int dialect, bool stream)
{
    char args[512];

    snprintf(args, sizeof args, "alias: %s, " HI "%s", dialects[dialect].alias,
             stream ? ", stream: true" : "");
    run("call", args, "");
}

static const json_t *answer(void)
{
    return json_object_get(json_array_get(json_object_get(show, "nodes"), 0),
                           "output");
}

static void is_error(const char *code, const char *klass)
{
    const json_t *error = json_object_get(answer(), "error");
    const char *is = json_string_value(json_object_get(error, "code"));
    char *all = json_dumps(answer(), JSON_ENCODE_ANY);

    ck_assert_msg(is != NULL && strcmp(is, code) == 0, "no %s: %s", code, all);
    ck_assert_str_eq(json_string_value(json_object_get(error, "class")), klass);
    free(all);
}

static const struct {
    int status;
    const char *code, *klass;
} statuses[] = {
    {400, "model.request", "permanent"},
    {401, "model.auth", "permanent"},
    {403, "model.auth", "permanent"},
    {404, "model.not_found", "permanent"},
    {408, "model.timeout", "timeout"},
    {409, "model.server", "transient"},
    {413, "model.request", "permanent"},
    {422, "model.request", "permanent"},
    {429, "model.rate_limit", "transient"},
    {500, "model.server", "transient"},
    {502, "model.server", "transient"},
    {503, "model.overloaded", "transient"},
    {504, "model.server", "transient"},
    {529, "model.overloaded", "transient"},
};
enum { N_STATUSES = sizeof statuses / sizeof statuses[0] };

/* Every status that servers answer with is the error that docs/models.md has,
 * with a body in the server's own form, in somebody else's, or without one. */
START_TEST(statuses_are_errors)
{
    int i = _i % N_STATUSES, k = _i / N_STATUSES;
    const char *bodies[] = {dialects[k].error, "<html>proxy</html>", ""};
    char line[32];

    snprintf(line, sizeof line, "%d Said", statuses[i].status);
    for (int b = 0; b < 3; b++) {
        httpd_answer(d, dialects[k].path, line,
                     b == 1 ? "Content-Type: text/html\r\n"
                            : "Content-Type: application/json\r\n",
                     bodies[b]);
        httpd_times(d, 1);
        ask(k, b != 2);
        is_error(statuses[i].code, statuses[i].klass);
    }
}
END_TEST

/* A reply that is cut at a byte, whichever, is an error that may pass, or, once the server
 * has said why it ends, the reply. */
START_TEST(cuts_at_every_byte)
{
    size_t size, whole = 0, step = matrix_step(5);
    char *text = test_read(dialects[_i].recorded, &size);
    json_t *reply;

    httpd_on(d, dialects[_i].path);
    httpd_say(d, STREAM);
    httpd_send(d, text, size);
    httpd_close(d);
    httpd_times(d, 1);
    ask(_i, true);
    reply = json_deep_copy(json_object_get(answer(), "reply"));
    ck_assert_ptr_nonnull(reply);
    httpd_on(d, dialects[_i].path);
    httpd_say(d, STREAM);
    httpd_prefixes(d, text, size, step);
    httpd_close(d);
    for (size_t n = 0; n < size; n += step) {
        const json_t *got, *error;

        ask(_i, true);
        got = json_object_get(answer(), "reply");
        error = json_object_get(answer(), "error");
        whole += got != NULL;
        ck_assert_msg(got == NULL || json_equal(got, reply), "cut at %zu", n);
        if (got == NULL)
            is_error("model.stream", "transient");
        ck_assert(got == NULL || error == NULL);
    }
    ck_assert_uint_lt(whole, size / step / 4);
    json_decref(reply);
    free(text);
}
END_TEST

/* It may come byte by byte, slowly even: that is no silence. */
START_TEST(trickles_are_replies)
{
    size_t size;
    char *text = test_read(dialects[_i].recorded, &size);

    httpd_on(d, dialects[_i].path);
    httpd_say(d, STREAM);
    httpd_split(d, text);
    httpd_close(d);
    httpd_times(d, 1);
    ask(_i, true);
    ck_assert_uint_eq(
        json_array_size(json_object_get(
            json_object_get(json_object_get(answer(), "reply"), "message"),
            "parts")) >= 2,
        1);
    httpd_on(d, dialects[_i].path);
    httpd_say(d, STREAM);
    for (size_t at = 0; at < size; at += 1 + size / 8) {
        httpd_wait(d, 150);
        httpd_send(d, text + at,
                   at + 1 + size / 8 < size ? 1 + size / 8 : size - at);
    }
    httpd_close(d);
    httpd_times(d, 1);
    ask(_i, true);
    ck_assert_ptr_nonnull(json_object_get(answer(), "reply"));
    free(text);
}
END_TEST

/* ... and silence, before the answer or in it, is an error that may pass. */
START_TEST(silence_is_an_error)
{
    size_t size;
    char *text = test_read(dialects[_i].recorded, &size);

    for (int begun = 0; begun < 2; begun++) {
        httpd_on(d, dialects[_i].path);
        if (begun) {
            httpd_say(d, STREAM);
            httpd_send(d, text, size / 2);
        }
        httpd_wait(d, 5000);
        httpd_times(d, 1);
        ask(_i, true);
        is_error("model.timeout", "timeout");
    }
    free(text);
}
END_TEST

/* What calls itself something else is what it is, or nothing: never a crash,
 * never half a reply. */
START_TEST(types_do_not_lie)
{
    static const char *const types[] = {
        "", "Content-Type: text/html\r\n", "Content-Type: image/png\r\n",
        "Content-Type: text/event-stream; charset=utf-8\r\n",
        "Content-Type: application/json\r\n"};
    static const char *const bodies[] = {"",
                                         "null",
                                         "[]",
                                         "{}",
                                         "\"a\"",
                                         "<html></html>",
                                         "\xff\xfe",
                                         "data: {}\n\n",
                                         "data: [DONE]\n\n",
                                         "{\"choices\":[]}",
                                         "{\"output\":[]}"};

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (size_t b = 0; b < sizeof bodies / sizeof bodies[0]; b++) {
            const char *code;
            char *all;

            httpd_answer(d, dialects[_i].path, "200 OK", types[t], bodies[b]);
            httpd_times(d, 1);
            ask(_i, (t + b) % 2 == 0);
            code = json_string_value(
                json_object_get(json_object_get(answer(), "error"), "code"));
            all = json_dumps(answer(), JSON_ENCODE_ANY);
            ck_assert_msg(code != NULL &&
                              (strcmp(code, "model.protocol") == 0 ||
                               strcmp(code, "model.stream") == 0),
                          "%s%s: %s", types[t], bodies[b], all);
            free(all);
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("bundled_wire");
    TCase *tc = tcase_create("wire");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, a_stream);
    tcase_add_test(tc, a_cut);
    tcase_add_test(tc, an_error);
    tcase_add_test(tc, a_redirect);
    tcase_add_test(tc, vectors);
    tcase_add_test(tc, a_timeout);
    tcase_add_loop_test(tc, statuses_are_errors, 0, N_DIALECTS * N_STATUSES);
    tcase_add_loop_test(tc, cuts_at_every_byte, 0, N_DIALECTS);
    tcase_add_loop_test(tc, trickles_are_replies, 0, N_DIALECTS);
    tcase_add_loop_test(tc, silence_is_an_error, 0, N_DIALECTS);
    tcase_add_loop_test(tc, types_do_not_lie, 0, N_DIALECTS);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
