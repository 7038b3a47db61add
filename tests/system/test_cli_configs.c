/* test_cli_configs.c -- the graphs of configs/ do what their own tests say, also
 * where they are killed, and run offline as their READMEs tell. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/test.h"

/* A copy of configs/, where things lie as they do in the tree. */
static void begin(void)
{
    char tree[PATH_MAX];

    ck_assert_ptr_nonnull(getcwd(tree, sizeof tree));
    desk_begin();
    desk_ok(
        "rm mortise.yaml && cp -r %s/configs . && cp %s configs/refund/pay/",
        tree, child_build("configs/acme.pay.so"));
    desk_ok("cp %s configs/files/server/", child_build("configs/filesd"));
}

static const char *const names[] = {"triage", "refund", "research", "files"};

START_TEST(their_tests_hold)
{
    static const char *const ways[] = {"", "--crash-everywhere"};

    child_run("$MORTISE config allow configs/%s/mortise.yaml", names[_i]);
    for (size_t i = 0; i < 2; i++) {
        desk_ok("$MORTISE test %s --deployment configs/%s/mortise.yaml "
                "configs/%s/%s.test.yaml",
                ways[i], names[_i], names[_i], names[_i]);
        desk_out(" passed, 0 failed");
    }
}
END_TEST

/* Offline, as its README says. */
START_TEST(research_finds_something)
{
    desk_ok("$MORTISE run configs/research/research.graph.yaml --id q --input "
            "'{\"question\": \"What did the tower cost, and who paid?\"}'");
    desk_ok("$MORTISE show q --json");
    desk_out("the rest was forgiven in 1919 (harbour.md).");
    desk_not_out("Not complete");
    desk_ok("$MORTISE show q --transcript --node judge");
    desk_out("who paid in the end");
    /* Where a token costs a thousand times as much there is no room for the
     * second call: what there is, is the report. */
    desk_ok(
        "sed -i 's/per_mtok: 0/per_mtok: 30/g' configs/research/mortise.yaml");
    desk_ok("$MORTISE run configs/research/research.graph.yaml --id r --input "
            "'{\"question\": \"What did the tower cost?\"}'");
    desk_out("budget_exceeded");
    desk_ok("$MORTISE show r --json");
    desk_out("Not complete: ");
}
END_TEST

/* ... and nobody is asked unless that is wanted. */
START_TEST(triage_may_be_advised)
{
    desk_ok("cp configs/triage/mortise.yaml configs/triage/triage.graph.yaml . "
            "&& cp configs/triage/sample.log calm.log && sed -i "
            "'/Failed\\|error\\|Killed\\|password\\|Bearer/d' calm.log");
    desk_ok("$MORTISE run triage.graph.yaml --id a --input '{\"log\": "
            "\"calm.log\"}'");
    desk_not_out("model_call");
    desk_ok("$MORTISE run triage.graph.yaml --id b --input '{\"log\": "
            "\"calm.log\", \"advise\": true}'");
    desk_out("model_call advise");
    desk_ok("cat triage-report.md");
    desk_out("## First\n\nLook at the lines with errors first.");
}
END_TEST

/* A model calls the tools of an MCP server, and nothing is written before a person
 * agreed; one whose tools are not what is pinned is not called. */
START_TEST(files_are_written_once_allowed)
{
    desk_ok("$MORTISE config allow configs/files/mortise.yaml");
    desk_ok("export MORTISE_DEPLOYMENT=configs/files/mortise.yaml; $MORTISE "
            "mcp pin --check");
    desk_out("files: 3 tools, as pinned\n");
    child_run("$MORTISE run configs/files/files.graph.yaml --id f --input "
              "'{\"task\": \"Which years are there?\"}'");
    desk_code(4);
    desk_out("write_file");
    desk_ok("test ! -e configs/files/notes/summary.md");
    desk_ok("export MORTISE_DEPLOYMENT=configs/files/mortise.yaml; $MORTISE "
            "approve $($MORTISE inbox f --ids)");
    desk_ok("grep 1904 configs/files/notes/summary.md");
    desk_ok("$MORTISE show f --json --deployment configs/files/mortise.yaml");
    desk_out("It is in summary.md");
    desk_ok("sed -i 's/\"digest\": \"..../\"digest\": \"0000/' "
            "configs/files/mortise.lock");
    child_run("$MORTISE run configs/files/files.graph.yaml --id g --input "
              "'{\"task\": \"Which years are there?\"}'");
    desk_ok("$MORTISE show g --json --deployment configs/files/mortise.yaml");
    desk_out("mcp.drift");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_configs");
    TCase *tc = tcase_create("cli_configs");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, their_tests_hold, 0,
                        sizeof names / sizeof names[0]);
    tcase_add_test(tc, research_finds_something);
    tcase_add_test(tc, triage_may_be_advised);
    tcase_add_test(tc, files_are_written_once_allowed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
