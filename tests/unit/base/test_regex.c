/* test_regex.c -- regular expressions whose searches are paid for (test_ecma.c and
 * test_re2.c have the standards). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lang/regex/regex.h"
#include "lib/test.h"

static struct mortise_err err;
static struct mortise_arena arena;
static uint64_t left;

static void begin(void)
{
    test_begin();
    mortise_arena_init(&arena, &test_mem);
    left = MORTISE_COST;
}

static void finish(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static int compile(struct mortise_regex **re, enum mortise_dialect dialect,
                   const char *pattern)
{
    return mortise_regex_compile(re, &arena, dialect, pattern, strlen(pattern),
                                 NULL, &err);
}

static int search_by(enum mortise_dialect dialect, const char *pattern,
                     const char *s, size_t n, bool *found)
{
    struct mortise_regex *re;

    ck_assert_msg(compile(&re, dialect, pattern) == MORTISE_OK, "%s: %s",
                  pattern, err.msg);
    return mortise_regex_search(re, s, n, &left, &test_mem, found, &err);
}

START_TEST(what_is_no_pattern_says_so)
{
    static const char *const wrong[] = {"ab[c", "\\C", "\xFF"};

    for (int d = 0; d <= MORTISE_DIALECT_PCRE2; d++)
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
    left = MORTISE_COST;
    ck_assert_int_eq(
        mortise_regex_search(re, text, n, &left, &test_mem, &yes, &err),
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

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct mortise_regex *re;

        ck_assert_int_eq(compile(&re, MORTISE_DIALECT_ECMA, all[i].pattern),
                         MORTISE_OK);
        for (uint32_t c = 1; c < 0x11000; c += c == 0xD7FF ? 0x801 : 1)
            ck_assert_msg(matches(re, c) == (is_one(c, all[i].of) == all[i].in),
                          "%s of U+%04X", all[i].pattern, (unsigned)c);
        ck_assert_int_eq(matches(re, 0x10FFFF), !all[i].in);
    }
    ck_assert(!compiles(MORTISE_DIALECT_ECMA, "[a-\\S]") &&
              !compiles(MORTISE_DIALECT_ECMA, "[\\S-z]"));
    ck_assert(!compiles(MORTISE_DIALECT_ECMA, "[\\W-z]") &&
              compiles(MORTISE_DIALECT_ECMA, "[\\S-]"));
}
END_TEST

/* What RE2 searches costs what the text and the pattern are long, whatever the
 * text: patterns that backtracking cannot decide have an answer. */
START_TEST(searches_by_re2_are_linear)
{
    static const char *const wild[] = {"^(a+)+$",         "^(a|aa)+$",
                                       "(.*)*[xy]",       "^((a*)*)*b$",
                                       "(\\w+\\s?)*\\.$", "b[^]*c"};
    enum { N = 200000 };
    static char text[N];
    bool yes;

    memset(text, 'a', N);
    text[N - 1] = 'b';
    for (int d = MORTISE_DIALECT_ECMA; d <= MORTISE_DIALECT_RE2; d++)
        for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
            if (d == MORTISE_DIALECT_RE2 && strstr(wild[i], "[^]") != NULL)
                continue;
            left = MORTISE_COST;
            ck_assert_msg(search_by((enum mortise_dialect)d, wild[i], text, N,
                                    &yes) == MORTISE_OK,
                          "%s: %s", wild[i], err.msg);
            ck_assert_int_eq(yes, strcmp(wild[i], "^((a*)*)*b$") == 0);
            ck_assert_uint_eq(MORTISE_COST - left, 100 + N);
        }
}
END_TEST

/* A search costs more by a pattern that is in many places at once, and what is
 * not enough for it buys none. */
START_TEST(large_patterns_cost_more)
{
    static const struct {
        const char *pattern;
        uint64_t cost; /* for 1000 bytes */
    } rows[] = {
        {"abc", 1100},          {"a{15}", 1100},        {"a{16}", 2100},
        {"[a-z]{100}", 7100},   {"(ab){8}", 2100},      {"(a|b)*c", 1100},
        {"(a{4}){4}c", 2100},   {"\\d{0,320}x", 21100}, {"a{5,}", 1100},
        {"(?:a|(b{3}))", 1100}, {"a|b{31}", 3100},
    };
    char text[1000];
    bool yes;

    memset(text, '-', sizeof text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int d = MORTISE_DIALECT_ECMA; d <= MORTISE_DIALECT_RE2; d++) {
            left = rows[i].cost;
            ck_assert_msg(search_by((enum mortise_dialect)d, rows[i].pattern,
                                    text, sizeof text, &yes) == MORTISE_OK &&
                              left == 0,
                          "%s: %llu left", rows[i].pattern,
                          (unsigned long long)left);
            left = rows[i].cost - 1;
            ck_assert_int_eq(search_by((enum mortise_dialect)d, rows[i].pattern,
                                       text, sizeof text, &yes),
                             MORTISE_ELIMIT);
        }
}
END_TEST

/* Of what RE2 cannot express the steps of the whole search are counted: those
 * at each place of the text where a match is tried, characters that an item
 * passes, and those that a reference is compared with. */
START_TEST(searches_by_pcre2_are_paid_for_as_a_whole)
{
    static const char *const wild[] = {
        "(?=a)[^]*[cd]",      "^(?=(a+))(a+)+$",   "(?!x)(a|aa)+$",
        "(?=a)a*[cd]",        "(?=a)a{60000}[cd]", "(a+).*\\1[cd]",
        "(?<=a)[^]*[^]*[cd]", "\\Ba*\\B[cd]",
    };
    enum { N = 200000 };
    static char text[N];
    bool yes;

    memset(text, 'a', N);
    text[N - 1] = 'b';
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        left = MORTISE_COST;
        ck_assert_msg(search_by(MORTISE_DIALECT_ECMA, wild[i], text, N, &yes) ==
                          MORTISE_ELIMIT,
                      "%s", wild[i]);
        ck_assert(!yes);
    }
    left = MORTISE_COST;
    ck_assert_int_eq(
        search_by(MORTISE_DIALECT_PCRE2, "a[^]*[cd]", text, N, &yes),
        MORTISE_ELIMIT);
}
END_TEST

/* What takes few steps in a long text costs little, by PCRE2, too. */
START_TEST(searches_by_pcre2_cost_what_they_take)
{
    enum { N = 200000 };
    static char text[N];
    bool yes;

    memset(text, 'a', N);
    ck_assert_int_eq(
        search_by(MORTISE_DIALECT_ECMA, "^(?!.*b)a", text, N, &yes),
        MORTISE_OK);
    ck_assert(yes);
    ck_assert_uint_gt(left, MORTISE_COST - MORTISE_COST / 5);
}
END_TEST

/* A pattern that is too large for RE2 with all its repetitions is refused, of
 * JSON Schema only if PCRE2 does not take it either. */
START_TEST(patterns_that_are_too_large_are_refused)
{
    struct mortise_regex *re;
    bool yes;

    ck_assert_int_eq(compile(&re, MORTISE_DIALECT_RE2, "\\pL{1,1000}"),
                     MORTISE_EINVAL);
    ck_assert_str_eq(
        err.msg,
        "a regular expression of RE2 that this build does not support: its "
        "repetitions make it too large: write smaller numbers in { }");
    ck_assert_int_eq(
        search_by(MORTISE_DIALECT_ECMA, "^\\p{L}{1,1000}$", "ab", 2, &yes),
        MORTISE_OK);
    ck_assert(yes);
    ck_assert_int_eq(
        search_by(MORTISE_DIALECT_ECMA, "^.{1,4096}$", "ab", 2, &yes),
        MORTISE_OK);
    ck_assert(yes);
    ck_assert_int_eq(
        compile(&re, MORTISE_DIALECT_ECMA, "(?:[a-z]{60000}){60000}"),
        MORTISE_EINVAL);
}
END_TEST

/* To compile a pattern that comes with the data costs, too, whether it is taken
 * or not. */
START_TEST(compiling_is_paid_for)
{
    struct mortise_regex *re;

    left = 1000;
    ck_assert_int_eq(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_RE2,
                                           "a{10}", 5, &left, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(left, 1000 - 105 - 100);
    ck_assert_int_eq(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_RE2,
                                           "a{100}", 6, &left, &err),
                     MORTISE_ELIMIT);
    ck_assert_ptr_null(re);
    ck_assert_int_eq(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_RE2,
                                           "(", 1, &left, &err),
                     MORTISE_EINVAL);
    ck_assert_uint_eq(left, 1000 - 205 - 106 - 101);
}
END_TEST

START_TEST(text_that_is_not_utf8_ends)
{
    bool yes;

    ck_assert_int_eq(search_by(MORTISE_DIALECT_ECMA, "(?=a)", "\xFF", 1, &yes),
                     MORTISE_EINVAL);
    ck_assert_int_eq(search_by(MORTISE_DIALECT_RE2, "a", "\xFF", 1, &yes),
                     MORTISE_OK);
    ck_assert(!yes);
}
END_TEST

/* ---- memory -------------------------------------------------------------- */

/* RE2 allocates by C++'s operators, which are these in this program. */
void *_Znwm(size_t n) __attribute__((visibility("default")));
void _ZdlPv(void *p) __attribute__((visibility("default")));
void _ZdlPvm(void *p, size_t n) __attribute__((visibility("default")));
_Noreturn void _ZSt17__throw_bad_allocv(void);

/* RE2 leaks what it was about to keep when an allocation throws.  That is the
 * library's own; the leak checker is to look at the rest. */
const char *__lsan_default_suppressions(void)
    __attribute__((visibility("default")));

const char *__lsan_default_suppressions(void)
{
    return "leak:libre2.so";
}

static size_t news, fails_at;

void *_Znwm(size_t n)
{
    void *p = fails_at != 0 && ++news >= fails_at ? NULL : malloc(n);

    if (p == NULL)
        _ZSt17__throw_bad_allocv();
    return p;
}

void _ZdlPv(void *p)
{
    free(p);
}

void _ZdlPvm(void *p, size_t n)
{
    (void)n;
    free(p);
}

/* Memory that runs out for RE2 is an error, and no exception leaves. */
START_TEST(re2_survives_oom)
{
    struct mortise_regex *re;
    bool yes;
    int rv;

    fails_at = 1;
    ck_assert_int_eq(compile(&re, MORTISE_DIALECT_RE2, "(a|b)+c{3,50}$"),
                     MORTISE_ENOMEM);
    ck_assert_ptr_null(re);
    fails_at = 0;
    ck_assert_int_eq(compile(&re, MORTISE_DIALECT_RE2, "(a|b)+c{3,50}$"),
                     MORTISE_OK);
    rv = MORTISE_ENOMEM;
    for (size_t n = 1; rv == MORTISE_ENOMEM; n++) {
        left = MORTISE_COST;
        news = 0;
        fails_at = n;
        rv = mortise_regex_search(re, "abccc", 5, &left, &test_mem, &yes, &err);
        fails_at = 0;
        ck_assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
        ck_assert_int_eq(yes, rv == MORTISE_OK);
    }
    ck_assert_uint_gt(news, 1);
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
                                   "(a|b)+c{3,500}", 14, &left, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_search(re, "abccc", 5, &left, &test_mem, &yes,
                                      &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_compile(&re, &a, MORTISE_DIALECT_ECMA,
                                       "(\\s)\\1\\p{Mark}", 14, NULL, &err);
        if (rv == MORTISE_OK)
            rv =
                mortise_regex_search(re, "  ", 2, &left, &test_mem, &yes, &err);
        if (rv == MORTISE_OK)
            rv = mortise_regex_compile(&re, &a, MORTISE_DIALECT_PCRE2,
                                       "(?i)\\s\\p{M}", 11, NULL, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        mortise_arena_finish(&a);
        left = MORTISE_COST;
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
    tcase_add_test(tc, what_is_no_pattern_says_so);
    tcase_add_test(tc, ecma_escapes_know_unicode);
    tcase_add_test(tc, searches_by_re2_are_linear);
    tcase_add_test(tc, large_patterns_cost_more);
    tcase_add_test(tc, searches_by_pcre2_are_paid_for_as_a_whole);
    tcase_add_test(tc, searches_by_pcre2_cost_what_they_take);
    tcase_add_test(tc, patterns_that_are_too_large_are_refused);
    tcase_add_test(tc, compiling_is_paid_for);
    tcase_add_test(tc, text_that_is_not_utf8_ends);
    tcase_add_test(tc, re2_survives_oom);
    tcase_add_test(tc, regex_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
