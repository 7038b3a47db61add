/* test_prefix.c -- what messages became before (plugins/prefix.h): it is found
 * where it is the same and whole, and nowhere else; and it stays small. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../plugins/prefix.h"
#include "lib/oom.h"
#include "lib/test.h"

#define SAID(role) "{\"role\":\"" role "\",\"parts\":[]}"

static struct prefixes known;
static char first[PREFIX_LEAST + 256]; /* [user] */

static void setup(void)
{
    test_begin();
    memset(&known, 0, sizeof known);
    snprintf(first, sizeof first,
             "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"%0*d\"}"
             "]}]",
             PREFIX_LEAST, 7);
}

static void teardown(void)
{
    prefixes_free(&known);
    test_nothing_left();
}

static mortise_jv list(const char *text)
{
    return mortise_jv_of(mortise_strz(text));
}

/* `first`, and that behind it; static. */
static const char *with(const char *more)
{
    static char text[2 * PREFIX_LEAST];

    snprintf(text, sizeof text, "%.*s%s]", (int)strlen(first) - 1, first, more);
    return text;
}

START_TEST(the_same_is_found)
{
    mortise_str made;

    prefix_keep(&known, list(first), mortise_strz("made"));
    ck_assert_uint_eq(prefix_find(&known, list(with("," SAID("assistant"))),
                                  &made),
                      strlen(first) - 1);
    ck_assert(mortise_str_is(made, "made"));
}
END_TEST

/* Not before somebody else, who might belong to what is there; nor where a byte
 * is another. */
START_TEST(nothing_else_is)
{
    mortise_str made;

    prefix_keep(&known, list(first), mortise_strz("made"));
    ck_assert_uint_eq(prefix_find(&known, list(first), &made), 0);
    ck_assert_uint_eq(
        prefix_find(&known, list(with("," SAID("user") "," SAID("assistant"))),
                    &made),
        0);
    first[100] ^= 1;
    ck_assert_uint_eq(
        prefix_find(&known, list(with("," SAID("assistant"))), &made), 0);
    ck_assert_uint_eq(prefix_find(&known, list("[]"), &made), 0);
    ck_assert_uint_eq(prefix_find(&known, mortise_jv_none(), &made), 0);
    prefix_keep(&known, list("[1]"), mortise_strz("short"));
    ck_assert_uint_eq(known.total, strlen(first) - 1 + 4);
}
END_TEST

/* What goes on takes the place of what it goes on from. */
START_TEST(the_longest_stays)
{
    char longer[2 * PREFIX_LEAST], again[2 * PREFIX_LEAST];
    mortise_str made;

    prefix_keep(&known, list(first), mortise_strz("made"));
    snprintf(longer, sizeof longer, "%s",
             with("," SAID("assistant") "," SAID("tool")));
    prefix_keep(&known, list(longer), mortise_strz("made more"));
    ck_assert_uint_eq(known.total, strlen(longer) - 1 + 9);
    snprintf(again, sizeof again, "%.*s,%s]", (int)strlen(longer) - 1, longer,
             SAID("assistant"));
    ck_assert_uint_eq(prefix_find(&known, list(again), &made),
                      strlen(longer) - 1);
    ck_assert(mortise_str_is(made, "made more"));
}
END_TEST

/* Of very many, and very large ones, only so much is kept. */
START_TEST(it_is_bounded)
{
    size_t size = PREFIX_BYTES / 5;
    char *large = malloc(size + 64);

    for (int i = 0; i < 3 * PREFIXES; i++) {
        snprintf(first, 64, "[{\"role\":\"user\",\"n\":%03d,\"parts\":[{", i);
        first[strlen(first)] = '"';
        prefix_keep(&known, list(first), mortise_strz("x"));
    }
    ck_assert_uint_le(known.total, (uint64_t)PREFIXES * sizeof first);
    for (int i = 0; i < 32; i++) {
        memset(large, 'a' + i % 26, size);
        large[size] = '\0';
        prefix_keep(&known, list(large), mortise_strz("x"));
        ck_assert_uint_le(known.total, PREFIX_BYTES);
    }
    free(large);
}
END_TEST

START_TEST(survives_oom)
{
    mortise_str made;

    if (!oom_works())
        return;
    for (int n = 0; n < 4; n++) {
        oom_fail_at(n);
        oom_around(true);
        prefix_keep(&known, list(first), mortise_strz("made"));
        oom_around(false);
        if (oom_failed())
            ck_assert_uint_eq(
                prefix_find(&known, list(with("," SAID("assistant"))), &made),
                0);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("prefix");
    TCase *tc = tcase_create("prefix");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_same_is_found);
    tcase_add_test(tc, nothing_else_is);
    tcase_add_test(tc, the_longest_stays);
    tcase_add_test(tc, it_is_bounded);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
