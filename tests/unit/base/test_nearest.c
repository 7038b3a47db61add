/* test_nearest.c -- "did you mean". */
#include <check.h>
#include <string.h>

#include "core/base/nearest.h"
#include "lib/test.h"

static const char *const names[] = {"approve", NULL, "charge", "reply", "a"};

static const char *nearest(const char *word)
{
    return mortise_nearest_find(word, names, sizeof names / sizeof names[0]);
}

/* A missing, a doubled, a wrong and two swapped letters are slips. */
START_TEST(a_slip_finds_its_word)
{
    ck_assert_str_eq(nearest("aprove"), "approve");
    ck_assert_str_eq(nearest("approvve"), "approve");
    ck_assert_str_eq(nearest("charqe"), "charge");
    ck_assert_str_eq(nearest("rpely"), "reply");
    ck_assert_str_eq(nearest("reply"), "reply");
    ck_assert_str_eq(
        mortise_nearest_find("cat", (const char *[]){"bat", "rat", "hat"}, 3),
        "bat"); /* the first of equals */
    ck_assert_str_eq(
        mortise_nearest_find(
            "out_per_mtok",
            (const char *[]){"input_per_mtok", "output_per_mtok"}, 2),
        "output_per_mtok"); /* of equals the one that begins like it */
}
END_TEST

/* Another word is not a slip, however short, and neither is a page of text. */
START_TEST(another_word_finds_nothing)
{
    char page[4096];

    memset(page, 'a', sizeof page - 1);
    page[sizeof page - 1] = '\0';
    ck_assert_ptr_null(nearest("refund"));
    ck_assert_ptr_null(nearest("b"));
    ck_assert_ptr_null(nearest(""));
    ck_assert_ptr_null(nearest(page));
    ck_assert_ptr_null(mortise_nearest_find("reply", NULL, 0));
    ck_assert_ptr_null(mortise_nearest_find("aaaa", (const char *[]){page}, 1));
}
END_TEST

/* One slip, and not in words that are nothing but that. */
START_TEST(slips_are_told)
{
    ck_assert(mortise_nearest_is_typo("aprove", "approve"));
    ck_assert(mortise_nearest_is_typo("rpely", "reply"));
    ck_assert(mortise_nearest_is_typo("reply", "repky"));
    ck_assert(!mortise_nearest_is_typo("reply", "reply"));
    ck_assert(!mortise_nearest_is_typo("amount", "count"));
    ck_assert(!mortise_nearest_is_typo("a1", "a2"));
    ck_assert(!mortise_nearest_is_typo("ab", "abc"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("nearest");
    TCase *tc = tcase_create("nearest");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_slip_finds_its_word);
    tcase_add_test(tc, another_word_finds_nothing);
    tcase_add_test(tc, slips_are_told);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
