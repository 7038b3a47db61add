/* test_yaml_write.c -- what is written as YAML is read back as it was. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/test.h"
#include "lang/yaml/tree.h"
#include "lang/yaml/write.h"

static struct mortise_buf b;

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_buf_init(&b, &test_mem);
}

static void end(void)
{
    mortise_buf_finish(&b);
    test_nothing_left();
}

static json_t *read_back(void)
{
    struct mortise_diags diags;
    struct mortise_arena arena;
    struct mortise_yaml *root;
    json_t *out;

    mortise_diags_init(&diags, &test_mem);
    mortise_arena_init(&arena, &test_mem);
    ck_assert_msg(mortise_yaml_parse(&root, &arena, "x.yaml", b.p, b.n,
                                     &diags) == MORTISE_OK,
                  "%s in:\n%.*s", diags.n > 0 ? diags.list[0].message : "?",
                  (int)b.n, b.p);
    out = mortise_yaml_to_json(root, false);
    mortise_arena_finish(&arena);
    mortise_diags_finish(&diags);
    return out;
}

static void comes_back(const json_t *v)
{
    json_t *got;

    mortise_buf_clear(&b);
    ck_assert_int_eq(mortise_yaml_write(&b, v, NULL, NULL), MORTISE_OK);
    got = read_back();
    ck_assert_msg(json_equal(got, v), "written as:\n%.*s", (int)b.n, b.p);
    json_decref(got);
}

/* Words of any YAML, numbers, signs, blanks, escapes, what hides: as a value,
 * in a list and as a key they stay the strings that they are. */
START_TEST(strings_stay_strings)
{
    static const char *const all[] = {"",
                                      "no",
                                      "NO",
                                      "On",
                                      "y",
                                      "~",
                                      "null",
                                      "Null",
                                      "true",
                                      "1",
                                      "1e3",
                                      "0x1F",
                                      "12:30",
                                      "-",
                                      "- a",
                                      "--- a",
                                      "...",
                                      "? a",
                                      "a: b",
                                      "a:",
                                      ":a",
                                      "a #b",
                                      "#a",
                                      "<<",
                                      "*a",
                                      "&a",
                                      "!a",
                                      "|",
                                      ">",
                                      "%a",
                                      "@a",
                                      "`a",
                                      "'a'",
                                      "\"a\"",
                                      "a\"b",
                                      "{}",
                                      "[a]",
                                      " a",
                                      "a ",
                                      "a\nb",
                                      "a\n",
                                      "\ta",
                                      "a\\",
                                      "\\n",
                                      ".inf",
                                      "./a",
                                      "/a/b",
                                      ".",
                                      "=",
                                      "a,b",
                                      "\x1b[2Jm",
                                      "\x7f",
                                      "\u202ea",
                                      "\ufeff",
                                      "\xc2\x85",
                                      "\u2028",
                                      "h\u00e9",
                                      "\U0001F600",
                                      "http://h:80/p?q=1#f",
                                      "a~b/c",
                                      "${x}",
                                      "2001-01-01",
                                      "0o17",
                                      "+1",
                                      "plain"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        json_t *v =
            json_pack("{s:s, s:[s, [s]], s:{s:n}}", "k", all[i], "l", all[i],
                      all[i], "m", all[i][0] == '\0' ? "e" : all[i]);

        ck_assert_ptr_nonnull(v);
        comes_back(v);
        json_decref(v);
    }
}
END_TEST

/* Every kind of value, empty and nested in each other. */
START_TEST(values_come_back)
{
    static const char *const all[] = {
        "{}",
        "[]",
        "[null,true,false,0,-5,9223372036854775807,1.0,-0.5,1e300,5e-324]",
        "[[],[[]],{},[{}],{\"a\":{}}]",
        "{\"a\":{\"b\":{\"c\":[1,{\"d\":[2,[3,{\"e\":4}]]}]}},\"f\":[]}",
        "[[1,[2,[3]]],{\"a\":[{\"b\":1,\"c\":2},{\"b\":3}]}]"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        json_t *v = json_loads(all[i], 0, NULL);

        comes_back(v);
        json_decref(v);
    }
}
END_TEST

/* A string with a NUL inside survives, too. */
START_TEST(nul_comes_back)
{
    json_t *v = json_pack("[s#]", "a\0b", 3);

    comes_back(v);
    json_decref(v);
}
END_TEST

static const char *say(void *ud, const char *pointer)
{
    (void)ud;
    return strcmp(pointer, "/a~1b/1") == 0 ? "here\n- \x1b\xff" : NULL;
}

/* A note stands behind the value that its pointer names, on one line, and
 * cannot become part of the file. */
START_TEST(notes_stand_behind)
{
    json_t *v = json_loads("{\"a/b\":[1,[],3]}", 0, NULL), *got;

    ck_assert_int_eq(mortise_yaml_write(&b, v, say, NULL), MORTISE_OK);
    ck_assert_str_eq(mortise_buf_cstr(&b), "a/b:\n"
                                           "  - 1\n"
                                           "  - []  # here\\n- \\x1b\\xff\n"
                                           "  - 3\n");
    got = read_back();
    ck_assert(json_equal(got, v));
    json_decref(got);
    json_decref(v);
}
END_TEST

/* Writing copes with its first, second, ... allocation failing. */
START_TEST(writing_survives_oom)
{
    json_t *v = json_loads("{\"a\":[1,\"x y\",{\"b\":[]}]}", 0, NULL);
    int n = 0, rv;

    do {
        mortise_buf_finish(&b);
        mortise_buf_init(&b, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_yaml_write(&b, v, NULL, NULL);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 1);
    json_decref(v);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("yaml_write");
    TCase *tc = tcase_create("yaml_write");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, strings_stay_strings);
    tcase_add_test(tc, values_come_back);
    tcase_add_test(tc, nul_comes_back);
    tcase_add_test(tc, notes_stand_behind);
    tcase_add_test(tc, writing_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
