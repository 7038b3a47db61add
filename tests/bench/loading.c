/* loading.c -- plugins and graphs, until they can be used.
 *
 * A module stays loaded for good, so each load of the plugin happens in a
 * process of its own, where its registry was opened before.  A directory is made
 * for notes of its deaths; what the file system takes for that is shown by loads
 * without it. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/mortise.h"
#include "core/plugin/registry.h"

enum { LOADS = 11, REPEATS = 5 };

/* ---- plugins
 * ----------------------------------------------------------------- */

static void ignore_done(void *ud, const struct mortise_call_result *done)
{
    (void)ud;
    (void)done;
}

static void ignore_event(void *ud, uint64_t call, const char *type,
                         const char *json, size_t n)
{
    (void)ud;
    (void)call;
    (void)type;
    (void)json;
    (void)n;
}

static void ignore_delta(void *ud, uint64_t call, bool reasoning,
                         const char *text, size_t n)
{
    (void)reasoning;
    ignore_event(ud, call, "delta", text, n);
}

static void ignore_ask(void *ud, uint64_t call, uint64_t ask,
                       const char *method, const char *body, size_t n)
{
    (void)ask;
    ignore_event(ud, call, method, body, n);
}

static void ignore_log(void *ud, int level, const char *plugin, const char *msg)
{
    (void)ud;
    (void)level;
    (void)plugin;
    (void)msg;
}

enum { SAW_OPEN, SAW_VERIFY, SAW_START, SAW_DLOPEN, SAW };

/* `arg`: a directory for the mark, or "-". */
int bench_child_loading(const char *arg)
{
    static const char name[] = "bench_large";
    const char *const dirs[] = {bench_path("plugins")};
    const char *const trust[] = {bench_path("trust.d")};
    struct mortise_plugins_config config = {.mem = &mortise_heap,
                                            .dirs = dirs,
                                            .n_dirs = 1,
                                            .trust_dirs = trust,
                                            .n_trust_dirs = 1,
                                            .quarantine_dir =
                                                arg[0] != '-' ? arg : NULL,
                                            .ops = {.done = ignore_done,
                                                    .event = ignore_event,
                                                    .delta = ignore_delta,
                                                    .ask = ignore_ask,
                                                    .log = ignore_log}};
    struct mortise_instance *instance;
    struct mortise_plugins *p;
    struct mortise_err err = {0};
    double saw[SAW], at = bench_now();

    bench_must(mortise_plugins_open(&p, &config, &err), &err, "open plugins");
    saw[SAW_OPEN] = bench_now() - at;
    at = bench_now();
    bench_must(mortise_plugins_verify(p, name, &err), &err, "verify a plugin");
    saw[SAW_VERIFY] = bench_now() - at;
    at = bench_now();
    bench_must(mortise_plugins_start(p, name, "", NULL, &instance, &err), &err,
               "start a plugin");
    saw[SAW_START] = bench_now() - at;
    mortise_plugins_close(p);
    at = bench_now();
    if (dlopen(bench_path("plugins/%s.so", name), RTLD_NOW | RTLD_LOCAL) ==
        NULL)
        bench_die("dlopen: %s", dlerror());
    saw[SAW_DLOPEN] = bench_now() - at;
    for (int i = 0; i < SAW; i++)
        printf("%.9g\n", saw[i]);
    return 0;
}

static void load_often(const char *arg, double median[SAW])
{
    double saw[LOADS][SAW], column[LOADS];

    for (int i = 0; i < LOADS; i++)
        bench_again("loading", arg, saw[i], SAW);
    for (int k = 0; k < SAW; k++) {
        for (int i = 0; i < LOADS; i++)
            column[i] = saw[i][k];
        median[k] = bench_median(column, LOADS);
    }
}

static void print(const char *what, double measured, double bare,
                  double at_most)
{
    bench_row(&(struct bench_row){.what = what,
                                  .measured = measured,
                                  .against = "bare dlopen()",
                                  .reference = bare,
                                  .at_most = at_most});
}

static void rows_plugin(void)
{
    double saw[SAW], unmarked[SAW], bare;

    load_often(bench_path("quarantine"), saw);
    load_often("-", unmarked);
    bare = saw[SAW_DLOPEN];
    print("plugin of 100 KiB: verify, load and create", saw[SAW_START], bare,
          1e-3);
    print("  ... without the directory for its deaths", unmarked[SAW_START],
          bare, 0);
    print("  ... verify alone", saw[SAW_VERIFY], bare, 0);
    print("  ... read the manifests of five", saw[SAW_OPEN], bare, 0);
}

/* ---- graphs
 * --------------------------------------------------------------------- */

/* Seconds of computing. */
static double load_graph(struct mortise *m, size_t n)
{
    struct mortise_buf b;
    int repeats = n > 10000 ? 3 : REPEATS;
    double v[REPEATS];

    mortise_buf_init(&b, &mortise_heap);
    bench_chain(&b, "bench_now/step", "{v: \"${scratch.v}\"}", n);
    for (int i = 0; i < repeats; i++) {
        double begun = bench_cpu();

        mortise_graph_close(bench_load(m, &b));
        v[i] = bench_cpu() - begun;
    }
    mortise_buf_finish(&b);
    return bench_median(v, (size_t)repeats);
}

static void rows_graph(void)
{
    struct mortise *m = bench_open("loading");
    double few = load_graph(m, 500), some = load_graph(m, 5000),
           many = load_graph(m, 50000);

    bench_row(&(struct bench_row){.what = "graph of 500 nodes: read, check, "
                                          "compile",
                                  .measured = few,
                                  .at_most = 30e-3});
    bench_row(&(struct bench_row){.what = "graph of 5,000 nodes",
                                  .measured = some,
                                  .against = "10 x the one of 500",
                                  .reference = 10 * few,
                                  .at_most = 300e-3});
    bench_row(&(struct bench_row){.what = "graph of 50,000 nodes",
                                  .measured = many,
                                  .against = "10 x the one of 5,000",
                                  .reference = 10 * some,
                                  .times = 1.5});
    mortise_close(m);
}

void bench_loading(void)
{
    bench_section("loading (graphs are chains)");
    rows_plugin();
    rows_graph();
}
