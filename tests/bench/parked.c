/* parked.c -- runs that wait for a person, very many of them.
 *
 * The store is filled by an engine whose syncs are not passed on, since
 * filling is not measured.  Looking is measured in processes of their own: each
 * opens the store, lists pages, answers some runs and says how much memory it
 * has taken.  The first to open a store verifies all that was written since an
 * opening last did; what it sees counts for its opening alone. */
#include "bench.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mortise.h"

enum { PAGE = 100, ANSWERED = 11, PATIENCE = 30 };

/* ---- looking
 * ------------------------------------------------------------------- */

enum {
    SAW_OPEN,
    SAW_PAGE,
    SAW_LATER, /* a page in the middle */
    SAW_INBOX,
    SAW_FIRST, /* answer, and its run's end; loads graph and plugin */
    SAW_MORE,  /* the others */
    SAW_RESIDENT,
    SAW_OWN, /* of that, not LevelDB's mapped files */
    SAW
};

static double list(struct mortise *m, const char *after)
{
    struct mortise_err err = {0};
    double begun = bench_now();
    char *json;

    bench_must(mortise_runs(m, NULL, after, PAGE, &json, &err), &err,
               "list runs");
    mortise_free(m, json);
    return bench_now() - begun;
}

static double inbox(struct mortise *m)
{
    struct mortise_err err = {0};
    double begun = bench_now();
    char *json;

    bench_must(mortise_inbox(m, NULL, NULL, PAGE, &json, &err), &err,
               "list requests");
    mortise_free(m, json);
    return bench_now() - begun;
}

/* The id of the one request of a run; the caller's to free(). */
static char *request_of(struct mortise *m, const char *run)
{
    struct mortise_err err = {0};
    json_t *v, *pending;
    const char *id;
    char *json, *copy;

    bench_must(mortise_show(m, NULL, run, &json, &err), &err, "show a run");
    v = json_loads(json, 0, NULL);
    pending = json_array_get(json_object_get(v, "pending"), 0);
    id = json_string_value(json_object_get(pending, "id"));
    if (id == NULL)
        bench_die("a parked run waits for nothing:\n%.2000s", json);
    copy = strdup(id);
    json_decref(v);
    mortise_free(m, json);
    return copy;
}

/* Answer a parked run and see it end. */
static double answer(struct mortise *m, const char *run)
{
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_ANSWER,
                                .id = request_of(m, run),
                                .json = "{\"approved\":true}"};
    struct mortise_err err = {0};
    double begun = bench_now();

    bench_must(mortise_apply(m, NULL, run, &c, 1, 0, NULL, &err), &err,
               "answer a run");
    bench_settle(m);
    begun = bench_now() - begun;
    bench_expect(m, run, "completed");
    free((char *)(uintptr_t)c.id);
    return begun;
}

static const char *parked_id(size_t i)
{
    static char ids[4][32];
    static unsigned next;
    char *id = ids[next++ % 4];

    snprintf(id, sizeof ids[0], "parked-%07zu", i);
    return id;
}

/* `arg`: "N:FIRST", how many there are and which to answer. */
int bench_child_parked(const char *arg)
{
    double saw[SAW], more[ANSWERED - 1], begun = bench_now();
    char *end;
    size_t n = strtoul(arg, &end, 10), first = strtoul(end + 1, NULL, 10);
    struct mortise *m = bench_open("parked");

    saw[SAW_OPEN] = bench_now() - begun;
    saw[SAW_PAGE] = list(m, NULL);
    saw[SAW_LATER] = list(m, parked_id(n / 2));
    saw[SAW_INBOX] = inbox(m);
    saw[SAW_FIRST] = answer(m, parked_id(first));
    for (size_t i = 1; i < ANSWERED; i++)
        more[i - 1] = answer(m, parked_id(first + i));
    saw[SAW_MORE] = bench_median(more, ANSWERED - 1);
    saw[SAW_RESIDENT] = bench_memory(getpid(), "VmHWM");
    saw[SAW_OWN] = bench_memory(getpid(), "RssAnon");
    mortise_close(m);
    for (int i = 0; i < SAW; i++)
        printf("%.9g\n", saw[i]);
    return 0;
}

/* ---- filling
 * --------------------------------------------------------------------- */

static void parking_graph(struct mortise_buf *b)
{
    bench_graph_head(b, "parking", "look");
    mortise_buf_puts(
        b, "nodes:\n"
           "  look: {type: tool, tool: bench_now/step, next: ask}\n"
           "  ask: {type: human, prompt: \"Go on with ${artifacts.look}?\",\n"
           "        next: act}\n"
           "  act: {type: tool, tool: bench_now/step}\n");
}

/* Until LevelDB has compacted what it wants to: its files stay as they are. */
static void await_rest(void)
{
    uint64_t before = 0, now = bench_size_of(bench_path("parked"));
    double until = bench_now() + 10;

    while (now != before && bench_now() < until) {
        before = now;
        usleep(300000);
        now = bench_size_of(bench_path("parked"));
    }
}

/* Have n parked runs where there were `from`; seconds. */
static double fill(size_t from, size_t n)
{
    struct mortise *m = bench_open("parked");
    struct mortise_graph *g;
    struct mortise_buf b;
    double begun = bench_now();

    mortise_buf_init(&b, &mortise_heap);
    parking_graph(&b);
    g = bench_load(m, &b);
    bench_sync(false);
    for (size_t i = from; i < n; i++) {
        bench_start(m, g, parked_id(i), bench_input);
        if (i % 64 == 0)
            bench_settle(m);
    }
    bench_settle(m);
    bench_expect(m, parked_id(n - 1), "waiting");
    begun = bench_now() - begun;
    await_rest();
    mortise_graph_close(g);
    mortise_close(m);
    bench_sync(true);
    mortise_buf_finish(&b);
    return begun;
}

/* ---- rows
 * ---------------------------------------------------------------------- */

static void print(const char *what, double measured, double at_most)
{
    bench_row(&(struct bench_row){.what = what,
                                  .measured = measured,
                                  .against = "bare synced put",
                                  .reference = bench_base.put,
                                  .at_most = at_most});
}

/* The memory that a look at n of them takes; `than`: with the fewest. */
static double rows(size_t n, size_t first, double than)
{
    double once[SAW], saw[SAW], disk;
    char arg[64], what[80];

    snprintf(arg, sizeof arg, "%zu:%zu", n, first);
    bench_again("parked", arg, once, SAW);
    snprintf(arg, sizeof arg, "%zu:%zu", n, first + ANSWERED);
    bench_again("parked", arg, saw, SAW);
    /* What every store keeps free, once (core/store/leveldb/reserve.c), is no run's. */
    disk = (double)(bench_size_of(bench_path("parked")) -
                    bench_size_of(bench_path("parked/reserve"))) /
           (double)n;
    snprintf(what, sizeof what, "%zu parked runs, disk each", n);
    bench_row(&(struct bench_row){.what = what,
                                  .unit = BENCH_BYTES,
                                  .measured = disk,
                                  .at_most = 1.5 * 1024});
    print("  ... open the store, the first time since", once[SAW_OPEN], 0);
    print("  ... open the store, later", saw[SAW_OPEN], 0);
    print("  ... list a page of 100", saw[SAW_PAGE], 20e-3);
    print("  ... list one in the middle", saw[SAW_LATER], 20e-3);
    print("  ... inbox, a page of 100", saw[SAW_INBOX], 20e-3);
    print("  ... answer one, to its end, the first", saw[SAW_FIRST], 25e-3);
    print("  ... answer one, to its end, others", saw[SAW_MORE], 25e-3);
    bench_row(&(struct bench_row){.what = "  ... memory of its own after that",
                                  .unit = BENCH_BYTES,
                                  .measured = saw[SAW_OWN],
                                  .against = "with 1,000",
                                  .reference = than,
                                  .times = than > 0 ? 1.1 : 0});
    bench_row(&(struct bench_row){.what = "  ... the most that was resident, "
                                          "mapped files too",
                                  .unit = BENCH_BYTES,
                                  .measured = saw[SAW_RESIDENT]});
    return saw[SAW_OWN];
}

void bench_parked(void)
{
    double own, seconds;

    bench_section("parked: runs that wait for a person (filled without "
                  "syncs)");
    fill(0, 1000);
    own = rows(1000, 100, 0);
    seconds = fill(1000, 10000);
    rows(10000, 200, own);
    if (seconds * 10 > PATIENCE) {
        bench_note("100,000 would take %.0f s to make: left out", seconds * 10);
        return;
    }
    fill(10000, 100000);
    rows(100000, 300, own);
}
