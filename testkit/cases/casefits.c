/* casefits.c -- check scripts and expectations against the graph's schemas.
 *
 * A script stands for an operation, so its output must fit the schema of the
 * operation or the node, or the node would fail.  An expected member of the
 * state that no node writes and no schema lists never exists.  A person's
 * answer must fit the schema of the request or the call.  All of these may be
 * intended (a broken plugin, an update by a script), so they are warnings.
 * Mostly a name is misspelt, or was changed in the graph.
 */
#include <stdio.h>
#include <string.h>

#include "testkit/cases/casefile.h"
#include "core/model/human.h"
#include "lang/schema/schema.h"

/* ---- scripted outputs -------------------------------------------------- */

static int check_scripted_output(const struct mortise_schema *s,
                                 const char *whose,
                                 const struct mortise_yaml *output,
                                 struct mortise_diags *diags, bool *refused)
{
    json_t *v = output != NULL ? mortise_yaml_to_json(output, false) : NULL;
    struct mortise_err err;
    int rv;

    if (output == NULL)
        return MORTISE_OK;
    if (v == NULL)
        return MORTISE_ENOMEM;
    rv = mortise_schema_check(s, v, &err);
    json_decref(v);
    *refused = rv == MORTISE_EINVAL;
    if (*refused)
        mortise_diag_add(
            diags, "W0904", mortise_yaml_find_at_message(output, err.msg)->span,
            "the schema of '%s' rejects this output: %s", whose, err.msg);
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

static int check_scripted_outputs(const struct mortise_schema *s,
                                  const struct mortise_case_script *script,
                                  struct mortise_diags *diags, bool *refused)
{
    int rv = MORTISE_OK;

    *refused = false;
    for (size_t i = 0; rv == MORTISE_OK && s != NULL && i < script->n; i++) {
        bool one = false;

        rv = check_scripted_output(s, script->name->str,
                                   script->list[i].answer.output, diags, &one);
        *refused |= one;
    }
    return rv;
}

int mortise_case_check_node(const struct mortise_node *n,
                            const struct mortise_case_script *script,
                            struct mortise_diags *diags)
{
    bool refused = false;
    int rv = MORTISE_OK;

    if (n->op != NULL)
        rv = check_scripted_outputs(n->op->output, script, diags, &refused);
    if (rv == MORTISE_OK && !refused)
        rv = check_scripted_outputs(n->output_schema, script, diags, &refused);
    return rv;
}

int mortise_case_check_operation(const struct mortise_operation *op,
                                 const struct mortise_case_script *script,
                                 struct mortise_diags *diags)
{
    bool refused;

    return check_scripted_outputs(op->output, script, diags, &refused);
}

/* ---- answers of people ------------------------------------------------- */

static int check_person_value(const struct mortise_schema *s, const char *whose,
                              const struct mortise_yaml *said,
                              struct mortise_diags *diags)
{
    json_t *v = said != NULL ? mortise_yaml_to_json(said, false) : NULL;
    struct mortise_err err;
    int rv;

    if (said == NULL || s == NULL) {
        json_decref(v);
        return MORTISE_OK;
    }
    if (v == NULL)
        return MORTISE_ENOMEM;
    rv = mortise_schema_check(s, v, &err);
    json_decref(v);
    if (rv == MORTISE_EINVAL)
        mortise_diag_add(diags, "W0904",
                         mortise_yaml_find_at_message(said, err.msg)->span,
                         "the answer to '%s' is invalid: %s", whose, err.msg);
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

int mortise_case_check_person(const struct mortise_node *n,
                              const struct mortise_case_script *script,
                              struct mortise_diags *diags)
{
    const struct mortise_human *human =
        n->type == MORTISE_NODE_HUMAN ? n->own : NULL;
    bool calls = n->type == MORTISE_NODE_TOOL && n->op != NULL;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < script->n; i++) {
        const struct mortise_case_person *d = &script->list[i].person_action;

        if (human != NULL && d->action_kind != MORTISE_CASE_REJECT)
            rv = check_person_value(human->answer_schema, script->name->str,
                                    d->answer, diags);
        if (rv == MORTISE_OK && calls)
            rv = check_person_value(n->op->input, script->name->str, d->args,
                                    diags);
    }
    return rv;
}

/* ---- expected state ---------------------------------------------------- */

/* The search for a name, and for the most similar one. */
struct name_search {
    const char *name, *near;
    bool found;
};

static void visit_name(struct name_search *k, const char *name)
{
    const char *two[2] = {k->near, name};

    if (name == NULL)
        return;
    k->found |= strcmp(k->name, name) == 0;
    k->near = mortise_nearest_find(k->name, two, 2);
}

/* Is this written path private to a map element?  Then the run's state never
 * has it. */
static bool is_element_private(const struct mortise_graph *g,
                               const struct mortise_node *n,
                               const struct mortise_path *path)
{
    return mortise_graph_find_map_around(g, n->index) != 0 &&
           mortise_graph_is_element_path(g, path);
}

static void visit_node_writes(struct name_search *k,
                              const struct mortise_graph *g,
                              const struct mortise_node *node, const char *root)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct mortise_path *path = &node->outputs[i].path;

        if (strcmp(path->steps[0].key, root) == 0 &&
            !is_element_private(g, node, path))
            visit_name(k, path->steps[1].key);
    }
    for (size_t i = 0; i < node->n_output_mapping; i++) {
        const struct mortise_path *path = &node->output_mapping[i].path;

        if (strcmp(path->steps[0].key, root) == 0 &&
            !is_element_private(g, node, path))
            visit_name(k, path->steps[1].key);
    }
}

/* The artifact that gets the node's output, if it is visible; or NULL. */
static const char *get_output_artifact(const struct mortise_graph *g,
                                       const struct mortise_node *n)
{
    struct mortise_path_step steps[] = {{"artifacts", 0}, {n->output_as, 0}};
    const struct mortise_path path = {steps, 2, ""};

    return n->output_as != NULL && !is_element_private(g, n, &path)
               ? n->output_as
               : NULL;
}

/* The artifact that gets a map's results, if it is visible; or NULL. */
static const char *get_map_artifact(const struct mortise_graph *g,
                                    const struct mortise_region *map)
{
    const char *name = g->nodes[map->entry].id;
    struct mortise_path_step steps[] = {{"artifacts", 0}, {name, 0}};
    const struct mortise_path path = {steps, 2, ""};

    return is_element_private(g, &g->nodes[map->join], &path) ? NULL : name;
}

/* Visit all names that the graph writes directly below the root. */
static void visit_graph_writes(struct name_search *k,
                               const struct mortise_graph *g, const char *root)
{
    bool artifacts = root[0] == 'a';

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (artifacts)
            visit_name(k, get_output_artifact(g, n));
        visit_node_writes(k, g, n, root);
    }
    for (uint32_t i = 0; artifacts && i < g->n_regions; i++)
        if (g->regions[i].kind == MORTISE_REGION_MAP)
            visit_name(k, get_map_artifact(g, &g->regions[i]));
}

static void check_state_member(const struct mortise_graph *g, const char *root,
                               const struct mortise_schema *s,
                               const struct mortise_yaml *key,
                               struct mortise_diags *diags)
{
    struct name_search k = {.name = key->str};
    struct mortise_schema_member_info seen = {.listed = false};
    struct mortise_diag *d;

    visit_graph_writes(&k, g, root);
    if (s != NULL)
        mortise_schema_find_member(s, key->str, &seen);
    if (k.found || seen.listed || seen.open)
        return;
    if (k.near == NULL)
        k.near = seen.near;
    d = mortise_diag_add(diags, "W0905", key->span,
                         "no node of the graph writes %s.%s", root, key->str);
    if (k.near != NULL)
        mortise_diag_help(diags, d, "did you mean '%s'?", k.near);
}

/* Check the expected members of an artifact that is a node's output against
 * its schema. */
static void check_artifact_members(const struct mortise_schema *s,
                                   const struct mortise_yaml *value,
                                   const char *of, struct mortise_diags *diags)
{
    for (size_t i = 0; value->kind == MORTISE_YAML_MAP && i < value->n; i++) {
        const struct mortise_yaml *key = value->keys[i];
        struct mortise_schema_member_info seen;
        struct mortise_diag *d;

        mortise_schema_find_member(s, key->str, &seen);
        if (seen.listed || !(seen.never || seen.others || seen.slip))
            continue;
        d = mortise_diag_add(diags, "W0905", key->span,
                             "the schema of '%s' does not list '%s'", of,
                             key->str);
        if (seen.near != NULL)
            mortise_diag_help(diags, d, "did you mean '%s'?", seen.near);
    }
}

/* The only node that produces this artifact, or NULL. */
static const struct mortise_node *
find_artifact_producer(const struct mortise_graph *g, const char *artifact)
{
    const struct mortise_node *maker = NULL;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];
        struct name_search k = {.name = artifact};

        visit_node_writes(&k, g, n, "artifacts");
        if (k.found)
            return NULL;
        if (get_output_artifact(g, n) == NULL ||
            strcmp(n->output_as, artifact) != 0)
            continue;
        if (maker != NULL || n->on_error_value)
            return NULL;
        maker = n;
    }
    return maker;
}

static void check_expected_artifact(const struct mortise_graph *g,
                                    const struct mortise_yaml *key,
                                    const struct mortise_yaml *value,
                                    struct mortise_diags *diags)
{
    const struct mortise_node *n = find_artifact_producer(g, key->str);
    const struct mortise_schema *s = n != NULL ? n->output_schema : NULL;

    if (s == NULL && n != NULL && n->op != NULL)
        s = n->op->output;
    if (s != NULL)
        check_artifact_members(s, value, key->str, diags);
}

void mortise_case_check_state(const struct mortise_graph *g,
                              const struct mortise_case_expect *e,
                              struct mortise_diags *diags)
{
    for (size_t i = 0; e->scratch != NULL && i < e->scratch->n; i++)
        check_state_member(g, "scratch", g->scratch, e->scratch->keys[i],
                           diags);
    for (size_t i = 0; e->artifacts != NULL && i < e->artifacts->n; i++) {
        check_state_member(g, "artifacts", g->artifacts, e->artifacts->keys[i],
                           diags);
        check_expected_artifact(g, e->artifacts->keys[i],
                                e->artifacts->items[i], diags);
    }
}
