/* test_json.c -- values, paths and schemas. */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/path.h"
#include "json/schema.h"
#include "json/value.h"
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

    ck_assert_str_eq(written(v, mortise_json_canonical), want);
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

/* What is written can be read: no deeper than mortise_json_read() goes. */
START_TEST(only_what_reads_back_is_written)
{
    struct mortise_buf b;
    json_t *v = json_array(), *back;

    for (int i = 1; i < MORTISE_JSON_DEPTH_OURS; i++) {
        json_t *outer = json_array();

        json_array_append_new(outer, v);
        v = outer;
    }
    mortise_buf_init(&b, &test_mem);
    ck_assert_int_eq(mortise_json_write(&b, v), MORTISE_OK);
    ck_assert_int_eq(mortise_json_read(&back, b.p, b.n, &err), MORTISE_OK);
    ck_assert(json_equal(v, back));
    json_decref(back);
    back = json_array();
    json_array_append_new(back, v);
    ck_assert_int_eq(mortise_json_write(&b, back), MORTISE_ELIMIT);
    ck_assert_int_eq(mortise_json_canonical(&b, back), MORTISE_ELIMIT);
    ck_assert_ptr_null(mortise_json_text(&test_mem, back));
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
    char *own = mortise_json_text(&test_mem, v);

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
        text = mortise_json_text(&test_mem, v);
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
    ck_assert(mortise_path_equal(&a, &b));
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
    no_path("a[01]", 5, "column 5: an index has no leading zeros");
    no_path("a[1.5]", 6, "column 4: expected ']'");
    no_path("a[1", 3, "column 4: expected ']'");
    no_path("a[-1]", 5,
            "column 3: expected an index or a key in double quotes");
    no_path("a[99999999999999999999]", 23, "column 12: the index is too large");
    no_path("a[\"b", 4, "column 5: the key has no closing quote");
    no_path("a[\"b\\", 5, "column 6: the key has no closing quote");
    no_path("a[\"b\\n\"]", 8, "column 6: only \\\" and \\\\ are escapes here");
    no_path("a[\"\0\"]", 6, "column 4: a key cannot hold a NUL");
    no_path("a[\"\xFF\"]", 6, "column 5: the key is not UTF-8");
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

    ck_assert(mortise_path_covers(&a, &ab));
    ck_assert(mortise_path_covers(&a, &a));
    ck_assert(!mortise_path_covers(&ab, &a));
    ck_assert(!mortise_path_covers(&ab, &other));
    ck_assert(!mortise_path_equal(&ab, &key));
    ck_assert(!mortise_path_equal(&a, &ab));
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

    ck_assert_ptr_eq(mortise_path_own(v, &p), list);
    ck_assert_ptr_null(mortise_path_own(v, &none));
    for (int i = 0; i < 3; i++) {
        json_incref(held[i]);
        ck_assert_ptr_null(mortise_path_own(v, &p));
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

/* ---- schemas --------------------------------------------------------- */

/* A schema with its JSON's reference given up: it must hold its own. */
static struct mortise_schema *schema_of(const char *text)
{
    struct mortise_schema *s;
    char where[64];
    json_t *json = parsed(text);

    ck_assert_msg(mortise_schema_compile(&s, &arena, json, where, sizeof where,
                                         &err) == MORTISE_OK,
                  "%s: %s", where, err.msg);
    json_decref(json);
    return s;
}

static void no_schema(const char *text, int code, const char *at,
                      const char *words)
{
    struct mortise_schema *s;
    char where[64];
    json_t *json = parsed(text);

    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err),
        code);
    ck_assert_ptr_null(s);
    ck_assert_str_eq(where, at);
    ck_assert_str_eq(err.msg, words);
    json_decref(json);
}

static void fits(const char *schema, const char *value)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = parsed(value);

    ck_assert_msg(mortise_schema_check(s, v, &err) == MORTISE_OK, "%s: %s",
                  value, err.msg);
    json_decref(v);
    mortise_schema_finish(s);
}

static void breaks(const char *schema, const char *value, const char *words)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = parsed(value);

    ck_assert_int_eq(mortise_schema_check(s, v, &err), MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, words);
    json_decref(v);
    mortise_schema_finish(s);
}

/* No keyword passes unread: not ours and not the draft's. */
START_TEST(schemas_ignore_nothing)
{
    no_schema("{\"propertis\":{}}", MORTISE_EINVAL, "/propertis",
              "unknown keyword 'propertis', did you mean 'properties'?");
    no_schema("{\"frobnicate\":1}", MORTISE_EINVAL, "/frobnicate",
              "unknown keyword 'frobnicate'");
    no_schema("{\"properties\":{\"a/b~\":{\"minimum\":1}}}",
              MORTISE_EUNAVAILABLE, "/properties/a~1b~0/minimum",
              "the JSON Schema keyword 'minimum' is not available in this "
              "build");
    no_schema("{\"items\":{\"$ref\":\"#\"}}", MORTISE_EUNAVAILABLE,
              "/items/$ref",
              "the JSON Schema keyword '$ref' is not available in this build");
    no_schema("{\"type\":\"strng\"}", MORTISE_EINVAL, "/type",
              "no type 'strng', did you mean 'string'?");
    no_schema("{\"type\":[]}", MORTISE_EINVAL, "/type", "'type' lists no type");
    no_schema("{\"type\":[\"null\",\"null\"]}", MORTISE_EINVAL, "/type",
              "'type' lists a type twice");
    no_schema("{\"type\":1}", MORTISE_EINVAL, "/type",
              "'type' names a type, or lists several");
    no_schema("{\"enum\":[]}", MORTISE_EINVAL, "/enum",
              "'enum' is a list of values");
    no_schema("{\"required\":[1]}", MORTISE_EINVAL, "/required",
              "'required' is a list of names");
    no_schema("{\"required\":\"a\"}", MORTISE_EINVAL, "/required",
              "'required' is a list of names");
    no_schema("{\"properties\":[]}", MORTISE_EINVAL, "/properties",
              "'properties' maps names to schemas");
    no_schema("{\"title\":1}", MORTISE_EINVAL, "/title", "expected a string");
    no_schema("{\"examples\":1}", MORTISE_EINVAL, "/examples",
              "'examples' is a list");
    no_schema("{\"additionalProperties\":7}", MORTISE_EINVAL,
              "/additionalProperties", "a schema is an object, true or false");
    no_schema("{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}",
              MORTISE_EUNAVAILABLE, "/$schema",
              "the dialect http://json-schema.org/draft-07/schema# is not "
              "available: schemas are written in "
              "https://json-schema.org/draft/2020-12/schema");
    no_schema("null", MORTISE_EINVAL, "",
              "a schema is an object, true or false");
    fits("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
         "\"title\":\"t\",\"description\":\"d\",\"$comment\":\"c\","
         "\"default\":1,\"examples\":[],\"x-ours\":{\"minimum\":1}}",
         "{\"any\":\"thing\"}");
}
END_TEST

/* A schema made by a program may nest as it likes: an answer, not a crash. */
START_TEST(schemas_are_not_nested_without_end)
{
    json_t *json = json_true(), *outer;
    struct mortise_schema *s;
    char where[8];

    for (int i = 0; i < 100; i++) {
        outer = json_object();
        json_object_set_new(outer, "items", json);
        json = outer;
    }
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, &err),
        MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "the schema is nested too deeply");
    ck_assert_str_eq(where, "/items/");
    json_decref(json);
}
END_TEST

START_TEST(types_are_checked)
{
    fits("true", "1");
    breaks("false", "1", "no value is allowed here");
    breaks("{\"type\":\"integer\"}", "\"x\"", "expected integer, found string");
    fits("{\"type\":\"integer\"}", "1.0");
    breaks("{\"type\":\"integer\"}", "1.5", "expected integer, found number");
    breaks("{\"type\":\"integer\"}", "1e300", "expected integer, found number");
    fits("{\"type\":\"number\"}", "1");
    fits("{\"type\":[\"null\",\"object\"]}", "{}");
    breaks("{\"type\":[\"null\",\"object\"]}", "[]",
           "expected null or object, found array");
    breaks("{\"type\":\"boolean\"}", "null", "expected boolean, found null");
}
END_TEST

/* The first finding, in the value's order, with the way to it. */
START_TEST(findings_say_where)
{
    static const char schema[] =
        "{\"type\":\"object\",\"required\":[\"a\"],"
        "\"additionalProperties\":false,\"properties\":{"
        "\"a\":{\"items\":{\"type\":\"object\",\"properties\":{"
        "\"b/c\":{\"type\":\"integer\"}}}},"
        "\"z\":{\"type\":\"null\"},"
        "\"label\":{\"enum\":[\"refund\",\"other\",1,{\"k\":[1.0]}]}}}";

    fits(schema, "{\"a\":[{\"b/c\":1,\"free\":true}]}");
    breaks(schema, "{\"z\":1,\"a\":[{},{\"b/c\":\"x\"}]}",
           "at /z: expected null, found integer");
    breaks(schema, "{\"a\":[{},{\"b/c\":\"x\"}],\"z\":1}",
           "at /a/1/b~1c: expected integer, found string");
    breaks(schema, "{}", "the member 'a' is missing");
    breaks(schema, "{\"a\":[],\"labl\":1}",
           "unknown member 'labl', did you mean 'label'?");
    breaks(schema, "{\"a\":[],\"quite else\":1}",
           "unknown member 'quite else'");
    breaks(schema, "{\"a\":[],\"label\":\"x\"}",
           "at /label: expected one of \"refund\", \"other\", 1, "
           "{\"k\":[1.0]}");
    fits(schema, "{\"a\":[],\"label\":1.0}");
    fits(schema, "{\"a\":[],\"label\":{\"k\":[1]}}");
    breaks(schema, "{\"a\":[],\"label\":{\"k\":[1,1]}}",
           "at /label: expected one of \"refund\", \"other\", 1, "
           "{\"k\":[1.0]}");
}
END_TEST

/* additionalProperties with a schema holds for what is not listed, alone. */
START_TEST(additional_members_have_their_schema)
{
    static const char schema[] =
        "{\"additionalProperties\":{\"type\":\"null\"},"
        "\"properties\":{\"a\":{}}}";

    fits(schema, "{\"a\":1,\"b\":null}");
    fits(schema, "[1]");
    breaks(schema, "{\"b\":1}", "at /b: expected null, found integer");
}
END_TEST

static void normal_is(const char *schema, const char *value, const char *want)
{
    struct mortise_schema *s = schema_of(schema);
    json_t *v = parsed(value), *n = mortise_schema_normal(s, v);

    ck_assert_str_eq(written(n, mortise_json_write), want);
    ck_assert_str_eq(written(v, mortise_json_write), value);
    if (strcmp(value, want) == 0)
        ck_assert_ptr_eq(n, v);
    json_decref(n);
    json_decref(v);
    mortise_schema_finish(s);
}

/* What a schema calls a number is a real; nothing else is touched, and what
 * does not change is not copied. */
START_TEST(normal_values_are_typed)
{
    normal_is("{\"type\":\"number\"}", "1", "1.0");
    normal_is("{\"type\":\"integer\"}", "1.0", "1");
    normal_is("{\"type\":[\"integer\",\"number\"]}", "1", "1");
    normal_is("{\"type\":[\"integer\",\"number\"]}", "1.0", "1.0");
    normal_is("{}", "[1,1.0]", "[1,1.0]");
    normal_is("{\"enum\":[1,2]}", "1.0", "1");
    normal_is("{\"type\":\"number\",\"enum\":[1,2]}", "1", "1.0");
    normal_is("{\"items\":{\"type\":\"number\"}}", "[1.5,1,2]",
              "[1.5,1.0,2.0]");
    normal_is("{\"items\":{\"type\":\"number\"}}", "[1.5]", "[1.5]");
    normal_is("{\"properties\":{\"b\":{\"type\":\"number\"}},"
              "\"additionalProperties\":{\"type\":\"integer\"}}",
              "{\"a\":1.0,\"b\":1,\"c\":[1],\"d\":2}",
              "{\"a\":1,\"b\":1.0,\"c\":[1],\"d\":2}");
}
END_TEST

START_TEST(normal_survives_oom)
{
    struct mortise_schema *s =
        schema_of("{\"properties\":{\"a\":{\"items\":{\"type\":\"number\"}},"
                  "\"b\":{\"type\":\"number\"}}}");
    json_t *v = parsed("{\"a\":[1,2],\"b\":1}"), *n;
    int k = 0;

    do {
        test_mem_fail_at(k++);
        n = mortise_schema_normal(s, v);
        ck_assert_int_eq(n == NULL, test_mem_failed());
        json_decref(n);
    } while (test_mem_failed());
    test_mem_fail_at(-1);
    ck_assert_int_gt(k, 3);
    json_decref(v);
    mortise_schema_finish(s);
}
END_TEST

START_TEST(a_checker_can_ask)
{
    struct mortise_schema *s = schema_of(
        "{\"type\":\"object\",\"properties\":{\"label\":{\"enum\":[\"a\",null]}"
        ","
        "\"amount\":{\"type\":\"number\"},\"list\":{\"items\":{\"type\":"
        "\"string\"}}},\"additionalProperties\":false}");
    const struct mortise_schema *label = mortise_schema_member(s, "label"),
                                *list = mortise_schema_member(s, "list");

    ck_assert_uint_eq(mortise_schema_types(s), MORTISE_T_OBJECT);
    ck_assert_uint_eq(mortise_schema_types(label),
                      MORTISE_T_STRING | MORTISE_T_NULL);
    ck_assert_uint_eq(mortise_schema_types(mortise_schema_member(s, "amount")),
                      MORTISE_T_NUMBER);
    ck_assert_uint_eq(mortise_schema_types(list), MORTISE_T_ANY);
    ck_assert_uint_eq(mortise_schema_types(mortise_schema_items(list)),
                      MORTISE_T_STRING);
    ck_assert_ptr_null(mortise_schema_member(list, "x"));
    ck_assert_ptr_null(mortise_schema_items(s));
    ck_assert(mortise_schema_is_closed(s));
    ck_assert(!mortise_schema_is_closed(list));
    ck_assert_str_eq(mortise_schema_nearest(s, "amuont"), "amount");
    ck_assert_ptr_null(mortise_schema_nearest(s, "zzz"));
    ck_assert(json_is_object(mortise_schema_json(s)));
    mortise_schema_finish(s);
    mortise_schema_finish(NULL);
}
END_TEST

/* Compiling copes with every allocation failing, and then keeps nothing. */
START_TEST(schema_compile_survives_oom)
{
    json_t *json =
        parsed("{\"properties\":{\"a\":{\"items\":{\"enum\":[1]}}}}");
    struct mortise_schema *s;
    char where[32];
    int n = 0, rv;

    do {
        struct mortise_arena a;

        test_mem_fail_at(n++);
        mortise_arena_init(&a, &test_mem);
        rv = mortise_schema_compile(&s, &a, json, where, sizeof where, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(s == NULL, test_mem_failed());
        mortise_schema_finish(s);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 1);
    json_decref(json);
}
END_TEST

static TCase *schemas(void)
{
    TCase *tc = tcase_create("schema");

    tcase_add_checked_fixture(tc, begin_with_arena, finish_arena);
    tcase_add_test(tc, schemas_ignore_nothing);
    tcase_add_test(tc, schemas_are_not_nested_without_end);
    tcase_add_test(tc, types_are_checked);
    tcase_add_test(tc, findings_say_where);
    tcase_add_test(tc, additional_members_have_their_schema);
    tcase_add_test(tc, normal_values_are_typed);
    tcase_add_test(tc, normal_survives_oom);
    tcase_add_test(tc, a_checker_can_ask);
    tcase_add_test(tc, schema_compile_survives_oom);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("json");

    suite_add_tcase(s, values());
    suite_add_tcase(s, paths());
    suite_add_tcase(s, schemas());
    return s;
}

int main(void)
{
    return test_run(suite());
}
