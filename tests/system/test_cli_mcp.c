/* test_cli_mcp.c -- MCP servers over pipes, in graphs: the plugin `mcp` and
 * whatever a server does to it (tests/mcp/).
 *
 * The server `s` speaks both eras, `old` that of 2025-11-25 alone; each test says
 * with which flags.  What they are sent they judge themselves: a line with `!` in
 * their log is a word that a server may not be told. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/test.h"

/* ---- servers ---------------------------------------------------------------- */

/* Both servers with these flags, and `more` in each of their mappings. */
static void deploy(const char *flags, const char *more)
{
    char text[4096];

    snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
        "store: {path: ./store}\ntools:\n  mcp:\n"
        "    s: {command: [./mcpd_stdio, --effects, ./out/effects, --log, "
        "./out/log, --starts, ./out/starts%s], dir: ., sandbox: {fs: {read: "
        "[.], write: [./out]}}, timeout: 20s, unpinned: true%s}\n"
        "    old: {command: [./mcpd_stdio, --era, \"2025\", --effects, "
        "./out/effects, --log, ./out/log, --starts, ./out/starts%s], dir: ., "
        "sandbox: {fs: {read: [.], write: [./out]}}, timeout: 20s, "
        "unpinned: true%s}\n",
        flags, more, flags, more);
    desk_put("mortise.yaml", text);
}

static void begin(void)
{
    desk_begin();
    desk_ok("mkdir out && cp %s .", child_build("tests/mcp/mcpd_stdio"));
    deploy("", "");
    desk_graph("c", "start: a\nnodes:\n  a: {type: tool, tool: mcp/call, args: "
                    "{server: \"${input.s}\", tool: \"${input.t}\", arguments: "
                    "\"${input.a}\"}, next: END}\n");
}

/* No server was told what it may not be, and none is left. */
static void end(void)
{
    child_run("! grep -n '^!' out/log >&2 2>/dev/null");
    ck_assert_msg(child.code == 0, "%s", child.err);
    child_run(
        "for i in $(seq 120); do n=0; for p in $(cat "
        "out/starts 2>/dev/null); do kill -0 $p 2>/dev/null && n=1; done; "
        "[ $n = 0 ] && exit 0; sleep 0.5; done; exit 1");
    ck_assert_msg(child.code == 0, "a server is left behind");
    desk_end();
}

#define RUN                                                                    \
    "$MORTISE run c.yaml --id %s --input "                                     \
    "'{\"s\": \"%s\", \"t\": \"%s\", \"a\": %s}'"

/* Call a tool, as run `id`. */
static int call(const char *id, const char *server, const char *tool,
                const char *args)
{
    child_run(RUN, id, server, tool, args);
    return child.code;
}

/* The first node of a run, as `show` has it; and the run's status is that. */
static json_t *node_of(const char *id, const char *status)
{
    json_t *run, *node;

    desk_ok("$MORTISE show %s --json", id);
    run = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(run);
    ck_assert_msg(
        strcmp(json_string_value(json_object_get(run, "status")), status) == 0,
        "not %s: %.4000s", status, child.out);
    node = json_incref(json_array_get(json_object_get(run, "nodes"), 0));
    json_decref(run);
    return node;
}

/* It gave that text. */
static void gave(const char *id, const char *text)
{
    json_t *node = node_of(id, "completed");
    const char *said = json_string_value(
        json_object_get(json_object_get(node, "output"), "text"));

    ck_assert_ptr_nonnull(said);
    ck_assert_str_eq(said, text);
    json_decref(node);
}

/* It failed with that code. */
static void failed(const char *id, const char *code)
{
    json_t *node = node_of(id, "failed");
    json_t *error = json_object_get(node, "error");

    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    json_decref(node);
}

static void in_doubt(const char *id)
{
    json_decref(node_of(id, "in_doubt"));
}

/* The id of what it asks, and what of. */
static char *asked(const char *id, const char *words)
{
    static char request[64];
    json_t *run, *pending;

    desk_ok("$MORTISE show %s --json", id);
    run = json_loads(child.out, 0, NULL);
    pending = json_array_get(json_object_get(run, "pending"), 0);
    ck_assert_msg(pending != NULL, "nothing is asked: %.3000s", child.out);
    desk_out(words);
    snprintf(request, sizeof request, "%s",
             json_string_value(json_object_get(pending, "id")));
    json_decref(run);
    return request;
}

static void effects(int n)
{
    desk_ok("cat out/effects 2>/dev/null | wc -l | tr -d '\\n '");
    ck_assert_msg(atoi(child.out) == n, "%s effects, not %d", child.out, n);
}

/* Lines of the log that have that. */
static int logged(const char *text)
{
    child_run("grep -c '%s' out/log", text);
    return atoi(child.out);
}

/* ---- pins -------------------------------------------------------------------- */

/* mortise.lock with all that `server` offers now. */
static void pin(const char *server)
{
    json_t *node, *output, *tools = json_object(), *tool, *lock;
    char *text;
    size_t i;

    desk_graph("l", "start: a\nnodes:\n  a: {type: tool, tool: mcp/list, args: "
                    "{server: \"${input.s}\"}, next: END}\n");
    desk_ok("rm -f mortise.lock; $MORTISE run l.yaml --id pin-%s --input "
            "'{\"s\": \"%s\"}'",
            server, server);
    child_run("printf 'pin-%s'", server);
    text = strdup(child.out);
    node = node_of(text, "completed");
    free(text);
    output = json_object_get(node, "output");
    json_array_foreach(json_object_get(output, "tools"), i, tool)
    {
        json_t *name = json_incref(json_object_get(tool, "name"));

        json_object_del(tool, "name");
        json_object_set(tools, json_string_value(name), tool);
        json_decref(name);
    }
    lock = json_pack("{s:s, s:s, s:{s:{s:O, s:O, s:o}}}", "apiVersion",
                     "mortise/v1", "kind", "Lock", "mcp", server, "protocol",
                     json_object_get(output, "protocol"), "server",
                     json_object_get(output, "server"), "tools", tools);
    text = json_dumps(lock, JSON_INDENT(2) | JSON_SORT_KEYS);
    desk_put("mortise.lock", text);
    free(text);
    json_decref(lock);
    json_decref(node);
    desk_graph("p",
               "start: a\nnodes:\n  a: {type: tool, tool: mcp/s/echo, args: "
               "{text: one}, next: b}\n  b: {type: tool, tool: mcp/s/echo, "
               "args: {text: two}, next: END}\n");
}

/* ---- calls ------------------------------------------------------------------- */

/* A tool is called in either era, and what it gives comes whole. */
START_TEST(tools_are_called_in_both_eras)
{
    json_t *node;

    ck_assert_int_eq(call("a", "s", "echo", "{\"text\": \"hällo\"}"), 0);
    gave("a", "hällo");
    ck_assert_int_eq(call("b", "old", "echo", "{\"text\": \"hällo\"}"), 0);
    gave("b", "hällo");
    ck_assert_int_eq(call("c", "s", "add", "{\"a\": 1, \"b\": 2}"), 0);
    node = node_of("c", "completed");
    ck_assert(
        json_number_value(json_object_get(
            json_object_get(json_object_get(node, "output"), "structured"),
            "sum")) == 3.0);
    json_decref(node);
    ck_assert_int_gt(logged("server/discover"), 0);
    ck_assert_int_eq(logged("\"method\":\"initialize\""), 1);
}
END_TEST

/* What a tool says of its failure is the error's words; a tool that is not there,
 * and a server that is not, are told apart. */
START_TEST(errors_have_codes)
{
    call("a", "s", "fail", "{\"text\": \"no good\"}");
    failed("a", "mcp.tool_error");
    desk_ok("$MORTISE show a");
    desk_out("no good");
    call("b", "old", "nope", "{}");
    failed("b", "mcp.unknown_tool");
    call("c", "none", "echo", "{}");
    failed("c", "invalid");
    deploy(", --exit-at-start, --exit-code, \"7\"", "");
    call("d", "s", "echo", "{}");
    failed("d", "mcp.not_started");
    desk_ok("$MORTISE show d");
    desk_out("exited with 7");
}
END_TEST

/* A program that its sandbox keeps from its own file is told which key is missing;
 * one that ends with the command is no warning. */
START_TEST(a_file_outside_of_the_sandbox)
{
    desk_ok("mkdir far && echo 'exec ./mcpd_stdio' >far/s.sh && sed -i "
            "'s,s: {command: .*sandbox,s: {command: [/bin/sh; ./far/s.sh]; "
            "sandbox,; s,read: \\[.\\],read: [./out],; s/;/,/g' mortise.yaml");
    call("a", "s", "echo", "{}");
    failed("a", "mcp.not_started");
    desk_ok("$MORTISE show a --json");
    desk_out(
        "a file may be missing in its sandbox: tools.mcp.s.sandbox.fs.read");
    deploy("", "");
    desk_ok("$MORTISE mcp list s");
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* list, read and prompt. */
START_TEST(servers_offer_more_than_tools)
{
    desk_graph("l",
               "start: a\nnodes:\n  a: {type: tool, tool: mcp/list, args: "
               "{server: s}, next: b}\n  b: {type: tool, tool: mcp/read, args: "
               "{server: s, uri: \"mcpd://text\"}, next: c}\n  c: {type: tool, "
               "tool: mcp/prompt, args: {server: s, name: greet, arguments: "
               "{who: Ann}}, next: END}\n");
    deploy(", --pages, \"3\", --empty-cursor, --tools, \"40\", --instructions, "
           "be kind",
           "");
    desk_ok("$MORTISE run l.yaml --id a && $MORTISE show a --json");
    desk_out("\"digest\"");
    desk_out("extra-40");
    desk_out("be kind");
    desk_out("mcpd://of/{name}");
    desk_out("\"contents\"");
    desk_out("\"messages\"");
    deploy(", --endless-pages", "");
    child_run("$MORTISE run l.yaml --id b");
    failed("b", "mcp.protocol");
}
END_TEST

/* What the deployment denies or asks for of a server or a tool holds wherever it
 * is named: in mcp/call, in mcp/read, mcp/prompt and mcp/list.
 * key: MCP server.unpinned */
START_TEST(what_is_named_is_judged)
{
    static const char *const named[] = {"{tool: mcp/call, args: {server: s, "
                                        "tool: echo, arguments: {text: x}}",
                                        "{tool: mcp/read, args: {server: s, "
                                        "uri: \"mcpd://text\"}",
                                        "{tool: mcp/prompt, args: {server: s, "
                                        "name: greet}",
                                        "{tool: mcp/list, args: {server: s}"};
    char text[512];

    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        snprintf(text, sizeof text,
                 "start: a\nnodes:\n  a: {type: tool, next: END, %s}\n",
                 named[i] + 1);
        desk_graph("n", text);
        deploy("", "");
        desk_ok("sed -i 's,^tools:,tools:\\n  deny: [\"mcp/s/*\"],' "
                "mortise.yaml");
        child_run("$MORTISE run n.yaml --id deny-%zu", i);
        desk_code(2);
        desk_err("error[E0507]: the deployment denies mcp/s/");
        desk_ok("sed -i 's,^  deny:,  ask:,' mortise.yaml");
        child_run("$MORTISE run n.yaml --id ask-%zu", i);
        desk_code(4);
        desk_out("needs an approval");
    }
    effects(0);
    deploy("", "");
    desk_ok("sed -i 's/, unpinned: true//' mortise.yaml");
    call("a", "s", "echo", "{}");
    failed("a", "mcp.not_pinned");
    ck_assert_int_eq(logged("tools/call"), 0);
}
END_TEST

/* So it holds for a tool that a model names in mcp/call: the model gets the
 * refusal, the run waits for an approval, and the server hears of neither. */
START_TEST(what_a_model_names_is_judged)
{
    static const char calls[] =
        "models:\n  default:\n    provider: scripted\n    model: m\n"
        "    replies:\n      - {when: {turn: 0}, tool_calls: [{name: "
        "mcp__call, arguments: {server: s, tool: echo, arguments: {text: "
        "x}}}]}\n      - {when: {turn: 1}, text: over}\n";
    static const struct {
        const char *change, *refusal;
    } rows[] = {
        {"s,^tools:,tools:\\n  deny: [\"mcp/s/echo\"],",
         "the deployment denies mcp/s/echo"},
        {"s/, unpinned: true//", "mcp.not_pinned"},
        {"s,^tools:,tools:\\n  ask: [\"mcp/s/*\"],", NULL},
    };

    desk_graph("m", "start: a\nnodes:\n  a: {type: gmi, prompt: go, "
                    "tool_allowlist: [mcp/call], next: END}\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        deploy("", "");
        desk_ok("sed -i '%s' mortise.yaml && cat >>mortise.yaml <<'E'\n%sE",
                rows[i].change, calls);
        child_run("$MORTISE run m.yaml --id m%zu", i);
        desk_code(rows[i].refusal != NULL ? 0 : 4);
        ck_assert_int_eq(logged("tools/call"), 0);
        if (rows[i].refusal == NULL)
            continue;
        desk_ok("$MORTISE show m%zu --transcript --json", i);
        desk_out(rows[i].refusal);
    }
    desk_ok("$MORTISE approve $($MORTISE inbox m2 --ids)");
    ck_assert_int_eq(logged("tools/call"), 1);
    desk_ok("$MORTISE show m2 --json");
    desk_out("over");
}
END_TEST

/* A schema with a number beyond 64 bits and a tuple of draft-07 keep neither their
 * tools nor those beside them from being pinned and called; the tuple is judged
 * before the server hears of it. */
START_TEST(schemas_of_others_are_pinned)
{
    static const struct {
        const char *tool, *args;
        bool fits;
    } rows[] = {
        {"echo", "{\"text\": \"odd-beside\"}", true},
        {"odd-large", "{\"n\": 9223372036854775807}", true},
        {"odd-large", "{\"n\": \"x\"}", false},
        {"odd-pair", "{\"p\": [\"x\", 1]}", true},
        {"odd-pair", "{\"p\": [1, \"x\"]}", false},
        {"odd-pair", "{\"p\": [\"x\", 1, 2]}", false},
    };
    int heard = 0;

    deploy(", --odd-schemas", "");
    desk_ok("sed -i 's/, unpinned: true//' mortise.yaml");
    desk_ok("$MORTISE mcp pin s && $MORTISE mcp list s");
    desk_out("odd-large");
    desk_out("odd-pair");
    desk_out("echo");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        child_run("$MORTISE mcp call s/%s '%s'", rows[i].tool, rows[i].args);
        ck_assert_msg((child.code == 0) == rows[i].fits, "%s %s: %s%s",
                      rows[i].tool, rows[i].args, child.out, child.err);
        if (rows[i].fits)
            desk_out("odd-");
        heard += rows[i].fits;
        ck_assert_int_eq(logged("\"method\":\"tools/call\""), heard);
    }
}
END_TEST

/* An image of a tool is an image in the next request to a model server; that
 * request does not repeat its base64 as a text. */
START_TEST(images_reach_a_model)
{
    static const char one[] =
        "{\"choices\": [{\"message\": {\"role\": \"assistant\", "
        "\"tool_calls\": [{\"id\": \"c1\", \"type\": \"function\", "
        "\"function\": {\"name\": \"mcp__call\", \"arguments\": "
        "\"{\\\"server\\\": \\\"s\\\", \\\"tool\\\": \\\"rich\\\"}\"}}]}, "
        "\"finish_reason\": \"tool_calls\"}]}";
    static const char two[] =
        "{\"choices\": [{\"message\": {\"role\": \"assistant\", "
        "\"content\": \"seen\"}, \"finish_reason\": \"stop\"}]}";
    static const char head[] = "Content-Type: application/json\r\n";
    struct httpd *d = httpd_start();
    const char *request, *image;

    deploy("", "");
    desk_ok("cat >>mortise.yaml <<'E'\nmodels:\n  default: {provider: openai, "
            "model: m, base_url: \"%s\"}\nE",
            httpd_url(d, "/v1"));
    desk_graph("i", "start: a\nnodes:\n  a: {type: gmi, prompt: go, "
                    "tool_allowlist: [mcp/call], next: END}\n");
    httpd_answer(d, "/v1/chat/completions", "200 OK", head, one);
    httpd_times(d, 1);
    httpd_answer(d, "/v1/chat/completions", "200 OK", head, two);
    desk_ok("$MORTISE run i.yaml --id i");
    ck_assert_uint_eq(httpd_requests(d), 2);
    request = httpd_request(d, 1);
    image = strstr(request, "data:image/png;base64,iVBORw0KGgo=");
    ck_assert_msg(image != NULL, "%s", request);
    ck_assert_ptr_nonnull(strstr(request, "\"image_url\""));
    ck_assert_ptr_null(strstr(image + 30, "iVBORw0KGgo="));
    httpd_stop(d);
}
END_TEST

/* ---- eras -------------------------------------------------------------------- */

/* A server that does not survive the question what it speaks is started anew, and
 * one that says nothing to it is an old one, of which a warning says that. */
START_TEST(old_servers_are_found_out)
{
    deploy(", --exit-on-discover", "");
    ck_assert_int_eq(call("a", "old", "echo", "{\"text\": \"x\"}"), 0);
    gave("a", "x");
    desk_ok("wc -l <out/starts | tr -d '\\n '");
    ck_assert_str_eq(child.out, "2");
    deploy(", --silent-on-discover", "");
    ck_assert_int_eq(call("b", "old", "echo", "{\"text\": \"y\"}"), 0);
    desk_err("the server did not answer server/discover within 5000 ms; "
             "initialize now has ");
    desk_err("(tools.mcp.old.timeout)");
    gave("b", "y");
}
END_TEST

/* The deployment's word holds: no discovery, or nothing else. */
START_TEST(protocol_can_be_said)
{
    deploy("", ", protocol: \"2025-11-25\"");
    ck_assert_int_eq(call("a", "s", "echo", "{\"text\": \"x\"}"), 0);
    ck_assert_int_eq(logged("server/discover"), 0);
    deploy("", ", protocol: \"2026-07-28\"");
    call("b", "old", "echo", "{}");
    failed("b", "mcp.protocol");
}
END_TEST

/* What it says before it is asked anything is answered, or ignored. */
START_TEST(talkative_servers_are_borne)
{
    deploy(", --babble-at-start, --ask-at-start", "");
    ck_assert_int_eq(call("a", "old", "echo", "{\"text\": \"x\"}"), 0);
    ck_assert_int_eq(call("b", "s", "echo", "{\"text\": \"x\"}"), 0);
}
END_TEST

/* ---- questions ----------------------------------------------------------------- */

/* In the new era a question waits on disk, and each process may be another: the
 * one that asks, the one that answers, the server.  What is not said has the
 * server's default. */
START_TEST(questions_wait_on_disk)
{
    ck_assert_int_eq(call("a", "s", "ask", "{\"effect\": true}"), 4);
    asked("a", "Who are you?");
    desk_ok("$MORTISE approve a %s --answer '{\"name\": \"Bob\"}'",
            asked("a", "\"tool\": \"ask\""));
    gave("a", "{\"action\":\"accept\",\"content\":{\"age\":30,\"agreed\":true,"
              "\"colour\":\"blue\",\"name\":\"Bob\",\"share\":0.5}}");
    effects(1);
    ck_assert_int_eq(call("b", "s", "ask", "{\"effect\": true}"), 4);
    desk_ok("$MORTISE reject b %s", asked("b", "Who are you?"));
    gave("b", "{\"action\":\"decline\"}");
    effects(1);
    ck_assert_int_eq(call("c", "s", "ask", "{\"url\": true}"), 4);
    desk_ok("$MORTISE inbox c");
    desk_out("\n    server   s\n    tool     ask\n    url      "
             "https://sign.example/?a=1&b=2\n");
    desk_ok("$MORTISE approve c %s",
            asked("c", "https://sign.example/?a=1&b=2"));
    gave("c", "{\"action\":\"accept\"}");
}
END_TEST

/* A server that asks round after round is answered, and one that forgot what it
 * had asked begins anew. */
START_TEST(questions_have_rounds)
{
    ck_assert_int_eq(call("a", "s", "ask", "{\"rounds\": 2}"), 4);
    child_run("$MORTISE approve a %s --answer '{}'", asked("a", "Who"));
    ck_assert_int_eq(child.code, 4);
    desk_ok("$MORTISE approve a %s --answer '{}'", asked("a", "Who"));
    json_decref(node_of("a", "completed"));
    /* each process of the server takes the first for none: twice is borne */
    deploy(", --state-expires", "");
    ck_assert_int_eq(call("b", "s", "ask", "{}"), 4);
    for (int i = 0; i < 3; i++) {
        child_run("$MORTISE approve b %s --answer '{}'", asked("b", "Who"));
        ck_assert_int_eq(child.code, i < 2 ? 4 : 1);
    }
    failed("b", "mcp.refused");
}
END_TEST

static void await_question(const char *id)
{
    for (int i = 0; i < 1200; i++) {
        child_run("$MORTISE show %s --json 2>/dev/null | grep -q '\"custom\"'",
                  id);
        if (child.code == 0)
            return;
        usleep(50000);
    }
    ck_abort_msg("nothing was asked");
}

/* In the old one the call is held, and answered from another process. */
START_TEST(old_questions_are_held)
{
    pid_t pid;

    deploy("", ", hold: 30s");
    pid = child_start("run", RUN, "a", "old", "ask", "{\"effect\": true}");
    await_question("a");
    desk_ok("$MORTISE approve a %s --answer '{\"name\": \"Bob\"}'",
            asked("a", "Who are you?"));
    ck_assert_int_eq(child_wait(pid), 0);
    gave("a", "{\"action\":\"accept\",\"content\":{\"age\":30,\"agreed\":true,"
              "\"colour\":\"blue\",\"name\":\"Bob\",\"share\":0.5}}");
    effects(1);
    /* -32042: the same, without holding anything */
    ck_assert_int_eq(call("b", "old", "ask",
                          "{\"url\": true, \"refuse\": "
                          "true}"),
                     4);
    asked("b", "https://sign.example/?a=1&b=2");
}
END_TEST

/* Held for too long, what may be repeated waits on disk after all, and is called
 * again; of the rest nobody knows. */
START_TEST(old_questions_are_not_held_for_ever)
{
    deploy("", ", hold: 200ms, effects: {idempotent: [ask], write: [ask]}");
    ck_assert_int_eq(call("a", "old", "ask", "{\"effect\": true}"), 5);
    in_doubt("a");
    pin("old");
    desk_graph("q", "start: a\nnodes:\n  a: {type: tool, tool: mcp/old/ask, "
                    "args: {effect: true}, next: END}\n");
    child_run("$MORTISE run q.yaml --id b");
    ck_assert_int_eq(child.code, 4);
    desk_ok("$MORTISE approve b %s --answer '{\"name\": \"Bob\"}'",
            asked("b", "Who are you?"));
    json_decref(node_of("b", "completed"));
    effects(1);
}
END_TEST

/* ---- what the deployment grants ------------------------------------------------ */

#define MODELS                                                                 \
    "models:\n  helper:\n    provider: scripted\n    model: rehearsal\n    "   \
    "price: {input_per_mtok: 1, output_per_mtok: 1}\n    replies:\n      - "   \
    "{when: {user: Say hello., system: Be short.}, text: Hello.}\n"

/* A server may have the model asked that the deployment says, in either era, in
 * the node's own budget; what it is told is what that said. */
START_TEST(servers_may_have_a_model_asked)
{
    static const char *const servers[] = {"s", "old"};

    deploy("", ", sampling: {model: helper}");
    desk_ok("cat >>mortise.yaml <<'E'\n" MODELS "E");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            call(servers[i], servers[i], "ask", "{\"sampling\": true}"), 0);
        gave(servers[i],
             "{\"content\":{\"text\":\"Hello.\",\"type\":\"text\"},"
             "\"model\":\"rehearsal\",\"role\":\"assistant\",\"stopReason\""
             ":\"endTurn\"}");
        desk_ok("$MORTISE show %s --json", servers[i]);
        desk_out("\"model_calls\": 1");
        desk_ok("$MORTISE show %s --transcript --json", servers[i]);
        desk_out("Be short.");
    }
}
END_TEST

/* What is not said is not offered, and refused all the same. */
START_TEST(models_and_directories_are_not_offered)
{
    ck_assert_int_ne(call("a", "s", "ask", "{\"sampling\": true}"), 0);
    failed("a", "mcp.refused");
    ck_assert_int_ne(call("b", "old", "ask", "{\"sampling\": true}"), 0);
    failed("b", "mcp.tool_error");
    ck_assert_int_ne(call("c", "s", "ask", "{\"roots\": true}"), 0);
    failed("c", "mcp.refused");
    deploy(", --ask-at-start", "");
    ck_assert_int_eq(call("d", "old", "echo", "{\"text\": \"hi\"}"), 0);
}
END_TEST

/* One that asks without end is refused in the end, and ends the call. */
START_TEST(asking_without_end_ends)
{
    deploy("", ", sampling: {model: helper}");
    desk_ok("cat >>mortise.yaml <<'E'\n" MODELS "E");
    ck_assert_int_ne(
        call("a", "old", "ask", "{\"sampling\": true, \"rounds\": 100000}"), 0);
    desk_ok("$MORTISE show a --json");
    desk_out("10,000 useless messages in a row");
    desk_out("\"model_calls\": ");
}
END_TEST

/* A model that fails is the server's to judge where it waits for it, and the
 * call's end where it does not. */
START_TEST(a_model_that_fails)
{
    deploy("", ", sampling: {model: helper}");
    desk_ok(
        "cat >>mortise.yaml <<'E'\nmodels:\n  helper: {provider: scripted, "
        "model: any, replies: [{error: {code: model.refused, message: Never."
        "}}]}\nE");
    ck_assert_int_ne(call("a", "s", "ask", "{\"sampling\": true}"), 0);
    failed("a", "model.refused");
    ck_assert_int_eq(call("b", "old", "ask", "{\"sampling\": true}"), 0);
    desk_ok("$MORTISE show b --json");
    desk_out("-32603");
    desk_out("Never.");
}
END_TEST

/* Used up, the budget stops a node between two requests, and in the middle of one
 * it refuses the model. */
START_TEST(a_model_is_in_the_budget)
{
    deploy("", ", sampling: {model: helper, max_tokens: 5}");
    desk_ok("cat >>mortise.yaml <<'E'\n" MODELS "E");
    desk_graph("b", "budget: {tokens: 4}\nstart: a\nnodes:\n  a: {type: tool, "
                    "tool: mcp/call, args: {server: \"${input.s}\", tool: ask, "
                    "arguments: {sampling: true}}, next: END}\n");
    child_run("$MORTISE run b.yaml --id a --input '{\"s\": \"s\"}'");
    ck_assert_int_ne(child.code, 0);
    desk_ok("$MORTISE show a --json");
    desk_out("\"budget\"");
    desk_ok("$MORTISE run b.yaml --id b --input '{\"s\": \"old\"}'");
    desk_ok("$MORTISE show b --json");
    desk_out("the budget is used up");
}
END_TEST

/* It is told of the directories that the deployment says, from the root on. */
START_TEST(servers_may_be_told_of_directories)
{
    static const char *const servers[] = {"s", "old"};
    char want[2 * sizeof desk_dir + 128];

    desk_ok("mkdir 'out/a b'");
    deploy("", ", roots: [./out, \"./out/a b\"]");
    snprintf(want, sizeof want,
             "{\"roots\":[{\"name\":\"out\",\"uri\":\"file://%s/out\"},"
             "{\"name\":\"a b\",\"uri\":\"file://%s/out/a%%20b\"}]}",
             desk_dir, desk_dir);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            call(servers[i], servers[i], "ask", "{\"roots\": true}"), 0);
        gave(servers[i], want);
    }
}
END_TEST

/* ---- tasks -------------------------------------------------------------------- */

START_TEST(tasks_are_waited_for)
{
    ck_assert_int_eq(call("a", "s", "task", "{\"ms\": 600, \"label\": \"x\"}"),
                     0);
    gave("a", "done");
    effects(1);
    call("b", "s", "task", "{\"ms\": 10, \"fail\": true}");
    failed("b", "mcp.tool_error");
    call("c", "s", "task", "{\"ms\": 10, \"error\": true}");
    failed("c", "mcp.task");
    deploy(", --refuse-tasks", "");
    call("d", "s", "task", "{\"ms\": 10}");
    failed("d", "mcp.task");
}
END_TEST

/* A task that asks lives in its server: as long as that does, the answer comes
 * through. */
START_TEST(tasks_may_ask)
{
    pid_t engine = child_start("engine", "$MORTISE engine");

    child_await("engine.err", "holding the store");
    child_run(RUN, "a", "s", "task", "{\"ms\": 10, \"ask\": true}");
    await_question("a");
    child_run("$MORTISE approve a %s --answer '{}'", asked("a", "\"tool\""));
    desk_until("\"completed\"", "$MORTISE show a --json");
    json_decref(node_of("a", "completed"));
    child_kill(engine);
}
END_TEST

/* ---- what goes wrong ------------------------------------------------------------ */

/* Killed in the middle of a call that writes, nobody knows; one that reads is
 * made again. */
START_TEST(a_call_that_was_cut_off)
{
    pid_t pid = child_start("run", RUN, "a", "s", "count",
                            "{\"ms\": 60000, \"label\": \"x\"}");

    for (int i = 0; i < 3000 && logged("tools/call") == 0; i++)
        usleep(20000);
    child_kill(pid);
    child_run("$MORTISE resume a");
    in_doubt("a");
    effects(0);
    desk_ok(
        "$MORTISE resolve a %s --done '{\"result\": {\"content\": [{\"type\":"
        " \"text\", \"text\": \"by hand\"}]}}'",
        asked("a", "in_doubt"));
    gave("a", "by hand");
}
END_TEST

/* A person who settles a call in doubt says its output as `show` prints it, a
 * text, or the result of tools/call: each is the output.  Anything else is
 * refused, and the call stays in doubt.
 * key: plugin/provides.executor.step_result */
START_TEST(a_doubt_takes_the_output)
{
    static const struct {
        const char *result, *output;
    } forms[] = {
        {"\"hi\"",
         "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"text\":"
         "\"hi\"}"},
        {"{\"content\": [], \"text\": \"hi\"}",
         "{\"content\":[],\"text\":\"hi\"}"},
        {"{\"text\": \"hi\", \"structured\": {\"n\": 1}}",
         "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"text\":"
         "\"hi\",\"structured\":{\"n\":1}}"},
        {"{\"content\": [{\"type\": \"text\", \"text\": \"hi\"}], "
         "\"structuredContent\": {\"n\": 1}}",
         "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"text\":"
         "\"hi\",\"structured\":{\"n\":1}}"},
    };
    static const char *const others[] = {"null",
                                         "7",
                                         "[]",
                                         "{}",
                                         "{\"result\": {\"text\": \"hi\"}}",
                                         "{\"content\": \"hi\"}",
                                         "{\"text\": \"hi\", \"more\": 1}"};
    char id[8], request[64], *output;
    json_t *node;

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(id, sizeof id, "f%zu", i);
        ck_assert_int_eq(call(id, "s", "misbehave", "{\"how\": \"die\"}"), 5);
        snprintf(request, sizeof request, "%s", asked(id, "in_doubt"));
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            child_run("$MORTISE resolve %s %s --done '{\"result\": %s}'", id,
                      request, others[k]);
            ck_assert_msg(child.code == 3, "%s: %d %s", others[k], child.code,
                          child.err);
            ck_assert_ptr_nonnull(strstr(child.err, "E_INVALID"));
            ck_assert_ptr_nonnull(strstr(child.err, "structuredContent"));
        }
        in_doubt(id);
        desk_ok("$MORTISE resolve %s %s --done '{\"result\": %s}'", id, request,
                forms[i].result);
        node = node_of(id, "completed");
        output = json_dumps(json_object_get(node, "output"), JSON_COMPACT);
        ck_assert_str_eq(output, forms[i].output);
        free(output);
        json_decref(node);
    }
}
END_TEST

/* The line that is printed to be pasted is one that settles it. */
START_TEST(a_doubt_has_a_line_to_paste)
{
    ck_assert_int_eq(call("a", "s", "misbehave", "{\"how\": \"die\"}"), 5);
    desk_ok("$MORTISE show a | grep -o 'resolve a .* --done .*'");
    desk_out("--done '{\"result\": \"what it gave\"}'");
}
END_TEST

/* The server dies of a call: of what may have an effect nobody knows, and what
 * reads is tried again with another. */
START_TEST(a_server_dies_in_the_middle)
{
    ck_assert_int_eq(call("a", "s", "misbehave", "{\"how\": \"die\"}"), 5);
    in_doubt("a");
    deploy(", --die-after, \"1\"", ", effects: {read: [echo]}");
    pin("s");
    desk_graph("p",
               "start: a\nnodes:\n  a: {type: tool, tool: mcp/s/echo, args: "
               "{text: one}, next: b}\n  b: {type: tool, tool: mcp/s/echo, "
               "args: {text: two}, retry_policy: {max_attempts: 3, delay: "
               "10ms}, next: END}\n");
    desk_ok("$MORTISE run p.yaml --id b");
    json_decref(node_of("b", "completed"));
}
END_TEST

/* What is no answer is ignored, and what answers nobody, too. */
START_TEST(lies_are_ignored)
{
    static const char *const how[] = {
        "twice", "unknown-id", "string-id", "null-id", "no-id",
        "split", "bad-json",   "batch",     "crlf",    "answer-die"};

    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        char args[64], id[8];

        snprintf(args, sizeof args, "{\"how\": \"%s\"}", how[i]);
        snprintf(id, sizeof id, "n%d", (int)i);
        ck_assert_msg(call(id, i % 2 ? "s" : "old", "misbehave", args) == 0,
                      "%s: %s%s", how[i], child.out, child.err);
        gave(id, "misbehaved");
    }
}
END_TEST

/* What cannot be kept has happened all the same. */
START_TEST(results_that_are_none)
{
    static const char *const how[] = {"result-type", "no-content",
                                      "content-object", "error-text"};

    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        char args[64], id[8];

        snprintf(args, sizeof args, "{\"how\": \"%s\"}", how[i]);
        snprintf(id, sizeof id, "n%d", (int)i);
        call(id, i % 2 ? "s" : "old", "misbehave", args);
        failed(id, "mcp.protocol");
    }
}
END_TEST

/* An answer with a flaw is an answer: what was mended of it is said, and what
 * cannot be read ends the call at once.  Nobody waits for a second one. */
START_TEST(answers_with_flaws_are_answers)
{
    static const struct {
        const char *how, *has;
    } all[] = {
        {"bad-utf8", "text that is not UTF-8 was replaced by U+FFFD"},
        {"surrogate", "text that is not UTF-8 was replaced by U+FFFD"},
        {"nan", "NaN or infinity was replaced by null"},
        {"duplicate-keys",
         "a name occurs twice in an object; its last value is used"},
        {"big-number", "\\\"n\\\":1e400}"},
        {"big-integer", "\\\"n\\\":123456789012345678901234567890}"},
        {"null-error", "\"content\": []"},
    };
    static const struct {
        const char *how, *words;
    } none[] = {
        {"both", "it has both a result and an error"},
        {"broken", "it is not JSON): {\\\"jsonrpc\\\""},
        {"too-deep", "the step cannot be recorded"},
        {"result-text", "its result is not an object"},
    };
    char id[64], args[64];

    for (size_t i = 0; i < 2 * sizeof all / sizeof all[0]; i++) {
        snprintf(id, sizeof id, "a%zu", i);
        snprintf(args, sizeof args, "{\"how\": \"%s\"}", all[i / 2].how);
        call(id, i % 2 != 0 ? "s" : "old", "misbehave", args);
        json_decref(node_of(id, "completed"));
        desk_ok("$MORTISE show %s --json", id);
        desk_out(all[i / 2].has);
    }
    for (size_t i = 0; i < 2 * sizeof none / sizeof none[0]; i++) {
        snprintf(id, sizeof id, "b%zu", i);
        snprintf(args, sizeof args, "{\"how\": \"%s\"}", none[i / 2].how);
        call(id, i % 2 != 0 ? "s" : "old", "misbehave", args);
        failed(id, "mcp.protocol");
        desk_ok("$MORTISE show %s --json", id);
        desk_out("the server answered");
        desk_out(none[i / 2].words);
    }
    desk_ok("cat out/log | grep -c notifications/cancelled || true");
    ck_assert_str_eq(child.out, "0\n");
}
END_TEST

/* One that never answers is given up, and told so, as is one that sends a part
 * of an answer; one that floods is ended. */
START_TEST(silence_and_floods_end)
{
    deploy("", "");
    child_run("sed -i 's/timeout: 20s/timeout: 500ms/' mortise.yaml");
    call("a", "s", "misbehave", "{\"how\": \"never\"}");
    in_doubt("a");
    desk_ok("$MORTISE show a --json");
    desk_out("the server sent no complete answer and no progress for 500 ms");
    ck_assert_int_eq(logged("notifications/cancelled"), 1);
    call("h", "s", "misbehave", "{\"how\": \"half\"}");
    in_doubt("h");
    desk_ok("$MORTISE show h --json");
    desk_out("the server sent no complete answer and no progress for 500 ms");
    call("b", "old", "misbehave", "{\"how\": \"flood\", \"bytes\": 20000000}");
    in_doubt("b");
    call("c", "old", "misbehave", "{\"how\": \"endless-line\"}");
    in_doubt("c");
}
END_TEST

/* A call whose time is up is cancelled there, too; an answer that comes all the
 * same is nobody's. */
START_TEST(answers_after_cancelling_are_nobodys)
{
    desk_graph(
        "t",
        "start: a\nnodes:\n  a: {type: tool, tool: mcp/call, args: "
        "{server: s, tool: misbehave, arguments: {how: late}}, "
        "timeout: 300ms, on_error: {goto: b}, on_in_doubt: fail, next: b}\n"
        "  b: {type: tool, tool: mcp/call, args: {server: s, tool: "
        "echo, arguments: {text: next}}, next: END}\n");
    child_run("$MORTISE run t.yaml --id a");
    ck_assert_int_eq(child.code, 5);
    desk_ok("$MORTISE show a --json");
    desk_out("\"next\"");
    ck_assert_int_eq(logged("notifications/cancelled"), 1);
}
END_TEST

/* ---- many ----------------------------------------------------------------------- */

enum { CALLS = 150 }; /* of each server */

/* What the engine has open besides its store, and who runs under it. */
static void holds(pid_t engine, int *descriptors, int *processes)
{
    desk_ok("ls -l /proc/%d/fd | grep -vc \"$PWD/store/\"", (int)engine);
    *descriptors = atoi(child.out);
    desk_ok("below() { for c in $(cat /proc/$1/task/*/children); do echo $c; "
            "below $c; done; }; below %d 2>/dev/null | wc -l",
            (int)engine);
    *processes = atoi(child.out);
}

/* The servers that run now are no more. */
static void kill_servers(void)
{
    child_run("kill -9 $(tail -n 2 out/starts) 2>/dev/null");
}

static void until(const char *id, const char *status)
{
    for (int i = 0; i < 2400; i++) {
        child_run("$MORTISE show %s --json | grep -q '\"status\": \"%s\"'", id,
                  status);
        if (child.code == 0)
            return;
        usleep(25000);
    }
    json_decref(node_of(id, status));
}

/* Calls of both servers, eight at a time, while they are killed every now and
 * then; each is made in the end. */
static void many_calls(const char *id, int n, int every_ms)
{
    pid_t pid = child_start(
        "many",
        "$MORTISE run m.yaml --id %s --input '{\"n\": ['$(seq -s, %d)']}'", id,
        n);
    int i = 0, status = -1;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(10000);
        if (every_ms > 0 && ++i % (every_ms / 10) == 0)
            kill_servers();
        ck_assert_int_lt(i, 60000);
    }
    desk_ok("tail -n 40 many.out");
    ck_assert_msg(status == 0, "%d: %.3000s", status, child.out);
    until(id, "completed");
}

/* A question of each server, that nobody answers with a yes; and a call that
 * nobody knows the end of. */
static void odd_calls(const char *id)
{
    static const char *const servers[] = {"s", "old"};
    char name[64];
    pid_t pid;

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s-%s", id, servers[i]);
        pid = child_start("ask", RUN, name, servers[i], "ask", "{}");
        await_question(name);
        desk_ok("$MORTISE reject %s %s", name, asked(name, "Who are you?"));
        child_wait(pid);
        until(name, "completed");
    }
    snprintf(name, sizeof name, "%s-doubt", id);
    pid = child_start("cut", RUN, name, "s", "count", "{\"ms\": 60000}");
    for (int i = 0; i < 3000 && logged("60000") == 0; i++)
        usleep(20000);
    kill_servers();
    child_wait(pid);
    until(name, "in_doubt");
    child_run("$MORTISE resolve %s %s --fail", name, asked(name, "in_doubt"));
    until(name, "failed");
    desk_ok("rm out/log");
}

/* After many calls of one engine, with servers that die, questions and doubt in
 * between, nothing is pending, and no process and no descriptor is left that was
 * not there after the first few. */
START_TEST(nothing_is_left_of_many_calls)
{
    int before[2], after[2];
    pid_t engine;

    deploy("", ", effects: {read: [liar, echo]}");
    desk_ok("$MORTISE mcp pin");
    desk_graph(
        "m", "limits: {steps: 1000}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: mcp/s/echo, args: {text: x}, "
             "retry_policy: {max_attempts: 30, delay: 10ms}, map: {over: "
             "input.n, as: i, to: b, join: d, max_parallel: 8}}\n"
             "  b: {type: tool, tool: mcp/s/liar, args: {label: b, ms: 10}, "
             "retry_policy: {max_attempts: 30, delay: 10ms}, next: c}\n"
             "  c: {type: tool, tool: mcp/old/liar, args: {label: c, ms: 10}, "
             "retry_policy: {max_attempts: 30, delay: 10ms}, next: d}\n"
             "  d: {type: tool, tool: mcp/old/echo, args: {text: x}, "
             "retry_policy: {max_attempts: 30, delay: 10ms}, next: END}\n");
    setenv("MORTISE_CORE_DUMPS", "1", 1); /* what it has open is looked at */
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    odd_calls("first");
    many_calls("few", 16, 0);
    holds(engine, &before[0], &before[1]);
    many_calls("many", CALLS, 150);
    odd_calls("then");
    many_calls("last", 16, 0);
    for (int i = 0; i < 240; i++) {
        holds(engine, &after[0], &after[1]);
        if (after[0] <= before[0] && after[1] <= before[1])
            break;
        usleep(250000);
    }
    ck_assert_int_ge(before[1], 2);
    ck_assert_int_le(after[0], before[0]);
    ck_assert_int_le(after[1], before[1]);
    desk_ok("$MORTISE inbox");
    desk_out("no requests are pending");
    desk_ok("wc -l <out/starts | tr -d ' \\n'");
    ck_assert_int_gt(atoi(child.out), 10); /* they were killed */
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* ---- pins ----------------------------------------------------------------------- */

/* A tool that is not what was pinned is not called; its neighbours are. */
START_TEST(drift_is_refused)
{
    pin("s");
    desk_ok("$MORTISE run p.yaml --id a");
    deploy(", --describe, another", "");
    child_run("$MORTISE run p.yaml --id b");
    failed("b", "mcp.drift");
    desk_ok("$MORTISE show b");
    desk_out("mortise mcp pin s");
    ck_assert_int_eq(call("c", "s", "add", "{\"a\": 1, \"b\": 2}"), 0);
    deploy(", --drop, echo", "");
    child_run("$MORTISE run p.yaml --id d");
    failed("d", "mcp.drift");
    ck_assert_int_eq(call("e", "s", "echo2", "{}"), 1);
    failed("e", "mcp.not_pinned");
    /* it changes between two calls, and says so */
    deploy(", --change-after, \"1\", --announce", "");
    child_run("$MORTISE run p.yaml --id f");
    json_decref(node_of("f", "failed"));
    desk_ok("$MORTISE show f --json");
    desk_out("mcp.drift");
    desk_out("\"one\"");
}
END_TEST

/* The server has these flags, a person is asked, and what it has is pinned. */
static void pin_asking(const char *flags)
{
    deploy(flags, "");
    desk_ok("sed -i 's,^tools:,tools:\\n  ask: [\"mcp/s/*\"],' mortise.yaml && "
            "$MORTISE mcp pin s");
}

/* An approval of a tool is not used for another definition that is pinned in its
 * place.  The same definition, pinned again, is the same tool. */
START_TEST(a_pin_takes_approvals_back)
{
    pin_asking(", --pages, \"3\"");
    desk_graph("p", "start: a\nnodes:\n  a: {type: tool, tool: mcp/s/echo, "
                    "args: {text: one}, next: END}\n");
    child_run("$MORTISE run p.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids) --no-continue");
    pin_asking(", --describe, another");
    child_run("$MORTISE resume r");
    desk_code(78);
    child_run("$MORTISE resume r --accept-plugins");
    desk_code(4);
    ck_assert_int_eq(logged("tools/call"), 0);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    gave("r", "one");
    child_run("$MORTISE run p.yaml --id q");
    desk_code(4);
    pin_asking("");
    child_run("$MORTISE approve $($MORTISE inbox q --ids)");
    desk_code(78);
    pin_asking(", --describe, another, --pages, \"2\"");
    desk_ok("$MORTISE resume q");
    gave("q", "one");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_mcp");
    TCase *tc = tcase_create("cli_mcp");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, tools_are_called_in_both_eras);
    tcase_add_test(tc, errors_have_codes);
    tcase_add_test(tc, a_file_outside_of_the_sandbox);
    tcase_add_test(tc, servers_offer_more_than_tools);
    tcase_add_test(tc, what_is_named_is_judged);
    tcase_add_test(tc, what_a_model_names_is_judged);
    tcase_add_test(tc, schemas_of_others_are_pinned);
    tcase_add_test(tc, images_reach_a_model);
    tcase_add_test(tc, old_servers_are_found_out);
    tcase_add_test(tc, protocol_can_be_said);
    tcase_add_test(tc, talkative_servers_are_borne);
    tcase_add_test(tc, questions_wait_on_disk);
    tcase_add_test(tc, questions_have_rounds);
    tcase_add_test(tc, old_questions_are_held);
    tcase_add_test(tc, old_questions_are_not_held_for_ever);
    tcase_add_test(tc, servers_may_have_a_model_asked);
    tcase_add_test(tc, models_and_directories_are_not_offered);
    tcase_add_test(tc, asking_without_end_ends);
    tcase_add_test(tc, a_model_that_fails);
    tcase_add_test(tc, a_model_is_in_the_budget);
    tcase_add_test(tc, servers_may_be_told_of_directories);
    tcase_add_test(tc, tasks_are_waited_for);
    tcase_add_test(tc, tasks_may_ask);
    tcase_add_test(tc, a_call_that_was_cut_off);
    tcase_add_test(tc, a_doubt_takes_the_output);
    tcase_add_test(tc, a_doubt_has_a_line_to_paste);
    tcase_add_test(tc, a_server_dies_in_the_middle);
    tcase_add_test(tc, lies_are_ignored);
    tcase_add_test(tc, results_that_are_none);
    tcase_add_test(tc, answers_with_flaws_are_answers);
    tcase_add_test(tc, silence_and_floods_end);
    tcase_add_test(tc, answers_after_cancelling_are_nobodys);
    tcase_add_test(tc, nothing_is_left_of_many_calls);
    tcase_add_test(tc, drift_is_refused);
    tcase_add_test(tc, a_pin_takes_approvals_back);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
