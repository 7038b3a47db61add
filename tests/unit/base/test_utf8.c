/* test_utf8.c -- UTF-8, strictly. */
#include <check.h>
#include <string.h>

#include "core/base/utf8.h"
#include "lib/test.h"

/* Overlong forms, surrogates, what lies beyond Unicode and what is cut short
 * are no characters; everything else goes there and back. */
START_TEST(utf8_is_strict)
{
    static const char *const bad[] = {
        "\xC0\x80",         "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF0\x80\x80\x80", "\x80",         "\xE2\x82",     "\xFF"};
    char text[4];
    uint32_t back;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert(!mortise_utf8_is_valid(bad[i], strlen(bad[i])));
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        size_t n = mortise_utf8_encode(text, cp);
        bool whole = n != 0 && mortise_utf8_decode(text, text + n, &back) == n;

        if (whole != (cp < 0xD800 || cp >= 0xE000) || (whole && back != cp))
            ck_abort_msg("U+%04X", cp);
    }
    ck_assert_uint_eq(mortise_utf8_encode(text, 0x110000), 0);
    ck_assert_uint_eq(mortise_utf8_count("a\xC3\xA9\xF0\x9F\x98\x80", 7), 3);
}
END_TEST

/* What is cut ends with a whole character. */
START_TEST(cutting_keeps_characters)
{
    static const char text[] = "a\xC3\xA9\xF0\x9F\x98\x80z";
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};

    for (size_t most = 0; most < sizeof kept / sizeof kept[0]; most++)
        ck_assert_uint_eq(mortise_utf8_get_prefix_size(text, 8, most),
                          kept[most]);
}
END_TEST

/* What nobody sees is known, to its last character, and can be written so that
 * it is seen. */
START_TEST(what_is_not_seen)
{
    static const uint32_t hidden[] = {
        0x1F,    0x9F,    0xAD,    0x34F,   0x61C,   0x115F, 0x1160, 0x17B5,
        0x180B,  0x180F,  0x200B,  0x200F,  0x2028,  0x202E, 0x2060, 0x206F,
        0x3164,  0xFE00,  0xFE0F,  0xFEFF,  0xFFA0,  0xFFF9, 0xFFFB, 0x1D173,
        0x1D17A, 0xE0000, 0xE0041, 0xE007F, 0xE0100, 0xE0FFF};
    static const uint32_t seen[] = {0x20,    0x7E,    0xA0,    0xAE,   0x2010,
                                    0x202F,  0x2070,  0xFDFF,  0xFFFD, 0x1D17B,
                                    0x1F600, 0xE1000, 0x10FFFF};
    char text[MORTISE_UTF8_ESCAPE];

    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        ck_assert_msg(mortise_utf8_is_hidden(hidden[i]), "U+%04X", hidden[i]);
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        ck_assert_msg(!mortise_utf8_is_hidden(seen[i]), "U+%04X", seen[i]);
    ck_assert_str_eq(mortise_utf8_escape(text, 0x200B), "\\u200b");
    ck_assert_str_eq(mortise_utf8_escape(text, 0xE0041), "\\udb40\\udc41");
    ck_assert_str_eq(mortise_utf8_escape(text, 0x10FFFF), "\\udbff\\udfff");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("utf8");
    TCase *tc = tcase_create("utf8");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, utf8_is_strict);
    tcase_add_test(tc, cutting_keeps_characters);
    tcase_add_test(tc, what_is_not_seen);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
