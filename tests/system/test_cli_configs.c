/* test_cli_configs.c -- the graphs of configs/ do what their own tests say, also
 * where they are killed, and run offline as their READMEs tell. */
#include <jansson.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/test.h"

/* A directory of the copy, for deployments. */
static void name(const char *variable, const char *path)
{
    char whole[PATH_MAX + 64];

    snprintf(whole, sizeof whole, "%s/%s", desk_dir, path);
    setenv(variable, whole, 1);
}

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
    /* For deployments that are copied to the top. */
    name("DESK_SKILLS", "configs/desk/skills");
    name("NOTES_DIR", "configs/research/notes");
    name("REVIEW_DIR", "configs/review/change");
    name("TRIAGE_DIR", ".");
}

/* A directory, and a graph of it. */
static const struct {
    const char *dir, *graph;
} all[] = {{"triage", "triage"},     {"refund", "refund"},
           {"research", "research"}, {"research", "survey"},
           {"files", "files"},       {"desk", "desk"},
           {"review", "review"}};

/* Whatever was told may be expected, by its name and by those of its members. */
static void expect_what_was_told(const char *dir, const char *name)
{
    json_t *told, *cases = json_object(), *file, *one;
    char path[PATH_MAX], graph[64], *text;
    size_t i;

    desk_ok("$MORTISE test --json --deployment configs/%s/mortise.yaml "
            "configs/%s/%s.test.yaml",
            dir, dir, name);
    told = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(told);
    json_array_foreach(json_object_get(told, "cases"), i, one)
        json_object_set_new(cases,
                            json_string_value(json_object_get(one, "case")),
                            json_pack("{s:{s:O}}", "expect", "events",
                                      json_object_get(one, "events")));
    snprintf(graph, sizeof graph, "%s.graph.yaml", name);
    file = json_pack("{s:s, s:s, s:{s:s}, s:s, s:o}", "apiVersion",
                     "mortise/v1", "kind", "Test", "metadata", "name", "told",
                     "graph", graph, "cases", cases);
    snprintf(path, sizeof path, "configs/%s/told.test.yaml", dir);
    text = json_dumps(file, 0);
    ck_assert_ptr_nonnull(text);
    desk_put(path, text);
    free(text);
    child_run("$MORTISE check --deployment configs/%s/mortise.yaml %s", dir,
              path);
    desk_not_out("E0207");
    desk_not_out("W0905");
    json_decref(file);
    json_decref(told);
}

START_TEST(their_tests_hold)
{
    static const char *const ways[] = {"", "--crash-everywhere"};
    const char *dir = all[_i].dir, *graph = all[_i].graph;

    child_run("$MORTISE config allow configs/%s/mortise.yaml", dir);
    for (size_t i = 0; i < 2; i++) {
        desk_ok("$MORTISE test %s --deployment configs/%s/mortise.yaml "
                "configs/%s/%s.test.yaml",
                ways[i], dir, dir, graph);
        desk_out(" passed, 0 failed");
    }
    expect_what_was_told(dir, graph);
}
END_TEST

/* What the desk came to, of a run that asked for a refund. */
static void desk_refunded(const char *run)
{
    desk_ok("$MORTISE show %s --json", run);
    desk_out("to the cashier: We refund it; the reference is with us.");
    desk_ok("$MORTISE events %s --json", run);
    desk_out("\"chosen\":\"refunds\"");
    desk_out("\"id\":\"pay-back\"");
    desk_out("\"tool\":\"text/hash\"");
}

#define REFUND_OF(customer)                                                    \
    "--input '{\"customer\": \"" customer "\", \"message\": \"My kettle came " \
    "broken, I want a refund\"}'"
#define REFUND REFUND_OF("4711")

/* What a customer was told, by the memory's file alone, is so many times that. */
static void told(const char *customer, int times)
{
    static const char sql[] =
        "SELECT t.content FROM trace t JOIN place p ON p.n = t.place WHERE "
        "p.scope = 2 AND p.key = ?1";
    char path[PATH_MAX + 64];
    sqlite3_stmt *s;
    sqlite3 *db;
    int n = 0;

    snprintf(path, sizeof path, "%s/.mortise/memory/local/traces.db", desk_dir);
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    sqlite3_bind_text(s, 1, customer, -1, SQLITE_STATIC);
    for (; sqlite3_step(s) == SQLITE_ROW; n++)
        ck_assert_str_eq((const char *)sqlite3_column_text(s, 0),
                         "We refund it; the reference is with us.");
    sqlite3_finalize(s);
    sqlite3_close(db);
    ck_assert_msg(n == times, "%s was told %d times, not %d", customer, n,
                  times);
}

/* Offline: the tools, the skill and the department are found. */
START_TEST(the_desk_finds_what_it_needs)
{
    desk_ok("cp configs/desk/mortise.yaml . && $MORTISE config allow "
            "mortise.yaml; $MORTISE run configs/desk/desk.graph.yaml --id a "
            "--deployment mortise.yaml " REFUND);
    desk_refunded("a");
    desk_ok("$MORTISE run configs/desk/desk.graph.yaml --id b --deployment "
            "mortise.yaml --input '{\"customer\": \"4712\", \"message\": "
            "\"Where is my parcel?\"}'");
    desk_ok("$MORTISE show b --json");
    desk_out("to the warehouse: The carrier has it.");
    desk_ok(
        "$MORTISE run configs/desk/desk.graph.yaml --id c --deployment "
        "mortise.yaml --input '{\"customer\": \"4713\", \"message\": \"Good "
        "morning\"}'");
    desk_ok("$MORTISE show c --json");
    desk_out("to somebody: Somebody of us will look into it.");
}
END_TEST

/* What a customer was told is known in the next run, and to nobody else's. */
START_TEST(the_desk_knows_its_customers)
{
    static const char asks[] =
        "$MORTISE run configs/desk/desk.graph.yaml --id %s --deployment "
        "mortise.yaml --input '{\"customer\": \"%s\", \"message\": \"Is there "
        "any news?\"}'";

    desk_ok("cp configs/desk/mortise.yaml . && $MORTISE config allow "
            "mortise.yaml; $MORTISE run configs/desk/desk.graph.yaml --id a "
            "--deployment mortise.yaml " REFUND);
    desk_ok(asks, "b", "4711");
    desk_ok("$MORTISE show b --json");
    desk_out("Your money is on its way, as we told you.");
    desk_ok(asks, "c", "4712");
    desk_ok("$MORTISE show c --json");
    desk_out("Somebody of us will look into it.");
}
END_TEST

/* Killed after a while that is another one each time, it goes on with what was
 * found, comes to the same, and remembers it once. */
START_TEST(the_desk_is_killed)
{
    char run[16];
    int admitted = 0;

    desk_ok("cp configs/desk/mortise.yaml . && $MORTISE config allow "
            "mortise.yaml; true");
    for (int ms = 10; ms <= 200; ms += 10) {
        snprintf(run, sizeof run, "k%d", ms);
        child_run("$MORTISE run configs/desk/desk.graph.yaml --id %s "
                  "--deployment mortise.yaml " REFUND_OF(
                      "%s") " & sleep "
                            "0.%03d; kill -9 $!; wait $!",
                  run, run, ms);
        child_run("$MORTISE show %s --json", run);
        if (child.code != 0)
            continue; /* nothing was admitted yet */
        child_run("$MORTISE resume %s", run);
        desk_refunded(run);
        told(run, 1);
        admitted++;
    }
    ck_assert_int_gt(admitted, 0);
}
END_TEST

/* Offline, as its README says. */
START_TEST(research_finds_something)
{
    desk_ok("$MORTISE config allow configs/research/mortise.yaml");
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

/* ---- workers, killed -------------------------------------------------------- */

/* The events among what was printed; the caller's. */
static json_t *events_of(const char *printed)
{
    json_t *events = json_array(), *one;

    for (const char *at = printed, *end; (end = strchr(at, '\n')) != NULL;
         at = end + 1) {
        one = json_loadb(at, (size_t)(end - at), 0, NULL);
        if (json_is_string(json_object_get(one, "type")))
            json_array_append(events, one);
        json_decref(one);
    }
    return events;
}

static bool is_of(const json_t *event, const char *type)
{
    return strcmp(json_string_value(json_object_get(event, "type")), type) == 0;
}

/* {PATH: how often it ended}, by what is on disk; the caller's. */
static json_t *ended(const char *run)
{
    json_t *ends = json_object(), *events, *one;
    size_t i;

    desk_ok("$MORTISE events %s --json", run);
    events = events_of(child.out);
    json_array_foreach(events, i, one)
    {
        const char *path = json_string_value(json_object_get(one, "path"));

        if (is_of(one, "node_end"))
            json_object_set_new(
                ends, path,
                json_integer(json_integer_value(json_object_get(ends, path)) +
                             1));
    }
    json_decref(events);
    return ends;
}

/* Who was done then begins, asks and calls no more after that. */
static void assert_none_again(const json_t *done, const char *printed)
{
    static const char *const acts[] = {"node_start", "model_call", "tool_call"};
    json_t *events = events_of(printed), *one;
    size_t i;

    json_array_foreach(events, i, one)
    {
        const char *path = json_string_value(json_object_get(one, "path"));

        for (size_t k = 0; k < sizeof acts / sizeof acts[0]; k++)
            ck_assert_msg(!is_of(one, acts[k]) ||
                              json_object_get(done, path) == NULL,
                          "%s of %s, which was done", acts[k], path);
    }
    json_decref(events);
}

static void assert_each_ended_once(const char *run, size_t n)
{
    json_t *ends = ended(run), *times;
    const char *path;

    json_object_foreach(ends, path, times)
        ck_assert_msg(json_integer_value(times) == 1, "%s ended %d times", path,
                      (int)json_integer_value(times));
    ck_assert_uint_eq(json_object_size(ends), n);
    json_decref(ends);
}

/* `how` is run until it has printed so many lines, and killed; it goes on from there,
 * to `code`, and nothing is done again.  How many nodes were done when it died. */
static size_t kill_behind(const char *how, const char *run, unsigned lines,
                          int code)
{
    json_t *done;
    size_t n;

    child_run("rm -f out; touch out; $MORTISE run %s --id %s --json >>out & "
              "p=$!; until [ $(wc -l <out) -ge %u ] || grep -q '\"status\"' "
              "out; do :; done; kill -9 $p; wait $p",
              how, run, lines);
    done = ended(run);
    n = json_object_size(done);
    child_run("$MORTISE resume %s --json", run);
    desk_code(code);
    assert_none_again(done, child.out);
    json_decref(done);
    return n;
}

/* Killed behind each of its first lines: once at least where some is done, and not
 * all of it. */
static void kill_everywhere(const char *how, size_t nodes, int code)
{
    size_t between = 0;
    char run[16];

    for (unsigned lines = 1; lines <= 46; lines += 5) {
        size_t n;

        snprintf(run, sizeof run, "k%u", lines);
        n = kill_behind(how, run, lines, code);
        between += n > 0 && n < nodes;
        assert_each_ended_once(run, nodes);
    }
    ck_assert_uint_gt(between, 0);
}

#define SURVEY                                                                 \
    "configs/research/survey.graph.yaml --deployment mortise.yaml --input "    \
    "'{\"subject\": \"the "                                                    \
    "lighthouse\"}'"

/* Workers answer what another one asked, and of their answers one text is made,
 * offline. */
START_TEST(a_survey_is_made)
{
    desk_ok("cp configs/research/mortise.yaml .");
    desk_ok("$MORTISE run --id s " SURVEY);
    desk_ok("$MORTISE show s --json");
    desk_out("for which the council lent 12,000 crowns (harbour.md).\\n\"");
    assert_each_ended_once("s", 7);
}
END_TEST

/* No question that was answered is asked again. */
START_TEST(a_survey_is_killed)
{
    desk_ok("cp configs/research/mortise.yaml .");
    kill_everywhere(SURVEY, 7, 0);
    desk_ok("$MORTISE show k1 --json");
    desk_out("for which the council lent 12,000 crowns (harbour.md).\\n\"");
}
END_TEST

#define REVIEW                                                                 \
    "configs/review/review.graph.yaml --deployment mortise.yaml --input "      \
    "'{\"change\": \"copy.diff\"}'"

/* Three levels deep: a person sees what the team came to, and posts it. */
static void post(const char *run)
{
    desk_ok("test ! -e configs/review/change/review.txt");
    desk_ok("$MORTISE approve $($MORTISE inbox %s --ids)", run);
    desk_ok("cat configs/review/change/review.txt");
    desk_out("Not yet. With n == room the zero is written behind the end");
    desk_ok("rm configs/review/change/review.txt");
}

START_TEST(a_team_reviews)
{
    desk_ok("cp configs/review/mortise.yaml .");
    child_run("$MORTISE run --id v " REVIEW);
    desk_code(4);
    desk_out("review/correctness/logic");
    assert_each_ended_once("v", 10);
    desk_ok("$MORTISE show v");
    desk_out("  done              review/correctness/logic            leaf  ");
    desk_out("  done              review/correctness/logic/file__read tool  ");
    desk_ok("$MORTISE show v --transcript");
    desk_out("  user     review/correctness/tests\n");
    post("v");
    assert_each_ended_once("v", 12);
    /* ... or does not. */
    child_run("$MORTISE run --id w " REVIEW);
    desk_ok("$MORTISE reject $($MORTISE inbox w --ids)");
    desk_ok("test ! -e configs/review/change/review.txt");
}
END_TEST

/* No member that was done works again, in whichever team. */
START_TEST(a_team_is_killed)
{
    desk_ok("cp configs/review/mortise.yaml .");
    kill_everywhere(REVIEW, 10, 4);
    post("k1");
    assert_each_ended_once("k1", 12);
}
END_TEST

/* Nobody is asked for advice on triage unless that is wanted. */
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
    tcase_add_loop_test(tc, their_tests_hold, 0, sizeof all / sizeof all[0]);
    tcase_add_test(tc, the_desk_finds_what_it_needs);
    tcase_add_test(tc, the_desk_knows_its_customers);
    tcase_add_test(tc, the_desk_is_killed);
    tcase_add_test(tc, research_finds_something);
    tcase_add_test(tc, a_survey_is_made);
    tcase_add_test(tc, a_survey_is_killed);
    tcase_add_test(tc, a_team_reviews);
    tcase_add_test(tc, a_team_is_killed);
    tcase_add_test(tc, triage_may_be_advised);
    tcase_add_test(tc, files_are_written_once_allowed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
