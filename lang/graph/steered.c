/* steered.c -- make the graph of a run that is steered.
 *
 * The run itself knows graphs and no files.  Here the diff is read (steer.c), and
 * the resulting graph is checked like any graph that is about to run, with
 * findings at the places where they were written.  Then the graph is written as
 * the one text that is stored, and loaded from that text: so the run follows
 * exactly the graph that readers of the store get.
 *
 * A diff brings no files: other names refer to the files that the run has
 * pinned.  Tool patterns of the old graph keep the tools that they matched.
 */
#include "core/engine/language.h"

#include <string.h>

#include "core/model/former.h"
#include "core/model/pinned.h"
#include "lang/graph/load.h"
#include "lang/graph/steer.h"
#include "lang/yaml/write.h"

/* A diff as given: a list, or {source, path?}. */
struct source {
    const char *path, *text;
    char *made; /* the text of a list; else NULL */
};

static int get_diff_source(const struct mortise_mem *mem, const json_t *diff,
                           struct source *out, struct mortise_err *err)
{
    const char *path = json_string_value(json_object_get(diff, "path"));

    *out = (struct source){.path = path != NULL ? path : "diff"};
    if (json_is_array(diff)) {
        out->text = out->made = mortise_json_to_text(mem, diff);
        return out->made != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    out->text = json_string_value(json_object_get(diff, "source"));
    return out->text != NULL
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "a diff must be a list of operations, or an "
                              "object with the text of such a list (`source`) "
                              "and optionally the path of its file (`path`)");
}

static const char *get_begun_place(void *ud, const char *path)
{
    return mortise_run_get_node_progress(ud, path);
}

/* The tools that the patterns of the old graph match, and those of new patterns
 * in `now`; NULL: out of memory. */
static char *merge_tool_matches(const struct mortise_mem *mem,
                                const struct mortise_source *was,
                                const struct mortise_source *now)
{
    json_t *all = json_object(), *one;
    char *text = NULL;
    int rv = all != NULL ? MORTISE_OK : MORTISE_ENOMEM;

    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        const struct mortise_source *from = i == 0 ? now : was;

        if (from == NULL)
            continue;
        rv = mortise_json_parse_written(&one, from->text, from->size, NULL);
        if (rv == MORTISE_OK && json_object_update(all, one) != 0)
            rv = MORTISE_ENOMEM;
        json_decref(one);
    }
    if (rv == MORTISE_OK)
        text = mortise_json_to_text(mem, all);
    json_decref(all);
    return text;
}

static const struct mortise_source *
find_source_file(const struct mortise_source *files, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

/* Write the text that is stored. */
static int write_stored_text(struct mortise_buf *text,
                             const struct mortise_yaml *tree,
                             struct mortise_err *err)
{
    json_t *v = mortise_yaml_to_json(tree, false);
    int rv =
        v != NULL ? mortise_yaml_write(text, v, NULL, NULL) : MORTISE_ENOMEM;

    json_decref(v);
    return rv == MORTISE_OK && mortise_buf_cstr(text) != NULL
               ? MORTISE_OK
               : mortise_nomem(err);
}

struct making {
    const struct mortise_mem *mem;
    const struct mortise_catalog *catalog;
    struct mortise_graph *g; /* the run's, lent */
    struct mortise_arena a;
    struct mortise_diags diags;
    struct mortise_buf text;
    char *matches;
};

/* Load the graph from the text that is stored; `checked` is the same graph,
 * from the files that people wrote. */
static int load_stored_text(struct making *k,
                            const struct mortise_graph *checked,
                            struct mortise_graph **out, struct mortise_err *err)
{
    static const char tools[] = ":tools"; /* lang/graph/load/matches.c */
    const struct mortise_graph *g = k->g;
    size_t n = mortise_graph_count_own_sources(g->sources, g->n_sources),
           at = 1;
    const struct mortise_source *was = find_source_file(g->sources, n, tools);
    const struct mortise_source *now =
        find_source_file(checked->sources, checked->n_sources, tools);
    struct mortise_source *files =
        mortise_arena_alloc(&k->a, (n + 1) * sizeof *files);
    struct mortise_pinned_graph pinned;
    struct mortise_graph_files from = mortise_pinned_graph_get_files(&pinned);
    struct mortise_catalog catalog = *k->catalog;

    if (was != NULL || now != NULL)
        k->matches = merge_tool_matches(k->mem, was, now);
    if (files == NULL || ((was != NULL || now != NULL) && k->matches == NULL))
        return mortise_nomem(err);
    files[0] =
        (struct mortise_source){g->sources[0].path, k->text.p, k->text.n};
    for (size_t i = 1; i < n; i++)
        if (&g->sources[i] != was)
            files[at++] = g->sources[i];
    if (k->matches != NULL)
        files[at++] =
            (struct mortise_source){tools, k->matches, strlen(k->matches)};
    pinned = (struct mortise_pinned_graph){files, at};
    from.pinned = true;
    catalog.files = &from;
    return mortise_graph_load(out, k->mem, files[0].path, files[0].text,
                              files[0].size, &catalog, &k->diags, err);
}

/* Check as `mortise check` does, but with the pinned files. */
static int check_steered_tree(struct making *k, const struct mortise_yaml *tree,
                              struct mortise_graph **out,
                              struct mortise_err *err)
{
    const struct mortise_graph *g = k->g;
    const struct mortise_pinned_graph pinned = {
        g->sources, mortise_graph_count_own_sources(g->sources, g->n_sources)};
    const struct mortise_graph_files files =
        mortise_pinned_graph_get_files(&pinned);
    struct mortise_catalog catalog = *k->catalog;

    catalog.files = &files;
    return mortise_graph_load_tree(out, k->mem, tree, &catalog, &k->diags, err);
}

static int make_graph(struct making *k, const struct mortise_yaml *tree,
                      struct mortise_graph **out, struct mortise_err *err)
{
    struct mortise_graph *checked;
    int rv = check_steered_tree(k, tree, &checked, err);

    *out = NULL;
    if (rv == MORTISE_OK)
        rv = write_stored_text(&k->text, tree, err);
    if (rv == MORTISE_OK)
        rv = load_stored_text(k, checked, out, err);
    mortise_graph_unref(checked);
    return rv == MORTISE_OK ? mortise_graph_set_predecessor(*out, k->g, err)
                            : rv;
}

/* The text is the new graph, not a diff. */
static int replace_run_graph(struct making *k, const struct mortise_run *r,
                             const struct source *from,
                             struct mortise_steering *out,
                             struct mortise_err *err)
{
    struct mortise_yaml *tree;
    int rv = mortise_yaml_parse(&tree, &k->a, from->path, from->text,
                                strlen(from->text), &k->diags);

    (void)r;
    return rv == MORTISE_OK ? make_graph(k, tree, &out->graph, err) : rv;
}

static int apply_run_diff(struct making *k, const struct mortise_run *r,
                          const struct source *from,
                          struct mortise_steering *out, struct mortise_err *err)
{
    const struct mortise_steer_target of = {k->g, get_begun_place,
                                            (void *)(uintptr_t)r};
    const struct mortise_yaml *tree;
    int rv =
        mortise_steer_apply(&tree, &out->operations, &k->a, &of, from->path,
                            from->text, strlen(from->text), &k->diags, err);

    return rv == MORTISE_OK ? make_graph(k, tree, &out->graph, err) : rv;
}

/* Report the findings; warnings alone are no error. */
static int report_steering(struct making *k, int rv, const char *path,
                           struct mortise_buf *report,
                           struct mortise_buf *findings,
                           struct mortise_err *err)
{
    struct mortise_buf words;

    if (rv == MORTISE_ECHECK)
        rv = mortise_fail(err, mortise_diags_result(&k->diags),
                          "%s has %zu error%s; nothing was applied", path,
                          k->diags.n_errors, k->diags.n_errors == 1 ? "" : "s");
    if (report != NULL && k->diags.n > 0) {
        mortise_diags_format(&k->diags, report);
        mortise_diags_json(&k->diags, findings);
        return report->failed || findings->failed ? mortise_nomem(err) : rv;
    }
    if (rv != MORTISE_ECHECK && rv != MORTISE_EDENIED)
        return rv;
    mortise_buf_init(&words, k->mem);
    mortise_diags_format(&k->diags, &words);
    if (mortise_buf_cstr(&words) != NULL && words.n > 0)
        rv = mortise_fail(err, rv, "%.800s", words.p);
    mortise_buf_finish(&words);
    return rv;
}

typedef int making_fn(struct making *k, const struct mortise_run *r,
                      const struct source *from, struct mortise_steering *out,
                      struct mortise_err *err);

static int make_steering(making_fn *fn, const struct mortise_mem *mem,
                         const struct mortise_run *r, const json_t *given,
                         const struct mortise_catalog *catalog,
                         struct mortise_steering *out,
                         struct mortise_buf *report,
                         struct mortise_buf *findings, struct mortise_err *err)
{
    struct making k = {
        .mem = mem, .catalog = catalog, .g = mortise_run_graph(r)};
    struct source from;
    int rv = get_diff_source(mem, given, &from, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_arena_init(&k.a, mem);
    mortise_diags_init(&k.diags, mem);
    mortise_buf_init(&k.text, mem);
    rv = report_steering(&k, fn(&k, r, &from, out, err), from.path, report,
                         findings, err);
    mortise_release_str(mem, k.matches);
    mortise_release_str(mem, from.made);
    mortise_buf_finish(&k.text);
    mortise_diags_finish(&k.diags);
    mortise_arena_finish(&k.a);
    return rv;
}

int mortise_graph_steer(struct mortise_steering *out,
                        const struct mortise_mem *mem,
                        const struct mortise_run *r, const json_t *diff,
                        const struct mortise_catalog *catalog,
                        struct mortise_buf *report,
                        struct mortise_buf *findings, struct mortise_err *err)
{
    return make_steering(apply_run_diff, mem, r, diff, catalog, out, report,
                         findings, err);
}

int mortise_graph_replace(struct mortise_steering *out,
                          const struct mortise_mem *mem,
                          const struct mortise_run *r, const json_t *graph,
                          const struct mortise_catalog *catalog,
                          struct mortise_buf *report,
                          struct mortise_buf *findings, struct mortise_err *err)
{
    if (!json_is_string(json_object_get(graph, "source")))
        return mortise_fail(err, MORTISE_EINVAL,
                            "the graph of an edited plan must be an object "
                            "with the text of the graph (`source`) and "
                            "optionally the path of its file (`path`)");
    return make_steering(replace_run_graph, mem, r, graph, catalog, out, report,
                         findings, err);
}
