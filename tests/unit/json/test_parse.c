/* test_parse.c -- JSON text: jansson's language and its errors, and no memory. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/json/value.h"
#include "lib/test.h"

enum { OURS = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES };

/* As callers have them, and each alone. */
static const size_t flags_of[] = {OURS, 0, JSON_DECODE_ANY, JSON_ALLOW_NUL,
                                  JSON_REJECT_DUPLICATES};

/* ---- memory that runs out -------------------------------------------------- */

static size_t live, made, refused;
static size_t fail_from = SIZE_MAX, fail_to; /* of those that are made */

static void *some_malloc(size_t n)
{
    void *p;

    if (made++ >= fail_from && made <= fail_to) {
        refused++;
        return NULL;
    }
    p = malloc(n);
    live += p != NULL;
    return p;
}

static void some_free(void *p)
{
    live -= p != NULL;
    free(p);
}

static void begin(void)
{
    test_begin();
    json_set_alloc_funcs(some_malloc, some_free);
    fail_from = SIZE_MAX;
}

static void nothing_left(void)
{
    ck_assert_uint_eq(live, 0);
    test_nothing_left();
}

/* ---- beside jansson -------------------------------------------------------- */

static char *shown(const json_t *v)
{
    return json_dumps(v, JSON_ENCODE_ANY);
}

/* The same value, members in the same order, or the same error.  `text` is a
 * copy of its own, so that tools see a byte read behind its end. */
static void same_with(const char *said, size_t n, size_t flags)
{
    char *text = malloc(n > 0 ? n : 1), *want, *is;
    json_error_t theirs, ours;
    json_t *a, *b;

    memcpy(text, said, n);
    a = json_loadb(text, n, flags, &theirs);
    b = mortise_json_load(text, n, flags, MORTISE_JSON_DEPTH_MAX, &ours);
    ck_assert_msg((a == NULL) == (b == NULL), "%.*s: %s", (int)n, said,
                  a == NULL ? theirs.text : ours.text);
    if (a != NULL) {
        want = shown(a);
        is = shown(b);
        ck_assert_str_eq(is, want);
        some_free(want);
        some_free(is);
    } else if (mortise_utf8_is_valid(theirs.text, strlen(theirs.text))) {
        ck_assert_msg(strcmp(ours.text, theirs.text) == 0, "%.*s: %s, not %s",
                      (int)n, said, ours.text, theirs.text);
        ck_assert_msg(ours.line == theirs.line &&
                          ours.column == theirs.column &&
                          ours.position == theirs.position,
                      "%.*s: %d:%d (%d), not %d:%d (%d)", (int)n, said,
                      ours.line, ours.column, ours.position, theirs.line,
                      theirs.column, theirs.position);
        ck_assert_int_eq(json_error_code(&ours), json_error_code(&theirs));
    } else { /* half a character */
        ck_assert(mortise_utf8_is_valid(ours.text, strlen(ours.text)));
        ck_assert_int_eq(ours.line, theirs.line);
        ck_assert_int_eq(ours.column, theirs.column);
    }
    json_decref(a);
    json_decref(b);
    free(text);
}

static void same(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof flags_of / sizeof flags_of[0]; i++)
        same_with(text, n, flags_of[i]);
}

static const char *const texts[] = {
    "", " ", "\n\t\r ", "{}", "[]", "[ ]", "{ }", "null", "true", "false",
    "nul", "truefoo", "true1", "True", "[true,false , null]", "x", "+1", "/",
    "[", "{", "]", "}", ",", ":", "[}", "{]", "[1", "[1,", "[1,]", "[,1]",
    "[1 2]", "[1 foo]", "[1 \"abc\"]", "[1 \"abc", "[1 \"\\ud800\"]", "[1}",
    "[[1}", "{\"a\"", "{\"a\" 1}", "{\"a\":", "{\"a\":}", "{\"a\":1",
    "{\"a\":1,", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{1:2}", "{a:1}", "{01:1}",
    "{\"a\":1]", "{\"a\":[1,{\"b\":[]}],\"c\":{}}", "[1] x", "[1] \"x",
    "[1] 99999999999999999999", "{} {}", "1 2", "[1]\n\n  ]",
    /* keys */
    "{\"\":1}", "{\"a\\u0000b\":1}", "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"b\":2,\"a\":[3]}", "{\"a\":1,\"a\" 2}", "{\"a\":1,\"a\":tru}",
    "{\"a\":1,\"a\":{\"a\":}}", "{\"a\":1,\n\"\\u0061\":\"\\n\"}",
    "{\"a\":{\"a\":1},\"a\":{\"b\":2}}", "{\"a\\\"b\\n\":\"c\\\"d\\n\"}",
    "{\"\\ud83d\\ude00\":\"\\ud83d\\ude01\"}",
    "{\"\xC3\xA9\":1,\"\xC3\xA9\":2}",
    "{\"abcdefghijklmnopqrstuvwxyz\":1,\"abcdefghijklmnopqrstuvwxyz\":1}",
    /* strings */
    "\"\"", "\"a\"", "\"", "\"abc", "\"a\nb\"", "\"a\tb\"", "\"a\x01\"",
    "\"\x7F\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\x\"", "\"\\", "\"\\\"",
    "\"\\u\"", "\"\\u12", "\"\\u12G4\"", "\"\\u00e9\\u20AC\\u0000\"",
    "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\n\"",
    "\"\\ud83d\\u0041\"", "\"\\ude00\"", "\"\\ud83d\\ud83d\\ude00\"",
    "\"\\ud800\\", "\"\\ud800\n", "\"\\u12\n4\"", "\"\\\n\"", "\"\\\xC3\xA9\"",
    "\"\\u1\xC3\xA9\"", "\"\\\xFF\"", "\"12345678\"", "\"1234567\\n\"",
    "\"12345678\\n1234567812345678\"", "\"1234567\xC3\xA9zzzzzzzz\"",
    "\"12345678901234567890123", "\"12345678901234567\x01",
    /* UTF-8 */
    "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", "\"\x80\"", "\"\xC0\xAF\"",
    "\"\xC3\"", "\"\xE2\x82\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"",
    "\"\xF5\"", "\"\xE0\x80\x80\"", "\"ab\xFF\"", "\xFF", "\xC3\xA9",
    "[\xC3\xA9]", "[1\xC3\xA9]", "[1\xFF]", "[-\xFF]", "[1.\xFF]", "[1e\xFF]",
    "[1.5e+\xC3\xA9", "[true\xFF]", "[true\xC3\xA9]", "[tru\xFF", "[1 \xFF",
    "[99999999999999999999\xFF]", "\"\xC3\xA9\xC3\xA9\" x", "\n\xC3\xA9",
    "{\"a\":1,\xFF", "\xEF\xBB\xBF{}", "\"\xC3", "\xE2\x82",
    /* numbers */
    "0", "-0", "-", "--1", "01", "-01", "1", "-1", "10", "123456789", "1.",
    "1.x", ".5", "-.5", "1.5", "1e", "1e5", "1E+5", "1e-5", "1e+", "1.5e",
    "1.e5", "0.0", "-0.0", "0e0", "0x10", "1a", "1.5.5", "1e5e5",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "9999999999999999999", "-9999999999999999999", "99999999999999999999",
    "100000000000000000000000000000", "1e308", "1e309", "-1e309", "1e-400",
    "4.9e-324", "1.7976931348623157e308", "1.7976931348623159e308", "0.1",
    "0.30000000000000004", "123456789012345678901234567890.5", "1e99999999999",
    "[1.25,-3,2.5e-3]", "[1-2]", "[NaN]", "[-Infinity]"};

/* Each of these, whole and cut anywhere. */
START_TEST(texts_are_read_as_jansson_reads_them)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t n = 0; n <= strlen(texts[i]); n++)
            same(texts[i], n);
}
END_TEST

/* Numbers of any length are numbers. */
START_TEST(long_numbers_are_read)
{
    enum { LONG = 5000 };
    static char text[LONG + 16];

    memset(text, '7', LONG);
    same(text, LONG);
    memcpy(text, "0.", 2);
    same(text, LONG);
    memset(text + 2, '0', LONG - 3);
    memcpy(text + LONG, "e4998", 5);
    same(text, LONG + 5);
    same(text, 60);
    same(text, 45);
}
END_TEST

static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* A value as text, with every kind of token; sometimes a wrong one. */
static void generate(struct mortise_buf *b, int deep)
{
    static const char *const scalars[] = {"null",
                                          "true",
                                          "false",
                                          "0",
                                          "-12",
                                          "3.25",
                                          "1e3",
                                          "\"\"",
                                          "\"plain text of some length\"",
                                          "\"a\\nb\\\"c\\u00e9\\ud83d\\ude00\"",
                                          "\"\xC3\xA9\xE2\x82\xAC\"",
                                          "9223372036854775807",
                                          "\"\\u0000\""};
    static const char *const keys[] = {"\"a\"", "\"b\"", "\"\\u0061\"",
                                       "\"a longer key\"", "\"\xC3\xA9\""};
    static const char *const blanks[] = {"", "", "", " ", "\n", "\r\n\t "};
    uint32_t n = below(4), kind = deep > 4 ? 0 : below(4);

    mortise_buf_puts(b, blanks[below(6)]);
    if (kind < 2) {
        mortise_buf_puts(b, scalars[below(13)]);
    } else {
        mortise_buf_puts(b, kind == 2 ? "[" : "{");
        for (uint32_t i = 0; i < n; i++) {
            mortise_buf_puts(b, i > 0 ? "," : "");
            mortise_buf_puts(b, blanks[below(6)]);
            if (kind == 3) {
                mortise_buf_puts(b, keys[below(5)]);
                mortise_buf_puts(b, blanks[below(6)]);
                mortise_buf_puts(b, ":");
            }
            generate(b, deep + 1);
        }
        mortise_buf_puts(b, kind == 2 ? "]" : "}");
    }
    mortise_buf_puts(b, blanks[below(6)]);
}

/* Change, remove or add a byte; never a NUL. */
static void mutate(struct mortise_buf *b)
{
    static const char bytes[] = "\"\\[]{}:,.-+eE0195u/ntfl \n\x01\x7F\x80\xC3"
                                "\xA9\xE2\xF0\xFF";
    size_t at = b->n > 0 ? below((uint32_t)b->n) : 0;
    char c = bytes[below(sizeof bytes - 1)];

    if (b->n == 0)
        return;
    switch (below(3)) {
    case 0:
        b->p[at] = c;
        break;
    case 1:
        memmove(b->p + at, b->p + at + 1, --b->n - at);
        break;
    default:
        mortise_buf_put(b, &c, 1);
        memmove(b->p + at + 1, b->p + at, b->n - 1 - at);
        b->p[at] = c;
    }
}

/* Random texts, and what becomes of them when bytes are wrong. */
START_TEST(mutants_are_read_as_jansson_reads_them)
{
    struct mortise_buf b;

    for (uint32_t i = 0; i < 4000; i++) {
        seed = i;
        mortise_buf_init(&b, &test_mem);
        generate(&b, 0);
        for (int k = 0; k < 8; k++) {
            same(b.p, b.n);
            mutate(&b);
        }
        mortise_buf_finish(&b);
    }
}
END_TEST

/* ---- what is ours ---------------------------------------------------------- */

static void refuses(const char *text, size_t n, size_t depth, int code,
                    int line, int column, const char *words)
{
    json_error_t why;

    ck_assert_ptr_null(mortise_json_load(text, n, OURS, depth, &why));
    ck_assert_str_eq(why.text, words);
    ck_assert_int_eq(json_error_code(&why), code);
    ck_assert_int_eq(why.line, line);
    ck_assert_int_eq(why.column, column);
    ck_assert_ptr_null(mortise_json_load(text, n, OURS, depth, NULL));
}

/* A NUL byte is what is wrong, wherever it stands. */
START_TEST(a_nul_byte_is_refused)
{
    static const char nul[] = "a NUL byte (in a string: \\u0000)";

    refuses("1\0", 2, 9, json_error_null_character, 1, 2, nul);
    refuses("\n\"a\0\"", 5, 9, json_error_null_character, 2, 3, nul);
    refuses("{x:\0}", 5, 9, json_error_null_character, 1, 4, nul);
    refuses("\"\\\0\"", 4, 9, json_error_null_character, 1, 3, nul);
}
END_TEST

/* So many containers within each other, and the values in them. */
START_TEST(depth_is_counted_in_containers)
{
    json_t *v = mortise_json_load("[{\"a\":[1]}]", 11, OURS, 3, NULL);

    ck_assert_ptr_nonnull(v);
    json_decref(v);
    refuses("[{\"a\":\n[1]}]", 12, 2, json_error_stack_overflow, 2, 1,
            "nested deeper than 2");
    refuses("[]", 2, 0, json_error_stack_overflow, 1, 1,
            "nested deeper than 0");
}
END_TEST

/* ---- memory ----------------------------------------------------------------- */

/* Each allocation fails, alone or with all that follow: that is out of memory,
 * whatever else is wrong behind it, and nothing stays. */
static void survives(const char *text, size_t n)
{
    for (int later = 0; later < 2; later++) {
        size_t k = 0;
        json_error_t why;
        json_t *v;

        do {
            made = refused = 0;
            fail_from = k++;
            fail_to = later ? SIZE_MAX : k;
            v = mortise_json_load(text, n, OURS, 64, &why);
            fail_from = SIZE_MAX;
            if (refused > 0) {
                ck_assert_ptr_null(v);
                ck_assert_int_eq(json_error_code(&why),
                                 json_error_out_of_memory);
                ck_assert_str_eq(why.text, "out of memory");
            }
            json_decref(v);
            ck_assert_uint_eq(live, 0);
        } while (refused > 0);
        ck_assert_uint_gt(k, 1); /* at least one failed */
    }
}

START_TEST(no_allocation_may_fail_unseen)
{
    static char text[20000];
    size_t n;

    survives("\"a\"", 3);
    survives("[1,2.5,true,null,\"a\\nb\"]", 24);
    survives("[1,2,3,4,5,6,7,8,9,10,11]",
             25); /* more than an array begins with */
    survives("{\"a\\n\":\"b\\n\",\"a\\n\":1}", 21);
    n = (size_t)snprintf(text, sizeof text,
                         "{\"long\":\"%01000d\",\"real\":", 7);
    n += (size_t)snprintf(text + n, sizeof text - n, "0.%01000d,\"list\":[", 7);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%s{\"a\\\"%d\":{\"b\":[[],{},%d,%d.5]},"
                              "\"t\":\"%0*d\\u00e9\\n\"}",
                              i > 0 ? "," : "", i, i, i, i * 5 + 1, i);
    for (int i = 0; i < 40; i++) /* the table of members grows, too */
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"m%d\":%d",
                              i > 0 ? "," : "],\"o\":{", i, i);
    n += (size_t)snprintf(text + n, sizeof text - n, "}}");
    survives(text, n);
    survives(text, n - 1); /* wrong at its end */
}
END_TEST

/* jansson's parser writes behind the end of its buffer here. */
START_TEST(a_long_string_without_memory_overflows_nothing)
{
    enum { LONG = 1 << 16 }; /* the closing quote needs more room */
    char *text = malloc(LONG);

    memset(text, 'a', LONG);
    for (size_t i = 1; i + 2 < LONG; i += 100)
        memcpy(text + i, "\\n", 2);
    text[0] = text[LONG - 1] = '"';
    survives(text, LONG);
    free(text);
}
END_TEST

/* What callers get of it. */
START_TEST(no_memory_is_not_invalid)
{
    static const char text[] = "{\"a\":\"b\\n\"}";
    struct mortise_err err;
    size_t column;
    json_t *v;
    int rv, n = 0;

    do {
        made = refused = 0;
        fail_from = (size_t)n++;
        fail_to = SIZE_MAX;
        rv = mortise_json_parse(&v, text, sizeof text - 1, &err);
        fail_from = SIZE_MAX;
        ck_assert_int_eq(rv, refused > 0 ? MORTISE_ENOMEM : MORTISE_OK);
        json_decref(v);
    } while (refused > 0);
    ck_assert_int_gt(n, 3);
    made = fail_from = 0;
    ck_assert_int_eq(
        mortise_json_parse_line(&v, text, sizeof text - 1, &column, &err),
        MORTISE_ENOMEM);
    ck_assert_ptr_null(mortise_json_parse_trusted(text));
    fail_from = SIZE_MAX;
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("parse");
    TCase *tc = tcase_create("parse");

    tcase_add_checked_fixture(tc, begin, nothing_left);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, texts_are_read_as_jansson_reads_them);
    tcase_add_test(tc, long_numbers_are_read);
    tcase_add_test(tc, mutants_are_read_as_jansson_reads_them);
    tcase_add_test(tc, a_nul_byte_is_refused);
    tcase_add_test(tc, depth_is_counted_in_containers);
    tcase_add_test(tc, no_allocation_may_fail_unseen);
    tcase_add_test(tc, a_long_string_without_memory_overflows_nothing);
    tcase_add_test(tc, no_memory_is_not_invalid);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
