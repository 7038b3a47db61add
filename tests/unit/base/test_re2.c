/* test_re2.c -- patterns of CEL's `matches` are RE2's.
 *
 * Issue 15, point 9.  The tables say what RE2's syntax and its matcher say; what
 * it does not take is refused where it stands, and the words say what to write.
 * any_bytes_end and patterns_are_bounded of test_ecma.c are about RE2, too. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lang/regex/regex.h"
#include "lib/test.h"

#define EACUTE "\xC3\xA9"
#define LONG_S "\xC5\xBF"     /* U+017F, which folds to s */
#define KELVIN "\xE2\x84\xAA" /* U+212A, which folds to k */

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

    ck_assert_msg(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_RE2,
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

/* `.` is any character but \n, and ^ and $ the ends of the text, unless flags
 * say otherwise, up to the end of their group. */
START_TEST(point_9_flags_are_those_of_re2)
{
    static const struct row rows[] = {
        {"^.$", "\n", false},
        {"^.$", "\r", true},
        {"^.$", "\xE2\x80\xA8", true},
        {"(?s)^.$", "\n", true},
        {"^(?s:.)(?-s:.)$", "\n\n", false},
        {"^a$", "a\n", false},
        {"^b", "a\nb", false},
        {"(?m)^b$", "a\nb\nc", true},
        {"(?m)\\n^$", "a\n", true}, /* behind a last \n, too */
        {"(?m)\\Ab", "a\nb", false},
        {"(?m)a\\z", "a\nb", false},
        {"(?i)AB", "ab", true},
        {"a(?i)b|c", "C", true},
        {"(a(?i)b)c", "aBC", false},
        {"(?i)a(?-i)b", "AB", false},
        {"(?i:a)b", "AB", false},
        {"(?i)k", KELVIN, true},
        {"(?U)a+", "aa", true},
        {"(?is-mU)a.b", "A\nB", true},
    };

    EACH(rows);
}
END_TEST

START_TEST(point_9_escapes_are_those_of_re2)
{
    static const struct row rows[] = {
        {"^\\a\\f\\t\\n\\r\\v$", "\a\f\t\n\r\v", true},
        {"^\\v$", "\n", false}, /* PCRE2's \v is a class */
        {"^\\123\\0$", "S", false},
        {"^\\123\\x41\\x{1F600}$", "SA\xF0\x9F\x98\x80", true},
        {"^\\12$", "\n", true}, /* octal, and no reference */
        {"^\\Qa.b*\\E+$", "a.b**", true},
        {"^\\Qa\\", "a\\", true},
        {"^\\-\\_\\\"\\'\\@\\ \\/\\{$", "-_\"'@ /{", true},
        {"^a{,2}$", "a{,2}", true},
        {"^{}a{$", "{}a{", true},
        {"^a{01}$", "a{01}", true},
        {"^]$", "]", true},
        {"^[]a]+$", "]a", true},
        {"^[^]a]$", "b", true},
        {"^[a-]+$", "a-", true},
        {"^[\\d-z]+$", "1-z", true},
        {"^a{2,3}?b*?$", "aaa", true},
        {"^(?P<n>a)(?<m>b)(c)$", "abc", true},
        {"^(?:^)*\\b+a(?:$)+$", "a", true},
        {"", "", true},
        {"(|a)*", "b", true},
    };

    EACH(rows);
}
END_TEST

START_TEST(point_9_sets_are_those_of_re2)
{
    static const struct row rows[] = {
        {"^\\s+$", "\t\n\f\r ", true},
        {"\\s", "\v", false},
        {"^[[:space:]]$", "\v", true},
        {"\\s", "\xC2\xA0", false},
        {"\\d", "\xD9\xA3", false},
        {"\\w", EACUTE, false},
        {"^\\W[\\W]$", EACUTE EACUTE, true},
        {"^[[:alpha:]]$", "a", true},
        {"^[[:alpha:]]$", EACUTE, false},
        {"^[[:^alpha:]]$", EACUTE, true},
        {"^[[:word:][:punct:]]+$", "a_!", true},
        {"^[[:xdigit:]]+$", "aF09", true},
        {"^[[:xdigit:]]+$", "g", false},
        {"^[[:ascii:]]$", "\x7F", true},
        {"^[[:cntrl:]]$", "\x7F", true},
        {"^[[:graph:]]$", " ", false},
        {"^[[:print:]]$", " ", true},
        {"^[[:blank:]]+$", " \t", true},
        {"^\\pL\\PL\\p{Lu}$", EACUTE "1A", true},
        {"^\\p{Greek}$", "\xCE\xB1", true},
        {"^\\p{^Greek}$", "\xCE\xB1", false},
        {"^\\P{^Greek}$", "\xCE\xB1", true},
        {"^\\p{Devanagari}$", "\xE0\xA5\xA4", false}, /* a common sign */
        {"^[\\p{L}_]\\p{Any}$", "_\n", true},
        /* Letters of classes fold, those of their inverses are left out. */
        {"(?i)^[[:lower:]]$", "A", true},
        {"(?i)^\\w$", LONG_S, true},
        {"^\\w$", LONG_S, false},
        {"(?i)^\\p{Lu}$", "a", true},
        {"(?i)^\\P{Lu}[^\\p{Greek}]$", "1a", true},
        {"(?i)^[\\W]$", "s", false},
        {"(?i)^[\\W]$", "K", false},
        {"(?i)^[[:^upper:]]$", "a", false},
        {"(?i)^[^\\W]$", KELVIN, true},
        {"(?i)^[^s]$", LONG_S, false},
        {"^[\\W]$", KELVIN, true},
    };

    EACH(rows);
}
END_TEST

/* No lookaround, no backreference, nothing possessive: what an automaton cannot
 * decide, and what PCRE2 has besides. */
START_TEST(point_9_what_re2_lacks_is_refused)
{
    static const struct {
        const char *pattern, *words;
        unsigned at;
    } rows[] = {
        {EACUTE "(?=a)", "(?= is not supported: RE2 has no look", 2},
        {"(?!a)", "(?! is not supported", 1},
        {"(?<=a)b", "(?<= is not supported", 1},
        {"(?<!a)b", "(?<! is not supported", 1},
        {"(a)\\1", "no backreferences", 4},
        {"\\8", "no backreferences", 1},
        {"(?P<n>a)(?P=n)", "(?P= is not supported: RE2", 9},
        {"(?P<n>a)\\k<n>", "\\k is not supported: RE2 has no backreferences",
         9},
        {"(a)\\g{1}", "\\g is not supported", 4},
        {"a++", "remove the second +", 3},
        {"a*+", "possessive", 3},
        {"a**", "put a group around it", 3},
        {"a{2}{3}", "put a group around it", 5},
        {"a+??", "put a group around it", 4},
        {"(?>a)", "(?> is not supported", 1},
        {"(?|a)", "(?| is not supported", 1},
        {"(?#a)", "remove the comment", 1},
        {"(?R)", "cannot call themselves", 1},
        {"(?P>n)", "cannot call themselves", 1},
        {"(?C1)", "(?C is not supported", 1},
        {"(?(1)a)", "(?( is not supported", 1},
        {"(?x)a", "remove the spaces", 1},
        {"(?i-)a", "the flags i m s U", 1},
        {"(?z)a", "the flags i m s U", 1},
        {"(?", "the flags", 1},
        {"(?P<>a)", "the name of a group", 1},
        {"(?P<a b>a)", "the name of a group", 1},
        {"(*ACCEPT)", "nothing before * can be repeated", 2},
        {"a\\Z", "write \\n?\\z", 2},
        {"\\G", "\\G is not supported", 1},
        {"\\K", "\\K is not supported", 1},
        {"\\R", "\\R is not supported", 1},
        {"\\X", "\\X is not supported", 1},
        {"\\h", "write [\\t ]", 1},
        {"\\H", "\\H is not supported", 1},
        {"\\N", "write [^\\n]", 1},
        {"\\C", "which matches a whole character", 1},
        {"\\E", "none is open", 1},
        {"\\cA", "write \\x and two digits", 1},
        {"\\e", "write \\x1B", 1},
        {"\\u0041", "write \\x{...}", 1},
        {"\\y", "unknown escape", 1},
        {"\\" EACUTE, "unknown escape", 1},
        {"\\x4", "two hexadecimal digits", 1},
        {"\\x{110000}", "at most 10FFFF", 1},
        {"\\x{}", "needs hexadecimal digits", 1},
        {"\\p{Klingon}", "no property 'Klingon'", 1},
        {"\\p{Letter}", "no property 'Letter'", 1},
        {"\\p{greek}", "no property", 1},
        {"\\p", "need a letter", 1},
        {"\\p{", "need a letter", 1},
        {"[[:foo:]]", "unknown class [:foo:]", 2},
        {"[\\b]", "unknown escape", 2},
        {"[b-a]", "ends before it begins", 2},
        {"[a-\\d]", "unknown escape", 4},
        {"[a", "closed by ]", 1},
        {"[]", "closed by ]", 1},
        {"a{1001}", "at most 1000", 2},
        {"a{2,1001}", "at most 1000", 2},
        {"(?:a{100}){11}", "multiply to more than 1000", 11},
        {"a{2,1}", "ends before it begins", 2},
        {"*", "nothing before * can be repeated", 1},
        {"a|+", "nothing before + can be repeated", 3},
        {"{2}", "nothing before {", 1},
        {"(a", "closed by )", 1},
        {"a)", "write \\)", 2},
        {"a\\", "needs a character after it", 2},
        {"a\xFF", "not valid UTF-8", 2},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mortise_regex *re;
        char place[40];

        ck_assert_msg(mortise_regex_compile(&re, &arena, MORTISE_DIALECT_RE2,
                                            rows[i].pattern,
                                            strlen(rows[i].pattern), NULL,
                                            &err) == MORTISE_EINVAL,
                      "%s", rows[i].pattern);
        ck_assert_ptr_null(re);
        snprintf(place, sizeof place, "(at character %u)", rows[i].at);
        ck_assert_msg(strstr(err.msg, rows[i].words) != NULL &&
                          strstr(err.msg, place) != NULL,
                      "%s: %s", rows[i].pattern, err.msg);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("re2");
    TCase *tc = tcase_create("re2");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, point_9_flags_are_those_of_re2);
    tcase_add_test(tc, point_9_escapes_are_those_of_re2);
    tcase_add_test(tc, point_9_sets_are_those_of_re2);
    tcase_add_test(tc, point_9_what_re2_lacks_is_refused);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
