/* test_bundled_anthropic.c -- models behind the Messages API, from any host's
 * point of view: what is asked, to the byte, and what becomes of the answers
 * that servers give.  The replies are such as the protocol's documentation and
 * those who ran such servers say they are; there is no network.
 *
 * All JSON here is written with ' for ", and q() makes it what it means. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/barehost.h"
#include "lib/oom.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;

/* ---- how it is written --------------------------------------------------- */

/* One to nine texts, with one in between: lists and streams. */
#define E1(by, a)                                    a
#define E2(by, a, ...)                               a by E1(by, __VA_ARGS__)
#define E3(by, a, ...)                               a by E2(by, __VA_ARGS__)
#define E4(by, a, ...)                               a by E3(by, __VA_ARGS__)
#define E5(by, a, ...)                               a by E4(by, __VA_ARGS__)
#define E6(by, a, ...)                               a by E5(by, __VA_ARGS__)
#define E7(by, a, ...)                               a by E6(by, __VA_ARGS__)
#define E8(by, a, ...)                               a by E7(by, __VA_ARGS__)
#define E9(by, a, ...)                               a by E8(by, __VA_ARGS__)
#define TENTH(a, b, c, d, e, f, g, h, i, tenth, ...) tenth
#define EACH(by, ...)                                                          \
    TENTH(__VA_ARGS__, E9, E8, E7, E6, E5, E4, E3, E2, E1, 0)(by, __VA_ARGS__)
#define LIST(...)   EACH(",", __VA_ARGS__)
#define STREAM(...) EACH("", __VA_ARGS__)

/* Messages and parts of mortise.model/1. */
#define MESSAGE(role, ...) "{'role':'" role "','parts':[" LIST(__VA_ARGS__) "]}"
#define TEXT(t)            "{'type':'text','text':'" t "'}"
#define SYSTEM(t)          MESSAGE("system", TEXT(t))
#define USER(t)            MESSAGE("user", TEXT(t))
#define SAID(...)          MESSAGE("assistant", __VA_ARGS__)
#define TOOL(...)          MESSAGE("tool", __VA_ARGS__)
#define CALL(id)           CALLED(id, "'arguments':{'x':1}")
#define RESULT(id)         RESULTED(id, "[" TEXT("r") "]")
#define RESULTED(id, parts)                                                    \
    "{'type':'tool_result','id':'" id "','parts':" parts "}"
#define CALLED(id, with)                                                       \
    "{'type':'tool_call','id':'" id "','name':'f'," with "}"
#define REASONING(more) "{'type':'reasoning'," more "}"
#define MINE(data)                                                             \
    "'provider':{'issuer':'anthropic.messages https://api.anthropic.com',"     \
    "'data':" data "}"
#define THEIRS(data) "'provider':{'issuer':'other','data':" data "}"

/* Turns and blocks of the Messages API. */
#define TURN(role, ...) "{'role':'" role "','content':[" LIST(__VA_ARGS__) "]}"
#define BLOCK(t)        "{'type':'text','text':'" t "'}"
#define TOOL_USE(id)                                                           \
    "{'type':'tool_use','id':'" id "','name':'f','input':{'x':1}}"
#define GAVE(id) GAVE_ALL(id, "'content':[" BLOCK("r") "]")
#define GAVE_ALL(id, with)                                                     \
    "{'type':'tool_result','tool_use_id':'" id "'," with "}"
#define SOURCE(type, source) "{'type':'" type "','source':{'type':" source "}}"

/* Events of its streams. */
#define EVENT(type, more)                                                      \
    "event: " type "\ndata: {'type':'" type "'" more "}\n\n"
#define START                                                                  \
    EVENT("message_start",                                                     \
          ",'message':{'id':'msg_1','type':'message','role':'assistant',"      \
          "'model':'claude-x','content':[],'stop_reason':null,'usage':"        \
          "{'input_tokens':25,'cache_creation_input_tokens':5,"                \
          "'cache_read_input_tokens':70,'output_tokens':1}}")
#define OPEN(i, block)                                                         \
    EVENT("content_block_start", ",'index':" i ",'content_block':{" block "}")
#define OPEN_TEXT(i) OPEN(i, "'type':'text','text':''")
#define OPEN_CALL(i, id)                                                       \
    OPEN(i, "'type':'tool_use','id':'" id "','name':'f','input':{}")
#define OPEN_THINKING(i) OPEN(i, "'type':'thinking','thinking':''")
#define DELTA(i, type, more)                                                   \
    EVENT("content_block_delta",                                               \
          ",'index':" i ",'delta':{'type':'" type "_delta'," more "}")
#define SAYS(i, t)   DELTA(i, "text", "'text':'" t "'")
#define WRITES(i, t) DELTA(i, "input_json", "'partial_json':'" t "'")
#define THINKS(i, t) DELTA(i, "thinking", "'thinking':'" t "'")
#define SIGNS(i, t)  DELTA(i, "signature", "'signature':'" t "'")
#define CITES(i, c)  DELTA(i, "citations", "'citation':" c)
#define CLOSE(i)     EVENT("content_block_stop", ",'index':" i)
#define PING         EVENT("ping", "")
#define STOP         EVENT("message_stop", "")
#define STOPS(more)  STREAM(EVENT("message_delta", ",'delta':{" more "}"), STOP)
#define END(reason)                                                            \
    STREAM(EVENT("message_delta",                                              \
                 ",'delta':{'stop_reason':'" reason                            \
                 "','stop_sequence':null},'usage':{'output_tokens':89,"        \
                 "'output_tokens_details':{'thinking_tokens':30}}"),           \
           STOP)

#define TYPE_JSON   "{'content-type':'application/json'}"
#define TYPE_EVENTS "{'content-type':'text/event-stream; charset=utf-8'}"

/* What JSON that was written with ' means; lent for eight more. */
static const char *q(const char *text)
{
    static char *rooms[8];
    static size_t next;
    char **room = &rooms[next++ % 8];

    if (text == NULL)
        return NULL;
    *room = realloc(*room, strlen(text) + 1);
    ck_assert_ptr_nonnull(*room);
    strcpy(*room, text);
    for (char *p = *room; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    return *room;
}

/* ---- asking -------------------------------------------------------------- */

static void configure(const char *config)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, q(config));
    ck_assert_msg(inst != NULL, "%s", host.msg);
}

static void setup(void)
{
    plugin = bare_plugin("anthropic");
    test_begin();
    bare_init(&host);
    configure("{}");
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    inst = NULL;
    bare_finish(&host);
    test_nothing_left();
}

/* What a test that looks at requests alone is answered. */
static const struct bare_reply hello = {
    .status = 200,
    .headers = TYPE_JSON,
    .body = "{'type':'message','content':[{'type':'text','text':'Hi'}],"
            "'stop_reason':'end_turn'}"};

static struct bare_reply whole(int status, const char *headers,
                               const char *body)
{
    return (struct bare_reply){
        .status = status, .headers = headers, .body = body};
}

static struct bare_reply events(const char *body)
{
    return whole(200, TYPE_EVENTS, body);
}

static mortise_status ask(const char *body, const struct bare_reply *reply)
{
    struct bare_call c = {.body = q(body)};
    struct bare_reply r;

    if (reply == NULL)
        return bare_chat(&host, plugin, inst, &c, NULL);
    r = *reply;
    r.headers = q(r.headers);
    r.body = q(r.body);
    return bare_chat(&host, plugin, inst, &c, &r);
}

static mortise_status chat(const char *members, const char *messages,
                           const struct bare_reply *reply)
{
    char body[16384];

    ck_assert_int_lt(snprintf(body, sizeof body,
                              "{'model':'m',%s'messages':[%s]}", members,
                              messages),
                     sizeof body);
    return ask(body, reply);
}

static mortise_status stream(const struct bare_reply *reply)
{
    return chat("'stream':true,", USER("a"), reply);
}

static void is(const char *have, const char *want)
{
    ck_assert_str_eq(have != NULL ? have : "", q(want));
}

/* A member of the request that was made, or of the message request in it, as
 * it was written; static. */
static const char *member(const char *name, bool of_message)
{
    static char text[65536];
    mortise_jv v;

    ck_assert_ptr_nonnull(host.asked);
    ck_assert_int_eq(
        mortise_jv_parse(mortise_strz(strchr(host.asked, ' ')), &v),
        MORTISE_S_OK);
    v = mortise_jv_get(of_message ? mortise_jv_get(v, "json") : v, name);
    ck_assert_uint_lt(v.n, sizeof text);
    snprintf(text, sizeof text, "%.*s", (int)v.n, v.n > 0 ? v.p : "");
    return text;
}

/* With these members and messages, that member is sent so. */
static void sends(const char *members, const char *messages, const char *name,
                  const char *want)
{
    mortise_status status = chat(members, messages, &hello);

    ck_assert_msg(status == MORTISE_S_OK, "%s", host.msg);
    is(member(name, true), want);
}

#define SENDS(messages, ...)                                                   \
    sends("", messages, "messages", "[" LIST(__VA_ARGS__) "]")

/* ---- requests ------------------------------------------------------------ */

/* The whole of the least request. */
START_TEST(the_least_request)
{
    ck_assert_int_eq(chat("", USER("Hello"), &hello), MORTISE_S_OK);
    is(host.asked,
       "http.request/1 {'url':'https://api.anthropic.com/v1/messages',"
       "'method':'POST','headers':{'anthropic-version':'2023-06-01'},"
       "'json':{'model':'m','max_tokens':4096,'messages':[{'role':'user',"
       "'content':[{'type':'text','text':'Hello'}]}]},"
       "'idle_timeout_ms':600000}");
}
END_TEST

/* The whole of one with all there is. */
START_TEST(a_full_request)
{
    configure("{'api_key':'k\\'1','thinking':{'type':'adaptive'}}");
    ck_assert_int_eq(chat("'tools':[{'name':'f','description':'d','parameters':"
                          "{'type':'object'}},{'name':'g','parameters':{}}],"
                          "'tool_choice':{'name':'f'},'parallel_tools':false,"
                          "'temperature':0.5,'max_tokens':10,'stop':['a','b'],"
                          "'reasoning_effort':'high','response':{'schema':"
                          "{'type':'object'},'name':'n'},'stream':true,"
                          "'timeout_ms':9000,'idle_timeout_ms':800,"
                          "'extra':{'service_tier':'auto'},",
                          LIST(SYSTEM("S"), USER("Hello")), &hello),
                     MORTISE_S_OK);
    is(host.asked,
       "http.request/1 {'url':'https://api.anthropic.com/v1/messages',"
       "'method':'POST','headers':{'anthropic-version':'2023-06-01',"
       "'x-api-key':'k\\'1'},'json':{'model':'m','max_tokens':10,"
       "'system':[{'type':'text','text':'S'}],"
       "'tools':[{'name':'f','description':'d','input_schema':"
       "{'type':'object'}},{'name':'g','input_schema':{}}],"
       "'tool_choice':{'type':'tool','name':'f',"
       "'disable_parallel_tool_use':true},"
       "'messages':[{'role':'user','content':[{'type':'text',"
       "'text':'Hello'}]}],'thinking':{'type':'adaptive'},"
       "'output_config':{'effort':'high','format':{'type':'json_schema',"
       "'schema':{'type':'object'}}},'stop_sequences':['a','b'],"
       "'temperature':0.5,'stream':true,'service_tier':'auto'},"
       "'timeout_ms':9000,'idle_timeout_ms':800,'stream':true}");
}
END_TEST

/* Where it goes, and as whom. */
START_TEST(servers_and_keys)
{
    static const char *const urls[][2] = {
        {"http://localhost:8080", "'http://localhost:8080/v1/messages'"},
        {"http://localhost:8080//", "'http://localhost:8080/v1/messages'"},
        {"http://gpu.lan/v1/", "'http://gpu.lan/v1/messages'"},
        {"https://x/anthropic private", "'https://x/anthropic/v1/messages'"},
    };
    char config[256];

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        snprintf(config, sizeof config, "{'base_url':'%s'}", urls[i][0]);
        configure(config);
        ck_assert_int_eq(chat("", USER("a"), &hello), MORTISE_S_OK);
        is(member("url", false), urls[i][1]);
    }
    configure("{'api_key':'k','auth':'bearer','version':'2026-10-21',"
              "'headers':{'anthropic-beta':'x'},'max_tokens':7}");
    sends("", USER("a"), "max_tokens", "7");
    is(member("headers", false),
       "{'anthropic-version':'2026-10-21','authorization':'Bearer k',"
       "'anthropic-beta':'x'}");
    ck_assert_ptr_null(bare_create(&host, plugin, "{"));
    ck_assert_ptr_null(bare_create(&host, plugin, q("{'base_url':1}")));
}
END_TEST

/* A server that does not stream may be silent for as long as all may take. */
START_TEST(silence)
{
    ck_assert_int_eq(chat("'timeout_ms':9000,", USER("a"), &hello),
                     MORTISE_S_OK);
    is(member("idle_timeout_ms", false), "9000");
    ck_assert_int_eq(stream(&hello), MORTISE_S_OK);
    is(member("idle_timeout_ms", false), "");
    is(member("timeout_ms", false), "");
}
END_TEST

#define TOOLS "'tools':[{'name':'f','parameters':{}}],"

static const struct {
    const char *members, *want;
} choices[] = {
    {TOOLS, ""},
    {TOOLS "'parallel_tools':true,", ""},
    {TOOLS "'parallel_tools':false,",
     "{'type':'auto','disable_parallel_tool_use':true}"},
    {TOOLS "'tool_choice':'auto',", "{'type':'auto'}"},
    {TOOLS "'tool_choice':'none','parallel_tools':false,", "{'type':'none'}"},
    {TOOLS "'tool_choice':'required','parallel_tools':false,",
     "{'type':'any','disable_parallel_tool_use':true}"},
    {TOOLS "'tool_choice':{'name':'f'},", "{'type':'tool','name':'f'}"},
    {"'tool_choice':'auto',", ""},
    {"'tools':[],'tool_choice':'auto','parallel_tools':false,", ""},
    {"'extra':{'tools':[{}]},'tool_choice':'auto',", "{'type':'auto'}"},
};

START_TEST(choices_of_tools)
{
    sends(choices[_i].members, USER("a"), "tool_choice", choices[_i].want);
}
END_TEST

/* What the caller puts in is put in as it is, over ours. */
START_TEST(extra_replaces)
{
    static const char members[] =
        "'reasoning_effort':'low','temperature':1,'extra':{'output_config':"
        "{'effort':'max'},'metadata':{'user_id':'u'},'temperature':2},";

    sends(members, USER("a"), "output_config", "{'effort':'max'}");
    sends(members, USER("a"), "temperature", "2");
    sends(members, USER("a"), "metadata", "{'user_id':'u'}");
    ck_assert_ptr_null(strstr(host.asked, "low"));
    sends("'response':{},", USER("a"), "output_config", "");
}
END_TEST

/* What is no request says so, and nothing is asked. */
START_TEST(nonsense_is_refused)
{
    static const char *const bad[] = {"{", "[]", "{'model':'m'}",
                                      "{'model':'m','messages':[]}",
                                      "{'messages':[" USER("a") "]}"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(ask(bad[i], &hello), MORTISE_S_INVALID);
        ck_assert_str_eq(host.code, "model.request");
        ck_assert_ptr_null(host.asked);
    }
    ck_assert_int_eq(chat("", USER("a"), NULL), MORTISE_S_UNSUPPORTED);
    ck_assert_str_eq(host.code, "model.connect");
}
END_TEST

/* ---- turns --------------------------------------------------------------- */

/* All results of a reply's calls come first in one turn, whatever stood
 * between them, and all texts behind them. */
START_TEST(results_are_in_one_turn)
{
    SENDS(LIST(USER("a"), SAID(TEXT("b"), CALL("1"), CALL("2")),
               TOOL(RESULT("1")), USER("c"),
               TOOL(RESULTED("2", "[],'is_error':true")), USER("d")),
          TURN("user", BLOCK("a")),
          TURN("assistant", BLOCK("b"), TOOL_USE("1"), TOOL_USE("2")),
          TURN("user", GAVE("1"), GAVE_ALL("2", "'is_error':true"), BLOCK("c"),
               BLOCK("d")));
    SENDS(LIST(USER("a"), SAID(CALL("1")),
               TOOL(RESULTED("1", "[" TEXT("r") "],'is_error':false"))),
          TURN("user", BLOCK("a")), TURN("assistant", TOOL_USE("1")),
          TURN("user", GAVE("1")));
}
END_TEST

/* Messages of one side become one; those with nothing in them none. */
START_TEST(turns_alternate)
{
    SENDS(
        LIST(USER("a"), USER("b"), SAID(TEXT("c")), SAID(TEXT("d")), USER("e")),
        TURN("user", BLOCK("a"), BLOCK("b")),
        TURN("assistant", BLOCK("c"), BLOCK("d")), TURN("user", BLOCK("e")));
    SENDS(LIST(USER("a"),
               SAID(TEXT(" \\n\\t"), REASONING("'text':'t'"),
                    "{'type':'image','url':'u'}"),
               USER("b")),
          TURN("user", BLOCK("a"), BLOCK("b")));
    SENDS(MESSAGE("user", TEXT(""), TEXT(" \\u00e4")),
          TURN("user", BLOCK(" \\u00e4")));
    SENDS(LIST(USER("a"), SAID("")), TURN("user", BLOCK("a")));
}
END_TEST

/* System messages before all others are the system's; later ones stand behind
 * the turn that they came with, or in it. */
START_TEST(system_messages)
{
    static const char messages[] =
        LIST(SYSTEM("s"), SYSTEM("t"), USER("a"), SAID(CALL("1")), SYSTEM("u"),
             TOOL(RESULT("1")), SYSTEM("v"), USER("b"));

    sends("", messages, "system", "[" LIST(BLOCK("s"), BLOCK("t")) "]");
    SENDS(messages, TURN("user", BLOCK("a")), TURN("assistant", TOOL_USE("1")),
          TURN("user", GAVE("1"), BLOCK("b")),
          TURN("system", BLOCK("u"), BLOCK("v")));
    SENDS(LIST(USER("a"), SAID(TEXT("b")), SYSTEM("u")),
          TURN("user", BLOCK("a")), TURN("assistant", BLOCK("b")),
          TURN("user", BLOCK("u")));
    configure("{'system_turns':'user'}");
    sends("", messages, "system", "[" LIST(BLOCK("s"), BLOCK("t")) "]");
    SENDS(messages, TURN("user", BLOCK("a")), TURN("assistant", TOOL_USE("1")),
          TURN("user", GAVE("1"), BLOCK("u"), BLOCK("v"), BLOCK("b")));
}
END_TEST

/* Images, in messages and in results; a result of nothing is one. */
START_TEST(images)
{
    SENDS(
        MESSAGE("user", "{'type':'image','url':'https://i/'}",
                "{'type':'image','media_type':'image/png','data':'AA'}",
                "{'type':'file','media_type':'image/gif','data':'AA'}"),
        TURN("user", SOURCE("image", "'url','url':'https://i/'"),
             SOURCE("image", "'base64','media_type':'image/png','data':'AA'"),
             SOURCE("image", "'base64','media_type':'image/gif','data':'AA'")));
    SENDS(LIST(USER("a"), SAID(CALL("1")),
               TOOL(RESULTED("1", "[{'type':'image','url':'https://i/'}," TEXT(
                                      "") "]"),
                    RESULTED("2", "[]"))),
          TURN("user", BLOCK("a")), TURN("assistant", TOOL_USE("1")),
          TURN("user",
               GAVE_ALL("1", "'content':[" SOURCE(
                                 "image", "'url','url':'https://i/'") "]"),
               "{'type':'tool_result','tool_use_id':'2'}"));
}
END_TEST

/* Files are documents; those of text are sent as text, if they are any. */
START_TEST(files)
{
    SENDS(MESSAGE("user", "{'type':'file','url':'https://f/'}",
                  "{'type':'file','media_type':'application/pdf','data':"
                  "'JVBE','name':'a.pdf'}",
                  "{'type':'file','media_type':'text/csv','data':"
                  "'w6QsIjEiCg==','name':'a.csv'}",
                  "{'type':'file','media_type':'text/plain','data':'\\/w=='}",
                  "{'type':'file','media_type':'text/plain','data':'a?'}"),
          TURN("user", SOURCE("document", "'url','url':'https://f/'"),
               "{'type':'document','source':{'type':'base64','media_type':"
               "'application/pdf','data':'JVBE'},'title':'a.pdf'}",
               "{'type':'document','source':{'type':'text','media_type':"
               "'text/plain','data':'\xc3\xa4,\\'1\\'\\n'},'title':'a.csv'}",
               SOURCE("document", "'base64','media_type':'text/plain','data':"
                                  "'\\/w=='"),
               SOURCE("document", "'base64','media_type':'text/plain','data':"
                                  "'a?'")));
}
END_TEST

/* An id of another server's becomes one that this one takes; arguments that
 * were none become none. */
START_TEST(calls_of_others)
{
    SENDS(LIST(SAID(CALLED("fc.1|\xc3\xa4", "'arguments_text':'{\\'x'")),
               TOOL(RESULT("fc.1|\xc3\xa4"))),
          TURN("assistant", "{'type':'tool_use','id':'fc_1___','name':'f',"
                            "'input':{}}"),
          TURN("user", GAVE("fc_1___")));
}
END_TEST

#define THOUGHT "{'type':'thinking','thinking':'t','signature':'s'}"

/* Thinking of the server's own goes back where it was; that of another, or of
 * nobody, does not. */
START_TEST(thinking_goes_back)
{
    SENDS(
        LIST(USER("a"),
             SAID(REASONING("'text':'t'," MINE(THOUGHT)),
                  REASONING("'text':'t'," THEIRS(THOUGHT)),
                  REASONING("'text':'t'"), REASONING(MINE("'none'")), TEXT("b"),
                  REASONING(MINE("{'type':'redacted_thinking','data':"
                                 "'d'}")))),
        TURN("user", BLOCK("a")),
        TURN("assistant", THOUGHT, BLOCK("b"),
             "{'type':'redacted_thinking','data':'d'}"));
}
END_TEST

/* What is kept beside a text or a call goes back with it, and a text that was
 * changed goes as it is now.  A refusal that was never content does not go
 * back; another's does. */
START_TEST(what_is_kept_goes_back)
{
    SENDS(
        LIST(USER("a"),
             SAID("{'type':'text','text':'new'," MINE(
                      "{'citations':[{'a':1}]}") "}",
                  "{'type':'text','text':'x'," THEIRS("{'y':1}") "}",
                  "{'type':'refusal','text':'z'}",
                  "{'type':'refusal','text':'w'," MINE("{'category':'c'}") "}",
                  CALLED("1", "'arguments':{}," MINE(
                                  "{'caller':{'type':'direct'}}")))),
        TURN("user", BLOCK("a")),
        TURN("assistant", "{'type':'text','text':'new','citations':[{'a':1}]}",
             BLOCK("x"), BLOCK("z"),
             "{'type':'tool_use','id':'1','name':'f','input':{},"
             "'caller':{'type':'direct'}}"));
}
END_TEST

/* ---- the cache ----------------------------------------------------------- */

#define MARK           "'cache_control':{'type':'ephemeral'}"
#define MARKED_TEXT(t) "{'type':'text','text':'" t "'," MARK "}"

static size_t count(const char *text, const char *piece)
{
    size_t n = 0;

    for (; (text = strstr(text, piece)) != NULL; text += strlen(piece))
        n++;
    return n;
}

static const char cached[] =
    LIST(MESSAGE("system", TEXT("s"), TEXT("t")), USER("a"), SAID(TEXT("b")),
         USER("c"), SAID(REASONING(MINE(THOUGHT)), CALL("1"), CALL("2")),
         TOOL(RESULT("1"), RESULT("2")));

/* Marked are the last tool, the last of system and the ends of the last two
 * turns of the user's: never more than four, and never what was thought. */
START_TEST(the_cache_is_asked_for)
{
    static const char members[] =
        "'cache':true,'tools':[{'name':'f','parameters':{}},"
        "{'name':'g','parameters':{}}],";

    sends(
        members, cached, "messages",
        "[" LIST(TURN("user", BLOCK("a")), TURN("assistant", BLOCK("b")),
                 TURN("user", MARKED_TEXT("c")),
                 TURN("assistant", THOUGHT, TOOL_USE("1"), TOOL_USE("2")),
                 TURN("user", GAVE("1"),
                      GAVE_ALL("2", "'content':[" BLOCK("r") "]," MARK))) "]");
    is(member("system", true), "[" LIST(BLOCK("s"), MARKED_TEXT("t")) "]");
    is(member("tools", true), "[{'name':'f','input_schema':{}},"
                              "{'name':'g','input_schema':{}," MARK "}]");
    ck_assert_uint_eq(count(host.asked, "cache_control"), 4);
}
END_TEST

/* Not unless it is wanted; not beside the caller's own; and for as long as the
 * deployment says. */
START_TEST(the_cache_is_the_callers)
{
    ck_assert_int_eq(chat("'cache':false,", cached, &hello), MORTISE_S_OK);
    ck_assert_uint_eq(count(host.asked, "cache_control"), 0);
    ck_assert_int_eq(
        chat("'cache':true,'extra':{'cache_control':{}},", cached, &hello),
        MORTISE_S_OK);
    ck_assert_uint_eq(count(host.asked, "cache_control"), 1);
    configure("{'cache_ttl':'1h'}");
    sends("'cache':true,", LIST(SYSTEM("s"), USER("a")), "system",
          "[{'type':'text','text':'s','cache_control':{'type':'ephemeral',"
          "'ttl':'1h'}}]");
}
END_TEST

/* ---- replies ------------------------------------------------------------- */

/* Thinking, what must not be read, a text and two calls, and in between what
 * means nothing. */
static const char recorded[] = STREAM(
    START, PING,
    STREAM(OPEN_THINKING("0"), THINKS("0", "Let me "),
           THINKS("0", "see\\u2026"), SIGNS("0", "c2ln/w=="), CLOSE("0")),
    STREAM(OPEN("1", "'type':'redacted_thinking','data':'EmwK'"), CLOSE("1")),
    STREAM(OPEN_TEXT("2"), SAYS("2", "It is \xe2\x98\x80"), PING,
           SAYS("2", " \\'so\\'"), CLOSE("2")),
    STREAM(OPEN_CALL("3", "toolu_1"), WRITES("3", ""), WRITES("3", "{\\'x\\'"),
           EVENT("news", ",'index':3"), WRITES("3", ": [1, 2.50]}"),
           CLOSE("3")),
    STREAM(OPEN_CALL("4", "toolu_2"), WRITES("4", ""), CLOSE("4")),
    END("tool_use"));

#define RECORDED_THOUGHT                                                       \
    "{'type':'thinking','thinking':'Let me see\xe2\x80\xa6','signature':"      \
    "'c2ln/w=='}"
#define RECORDED_BLOCKS                                                        \
    LIST(RECORDED_THOUGHT, "{'type':'redacted_thinking','data':'EmwK'}",       \
         BLOCK("It is \xe2\x98\x80 \\'so\\'"),                                 \
         "{'type':'tool_use','id':'toolu_1','name':'f','input':"               \
         "{'x': [1, 2.50]}}",                                                  \
         "{'type':'tool_use','id':'toolu_2','name':'f','input':{}}")

/* A reply. */
#define GIVEN(parts, stop)                                                     \
    "{'message':{'role':'assistant','parts':[" parts "]},'stop':'" stop "'"

static const char recorded_output[] = GIVEN(
    LIST(REASONING("'text':'Let me see\xe2\x80\xa6'," MINE(RECORDED_THOUGHT)),
         REASONING(MINE("{'type':'redacted_thinking','data':'EmwK'}")),
         TEXT("It is \xe2\x98\x80 \\'so\\'"),
         CALLED("toolu_1", "'arguments':{'x': [1, 2.50]}"),
         CALLED("toolu_2", "'arguments':{}")),
    "tools") ",'stop_reason':'tool_use','model':'claude-x','id':'msg_1'}";

static const char recorded_usage[] =
    "{'model_calls':1,'input_tokens':100,'output_tokens':89,"
    "'cached_tokens':70,'cache_write_tokens':5,'reasoning_tokens':30,"
    "'model':'claude-x'}";

static void is_recorded(mortise_status status)
{
    ck_assert_msg(status == MORTISE_S_OK, "%s", host.msg);
    is(host.out, recorded_output);
    is(host.usage.p, recorded_usage);
    ck_assert_int_eq(host.usages, 1);
}

static void is_watched(void)
{
    is(host.delta.p, "It is \xe2\x98\x80 'so'");
    is(host.reasoning.p, "Let me see\xe2\x80\xa6");
}

/* A stream becomes its reply wherever it is cut: into two, into single bytes,
 * or not at all. */
START_TEST(streams_are_cut_anywhere)
{
    struct bare_reply r = events(recorded);

    for (r.cut = 1; r.cut < sizeof recorded; r.cut++) {
        is_recorded(stream(&r));
        is_watched();
    }
    r.piece = 1;
    is_recorded(stream(&r));
    is_watched();
}
END_TEST

/* However it comes: from a record, as a stream that was not asked for, as one
 * that does not say that it is one, or not as the one that was asked for. */
START_TEST(streams_come_in_other_ways)
{
    struct bare_reply r = events(recorded);

    r.recorded = true;
    is_recorded(stream(&r));
    is_watched();
    is_recorded(chat("", USER("a"), &r));
    ck_assert_ptr_null(host.delta.p);
    r.recorded = false;
    r.headers = NULL;
    is_recorded(stream(&r));
    ck_assert_int_eq(stream(&hello), MORTISE_S_OK);
    is(host.delta.p, "Hi");
}
END_TEST

/* A stream that ends before message_stop is none, whether it ends or breaks;
 * what was used up to there is told. */
START_TEST(streams_that_end_early)
{
    size_t last = sizeof recorded - 1 - strlen("\n\n"); /* it is whole */
    size_t first = strlen(START) - strlen("\n\n"); /* it says what it used */
    char copy[sizeof recorded];
    struct bare_reply r = events(copy);

    for (size_t n = 1; n < last; n++) {
        memcpy(copy, recorded, n);
        copy[n] = '\0';
        for (int i = 0; i < 2; i++) {
            r.broken = i == 0 ? MORTISE_S_OK : MORTISE_S_IO;
            ck_assert_int_eq(stream(&r), MORTISE_S_FAILED);
            ck_assert_str_eq(host.code, "model.stream");
            ck_assert_str_eq(host.klass, "transient");
            ck_assert_uint_eq(host.n_out, 0);
            ck_assert_int_eq(host.usages, n >= first + 2 * (size_t)i);
        }
    }
}
END_TEST

/* Once the reply is whole it stays so, whatever becomes of the connection. */
START_TEST(streams_that_end_late)
{
    struct bare_reply r = events(recorded);

    r.n_body = sizeof recorded - 1 - strlen("\n\n");
    is_recorded(stream(&r));
    r.n_body = 0;
    r.broken = MORTISE_S_IO;
    is_recorded(stream(&r));
    r.broken = MORTISE_S_TIMEOUT;
    is_recorded(stream(&r));
    r = events(
        STREAM(START, END("end_turn"), SAYS("9", "x"), "data: [DONE]\n\n"));
    ck_assert_int_eq(stream(&r), MORTISE_S_OK);
}
END_TEST

/* The last event of a stream ends the call, and so does an error: a server may keep
 * the connection open. */
START_TEST(last_events)
{
    struct bare_reply r = events(recorded);

    r.broken = MORTISE_S_TIMEOUT;
    is_recorded(stream(&r));
    ck_assert(host.early);
    r.piece = 1;
    is_recorded(stream(&r));
    ck_assert(host.early);
    r = events(STREAM(START, EVENT("error", ",'error':{'type':'api_error'}")));
    r.broken = MORTISE_S_TIMEOUT;
    ck_assert_int_eq(stream(&r), MORTISE_S_FAILED);
    ck_assert(host.early);
    r = events(STREAM(START));
    r.broken = MORTISE_S_TIMEOUT;
    ck_assert_int_eq(stream(&r), MORTISE_S_TIMEOUT);
    ck_assert(!host.early);
}
END_TEST

/* The same reply, whole, gives the same. */
START_TEST(whole_messages)
{
    static const char body[] =
        "{'id':'msg_1','type':'message','role':'assistant','model':"
        "'claude-x','content':[" RECORDED_BLOCKS "],'stop_reason':'tool_use',"
        "'usage':{'input_tokens':25,'cache_creation_input_tokens':5,"
        "'cache_read_input_tokens':70,'output_tokens':89,"
        "'output_tokens_details':{'thinking_tokens':30}}}";
    struct bare_reply r = whole(200, TYPE_JSON, body);

    is_recorded(chat("", USER("a"), &r));
    ck_assert_ptr_null(host.delta.p);
    is_recorded(stream(&r));
    is_watched();
    r.headers = "{'content-type':'application/json; charset=utf-8',"
                "'request-id':'req_1'}";
    ck_assert_int_eq(chat("", USER("a"), &r), MORTISE_S_OK);
    ck_assert_ptr_nonnull(strstr(host.out, q(",'id':'req_1'}")));
}
END_TEST

/* What a reply says goes back as it came. */
START_TEST(replies_go_back_as_they_came)
{
    struct bare_reply r = events(recorded);
    char messages[8192];
    mortise_jv v;

    is_recorded(stream(&r));
    ck_assert_int_eq(mortise_jv_parse(mortise_strn(host.out, host.n_out), &v),
                     MORTISE_S_OK);
    v = mortise_jv_get(v, "message");
    snprintf(messages, sizeof messages, USER("a") ",%.*s", (int)v.n, v.p);
    SENDS(messages, TURN("user", BLOCK("a")),
          TURN("assistant", RECORDED_BLOCKS));
}
END_TEST

/* A stream gives a reply that begins so. */
static void gives(const char *body, const char *want)
{
    struct bare_reply r = events(body);
    mortise_status status = stream(&r);

    ck_assert_msg(status == MORTISE_S_OK, "%s", host.msg);
    if (host.n_out > strlen(want))
        host.out[strlen(want)] = '\0';
    is(host.out, want);
}

/* Blocks that are open at once, in any order, and closed at the end or never;
 * starts without an input (llama.cpp), or with a text already. */
START_TEST(blocks_in_any_order)
{
    gives(STREAM(START, OPEN_CALL("1", "b"),
                 OPEN("0", "'type':'tool_use','id':'a','name':'f'"),
                 WRITES("1", "{\\'y\\':"), WRITES("0", "{}"), WRITES("1", "2}"),
                 CLOSE("0"), CLOSE("1"), END("tool_use")),
          GIVEN(LIST(CALLED("a", "'arguments':{}"),
                     CALLED("b", "'arguments':{'y':2}")),
                "tools"));
    gives(STREAM(START, OPEN("7", "'type':'tool_use','name':'f'"),
                 END("tool_use")),
          GIVEN(CALLED("call_7", "'arguments':{}"), "tools"));
    gives(STREAM(START, OPEN("0", "'type':'text','text':'a'"), SAYS("0", "b"),
                 END("end_turn")),
          GIVEN(TEXT("ab"), "end"));
    is(host.delta.p, "ab");
}
END_TEST

/* Servers that number no blocks, and give no ids, or one to all: each call is one
 * of its own. */
START_TEST(blocks_of_one_index)
{
    gives(STREAM(START, STREAM(OPEN_TEXT("0"), SAYS("0", "a"), CLOSE("0")),
                 STREAM(OPEN("0", "'type':'tool_use','name':'f'"),
                        WRITES("0", "{}"), CLOSE("0")),
                 STREAM(OPEN("0", "'type':'tool_use','name':'f'"),
                        WRITES("0", "{\\'y\\':2}"), CLOSE("0")),
                 END("tool_use")),
          GIVEN(LIST(TEXT("a"), CALLED("call_1", "'arguments':{}"),
                     CALLED("call_2", "'arguments':{'y':2}")),
                "tools"));
    gives(STREAM(START, OPEN_CALL("0", "a"), OPEN_CALL("1", "a"),
                 END("tool_use")),
          GIVEN(LIST(CALLED("a", "'arguments':{}"),
                     CALLED("call_1", "'arguments':{}")),
                "tools"));
}
END_TEST

/* A character whose halves are in two events is one; a half alone is unknown. */
START_TEST(halves_of_characters)
{
    gives(STREAM(START,
                 STREAM(OPEN_TEXT("0"), SAYS("0", "a\\ud83d"), PING,
                        SAYS("0", "\\ude00b"), SAYS("0", "\\ude00")),
                 STREAM(OPEN_CALL("1", "a"), WRITES("1", "{\\'y\\':\\'\\ud83d"),
                        WRITES("1", "\\ude00\\'}")),
                 END("tool_use")),
          GIVEN(LIST(TEXT("a\xf0\x9f\x98\x80"
                          "b\xef\xbf\xbd"),
                     CALLED("a", "'arguments':{'y':'\xf0\x9f\x98\x80'}")),
                "tools"));
    is(host.delta.p, "a\xf0\x9f\x98\x80"
                     "b\xef\xbf\xbd");
}
END_TEST

/* Arguments that are no object are as they were written. */
START_TEST(broken_arguments)
{
    gives(STREAM(START, OPEN_CALL("0", "a"), WRITES("0", "{\\'x\\':"),
                 END("tool_use")),
          GIVEN(CALLED("a", "'arguments_text':'{\\'x\\':'"), "tools"));
    gives(
        STREAM(START, OPEN_CALL("0", "a"), WRITES("0", "[1]"), END("tool_use")),
        GIVEN(CALLED("a", "'arguments_text':'[1]'"), "tools"));
    gives(STREAM(START,
                 OPEN("0", "'type':'tool_use','id':'a','name':'f','input':'x'"),
                 END("tool_use")),
          GIVEN(CALLED("a", "'arguments_text':'\\'x\\''"), "tools"));
    gives(STREAM(START, OPEN_CALL("0", "a"), WRITES("0", "{\\'x\\'"),
                 END("max_tokens")),
          GIVEN(CALLED("a", "'arguments_text':'{\\'x\\''"), "length"));
}
END_TEST

/* What tools of the server did, and kinds that are newer than this, are kept
 * for it, whole; thinking that is not shown, too. */
START_TEST(blocks_for_the_server)
{
    gives(STREAM(START,
                 OPEN("0", "'type':'server_tool_use','id':'s','name':"
                           "'web_search','input':{}"),
                 WRITES("0", "{\\'q\\':1}"), CLOSE("0"),
                 OPEN("1", "'type':'web_search_tool_result','content':[]"),
                 CLOSE("1"), END("pause_turn")),
          GIVEN(LIST(REASONING(MINE("{'type':'server_tool_use','id':'s',"
                                    "'name':'web_search','input':{'q':1}}")),
                     REASONING(MINE("{'type':'web_search_tool_result',"
                                    "'content':[]}"))),
                "pause"));
    gives(STREAM(START,
                 OPEN("0", "'type':'server_tool_use','id':'s','input':{}"),
                 WRITES("0", "{"), END("max_tokens")),
          GIVEN(REASONING(MINE("{'type':'server_tool_use','id':'s',"
                               "'input':'{'}")),
                "length"));
    gives(STREAM(START, OPEN_THINKING("0"), SIGNS("0", "a"), SIGNS("0", "b"),
                 END("end_turn")),
          GIVEN(REASONING(MINE("{'type':'thinking','thinking':'','signature':"
                               "'b'}")),
                "end"));
}
END_TEST

/* So is what a text or a call has beside what the part says, and nothing where
 * that is nothing. */
START_TEST(beside_a_block)
{
    gives(STREAM(START, OPEN_TEXT("0"), SAYS("0", "so"), CITES("0", "{'u':1}"),
                 CITES("0", "{'u':2}"), DELTA("0", "odd", "'x':1"),
                 END("end_turn")),
          GIVEN("{'type':'text','text':'so'," MINE(
                    "{'citations':[{'u':1},{'u':2}]}") "}",
                "end"));
    gives(STREAM(START,
                 OPEN("0", "'type':'text','text':'a','citations':[],'x':null"),
                 OPEN("1", "'type':'text','text':'b','citations':[{'u':1}]"),
                 OPEN("2", "'type':'tool_use','id':'a','name':'f','input':{},"
                           "'caller':{'type':'direct'}"),
                 OPEN_TEXT("3"), END("tool_use")),
          GIVEN(LIST(TEXT("a"),
                     "{'type':'text','text':'b'," MINE(
                         "{'citations':[{'u':1}]}") "}",
                     CALLED("a", "'arguments':{}," MINE(
                                     "{'caller':{'type':'direct'}}"))),
                "tools"));
}
END_TEST

static const struct {
    const char *reason; /* JSON */
    bool calls;
    const char *stop;
} stops[] = {
    {"'end_turn'", false, "end"},
    {"'end_turn'", true, "tools"},
    {"'stop_sequence'", false, "end"},
    {"'tool_use'", true, "tools"},
    {"'tool_use'", false, "end"},
    {"'max_tokens'", false, "length"},
    {"'max_tokens'", true, "length"},
    {"'model_context_window_exceeded'", true, "context"},
    {"'pause_turn'", false, "pause"},
    {"'pause_turn'", true, "tools"},
    {"'refusal'", false, "refusal"},
    {"'refusal'", true, "refusal"},
    {"'something_new'", false, "other"},
    {"'something_new'", true, "other"},
    {"null", false, "other"},
    {"null", true, "tools"},
};

/* Why it ended, in the contract's words.  Nothing is told of what it used where
 * the server does not count. */
START_TEST(stop_reasons)
{
    char body[512], want[64];
    struct bare_reply r = whole(200, TYPE_JSON, body);

    snprintf(body, sizeof body,
             "{'type':'message','content':[%s],'stop_reason':%s}",
             stops[_i].calls ? TOOL_USE("a") : "", stops[_i].reason);
    ck_assert_int_eq(chat("", USER("a"), &r), MORTISE_S_OK);
    snprintf(want, sizeof want, "'stop':'%s'", stops[_i].stop);
    ck_assert_msg(strstr(host.out, q(want)) != NULL, "%s", host.out);
    ck_assert_int_eq(host.usages, 0);
}
END_TEST

/* A refusal says why, where the server does. */
START_TEST(refusals)
{
#define DETAILS "{'type':'refusal','category':'cyber','explanation':null}"
    gives(STREAM(START, OPEN_TEXT("0"), SAYS("0", "I"),
                 STOPS("'stop_reason':'refusal','stop_details':" DETAILS)),
          GIVEN(LIST(TEXT("I"),
                     "{'type':'refusal','text':'cyber'," MINE(DETAILS) "}"),
                "refusal"));
    gives(STREAM(START, STOPS("'stop_reason':'refusal','stop_details':"
                              "{'category':'cyber','explanation':'no'}")),
          GIVEN("{'type':'refusal','text':'no'," MINE(
                    "{'category':'cyber','explanation':'no'}") "}",
                "refusal"));
    gives(STREAM(START, END("refusal")), GIVEN("", "refusal"));
}
END_TEST

/* Numbers are totals: the last one of each counts.  An invalid count of the input
 * changes nothing, because the input does not grow.  The same holds for why it
 * ended. */
START_TEST(usage_is_the_last)
{
    struct bare_reply r = events(STREAM(
        START,
        EVENT("message_delta", ",'delta':{'stop_reason':'max_tokens'},'usage':"
                               "{'output_tokens':3}"),
        EVENT("message_delta", ",'delta':{'stop_reason':'end_turn'}"),
        EVENT("message_delta",
              ",'delta':{},'usage':{'input_tokens':26,'output_tokens':4,"
              "'cache_read_input_tokens':null,"
              "'cache_creation_input_tokens':-1}"),
        STOP, EVENT("message_delta", ",'usage':{'output_tokens':9}")));

    ck_assert_int_eq(stream(&r), MORTISE_S_OK);
    is(host.usage.p,
       "{'model_calls':1,'input_tokens':101,'output_tokens':4,"
       "'cached_tokens':70,'cache_write_tokens':5,'model':'claude-x'}");
    ck_assert_ptr_nonnull(strstr(host.out, q("'stop':'end'")));
}
END_TEST

/* A count that is no whole number from 0 is null, which the host calls unclear.  An
 * invalid count of the output replaces a good one before it, and a good one behind it
 * replaces that. */
START_TEST(usage_is_unclear)
{
    struct bare_reply r = events(STREAM(
        START,
        EVENT("message_delta", ",'delta':{},'usage':{'output_tokens':3}"),
        EVENT("message_delta",
              ",'delta':{'stop_reason':'end_turn'},'usage':{'output_tokens':-1,"
              "'output_tokens_details':{'thinking_tokens':1.5}}"),
        STOP));

    ck_assert_int_eq(stream(&r), MORTISE_S_OK);
    is(host.usage.p, "{'model_calls':1,'input_tokens':100,'output_tokens':null,"
                     "'cached_tokens':70,'cache_write_tokens':5,"
                     "'reasoning_tokens':null,'model':'claude-x'}");
    r = events(STREAM(
        EVENT("message_start", ",'message':{'type':'message','content':[],"
                               "'usage':{'input_tokens':'many',"
                               "'cache_read_input_tokens':-7}}"),
        EVENT("message_delta", ",'delta':{},'usage':{'output_tokens':-1}"),
        EVENT("message_delta", ",'delta':{'stop_reason':'end_turn'},"
                               "'usage':{'output_tokens':4}"),
        STOP));
    ck_assert_int_eq(stream(&r), MORTISE_S_OK);
    is(host.usage.p, "{'model_calls':1,'input_tokens':null,'output_tokens':4,"
                     "'cached_tokens':null}");
}
END_TEST

/* What is nothing is told, too; a name that no host takes is not. */
START_TEST(usage_of_nothing)
{
    char body[512], name[130];
    struct bare_reply r = whole(200, TYPE_JSON, body);

    memset(name, 'm', sizeof name);
    name[129] = '\0';
    snprintf(body, sizeof body,
             "{'type':'message','model':'%s','content':[],'stop_reason':"
             "'end_turn','usage':{'input_tokens':0,'output_tokens':0,"
             "'cache_read_input_tokens':0}}",
             name);
    ck_assert_int_eq(chat("", USER("a"), &r), MORTISE_S_OK);
    is(host.usage.p, "{'model_calls':1,'input_tokens':0,'output_tokens':0,"
                     "'cached_tokens':0}");
    ck_assert_ptr_nonnull(strstr(host.out, name));
}
END_TEST

/* ---- errors -------------------------------------------------------------- */

static void failed(mortise_status status, const char *code, const char *klass,
                   const char *words)
{
    ck_assert_int_lt(status, 0);
    ck_assert_str_eq(host.code, code);
    ck_assert_str_eq(host.klass, klass);
    ck_assert_msg(strstr(host.msg, words) != NULL, "%s", host.msg);
    ck_assert_uint_eq(host.n_out, 0);
}

#define ERROR(type, message)                                                   \
    "{'type':'error','error':{'type':'" type "','message':'" message           \
    "'},'request_id':'req_9'}"
#define LIMIT(code)                                                            \
    "{'type':'error','error':{'type':'rate_limit_error','message':'m',"        \
    "'details':{'error_code':'" code "'}}}"

static const struct {
    int status;
    const char *headers, *body, *code, *klass, *words;
    int64_t host_ms, retry_after_ms;
} refused[] = {
    {400, TYPE_JSON, ERROR("invalid_request_error", "temperature: no"),
     "model.request", "permanent",
     "the server answered with status 400, invalid_request_error: temperature: "
     "no req_9",
     0, -1},
    {400, NULL, ERROR("invalid_request_error", "prompt is too long: 9 > 8"),
     "model.context", "permanent", "9 > 8", 0, -1},
    {400, NULL,
     "{'error':{'code':400,'type':'exceed_context_size_error','message':"
     "'too big','n_ctx':4096}}",
     "model.context", "permanent", "too big", 0, -1},
    {400, NULL,
     ERROR("invalid_request_error",
           "You have reached your specified API usage limits."),
     "model.quota", "permanent", "", 0, -1},
    {400, NULL,
     ERROR("invalid_request_error", "Your credit balance is too low"),
     "model.quota", "permanent", "", 0, -1},
    {400, NULL,
     ERROR("invalid_request_error",
           "messages.1.content.0: Invalid `signature` in `thinking` block"),
     "model.provider", "permanent", "", 0, -1},
    {400, NULL,
     ERROR("invalid_request_error",
           "this block is bound to a different conversation"),
     "model.provider", "permanent", "", 0, -1},
    {401, NULL, ERROR("authentication_error", "invalid x-api-key"),
     "model.auth", "permanent", "invalid x-api-key", 0, -1},
    {402, NULL, ERROR("billing_error", "pay"), "model.quota", "permanent", "",
     0, -1},
    {403, NULL, ERROR("permission_error", "no"), "model.auth", "permanent", "",
     0, -1},
    {404, NULL, ERROR("not_found_error", "model: m"), "model.not_found",
     "permanent", "model: m", 0, -1},
    {404, NULL, "404 page not found", "model.not_found", "permanent",
     "status 404 for http://server/: 404 page not found", 0, -1},
    {408, NULL, "", "model.timeout", "timeout",
     "the server answered with status 408", 0, -1},
    {409, NULL, "", "model.server", "transient", "", 0, -1},
    {413, NULL, ERROR("request_too_large", "32 MB"), "model.request",
     "permanent", "", 0, -1},
    {418, NULL, "{'error':'a teapot'}", "model.request", "permanent",
     "status 418: a teapot", 0, -1},
    {422, NULL, "{'detail':'Field required'}", "model.request", "permanent",
     "status 422: Field required", 0, -1},
    {400, NULL, "{'object':'error','message':'old','code':400}",
     "model.request", "permanent", "status 400: old", 0, -1},
    {429, "{'request-id':'req_1'}", ERROR("rate_limit_error", "slow down"),
     "model.rate_limit", "transient", "slow down req_1", 2000, 2000},
    {429, "{'retry-after-ms':'250'}", ERROR("rate_limit_error", "slow"),
     "model.rate_limit", "transient", "", 1000, 250},
    {429, NULL, LIMIT("enforced_spend_limit_reached"), "model.quota",
     "permanent", "", 0, -1},
    {429, NULL, LIMIT("contract_spend_limit_reached"), "model.quota",
     "permanent", "", 0, -1},
    {429, NULL, LIMIT("ramp_limit_exceeded"), "model.rate_limit", "transient",
     "", 5000, 5000},
    {500, NULL, ERROR("api_error", "oops"), "model.server", "transient", "oops",
     0, -1},
    {500, "{'x-should-retry':'false'}", ERROR("api_error", "oops"),
     "model.server", "permanent", "oops", 0, -1},
    {403, "{'x-should-retry':'true'}", ERROR("permission_error", "wait"),
     "model.auth", "transient", "", 0, -1},
    {502, "{'content-type':'text/html'}", "<html>Bad Gateway</html>",
     "model.server", "transient", "the server answered with status 502", 0, -1},
    {503, NULL, "upstream \xc3\xa4", "model.overloaded", "transient",
     "status 503: upstream \xc3\xa4", 0, -1},
    {504, NULL, ERROR("timeout_error", "t"), "model.server", "transient", "", 0,
     -1},
    {507, NULL, "\xff", "model.server", "transient",
     "the server answered with status 507", 0, -1},
    {529, NULL, ERROR("overloaded_error", "Overloaded"), "model.overloaded",
     "transient", "Overloaded", 200000000, 86400000},
};

/* Each status, with what servers say beside it, whether a stream was asked for
 * or not. */
START_TEST(errors_by_status)
{
    struct bare_reply r =
        whole(refused[_i].status, refused[_i].headers, refused[_i].body);

    r.retry_after_ms = (uint64_t)refused[_i].host_ms;
    for (int i = 0; i < 2; i++) {
        failed(i == 0 ? chat("", USER("a"), &r) : stream(&r), refused[_i].code,
               refused[_i].klass, refused[_i].words);
        ck_assert_int_eq(host.retry_after_ms, refused[_i].retry_after_ms);
        ck_assert_int_eq(host.usages, 0);
    }
}
END_TEST

/* Words of any length are cut between characters. */
START_TEST(long_words)
{
    char body[8192];
    struct bare_reply r = whole(400, NULL, body);
    size_t n = (size_t)sprintf(body, "{'error':{'message':'");

    for (; n < 6000; n += 2)
        memcpy(body + n, "\xc3\xa4", 2);
    strcpy(body + n, "'}}");
    failed(chat("", USER("a"), &r), "model.request", "permanent", "\xc3\xa4");
    ck_assert_uint_lt(strlen(host.msg), 700);
}
END_TEST

#define MIDWAY(error) EVENT("error", ",'error':" error)

static const struct {
    const char *event, *code, *klass, *words;
} midway[] = {
    {MIDWAY("{'type':'overloaded_error','message':'Overloaded'}"),
     "model.overloaded", "transient", "an error, overloaded_error: Overloaded"},
    {MIDWAY("{'type':'api_error','message':'x'}"), "model.server", "transient",
     ""},
    {MIDWAY("{'type':'rate_limit_error'}"), "model.rate_limit", "transient",
     ""},
    {MIDWAY("{'type':'invalid_request_error','message':'prompt is too long'}"),
     "model.context", "permanent", ""},
    {MIDWAY("{'type':'billing_error'}"), "model.quota", "permanent", ""},
    {MIDWAY("{'type':'odd_error','message':'y'}"), "model.server", "transient",
     "odd_error: y"},
    {"error: {'code':500,'message':'Loading','type':'unavailable_error'}\n\n",
     "model.server", "transient", "Loading"},
    {"event: error\ndata: it broke\n\n", "model.server", "transient",
     "it broke"},
    {"data: {'type':'error','error':'words'}\n\n", "model.server", "transient",
     "words"},
};

/* An error in the middle of a stream, in all dialects; what was used up to
 * there is told, and nothing behind it. */
START_TEST(errors_in_streams)
{
    char body[4096];
    struct bare_reply r = events(body);

    snprintf(body, sizeof body, "%s%s",
             STREAM(START, OPEN_TEXT("0"), SAYS("0", "a")), midway[_i].event);
    failed(stream(&r), midway[_i].code, midway[_i].klass, midway[_i].words);
    is(host.delta.p, "a");
    ck_assert_int_eq(host.usages, 1);
    strcat(body, STREAM(SAYS("0", "b"), END("end_turn")));
    failed(stream(&r), midway[_i].code, midway[_i].klass, midway[_i].words);
    is(host.delta.p, "a");
}
END_TEST

/* An error with status 200 and no stream. */
START_TEST(an_error_that_is_ok)
{
    struct bare_reply r =
        whole(200, TYPE_JSON, ERROR("overloaded_error", "Overloaded"));

    failed(chat("", USER("a"), &r), "model.overloaded", "transient", "");
    failed(stream(&r), "model.overloaded", "transient", "");
}
END_TEST

static const struct {
    int status;
    const char *headers, *body;
} no_message[] = {
    {200, TYPE_JSON, "<html>"},
    {200, TYPE_JSON, ""},
    {200, TYPE_JSON, "\xff"},
    {200, TYPE_JSON, "{'choices':[]}"},
    {200, TYPE_JSON, "{'type':'message','content':'text'}"},
    {200, TYPE_JSON, "{'type':'message','content':[1]}"},
    {200, "{'content-type':'text/html'}", "<html>Sign in</html>"},
    {204, TYPE_JSON, ""},
    {302, NULL, ""},
    {200, TYPE_EVENTS, "data: {'type'\n\n"},
    {200, TYPE_EVENTS, SAYS("0", "a")},
    {200, TYPE_EVENTS, STREAM(START, SAYS("0", "a"))},
    {200, TYPE_EVENTS, STOP},
    {200, TYPE_EVENTS, STREAM(START, OPEN_TEXT("0"), OPEN_TEXT("0"))},
    {200, TYPE_EVENTS, STREAM(START, OPEN("0", "'type':'tool_use','id':'a'"))},
    {200, TYPE_EVENTS,
     STREAM(START, EVENT("content_block_start", ",'index':0"))},
    {200, TYPE_EVENTS,
     STREAM(START, OPEN_TEXT("0"), DELTA("0", "text", "'text':1"))},
};

/* What is no message, or no such stream. */
START_TEST(other_protocols)
{
    struct bare_reply r = whole(no_message[_i].status, no_message[_i].headers,
                                no_message[_i].body);

    failed(stream(&r), "model.protocol", "permanent", "");
    failed(chat("", USER("a"), &r), "model.protocol", "permanent", "");
}
END_TEST

/* There are only so many blocks in a reply. */
START_TEST(too_many_blocks)
{
    static const char one[] = ",{'type':'text','text':''}";
    char *body = malloc(1025 * sizeof one + 128), *p;
    struct bare_reply r = whole(200, TYPE_JSON, body);

    ck_assert_ptr_nonnull(body);
    p = body + sprintf(body, "{'type':'message','content':[{}");
    for (int i = 1; i < 1024; i++)
        p += sprintf(p, "%s", one);
    strcpy(p, "]}");
    ck_assert_int_eq(chat("", USER("a"), &r), MORTISE_S_OK);
    sprintf(p, "%s]}", one);
    failed(chat("", USER("a"), &r), "model.protocol", "permanent", "too many");
    free(body);
}
END_TEST

/* And only so many bytes in an event. */
START_TEST(a_large_event)
{
    size_t n = (16u << 20) + 64;
    char *body = malloc(n + 1);
    struct bare_reply r = events(body);

    ck_assert_ptr_nonnull(body);
    memset(body, 'x', n);
    memcpy(body, "data: ", 6);
    body[n] = '\0';
    failed(stream(&r), "model.protocol", "permanent", "too large");
    free(body);
}
END_TEST

static const struct {
    mortise_status status;
    const char *code, *klass;
} unanswered[] = {
    {MORTISE_S_IO, "model.connect", "transient"},
    {MORTISE_S_TIMEOUT, "model.timeout", "timeout"},
    {MORTISE_S_CANCELLED, "cancelled", "cancelled"},
    {MORTISE_S_DENIED, "model.connect", "permanent"},
    {MORTISE_S_INVALID, "model.request", "permanent"},
    {MORTISE_S_FAILED, "model.protocol", "permanent"},
    {MORTISE_S_NOMEM, "no_memory", "transient"},
    {MORTISE_S_UNSUPPORTED, "model.connect", "permanent"},
};

/* No answer at all, or none to the end: the host's words are passed on, but a
 * connection that is lost in a stream is a stream that broke off. */
START_TEST(no_answer)
{
    mortise_status status = unanswered[_i].status;
    struct bare_reply r = {.broken = status, .words = "that is why"};

    ck_assert_int_eq(chat("", USER("a"), &r), status);
    failed(status, unanswered[_i].code, unanswered[_i].klass, "that is why");
    ck_assert_int_eq(host.usages, 0);
    r = events(STREAM(START, OPEN_TEXT("0")));
    r.broken = status;
    stream(&r);
    if (status == MORTISE_S_IO)
        failed(host.finished, "model.stream", "transient", "");
    else
        failed(host.finished, unanswered[_i].code, unanswered[_i].klass, "");
    ck_assert_int_eq(host.usages, 1);
}
END_TEST

/* A host that takes no output hears of it as an error. */
START_TEST(a_refused_output)
{
    host.emit_status = MORTISE_S_INVALID;
    ck_assert_int_eq(chat("", USER("a"), &hello), MORTISE_S_INVALID);
    ck_assert_str_eq(host.msg, "the host rejected the output");
}
END_TEST

/* ---- a long conversation ------------------------------------------------- */

#define EACH_OF(array, i, value)                                               \
    for ((i) = 0; ((value) = json_array_get((array), (i))) != NULL; (i)++)

static const char *type_of(const json_t *block)
{
    return json_string_value(json_object_get(block, "type"));
}

/* The ids of the blocks of a type, in their order; a new reference. */
static json_t *ids_of(const json_t *content, const char *type, const char *id)
{
    json_t *ids = json_array();
    const json_t *block;
    size_t i;

    EACH_OF(content, i, block)
    if (strcmp(type_of(block), type) == 0)
        json_array_append(ids, json_object_get(block, id));
    return ids;
}

/* Results first, then all else. */
static void results_come_first(const json_t *content)
{
    bool others = false;
    const json_t *block;
    size_t i;

    EACH_OF(content, i, block)
    {
        if (strcmp(type_of(block), "tool_result") == 0)
            ck_assert(!others);
        else
            others = true;
    }
}

/* What the server demands of messages: sides alternate, the user's first; each
 * call has its result in the next turn, and no other result is there. */
static void validate(const json_t *messages)
{
    json_t *open = json_array(), *results;
    const json_t *message, *content;
    size_t i;

    EACH_OF(messages, i, message)
    {
        ck_assert_str_eq(json_string_value(json_object_get(message, "role")),
                         i % 2 == 0 ? "user" : "assistant");
        content = json_object_get(message, "content");
        ck_assert_uint_gt(json_array_size(content), 0);
        results = ids_of(content, "tool_result", "tool_use_id");
        ck_assert(json_equal(results, open));
        json_decref(results);
        json_decref(open);
        results_come_first(content);
        open = ids_of(content, "tool_use", "id");
    }
    ck_assert_uint_eq(json_array_size(open), 0);
    json_decref(open);
}

/* What was sent before is sent again as it was: the server binds what was
 * thought to all that stood before. */
static void extends(const json_t *before, const json_t *now)
{
    const json_t *message;
    size_t i;

    ck_assert_uint_gt(json_array_size(now), json_array_size(before));
    EACH_OF(before, i, message)
    ck_assert(json_equal(message, json_array_get(now, i)));
}

/* The reply of turn t: a thought, a text and some calls. */
static void write_reply(char *out, size_t size, int t, int calls)
{
    int n = snprintf(out, size,
                     STREAM(START, OPEN_THINKING("0"), THINKS("0", "t%d"),
                            SIGNS("0", "s%d"), OPEN_TEXT("1"),
                            SAYS("1", "turn %d")),
                     t, t, t);

    for (int i = 0; i < calls; i++)
        n += snprintf(out + n, size - (size_t)n, OPEN_CALL("%d", "t%d_%d"),
                      2 + i, t, i);
    snprintf(out + n, size - (size_t)n, "%s", END("tool_use"));
}

static json_t *message_of(const char *role, json_t *part)
{
    return json_pack("{s:s, s:[o]}", "role", role, "parts", part);
}

static json_t *text_of(const char *text)
{
    return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

/* Behind a reply: its message, something that is said meanwhile, and what its
 * calls gave, each in a message of its own. */
static void answer_reply(json_t *messages)
{
    json_t *out = json_loads(host.out, 0, NULL);
    const json_t *message = json_object_get(out, "message"), *part;
    size_t i;

    json_array_append(messages, json_object_get(out, "message"));
    json_array_append_new(messages, message_of("user", text_of("meanwhile")));
    EACH_OF(json_object_get(message, "parts"), i, part)
    if (strcmp(type_of(part), "tool_call") == 0)
        json_array_append_new(
            messages, message_of("tool", json_pack("{s:s, s:O, s:[o]}", "type",
                                                   "tool_result", "id",
                                                   json_object_get(part, "id"),
                                                   "parts", text_of("done"))));
    json_decref(out);
}

/* Make the next call, and the messages that it sent; a new reference. */
static json_t *next_turn(json_t *messages, const struct bare_reply *reply)
{
    json_t *body = json_pack("{s:s, s:b, s:O}", "model", "m", "stream", 1,
                             "messages", messages);
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *sent;

    ck_assert_int_eq(ask(text, reply), MORTISE_S_OK);
    sent = json_loads(member("messages", true), 0, NULL);
    ck_assert_ptr_nonnull(sent);
    free(text);
    json_decref(body);
    return sent;
}

START_TEST(thirty_turns)
{
    json_t *messages = json_array(), *before = json_array(), *now;
    char body[8192];
    struct bare_reply r = events(body);

    json_array_append_new(messages, message_of("system", text_of("be brief")));
    json_array_append_new(messages, message_of("user", text_of("go")));
    for (int t = 0; t < 30; t++) {
        write_reply(body, sizeof body, t, t % 3);
        now = next_turn(messages, &r);
        validate(now);
        extends(before, now);
        json_decref(before);
        before = now;
        answer_reply(messages);
    }
    ck_assert_uint_eq(count(host.asked, q("'signature':'s")), 29);
    ck_assert_uint_eq(count(host.asked, q("'type':'tool_use'")), 28);
    ck_assert_uint_eq(json_array_size(before), 59);
    json_decref(before);
    json_decref(messages);
}
END_TEST

/* ---- memory -------------------------------------------------------------- */

/* Whatever allocation fails when it is created, that is said. */
START_TEST(creation_survives_oom)
{
    bool failed = true;

    if (!oom_works())
        return;
    host.around = oom_around;
    for (int n = 0; failed; n++) {
        mortise_inst *i;

        oom_fail_at(n);
        i = bare_create(&host, plugin, q("{'api_key':'k','auth':'bearer'}"));
        failed = oom_failed();
        ck_assert_int_eq(i == NULL, failed);
        if (i != NULL)
            bare_destroy(plugin, i);
    }
    host.around = NULL;
}
END_TEST

/* Whatever allocation of a call fails, that is said, and another try may
 * help; words of an error may be missing then. */
START_TEST(calls_survive_oom)
{
    static const char messages[] =
        LIST(SYSTEM("s"),
             MESSAGE("user", "{'type':'file','media_type':'text/plain','data':"
                             "'YQ=='}"),
             SAID(CALL("1")), TOOL(RESULT("1")));
    struct bare_reply r[] = {
        events(recorded), events(recorded),
        events(STREAM(START, OPEN_TEXT("0"), SAYS("0", "a"), CITES("0", "{}"),
                      CITES("0", "{}"), STOPS("'stop_details':{}"))),
        whole(400, TYPE_JSON, ERROR("invalid_request_error", "words"))};

    if (!oom_works())
        return;
    host.around = oom_around;
    r[1].recorded = true;
    for (size_t i = 0; i < sizeof r / sizeof r[0]; i++) {
        mortise_status end = i < 3 ? MORTISE_S_OK : MORTISE_S_FAILED, status;
        bool failed = true;

        for (int n = 0; failed; n++) {
            oom_fail_at(n);
            status = chat("'stream':true,'cache':true,", messages, &r[i]);
            failed = oom_failed();
            if (status == MORTISE_S_NOMEM)
                ck_assert_str_eq(host.code, "no_memory");
            else
                ck_assert_int_eq(status, end);
            ck_assert(status == MORTISE_S_NOMEM || !failed || i == 3);
        }
    }
    host.around = NULL;
}
END_TEST

#define ROWS(tc, test, table)                                                  \
    tcase_add_loop_test(tc, test, 0, (int)(sizeof table / sizeof table[0]))

static TCase *requests(void)
{
    TCase *tc = tcase_create("requests");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_least_request);
    tcase_add_test(tc, a_full_request);
    tcase_add_test(tc, servers_and_keys);
    tcase_add_test(tc, silence);
    ROWS(tc, choices_of_tools, choices);
    tcase_add_test(tc, extra_replaces);
    tcase_add_test(tc, nonsense_is_refused);
    tcase_add_test(tc, results_are_in_one_turn);
    tcase_add_test(tc, turns_alternate);
    tcase_add_test(tc, system_messages);
    tcase_add_test(tc, images);
    tcase_add_test(tc, files);
    tcase_add_test(tc, calls_of_others);
    tcase_add_test(tc, thinking_goes_back);
    tcase_add_test(tc, what_is_kept_goes_back);
    tcase_add_test(tc, the_cache_is_asked_for);
    tcase_add_test(tc, the_cache_is_the_callers);
    return tc;
}

static TCase *replies(void)
{
    TCase *tc = tcase_create("replies");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, streams_are_cut_anywhere);
    tcase_add_test(tc, streams_come_in_other_ways);
    tcase_add_test(tc, streams_that_end_early);
    tcase_add_test(tc, streams_that_end_late);
    tcase_add_test(tc, last_events);
    tcase_add_test(tc, whole_messages);
    tcase_add_test(tc, replies_go_back_as_they_came);
    tcase_add_test(tc, blocks_in_any_order);
    tcase_add_test(tc, blocks_of_one_index);
    tcase_add_test(tc, halves_of_characters);
    tcase_add_test(tc, broken_arguments);
    tcase_add_test(tc, blocks_for_the_server);
    tcase_add_test(tc, beside_a_block);
    ROWS(tc, stop_reasons, stops);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, usage_is_the_last);
    tcase_add_test(tc, usage_is_unclear);
    tcase_add_test(tc, usage_of_nothing);
    tcase_add_test(tc, thirty_turns);
    return tc;
}

static TCase *errors(void)
{
    TCase *tc = tcase_create("errors");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    ROWS(tc, errors_by_status, refused);
    tcase_add_test(tc, long_words);
    ROWS(tc, errors_in_streams, midway);
    tcase_add_test(tc, an_error_that_is_ok);
    ROWS(tc, other_protocols, no_message);
    tcase_add_test(tc, too_many_blocks);
    tcase_add_test(tc, a_large_event);
    ROWS(tc, no_answer, unanswered);
    tcase_add_test(tc, a_refused_output);
    tcase_add_test(tc, creation_survives_oom);
    tcase_add_test(tc, calls_survive_oom);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_anthropic");

    suite_add_tcase(s, requests());
    suite_add_tcase(s, replies());
    suite_add_tcase(s, errors());
    return s;
}

int main(void)
{
    return test_run(suite());
}
