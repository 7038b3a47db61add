/* test_regex.c -- regular expressions that always end. */
#include <check.h>
#include <string.h>

#include "base/regex.h"
#include "lib/test.h"

static struct mortise_err err;
static struct mortise_arena arena;

static void begin(void)
{
    test_begin();
    mortise_arena_init(&arena, &test_mem);
}

static void finish(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static int search(const char *pattern, const char *s, bool *found)
{
    struct mortise_regex *re;

    ck_assert_msg(mortise_regex_compile(&re, &arena, pattern, strlen(pattern),
                                        NULL, &err) == MORTISE_OK,
                  "%s: %s", pattern, err.msg);
    return mortise_regex_search(re, s, strlen(s), &test_mem, found, &err);
}

static bool found(const char *pattern, const char *s)
{
    bool yes;

    ck_assert_int_eq(search(pattern, s, &yes), MORTISE_OK);
    return yes;
}

/* A match may be anywhere; `.` is a character, `$` the end alone. */
START_TEST(patterns_search)
{
    ck_assert(found("b+", "abc"));
    ck_assert(!found("^b+", "abc"));
    ck_assert(found("^a.c$", "a\xC3\xA9"
                             "c"));
    ck_assert(!found("c$", "abc\n"));
    ck_assert(found("", ""));
    ck_assert(!found("\\d", "\xD9\xA3")); /* ARABIC-INDIC DIGIT THREE */
}
END_TEST

START_TEST(what_is_no_pattern_says_where)
{
    struct mortise_regex *re;
    size_t at = 0;

    ck_assert_int_eq(mortise_regex_compile(&re, &arena, "ab[c", 4, &at, &err),
                     MORTISE_EINVAL);
    ck_assert_ptr_null(re);
    ck_assert_uint_eq(at, 4);
    ck_assert_ptr_eq(strstr(err.msg, "not a regular expression: "), err.msg);
    ck_assert_int_eq(mortise_regex_compile(&re, &arena, "\\C", 2, &at, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_regex_compile(&re, &arena, "\xFF", 1, &at, &err),
                     MORTISE_EINVAL);
}
END_TEST

static bool ecma(const char *pattern, const char *s)
{
    struct mortise_regex *re;
    bool yes;

    ck_assert_msg(mortise_regex_compile_ecma(&re, &arena, pattern,
                                             strlen(pattern),
                                             &err) == MORTISE_OK,
                  "%s: %s", pattern, err.msg);
    ck_assert_int_eq(
        mortise_regex_search(re, s, strlen(s), &test_mem, &yes, &err),
        MORTISE_OK);
    return yes;
}

/* The other dialect: what it writes as PCRE2 does and means otherwise. */
START_TEST(ecma_patterns_mean_what_ecma_says)
{
    static const char nbsp[] = "\xC2\xA0", bom[] = "\xEF\xBB\xBF",
                      line[] = "\xE2\x80\xA8", pi[] = "\xCF\x80";

    ck_assert(ecma("^\\s\\s\\s$", "\xC2\xA0\xEF\xBB\xBF\xE2\x80\xA8"));
    ck_assert(ecma("^[a\\s]$", nbsp) && ecma("^[\\s]$", bom));
    ck_assert(!ecma("\\S", line) && ecma("^\\S$", pi));
    ck_assert(ecma("^\\s$", "\v") && !ecma("\\s", "x"));
    ck_assert(ecma("^\\p{Letter}+$", pi) && !ecma("\\p{Letter}", "1"));
    ck_assert(ecma("^\\p{gc=Lowercase_Letter}\\P{L}$", "a1"));
    ck_assert(ecma("^[\\p{General_Category=Decimal_Number}_]+$", "1_2"));
    ck_assert(ecma("^\\p{Script=Greek}$", pi) && ecma("^\\p{Lu}$", "A"));
    ck_assert(!ecma("\\d", "\xD9\xA3") && !ecma("\\w", pi));
    ck_assert(ecma("^\\u0041\\x41\\u{1F600}$", "AA\xF0\x9F\x98\x80"));
    ck_assert(ecma("^[[:alpha:]+]+$", "[a:pl]")); /* a class, then ]+ */
    ck_assert(ecma("^[[:x]$", "[") && ecma("^[[:x]$", ":"));
    ck_assert(ecma("^[^]$", "\n") && !ecma("[]", "x"));
    ck_assert(ecma("^(?<year>\\d+)-\\k<year>$", "12-12"));
    ck_assert(ecma("^\\/\\-\\.[\\]\\-]$", "/-.]"));
    ck_assert(ecma("^\\cA$", "\x01") && !ecma("a$", "a\n"));
}
END_TEST

/* WhiteSpace and LineTerminator of ECMA-262. */
static bool is_space(uint32_t c)
{
    return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000 || c == 0xFEFF;
}

static bool is_one(uint32_t c, const char *of)
{
    bool digit = c >= '0' && c <= '9';
    bool letter = (c | 32) >= 'a' && (c | 32) <= 'z' && c < 128;

    return of[0] == 's'   ? is_space(c)
           : of[0] == 'd' ? digit
           : of[0] == 'w' ? digit || letter || c == '_'
                          : false;
}

static bool matches(const struct mortise_regex *re, uint32_t c)
{
    char text[5];
    size_t n = 0;
    bool yes;

    if (c >= 0x10000)
        text[n++] = (char)(0xF0 | c >> 18);
    if (c >= 0x800)
        text[n++] =
            (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 63) : 0xE0 | c >> 12);
    if (c >= 0x80)
        text[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 63) : 0xC0 | c >> 6);
    text[n++] = (char)(c >= 0x80 ? 0x80 | (c & 63) : c);
    ck_assert_int_eq(mortise_regex_search(re, text, n, &test_mem, &yes, &err),
                     MORTISE_OK);
    return yes;
}

static bool compiles(const char *pattern)
{
    struct mortise_regex *re;

    return mortise_regex_compile_ecma(&re, &arena, pattern, strlen(pattern),
                                      &err) == MORTISE_OK;
}

/* \s, \d, \w and what they are not are what ECMA-262 says (Unicode mode, no
 * case folded), alone, in classes and in negated ones, for every character
 * where anything could differ; and no end of a range. */
START_TEST(ecma_escapes_know_unicode)
{
    static const struct {
        const char *pattern;
        const char *of; /* s, d or w */
        bool in;
    } all[] = {{"^\\s$", "s", true},      {"^[\\s]$", "s", true},
               {"^\\S$", "s", false},     {"^[\\S]$", "s", false},
               {"^[^\\S]$", "s", true},   {"^[^\\s]$", "s", false},
               {"^[\\d]$", "d", true},    {"^[\\D]$", "d", false},
               {"^[^\\D]$", "d", true},   {"^\\D$", "d", false},
               {"^[\\w]$", "w", true},    {"^[\\W]$", "w", false},
               {"^[^\\W]$", "w", true},   {"^\\W$", "w", false},
               {"^[\\S\\W]$", "-", false}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct mortise_regex *re;

        ck_assert_int_eq(mortise_regex_compile_ecma(&re, &arena, all[i].pattern,
                                                    strlen(all[i].pattern),
                                                    &err),
                         MORTISE_OK);
        for (uint32_t c = 1; c < 0x11000; c += c == 0xD7FF ? 0x801 : 1)
            ck_assert_msg(matches(re, c) == (is_one(c, all[i].of) == all[i].in),
                          "%s of U+%04X", all[i].pattern, (unsigned)c);
        ck_assert_int_eq(matches(re, 0x10FFFF), !all[i].in);
    }
    ck_assert(!compiles("[a-\\S]") && !compiles("[\\S-z]"));
    ck_assert(!compiles("[\\W-z]") && compiles("[\\S-]"));
}
END_TEST

/* What other engines have besides would mean nothing elsewhere. */
START_TEST(what_ecma_lacks_is_refused)
{
    static const struct {
        const char *pattern, *words;
    } cases[] = {
        {"^a\\Z", "there is no \\Z in ECMA-262"},
        {"\\a", "there is no \\a in ECMA-262"},
        {"(*UCP)a", "there is no (* in ECMA-262"},
        {"a\\", "\\ at end of pattern"},
        {"\\p{Klingon}", "unknown property"},
        {"\\p{L", "malformed"},
        {"(", "missing closing parenthesis"},
    };
    struct mortise_regex *re;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(
            mortise_regex_compile_ecma(&re, &arena, cases[i].pattern,
                                       strlen(cases[i].pattern), &err),
            MORTISE_EINVAL);
        ck_assert_ptr_null(re);
        ck_assert_msg(strstr(err.msg, cases[i].words) != NULL, "%s: %s",
                      cases[i].pattern, err.msg);
    }
}
END_TEST

/* Steps, depth and memory are bounded, and that is an error, not "no". */
START_TEST(searches_end)
{
    static const char *const wild[] = {"^(a+)+$", "^(a|aa)+$", "(.*)*[xy]",
                                       "^((a*)*)*b$"};
    char text[5001];
    bool yes;

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[60] = '!';
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++)
        ck_assert_msg(search(wild[i], text, &yes) == MORTISE_ELIMIT, "%s",
                      wild[i]);
    ck_assert(!yes);
}
END_TEST

START_TEST(text_that_is_not_utf8_is_an_error)
{
    bool yes;

    ck_assert_int_eq(search("a", "\xFF", &yes), MORTISE_EINVAL);
}
END_TEST

START_TEST(regex_survives_oom)
{
    int n = 0, rv;

    do {
        struct mortise_regex *re;
        struct mortise_arena a;
        bool yes;

        mortise_arena_init(&a, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_regex_compile(&re, &a, "(a|b)+c{3,500}", 14, NULL, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_search(re, "abccc", 5, &test_mem, &yes, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_compile_ecma(&re, &a, "\\s\\p{Mark}", 10, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 2);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("regex");
    TCase *tc = tcase_create("regex");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, patterns_search);
    tcase_add_test(tc, what_is_no_pattern_says_where);
    tcase_add_test(tc, ecma_patterns_mean_what_ecma_says);
    tcase_add_test(tc, ecma_escapes_know_unicode);
    tcase_add_test(tc, what_ecma_lacks_is_refused);
    tcase_add_test(tc, searches_end);
    tcase_add_test(tc, text_that_is_not_utf8_is_an_error);
    tcase_add_test(tc, regex_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
