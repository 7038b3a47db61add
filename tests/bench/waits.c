/* waits.c -- many runs that wait: how much of it is us?
 *
 * 20 async nodes of 10 ms each take a run 200 ms at best.  All runs are
 * started first, one after the other, and wait at a gate, which the last one
 * opens; the clock runs from there: so all are under way at once, and each wait
 * ends in all of them within the same moment, which is the hardest case.  A
 * start returns only when its admission is on disk (R3), so what starting
 * takes stands on a line of its own. */
#include "bench.h"

#include <stdio.h>

#include "core/mortise.h"

/* Threads: the program's, which is the engine's; the store's, LevelDB's, and
 * the plugin's own. */
enum { NODES = 20, WAIT_MS = 10, THREADS = 4 };

struct timing {
    double threads; /* while all wait but one */
    double all;     /* from the opening of the gate to the last end */
    double start;
};

static struct timing measure(size_t runs)
{
    size_t repeats = runs > 100 ? 3 : 5;
    double all[5], start[5], threads[5];
    struct mortise *m = bench_open("waits");
    struct mortise_graph *g;
    struct mortise_buf b;
    char args[32];

    mortise_buf_init(&b, &mortise_heap);
    snprintf(args, sizeof args, "{ms: %d}", WAIT_MS);
    bench_gated_chain(&b, "bench_wait/wait", args, NODES, runs);
    g = bench_load(m, &b);
    for (size_t i = 0; i < repeats; i++) {
        start[i] = bench_start_some(m, g, runs - 1) / (double)(runs - 1);
        threads[i] = bench_threads();
        all[i] = bench_finish(m, g);
    }
    mortise_graph_close(g);
    mortise_close(m);
    mortise_buf_finish(&b);
    return (struct timing){bench_median(threads, repeats),
                           bench_median(all, repeats),
                           bench_median(start, repeats)};
}

static void rows(size_t runs, double times)
{
    struct timing t = measure(runs);
    double ideal = NODES * WAIT_MS * 1e-3;
    char what[80];

    snprintf(what, sizeof what, "runs at once x 20 waits of 10 ms: %zu", runs);
    bench_row(&(struct bench_row){.what = what,
                                  .measured = t.all,
                                  .against = "ideal",
                                  .reference = ideal,
                                  .times = times});
    bench_row(&(struct bench_row){.what = "  ... to start one of them",
                                  .measured = t.start,
                                  .against = "bare synced put",
                                  .reference = bench_base.put});
    bench_row(&(struct bench_row){.what = "  ... threads, with all of them at "
                                          "a gate",
                                  .unit = BENCH_COUNT,
                                  .measured = t.threads,
                                  .at_most = THREADS});
}

void bench_waits(void)
{
    bench_section("waiting: async nodes, durable");
    rows(64, 1.15);
    rows(1000, 1.5);
}
