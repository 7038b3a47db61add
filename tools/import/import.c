/* import.c -- convert graphs of other systems to graph files.
 *
 * The file is parsed as YAML, which includes JSON, so that each finding has a
 * line and a column.  The result is a JSON value, written as YAML.  Guarantees:
 *
 *   (1) Each loss is reported.  A field that has no meaning here, or whose
 *       meaning cannot be expressed, is a warning at its place, and a comment
 *       at the head of the new file.
 *   (2) Nothing is invented.  If a part that decides what runs cannot be
 *       imported (a condition that is a function, a debate), the new file lacks
 *       it, too, and `mortise check` rejects the file until the user has added
 *       the part.  Nothing else runs in its place.
 *   (3) A contradiction (an edge to an unknown node, a type that differs from
 *       the type of its config) is an error, and no file is written.
 *   (4) Values are not validated.  `mortise check` does this with the new file,
 *       by the loader's table of keys.
 */
#include "tools/import/import.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "tools/import/foreign.h"
#include "lang/yaml/write.h"

/* ---- form of the source ------------------------------------------------- */

enum shape { NEITHER, TASK, NODE, EXEC };

typedef json_t *carry_fn(struct foreign *f, const struct mortise_yaml *root);

static const struct {
    const char *name;
    carry_fn *carry;
} shapes[] = {
    [TASK] = {"a task graph", mortise_foreign_convert_task},
    [NODE] = {"a task node", mortise_foreign_convert_task_node},
    [EXEC] = {"a compiled execution graph", mortise_foreign_convert_exec}};

static enum shape find_shape(struct foreign *f, const struct mortise_yaml *root)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(root, "nodes");
    const bool has_goal = mortise_yaml_get(root, "goal") != NULL;

    if (mortise_yaml_get(root, "apiVersion") != NULL) {
        mortise_foreign_report_error(
            f, mortise_yaml_key(root, "apiVersion")->span,
            "use it with `mortise check` and `mortise run`",
            "this is already a file of Mortise");
        return NEITHER;
    }
    if (nodes != NULL && nodes->kind == MORTISE_YAML_MAP)
        return TASK;
    if (nodes != NULL && nodes->kind == MORTISE_YAML_SEQ)
        return has_goal && mortise_yaml_get(root, "edges") == NULL ? TASK
                                                                   : EXEC;
    if (nodes == NULL && has_goal)
        return NODE;
    mortise_foreign_report_error(
        f, nodes != NULL ? nodes->span : root->span,
        "a task graph has 'goal' and 'nodes' (a mapping from ids, or a list); "
        "a compiled execution graph has 'nodes' and 'edges' (two lists)",
        "this is not a graph that can be imported");
    return NEITHER;
}

/* ---- the new file ------------------------------------------------------- */

static json_t *make_graph_file(struct foreign *f, const char *path,
                               enum shape shape,
                               const struct mortise_yaml *root)
{
    const char *slash = strrchr(path, '/'),
               *base = slash != NULL ? slash + 1 : path;
    json_t *graph, *file = json_pack("{s:s, s:s}", "apiVersion", "mortise/v1",
                                     "kind", "Graph");

    graph = shapes[shape].carry(f, root);
    if (json_object_get(graph, "metadata") == NULL)
        mortise_foreign_set(
            f, file, "metadata",
            json_pack("{s:o}", "name",
                      mortise_foreign_make_name(base, strcspn(base, "."))));
    if (file == NULL || json_object_update(file, graph) != 0)
        f->nomem = true;
    json_decref(graph);
    return file;
}

static void put_import_comment(struct mortise_buf *out, enum shape shape,
                               const struct mortise_diags *diags)
{
    mortise_buf_printf(out, "# %s, by `mortise graph import`.\n",
                       shapes[shape].name);
    if (diags->n > 0)
        mortise_buf_puts(out, "# Differences to the imported file, with its "
                              "lines and columns:\n#\n");
    for (size_t i = 0; i < diags->n; i++)
        mortise_buf_printf(out, "#   %u:%u: %s\n", diags->list[i].span.line,
                           diags->list[i].span.col, diags->list[i].message);
}

static int write_graph_file(struct foreign *f, struct mortise_buf *out,
                            const char *path, const struct mortise_yaml *root)
{
    const enum shape shape = find_shape(f, root);
    json_t *file;
    int rv;

    if (shape == NEITHER)
        return MORTISE_ECHECK;
    file = make_graph_file(f, path, shape, root);
    if (f->nomem || f->diags->failed) {
        rv = MORTISE_ENOMEM;
    } else if (f->diags->n_errors > 0) {
        rv = MORTISE_ECHECK;
    } else {
        mortise_diags_sort(f->diags);
        put_import_comment(out, shape, f->diags);
        rv = mortise_yaml_write(out, file, NULL, NULL);
    }
    json_decref(file);
    return rv;
}

int mortise_graph_import(struct mortise_buf *out, const char *path,
                         const char *text, size_t n,
                         struct mortise_diags *diags, struct mortise_err *err)
{
    struct mortise_arena arena;
    struct foreign f = {.arena = &arena, .diags = diags};
    struct mortise_yaml *root = NULL;
    int rv;

    mortise_arena_init(&arena, out->mem);
    rv = mortise_yaml_parse(&root, &arena, path, text, n, diags);
    if (rv == MORTISE_OK)
        rv = write_graph_file(&f, out, path, root);
    mortise_schema_finish(f.state);
    mortise_arena_finish(&arena);
    if (rv == MORTISE_ENOMEM || diags->failed)
        return mortise_nomem(err);
    return rv == MORTISE_ECHECK
               ? mortise_fail(err, rv, "%s cannot be imported", path)
               : rv;
}
