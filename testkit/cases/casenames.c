/* casenames.c -- check that all names in a Test file exist in its graph.
 *
 * A script for a missing node is never used, and an expectation about it never
 * holds.  A rename leaves such names behind, so they are findings before any
 * case runs.
 *
 * A node of a nested graph is named by its path, `review/inner`, and so is a
 * tool, by the name that models see: `work/text__grep`.  The name of an
 * execution may also have a visit or a map element (`poll#2`, `read[0]`).
 */
#include <stdio.h>
#include <string.h>

#include <mortise/memory.h>

#include "testkit/cases/casefile.h"
#include "core/engine/runs/call.h" /* MORTISE_NODE_ID_MAX */

/* ---- nodes --------------------------------------------------------------- */

/* The nested graph of a node, or the graph of its tools. */
static const struct mortise_graph *
get_nested_graph(const struct mortise_node *n)
{
    return n->sub != NULL ? n->sub : n->tools;
}

static const struct mortise_node *find_node_by_id(const struct mortise_graph *g,
                                                  const char *id)
{
    for (uint32_t i = 0; g != NULL && i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].id, id) == 0)
            return &g->nodes[i];
    return NULL;
}

/* The node at a path.  NULL: *near is the graph that has no node of the name
 * in `lost`. */
static const struct mortise_node *
find_node_at_path(const struct mortise_graph *g, const char *path,
                  const struct mortise_graph **near,
                  char lost[MORTISE_NODE_ID_MAX + 1])
{
    const struct mortise_node *n = NULL;

    for (const char *p = path;;) {
        size_t name = strcspn(p, "/#["), all = strcspn(p, "/");

        snprintf(lost, MORTISE_NODE_ID_MAX + 1, "%.*s", (int)name, p);
        *near = g;
        n = name <= MORTISE_NODE_ID_MAX ? find_node_by_id(g, lost) : NULL;
        if (n == NULL || p[all] == '\0')
            return n;
        g = get_nested_graph(n);
        p += all + 1;
    }
}

static const char *find_nearest_node(const struct mortise_graph *g,
                                     const char *name)
{
    const char *two[2] = {NULL, NULL};

    for (uint32_t i = 0; g != NULL && i < g->n_nodes; i++) {
        two[1] = g->nodes[i].id;
        two[0] = mortise_nearest_find(name, two, 2);
    }
    return two[0];
}

/* List the first names of nodes or tools. */
static void format_node_names(const struct mortise_graph *g, char *out,
                              size_t cap)
{
    size_t n = 0;
    uint32_t i;

    out[0] = '\0';
    for (i = 0; i < g->n_nodes && n + 80 < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "%s%.64s", i > 0 ? ", " : "",
                              g->nodes[i].id);
    if (i < g->n_nodes)
        snprintf(out + n, cap - n, " and others");
}

/* The node at that path; NULL after a finding. */
static const struct mortise_node *require_node(const struct mortise_graph *g,
                                               const struct mortise_yaml *at,
                                               struct mortise_diags *diags)
{
    char lost[MORTISE_NODE_ID_MAX + 1];
    const struct mortise_graph *where;
    const struct mortise_node *n = find_node_at_path(g, at->str, &where, lost);
    struct mortise_diag *d;
    const char *near;
    char names[400];

    if (n != NULL)
        return n;
    near = find_nearest_node(where, lost);
    d = mortise_diag_add(diags, "E0301", at->span, "the graph has no node '%s'",
                         at->str);
    if (near != NULL) {
        mortise_diag_help(diags, d, "did you mean '%s'?", near);
    } else if (where != NULL) {
        format_node_names(where, names, sizeof names);
        mortise_diag_help(diags, d,
                          where->offers != NULL
                              ? "use the name of the tool that models see: %s"
                              : "the names are: %s",
                          names);
    }
    return NULL;
}

static void check_node_names(const struct mortise_graph *g,
                             const struct mortise_yaml *list,
                             struct mortise_diags *diags)
{
    for (size_t i = 0; list != NULL && i < list->n; i++)
        require_node(g, list->items[i], diags);
}

/* ---- operations and plugins -------------------------------------------- */

typedef bool fits_fn(const struct mortise_node *n, const char *name);

static bool is_operation_named(const char *plugin, const char *operation,
                               const char *name)
{
    size_t len = plugin != NULL ? strlen(plugin) : 0;

    return plugin != NULL && strncmp(name, plugin, len) == 0 &&
           name[len] == '/' && strcmp(name + len + 1, operation) == 0;
}

static bool is_aside_operation(const struct mortise_side_operation *a,
                               const char *name)
{
    return a != NULL && is_operation_named(a->plugin, a->operation, name);
}

/* Does the node call it, or use it as judge or for compaction? */
static bool calls_operation(const struct mortise_node *n, const char *name)
{
    return is_operation_named(n->plugin, n->operation, name) ||
           is_aside_operation(n->judge, name) ||
           is_aside_operation(n->compaction, name);
}

static bool is_aside_of_plugin(const struct mortise_side_operation *a,
                               const char *plugin)
{
    return a != NULL && a->plugin != NULL && strcmp(a->plugin, plugin) == 0;
}

static bool uses_plugin(const struct mortise_node *n, const char *name)
{
    return (n->plugin != NULL && strcmp(n->plugin, name) == 0) ||
           is_aside_of_plugin(n->judge, name) ||
           is_aside_of_plugin(n->compaction, name) ||
           mortise_node_is_guarded(n, name);
}

/* Does any node match, including choices, nested graphs and tools? */
static bool any_node(const struct mortise_graph *g, fits_fn *fits,
                     const char *name)
{
    for (uint32_t i = 0; g != NULL && i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        for (size_t k = 0; k < n->n_choices; k++)
            if (fits(&n->choices[k], name))
                return true;
        if (fits(n, name) || any_node(n->sub, fits, name) ||
            any_node(n->tools, fits, name))
            return true;
    }
    return false;
}

static void check_script_names(const struct mortise_graph *g,
                               const struct mortise_case_scripts *s,
                               fits_fn *fits, const char *code,
                               const char *what, struct mortise_diags *diags)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct mortise_yaml *name = s->list[i].name;
        struct mortise_diag *d;

        if (any_node(g, fits, name->str))
            continue;
        d = mortise_diag_add(diags, code, name->span,
                             "no node of the graph %s '%s'", what, name->str);
        mortise_diag_help(diags, d, "the test file names the graph '%s'",
                          g->path);
    }
}

static bool has_node_id(const struct mortise_node *n, const char *name)
{
    return strcmp(n->id, name) == 0;
}

/* Memory would not accept a longer text. */
static void check_memory_texts(const struct mortise_yaml *list,
                               struct mortise_diags *diags)
{
    for (size_t i = 0; list != NULL && i < list->n; i++)
        if (list->items[i]->len > MORTISE_MEMORY_CONTENT)
            mortise_diag_add(
                diags, "E0208", list->items[i]->span,
                "a text of 'memory' has at most %d bytes; this one has %zu",
                MORTISE_MEMORY_CONTENT, list->items[i]->len);
}

static void check_not_repeated(const struct mortise_yaml *list, size_t i,
                               struct mortise_diags *diags)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(list->items[k]->str, list->items[i]->str) == 0) {
            mortise_diag_add(diags, "E0214", list->items[i]->span,
                             "'%s' is already in 'discovery'",
                             list->items[i]->str);
            return;
        }
}

/* Discovery finds tools that a node offers and nodes, each at most once. */
static void check_discovery_names(const struct mortise_graph *g,
                                  const struct mortise_yaml *list,
                                  struct mortise_diags *diags)
{
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        const struct mortise_yaml *name = list->items[i];

        if (!any_node(g, calls_operation, name->str) &&
            !any_node(g, has_node_id, name->str))
            mortise_diag_add(
                diags, "E0301", name->span,
                "the graph has no tool or node '%s' that discovery can find",
                name->str);
        else
            check_not_repeated(list, i, diags);
    }
}

/* People, routers and nested graphs get no answer of a plugin. */
static void check_node_scripts(const struct mortise_graph *g,
                               const struct mortise_case_scripts *s,
                               struct mortise_diags *diags)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct mortise_yaml *name = s->list[i].name;
        const struct mortise_node *n = require_node(g, name, diags);
        struct mortise_diag *d;

        if (n == NULL || n->plugin != NULL || n->judge != NULL)
            continue;
        d = mortise_diag_add(diags, "E0212", name->span,
                             "'%s' is a %s node, which calls no operation",
                             name->str, mortise_node_type_name(n->type));
        mortise_diag_help(
            diags, d,
            mortise_node_gives(n) == MORTISE_GIVES_DECISION
                ? "move this to 'people': a person answers the node"
            : n->guards[MORTISE_GUARD_TARGET].n > 0
                ? "put the verdicts of its guardrails under 'guardrails'"
                : "only tools and nodes of type tool, extension and gmi call "
                  "operations");
    }
}

static bool is_model_provider(const struct mortise_models *models,
                              const char *plugin)
{
    for (size_t i = 0; i < models->n; i++)
        if (strcmp(models->list[i].provider, plugin) == 0)
            return true;
    return false;
}

static void check_real_names(const struct mortise_graph *g,
                             const struct mortise_models *models,
                             const struct mortise_yaml *real,
                             struct mortise_diags *diags)
{
    for (size_t i = 0; real != NULL && i < real->n; i++) {
        const char *name = real->items[i]->str;
        struct mortise_diag *d;

        if (any_node(g, uses_plugin, name) || is_model_provider(models, name))
            continue;
        d = mortise_diag_add(diags, "E0501", real->items[i]->span,
                             "no node of the graph uses the plugin '%s'", name);
        mortise_diag_help(
            diags, d,
            "'real' accepts plugins of the graph's operations and tools, ids "
            "of its guardrails, and providers of the deployment's models");
    }
}

static bool asks_models(const struct mortise_node *n, const char *name)
{
    return (n->op != NULL && n->op->asks_models && uses_plugin(n, name)) ||
           is_aside_of_plugin(n->judge, name);
}

static bool is_listed_as_real(const struct mortise_yaml *real, const char *name)
{
    for (size_t i = 0; i < real->n; i++)
        if (strcmp(real->items[i]->str, name) == 0)
            return true;
    return false;
}

/* A plugin that really runs would really call the model: its provider must be
 * `scripted` or listed in `real`. */
static void check_real_model(const struct mortise_model_alias *m,
                             const struct mortise_yaml *real,
                             const struct mortise_yaml *by,
                             struct mortise_diags *diags)
{
    if (strcmp(m->provider, "scripted") == 0 ||
        is_listed_as_real(real, m->provider))
        return;
    mortise_diag_help(
        diags,
        mortise_diag_add(
            diags, "E0903", by->span,
            "'%s' would call the model '%s' through the plugin %s, "
            "but the key 'real' does not list this plugin",
            by->str, m->alias, m->provider),
        "add '%s' to 'real', or use a deployment whose models are scripted",
        m->provider);
}

static void check_real_alias(const struct mortise_models *models,
                             const char *alias, const struct mortise_yaml *real,
                             const struct mortise_yaml *by,
                             struct mortise_diags *diags)
{
    const struct mortise_model_alias *m = mortise_model_find(models, alias);
    const struct mortise_model_alias *behind[MORTISE_N_TIERS];
    size_t n = m != NULL ? mortise_models_list_targets(models, m, behind) : 0;

    for (size_t i = 0; i < n; i++)
        check_real_model(behind[i], real, by, diags);
}

static void check_real_models(const struct mortise_graph *g,
                              const struct mortise_models *models,
                              const struct mortise_yaml *real,
                              struct mortise_diags *diags)
{
    for (size_t i = 0; real != NULL && i < real->n; i++) {
        if (!any_node(g, asks_models, real->items[i]->str))
            continue;
        for (size_t k = 0; k < g->n_models; k++)
            check_real_alias(models, g->models[k], real, real->items[i], diags);
    }
}

/* ---- input --------------------------------------------------------------- */

static int check_case_input(const struct mortise_graph *g,
                            const struct mortise_case *c,
                            struct mortise_diags *diags)
{
    struct mortise_span at = c->input != NULL ? c->input->span : c->name->span;
    struct mortise_err err;
    json_t *v;
    int rv;

    if (g->input == NULL)
        return MORTISE_OK;
    v = c->input != NULL ? mortise_yaml_to_json(c->input, false)
                         : json_object();
    if (v == NULL)
        return MORTISE_ENOMEM;
    rv = mortise_schema_check(g->input, v, &err);
    json_decref(v);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK)
        mortise_diag_add(diags, "E0901", at, "the graph rejects this input: %s",
                         err.msg);
    return MORTISE_OK;
}

/* ---- scripts and schemas ----------------------------------------------- */

/* The operation with that name that a node calls, or NULL. */
static const struct mortise_operation *
find_called_operation(const struct mortise_graph *g, const char *name)
{
    const struct mortise_operation *op = NULL;

    for (uint32_t i = 0; g != NULL && i < g->n_nodes && op == NULL; i++) {
        const struct mortise_node *n = &g->nodes[i];

        for (size_t k = 0; k < n->n_choices; k++)
            if (is_operation_named(n->choices[k].plugin,
                                   n->choices[k].operation, name))
                op = n->choices[k].op;
        if (is_operation_named(n->plugin, n->operation, name))
            op = n->op;
        else if (is_aside_operation(n->judge, name))
            op = n->judge->op;
        else if (is_aside_operation(n->compaction, name))
            op = n->compaction->op;
        if (op == NULL)
            op = find_called_operation(n->sub, name);
        if (op == NULL)
            op = find_called_operation(n->tools, name);
    }
    return op;
}

/* If a plan needs approval, START asks for it. */
static bool is_plan_approval(const struct mortise_graph *g,
                             const struct mortise_yaml *name)
{
    return g->approve_plan && strcmp(name->str, "START") == 0;
}

static int check_people_scripts(const struct mortise_graph *g,
                                const struct mortise_case_scripts *people,
                                struct mortise_diags *diags)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < people->n; i++) {
        const struct mortise_yaml *name = people->list[i].name;
        const struct mortise_node *n =
            is_plan_approval(g, name) ? NULL : require_node(g, name, diags);

        if (n != NULL)
            rv = mortise_case_check_person(n, &people->list[i], diags);
    }
    return rv;
}

static int check_answer_scripts(const struct mortise_graph *g,
                                const struct mortise_case *c,
                                struct mortise_diags *diags)
{
    char lost[MORTISE_NODE_ID_MAX + 1];
    const struct mortise_graph *where;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < c->operations.n; i++) {
        const struct mortise_operation *op =
            find_called_operation(g, c->operations.list[i].name->str);

        if (op != NULL)
            rv =
                mortise_case_check_operation(op, &c->operations.list[i], diags);
    }
    for (size_t i = 0; rv == MORTISE_OK && i < c->nodes.n; i++) {
        const struct mortise_node *n =
            find_node_at_path(g, c->nodes.list[i].name->str, &where, lost);

        if (n != NULL)
            rv = mortise_case_check_node(n, &c->nodes.list[i], diags);
    }
    return rv;
}

/* Check the nodes of expected events. */
static void check_event_nodes(const struct mortise_graph *g,
                              const struct mortise_yaml *events,
                              struct mortise_diags *diags)
{
    for (size_t i = 0; events != NULL && i < events->n; i++) {
        const struct mortise_yaml *node =
            mortise_yaml_get(events->items[i], "node");

        if (node != NULL && node->kind == MORTISE_YAML_STRING)
            require_node(g, node, diags);
    }
}

static int check_case(const struct mortise_graph *g,
                      const struct mortise_models *models,
                      const struct mortise_case *c, struct mortise_diags *diags)
{
    int rv = check_answer_scripts(g, c, diags);

    if (rv == MORTISE_OK)
        rv = check_people_scripts(g, &c->people, diags);
    check_event_nodes(g, c->expect.events, diags);
    mortise_case_check_state(g, &c->expect, diags);
    if (rv != MORTISE_OK)
        return rv;
    check_script_names(g, &c->operations, calls_operation, "E0501", "calls",
                       diags);
    check_script_names(g, &c->guardrails, mortise_node_is_guarded, "E0502",
                       "has the guardrail", diags);
    check_node_scripts(g, &c->nodes, diags);
    check_memory_texts(c->memory, diags);
    check_discovery_names(g, c->discovery, diags);
    check_real_names(g, models, c->real, diags);
    check_real_models(g, models, c->real, diags);
    check_node_names(g, c->expect.path, diags);
    check_node_names(g, c->expect.contains, diags);
    check_node_names(g, c->expect.lacks, diags);
    for (size_t i = 0; c->expect.parallel != NULL && i < c->expect.parallel->n;
         i++)
        require_node(g, c->expect.parallel->keys[i], diags);
    return check_case_input(g, c, diags);
}

int mortise_casefile_check(const struct mortise_casefile *f,
                           const struct mortise_graph *g,
                           const struct mortise_models *models,
                           struct mortise_diags *diags)
{
    size_t errors = diags->n_errors;
    int rv = MORTISE_OK;

    for (size_t i = 0; i < f->n_cases && rv == MORTISE_OK; i++)
        rv = check_case(g, models, &f->cases[i], diags);
    if (rv == MORTISE_OK && diags->failed)
        rv = MORTISE_ENOMEM;
    return rv != MORTISE_OK           ? rv
           : diags->n_errors > errors ? MORTISE_ECHECK
                                      : MORTISE_OK;
}
