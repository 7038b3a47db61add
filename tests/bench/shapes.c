/* shapes.c -- graphs of awkward shapes, until they can be used.
 *
 * Reading, checking and compiling cost in proportion to the file, whatever its
 * shape: each is loaded with 2,000 and with 20,000 nodes.  The shapes are those
 * that a pass over all pairs (of writers, of edges, of ways) would suffer
 * from. */
#include "bench.h"

#include "core/mortise.h"

enum { FEW = 2000, MANY = 20000, REPEATS = 3, LAYER = 20, DEPTH = 40 };

#define STEP "type: tool, tool: bench_now/step, args: {v: 1}"

/* `a` leads to all, all lead to `j`; what stands in each node. */
static void wide(struct mortise_buf *b, size_t n, const char *more,
                 const char *each, const char *join)
{
    bench_graph_head(b, "shape", "a");
    mortise_buf_puts(b, more);
    mortise_buf_puts(b, "nodes:\n  a: {" STEP ", next: [n0");
    for (size_t i = 1; i < n; i++)
        mortise_buf_printf(b, ", n%zu", i);
    mortise_buf_puts(b, "]}\n");
    for (size_t i = 0; i < n; i++)
        mortise_buf_printf(b, "  n%zu: {" STEP "%s, next: j}\n", i, each);
    mortise_buf_printf(b, "  j: {" STEP "%s, next: END}\n", join);
}

static void put_fan(struct mortise_buf *b, size_t n)
{
    wide(b, n, "", "", "");
}

static void put_race(struct mortise_buf *b, size_t n)
{
    wide(b, n, "", "", ", join: any");
}

/* All write to one path, beside each other: one reducer, and no warning. */
static void put_writers(struct mortise_buf *b, size_t n)
{
    wide(b, n, "state: {reducers: {scratch.x: merge}}\n",
         ", outputs: {scratch.x: output}", "");
}

/* ... and without a reducer, which is a warning. */
static void put_conflict(struct mortise_buf *b, size_t n)
{
    wide(b, n, "", ", outputs: {scratch.x: output}", "");
}

static void put_conditions(struct mortise_buf *b, size_t n)
{
    bench_graph_head(b, "shape", "a");
    mortise_buf_puts(b, "nodes:\n  a: {" STEP "}\n");
    for (size_t i = 0; i < n; i++)
        mortise_buf_printf(b, "  n%zu: {" STEP ", next: END}\n", i);
    mortise_buf_puts(b, "edges:\n");
    for (size_t i = 0; i < n; i++)
        mortise_buf_printf(b, "- {from: a, to: n%zu, when: input.x == %zu}\n",
                           i, i);
}

/* Layers, each of whose nodes leads to all of the next. */
static void put_layers(struct mortise_buf *b, size_t n)
{
    bench_graph_head(b, "shape", "n0");
    mortise_buf_puts(b, "nodes:\n");
    for (size_t i = 0; i < n; i++) {
        size_t next = (i / LAYER + 1) * LAYER;

        mortise_buf_printf(b, "  n%zu: {" STEP ", next: [", i);
        for (size_t k = next; k < next + LAYER && k < n; k++)
            mortise_buf_printf(b, "n%zu, ", k);
        mortise_buf_puts(b, "END]}\n");
    }
    mortise_buf_puts(b, "edges:\n");
    for (size_t k = 1; k < LAYER; k++)
        mortise_buf_printf(b, "- {from: START, to: n%zu}\n", k);
}

/* Loops in loops, DEPTH deep, one behind the other. */
static void put_loops(struct mortise_buf *b, size_t n)
{
    bench_graph_head(b, "shape", "n0");
    mortise_buf_puts(b, "nodes:\n");
    for (size_t i = 0; i < n; i++) {
        size_t first = i / DEPTH * DEPTH;

        if (i + 1 < first + DEPTH && i + 1 < n) {
            mortise_buf_printf(b, "  n%zu: {" STEP ", next: n%zu}\n", i, i + 1);
            continue;
        }
        mortise_buf_printf(b, "  n%zu: {" STEP ", routes: [", i);
        for (size_t k = i; k-- > first;)
            mortise_buf_printf(b, "%s{when: node.visit == %zu, to: n%zu}",
                               k + 1 < i ? ", " : "", i - k, k);
        if (i + 1 < n)
            mortise_buf_printf(b, "], default: n%zu}\n", i + 1);
        else
            mortise_buf_puts(b, "], default: END}\n");
    }
}

static void put_maps(struct mortise_buf *b, size_t n)
{
    bench_graph_head(b, "shape", "n0");
    mortise_buf_puts(b, "nodes:\n");
    for (size_t i = 0; i + 2 < n; i += 2)
        mortise_buf_printf(b,
                           "  n%zu: {" STEP ", map: {over: input.list, to: "
                           "n%zu, join: n%zu}}\n"
                           "  n%zu: {" STEP ", next: n%zu}\n",
                           i, i + 1, i + 2, i + 1, i + 2);
    mortise_buf_printf(b, "  n%zu: {" STEP ", next: END}\n", n - 2);
}

static const struct {
    const char *name;
    void (*put)(struct mortise_buf *b, size_t n);
} shapes[] = {
    {"fan and join", put_fan},
    {"race of all", put_race},
    {"writers to one path", put_writers},
    {"writers in conflict", put_conflict},
    {"conditional edges of one node", put_conditions},
    {"layers of 20, each to each", put_layers},
    {"loops, 40 deep", put_loops},
    {"maps, one behind the other", put_maps},
};

/* Seconds of computing. */
static double load(struct mortise *m,
                   void (*shape)(struct mortise_buf *, size_t), size_t n)
{
    struct mortise_buf b;
    double v[REPEATS];

    mortise_buf_init(&b, &mortise_heap);
    shape(&b, n);
    for (int i = 0; i < REPEATS; i++) {
        double begun = bench_cpu();

        mortise_graph_close(bench_load(m, &b));
        v[i] = bench_cpu() - begun;
    }
    mortise_buf_finish(&b);
    return bench_median(v, REPEATS);
}

void bench_shapes(void)
{
    struct mortise *m = bench_open("shapes");

    bench_section("graphs of 20,000 nodes: read, check, compile");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double few = load(m, shapes[i].put, FEW);

        bench_row(&(struct bench_row){.what = shapes[i].name,
                                      .measured = load(m, shapes[i].put, MANY),
                                      .against = "10 x the one of 2,000",
                                      .reference = 10 * few,
                                      .times = 1.5});
    }
    mortise_close(m);
}
