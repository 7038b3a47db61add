/* `mortise check --plugins`: what reading a graph cannot tell of its plugins.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

static void sign_all(void)
{
    static const char *const names[] = {"create_crashes",   "create_fails",
                                        "create_hangs",     "no_reconcile",
                                        "hangs_in_quiesce", "hangs_in_destroy",
                                        "leaves_early",     "does_not_quiesce"};

    desk_sign();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char manifest[256], object[256], source[4096];

        snprintf(manifest, sizeof manifest, "tests/plugins/%s.plugin.yaml",
                 names[i]);
        snprintf(object, sizeof object, "tests/plugins/%s.so", names[i]);
        ck_assert_ptr_nonnull(realpath(manifest, source));
        desk_ok("$MORTISE plugin sign %s %s --key k.key --out plugins", source,
                child_build(object));
    }
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name broken "
            "--plugins 'create_*,no_reconcile,hangs_*,leaves_early,"
            "does_not_quiesce' --in-process");
}

static const char graph[] =
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: create_fails/run, args: {}, next: b}\n"
    "  b: {type: tool, tool: create_crashes/run, args: {}, next: c}\n"
    "  c: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n";

/* Each that does not come up is a finding where it is needed first, whatever
 * the others did; nothing is left behind.  Without --plugins none runs. */
START_TEST(refusals_and_crashes_are_findings)
{
    desk_graph("g", graph);
    desk_ok("$MORTISE check g.yaml");
    ck_assert_str_eq(child.out, "");
    child_run("mkdir tmp; TMPDIR=$PWD/tmp $MORTISE check --plugins g.yaml; "
              "code=$?; find tmp; exit $code");
    desk_code(2);
    desk_out("g.yaml:6:3: error[E0608]: 'create_fails' does not start: ");
    desk_out("the moon is not full");
    desk_out(
        "g.yaml:7:3: error[E0608]: 'create_crashes' does not start: signal 6");
    desk_not_out("tried");
    desk_not_out("mortise-check");
    desk_ok("test ! -e state"); /* the deployment's own store is not touched */
    child_run("CREATE_CRASHES=no $MORTISE check --plugins --json g.yaml");
    desk_code(2);
    desk_out("create_fails");
    desk_not_out("create_crashes");
}
END_TEST

/* One that does not return is given up, and so is its process. */
START_TEST(hangs_are_findings)
{
    desk_graph("h", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: create_hangs/run, args: {}, "
                    "next: END}\n");
    child_run("$MORTISE check --plugins h.yaml");
    desk_code(2);
    desk_out("h.yaml:6:3: error[E0608]: 'create_hangs' does not start: "
             "create() did not return within 10 s");
}
END_TEST

/* One that comes up and does not stop is not blamed on create(). */
START_TEST(what_does_not_stop_is_named)
{
    static const struct {
        const char *plugin, *words;
    } stops[] = {
        {"hangs_in_quiesce",
         "'hangs_in_quiesce' does not stop: quiesce() did not return within 10 "
         "s"},
        {"hangs_in_destroy",
         "'hangs_in_destroy' does not stop: destroy() did not return within 10 "
         "s"},
        {"does_not_quiesce",
         "'does_not_quiesce' does not stop: quiesce() failed"},
    };
    char text[256];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n  a: {type: tool, tool: %s/run, args: {}, "
             "next: END}\n",
             stops[_i].plugin);
    desk_graph("h", text);
    child_run("$MORTISE check --plugins h.yaml");
    desk_code(2);
    desk_out(stops[_i].words);
    desk_not_out("create()");
}
END_TEST

/* One that ends the process is named with the function in which it did, even if it
 * ends with 0. */
START_TEST(what_ends_the_process_is_named)
{
    static const char *const ways[] = {"exit", "_exit", "exit_group"};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        desk_graph("h", "start: a\nnodes:\n  a: {type: tool, tool: "
                        "leaves_early/run, args: {}, next: END}\n");
        child_run("LEAVES_EARLY='create %s' $MORTISE check --plugins h.yaml",
                  ways[i]);
        desk_code(2);
        desk_out("'leaves_early' does not start: create() ended the process");
        child_run("LEAVES_EARLY='destroy %s' $MORTISE check --plugins h.yaml",
                  ways[i]);
        desk_code(2);
        desk_out("'leaves_early' does not stop: quiesce() or destroy() ended "
                 "the process");
    }
    desk_ok("$MORTISE check --plugins h.yaml");
}
END_TEST

/* A config that its plugin refuses is a finding of the deployment's, at its
 * place and once, and no plugin of the graph is blamed for it. */
START_TEST(a_config_that_is_refused)
{
    desk_deploy("models: {default: {provider: scripted, model: m, replies: "
                "[{texts: a}]}}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, next: END}\n");
    child_run("$MORTISE check --plugins g.yaml g.yaml");
    desk_code(2);
    desk_out("error[E0607]: plugin 'scripted' rejects this config: at "
             "/replies/0: unknown member 'texts', did you mean 'text'?");
    desk_not_out("E0608");
    desk_not_out("\\x0a");
    desk_ok("test $($MORTISE check --plugins g.yaml g.yaml | grep -c E0607) "
            "= 1");
    child_run("$MORTISE check g.yaml"); /* no graph runs with it */
    desk_code(2);
    desk_out("mortise.yaml:");
    desk_out("error[E0607]: plugin 'scripted' rejects this config");
}
END_TEST

/* A model whose instance does not come up is called what the graph calls it. */
START_TEST(a_model_that_does_not_come_up)
{
    desk_deploy("models: {default: {provider: openai, model: m, base_url: "
                "'http://h/v1', api_key: secret://k}}\n"
                "secrets: {k: {file: nowhere}}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, next: END}\n");
    child_run("$MORTISE check --plugins --deployment mortise.yaml g.yaml");
    desk_code(2);
    desk_out(
        "mortise.yaml:7:19: error[E0608]: model 'default' does not start: ");
    desk_not_out("'agent'");
    desk_not_out("g.yaml:");
}
END_TEST

/* What a deployment configures comes up with it, whether or not a graph is there;
 * what does not is a finding at its config, and once with a graph that uses it. */
START_TEST(what_a_deployment_configures)
{
    static const char *const bad[] = {
        ":8:34: error[E0608]: guardrail 'pat' does not start: ",
        ":9:34: error[E0608]: guardrail 'lim' does not start: ",
        ":11:49: error[E0608]: discovery plugin 'catalog' does not start: ",
        ":12:33: error[E0608]: memory 'local' does not start: ",
        ":13:16: error[E0608]: model 'away' does not start: "};

    desk_deploy(
        "guardrails:\n"
        "  pat: {plugin: pattern, config: {rules: [{name: x, pattern: '('}]}}\n"
        "  lim: {plugin: limits, config:  {hosts: ['http://x/']}}\n"
        "  ok: {plugin: limits, config: {hosts: [example.com]}}\n"
        "discovery: {plugins: [{plugin: catalog, config: {skills: [no]}}]}\n"
        "memory: {plugin: local, config: {directory: /proc/none}}\n"
        "models: {away: {provider: openai, model: m, base_url: 'http://h/v1', "
        "api_key: secret://k}}\n"
        "secrets: {k: {file: nowhere}}\n");
    desk_ok("$MORTISE check mortise.yaml");
    child_run("$MORTISE check --plugins mortise.yaml");
    desk_code(2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        desk_out(bad[i]);
    desk_not_out("'ok'");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: guardrail, guardrails: [lim, ok], target: "
                    "\"'x'\", next: END}\n");
    child_run("$MORTISE check --plugins g.yaml");
    desk_code(2);
    desk_out(bad[1]);
    desk_not_out("g.yaml:");
    desk_not_out("'pat'");
    desk_ok("test $($MORTISE check --plugins mortise.yaml g.yaml | grep -c "
            "\"'lim'\") = 1");
}
END_TEST

/* Plugins that the deployment configures by their names alone come up with it, too,
 * whatever no graph names; what nobody calls so does not, nor does one twice. */
START_TEST(what_plugins_config_speaks_of)
{
    static const char *const bad[] = {
        "error[E0608]: plugin 'file' does not start: ",
        "error[E0608]: plugin 'pattern' does not start: ",
        "error[E0608]: plugin 'create_fails' does not start: "};

    desk_deploy("guardrails: {limits: {plugin: limits, config: {depth: 9}}}\n"
                "executors: {gmi: text/join, leaf: create_fails/run, "
                "voice: create_fails/run}\n");
    desk_ok("sed -i 's/^plugins: {/&config: {file: {roots: [.\\/no]}, pattern: "
            "{rules: [{name: x, pattern: \"(\"}]}, catalog: {skills: [no]}, "
            "limits: {hosts: [\"http:\\/\\/x\\/\"]}, tried: {}}, /' "
            "mortise.yaml && $MORTISE config allow mortise.yaml");
    desk_ok("$MORTISE check mortise.yaml");
    child_run("$MORTISE check --plugins mortise.yaml");
    desk_code(2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        desk_out(bad[i]);
    desk_out("mortise.yaml:4:26: ");
    desk_ok("test $($MORTISE check --plugins mortise.yaml | grep -c "
            "\"'create_fails'\") = 1");
    desk_not_out("'limits'");
    desk_not_out("'catalog'");
    desk_not_out("'tried'");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: file/read, args: {path: x}, "
                    "next: END}\n");
    child_run("$MORTISE check --plugins g.yaml");
    desk_code(2);
    desk_out(bad[0]);
    desk_not_out("g.yaml:");
    desk_ok("test $($MORTISE check --plugins mortise.yaml g.yaml | grep -c "
            "\"'file'\") = 1");
}
END_TEST

/* A store that cannot be made is an error of its own. */
START_TEST(needs_a_directory)
{
    desk_graph("g", graph);
    child_run("TMPDIR=/dev/null $MORTISE check --plugins g.yaml");
    desk_code(1);
    desk_err("make a directory in /dev/null: Not a directory");
}
END_TEST

/* A plugin that wants a config, and a deployment that has none for it: that is
 * found ahead of a run.  Of a run that began with another deployment, what
 * people decide is recorded, and it waits until the right one is back. */
START_TEST(a_config_that_is_not_there)
{
    static const char wants[] =
        "error[E0607]: plugin 'file' needs a config, but plugins.config of the "
        "deployment has none for it: the member 'roots' is missing";

    desk_graph("g", "start: q\n"
                    "nodes:\n"
                    "  q: {type: human, prompt: Really?, next: w}\n"
                    "  w: {type: tool, tool: file/write, args: {path: said, "
                    "content: 'yes'}, next: v}\n"
                    "  v: {type: tool, tool: file/write, args: {path: again, "
                    "content: 'yes'}, next: END}\n");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out(wants);
    desk_ok(
        "test $($MORTISE check g.yaml | grep -c E0607) = 2"); /* each node */
    desk_put("t.test.yaml", "apiVersion: mortise/v1\nkind: Test\n"
                            "metadata: {name: t}\ngraph: g.yaml\n"
                            "cases: {one: {expect: {status: waiting}}}\n");
    desk_ok("$MORTISE check t.test.yaml"); /* a case calls nothing */
    child_run("$MORTISE check t.test.yaml g.yaml");
    desk_code(2);
    desk_out(wants);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(2);
    desk_err(wants);
    desk_ok("$MORTISE runs");
    desk_not_out("r ");
    desk_ok("$MORTISE graph show g.yaml"); /* a picture calls nothing */

    desk_ok("cp mortise.yaml bare.yaml");
    desk_deploy("");
    desk_ok("sed -i 's/^plugins: {/&config: {file: {roots: [.]}}, /' "
            "mortise.yaml && $MORTISE config allow mortise.yaml && "
            "$MORTISE check g.yaml");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    child_run("$MORTISE approve $($MORTISE inbox r --ids) --deployment "
              "bare.yaml");
    desk_code(78);
    desk_out("recorded; blocked");
    desk_out(wants);
    child_run("$MORTISE resume r --deployment bare.yaml");
    desk_code(78);
    desk_ok("test ! -e said && $MORTISE resume r && test -e said");
}
END_TEST

/* What is wrong with a deployment is said once, for all graphs beside it. */
START_TEST(a_deployment_that_does_not_load)
{
    desk_graph("g", "start: w\nnodes:\n  w: {type: tool, tool: file/write, "
                    "args: {path: said, content: 'yes'}}\n");
    desk_ok("cp g.yaml h.yaml && echo 'nothing: 1' >>mortise.yaml && "
            "$MORTISE config allow mortise.yaml; true");
    child_run("$MORTISE check g.yaml h.yaml");
    desk_code(2);
    desk_out("unknown key 'nothing'");
    desk_ok("test $($MORTISE check g.yaml h.yaml | grep -c \"'nothing'\") = 1");

    child_run("$MORTISE check mortise.yaml g.yaml");
    desk_code(2);
    desk_out("unknown key 'nothing'");
}
END_TEST

/* Issue 15, 4: `plugin sign` and `plugin verify` promise what they can see: ids
 * that differ are refused, and of what only code can say, as a reconcile() that
 * is missing, they say who can know it, which does. */
START_TEST(sign_and_verify_say_what_only_code_can)
{
    char manifest[4096];

    ck_assert_ptr_nonnull(
        realpath("tests/plugins/id_mismatch.plugin.yaml", manifest));
    child_run("$MORTISE plugin sign %s %s --key %s/k.key --out dist", manifest,
              child_build("tests/plugins/id_mismatch.so"), desk_plugins);
    desk_code(3);
    desk_err("its module has somebody_else 1.0.0");
    desk_ok("test ! -e dist/id_mismatch.plugin.yaml");
    ck_assert_ptr_nonnull(
        realpath("tests/plugins/no_reconcile.plugin.yaml", manifest));
    desk_ok("$MORTISE plugin sign %s %s --key %s/k.key --out dist", manifest,
            child_build("tests/plugins/no_reconcile.so"), desk_plugins);
    desk_out("reconcile");
    desk_out("this command runs no code of the plugin");
    desk_ok("$MORTISE plugin verify no_reconcile");
    desk_out("reconcile");
    desk_out("this command runs no code of the plugin");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: no_reconcile/run, args: {}, "
                    "next: END}\n");
    child_run("$MORTISE check --plugins g.yaml");
    desk_code(2);
    desk_out("E0608");
    desk_out("reconcile for an operation");
    desk_ok("$MORTISE plugin sign --help");
    desk_out("reconcile");
    desk_ok("$MORTISE plugin verify --help");
    desk_out("reconcile");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_bring_up");
    TCase *tc = tcase_create("bring_up");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, sign_all, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, refusals_and_crashes_are_findings);
    tcase_add_test(tc, hangs_are_findings);
    tcase_add_loop_test(tc, what_does_not_stop_is_named, 0, 3);
    tcase_add_test(tc, what_ends_the_process_is_named);
    tcase_add_test(tc, a_config_that_is_refused);
    tcase_add_test(tc, a_model_that_does_not_come_up);
    tcase_add_test(tc, what_a_deployment_configures);
    tcase_add_test(tc, what_plugins_config_speaks_of);
    tcase_add_test(tc, needs_a_directory);
    tcase_add_test(tc, a_config_that_is_not_there);
    tcase_add_test(tc, a_deployment_that_does_not_load);
    tcase_add_test(tc, sign_and_verify_say_what_only_code_can);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
