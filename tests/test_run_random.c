/* test_run_random.c -- random acyclic graphs against a reference that was
 * written from graph.md and shares no code with run/.
 *
 * Each node writes its name into scratch.log (reduce: concat) and keeps what it
 * saw of it as its artifact.  Edges are static or conditional.  The reference
 * decides edges by brute force, and gets every view by sorting the whole causal
 * past: always the least declared position of those whose predecessors are all
 * in the list. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sim.h"
#include "lib/test.h"

enum { MOST = 14 };

/* How an edge of the random graph is. */
enum edge { NO_EDGE, STATIC, WHEN_TRUE, WHEN_FALSE };

struct random_graph {
    int n;
    enum edge edge[MOST][MOST]; /* [from][to], by rank: from < to */
    bool start[MOST];
    bool fails[MOST];
    bool rescued[MOST]; /* it fails, and on_error gives what it would have */
    int op[MOST];
    int position[MOST]; /* rank -> declared position */
    int rank[MOST];     /* declared position -> rank */
};

static void make(struct random_graph *g, uint32_t *seed)
{
    memset(g, 0, sizeof *g);
    g->n = 2 + (int)(sim_random(seed) % (MOST - 2));
    for (int i = 0; i < g->n; i++)
        g->rank[i] = i;
    for (int i = g->n - 1; i > 0; i--) {
        int k = (int)(sim_random(seed) % (uint32_t)(i + 1));
        int swap = g->rank[i];

        g->rank[i] = g->rank[k];
        g->rank[k] = swap;
    }
    for (int i = 0; i < g->n; i++)
        g->position[g->rank[i]] = i;
    for (int to = 0; to < g->n; to++) {
        int n_in = 0;

        for (int from = 0; from < to; from++) {
            if (sim_random(seed) % 3 != 0)
                continue;
            g->edge[from][to] = (enum edge)(1 + sim_random(seed) % 3);
            n_in++;
        }
        g->start[to] = n_in == 0 || sim_random(seed) % 8 == 0;
        g->fails[to] = sim_random(seed) % 12 == 0;
        g->rescued[to] = !g->fails[to] && sim_random(seed) % 8 == 0;
        g->op[to] = (int)(sim_random(seed) % 4);
    }
}

static char *yaml_of(const struct random_graph *g)
{
    static const char *const ops[] = {"echo", "read", "idem", "rec"};
    struct mortise_buf b;
    char *text;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_puts(&b, "apiVersion: mortise/v1\nkind: Graph\n"
                         "metadata: {name: g, version: 1.0.0}\n"
                         "limits: {concurrency: 4}\n"
                         "state: {reducers: {scratch.log: concat}}\n"
                         "nodes:\n");
    for (int i = 0; i < g->n; i++) {
        int r = g->rank[i];

        mortise_buf_printf(
            &b,
            "  n%d: {type: tool, tool: t/%s, args: {saw: \"${has(scratch.log) "
            "? scratch.log : []}\"}, outputs: {scratch.log: \"['n%d']\"}%s}\n",
            r, g->fails[r] || g->rescued[r] ? "fail" : ops[g->op[r]], r,
            g->rescued[r] ? ", on_error: {value: \"{'saw': has(scratch.log) ? "
                            "scratch.log : []}\"}"
                          : "");
    }
    mortise_buf_puts(&b, "edges:\n");
    for (int to = 0; to < g->n; to++) {
        if (g->start[to])
            mortise_buf_printf(&b, "  - {from: START, to: n%d}\n", to);
        for (int from = 0; from < to; from++) {
            if (g->edge[from][to] == STATIC)
                mortise_buf_printf(&b, "  - {from: n%d, to: n%d}\n", from, to);
            else if (g->edge[from][to] != NO_EDGE)
                mortise_buf_printf(
                    &b, "  - {from: n%d, to: n%d, when: \"%s\"}\n", from, to,
                    g->edge[from][to] == WHEN_TRUE ? "size(artifacts) > 0"
                                                   : "size(artifacts) == 0");
        }
    }
    text = strdup(mortise_buf_cstr(&b));
    mortise_buf_finish(&b);
    return text;
}

/* ---- the reference ------------------------------------------------------ */

enum fate { DONE, SKIPPED, FAILED, LOST }; /* LOST: skipped for a failure */

struct reference {
    enum fate fate[MOST];
    bool past[MOST][MOST]; /* [of][who] */
};

static bool takes(const struct random_graph *g, int from, int to)
{
    return g->edge[from][to] == STATIC || g->edge[from][to] == WHEN_TRUE;
}

static void decide_node(const struct random_graph *g, struct reference *ref,
                        int to)
{
    bool taken = g->start[to], lost = false;

    for (int from = 0; from < to; from++) {
        if (g->edge[from][to] == NO_EDGE)
            continue;
        if (ref->fate[from] == FAILED || ref->fate[from] == LOST)
            lost = true;
        if (ref->fate[from] != DONE || !takes(g, from, to))
            continue;
        taken = true;
        ref->past[to][from] = true;
        for (int k = 0; k < from; k++)
            ref->past[to][k] |= ref->past[from][k];
    }
    ref->fate[to] = lost           ? LOST
                    : !taken       ? SKIPPED
                    : g->fails[to] ? FAILED
                                   : DONE;
}

/* The names of `set` in least topological order, as canonical JSON. */
static void order(const struct random_graph *g, const struct reference *ref,
                  const bool *set, char *out)
{
    bool listed[MOST] = {false};
    const char *sep = "";

    *out++ = '[';
    for (int found = 1; found;) {
        found = 0;
        for (int at = 0; at < g->n && !found; at++) {
            int r = g->rank[at];
            bool ready = set[r] && !listed[r];

            for (int k = 0; k < g->n; k++)
                ready &= !(set[k] && ref->past[r][k] && !listed[k]);
            if (!ready)
                continue;
            listed[r] = true;
            out += sprintf(out, "%s\"n%d\"", sep, r);
            sep = ",";
            found = 1;
        }
    }
    strcpy(out, "]");
}

static void assert_agrees(const struct random_graph *g,
                          const struct reference *ref, struct sim *s)
{
    static const char *const status[] = {"done", "skipped", "failed",
                                         "skipped"};
    json_t *show = sim_show(s), *node;
    bool all[MOST], failed = false;
    size_t i;

    json_array_foreach(json_object_get(show, "nodes"), i, node)
    {
        int r = atoi(json_string_value(json_object_get(node, "node")) + 1);
        struct mortise_buf saw;
        char want[512];

        ck_assert_str_eq(json_string_value(json_object_get(node, "status")),
                         status[ref->fate[r]]);
        failed |= ref->fate[r] == FAILED;
        if (ref->fate[r] != DONE)
            continue;
        order(g, ref, ref->past[r], want);
        mortise_buf_init(&saw, &mortise_heap);
        mortise_json_canonical(
            &saw, json_object_get(json_object_get(node, "output"), "saw"));
        ck_assert_str_eq(mortise_buf_cstr(&saw), want);
        mortise_buf_finish(&saw);
    }
    for (int r = 0; r < g->n; r++)
        all[r] = ref->fate[r] == DONE;
    if (json_object_size(
            json_object_get(json_object_get(show, "state"), "scratch")) > 0) {
        struct mortise_buf log;
        char want[512];

        order(g, ref, all, want);
        mortise_buf_init(&log, &mortise_heap);
        mortise_json_canonical(
            &log,
            json_object_get(
                json_object_get(json_object_get(show, "state"), "scratch"),
                "log"));
        ck_assert_str_eq(mortise_buf_cstr(&log), want);
        mortise_buf_finish(&log);
    }
    ck_assert_str_eq(json_string_value(json_object_get(show, "status")),
                     failed ? "failed" : "completed");
    json_decref(show);
}

static void die_somewhere(struct sim *s, uint32_t *seed)
{
    sim_sync_one(s);
    for (uint32_t deaths = 1 + sim_random(seed) % 3; deaths > 0; deaths--) {
        for (uint32_t n = sim_random(seed) % 16; n > 0; n--) {
            if (s->n_calls > 0 && sim_random(seed) % 2 == 0)
                sim_end_call(s, sim_random(seed) % s->n_calls);
            else
                sim_sync_one(s);
        }
        sim_crash(s, seed);
        sim_recover(s);
    }
}

/* Promise 5: the same input gives the same state, whatever the timing, also
 * when the process dies on the way; and it is the state that graph.md says. */
START_TEST(timing_never_shows)
{
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t seed = (uint32_t)_i * 60 + i, timing;
        struct random_graph g;
        struct reference ref;
        struct sim s;
        char *yaml;

        make(&g, &seed);
        memset(&ref, 0, sizeof ref);
        for (int r = 0; r < g.n; r++)
            decide_node(&g, &ref, r);
        yaml = yaml_of(&g);
        for (int k = 0; k < 5; k++) {
            struct mortise_err err;

            timing = seed + (uint32_t)k;
            sim_init(&s, sim_graph(yaml));
            ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
            if (k > 2)
                die_somewhere(&s, &timing);
            sim_run(&s, &timing);
            assert_agrees(&g, &ref, &s);
            for (size_t e = 0; e < s.n_effects; e++)
                ck_assert_int_eq(s.effects[e].times, 1);
            sim_finish(&s);
        }
        free(yaml);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("run: random graphs");
    TCase *tc = tcase_create("random");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, timing_never_shows, 0, 10);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
