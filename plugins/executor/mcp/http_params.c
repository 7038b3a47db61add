/* http_params.c -- what of a message stands in headers as well (2026-07-28).
 *
 * Values     What has visible ASCII, and blanks and tabs between, stands as it
 *            is; everything else, and what looks like the coding itself, as
 *            =?base64?...?= of its UTF-8.
 * Parameters A tool's inputSchema marks some of its properties with
 *            `x-mcp-header: NAME`; a call has their values as Mcp-Param-NAME.
 *
 *   (1) A mark stands at a property of type string, integer or boolean, which is
 *       reached from the root by `properties` alone; its name is a token, and no
 *       other has it, whatever its case.  A tool with another mark, anywhere, is
 *       not called at all.
 *   (2) A property that is called x-mcp-header is no mark, nor is one in a place
 *       that has values in place of schemas (const, enum, default, examples).
 *   (3) A value that is null, is not there, or is an object or a list has no
 *       header.
 *   (4) At most MARKS of them in a tool; a schema is as deep as the host lets
 *       JSON be. */
#include "http_params.h"

#include <sodium.h>

#include "oauth_url.h"

enum { MARKS = 64, MARK_NAME = 128 };

#define MARK "x-mcp-header"

/* ---- values -------------------------------------------------------------- */

static int is_edge(char c)
{
    return c == ' ' || c == '\t';
}

static int looks_coded(mortise_str v)
{
    static const char before[] = "=?base64?", behind[] = "?=";

    return v.n >= 11 && memcmp(v.p, before, 9) == 0 &&
           memcmp(v.p + v.n - 2, behind, 2) == 0;
}

static int stands(mortise_str v)
{
    for (uint64_t i = 0; i < v.n; i++)
        if (v.p[i] != '\t' && (v.p[i] < ' ' || v.p[i] > '~'))
            return 0;
    return v.n == 0 ||
           (!is_edge(v.p[0]) && !is_edge(v.p[v.n - 1]) && !looks_coded(v));
}

mortise_status http_header_value(mortise_str value, struct bytes *out)
{
    size_t n =
        sodium_base64_encoded_len(value.n, sodium_base64_VARIANT_ORIGINAL);
    mortise_status status;

    if (stands(value))
        return bytes_put(out, value);
    status = bytes_put(out, mortise_strz("=?base64?"));
    if (status == MORTISE_S_OK)
        status = bytes_room(out, n);
    if (status != MORTISE_S_OK)
        return status;
    sodium_bin2base64(out->p + out->n, n, (const unsigned char *)value.p,
                      value.n, sodium_base64_VARIANT_ORIGINAL);
    out->n += n - 1; /* less the NUL */
    return bytes_put(out, mortise_strz("?="));
}

/* ---- marks --------------------------------------------------------------- */

struct marks {
    char room[MARKS][MARK_NAME];
    mortise_str names[MARKS];
    unsigned n;
    const char *wrong;
};

static int is_token(mortise_str s)
{
    for (uint64_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' ||
            strchr("\"(),/:;<=>?@[\\]{}", s.p[i]) != NULL)
            return 0;
    return s.n > 0;
}

/* The name of a mark, into room of MARK_NAME bytes; empty: none. */
static mortise_str name_of(mortise_jv mark, char *room)
{
    mortise_str name;

    if (mortise_jv_text(mark, room, MARK_NAME, &name) != MORTISE_S_OK ||
        name.n > MARK_NAME || !is_token(name))
        return mortise_str_empty();
    return name;
}

/* (1) */
static void judge(struct marks *m, mortise_jv schema, mortise_jv mark,
                  int reached)
{
    mortise_jv type = mortise_jv_get(schema, "type");
    mortise_str name;

    if (!reached) {
        m->wrong = "an x-mcp-header is not at a property";
        return;
    }
    if (!mortise_jv_is(type, mortise_strz("string")) &&
        !mortise_jv_is(type, mortise_strz("integer")) &&
        !mortise_jv_is(type, mortise_strz("boolean"))) {
        m->wrong = "an x-mcp-header is not at a string, integer or boolean";
        return;
    }
    if (m->n == MARKS) { /* (4) */
        m->wrong = "it has more than 64 x-mcp-headers";
        return;
    }
    name = name_of(mark, m->room[m->n]);
    if (name.n == 0)
        m->wrong = "an x-mcp-header is not a valid header name";
    for (unsigned i = 0; i < m->n; i++)
        if (oauth_str_alike(name, m->names[i]))
            m->wrong = "an x-mcp-header occurs twice";
    m->names[m->n++] = name;
}

enum where { SCHEMA, NAMES_OF_SCHEMAS, VALUE };

/* What a member of a schema has in it (2). */
static enum where inside(mortise_jv key)
{
    static const char *const values[] = {"const", "enum", "default", "examples",
                                         "required"};
    static const char *const maps[] = {"properties", "patternProperties",
                                       "$defs", "definitions",
                                       "dependentSchemas"};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (mortise_jv_is(key, mortise_strz(values[i])))
            return VALUE;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        if (mortise_jv_is(key, mortise_strz(maps[i])))
            return NAMES_OF_SCHEMAS;
    return SCHEMA;
}

/* `reached`: as (1) says; the root is, but it is no property. */
static void walk(struct marks *m, mortise_jv v, int reached, int is_root)
{
    mortise_jv_iter it = mortise_jv_each(v), below;
    mortise_jv key, value, one;

    while (m->wrong == NULL && mortise_jv_next(&it, &key, &value)) {
        int on;

        if (!it.is_object) { /* of a list of schemas */
            walk(m, value, 0, 0);
            continue;
        }
        if (mortise_jv_is(key, mortise_strz(MARK))) {
            judge(m, v, value, reached && !is_root);
            continue;
        }
        switch (inside(key)) {
        case VALUE:
            break;
        case NAMES_OF_SCHEMAS:
            on = reached && mortise_jv_is(key, mortise_strz("properties"));
            below = mortise_jv_each(value);
            while (m->wrong == NULL && mortise_jv_next(&below, NULL, &one))
                walk(m, one, on, 0);
            break;
        default:
            walk(m, value, 0, 0);
        }
    }
}

const char *http_params_refuse(mortise_jv schema)
{
    struct marks *m = (struct marks *)calloc(1, sizeof *m);
    const char *wrong;

    if (m == NULL)
        return "out of memory";
    walk(m, schema, 1, 1);
    wrong = m->wrong;
    free(m);
    return wrong;
}

/* ---- a call -------------------------------------------------------------- */

static mortise_status put_value(mortise_jv mark, mortise_jv value,
                                http_params_fn *put, void *ud)
{
    char room[MARK_NAME], number[24];
    struct bytes text = {0}, coded = {0};
    mortise_status status = MORTISE_S_OK;
    mortise_str name = name_of(mark, room), plain;
    int64_t n;

    switch (mortise_jv_type(value)) {
    case MORTISE_JV_STRING:
        status = bytes_decode(&text, value);
        plain = bytes_str(&text);
        break;
    case MORTISE_JV_NUMBER:
        plain = mortise_strn(value.p, value.n);
        if (mortise_jv_int(value, &n) == MORTISE_S_OK)
            plain = mortise_strn(number, mortise_jp_itoa(number, n));
        break;
    case MORTISE_JV_BOOL:
        plain = mortise_strn(value.p, value.n);
        break;
    default: /* (3) */
        return MORTISE_S_OK;
    }
    if (status == MORTISE_S_OK)
        status = http_header_value(plain, &coded);
    if (status == MORTISE_S_OK && name.n > 0)
        status = put(ud, name, bytes_str(&coded));
    bytes_free(&text);
    bytes_free(&coded);
    return status;
}

mortise_status http_params_each(mortise_jv schema, mortise_jv arguments,
                                http_params_fn *put, void *ud)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(schema, "properties"));
    mortise_status status = MORTISE_S_OK;
    struct bytes name = {0};
    mortise_jv key, property;

    while (status == MORTISE_S_OK && it.is_object &&
           mortise_jv_next(&it, &key, &property)) {
        mortise_jv mark = mortise_jv_get(property, MARK), value;

        name.n = 0;
        status = bytes_decode(&name, key);
        if (status != MORTISE_S_OK)
            break;
        value = mortise_jv_getn(arguments, bytes_str(&name));
        if (mortise_jv_type(mark) != MORTISE_JV_NONE)
            status = put_value(mark, value, put, ud);
        else
            status = http_params_each(property, value, put, ud);
    }
    bytes_free(&name);
    return status;
}
