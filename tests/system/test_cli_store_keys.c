/* test_cli_store_keys.c -- each store gives its effects keys of their own. */
#include <stdlib.h>
#include <unistd.h>

#include "lib/desk.h"

static char root[4096];

/* `counts` appends the key of each effect to the file `sink`. */
static void begin(void)
{
    desk_begin();
    desk_put("mortise.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: keys}\n"
             "plugins: {dev: [./dev], config: {counts: {file: ./sink}}}\n");
    desk_ok("mkdir dev && touch sink && "
            "cp %s/tests/plugins/counts.plugin.yaml dev",
            root);
    desk_ok("cp %s dev", child_build("tests/plugins/counts.so"));
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    desk_graph("two", "start: a\nnodes:\n"
                      "  a: {type: tool, tool: counts/count, args: {n: 1}, "
                      "next: b}\n"
                      "  b: {type: tool, tool: counts/count, args: {n: 2}}\n");
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
}

/* The same id, graph and input in two stores, and in one that was made anew, are
 * three runs for the system behind the plugin: no key is used twice. */
START_TEST(stores_have_keys_of_their_own)
{
    desk_ok("$MORTISE run two.yaml --id nightly --store one");
    desk_ok("$MORTISE run two.yaml --id nightly --store two");
    desk_ok("rm -rf one && $MORTISE run two.yaml --id nightly --store one");
    desk_ok("wc -l <sink");
    desk_out("6");
    desk_ok("sort -u sink | wc -l");
    desk_out("6");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_store_keys");
    TCase *tc = tcase_create("keys");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, stores_have_keys_of_their_own);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
