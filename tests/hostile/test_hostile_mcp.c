/* test_hostile_mcp.c -- MCP servers that misbehave in the middle of a call: each
 * word of tests/mcp/misbehave.c, over both transports, in both eras.
 *
 *   (1) The call ends soon, in one of the ways that the table allows; nobody
 *       hangs, and nobody crashes.
 *   (2) Where an effect happened, the call is not said to have failed without
 *       one: it is done or in doubt.
 *   (3) What is sent is in order whatever came (the server is the judge), and a
 *       call behind one that is settled is answered.
 *   (4) No server outlives the command. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/matrix.h"
#include "lib/test.h"

/* What becomes of the call: D it is done, F it failed, ? it is in doubt. */
static const struct {
    const char *how, *stdio, *http; /* NULL: there is no such thing */
    int bytes;
} words[] = {
    {"die", "?", "?", 0},
    {"die-after", "?", "?", 0},
    {"kill", "?", "?", 0},
    {"half-die", "?", "?", 0},
    {"close-stdout", "?", NULL, 0},
    {"cut", "?", "?", 0},
    {"cut-after", "?", "?", 0},
    {"status", NULL, "?", 500},
    {"status", NULL, "?", 503},
    {"status", NULL, "F", 400},
    {"status", NULL, "F", 429},
    {"status", NULL, "F", 302},
    {"never", "?", "?", 0},
    {"late", "?", "?", 0},
    {"twice", "D", "D", 0},
    {"unknown-id", "D", "D", 0},
    {"string-id", "D", "D", 0},
    {"null-id", "D", "F", 0},
    {"no-id", "D", "D", 0},
    {"split", "D", "D", 0},
    {"half", "?", "?", 0},
    {"long", "?", "?", 0},
    {"long-answer", "?", "?", 0},
    {"endless-line", "?", NULL, 0},
    {"bad-utf8", "D", "D", 0},
    {"surrogate", "D", "D", 0},
    {"escaped-nul", "D", "D", 0},
    {"nul", "D", "D", 0},
    {"bad-json", "D", "D", 0},
    {"batch", "D", "D", 0},
    {"deep", "D", "D", 0},
    {"deep", "D", "D", 1000000},
    {"duplicate-keys", "D", "D", 0},
    {"big-number", "D", "D", 0},
    {"big-integer", "D", "D", 0},
    {"nan", "D", "D", 0},
    {"null-error", "D", "D", 0},
    {"broken", "F", "F?", 0},
    {"too-deep", "F", "F", 0},
    {"crlf", "D", "D", 0},
    {"flood", "D", "D", 0},
    {"flood", "D?", "D?", 5000000},
    {"changes", "D", "D", 0},
    {"result-type", "F", "F", 0},
    {"no-result", "F", "F", 0},
    {"both", "F", "F", 0},
    {"result-text", "F", "F", 0},
    {"no-content", "DF", "DF", 0},
    {"error-text", "DF", "DF", 0},
    {"odd-content", "DF", "DF", 0},
    {"content-object", "DF", "DF", 0},
    {"error", "F?", "F?", 0},
    {"odd-error", "F?", "F?", 0},
    {"ask-unknown", "DF", "DF", 0},
    {"ask-odd", "DF", "DF", 0},
    {"ask-nothing", "F", "F", 0},
};
enum { WORDS = sizeof words / sizeof words[0], WAYS = 4, SHARE = 7 };

/* How long a server may say nothing.  Where the table does not allow a doubt, no
 * server is silent, however busy the machine is. */
static const char *patience;
static pid_t http; /* the server of this case; 0: it is started by the engine */

static void deploy(const char *server)
{
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\n"
             "tools: {mcp: {s: {%s, timeout: %s, hold: 1s, unpinned: true}}}\n",
             server, patience);
    desk_put("mortise.yaml", text);
}

static void serve_stdio(const char *era)
{
    char text[2048];

    desk_ok("mkdir out && ln -s out/log log && ln -s out/effects effects");
    snprintf(text, sizeof text,
             "command: [\"%s\", --era, \"%s\", --log, log, --effects, "
             "effects], dir: ./out, sandbox: {fs: {write: [./out]}}",
             child_build("tests/mcp/mcpd_stdio"), era);
    deploy(text);
}

static void serve_http(const char *era)
{
    char text[256];

    desk_ok("mkfifo stdin");
    http = child_start("http",
                       "%s --era %s --log log --effects effects --port-file "
                       "port <>stdin",
                       child_build("tests/mcp/mcpd_http"), era);
    child_await("port", "\n");
    desk_ok("cat port");
    snprintf(text, sizeof text, "url: \"http://127.0.0.1:%d/mcp\"",
             atoi(child.out));
    deploy(text);
}

static void graph(size_t word)
{
    char more[64] = "", body[1024];

    if (words[word].bytes > 0)
        snprintf(more, sizeof more, ", bytes: %d", words[word].bytes);
    snprintf(body, sizeof body,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: mcp/call, args: {server: s, tool: "
             "misbehave, arguments: {how: %s%s}}, on_error: {goto: b}, next: "
             "b}\n"
             "  b: {type: tool, tool: mcp/call, args: {server: s, tool: echo, "
             "arguments: {text: after}}, next: END}\n",
             words[word].how, more);
    desk_graph("g", body);
}

/* One of the letters of the table. */
static char became(void)
{
    const char *a;

    if (child.code == 5)
        return '?';
    desk_code(0); /* the call behind it was answered */
    desk_ok("$MORTISE show r --json");
    a = strstr(child.out, "\"node\": \"a\"");
    ck_assert_ptr_nonnull(a);
    return strncmp(desk_line(a, "\"status\""), "\"status\": \"done\"", 16) == 0
               ? 'D'
               : 'F';
}

static void try(size_t word, bool over_http, const char *era)
{
    const char *allowed = over_http ? words[word].http : words[word].stdio;
    bool happened;
    char is;

    if (allowed == NULL)
        return;
    desk_ok("rm -rf store log effects out port stdin");
    http = 0;
    patience = strchr(allowed, '?') != NULL ? "1s" : "60s";
    if (over_http)
        serve_http(era);
    else
        serve_stdio(era);
    graph(word);
    child_run("timeout 100 $MORTISE run g.yaml --id r");
    is = became();
    ck_assert_msg(strchr(allowed, is) != NULL, "%s %s %s: %c, not %s:\n%s%s",
                  words[word].how, over_http ? "http" : "stdio", era, is,
                  allowed, child.out, child.err);
    child_run("test -s effects");
    happened = child.code == 0;
    ck_assert_msg(!happened || is != 'F', "%s: failed, and it happened",
                  words[word].how);
    desk_ok("grep -a '^!' log | grep -av 'Last-Event-ID' || true");
    ck_assert_msg(child.out[0] == '\0', "%s %s: %s", words[word].how, era,
                  child.out);
    if (http != 0) {
        kill(http, SIGKILL);
        child_wait(http);
        return;
    }
    desk_ok("for i in $(seq 300); do "
            "grep -l mcpd_stdio /proc/[0-9]*/comm 2>/dev/null | while read -r "
            "f; do [ \"$(readlink ${f%%/comm}/cwd)\" != \"$PWD\" ] || echo "
            "$f; done | grep -q . || exit 0; sleep 0.2; done; exit 1");
}

START_TEST(misbehaving_servers)
{
    bool over_http = _i % 2 != 0;
    const char *era = _i / 2 != 0 ? "2026" : "2025";

    for (size_t w = 0; w < WORDS; w++)
        if (matrix_takes(w * WAYS + (size_t)_i, SHARE))
            try(w, over_http, era);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile_mcp");
    TCase *tc = tcase_create("hostile_mcp");

    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, misbehaving_servers, 0, WAYS);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
