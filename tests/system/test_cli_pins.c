/* test_cli_pins.c -- operations that a lock names: graphs, models, policies and
 * people name them as any other, and what is not pinned is no operation.  The
 * plugin that has them is tests/plugins/mcp.c. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/shelf.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PIN "\"digest\": \"" HEX "\", \"input_schema\": "
#define ANY "{" PIN "{\"type\": \"object\"}"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "mcp");
    shelf_put(&shelf, "speaks");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

static void deploy(const char *tools, const char *more)
{
    char text[3 * PATH_MAX + 8192];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\n"
             "tools: {%smcp: {s: {command: [x], effects: {read: [\"read_*\"], "
             "write: [\"write_*\"]}}, bare: {url: \"http://127.0.0.1:1\"}}}\n"
             "%s",
             shelf.plugins, shelf.trust, tools, more);
    desk_put("mortise.yaml", text);
}

static void lock(const char *tools)
{
    char text[8192];

    snprintf(text, sizeof text,
             "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
             "{\"s\": {\"tools\": {%s}}}}\n",
             tools);
    desk_put("mortise.lock", text);
}

static const char all[] =
    "\"read_a\": {" PIN "{\"type\": \"object\", \"required\": [\"n\"], "
    "\"properties\": {\"n\": {\"type\": \"integer\"}}, "
    "\"additionalProperties\": false}, \"description\": \"Reads\\nmuch\", "
    "\"output_schema\": {\"type\": \"object\", \"properties\": {\"n\": "
    "{\"type\": \"integer\", \"maximum\": 9}}}}, \"write_a\": " ANY
    "}, \"deep/er.x-y\": " ANY
    ", \"description\": \"Goes deep\"}, \"bad\": {" PIN "{\"type\": 7}}";

static void begin(void)
{
    desk_begin();
    deploy("", "");
    lock(all);
}

static void graph(const char *tool, const char *args, const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: %s, args: %s, %snext: END}\n",
             tool, args, more);
    desk_graph("g", text);
}

static void check_says(const char *code, const char *words)
{
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out(code);
    desk_out(words);
}

/* A pinned tool is called by what its server calls it, and gives what it gave.
 * key: plugin/provides.executor.more */
START_TEST(pinned_tools_run)
{
    graph("mcp/s/read_a", "{n: 3}", "");
    desk_ok("$MORTISE check g.yaml && $MORTISE run g.yaml --id r && $MORTISE "
            "show r --json");
    desk_out("\"text\": \"s/read_a\"");
    desk_out("\"n\": 3");
    graph("mcp/s/deep/er.x-y", "{}", "");
    desk_ok("$MORTISE run g.yaml --id q && $MORTISE show q --json");
    desk_out("\"text\": \"s/deep/er.x-y\"");
}
END_TEST

/* What it is called with, and what it gives, fit its server's schemas. */
START_TEST(schemas_hold)
{
    graph("mcp/s/read_a", "{n: x}", "");
    check_says("g.yaml:6:49: error[E0503]", "expected integer");
    graph("mcp/s/read_a", "{m: 1, n: 1}", "");
    check_says("error[E0503]", "'m'");
    graph("mcp/s/read_a", "{n: 10}", "");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(1);
    desk_ok("$MORTISE show r --json");
    desk_out("/structured/n");
    graph("mcp/s/bad", "{}", "");
    check_says("error[E0501]", "its server's input_schema is none");
}
END_TEST

/* What is not pinned is no operation, and what to do about it is said. */
START_TEST(unpinned_tools_are_none)
{
    graph("mcp/s/raed_a", "{n: 3}", "");
    check_says("g.yaml:6:25: error[E0501]",
               "tool 'mcp/s/raed_a' is not pinned; did you mean "
               "'mcp/s/read_a'?");
    graph("mcp/s/quite_else", "{n: 3}", "");
    check_says("error[E0501]", "tool 'mcp/s/quite_else' is not pinned; "
                               "`mortise mcp pin s`");
    graph("mcp/bare/x", "{}", "");
    check_says("error[E0501]", "`mortise mcp pin bare`");
    graph("mcp/bar/x", "{}", "");
    check_says("error[E0501]", "tools.mcp has no 'bar'; did you mean 'bare'?");
    graph("mcp/lsit", "{}", "");
    check_says("error[E0501]", "did you mean 'list'?");
    child_run("$MORTISE run g.yaml");
    desk_code(2);
    desk_ok("rm mortise.lock");
    graph("mcp/s/read_a", "{n: 3}", "");
    check_says("error[E0501]", "`mortise mcp pin s`");
    graph("text/a/b", "{}", "");
    check_says("error[E0501]", "plugin 'text' has no operation 'a/b'");
}
END_TEST

/* A plugin that does not say `more` has what its manifest says. */
START_TEST(others_have_none)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath("tests/plugins/mcp.plugin.yaml", source));
    desk_ok("mkdir dev && sed '/more: true/d' %s >dev/mcp.plugin.yaml", source);
    desk_ok("cp %s dev/mcp.so", child_build("tests/plugins/mcp.so"));
    desk_ok("sed 's|^plugins: .*|plugins: {dev: [./dev]}|' mortise.yaml >m && "
            "mv m mortise.yaml");
    graph("mcp/s/read_a", "{n: 3}", "");
    check_says("error[E0501]", "plugin 'mcp' has no operation 's/read_a'");
    graph("mcp/list", "{}", "");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* What it does is the deployer's word, which a graph does not weaken. */
START_TEST(effects_hold)
{
    graph("mcp/s/read_a", "{n: 3}", "effect_class: pure, ");
    check_says("error[E0504]", "the operation's 'read'");
    graph("mcp/s/write_a", "{n: 3}", "effect_class: read, ");
    check_says("error[E0504]", "the operation's 'write'");
    graph("mcp/s/deep/er.x-y", "{n: 3}", "effect_class: write, ");
    check_says("error[E0504]", "the operation's 'external'");
}
END_TEST

/* The deployment allows, asks and denies by patterns of them. */
START_TEST(policies_hold)
{
    graph("mcp/s/read_a", "{n: 3}", "");
    deploy("deny: [mcp/s/*], ", "");
    check_says("error[E0507]", "denies mcp/s/read_a");
    deploy("allow: [\"mcp/s/read_*\"], ", "");
    desk_ok("$MORTISE run g.yaml");
    graph("mcp/s/write_a", "{n: 3}", "");
    check_says("error[E0507]", "denies mcp/s/write_a");
    deploy("ask: [mcp/s/write_a], ", "");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("mcp/s/write_a");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids) && $MORTISE show r "
            "--json");
    desk_out("\"text\": \"s/write_a\"");
}
END_TEST

/* Models are offered them, by patterns too, under names that every server
 * takes. */
START_TEST(models_use_them)
{
    deploy("", "models:\n"
               "  default:\n    provider: scripted\n    model: m\n"
               "    replies:\n"
               "      - {when: {turn: 0}, tool_calls: [{name: mcp__s__read_a, "
               "arguments: {n: 4}}, {name: mcp__s__deep__er_x-y, arguments: "
               "{}}]}\n"
               "      - {when: {tool: \"s/deep/er.x-y\"}, text: done}\n"
               "  shows: {provider: speaks, model: m}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: go, tool_allowlist: [\"mcp/s/*\"]"
                    ", next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r && $MORTISE show r --json");
    desk_out("\"done\"");
    desk_ok("$MORTISE events r --json");
    desk_out("mcp/s/read_a");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: show, llm: {provider_id: shows}, "
                    "tool_allowlist: [\"mcp/s/*\"], next: END}\n");
    desk_ok("$MORTISE run g.yaml --id q && $MORTISE show q --json");
    desk_out("mcp__s__read_a");
    desk_out("Goes deep");
    desk_not_out("mcp__s__bad");
    desk_not_out("mcp__list");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: go, tool_allowlist: "
                    "[\"mcp/bare/*\"], next: END}\n");
    check_says("error[E0514]", "no tool fits 'mcp/bare/*'");
}
END_TEST

/* A secret has no place in what a server says, whatever it says. */
START_TEST(servers_mark_no_secrets)
{
    lock("\"write_a\": {" PIN
         "{\"type\": \"object\", \"properties\": {\"k\": {\"type\": "
         "\"string\", \"x-secret\": true}}}}");
    deploy("", "secrets: {key: {env: HOME}}\n");
    graph("mcp/s/write_a", "{k: \"secret://key\"}", "");
    check_says("error[E0604]", "takes no secret here");
}
END_TEST

/* A run that began with a pin is looked at without it, and does not go on. */
START_TEST(old_runs_are_seen)
{
    desk_graph("g", "start: h\nnodes:\n"
                    "  h: {type: human, prompt: go on?, next: a}\n"
                    "  a: {type: tool, tool: mcp/s/write_a, args: {}, next: "
                    "END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    lock("");
    desk_ok("$MORTISE show r");
    desk_ok("$MORTISE graph show g.yaml || true");
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_out("tool 'mcp/s/write_a' is not pinned");
    lock(all);
    desk_ok("$MORTISE resume r && $MORTISE show r --json");
    desk_out("\"completed\"");
}
END_TEST

/* Who inspects the plugin sees them, with what they do. */
START_TEST(they_are_listed)
{
    json_t *v;
    const char *effect;

    desk_ok("$MORTISE plugin inspect mcp");
    desk_out("pinned operations\n");
    desk_out("  s/read_a         read      Reads\n");
    desk_out("  s/deep/er.x-y    external  Goes deep\n");
    desk_ok("$MORTISE plugin inspect mcp --json");
    v = json_loads(child.out, 0, NULL);
    ck_assert_int_eq(json_unpack(v, "{s:{s:{s:s}}}", "pinned", "s/write_a",
                                 "effect", &effect),
                     0);
    ck_assert_str_eq(effect, "write");
    json_decref(v);
}
END_TEST

/* The plugin is told of servers and pins, and of secrets by their names. */
START_TEST(the_plugin_is_told)
{
    desk_ok("sed 's|bare: {|bare: {headers: {A: secret://key}, |' mortise.yaml "
            ">m && mv m mortise.yaml && echo 'secrets: {key: {env: HOME}}' "
            ">>mortise.yaml");
    graph("mcp/list", "{}", "");
    desk_ok("$MORTISE run g.yaml --id r && $MORTISE show r --json");
    desk_out("\"read_a\": \"" HEX "\"");
    desk_out("\"A\": \"secret://key\"");
    desk_ok("$MORTISE plugin inspect mcp");
    desk_out("may reach   127.0.0.1:1");
    desk_out("may use     key");
    desk_ok("sed 's|127.0.0.1:1|127.0.0.1:99999|' mortise.yaml >m && mv m "
            "mortise.yaml");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("error[E0607]: plugin 'mcp' cannot go where this config says: ");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_pins");
    TCase *tc = tcase_create("cli_pins");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, pinned_tools_run);
    tcase_add_test(tc, schemas_hold);
    tcase_add_test(tc, unpinned_tools_are_none);
    tcase_add_test(tc, others_have_none);
    tcase_add_test(tc, effects_hold);
    tcase_add_test(tc, policies_hold);
    tcase_add_test(tc, models_use_them);
    tcase_add_test(tc, servers_mark_no_secrets);
    tcase_add_test(tc, old_runs_are_seen);
    tcase_add_test(tc, they_are_listed);
    tcase_add_test(tc, the_plugin_is_told);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
