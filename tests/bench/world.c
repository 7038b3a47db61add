/* world.c -- a directory in the build, signed plugins in it, engines and
 * graphs for the benchmarks. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mortise.h"
#include "lang/manifest/sign.h"
#include "lang/manifest/trust_file.h"

static char root[PATH_MAX / 2];

/* ---- places -------------------------------------------------------------- */

const char *bench_path(const char *fmt, ...)
{
    static char paths[8][PATH_MAX];
    static int next;
    char *path = paths[next++ % 8];
    int n = snprintf(path, PATH_MAX, "%s/", root);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(path + n, PATH_MAX - (size_t)n, fmt, ap);
    va_end(ap);
    return path;
}

const char *bench_build(const char *file)
{
    static char paths[8][PATH_MAX];
    static int next;
    const char *build = getenv("MORTISE_BUILD");
    char *path = paths[next++ % 8], full[PATH_MAX];

    if (realpath(build != NULL ? build : "build", full) == NULL)
        bench_die("no build directory: %s", strerror(errno));
    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX / 2, full, file);
    return path;
}

static uint64_t total;

static int add_size(const char *path, const struct stat *st, int flag,
                    struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    if (flag == FTW_F)
        total += (uint64_t)st->st_size / (st->st_nlink > 0 ? st->st_nlink : 1);
    return 0;
}

uint64_t bench_size_of(const char *dir)
{
    total = 0;
    nftw(dir, add_size, 16, FTW_PHYS);
    return total;
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void bench_remove(const char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void bench_write_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "we");

    if (f == NULL || fwrite(text, 1, n, f) != n || fclose(f) != 0)
        bench_die("cannot write %s: %s", path, strerror(errno));
}

/* ---- plugins ------------------------------------------------------------- */

static const struct {
    const char *name, *source, *object_in;
} plugins[] = {
    {"bench_now", "tests/bench/plugins/", "tests/bench/plugins/"},
    {"bench_wait", "tests/bench/plugins/", "tests/bench/plugins/"},
    {"bench_large", "tests/bench/plugins/", "tests/bench/plugins/"},
    {"agent", "plugins/executor/agent/", "plugins/"},
    {"openai", "plugins/model/openai/", "plugins/"},
    {"mcp", "plugins/executor/mcp/", "plugins/"},
    {"local", "plugins/memory/local/", "plugins/"},
};
enum { N_PLUGINS = sizeof plugins / sizeof plugins[0] };

static void sign(const struct mortise_seckey *key, size_t i)
{
    const char *name = plugins[i].name;
    char source[256], object[256];
    const char *objects[1];
    struct mortise_sign_request signing = {.manifest = source,
                                           .objects = objects,
                                           .n_objects = 1,
                                           .out = bench_path("plugins"),
                                           .key = key};
    struct mortise_diags diags;
    struct mortise_err err = {0};
    int rv;

    snprintf(source, sizeof source, "%s%s.plugin.yaml", plugins[i].source,
             name);
    snprintf(object, sizeof object, "%s%s.so", plugins[i].object_in, name);
    objects[0] = bench_build(object);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_plugin_sign(&signing, NULL, &mortise_heap, &diags, &err);
    if (rv == MORTISE_ECHECK)
        bench_die("sign %s: %s", name, diags.list[0].message);
    bench_must(rv, &err, "sign a plugin");
    mortise_diags_finish(&diags);
}

static void trust(const struct mortise_seckey *key)
{
    const char *names[N_PLUGINS];
    struct mortise_trusted_key by = {.plugins = names,
                                     .n_plugins = N_PLUGINS,
                                     .kinds = MORTISE_KIND_ALL,
                                     .in_process = true};
    struct mortise_err err = {0};

    for (size_t i = 0; i < N_PLUGINS; i++)
        names[i] = plugins[i].name;
    mortise_seckey_public(key, &by.key);
    bench_must(mortise_trust_add(bench_path("trust.d"), "bench", &by,
                                 &mortise_heap, &err),
               &err, "trust the key of the benchmarks");
}

/* bench_wait waits so long where its args do not say. */
static void deploy(const char *name, int wait_ms)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "apiVersion: mortise/v1\n"
                     "kind: Deployment\n"
                     "metadata: {name: bench}\n"
                     "plugins:\n"
                     "  path: [plugins]\n"
                     "  config: {bench_wait: {ms: %d}}\n"
                     "trust: {dir: trust.d}\n",
                     wait_ms);

    bench_write_file(bench_path("%s", name), text, (size_t)n);
}

static void remove_root(void)
{
    bench_remove(root);
}

void bench_world_init(void)
{
    struct mortise_seckey key;
    struct mortise_err err = {0};

    snprintf(root, sizeof root, "%s", bench_build("bench-XXXXXX"));
    if (mkdtemp(root) == NULL)
        bench_die("cannot make %s: %s", root, strerror(errno));
    atexit(remove_root);
    setenv("XDG_STATE_HOME", bench_path("state"), 1); /* nobody else's */
    bench_must(mortise_seckey_new(&key, &err), &err, "make a key");
    for (size_t i = 0; i < N_PLUGINS; i++)
        sign(&key, i);
    trust(&key);
    mortise_seckey_wipe(&key);
    deploy("mortise.yaml", 0);
    deploy("slow.yaml", 3600000);
}

void bench_world_use(const char *dir)
{
    snprintf(root, sizeof root, "%s", dir);
}

/* ---- engines and runs ---------------------------------------------------- */

static void complain(void *ud, int level, const char *msg)
{
    (void)ud;
    if (level <= MORTISE_LOG_WARN)
        fprintf(stderr, "bench: engine: %s\n", msg);
}

struct mortise *bench_open_with(const char *store, const char *deployment)
{
    struct mortise_options o = {.size = sizeof o,
                                .deployment = bench_path("%s", deployment),
                                .store = bench_path("%s", store),
                                .log = complain};
    struct mortise_err err = {0};
    struct mortise *m;

    bench_must(mortise_open(&m, &o, &err), &err, "open an engine");
    return m;
}

struct mortise *bench_open(const char *store)
{
    return bench_open_with(store, "mortise.yaml");
}

struct mortise *bench_open_slowly(const char *store)
{
    return bench_open_with(store, "slow.yaml");
}

struct mortise_graph *bench_load(struct mortise *m, const struct mortise_buf *b)
{
    const char *path = bench_path("graph.yaml");
    struct mortise_graph *g;
    struct mortise_err err = {0};
    char *report;
    int rv;

    if (b->failed)
        bench_die("out of memory");
    bench_write_file(path, b->p, b->n);
    rv = mortise_load(m, path, &g, &report, &err);
    if (rv == MORTISE_ECHECK)
        bench_die("a graph does not load:\n%.2000s", report);
    bench_must(rv, &err, "load a graph");
    mortise_free(m, report);
    return g;
}

void bench_start(struct mortise *m, struct mortise_graph *g, const char *id,
                 const char *input)
{
    struct mortise_start_options s = {
        .size = sizeof s, .run = id, .input = input};
    struct mortise_err err = {0};
    char run[MORTISE_RUN_MAX];

    bench_must(mortise_start(m, g, &s, run, &err), &err, "start a run");
}

void bench_settle(struct mortise *m)
{
    struct mortise_err err = {0};
    int rv = mortise_poll(m, 0, &err); /* it may all be over */

    while (rv == 1)
        rv = mortise_poll(m, 1000, &err);
    bench_must(rv, &err, "turn the loop");
}

void bench_expect(struct mortise *m, const char *id, const char *status)
{
    struct mortise_err err = {0};
    char want[64], *json;

    bench_must(mortise_show(m, NULL, id, &json, &err), &err, "show a run");
    snprintf(want, sizeof want, "\"status\":\"%s\"", status);
    if (strstr(json, want) == NULL)
        bench_die("a run is not %s:\n%.2000s", status, json);
    mortise_free(m, json);
}

double bench_start_some(struct mortise *m, struct mortise_graph *g, size_t n)
{
    double begun = bench_now();

    for (size_t i = 0; i < n; i++)
        bench_start(m, g, bench_id(), bench_input);
    return bench_now() - begun;
}

double bench_finish(struct mortise *m, struct mortise_graph *g)
{
    const char *id = bench_id();
    double begun = bench_now();

    bench_start(m, g, id, bench_input);
    bench_settle(m);
    begun = bench_now() - begun;
    bench_expect(m, id, "completed");
    return begun;
}

const char *bench_id(void)
{
    static char ids[8][32];
    static unsigned next;
    char *id = ids[next % 8];

    snprintf(id, sizeof ids[0], "bench-%08u", next++);
    return id;
}

/* ---- graphs -------------------------------------------------------------- */

/* 13 bytes around it, 20 of scratch.v, and this: 200. */
#define CARRIED                                                                \
    "0123456789012345678901234567890123456789012345678901234567890123456789"   \
    "0123456789012345678901234567890123456789012345678901234567890123456789"   \
    "012345678901234"
const char bench_input[] = "{\"carried\":\"" CARRIED "\"}";

void bench_graph_head(struct mortise_buf *b, const char *name,
                      const char *start)
{
    mortise_buf_printf(b,
                       "apiVersion: mortise/v1\n"
                       "kind: Graph\n"
                       "metadata: {name: %s}\n"
                       "start: %s\n",
                       name, start);
}

static void chain_nodes(struct mortise_buf *b, const char *op, const char *args,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mortise_buf_printf(b,
                           "  n%zu:\n"
                           "    type: tool\n"
                           "    tool: %s\n"
                           "    args: %s\n"
                           "    output_as: null\n"
                           "    outputs: {scratch.v: output}\n",
                           i, op, args);
        if (i + 1 < n)
            mortise_buf_printf(b, "    next: n%zu\n", i + 1);
    }
}

void bench_chain(struct mortise_buf *b, const char *op, const char *args,
                 size_t n)
{
    bench_graph_head(b, "chain", "n0");
    mortise_buf_printf(b, "limits: {steps: %zu}\nnodes:\n", n);
    chain_nodes(b, op, args, n);
}

void bench_gated_chain(struct mortise_buf *b, const char *op, const char *args,
                       size_t n, size_t runs)
{
    bench_graph_head(b, "gated", "gate");
    mortise_buf_printf(b,
                       "limits: {steps: %zu}\n"
                       "nodes:\n"
                       "  gate:\n"
                       "    type: tool\n"
                       "    tool: bench_wait/gate\n"
                       "    args: {n: %zu}\n"
                       "    output_as: null\n"
                       "    next: n0\n",
                       n + 1, runs);
    chain_nodes(b, op, args, n);
}

void bench_fan(struct mortise_buf *b, size_t n)
{
    static const char tool[] = "    type: tool\n    tool: bench_now/step\n";

    bench_graph_head(b, "fan", "fork");
    mortise_buf_printf(b, "limits: {concurrency: %zu, steps: %zu}\nnodes:\n", n,
                       n + 2);
    mortise_buf_printf(b, "  fork:\n%s    next: [w0", tool);
    for (size_t i = 1; i < n; i++)
        mortise_buf_printf(b, ", w%zu", i);
    mortise_buf_puts(b, "]\n");
    for (size_t i = 0; i < n; i++)
        mortise_buf_printf(b, "  w%zu:\n%s    next: join\n", i, tool);
    mortise_buf_printf(b, "  join:\n%s", tool);
}
