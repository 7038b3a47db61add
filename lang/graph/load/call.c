/* call.c -- nodes that call an operation: which operation, with which
 * arguments.
 *
 * The catalogue supplies the operation.  Its declared effect class, timeout and
 * support of reconcile are a floor: the graph can only make them stricter.
 * Literal arguments are checked against the operation's schema.  A template may
 * produce any value, so the checks skip each place that holds a template.
 */
#include "lang/graph/load/node.h"

#include <stdio.h>
#include <string.h>

/* A run of the graph pins the plugin.  If the tool's definition comes from the
 * lock file, the run pins the definition too. */
static void pin_operation(struct mortise_loader *ld,
                          const struct mortise_node *n)
{
    char tool[MORTISE_TOOL_MAX];

    mortise_load_plugin(ld, "", n->plugin);
    if (!n->op->pinned)
        return;
    snprintf(tool, sizeof tool, "%s/%s", n->plugin, n->operation);
    mortise_load_plugin(ld, MORTISE_TOOL_PIN_PREFIX, tool);
}

void mortise_node_find_operation(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 struct mortise_span at)
{
    struct mortise_err why = {0};

    r->node->op = ld->catalog->operation(ld->catalog->ud, r->node->plugin,
                                         r->node->operation, &why);
    if (r->node->op == NULL) {
        ld->nomem |= why.code == MORTISE_ENOMEM;
        mortise_load_report_refusal(
            ld, why.code == MORTISE_ECONFIG ? "E0507" : "E0501", at,
            r->node->plugin, &why);
        return;
    }
    if (why.code == MORTISE_EINVAL)
        mortise_diag_add(ld->diags, "E0607", at, "%s", why.msg);
    pin_operation(ld, r->node);
    r->node->effect = r->node->op->effect;
    r->node->timeout_ms = r->node->op->timeout_ms;
    r->node->timeout_of =
        "its operation's timeout; a node can set a longer `timeout`";
    ld->names[MORTISE_IN_OUTPUT].schema = r->node->op->output;
}

void mortise_node_name_operation(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 const struct mortise_yaml *at,
                                 const char *noun, const char *what)
{
    const char *tool = at->str, *slash = strchr(tool, '/');
    struct mortise_diag *d;

    if (slash == NULL || slash == tool || slash[1] == '\0') {
        d = mortise_diag_add(ld->diags, "E0505", at->span,
                             "'%s' is not a valid %s", tool, noun);
        mortise_diag_help(ld->diags, d,
                          "write %s as PLUGIN/OPERATION, such as file/write",
                          what);
        return;
    }
    r->node->plugin =
        mortise_arena_strndup(ld->arena, tool, (size_t)(slash - tool));
    r->node->operation = slash + 1;
    if (r->node->plugin == NULL)
        ld->nomem = true;
    else
        mortise_node_find_operation(ld, r, at->span);
}

void mortise_node_read_operation(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 const struct mortise_slot *slot,
                                 const char *what)
{
    mortise_node_name_operation(ld, r, slot->value, slot->key->name, what);
}

void mortise_node_read_executor(struct mortise_loader *ld,
                                struct mortise_node_reader *r, const char *type,
                                const char *otherwise)
{
    const struct mortise_catalog *catalog = ld->catalog;
    const char *name =
        catalog->executor != NULL ? catalog->executor(catalog->ud, type) : NULL;
    const struct mortise_yaml *at = mortise_yaml_get(r->map, "type");

    name = name != NULL ? name : otherwise;
    r->node->of_type = true;
    r->node->plugin =
        mortise_arena_strndup(ld->arena, name, strcspn(name, "/"));
    r->node->operation = mortise_arena_strdup(ld->arena, strchr(name, '/') + 1);
    if (r->node->plugin == NULL || r->node->operation == NULL)
        ld->nomem = true;
    else
        mortise_node_find_operation(ld, r,
                                    at != NULL ? at->span : r->key->span);
}

void mortise_node_read_effect_class(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    enum mortise_effect effect = (enum mortise_effect)slot->word;
    bool asks = mortise_node_gives(r->node) == MORTISE_GIVES_DECISION;
    struct mortise_diag *d;

    if (asks != (slot->word == MORTISE_EFFECT_HUMAN)) {
        mortise_diag_add(ld->diags, "E0207", slot->value->span,
                         asks ? "effect_class of a human node must be 'human'"
                              : "effect_class 'human' is only for human nodes");
        return;
    }
    if (asks)
        return;
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
    mortise_diag_help(ld->diags, d,
                      "remove effect_class, or set a stricter class");
}

/* The number of a resource.  All graphs of a run share these numbers. */
static uint32_t resource_number(struct mortise_loader *ld, const char *name)
{
    const struct mortise_shared_name *one = ld->root->resources;
    struct mortise_shared_name *new;

    while (one != NULL && strcmp(one->name, name) != 0)
        one = one->next;
    if (one != NULL)
        return one->number;
    new = mortise_load_alloc(ld, sizeof *new);
    if (new == NULL)
        return 0;
    *new = (struct mortise_shared_name){ld->root->resources, name,
                                        ++ld->root->g->n_resources};
    ld->root->resources = new;
    return new->number;
}

void mortise_node_read_resource(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->resource = resource_number(ctx, slot->value->str);
}

void mortise_node_check_resource(struct mortise_loader *ld,
                                 const struct mortise_node_reader *r)
{
    if (r->node->resource == 0 || r->node->op == NULL ||
        r->node->effect >= MORTISE_WRITE)
        return;
    mortise_diag_help(
        ld->diags,
        mortise_diag_add(ld->diags, "E0509",
                         mortise_yaml_get(r->map, "resource")->span,
                         "'%s' has 'resource', but its effect class is '%s', "
                         "so it never waits for the resource",
                         r->node->id, mortise_effect_name(r->node->effect)),
        "set effect_class: write if it changes the resource, or remove "
        "'resource'");
}

/* The source of the effect class, for messages. */
static const char *describe_effect_source(const struct mortise_node_reader *r,
                                          char room[320])
{
    const struct mortise_node *n = r->node;

    if (r->has_effect)
        return "set by its effect_class";
    if (n->effect > n->op->effect)
        return "set by defaults.effect_class";
    snprintf(room, 320, "declared by %.128s/%.128s", n->plugin, n->operation);
    return room;
}

void mortise_node_check_cache(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_node *n = r->node;
    const struct mortise_yaml *at = mortise_yaml_get(r->map, "cache");
    struct mortise_diag *d;
    char room[320];

    if (!n->cache || n->op == NULL || n->effect == MORTISE_PURE)
        return;
    d = mortise_diag_add(ld->diags, "E0512", at->span,
                         "'%s' has 'cache', but its effect class is '%s' (%s): "
                         "only outputs of pure operations can be cached",
                         n->id, mortise_effect_name(n->effect),
                         describe_effect_source(r, room));
    mortise_diag_help(ld->diags, d, "remove 'cache'");
}

void mortise_node_read_on_in_doubt(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    r->node->on_in_doubt = (enum mortise_in_doubt)slot->word;
    if (slot->word == MORTISE_DOUBT_RECONCILE && r->node->op != NULL &&
        !r->node->op->reconcile)
        mortise_diag_add(ld->diags, "E0506", slot->value->span,
                         "%s/%s does not support reconcile", r->node->plugin,
                         r->node->operation);
}

void mortise_node_read_output_schema(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    mortise_load_schema(ld, into, slot);
    if (r->node->output_schema != NULL)
        ld->names[MORTISE_IN_OUTPUT].schema = r->node->output_schema;
}

static void compile_late_args(struct mortise_loader *ld,
                              const struct mortise_deferred_expr *late)
{
    const struct mortise_node *node = &ld->g->nodes[late->node];

    mortise_load_deferred_tmpl(ld, late);
    if (ld->doubtful || ld->nomem)
        return;
    if (node->op != NULL)
        mortise_load_check_args_fit(ld, node->args, node->op->input);
    for (size_t i = 0; i < node->n_choices; i++)
        if (node->choices[i].op != node->op)
            mortise_load_check_args_fit(ld, node->args,
                                        node->choices[i].op->input);
    mortise_load_check_args_fit(ld, node->args, node->input_schema);
}

void mortise_node_set_args(struct mortise_loader *ld,
                           struct mortise_node_reader *r,
                           const struct mortise_yaml *args)
{
    r->args = args;
    mortise_load_defer(ld, compile_late_args, &r->node->args, args,
                       r->node->index, MORTISE_IN_OUTPUT);
}

void mortise_node_read_args(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    mortise_node_set_args(ctx, into, slot->value);
}

/* ---- arguments against the operation's schema ------------------------ */

/* Check a value in which templates may become anything.  NULL stands for {}.
 * `name` is the argument's key, or NULL if `v` is the whole of the
 * arguments. */
static void check_arg_value(struct mortise_loader *ld,
                            struct mortise_node_reader *r,
                            const struct mortise_schema *schema,
                            const struct mortise_yaml *v, const char *name)
{
    json_t *unknown = json_string("${");
    json_t *json = NULL;
    struct mortise_span at;
    struct mortise_err err;
    int rv = MORTISE_ENOMEM;

    if (unknown != NULL)
        json = v != NULL ? mortise_yaml_to_json_partly(
                               v, unknown, mortise_tmpl_has_expr_within)
                         : json_object();
    if (json != NULL)
        rv = mortise_schema_check_partly(schema, json, unknown, &err);
    json_decref(json);
    json_decref(unknown);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK || rv == MORTISE_ENOMEM)
        return;
    at = v != NULL ? mortise_yaml_find_at_message(v, err.msg)->span
                   : r->key->span;
    if (name != NULL)
        mortise_diag_add(ld->diags, "E0503", at,
                         "%s/%s does not accept the argument '%s': %s",
                         r->node->plugin, r->node->operation, name, err.msg);
    else
        mortise_diag_add(ld->diags, "E0503", at,
                         "%s/%s does not accept these args: %s",
                         r->node->plugin, r->node->operation, err.msg);
}

/* Is there a template in a key?  Another check reports it. */
static bool has_template_key(const struct mortise_yaml *v)
{
    for (size_t i = 0; i < v->n; i++)
        if ((v->kind == MORTISE_YAML_MAP &&
             mortise_tmpl_has_expr_within(v->keys[i])) ||
            has_template_key(v->items[i]))
            return true;
    return false;
}

static void check_arg_member(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_schema *schema,
                             const struct mortise_yaml *key,
                             const struct mortise_yaml *v)
{
    const struct mortise_schema *s =
        mortise_schema_get_member(schema, key->str);
    struct mortise_diag *d;
    const char *near;

    if (s != NULL && mortise_schema_get_types(s) == 0) {
        d = mortise_diag_add(ld->diags, "E0503", key->span,
                             "%s/%s has no argument '%s'", r->node->plugin,
                             r->node->operation, key->str);
        near = mortise_schema_find_nearest(schema, key->str);
        if (near != NULL)
            mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
        return;
    }
    if (s != NULL && !has_template_key(v))
        check_arg_value(ld, r, s, v, key->str);
}

/* Are all arguments that form the judged name of the call literals? */
static bool has_name_args(const struct mortise_operation *op,
                          const struct mortise_yaml *args)
{
    const char *at = op->judged_as;

    while (args != NULL && args->kind == MORTISE_YAML_MAP &&
           (at = strchr(at, '{')) != NULL) {
        size_t n = strcspn(++at, "}");
        const struct mortise_yaml *v = NULL;

        for (size_t i = 0; v == NULL && i < args->n; i++)
            if (strncmp(args->keys[i]->str, at, n) == 0 &&
                args->keys[i]->str[n] == '\0')
                v = args->items[i];
        if (v == NULL || mortise_tmpl_has_expr_within(v))
            return false;
    }
    return args != NULL && args->kind == MORTISE_YAML_MAP;
}

/* Report a call that the deployment denies if its arguments are literals.  The
 * engine judges other calls when it makes them. */
static void check_denied_name(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_operation *op = r->node->op;
    struct mortise_err why;
    json_t *args;

    if (op == NULL || op->judged_as == NULL || !has_name_args(op, r->args))
        return;
    args = mortise_yaml_to_json(r->args, false);
    ld->nomem |= args == NULL;
    if (args != NULL && mortise_operation_judge(op, args, &why) == MORTISE_DENY)
        mortise_diag_add(ld->diags, "E0507", r->args->span, "%s", why.msg);
    json_decref(args);
}

/* x-program: the argument names a program of the deployment.  In the schema of
 * an MCP tool the mark comes from the server and has no meaning here. */
static void check_program_args(struct mortise_loader *ld,
                               const struct mortise_node_reader *r)
{
    const struct mortise_catalog *catalog = ld->catalog;
    const struct mortise_operation *op = r->node->op;
    const struct mortise_yaml *args = r->args;
    const json_t *members;
    struct mortise_err why;

    if (catalog->program == NULL || op == NULL || op->input == NULL ||
        op->pinned || args == NULL || args->kind != MORTISE_YAML_MAP)
        return;
    members = json_object_get(mortise_schema_json(op->input), "properties");
    for (size_t i = 0; i < args->n; i++) {
        const struct mortise_yaml *v = args->items[i];
        const json_t *member = json_object_get(members, args->keys[i]->str);
        int rv;

        if (!json_is_true(json_object_get(member, "x-program")) ||
            v->kind != MORTISE_YAML_STRING || mortise_tmpl_has_expr_within(v))
            continue;
        rv = catalog->program(catalog->ud, op, v->str, &why);
        ld->nomem |= rv == MORTISE_ENOMEM;
        if (rv != MORTISE_OK && rv != MORTISE_ENOMEM)
            mortise_diag_add(ld->diags, "E0521", v->span, "%s", why.msg);
    }
}

/* If the arguments contain a template, check each member separately.  The rules
 * for the whole object (such as a missing member) are checked only if no member
 * has an error. */
void mortise_node_check_args(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_schema *schema)
{
    const struct mortise_yaml *v = r->args;
    size_t before;

    check_denied_name(ld, r);
    check_program_args(ld, r);
    before = ld->diags->n_errors;
    if (v != NULL && v->kind == MORTISE_YAML_MAP &&
        mortise_tmpl_has_expr_within(v))
        for (size_t i = 0; i < v->n; i++)
            if (!mortise_tmpl_has_expr_within(v->keys[i]))
                check_arg_member(ld, r, schema, v->keys[i], v->items[i]);
    if (ld->diags->n_errors == before && (v == NULL || !has_template_key(v)))
        check_arg_value(ld, r, schema, v, NULL);
}
