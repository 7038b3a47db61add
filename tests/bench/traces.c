/* traces.c -- what the bundled memory costs: traces written in batches, and
 * searches of three words, with 10^4, 10^5 and 10^6 traces.
 *
 * Its interface is called as an engine calls it, without an engine: what is
 * measured is the plugin, and the disk.  Texts have twelve words of 50,000, drawn
 * by Zipf's law (the k-th word as 1/k), and so have queries: mostly words that
 * very many traces have.  Half of the searches are within one session of three
 * places, as a node's are; all traces are of one tenant.
 */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/memory.h>

enum {
    WORDS = 50000,
    LONGEST = 10,
    OF_A_TEXT = 12,
    BATCH = 1000,
    SEARCHES = 1000,
    ROOM = 1 << 20,
    MOST = 1000000
};

struct mortise_host {
    char *out;
    size_t n, room;
};

static struct mortise_host host;
static mortise_inst *inst;
static const mortise_memory *memory;
static const mortise_plugin *plugin;

/* ---- a host -------------------------------------------------------------- */

static void on_log(mortise_host *h, int32_t level, mortise_str text)
{
    (void)h;
    (void)level;
    (void)text;
}

static mortise_status on_emit(mortise_host *h, mortise_call call,
                              mortise_str kind, mortise_str chunk)
{
    (void)call;
    (void)kind;
    if (h->n + chunk.n > h->room) {
        h->room = 2 * (h->n + (size_t)chunk.n);
        h->out = realloc(h->out, h->room);
        if (h->out == NULL)
            bench_die("out of memory");
    }
    memcpy(h->out + h->n, chunk.p, chunk.n);
    h->n += (size_t)chunk.n;
    return MORTISE_S_OK;
}

static void on_fail(mortise_host *h, mortise_call call, mortise_str text,
                    mortise_str detail)
{
    (void)h;
    (void)call;
    (void)detail;
    bench_die("the memory: %.*s", (int)text.n, text.p);
}

static int32_t on_cancelled(mortise_host *h, mortise_call call)
{
    (void)h;
    (void)call;
    return 0;
}

static const mortise_host_api api = {.size = sizeof api,
                                     .log = on_log,
                                     .emit = on_emit,
                                     .fail = on_fail,
                                     .cancelled = on_cancelled};

static void open_memory(void)
{
    const char *path = bench_build("plugins/local.so");
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const mortise_module *module =
        so != NULL ? dlsym(so, "mortise_module_v1") : NULL;
    char config[1024];

    if (module == NULL)
        bench_die("%s: %s", path, dlerror());
    plugin = module->plugins[0];
    snprintf(config, sizeof config, "{\"directory\":\"%s\"}",
             bench_path("memory"));
    if (plugin->create(&host, &api, mortise_strz(config), &inst) !=
        MORTISE_S_OK)
        bench_die("the memory does not come up");
    memory = plugin->get_interface(inst, MORTISE_MEMORY_1);
}

static void ask(mortise_status (*fn)(mortise_inst *, const mortise_request *),
                const char *body, size_t n)
{
    mortise_request r = {.size = sizeof r, .call = 1, .body = {body, n}};

    host.n = 0;
    if (fn(inst, &r) != MORTISE_S_OK)
        bench_die("the memory failed");
}

/* ---- texts --------------------------------------------------------------- */

static double sums[WORDS]; /* of 1/k */
static char words[WORDS][LONGEST + 1];
static uint64_t seed = 88172645463325252u;

static double draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static void make_words(void)
{
    double sum = 0;

    for (int k = 0; k < WORDS; k++) {
        int n = 3 + k % (LONGEST - 3);

        sum += 1.0 / (k + 1);
        sums[k] = sum;
        for (int i = 0; i < n; i++)
            words[k][i] = (char)('a' + (int)(draw() * 26));
    }
}

static const char *word(void)
{
    double at = draw() * sums[WORDS - 1];
    int low = 0, high = WORDS - 1;

    while (low < high) {
        int middle = (low + high) / 2;

        if (sums[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return words[low];
}

static size_t write_trace(char *out, size_t room, uint64_t id)
{
    static const char *const places[] = {"\"scope\":\"global\"",
                                         "\"scope\":\"session\",\"key\":\"1\"",
                                         "\"scope\":\"session\",\"key\":\"2\"",
                                         "\"scope\":\"session\",\"key\":\"3\""};
    size_t n = (size_t)snprintf(
        out, room,
        "{\"id\":\"%016llx%016llx\",\"type\":\"episodic\",%s,\"strength\":0.5,"
        "\"created_at\":1790000000000,\"content\":\"",
        (unsigned long long)(id * 11400714819323198485u),
        (unsigned long long)id, places[id % 4]);

    for (int k = 0; k < OF_A_TEXT; k++)
        n += (size_t)snprintf(out + n, room - n, "%s%s", k > 0 ? " " : "",
                              word());
    return n + (size_t)snprintf(out + n, room - n, "\"}");
}

/* ---- what is measured ---------------------------------------------------- */

static const char head[] = "{\"tenant\":\"bench\",\"now\":1790000000000,";

/* Seconds that passed, and those in which this thread computed: on a machine that
 * has other work only the latter say something of the plugin. */
struct took {
    double passed, computed;
};

static struct took ask_timed(mortise_status (*fn)(mortise_inst *,
                                                  const mortise_request *),
                             const char *body, size_t n)
{
    double from = bench_now(), cpu = bench_cpu();

    ask(fn, body, n);
    return (struct took){bench_now() - from, bench_cpu() - cpu};
}

/* So many more, without what it takes to make them up. */
static struct took fill(char *body, uint64_t *there, uint64_t up_to)
{
    struct took all = {0, 0}, one;

    while (*there < up_to) {
        size_t n = (size_t)snprintf(body, ROOM, "%s\"traces\":[", head);

        for (int k = 0; k < BATCH; k++) {
            if (k > 0)
                body[n++] = ',';
            n += write_trace(body + n, ROOM - n, (*there)++);
        }
        n += (size_t)snprintf(body + n, ROOM - n, "]}");
        one = ask_timed(memory->write, body, n);
        all.passed += one.passed;
        all.computed += one.computed;
    }
    return all;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void search(double passed[SEARCHES], double computed[SEARCHES],
                   char *body)
{
    struct took one;

    for (int k = 0; k < SEARCHES; k++) {
        size_t n = (size_t)snprintf(
            body, ROOM, "%s\"max_traces\":10,\"query\":\"%s %s %s\"%s}", head,
            word(), word(), word(),
            k % 2 == 0 ? "" : ",\"keys\":{\"session\":\"1\"}");

        one = ask_timed(memory->read, body, n);
        passed[k] = one.passed;
        computed[k] = one.computed;
    }
    qsort(passed, SEARCHES, sizeof *passed, by_size);
    qsort(computed, SEARCHES, sizeof *computed, by_size);
}

static void row(const char *what, enum bench_unit unit, double measured,
                double at_most)
{
    const struct bench_row r = {
        .what = what, .unit = unit, .measured = measured, .at_most = at_most};

    bench_row(&r);
}

/* From what was there before to so many; what they took joins `all`. */
static void step(char *body, uint64_t *there, uint64_t up_to, struct took *all)
{
    static double passed[SEARCHES], computed[SEARCHES];
    uint64_t more = up_to - *there;
    struct took filled = fill(body, there, up_to);
    char what[96];

    all->passed += filled.passed;
    all->computed += filled.computed;
    snprintf(what, sizeof what, "20,000 of %llu traces written",
             (unsigned long long)up_to);
    row(what, BENCH_SECONDS, all->passed * 20000 / (double)up_to, 1.0);
    row("... computing", BENCH_SECONDS, all->computed * 20000 / (double)up_to,
        1.0);
    row("... of the last nine tenths", BENCH_SECONDS,
        filled.passed * 20000 / (double)more, 0);
    search(passed, computed, body);
    snprintf(what, sizeof what, "search of three words, %llu: median",
             (unsigned long long)up_to);
    row(what, BENCH_SECONDS, passed[SEARCHES / 2], 0);
    row("... the slowest but one in a hundred", BENCH_SECONDS,
        passed[SEARCHES * 99 / 100], 0.020);
    row("... computing", BENCH_SECONDS, computed[SEARCHES * 99 / 100], 0.020);
    snprintf(what, sizeof what, "on disk, a trace");
    row(what, BENCH_BYTES,
        (double)bench_size_of(bench_path("memory")) / (double)up_to, 0);
}

void bench_traces(void)
{
    char *body = malloc(ROOM);
    struct took all = {0, 0};
    uint64_t there = 0;

    if (body == NULL)
        bench_die("out of memory");
    bench_section("memory (the plugin alone)");
    make_words();
    open_memory();
    for (uint64_t n = 10000; n <= MOST; n *= 10)
        step(body, &there, n, &all);
    bench_note("each batch of %d is synced; a third of all texts has the "
               "commonest word, and a query's words are as common",
               (int)BATCH);
    plugin->destroy(inst);
    bench_remove(bench_path("memory"));
    free(body);
    free(host.out);
}
