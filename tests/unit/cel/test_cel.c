/* test_cel.c -- expressions: what they refuse, where they point, what they
 * may cost.  The language itself is tested by test_cel_conformance.c. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/cel/cel.h"
#include "core/json/path.h"
#include "lib/json.h"
#include "lib/test.h"

/* One state for most tests: three names, the second with a schema. */
static const char state_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"label\":{\"enum\":[\"refund\",\"other\"]},"
    "\"amount\":{\"type\":\"number\"},"
    "\"count\":{\"type\":\"integer\"},"
    "\"maybe\":{\"type\":[\"string\",\"null\"]},"
    "\"free\":{},"
    "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
    "\"properties\":{\"id\":{\"type\":\"integer\"}},"
    "\"additionalProperties\":false}}}}";
static const char state_json[] =
    "{\"label\":\"refund\",\"amount\":150.5,\"count\":3,\"maybe\":null,"
    "\"free\":{\"a-b\":[10,20,{\"k\":true}]},\"tags\":[{\"id\":1},{\"id\":2}]}";

static struct mortise_err err;
static struct mortise_arena arena;
static struct mortise_schema *schema;
static json_t *input, *scratch;
static struct mortise_cel_name names[4];
static const struct mortise_cel_scope scope = {.names = names, .n = 4};
static const json_t *values[4];
static struct mortise_cel_range where;

static json_t *parsed(const char *text)
{
    json_t *v = NULL;

    ck_assert_msg(mortise_json_parse(&v, text, strlen(text), &err) ==
                      MORTISE_OK,
                  "%s: %s", text, err.msg);
    return v;
}

static void begin(void)
{
    json_t *json;
    char at[32];

    test_begin();
    test_count_json();
    mortise_arena_init(&arena, &test_mem);
    json = parsed(state_schema);
    ck_assert_int_eq(
        mortise_schema_compile(&schema, &arena, json, at, sizeof at, &err),
        MORTISE_OK);
    json_decref(json);
    input = parsed("{\"s\":\"text\",\"n\":[1,2,3],\"o\":{\"k\":1.5}}");
    scratch = parsed(state_json);
    names[0] = (struct mortise_cel_name){"input", NULL};
    names[1] = (struct mortise_cel_name){"scratch", schema};
    names[2] = (struct mortise_cel_name){"output", NULL};
    names[3] = (struct mortise_cel_name){"state.scratch", schema};
    values[0] = input;
    values[1] = values[3] = scratch;
    values[2] = NULL;
}

static void finish(void)
{
    json_decref(input);
    json_decref(scratch);
    mortise_schema_finish(schema);
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static struct mortise_cel *compiled(const char *text)
{
    struct mortise_cel *prog;

    ck_assert_msg(mortise_cel_compile(&prog, &arena, text, strlen(text), &scope,
                                      &where, &err) == MORTISE_OK,
                  "%s: %s", text, err.msg);
    return prog;
}

/* The text is refused with that code and words, pointing at `at`. */
static void refused_as(int code, const char *text, const char *at,
                       const char *words)
{
    struct mortise_cel *prog;

    ck_assert_msg(mortise_cel_compile(&prog, &arena, text, strlen(text), &scope,
                                      &where, &err) == code,
                  "%s: %s", text, err.msg);
    ck_assert_ptr_null(prog);
    ck_assert_str_eq(err.msg, words);
    ck_assert_uint_le(where.offset + where.length, strlen(text));
    ck_assert_msg(where.length == strlen(at) &&
                      memcmp(text + where.offset, at, where.length) == 0,
                  "%s: points at %.*s", text, (int)where.length,
                  text + where.offset);
}

static void refused(const char *text, const char *at, const char *words)
{
    refused_as(MORTISE_EINVAL, text, at, words);
}

static int evaluated(const char *text, json_t **out)
{
    struct mortise_expr_env env = {values, 0};

    return mortise_cel_eval(compiled(text), &env, out, &where, &err);
}

static void gives(const char *text, const char *want)
{
    json_t *v;
    char *got;

    ck_assert_msg(evaluated(text, &v) == MORTISE_OK, "%s: %s", text, err.msg);
    got = mortise_json_to_text(&test_mem, v);
    ck_assert_msg(strcmp(got, want) == 0, "%s: %s", text, got);
    mortise_release_str(&test_mem, got);
    json_decref(v);
}

static void fails_as(int code, const char *text, const char *at,
                     const char *words)
{
    json_t *v;

    ck_assert_msg(evaluated(text, &v) == code, "%s", text);
    ck_assert_ptr_null(v);
    ck_assert_str_eq(err.msg, words);
    ck_assert_msg(where.length == strlen(at) &&
                      memcmp(text + where.offset, at, where.length) == 0,
                  "%s: points at %.*s", text, (int)where.length,
                  text + where.offset);
}

static void fails(const char *text, const char *at, const char *words)
{
    fails_as(MORTISE_EINVAL, text, at, words);
}

/* ---- text ------------------------------------------------------------ */

START_TEST(operators_bind_as_in_cel)
{
    gives("1 + 2 * 3 - 4", "3");
    gives("10 - 2 - 3", "5");
    gives("7 / 2 * 2 + 7 % 4", "9");
    gives("1 + 1 == 2 && 2 < 3 || 1 / 0 == 1", "true");
    gives("false || true && false", "false");
    gives("true ? 1 : true ? 2 : 3", "1");
    gives("-2 - -2", "0");
    gives("!true == false", "true");
    gives("1 in [1] && !(2 in [1])", "true");
    gives("-1.5e1 // a comment\n + 1.0", "-14.0");
    gives("[1, 2,][1]", "2");
    gives("{'a': 1,}", "{\"a\":1}");
    gives("  \t\r\n\f1", "1");
}
END_TEST

START_TEST(syntax_errors_point)
{
    refused("", "", "the expression is empty");
    refused("1 +", "", "expected a value, but the expression ends");
    refused("1 2", "2", "expected an operator, found '2'");
    refused("(1", "", "expected ')', but the expression ends");
    refused("[1 2]", "2", "expected ',' or ']', found '2'");
    refused("{1}", "}", "expected ':', found '}'");
    refused("{'a': 1 'b': 2}", "'b'", "expected ',' or '}', found ''b''");
    refused("size(1,)", ")", "expected an argument, found ')'");
    refused("true ? 1", "", "expected ':', but the expression ends");
    refused("input.", "", "expected a member's name, but the expression ends");
    refused("input.in", "in", "expected a member's name, found 'in'");
    refused("in", "in", "expected a value, found 'in'");
    refused("if", "if", "'if' is a reserved word");
    refused("1 = 2", "=", "no operator '=': write '=='");
    refused("1 & 2", "&", "no operator '&': write '&&'");
    refused("1 | 2", "|", "no operator '|': write '||'");
    refused("1 # 2", "#", "an expression cannot contain this character");
    refused("'a\xE2\x82\xAC' \xE2\x82\xAC", "\xE2\x82\xAC",
            "an expression cannot contain this character");
    refused("'abc", "'", "this string is not closed");
    refused("'''a'", "'", "this string is not closed");
    refused("'a\nb'", "'", "this string is not closed");
    refused("'a\\", "\\", "unknown escape");
    refused("'a\\q'", "\\q", "unknown escape");
    refused("'\\u12'", "u", "this escape needs more digits");
    refused("'\\07'", "\\", "an octal escape has three digits");
    refused("'\\ud800'", "d800", "this escape is not a valid character");
    refused("b'\\u0041'", "\\u",
            "bytes support \\x and octal escapes, not \\u");
    refused("`a`", "`a`", "expected a value, found '`a`'");
    refused("input.`a$`", "`",
            "only letters, digits, spaces and _.-/ are allowed between ``");
    refused("0x", "0x", "0x needs hexadecimal digits");
    refused("1a", "1a", "a name cannot follow a number directly");
    refused("9223372036854775808", "9223372036854775808",
            "this number does not fit into an int; a uint ends in 'u'");
    refused("99999999999999999999", "99999999999999999999",
            "this number does not fit into 64 bits");
    refused("1e999", "1e999", "this number is too large for a double");
    refused("has(input)", "has", "has() takes one member: has(a.b)");
    refused("[1].all(1, true)", "1",
            "all() needs a name for its variable here");
    refused("[1].all(a, a, true)", "a",
            "the two variables of all() need different names");
    refused("[1].map(x)", "map", "map() does not take 1 arguments");
    refused("1 + \xFF", "\xFF", "this byte is not valid UTF-8");
}
END_TEST

/* The text `unit` n times, then `middle`, then `tail` n times. */
static char *repeated(const char *unit, const char *middle, const char *tail,
                      size_t n)
{
    size_t nu = strlen(unit), nm = strlen(middle), nt = strlen(tail);
    char *text = malloc(n * (nu + nt) + nm + 1), *p = text;

    for (size_t i = 0; i < n; i++, p += nu)
        memcpy(p, unit, nu);
    memcpy(p, middle, nm);
    p += nm;
    for (size_t i = 0; i < n; i++, p += nt)
        memcpy(p, tail, nt);
    *p = '\0';
    return text;
}

/* Whatever nests or repeats without end is an answer, not a crash. */
START_TEST(hostile_text_is_refused)
{
    static const struct {
        const char *unit, *middle, *tail;
    } kinds[] = {{"(", "1", ")"},          {"[", "1", "]"},
                 {"{1:", "1", "}"},        {"-", "1", ""},
                 {"!", "true", ""},        {"- ", "(1)", ""},
                 {"size(", "''", ")"},     {"true ? 1 : ", "1", ""},
                 {"true ? ", "1", " : 1"}, {"1 + ", "1", ""},
                 {"1 == ", "1", ""},       {"[1].map(x, ", "x", ")"},
                 {"", "input", ".a"},      {"", "input", "[0]"},
                 {"", "input", ".a()"},    {"((((((((((", "", ""},
                 {"[-(!{1:", "", ""}};
    static const size_t sizes[] = {300, 5000, 100000};

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < 3; i++) {
            char *text = repeated(kinds[k].unit, kinds[k].middle, kinds[k].tail,
                                  sizes[i]);
            struct mortise_cel *prog;

            ck_assert_int_eq(mortise_cel_compile(&prog, &arena, text,
                                                 strlen(text), &scope, &where,
                                                 &err),
                             MORTISE_EINVAL);
            free(text);
        }
    }
}
END_TEST

/* ... and what stays below the bounds works. */
START_TEST(long_chains_work)
{
    char *text = repeated("", "true", " && true", 5000);
    json_t *v;

    ck_assert_int_eq(evaluated(text, &v), MORTISE_OK);
    ck_assert(json_is_true(v));
    json_decref(v);
    free(text);
    text = repeated("(", "1", ")", 200);
    ck_assert_int_eq(evaluated(text, &v), MORTISE_OK);
    json_decref(v);
    free(text);
    text = repeated("", "1", " + 1", 240);
    ck_assert_int_eq(evaluated(text, &v), MORTISE_OK);
    ck_assert_int_eq(json_integer_value(v), 241);
    json_decref(v);
    free(text);
    text = repeated(" ", "1", "", 65535);
    ck_assert_int_eq(evaluated(text, &v), MORTISE_OK);
    json_decref(v);
    free(text);
    /* Each literal costs its own length, not that of the rest. */
    text = repeated("", "[''", ",''", 20000);
    text = realloc(text, strlen(text) + 2);
    strcat(text, "]");
    ck_assert_int_eq(evaluated(text, &v), MORTISE_OK);
    ck_assert_uint_lt(arena.used, 8 << 20);
    json_decref(v);
    free(text);
}
END_TEST

/* What comes later is named, never half understood. */
START_TEST(what_is_not_in_this_build_says_so)
{
    refused_as(MORTISE_EUNAVAILABLE, "a.b.Msg{x: 1}", "{",
               "message literals of CEL are not available in this build");
    refused_as(MORTISE_EUNAVAILABLE, "input.?s", "?",
               "optional members of CEL are not available in this build");
    refused_as(MORTISE_EUNAVAILABLE, "input[?0]", "?",
               "optional elements of CEL are not available in this build");
    refused_as(MORTISE_EUNAVAILABLE, "[?1]", "?",
               "optional elements of CEL are not available in this build");
    refused_as(MORTISE_EUNAVAILABLE, "{?1: 2}", "?",
               "optional entries of CEL are not available in this build");
}
END_TEST

/* ---- checking -------------------------------------------------------- */

START_TEST(unknown_names_are_refused)
{
    refused("inptu.s", "inptu", "unknown name 'inptu', did you mean 'input'?");
    refused("x", "x", "unknown name 'x'");
    refused("sise('')", "sise",
            "unknown function 'sise', did you mean "
            "'size'?");
    refused("'a'.startswith('a')", "startswith",
            "unknown function 'startswith', did you mean 'startsWith'?");
    refused("[1, 2].mapp(x, x)", "mapp",
            "unknown function 'mapp', did you mean 'map'?");
    refused("[1, 2].exist_one(x, x > 1)", "exist_one",
            "unknown function 'exist_one', did you mean 'exists_one'?");
    refused("hass(input.s)", "hass",
            "unknown function 'hass', did you mean 'has'?");
    refused("frob(1)", "frob", "unknown function 'frob'");
    refused("contains('a', 'b')", "contains",
            "call contains on a value: x.contains(y)");
    refused("'1'.int()", "int",
            "call int with its argument in parentheses: int(x)");
    refused("size()", "size", "size() does not take 0 arguments");
    refused("'a'.contains('a', 'b')", "contains",
            "contains() does not take 2 arguments");
    refused("[1].map(x, x) == x", "x", "unknown name 'x'");
    refused("[1].map(x, .x)", "x", "unknown name 'x'");
}
END_TEST

/* A closed schema knows its members; an open one does not say. */
START_TEST(unknown_members_are_refused)
{
    refused("scratch.lable", "lable",
            "unknown member 'lable', did you mean 'label'?");
    refused("scratch[\"amuont\"] > 1.0", "\"amuont\"",
            "unknown member 'amuont', did you mean 'amount'?");
    refused("has(scratch.nothing)", "nothing", "unknown member 'nothing'");
    refused("scratch.tags[0].di", "di",
            "unknown member 'di', did you mean 'id'?");
    refused("scratch.tags.map(t, t.di)", "di",
            "unknown member 'di', did you mean 'id'?");
    refused("scratch.tags.exists(i, t, t.di == i)", "di",
            "unknown member 'di', did you mean 'id'?");
    refused("(true ? scratch : scratch).di", "di", "unknown member 'di'");
    compiled("scratch.free.whatever.comes");
    compiled("input.whatever");
    compiled("scratch[input.s]");
}
END_TEST

/* What the text itself makes has elements of known types. */
START_TEST(made_lists_and_maps_are_known)
{
    refused("[1, 2].map(x, x + 'a')", "+",
            "'+' cannot be applied to int and string");
    refused("input.s.split(',')[0] + 1", "+",
            "'+' cannot be applied to string and int");
    refused("{'a': 1, 'b': 2}.a.c", "c",
            "cannot read member 'c': int has no members");
    refused("([1] + [2])[0] && true", "[0]", "'&&' needs bool, not int");
    refused("{'a': 1}.transformMap(k, v, v + 'x')", "+",
            "'+' cannot be applied to int and string");
    refused("scratch.tags.filter(t, t.id > 1)[0].di", "di",
            "unknown member 'di', did you mean 'id'?");
    gives("[1, 'a'].exists(x, x == 'a')", "true");
    gives("[[1], ['a']][0][0] == 1", "true");
    gives("([] + [1])[0] + 1", "2");
    gives("{'a': 1, 'b': 'x'}.b + 'y'", "\"xy\"");
    gives("(true ? [1] : ['a'])[0] == 1", "true");
    gives("[1, 2].map(x, dyn(x)).all(x, x != 'a')", "true");
}
END_TEST

/* Clashes that no value could repair. */
START_TEST(clashes_of_types_are_refused)
{
    refused("scratch.label > 1", ">",
            "'>' cannot be applied to string and int");
    refused("scratch.label + 1", "+",
            "'+' cannot be applied to string and int");
    refused("scratch.amount + 1", "+",
            "'+' cannot be applied to double and int");
    refused("scratch.amount % 2.0", "%",
            "'%' cannot be applied to double and double");
    refused("scratch.maybe * 2", "*",
            "'*' cannot be applied to null or string and int");
    refused("scratch.label == 5", "==", "string and int are never equal");
    refused("scratch.tags != 'x'", "!=", "list and string are never equal");
    refused("!scratch.label", "!", "'!' needs bool, not string");
    refused("-scratch.label", "-", "'-' needs int or double, not string");
    refused("scratch.label && true", "label", "'&&' needs bool, not string");
    refused("true || 'x'", "'x'", "'||' needs bool, not string");
    refused("scratch.count ? 1 : 2", "count", "'?' needs bool, not int");
    refused("1 in scratch.label", "in",
            "the right side of 'in' needs list or map, not string");
    refused("scratch.label.size", "size",
            "cannot read member 'size': string has no members");
    refused("scratch.tags['a']", "'a'",
            "a list's index needs int or uint or double, not string");
    refused("scratch.count[0]", "[0]", "[] needs list or map, not int");
    refused("scratch.count.map(x, x)", "map",
            "this macro needs list or map, not int");
    refused("scratch.tags.filter(t, t.id)", "id",
            "this condition needs bool, not int");
    refused("scratch.tags.filter(t, t.id > 'x')", ">",
            "'>' cannot be applied to int and string");
    refused("size(scratch.count)", "count",
            "size() needs string or bytes or list or map, not int");
    refused("scratch.label.contains(1)", "1",
            "contains() needs string, not int");
    refused("(true ? 1 : 2) + 'x'", "+",
            "'+' cannot be applied to int and string");
    refused("{1.5: 1}", "1.5",
            "a map's key needs bool or int or uint or string, not double");
    refused("input.s.matches('(')", "'('",
            "not a regular expression of RE2: this group is not closed by ) "
            "(at character 1)");
}
END_TEST

/* What some value repairs passes, and so does what CEL itself allows. */
START_TEST(possible_types_pass)
{
    compiled("scratch.amount > 100 && scratch.count == 3.0");
    compiled("scratch.label == null");
    compiled("scratch.maybe == 'x' || scratch.maybe == null");
    compiled("scratch.maybe + 'x'");
    compiled("scratch.free + 1 > 2 || scratch.free == 'a'");
    compiled("(true ? 1 : 'x') + 1");
    gives("1 == 'a'", "false");
    gives("double(1.5) + double(2) + double(3u)", "6.5");
    gives("0 == 0u && 0 >= 0u && !(0 < 0u) && -1 < 0u", "true");
    gives("double('NaN') == double('NaN') || double('-inf') > 0.0", "false");
    gives("scratch.amount > 100 && scratch.count < 3.5", "true");
    gives("scratch.tags.map(t, t.id * 2)", "[2,4]");
}
END_TEST

/* ---- names ----------------------------------------------------------- */

/* Names with points are found whole; a macro's variable hides a name. */
START_TEST(names_are_looked_up_inside_out)
{
    gives("state.scratch.label", "\"refund\"");
    gives("[7].map(input, input)[0]", "7");
    gives("[7].map(input, .input.s)[0]", "\"text\"");
    refused("[{'scratch': 1}].map(state, state.scratch.label)", "label",
            "cannot read member 'label': int has no members");
}
END_TEST

START_TEST(macros_nest)
{
    gives("[1,2].map(x, [10,20].map(y, x + y))", "[[11,21],[12,22]]");
    gives("[1].map(x, [x + 1].map(x, x))", "[[2]]");
    gives("[1].map(a, [2].map(b, [3].map(c, [4].map(d, [5].map(e, [6].map(f, "
          "[7].map(g, [8].map(h, [9].map(i, [10].map(j, a+b+c+d+e+f+g+h+i+j"
          "))))))))))",
          "[[[[[[[[[[55]]]]]]]]]]");
    gives("input.exists(k, k == 's') && input.all(k, v, k in input)", "true");
    gives("input.transformMap(k, v, k != 's', size(v))", "{\"n\":3,\"o\":1}");
    gives("input.n.filter(x, x > 1).map(x, x % 2 == 1, x * x)", "[9]");
}
END_TEST

START_TEST(a_path_is_known_as_one)
{
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"scratch.label", "scratch.label"},
        {"scratch['free'][\"a-b\"][0]", "scratch.free.a-b[0]"},
        {"scratch.free['x y']['q\"']", "scratch.free[\"x y\"][\"q\\\"\"]"},
        {"scratch", "scratch"},
        {"state.scratch.label", "state.scratch.label"},
        {"scratch.free[-1]", NULL},
        {"scratch.free[1u]", NULL},
        {"scratch.free[input.s]", NULL},
        {"scratch.free['a\\u0000']", NULL},
        {"has(scratch.label)", NULL},
        {"scratch.amount + 1.0", NULL},
        {"[input].map(x, x.s)", NULL},
        {"1", NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = mortise_cel_get_path(compiled(cases[i].text));

        ck_assert_pstr_eq(path, cases[i].path);
    }
}
END_TEST

START_TEST(a_program_says_what_it_uses)
{
    ck_assert_uint_eq(mortise_cel_get_uses(compiled("1")), 0);
    ck_assert_uint_eq(mortise_cel_get_uses(compiled("input.n.map(x, x + "
                                                    "output.y)")),
                      1 | 4);
    ck_assert_uint_eq(mortise_cel_get_uses(compiled("state.scratch.label")), 8);
}
END_TEST

/* What its result may be, as JSON and in words. */
START_TEST(a_program_says_what_it_gives)
{
    static const struct {
        const char *text;
        unsigned types;
        const char *words;
    } cases[] = {{"input.s", MORTISE_T_ANY, "anything"},
                 {"1 < 2", MORTISE_T_BOOL, "bool"},
                 {"scratch.label", MORTISE_T_STRING, "string"},
                 {"[true]", MORTISE_T_ARRAY, "list"},
                 {"{'a': 1}", MORTISE_T_OBJECT, "map"},
                 {"1", MORTISE_T_INT | MORTISE_T_NUMBER, "int"},
                 {"input.s == 1 ? null : 1.5",
                  MORTISE_T_NULL | MORTISE_T_INT | MORTISE_T_NUMBER,
                  "null or double"},
                 {"duration('1s')", MORTISE_T_STRING, "duration"},
                 {"b'x'", 0, "bytes"}};
    char words[MORTISE_CEL_WORDS];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mortise_cel *prog = compiled(cases[i].text);

        ck_assert_uint_eq(mortise_cel_get_types(prog), cases[i].types);
        ck_assert_str_eq(mortise_cel_format_types(prog, words), cases[i].words);
    }
}
END_TEST

/* The text, the scope and its names may go when the program is compiled. */
START_TEST(a_program_keeps_nothing_of_its_makers)
{
    char *text = strdup("gone.s + 'x'"), *name = strdup("gone");
    struct mortise_cel_name own = {name, NULL};
    struct mortise_cel_scope one = {.names = &own, .n = 1};
    struct mortise_expr_env env = {values, 0};
    const json_t *none = NULL;
    struct mortise_cel *prog;
    json_t *v;

    ck_assert_int_eq(mortise_cel_compile(&prog, &arena, text, strlen(text),
                                         &one, NULL, &err),
                     MORTISE_OK);
    memset(text, '#', strlen(text));
    memset(name, '#', strlen(name));
    free(text);
    free(name);
    ck_assert_int_eq(mortise_cel_eval(prog, &env, &v, NULL, &err), MORTISE_OK);
    ck_assert_str_eq(json_string_value(v), "textx");
    json_decref(v);
    env.values = &none;
    ck_assert_int_eq(mortise_cel_eval(prog, &env, &v, NULL, &err),
                     MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "'gone' is not set here");
}
END_TEST

/* ---- evaluating ------------------------------------------------------ */

START_TEST(errors_say_where)
{
    fails("1 + input.nope", "nope", "no such key: 'nope'");
    fails("input['no pe']", "['no pe']", "no such key: 'no pe'");
    fails("{1: 2}[3]", "[3]", "no such key");
    fails("input.n[3]", "[3]", "index out of bounds");
    fails("input.n[-1]", "[-1]", "index out of bounds");
    fails("input.n[0.5]", "[0.5]", "the index of a list must be an integer");
    fails("input.s.x", "x", "string has no members");
    fails("output.x", "output", "'output' is not set here");
    fails("2 * (1 / 0)", "/", "division by zero");
    fails("1 % 0", "%", "division by zero");
    fails("9223372036854775807 + 1", "+", "integer overflow");
    fails("-9223372036854775808 / -1", "/", "integer overflow");
    fails("-9223372036854775808 % -1", "%", "integer overflow");
    fails("0u - 1u", "-", "integer overflow");
    fails("input.s < 1", "<", "no such overload: string < int");
    fails("input.s + 1", "+", "no such overload: string + int");
    fails("-input.s", "-", "no such overload: -string");
    fails("!input.s", "!", "no such overload: !string");
    fails("1 in input.s", "in", "no such overload: int in string");
    fails("size(input.n[0])", "size", "no such overload: size(int)");
    fails("input.s.contains(input.n)", "contains",
          "no such overload: contains(string, list)");
    fails("input.s && true", "s", "a condition must be a bool, not string");
    fails("input.s ? 1 : 2", "s", "a condition must be a bool, not string");
    fails("input.s.map(x, x)", "map", "string has no members");
    fails("{'a': 1, 'a': 2}", "{", "a map has the same key twice");
    fails("{1: 1, 1u: 2}", "{", "a map has the same key twice");
    fails("{input.n: 1}", "{", "a map's key cannot be list");
    fails("int('x')", "int", "cannot convert this string to int");
    fails("double('x')", "double", "cannot convert this string to double");
    fails("bool('yes')", "bool", "cannot convert this string to bool");
    fails("uint(-1)", "uint", "cannot convert this int to uint");
    fails("string(b'\\xff')", "string", "the bytes are not valid UTF-8");
    fails("input.s.matches('(' + input.s)", "matches",
          "not a valid regular expression of RE2, or too large");
}
END_TEST

/* JSON has no bytes, no NaN, no uint beyond int, no keys but strings. */
START_TEST(results_are_json)
{
    gives("[null, true, 1, 1u, 1.0, 'x', {'a': []}]",
          "[null,true,1,1,1.0,\"x\",{\"a\":[]}]");
    gives("'a\\u0000b'", "\"a\\u0000b\"");
    fails("[b'x']", "[",
          "the result contains bytes, which JSON cannot represent");
    fails("0.0 / 0.0", "/",
          "the result contains double, which JSON cannot represent");
    fails("18446744073709551615u", "18446744073709551615u",
          "the result contains uint, which JSON cannot represent");
    fails("type(1)", "type",
          "the result contains type, which JSON cannot represent");
    fails("{1: 2}", "{",
          "the result contains a map with keys that are not strings, which "
          "JSON cannot represent");
    fails("{'a\\u0000': 2}", "{",
          "the result contains a map with keys that are not strings, which "
          "JSON cannot represent");
}
END_TEST

/* What was put in comes out: the same value, not a copy. */
START_TEST(json_passes_through_uncopied)
{
    json_t *v;

    ck_assert_int_eq(evaluated("true ? input.o : input", &v), MORTISE_OK);
    ck_assert_ptr_eq(v, json_object_get(input, "o"));
    json_decref(v);
    ck_assert_int_eq(evaluated("[input.o]", &v), MORTISE_OK);
    ck_assert_ptr_eq(json_array_get(v, 0), json_object_get(input, "o"));
    json_decref(v);
}
END_TEST

START_TEST(a_test_wants_a_bool)
{
    struct mortise_expr_env env = {values, 0};
    bool b = true;

    ck_assert_int_eq(
        mortise_cel_test(compiled("input.s"), &env, &b, &where, &err),
        MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "a condition must be a bool, not string");
    ck_assert(!b);
    ck_assert_int_eq(
        mortise_cel_test(compiled("output.x || true"), &env, &b, &where, &err),
        MORTISE_OK);
    ck_assert(b);
    ck_assert_int_eq(
        mortise_cel_test(compiled("output.x || false"), &env, &b, &where, &err),
        MORTISE_EINVAL);
    ck_assert_uint_eq(where.offset, 0);
    ck_assert_uint_eq(where.length, 6);
    /* What it made meanwhile is gone (the teardown counts). */
    ck_assert_int_eq(mortise_cel_test(compiled("input.s + 'x' == 'textx'"),
                                      &env, &b, &where, &err),
                     MORTISE_OK);
    ck_assert(b);
}
END_TEST

/* ---- bounds ---------------------------------------------------------- */

/* `text` over a list of 1000 numbers, within `cost`. */
static int costs(const char *text, uint64_t cost)
{
    const json_t *own[4] = {json_array(), scratch, NULL, scratch};
    struct mortise_expr_env env = {own, cost};
    json_t *v;
    int rv;

    for (int i = 0; i < 1000; i++)
        json_array_append_new(mortise_json_unconst(own[0]), json_integer(i));
    rv = mortise_cel_eval(compiled(text), &env, &v, &where, &err);
    json_decref(v);
    json_decref(mortise_json_unconst(own[0]));
    return rv;
}

/* Every step, element and byte is paid for, and what ran out of its budget is
 * not absorbed by a disjunction. */
START_TEST(cost_is_bounded)
{
    ck_assert_int_eq(costs("input.all(x, x >= 0)", 10000), MORTISE_OK);
    ck_assert_int_eq(costs("input.all(x, x >= 0)", 1000), MORTISE_ELIMIT);
    ck_assert_str_eq(err.msg, "the expression exceeds its cost limit");
    ck_assert_int_eq(costs("input.all(x, input.all(y, input.all(z, true)))", 0),
                     MORTISE_ELIMIT);
    ck_assert_int_eq(costs("input.exists(x, input.all(y, input.all(z, "
                           "true))) || true",
                           0),
                     MORTISE_ELIMIT);
    ck_assert_int_eq(costs("-1 in input", 1000), MORTISE_ELIMIT);
    ck_assert_int_eq(costs("input == input", 1000), MORTISE_ELIMIT);
    ck_assert_int_eq(costs("input + input == []", 1000), MORTISE_ELIMIT);
    ck_assert_int_eq(costs("input.map(x, x)", 1000), MORTISE_ELIMIT);
    ck_assert_int_eq(costs("input.transformMap(i, x, x)", 1000),
                     MORTISE_ELIMIT);
    ck_assert_int_eq(costs("1", 1), MORTISE_ELIMIT); /* and 1 for the JSON */
    ck_assert_int_eq(costs("1", 2), MORTISE_OK);
}
END_TEST

/* Strings too: to make, compare, search and measure them costs their bytes. */
START_TEST(bytes_are_paid_for)
{
    static const char *const texts[] = {
        "input.s + input.s == ''",     "input.s == input.s",
        "input.s < input.s",           "size(input.s) == 0",
        "input.s.contains('b')",       "input.s in input",
        "{'a': 1}[input.s] == 1",      "input[input.s] == 1",
        "input.s.matches('b')",        "'a'.contains(input.s)",
        "{input.s: 1}[input.s] == 1",  "int(input.s) == 1",
        "input.s.startsWith(input.s)", "[input.s][0] + ''"};
    char *text = repeated("a", "", "", 20000);

    json_object_set_new(input, "s", json_string(text));
    free(text);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct mortise_expr_env env = {values, 1000};
        json_t *v;

        ck_assert_msg(mortise_cel_eval(compiled(texts[i]), &env, &v, &where,
                                       &err) == MORTISE_ELIMIT,
                      "%s", texts[i]);
        json_decref(v);
    }
}
END_TEST

/* A value that is only passed on costs nothing of what it is long; one that is
 * put into another may be there many times, and is paid for. */
START_TEST(passing_on_is_free)
{
    struct mortise_expr_env env = {values, 100};
    char *text = repeated("a", "", "", 20000);
    json_t *v, *s = json_string(text);

    free(text);
    json_object_set_new(input, "s", s);
    ck_assert_int_eq(
        mortise_cel_eval(compiled("input.s"), &env, &v, &where, &err),
        MORTISE_OK);
    ck_assert_ptr_eq(v, s);
    json_decref(v);
    ck_assert_int_eq(
        mortise_cel_eval(compiled("[input.s]"), &env, &v, &where, &err),
        MORTISE_ELIMIT);
}
END_TEST

/* A small expression may stand for a huge value: 2^40 elements. */
START_TEST(shared_parts_are_paid_for_each_time)
{
    static const char *const made[] = {".map(a, [a, a])", ".map(a, a + a)"};
    struct mortise_expr_env env = {values, 50000};

    for (int i = 0; i < 2; i++) {
        char *text = repeated("", "['x']", made[i], 40);
        json_t *v;

        ck_assert_int_eq(
            mortise_cel_eval(compiled(text), &env, &v, &where, &err),
            MORTISE_ELIMIT);
        free(text);
    }
}
END_TEST

/* A pattern that backtracking could not decide has an answer.  What it may cost
 * counts before it is matched, and nothing absorbs it. */
START_TEST(regular_expressions_end)
{
    static const char words[] = "matching this regular expression against this "
                                "text exceeds limits.expr_cost";
    enum { N = 200000 };
    static char text[N + 1];

    json_object_set_new(
        input, "s",
        json_string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
    gives("input.s.matches('^(a+)+$') || input.s.matches('^(a+)+' + '$')",
          "false");
    gives("input.s.matches('^a+b$') && matches(input.s, 'a' + 'b')", "true");
    gives("'a\\n'.matches('a$')", "false");
    memset(text, 'a', N);
    json_object_set_new(input, "s", json_string(text));
    gives("input.s.matches('(?s)a.*timeout')", "false");
    fails_as(MORTISE_ELIMIT, "input.s.matches('a[ab]{100}c') || true",
             "matches", words);
    fails_as(MORTISE_ELIMIT, "input.s.matches('a[ab]{100}' + 'c') || true",
             "matches", words);
    fails_as(MORTISE_ELIMIT,
             "[1, 2, 3, 4, 5, 6, 7, 8].exists(i, "
             "'x'.matches('.{1000}.{1000}' + string(i)))",
             "matches", words);
}
END_TEST

/* Many searches, each within its bounds, are bounded together: by cost, and
 * without holding the memory of all of them. */
START_TEST(many_searches_are_paid_for)
{
    ck_assert_int_eq(costs("input.all(x, input.all(y, 'abc'.matches('b')))", 0),
                     MORTISE_ELIMIT);
    ck_assert_int_eq(costs("input.all(x, 'abc'.matches('b' + ''))", 0),
                     MORTISE_OK);
    ck_assert_int_eq(costs("input.all(x, 'abc'.matches('b'))", 50000),
                     MORTISE_ELIMIT);
}
END_TEST

/* A map of many keys is hashed, finds all of them and nothing else. */
START_TEST(large_maps_find_their_keys)
{
    const json_t *own[4] = {json_array(), scratch, NULL, scratch};
    struct mortise_expr_env env = {own, 0};
    json_t *v;

    for (int i = 0; i < 1000; i++)
        json_array_append_new(mortise_json_unconst(own[0]),
                              json_integer(3 * i));
    ck_assert_int_eq(
        mortise_cel_eval(
            compiled("[input.transformMap(i, x, x)].all(m, size(m) == 1000 && "
                     "input.all(x, (x in m) == (x < 1000) && "
                     "(double(x) in m) == (x < 1000)) && m[999] == 2997 && "
                     "m[7.0] == 21 && m[7u] == 21 && !(7.5 in m) && "
                     "!('7' in m) && !(-1 in m))"),
            &env, &v, &where, &err),
        MORTISE_OK);
    ck_assert(json_is_true(v));
    json_decref(mortise_json_unconst(own[0]));
}
END_TEST

/* Results do not nest deeper than what can be read from outside. */
START_TEST(results_nest_within_bounds)
{
    char *text = repeated("[", "1", "]", MORTISE_JSON_DEPTH);
    json_t *v;

    ck_assert_int_eq(evaluated(text, &v), MORTISE_OK);
    json_decref(v);
    free(text);
    text = repeated("[", "1", "]", MORTISE_JSON_DEPTH + 1);
    ck_assert_int_eq(evaluated(text, &v), MORTISE_ELIMIT);
    ck_assert_str_eq(err.msg, "values are nested too deeply");
    free(text);
}
END_TEST

/* ---- memory ---------------------------------------------------------- */

/* A condition over scalars touches no heap. */
START_TEST(scalars_need_no_memory)
{
    struct mortise_cel *prog = compiled(
        "scratch.label == \"refund\" && scratch.amount > 100.0 && "
        "scratch.tags.exists(t, t.id == 2) && input.s.startsWith('te')");
    struct mortise_expr_env env = {values, 0};
    bool b;

    test_mem_fail_at(0);
    ck_assert_int_eq(mortise_cel_test(prog, &env, &b, &where, &err),
                     MORTISE_OK);
    ck_assert(b);
    ck_assert(!test_mem_failed());
}
END_TEST

START_TEST(compile_survives_oom)
{
    static const char text[] =
        "scratch.label.matches('^r+') && {'a': [1, 2].map(x, x + 1)}.a[0] == "
        "2 || has(scratch.free.`x y`) || state.scratch.label in ['\\u00e9']";
    int n = 0, rv;

    do {
        struct mortise_cel *prog;
        struct mortise_arena a;

        mortise_arena_init(&a, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_cel_compile(&prog, &a, text, strlen(text), &scope, &where,
                                 &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(prog == NULL, test_mem_failed());
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 3);
}
END_TEST

START_TEST(eval_survives_oom)
{
    struct mortise_cel *prog =
        compiled("{'a': input.n.map(x, [x, string(x) + 'y']), 'b': input.o, "
                 "'c': input.transformMap(k, v, k + 'z'), "
                 "'d': input.s.matches('t+' + 'e')}");
    struct mortise_expr_env env = {values, 0};
    json_t *v;
    int n = 0, rv;

    do {
        test_mem_fail_at(n++);
        rv = mortise_cel_eval(prog, &env, &v, &where, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(v == NULL, test_mem_failed());
    } while (test_mem_failed());
    ck_assert_int_gt(n, 10);
    json_decref(v);
}
END_TEST

static void *evaluate_often(void *prog)
{
    struct mortise_expr_env env = {values, 0};
    size_t good = 0;
    json_t *v;

    for (int i = 0; i < 500; i++) {
        good += mortise_cel_eval(prog, &env, &v, NULL, NULL) == MORTISE_OK &&
                json_array_size(v) == 3;
        json_decref(v);
    }
    return good == 500 ? prog : NULL;
}

/* One program, one state, any thread (for `make tsan`). */
START_TEST(threads_share_a_program)
{
    struct mortise_cel *prog =
        compiled("[input.o.k, input.s + 'x', input.s.matches('^t(e|x)*t$')]");
    pthread_t threads[4];
    void *result;

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, evaluate_often, prog), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        ck_assert_ptr_eq(result, prog);
    }
    usleep(20000); /* the kernel lists a joined thread a moment longer */
}
END_TEST

static void *nothing(void *arg)
{
    return arg;
}

/* ThreadSanitizer starts a thread of its own with the first one. */
static void begin_with_threads(void)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, nothing, NULL), 0);
    pthread_join(thread, NULL);
    usleep(20000);
    begin();
}

static void add_threads(Suite *s)
{
    TCase *tc = tcase_create("threads");

    tcase_add_checked_fixture(tc, begin_with_threads, finish);
    tcase_add_test(tc, threads_share_a_program);
    suite_add_tcase(s, tc);
}

static void add_text(Suite *s)
{
    TCase *tc = tcase_create("text");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, operators_bind_as_in_cel);
    tcase_add_test(tc, syntax_errors_point);
    tcase_add_test(tc, hostile_text_is_refused);
    tcase_add_test(tc, long_chains_work);
    tcase_add_test(tc, what_is_not_in_this_build_says_so);
    suite_add_tcase(s, tc);
}

static void add_checking(Suite *s)
{
    TCase *tc = tcase_create("checking");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, unknown_names_are_refused);
    tcase_add_test(tc, unknown_members_are_refused);
    tcase_add_test(tc, made_lists_and_maps_are_known);
    tcase_add_test(tc, clashes_of_types_are_refused);
    tcase_add_test(tc, possible_types_pass);
    tcase_add_test(tc, names_are_looked_up_inside_out);
    tcase_add_test(tc, macros_nest);
    tcase_add_test(tc, a_path_is_known_as_one);
    tcase_add_test(tc, a_program_says_what_it_uses);
    tcase_add_test(tc, a_program_says_what_it_gives);
    tcase_add_test(tc, a_program_keeps_nothing_of_its_makers);
    suite_add_tcase(s, tc);
}

static void add_evaluating(Suite *s)
{
    TCase *tc = tcase_create("evaluating");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, errors_say_where);
    tcase_add_test(tc, results_are_json);
    tcase_add_test(tc, json_passes_through_uncopied);
    tcase_add_test(tc, a_test_wants_a_bool);
    tcase_add_test(tc, cost_is_bounded);
    tcase_add_test(tc, bytes_are_paid_for);
    tcase_add_test(tc, passing_on_is_free);
    tcase_add_test(tc, shared_parts_are_paid_for_each_time);
    tcase_add_test(tc, regular_expressions_end);
    tcase_add_test(tc, many_searches_are_paid_for);
    tcase_add_test(tc, large_maps_find_their_keys);
    tcase_add_test(tc, results_nest_within_bounds);
    tcase_add_test(tc, scalars_need_no_memory);
    tcase_add_test(tc, compile_survives_oom);
    tcase_add_test(tc, eval_survives_oom);
    suite_add_tcase(s, tc);
}

static Suite *suite(void)
{
    Suite *s = suite_create("cel");

    add_text(s);
    add_checking(s);
    add_evaluating(s);
    add_threads(s);
    return s;
}

int main(void)
{
    return test_run(suite());
}
