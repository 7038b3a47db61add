/* test_picture.c -- every edge of a graph stands in its picture, in each
 * format, and none that is not there: the boxes and lines are read back. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/draw/picture.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"
#include "lib/catalog.h"
#include "lib/randgraph.h"
#include "lib/sim.h"
#include "lib/test.h"
#include "lib/trace.h"

static struct mortise_graph *graph;
static struct mortise_diags diags;
static struct mortise_buf out;
static struct trace trace;

static void begin(void)
{
    test_begin();
    graph = NULL;
    mortise_diags_init(&diags, &test_mem);
    mortise_buf_init(&out, &test_mem);
}

static void end(void)
{
    mortise_graph_unref(graph);
    test_catalog_finish();
    mortise_diags_finish(&diags);
    mortise_buf_finish(&out);
    test_nothing_left();
}

static void load_with(const struct mortise_catalog *catalog, const char *path,
                      const char *text, size_t n)
{
    mortise_graph_unref(graph);
    graph = NULL;
    if (mortise_graph_load(&graph, &test_mem, path, text, n, catalog, &diags,
                           NULL) == MORTISE_OK)
        return;
    mortise_buf_clear(&out);
    mortise_diags_format(&diags, &out);
    ck_abort_msg("%s", mortise_buf_cstr(&out));
}

static void load(const char *path, const char *text, size_t n)
{
    load_with(test_catalog(), path, text, n);
}

typedef void format_fn(struct mortise_buf *b, const struct mortise_picture *p);

static const char *draw(format_fn *fn, const struct mortise_graph *g,
                        size_t columns, bool ascii)
{
    const struct mortise_picture p = {
        .graph = g, .columns = columns, .ascii = ascii};

    mortise_buf_clear(&out);
    fn(&out, &p);
    ck_assert_ptr_nonnull(mortise_buf_cstr(&out));
    return out.p;
}

static const char *name(const struct mortise_graph *g, uint32_t node)
{
    return mortise_picture_get_node_name(g, node);
}

/* ---- each format, against the list of edges -------------------------------
 */

/* Lines of `text` that begin with this and go on with nothing or a blank. */
static unsigned count(const char *text, const char *line)
{
    unsigned n = 0;

    for (const char *p = text; *p != '\0';
         p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n'))
        n += strncmp(p, line, strlen(line)) == 0 &&
             strchr(" \n", p[strlen(line)]) != NULL;
    return n;
}

/* Edges with these ends. */
static unsigned edges_between(const struct mortise_graph *g,
                              const struct mortise_edge *e)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < g->n_edges; i++)
        n += g->edges[i].from == e->from && g->edges[i].to == e->to;
    return n;
}

static void check_dot(const struct mortise_graph *g)
{
    draw(mortise_picture_print_dot, g, 0, false);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct mortise_edge *e = &g->edges[i];
        char line[256];

        snprintf(line, sizeof line, "\"%s\" -> \"%s\"", name(g, e->from),
                 name(g, e->to));
        ck_assert_msg(count(out.p, line) == edges_between(g, e),
                      "%s: %u times %s in\n%s", g->path, count(out.p, line),
                      line, out.p);
    }
}

static void mermaid_end(char text[32], uint32_t node)
{
    if (node == MORTISE_START || node == MORTISE_END)
        strcpy(text, node == MORTISE_START ? "nS" : "nE");
    else
        snprintf(text, 32, "n%u", node);
}

/* `FROM -->[|"LABEL"|] TO` */
static unsigned count_mermaid(const char *from, const char *to)
{
    unsigned n = 0;

    for (const char *p = out.p; *p != '\0'; p += strcspn(p, "\n") + 1) {
        size_t len = strcspn(p, "\n"), f = strlen(from), t = strlen(to);

        n += len > f + t && strncmp(p, from, f) == 0 &&
             strncmp(p + f, " -->", 4) == 0 && p[len - t - 1] == ' ' &&
             strncmp(p + len - t, to, t) == 0;
    }
    return n;
}

static void check_mermaid(const struct mortise_graph *g)
{
    draw(mortise_picture_print_mermaid, g, 0, false);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct mortise_edge *e = &g->edges[i];
        char from[32], to[32];

        mermaid_end(from, e->from);
        mermaid_end(to, e->to);
        ck_assert_msg(count_mermaid(from, to) == edges_between(g, e),
                      "%s: %s to %s in\n%s", g->path, from, to, out.p);
    }
}

/* The list stands where no picture fits: nodes, and below them their edges. */
static void check_list(const struct mortise_graph *g)
{
    char from[128] = "", line[256];
    unsigned n = 0;

    draw(mortise_picture_print_text, g, 1, false);
    for (const char *p = out.p; *p != '\0' && *p != '\n';
         p += strcspn(p, "\n") + 1) {
        if (*p != ' ') {
            snprintf(from, sizeof from, "%.*s", (int)strcspn(p, " \n"), p);
            continue;
        }
        n++;
        for (uint32_t i = 0; i < g->n_edges; i++) {
            const struct mortise_edge *e = &g->edges[i];

            snprintf(line, sizeof line, "  \u2192 %s", name(g, e->to));
            if (strcmp(name(g, e->from), from) == 0 && count(p, line) > 0)
                break;
            ck_assert_msg(i + 1 < g->n_edges, "%s: no such edge: %s %.40s",
                          g->path, from, p);
        }
    }
    ck_assert_msg(n == g->n_edges, "%s: %u edges of %u in\n%s", g->path, n,
                  g->n_edges, out.p);
}

/* The very edges, by following the lines. */
static void check_sketch(const struct mortise_graph *g)
{
    unsigned n = 0;

    draw(mortise_picture_print_text, g, 900, false);
    ck_assert_msg(trace_picture(&trace, out.p), "%s: no picture:\n%s", g->path,
                  out.p);
    ck_assert_uint_eq(trace.n_boxes, g->n_nodes + 1);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct mortise_edge *e = &g->edges[i];
        bool first = true;

        for (uint32_t k = 0; k < i; k++)
            first &= g->edges[k].from != e->from || g->edges[k].to != e->to;
        n += first;
        ck_assert_msg(trace_has(&trace, name(g, e->from), name(g, e->to)),
                      "%s: no line from %s to %s:\n%s", g->path,
                      name(g, e->from), name(g, e->to), out.p);
    }
    ck_assert_msg(trace.n_edges == n, "%s: %zu lines for %u:\n%s", g->path,
                  trace.n_edges, n, out.p);
}

static void check_all(const struct mortise_graph *g)
{
    check_dot(g);
    check_mermaid(g);
    check_list(g);
    check_sketch(g);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].sub != NULL)
            check_all(g->nodes[i].sub);
}

/* ---- tests ----------------------------------------------------------------
 */

/* Every graph of tests/graphs/good, in every format. */
START_TEST(good_graphs)
{
    struct dirent **names;
    int n = scandir("tests/graphs/good", &names, NULL, alphasort), seen = 0;

    for (int i = 0; i < n; i++) {
        char path[512];

        snprintf(path, sizeof path, "tests/graphs/good/%s", names[i]->d_name);
        if (strstr(path, ".yaml") != NULL) {
            size_t size;
            char *text = test_read(path, &size);

            load(path, text, size);
            check_all(graph);
            free(text);
            seen++;
        }
        free(names[i]);
    }
    free(names);
    ck_assert_int_gt(seen, 5);
}
END_TEST

static unsigned seed;

static unsigned chance(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

/* n nodes; each leads to some that come later, to END, or back to itself. */
static void random_graph(unsigned n)
{
    char *text = malloc(1 << 20), *p = text;

    p += sprintf(p, "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: r}\n"
                    "start: [n0");
    for (unsigned i = 1; i < n; i++)
        p += sprintf(p, ", n%u", i); /* nothing is without a way to it */
    p += sprintf(p, "]\nnodes:\n");
    for (unsigned i = 0; i < n; i++) {
        unsigned some = chance(4);

        p += sprintf(p, "  n%u: {type: tool, tool: pay/refund, next: [END", i);
        for (unsigned k = i + 1; k < n && some > 0; k++)
            if (chance(3) == 0) {
                p += sprintf(p, ", n%u", k);
                some--;
            }
        p += sprintf(p, "]%s}\n",
                     i + 1 < n && chance(4) == 0 ? ", on_error: {goto: END}"
                                                 : "");
    }
    load("random", text, (size_t)(p - text));
    free(text);
}

/* Random graphs of all sizes that are drawn. */
START_TEST(random_graphs)
{
    for (unsigned n = 1; n < 26; n++)
        for (unsigned k = 0; k < 4; k++) {
            seed = n * 100 + k;
            random_graph(n);
            check_dot(graph);
            check_mermaid(graph);
            check_list(graph);
            draw(mortise_picture_print_text, graph, 900, false);
            if (strstr(out.p, "\u250c") != NULL) /* else it was too wide */
                check_sketch(graph);
            else
                ck_assert_uint_gt(n, 10);
        }
}
END_TEST

/* ---- against what was written, and not what was compiled ------------------ */

static const char *ref_name(int node, char room[16])
{
    if (node == REF_START || node == REF_END)
        return node == REF_START ? "START" : "END";
    snprintf(room, 16, "n%d", node);
    return room;
}

static unsigned ref_between(const struct ref_graph *g, int from, int to)
{
    unsigned n = 0;

    for (int i = 0; i < g->n_edges; i++)
        n += g->edges[i].from == from && g->edges[i].to == to;
    return n;
}

/* Every edge of the model is in the graph's list, as often, and no other is:
 * then check_all() finds it in every format. */
static void check_model(const struct ref_graph *model)
{
    draw(mortise_picture_print_dot, graph, 0, false);
    for (int i = 0; i < model->n_edges; i++) {
        const struct ref_edge *e = &model->edges[i];
        char from[16], to[16], line[64];

        snprintf(line, sizeof line, "\"%s\" -> \"%s\"", ref_name(e->from, from),
                 ref_name(e->to, to));
        ck_assert_msg(count(out.p, line) == ref_between(model, e->from, e->to),
                      "%u times %s in\n%s", count(out.p, line), line, out.p);
    }
    ck_assert_uint_eq(graph->n_edges, (unsigned)model->n_edges);
}

/* Graphs of all that may be in them: each edge of the model is drawn. */
START_TEST(models)
{
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t state = i;
        struct ref_graph model;
        char *text;

        rand_graph(&model,
                   i % 2 == 0 ? 1023 & ~(unsigned)RAND_SUBS : 1u << i / 2 % 10,
                   &state);
        text = rand_yaml(&model);
        load_with(&sim_catalog, "model", text, strlen(text));
        check_model(&model);
        check_dot(graph);
        check_mermaid(graph);
        check_list(graph);
        free(text);
        rand_free(&model);
    }
}
END_TEST

static const struct {
    const char *from, *to, *label;
} kinds[] = {
    {"START", "h", ""},
    {"h", "late", "on timeout"},
    {"h", "r", ""},
    {"r", "c", "when input.x == 1"},
    {"r", "g", "default"},
    {"c", "g", "when named"},
    {"c", "m", "when named"},
    {"g", "bad", "on violation"},
    {"g", "m", ""},
    {"m", "e", "for each item of input.list"},
    {"e", "j", "its result"},
    {"e", "j", "all of them"},
    {"j", "oops", "on error"},
    {"j", "j", "when node.visit < 2, again"},
    {"j", "END", "default"},
    {"late", "END", "when input.y == 1"},
    {"bad", "END", "when openness >= 0.5"},
    {"bad", "oops", "when openness < 0.5"},
    {"oops", "e2", "when found: a tool"},
    {"oops", "END", "when not found: a tool"},
    {"e2", "END", "when input.y == 2"},
    {"e2", "END", "on violation, instead of END"},
    {"e2", "END", "default"},
};

/* One edge of each kind, by hand: every word that leads somewhere is a line. */
START_TEST(every_kind)
{
    static const char text[] =
        "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: kinds}\n"
        "start: h\n"
        "nodes:\n"
        "  h: {type: human, prompt: x, wait: 1h, on_timeout: {goto: late}, "
        "next: r}\n"
        "  r: {type: router, routes: [{when: input.x == 1, to: c}], default: "
        "g}\n"
        "  c: {type: router, condition: input.next, targets: [g, m]}\n"
        "  g: {type: guardrail, guardrails: [pii], on_violation: reroute, "
        "reroute_target: bad, next: m}\n"
        "  m: {type: human, prompt: x, map: {over: input.list, as: item, to: "
        "e, join: j}}\n"
        "  e: {type: tool, tool: pay/refund, on_in_doubt: ask, next: j}\n"
        "  j: {type: tool, tool: pay/refund, on_in_doubt: ask, on_error: "
        "{goto: oops}, routes: [{when: node.visit < 2, to: j}], default: "
        "END}\n"
        "  late: {type: human, prompt: x, routes: {all: [{when: input.y == 1, "
        "to: END}]}}\n"
        "  bad: {type: human, prompt: x}\n"
        "  oops: {type: human, prompt: x}\n"
        "  e2: {type: tool, tool: pay/refund, on_in_doubt: ask, capability: "
        "it pays, routes: [{when: input.y == 2, to: END, guardrail_policy: "
        "{input: [pii], on_violation: reroute, reroute_target: END}}], "
        "default: END}\n"
        "edges:\n"
        "  - {from: bad, personality: {trait: openness, threshold: 0.5, "
        "above: END, below: oops}}\n"
        "  - {from: oops, discovery: {query: a tool, kind: tool, fallback: "
        "END}}\n";
    enum { N = sizeof kinds / sizeof kinds[0] };
    struct mortise_buf label;
    bool seen[N] = {false};

    load("kinds", text, sizeof text - 1);
    ck_assert_uint_eq(graph->n_edges, N);
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct mortise_edge *e = &graph->edges[i];
        size_t k = 0;

        mortise_buf_init(&label, &test_mem);
        mortise_picture_print_label(&label, graph, e);
        mortise_buf_cstr(&label);
        while (k < N &&
               (seen[k] || strcmp(kinds[k].from, name(graph, e->from)) != 0 ||
                strcmp(kinds[k].to, name(graph, e->to)) != 0 ||
                strcmp(kinds[k].label, label.n > 0 ? label.p : "") != 0))
            k++;
        ck_assert_msg(k<N, "%s to %s: %s", name(graph, e->from),
                          name(graph, e->to), label.n> 0
                          ? label.p
                          : "");
        seen[k] = true;
        mortise_buf_finish(&label);
    }
    check_all(graph);
}
END_TEST

/* Ids that are words of the formats, and texts that would end what they stand
 * in, be a directive or Markdown, or move what a terminal shows. */
START_TEST(hostile_words)
{
    static const char text[] =
        "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: end}\n"
        "start: end\n"
        "nodes:\n"
        "  end: {type: human, prompt: x, next: subgraph}\n"
        "  subgraph: {type: human, prompt: x, next: [graph, node, edge]}\n"
        "  graph: {type: human, prompt: x, capability: y, next: END}\n"
        "  node: {type: human, prompt: x, next: END}\n"
        "  edge: {type: human, prompt: x}\n"
        "  digraph: {type: tool, tool: pay/refund, capability: z, on_in_doubt: "
        "ask, next: END}\n"
        "edges:\n"
        "  - {from: node, to: graph, when: \"input.x == 'a\\0b'\"}\n"
        "  - {from: edge, discovery: {kind: tool, fallback: END, query: "
        "\"`a` %%{init: {}}%% ]|\\\"}--> \\e[31m \\u202e &amp; <b> "
        "\\r\\n; # }\"}}\n";
    const char *line;

    load("hostile", text, sizeof text - 1);
    check_all(graph);
    draw(mortise_picture_print_mermaid, graph, 0, false);
    ck_assert_uint_eq(strlen(out.p), out.n);
    ck_assert_ptr_nonnull(
        strstr(out.p, "|\"when found: #96;a#96; #37;#37;{init: {}}#37;#37; "
                      "]|#34;}--#62; \\u001b[31m \\u202e #38;amp; #60;b#62; "
                      "  ; #35; }\"|"));
    ck_assert_ptr_nonnull(strstr(out.p, "|\"when input.x == 'a\\u0000b'\"|"));
    line = draw(mortise_picture_print_dot, graph, 0, false);
    ck_assert_uint_eq(strlen(out.p), out.n);
    ck_assert_ptr_nonnull(strstr(line, "]|\\\"}--> \\\\u001b[31m"));
    draw(mortise_picture_print_text, graph, 900, false);
    ck_assert_ptr_null(strchr(out.p, '\x1b'));
    ck_assert_uint_eq(strlen(out.p), out.n);
}
END_TEST

/* No line is longer than asked for; ASCII is the same picture. */
START_TEST(fits)
{
    char *unicode, *ascii;

    seed = 7;
    random_graph(9);
    for (size_t columns = 20; columns < 200; columns += 3) {
        draw(mortise_picture_print_text, graph, columns, true);
        if (out.p[0] == 'S') /* a list */
            continue;
        for (const char *p = out.p; *p != '\n'; p += strcspn(p, "\n") + 1)
            ck_assert_uint_le(strcspn(p, "\n"), columns);
    }
    unicode = strdup(draw(mortise_picture_print_text, graph, 900, false));
    ascii = strdup(draw(mortise_picture_print_text, graph, 900, true));
    for (const char *u = unicode, *a = ascii; strncmp(u, "\n\n", 2) != 0;) {
        size_t n = (unsigned char)*u < 0x80 ? 1 : 3;

        ck_assert_uint_lt((unsigned char)*a, 0x80);
        if (n == 1)
            ck_assert_int_eq(*u, *a);
        u += n;
        a++;
    }
    free(unicode);
    free(ascii);
}
END_TEST

/* Sixty-one nodes, and many more, are a list, in time that grows with them. */
START_TEST(large_graphs_are_lists)
{
    unsigned lines = 0;

    seed = 3;
    random_graph(61);
    draw(mortise_picture_print_text, graph, 100000, false);
    ck_assert_int_eq(strncmp(out.p, "START\n", 6), 0);
    random_graph(2000);
    draw(mortise_picture_print_text, graph, 100000, false);
    for (const char *p = out.p; *p != '\0'; p += strcspn(p, "\n") + 1)
        lines++;
    ck_assert_uint_eq(lines, 1 + graph->n_nodes + graph->n_edges);
}
END_TEST

/* What ran is marked: in words, or by a character. */
START_TEST(overlay)
{
    static const char text[] =
        "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: o}\n"
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: pay/refund, next: [b, c, d, e]}\n"
        "  b: {type: tool, tool: pay/refund, next: END}\n"
        "  c: {type: tool, tool: pay/refund, next: END}\n"
        "  d: {type: tool, tool: pay/refund, next: END}\n"
        "  e: {type: tool, tool: pay/refund, next: END}\n";
    const struct mortise_overlay o[] = {
        {.ran = MORTISE_RAN_DONE, .visits = 3},
        {.ran = MORTISE_RAN_FAILED, .visits = 1},
        {.ran = MORTISE_RAN_SKIPPED, .visits = 0},
        {.ran = MORTISE_RAN_WAITS, .visits = 1},
        {.ran = MORTISE_RAN_NOT, .visits = 0}};
    struct mortise_picture p = {.overlay = o, .columns = 200};

    load("overlay", text, sizeof text - 1);
    p.graph = graph;
    mortise_picture_print_text(&out, &p);
    ck_assert_ptr_nonnull(strstr(mortise_buf_cstr(&out), "\u2713 a (tool) x3"));
    ck_assert_ptr_nonnull(strstr(out.p, "\u2717 b (tool)"));
    ck_assert_ptr_nonnull(strstr(out.p, "- c (tool)"));
    ck_assert_ptr_nonnull(strstr(out.p, "? d (tool)"));
    ck_assert_ptr_nonnull(strstr(out.p, "\u2502 e (tool)"));
    p.columns = 5;
    mortise_buf_clear(&out);
    mortise_picture_print_text(&out, &p);
    ck_assert_ptr_nonnull(
        strstr(mortise_buf_cstr(&out), "\nb (tool) failed\n"));
    mortise_buf_clear(&out);
    mortise_picture_print_mermaid(&out, &p);
    ck_assert_ptr_nonnull(
        strstr(mortise_buf_cstr(&out), "n0[\"a (tool) done x3\"]:::done\n"));
    mortise_buf_clear(&out);
    mortise_picture_print_dot(&out, &p);
    ck_assert_ptr_nonnull(strstr(mortise_buf_cstr(&out),
                                 "\"b\" [label=\"b\\ntool failed\", "
                                 "style=filled, fillcolor=salmon]\n"));
}
END_TEST

/* Words of a graph cannot break out of their quotes. */
START_TEST(labels_are_quoted)
{
    static const char text[] =
        "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: q}\n"
        "start: a\nnodes:\n"
        "  a:\n    type: router\n    routes:\n"
        "      - when: |\n          input.x ==\n            \"a\\\\b\"\n"
        "        to: END\n    default: END\n";

    load("quotes", text, sizeof text - 1);
    draw(mortise_picture_print_dot, graph, 0, false);
    ck_assert_ptr_nonnull(strstr(out.p, "==   \\\"a\\\\\\\\b\\\""));
    draw(mortise_picture_print_mermaid, graph, 0, false);
    ck_assert_ptr_nonnull(strstr(out.p, "==   #34;a\\\\b#34;"));
    check_all(graph);
}
END_TEST

/* Without memory it says so, whatever it was about to draw. */
START_TEST(out_of_memory)
{
    static format_fn *const formats[] = {mortise_picture_print_text,
                                         mortise_picture_print_dot,
                                         mortise_picture_print_mermaid};
    struct mortise_picture p = {.columns = 900};
    int n = 0;

    seed = 11;
    random_graph(8);
    p.graph = graph;
    do {
        struct mortise_buf b;

        mortise_buf_init(&b, &test_mem);
        test_mem_fail_at(n++);
        formats[_i](&b, &p);
        ck_assert_int_eq(b.failed, test_mem_failed());
        mortise_buf_finish(&b);
    } while (test_mem_failed());
    test_mem_fail_at(-1);
    ck_assert_int_gt(n, 2);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("picture");
    TCase *tc = tcase_create("picture");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, good_graphs);
    tcase_add_test(tc, random_graphs);
    tcase_add_test(tc, models);
    tcase_add_test(tc, every_kind);
    tcase_add_test(tc, hostile_words);
    tcase_add_test(tc, fits);
    tcase_add_test(tc, large_graphs_are_lists);
    tcase_add_test(tc, overlay);
    tcase_add_test(tc, labels_are_quoted);
    tcase_add_loop_test(tc, out_of_memory, 0, 3);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
