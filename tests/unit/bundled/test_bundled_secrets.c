/* test_bundled_secrets.c -- the secrets guardrail, from any host's point of view,
 * and how often it is right about texts of which somebody said what is in them. */
#include <check.h>

#include "lib/finding.h"
#include "lib/test.h"

#define PAT "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"
#define JWT                                                                    \
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0."                                    \
    "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"

static void setup(void)
{
    finding_begin("secrets");
}

/* ---- what stands there instead ------------------------------------------- */

START_TEST(masks_have_styles)
{
    static const char text[] =
        "\"" PAT " " JWT " ftp://a:b4dpw@h/ password=hunter2 "
        "-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY----- x\"";

    finding_masks(text, "\"[token] [jwt] ftp://a:[url]@h/ "
                        "password=[assigned] [key] x\"");
    finding_use("{\"mask\":\"stars\",\"kinds\":[\"token\",\"assigned\"]}");
    finding_masks("\"" PAT " password=h-u-n-7\"",
                  "\"**************************************** "
                  "password=*******\"");
    finding_use("{\"mask\":\"partial\"}");
    finding_masks("\"is " PAT "\"",
                  "\"is ghp_************************************\"");
}
END_TEST

/* A check that is inside of a token is made: one that nobody would take is
 * none. */
START_TEST(checks_are_made)
{
    finding_use("{\"kinds\":[\"token\"]}");
    finding_masks("\"" PAT "\"", "\"[token]\"");
    finding_passes("\"ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18\"");
    finding_passes("\"ghp_AQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17\"");
}
END_TEST

/* What a member is called says of its value what a name ahead says in a text; and of
 * each element of a list. */
START_TEST(names_of_members_count)
{
    finding_masks("{\"password\":\"hunter2\",\"DB_PASSWORD\":\"hunter2\"}",
                  "{\"password\":\"[assigned]\",\"DB_PASSWORD\":"
                  "\"[assigned]\"}");
    finding_masks("{\"a\":{\"pass\\u0077ord\":[\"hunter2\",[\"hunter3\"]]}}",
                  "{\"a\":{\"password\":[\"[assigned]\",[\"[assigned]\"]]}}");
    finding_masks("{\"Authorization\":\"Bearer abcdef0123\"}",
                  "{\"Authorization\":\"Bearer [assigned]\"}");
    finding_masks("{\"token\":\"a1b2 and " PAT "\"}", /* the surer one */
                  "{\"token\":\"[token]\"}");
    finding_passes("{\"password\":\"required\",\"secret\":\"secret://x\"}");
    finding_passes("{\"password\":{\"type\":\"string\",\"x\":\"hunter2\"}}");
    finding_passes("{\"token\":\"300\",\"tokens\":300,"
                   "\"next_page_token\":\"CAUQ1\"}");
    finding_check("{\"a\":[{\"api_key\":\"abcd1234\"}]}");
    ck_assert_str_eq(finding_reason,
                     "the value of a secret is at /a/0/api_key");
    finding_use("{\"mask\":\"stars\",\"allow\":[\"hunter2\"]}");
    finding_passes("{\"password\":\"hunter2\"}");
    finding_masks("{\"password\":\"hunter3\"}", "{\"password\":\"*******\"}");
    finding_use("{\"kinds\":[\"token\"]}");
    finding_passes("{\"password\":\"hunter2\"}");
}
END_TEST

START_TEST(reasons_give_nothing_away)
{
    finding_check("{\"a\":[0,{\"b\":\"password=hunter2\"}]}");
    ck_assert_str_eq(finding_reason, "the value of a secret is at /a/1/b");
    finding_check("[\"" PAT "\",\"x\",\"" JWT "\"]");
    ck_assert_str_eq(finding_reason, "a token is at /0, and 1 more");
    finding_check("{\"" PAT "\":1}");
    ck_assert_str_eq(finding_reason, "a token is in the name of a member: /*");
    ck_assert_int_eq(finding_host.emits, 0);
}
END_TEST

START_TEST(what_is_allowed_passes)
{
    finding_use("{\"allow\":[\"hunter2\",\"*q17\"]}");
    finding_passes("\"password=hunter2 " PAT "\"");
    finding_masks("\"password=hunter3\"", "\"password=[assigned]\"");
}
END_TEST

START_TEST(a_bad_config_is_refused)
{
    finding_refuses("{\"kinds\":[\"password\"]}",
                    "key, token, jwt, url, assigned, entropy");
    finding_refuses("{\"kinds\":[]}", "empty");
    finding_refuses("{\"mask\":\"blur\"}", "label, stars or partial");
}
END_TEST

/* ---- what holds for each of its kind --------------------------------------- */

static const char *const kinds[] = {"key", "token",    "jwt",
                                    "url", "assigned", "entropy"};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

START_TEST(it_is_mostly_right)
{
    finding_is_right(kinds[_i], "tests/corpora/secrets.txt", 0.95);
}
END_TEST

/* By texts that were held out: no worse than docs/security.md says.  Nobody makes
 * the scanners better by looking at these. */
START_TEST(strangers_texts_are_judged_as_documented)
{
    struct corpus_count c =
        finding_counts(NULL, "tests/corpora/held/secrets.txt");

    ck_assert_msg(corpus_precision(&c) >= 0.8 && corpus_recall(&c) >= 0.5,
                  "%u right, %u missed, %u wrong", c.right, c.missed, c.wrong);
}
END_TEST

START_TEST(what_is_offered_would_pass)
{
    static const char *const pieces[] = {PAT,
                                         JWT,
                                         "password",
                                         "=",
                                         ":",
                                         " ",
                                         "\"",
                                         "\\",
                                         "hunter2",
                                         "://a:",
                                         "@h",
                                         "token",
                                         "Bearer ",
                                         "eyJ",
                                         ".",
                                         "AKIA",
                                         "1",
                                         "authorization",
                                         "[",
                                         "AKIAIOSFODNN7EXAMPLE",
                                         "-----BEGIN PRIVATE KEY-----",
                                         "-----END PRIVATE KEY-----",
                                         "\n",
                                         NULL};

    finding_offers_pass(pieces);
}
END_TEST

START_TEST(nothing_makes_it_crawl)
{
    static const char *const units[] = {"a",
                                        "1",
                                        "A",
                                        "ghp_",
                                        "ghp_a",
                                        "eyJ",
                                        "eyJ.",
                                        "eyJa.eyJ.",
                                        "://",
                                        "://a:",
                                        "://a:b@",
                                        "password",
                                        "password=",
                                        "password=$",
                                        "token:",
                                        "=",
                                        "-----BEGIN ",
                                        "-----BEGIN PRIVATE KEY",
                                        "\\\"",
                                        "aA1",
                                        "aA1+/",
                                        "bearer ",
                                        "authorization: ",
                                        "-",
                                        "_",
                                        "\xC3\xA9",
                                        NULL};

    finding_does_not_crawl(units);
}
END_TEST

START_TEST(survives_oom)
{
    finding_survives_oom(
        "{\"a\":\"\\npwd=hunter2\",\"b\":\"\\nredis://:hunter2@h\"}",
        "{\"a\":\"\\npwd=[assigned]\",\"b\":\"\\nredis://:[url]@h\"}",
        "{\"allow\":[\"a\",\"b\"]}");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_secrets");
    TCase *tc = tcase_create("secrets");

    tcase_add_checked_fixture(tc, setup, finding_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, masks_have_styles);
    tcase_add_test(tc, checks_are_made);
    tcase_add_test(tc, names_of_members_count);
    tcase_add_test(tc, reasons_give_nothing_away);
    tcase_add_test(tc, what_is_allowed_passes);
    tcase_add_test(tc, a_bad_config_is_refused);
    tcase_add_loop_test(tc, it_is_mostly_right, 0, N_KINDS);
    tcase_add_test(tc, strangers_texts_are_judged_as_documented);
    tcase_add_test(tc, what_is_offered_would_pass);
    tcase_add_test(tc, nothing_makes_it_crawl);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
