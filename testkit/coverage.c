/* coverage.c -- record the nodes and edges that test cases ran.
 *
 * For each execution, a run reports its path and the executions that led to
 * it.  They are recorded by names without visits and map elements:
 *
 *     "review/inner"          a node that ran (not skipped)
 *     "review/inner>next"     an edge that was taken
 *     "review/inner>END"      a last execution of a run that has ended
 *
 * and compared with the nodes and edges of the graph.  Parallel edges between
 * two nodes count as one.  Implied edges (a map's join waiting for its body,
 * the way around a guardrail) do not count.
 */
#include "testkit/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "testkit/rehearsing.h"
#include "lang/config/settings.h"
#include "lang/draw/picture.h"
#include "core/json/value.h"

enum { NAME = 2 * MORTISE_CONTEXT_SIZE };

/* ---- the graphs ----------------------------------------------------------- */

void mortise_coverage_init(struct mortise_coverage *c, struct mortise_cli *cli)
{
    *c = (struct mortise_coverage){.cli = cli};
    c->last = &c->first;
}

static void covered_free(const struct mortise_mem *mem,
                         struct mortise_graph_coverage *g)
{
    mortise_graph_unref(g->graph);
    mortise_release_str(mem, g->path);
    json_decref(g->seen);
    mortise_release(mem, g, sizeof *g);
}

void mortise_coverage_finish(struct mortise_coverage *c)
{
    struct mortise_graph_coverage *g;

    while ((g = c->first) != NULL) {
        c->first = g->next;
        covered_free(c->cli->mem, g);
    }
}

static int add_covered_graph(struct mortise_coverage *c, const char *path,
                             struct mortise_graph_coverage **out,
                             struct mortise_err *err)
{
    const struct mortise_mem *mem = c->cli->mem;
    struct mortise_graph_coverage *g = mortise_zalloc(mem, sizeof *g);
    int rv;

    *out = NULL;
    if (g == NULL)
        return mortise_nomem(err);
    g->path = mortise_strdup(mem, path);
    g->seen = json_object();
    rv = g->path != NULL && g->seen != NULL
             ? mortise_cli_load_graph(c->cli, path, &g->graph, err)
             : mortise_nomem(err);
    if (rv != MORTISE_OK) {
        covered_free(mem, g);
        return rv;
    }
    *out = *c->last = g;
    c->last = &g->next;
    return MORTISE_OK;
}

int mortise_coverage_get(struct mortise_coverage *c, const char *path,
                         struct mortise_graph_coverage **out,
                         struct mortise_err *err)
{
    for (*out = c->first; *out != NULL; *out = (*out)->next)
        if (strcmp((*out)->path, path) == 0)
            return MORTISE_OK;
    return add_covered_graph(c, path, out, err);
}

/* ---- recording executions ---------------------------------------------- */

static bool was_execution_run(const json_t *one)
{
    return json_object_get(one, "path") != NULL &&
           strcmp(mortise_cli_get_text(one, "status"), "skipped") != 0;
}

static bool has_execution_ended(const json_t *one)
{
    return was_execution_run(one) && json_object_get(one, "ended") != NULL;
}

/* The last part of a name: a node of the innermost graph. */
static const char *get_last_name(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

static int record_covered_name(struct mortise_graph_coverage *g,
                               const char *name)
{
    return json_object_set_new(g->seen, name, json_true());
}

static int record_covered_edge(struct mortise_graph_coverage *g,
                               const char *from_path, const char *to)
{
    char name[NAME], from[MORTISE_CONTEXT_SIZE];

    mortise_make_context_node(from_path, from);
    snprintf(name, sizeof name, "%s>%s", from, to);
    return record_covered_name(g, name);
}

static int record_execution(struct mortise_graph_coverage *g, const json_t *one,
                            json_t *led)
{
    char name[MORTISE_CONTEXT_SIZE];
    int rv;

    mortise_make_context_node(mortise_cli_get_text(one, "path"), name);
    rv = record_covered_name(g, name);
    MORTISE_JSON_EACH (from, i, json_object_get(one, "after")) {
        rv |= record_covered_edge(g, json_string_value(from),
                                  get_last_name(name));
        rv |= json_object_set_new(led, json_string_value(from), json_true());
    }
    return rv;
}

int mortise_coverage_add(struct mortise_graph_coverage *g, const json_t *show,
                         struct mortise_err *err)
{
    const json_t *nodes = json_object_get(show, "nodes");
    const char *status = mortise_cli_get_text(show, "status");
    bool over =
        strcmp(status, "completed") == 0 || strcmp(status, "failed") == 0;
    json_t *led = json_object(); /* paths that led to another execution */
    int rv = led != NULL ? 0 : -1;

    MORTISE_JSON_EACH (one, i, nodes)
        if (rv == 0 && was_execution_run(one))
            rv = record_execution(g, one, led);
    MORTISE_JSON_EACH (end, k, nodes) {
        const char *path = mortise_cli_get_text(end, "path");

        if (rv == 0 && over && has_execution_ended(end) &&
            json_object_get(led, path) == NULL)
            rv = record_covered_edge(g, path, "END");
    }
    json_decref(led);
    return rv == 0 ? MORTISE_OK : mortise_nomem(err);
}

/* ---- counting ---------------------------------------------------------- */

struct coverage_count {
    const struct mortise_graph_coverage *of;
    const struct mortise_mem *mem;
    size_t n[2], n_seen[2]; /* [0]: nodes, [1]: edges */
    json_t *missed[2];      /* [{name, at}] */
    json_t *counted;        /* names of edges already counted */
    int failed;             /* memory ran out */
};

static void count_covered_name(struct coverage_count *c, int what,
                               const char *name, struct mortise_span span)
{
    struct mortise_buf at;

    c->n[what]++;
    if (json_object_get(c->of->seen, name) != NULL) {
        c->n_seen[what]++;
        return;
    }
    mortise_buf_init(&at, c->mem);
    mortise_span_format(span, &at);
    c->failed |= mortise_buf_cstr(&at) == NULL ||
                 json_array_append_new(
                     c->missed[what],
                     json_pack("{s:s, s:s}", "name", name, "at", at.p)) != 0;
    mortise_buf_finish(&at);
}

static bool has_graph_edge(const struct mortise_graph *g, uint32_t from,
                           uint32_t to)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].from == from && g->edges[i].to == to)
            return true;
    return false;
}

/* When a budget is exceeded, running nodes lead to the target of the budget
 * edge, although that edge begins at START. */
static bool was_taken_for_budget(const struct coverage_count *c,
                                 const char *prefix,
                                 const struct mortise_graph *g,
                                 const struct mortise_edge *e)
{
    char name[NAME];

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        snprintf(name, sizeof name, "%s%s>%s", prefix, g->nodes[i].id,
                 mortise_picture_get_node_name(g, e->to));
        if (json_object_get(c->of->seen, name) != NULL &&
            !has_graph_edge(g, i, e->to))
            return true;
    }
    return false;
}

/* In a map's body, an execution that ends has no successor: the map's join
 * follows the map itself. */
static bool was_map_result(const struct coverage_count *c, const char *prefix,
                           const struct mortise_graph *g,
                           const struct mortise_edge *e)
{
    char name[NAME];

    if (!e->yields)
        return false;
    snprintf(name, sizeof name, "%s%s>END", prefix,
             mortise_picture_get_node_name(g, e->from));
    return json_object_get(c->of->seen, name) != NULL;
}

static void count_edge(struct coverage_count *c, const char *prefix,
                       const struct mortise_graph *g,
                       const struct mortise_edge *e)
{
    char name[NAME];

    if (e->kind == MORTISE_EDGE_GATHER || e->kind == MORTISE_EDGE_DETOUR)
        return;
    snprintf(name, sizeof name, "%s%s>%s", prefix,
             mortise_picture_get_node_name(g, e->from),
             mortise_picture_get_node_name(g, e->to));
    if (json_object_get(c->counted, name) != NULL)
        return;
    c->failed |= json_object_set_new(c->counted, name, json_true());
    if (was_map_result(c, prefix, g, e) ||
        (e->kind == MORTISE_EDGE_BUDGET &&
         was_taken_for_budget(c, prefix, g, e)))
        c->failed |= json_object_set_new(c->of->seen, name, json_true());
    count_covered_name(c, 1, name, e->span);
}

static void count_graph_names(struct coverage_count *c, const char *prefix,
                              const struct mortise_graph *g)
{
    char name[NAME];

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        snprintf(name, sizeof name, "%s%s", prefix, n->id);
        count_covered_name(c, 0, name, n->span);
        if (n->sub == NULL)
            continue;
        snprintf(name, sizeof name, "%s%s/", prefix, n->id);
        count_graph_names(c, name, n->sub);
    }
    for (uint32_t i = 0; i < g->n_edges; i++)
        count_edge(c, prefix, g, &g->edges[i]);
}

static void count_covered(struct coverage_count *c,
                          const struct mortise_graph_coverage *g,
                          const struct mortise_mem *mem)
{
    *c = (struct coverage_count){.of = g, .mem = mem, .counted = json_object()};
    c->missed[0] = json_array();
    c->missed[1] = json_array();
    count_graph_names(c, "", g->graph);
}

static void free_coverage_count(struct coverage_count *c)
{
    json_decref(c->missed[0]);
    json_decref(c->missed[1]);
    json_decref(c->counted);
}

static void print_missed(struct mortise_out *o, const char *what,
                         const json_t *missed)
{
    MORTISE_JSON_EACH (one, i, missed)
        mortise_out_print_escaped(o, "  %s: %s %s\n",
                                  mortise_cli_get_text(one, "at"), what,
                                  mortise_cli_get_text(one, "name"));
}

void mortise_coverage_print(const struct mortise_coverage *c)
{
    struct mortise_out *o = &c->cli->out;
    struct coverage_count all;

    for (const struct mortise_graph_coverage *g = c->first; g != NULL;
         g = g->next) {
        count_covered(&all, g, c->cli->mem);
        mortise_out_print_escaped(o, "%s: ", g->path);
        mortise_out_printf(o, "%zu of %zu nodes, %zu of %zu edges\n",
                           all.n_seen[0], all.n[0], all.n_seen[1], all.n[1]);
        print_missed(o, "node never ran:", all.missed[0]);
        print_missed(o, "edge never taken:", all.missed[1]);
        if (all.failed)
            o->errnum = ENOMEM;
        free_coverage_count(&all);
    }
}

json_t *mortise_coverage_json(const struct mortise_coverage *c)
{
    json_t *list = json_array();
    struct coverage_count all;

    for (const struct mortise_graph_coverage *g = c->first; g != NULL;
         g = g->next) {
        json_t *one;

        count_covered(&all, g, c->cli->mem);
        one = json_pack("{s:s, s:{s:I, s:I, s:O}, s:{s:I, s:I, s:O}}", "graph",
                        g->path, "nodes", "ran", (json_int_t)all.n_seen[0],
                        "of", (json_int_t)all.n[0], "missed", all.missed[0],
                        "edges", "taken", (json_int_t)all.n_seen[1], "of",
                        (json_int_t)all.n[1], "missed", all.missed[1]);
        if (all.failed || json_array_append_new(list, one) != 0)
            mortise_json_clear_ref(&list);
        free_coverage_count(&all);
    }
    return list;
}
