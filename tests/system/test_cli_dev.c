/* test_cli_dev.c -- the loop of who writes a plugin: build it, run it, sign
 * nothing; and everybody who looks at the run is told. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

/* A directory dev/ with the source manifest of `tried` and a build of it. */
static void put_build(void)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath("tests/plugins/tried.plugin.yaml", source));
    desk_ok("mkdir dev && sed s/1.0.0/1.0.1/ %s >dev/tried.plugin.yaml",
            source);
    desk_ok("cp %s dev/tried.so", child_build("tests/plugins/tried.so"));
    desk_ok("sed -i 's/1\\.0\\.0/1.0.1/g' dev/tried.so");
}

/* Another build of the same, that does the same: its digest is all. */
static void rebuild(void)
{
    desk_ok("printf more >>dev/tried.so");
}

static void deploy(const char *plugins)
{
    char text[16384];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins: %s\n"
             "trust: {dir: %s/trust.d}\n"
             "store: {path: ./state}\n",
             plugins, desk_plugins);
    desk_put("mortise.yaml", text);
}

static void begin(void)
{
    desk_begin();
    put_build();
    deploy("{dev: [./dev]}");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: human, prompt: go on?, next: b}\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
}

/* What was built runs, and the run says so wherever one looks: its events, the
 * list of runs, show and why. */
START_TEST(what_was_built_runs)
{
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE events r --json | grep '\"warning\"'");
    desk_out("\"seq\":2,");
    desk_out("\"code\":\"unsigned_plugin\"");
    desk_out("\"plugin\":\"tried\"");
    desk_ok("$MORTISE runs");
    desk_out("(unsigned plugin)");
    desk_ok("$MORTISE runs --json");
    desk_out("\"unsigned\":true");
    desk_ok("$MORTISE show r");
    desk_out("unsigned tried\n");
    desk_ok("$MORTISE why r | tr '\\n' ' '");
    desk_out("It uses, or has used, unsigned plugins: 'tried'.");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_ok("$MORTISE show r --json | tr -d '\\n '");
    desk_out("\"status\":\"completed\"");
    desk_out("\"unsigned\":[\"tried\"]");
}
END_TEST

/* So do those who look at plugins, each in its words. */
START_TEST(plugins_say_so)
{
    desk_ok("$MORTISE plugin list | grep ' tried\\|^tried'");
    desk_out("dev/tried.plugin.yaml  (unsigned)");
    desk_ok("$MORTISE plugin list --json | grep '\"tried\"'");
    desk_out("\"unsigned\":true");
    desk_ok("$MORTISE plugin inspect tried");
    desk_out("signed by   none (plugins.dev)");
    desk_ok("$MORTISE plugin verify tried");
    desk_out("tried: not signed; it would load only from plugins.dev");
    desk_ok("$MORTISE plugin verify dev/tried.plugin.yaml");
    desk_out("not signed");
    child_run("$MORTISE doctor");
    desk_code(0);
    desk_out("warn plugin      tried 1.0.1 is not signed");
    desk_ok("$MORTISE config print --resolved");
    desk_out("dev");
}
END_TEST

/* Built again, it is another: the run waits for somebody to say that it is
 * meant, and is told that it is a build. */
START_TEST(a_rebuild_is_accepted)
{
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    rebuild();
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_code(78);
    desk_out("recorded; blocked: ");
    desk_out("an unsigned build");
    desk_out("--accept-plugins");
    desk_ok("$MORTISE why r | tr '\\n' ' '");
    desk_out("(the installed one is tried 1.0.1, an unsigned build)");
    desk_ok("$MORTISE resume r --accept-plugins");
    desk_ok("$MORTISE events r --json | grep -c unsigned_plugin");
    ck_assert_str_eq(child.out, "2\n");
}
END_TEST

/* Where the deployment does not say dev, nothing unsigned runs; and a file of
 * another directory is not taken for one of this. */
START_TEST(elsewhere_it_is_refused)
{
    deploy("{path: [./dev]}");
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    desk_ok("$MORTISE plugin list");
    desk_out("is not signed");
    desk_out("plugins.dev");
    desk_ok("cp -r dev other");
    deploy("{dev: [./dev]}");
    child_run("$MORTISE plugin verify other/tried.plugin.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_err("is not signed");
}
END_TEST

/* A signed one in plugins.path comes first, and its runs say nothing. */
START_TEST(signed_ones_come_first)
{
    char plugins[8192];

    snprintf(plugins, sizeof plugins, "{dev: [./dev], path: [%s/plugins]}",
             desk_plugins);
    deploy(plugins);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE runs --json");
    desk_not_out("unsigned");
    desk_ok("$MORTISE show r --json");
    desk_not_out("unsigned");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_dev");
    TCase *tc = tcase_create("dev");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_was_built_runs);
    tcase_add_test(tc, plugins_say_so);
    tcase_add_test(tc, a_rebuild_is_accepted);
    tcase_add_test(tc, elsewhere_it_is_refused);
    tcase_add_test(tc, signed_ones_come_first);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
