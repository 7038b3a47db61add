/* tool_pins.c -- what is pinned: operations of a plugin that the lock names, and not
 * its manifest.
 *
 * A tool of the lock, of a server that the deployment has, is the operation
 * SERVER/TOOL of the plugin that speaks to servers.
 *
 *   (1) What it does to the world is the deployer's word.  The strictest list
 *       that it fits counts, and what fits none is external and not idempotent.
 *   (2) A server's own word (annotations) only makes that stricter: whoever
 *       says `read` of a tool that says it is none is mistaken, and a server
 *       that says it only reads may lie.
 *   (3) A tool's schemas are the server's text.  They mark no place where a
 *       secret may stand, whatever they say, and what they say of their dialect
 *       does not count: all are read as 2020-12, and what drafts 4 to 7 say
 *       otherwise is rewritten (lang/schema/drafts.c).
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

static bool fits(const struct mortise_yaml *patterns, const char *tool)
{
    for (size_t i = 0; patterns != NULL && i < patterns->n; i++)
        if (mortise_wild_fits(patterns->items[i]->str, tool))
            return true;
    return false;
}

static bool hints(const struct mortise_lock_tool *t, const char *hint,
                  bool value)
{
    const struct mortise_yaml *v = mortise_yaml_get(t->annotations, hint);

    return v != NULL && v->kind == MORTISE_YAML_BOOL && v->u.b == value;
}

static const char *effect_of(const struct mortise_mcp_effects *e,
                             const struct mortise_lock_tool *t)
{
    bool writes = fits(e->write, t->name);
    bool reads = !writes && fits(e->read, t->name);

    if (reads && !hints(t, "readOnlyHint", false))
        return "read";
    if (!reads && !writes)
        return "external";
    return hints(t, "destructiveHint", true) || hints(t, "openWorldHint", true)
               ? "external"
               : "write";
}

/* ---- all of them --------------------------------------------------------- */

static int by_operation(const void *a, const void *b)
{
    const struct mortise_tool_pin *x = a, *y = b;

    return strcmp(x->operation, y->operation);
}

static bool add(struct mortise_tool_pin *pin, struct mortise_arena *a,
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
        .effect = effect_of(&s->effects, t),
        .idempotent = fits(s->effects.idempotent, t->name) &&
                      !hints(t, "idempotentHint", false),
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
            if (!add(&list[n++], a, s, &pinned->tools[k]))
                return MORTISE_ENOMEM;
    }
    if (list == NULL)
        return MORTISE_ENOMEM;
    assert(n <= most);
    qsort(list, n, sizeof *list, by_operation);
    out->list = list;
    out->n = n;
    return MORTISE_OK;
}

const struct mortise_tool_pin *
mortise_tool_pin_find(const struct mortise_tool_pins *pins,
                      const char *operation)
{
    const struct mortise_tool_pin key = {.operation = operation};

    return pins->n > 0
               ? bsearch(&key, pins->list, pins->n, sizeof key, by_operation)
               : NULL;
}

/* ---- what is not there --------------------------------------------------- */

/* The pinned tool that may be meant; NULL: none is near. */
static const char *nearest(const struct mortise_tool_pins *pins,
                           const char *operation)
{
    const char *names[256];
    size_t n = 0;

    for (; n < pins->n && n < sizeof names / sizeof names[0]; n++)
        names[n] = pins->list[n].operation;
    return mortise_nearest(operation, names, n);
}

int mortise_tool_pin_missing(const struct mortise_tool_pins *pins,
                             const struct mortise_mcp_servers *servers,
                             const char *operation, struct mortise_err *err)
{
    char server[MORTISE_MCP_NAME + 1];
    size_t n = strcspn(operation, "/");
    const char *near = nearest(pins, operation);
    const struct mortise_program *program;

    snprintf(server, sizeof server, "%.*s", (int)(n < 256 ? n : 256),
             operation);
    if (near != NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "tool '%s/%.200s' is not pinned; did you mean "
                            "'%s/%s'?",
                            pins->plugin, operation, pins->plugin, near);
    if (mortise_mcp_find(servers, server) == NULL)
        return mortise_mcp_program(servers, server, &program, err);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "tool '%s/%.200s' is not pinned; `mortise mcp pin %s` "
                        "pins the current tools of the server",
                        pins->plugin, operation, server);
}

/* ---- schemas (3) --------------------------------------------------------- */

static json_t *schema_of(const struct mortise_yaml *node)
{
    json_t *schema = mortise_yaml_json(node, false);

    if (schema == NULL)
        return NULL;
    json_object_del(schema, "$schema");
    if (mortise_schema_modernize(schema) == MORTISE_OK)
        return schema;
    json_decref(schema);
    return NULL;
}

/* The tool's own schema is a resource of its own inside of this one: what it
 * refers to, it finds in itself. */
static json_t *structured_of(const struct mortise_tool_pin *pin)
{
    json_t *schema = schema_of(pin->tool->output);

    if (schema == NULL || json_object_get(schema, "$id") != NULL ||
        json_object_set_new(schema, "$id", json_string("urn:mortise:output")) ==
            0)
        return schema;
    json_decref(schema);
    return NULL;
}

static json_t *output_of(const struct mortise_tool_pin *pin)
{
    json_t *out = json_pack("{s:s, s:[s], s:{s:{s:s, s:{s:s}}, s:{s:s}}}",
                            "type", "object", "required", "content",
                            "properties", "content", "type", "array", "items",
                            "type", "object", "text", "type", "string");
    json_t *properties = json_object_get(out, "properties");

    if (properties == NULL || pin->tool->output == NULL ||
        json_object_set_new(properties, "structured", structured_of(pin)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* `json` is taken; NULL: memory ran out. */
static int compile(struct mortise_schema **out, struct mortise_arena *a,
                   json_t *json, const struct mortise_tool_pin *pin,
                   const char *what, struct mortise_err *err)
{
    static const struct mortise_schema_world world = {
        .patterns = MORTISE_PATTERNS_FOREIGN};
    struct mortise_err why;
    char where[256] = "";
    int rv = json != NULL ? mortise_schema_compile_in(out, a, json, &world,
                                                      where, sizeof where, &why)
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

int mortise_tool_pin_schemas(struct mortise_pinned_schemas *out,
                             struct mortise_arena *a,
                             const struct mortise_tool_pin *pin,
                             struct mortise_err *err)
{
    int rv;

    *out = (struct mortise_pinned_schemas){NULL, NULL};
    rv =
        compile(&out->input, a, schema_of(pin->tool->input), pin, "input", err);
    return rv == MORTISE_OK
               ? compile(&out->output, a, output_of(pin), pin, "output", err)
               : rv;
}
