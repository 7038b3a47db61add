/* dispatch.c -- what a node costs that does nothing.
 *
 * Two views of one chain: the step function alone (lone.c), and the whole
 * engine with a signed inline plugin, where the loop's own computing is
 * counted, without leveldb_write(); the time to the last sync stands apart. */
#include "bench.h"

#include <jansson.h>
#include <stdio.h>

#include "core/model/graph.h"
#include "core/mortise.h"
#include "core/run/run.h"

enum { REPEATS = 7 };

static const size_t lengths[] = {100, 1000, 10000};

/* ---- the step function alone
 * ------------------------------------------------- */

/* Seconds of computing, from behind the admission to the end. */
static double run_alone(struct mortise_graph *g)
{
    json_t *input = json_loads(bench_input, 0, NULL);
    json_t *output = json_string("abcdefghijklmnopqr");
    struct bench_lone *l = bench_lone_start(g, input, NULL);
    double taken = bench_lone_feed(l, SIZE_MAX, output);

    bench_lone_expect(l, MORTISE_RUN_COMPLETED);
    bench_lone_free(l);
    json_decref(output);
    json_decref(input);
    return taken;
}

static double alone(struct mortise_graph *g)
{
    double v[REPEATS];

    for (int i = 0; i < REPEATS; i++)
        v[i] = run_alone(g);
    mortise_graph_unref(g);
    return bench_median(v, REPEATS);
}

static void row_alone(size_t n)
{
    struct mortise_buf b;
    char what[80];

    mortise_buf_init(&b, &mortise_heap);
    bench_chain(&b, "bench_now/step", "{}", n);
    snprintf(what, sizeof what, "step function alone, chain of %zu, a node", n);
    bench_row(
        &(struct bench_row){.what = what,
                            .measured = alone(bench_compile(&b)) / (double)n,
                            .against = "indirect call",
                            .reference = bench_base.call,
                            .at_most = 5e-6});
    mortise_buf_finish(&b);
}

/* ---- the whole engine
 * ---------------------------------------------------------- */

struct timing {
    double own;  /* computing of the loop's thread, without leveldb_write() */
    double wall; /* from the start to behind the last sync */
};

static struct timing run_once(struct mortise *m, struct mortise_graph *g)
{
    const char *id = bench_id();
    double begun, cpu;
    struct timing t;

    bench_meter_reset();
    begun = bench_now();
    cpu = bench_cpu();
    bench_start(m, g, id, bench_input);
    bench_settle(m);
    t.own = bench_cpu() - cpu - bench_meter_read().write_cpu;
    t.wall = bench_now() - begun;
    bench_expect(m, id, "completed");
    return t;
}

static struct timing in_engine(const struct mortise_buf *b)
{
    double own[REPEATS], wall[REPEATS];
    struct mortise *m = bench_open("dispatch");
    struct mortise_graph *g = bench_load(m, b);

    run_once(m, g); /* the plugin is loaded by the first */
    for (int i = 0; i < REPEATS; i++) {
        struct timing t = run_once(m, g);

        own[i] = t.own;
        wall[i] = t.wall;
    }
    mortise_graph_close(g);
    mortise_close(m);
    return (struct timing){bench_median(own, REPEATS),
                           bench_median(wall, REPEATS)};
}

static void row_engine(size_t n)
{
    struct mortise_buf b;
    struct timing t;
    char what[80];

    mortise_buf_init(&b, &mortise_heap);
    bench_chain(&b, "bench_now/step", "{}", n);
    t = in_engine(&b);
    snprintf(what, sizeof what, "engine, chain of %zu, a node, without commits",
             n);
    bench_row(&(struct bench_row){.what = what,
                                  .measured = t.own / (double)n,
                                  .against = "indirect call",
                                  .reference = bench_base.call,
                                  .at_most = 5e-6});
    snprintf(what, sizeof what, "  ... until all %zu are on disk, a node", n);
    bench_row(&(struct bench_row){.what = what,
                                  .measured = t.wall / (double)n,
                                  .against = "thread hand-off",
                                  .reference = bench_base.handoff});
    mortise_buf_finish(&b);
}

/* ---- fan-out
 * ----------------------------------------------------------------------- */

static void row_fan(void)
{
    struct mortise_buf b;
    struct timing t;

    mortise_buf_init(&b, &mortise_heap);
    bench_fan(&b, 1000);
    bench_row(
        &(struct bench_row){.what = "step function alone, 1 -> 1,000 -> join",
                            .measured = alone(bench_compile(&b)),
                            .at_most = 10e-3});
    t = in_engine(&b);
    bench_row(&(struct bench_row){.what = "engine, 1 -> 1,000 -> join, without "
                                          "commits",
                                  .measured = t.own,
                                  .at_most = 10e-3});
    bench_row(&(struct bench_row){.what = "  ... until all are on disk",
                                  .measured = t.wall,
                                  .against = "1,000 bare, in batches of 32",
                                  .reference = 1000 * bench_base.batched,
                                  .at_most = 10e-3});
    mortise_buf_finish(&b);
}

void bench_dispatch(void)
{
    bench_section("dispatch: inline nodes that do nothing, 20 B output each, "
                  "200 B of state");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        row_alone(lengths[i]);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        row_engine(lengths[i]);
    bench_section("fan-out, inline (limits.concurrency raised to 1,000)");
    row_fan();
}
