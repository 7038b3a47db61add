/* test_bundled_openai.c -- the openai model plugin, from any host's point of
 * view: what it asks for, and what it makes of what servers say.
 *
 * tests/replies/openai/ has requests with what they are to become, and replies
 * as servers gave them, NAME.sse or NAME.json, each with NAME.want:
 * {"output" or "error": {code, class, words}, "usage"?, "delta"?,
 * "reasoning"?}.  MORTISE_GOLDEN=1 writes those anew. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/barehost.h"
#include "lib/oom.h"
#include "lib/test.h"

#define DIR  "tests/replies/openai/"
#define BASE "\"base_url\":\"http://server/v1\""

static const char chat_config[] = "{" BASE "}";
static const char responses_config[] = "{" BASE ",\"api\":\"responses\"}";

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;

static void open_with(const char *config)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, config);
    ck_assert_ptr_nonnull(inst);
}

static void setup(void)
{
    plugin = bare_plugin("openai");
    test_begin();
    bare_init(&host);
    inst = NULL;
    open_with(chat_config);
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&host);
    test_nothing_left();
}

/* Text in which ' stands for "; static until the fourth next call. */
static const char *quoted(const char *text)
{
    static char rooms[4][8192];
    static unsigned turn;
    char *room = rooms[turn++ % 4];

    ck_assert_uint_lt(strlen(text), sizeof rooms[0]);
    strcpy(room, text);
    for (char *p = room; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    return room;
}

static const char hello[] =
    "'messages':[{'role':'user','parts':[{'type':'text','text':'Hi'}]}]";

static mortise_status chat(const char *more, const struct bare_reply *reply)
{
    char body[4096];

    snprintf(body, sizeof body, "{'model':'m',%s%s}", hello, more);
    return bare_chat(&host, plugin, inst,
                     &(struct bare_call){.body = quoted(body)}, reply);
}

static json_t *parsed(const char *text)
{
    json_error_t error;
    json_t *v =
        json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);

    ck_assert_msg(v != NULL, "%s: %s", error.text, text);
    return v;
}

/* Both references are taken. */
static void assert_same(json_t *have, json_t *want, const char *about)
{
    char *a = json_dumps(have, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *b = json_dumps(want, JSON_ENCODE_ANY | JSON_SORT_KEYS);

    ck_assert_msg(strcmp(a, b) == 0, "%s:\nhave %s\nwant %s", about, a, b);
    free(a);
    free(b);
    json_decref(have);
    json_decref(want);
}

/* ---- what is asked ------------------------------------------------------- */

/* The body of the request that was made, a new reference. */
static json_t *asked(void)
{
    static const char method[] = "http.request/1 ";

    ck_assert_ptr_nonnull(host.asked);
    ck_assert_int_eq(strncmp(host.asked, method, sizeof method - 1), 0);
    ck_assert_int_eq(host.asks, 1);
    return parsed(host.asked + sizeof method - 1);
}

static const struct bare_reply nothing = {.status = 500, .body = ""};

static void check_request(json_t *one)
{
    const char *about = json_string_value(json_object_get(one, "about"));
    const char *refused = json_string_value(json_object_get(one, "refused"));
    json_t *config = json_object_get(one, "config"), *made;
    char *body = json_dumps(json_object_get(one, "request"), JSON_COMPACT);
    char *text = json_dumps(config, 0);
    mortise_status status;

    open_with(text != NULL ? text : chat_config);
    status = bare_chat(&host, plugin, inst, &(struct bare_call){.body = body},
                       &nothing);
    if (refused != NULL) {
        ck_assert_msg(status == MORTISE_S_INVALID, "%s", about);
        ck_assert_str_eq(host.code, MORTISE_MODEL_REQUEST);
        ck_assert_str_eq(host.klass, "permanent");
        ck_assert_msg(strstr(host.msg, refused) != NULL, "%s: %s", about,
                      host.msg);
        ck_assert_int_eq(host.asks, 0);
    } else {
        ck_assert_msg(host.asked != NULL, "%s: %s", about, host.msg);
        made = asked();
        assert_same(json_incref(json_object_get(made, "json")),
                    json_incref(json_object_get(one, "json")), about);
        json_decref(made);
    }
    free(body);
    free(text);
}

/* Every member, message and part of the contract, in both APIs. */
START_TEST(requests)
{
    static const char *const files[] = {DIR "chat_requests.json",
                                        DIR "responses_requests.json"};
    json_t *all = json_load_file(files[_i], 0, NULL), *one;
    size_t i;

    ck_assert_ptr_nonnull(all);
    json_array_foreach(all, i, one)
    {
        check_request(one);
    }
    ck_assert_uint_gt(i, 10);
    json_decref(all);
}
END_TEST

static void assert_asked(const char *config, const char *more, const char *want)
{
    json_t *made;

    open_with(quoted(config));
    chat(more, &nothing);
    made = asked();
    json_object_del(made, "json");
    assert_same(made, parsed(quoted(want)), config);
}

/* Where it goes, with which headers, and how long it may take. */
START_TEST(around_the_body)
{
    assert_asked("{'base_url':'http://server/v1'}", "",
                 "{'url':'http://server/v1/chat/completions','method':'POST',"
                 "'headers':{'Accept':'application/json'},"
                 "'idle_timeout_ms':600000,'redirects':0}");
    assert_asked("{'base_url':'http://server/v1/ private'}", "",
                 "{'url':'http://server/v1/chat/completions','method':'POST',"
                 "'headers':{'Accept':'application/json'},"
                 "'idle_timeout_ms':600000,'redirects':0}");
    assert_asked("{'base_url':'http://server/v1//','api_key':'k\\'1',"
                 "'organization':'o','project':'p','headers':{'X-A':'b'}}",
                 ",'stream':true,'timeout_ms':5,'idle_timeout_ms':6",
                 "{'url':'http://server/v1/chat/completions','method':'POST',"
                 "'headers':{'Accept':'text/event-stream','Authorization':"
                 "'Bearer k\\'1','OpenAI-Organization':'o','OpenAI-Project':"
                 "'p','X-A':'b'},'timeout_ms':5,'idle_timeout_ms':6,"
                 "'redirects':0,'stream':true}");
    assert_asked("{'base_url':'http://server/a/?api-version=1','api_key':'k',"
                 "'headers':{'authorization':'mine','api-key':'k'},'api':"
                 "'responses'}",
                 "",
                 "{'url':'http://server/a/responses?api-version=1','method':"
                 "'POST','headers':{'Accept':'application/json',"
                 "'authorization':'mine','api-key':'k'},'idle_timeout_ms':"
                 "600000,'redirects':0}");
}
END_TEST

/* Without a base_url there is nothing to ask. */
START_TEST(configs)
{
    static const char *const bad[] = {"{}", "{\"base_url\":\"\"}",
                                      "{\"base_url\":\"///\"}", "nonsense"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_ptr_null(bare_create(&host, plugin, bad[i]));
        ck_assert_str_eq(host.code, "invalid");
    }
    ck_assert_ptr_null(plugin->get_interface(inst, MORTISE_EXECUTOR_1));
}
END_TEST

/* A host that cannot ask. */
START_TEST(refusals)
{
    ck_assert_int_eq(chat("", NULL), MORTISE_S_UNSUPPORTED);
    ck_assert_str_eq(host.code, MORTISE_MODEL_CONNECT);
    ck_assert_str_eq(host.klass, "permanent");
}
END_TEST

/* ---- replies ------------------------------------------------------------- */

static const struct recorded {
    const char *name;
    const char *more; /* of the request */
} replies[] = {
    {"chat_text.sse", ",'stream':true"},
    {"chat_text.json", ""},
    {"chat_calls.sse", ",'stream':true"},
    {"chat_calls.json", ",'stream':true"}, /* it does not stream */
    {"chat_ollama.sse", ",'stream':true"},
    {"chat_vllm.sse", ",'stream':true"},
    {"chat_noindex.sse", ",'stream':true"},
    {"chat_broken.json", ",'max_tokens':7"},
    {"chat_mistral.json", ""},
    {"chat_azure.sse", ",'stream':true"},
    {"chat_opaque.sse", ",'stream':true"},
    {"chat_message.sse", ",'stream':true"},
    {"chat_message_again.sse", ",'stream':true"},
    {"chat_function.sse", ",'stream':true"},
    {"chat_function.json", ""},
    {"chat_halves.sse", ",'stream':true"},
    {"chat_halves.json", ""},
    {"chat_serial.sse", ",'stream':true"},
    {"chat_serial.json", ""},
    {"chat_refusal.sse", ",'stream':true"},
    {"chat_error_llama.sse", ",'stream':true"},
    {"chat_error_openrouter.sse", ",'stream':true"},
    {"chat_error_event.sse", ",'stream':true"},
    {"chat_error_vllm.sse", ",'stream':true"},
    {"responses_calls.sse", ",'stream':true"},
    {"responses_calls.json", ",'stream':true"},
    {"responses_bare.sse", ",'stream':true"},
    {"responses_incomplete.sse", ",'stream':true"},
    {"responses_failed.sse", ",'stream':true"},
    {"responses_error.sse", ",'stream':true"},
    {"embeddings.json", NULL},
};

enum { REPLIES = sizeof replies / sizeof replies[0] };

static bool is_stream(const struct recorded *r)
{
    return strstr(r->name, ".sse") != NULL;
}

static const char *headers_of(const struct recorded *r)
{
    return is_stream(r) ? "{\"content-type\":\"text/event-stream\"}"
                        : "{\"content-type\":\"application/json\"}";
}

static char *load(const struct recorded *r, size_t *n)
{
    char path[256];

    snprintf(path, sizeof path, DIR "%s", r->name);
    return test_read(path, n);
}

static void open_for(const struct recorded *r)
{
    open_with(strncmp(r->name, "responses", 9) == 0 ? responses_config
                                                    : chat_config);
}

static mortise_status ask(const struct recorded *r,
                          const struct bare_reply *reply)
{
    static const char texts[] = "{\"model\":\"m\",\"texts\":[\"a\",\"b\"]}";

    if (r->more != NULL)
        return chat(r->more, reply);
    return bare_embed(&host, plugin, inst, &(struct bare_call){.body = texts},
                      reply);
}

static void put_text(json_t *to, const char *name, const struct bare_text *t)
{
    if (t->n > 0)
        json_object_set_new(to, name, json_stringn(t->p, t->n));
}

/* What the last call told. */
static json_t *observed(mortise_status status)
{
    json_t *out = json_object();

    if (status == MORTISE_S_OK)
        json_object_set_new(out, "output", parsed(host.out));
    else
        json_object_set_new(out, "error",
                            json_pack("{s:s, s:s, s:s}", "code", host.code,
                                      "class", host.klass, "words", host.msg));
    ck_assert_int_le(host.usages, 1);
    if (host.usages > 0)
        json_object_set_new(out, "usage", parsed(host.usage.p));
    put_text(out, "delta", &host.delta);
    put_text(out, "reasoning", &host.reasoning);
    return out;
}

static json_t *wanted(const struct recorded *r, json_t *have)
{
    json_error_t error;
    char path[256];
    json_t *want;

    snprintf(path, sizeof path, DIR "%s.want", r->name);
    if (have != NULL && getenv("MORTISE_GOLDEN") != NULL)
        json_dump_file(have, path, JSON_INDENT(1));
    want = json_load_file(path, 0, &error);
    ck_assert_msg(want != NULL, "%s: %s", path, error.text);
    return want;
}

/* Each reply comes to what it should; whole, cut in two anywhere, byte by byte,
 * and as from a record. */
START_TEST(recorded)
{
    const struct recorded *r = &replies[_i];
    struct bare_reply reply = {.status = 200, .headers = headers_of(r)};
    json_t *want, *have;
    size_t n;
    char *body = load(r, &n);

    open_for(r);
    reply.body = body;
    reply.n_body = n;
    have = observed(ask(r, &reply));
    want = wanted(r, have);
    assert_same(have, json_incref(want), r->name);
    for (reply.cut = 1; reply.cut < n; reply.cut++)
        assert_same(observed(ask(r, &reply)), json_incref(want), r->name);
    reply.piece = 1;
    assert_same(observed(ask(r, &reply)), json_incref(want), r->name);
    reply.recorded = true;
    assert_same(observed(ask(r, &reply)), json_incref(want), r->name);
    json_decref(want);
    free(body);
}
END_TEST

/* The same message and stop, or an error that a cut explains; of a reply that
 * is an error, any that may go away. */
static void assert_prefix(const struct recorded *r, mortise_status status,
                          json_t *want, size_t n)
{
    const char *code = json_string_value(
        json_object_get(json_object_get(want, "error"), "code"));
    json_t *output = json_object_get(want, "output"), *have;

    if (status == MORTISE_S_OK) {
        have = parsed(host.out);
        assert_same(json_incref(json_object_get(have, "message")),
                    json_incref(json_object_get(output, "message")), r->name);
        assert_same(json_incref(json_object_get(have, "stop")),
                    json_incref(json_object_get(output, "stop")), r->name);
        json_decref(have);
        return;
    }
    if (code == NULL || strcmp(host.code, code) != 0)
        ck_assert_str_eq(host.klass, "transient");
    ck_assert_msg(code != NULL || strcmp(host.code, MORTISE_MODEL_STREAM) == 0,
                  "%s, %zu bytes: %s: %s", r->name, n, host.code, host.msg);
}

/* The beginning of a reply is an error, unless all that counts is in it: when
 * the server ends there, and when the connection breaks. */
START_TEST(prefixes)
{
    const struct recorded *r = &replies[_i];
    struct bare_reply reply = {.status = 200, .headers = headers_of(r)};
    size_t n, whole = 0;
    char *body = load(r, &n);
    json_t *want;

    open_for(r);
    want = wanted(r, NULL);
    reply.body = body;
    for (reply.n_body = n - 1; reply.n_body > 0; reply.n_body--) {
        reply.broken = MORTISE_S_OK;
        assert_prefix(r, ask(r, &reply), want, reply.n_body);
        whole += host.finished == MORTISE_S_OK;
        if (strstr(r->more != NULL ? r->more : "", "stream") == NULL)
            continue; /* the host alone knows why */
        reply.broken = MORTISE_S_IO;
        assert_prefix(r, ask(r, &reply), want, reply.n_body);
        whole += host.finished == MORTISE_S_OK;
    }
    ck_assert_msg(whole < 1200, "%s: %zu", r->name, whole);
    json_decref(want);
    free(body);
}
END_TEST

/* ---- the ends of streams ------------------------------------------------- */

#define CHUNK(delta, reason)                                                   \
    "data: {'choices':[{'index':0,'delta':{" delta "},'finish_reason':" reason \
    "}]}\n\n"

static mortise_status chat_stream(const char *text)
{
    return chat(",'stream':true",
                &(struct bare_reply){
                    .status = 200,
                    .headers = "{\"content-type\":\"text/event-stream\"}",
                    .body = quoted(text)});
}

static void assert_output(const char *want)
{
    ck_assert_msg(host.finished == MORTISE_S_OK, "%s: %s", host.code, host.msg);
    assert_same(parsed(host.out), parsed(quoted(want)), want);
}

static void assert_error(const char *code, const char *klass)
{
    ck_assert_int_lt(host.finished, 0);
    ck_assert_msg(strcmp(host.code, code) == 0, "%s: %s", host.code, host.msg);
    ck_assert_str_eq(host.klass, klass);
    ck_assert_ptr_null(host.out);
}

/* A finish_reason is an end, [DONE] is one, and neither is none. */
START_TEST(ends)
{
    chat_stream(CHUNK("'content':'a'", "null") CHUNK("", "'stop'"));
    assert_output("{'message':{'role':'assistant','parts':[{'type':'text',"
                  "'text':'a'}]},'stop':'end','stop_reason':'stop'}");
    ck_assert_str_eq(host.usage.p, "{\"model_calls\":1}");
    chat_stream(CHUNK("'content':'a'", "null") "data: [DONE]");
    assert_output("{'message':{'role':'assistant','parts':[{'type':'text',"
                  "'text':'a'}]},'stop':'end'}");
    chat_stream(CHUNK("'content':'a'", "null"));
    assert_error(MORTISE_MODEL_STREAM, "transient");
    ck_assert_int_eq(host.usages, 0);
    chat_stream(CHUNK("'content':'a'", "''"));
    assert_error(MORTISE_MODEL_STREAM, "transient");
    chat_stream(": nothing yet\n\n");
    assert_error(MORTISE_MODEL_STREAM, "transient");
    chat_stream(CHUNK("", "'stop'") "data: {'choices");
    assert_output("{'message':{'role':'assistant','parts':[]},'stop':'end',"
                  "'stop_reason':'stop'}");
    chat_stream("data: nonsense\n\n" CHUNK("", "'stop'"));
    assert_error(MORTISE_MODEL_STREAM, "transient");
    /* What was nothing does not end, and what ended says no more. */
    chat_stream("data: {'choices':[]}\n\ndata: [DONE]");
    assert_error(MORTISE_MODEL_STREAM, "transient");
    chat_stream(CHUNK("'content':'a'", "null") "data: [DONE]\n\n" CHUNK(
        "'content':'b','tool_calls':[{'index':0,'id':'c',"
        "'function':{'name':'f','arguments':'{}'}}]",
        "null"));
    assert_output("{'message':{'role':'assistant','parts':[{'type':'text',"
                  "'text':'a'}]},'stop':'end'}");
}
END_TEST

/* The last event of a stream ends the call, in whatever pieces it comes: a server
 * may keep the connection open.  A finish_reason does not: usage may follow. */
START_TEST(last_events)
{
    static const struct {
        const char *config, *text;
        bool early;
    } streams[] = {
        {chat_config, CHUNK("'content':'a'", "'stop'") "data: [DONE]\n\n",
         true},
        {chat_config, CHUNK("'content':'a'", "'stop'"), false},
        {chat_config, "data: [DONE]\n\n", true},
        {chat_config, "data: {'error':{'message':'no'}}\n\n", true},
        {chat_config, "data: nonsense\n\n", true},
        {responses_config,
         "data: {'type':'response.completed','response':{}}\n\n", true},
        {responses_config,
         "data: {'type':'response.failed','response':{'status':'failed'}}\n\n",
         true},
    };
    struct bare_reply reply = {
        .status = 200, .headers = "{\"content-type\":\"text/event-stream\"}"};

    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        mortise_status status;

        open_with(streams[i].config);
        reply.body = quoted(streams[i].text);
        reply.piece = 0;
        status = chat(",'stream':true", &reply);
        ck_assert_msg(host.early == streams[i].early, "%s", streams[i].text);
        reply.piece = 1;
        ck_assert_int_eq(chat(",'stream':true", &reply), status);
        ck_assert(host.early == streams[i].early);
    }
}
END_TEST

/* ---- why it ended -------------------------------------------------------- */

#define CALL(args) "'tool_calls':[{'id':'c','function':{'name':'f'," args "}}]"

static const struct {
    const char *delta, *reason, *stop;
} stops[] = {
    {"'content':'a'", "'stop'", "end"},
    {"'content':'a'", "'eos'", "end"},
    {"'content':'a'", "'tool_calls'", "end"},
    {"'content':'a'", "'length'", "length"},
    {"'content':'a'", "'max_tokens'", "length"},
    {"'content':'a'", "'model_length'", "context"},
    {"'content':'a'", "'content_filter'", "filter"},
    {"'content':'a'", "'abort'", "other"},
    {"'refusal':'no'", "'stop'", "refusal"},
    {"'refusal':'no'", "'length'", "length"},
    {CALL("'arguments':'{}'"), "'tool_calls'", "tools"},
    {CALL("'arguments':'{}'"), "'function_call'", "tools"},
    {CALL("'arguments':'{}'"), "'stop'", "tools"},
    {CALL("'arguments':'{'"), "'stop'", "tools"},
    {CALL("'arguments':'{}'"), "'abort'", "tools"},
    {CALL("'arguments':'{'"), "'abort'", "other"},
    {CALL("'arguments':'{}'"), "'length'", "length"},
    {CALL("'arguments':'{}'"), "'content_filter'", "filter"},
};

/* The reason follows from the parts where the server's word cannot be meant. */
START_TEST(reasons)
{
    char text[1024];
    json_t *out;

    snprintf(text, sizeof text, CHUNK("%s", "null") CHUNK("", "%s"),
             stops[_i].delta, stops[_i].reason);
    ck_assert_int_eq(chat_stream(text), MORTISE_S_OK);
    out = parsed(host.out);
    ck_assert_str_eq(json_string_value(json_object_get(out, "stop")),
                     stops[_i].stop);
    json_decref(out);
}
END_TEST

static const struct {
    const char *calls; /* fragments of a delta's tool_calls */
    const char *parts;
} calls[] = {
    /* "" and null are no arguments, and neither are blanks */
    {"{'index':0,'id':'a','function':{'name':'f','arguments':''}}",
     "{'type':'tool_call','id':'a','name':'f','arguments':{}}"},
    {"{'index':0,'id':'a','function':{'name':'f'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments':{}}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':null}}",
     "{'type':'tool_call','id':'a','name':'f','arguments':{}}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':' null'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments':{},'provider':"
     "{'issuer':'chat http://server/v1  ','data':{'arguments':' null'}}}"},
    /* what is no object, or none that a host takes */
    {"{'index':0,'id':'a','function':{'name':'f','arguments':'[1]'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':'[1]'}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':'{} x'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':'{} x'}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':"
     "'{\\'a\\':1,\\'a\\':2}'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':"
     "'{\\'a\\':1,\\'a\\':2}'}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':"
     "'{\\'a\\':99999999999999999999}'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':"
     "'{\\'a\\':99999999999999999999}'}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':"
     "'{\\'a\\':[1e999]}'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':"
     "'{\\'a\\':[1e999]}'}"},
    {"{'index':0,'id':'a','function':{'name':'f','arguments':"
     "'{\\'\\\\u0000\\':1}'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':"
     "'{\\'\\\\u0000\\':1}'}"},
    /* a name in pieces, and one that is said again */
    {"{'index':0,'id':'a','function':{'name':'get_'}},"
     "{'index':0,'id':'a','function':{'name':'x'}},"
     "{'index':0,'id':'a','function':{'name':'get_x','arguments':''}}",
     "{'type':'tool_call','id':'a','name':'get_x','arguments':{}}"},
    /* no ids, or one for all: each call has one of its own */
    {"{'index':0,'function':{'name':'f'}},{'index':1,'function':{'name':'f'}}",
     "{'type':'tool_call','id':'mortise_0','name':'f','arguments':{}},"
     "{'type':'tool_call','id':'mortise_1','name':'f','arguments':{}}"},
    {"{'index':0,'id':'a','function':{'name':'f'}},"
     "{'index':1,'id':'a','function':{'name':'g'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments':{}},"
     "{'type':'tool_call','id':'mortise_1','name':'g','arguments':{}}"},
    /* no name: nobody knows that one */
    {"{'index':0,'id':'a','function':{'arguments':''}}",
     "{'type':'tool_call','id':'a','name':'unknown','arguments':{}}"},
    /* one index, no ids: another name is another call */
    {"{'index':0,'function':{'name':'f','arguments':{}}},"
     "{'index':0,'function':{'name':'g','arguments':{}}}",
     "{'type':'tool_call','id':'mortise_0','name':'f','arguments':{},"
     "'provider':{'issuer':'chat http://server/v1  ','data':{'arguments':"
     "'{}'}}},"
     "{'type':'tool_call','id':'mortise_1','name':'g','arguments':{},"
     "'provider':{'issuer':'chat http://server/v1  ','data':{'arguments':"
     "'{}'}}}"},
    /* indexes that interleave */
    {"{'index':0,'id':'a','function':{'name':'f','arguments':'{'}},"
     "{'index':1,'id':'b','function':{'name':'g','arguments':'['}},"
     "{'index':0,'function':{'arguments':'x'}},"
     "{'index':1,'function':{'arguments':'y'}}",
     "{'type':'tool_call','id':'a','name':'f','arguments_text':'{x'},"
     "{'type':'tool_call','id':'b','name':'g','arguments_text':'[y'}"},
};

/* Calls in all their forms. */
START_TEST(tool_calls)
{
    char text[2048], want[2048];

    snprintf(text, sizeof text,
             CHUNK("'tool_calls':[%s]", "null") CHUNK("", "'tool_calls'"),
             calls[_i].calls);
    snprintf(want, sizeof want,
             "{'message':{'role':'assistant','parts':[%s]},'stop':'tools',"
             "'stop_reason':'tool_calls'}",
             calls[_i].parts);
    chat_stream(text);
    assert_output(want);
}
END_TEST

/* Arguments that are nested more deeply than a host reads are text. */
START_TEST(deep_arguments)
{
    char text[2048], deep[128] = "{\\'a\\':";
    json_t *out, *part;

    memset(deep + strlen(deep), '[', 60);
    snprintf(text, sizeof text,
             CHUNK("'tool_calls':[{'index':0,'id':'a','function':{'name':'f',"
                   "'arguments':'%s%.60s}'}}]",
                   "'tool_calls'"),
             deep,
             "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    ck_assert_int_eq(chat_stream(text), MORTISE_S_OK);
    out = parsed(host.out);
    part = json_array_get(
        json_object_get(json_object_get(out, "message"), "parts"), 0);
    ck_assert_ptr_nonnull(json_object_get(part, "arguments_text"));
    json_decref(out);
}
END_TEST

/* ---- usage --------------------------------------------------------------- */

static const struct {
    const char *body, *want;
} usages[] = {
    {"'usage':null", "{'model_calls':1}"},
    {"'usage':{}", "{'model_calls':1}"},
    {"'usage':{'prompt_tokens':3,'completion_tokens':null}",
     "{'model_calls':1,'input_tokens':3}"},
    {"'usage':{'prompt_tokens':3.0,'completion_tokens':-1,'total_tokens':2}",
     "{'model_calls':1,'input_tokens':3,'output_tokens':null}"},
    {"'usage':{'prompt_tokens':'3','completion_tokens':1.5,"
     "'prompt_tokens_details':{'cached_tokens':[]}}",
     "{'model_calls':1,'input_tokens':null,'output_tokens':null,"
     "'cached_tokens':null}"},
    {"'usage':{'prompt_tokens':3,'completion_tokens':4,"
     "'prompt_cache_hit_tokens':2,'prompt_tokens_details':null}",
     "{'model_calls':1,'input_tokens':3,'output_tokens':4,'cached_tokens':2}"},
    {"'usage':{'prompt_tokens':3,'completion_tokens':4,'prompt_tokens_details':"
     "{'cached_tokens':1,'cache_write_tokens':2},'completion_tokens_details':"
     "{'reasoning_tokens':3}}",
     "{'model_calls':1,'input_tokens':3,'output_tokens':4,'cached_tokens':1,"
     "'cache_write_tokens':2,'reasoning_tokens':3}"},
    {"'x_groq':{'usage':{'prompt_tokens':3,'completion_tokens':4}}",
     "{'model_calls':1,'input_tokens':3,'output_tokens':4}"},
    {"'model':'x','usage':{'input_tokens':3,'output_tokens':4}",
     "{'model_calls':1,'input_tokens':3,'output_tokens':4,'model':'x'}"},
};

/* In whatever form it comes.  A count that the server does not report is absent; one
 * that is no whole number from 0 is null, which the host calls unclear. */
START_TEST(usage)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{'choices':[{'message':{'content':'a'},'finish_reason':'stop'}],"
             "%s}",
             usages[_i].body);
    ck_assert_int_eq(
        chat("", &(struct bare_reply){.status = 200, .body = quoted(text)}),
        MORTISE_S_OK);
    assert_same(parsed(host.usage.p), parsed(quoted(usages[_i].want)), text);
}
END_TEST

/* The last counts, also of a call that fails. */
START_TEST(last_usage)
{
    chat_stream(
        "data: {'choices':[],'usage':{'prompt_tokens':1,'completion_tokens':1}}"
        "\n\ndata: {'choices':[],'usage':{'prompt_tokens':1,"
        "'completion_tokens':2}}\n\ndata: {'choices':[],'usage':null}\n\n");
    assert_error(MORTISE_MODEL_STREAM, "transient");
    ck_assert_str_eq(
        host.usage.p,
        "{\"model_calls\":1,\"input_tokens\":1,\"output_tokens\":2}");
}
END_TEST

/* ---- errors -------------------------------------------------------------- */

static const struct failing {
    int status;
    const char *headers, *body;
    uint64_t retry_after_ms;
    const char *code, *klass, *words;
    int64_t wait;
} errors[] = {
    /* by the status, whatever is in the body */
    {401, NULL, "", 0, MORTISE_MODEL_AUTH, "permanent", "status 401", -1},
    {403, NULL, "<html>", 0, MORTISE_MODEL_AUTH, "permanent", "403", -1},
    {402, NULL, "x", 0, MORTISE_MODEL_QUOTA, "permanent", "402", -1},
    {404, NULL, "{}", 0, MORTISE_MODEL_NOT_FOUND, "permanent",
     "status 404 for http://server/", -1},
    {400, NULL, "[]", 0, MORTISE_MODEL_REQUEST, "permanent", "400", -1},
    {405, NULL, "", 0, MORTISE_MODEL_REQUEST, "permanent", "405", -1},
    {413, NULL, "", 0, MORTISE_MODEL_REQUEST, "permanent", "413", -1},
    {422, NULL, "", 0, MORTISE_MODEL_REQUEST, "permanent", "422", -1},
    {501, NULL, "", 0, MORTISE_MODEL_REQUEST, "permanent", "501", -1},
    {408, NULL, "", 0, MORTISE_MODEL_TIMEOUT, "timeout", "408", -1},
    {409, NULL, "", 0, MORTISE_MODEL_SERVER, "transient", "409", -1},
    {425, NULL, "", 0, MORTISE_MODEL_SERVER, "transient", "425", -1},
    {429, NULL, "", 0, MORTISE_MODEL_RATE, "transient", "429", -1},
    {500, NULL, "", 0, MORTISE_MODEL_SERVER, "transient", "500", -1},
    {502, NULL, "<html>Bad Gateway</html>", 0, MORTISE_MODEL_SERVER,
     "transient", "502", -1},
    {503, NULL, "", 0, MORTISE_MODEL_OVERLOAD, "transient", "503", -1},
    {504, NULL, "\xff", 0, MORTISE_MODEL_SERVER, "transient", "504", -1},
    {529, NULL, "", 0, MORTISE_MODEL_OVERLOAD, "transient", "529", -1},
    {301, NULL, "", 0, MORTISE_MODEL_PROTOCOL, "permanent", "base_url", -1},
    {204, NULL, "", 0, MORTISE_MODEL_STREAM, "transient", "", -1},
    /* bodies in all forms */
    {400, NULL, "{'error':{'message':'Bad \\u00e4','code':null,'type':'x'}}", 0,
     MORTISE_MODEL_REQUEST, "permanent", "status 400: Bad \xc3\xa4", -1},
    {404, NULL, "{'error':'model \\'x\\' not found'}", 0,
     MORTISE_MODEL_NOT_FOUND, "permanent",
     "status 404 for http://server/: model \"x\" not found", -1},
    {422, NULL, "{'detail':[{'loc':['body']}]}", 0, MORTISE_MODEL_REQUEST,
     "permanent", ": [{\"loc\":[\"body\"]}]", -1},
    {400, NULL,
     "{'object':'error','message':'No.','type':'BadRequestError',"
     "'param':null,'code':400}",
     0, MORTISE_MODEL_REQUEST, "permanent", ": No.", -1},
    {400, "{\"x-request-id\":\"req_7\"}", "{'error':{'message':'No.'}}", 0,
     MORTISE_MODEL_REQUEST, "permanent", ": No. (request req_7)", -1},
    /* roles that do not alternate */
    {400, NULL,
     "{'error':{'message':'After the optional system message, conversation "
     "roles must alternate user/assistant/user/assistant/...'}}",
     0, MORTISE_MODEL_REQUEST, "permanent",
     "/... Set `turns: alternate` for this model in the deployment.", -1},
    {400, "{\"x-request-id\":\"req_8\"}",
     "{'error':{'message':'user or tool message(s) should alternate with "
     "assistant message(s).'}}",
     0, MORTISE_MODEL_REQUEST, "permanent",
     " (request req_8). Set `turns: alternate` for this model", -1},
    {400, NULL,
     "{'error':{'message':'deepseek-reasoner does not support successive user "
     "or assistant messages'}}",
     0, MORTISE_MODEL_REQUEST, "permanent",
     "assistant messages. Set `turns: alternate` for this model", -1},
    /* what a body says better than its status */
    {429, NULL,
     "{'error':{'message':'You exceeded','type':"
     "'insufficient_quota','code':'insufficient_quota'}}",
     5000, MORTISE_MODEL_QUOTA, "permanent", "You exceeded", -1},
    {400, NULL, "{'error':{'message':'x','code':'context_length_exceeded'}}", 0,
     MORTISE_MODEL_CONTEXT, "permanent", "", -1},
    {400, NULL,
     "{'error':{'code':400,'message':'x','type':"
     "'exceed_context_size_error','n_prompt_tokens':9,'n_ctx':8}}",
     0, MORTISE_MODEL_CONTEXT, "permanent", "", -1},
    {400, NULL,
     "{'object':'error','message':'This model\\u0027s maximum "
     "context length is 4096 tokens.','type':'BadRequestError','code':400}",
     0, MORTISE_MODEL_CONTEXT, "permanent", "4096", -1},
    {429, NULL, "{'error':{'message':'the context length is fine'}}", 0,
     MORTISE_MODEL_RATE, "transient", "", -1},
    {400, NULL, "{'error':{'message':'x','code':'model_not_found'}}", 0,
     MORTISE_MODEL_NOT_FOUND, "permanent", "", -1},
    {400, NULL, "{'error':{'message':'x','type':'server_error'}}", 0,
     MORTISE_MODEL_REQUEST, "permanent", "", -1},
    {400, NULL, "{'error':{'message':'x','code':'invalid_encrypted_content'}}",
     0, MORTISE_MODEL_PROVIDER, "permanent", "", -1},
    {503, NULL,
     "{'error':{'code':503,'message':'Loading model','type':"
     "'unavailable_error'}}",
     0, MORTISE_MODEL_OVERLOAD, "transient", "Loading model", -1},
    /* errors that come as a success */
    {200, NULL, "{'error':{'message':'x','code':502}}", 0, MORTISE_MODEL_SERVER,
     "transient", "status 200: x", -1},
    {200, NULL, "{'error':{'message':'x','code':'429'}}", 0, MORTISE_MODEL_RATE,
     "transient", "x", -1},
    {200, NULL, "{'error':{'message':'x','type':'invalid_request_error'}}", 0,
     MORTISE_MODEL_REQUEST, "permanent", "x", -1},
    {200, NULL, "{'error':'the context window is full'}", 0,
     MORTISE_MODEL_CONTEXT, "permanent", "full", -1},
    {200, NULL, "{'error':'x'}", 0, MORTISE_MODEL_SERVER, "transient", "x", -1},
    /* and what is none of all that */
    {200, NULL, "<!DOCTYPE html><p>Log in", 0, MORTISE_MODEL_PROTOCOL,
     "permanent", "not JSON", -1},
    {200, NULL, "It works!", 0, MORTISE_MODEL_PROTOCOL, "permanent", "neither",
     -1},
    {200, NULL, "{\xff}", 0, MORTISE_MODEL_STREAM, "transient", "UTF-8", -1},
    {200, NULL, "[]", 0, MORTISE_MODEL_PROTOCOL, "permanent", "message", -1},
    {200, NULL, "{'choices':[]}", 0, MORTISE_MODEL_PROTOCOL, "permanent",
     "message", -1},
    {200, NULL, "{'choices':[{'index':1,'message':{}}]}", 0,
     MORTISE_MODEL_PROTOCOL, "permanent", "message", -1},
    {200, NULL, "{'choices':", 0, MORTISE_MODEL_STREAM, "transient",
     "truncated", -1},
    {200, NULL, "", 0, MORTISE_MODEL_STREAM, "transient", "", -1},
    {200, NULL, " \n", 0, MORTISE_MODEL_STREAM, "transient", "", -1},
    /* when to try again */
    {429, NULL, "", 1500, MORTISE_MODEL_RATE, "transient", "", 1500},
    {429, "{\"retry-after-ms\":\"250\"}", "", 1000, MORTISE_MODEL_RATE,
     "transient", "", 250},
    {503, "{\"retry-after-ms\":\"99999999999\"}", "", 0, MORTISE_MODEL_OVERLOAD,
     "transient", "", 86400000},
    {503, "{\"retry-after-ms\":\"soon\"}", "", 7, MORTISE_MODEL_OVERLOAD,
     "transient", "", 7},
    {429,
     "{\"x-ratelimit-reset-requests\":\"1s\","
     "\"x-ratelimit-remaining-requests\":\"0\","
     "\"x-ratelimit-reset-tokens\":\"6m0s\","
     "\"x-ratelimit-remaining-tokens\":\"12\"}",
     "", 0, MORTISE_MODEL_RATE, "transient", "", 1000},
    {429,
     "{\"x-ratelimit-reset-requests\":\"1s\","
     "\"x-ratelimit-remaining-requests\":\"0\","
     "\"x-ratelimit-reset-tokens\":\"1h2m3.5s\","
     "\"x-ratelimit-remaining-tokens\":\"0\"}",
     "", 0, MORTISE_MODEL_RATE, "transient", "", 3723500},
    {429,
     "{\"x-ratelimit-reset-requests\":\"9s\","
     "\"x-ratelimit-remaining-requests\":\"3\","
     "\"x-ratelimit-reset-tokens\":\"20ms\"}",
     "", 0, MORTISE_MODEL_RATE, "transient", "", 20},
    {429, "{\"x-ratelimit-reset-tokens\":\"tomorrow\"}", "", 0,
     MORTISE_MODEL_RATE, "transient", "", -1},
    {503, "{\"x-ratelimit-reset-tokens\":\"1s\"}", "", 0,
     MORTISE_MODEL_OVERLOAD, "transient", "", -1},
    {500, "{\"x-should-retry\":\"false\"}", "", 100, MORTISE_MODEL_SERVER,
     "permanent", "", -1},
    {400, "{\"x-should-retry\":\"true\"}", "", 100, MORTISE_MODEL_REQUEST,
     "transient", "", 100},
};

/* Each error has its code, its class, words and a time; whether it was to be a
 * stream or not, and whether the body arrives or not. */
START_TEST(server_errors)
{
    const struct failing *e = &errors[_i];
    bool raw = strchr(e->body, '\xff') != NULL;
    struct bare_reply reply = {.status = e->status,
                               .headers = e->headers,
                               .body = raw ? e->body : quoted(e->body),
                               .retry_after_ms = e->retry_after_ms};

    for (int stream = 0; stream < 2; stream++) {
        chat(stream ? ",'stream':true" : "", &reply);
        assert_error(e->code, e->klass);
        ck_assert_msg(strstr(host.msg, e->words) != NULL, "%s", host.msg);
        ck_assert_int_eq(host.retry_after_ms, e->wait);
        ck_assert_int_eq(host.usages, 0);
    }
    if (e->status < 400)
        return;
    reply.body = "";
    chat(",'stream':true", &reply);
    reply.broken = MORTISE_S_IO;
    strcpy(host.msg, host.code);
    chat(",'stream':true", &reply);
    ck_assert_int_eq(host.finished, MORTISE_S_FAILED);
    ck_assert_int_eq(strncmp(host.msg, "the server answered", 19), 0);
}
END_TEST

/* No error advises a key that is set, or that the API does not have. */
START_TEST(turns_that_alternate_need_no_advice)
{
    static const char *const needless[] = {"{" BASE ",\"turns\":\"alternate\"}",
                                           "{" BASE ",\"api\":\"responses\"}"};

    for (size_t i = 0; i < sizeof needless / sizeof needless[0]; i++) {
        open_with(needless[i]);
        chat("", &(struct bare_reply){.status = 400,
                                      .body = quoted("{'error':'roles must "
                                                     "alternate'}")});
        assert_error(MORTISE_MODEL_REQUEST, "permanent");
        ck_assert_ptr_null(strstr(host.msg, "turns"));
    }
}
END_TEST

/* A server's words are cut where a character starts. */
START_TEST(long_words)
{
    char body[4096] = "{\"error\":{\"message\":\"a";

    for (size_t i = 0; i < 1000; i++)
        strcat(body, "\xc3\xa4");
    strcat(body, "\"}}");
    chat("", &(struct bare_reply){.status = 400, .body = body});
    assert_error(MORTISE_MODEL_REQUEST, "permanent");
    ck_assert_uint_gt(strlen(host.msg), 1000);
    ck_assert_uint_le(strlen(host.msg), 1024);
}
END_TEST

/* An event beyond all bounds ends the call, not the host. */
START_TEST(large_events)
{
    size_t n = (16u << 20) + 64;
    char *body = malloc(n);

    memset(body, 'x', n);
    memcpy(body, "data: ", 6);
    chat(",'stream':true",
         &(struct bare_reply){.status = 200, .body = body, .n_body = n});
    assert_error(MORTISE_MODEL_PROTOCOL, "permanent");
    free(body);
}
END_TEST

static const struct {
    mortise_status status;
    int head;
    const char *code, *klass;
} unanswered[] = {
    {MORTISE_S_IO, 0, MORTISE_MODEL_CONNECT, "transient"},
    {MORTISE_S_IO, 200, MORTISE_MODEL_STREAM, "transient"},
    {MORTISE_S_TIMEOUT, 0, MORTISE_MODEL_TIMEOUT, "timeout"},
    {MORTISE_S_TIMEOUT, 200, MORTISE_MODEL_TIMEOUT, "timeout"},
    {MORTISE_S_DENIED, 0, MORTISE_MODEL_CONNECT, "permanent"},
    {MORTISE_S_INVALID, 0, MORTISE_MODEL_REQUEST, "permanent"},
    {MORTISE_S_FAILED, 0, MORTISE_MODEL_PROTOCOL, "permanent"},
    {MORTISE_S_FAILED, 200, MORTISE_MODEL_PROTOCOL, "permanent"},
    {MORTISE_S_NOMEM, 0, "no_memory", "transient"},
    {MORTISE_S_CANCELLED, 0, "cancelled", "cancelled"},
    {MORTISE_S_CANCELLED, 200, "cancelled", "cancelled"},
};

/* Where the host has no answer, its status and its words are the error's. */
START_TEST(host_errors)
{
    struct bare_reply reply = {.status = unanswered[_i].head,
                               .headers = "{}",
                               .body = "data: {\"choices\":[]}\n\n",
                               .broken = unanswered[_i].status,
                               .words = "because"};

    chat(",'stream':true", &reply);
    assert_error(unanswered[_i].code, unanswered[_i].klass);
    ck_assert_int_eq(host.finished, unanswered[_i].status);
    ck_assert_str_eq(host.msg, "because");
}
END_TEST

/* A whole reply stands, however its connection ends, and whatever is said
 * behind it; but not for who cancels. */
START_TEST(late_breaks)
{
    struct bare_reply reply = {.status = 200,
                               .body = quoted(CHUNK("'content':'a'", "'stop'")),
                               .broken = MORTISE_S_IO};

    ck_assert_int_eq(chat(",'stream':true", &reply), MORTISE_S_OK);
    reply.broken = MORTISE_S_TIMEOUT;
    ck_assert_int_eq(chat(",'stream':true", &reply), MORTISE_S_OK);
    ck_assert_int_eq(
        chat_stream(CHUNK("'content':'a'",
                          "'stop'") "data: {'error':{'message':'late'}}\n\n"),
        MORTISE_S_OK);
    reply.broken = MORTISE_S_CANCELLED;
    ck_assert_int_eq(chat(",'stream':true", &reply), MORTISE_S_CANCELLED);
    assert_error("cancelled", "cancelled");
}
END_TEST

/* An output that the host refuses is an error of its status. */
START_TEST(refused_output)
{
    host.emit_status = MORTISE_S_INVALID;
    ck_assert_int_eq(chat_stream(CHUNK("'content':'a'", "'stop'")),
                     MORTISE_S_INVALID);
    host.emit_status = MORTISE_S_OK;
}
END_TEST

/* ---- form ---------------------------------------------------------------- */

static const char whole_reply[] =
    "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":"
    "\"stop\"}]}";

/* What is a stream is seen from the body, not from its type; marks and blank
 * lines before it do not count. */
START_TEST(forms)
{
    static const char *const types[] = {
        "{}", "{\"content-type\":\"text/event-stream; charset=utf-8\"}",
        "{\"content-type\":\"application/json\"}",
        "{\"content-type\":\"text/html\"}"};
    static const char *const before[] = {"", "\n\n \r\n", "\xef\xbb\xbf"};
    char whole[512], events[512];

    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 6; k++) {
            struct bare_reply reply = {.status = 200, .headers = types[i]};

            snprintf(whole, sizeof whole, "%s%s", before[k / 2], whole_reply);
            snprintf(events, sizeof events, "%s%s", before[k / 2],
                     quoted(CHUNK("'content':'a'", "'stop'")));
            reply.body = k % 2 ? whole : events;
            for (reply.cut = 1; reply.cut < 8; reply.cut++) {
                chat(",'stream':true", &reply);
                ck_assert_msg(host.finished == MORTISE_S_OK, "%s", host.msg);
                ck_assert_str_eq(host.delta.p, "a");
                ck_assert_int_eq(chat("", &reply), MORTISE_S_OK);
                ck_assert_ptr_null(host.delta.p);
            }
        }
}
END_TEST

/* A long text is told in pieces that a host takes, cut between characters. */
START_TEST(long_texts)
{
    size_t n = 100001, at = 0;
    char *text = malloc(n + 64);

    at += (size_t)sprintf(text, "{\"choices\":[{\"message\":{\"content\":\"a");
    for (size_t i = 0; i < n / 2; i++)
        at += (size_t)sprintf(text + at, "\xc3\xa4");
    strcpy(text + at - 40, "\"}}]}");
    chat(",'stream':true", &(struct bare_reply){.status = 200, .body = text});
    ck_assert_msg(host.finished == MORTISE_S_OK, "%s", host.msg);
    ck_assert_uint_gt(host.delta.n, 90000);
    free(text);
}
END_TEST

/* ---- embeddings ---------------------------------------------------------- */

static mortise_status embed(const char *body, const char *answer)
{
    return bare_embed(
        &host, plugin, inst, &(struct bare_call){.body = quoted(body)},
        &(struct bare_reply){.status = 200, .body = quoted(answer)});
}

/* What is asked, `extra` over it; never a stream. */
START_TEST(embeddings_are_asked)
{
    json_t *made;

    embed("{'model':'m','texts':['a','b'],'dimensions':3,'stream':true,"
          "'timeout_ms':9,'extra':{'encoding_format':'float'}}",
          "{}");
    made = asked();
    assert_same(
        made,
        parsed(quoted("{'url':'http://server/v1/embeddings','method':'POST',"
                      "'headers':{'Accept':'application/json'},'timeout_ms':9,"
                      "'idle_timeout_ms':600000,'redirects':0,'json':{'model':"
                      "'m','input':['a','b'],'dimensions':3,'encoding_format':"
                      "'float'}}")),
        "embeddings");
}
END_TEST

static const char *const no_vectors[] = {
    "{'data':[]}",
    "{'data':[{'index':0,'embedding':[1]}]}",
    "{'data':[{'index':0,'embedding':[1]},{'index':0,'embedding':[1]}]}",
    "{'data':[{'index':0,'embedding':[1]},{'index':2,'embedding':[1]}]}",
    "{'data':[{'index':0,'embedding':[1]},{'index':-1,'embedding':[1]}]}",
    "{'data':[{'embedding':[1]},{'embedding':[]}]}",
    "{'data':[{'embedding':[1]},{'embedding':'AACAPw=='}]}",
    "{'data':[{'embedding':[1]},{'embedding':['x']}]}",
    "{'data':[{'embedding':[1]},{'embedding':[1]},{'embedding':[1]}]}",
    "{'data':{}}",
    "[]",
};

/* A vector for each text, or none of them. */
START_TEST(vectors)
{
    for (size_t i = 0; i < sizeof no_vectors / sizeof no_vectors[0]; i++) {
        embed("{'model':'m','texts':['a','b']}", no_vectors[i]);
        assert_error(MORTISE_MODEL_PROTOCOL, "permanent");
    }
    embed("{'model':'m','texts':['a','b']}",
          "{'data':[{'embedding':[1]},{'embedding':[2]}]}");
    assert_output("{'vectors':[[1],[2]]}");
    embed("{'model':'m','texts':['a','b']}", "data: {}\n\n");
    assert_error(MORTISE_MODEL_PROTOCOL, "permanent");
    embed("{'model':'m','texts':['a','b']}", "{'data':[");
    assert_error(MORTISE_MODEL_STREAM, "transient");
    embed("{'model':'m','texts':['a','b']}",
          "{'error':{'message':'x','code':'insufficient_quota'}}");
    assert_error(MORTISE_MODEL_QUOTA, "permanent");
}
END_TEST

/* ---- responses ----------------------------------------------------------- */

static const struct {
    const char *response, *code, *klass;
} no_responses[] = {
    {"{'status':'failed','error':{'code':'server_error','message':'x'}",
     MORTISE_MODEL_SERVER, "transient"},
    {"{'status':'failed','error':{'code':'invalid_prompt','message':'x'}",
     MORTISE_MODEL_REQUEST, "permanent"},
    {"{'status':'failed','error':null", MORTISE_MODEL_SERVER, "transient"},
    {"{'status':'cancelled'", MORTISE_MODEL_SERVER, "transient"},
    {"{'status':'queued'", MORTISE_MODEL_PROTOCOL, "permanent"},
    {"{'status':'in_progress'", MORTISE_MODEL_PROTOCOL, "permanent"},
};

/* A response that is none; told at once, or at the end of a stream. */
START_TEST(failed_responses)
{
    struct bare_reply reply = {.status = 200};
    char text[512];

    open_with(responses_config);
    reply.body = text;
    snprintf(text, sizeof text, "%s,'object':'response','output':[]}",
             no_responses[_i].response);
    strcpy(text, quoted(text));
    chat("", &reply);
    assert_error(no_responses[_i].code, no_responses[_i].klass);
    snprintf(text, sizeof text,
             "data: {'type':'response.completed','response':%s}}\n\n",
             no_responses[_i].response);
    strcpy(text, quoted(text));
    chat(",'stream':true", &reply);
    assert_error(no_responses[_i].code, no_responses[_i].klass);
}
END_TEST

/* [DONE] is no end there: the terminal event is. */
START_TEST(unended_responses)
{
    open_with(responses_config);
    chat_stream("data: {'type':'response.created','response':{}}\n\n"
                "data: [DONE]\n\n");
    assert_error(MORTISE_MODEL_STREAM, "transient");
    chat("", &(struct bare_reply){.status = 200, .body = "{\"id\":\"x\"}"});
    assert_error(MORTISE_MODEL_PROTOCOL, "permanent");
    chat_stream("data: {'type':'response.output_item.done','output_index':"
                "99999999999,'item':{'type':'message'}}\n\n"
                "data: {'type':'response.completed','response':{}}\n\n");
    assert_output("{'message':{'role':'assistant','parts':[]},'stop':'end'}");
}
END_TEST

#define ITEM(id, call)                                                         \
    "data: {'type':'response.output_item.done','output_index':0,'item':{" id   \
    "'type':'function_call','call_id':'" call                                  \
    "','name':'f','arguments':'{}'}}\n\n"

/* Servers that number no items: each is one of its own, and one that is told
 * twice is one. */
START_TEST(responses_of_one_index)
{
    static const char end[] =
        "data: {'type':'response.completed','response':{}}\n\n";
    char text[1024];
    json_t *out;

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s%s",
                 i == 0 ? ITEM("'id':'1',", "a") ITEM("'id':'1',", "a")
                              ITEM("'id':'2',", "b")
                        : ITEM("", "a") ITEM("", "a") ITEM("", "b"),
                 end);
        open_with(responses_config);
        ck_assert_int_eq(chat_stream(text), MORTISE_S_OK);
        out = parsed(host.out);
        ck_assert_uint_eq(json_array_size(json_object_get(
                              json_object_get(out, "message"), "parts")),
                          2);
        json_decref(out);
    }
}
END_TEST

/* The halves of a character, told in two events, are one. */
START_TEST(responses_halves)
{
    open_with(responses_config);
    chat_stream("data: {'type':'response.output_text.delta','delta':'a\\ud83d'}"
                "\n\ndata: {'type':'response.output_text.delta','delta':"
                "'\\ude00'}\n\n"
                "data: {'type':'response.completed','response':{'output':["
                "{'type':'message','content':[{'type':'output_text','text':"
                "'a\\ud83d\\ude00'}]}]}}\n\n");
    ck_assert_str_eq(host.delta.p, "a\xf0\x9f\x98\x80");
    ck_assert_int_eq(host.finished, MORTISE_S_OK);
}
END_TEST

static const struct {
    const char *response; /* all but its end */
    const char *want;
} odd_responses[] = {
    {"'status':'incomplete','incomplete_details':{'reason':'content_filter'},"
     "'output':[]",
     "'parts':[]},'stop':'filter','stop_reason':'content_filter'"},
    {"'status':'incomplete','incomplete_details':{'reason':'steered'},"
     "'output':[{'type':'function_call','call_id':'a','name':'f','arguments':"
     "{}}]",
     "'parts':[{'type':'tool_call','id':'a','name':'f','arguments':{},"
     "'provider':{'issuer':'responses http://server/v1  ','data':{'type':"
     "'function_call','call_id':'a','name':'f','arguments':{}}}}]},'stop':"
     "'other','stop_reason':'steered'"},
    {"'status':'incomplete','output':[]",
     "'parts':[]},'stop':'other','stop_reason':'incomplete'"},
    /* a message that says nothing follows what was reasoned, all the same */
    {"'output':[{'type':'reasoning','content':[{'text':'a'},{'text':'b'}]},"
     "{'type':'message','content':[]}]",
     "'parts':[{'type':'reasoning','text':'a\\n\\nb','provider':{'issuer':"
     "'responses http://server/v1  ','data':{'type':'reasoning','content':"
     "[{'text':'a'},{'text':'b'}]}}},{'type':'text','text':'','provider':"
     "{'issuer':'responses http://server/v1  ','data':{'type':'message',"
     "'content':[]}}}]},'stop':'end'"},
    /* no call_id: an id of ours, and no way back for the item */
    {"'output':[{'type':'function_call','name':'f','arguments':'{}'}]",
     "'parts':[{'type':'tool_call','id':'mortise_0','name':'f','arguments':"
     "{}}]},'stop':'tools'"},
    /* what no host keeps is not kept */
    {"'output':[{'type':'thing','a':1e999}]",
     "'parts':[{'type':'reasoning'}]},'stop':'end'"},
};

/* Responses that are cut, and items that lack something. */
START_TEST(responses_as_they_are)
{
    char body[1024], want[1024];

    open_with(responses_config);
    snprintf(body, sizeof body, "{'object':'response',%s}",
             odd_responses[_i].response);
    snprintf(want, sizeof want, "{'message':{'role':'assistant',%s}",
             odd_responses[_i].want);
    chat("", &(struct bare_reply){.status = 200, .body = quoted(body)});
    assert_output(want);
}
END_TEST

/* What comes out goes in again: the items of a reply, untouched. */
START_TEST(round_trip)
{
    struct bare_reply reply = {.status = 200};
    size_t n;
    char *body = test_read(DIR "responses_calls.json", &n), *text;
    json_t *said = parsed(body), *out, *made, *request;

    open_with(responses_config);
    reply.body = body;
    ck_assert_int_eq(chat("", &reply), MORTISE_S_OK);
    out = parsed(host.out);
    request = json_pack("{s:s, s:[O]}", "model", "m", "messages",
                        json_object_get(out, "message"));
    text = json_dumps(request, 0);
    bare_chat(&host, plugin, inst, &(struct bare_call){.body = text}, &nothing);
    made = asked();
    assert_same(
        json_incref(json_object_get(json_object_get(made, "json"), "input")),
        json_incref(json_object_get(said, "output")), "round trip");
    json_decref(out);
    json_decref(made);
    json_decref(request);
    json_decref(said);
    free(text);
    free(body);
}
END_TEST

/* ---- memory -------------------------------------------------------------- */

/* Any allocation may fail: then a reply is none, but that; and an error may
 * have fewer words. */
START_TEST(no_memory)
{
    const struct recorded *r = &replies[_i];
    struct bare_reply reply = {.status = 200, .headers = headers_of(r)};
    mortise_status status, usual;
    size_t size;
    long n = 0;
    bool failed;

    if (!oom_works())
        return;
    open_for(r);
    reply.body = load(r, &size);
    reply.n_body = size;
    reply.piece = 100;
    usual = ask(r, &reply);
    host.around = oom_around;
    do {
        oom_fail_at(n++);
        status = ask(r, &reply);
        failed = oom_failed();
        ck_assert_msg(status == (failed ? MORTISE_S_NOMEM : usual) ||
                          (usual < 0 && status == usual),
                      "%s, %ld: %d", r->name, n, (int)status);
    } while (failed);
    ck_assert_int_gt(n, 3);
    host.around = NULL;
    free((char *)(uintptr_t)reply.body);
}
END_TEST

/* So with create(). */
START_TEST(no_memory_to_begin)
{
    static const char config[] =
        "{" BASE ",\"api_key\":\"k\",\"organization\":\"o\",\"project\":\"p\","
        "\"headers\":{\"A\":\"b\"}}";
    mortise_inst *made;
    long n = 0;

    if (!oom_works())
        return;
    host.around = oom_around;
    do {
        oom_fail_at(n++);
        made = bare_create(&host, plugin, config);
        if (made != NULL)
            bare_destroy(plugin, made);
    } while (oom_failed());
    ck_assert_ptr_nonnull(made);
    ck_assert_int_gt(n, 5);
    host.around = NULL;
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("bundled_openai");
    TCase *tc = tcase_create("openai");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, requests, 0, 2);
    tcase_add_test(tc, around_the_body);
    tcase_add_test(tc, configs);
    tcase_add_test(tc, refusals);
    tcase_add_loop_test(tc, recorded, 0, REPLIES);
    tcase_add_loop_test(tc, prefixes, 0, REPLIES);
    tcase_add_test(tc, ends);
    tcase_add_test(tc, last_events);
    tcase_add_loop_test(tc, reasons, 0, sizeof stops / sizeof stops[0]);
    tcase_add_loop_test(tc, tool_calls, 0, sizeof calls / sizeof calls[0]);
    tcase_add_test(tc, deep_arguments);
    tcase_add_loop_test(tc, usage, 0, sizeof usages / sizeof usages[0]);
    tcase_add_test(tc, last_usage);
    tcase_add_loop_test(tc, server_errors, 0, sizeof errors / sizeof errors[0]);
    tcase_add_test(tc, turns_that_alternate_need_no_advice);
    tcase_add_loop_test(tc, host_errors, 0,
                        sizeof unanswered / sizeof unanswered[0]);
    tcase_add_test(tc, long_words);
    tcase_add_test(tc, large_events);
    tcase_add_test(tc, late_breaks);
    tcase_add_test(tc, refused_output);
    tcase_add_test(tc, forms);
    tcase_add_test(tc, long_texts);
    tcase_add_test(tc, embeddings_are_asked);
    tcase_add_test(tc, vectors);
    tcase_add_loop_test(tc, failed_responses, 0,
                        sizeof no_responses / sizeof no_responses[0]);
    tcase_add_test(tc, unended_responses);
    tcase_add_test(tc, responses_of_one_index);
    tcase_add_test(tc, responses_halves);
    tcase_add_loop_test(tc, responses_as_they_are, 0,
                        sizeof odd_responses / sizeof odd_responses[0]);
    tcase_add_test(tc, round_trip);
    tcase_add_loop_test(tc, no_memory, 0, REPLIES);
    tcase_add_test(tc, no_memory_to_begin);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
