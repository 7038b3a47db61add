/* test_cli_files.c -- graphs of several files, from the command line: what is
 * run is what was pinned, wherever the files are by then. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

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
    desk_ok("rm -r parts && $MORTISE answer r --value '{\"approved\": true, "
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
            "echo $! >far/pid); for i in $(seq 200); do "
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

static Suite *suite(void)
{
    Suite *s = suite_create("cli_files");
    TCase *tc = tcase_create("files");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, pinned);
    tcase_add_test(tc, elsewhere);
    tcase_add_test(tc, changed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
