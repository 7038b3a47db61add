/* graph_check.c -- graph.check/1 {source, path?, with?, types?}: could that graph
 * run?
 *
 * The text is read, checked and compiled by what loads the graphs of runs, with the
 * plugins, tools and models of this deployment.  The answer is {valid: true, graph,
 * picture}, or {valid: false, graph, findings}, in the words of `mortise check`:
 * so whoever had somebody write the text can have it mended.
 *
 * `with` is what the graph is to say whatever the text does: it is laid over the
 * text, object by object, and its own values hold.  `graph` is the text that was
 * checked and that the findings point into: as YAML with `with` in it, or, where the
 * text is no mapping, as it was.
 *
 * `types` are those that its nodes may have, at any depth: whoever asks for a graph
 * of leaves, say, gets no node that calls an operation by itself.
 *
 * A graph that somebody else wrote opens no files and is given no secrets: one that
 * names others, or refers to any (secret://NAME), is not valid.  What plugins there
 * are may change, so the answer is recorded. */
#include "core/engine/runs/host_calls.h"

#include <string.h>

#include "lang/draw/picture.h"
#include "services/secrets/body.h"
#include "mortise/plugin.h"
#include "lang/yaml/write.h"

enum { COLUMNS = 100 }; /* of the picture */

/* A list of names, or nothing. */
static bool are_names(const json_t *list)
{
    bool ok = list == NULL || json_array_size(list) > 0;

    MORTISE_JSON_EACH (one, i, list)
        ok = ok && mortise_body_is_text(one);
    return ok;
}

static int32_t check(struct mortise_asked *a, char *words)
{
    const json_t *path = json_object_get(a->body, "path");
    const json_t *with = json_object_get(a->body, "with");
    const json_t *types = json_object_get(a->body, "types");

    if (json_is_string(json_object_get(a->body, "source")) &&
        (path == NULL || mortise_body_is_text(path)) &&
        (with == NULL || json_is_object(with)) && are_names(types) &&
        json_object_size(a->body) == 1 + (size_t)(path != NULL) +
                                         (size_t)(with != NULL) +
                                         (size_t)(types != NULL))
        return MORTISE_S_OK;
    return mortise_ask_refuse(
        words, MORTISE_S_INVALID,
        "a request of %s must be {source, path?, with?, types?: [NAME ...]}",
        a->method_name);
}

/* The graph with what is laid over it, whose members come first; takes the former.
 * NULL: memory ran out. */
static json_t *both(json_t *graph, json_t *with)
{
    json_t *out = with != NULL ? json_deep_copy(with) : json_object();

    if (graph == NULL || out == NULL ||
        json_object_update_recursive(out, graph) != 0 ||
        (with != NULL && json_object_update_recursive(out, with) != 0))
        mortise_json_drop(&out);
    json_decref(graph);
    return out;
}

/* The text that is to be checked, appended. */
static int lay_over(const struct mortise_asked *a, const char *path,
                    struct mortise_buf *text)
{
    const json_t *source = json_object_get(a->body, "source");
    json_t *with = json_object_get(a->body, "with"), *graph = NULL;
    struct mortise_diags diags;
    struct mortise_arena arena;
    struct mortise_yaml *root;
    bool is_map;
    int rv;

    mortise_diags_init(&diags, a->m->mem);
    mortise_arena_init(&arena, a->m->mem);
    rv = mortise_yaml_parse(&root, &arena, path, json_string_value(source),
                            json_string_length(source), &diags);
    is_map = rv == MORTISE_OK && root->kind == MORTISE_YAML_MAP;
    if (is_map)
        graph = both(mortise_yaml_json(root, false), with);
    mortise_arena_finish(&arena);
    mortise_diags_finish(&diags);
    if (is_map)
        rv = graph != NULL ? mortise_yaml_write(text, graph, NULL, NULL)
                           : MORTISE_ENOMEM;
    else if (rv != MORTISE_ENOMEM) /* whose findings come when it is loaded */
        mortise_buf_put(text, json_string_value(source),
                        json_string_length(source));
    json_decref(graph);
    return rv == MORTISE_ENOMEM || mortise_buf_cstr(text) == NULL
               ? MORTISE_ENOMEM
               : MORTISE_OK;
}

static bool is_one_of(const json_t *types, const char *name)
{
    MORTISE_JSON_EACH (one, i, types)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static void list_names(struct mortise_buf *to, const json_t *types)
{
    MORTISE_JSON_EACH (one, i, types)
        mortise_buf_printf(to, "%s%s", i > 0 ? ", " : "",
                           json_string_value(one));
}

/* Graphs are bounded in how deep they nest. */
static void find_others(const json_t *types, const char *names,
                        const struct mortise_graph *g,
                        struct mortise_diags *diags)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];
        const char *type = mortise_node_type_name(n->type);

        if (!is_one_of(types, type))
            mortise_diag_add(diags, "E0207", n->span,
                             "node '%s' cannot have the type '%s': nodes of "
                             "this graph can only have the types %s",
                             n->id, type, names);
        if (n->sub != NULL)
            find_others(types, names, n->sub, diags);
    }
}

/* Nodes of other types are findings, in the report. */
static void check_types(const struct mortise_asked *a,
                        const struct mortise_graph *g,
                        struct mortise_buf *report)
{
    const json_t *types = json_object_get(a->body, "types");
    struct mortise_diags diags;
    struct mortise_buf names;

    if (types == NULL)
        return;
    mortise_diags_init(&diags, a->m->mem);
    mortise_buf_init(&names, a->m->mem);
    list_names(&names, types);
    if (mortise_buf_cstr(&names) != NULL)
        find_others(types, names.p, g, &diags);
    if (diags.n > 0)
        mortise_diags_text(&diags, report);
    report->failed |= names.failed || diags.failed;
    mortise_buf_finish(&names);
    mortise_diags_finish(&diags);
}

static json_t *valid(const struct mortise_asked *a,
                     const struct mortise_graph *g, const char *text)
{
    const struct mortise_picture p = {
        .graph = g, .ascii = true, .columns = COLUMNS};
    struct mortise_buf picture;
    json_t *out = NULL;

    mortise_buf_init(&picture, a->m->mem);
    mortise_picture_text(&picture, &p);
    if (mortise_buf_cstr(&picture) != NULL)
        out = json_pack("{s:b, s:s, s:s}", "valid", 1, "graph", text, "picture",
                        picture.p);
    mortise_buf_finish(&picture);
    return out;
}

/* NULL: memory ran out. */
static json_t *judge(const struct mortise_asked *a)
{
    const char *path = json_string_value(json_object_get(a->body, "path"));
    struct mortise_buf text, report;
    struct mortise_source file = {.path = path != NULL ? path : "graph"};
    struct mortise_graph *g = NULL;
    struct mortise_err err;
    json_t *out = NULL;
    int rv;

    mortise_buf_init(&text, a->m->mem);
    mortise_buf_init(&report, a->m->mem);
    rv = lay_over(a, file.path, &text);
    file.text = text.p;
    file.size = text.n;
    if (rv == MORTISE_OK)
        rv = mortise_graphs_compile(a->m, &file, NULL,
                                    MORTISE_GRAPH_ALONE | MORTISE_GRAPH_KEYLESS,
                                    &g, &report, NULL, &err);
    if (rv == MORTISE_OK) {
        mortise_buf_clear(&report); /* of warnings, which nobody is told */
        check_types(a, g, &report);
    }
    if (rv == MORTISE_OK && report.n == 0 && !report.failed)
        out = valid(a, g, text.p);
    else if (rv != MORTISE_ENOMEM && mortise_buf_cstr(&report) != NULL)
        out = json_pack("{s:b, s:s, s:s}", "valid", 0, "graph", text.p,
                        "findings", report.n > 0 ? report.p : err.msg);
    mortise_graph_unref(g);
    mortise_buf_finish(&report);
    mortise_buf_finish(&text);
    return out;
}

static void start(struct mortise_asked *a)
{
    json_t *out = judge(a);

    mortise_host_call_answer(a, out != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM,
                             out, out != NULL ? "" : "out of memory");
}

const struct mortise_host_call_method mortise_host_call_graph_check = {
    .effect = MORTISE_HOST_CALL_LOOK,
    .check = check,
    .start = start,
};
