/* test_secret_refs.c -- references to secrets, and the places that schemas mark
 * for them. */
#include <check.h>
#include <string.h>

#include "core/json/secret.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_arena arena;

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_arena_init(&arena, &test_mem);
}

static void end(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static void names(const char *s, const char *want)
{
    const char *got = mortise_secret_get_name(s);

    ck_assert_msg((got == NULL) == (want == NULL), "%s", s);
    if (want != NULL)
        ck_assert_str_eq(got, want);
}

/* A reference ends its string, begins it or follows a blank, and has a name;
 * what only looks like one is mentioned and is none. */
START_TEST(references)
{
    names("secret://a", "a");
    names("Bearer secret://a.b_c-9", "a.b_c-9");
    names("  secret://a", "a");
    names("secret://", NULL);
    names("secret://a b", NULL);
    names("secret://a ", NULL);
    names("secret:///a", NULL);
    names("secret://-a", NULL);
    names("xsecret://a", NULL);
    names("secret://a secret://b", NULL);
    names("Secret://a", NULL);
    names("", NULL);
    names("secret://"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          NULL);
    ck_assert(mortise_secret_has_ref("xsecret://"));
    ck_assert(!mortise_secret_has_ref("secret:/"));
}
END_TEST

/* The value takes the reference's place and no more. */
START_TEST(filling)
{
    json_t *v =
        mortise_secret_substitute(&test_mem, "Bearer secret://a", "v\xc3\xa4");

    ck_assert_str_eq(json_string_value(v), "Bearer v\xc3\xa4");
    json_decref(v);
}
END_TEST

static size_t places_of(const char *schema,
                        struct mortise_secret_places *places)
{
    json_t *v = json_loads(schema, 0, NULL);
    size_t lost;

    ck_assert_ptr_nonnull(v);
    ck_assert_int_eq(mortise_secret_places(places, &lost, &arena, v),
                     MORTISE_OK);
    json_decref(v);
    return lost;
}

/* Marks are followed through properties, additionalProperties and items, to any
 * depth; those that stand elsewhere are counted. */
START_TEST(places)
{
    struct mortise_secret_places p;

    ck_assert_uint_eq(
        places_of("{\"properties\":{\"a\":{\"x-secret\":true},\"b/~\":"
                  "{\"additionalProperties\":{\"items\":{\"properties\":"
                  "{\"~2\":{\"x-secret\":true}}}}},\"c\":{\"x-secret\":false},"
                  "\"d\":true}}",
                  &p),
        0);
    ck_assert_uint_eq(p.n, 2);
    ck_assert(mortise_secret_is_allowed_at(&p, "/a"));
    ck_assert(mortise_secret_is_allowed_at(&p, "/b~1~0/any/7/~02"));
    ck_assert(!mortise_secret_is_allowed_at(&p, "/b~1~0/any/7/x"));
    ck_assert(!mortise_secret_is_allowed_at(&p, "/b~1~0/any/7/~02/x"));
    ck_assert(!mortise_secret_is_allowed_at(&p, "/b~1~0/any"));
    ck_assert(!mortise_secret_is_allowed_at(&p, "/c"));
    ck_assert(!mortise_secret_is_allowed_at(&p, "/aa"));
    ck_assert(!mortise_secret_is_allowed_at(&p, ""));
    ck_assert_uint_eq(
        places_of("{\"anyOf\":[{\"x-secret\":true}],\"$defs\":{\"d\":"
                  "{\"x-secret\":true}},\"items\":{\"x-secret\":true}}",
                  &p),
        2);
    ck_assert_uint_eq(p.n, 1);
    ck_assert_uint_eq(places_of("{}", &p) + p.n, 0);
    ck_assert_uint_eq(places_of("[]", &p) + p.n, 0);
}
END_TEST

static int collect(void *ud, const char *pointer, json_t **string)
{
    strcat(ud, pointer);
    strcat(ud, " ");
    *string = json_string("x");
    return MORTISE_OK;
}

/* Each mention is seen once, with where it stands, and may be replaced. */
START_TEST(mentions)
{
    char seen[256] = "";
    json_t *v = json_loads("{\"a\":\"secret://a\",\"b\":[1,\"no\",{\"c/d\":"
                           "\"see secret://\"}],\"secret://\":\"k\"}",
                           0, NULL);
    json_t *want = json_loads("{\"a\":\"x\",\"b\":[1,\"no\",{\"c/d\":\"x\"}],"
                              "\"secret://\":\"k\"}",
                              0, NULL);

    ck_assert_int_eq(mortise_secret_for_each(v, &test_mem, collect, seen),
                     MORTISE_OK);
    ck_assert_str_eq(seen, "/a /b/2/c~1d ");
    ck_assert(json_equal(v, want));
    json_decref(v);
    json_decref(want);
}
END_TEST

/* Finding places copes with its first, second, ... allocation failing. */
START_TEST(places_survive_oom)
{
    json_t *v =
        json_loads("{\"properties\":{\"a\":{\"x-secret\":true}}}", 0, NULL);
    struct mortise_secret_places p;
    size_t lost;
    int n = 0, rv;

    do {
        test_mem_fail_at(n++);
        rv = mortise_secret_places(&p, &lost, &arena, v);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 1);
    json_decref(v);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("secret_refs");
    TCase *tc = tcase_create("secret_refs");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, references);
    tcase_add_test(tc, filling);
    tcase_add_test(tc, places);
    tcase_add_test(tc, mentions);
    tcase_add_test(tc, places_survive_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
