/* test_cli_old_store.c -- a run keeps the rules and the keys of its admission.
 *
 * tests/stores/0920f9b is a store that a program of that revision made, which
 * recorded no rules and had nothing of the store in its keys.  Its runs are
 * these, with the plugins `counts` (the key of each effect becomes a line of the
 * file `sink`) and `tried` (tests/plugins):
 *
 *   judged  failed: r happened, and its output broke the schema of the node
 *   doubt   the process died while s happened
 *
 * What they had done is done: nothing of it is repeated, and what is in doubt or
 * still to come has the key that it would have had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"

#define KEY_JUDGED_A                                                           \
    "f21fa1631e1e0d624b9d6f5cb5422cfddf505485eb05ac8bbd9f12c25e841c7d"
#define KEY_DOUBT_S                                                            \
    "9f2a29bae00ae9b45d207f268b8f4c7674eb64b2bf8523a23056e41749a1071f"
#define KEY_DOUBT_Z                                                            \
    "aeac377c094b7381d11855b84db883677c7511b2114480523abf03a2cd196814"

static char root[4096];

static void put_graph(void)
{
    desk_graph("judged",
               "start: a\nnodes:\n"
               "  a: {type: tool, tool: counts/count, args: {n: 1}, next: r}\n"
               "  r: {type: tool, tool: counts/count, args: {n: 2}, "
               "output_schema: {type: object, required: [more]}}\n");
}

static void begin(void)
{
    desk_begin();
    desk_put("mortise.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: old}\n"
             "plugins: {dev: [./dev], config: {counts: {file: ./sink}}}\n"
             "store: {path: ./store}\n");
    desk_ok("mkdir dev && cp -r %s/tests/stores/0920f9b store && chmod -R "
            "go-rwx store && touch sink",
            root);
    desk_ok("cp %s/tests/plugins/counts.plugin.yaml "
            "%s/tests/plugins/tried.plugin.yaml dev",
            root, root);
    desk_ok("cp %s dev", child_build("tests/plugins/counts.so"));
    desk_ok("cp %s dev", child_build("tests/plugins/tried.so"));
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    put_graph();
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
}

/* Everything that happened since the store was made. */
static void assert_sink(const char *want)
{
    child_run("cat sink");
    ck_assert_str_eq(child.out, want);
}

static void assert_run(const char *run, const char *status)
{
    desk_ok("$MORTISE show %s --json", run);
    child_run("$MORTISE show %s --json | grep '^ *\"status\"' | tail -n 1; "
              "$MORTISE runs | grep '^%s '",
              run, run);
    ck_assert_msg(strstr(child.out, status) != NULL, "%s is not %s: %s", run,
                  status, child.out);
}

/* r is tried again, and its effect is known by the key that was recorded: it is
 * asked what came of it, which its schema refuses. */
START_TEST(what_was_recorded_is_not_done_again)
{
    child_run("$MORTISE resume judged --accept-plugins");
    desk_code(5);
    ck_assert_ptr_nonnull(strstr(child.out, "what came of it is refused"));
    assert_run("judged", "in_doubt");
    assert_sink("");
}
END_TEST

/* s is in doubt under the key that it was called with, and what comes after it
 * goes by the old formula, too. */
START_TEST(doubts_keep_their_keys)
{
    json_t *show;

    child_run("$MORTISE resume doubt --accept-plugins");
    desk_code(5);
    desk_ok("$MORTISE show doubt --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_array_get(json_object_get(show, "pending"), 0),
                         "idempotency_key")),
                     KEY_DOUBT_S);
    json_decref(show);
    assert_sink("");
    desk_ok("touch struck && $MORTISE resolve doubt $($MORTISE show doubt "
            "--json | grep -o '\"id\": *\"[0-9a-f]*\"' | head -n 1 | cut -d"
            "'\"' -f4) --retry");
    assert_run("doubt", "completed");
    assert_sink(KEY_DOUBT_Z "\n");
}
END_TEST

/* The same id, graph and input in an old store and in a new one: another run to
 * whoever is asked to do something. */
START_TEST(stores_have_keys_of_their_own)
{
    char *first, *second;

    child_run("$MORTISE run judged.yaml --id nightly --store one");
    child_run("$MORTISE run judged.yaml --id nightly --store two");
    child_run("rm -rf one && $MORTISE run judged.yaml --id nightly --store "
              "one");
    child_run("$MORTISE run judged.yaml --id nightly"); /* the old store */
    child_run("sort -u sink | wc -l; wc -l <sink; grep -c " KEY_JUDGED_A
              " sink");
    first = strtok(child.out, "\n");
    second = strtok(NULL, "\n");
    ck_assert_str_eq(first, "8");
    ck_assert_str_eq(second, "8");
    ck_assert_str_eq(strtok(NULL, "\n"), "0");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_old_store");
    TCase *tc = tcase_create("old store");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, what_was_recorded_is_not_done_again);
    tcase_add_test(tc, doubts_keep_their_keys);
    tcase_add_test(tc, stores_have_keys_of_their_own);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
