/* test_json.c -- values and paths. */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/path.h"
#include "core/json/value.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_err err;

static void begin(void)
{
    test_begin();
    test_count_json();
}

static json_t *parsed(const char *text)
{
    json_t *v = NULL;

    ck_assert_msg(mortise_json_parse(&v, text, strlen(text), &err) ==
                      MORTISE_OK,
                  "%s: %s", text, err.msg);
    return v;
}

static void refused(const char *text, const char *words)
{
    json_t *v = json_true();

    ck_assert_msg(mortise_json_parse(&v, text, strlen(text), &err) ==
                      MORTISE_EINVAL,
                  "%s", text);
    ck_assert_ptr_null(v);
    ck_assert_ptr_eq(strstr(err.msg, "line "), err.msg);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
}

/* `n` opening brackets and as many closing ones. */
static char *nest(size_t n)
{
    char *text = malloc(2 * n + 1);

    memset(text, '[', n);
    memset(text + n, ']', n);
    text[2 * n] = '\0';
    return text;
}

static char *written(const json_t *v,
                     int write(struct mortise_buf *, const json_t *))
{
    static char text[4096];
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    ck_assert_int_eq(write(&b, v), MORTISE_OK);
    ck_assert_uint_lt(b.n, sizeof text);
    memcpy(text, b.p, b.n);
    text[b.n] = '\0';
    mortise_buf_finish(&b);
    return text;
}

static void assert_canonical(const char *text, const char *want)
{
    json_t *v = parsed(text);

    ck_assert_str_eq(written(v, mortise_json_write_canonical), want);
    json_decref(v);
}

/* ---- values ---------------------------------------------------------- */

/* Strict JSON: what others let pass is refused with its place. */
START_TEST(only_json_parses)
{
    refused("", "");
    refused("[1,]", "column 4");
    refused("{\"a\":1,\"a\":2}", "duplicate");
    refused("{\"a\\u0000b\":1}", "NUL");
    refused("[NaN]", "");
    refused("[01]", "");
    refused("[1] x", "");
    refused("\n  [\"\xC0\xAF\"]", "line 2");
    refused("\"\\ud800\"", "");
    refused("9223372036854775808", "too big integer");
    refused("1e999", "overflow");
    json_decref(parsed("-9223372036854775808"));
    refused("\"", "");
    refused("\"a\"b\"", "column 4");
    refused("\"a\nb\"", "");
    refused("\"\\\"", "");
    json_decref(parsed("\"a scalar\""));
    json_decref(parsed("\"\""));
    json_decref(parsed("\"\x7F\\n\" "));
    json_decref(parsed(" [] \n"));
}
END_TEST

/* A NUL byte is refused wherever it stands, also behind a whole value. */
START_TEST(no_nul_byte_passes)
{
    static const char texts[][8] = {"444444\0", "true\0\0\0", "\"ab\0\"",
                                    "[1,\0002]", "\0\0\0\0\0\0\0"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *v = NULL;

        ck_assert_int_eq(mortise_json_parse(&v, texts[i], 7, &err),
                         MORTISE_EINVAL);
        ck_assert_ptr_null(v);
        ck_assert_ptr_nonnull(strstr(err.msg, "a NUL byte"));
    }
}
END_TEST

/* A string may hold a NUL and keeps it. */
START_TEST(strings_keep_their_nul)
{
    json_t *v = parsed("\"a\\u0000b\"");

    ck_assert_uint_eq(json_string_length(v), 3);
    ck_assert_str_eq(written(v, mortise_json_write), "\"a\\u0000b\"");
    json_decref(v);
}
END_TEST

/* 64 deep is in, 65 out with its place; brackets in strings do not count; a
 * megabyte of brackets is an answer, not a crash. */
START_TEST(depth_is_bounded)
{
    char *in = nest(64), *out = nest(65), *wild = nest(500000);

    json_decref(parsed(in));
    refused(out, "line 1 column 65: nested deeper than 64");
    refused(wild, "nested deeper");
    json_decref(parsed("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                       "[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[[[[[[[[[[[[[[[\""));
    free(in);
    free(out);
    free(wild);
}
END_TEST

/* What is written can be read: no deeper than mortise_json_parse_written() goes. */
START_TEST(only_what_reads_back_is_written)
{
    struct mortise_buf b;
    json_t *v = json_array(), *back;

    for (int i = 1; i < MORTISE_JSON_DEPTH_INTERNAL; i++) {
        json_t *outer = json_array();

        json_array_append_new(outer, v);
        v = outer;
    }
    mortise_buf_init(&b, &test_mem);
    ck_assert_int_eq(mortise_json_write(&b, v), MORTISE_OK);
    ck_assert_int_eq(mortise_json_parse_written(&back, b.p, b.n, &err),
                     MORTISE_OK);
    ck_assert(json_equal(v, back));
    json_decref(back);
    back = json_array();
    json_array_append_new(back, v);
    ck_assert_int_eq(mortise_json_write(&b, back), MORTISE_ELIMIT);
    ck_assert_int_eq(mortise_json_write_canonical(&b, back), MORTISE_ELIMIT);
    ck_assert_ptr_null(mortise_json_to_text(&test_mem, back));
    json_decref(back);
    mortise_buf_finish(&b);
}
END_TEST

/* Compact, in the order of making. */
START_TEST(writing_keeps_the_order)
{
    const char *text = "{\"b\":[1,2.5,-3],\"a\":{\"x\":null},\"c\":[true,"
                       "false,\"\\n\\u0001\\\"\\\\\"]}";
    json_t *v = parsed(text);
    char *own = mortise_json_to_text(&test_mem, v);

    ck_assert_str_eq(own, text);
    mortise_release_str(&test_mem, own);
    json_decref(v);
}
END_TEST

/* The canonical form does not know in which order a value was made. */
START_TEST(canonical_form_depends_on_the_value_alone)
{
    assert_canonical("{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
    assert_canonical("{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}");
    /* U+1F600 is D83D DE00 in UTF-16 and sorts before U+FB33. */
    assert_canonical("{\"\\uFB33\":1,\"\\uD83D\\uDE00\":2,\"\\u20AC\":3}",
                     "{\"\xE2\x82\xAC\":3,\"\xF0\x9F\x98\x80\":2,"
                     "\"\xEF\xAC\xB3\":1}");
    assert_canonical("[1, 1.0, 100.0, 1e20, 0.1, -0.0, 1e-7, 123456789012.5]",
                     "[1,1.0,100.0,1e+20,0.1,-0.0,1e-07,123456789012.5]");
    assert_canonical("[\"\\u007f\\/\\u0008\\u001F\"]", "[\"\x7F/\\b\\u001f\"]");
    assert_canonical("[9223372036854775807,-9223372036854775808,0]",
                     "[9223372036854775807,-9223372036854775808,0]");
}
END_TEST

/* Many members take the other way through the sorter. */
START_TEST(many_members_are_sorted_too)
{
    json_t *a = json_object(), *b = json_object();
    uint8_t one[MORTISE_DIGEST], two[MORTISE_DIGEST];
    char key[16];

    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "k%d", i);
        json_object_set_new(a, key, json_integer(i));
        snprintf(key, sizeof key, "k%d", 99 - i);
        json_object_set_new(b, key, json_integer(99 - i));
    }
    ck_assert_int_eq(mortise_json_digest(one, a, &test_mem), MORTISE_OK);
    ck_assert_int_eq(mortise_json_digest(two, b, &test_mem), MORTISE_OK);
    ck_assert_mem_eq(one, two, sizeof one);
    json_object_set_new(b, "k7", json_real(7));
    ck_assert_int_eq(mortise_json_digest(two, b, &test_mem), MORTISE_OK);
    ck_assert_mem_ne(one, two, sizeof one);
    json_decref(a);
    json_decref(b);
}
END_TEST

/* Parsing copes with jansson's allocations failing; the essay says why the
 * answer may be a syntax error. */
START_TEST(parse_survives_oom)
{
    static const char text[] = "{\"a\":[1,2.5,\"x\",{\"b\":null}],\"c\":\"y\"}";
    json_t *v;
    int n = 0, rv;

    do {
        test_mem_fail_at(n++);
        rv = mortise_json_parse(&v, text, strlen(text), &err);
        ck_assert_int_eq(rv != MORTISE_OK, test_mem_failed());
        ck_assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM ||
                  rv == MORTISE_EINVAL);
        ck_assert_int_eq(v == NULL, test_mem_failed());
    } while (test_mem_failed());
    ck_assert_int_gt(n, 5);
    json_decref(v);
}
END_TEST

/* Digesting copes with its first, second, ... allocation failing. */
START_TEST(digest_survives_oom)
{
    json_t *v = json_object();
    uint8_t d[MORTISE_DIGEST];
    char key[16];
    int n = 0, rv;

    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "k%d", i);
        json_object_set_new(v, key, json_string("some text in here"));
    }
    do {
        test_mem_fail_at(n++);
        rv = mortise_json_digest(d, v, &test_mem);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 2);
    n = 0;
    do {
        char *text;

        test_mem_fail_at(n++);
        text = mortise_json_to_text(&test_mem, v);
        ck_assert_int_eq(text == NULL, test_mem_failed());
        mortise_release_str(&test_mem, text);
    } while (test_mem_failed());
    json_decref(v);
}
END_TEST

/* An embedder's locale with a decimal comma changes nothing. */
START_TEST(the_locale_changes_nothing)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8",
                                         "fr_FR.UTF-8", "de_DE"};

    for (size_t i = 0; i < sizeof commas / sizeof commas[0]; i++)
        if (setlocale(LC_NUMERIC, commas[i]) != NULL)
            break;
    assert_canonical("[1.5, 100.0, 1e300]", "[1.5,100.0,1e+300]");
    setlocale(LC_NUMERIC, "C");
}
END_TEST

static TCase *values(void)
{
    TCase *tc = tcase_create("value");

    tcase_add_checked_fixture(tc, begin, test_nothing_left);
    tcase_add_test(tc, only_json_parses);
    tcase_add_test(tc, strings_keep_their_nul);
    tcase_add_test(tc, no_nul_byte_passes);
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, only_what_reads_back_is_written);
    tcase_add_test(tc, writing_keeps_the_order);
    tcase_add_test(tc, canonical_form_depends_on_the_value_alone);
    tcase_add_test(tc, many_members_are_sorted_too);
    tcase_add_test(tc, parse_survives_oom);
    tcase_add_test(tc, digest_survives_oom);
    tcase_add_test(tc, the_locale_changes_nothing);
    return tc;
}

/* ---- paths ----------------------------------------------------------- */

static struct mortise_arena arena;

static void begin_with_arena(void)
{
    begin();
    mortise_arena_init(&arena, &test_mem);
}

static void finish_arena(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

/* Parsed from bytes with nothing behind them, where ASan watches. */
static int parse_path(struct mortise_path *path, const char *text, size_t n)
{
    char *bytes = malloc(n != 0 ? n : 1);
    int rv;

    memcpy(bytes, text, n);
    rv = mortise_path_parse(path, &arena, bytes, n, &err);
    free(bytes);
    return rv;
}

static struct mortise_path path_of(const char *text)
{
    struct mortise_path path;

    ck_assert_msg(parse_path(&path, text, strlen(text)) == MORTISE_OK, "%s: %s",
                  text, err.msg);
    return path;
}

static void no_path(const char *text, size_t n, const char *words)
{
    struct mortise_path path;

    ck_assert_msg(parse_path(&path, text, n) == MORTISE_EINVAL, "%s", text);
    ck_assert_str_eq(err.msg, words);
}

/* A path is spelled in one way, and that spelling is the path again. */
START_TEST(paths_have_one_spelling)
{
    struct mortise_path a = path_of("a[\"b\"].c-d[0][\"x y\"][\"\\\"\\\\z\"]"
                                    "[\"\"][\"\xC3\xA9\"]");
    struct mortise_path b = path_of(a.text);

    ck_assert_str_eq(a.text, "a.b.c-d[0][\"x y\"][\"\\\"\\\\z\"][\"\"]"
                             "[\"\xC3\xA9\"]");
    ck_assert_str_eq(b.text, a.text);
    ck_assert(mortise_path_is_equal(&a, &b));
    ck_assert_uint_eq(a.n, 8);
    ck_assert_str_eq(a.steps[5].key, "\"\\z");
}
END_TEST

START_TEST(what_is_no_path_says_where)
{
    char many[4 * MORTISE_PATH_STEPS + 4] = "a";

    no_path("", 0, "column 1: expected a name");
    no_path("a.", 2, "column 3: expected a name");
    no_path("a..b", 4, "column 3: expected a name");
    no_path("0a", 2, "column 1: expected a name");
    no_path("a b", 3, "column 2: expected '.' or '['");
    no_path("a[", 2, "column 3: expected an index or a key in double quotes");
    no_path("a[01]", 5, "column 5: an index cannot have leading zeros");
    no_path("a[1.5]", 6, "column 4: expected ']'");
    no_path("a[1", 3, "column 4: expected ']'");
    no_path("a[-1]", 5,
            "column 3: expected an index or a key in double quotes");
    no_path("a[99999999999999999999]", 23, "column 12: the index is too large");
    no_path("a[\"b", 4, "column 5: the key has no closing quote");
    no_path("a[\"b\\", 5, "column 6: the key has no closing quote");
    no_path("a[\"b\\n\"]", 8, "column 6: only \\\" and \\\\ are escapes here");
    no_path("a[\"\0\"]", 6, "column 4: a key cannot contain a NUL");
    no_path("a[\"\xFF\"]", 6, "column 5: the key is not valid UTF-8");
    no_path("a\0b", 3, "column 2: expected '.' or '['");
    for (int i = 0; i < MORTISE_PATH_STEPS; i++)
        strcat(many, "[0]");
    no_path(many, strlen(many), "column 193: the path has too many steps");
}
END_TEST

START_TEST(paths_lead_to_values)
{
    json_t *v = parsed("{\"a\":{\"b\":[1,{\"c d\":7}]}}");
    struct mortise_path to = path_of("a.b[1][\"c d\"]"),
                        past = path_of("a.b[2]"), wrong = path_of("a[0]"),
                        deep = path_of("a.b[0].x");

    ck_assert_int_eq(json_integer_value(mortise_path_get(v, &to)), 7);
    ck_assert_ptr_null(mortise_path_get(v, &past));
    ck_assert_ptr_null(mortise_path_get(v, &wrong));
    ck_assert_ptr_null(mortise_path_get(v, &deep));
    json_decref(v);
}
END_TEST

START_TEST(a_path_covers_what_lies_below)
{
    struct mortise_path a = path_of("a.b"), ab = path_of("a[\"b\"][0]"),
                        other = path_of("a.b[1]"), key = path_of("a.b[\"0\"]");

    ck_assert(mortise_path_is_prefix(&a, &ab));
    ck_assert(mortise_path_is_prefix(&a, &a));
    ck_assert(!mortise_path_is_prefix(&ab, &a));
    ck_assert(!mortise_path_is_prefix(&ab, &other));
    ck_assert(!mortise_path_is_equal(&ab, &key));
    ck_assert(!mortise_path_is_equal(&a, &ab));
}
END_TEST

static int set(json_t **root, const char *path, const char *value)
{
    struct mortise_path p = path_of(path);

    return mortise_path_set(root, &p, parsed(value), &err);
}

static void set_gives(const char *root, const char *path, const char *value,
                      const char *want)
{
    json_t *v = parsed(root);

    ck_assert_msg(set(&v, path, value) == MORTISE_OK, "%s", err.msg);
    ck_assert_str_eq(written(v, mortise_json_write), want);
    json_decref(v);
}

static void set_fails(const char *root, const char *path, const char *words)
{
    json_t *v = parsed(root);

    ck_assert_int_eq(set(&v, path, "[1]"), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, words);
    ck_assert_str_eq(written(v, mortise_json_write), root);
    json_decref(v);
}

/* Members and missing objects are made, elements replaced or appended; a
 * failure leaves the root as it was. */
START_TEST(setting_makes_what_is_missing)
{
    set_gives("{}", "a.b.c", "1", "{\"a\":{\"b\":{\"c\":1}}}");
    set_gives("{\"a\":{\"x\":1}}", "a.x", "2", "{\"a\":{\"x\":2}}");
    set_gives("{\"a\":[1,2]}", "a[1]", "3", "{\"a\":[1,3]}");
    set_gives("{\"a\":[1]}", "a[1].b", "3", "{\"a\":[1,{\"b\":3}]}");
    set_fails("{\"a\":[1]}", "a[2]",
              "a[2]: [2] is beyond the array's 1 elements");
    set_fails("{\"a\":null}", "a.b", "a.b: 'b' needs an object, found null");
    set_fails("{\"a\":{}}", "a.b[0]",
              "a.b[0]: [0] needs an array, found nothing");
    set_fails("{\"a\":{}}", "a[0]",
              "a[0]: [0] needs an array, found an object");
    set_fails("[]", "a", "a: 'a' needs an object, found an array");
}
END_TEST

/* What only we hold is changed where it stands. */
START_TEST(setting_in_place_copies_nothing)
{
    json_t *v = parsed("{\"a\":{\"b\":[{\"c\":1}]},\"z\":{}}"), *root = v;
    struct mortise_path p = path_of("a.b[0]");
    json_t *inner = mortise_path_get(v, &p);

    ck_assert_int_eq(set(&v, "a.b[0].c", "2"), MORTISE_OK);
    ck_assert_ptr_eq(v, root);
    ck_assert_ptr_eq(mortise_path_get(v, &p), inner);
    json_decref(v);
}
END_TEST

/* Whoever else holds the root, or a part of it, sees nothing; what is not on
 * the path is shared, not copied. */
START_TEST(other_holders_see_nothing)
{
    static const char text[] = "{\"a\":{\"b\":{\"c\":1},\"k\":{}},\"z\":{}}";
    static const char *const held[] = {"a", "a.b"};
    json_t *old = parsed(text), *v = json_incref(old);

    ck_assert_int_eq(set(&v, "a.b.c", "2"), MORTISE_OK);
    ck_assert_str_eq(written(old, mortise_json_write), text);
    ck_assert_ptr_eq(json_object_get(v, "z"), json_object_get(old, "z"));
    ck_assert_str_eq(written(v, mortise_json_write),
                     "{\"a\":{\"b\":{\"c\":2},\"k\":{}},\"z\":{}}");
    json_decref(old);
    for (int i = 0; i < 2; i++) {
        struct mortise_path p = path_of(held[i]);
        json_t *part = json_incref(mortise_path_get(v, &p));
        json_t *copy = json_deep_copy(part);

        ck_assert_int_eq(set(&v, "a.b.c", i == 0 ? "3" : "4"), MORTISE_OK);
        ck_assert(json_equal(part, copy));
        ck_assert(!json_equal(part, mortise_path_get(v, &p)));
        json_decref(part);
        json_decref(copy);
    }
    json_decref(v);
}
END_TEST

/* A value is our own when nobody holds it, nor what it is in. */
START_TEST(own_is_what_nobody_else_holds)
{
    json_t *v = parsed("{\"a\":{\"b\":[1]}}"), *a = json_object_get(v, "a");
    struct mortise_path p = path_of("a.b"), none = path_of("a.c");
    json_t *const list = mortise_path_get(v, &p), *const held[] = {v, a, list};

    ck_assert_ptr_eq(mortise_path_get_unshared(v, &p), list);
    ck_assert_ptr_null(mortise_path_get_unshared(v, &none));
    for (int i = 0; i < 3; i++) {
        json_incref(held[i]);
        ck_assert_ptr_null(mortise_path_get_unshared(v, &p));
        json_decref(held[i]);
    }
    json_decref(v);
}
END_TEST

/* A value may hold the very root that it is put into: no cycle comes of it. */
START_TEST(a_root_can_be_put_into_itself)
{
    json_t *v = parsed("{\"a\":{\"b\":1}}");
    struct mortise_path p = path_of("a.b");

    ck_assert_int_eq(mortise_path_set(&v, &p, json_incref(v), &err),
                     MORTISE_OK);
    ck_assert_str_eq(written(v, mortise_json_write),
                     "{\"a\":{\"b\":{\"a\":{\"b\":1}}}}");
    json_decref(v);
}
END_TEST

/* Parsing a path copes with every allocation failing. */
START_TEST(path_parse_survives_oom)
{
    struct mortise_path p;
    int n = 0, rv;

    do {
        struct mortise_arena a;

        test_mem_fail_at(n++);
        mortise_arena_init(&a, &test_mem);
        rv = mortise_path_parse(&p, &a, "abc.def[0][\"g h\"]", 17, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 2);
}
END_TEST

/* Setting copes with every allocation failing: the root is as it was. */
START_TEST(path_set_survives_oom)
{
    struct mortise_path p = path_of("a.b[0].new.c");
    json_t *v = parsed("{\"a\":{\"b\":[{\"c\":1}]}}"), *copy;
    json_t *held = json_incref(json_object_get(v, "a"));
    int n = 0, rv;

    copy = json_deep_copy(v);
    do {
        json_t *value = json_array();

        test_mem_fail_at(n++);
        rv = mortise_path_set(&v, &p, value, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        test_mem_fail_at(-1);
        if (rv != MORTISE_OK)
            ck_assert(json_equal(v, copy));
    } while (rv != MORTISE_OK);
    ck_assert_int_gt(n, 3);
    json_decref(copy);
    json_decref(held);
    json_decref(v);
}
END_TEST

static TCase *paths(void)
{
    TCase *tc = tcase_create("path");

    tcase_add_checked_fixture(tc, begin_with_arena, finish_arena);
    tcase_add_test(tc, paths_have_one_spelling);
    tcase_add_test(tc, what_is_no_path_says_where);
    tcase_add_test(tc, paths_lead_to_values);
    tcase_add_test(tc, a_path_covers_what_lies_below);
    tcase_add_test(tc, setting_makes_what_is_missing);
    tcase_add_test(tc, setting_in_place_copies_nothing);
    tcase_add_test(tc, other_holders_see_nothing);
    tcase_add_test(tc, own_is_what_nobody_else_holds);
    tcase_add_test(tc, a_root_can_be_put_into_itself);
    tcase_add_test(tc, path_parse_survives_oom);
    tcase_add_test(tc, path_set_survives_oom);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("json");

    suite_add_tcase(s, values());
    suite_add_tcase(s, paths());
    return s;
}

int main(void)
{
    return test_run(suite());
}
