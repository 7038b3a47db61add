/* test_bundled_limits.c -- the limits guardrail, from any host's point of view. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/finding.h"
#include "lib/test.h"

static void setup(void)
{
    finding_begin_with("limits", "{\"bytes\":1000}");
}

/* A violation without a replacement, for that reason. */
static void blocks(const char *json, const char *why)
{
    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    ck_assert_msg(finding_violation, "%s", json);
    ck_assert_msg(strstr(finding_reason, why) != NULL, "%s: %s", json,
                  finding_reason);
    ck_assert_int_eq(finding_host.emits, 0);
}

/* ---- how much ------------------------------------------------------------ */

/* Config: limits.bytes, limits.depth, limits.members */
START_TEST(sizes_are_bounded)
{
    finding_use("{\"bytes\":10}");
    finding_passes("\"12345678\"");
    blocks("\"123456789\"", "bytes: 11, but the limit is 10");
    finding_use("{\"depth\":2}");
    finding_passes("[[1,2],{\"a\":3}]");
    finding_passes("\"a\"");
    blocks("[1,[2,[]]]", "depth: 3, but the limit is 2");
    finding_use("{\"depth\":0}");
    blocks("[]", "depth: 1, but the limit is 0");
    finding_use("{\"members\":3}");
    finding_passes("{\"a\":1,\"b\":[2]}");
    blocks("{\"a\":1,\"b\":[2,3]}", "members: 4, but the limit is 3");
}
END_TEST

/* Words by their length, signs and all that is not ASCII by the piece.
 * Config: limits.tokens */
START_TEST(tokens_are_reckoned)
{
    static const struct {
        const char *json;
        int tokens;
    } texts[] = {
        {"\"\"", 0},
        {"\"a\"", 1},
        {"\"abcd\"", 1},
        {"\"abcde\"", 2},
        {"\"a b  c\"", 3},
        {"\"a, b\"", 3},
        {"\"\\u5ffd\\u7565\"", 2},
        {"{\"name\":[\"x\",1,null]}", 2},
        {"12345678", 0},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char config[64];

        snprintf(config, sizeof config, "{\"tokens\":%d}", texts[i].tokens);
        finding_use(config);
        finding_passes(texts[i].json);
        if (texts[i].tokens == 0)
            continue;
        snprintf(config, sizeof config, "{\"tokens\":%d}", texts[i].tokens - 1);
        finding_use(config);
        blocks(texts[i].json, "tokens: ");
    }
}
END_TEST

/* ---- what it is written in ----------------------------------------------- */

/* Config: limits.scripts */
START_TEST(scripts_are_listed)
{
    finding_use("{\"scripts\":[\"Latin\",\"Greek\"]}");
    finding_passes("\"caf\\u00e9 \\u03b1 1,5 \\u20ac \\ud83d\\ude00!\"");
    blocks("[\"ok\",\"p\\u0430ypal\"]",
           "a character of another script is at /1");
    blocks("{\"\\u5ffd\":1}", "is in the name of a member: /*");
    finding_use("{\"scripts\":[\"Han\",\"Hiragana\"]}");
    finding_passes("\"\\u5ffd\\u3042\"");
    blocks("\"a\"", "script");
}
END_TEST

/* ---- where it leads ------------------------------------------------------ */

static const char *const inside[] = {
    "no link at all, e.g. this; a/b, c:d, 12:30",
    "see https://example.com/a?b=c#d.",
    "(http://example.com)",
    "<https://EXAMPLE.com:8443/>, and",
    "https://example.com.",
    "ftp://user:pw@example.com/x",
    "https://a.b.example.org/",
    "www.example.org is it",
    "//example.com/x and 1 // 2",
    "http: is a scheme, https: too",
    "https://[2001:db8::1]:8080/x",
    "[text](https://example.com), 'https://example.com'",
    "the data: 12 rows",
    "x = 1; //\tfirst\n//\tsecond, then\n",
    "one of https:\nand more",
    "https://example.com\nand more, https://example.com\t.tab",
    "<a href=\"https://example.com\n\"> <a href='https://example.com\n/x'>",
};

static const char *const outside[][2] = {
    {"https://evil.example/", "[link]"},
    {"see http://example.com.evil.example/x now", "see [link] now"},
    {"https://example.com@evil.example/", "[link]"},
    {"https://evil.example\\\\@example.com/", "[link]"},
    {"https:/evil.example and https:evil.example", "[link] and [link]"},
    {"https:\\\\\\\\evil.example", "[link]"},
    {"//evil.example/x", "[link]"},
    {"www.evil.example", "[link]"},
    {"https://notexample.org/ https://example.com/",
     "[link] https://example.com/"},
    {"https://example.org", "[link]"},
    {"https://example.com,x.evil.example/", "[link]"},
    {"https://example.com{x.evil.example/", "[link]"},
    {"https://ex%61mple.com/", "[link]"},
    {"slack://open", "[link]"},
    {"https://[::1]/", "[link]"},
    {"javascript:alert(1)", "[link]"},
    {"![x](data:text/html;base64,AAAA)", "![x]([link]"},
    {"https://\\u0435xample.com/", "[link]"},
    {"https://\\tevil.example/x", "[link]"},
    {"https:/\\n/\\r\\nevil.example/x.", "[link]"},
    {"https:\\tevil.example/", "[link]"},
    {"[a](<//\\tevil.example>)", "[a](<[link]>)"},
    {"slack://\\nopen", "[link]"},
    /* an attribute, out of which browsers take tabs and ends of lines */
    {"href='https://example.com\\t.evil.example/?q'",
     "href='[link]\\t.evil.example/?q'"},
    {"src=\\\"https://example.com\\n@evil.example/\\\"",
     "src=\\\"[link]\\n@evil.example/\\\""},
    {"href=' https://example.com\\r\\n-x.example'",
     "href=' [link]\\r\\n-x.example'"},
    {"<//example.com\\tevil.example>", "<[link]\\tevil.example>"},
};

/* Config: limits.hosts */
START_TEST(links_lead_where_they_may)
{
    finding_use("{\"hosts\":[\"Example.com\",\"*.example.org\","
                "\"[2001:db8::1]\"]}");
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        char *json = bare_quote(inside[i], strlen(inside[i]));

        finding_passes(json);
        free(json);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        char json[256], want[256];

        snprintf(json, sizeof json, "\"%s\"", outside[i][0]);
        snprintf(want, sizeof want, "\"%s\"", outside[i][1]);
        finding_masks(json, want);
    }
    blocks("{\"https://evil.example\":1}",
           "a link to another host is in the name of a member: /*");
    finding_use("{\"hosts\":[]}");
    finding_masks("[\"https://example.com\",\"x\"]", "[\"[link]\",\"x\"]");
}
END_TEST

/* What is not to be masked is not offered by halves. */
START_TEST(another_script_is_not_masked)
{
    finding_use("{\"scripts\":[\"Latin\"],\"hosts\":[]}");
    finding_masks("\"https://example.com\"", "\"[link]\"");
    blocks("[\"https://example.com\",\"\\u0430\"]", "and 1 more");
}
END_TEST

/* ---- configs ------------------------------------------------------------- */

START_TEST(a_bad_config_is_refused)
{
    static const char *const configs[][2] = {
        {"", "JSON"},
        {"{}", "no limit is set"},
        {"{\"bytes\":-1}", "bytes must be a number"},
        {"{\"tokens\":\"1\"}", "tokens must be a number"},
        {"{\"depth\":1.5}", "depth must be a number"},
        {"{\"scripts\":[]}", "empty"},
        {"{\"scripts\":[\"Latin}x\"]}", "Unicode names"},
        {"{\"scripts\":[\"Klingonish\"]}", "an unknown script"},
        {"{\"hosts\":[\"https://example.com\"]}", "host names"},
        {"{\"hosts\":[\"*\"]}", "host names"},
        {"{\"hosts\":[\"*.\"]}", "host names"},
        {"{\"hosts\":[\"a.*.example\"]}", "host names"},
        {"{\"hosts\":[3]}", "host names"},
    };

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        finding_refuses(configs[i][0], configs[i][1]);
}
END_TEST

/* ---- anything ------------------------------------------------------------ */

static const char ALL[] =
    "{\"bytes\":3000000,\"depth\":20,\"members\":1000000,\"tokens\":3000000,"
    "\"scripts\":[\"Latin\",\"Han\"],\"hosts\":[\"example.com\"]}";

START_TEST(nothing_makes_it_crawl)
{
    static const char *const units[] = {
        "a",     "1",         " ",        "https://",     "http:", "//",
        "www.",  "a://",      "a.b+c-",   "data:",        "@",     "\\\\",
        "[",     "https://[", "\xC3\xA9", "\xE5\xBF\xBD", "a@",    "https://a@",
        "://a/", "\\t",       "/\\t",     "https:\\n",    NULL};

    finding_use(ALL);
    finding_does_not_crawl(units);
}
END_TEST

START_TEST(what_is_offered_would_pass)
{
    static const char *const pieces[] = {"https://",
                                         "http:",
                                         "/",
                                         "\\t",
                                         "\\",
                                         "example.com",
                                         "evil.example",
                                         "@",
                                         ".",
                                         ",",
                                         " ",
                                         "[",
                                         "]",
                                         "//",
                                         "www.",
                                         "data:",
                                         "x",
                                         "?",
                                         "(",
                                         ")",
                                         "%61",
                                         "\"",
                                         "\xC3\xA9",
                                         "a://",
                                         NULL};

    finding_offers_of(pieces, "{\"hosts\":[\"example.com\"]}");
}
END_TEST

START_TEST(survives_oom)
{
    finding_use("{\"scripts\":[\"Latin\"],\"hosts\":[]}");
    finding_survives_oom("{\"a\":\"\\nhttps://a.example\",\"b\":\"\\nc\"}",
                         "{\"a\":\"\\n[link]\",\"b\":\"\\nc\"}",
                         "{\"scripts\":[\"Latin\"],\"hosts\":[\"a.b\"]}");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_limits");
    TCase *tc = tcase_create("limits");

    tcase_add_checked_fixture(tc, setup, finding_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, sizes_are_bounded);
    tcase_add_test(tc, tokens_are_reckoned);
    tcase_add_test(tc, scripts_are_listed);
    tcase_add_test(tc, links_lead_where_they_may);
    tcase_add_test(tc, another_script_is_not_masked);
    tcase_add_test(tc, a_bad_config_is_refused);
    tcase_add_test(tc, nothing_makes_it_crawl);
    tcase_add_test(tc, what_is_offered_would_pass);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
