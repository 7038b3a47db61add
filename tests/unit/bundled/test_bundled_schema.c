/* test_bundled_schema.c -- the schema guardrail, from any host's point of view:
 * what it asks, and what it makes of the answer.  tests/system/test_cli_guards.c
 * has it with a host that judges. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/finding.h"
#include "lib/test.h"

static void setup(void)
{
    finding_begin_with("schema", "{\"schema\":{\"type\":\"object\"}}");
    finding_host.answer = "{\"valid\":true}";
}

START_TEST(it_asks_the_host)
{
    finding_passes("{\"a\":[1,\"x\"]}");
    ck_assert_str_eq(finding_host.asked,
                     "schema.check/1 {\"schema\":{\"type\":\"object\"},"
                     "\"value\":{\"a\":[1,\"x\"]}}");
    finding_host.answer = "{\"valid\":false,\"reason\":\"at /a: no\"}";
    ck_assert_int_eq(finding_check("{}"), MORTISE_S_OK);
    ck_assert(finding_violation);
    ck_assert_str_eq(finding_reason, "at /a: no");
    ck_assert_int_eq(finding_host.emits, 0);
}
END_TEST

/* Config: schema.at */
START_TEST(a_part_may_be_judged)
{
    finding_use("{\"schema\":true,\"at\":\"/a~1b/1/~0\"}");
    finding_passes("{\"a/b\":[0,{\"~\":7}]}");
    ck_assert_ptr_nonnull(strstr(finding_host.asked, "\"value\":7}"));
    ck_assert_int_eq(finding_check("{\"a/b\":[0]}"), MORTISE_S_OK);
    ck_assert(finding_violation);
    ck_assert_str_eq(finding_reason, "no value at /a~1b/1/~0");
    ck_assert_int_eq(finding_host.asks, 0);
}
END_TEST

/* A host that refuses, or says something else, has not let it pass. */
START_TEST(no_answer_is_no_yes)
{
    static const char *const answers[] = {"{}", "{\"valid\":1}", "x",
                                          "{\"valid\":null}"};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        finding_host.answer = answers[i];
        ck_assert_int_ne(finding_check("1"), MORTISE_S_OK);
    }
    finding_host.answer = "{\"valid\":true}";
    finding_host.answer_status = MORTISE_S_INVALID;
    ck_assert_int_eq(finding_check("1"), MORTISE_S_INVALID);
    finding_host.answer_status = MORTISE_S_OK;
    finding_host.answer = NULL;
    ck_assert_int_ne(finding_check("1"), MORTISE_S_OK);
}
END_TEST

START_TEST(a_bad_config_is_refused)
{
    static const char *const configs[][2] = {
        {"", "JSON"},
        {"{}", "schema must be a JSON Schema"},
        {"{\"schema\":[]}", "schema must be a JSON Schema"},
        {"{\"schema\":\"x\"}", "schema must be a JSON Schema"},
        {"{\"schema\":{},\"at\":\"x\"}", "JSON Pointer"},
        {"{\"schema\":{},\"at\":1}", "JSON Pointer"},
    };

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        finding_refuses(configs[i][0], configs[i][1]);
}
END_TEST

START_TEST(survives_oom)
{
    finding_errs_in_oom("{\"a\":1}", "{\"schema\":{\"a\":1}}");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_schema");
    TCase *tc = tcase_create("schema");

    tcase_add_checked_fixture(tc, setup, finding_end);
    tcase_add_test(tc, it_asks_the_host);
    tcase_add_test(tc, a_part_may_be_judged);
    tcase_add_test(tc, no_answer_is_no_yes);
    tcase_add_test(tc, a_bad_config_is_refused);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
