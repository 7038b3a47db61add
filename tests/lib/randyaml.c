/* randyaml.c -- a model graph as a file. */
#include "core/base/buf.h"
#include "lib/randgraph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct page {
    struct mortise_buf b;
    int indent;
};

/* One line. */
__attribute__((format(printf, 2, 3))) static void put(struct page *p,
                                                      const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mortise_buf_printf(&p->b, "%*s%s\n", p->indent, "", text);
}

/* The turn of a node, as an expression. */
static const char *turn_of(const struct ref_graph *g, int node)
{
    static char text[64];
    int body = ref_body(g, g->nodes[node].region), n;

    n = snprintf(text, sizeof text, "(node.visit");
    if (body != 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " + i%d",
                      g->regions[body].entry);
    if (g->is_sub)
        n += snprintf(text + n, sizeof text - (size_t)n, " + input.v");
    snprintf(text + n, sizeof text - (size_t)n, ")");
    return text;
}

static const char *cond_of(const struct ref_graph *g, const struct ref_cond *c,
                           int node)
{
    static char text[128];

    switch (c->ask) {
    case REF_ALWAYS:
        return "true";
    case REF_NEVER:
        return "false";
    case REF_TURN:
    case REF_TURN_NOT:
        snprintf(text, sizeof text, "%s %% %d %s %d", turn_of(g, node), c->m,
                 c->ask == REF_TURN ? "==" : "!=", c->r);
        break;
    case REF_LOG_SIZE:
        snprintf(text, sizeof text, "size(scratch.log) %% %d == %d", c->m,
                 c->r);
        break;
    }
    return text;
}

static const char *name_of(int node)
{
    static char text[16];

    if (node == REF_END)
        return "END";
    snprintf(text, sizeof text, "n%d", node);
    return text;
}

/* ---- nodes -------------------------------------------------------------- */

static void put_outputs(struct page *p, const struct ref_graph *g, int i)
{
    const struct ref_node *n = &g->nodes[i];
    int body = ref_body(g, n->region);

    put(p, "outputs:");
    if (body != 0)
        put(p,
            "  scratch.log: \"['n%d#' + string(node.visit) + '.' + "
            "string(i%d)]\"",
            i, g->regions[body].entry);
    else
        put(p, "  scratch.log: \"['n%d#' + string(node.visit)]\"", i);
    for (int c = 0; c < REF_CELLS; c++) {
        char expr[160];

        if (!n->writes[c])
            continue;
        ref_cell_expr(c, i, n, turn_of(g, i), expr, sizeof expr);
        put(p, "  scratch.%s: \"%s\"", ref_cell_name(c), expr);
    }
}

static void put_routes(struct page *p, const struct ref_graph *g, int i)
{
    bool opened = false;

    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];

        if (edge->from != i || edge->kind != REF_ROUTE)
            continue;
        if (!opened)
            put(p, "routes:");
        put(p, "  - {when: \"%s\", to: %s}", cond_of(g, &edge->when, i),
            name_of(edge->to));
        opened = true;
    }
    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];

        if (edge->from == i && edge->kind == REF_DEFAULT)
            put(p, "default: %s", name_of(edge->to));
        else if (edge->from == i && edge->kind == REF_ERROR)
            put(p, "on_error: {goto: %s}", name_of(edge->to));
        else if (edge->from == i && edge->kind == REF_TARGET)
            put(p, "targets: %s", name_of(edge->to));
    }
}

static void put_join(struct page *p, const struct ref_join *join)
{
    if (join->best_effort)
        put(p, "join: best_effort");
    else if (join->need == 1)
        put(p, "join: any");
    else if (join->need > 1)
        put(p, "join: {quorum: %d}", join->need);
    if (join->finish)
        put(p, "losers: finish");
    if (join->on_error == REF_COLLECT)
        put(p, "on_branch_error: collect");
    else if (join->on_error == REF_FAIL && join->need > 0)
        put(p, "on_branch_error: fail");
    else if (join->on_error == REF_DROP && join->need == 0 &&
             !join->best_effort)
        put(p, "on_branch_error: drop"); /* `any` and `quorum` do so anyway */
}

static void put_goto(struct page *p, const struct ref_graph *g, int i)
{
    for (int e = 0; e < g->n_edges; e++) {
        const struct ref_edge *edge = &g->edges[e];

        if (edge->from == i && edge->kind == REF_TARGET)
            put(p, "  goto: \"${%s ? '%s' : ''}\"", cond_of(g, &edge->when, i),
                name_of(edge->to));
    }
}

/* May edges out of it be judged?  A subgraph's end is one with that of the last
 * thing in it, for the model, and then it would not be. */
static bool is_judged(const struct ref_graph *g, int i)
{
    return g->nodes[i].sub == NULL && i % 2 == 1;
}

/* Some nodes have guardrails: those of one that may fail are what fails it, by
 * its arguments, by its output, or on an edge that it takes whenever it
 * succeeds; those of others have nothing to say. */
enum guarding { UNGUARDED, GUARDED_BEFORE, GUARDED_BEHIND, GUARDED_EDGES };

static enum guarding guarding_of(const struct ref_graph *g, int i)
{
    bool is_static = false, chooses = false;

    for (int e = 0; e < g->n_edges; e++) {
        is_static |= g->edges[e].from == i && g->edges[e].kind == REF_STATIC;
        chooses |= g->edges[e].from == i && g->edges[e].kind == REF_TARGET;
    }
    return is_static && !chooses && is_judged(g, i) ? GUARDED_EDGES
                                                    : (enum guarding)(i % 3);
}

static void put_guards(struct page *p, enum guarding how)
{
    if (how == GUARDED_BEFORE)
        put(p, "guardrail_policy: {input: [ok, wary], output: [ok]}");
    if (how == GUARDED_BEHIND)
        put(p, "guardrail_policy: {output: [wary], on_violation: block}");
}

static void put_tool(struct page *p, const struct ref_graph *g, int i)
{
    static const char *const ops[] = {"echo", "read", "idem", "rec"};
    const struct ref_node *n = &g->nodes[i];
    bool may_fail = n->fails.ask != REF_NEVER;

    put(p, "type: tool");
    put(p, "tool: t/%s",
        may_fail && guarding_of(g, i) == UNGUARDED ? "fail" : ops[n->op]);
    put_guards(p, guarding_of(g, i));
    if (!may_fail && n->op >= 2 && i % 3 != 2) /* it writes */
        put(p, "resource: r%d", i % 3);
    if (!may_fail && n->op == 0 && i % 4 < 2) /* it is pure */
        put(p, "cache: true");
    put(p, "args:");
    put(p, "  saw: \"${scratch}\"");
    put(p, "  n: \"${size(artifacts)}\"");
    if (may_fail)
        put(p, "  times: \"${%s ? 9 : 0}\"", cond_of(g, &n->fails, i));
    put_goto(p, g, i);
    if (n->join.on_error == REF_COLLECT)
        put(p, "  failed: \"${size(node.failed)}\"");
    put_outputs(p, g, i);
    if (n->rescued)
        put(p, "on_error: {value: \"{'saw': scratch, 'n': size(artifacts), "
               "'times': 0}\"}");
}

static void put_graph(struct page *p, const struct ref_graph *g);

static void put_node(struct page *p, const struct ref_graph *g, int i)
{
    const struct ref_node *n = &g->nodes[i];

    put(p, "n%d:", i);
    p->indent += 2;
    if (n->sub != NULL) {
        put(p, "type: subgraph");
        put(p, "input_mapping: {input.v: \"%s\"}", turn_of(g, i));
        put(p, "output_mapping: {scratch.log: "
               "\"has(scratch.log) ? scratch.log : []\"}");
        put(p, "graph:");
        p->indent += 2;
        put_graph(p, n->sub);
        p->indent -= 2;
    } else {
        put_tool(p, g, i);
    }
    for (int e = 0; e < g->n_edges; e++) {
        if (g->edges[e].kind == REF_FIND && g->edges[e].to == i)
            put(p, "capability: what is looked for");
    }
    if (i % 5 == 4)
        put(p, "checkpoint: both");
    put_join(p, &n->join);
    put_routes(p, g, i);
    p->indent -= 2;
}

/* ---- edges -------------------------------------------------------------- */

static const char *list_of(const struct ref_graph *g, int source, int n)
{
    static char texts[2][128];
    static int turn;
    char *text = texts[turn++ % 2];
    int body = source < 0 ? 0 : ref_body(g, g->nodes[source].region), at;

    at = snprintf(text, sizeof texts[0], "[");
    for (int i = 1; i <= n; i++) {
        at += snprintf(text + at, sizeof texts[0] - (size_t)at, "%s",
                       i > 1 ? ", " : "");
        if (body != 0)
            at += snprintf(text + at, sizeof texts[0] - (size_t)at,
                           "i%d * 10 + ", g->regions[body].entry);
        at += snprintf(text + at, sizeof texts[0] - (size_t)at, "%d", i);
    }
    snprintf(text + at, sizeof texts[0] - (size_t)at, "]");
    return text;
}

/* It sees the input alone. */
static const char *start_cond_of(const struct ref_cond *when)
{
    return when->ask == REF_ALWAYS ? "input.v >= 0" : "input.v < 0";
}

static void put_map(struct page *p, const struct ref_graph *g,
                    const struct ref_edge *e)
{
    bool start = e->from == REF_START;

    put(p, "  - from: %s", start ? "START" : name_of(e->from));
    put(p,
        "    map: {over: \"%s ? %s : %s\", as: i%d, to: n%d, join: n%d, "
        "max_parallel: %d}",
        start ? start_cond_of(&e->when) : cond_of(g, &e->when, e->from),
        list_of(g, e->from, e->some), list_of(g, e->from, e->others), e->to,
        e->to, e->join, e->max_parallel);
}

static void put_edge(struct page *p, const struct ref_graph *g,
                     const struct ref_edge *e)
{
    char from[16], to[16];

    snprintf(from, sizeof from, "%s",
             e->from == REF_START ? "START" : name_of(e->from));
    snprintf(to, sizeof to, "%s", name_of(e->to));
    if (e->kind == REF_STATIC && e->from != REF_START &&
        guarding_of(g, e->from) == GUARDED_EDGES)
        put(p, "  - {from: %s, to: %s, guardrail_policy: {input: [ok, wary]}}",
            from, to);
    else if (e->kind == REF_STATIC)
        put(p, "  - {from: %s, to: %s}", from, to);
    else if (e->from == REF_START)
        put(p, "  - {from: START, to: %s, when: %s}", to,
            start_cond_of(&e->when));
    else
        put(p, "  - {from: %s, to: %s, when: \"%s\"}", from, to,
            cond_of(g, &e->when, e->from));
}

/* Both arms; a detour is one, too. */
static void put_arms(struct page *p, const struct ref_graph *g,
                     const struct ref_edge *e)
{
    bool first = e->when.ask == REF_ALWAYS;
    char above[16], below[16];

    snprintf(above, sizeof above, "%s", name_of(e[0].to));
    snprintf(below, sizeof below, "%s", name_of(e[1].to));
    if (is_judged(g, e->from)) {
        put(p,
            "  - {from: n%d, to: %s, guardrail_policy: {input: [ok, %s],\n"
            "     on_violation: reroute, reroute_target: %s}}",
            e->from, above, first ? "ok" : "stern", below);
        return;
    }
    put(p,
        "  - {from: n%d, personality: {trait: %s, threshold: 0.5, "
        "above: %s, below: %s}}",
        e->from, first ? "openness" : "emotionality", above, below);
}

/* Of a personality: the second arm is written with the first. */
static bool is_first_arm(const struct ref_graph *g, int i)
{
    int n = 0;

    while (i - n >= 0 && g->edges[i - n].kind == REF_ARM &&
           g->edges[i - n].from == g->edges[i].from)
        n++;
    return n % 2 == 1;
}

static void put_graph(struct page *p, const struct ref_graph *g)
{
    bool has_arms = false;

    for (int i = 0; i < g->n_edges; i++)
        has_arms |=
            g->edges[i].kind == REF_ARM && !is_judged(g, g->edges[i].from);
    if (has_arms)
        put(p, "persona: {traits: {openness: 0.5, emotionality: 0.4}}");
    if (g->n_edges % 2 == 0) /* which shows nowhere but in the commits */
        put(p, "checkpoint_policy: none");
    put(p, "state:");
    put(p, "  reducers:");
    for (int c = 0; c <= REF_CELLS; c++) {
        if (ref_cell_reducer(c) != NULL)
            put(p, "    scratch.%s: %s", ref_cell_name(c), ref_cell_reducer(c));
    }
    if (g->calls + g->tokens > 0)
        put(p, "budget:");
    if (g->calls > 0)
        put(p, "  tool_calls: %d", g->calls);
    if (g->tokens > 0)
        put(p, "  tokens: %d", g->tokens);
    if (g->fail_fast)
        put(p, "failure: fail_fast");
    if (g->end_first)
        put(p, "end: first");
    put(p, "nodes:");
    p->indent += 2;
    for (int i = 0; i < g->n; i++)
        put_node(p, g, i);
    p->indent -= 2;
    put(p, "edges:");
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (e->kind == REF_MAP)
            put_map(p, g, e);
        else if (e->kind == REF_STATIC || e->kind == REF_WHEN)
            put_edge(p, g, e);
        else if (e->kind == REF_ARM && is_first_arm(g, i))
            put_arms(p, g, e);
        else if (e->kind == REF_FIND)
            put(p,
                "  - {from: n%d, discovery: {query: \"${node.id}\", "
                "fallback: %s}}",
                e->from, name_of(e->to));
    }
}

static void put_limits(struct page *p, const struct ref_graph *g)
{
    put(p, "limits:");
    put(p, "  concurrency: %d", RAND_CONCURRENCY);
    if (g->steps > 0)
        put(p, "  steps: %d", g->steps);
    if (g->visits > 0)
        put(p, "  visits: %d", g->visits);
}

static void put_interrupts(struct page *p, const struct ref_graph *g,
                           const char *key, const bool *which)
{
    put(p, "%s:", key);
    for (int i = 0; i < g->n; i++) {
        if (which[i])
            put(p, "  - %s", name_of(i));
    }
}

static bool is_any(const bool *which, int n)
{
    while (n > 0 && !which[n - 1])
        n--;
    return n > 0;
}

char *rand_yaml(const struct ref_graph *g)
{
    struct page p = {.indent = 0};
    char *text;

    mortise_buf_init(&p.b, &mortise_heap);
    put(&p, "apiVersion: mortise/v1");
    put(&p, "kind: Graph");
    put(&p, "metadata: {name: g, version: 1.0.0}");
    put_limits(&p, g);
    if (is_any(g->before, g->n))
        put_interrupts(&p, g, "interrupt_before", g->before);
    if (is_any(g->after, g->n))
        put_interrupts(&p, g, "interrupt_after", g->after);
    put_graph(&p, g);
    text = strdup(mortise_buf_cstr(&p.b));
    mortise_buf_finish(&p.b);
    return text;
}
