/* gmi.c -- gmi nodes (general model invocation): an operation that asks models.
 *
 * The node says what is wanted of a model; what talks to it is an operation,
 * agent/gmi unless the deployment's `executors` has another.  That gets
 *
 *     {args, node}
 *
 * where `node` has the keys below as they are written, with their templates
 * resolved, and the node's output_schema, in which nothing is a template.  What
 * is not written is not there: defaults are the operation's.
 */
#include <assert.h>
#include <string.h>

#include "graph/load/node.h"

/* ---- mappings that are made ------------------------------------------------ */

enum { MADE = 24 }; /* more than there are keys here */

struct made {
    struct mortise_yaml *keys[MADE], *items[MADE];
    size_t n;
};

/* What is read of a node: mappings of the keys that its operation gets. */
struct gmi {
    struct made node, llm;
};

static void put(struct made *m, const struct mortise_yaml *key,
                const struct mortise_yaml *item)
{
    assert(m->n < MADE);
    m->keys[m->n] = mortise_yaml_unconst(key);
    m->items[m->n++] = mortise_yaml_unconst(item);
}

static struct mortise_yaml *map_of(struct mortise_loader *ld, struct made *m,
                                   struct mortise_span at)
{
    struct mortise_yaml *map =
        mortise_yaml_mapping(ld->arena, at, m->keys, m->items, m->n);

    ld->nomem |= map == NULL;
    return map;
}

static struct gmi *gmi_of(void *reading)
{
    const struct mortise_reading *r = reading;

    return r->node->own;
}

/* ---- keys ------------------------------------------------------------------ */

/* As it is written. */
static void read_own(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)ctx;
    put(&gmi_of(into)->node, slot->name, slot->value);
}

static void read_of_llm(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)ctx;
    put(&gmi_of(into)->llm, slot->name, slot->value);
}

static const struct mortise_word modes[] = {
    {.word = "single_turn"},
    {.word = "react_bounded"},
    {.word = "planner_controlled", .later = true},
    {.word = NULL},
};

static const struct mortise_word responses[] = {
    {.word = "text"}, {.word = "json"}, {.word = NULL}};

/* Is there a model of that name? */
static void check_model(struct mortise_loader *ld, const char *alias,
                        struct mortise_span at)
{
    const struct mortise_catalog *catalog = ld->catalog;
    struct mortise_err why = {0};
    int rv = catalog->model != NULL ? catalog->model(catalog->ud, alias, &why)
                                    : MORTISE_OK;

    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv != MORTISE_OK && rv != MORTISE_ENOMEM)
        mortise_diag_add(ld->diags, "E0513", at, "%s", why.msg);
}

static void read_alias(void *ctx, void *into, const struct mortise_slot *slot)
{
    check_model(ctx, slot->value->str, slot->value->span);
    read_of_llm(ctx, into, slot);
}

static void read_aliases(void *ctx, void *into, const struct mortise_slot *slot)
{
    for (size_t i = 0; i < slot->value->n; i++)
        check_model(ctx, slot->value->items[i]->str,
                    slot->value->items[i]->span);
    read_of_llm(ctx, into, slot);
}

static const struct mortise_key llm_keys[] = {
    {.name = "provider_id",
     .about = "An alias of the deployment's models (default: default).",
     .value = MORTISE_V_STRING,
     .read = read_alias},
    {.name = "model",
     .about = "What the server calls it, where that is not the alias's.",
     .value = MORTISE_V_STRING,
     .read = read_of_llm},
    {.name = "fallback",
     .about = "Aliases that are asked, in their order, where it fails.",
     .value = MORTISE_V_STRINGS,
     .read = read_aliases},
    {.name = "reason",
     .about = "Why this one; for who reads the graph.",
     .value = MORTISE_V_STRING},
    {.name = "tiers", .later = true},
};
MORTISE_PLACE(llm, "llm");

static void read_llm(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct gmi *gmi = gmi_of(into);
    const struct mortise_yaml *map;

    mortise_keys_enter(slot, ld, into, ld->diags);
    map = map_of(ld, &gmi->llm, slot->value->span);
    if (map != NULL)
        put(&gmi->node, slot->name, map);
}

static const struct mortise_key own_keys[] = {
    {.name = "instructions",
     .about = "What the model is told ahead of everything: the system message.",
     .value = MORTISE_V_TEMPLATE,
     .read = read_own},
    {.name = "prompt",
     .about = "What it is asked: text, or a list of parts (text, image, file); "
              "the graph's input unless it is said.",
     .value = MORTISE_V_TEMPLATE,
     .read = read_own},
    {.name = "llm",
     .about = "Which model.",
     .value = MORTISE_V_MAP,
     .place = &llm_place,
     .read = read_llm},
    {.name = "execution_mode",
     .about = "single_turn: one call of the model (the default); "
              "react_bounded: more, until the reply is what was asked for.",
     .value = MORTISE_V_WORD,
     .words = modes,
     .read = read_own},
    {.name = "max_internal_iterations",
     .about = "How many calls of the model, at most (10).",
     .value = MORTISE_V_INT,
     .min = 1,
     .max = 1000,
     .read = read_own},
    {.name = "temperature",
     .about = "How freely it chooses; the server's own unless it is said.",
     .value = MORTISE_V_NUMBER,
     .max = 10,
     .read = read_own},
    {.name = "max_tokens",
     .about = "How long the reply may be, what it reasons included.",
     .value = MORTISE_V_INT,
     .min = 1,
     .max = 1e9,
     .read = read_own},
    {.name = "reasoning_effort",
     .about = "How much it reasons, as its server has it.",
     .value = MORTISE_V_STRING,
     .read = read_own},
    {.name = "response",
     .about = "What the output is: text (the default), or json, of "
              "output_schema if there is one.",
     .value = MORTISE_V_WORD,
     .words = responses,
     .read = read_own},
    {.name = "stream",
     .about = "Whoever watches is told its text as it comes (true).",
     .value = MORTISE_V_BOOL,
     .read = read_own},
    {.name = "cache",
     .about = "true: its server is asked to keep what does not change.",
     .value = MORTISE_V_BOOL,
     .read = read_own},
    {.name = "extra",
     .about = "Members of the server's own request, as they are.",
     .value = MORTISE_V_MAP,
     .each = &(const struct mortise_key){.value = MORTISE_V_ANY},
     .read = read_own},
    {.name = "tool_allowlist", .later = true},
    {.name = "parallel_tools", .later = true},
    {.name = "tool_choice", .later = true},
    {.name = "tool_errors", .later = true},
    {.name = "planner", .later = true},
    {.name = "conversation", .later = true},
    {.name = "handoffs", .later = true},
};

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),    MORTISE_ROWS(mortise_call_rows),
    MORTISE_ROW(mortise_args_row),    MORTISE_ROWS(own_keys),
    MORTISE_ROW(mortise_policy_row),  MORTISE_ROWS(mortise_output_rows),
    MORTISE_ROWS(mortise_join_rows),  MORTISE_ROW(mortise_next_row),
    MORTISE_ROWS(mortise_route_rows), MORTISE_ROW(mortise_targets_row),
    MORTISE_ROW(mortise_map_row),     MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_persona_row), MORTISE_ROW(mortise_resource_row),
    MORTISE_ROWS(mortise_end_rows),   MORTISE_ROWS(mortise_later_rows),
};

/* ---- what the operation gets ---------------------------------------------- */

/* A text that is not written, where `like` stands. */
static struct mortise_yaml *text_of(struct mortise_loader *ld, const char *text,
                                    const struct mortise_yaml *like)
{
    struct mortise_yaml *made = mortise_load_alloc(ld, sizeof *made);

    if (made != NULL)
        *made = (struct mortise_yaml){.kind = MORTISE_YAML_STRING,
                                      .span = like->span,
                                      .str = text,
                                      .len = strlen(text)};
    return made;
}

/* output_schema, in which nothing is a template. */
static void put_schema(struct mortise_loader *ld,
                       const struct mortise_reading *r, struct made *to)
{
    size_t at = mortise_yaml_find(r->map, "output_schema");
    const struct mortise_yaml *schema;

    if (at == SIZE_MAX)
        return;
    schema = mortise_tmpl_literal(ld->arena, r->map->items[at]);
    ld->nomem |= schema == NULL;
    if (schema != NULL)
        put(to, r->map->keys[at], schema);
}

static void begin(struct mortise_loader *ld, struct mortise_reading *r)
{
    mortise_node_read_executor(ld, r, "gmi", "agent/gmi");
}

/* Default is an alias like any other. */
static void check_default(struct mortise_loader *ld,
                          const struct mortise_reading *r)
{
    const struct mortise_yaml *llm = mortise_yaml_get(r->map, "llm");

    if (mortise_yaml_get(llm, "provider_id") == NULL)
        check_model(ld, "default", r->key->span);
}

static void finish(struct mortise_loader *ld, struct mortise_reading *r)
{
    struct made *own = &gmi_of(r)->node, all = {.n = 0};
    const struct mortise_yaml *node, *args;
    size_t at = mortise_yaml_find(r->map, "args");

    check_default(ld, r);
    put_schema(ld, r, own);
    if (mortise_yaml_get(r->map, "prompt") == NULL)
        put(own, text_of(ld, "prompt", r->key),
            text_of(ld, "${input}", r->key));
    node = map_of(ld, own, r->map->span);
    if (at != SIZE_MAX)
        put(&all, r->map->keys[at], r->map->items[at]);
    put(&all, text_of(ld, "node", r->key), node);
    args = ld->nomem ? NULL : map_of(ld, &all, r->map->span);
    if (args != NULL)
        mortise_node_take_args(ld, r, args);
}

const struct mortise_node_kind mortise_graph_kind_gmi = {
    .place = {MORTISE_KIND_PLACE("gmi", keys)},
    .size = sizeof(struct gmi),
    .begin = begin,
    .finish = finish};
