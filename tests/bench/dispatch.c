/* dispatch.c -- what a node costs that does nothing.
 *
 * Two views of one chain.  The step function alone: results are fed back as
 * fast as they are asked for, and what it wants written is told to be on disk
 * every so often, as a store that syncs batches would tell it.  And the whole
 * engine with a signed inline plugin, where the loop's own computing is
 * counted, without leveldb_write(); the time to the last sync stands apart. */
#include "bench.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "mortise.h"
#include "run/run.h"

enum { REPEATS = 7, SYNC_EVERY = 64, LONGEST = 10000 };

static const size_t lengths[] = {100, 1000, LONGEST};

/* ---- the step function alone
 * ------------------------------------------------- */

static const struct mortise_operation step_op = {
    "bench_now", "step", MORTISE_PURE, false, false, 0, NULL, NULL};

static const struct mortise_operation *
find_op(void *ud, const char *plugin, const char *op, struct mortise_err *why)
{
    (void)ud;
    (void)why;
    return strcmp(plugin, step_op.plugin) == 0 && strcmp(op, step_op.name) == 0
               ? &step_op
               : NULL;
}

static const struct mortise_catalog catalog = {NULL, find_op, NULL};

static struct mortise_graph *compile(const struct mortise_buf *b)
{
    struct mortise_diags diags;
    struct mortise_graph *g;
    struct mortise_err err = {0};

    mortise_diags_init(&diags, &mortise_heap);
    bench_must(mortise_graph_load(&g, &mortise_heap, "bench.yaml", b->p, b->n,
                                  &catalog, &diags, &err),
               &err, "compile a graph");
    mortise_diags_finish(&diags);
    return g;
}

struct lone { /* a run without an engine */
    struct mortise_run *run;
    struct mortise_actions actions;
    json_t *output;
    uint64_t seq, synced;
    uint64_t calls[LONGEST]; /* to be answered, first come, first served */
    size_t first, n;
};

static void take_actions(struct lone *l)
{
    for (size_t i = 0; i < l->actions.n; i++) {
        const struct mortise_action *a = &l->actions.list[i];

        if (a->kind == MORTISE_ACT_COMMIT)
            l->seq = a->u.commit.seq;
        else if (a->kind == MORTISE_ACT_CALL)
            l->calls[l->n++] = a->u.call.id;
    }
    mortise_actions_clear(&l->actions);
}

static void feed(struct lone *l, struct mortise_input *in)
{
    struct mortise_err err = {0};

    in->now_ms = 1700000000000;
    bench_must(mortise_run_step(l->run, in, &l->actions, &err), &err, "step");
    take_actions(l);
}

static void feed_synced(struct lone *l)
{
    struct mortise_input in = {.kind = MORTISE_IN_SYNCED};

    in.u.seq = l->synced = l->seq;
    feed(l, &in);
}

static void feed_result(struct lone *l)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    in.u.result = (struct mortise_result_in){.call = l->calls[l->first++],
                                             .output = l->output,
                                             .message = "",
                                             .error_code = "",
                                             .error_class = ""};
    feed(l, &in);
}

static void admit(struct lone *l, struct mortise_graph *g)
{
    struct mortise_admission adm = {.tenant = "default",
                                    .run = "bench",
                                    .actor = "bench",
                                    .input = json_loads(bench_input, 0, NULL),
                                    .seed = {42}};
    struct mortise_err err = {0};

    bench_must(mortise_run_admit(&l->run, &mortise_heap, g, &adm, 1700000000000,
                                 &l->actions, &err),
               &err, "admit a run");
    json_decref(adm.input);
    take_actions(l);
    feed_synced(l);
}

/* Seconds of computing, from behind the admission to the end. */
static double run_alone(struct mortise_graph *g)
{
    static struct lone l;
    double begun;

    memset(&l, 0, sizeof l);
    mortise_actions_init(&l.actions, &mortise_heap);
    l.output = json_string("abcdefghijklmnopqr");
    admit(&l, g);
    begun = bench_cpu();
    while (l.first < l.n) {
        feed_result(&l);
        if (l.seq - l.synced >= SYNC_EVERY)
            feed_synced(&l);
    }
    feed_synced(&l);
    begun = bench_cpu() - begun;
    if (mortise_run_status(l.run) != MORTISE_RUN_COMPLETED)
        bench_die("a run did not complete");
    mortise_run_free(l.run);
    mortise_actions_finish(&l.actions);
    json_decref(l.output);
    return begun;
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
    bench_row(&(struct bench_row){.what = what,
                                  .measured = alone(compile(&b)) / (double)n,
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
                            .measured = alone(compile(&b)),
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
