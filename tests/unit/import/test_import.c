/* test_import.c -- graphs of other systems: what comes over, what is listed,
 * and what is refused.  tests/graphs/import has files that use every field of
 * both shapes (X.json) and what comes of them (X.yaml). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/disk.h"
#include "core/model/graph.h"
#include "lang/cel/cel.h"
#include "lang/yaml/tree.h"
#include "lang/graph/load.h"
#include "tools/import/foreign_cond.h"
#include "tools/import/import.h"
#include "lib/catalog.h"
#include "lib/json.h"
#include "lib/test.h"

#define DIR "tests/graphs/import/"

static struct mortise_diags diags;
static struct mortise_buf out;
static struct mortise_err err;

static void fresh(void)
{
    mortise_diags_init(&diags, &test_mem);
    mortise_buf_init(&out, &test_mem);
}

static void begin(void)
{
    test_begin();
    test_count_json();
    fresh();
}

static void end(void)
{
    mortise_buf_finish(&out);
    mortise_diags_finish(&diags);
    test_catalog_finish();
    test_nothing_left();
}

static void again(void)
{
    mortise_buf_finish(&out);
    mortise_diags_finish(&diags);
    fresh();
}

static int import_as(const char *path, const char *text, size_t n)
{
    int rv;

    again();
    rv = mortise_graph_import(&out, path, text, n, &diags, &err);
    if (rv == MORTISE_OK)
        ck_assert_ptr_nonnull(mortise_buf_cstr(&out));
    return rv;
}

static int import(const char *text, size_t n)
{
    return import_as("g.json", text, n);
}

static int import_str(const char *text)
{
    return import(text, strlen(text));
}

static bool has(const char *code, const char *words)
{
    for (size_t i = 0; i < diags.n; i++)
        if (strcmp(diags.list[i].code, code) == 0 &&
            strstr(diags.list[i].message, words) != NULL)
            return true;
    return false;
}

static void print_findings(void)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    mortise_diags_format(&diags, &b);
    fprintf(stderr, "%.*s", (int)b.n, b.p);
    mortise_buf_finish(&b);
}

static void expect(const char *code, const char *words)
{
    bool found = has(code, words);

    if (!found)
        print_findings();
    ck_assert_msg(found, "no %s that says '%s'", code, words);
}

static void expect_out(const char *words)
{
    ck_assert_msg(strstr(out.p, words) != NULL, "no '%s' in:\n%s", words,
                  out.p);
}

/* ---- the files ------------------------------------------------------------- */

static const struct {
    const char *name;
    bool whole; /* nothing is left behind */
} files[] = {
    {"task", true}, {"task_left", false}, {"exec", true}, {"exec_left", false}};
enum { N_FILES = sizeof files / sizeof files[0] };

static char *read_file(const char *name, const char *kind, size_t *n)
{
    char path[128];

    snprintf(path, sizeof path, DIR "%s.%s", name, kind);
    return test_read(path, n);
}

static void import_file(const char *name)
{
    size_t n;
    char *text = read_file(name, "json", &n), path[64];

    snprintf(path, sizeof path, "dir.d/%s.json", name);
    ck_assert_int_eq(import_as(path, text, n), MORTISE_OK);
    free(text);
}

/* What comes out is what was looked at and found right. */
START_TEST(golden)
{
    char *want = read_file(files[_i].name, "yaml", NULL);

    import_file(files[_i].name);
    ck_assert_str_eq(out.p, want);
    ck_assert_int_eq(diags.n == 0, files[_i].whole);
    free(want);
}
END_TEST

/* Each finding stands at the head of the file, too, and has a place. */
START_TEST(head_has_all)
{
    import_file(files[_i].name);
    for (size_t i = 0; i < diags.n; i++) {
        char line[1200];

        snprintf(line, sizeof line, "\n#   %u:%u: %s\n",
                 diags.list[i].span.line, diags.list[i].span.col,
                 diags.list[i].message);
        expect_out(line);
        ck_assert_ptr_nonnull(diags.list[i].source);
    }
}
END_TEST

static void load_out(void)
{
    struct mortise_graph_files disk;
    const struct mortise_catalog catalog =
        mortise_disk_catalog_make(test_catalog(), &disk, NULL);
    struct mortise_graph *g;

    mortise_diags_finish(&diags);
    mortise_diags_init(&diags, &test_mem);
    if (mortise_graph_load(&g, &test_mem, DIR "out.graph.yaml", out.p, out.n,
                           &catalog, &diags, &err) == MORTISE_OK)
        mortise_graph_unref(g);
}

/* Of what neither this build has, and says so, nor the deployment. */
static bool is_elsewhere(const struct mortise_diag *d)
{
    return strstr(d->message, "is not available in this build") != NULL ||
           strstr(d->message, "the deployment has no") != NULL;
}

/* What came over whole, `mortise check` takes. */
START_TEST(whole_is_checked)
{
    if (!files[_i].whole)
        return;
    import_file(files[_i].name);
    load_out();
    for (size_t i = 0; i < diags.n; i++)
        if (diags.list[i].severity == MORTISE_ERROR &&
            !is_elsewhere(&diags.list[i])) {
            print_findings();
            ck_abort_msg("%s: %s", files[_i].name, diags.list[i].message);
        }
}
END_TEST

/* What is missing and decides what runs is refused at its place: a condition,
 * where an edge leads, a debate. */
START_TEST(left_is_refused)
{
    import_file("exec_left");
    load_out();
    expect("E0206", "router 'blind' needs");
    expect("E0307", "a conditional edge needs 'when'");
    expect("E0307", "this discovery edge cannot find any node");
    import_file("task_left");
    expect("W1001", "'web_search' is not the name of a tool here");
    load_out();
    expect("E0505", "'web_search' is not a valid tool");
    expect("E0207", "node type cannot be 'debate'");
}
END_TEST

/* ---- every field ------------------------------------------------------------- */

/* Calls `fn` with each name in backticks of a table's left column, in the
 * sections of docs/mappings.md that are about imports. */
static unsigned for_each_name(void (*fn)(const char *name, const char *ud),
                              const char *ud)
{
    char *text = test_read("docs/mappings.md", NULL), *save = NULL;
    unsigned n = 0;
    bool inside = false;

    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *cell_end;

        if (strncmp(line, "## ", 3) == 0)
            inside = strstr(line, "import") != NULL;
        if (!inside || strncmp(line, "| `", 3) != 0)
            continue;
        cell_end = strchr(line + 1, '|');
        ck_assert_ptr_nonnull(cell_end);
        *cell_end = '\0';
        for (char *p = strchr(line, '`'); p != NULL; p = strchr(p + 1, '`')) {
            char *name = p + 1;

            p = strchr(name, '`');
            ck_assert_ptr_nonnull(p);
            *p = '\0';
            fn(name, ud);
            n++;
        }
    }
    free(text);
    return n;
}

static void is_used(const char *name, const char *all)
{
    char quoted[128];

    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    ck_assert_msg(strstr(all, quoted) != NULL,
                  "no file of " DIR " uses '%s', which docs/mappings.md has",
                  name);
}

/* All files of both shapes as one text. */
static char *all_files(void)
{
    char *all = calloc(1, 1 << 17);

    for (size_t i = 0; i < N_FILES; i++) {
        char *text = read_file(files[i].name, "json", NULL);

        ck_assert_uint_lt(strlen(all) + strlen(text), 1 << 17);
        strcat(all, text);
        free(text);
    }
    return all;
}

/* Each field that docs/mappings.md says is imported is in a file here, and no
 * file that came over whole has one that is not known. */
START_TEST(documented_fields_are_imported)
{
    char *all = all_files();

    ck_assert_uint_gt(for_each_name(is_used, all), 90);
    free(all);
}
END_TEST

static char *documented;

static void add_name(const char *name, const char *ud)
{
    (void)ud;
    strcat(documented, " ");
    strcat(documented, name);
    strcat(documented, " ");
}

/* ... and each that the tables of the importer have is documented. */
START_TEST(imported_fields_are_documented)
{
    static const char *const sources[] = {
        "tools/import/foreign_task.c", "tools/import/foreign_exec.c",
        "tools/import/foreign_node.c", "tools/import/foreign_edge.c"};
    unsigned n = 0;

    documented = calloc(1, 1 << 14);
    for_each_name(add_name, NULL);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        char *text = test_read(sources[i], NULL), name[64], word[70];

        for (char *p = text; (p = strstr(p, "{\"")) != NULL; n++) {
            const char *line_end = strstr(p, "},");

            p += 2;
            snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "\""), p);
            if (line_end == NULL || strstr(p, "MORTISE_FOREIGN_") == NULL ||
                strstr(p, "MORTISE_FOREIGN_") > line_end)
                continue;
            snprintf(word, sizeof word, " %s ", name);
            ck_assert_msg(strstr(documented, word) != NULL,
                          "docs/mappings.md says nothing of '%s'", name);
        }
        free(text);
    }
    ck_assert_uint_gt(n, 90);
    free(documented);
}
END_TEST

/* ---- ids ---------------------------------------------------------------------- */

/* An id that is one here keeps its name, whoever comes first. */
START_TEST(good_ids_stay)
{
    ck_assert_int_eq(
        import_str("{\"goal\": \"g\", \"nodes\": {\"a b\": {\"goal\": \"x\"}, "
                   "\"a.b\": {\"goal\": \"y\", \"depends_on\": [\"a b\", "
                   "\"a_b\"]}, \"a_b\": {\"goal\": \"z\"}}}"),
        MORTISE_OK);
    expect("W1002", "'a b' is named 'a_b-2'");
    expect("W1002", "'a.b' is named 'a_b-3'");
    expect_out("  a_b-3:\n    type: leaf\n    goal: \"y\"\n    depends_on:\n"
               "      - a_b-2\n      - a_b\n");
    ck_assert_uint_eq(diags.n, 2);
}
END_TEST

/* Strange ids: empty, of other letters, reserved, long. */
START_TEST(strange_ids)
{
    ck_assert_int_eq(
        import_str("{\"goal\": \"g\", \"nodes\": {\"\": {\"goal\": \"x\"}, "
                   "\"\u00e4\u00f6\": {\"goal\": \"x\"}, \"START\": {\"goal\": "
                   "\"x\"}, \"-\": {\"goal\": \"x\"}}}"),
        MORTISE_OK);
    expect("W1002", "'' is named '_'");
    expect("W1002", "'\u00e4\u00f6' is named '__'");
    expect("W1002", "'START' is named 'START-2'");
    expect("W1002", "'-' is named '_-'");
}
END_TEST

/* Ten thousand ids that all become the same are ten thousand ids, soon. */
START_TEST(many_alike)
{
    enum { N = 10000 };
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    mortise_buf_puts(&b, "{\"goal\": \"g\", \"nodes\": {");
    for (int i = 0; i < N; i++) {
        mortise_buf_printf(&b, "%s\"", i > 0 ? "," : "");
        for (int j = 0; j < 70; j++)
            mortise_buf_puts(&b, "x");
        mortise_buf_printf(&b, "%d\": {\"goal\": \"x\"}", i);
    }
    mortise_buf_puts(&b, "}}");
    ck_assert_int_eq(import(b.p, b.n), MORTISE_OK);
    ck_assert_uint_eq(diags.n_warnings, N);
    mortise_buf_finish(&b);
}
END_TEST

/* An id of half a megabyte is renamed like any other, and shown in part. */
START_TEST(huge_id)
{
    enum { N = 1 << 19 };
    char *text = malloc(N + 256), *id = malloc(N + 1);

    memset(id, 'i', N);
    id[N] = '\0';
    snprintf(text, N + 256,
             "{\"id\": \"g\", \"edges\": [], \"nodes\": [{\"id\": \"%s\", "
             "\"type\": \"human\", \"executorConfig\": {\"type\": \"human\", "
             "\"prompt\": \"p\"}}]}",
             id);
    ck_assert_int_eq(import_str(text), MORTISE_OK);
    ck_assert_uint_lt(out.n, 2000);
    ck_assert_uint_eq(diags.n, 1);
    free(text);
    free(id);
}
END_TEST

/* ---- what contradicts itself ---------------------------------------------------
 */

#define NODE                                                                   \
    "{\"id\": \"a\", \"type\": \"human\", \"executorConfig\": {\"type\": "     \
    "\"human\", \"prompt\": \"p\"}}"
#define EXEC(nodes, edges)                                                     \
    "{\"id\": \"g\", \"nodes\": [" nodes "], \"edges\": [" edges "]}"
#define TASK(nodes) "{\"goal\": \"g\", \"nodes\": {" nodes "}}"

static const struct {
    const char *text, *code, *words;
} wrongs[] = {
    {"", "E0103", ""},
    {"{\"nodes\": [", "E0106", ""},
    {"{\"nodes\": {}, \"nodes\": {}}", "E0108", "nodes"},
    {"[]", "E1001", "not a graph that can be imported"},
    {"{\"nodes\": 3}", "E1001", "not a graph that can be imported"},
    {"{\"apiVersion\": \"mortise/v1\", \"nodes\": {}}", "E1001",
     "already a file of Mortise"},
    {"{\"id\": \"g\", \"nodes\": []}", "E1001", "'edges', a list"},
    {EXEC("3", ""), "E1001", "needs an 'id'"},
    {EXEC("{\"id\": \"a\\u0000b\"}", ""), "E1001", "a string without a NUL"},
    {EXEC("{\"id\": \"__END__\"}", ""), "E1001",
     "'__END__' cannot be the id of a node"},
    {EXEC(NODE ", " NODE, ""), "E1001", "two nodes have the id 'a'"},
    {EXEC("{\"id\": \"a\"}", ""), "E1001", "the 'type' of a node must be"},
    {EXEC("{\"id\": \"a\", \"type\": \"human\"}", ""), "E1001",
     "needs an 'executorConfig'"},
    {EXEC("{\"id\": \"a\", \"type\": \"tool\", \"executorConfig\": {\"type\": "
          "\"gmi\"}}",
          ""),
     "E1001", "differs from the 'type' of the node, 'tool'"},
    {EXEC("{\"id\": \"a\", \"type\": \"guardrail\", \"executorConfig\": "
          "{\"type\": \"guardrail\", \"rerouteTarget\": \"b\"}}",
          ""),
     "E1001", "'b' is not a node"},
    {EXEC(NODE, "3"), "E1001", "an edge must be a mapping"},
    {EXEC(NODE, "{\"target\": \"a\"}"), "E1001", "an edge needs a 'source'"},
    {EXEC(NODE, "{\"source\": \"a\"}"), "E1001", "an edge needs a 'target'"},
    {EXEC(NODE, "{\"source\": \"a\", \"target\": \"b\"}"), "E1001",
     "'b' is not a node"},
    {EXEC(NODE, "{\"source\": \"__END__\", \"target\": \"a\"}"), "E1001",
     "'__END__' is not a node"},
    {EXEC(NODE, "{\"source\": \"a\", \"target\": \"a\", \"type\": \"x\"}"),
     "E1001", "the 'type' of an edge must be"},
    {EXEC("{\"id\": \"a\", \"type\": \"subgraph\", \"executorConfig\": "
          "{\"type\": \"subgraph\", \"inputMapping\": {\"a\": \"x\", \"b\": "
          "\"x\"}}}",
          ""),
     "E1001", "write to the same path"},
    {EXEC("{\"id\": \"a\", \"type\": \"subgraph\", \"executorConfig\": "
          "{\"type\": \"subgraph\", \"inputMapping\": {\"a\": 3}}}",
          ""),
     "E1001", "as strings"},
    {EXEC("{\"id\": \"a\", \"type\": \"router\", \"executorConfig\": "
          "{\"type\": \"router\"}}",
          ""),
     "E1001", "a router needs a 'condition'"},
    {TASK("\"a\": 3"), "E1001", "a node must be a mapping"},
    {TASK("\"a\": {\"id\": \"b\"}"), "E1001", "differs from its key"},
    {TASK("\"a\": {\"goal\": \"x\", \"depends_on\": [\"b\"]}"), "E1001",
     "'b' is not a node"},
    {TASK("\"a\": {\"goal\": \"x\", \"depends_on\": [3]}"), "E1001",
     "an integer is not a node"},
    {TASK(
         "\"a\": {\"goal\": \"x\", \"depends_on\": [\"b\"]}, \"b\": {\"goal\": "
         "\"x\", \"depends_on\": [\"c\"]}, \"c\": {\"goal\": \"x\", "
         "\"depends_on\": [\"b\"]}, \"d\": {\"goal\": \"x\"}"),
     "E1001", "forms a cycle"},
    {TASK("\"a\": {\"goal\": \"x\", \"depends_on\": [\"a\"]}"), "E1001",
     "'depends_on' of 'a' forms a cycle"},
    {TASK("\"a\": {\"goal\": \"x\", \"kind\": \"sprint\"}"), "E1001",
     "a node must be a leaf"},
    {TASK("\"a\": {\"goal\": \"x\", \"kind\": {\"team\": {}}}"), "E1001",
     "a team needs a 'subgraph'"},
    {TASK("\"a\": {\"goal\": \"x\", \"kind\": {\"team\": {\"subgraph\": "
          "{}}}}"),
     "E1001", "a mapping from their ids"},
    {TASK("\"a\\u0000b\": {\"goal\": \"x\"}"), "E0109", "NUL"},
    {"{\"goal\": \"g\", \"nodes\": [{\"goal\": \"x\"}]}", "E1001",
     "needs an 'id'"},
    {"{\"goal\": \"g\", \"nodes\": [{\"id\": \"a\"}, {\"id\": \"a\"}]}",
     "E1001", "two nodes have the id 'a'"},
    {"{\"goal\": \"g\", \"nodes\": [3]}", "E1001", "needs an 'id'"},
    {"{\"goal\": \"g\", \"nodes\": 3}", "E1001", "not a graph that can be"},
    {"{\"goal\": \"g\"}", "E1001", "a task node needs an 'id'"},
    {TASK("\"a\": {\"goal\": 18446744073709551616}"), "E0116", ""},
};

/* Each is refused with its place, and nothing comes out. */
START_TEST(wrong)
{
    ck_assert_int_eq(import_str(wrongs[_i].text), MORTISE_ECHECK);
    expect(wrongs[_i].code, wrongs[_i].words);
    ck_assert_uint_eq(out.n, 0);
    for (size_t i = 0; i < diags.n; i++)
        ck_assert_uint_ge(diags.list[i].span.line, 1);
}
END_TEST

/* What stands behind a pair of surrogates on its line is found where the file
 * has it. */
START_TEST(behind_a_pair)
{
    ck_assert_int_eq(import_str("{\"goal\": \"\\ud83d\\ude00\", \"odd\": 1, "
                                "\"nodes\": {\"a\": {\"goal\": \"x\"}}}"),
                     MORTISE_OK);
    expect("W1001", "'odd'");
    ck_assert_uint_eq(diags.list[0].span.col, 26);
    expect_out("goal: ");
}
END_TEST

/* Teams in teams: as deep as a file may nest, and no deeper. */
START_TEST(deep)
{
    static const char open_team[] =
        "{\"goal\": \"g\", \"nodes\": {\"a\": {\"goal\": \"x\", \"kind\": "
        "{\"team\": {\"subgraph\": ";

    for (int depth = 1; depth < 40; depth++) {
        struct mortise_buf b;
        int rv;

        mortise_buf_init(&b, &test_mem);
        for (int i = 0; i < depth; i++)
            mortise_buf_puts(&b, open_team);
        mortise_buf_puts(&b, TASK("\"a\": {\"goal\": \"x\"}"));
        for (int i = 0; i < depth; i++)
            mortise_buf_puts(&b, "}}}}}");
        rv = import(b.p, b.n);
        mortise_buf_finish(&b);
        ck_assert_int_eq(rv, depth < 13 ? MORTISE_OK : MORTISE_ECHECK);
        if (rv != MORTISE_OK)
            expect("E0113", "");
    }
}
END_TEST

/* ---- conditions ------------------------------------------------------------------
 */

static const struct {
    const char *theirs, *ours;
    bool fails; /* listed: where a value is absent */
} conditions[] = {
    {"state.scratch.n === 3", "has(state.scratch.n) && state.scratch.n == 3",
     false},
    {"state.scratch.s !== 'a === b'",
     "!has(state.scratch.s) || state.scratch.s != 'a === b'", false},
    {"input.ok && !scratch.done",
     "has(input.ok) && !(input.ok in [false, null, 0, \\\"\\\"]) && "
     "!(has(scratch.done) && !(scratch.done in [false, null, 0, \\\"\\\"]))",
     false},
    {"scratch.a || scratch.b > 1 && (scratch.c || true)",
     "has(scratch.a) && !(scratch.a in [false, null, 0, \\\"\\\"]) || "
     "has(scratch.b) && scratch.b > 1 && (has(scratch.c) && "
     "!(scratch.c in [false, null, 0, \\\"\\\"]) || true)",
     false},
    {"artifacts.r.score >= 0.5",
     "has(artifacts.r) && type(artifacts.r) == map && has(artifacts.r.score) "
     "&& artifacts.r.score >= 0.5",
     false},
    {"scratch.list.length > 0",
     "has(scratch.list) && type(scratch.list) == list && "
     "size(scratch.list) > 0",
     false},
    {"scratch.a == null", "!has(scratch.a) || scratch.a == null", false},
    {"scratch.a !== undefined", "has(scratch.a)", false},
    {"state.scratch.n > 2 ? 'a b' : 'c'",
     "(has(state.scratch.n) && state.scratch.n > 2 ? 'a b' : 'c') == "
     "\\\"a b\\\"",
     false},
    {"scratch.ok ? stop : scratch.next",
     "(has(scratch.ok) && !(scratch.ok in [false, null, 0, \\\"\\\"]) ? "
     "\\\"stop\\\" : (has(scratch.next) ? scratch.next : false)) in [true, "
     "\\\"a b\\\"]",
     false},
    {"scratch.next", "has(scratch.next) && scratch.next in [true, \\\"a b\\\"]",
     false},
    {"scratch.n + 1 > 3", "scratch.n + 1 > 3", true},
    {"scratch.list[0] === 'x'", "scratch.list[0] == 'x'", true},
    {"state.visitedNodes", NULL, false},
    {"scratch.in === 1", NULL, false},
    {"scratch.a > undefined", NULL, false},
    {"x => x", NULL, false},
    {"'open", NULL, false},
    {"=", NULL, false},
    {"==", NULL, false},
    {"", NULL, false},
};

/* What their conditions become: a bool is one, an id is compared with the one
 * that they know the node by. */
START_TEST(condition)
{
    char text[1024], line[512];

    snprintf(text, sizeof text,
             EXEC("{\"id\": \"a b\", \"type\": \"human\", \"executorConfig\": "
                  "{\"type\": \"human\", \"prompt\": \"p\"}}",
                  "{\"source\": \"__START__\", \"target\": \"a b\", \"type\": "
                  "\"conditional\", \"condition\": {\"type\": "
                  "\"expression\", \"expr\": \"%s\"}}"),
             conditions[_i].theirs);
    ck_assert_int_eq(import_str(text), MORTISE_OK);
    ck_assert_int_eq(has("W1001", "the condition of an edge is not imported"),
                     conditions[_i].ours == NULL);
    ck_assert_int_eq(has("W1001", "is an error here if a value is absent"),
                     conditions[_i].fails);
    if (conditions[_i].ours == NULL) {
        expect_out("    type: conditional\n");
        return;
    }
    snprintf(line, sizeof line, "    when: \"%s\"\n", conditions[_i].ours);
    expect_out(line);
}
END_TEST

/* What theirs came to, for an edge to the node `to`: nothing is ever an error.
 */
static const struct {
    const char *expr, *scratch;
    bool taken;
} meanings[] = {
    {"scratch.a > 1", "{}", false},
    {"scratch.a < 1", "{}", false},
    {"scratch.a === 'x'", "{}", false},
    {"scratch.a !== 'x'", "{}", true},
    {"scratch.a != 'x'", "{\"a\": \"x\"}", false},
    {"scratch.a.b.c === 1", "{\"a\": {}}", false},
    {"scratch.a.b.c === 1", "{\"a\": null}", false},
    {"scratch.a.b.c !== 1", "{\"a\": {\"b\": 3}}", true},
    {"scratch.a.length > 1", "{\"a\": [1, 2]}", true},
    {"scratch.a.length > 1", "{\"a\": \"xyz\"}", false},
    {"scratch.a.length > 1", "{}", false},
    {"scratch.a.b.length === 0", "{\"a\": {\"b\": []}}", true},
    {"scratch.a.length && true", "{\"a\": []}", false},
    {"scratch.a.b.c === 1", "{\"a\": {\"b\": {\"c\": 1}}}", true},
    {"1 < scratch.a", "{}", false},
    {"1 < scratch.a", "{\"a\": 2}", true},
    {"scratch.a == null", "{}", true},
    {"scratch.a == null", "{\"a\": null}", true},
    {"scratch.a == undefined", "{\"a\": null}", true},
    {"scratch.a === null", "{}", false},
    {"scratch.a !== null", "{}", true},
    {"scratch.a != null", "{}", false},
    {"scratch.a != null", "{\"a\": 0}", true},
    {"scratch.a === undefined", "{}", true},
    {"scratch.a === undefined", "{\"a\": null}", false},
    {"scratch.a !== undefined", "{\"a\": null}", true},
    {"null !== scratch.a", "{\"a\": null}", false},
    {"scratch !== null", "{}", true},
    {"scratch === undefined", "{}", false},
    {"scratch.a === scratch.b", "{}", true},
    {"scratch.a !== scratch.b", "{}", false},
    {"scratch.a === scratch.b", "{\"a\": 1}", false},
    {"scratch.a !== scratch.b", "{\"b\": 1}", true},
    {"scratch.a >= scratch.b", "{\"a\": 1}", false},
    {"scratch.a >= scratch.b", "{\"a\": 1, \"b\": 1}", true},
    {"scratch.a && true", "{}", false},
    {"scratch.a && true", "{\"a\": \"\"}", false},
    {"scratch.a && true", "{\"a\": 0}", false},
    {"scratch.a && true", "{\"a\": []}", true},
    {"scratch.a && true", "{\"a\": \"0\"}", true},
    {"!scratch.a && !scratch.b", "{\"b\": false}", true},
    {"!(scratch.a === 1)", "{}", true},
    {"scratch.a || scratch.b", "{\"b\": {}}", true},
    {"scratch.a", "{}", false},
    {"scratch.a", "{\"a\": true}", true},
    {"scratch.a", "{\"a\": \"to\"}", true},
    {"scratch.a", "{\"a\": \"from\"}", false},
    {"scratch.a ? to : from", "{}", false},
    {"scratch.a ? from : to", "{}", true},
    {"scratch.a ? scratch.b : 'to'", "{\"a\": 1}", false},
    {"scratch.a ? scratch.b : 'to'", "{\"a\": 1, \"b\": \"to\"}", true},
    {"scratch.a ? true : false", "{\"a\": 1}", true},
    {"'to'", "{}", true},
    {"true", "{}", true},
    {"false", "{}", false},
    {"undefined", "{}", false},
    {"scratch.a === true ? red-team : to", "{}", true},
};

START_TEST(absent_is_false)
{
    const struct mortise_cel_name names[] = {{"scratch", NULL}};
    const struct mortise_cel_scope scope = {.names = names, .n = 1};
    const char *expr = meanings[_i].expr;
    json_t *scratch = json_loads(meanings[_i].scratch, 0, NULL);
    const json_t *values[] = {scratch};
    const struct mortise_expr_env env = {.values = values};
    struct mortise_arena arena;
    struct mortise_cel_range where;
    struct mortise_cel *prog;
    const struct foreign_cond *c;
    bool nomem = false, taken = !meanings[_i].taken;

    mortise_arena_init(&arena, &test_mem);
    c = mortise_foreign_cond_parse(&arena, expr, strlen(expr), &nomem);
    ck_assert_msg(c != NULL, "%s is not read", expr);
    mortise_foreign_cond_print_edge(&out, &arena, c, "\"to\"");
    ck_assert_msg(mortise_cel_compile(&prog, &arena, out.p, out.n, &scope,
                                      &where, &err) == MORTISE_OK,
                  "%.*s: %s", (int)out.n, out.p, err.msg);
    ck_assert_msg(mortise_cel_test(prog, &env, &taken, NULL, &err) ==
                      MORTISE_OK,
                  "%s: %.*s: %s", expr, (int)out.n, out.p, err.msg);
    ck_assert_msg(taken == meanings[_i].taken, "%s of %s: %.*s is %d", expr,
                  meanings[_i].scratch, (int)out.n, out.p, taken);
    json_decref(scratch);
    mortise_arena_finish(&arena);
}
END_TEST

/* What is deep or long without end is no condition, and ends. */
START_TEST(conditions_are_bounded)
{
    static const struct {
        const char *head, *again, *tail;
    } shapes[] = {{"", "(", "x"},
                  {"", "!", "x"},
                  {"x", " && x", ""},
                  {"x", " || x", ""},
                  {"", "x ? x : ", "x"}};
    struct mortise_arena arena;
    bool nomem = false;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        mortise_arena_init(&arena, &test_mem);
        mortise_buf_clear(&out);
        mortise_buf_puts(&out, shapes[i].head);
        for (int k = 0; k < 200000; k++)
            mortise_buf_puts(&out, shapes[i].again);
        mortise_buf_puts(&out, shapes[i].tail);
        ck_assert_ptr_null(
            mortise_foreign_cond_parse(&arena, out.p, out.n, &nomem));
        ck_assert(!nomem);
        mortise_arena_finish(&arena);
    }
}
END_TEST

/* ---- schemas ------------------------------------------------------------------------
 */

/* What a state is to have is said of the whole of it, and theirs was never held
 * to that: a step that writes one field of two passes. */
START_TEST(required_of_state_is_dropped)
{
    static const char schema[] =
        "{\"type\": \"object\", \"required\": [\"a\"], \"minProperties\": 1, "
        "\"properties\": {\"required\": {\"type\": \"array\", \"items\": "
        "{\"type\": \"object\", \"required\": [\"q\"]}}}, \"oneOf\": "
        "[{\"required\": [\"x\"]}, {\"required\": [\"y\"]}]}";
    char text[2048];

    snprintf(text, sizeof text,
             "{\"id\": \"g\", \"stateSchema\": {\"input\": {\"required\": "
             "[\"i\"]}, \"scratch\": %s, \"artifacts\": {\"required\": "
             "[\"z\"]}}, \"nodes\": [" NODE "], \"edges\": []}",
             schema);
    ck_assert_int_eq(import_str(text), MORTISE_OK);
    ck_assert_uint_eq(diags.n, 4);
    expect("W1001",
           "'required' is not imported: it was never checked, because scratch");
    expect("W1001", "'minProperties' is not imported");
    expect(
        "W1001",
        "'required' is not imported: it was never checked, because artifacts");
    expect_out("  input:\n    required:\n      - i\n  scratch:\n    type: "
               "object\n    properties:\n      required:\n        type: "
               "array\n        items:\n          type: object\n    oneOf:\n");
    expect_out("      - required:\n          - x\n");
}
END_TEST

/* ---- plans -------------------------------------------------------------------------- */

#define LEAF(id, more)                                                         \
    "{\"id\": \"" id "\", \"goal\": \"x\", \"tool_allowlist\": []" more "}"

/* Texts of theirs are no templates, wherever ours would be: none is evaluated. */
START_TEST(no_text_is_a_template)
{
    static const char graph[] =
        "{\"id\":\"g\",\"nodes\":[{\"id\":\"a\",\"type\":\"gmi\","
        "\"executorConfig\":{\"type\":\"gmi\",\"instructions\":\"1 ${s}\"},"
        "\"executionMode\":\"single_turn\",\"effectClass\":\"read\","
        "\"checkpoint\":\"none\",\"personaPolicy\":{\"mood\":\"2 ${s}\"},"
        "\"discoveryPolicy\":{\"enabled\":true,\"query\":\"3 ${s}\"},"
        "\"memoryPolicy\":{\"read\":{\"semanticQuery\":\"4 ${s}\"}},"
        "\"llm\":{\"providerId\":\"5 ${s}\",\"model\":\"6 ${s}\"}},"
        "{\"id\":\"b\",\"type\":\"tool\",\"executorConfig\":{\"type\":"
        "\"tool\",\"toolName\":\"7 ${s}\",\"args\":{\"x\":[\"8 ${s}\"]}},"
        "\"executionMode\":\"single_turn\",\"effectClass\":\"read\","
        "\"checkpoint\":\"none\"}],\"edges\":[{\"source\":\"a\",\"target\":"
        "\"b\",\"type\":\"discovery\",\"discoveryQuery\":\"9 ${s}\"}]}";
    char words[32];

    ck_assert_int_eq(import_as("g.json", graph, strlen(graph)), MORTISE_OK);
    for (int i = 1; i <= 9; i++) {
        snprintf(words, sizeof words, "\"%d $${s}\"", i);
        expect_out(words);
    }
}
END_TEST

/* As a plan is written: the nodes in a list, also inside of a team. */
START_TEST(plan_of_a_list)
{
    char *list, *map;

    ck_assert_int_eq(
        import_str("{\"goal\": \"g\", \"nodes\": [" LEAF(
            "a",
            ", "
            "\"depends_on\": "
            "[]") ", " LEAF("b",
                            ", \"depends_on\": "
                            "[\"a\"]") ", " LEAF("c",
                                                 ", \"kind\": {\"team\": "
                                                 "{\"subgraph\": "
                                                 "{\"goal\": \"x\", \"nodes\": "
                                                 "[" LEAF("d",
                                                          "") "]}}}") "]}"),
        MORTISE_OK);
    ck_assert_uint_eq(diags.n, 0);
    list = strdup(out.p);
    ck_assert_int_eq(
        import_str(TASK("\"a\": " LEAF(
            "a",
            ", \"depends_on\": []") ", "
                                    "\"b\": " LEAF(
                                        "b",
                                        ", \"depends_on\": "
                                        "[\"a\"]") ", "
                                                   "\"c\": " LEAF(
                                                       "c",
                                                       ", "
                                                       "\"kind\": "
                                                       "{\"team\":"
                                                       " "
                                                       "{\"subgrap"
                                                       "h\": "
                                                       "{\"goal\":"
                                                       " \"x\", "
                                                       "\"nodes\":"
                                                       " "
                                                       "{\"d\":"
                                                       " " LEAF("d", "") "}}"
                                                                         "}"
                                                                         "}"))),
        MORTISE_OK);
    map = strdup(out.p);
    ck_assert_str_eq(list, map);
    free(list);
    free(map);
}
END_TEST

/* What only looks like what is carried over is listed. */
START_TEST(functions_and_catalogues_are_listed)
{
    ck_assert_int_eq(
        import_str("{\"id\": \"g\", \"reducers\": {\"scratch.q\": "
                   "\"(a,b)=>a\", \"scratch.p\": \"sum\"}, \"nodes\": [" NODE
                   "], \"edges\": []}"),
        MORTISE_OK);
    expect("W1001", "the reducer of 'scratch.q' is not imported");
    expect_out("    scratch.p: sum\n");
    ck_assert_int_eq(import_str(TASK("\"a\": {\"goal\": \"x\", \"role\": "
                                     "{\"display_name\": \"W\"}}")),
                     MORTISE_OK);
    expect("W1001", "'role' is not imported: a role must be an id");
    ck_assert_ptr_null(strstr(out.p, "role:"));
}
END_TEST

START_TEST(a_task_node_alone)
{
    ck_assert_int_eq(import_str(LEAF("a", ", \"depends_on\": []")), MORTISE_OK);
    ck_assert_uint_eq(diags.n, 0);
    expect_out("start: a\nnodes:\n  a:\n    type: leaf\n    goal: x\n");
    ck_assert_int_eq(import_str(LEAF("a b", ", \"depends_on\": [\"z\"]")),
                     MORTISE_OK);
    expect("W1001",
           "'depends_on' is not imported: this file has only one node");
    expect("W1002", "'a b' is named 'a_b'");
    expect_out("start: a_b\n");
}
END_TEST

/* ---- anything ---------------------------------------------------------------------
 */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A byte less, more or changed, somewhere, a few times. */
static size_t mutate(char *text, size_t n, uint32_t *seed)
{
    static const char bytes[] = "{}[]\":,\\0aA_-\x80\xff\n\t ";

    for (uint32_t k = next_random(seed) % 4 + 1; k > 0; k--) {
        size_t at = next_random(seed) % n;

        switch (next_random(seed) % 3) {
        case 0:
            text[at] = bytes[next_random(seed) % (sizeof bytes - 1)];
            break;
        case 1:
            memmove(text + at, text + at + 1, n-- - at - 1);
            break;
        default:
            text[at] = text[next_random(seed) % n];
        }
    }
    return n;
}

/* Whatever is done to a file: it comes over as something that reads back, or is
 * refused with a place in it. */
START_TEST(mutated)
{
    size_t n, taken = 0, refused = 0;
    char *good = read_file(files[_i].name, "json", &n);
    uint32_t seed = (uint32_t)_i + 1;

    for (int round = 0; round < 400; round++) {
        char *text = malloc(n + 1);
        size_t size;
        struct mortise_arena arena;
        struct mortise_yaml *root;
        int rv;

        memcpy(text, good, n + 1);
        size = mutate(text, n, &seed);
        rv = import(text, size);
        free(text);
        for (size_t i = 0; i < diags.n; i++)
            ck_assert_uint_ge(diags.list[i].span.line, 1);
        refused += rv == MORTISE_ECHECK;
        if (rv != MORTISE_OK) {
            ck_assert_int_eq(rv, MORTISE_ECHECK);
            continue;
        }
        taken++;
        mortise_arena_init(&arena, &test_mem);
        ck_assert_int_eq(
            mortise_yaml_parse(&root, &arena, "x", out.p, out.n, &diags),
            MORTISE_OK);
        mortise_arena_finish(&arena);
    }
    ck_assert_uint_gt(taken, 20);
    ck_assert_uint_gt(refused, 20);
    free(good);
}
END_TEST

/* Running out of memory anywhere is said, and leaves nothing. */
START_TEST(oom)
{
    size_t n;
    char *text = read_file(files[_i].name, "json", &n);
    int fail = 0, rv;

    do {
        again();
        test_mem_fail_at(fail++);
        rv = mortise_graph_import(&out, "g.json", text, n, &diags, &err);
        if (test_mem_failed())
            ck_assert_int_eq(rv, MORTISE_ENOMEM);
    } while (test_mem_failed());
    ck_assert_int_eq(rv, MORTISE_OK);
    ck_assert_int_gt(fail, 10);
    test_mem_fail_at(-1);
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("import");
    TCase *tc = tcase_create("import");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, golden, 0, N_FILES);
    tcase_add_loop_test(tc, head_has_all, 0, N_FILES);
    tcase_add_loop_test(tc, whole_is_checked, 0, N_FILES);
    tcase_add_test(tc, left_is_refused);
    tcase_add_test(tc, documented_fields_are_imported);
    tcase_add_test(tc, imported_fields_are_documented);
    tcase_add_test(tc, good_ids_stay);
    tcase_add_test(tc, strange_ids);
    tcase_add_test(tc, many_alike);
    tcase_add_test(tc, huge_id);
    tcase_add_loop_test(tc, wrong, 0, sizeof wrongs / sizeof wrongs[0]);
    tcase_add_test(tc, behind_a_pair);
    tcase_add_test(tc, deep);
    tcase_add_loop_test(tc, condition, 0,
                        sizeof conditions / sizeof conditions[0]);
    tcase_add_loop_test(tc, absent_is_false, 0,
                        sizeof meanings / sizeof meanings[0]);
    tcase_add_test(tc, conditions_are_bounded);
    tcase_add_test(tc, no_text_is_a_template);
    tcase_add_test(tc, required_of_state_is_dropped);
    tcase_add_test(tc, plan_of_a_list);
    tcase_add_test(tc, functions_and_catalogues_are_listed);
    tcase_add_test(tc, a_task_node_alone);
    tcase_add_loop_test(tc, mutated, 0, N_FILES);
    tcase_add_loop_test(tc, oom, 0, N_FILES);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
