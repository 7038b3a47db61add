/* test_yaml.c -- trees: what is read, where it stood, what is refused. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/test.h"
#include "lang/yaml/tree.h"

static struct mortise_diags diags;
static struct mortise_arena arena;

static void begin(void)
{
    test_begin();
    mortise_diags_init(&diags, &test_mem);
    mortise_arena_init(&arena, &test_mem);
}

static void end(void)
{
    mortise_diags_finish(&diags);
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static struct mortise_yaml *read_n(const char *text, size_t n)
{
    struct mortise_yaml *root;
    int rv = mortise_yaml_parse(&root, &arena, "t", text, n, &diags);

    ck_assert_int_eq(rv, diags.n_errors > 0 ? MORTISE_ECHECK : MORTISE_OK);
    ck_assert(root != NULL || diags.n_errors > 0);
    for (size_t i = 0; root != NULL && i < diags.n; i++)
        ck_assert_str_eq(diags.list[i].code, "E0108");
    return root;
}

static const struct mortise_yaml *good(const char *text)
{
    const struct mortise_yaml *root = read_n(text, strlen(text));

    ck_assert_msg(root != NULL, "%s: %s", text,
                  diags.n > 0 ? diags.list[0].message : "");
    return root;
}

/* One finding with this code at this place. */
static void bad_n(const char *text, size_t n, const char *code, unsigned line,
                  unsigned col)
{
    read_n(text, n);
    ck_assert_msg(diags.n == 1, "%s: %zu findings", text, diags.n);
    ck_assert_str_eq(diags.list[0].code, code);
    ck_assert_msg(
        diags.list[0].span.line == line && diags.list[0].span.col == col,
        "%s: at %u:%u", text, diags.list[0].span.line, diags.list[0].span.col);
    mortise_diags_finish(&diags);
}

static void bad(const char *text, const char *code, unsigned line, unsigned col)
{
    bad_n(text, strlen(text), code, line, col);
}

/* ---- values ---------------------------------------------------------- */

static const struct {
    const char *text;
    enum mortise_yaml_kind kind;
    const char *json;
} scalars[] = {
    {"~", MORTISE_YAML_NULL, "null"},
    {"null", MORTISE_YAML_NULL, "null"},
    {"Null", MORTISE_YAML_NULL, "null"},
    {"NULL", MORTISE_YAML_NULL, "null"},
    {"", MORTISE_YAML_NULL, "null"},
    {"nULL", MORTISE_YAML_STRING, "\"nULL\""},
    {"true", MORTISE_YAML_BOOL, "true"},
    {"True", MORTISE_YAML_BOOL, "true"},
    {"FALSE", MORTISE_YAML_BOOL, "false"},
    {"no", MORTISE_YAML_STRING, "\"no\""},
    {"on", MORTISE_YAML_STRING, "\"on\""},
    {"y", MORTISE_YAML_STRING, "\"y\""},
    {"0", MORTISE_YAML_INT, "0"},
    {"-0", MORTISE_YAML_INT, "0"},
    {"+7", MORTISE_YAML_INT, "7"},
    {"017", MORTISE_YAML_INT, "17"},
    {"0o17", MORTISE_YAML_INT, "15"},
    {"0o8", MORTISE_YAML_STRING, "\"0o8\""},
    {"0xFf", MORTISE_YAML_INT, "255"},
    {"0x", MORTISE_YAML_STRING, "\"0x\""},
    {"-0x1", MORTISE_YAML_STRING, "\"-0x1\""},
    {"9223372036854775807", MORTISE_YAML_INT, "9223372036854775807"},
    {"-9223372036854775808", MORTISE_YAML_INT, "-9223372036854775808"},
    {"1_000", MORTISE_YAML_STRING, "\"1_000\""},
    {"1:30", MORTISE_YAML_STRING, "\"1:30\""},
    {"-", MORTISE_YAML_SEQ, "[null]"},
    {"1.5", MORTISE_YAML_REAL, "1.5"},
    {".5", MORTISE_YAML_REAL, "0.5"},
    {"1.", MORTISE_YAML_REAL, "1.0"},
    {"-1e3", MORTISE_YAML_REAL, "-1000.0"},
    {"1e", MORTISE_YAML_STRING, "\"1e\""},
    {"-.nan", MORTISE_YAML_STRING, "\"-.nan\""},
    {".", MORTISE_YAML_STRING, "\".\""},
    {"2026-01-02", MORTISE_YAML_STRING, "\"2026-01-02\""},
    {"'1'", MORTISE_YAML_STRING, "\"1\""},
    {"\"true\"", MORTISE_YAML_STRING, "\"true\""},
    {"'it''s'", MORTISE_YAML_STRING, "\"it's\""},
    {"\"\\u263A\"", MORTISE_YAML_STRING, "\"\\u263A\""},
    {"|\n    a\n    b\n", MORTISE_YAML_STRING, "\"a\\nb\\n\""},
    {">\n    a\n    b\n", MORTISE_YAML_STRING, "\"a b\\n\""},
    {"[1, {a: b}, x: y]", MORTISE_YAML_SEQ,
     "[1, {\"a\": \"b\"}, {\"x\": \"y\"}]"},
    {"{}", MORTISE_YAML_MAP, "{}"},
};

/* YAML 1.2's core schema, and no other. */
START_TEST(values_are_typed)
{
    char text[256];
    const struct mortise_yaml *v;
    json_t *want, *got;

    snprintf(text, sizeof text, "k:\n  %s\n", scalars[_i].text);
    v = mortise_yaml_get(good(text), "k");
    ck_assert_int_eq(v->kind, scalars[_i].kind);
    want = json_loads(scalars[_i].json, JSON_DECODE_ANY, NULL);
    got = mortise_yaml_to_json(v, false);
    ck_assert_msg(json_equal(want, got), "%s", text);
    ck_assert_int_eq(json_typeof(want), json_typeof(got));
    json_decref(want);
    json_decref(got);
}
END_TEST

/* JSON is YAML. */
START_TEST(json_reads_as_yaml)
{
    static const char text[] =
        "{\"a\": [1, -2.5e3, true, null, \"x\\n\\\"y\\\"\"],\n"
        "\t\"b\": {\"c\": \"\xE2\x82\xAC\"}}\n";
    json_t *want = json_loads(text, 0, NULL);
    json_t *got = mortise_yaml_to_json(good(text), false);

    ck_assert(json_equal(want, got));
    json_decref(want);
    json_decref(got);
}
END_TEST

/* `x-` keys are left out on demand, at any depth. */
START_TEST(x_keys_are_left_out)
{
    const struct mortise_yaml *v =
        good("{x-a: 1, b: {x-: 2, c: [{x-d: 3, e: 4}]}, X-f: 5}");
    json_t *want = json_loads("{\"b\":{\"c\":[{\"e\":4}]},\"X-f\":5}", 0, NULL);
    json_t *got = mortise_yaml_to_json(v, true), *all;

    ck_assert(json_equal(want, got));
    all = mortise_yaml_to_json(v, false);
    ck_assert_uint_eq(json_object_size(all), 3);
    json_decref(all);
    json_decref(want);
    json_decref(got);
}
END_TEST

/* An alias is what its anchor named last. */
START_TEST(aliases_are_expanded)
{
    json_t *want = json_loads("{\"a\":[1,{\"b\":2}],\"c\":[1,{\"b\":2}],"
                              "\"d\":3,\"e\":3}",
                              0, NULL);
    json_t *got = mortise_yaml_to_json(
        good("{a: &n [1, {b: 2}], c: *n , d: &n 3, e: *n }"), false);

    ck_assert(json_equal(want, got));
    json_decref(want);
    json_decref(got);
}
END_TEST

static const struct {
    const char *text;
    uint64_t ms, bytes; /* UINT64_MAX: none */
} units[] = {
    {"250ms", 250, UINT64_MAX},
    {"30s", 30000, UINT64_MAX},
    {"10m", 600000, UINT64_MAX},
    {"2h", 7200000, UINT64_MAX},
    {"7d", 604800000, UINT64_MAX},
    {"0s", 0, UINT64_MAX},
    {"64KiB", UINT64_MAX, 65536},
    {"2MiB", UINT64_MAX, 2097152},
    {"1B", UINT64_MAX, 1},
    {"5", UINT64_MAX, UINT64_MAX},
    {"'5'", UINT64_MAX, UINT64_MAX},
    {"-5s", UINT64_MAX, UINT64_MAX},
    {"1.5s", UINT64_MAX, UINT64_MAX},
    {"5 s", UINT64_MAX, UINT64_MAX},
    {"s", UINT64_MAX, UINT64_MAX},
    {"5S", UINT64_MAX, UINT64_MAX},
    {"5kb", UINT64_MAX, UINT64_MAX},
    {"99999999999999999999s", UINT64_MAX, UINT64_MAX},
    {"4503599627370497ms", UINT64_MAX, UINT64_MAX},
    {"99999999999999d", UINT64_MAX, UINT64_MAX},
    {"\"5s\\0\"", UINT64_MAX, UINT64_MAX},
    {"~", UINT64_MAX, UINT64_MAX},
    {"[]", UINT64_MAX, UINT64_MAX},
};

/* Durations and sizes carry a unit, and nothing overflows. */
START_TEST(units_are_read)
{
    char text[64];
    const struct mortise_yaml *v;
    uint64_t ms = UINT64_MAX, bytes = UINT64_MAX;

    snprintf(text, sizeof text, "k: %s", units[_i].text);
    v = mortise_yaml_get(good(text), "k");
    ck_assert_int_eq(mortise_yaml_parse_duration(v, &ms),
                     units[_i].ms == UINT64_MAX ? -1 : 0);
    ck_assert_uint_eq(ms, units[_i].ms);
    ck_assert_int_eq(mortise_yaml_parse_size(v, &bytes),
                     units[_i].bytes == UINT64_MAX ? -1 : 0);
    ck_assert_uint_eq(bytes, units[_i].bytes);
}
END_TEST

/* ---- places ---------------------------------------------------------- */

static void at(const struct mortise_yaml *v, unsigned line, unsigned col,
               unsigned end_line, unsigned end_col)
{
    ck_assert_ptr_nonnull(v);
    ck_assert_uint_eq(v->span.line, line);
    ck_assert_uint_eq(v->span.col, col);
    ck_assert_uint_eq(v->span.end_line, end_line);
    ck_assert_uint_eq(v->span.end_col, end_col);
}

/* Lines end with LF, CRLF or CR, columns count bytes, and a value behind an
 * anchor starts where the value does. */
START_TEST(places_are_exact)
{
    const struct mortise_yaml *v =
        good("a: 1\r\n\xC3\xA4: '\xE2\x82\xAC'\rb:\n- &x  yes\n- [p,\n q]\n"
             "c: {d: e}\nf:\n  g: h\n");

    at(mortise_yaml_key(v, "a"), 1, 1, 1, 2);
    at(mortise_yaml_get(v, "a"), 1, 4, 1, 5);
    at(mortise_yaml_key(v, "\xC3\xA4"), 2, 1, 2, 3);
    at(mortise_yaml_get(v, "\xC3\xA4"), 2, 5, 2, 10);
    at(mortise_yaml_get(v, "b"), 4, 1, 6, 4);
    at(mortise_yaml_get(v, "b")->items[0], 4, 7, 4, 10);
    at(mortise_yaml_get(v, "b")->items[1], 5, 3, 6, 4);
    at(mortise_yaml_get(v, "c"), 7, 4, 7, 10);
    at(mortise_yaml_get(v, "f"), 9, 3, 9, 7);
    at(v, 1, 1, 9, 7);
}
END_TEST

/* Offsets count right far behind letters of several bytes. */
START_TEST(places_are_exact_in_long_files)
{
    size_t n = 3000, len = 0;
    char *text = malloc(n * 16);
    const struct mortise_yaml *v;

    for (size_t i = 0; i < n; i++)
        len += (size_t)sprintf(text + len, "k%zu: \xE2\x82\xAC v\n", i);
    v = good(text);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(v->items[i]->span.line, i + 1);
        ck_assert_uint_eq(v->items[i]->span.col, v->keys[i]->len + 3);
        ck_assert_uint_eq(v->items[i]->span.end_col, v->keys[i]->len + 8);
    }
    ck_assert_str_eq(mortise_yaml_key(v, "k2999")->str, "k2999");
    free(text);
}
END_TEST

/* In JSON a character beyond U+FFFF may be a pair of escapes; places are those
 * of the file, behind it and inside. */
START_TEST(surrogate_pairs_of_json)
{
    const struct mortise_yaml *v =
        good("{\"a\": \"x\\ud83d\\ude00 \\uD83D\\uDE01y\", \"b\": 1,\n"
             " \"\\ud83d\\ude00\": [\"\\\\ud83d\\\\ude00\", \"\xC3\xA4\"],"
             " \"c\": true}\n");
    struct mortise_span s;

    ck_assert_str_eq(mortise_yaml_get(v, "a")->str,
                     "x\xF0\x9F\x98\x80 \xF0\x9F\x98\x81y");
    ck_assert_str_eq(mortise_yaml_get(v, "\xF0\x9F\x98\x80")->items[0]->str,
                     "\\ud83d\\ude00");
    s = mortise_yaml_get(v, "a")->span;
    ck_assert_uint_eq(s.col, 7);
    ck_assert_uint_eq(s.end_col, 36);
    ck_assert_uint_eq(mortise_yaml_key(v, "b")->span.col, 38);
    s = mortise_yaml_key(v, "\xF0\x9F\x98\x80")->span;
    ck_assert_uint_eq(s.line * 100 + s.col, 202);
    ck_assert_uint_eq(s.end_col, 16);
    s = mortise_yaml_key(v, "c")->span;
    ck_assert_uint_eq(s.line * 100 + s.col, 244);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "a"), 10, 1);
    ck_assert_uint_eq(s.col, 33 + 1);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "a"), 1, 4);
    ck_assert_uint_eq(s.col, 9);
    ck_assert_uint_eq(s.end_col, 21);
    bad("{\"a\": \"\\ud83d\\ude00\", \"b\": 1e999}", "E0116", 1, 28);
    bad("{\"a\": \"\\ud83d\\ude00\\ud83d\"}", "E0106", 1, 22);
    bad("{\"a\": \"\\ude00\\ud83d\"}", "E0106", 1, 10);
    bad("{\"a\": \"\\ud83d\\ude0\"}", "E0106", 1, 10);
}
END_TEST

/* So it is between double quotes of any YAML; elsewhere the same letters are a
 * text. */
START_TEST(surrogate_pairs_elsewhere)
{
    static const char *const texts[] = {
        "{'a': '\\ud83d\\ude00'}",        "{a: \\ud83d\\ude00}",
        "{a\"\\ud83d\\ude00\": 1}",       "[1, e\"\\ud83d\\ude00\"]",
        "a: |\n  {\"\\ud83d\\ude00\"}\n", "{# \"\n\"a\": \\ud83d\\ude00}",
    };
    const struct mortise_yaml *v;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *json = mortise_yaml_to_json(good(texts[i]), false);
        char *dump = json_dumps(json, JSON_COMPACT);

        ck_assert_msg(strstr(dump, "\\\\ud83d\\\\ude00") != NULL, "%s", dump);
        free(dump);
        json_decref(json);
    }
    v = good("# \"\nk: \"x\\ud83d\\ude00\" # \\ud83d\\ude00\n"
             "'it''s \"': \xC3\xA4 \"\nb: [\"\\\\ud83d\\\\ude00\", "
             "\"\\ud83d\\ude01\"]\nc: |\n  \"\\ud83d\\ude00\"\n");
    ck_assert_str_eq(mortise_yaml_get(v, "k")->str, "x\xF0\x9F\x98\x80");
    ck_assert_str_eq(mortise_yaml_get(v, "b")->items[0]->str, "\\ud83d\\ude00");
    ck_assert_str_eq(mortise_yaml_get(v, "b")->items[1]->str,
                     "\xF0\x9F\x98\x81");
    ck_assert_str_eq(mortise_yaml_get(v, "c")->str, "\"\\ud83d\\ude00\"\n");
    ck_assert_uint_eq(mortise_yaml_get(v, "k")->span.end_col, 19);
    ck_assert_uint_eq(mortise_yaml_get(v, "b")->items[1]->span.col, 23);
    bad("a: \"\\ud83d\\ude00\\ud83d\"\n", "E0106", 1, 19);
    bad("a: \"\\ud83d\\ude00\"\nb: \"\\ude00\"\n", "E0106", 2, 7);
}
END_TEST

/* A place inside a scalar, where it stands as it is written. */
START_TEST(places_inside_scalars)
{
    const struct mortise_yaml *v =
        good("plain: a ${b}\nquoted: 'a ${b}'\nescaped: \"a\\t${b}\"\n"
             "block: |\n  one\n\n    two ${b}\n  end\nfolded: >\n  a\n  b\n");
    struct mortise_span s;

    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "plain"), 4, 1);
    ck_assert_uint_eq(s.line * 100 + s.col, 112);
    ck_assert_uint_eq(s.end_col, 13);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "quoted"), 4, 1);
    ck_assert_uint_eq(s.line * 100 + s.col, 214);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "escaped"), 4, 1);
    ck_assert_uint_eq(s.line * 100 + s.col, 316);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "block"), 13, 1);
    ck_assert_uint_eq(s.line * 100 + s.col, 711);
    ck_assert_uint_eq(s.end_col, 12);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "folded"), 2, 1);
    ck_assert_uint_eq(s.line * 100 + s.col, 1103);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "plain"), 99, 1);
    ck_assert_uint_eq(s.col, 8);
    s = mortise_yaml_scalar_position(mortise_yaml_get(v, "plain"), 4, 99);
    ck_assert_uint_eq(s.end_col, 14);
}
END_TEST

/* However a scalar is written, the n-th @ of its value is the n-th @ of its
 * text; and whatever part of it is asked for lies inside it. */
START_TEST(each_byte_has_its_place)
{
    static const char *const texts[] = {
        "k: a@a @b@",
        "k: a@a\n  @b\n\n\n  c @",
        "k: a@a  \t\n   @b # no @",
        "k: 'it''s @ and ''@'''",
        "k: '@ a\n\n   @ '' b\n  @'",
        "k: \"\\t@\\\"\\\\@\\x41\\u00e9@\\U0001F600@\\N@\\L@\\_@\\/@\\ @\"",
        "k: \"@ a \\\n  @b\\\n\n  @ c\n\n  @\"",
        "k: \"a   \n   @\\n@\"",
        "k: |\n  @\n    @ @\n\n  @\n",
        "k: |2-\n    @\n  @\n\n\n",
        "k: |+ # a comment\n\n\n @\n @\n\n",
        "k: >\n  @ a\n  @\n\n  @\n    @\n    @\n  @\n\n\n  @\n",
        "k: >-\n\n  @\n  a @\n",
        "k: >\n   @\n\n     @\n\n   @\n",
        "k: &anchor \"\\n@\"",
        "k: &anchor |\n @\n @",
        "k: '@\r\n  @\r\n\r\n  @'",
        "k: |\r\n  @\r\n  @\r\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct mortise_yaml *v = mortise_yaml_get(good(texts[i]), "k");
        const struct mortise_source_file *f = v->span.file;
        const char *at = strstr(texts[i], "k:");

        for (const char *p = v->str; (p = strchr(p, '@')) != NULL; p++) {
            struct mortise_span s =
                mortise_yaml_scalar_position(v, (size_t)(p - v->str), 1);

            at = strchr(at + 1, '@');
            ck_assert_msg(at - texts[i] ==
                              f->line_at[s.line - 1] + (long)s.col - 1,
                          "%s: %u:%u", texts[i], s.line, s.col);
            ck_assert_uint_eq(s.end_col, s.col + 1);
        }
        for (size_t from = 0; from <= v->len; from++) {
            struct mortise_span s =
                mortise_yaml_scalar_position(v, from, v->len);

            ck_assert_uint_ge(s.line, v->span.line);
            ck_assert_uint_le(s.end_line, f->n_lines);
        }
    }
}
END_TEST

/* Pointers lead to the deepest node that is there. */
START_TEST(pointers_lead_in)
{
    const struct mortise_yaml *v = good("{a/b: {'~1': [x, y]}, '': z}");

    ck_assert_ptr_eq(mortise_yaml_find_at(v, ""), v);
    ck_assert_str_eq(mortise_yaml_find_at(v, "/a~1b/~01/1")->str, "y");
    ck_assert_str_eq(mortise_yaml_find_at(v, "/")->str, "z");
    ck_assert_ptr_eq(mortise_yaml_find_at(v, "/a~1b/no/1"), v->items[0]);
    ck_assert_int_eq(mortise_yaml_find_at(v, "/a~1b/~01/2")->kind,
                     MORTISE_YAML_SEQ);
    ck_assert_int_eq(mortise_yaml_find_at(v, "/a~1b/~01/1x")->kind,
                     MORTISE_YAML_SEQ);
}
END_TEST

/* ---- refusals -------------------------------------------------------- */

START_TEST(refusals_have_a_place)
{
    bad("", "E0103", 1, 1);
    bad("# only this\n\n", "E0103", 1, 1);
    bad("---\n", "E0103", 1, 1);
    bad("a: \xFF\n", "E0104", 1, 4);
    bad("a: \xC3\xA4\x01\n", "E0104", 1, 6);
    bad("a:\n  - \xE2\x80\xA8\n", "E0104", 2, 5);
    bad_n("a: b\nc\0: d", 10, "E0104", 2, 2);
    bad("\xEF\xBB\xBF"
        "a: b\n",
        "E0105", 1, 1);
    bad("a: b: c\n", "E0106", 1, 5);
    bad("a: [1, 2\nb: 3\n", "E0106", 2, 2);
    bad("a: @x\n", "E0106", 1, 4);
    bad("a: \"x\n", "E0106", 2, 1);
    bad("a:\n\tb: c\n", "E0107", 2, 1);
    bad("a: 1\nb: 2\na: 3\n", "E0108", 3, 1);
    bad("a: {b: 1, \"b\": 2}\n", "E0108", 1, 11);
    bad("a: 1\n2: 3\n", "E0109", 2, 1);
    bad("? [a]\n: b\n", "E0109", 1, 3);
    bad("{true: a}\n", "E0109", 1, 2);
    bad("\"a\\0b\": c\n", "E0109", 1, 1);
    bad("a: &x {c: d}\nb:\n  <<: *x\n", "E0110", 3, 3);
    bad("a: !!str 1\n", "E0111", 1, 4);
    bad("a: !x {}\n", "E0111", 1, 4);
    bad("%YAML 1.1\n---\na: b\n", "E0111", 1, 1);
    bad("%YAML 1.3\n---\na: b\n", "E0111", 1, 1);
    bad("%TAG ! !x\n---\na: b\n", "E0111", 1, 1);
    bad("a: b\n---\nc: d\n", "E0112", 2, 1);
    bad("a: *b\n", "E0115", 1, 4);
    bad("a: &b [*b ]\n", "E0115", 1, 8);
    bad("a: 9223372036854775808\n", "E0116", 1, 4);
    bad("a: -9223372036854775809\n", "E0116", 1, 4);
    bad("a: 0xFFFFFFFFFFFFFFFFF\n", "E0116", 1, 4);
    bad("a: 1e999\n", "E0116", 1, 4);
    bad("a: -.Inf\n", "E0116", 1, 4);
    bad("a: .nan\n", "E0116", 1, 4);
    good("%YAML 1.2\n---\na: b\n...\n");
    good("{\"<<\": 1}");
}
END_TEST

/* Issue 15, point 9: a tab with which the text of a block begins is no
 * indentation, which is told where it ends; one that stands where indentation
 * is wanted is called so. */
START_TEST(point_9_a_tab_in_a_block_is_no_indentation)
{
    static const char *const text[] = {
        "a:\n  b: |\n    \tx\n", "a:\n  b: >-\n    \tx\n    y\n",
        "a:\n  b: | # 2\n\n    \tx\n", "a:\n- b: |\r\n   \r\n    \tx\r\n"};

    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        read_n(text[i], strlen(text[i]));
        ck_assert_uint_eq(diags.n, 1);
        ck_assert_str_eq(diags.list[0].code, "E0106");
        ck_assert_ptr_nonnull(strstr(diags.list[0].message, "begins with a "
                                                            "tab"));
        ck_assert_str_eq(diags.list[0].help,
                         "give the number of spaces: write 2 after the | or >");
        mortise_diags_finish(&diags);
    }
    ck_assert_str_eq(
        mortise_yaml_find_at(good("a:\n  b: |2\n    \tx\n"), "/a/b")->str,
        "\tx\n");
    ck_assert_str_eq(
        mortise_yaml_find_at(good("a:\n  b: |\n    x\n    \ty\n"), "/a/b")->str,
        "x\n\ty\n");
    bad("a:\n  b: |\n\tx\n", "E0107", 3, 1);
    bad("a:\n  b: |\n  \tx\n", "E0107", 3, 3);
    bad("a: |\n  x\n \ty\n", "E0107", 3, 2);
    bad("a: |4\n  \tx\n", "E0107", 2, 3);
}
END_TEST

/* Of a key that stands twice the first counts, for who reads on; where more is
 * wrong nobody does. */
START_TEST(the_first_of_two_keys_counts)
{
    static const char text[] = "c: 1\na: [2]\nb: 3\na: 4\nb: 5\na: 6\n";
    const struct mortise_yaml *root = read_n(text, sizeof text - 1);

    ck_assert_uint_eq(diags.n, 3);
    ck_assert_uint_eq(root->n, 3);
    ck_assert_int_eq(mortise_yaml_get(root, "a")->kind, MORTISE_YAML_SEQ);
    ck_assert_int_eq(mortise_yaml_get(root, "b")->u.i, 3);
    ck_assert_int_eq(mortise_yaml_get(root, "c")->u.i, 1);
    ck_assert_str_eq(root->keys[2]->str, "b");
    ck_assert_uint_eq(root->span.end_line, 6);
    mortise_diags_finish(&diags);
    ck_assert_ptr_null(read_n("a: 1\na: 2\nb: !!str 3\n", 21));
    ck_assert_ptr_null(read_n("a: 1\na: 2\nb: [\n", 15));
    mortise_diags_finish(&diags);
}
END_TEST

/* All that can be found in one reading is found. */
START_TEST(findings_do_not_hide_each_other)
{
    read_n("a: !t 1\na: 99999999999999999999\n3: *c\n", 37);
    ck_assert_uint_eq(diags.n, 5);
}
END_TEST

/* n times the same, behind a prefix. */
static char *repeat(const char *prefix, const char *s, size_t n)
{
    size_t np = strlen(prefix), ns = strlen(s);
    char *text = malloc(np + n * ns + 1);

    memcpy(text, prefix, np);
    for (size_t i = 0; i < n; i++)
        memcpy(text + np + i * ns, s, ns);
    text[np + n * ns] = '\0';
    return text;
}

/* 64 deep is deep enough, aliases count as what they stand for, and the
 * million laughs stay away. */
START_TEST(nesting_and_aliases_are_bounded)
{
    char *text = repeat("", "[", 65);
    char laughs[4096] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    size_t n = strlen(laughs);

    bad(text, "E0113", 1, 65);
    free(text);
    text = repeat("", "[", 100000);
    bad(text, "E0113", 1, 65);
    free(text);
    text = repeat("", "[", 63);
    strcpy(text = realloc(text, 200), "");
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    good(text);
    free(text);
    for (int i = 1; i < 10; i++)
        n += (size_t)sprintf(laughs + n,
                             "a%d: &a%d [*a%d , *a%d , *a%d , *a%d , *a%d , "
                             "*a%d , *a%d , *a%d , *a%d ]\n",
                             i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
                             i - 1, i - 1, i - 1);
    read_n(laughs, n);
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, "E0114");
    mortise_diags_finish(&diags);
    text = repeat("- &a x\n", "- &a x\n", 1000);
    bad(text, "E0114", 1001, 3);
    free(text);
}
END_TEST

/* An alias deep in the tree of something deep is too deep. */
START_TEST(aliases_count_for_depth)
{
    char text[256];

    sprintf(text, "a: &a %.40s%.40s\nb: %.30s*a %.30s\n",
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
            "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    read_n(text, strlen(text));
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, "E0114");
}
END_TEST

/* Reading stays linear where a quadratic reader would take minutes. */
START_TEST(large_files_are_read)
{
    size_t n = 0;
    char *text = malloc(1 << 24);

    for (int i = 0; i < 100000; i++)
        n += (size_t)sprintf(text + n, "k%d: {a: [1, 2, x]}\n", i);
    ck_assert_ptr_nonnull(read_n(text, n));
    memset(text, ' ', 1 << 24);
    text = realloc(text, (1 << 24) + 1);
    text[1 << 24] = ' ';
    bad_n(text, (1 << 24) + 1, "E0102", 1, 1);
    text[(1 << 24) - 1] = 'x';
    ck_assert_ptr_nonnull(read_n(text, 1 << 24));
    free(text);
}
END_TEST

/* Files on disk: what cannot be read is a finding with the file's name. */
START_TEST(files_are_read_or_reported)
{
    const char *dir = test_mkdir();
    char path[4200];
    struct mortise_yaml *root;

    snprintf(path, sizeof path, "%s/a.yaml", dir);
    ck_assert_int_eq(mortise_yaml_read(&root, &arena, path, &diags),
                     MORTISE_ECHECK);
    ck_assert_ptr_null(root);
    ck_assert_str_eq(diags.list[0].code, "E0101");
    ck_assert_str_eq(diags.list[0].path, path);
    ck_assert_int_eq(mortise_yaml_read(&root, &arena, dir, &diags),
                     MORTISE_ECHECK);
    ck_assert_ptr_nonnull(strstr(diags.list[1].message, "cannot read"));
    test_write(path, "a: b\n", 5);
    ck_assert_int_eq(mortise_yaml_read(&root, &arena, path, &diags),
                     MORTISE_OK);
    ck_assert_str_eq(mortise_yaml_get(root, "a")->str, "b");
    ck_assert_str_eq(root->span.file->path, path);
    test_write(path, "", 0);
    ck_assert_int_eq(mortise_yaml_read(&root, &arena, path, &diags),
                     MORTISE_ECHECK);
    ck_assert_str_eq(diags.list[2].code, "E0103");
    test_rmdir(dir);
}
END_TEST

/* Reading copes with its first, second, ... allocation failing. */
START_TEST(reading_survives_oom)
{
    static const char text[] =
        "a: [1, \xC3\xA4, {c: d}]\nb: &x {y: z}\nd: *x\ne: !t q\n";
    struct mortise_yaml *root;
    int n = 0, rv;

    do {
        struct mortise_diags d;
        struct mortise_arena a;

        mortise_diags_init(&d, &test_mem);
        mortise_arena_init(&a, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_yaml_parse(&root, &a, "t", text, sizeof text - 1, &d);
        ck_assert(rv == MORTISE_ENOMEM || rv == MORTISE_ECHECK);
        ck_assert(rv != MORTISE_ENOMEM || test_mem_failed());
        ck_assert_ptr_null(root);
        mortise_diags_finish(&d);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("yaml");
    TCase *tc = tcase_create("yaml");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, values_are_typed, 0,
                        sizeof scalars / sizeof scalars[0]);
    tcase_add_test(tc, json_reads_as_yaml);
    tcase_add_test(tc, x_keys_are_left_out);
    tcase_add_test(tc, aliases_are_expanded);
    tcase_add_loop_test(tc, units_are_read, 0, sizeof units / sizeof units[0]);
    tcase_add_test(tc, places_are_exact);
    tcase_add_test(tc, places_are_exact_in_long_files);
    tcase_add_test(tc, surrogate_pairs_of_json);
    tcase_add_test(tc, surrogate_pairs_elsewhere);
    tcase_add_test(tc, places_inside_scalars);
    tcase_add_test(tc, each_byte_has_its_place);
    tcase_add_test(tc, pointers_lead_in);
    tcase_add_test(tc, refusals_have_a_place);
    tcase_add_test(tc, point_9_a_tab_in_a_block_is_no_indentation);
    tcase_add_test(tc, the_first_of_two_keys_counts);
    tcase_add_test(tc, findings_do_not_hide_each_other);
    tcase_add_test(tc, nesting_and_aliases_are_bounded);
    tcase_add_test(tc, aliases_count_for_depth);
    tcase_add_test(tc, large_files_are_read);
    tcase_add_test(tc, files_are_read_or_reported);
    tcase_add_test(tc, reading_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
