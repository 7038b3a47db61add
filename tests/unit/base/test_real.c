/* test_real.c -- doubles as text. */
#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/real.h"
#include "lib/test.h"

static void round_trip(double v)
{
    char text[MORTISE_REAL_TEXT];
    double back;
    size_t n = mortise_real_format(text, v);

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
    mortise_real_format(text, 5e-324);
    ck_assert_str_eq(text, "5e-324");
    mortise_real_format(text, 0.1);
    ck_assert_str_eq(text, "0.1");
    mortise_real_format(text, -INFINITY);
    ck_assert_str_eq(text, "-inf");
}
END_TEST

START_TEST(only_decimals_are_reals)
{
    static const char *const bad[] = {"",   ".",   "-",   "1e",  "e5",
                                      "1x", "0x1", "inf", "nan", "1,5",
                                      " 1", "1 ",  "1e+", "--1", "1.2.3"};
    double v;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t n = strlen(bad[i]);
        char *bytes = malloc(n != 0 ? n : 1); /* nothing behind: ASan looks */

        memcpy(bytes, bad[i], n);
        ck_assert_msg(mortise_real_parse(&v, bytes, n) == -1, "%s", bad[i]);
        free(bytes);
    }
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
    round_trip(1234.5678);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("real");
    TCase *tc = tcase_create("real");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, reals_read_back);
    tcase_add_test(tc, only_decimals_are_reals);
    tcase_add_test(tc, reals_ignore_the_locale);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
