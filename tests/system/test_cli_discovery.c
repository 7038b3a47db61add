/* test_cli_discovery.c -- what a deployment's discovery plugins find: for
 * executors that ask, and for edges that look; what several of them come to; and
 * what becomes of those that die, hang, lie or flood. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/shelf.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    static const char *const names[] = {"tried",
                                        "seeks",
                                        "finds",
                                        "discovery_dies",
                                        "discovery_lies",
                                        "discovery_hangs",
                                        "discovery_floods",
                                        "discovery_late",
                                        "discovery_lists"};

    desk_sign();
    shelf_init(&shelf);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        shelf_put(&shelf, names[i]);
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

/* A deployment that looks with these, and has more in it. */
static void deploy(const char *plugins, const char *more)
{
    char text[3 * PATH_MAX + 4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\n"
             "executors: {gmi: seeks/look}\n"
             "models: {default: {provider: scripted, model: m, replies: []}}\n"
             "discovery: {plugins: %s}\n%s",
             shelf.plugins, shelf.trust, plugins, more);
    desk_put("mortise.yaml", text);
}

/* A graph whose node looks for that among tools and nodes of its own. */
static void look_for(const char *query)
{
    char text[2048];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n"
             "  a:\n    type: gmi\n    prompt: %s\n"
             "    tool_allowlist:\n"
             "      - {tool: tried/echo, description: gives values back}\n"
             "      - {tool: tried/nap, description: sleeps for a while}\n"
             "    handoffs: [b]\n    next: END\n"
             "  b: {type: tool, tool: tried/echo, args: {value: 1},\n"
             "      capability: refunds money and values, next: END}\n",
             query);
    desk_graph("g", text);
}

/* What artifacts.a is, of that run. */
static void gave(const char *run, const char *want)
{
    json_t *show, *got, *value = json_loads(want, JSON_DECODE_ANY, NULL);

    desk_ok("$MORTISE show %s --json", run);
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    ck_assert_ptr_nonnull(value);
    got = json_object_get(
        json_object_get(json_object_get(show, "state"), "artifacts"), "a");
    ck_assert_msg(json_equal(got, value), "not %s:\n%s", want, child.out);
    json_decref(value);
    json_decref(show);
}

#define FOUND(id, kind, score, text, tier)                                     \
    "{\"id\": \"" id "\", \"kind\": \"" kind "\", \"score\": " score           \
    ", \"text\": \"" text "\", \"tier\": \"" tier "\"}"

/* An executor finds what its node may use, in the plugin's order, with a skill
 * of the plugin's own; and is told the same when it is asked again.
 * key: deployment.discovery, discovery.plugins, discovery plugin.plugin
 * key: discovery plugin.config */
START_TEST(an_executor_looks)
{
    deploy("[{plugin: finds, config: {skill: pay-back}}]", "");
    look_for("values of my skill");
    desk_ok("$MORTISE check g.yaml mortise.yaml");
    desk_ok("$MORTISE run g.yaml --id r");
    gave(
        "r",
        "{\"results\": [" FOUND(
            "pay-back", "skill", "100.0", "how it is done",
            "full") ", " FOUND("tried/echo", "tool", "3.0", "gives values back",
                               "summary") ", " FOUND("b", "node", "1.0",
                                                     "refunds money and values",
                                                     "summary") "]}");
    ck_assert_uint_eq(desk_entrances(), 1);
}
END_TEST

/* Operations that a plugin's manifest has are extensions, too; a tool of a server's
 * and a node are none. */
START_TEST(extensions_alone)
{
    deploy("[finds]", "");
    look_for("values of an extension");
    desk_ok("$MORTISE run g.yaml --id r");
    gave("r", "{\"results\": [" FOUND("tried/echo", "extension", "2.0",
                                      "gives values back", "summary") "]}");
}
END_TEST

/* Of several the places count: what both found stands ahead of what one put
 * first, and equals stand in the order of the plugins. */
START_TEST(several_are_fused)
{
    deploy("[finds, {plugin: finds, config: {last: true, skill: s}}]", "");
    look_for("values and skill");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --json | tr -d ' \\n'");
    desk_out("\"results\":[{\"id\":\"tried/echo\",\"kind\":\"tool\",\"score\":"
             "0.03");
    desk_out("},{\"id\":\"b\",\"kind\":\"node\",\"score\":0.03");
    desk_out("},{\"id\":\"s\",\"kind\":\"skill\",\"score\":0.016");
    ck_assert_uint_eq(desk_entrances(), 2);
}
END_TEST

static const struct {
    const char *plugin, *code, *words;
} broken[] = {
    {"discovery_lies", "bad_output",
     "the result 'exec/run' is not a tool among the candidates"},
    {"discovery_floods", "bad_output",
     "2000 results were returned, but at most 8 were requested"},
    {"discovery_hangs", "timeout.idle", "showed no activity"},
    {"discovery_late", "timeout.call", "the call took longer than 20000 ms"},
};

/* One that lies, floods or hangs found nothing, and is named; the others' word
 * counts. */
START_TEST(a_broken_one_has_no_say)
{
    char plugins[256];

    snprintf(plugins, sizeof plugins, "[%s, finds]", broken[_i].plugin);
    deploy(plugins, "");
    look_for("sleeps");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --json");
    desk_out("\"id\": \"tried/nap\"");
    desk_not_out("\"id\": \"exec/run\"");
    desk_not_out("skill-1");
    desk_out(broken[_i].code);
    desk_out(broken[_i].words);
}
END_TEST

/* Where none answered, that is an error, and not an empty list. */
START_TEST(nobody_answers)
{
    deploy("[discovery_lies]", "");
    look_for("sleeps");
    desk_ok("$MORTISE run g.yaml --id r");
    gave("r", "{\"status\": -1, \"words\": \"no discovery plugin answered: "
              "discovery_lies: the result 'exec/run' is not a tool among the "
              "candidates\"}");
}
END_TEST

/* One that takes the engine down is counted like any other plugin, and after
 * three deaths the run is blocked. */
START_TEST(a_deadly_one_is_counted)
{
    desk_own_home();
    deploy("[discovery_dies]", "");
    look_for("sleeps");
    desk_admit("g.yaml", "a", "r", "{}");
    for (int i = 0; i < 3; i++)
        child_run("$MORTISE resume r");
    desk_ok("$MORTISE show r --json");
    child_run("$MORTISE plugin list --json; $MORTISE why r");
    desk_out("discovery_dies");
    desk_out("quarantined");
    ck_assert_uint_eq(desk_entrances(), 3);
}
END_TEST

/* What is no discovery plugin, or none at all, is a finding where it stands, and
 * so is one that stands there twice for the same.
 * key: deployment.discovery */
START_TEST(a_wrong_name_is_found)
{
    deploy("[find, tried, {plugin: nobody, config: {}}]", "");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:9:23: error[E0518]: no plugin 'find'");
    desk_out("mortise.yaml:9:29: error[E0518]: plugin 'tried' is not a "
             "discovery plugin");
    desk_out("error[E0518]: no plugin 'nobody'");
    deploy("[finds, finds]", "");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("error[E0214]: 'finds' is already in discovery.plugins");
    deploy("[{plugin: finds, config: {skil: x}}]", "");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("error[E0607]");
    deploy("[]", "");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
}
END_TEST

/* Without `discovery` there is nobody to ask, and a request is judged. */
START_TEST(what_is_no_request)
{
    deploy("[finds]", "");
    desk_graph("g",
               "start: a\nnodes:\n  a: {type: tool, tool: seeks/look, args: "
               "{query: q, max: 0}, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --json");
    desk_out("a request of discovery.query/1 must be {query");
    deploy("[finds]", "");
    desk_ok("sed -i /^discovery/d mortise.yaml");
    desk_graph("h",
               "start: a\nnodes:\n  a: {type: tool, tool: seeks/look, args: "
               "{query: q}, next: END}\n");
    desk_ok("$MORTISE run h.yaml --id s");
    desk_ok("$MORTISE show s --json");
    desk_out("the deployment has no discovery plugins");
}
END_TEST

/* The bundled catalogue, with an Agent Skill of the deployment's; a broken one is
 * told when it comes up. */
START_TEST(the_catalog_is_bundled)
{
    deploy("[{plugin: catalog, config: {skills: [skills]}}]", "");
    desk_ok("mkdir -p skills/pay-back");
    desk_put("skills/pay-back/SKILL.md",
             "---\nname: pay-back\ndescription: Refunding money to those who "
             "paid\n---\nAsk for the receipt.\n");
    look_for("refunds and sleeping");
    desk_ok("$MORTISE check --plugins g.yaml mortise.yaml");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --json");
    desk_out("\"id\": \"pay-back\"");
    desk_out("Ask for the receipt.");
    desk_out("\"id\": \"tried/nap\"");
    desk_out("\"id\": \"b\"");
    desk_not_out("\"id\": \"tried/echo\"");
    desk_ok("$MORTISE plugin list --json");
    desk_out("catalog");
    desk_put("skills/pay-back/SKILL.md", "Ask for the receipt.\n");
    desk_ok("$MORTISE run g.yaml --id s");
    desk_ok("$MORTISE show s --json");
    desk_out("must begin with front matter");
}
END_TEST

/* Puts an Agent Skill of that name into a directory. */
static void put_skill(const char *dir, const char *name, const char *text)
{
    desk_ok("mkdir -p %s/%s && printf -- '---\\nname: %s\\ndescription: How "
            "money is refunded\\n---\\n%s\\n' >%s/%s/SKILL.md",
            dir, name, name, text, dir, name);
}

/* A directory of skills counts from the deployment: not from the working
 * directory of the command, nor from one that a plugin changed to. */
START_TEST(skills_count_from_the_deployment)
{
    static const char *const commands[] = {
        "check ../g.yaml --deployment ../mortise.yaml --plugins",
        "run ../g.yaml --deployment ../mortise.yaml --id r"};

    deploy("[{plugin: catalog, config: {skills: [skills, ../lib]}}]", "");
    desk_ok("mkdir home && mv mortise.yaml home");
    put_skill("home/skills", "pay-back", "Ask for the receipt first.");
    put_skill("lib", "refuse", "Say that it is too late.");
    put_skill("home/elsewhere/skills", "other", "Never this one.");
    put_skill("home/lib", "wrong", "Nor this one.");
    look_for("a refund of money");
    desk_ok("sed -i 's/^start: a/start: w/; s/^nodes:/&\\n  w: {type: tool, "
            "tool: tried\\/wander, next: a}/' g.yaml && mv g.yaml home");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        desk_ok("cd home/elsewhere && $MORTISE %s", commands[i]);
    desk_ok("$MORTISE show r --json --deployment home/mortise.yaml");
    desk_out("Ask for the receipt first.");
    desk_out("Say that it is too late.");
    desk_not_out("Never this one.");
    desk_not_out("Nor this one.");
}
END_TEST

/* ---- edges --------------------------------------------------------------- */

/* A graph whose edge looks for what its input says. */
static void lead(void)
{
    desk_graph(
        "e",
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: tried/echo, args: {value: \"${input.q}\"}}\n"
        "  pay: {type: tool, tool: tried/echo, args: {value: 1},\n"
        "        capability: refunds money}\n"
        "  look: {type: tool, tool: tried/echo, args: {value: 2},\n"
        "         capability: answers questions about orders}\n"
        "  else: {type: tool, tool: tried/echo, args: {value: 3}}\n"
        "edges:\n"
        "  - {from: a, discovery: {query: \"${output}\", fallback: "
        "else}}\n");
}

static void leads_to(const char *run, const char *query, const char *node)
{
    char want[64];

    desk_ok("$MORTISE run e.yaml --id %s --input '{\"q\": \"%s\"}'", run,
            query);
    desk_ok("$MORTISE events %s --json", run);
    snprintf(want, sizeof want, "\"chosen\":\"%s\"", node);
    desk_out(want);
}

/* The bundled catalogue leads a graph; what nothing fits goes to the fallback,
 * and so does everything where the deployment has no discovery, of which a check
 * warns, or one that lies. */
START_TEST(an_edge_is_led)
{
    lead();
    deploy("[catalog]", "");
    desk_ok("$MORTISE check e.yaml mortise.yaml");
    leads_to("r1", "my order, a question", "look");
    leads_to("r2", "refunding", "pay");
    leads_to("r3", "the weather", "else");
    deploy("[discovery_lies]", "");
    leads_to("r4", "refunding", "else");
    desk_out("is not the requested kind (node)");
    deploy("[discovery_lies, catalog]", "");
    leads_to("r5", "refunding", "pay");
    desk_out("bad_output");
    desk_ok("sed -i /^discovery/d mortise.yaml");
    leads_to("r6", "refunding", "else");
    desk_out(
        "\"error\":{\"code\":\"discovery.failed\",\"message\":\"the "
        "deployment has no discovery plugin: list one in discovery.plugins\"}");
    desk_ok("$MORTISE check e.yaml");
    desk_out(
        "warning[W0453]: the deployment has no discovery plugin: list one");
}
END_TEST

/* Killed while it is looked for, it is looked for again, and the node before it is
 * not run again. */
START_TEST(killed_while_it_looks)
{
    lead();
    deploy("[{plugin: finds, config: {file: wait}}]", "");
    desk_put("wait", "");
    desk_admit("e.yaml", "a", "r", "{\"q\": \"refunds\"}");
    desk_ok("$MORTISE resume r & "
            "while ! test -s entered; do sleep 0.05; done; kill -9 $!; "
            "wait $! || rm wait");
    desk_ok("$MORTISE resume r");
    desk_ok("$MORTISE events r --json");
    desk_out("\"chosen\":\"pay\"");
    ck_assert_uint_eq(desk_entrances(), 2);
}
END_TEST

/* ---- registries ---------------------------------------------------------- */

static struct httpd *httpd;
static const char *refund_server =
    "{\"name\":\"io.example/shop\",\"title\":\"Shop desk\",\"description\":"
    "\"Refunds and orders of a shop\",\"version\":\"1.0.0\"}";

/* An index that has one tool and one skill; the tool's words are the index's. */
static void serve_index(const char *about)
{
    char body[1024];

    snprintf(body, sizeof body,
             "{\"entries\":[{\"id\":\"tried/nap\",\"kind\":\"tool\","
             "\"description\":\"%s\"},{\"id\":\"exec/run\",\"kind\":\"tool\","
             "\"description\":\"runs programs, and refunds\"},{\"text\":\"Be "
             "kind.\",\"id\":\"manners\",\"kind\":\"skill\",\"description\":"
             "\"how refunds are told\"}]}",
             about);
    httpd_answer(httpd, "/index.json", "200 OK",
                 "Content-Type: application/json\r\n", body);
}

/* The digest that the log has for an entry. */
static void digest_of(const char *key, char out[65])
{
    char want[128];
    const char *at;

    snprintf(want, sizeof want, "'%s' is not used", key);
    at = strstr(child.err, want);
    ck_assert_msg(at != NULL, "no %s in:\n%s", want, child.err);
    at = strstr(at, "has the digest ");
    ck_assert_ptr_nonnull(at);
    snprintf(out, 65, "%s", at + strlen("has the digest "));
}

static void pin(const char *key, const char *digest, const char *other,
                const char *other_digest)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", "
             "\"discovery\": {\"registry\": {\"%s\": \"%s\", \"%s\": "
             "\"%s\"}}}\n",
             key, digest, other, other_digest);
    desk_put("mortise.lock", text);
}

static void look_in(const char *run)
{
    desk_ok("$MORTISE run g.yaml --id %s", run);
}

/* What nobody pinned is not used, and the log has its digest; pinned it is
 * found, within the allowlist alone; and what became of it since is not. */
START_TEST(an_index_is_pinned)
{
    char plugins[512], tool[65], skill[65];

    httpd = httpd_start();
    serve_index("refunds by sleeping");
    snprintf(plugins, sizeof plugins,
             "[{plugin: registry, config: {format: index, base_url: \"%s\"}}]",
             httpd_url(httpd, "/index.json"));
    deploy(plugins, "");
    look_for("refunds");
    look_in("r");
    digest_of("tool:tried/nap", tool);
    digest_of("skill:manners", skill);
    gave("r", "{\"results\": []}");
    pin("tool:tried/nap", tool, "skill:manners", skill);
    desk_ok("$MORTISE check mortise.yaml");
    look_in("s");
    desk_ok("$MORTISE show s --json");
    desk_out("\"id\": \"tried/nap\"");
    desk_out("Be kind.");
    desk_not_out("exec/run");
    httpd_stop(httpd);
    httpd = httpd_start();
    serve_index("refunds and all else");
    snprintf(plugins, sizeof plugins,
             "[{plugin: registry, config: {format: index, base_url: \"%s\"}}]",
             httpd_url(httpd, "/index.json"));
    deploy(plugins, "");
    look_in("t");
    ck_assert_msg(
        strstr(child.err, "it differs from its pin in mortise.lock") != NULL,
        "%s", child.err);
    desk_ok("$MORTISE show t --json");
    desk_not_out("tried/nap");
    desk_out("Be kind.");
    httpd_stop(httpd);
}
END_TEST

/* An MCP registry is read page by page, until the servers of the config were
 * seen; and what is no registry is an error. */
START_TEST(a_registry_is_read)
{
    char plugins[512], body[1024], digest[65];

    httpd = httpd_start();
    httpd_answer(httpd, "/v0/servers?limit=100&version=latest", "200 OK", "",
                 "{\"servers\":[{\"server\":{\"name\":\"io.example/other\","
                 "\"description\":\"x\",\"version\":\"1\"}}],\"metadata\":{"
                 "\"nextCursor\":\"a b\",\"count\":1}}");
    snprintf(body, sizeof body,
             "{\"servers\":[{\"server\":%s,\"_meta\":{}}],\"metadata\":{"
             "\"nextCursor\":\"never\"}}",
             refund_server);
    httpd_answer(httpd, "/v0/servers?limit=100&version=latest&cursor=a%20b",
                 "200 OK", "", body);
    snprintf(plugins, sizeof plugins,
             "[{plugin: registry, config: {base_url: \"%s\", servers: {shop: "
             "io.example/shop}}}]",
             httpd_url(httpd, ""));
    deploy(plugins, "");
    look_for("refunds");
    look_in("r");
    digest_of("io.example/shop", digest);
    ck_assert_uint_eq(httpd_requests(httpd), 2);
    gave("r", "{\"results\": []}");
    httpd_stop(httpd);
    httpd = httpd_start();
    httpd_answer(httpd, "/v0/servers?limit=100&version=latest", "200 OK", "",
                 "<html>");
    snprintf(plugins, sizeof plugins,
             "[{plugin: registry, config: {base_url: \"%s\", servers: {shop: "
             "io.example/shop}}}]",
             httpd_url(httpd, ""));
    deploy(plugins, "");
    look_in("s");
    desk_ok("$MORTISE show s --json");
    desk_out("the registry's answer is not JSON");
    httpd_stop(httpd);
}
END_TEST

/* A registry cannot send us, and what is said to it, elsewhere. */
START_TEST(a_redirect_is_not_followed)
{
    char plugins[512];

    httpd = httpd_start();
    httpd_answer(httpd, "/index.json", "302 Found",
                 "Location: /elsewhere.json\r\n", "");
    httpd_answer(httpd, "/elsewhere.json", "200 OK", "", "{\"entries\":[]}");
    snprintf(plugins, sizeof plugins,
             "[{plugin: registry, config: {format: index, base_url: \"%s\"}}]",
             httpd_url(httpd, "/index.json"));
    deploy(plugins, "");
    child_run("$MORTISE discovery pin registry");
    ck_assert_int_ne(child.code, 0);
    desk_err("a redirect to /elsewhere.json, which is not followed");
    ck_assert_uint_eq(httpd_requests(httpd), 1);
    httpd_stop(httpd);
}
END_TEST

/* A registry that gives this, in the deployment. */
static void serve(const char *body)
{
    char plugins[512];

    if (httpd != NULL)
        httpd_stop(httpd);
    httpd = httpd_start();
    httpd_answer(httpd, "/index.json", "200 OK",
                 "Content-Type: application/json\r\n", body);
    snprintf(plugins, sizeof plugins,
             "[catalog, finds, {plugin: registry, config: {format: index, "
             "base_url: "
             "\"%s\"}}]",
             httpd_url(httpd, "/index.json"));
    deploy(plugins, "");
}

static void served(void)
{
    httpd_stop(httpd);
    httpd = NULL;
}

#define NAP(about)                                                             \
    "{\"id\":\"tried/nap\",\"kind\":\"tool\",\"description\":\"" about "\"}"
#define MANNERS                                                                \
    "{\"id\":\"manners\",\"kind\":\"skill\",\"description\":\"how refunds "    \
    "are "                                                                     \
    "told\",\"text\":\"Be kind.\"}"
#define RUNS                                                                   \
    "{\"id\":\"exec/"                                                          \
    "run\",\"kind\":\"tool\",\"description\":\"\\u001b[2Jruns\"}"

static void lock_has(const char *key, bool has)
{
    desk_ok("test -e mortise.lock && cat mortise.lock");
    ck_assert_msg((strstr(child.out, key) != NULL) == has, "%s in:\n%s", key,
                  child.out);
}

/* What there is and nobody pinned is shown whole, and written down: all of it, or
 * what is named; what is written is what the plugin goes by. */
START_TEST(entries_are_pinned)
{
    serve("{\"entries\":[" NAP("refunds by sleeping") "," RUNS "," MANNERS
                                                      "]}");
    look_for("refunds");
    child_run("$MORTISE discovery pin registry --check");
    desk_code(1);
    desk_out(
        "registry: 3 new, 0 changed, 0 removed\n+ tool:tried/nap\n    {\n");
    desk_out("      \"description\": \"refunds by sleeping\"");
    desk_out("+ skill:manners\n");
    desk_out("\"text\": \"Be kind.\"");
    desk_not_out("\033");
    ck_assert_str_eq(child.err, "");
    desk_ok("test ! -e mortise.lock");
    desk_ok("$MORTISE discovery pin registry tool:tried/nap skill:manners");
    desk_out("registry: 2 new, 0 changed, 0 removed\n");
    desk_out("wrote mortise.lock\n");
    desk_not_out("exec/run");
    lock_has("exec/run", false);
    desk_ok("$MORTISE check mortise.yaml");
    look_in("r");
    ck_assert_msg(strstr(child.err, "'tool:exec/run' is not used") != NULL,
                  "%s", child.err);
    ck_assert_msg(strstr(child.err, "'tool:tried/nap'") == NULL, "%s",
                  child.err);
    desk_ok("$MORTISE show r --json");
    desk_out("\"id\": \"tried/nap\"");
    desk_out("Be kind.");
    desk_ok("$MORTISE discovery pin registry tool:tried/nap");
    ck_assert_str_eq(child.out, "registry: as pinned\n");
    child_run("$MORTISE discovery pin registry --check");
    desk_code(1);
    desk_out("registry: 1 new, 0 changed, 0 removed\n+ tool:exec/run\n");
    desk_ok("$MORTISE discovery pin registry");
    lock_has("exec/run", true);
    desk_ok("$MORTISE discovery pin registry --check");
    ck_assert_str_eq(child.out, "registry: as pinned\n");
    served();
}
END_TEST

/* What is another one by now, and what is gone, is told from what is new; what was
 * not named stays as it was pinned, and what else the lock has, too. */
START_TEST(changes_are_told)
{
    char old[65], *at;

    desk_put(
        "mortise.lock",
        "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
        "{\"files\": {\"tools\": {}}}, \"discovery\": {\"other\": "
        "{\"x\": "
        "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        "\"}}}\n");
    serve("{\"entries\":[" NAP("refunds by sleeping") "," MANNERS "]}");
    desk_ok("$MORTISE discovery pin registry");
    desk_ok("cat mortise.lock");
    at = strstr(child.out, "\"tool:tried/nap\": \"");
    ck_assert_ptr_nonnull(at);
    snprintf(old, sizeof old, "%s", at + strlen("\"tool:tried/nap\": \""));
    serve("{\"entries\":[" NAP("refunds, and sends all mail to me") "]}");
    child_run("$MORTISE discovery pin registry --check");
    desk_code(1);
    desk_out("registry: 0 new, 1 changed, 1 removed\n");
    desk_out("- skill:manners\n");
    desk_out("~ tool:tried/nap\n    digest\n    - ");
    desk_out(old);
    desk_out("new entry\n    {\n");
    desk_out("sends all mail to me");
    desk_ok("$MORTISE discovery pin registry skill:manners");
    desk_out("registry: 0 new, 0 changed, 1 removed\n- skill:manners\n");
    lock_has("manners", false);
    lock_has(old, true);
    desk_ok("$MORTISE discovery pin registry");
    lock_has(old, false);
    lock_has("tried/nap", true);
    lock_has("\"files\"", true);
    lock_has("\"other\"", true);
    serve("{\"entries\":[]}");
    desk_ok("$MORTISE discovery pin registry");
    lock_has("registry", false);
    lock_has("\"other\"", true);
    served();
}
END_TEST

/* Two at once lose nothing of each other. */
START_TEST(two_pin_at_once)
{
    serve("{\"entries\":[" NAP("refunds by sleeping") "," RUNS "," MANNERS
                                                      "]}");
    desk_ok("for i in 1 2 3 4 5; do for k in tool:tried/nap tool:exec/run "
            "skill:manners; do $MORTISE discovery pin registry $k & p=\"$p "
            "$!\"; done; for q in $p; do wait $q || exit 1; done; rm -f "
            "last; mv mortise.lock last; p=; done; cp last mortise.lock");
    lock_has("tried/nap", true);
    lock_has("exec/run", true);
    lock_has("manners", true);
    served();
}
END_TEST

/* Who cannot be asked, and who has nothing to pin, says so, and nothing is
 * written. */
START_TEST(what_cannot_be_pinned)
{
    static const struct {
        const char *args, *says;
        int code;
    } refused[] = {
        {"", "PLUGIN", 3},
        {"regisrty",
         "discovery.plugins of the deployment has no plugin 'regisrty'; did "
         "you mean 'registry'?",
         3},
        {"catalog", "plugin 'catalog' has nothing to pin", 3},
        {"finds", "plugin 'finds' has nothing to pin", 3},
        {"registry tool:tired/nap",
         "'registry' has no entry 'tool:tired/nap'; did you mean "
         "'tool:tried/nap'?",
         3},
    };

    serve("{\"entries\":[" NAP("x") "]}");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        child_run("$MORTISE discovery pin %s", refused[i].args);
        desk_code(refused[i].code);
        desk_err(refused[i].says);
    }
    serve("<html>");
    child_run("$MORTISE discovery pin registry");
    desk_code(1);
    desk_err("plugin 'registry': registry.protocol: the registry's answer is "
             "not JSON");
    served();
    child_run("$MORTISE discovery pin registry"); /* nobody is there */
    desk_code(1);
    desk_err("plugin 'registry': ");
    desk_ok("sed -i /^discovery/d mortise.yaml");
    child_run("$MORTISE discovery pin registry");
    desk_code(3);
    desk_err("discovery.plugins of the deployment has no plugin 'registry'");
    desk_ok("test ! -e mortise.lock");
}
END_TEST

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
    const char *list, *says; /* NULL: it is right */
} lists[] = {
    {"{\"entries\": [{\"key\": \"k\", \"digest\": \"" HEX "\", \"entry\": 7}]}",
     NULL},
    {"", "the answer of a discovery plugin must be {\"entries\": [...]}"},
    {"[]", "the answer of a discovery plugin must be {\"entries\": [...]}"},
    {"{\"entries\": [7]}", "the key of an entry must have 1 to 512 bytes"},
    {"{\"entries\": [{\"key\": \"\", \"digest\": \"" HEX "\", \"entry\": 7}]}",
     "the key of an entry must have 1 to 512 bytes"},
    {"{\"entries\": [{\"key\": \"a\\u0000b\", \"digest\": \"" HEX
     "\", \"entry\": 7}]}",
     "the key of an entry must have 1 to 512 bytes"},
    {"{\"entries\": [{\"key\": \"k\", \"digest\": \"0A\", \"entry\": 7}]}",
     "the entry 'k' must have a 'digest' of 64 hexadecimal digits and a value "
     "'entry'"},
    {"{\"entries\": [{\"key\": \"k\", \"digest\": \"" HEX "\"}]}",
     "the entry 'k' must have a 'digest' of 64 hexadecimal digits and a value "
     "'entry'"},
    {"{\"entries\": [{\"key\": \"k\", \"digest\": \"" HEX
     "\", \"entry\": 7}, {\"key\": \"k\", \"digest\": \"" HEX
     "\", \"entry\": 7}]}",
     "'k' occurs twice"},
    {NULL, "plugin 'discovery_lists': lists.gone: there is no list"},
};

/* A plugin of somebody else's has what it lists pinned, and one that lies about it
 * has nothing pinned. */
START_TEST(lists_are_judged)
{
    deploy("[{plugin: discovery_lists, config: {file: l}}]", "");
    if (lists[_i].list != NULL)
        desk_put("l", lists[_i].list);
    child_run("$MORTISE discovery pin discovery_lists");
    desk_code(lists[_i].says == NULL ? 0 : lists[_i].list == NULL ? 1 : 3);
    if (lists[_i].says != NULL) {
        desk_err(lists[_i].says);
        desk_ok("test ! -e mortise.lock");
        return;
    }
    desk_out("+ k\n    7\n");
    lock_has("\"k\": \"" HEX "\"", true);
    desk_ok("$MORTISE check mortise.yaml");
    desk_ok("$MORTISE discovery pin discovery_lists --check");
}
END_TEST

/* What a lock pins for a plugin that takes no pins is found where it stands: with
 * it the plugin would not come up. */
START_TEST(pins_for_nothing)
{
    deploy("[{plugin: catalog, config: {}}, catalog]", "");
    desk_put("mortise.lock",
             "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\",\n"
             "\"discovery\": {\"catalog\": {\"x\": \"" HEX "\"}}}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.lock:2:26: error[E0607]: plugin 'catalog' has nothing to "
             "pin: its config accepts no 'pins'");
    desk_out("help: remove this from the lock file");
    desk_ok("test $($MORTISE check mortise.yaml | grep -c E0607) = 1");
    look_for("values");
    child_run("$MORTISE run g.yaml");
    desk_code(78);
    desk_err("E0607");
}
END_TEST

/* All instances of a plugin are pinned as one, unless they mean not the same by
 * one key. */
START_TEST(instances_are_pinned_together)
{
    desk_put("a", "{\"entries\": [{\"key\": \"k\", \"digest\": \"" HEX
                  "\", \"entry\": 7}]}");
    desk_put("b", "{\"entries\": [{\"key\": \"l\", \"digest\": \"" HEX
                  "\", \"entry\": 8}, {\"key\": \"k\", \"digest\": "
                  "\"" HEX "\", \"entry\": 7}]}");
    deploy("[{plugin: discovery_lists, config: {file: a}}, finds, {plugin: "
           "discovery_lists, config: {file: b}}]",
           "");
    desk_ok("$MORTISE discovery pin discovery_lists");
    desk_out("discovery_lists: 2 new, 0 changed, 0 removed\n");
    desk_ok("sed s/0123/3210/g a >b");
    child_run("$MORTISE discovery pin discovery_lists");
    desk_code(3);
    desk_err("two instances of plugin 'discovery_lists' have different digests "
             "for the entry 'k'");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_discovery");
    TCase *tc = tcase_create("discovery");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, an_executor_looks);
    tcase_add_test(tc, extensions_alone);
    tcase_add_test(tc, several_are_fused);
    tcase_add_loop_test(tc, a_broken_one_has_no_say, 0,
                        sizeof broken / sizeof broken[0]);
    tcase_add_test(tc, nobody_answers);
    tcase_add_test(tc, a_deadly_one_is_counted);
    tcase_add_test(tc, a_wrong_name_is_found);
    tcase_add_test(tc, what_is_no_request);
    tcase_add_test(tc, the_catalog_is_bundled);
    tcase_add_test(tc, skills_count_from_the_deployment);
    tcase_add_test(tc, an_edge_is_led);
    tcase_add_test(tc, killed_while_it_looks);
    tcase_add_test(tc, an_index_is_pinned);
    tcase_add_test(tc, a_registry_is_read);
    tcase_add_test(tc, a_redirect_is_not_followed);
    tcase_add_test(tc, entries_are_pinned);
    tcase_add_test(tc, changes_are_told);
    tcase_add_test(tc, two_pin_at_once);
    tcase_add_test(tc, what_cannot_be_pinned);
    tcase_add_loop_test(tc, lists_are_judged, 0,
                        sizeof lists / sizeof lists[0]);
    tcase_add_test(tc, instances_are_pinned_together);
    tcase_add_test(tc, pins_for_nothing);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
