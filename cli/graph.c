/* graph.c -- `mortise graph show`: draw a graph and the progress of a run.
 *
 * The file is loaded as `mortise check` and `mortise run` load it, so the
 * drawing shows the graph that would run.  --run adds the progress of a run
 * (overlay.c); if the run has another version of the graph, a warning is
 * printed.
 */
#include <langinfo.h>
#include <locale.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/plugin_set.h"
#include "cli/overlay.h"
#include "core/model/disk.h"
#include "core/model/pinned.h"
#include "lang/draw/picture.h"
#include "lang/graph/load.h"
#include "core/json/value.h"
#include "core/plugin/registry.h"

enum { PIPE_COLUMNS = 100 };

/* ---- the graph --------------------------------------------------------- */

/* Load a text; the files that it names come from `from`, or (NULL) from the
 * disk. */
static int load_graph_text(struct mortise_cli *cli,
                           const struct mortise_settings *settings,
                           const struct mortise_source *file,
                           const struct mortise_graph_files *from,
                           struct mortise_diags *diags,
                           struct mortise_graph **out, struct mortise_err *err)
{
    const struct mortise_plugins_config config =
        mortise_plugin_set_config(cli->mem, settings);
    struct mortise_graph_files files;
    struct mortise_catalog catalog;
    struct mortise_plugins *plugins;
    struct mortise_catalogs *catalogs;
    int rv = mortise_plugins_open(&plugins, &config, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_catalogs_open(&catalogs, cli->mem, plugins,
                               settings->deployment, err);
    if (rv == MORTISE_OK) {
        catalogs->is_idle = true;
        catalog = mortise_disk_catalog_make(&catalogs->strict, &files, NULL);
        if (from != NULL)
            catalog.files = from;
        rv = mortise_graph_load(out, cli->mem, file->path, file->text,
                                file->size, &catalog, diags, err);
    }
    mortise_catalogs_close(catalogs);
    mortise_plugins_close(plugins);
    return rv;
}

int mortise_cli_load_graph_with(struct mortise_cli *cli,
                                const struct mortise_settings *settings,
                                const char *path, struct mortise_diags *diags,
                                struct mortise_graph **out,
                                struct mortise_err *err)
{
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = load_graph_text(cli, settings, &(struct mortise_source){path, text, n},
                         NULL, diags, out, err);
    mortise_release(cli->mem, text, n + 1);
    return rv;
}

/* The graph's own arena has its data, so the plugins can be closed. */
int mortise_cli_load_graph(struct mortise_cli *cli, const char *path,
                           struct mortise_graph **out, struct mortise_err *err)
{
    struct mortise_diags diags;
    struct mortise_settings settings = {0};
    int rv = mortise_cli_find_deployment(cli, path, err);

    *out = NULL;
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    cli->looks = true;
    rv = mortise_settings_open(&settings, cli->mem, cli->deployment,
                               cli->args.store, mortise_cli_settings_flags(cli),
                               &diags, err);
    cli->looks = false; /* an engine must show the run */
    if (rv == MORTISE_OK)
        rv =
            mortise_cli_load_graph_with(cli, &settings, path, &diags, out, err);
    mortise_settings_close(&settings);
    if (rv == MORTISE_ECHECK)
        rv = err->code = mortise_diags_result(&diags);
    mortise_cli_print_findings(cli, &diags);
    return rv;
}

/* ---- the run ----------------------------------------------------------- */

static void warn_if_graph_differs(struct mortise_cli *cli,
                                  const json_t *show_graph,
                                  const struct mortise_graph *g)
{
    char digest[MORTISE_DIGEST_HEX];

    mortise_hex_encode(digest, g->content, MORTISE_DIGEST);
    if (strcmp(mortise_cli_get_text(json_object_get(show_graph, "graph"),
                                    "digest"),
               digest) != 0)
        mortise_cli_print_remark(
            cli, MORTISE_LOG_WARN,
            "the run started with another version of this graph; the drawing "
            "shows its progress at nodes with the same ids");
}

/* *show: a new reference. */
static int read_drawn_run(struct mortise_cli *cli,
                          const struct mortise_graph *g, json_t **show_graph,
                          struct mortise_err *err)
{
    char run[MORTISE_RUN_MAX];
    int rv = mortise_cli_open(cli, cli->args.operands[0], err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_find_run_to_read(cli, cli->args.run, run, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(cli, run, show_graph, err);
    if (rv == MORTISE_OK)
        warn_if_graph_differs(cli, *show_graph, g);
    return rv;
}

/* ---- printing ---------------------------------------------------------- */

static json_t *make_edge_json(const struct mortise_graph *g,
                              const struct mortise_edge *e,
                              const struct mortise_mem *mem)
{
    struct mortise_buf label;
    json_t *v = NULL;

    mortise_buf_init(&label, mem);
    mortise_picture_print_label(&label, g, e);
    if (mortise_buf_cstr(&label) != NULL)
        v = json_pack("{s:s, s:s, s:s, s:b}", "from",
                      mortise_picture_get_node_name(g, e->from), "to",
                      mortise_picture_get_node_name(g, e->to), "label", label.p,
                      "back", e->back);
    mortise_buf_finish(&label);
    return v;
}

static json_t *make_drawn_graph_json(const struct mortise_picture *p,
                                     const struct mortise_mem *mem);

static json_t *make_node_json(const struct mortise_picture *p, uint32_t i,
                              const struct mortise_mem *mem)
{
    const struct mortise_node *n = &p->graph->nodes[i];
    json_t *v = json_pack("{s:s, s:s}", "id", n->id, "type",
                          mortise_node_type_name(n->type));

    if (p->overlay != NULL) {
        json_object_set_new(v, "ran",
                            json_string(mortise_ran_name(p->overlay[i].ran)));
        json_object_set_new(v, "visits", json_integer(p->overlay[i].visits));
    }
    if (n->sub != NULL) {
        const struct mortise_picture inner = mortise_picture_nested(p, n);

        json_object_set_new(v, "graph", make_drawn_graph_json(&inner, mem));
    }
    return v;
}

static json_t *make_drawn_graph_json(const struct mortise_picture *p,
                                     const struct mortise_mem *mem)
{
    const struct mortise_graph *g = p->graph;
    json_t *nodes = json_array(), *edges = json_array();

    for (uint32_t i = 0; i < g->n_nodes; i++)
        json_array_append_new(nodes, make_node_json(p, i, mem));
    for (uint32_t i = 0; i < g->n_edges; i++)
        json_array_append_new(edges, make_edge_json(g, &g->edges[i], mem));
    return json_pack("{s:s, s:s, s:o, s:o}", "name", g->name, "version",
                     g->version, "nodes", nodes, "edges", edges);
}

/* Can the terminal show UTF-8? */
static bool is_utf8_locale(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool is = locale != (locale_t)0 &&
              strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

    if (locale != (locale_t)0)
        freelocale(locale);
    return is;
}

static int get_drawing_width(struct mortise_cli *cli, size_t *columns,
                             struct mortise_err *err)
{
    uint64_t given;
    size_t rows;
    int rv;

    *columns = PIPE_COLUMNS;
    if (cli->args.width != NULL) {
        rv = mortise_cli_parse_number("--width", cli->args.width, &given, err);
        *columns = rv == MORTISE_OK ? (size_t)given : 0;
        return rv;
    }
    if (cli->out.tty)
        mortise_out_get_window_size(&cli->out, columns, &rows);
    return MORTISE_OK;
}

static int print_drawing(struct mortise_cli *cli, struct mortise_picture *p,
                         struct mortise_err *err)
{
    struct mortise_buf b;
    int rv = get_drawing_width(cli, &p->columns, err);

    if (rv != MORTISE_OK)
        return rv;
    p->ascii = cli->args.ascii || !is_utf8_locale();
    mortise_buf_init(&b, cli->mem);
    if (cli->args.dot)
        mortise_picture_print_dot(&b, p);
    else if (cli->args.mermaid)
        mortise_picture_print_mermaid(&b, p);
    else
        mortise_picture_print_text(&b, p);
    if (mortise_buf_cstr(&b) == NULL)
        rv = mortise_nomem(err);
    else
        mortise_out_put_text(&cli->out, b.p, 0);
    mortise_buf_finish(&b);
    return rv;
}

static int load_pinned_graph(struct mortise_cli *cli,
                             const struct mortise_settings *settings,
                             const json_t *sources, struct mortise_graph **out,
                             struct mortise_err *err)
{
    size_t n = json_array_size(sources);
    struct mortise_source *files =
        mortise_zalloc(cli->mem, (n + 1) * sizeof *files);
    const struct mortise_pinned_graph pinned = {files, n};
    struct mortise_graph_files from = mortise_pinned_graph_get_files(&pinned);
    struct mortise_diags diags;
    int rv;

    if (files == NULL || n == 0)
        return mortise_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(sources, i);

        files[i] = (struct mortise_source){
            mortise_cli_get_text(one, "path"),
            mortise_cli_get_text(one, "text"),
            json_string_length(json_object_get(one, "text"))};
    }
    mortise_diags_init(&diags, cli->mem); /* already reported */
    from.pinned = true;
    rv = load_graph_text(cli, settings, &files[0], &from, &diags, out, err);
    mortise_diags_finish(&diags);
    mortise_release(cli->mem, files, (n + 1) * sizeof *files);
    return rv;
}

int mortise_cli_print_drawing(struct mortise_cli *cli, const json_t *sources,
                              const json_t *show_graph, struct mortise_err *err)
{
    struct mortise_settings settings = {0};
    struct mortise_picture p = {.graph = NULL};
    struct mortise_graph *g = NULL;
    struct mortise_diags diags;
    struct mortise_arena a;
    int rv;

    mortise_diags_init(&diags, cli->mem);
    mortise_arena_init(&a, cli->mem);
    rv = mortise_settings_open(&settings, cli->mem, cli->deployment,
                               cli->args.store, mortise_cli_settings_flags(cli),
                               &diags, err);
    if (rv == MORTISE_OK)
        rv = load_pinned_graph(cli, &settings, sources, &g, err);
    mortise_settings_close(&settings);
    if (rv == MORTISE_OK) {
        p.graph = g;
        p.overlay = mortise_overlay_new(&a, g, show_graph);
        rv = p.overlay != NULL ? print_drawing(cli, &p, err)
                               : mortise_nomem(err);
    }
    mortise_arena_finish(&a);
    mortise_diags_finish(&diags);
    mortise_graph_unref(g);
    return rv;
}

static int show_graph(struct mortise_cli *cli, struct mortise_graph *g,
                      struct mortise_err *err)
{
    struct mortise_picture p = {.graph = g};
    struct mortise_arena a;
    json_t *run = NULL;
    int rv = MORTISE_OK;

    mortise_arena_init(&a, cli->mem);
    if (cli->args.run != NULL) {
        rv = read_drawn_run(cli, g, &run, err);
        if (rv == MORTISE_OK) {
            p.overlay = mortise_overlay_new(&a, g, run);
            rv = p.overlay != NULL ? MORTISE_OK : mortise_nomem(err);
        }
    }
    if (rv == MORTISE_OK)
        rv = cli->args.json
                 ? mortise_cli_print_json(
                       cli, make_drawn_graph_json(&p, cli->mem), true, err)
                 : print_drawing(cli, &p, err);
    json_decref(run);
    mortise_arena_finish(&a);
    return rv;
}

static int graph_show(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct mortise_graph *g;
    int rv;

    if (a->dot + a->mermaid + a->json > 1)
        return mortise_cli_fail_usage(
            cli, "give exactly one of --dot, --mermaid and --json");
    rv = mortise_cli_load_graph(cli, a->operands[0], &g, err);
    if (rv == MORTISE_OK)
        rv = show_graph(cli, g, err);
    mortise_graph_unref(g);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("dot", dot, "Output for Graphviz: | dot -Tsvg"),
    MORTISE_OPT_FLAG("mermaid", mermaid, "Output for Mermaid, as in Markdown"),
    MORTISE_OPT_JSON("One JSON object: nodes and edges"),
    MORTISE_OPT_FLAG("ascii", ascii,
                     "Use only ASCII (default if the locale is not UTF-8)"),
    MORTISE_OPT_TEXT("width", "N", width,
                     "Width in columns (default: the terminal's; 100 for\n"
                     "a pipe)"),
    MORTISE_OPT_TEXT("run", "RUN", run, "Show the progress of this run"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_graph_show = {
    .name = "graph show",
    .operands = "GRAPH",
    .summary = "Draw a graph, and optionally the progress of a run",
    .text =
        "The drawing has boxes and lines; the conditions of the edges are\n"
        "printed below it.  Where two lines cross, the vertical line is\n"
        "continuous.  A tee means that two lines join.  In a box, an arrow\n"
        "to END means that the branch ends there, and a bent arrow leads\n"
        "back to an earlier node.  A graph that is too large or too wide\n"
        "is printed as a list of nodes and their targets.\n"
        "\n"
        "With --run, each node is marked as done, failed, skipped, running\n"
        "or waiting, also in nested graphs.  xN is the number of times\n"
        "that the node ran.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .session = MORTISE_SESSION_BRIEF,
    .example = "mortise graph show configs/triage/triage.graph.yaml",
    .run = graph_show,
};
