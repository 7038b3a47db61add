/* test_json_diff.c -- where two JSON values differ. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/json/diff.h"
#include "lib/json.h"
#include "lib/test.h"

static char said[512];

static void put(void *ud, const char *pointer, const json_t *a, const json_t *b)
{
    char *x = a != NULL ? mortise_json_to_text(&test_mem, a) : NULL;
    char *y = b != NULL ? mortise_json_to_text(&test_mem, b) : NULL;
    size_t n = strlen(said);

    (void)ud;
    snprintf(said + n, sizeof said - n, "%s:%s:%s ", pointer,
             x != NULL ? x : "", y != NULL ? y : "");
    mortise_release_str(&test_mem, x);
    mortise_release_str(&test_mem, y);
}

static void differ(const char *a, const char *b, const char *want)
{
    json_t *x = json_loads(a, JSON_DECODE_ANY, NULL);
    json_t *y = json_loads(b, JSON_DECODE_ANY, NULL);

    said[0] = '\0';
    ck_assert_int_eq(mortise_json_diff(x, y, &test_mem, put, NULL), MORTISE_OK);
    ck_assert_str_eq(said, want);
    json_decref(x);
    json_decref(y);
}

/* The deepest places, by pointers; lists of other lengths are another value. */
START_TEST(places_are_told)
{
    differ("1", "1", "");
    differ("1", "\"1\"", ":1:\"1\" ");
    differ("{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":4}", "/a:1: /b:2:3 /c::4 ");
    differ("{\"x\":{\"a/b\":[1,{\"y~\":2}]}}",
           "{\"x\":{\"a/b\":[1,{\"y~\":3}]}}", "/x/a~1b/1/y~0:2:3 ");
    differ("{\"x\":[1,2]}", "{\"x\":[1]}", "/x:[1,2]:[1] ");
    differ("{\"x\":{}}", "{\"x\":[]}", "/x:{}:[] ");
}
END_TEST

static void ignore(void *ud, const char *pointer, const json_t *a,
                   const json_t *b)
{
    (void)ud;
    (void)pointer;
    (void)a;
    (void)b;
}

/* Memory that runs out is said. */
START_TEST(memory_may_run_out)
{
    json_t *x = json_loads("{\"a\": {\"b\": 1}}", 0, NULL);
    json_t *y = json_loads("{\"a\": {\"b\": 2}}", 0, NULL);

    test_mem_fail_at(0);
    ck_assert_int_eq(mortise_json_diff(x, y, &test_mem, ignore, NULL),
                     MORTISE_ENOMEM);
    test_mem_fail_at(-1);
    json_decref(x);
    json_decref(y);
}
END_TEST

static void begin(void)
{
    test_begin();
    test_count_json();
}

static Suite *suite(void)
{
    Suite *s = suite_create("json_diff");
    TCase *tc = tcase_create("json_diff");

    tcase_add_checked_fixture(tc, begin, test_nothing_left);
    tcase_add_test(tc, places_are_told);
    tcase_add_test(tc, memory_may_run_out);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
