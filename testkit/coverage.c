/* coverage.c -- what of its graphs the cases of tests ran.
 *
 * A run says of each execution where it was and whose edges led there; that is
 * noted by names, without visits and elements of maps:
 *
 *     "review/inner"          a node that ran (and was not skipped)
 *     "review/inner>next"     an edge that was taken
 *     "review/inner>END"      ... to the end: of a run that is over, what ended
 *                             and led to nothing
 *
 * and held against the nodes and edges of the graph.  Several edges between the
 * same two nodes are one here; those that stand for others (what a map's join
 * waits for, the way past a guardrail) are none. */
#include "testkit/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "testkit/rehearsing.h"
#include "lang/config/settings.h"
#include "lang/draw/picture.h"
#include "core/json/value.h"

enum { NAME = 2 * MORTISE_CONTEXT };

/* ---- the graphs ----------------------------------------------------------- */

void mortise_coverage_init(struct mortise_coverage *c, struct mortise_cli *cli)
{
    *c = (struct mortise_coverage){.cli = cli};
    c->last = &c->first;
}

static void covered_free(const struct mortise_mem *mem,
                         struct mortise_covered *g)
{
    mortise_graph_unref(g->graph);
    mortise_release_str(mem, g->path);
    json_decref(g->seen);
    mortise_release(mem, g, sizeof *g);
}

void mortise_coverage_finish(struct mortise_coverage *c)
{
    struct mortise_covered *g;

    while ((g = c->first) != NULL) {
        c->first = g->next;
        covered_free(c->cli->mem, g);
    }
}

static int load(struct mortise_coverage *c, const char *path,
                struct mortise_covered **out, struct mortise_err *err)
{
    const struct mortise_mem *mem = c->cli->mem;
    struct mortise_covered *g = mortise_zalloc(mem, sizeof *g);
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

int mortise_coverage_of(struct mortise_coverage *c, const char *path,
                        struct mortise_covered **out, struct mortise_err *err)
{
    for (*out = c->first; *out != NULL; *out = (*out)->next)
        if (strcmp((*out)->path, path) == 0)
            return MORTISE_OK;
    return load(c, path, out, err);
}

/* ---- what ran ------------------------------------------------------------- */

static bool ran(const json_t *one)
{
    return json_object_get(one, "path") != NULL &&
           strcmp(mortise_cli_text(one, "status"), "skipped") != 0;
}

static bool has_ended(const json_t *one)
{
    return ran(one) && json_object_get(one, "ended") != NULL;
}

/* The last part of a name: a node of the innermost graph. */
static const char *last_of(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

static int note(struct mortise_covered *g, const char *name)
{
    return json_object_set_new(g->seen, name, json_true());
}

static int note_edge(struct mortise_covered *g, const char *from_path,
                     const char *to)
{
    char name[NAME], from[MORTISE_CONTEXT];

    mortise_context_node(from_path, from);
    snprintf(name, sizeof name, "%s>%s", from, to);
    return note(g, name);
}

static int note_one(struct mortise_covered *g, const json_t *one, json_t *led)
{
    char name[MORTISE_CONTEXT];
    int rv;

    mortise_context_node(mortise_cli_text(one, "path"), name);
    rv = note(g, name);
    MORTISE_JSON_EACH (from, i, json_object_get(one, "after")) {
        rv |= note_edge(g, json_string_value(from), last_of(name));
        rv |= json_object_set_new(led, json_string_value(from), json_true());
    }
    return rv;
}

int mortise_coverage_note(struct mortise_covered *g, const json_t *show,
                          struct mortise_err *err)
{
    const json_t *nodes = json_object_get(show, "nodes");
    const char *status = mortise_cli_text(show, "status");
    bool over =
        strcmp(status, "completed") == 0 || strcmp(status, "failed") == 0;
    json_t *led = json_object(); /* paths of those that led somewhere */
    int rv = led != NULL ? 0 : -1;

    MORTISE_JSON_EACH (one, i, nodes)
        if (rv == 0 && ran(one))
            rv = note_one(g, one, led);
    MORTISE_JSON_EACH (end, k, nodes) {
        const char *path = mortise_cli_text(end, "path");

        if (rv == 0 && over && has_ended(end) &&
            json_object_get(led, path) == NULL)
            rv = note_edge(g, path, "END");
    }
    json_decref(led);
    return rv == 0 ? MORTISE_OK : mortise_nomem(err);
}

/* ---- and what did not ------------------------------------------------------ */

struct counting {
    const struct mortise_covered *of;
    const struct mortise_mem *mem;
    size_t n[2], n_seen[2]; /* nodes, edges */
    json_t *missed[2];      /* [{name, at}] */
    json_t *counted;        /* names of edges */
    int failed;             /* memory ran out */
};

static void count(struct counting *c, int what, const char *name,
                  struct mortise_span span)
{
    struct mortise_buf at;

    c->n[what]++;
    if (json_object_get(c->of->seen, name) != NULL) {
        c->n_seen[what]++;
        return;
    }
    mortise_buf_init(&at, c->mem);
    mortise_span_text(span, &at);
    c->failed |= mortise_buf_cstr(&at) == NULL ||
                 json_array_append_new(
                     c->missed[what],
                     json_pack("{s:s, s:s}", "name", name, "at", at.p)) != 0;
    mortise_buf_finish(&at);
}

static bool has_edge(const struct mortise_graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].from == from && g->edges[i].to == to)
            return true;
    return false;
}

/* Where a budget is used up, whatever is at work leads to where its edge does,
 * which begins at START. */
static bool was_taken_for_budget(const struct counting *c, const char *prefix,
                                 const struct mortise_graph *g,
                                 const struct mortise_edge *e)
{
    char name[NAME];

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        snprintf(name, sizeof name, "%s%s>%s", prefix, g->nodes[i].id,
                 mortise_picture_name(g, e->to));
        if (json_object_get(c->of->seen, name) != NULL &&
            !has_edge(g, i, e->to))
            return true;
    }
    return false;
}

/* Out of a map's body nothing follows what ended there: the join follows the
 * map. */
static bool was_yielded(const struct counting *c, const char *prefix,
                        const struct mortise_graph *g,
                        const struct mortise_edge *e)
{
    char name[NAME];

    if (!e->yields)
        return false;
    snprintf(name, sizeof name, "%s%s>END", prefix,
             mortise_picture_name(g, e->from));
    return json_object_get(c->of->seen, name) != NULL;
}

static void count_edge(struct counting *c, const char *prefix,
                       const struct mortise_graph *g,
                       const struct mortise_edge *e)
{
    char name[NAME];

    if (e->kind == MORTISE_EDGE_GATHER || e->kind == MORTISE_EDGE_DETOUR)
        return;
    snprintf(name, sizeof name, "%s%s>%s", prefix,
             mortise_picture_name(g, e->from), mortise_picture_name(g, e->to));
    if (json_object_get(c->counted, name) != NULL)
        return;
    c->failed |= json_object_set_new(c->counted, name, json_true());
    if (was_yielded(c, prefix, g, e) || (e->kind == MORTISE_EDGE_BUDGET &&
                                         was_taken_for_budget(c, prefix, g, e)))
        c->failed |= json_object_set_new(c->of->seen, name, json_true());
    count(c, 1, name, e->span);
}

static void count_graph(struct counting *c, const char *prefix,
                        const struct mortise_graph *g)
{
    char name[NAME];

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        snprintf(name, sizeof name, "%s%s", prefix, n->id);
        count(c, 0, name, n->span);
        if (n->sub == NULL)
            continue;
        snprintf(name, sizeof name, "%s%s/", prefix, n->id);
        count_graph(c, name, n->sub);
    }
    for (uint32_t i = 0; i < g->n_edges; i++)
        count_edge(c, prefix, g, &g->edges[i]);
}

static void count_all(struct counting *c, const struct mortise_covered *g,
                      const struct mortise_mem *mem)
{
    *c = (struct counting){.of = g, .mem = mem, .counted = json_object()};
    c->missed[0] = json_array();
    c->missed[1] = json_array();
    count_graph(c, "", g->graph);
}

static void forget(struct counting *c)
{
    json_decref(c->missed[0]);
    json_decref(c->missed[1]);
    json_decref(c->counted);
}

static void say_missed(struct mortise_out *o, const char *what,
                       const json_t *missed)
{
    MORTISE_JSON_EACH (one, i, missed)
        mortise_out_say(o, "  %s: %s %s\n", mortise_cli_text(one, "at"), what,
                        mortise_cli_text(one, "name"));
}

void mortise_coverage_say(const struct mortise_coverage *c)
{
    struct mortise_out *o = &c->cli->out;
    struct counting all;

    for (const struct mortise_covered *g = c->first; g != NULL; g = g->next) {
        count_all(&all, g, c->cli->mem);
        mortise_out_say(o, "%s: ", g->path);
        mortise_out_printf(o, "%zu of %zu nodes, %zu of %zu edges\n",
                           all.n_seen[0], all.n[0], all.n_seen[1], all.n[1]);
        say_missed(o, "node never ran:", all.missed[0]);
        say_missed(o, "edge never taken:", all.missed[1]);
        if (all.failed)
            o->errnum = ENOMEM;
        forget(&all);
    }
}

json_t *mortise_coverage_json(const struct mortise_coverage *c)
{
    json_t *list = json_array();
    struct counting all;

    for (const struct mortise_covered *g = c->first; g != NULL; g = g->next) {
        json_t *one;

        count_all(&all, g, c->cli->mem);
        one = json_pack("{s:s, s:{s:I, s:I, s:O}, s:{s:I, s:I, s:O}}", "graph",
                        g->path, "nodes", "ran", (json_int_t)all.n_seen[0],
                        "of", (json_int_t)all.n[0], "missed", all.missed[0],
                        "edges", "taken", (json_int_t)all.n_seen[1], "of",
                        (json_int_t)all.n[1], "missed", all.missed[1]);
        if (all.failed || json_array_append_new(list, one) != 0)
            mortise_json_drop(&list);
        forget(&all);
    }
    return list;
}
