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
