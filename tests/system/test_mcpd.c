/* test_mcpd.c -- the scripted MCP servers of tests/mcp: what they say, and that
 * they notice what a client does wrong. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/test.h"

#define META                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","   \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}},"     \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":"      \
    "\"1\"}}"
#define SAY(id, method, params)                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method                  \
    "\",\"params\":{" params "}}\n"
#define BEGIN                                                                  \
    SAY("1", "initialize",                                                     \
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"              \
        "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}")                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

/* What it says to these lines, and then what it thought of them. */
static void talk(const char *flags, const char *lines)
{
    desk_put("lines", lines);
    desk_ok("rm -f log; %s --log log --effects effects %s <lines; "
            "grep '^!' log; true",
            child_build("tests/mcp/mcpd_stdio"), flags);
}

/* Two eras, in which the same tool is called; nothing is wrong with that. */
START_TEST(both_eras_are_spoken)
{
    talk("", SAY("1", "server/discover", META)
                 SAY("2", "tools/call",
                     META ",\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}"));
    desk_out("\"supportedVersions\":[\"2026-07-28\"]");
    desk_out("\"structuredContent\":{\"sum\":3.0},\"resultType\":\"complete\"");
    desk_not_out("!");
    talk("", BEGIN SAY("2", "tools/call",
                       "\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}"));
    desk_out("\"protocolVersion\":\"2025-11-25\"");
    desk_out("\"structuredContent\":{\"sum\":3.0}}}");
    desk_not_out("!");
    talk("--era 2025", SAY("1", "server/discover", META));
    desk_out("-32601");
    talk("--era 2026", BEGIN);
    desk_out("-32022");
}
END_TEST

/* Effects are counted. */
START_TEST(effects_are_counted)
{
    talk("--era 2025",
         BEGIN SAY("2", "tools/call", "\"name\":\"count\"")
             SAY("3", "tools/call",
                 "\"name\":\"misbehave\",\"arguments\":{\"how\":\"twice\"}"));
    desk_out("{\"type\":\"text\",\"text\":\"1\"}");
    desk_ok("cat effects");
    ck_assert_str_eq(child.out, "-\n");
    desk_put("lines", BEGIN SAY("2", "tools/call",
                                "\"name\":\"misbehave\",\"arguments\":{\"how\":"
                                "\"die-after\",\"label\":\"last\"}"));
    child_run("%s --effects effects <lines",
              child_build("tests/mcp/mcpd_stdio"));
    desk_code(1);
    desk_ok("cat effects");
    ck_assert_str_eq(child.out, "-\nlast\n");
}
END_TEST

static const struct {
    const char *lines, *why;
} wrong[] = {
    {"nothing\n", "! not a JSON object"},
    {"[" BEGIN "]\n", "! not a JSON object"},
    {"{\"id\":1,\"method\":\"ping\"}\n", "! jsonrpc is not 2.0"},
    {BEGIN SAY("null", "ping", ""), "! an id is neither"},
    {BEGIN SAY("1", "ping", ""), "! id 1 was used before"},
    {SAY("1", "tools/list", ""), "! tools/list before initialize"},
    {SAY("1", "initialize", ""), "! initialize without version"},
    {"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n",
     "! an answer to what was not asked"},
    {SAY("1", "server/discover", ""),
     "! server/discover: no protocolVersion in _meta"},
    {SAY("1", "tools/list", META) SAY("2", "tools/list", ""),
     "! tools/list without _meta"},
    {SAY("1", "tools/call",
         META ",\"name\":\"ask\",\"requestState\":\"round=1; else\""),
     "! requestState is not what it was"},
};

/* Each wrong of a client is in the log. */
START_TEST(wrongs_are_noticed)
{
    talk("", wrong[_i].lines);
    desk_out(wrong[_i].why);
}
END_TEST

/* POST a list of tools there, with that header besides: what comes back. */
static const char *post(const char *header)
{
    static const char body[] = SAY("1", "tools/list", META);
    static char out[1 << 16];
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = 0;
    ssize_t got;

    desk_ok("cat port");
    a.sin_port = htons((uint16_t)atoi(child.out));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    dprintf(fd,
            "POST /mcp HTTP/1.1\r\nAccept: application/json, "
            "text/event-stream\r\nContent-Type: application/json\r\n"
            "MCP-Protocol-Version: 2026-07-28\r\n%sContent-Length: "
            "%zu\r\n\r\n%s",
            header, sizeof body - 1, body);
    shutdown(fd, SHUT_WR);
    while (n < sizeof out - 1 &&
           (got = recv(fd, out + n, sizeof out - 1 - n, 0)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(fd);
    return out;
}

static pid_t serve(const char *flags)
{
    pid_t pid;

    desk_ok("rm -f port log stdin; mkfifo stdin");
    pid = child_start("http", "%s --log log --port-file port %s <>stdin",
                      child_build("tests/mcp/mcpd_http"), flags);
    child_await("port", "\n");
    return pid;
}

/* Over HTTP, headers are judged, too; and a token is asked for. */
START_TEST(http_is_served)
{
    pid_t pid = serve("");
    const char *said = post("Mcp-Method: tools/list\r\n");

    ck_assert_ptr_nonnull(strstr(said, "HTTP/1.1 200"));
    ck_assert_ptr_nonnull(strstr(said, "\"name\":\"echo\""));
    desk_ok("! grep '^!' log");
    said = post("");
    ck_assert_ptr_nonnull(strstr(said, "HTTP/1.1 400"));
    ck_assert_ptr_nonnull(strstr(said, "-32020"));
    desk_ok("grep \"^! header Mcp-Method: 'none'\" log");
    child_kill(pid);
    pid = serve("--auth plain");
    said = post("Mcp-Method: tools/list\r\n");
    ck_assert_ptr_nonnull(strstr(said, "HTTP/1.1 401"));
    ck_assert_ptr_nonnull(strstr(said, "resource_metadata="));
    child_kill(pid);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("mcpd");
    TCase *tc = tcase_create("mcpd");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, both_eras_are_spoken);
    tcase_add_test(tc, effects_are_counted);
    tcase_add_loop_test(tc, wrongs_are_noticed, 0,
                        (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(tc, http_is_served);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
