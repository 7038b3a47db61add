/* test_graph_files.c -- graphs that name graphs of other files: what is found,
 * what is refused, and what a graph's digest covers.  The files are texts in
 * memory; test_cli_files.c has real ones. */
#include <stdio.h>
#include <string.h>

#include "core/model/graph.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"
#include "lib/catalog.h"
#include "lib/json.h"
#include "lib/test.h"

/* ---- files --------------------------------------------------------------- */

static struct {
    const char *path;
    char text[2048];
} files[8];
static size_t n_files;
static unsigned n_reads, n_lists;

/* A graph file; `body` follows the header. */
static void put(const char *path, const char *name, const char *version,
                const char *body)
{
    size_t i = 0;

    while (i < n_files && strcmp(files[i].path, path) != 0)
        i++;
    n_files += i == n_files;
    files[i].path = path;
    snprintf(files[i].text, sizeof files[i].text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: %s, version: '%s'}\n%s",
             name, version, body);
}

static int read_file(void *ud, const char *path, struct mortise_buf *text,
                     struct mortise_err *why)
{
    (void)ud;
    n_reads++;
    for (size_t i = 0; i < n_files; i++) {
        if (strcmp(files[i].path, path) != 0)
            continue;
        mortise_buf_puts(text, files[i].text);
        return text->failed ? mortise_nomem(why) : MORTISE_OK;
    }
    return mortise_fail(why, MORTISE_ENOTFOUND, "there is no such file");
}

static int list_files(void *ud, const char *dir,
                      int (*fn)(void *into, const char *path), void *into,
                      struct mortise_err *why)
{
    int rv = MORTISE_OK;

    (void)ud;
    (void)why;
    n_lists++;
    for (size_t i = 0; i < n_files && rv == MORTISE_OK; i++)
        if (strncmp(files[i].path, dir, strlen(dir)) == 0)
            rv = fn(into, files[i].path);
    return rv;
}

/* ---- loading ------------------------------------------------------------- */

static struct mortise_graph *graph;
static struct mortise_buf report;

static void begin(void)
{
    test_begin();
    test_count_json();
    n_files = 0;
    n_reads = n_lists = 0;
    graph = NULL;
    mortise_buf_init(&report, &test_mem);
}

static void end(void)
{
    mortise_graph_unref(graph);
    test_catalog_finish();
    mortise_buf_finish(&report);
    test_nothing_left();
}

/* The file of this path, by itself: from the disk, or as a run pinned it. */
static int load_as(const char *path, bool pinned)
{
    const struct mortise_graph_files from = {
        .read = read_file, .list = list_files, .pinned = pinned};
    struct mortise_catalog catalog = *test_catalog();
    struct mortise_diags diags;
    struct mortise_buf text;
    int rv;

    catalog.files = &from;
    mortise_graph_unref(graph);
    graph = NULL;
    mortise_buf_clear(&report);
    mortise_buf_init(&text, &test_mem);
    mortise_diags_init(&diags, &test_mem);
    rv = read_file(NULL, path, &text, NULL);
    if (rv == MORTISE_OK)
        rv = mortise_graph_load(&graph, &test_mem, path, text.p, text.n,
                                &catalog, &diags, NULL);
    mortise_diags_format(&diags, &report);
    mortise_diags_finish(&diags);
    mortise_buf_finish(&text);
    return rv;
}

static int load(const char *path)
{
    return load_as(path, false);
}

static const char *said(void)
{
    const char *text = mortise_buf_cstr(&report);

    return text != NULL ? text : "";
}

/* Loading it finds this, and nothing is loaded. */
static void refused(const char *path, const char *words)
{
    ck_assert_int_eq(load(path), MORTISE_ECHECK);
    ck_assert_msg(strstr(said(), words) != NULL, "no '%s' in:\n%s", words,
                  said());
}

static void loads(const char *path)
{
    ck_assert_msg(load(path) == MORTISE_OK, "%s", said());
}

static unsigned count(const char *what)
{
    unsigned n = 0;

    for (const char *p = said(); (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static const char part[] =
    "start: q\nnodes:\n  q: {type: human, prompt: ok?}\n";

/* A graph of one node that runs what `ref` names. */
static void put_outer(const char *path, const char *ref)
{
    char body[512];

    snprintf(body, sizeof body,
             "start: s\nnodes:\n  s: {type: subgraph, graph: %s}\n", ref);
    put(path, "outer", "1", body);
}

/* ---- finding ------------------------------------------------------------- */

static const struct {
    const char *outer, *ref, *inner;
} found[] = {
    {"a.graph.yaml", "./b.graph.yaml", "b.graph.yaml"},
    {"a.graph.yaml", "b.graph.yaml", "b.graph.yaml"},
    {"dir/a.graph.yaml", "b.graph.yaml", "dir/b.graph.yaml"},
    {"dir/a.graph.yaml", "../b.graph.yaml", "b.graph.yaml"},
    {"/x/y/a.graph.yaml", "../z/./b.graph.yaml", "/x/z/b.graph.yaml"},
    {"dir/a.graph.yaml", "../../b.graph.yaml", "../b.graph.yaml"},
    {"../a.graph.yaml", "../b.graph.yaml", "../../b.graph.yaml"},
    {"dir/a.graph.yaml", "/abs/b.yaml", "/abs/b.yaml"},
    {"a.graph.yaml", "b", "b.graph.yaml"},
    {"dir/a.graph.yaml", "b@2", "dir/x.graph.yaml"},
    {"a.graph.yaml", "{file: b.json}", "b.json"},
    {"a.graph.yaml", "{name: b}", "x.graph.yaml"},
    {"a.graph.yaml", "{name: b, version: '2'}", "x.graph.yaml"},
    {"a.graph.yaml", "{file: x.graph.yaml, version: '2'}", "x.graph.yaml"},
};
enum { N_FOUND = sizeof found / sizeof found[0] };

/* A path is seen from the file that says it, a name is looked for beside it.
 * key: graph that stands elsewhere.file, graph that stands elsewhere.name */
START_TEST(finds)
{
    put_outer(found[_i].outer, found[_i].ref);
    put(found[_i].inner, "b", "2", part);
    loads(found[_i].outer);
    ck_assert_str_eq(graph->nodes[0].sub->name, "b");
    ck_assert_str_eq(graph->nodes[0].sub->nodes[0].id, "q");
    ck_assert_uint_eq(graph->n_sources, 2);
    ck_assert_str_eq(graph->sources[0].path, found[_i].outer);
    ck_assert_str_eq(graph->sources[1].path, found[_i].inner);
}
END_TEST

static const struct {
    const char *ref, *words;
} missing[] = {
    {"nowhere.graph.yaml", "a.graph.yaml:6:30: error[E0315]: no graph in "
                           "nowhere.graph.yaml: there is no such file"},
    {"c", "error[E0315]: no graph 'c' in the directory of this file"},
    {"b@3", "b.graph.yaml has the version '2'"},
    {"bb", "did you mean 'b'?"},
    {"{file: b.graph.yaml, version: '3'}",
     "error[E0317]: b.graph.yaml has the version '2', not '3'"},
    {"{file: b.graph.yaml, digest: '00'}",
     "'digest' must be 64 hexadecimal digits"},
    {"{file: b.graph.yaml, name: b}", "'file' or 'name', not both"},
    {"{file: b.graph.yaml, versoin: '2'}", "did you mean 'version'?"},
    {"7", "must be a graph, the path of a file or the name of a graph"},
    {"''", "must be a graph, the path of a file or the name of a graph"},
    {"[b]", "must be a graph, the path of a file or the name of a graph"},
    {"\"b\\0.yaml\"", "error["},
};
enum { N_MISSING = sizeof missing / sizeof missing[0] };

/* What cannot be found, or is another than was pinned, is said where it
 * stands.
 * key: graph that stands elsewhere.version
 * key: graph that stands elsewhere.digest */
START_TEST(misses)
{
    put_outer("a.graph.yaml", missing[_i].ref);
    put("b.graph.yaml", "b", "2", part);
    refused("a.graph.yaml", missing[_i].words);
}
END_TEST

/* Two graphs of one name are told apart by their versions, not by chance. */
START_TEST(ambiguous)
{
    put("b1.graph.yaml", "b", "1", part);
    put("b2.graph.yaml", "b", "2", part);
    put_outer("a.graph.yaml", "b");
    refused("a.graph.yaml",
            "2 graphs in the directory of this file are named 'b'");
    put_outer("a.graph.yaml", "b@1");
    loads("a.graph.yaml");
    ck_assert_str_eq(graph->sources[1].path, "b1.graph.yaml");
}
END_TEST

/* A broken file that nobody asked for is no finding. */
START_TEST(unasked)
{
    put("b.graph.yaml", "b", "1", part);
    put("c.graph.yaml", "[", "1", part);
    put_outer("a.graph.yaml", "b");
    loads("a.graph.yaml");
    ck_assert_str_eq(said(), "");
}
END_TEST

/* A graph that would contain itself, at once or after a while, is refused. */
START_TEST(recursion)
{
    put_outer("a.graph.yaml", "./a.graph.yaml");
    refused("a.graph.yaml", "error[E0316]: a.graph.yaml would contain itself");
    put_outer("a.graph.yaml", "b.graph.yaml");
    put_outer("b.graph.yaml", "c.graph.yaml");
    put_outer("c.graph.yaml", "a.graph.yaml");
    refused("a.graph.yaml", "c.graph.yaml:6:30: error[E0316]: a.graph.yaml");
    put_outer("c.graph.yaml", "b.graph.yaml");
    refused("a.graph.yaml", "c.graph.yaml:6:30: error[E0316]: b.graph.yaml");
    put_outer("a.graph.yaml",
              "{start: i, nodes: {i: {type: subgraph, graph: a.graph.yaml}}}");
    refused("a.graph.yaml", "error[E0316]: a.graph.yaml would contain itself");
}
END_TEST

/* Files count against limits.depth as graphs in the file do. */
START_TEST(depth)
{
    put("a.graph.yaml", "a", "1",
        "limits: {depth: 1}\nstart: s\n"
        "nodes: {s: {type: subgraph, graph: b.graph.yaml}}\n");
    put_outer("b.graph.yaml", "c.graph.yaml");
    put("c.graph.yaml", "c", "1", part);
    refused("a.graph.yaml", "error[E0313]");
    put("b.graph.yaml", "b", "1", part);
    loads("a.graph.yaml");
}
END_TEST

/* A file that many nodes run is read once, and its findings are reported
 * once, with its own path. */
START_TEST(once)
{
    put("a.graph.yaml", "a", "1",
        "start: [s, t]\nnodes:\n"
        "  s: {type: subgraph, graph: b.graph.yaml}\n"
        "  t: {type: subgraph, graph: ./b.graph.yaml}\n");
    put("b.graph.yaml", "b", "1",
        "start: q\nnodes:\n  q: {type: human, promt: ok?}\n");
    refused("a.graph.yaml", "b.graph.yaml:6:20: error[E0201]");
    ck_assert_uint_eq(count("error["), 1);
    ck_assert_uint_eq(n_reads, 2);
    put("b.graph.yaml", "b", "1", part);
    loads("a.graph.yaml");
    ck_assert_uint_eq(graph->n_sources, 2);
    ck_assert_uint_eq(n_lists, 0); /* nobody asked for a name */
    put("a.graph.yaml", "a", "1",
        "start: [s, t]\nnodes:\n"
        "  s: {type: subgraph, graph: b}\n"
        "  t: {type: subgraph, graph: b@1}\n");
    loads("a.graph.yaml");
    ck_assert_uint_eq(n_lists, 1);
}
END_TEST

/* A file that is no graph is told apart from one with errors. */
START_TEST(no_graph)
{
    put_outer("a.graph.yaml", "b.yaml");
    files[n_files].path = "b.yaml";
    strcpy(files[n_files++].text, "apiVersion: mortise/v1\nkind: Plugin\n");
    refused("a.graph.yaml", "b.yaml:2:7: error[E0210]");
    strcpy(files[1].text, "");
    refused("a.graph.yaml", "b.yaml:1:1: error[E0103]");
}
END_TEST

/* ---- what holds inside ----------------------------------------------------
 */

/* The run's limits hold in a file, not those of the file; what it says of
 * people holds, and so does what is said around it. */
START_TEST(what_holds)
{
    put("b.graph.yaml", "b", "1",
        "hitl_mode: approve_tools\ngoal: g\n"
        "limits: {steps: 3, visits: 3, concurrency: 3, state: 2MiB}\n"
        "start: q\nnodes:\n  q: {type: human, prompt: ok?}\n");
    put_outer("a.graph.yaml", "b");
    loads("a.graph.yaml");
    ck_assert_uint_eq(graph->nodes[0].sub->limits.steps, 256);
    ck_assert_uint_eq(graph->nodes[0].sub->nodes[0].max_visits, 32);
    ck_assert_uint_eq(graph->nodes[0].sub->concurrency, 8);
    ck_assert(graph->nodes[0].sub->approve_tools);
    ck_assert(!graph->approve_tools);
    put("b.graph.yaml", "b", "1",
        "limits: {steps: none}\nstart: q\nnodes:\n"
        "  q: {type: human, prompt: ok?}\n");
    refused("a.graph.yaml", "b.graph.yaml:4:17: error[E0203]");
}
END_TEST

/* ---- digests --------------------------------------------------------------
 */

static void digest(uint8_t out[MORTISE_DIGEST])
{
    loads("a.graph.yaml");
    memcpy(out, graph->digest, MORTISE_DIGEST);
}

/* A digest covers what a file says, not where it lies; a pinned one must be
 * the file's. */
START_TEST(digests)
{
    uint8_t first[MORTISE_DIGEST], moved[MORTISE_DIGEST],
        changed[MORTISE_DIGEST];
    char hex[2 * MORTISE_DIGEST + 1], ref[256];

    put("b.graph.yaml", "b", "1", part);
    put("dir/c.graph.yaml", "b", "1", part);
    put_outer("a.graph.yaml", "b.graph.yaml");
    digest(first);
    put_outer("a.graph.yaml", "dir/c.graph.yaml");
    digest(moved);
    ck_assert_mem_eq(first, moved, sizeof first);
    put("dir/c.graph.yaml", "b", "1",
        "start: q\nnodes:\n  q: {type: human, prompt: sure?}\n");
    digest(changed);
    ck_assert_mem_ne(first, changed, sizeof first);

    loads("b.graph.yaml");
    mortise_hex_encode(hex, graph->digest, sizeof graph->digest);
    snprintf(ref, sizeof ref, "{file: b.graph.yaml, digest: '%s'}", hex);
    put_outer("a.graph.yaml", ref);
    loads("a.graph.yaml");
    put("b.graph.yaml", "b", "1",
        "start: q\nnodes:\n  q: {type: human, prompt: sure?}\n");
    refused(
        "a.graph.yaml",
        "error[E0317]: b.graph.yaml does not match 'digest': its digest is");
}
END_TEST

/* A change two files deep changes the digest of the first. */
START_TEST(deep_digests)
{
    uint8_t before[MORTISE_DIGEST], after[MORTISE_DIGEST];

    put_outer("a.graph.yaml", "b.graph.yaml");
    put_outer("b.graph.yaml", "c@1");
    put("c.graph.yaml", "c", "1", part);
    digest(before);
    put("c.graph.yaml", "c", "1",
        "start: q\nnodes:\n  q: {type: human, prompt: sure?}\n");
    digest(after);
    ck_assert_mem_ne(before, after, sizeof before);
    ck_assert_uint_eq(graph->n_sources, 3);
}
END_TEST

/* Loading copes with every allocation failing. */
START_TEST(survives_oom)
{
    int n, rv;

    put_outer("a.graph.yaml", "b.graph.yaml");
    put_outer("b.graph.yaml", "c@1");
    put("c.graph.yaml", "c", "1", part);
    loads("a.graph.yaml"); /* the catalogue is made once */
    for (n = 0;; n++) {
        test_mem_fail_at(n);
        rv = load("a.graph.yaml");
        if (!test_mem_failed())
            break;
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, MORTISE_ENOMEM);
        ck_assert_ptr_null(graph);
    }
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, MORTISE_OK);
    ck_assert_int_gt(n, 10);
}
END_TEST

/* A stricter hitl_mode implies the weaker ones. */
START_TEST(strict_modes_imply_weaker_ones)
{
    static const struct {
        const char *mode;
        bool plan, nodes, tools;
    } modes[] = {
        {"none", false, false, false},
        {"approve_plan", true, false, false},
        {"approve_each_node", true, true, false},
        {"approve_tools", true, true, true},
    };

    for (size_t i = 0; i < 4; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 "hitl_mode: %s\nstart: a\nnodes:\n"
                 "  a: {type: human, prompt: hm, next: END}\n",
                 modes[i].mode);
        put("a.graph.yaml", "a", "1.0.0", text);
        ck_assert_int_eq(load("a.graph.yaml"), MORTISE_OK);
        ck_assert_int_eq(graph->approve_plan, modes[i].plan);
        ck_assert_int_eq(graph->approve_nodes, modes[i].nodes);
        ck_assert_int_eq(graph->approve_tools, modes[i].tools);
    }
}
END_TEST

/* What nobody uses keeps no run from going on: the tools of a role without a node
 * are looked for before a run begins, and pinned with none. */
START_TEST(a_pinned_graph_has_idle_roles)
{
    put("a.graph.yaml", "a", "1.0.0",
        "roles: {idle: {default_tool_allowlist: [nowhere/none]}}\n"
        "start: a\nnodes:\n  a: {type: human, prompt: hm, next: END}\n");
    ck_assert_int_eq(load_as("a.graph.yaml", true), MORTISE_OK);
    ck_assert_uint_eq(graph->n_plugins, 0);
    refused("a.graph.yaml", "no plugin 'nowhere'");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph_files");
    TCase *tc = tcase_create("files");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, finds, 0, N_FOUND);
    tcase_add_loop_test(tc, misses, 0, N_MISSING);
    tcase_add_test(tc, ambiguous);
    tcase_add_test(tc, unasked);
    tcase_add_test(tc, recursion);
    tcase_add_test(tc, depth);
    tcase_add_test(tc, once);
    tcase_add_test(tc, no_graph);
    tcase_add_test(tc, what_holds);
    tcase_add_test(tc, digests);
    tcase_add_test(tc, deep_digests);
    tcase_add_test(tc, survives_oom);
    tcase_add_test(tc, strict_modes_imply_weaker_ones);
    tcase_add_test(tc, a_pinned_graph_has_idle_roles);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
