/* graph_check.c -- graph.check/1 {source, path?, with?, types?}: could this
 * graph run?
 *
 * The text is read, checked and compiled like the graphs of runs, with the
 * plugins, tools and models of this deployment.  The answer is {valid: true,
 * graph, picture}, or {valid: false, graph, findings}.  The findings are those
 * of `mortise check`, so the author of the text, often a model, can correct it.
 *
 * `with` is merged over the text, object by object; its values take precedence.
 * `graph` is the text that was checked, to which the findings refer: YAML that
 * includes `with`, or the unchanged source if that is not a mapping.
 *
 * `types` lists the node types that the graph may use, at any depth.  For
 * example, a caller that wants a graph of leaves gets no node that calls an
 * operation directly.
 *
 * The source is not trusted, so the graph may open no files and get no secrets.
 * One that names other files, or refers to a secret (secret://NAME), is not
 * valid.  The answer is recorded, since the available plugins may change. */
#include "core/engine/runs/host_calls.h"

#include <string.h>

#include "lang/draw/picture.h"
#include "services/check/methods.h"
#include "services/secrets/body.h"
#include "mortise/plugin.h"
#include "lang/yaml/tree.h"
#include "lang/yaml/write.h"

enum { GRAPH_PICTURE_COLUMNS = 100 }; /* width of the picture */

/* Is it absent, or a list of names that is not empty? */
static bool is_name_list(const json_t *list)
{
    bool ok = list == NULL || json_array_size(list) > 0;

    MORTISE_JSON_EACH (one, i, list)
        ok = ok && mortise_body_is_text(one);
    return ok;
}

static int32_t check_graph_request(struct mortise_asked *a, char *words)
{
    const json_t *path = json_object_get(a->body, "path");
    const json_t *with = json_object_get(a->body, "with");
    const json_t *types = json_object_get(a->body, "types");

    if (json_is_string(json_object_get(a->body, "source")) &&
        (path == NULL || mortise_body_is_text(path)) &&
        (with == NULL || json_is_object(with)) && is_name_list(types) &&
        json_object_size(a->body) == 1 + (size_t)(path != NULL) +
                                         (size_t)(with != NULL) +
                                         (size_t)(types != NULL))
        return MORTISE_S_OK;
    return mortise_ask_format_error(
        words, MORTISE_S_INVALID,
        "a request of %s must be {source, path?, with?, types?: [NAME ...]}",
        a->method_name);
}

/* Merge `with` over the graph, members of `with` first; takes `graph`.  NULL:
 * memory ran out. */
static json_t *merge_graph_with(json_t *graph, json_t *with)
{
    json_t *out = with != NULL ? json_deep_copy(with) : json_object();

    if (graph == NULL || out == NULL ||
        json_object_update_recursive(out, graph) != 0 ||
        (with != NULL && json_object_update_recursive(out, with) != 0))
        mortise_json_clear_ref(&out);
    json_decref(graph);
    return out;
}

/* Append the text to be checked. */
static int write_checked_text(const struct mortise_asked *a, const char *path,
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
        graph = merge_graph_with(mortise_yaml_to_json(root, false), with);
    mortise_arena_finish(&arena);
    mortise_diags_finish(&diags);
    if (is_map)
        rv = graph != NULL ? mortise_yaml_write(text, graph, NULL, NULL)
                           : MORTISE_ENOMEM;
    else if (rv != MORTISE_ENOMEM) /* loading reports the findings */
        mortise_buf_put(text, json_string_value(source),
                        json_string_length(source));
    json_decref(graph);
    return rv == MORTISE_ENOMEM || mortise_buf_cstr(text) == NULL
               ? MORTISE_ENOMEM
               : MORTISE_OK;
}

static bool is_allowed_type(const json_t *types, const char *name)
{
    MORTISE_JSON_EACH (one, i, types)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static void join_type_names(struct mortise_buf *to, const json_t *types)
{
    MORTISE_JSON_EACH (one, i, types)
        mortise_buf_printf(to, "%s%s", i > 0 ? ", " : "",
                           json_string_value(one));
}

/* Recursive: the nesting of graphs is limited. */
static void report_other_types(const json_t *types, const char *names,
                               const struct mortise_graph *g,
                               struct mortise_diags *diags)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];
        const char *type = mortise_node_type_name(n->type);

        if (!is_allowed_type(types, type))
            mortise_diag_add(diags, "E0207", n->span,
                             "node '%s' cannot have the type '%s': nodes of "
                             "this graph can only have the types %s",
                             n->id, type, names);
        if (n->sub != NULL)
            report_other_types(types, names, n->sub, diags);
    }
}

/* Report nodes of types that are not allowed as findings. */
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
    join_type_names(&names, types);
    if (mortise_buf_cstr(&names) != NULL)
        report_other_types(types, names.p, g, &diags);
    if (diags.n > 0)
        mortise_diags_format(&diags, report);
    report->failed |= names.failed || diags.failed;
    mortise_buf_finish(&names);
    mortise_diags_finish(&diags);
}

static json_t *encode_valid_graph(const struct mortise_asked *a,
                                  const struct mortise_graph *g,
                                  const char *text)
{
    const struct mortise_picture p = {
        .graph = g, .ascii = true, .columns = GRAPH_PICTURE_COLUMNS};
    struct mortise_buf picture;
    json_t *out = NULL;

    mortise_buf_init(&picture, a->m->mem);
    mortise_picture_print_text(&picture, &p);
    if (mortise_buf_cstr(&picture) != NULL)
        out = json_pack("{s:b, s:s, s:s}", "valid", 1, "graph", text, "picture",
                        picture.p);
    mortise_buf_finish(&picture);
    return out;
}

/* Build the answer; NULL: memory ran out. */
static json_t *check_graph_source(const struct mortise_asked *a)
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
    rv = write_checked_text(a, file.path, &text);
    file.text = text.p;
    file.size = text.n;
    if (rv == MORTISE_OK)
        rv = mortise_graphs_compile(a->m, &file, NULL,
                                    MORTISE_GRAPH_ALONE | MORTISE_GRAPH_KEYLESS,
                                    &g, &report, NULL, &err);
    if (rv == MORTISE_OK) {
        mortise_buf_clear(&report); /* warnings are not reported */
        check_types(a, g, &report);
    }
    if (rv == MORTISE_OK && report.n == 0 && !report.failed)
        out = encode_valid_graph(a, g, text.p);
    else if (rv != MORTISE_ENOMEM && mortise_buf_cstr(&report) != NULL)
        out = json_pack("{s:b, s:s, s:s}", "valid", 0, "graph", text.p,
                        "findings", report.n > 0 ? report.p : err.msg);
    mortise_graph_unref(g);
    mortise_buf_finish(&report);
    mortise_buf_finish(&text);
    return out;
}

static void start_graph_check(struct mortise_asked *a)
{
    json_t *out = check_graph_source(a);

    mortise_host_call_answer(a, out != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM,
                             out, out != NULL ? "" : "out of memory");
}

const struct mortise_host_call_method mortise_host_call_graph_check = {
    .effect = MORTISE_HOST_CALL_CHEAP_READ,
    .check = check_graph_request,
    .start = start_graph_check,
};
