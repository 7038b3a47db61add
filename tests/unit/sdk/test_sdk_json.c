/* test_sdk_json.c -- the JSON and the ask wrappers that plugin authors get. */
#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/ask.h>

#include "lib/test.h"

/* The text as a value, from a copy of exactly its size, so that the address
 * sanitizer sees a step outside; the caller frees *copy. */
static mortise_status parse(const char *text, size_t n, char **copy,
                            mortise_jv *v)
{
    *copy = malloc(n + 1);
    ck_assert_ptr_nonnull(*copy);
    if (n > 0)
        memcpy(*copy + 1, text, n);
    return mortise_jv_parse(mortise_strn(*copy + 1, n), v);
}

static bool accepted(const char *text)
{
    char *copy;
    mortise_jv v;
    mortise_status status = parse(text, strlen(text), &copy, &v);

    ck_assert_int_eq(mortise_jv_type(v) != MORTISE_JV_NONE,
                     status == MORTISE_S_OK);
    free(copy);
    return status == MORTISE_S_OK;
}

/* A value of a literal. */
static mortise_jv value(const char *text)
{
    mortise_jv v;

    ck_assert_msg(mortise_jv_parse(mortise_strz(text), &v) == MORTISE_S_OK,
                  "%s", text);
    return v;
}

static const char *const good[] = {
    "null",
    " true ",
    "false",
    "0",
    "-0",
    "10",
    "1.5",
    "1e9",
    "1E+9",
    "1e-9",
    "-1.25e+10",
    "\"\"",
    "\"a\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u00e9\"",
    "\"\\uD834\\udd1e\"",
    "\"\xF0\x9D\x84\x9E\"",
    "\"\x7F\"",
    "\"\xC2\x80\"",
    "\"\xEF\xBF\xBF\"",
    "\"\xF4\x8F\xBF\xBF\"",
    "[]",
    "[ ]",
    "{}",
    "{ }",
    "[1]",
    "[1,2]",
    "[ 1 , [ ] ]",
    "\t[\n1\r] ",
    "{\"a\":1}",
    "{ \"a\" : 1 , \"a\" : 2 }",
    "{\"\":{}}",
    "\"\\u0000\"",
    "[[],{},[{\"x\":[[]]}]]",
};

static const char *const bad[] = {
    "",
    " ",
    "nul",
    "nulll",
    "True",
    "truefalse",
    "+1",
    "01",
    "-",
    "-a",
    "1.",
    ".5",
    "1e",
    "1e+",
    "1.e1",
    "0x1",
    "NaN",
    "Infinity",
    "\"",
    "\"a",
    "'a'",
    "\"\\\"",
    "\"\\x\"",
    "\"\\",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\uD834\"",
    "\"\\uD834x\"",
    "\"\\uD834\\n\"",
    "\"\\uD834\\u0041\"",
    "\"\\uDD1E\"",
    "\"\n\"",
    "\"\x01\"",
    "\"\x80\"",
    "\"\xC0\x80\"",
    "\"\xC1\xBF\"",
    "\"\xC3\"",
    "\"\xE0\x9F\xBF\"",
    "\"\xED\xA0\x80\"",
    "\"\xF0\x8F\xBF\xBF\"",
    "\"\xF4\x90\x80\x80\"",
    "\"\xF5\x80\x80\x80\"",
    "\"\xE2\x82\"",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{",
    "}",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{\"a\" 1}",
    "{a:1}",
    "{1:1}",
    "{\"a\":}",
    "[}",
    "{]",
    "[1}",
    "{\"a\":1]",
    "1 2",
    "[] []",
    "// x\n1",
    "[1]/**/",
    "\xEF\xBB\xBF[1]",
    "{\"a\":1 \"b\":2}",
    "[\"a\":1]",
};

/* RFC 8259 and nothing else is JSON. */
START_TEST(a_text_is_json_or_it_is_not)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(accepted(good[i]), "refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!accepted(bad[i]), "accepted: %s", bad[i]);
    ck_assert(!accepted("[\"a\\\"]"));
}
END_TEST

/* A NUL is no space, and no text is no JSON. */
START_TEST(a_nul_or_nothing_is_refused)
{
    mortise_jv v;
    char *copy;

    ck_assert_int_eq(parse("1\0", 2, &copy, &v), MORTISE_S_INVALID);
    free(copy);
    ck_assert_int_eq(parse("\"\0\"", 3, &copy, &v), MORTISE_S_INVALID);
    free(copy);
    ck_assert_int_eq(mortise_jv_parse(mortise_str_empty(), &v),
                     MORTISE_S_INVALID);
}
END_TEST

/* Any prefix of a text is refused without reading beyond it. */
START_TEST(a_cut_text_is_refused)
{
    static const char text[] =
        "{\"a\": [1.5e3, \"\\uD834\\uDD1E\xE2\x82\xAC\", {\"b\": false}]}";
    mortise_jv v;
    char *copy;

    for (size_t n = 0; n < sizeof text - 1; n++) {
        ck_assert_int_eq(parse(text, n, &copy, &v), MORTISE_S_INVALID);
        free(copy);
    }
    ck_assert(accepted(text));
}
END_TEST

/* Levels are counted, up to the bound and not one more. */
START_TEST(nesting_is_bounded)
{
    char text[4 * MORTISE_JV_DEPTH + 16];

    for (int depth = MORTISE_JV_DEPTH - 1; depth <= MORTISE_JV_DEPTH + 1;
         depth++) {
        char *p = text;

        for (int i = 0; i < depth; i++)
            *p++ = '[';
        for (int i = 0; i < depth; i++)
            *p++ = ']';
        *p = '\0';
        ck_assert(accepted(text) == (depth <= MORTISE_JV_DEPTH));
    }
    memset(text, '[', sizeof text);
    text[sizeof text - 1] = '\0';
    ck_assert(!accepted(text));
}
END_TEST

/* Members are found by their decoded name; the last of several counts. */
START_TEST(members_are_found_by_name)
{
    mortise_jv v = value(" {\"a\": 1, \"\\u0062\": [2, \"]}\"], \"c\":\"\\\\\","
                         "\"a\": {\"x\": 3}, \"\": null, \"n\\u0000\":7}");
    int64_t n;

    ck_assert_uint_eq(mortise_jv_count(v), 6);
    ck_assert_int_eq(mortise_jv_type(mortise_jv_get(v, "a")),
                     MORTISE_JV_OBJECT);
    ck_assert_uint_eq(mortise_jv_count(mortise_jv_get(v, "b")), 2);
    ck_assert_int_eq(mortise_jv_type(mortise_jv_get(v, "")), MORTISE_JV_NULL);
    ck_assert_int_eq(mortise_jv_type(mortise_jv_get(v, "d")), MORTISE_JV_NONE);
    ck_assert_int_eq(mortise_jv_type(mortise_jv_get(v, "n")), MORTISE_JV_NONE);
    ck_assert_int_eq(
        mortise_jv_int(mortise_jv_getn(v, mortise_strn("n\0", 2)), &n),
        MORTISE_S_OK);
    ck_assert_int_eq(n, 7);
    ck_assert(mortise_jv_is(mortise_jv_get(v, "c"), mortise_strz("\\")));
    /* of no object there is no member */
    v = mortise_jv_get(value("[{\"a\":1}]"), "a");
    ck_assert_int_eq(mortise_jv_type(v), MORTISE_JV_NONE);
    ck_assert_int_eq(mortise_jv_type(mortise_jv_get(v, "a")), MORTISE_JV_NONE);
}
END_TEST

/* A walk sees each element once, whatever stands in the strings. */
START_TEST(a_walk_sees_every_element)
{
    mortise_jv v = value("[ 1,\"],[\" , {\"a\":[\"}\"]},[ ],true , null,"
                         "\"\\\\\\\"\",-2.5 ]"),
               one, name;
    static const int32_t types[] = {MORTISE_JV_NUMBER, MORTISE_JV_STRING,
                                    MORTISE_JV_OBJECT, MORTISE_JV_ARRAY,
                                    MORTISE_JV_BOOL,   MORTISE_JV_NULL,
                                    MORTISE_JV_STRING, MORTISE_JV_NUMBER};
    mortise_jv_iter it = mortise_jv_each(v);

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ck_assert_int_eq(mortise_jv_next(&it, &name, &one), 1);
        ck_assert_int_eq(mortise_jv_type(one), types[i]);
        ck_assert_int_eq(mortise_jv_type(name), MORTISE_JV_NONE);
    }
    ck_assert_int_eq(mortise_jv_next(&it, &name, &one), 0);
    ck_assert_int_eq(mortise_jv_next(&it, &name, &one), 0);
    it = mortise_jv_each(value("\"a\""));
    ck_assert_int_eq(mortise_jv_next(&it, NULL, &one), 0);
    it = mortise_jv_each(mortise_jv_none());
    ck_assert_int_eq(mortise_jv_next(&it, NULL, &one), 0);
}
END_TEST

/* Strings are decoded into room of just their size, and not into less. */
START_TEST(strings_decode_into_the_room_there_is)
{
    mortise_jv v =
        value("\"a\\n\\u00e9\\u20AC\\uD834\\uDD1E\xC3\xBC\\u0000z\"");
    static const char want[] = "a\n\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E\xC3\xBC"
                               "\0z";
    uint64_t size = sizeof want - 1, n;
    mortise_str s;

    for (uint64_t cap = 0; cap <= size; cap++) {
        char *room = malloc(cap + 1);

        ck_assert_int_eq(mortise_jv_decode(v, room, cap, &n),
                         cap < size ? MORTISE_S_NOMEM : MORTISE_S_OK);
        ck_assert_uint_le(n, cap);
        ck_assert_mem_eq(room, want, n);
        free(room);
    }
    ck_assert_uint_le(size, v.n);
    ck_assert(mortise_jv_is(v, mortise_strn(want, size)));
    ck_assert(!mortise_jv_is(v, mortise_strn(want, size - 1)));
    /* without escapes nothing is copied */
    v = value("\"plain\"");
    ck_assert_int_eq(mortise_jv_text(v, NULL, 0, &s), MORTISE_S_OK);
    ck_assert_ptr_eq(s.p, v.p + 1);
    ck_assert(mortise_str_is(s, "plain"));
    ck_assert_int_eq(mortise_jv_text(value("\"\\n\""), NULL, 0, &s),
                     MORTISE_S_NOMEM);
    ck_assert_int_eq(mortise_jv_text(value("1"), NULL, 0, &s),
                     MORTISE_S_INVALID);
}
END_TEST

/* What becomes a C string has no NUL inside. */
START_TEST(a_c_string_holds_no_nul)
{
    char room[4];

    ck_assert_int_eq(mortise_jv_cstr(value("\"abc\""), room, 4), MORTISE_S_OK);
    ck_assert_str_eq(room, "abc");
    ck_assert_int_eq(mortise_jv_cstr(value("\"abcd\""), room, 4),
                     MORTISE_S_NOMEM);
    ck_assert_int_eq(mortise_jv_cstr(value("\"a\\u0000\""), room, 4),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(mortise_jv_cstr(value("\"\""), room, 0), MORTISE_S_NOMEM);
    ck_assert_int_eq(mortise_jv_cstr(value("7"), room, 4), MORTISE_S_INVALID);
    ck_assert_int_eq(mortise_jv_cstr(mortise_jv_none(), room, 4),
                     MORTISE_S_INVALID);
}
END_TEST

/* Integers are exact to the last of their 64 bits, and never wrap. */
START_TEST(integers_are_exact_or_refused)
{
    static const struct {
        const char *text;
        int64_t v;
    } yes[] = {{"0", 0},
               {"-0", 0},
               {"9223372036854775807", INT64_MAX},
               {"-9223372036854775808", INT64_MIN},
               {"-9223372036854775807", -INT64_MAX},
               {"5.0", 5},
               {"5e0", 5},
               {"-12e2", -1200},
               {"5000000000000000000000e-21", 5},
               {"9007199254740992.0", 9007199254740992}};
    static const char *const no[] = {"9223372036854775808",
                                     "-9223372036854775809",
                                     "18446744073709551616",
                                     "99999999999999999999999999999",
                                     "1.5",
                                     "1e-1",
                                     "1e19",
                                     "-1e300",
                                     "1e999",
                                     "\"1\"",
                                     "true",
                                     "null"};
    int64_t v;

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        ck_assert_int_eq(mortise_jv_int(value(yes[i].text), &v), MORTISE_S_OK);
        ck_assert_int_eq(v, yes[i].v);
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(mortise_jv_int(value(no[i]), &v) == MORTISE_S_INVALID,
                      "%s", no[i]);
    ck_assert_int_eq(mortise_jv_int(mortise_jv_none(), &v), MORTISE_S_INVALID);
}
END_TEST

static void check_double(const char *text)
{
    double v, want = strtod(text, NULL);

    if (isinf(want)) {
        ck_assert_int_eq(mortise_jv_double(value(text), &v), MORTISE_S_INVALID);
        return;
    }
    ck_assert_int_eq(mortise_jv_double(value(text), &v), MORTISE_S_OK);
    ck_assert_msg(memcmp(&v, &want, sizeof v) == 0, "%s: %a %a", text, v, want);
}

/* A double is the one that the C library would choose, at every edge. */
START_TEST(doubles_round_as_they_should)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0",
        "1",
        "0.1",
        "-0.1",
        "123456789012345678",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740992.99999999999",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "1e309",
        "-1e400",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1e-400",
        "0e999999999999999999999",
        "1e-99999999999999999999",
        "2.2250738585072011e-308",
        "0.000000000000000000000000000001",
        "100000000000000000000000000000000000000.5e-38",
        "0.00012300e5",
        "1e99999999999999999999"};
    char *text = malloc(3002);

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_double(texts[i]);
    /* half way between two doubles but for a digit a thousand places on */
    memset(text, '0', 3001);
    memcpy(text, "9007199254740993.", 17);
    text[3001] = '\0';
    check_double(text);
    text[2500] = '1';
    check_double(text);
    memset(text + 1, '0', 3000); /* 9 and 3,000 zeros: too large ... */
    check_double(text);
    text[1] = '.'; /* ... and this is just 9 */
    check_double(text);
    free(text);
}
END_TEST

static const char *double_text(char room[64], double v)
{
    mortise_jw w;
    mortise_str s;

    mortise_jw_fixed(&w, room, 63);
    mortise_jw_double(&w, v);
    ck_assert_int_eq(mortise_jw_finish(&w, &s), MORTISE_S_OK);
    room[s.n] = '\0';
    return room;
}

/* Doubles are written short, as numbers with a point, and come back. */
START_TEST(doubles_come_back)
{
    static const struct {
        double v;
        const char *text;
    } some[] = {{0, "0.0"},
                {1, "1.0"},
                {-1.5, "-1.5"},
                {0.1, "0.1"},
                {0.001, "0.001"},
                {1e-5, "0.00001"},
                {1e-6, "1.0e-6"},
                {123456, "123456.0"},
                {1e15, "1000000000000000.0"},
                {1e16, "1.0e16"},
                {1.25e30, "1.25e30"},
                {5e-324, "4.94065645841247e-324"},
                {DBL_MAX, "1.7976931348623157e308"},
                {1.0 / 3, "0.3333333333333333"}};
    char room[64];
    uint64_t bits = 88172645463325252u;
    double v, back;

    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        ck_assert_str_eq(double_text(room, some[i].v), some[i].text);
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        ck_assert_int_eq(mortise_jv_double(value(double_text(room, v)), &back),
                         MORTISE_S_OK);
        ck_assert_mem_eq(&v, &back, sizeof v);
    }
}
END_TEST

/* No locale changes what is read or written.  (Skipped where this machine has
 * none with a decimal comma.) */
START_TEST(a_locale_changes_nothing)
{
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8",
                                        "fr_FR", "da_DK.UTF-8"};
    char room[64];
    double v;

    for (size_t i = 0; i < sizeof comma / sizeof *comma; i++)
        if (setlocale(LC_NUMERIC, comma[i]) != NULL)
            break;
    ck_assert_str_eq(double_text(room, 1234.5), "1234.5");
    ck_assert_int_eq(mortise_jv_double(value("1234.5"), &v), MORTISE_S_OK);
    ck_assert_double_eq(v, 1234.5);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

/* A value as text, in a room that is just large enough or too small. */
static mortise_status write_all(char *room, uint64_t cap, mortise_str *out)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "a\n");
    mortise_jw_array(&w);
    mortise_jw_int(&w, INT64_MIN);
    mortise_jw_bool(&w, 1);
    mortise_jw_null(&w);
    mortise_jw_string(&w, mortise_strn("\0\x1f\"\\/\b\f\n\r\t\v\x7f", 12));
    mortise_jw_object(&w);
    mortise_jw_end(&w);
    mortise_jw_array(&w);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "b");
    mortise_jw_value(&w, value(" {\"c\" : 1} "));
    mortise_jw_key(&w, "d");
    mortise_jw_string_begin(&w);
    mortise_jw_string_put(&w, mortise_strz("\xE2\x82\xAC"));
    mortise_jw_string_put(&w, mortise_str_empty());
    mortise_jw_string_put(&w, mortise_strz("!"));
    mortise_jw_string_end(&w);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, out);
}

/* What the writer writes is exact, and overflow is remembered, not written. */
START_TEST(the_writer_stays_in_its_room)
{
    static const char want[] =
        "{\"a\\n\":[-9223372036854775808,true,null,"
        "\"\\u0000\\u001f\\\"\\\\/\\b\\f\\n\\r\\t\\u000b\x7f\",{},[]],"
        "\"b\":{\"c\" : 1},\"d\":\"\xE2\x82\xAC!\"}";
    mortise_str s;

    for (uint64_t cap = 0; cap < sizeof want + 3; cap++) {
        char *room = malloc(cap + 1);
        mortise_status status = write_all(room, cap, &s);

        if (cap < sizeof want - 1) {
            ck_assert_int_eq(status, MORTISE_S_NOMEM);
            ck_assert_uint_eq(s.n, 0);
        } else {
            ck_assert_int_eq(status, MORTISE_S_OK);
            ck_assert_uint_eq(s.n, sizeof want - 1);
            ck_assert_mem_eq(s.p, want, s.n);
        }
        free(room);
    }
}
END_TEST

static void no_value(mortise_jw *w)
{
    (void)w;
}
static void two_values(mortise_jw *w)
{
    mortise_jw_null(w);
    mortise_jw_null(w);
}
static void not_closed(mortise_jw *w)
{
    mortise_jw_array(w);
}
static void closed_too_often(mortise_jw *w)
{
    mortise_jw_null(w);
    mortise_jw_end(w);
}
static void no_name(mortise_jw *w)
{
    mortise_jw_object(w);
    mortise_jw_null(w);
    mortise_jw_end(w);
}
static void name_without_value(mortise_jw *w)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "a");
    mortise_jw_end(w);
}
static void two_names(mortise_jw *w)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "a");
    mortise_jw_key(w, "b");
    mortise_jw_null(w);
    mortise_jw_end(w);
}
static void name_in_array(mortise_jw *w)
{
    mortise_jw_array(w);
    mortise_jw_key(w, "a");
    mortise_jw_null(w);
    mortise_jw_end(w);
}
static void string_left_open(mortise_jw *w)
{
    mortise_jw_string_begin(w);
}
static void value_in_string(mortise_jw *w)
{
    mortise_jw_string_begin(w);
    mortise_jw_null(w);
    mortise_jw_string_end(w);
}
static void piece_of_no_string(mortise_jw *w)
{
    mortise_jw_string_put(w, mortise_strz("a"));
}
static void end_of_no_string(mortise_jw *w)
{
    mortise_jw_null(w);
    mortise_jw_string_end(w);
}
static void half_a_character(mortise_jw *w)
{
    mortise_jw_cstr(w, "\xE2\x82");
}
static void latin_1(mortise_jw *w)
{
    mortise_jw_cstr(w, "caf\xE9 au lait");
}
static void an_absent_value(mortise_jw *w)
{
    mortise_jw_value(w, mortise_jv_none());
}
static void not_a_number(mortise_jw *w)
{
    mortise_jw_double(w, (double)NAN);
}
static void infinity(mortise_jw *w)
{
    mortise_jw_double(w, -(double)INFINITY);
}
static void too_deep(mortise_jw *w)
{
    for (int i = 0; i <= MORTISE_JV_DEPTH; i++)
        mortise_jw_array(w);
    for (int i = 0; i <= MORTISE_JV_DEPTH; i++)
        mortise_jw_end(w);
}

static void (*const misuses[])(mortise_jw *) = {no_value,
                                                two_values,
                                                not_closed,
                                                closed_too_often,
                                                no_name,
                                                name_without_value,
                                                two_names,
                                                name_in_array,
                                                string_left_open,
                                                value_in_string,
                                                piece_of_no_string,
                                                end_of_no_string,
                                                half_a_character,
                                                latin_1,
                                                an_absent_value,
                                                not_a_number,
                                                infinity,
                                                too_deep};

/* What is no JSON value is never handed out as one. */
START_TEST(the_writer_refuses_what_is_no_value)
{
    char room[2048];
    mortise_jw w;
    mortise_str s;

    mortise_jw_fixed(&w, room, sizeof room);
    misuses[_i](&w);
    ck_assert_int_eq(mortise_jw_finish(&w, &s), MORTISE_S_INVALID);
    ck_assert_uint_eq(s.n, 0);
    mortise_jw_null(&w); /* and it stays so */
    ck_assert_int_eq(mortise_jw_finish(&w, &s), MORTISE_S_INVALID);
}
END_TEST

/* Room from the test's heap: twice as much each time. */
static mortise_status grow(mortise_jw *w, void *ud)
{
    uint64_t cap = w->cap > 0 ? 2 * w->cap : 8;
    char *p = mortise_realloc(ud, w->p, w->cap, cap);

    if (p == NULL)
        return MORTISE_S_NOMEM;
    w->p = p;
    w->cap = cap;
    return MORTISE_S_OK;
}

static mortise_status write_growing(mortise_jw *w, mortise_str *s)
{
    struct mortise_mem mem = test_mem;

    mortise_jw_growing(w, NULL, 0, grow, &mem);
    mortise_jw_array(w);
    for (int i = 0; i < 500; i++)
        mortise_jw_int(w, i);
    mortise_jw_end(w);
    return mortise_jw_finish(w, s);
}

/* A growing writer copes with its first, second, ... growth being refused. */
START_TEST(the_writer_survives_oom)
{
    mortise_jw w;
    mortise_str s;
    mortise_jv v;
    int n = 0;

    do {
        mortise_status status;

        test_mem_fail_at(n++);
        status = write_growing(&w, &s);
        ck_assert_int_eq(status,
                         test_mem_failed() ? MORTISE_S_NOMEM : MORTISE_S_OK);
        if (status == MORTISE_S_OK) {
            ck_assert_int_eq(mortise_jv_parse(s, &v), MORTISE_S_OK);
            ck_assert_uint_eq(mortise_jv_count(v), 500);
        }
        mortise_release(&test_mem, w.p, w.cap);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 1);
}
END_TEST

/* `more` that makes no room is a failure, not a loop. */
static mortise_status no_room(mortise_jw *w, void *ud)
{
    (void)w;
    ++*(int *)ud;
    return MORTISE_S_OK;
}

START_TEST(a_more_that_lies_ends)
{
    mortise_jw w;
    mortise_str s;
    int calls = 0;

    mortise_jw_growing(&w, NULL, 0, no_room, &calls);
    mortise_jw_cstr(&w, "abc");
    ck_assert_int_eq(mortise_jw_finish(&w, &s), MORTISE_S_NOMEM);
    ck_assert_int_eq(calls, 1);
}
END_TEST

/* ---- ask.h ------------------------------------------------------------- */

struct mortise_host { /* what this test sees as one */
    char out[4096];
    uint64_t n;
    int emits;
    mortise_status emit_status;
    char msg[256], detail[256];
    char method[64], body[4096];
    mortise_status ask_status;
};

static mortise_status emit(mortise_host *h, mortise_call call, mortise_str kind,
                           mortise_str chunk)
{
    ck_assert_uint_eq(call, 7);
    ck_assert(mortise_str_is(kind, "output"));
    ck_assert_uint_le(h->n + chunk.n, sizeof h->out);
    memcpy(h->out + h->n, chunk.p, chunk.n);
    h->n += chunk.n;
    h->emits++;
    return h->emit_status;
}

static void copy(char *to, size_t cap, mortise_str s)
{
    ck_assert_uint_lt(s.n, cap);
    if (s.n > 0)
        memcpy(to, s.p, s.n);
    to[s.n] = '\0';
}

static void words(mortise_host *h, mortise_call call, mortise_str msg,
                  mortise_str detail)
{
    ck_assert_uint_eq(call, 7);
    copy(h->msg, sizeof h->msg, msg);
    copy(h->detail, sizeof h->detail, detail);
}

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    (void)ud;
    (void)status;
    (void)answer;
}

static mortise_status ask(mortise_host *h, mortise_call call,
                          mortise_str method, mortise_str body,
                          mortise_answer_fn *fn, void *ud)
{
    ck_assert_uint_eq(call, 7);
    ck_assert_ptr_eq(ud, h);
    ck_assert(fn == on_answer);
    copy(h->method, sizeof h->method, method);
    copy(h->body, sizeof h->body, body);
    return h->ask_status;
}

static mortise_status ask_wait(mortise_host *h, mortise_call call,
                               mortise_str method, mortise_str body,
                               mortise_str *answer)
{
    *answer = mortise_strz("5");
    return ask(h, call, method, body, on_answer, h);
}

static const mortise_host_api api = {
    .size = sizeof api,
    .abi_major = MORTISE_ABI_MAJOR,
    .emit = emit,
    .fail = words,
    .ask = ask,
    .ask_wait = ask_wait,
};

/* A result larger than the emitter's room arrives whole and in order. */
START_TEST(an_emitter_streams)
{
    mortise_host h = {.n = 0};
    mortise_emitter e;
    mortise_jv v;
    char room[16];
    uint64_t n = 0;

    mortise_emitter_init(&e, &h, &api, 7, room, sizeof room);
    mortise_jw_array(&e.w);
    for (int i = 0; i < 200; i++)
        mortise_jw_cstr(&e.w, "mortise");
    mortise_jw_end(&e.w);
    ck_assert_int_eq(mortise_emitter_finish(&e), MORTISE_S_OK);
    ck_assert_int_gt(h.emits, 100);
    ck_assert_int_eq(mortise_jv_parse(mortise_strn(h.out, h.n), &v),
                     MORTISE_S_OK);
    n = mortise_jv_count(v);
    ck_assert_uint_eq(n, 200);
}
END_TEST

/* A host that takes no more ends the writing, with its own word. */
START_TEST(an_emitter_passes_the_hosts_refusal_on)
{
    mortise_host h = {.emit_status = MORTISE_S_STALE};
    mortise_emitter e;
    char room[16];

    mortise_emitter_init(&e, &h, &api, 7, room, sizeof room);
    mortise_jw_array(&e.w);
    for (int i = 0; i < 200; i++)
        mortise_jw_cstr(&e.w, "mortise");
    mortise_jw_end(&e.w);
    ck_assert_int_eq(mortise_emitter_finish(&e), MORTISE_S_STALE);
    ck_assert_int_eq(h.emits, 1);
    /* also when everything fits and only the last piece is refused */
    h.emits = 0;
    mortise_emitter_init(&e, &h, &api, 7, room, sizeof room);
    mortise_jw_null(&e.w);
    ck_assert_int_eq(mortise_emitter_finish(&e), MORTISE_S_STALE);
    ck_assert_int_eq(h.emits, 1);
    /* and a half value is never sent as the end of one */
    mortise_emitter_init(&e, &h, &api, 7, room, sizeof room);
    mortise_jw_array(&e.w);
    ck_assert_int_eq(mortise_emitter_finish(&e), MORTISE_S_INVALID);
    ck_assert_int_eq(h.emits, 1);
}
END_TEST

/* Class and code become the detail; words stay words. */
START_TEST(refusing_says_why)
{
    mortise_host h = {.n = 0};

    ck_assert_int_eq(mortise_refuse(&h, &api, 7, MORTISE_S_IO, "transient",
                                    "no_space", "the \"disk\" is full"),
                     MORTISE_S_IO);
    ck_assert_str_eq(h.msg, "the \"disk\" is full");
    ck_assert_str_eq(h.detail,
                     "{\"class\":\"transient\",\"code\":\"no_space\"}");
    mortise_refuse(&h, &api, 7, MORTISE_S_IO, NULL, NULL, NULL);
    ck_assert_str_eq(h.detail, "{}");
    ck_assert_str_eq(h.msg, "");
}
END_TEST

/* state.get/1 carries its path as JSON, and only one that fits. */
START_TEST(state_get_asks_the_door)
{
    mortise_host h = {.ask_status = MORTISE_S_PENDING};
    char path[600];
    mortise_str answer;

    ck_assert_int_eq(mortise_state_get(&h, &api, 7, mortise_strz("scratch.x"),
                                       on_answer, &h),
                     MORTISE_S_PENDING);
    ck_assert_str_eq(h.method, "state.get/1");
    ck_assert_str_eq(h.body, "{\"path\":\"scratch.x\"}");
    h.ask_status = MORTISE_S_OK;
    ck_assert_int_eq(mortise_state_get_wait(
                         &h, &api, 7, mortise_strz("input.\"a\""), &answer),
                     MORTISE_S_OK);
    ck_assert_str_eq(h.body, "{\"path\":\"input.\\\"a\\\"\"}");
    ck_assert(mortise_str_is(answer, "5"));
    memset(path, 1, sizeof path); /* six bytes each */
    ck_assert_int_eq(
        mortise_state_get_wait(&h, &api, 7, mortise_strn(path, 512), &answer),
        MORTISE_S_OK);
    ck_assert_int_eq(
        mortise_state_get_wait(&h, &api, 7, mortise_strn(path, 513), &answer),
        MORTISE_S_INVALID);
    ck_assert_int_eq(
        mortise_state_get(&h, &api, 7, mortise_strz("\xFF"), on_answer, &h),
        MORTISE_S_INVALID);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sdk_json");
    TCase *tc = tcase_create("sdk_json");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_text_is_json_or_it_is_not);
    tcase_add_test(tc, a_nul_or_nothing_is_refused);
    tcase_add_test(tc, a_cut_text_is_refused);
    tcase_add_test(tc, nesting_is_bounded);
    tcase_add_test(tc, members_are_found_by_name);
    tcase_add_test(tc, a_walk_sees_every_element);
    tcase_add_test(tc, strings_decode_into_the_room_there_is);
    tcase_add_test(tc, a_c_string_holds_no_nul);
    tcase_add_test(tc, integers_are_exact_or_refused);
    tcase_add_test(tc, doubles_round_as_they_should);
    tcase_add_test(tc, doubles_come_back);
    tcase_add_test(tc, a_locale_changes_nothing);
    tcase_add_test(tc, the_writer_stays_in_its_room);
    tcase_add_loop_test(tc, the_writer_refuses_what_is_no_value, 0,
                        (int)(sizeof misuses / sizeof *misuses));
    tcase_add_test(tc, the_writer_survives_oom);
    tcase_add_test(tc, a_more_that_lies_ends);
    tcase_add_test(tc, an_emitter_streams);
    tcase_add_test(tc, an_emitter_passes_the_hosts_refusal_on);
    tcase_add_test(tc, refusing_says_why);
    tcase_add_test(tc, state_get_asks_the_door);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
