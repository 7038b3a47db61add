/* test_drafts.c -- schemas of earlier drafts, as 2020-12 has them. */
#include <check.h>
#include <jansson.h>

#include "lang/schema/drafts.h"
#include "lang/schema/schema.h"
#include "lib/test.h"

static const struct {
    const char *from, *to;
} all[] = {
    /* lists of items */
    {"{'items': [{'type': 'string'}, {}], 'additionalItems': false}",
     "{'prefixItems': [{'type': 'string'}, {}], 'items': false}"},
    {"{'items': [{}]}", "{'prefixItems': [{}]}"},
    {"{'items': {'type': 'string'}, 'additionalItems': false}",
     "{'items': {'type': 'string'}}"},
    /* dependencies */
    {"{'dependencies': {'a': ['b'], 'c': {'items': [{}]}, 'd': true}}",
     "{'dependentRequired': {'a': ['b']}, 'dependentSchemas': {'c': "
     "{'prefixItems': [{}]}, 'd': true}}"},
    {"{'dependencies': {'a': ['b']}, 'dependentRequired': {'a': ['c']}}",
     "{'dependentRequired': {'a': ['c']}}"},
    /* bounds of draft 4 */
    {"{'minimum': 0, 'exclusiveMinimum': true, 'maximum': 9, "
     "'exclusiveMaximum': false}",
     "{'exclusiveMinimum': 0, 'maximum': 9}"},
    {"{'exclusiveMinimum': true}", "{}"},
    /* anchors */
    {"{'$id': '#a'}", "{'$anchor': 'a'}"},
    /* at each place of a schema, and at no other */
    {"{'properties': {'items': {'anyOf': [{'not': {'items': [{}]}}]}}, "
     "'definitions': {'x': {'items': [{}]}}, 'enum': [{'items': [1]}], "
     "'default': {'minimum': 1, 'exclusiveMinimum': true}}",
     "{'properties': {'items': {'anyOf': [{'not': {'prefixItems': [{}]}}]}}, "
     "'definitions': {'x': {'prefixItems': [{}]}}, 'enum': [{'items': [1]}], "
     "'default': {'minimum': 1, 'exclusiveMinimum': true}}"},
    /* what 2020-12 has, and what is no schema */
    {"{'prefixItems': [{}], 'items': false, 'exclusiveMinimum': 1, '$id': "
     "'u:x', 'dependentSchemas': {}}",
     "{'prefixItems': [{}], 'items': false, 'exclusiveMinimum': 1, '$id': "
     "'u:x', 'dependentSchemas': {}}"},
    {"true", "true"},
    {"{'properties': 7, 'dependencies': 7, 'items': 7}",
     "{'properties': 7, 'dependencies': 7, 'items': 7}"},
};
enum { ALL = sizeof all / sizeof all[0] };

static json_t *json(const char *text)
{
    char room[512];
    size_t n = 0;

    for (; text[n] != '\0'; n++)
        room[n] = text[n] == '\'' ? '"' : text[n];
    return json_loadb(room, n, JSON_DECODE_ANY, NULL);
}

/* What earlier drafts say otherwise is written as 2020-12 has it, and nothing
 * else is touched. */
START_TEST(they_are_rewritten)
{
    json_t *schema = json(all[_i].from), *want = json(all[_i].to);
    char *is;

    ck_assert_ptr_nonnull(schema);
    ck_assert_ptr_nonnull(want);
    ck_assert_int_eq(mortise_schema_modernize(schema), MORTISE_OK);
    is = json_dumps(schema, JSON_ENCODE_ANY);
    ck_assert_msg(json_equal(schema, want), "%s", is);
    free(is);
    json_decref(schema);
    json_decref(want);
}
END_TEST

/* A tuple of draft 7 is judged item by item. */
START_TEST(tuples_are_judged)
{
    static const struct {
        const char *value;
        int fits;
    } values[] = {{"['a', 1]", MORTISE_OK},
                  {"['a']", MORTISE_OK},
                  {"[1, 'a']", MORTISE_EINVAL},
                  {"['a', 1, 2]", MORTISE_EINVAL}};
    json_t *schema = json("{'items': [{'type': 'string'}, {'type': "
                          "'integer'}], 'additionalItems': false}");
    struct mortise_schema *s;
    struct mortise_arena a;
    struct mortise_err err;
    char where[64];

    mortise_arena_init(&a, &mortise_heap);
    ck_assert_int_eq(mortise_schema_modernize(schema), MORTISE_OK);
    ck_assert_int_eq(
        mortise_schema_compile(&s, &a, schema, where, sizeof where, &err),
        MORTISE_OK);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json_t *v = json(values[i].value);

        ck_assert_int_eq(mortise_schema_check(s, v, &err), values[i].fits);
        json_decref(v);
    }
    mortise_schema_finish(s);
    mortise_arena_finish(&a);
    json_decref(schema);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("drafts");
    TCase *tc = tcase_create("drafts");

    tcase_add_loop_test(tc, they_are_rewritten, 0, ALL);
    tcase_add_test(tc, tuples_are_judged);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
