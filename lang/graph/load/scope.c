/* scope.c -- what expressions see, and compiling them.
 *
 * The names stand in one array, in the order of enum mortise_scope_name, and
 * a place in the file sees the first so many of it:
 *
 *     edges from START                               input .. run
 *     args, prompt, target, a router's expressions         .. items
 *     outputs, when and routes                             .. output
 *     on_error.value, the message of on_error.fail         .. error
 *     retry_policy.when                                    node, error
 *
 * (where an index and items are names in a map's body alone, and `error` is one
 * besides in all that stands in a node that an on_error.goto leads to: what it
 * was led to for; and `memory` and `discovery` in one that looks things up
 * before it runs: what was found), so that a run
 * fills one array of values for all of them.  A name behind the end is unknown
 * to the compiler: `output` in args is an error at check time, not a null in a
 * run.
 *
 * In the body of a map `artifacts` has what is an element's own, too, whatever
 * the schema of the run's says: what the nodes there write may be anything.
 */
#include "lang/graph/load/loader.h"

#include <string.h>

/* {"type": "object", "properties": {...}, "additionalProperties": false}, with
 * the members of `properties`, whose reference is taken. */
static json_t *closed(json_t *properties)
{
    return json_pack("{s:s,s:o,s:b}", "type", "object", "properties",
                     properties, "additionalProperties", 0);
}

static struct mortise_schema *run_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "id", "type",
                             "string", "tenant", "type", "string", "graph",
                             "type", "string", "version", "type", "string")));
}

json_t *mortise_load_error_type(void)
{
    return closed(json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s}}",
                            "node", "type", "string", "code", "type", "string",
                            "class", "type", "string", "message", "type",
                            "string", "exit_code", "type", "integer", "status",
                            "type", "integer"));
}

/* Traces (mortise/memory.h). */
static struct mortise_schema *memory_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
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

/* One thing that was found; what else the plugin says of it stands beside. */
static json_t *result_json(void)
{
    return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}}",
                     "type", "object", "properties", "id", "type", "string",
                     "kind", "type", "string", "score", "type", "number",
                     "text", "type", "string", "tier", "type", "string");
}

/* What was discovered for a node. */
static struct mortise_schema *discovery_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack(
                "{s:{s:s}, s:{s:s, s:o}, s:{s:s, s:{s:s}}, s:{s:s}, "
                "s:{s:s}, s:o}",
                "kind", "type", "string", "results", "type", "array", "items",
                result_json(), "skills", "type", "array", "items", "type",
                "string", "narrows", "type", "boolean", "fallback", "type",
                "string", "error", mortise_load_error_type())));
}

/* The branches that failed, of a join that lists them; `index`: an element. */
static json_t *failed_json(void)
{
    return json_pack("{s:s,s:o}", "type", "array", "items",
                     closed(json_pack("{s:{s:s},s:{s:s},s:o}", "node", "type",
                                      "string", "index", "type", "integer",
                                      "error", mortise_load_error_type())));
}

static struct mortise_schema *node_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:o}", "id",
                             "type", "string", "type", "type", "string",
                             "visit", "type", "integer", "attempt", "type",
                             "integer", "failed", failed_json())));
}

static json_t *amounts_json(void)
{
    return json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "model_calls", "type",
                     "integer", "input_tokens", "type", "integer",
                     "output_tokens", "type", "integer", "usd", "type",
                     "number");
}

/* How often a guardrail said what. */
static json_t *actions_json(void)
{
    return json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "pass",
                     "type", "integer", "warn", "type", "integer", "sanitize",
                     "type", "integer", "reroute", "type", "integer", "block",
                     "type", "integer");
}

/* {ID: {ACTION: how often}} of the guardrails that this node has; NULL: of any. */
static json_t *guardrails_json(const struct mortise_node *node)
{
    json_t *ids;

    if (node == NULL)
        return json_pack("{s:s,s:o}", "type", "object", "additionalProperties",
                         closed(actions_json()));
    ids = json_object();
    for (size_t s = 0; s < MORTISE_GUARD_STAGES; s++)
        for (size_t i = 0; i < node->guards[s].n && ids != NULL; i++)
            if (json_object_set_new(ids, node->guards[s].ids[i],
                                    closed(actions_json())) != 0)
                mortise_json_drop(&ids);
    return closed(ids);
}

/* What the executions of one node came to. */
static json_t *tally_json(const struct mortise_node *node)
{
    json_t *usage = amounts_json();

    if (usage != NULL &&
        json_object_set_new(usage, "by_model",
                            json_pack("{s:s, s:o}", "type", "object",
                                      "additionalProperties",
                                      closed(amounts_json()))) != 0)
        mortise_json_drop(&usage);
    return closed(json_pack("{s:{s:s},s:{s:s},s:o,s:o}", "runs", "type",
                            "integer", "attempts", "type", "integer", "usage",
                            closed(usage), "guardrails",
                            guardrails_json(node)));
}

/* That of each node, for a file that mentions them. */
static struct mortise_schema *diagnostics_schema(struct mortise_loader *ld,
                                                 const struct mortise_yaml *ids)
{
    json_t *one = tally_json(NULL), *all = json_object();

    for (size_t i = 0; i < ids->n && all != NULL; i++) {
        if (json_object_set(all, ids->keys[i]->str, one) == 0)
            continue;
        mortise_json_drop(&all);
    }
    json_decref(one);
    return mortise_load_our_schema(ld, closed(all));
}

/* The same once it is known which guardrails each has: a large thing, for files
 * that ask for it.  The graph of a run was judged without. */
static void name_guardrails(struct mortise_loader *ld)
{
    json_t *all;

    if (!ld->diagnoses || ld->doubtful || mortise_load_is_pinned(ld))
        return;
    all = json_object();
    for (uint32_t i = 0; i < ld->g->n_nodes && all != NULL; i++)
        if (json_object_set_new(all, ld->g->nodes[i].id,
                                tally_json(&ld->g->nodes[i])) != 0)
            mortise_json_drop(&all);
    ld->names[MORTISE_IN_DIAGNOSTICS].schema =
        mortise_load_our_schema(ld, closed(all));
}

/* One name more, whose schema is the author's: a reference in it leads to other
 * parts of it, so it stays where it was compiled. */
static const struct mortise_schema *with(struct mortise_loader *ld,
                                         const struct mortise_schema *base,
                                         const char *name,
                                         struct mortise_schema *part)
{
    const struct mortise_schema *s =
        mortise_schema_with(ld->arena, base, name, part);

    ld->nomem |= s == NULL;
    return s;
}

static const struct mortise_schema *
state_schema(struct mortise_loader *ld, struct mortise_schema *artifacts)
{
    const struct mortise_schema *s =
        mortise_load_our_schema(ld, closed(json_object()));

    s = with(ld, s, "input", ld->g->input);
    s = with(ld, s, "scratch", ld->g->scratch);
    return with(ld, s, "artifacts", artifacts);
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
    names[MORTISE_IN_STATE] =
        (struct mortise_cel_name){"state", state_schema(ld, ld->g->artifacts)};
    names[MORTISE_IN_RUN] = (struct mortise_cel_name){"run", run_schema(ld)};
    names[MORTISE_IN_NODE] = (struct mortise_cel_name){"node", node_schema(ld)};
    names[MORTISE_IN_DIAGNOSTICS] = (struct mortise_cel_name){
        "diagnostics", ld->diagnoses ? diagnostics_schema(ld, nodes) : NULL};
    for (int i = MORTISE_IN_INDEX; i < MORTISE_IN_OUTPUT; i++)
        names[i] = (struct mortise_cel_name){"", NULL}; /* nobody's name */
    names[MORTISE_IN_INDEX].schema =
        mortise_load_our_schema(ld, json_pack("{s:s}", "type", "integer"));
    names[MORTISE_IN_OUTPUT] = (struct mortise_cel_name){"output", NULL};
    names[MORTISE_IN_ERROR] = (struct mortise_cel_name){
        "error", mortise_load_our_schema(ld, mortise_load_error_type())};
    names[MORTISE_IN_HANDLED] = (struct mortise_cel_name){
        "", mortise_schema_or_null(ld->arena, names[MORTISE_IN_ERROR].schema)};
    ld->nomem |= names[MORTISE_IN_HANDLED].schema == NULL;
    names[MORTISE_IN_MEMORY] = (struct mortise_cel_name){"", memory_schema(ld)};
    names[MORTISE_IN_DISCOVERY] =
        (struct mortise_cel_name){"", discovery_schema(ld)};
}

/* ---- compiling ------------------------------------------------------- */

/* For names.c. */
static void note(struct mortise_loader *ld, const struct mortise_expr *e,
                 enum mortise_scope_name end)
{
    struct mortise_looked *list = mortise_grow(
        ld->mem, ld->looked, ld->n_looked, &ld->cap_looked, sizeof *list);

    if (list == NULL) {
        ld->nomem = true;
        return;
    }
    ld->looked = list;
    list[ld->n_looked++] =
        (struct mortise_looked){*e, ld->inner_names, ld->stands_at, end};
}

/* The names before `end`.  What on_error has (value, fail) has an error of its own. */
static struct mortise_cel_scope scope_before(struct mortise_loader *ld,
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
    struct mortise_cel_scope scope = scope_before(ld, end);

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
        note(ld, out, end);
}

/* A condition that mentions no name always gives the same: look now. */
static void load_test(struct mortise_loader *ld, struct mortise_expr *out,
                      const struct mortise_yaml *v, enum mortise_scope_name end)
{
    const json_t *nothing[MORTISE_IN_N] = {NULL};
    struct mortise_cel_env env = {nothing, ld->g->expr_cost};
    struct mortise_err err;
    bool ignored;
    int rv;

    mortise_load_expr(ld, out, v, end);
    if (out->cel == NULL ||
        !mortise_load_takes(ld, out, MORTISE_T_BOOL,
                            "a condition must be a bool") ||
        mortise_cel_uses(out->cel) != 0)
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
    names[MORTISE_IN_NODE] = (struct mortise_cel_name){"node", node_schema(ld)};
    names[MORTISE_IN_ERROR] = (struct mortise_cel_name){
        "error", mortise_load_our_schema(ld, mortise_load_error_type())};
    scope = (struct mortise_cel_scope){names, MORTISE_IN_N};
    if (!ld->nomem && mortise_expr_compile(out, ld->arena, v, &scope,
                                           ld->diags) == MORTISE_ENOMEM)
        ld->nomem = true;
    mortise_load_takes(ld, out, MORTISE_T_BOOL, "a condition must be a bool");
}

void mortise_load_late_expr(struct mortise_loader *ld,
                            const struct mortise_late *late)
{
    mortise_load_expr(ld, late->into, late->at, late->end);
}

struct noting {
    struct mortise_loader *ld;
    enum mortise_scope_name end;
};

static void note_one(void *ud, const struct mortise_expr *e)
{
    const struct noting *n = ud;

    note(n->ld, e, n->end);
}

void mortise_load_late_tmpl(struct mortise_loader *ld,
                            const struct mortise_late *late)
{
    struct mortise_cel_scope scope = scope_before(ld, late->end);
    struct noting noting = {ld, late->end};
    struct mortise_tmpl **into = late->into;

    if (mortise_tmpl_compile(into, ld->arena, late->at, &scope, ld->diags) ==
        MORTISE_ENOMEM)
        ld->nomem = true;
    if (*into != NULL)
        mortise_tmpl_exprs(*into, note_one, &noting);
}

/* ---- later ----------------------------------------------------------- */

void mortise_load_late(struct mortise_loader *ld, mortise_late_fn *fn,
                       void *into, const struct mortise_yaml *at, uint32_t node,
                       enum mortise_scope_name end)
{
    struct mortise_late *list = mortise_grow(ld->mem, ld->late, ld->n_late,
                                             &ld->cap_late, sizeof *list);

    if (list == NULL) {
        ld->nomem = true;
        return;
    }
    ld->late = list;
    list[ld->n_late++] = (struct mortise_late){fn, into, at, node, end};
}

/* ---- handlers --------------------------------------------------------------- */

/* An edge to a map's join ends an element: what starts there is led to by the
 * map. */
static void find_handlers(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    ld->handles = mortise_load_alloc(ld, g->n_nodes * sizeof *ld->handles);
    for (uint32_t i = 0; i < g->n_edges && !ld->nomem; i++)
        if (g->edges[i].kind == MORTISE_EDGE_ERROR && !g->edges[i].yields &&
            g->edges[i].to < g->n_nodes)
            ld->handles[g->edges[i].to] = true;
}

/* ---- what is an element's own ------------------------------------------------ */

/* `artifacts` in the body of a map has this, which may be anything there. */
static void add_own(struct mortise_loader *ld, uint32_t map, const char *name)
{
    struct mortise_schema *s =
        mortise_schema_but(ld->arena, ld->artifacts_in[map], name);

    ld->nomem |= s == NULL;
    if (s != NULL)
        ld->artifacts_in[map] = s;
}

/* What one in the body of the map writes is seen in maps inside that, too. */
static void add_own_inside(struct mortise_loader *ld, uint32_t map,
                           const char *name)
{
    for (uint32_t i = 1; i <= ld->n_maps && map != 0; i++) {
        uint32_t at = i;

        while (at != 0 && at != map)
            at = ld->g->regions[at].parent;
        if (at == map)
            add_own(ld, i, name);
    }
}

static bool has_own(const struct mortise_loader *ld, const char *name)
{
    struct mortise_path_step steps[] = {{"artifacts", 0}, {name, 0}};
    const struct mortise_path path = {steps, 2, ""};

    return mortise_graph_is_own(ld->g, &path);
}

/* outputs and results are among the writes; output_as is not yet. */
static void find_own(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    for (size_t i = 0; i < ld->n_writes && !ld->nomem; i++) {
        const struct mortise_path *path = ld->writes[i].path;

        if (path->n > 1 && mortise_graph_is_own(g, path))
            add_own_inside(ld, ld->body[ld->writes[i].node],
                           path->steps[1].key);
    }
    for (uint32_t i = 0; i < g->n_nodes && !ld->nomem; i++) {
        const char *as = g->nodes[i].output_as;

        if (as != NULL && has_own(ld, as))
            add_own_inside(ld, ld->body[i], as);
    }
}

static void load_own(struct mortise_loader *ld)
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
    find_own(ld);
    for (uint32_t i = 1; i <= ld->n_maps && !ld->nomem; i++)
        ld->states_in[i] = state_schema(ld, ld->artifacts_in[i]);
}

/* The element of a map, at its level. */
static void name_item(struct mortise_loader *ld, uint32_t map)
{
    const struct mortise_region *r = &ld->g->regions[map];

    ld->names[MORTISE_IN_ITEM + r->level] =
        (struct mortise_cel_name){r->as, ld->item_of[map]};
}

/* Where an edge is missing, a map's body may be cut off from its map: any
 * map's name will do then, as far as there is room. */
static void name_any_items(struct mortise_loader *ld)
{
    int at = MORTISE_IN_ITEM;

    for (uint32_t i = 1; i <= ld->n_maps && at < MORTISE_IN_ITEM_END; i++)
        ld->names[at++] = (struct mortise_cel_name){ld->g->regions[i].as, NULL};
    ld->names[MORTISE_IN_INDEX].name = "index";
}

/* So may be those of maps that could not be made. */
static void name_lost_items(struct mortise_loader *ld)
{
    const struct mortise_named *lost = ld->lost_items;

    for (int i = MORTISE_IN_ITEM; lost != NULL && i < MORTISE_IN_ITEM_END;
         i++) {
        if (ld->names[i].name[0] != '\0')
            continue;
        ld->names[i] = (struct mortise_cel_name){lost->name, NULL};
        ld->names[MORTISE_IN_INDEX].name = "index";
        lost = lost->next;
    }
}

/* What was looked up for the node before it runs. */
static void name_lookups(struct mortise_loader *ld, uint32_t node)
{
    const struct mortise_node *n =
        node != MORTISE_START ? &ld->g->nodes[node] : NULL;

    ld->names[MORTISE_IN_MEMORY].name =
        n != NULL && n->memory != NULL && n->memory->reads ? "memory" : "";
    ld->names[MORTISE_IN_DISCOVERY].name =
        n != NULL && n->discovers != NULL ? "discovery" : "";
}

/* An element that is called so comes before what was found. */
static void hide_lookups(struct mortise_loader *ld)
{
    for (int i = MORTISE_IN_ITEM; i < MORTISE_IN_ITEM_END; i++)
        if (strcmp(ld->names[i].name, "discovery") == 0)
            ld->names[MORTISE_IN_DISCOVERY].name = "";
}

void mortise_load_stand_at(struct mortise_loader *ld, uint32_t node)
{
    uint32_t map = node != MORTISE_START ? ld->body[node] : 0;

    ld->stands_at = node;
    ld->names[MORTISE_IN_OUTPUT].schema =
        node != MORTISE_START ? ld->output_of[node] : NULL;
    /* Where an edge is missing, it may be the one that leads there. */
    ld->names[MORTISE_IN_HANDLED].name =
        node != MORTISE_START && (ld->handles[node] || ld->doubtful) ? "error"
                                                                     : "";
    name_lookups(ld, node);
    ld->names[MORTISE_IN_ARTIFACTS].schema = ld->artifacts_in[map];
    ld->names[MORTISE_IN_STATE].schema = ld->states_in[map];
    ld->names[MORTISE_IN_INDEX].name = map != 0 ? "index" : "";
    for (int i = MORTISE_IN_ITEM; i < MORTISE_IN_ITEM_END; i++)
        ld->names[i] = (struct mortise_cel_name){"", NULL};
    if (map == 0 && ld->n_maps > 0 && ld->doubtful)
        name_any_items(ld);
    for (; map != 0; map = ld->g->regions[map].parent)
        name_item(ld, map);
    name_lost_items(ld);
    hide_lookups(ld);
}

/* What one element of a list is, where the list is a path into what has a
 * schema; NULL: anything. */
static const struct mortise_schema *item_schema(struct mortise_loader *ld,
                                                const struct mortise_cel *over)
{
    const char *text = over != NULL ? mortise_cel_as_path(over) : NULL;
    const struct mortise_schema *s = NULL;
    struct mortise_path path;

    if (text == NULL)
        return NULL;
    if (mortise_path_parse(&path, ld->arena, text, strlen(text), NULL) !=
        MORTISE_OK)
        return NULL; /* a key that paths have no form for, or no memory: said
                        when the map is used */
    for (int i = 0; i < MORTISE_IN_N; i++)
        if (strcmp(ld->names[i].name, path.steps[0].key) == 0)
            s = ld->names[i].schema;
    s = mortise_load_schema_below(s, &path);
    return s != NULL ? mortise_schema_items(s) : NULL;
}

/* How far the condition of an edge sees, and what a map goes over. */
static enum mortise_scope_name end_of(const struct mortise_graph *g,
                                      uint32_t from)
{
    if (from == MORTISE_START)
        return MORTISE_IN_NODE;
    return mortise_node_gives(&g->nodes[from]) == MORTISE_GIVES_ROUTE
               ? MORTISE_IN_OUTPUT
               : MORTISE_IN_ERROR;
}

static void load_over(struct mortise_loader *ld, uint32_t map)
{
    struct mortise_region *r = &ld->g->regions[map];
    uint32_t from = ld->g->edges[r->map_edge].from;
    const struct mortise_late late = {.into = &r->parallel,
                                      .at =
                                          ld->edges[r->map_edge].map->parallel,
                                      .node = from,
                                      .end = end_of(ld->g, from)};

    mortise_load_stand_at(ld, from);
    mortise_load_expr(ld, &r->over, ld->edges[r->map_edge].map->over, late.end);
    mortise_load_takes(ld, &r->over, MORTISE_T_ARRAY, "'over' must be a list");
    ld->item_of[map] = item_schema(ld, r->over.cel);
    if (late.at != NULL)
        mortise_load_late_tmpl(ld, &late);
}

/* Outer maps first: inner ones may go over parts of their elements. */
static void load_overs(struct mortise_loader *ld)
{
    ld->item_of =
        mortise_load_alloc(ld, (ld->n_maps + 1) * sizeof *ld->item_of);
    for (uint32_t level = 0; level < MORTISE_MAX_MAPS; level++)
        for (uint32_t i = 1; i <= ld->n_maps && !ld->nomem; i++)
            if (ld->g->regions[i].level == level)
                load_over(ld, i);
}

void mortise_load_expressions(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    name_guardrails(ld);
    find_handlers(ld);
    load_own(ld);
    if (!ld->nomem)
        load_overs(ld);
    for (size_t i = 0; i < ld->n_late && !ld->nomem; i++) {
        mortise_load_stand_at(ld, ld->late[i].node);
        ld->late[i].fn(ld, &ld->late[i]);
    }
    for (size_t i = 0; i < ld->n_edges && !ld->nomem; i++) {
        if (ld->edges[i].when == NULL)
            continue;
        mortise_load_stand_at(ld, g->edges[i].from);
        load_test(ld, &g->edges[i].when, ld->edges[i].when,
                  end_of(g, g->edges[i].from));
    }
}
