/* test_usage.c -- what calls of models cost: core/json/usage.c. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/usage.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_err err;

static void begin(void)
{
    test_begin();
    test_count_json();
}

static json_t *value(const char *text)
{
    json_t *v = NULL;

    ck_assert_int_eq(mortise_json_parse(&v, text, strlen(text), NULL),
                     MORTISE_OK);
    return v;
}

static struct mortise_usage said(const char *text)
{
    json_t *v = value(text);
    struct mortise_usage u;

    ck_assert_msg(mortise_usage_parse(&u, v, &err) == MORTISE_OK, "%s: %s",
                  text, err.msg);
    json_decref(v);
    return u;
}

static void assert_is(const struct mortise_usage *u, const char *want)
{
    json_t *v = mortise_usage_to_json(u);
    char *text = mortise_json_to_text(&mortise_heap, v);

    ck_assert_str_eq(text, want);
    mortise_release_str(&mortise_heap, text);
    json_decref(v);
}

/* Parts of tokens stand in it where there are some, and add up. */
START_TEST(parts_are_said)
{
    struct mortise_usage u = said("{\"input_tokens\": 9, \"cached_tokens\": 4, "
                                  "\"reasoning_tokens\": 1}");
    struct mortise_usage more = said("{\"cache_write_tokens\": 2, "
                                     "\"cached_tokens\": 1}");
    struct mortise_usage back;
    json_t *v;

    ck_assert_int_eq(mortise_usage_add(&u, &more), MORTISE_OK);
    assert_is(&u, "{\"model_calls\":0,\"input_tokens\":9,\"output_tokens\":0,"
                  "\"usd\":0.0,\"cached_tokens\":5,\"cache_write_tokens\":2,"
                  "\"reasoning_tokens\":1}");
    v = mortise_usage_to_json(&u);
    ck_assert_int_eq(mortise_usage_from_json(&back, v, &err), MORTISE_OK);
    ck_assert_uint_eq(back.amount[MORTISE_USED_CACHED], 5);
    json_decref(v);
}
END_TEST

/* What is said comes out in one form, and that reads back. */
START_TEST(it_has_one_form)
{
    struct mortise_usage u = said("{\"model\": \"m\", \"usd\": 0.000214, "
                                  "\"input_tokens\": 3, \"model_calls\": 1}");
    struct mortise_usage back;
    json_t *v = mortise_usage_to_json(&u);

    ck_assert_uint_eq(u.amount[MORTISE_USED_USD], 214000);
    assert_is(&u, "{\"model_calls\":1,\"input_tokens\":3,\"output_tokens\":0,"
                  "\"usd\":0.000214,\"models\":[\"m\"]}");
    ck_assert_int_eq(mortise_usage_from_json(&back, v, &err), MORTISE_OK);
    assert_is(&back,
              "{\"model_calls\":1,\"input_tokens\":3,\"output_tokens\":0,"
              "\"usd\":0.000214,\"models\":[\"m\"]}");
    ck_assert(!mortise_usage_is_empty(&back));
    mortise_usage_finish(&back);
    ck_assert(mortise_usage_is_empty(&back));
    mortise_usage_finish(&u);
    json_decref(v);
}
END_TEST

/* A usage that has anything else is refused.  Nothing of that counts, and more may
 * have been used. */
START_TEST(nonsense_is_refused)
{
    static const char *const bad[] = {
        "[]",
        "null",
        "1",
        "{\"tokens\": 1}",
        "{\"models\": [\"m\"]}",
        "{\"model_calls\": -1}",
        "{\"model_calls\": 1.0}",
        "{\"model_calls\": \"1\"}",
        "{\"model_calls\": true}",
        "{\"model_calls\": 1000000000000001}",
        "{\"input_tokens\": null}",
        "{\"output_tokens\": []}",
        "{\"usd\": -0.5}",
        "{\"usd\": \"0.5\"}",
        "{\"usd\": 1000000.1}",
        "{\"usd\": 1e300}",
        "{\"model\": \"\"}",
        "{\"model\": 1}",
        "{\"model\": \"a\\u0000b\"}",
        "{\"model\": \"m\", \"usd\": -1}",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct mortise_usage u;
        json_t *v = value(bad[i]);

        ck_assert_msg(mortise_usage_parse(&u, v, &err) == MORTISE_EINVAL, "%s",
                      bad[i]);
        ck_assert(u.unclear && !mortise_usage_is_empty(&u));
        for (size_t k = 0; k < MORTISE_USED_N; k++)
            ck_assert_uint_eq(u.amount[k], 0);
        mortise_usage_finish(&u);
        json_decref(v);
    }
}
END_TEST

/* The valid members beside it count, wherever they stand; `unclear` goes with the
 * sum and with its JSON.  A usage that was reported before is not unclear again. */
START_TEST(the_rest_of_nonsense_counts)
{
    struct mortise_usage all = {0}, u, back;
    json_t *v = value("{\"model_calls\": 1, \"output_tokens\": -4, \"model\": "
                      "\"m\", \"input_tokens\": 3}");

    ck_assert_int_eq(mortise_usage_parse(&u, v, &err), MORTISE_EINVAL);
    ck_assert_msg(strstr(err.msg, "output_tokens") != NULL, "%s", err.msg);
    json_decref(v);
    ck_assert_int_eq(mortise_usage_add(&all, &u), MORTISE_OK);
    v = mortise_usage_to_json(&all);
    ck_assert_int_eq(mortise_usage_from_json(&back, v, &err), MORTISE_OK);
    json_decref(v);
    ck_assert(back.unclear);
    ck_assert_uint_eq(back.amount[MORTISE_USED_CALLS], 1);
    ck_assert_uint_eq(back.amount[MORTISE_USED_INPUT], 3);
    ck_assert_uint_eq(json_array_size(back.models), 1);
    mortise_usage_subtract(&back, &all);
    ck_assert(mortise_usage_is_empty(&back));
    mortise_usage_finish(&back);
    mortise_usage_finish(&all);
    mortise_usage_finish(&u);
}
END_TEST

/* A name has at most 128 bytes, and of names the first sixteen are kept; the
 * amounts all count. */
START_TEST(names_are_bounded)
{
    struct mortise_usage all = {0}, u;
    char text[256], name[130];

    memset(name, 'n', 129);
    name[129] = '\0';
    u.models = json_pack("{s:s}", "model", name);
    ck_assert_int_eq(mortise_usage_parse(&all, u.models, &err), MORTISE_EINVAL);
    json_decref(u.models);
    all = (struct mortise_usage){0};
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "{\"model_calls\": 1, \"model\": \"m%d\"}",
                 i % 20);
        u = said(text);
        ck_assert_int_eq(mortise_usage_add(&all, &u), MORTISE_OK);
        mortise_usage_finish(&u);
    }
    ck_assert_uint_eq(all.amount[MORTISE_USED_CALLS], 40);
    ck_assert_uint_eq(json_array_size(all.models), MORTISE_USAGE_MODELS);
    mortise_usage_finish(&all);
}
END_TEST

/* Money is summed exactly, where floating numbers would not. */
START_TEST(money_is_exact)
{
    struct mortise_usage all = {0}, u = said("{\"usd\": 0.1}");

    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(mortise_usage_add(&all, &u), MORTISE_OK);
    ck_assert_uint_eq(all.amount[MORTISE_USED_USD], 100ull * MORTISE_NANO);
    mortise_usage_subtract(&all, &u);
    assert_is(&all, "{\"model_calls\":0,\"input_tokens\":0,\"output_tokens\":0,"
                    "\"usd\":99.9}");
    u = said("{\"usd\": 0.0000000014}"); /* rounded, once */
    ck_assert_uint_eq(u.amount[MORTISE_USED_USD], 1);
    mortise_usage_subtract(&u, &all);
    ck_assert(mortise_usage_is_empty(&u));
}
END_TEST

/* Every amount has a decimal of its own, up to the largest. */
START_TEST(decimals_read_back)
{
    static const uint64_t some[] = {0,
                                    1,
                                    999999999,
                                    1000000001,
                                    123456789,
                                    999999999999999,
                                    1000000000000000,
                                    123456789012345};

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        json_t *v = mortise_usd_to_json(some[i]), *back;
        char *text = mortise_json_to_text(&mortise_heap, v);
        uint64_t nano = 0;

        back = value(text);
        ck_assert(mortise_usd_parse(&nano, back));
        ck_assert_uint_eq(nano, some[i]);
        mortise_release_str(&mortise_heap, text);
        json_decref(back);
        json_decref(v);
    }
}
END_TEST

/* Sums stop at what is counted at most. */
START_TEST(sums_stop)
{
    struct mortise_usage all = {0};
    struct mortise_usage u =
        said("{\"usd\": 1000000, \"input_tokens\": 1000000000000000}");

    for (int i = 0; i < 3000; i++)
        ck_assert_int_eq(mortise_usage_add(&all, &u), MORTISE_OK);
    ck_assert_uint_eq(all.amount[MORTISE_USED_USD], MORTISE_USAGE_MAX);
    ck_assert_uint_eq(all.amount[MORTISE_USED_INPUT], MORTISE_USAGE_MAX);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("usage");
    TCase *tc = tcase_create("usage");

    tcase_add_checked_fixture(tc, begin, test_nothing_left);
    tcase_add_test(tc, it_has_one_form);
    tcase_add_test(tc, parts_are_said);
    tcase_add_test(tc, nonsense_is_refused);
    tcase_add_test(tc, the_rest_of_nonsense_counts);
    tcase_add_test(tc, names_are_bounded);
    tcase_add_test(tc, money_is_exact);
    tcase_add_test(tc, decimals_read_back);
    tcase_add_test(tc, sums_stop);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
