/* test_mutated.c -- good files with something wrong in them.
 *
 * What `mortise check` accepts loads and runs; what it refuses it refuses at a
 * place in the file; nothing crashes and nothing hangs.  Good graphs (of
 * tests/graphs/good and promises, of configs/, random ones) are damaged in
 * three ways that a seed chooses:
 *
 *     bytes   one is changed, put in, taken out
 *     tokens  a word becomes another one of the file, or of the language
 *     tree    a value is moved, copied, exchanged or taken out
 *
 * and what is left of them is given to the loader, which is the checker.  A
 * graph that loads is run in a simulated world (lib/sim) until it is over or
 * waits, or has done a lot; in every fourth world the process dies on the way
 * and what it had done is replayed.
 *
 * MORTISE_MUTANTS says how many (1000), MORTISE_MUTANTS_FIRST with which to
 * begin (0). */
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/graph.h"
#include "lib/catalog.h"
#include "lib/drive.h"
#include "lib/json.h"
#include "lib/randgraph.h"
#include "lang/graph/load.h"
#include "lang/yaml/codes.h"
#include "lang/yaml/write.h"
#include "lang/yaml/tree.h"

enum { PARTS = 5, SOURCES = 128, RANDOM_SOURCES = 24, SIZE = 1 << 16 };

static struct source {
    char *text;
    bool open; /* its plugins are not here: any operation will do */
} sources[SOURCES];
static size_t n_sources;

static struct {
    unsigned mutants, accepted, refused, ran, ended;
} tally;

/* ---- the world -------------------------------------------------------------- */

static bool is_short_word(const char *id)
{
    return strlen(id) < 16 &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz_.") == strlen(id);
}

/* Of a plugin, or SERVER/TOOL. */
static bool is_short_op(const char *op)
{
    const char *tool = strchr(op, '/');
    char server[16];

    if (tool == NULL)
        return is_short_word(op);
    snprintf(server, sizeof server, "%.*s", (int)(tool - op), op);
    return is_short_word(server) && is_short_word(tool + 1);
}

static const struct mortise_operation *
operation(void *ud, const char *plugin, const char *op, struct mortise_err *why)
{
    static const struct mortise_operation any = {.plugin = "any",
                                                 .name = "any",
                                                 .description = "",
                                                 .effect = MORTISE_WRITE};
    const struct source *from = ud;

    if (strcmp(plugin, "t") == 0)
        return sim_catalog.operation(NULL, plugin, op, why);
    if (!from->open)
        return test_catalog()->operation(NULL, plugin, op, why);
    if (is_short_word(plugin) && is_short_op(op))
        return &any;
    mortise_fail(why, MORTISE_ENOTFOUND, "no operation %s/%s", plugin, op);
    return NULL;
}

static int guardrail(void *ud, const char *id, struct mortise_err *why)
{
    (void)ud;
    return is_short_word(id)
               ? MORTISE_OK
               : mortise_fail(why, MORTISE_ENOTFOUND, "no guardrail '%s'", id);
}

/* ---- the good files ------------------------------------------------------------
 */

static void add_source(char *text, bool open)
{
    if (strstr(text, "kind: Graph") == NULL &&
        strstr(text, "\"Graph\"") == NULL) {
        free(text);
        return;
    }
    ck_assert_uint_lt(n_sources, SOURCES);
    ck_assert_uint_lt(strlen(text), SIZE / 2);
    sources[n_sources++] = (struct source){text, open};
}

static void add_files(const char *pattern, bool open)
{
    glob_t files;

    ck_assert_int_eq(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        add_source(test_read(files.gl_pathv[i], NULL), open);
    globfree(&files);
}

static void add_random(uint32_t seed)
{
    static const unsigned families[] = {
        RAND_ROUTES | RAND_FAILS, RAND_LOOPS | RAND_ROUTES,
        RAND_MAPS | RAND_BRANCHES, RAND_RACES | RAND_STOPS,
        RAND_SUBS | RAND_PAUSES};
    struct ref_graph g;

    rand_graph(&g, families[seed % (sizeof families / sizeof families[0])],
               &seed);
    add_source(rand_yaml(&g), false);
    rand_free(&g);
}

static void begin_all(void)
{
    add_files("tests/graphs/good/*.yaml", false);
    add_files("tests/graphs/promises/*.yaml", true);
    add_files("configs/*/*.graph.yaml", true);
    for (uint32_t i = 0; i < RANDOM_SOURCES; i++)
        add_random(i);
    ck_assert_uint_gt(n_sources, 40);
}

static void end_all(void)
{
    while (n_sources > 0)
        free(sources[--n_sources].text);
}

/* ---- damage ---------------------------------------------------------------------
 */

static size_t below(uint32_t *seed, size_t n)
{
    return sim_random(seed) % n;
}

static void splice(char *text, size_t at, size_t out, const char *in,
                   size_t n_in)
{
    size_t n = strlen(text);

    if (n - out + n_in >= SIZE)
        return;
    memmove(text + at + n_in, text + at + out, n - at - out + 1);
    memcpy(text + at, in, n_in);
}

static void damage_bytes(char *text, uint32_t *seed)
{
    static const char odd[] = ":-,{}[]\"'#&*!|>%@`\n\t \\$~\x80\xc3\x01 0";
    size_t n = strlen(text), at = below(seed, n);
    char c = odd[below(seed, sizeof odd - 1)];

    splice(text, at, below(seed, 2), &c, below(seed, 3) > 0);
}

/* The word at or behind a place that the seed chooses. */
static size_t find_word(const char *text, uint32_t *seed, size_t *at)
{
    size_t n = 0;

    *at = below(seed, strlen(text));
    while (text[*at] != '\0' && !isalnum((unsigned char)text[*at]))
        ++*at;
    while (isalnum((unsigned char)text[*at + n]) || text[*at + n] == '_')
        n++;
    return n;
}

static const char *const language[] = {"type",
                                       "tool",
                                       "human",
                                       "router",
                                       "guardrail",
                                       "subgraph",
                                       "next",
                                       "routes",
                                       "default",
                                       "when",
                                       "to",
                                       "from",
                                       "map",
                                       "over",
                                       "join",
                                       "any",
                                       "all",
                                       "quorum",
                                       "start",
                                       "START",
                                       "END",
                                       "nodes",
                                       "edges",
                                       "state",
                                       "reducers",
                                       "concat",
                                       "merge",
                                       "sum",
                                       "scratch",
                                       "artifacts",
                                       "input",
                                       "output",
                                       "item",
                                       "outputs",
                                       "output_as",
                                       "on_error",
                                       "goto",
                                       "value",
                                       "timeout",
                                       "wait",
                                       "retry_policy",
                                       "limits",
                                       "visits",
                                       "steps",
                                       "1",
                                       "0",
                                       "-1",
                                       "null",
                                       "true",
                                       "[]",
                                       "{}",
                                       "1e400",
                                       "9223372036854775807",
                                       "5s",
                                       "0ms",
                                       "64KiB",
                                       "depends_on",
                                       "targets",
                                       "condition",
                                       "graph",
                                       "x-y",
                                       "losers",
                                       "finish",
                                       "max_visits",
                                       "interrupt_before",
                                       "failure",
                                       "end",
                                       "fail_fast",
                                       "first",
                                       "capability",
                                       "discovery",
                                       "personality",
                                       "budget",
                                       "${",
                                       "}",
                                       "${item}",
                                       "scratch[0]",
                                       "a.b.c",
                                       "\"\""};

static void damage_token(char *text, uint32_t *seed)
{
    size_t at, n = find_word(text, seed, &at), from, n_from;
    char word[64];

    if (below(seed, 2) == 0) {
        snprintf(word, sizeof word, "%s",
                 language[below(seed, sizeof language / sizeof language[0])]);
    } else {
        n_from = find_word(text, seed, &from);
        snprintf(word, sizeof word, "%.*s", (int)n_from, text + from);
    }
    splice(text, at, n, word, strlen(word));
}

/* A container somewhere in the value: the seed goes down. */
static json_t *find_container(json_t *v, uint32_t *seed)
{
    for (;;) {
        size_t n = json_is_object(v) ? json_object_size(v) : json_array_size(v);
        size_t i = n > 0 ? below(seed, n) : 0;
        json_t *next = NULL, *one;
        const char *key;

        json_object_foreach(v, key, one) if (i-- == 0) next = one;
        if (json_is_array(v))
            next = json_array_get(v, i);
        if ((!json_is_object(next) && !json_is_array(next)) ||
            below(seed, 4) == 0)
            return v;
        v = next;
    }
}

static const char *find_key(json_t *object, uint32_t *seed)
{
    size_t i = below(seed, json_object_size(object));
    const char *key, *found = NULL;
    json_t *one;

    json_object_foreach(object, key, one) if (i-- == 0) found = key;
    return found;
}

static json_t *find_value(json_t *v, uint32_t *seed)
{
    json_t *in = find_container(v, seed);

    if (json_is_object(in) && json_object_size(in) > 0)
        return json_object_get(in, find_key(in, seed));
    if (json_array_size(in) > 0)
        return json_array_get(in, below(seed, json_array_size(in)));
    return in;
}

/* Take out, or put a copy of something else there, maybe under another key. */
static void damage_tree(json_t *root, uint32_t *seed)
{
    json_t *in = find_container(root, seed),
           *v = json_deep_copy(find_value(root, seed));
    char key[128];
    size_t i;

    if (json_is_array(in)) {
        i = below(seed, json_array_size(in) + 1);
        if (below(seed, 3) == 0)
            json_array_remove(in, i);
        else
            json_array_insert(in, i, v);
    } else if (json_object_size(in) > 0) {
        snprintf(key, sizeof key, "%s", find_key(in, seed));
        if (below(seed, 3) == 0)
            json_object_del(in, key);
        else if (below(seed, 2) == 0)
            json_object_set(in, key, v);
        else
            json_object_set(
                in, language[below(seed, sizeof language / sizeof language[0])],
                v);
    }
    json_decref(v);
}

/* As a tree, which is written again: false when it cannot be read. */
static bool damage_as_tree(char *text, uint32_t *seed)
{
    struct mortise_diags diags;
    struct mortise_arena arena;
    struct mortise_yaml *root;
    struct mortise_buf b;
    json_t *v = NULL;

    mortise_diags_init(&diags, &test_mem);
    mortise_arena_init(&arena, &test_mem);
    mortise_buf_init(&b, &test_mem);
    if (mortise_yaml_parse(&root, &arena, "x", text, strlen(text), &diags) ==
        MORTISE_OK)
        v = mortise_yaml_to_json(root, false);
    if (v != NULL) {
        damage_tree(v, seed);
        ck_assert_int_eq(mortise_yaml_write(&b, v, NULL, NULL), MORTISE_OK);
        if (b.n < SIZE)
            memcpy(text, mortise_buf_cstr(&b), b.n + 1);
    }
    json_decref(v);
    mortise_buf_finish(&b);
    mortise_arena_finish(&arena);
    mortise_diags_finish(&diags);
    return v != NULL;
}

static void damage(char *text, uint32_t *seed)
{
    for (size_t k = below(seed, 3) / 2 + 1; k > 0 && text[0] != '\0'; k--) {
        size_t how = below(seed, 4);

        if (how == 0 || (how > 1 && !damage_as_tree(text, seed)))
            damage_bytes(text, seed);
        else if (how == 1)
            damage_token(text, seed);
    }
}

/* ---- refused ---------------------------------------------------------------------
 */

/* Each finding is of a known code, and at a place that the file has. */
static void check_places(const struct mortise_diags *diags, const char *text)
{
    uint32_t lines = 1;

    for (const char *p = text; *p != '\0'; p++)
        lines += *p == '\n' || (*p == '\r' && p[1] != '\n');
    for (size_t i = 0; i < diags->n; i++) {
        const struct mortise_diag *d = &diags->list[i];

        ck_assert_ptr_nonnull(mortise_code(d->code));
        ck_assert_ptr_nonnull(d->path);
        ck_assert_msg(d->span.line >= 1 && d->span.line <= lines,
                      "%s at line %u of %u: %s", d->code, d->span.line, lines,
                      d->message);
        ck_assert_uint_ge(d->span.col, 1);
        ck_assert_uint_le(d->span.col, strlen(text) + 1);
    }
}

/* ---- accepted --------------------------------------------------------------------
 */

static bool fire_soonest(void)
{
    size_t best = s.n_timers;

    for (size_t i = 0; i < s.n_timers; i++)
        if (best == s.n_timers || s.timers[i].at_ms < s.timers[best].at_ms)
            best = i;
    return sim_fire_timer(&s, best);
}

/* Until nothing can happen, or a lot has: true when it has come to its end. */
static bool run_on(uint32_t *seed, unsigned most)
{
    for (unsigned i = 0; i < most; i++) {
        s.now_ms++;
        if (!sim_sync_one(&s) && !sim_end_ask(&s, 0) &&
            !(s.n_calls > 0 && (sim_end_call(&s, below(seed, s.n_calls)) ||
                                sim_end_call(&s, 0))) &&
            !fire_soonest())
            return true;
    }
    return false;
}

/* Some graphs want an input of their own: one of these may be it. */
static bool admit_some(void)
{
    static const char *const inputs[] = {
        RAND_INPUT, "{}", "{\"text\": \"a b\"}",
        "{\"message\": \"hi\", \"customer\": \"ann\"}"};

    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        if (sim_admit(&s, inputs[i], &err) == MORTISE_OK)
            return true;
    return false;
}

static void run_graph(struct mortise_graph *g, uint32_t *seed)
{
    sim_init(&s, g);
    if (admit_some()) {
        bool over = run_on(seed, 60);

        if (below(seed, 4) == 0) {
            sim_crash(&s, seed);
            sim_recover(&s);
            over = false;
        }
        tally.ended += over || run_on(seed, 60);
        tally.ran++;
    }
    sim_finish(&s);
}

/* ---- all of it -------------------------------------------------------------------
 */

static void try_one(uint32_t number)
{
    static char text[SIZE];
    uint32_t seed = number * 7919 + 1;
    struct source *from;
    struct mortise_catalog catalog = {.operation = operation,
                                      .guardrail = guardrail};
    struct mortise_diags diags;
    struct mortise_graph *g;
    int rv;

    sim_random(&seed);
    from = &sources[below(&seed, n_sources)];
    catalog.ud = from;
    strcpy(text, from->text);
    damage(text, &seed);
    if (getenv("MORTISE_MUTANTS_SHOW") != NULL)
        fprintf(stderr, "---- %u\n%s", (unsigned)number, text);
    mortise_diags_init(&diags, &test_mem);
    rv = mortise_graph_load(&g, &test_mem, "mutant", text, strlen(text),
                            &catalog, &diags, &err);
    ck_assert_msg(rv == MORTISE_OK || rv == MORTISE_ECHECK, "mutant %u: %s",
                  (unsigned)number, err.msg);
    ck_assert_int_eq(rv == MORTISE_ECHECK, diags.n_errors > 0);
    check_places(&diags, text);
    mortise_diags_finish(&diags);
    tally.mutants++;
    tally.refused += rv == MORTISE_ECHECK;
    tally.accepted += rv == MORTISE_OK;
    if (rv == MORTISE_OK)
        run_graph(g, &seed);
}

static unsigned number_of(const char *variable, unsigned otherwise)
{
    const char *v = getenv(variable);

    return v != NULL ? (unsigned)strtoul(v, NULL, 10) : otherwise;
}

/* A part of them; many are refused and many are not, and most of those that
 * run come to an end. */
START_TEST(mutants)
{
    const unsigned n = number_of("MORTISE_MUTANTS", 1000),
                   first = number_of("MORTISE_MUTANTS_FIRST", 0);

    begin_all();
    memset(&tally, 0, sizeof tally);
    for (unsigned i = (unsigned)_i; i < n; i += PARTS)
        try_one(first + i);
    if (n >= 1000) {
        ck_assert_uint_ge(tally.accepted, tally.mutants / 10);
        ck_assert_uint_ge(tally.refused, tally.mutants / 3);
        ck_assert_uint_ge(tally.ran, tally.accepted / 2);
        ck_assert_uint_ge(tally.ended, tally.ran / 2);
    }
    if (getenv("MORTISE_MUTANTS_SHOW") != NULL)
        fprintf(stderr, "%u: %u accepted, %u refused, %u ran, %u ended\n",
                tally.mutants, tally.accepted, tally.refused, tally.ran,
                tally.ended);
    end_all();
}
END_TEST

/* Undamaged, each of them loads: what is refused is refused for its damage. */
START_TEST(sources_are_good)
{
    begin_all();
    for (size_t i = 0; i < n_sources; i++) {
        const struct mortise_catalog catalog = {
            .ud = &sources[i], .operation = operation, .guardrail = guardrail};
        struct mortise_diags diags;
        struct mortise_graph *g;
        int rv;

        mortise_diags_init(&diags, &test_mem);
        rv =
            mortise_graph_load(&g, &test_mem, "good", sources[i].text,
                               strlen(sources[i].text), &catalog, &diags, &err);
        ck_assert_msg(rv == MORTISE_OK, "%s in\n%.2000s",
                      diags.n > 0 ? diags.list[0].message : "",
                      sources[i].text);
        mortise_graph_unref(g);
        mortise_diags_finish(&diags);
    }
    end_all();
}
END_TEST

static void setup(void)
{
    test_begin();
    test_count_json();
}

static void teardown(void)
{
    test_catalog_finish();
    test_nothing_left();
}

static Suite *suite(void)
{
    Suite *suite = suite_create("mutated");
    TCase *tc = tcase_create("mutants");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, sources_are_good);
    tcase_add_loop_test(tc, mutants, 0, PARTS);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
