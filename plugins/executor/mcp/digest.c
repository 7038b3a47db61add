/* digest.c -- the digest of a tool's definition.
 *
 * A deployment pins what a tool said of itself when somebody looked at it
 * (mortise.lock); whether a server still says the same is one comparison of
 *
 *     BLAKE2b-256, in lower-case hexadecimal, of the canonical form of
 *     {annotations, description, inputSchema, outputSchema, title}
 *
 * as the server sent them; those that it did not send are left out, and whatever
 * else it sent (its name, icons, _meta) is no part of it.
 *
 * The canonical form of JSON, here:
 *
 *   (1) The members of an object stand by their names, compared as bytes of
 *       UTF-8, at every depth.  Of several of one name the last counts.
 *   (2) No blanks.
 *   (3) A number is written as it was: 1.0 and 1 are not the same.  Who writes
 *       them differently changed the text, and somebody may look why.
 *   (4) A string has escapes only where JSON needs them: \" and \\, \b \t \n \f
 *       \r, and \u00XX (lower case) for the other controls; all else is UTF-8.
 *
 * So neither the order of members, nor blanks, nor how a string was escaped
 * matters, and everything else does. */
#include "digest.h"

#include <sodium.h>

/* A member, as it is sorted. */
struct member {
    mortise_str name; /* decoded; in `names` */
    mortise_jv value;
    uint64_t at; /* its place in the object */
};

static mortise_status put(struct bytes *to, const char *text)
{
    return bytes_put(to, mortise_strz(text));
}

/* (4) is what the SDK's writer does. */
static mortise_status put_string(struct bytes *to, mortise_str text)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_string(&w, text);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = bytes_put(to, json);
    free(w.p);
    return status;
}

static mortise_status put_text(struct bytes *to, mortise_jv v)
{
    struct bytes text = {0};
    mortise_status status = bytes_decode(&text, v);

    if (status == MORTISE_S_OK)
        status = put_string(to, bytes_str(&text));
    bytes_free(&text);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct member *x = (const struct member *)a;
    const struct member *y = (const struct member *)b;
    uint64_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int order = n > 0 ? memcmp(x->name.p, y->name.p, n) : 0;

    if (order != 0)
        return order;
    if (x->name.n != y->name.n)
        return x->name.n < y->name.n ? -1 : 1;
    return x->at < y->at ? -1 : 1; /* the last is the last (1) */
}

static int same_name(const struct member *x, const struct member *y)
{
    return x->name.n == y->name.n &&
           (x->name.n == 0 || memcmp(x->name.p, y->name.p, x->name.n) == 0);
}

static mortise_status put_value(struct bytes *to, mortise_jv v, int depth);

static mortise_status put_members(struct bytes *to, const struct member *list,
                                  uint64_t n, int depth)
{
    mortise_status status = put(to, "{");
    int comma = 0;

    for (uint64_t i = 0; i < n && status == MORTISE_S_OK; i++) {
        if (i + 1 < n && same_name(&list[i], &list[i + 1]))
            continue;
        if (comma)
            status = put(to, ",");
        comma = 1;
        if (status == MORTISE_S_OK)
            status = put_string(to, list[i].name);
        if (status == MORTISE_S_OK)
            status = put(to, ":");
        if (status == MORTISE_S_OK)
            status = put_value(to, list[i].value, depth);
    }
    return status == MORTISE_S_OK ? put(to, "}") : status;
}

/* The members into `list`, whose names go into `names`: room for v.n bytes. */
static mortise_status collect(mortise_jv v, struct member *list, char *names)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, value;
    uint64_t n = 0, at = 0, len;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &value)) {
        status = mortise_jv_decode(name, names + at, v.n - at, &len);
        list[n] = (struct member){mortise_strn(names + at, len), value, n};
        at += len;
        n++;
    }
    return status;
}

static mortise_status put_object(struct bytes *to, mortise_jv v, int depth)
{
    uint64_t n = mortise_jv_count(v);
    struct member *list = (struct member *)calloc(n + 1, sizeof *list);
    char *names = (char *)malloc(v.n + 1);
    mortise_status status = MORTISE_S_NOMEM;

    if (list != NULL && names != NULL)
        status = collect(v, list, names);
    if (status == MORTISE_S_OK) {
        qsort(list, n, sizeof *list, by_name);
        status = put_members(to, list, n, depth);
    }
    free(names);
    free(list);
    return status;
}

static mortise_status put_array(struct bytes *to, mortise_jv v, int depth)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_status status = put(to, "[");
    mortise_jv one;

    for (int comma = 0;
         status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one);
         comma = 1) {
        if (comma)
            status = put(to, ",");
        if (status == MORTISE_S_OK)
            status = put_value(to, one, depth);
    }
    return status == MORTISE_S_OK ? put(to, "]") : status;
}

/* The depth is that of the text, which json.h bounds. */
static mortise_status put_value(struct bytes *to, mortise_jv v, int depth)
{
    if (depth > MORTISE_JV_DEPTH)
        return MORTISE_S_INVALID;
    switch (mortise_jv_type(v)) {
    case MORTISE_JV_OBJECT:
        return put_object(to, v, depth + 1);
    case MORTISE_JV_ARRAY:
        return put_array(to, v, depth + 1);
    case MORTISE_JV_STRING:
        return put_text(to, v);
    case MORTISE_JV_NONE:
        return MORTISE_S_INVALID;
    default:
        return bytes_put(to, mortise_strn(v.p, v.n));
    }
}

mortise_status mcp_canonical(struct bytes *to, mortise_jv v)
{
    return put_value(to, v, 0);
}

/* {annotations, ...} of it, in order. */
static mortise_status put_definition(struct bytes *to, mortise_jv tool)
{
    static const char *const members[] = {
        "annotations", "description", "inputSchema", "outputSchema", "title"};
    mortise_status status = put(to, "{");
    int comma = 0;

    for (size_t i = 0;
         status == MORTISE_S_OK && i < sizeof members / sizeof members[0];
         i++) {
        mortise_jv v = mortise_jv_get(tool, members[i]);

        if (mortise_jv_type(v) == MORTISE_JV_NONE)
            continue;
        status = put(to, comma ? ",\"" : "\"");
        comma = 1;
        if (status == MORTISE_S_OK)
            status = put(to, members[i]);
        if (status == MORTISE_S_OK)
            status = put(to, "\":");
        if (status == MORTISE_S_OK)
            status = mcp_canonical(to, v);
    }
    return status == MORTISE_S_OK ? put(to, "}") : status;
}

mortise_status mcp_tool_digest(mortise_jv tool, char hex[MCP_DIGEST_HEX + 1])
{
    unsigned char digest[MCP_DIGEST_HEX / 2];
    struct bytes text = {0};
    mortise_status status = put_definition(&text, tool);

    if (status == MORTISE_S_OK) {
        crypto_generichash(digest, sizeof digest, (const unsigned char *)text.p,
                           text.n, NULL, 0);
        sodium_bin2hex(hex, MCP_DIGEST_HEX + 1, digest, sizeof digest);
    }
    bytes_free(&text);
    return status;
}
