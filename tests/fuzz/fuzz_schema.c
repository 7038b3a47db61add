/* fuzz_schema.c -- bytes as a JSON Schema, and as values for it.
 *
 * A list is a schema and what is held against it; anything else is a schema.
 * Each is a value for itself, too.  What compiles is valid under the draft's
 * metaschema, a value that is refused is refused in words, and one that fits
 * does so when it is normal. */
#include <assert.h>
#include <string.h>

#include "lang/schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mortise_arena forever;
static struct mortise_schema *metaschema;

static void make_metaschema(void)
{
    json_t *json = json_pack("{s:s}", "$ref",
                             "https://json-schema.org/draft/2020-12/schema");
    char where[8];

    mortise_arena_init(&forever, &mortise_heap);
    assert(mortise_schema_compile(&metaschema, &forever, json, where,
                                  sizeof where, NULL) == MORTISE_OK);
    json_decref(json);
}

/* Is every integer in it a double, too? */
static bool is_small(const json_t *v)
{
    json_t *part;
    const char *key;
    size_t i;
    bool yes = !json_is_integer(v) || (json_integer_value(v) <= 1LL << 53 &&
                                       json_integer_value(v) >= -(1LL << 53));

    json_array_foreach(v, i, part)
    {
        yes = yes && is_small(part);
    }
    json_object_foreach(mortise_json_unconst(v), key, part)
    {
        yes = yes && is_small(part);
    }
    return yes;
}

static void judge(const struct mortise_schema *s, json_t *v)
{
    struct mortise_err err = {.msg = ""};
    int rv = mortise_schema_check(s, v, &err), again;
    json_t *normal;

    assert(rv == MORTISE_OK || rv == MORTISE_EINVAL || rv == MORTISE_ELIMIT);
    assert((rv == MORTISE_OK) == (err.msg[0] == '\0'));
    if (rv != MORTISE_OK)
        return;
    normal = mortise_schema_normalize(s, v, 0);
    assert(normal != NULL);
    again = mortise_schema_check(s, normal, &err);
    assert(again == MORTISE_OK || again == MORTISE_ELIMIT || !is_small(v));
    json_decref(normal);
}

static void compile(json_t *schema, json_t *values)
{
    struct mortise_schema *s;
    struct mortise_arena a;
    struct mortise_err err;
    char where[16];
    json_t *v;
    size_t i;

    mortise_arena_init(&a, &mortise_heap);
    if (mortise_schema_compile(&s, &a, schema, where, sizeof where, &err) ==
        MORTISE_OK) {
        assert(mortise_schema_check(metaschema, schema, &err) !=
               MORTISE_EINVAL);
        judge(s, schema);
        json_array_foreach(values, i, v)
        {
            judge(s, v);
        }
        mortise_schema_finish(s);
    }
    mortise_arena_finish(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *v;

    if (metaschema == NULL)
        make_metaschema();
    if (mortise_json_parse(&v, (const char *)data, size, NULL) != MORTISE_OK)
        return 0;
    compile(json_is_array(v) ? json_array_get(v, 0) : v, v);
    json_decref(v);
    return 0;
}
