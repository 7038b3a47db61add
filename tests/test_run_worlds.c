/* test_run_worlds.c -- random graphs in random worlds, against a second
 * opinion.
 *
 * Each random graph (lib/randgraph) runs in many simulated worlds (lib/sim):
 * calls end, commits are synced and the process dies in an order that a seed
 * chooses.  An independent interpreter (lib/refgraph), which shares no code
 * with what is tested, says what must come of it:
 *
 *   (1) which executions there are, how each ends, and what each saw;
 *   (2) the final state and the final status, whatever the timing;
 *   (3) nothing is stuck: the run is over, and nothing of it pending;
 *   (4) no effect happens twice (its plugins can tell after a crash).
 *
 * A disagreement prints the graph and both outcomes; who is right is for the
 * definition (graph.md) to say, and the smallest such graph becomes a test of
 * its own at the end of this file.
 *
 * MORTISE_WORLDS says how many graphs (1000), MORTISE_WORLDS_EACH in how many
 * worlds each (20), MORTISE_WORLDS_SEED where to begin (0). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/randgraph.h"
#include "lib/sim.h"
#include "lib/test.h"

enum { PARTS = 10, MOST_EXECS = 40 };

/* ---- what the run says -------------------------------------------------- */

/* A node's record, as a line of an outcome; NULL: it says nothing. */
static char *line_of(json_t *node, const bool ran[REF_NODES])
{
    const char *path = json_string_value(json_object_get(node, "path"));
    const char *name = json_string_value(json_object_get(node, "node"));
    const char *status = json_string_value(json_object_get(node, "status"));

    if (path != NULL)
        return ref_line(path, status, json_object_get(node, "output"));
    return ran[atoi(name + 1)] ? NULL : ref_line(name, status, NULL);
}

static char *outcome_of(struct sim *s)
{
    json_t *show = sim_show(s), *nodes = json_object_get(show, "nodes"), *node;
    json_t *state = json_object_get(show, "state");
    char **lines = calloc(json_array_size(nodes) + 3, sizeof lines[0]), *out;
    bool ran[REF_NODES] = {false};
    size_t n = 0, i;

    json_array_foreach(nodes, i, node)
    {
        if (json_object_get(node, "path") != NULL)
            ran[atoi(json_string_value(json_object_get(node, "node")) + 1)] =
                true;
    }
    json_array_foreach(nodes, i, node)
    {
        lines[n] = line_of(node, ran);
        n += lines[n] != NULL;
    }
    lines[n++] = ref_line("~scratch", "", json_object_get(state, "scratch"));
    lines[n++] =
        ref_line("~artifacts", "", json_object_get(state, "artifacts"));
    lines[n++] = ref_line(
        "~run", json_string_value(json_object_get(show, "status")), NULL);
    out = ref_lines(lines, n);
    free(lines);
    json_decref(show);
    return out;
}

/* ---- worlds ------------------------------------------------------------- */

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

static void play_world(struct sim *s, struct mortise_graph *g, uint32_t seed)
{
    struct mortise_err err;

    sim_init(s, mortise_graph_ref(g));
    ck_assert_int_eq(sim_admit(s, RAND_INPUT, &err), MORTISE_OK);
    if (sim_random(&seed) % 3 == 0)
        die_somewhere(s, &seed);
    sim_run(s, &seed);
    ck_assert(mortise_run_is_finished(s->run));
    for (size_t e = 0; e < s->n_effects; e++)
        ck_assert_int_eq(s->effects[e].times, 1);
}

static void assert_same(const char *got, const char *want, const char *yaml,
                        uint32_t seed)
{
    if (strcmp(got, want) == 0)
        return;
    /* A message of Check's may not be as long. */
    fprintf(stderr, "%s\n---- came:\n%s---- expected:\n%s", yaml, got, want);
    ck_abort_msg("seed %u", (unsigned)seed);
}

/* A random graph that ends soon, and what must come of it. */
static char *make_graph(struct ref_graph *g, unsigned families, uint32_t *seed)
{
    for (;;) {
        struct ref_run *ref;
        char *outcome = NULL;

        rand_graph(g, families, seed);
        ref = ref_start(g);
        if (ref_play(ref, seed, MOST_EXECS))
            outcome = ref_outcome(ref);
        ref_free(ref);
        if (outcome != NULL)
            return outcome;
    }
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

/* Where no race is asked for, timing never shows. */
static void compare_worlds(unsigned families, uint32_t seed)
{
    uint32_t worlds = setting("MORTISE_WORLDS_EACH", 20), begin = seed;
    struct mortise_graph *compiled;
    struct ref_graph g;
    char *want = make_graph(&g, families, &seed), *yaml = rand_yaml(&g);

    compiled = sim_graph(yaml);
    for (uint32_t i = 0; i < worlds; i++) {
        static struct sim s;
        char *got;

        play_world(&s, compiled, seed + i);
        got = outcome_of(&s);
        assert_same(got, want, yaml, begin);
        free(got);
        sim_finish(&s);
    }
    mortise_graph_unref(compiled);
    free(yaml);
    free(want);
}

/* What kinds of graphs take turns. */
static const unsigned races_not[] = {RAND_ROUTES | RAND_FAILS};

START_TEST(timing_never_shows)
{
    uint32_t graphs = setting("MORTISE_WORLDS", 1000) / PARTS;
    uint32_t first = setting("MORTISE_WORLDS_SEED", 0) + (uint32_t)_i * graphs;

    for (uint32_t i = first; i < first + graphs; i++)
        compare_worlds(races_not[i % (sizeof races_not / sizeof races_not[0])],
                       i * 7919);
}
END_TEST

/* ---- what these found -----------------------------------------------------
 */

/* An execution that failed wrote nothing: where it stands in the graph is
 * nothing to the order in which others' writes are folded. */
START_TEST(failure_holds_up_no_commit)
{
    uint32_t seed = 1;
    struct mortise_err err;
    struct sim s;
    char *state;

    sim_init(&s, sim_graph("apiVersion: mortise/v1\nkind: Graph\n"
                           "metadata: {name: g, version: 1.0.0}\n"
                           "state: {reducers: {scratch.log: concat}}\n"
                           "nodes:\n"
                           "  a: {type: tool, tool: t/echo, output_as: null,"
                           " outputs: {scratch.log: \"['a']\"}}\n"
                           "  b: {type: tool, tool: t/echo, output_as: null,"
                           " outputs: {scratch.log: \"['b']\"}}\n"
                           "  z: {type: tool, tool: t/fail,"
                           " on_error: {goto: a}}\n"
                           "start: [b, z]\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run(&s, &seed);
    state = sim_state(&s);
    ck_assert_ptr_nonnull(strstr(state, "[\"a\",\"b\"]"));
    free(state);
    sim_finish(&s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("run: worlds");
    TCase *tc = tcase_create("worlds");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, timing_never_shows, 0, PARTS);
    tcase_add_test(tc, failure_holds_up_no_commit);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
