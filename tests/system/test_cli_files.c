/* test_cli_files.c -- graphs of several files, from the command line: what is
 * run is what was pinned, wherever the files are by then. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <leveldb/c.h>

#include "lib/desk.h"
#include "core/store/leveldb/key.h"

static void put_files(void)
{
    desk_ok("mkdir parts");
    desk_put("outer.graph.yaml",
             "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: outer}\n"
             "start: s\nnodes:\n"
             "  s:\n"
             "    type: subgraph\n"
             "    graph: parts/ask.graph.yaml\n"
             "    input_mapping: {input.what: input.topic}\n"
             "    output_mapping: {scratch.said: output.q.answer}\n"
             "    next: END\n");
    desk_put(
        "parts/ask.graph.yaml",
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: ask, version: 1.0.0}\n"
        "start: p\n"
        "nodes:\n"
        "  p: {type: subgraph, graph: prepare@2, next: q}\n"
        "  q: {type: human, prompt: 'Really ${input.what}?', next: END}\n");
    desk_put("parts/two.graph.yaml",
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: prepare, version: '2'}\n"
             "start: r\n"
             "nodes: {r: {type: router, routes: [{when: 'true', to: END}], "
             "default: END}}\n");
}

/* `check` and `run` find the files from the one that names them, wherever we
 * are; a run that waits goes on with what it pinned when the files are gone,
 * and one that is started anew says that they are. */
START_TEST(pinned)
{
    put_files();
    desk_ok("$MORTISE check outer.graph.yaml");
    desk_ok("cd parts && $MORTISE check ../outer.graph.yaml");
    child_run("$MORTISE run outer.graph.yaml --id r --input "
              "'{\"topic\": \"now\"}'");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("Really now?");
    desk_ok("rm -r parts && $MORTISE answer $($MORTISE inbox r --ids) --value "
            "'{\"approved\": true, "
            "\"answer\": \"yes\"}'");
    desk_ok("$MORTISE show r --json");
    desk_out("\"said\": \"yes\"");
    child_run("$MORTISE run outer.graph.yaml");
    desk_code(2);
    desk_err("error[E0315]: no graph in parts/ask.graph.yaml");
}
END_TEST

/* Whoever holds the store reads the files from where the one is who asks. */
START_TEST(elsewhere)
{
    put_files();
    desk_ok("mkdir far && ($MORTISE engine >far/engine.out 2>&1 & "
            "echo $! >far/pid); for i in $(seq 1200); do "
            "test -S state/control.sock && break; sleep 0.05; done");
    child_run("cd parts && $MORTISE run ../outer.graph.yaml --deployment "
              "../mortise.yaml --id r --input '{\"topic\": \"now\"}'");
    desk_code(4);
    desk_ok("kill $(cat far/pid)");
}
END_TEST

/* A change of a file makes another graph: runs that wait keep theirs. */
START_TEST(changed)
{
    put_files();
    child_run("$MORTISE run outer.graph.yaml --id r --input "
              "'{\"topic\": \"now\"}'");
    desk_code(4);
    desk_ok("sed -i 's/Really/Surely/' parts/ask.graph.yaml");
    child_run("$MORTISE run outer.graph.yaml --id s --input "
              "'{\"topic\": \"now\"}'");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("Really now?");
    desk_out("Surely now?");
    desk_ok("$MORTISE show r --json | grep digest >r.txt; "
            "$MORTISE show s --json | grep digest >s.txt; "
            "test -s r.txt && ! cmp -s r.txt s.txt");
}
END_TEST

/* What fails in all the ways that have a place in a file: of a node, of an
 * expression, of a schema; here, in a file beside, in one below and above. */
static void put_failures(void)
{
    static const char *const graphs[] = {"in/main.graph.yaml",
                                         "in/beside.graph.yaml",
                                         "in/below/part.yaml", "above.yaml"};
    static const char *const subs[] = {"beside", "./below/../below/part.yaml",
                                       "../../above.yaml", NULL};

    desk_ok("mkdir -p in/below other");
    for (size_t i = 0; i < 4; i++) {
        char text[2048];
        int n = snprintf(
            text, sizeof text,
            "apiVersion: mortise/v1\nkind: Graph\n"
            "metadata: {name: %s, version: '1'}\n"
            "state: {scratch: {properties: {n: {type: integer}}}}\n"
            "start: [a, b, c%s]\nnodes:\n"
            "  a: {type: tool, tool: tried/fail, args: {code: sad}, next: j}\n"
            "  b: {type: tool, tool: tried/echo, args: {value: \"${1 / "
            "input.zero}\"}, "
            "next: j}\n"
            "  c: {type: tool, tool: tried/echo, args: {value: x}, outputs: "
            "{scratch.n: output}, next: j}\n"
            "  j: {type: tool, tool: tried/echo, on_branch_error: collect, "
            "args: {value: \"${node.failed}\"}, next: z}\n"
            "  z: {type: tool, tool: tried/fail, args: {code: end}}\n",
            i == 1 ? "beside" : "g", subs[i] != NULL ? ", s" : "");

        if (subs[i] != NULL)
            snprintf(
                text + n, sizeof text - (size_t)n,
                "  s: {type: subgraph, graph: %s, input_mapping: "
                "{input.zero: input.zero}, on_error: {value: error}, next: "
                "j}\n",
                subs[i]);
        desk_put(graphs[i], text);
    }
}

/* What a run came to, but for its name and for times: as text. */
static char *came_to(size_t i, const char *store)
{
    static const char *const members[] = {"path", "error", "failed", "output"};
    json_t *show, *out, *nodes = json_array(), *node;
    char *text;
    size_t k;

    desk_ok("$MORTISE show r%zu --json --store %s", i, store);
    show = json_loads(child.out, 0, NULL);
    json_array_foreach(json_object_get(show, "nodes"), k, node)
    {
        json_t *one = json_object();

        for (size_t m = 0; m < 4; m++)
            json_object_set(one, members[m], json_object_get(node, members[m]));
        json_array_append_new(nodes, one);
    }
    out = json_pack("{s:o, s:O, s:O}", "nodes", nodes, "state",
                    json_object_get(show, "state"), "error",
                    json_object_get(show, "error"));
    text = json_dumps(out, JSON_SORT_KEYS | JSON_INDENT(1));
    json_decref(out);
    json_decref(show);
    return text;
}

/* The path as somebody typed it comes to nothing that is kept: the same state,
 * the same errors and records, whoever runs it from where, in a store that has
 * the graph already, under another path, and in a fresh one. */
START_TEST(spelled_in_any_way)
{
    static const struct {
        const char *line, *store;
    } ways[] = {
        {"$MORTISE run in/main.graph.yaml", "state"},
        {"$MORTISE run ./in/../in/main.graph.yaml", "state"},
        {"$MORTISE run $PWD/in/main.graph.yaml --store fresh1", "fresh1"},
        {"$MORTISE run $PWD/in/main.graph.yaml --store state", "state"},
        {"cd in && $MORTISE run main.graph.yaml --store ../fresh2", "fresh2"},
        {"cd other && $MORTISE run ../in/main.graph.yaml --store ../fresh3",
         "fresh3"},
    };
    static const char *const places[] = {
        "\"main.graph.yaml:7:3\"",   "main.graph.yaml:8:",
        "\"beside.graph.yaml:7:3\"", "schema: beside.graph.yaml:",
        "\"below/part.yaml:7:3\"",   "\"../above.yaml:7:3\""};
    char *first = NULL;

    put_failures();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char *now;

        child_run("D=$PWD; %s --deployment $D/mortise.yaml --id r%zu "
                  "--input '{\"zero\": 0}'",
                  ways[i].line, i);
        desk_code(1);
        now = came_to(i, ways[i].store);
        for (size_t k = 0; i == 0 && k < sizeof places / sizeof *places; k++)
            ck_assert_msg(strstr(now, places[k]) != NULL, "no %s in %s",
                          places[k], now);
        if (first != NULL)
            ck_assert_str_eq(now, first);
        free(first);
        first = now;
    }
    free(first);
}
END_TEST

/* A FIFO where a file should be is refused in words, and nothing waits for a
 * writer; what the shell hands over as one is read. */
START_TEST(no_fifo_is_waited_for)
{
    static const char *const commands[] = {
        "check f.yaml",
        "check good.yaml --deployment f.yaml",
        "run f.yaml",
        "run good.yaml --input @f.yaml",
        "test f.yaml",
        "graph show f.yaml",
        "plugin check f.yaml",
        "config print --deployment f.yaml",
        "key list --trust fifos",
        "runs --store odd",
        "run good.yaml --store odd",
        "config print --deployment holes.yaml"};

    desk_ok("mkfifo f.yaml; mkdir fifos odd; mkfifo fifos/x.yaml odd/format");
    desk_put("good.yaml",
             "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
             "start: r\n"
             "nodes: {r: {type: router, routes: [{when: 'true', to: END}], "
             "default: END}}\n");
    desk_put("holes.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                           "store: {path: '${file:f.yaml}'}\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        child_run("timeout 60 $MORTISE %s </dev/null", commands[i]);
        ck_assert_msg(child.code > 0 && child.code < 100, "%s: %d %.400s",
                      commands[i], child.code, child.err);
        ck_assert_msg(strstr(child.err, "not a regular file") != NULL ||
                          strstr(child.out, "not a regular file") != NULL,
                      "%s: %.400s%.400s", commands[i], child.out, child.err);
    }
    desk_ok("cat good.yaml | $MORTISE check /dev/stdin");
    desk_ok("bash -c '$MORTISE check <(cat good.yaml)'");
}
END_TEST

/* Paths of a plugin's config count from the deployment, wherever the command is
 * given, and whatever other plugins make of the working directory and the umask. */
START_TEST(config_paths_count_from_the_deployment)
{
    desk_deploy("  # nothing more\nmemory: {plugin: local, config: {directory: "
                "kept}}");
    desk_ok("sed -i 's/^plugins: {/&config: {file: {roots: [.\\/out]}}, /' "
            "mortise.yaml && mkdir -p out elsewhere/out");
    desk_graph("w", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/wander, next: b}\n"
                    "  b: {type: tool, tool: file/write, args: {path: f.txt, "
                    "content: x}, next: END,\n"
                    "    memory_policy: {write: {auto_encode: true, scope: "
                    "global}}}\n");
    desk_ok("umask 022; cd elsewhere && $MORTISE run ../w.yaml --deployment "
            "../mortise.yaml");
    desk_ok("[ $(stat -c %%a out/f.txt) = 644 ] && [ -e kept/traces.db ] && "
            "[ ! -e elsewhere/out/f.txt ] && [ ! -e elsewhere/kept ]");
}
END_TEST

/* `ulimit -f` is a disk that is full, in words; the store goes on behind it. */
START_TEST(a_limit_on_files)
{
    desk_put("long.yaml",
             "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
             "start: q\n"
             "nodes: {q: {type: human, prompt: Well?}}\n");
    desk_ok("head -c 200000 /dev/zero | tr '\\0' x | "
            "sed 's/.*/{\"a\": \"&\"}/' >big.json");
    child_run("bash -c 'ulimit -f 64; $MORTISE run long.yaml --id r --input "
              "@big.json'");
    desk_code(1);
    desk_err("E_NO_SPACE");
    child_run("$MORTISE run long.yaml --id s --input @big.json");
    desk_code(4);
}
END_TEST

/* In the copy of the one graph that the store has, `was` is `is`, which is as
 * long. */
static void alter_stored_graph(const char *was, const char *is)
{
    leveldb_options_t *o = leveldb_options_create();
    leveldb_readoptions_t *r = leveldb_readoptions_create();
    leveldb_writeoptions_t *w = leveldb_writeoptions_create();
    char path[8192], *said = NULL, *value, *at;
    const char tag[] = {MORTISE_KEY_GRAPH};
    leveldb_iterator_t *it;
    const char *text, *key;
    leveldb_t *db;
    size_t n, key_size;

    snprintf(path, sizeof path, "%s/state/db", desk_dir);
    db = leveldb_open(o, path, &said);
    ck_assert_msg(said == NULL, "%s", said);
    it = leveldb_create_iterator(db, r);
    leveldb_iter_seek(it, tag, sizeof tag);
    ck_assert(leveldb_iter_valid(it));
    value = malloc(1 << 16);
    text = leveldb_iter_value(it, &n);
    ck_assert_uint_lt(n, 1 << 16);
    memcpy(value, text, n);
    value[n] = '\0';
    at = memmem(value, n, was, strlen(was));
    ck_assert_ptr_nonnull(at);
    memcpy(at, is, strlen(is));
    key = leveldb_iter_key(it, &key_size);
    leveldb_put(db, w, key, key_size, value, n, &said);
    ck_assert_msg(said == NULL, "%s", said);
    free(value);
    leveldb_iter_destroy(it);
    leveldb_close(db);
    leveldb_writeoptions_destroy(w);
    leveldb_readoptions_destroy(r);
    leveldb_options_destroy(o);
}

/* A graph that a run pinned and that this program does not take any more is
 * not told as though the file there were meant: it says which run, which
 * graph, whose copy, and what can be done. */
START_TEST(a_stored_graph_that_does_not_compile)
{
    static const char *const lines[] = {
        "show r",   "history r",
        "events r", "why r",
        "resume r", "answer $(cat ids) --value '{\"approved\": true}'"};

    desk_put("g.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                       "metadata: {name: g}\nstart: q\nnodes:\n"
                       "  q: {type: human, prompt: Really?, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox r --ids > ids");
    alter_stored_graph("type: human", "type: humxx");
    desk_ok("$MORTISE check g.yaml && $MORTISE runs");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        child_run("$MORTISE %s", lines[i]);
        ck_assert_msg(child.code != 0, "%s: %s", lines[i], child.out);
        desk_err("run r: the copy of graph g.yaml that the run stored at its "
                 "start (digest ");
        desk_err(") does not compile with this mortise");
        desk_err("Continue the run with the versions that it started with, or "
                 "start a new run");
        desk_err("'humxx'");
        desk_err("(E_BLOCKED)");
    }
}
END_TEST

/* A manifest has one limit, whoever reads it. */
START_TEST(a_manifest_has_one_limit)
{
    static const char *const readers[] = {
        "check big.plugin.yaml",
        "plugin inspect big.plugin.yaml",
        "plugin verify ./big.plugin.yaml",
        "plugin sign big.plugin.yaml x.so --key k.key --out out",
    };

    desk_ok("$MORTISE key new k -W && mkdir out && touch x.so");
    desk_ok("{ cat %s/plugins/tried.plugin.yaml; head -c 1100000 /dev/zero | "
            "tr '\\0' '#'; } >big.plugin.yaml",
            desk_plugins);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        child_run("$MORTISE %s 2>&1", readers[i]);
        desk_code(2);
        desk_out("error[E0102]: the manifest is larger than 1 MiB");
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_files");
    TCase *tc = tcase_create("files");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, pinned);
    tcase_add_test(tc, a_stored_graph_that_does_not_compile);
    tcase_add_test(tc, elsewhere);
    tcase_add_test(tc, changed);
    tcase_add_test(tc, spelled_in_any_way);
    tcase_add_test(tc, no_fifo_is_waited_for);
    tcase_add_test(tc, config_paths_count_from_the_deployment);
    tcase_add_test(tc, a_limit_on_files);
    tcase_add_test(tc, a_manifest_has_one_limit);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
