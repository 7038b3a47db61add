/* models.c -- what an agent costs beside its model.
 *
 * The model is a server in a process of its own (modeld.c).  A turn of a loop is
 * held against a bare libcurl that sends as many bytes over one connection, and
 * against the one synced commit that it waits for.
 */
#include "bench.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "services/http/curl.h"
#include "core/mortise.h"

enum { MANY = 1000, TURNS = 200, REPEATS = 5 };

static int port;

static void deploy(void)
{
    char text[2048];
    int n = snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: bench}\n"
        "plugins: {path: [plugins]}\ntrust: {dir: trust.d}\nmodels:\n"
        "  slow: {provider: openai, model: m, base_url: "
        "'http://127.0.0.1:%d/text/1000/v1'}\n"
        "  wait: {provider: openai, model: m, base_url: "
        "'http://127.0.0.1:%d/text/3600000/v1'}\n"
        "  loop: {provider: openai, model: m, base_url: "
        "'http://127.0.0.1:%d/loop/%d/v1'}\n"
        "  stuck: {provider: openai, model: m, base_url: "
        "'http://127.0.0.1:%d/stuck/%d/v1'}\n",
        port, port, port, TURNS, port, TURNS);

    bench_write_file(bench_path("models.yaml"), text, (size_t)n);
}

static void agent(struct mortise_buf *b, const char *alias, bool gated)
{
    bench_graph_head(b, "agent", gated ? "gate" : "a");
    mortise_buf_puts(b, "nodes:\n");
    if (gated)
        mortise_buf_printf(b,
                           "  gate: {type: tool, tool: bench_wait/gate, args: "
                           "{n: %d}, output_as: null, next: a}\n",
                           MANY);
    mortise_buf_printf(b,
                       "  a:\n    type: gmi\n    prompt: go on\n    stream: "
                       "false\n    llm: {provider_id: %s}\n    "
                       "tool_allowlist: [bench_now/step]\n    "
                       "max_internal_iterations: 1000\n",
                       alias);
}

static struct mortise_graph *load(struct mortise *m, const char *alias,
                                  bool gated)
{
    struct mortise_graph *g;
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    agent(&b, alias, gated);
    g = bench_load(m, &b);
    mortise_buf_finish(&b);
    return g;
}

/* ---- many calls at once ---------------------------------------------------- */

static void many(void)
{
    struct mortise *m = bench_open_with("many", "models.yaml");
    struct mortise_graph *g = load(m, "slow", true);
    double all[3], threads[3];

    for (int i = 0; i < 3; i++) {
        bench_start_some(m, g, MANY - 1);
        threads[i] = bench_threads();
        all[i] = bench_finish(m, g);
    }
    bench_row(&(struct bench_row){
        .what = "1,000 calls of a model that takes 1 s, at once",
        .measured = bench_median(all, 3),
        .against = "ideal",
        .reference = 1,
        .at_most = 1.5});
    bench_row(&(struct bench_row){.what = "  ... threads",
                                  .unit = BENCH_COUNT,
                                  .measured = bench_median(threads, 3)});
    mortise_graph_close(g);
    mortise_close(m);
}

/* ---- memory ------------------------------------------------------------------ */

/* In a process that ends with its calls out. */
int bench_child_holding(const char *arg)
{
    struct mortise *m = bench_open_with(arg, "models.yaml");
    struct mortise_graph *g = load(m, "wait", false);
    struct mortise_err err = {0};
    double before, after;

    bench_start(m, g, bench_id(), bench_input); /* loads what all need */
    for (int i = 0; i < 200; i++)
        bench_must(mortise_poll(m, 5, &err), &err, "turn the loop");
    before = bench_memory(getpid(), "RssAnon");
    bench_start_some(m, g, MANY);
    for (int i = 0; i < 400; i++)
        bench_must(mortise_poll(m, 5, &err), &err, "turn the loop");
    after = bench_memory(getpid(), "RssAnon");
    printf("%.0f\n", (after - before) / MANY);
    fflush(stdout);
    _exit(0);
}

static void waiting(void)
{
    double bytes;

    bench_again("holding", "waiting", &bytes, 1);
    bench_row(&(struct bench_row){
        .what = "memory that a waiting agent holds, its connection too",
        .unit = BENCH_BYTES,
        .measured = bytes});
}

/* ---- a turn ------------------------------------------------------------------- */

static size_t discard(char *p, size_t size, size_t n, void *ud)
{
    (void)p;
    (void)ud;
    return size * n;
}

/* libcurl as the engine finds it: a program that links it has thirty libraries
 * more, in all that it starts and measures. */
static const struct mortise_curl *curl_of(CURLcode (**perform)(CURL *))
{
    const struct mortise_curl *curl;
    struct mortise_err err;
    void *lib, *p;

    if (mortise_curl_get(&curl, &err) != MORTISE_OK)
        bench_die("%s", err.msg);
    lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD);
    p = lib != NULL ? dlsym(lib, "curl_easy_perform") : NULL;
    if (p == NULL)
        bench_die("libcurl has no curl_easy_perform()");
    memcpy(perform, &p, sizeof p);
    return curl;
}

/* Seconds of a bare call with a body of that size, over one connection; the
 * server counts no replies in it. */
static double bare(size_t size)
{
    CURLcode (*perform)(CURL *);
    const struct mortise_curl *curl = curl_of(&perform);
    CURL *c = curl->easy_init();
    char url[128], *body = malloc(size + 1);
    struct curl_slist *h = NULL;
    double t[64];

    memset(body, 'x', size);
    body[size] = '\0';
    snprintf(url, sizeof url, "http://127.0.0.1:%d/loop/%d/v1/chat/completions",
             port, TURNS);
    h = curl->slist_append(h, "Content-Type: application/json");
    h = curl->slist_append(h, "Expect:");
    curl->easy_setopt(c, CURLOPT_URL, url);
    curl->easy_setopt(c, CURLOPT_HTTPHEADER, h);
    curl->easy_setopt(c, CURLOPT_POSTFIELDS, body);
    curl->easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)size);
    curl->easy_setopt(c, CURLOPT_WRITEFUNCTION, discard);
    for (size_t i = 0; i < 64; i++) {
        double begun = bench_now();

        if (perform(c) != CURLE_OK)
            bench_die("the model server does not answer");
        t[i] = bench_now() - begun;
    }
    curl->easy_cleanup(c);
    curl->slist_free_all(h);
    free(body);
    return bench_median(t, 64);
}

/* About what a request has behind n turns. */
static size_t request_size(size_t turns)
{
    return 700 + turns * 330;
}

/* Seconds of a turn; and of what it waited in LevelDB. */
static double loop(struct mortise *m, struct mortise_graph *g, double *commit)
{
    double t[REPEATS], write[REPEATS];

    for (int i = 0; i < REPEATS; i++) {
        bench_meter_reset();
        t[i] = bench_finish(m, g) / TURNS;
        write[i] = bench_meter_read().write / TURNS;
    }
    *commit = bench_median(write, REPEATS);
    return bench_median(t, REPEATS);
}

static void turns(void)
{
    struct mortise *m = bench_open_with("turns", "models.yaml");
    struct mortise_graph *g = load(m, "loop", false);
    double commit, each = loop(m, g, &commit);
    double call = bare(request_size(TURNS / 2));

    bench_row(&(struct bench_row){.what = "a turn of a loop of 200",
                                  .measured = each,
                                  .against = "bare curl call",
                                  .reference = call});
    bench_row(&(struct bench_row){.what = "  ... its commit, in LevelDB",
                                  .measured = commit,
                                  .against = "bare synced put",
                                  .reference = bench_base.put});
    bench_row(&(struct bench_row){.what = "  ... beside that call and commit",
                                  .measured = each - call - commit,
                                  .at_most = 1e-3});
    mortise_graph_close(g);
    mortise_close(m);
}

/* ---- after a kill -9 ------------------------------------------------------------ */

static const char resumed[] = "resumed-00000001";

/* Until the last model call is out, and then some. */
int bench_child_agent(const char *arg)
{
    struct mortise *m = bench_open_with(arg, "models.yaml");
    struct mortise_graph *g = load(m, "stuck", false);
    struct mortise_err err = {0};
    double begun;

    bench_start(m, g, resumed, bench_input);
    begun = bench_now();
    while (bench_now() - begun < 3)
        bench_must(mortise_poll(m, 50, &err), &err, "turn the loop");
    kill(getpid(), SIGKILL);
    return 1;
}

static void resume(void)
{
    const char *argv[] = {"/proc/self/exe", "--child", "agent",
                          bench_path("."),  "killed",  NULL};
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_RESUME};
    struct bench_child child = bench_spawn(argv);
    struct mortise_err err = {0};
    double opened, begun;
    struct mortise *m;

    if (bench_reap(&child) != 128 + SIGKILL)
        bench_die("the agent did not die");
    opened = bench_now();
    m = bench_open_with("killed", "models.yaml");
    begun = bench_now();
    bench_must(mortise_apply(m, NULL, resumed, &c, 1, 0, NULL, &err), &err,
               "resume a run");
    bench_settle(m);
    bench_row(&(struct bench_row){
        .what = "a loop of 200 turns resumed after kill -9, to its end",
        .measured = bench_now() - begun,
        .against = "bare synced put",
        .reference = bench_base.put,
        .at_most = 50e-3});
    bench_row(&(struct bench_row){.what = "  ... to open its store before that",
                                  .measured = begun - opened});
    bench_expect(m, resumed, "completed");
    mortise_close(m);
}

void bench_models(void)
{
    bench_section("models: what an agent costs beside them");
    port = bench_modeld();
    deploy();
    turns();
    resume();
    many();
    waiting();
}
