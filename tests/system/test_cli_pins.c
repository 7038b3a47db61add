/* test_cli_pins.c -- operations that a lock names: graphs, models, policies and
 * people name them as any other, and what is not pinned is no operation.  The
 * plugin that has them is tests/plugins/mcp.c. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/matrix.h"
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
    desk_ok("$MORTISE check --plugins g.yaml");
    desk_put("t.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.yaml\ncases:\n  one:\n    operations:\n"
             "      mcp/s/deep/er.x-y: {output: {content: [], text: "
             "said}}\n    expect: {status: completed}\n");
    desk_ok("$MORTISE test t.yaml");
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
    check_says("error[E0501]", "its server's input_schema is not valid");
}
END_TEST

/* Patterns in them hold for what a call gives, too, by either engine of regular
 * expressions; one that would be searched for without end fails the node. */
START_TEST(patterns_in_schemas_hold)
{
    static const struct {
        const char *pattern, *value, *says; /* says NULL: it fits */
    } rows[] = {
        {"^(a+)+$", "aaa", NULL},
        {"^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
         "/structured/c"},
        {"^(?=a)a*$", "aaa", NULL},
        {"^(?=a)a*$", "aab", "/structured/c"},
        {"^(?=a)(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
         "exceeds limits.expr_cost"},
    };
    char text[512];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text,
                 "\"read_a\": " ANY ", \"output_schema\": {\"type\": "
                 "\"object\", \"properties\": {\"c\": {\"type\": "
                 "\"string\", \"pattern\": \"%s\"}}}}",
                 rows[i].pattern);
        lock(text);
        snprintf(text, sizeof text, "{c: \"%s\"}", rows[i].value);
        graph("mcp/s/read_a", text, "");
        child_run("$MORTISE run g.yaml --id r%zu", i);
        desk_code(rows[i].says == NULL ? 0 : 1);
        desk_ok("$MORTISE show r%zu --json", i);
        desk_out(rows[i].says == NULL ? "\"completed\"" : rows[i].says);
    }
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
    check_says("error[E0501]", "tools.mcp of the deployment has no server "
                               "'bar'; did you mean 'bare'?");
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
    check_says("error[E0514]", "no tool matches 'mcp/bare/*'");
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
    check_says("error[E0604]", "does not accept a secret here");
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
    desk_out(
        "error[E0607]: plugin 'mcp' cannot connect as this config requires: ");
}
END_TEST

/* ---- runs pin them --------------------------------------------------------- */

#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

/* The lock has that definition of write_a and of read_a. */
static void define(const char *write_digest, const char *read_digest)
{
    char text[1024];

    snprintf(text, sizeof text,
             "\"write_a\": {\"digest\": \"%s\", \"input_schema\": {\"type\": "
             "\"object\"}}, \"read_a\": {\"digest\": \"%s\", "
             "\"input_schema\": {\"type\": \"object\"}}",
             write_digest, read_digest);
    lock(text);
}

#define STEP(id, tool, next)                                                   \
    "  " id ": {type: tool, tool: " tool ", args: {n: 1}, next: " next "}\n"
#define ASK(id, next)                                                          \
    "  " id ": {type: human, prompt: go on?, next: " next "}\n"

static void nodes(const char *list)
{
    char text[1024];

    snprintf(text, sizeof text, "start: a\nnodes:\n%s", list);
    desk_graph("g", text);
}

/* Refused as a run of a changed plugin is, and the tool is named. */
static void refused(const char *line, const char *run)
{
    char words[128];

    snprintf(words, sizeof words, "mortise resume %s --accept-plugins", run);
    child_run("%s >said 2>&1; code=$?; tr -s ' \n' ' ' <said; exit $code",
              line);
    desk_code(78);
    desk_out("tool 'mcp/s/write_a'");
    desk_out(words);
}

/* Has the run called it? */
static void called(const char *run, bool want)
{
    child_run("$MORTISE show %s --json | grep -q '\"text\": \"s/write_a\"'",
              run);
    ck_assert_msg((child.code == 0) == want, "%scalled", want ? "not " : "");
}

/* Run `r` has an approval of its call, and then the tool has another definition. */
static void approved_before_another(void)
{
    deploy("ask: [mcp/s/write_a], ", "");
    define(HEX, HEX);
    nodes(STEP("a", "mcp/s/write_a", "END"));
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids) --no-continue");
    define(OTHER, HEX);
}

/* An approval that was given ahead of another definition is not used for it: the
 * person is asked again. */
START_TEST(approvals_are_of_a_definition)
{
    approved_before_another();
    refused("$MORTISE resume r", "r");
    called("r", false);
    child_run("$MORTISE resume r --accept-plugins");
    desk_code(4);
    called("r", false);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    called("r", true);
}
END_TEST

/* Nor is one that was given after it, and ahead of its acceptance; what waited is
 * asked again, and an approval of it in the command that accepts is refused. */
START_TEST(waiting_approvals_are_asked_again)
{
    char id[64];

    deploy("ask: [mcp/s/write_a], ", "");
    define(HEX, HEX);
    nodes(STEP("a", "mcp/s/write_a", "END"));
    child_run(
        "$MORTISE run g.yaml --id r && false; $MORTISE run g.yaml --id q");
    desk_code(4);
    desk_ok("$MORTISE inbox r --ids | cut -d' ' -f2");
    ck_assert_int_eq(sscanf(child.out, "%63s", id), 1);
    define(OTHER, HEX);
    child_run("$MORTISE approve r %s --accept-plugins", id);
    desk_err("E_DECISION_MISMATCH");
    refused("$MORTISE approve r $($MORTISE inbox r --ids | cut -d' ' -f2)",
            "r");
    child_run("$MORTISE resume r --accept-plugins");
    desk_code(4);
    child_run("$MORTISE resume q --accept-plugins");
    desk_code(4);
    called("r", false);
    called("q", false);
    child_run("$MORTISE approve r %s", id);
    desk_code(3);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_ok("$MORTISE approve $($MORTISE inbox q --ids)");
    called("r", true);
    called("q", true);
}
END_TEST

/* A run goes on with the definitions that it began with, or that somebody
 * accepted; `show` and `why` name them.  A tool that the run does not use may
 * change. */
START_TEST(runs_keep_definitions)
{
    define(HEX, HEX);
    nodes(ASK("a", "b") STEP("b", "mcp/s/write_a", "END"));
    child_run(
        "$MORTISE run g.yaml --id r && false; $MORTISE run g.yaml --id q");
    desk_code(4);
    desk_ok("$MORTISE show r --json");
    desk_out("\"tool:mcp/s/write_a\": \"" HEX "\"");
    desk_not_out("read_a");
    define(HEX, OTHER);
    desk_ok("$MORTISE why r");
    desk_not_out("blocked");
    define(OTHER, HEX);
    desk_ok("$MORTISE why r | tr -s ' \n' ' '");
    desk_out("tool 'mcp/s/write_a'");
    desk_out("--accept-plugins");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"blocked\"");
    desk_out("\"accept_plugins\": true");
    desk_out("\"code\": \"E_BLOCKED\"");
    refused("$MORTISE resume r", "r");
    define(HEX, HEX);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    called("r", true);
    define(OTHER, HEX);
    child_run("$MORTISE resume q --accept-plugins");
    desk_code(4);
    desk_ok("$MORTISE show q --json");
    desk_out("\"tool:mcp/s/write_a\": \"" OTHER "\"");
    define(HEX, HEX);
    refused("$MORTISE resume q", "q");
    define(OTHER, HEX);
    desk_ok("$MORTISE approve $($MORTISE inbox q --ids)");
    called("q", true);
}
END_TEST

/* A lock that is written otherwise, with the same definitions, changes nothing. */
START_TEST(the_same_definition_is_none)
{
    lock("\"write_a\": {" PIN "{\"type\": \"object\", \"properties\": {\"n\": "
         "{\"type\": \"integer\"}}}, \"annotations\": {\"title\": \"W\", "
         "\"readOnlyHint\": false}}");
    nodes(ASK("a", "b") STEP("b", "mcp/s/write_a", "END"));
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    lock("\"write_a\": {\"annotations\":  {\"readOnlyHint\":false,\n"
         "\"title\":\"\\u0057\"},\n\"input_schema\": {\"properties\": {\"n\": "
         "{\"type\": \"integer\"}}, \"type\": \"object\"}, \"digest\": \"" HEX
         "\"}, \"read_a\": " ANY "}");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    called("r", true);
}
END_TEST

/* An engine that starts leaves a run alone whose tool has another definition, and
 * continues it when the old one is back. */
START_TEST(engines_leave_them_alone)
{
    pid_t engine;

    deploy("ask: [mcp/s/write_a], ", "");
    define(HEX, HEX);
    nodes(STEP("a", "mcp/s/write_a", "END"));
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    define(OTHER, HEX);
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_code(78);
    for (int back = 0; back < 2; back++) {
        if (back == 1)
            define(HEX, HEX);
        engine = child_start("engine", "$MORTISE engine");
        child_await("engine.err", back == 1 ? "completed" : "mcp/s/write_a");
        ck_assert_int_eq(kill(engine, SIGTERM), 0);
        ck_assert_int_eq(child_wait(engine), 0);
        called("r", back == 1);
    }
}
END_TEST

#define REPLIES                                                                \
    "models:\n"                                                                \
    "  default:\n    provider: scripted\n    model: m\n    replies:\n"         \
    "      - {when: {user: lead, turn: 0}, tool_calls: [{name: spawn_agent, "  \
    "arguments: {name: kid, instructions: do it}}]}\n"                         \
    "      - {when: {user: lead}, text: led}\n"                                \
    "      - {when: {user: do it, turn: 0}, tool_calls: [{name: "              \
    "mcp__s__write_a, arguments: {}}]}\n"                                      \
    "      - {when: {user: do it}, text: did}\n"

/* A child run pins the tools that it may use.  A graph inside another, and a diff,
 * pin theirs for the run. */
START_TEST(children_and_graphs_inside_pin_them)
{
    deploy("ask: [mcp/s/write_a], ", REPLIES);
    define(HEX, HEX);
    nodes("  a: {type: gmi, prompt: lead, subagents: true, tool_allowlist: "
          "[\"mcp/s/*\"], next: END}\n");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    desk_ok("$MORTISE show $($MORTISE inbox --ids | cut -d' ' -f1) --json");
    desk_out("\"tool:mcp/s/write_a\": \"" HEX "\"");
    desk_ok("$MORTISE inbox --ids >before && cut -d' ' -f1 before >kid && ! "
            "grep -x p kid");
    desk_ok("$MORTISE approve $(cat before) --no-continue");
    define(OTHER, HEX);
    child_run("$MORTISE resume $(cat kid)");
    desk_code(78);
    child_run("$MORTISE resume p");
    desk_code(78);
    child_run("$MORTISE resume $(cat kid) --accept-plugins");
    desk_code(4);
    desk_ok("$MORTISE show $(cat kid) --json");
    desk_not_out("\"text\": \"s/write_a\"");
    child_run("$MORTISE approve $($MORTISE inbox --ids)");
    desk_ok("$MORTISE show $(cat kid) --json");
    desk_out("\"completed\"");
    desk_ok("$MORTISE resume p --accept-plugins");
    desk_graph("sub", "start: a\nnodes:\n" STEP("a", "mcp/s/read_a", "END"));
    nodes(ASK("a", "b") "  b: {type: subgraph, graph: ./sub.yaml, next: "
                        "END}\n");
    child_run("$MORTISE run g.yaml --id s");
    desk_code(4);
    desk_ok("$MORTISE show s --json");
    desk_out("\"tool:mcp/s/read_a\": \"" HEX "\"");
    nodes(ASK("a", "END"));
    child_run("$MORTISE run g.yaml --id d");
    desk_code(4);
    desk_put("diff.yaml", "- add: {id: b, node: {goal: do it, depends_on: a, "
                          "tool_allowlist: [mcp/s/read_a]}}\n");
    child_run("$MORTISE steer d diff.yaml");
    desk_code(4);
    desk_ok("$MORTISE show d --json");
    desk_out("\"tool:mcp/s/read_a\": \"" HEX "\"");
    desk_not_out("tool:mcp/s/write_a");
}
END_TEST

/* The status of the run after `line`, killed at its n-th write, if it has so many;
 * whether it was. */
static bool killed_at(size_t n, const char *line)
{
    child_run("POWERCUT_STATE=%s/books POWERCUT_ROOTS=%s/store "
              "POWERCUT_KILL=%zu LD_PRELOAD=%s %s",
              desk_dir, desk_dir, n, child_build("tests/powercut.so"), line);
    return child.code == 128 + SIGKILL;
}

/* Killed at any write while it accepts, a run has pinned the one definition or the
 * other, and the approval of before is used for neither. */
START_TEST(acceptance_outlives_its_process)
{
    size_t n = 1;
    bool accepted = false, refuses = false;

    approved_before_another();
    desk_ok("cp -a store begin");
    while (killed_at(n, "$MORTISE resume r --accept-plugins")) {
        child_run("$MORTISE resume r");
        ck_assert_msg(child.code == 78 || child.code == 4, "at %zu: %d: %s%s",
                      n, child.code, child.out, child.err);
        accepted |= child.code == 4;
        refuses |= child.code == 78;
        called("r", false);
        child_run("$MORTISE resume r --accept-plugins");
        desk_code(4);
        called("r", false);
        desk_ok("$MORTISE show r --json");
        desk_out("\"tool:mcp/s/write_a\": \"" OTHER "\"");
        desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
        called("r", true);
        desk_ok("rm -rf store books books.d && cp -a begin store");
        n += matrix_step(4);
    }
    desk_code(4);
    ck_assert(accepted && refuses);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_pins");
    TCase *tc = tcase_create("cli_pins");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, pinned_tools_run);
    tcase_add_test(tc, schemas_hold);
    tcase_add_test(tc, patterns_in_schemas_hold);
    tcase_add_test(tc, unpinned_tools_are_none);
    tcase_add_test(tc, others_have_none);
    tcase_add_test(tc, effects_hold);
    tcase_add_test(tc, policies_hold);
    tcase_add_test(tc, models_use_them);
    tcase_add_test(tc, servers_mark_no_secrets);
    tcase_add_test(tc, old_runs_are_seen);
    tcase_add_test(tc, they_are_listed);
    tcase_add_test(tc, the_plugin_is_told);
    tcase_add_test(tc, approvals_are_of_a_definition);
    tcase_add_test(tc, waiting_approvals_are_asked_again);
    tcase_add_test(tc, runs_keep_definitions);
    tcase_add_test(tc, the_same_definition_is_none);
    tcase_add_test(tc, engines_leave_them_alone);
    tcase_add_test(tc, children_and_graphs_inside_pin_them);
    tcase_add_test(tc, acceptance_outlives_its_process);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
