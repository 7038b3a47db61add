/* test_graph.c -- loading graphs: what is refused and how, and what the
 * compiled graph says. */
#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "lang/config/deploy.h"
#include "core/model/disk.h"
#include "core/model/human.h"
#include "core/model/graph.h"
#include "lib/catalog.h"
#include "lib/json.h"
#include "lib/test.h"
#include "lang/graph/load.h"
#include "lang/yaml/codes.h"

static struct mortise_diags diags;
static struct mortise_buf out;
static struct mortise_graph *graph;

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_diags_init(&diags, &test_mem);
    mortise_buf_init(&out, &test_mem);
    graph = NULL;
}

static void end(void)
{
    mortise_graph_unref(graph);
    test_catalog_finish();
    mortise_diags_finish(&diags);
    mortise_buf_finish(&out);
    test_nothing_left();
}

/* Of errors in runs: some that slips are near to. */
static const struct mortise_code some_codes[] = {
    {.code = "busy"}, {.code = "http.404"}, {.code = "model.rate_limit"}};

/* A file that names another is seen from the directory of the broken ones. */
static int load_n(const char *name, const char *text, size_t n)
{
    struct mortise_graph_files files;
    struct mortise_catalog catalog =
        mortise_disk_catalog_make(test_catalog(), &files, "tests/graphs/bad");
    struct mortise_err err;

    catalog.error_codes = some_codes;
    catalog.n_error_codes = sizeof some_codes / sizeof some_codes[0];
    catalog.advise = strncmp(name, "W0453", 5) == 0 ||
                     strncmp(name, "W0806", 5) == 0 ||
                     strncmp(name, "W0809", 5) == 0;
    return mortise_graph_load(&graph, &test_mem, name, text, n, &catalog,
                              &diags, &err);
}

/* What was found, as text. */
static const char *found(void)
{
    mortise_buf_clear(&out);
    mortise_diags_format(&diags, &out);
    return mortise_buf_cstr(&out);
}

static void good(const char *text)
{
    ck_assert_msg(load_n("t", text, strlen(text)) == MORTISE_OK, "%s\n%s", text,
                  found());
}

/* ---- files ----------------------------------------------------------- */

/* `make check` runs in the top directory; MORTISE_TOP says otherwise. */
static void path_of(char path[4096], const char *dir, const char *name)
{
    const char *top = getenv("MORTISE_TOP");

    snprintf(path, 4096, "%s/tests/graphs/%s/%s", top != NULL ? top : ".", dir,
             name);
}

static char *read_file(const char *dir, const char *name, size_t *n)
{
    char path[4096];

    path_of(path, dir, name);
    return test_read(path, n);
}

/* The names in a directory that end so, sorted; freed by the caller. */
static int list(struct dirent ***names, const char *dir)
{
    char path[4096];
    int n;

    path_of(path, dir, "");
    n = scandir(path, names, NULL, alphasort);
    ck_assert_msg(n > 0, "no %s (run in the top directory)", path);
    return n;
}

/* NAME.yaml -> NAME.txt */
static void golden_of(char out_name[256], const char *name)
{
    snprintf(out_name, 256, "%.*s.txt", (int)strlen(name) - 5, name);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static void for_each(const char *dir, void (*fn)(const char *name))
{
    struct dirent **names;
    int n = list(&names, dir), seen = 0;

    for (int i = 0; i < n; i++) {
        if (ends_with(names[i]->d_name, ".yaml")) {
            fn(names[i]->d_name);
            seen++;
        }
        free(names[i]);
    }
    free(names);
    ck_assert_int_gt(seen, 0);
}

static void check_good(const char *name)
{
    size_t n;
    char *text = read_file("good", name, &n);

    ck_assert_msg(load_n(name, text, n) == MORTISE_OK, "%s", found());
    ck_assert_msg(diags.n == 0, "%s", found());
    mortise_graph_unref(graph);
    graph = NULL;
    free(text);
}

/* All in good/ loads, without a warning. */
START_TEST(good_graphs_load)
{
    for_each("good", check_good);
}
END_TEST

/* A deployment is read where it is, for the sake of its paths. */
static void read_deployment(const char *name)
{
    struct mortise_deployment *d;
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char path[4096];

    path_of(path, "bad", "");
    ck_assert_int_eq(chdir(path), 0);
    ck_assert_int_eq(mortise_deployment_read(&d, &test_mem, name, &diags),
                     MORTISE_ECHECK);
    ck_assert_ptr_null(d);
    ck_assert_int_eq(fchdir(here), 0);
    close(here);
}

static void check_bad(const char *name)
{
    char golden[256], *want, *text;
    size_t n;
    int rv;

    golden_of(golden, name);
    text = read_file("bad", name, &n);
    if (strncmp(name, "deploy-", 7) == 0) {
        read_deployment(name);
    } else {
        rv = load_n(name, text, n);
        ck_assert_int_eq(rv, name[0] == 'W' ? MORTISE_OK : MORTISE_ECHECK);
        ck_assert_int_eq(graph != NULL, rv == MORTISE_OK);
    }
    ck_assert(diags.n > 0);
    if (getenv("MORTISE_GOLDEN") != NULL) {
        char path[4096];

        path_of(path, "bad", golden);
        found();
        test_write(path, out.p, out.n);
    }
    want = read_file("bad", golden, NULL);
    ck_assert_str_eq(found(), want);
    mortise_diags_finish(&diags);
    mortise_graph_unref(graph);
    graph = NULL;
    free(want);
    free(text);
}

/* Each file in bad/ gives its golden text, to the letter.  MORTISE_GOLDEN=1
 * writes the texts anew, to be read before they are committed.
 * key: metadata.labels, plugins.isolation */
START_TEST(bad_graphs_say_what_is_wrong)
{
    for_each("bad", check_bad);
}
END_TEST

static char *all_golden;
static size_t all_golden_size;

static void add_golden(const char *name)
{
    char golden[256], *text;
    size_t n;

    golden_of(golden, name);
    text = read_file("bad", golden, &n);
    all_golden = realloc(all_golden, all_golden_size + n + 1);
    memcpy(all_golden + all_golden_size, text, n + 1);
    all_golden_size += n;
    free(text);
}

/* Every code has a fixture, but for those that no small file of ours can show:
 * files that cannot be read or are huge (test_yaml), manifests
 * (test_manifest), tests of graphs (test_cli_casefile), configs that meet a
 * plugin or none (test_cli_guards), plugins that run (test_cli_bring_up) and files of
 * other systems (test_import), and files that others put there
 * (test_hostile_trust), secrets (test_secrets), and providers of models
 * (test_models), discovery plugins (test_cli_discovery), deployments without a
 * memory (test_cli_remember), and diffs of graphs that run (test_cli_steer). */
START_TEST(every_code_has_a_fixture)
{
    for_each("bad", add_golden);
    for (size_t i = 0; i < mortise_n_codes; i++) {
        const char *code = mortise_codes[i].code;
        char mark[16];

        if (strcmp(code, "E0101") == 0 || strcmp(code, "E0102") == 0 ||
            strcmp(code, "E0450") == 0 || strcmp(code, "E0511") == 0 ||
            strcmp(code, "E0517") == 0 || strcmp(code, "E0518") == 0 ||
            strcmp(code, "E0607") == 0 || strcmp(code, "E0608") == 0 ||
            strcmp(code, "W0216") == 0 || strcmp(code, "W0808") == 0 ||
            strcmp(code, "W0820") == 0 || strcmp(code, "W0821") == 0 ||
            strcmp(code, "W0822") == 0 || strcmp(code, "W0823") == 0 ||
            strcmp(code, "W0824") == 0 || strcmp(code, "W0825") == 0 ||
            strcmp(code, "W0828") == 0 || strncmp(code, "E07", 3) == 0 ||
            strncmp(code, "E09", 3) == 0 || strncmp(code, "W09", 3) == 0 ||
            strncmp(code + 1, "10", 2) == 0 || strncmp(code, "E11", 3) == 0)
            continue;
        snprintf(mark, sizeof mark, "[%s]: ", code);
        ck_assert_msg(strstr(all_golden, mark) != NULL, "no fixture for %s",
                      code);
    }
    free(all_golden);
}
END_TEST

static unsigned codes_seen;

/* Each "E0123" or "W0123" in a C file has an explanation. */
static int check_codes_in(const char *path, const struct stat *st, int flag,
                          struct FTW *ftw)
{
    char *text, code[6];

    (void)st;
    (void)ftw;
    if (flag != FTW_F || !ends_with(path, ".c"))
        return 0;
    text = test_read(path, NULL);
    for (const char *p = text; (p = strchr(p, '"')) != NULL; p++) {
        if ((p[1] != 'E' && p[1] != 'W') || p[2] != '0' || p[6] != '"' ||
            strspn(p + 2, "0123456789") != 4)
            continue;
        memcpy(code, p + 1, 5);
        code[5] = '\0';
        codes_seen++;
        ck_assert_msg(mortise_code(code) != NULL, "%s: %s is in no table", path,
                      code);
    }
    free(text);
    return 0;
}

/* No source reports a code that codes.c does not explain. */
START_TEST(every_code_is_explained)
{
    static const char *const trees[] = {"core",   "lang", "services",
                                        "server", "cli",  "testkit",
                                        "tools"};
    const char *top = getenv("MORTISE_TOP");

    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", top != NULL ? top : ".", trees[i]);
        ck_assert_int_eq(nftw(path, check_codes_in, 16, FTW_PHYS), 0);
    }
    ck_assert_uint_gt(codes_seen, 200);
}
END_TEST

/* ---- the compiled graph ---------------------------------------------- */

#define HEAD "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: t}\n"

#define DO "type: tool, tool: pay/refund"

static void digest_of(char hex[MORTISE_DIGEST_HEX], const char *text)
{
    good(text);
    mortise_hex_encode(hex, graph->digest, MORTISE_DIGEST);
    mortise_graph_unref(graph);
    graph = NULL;
}

static const struct mortise_node *node(const char *id)
{
    const struct mortise_node *n = mortise_graph_find_node(graph, id);

    ck_assert_msg(n != NULL, "no node %s", id);
    return n;
}

static void load_good_file(const char *name)
{
    size_t n;
    char *text = read_file("good", name, &n);

    ck_assert_int_eq(load_n(name, text, n), MORTISE_OK);
    ck_assert_uint_eq(graph->sources[0].size, n);
    ck_assert_mem_eq(graph->sources[0].text, text, n);
    free(text);
}

/* All that a file says stands in the graph. */
START_TEST(every_key_arrives)
{
    const struct mortise_human *human;
    const struct mortise_node *n;

    load_good_file("all-keys.yaml");
    ck_assert_str_eq(graph->name, "all-keys");
    ck_assert_str_eq(graph->version, "1.2.3");
    ck_assert(graph->approve_tools);
    ck_assert_uint_eq(graph->concurrency, 4);
    ck_assert_uint_eq(graph->expr_cost, 10000);
    ck_assert_ptr_nonnull(graph->input);
    ck_assert_ptr_nonnull(graph->scratch);
    ck_assert_ptr_nonnull(graph->artifacts);
    ck_assert_uint_eq(graph->n_reducers, 2);
    ck_assert_uint_eq(graph->n_nodes, 10);
    ck_assert_uint_eq(graph->n_start, 3);

    n = node("read");
    ck_assert_uint_eq(n->index, 0);
    ck_assert_int_eq(n->type, MORTISE_NODE_EXTENSION);
    ck_assert_str_eq(n->plugin, "file");
    ck_assert_str_eq(n->operation, "read");
    ck_assert_str_eq(n->op->name, "read");
    ck_assert_int_eq(n->effect, MORTISE_READ);
    ck_assert_uint_eq(n->timeout_ms, 30000);
    ck_assert_uint_eq(n->retry.max_attempts, 2);
    ck_assert_uint_eq(n->retry.n_retry_on, 2);
    ck_assert_ptr_nonnull(n->input_schema);
    ck_assert_ptr_nonnull(n->output_schema);
    ck_assert_str_eq(n->output_as, "file");
    ck_assert_uint_eq(n->n_outputs, 2);
    ck_assert_str_eq(n->outputs[0].path.text, "scratch.text");
    ck_assert(n->interrupt_after && !n->interrupt_before);

    n = node("count");
    ck_assert_int_eq(n->effect, MORTISE_READ); /* the default is stricter */
    ck_assert_ptr_null(n->output_as);
    ck_assert(n->on_error_value);

    ck_assert_uint_eq(n->guards[MORTISE_GUARD_INPUT].n, 1);
    ck_assert_uint_eq(n->guards[MORTISE_GUARD_OUTPUT].n, 2);
    ck_assert_str_eq(n->guards[MORTISE_GUARD_OUTPUT].ids[0], "pattern");
    ck_assert_int_eq(n->on_violation, MORTISE_VIOLATION_REROUTE);

    n = node("mask");
    ck_assert_int_eq(n->effect, MORTISE_READ);
    ck_assert_uint_eq(n->timeout_ms, 2000);
    ck_assert_uint_eq(n->guards[MORTISE_GUARD_TARGET].n, 2);
    ck_assert_int_eq(n->on_violation, MORTISE_VIOLATION_SANITIZE);
    ck_assert(n->has_target && n->target_is_path);
    ck_assert_str_eq(n->target_path.text, "scratch.text");
    n = node("check");
    ck_assert(!n->has_target && n->target_is_path);
    ck_assert_str_eq(n->target_path.text, "scratch");
    ck_assert_uint_eq(n->timeout_ms, 30000);

    n = node("by-name");
    ck_assert(n->by_condition);
    ck_assert_int_eq(n->effect, MORTISE_PURE);
    ck_assert_ptr_null(n->output_as);
    ck_assert_uint_eq(n->timeout_ms, 0);

    n = node("ask");
    human = n->own;
    ck_assert_uint_eq(human->wait_ms, 48u * 3600 * 1000);
    ck_assert_int_eq(human->on_timeout, MORTISE_TIMEOUT_GOTO);
    ck_assert_uint_eq(human->n_assignees, 2);
    ck_assert_str_eq(human->assignees[1], "bob");
    ck_assert_ptr_nonnull(human->answer_schema);
    ck_assert_ptr_nonnull(human->prompt);
    ck_assert_str_eq(n->output_as, "ask");
    human = node("give-up")->own;
    ck_assert_int_eq(human->on_timeout, MORTISE_TIMEOUT_REJECT);

    n = node("pay");
    ck_assert_int_eq(n->effect, MORTISE_EXTERNAL);
    ck_assert_int_eq(n->on_in_doubt, MORTISE_DOUBT_ASK);
    ck_assert_uint_eq(n->timeout_ms, 60000);
    ck_assert_uint_eq(n->retry.max_attempts, 4);
    ck_assert_int_eq(n->retry.backoff, MORTISE_BACKOFF_FIXED);
    ck_assert_uint_eq(n->retry.delay_ms, 500);
    ck_assert_uint_eq(n->retry.max_delay_ms, 2000);
    ck_assert(n->retry.jitter == 0);
    ck_assert_uint_eq(n->retry.n_retry_on, 1);
    ck_assert_str_eq(n->retry.retry_on[0], "transient");
    ck_assert(n->interrupt_before);
    ck_assert_uint_eq(node("write")->timeout_ms, 5000); /* the operation's */

    ck_assert_uint_eq(graph->n_plugins, 5);
    ck_assert_str_eq(graph->plugins[0], "file");
    ck_assert_str_eq(graph->plugins[1], "guardrail:pattern");
    ck_assert_str_eq(graph->plugins[4], "text");
    ck_assert_ptr_null(mortise_graph_find_node(graph, "nobody"));
    ck_assert_ptr_null(mortise_graph_find_node(graph, "START"));
}
END_TEST

static int branch_error(const char *id)
{
    return (int)node(id)->join.on_branch_error;
}

/* So do the keys of joins, loops and maps. */
START_TEST(every_structure_arrives)
{
    const struct mortise_region *r;

    load_good_file("joins.yaml");
    ck_assert(graph->fail_fast && graph->end_first);
    ck_assert_int_eq(node("first")->join.kind, MORTISE_JOIN_ANY);
    ck_assert(!node("first")->join.finish);
    ck_assert_int_eq(node("two")->join.kind, MORTISE_JOIN_QUORUM);
    ck_assert_uint_eq(node("two")->join.quorum, 2);
    ck_assert(node("two")->join.finish);
    ck_assert_int_eq(node("best")->join.kind, MORTISE_JOIN_ALL);
    ck_assert_int_eq(branch_error("best"), MORTISE_BRANCH_DROP);
    ck_assert_int_eq(node("told")->join.kind, MORTISE_JOIN_ALL);
    ck_assert_int_eq(branch_error("told"), MORTISE_BRANCH_COLLECT);
    ck_assert_int_eq(branch_error("first"), MORTISE_BRANCH_DROP);
    ck_assert_int_eq(branch_error("two"), MORTISE_BRANCH_DROP);
    mortise_graph_unref(graph);

    load_good_file("loops.yaml");
    ck_assert(!graph->fail_fast && !graph->end_first);
    ck_assert_uint_eq(graph->limits.steps, 100);
    ck_assert_uint_eq(graph->limits.visits, 10);
    ck_assert_uint_eq(node("search")->max_visits, 3);
    ck_assert_uint_eq(node("judge")->max_visits, 10);
    mortise_graph_unref(graph);

    load_good_file("maps.yaml");
    r = &graph->regions[1];
    ck_assert_int_eq(r->kind, MORTISE_REGION_MAP);
    ck_assert_str_eq(r->as, "file");
    ck_assert_uint_eq(r->max_parallel, 4);
    ck_assert_uint_eq(r->level, 0);
    ck_assert_uint_eq(r->join, node("report")->index);
    ck_assert(mortise_edge_is_map(&graph->edges[r->map_edge]));
    ck_assert_uint_eq(graph->edges[r->map_edge].map, 1);
    ck_assert_ptr_nonnull(r->over.cel);
    ck_assert_str_eq(graph->regions[2].as, "item");
    ck_assert_uint_eq(graph->regions[2].max_parallel, 16);
    ck_assert_uint_eq(graph->regions[3].level, 1);
}
END_TEST

/* And those of a graph in a graph, and of reducers. */
START_TEST(every_inner_key_arrives)
{
    const struct mortise_node *n;
    const struct mortise_graph *sub;

    load_good_file("inner.yaml");
    ck_assert_uint_eq(graph->limits.state, 1u << 20);
    ck_assert_uint_eq(graph->limits.timeout_ms, 3600u * 1000);
    n = node("review");
    sub = n->sub;
    ck_assert_int_eq(n->type, MORTISE_NODE_SUBGRAPH);
    ck_assert_int_eq(n->effect, MORTISE_PURE);
    ck_assert_uint_eq(n->timeout_ms, 60000);
    ck_assert_uint_eq(n->retry.max_attempts, 2);
    ck_assert_uint_eq(n->n_input_mapping, 2);
    ck_assert_str_eq(n->input_mapping[1].path.text, "input.about.name");
    ck_assert_uint_eq(n->n_output_mapping, 2);
    ck_assert_str_eq(n->output_mapping[0].path.text, "scratch.text");
    ck_assert_str_eq(n->output_as, "review");
    ck_assert(graph->approve_tools && sub->approve_tools);
    ck_assert(sub->fail_fast && !graph->fail_fast);
    ck_assert(sub->end_first && !graph->end_first);
    ck_assert_uint_eq(sub->n_nodes, 2);
    ck_assert_uint_eq(sub->n_regions, 2);
    ck_assert_uint_eq(sub->limits.visits, 5);
    ck_assert_uint_eq(mortise_graph_find_node(sub, "draft")->max_visits, 5);
    ck_assert(mortise_graph_find_node(sub, "draft")->interrupt_before);
    ck_assert_ptr_null(mortise_graph_find_node(sub, "review"));
    ck_assert_ptr_nonnull(mortise_graph_find_node(
        mortise_graph_find_node(sub, "look")->sub, "only"));
    ck_assert_uint_eq(graph->n_plugins, 3); /* of all graphs */

    ck_assert_uint_eq(graph->n_reducers, 4);
    ck_assert_int_eq(graph->reducers[0].reduce, MORTISE_REDUCE_EXPR);
    ck_assert_ptr_nonnull(graph->reducers[0].expr.cel);
    ck_assert_int_eq(graph->reducers[1].reduce, MORTISE_REDUCE_CONCAT);
    ck_assert_uint_eq(graph->reducers[1].max_items, 20);
    ck_assert(graph->reducers[1].drop_oldest);
    ck_assert_int_eq(graph->reducers[2].reduce, MORTISE_REDUCE_AVG);
    ck_assert_uint_eq(graph->reducers[3].max_items, 30);
    ck_assert(!graph->reducers[3].drop_oldest);
}
END_TEST

/* Data under x- keys in args counts for the digest in inner graphs, too. */
START_TEST(digests_look_inside)
{
    static const char *const inner[] = {"", ", args: {x-a: 1}",
                                        ", args: {x-a: 2}"};
    char seen[3][MORTISE_DIGEST_HEX], text[512];

    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text,
                 HEAD "start: a\nnodes:\n  a: {type: subgraph, graph: {start: "
                      "b, nodes: {b: {" DO "%s}}}}\n",
                 inner[i]);
        digest_of(seen[i], text);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(seen[k], seen[i]);
    }
}
END_TEST

/* What nobody says has its documented default. */
START_TEST(defaults_are_as_documented)
{
    const struct mortise_node *n;

    load_good_file("minimal.yaml");
    n = node("a");
    ck_assert_str_eq(graph->version, "");
    ck_assert(!graph->approve_tools);
    ck_assert_uint_eq(graph->concurrency, 8);
    ck_assert_uint_eq(graph->expr_cost, 1000000);
    ck_assert_int_eq(n->effect, MORTISE_PURE);
    ck_assert_int_eq(n->on_in_doubt, MORTISE_DOUBT_DEFAULT);
    ck_assert_uint_eq(n->timeout_ms, 0);
    ck_assert_uint_eq(n->retry.max_attempts, 1);
    ck_assert_int_eq(n->retry.backoff, MORTISE_BACKOFF_EXPONENTIAL);
    ck_assert_uint_eq(n->retry.delay_ms, 1000);
    ck_assert_uint_eq(n->retry.max_delay_ms, 30000);
    ck_assert(n->retry.jitter == 0.1);
    ck_assert_str_eq(n->retry.retry_on[0], "transient");
    ck_assert_str_eq(n->retry.retry_on[1], "timeout");
    ck_assert_str_eq(n->output_as, "a");
    ck_assert_int_eq(n->join.kind, MORTISE_JOIN_ALL);
    ck_assert_int_eq(branch_error("a"), MORTISE_BRANCH_FAIL);
    ck_assert_uint_eq(n->max_visits, 32);
    ck_assert_uint_eq(graph->limits.steps, 256);
    ck_assert(!graph->fail_fast && !graph->end_first);
}
END_TEST

/* What a file says for nodes that say nothing holds in the graphs written in
 * it as well, key by key. */
START_TEST(defaults_reach_inner_graphs)
{
    const struct mortise_node *plain, *own;

    good(HEAD
         "defaults: {timeout: 2s, retry_policy: {max_attempts: 3},"
         " effect_class: external}\n"
         "start: s\nnodes:\n"
         "  s:\n    type: subgraph\n    graph:\n"
         "      defaults: {timeout: 5s}\n"
         "      start: a\n      nodes:\n"
         "        a: {type: tool, tool: text/lines, args: {text: x}, next: t}\n"
         "        t:\n          type: subgraph\n"
         "          graph: {start: b, nodes: {b: {type: tool,"
         " tool: text/lines, args: {text: x}, timeout: 1s, retry_policy:"
         " {max_attempts: 2}}}}\n");
    plain = &node("s")->sub->nodes[0];
    own = &node("s")->sub->nodes[1].sub->nodes[0];
    ck_assert_uint_eq(plain->timeout_ms, 5000);
    ck_assert_uint_eq(plain->retry.max_attempts, 3);
    ck_assert_int_eq(plain->effect, MORTISE_EXTERNAL);
    ck_assert_uint_eq(own->timeout_ms, 1000);
    ck_assert_uint_eq(own->retry.max_attempts, 2);
    ck_assert_int_eq(own->effect, MORTISE_EXTERNAL);
}
END_TEST

static void edge(uint32_t i, const char *from, const char *to,
                 enum mortise_edge_kind kind, bool when)
{
    const struct mortise_edge *e = &graph->edges[i];

    ck_assert_str_eq(from, e->from == MORTISE_START ? "START"
                                                    : graph->nodes[e->from].id);
    ck_assert_str_eq(to, e->to == MORTISE_END ? "END" : graph->nodes[e->to].id);
    ck_assert_int_eq(e->kind, kind);
    ck_assert_int_eq(e->when.cel != NULL, when);
    ck_assert_uint_gt(e->span.line, 0);
}

/* Edges stand in the order of the file, whoever declared them, and nodes know
 * theirs. */
START_TEST(edges_are_linked)
{
    const struct mortise_node *n;

    good(HEAD "start: [a, b]\n"
              "nodes:\n"
              "  a: {type: tool, tool: pay/refund, next: [b, END]}\n"
              "  b:\n"
              "    type: human\n"
              "    prompt: x\n"
              "    wait: 1s\n"
              "    on_timeout: {goto: c}\n"
              "    routes: {all: [{when: output.approved, to: c}]}\n"
              "    default: END\n"
              "    on_error: {goto: d}\n"
              "  c: {type: guardrail, guardrails: [pii], depends_on: [a],"
              " on_violation: reroute, reroute_target: d}\n"
              "  d: {type: router, routes: [{when: input.x, to: e}, "
              "{when: input.y, to: END}], default: f}\n"
              "  e: {type: tool, tool: pay/refund}\n"
              "  f: {type: router, condition: input.z, targets: [e, END]}\n"
              "edges:\n"
              "  - {from: START, to: e, when: input.now}\n"
              "  - {from: e, to: END, when: output > 1, guardrail_policy:\n"
              "     {input: [pii, pattern], on_violation: reroute,\n"
              "      reroute_target: END}}\n");
    ck_assert_uint_eq(graph->n_edges, 18);
    edge(0, "a", "b", MORTISE_EDGE_STATIC, false);
    edge(1, "a", "END", MORTISE_EDGE_STATIC, false);
    edge(2, "b", "c", MORTISE_EDGE_TIMEOUT, false);
    edge(3, "b", "d", MORTISE_EDGE_ERROR, false);
    edge(4, "b", "c", MORTISE_EDGE_ROUTE_ALL, true);
    edge(5, "b", "END", MORTISE_EDGE_DEFAULT, false);
    edge(6, "c", "d", MORTISE_EDGE_REROUTE, false);
    edge(7, "a", "c", MORTISE_EDGE_STATIC, false);
    edge(8, "d", "e", MORTISE_EDGE_ROUTE, true);
    edge(9, "d", "END", MORTISE_EDGE_ROUTE, true);
    edge(10, "d", "f", MORTISE_EDGE_DEFAULT, false);
    edge(11, "f", "e", MORTISE_EDGE_TARGET, false);
    edge(12, "f", "END", MORTISE_EDGE_TARGET, false);
    edge(13, "START", "e", MORTISE_EDGE_WHEN, true);
    edge(14, "e", "END", MORTISE_EDGE_WHEN, true);
    edge(15, "e", "END", MORTISE_EDGE_DETOUR, false);
    edge(16, "START", "a", MORTISE_EDGE_STATIC, false);
    edge(17, "START", "b", MORTISE_EDGE_STATIC, false);
    ck_assert_uint_eq(graph->edges[14].policy->guards.n, 2);
    ck_assert_uint_eq(graph->edges[14].policy->first, 14);
    ck_assert_uint_eq(graph->edges[14].policy->end, 15);
    ck_assert(mortise_node_is_guarded(node("e"), "pattern"));
    ck_assert(!mortise_node_is_guarded(node("b"), "pattern"));
    ck_assert_uint_eq(graph->n_start, 3);
    ck_assert_uint_eq(graph->start[0], 13);
    n = node("b");
    ck_assert_uint_eq(n->n_out, 4);
    ck_assert_uint_eq(n->out[3], 5);
    ck_assert_uint_eq(n->n_in, 2);
    ck_assert_uint_eq(n->in[1], 17);
    ck_assert_uint_eq(node("e")->n_in, 3);
    ck_assert_uint_eq(node("a")->n_in, 1);
}
END_TEST

/* The reducer of exactly this path, however it is spelled. */
START_TEST(reducers_are_found)
{
    struct mortise_path path;
    struct mortise_arena a;
    static const struct {
        const char *path;
        enum mortise_reduce reduce;
    } want[] = {
        {"scratch.a", MORTISE_REDUCE_LAST},
        {"scratch[\"b\"]", MORTISE_REDUCE_FIRST},
        {"artifacts.x.y", MORTISE_REDUCE_LONGEST},
        {"artifacts.x", MORTISE_REDUCE_DEFAULT},
        {"scratch.zz", MORTISE_REDUCE_DEFAULT},
        {"scratch.m", MORTISE_REDUCE_MERGE},
    };

    good(HEAD "state: {reducers: {scratch.m: merge, scratch.a: last, "
              "scratch.b: first, artifacts.x.y: longest}}\n"
              "start: a\nnodes:\n  a: {type: tool, tool: pay/refund}\n");
    mortise_arena_init(&a, &test_mem);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ck_assert_int_eq(mortise_path_parse(&path, &a, want[i].path,
                                            strlen(want[i].path), NULL),
                         MORTISE_OK);
        ck_assert_int_eq(mortise_graph_get_reduce(graph, &path),
                         want[i].reduce);
    }
    mortise_arena_finish(&a);
}
END_TEST

/* Held twice, it dies at the second release. */
START_TEST(graphs_are_counted)
{
    load_good_file("minimal.yaml");
    ck_assert_ptr_eq(mortise_graph_ref(graph), graph);
    mortise_graph_unref(graph);
    ck_assert_str_eq(node("a")->id, "a");
}
END_TEST

/* ---- big graphs ------------------------------------------------------- */

static char *big; /* a graph being written */
static size_t big_n;

static void start_big(const char *head)
{
    big = malloc(64 << 20);
    big_n = (size_t)sprintf(big, HEAD "%s", head);
}

static uint64_t load_big(int want)
{
    uint64_t before = mortise_mono_ns();
    int rv = load_n("big", big, big_n);
    uint64_t ms = (mortise_mono_ns() - before) / 1000000;

    ck_assert_int_eq(rv, want);
    free(big);
    return ms;
}

/* ---- regions --------------------------------------------------------- */

static void put_end(char *text, uint32_t node)
{
    strcat(text, node == MORTISE_START ? "START"
                 : node == MORTISE_END ? "END"
                                       : graph->nodes[node].id);
}

static void put_edges(char *text, const char *what, const uint32_t *list,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct mortise_edge *e = &graph->edges[list[i]];

        strcat(text, i == 0 ? what : ",");
        put_end(text, e->from);
        strcat(text, e->kind == MORTISE_EDGE_GATHER ? "=>"
                     : mortise_edge_is_map(e)       ? "->>"
                     : e->yields                    ? "~>"
                                                    : ">");
        put_end(text, e->to);
    }
}

/* "graph a b (1 2); loop b: b c back c>b ...", and what must hold anyway. */
static const char *regions(void)
{
    static const char *const kinds[] = {"", "graph", "loop", "map"};
    static char text[4096];

    text[0] = '\0';
    for (uint32_t i = 0; i < graph->n_regions; i++) {
        const struct mortise_region *r = &graph->regions[i];

        ck_assert_uint_eq(r->index, i);
        ck_assert(i == 0 || r->parent < i);
        sprintf(text + strlen(text), "%s%s", i > 0 ? "; " : "", kinds[r->kind]);
        for (uint32_t k = 0; k < r->n_nodes; k++) {
            ck_assert_uint_eq(graph->nodes[r->nodes[k]].region, i);
            ck_assert_uint_eq(graph->nodes[r->nodes[k]].slot, k);
            sprintf(text + strlen(text), " %s", graph->nodes[r->nodes[k]].id);
        }
        for (uint32_t k = 0; k < r->n_regions; k++) {
            ck_assert_uint_eq(graph->regions[r->regions[k]].parent, i);
            sprintf(text + strlen(text), " (%s)",
                    graph->nodes[graph->regions[r->regions[k]].entry].id);
        }
        for (uint32_t k = 0; k < r->n_edges; k++) {
            ck_assert_uint_eq(graph->edges[r->edges[k]].home, i);
            ck_assert_uint_eq(graph->edges[r->edges[k]].slot, k);
        }
        put_edges(text, ": ", r->edges, r->n_edges);
        put_edges(text, " back ", r->back, r->n_back);
        put_edges(text, " exits ", r->exits, r->n_exits);
    }
    return text;
}

static const struct {
    const char *graph, *regions;
} nested[] = {
    {"start: a\nnodes:\n  a: {" DO ", next: [b, END]}\n  b: {" DO "}\n",
     "graph a b: a>b,a>END,START>a"},
    /* a loop of one node, and edges to END in a loop */
    {"start: a\nnodes:\n"
     "  a: {" DO ", routes: [{when: output.x, to: a}], default: END}\n",
     "graph (a): START>a; loop a: a>a,a>END back a>a"},
    /* search, evaluate, done */
    {"start: search\nnodes:\n"
     "  search: {" DO ", next: judge}\n"
     "  judge: {" DO ", routes: [{when: output.x, to: search}], default: tell}"
     "\n  tell: {" DO "}\n",
     "graph tell (search): judge>tell,START>search; "
     "loop search judge: search>judge,judge>search back judge>search "
     "exits judge>tell"},
    /* a loop in a loop, which both are left by one edge; two back edges */
    {"start: a\nnodes:\n"
     "  a: {" DO ", next: b}\n"
     "  b: {" DO ", next: c}\n"
     "  c: {" DO ", routes: [{when: output.x, to: b}, {when: output.y, to: a}],"
     " default: d, on_error: {goto: e}}\n"
     "  d: {" DO ", routes: [{when: output.x, to: a}], default: e}\n"
     "  e: {" DO "}\n",
     "graph e (a): c>e,d>e,START>a; "
     "loop a d (b): a>b,c>a,c>d,d>a back c>a,d>a exits c>e,d>e; "
     "loop b c: b>c,c>b back c>b exits c>e,c>a,c>d"},
    /* a map, whose join follows once */
    {"start: s\nnodes:\n"
     "  s: {" DO ", map: {over: output, to: w, join: j}, next: x}\n"
     "  w: {" DO ", next: v}\n"
     "  v: {" DO ", routes: [{when: item.x, to: j}], default: END}\n"
     "  j: {" DO "}\n"
     "  x: {" DO ", next: j}\n",
     "graph s j x (w): s>x,s->>w,x>j,START>s,w=>j; "
     "map w v: w>v,v~>j,v>END exits w=>j"},
    /* maps one in the other, behind each other, with one join */
    {"start: s\nnodes:\n"
     "  s: {" DO ", map: {over: output, to: w, join: j}}\n"
     "  w: {" DO ", map: {over: item, as: part, to: v, join: k}}\n"
     "  v: {" DO ", next: k}\n"
     "  k: {" DO ", next: j}\n"
     "  j: {" DO ", map: {over: output, to: x, join: z}}\n"
     "  x: {" DO ", next: z}\n"
     "  y: {" DO ", next: z}\n"
     "  z: {" DO "}\n"
     "edges: [{from: j, map: {over: output, as: y, to: y, join: z}}]\n",
     "graph s j z (w) (x) (y): s->>w,j->>x,j->>y,START>s,w=>j,x=>z,y=>z; "
     "map w k (v): w->>v,k~>j,v=>k exits w=>j; "
     "map x: x~>z exits x=>z; map y: y~>z exits y=>z; "
     "map v: v~>k exits v=>k"},
    {"start: s\nnodes:\n"
     "  s: {" DO ", map: {over: output, to: w, join: j}}\n"
     "  w: {" DO ", map: {over: item, as: part, to: v, join: k}}\n"
     "  v: {" DO ", next: k}\n"
     "  k: {" DO ", next: j}\n"
     "  j: {" DO "}\n",
     "graph s j (w): s->>w,START>s,w=>j; "
     "map w k (v): w->>v,k~>j,v=>k exits w=>j; map v: v~>k exits v=>k"},
    /* a loop in a map that begins with it, and a map in a loop */
    {"start: s\nnodes:\n"
     "  s: {" DO ", map: {over: output, to: w, join: j}}\n"
     "  w: {" DO ", next: v}\n"
     "  v: {" DO ", routes: [{when: item.x, to: w}], default: j}\n"
     "  j: {" DO ", routes: [{when: output.x, to: s}], default: END}\n",
     "graph (s): START>s; "
     "loop s j (w): s->>w,j>s,j>END,w=>j back j>s; "
     "map (w): v~>j exits w=>j; "
     "loop w v: w>v,v>w back v>w exits v~>j"},
    /* a map that a loop leaves by */
    {"start: a\nnodes:\n"
     "  a: {" DO ", routes: [{when: output.x, to: a}],"
     " map: {over: output, to: w, join: j}}\n"
     "  w: {" DO ", next: j}\n"
     "  j: {" DO "}\n",
     "graph j (a) (w): a->>w,START>a,w=>j; loop a: a>a back a>a exits a->>w; "
     "map w: w~>j exits w=>j"},
    /* two ways into a loop, both to its entry */
    {"start: [a, b]\nnodes:\n"
     "  a: {" DO ", next: b}\n"
     "  b: {" DO ", next: c}\n"
     "  c: {" DO ", on_error: {goto: b}}\n",
     "graph a (b): a>b,START>a,START>b; loop b c: b>c,c>b back c>b"},
};

/* Loops and maps are found, nested, and have the edges that are theirs. */
START_TEST(regions_are_found)
{
    char text[2048];

    snprintf(text, sizeof text, HEAD "%s", nested[_i].graph);
    good(text);
    ck_assert_str_eq(regions(), nested[_i].regions);
}
END_TEST

/* What a join counts: no back edges, and a map once. */
START_TEST(joins_count_what_comes_from_outside)
{
    const struct mortise_node *n;

    good(HEAD "start: [a, x]\nnodes:\n"
              "  a: {" DO ", map: {over: output, to: w, join: j}}\n"
              "  w: {" DO ", next: [j, v]}\n"
              "  v: {" DO ", next: j}\n"
              "  x: {" DO ", next: j}\n"
              "  j: {" DO ", next: k}\n"
              "  k: {" DO ", routes: [{when: output.x, to: j}],"
              " default: END}\n");
    n = node("j");
    ck_assert_uint_eq(n->n_in, 2);
    ck_assert_uint_eq(n->n_back_in, 1);
    ck_assert_int_eq(graph->edges[n->in[1]].kind, MORTISE_EDGE_GATHER);
    ck_assert(graph->edges[n->in[2]].back);
    ck_assert_uint_eq(node("w")->n_in, 1);
    ck_assert_uint_eq(node("w")->n_out, 2);
    ck_assert_str_eq(node("w")->output_as, "w"); /* the element's own */
    ck_assert_str_eq(node("x")->output_as, "x");
}
END_TEST

/* ---- random graphs --------------------------------------------------- */

enum { SOME = 7 };

static uint32_t seed;

/* xorshift: the same in every run. */
static uint32_t rnd(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

/* Can all nodes be merged into the first by taking away edges from a node to
 * itself, and giving a node with one predecessor to that (Hecht and Ullman)?
 * Then, and only then, every loop has one entry. */
static bool is_reducible(bool edge[SOME][SOME])
{
    bool gone[SOME] = {false};

    for (int left = SOME; left > 1; left--) {
        int v, from = -1;

        for (v = 1; v < SOME; v++) {
            int n = 0;

            for (int u = 0; u < SOME; u++)
                if (!gone[u] && u != v && edge[u][v]) {
                    from = u;
                    n++;
                }
            if (!gone[v] && n == 1)
                break;
        }
        if (v == SOME)
            return false;
        for (int w = 0; w < SOME; w++)
            edge[from][w] |= edge[v][w];
        gone[v] = true;
    }
    return true;
}

static bool are_inside(const struct mortise_region *r, uint32_t node)
{
    if (node == MORTISE_START || node == MORTISE_END)
        return false;
    for (uint32_t at = graph->nodes[node].region;;
         at = graph->regions[at].parent) {
        if (at == r->index)
            return true;
        if (at == 0)
            return false;
    }
}

/* From each node of the region to each other, without leaving it. */
static bool is_connected(const struct mortise_region *r)
{
    bool way[SOME][SOME] = {{false}};

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct mortise_edge *e = &graph->edges[i];

        if (are_inside(r, e->from) && are_inside(r, e->to))
            way[e->from][e->to] = true;
    }
    for (int k = 0; k < SOME; k++)
        for (int i = 0; i < SOME; i++)
            for (int j = 0; j < SOME; j++)
                way[i][j] |= way[i][k] && way[k][j];
    for (uint32_t i = 0; i < SOME; i++)
        for (uint32_t j = 0; j < SOME; j++)
            if (are_inside(r, i) && are_inside(r, j) && !way[i][j])
                return false;
    return true;
}

/* What core/model/regions.c promises of a loop. */
static void check_loop(const struct mortise_region *r)
{
    ck_assert_int_eq(r->kind, MORTISE_REGION_LOOP);
    ck_assert_uint_eq(graph->nodes[r->entry].region, r->index);
    ck_assert(is_connected(r));
    ck_assert_uint_gt(r->n_back, 0);
    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct mortise_edge *e = &graph->edges[i];
        bool from = are_inside(r, e->from);

        if (are_inside(r, e->to) && !from)
            ck_assert_uint_eq(e->to, r->entry);
        if (from && e->to == r->entry)
            ck_assert(e->back && e->home == r->index);
    }
}

/* Without back edges nothing goes round: n nodes are a way's most. */
static void check_acyclic(void)
{
    uint32_t length[SOME] = {0};

    for (int round = 0; round <= SOME; round++)
        for (uint32_t i = 0; i < graph->n_edges; i++) {
            const struct mortise_edge *e = &graph->edges[i];

            if (e->from != MORTISE_START && e->to != MORTISE_END && !e->back &&
                length[e->to] <= length[e->from])
                length[e->to] = length[e->from] + 1;
        }
    for (int i = 0; i < SOME; i++)
        ck_assert_uint_lt(length[i], SOME);
}

static size_t put_random(char *text, bool edge[SOME][SOME])
{
    size_t n = (size_t)sprintf(text, HEAD "start: n0\nnodes:\n");

    for (uint32_t i = 0; i < SOME; i++) {
        n += (size_t)sprintf(text + n, "  n%u: {" DO ", next: [", i);
        for (uint32_t k = 0; k < SOME; k++) {
            /* a chain, so that all are reached, and what chance adds */
            edge[i][k] = k == i + 1 || rnd(7) == 0;
            if (edge[i][k])
                n += (size_t)sprintf(text + n, "n%u, ", k);
        }
        n += (size_t)sprintf(text + n, "%s]}\n", i == SOME - 1 ? "END" : "");
    }
    return n;
}

/* A loop with two entries is refused, and nothing else is; what loads has
 * loops as core/model/regions.c promises. */
START_TEST(random_loops_are_structured)
{
    int loaded = 0, refused = 0;

    seed = 20240229;
    for (int i = 0; i < 3000; i++) {
        bool edge[SOME][SOME];
        char text[2048];
        int rv = load_n("t", text, put_random(text, edge));

        if (is_reducible(edge)) {
            ck_assert_msg(rv == MORTISE_OK, "%s%s", text, found());
            for (uint32_t k = 1; k < graph->n_regions; k++)
                check_loop(&graph->regions[k]);
            check_acyclic();
            loaded++;
        } else {
            ck_assert_msg(rv == MORTISE_ECHECK, "%s", text);
            ck_assert_str_eq(diags.list[0].code, "E0305");
            refused++;
        }
        mortise_graph_unref(graph);
        graph = NULL;
        mortise_diags_finish(&diags);
    }
    ck_assert_int_gt(loaded, 500);
    ck_assert_int_gt(refused, 500);
}
END_TEST

/* ---- postdominators ------------------------------------------------------ */

/* Does a way from this node, by nodes that are not in `but`, end in the region
 * r without having come by there?  Brute force. */
static bool escapes(const struct mortise_region *r, uint32_t from,
                    const bool but[SOME], bool seen[SOME])
{
    const struct mortise_node *n = &graph->nodes[from];

    if (but[from] || seen[from])
        return false;
    seen[from] = true;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct mortise_edge *e = &graph->edges[n->out[i]];

        if (e->to == MORTISE_END || !are_inside(r, e->to) ||
            (r->kind == MORTISE_REGION_LOOP && e->to == r->entry) ||
            escapes(r, e->to, but, seen))
            return true;
    }
    return n->n_out == 0;
}

/* The nodes of an item, its first one, and its postdominators. */
static struct mortise_postdom item(const struct mortise_region *r, uint32_t i,
                                   bool in[SOME], uint32_t *entry)
{
    const struct mortise_region *child;

    memset(in, 0, SOME);
    if (i < r->n_nodes) {
        *entry = r->nodes[i];
        in[*entry] = true;
        return graph->nodes[*entry].postdom;
    }
    child = &graph->regions[r->regions[i - r->n_nodes]];
    *entry = child->entry;
    for (uint32_t k = 0; k < SOME; k++)
        in[k] = are_inside(child, k);
    return child->postdom;
}

static void check_fates(const struct mortise_region *r)
{
    uint32_t items = r->n_nodes + r->n_regions, a, b;
    bool in[SOME], ignored[SOME];

    for (uint32_t i = 0; i < items; i++)
        for (uint32_t k = 0; k < items; k++) {
            struct mortise_postdom to = item(r, i, in, &a),
                                   from = item(r, k, ignored, &b);
            bool seen[SOME] = {false};

            ck_assert_int_eq(mortise_postdom_must_pass(from, to),
                             !escapes(r, b, in, seen));
        }
}

/* In random graphs with loops, what always leads where is what brute force
 * says. */
START_TEST(fates_are_as_brute_force_says)
{
    int seen = 0;

    seed = 19680706;
    for (int i = 0; i < 3000; i++) {
        bool edge[SOME][SOME];
        char text[4096];
        size_t n = (size_t)sprintf(text, HEAD "start: n0\nnodes:\n");

        for (uint32_t k = 0; k < SOME; k++) {
            n += (size_t)sprintf(text + n, "  n%u: {" DO ", join: any, next: [",
                                 k);
            for (uint32_t to = 0; to < SOME; to++) {
                edge[k][to] = to == k + 1 || rnd(to > k ? 3 : 20) == 0;
                if (edge[k][to])
                    n += (size_t)sprintf(text + n, "n%u, ", to);
            }
            n += (size_t)sprintf(text + n, "%s]}\n",
                                 k == SOME - 1 || rnd(6) == 0 ? "END" : "");
        }
        if (load_n("t", text, n) == MORTISE_OK) {
            for (uint32_t k = 0; k < graph->n_regions; k++)
                if (graph->regions[k].n_nodes > 0) /* of which all race */
                    check_fates(&graph->regions[k]);
            seen += graph->n_regions > 1;
        }
        mortise_graph_unref(graph);
        graph = NULL;
        mortise_diags_finish(&diags);
    }
    ck_assert_int_gt(seen, 300);
}
END_TEST

static bool leads(const char *from, const char *to)
{
    return mortise_postdom_must_pass(node(from)->postdom, node(to)->postdom);
}

/* The join of a loop's entry is a race of the nodes around the loop; a loop
 * without exits leads nowhere. */
START_TEST(loops_race_outside)
{
    struct mortise_postdom loop;

    good(HEAD "start: [a, b]\nnodes:\n"
              "  a: {" DO ", next: [l, z]}\n"
              "  b: {" DO ", next: l}\n"
              "  l: {" DO ", join: any, next: l}\n"
              "  z: {" DO ", next: END}\n");
    ck_assert_uint_eq(graph->n_regions, 2);
    loop = graph->regions[1].postdom;
    ck_assert(mortise_postdom_must_pass(node("b")->postdom, loop));
    ck_assert(!mortise_postdom_must_pass(node("a")->postdom, loop));
    ck_assert(!mortise_postdom_must_pass(loop, node("z")->postdom));
}
END_TEST

/* A map leads to its join whatever its elements do; a node that may end its
 * branch leads nowhere for sure. */
START_TEST(maps_lead_to_their_joins)
{
    good(HEAD "start: s\nnodes:\n"
              "  s: {" DO ", map: {over: output, to: w, join: j}, next: x}\n"
              "  w: {" DO ", next: [v, END]}\n"
              "  v: {" DO ", routes: [{when: item.x, to: j}], default: END}\n"
              "  x: {" DO ", next: y}\n"
              "  y: {" DO ", next: [j, z]}\n"
              "  z: {" DO "}\n"
              "  j: {" DO ", join: any}\n");
    ck_assert(mortise_postdom_must_pass(graph->regions[1].postdom,
                                        node("j")->postdom));
    ck_assert(!leads("s", "j"));
    ck_assert(leads("x", "y"));
    ck_assert(!leads("x", "j"));
    ck_assert(leads("j", "j"));
}
END_TEST

/* A ladder of 20,000 rungs costs no walk along it for each. */
START_TEST(long_fates_are_found)
{
    start_big("start: n0\nnodes:\n");
    for (int i = 0; i < 20000; i++)
        big_n += (size_t)sprintf(
            big + big_n, "  n%d: {" DO ", next: [n%d, n%d], join: any}\n", i,
            i + 1,
            i % 2 == 0      ? 20000
            : i + 1 < 20000 ? i + 2
                            : 20000);
    big_n += (size_t)sprintf(big + big_n, "  n20000: {" DO "}\n");
    load_big(MORTISE_OK);
    ck_assert(leads("n0", "n20000"));
    ck_assert(!leads("n0", "n2"));
}
END_TEST

/* ---- writes that collide --------------------------------------------- */

#define WRITER "{type: tool, tool: pay/refund, outputs: {scratch.x: output}"

/* `a` and `b` both write scratch.x; what stands around them decides. */
static const struct {
    const char *graph;
    bool warned;
} races[] = {
    {"start: [a, b]\nnodes:\n  a: " WRITER "}\n  b: " WRITER "}\n", true},
    {"start: a\nnodes:\n  a: " WRITER ", next: b}\n  b: " WRITER "}\n", false},
    {"start: [a, b]\nstate: {reducers: {scratch.x: last}}\nnodes:\n  a: " WRITER
     "}\n  b: " WRITER "}\n",
     false},
    /* two routes, a route and the default: one of them */
    {"start: r\nnodes:\n  r: {type: router, routes: [{when: input.p, to: a}, "
     "{when: input.q, to: b}], default: END}\n  a: " WRITER "}\n  b: " WRITER
     "}\n",
     false},
    {"start: r\nnodes:\n  r: {type: router, routes: [{when: input.p, to: c}], "
     "default: b}\n  c: {type: human, prompt: x, next: a}\n  a: " WRITER
     "}\n  b: " WRITER "}\n",
     false},
    /* ... but both, where another way leads to one of them */
    {"start: [r, s]\nnodes:\n  r: {type: router, routes: [{when: input.p, to: "
     "a}], default: b}\n  s: {type: human, prompt: x, next: a}\n  a: " WRITER
     "}\n  b: " WRITER "}\n",
     true},
    /* routes: {all} takes several, but not with the default */
    {"start: r\nnodes:\n  r: {type: router, routes: {all: [{when: input.p, to: "
     "a}, {when: input.q, to: b}]}, default: END}\n  a: " WRITER
     "}\n  b: " WRITER "}\n",
     true},
    {"start: r\nnodes:\n  r: {type: router, routes: {all: [{when: input.p, to: "
     "a}]}, default: b}\n  a: " WRITER "}\n  b: " WRITER "}\n",
     false},
    /* targets of a condition */
    {"start: r\nnodes:\n  r: {type: router, condition: input.p, targets: [a, "
     "b]}\n  a: " WRITER "}\n  b: " WRITER "}\n",
     false},
    /* success and failure, answer and timeout */
    {"start: r\nnodes:\n  r: {type: tool, tool: pay/refund, next: a, on_error: "
     "{goto: b}}\n  a: " WRITER "}\n  b: " WRITER "}\n",
     false},
    {"start: r\nnodes:\n  r: {type: human, prompt: x, wait: 1s, on_timeout: "
     "{goto: b}, next: a}\n  a: " WRITER "}\n  b: " WRITER "}\n",
     false},
    /* a static edge beside routes */
    {"start: r\nnodes:\n  r: {type: tool, tool: pay/refund, next: a, routes: "
     "[{when: input.p, to: b}]}\n  a: " WRITER "}\n  b: " WRITER "}\n",
     true},
    /* conditional edges are independent of each other */
    {"nodes:\n  a: " WRITER "}\n  b: " WRITER
     "}\nedges:\n- {from: START, to: a, when: input.p}\n"
     "- {from: START, to: b, when: '!input.p'}\n",
     true},
    /* arms of a personality, of one threshold, apart, and overlapping */
    {"start: r\nnodes:\n  r: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: r, personality: {trait: openness, "
     "threshold: 0.5, above: a, below: b}}\n",
     false},
    {"start: r\nnodes:\n  r: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: r, personality: {trait: openness, "
     "threshold: 0.6, above: a, below: END}}\n- {from: r, personality: {trait: "
     "openness, threshold: 0.5, above: END, below: b}}\n",
     false},
    {"start: r\nnodes:\n  r: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: r, personality: {trait: openness, "
     "threshold: 0.4, above: a, below: END}}\n- {from: r, personality: {trait: "
     "openness, threshold: 0.5, above: END, below: b}}\n",
     true},
    {"start: r\nnodes:\n  r: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: r, personality: {trait: openness, "
     "threshold: 0.5, above: a, below: END}}\n- {from: r, personality: {trait: "
     "emotionality, threshold: 0.5, above: END, below: b}}\n",
     true},
    /* what one discovery may lead to, and what two may */
    {"start: r\nnodes:\n  r: {type: human, prompt: x}\n  a: " WRITER
     ", capability: x}\n  b: " WRITER "}\nedges:\n- {from: r, discovery: "
     "{query: q, fallback: b}}\n",
     false},
    {"start: r\nnodes:\n  r: {type: human, prompt: x}\n  a: " WRITER
     ", capability: x}\n  b: " WRITER "}\nedges:\n- {from: r, discovery: "
     "{query: q, fallback: END}}\n- {from: r, discovery: {query: q, fallback: "
     "b}}\n",
     true},
    /* a node and what sanitises in place */
    {"start: z\nnodes:\n  z: " WRITER ", next: [a, b]}\n  a: " WRITER
     "}\n  b: {type: guardrail, "
     "guardrails: [pii], target: scratch.x, on_violation: sanitize}\n",
     true},
    {"start: z\nnodes:\n  z: " WRITER ", next: [a, b]}\n  a: " WRITER
     "}\n  b: {type: guardrail, "
     "guardrails: [pii], target: scratch.x, on_violation: block}\n",
     false},
    {"start: [a, b]\nnodes:\n  a: " WRITER "}\n  b: {type: guardrail, "
     "guardrails: [pii], on_violation: sanitize}\n",
     true},
    /* an edge and the detour for it, and what is beside them */
    {"start: s\nnodes:\n  s: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: s, to: a, guardrail_policy: "
     "{input: [pii], on_violation: reroute, reroute_target: b}}\n",
     false},
    {"start: s\nnodes:\n  s: {type: human, prompt: x, routes: [{when: input.x, "
     "to: END, guardrail_policy: {input: [pii], on_violation: reroute, "
     "reroute_target: a}}], default: b}\n  a: " WRITER "}\n  b: " WRITER "}\n",
     false},
    {"start: s\nnodes:\n  s: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: s, to: END, guardrail_policy: "
     "{input: [pii], on_violation: reroute, reroute_target: a}}\n"
     "- {from: s, to: b}\n",
     true},
    {"start: s\nnodes:\n  s: {type: human, prompt: x}\n  a: " WRITER
     "}\n  b: " WRITER "}\nedges:\n- {from: s, personality: {trait: openness, "
     "threshold: 0.5, above: a, below: END}, guardrail_policy: {input: [pii], "
     "on_violation: reroute, reroute_target: b}}\n",
     false},
    /* one after the other in a loop, visit after visit */
    {"start: a\nnodes:\n  a: " WRITER ", next: b}\n  b: " WRITER
     ", routes: [{when: output.x, to: a}], default: END}\n",
     false},
    /* ... beside each other in one visit */
    {"start: s\nnodes:\n  s: {type: human, prompt: x, next: [a, b]}\n"
     "  a: " WRITER ", next: j}\n  b: " WRITER ", next: j}\n"
     "  j: {type: human, prompt: x, on_error: {goto: s}}\n",
     true},
    /* ... on two routes, one in each visit */
    {"start: s\nnodes:\n  s: {type: human, prompt: x, routes: [{when: "
     "input.x, to: a}], default: b}\n"
     "  a: " WRITER ", next: j}\n  b: " WRITER ", next: j}\n"
     "  j: {type: human, prompt: x, on_error: {goto: s}}\n",
     false},
    /* each element of a map, and what is before and behind it */
    {"start: a\nnodes:\n  a: " WRITER
     ", map: {over: output.answer, to: w, join: b}}\n"
     "  w: {type: tool, tool: pay/refund, next: b}\n  b: " WRITER "}\n",
     false},
    {"start: s\nnodes:\n  s: {type: human, prompt: x, map: {over: "
     "output.answer, to: "
     "a, join: j}}\n  a: " WRITER ", next: j}\n"
     "  j: {type: human, prompt: x}\n",
     true},
    {"start: s\nstate: {reducers: {scratch.x: sum}}\nnodes:\n  s: {type: "
     "human, prompt: x, map: {over: output.answer, to: a, join: j}}\n  "
     "a: " WRITER ", next: j}\n  j: {type: human, prompt: x}\n",
     false},
    {"start: s\nnodes:\n  s: {type: human, prompt: x, map: {over: "
     "output.answer, to: "
     "w, join: j}}\n  w: {type: tool, tool: pay/refund, output_as: w, "
     "next: j}\n  j: {type: human, prompt: x}\n",
     false},
    /* what is an element's own is shared by nobody but who is in the element */
    {"start: s\nstate: {reducers: {artifacts.w: last}}\nnodes:\n  s: {type: "
     "human, prompt: x, map: {over: output.answer, to: w, join: j}}\n  w: "
     "{type: "
     "tool, tool: pay/refund, next: [a, b]}\n  a: {type: human, prompt: x, "
     "output_as: own, next: j}\n  b: {type: human, prompt: x, output_as: own, "
     "next: j}\n  j: {type: human, prompt: x}\n",
     true},
    {"start: s\nnodes:\n  s: {type: human, prompt: x, map: {over: "
     "output.answer, to: w, join: j}, next: o}\n  w: {type: tool, tool: "
     "pay/refund, output_as: own, next: v}\n  v: {type: human, prompt: x, "
     "output_as: own, next: j}\n  o: {type: human, prompt: x, output_as: own}\n"
     "  j: {type: human, prompt: x}\n",
     false},
};

/* Two writers of a path are warned about when both may run and neither waits
 * for the other, and only then. */
START_TEST(races_are_seen)
{
    char text[1024];

    snprintf(text, sizeof text, HEAD "%s", races[_i].graph);
    good(text);
    ck_assert_msg((diags.n == 1) == races[_i].warned, "%s\n%s", text, found());
    if (races[_i].warned)
        ck_assert_str_eq(diags.list[0].code, "W0801");
}
END_TEST

/* ---- digest ---------------------------------------------------------- */

#define NODE_A "start: a\nnodes: {a: {type: tool, tool: pay/refund"

/* The digest follows what the file says: not its layout, not what is ignored,
 * but everything else, data under x- keys in args included. */
START_TEST(digests_follow_the_meaning)
{
    static const char *const same[] = {
        "# c\nkind: Graph\nmetadata: {\"name\": 't'}\napiVersion: mortise/v1\n"
        "nodes:\n  a:\n    tool: pay/refund\n    type: tool\nstart: a\n",
        HEAD "x-y: [1, 2]\n" NODE_A ", x-z: {b: c}}}",
    };
    static const char *const other[] = {
        HEAD NODE_A ", args: {x-a: 1}}}",
        HEAD NODE_A ", args: {x-a: 2}}}",
        HEAD NODE_A ", args: {x-a: 2.0}}}",
        HEAD NODE_A ", args: {}}}",
        HEAD "goal: x\n" NODE_A "}}",
        HEAD NODE_A ", metadata: {a: b}}}",
        HEAD "limits: {concurrency: 8}\n" NODE_A "}}",
    };
    char a[MORTISE_DIGEST_HEX], seen[8][MORTISE_DIGEST_HEX];

    digest_of(seen[0], HEAD NODE_A "}}");
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        digest_of(a, same[i]);
        ck_assert_str_eq(a, seen[0]);
    }
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        digest_of(seen[i + 1], other[i]);
        for (size_t k = 0; k <= i; k++)
            ck_assert_str_ne(seen[k], seen[i + 1]);
    }
}
END_TEST

/* ---- templates and expressions --------------------------------------- */

static const struct {
    const char *args, *json; /* NULL: an error that contains `words` */
    const char *words;
} templates[] = {
    {"[1, {a: null}, x]", "[1,{\"a\":null},\"x\"]", NULL},
    {"${input.n}", "7", NULL},
    {"'${ input.n }'", "7", NULL},
    {"'n is ${input.n}, ${input.s}!'", "\"n is 7, sun!\"", NULL},
    {"' ${input.n}'", "\" 7\"", NULL},
    {"${input.list}", "[1,2]", NULL},
    {"'${input.list}${input.list}'", "\"[1,2][1,2]\"", NULL},
    {"{a: [\"${input.s}\"], b: c}", "{\"a\":[\"sun\"],\"b\":\"c\"}", NULL},
    {"'$${input.n}'", "\"${input.n}\"", NULL},
    {"'$$${input.n}'", "\"$${input.n}\"", NULL},
    {"'$5 and $ and }'", "\"$5 and $ and }\"", NULL},
    {"\"${'}' + input.s + '}'}\"", "\"}sun}\"", NULL},
    {"\"${ {'a': {'b': input.n}}['a'].b }\"", "7", NULL},
    {"'${\"\"\"a}\"b\"\"\" + \"\\\"}\"}'", "\"a}\\\"b\\\"}\"", NULL},
    {"'${r\"\\\" + \"}\"}'", "\"\\\\}\"", NULL},
    {"${input.tricky}", "\"${input.n}\"", NULL},
    {"'-${input.tricky}'", "\"-${input.n}\"", NULL},
    {"${state.input.n + 1}", "8", NULL},
    /* what CEL does not see ends nothing: comments */
    {"\"${input.n // it's a }\\n}\"", "7", NULL},
    {"\"a ${'//}' // {\\n}b\"", "\"a //}b\"", NULL},
    {"${input.nothing}", NULL, "t:9:"},
    {"'a ${1 / (input.n - 7)}'", NULL, "t:9:"},
};

static int eval_args(const char *args, json_t **value, struct mortise_err *err)
{
    const json_t *values[MORTISE_IN_N] = {NULL};
    struct mortise_expr_env env = {values, 0};
    char text[512];
    json_t *input = json_loads("{\"n\":7,\"s\":\"sun\",\"list\":[1,2],"
                               "\"tricky\":\"${input.n}\"}",
                               0, NULL);
    json_t *state = json_pack("{s:O}", "input", input);
    int rv;

    snprintf(text, sizeof text,
             HEAD "start: a\nnodes:\n  a:\n    type: tool\n"
                  "    tool: pay/refund\n    args: %s\n",
             args);
    good(text);
    values[MORTISE_IN_INPUT] = input;
    values[MORTISE_IN_STATE] = state;
    rv = mortise_tmpl_eval(node("a")->args, &env, value, err);
    json_decref(state);
    json_decref(input);
    return rv;
}

/* Templates give values and strings, and say where they fail. */
START_TEST(templates_are_filled)
{
    struct mortise_err err = {0};
    json_t *got = NULL, *want;
    int rv = eval_args(templates[_i].args, &got, &err);

    if (templates[_i].json == NULL) {
        ck_assert_int_eq(rv, MORTISE_EINVAL);
        ck_assert_ptr_null(got);
        ck_assert_msg(strncmp(err.msg, templates[_i].words,
                              strlen(templates[_i].words)) == 0,
                      "%s", err.msg);
        return;
    }
    ck_assert_msg(rv == MORTISE_OK, "%s: %s", templates[_i].args, err.msg);
    want = json_loads(templates[_i].json, JSON_DECODE_ANY, NULL);
    ck_assert_msg(json_equal(got, want), "%s", templates[_i].args);
    json_decref(want);
    json_decref(got);
}
END_TEST

/* A condition that fails in a run says where it stands. */
START_TEST(conditions_say_where_they_fail)
{
    const json_t *values[MORTISE_IN_N] = {NULL};
    struct mortise_expr_env env = {values, 0};
    struct mortise_err err;
    json_t *input = json_object();
    bool taken;

    good(HEAD "start: r\nnodes:\n"
              "  r:\n    type: router\n    routes:\n"
              "      - when: 1 > 2 || input.x\n        to: END\n"
              "    default: END\n");
    values[MORTISE_IN_INPUT] = input;
    ck_assert_int_eq(
        mortise_expr_test(&graph->edges[0].when, &env, &taken, &err),
        MORTISE_EINVAL);
    ck_assert_msg(strncmp(err.msg, "t:9:", 4) == 0, "%s", err.msg);
    json_decref(input);
}
END_TEST

/* ---- size ------------------------------------------------------------ */

/* A chain of 5,000 nodes that all write and all decide.  No test of time (the
 * bench has it), but a quadratic loader would run into the test's timeout. */
START_TEST(long_chains_load)
{
    start_big("start: n0\nnodes:\n");
    for (int i = 0; i < 20000; i++)
        big_n +=
            (size_t)sprintf(big + big_n,
                            "  n%d:\n    type: tool\n    tool: text/count\n"
                            "    args: {text: \"${input.x} and so on\"}\n"
                            "    outputs: {scratch.n: output.n}\n"
                            "    routes: [{when: output.n > 1, to: n%d}]\n"
                            "    default: END\n",
                            i, i + 1);
    big_n +=
        (size_t)sprintf(big + big_n, "  n20000: {type: human, prompt: done}\n");
    load_big(MORTISE_OK);
    ck_assert_msg(diags.n == 0, "%s", found());
}
END_TEST

/* 5,000 nodes beside each other that all write the same. */
START_TEST(wide_graphs_load)
{
    start_big("nodes:\n");
    for (int i = 0; i < 5000; i++)
        big_n +=
            (size_t)sprintf(big + big_n,
                            "  n%d: {type: tool, tool: pay/refund, outputs: "
                            "{scratch.n: output, scratch.x%d: output}}\n",
                            i, i);
    big_n += (size_t)sprintf(big + big_n, "start:\n");
    for (int i = 0; i < 5000; i++)
        big_n += (size_t)sprintf(big + big_n, "- n%d\n", i);
    load_big(MORTISE_OK);
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, "W0801");
}
END_TEST

/* One circle of 50,000 nodes is one finding, found without recursion. */
START_TEST(long_circles_are_named)
{
    start_big("start: n0\nnodes:\n");
    for (int i = 0; i < 50000; i++)
        big_n += (size_t)sprintf(
            big + big_n,
            "  n%d: {type: tool, tool: pay/refund, depends_on: n%d}\n", i,
            (i + 49999) % 50000);
    load_big(MORTISE_ECHECK);
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_ptr_nonnull(strstr(diags.list[0].message,
                                 "n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> "
                                 "... -> n49999 -> n0"));
}
END_TEST

/* ... and one loop of 50,000 nodes is a loop. */
START_TEST(long_loops_load)
{
    start_big("start: n0\nnodes:\n");
    for (int i = 0; i < 50000; i++)
        big_n += (size_t)sprintf(
            big + big_n, "  n%d: {type: tool, tool: pay/refund, next: n%d}\n",
            i, (i + 1) % 50000);
    load_big(MORTISE_OK);
    ck_assert_uint_eq(graph->n_regions, 2);
    ck_assert_uint_eq(graph->regions[1].n_nodes, 50000);
    ck_assert_uint_eq(graph->regions[1].n_back, 1);
}
END_TEST

/* 20,000 typing errors do not make 20,000 searches through 20,000 ids. */
START_TEST(many_findings_stay_cheap)
{
    start_big("start: n0\nnodes:\n");
    for (int i = 0; i < 20000; i++)
        big_n += (size_t)sprintf(
            big + big_n, "  n%d: {type: tool, tool: pay/refund, next: m%d}\n",
            i, i);
    load_big(MORTISE_ECHECK);
    ck_assert_uint_eq(diags.n_errors, 20000);
    ck_assert_uint_eq(diags.n, 500);
    ck_assert_ptr_nonnull(strstr(found(), "\n19500 more findings are not "));
}
END_TEST

/* Findings that were left out are those of another file: the next one is loaded
 * and checked as ever. */
START_TEST(another_file_is_not_in_doubt)
{
    start_big("start: a\nnodes:\n"
              "  a: {type: tool, tool: pay/refund, next: a}\n");
    for (int i = 0; i < 600; i++) {
        mortise_diag_add(&diags, "W0802", (struct mortise_span){0}, "w%d", i);
        mortise_diag_add(&diags, "E0301", (struct mortise_span){0}, "e%d", i);
    }
    load_big(MORTISE_OK);
    ck_assert_uint_eq(graph->n_regions, 2);
}
END_TEST

/* Nodes that may each find each other would be a graph of the file's square:
 * that is refused, once, at the edge where it is too much. */
START_TEST(discovery_has_a_bound)
{
    start_big("start: n0\nnodes:\n");
    for (int i = 0; i < 2000; i++)
        big_n += (size_t)sprintf(big + big_n,
                                 "  n%d: {type: tool, tool: pay/refund, "
                                 "capability: x}\n",
                                 i);
    big_n += (size_t)sprintf(big + big_n, "edges:\n");
    for (int i = 0; i < 2000; i++)
        big_n += (size_t)sprintf(big + big_n,
                                 "- {from: n%d, discovery: {query: q, "
                                 "fallback: END}}\n",
                                 i);
    load_big(MORTISE_ECHECK);
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, "E0307");
    ck_assert_ptr_nonnull(
        strstr(diags.list[0].message, "more than 100000 nodes in all"));
}
END_TEST

/* ---- what breaks ----------------------------------------------------- */

static void load_without_memory(const char *name)
{
    size_t n;
    char *text = read_file("good", name, &n);
    struct mortise_err err;
    int at = 0, rv;

    do {
        struct mortise_diags d;

        mortise_diags_init(&d, &test_mem);
        test_mem_fail_at(at++);
        rv = mortise_graph_load(&graph, &test_mem, "t", text, n, test_catalog(),
                                &d, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(graph == NULL, test_mem_failed());
        mortise_diags_finish(&d);
    } while (test_mem_failed());
    ck_assert_int_gt(at, 50);
    mortise_graph_unref(graph);
    graph = NULL;
    free(text);
}

/* Loading copes with its first, second, ... allocation failing: a graph, or
 * MORTISE_ENOMEM, nothing between. */
START_TEST(loading_survives_oom)
{
    test_catalog();
    for_each("good", load_without_memory);
}
END_TEST

/* The same where there is something to report. */
static void report_without_memory(const char *name)
{
    size_t n;
    char *text = read_file("bad", name, &n);
    int at = 0, rv;

    if (strncmp(name, "deploy-", 7) == 0 || n > 3000) {
        free(text);
        return;
    }
    do {
        struct mortise_diags d;

        mortise_diags_init(&d, &test_mem);
        test_mem_fail_at(at);
        rv = mortise_graph_load(&graph, &test_mem, "t", text, n, test_catalog(),
                                &d, NULL);
        if (test_mem_failed())
            ck_assert_msg(rv == MORTISE_ENOMEM, "%s: %d at %d", name, rv, at);
        mortise_graph_unref(graph);
        graph = NULL;
        mortise_diags_finish(&d);
        at += 3;
    } while (test_mem_failed());
    free(text);
}

START_TEST(reporting_survives_oom)
{
    test_catalog();
    for_each("bad", report_without_memory);
}
END_TEST

/* One change of a kind that people, editors and disks make. */
static size_t mutate(char *text, size_t n)
{
    static const char junk[] = "{}[]:,-&*#?|>'\"%@`!$\t\n x0\x80\xFF";
    size_t at = rnd((uint32_t)n), len = 1 + rnd(12), to;

    if (len > n - at)
        len = n - at;
    switch (rnd(5)) {
    case 0: /* cut out */
        memmove(text + at, text + at + len, n - at - len);
        return n - len;
    case 1: /* cut off */
        return rnd(4) == 0 ? at : n;
    case 2: /* double */
        memmove(text + at + len, text + at, n - at);
        return n + len;
    case 3: /* swap in from elsewhere */
        to = rnd((uint32_t)(n - len + 1));
        memmove(text + at, text + to, len);
        return n;
    default:
        text[at] = junk[rnd(sizeof junk - 1)];
        return n;
    }
}

static void load_mutant(const char *text, size_t n)
{
    int rv = load_n("t", text, n);

    ck_assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    ck_assert_int_eq(rv == MORTISE_ECHECK, diags.n_errors > 0);
    for (size_t i = 0; i < diags.n; i++) {
        ck_assert_ptr_nonnull(diags.list[i].path);
        ck_assert_uint_ge(diags.list[i].span.line, 1);
        ck_assert_uint_ge(diags.list[i].span.col, 1);
        ck_assert_ptr_nonnull(mortise_code(diags.list[i].code));
    }
    found();
    ck_assert(mortise_utf8_is_valid(out.p, out.n));
    mortise_graph_unref(graph);
    graph = NULL;
    mortise_diags_finish(&diags);
}

static void mutants_of(const char *name)
{
    size_t n;
    char *text = read_file("good", name, &n), *m = malloc(n + 1000);

    seed = 20240229;
    for (int i = 0; i < 1000 && n > 0; i++) {
        size_t size = n;

        memcpy(m, text, n);
        for (uint32_t k = rnd(3) + 1; k > 0 && size > 0; k--)
            size = mutate(m, size);
        load_mutant(m, size);
    }
    free(m);
    free(text);
}

/* A thousand broken versions of every good file: refused with a place, or
 * loaded, but never anything else. */
START_TEST(mutants_are_refused_or_loaded)
{
    for_each("good", mutants_of);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("graph");
    TCase *tc = tcase_create("graph");

    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, good_graphs_load);
    tcase_add_test(tc, bad_graphs_say_what_is_wrong);
    tcase_add_test(tc, every_code_has_a_fixture);
    tcase_add_test(tc, every_code_is_explained);
    tcase_add_test(tc, every_key_arrives);
    tcase_add_test(tc, every_structure_arrives);
    tcase_add_test(tc, every_inner_key_arrives);
    tcase_add_test(tc, digests_look_inside);
    tcase_add_test(tc, defaults_are_as_documented);
    tcase_add_test(tc, defaults_reach_inner_graphs);
    tcase_add_test(tc, edges_are_linked);
    tcase_add_test(tc, reducers_are_found);
    tcase_add_test(tc, graphs_are_counted);
    tcase_add_loop_test(tc, regions_are_found, 0,
                        sizeof nested / sizeof nested[0]);
    tcase_add_test(tc, joins_count_what_comes_from_outside);
    tcase_add_test(tc, random_loops_are_structured);
    tcase_add_test(tc, fates_are_as_brute_force_says);
    tcase_add_test(tc, loops_race_outside);
    tcase_add_test(tc, maps_lead_to_their_joins);
    tcase_add_test(tc, long_fates_are_found);
    tcase_add_loop_test(tc, races_are_seen, 0, sizeof races / sizeof races[0]);
    tcase_add_test(tc, digests_follow_the_meaning);
    tcase_add_loop_test(tc, templates_are_filled, 0,
                        sizeof templates / sizeof templates[0]);
    tcase_add_test(tc, conditions_say_where_they_fail);
    tcase_add_test(tc, long_chains_load);
    tcase_add_test(tc, wide_graphs_load);
    tcase_add_test(tc, long_circles_are_named);
    tcase_add_test(tc, long_loops_load);
    tcase_add_test(tc, many_findings_stay_cheap);
    tcase_add_test(tc, another_file_is_not_in_doubt);
    tcase_add_test(tc, discovery_has_a_bound);
    tcase_add_test(tc, loading_survives_oom);
    tcase_add_test(tc, reporting_survives_oom);
    tcase_add_test(tc, mutants_are_refused_or_loaded);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
