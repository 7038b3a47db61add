/* test_memory_kill.c -- a run that writes to its memory as it goes is killed at each
 * call around that write.
 *
 * The memory is a file of its own, so its write and the run's commit are two.  What
 * the node gives is another thing in each life of the process, as a model's reply is.
 * Wherever the process dies, the memory has what the run has, and nothing else; so
 * do the vectors that a model makes of its traces (`embed`).
 *
 * And the file is never left half made where the disk refuses a call.
 *
 * tests/lib/powercut.c counts the calls and kills; MORTISE_MATRIX=whole kills at each
 * of them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sqlite3.h>

#include "lib/desk.h"
#include "lib/matrix.h"

static const char graph[] =
    "start: now\n"
    "memory_consistency: live\n"
    "nodes:\n"
    "  now: {type: tool, tool: time/now, args: {}, next: END,\n"
    "    memory_policy: {write: {auto_encode: true, scope: global}}}\n";

static void deploy(const char *durability, bool embeds)
{
    char text[512];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
             "store: {path: state, durability: %s}\n"
             "models: {e: {provider: scripted, model: e, replies: []}}\n"
             "memory: {plugin: local%s}\n",
             durability, embeds ? ", config: {embed: e}" : "");
    desk_put("mortise.yaml", text);
    desk_graph("g", graph);
}

/* Run it; the process dies at the n-th call, or (0) not, and its calls are listed. */
static int run_watched(size_t n)
{
    char count[sizeof desk_dir + 32] = "";

    if (n == 0)
        snprintf(count, sizeof count, "POWERCUT_COUNT=%s/count", desk_dir);
    return child_run("rm -rf state books books.d; POWERCUT_STATE=%s/books "
                     "POWERCUT_ROOTS=%s/state %s POWERCUT_KILL=%zu "
                     "LD_PRELOAD=%s exec $MORTISE run g.yaml --id r",
                     desk_dir, desk_dir, count, n,
                     child_build("tests/powercut.so"));
}

/* The number of the first or the last call to a file whose name has this; 0: none. */
static size_t call_to(const char *name, bool last)
{
    child_run("grep -n '%s' count | cut -d: -f1 | %s -1", name,
              last ? "tail" : "head");
    return (size_t)strtoul(child.out, NULL, 10);
}

/* One trace, and its text is the run's artifact. */
static void is_one_reply(size_t n)
{
    json_t *show, *trace, *content;

    desk_ok("$MORTISE show r --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    desk_ok("$MORTISE memory export");
    trace = json_loads(child.out, 0, NULL); /* more than a line is none */
    ck_assert_msg(trace != NULL, "killed at call %zu: the memory has %s", n,
                  child.out);
    content = json_loads(json_string_value(json_object_get(trace, "content")),
                         0, NULL);
    ck_assert_msg(
        json_equal(content, json_object_get(
                                json_object_get(json_object_get(show, "state"),
                                                "artifacts"),
                                "now")),
        "killed at call %zu: the memory has %s", n, child.out);
    json_decref(show);
    json_decref(trace);
    json_decref(content);
}

/* A number that this statement gives. */
static int count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s;
    int n;

    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    n = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return n;
}

/* The trace has its vector, at the latest after a search, and nothing else has
 * one or waits for one. */
static void is_one_vector(size_t n)
{
    char path[PATH_MAX + 64];
    sqlite3 *db;

    desk_ok("$MORTISE memory search unix");
    snprintf(path, sizeof path, "%s/state/memory/local/traces.db", desk_dir);
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    ck_assert_msg(
        count(db, "SELECT count(*) FROM vector") == 1 &&
            count(db, "SELECT count(*) FROM due") == 0 &&
            count(db, "SELECT count(*) FROM vector v JOIN trace t "
                      "ON t.n = v.trace") == 1,
        "killed at call %zu: it is not the trace alone that has a vector", n);
    sqlite3_close(db);
}

START_TEST(the_memory_has_what_the_run_has)
{
    static const struct {
        const char *durability;
        bool embeds;
    } modes[] = {{"sync", false}, {"exit", false}, {"sync", true}};
    size_t first, last, killed = 0;

    deploy(modes[_i].durability, modes[_i].embeds);
    run_watched(0);
    desk_code(0);
    is_one_reply(0);
    if (modes[_i].embeds)
        is_one_vector(0);
    first = call_to("sync .*traces.db-wal", false);
    last = call_to("state/db/", true);
    ck_assert(first > 0 && first < last);
    for (size_t n = first; n <= last; n++) {
        if (!matrix_takes(n - first, 3))
            continue;
        if (run_watched(n) == 0)
            continue;
        child_run("$MORTISE resume r");
        if (strstr(child.err, "E_NOT_FOUND") != NULL)
            continue; /* it was not admitted yet */
        killed++;
        ck_assert_msg(child.code == 0, "killed at call %zu: %s%s", n, child.out,
                      child.err);
        is_one_reply(n);
        if (modes[_i].embeds)
            is_one_vector(n);
    }
    ck_assert_uint_gt(killed, 0);
}
END_TEST

/* One call to the disk fails while the memory creates its file.  The next command
 * creates the file, or uses it if that call did not matter. */
START_TEST(a_disk_that_refuses_leaves_no_half_file)
{
    static const char *const errors[] = {"EIO", "ENOSPC"};
    char command[3 * PATH_MAX];
    size_t first, last, failed = 0;

    deploy("sync", false);
    desk_put("traces.jsonl",
             "{\"id\":\"n1\",\"type\":\"semantic\",\"scope\":\"global\","
             "\"content\":\"Anna\",\"strength\":1,"
             "\"created_at\":1790000000000}\n");
    snprintf(command, sizeof command,
             "rm -rf state books books.d; POWERCUT_STATE=%s/books "
             "POWERCUT_ROOTS=%s/state/memory LD_PRELOAD=%s",
             desk_dir, desk_dir, child_build("tests/powercut.so"));
    desk_ok("%s POWERCUT_COUNT=%s/count $MORTISE memory import traces.jsonl",
            command, desk_dir);
    first = call_to("traces.db.new", false);
    last = call_to("rename .*traces.db", true);
    ck_assert(first > 0 && first < last);
    for (size_t n = first; n <= last; n++) {
        if (!matrix_takes(n - first, 3))
            continue;
        child_run("%s POWERCUT_FAIL=any:%zu:%s:once exec $MORTISE memory "
                  "import traces.jsonl",
                  command, n, errors[_i]);
        failed += child.code != 0;
        child_run("$MORTISE memory import traces.jsonl && "
                  "$MORTISE memory search Anna");
        ck_assert_msg(child.code == 0 && strstr(child.out, "n1") != NULL,
                      "call %zu failed: %s%s", n, child.out, child.err);
    }
    ck_assert_uint_gt(failed, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("memory_kill");
    TCase *tc = tcase_create("memory");

    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, the_memory_has_what_the_run_has, 0, 3);
    tcase_add_loop_test(tc, a_disk_that_refuses_leaves_no_half_file, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
