/* digest.c -- the digest of a tool's definition.
 *
 * A deployment pins what a tool said of itself when somebody looked at it
 * (mortise.lock); whether a server still says the same is one comparison of
 *
 *     BLAKE2b-256, in lower-case hexadecimal, of the canonical form (canonical.h)
 *     of {annotations, description, inputSchema, outputSchema, title}
 *
 * as the server sent them; those that it did not send are left out, and whatever
 * else it sent (its name, icons, _meta) is no part of it. */
#include "digest.h"

static mortise_status put(struct bytes *to, const char *text)
{
    return bytes_put(to, mortise_strz(text));
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
            status = canonical_put(to, v, 0);
    }
    return status == MORTISE_S_OK ? put(to, "}") : status;
}

mortise_status mcp_tool_digest(mortise_jv tool, char hex[CANONICAL_HEX + 1])
{
    struct bytes text = {0};
    mortise_status status = put_definition(&text, tool);

    if (status == MORTISE_S_OK)
        canonical_digest(&text, hex);
    bytes_free(&text);
    return status;
}
