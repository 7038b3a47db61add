/* test_bundled_scripted.c -- the model that is a script, from any host's point
 * of view. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/barehost.h"
#include "lib/oom.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;

static void setup(void)
{
    plugin = bare_plugin("scripted");
    test_begin();
    bare_init(&host);
}

static void teardown(void)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = NULL;
    bare_finish(&host);
    test_nothing_left();
}

/* The one instance, with this script. */
static void script(const char *replies)
{
    char config[4096];

    if (inst != NULL)
        bare_destroy(plugin, inst);
    snprintf(config, sizeof config, "{\"replies\":[%s]}", replies);
    inst = bare_create(&host, plugin, config);
    ck_assert_msg(inst != NULL, "%s", host.msg);
}

static mortise_status chat(const char *members, const char *messages)
{
    char body[8192];

    snprintf(body, sizeof body, "{\"model\":\"any\",%s\"messages\":[%s]}",
             members, messages);
    return bare_chat(&host, plugin, inst, &(struct bare_call){.body = body},
                     NULL);
}

#define SYSTEM(t) "{\"role\":\"system\",\"parts\":[" TEXT(t) "]}"
#define USER(t)   "{\"role\":\"user\",\"parts\":[" TEXT(t) "]}"
#define SAID(t)   "{\"role\":\"assistant\",\"parts\":[" TEXT(t) "]}"
#define TEXT(t)   "{\"type\":\"text\",\"text\":\"" t "\"}"
#define TOLD(t)                                                                \
    "{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_result\",\"id\":\"c\","    \
    "\"parts\":[" TEXT(t) "]}]}"

/* The call ends well, and its output is this. */
static void gives(mortise_status status, const char *want)
{
    ck_assert_msg(status == MORTISE_S_OK, "%s", host.msg);
    ck_assert_str_eq(host.out, want);
}

static void says(const char *messages, const char *text)
{
    char want[1024];

    snprintf(want, sizeof want,
             "{\"message\":{\"role\":\"assistant\",\"parts\":[{\"type\":"
             "\"text\",\"text\":\"%s\"}]},\"stop\":\"end\",\"model\":\"any\"}",
             text);
    gives(chat("", messages), want);
}

static void fails(mortise_status status, const char *code, const char *klass,
                  const char *words)
{
    ck_assert_int_lt(status, 0);
    ck_assert_str_eq(host.code, code);
    ck_assert_str_eq(host.klass, klass);
    ck_assert_msg(strstr(host.msg, words) != NULL, "%s", host.msg);
    ck_assert_uint_eq(host.n_out, 0);
}

/* ---- which reply --------------------------------------------------------- */

/* The first that fits answers, whatever stands behind it; and the same request
 * is always answered the same. */
START_TEST(the_first_that_fits)
{
    script("{\"when\":{\"user\":\"rain\",\"turn\":0},\"text\":\"one\"},"
           "{\"when\":{\"user\":\"rain\"},\"text\":\"two\"},"
           "{\"text\":\"three\"}");
    for (int i = 0; i < 2; i++) {
        says(USER("will it rain?"), "one");
        says(USER("rain?") "," SAID("maybe") "," USER("rain?"), "two");
        says(USER("rain?") "," SAID("maybe") "," USER("and snow?"), "three");
    }
}
END_TEST

/* What the last message of a role contains counts: no earlier one, no other
 * role, and for tools what stands in their results. */
START_TEST(the_last_message_of_a_role)
{
    script("{\"when\":{\"system\":\"terse\"},\"text\":\"system\"},"
           "{\"when\":{\"tool\":\"sunny \\u00e4\\n\"},\"text\":\"tool\"},"
           "{\"when\":{\"attempt\":1},\"text\":\"none\"}");
    says(SYSTEM("be terse") "," USER("a"), "system");
    says(USER("be terse") "," TOLD("terse"), "none");
    says(SYSTEM("be terse") "," USER("a") "," SYSTEM("be kind"), "none");
    says(USER("a") "," TOLD("it is sunny \xc3\xa4\\nbut cold"), "tool");
    says(USER("a") "," TOLD("sunny \xc3\xa4\\n") "," TOLD("rain"), "none");
}
END_TEST

/* Where none fits, the words say for what. */
START_TEST(none_fits)
{
    char words[512], body[1024];

    script("{\"when\":{\"user\":\"b\"},\"text\":\"x\"},"
           "{\"when\":{\"attempt\":2},\"text\":\"x\"}");
    fails(chat("", USER("say \\\"a\\\"") "," SAID("no") "," TOLD("t")),
          "model.request", "permanent",
          "no scripted reply matches: turn 1, user \"say \"a\"\", tool \"t\"");
    ck_assert_int_eq(host.usages, 0);
    memset(words, 0, sizeof words);
    for (size_t i = 0; i < 200; i++) /* 400 bytes, cut between characters */
        memcpy(words + 2 * i, "\xc3\xa4", 2);
    snprintf(body, sizeof body, USER("a%s"), words);
    fails(chat("", body), "model.request", "permanent", "\xc3\xa4\"");
}
END_TEST

/* What is no request says so. */
START_TEST(nonsense_is_refused)
{
    script("{\"text\":\"x\"}");
    fails(chat("", "{\"role\":\"owner\",\"parts\":[]}"), "model.request",
          "permanent", "not a valid request of mortise.model/1");
    fails(
        bare_chat(&host, plugin, inst, &(struct bare_call){.body = "{"}, NULL),
        "model.request", "permanent", "not a valid request");
    fails(
        bare_embed(&host, plugin, inst, &(struct bare_call){.body = "{"}, NULL),
        "model.request", "permanent", "not a valid request");
}
END_TEST

/* A script that contradicts itself is refused when it is read. */
START_TEST(contradictions_are_refused)
{
    ck_assert_ptr_null(bare_create(
        &host, plugin, "{\"replies\":[{\"text\":\"a\",\"json\":1}]}"));
    ck_assert(strstr(host.msg, "`text` or `json`") != NULL);
    ck_assert_ptr_null(
        bare_create(&host, plugin,
                    "{\"replies\":[{\"tool_calls\":[{\"name\":\"a\","
                    "\"arguments\":{},\"arguments_text\":\"\"}]}]}"));
    ck_assert(strstr(host.msg, "`arguments_text`") != NULL);
    ck_assert_ptr_null(bare_create(&host, plugin, "{"));
}
END_TEST

/* ---- what it says -------------------------------------------------------- */

/* All kinds of parts, in the order of a model's. */
START_TEST(parts)
{
    script("{\"text\":\"t\",\"reasoning\":\"r\",\"tool_calls\":[{\"name\":"
           "\"a\"},{\"name\":\"b\",\"arguments\":{\"x\":[1,2.5]},\"id\":\"i\"},"
           "{\"name\":\"c\",\"arguments_text\":\"{x\"}]}");
    gives(chat("", USER("a") "," SAID("b") "," USER("c")),
          "{\"message\":{\"role\":\"assistant\",\"parts\":["
          "{\"type\":\"reasoning\",\"text\":\"r\"},"
          "{\"type\":\"text\",\"text\":\"t\"},"
          "{\"type\":\"tool_call\",\"id\":\"call_1_1\",\"name\":\"a\","
          "\"arguments\":{}},"
          "{\"type\":\"tool_call\",\"id\":\"i\",\"name\":\"b\","
          "\"arguments\":{\"x\":[1,2.5]}},"
          "{\"type\":\"tool_call\",\"id\":\"call_1_3\",\"name\":\"c\","
          "\"arguments_text\":\"{x\"}"
          "]},\"stop\":\"tools\",\"model\":\"any\"}");
    script("{\"refusal\":\"no\"}");
    gives(chat("", USER("a")),
          "{\"message\":{\"role\":\"assistant\",\"parts\":[{\"type\":"
          "\"refusal\",\"text\":\"no\"}]},\"stop\":\"refusal\",\"model\":"
          "\"any\"}");
    script("{\"json\":{\"a\":\"\\n\"},\"stop\":\"length\"}");
    gives(chat("", USER("a")),
          "{\"message\":{\"role\":\"assistant\",\"parts\":[{\"type\":"
          "\"text\",\"text\":\"{\\\"a\\\":\\\"\\\\n\\\"}\"}]},"
          "\"stop\":\"length\",\"model\":\"any\"}");
    script("{}");
    gives(chat("", USER("a")),
          "{\"message\":{\"role\":\"assistant\",\"parts\":[]},\"stop\":\"end\","
          "\"model\":\"any\"}");
}
END_TEST

/* Nothing is told on the way unless it is wanted; then all of it is. */
START_TEST(deltas)
{
    script("{\"text\":\" one  two\\nthree\",\"reasoning\":\"hm hm\"}");
    ck_assert_int_eq(chat("", USER("a")), MORTISE_S_OK);
    ck_assert_ptr_null(host.delta.p);
    ck_assert_int_eq(chat("\"stream\":true,", USER("a")), MORTISE_S_OK);
    ck_assert_str_eq(host.delta.p, " one  two\nthree");
    ck_assert_str_eq(host.reasoning.p, "hm hm");
}
END_TEST

/* A word of any length comes in pieces that a host takes (barehost.c checks
 * both their size and that none is cut inside a character). */
START_TEST(a_long_word)
{
    size_t n = 200001;
    char *config = malloc(2 * n + 64), *p;

    ck_assert_ptr_nonnull(config);
    p = config + sprintf(config, "{\"replies\":[{\"text\":\"a");
    for (size_t i = 0; i < n; i += 2, p += 2)
        memcpy(p, "\xc3\xa4", 2);
    strcpy(p, "\"}]}");
    inst = bare_create(&host, plugin, config);
    ck_assert_int_eq(chat("\"stream\":true,", USER("a")), MORTISE_S_OK);
    ck_assert_uint_eq(host.delta.n, n + 2);
    free(config);
}
END_TEST

/* What it used: as the script says, else the words. */
START_TEST(usage)
{
    script("{\"when\":{\"user\":\"a\"},\"text\":\"two w\\u00f6rds\"},"
           "{\"usage\":{\"input_tokens\":7,\"cached_tokens\":5}}");
    ck_assert_int_eq(chat("", SYSTEM("b, c") "," USER("a-d") "," TOLD("e")),
                     MORTISE_S_OK);
    ck_assert_str_eq(
        host.usage.p,
        "{\"model_calls\":1,\"input_tokens\":5,\"output_tokens\":2}");
    ck_assert_int_eq(chat("", "{\"role\":\"user\",\"parts\":[" TEXT(
                                  "a") "," TEXT("b c") "]}"),
                     MORTISE_S_OK);
    ck_assert_ptr_nonnull(strstr(host.usage.p, "\"input_tokens\":3,"));
    ck_assert_int_eq(chat("", USER("b")), MORTISE_S_OK);
    ck_assert_str_eq(
        host.usage.p,
        "{\"model_calls\":1,\"input_tokens\":7,\"output_tokens\":0,"
        "\"cached_tokens\":5}");
    ck_assert_int_eq(host.usages, 1);
}
END_TEST

/* Errors are the script's, with its class and its time. */
START_TEST(errors)
{
    script("{\"when\":{\"user\":\"a\"},\"error\":{\"code\":\"model.overloaded\""
           ",\"class\":\"transient\",\"message\":\"too much\","
           "\"retry_after_ms\":250}},"
           "{\"when\":{\"user\":\"b\"},\"error\":{\"code\":\"model.timeout\","
           "\"class\":\"timeout\"}},"
           "{\"error\":{\"code\":\"model.auth\"},"
           "\"usage\":{\"input_tokens\":3}}");
    fails(chat("", USER("a")), "model.overloaded", "transient", "too much");
    ck_assert_int_eq(host.retry_after_ms, 250);
    ck_assert_int_eq(host.usages, 0);
    host.klass[0] = '\0';
    ck_assert_int_eq(chat("", USER("b")), MORTISE_S_TIMEOUT);
    ck_assert_str_eq(host.klass, "timeout");
    fails(chat("", USER("c")), "model.auth", "", "a scripted error");
    ck_assert_int_eq(host.usages, 1);
}
END_TEST

/* A host that takes no output hears of it as an error. */
START_TEST(a_refused_output)
{
    script("{\"text\":\"x\"}");
    host.emit_status = MORTISE_S_INVALID;
    ck_assert_int_eq(chat("", USER("a")), MORTISE_S_INVALID);
    ck_assert_str_eq(host.msg, "the host rejected the output");
}
END_TEST

/* ---- vectors ------------------------------------------------------------- */

static mortise_status embed(const char *body)
{
    return bare_embed(&host, plugin, inst, &(struct bare_call){.body = body},
                      NULL);
}

/* The vectors of the last call, n of d numbers. */
static void read_vectors(double *out, size_t n, size_t d)
{
    mortise_jv v, one, x;
    mortise_jv_iter it, each;

    ck_assert_int_eq(mortise_jv_parse(mortise_strn(host.out, host.n_out), &v),
                     MORTISE_S_OK);
    it = mortise_jv_each(mortise_jv_get(v, "vectors"));
    for (size_t i = 0; i < n; i++) {
        ck_assert(mortise_jv_next(&it, NULL, &one));
        each = mortise_jv_each(one);
        for (size_t k = 0; k < d; k++, out++) {
            ck_assert(mortise_jv_next(&each, NULL, &x));
            ck_assert_int_eq(mortise_jv_double(x, out), MORTISE_S_OK);
        }
        ck_assert(!mortise_jv_next(&each, NULL, &x));
    }
    ck_assert(!mortise_jv_next(&it, NULL, &one));
}

static double dot(const double *a, const double *b, size_t d)
{
    double sum = 0;

    for (size_t i = 0; i < d; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Texts of the same words have the same vector, of others another; each is one
 * long, but that of nothing. */
START_TEST(vectors_are_of_words)
{
    double v[4][256];

    script("");
    ck_assert_int_eq(embed("{\"model\":\"m\",\"texts\":[\"red apples\","
                           "\"Apples, red!\",\"a green pear\",\" - \"]}"),
                     MORTISE_S_OK);
    read_vectors(&v[0][0], 4, 256);
    ck_assert(fabs(dot(v[0], v[0], 256) - 1) < 1e-9);
    ck_assert(fabs(dot(v[0], v[1], 256) - 1) < 1e-9);
    ck_assert(fabs(dot(v[0], v[2], 256)) < 0.6);
    ck_assert(fabs(dot(v[3], v[3], 256)) < 1e-9);
    ck_assert_str_eq(
        host.usage.p,
        "{\"model_calls\":1,\"input_tokens\":7,\"output_tokens\":0}");
    ck_assert_ptr_nonnull(strstr(host.out, ",\"model\":\"m\"}"));
}
END_TEST

/* FNV-1a of "a" is af63dc4c8601ec8c: it takes away, at place 4 of 8. */
START_TEST(vectors_are_as_documented)
{
    script("");
    ck_assert_int_eq(embed("{\"texts\":[\"a\",\"A a\"],\"dimensions\":8}"),
                     MORTISE_S_OK);
    ck_assert_str_eq(host.out, "{\"vectors\":[[0,0,0,0,-1.0,0,0,0],"
                               "[0,0,0,0,-1.0,0,0,0]]}");
    ck_assert_int_eq(embed("{\"texts\":[]}"), MORTISE_S_OK);
    ck_assert_str_eq(host.out, "{\"vectors\":[]}");
    fails(embed("{\"texts\":[],\"dimensions\":0}"), "model.request",
          "permanent", "dimensions");
    fails(embed("{\"texts\":[],\"dimensions\":16385}"), "model.request",
          "permanent", "dimensions");
}
END_TEST

/* ---- memory -------------------------------------------------------------- */

/* Whatever allocation fails, that is said, and another try may help. */
START_TEST(survives_oom)
{
    static const char *const members = "\"stream\":true,";
    bool failed = true;

    if (!oom_works())
        return;
    host.around = oom_around;
    for (int n = 0; failed; n++) {
        oom_fail_at(n);
        inst = bare_create(
            &host, plugin,
            "{\"replies\":[{\"when\":{\"user\":\"a\"},\"text\":\"b \\n\","
            "\"reasoning\":\"c\",\"refusal\":\"d\"},"
            "{\"error\":{\"code\":\"x\",\"message\":\"w\"}}]}");
        failed = oom_failed();
        ck_assert_int_eq(inst == NULL, failed);
    }
    for (int body = 0; body < 3; body++) {
        failed = true;
        for (int n = 0; failed; n++) {
            mortise_status status;

            oom_fail_at(n);
            status = body == 0   ? chat(members, SYSTEM("s") "," USER("a"))
                     : body == 1 ? chat(members, USER("other"))
                                 : embed("{\"texts\":[\"a\",\"bc\"]}");
            failed = oom_failed();
            ck_assert_int_eq(status, failed      ? MORTISE_S_NOMEM
                                     : body == 1 ? MORTISE_S_FAILED
                                                 : MORTISE_S_OK);
            if (failed)
                ck_assert_str_eq(host.code, "no_memory");
        }
    }
    host.around = NULL;
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_scripted");
    TCase *tc = tcase_create("host");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_first_that_fits);
    tcase_add_test(tc, the_last_message_of_a_role);
    tcase_add_test(tc, none_fits);
    tcase_add_test(tc, nonsense_is_refused);
    tcase_add_test(tc, contradictions_are_refused);
    tcase_add_test(tc, parts);
    tcase_add_test(tc, deltas);
    tcase_add_test(tc, a_long_word);
    tcase_add_test(tc, usage);
    tcase_add_test(tc, errors);
    tcase_add_test(tc, a_refused_output);
    tcase_add_test(tc, vectors_are_of_words);
    tcase_add_test(tc, vectors_are_as_documented);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
