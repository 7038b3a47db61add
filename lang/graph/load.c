/* load.c -- loading a graph from a file: the whole process.
 *
 * One pass reads all keys by their tables, a second links edges to nodes, then
 * the graph is checked as a whole (check.c, race.c).  The promises:
 *
 *   (1) A graph that loads runs as written.  There is no second, less strict
 *       reader: `mortise check` and the engine both call this function.
 *   (2) All findings of a file are reported at once, with their positions.  A
 *       consequence of another finding is not reported in addition.
 *   (3) Lack of memory is an error of its own, never a finding, and never
 *       results in an incomplete graph.
 *   (4) The time is linear in the size of the file (n log n for looking up
 *       names): 5,000 nodes are no problem.
 *   (5) The digest identifies the behaviour of the graph: it covers every key
 *       except the ignored ones (x-...).  Inside `args`, x- keys are data for
 *       the plugin, so the digest covers them.
 *   (6) A graph that a person approves as a plan has its YAML and its picture
 *       ready: the step function puts them into the request.
 */
#include "lang/graph/load.h"

#include <stdlib.h>
#include <string.h>

#include "lang/draw/picture.h"
#include "lang/graph/load/files.h"
#include "lang/graph/load/node.h"
#include "lang/yaml/write.h"

static int compare_name_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names, sorted and without duplicates. *n is their number, before with
 * duplicates, then without. */
static const char **make_unique_list(struct mortise_loader *ld,
                                     const struct mortise_shared_name *named,
                                     size_t *n)
{
    const char **names = mortise_load_alloc(ld, *n * sizeof *names);
    size_t all = 0, kept = 0;

    if (names == NULL || *n == 0)
        return NULL;
    for (; named != NULL; named = named->next)
        names[all++] = named->name;
    qsort(names, all, sizeof *names, compare_name_strings);
    for (size_t i = 1; i < all; i++)
        if (strcmp(names[kept], names[i]) != 0)
            names[++kept] = names[i];
    *n = kept + 1;
    return names;
}

static void list_used_plugins(struct mortise_loader *ld)
{
    ld->g->plugins = make_unique_list(ld, ld->plugins, &ld->g->n_plugins);
    ld->g->models = make_unique_list(ld, ld->models, &ld->g->n_models);
}

/* Check a graph after its keys were read: edges, expressions, and the whole. */
static void check_whole_graph(struct mortise_loader *ld)
{
    ld->doubtful = mortise_check_count_doubts(ld) > 0;
    if (!ld->doubtful)
        mortise_load_merge_edges(ld);
    if (!ld->nomem)
        mortise_load_link_out_edges(ld);
    if (!ld->nomem && !ld->doubtful) {
        mortise_check_personas(ld);
        mortise_check_capabilities(ld);
        mortise_check_consistency(ld);
    }
    if (!ld->nomem)
        mortise_load_bodies(ld);
    if (!ld->nomem)
        mortise_load_expressions(ld);
    if (!ld->nomem && !ld->doubtful && mortise_check_count_doubts(ld) == 0)
        mortise_check_names(ld);
    if (!ld->nomem)
        mortise_check_structure(ld);
    if (!ld->nomem && !mortise_load_is_pinned(ld) &&
        mortise_load_count_errors(ld) == 0)
        mortise_check_unfilled(ld);
    mortise_node_copy_choices(ld);
}

static void read_graph_file(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    g->version = "";
    mortise_load_limit_defaults(ld);
    mortise_load_persona_defaults(ld);
    ld->suggestions = 50;
    ld->defaults.retry = mortise_retry_default;
    mortise_load_file_keys(ld);
    if (!ld->nomem)
        check_whole_graph(ld);
    if (!ld->nomem)
        list_used_plugins(ld);
    if (!ld->nomem && mortise_load_count_errors(ld) == 0)
        mortise_load_digest(ld, g->content, g->tree);
    memcpy(g->digest, g->content, sizeof g->digest);
    if (!ld->nomem)
        mortise_load_sources(ld);
}

enum { PICTURE_COLUMNS = 100 };

static const char *take_text(struct mortise_loader *ld, struct mortise_buf *b)
{
    const char *text = b->failed ? NULL : mortise_buf_cstr(b);

    if (text != NULL)
        text = mortise_arena_strdup(ld->arena, text);
    ld->nomem |= text == NULL;
    mortise_buf_finish(b);
    return text;
}

static const char *print_plan_yaml(struct mortise_loader *ld,
                                   const struct mortise_graph *g)
{
    json_t *tree = mortise_yaml_to_json(g->tree, false);
    struct mortise_buf b;

    mortise_buf_init(&b, ld->mem);
    b.failed =
        tree == NULL || mortise_yaml_write(&b, tree, NULL, NULL) != MORTISE_OK;
    json_decref(tree);
    return take_text(ld, &b);
}

static const char *print_plan_picture(struct mortise_loader *ld,
                                      const struct mortise_graph *g)
{
    struct mortise_buf b;

    mortise_buf_init(&b, ld->mem);
    mortise_picture_print_text(
        &b, &(struct mortise_picture){
                .graph = g, .ascii = true, .columns = PICTURE_COLUMNS});
    return take_text(ld, &b);
}

/* Recursive, as deep as graphs are nested. */
static void load_plans(struct mortise_loader *ld, struct mortise_graph *g,
                       bool outer_plan)
{
    struct mortise_plan *plan = g->approve_plan && !outer_plan
                                    ? mortise_load_alloc(ld, sizeof *plan)
                                    : NULL;

    if (plan != NULL)
        *plan = (struct mortise_plan){print_plan_yaml(ld, g),
                                      print_plan_picture(ld, g)};
    g->plan = plan;
    for (uint32_t i = 0; i < g->n_nodes && !ld->nomem; i++) {
        if (g->nodes[i].sub != NULL)
            load_plans(ld, g->nodes[i].sub, g->approve_plan);
        if (g->nodes[i].tools != NULL)
            load_plans(ld, g->nodes[i].tools, g->approve_plan);
    }
}

static int load_tree(struct mortise_loader *ld, const struct mortise_yaml *root)
{
    ld->g->tree = root;
    ld->g->path = root->span.file->path;
    mortise_load_name_root(root);
    read_graph_file(ld);
    if (!ld->nomem && mortise_load_count_errors(ld) == 0)
        load_plans(ld, ld->g, false);
    mortise_load_finish(ld);
    if (ld->nomem || ld->diags->failed)
        return MORTISE_ENOMEM;
    return mortise_load_count_errors(ld) > 0 ? MORTISE_ECHECK : MORTISE_OK;
}

static int fail_with_errors(struct mortise_err *err, int rv, const char *path,
                            size_t n_errors)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return mortise_fail(err, rv, "%s has %zu error%s", path, n_errors,
                        n_errors == 1 ? "" : "s");
}

/* Load a text, or its tree if the text is NULL. */
static int load_text_or_tree(struct mortise_loader *ld, const char *path,
                             const char *text, size_t n,
                             const struct mortise_yaml *tree)
{
    struct mortise_yaml *root = mortise_yaml_unconst(tree);
    int rv = text != NULL ? mortise_yaml_parse(&root, ld->arena, path, text, n,
                                               ld->diags)
                          : MORTISE_OK;

    return root != NULL ? load_tree(ld, root) : rv;
}

static int load_graph_text_or_tree(struct mortise_graph **out,
                                   const struct mortise_mem *mem,
                                   const char *path, const char *text, size_t n,
                                   const struct mortise_yaml *tree,
                                   const struct mortise_catalog *catalog,
                                   struct mortise_diags *diags,
                                   struct mortise_err *err)
{
    struct mortise_loader ld = {.mem = mem,
                                .catalog = catalog,
                                .whole = check_whole_graph,
                                .diags = diags,
                                .first_diag = diags->n,
                                .left_out_before =
                                    mortise_diags_count_lost_errors(diags),
                                .errors_before = diags->n_errors};
    int rv;

    *out = NULL;
    ld.root = &ld;
    ld.g = mortise_zalloc(mem, sizeof *ld.g);
    if (ld.g == NULL)
        return mortise_nomem(err);
    ld.g->refs = 1;
    mortise_arena_init(&ld.g->arena, mem);
    ld.arena = &ld.g->arena;
    rv = load_text_or_tree(&ld, path, text, n, tree);
    if (rv == MORTISE_OK) {
        *out = ld.g;
        return MORTISE_OK;
    }
    mortise_graph_unref(ld.g);
    return fail_with_errors(err, rv, path, mortise_load_count_errors(&ld));
}

int mortise_graph_load(struct mortise_graph **out,
                       const struct mortise_mem *mem, const char *path,
                       const char *text, size_t n,
                       const struct mortise_catalog *catalog,
                       struct mortise_diags *diags, struct mortise_err *err)
{
    return load_graph_text_or_tree(out, mem, path, text, n, NULL, catalog,
                                   diags, err);
}

int mortise_graph_load_tree(struct mortise_graph **out,
                            const struct mortise_mem *mem,
                            const struct mortise_yaml *tree,
                            const struct mortise_catalog *catalog,
                            struct mortise_diags *diags,
                            struct mortise_err *err)
{
    return load_graph_text_or_tree(out, mem, tree->span.file->path, NULL, 0,
                                   tree, catalog, diags, err);
}
