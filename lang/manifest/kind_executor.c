/* kind_executor.c -- the part of plugins that run operations: the input, output
 * and effect of each operation. */
#include <string.h>

#include "core/base/name.h"
#include "core/plugin/kind.h"
#include "core/plugin/services.h"
#include "lang/manifest/reading.h"

/* ---- operations ---------------------------------------------------------- */

static void read_input_schema(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_manifest_op *op = into;

    op->input = mortise_manifest_read_schema(ctx, slot, &op->secrets);
}

static void read_output_schema(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_manifest_op *op = into;

    op->output = mortise_manifest_read_schema(ctx, slot, NULL);
}

static const struct mortise_word effects[] = {
    {.word = "pure"},     {.word = "read"}, {.word = "write"},
    {.word = "external"}, {.word = NULL},
};

static const struct mortise_word intents[] = {
    {.word = "call", .value = false},
    {.word = "steps", .value = true},
    {.word = NULL},
};

static void read_usage_amount(void *ctx, void *into,
                              const struct mortise_slot *slot);

#define USED(kind, most)                                                       \
    .value = MORTISE_V_##kind, .max = (most), .read = read_usage_amount

static const struct mortise_key usage_keys[] = {
    [MORTISE_USED_CALLS] = {.name = "model_calls",
                            .about = "The number of calls of models.",
                            USED(INT, MORTISE_USAGE_MAX)},
    [MORTISE_USED_INPUT] = {.name = "input_tokens",
                            .about = "The number of input tokens.",
                            USED(INT, MORTISE_USAGE_MAX)},
    [MORTISE_USED_OUTPUT] = {.name = "output_tokens",
                             .about = "The number of output tokens.",
                             USED(INT, MORTISE_USAGE_MAX)},
    [MORTISE_USED_USD] = {.name = "usd",
                          .about = "The cost in dollars.",
                          USED(NUMBER,
                               (double)MORTISE_USAGE_MAX / MORTISE_NANO)},
};
MORTISE_PLACE(usage, "usage");

static void read_usage_amount(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_usage_bound *b = into;
    size_t i = (size_t)(slot->key - usage_keys);
    const struct mortise_yaml *v = slot->value;

    (void)ctx;
    b->said[i] = true;
    b->most[i] = i != MORTISE_USED_USD ? (uint64_t)v->u.i
                 : v->kind == MORTISE_YAML_INT
                     ? mortise_usd_to_nano((double)v->u.i)
                     : mortise_usd_to_nano(v->u.d);
}

static void read_usage_bound(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest_op *op = into;

    op->usage.present = true;
    mortise_keys_read_slot(slot, r, &op->usage, r->diags);
}

static const struct mortise_key op_keys[] = {
    {.name = "description",
     .about = "A description for people, and for models that can call the "
              "operation.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_manifest_op, description)},
    {.name = "input_schema",
     .about = "A JSON Schema for the arguments.",
     .value = MORTISE_V_SCHEMA,
     .read = read_input_schema},
    {.name = "output_schema",
     .about = "A JSON Schema for the output.",
     .value = MORTISE_V_SCHEMA,
     .read = read_output_schema},
    {.name = "effect",
     .about =
         "The effect class of the operation: pure, read, write or external.",
     .value = MORTISE_V_WORD,
     .required = true,
     .words = effects,
     MORTISE_INTO_TEXT(struct mortise_manifest_op, effect)},
    {.name = "judged_as",
     .about = "A second name for tools.allow, ask and deny, made from the "
              "arguments with {ARGUMENT}, such as \"{program}/run\".",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_manifest_op, judged_as)},
    {.name = "idempotent",
     .about = "true: two calls with the same idempotency key have the effect "
              "of one.",
     MORTISE_INTO_BOOL(struct mortise_manifest_op, idempotent)},
    {.name = "reconcile",
     .about = "true: the plugin can report later whether an effect happened.",
     MORTISE_INTO_BOOL(struct mortise_manifest_op, reconcile)},
    {.name = "intent",
     .about = "What the engine records before an effect. call: each start of a "
              "call (the default). steps: only the requests of the call to "
              "the host, because the call changes nothing else.",
     .words = intents,
     MORTISE_INTO_WORD_BOOL(struct mortise_manifest_op, steps)},
    {.name = "timeout",
     .about = "The default timeout of a call.",
     .min = 1,
     MORTISE_INTO_MS(struct mortise_manifest_op, timeout_ms)},
    {.name = "usage",
     .about = "The highest usage of one call; budgets reserve it.",
     .value = MORTISE_V_MAP,
     .place = &usage_place,
     .read = read_usage_bound},
};
MORTISE_PLACE(op, "an operation");

/* Graphs name operations as PLUGIN/OPERATION. */
static bool is_valid_operation_name(const char *s)
{
    return mortise_name_is_valid(s) && strlen(s) <= 64;
}

static void read_operations(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_manifest_reader *r = ctx;
    struct mortise_manifest *m = r->m;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    m->ops = mortise_manifest_reader_alloc(r, (map->n + 1) * sizeof *m->ops);
    for (size_t i = 0; m->ops != NULL && i < map->n; i++) {
        struct mortise_manifest_op *op = &m->ops[m->n_ops++];

        op->name = map->keys[i]->str;
        op->description = "";
        if (!is_valid_operation_name(op->name))
            mortise_diag_add(r->diags, "E0701", map->keys[i]->span,
                             "'%s' is not a valid name of an operation",
                             op->name);
        mortise_keys_read(&op_place, map->items[i], map->keys[i]->span, r, op,
                          r->diags);
    }
}

static void read_step_result(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_interface *p = into;

    p->step_result = mortise_manifest_read_schema(ctx, slot, NULL);
}

static const struct mortise_key executor_keys[] = {
    MORTISE_THREADS,
    {.name = "more",
     .about = "true: the plugin has more operations, which the deployment's "
              "lock file names; each name contains a /.",
     MORTISE_INTO_BOOL(struct mortise_interface, more)},
    {.name = "operations",
     .about = "Maps names of operations to their descriptions.",
     .value = MORTISE_V_MAP,
     .required = true,
     .min = 1,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &op_place),
     .read = read_operations},
    {.name = "background",
     .about = "true: the plugin maintains something between calls, such as "
              "connections (async plugins only).",
     MORTISE_INTO_BOOL(struct mortise_interface, background)},
    {.name = "step_result",
     .about = "A JSON Schema for the result that a person can give to a step "
              "in doubt of the plugin's own (journal.begin/1).",
     .value = MORTISE_V_SCHEMA,
     .read = read_step_result},
};
/* ---- intents ------------------------------------------------------------- */

/* Does it require a method that may have effects? */
static bool has_method_with_effects(const struct mortise_manifest *m)
{
    for (size_t i = 0; i < m->n_methods; i++) {
        const struct mortise_method *row =
            mortise_method_find(m->methods[i], NULL);

        if (row != NULL && row->changes)
            return true;
    }
    return false;
}

/* The valid `intent` of the operation at `at`; NULL: none. */
static const struct mortise_yaml *
find_intent(const struct mortise_manifest_op *op, const struct mortise_yaml *at)
{
    const struct mortise_yaml *v = mortise_yaml_get(at, "intent");
    bool is_call = v != NULL && v->kind == MORTISE_YAML_STRING &&
                   strcmp(v->str, "call") == 0;

    return op->steps || is_call ? v : NULL;
}

/* An operation with `intent: steps` needs a method that can have effects. */
static void check_intent(struct mortise_manifest_reader *r,
                         const struct mortise_manifest_op *op,
                         const struct mortise_yaml *at)
{
    const struct mortise_yaml *intent = find_intent(op, at);
    struct mortise_diag *d;

    if (intent == NULL || op->effect == NULL)
        return;
    if (strcmp(op->effect, "pure") == 0 || strcmp(op->effect, "read") == 0) {
        d = mortise_diag_add(
            r->diags, "E0706", intent->span,
            "operation '%s' is '%s', so it cannot have 'intent'", op->name,
            op->effect);
        mortise_diag_help(r->diags, d, "remove 'intent'");
    } else if (op->steps && !has_method_with_effects(r->m)) {
        d = mortise_diag_add(r->diags, "E0706", intent->span,
                             "operation '%s' has intent: steps, but the plugin "
                             "requires no method with effects",
                             op->name);
        mortise_diag_help(
            r->diags, d,
            "use intent: call if the operation has effects itself; requires: "
            "{methods: [http.request/1]} if the host performs them; or "
            "requires: {methods: [journal.begin/1, journal.end/1]} if its own "
            "steps perform them");
    }
}

/* Is this argument required, and a string? */
static bool is_required_string(const struct mortise_manifest_op *op,
                               const char *name, size_t n)
{
    const json_t *schema =
        op->input != NULL ? mortise_schema_json(op->input) : NULL;
    const json_t *type = json_object_get(
        json_object_getn(json_object_get(schema, "properties"), name, n),
        "type");

    MORTISE_JSON_EACH (one, i, json_object_get(schema, "required"))
        if (json_string_length(one) == n &&
            memcmp(json_string_value(one), name, n) == 0)
            return json_is_string(type) &&
                   strcmp(json_string_value(type), "string") == 0;
    return false;
}

/* judged_as must give a name for all valid arguments. */
static void check_judged_as(struct mortise_manifest_reader *r,
                            const struct mortise_manifest_op *op,
                            const struct mortise_yaml *at)
{
    const struct mortise_yaml *said = mortise_yaml_get(at, "judged_as");
    const char *p = op->judged_as;
    bool some = false;

    while (p != NULL && (p = strchr(p, '{')) != NULL) {
        size_t n = strcspn(++p, "}");

        some = true;
        if (p[n] == '}' && is_required_string(op, p, n))
            continue;
        mortise_diag_add(r->diags, "E0701", said->span,
                         "'%.*s' in judged_as of operation '%s' is not a "
                         "required text argument of its input_schema",
                         (int)n, p, op->name);
        return;
    }
    if (op->judged_as != NULL && !some)
        mortise_diag_add(r->diags, "E0701", said->span,
                         "judged_as of operation '%s' contains no {ARGUMENT}",
                         op->name);
}

static void check_operations(struct mortise_manifest_reader *r)
{
    const struct mortise_yaml *map =
        mortise_manifest_get_part(r, "executor", "operations");

    for (size_t i = 0; i < r->m->n_ops; i++) {
        check_intent(r, &r->m->ops[i], map->items[i]);
        check_judged_as(r, &r->m->ops[i], map->items[i]);
    }
}

/* Background work stays pending, which only async plugins can do without a
 * thread. */
static void check_background(struct mortise_manifest_reader *r)
{
    const struct mortise_interface *p = &r->m->provides[MORTISE_KIND_EXECUTOR];
    struct mortise_diag *d;

    if (!p->background || p->threading == MORTISE_THREAD_ASYNC)
        return;
    d = mortise_diag_add(
        r->diags, "E0709",
        mortise_manifest_get_part(r, "executor", "background")->span,
        "'background' needs threading: async, because "
        "background work stays pending without a thread");
    mortise_diag_help(r->diags, d, "set threading: async");
}

static void check_executor_part(struct mortise_manifest_reader *r)
{
    check_operations(r);
    check_background(r);
}

MORTISE_KIND_PART(executor, check_executor_part);
