/* process.c -- the real command, from nothing: a run's first node, and a run
 * that was killed.
 *
 * The interrupted runs: a child of ours takes one through ten nodes and into a
 * wait, and kills itself there.  `mortise resume` then finds the wait, which
 * the other deployment makes 0 ms, and ends the run.  What LevelDB needs to
 * open that store is measured with a copy. */
#include "bench.h"

#include <leveldb/c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mortise.h"

enum { REPEATS = 15, KILLED = 7 };

/* ---- cold -------------------------------------------------------------------
 */

static const char cold_graph[] =
    "apiVersion: mortise/v1\n"
    "kind: Graph\n"
    "metadata: {name: cold}\n"
    "start: cut\n"
    "nodes:\n"
    "  cut: {type: tool, tool: text/lines, args: {text: \"a\\nb\\nc\"},\n"
    "        next: again}\n"
    "  again: {type: tool, tool: text/lines, args: {text: \"a\\nb\\nc\"}}\n";

struct cold {
    double node, end, resident;
    double bare;
};

/* The least that a program with a store does: open LevelDB, put, sync. */
int bench_child_bare(const char *arg)
{
    leveldb_options_t *options = leveldb_options_create();
    leveldb_writeoptions_t *synced = leveldb_writeoptions_create();
    char *said = NULL, record[200] = {0};
    leveldb_t *db;

    leveldb_options_set_create_if_missing(options, 1);
    leveldb_writeoptions_set_sync(synced, 1);
    db = leveldb_open(options, bench_path("%s", arg), &said);
    if (said == NULL)
        leveldb_put(db, synced, arg, strlen(arg), record, sizeof record, &said);
    if (said != NULL)
        bench_die("bare LevelDB: %s", said);
    leveldb_close(db);
    leveldb_options_destroy(options);
    leveldb_writeoptions_destroy(synced);
    return 0;
}

static struct cold run_cold(const char *store)
{
    const char *argv[] = {bench_build("mortise"),
                          "run",
                          bench_path("cold.yaml"),
                          "--store",
                          bench_path("%s", store),
                          "--deployment",
                          bench_path("mortise.yaml"),
                          NULL};
    struct bench_child c = bench_spawn(argv);
    struct cold out;

    if (!bench_await(&c, " node_end cut"))
        bench_die("mortise run did not come to its first node");
    out.node = bench_now() - c.begun;
    out.resident = bench_memory(c.pid, "VmHWM");
    if (bench_reap(&c) != 0)
        bench_die("mortise run failed");
    out.end = bench_now() - c.begun;
    return out;
}

static struct cold measure_cold(bool fresh)
{
    double node[REPEATS], end[REPEATS], resident[REPEATS], bare[REPEATS];
    char store[32], db[64];

    run_cold("cold");
    bench_again("bare", "cold-bare", NULL, 0);
    for (int i = 0; i < REPEATS; i++) {
        struct cold c;

        snprintf(store, sizeof store, fresh ? "cold-%d" : "cold", i);
        snprintf(db, sizeof db, "%s-bare", store);
        bare[i] = bench_again("bare", db, NULL, 0);
        c = run_cold(store);
        node[i] = c.node;
        end[i] = c.end;
        resident[i] = c.resident;
    }
    return (struct cold){
        bench_median(node, REPEATS), bench_median(end, REPEATS),
        bench_median(resident, REPEATS), bench_median(bare, REPEATS)};
}

static void print(const char *what, double measured, double bare,
                  double at_most)
{
    bench_row(&(struct bench_row){.what = what,
                                  .measured = measured,
                                  .against = "bare: open, sync a put, exit",
                                  .reference = bare,
                                  .at_most = at_most});
}

static void rows_cold(void)
{
    struct cold c;

    bench_write_file(bench_path("cold.yaml"), cold_graph,
                     sizeof cold_graph - 1);
    c = measure_cold(false);
    print("mortise run, to its first node done", c.node, c.bare, 15e-3);
    print("  ... to its end", c.end, c.bare, 0);
    bench_row(&(struct bench_row){.what = "  ... resident at its first node",
                                  .unit = BENCH_BYTES,
                                  .measured = c.resident,
                                  .at_most = 12 * 1024 * 1024});
    c = measure_cold(true);
    print("  ... to its first node, in a new store", c.node, c.bare, 15e-3);
}

/* ---- killed
 * ---------------------------------------------------------------------- */

static void interrupted_graph(struct mortise_buf *b)
{
    bench_graph_head(b, "interrupted", "n0");
    mortise_buf_puts(b, "nodes:\n");
    for (int i = 0; i < 10; i++)
        mortise_buf_printf(b,
                           "  n%d: {type: tool, tool: bench_now/step, "
                           "next: n%d}\n",
                           i, i + 1);
    mortise_buf_puts(b, "  n10: {type: tool, tool: bench_wait/wait}\n");
}

/* `arg`: the run's id. */
int bench_child_interrupted(const char *arg)
{
    struct mortise *m = bench_open_slowly("interrupted");
    struct mortise_err err = {0};
    struct mortise_buf b;
    double until = bench_now() + 0.05;

    mortise_buf_init(&b, &mortise_heap);
    interrupted_graph(&b);
    bench_start(m, bench_load(m, &b), arg, bench_input);
    while (bench_now() < until) /* all that it can do is done by then */
        mortise_poll(m, 5, &err);
    kill(getpid(), SIGKILL);
    return 1;
}

static double resume(const char *run)
{
    const char *argv[] = {bench_build("mortise"),
                          "resume",
                          run,
                          "--store",
                          bench_path("interrupted"),
                          "--deployment",
                          bench_path("mortise.yaml"),
                          NULL};
    struct bench_child c = bench_spawn(argv);

    if (!bench_await(&c, "completed"))
        bench_die("mortise resume did not complete its run");
    if (bench_reap(&c) != 0)
        bench_die("mortise resume failed");
    return bench_now() - c.begun;
}

/* LevelDB's open of a copy of the killed store's database. */
static double open_copy(void)
{
    const char *argv[] = {"/bin/cp", "-a", bench_path("interrupted/db"),
                          bench_path("copy"), NULL};
    struct bench_child c = bench_spawn(argv);
    leveldb_options_t *options = leveldb_options_create();
    char *said = NULL;
    leveldb_t *db;
    double begun;

    if (bench_reap(&c) != 0)
        bench_die("cannot copy a store");
    begun = bench_now();
    db = leveldb_open(options, bench_path("copy"), &said);
    begun = bench_now() - begun;
    if (said != NULL)
        bench_die("bare LevelDB: %s", said);
    leveldb_close(db);
    leveldb_options_destroy(options);
    bench_remove(bench_path("copy"));
    return begun;
}

static void rows_killed(void)
{
    double ours[KILLED], theirs[KILLED];
    char run[32];

    for (int i = 0; i < KILLED; i++) {
        snprintf(run, sizeof run, "killed-%d", i);
        bench_again("interrupted", run, NULL, 0);
        theirs[i] = open_copy();
        ours[i] = resume(run);
    }
    bench_row(&(struct bench_row){.what = "mortise resume after kill -9, to "
                                          "the run's end",
                                  .measured = bench_median(ours, KILLED),
                                  .against = "LevelDB's own open",
                                  .reference = bench_median(theirs, KILLED),
                                  .at_most = 30e-3});
}

void bench_process(void)
{
    bench_section("a process of its own (bundled plugins, verified)");
    rows_cold();
    rows_killed();
}
