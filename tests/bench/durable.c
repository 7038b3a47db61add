/* durable.c -- what it costs that nothing is lost.
 *
 * A chain of `write` nodes syncs once a node: the intent of the next stands in
 * the commit of the last, and nothing starts before that is on disk.  `pure`
 * nodes need not wait, so their checkpoints share syncs.  The reference writes
 * the very records of such a run, recorded on their way into LevelDB, with
 * LevelDB alone.  Where many runs go at once they start from a gate, and the
 * clock with them. */
#include "bench.h"

#include <stdio.h>

#include "core/mortise.h"

enum { NODES = 300, REPEATS = 7, RUNS = 64, RUN_NODES = 40, STEPS = 1000 };

struct compared {
    double ours, bare; /* seconds, for all */
    struct bench_meter meter;
    size_t checkpoints;
};

/* Ours and the bare one's take turns. */
static struct compared compare(struct mortise *m, struct mortise_graph *g,
                               size_t runs, size_t per_batch)
{
    double ours[REPEATS], bare[REPEATS];
    struct bench_bare *b = bench_bare_open();
    struct bench_records *r;
    struct compared c;

    bench_start_some(m, g, runs - 1);
    r = bench_record_start();
    bench_meter_reset();
    bench_finish(m, g);
    c.meter = bench_meter_read();
    bench_record_stop();
    for (int i = 0; i < REPEATS; i++) {
        bench_start_some(m, g, runs - 1);
        ours[i] = bench_finish(m, g);
        bare[i] = bench_bare_write(b, r, per_batch);
    }
    c.ours = bench_median(ours, REPEATS);
    c.bare = bench_median(bare, REPEATS);
    c.checkpoints = bench_records_checkpoints(r);
    bench_bare_close(b);
    bench_records_free(r);
    return c;
}

static struct compared chain(const char *op, size_t runs, size_t per_batch)
{
    struct mortise *m = bench_open("durable");
    struct mortise_graph *g;
    struct compared c;
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    if (runs == 1)
        bench_chain(&b, op, "{}", NODES);
    else
        bench_gated_chain(&b, op, "{}", RUN_NODES, runs);
    g = bench_load(m, &b);
    c = compare(m, g, runs, per_batch);
    mortise_graph_close(g);
    mortise_close(m);
    mortise_buf_finish(&b);
    return c;
}

static void row(const char *what, const struct compared *c, const char *against,
                double times)
{
    double n = (double)c->checkpoints;

    bench_row(&(struct bench_row){.what = what,
                                  .measured = c->ours / n,
                                  .against = against,
                                  .reference = c->bare / n,
                                  .times = times});
    bench_note("%zu checkpoints of %.0f B in %llu synced batches",
               c->checkpoints, (double)c->meter.bytes / n,
               (unsigned long long)c->meter.batches);
}

static void rows_time(void)
{
    static const char one[] = "bare, same bytes, one by one",
                      many[] = "bare, same records, by 32";
    struct compared c = chain("bench_now/put", 1, 1);

    row("chain of write nodes, one run, a checkpoint", &c, one, 1.2);
    c = chain("bench_now/step", 1, 1);
    row("chain of pure nodes, one run, a checkpoint", &c, one, 1.2);
    c = chain("bench_now/put", RUNS, 32);
    row("64 runs of write nodes at once, a checkpoint", &c, many, 1.5);
    c = chain("bench_now/step", RUNS, 32);
    row("64 runs of pure nodes at once, a checkpoint", &c, many, 1.5);
}

/* ---- bytes
 * --------------------------------------------------------------------- */

/* Bytes put by one run of this graph. */
static struct bench_meter bytes_of(const struct mortise_buf *b,
                                   const char *input)
{
    struct mortise *m = bench_open("bytes");
    struct mortise_graph *g = bench_load(m, b);
    const char *id;
    struct bench_meter meter;

    bench_start(m, g, bench_id(), input); /* stores the graph */
    bench_settle(m);
    bench_meter_reset();
    id = bench_id();
    bench_start(m, g, id, input);
    bench_settle(m);
    meter = bench_meter_read();
    bench_expect(m, id, "completed");
    mortise_graph_close(g);
    mortise_close(m);
    return meter;
}

static void row_bytes(const char *what, const struct mortise_buf *b,
                      const char *input, double changed)
{
    struct bench_meter m = bytes_of(b, input);

    bench_row(
        &(struct bench_row){.what = what,
                            .unit = BENCH_BYTES,
                            .measured = (double)m.bytes / (double)m.checkpoints,
                            .against = "changed",
                            .reference = changed,
                            .at_most = 2 * changed + 600});
}

/* n nodes that append 1 KiB to a list. */
static void appending(struct mortise_buf *b, size_t n)
{
    bench_graph_head(b, "appending", "n0");
    mortise_buf_printf(b,
                       "limits: {steps: %zu}\n"
                       "state: {reducers: {scratch.list: concat}}\nnodes:\n",
                       n);
    for (size_t i = 0; i < n; i++) {
        mortise_buf_printf(b,
                           "  n%zu:\n"
                           "    type: tool\n"
                           "    tool: bench_now/line\n"
                           "    output_as: null\n"
                           "    outputs: {scratch.list: '[output]'}\n",
                           i);
        if (i + 1 < n)
            mortise_buf_printf(b, "    next: n%zu\n", i + 1);
    }
}

/* An input with a member of so many bytes. */
static void input_of(struct mortise_buf *b, size_t n)
{
    mortise_buf_puts(b, "{\"carried\":\"");
    for (size_t i = 0; i < n; i++)
        mortise_buf_put_u8(b, 'x');
    mortise_buf_puts(b, "\"}");
}

static void rows_bytes(void)
{
    struct mortise_buf b, input;
    double all;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_init(&input, &mortise_heap);
    bench_chain(&b, "bench_now/step", "{}", STEPS);
    row_bytes("bytes put a step, 20 B change, 200 B of state", &b, bench_input,
              20);
    input_of(&input, 100 * 1024);
    row_bytes("  ... of 100 KiB of state, its admission included", &b,
              mortise_buf_cstr(&input), 20 + 100.0 * 1024 / STEPS);
    mortise_buf_clear(&b);
    bench_chain(&b, "bench_now/put", "{}", STEPS);
    row_bytes("  ... with the intent of a write", &b, bench_input, 20);
    mortise_buf_clear(&b);
    appending(&b, STEPS);
    row_bytes("bytes put a step, 1 KiB appended to a list", &b, "{}", 1032);
    all = (double)bytes_of(&b, "{}").bytes;
    bench_row(&(struct bench_row){.what = "  ... 1,000 such steps in all (R7)",
                                  .unit = BENCH_BYTES,
                                  .measured = all,
                                  .at_most = 4 * 1024 * 1024});
    mortise_buf_finish(&b);
    mortise_buf_finish(&input);
}

void bench_durable(void)
{
    bench_section("durable: sync, a checkpoint after every node, 200 B of "
                  "state");
    rows_time();
    rows_bytes();
}
