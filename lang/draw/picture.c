/* picture.c -- a graph to look at.
 *
 * (1) All formats go through the one list of edges, g->edges, and pass none
 *     over: what can happen is to be seen.
 * (2) What an edge is about is said in the same words everywhere
 *     (mortise_picture_label).
 * (3) Nested graphs are drawn behind (text) or inside (the others) the one that
 *     they belong to, and loops and maps are framed where the format has
 *     frames.
 */
#include "lang/draw/picture.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

const char *mortise_picture_name(const struct mortise_graph *g, uint32_t node)
{
    return node == MORTISE_START ? "START"
           : node == MORTISE_END ? "END"
                                 : g->nodes[node].id;
}

const char *mortise_ran_name(enum mortise_ran ran)
{
    static const char *const names[] = {"",     "running", "waiting",
                                        "done", "failed",  "skipped"};

    return names[ran];
}

/* As it was written, on one line, and nothing in it moves what is seen. */
static void put_scalar(struct mortise_buf *b, const struct mortise_yaml *v)
{
    const char *p = v->str, *end = p + v->len;

    while (p < end) {
        uint32_t cp = 0;
        size_t step = mortise_utf8_decode(p, end, &cp);

        if (cp == '\n' || cp == '\t' || cp == '\r')
            mortise_buf_puts(b, " ");
        else if (mortise_utf8_hides(cp))
            mortise_buf_printf(b, cp < 0x10000 ? "\\u%04x" : "\\U%08x",
                               (unsigned)cp);
        else
            mortise_buf_put(b, p, step);
        p += step;
    }
}

static void put_expr(struct mortise_buf *b, const struct mortise_expr *e)
{
    put_scalar(b, e->at);
}

static void put_map(struct mortise_buf *b, const struct mortise_region *r,
                    bool behind)
{
    mortise_buf_printf(b, "%sfor each %s of ", behind ? ", " : "", r->as);
    put_expr(b, &r->over);
}

/* The edges that a detour stands in for, by where they lead. */
static void put_replaced(struct mortise_buf *b, const struct mortise_graph *g,
                         const struct mortise_edge_policy *p)
{
    for (uint32_t i = p->first; i < p->end; i++)
        mortise_buf_printf(b, "%s%s", i > p->first ? " or " : "",
                           mortise_picture_name(g, g->edges[i].to));
}

void mortise_picture_label(struct mortise_buf *b, const struct mortise_graph *g,
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
        put_expr(b, &e->when);
    if (mortise_edge_is_map(e))
        put_map(b, &g->regions[e->map], words[e->kind][0] != '\0');
    if (e->kind == MORTISE_EDGE_ABOVE || e->kind == MORTISE_EDGE_BELOW)
        mortise_buf_printf(b, "%s %s %.15g", mortise_trait_name(e->trait),
                           e->kind == MORTISE_EDGE_ABOVE ? ">=" : "<",
                           e->threshold);
    if (e->kind == MORTISE_EDGE_DETOUR)
        put_replaced(b, g, e->policy);
    if (e->discovery != NULL)
        put_scalar(b, mortise_tmpl_yaml(e->discovery->query));
    if (e->yields)
        mortise_buf_puts(b, words[e->kind][0] != '\0' ? ", its result"
                                                      : "its result");
    if (e->back)
        mortise_buf_puts(b, words[e->kind][0] != '\0' ? ", again" : "again");
}

static void put_visits(struct mortise_buf *b, const struct mortise_picture *p,
                       uint32_t node)
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

/* ---- frames: loops and maps ------------------------------------------------
 */

struct format {
    void (*node)(struct mortise_buf *b, const struct mortise_picture *p,
                 uint32_t node, const char *path);
    void (*open)(struct mortise_buf *b, const char *path, const char *kind,
                 uint32_t number, const char *of);
    void (*close)(struct mortise_buf *b);
};

/* The nodes of a region, those of its child regions in frames. */
static void put_region(struct mortise_buf *b, const struct mortise_picture *p,
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
        put_region(b, p, f, r->regions[i], path);
    if (r->kind != MORTISE_REGION_GRAPH)
        f->close(b);
}

/* ---- Graphviz --------------------------------------------------------------
 */

/* "PATHNAME" */
static void dot_name(struct mortise_buf *b, const struct mortise_graph *g,
                     const char *path, uint32_t node)
{
    mortise_buf_printf(b, "\"%s%s\"", path, mortise_picture_name(g, node));
}

static void dot_graph(struct mortise_buf *b, const struct mortise_picture *p,
                      const char *path);

/* The path of what is inside a node: "a/b/"; false when it is too long. */
static bool go_into(char out[1024], const char *path, const char *id)
{
    return snprintf(out, 1024, "%s%s/", path, id) < 1024;
}

static void dot_nested(struct mortise_buf *b, const struct mortise_picture *p,
                       const struct mortise_node *n, const char *path)
{
    const struct mortise_picture inner = mortise_picture_nested(p, n);
    char deeper[1024];

    if (!go_into(deeper, path, n->id))
        return;
    mortise_buf_printf(b, "subgraph \"cluster_%s\" {\nlabel=\"%s: graph ",
                       deeper, n->id);
    mortise_buf_escaped(b, n->sub->name, strlen(n->sub->name));
    mortise_buf_puts(b, "\"\n");
    dot_graph(b, &inner, deeper);
    mortise_buf_puts(b, "}\n");
    dot_name(b, p->graph, path, n->index);
    mortise_buf_puts(b, " -> ");
    dot_name(b, n->sub, deeper, MORTISE_START);
    mortise_buf_puts(b, " [style=dotted, arrowhead=none]\n");
}

static void dot_node(struct mortise_buf *b, const struct mortise_picture *p,
                     uint32_t node, const char *path)
{
    static const char *const colors[] = {"",          "lightblue", "gold",
                                         "palegreen", "salmon",    "lightgrey"};
    const struct mortise_node *n = &p->graph->nodes[node];
    enum mortise_ran ran =
        p->overlay != NULL ? p->overlay[node].ran : MORTISE_RAN_NOT;

    dot_name(b, p->graph, path, node);
    mortise_buf_printf(b, " [label=\"%s\\n%s", n->id,
                       mortise_node_type_name(n->type));
    put_visits(b, p, node);
    mortise_buf_puts(b, "\"");
    if (ran != MORTISE_RAN_NOT)
        mortise_buf_printf(b, ", style=filled, fillcolor=%s", colors[ran]);
    mortise_buf_puts(b, "]\n");
    if (n->sub != NULL)
        dot_nested(b, p, n, path);
}

static void dot_open(struct mortise_buf *b, const char *path, const char *kind,
                     uint32_t number, const char *of)
{
    mortise_buf_printf(b,
                       "subgraph \"cluster_%s%u\" {\nlabel=\"%s %s\"\n"
                       "style=dashed\n",
                       path, number, kind, of);
}

static void dot_close(struct mortise_buf *b)
{
    mortise_buf_puts(b, "}\n");
}

/* What an edge is about, between `before` and `behind`, if anything. */
static void put_label(struct mortise_buf *b, const struct mortise_graph *g,
                      const struct mortise_edge *e, const char *before,
                      void (*put)(struct mortise_buf *, const char *, size_t),
                      const char *behind)
{
    struct mortise_buf label;

    mortise_buf_init(&label, b->mem);
    mortise_picture_label(&label, g, e);
    if (label.n > 0) {
        mortise_buf_puts(b, before);
        put(b, label.p, label.n);
        mortise_buf_puts(b, behind);
    }
    b->failed |= label.failed;
    mortise_buf_finish(&label);
}

static void dot_edge(struct mortise_buf *b, const struct mortise_graph *g,
                     const struct mortise_edge *e, const char *path)
{
    dot_name(b, g, path, e->from);
    mortise_buf_puts(b, " -> ");
    dot_name(b, g, path, e->to);
    put_label(b, g, e, " [label=\"", mortise_buf_escaped, "\"]");
    mortise_buf_puts(b, "\n");
}

static bool has_end(const struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].to == MORTISE_END)
            return true;
    return false;
}

static void dot_graph(struct mortise_buf *b, const struct mortise_picture *p,
                      const char *path)
{
    static const struct format format = {dot_node, dot_open, dot_close};
    const struct mortise_graph *g = p->graph;

    for (unsigned k = 0; k < (has_end(g) ? 2u : 1u); k++) {
        dot_name(b, g, path, k == 0 ? MORTISE_START : MORTISE_END);
        mortise_buf_printf(b, " [label=\"%s\", shape=oval]\n",
                           k == 0 ? "START" : "END");
    }
    put_region(b, p, &format, 0, path);
    for (uint32_t i = 0; i < g->n_edges; i++)
        dot_edge(b, g, &g->edges[i], path);
}

void mortise_picture_dot(struct mortise_buf *b, const struct mortise_picture *p)
{
    mortise_buf_puts(b, "digraph \"");
    mortise_buf_escaped(b, p->graph->name, strlen(p->graph->name));
    mortise_buf_puts(b, "\" {\nnode [shape=box]\n");
    dot_graph(b, p, "");
    mortise_buf_puts(b, "}\n");
}

/* ---- Mermaid ---------------------------------------------------------------
 */

/* Between quotes: entities, as backslashes mean nothing there, a backtick makes
 * it Markdown, and `%%{` is a directive wherever it stands. */
static void put_entities(struct mortise_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("\"#<>&%`", s[i]) != NULL && s[i] != '\0')
            mortise_buf_printf(b, "#%d;", s[i]);
        else
            mortise_buf_put(b, &s[i], 1);
}

/* Ids may be words of the language (`end`), so numbers stand for them: `n3`,
 * and `n3_1` for node 1 of the graph inside. */
static void mermaid_name(struct mortise_buf *b, const char *path, uint32_t node)
{
    if (node == MORTISE_START)
        mortise_buf_printf(b, "%sS", path);
    else if (node == MORTISE_END)
        mortise_buf_printf(b, "%sE", path);
    else
        mortise_buf_printf(b, "%s%u", path, node);
}

static void mermaid_graph(struct mortise_buf *b,
                          const struct mortise_picture *p, const char *path);

static void mermaid_nested(struct mortise_buf *b,
                           const struct mortise_picture *p,
                           const struct mortise_node *n, const char *path)
{
    const struct mortise_picture inner = mortise_picture_nested(p, n);
    char deeper[1024];

    if (snprintf(deeper, sizeof deeper, "%s%u_", path, n->index) >=
        (int)sizeof deeper)
        return;
    mortise_buf_printf(b, "subgraph %sg [\"%s: graph ", deeper, n->id);
    put_entities(b, n->sub->name, strlen(n->sub->name));
    mortise_buf_puts(b, "\"]\n");
    mermaid_graph(b, &inner, deeper);
    mortise_buf_puts(b, "end\n");
    mermaid_name(b, path, n->index);
    mortise_buf_puts(b, " -.- ");
    mermaid_name(b, deeper, MORTISE_START);
    mortise_buf_puts(b, "\n");
}

static void mermaid_node(struct mortise_buf *b, const struct mortise_picture *p,
                         uint32_t node, const char *path)
{
    const struct mortise_node *n = &p->graph->nodes[node];
    enum mortise_ran ran =
        p->overlay != NULL ? p->overlay[node].ran : MORTISE_RAN_NOT;

    mermaid_name(b, path, node);
    mortise_buf_printf(b, "[\"%s (%s)", n->id, mortise_node_type_name(n->type));
    put_visits(b, p, node);
    mortise_buf_puts(b, "\"]");
    if (ran != MORTISE_RAN_NOT)
        mortise_buf_printf(b, ":::%s", mortise_ran_name(ran));
    mortise_buf_puts(b, "\n");
    if (n->sub != NULL)
        mermaid_nested(b, p, n, path);
}

static void mermaid_open(struct mortise_buf *b, const char *path,
                         const char *kind, uint32_t number, const char *of)
{
    mortise_buf_printf(b, "subgraph %sr%u [\"%s %s\"]\n", path, number, kind,
                       of);
}

static void mermaid_close(struct mortise_buf *b)
{
    mortise_buf_puts(b, "end\n");
}

static void mermaid_edge(struct mortise_buf *b, const struct mortise_graph *g,
                         const struct mortise_edge *e, const char *path)
{
    mermaid_name(b, path, e->from);
    mortise_buf_puts(b, " -->");
    put_label(b, g, e, "|\"", put_entities, "\"|");
    mortise_buf_puts(b, " ");
    mermaid_name(b, path, e->to);
    mortise_buf_puts(b, "\n");
}

static void mermaid_graph(struct mortise_buf *b,
                          const struct mortise_picture *p, const char *path)
{
    static const struct format format = {mermaid_node, mermaid_open,
                                         mermaid_close};
    const struct mortise_graph *g = p->graph;

    mortise_buf_printf(b, "%sS([START])\n", path);
    if (has_end(g))
        mortise_buf_printf(b, "%sE([END])\n", path);
    put_region(b, p, &format, 0, path);
    for (uint32_t i = 0; i < g->n_edges; i++)
        mermaid_edge(b, g, &g->edges[i], path);
}

void mortise_picture_mermaid(struct mortise_buf *b,
                             const struct mortise_picture *p)
{
    mortise_buf_puts(b, "flowchart TD\n");
    mermaid_graph(b, p, "n");
    if (p->overlay != NULL)
        mortise_buf_puts(b, "classDef running fill:#add8e6\n"
                            "classDef waiting fill:#ffd700\n"
                            "classDef done fill:#98fb98\n"
                            "classDef failed fill:#fa8072\n"
                            "classDef skipped fill:#d3d3d3\n");
}

/* ---- text ------------------------------------------------------------------
 */

static void text_edge(struct mortise_buf *b, const struct mortise_picture *p,
                      const struct mortise_edge *e, bool from)
{
    size_t before;

    mortise_buf_puts(b, "  ");
    if (from)
        mortise_buf_printf(b, "%s ", mortise_picture_name(p->graph, e->from));
    mortise_buf_printf(b, "%s %s  ", p->ascii ? "->" : "\u2192",
                       mortise_picture_name(p->graph, e->to));
    before = b->n;
    mortise_picture_label(b, p->graph, e);
    if (b->n == before && !b->failed)
        b->n -= 2;
    mortise_buf_puts(b, "\n");
}

/* The edge from a map whose `to` is this node to its join is in no node's
 * `out`: nobody wrote it.  The map is one of the regions around the node. */
static void put_gathers(struct mortise_buf *b, const struct mortise_picture *p,
                        uint32_t node)
{
    const struct mortise_graph *g = p->graph;

    for (uint32_t i = g->nodes[node].region; i != 0; i = g->regions[i].parent) {
        const struct mortise_region *r = &g->regions[i];

        if (r->kind == MORTISE_REGION_MAP && g->edges[r->gather].from == node)
            text_edge(b, p, &g->edges[r->gather], false);
    }
}

/* Where a node leads. */
static void put_edges(struct mortise_buf *b, const struct mortise_picture *p,
                      uint32_t node)
{
    const struct mortise_graph *g = p->graph;
    bool start = node == MORTISE_START;
    const uint32_t *out = start ? g->start : g->nodes[node].out;
    uint32_t n = start ? g->n_start : g->nodes[node].n_out;

    for (uint32_t i = 0; i < n; i++)
        text_edge(b, p, &g->edges[out[i]], false);
    if (!start)
        put_gathers(b, p, node);
}

/* Each node, and below it where it leads. */
static void put_list(struct mortise_buf *b, const struct mortise_picture *p)
{
    const struct mortise_graph *g = p->graph;

    mortise_buf_puts(b, "START\n");
    put_edges(b, p, MORTISE_START);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        mortise_buf_printf(b, "%s (%s)", g->nodes[i].id,
                           mortise_node_type_name(g->nodes[i].type));
        put_visits(b, p, i);
        mortise_buf_puts(b, "\n");
        put_edges(b, p, i);
    }
}

/* What the lines are about, where that is not plain. */
static void put_legend(struct mortise_buf *b, const struct mortise_picture *p)
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
        text_edge(b, p, e, true);
    }
}

void mortise_picture_text(struct mortise_buf *b,
                          const struct mortise_picture *p)
{
    const struct mortise_graph *g = p->graph;

    if (mortise_picture_sketch(b, p))
        put_legend(b, p);
    else
        put_list(b, p);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct mortise_picture inner;

        if (g->nodes[i].sub == NULL)
            continue;
        inner = mortise_picture_nested(p, &g->nodes[i]);
        mortise_buf_printf(b, "\n%s: graph %s\n", g->nodes[i].id,
                           g->nodes[i].sub->name);
        mortise_picture_text(b, &inner);
    }
}
