/* test_model_author.c -- a provider of models that somebody else wrote:
 * examples/plugin-model, built against the installed package, signed and trusted
 * as its README says, with nothing of the tree.
 *
 * What it asks is a fake Ollama server: it says the lines that a test tells it,
 * and keeps what it was asked.  There is no model anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/package.h"
#include "lib/test.h"

/* Of scripts: the author's directory, where `mortise` is the installed one.  The
 * user is one who never had this plugin. */
#define AUTHOR                                                                 \
    "unset CFLAGS CXXFLAGS LDFLAGS\n"                                          \
    "export XDG_STATE_HOME=$PWD/home PATH=$PWD/$bin:$PATH\n"                   \
    "cd plugin-model\n"

static struct httpd *fake_ollama;
static json_t *shown; /* of the last run */

/* ---- the fake server ------------------------------------------------------ */

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
#define MESSAGE(members)                                                       \
    "{\"model\":\"tiny:1b\",\"created_at\":\"2026-01-01T00:00:00Z\","          \
    "\"message\":{\"role\":\"assistant\"," members "},\"done\":false}\n"
#define TEXT(text) MESSAGE("\"content\":\"" text "\"")
#define CALL(arguments)                                                        \
    "{\"function\":{\"name\":\"text__hash\",\"arguments\":" arguments "}}"
#define DONE(reason)                                                           \
    "{\"model\":\"tiny:1b\",\"message\":{\"role\":\"assistant\",\"content\":"  \
    "\"\"},\"done\":true,\"done_reason\":\"" reason                            \
    "\",\"total_duration\":5,\"prompt_eval_count\":26,\"eval_count\":12}\n"

/* The next answer is a stream of these bytes, one a packet: no line comes in
 * one piece, nor does any character that has several. */
static void fake_ollama_streams(const char *lines)
{
    httpd_on(fake_ollama, "/api/chat");
    httpd_say(fake_ollama, HEAD "Connection: close\r\n\r\n");
    httpd_split(fake_ollama, lines);
    httpd_close(fake_ollama);
    httpd_times(fake_ollama, 1);
}

/* The next answer is whole. */
static void fake_ollama_answers(const char *status, const char *headers,
                                const char *body)
{
    httpd_answer(fake_ollama, "/api/chat", status, headers, body);
    httpd_times(fake_ollama, 1);
}

/* What the i-th request asked for. */
static json_t *fake_ollama_was_asked(size_t i)
{
    const char *text = httpd_request(fake_ollama, i);
    const char *body = strstr(text, "\r\n\r\n");
    json_t *out;

    ck_assert_msg(strncmp(text, "POST /api/chat HTTP/1.1\r\n", 25) == 0,
                  "request %zu: %s", i, text);
    out = json_loads(body + 4, 0, NULL);
    ck_assert_msg(out != NULL, "request %zu is no JSON: %s", i, body);
    return out;
}

/* ---- the author ----------------------------------------------------------- */

/* A directory of examples/plugin-model, of that name. */
static void copy_example(const char *name)
{
    char script[256];

    snprintf(script, sizeof script, "cp -r $TREE/examples/plugin-model %s\n",
             name);
    package_must(script);
}

static void author_begin(void)
{
    package_install();
    copy_example("plugin-model");
    package_must(AUTHOR "make -s\n"
                        "mortise key trust acme.pub --plugins 'acme.*' "
                        "--in-process --trust trust.d\n");
}

static void setup(void)
{
    fake_ollama = httpd_start();
}

static void teardown(void)
{
    json_decref(shown);
    shown = NULL;
    httpd_stop(fake_ollama);
    fake_ollama = NULL;
}

/* ---- running it ----------------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "plugin-model/%s", name);
    test_write(package_file(path), text, strlen(text));
}

/* The alias `default` is the fake server, said in as many words as there are,
 * with more keys. */
static void deploy(const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: store}\ntrust: {dir: trust.d}\n"
             "plugins: {path: [dist]}\n"
             "models:\n  default: {provider: acme.ollama, model: 'tiny:1b', "
             "base_url: \"%s/ private\"%s}\n",
             httpd_url(fake_ollama, ""), more);
    put("t.yaml", text);
}

/* Run a node with these keys, in a store of its own; `code` is how that ends.
 * What it printed is then child.out, and what became of it `shown`. */
static void run(const char *node, int code)
{
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
             "start: a\nnodes:\n  a:\n    type: gmi\n%s    next: END\n",
             node);
    put("g.graph.yaml", text);
    snprintf(text, sizeof text,
             AUTHOR "rm -rf store\n"
                    "mortise run g.graph.yaml --deployment t.yaml --id r || "
                    "test $? = %d\n"
                    "mortise show r --json --deployment t.yaml >show.json\n",
             code);
    package_must(text);
    json_decref(shown);
    shown = json_load_file(package_file("plugin-model/show.json"), 0, NULL);
    ck_assert_ptr_nonnull(shown);
}

static void says(const char *text)
{
    ck_assert_msg(strstr(child.out, text) != NULL, "no '%s' in:\n%s%s", text,
                  child.out, child.err);
}

/* JSON, as written by somebody in a hurry: with ' for ". */
static json_t *json_of(const char *text)
{
    char *copy = strdup(text);
    json_error_t why;
    json_t *out;

    for (char *p = copy; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    out = json_loads(copy, JSON_DECODE_ANY, &why);
    ck_assert_msg(out != NULL, "%s in %s", why.text, copy);
    free(copy);
    return out;
}

/* Takes the value. */
static void is(json_t *value, const char *want)
{
    json_t *wanted = json_of(want);
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    ck_assert_msg(json_equal(value, wanted), "not %s:\n%s", want,
                  text != NULL ? text : "nothing");
    free(text);
    json_decref(wanted);
    json_decref(value);
}

static json_t *of_node(const char *member)
{
    return json_incref(json_object_get(
        json_array_get(json_object_get(shown, "nodes"), 0), member));
}

/* What it used, all of it by one model. */
static json_t *used(void)
{
    json_t *usage = of_node("usage");

    ck_assert_uint_eq(json_object_size(json_object_get(usage, "by_model")), 1);
    json_object_del(usage, "by_model");
    return usage;
}

/* An error without a class is permanent. */
static void failed(const char *code, const char *class, const char *words)
{
    json_t *error = of_node("error");
    char *text = json_dumps(error, JSON_ENCODE_ANY);
    const char *said = json_string_value(json_object_get(error, "code"));
    const char *kind = json_string_value(json_object_get(error, "class"));
    const char *why = json_string_value(json_object_get(error, "message"));

    ck_assert_msg(said != NULL && why != NULL, "no error in %s", child.out);
    ck_assert_msg(strcmp(said, code) == 0 && strstr(why, words) != NULL &&
                      strcmp(kind != NULL ? kind : "permanent", class) == 0,
                  "not %s, %s, %s: %s", code, class, words, text);
    free(text);
    json_decref(error);
}

/* ---- what its README says -------------------------------------------------- */

/* A stranger builds it, runs it unsigned, makes a key, signs, has it trusted and
 * runs it: word for word, but for where the server is.  Each run is a round with
 * a tool, told as it comes. */
START_TEST(readme_is_true)
{
    char script[1024];
    json_t *asked;

    for (int i = 0; i < 2; i++) {
        fake_ollama_streams(
            MESSAGE("\"content\":\"\",\"thinking\":\"A digest: \"")
                MESSAGE("\"content\":\"\",\"thinking\":\"a tool.\"")
                    MESSAGE("\"content\":\"\",\"tool_calls\":[" CALL(
                        "{\"text\":\"mortise\"}") "]") DONE("stop"));
        fake_ollama_streams(TEXT("It is ") TEXT("eac1\\u2026, \xc3\xa0 la ")
                                TEXT("\\\"carte\\\".") DONE("stop"));
    }
    copy_example("stranger");
    snprintf(script, sizeof script,
             "unset CFLAGS CXXFLAGS LDFLAGS\n"
             "export XDG_STATE_HOME=$PWD/home-2 PATH=$PWD/$bin:$PATH\n"
             "cd stranger\n"
             "grep -c http://localhost:11434 mortise.yaml dev.yaml >&2\n"
             "sed -i 's|http://localhost:11434|%s|' mortise.yaml dev.yaml\n"
             "sed -n '/^```sh tested/,/^```$/{/^```/!p}' README.md >readme\n"
             "sh -e readme\n",
             httpd_url(fake_ollama, ""));
    package_must(script);
    says("code=unsigned_plugin plugin=acme.ollama");
    says("(unsigned plugin)");
    says("run one completed");
    says("reasoning_delta answer text=A digest: ");
    says("tool_call answer tool=text/hash");
    says("arguments={\"text\":\"mortise\"} tool_use_id=call_1");
    says("text_delta answer text=It is ");
    says("text_delta answer text=eac1\xe2\x80\xa6, \xc3\xa0 la ");
    says("\"answer\": \"It is eac1\xe2\x80\xa6, \xc3\xa0 la \\\"carte\\\".\"");
    says("\"model_calls\":2,\"input_tokens\":52,\"output_tokens\":24");
    says("\"models\":[\"tiny:1b\"]");
    ck_assert_uint_eq(httpd_requests(fake_ollama), 4);
    asked = fake_ollama_was_asked(3);
    is(json_incref(json_object_get(asked, "messages")),
       "[{'role': 'system', 'content': 'Never make a digest up. Use the tool, "
       "then answer in one sentence.', 'images': [], 'tool_calls': []},"
       "{'role': 'user', 'content': 'What is the SHA-256 digest of the word "
       "\\'mortise\\'?', 'images': [], 'tool_calls': []},"
       "{'role': 'assistant', 'content': '', 'thinking': 'A digest: a tool.', "
       "'images': [], 'tool_calls': [{'function': {'name': 'text__hash', "
       "'arguments': {'text': 'mortise'}}}]},"
       "{'role': 'tool', 'tool_name': 'text__hash', 'content': "
       "'{\\'hex\\':\\'"
       "eac14119f691c4467bbfc815499669795214a904c649e3f4c50b65341"
       "dbce916\\',\\'bytes\\':7}', 'images': [], 'tool_calls': []}]");
    json_decref(asked);
}
END_TEST

/* ---- what is asked ---------------------------------------------------------- */

/* Each member of a request arrives where the server has it. */
START_TEST(a_request_becomes_the_servers)
{
    json_t *asked;

    deploy(", price: {input_per_mtok: 1000, output_per_mtok: 2000}");
    fake_ollama_streams(TEXT("{\\\"n\\\": 3}") DONE("stop"));
    run("    instructions: Be short.\n"
        "    prompt: [{type: text, text: one}, {type: text, text: two}, {type: "
        "image, media_type: image/png, data: aGk=}]\n"
        "    temperature: 0.25\n    max_tokens: 100\n"
        "    reasoning_effort: high\n"
        "    extra: {keep_alive: 10m, stream: true}\n"
        "    output_schema: {type: object, properties: {n: {type: number}}}\n",
        0);
    is(of_node("output"), "{'n': 3.0}");
    is(used(),
       "{'model_calls': 1, 'input_tokens': 26, 'output_tokens': 12, 'usd': "
       "0.05, 'models': ['tiny:1b']}");
    asked = fake_ollama_was_asked(0);
    is(asked, "{'model': 'tiny:1b', 'think': 'high', 'format': {'type': "
              "'object', 'properties': {'n': {'type': 'number'}}}, 'options': "
              "{'temperature': 0.25, 'num_predict': 100}, 'tools': [], "
              "'messages': [{'role': 'system', 'content': 'Be short.', "
              "'images': [], 'tool_calls': []}, {'role': 'user', 'content': "
              "'one\\n\\ntwo', 'images': ['aGk='], 'tool_calls': []}], "
              "'keep_alive': '10m', 'stream': true}");
}
END_TEST

/* Calls of one reply, whatever lines they come in, have ids of their own, and
 * each its result, an error among them. */
START_TEST(calls_have_ids_and_results)
{
    json_t *asked, *messages;

    deploy("");
    fake_ollama_streams(
        MESSAGE("\"content\":\"Let me see.\",\"tool_calls\":[" CALL(
            "{\"text\":\"a\"}") "," CALL("{\"wrong\":1}") "]")
            MESSAGE("\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":"
                    "\"nope\",\"arguments\":{}}}]") DONE("stop"));
    fake_ollama_streams(TEXT("done") DONE("stop"));
    run("    prompt: hash\n    tool_allowlist: [text/hash]\n", 0);
    is(of_node("output"), "'done'");
    says("tool_use_id=call_1");
    says("tool_use_id=call_2");
    asked = fake_ollama_was_asked(1);
    messages = json_object_get(asked, "messages");
    ck_assert_uint_eq(json_array_size(messages), 5);
    is(json_incref(json_array_get(messages, 1)),
       "{'role': 'assistant', 'content': 'Let me see.', 'images': [], "
       "'tool_calls': [{'function': {'name': 'text__hash', 'arguments': "
       "{'text': 'a'}}}, {'function': {'name': 'text__hash', 'arguments': "
       "{'wrong': 1}}}, {'function': {'name': 'nope', 'arguments': {}}}]}");
    for (size_t i = 2; i < 5; i++) {
        const char *text = json_string_value(
            json_object_get(json_array_get(messages, i), "content"));

        ck_assert_msg((strncmp(text, "error: ", 7) == 0) == (i > 2), "%s",
                      text);
    }
    json_decref(asked);
}
END_TEST

/* What the server has no way for is refused before it is asked. */
static const struct {
    const char *node, *words;
} refused[] = {
    {"    prompt: [{type: image, url: \"http://x/y.png\"}]\n", "URLs"},
    {"    prompt: [{type: file, media_type: a/b, data: aGk=}]\n", "files"},
    {"    prompt: x\n    tool_allowlist: [text/hash]\n    tool_choice: "
     "required\n",
     "tool_choice"},
};

START_TEST(what_it_cannot_ask_is_refused)
{
    deploy("");
    run(refused[_i].node, 1);
    failed("model.request", "permanent", refused[_i].words);
    ck_assert_uint_eq(httpd_requests(fake_ollama), 0);
}
END_TEST

/* ---- what comes of it ------------------------------------------------------- */

/* Nothing is told where the node says so, and the last line may lack its end. */
START_TEST(without_a_stream)
{
    deploy("");
    fake_ollama_answers("200 OK", "",
                        "{\"model\":\"tiny:1b\",\"message\":{\"role\":"
                        "\"assistant\",\"content\":\"all at once\"},"
                        "\"done\":true}");
    run("    prompt: x\n    stream: false\n", 0);
    is(of_node("output"), "'all at once'");
    ck_assert_ptr_null(strstr(child.out, "text_delta"));
    is(used(), "{'model_calls': 1, 'input_tokens': 0, "
                         "'output_tokens': 0, 'usd': 0.0, 'models': "
                         "['tiny:1b']}");
}
END_TEST

/* Behind its end a stream may break off as it likes. */
START_TEST(an_end_is_an_end)
{
    deploy("");
    httpd_on(fake_ollama, "/api/chat");
    httpd_say(fake_ollama, HEAD "Content-Length: 100000\r\n\r\n");
    httpd_say(fake_ollama, TEXT("whole") DONE("stop") "{\"error\":");
    httpd_wait(fake_ollama, 50);
    httpd_reset(fake_ollama);
    run("    prompt: x\n", 0);
    is(of_node("output"), "'whole'");
}
END_TEST

/* One that was cut by the model's bound is what the node makes of such. */
START_TEST(a_cut_reply_is_said_to_be)
{
    deploy("");
    fake_ollama_streams(TEXT("too lo") DONE("length"));
    run("    prompt: x\n    max_tokens: 12\n", 1);
    failed("length", "permanent", "");
    is(used(), "{'model_calls': 1, 'input_tokens': 26, "
                         "'output_tokens': 12, 'usd': 0.0, 'models': "
                         "['tiny:1b']}");
}
END_TEST

/* A server that does not do what it should: what it says, and what that is
 * called.  NULL: the stream is all that it says. */
static const struct {
    const char *status, *says, *code, *class, *words;
} errors[] = {
    {"404 Not Found", "{\"error\":\"model 'tiny:1b' not found\"}",
     "model.not_found", "permanent", "status 404: model 'tiny:1b' not found"},
    {"400 Bad Request", "{\"error\":\"it does not support tools\"}",
     "model.request", "permanent", "it does not support tools"},
    {"400 Bad Request",
     "{\"error\":\"the input length exceeds the context length\"}",
     "model.context", "permanent", "exceeds"},
    {"401 Unauthorized", "{\"error\":\"unauthorized\"}", "model.auth",
     "permanent", "unauthorized"},
    {"429 Too Many Requests", "{\"error\":\"slowly\"}", "model.rate_limit",
     "transient", "slowly"},
    {"500 Internal Server Error", "{\"error\":\"llama runner died\"}",
     "model.server", "transient", "llama runner died"},
    {"503 Service Unavailable", "{\"error\":\"server busy\"}",
     "model.overloaded", "transient", "server busy"},
    {"502 Bad Gateway", "<html>nginx</html>", "model.server", "transient",
     "status 502"},
    {"307 Temporary Redirect", "", "model.protocol", "permanent", "status 307"},
    {"200 OK", "<html>\n<p>Ollama is running</p>\n</html>\n", "model.protocol",
     "permanent", "base_url"},
    {"200 OK", "", "model.stream", "transient", "ended before"},
    {NULL, TEXT("so far so ") "{\"error\":\"the runner stopped\"}\n",
     "model.server", "transient", "the runner stopped"},
    {NULL, TEXT("so far so "), "model.stream", "transient", "ended before"},
    {NULL, TEXT("so far so ") "{\"model\":\"tiny:1b\",\"mess", "model.stream",
     "transient", "broke off"},
};

START_TEST(errors_have_names)
{
    deploy("");
    if (errors[_i].status != NULL)
        httpd_answer(fake_ollama, "/api/chat", errors[_i].status,
                     "Location: /elsewhere\r\n", errors[_i].says);
    else
        fake_ollama_streams(errors[_i].says);
    run("    prompt: x\n", 1);
    failed(errors[_i].code, errors[_i].class, errors[_i].words);
    ck_assert_uint_eq(httpd_requests(fake_ollama), 1);
    ck_assert((strstr(child.out, "text_delta a text=so far so ") != NULL) ==
              (errors[_i].status == NULL));
    is(used(), "{'model_calls': 1, 'input_tokens': 0, 'output_tokens': 0, "
               "'usd': 0.0, 'models': ['tiny:1b']}");
}
END_TEST

/* A connection that is lost in the middle of a stream, and none at all. */
START_TEST(connections_are_lost)
{
    deploy("");
    httpd_on(fake_ollama, "/api/chat");
    httpd_say(fake_ollama, HEAD "Content-Length: 1000\r\n\r\n" TEXT("one "));
    httpd_wait(fake_ollama, 50);
    httpd_reset(fake_ollama);
    run("    prompt: x\n", 1);
    failed("model.stream", "transient", "");
    httpd_stop(fake_ollama);
    fake_ollama = NULL;
    run("    prompt: x\n", 1);
    failed("model.connect", "transient", "connect");
}
END_TEST

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What may pass is tried again by the node, no sooner than the server said. */
START_TEST(another_try_waits_as_it_was_told)
{
    double before = now();

    deploy("");
    fake_ollama_answers("503 Service Unavailable", "Retry-After: 1\r\n",
                        "{\"error\":\"loading\"}");
    fake_ollama_streams(TEXT("at last") DONE("stop"));
    run("    prompt: x\n    retry_policy: {max_attempts: 2, delay: 1ms}\n", 0);
    is(of_node("output"), "'at last'");
    ck_assert_uint_eq(httpd_requests(fake_ollama), 2);
    ck_assert_double_ge(now() - before, 1.0);
}
END_TEST

/* Silence has its end, as the alias says; and so has the node, whose plugin lets
 * go of the call at once. */
static const struct {
    const char *model, *node, *code, *words;
} times[] = {
    {", idle_timeout: 200ms", "    prompt: x\n", "model.timeout", "200 ms"},
    {", timeout: 200ms", "    prompt: x\n", "model.timeout", "200 ms"},
    {"", "    prompt: x\n    timeout: 200ms\n", "timeout.call",
     "longer than 200 ms, its `timeout`"},
};

START_TEST(time_runs_out)
{
    double before = now();

    deploy(times[_i].model);
    httpd_on(fake_ollama, "/api/chat");
    httpd_say(fake_ollama, HEAD "Connection: close\r\n\r\n" TEXT("one "));
    httpd_wait(fake_ollama, 60000);
    run(times[_i].node, 1);
    failed(times[_i].code, "timeout", times[_i].words);
    ck_assert_double_lt(now() - before, 30);
}
END_TEST

/* What a deployment says of it is judged by the manifest alone: no server is
 * there, and nothing of the plugin runs. */
START_TEST(a_config_is_checked)
{
    put("bad.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                    "metadata: {name: t}\nstore: {path: store}\n"
                    "trust: {dir: trust.d}\nplugins: {path: [dist]}\n"
                    "models:\n  default: {provider: acme.ollama, model: m, "
                    "base_url: \"ftp://x\"}\n"
                    "  other: {provider: acme.ollama, model: m, bas_url: x}\n");
    package_must(AUTHOR "! mortise check bad.yaml >out 2>&1 && cat out\n");
    says("ftp://x");
    says("bas_url");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("model_author");
    TCase *tc = tcase_create("plugin-model");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, author_begin, package_remove);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, readme_is_true);
    tcase_add_test(tc, a_request_becomes_the_servers);
    tcase_add_test(tc, calls_have_ids_and_results);
    tcase_add_loop_test(tc, what_it_cannot_ask_is_refused, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(tc, without_a_stream);
    tcase_add_test(tc, an_end_is_an_end);
    tcase_add_test(tc, a_cut_reply_is_said_to_be);
    tcase_add_loop_test(tc, errors_have_names, 0,
                        sizeof errors / sizeof errors[0]);
    tcase_add_test(tc, connections_are_lost);
    tcase_add_test(tc, another_try_waits_as_it_was_told);
    tcase_add_loop_test(tc, time_runs_out, 0, sizeof times / sizeof times[0]);
    tcase_add_test(tc, a_config_is_checked);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
