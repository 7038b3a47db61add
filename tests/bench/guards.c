/* guards.c -- the guardrails that look for things in texts: how often they are
 * right, and how fast they are.
 *
 * They are asked through their interface, by a host that keeps what they emit and
 * nothing else.  Precision and recall are over the texts of tests/corpora: those
 * that were held out, and those that the scanners were made by.  The speed is
 * over a payload of a mebibyte, made of those texts in any order, and over one of
 * prose in which there is nothing to find. */
#include "bench.h"

#include <dlfcn.h>
#include <jansson.h>
#include <mortise/ask.h>
#include <mortise/guardrail.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/corpus.h"

enum { PAYLOAD = 1 << 20, REPEATS = 9, LINE_MAX_BYTES = 8192 };

/* ---- a host -------------------------------------------------------------- */

static struct {
    bool violation;
    char *output; /* malloc()ed; NULL: nothing was offered */
} said;

static mortise_status host_emit(mortise_host *h, mortise_call c,
                                mortise_str kind, mortise_str chunk)
{
    (void)h;
    (void)c;
    if (kind.n == 6) { /* output */
        free(said.output);
        said.output = strndup(chunk.p, chunk.n);
    } else {
        said.violation = memmem(chunk.p, chunk.n, ":true", 5) != NULL;
    }
    return MORTISE_S_OK;
}

static void host_fail(mortise_host *h, mortise_call c, mortise_str msg,
                      mortise_str detail)
{
    (void)h;
    (void)c;
    (void)detail;
    bench_die("a guardrail: %.*s", (int)msg.n, msg.p);
}

static int32_t host_cancelled(mortise_host *h, mortise_call c)
{
    (void)h;
    (void)c;
    return 0;
}

static uint64_t host_now(mortise_host *h)
{
    (void)h;
    return (uint64_t)(bench_now() * 1e9);
}

static const mortise_host_api host = {.size = sizeof host,
                                      .abi_major = 1,
                                      .emit = host_emit,
                                      .fail = host_fail,
                                      .cancelled = host_cancelled,
                                      .now_ns = host_now};

struct guard {
    mortise_inst *inst;
    const mortise_guardrail *table;
    const mortise_plugin *plugin;
};

static void open_guard(struct guard *g, const char *name, const char *config)
{
    char path[4096];
    const mortise_module *module;
    const char *build = getenv("MORTISE_BUILD");
    void *object;

    snprintf(path, sizeof path, "%s/plugins/%s.so",
             build != NULL ? build : "build", name);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    module = object != NULL ? dlsym(object, "mortise_module_v1") : NULL;
    if (module == NULL)
        bench_die("load %s: %s", path, dlerror());
    g->plugin = module->plugins[0];
    if (g->plugin->create(NULL, &host, mortise_strz(config), &g->inst) !=
        MORTISE_S_OK)
        bench_die("create %s", name);
    g->table = g->plugin->get_interface(g->inst, MORTISE_GUARDRAIL_2);
}

static void close_guard(struct guard *g)
{
    g->plugin->destroy(g->inst);
    free(said.output);
    said.output = NULL;
}

static void check(const struct guard *g, const char *json)
{
    const mortise_request r = {
        .size = sizeof r, .call = 1, .body = mortise_strz(json)};

    free(said.output);
    said.output = NULL;
    said.violation = false;
    if (g->table->check(g->inst, MORTISE_STAGE_NODE, &r) != MORTISE_S_OK)
        bench_die("a guardrail cannot tell");
}

/* ---- how often it is right ----------------------------------------------- */

static FILE *open_corpus(const char *path)
{
    FILE *f = fopen(path, "r");

    if (f == NULL)
        bench_die("%s: no such file here", path);
    return f;
}

/* A line of a text in which things are marked. */
static void judge_marks(const struct guard *g, const char *line, size_t n,
                        struct corpus_count *c)
{
    signed char *marks;
    char *text = corpus_line(line, n, NULL, &marks), *got, *json;
    json_t *v = json_string(text), *masked = NULL;

    json = json_dumps(v, JSON_ENCODE_ANY);
    check(g, json);
    if (said.output != NULL)
        masked = json_loads(said.output, JSON_DECODE_ANY, NULL);
    got = strdup(masked != NULL ? json_string_value(masked) : text);
    corpus_judge(text, marks, got, c);
    json_decref(v);
    json_decref(masked);
    free(json);
    free(got);
    free(text);
    free(marks);
}

/* A line that is one thing as a whole: + or -, and a JSON string's content. */
static void judge_whole(const struct guard *g, const char *line, size_t n,
                        struct corpus_count *c)
{
    char json[LINE_MAX_BYTES + 3];

    snprintf(json, sizeof json, "\"%.*s\"", (int)(n - 2), line + 2);
    check(g, json);
    c->right += line[0] == '+' && said.violation;
    c->missed += line[0] == '+' && !said.violation;
    c->wrong += line[0] == '-' && said.violation;
}

static struct corpus_count count(const struct guard *g, const char *path,
                                 bool whole)
{
    struct corpus_count c = {0};
    char line[LINE_MAX_BYTES];
    FILE *f = open_corpus(path);

    while (fgets(line, sizeof line, f) != NULL) {
        size_t n = strcspn(line, "\n");

        line[n] = '\0';
        if (line[0] == '#' || n < 2)
            continue;
        if (whole)
            judge_whole(g, line, n, &c);
        else
            judge_marks(g, line, n, &c);
    }
    fclose(f);
    return c;
}

static void say_count(const char *name, const char *which,
                      const struct corpus_count *c)
{
    bench_note("%s, %s: precision %.2f, recall %.2f (%u right, %u missed, %u "
               "wrong)",
               name, which, corpus_precision(c), corpus_recall(c), c->right,
               c->missed, c->wrong);
}

/* ---- how fast it is ------------------------------------------------------ */

/* A payload of that size: pieces of the corpus in some order, or of prose. */
static char *payload(const char *path)
{
    static const char prose[] =
        "The quick brown fox jumps over the lazy dog, and nobody minds: it is "
        "a dog of 12 years. ";
    json_t *list = json_array(), *v;
    char line[LINE_MAX_BYTES], *json;
    FILE *f = path != NULL ? open_corpus(path) : NULL;
    size_t n = 0;

    while (n < PAYLOAD) {
        const char *text = prose;

        if (f != NULL && fgets(line, sizeof line, f) == NULL) {
            rewind(f);
            continue;
        }
        if (f != NULL)
            text = line;
        n += strlen(text);
        v = json_string(text);
        if (v != NULL)
            json_array_append_new(list, v);
    }
    if (f != NULL)
        fclose(f);
    json = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return json;
}

static double time_of(const struct guard *g, const char *json)
{
    double times[REPEATS];

    for (int k = 0; k < REPEATS; k++) {
        double t0 = bench_cpu();

        check(g, json);
        times[k] = bench_cpu() - t0;
    }
    return bench_median(times, REPEATS);
}

static double parse_time(const char *json)
{
    double times[REPEATS];

    for (int k = 0; k < REPEATS; k++) {
        double t0 = bench_cpu();

        json_decref(json_loads(json, 0, NULL));
        times[k] = bench_cpu() - t0;
    }
    return bench_median(times, REPEATS);
}

static void speed(const struct guard *g, const char *name, const char *what,
                  const char *path)
{
    char *json = payload(path), words[96];
    double took = time_of(g, json), parsed = parse_time(json);

    snprintf(words, sizeof words, "%s, 1 MiB of %s (%.0f MB/s)", name, what,
             (double)strlen(json) / took / 1e6);
    bench_row(&(struct bench_row){.what = words,
                                  .unit = BENCH_SECONDS,
                                  .measured = took,
                                  .against = "jansson parses it",
                                  .reference = parsed});
    free(json);
}

void bench_guards(void)
{
    static const struct {
        const char *name, *config;
        bool whole;
    } guards[] = {{"pii", "{\"mask\":\"stars\"}", false},
                  {"secrets", "{\"mask\":\"stars\"}", false},
                  {"injection", "{}", true}};

    bench_section("guardrails that look for things in texts");
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        char path[64], held[64];
        struct corpus_count c;
        struct guard g;

        snprintf(path, sizeof path, "tests/corpora/%s.txt", guards[i].name);
        snprintf(held, sizeof held, "tests/corpora/held/%s.txt",
                 guards[i].name);
        open_guard(&g, guards[i].name, guards[i].config);
        speed(&g, guards[i].name, "prose", NULL);
        speed(&g, guards[i].name, "its corpus", held);
        c = count(&g, held, guards[i].whole);
        say_count(guards[i].name, "held out", &c);
        c = count(&g, path, guards[i].whole);
        say_count(guards[i].name, "made by", &c);
        close_guard(&g);
    }
}
