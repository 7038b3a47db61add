/* test_ecma.c -- patterns of JSON Schema are those of ECMA-262, flag u.
 *
 * Issue 15, point 9.  The tables say what the standard's grammar and its
 * matcher say; what is not in the grammar is refused where it stands, and the
 * words say what to write. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/regex/regex.h"
#include "lib/matrix.h"
#include "lib/test.h"

#define LINE  "\xE2\x80\xA8" /* U+2028 */
#define PARA  "\xE2\x80\xA9"
#define BOM   "\xEF\xBB\xBF"
#define NEL   "\xC2\x85" /* a line's end for PCRE2, and none of ECMA's */
#define SMILE "\xF0\x9F\x98\x80"

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

struct row {
    const char *pattern, *text;
    bool found;
};

static void holds(const struct row *row)
{
    struct mortise_regex *re;
    uint64_t left = MORTISE_COST;
    bool yes;

    ck_assert_msg(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_ECMA,
                                        row->pattern, strlen(row->pattern),
                                        NULL, &err) == MORTISE_OK,
                  "%s: %s", row->pattern, err.msg);
    ck_assert_int_eq(mortise_regex_search(re, row->text, strlen(row->text),
                                          &left, &test_mem, &yes, &err),
                     MORTISE_OK);
    ck_assert_msg(yes == row->found, "'%s' %s '%s'", row->pattern,
                  yes ? "matches" : "does not match", row->text);
}

#define EACH(rows)                                                             \
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows)[0]; i++)                \
    holds(&(rows)[i])

/* `.` is any character but the four that end a line; ^ and $ are the ends of
 * the text. */
START_TEST(point_9_lines_are_those_of_ecma)
{
    static const struct row rows[] = {
        {"^.$", "\n", false},
        {"^.$", "\r", false},
        {"^.$", LINE, false},
        {"^.$", PARA, false},
        {"^.$", NEL, true},
        {"^.$", "\v", true},
        {"^.$", SMILE, true},
        {"^a$", "a\n", false},
        {"b$", "a\nb", true},
        {"^b", "a\nb", false},
        {"^[^]$", LINE, true},
        {"[]", "a", false},
        {"^[^a]$", LINE, true},
        {"a.b", "a" LINE "b", false},
        {"a(?:.|\\s)b", "a\nb", true},
    };

    EACH(rows);
}
END_TEST

/* Escapes are one character each, however they are written. */
START_TEST(point_9_escapes_are_those_of_ecma)
{
    static const struct row rows[] = {
        {"^\\v$", "\v", true},
        {"^\\v$", LINE, false}, /* PCRE2's \v is a class */
        {"^[\\v]$", "\n", false},
        {"^\\t\\n\\f\\r$", "\t\n\f\r", true},
        {"^\\cC\\cc$", "\x03\x03", true},
        {"^\\x41\\u0042\\u{43}\\u{000043}$", "ABCC", true},
        {"^\\uD83D\\uDE00$", SMILE, true},
        {"^\\ud83d\\ude00+$", SMILE SMILE, true},
        {"^[\\uD83D\\uDE00]$", SMILE, true},
        {"^[\\uD83D\\uDE00-\\uD83D\\uDE02]$", "\xF0\x9F\x98\x81", true},
        {"^\\uD83D\\u{DE00}$", SMILE, false}, /* no pair */
        {"\\uD83D", SMILE, false},            /* half of one is in no text */
        {"^[\\uD800-\\uDFFF]$", SMILE, false},
        {"^[^\\uD800]$", SMILE, true},
        {"^[\\u0000-\\u{10FFFF}]$", SMILE, true},
        {"^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", "^$\\.*+?()[]{}|/",
         true},
        {"^[\\-\\b\\]\\^]+$", "-\b]^", true},
        {"^a-/#\"'@~&<>=!,;:%_ $", "a-/#\"'@~&<>=!,;:%_ ", true},
    };

    EACH(rows);
}
END_TEST

/* Sets: ASCII's digits and letters, ECMA's spaces; Unicode's names. */
START_TEST(point_9_sets_are_those_of_ecma)
{
    static const struct row rows[] = {
        {"^\\d$", "\xD9\xA3", false}, /* ARABIC-INDIC DIGIT THREE */
        {"^\\D$", "\xD9\xA3", true},
        {"^\\w$", "\xC3\xA9", false},
        {"^\\W$", "\xC3\xA9", true},
        {"^\\s+$", "\t\v\f \xC2\xA0" BOM LINE PARA "\xE2\x80\x83\r\n", true},
        {"^\\s$", NEL, false},
        {"^\\S$", NEL, true},
        {"^\\s$", "\xE2\x80\x8B", false}, /* ZERO WIDTH SPACE */
        {"\\b\xC3\xA9\\b", "\xC3\xA9", false},
        {"^\\p{Letter}cole$",
         "\xC3\xA9"
         "cole",
         true},
        {"^[\\p{L}\\d]+$",
         "\xC3\xA9"
         "1",
         true},
        {"^\\p{Lu}\\p{gc=Ll}\\p{General_Category=Lowercase_Letter}$", "Aaa",
         true},
        {"^\\p{digit}+$", "42", true},
        {"^\\p{digit}+$", "\xE0\xA7\xAA\xE0\xA7\xA8", true}, /* Bengali */
        {"^\\p{Script=Greek}\\p{sc=Grek}$", "\xCE\xB1\xCE\xB2", true},
        {"^\\p{scx=Deva}$", "\xE0\xA5\xA4", true}, /* DANDA, a common sign */
        {"^\\p{sc=Deva}$", "\xE0\xA5\xA4", false},
        {"^\\p{Alphabetic}\\p{Any}\\P{ASCII}\\p{Assigned}$",
         "ab\xC3\xA9"
         "c",
         true},
        {"^\\P{Assigned}$", "a", false},
        {"^[\\P{L}]$", "1", true},
        {"^[[a&&b]+$", "[a&&b", true},
    };

    EACH(rows);
}
END_TEST

/* Groups, what refers to them, and what looks around. */
START_TEST(point_9_groups_are_those_of_ecma)
{
    static const struct row rows[] = {
        {"^(?<year>\\d+)-\\k<year>$", "12-12", true},
        {"^(?<$_\xC3\xA9>a)\\k<$_\xC3\xA9>$", "aa", true},
        {"^(?<a_name_of_more_than_thirty_two_letters>a)$", "a", true},
        {"^\\k<n>(?<n>a)$", "a", true}, /* further on: it is empty */
        {"^\\1(a)$", "a", true},
        {"^(a\\1)$", "a", true},
        {"^(?:(a)|\\1b)$", "b", true},
        {"^(?:(a)|b)\\1$", "b", true},
        {"^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\\10$", "abcdefghijj", true},
        {"^(?:([\"']).\\1)+$", "'a'\"b\"", true},
        {"(?<=\\$)\\d+(?!%)$", "$42", true},
        {"(?<!\\$)\\b\\d+(?=%)", "42%", true},
        {"^(?!a)", "a", false},
        {"^(?=(a))\\1$", "a", true},
        {"a{2}b{1,}?c{0,1}", "aabc", true},
        {"^x{02}$", "xx", true},
        {"^(?:)*$", "", true},
        {"", "", true},
        {"|a", "b", true},
    };

    EACH(rows);
}
END_TEST

/* A group that PCRE2 remembers and ECMA forgets is not referred to. */
START_TEST(point_9_references_never_see_an_earlier_round)
{
    static const char *const patterns[] = {
        "^(?:(a)|b)*\\1$",   "(?:(a)?b)*\\1",
        "^(?:(a?))*\\1$",    "^(a?)*\\1$",
        "(?:(?:(a)|b)\\1)*", "(?:(?:(a)|b)x)+?\\k<n>(?<n>c)\\1",
    };

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct mortise_regex *re;

        ck_assert_msg(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_ECMA,
                                            patterns[i], strlen(patterns[i]),
                                            NULL, &err) == MORTISE_EINVAL,
                      "%s", patterns[i]);
        ck_assert_ptr_nonnull(strstr(err.msg, "which is not supported"));
    }
    holds(&(struct row){"^(?:(a)b)*\\1$", "aba", true});
    holds(&(struct row){"^(a)*\\1$", "aa", true});
    holds(&(struct row){"^(?:(a)|b)?\\1$", "b", true});
}
END_TEST

/* What is ECMA-262, and more than this build takes, is called neither wrong nor
 * another language's. */
START_TEST(limits_of_this_build_are_said_to_be_its_own)
{
    static const struct {
        const char *pattern, *words;
    } rows[] = {
        {"(?<=a+)b", "a lookbehind must have a fixed length"},
        {"(?:(a)|b)*\\1", "resets that group"},
        {"(?<=(a)\\1)b", "backreferences in a lookbehind"},
        {"(?:a{0,70000})", "a count can be at most 65535"},
        {"a{65536}", "a count can be at most 65535"},
        {"(?:a{60000}){60000}", "too large"},
    };
    static const char verdict[] =
        "a regular expression of ECMA-262 that this build does not support: ";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mortise_regex *re;
        int rv = mortise_regex_compile(&re, &arena, MORTISE_DIALECT_ECMA,
                                       rows[i].pattern, strlen(rows[i].pattern),
                                       NULL, &err);

        ck_assert_int_eq(rv, MORTISE_EINVAL);
        ck_assert_msg(strncmp(err.msg, verdict, sizeof verdict - 1) == 0,
                      "%s: %s", rows[i].pattern, err.msg);
        ck_assert_msg(strstr(err.msg, rows[i].words) != NULL, "%s: %s",
                      rows[i].pattern, err.msg);
    }
}
END_TEST

/* Where a class of POSIX's was meant, the words name what does it. */
START_TEST(classes_of_posix_have_others_to_write)
{
    static const char *const rows[][2] = {
        {"[[:alpha:]]",
         "[:alpha:] is not supported: write [a-zA-Z] or \\p{L} (at "
         "character 2)"},
        {"^[^_[:digit:]x]+$",
         "[:digit:] is not supported: write [0-9] or \\p{Nd}"},
        {"[[:alpha:]_[:xdigit:]]", "[:xdigit:]"},
        {"[[:none:]]", "a single ] is not allowed"},
        {"[:alpha:]]", "[:alpha:] is not supported: write"},
        {"]", "a single ] is not allowed"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mortise_regex *re;
        int rv =
            mortise_regex_compile(&re, &arena, MORTISE_DIALECT_ECMA, rows[i][0],
                                  strlen(rows[i][0]), NULL, &err);

        ck_assert_int_eq(rv, MORTISE_EINVAL);
        ck_assert_msg(strstr(err.msg, rows[i][1]) != NULL, "%s: %s", rows[i][0],
                      err.msg);
    }
}
END_TEST

/* What PCRE2 has besides, and what is unfinished, says where and what to do. */
START_TEST(point_9_what_ecma_lacks_is_refused)
{
    static const struct {
        const char *pattern, *words;
        unsigned at;
    } rows[] = {
        {"\xC3\xA9\\Z", "\\Z is not supported: write $", 2},
        {"\\A", "write ^", 1},
        {"a\\z", "write $", 2},
        {"\\a", "write \\x07", 1},
        {"\\h", "write [ \\t]", 1},
        {"\\H", "\\H is not supported", 1},
        {"\\R", "\\R is not supported", 1},
        {"\\X", "\\X is not supported", 1},
        {"\\K", "\\K is not supported", 1},
        {"\\G", "\\G is not supported", 1},
        {"\\Qa\\E", "\\Q is not supported", 1},
        {"\\N", "write .", 1},
        {"\\e", "write \\x1B", 1},
        {"\\g{1}", "\\g is not supported", 1},
        {"x\\-y", "\\- is not supported: write -", 2},
        {"\\_", "write _", 1},
        {"\\\xC3\xA9", "remove the backslash", 1},
        {"[\\B]", "not allowed inside a class", 2},
        {"[\\1]", "not allowed inside a class", 2},
        {"\\01", "\\0 is not allowed here", 1},
        {"\\1", "a group that does not exist", 1},
        {"(a)\\2", "a group that does not exist", 4},
        {"\\k<n>", "no group is named 'n'", 1},
        {"(a)\\k", "\\k<name>", 4},
        {"\\x4", "two hexadecimal digits", 1},
        {"\\x{41}", "write \\u{...} for more", 1},
        {"\\u004", "four hexadecimal digits", 1},
        {"\\u{110000}", "the last character is", 1},
        {"\\u{}", "hexadecimal digits and a closing }", 1},
        {"\\c1", "needs a letter", 1},
        {"\\pL", "need {NAME}", 1},
        {"\\p{Greek}", "write \\p{Script=Greek}", 1},
        {"\\p{letter}", "no property 'letter'", 1},
        {"\\p{Script=greek}", "no property", 1},
        {"\\p{^Lu}", "no property", 1},
        {"\\p{Xan}", "no property", 1},
        {"\\p{L&}", "no property", 1},
        {"\\p{", "need {NAME}", 1},
        {"a++", "remove the second +", 3},
        {"a*+", "possessive", 3},
        {"a{1}+", "possessive", 5},
        {"a**", "put a group around it", 3},
        {"*a", "nothing before * can be repeated", 1},
        {"^*", "nothing before * can be repeated", 2},
        {"(?=a)*", "nothing before * can be repeated", 6},
        {"a{,5}", "write \\{", 2},
        {"a{2", "write \\{", 2},
        {"}", "write \\}", 1},
        {"a]", "write \\]", 2},
        {"a{2,1}", "ends before it begins", 2},
        {"a{70000}", "at most 65535", 2},
        {"(?i)a", "(?i is not supported: write both cases", 1},
        {"(?i:a)", "(?i is not supported", 1},
        {"(?s).", "write [^]", 1},
        {"(?>a)", "(?> is not supported", 1},
        {"(?|a)", "(?| is not supported", 1},
        {"(?#a)", "remove the comment", 1},
        {"(?P<n>a)", "write (?<name>...)", 1},
        {"(?<n>a)(?P=n)", "write \\k<name>", 8},
        {"(?'n'a)", "write (?<name>...)", 1},
        {"(a)(?1)", "are allowed after (?", 4},
        {"(?R)", "cannot call themselves", 1},
        {"(?C1)", "(?C is not supported", 1},
        {"(?(1)a|b)", "(?( is not supported", 1},
        {"(*ACCEPT)", "(* is not supported", 1},
        {"(*UTF)a", "(* is not supported", 1},
        {"(?<n>a)(?<n>b)", "two groups are named 'n'", 8},
        {"(?<1>a)", "cannot begin with a digit", 4},
        {"(?<n", "the name of the group and >", 4},
        {"(a", "closed by )", 1},
        {"a)", "write \\)", 2},
        {"[a", "closed by ]", 1},
        {"[b-a]", "ends before it begins", 2},
        {"[\\d-z]", "write \\-", 2},
        {"[a-\\d]", "write \\-", 2},
        {"a\\", "needs a character after it", 2},
        {"a\xFF", "not valid UTF-8", 2},
        {"(?<=a+)b", "fixed length", 0},
        {"(a)(?<=\\1)", "backreferences in a lookbehind", 8},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mortise_regex *re;
        char place[40];

        ck_assert_msg(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_ECMA,
                                            rows[i].pattern,
                                            strlen(rows[i].pattern), NULL,
                                            &err) == MORTISE_EINVAL,
                      "%s", rows[i].pattern);
        ck_assert_ptr_null(re);
        snprintf(place, sizeof place, "(at character %u)", rows[i].at);
        ck_assert_msg(strstr(err.msg, rows[i].words) != NULL &&
                          (rows[i].at == 0 || strstr(err.msg, place) != NULL),
                      "%s: %s", rows[i].pattern, err.msg);
    }
}
END_TEST

/* Of JSON-Schema-Test-Suite's ecmascript-regex.json, what is about patterns:
 * the same in the words of this file. */
START_TEST(the_suite_of_json_schema)
{
    static const struct row rows[] = {
        {"^abc$", "abc\\n", false},
        {"^abc$", "abc\n", false},
        {"^abc$", "abc", true},
        {"^\\t$", "\\t", false},
        {"^\\t$", "\t", true},
        {"^\\cC$", "\\cC", false},
        {"^\\cC$", "\x03", true},
        {"^\\cc$", "\x03", true},
        {"^\\d$", "0", true},
        {"^\\d$", "\xDF\x80", false},
        {"^\\d$", "\xE0\xA7\xAA", false},
        {"^\\D$", "0", false},
        {"^\\D$", "\xDF\x80", true},
        {"^\\w$", "a", true},
        {"^\\w$", "\xC3\xA9", false},
        {"^\\W$", "\xC3\xA9", true},
        {"^\\s$", " ", true},
        {"^\\s$", "\t", true},
        {"^\\s$", "\v", true},
        {"^\\s$", "\f", true},
        {"^\\s$", "\xC2\xA0", true},
        {"^\\s$", BOM, true},
        {"^\\s$", "\n", true},
        {"^\\s$", PARA, true},
        {"^\\s$", "\xE2\x80\x83", true},
        {"^\\s$", "\x01", false},
        {"^\\s$", "\xE2\x80\x93", false},
        {"^\\S$", PARA, false},
        {"^\\S$", "\x01", true},
        {"\\p{Letter}cole",
         "L'\xC3\xA9"
         "cole",
         true},
        {"\\wcole",
         "L'\xC3\xA9"
         "cole",
         false},
        {"[a-z]cole",
         "L'\xC3\xA9"
         "cole",
         false},
        {"^\\W$", "\xF0\x9F\x90\xB2", true},
        {"^\xF0\x9F\x90\xB2*$", "", true},
        {"^\xF0\x9F\x90\xB2*$", "\xF0\x9F\x90\xB2\xF0\x9F\x90\xB2", true},
        {"^\xF0\x9F\x90\xB2*$", "D", false},
        {"^\\p{digit}+$", "-%#", false},
    };

    EACH(rows);
}
END_TEST

/* Whatever stands in a pattern, reading it ends and searching with it ends,
 * with an answer or with an error: no byte of it reaches RE2 or PCRE2 as more
 * than it is. */
START_TEST(any_bytes_end)
{
    static const char *const parts[] = {
        "a",       "b",           "(",    ")",    "(?:",      "(?=",
        "(?<!",    "(?<n>",       "[",    "]",    "[^",       "-",
        "|",       "*",           "+",    "?",    "{2}",      "{1,}",
        "{",       "}",           "\\",   "\\1",  "\\k<n>",   "\\p{L}",
        "\\uD83D", "\\u{1F600}",  "\\s",  "\\W",  ".",        "^",
        "$",       "(*",          "(?i)", "\xC3", "\xC3\xA9", "\\Q",
        "\\E",     "[[:alpha:]]", "\\b",  "\\x",
    };
    struct mortise_regex *re;
    unsigned n_good = 0;
    char text[200];

    srand(15);
    for (int k = 0; k < (matrix_is_whole() ? 20000 : 4000); k++) {
        bool yes = false;
        size_t n = 0;

        for (int j = rand() % 12; j > 0; j--) {
            const char *p =
                parts[(size_t)rand() % (sizeof parts / sizeof parts[0])];

            memcpy(text + n, p, strlen(p));
            n += strlen(p);
        }
        for (int d = MORTISE_DIALECT_ECMA; d <= MORTISE_DIALECT_RE2; d++) {
            uint64_t left = MORTISE_COST;
            int rv = mortise_regex_compile(&re, &arena, (enum mortise_dialect)d,
                                           text, n, NULL, &err);

            ck_assert(rv == MORTISE_OK || rv == MORTISE_EINVAL);
            if (rv != MORTISE_OK)
                continue;
            n_good++;
            rv = mortise_regex_search(re,
                                      "ab(a)\xC3\xA9--aaaaaaaaaaaaaaaaaaaaa"
                                      "aaaaaaaaaaaaaaaaaaaaaaa",
                                      54, &left, &test_mem, &yes, &err);
            ck_assert(rv == MORTISE_OK || rv == MORTISE_ELIMIT);
        }
        if (k % 100 == 0) {
            mortise_arena_finish(&arena);
            mortise_arena_init(&arena, &test_mem);
        }
    }
    ck_assert_uint_gt(n_good, matrix_is_whole() ? 1000 : 200);
}
END_TEST

/* Groups in groups, and a pattern without an end, are refused before they are
 * anybody's stack or memory. */
START_TEST(patterns_are_bounded)
{
    static char text[100000];

    for (int d = MORTISE_DIALECT_ECMA; d <= MORTISE_DIALECT_RE2; d++) {
        struct mortise_regex *re;

        memset(text, '(', sizeof text);
        ck_assert_int_eq(mortise_regex_compile(&re, &arena,
                                               (enum mortise_dialect)d, text,
                                               1000, NULL, &err),
                         MORTISE_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.msg, "deep"));
        ck_assert_int_eq(mortise_regex_compile(&re, &arena,
                                               (enum mortise_dialect)d, text,
                                               sizeof text, NULL, &err),
                         MORTISE_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.msg, "longer than 65536 bytes"));
        text[190] = 'a';
        memset(text + 191, ')', 190);
        ck_assert_msg(mortise_regex_compile(&re, &arena,
                                            (enum mortise_dialect)d, text, 381,
                                            NULL, &err) == MORTISE_OK,
                      "%s", err.msg);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("ecma");
    TCase *tc = tcase_create("ecma");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, point_9_lines_are_those_of_ecma);
    tcase_add_test(tc, point_9_escapes_are_those_of_ecma);
    tcase_add_test(tc, point_9_sets_are_those_of_ecma);
    tcase_add_test(tc, point_9_groups_are_those_of_ecma);
    tcase_add_test(tc, point_9_references_never_see_an_earlier_round);
    tcase_add_test(tc, limits_of_this_build_are_said_to_be_its_own);
    tcase_add_test(tc, classes_of_posix_have_others_to_write);
    tcase_add_test(tc, point_9_what_ecma_lacks_is_refused);
    tcase_add_test(tc, the_suite_of_json_schema);
    tcase_add_test(tc, any_bytes_end);
    tcase_add_test(tc, patterns_are_bounded);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
