/* node.c -- nodes: one table of keys for all types, and what each key means.
 *
 * Bit i of a key's `here` says that the i-th type of `types` has it, so one
 * row serves five kinds of nodes, and "this key belongs to human nodes" needs
 * no further knowledge.  Types of a later build stand in the same list: what
 * belongs to them is told apart from what is misspelled.
 *
 * Keys are read in the order of the table: first what the node runs, then what
 * depends on it (arguments on the operation, conditions on what `output` is),
 * then its edges.
 */
#include "graph/loader.h"

#include <stdio.h>
#include <string.h>

enum {
    TOOL = 1 << 0,
    EXTENSION = 1 << 1,
    HUMAN = 1 << 2,
    GUARDRAIL = 1 << 3,
    ROUTER = 1 << 4,
    GMI = 1 << 5,
    VOICE = 1 << 6,
    SUBGRAPH = 1 << 7,
    LEAF = 1 << 8,
    TEAM = 1 << 9,

    CALLS = TOOL | EXTENSION, /* run an operation */
    WORKS = CALLS | HUMAN | GUARDRAIL,
    ALL = WORKS | ROUTER,
    AGENTS = GMI | LEAF,
    LATER = AGENTS | VOICE | SUBGRAPH | TEAM
};

static const char *const types[32] = {
    "tool", "extension", "human",    "guardrail", "router",
    "gmi",  "voice",     "subgraph", "leaf",      "team"};

static const struct mortise_word type_words[] = {
    {"tool", MORTISE_NODE_TOOL, false},
    {"extension", MORTISE_NODE_EXTENSION, false},
    {"human", MORTISE_NODE_HUMAN, false},
    {"guardrail", MORTISE_NODE_GUARDRAIL, false},
    {"router", MORTISE_NODE_ROUTER, false},
    {"gmi", 0, true},
    {"voice", 0, true},
    {"subgraph", 0, true},
    {"leaf", 0, true},
    {"team", 0, true},
    {NULL, 0, false},
};

const struct mortise_word mortise_effect_words[] = {
    {"pure", MORTISE_PURE, false},
    {"read", MORTISE_READ, false},
    {"write", MORTISE_WRITE, false},
    {"external", MORTISE_EXTERNAL, false},
    {"human", 0, true},
    {NULL, 0, false},
};

/* A node while it is read. */
struct reading {
    struct mortise_node *node;
    const struct mortise_yaml *key, *map;
    bool has_effect, has_retry;
};

static const char **strings(struct mortise_loader *ld,
                            const struct mortise_yaml *list)
{
    const char **out = mortise_load_alloc(ld, list->n * sizeof *out);

    for (size_t i = 0; i < list->n && out != NULL; i++)
        out[i] = list->items[i]->str;
    return out;
}

/* The help of the last finding, about a word where a mapping may stand, too. */
static void also_takes(struct mortise_loader *ld, const char *what)
{
    struct mortise_diags *diags = ld->diags;

    if (diags->n > 0 && diags->list[diags->n - 1].help == NULL)
        mortise_diag_help(diags, &diags->list[diags->n - 1], "it takes %s, too",
                          what);
}

static void add_write(struct mortise_loader *ld,
                      const struct mortise_node *node,
                      const struct mortise_path *path, struct mortise_span span)
{
    struct mortise_write *list = mortise_grow(ld->mem, ld->writes, ld->n_writes,
                                              &ld->cap_writes, sizeof *list);

    if (list == NULL) {
        ld->nomem = true;
        return;
    }
    ld->writes = list;
    list[ld->n_writes++] = (struct mortise_write){path, node->index, span};
}

/* ---- what tool and extension nodes run ------------------------------- */

static void find_operation(struct mortise_loader *ld, struct reading *r,
                           struct mortise_span at)
{
    struct mortise_err why = {0};

    r->node->op = ld->catalog->operation(ld->catalog->ud, r->node->plugin,
                                         r->node->operation, &why);
    if (r->node->op == NULL) {
        ld->nomem |= why.code == MORTISE_ENOMEM;
        mortise_diag_add(ld->diags, "E0501", at, "%s", why.msg);
        return;
    }
    mortise_load_plugin(ld, "", r->node->plugin);
    r->node->effect = r->node->op->effect;
    r->node->timeout_ms = r->node->op->timeout_ms;
    ld->names[MORTISE_IN_OUTPUT].schema = r->node->op->output;
}

static void read_tool(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;
    const char *tool = slot->value->str, *slash = strchr(tool, '/');
    struct mortise_diag *d;

    if (slash == NULL || slash == tool || slash[1] == '\0') {
        d = mortise_diag_add(ld->diags, "E0505", slot->value->span,
                             "'%s' is no tool", tool);
        mortise_diag_help(ld->diags, d,
                          "a tool is PLUGIN/OPERATION, such as file/write");
        return;
    }
    r->node->plugin =
        mortise_arena_strndup(ld->arena, tool, (size_t)(slash - tool));
    r->node->operation = slash + 1;
    if (r->node->plugin == NULL)
        ld->nomem = true;
    else
        find_operation(ld, r, slot->value->span);
}

static void read_extension(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->node->plugin = slot->value->str;
}

static void read_method(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->node->operation = slot->value->str;
    if (r->node->plugin != NULL)
        find_operation(ctx, r, slot->value->span);
}

static void read_effect_class(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;
    enum mortise_effect effect = (enum mortise_effect)slot->word;
    struct mortise_diag *d;

    r->has_effect = true;
    if (effect >= r->node->effect) {
        r->node->effect = effect;
        return;
    }
    d = mortise_diag_add(ld->diags, "E0504", slot->value->span,
                         "effect_class '%s' is weaker than the operation's "
                         "'%s'",
                         mortise_effect_name(effect),
                         mortise_effect_name(r->node->effect));
    mortise_diag_help(ld->diags, d, "leave it out, or make it stricter");
}

static void read_on_in_doubt(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    r->node->on_in_doubt = (enum mortise_in_doubt)slot->word;
    if (slot->word == MORTISE_DOUBT_RECONCILE && r->node->op != NULL &&
        !r->node->op->reconcile)
        mortise_diag_add(ld->diags, "E0506", slot->value->span,
                         "%s/%s does not offer reconcile", r->node->plugin,
                         r->node->operation);
}

static void read_timeout(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->node->timeout_ms = slot->ms;
}

static void read_retry_policy(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->has_retry = true;
    mortise_load_retry(ctx, &r->node->retry, slot);
}

static void read_input_schema(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->node->input_schema = mortise_load_schema(ctx, slot->value);
}

static void read_output_schema(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    r->node->output_schema = mortise_load_schema(ld, slot->value);
    if (r->node->output_schema != NULL)
        ld->names[MORTISE_IN_OUTPUT].schema = r->node->output_schema;
}

static void read_args(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->node->args = mortise_load_tmpl(ctx, slot->value);
}

/* ---- arguments against the operation's schema ------------------------ */

/* The place of "at /a/0: ..." in the arguments. */
static const struct mortise_yaml *at_pointer(const struct mortise_yaml *v,
                                             const char *msg)
{
    char pointer[512];
    size_t n;

    if (strncmp(msg, "at /", 4) != 0)
        return v;
    n = strcspn(msg + 3, ":");
    if (n >= sizeof pointer)
        return v;
    memcpy(pointer, msg + 3, n);
    pointer[n] = '\0';
    return mortise_yaml_at(v, pointer);
}

/* A value without templates; NULL stands for {}.  `name` is its key when it is
 * not the whole of the arguments. */
static void check_value(struct mortise_loader *ld, struct reading *r,
                        const struct mortise_schema *schema,
                        const struct mortise_yaml *v, const char *name)
{
    json_t *json = v != NULL ? mortise_yaml_json(v, false) : json_object();
    struct mortise_span at;
    struct mortise_err err;
    int rv = MORTISE_ENOMEM;

    if (json != NULL)
        rv = mortise_schema_check(schema, json, &err);
    json_decref(json);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv != MORTISE_EINVAL)
        return;
    at = v != NULL ? at_pointer(v, err.msg)->span : r->key->span;
    if (name != NULL)
        mortise_diag_add(ld->diags, "E0503", at,
                         "%s/%s refuses the argument '%s': %s", r->node->plugin,
                         r->node->operation, name, err.msg);
    else
        mortise_diag_add(ld->diags, "E0503", at, "%s/%s refuses these args: %s",
                         r->node->plugin, r->node->operation, err.msg);
}

static void check_member(struct mortise_loader *ld, struct reading *r,
                         const struct mortise_schema *schema,
                         const struct mortise_yaml *key,
                         const struct mortise_yaml *v)
{
    const struct mortise_schema *s = mortise_schema_member(schema, key->str);
    struct mortise_diag *d;
    const char *near;

    if (s != NULL && mortise_schema_types(s) == 0) {
        d = mortise_diag_add(ld->diags, "E0503", key->span,
                             "%s/%s takes no argument '%s'", r->node->plugin,
                             r->node->operation, key->str);
        near = mortise_schema_nearest(schema, key->str);
        if (near != NULL)
            mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
        return;
    }
    if (s != NULL && !mortise_tmpl_in(v))
        check_value(ld, r, s, v, key->str);
}

/* Whole where there is no template, else member by member. */
static void check_args(struct mortise_loader *ld, struct reading *r,
                       const struct mortise_schema *schema)
{
    const struct mortise_yaml *v = mortise_yaml_get(r->map, "args");

    if (v == NULL || !mortise_tmpl_in(v)) {
        check_value(ld, r, schema, v, NULL);
        return;
    }
    if (v->kind != MORTISE_YAML_MAP || r->node->args == NULL)
        return;
    for (size_t i = 0; i < v->n; i++)
        check_member(ld, r, schema, v->keys[i], v->items[i]);
}

/* ---- human ----------------------------------------------------------- */

static void read_prompt(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->node->prompt = mortise_load_tmpl(ctx, slot->value);
}

static void read_schema(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    r->node->answer_schema = mortise_load_schema(ld, slot->value);
    ld->names[MORTISE_IN_OUTPUT].schema =
        mortise_load_decision(ld, r->node->answer_schema);
}

static void read_assignees(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->node->assignees = strings(ctx, slot->value);
    r->node->n_assignees = slot->value->n;
}

static void read_wait(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->node->wait_ms = slot->ms;
}

static const struct mortise_word timeouts[] = {
    {"error", MORTISE_TIMEOUT_ERROR, false},
    {"accept", MORTISE_TIMEOUT_ACCEPT, false},
    {"reject", MORTISE_TIMEOUT_REJECT, false},
    {NULL, 0, false},
};

static void read_timeout_goto(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct reading *r = into;

    r->node->on_timeout = MORTISE_TIMEOUT_GOTO;
    mortise_load_edge(ctx, r->node->index, slot->value, MORTISE_EDGE_TIMEOUT);
}

static const struct mortise_key on_timeout_keys[] = {
    {.name = "goto",
     .value = MORTISE_V_ID,
     .here = MORTISE_HERE,
     .required = MORTISE_HERE,
     .read = read_timeout_goto},
};

static const struct mortise_place on_timeout_place = {
    .what = "on_timeout", .keys = on_timeout_keys, .n = 1};

static void read_on_timeout(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;
    const struct mortise_word *w;

    if (mortise_yaml_get(r->map, "wait") == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'on_timeout' needs 'wait': without it nothing times "
                         "out");
    if (slot->value->kind == MORTISE_YAML_MAP) {
        mortise_keys_read(&on_timeout_place, MORTISE_HERE, slot->value,
                          slot->name->span, ld, r, ld->diags);
        return;
    }
    w = mortise_word_find(timeouts, "on_timeout", slot->value, ld->diags);
    if (w != NULL)
        r->node->on_timeout = (enum mortise_on_timeout)w->value;
    else
        also_takes(ld, "{goto: ID}");
}

/* ---- guardrail ------------------------------------------------------- */

static void read_guardrails(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;
    const struct mortise_yaml *list = slot->value;
    struct mortise_err why;

    r->node->guardrails = strings(ld, list);
    r->node->n_guardrails = list->n;
    for (size_t i = 0; i < list->n && !ld->nomem; i++) {
        int rv =
            ld->catalog->guardrail(ld->catalog->ud, list->items[i]->str, &why);

        ld->nomem |= rv == MORTISE_ENOMEM;
        if (rv == MORTISE_OK)
            mortise_load_plugin(ld, "guardrail:", list->items[i]->str);
        else if (rv != MORTISE_ENOMEM)
            mortise_diag_add(ld->diags, "E0502", list->items[i]->span, "%s",
                             why.msg);
    }
}

/* A target that is a path below scratch or artifacts can be sanitised in
 * place; `state.scratch.x` is the same as `scratch.x`. */
static void find_target_path(struct mortise_loader *ld, struct reading *r)
{
    const char *text = mortise_cel_as_path(r->node->target.cel);
    int rv;

    if (text == NULL)
        return;
    if (strncmp(text, "state.", 6) == 0)
        text += 6;
    if (strncmp(text, "scratch", 7) != 0 && strncmp(text, "artifacts", 9) != 0)
        return;
    rv = mortise_path_parse(&r->node->target_path, ld->arena, text,
                            strlen(text), NULL);
    ld->nomem |= rv == MORTISE_ENOMEM;
    r->node->target_is_path =
        rv == MORTISE_OK &&
        strcmp(r->node->target_path.steps[0].key,
               text[0] == 's' ? "scratch" : "artifacts") == 0;
}

static void read_target(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    mortise_load_expr(ld, &r->node->target, slot->value, MORTISE_IN_OUTPUT);
    r->node->has_target = r->node->target.cel != NULL;
    if (r->node->has_target)
        find_target_path(ld, r);
}

static const struct mortise_word violations[] = {
    {"block", MORTISE_VIOLATION_BLOCK, false},
    {"reroute", MORTISE_VIOLATION_REROUTE, false},
    {"warn", MORTISE_VIOLATION_WARN, false},
    {"sanitize", MORTISE_VIOLATION_SANITIZE, false},
    {NULL, 0, false},
};

static void read_on_violation(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    r->node->on_violation = (enum mortise_on_violation)slot->word;
    if (slot->word == MORTISE_VIOLATION_REROUTE &&
        mortise_yaml_get(r->map, "reroute_target") == NULL)
        mortise_diag_add(ld->diags, "E0310", slot->value->span,
                         "'reroute' needs 'reroute_target'");
}

static void read_reroute_target(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    if (r->node->on_violation != MORTISE_VIOLATION_REROUTE)
        mortise_diag_add(ld->diags, "E0310", slot->name->span,
                         "'reroute_target' needs 'on_violation: reroute'");
    mortise_load_edge(ld, r->node->index, slot->value, MORTISE_EDGE_REROUTE);
}

/* ---- results --------------------------------------------------------- */

static void read_outputs(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;
    const struct mortise_yaml *map = slot->value;
    struct mortise_output *out = mortise_load_alloc(ld, map->n * sizeof *out);

    r->node->outputs = out;
    for (size_t i = 0; i < map->n && !ld->nomem; i++) {
        if (mortise_yaml_is_x(map->keys[i]->str))
            continue;
        mortise_load_expr(ld, &out->expr, map->items[i], MORTISE_IN_ERROR);
        if (!mortise_load_path(ld, &out->path, map->keys[i]))
            continue;
        add_write(ld, r->node, &out->path, map->keys[i]->span);
        r->node->n_outputs++;
        out++;
    }
}

static bool is_id(const char *s)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n = strlen(s);

    if (n == 0 || n > 64 || strchr(letters, s[0]) == NULL)
        return false;
    for (size_t i = 1; i < n; i++)
        if (strchr(letters, s[i]) == NULL &&
            strchr("0123456789-", s[i]) == NULL)
            return false;
    return true;
}

static void bad_id(struct mortise_loader *ld, const struct mortise_yaml *id)
{
    struct mortise_diag *d = mortise_diag_add(ld->diags, "E0211", id->span,
                                              "'%s' cannot be an id", id->str);

    mortise_diag_help(ld->diags, d,
                      "a letter or _, then letters, digits, _ and -, 64 at "
                      "most");
}

static void read_output_as(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;
    const struct mortise_yaml *v = slot->value;

    if (v->kind == MORTISE_YAML_NULL) {
        r->node->output_as = NULL;
    } else if (v->kind != MORTISE_YAML_STRING) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "'output_as' takes a name or null, and this is %s",
                         mortise_yaml_kind_name(v->kind));
    } else if (!is_id(v->str)) {
        bad_id(ld, v);
    } else {
        r->node->output_as = v->str;
    }
}

static void read_error_goto(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct reading *r = into;

    mortise_load_edge(ctx, r->node->index, slot->value, MORTISE_EDGE_ERROR);
}

static void read_error_value(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    if (r->node->type == MORTISE_NODE_ROUTER)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "a router has no output: on_error takes goto here");
    if (mortise_yaml_get(mortise_yaml_get(r->map, "on_error"), "goto") != NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'on_error' takes goto or value, not both");
    mortise_load_expr(ld, &r->node->error_value, slot->value, MORTISE_IN_N);
    r->node->on_error_value = r->node->error_value.cel != NULL;
}

static const struct mortise_key on_error_keys[] = {
    {.name = "goto",
     .value = MORTISE_V_ID,
     .here = MORTISE_HERE,
     .read = read_error_goto},
    {.name = "value",
     .value = MORTISE_V_EXPR,
     .here = MORTISE_HERE,
     .read = read_error_value},
};

static const struct mortise_place on_error_place = {
    .what = "on_error", .keys = on_error_keys, .n = 2};

static const struct mortise_word on_errors[] = {
    {"fail", 0, false},
    {NULL, 0, false},
};

static void read_on_error(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    if (slot->value->kind != MORTISE_YAML_MAP) {
        if (mortise_word_find(on_errors, "on_error", slot->value, ld->diags) ==
            NULL)
            also_takes(ld, "{goto: ID} or {value: EXPRESSION}");
        return;
    }
    if (mortise_yaml_get(slot->value, "goto") == NULL &&
        mortise_yaml_get(slot->value, "value") == NULL)
        mortise_diag_add(ld->diags, "E0206", slot->value->span,
                         "on_error needs the key 'goto' or 'value'");
    mortise_keys_read(&on_error_place, MORTISE_HERE, slot->value,
                      slot->name->span, ld, into, ld->diags);
}

/* ---- edges ----------------------------------------------------------- */

static void add_depends_on(struct mortise_loader *ld, void *ud,
                           const struct mortise_yaml *id)
{
    struct reading *r = ud;
    uint32_t from = mortise_load_node_id(ld, id);
    struct mortise_draft *draft;

    if (from == MORTISE_NOWHERE)
        return;
    draft = mortise_load_edge(ld, from, r->key, MORTISE_EDGE_STATIC);
    if (draft == NULL)
        return;
    draft->depends_on = true;
    draft->edge.span = id->span;
}

static void read_depends_on(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    mortise_load_each_id(ctx, slot, add_depends_on, into);
}

static void add_next(struct mortise_loader *ld, void *ud,
                     const struct mortise_yaml *id)
{
    struct reading *r = ud;

    mortise_load_edge(ld, r->node->index, id, MORTISE_EDGE_STATIC);
}

static void read_next(void *ctx, void *into, const struct mortise_slot *slot)
{
    mortise_load_each_id(ctx, slot, add_next, into);
}

static void read_routes(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct reading *r = into;

    mortise_load_routes(ctx, r->node, slot);
}

static void read_default(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    if (mortise_yaml_get(r->map, "routes") == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'default' needs 'routes'");
    mortise_load_edge(ld, r->node->index, slot->value, MORTISE_EDGE_DEFAULT);
}

static void read_condition(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    mortise_load_expr(ld, &r->node->condition, slot->value, MORTISE_IN_OUTPUT);
    r->node->by_condition = true;
}

static void add_target(struct mortise_loader *ld, void *ud,
                       const struct mortise_yaml *id)
{
    struct reading *r = ud;

    mortise_load_edge(ld, r->node->index, id, MORTISE_EDGE_TARGET);
}

static void read_targets(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    if (mortise_yaml_get(r->map, "condition") == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'targets' needs 'condition'");
    mortise_load_each_id(ld, slot, add_target, into);
}

static const struct mortise_word joins[] = {
    {"all", 0, false},
    {"any", 0, true},
    {"best_effort", 0, true},
    {NULL, 0, false},
};

static void read_join(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    if (slot->value->kind == MORTISE_YAML_MAP)
        mortise_diag_add(ld->diags, "E0205", slot->value->span,
                         "join by quorum is not available in this build");
    else
        mortise_word_find(joins, "join", slot->value, ld->diags);
}

/* ---- the table ------------------------------------------------------- */

static const struct mortise_word in_doubts[] = {
    {"reconcile", MORTISE_DOUBT_RECONCILE, false},
    {"retry", MORTISE_DOUBT_RETRY, false},
    {"ask", MORTISE_DOUBT_ASK, false},
    {"fail", MORTISE_DOUBT_FAIL, false},
    {NULL, 0, false},
};

static const struct mortise_key keys[] = {
    {.name = "type", .value = MORTISE_V_WORD, .here = ALL, .words = type_words},
    {.name = "tool",
     .value = MORTISE_V_STRING,
     .here = TOOL,
     .required = TOOL,
     .read = read_tool},
    {.name = "extension",
     .value = MORTISE_V_STRING,
     .here = EXTENSION,
     .required = EXTENSION,
     .read = read_extension},
    {.name = "method",
     .value = MORTISE_V_STRING,
     .here = EXTENSION,
     .required = EXTENSION,
     .read = read_method},
    {.name = "effect_class",
     .value = MORTISE_V_WORD,
     .here = CALLS,
     .later = LATER,
     .words = mortise_effect_words,
     .read = read_effect_class},
    {.name = "on_in_doubt",
     .value = MORTISE_V_WORD,
     .here = CALLS,
     .later = LATER,
     .words = in_doubts,
     .read = read_on_in_doubt},
    {.name = "timeout",
     .value = MORTISE_V_DURATION,
     .here = CALLS | GUARDRAIL,
     .later = LATER,
     .min = 1,
     .read = read_timeout},
    {.name = "retry_policy",
     .value = MORTISE_V_MAP,
     .here = CALLS,
     .later = LATER,
     .read = read_retry_policy},
    {.name = "input_schema",
     .value = MORTISE_V_SCHEMA,
     .here = CALLS,
     .later = LATER,
     .read = read_input_schema},
    {.name = "output_schema",
     .value = MORTISE_V_SCHEMA,
     .here = CALLS,
     .later = LATER,
     .read = read_output_schema},
    {.name = "args",
     .value = MORTISE_V_TEMPLATE,
     .here = CALLS,
     .later = GMI | VOICE | LEAF,
     .read = read_args},
    {.name = "prompt",
     .value = MORTISE_V_STRING,
     .here = HUMAN,
     .required = HUMAN,
     .later = GMI,
     .read = read_prompt},
    {.name = "schema",
     .value = MORTISE_V_SCHEMA,
     .here = HUMAN,
     .read = read_schema},
    {.name = "assignees",
     .value = MORTISE_V_STRINGS,
     .here = HUMAN,
     .read = read_assignees},
    {.name = "wait",
     .value = MORTISE_V_DURATION,
     .here = HUMAN,
     .min = 1,
     .read = read_wait},
    {.name = "on_timeout",
     .value = MORTISE_V_ANY,
     .here = HUMAN,
     .read = read_on_timeout},
    {.name = "guardrails",
     .value = MORTISE_V_STRINGS,
     .here = GUARDRAIL,
     .required = GUARDRAIL,
     .read = read_guardrails},
    {.name = "target",
     .value = MORTISE_V_EXPR,
     .here = GUARDRAIL,
     .read = read_target},
    {.name = "on_violation",
     .value = MORTISE_V_WORD,
     .here = GUARDRAIL,
     .words = violations,
     .read = read_on_violation},
    {.name = "reroute_target",
     .value = MORTISE_V_ID,
     .here = GUARDRAIL,
     .read = read_reroute_target},
    {.name = "outputs",
     .value = MORTISE_V_MAP,
     .here = WORKS,
     .later = LATER,
     .read = read_outputs},
    {.name = "output_as",
     .value = MORTISE_V_ANY,
     .here = WORKS,
     .later = LATER,
     .read = read_output_as},
    {.name = "on_error",
     .value = MORTISE_V_ANY,
     .here = ALL,
     .read = read_on_error},
    {.name = "depends_on",
     .value = MORTISE_V_IDS,
     .here = ALL,
     .read = read_depends_on},
    {.name = "join", .value = MORTISE_V_ANY, .here = ALL, .read = read_join},
    {.name = "next",
     .value = MORTISE_V_IDS,
     .here = WORKS,
     .later = LATER,
     .read = read_next},
    {.name = "routes",
     .value = MORTISE_V_ANY,
     .here = ALL,
     .read = read_routes},
    {.name = "default",
     .value = MORTISE_V_ID,
     .here = ALL,
     .read = read_default},
    {.name = "condition",
     .value = MORTISE_V_EXPR,
     .here = ROUTER,
     .read = read_condition},
    {.name = "targets",
     .value = MORTISE_V_IDS,
     .here = ROUTER,
     .later = CALLS | GMI | VOICE | LEAF,
     .read = read_targets},
    {.name = "metadata", .value = MORTISE_V_ANY, .here = ALL},

    {.name = "execution_mode", .later = ALL},
    {.name = "losers", .later = ALL},
    {.name = "on_branch_error", .later = ALL},
    {.name = "resource", .later = ALL},
    {.name = "cache", .later = ALL},
    {.name = "checkpoint", .later = ALL},
    {.name = "complexity", .later = ALL},
    {.name = "llm", .later = ALL},
    {.name = "memory_policy", .later = ALL},
    {.name = "discovery_policy", .later = ALL},
    {.name = "capability", .later = ALL},
    {.name = "persona_policy", .later = ALL},
    {.name = "guardrail_policy", .later = ALL},
    {.name = "map", .later = ALL},
    {.name = "max_visits", .later = ALL},
    {.name = "auto_accept", .later = HUMAN},
    {.name = "auto_reject", .later = HUMAN},
    {.name = "judge", .later = HUMAN},
    {.name = "guardrail_override", .later = HUMAN},
    {.name = "post_approval_guardrails", .later = HUMAN},
    {.name = "operation", .later = ROUTER},
    {.name = "instructions", .later = GMI},
    {.name = "tool_allowlist", .later = AGENTS},
    {.name = "max_internal_iterations", .later = AGENTS},
    {.name = "temperature", .later = AGENTS},
    {.name = "max_tokens", .later = AGENTS},
    {.name = "parallel_tools", .later = GMI},
    {.name = "stream", .later = GMI},
    {.name = "response", .later = GMI},
    {.name = "tool_errors", .later = GMI},
    {.name = "planner", .later = AGENTS},
    {.name = "goal", .later = LEAF | TEAM},
    {.name = "role", .later = LEAF | TEAM},
    {.name = "compaction", .later = LEAF | TEAM},
    {.name = "synthesis", .later = TEAM},
    {.name = "graph", .later = SUBGRAPH | TEAM},
    {.name = "input_mapping", .later = SUBGRAPH},
    {.name = "output_mapping", .later = SUBGRAPH},
    {.name = "voice", .later = VOICE},
};

static const struct mortise_place place = {.what = "a node",
                                           .keys = keys,
                                           .n = sizeof keys / sizeof keys[0],
                                           .types = types};

/* ---- one node -------------------------------------------------------- */

/* `type`, or 0 after a finding. */
static int read_type(struct mortise_loader *ld, const struct mortise_yaml *key,
                     const struct mortise_yaml *map)
{
    const struct mortise_yaml *v = mortise_yaml_get(map, "type");
    const struct mortise_word *w;

    if (map->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0203", map->span,
                         "a node is a mapping, and this is %s",
                         mortise_yaml_kind_name(map->kind));
        return 0;
    }
    if (v == NULL && mortise_yaml_get(map, "goal") != NULL) {
        mortise_diag_add(ld->diags, "E0205", key->span,
                         "node type 'leaf' (a node with a goal) is not "
                         "available in this build");
        return 0;
    }
    if (v == NULL) {
        mortise_diag_add(ld->diags, "E0206", key->span,
                         "node '%s' needs the key 'type'", key->str);
        return 0;
    }
    w = mortise_word_find(type_words, "node type", v, ld->diags);
    return w != NULL ? w->value : 0;
}

static void start_node(struct mortise_loader *ld, struct reading *r)
{
    struct mortise_node *node = r->node;

    ld->names[MORTISE_IN_OUTPUT].schema = node->type == MORTISE_NODE_HUMAN
                                              ? mortise_load_decision(ld, NULL)
                                              : NULL;
    node->retry = mortise_retry_default;
    node->on_timeout = MORTISE_TIMEOUT_ERROR;
    node->on_violation = MORTISE_VIOLATION_BLOCK;
    node->effect =
        node->type == MORTISE_NODE_GUARDRAIL ? MORTISE_READ : MORTISE_PURE;
    if (node->type != MORTISE_NODE_ROUTER)
        node->output_as = node->id;
}

/* What `defaults` say for those that say nothing. */
static void apply_defaults(struct mortise_loader *ld, struct reading *r)
{
    struct mortise_node *node = r->node;
    bool calls =
        node->type == MORTISE_NODE_TOOL || node->type == MORTISE_NODE_EXTENSION;

    if (calls && !r->has_effect && ld->defaults.effect > node->effect)
        node->effect = ld->defaults.effect;
    if (calls && !r->has_retry)
        node->retry = ld->defaults.retry;
    if ((calls || node->type == MORTISE_NODE_GUARDRAIL) &&
        node->timeout_ms == 0)
        node->timeout_ms = ld->defaults.timeout_ms;
}

/* Guardrails look at the whole scratch unless they say otherwise, and what
 * they may replace in place is a write. */
static void finish_guardrail(struct mortise_loader *ld, struct reading *r)
{
    struct mortise_node *node = r->node;

    if (!node->has_target) {
        node->target_is_path = true;
        ld->nomem |= mortise_path_parse(&node->target_path, ld->arena,
                                        "scratch", 7, NULL) != MORTISE_OK;
    }
    if (node->target_is_path &&
        node->on_violation == MORTISE_VIOLATION_SANITIZE)
        add_write(ld, node, &node->target_path, r->key->span);
}

static void finish_router(struct mortise_loader *ld, struct reading *r)
{
    bool routes = mortise_yaml_get(r->map, "routes") != NULL;

    if (routes && r->node->by_condition)
        mortise_diag_add(ld->diags, "E0212", r->key->span,
                         "a router takes 'routes' or 'condition', not both");
    else if (routes && mortise_yaml_get(r->map, "default") == NULL)
        mortise_diag_add(ld->diags, "E0308", r->key->span,
                         "router '%s' has no 'default'", r->node->id);
    else if (!routes && !r->node->by_condition)
        mortise_diag_add(ld->diags, "E0206", r->key->span,
                         "router '%s' needs 'routes' and 'default', or "
                         "'condition' and 'targets'",
                         r->node->id);
    else if (r->node->by_condition &&
             mortise_yaml_get(r->map, "targets") == NULL)
        mortise_diag_add(ld->diags, "E0206", r->key->span,
                         "router '%s' needs 'targets': the ids that its "
                         "condition may give",
                         r->node->id);
}

/* output_as is a write, too. */
static void finish_output(struct mortise_loader *ld, struct reading *r)
{
    const struct mortise_yaml *at = mortise_yaml_get(r->map, "output_as");
    struct mortise_path *path;
    char text[80];
    struct mortise_yaml name;

    if (r->node->output_as == NULL || !is_id(r->node->output_as))
        return;
    path = mortise_load_alloc(ld, sizeof *path);
    if (path == NULL)
        return;
    snprintf(text, sizeof text, "artifacts.%s", r->node->output_as);
    name = (struct mortise_yaml){.str = text, .len = strlen(text)};
    name.span = at != NULL ? at->span : r->key->span;
    if (mortise_load_path(ld, path, &name))
        add_write(ld, r->node, path, name.span);
}

static void finish_node(struct mortise_loader *ld, struct reading *r)
{
    const struct mortise_schema *input =
        r->node->op != NULL ? r->node->op->input : NULL;

    ld->output_of[r->node->index] = ld->names[MORTISE_IN_OUTPUT].schema;
    apply_defaults(ld, r);
    if (input != NULL)
        check_args(ld, r, input);
    if (r->node->type == MORTISE_NODE_GUARDRAIL)
        finish_guardrail(ld, r);
    if (r->node->type == MORTISE_NODE_ROUTER)
        finish_router(ld, r);
    finish_output(ld, r);
}

static void read_node(struct mortise_loader *ld, struct mortise_node *node,
                      const struct mortise_yaml *key,
                      const struct mortise_yaml *map)
{
    struct reading r = {.node = node, .key = key, .map = map};
    int type = read_type(ld, key, map);

    if (type == 0)
        return;
    node->type = (enum mortise_node_type)type;
    start_node(ld, &r);
    mortise_keys_read(&place, (uint32_t)1 << (type - 1), map, key->span, ld, &r,
                      ld->diags);
    if (!ld->nomem)
        finish_node(ld, &r);
}

/* ---- all nodes ------------------------------------------------------- */

static void check_id(struct mortise_loader *ld, const struct mortise_yaml *key)
{
    if (strcmp(key->str, "START") == 0 || strcmp(key->str, "END") == 0)
        mortise_diag_add(ld->diags, "E0302", key->span,
                         "'%s' is reserved and cannot be the id of a node",
                         key->str);
    else if (!is_id(key->str))
        bad_id(ld, key);
}

/* Ids first: edges lead forward, too. */
static void number_nodes(struct mortise_loader *ld,
                         const struct mortise_yaml *map)
{
    struct mortise_graph *g = ld->g;
    const char **ids = mortise_load_alloc(ld, (map->n + 1) * sizeof *ids);

    g->nodes = mortise_load_alloc(ld, map->n * sizeof *g->nodes);
    g->node_at = mortise_load_alloc(ld, map->n * sizeof *g->node_at);
    ld->output_of = mortise_load_alloc(ld, map->n * sizeof *ld->output_of);
    if (ld->nomem)
        return;
    for (size_t i = 0; i < map->n; i++) {
        struct mortise_node *node = &g->nodes[g->n_nodes];

        g->node_at[i] = UINT32_MAX;
        if (mortise_yaml_is_x(map->keys[i]->str))
            continue;
        check_id(ld, map->keys[i]);
        node->id = map->keys[i]->str;
        node->span = map->keys[i]->span;
        node->index = g->n_nodes;
        ids[g->n_nodes] = node->id;
        g->node_at[i] = g->n_nodes++;
    }
    g->nodes_map = map;
    ids[g->n_nodes] = "END";
    ld->ids = ids;
    ld->n_ids = g->n_nodes + 1;
}

void mortise_load_nodes(struct mortise_loader *ld,
                        const struct mortise_yaml *key,
                        const struct mortise_yaml *map)
{
    number_nodes(ld, map);
    if (ld->nomem)
        return;
    if (ld->g->n_nodes == 0 || ld->g->n_nodes > ld->max_nodes) {
        mortise_diag_add(ld->diags, "E0311", key->span,
                         "the graph has %u nodes; from 1 to %llu are allowed",
                         ld->g->n_nodes, (unsigned long long)ld->max_nodes);
        return;
    }
    for (size_t i = 0; i < map->n && !ld->nomem; i++)
        if (ld->g->node_at[i] != UINT32_MAX)
            read_node(ld, &ld->g->nodes[ld->g->node_at[i]], map->keys[i],
                      map->items[i]);
}
