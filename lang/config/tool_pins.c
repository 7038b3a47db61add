/* tool_pins.c -- pinned operations: those of a plugin that the lock file
 * defines instead of its manifest.
 *
 * A tool in the lock, of a server that the deployment has, is the operation
 * SERVER/TOOL of the plugin that connects to the servers.
 *
 *   (1) The deployer declares the effect of a tool.  The strictest list that
 *       matches applies; a tool that matches none is external and not
 *       idempotent.
 *   (2) The server's annotations can only make the effect stricter.  A deployer
 *       who declares `read` for a tool that says otherwise is wrong, and a
 *       server that claims to only read may lie.
 *   (3) A tool's schemas are text of the server.  They mark no place for a
 *       secret, whatever they contain, and their dialect is ignored: all are
 *       read as 2020-12, after keywords of drafts 4 to 7 are rewritten
 *       (lang/schema/drafts.c).
 */
#include "lang/config/tool_pins.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/wild.h"
#include "lang/schema/drafts.h"

/* ---- effects (1), (2) ---------------------------------------------------- */

static bool matches_pattern(const struct mortise_yaml *patterns,
                            const char *tool)
{
    for (size_t i = 0; patterns != NULL && i < patterns->n; i++)
        if (mortise_wild_match(patterns->items[i]->str, tool))
            return true;
    return false;
}

static bool has_hint(const struct mortise_lock_tool *t, const char *hint,
                     bool value)
{
    const struct mortise_yaml *v = mortise_yaml_get(t->annotations, hint);

    return v != NULL && v->kind == MORTISE_YAML_BOOL && v->u.b == value;
}

static const char *get_tool_effect(const struct mortise_mcp_effects *e,
                                   const struct mortise_lock_tool *t)
{
    bool writes = matches_pattern(e->write, t->name);
    bool reads = !writes && matches_pattern(e->read, t->name);

    if (reads && !has_hint(t, "readOnlyHint", false))
        return "read";
    if (!reads && !writes)
        return "external";
    return has_hint(t, "destructiveHint", true) ||
                   has_hint(t, "openWorldHint", true)
               ? "external"
               : "write";
}

/* ---- the list of pins ---------------------------------------------------- */

static int compare_tool_pins(const void *a, const void *b)
{
    const struct mortise_tool_pin *x = a, *y = b;

    return strcmp(x->operation, y->operation);
}

static bool add_tool_pin(struct mortise_tool_pin *pin, struct mortise_arena *a,
                         const struct mortise_mcp_server *s,
                         const struct mortise_lock_tool *t)
{
    size_t size = strlen(s->name) + strlen(t->name) + 2;
    char *operation = mortise_arena_alloc(a, size);

    if (operation == NULL)
        return false;
    snprintf(operation, size, "%s/%s", s->name, t->name);
    *pin = (struct mortise_tool_pin){
        .operation = operation,
        .server = s->name,
        .description = t->description[0] != '\0' ? t->description : t->title,
        .effect = get_tool_effect(&s->effects, t),
        .idempotent = matches_pattern(s->effects.idempotent, t->name) &&
                      !has_hint(t, "idempotentHint", false),
        .tool = t};
    return true;
}

int mortise_tool_pins_make(struct mortise_tool_pins *out,
                           struct mortise_arena *a,
                           const struct mortise_mcp_servers *servers,
                           const struct mortise_lock *lock)
{
    struct mortise_tool_pin *list;
    size_t most = 0, n = 0;

    *out = (struct mortise_tool_pins){.plugin = mortise_mcp_plugin};
    for (size_t i = 0; i < lock->n; i++)
        most += lock->list[i].n;
    if (most == 0)
        return MORTISE_OK;
    list = mortise_arena_alloc(a, most * sizeof *list);
    for (size_t i = 0; list != NULL && i < lock->n; i++) {
        const struct mortise_lock_server *pinned = &lock->list[i];
        const struct mortise_mcp_server *s =
            mortise_mcp_find(servers, pinned->name);

        for (size_t k = 0; s != NULL && k < pinned->n; k++)
            if (!add_tool_pin(&list[n++], a, s, &pinned->tools[k]))
                return MORTISE_ENOMEM;
    }
    if (list == NULL)
        return MORTISE_ENOMEM;
    assert(n <= most);
    qsort(list, n, sizeof *list, compare_tool_pins);
    out->list = list;
    out->n = n;
    return MORTISE_OK;
}

const struct mortise_tool_pin *
mortise_tool_pin_find(const struct mortise_tool_pins *pins,
                      const char *operation)
{
    const struct mortise_tool_pin key = {.operation = operation};

    return pins->n > 0 ? bsearch(&key, pins->list, pins->n, sizeof key,
                                 compare_tool_pins)
                       : NULL;
}

/* ---- missing tools ------------------------------------------------------- */

/* The most similar pinned tool; NULL: none is similar. */
static const char *find_similar_tool(const struct mortise_tool_pins *pins,
                                     const char *operation)
{
    const char *names[256];
    size_t n = 0;

    for (; n < pins->n && n < sizeof names / sizeof names[0]; n++)
        names[n] = pins->list[n].operation;
    return mortise_nearest_find(operation, names, n);
}

int mortise_tool_pin_report_missing(const struct mortise_tool_pins *pins,
                                    const struct mortise_mcp_servers *servers,
                                    const char *operation,
                                    struct mortise_err *err)
{
    char server[MORTISE_MCP_NAME + 1];
    size_t n = strcspn(operation, "/");
    const char *near = find_similar_tool(pins, operation);
    const struct mortise_program *program;

    snprintf(server, sizeof server, "%.*s", (int)(n < 256 ? n : 256),
             operation);
    if (near != NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "tool '%s/%.200s' is not pinned; did you mean "
                            "'%s/%s'?",
                            pins->plugin, operation, pins->plugin, near);
    if (mortise_mcp_find(servers, server) == NULL)
        return mortise_mcp_find_program(servers, server, &program, err);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "tool '%s/%.200s' is not pinned; `mortise mcp pin %s` "
                        "pins the current tools of the server",
                        pins->plugin, operation, server);
}

/* ---- schemas (3) --------------------------------------------------------- */

static json_t *make_tool_schema(const struct mortise_yaml *node)
{
    json_t *schema = mortise_yaml_to_json(node, false);

    if (schema == NULL)
        return NULL;
    json_object_del(schema, "$schema");
    if (mortise_schema_modernize(schema) == MORTISE_OK)
        return schema;
    json_decref(schema);
    return NULL;
}

/* The tool's own schema becomes a separate resource inside this one, so that
 * its references are resolved in itself. */
static json_t *make_structured_schema(const struct mortise_tool_pin *pin)
{
    json_t *schema = make_tool_schema(pin->tool->output);

    if (schema == NULL || json_object_get(schema, "$id") != NULL ||
        json_object_set_new(schema, "$id", json_string("urn:mortise:output")) ==
            0)
        return schema;
    json_decref(schema);
    return NULL;
}

static json_t *make_output_schema(const struct mortise_tool_pin *pin)
{
    json_t *out = json_pack("{s:s, s:[s], s:{s:{s:s, s:{s:s}}, s:{s:s}}}",
                            "type", "object", "required", "content",
                            "properties", "content", "type", "array", "items",
                            "type", "object", "text", "type", "string");
    json_t *properties = json_object_get(out, "properties");

    if (properties == NULL || pin->tool->output == NULL ||
        json_object_set_new(properties, "structured",
                            make_structured_schema(pin)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* Takes the reference of `json`; NULL: memory ran out. */
static int compile_tool_schema(struct mortise_schema **out,
                               struct mortise_arena *a, json_t *json,
                               const struct mortise_tool_pin *pin,
                               const char *what, struct mortise_err *err)
{
    static const struct mortise_schema_options world = {
        .patterns = MORTISE_PATTERNS_FOREIGN};
    struct mortise_err why;
    char where[256] = "";
    int rv = json != NULL ? mortise_schema_compile_with(
                                out, a, json, &world, where, sizeof where, &why)
                          : MORTISE_ENOMEM;

    json_decref(json);
    if (rv == MORTISE_OK)
        return rv;
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return mortise_fail(err, MORTISE_EINVAL,
                        "tool '%s/%s' cannot be called: its server's %s_schema "
                        "is not valid%s%s: %.300s",
                        mortise_mcp_plugin, pin->operation, what,
                        where[0] != '\0' ? ", at " : "", where, why.msg);
}

int mortise_tool_pin_compile_schemas(struct mortise_pinned_schemas *out,
                                     struct mortise_arena *a,
                                     const struct mortise_tool_pin *pin,
                                     struct mortise_err *err)
{
    int rv;

    *out = (struct mortise_pinned_schemas){NULL, NULL};
    rv = compile_tool_schema(&out->input, a, make_tool_schema(pin->tool->input),
                             pin, "input", err);
    return rv == MORTISE_OK
               ? compile_tool_schema(&out->output, a, make_output_schema(pin),
                                     pin, "output", err)
               : rv;
}
