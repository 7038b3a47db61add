/* test_cel_func.c -- the extension functions at their edges: strings, format(),
 * math, lists, encoders.  What they do in the middle is in the public suite's cases. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cel.h"
#include "lib/cel_typed.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_err err;

static void begin(void)
{
    test_begin();
    test_count_json();
}

static void finish(void)
{
    test_nothing_left();
}

#define NO_INDEX "index out of bounds"

/* Positions count characters, and the end is one; nothing lies beyond it. */
START_TEST(positions_count_characters)
{
    test_cel_gives("[x.charAt(0), x.charAt(1), x.charAt(2), x.charAt(3)]",
                   "\"a\\u00e9\\ud83d\\ude00\"",
                   "[\"a\",\"\u00e9\",\"\U0001F600\",\"\"]");
    test_cel_gives("[x.substring(1), x.substring(1, 2), x.substring(3)]",
                   "\"a\\u00e9\\ud83d\\ude00\"",
                   "[\"\u00e9\U0001F600\",\"\u00e9\",\"\"]");
    test_cel_gives("[''.charAt(0), ''.substring(0), ''.substring(0, 0)]", NULL,
                   "[\"\",\"\",\"\"]");
    test_cel_fails("x.charAt(4)", "\"abc\"", "charAt", NO_INDEX);
    test_cel_fails("x.charAt(-1)", "\"abc\"", "charAt", NO_INDEX);
    test_cel_fails("x.substring(2, 1)", "\"abc\"", "substring", NO_INDEX);
    test_cel_fails("x.substring(0, 4)", "\"abc\"", "substring", NO_INDEX);
    test_cel_fails("x.substring(-9223372036854775808)", "\"abc\"", "substring",
                   NO_INDEX);
    test_cel_fails("x.indexOf('a', 4)", "\"abc\"", "indexOf", NO_INDEX);
    test_cel_fails("x.lastIndexOf('a', -1)", "\"abc\"", "lastIndexOf",
                   NO_INDEX);
}
END_TEST

START_TEST(parts_are_found)
{
    test_cel_gives("[x.indexOf(''), x.indexOf('', 3), x.indexOf('c', 2),"
                   " x.indexOf('a', 1), x.indexOf('abcd')]",
                   "\"abc\"", "[0,3,2,-1,-1]");
    test_cel_gives("[x.lastIndexOf(''), x.lastIndexOf('', 1), "
                   "x.lastIndexOf('aa'), x.lastIndexOf('aa', 0), "
                   "x.lastIndexOf('aaaa'), x.lastIndexOf('b')]",
                   "\"aaa\"", "[3,1,1,0,-1,-1]");
    test_cel_gives("[''.indexOf(''), ''.lastIndexOf(''), ''.indexOf('a')]",
                   NULL, "[0,0,-1]");
}
END_TEST

START_TEST(strings_are_split_and_joined)
{
    test_cel_gives("[x.split(','), x.split(',', 0), x.split(',', 1), "
                   "x.split(',', 2), x.split(',', -1).size()]",
                   "\"a,,b,\"",
                   "[[\"a\",\"\",\"b\",\"\"],[],[\"a,,b,\"],"
                   "[\"a\",\",b,\"],4]");
    test_cel_gives("[x.split(''), x.split('', 2), x.split('', 0),"
                   " ''.split(''), ''.split(',')]",
                   "\"a\\u00e9b\"",
                   "[[\"a\",\"\u00e9\",\"b\"],[\"a\",\"\u00e9"
                   "b\"],[],[],[\"\"]]");
    test_cel_gives("[x.join(), x.join(', '), [].join('x'), ['', ''].join('-'),"
                   " x.map(s, s + '!').join()]",
                   "[\"a\",\"b\"]", "[\"ab\",\"a, b\",\"\",\"-\",\"a!b!\"]");
    test_cel_fails("x.join(',')", "[\"a\",1]", "join",
                   "no such overload: join of a list that contains int");
}
END_TEST

START_TEST(strings_are_replaced)
{
    test_cel_gives("[x.replace('a', ''), x.replace('a', 'aa', 1), "
                   "x.replace('a', 'b', 0), x.replace('a', 'b', -1), "
                   "x.replace('', '-'), x.replace('', '-', 2), "
                   "x.replace('aa', 'b')]",
                   "\"aaa\"",
                   "[\"\",\"aaaa\",\"aaa\",\"bbb\",\"-a-a-a-\",\"-a-aa\","
                   "\"ba\"]");
    test_cel_gives("[''.replace('', '-'), ''.replace('a', 'b')]", NULL,
                   "[\"-\",\"\"]");
}
END_TEST

START_TEST(strings_change_shape)
{
    test_cel_gives("[' \\t\\u00a0a b\\u3000\\n'.trim(), ''.trim(), "
                   "' '.trim(), '[AZ`az{]'.lowerAscii(), "
                   "'[AZ`az{]'.upperAscii(), 'a\\u00e9b'.reverse()]",
                   NULL,
                   "[\"a b\",\"\",\"\",\"[az`az{]\",\"[AZ`AZ{]\",\"b\u00e9"
                   "a\"]");
    test_cel_gives("strings.quote('\\\"\\a\\\\')", NULL,
                   "\"\\\"\\\\\\\"\\\\a\\\\\\\\\\\"\"");
}
END_TEST

/* ---- format ------------------------------------------------------------ */

START_TEST(clauses_show_values)
{
    test_cel_gives("'%d|%d|%d|%d'.format([x, 2u, -3, 1.5])",
                   "9223372036854775807", "\"9223372036854775807|2|-3|1.5\"");
    test_cel_gives("'%x|%X|%x|%b|%b|%o'.format([-255, 'jk', b'\\xff\\x00', -5,"
                   " true, 18446744073709551615u])",
                   NULL, "\"-ff|6A6B|ff00|-101|1|1777777777777777777777\"");
    test_cel_gives("'%x'.format([x])", "-9223372036854775808",
                   "\"-8000000000000000\"");
    test_cel_gives("'%.0f|%.2f|%.f|%f|%.2e'.format([0.5, x, 2.5, 1, 12345u])",
                   "-1.005", "\"0|-1.00|2|1.000000|1.23e+04\"");
    test_cel_gives("'%s %s %s'.format([{'b': [], 'a': {}}, {}, [{}, null]])",
                   NULL, "\"{a: {}, b: []} {} [{}, null]\"");
    test_cel_gives("'100%%'.format(x)", "[\"more than needed\"]", "\"100%\"");
    test_cel_gives("size('%.1000f'.format([1e308]))", NULL, "1310");
}
END_TEST

START_TEST(clauses_refuse)
{
    static const char no_clause[] =
        "unknown format clause: use %s %d %f %e %b %o %x %X or %%, and .N only "
        "before f and e";

    test_cel_fails("x.format([1])", "\"%\"", "format", no_clause);
    test_cel_fails("x.format([1])", "\"%.3\"", "format", no_clause);
    test_cel_fails("x.format([1])", "\"%.1001f\"", "format", no_clause);
    test_cel_fails("x.format([1])", "\"%.99999999999999f\"", "format",
                   no_clause);
    test_cel_fails("x.format([1])", "\"%5d\"", "format", no_clause);
    test_cel_fails("x.format([1])", "\"%d %d\"", "format",
                   "the format has more clauses than the list has values");
    test_cel_fails("x.format(['1'])", "\"%d\"", "format",
                   "%d cannot format string");
    test_cel_fails("'%f'.format([x])", "null", "format",
                   "%f cannot format null");
    test_cel_fails("'%s'.format([b'\\xff'])", NULL, "format",
                   "the bytes are not valid UTF-8");
}
END_TEST

/* Issue 15, point 9: what format() could never show is refused before it runs,
 * as far as the text says what that is. */
START_TEST(point_9_arguments_of_format_are_checked)
{
    static const char no_clause[] =
        "unknown format clause: use %s, %d, %f, %e, %b, %o, %x, %X or %%, or a "
        "number of digits as in %.2f and %.2e";
    static const char *const wrong[] = {"'%'", "'%.3'", "'%.1001f'", "'%5d'",
                                        "'a%%%q'"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char expr[60];

        snprintf(expr, sizeof expr, "%s.format([1])", wrong[i]);
        test_cel_fails(expr, NULL, wrong[i], no_clause);
        snprintf(expr, sizeof expr, "false && %s.format(x) == ''", wrong[i]);
        test_cel_fails(expr, "[1]", wrong[i], no_clause);
    }
    test_cel_fails("false && '%d %d'.format([1]) == ''", NULL, "[",
                   "format() has 2 clauses, but the list has 1 value");
    test_cel_fails("'%d%%'.format([1, 2])", NULL, "[",
                   "format() has 1 clause, but the list has 2 values");
    test_cel_fails("'none'.format([1])", NULL, "[",
                   "format() has 0 clauses, but the list has 1 value");
    test_cel_fails("'%s %d'.format([1, '1'])", NULL, "'1'",
                   "%d formats int or uint or double, not string");
    test_cel_fails("'%f'.format([null])", NULL, "null",
                   "%f formats int or uint or double, not null");
    test_cel_fails("'%o'.format([size(x) > 1.5])", "\"\"", ">",
                   "%o formats int or uint, not bool");
    test_cel_fails("'%X'.format([[1]])", NULL, "[",
                   "%X formats int or uint or string or bytes, not list");
    test_cel_gives("'%s%%%d'.format(x)", "[null, 1]", "\"null%1\"");
    test_cel_gives("'%s %b %X'.format([x, true, 'k'])", "{}", "\"{} 1 6B\"");
    test_cel_gives("''.format([])", NULL, "\"\"");
}
END_TEST

/* Point 9: b stands before a whole string, raw or not, and not inside one. */
START_TEST(point_9_raw_bytes_are_br)
{
    static const char words[] =
        "write the prefix of raw bytes as br, in this order";

    test_cel_gives("[size(br'\\n'), size(Br\"\\n\"), size(bR'''\\n''')]", NULL,
                   "[2,2,2]");
    test_cel_fails("size(rb'a')", NULL, "rb", words);
    test_cel_fails("size(Rb\"a\")", NULL, "Rb", words);
    test_cel_fails("size(rB'''a''')", NULL, "rB", words);
}
END_TEST

/* Point 9: `matches` has RE2's patterns, and says of the others what to do. */
START_TEST(point_9_matches_is_re2)
{
    test_cel_gives("[x.matches('\\\\v'), x.matches('(?s)a.b'), "
                   "x.matches(r'[[:alpha:]]\\x{A}'), x.matches('^a.b$')]",
                   "\"a\\nb\"", "[false,true,true,false]");
    test_cel_fails("x.matches('a(?=b)')", "\"a\"", "'a(?=b)'",
                   "not a regular expression of RE2: (?= is not supported: RE2 "
                   "has no lookahead and no lookbehind (at character 2)");
    test_cel_fails("x.matches('(a)' + r'\\1')", "\"a\"", "matches",
                   "not a valid regular expression of RE2, or too large");
}
END_TEST

/* ---- math -------------------------------------------------------------- */

START_TEST(numbers_at_their_ends)
{
    test_cel_gives("[math.greatest(x), math.least(x), math.greatest(1, 2.5),"
                   " math.least(3u, 2, 7.0), math.greatest([1u])]",
                   "[3,1,2]", "[3,1,2.5,2,1]");
    test_cel_gives("[math.abs(-5), math.abs(-0.5), math.sign(-3), "
                   "math.sqrt(2.25), math.round(-2.5), math.trunc(-2.9)]",
                   NULL, "[5,0.5,-1,1.5,-3.0,-2.0]");
    test_cel_fails("math.abs(x)", "-9223372036854775808", "abs",
                   "integer overflow");
    test_cel_fails("math.greatest(x)", "[]", "greatest", "the list is empty");
    test_cel_fails(
        "math.greatest(x)", "[1,\"a\"]", "greatest",
        "no such overload: math.greatest of a list that contains string");
    test_cel_fails(
        "math.least(x, 1)", "\"a\"", "least",
        "no such overload: math.least of a list that contains string");
    test_cel_fails("math.greatest()", NULL, "greatest",
                   "math.greatest() does not take 0 arguments");
    test_cel_fails("math.least('a', 1)", NULL, "'a'",
                   "math.least() needs int or uint or double, not string");
    test_cel_fails("math.bitShiftLeft(x, -1)", "1", "bitShiftLeft",
                   "a bit shift cannot be negative");
    test_cel_fails("math.sgn(1)", NULL, "sgn",
                   "unknown function 'math.sgn', did you mean 'math.sign'?");
}
END_TEST

/* A variable of a macro hides a namespace of its name. */
START_TEST(namespaces_are_found)
{
    test_cel_gives("[x].map(math, math.size())", "\"abc\"", "[3]");
    test_cel_fails("strange.size()", NULL, "strange", "unknown name 'strange'");
    test_cel_fails("[1].map(math, math.abs(1))", NULL, "abs",
                   "unknown function 'abs'");
}
END_TEST

/* ---- bounds ------------------------------------------------------------ */

/* What is read and what is made is paid for, also where the result is far
 * larger than what it is made of. */
START_TEST(work_is_paid_for)
{
    static const char *const exprs[] = {
        "x.replace('a', x)",
        "x.replace('', x)",
        "x.split('')",
        "x.split('a').join(x)",
        "x.lastIndexOf(x.substring(1) + 'b')",
        "x.reverse()",
        "x.upperAscii()",
        "x.trim()",
        "x.charAt(0)",
        "strings.quote(x)",
        "'%s%s'.format([x, x])",
        "'%x'.format([x])",
        "x.format([])",
        "x.indexOf('b')",
    };
    struct mortise_cel_name name = {"x", NULL};
    struct mortise_cel_scope scope = {.names = &name, .n = 1};
    char *text = malloc(5001);
    const json_t *values[1];
    struct mortise_expr_env env = {values, 3000};

    memset(text, 'a', 5000);
    text[5000] = '\0';
    values[0] = json_string(text);
    free(text);
    for (size_t i = 0; i < sizeof exprs / sizeof exprs[0]; i++) {
        struct mortise_arena a;
        struct mortise_cel *prog;
        json_t *v;

        mortise_arena_init(&a, &test_mem);
        ck_assert_int_eq(mortise_cel_compile(&prog, &a, exprs[i],
                                             strlen(exprs[i]), &scope, NULL,
                                             &err),
                         MORTISE_OK);
        ck_assert_msg(mortise_cel_eval(prog, &env, &v, NULL, &err) ==
                          MORTISE_ELIMIT,
                      "%s", exprs[i]);
        mortise_arena_finish(&a);
    }
    json_decref(mortise_json_unconst(values[0]));
}
END_TEST

/* Compiling and evaluating cope with each allocation failing in turn. */
START_TEST(functions_survive_oom)
{
    static const char expr[] =
        "['a b', 'c'].map(s, s.split(' ').join(s.upperAscii()))"
        ".map(s, '%s %x %.2f'.format([{s: [s]}, s.reverse(), 1.5]))"
        ".map(s, strings.quote(s.replace('a', s))).map(s, s + "
        "string(timestamp(0).getHours('Europe/' + 'Berlin')) + "
        "string(timestamp(0).getHours('Asia/Tokyo')) + "
        "string(math.greatest(1, 2, 3)))";
    struct mortise_cel_scope scope = {.names = NULL, .n = 0};
    const json_t *values[1] = {NULL};
    struct mortise_expr_env env = {values, 0};
    int n = 0, rv;

    do {
        struct mortise_arena a;
        struct mortise_cel *prog;
        json_t *v = NULL;

        mortise_arena_init(&a, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_cel_compile(&prog, &a, expr, strlen(expr), &scope, NULL,
                                 &err);
        if (rv == MORTISE_OK)
            rv = mortise_cel_eval(prog, &env, &v, NULL, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(v == NULL, test_mem_failed());
        json_decref(v);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 10);
}
END_TEST

/* So do typed values, in and out. */
START_TEST(typed_values_survive_oom)
{
    static const char in[] =
        "{\"list\":[{\"map\":[[{\"int\":\"1\"},{\"bytes_hex\":\"00\"}]]},"
        "{\"double\":\"1.5\"},{\"duration\":{\"seconds\":\"1\",\"nanos\":"
        "\"0\"}},{\"type\":\"int\"},{\"null\":null},{\"bool\":true},"
        "{\"string\":\"a\"}]}";
    struct mortise_cel_name name = {"x", NULL};
    struct mortise_cel_scope scope = {.names = &name, .n = 1};
    struct mortise_arena a;
    struct mortise_cel *prog;
    json_t *x, *v;
    const json_t *values[1];
    struct mortise_expr_env env = {values, 0};
    size_t which;
    int n = 0, rv;

    mortise_arena_init(&a, &test_mem);
    ck_assert_int_eq(mortise_json_parse(&x, in, sizeof in - 1, &err),
                     MORTISE_OK);
    values[0] = x;
    ck_assert_int_eq(mortise_cel_compile(&prog, &a, "x", 1, &scope, NULL, &err),
                     MORTISE_OK);
    do {
        test_mem_fail_at(n++);
        rv = test_cel_eval_typed(prog, &env, &v, NULL, &which, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert(test_mem_failed() ? v == NULL : json_equal(v, x));
        json_decref(v);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 10);
    json_decref(x);
    mortise_arena_finish(&a);
}
END_TEST

/* The expression over the names of `vars` (JSON), typed values in and out. */
static int typed(const char *expr, const char *vars, json_t **out,
                 size_t *which)
{
    struct mortise_cel_name names[4];
    const json_t *values[4];
    struct mortise_cel_scope scope = {.names = names, .n = 0};
    struct mortise_expr_env env = {values, 0};
    struct mortise_arena a;
    struct mortise_cel *prog;
    json_t *v;
    int rv;

    ck_assert_int_eq(mortise_json_parse(&v, vars, strlen(vars), &err),
                     MORTISE_OK);
    for (void *it = json_object_iter(v); it != NULL;
         it = json_object_iter_next(v, it)) {
        ck_assert_uint_lt(scope.n, 4);
        names[scope.n] =
            (struct mortise_cel_name){json_object_iter_key(it), NULL};
        values[scope.n++] = json_object_iter_value(it);
    }
    mortise_arena_init(&a, &test_mem);
    ck_assert_msg(mortise_cel_compile(&prog, &a, expr, strlen(expr), &scope,
                                      NULL, &err) == MORTISE_OK,
                  "%s: %s", expr, err.msg);
    rv = test_cel_eval_typed(prog, &env, out, NULL, which, &err);
    mortise_arena_finish(&a);
    json_decref(v);
    return rv;
}

static void typed_gives(const char *expr, const char *vars, const char *want)
{
    json_t *v;
    size_t which;
    char *got;

    ck_assert_msg(typed(expr, vars, &v, &which) == MORTISE_OK, "%s: %s", expr,
                  err.msg);
    got = mortise_json_to_text(&test_mem, v);
    json_decref(v);
    ck_assert_str_eq(got, want);
    mortise_release_str(&test_mem, got);
}

/* What goes in typed comes out so, and so does what is made. */
START_TEST(values_carry_their_types)
{
    typed_gives(
        "[u, m, t, d]",
        "{\"u\":{\"uint\":\"18446744073709551615\"},"
        "\"m\":{\"map\":[[{\"int\":\"1\"},{\"null\":null}],"
        "[{\"bool\":true},{\"bytes_hex\":\"00FF\"}]]},"
        "\"t\":{\"timestamp\":{\"seconds\":\"-1\",\"nanos\":"
        "\"5\"}},\"d\":{\"double\":\"-inf\"}}",
        "{\"list\":[{\"uint\":\"18446744073709551615\"},{\"map\":[[{\"int\":"
        "\"1\"},{\"null\":null}],[{\"bool\":true},{\"bytes_hex\":\"00ff\"}"
        "]]},{\"timestamp\":{\"seconds\":\"-1\",\"nanos\":\"5\"}},"
        "{\"double\":\"-inf\"}]}");
    typed_gives("[0.0/0.0, 2.0, -0.0, type(null), duration(\"-1ms\")]", "{}",
                "{\"list\":[{\"double\":\"nan\"},{\"double\":\"2.0\"},"
                "{\"double\":\"-0.0\"},{\"type\":\"null_type\"},"
                "{\"duration\":{\"seconds\":\"0\",\"nanos\":"
                "\"-1000000\"}}]}");
}
END_TEST

/* What is no typed value is refused, and says which it is. */
START_TEST(typed_values_are_checked)
{
    static const char *const bad[] = {
        "5",
        "null",
        "[]",
        "{}",
        "{\"int\":\"5\",\"uint\":\"5\"}",
        "{\"int\":5}",
        "{\"int\":\"9223372036854775808\"}",
        "{\"uint\":\"-1\"}",
        "{\"double\":\"x\"}",
        "{\"float\":\"1\"}",
        "{\"bool\":\"true\"}",
        "{\"null\":0}",
        "{\"string\":5}",
        "{\"bytes_hex\":\"0\"}",
        "{\"bytes_hex\":\"0g\"}",
        "{\"bytes_hex\":5}",
        "{\"type\":\"nothing\"}",
        "{\"type\":5}",
        "{\"list\":{}}",
        "{\"list\":[5]}",
        "{\"map\":{}}",
        "{\"map\":[[{\"int\":\"1\"}]]}",
        "{\"map\":[[{\"list\":[]},{\"int\":\"1\"}]]}",
        "{\"map\":[[{\"int\":\"1\"},{\"null\":null}],[{\"uint\":\"1\"},0]]}",
        ("{\"map\":[[{\"int\":\"1\"},{\"null\":null}],"
         "[{\"uint\":\"1\"},{\"null\":null}]]}"),
        "{\"duration\":{\"seconds\":\"1\"}}",
        "{\"duration\":{\"seconds\":\"1\",\"nanos\":\"1000000000\"}}",
        "{\"duration\":{\"seconds\":\"9223372037\",\"nanos\":\"0\"}}",
        "{\"timestamp\":{\"seconds\":\"253402300800\",\"nanos\":\"0\"}}",
        "{\"timestamp\":{\"seconds\":\"0\",\"nanos\":\"-1\"}}",
        "{\"timestamp\":{\"seconds\":0,\"nanos\":0}}",
    };

    char vars[256];
    json_t *v;
    size_t which;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(vars, sizeof vars, "{\"good\":{\"int\":\"1\"},\"bad\":%s}",
                 bad[i]);
        ck_assert_msg(typed("good", vars, &v, &which) == MORTISE_EINVAL, "%s",
                      bad[i]);
        ck_assert_uint_eq(which, 1);
        ck_assert_ptr_null(v);
        ck_assert_msg(err.msg[0] != '\0', "%s", bad[i]);
    }
}
END_TEST

/* ---- lists and encoders ------------------------------------------------ */

/* The examples of cel-go's extension `lists`. */
START_TEST(lists_are_those_of_cel_go)
{
    test_cel_gives("[[1, 2, 3, 4].slice(1, 3), [1, 2].slice(2, 2), "
                   "[1, 2, 3, 4].slice(2, 4), x.slice(0, 1)]",
                   "[5, 6]", "[[2,3],[],[3,4],[5]]");
    test_cel_gives("[[1, [2, 3], [4]].flatten(), [1, [2, [3, 4]]].flatten(), "
                   "[1, 2, [], [], [3, 4]].flatten(), "
                   "[1, [2, [3, [4]]]].flatten(2), [[1]].flatten(0), "
                   "x.flatten(100)]",
                   "[[[[1], 2]], 3]",
                   "[[1,2,3,4],[1,2,[3,4]],[1,2,3,4],[1,2,3,[4]],[[1]],"
                   "[1,2,3]]");
    test_cel_gives("[lists.range(5), lists.range(0), lists.range(-1)]", NULL,
                   "[[0,1,2,3,4],[],[]]");
    test_cel_gives("[[3, 2, 1].sort(), ['b', 'c', 'a'].sort(), [].sort(), "
                   "[true, false].sort(), x.sort()]",
                   "[2.5, 1, -3]",
                   "[[1,2,3],[\"a\",\"b\",\"c\"],[],[false,true],[-3,1,2.5]]");
    test_cel_gives("[duration('2s'), duration('1s')].sort()", NULL,
                   "[\"1s\",\"2s\"]");
    test_cel_gives("[[1, 2, 2, 3, 3, 3].distinct(), "
                   "['b', 'b', 'c', 'a', 'c'].distinct(), "
                   "[1, 'b', 2, 'b'].distinct(), [1, 1.0, 1u].distinct(), "
                   "x.distinct(), [null, [1], null, [1]].distinct()]",
                   "[{\"a\": 1}, {\"a\": 1.0}, {\"a\": 2}, 0.5, 0.5]",
                   "[[1,2,3],[\"b\",\"c\",\"a\"],[1,\"b\",2],[1],"
                   "[{\"a\":1},{\"a\":2},0.5],[null,[1]]]");
    test_cel_gives("[[5, 3, 1, 2].reverse(), 'abc'.reverse(), x.reverse()]",
                   "[1, 2]", "[[2,1,3,5],\"cba\",[2,1]]");
}
END_TEST

/* sum() is Kubernetes'; ints and doubles of JSON have a sum, too. */
START_TEST(lists_have_sums)
{
    test_cel_gives("[[1, 3].sum(), [1.0, 3.5].sum(), [].sum(), x.sum()]",
                   "[1, 2.5, 3]", "[4,4.5,0,6.5]");
    test_cel_gives("[[2u, 3u].sum() == 5u, "
                   "[duration('1m'), duration('1s')].sum() == duration('61s')]",
                   NULL, "[true,true]");
    test_cel_fails("[1, 9223372036854775807].sum()", NULL, "sum",
                   "integer overflow");
    test_cel_fails("[1, 2u].sum()", NULL, "sum",
                   "no such overload: sum of a list that contains uint");
    test_cel_fails("x.sum()", "[\"1\"]", "sum",
                   "no such overload: sum of a list that contains string");
}
END_TEST

START_TEST(lists_that_have_no_answer)
{
    test_cel_fails("x.slice(1, 3)", "[1, 2]", "slice", NO_INDEX);
    test_cel_fails("x.slice(-1, 1)", "[1, 2]", "slice", NO_INDEX);
    test_cel_fails("x.slice(2, 1)", "[1, 2]", "slice", NO_INDEX);
    test_cel_fails("x.flatten(-1)", "[[1]]", "flatten",
                   "the number of levels must be at least 0");
    test_cel_fails("x.sort()", "[1, \"b\"]", "sort",
                   "no such overload: sort of a list that contains string");
    test_cel_fails("x.sort()", "[[1]]", "sort",
                   "no such overload: sort of a list that contains list");
    test_cel_fails("x.sort()", "[null]", "sort",
                   "no such overload: sort of a list that contains null");
    test_cel_fails("lists.range(9223372036854775807)", NULL, "range",
                   "the expression exceeds its cost limit");
    test_cel_fails("lists.range(2000).map(i, [i]).distinct()", NULL, "distinct",
                   "the expression exceeds its cost limit");
    test_cel_fails("'abc'.sort()", NULL, "'abc'",
                   "sort() needs list, not string");
    test_cel_fails("[1, 2].sort()[0].a", NULL, "a",
                   "cannot read member 'a': int has no members");
}
END_TEST

/* Sorting and finding what is there twice do not cost the square. */
START_TEST(long_lists_are_sorted)
{
    test_cel_gives("lists.range(20000).reverse().sort().slice(0, 2)", NULL,
                   "[0,1]");
    test_cel_gives("lists.range(20000).map(i, i % 7).distinct()", NULL,
                   "[0,1,2,3,4,5,6]");
}
END_TEST

START_TEST(base64_is_that_of_cel_go)
{
    test_cel_gives("[base64.encode(b'hello'), base64.encode(b''), "
                   "base64.encode(bytes(x)), "
                   "string(base64.decode('aGVsbG8=')), "
                   "size(base64.decode('/+8='))]",
                   "\"\u00e9\"", "[\"aGVsbG8=\",\"\",\"w6k=\",\"hello\",2]");
    test_cel_fails("base64.decode('aGVsbG8')", NULL, "decode",
                   "the string is not valid base64, or has no padding");
    test_cel_fails("base64.decode('aGV sbG8=')", NULL, "decode",
                   "the string is not valid base64, or has no padding");
    test_cel_fails("base64.decode(x)", "\"-_8=\"", "decode",
                   "the string is not valid base64, or has no padding");
    test_cel_fails("base64.encode('hello')", NULL, "'hello'",
                   "base64.encode() needs bytes, not string");
}
END_TEST

START_TEST(json_is_written_and_read)
{
    test_cel_gives("[json.marshal(x), json.marshal([1, 2.0, 'a', null]), "
                   "json.marshal(duration('1s'))]",
                   "{\"b\": [1], \"a\": \"\\\"\"}",
                   "[\"{\\\"b\\\":[1],\\\"a\\\":\\\"\\\\\\\"\\\"}\","
                   "\"[1,2.0,\\\"a\\\",null]\",\"\\\"1s\\\"\"]");
    test_cel_gives("[json.unmarshal(x).a[1].b, json.unmarshal('1') + 1, "
                   "json.unmarshal('null'), "
                   "json.unmarshal(json.marshal({'k': [true]}))]",
                   "\"{\\\"a\\\": [0, {\\\"b\\\": 2.5}]}\"",
                   "[2.5,2,null,{\"k\":[true]}]");
    test_cel_fails("json.unmarshal('{')", NULL, "unmarshal",
                   "the string is not valid JSON, or has a number or a depth "
                   "that values do not support");
    test_cel_fails("json.unmarshal('18446744073709551615')", NULL, "unmarshal",
                   "the string is not valid JSON, or has a number or a depth "
                   "that values do not support");
    test_cel_fails("json.marshal(b'a')", NULL, "marshal",
                   "the result contains bytes, which JSON cannot represent");
    test_cel_fails("json.marshal({1: 2})", NULL, "marshal",
                   "the result contains a map with keys that are not strings, "
                   "which JSON cannot represent");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cel functions");
    TCase *tc = tcase_create("functions");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, positions_count_characters);
    tcase_add_test(tc, parts_are_found);
    tcase_add_test(tc, strings_are_split_and_joined);
    tcase_add_test(tc, strings_are_replaced);
    tcase_add_test(tc, strings_change_shape);
    tcase_add_test(tc, clauses_show_values);
    tcase_add_test(tc, clauses_refuse);
    tcase_add_test(tc, point_9_arguments_of_format_are_checked);
    tcase_add_test(tc, point_9_raw_bytes_are_br);
    tcase_add_test(tc, point_9_matches_is_re2);
    tcase_add_test(tc, numbers_at_their_ends);
    tcase_add_test(tc, namespaces_are_found);
    tcase_add_test(tc, work_is_paid_for);
    tcase_add_test(tc, functions_survive_oom);
    tcase_add_test(tc, typed_values_survive_oom);
    tcase_add_test(tc, values_carry_their_types);
    tcase_add_test(tc, typed_values_are_checked);
    tcase_add_test(tc, lists_are_those_of_cel_go);
    tcase_add_test(tc, lists_have_sums);
    tcase_add_test(tc, lists_that_have_no_answer);
    tcase_add_test(tc, long_lists_are_sorted);
    tcase_add_test(tc, base64_is_that_of_cel_go);
    tcase_add_test(tc, json_is_written_and_read);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
