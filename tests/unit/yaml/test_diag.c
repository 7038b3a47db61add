/* test_diag.c -- findings: owned, clean, bounded, sorted, in the right place.
 */
#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lang/yaml/codes.h"
#include "lang/yaml/diag.h"
#include "lang/yaml/tree.h"

static struct mortise_diags diags;
static struct mortise_buf out;

static void begin(void)
{
    test_begin();
    mortise_diags_init(&diags, &test_mem);
    mortise_buf_init(&out, &test_mem);
}

static void end(void)
{
    mortise_diags_finish(&diags);
    mortise_buf_finish(&out);
    test_nothing_left();
}

static const char *text(void)
{
    mortise_buf_clear(&out);
    mortise_diags_format(&diags, &out);
    return mortise_buf_cstr(&out);
}

/* A finding about `word` in a file of that text; the file is gone after. */
static void find_word(const char *source, const char *word)
{
    struct mortise_arena a;
    struct mortise_yaml *root;
    const struct mortise_yaml *at;
    struct mortise_diag *d;

    mortise_arena_init(&a, &test_mem);
    ck_assert_int_eq(
        mortise_yaml_parse(&root, &a, "a.yaml", source, strlen(source), &diags),
        MORTISE_OK);
    at = mortise_yaml_get(root, word);
    ck_assert_ptr_nonnull(at);
    d = mortise_diag_add(&diags, "E0301", at->span, "no node '%s'", at->str);
    mortise_diag_help(&diags, d, "did you mean '%s'?", "b");
    mortise_arena_finish(&a);
}

/* The format of the design, to the letter, from a file that is gone. */
START_TEST(a_finding_prints_as_designed)
{
    find_word("a: 1\nto: aprove_refund\n", "to");
    ck_assert_str_eq(text(), "a.yaml:2:5: error[E0301]: no node "
                             "'aprove_refund'\n"
                             "    2 | to: aprove_refund\n"
                             "      |     ^^^^^^^^^^^^^\n"
                             "help: did you mean 'b'?\n");
}
END_TEST

/* The caret counts characters and the column bytes, behind letters of several
 * bytes and behind tabs. */
START_TEST(the_caret_stands_under_its_character)
{
    find_word("{\"\xC3\xA4\xC3\xB6\":\t1, to: \xE2\x82\xAC"
              "x}",
              "to");
    ck_assert_str_eq(text(), "a.yaml:1:17: error[E0301]: no node "
                             "'\xE2\x82\xAC"
                             "x'\n"
                             "    1 | {\"\xC3\xA4\xC3\xB6\": 1, to: "
                             "\xE2\x82\xAC"
                             "x}\n"
                             "      |               ^^\n"
                             "help: did you mean 'b'?\n");
}
END_TEST

/* Of a line of a megabyte a window is shown, and of a long word its begin. */
START_TEST(a_long_line_shows_as_a_window)
{
    size_t n = 1 << 20;
    char *source = malloc(n + 32);
    const char *t;

    memset(source, ' ', n);
    source[0] = '{';
    memcpy(source + n / 2, "to: ", 4);
    memset(source + n / 2 + 4, 'b', 5000);
    strcpy(source + n, "}");
    find_word(source, "to");
    t = text();
    ck_assert_uint_lt(strlen(t), 2000);
    ck_assert_ptr_nonnull(strstr(t, "    1 | ...    "));
    ck_assert_ptr_nonnull(strstr(t, "bbbb...\n"));
    free(source);
}
END_TEST

/* No control character of a file reaches the terminal. */
START_TEST(escapes_do_not_get_through)
{
    find_word("{to: \"\\e[31mred\\x9b\\0\"}", "to");
    mortise_diag_add(&diags, "E0101", (struct mortise_span){0}, "%s",
                     "a\xFF\x01z\xC2\x9B");
    for (const char *p = text(); *p != '\0'; p++)
        ck_assert(*p == '\n' || (unsigned char)*p >= 0x20);
    ck_assert_ptr_nonnull(strstr(out.p, "\\x1b[31mred\\x9b"));
    ck_assert_ptr_nonnull(strstr(out.p, "error[E0101]: a\\xff\\x01z\\x9b\n"));
}
END_TEST

/* Sorted by file and place, and what was found twice is shown once. */
START_TEST(findings_are_sorted_and_not_repeated)
{
    struct mortise_source_file b = {.path = "b"}, a = {.path = "a"};
    struct mortise_span b2 = {&b, 2, 1, 2, 1}, a9 = {&a, 9, 1, 9, 1},
                        a1 = {&a, 1, 5, 1, 5};
    const char *t;

    mortise_diag_add(&diags, "E0301", b2, "fourth");
    mortise_diag_add(&diags, "W0802", a9, "third");
    mortise_diag_add(&diags, "E0301", a1, "second");
    mortise_diag_add(&diags, "E0201", a1, "first");
    mortise_diag_add(&diags, "E0301", a1, "second");
    ck_assert_uint_eq(diags.n_errors, 4);
    t = text();
    ck_assert_str_eq(t, "a:1:5: error[E0201]: first\n"
                        "a:1:5: error[E0301]: second\n"
                        "a:9:1: warning[W0802]: third\n"
                        "b:2:1: error[E0301]: fourth\n");
}
END_TEST

/* The same as JSON that parses. */
START_TEST(findings_are_json)
{
    json_t *v;
    json_int_t col;
    const char *code, *help;

    find_word("{to: \"\\e\\x9b\"}", "to");
    mortise_diag_add(&diags, "W0802", (struct mortise_span){0}, "x");
    mortise_diags_json(&diags, &out);
    v = json_loadb(out.p, out.n, 0, NULL);
    ck_assert_ptr_nonnull(v);
    ck_assert_int_eq(json_unpack(v, "{s:[{s:n},{s:s,s:I,s:s}]}", "findings",
                                 "path", "code", &code, "col", &col, "help",
                                 &help),
                     0);
    ck_assert_str_eq(code, "E0301");
    ck_assert_int_eq(col, 6);
    ck_assert_str_eq(help, "did you mean 'b'?");
    json_decref(v);
}
END_TEST

/* Of many errors, and of many warnings, the first 500 are kept; the others are
 * counted, in words and as JSON, and a help for one of them goes nowhere. */
START_TEST(findings_are_bounded)
{
    json_t *v;
    json_int_t more;

    for (int i = 0; i < 800; i++) {
        mortise_diag_help(&diags,
                          mortise_diag_add(&diags, "E0301",
                                           (struct mortise_span){0}, "e%d", i),
                          "help %d", i);
        mortise_diag_add(&diags, "W0802", (struct mortise_span){0}, "w%d", i);
    }
    ck_assert_uint_eq(diags.n, 1000);
    ck_assert_uint_eq(diags.n_errors, 800);
    ck_assert_uint_eq(mortise_diags_count_lost(&diags), 600);
    ck_assert_uint_eq(mortise_diags_count_lost_errors(&diags), 300);
    ck_assert_ptr_nonnull(strstr(text(), "warning[W0802]: w499\n"));
    ck_assert_ptr_nonnull(strstr(text(), "help: help 499\n"));
    ck_assert_ptr_null(strstr(text(), "help 500"));
    ck_assert_ptr_nonnull(
        strstr(text(), "\n600 more findings are not shown\n"));
    mortise_buf_finish(&out);
    mortise_diags_json(&diags, &out);
    v = json_loadb(out.p, out.n, 0, NULL);
    ck_assert_int_eq(json_unpack(v, "{s:I}", "left_out", &more), 0);
    ck_assert_int_eq(more, 600);
    json_decref(v);
}
END_TEST

/* What memory could not hold is missing, but it counts as an error. */
START_TEST(findings_survive_oom)
{
    struct mortise_source_file f = {.path = "a", .text = "abc\n", .size = 4};
    static const uint32_t lines[] = {0};
    int n = 0;

    f.line_at = lines;
    f.n_lines = 1;
    do {
        struct mortise_diags d;
        struct mortise_span at = {&f, 1, 1, 1, 3};

        mortise_diags_init(&d, &test_mem);
        test_mem_fail_at(n++);
        for (int i = 0; i < 20; i++)
            mortise_diag_help(&d, mortise_diag_add(&d, "E0301", at, "m%d", i),
                              "h");
        mortise_diags_format(&d, &out);
        ck_assert_uint_eq(d.n_errors, 20);
        ck_assert(d.failed || out.failed || !test_mem_failed());
        mortise_diags_finish(&d);
        mortise_buf_finish(&out);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 5);
}
END_TEST

/* Codes are sorted, complete and found. */
START_TEST(codes_are_in_order)
{
    for (size_t i = 0; i < mortise_n_codes; i++) {
        const struct mortise_code *c = &mortise_codes[i];

        ck_assert_uint_eq(strlen(c->code), 5);
        ck_assert_ptr_eq(mortise_code(c->code), c);
        ck_assert(i == 0 || strcmp(c[-1].code, c->code) < 0);
        ck_assert_uint_gt(strlen(c->title), 5);
        ck_assert(c->explanation[strlen(c->explanation) - 1] == '.');
    }
    ck_assert_ptr_null(mortise_code("E9999"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("diag");
    TCase *tc = tcase_create("diag");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_finding_prints_as_designed);
    tcase_add_test(tc, the_caret_stands_under_its_character);
    tcase_add_test(tc, a_long_line_shows_as_a_window);
    tcase_add_test(tc, escapes_do_not_get_through);
    tcase_add_test(tc, findings_are_sorted_and_not_repeated);
    tcase_add_test(tc, findings_are_json);
    tcase_add_test(tc, findings_are_bounded);
    tcase_add_test(tc, findings_survive_oom);
    tcase_add_test(tc, codes_are_in_order);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
