/* test_hostile_cases.c -- `mortise test` says the same each time.
 *
 * Cases are generated: branches that start together, some of them at the very
 * same moment due; people who answer, do not answer in time, or of whom nothing
 * is said; operations that take their time, fail and are tried again; plain ones
 * that really run on threads; joins of all kinds.  Each is run again and again,
 * on a machine that is busy with the others, and everything that came out is
 * compared: status, state, each execution and event, with its time since the
 * run began. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/matrix.h"
#include "lib/sim.h"
#include "lib/test.h"

enum { CASES = 200, TIMES = 20, SHARE = 14, FEW_TIMES = 3, MOST = 4 };

static uint32_t seed;

static unsigned pick(unsigned n)
{
    return sim_random(&seed) % n;
}

static const char *one_of(const char *const list[], unsigned n)
{
    return list[pick(n)];
}

/* ---- making ------------------------------------------------------------- */

struct page {
    char text[8192];
    size_t n;
};

static void put(struct page *p, const char *fmt, ...) MORTISE_PRINTF(2, 3);
static void put(struct page *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    p->n += (size_t)vsnprintf(p->text + p->n, sizeof p->text - p->n, fmt, ap);
    va_end(ap);
    ck_assert_uint_lt(p->n, sizeof p->text);
}

static void put_human(struct page *graph, struct page *people, int i)
{
    static const char *const waits[] = {"1h", "1h", "2h", "90s"};
    static const char *const ends[] = {"accept", "reject", "error",
                                       "{goto: late}"};
    static const char *const deeds[] = {"{timeout: true}", "{timeout: true}",
                                        "{approve: true}", "{reject: no}",
                                        "{answer: 3}",     "[{approve: true}]"};

    put(graph,
        "  b%d: {type: human, prompt: well?, wait: %s, on_timeout: %s, next: "
        "j}\n",
        i, one_of(waits, 4), one_of(ends, 4));
    if (pick(6) > 0)
        put(people, "      b%d: %s\n", i, one_of(deeds, 6));
}

static void put_tool(struct page *graph, struct page *nodes, int i)
{
    static const char *const answers[] = {
        "{output: *p}",
        "{output: *p, after: 1s}",
        "{output: *p, after: 90s}",
        "{output: *p, after: 1h}",
        "[{error: {code: unreachable, class: transient}}, {output: *p}]",
        ("[{error: {code: unreachable, class: transient}, after: 1s}, {output: "
         "*p, after: 2s}]"),
        "{error: {code: broken, class: permanent}}"};

    put(graph,
        "  b%d: {type: tool, tool: http/get, args: {url: b%d}, next: j%s}\n", i,
        i, pick(2) == 0 ? ", retry_policy: {max_attempts: 3, delay: 1s}" : "");
    put(nodes, "      b%d: %s\n", i, one_of(answers, 7));
}

static void put_effect(struct page *graph, struct page *nodes, int i)
{
    static const char *const doubts[] = {"done", "retry"};

    put(graph,
        "  b%d: {type: tool, tool: file/write, args: {path: b%d, content: x}, "
        "next: j}\n",
        i, i);
    put(nodes, "      b%d: {output: {path: x, bytes: 1}, in_doubt: %s}\n", i,
        one_of(doubts, 2));
}

static void put_join(struct page *graph)
{
    static const char *const joins[] = {"join: all",
                                        "join: any",
                                        "join: best_effort",
                                        "join: {quorum: 2}",
                                        "join: any, losers: finish",
                                        "on_branch_error: collect"};

    put(graph,
        "  j: {type: tool, tool: text/lines, args: {text: x}, %s, outputs: "
        "{scratch.l: \"['j']\"}, next: m}\n",
        one_of(joins, 6));
    put(graph, "  m: {type: tool, tool: text/lines, args: {text: a}, map: "
               "{over: '[1, 2, 3]', to: e, join: k, max_parallel: 2}}\n");
    put(graph, "  e: {type: tool, tool: http/get, args: {url: \"e${item}\"}, "
               "outputs: {scratch.l: \"[item]\"}, next: k}\n");
    put(graph, "  k: {type: tool, tool: text/lines, args: {text: x}}\n");
    put(graph, "  late: {type: tool, tool: text/lines, args: {text: x}, next: "
               "END}\n");
}

/* One graph and one case of it. */
static void make(size_t i)
{
    struct page graph = {.n = 0}, nodes = {.n = 0}, people = {.n = 0};
    struct page test = {.n = 0};
    int n = 2 + (int)pick(MOST - 1);
    char name[64];

    put(&graph, "state: {reducers: {scratch.l: concat}}\nstart: [");
    for (int b = 0; b < n; b++)
        put(&graph, "%sb%d", b > 0 ? ", " : "", b);
    put(&graph, "]\nedges: [{from: START, to: late, when: \"false\"}]\n"
                "nodes:\n");
    for (int b = 0; b < n; b++) {
        unsigned kind = b < 2 && pick(2) == 0 ? 0 : pick(4);

        if (kind <= 1)
            put_human(&graph, &people, b);
        else if (kind == 2)
            put_tool(&graph, &nodes, b);
        else
            put_effect(&graph, &nodes, b);
    }
    put_join(&graph);
    snprintf(name, sizeof name, "g%zu", i);
    desk_graph(name, graph.text);
    put(&test,
        "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
        "graph: g%zu.yaml\n"
        "x-p: &p {status: 200, url: x, headers: {}, body: ~}\n"
        "cases:\n  c%zu:\n    operations: {http/get: {output: *p, after: "
        "1s}}\n",
        i, i);
    if (nodes.n > 0)
        put(&test, "    nodes:\n%s", nodes.text);
    if (people.n > 0)
        put(&test, "    people:\n%s", people.text);
    put(&test, "    expect: {path: {contains: [b0]}}\n");
    snprintf(name, sizeof name, "g%zu.test.yaml", i);
    desk_put(name, test.text);
}

/* ---- comparing ---------------------------------------------------------- */

static bool read_time(const char *text, long long *ms)
{
    struct tm tm = {0};
    int n = 0, milli;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &tm.tm_year, &tm.tm_mon,
               &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &milli,
               &n) != 7 ||
        text[n] != '\0')
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ms = (long long)timegm(&tm) * 1000 + milli;
    return true;
}

/* The same, with times since `began`; checkpoints are named by their time. */
static json_t *since(const json_t *v, long long began)
{
    json_t *out;
    const char *key;
    json_t *part;
    size_t i;
    long long ms;

    if (json_is_string(v) && read_time(json_string_value(v), &ms))
        return json_integer(ms - began);
    if (json_is_object(v)) {
        out = json_object();
        json_object_foreach((json_t *)(uintptr_t)v, key, part)
        {
            if (strcmp(key, "checkpoint") != 0)
                json_object_set_new(out, key, since(part, began));
        }
        return out;
    }
    if (json_is_array(v)) {
        out = json_array();
        json_array_foreach((json_t *)(uintptr_t)v, i, part)
            json_array_append_new(out, since(part, began));
        return out;
    }
    return json_deep_copy(v);
}

/* What one round said of its one case, as text. */
static char *outcome(void)
{
    json_t *all = json_loads(child.out, 0, NULL);
    const json_t *one = json_array_get(json_object_get(all, "cases"), 0);
    long long began;
    json_t *plain;
    char *text;

    ck_assert_msg(one != NULL, "%.2000s%.1000s", child.out, child.err);
    ck_assert(read_time(json_string_value(json_object_get(
                            json_object_get(one, "show"), "created")),
                        &began));
    plain = since(one, began);
    text = json_dumps(plain, JSON_SORT_KEYS | JSON_INDENT(1));
    json_decref(plain);
    json_decref(all);
    return text;
}

static void differ(size_t i, const char *a, const char *b)
{
    size_t at = 0, from;

    while (a[at] == b[at])
        at++;
    from = at > 400 ? at - 400 : 0;
    ck_abort_msg("case %zu came out in two ways:\n%.600s\n---- and\n%.600s\n",
                 i, a + from, b + from);
}

static void repeat(size_t i, int times)
{
    char *first = NULL;

    for (int k = 0; k < times; k++) {
        char *now;

        child_run("$MORTISE test --json g%zu.test.yaml", i);
        ck_assert_msg(child.code == 0 || child.code == 1, "%.1000s", child.err);
        now = outcome();
        if (first != NULL && strcmp(first, now) != 0)
            differ(i, first, now);
        free(first);
        first = now;
    }
    free(first);
}

/* Whatever a case comes to, it comes to that each time. */
START_TEST(cases_say_the_same_each_time)
{
    for (size_t i = 0; i < CASES; i++) {
        seed = 20260 + (uint32_t)i;
        if (!matrix_takes(i, SHARE))
            continue;
        fprintf(stderr, "case %zu: seed %u\n", i, seed);
        make(i);
        repeat(i, matrix_is_whole() ? TIMES : FEW_TIMES);
    }
}
END_TEST

/* ... also when it is killed at any of its commits, if it holds at all: no
 * crash makes an answer come twice, or the next one come for it. */
START_TEST(crashes_show_nothing_false)
{
    for (size_t i = 0; i < CASES; i++) {
        seed = 20260 + (uint32_t)i;
        if (!matrix_takes(i, 4 * SHARE))
            continue;
        make(i);
        child_run("$MORTISE test --crash-everywhere g%zu.test.yaml", i);
        ck_assert_msg(strstr(child.out, "E0904") == NULL, "seed %u: %s", seed,
                      child.out);
    }
}
END_TEST

static void begin(void)
{
    desk_begin();
    child_run("rm mortise.yaml"); /* our own plugins will do */
    ck_assert_int_eq(setenv("TMPDIR", desk_dir, 1), 0);
}

static void end(void)
{
    unsetenv("TMPDIR");
    desk_end();
}

int main(void)
{
    Suite *s = suite_create("hostile: cases");
    TCase *tc = tcase_create("cases");

    tcase_set_timeout(tc, 3600);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, cases_say_the_same_each_time);
    tcase_add_test(tc, crashes_show_nothing_false);
    suite_add_tcase(s, tc);
    return test_run(s);
}
