#include "catalog.h"

#include <check.h>
#include <string.h>

#include "lang/config/limits.h"
#include "lang/schema/schema.h"
#include "lang/yaml/tree.h"

static const char *const web_secrets[] = {"/key", "/headers/~2"};

static struct entry {
    struct mortise_operation op;
    const char *input, *output;
    struct mortise_schema *schemas[2];
} entries[] = {
    {.op = {.plugin = "text",
            .name = "lines",
            .description = "",
            .effect = MORTISE_PURE},
     .input = "{\"type\":\"object\",\"properties\":{\"text\":"
              "{\"type\":\"string\"}},\"required\":[\"text\"],"
              "\"additionalProperties\":false}",
     .output = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {.op = {.plugin = "text",
            .name = "count",
            .description = "",
            .effect = MORTISE_PURE},
     .input = "{\"type\":\"object\",\"properties\":{\"text\":"
              "{\"type\":\"string\"},\"limit\":{\"type\":\"integer\"}},"
              "\"required\":[\"text\"],\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"n\":"
               "{\"type\":\"integer\"}},\"additionalProperties\":false}"},
    {.op = {.plugin = "text",
            .name = "template",
            .description = "",
            .effect = MORTISE_PURE},
     .input = "{\"type\":\"object\",\"properties\":{\"template\":"
              "{\"type\":\"string\",\"x-template\":\"values\"},\"values\":"
              "{\"type\":\"object\"}}}",
     .output = "{\"type\":\"object\",\"properties\":{\"text\":"
               "{\"type\":\"string\"}}}"},
    {.op = {.plugin = "file",
            .name = "read",
            .description = "",
            .effect = MORTISE_READ},
     .input = "{\"type\":\"object\",\"properties\":{\"path\":"
              "{\"type\":\"string\"}},\"required\":[\"path\"]}",
     .output = "{\"type\":\"object\",\"properties\":{\"text\":"
               "{\"type\":\"string\"}}}"},
    {.op = {.plugin = "file",
            .name = "write",
            .description = "",
            .effect = MORTISE_WRITE,
            .reconcile = true,
            .timeout_ms = 5000},
     .input = "{\"type\":\"object\",\"properties\":{\"path\":"
              "{\"type\":\"string\"},\"text\":{\"type\":\"string\"}},"
              "\"required\":[\"path\"]}"},
    {.op = {.plugin = "model",
            .name = "ask",
            .description = "",
            .effect = MORTISE_READ,
            .usage = {.present = true,
                      .said = {true, false, true, false},
                      .most = {1, 0, 500, 0}}}},
    {.op = {.plugin = "pay",
            .name = "refund",
            .description = "",
            .effect = MORTISE_EXTERNAL}},
    {.op = {.plugin = "pay",
            .name = "charge",
            .description = "",
            .effect = MORTISE_EXTERNAL,
            .idempotent = true}},
    {.op = {.plugin = "web",
            .name = "post",
            .description = "",
            .effect = MORTISE_EXTERNAL,
            .steps = true}},
    {.op = {.plugin = "web",
            .name = "get",
            .description = "",
            .effect = MORTISE_READ,
            .secrets = {web_secrets, 2}}},
    {.op = {.plugin = "agent",
            .name = "gmi",
            .description = "",
            .effect = MORTISE_READ,
            .asks_models = true}},
    {.op = {.plugin = "agent",
            .name = "leaf",
            .description = "",
            .effect = MORTISE_READ,
            .asks_models = true}},
    {.op = {.plugin = "agent",
            .name = "compact",
            .description = "",
            .effect = MORTISE_READ,
            .asks_models = true}},
    {.op = {.plugin = "agent",
            .name = "judge",
            .description = "",
            .effect = MORTISE_READ,
            .asks_models = true}},
    {.op = {.plugin = "exec",
            .name = "look",
            .description = "",
            .effect = MORTISE_READ},
     .input = "{\"type\":\"object\",\"properties\":{\"program\":"
              "{\"type\":\"string\",\"x-program\":true},\"args\":"
              "{\"type\":\"array\"}}}"},
    {.op = {.plugin = "voice",
            .name = "run",
            .description = "",
            .effect = MORTISE_EXTERNAL,
            .idempotent = true,
            .steps = true,
            .asks_models = true}},
};

enum { N = sizeof entries / sizeof entries[0] };

static struct mortise_arena arena;
static bool compiled;

static struct mortise_schema *schema(const char *text)
{
    struct mortise_schema *s;
    json_t *json;
    char where[64];

    if (text == NULL)
        return NULL;
    json = json_loads(text, 0, NULL);
    ck_assert_int_eq(
        mortise_schema_compile(&s, &arena, json, where, sizeof where, NULL),
        MORTISE_OK);
    json_decref(json);
    return s;
}

static void compile(void)
{
    mortise_arena_init(&arena, &mortise_heap);
    for (int i = 0; i < N; i++) {
        entries[i].op.input = entries[i].schemas[0] = schema(entries[i].input);
        entries[i].op.output = entries[i].schemas[1] =
            schema(entries[i].output);
    }
    compiled = true;
}

static const struct mortise_operation *
operation(void *ud, const char *plugin, const char *op, struct mortise_err *why)
{
    bool found = false;

    (void)ud;
    if (strcmp(op, "wipe") == 0) {
        mortise_fail(why, MORTISE_ECONFIG, "the deployment denies %s/%s",
                     plugin, op);
        return NULL;
    }
    for (int i = 0; i < N; i++) {
        if (strcmp(entries[i].op.plugin, plugin) != 0)
            continue;
        found = true;
        if (strcmp(entries[i].op.name, op) == 0)
            return &entries[i].op;
    }
    if (found)
        mortise_fail(why, MORTISE_ENOTFOUND,
                     "plugin '%s' has no operation '%s'", plugin, op);
    else
        mortise_fail(why, MORTISE_ENOTFOUND, "no plugin '%s'", plugin);
    return NULL;
}

static int guardrail(void *ud, const char *id, struct mortise_err *why)
{
    (void)ud;
    if (strcmp(id, "pii") == 0 || strcmp(id, "pattern") == 0)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_ENOTFOUND, "no guardrail '%s'", id);
}

static int secret(void *ud, const char *plugin, const char *name,
                  struct mortise_err *why)
{
    (void)ud;
    if (strcmp(name, "token") == 0)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_EDENIED, "'%s' may not use '%s'", plugin,
                        name);
}

static int program(void *ud, const struct mortise_operation *op,
                   const char *name, struct mortise_err *why)
{
    (void)ud;
    (void)op;
    return strcmp(name, "count") == 0
               ? MORTISE_OK
               : mortise_fail(why, MORTISE_ENOTFOUND,
                              "the deployment has no program '%s'", name);
}

static int model(void *ud, const char *alias, bool *priced,
                 struct mortise_err *why)
{
    (void)ud;
    *priced = strcmp(alias, "openai") != 0;
    if (strcmp(alias, "default") == 0 || strcmp(alias, "openai") == 0)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_ENOTFOUND,
                        "the deployment has no model '%s'", alias);
}

/* There is one, which reads nothing as of an earlier time. */
static int memory(void *ud, bool *as_of, struct mortise_err *why)
{
    (void)ud;
    (void)why;
    *as_of = false;
    return MORTISE_OK;
}

static int discovery(void *ud, void (*fn)(void *into, const char *name),
                     void *into, struct mortise_err *why)
{
    (void)ud;
    (void)fn;
    (void)into;
    return mortise_fail(why, MORTISE_ENOTFOUND,
                        "the deployment has no discovery plugin: list one in "
                        "discovery.plugins");
}

/* In the order of the table, which is not that of their names: nothing depends
 * on it. */
static int operations(void *ud,
                      int (*fn)(void *into, const char *plugin, const char *op),
                      void *into, struct mortise_err *why)
{
    int rv = MORTISE_OK;

    (void)ud;
    (void)why;
    for (size_t i = 0; rv == MORTISE_OK && i < N; i++)
        rv = fn(into, entries[i].op.plugin, entries[i].op.name);
    return rv;
}

const struct mortise_catalog *test_catalog(void)
{
    static const struct mortise_source_file file = {.path = "mortise.yaml"};
    static const struct mortise_yaml most = {.span = {&file, 4, 20, 4, 24},
                                             .str = "1GiB"};
    static const struct mortise_bounds limits = {
        .value = {[MORTISE_LIMIT_STATE] = 1 << 30},
        .said = {[MORTISE_LIMIT_STATE] = &most}};
    static const struct mortise_catalog catalog = {.operation = operation,
                                                   .operations = operations,
                                                   .guardrail = guardrail,
                                                   .secret = secret,
                                                   .program = program,
                                                   .model = model,
                                                   .memory = memory,
                                                   .discovery = discovery,
                                                   .limits = &limits};

    if (!compiled)
        compile();
    return &catalog;
}

void test_catalog_finish(void)
{
    if (!compiled)
        return;
    for (int i = 0; i < N; i++) {
        mortise_schema_finish(entries[i].schemas[0]);
        mortise_schema_finish(entries[i].schemas[1]);
    }
    mortise_arena_finish(&arena);
    compiled = false;
}
