/* scope.c -- the names that expressions see, and compiling expressions.
 *
 * All names are in one array, in the order of enum mortise_scope_name.  Each
 * place in the file sees a prefix of it:
 *
 *     edges from START                               input .. run
 *     args, prompt, target, a router's expressions         .. items
 *     outputs, when and routes                             .. output
 *     on_error.value, the message of on_error.fail         .. error
 *     retry_policy.when                                    node, error
 *
 * Some names exist only in some places.  The index and the items are names only
 * in the body of a map.  `error` is also a name in a node that is the target of
 * an on_error.goto: the error that led there.  `memory` and `discovery` are
 * names in a node that looks things up before it runs.
 *
 * With this order, a run fills one array of values for all expressions.  The
 * compiler does not know a name after the end: `output` in args is an error of
 * `check`, not a null in a run.
 *
 * In the body of a map, `artifacts` also has the artifacts of the current
 * element, of any type, whatever the schema of the run says.
 */
#include "lang/graph/load/loader.h"

#include <string.h>

/* {"type": "object", "properties": {...}, "additionalProperties": false}; takes
 * the reference of `properties`. */
static json_t *make_closed_schema(json_t *properties)
{
    return json_pack("{s:s,s:o,s:b}", "type", "object", "properties",
                     properties, "additionalProperties", 0);
}

static struct mortise_schema *make_run_schema(struct mortise_loader *ld)
{
    return mortise_load_internal_schema(
        ld, make_closed_schema(
                json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "id", "type",
                          "string", "tenant", "type", "string", "graph", "type",
                          "string", "version", "type", "string")));
}

json_t *mortise_load_error_type(void)
{
    return make_closed_schema(
        json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "node",
                  "type", "string", "code", "type", "string", "class", "type",
                  "string", "message", "type", "string", "exit_code", "type",
                  "integer", "status", "type", "integer"));
}

/* The traces in `memory` (mortise/memory.h). */
static struct mortise_schema *make_memory_schema(struct mortise_loader *ld)
{
    return mortise_load_internal_schema(
        ld,
        json_pack("{s:s, s:{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, "
                  "s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}, s:b}}",
                  "type", "array", "items", "type", "object", "properties",
                  "id", "type", "string", "type", "type", "string", "scope",
                  "type", "string", "key", "type", "string", "content", "type",
                  "string", "strength", "type", "number", "created_at", "type",
                  "integer", "metadata", "type", "object", "score", "type",
                  "number", "additionalProperties", 0));
}

/* One result of a discovery; the plugin may add further members. */
static json_t *make_result_schema(void)
{
    return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}}",
                     "type", "object", "properties", "id", "type", "string",
                     "kind", "type", "string", "score", "type", "number",
                     "text", "type", "string", "tier", "type", "string");
}

/* The results of a node's discovery_policy. */
static struct mortise_schema *make_discovery_schema(struct mortise_loader *ld)
{
    return mortise_load_internal_schema(
        ld, make_closed_schema(json_pack(
                "{s:{s:s}, s:{s:s, s:o}, s:{s:s, s:{s:s}}, s:{s:s}, "
                "s:{s:s}, s:o}",
                "kind", "type", "string", "results", "type", "array", "items",
                make_result_schema(), "skills", "type", "array", "items",
                "type", "string", "narrows", "type", "boolean", "fallback",
                "type", "string", "error", mortise_load_error_type())));
}

/* The failed branches, for a join that lists them; `index` is that of a map
 * element. */
static json_t *make_failed_schema(void)
{
    return json_pack(
        "{s:s,s:o}", "type", "array", "items",
        make_closed_schema(json_pack("{s:{s:s},s:{s:s},s:o}", "node", "type",
                                     "string", "index", "type", "integer",
                                     "error", mortise_load_error_type())));
}

static struct mortise_schema *make_node_schema(struct mortise_loader *ld)
{
    return mortise_load_internal_schema(
        ld, make_closed_schema(json_pack(
                "{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:o}", "id", "type", "string",
                "type", "type", "string", "visit", "type", "integer", "attempt",
                "type", "integer", "failed", make_failed_schema())));
}

static json_t *make_amounts_schema(void)
{
    return json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "model_calls", "type",
                     "integer", "input_tokens", "type", "integer",
                     "output_tokens", "type", "integer", "usd", "type",
                     "number");
}

/* How often a guardrail took each action. */
static json_t *make_actions_schema(void)
{
    return json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "pass",
                     "type", "integer", "warn", "type", "integer", "sanitize",
                     "type", "integer", "reroute", "type", "integer", "block",
                     "type", "integer");
}

/* {ID: {ACTION: count}} of the guardrails of this node; NULL: of any. */
static json_t *make_guardrails_schema(const struct mortise_node *node)
{
    json_t *ids;

    if (node == NULL)
        return json_pack("{s:s,s:o}", "type", "object", "additionalProperties",
                         make_closed_schema(make_actions_schema()));
    ids = json_object();
    for (size_t s = 0; s < MORTISE_GUARD_STAGES; s++)
        for (size_t i = 0; i < node->guards[s].n && ids != NULL; i++)
            if (json_object_set_new(
                    ids, node->guards[s].ids[i],
                    make_closed_schema(make_actions_schema())) != 0)
                mortise_json_clear_ref(&ids);
    return make_closed_schema(ids);
}

/* The totals over the executions of one node. */
static json_t *make_tally_schema(const struct mortise_node *node)
{
    json_t *usage = make_amounts_schema();

    if (usage != NULL &&
        json_object_set_new(
            usage, "by_model",
            json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                      make_closed_schema(make_amounts_schema()))) != 0)
        mortise_json_clear_ref(&usage);
    return make_closed_schema(json_pack(
        "{s:{s:s},s:{s:s},s:o,s:o}", "runs", "type", "integer", "attempts",
        "type", "integer", "usage", make_closed_schema(usage), "guardrails",
        make_guardrails_schema(node)));
}

/* The totals of each node, for a file that mentions diagnostics. */
static struct mortise_schema *
make_diagnostics_schema(struct mortise_loader *ld,
                        const struct mortise_yaml *ids)
{
    json_t *one = make_tally_schema(NULL), *all = json_object();

    for (size_t i = 0; i < ids->n && all != NULL; i++) {
        if (json_object_set(all, ids->keys[i]->str, one) == 0)
            continue;
        mortise_json_clear_ref(&all);
    }
    json_decref(one);
    return mortise_load_internal_schema(ld, make_closed_schema(all));
}

/* The same with the guardrails of each node, once they are known.  It is large,
 * so only for files that use it.  A pinned graph was checked without it. */
static void set_diagnostics_schema(struct mortise_loader *ld)
{
    json_t *all;

    if (!ld->diagnoses || ld->doubtful || mortise_load_is_pinned(ld))
        return;
    all = json_object();
    for (uint32_t i = 0; i < ld->g->n_nodes && all != NULL; i++)
        if (json_object_set_new(all, ld->g->nodes[i].id,
                                make_tally_schema(&ld->g->nodes[i])) != 0)
            mortise_json_clear_ref(&all);
    ld->names[MORTISE_IN_DIAGNOSTICS].schema =
        mortise_load_internal_schema(ld, make_closed_schema(all));
}

/* Add a member whose schema is the author's.  A reference in the schema leads
 * to other parts of it, so it is not copied. */
static const struct mortise_schema *
add_schema_member(struct mortise_loader *ld, const struct mortise_schema *base,
                  const char *name, struct mortise_schema *part)
{
    const struct mortise_schema *s =
        mortise_schema_add_member(ld->arena, base, name, part);

    ld->nomem |= s == NULL;
    return s;
}

static const struct mortise_schema *
make_state_schema(struct mortise_loader *ld, struct mortise_schema *artifacts)
{
    const struct mortise_schema *s =
        mortise_load_internal_schema(ld, make_closed_schema(json_object()));

    s = add_schema_member(ld, s, "input", ld->g->input);
    s = add_schema_member(ld, s, "scratch", ld->g->scratch);
    return add_schema_member(ld, s, "artifacts", artifacts);
}

void mortise_load_scope(struct mortise_loader *ld,
                        const struct mortise_yaml *nodes)
{
    struct mortise_cel_name *names = ld->names;

    names[MORTISE_IN_INPUT] = (struct mortise_cel_name){"input", ld->g->input};
    names[MORTISE_IN_SCRATCH] =
        (struct mortise_cel_name){"scratch", ld->g->scratch};
    names[MORTISE_IN_ARTIFACTS] =
        (struct mortise_cel_name){"artifacts", ld->g->artifacts};
    names[MORTISE_IN_STATE] = (struct mortise_cel_name){
        "state", make_state_schema(ld, ld->g->artifacts)};
    names[MORTISE_IN_RUN] =
        (struct mortise_cel_name){"run", make_run_schema(ld)};
    names[MORTISE_IN_NODE] =
        (struct mortise_cel_name){"node", make_node_schema(ld)};
    names[MORTISE_IN_DIAGNOSTICS] = (struct mortise_cel_name){
        "diagnostics",
        ld->diagnoses ? make_diagnostics_schema(ld, nodes) : NULL};
    for (int i = MORTISE_IN_INDEX; i < MORTISE_IN_OUTPUT; i++)
        names[i] = (struct mortise_cel_name){"", NULL}; /* no name yet */
    names[MORTISE_IN_INDEX].schema =
        mortise_load_internal_schema(ld, json_pack("{s:s}", "type", "integer"));
    names[MORTISE_IN_OUTPUT] = (struct mortise_cel_name){"output", NULL};
    names[MORTISE_IN_ERROR] = (struct mortise_cel_name){
        "error", mortise_load_internal_schema(ld, mortise_load_error_type())};
    names[MORTISE_IN_HANDLED] = (struct mortise_cel_name){
        "",
        mortise_schema_allow_null(ld->arena, names[MORTISE_IN_ERROR].schema)};
    ld->nomem |= names[MORTISE_IN_HANDLED].schema == NULL;
    names[MORTISE_IN_MEMORY] =
        (struct mortise_cel_name){"", make_memory_schema(ld)};
    names[MORTISE_IN_DISCOVERY] =
        (struct mortise_cel_name){"", make_discovery_schema(ld)};
}

/* ---- compiling ------------------------------------------------------- */

/* Record the expression for names.c. */
static void note_checked_expr(struct mortise_loader *ld,
                              const struct mortise_expr *e,
                              enum mortise_scope_name end)
{
    struct mortise_placed_expr *list = mortise_array_grow(
        ld->mem, ld->looked, ld->n_looked, &ld->cap_looked, sizeof *list);

    if (list == NULL) {
        ld->nomem = true;
        return;
    }
    ld->looked = list;
    list[ld->n_looked++] =
        (struct mortise_placed_expr){*e, ld->inner_names, ld->scope_node, end};
}

/* The names before `end`.  In on_error (value, fail), `error` is the node's own
 * error. */
static struct mortise_cel_scope get_scope_before(struct mortise_loader *ld,
                                                 enum mortise_scope_name end)
{
    if (end > MORTISE_IN_ERROR)
        ld->names[MORTISE_IN_HANDLED].name = "";
    return (struct mortise_cel_scope){ld->names, end};
}

void mortise_load_expr(struct mortise_loader *ld, struct mortise_expr *out,
                       const struct mortise_yaml *v,
                       enum mortise_scope_name end)
{
    struct mortise_cel_scope scope = get_scope_before(ld, end);

    *out = (struct mortise_expr){.at = v};
    if (v->kind == MORTISE_YAML_SEQ || v->kind == MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "an expression must be a string, not %s",
                         mortise_yaml_kind_name(v->kind));
        return;
    }
    if (mortise_expr_compile(out, ld->arena, v, &scope, ld->diags) ==
        MORTISE_ENOMEM)
        ld->nomem = true;
    if (out->cel != NULL)
        note_checked_expr(ld, out, end);
}

/* Also evaluate a condition that uses no names, since its result is always the
 * same. */
static void compile_edge_condition(struct mortise_loader *ld,
                                   struct mortise_expr *out,
                                   const struct mortise_yaml *v,
                                   enum mortise_scope_name end)
{
    const json_t *nothing[MORTISE_IN_N] = {NULL};
    struct mortise_expr_env env = {nothing, ld->g->expr_cost};
    struct mortise_err err;
    bool ignored;
    int rv;

    mortise_load_expr(ld, out, v, end);
    if (out->cel == NULL ||
        !mortise_load_check_types(ld, out, MORTISE_T_BOOL,
                                  "a condition must be a bool") ||
        mortise_cel_get_uses(out->cel) != 0)
        return;
    rv = mortise_cel_test(out->cel, &env, &ignored, NULL, &err);
    if (rv == MORTISE_ENOMEM)
        ld->nomem = true;
    else if (rv != MORTISE_OK)
        mortise_diag_add(ld->diags, "E0403", v->span,
                         "the condition always fails: %s", err.msg);
}

void mortise_load_error_test(struct mortise_loader *ld,
                             struct mortise_expr *out,
                             const struct mortise_yaml *v)
{
    struct mortise_cel_name names[MORTISE_IN_N];
    struct mortise_cel_scope scope;

    for (int i = 0; i < MORTISE_IN_N; i++)
        names[i] = (struct mortise_cel_name){"", NULL};
    names[MORTISE_IN_NODE] =
        (struct mortise_cel_name){"node", make_node_schema(ld)};
    names[MORTISE_IN_ERROR] = (struct mortise_cel_name){
        "error", mortise_load_internal_schema(ld, mortise_load_error_type())};
    scope = (struct mortise_cel_scope){names, MORTISE_IN_N};
    if (!ld->nomem && mortise_expr_compile(out, ld->arena, v, &scope,
                                           ld->diags) == MORTISE_ENOMEM)
        ld->nomem = true;
    mortise_load_check_types(ld, out, MORTISE_T_BOOL,
                             "a condition must be a bool");
}

void mortise_load_deferred_expr(struct mortise_loader *ld,
                                const struct mortise_deferred_expr *late)
{
    mortise_load_expr(ld, late->into, late->at, late->end);
}

struct template_note {
    struct mortise_loader *ld;
    enum mortise_scope_name end;
};

static void note_template_expr(void *ud, const struct mortise_expr *e)
{
    const struct template_note *n = ud;

    note_checked_expr(n->ld, e, n->end);
}

void mortise_load_deferred_tmpl(struct mortise_loader *ld,
                                const struct mortise_deferred_expr *late)
{
    struct mortise_cel_scope scope = get_scope_before(ld, late->end);
    struct template_note template_note = {ld, late->end};
    struct mortise_tmpl **into = late->into;

    if (mortise_tmpl_compile(into, ld->arena, late->at, &scope, ld->diags) ==
        MORTISE_ENOMEM)
        ld->nomem = true;
    if (*into != NULL)
        mortise_tmpl_for_each_expr(*into, note_template_expr, &template_note);
}

/* ---- later ----------------------------------------------------------- */

void mortise_load_defer(struct mortise_loader *ld, mortise_deferred_expr_fn *fn,
                        void *into, const struct mortise_yaml *at,
                        uint32_t node, enum mortise_scope_name end)
{
    struct mortise_deferred_expr *list = mortise_array_grow(
        ld->mem, ld->late, ld->n_late, &ld->cap_late, sizeof *list);

    if (list == NULL) {
        ld->nomem = true;
        return;
    }
    ld->late = list;
    list[ld->n_late++] =
        (struct mortise_deferred_expr){fn, into, at, node, end};
}

/* ---- handlers --------------------------------------------------------------- */

/* An edge to the join of a map ends an element; the map starts the join, so the
 * join is no handler. */
static void find_error_handlers(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    ld->handles = mortise_load_alloc(ld, g->n_nodes * sizeof *ld->handles);
    for (uint32_t i = 0; i < g->n_edges && !ld->nomem; i++)
        if (g->edges[i].kind == MORTISE_EDGE_ERROR && !g->edges[i].yields &&
            g->edges[i].to < g->n_nodes)
            ld->handles[g->edges[i].to] = true;
}

/* ---- artifacts of map elements ------------------------------------------- */

/* In the body of the map, let `artifacts` have this member, of any type. */
static void add_element_artifact(struct mortise_loader *ld, uint32_t map,
                                 const char *name)
{
    struct mortise_schema *s =
        mortise_schema_open_member(ld->arena, ld->artifacts_in[map], name);

    ld->nomem |= s == NULL;
    if (s != NULL)
        ld->artifacts_in[map] = s;
}

/* The same for each map inside this one, too. */
static void add_element_artifacts(struct mortise_loader *ld, uint32_t map,
                                  const char *name)
{
    for (uint32_t i = 1; i <= ld->n_maps && map != 0; i++) {
        uint32_t at = i;

        while (at != 0 && at != map)
            at = ld->g->regions[at].parent;
        if (at == map)
            add_element_artifact(ld, i, name);
    }
}

static bool has_element_artifact(const struct mortise_loader *ld,
                                 const char *name)
{
    struct mortise_path_step steps[] = {{"artifacts", 0}, {name, 0}};
    const struct mortise_path path = {steps, 2, ""};

    return mortise_graph_is_element_path(ld->g, &path);
}

/* The writes of outputs and results are recorded by now, those of output_as are
 * not. */
static void find_element_artifacts(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    for (size_t i = 0; i < ld->n_writes && !ld->nomem; i++) {
        const struct mortise_path *path = ld->writes[i].path;

        if (path->n > 1 && mortise_graph_is_element_path(g, path))
            add_element_artifacts(ld, ld->body[ld->writes[i].node],
                                  path->steps[1].key);
    }
    for (uint32_t i = 0; i < g->n_nodes && !ld->nomem; i++) {
        const char *as = g->nodes[i].output_as;

        if (as != NULL && has_element_artifact(ld, as))
            add_element_artifacts(ld, ld->body[i], as);
    }
}

static void load_element_schemas(struct mortise_loader *ld)
{
    ld->artifacts_in =
        mortise_load_alloc(ld, (ld->n_maps + 1) * sizeof *ld->artifacts_in);
    ld->states_in =
        mortise_load_alloc(ld, (ld->n_maps + 1) * sizeof *ld->states_in);
    if (ld->nomem)
        return;
    for (uint32_t i = 0; i <= ld->n_maps; i++) {
        ld->artifacts_in[i] = ld->g->artifacts;
        ld->states_in[i] = ld->names[MORTISE_IN_STATE].schema;
    }
    if (ld->g->artifacts == NULL)
        return;
    find_element_artifacts(ld);
    for (uint32_t i = 1; i <= ld->n_maps && !ld->nomem; i++)
        ld->states_in[i] = make_state_schema(ld, ld->artifacts_in[i]);
}

/* Set the element of a map, at its level. */
static void set_item_name(struct mortise_loader *ld, uint32_t map)
{
    const struct mortise_region *r = &ld->g->regions[map];

    ld->names[MORTISE_IN_ITEM + r->level] =
        (struct mortise_cel_name){r->as, ld->item_of[map]};
}

/* If an edge is missing, a map's body may be cut off from its map.  Accept the
 * names of any map then, as long as there is room. */
static void set_any_item_names(struct mortise_loader *ld)
{
    int at = MORTISE_IN_ITEM;

    for (uint32_t i = 1; i <= ld->n_maps && at < MORTISE_IN_ITEM_END; i++)
        ld->names[at++] = (struct mortise_cel_name){ld->g->regions[i].as, NULL};
    ld->names[MORTISE_IN_INDEX].name = "index";
}

/* Accept the names of maps that could not be created, too. */
static void set_lost_item_names(struct mortise_loader *ld)
{
    const struct mortise_shared_name *lost = ld->lost_items;

    for (int i = MORTISE_IN_ITEM; lost != NULL && i < MORTISE_IN_ITEM_END;
         i++) {
        if (ld->names[i].name[0] != '\0')
            continue;
        ld->names[i] = (struct mortise_cel_name){lost->name, NULL};
        ld->names[MORTISE_IN_INDEX].name = "index";
        lost = lost->next;
    }
}

/* Set the names of the node's lookups. */
static void set_lookup_names(struct mortise_loader *ld, uint32_t node)
{
    const struct mortise_node *n =
        node != MORTISE_START ? &ld->g->nodes[node] : NULL;

    ld->names[MORTISE_IN_MEMORY].name =
        n != NULL && n->memory != NULL && n->memory->reads ? "memory" : "";
    ld->names[MORTISE_IN_DISCOVERY].name =
        n != NULL && n->discovers != NULL ? "discovery" : "";
}

/* An element named `discovery` hides the node's discovery. */
static void hide_discovery_name(struct mortise_loader *ld)
{
    for (int i = MORTISE_IN_ITEM; i < MORTISE_IN_ITEM_END; i++)
        if (strcmp(ld->names[i].name, "discovery") == 0)
            ld->names[MORTISE_IN_DISCOVERY].name = "";
}

void mortise_load_set_scope_node(struct mortise_loader *ld, uint32_t node)
{
    uint32_t map = node != MORTISE_START ? ld->body[node] : 0;

    ld->scope_node = node;
    ld->names[MORTISE_IN_OUTPUT].schema =
        node != MORTISE_START ? ld->output_of[node] : NULL;
    /* If an edge is missing, it may be one that leads to this node. */
    ld->names[MORTISE_IN_HANDLED].name =
        node != MORTISE_START && (ld->handles[node] || ld->doubtful) ? "error"
                                                                     : "";
    set_lookup_names(ld, node);
    ld->names[MORTISE_IN_ARTIFACTS].schema = ld->artifacts_in[map];
    ld->names[MORTISE_IN_STATE].schema = ld->states_in[map];
    ld->names[MORTISE_IN_INDEX].name = map != 0 ? "index" : "";
    for (int i = MORTISE_IN_ITEM; i < MORTISE_IN_ITEM_END; i++)
        ld->names[i] = (struct mortise_cel_name){"", NULL};
    if (map == 0 && ld->n_maps > 0 && ld->doubtful)
        set_any_item_names(ld);
    for (; map != 0; map = ld->g->regions[map].parent)
        set_item_name(ld, map);
    set_lost_item_names(ld);
    hide_discovery_name(ld);
}

/* The schema of an element, if the list is a path in a value with a schema;
 * NULL: any. */
static const struct mortise_schema *
get_item_schema(struct mortise_loader *ld, const struct mortise_cel *over)
{
    const char *text = over != NULL ? mortise_cel_get_path(over) : NULL;
    const struct mortise_schema *s = NULL;
    struct mortise_path path;

    if (text == NULL)
        return NULL;
    if (mortise_path_parse(&path, ld->arena, text, strlen(text), NULL) !=
        MORTISE_OK)
        /* a key that paths cannot express, or no memory: reported when the map
         * is used */
        return NULL;
    for (int i = 0; i < MORTISE_IN_N; i++)
        if (strcmp(ld->names[i].name, path.steps[0].key) == 0)
            s = ld->names[i].schema;
    s = mortise_load_schema_below(s, &path);
    return s != NULL ? mortise_schema_get_items(s) : NULL;
}

/* The scope of an edge's condition, and of the list of a map. */
static enum mortise_scope_name
get_condition_scope(const struct mortise_graph *g, uint32_t from)
{
    if (from == MORTISE_START)
        return MORTISE_IN_NODE;
    return mortise_node_gives(&g->nodes[from]) == MORTISE_GIVES_ROUTE
               ? MORTISE_IN_OUTPUT
               : MORTISE_IN_ERROR;
}

static void load_map_over(struct mortise_loader *ld, uint32_t map)
{
    struct mortise_region *r = &ld->g->regions[map];
    uint32_t from = ld->g->edges[r->map_edge].from;
    const struct mortise_deferred_expr late = {
        .into = &r->parallel,
        .at = ld->edges[r->map_edge].map->parallel,
        .node = from,
        .end = get_condition_scope(ld->g, from)};

    mortise_load_set_scope_node(ld, from);
    mortise_load_expr(ld, &r->over, ld->edges[r->map_edge].map->over, late.end);
    mortise_load_check_types(ld, &r->over, MORTISE_T_ARRAY,
                             "'over' must be a list");
    ld->item_of[map] = get_item_schema(ld, r->over.cel);
    if (late.at != NULL)
        mortise_load_deferred_tmpl(ld, &late);
}

/* Outer maps first: an inner map may iterate over a part of an outer
 * element. */
static void load_all_map_overs(struct mortise_loader *ld)
{
    ld->item_of =
        mortise_load_alloc(ld, (ld->n_maps + 1) * sizeof *ld->item_of);
    for (uint32_t level = 0; level < MORTISE_MAX_MAPS; level++)
        for (uint32_t i = 1; i <= ld->n_maps && !ld->nomem; i++)
            if (ld->g->regions[i].level == level)
                load_map_over(ld, i);
}

void mortise_load_expressions(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    set_diagnostics_schema(ld);
    find_error_handlers(ld);
    load_element_schemas(ld);
    if (!ld->nomem)
        load_all_map_overs(ld);
    for (size_t i = 0; i < ld->n_late && !ld->nomem; i++) {
        mortise_load_set_scope_node(ld, ld->late[i].node);
        ld->late[i].fn(ld, &ld->late[i]);
    }
    for (size_t i = 0; i < ld->n_edges && !ld->nomem; i++) {
        if (ld->edges[i].when == NULL)
            continue;
        mortise_load_set_scope_node(ld, g->edges[i].from);
        compile_edge_condition(ld, &g->edges[i].when, ld->edges[i].when,
                               get_condition_scope(g, g->edges[i].from));
    }
}
