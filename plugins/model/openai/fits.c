#include "fits.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOST_DEPTH = 48,  /* of 64, less what our reply and a run put around it */
    STRICT_DEPTH = 10 /* objects and arrays in each other, as servers say */
};

/* ---- what a host takes --------------------------------------------------- */

static bool is_plain_number(mortise_jv v)
{
    bool whole = true;
    double real;
    int64_t n;

    for (uint64_t i = 0; i < v.n; i++)
        whole = whole && strchr(".eE", v.p[i]) == NULL;
    return whole ? mortise_jv_int(v, &n) == MORTISE_S_OK
                 : mortise_jv_double(v, &real) == MORTISE_S_OK;
}

static int compare_names(const void *a, const void *b)
{
    const mortise_jv *x = a, *y = b;
    int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return order != 0 ? order : x->n < y->n ? -1 : x->n > y->n;
}

static bool has_nul(mortise_jv name)
{
    return memmem(name.p, name.n, "\\u0000", 6) != NULL;
}

/* The names of an object are different, and each is a name. */
static mortise_status check_names(mortise_jv object)
{
    mortise_jv_iter it = mortise_jv_each(object);
    size_t n = 0, count = mortise_jv_count(object);
    mortise_jv value, *names = malloc((count + 1) * sizeof *names);
    bool good = true;

    if (names == NULL)
        return MORTISE_S_NOMEM;
    while (n < count && mortise_jv_next(&it, &names[n], &value))
        good = good && !has_nul(names[n++]);
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++)
        good = good && compare_names(&names[i - 1], &names[i]) != 0;
    free(names);
    return good ? MORTISE_S_OK : MORTISE_S_INVALID;
}

static mortise_status check(mortise_jv v, unsigned depth)
{
    mortise_jv_iter it = mortise_jv_each(v);
    int32_t type = mortise_jv_type(v);
    mortise_status status = MORTISE_S_OK;
    mortise_jv inner;

    if (depth >= HOST_DEPTH ||
        (type == MORTISE_JV_NUMBER && !is_plain_number(v)))
        return MORTISE_S_INVALID;
    if (type == MORTISE_JV_OBJECT)
        status = check_names(v);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &inner))
        status = check(inner, depth + 1);
    return status;
}

mortise_status fits_host(mortise_jv v)
{
    return v.n > 0 ? check(v, 0) : MORTISE_S_INVALID;
}

/* ---- what strict decoding takes ------------------------------------------ */

static bool is_word(mortise_jv name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (mortise_jv_is(name, mortise_strz(*words)))
            return true;
    return false;
}

static bool is_required(mortise_jv required, mortise_jv name)
{
    mortise_jv_iter it = mortise_jv_each(required);
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one))
        if (one.n == name.n && memcmp(one.p, name.p, name.n) == 0)
            return true;
    return false;
}

static bool takes(mortise_jv schema, unsigned depth);

/* Each schema of an object or of a list of them. */
static bool takes_each(mortise_jv schemas, unsigned depth)
{
    mortise_jv_iter it = mortise_jv_each(schemas);
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one))
        if (!takes(one, depth))
            return false;
    return true;
}

static bool takes_object(mortise_jv schema, unsigned depth)
{
    mortise_jv properties = mortise_jv_get(schema, "properties");
    mortise_jv required = mortise_jv_get(schema, "required");
    mortise_jv_iter it = mortise_jv_each(properties);
    mortise_jv name, value;
    int32_t more = 1;

    mortise_jv_bool(mortise_jv_get(schema, "additionalProperties"), &more);
    if (more)
        return false;
    while (mortise_jv_next(&it, &name, &value))
        if (!is_required(required, name) || !takes(value, depth + 1))
            return false;
    return true;
}

static bool is_object_schema(mortise_jv schema)
{
    mortise_jv type = mortise_jv_get(schema, "type");
    mortise_jv_iter it = mortise_jv_each(type);
    mortise_jv one;

    if (mortise_jv_is(type, mortise_strz("object")) ||
        mortise_jv_get(schema, "properties").n > 0)
        return true;
    while (mortise_jv_next(&it, NULL, &one))
        if (mortise_jv_is(one, mortise_strz("object")))
            return true;
    return false;
}

static bool takes(mortise_jv schema, unsigned depth)
{
    static const char *const words[] = {"type",
                                        "properties",
                                        "required",
                                        "items",
                                        "additionalProperties",
                                        "enum",
                                        "const",
                                        "anyOf",
                                        "$ref",
                                        "$defs",
                                        "definitions",
                                        "description",
                                        "title",
                                        "format",
                                        "pattern",
                                        "minimum",
                                        "maximum",
                                        "minItems",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum",
                                        "maxItems",
                                        "multipleOf",
                                        NULL};
    mortise_jv_iter it = mortise_jv_each(schema);
    mortise_jv name, value, items = mortise_jv_get(schema, "items");

    if (mortise_jv_type(schema) != MORTISE_JV_OBJECT || depth > STRICT_DEPTH)
        return false;
    while (mortise_jv_next(&it, &name, &value))
        if (!is_word(name, words))
            return false;
    return (!is_object_schema(schema) || takes_object(schema, depth)) &&
           (items.n == 0 || takes(items, depth + 1)) &&
           takes_each(mortise_jv_get(schema, "anyOf"), depth) &&
           takes_each(mortise_jv_get(schema, "$defs"), depth) &&
           takes_each(mortise_jv_get(schema, "definitions"), depth);
}

bool fits_strict(mortise_jv schema)
{
    return mortise_jv_is(mortise_jv_get(schema, "type"),
                         mortise_strz("object")) &&
           mortise_jv_get(schema, "anyOf").n == 0 && takes(schema, 0);
}
