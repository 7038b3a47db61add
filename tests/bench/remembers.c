/* remembers.c -- what it costs a node that its memory is read first.
 *
 * A chain of nodes that compute, with and without a read of what a customer was
 * told, by words; of the bundled memory, which has nothing in it: what is left is
 * the way there and back, and what is recorded of it. */
#include "bench.h"

#include <string.h>

#include "core/mortise.h"

enum { NODES = 200, REPEATS = 7 };

static void deploy(void)
{
    static const char text[] = "apiVersion: mortise/v1\n"
                               "kind: Deployment\n"
                               "metadata: {name: bench}\n"
                               "plugins: {path: [plugins]}\n"
                               "trust: {dir: trust.d}\n"
                               "memory: {plugin: local}\n";

    bench_write_file(bench_path("remembers.yaml"), text, strlen(text));
}

static struct mortise_graph *chain(struct mortise *m, const char *more)
{
    struct mortise_graph *g;
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    bench_graph_head(&b, "remembers", "n0");
    mortise_buf_puts(&b, "nodes:\n");
    for (int i = 0; i < NODES; i++) {
        mortise_buf_printf(&b,
                           "  n%d:\n    type: tool\n    tool: bench_now/step\n"
                           "    args: {v: 1}\n%s",
                           i, more);
        if (i + 1 < NODES)
            mortise_buf_printf(&b, "    next: n%d\n", i + 1);
        else
            mortise_buf_puts(&b, "    next: END\n");
    }
    g = bench_load(m, &b);
    mortise_buf_finish(&b);
    return g;
}

void bench_remembers(void)
{
    struct mortise *m;
    struct mortise_graph *without, *with;
    double plain[REPEATS], read[REPEATS];
    struct bench_row r = {.what = "a read ahead of a node",
                          .unit = BENCH_SECONDS,
                          .against = "... the node itself",
                          .at_most = 0.001};

    deploy();
    m = bench_open_with("remembers", "remembers.yaml");
    without = chain(m, "");
    with =
        chain(m, "    memory_policy:\n"
                 "      session: ${input.carried.substring(0, 8)}\n"
                 "      consistency: live\n"
                 "      read: {scope: session, semantic_query: what was it}\n");
    for (int i = 0; i < REPEATS; i++) {
        plain[i] = bench_finish(m, without);
        read[i] = bench_finish(m, with);
    }
    r.reference = bench_median(plain, REPEATS) / NODES;
    r.measured = bench_median(read, REPEATS) / NODES - r.reference;
    bench_section("memory (in the path of a node)");
    bench_row(&r);
    bench_note("of an empty memory: the search itself is beside it");
    mortise_graph_close(with);
    mortise_graph_close(without);
    mortise_close(m);
}
