/* casefits.c -- does what a Test file scripts and expects fit its graph?
 *
 * A script stands for an operation, so what it gives is what that might give: an
 * output that the schema of the operation, or of the node, refuses fails the
 * node.  An expected member of the state that no node writes and no schema lists
 * is never there.  Both may be meant (a plugin that is broken, an update of a
 * script), so they are warnings; mostly a name is misspelt, or was changed in the
 * graph.  So is what a person says that the question's schema refuses, or the
 * call's.
 */
#include <stdio.h>
#include <string.h>

#include "testkit/cases/casefile.h"
#include "lang/graph/kinds/human.h"

/* ---- outputs that are scripted --------------------------------------------- */

static int check_output(const struct mortise_schema *s, const char *whose,
                        const struct mortise_yaml *output,
                        struct mortise_diags *diags, bool *refused)
{
    json_t *v = output != NULL ? mortise_yaml_json(output, false) : NULL;
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
            diags, "W0904", mortise_yaml_meant(output, err.msg)->span,
            "the schema of '%s' rejects this output: %s", whose, err.msg);
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

static int check_answers(const struct mortise_schema *s,
                         const struct mortise_case_script *script,
                         struct mortise_diags *diags, bool *refused)
{
    int rv = MORTISE_OK;

    *refused = false;
    for (size_t i = 0; rv == MORTISE_OK && s != NULL && i < script->n; i++) {
        bool one = false;

        rv = check_output(s, script->name->str, script->list[i].answer.output,
                          diags, &one);
        *refused |= one;
    }
    return rv;
}

int mortise_case_fits_node(const struct mortise_node *n,
                           const struct mortise_case_script *script,
                           struct mortise_diags *diags)
{
    bool refused = false;
    int rv = MORTISE_OK;

    if (n->op != NULL)
        rv = check_answers(n->op->output, script, diags, &refused);
    if (rv == MORTISE_OK && !refused)
        rv = check_answers(n->output_schema, script, diags, &refused);
    return rv;
}

int mortise_case_fits_operation(const struct mortise_operation *op,
                                const struct mortise_case_script *script,
                                struct mortise_diags *diags)
{
    bool refused;

    return check_answers(op->output, script, diags, &refused);
}

/* ---- what people say ------------------------------------------------------- */

static int check_said(const struct mortise_schema *s, const char *whose,
                      const struct mortise_yaml *said,
                      struct mortise_diags *diags)
{
    json_t *v = said != NULL ? mortise_yaml_json(said, false) : NULL;
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
                         mortise_yaml_meant(said, err.msg)->span,
                         "the answer to '%s' is invalid: %s", whose, err.msg);
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

int mortise_case_fits_person(const struct mortise_node *n,
                             const struct mortise_case_script *script,
                             struct mortise_diags *diags)
{
    const struct mortise_human *human =
        n->type == MORTISE_NODE_HUMAN ? n->own : NULL;
    bool calls = n->type == MORTISE_NODE_TOOL && n->op != NULL;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < script->n; i++) {
        const struct mortise_case_deeds *d = &script->list[i].deeds;

        if (human != NULL && d->deed != MORTISE_CASE_REJECT)
            rv = check_said(human->answer_schema, script->name->str, d->answer,
                            diags);
        if (rv == MORTISE_OK && calls)
            rv = check_said(n->op->input, script->name->str, d->args, diags);
    }
    return rv;
}

/* ---- the state that is expected ---------------------------------------------- */

/* A name is looked for, and the one that it is most like. */
struct seeker {
    const char *name, *near;
    bool found;
};

static void meet(struct seeker *k, const char *name)
{
    const char *two[2] = {k->near, name};

    if (name == NULL)
        return;
    k->found |= strcmp(k->name, name) == 0;
    k->near = mortise_nearest(k->name, two, 2);
}

/* Is the path, which the node writes, an element's own?  The run never shows
 * it. */
static bool is_own(const struct mortise_graph *g, const struct mortise_node *n,
                   const struct mortise_path *path)
{
    return mortise_graph_map_of(g, n->index) != 0 &&
           mortise_graph_is_own(g, path);
}

static void meet_lines(struct seeker *k, const struct mortise_graph *g,
                       const struct mortise_node *node, const char *root)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct mortise_path *path = &node->outputs[i].path;

        if (strcmp(path->steps[0].key, root) == 0 && !is_own(g, node, path))
            meet(k, path->steps[1].key);
    }
    for (size_t i = 0; i < node->n_output_mapping; i++) {
        const struct mortise_path *path = &node->output_mapping[i].path;

        if (strcmp(path->steps[0].key, root) == 0 && !is_own(g, node, path))
            meet(k, path->steps[1].key);
    }
}

/* The artifact that the node's output is, for all to see, or NULL. */
static const char *artifact_of(const struct mortise_graph *g,
                               const struct mortise_node *n)
{
    struct mortise_path_step steps[] = {{"artifacts", 0}, {n->output_as, 0}};
    const struct mortise_path path = {steps, 2, ""};

    return n->output_as != NULL && !is_own(g, n, &path) ? n->output_as : NULL;
}

/* The artifact that a map's results are, for all to see, or NULL. */
static const char *results_of(const struct mortise_graph *g,
                              const struct mortise_region *map)
{
    const char *name = g->nodes[map->entry].id;
    struct mortise_path_step steps[] = {{"artifacts", 0}, {name, 0}};
    const struct mortise_path path = {steps, 2, ""};

    return is_own(g, &g->nodes[map->join], &path) ? NULL : name;
}

/* All that the graph writes below the root, directly. */
static void meet_writes(struct seeker *k, const struct mortise_graph *g,
                        const char *root)
{
    bool artifacts = root[0] == 'a';

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (artifacts)
            meet(k, artifact_of(g, n));
        meet_lines(k, g, n, root);
    }
    for (uint32_t i = 0; artifacts && i < g->n_regions; i++)
        if (g->regions[i].kind == MORTISE_REGION_MAP)
            meet(k, results_of(g, &g->regions[i]));
}

static void check_member(const struct mortise_graph *g, const char *root,
                         const struct mortise_schema *s,
                         const struct mortise_yaml *key,
                         struct mortise_diags *diags)
{
    struct seeker k = {.name = key->str};
    struct mortise_schema_seen seen = {.listed = false};
    struct mortise_diag *d;

    meet_writes(&k, g, root);
    if (s != NULL)
        mortise_schema_look(s, key->str, &seen);
    if (k.found || seen.listed || seen.open)
        return;
    if (k.near == NULL)
        k.near = seen.near;
    d = mortise_diag_add(diags, "W0905", key->span,
                         "no node of the graph writes %s.%s", root, key->str);
    if (k.near != NULL)
        mortise_diag_help(diags, d, "did you mean '%s'?", k.near);
}

/* What is expected of an artifact that is a node's output, by its schema. */
static void check_value(const struct mortise_schema *s,
                        const struct mortise_yaml *value, const char *of,
                        struct mortise_diags *diags)
{
    for (size_t i = 0; value->kind == MORTISE_YAML_MAP && i < value->n; i++) {
        const struct mortise_yaml *key = value->keys[i];
        struct mortise_schema_seen seen;
        struct mortise_diag *d;

        mortise_schema_look(s, key->str, &seen);
        if (seen.listed || !(seen.never || seen.others || seen.slip))
            continue;
        d = mortise_diag_add(diags, "W0905", key->span,
                             "the schema of '%s' does not list '%s'", of,
                             key->str);
        if (seen.near != NULL)
            mortise_diag_help(diags, d, "did you mean '%s'?", seen.near);
    }
}

/* The one node whose output it is, or NULL. */
static const struct mortise_node *maker_of(const struct mortise_graph *g,
                                           const char *artifact)
{
    const struct mortise_node *maker = NULL;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];
        struct seeker k = {.name = artifact};

        meet_lines(&k, g, n, "artifacts");
        if (k.found)
            return NULL;
        if (artifact_of(g, n) == NULL || strcmp(n->output_as, artifact) != 0)
            continue;
        if (maker != NULL || n->on_error_value)
            return NULL;
        maker = n;
    }
    return maker;
}

static void check_artifact(const struct mortise_graph *g,
                           const struct mortise_yaml *key,
                           const struct mortise_yaml *value,
                           struct mortise_diags *diags)
{
    const struct mortise_node *n = maker_of(g, key->str);
    const struct mortise_schema *s = n != NULL ? n->output_schema : NULL;

    if (s == NULL && n != NULL && n->op != NULL)
        s = n->op->output;
    if (s != NULL)
        check_value(s, value, key->str, diags);
}

void mortise_case_fits_state(const struct mortise_graph *g,
                             const struct mortise_case_expect *e,
                             struct mortise_diags *diags)
{
    for (size_t i = 0; e->scratch != NULL && i < e->scratch->n; i++)
        check_member(g, "scratch", g->scratch, e->scratch->keys[i], diags);
    for (size_t i = 0; e->artifacts != NULL && i < e->artifacts->n; i++) {
        check_member(g, "artifacts", g->artifacts, e->artifacts->keys[i],
                     diags);
        check_artifact(g, e->artifacts->keys[i], e->artifacts->items[i], diags);
    }
}
