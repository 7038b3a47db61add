/* test_bundled_pattern.c -- the pattern guardrail, from any host's point of
 * view. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/barehost.h"
#include "lib/oom.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;
static char *reason;
static bool violation;

static const char ALL[] =
    "{\"builtin\":[\"ipv4\",\"email\",\"secret\",\"ipv6\"]}";

static void use(const char *config)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, config);
    ck_assert_msg(inst != NULL, "%s", host.msg);
}

static void *nothing(void *ud)
{
    return ud;
}

static void setup(void)
{
    pthread_t t;

    plugin = bare_plugin("pattern");
    /* the thread sanitizer has a thread of its own, from the first one on */
    ck_assert_int_eq(pthread_create(&t, NULL, nothing, NULL), 0);
    pthread_join(t, NULL);
    test_begin();
    bare_init(&host);
    inst = NULL;
    reason = NULL;
    use(ALL);
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&host);
    free(reason);
    test_nothing_left();
}

static mortise_status check(const char *json)
{
    free(reason);
    return bare_check(&host, plugin, inst, &(struct bare_call){.body = json},
                      &violation, &reason);
}

/* No violation, and nothing is offered. */
static void passes(const char *json)
{
    ck_assert_int_eq(check(json), MORTISE_S_OK);
    ck_assert_msg(!violation, "%s: %s", json, reason);
    ck_assert_int_eq(host.emits, 0);
}

/* A violation, with this replacement, which then passes itself. */
static void masks(const char *json, const char *want)
{
    char *masked;

    ck_assert_int_eq(check(json), MORTISE_S_OK);
    ck_assert_msg(violation, "%s", json);
    ck_assert_uint_gt(strlen(reason), 0);
    ck_assert_msg(host.out != NULL, "%s: %s", json, reason);
    ck_assert_str_eq(host.out, want);
    masked = strdup(host.out);
    passes(masked);
    free(masked);
}

/* A violation without a replacement. */
static void blocks(const char *json, const char *why)
{
    ck_assert_int_eq(check(json), MORTISE_S_OK);
    ck_assert(violation);
    ck_assert_int_eq(host.emits, 0);
    ck_assert_msg(strstr(reason, why) != NULL, "%s", reason);
}

/* ---- what it finds ----------------------------------------------------- */

static const char *const clean[] = {
    "hello",
    "",
    "12:34:56 up 3 days",
    "2025-11-21T01:02:03Z",
    "aa:bb:cc:dd:ee:ff",
    "std::string",
    "a::b::c::dance",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "1.2.3.456",
    "10.0.0",
    "v2.36-9+deb12u10",
    "::",
    "x::",
    "user@host",
    "getty@tty1.service",
    "user@1000.service: Deactivated",
    "@example.com",
    "Failed password for root",
    "a password is needed",
    "tokenizer: fast",
    "password:",
    "Bearer of news",
    "Bearer authentication",
    "Basic authentication is off",
    "http://example.com/a:b",
    "-----BEGIN PUBLIC KEY-----",
    "sk-short",
    "mailto:",
    "12@34",
    "password=[secret]",
    "(password: [secret]).",
    "{\"token\": \"[secret]\"}",
    "{\\\"token\\\": \\\"[secret]\\\"}",
    "Authorization: Basic [secret]",
    "https://bob:[secret]@example/",
};

/* Ordinary text is let through, and so is what was masked before. */
START_TEST(ordinary_text_passes)
{
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++) {
        char *json = bare_quote(clean[i], strlen(clean[i]));

        passes(json);
        free(json);
    }
    passes("{\"a\":[1,2.5,true,null,{}],\"b\":[]}");
    passes("null");
    passes("10.0");
}
END_TEST

static const char *const dirty[][2] = {
    /* ipv4 */
    {"from 10.0.0.1 port 22", "from [ipv4] port 22"},
    {"192.168.1.254:80,255.255.255.255", "[ipv4]:80,[ipv4]"},
    {"[203.0.113.9]", "[[ipv4]]"},
    {"a10.1.1.1z", "a[ipv4]z"},
    {"10.0.0.1.", "[ipv4]."},
    {"1.1.1.1 2.2.2.2 3.3.3.3", "[ipv4] [ipv4] [ipv4]"},
    /* ipv6 */
    {"from ::1 port 22", "from [ipv6] port 22"},
    {"2001:db8::8a2e:370:7334", "[ipv6]"},
    {"2001:0db8:85a3:0000:0000:8a2e:0370:7334", "[ipv6]"},
    {"fe80::1%eth0 up", "[ipv6] up"},
    {"::ffff:192.0.2.1", "[ipv6]"},
    {"64:ff9b::192.0.2.33", "[ipv6]"},
    {"[2001:db8::1]:443", "[[ipv6]]:443"},
    {"2001:db8::", "[ipv6]"},
    {"[IPv6:2001:db8::1]", "[IPv6:[ipv6]]"},
    {"ip.10.0.0.1", "ip.[ipv4]"},
    /* email */
    {"mail alice.b+c@example.co.uk now", "mail [email] now"},
    {"<root@localhost.localdomain>,a@b.de", "<[email]>,[email]"},
    {"x_%y@sub.example.service.com", "[email]"},
    {"m\xC3\xBCller@ex\xC3\xA4mple.de.", "[email]."},
    /* secret: keys and values */
    {"password=hunter2 user=x", "password=[secret] user=x"},
    {"DB_PASSWORD: hunter2", "DB_PASSWORD: [secret]"},
    {"password=a&b=c x", "password=[secret] x"},
    {"password=a,b;c x", "password=[secret] x"},
    {"password=x, user=y", "password=[secret], user=y"},
    {"(password: hunter2).", "(password: [secret])."},
    {"passwd='it is long';", "passwd=[secret];"},
    {"{\"token\": \"a b c\", \"u\": 1}", "{\"token\": [secret], \"u\": 1}"},
    {"{\"token\": \"a\\\"b\", \"u\": 1}", "{\"token\": [secret], \"u\": 1}"},
    {"{\\\"token\\\": \\\"a b\\\"}", "{\\\"token\\\": [secret]}"},
    {"password=\"cut short", "password=[secret]"},
    {"password=\"abc\"def", "password=[secret]"},
    /* headers and URLs */
    {"Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer [secret]"},
    {"authorization: dXNlcjpw", "authorization: [secret]"},
    {"Bearer abcdefghijklmnop1234", "Bearer [secret]"},
    {"https://bob:s3cret@example/", "https://bob:[secret]@example/"},
    {"ftp://u:p@ss@host/x", "ftp://u:[secret]@host/x"},
    /* keys by their looks */
    {"id AKIAIOSFODNN7EXAMPLE", "id [secret]"},
    {"ghp_0123456789abcdefghijABCDEFGHIJ012345", "[secret]"},
    {"xoxb-1234567890-abc", "[secret]"},
    {"sk-abcdefghijklmnopqrst", "[secret]"},
    {"a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcd-_ef b", "a [secret] b"},
    {"-----BEGIN RSA PRIVATE KEY-----\nMIIE-x\n-----END RSA PRIVATE KEY----- x",
     "[secret] x"},
    {"-----BEGIN PRIVATE KEY-----\nMIIE\nand so on", "[secret]"},
    /* a mask in the text does not hide what follows it */
    {"password=[secret]hunter2", "password=[secret]"},
    {"password=[secret],hunter2", "password=[secret]"},
    {"password=[secret]; token=x", "password=[secret]; token=[secret]"},
    {"ftp://u:[secret]@hunter2@host", "ftp://u:[secret]@host"},
    /* several kinds */
    {"bob@example.com from 10.1.2.3 with password=x",
     "[email] from [ipv4] with password=[secret]"},
};

/* Each kind is found wherever it stands, masked, and clean afterwards. */
START_TEST(what_is_looked_for_is_masked)
{
    for (size_t i = 0; i < sizeof dirty / sizeof *dirty; i++) {
        char *json = bare_quote(dirty[i][0], strlen(dirty[i][0]));
        char *want = bare_quote(dirty[i][1], strlen(dirty[i][1]));

        masks(json, want);
        free(json);
        free(want);
    }
}
END_TEST

/* Everything but the strings that match stays as it was. */
START_TEST(the_rest_is_untouched)
{
    masks("{ \"a\" : [1.50, \"10.0.0.1\", {\"b\\n\": \"\\u00e9\"}, []],"
          " \"c\": true, \"d\":\"x\"}",
          "{\"a\":[1.50,\"[ipv4]\",{\"b\\n\":\"\\u00e9\"},[]],\"c\":true,"
          "\"d\":\"x\"}");
    masks("\"\\u00e9\\n10.0.0.1\\t\\u20ac\"",
          "\"\xC3\xA9\\n[ipv4]\\t\xE2\x82\xAC\"");
}
END_TEST

/* The reason names rule and place, never what was found, not even where that
 * is part of the place. */
START_TEST(reasons_give_nothing_away)
{
    check("{\"a\":[0,{\"b/~c\":\"password=hunter2\"}]}");
    ck_assert_str_eq(reason, "rule 'secret' matches at /a/1/b~1~0c");
    check("\"hunter2@example.com\"");
    ck_assert_str_eq(reason, "rule 'email' matches at the payload itself");
    check("[\"10.0.0.1\",\"x\",\"10.0.0.2\",\"a@b.de\"]");
    ck_assert_str_eq(reason, "rule 'ipv4' matches at /0, and 2 more");
    check("{\"10.9.8.7\":{\"x\":\"10.0.0.1\"}}");
    ck_assert_str_eq(reason,
                     "rule 'ipv4' matches the name of a member: /*, and 1 "
                     "more");
    use("{\"rules\":[{\"name\":\"n\",\"pattern\":\"s3cret\"}]}");
    check("{\"line\\nbreak\":[\"s3cret\"]}");
    ck_assert_str_eq(reason, "rule 'n' matches at /*/0");
}
END_TEST

/* Names of members are looked at too, and cannot be masked. */
START_TEST(a_name_that_matches_is_not_maskable)
{
    blocks("{\"10.0.0.1\":1,\"10.0.0.2\":2}", "the name of a member");
    blocks("{\"a\":{\"x\":[{\"bob@example.com\":null}]}}", "/a/x/0/*");
    /* also when something else could be masked */
    blocks("[\"10.0.0.1\",{\"10.0.0.2\":0}]", "and 1 more");
}
END_TEST

/* A payload as deep as a payload can be is searched to its end. */
START_TEST(nothing_hides_in_the_depth)
{
    char json[2 * MORTISE_JV_DEPTH + 32] = "";

    for (int i = 0; i < MORTISE_JV_DEPTH; i++)
        strcat(json, "[");
    strcat(json, "\"10.0.0.1\"");
    for (int i = 0; i < MORTISE_JV_DEPTH; i++)
        strcat(json, "]");
    check(json);
    ck_assert(violation);
    ck_assert_ptr_nonnull(strstr(host.out, "[[\"[ipv4]\"]]"));
    ck_assert_uint_lt(strlen(reason), 512);
}
END_TEST

/* ---- rules of the deployment ------------------------------------------- */

/* Own rules come after the builtin ones, with their own replacement. */
START_TEST(own_rules_work)
{
    use("{\"rules\":[{\"name\":\"ticket\",\"pattern\":\"inc-\\\\d+\","
        "\"ignore_case\":true},"
        "{\"name\":\"vip\",\"pattern\":\"\\\\bZo\\u00eb\","
        "\"replace\":\"a \\\"guest\\\"\"},"
        "{\"name\":\"gone\",\"pattern\":\"#+\",\"replace\":\"\"},"
        "{\"name\":\"keep\",\"pattern\":\"id:\\\\K\\\\d+\",\"replace\":\"?\"}]"
        "}");
    masks("\"INC-12 by Zo\\u00eb ### id:77\"",
          "\"[ticket] by a \\\"guest\\\"  id:?\"");
    passes("\"10.0.0.1\"");
    use("{\"builtin\":[\"ipv4\"],\"rules\":[{\"name\":\"net\","
        "\"pattern\":\"net \\\\[ipv4\\\\]\"}]}");
    masks("\"net 10.0.0.1\"", "\"[net]\"");
}
END_TEST

/* A config that could not work, or would let everything through, is refused
 * with a sentence that names the rule. */
START_TEST(a_bad_config_is_refused)
{
    static const char *const configs[][2] = {
        {"", "JSON"},
        {"{}", "no rule"},
        {"{\"builtin\":[],\"rules\":[]}", "no rule"},
        {"{\"builtin\":[\"ipv5\"]}", "unknown"},
        {"{\"builtin\":[\"ipv4\",\"ipv4\"]}", "twice"},
        {"{\"builtin\":[1]}", "unknown"},
        {"{\"rules\":[1]}", "name"},
        {"{\"rules\":[{\"pattern\":\"a\"}]}", "name"},
        {"{\"rules\":[{\"name\":\"\",\"pattern\":\"a\"}]}", "name"},
        {"{\"rules\":[{\"name\":\"a\\u0000\",\"pattern\":\"a\"}]}", "name"},
        {"{\"rules\":[{\"name\":\"r1\"}]}", "'r1'"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"(\"}]}", "'r1'"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"\"}]}", "'r1'"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"a*\"}]}", "empty string"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"(?=a)\"}]}",
         "empty string"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"r\"}]}", "replacement"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"a\",\"replace\":\"ab\"}]}",
         "replacement"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"a\",\"replace\":1}]}",
         "replace"},
        {"{\"rules\":[{\"name\":\"r1\",\"pattern\":\"a\",\"ignore_case\":1}]}",
         "ignore_case"}};
    char many[8192] = "{\"rules\":[";

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        ck_assert_msg(bare_create(&host, plugin, configs[i][0]) == NULL, "%s",
                      configs[i][0]);
        ck_assert_msg(strstr(host.msg, configs[i][1]) != NULL, "%s: %s",
                      configs[i][0], host.msg);
    }
    for (int i = 0; i < 65; i++)
        sprintf(many + strlen(many),
                "%s{\"name\":\"r%d\",\"pattern\":\"zz%d\",\"replace\":\"\"}",
                i > 0 ? "," : "", i, i);
    strcat(many, "]}");
    ck_assert_ptr_null(bare_create(&host, plugin, many));
    ck_assert_ptr_nonnull(strstr(host.msg, "64"));
}
END_TEST

/* ---- failing closed ---------------------------------------------------- */

/* A rule that takes too many steps is a violation, and nothing is offered. */
START_TEST(too_many_steps_is_a_violation)
{
    static const char bomb[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx!";
    char json[128];

    use("{\"rules\":[{\"name\":\"bomb\",\"pattern\":\"(x+x+)+[yz]\"},"
        "{\"name\":\"a\",\"pattern\":\"a\",\"replace\":\"\"}]}");
    snprintf(json, sizeof json, "{\"k\":[0,\"%s\"]}", bomb);
    blocks(json, "rule 'bomb' takes too many steps to be checked at /k/1");
    snprintf(json, sizeof json, "{\"k\":[\"a\",\"%s\"]}", bomb);
    blocks(json, "at /k/1, and 1 more");
    snprintf(json, sizeof json, "{\"%s\":1}", bomb);
    blocks(json, "rule 'bomb' takes too many steps to be checked at /*");
}
END_TEST

/* So is a check that was not done in time. */
START_TEST(too_slow_is_a_violation)
{
    char *json = malloc(100010);

    json[0] = '"';
    for (int i = 1; i <= 100000; i++)
        json[i] = i % 2 == 0 ? '1' : ' ';
    strcpy(json + 100001, "\"");
    host.tick_ns = 2000000000;
    blocks(json, "could not be checked in time");
    free(json);
}
END_TEST

/* A cancelled check is no pass: it is an error, or complete. */
START_TEST(cancelling_is_no_pass)
{
    mortise_status status = MORTISE_S_CANCELLED;

    for (int n = 1; status == MORTISE_S_CANCELLED; n++) {
        ck_assert_int_lt(n, 100);
        host.cancel_after = n;
        status = check("{\"a\":\"from 10.0.0.1\",\"b\":\"1.1.1.1\"}");
        if (status == MORTISE_S_CANCELLED) {
            ck_assert(!violation);
            ck_assert_int_eq(host.emits, 0);
        }
    }
    ck_assert(violation);
}
END_TEST

/* What is no JSON is an error. */
START_TEST(a_bad_payload_is_an_error)
{
    ck_assert_int_eq(check("{\"a\":10.0.0.1}"), MORTISE_S_INVALID);
    ck_assert_int_eq(check(""), MORTISE_S_INVALID);
    ck_assert(!violation);
    ck_assert_str_eq(host.code, "invalid");
}
END_TEST

/* What one mask completes for another rule is masked as well; a replacement
 * that would still match is never offered. */
START_TEST(what_is_offered_would_pass)
{
    use("{\"rules\":[{\"name\":\"b\",\"pattern\":\"bb\",\"replace\":\"\"},"
        "{\"name\":\"x\",\"pattern\":\"x\",\"replace\":\"b\"}]}");
    masks("\"bxb\"", "\"b\"");
    use("{\"rules\":[{\"name\":\"a\",\"pattern\":\"a\",\"replace\":\"b\"},"
        "{\"name\":\"b\",\"pattern\":\"b\",\"replace\":\"a\"}]}");
    blocks("\"a\"", "rule 'a'");
}
END_TEST

/* A replacement that grows beyond all bounds is not offered. */
START_TEST(a_huge_replacement_is_not_offered)
{
    size_t n = 1 << 20;
    char config[512], *json = malloc(n + 3);

    snprintf(config, sizeof config,
             "{\"rules\":[{\"name\":\"r\",\"pattern\":\"a\","
             "\"replace\":\"%0250d\"}]}",
             0);
    use(config);
    json[0] = '"';
    memset(json + 1, 'a', n);
    strcpy(json + 1 + n, "\"");
    blocks(json, "matches");
    free(json);
}
END_TEST

/* Megabytes of log are searched and masked well within the time there is. */
START_TEST(a_large_payload_is_fine)
{
    static const char line[] = "Nov 20 02:17:31 gate sshd[4121]: Failed "
                               "password for admin from 10.0.0.1 port 5\\n";
    size_t n = 4 << 20;
    char *json = malloc(n + sizeof line + 3), *p = json;

    *p++ = '"';
    while (p < json + n)
        p = stpcpy(p, line);
    strcpy(p, "\"");
    ck_assert_int_eq(check(json), MORTISE_S_OK);
    ck_assert(violation);
    ck_assert_uint_gt(host.n_out, n / 2);
    ck_assert_ptr_null(strstr(host.out, "10.0.0.1"));
    free(json);
}
END_TEST

/* No text makes a builtin rule crawl: runs of what each of them looks for,
 * a hundred thousand bytes without a space, are done in no time. */
START_TEST(builtin_rules_do_not_crawl)
{
    static const char *const units[] = {
        "a",           "1",     ".",        "1.",           "a.",
        ":",           "a:",    "1:",       "::1",          "@",
        "a@",          "a@a.",  "\\\\",     "a\\\\",        "=",
        "a=",          "://a:", "eyJ-",     "eyJaaaaaaaa-", "sk-a-",
        "-----BEGIN ", "-",     "\xC3\xA9", "token",        "token_",
        "bearer/",     "AKIA",  "ghp_-"};
    size_t n = 100000;
    char *json = malloc(n + 64), *p;

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        p = json;
        *p++ = '"';
        while (p < json + n)
            p = stpcpy(p, units[i]);
        strcpy(p, "\"");
        host.tick_ns = 1; /* the clock moves, but hardly */
        ck_assert_int_eq(check(json), MORTISE_S_OK);
        ck_assert_msg(!violation || host.emits == 1, "%s: %s", units[i],
                      reason);
    }
    free(json);
}
END_TEST

/* A host that takes no replacement still gets the verdict. */
START_TEST(a_deaf_host_gets_the_verdict)
{
    host.emit_status = MORTISE_S_UNSUPPORTED;
    ck_assert_int_eq(check("\"10.0.0.1\""), MORTISE_S_OK);
    ck_assert(violation);
}
END_TEST

/* Each allocation refused: an error or the right verdict, never a pass; and a
 * replacement is whole or absent. */
START_TEST(survives_oom)
{
    static const char json[] = "{\"a\":\"\\n10.0.0.1\",\"b\":\"\\nx@y.de\"}";

    if (!oom_works())
        return;
    host.around = oom_around;
    for (long n = 0;; n++) {
        mortise_status status;

        oom_fail_at(n);
        status = check(json);
        ck_assert(status != MORTISE_S_OK || violation);
        if (!oom_failed())
            break;
        ck_assert_int_lt(n, 200);
    }
    ck_assert_str_eq(host.out, "{\"a\":\"\\n[ipv4]\",\"b\":\"\\n[email]\"}");
    for (long n = 0;; n++) {
        mortise_inst *i;

        oom_fail_at(n);
        i = bare_create(&host, plugin, ALL);
        if (i != NULL)
            bare_destroy(plugin, i);
        if (!oom_failed())
            break;
        ck_assert_ptr_null(i);
        ck_assert_int_lt(n, 200);
    }
}
END_TEST

/* ---- at once ----------------------------------------------------------- */

static void *check_often(void *ud)
{
    const char *rule = ud;
    const mortise_guardrail *g =
        plugin->get_interface(inst, MORTISE_GUARDRAIL_2);
    char json[64], want[64];
    mortise_request r = {.size = sizeof r, .call = 1};
    intptr_t wrong = 0;

    snprintf(json, sizeof json, "{\"%s\":\"%s\"}", rule,
             strcmp(rule, "ipv4") == 0 ? "10.0.0.1" : "a@b.de");
    snprintf(want, sizeof want, "rule '%s' matches at /%s", rule, rule);
    r.body = mortise_strz(json);
    for (int i = 0; i < 2000; i++) {
        char reason_of[256];
        bool found;

        wrong += g->check(inst, MORTISE_STAGE_NODE, &r) != MORTISE_S_OK;
        bare_verdict(&found, reason_of, sizeof reason_of);
        wrong += !found || strcmp(reason_of, want) != 0;
    }
    return (void *)wrong;
}

/* Several threads use one instance, and each reads its own reason. */
START_TEST(checks_run_at_once)
{
    static char ipv4[] = "ipv4", email[] = "email";
    pthread_t t[4];
    void *wrong;

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            pthread_create(&t[i], NULL, check_often, i % 2 == 0 ? ipv4 : email),
            0);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_pattern");
    TCase *tc = tcase_create("pattern");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, ordinary_text_passes);
    tcase_add_test(tc, what_is_looked_for_is_masked);
    tcase_add_test(tc, the_rest_is_untouched);
    tcase_add_test(tc, reasons_give_nothing_away);
    tcase_add_test(tc, a_name_that_matches_is_not_maskable);
    tcase_add_test(tc, nothing_hides_in_the_depth);
    tcase_add_test(tc, own_rules_work);
    tcase_add_test(tc, a_bad_config_is_refused);
    tcase_add_test(tc, too_many_steps_is_a_violation);
    tcase_add_test(tc, too_slow_is_a_violation);
    tcase_add_test(tc, cancelling_is_no_pass);
    tcase_add_test(tc, a_bad_payload_is_an_error);
    tcase_add_test(tc, what_is_offered_would_pass);
    tcase_add_test(tc, a_huge_replacement_is_not_offered);
    tcase_add_test(tc, a_large_payload_is_fine);
    tcase_add_test(tc, builtin_rules_do_not_crawl);
    tcase_add_test(tc, a_deaf_host_gets_the_verdict);
    tcase_add_test(tc, survives_oom);
    tcase_add_test(tc, checks_run_at_once);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
