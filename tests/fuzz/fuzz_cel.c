/* fuzz_cel.c -- bytes as an expression, compiled and evaluated.
 *
 * Nothing crashes, errors point inside the text, results can be written, and
 * an evaluation gives the same answer twice. */
#include <assert.h>
#include <string.h>

#include "core/json/path.h"
#include "lib/cel_typed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char state[] =
    "{\"s\":\"text\",\"n\":[1,2.5,\"x\",null,true],\"o\":{\"k\":{\"l\":1}}}";
static const char state_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"array\"},"
    "\"o\":{\"type\":\"object\"}}}";

static json_t *value;
static struct mortise_schema *schema;
static struct mortise_arena forever;

static void set_up(void)
{
    json_t *json;
    char where[8];

    mortise_arena_init(&forever, &mortise_heap);
    assert(mortise_json_parse(&value, state, sizeof state - 1, NULL) ==
           MORTISE_OK);
    assert(mortise_json_parse(&json, state_schema, sizeof state_schema - 1,
                              NULL) == MORTISE_OK);
    assert(mortise_schema_compile(&schema, &forever, json, where, sizeof where,
                                  NULL) == MORTISE_OK);
    json_decref(json);
}

static void evaluate(const struct mortise_cel *prog, size_t size)
{
    const json_t *values[3] = {value, value, NULL};
    struct mortise_expr_env env = {values, 20000};
    struct mortise_cel_range where = {0, 0};
    struct mortise_err err;
    json_t *one, *two;
    int rv = mortise_cel_eval(prog, &env, &one, &where, &err);
    char *text;

    assert(where.offset + where.length <= size);
    assert(mortise_cel_eval(prog, &env, &two, NULL, NULL) == rv);
    assert((one == NULL) == (rv != MORTISE_OK));
    if (one != NULL) {
        assert(json_equal(one, two));
        text = mortise_json_to_text(&mortise_heap, one);
        assert(text != NULL);
        mortise_release_str(&mortise_heap, text);
    }
    json_decref(one);
    json_decref(two);
}

/* A typed result is a typed value: it reads back as itself. */
static void evaluate_typed(const char *text, size_t size)
{
    struct mortise_cel_scope scope = {.names = NULL, .n = 0};
    const json_t *values[1] = {NULL};
    struct mortise_expr_env env = {values, 20000};
    struct mortise_cel_name name = {"x", NULL};
    struct mortise_arena a;
    struct mortise_cel *prog;
    json_t *one, *two;
    size_t which;

    mortise_arena_init(&a, &mortise_heap);
    if (mortise_cel_compile(&prog, &a, text, size, &scope, NULL, NULL) ==
            MORTISE_OK &&
        test_cel_eval_typed(prog, &env, &one, NULL, &which, NULL) ==
            MORTISE_OK) {
        scope = (struct mortise_cel_scope){.names = &name, .n = 1};
        assert(mortise_cel_compile(&prog, &a, "x", 1, &scope, NULL, NULL) ==
               MORTISE_OK);
        values[0] = one;
        env.cost_limit = UINT64_MAX;
        assert(test_cel_eval_typed(prog, &env, &two, NULL, &which, NULL) ==
               MORTISE_OK);
        assert(json_equal(one, two));
        json_decref(one);
        json_decref(two);
    }
    mortise_arena_finish(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct mortise_cel_name names[] = {
        {"input", NULL}, {"scratch", NULL}, {"state.output", NULL}};
    struct mortise_cel_scope scope = {.names = names, .n = 3};
    struct mortise_cel_range where;
    struct mortise_arena a;
    struct mortise_cel *prog;
    struct mortise_err err;

    if (value == NULL)
        set_up();
    names[1].schema = schema;
    mortise_arena_init(&a, &mortise_heap);
    if (mortise_cel_compile(&prog, &a, text, size, &scope, &where, &err) ==
        MORTISE_OK)
        evaluate(prog, size);
    else
        assert(where.offset + where.length <= size);
    mortise_arena_finish(&a);
    evaluate_typed(text, size);
    return 0;
}
