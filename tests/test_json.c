/* test_json.c -- values, paths and schemas. */
#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "base/utf8.h"
#include "json/value.h"
#include "lib/test.h"

static struct mortise_err err;

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
    json_decref(parsed("\"a scalar\""));
    json_decref(parsed(" [] \n"));
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

/* ---- numbers and characters ------------------------------------------ */

static void round_trip(double v)
{
    char text[MORTISE_REAL_TEXT];
    double back;
    size_t n = mortise_real_text(text, v);

    ck_assert_uint_eq(n, strlen(text));
    ck_assert_int_eq(mortise_real_parse(&back, text, n), 0);
    ck_assert_msg(memcmp(&back, &v, sizeof v) == 0, "%s", text);
}

/* Every double survives its text, and the text is the shortest. */
START_TEST(reals_read_back)
{
    char text[MORTISE_REAL_TEXT];
    uint64_t bits = 88172645463325252u;
    double v;

    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v))
            round_trip(v);
    }
    round_trip(DBL_MAX);
    round_trip(DBL_TRUE_MIN);
    round_trip(-0.0);
    mortise_real_text(text, 5e-324);
    ck_assert_str_eq(text, "5e-324");
    mortise_real_text(text, 0.1);
    ck_assert_str_eq(text, "0.1");
    mortise_real_text(text, -INFINITY);
    ck_assert_str_eq(text, "-inf");
}
END_TEST

START_TEST(only_decimals_are_reals)
{
    static const char *const bad[] = {"",   ".",   "-",   "1e",  "e5",
                                      "1x", "0x1", "inf", "nan", "1,5",
                                      " 1", "1 ",  "1e+", "--1", "1.2.3"};
    double v;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(mortise_real_parse(&v, bad[i], strlen(bad[i])) == -1,
                      "%s", bad[i]);
    ck_assert_int_eq(mortise_real_parse(&v, ".5e+1zzz", 5), 0);
    ck_assert_double_eq(v, 5);
    ck_assert_int_eq(mortise_real_parse(&v, "1e400", 5), 0);
    ck_assert(isinf(v));
}
END_TEST

/* An embedder's locale with a decimal comma changes nothing. */
START_TEST(reals_ignore_the_locale)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8",
                                         "fr_FR.UTF-8", "de_DE"};

    for (size_t i = 0; i < sizeof commas / sizeof commas[0]; i++)
        if (setlocale(LC_NUMERIC, commas[i]) != NULL)
            break;
    assert_canonical("[1.5, 100.0, 1e300]", "[1.5,100.0,1e+300]");
    round_trip(1234.5678);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

/* Overlong forms, surrogates, what lies beyond Unicode and what is cut short
 * are no characters; everything else goes there and back. */
START_TEST(utf8_is_strict)
{
    static const char *const bad[] = {
        "\xC0\x80",         "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF0\x80\x80\x80", "\x80",         "\xE2\x82",     "\xFF"};
    char text[4];
    uint32_t back;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert(!mortise_utf8_valid(bad[i], strlen(bad[i])));
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        size_t n = mortise_utf8_encode(text, cp);
        bool whole = n != 0 && mortise_utf8_decode(text, text + n, &back) == n;

        if (whole != (cp < 0xD800 || cp >= 0xE000) || (whole && back != cp))
            ck_abort_msg("U+%04X", cp);
    }
    ck_assert_uint_eq(mortise_utf8_encode(text, 0x110000), 0);
    ck_assert_uint_eq(mortise_utf8_count("a\xC3\xA9\xF0\x9F\x98\x80", 7), 3);
}
END_TEST

static TCase *values(void)
{
    TCase *tc = tcase_create("value");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, only_json_parses);
    tcase_add_test(tc, strings_keep_their_nul);
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, only_what_reads_back_is_written);
    tcase_add_test(tc, writing_keeps_the_order);
    tcase_add_test(tc, canonical_form_depends_on_the_value_alone);
    tcase_add_test(tc, many_members_are_sorted_too);
    tcase_add_test(tc, digest_survives_oom);
    tcase_add_test(tc, reals_read_back);
    tcase_add_test(tc, only_decimals_are_reals);
    tcase_add_test(tc, reals_ignore_the_locale);
    tcase_add_test(tc, utf8_is_strict);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("json");

    suite_add_tcase(s, values());
    return s;
}

int main(void)
{
    return test_run(suite());
}
