/* flat.c -- a step costs what it does, not what there is.
 *
 * The same few hundred steps, each touching as little as a step may, in graphs
 * that grow a hundredfold and over states that grow sixteen thousandfold.  The
 * step function alone, where nothing else blurs the picture, then the engine
 * with its commits.  A cost that grew with the graph or the state would show as
 * a multiple; what is allowed for is what the processor's caches miss. */
#include "bench.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model/graph.h"
#include "core/mortise.h"

enum { STEPS = 400, REPEATS = 5, FEWER = 3, ITEM = 64 };

static const size_t graphs[] = {500, 5000, 50000};
static const size_t states[] = {1 << 10, 1 << 20, 15 << 20};
enum { SIZES = 3 };

/* ---- what grows -----------------------------------------------------------
 */

/* {"list": [...], "map": {...}}, half of the bytes each, 64 to an item. */
static json_t *state_of(size_t bytes)
{
    json_t *list = json_array(), *map = json_object(), *both;

    for (size_t i = 0; i < bytes / ITEM / 2; i++) {
        char key[24], text[ITEM];

        snprintf(key, sizeof key, "k%zu", i);
        snprintf(text, sizeof text, "%060zu", i);
        json_array_append_new(list, json_string(text));
        text[ITEM - 16] = '\0';
        json_object_set_new(map, key, json_string(text));
    }
    both = json_pack("{s:o, s:o}", "list", list, "map", map);
    if (both == NULL)
        bench_die("out of memory");
    return both;
}

static const char tool[] = "    type: tool\n"
                           "    tool: bench_now/step\n"
                           "    output_as: null\n";

static void head(struct mortise_buf *b, size_t n)
{
    mortise_buf_clear(b);
    bench_graph_head(b, "flat", "first");
    mortise_buf_printf(b,
                       "limits: {steps: %zu, concurrency: %zu}\n"
                       "state: {reducers: {scratch.list: concat}}\n"
                       "nodes:\n"
                       "  first:\n%s"
                       "    outputs:\n"
                       "      scratch.list: input.list\n"
                       "      scratch.map: input.map\n",
                       n + 2, n, tool);
}

/* A chain of n behind the first; its outputs, where "%" is the node's number.
 */
static void chain(struct mortise_buf *b, size_t n, const char *outputs)
{
    head(b, n);
    mortise_buf_puts(b, "    next: n0\n");
    for (size_t i = 0; i < n; i++) {
        mortise_buf_printf(b, "  n%zu:\n%s    outputs: {", i, tool);
        for (const char *c = outputs; *c != '\0'; c++) {
            if (*c == '%')
                mortise_buf_printf(b, "%zu", i % 8);
            else
                mortise_buf_put_u8(b, (uint8_t)*c);
        }
        mortise_buf_puts(b, "}\n");
        if (i + 1 < n)
            mortise_buf_printf(b, "    next: n%zu\n", i + 1);
    }
}

/* The first, n beside each other, a join. */
static void fan(struct mortise_buf *b, size_t n)
{
    head(b, n);
    mortise_buf_puts(b, "    next: [w0");
    for (size_t i = 1; i < n; i++)
        mortise_buf_printf(b, ", w%zu", i);
    mortise_buf_puts(b, "]\n");
    for (size_t i = 0; i < n; i++)
        mortise_buf_printf(b,
                           "  w%zu:\n%s    outputs: {scratch.map.k%zu: output}"
                           "\n    next: join\n",
                           i, tool, i);
    mortise_buf_printf(b, "  join:\n%s", tool);
}

/* Two nodes in a loop, and n that wait for its end. */
static void loop(struct mortise_buf *b, size_t n)
{
    head(b, n + 4 * STEPS);
    mortise_buf_printf(
        b,
        "    next: a\n"
        "  a:\n%s    outputs: {scratch.v: output}\n    next: b\n"
        "    max_visits: %d\n"
        "  b:\n%s    outputs: {scratch.v: output}\n    max_visits: %d\n"
        "    routes: [{when: scratch.v != \"\", to: a}]\n"
        "    default: n0\n",
        tool, 2 * STEPS, tool, 2 * STEPS);
    for (size_t i = 0; i < n; i++) {
        mortise_buf_printf(b, "  n%zu:\n%s", i, tool);
        if (i + 1 < n)
            mortise_buf_printf(b, "    next: n%zu\n", i + 1);
    }
}

/* ---- the step function alone -------------------------------------------- */

/* A step, the first and the last of a few hundred apart. */
static double alone(struct mortise_graph *g, json_t *input, const char *output)
{
    json_t *out = json_loads(output, JSON_DECODE_ANY, NULL);
    double v[REPEATS];

    for (int i = 0; i < REPEATS; i++) {
        struct bench_lone *l = bench_lone_start(g, input, NULL);

        bench_lone_feed(l, 2, out);
        v[i] = bench_lone_feed(l, STEPS, out) / STEPS;
        bench_lone_free(l);
    }
    json_decref(out);
    return bench_median(v, REPEATS);
}

/* A checkpoint of a whole chain, read back. */
static double replay(struct mortise_graph *g, json_t *input, const char *output)
{
    json_t *out = json_loads(output, JSON_DECODE_ANY, NULL);
    struct mortise_buf kept;
    struct bench_lone *l;
    double v[REPEATS];
    size_t n = g->n_nodes;

    mortise_buf_init(&kept, &mortise_heap);
    l = bench_lone_start(g, input, &kept);
    bench_lone_feed(l, n, out);
    bench_lone_expect(l, MORTISE_RUN_COMPLETED);
    for (int i = 0; i < REPEATS; i++)
        v[i] = bench_lone_replay(l) / (double)n;
    bench_lone_free(l);
    mortise_buf_finish(&kept);
    json_decref(out);
    return bench_median(v, REPEATS);
}

static void row(const char *what, const char *name, double took, double first)
{
    char text[80];

    snprintf(text, sizeof text, "%s%s", what, name);
    bench_row(&(struct bench_row){.what = text,
                                  .measured = took,
                                  .against = first > 0 ? "the smallest" : "",
                                  .reference = first,
                                  .times = first > 0 ? 2 : 0});
}

static const char *amount_of(size_t bytes)
{
    return bytes < 1 << 20 ? "1 KiB" : bytes < 2 << 20 ? "1 MiB" : "15 MiB";
}

typedef void graph_fn(struct mortise_buf *b, size_t n);

static void writes_scratch(struct mortise_buf *b, size_t n)
{
    chain(b, n, "scratch.v: output");
}

static void writes_member(struct mortise_buf *b, size_t n)
{
    chain(b, n, "scratch.map.k%: output");
}

static void appends(struct mortise_buf *b, size_t n)
{
    chain(b, n, "scratch.list: '[output]'");
}

typedef double measure_fn(struct mortise_graph *g, json_t *input,
                          const char *output);

static void rows_graphs(const char *what, graph_fn *make, measure_fn *measure)
{
    json_t *input = state_of(states[0]);
    struct mortise_buf b;
    double first = 0;

    mortise_buf_init(&b, &mortise_heap);
    for (int i = 0; i < SIZES; i++) {
        struct mortise_graph *g;
        char name[32];
        double took;

        make(&b, graphs[i]);
        g = bench_compile(&b);
        took = measure(g, input, "\"abcdefghijklmnopqr\"");
        snprintf(name, sizeof name, "graph of %zu", graphs[i]);
        row(i == 0 ? what : "  ... ", name, took, first);
        first = i == 0 ? took : first;
        mortise_graph_unref(g);
    }
    mortise_buf_finish(&b);
    json_decref(input);
}

static void rows_states(const char *what, graph_fn *make)
{
    struct mortise_graph *g;
    struct mortise_buf b;
    double first = 0;

    mortise_buf_init(&b, &mortise_heap);
    make(&b, STEPS + 8);
    g = bench_compile(&b);
    for (int i = 0; i < SIZES; i++) {
        json_t *input = state_of(states[i]);
        char name[32];
        double took = alone(g, input, "\"abcdefghijklmnopqr\"");

        snprintf(name, sizeof name, "state of %s", amount_of(states[i]));
        row(i == 0 ? what : "  ... ", name, took, first);
        first = i == 0 ? took : first;
        json_decref(input);
    }
    mortise_graph_unref(g);
    mortise_buf_finish(&b);
}

/* ---- the whole engine -----------------------------------------------------
 */

/* A chain of n; two clocks on its way, STEPS apart, and then the run's limit:
 * neither the admission nor the end is between them, nor is the first write
 * into what the input holds, too, which copies it once. */
static void clocked(struct mortise_buf *b, size_t n)
{
    static const char writes[] = "    outputs: {scratch.map.v: output}\n";

    mortise_buf_clear(b);
    bench_graph_head(b, "flat", "first");
    mortise_buf_printf(b,
                       "limits: {steps: %d}\n"
                       "nodes:\n"
                       "  first:\n%s"
                       "    outputs: {scratch.map: input.map}\n"
                       "    next: second\n"
                       "  second:\n%s%s    next: begun\n"
                       "  begun: {type: tool, tool: bench_now/clock, next: n0}"
                       "\n"
                       "  ended: {type: tool, tool: bench_now/clock, next: n%d}"
                       "\n",
                       STEPS + 4, tool, tool, writes, STEPS);
    for (size_t i = 0; i < n; i++) {
        mortise_buf_printf(b, "  n%zu:\n%s%s", i, tool, writes);
        if (i + 1 == STEPS)
            mortise_buf_puts(b, "    next: ended\n");
        else if (i + 1 < n)
            mortise_buf_printf(b, "    next: n%zu\n", i + 1);
    }
}

static double artifact(const json_t *shown, const char *name)
{
    const json_t *all =
        json_object_get(json_object_get(shown, "state"), "artifacts");

    return (double)json_integer_value(json_object_get(all, name)) * 1e-9;
}

/* What a step took of the loop's thread, between the clocks of the run. */
static double between(struct mortise *m, struct mortise_graph *g,
                      const char *input)
{
    const char *id = bench_id();
    struct mortise_err err = {0};
    double begun, ended;
    json_t *shown;
    char *text;

    bench_start(m, g, id, input);
    bench_settle(m);
    bench_expect(m, id, "paused");
    bench_must(mortise_show(m, NULL, id, &text, &err), &err, "show a run");
    shown = json_loads(text, 0, NULL);
    begun = artifact(shown, "begun");
    ended = artifact(shown, "ended");
    if (begun <= 0 || ended <= begun)
        bench_die("no clocks in a run:\n%.2000s", text);
    json_decref(shown);
    mortise_free(m, text);
    return (ended - begun) / STEPS;
}

static double in_engine(const struct mortise_buf *b, json_t *state)
{
    struct mortise *m = bench_open("flat");
    struct mortise_graph *g = bench_load(m, b);
    char *input = json_dumps(state, JSON_COMPACT);
    double v[FEWER];

    for (int i = 0; i < FEWER; i++)
        v[i] = between(m, g, input);
    free(input);
    mortise_graph_close(g);
    mortise_close(m);
    return bench_median(v, FEWER);
}

static void rows_engine(void)
{
    struct mortise_buf b;
    double first = 0;
    char name[80];

    mortise_buf_init(&b, &mortise_heap);
    for (int i = 0; i < SIZES * 2 - 1; i++) {
        size_t n = i < SIZES ? graphs[i] : graphs[0];
        size_t bytes = i < SIZES ? states[0] : states[i - SIZES + 1];
        json_t *state = state_of(bytes);
        double took;

        clocked(&b, n);
        took = in_engine(&b, state);
        json_decref(state);
        snprintf(name, sizeof name, "graph of %zu, state of %s", n,
                 amount_of(bytes));
        row(i == 0 ? "chain, " : "  ... ", name, took, first);
        first = i == 0 ? took : first;
    }
    mortise_buf_finish(&b);
}

void bench_flat(void)
{
    bench_section("flat: a step of the step function alone, in something "
                  "large");
    rows_graphs("chain, ", writes_scratch, alone);
    rows_graphs("fan-out, ", fan, alone);
    rows_graphs("loop of two beside, ", loop, alone);
    rows_graphs("replay, a checkpoint, ", writes_scratch, replay);
    rows_states("scratch.v beside, ", writes_scratch);
    rows_states("one member of, ", writes_member);
    rows_states("appends to, ", appends);
    rows_states("a branch that writes a member of, ", fan);
    bench_section("flat: a step of the engine's thread, its commits included");
    rows_engine();
}
