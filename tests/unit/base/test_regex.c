/* test_regex.c -- regular expressions that always end, and what patterns were
 * before they were held to their standards (test_ecma.c, test_re2.c). */
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

static int search_by(enum mortise_dialect dialect, const char *pattern,
                     const char *s, bool *found)
{
    struct mortise_regex *re;

    ck_assert_msg(mortise_regex_compile(&re, &arena, dialect, pattern,
                                        strlen(pattern), &err) == MORTISE_OK,
                  "%s: %s", pattern, err.msg);
    return mortise_regex_search(re, s, strlen(s), &test_mem, found, &err);
}

static int search(const char *pattern, const char *s, bool *found)
{
    return search_by(MORTISE_DIALECT_RE2_FIRST, pattern, s, found);
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

static int compile(struct mortise_regex **re, enum mortise_dialect dialect,
                   const char *pattern)
{
    return mortise_regex_compile(re, &arena, dialect, pattern, strlen(pattern),
                                 &err);
}

START_TEST(what_is_no_pattern_says_so)
{
    static const char *const wrong[] = {"ab[c", "\\C", "\xFF"};

    for (int d = 0; d <= MORTISE_DIALECT_RE2_FIRST; d++)
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            struct mortise_regex *re;

            ck_assert_int_eq(compile(&re, (enum mortise_dialect)d, wrong[i]),
                             MORTISE_EINVAL);
            ck_assert_ptr_null(re);
            ck_assert_ptr_eq(strstr(err.msg, "not a regular expression"),
                             err.msg);
        }
}
END_TEST

static bool ecma(const char *pattern, const char *s)
{
    bool yes;

    ck_assert_int_eq(search_by(MORTISE_DIALECT_ECMA_FIRST, pattern, s, &yes),
                     MORTISE_OK);
    return yes;
}

/* What was written as PCRE2 does and meant otherwise, before. */
START_TEST(ecma_patterns_meant_so)
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

static bool compiles(enum mortise_dialect dialect, const char *pattern)
{
    struct mortise_regex *re;

    return compile(&re, dialect, pattern) == MORTISE_OK;
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

    const enum mortise_dialect dialect =
        _i == 0 ? MORTISE_DIALECT_ECMA : MORTISE_DIALECT_ECMA_FIRST;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct mortise_regex *re;

        ck_assert_int_eq(compile(&re, dialect, all[i].pattern), MORTISE_OK);
        for (uint32_t c = 1; c < 0x11000; c += c == 0xD7FF ? 0x801 : 1)
            ck_assert_msg(matches(re, c) == (is_one(c, all[i].of) == all[i].in),
                          "%s of U+%04X", all[i].pattern, (unsigned)c);
        ck_assert_int_eq(matches(re, 0x10FFFF), !all[i].in);
    }
    ck_assert(!compiles(dialect, "[a-\\S]") && !compiles(dialect, "[\\S-z]"));
    ck_assert(!compiles(dialect, "[\\W-z]") && compiles(dialect, "[\\S-]"));
}
END_TEST

/* Some of what other engines have was refused already. */
START_TEST(what_ecma_lacks_was_refused)
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
            compile(&re, MORTISE_DIALECT_ECMA_FIRST, cases[i].pattern),
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
    for (int d = 0; d <= MORTISE_DIALECT_RE2_FIRST; d++)
        for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
            ck_assert_msg(search_by((enum mortise_dialect)d, wild[i], text,
                                    &yes) == MORTISE_ELIMIT,
                          "%s", wild[i]);
            ck_assert(!yes);
        }
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
        rv = mortise_regex_compile(&re, &a, MORTISE_DIALECT_RE2,
                                   "(a|b)+c{3,500}", 14, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_search(re, "abccc", 5, &test_mem, &yes, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_compile(&re, &a, MORTISE_DIALECT_ECMA,
                                       "(\\s)\\1\\p{Mark}", 14, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_compile(&re, &a, MORTISE_DIALECT_ECMA_FIRST,
                                       "\\s\\p{Mark}", 10, &err);
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

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, patterns_search);
    tcase_add_test(tc, what_is_no_pattern_says_so);
    tcase_add_test(tc, ecma_patterns_meant_so);
    tcase_add_loop_test(tc, ecma_escapes_know_unicode, 0, 2);
    tcase_add_test(tc, what_ecma_lacks_was_refused);
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
