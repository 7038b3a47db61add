/* test_cel_conformance.c -- the public suite's cases (tests/cel/README.md). */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/real.h"
#include "lang/cel/ast.h"
#include "lang/cel/eval.h"
#include "core/json/value.h"
#include "lib/cel_typed.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_arena arena;
static struct cel_ctx ctx; /* for the values that cases name */
static struct mortise_err err;

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_arena_init(&arena, &test_mem);
    ctx = (struct cel_ctx){.left = UINT64_MAX, .arena = &arena};
}

static void finish(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

/* ---- tagged values --------------------------------------------------- */

static struct cel_value tagged(const json_t *t);

static struct cel_value tagged_list(const json_t *items)
{
    size_t n = json_array_size(items);
    struct cel_list *list =
        mortise_arena_alloc(&arena, sizeof *list + n * sizeof list->items[0]);

    for (; list->n < n; list->n++)
        list->items[list->n] = tagged(json_array_get(items, list->n));
    return (struct cel_value){.kind = CEL_LIST, .u.list = list};
}

static struct cel_value tagged_map(const json_t *pairs)
{
    size_t n = json_array_size(pairs);
    struct cel_map *map = mortise_cel_map_new(&ctx, n);

    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(pairs, i);
        struct cel_value key = tagged(json_array_get(pair, 0)),
                         value = tagged(json_array_get(pair, 1));

        ck_assert(mortise_cel_map_add(&ctx, map, &key, &value));
    }
    return (struct cel_value){.kind = CEL_MAP, .u.map = map};
}

static struct cel_value tagged_bytes(const char *hex)
{
    size_t n = strlen(hex) / 2;
    char *bytes = mortise_arena_alloc(&arena, n);

    ck_assert_int_eq(mortise_hex_decode(bytes, n, hex, 2 * n), 0);
    return cel_text(CEL_BYTES, bytes, n);
}

static struct cel_value tagged_double(const char *text)
{
    double d;

    if (mortise_real_parse(&d, text, strlen(text)) != 0)
        d = strtod(text, NULL); /* inf, Infinity, nan */
    return cel_double(d);
}

static struct cel_value tagged_type(const char *name)
{
    unsigned k = 0;

    while (strcmp(mortise_cel_type_name(k), name) != 0)
        k++;
    return (struct cel_value){.kind = CEL_TYPE, .u.type = k};
}

/* {"seconds": "1", "nanos": "0"} */
static struct cel_time tagged_time(const json_t *t)
{
    return (struct cel_time){
        strtoll(json_string_value(json_object_get(t, "seconds")), NULL, 10),
        atoi(json_string_value(json_object_get(t, "nanos")))};
}

static struct cel_value tagged(const json_t *t)
{
    json_t *object = mortise_json_unconst(t);
    const char *tag = json_object_iter_key(json_object_iter(object));
    const json_t *v = json_object_iter_value(json_object_iter(object));
    const char *text = json_string_value(v);

    if (strcmp(tag, "null") == 0)
        return (struct cel_value){.kind = CEL_NULL};
    if (strcmp(tag, "bool") == 0)
        return cel_bool(json_is_true(v));
    if (strcmp(tag, "int") == 0)
        return cel_int(strtoll(text, NULL, 10));
    if (strcmp(tag, "uint") == 0)
        return cel_uint(strtoull(text, NULL, 10));
    if (strcmp(tag, "double") == 0)
        return tagged_double(text);
    if (strcmp(tag, "string") == 0)
        return cel_text(CEL_STRING, text, json_string_length(v));
    if (strcmp(tag, "bytes_hex") == 0)
        return tagged_bytes(text);
    if (strcmp(tag, "list") == 0)
        return tagged_list(v);
    if (strcmp(tag, "map") == 0)
        return tagged_map(v);
    if (strcmp(tag, "timestamp") == 0)
        return cel_timestamp(tagged_time(v));
    if (strcmp(tag, "duration") == 0)
        return cel_duration(tagged_time(v).s * CEL_SECOND + tagged_time(v).ns);
    ck_assert_str_eq(tag, "type");
    return tagged_type(text);
}

/* The same value of the same kind, all the way down; NaN is NaN. */
static bool identical(const struct cel_value *a, const struct cel_value *b)
{
    struct cel_value x, y, key;
    struct cel_cursor cur;
    bool same = true;

    if (a->kind != b->kind)
        return false;
    if (a->kind == CEL_DOUBLE)
        return isnan(a->u.d)
                   ? isnan(b->u.d)
                   : a->u.d == b->u.d && signbit(a->u.d) == signbit(b->u.d);
    if (a->kind != CEL_LIST && a->kind != CEL_MAP)
        return mortise_cel_equal(&ctx, a, b, &same) && same;
    if (mortise_cel_get_count(a) != mortise_cel_get_count(b))
        return false;
    mortise_cel_cursor_init(&cur, a);
    while (same && mortise_cel_next(&cur, &key, &x)) {
        if (a->kind == CEL_LIST)
            y = mortise_cel_get_item(b, (size_t)key.u.i);
        else if (!mortise_cel_map_find(&ctx, b, &key, &same, &y))
            return false;
        same = same && identical(&x, &y);
    }
    return same;
}

/* ---- cases ----------------------------------------------------------- */

enum { MOST = 8 };

/* The names and values of a case's bindings. */
static size_t bindings(const json_t *c, struct mortise_cel_name *names,
                       struct cel_value *values)
{
    json_t *object = json_object_get(c, "bindings");
    size_t n = 0;

    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it)) {
        ck_assert_uint_lt(n, MOST);
        names[n] = (struct mortise_cel_name){json_object_iter_key(it), NULL};
        values[n++] = tagged(json_object_iter_value(it));
    }
    return n;
}

static void parse(void *src)
{
    mortise_cel_parse(src);
}

static void must_parse(const char *text, size_t n, const char *name)
{
    struct mortise_escape out = {.err = &err};
    struct cel_source src = {
        .text = text, .n = n, .arena = &arena, .out = &out};

    ck_assert_msg(mortise_escape_catch(&out, parse, &src) == MORTISE_OK,
                  "%s: %s", name, err.msg);
}

/* The same through the typed form, with the case's own bindings. */
static void same_when_typed(const json_t *c, const struct mortise_cel *prog,
                            const struct cel_value *want)
{
    json_t *object = json_object_get(c, "bindings"), *v;
    const json_t *values[MOST];
    struct mortise_expr_env env = {values, 0};
    struct cel_value got;
    size_t n = 0, which;

    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it))
        values[n++] = json_object_iter_value(it);
    ck_assert_msg(test_cel_eval_typed(prog, &env, &v, NULL, &which, &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
    got = tagged(v);
    ck_assert(identical(&got, want));
    json_decref(v);
}

static void run_case(const json_t *c)
{
    const char *text = json_string_value(json_object_get(c, "expr")),
               *name = json_string_value(json_object_get(c, "name"));
    const json_t *want = json_object_get(c, "value");
    size_t n = json_string_length(json_object_get(c, "expr"));
    struct mortise_cel_name names[MOST];
    struct cel_value values[MOST], got, expected;
    struct mortise_cel_scope scope = {.names = names,
                                      .n = bindings(c, names, values)};
    struct cel_inputs in = {.typed = values};
    struct cel_ctx run = {.left = 1000000, .arena = &arena};
    struct mortise_cel *prog;
    bool ok;

    must_parse(text, n, name);
    ok = mortise_cel_compile(&prog, &arena, text, n, &scope, NULL, &err) ==
         MORTISE_OK;
    if (!ok && json_is_true(json_object_get(c, "disable_check")))
        return;
    if (ok) {
        ok = mortise_cel_evaluate_typed(prog, &in, &run, &got);
        mortise_cel_report_fault(&run, NULL, &err);
    }
    if (want == NULL) {
        ck_assert_msg(!ok, "%s: %s has a value", name, text);
        return;
    }
    ck_assert_msg(ok, "%s: %s: %s", name, text, err.msg);
    expected = tagged(want);
    ck_assert_msg(identical(&got, &expected), "%s: %s: another value", name,
                  text);
    ck_assert_msg(prog->kinds & 1u << got.kind, "%s: the checker foresaw %x",
                  text, prog->kinds);
    same_when_typed(c, prog, &expected);
}

static const struct {
    const char *name;
    size_t n;
} files[] = {
    {"basic", 25},      {"comparisons", 185}, {"conversions", 55},
    {"fields", 36},     {"fp_math", 23},      {"integer_math", 39},
    {"lists", 24},      {"logic", 16},        {"macros", 25},
    {"macros2", 33},    {"parse", 115},       {"string", 32},
    {"timestamps", 37}, {"string_ext", 126},  {"math_ext", 122},
};
enum { N_FILES = sizeof files / sizeof files[0] };

/* The cases of the _i-th file, as many as there must be. */
START_TEST(cases_hold)
{
    char path[64];
    size_t n;
    char *text;
    json_t *list;

    snprintf(path, sizeof path, "tests/cel/%s.json", files[_i].name);
    text = test_read(path, &n);
    ck_assert_msg(mortise_json_parse(&list, text, n, &err) == MORTISE_OK,
                  "%s: %s", path, err.msg);
    free(text);
    ck_assert_uint_eq(json_array_size(list), files[_i].n);
    for (size_t i = 0; i < json_array_size(list); i++)
        run_case(json_array_get(list, i));
    json_decref(list);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cel conformance");
    TCase *tc = tcase_create("cases");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_loop_test(tc, cases_hold, 0, N_FILES);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
