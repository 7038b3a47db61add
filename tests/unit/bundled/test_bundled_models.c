/* test_bundled_models.c -- the bundled models through the whole of mortise:
 * behind an alias of a deployment, asked by a node, and answered by a server
 * that says exactly the bytes it was told to.  What each of them makes of which
 * answer is in test_bundled_NAME.c.
 *
 * All JSON here is written with ' for ", and q() makes it what it means. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/lone.h"
#include "lib/shelf.h"
#include "lib/warm.h"

static struct shelf shelf;
static struct httpd *d;

/* ---- around each test ---------------------------------------------------- */

static void sign_plugins(void)
{
    static const char *const names[] = {"anthropic", "scripted"};
    char manifest[PATH_MAX], object[PATH_MAX];

    shelf_init(&shelf);
    shelf_put(&shelf, "asks_model");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(manifest, sizeof manifest, "plugins/model/%s/%s.plugin.yaml",
                 names[i], names[i]);
        snprintf(object, sizeof object, "%s/%s.so", child_build("plugins"),
                 names[i]);
        shelf_sign(&shelf, names[i], manifest, object);
    }
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void setup(void)
{
    warm_libuv();
    lone_begin();
    d = httpd_start();
}

static void teardown(void)
{
    lone_end();
    httpd_stop(d);
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

/* What JSON that was written with ' means; lent for three more. */
static const char *q(const char *text)
{
    static char rooms[4][8192];
    static size_t next;
    char *room = rooms[next++ % 4];

    ck_assert_uint_lt(strlen(text), sizeof rooms[0]);
    strcpy(room, text);
    for (char *p = room; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    return room;
}

/* ---- asking -------------------------------------------------------------- */

#define SAY_A "{role: user, parts: [{type: text, text: a}]}"

/* An engine whose default model is of that provider. */
static void open_model(const char *provider, const char *config)
{
    char models[1024];

    snprintf(models, sizeof models, "{default: {provider: %s, model: m, %s}}",
             provider, config);
    lone_open_models(shelf.trust, shelf.plugins, models);
}

static void ask(const char *messages)
{
    lone_start("tool: asks_model/call, args: {stream: true, messages: [%s]}",
               messages);
}

/* What the one node of the run was answered; a new reference. */
static json_t *answer(void)
{
    json_t *nodes = lone_shown("nodes");
    json_t *out =
        json_incref(json_object_get(json_array_get(nodes, 0), "output"));

    ck_assert_int_eq(lone_status, MORTISE_RUN_COMPLETED);
    json_decref(nodes);
    return out;
}

/* A member of that. */
static void answers(const char *member, const char *want)
{
    json_t *out = answer(), *value = json_loads(q(want), 0, NULL);
    char *text = json_dumps(out, 0);

    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(json_object_get(out, member), value), "%s", text);
    free(text);
    json_decref(value);
    json_decref(out);
}

/* ---- scripted ------------------------------------------------------------ */

/* A deployment's script is what it says, also where tools are called, and its
 * replies are such as the contract has them. */
START_TEST(a_script)
{
    open_model("scripted", "replies: [{when: {turn: 0}, tool_calls: [{name: "
                           "f}]}, {when: {tool: rain}, json: {wet: true}}]");
    ask(SAY_A);
    answers("reply",
            "{'message':{'role':'assistant','parts':[{'type':'tool_call',"
            "'id':'call_0_1','name':'f','arguments':{}}]},'stop':'tools',"
            "'model':'m'}");
    answers("usage", "{'model_calls':1,'input_tokens':1,'output_tokens':0,"
                     "'usd':0.0,'models':['m']}");
    ask("{role: assistant, parts: [{type: tool_call, id: c, name: f, "
        "arguments: {}}]}, {role: tool, parts: [{type: tool_result, id: c, "
        "parts: [{type: text, text: rain}]}]}");
    answers("reply", "{'message':{'role':'assistant','parts':[{'type':'text',"
                     "'text':'{\\'wet\\':true}'}]},'stop':'end','model':'m'}");
    ask(SAY_A ", {role: assistant, parts: []}, " SAY_A);
    answers("error", "{'code':'model.request','class':'permanent','message':'"
                     "no scripted reply matches: turn 1, user \\'a\\''}");
}
END_TEST

/* ---- anthropic ----------------------------------------------------------- */

static void open_anthropic(void)
{
    char config[256];

    snprintf(config, sizeof config,
             "api_key: secret://key, base_url: \"%s\", price: "
             "{input_per_mtok: 5}",
             httpd_url(d, ""));
    open_model("anthropic", config);
}

#define EVENTS_HEAD                                                            \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"                   \
    "Request-Id: req_7\r\nConnection: close\r\n\r\n"

static const char begin[] =
    "data: {'type':'message_start','message':{'model':'claude-x','usage':"
    "{'input_tokens':30,'cache_read_input_tokens':70,'output_tokens':1}}}\n\n";

static const char think_and_call[] =
    "data: {'type':'content_block_start','index':0,'content_block':"
    "{'type':'thinking','thinking':''}}\n\n"
    "data: {'type':'content_block_delta','index':0,'delta':"
    "{'type':'thinking_delta','thinking':'hm \xe2\x98\x80'}}\n\n"
    "data: {'type':'content_block_delta','index':0,'delta':"
    "{'type':'signature_delta','signature':'c2ln/w=='}}\n\n"
    "data: {'type':'content_block_start','index':1,'content_block':"
    "{'type':'tool_use','id':'toolu_1','name':'f','input':{}}}\n\n"
    "data: {'type':'content_block_delta','index':1,'delta':"
    "{'type':'input_json_delta','partial_json':'{\\'x\\':2.50}'}}\n\n";

static const char say_hi[] =
    "data: {'type':'content_block_start','index':0,'content_block':"
    "{'type':'text','text':'hi'}}\n\n";

static const char end[] =
    "data: {'type':'message_delta','delta':{'stop_reason':'end_turn'},"
    "'usage':{'output_tokens':9}}\n\n"
    "data: {'type':'message_stop'}\n\n";

/* A reply that comes byte by byte; what it thought goes back to the server
 * through the run's record; the server gets the key, and the run pays. */
START_TEST(a_conversation)
{
    json_t *out;
    char *text, messages[4096];

    open_anthropic();
    httpd_on(d, "/v1/messages");
    httpd_say(d, EVENTS_HEAD);
    httpd_split(d, q(begin));
    httpd_split(d, q(think_and_call));
    httpd_split(d, q(end));
    httpd_close(d);
    ask(SAY_A);
    answers("usage", "{'model_calls':1,'input_tokens':100,'output_tokens':9,"
                     "'cached_tokens':70,'models':['claude-x'],'usd':0.0005}");
    ck_assert_ptr_nonnull(
        strstr(httpd_request(d, 0), "x-api-key: 0123456789abcdef\r\n"));
    out = answer();
    text = json_dumps(json_object_get(json_object_get(out, "reply"), "message"),
                      0);
    snprintf(messages, sizeof messages,
             SAY_A ", %s, {role: tool, parts: [{type: tool_result, id: "
                   "toolu_1, parts: [{type: text, text: r}]}]}",
             text);
    ask(messages);
    answers("usage", "{'model_calls':1,'input_tokens':100,'output_tokens':9,"
                     "'cached_tokens':70,'models':['claude-x'],'usd':0.0005}");
    ck_assert_ptr_nonnull(
        strstr(httpd_request(d, 1),
               q("{'role':'assistant','content':[{'type':'thinking',"
                 "'thinking':'hm \xe2\x98\x80','signature':'c2ln/w=='},"
                 "{'type':'tool_use','id':'toolu_1','name':'f','input':"
                 "{'x':2.5}}]}")));
    free(text);
    json_decref(out);
}
END_TEST

/* What a server says of its limits reaches who asked, and so does a connection
 * that is lost. */
START_TEST(failures)
{
    open_anthropic();
    httpd_answer(d, "/v1/messages", "529 Busy", "Retry-After: 2\r\n",
                 q("{'type':'error','error':{'type':'overloaded_error',"
                   "'message':'Overloaded'}}"));
    httpd_times(d, 1);
    httpd_on(d, "/v1/messages");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 "Content-Length: 100000\r\n\r\n");
    httpd_say(d, q(begin));
    httpd_close(d);
    ask(SAY_A);
    answers("error", "{'code':'model.overloaded','class':'transient',"
                     "'message':'the server answered with status 529, "
                     "overloaded_error: Overloaded','retry_after_ms':2000}");
    ask(SAY_A);
    answers("error", "{'code':'model.stream','class':'transient','message':'"
                     "the stream ended before the end of the reply'}");
}
END_TEST

/* Many at once, without a thread each. */
START_TEST(many_at_once)
{
    char ids[50][MORTISE_RUN_MAX];

    open_anthropic();
    httpd_on(d, "/v1/messages");
    httpd_say(d, EVENTS_HEAD);
    httpd_say(d, q(begin));
    httpd_wait(d, 300);
    httpd_say(d, q(say_hi));
    httpd_say(d, q(end));
    httpd_close(d);
    for (size_t i = 0; i < 50; i++) {
        ask(SAY_A);
        strcpy(ids[i], lone_run);
    }
    for (size_t i = 0; i < 50; i++) {
        strcpy(lone_run, ids[i]);
        answers("reply", "{'message':{'role':'assistant','parts':[{'type':"
                         "'text','text':'hi'}]},'stop':'end','stop_reason':"
                         "'end_turn','model':'claude-x','id':'req_7'}");
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_models");
    TCase *tc = tcase_create("models");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_script);
    tcase_add_test(tc, a_conversation);
    tcase_add_test(tc, failures);
    tcase_add_test(tc, many_at_once);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
