/* cel.c -- expressions over one name, `x`, in tests. */
#include "lib/cel.h"

#include <check.h>
#include <string.h>

#include "lang/cel/cel.h"
#include "lib/test.h"

/* Compile and evaluate. */
static int answer(const char *expr, const char *x, json_t **out,
                  struct mortise_cel_range *where, struct mortise_err *err)
{
    struct mortise_cel_name name = {"x", NULL};
    struct mortise_cel_scope scope = {.names = &name, .n = x != NULL};
    json_t *v = NULL;
    const json_t *values[1];
    struct mortise_expr_env env = {values, 0};
    struct mortise_arena a;
    struct mortise_cel *prog;
    int rv;

    *out = NULL;
    mortise_arena_init(&a, &test_mem);
    if (x != NULL)
        ck_assert_msg(mortise_json_parse(&v, x, strlen(x), err) == MORTISE_OK,
                      "%s: %s", x, err->msg);
    values[0] = v;
    rv = mortise_cel_compile(&prog, &a, expr, strlen(expr), &scope, where, err);
    if (rv == MORTISE_OK)
        rv = mortise_cel_eval(prog, &env, out, where, err);
    json_decref(v);
    mortise_arena_finish(&a);
    return rv;
}

void test_cel_gives(const char *expr, const char *x, const char *want)
{
    struct mortise_cel_range where;
    struct mortise_err err = {0};
    json_t *v;
    char *got;

    ck_assert_msg(answer(expr, x, &v, &where, &err) == MORTISE_OK, "%s: %s",
                  expr, err.msg);
    got = mortise_json_to_text(&test_mem, v);
    json_decref(v);
    ck_assert_msg(strcmp(got, want) == 0, "%s: %s", expr, got);
    mortise_release_str(&test_mem, got);
}

void test_cel_fails(const char *expr, const char *x, const char *at,
                    const char *words)
{
    struct mortise_cel_range where;
    struct mortise_err err = {0};
    json_t *v;

    ck_assert_msg(answer(expr, x, &v, &where, &err) != MORTISE_OK, "%s", expr);
    ck_assert_ptr_null(v);
    ck_assert_msg(strcmp(err.msg, words) == 0, "%s: %s", expr, err.msg);
    ck_assert_msg(where.length == strlen(at) &&
                      memcmp(expr + where.offset, at, where.length) == 0,
                  "%s: points at %.*s", expr, (int)where.length,
                  expr + where.offset);
}
