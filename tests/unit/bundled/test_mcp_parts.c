/* test_mcp_parts.c -- what the plugin mcp makes of texts, without a server: its
 * reading of messages, digests of definitions, which era a reply is of, and
 * questions for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../plugins/executor/mcp/call.h"
#include "../../../plugins/executor/mcp/mend.h"
#include "../../../plugins/executor/mcp/rpc.h"
#include "lib/test.h"

static mortise_jv json(const char *text)
{
    mortise_jv v;

    ck_assert_msg(mortise_jv_parse(mortise_strz(text), &v) == MORTISE_S_OK,
                  "no JSON: %s", text);
    return v;
}

/* ---- texts with flaws (mend.c) ------------------------------------------------ */

/* Flaws of a text are mended, and nothing else of it is touched; what is no JSON
 * even so is none. */
START_TEST(flaws_are_mended)
{
    static const struct {
        const char *text, *mended; /* NULL: it is none */
        unsigned changed;
    } all[] = {
        {"{\"a\": [1, 2.50, \"x\"]}", "{\"a\":[1,2.50,\"x\"]}", 0},
        {"[\"a\xff\xfe b\"]", "[\"a\xef\xbf\xbd\xef\xbf\xbd b\"]",
         MCP_MENDED_TEXT},
        {"[\"a\\ud83d b\", \"\\ude00\", \"\\ud83d\\ude00\"]",
         "[\"a\\ufffd b\",\"\\ufffd\",\"\\ud83d\\ude00\"]", MCP_MENDED_TEXT},
        {"[\"\\ud83d\\ud83d\\ude00\"]", "[\"\\ufffd\\ud83d\\ude00\"]",
         MCP_MENDED_TEXT},
        {"[\"a\tb\"]", "[\"a\\u0009b\"]", MCP_MENDED_CONTROL},
        {"[\"a\tb\xff\"]", "[\"a\\u0009b\xef\xbf\xbd\"]",
         MCP_MENDED_CONTROL | MCP_MENDED_TEXT},
        {"[NaN,Infinity,-Infinity,null]", "[null,null,null,null]",
         MCP_MENDED_NAN},
        {"[9223372036854775807,-9223372036854775808,-0,1e308]",
         "[9223372036854775807,-9223372036854775808,-0,1e308]", 0},
        {"[9223372036854775808,18446744073709551615]",
         "[9.223372036854776e18,1.8446744073709552e19]", MCP_MENDED_NUMBER},
        {"[1e400,-1E+400]", "[1.7976931348623157e308,-1.7976931348623157e308]",
         MCP_MENDED_NUMBER},
        {"{\"a\":1,\"b\":{\"c\":1,\"\\u0063\":2},\"a\":3,\"a\":4}",
         "{\"b\":{\"\\u0063\":2},\"a\":4}", MCP_MENDED_NAME},
        {"{\"\":1,\"\":2}", "{\"\":2}", MCP_MENDED_NAME},
        {"{\"a\":", NULL, 0},
        {"[\"a\\x\"]", NULL, 0},
        {"[\"a", NULL, 0},
        {"[NaNs]", NULL, 0},
        {"[1,]", NULL, 0},
        {"", NULL, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct bytes out = {0};
        unsigned changed;
        mortise_status status =
            mcp_mend(mortise_strz(all[i].text), MCP_MENDED_ALL, &out, &changed);

        ck_assert_msg((status == MORTISE_S_OK) == (all[i].mended != NULL),
                      "%s: %d", all[i].text, (int)status);
        if (all[i].mended != NULL) {
            ck_assert_msg(mortise_str_is(bytes_str(&out), all[i].mended),
                          "%s: %.*s", all[i].text, (int)out.n, out.p);
            ck_assert_uint_eq(changed, all[i].changed);
        }
        bytes_free(&out);
    }
}
END_TEST

/* Only those flaws are mended that are named. */
START_TEST(other_flaws_stay)
{
    struct bytes out = {0};
    unsigned changed;

    ck_assert_int_eq(mcp_mend(mortise_strz("{\"a\":1e400,\"a\":NaN}"),
                              MCP_MENDED_NAN, &out, &changed),
                     MORTISE_S_OK);
    ck_assert(mortise_str_is(bytes_str(&out), "{\"a\":1e400,\"a\":null}"));
    ck_assert_uint_eq(changed, MCP_MENDED_NAN);
    bytes_free(&out);
}
END_TEST

/* Any bytes are shown as text, and no more of them than there is room for. */
START_TEST(any_bytes_are_text)
{
    struct bytes out = {0};

    ck_assert_int_eq(mcp_mend_text(mortise_strn("a\xff\xc3\xa4z", 5), 64, &out),
                     MORTISE_S_OK);
    ck_assert(mortise_str_is(bytes_str(&out), "a\xef\xbf\xbd\xc3\xa4z"));
    out.n = 0;
    ck_assert_int_eq(mcp_mend_text(mortise_strz("abc\xc3\xa4"), 4, &out),
                     MORTISE_S_OK);
    ck_assert(mortise_str_is(bytes_str(&out), "abc"));
    bytes_free(&out);
}
END_TEST

/* The id of what looks like an answer, and is no JSON. */
START_TEST(ids_are_looked_for)
{
    static const struct {
        const char *text;
        int64_t id;
    } all[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"a\":}}", 12},
        {"{\"id\" : 3 ,}", 3},
        {"{\"id\":3,\"result\":{\"a\":1}", 0},
        {"{\"id\":3,\"result\":\"}", 0},
        {"{\"id\":3", 0},
        {"{\"id\":\"3\",}", 0},
        {"{\"id\":3.5,}", 0},
        {"{\"id\":-3,}", 0},
        {"{\"id\":99999999999999999999999,}", 0},
        {"{\"id\"}", 0},
        {"{\"a\":\"b\"}", 0},
        {"called {\"id\":3,", 0},
        {"{", 0},
        {"", 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ck_assert_msg(mcp_rpc_look(mortise_strz(all[i].text)) == all[i].id,
                      "%s", all[i].text);
}
END_TEST

/* ---- messages (rpc.c) -------------------------------------------------------- */

/* Each text is a message of that kind, with that number; or none. */
START_TEST(messages_are_read)
{
    static const struct {
        const char *text;
        enum mcp_rpc_kind kind;
        int64_t number;
    } all[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RPC_RESULT, 1},
        {" {\"id\":7,\"error\":{\"code\":-32601,\"message\":\"no\"}}\r",
         MCP_RPC_ERROR, 7},
        {"{\"id\":null,\"error\":{}}", MCP_RPC_ERROR, 0},
        {"{\"error\":{}}", MCP_RPC_ERROR, 0},
        {"{\"id\":\"1\",\"result\":{}}", MCP_RPC_RESULT, 0},
        {"{\"id\":1.5,\"result\":{}}", MCP_RPC_RESULT, 0},
        {"{\"id\":-1,\"result\":{}}", MCP_RPC_RESULT, 0},
        {"{\"id\":0,\"result\":{}}", MCP_RPC_RESULT, 0},
        {"{\"id\":99999999999999999999,\"result\":{}}", MCP_RPC_RESULT, 0},
        {"{\"id\":1,\"id\":2,\"result\":{}}", MCP_RPC_RESULT, 2},
        {"{\"id\":0,\"method\":\"roots/list\"}", MCP_RPC_REQUEST, 0},
        {"{\"id\":\"x\",\"method\":\"ping\",\"params\":{}}", MCP_RPC_REQUEST,
         0},
        {"{\"method\":\"notifications/progress\",\"params\":{}}",
         MCP_RPC_NOTIFICATION, 0},
        {"{\"id\":null,\"method\":\"ping\"}", MCP_RPC_NONE, 0},
        {"{\"id\":1,\"method\":7}", MCP_RPC_NONE, 0},
        {"{\"method\":\"x\",\"params\":[]}", MCP_RPC_NONE, 0},
        {"{\"id\":1,\"result\":{},\"error\":{}}", MCP_RPC_NONE, 1},
        {"{\"id\":1,\"result\":{},\"error\":null}", MCP_RPC_RESULT, 1},
        {"{\"id\":1,\"result\":null,\"error\":{}}", MCP_RPC_ERROR, 1},
        {"{\"id\":1,\"result\":null,\"error\":null}", MCP_RPC_NONE, 1},
        {"{\"id\":1,\"result\":null}", MCP_RPC_NONE, 1},
        {"{\"id\":1,\"result\":\"text\"}", MCP_RPC_NONE, 1},
        {"{\"id\":1,\"error\":\"text\"}", MCP_RPC_ERROR, 1},
        {"{\"id\":1,\"error\":7}", MCP_RPC_NONE, 1},
        {"{\"id\":1}", MCP_RPC_NONE, 1},
        {"[{\"id\":1,\"result\":{}}]", MCP_RPC_NONE, 0},
        {"\"text\"", MCP_RPC_NONE, 0},
        {"Starting server ...", MCP_RPC_NONE, 0},
        {"{\"id\":1,\"result\":{}", MCP_RPC_NONE, 0},
        {"{\"id\":1,\"result\":{\"a\":\"\xff\"}}", MCP_RPC_NONE, 0},
        {"", MCP_RPC_NONE, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct mcp_rpc m;

        mcp_rpc_read(mortise_strz(all[i].text), &m);
        ck_assert_msg(m.kind == all[i].kind && m.number == all[i].number,
                      "%s: kind %d, number %lld", all[i].text, (int)m.kind,
                      (long long)m.number);
        ck_assert((m.why != NULL) == (m.kind == MCP_RPC_NONE));
    }
}
END_TEST

/* A method's name of any length, and words of anybody, are borne. */
START_TEST(long_and_odd_texts_are_borne)
{
    char text[1024];
    struct mcp_rpc m;
    struct bytes words = {0};

    snprintf(text, sizeof text, "{\"method\":\"%0500d\"}", 1);
    mcp_rpc_read(mortise_strz(text), &m);
    ck_assert_int_eq(m.kind, MCP_RPC_NOTIFICATION);
    ck_assert_str_eq(m.method, "");
    mcp_rpc_words(&words, json("\"a\\u0007\\nb\\u00e4\\u00e4\""), 5);
    ck_assert_uint_eq(words.n, 4); /* not in the middle of a letter */
    ck_assert(memcmp(words.p, "a  b", 4) == 0);
    mcp_rpc_words(&words, json("17"), 5);
    ck_assert_uint_eq(words.n, 4);
    bytes_free(&words);
}
END_TEST

/* ---- digests (digest.c) -------------------------------------------------------- */

static void canonical(const char *of, const char *want)
{
    struct bytes b = {0};

    ck_assert_int_eq(canonical_put(&b, json(of), 0), MORTISE_S_OK);
    ck_assert_msg(b.n == strlen(want) && memcmp(b.p, want, b.n) == 0,
                  "%.*s, not %s", (int)b.n, b.p, want);
    bytes_free(&b);
}

/* Order, blanks and escapes do not matter; how numbers are written does. */
START_TEST(texts_have_one_canonical_form)
{
    canonical(" { \"b\" : [ 1 , 2.50e1 , true ] , \"a\" : null } ",
              "{\"a\":null,\"b\":[1,2.50e1,true]}");
    canonical("{\"b\":1,\"a\":{\"d\":2,\"c\":3},\"\":4,\"aa\":5}",
              "{\"\":4,\"a\":{\"c\":3,\"d\":2},\"aa\":5,\"b\":1}");
    canonical("\"\\u0041\\/\\\"\\\\\\u000a\\u0001\\u00e4\\ud83d\\ude00\"",
              "\"A/\\\"\\\\\\n\\u0001ä😀\"");
    canonical("{\"\\u0062\":1,\"a\":2,\"b\":3}", "{\"a\":2,\"b\":3}");
    canonical("[]", "[]");
    canonical("{}", "{}");
    canonical("-0", "-0");
    canonical("{\"ä\":1,\"z\":2,\"a\\u0000b\":3}",
              "{\"a\\u0000b\":3,\"z\":2,\"ä\":1}");
}
END_TEST

static void digest(const char *tool, const char *want)
{
    char hex[CANONICAL_HEX + 1];

    ck_assert_int_eq(mcp_tool_digest(json(tool), hex), MORTISE_S_OK);
    ck_assert_str_eq(hex, want);
}

/* The digest is of the definition alone, and is what other programs make of it
 * (b2sum -l 256). */
START_TEST(digests_are_of_the_definition)
{
    static const char empty[] =
        "c09da522dac261c3d2566230bed10d2f3ef13f8e7654576c12e857e07f786098";
    static const char echo[] =
        "9331329b68f8704295616629be13c43c3e8529eaf1ce9f8ea79437921f2f5b58";
    char hex[CANONICAL_HEX + 1], other[CANONICAL_HEX + 1];

    digest("{}", empty);
    digest("{\"name\":\"x\",\"icons\":[],\"_meta\":{}}", empty);
    digest("{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"},"
           "\"description\":\"Says.\"}",
           echo);
    mcp_tool_digest(json("{\"description\":null}"), hex);
    mcp_tool_digest(json("{}"), other);
    ck_assert_str_ne(hex, other);
}
END_TEST

/* However deep it is, as far as it is JSON at all. */
START_TEST(deep_definitions_are_borne)
{
    char text[8 * MORTISE_JV_DEPTH] = "", hex[CANONICAL_HEX + 1];
    int depth = MORTISE_JV_DEPTH - 1;

    strcat(text, "{\"inputSchema\":");
    for (int i = 0; i < depth; i++)
        strcat(text, "[");
    for (int i = 0; i < depth; i++)
        strcat(text, "]");
    strcat(text, "}");
    ck_assert_int_eq(mcp_tool_digest(json(text), hex), MORTISE_S_OK);
}
END_TEST

/* ---- eras (era.c) ---------------------------------------------------------------- */

static struct mcp_reply result(const char *text)
{
    return (struct mcp_reply){.kind = MCP_REPLY_RESULT, .result = json(text)};
}

static struct mcp_reply error(const char *text)
{
    struct mcp_reply r = {.kind = MCP_REPLY_ERROR, .error = json(text)};

    mortise_jv_int(mortise_jv_get(r.error, "code"), &r.code);
    return r;
}

/* What a reply to server/discover means. */
START_TEST(discovery_tells_the_era)
{
    static const struct {
        const char *text;
        enum mcp_verdict first, again;
    } all[] = {
        {"+{\"supportedVersions\":[\"2026-07-28\"]}", MCP_SPEAKS_MODERN,
         MCP_SPEAKS_MODERN},
        {"+{\"supportedVersions\":[\"2027-01-01\",\"2026-07-28\"]}",
         MCP_SPEAKS_MODERN, MCP_SPEAKS_MODERN},
        {"+{\"supportedVersions\":[\"2027-01-01\"]}", MCP_SPEAKS_NEITHER,
         MCP_SPEAKS_NEITHER},
        {"+{\"supportedVersions\":[\"2025-06-18\"]}", MCP_TRY_LEGACY,
         MCP_TRY_LEGACY},
        {"+{\"supportedVersions\":[]}", MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"+{\"supportedVersions\":7}", MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"+{}", MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"-{\"code\":-32601}", MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"-{\"code\":-32000,\"message\":\"Server not initialized\"}",
         MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"-{}", MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"-{\"code\":-32022,\"data\":{\"supported\":[\"2026-07-28\"]}}",
         MCP_TRY_MODERN, MCP_SPEAKS_NEITHER},
        {"-{\"code\":-32022,\"data\":{\"supported\":[\"2025-11-25\"]}}",
         MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"-{\"code\":-32022,\"data\":{\"supported\":[\"2027-01-01\"]}}",
         MCP_SPEAKS_NEITHER, MCP_SPEAKS_NEITHER},
        {"-{\"code\":-32022}", MCP_TRY_LEGACY, MCP_TRY_LEGACY},
        {"-{\"code\":-32020}", MCP_SPEAKS_NEITHER, MCP_SPEAKS_NEITHER},
        {"-{\"code\":-32021}", MCP_SPEAKS_NEITHER, MCP_SPEAKS_NEITHER},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *text = all[i].text + 1, *why = NULL;
        struct mcp_reply r = all[i].text[0] == '+' ? result(text) : error(text);
        int first = (int)mcp_era_of_discover(MCP_PROTOCOL_AUTO, &r, 0, 1, &why);
        int again = (int)mcp_era_of_discover(MCP_PROTOCOL_AUTO, &r, 1, 1, &why);
        int only =
            (int)mcp_era_of_discover(MCP_PROTOCOL_MODERN, &r, 0, 1, &why);

        ck_assert_msg(first == (int)all[i].first && again == (int)all[i].again,
                      "%s: %d, %d", text, first, again);
        ck_assert_int_eq(only,
                         first == MCP_TRY_LEGACY ? MCP_SPEAKS_NEITHER : first);
    }
}
END_TEST

/* Silence is an answer over pipes alone, and a status that says that the question
 * was not understood over HTTP. */
START_TEST(silence_tells_the_era)
{
    struct mcp_trouble t =
        mcp_trouble_of("mcp.timeout", "timeout", mortise_strz("x"), 1);
    struct mcp_reply r = {.kind = MCP_REPLY_TROUBLE, .trouble = &t};
    const char *why;

    ck_assert_int_eq(mcp_era_of_discover(MCP_PROTOCOL_AUTO, &r, 0, 1, &why),
                     MCP_TRY_LEGACY);
    ck_assert_int_eq(mcp_era_of_discover(MCP_PROTOCOL_AUTO, &r, 0, 0, &why),
                     MCP_SPEAKS_NEITHER);
    t.code = "mcp.lost";
    ck_assert_int_eq(mcp_era_of_discover(MCP_PROTOCOL_AUTO, &r, 0, 1, &why),
                     MCP_SPEAKS_NEITHER);
    for (int status = 300; status < 600; status++) {
        int legacy = status >= 400 && status < 500 && status != 401 &&
                     status != 403 && status != 408 && status != 429;

        t.http_status = status;
        ck_assert_int_eq(mcp_era_of_discover(MCP_PROTOCOL_AUTO, &r, 0, 0, &why),
                         legacy ? MCP_TRY_LEGACY : MCP_SPEAKS_NEITHER);
    }
}
END_TEST

/* What a reply to initialize means. */
START_TEST(initializing_tells_the_version)
{
    static const struct {
        const char *text;
        enum mcp_verdict verdict;
        const char *version;
    } all[] = {
        {"+{\"protocolVersion\":\"2025-11-25\"}", MCP_SPEAKS_LEGACY,
         "2025-11-25"},
        {"+{\"protocolVersion\":\"2024-11-05\"}", MCP_SPEAKS_LEGACY,
         "2024-11-05"},
        {"+{\"protocolVersion\":\"1999-01-01\"}", MCP_SPEAKS_NEITHER, ""},
        {"+{}", MCP_SPEAKS_NEITHER, ""},
        {"-{\"code\":-32022,\"data\":{\"supported\":[\"2026-07-28\"]}}",
         MCP_TRY_MODERN, ""},
        {"-{\"code\":-32022,\"data\":{\"supported\":[\"2027-07-28\"]}}",
         MCP_SPEAKS_NEITHER, ""},
        {"-{\"code\":-32601}", MCP_SPEAKS_NEITHER, ""},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *text = all[i].text + 1, *why;
        struct mcp_reply r = all[i].text[0] == '+' ? result(text) : error(text);
        char version[MCP_VERSION_ROOM] = "";

        ck_assert_int_eq(
            mcp_era_of_initialize(MCP_PROTOCOL_AUTO, &r, 0, version, &why),
            (int)all[i].verdict);
        ck_assert_str_eq(version, all[i].version);
        ck_assert_int_eq(
            mcp_era_of_initialize(MCP_PROTOCOL_LEGACY, &r, 0, version, &why),
            all[i].verdict == MCP_TRY_MODERN ? (int)MCP_SPEAKS_NEITHER
                                             : (int)all[i].verdict);
    }
}
END_TEST

/* ---- questions (question.c) --------------------------------------------------------- */

/* The request that becomes of it has that in it; NULL: it cannot be asked. */
static void asks(const char *params, const char *const *want)
{
    const char *why;
    mortise_status status;
    mortise_str text;
    mortise_jw w;
    mortise_jv v;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = mcp_question_write(&w, "files", mortise_strz("move"), json(params),
                                "question-1", 0, &why);
    ck_assert_msg((status == MORTISE_S_OK) == (want != NULL), "%s", params);
    ck_assert((why == NULL) == (want != NULL));
    if (want != NULL) {
        ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
        ck_assert_int_eq(mortise_jv_parse(text, &v), MORTISE_S_OK);
        for (; *want != NULL; want++)
            ck_assert_msg(memmem(text.p, text.n, *want, strlen(*want)) != NULL,
                          "no %s in %.*s", *want, (int)text.n, text.p);
    }
    free(w.p);
}

#define ASKS(params, ...)                                                      \
    do {                                                                       \
        static const char *const want_[] = {__VA_ARGS__, NULL};                \
        asks(params, want_);                                                   \
    } while (0)

/* A form with so many properties, so many of which are required, and so long a
 * title. */
static void asks_many(int properties, int required, int title, int ok)
{
    static const char *const none[] = {NULL};
    struct bytes text = {0};
    char one[64];

    bytes_put(&text, mortise_strz("{\"requestedSchema\":{\"properties\":{"));
    for (int i = 0; i < properties; i++) {
        snprintf(one, sizeof one, "%s\"p%d\":{}", i > 0 ? "," : "", i);
        bytes_put(&text, mortise_strz(one));
    }
    bytes_put(&text, mortise_strz("},\"required\":["));
    for (int i = 0; i < required; i++) {
        snprintf(one, sizeof one, "%s\"p%d\"", i > 0 ? "," : "", i);
        bytes_put(&text, mortise_strz(one));
    }
    bytes_put(&text, mortise_strz("],\"title\":\""));
    for (int i = 0; i < title; i++)
        bytes_put(&text, mortise_strz("t"));
    bytes_put(&text, mortise_strz("\"}}"));
    bytes_put(&text, mortise_strn("", 1));
    asks(text.p, ok ? none : NULL);
    bytes_free(&text);
}

START_TEST(questions_become_requests)
{
    ASKS("{\"message\":\"Which?\",\"requestedSchema\":{\"type\":\"object\","
         "\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"default\":1}},"
         "\"required\":[\"a\",\"b\"]}}",
         "'files'", "'move'", "Which?", "\"mode\":\"form\"",
         "\"required\":[\"approved\"]", "\"required\":[\"a\"]",
         "\"then\":{\"required\":[\"answer\"]}", "\"step\":\"question-1\"");
    ASKS("{\"mode\":\"form\",\"message\":7,\"requestedSchema\":{\"properties\":"
         "{}}}",
         "\"properties\":{}");
    ASKS("{\"mode\":\"url\",\"message\":\"Sign.\",\"url\":\"https://a.example/"
         "?q=%20\\u0026x=1#y\"}",
         "\"mode\":\"url\"", "\"url\":\"https://a.example/?q=%20\\u0026x=1#y\"",
         "done at https://a.example/?q=%20&x=1#y");
    asks("{\"message\":\"x\"}", NULL);
    asks("{\"message\":\"x\",\"requestedSchema\":{}}", NULL);
    asks("{\"mode\":\"url\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"\"}", NULL);
    ASKS("{\"mode\":\"url\",\"url\":\"http://localhost:8080/x\"}", "localhost");
    ASKS("{\"mode\":\"url\",\"url\":\"http://127.8.0.1/x\"}", "127.8");
    ASKS("{\"mode\":\"url\",\"url\":\"http://[::1]/\"}", "[::1]");
    asks("{\"mode\":\"url\",\"url\":\"http://a.example/\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"http://127.0.0.1.example/\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"http://127.1.example/\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"https://a@b.example/\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"javascript:alert(1)\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"file:///etc/passwd\"}", NULL);
    asks("{\"mode\":\"url\",\"url\":\"https://a.example/\\u001b[2J\"}", NULL);
    asks_many(256, 256, 0, 1);
    asks_many(257, 0, 0, 0);
    asks_many(1, 257, 0, 0);
    asks_many(1, 1, 65 << 10, 0);
    asks("{\"mode\":\"telepathy\",\"url\":\"https://a\"}", NULL);
}
END_TEST

static void answers(const char *params, const char *said, const char *want)
{
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mcp_question_write_answer(&w, json(params), json(said));
    mortise_jw_end(&w);
    ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
    ck_assert_msg(mortise_str_is(text, want), "%.*s, not %s", (int)text.n,
                  text.p, want);
    free(w.p);
}

/* What is not said has the server's default; a no has no content. */
START_TEST(answers_become_results)
{
    static const char form[] =
        "{\"requestedSchema\":{\"properties\":{\"a\":{\"default\":\"x\"},"
        "\"b\":{\"default\":false},\"c\":{}}}}";

    answers(form, "{\"approved\":true,\"answer\":{\"c\":1}}",
            "{\"action\":\"accept\",\"content\":{\"c\":1,\"a\":\"x\",\"b\":"
            "false}}");
    answers(form, "{\"approved\":true,\"answer\":{\"a\":\"y\",\"b\":true}}",
            "{\"action\":\"accept\",\"content\":{\"a\":\"y\",\"b\":true}}");
    answers(form, "{\"approved\":true}",
            "{\"action\":\"accept\",\"content\":{\"a\":\"x\",\"b\":false}}");
    answers(form, "{\"approved\":false,\"answer\":{\"a\":\"y\"}}",
            "{\"action\":\"decline\"}");
    answers(form, "{}", "{\"action\":\"decline\"}");
    answers("{\"mode\":\"url\",\"url\":\"https://a\"}", "{\"approved\":true}",
            "{\"action\":\"accept\"}");
}
END_TEST

/* ---- models (granted.c) ------------------------------------------------------------- */

/* What becomes of a request for a model, of which no more than 9 tokens are
 * allowed; NULL: it is refused. */
static void samples(const char *params, const char *want)
{
    struct mcp_server s = {.sampling =
                               json("{\"alias\":\"m\",\"max_tokens\":9}")};
    const char *why = mcp_sampling_judge(json(params));
    mortise_str text;
    mortise_jw w;

    ck_assert_msg((why == NULL) == (want != NULL), "%s: %s", params, why);
    if (want == NULL)
        return;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mcp_sampling_write(&w, &s, json(params), "n");
    ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
    ck_assert_msg(text.n == strlen(want) && memcmp(text.p, want, text.n) == 0,
                  "%.*s, not %s", (int)text.n, text.p, want);
    free(w.p);
}

#define HI "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}}"

/* What is no such request, or wants what was not offered, is refused; what is one
 * goes through, with as many tokens as are allowed. */
START_TEST(models_are_asked_what_is_allowed)
{
    samples("{\"messages\":[" HI "],\"maxTokens\":4,\"systemPrompt\":\"be\","
            "\"temperature\":0.5,\"stopSequences\":[\"x\"],\"includeContext\":"
            "\"allServers\"}",
            "{\"step\":\"n\",\"alias\":\"m\",\"max_tokens\":4,\"temperature\":"
            "0.5,\"stop\":[\"x\"],\"messages\":[{\"role\":\"system\",\"parts\":"
            "[{\"type\":\"text\",\"text\":\"be\"}]},{\"role\":\"user\","
            "\"parts\":[{\"type\":\"text\",\"text\":\"hi\"}]}]}");
    samples(
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":"
        "\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"},{\"type\":"
        "\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"}]}],"
        "\"maxTokens\":500}",
        "{\"step\":\"n\",\"alias\":\"m\",\"max_tokens\":9,\"messages\":[{"
        "\"role\":\"assistant\",\"parts\":[{\"type\":\"image\","
        "\"media_type\":\"image/png\",\"data\":\"AA==\"},{\"type\":\"file\","
        "\"media_type\":\"audio/wav\",\"data\":\"AA==\"}]}]}");
    samples("{\"messages\":[" HI "]}", NULL);
    samples("{\"messages\":[" HI "],\"maxTokens\":0}", NULL);
    samples("{\"messages\":[" HI "],\"maxTokens\":4,\"tools\":[]}", NULL);
    samples("{\"messages\":[],\"maxTokens\":4}", NULL);
    samples("{\"messages\":\"hi\",\"maxTokens\":4}", NULL);
    samples("{\"messages\":[{\"role\":\"system\",\"content\":{\"type\":"
            "\"text\",\"text\":\"hi\"}}],\"maxTokens\":4}",
            NULL);
    samples("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
            "\"text\"}}],\"maxTokens\":4}",
            NULL);
    samples("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
            "\"tool_result\"}]}],\"maxTokens\":4}",
            NULL);
    samples("{\"messages\":[{\"role\":\"user\"}],\"maxTokens\":4}", NULL);
}
END_TEST

static void said(const char *answer, const char *want)
{
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mcp_sampling_write_answer(&w, mortise_jv_none(), json(answer));
    mortise_jw_end(&w);
    ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
    ck_assert_msg(text.n == strlen(want) && memcmp(text.p, want, text.n) == 0,
                  "%.*s, not %s", (int)text.n, text.p, want);
    free(w.p);
}

/* One text, who said it, and why it stopped. */
START_TEST(models_answers_become_results)
{
    said("{\"alias\":\"m\",\"reply\":{\"message\":{\"parts\":[{\"type\":"
         "\"reasoning\",\"text\":\"hm\"},{\"type\":\"text\",\"text\":\"a\"},{"
         "\"type\":\"text\",\"text\":\"b\"}]},\"stop\":\"length\",\"model\":"
         "\"x-1\"}}",
         "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":"
         "\"ab\"},\"model\":\"x-1\",\"stopReason\":\"maxTokens\"}");
    said("{\"alias\":\"m\",\"reply\":{\"message\":{\"parts\":[]},\"stop\":"
         "\"refusal\"}}",
         "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"\"}"
         ",\"model\":\"m\",\"stopReason\":\"refusal\"}");
    ck_assert(mcp_sampling_has_failed(json("{\"error\":{}}")));
    ck_assert(!mcp_sampling_has_failed(json("{\"reply\":{}}")));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("mcp_parts");
    TCase *tc = tcase_create("mcp_parts");

    tcase_add_test(tc, flaws_are_mended);
    tcase_add_test(tc, other_flaws_stay);
    tcase_add_test(tc, any_bytes_are_text);
    tcase_add_test(tc, ids_are_looked_for);
    tcase_add_test(tc, messages_are_read);
    tcase_add_test(tc, long_and_odd_texts_are_borne);
    tcase_add_test(tc, texts_have_one_canonical_form);
    tcase_add_test(tc, digests_are_of_the_definition);
    tcase_add_test(tc, deep_definitions_are_borne);
    tcase_add_test(tc, discovery_tells_the_era);
    tcase_add_test(tc, silence_tells_the_era);
    tcase_add_test(tc, initializing_tells_the_version);
    tcase_add_test(tc, questions_become_requests);
    tcase_add_test(tc, answers_become_results);
    tcase_add_test(tc, models_are_asked_what_is_allowed);
    tcase_add_test(tc, models_answers_become_results);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
