/* picture.c -- printing a graph as a picture: Graphviz, Mermaid, text.
 *
 *   (1) All formats print every edge of the one list g->edges, so that the
 *       picture shows everything that can happen.
 *   (2) An edge has the same label in all formats (mortise_picture_print_label).
 *   (3) Nested graphs are drawn after their outer graph (text) or inside it
 *       (the other formats).  Loops and maps have frames if the format has
 *       frames.
 */
#include "lang/draw/picture.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "lang/tmpl/tmpl.h"

const char *mortise_picture_get_node_name(const struct mortise_graph *g,
                                          uint32_t node)
{
    return node == MORTISE_START ? "START"
           : node == MORTISE_END ? "END"
                                 : g->nodes[node].id;
}

const char *mortise_ran_name(enum mortise_ran_state ran)
{
    static const char *const names[] = {"",     "running", "waiting",
                                        "done", "failed",  "skipped"};

    return names[ran];
}

/* The scalar as written, on one line, without characters that are invisible or
 * change the layout. */
static void print_yaml_scalar(struct mortise_buf *b,
                              const struct mortise_yaml *v)
{
    const char *p = v->str, *end = p + v->len;

    while (p < end) {
        uint32_t cp = 0;
        size_t step = mortise_utf8_decode(p, end, &cp);

        if (cp == '\n' || cp == '\t' || cp == '\r')
            mortise_buf_puts(b, " ");
        else if (mortise_utf8_is_hidden(cp))
            mortise_buf_printf(b, cp < 0x10000 ? "\\u%04x" : "\\U%08x",
                               (unsigned)cp);
        else
            mortise_buf_put(b, p, step);
        p += step;
    }
}

static void print_expression(struct mortise_buf *b,
                             const struct mortise_expr *e)
{
    print_yaml_scalar(b, e->at);
}

static void print_map_label(struct mortise_buf *b,
                            const struct mortise_region *r, bool behind)
{
    mortise_buf_printf(b, "%sfor each %s of ", behind ? ", " : "", r->as);
    print_expression(b, &r->over);
}

/* The targets of the edges that a detour replaces. */
static void print_replaced_edges(struct mortise_buf *b,
                                 const struct mortise_graph *g,
                                 const struct mortise_edge_policy *p)
{
    for (uint32_t i = p->first; i < p->end; i++)
        mortise_buf_printf(b, "%s%s", i > p->first ? " or " : "",
                           mortise_picture_get_node_name(g, g->edges[i].to));
}

void mortise_picture_print_label(struct mortise_buf *b,
                                 const struct mortise_graph *g,
                                 const struct mortise_edge *e)
{
    static const char *const words[] = {
        [MORTISE_EDGE_STATIC] = "",
        [MORTISE_EDGE_WHEN] = "when ",
        [MORTISE_EDGE_ROUTE] = "when ",
        [MORTISE_EDGE_DEFAULT] = "default",
        [MORTISE_EDGE_ROUTE_ALL] = "when ",
        [MORTISE_EDGE_TARGET] = "when named",
        [MORTISE_EDGE_ERROR] = "on error",
        [MORTISE_EDGE_TIMEOUT] = "on timeout",
        [MORTISE_EDGE_REROUTE] = "on violation",
        [MORTISE_EDGE_BUDGET] = "when the budget is used up",
        [MORTISE_EDGE_ABOVE] = "when ",
        [MORTISE_EDGE_BELOW] = "when ",
        [MORTISE_EDGE_FOUND] = "when found: ",
        [MORTISE_EDGE_FALLBACK] = "when not found: ",
        [MORTISE_EDGE_GATHER] = "all of them",
        [MORTISE_EDGE_DETOUR] = "on violation, instead of ",
    };

    mortise_buf_puts(b, words[e->kind]);
    if (e->kind == MORTISE_EDGE_WHEN || e->kind == MORTISE_EDGE_ROUTE ||
        e->kind == MORTISE_EDGE_ROUTE_ALL)
        print_expression(b, &e->when);
    if (mortise_edge_is_map(e))
        print_map_label(b, &g->regions[e->map], words[e->kind][0] != '\0');
    if (e->kind == MORTISE_EDGE_ABOVE || e->kind == MORTISE_EDGE_BELOW)
        mortise_buf_printf(b, "%s %s %.15g", mortise_trait_name(e->trait),
                           e->kind == MORTISE_EDGE_ABOVE ? ">=" : "<",
                           e->threshold);
    if (e->kind == MORTISE_EDGE_DETOUR)
        print_replaced_edges(b, g, e->policy);
    if (e->discovery != NULL)
        print_yaml_scalar(b, mortise_tmpl_yaml(e->discovery->query));
    if (e->yields)
        mortise_buf_puts(b, words[e->kind][0] != '\0' ? ", its result"
                                                      : "its result");
    if (e->back)
        mortise_buf_puts(b, words[e->kind][0] != '\0' ? ", again" : "again");
}

static void print_node_visits(struct mortise_buf *b,
                              const struct mortise_picture *p, uint32_t node)
{
    const struct mortise_overlay *o =
        p->overlay != NULL ? &p->overlay[node] : NULL;

    if (o == NULL)
        return;
    if (o->ran != MORTISE_RAN_NOT)
        mortise_buf_printf(b, " %s", mortise_ran_name(o->ran));
    if (o->visits > 1)
        mortise_buf_printf(b, " x%u", o->visits);
}

struct mortise_picture mortise_picture_nested(const struct mortise_picture *p,
                                              const struct mortise_node *n)
{
    struct mortise_picture inner = *p;

    inner.graph = n->sub;
    inner.overlay = p->overlay != NULL ? p->overlay[n->index].inside : NULL;
    return inner;
}

/* ---- frames: loops and maps ---- */

struct format {
    void (*node)(struct mortise_buf *b, const struct mortise_picture *p,
                 uint32_t node, const char *path);
    void (*open)(struct mortise_buf *b, const char *path, const char *kind,
                 uint32_t number, const char *of);
    void (*close)(struct mortise_buf *b);
};

/* Print the nodes of a region; those of child regions are in frames. */
static void print_region_nodes(struct mortise_buf *b,
                               const struct mortise_picture *p,
                               const struct format *f, uint32_t region,
                               const char *path)
{
    const struct mortise_region *r = &p->graph->regions[region];

    if (r->kind == MORTISE_REGION_LOOP)
        f->open(b, path, "loop", region, p->graph->nodes[r->entry].id);
    else if (r->kind == MORTISE_REGION_MAP)
        f->open(b, path, "for each", region, r->as);
    for (uint32_t i = 0; i < r->n_nodes; i++)
        f->node(b, p, r->nodes[i], path);
    for (uint32_t i = 0; i < r->n_regions; i++)
        print_region_nodes(b, p, f, r->regions[i], path);
    if (r->kind != MORTISE_REGION_GRAPH)
        f->close(b);
}

/* ---- Graphviz ---- */

/* "PATHNAME" */
static void print_dot_name(struct mortise_buf *b, const struct mortise_graph *g,
                           const char *path, uint32_t node)
{
    mortise_buf_printf(b, "\"%s%s\"", path,
                       mortise_picture_get_node_name(g, node));
}

static void print_dot_graph(struct mortise_buf *b,
                            const struct mortise_picture *p, const char *path);

/* The path of the contents of a node: "a/b/"; false: it is too long. */
static bool make_nested_path(char out[1024], const char *path, const char *id)
{
    return snprintf(out, 1024, "%s%s/", path, id) < 1024;
}

static void print_dot_nested(struct mortise_buf *b,
                             const struct mortise_picture *p,
                             const struct mortise_node *n, const char *path)
{
    const struct mortise_picture inner = mortise_picture_nested(p, n);
    char deeper[1024];

    if (!make_nested_path(deeper, path, n->id))
        return;
    mortise_buf_printf(b, "subgraph \"cluster_%s\" {\nlabel=\"%s: graph ",
                       deeper, n->id);
    mortise_buf_put_escaped(b, n->sub->name, strlen(n->sub->name));
    mortise_buf_puts(b, "\"\n");
    print_dot_graph(b, &inner, deeper);
    mortise_buf_puts(b, "}\n");
    print_dot_name(b, p->graph, path, n->index);
    mortise_buf_puts(b, " -> ");
    print_dot_name(b, n->sub, deeper, MORTISE_START);
    mortise_buf_puts(b, " [style=dotted, arrowhead=none]\n");
}

static void print_dot_node(struct mortise_buf *b,
                           const struct mortise_picture *p, uint32_t node,
                           const char *path)
{
    static const char *const colors[] = {"",          "lightblue", "gold",
                                         "palegreen", "salmon",    "lightgrey"};
    const struct mortise_node *n = &p->graph->nodes[node];
    enum mortise_ran_state ran =
        p->overlay != NULL ? p->overlay[node].ran : MORTISE_RAN_NOT;

    print_dot_name(b, p->graph, path, node);
    mortise_buf_printf(b, " [label=\"%s\\n%s", n->id,
                       mortise_node_type_name(n->type));
    print_node_visits(b, p, node);
    mortise_buf_puts(b, "\"");
    if (ran != MORTISE_RAN_NOT)
        mortise_buf_printf(b, ", style=filled, fillcolor=%s", colors[ran]);
    mortise_buf_puts(b, "]\n");
    if (n->sub != NULL)
        print_dot_nested(b, p, n, path);
}

static void print_dot_frame_start(struct mortise_buf *b, const char *path,
                                  const char *kind, uint32_t number,
                                  const char *of)
{
    mortise_buf_printf(b,
                       "subgraph \"cluster_%s%u\" {\nlabel=\"%s %s\"\n"
                       "style=dashed\n",
                       path, number, kind, of);
}

static void print_dot_frame_end(struct mortise_buf *b)
{
    mortise_buf_puts(b, "}\n");
}

/* Print the label of an edge between `before` and `behind`, unless it is
 * empty. */
static void
print_edge_label(struct mortise_buf *b, const struct mortise_graph *g,
                 const struct mortise_edge *e, const char *before,
                 void (*put)(struct mortise_buf *, const char *, size_t),
                 const char *behind)
{
    struct mortise_buf label;

    mortise_buf_init(&label, b->mem);
    mortise_picture_print_label(&label, g, e);
    if (label.n > 0) {
        mortise_buf_puts(b, before);
        put(b, label.p, label.n);
        mortise_buf_puts(b, behind);
    }
    b->failed |= label.failed;
    mortise_buf_finish(&label);
}

static void print_dot_edge(struct mortise_buf *b, const struct mortise_graph *g,
                           const struct mortise_edge *e, const char *path)
{
    print_dot_name(b, g, path, e->from);
    mortise_buf_puts(b, " -> ");
    print_dot_name(b, g, path, e->to);
    print_edge_label(b, g, e, " [label=\"", mortise_buf_put_escaped, "\"]");
    mortise_buf_puts(b, "\n");
}

static bool has_end_edge(const struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].to == MORTISE_END)
            return true;
    return false;
}

static void print_dot_graph(struct mortise_buf *b,
                            const struct mortise_picture *p, const char *path)
{
    static const struct format format = {print_dot_node, print_dot_frame_start,
                                         print_dot_frame_end};
    const struct mortise_graph *g = p->graph;

    for (unsigned k = 0; k < (has_end_edge(g) ? 2u : 1u); k++) {
        print_dot_name(b, g, path, k == 0 ? MORTISE_START : MORTISE_END);
        mortise_buf_printf(b, " [label=\"%s\", shape=oval]\n",
                           k == 0 ? "START" : "END");
    }
    print_region_nodes(b, p, &format, 0, path);
    for (uint32_t i = 0; i < g->n_edges; i++)
        print_dot_edge(b, g, &g->edges[i], path);
}

void mortise_picture_print_dot(struct mortise_buf *b,
                               const struct mortise_picture *p)
{
    mortise_buf_puts(b, "digraph \"");
    mortise_buf_put_escaped(b, p->graph->name, strlen(p->graph->name));
    mortise_buf_puts(b, "\" {\nnode [shape=box]\n");
    print_dot_graph(b, p, "");
    mortise_buf_puts(b, "}\n");
}

/* ---- Mermaid ---- */

/* Text between quotes uses entities: a backslash has no meaning there, a
 * backtick turns it into Markdown, and `%%{` is always a directive. */
static void print_mermaid_text(struct mortise_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("\"#<>&%`", s[i]) != NULL && s[i] != '\0')
            mortise_buf_printf(b, "#%d;", s[i]);
        else
            mortise_buf_put(b, &s[i], 1);
}

/* Ids may be keywords of Mermaid (`end`), so nodes have numbers: `n3`, and
 * `n3_1` for node 1 of the graph inside. */
static void print_mermaid_name(struct mortise_buf *b, const char *path,
                               uint32_t node)
{
    if (node == MORTISE_START)
        mortise_buf_printf(b, "%sS", path);
    else if (node == MORTISE_END)
        mortise_buf_printf(b, "%sE", path);
    else
        mortise_buf_printf(b, "%s%u", path, node);
}

static void print_mermaid_graph(struct mortise_buf *b,
                                const struct mortise_picture *p,
                                const char *path);

static void print_mermaid_nested(struct mortise_buf *b,
                                 const struct mortise_picture *p,
                                 const struct mortise_node *n, const char *path)
{
    const struct mortise_picture inner = mortise_picture_nested(p, n);
    char deeper[1024];

    if (snprintf(deeper, sizeof deeper, "%s%u_", path, n->index) >=
        (int)sizeof deeper)
        return;
    mortise_buf_printf(b, "subgraph %sg [\"%s: graph ", deeper, n->id);
    print_mermaid_text(b, n->sub->name, strlen(n->sub->name));
    mortise_buf_puts(b, "\"]\n");
    print_mermaid_graph(b, &inner, deeper);
    mortise_buf_puts(b, "end\n");
    print_mermaid_name(b, path, n->index);
    mortise_buf_puts(b, " -.- ");
    print_mermaid_name(b, deeper, MORTISE_START);
    mortise_buf_puts(b, "\n");
}

static void print_mermaid_node(struct mortise_buf *b,
                               const struct mortise_picture *p, uint32_t node,
                               const char *path)
{
    const struct mortise_node *n = &p->graph->nodes[node];
    enum mortise_ran_state ran =
        p->overlay != NULL ? p->overlay[node].ran : MORTISE_RAN_NOT;

    print_mermaid_name(b, path, node);
    mortise_buf_printf(b, "[\"%s (%s)", n->id, mortise_node_type_name(n->type));
    print_node_visits(b, p, node);
    mortise_buf_puts(b, "\"]");
    if (ran != MORTISE_RAN_NOT)
        mortise_buf_printf(b, ":::%s", mortise_ran_name(ran));
    mortise_buf_puts(b, "\n");
    if (n->sub != NULL)
        print_mermaid_nested(b, p, n, path);
}

static void print_mermaid_frame_start(struct mortise_buf *b, const char *path,
                                      const char *kind, uint32_t number,
                                      const char *of)
{
    mortise_buf_printf(b, "subgraph %sr%u [\"%s %s\"]\n", path, number, kind,
                       of);
}

static void print_mermaid_frame_end(struct mortise_buf *b)
{
    mortise_buf_puts(b, "end\n");
}

static void print_mermaid_edge(struct mortise_buf *b,
                               const struct mortise_graph *g,
                               const struct mortise_edge *e, const char *path)
{
    print_mermaid_name(b, path, e->from);
    mortise_buf_puts(b, " -->");
    print_edge_label(b, g, e, "|\"", print_mermaid_text, "\"|");
    mortise_buf_puts(b, " ");
    print_mermaid_name(b, path, e->to);
    mortise_buf_puts(b, "\n");
}

static void print_mermaid_graph(struct mortise_buf *b,
                                const struct mortise_picture *p,
                                const char *path)
{
    static const struct format format = {
        print_mermaid_node, print_mermaid_frame_start, print_mermaid_frame_end};
    const struct mortise_graph *g = p->graph;

    mortise_buf_printf(b, "%sS([START])\n", path);
    if (has_end_edge(g))
        mortise_buf_printf(b, "%sE([END])\n", path);
    print_region_nodes(b, p, &format, 0, path);
    for (uint32_t i = 0; i < g->n_edges; i++)
        print_mermaid_edge(b, g, &g->edges[i], path);
}

void mortise_picture_print_mermaid(struct mortise_buf *b,
                                   const struct mortise_picture *p)
{
    mortise_buf_puts(b, "flowchart TD\n");
    print_mermaid_graph(b, p, "n");
    if (p->overlay != NULL)
        mortise_buf_puts(b, "classDef running fill:#add8e6\n"
                            "classDef waiting fill:#ffd700\n"
                            "classDef done fill:#98fb98\n"
                            "classDef failed fill:#fa8072\n"
                            "classDef skipped fill:#d3d3d3\n");
}

/* ---- text ---- */

static void print_text_edge(struct mortise_buf *b,
                            const struct mortise_picture *p,
                            const struct mortise_edge *e, bool from)
{
    size_t before;

    mortise_buf_puts(b, "  ");
    if (from)
        mortise_buf_printf(b, "%s ",
                           mortise_picture_get_node_name(p->graph, e->from));
    mortise_buf_printf(b, "%s %s  ", p->ascii ? "->" : "\u2192",
                       mortise_picture_get_node_name(p->graph, e->to));
    before = b->n;
    mortise_picture_print_label(b, p->graph, e);
    if (b->n == before && !b->failed)
        b->n -= 2;
    mortise_buf_puts(b, "\n");
}

/* The edge from a map with this `to` to its join is in no node's `out`, because
 * it is implicit.  The map is one of the regions around the node. */
static void print_gather_edges(struct mortise_buf *b,
                               const struct mortise_picture *p, uint32_t node)
{
    const struct mortise_graph *g = p->graph;

    for (uint32_t i = g->nodes[node].region; i != 0; i = g->regions[i].parent) {
        const struct mortise_region *r = &g->regions[i];

        if (r->kind == MORTISE_REGION_MAP && g->edges[r->gather].from == node)
            print_text_edge(b, p, &g->edges[r->gather], false);
    }
}

/* Print the outgoing edges of a node. */
static void print_text_edges(struct mortise_buf *b,
                             const struct mortise_picture *p, uint32_t node)
{
    const struct mortise_graph *g = p->graph;
    bool start = node == MORTISE_START;
    const uint32_t *out = start ? g->start : g->nodes[node].out;
    uint32_t n = start ? g->n_start : g->nodes[node].n_out;

    for (uint32_t i = 0; i < n; i++)
        print_text_edge(b, p, &g->edges[out[i]], false);
    if (!start)
        print_gather_edges(b, p, node);
}

/* Print each node with its outgoing edges. */
static void print_text_list(struct mortise_buf *b,
                            const struct mortise_picture *p)
{
    const struct mortise_graph *g = p->graph;

    mortise_buf_puts(b, "START\n");
    print_text_edges(b, p, MORTISE_START);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        mortise_buf_printf(b, "%s (%s)", g->nodes[i].id,
                           mortise_node_type_name(g->nodes[i].type));
        print_node_visits(b, p, i);
        mortise_buf_puts(b, "\n");
        print_text_edges(b, p, i);
    }
}

/* Explain the lines that are not plain edges. */
static void print_edge_legend(struct mortise_buf *b,
                              const struct mortise_picture *p)
{
    const struct mortise_graph *g = p->graph;
    bool begun = false;

    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct mortise_edge *e = &g->edges[i];

        if (e->kind == MORTISE_EDGE_STATIC && !mortise_edge_is_map(e) &&
            !e->back && !e->yields)
            continue;
        mortise_buf_puts(b, begun ? "" : "\n");
        begun = true;
        print_text_edge(b, p, e, true);
    }
}

void mortise_picture_print_text(struct mortise_buf *b,
                                const struct mortise_picture *p)
{
    const struct mortise_graph *g = p->graph;

    if (mortise_picture_print_sketch(b, p))
        print_edge_legend(b, p);
    else
        print_text_list(b, p);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct mortise_picture inner;

        if (g->nodes[i].sub == NULL)
            continue;
        inner = mortise_picture_nested(p, &g->nodes[i]);
        mortise_buf_printf(b, "\n%s: graph %s\n", g->nodes[i].id,
                           g->nodes[i].sub->name);
        mortise_picture_print_text(b, &inner);
    }
}
