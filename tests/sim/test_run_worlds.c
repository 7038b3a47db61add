/* test_run_worlds.c -- random graphs in random worlds, against a second
 * opinion.
 *
 * Each random graph (lib/randgraph) runs in many simulated worlds (lib/sim):
 * calls end, commits are synced, people pause it and go on with it, and the
 * process dies in an order that a seed chooses; in every third world nothing is
 * synced that nobody waits for, and the power may go, too.  An independent interpreter
 * (lib/refgraph), which shares no code with what is tested, says what must come
 * of it:
 *
 *   (1) which executions there are, how each ends, and what each saw;
 *   (2) the final state and the final status, whatever the timing, and without
 *       races also of what it failed;
 *   (3) nothing is stuck: the run is over, and nothing of it pending;
 *   (4) no effect happens twice (its plugins can tell after a crash);
 *   (5) what failed can be tried again, in the process in which it did and in
 *       another, and (1) to (4) hold for that, too; where a race or an early
 *       end lets timing decide, (3) and (4) do.
 *
 * A disagreement prints the graph and both outcomes; who is right is for the
 * definition (graph.md) to say, and the smallest such graph becomes a test of
 * its own at the end of this file.
 *
 * MORTISE_WORLDS says how many graphs (250; 1000 of `make whole`), MORTISE_WORLDS_EACH
 * in how many worlds each (20), MORTISE_WORLDS_FIRST with which to begin (0),
 * MORTISE_WORLDS_KIND of which families all are (enum rand_family). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/matrix.h"
#include "lib/randgraph.h"
#include "lib/sim.h"
#include "lib/test.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"

#define N_ITEMS(array) (sizeof(array) / sizeof(array)[0])

enum { PARTS = 10, MOST_EXECS = 32 };

/* ---- what the run says -------------------------------------------------- */

/* Of the failures that a map collected only where they were: what failed first
 * in an element is not in the model. */
static void strip_errors(json_t *value)
{
    json_t *failed = json_object_get(value, "failed"), *one;
    const char *key;
    size_t i;

    if (json_is_array(failed) && json_object_get(value, "results") != NULL) {
        json_array_foreach(failed, i, one)
        {
            ck_assert(json_is_string(
                json_object_get(json_object_get(one, "error"), "code")));
            json_array_set(failed, i, json_object_get(one, "index"));
        }
    }
    json_object_foreach(value, key, one) strip_errors(one);
    json_array_foreach(value, i, one) strip_errors(one);
}

/* An execution's record, as a line of an outcome; NULL: it was none. */
static char *line_of(json_t *node)
{
    const char *path = json_string_value(json_object_get(node, "path"));
    const char *status = json_string_value(json_object_get(node, "status"));

    ck_assert_str_ne(status, "pending");
    ck_assert_str_ne(status, "running");
    if (path == NULL || strcmp(status, "skipped") == 0)
        return NULL;
    return ref_line(path, status, json_object_get(node, "output"));
}

static char *outcome_of(struct sim *s)
{
    json_t *shared = sim_show(s), *show = json_deep_copy(shared);
    json_t *nodes = json_object_get(show, "nodes"), *node;
    json_t *state = json_object_get(show, "state");
    char **lines = calloc(json_array_size(nodes) + 3, sizeof lines[0]), *out;
    size_t n = 0, i;

    json_decref(shared); /* it shares what the run has */
    strip_errors(show);
    json_array_foreach(nodes, i, node)
    {
        lines[n] = line_of(node);
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

/* What the model does not have: of what it failed, and what failed of maps. */
static char *failures_of(struct sim *s)
{
    json_t *show = sim_show(s);
    json_t *both = json_pack(
        "{s:O*, s:O}", "error", json_object_get(show, "error"), "artifacts",
        json_object_get(json_object_get(show, "state"), "artifacts"));
    char *out = json_dumps(both, JSON_SORT_KEYS | JSON_INDENT(1));

    json_decref(both);
    json_decref(show);
    return out;
}

/* ---- what it may do at once --------------------------------------------- */

/* Where a call at the outermost level is: its node, and in which elements of
 * which maps.  false: inside a subgraph. */
struct place {
    int node, index[REF_NEST], n_index;
};

static bool find_place(struct place *p, const char *path)
{
    const char *at = strchr(path, '/') + 1;

    *p = (struct place){.node = atoi(at + 1)};
    if (strchr(at, '/') != NULL)
        return false;
    while ((at = strchr(at, '[')) != NULL)
        p->index[p->n_index++] = atoi(++at);
    return true;
}

/* Is `b` at work in the same map, in another element? */
static bool is_beside(const struct place *a, const struct place *b, int depth)
{
    size_t above = (size_t)(depth - 1) * sizeof a->index[0];

    return memcmp(a->index, b->index, above) == 0 &&
           a->index[depth - 1] != b->index[depth - 1];
}

/* Each call of a body stands for its element; with others of the same map there
 * are not more than it may have at once. */
static void check_map(const struct ref_graph *g, const struct sim *s, int body)
{
    const struct ref_region *r = &g->regions[body];
    int depth = ref_depth(g, body), most = g->edges[r->edge].max_parallel;

    for (size_t i = 0; i < s->n_calls; i++) {
        struct place a, b;
        int seen[8], n = 1;

        if (!find_place(&a, s->calls[i].call.path) || !(r->set >> a.node & 1))
            continue;
        seen[0] = a.index[depth - 1];
        for (size_t k = 0; k < s->n_calls; k++) {
            bool is_new = find_place(&b, s->calls[k].call.path) &&
                          r->set >> b.node & 1 && is_beside(&a, &b, depth);

            for (int j = 0; j < n; j++)
                is_new &= seen[j] != b.index[depth - 1];
            if (is_new)
                seen[n++] = b.index[depth - 1];
        }
        ck_assert_int_le(n, most);
    }
}

/* Of those that share a resource one is at work. */
static void check_resources(const struct sim *s)
{
    bool used[3] = {false};

    for (size_t i = 0; i < s->n_calls; i++) {
        uint32_t resource = s->calls[i].call.node->resource;

        ck_assert(resource == 0 || !used[resource]);
        used[resource] = true;
    }
}

static void check_parallel(const struct ref_graph *g, const struct sim *s)
{
    ck_assert_uint_le(s->n_calls, RAND_CONCURRENCY);
    check_resources(s);
    for (int i = 1; i < g->n_regions; i++) {
        if (g->regions[i].kind == REF_BODY)
            check_map(g, s, i);
    }
}

/* ---- worlds ------------------------------------------------------------- */

/* One thing that can happen; false when there is nothing. */
static bool something_happens(struct sim *s, uint32_t *seed)
{
    s->now_ms++;
    if (s->n_calls > 0 && sim_random(seed) % 3 != 0)
        return sim_end_call(s, sim_random(seed) % s->n_calls);
    return sim_sync_one(s) || sim_end_call(s, 0) || sim_fire_timer(s, 0);
}

static bool command(struct sim *s, enum mortise_command_kind kind,
                    const char *id, const char *json)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = (uint32_t)kind, .id = id, .json = json};
    struct mortise_err err;
    int rv = sim_command(s, &c, 1, 0, "ann", &err);

    ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
    return true;
}

/* Raise the limit that holds the run by one; false: it was high enough. */
static bool raise_limit(struct sim *s)
{
    json_t *show = sim_show(s), *limit = json_object_get(show, "limit");
    const char *name = json_string_value(json_object_get(limit, "limit"));
    int value = (int)json_integer_value(json_object_get(limit, "value"));
    char json[64];
    bool raised = value < MOST_EXECS;

    snprintf(json, sizeof json, "{\"%s\": %d}", name, value + 1);
    if (raised)
        command(s, MORTISE_CMD_LIMIT, NULL, json);
    json_decref(show);
    return raised;
}

/* Give more to a budget that is used up: one call, or enough tokens. */
static bool raise_budget(struct sim *s)
{
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_BUDGET,
                                .json = "{\"tool_calls\": \"+1\"}"};
    struct mortise_err err;
    const char *id;
    json_t *one;

    json_object_foreach(s->pending, id, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "kind")), "budget") !=
            0)
            continue;
        c.node = json_string_value(json_object_get(one, "graph"));
        if (strcmp(json_string_value(json_object_get(one, "budget")),
                   "tokens") == 0)
            c.json = "{\"tokens\": \"+100\"}";
        else
            c.json = "{\"tool_calls\": \"+1\"}";
    }
    ck_assert_int_eq(sim_command(s, &c, 1, 0, "ann", &err), MORTISE_OK);
    return true;
}

/* Somebody says yes to a scheduled pause. */
static bool pass_interrupt(struct sim *s)
{
    json_t *show = sim_show(s);
    json_t *one = json_array_get(json_object_get(show, "pending"), 0);
    bool passed = command(s, MORTISE_CMD_ANSWER,
                          json_string_value(json_object_get(one, "id")),
                          "{\"approved\": true}");

    json_decref(show);
    return passed;
}

/* Did the effect of that key happen in the world? */
static bool happened(const struct sim *s, const char *key)
{
    for (size_t i = 0; i < s->n_effects; i++)
        if (strcmp(s->effects[i].key, key) == 0)
            return s->effects[i].times > 0;
    return false;
}

/* Somebody who knows says what became of a call that was stopped and let go
 * without a word, as by a pause. */
static bool settle_doubt(struct sim *s)
{
    json_t *show = sim_show(s), *one;
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_RESOLVE};
    struct mortise_err err;
    char *result = NULL;
    size_t i;

    json_array_foreach(json_object_get(show, "pending"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "kind")),
                   "in_doubt") != 0)
            continue;
        c.id = json_string_value(json_object_get(one, "id"));
        c.decision = "retry";
        if (happened(s, json_string_value(
                            json_object_get(one, "idempotency_key")))) {
            c.decision = "done";
            result = json_dumps(json_object_get(one, "args"), JSON_ENCODE_ANY);
        }
        break;
    }
    c.json = result;
    ck_assert_msg(sim_command(s, &c, 1, 0, "ann", &err) == MORTISE_OK, "%s",
                  err.msg);
    json_decref(show);
    free(result);
    return true;
}

static bool has_failed(struct sim *s)
{
    json_t *show = sim_show(s), *one;
    bool failed = false;
    size_t i;

    json_array_foreach(json_object_get(show, "nodes"), i, one)
    {
        const char *status = json_string_value(json_object_get(one, "status"));

        failed |= strcmp(status, "failed") == 0;
    }
    json_decref(show);
    return failed;
}

/* Whoever resumes a pause has what failed tried again: then what ended first is
 * not what decided a race. */
static bool retried;

/* A person goes on with a run that stands still; false: it does not. */
static bool somebody_goes_on(struct sim *s)
{
    const char *why = mortise_run_reason(s->run);

    if (mortise_run_status(s->run) == MORTISE_RUN_IN_DOUBT)
        return settle_doubt(s);
    if (mortise_run_status(s->run) != MORTISE_RUN_PAUSED)
        return false;
    if (strcmp(why, "limit") == 0)
        return raise_limit(s);
    if (strcmp(why, "budget") == 0)
        return raise_budget(s);
    if (strcmp(why, "interrupt") == 0)
        return pass_interrupt(s);
    retried |= has_failed(s);
    return command(s, MORTISE_CMD_RESUME, NULL, NULL);
}

/* What the budget says is used is what the records come to. */
static void check_costs(struct sim *s)
{
    json_t *show = sim_show(s), *usage = json_object_get(show, "usage");
    json_t *used = json_object_get(
        json_object_get(json_object_get(show, "budget"), "tokens"), "used");

    if (used != NULL && mortise_run_is_finished(s->run))
        ck_assert_int_eq(
            json_integer_value(used),
            json_integer_value(json_object_get(usage, "input_tokens")) +
                json_integer_value(json_object_get(usage, "output_tokens")));
    json_decref(show);
}

static void play_world(const struct ref_graph *g, struct sim *s,
                       struct mortise_graph *compiled, uint32_t seed)
{
    int deaths = sim_random(&seed) % 3 == 0 ? 1 + (int)(seed % 3) : 0;
    int next = (int)(sim_random(&seed) % 16);
    int pause = sim_random(&seed) % 4 == 0 ? 1 + (int)(seed % 16) : 0;
    struct mortise_err err;

    retried = false;
    sim_init(s, mortise_graph_ref(compiled));
    s->lax = seed % 3 == 0;
    s->tells = true;
    ck_assert_int_eq(sim_admit(s, RAND_INPUT, &err), MORTISE_OK);
    sim_sync_one(s); /* from now on it is there */
    while (something_happens(s, &seed) || somebody_goes_on(s)) {
        check_parallel(g, s);
        if (pause > 0 && --pause == 0 && s->applied != 1 &&
            !mortise_run_is_finished(s->run) && !has_failed(s))
            command(s, MORTISE_CMD_PAUSE, NULL, NULL);
        if (deaths == 0 || next-- > 0)
            continue;
        sim_crash(s, &seed);
        sim_recover(s);
        next = (int)(sim_random(&seed) % 16);
        deaths--;
    }
    for (size_t e = 0; e < s->n_effects; e++)
        ck_assert_int_le(s->effects[e].times, 1); /* a loser's: maybe none */
    check_costs(s);
}

/* Somebody has what failed tried again, in vain unless timing decides; as often
 * in another process, which knows of the run what is on disk, as in the one in
 * which it failed. */
static void play_again(const struct ref_graph *g, struct sim *s, uint32_t seed)
{
    if (mortise_run_status(s->run) != MORTISE_RUN_FAILED)
        return;
    while (sim_sync_one(s)) /* whoever resumes saw it fail */
        continue;
    if (sim_random(&seed) % 2 == 0)
        sim_crash(s, &seed);
    command(s, MORTISE_CMD_RESUME, NULL, NULL);
    while (something_happens(s, &seed) || somebody_goes_on(s)) {
        check_parallel(g, s);
        if (sim_random(&seed) % 16 > 0)
            continue;
        sim_crash(s, &seed);
        sim_recover(s);
    }
    for (size_t e = 0; e < s->n_effects; e++)
        ck_assert_int_le(s->effects[e].times, 1);
}

/* ---- races -------------------------------------------------------------- */

/* The path of what ended by this entry of the history; NULL: nothing did. */
static json_t *end_of(const json_t *entry)
{
    const char *what = json_string_value(json_object_get(entry, "entry"));

    return strcmp(what, "done") == 0 || strcmp(what, "failed") == 0 ||
                   strcmp(what, "gather") == 0
               ? json_object_get(entry, "path")
               : NULL;
}

/* The paths of what ended, in the order in which it was recorded. */
static json_t *ends_of(const struct sim *s)
{
    json_t *ends = json_array(), *entries, *entry;
    struct mortise_run *r;
    size_t k;

    ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s->graph, "default",
                                        "run-1", NULL, NULL, NULL),
                     MORTISE_OK);
    for (size_t i = 0; i < s->n_commits; i++) {
        const struct sim_commit *c = &s->commits[i];

        ck_assert_int_eq(mortise_run_apply(r, c->seq, c->time_ms, c->id,
                                           c->entries, c->size, NULL),
                         MORTISE_OK);
        entries = mortise_run_describe_entries(r, c->entries, c->size);
        json_array_foreach(entries, k, entry)
        {
            if (end_of(entry) != NULL)
                json_array_append(ends, end_of(entry));
        }
        json_decref(entries);
    }
    mortise_run_free(r);
    return ends;
}

/* What must come of a graph when things end in this order; in *why (to free)
 * where that could not be. */
static char *outcome_in_order(const struct ref_graph *g, const json_t *ends,
                              char **why)
{
    struct ref_run *ref = ref_start(g);
    char *outcome, text[256] = "";
    const char *wrong = NULL;
    json_t *end;
    size_t i;

    json_array_foreach(ends, i, end)
    {
        wrong = ref_end_call(ref, json_string_value(end));
        if (wrong == NULL)
            continue;
        snprintf(text, sizeof text, "%s %s\n", json_string_value(end), wrong);
        break;
    }
    if (wrong == NULL && ref_n_live(ref) > 0)
        snprintf(text, sizeof text, "%d calls must still be out\n",
                 ref_n_live(ref));
    outcome = ref_outcome(ref);
    *why = strdup(text);
    ref_free(ref);
    return outcome;
}

static void assert_same(const char *got, const char *want, const char *yaml,
                        uint32_t seed)
{
    if (strcmp(got, want) == 0)
        return;
    /* A message of Check's may not be as long. */
    fprintf(stderr, "%s\n---- came:\n%s---- expected:\n%s", yaml, got, want);
    ck_abort_msg("graph %u", (unsigned)seed);
}

/* It is over; false: it was decided so that it would go on for longer than its
 * limits allow.  Nothing else may keep it from its end. */
static bool is_over(const struct sim *s, const char *yaml, uint32_t seed)
{
    if (mortise_run_is_finished(s->run))
        return true;
    if (strcmp(mortise_run_reason(s->run), "limit") == 0)
        return false;
    fprintf(stderr, "%s\n", yaml);
    ck_abort_msg("graph %u is stuck: %s %s", (unsigned)seed,
                 mortise_run_status_name(mortise_run_status(s->run)),
                 mortise_run_reason(s->run));
    return false;
}

/* ---- graphs ------------------------------------------------------------- */

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

/* What comes of it in some order; NULL: too much. */
static char *outcome_in_some_order(const struct ref_graph *g, uint32_t seed)
{
    struct ref_run *ref = ref_start(g);
    char *outcome = ref_play(ref, &seed, MOST_EXECS) ? ref_outcome(ref) : NULL;

    ref_free(ref);
    return outcome;
}

/* A random graph that ends soon, and what must come of it. */
static char *make_graph(struct ref_graph *g, unsigned families, uint32_t *seed)
{
    char *outcome;

    for (;;) {
        rand_graph(g, families, seed);
        outcome = outcome_in_some_order(g, *seed);
        if (outcome != NULL)
            return outcome;
        rand_free(g);
    }
}

/* What the language takes, the loader takes. */
static struct mortise_graph *load(const char *yaml)
{
    struct mortise_diags diags;
    struct mortise_graph *g;
    struct mortise_buf text;

    mortise_diags_init(&diags, &test_mem);
    if (mortise_graph_load(&g, &test_mem, "random.yaml", yaml, strlen(yaml),
                           &sim_catalog, &diags, NULL) != MORTISE_OK) {
        mortise_buf_init(&text, &test_mem);
        mortise_diags_format(&diags, &text);
        fprintf(stderr, "%s\n%s\n", yaml, mortise_buf_cstr(&text));
        ck_abort_msg("the loader refuses a graph");
    }
    mortise_diags_finish(&diags);
    return g;
}

/* Where no race is asked for, timing never shows. */
static void compare_worlds(unsigned families, uint32_t number)
{
    uint32_t worlds = setting("MORTISE_WORLDS_EACH", 20), seed = number * 7919;
    struct ref_graph g;
    char *want = make_graph(&g, families, &seed), *yaml = rand_yaml(&g);
    char *also = outcome_in_some_order(&g, ~seed), *failures = NULL;
    struct mortise_graph *compiled = load(yaml);

    assert_same(also, want, yaml, number); /* the second opinion is one */
    for (uint32_t i = 0; i < worlds; i++) {
        static struct sim s;
        char *got;

        play_world(&g, &s, compiled, seed + i);
        ck_assert(is_over(&s, yaml, number));
        got = outcome_of(&s);
        assert_same(got, want, yaml, number);
        free(got);
        got = failures_of(&s);
        if (failures == NULL)
            failures = strdup(got);
        assert_same(got, failures, yaml, number);
        free(got);
        play_again(&g, &s, seed + i);
        ck_assert(is_over(&s, yaml, number));
        got = outcome_of(&s);
        assert_same(got, want, yaml, number);
        free(got);
        sim_finish(&s);
    }
    mortise_graph_unref(compiled);
    rand_free(&g);
    free(failures);
    free(also);
    free(yaml);
    free(want);
}

/* What was recorded in one world, and what must come of that. */
static void compare_race(const struct ref_graph *g, struct sim *s,
                         const char *yaml, uint32_t number)
{
    json_t *ends = ends_of(s);
    char *got = outcome_of(s), *why, *want = outcome_in_order(g, ends, &why);

    if (why[0] != '\0' || strcmp(got, want) != 0)
        json_dumpf(ends, stderr, JSON_INDENT(1));
    assert_same(got, want, yaml, number);
    assert_same(why, "", yaml, number);
    json_decref(ends);
    free(why);
    free(want);
    free(got);
}

/* Where one is asked for, what was recorded decides. */
static void compare_races(unsigned families, uint32_t number)
{
    uint32_t worlds = setting("MORTISE_WORLDS_EACH", 20), seed = number * 7919;
    struct mortise_graph *compiled;
    struct ref_graph g;
    char *yaml;

    free(make_graph(&g, families, &seed));
    yaml = rand_yaml(&g);
    compiled = load(yaml);
    for (uint32_t i = 0; i < worlds; i++) {
        static struct sim s;

        play_world(&g, &s, compiled, seed + i);
        if (is_over(&s, yaml, number)) {
            if (!retried)
                compare_race(&g, &s, yaml, number);
            play_again(&g, &s, seed + i);
            is_over(&s, yaml, number);
        }
        sim_finish(&s);
    }
    mortise_graph_unref(compiled);
    rand_free(&g);
    free(yaml);
}

/* What kinds of graphs take turns; all have routes, failures, and edges that are
 * chosen by something else than a condition. */
enum {
    PLAIN = RAND_ROUTES | RAND_FAILS | RAND_CHOICES,
    NESTED = PLAIN | RAND_LOOPS | RAND_MAPS | RAND_SUBS
};
static const unsigned kinds[] = {
    PLAIN,
    PLAIN | RAND_LOOPS | RAND_PAUSES,
    NESTED | RAND_BRANCHES,
    NESTED | RAND_BRANCHES | RAND_PAUSES,
    PLAIN | RAND_RACES | RAND_LOOPS | RAND_MAPS | RAND_BRANCHES,
    NESTED | RAND_RACES | RAND_BRANCHES | RAND_PAUSES,
    PLAIN | RAND_STOPS | RAND_LOOPS,
    NESTED | RAND_STOPS | RAND_PAUSES,
};

static void compare(uint32_t number)
{
    unsigned families =
        setting("MORTISE_WORLDS_KIND", kinds[number % N_ITEMS(kinds)]);

    if (families & (RAND_RACES | RAND_STOPS))
        compare_races(families, number);
    else
        compare_worlds(families, number);
}

START_TEST(timing_never_shows)
{
    uint32_t graphs =
        setting("MORTISE_WORLDS", matrix_is_whole() ? 1000 : 250) / PARTS;
    uint32_t first = setting("MORTISE_WORLDS_FIRST", 0) + (uint32_t)_i * graphs;

    for (uint32_t i = first; i < first + graphs; i++)
        compare(i);
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

static size_t call_of(const struct sim *s, const char *node)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        if (strcmp(s->calls[i].call.node->id, node) == 0)
            return i;
    }
    ck_abort_msg("no call of %s is out", node);
}

/* What was stopped stays so, also when the process dies before it let go. */
START_TEST(stopped_stays_stopped_after_a_crash)
{
    uint32_t seed = 1;
    struct mortise_err err;
    struct sim s;
    char *outcome;

    sim_init(&s, sim_graph("apiVersion: mortise/v1\nkind: Graph\n"
                           "metadata: {name: g, version: 1.0.0}\n"
                           "failure: fail_fast\n"
                           "nodes:\n"
                           "  a: {type: tool, tool: t/fail}\n"
                           "  b: {type: tool, tool: t/read}\n"
                           "start: [a, b]\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_sync_one(&s);
    sim_end_call(&s, call_of(&s, "a"));
    while (sim_sync_one(&s))
        ;
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run(&s, &seed);
    outcome = outcome_of(&s);
    ck_assert_ptr_nonnull(strstr(outcome, "~run failed"));
    ck_assert_ptr_null(strstr(outcome, "b#1 done"));
    free(outcome);
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
    tcase_add_test(tc, stopped_stays_stopped_after_a_crash);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
