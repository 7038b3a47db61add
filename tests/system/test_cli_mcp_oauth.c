/* test_cli_mcp_oauth.c -- OAuth of MCP servers over streamable HTTP, with the
 * scripted server (tests/mcp/), which is an authorization server, too.
 *
 * The server judges what it is sent; a person's browser is played by fetch(),
 * which says where it was sent to and does not go there.
 *
 *   (1) A token is asked for when the server says so, once, and the next process
 *       has it.
 *   (2) Where a person has to allow it the run waits on disk, and goes on with
 *       the answer, in whichever process it comes.
 *   (3) What does not fit the question, or comes from where the deployment does
 *       not permit, ends the call before a code, a secret or a token is sent.
 *   (4) No token and no secret is in the store, in what is shown, in events or in
 *       the log: each test looks for them in the end (conceals()).
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/test.h"

/* ---- the server -------------------------------------------------------------- */

static const char *const eras[] = {"2025", "2026"};

static pid_t server;
static int port;
static bool objects; /* the server is to find something wrong with what comes */

static void stop(void)
{
    if (server == 0)
        return;
    kill(server, SIGKILL);
    child_wait(server);
    server = 0;
}

/* Serve with these words of `--auth`, at the same port as before, if there was
 * one: who knew tokens knows none of them any more. */
static void serve(const char *era, const char *auth, const char *flags)
{
    stop();
    desk_ok("rm -f port stdin; mkfifo stdin");
    server = child_start(
        "http",
        "%s --era %s --auth %s --port %d --log log --effects effects "
        "--port-file port %s <>stdin",
        child_build("tests/mcp/mcpd_http"), era, auth, port, flags);
    child_await("port", "\n");
    desk_ok("cat port");
    port = atoi(child.out);
}

#define CODE "{grant: authorization_code}"
#define SECRET                                                                 \
    "{grant: client_credentials, client_id: known, client_secret: "            \
    "\"secret://desk\"}"

static void deploy(const char *auth)
{
    char text[2048];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\nsecrets: {desk: {env: DESK}}\n"
             "tools:\n  mcp:\n    s: {url: \"http://127.0.0.1:%d/mcp\", "
             "timeout: 20s, unpinned: true, auth: %s}\n",
             port, auth);
    desk_put("mortise.yaml", text);
}

static void begin(void)
{
    desk_begin();
    desk_own_home();
    setenv("DESK", "hunter2hunter2", 1);
    objects = false;
    port = 0;
    desk_graph("c", "start: a\nnodes:\n  a: {type: tool, tool: mcp/call, args: "
                    "{server: s, tool: \"${input.t}\", arguments: "
                    "\"${input.a}\"}, next: END}\n");
}

/* The path of a request to the server, answered: all that came. */
static const char *fetch(const char *method, const char *path)
{
    static char out[1 << 14];
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = 0;
    ssize_t got;

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    dprintf(fd, "%s %s HTTP/1.1\r\nHost: t\r\n\r\n", method, path);
    shutdown(fd, SHUT_WR);
    while (n < sizeof out - 1 &&
           (got = recv(fd, out + n, sizeof out - 1 - n, 0)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(fd);
    return out;
}

/* Lines of the server's log that have that. */
static int logged(const char *text)
{
    child_run("grep -c -- '%s' log", text);
    return atoi(child.out);
}

/* Tokens that were given out are none any more; `what`: access, or all. */
static void take_back(const char *what)
{
    char path[64];

    snprintf(path, sizeof path, "/revoke?what=%s", what);
    ck_assert_ptr_nonnull(strstr(fetch("POST", path), " 200 "));
}

/* ---- runs -------------------------------------------------------------------- */

/* A line whose words are kept for conceals(). */
#define say(...)                                                               \
    do {                                                                       \
        child_run(__VA_ARGS__);                                                \
        keep_words();                                                          \
    } while (0)

static void keep_words(void)
{
    char path[sizeof desk_dir + 8];
    FILE *f;

    snprintf(path, sizeof path, "%s/said", desk_dir);
    f = fopen(path, "ae");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s%s", child.out, child.err);
    fclose(f);
}

static int call(const char *id, const char *tool, const char *args)
{
    say("$MORTISE run c.yaml -v --id %s --input '{\"t\": \"%s\", \"a\": %s}'",
        id, tool, args);
    return child.code;
}

static int echo(const char *id)
{
    return call(id, "echo", "{\"text\": \"hello\"}");
}

static json_t *run_of(const char *id)
{
    json_t *run;

    say("$MORTISE show %s --json", id);
    desk_code(0);
    run = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(run);
    return run;
}

/* It is, or is going to be soon, where an engine has it. */
static void becomes(const char *id, const char *status)
{
    char want[64];

    snprintf(want, sizeof want, "\"status\": \"%s\"", status);
    json_decref(run_of(id));
    for (int i = 0; i < 1200 && strstr(child.out, want) == NULL; i++) {
        usleep(50000);
        json_decref(run_of(id));
    }
    desk_out(want);
}

static void completed(const char *id)
{
    becomes(id, "completed");
}

/* It failed, with mcp.auth and these words. */
static void failed(const char *id, const char *words)
{
    json_t *run = run_of(id);
    json_t *error = json_object_get(
        json_array_get(json_object_get(run, "nodes"), 0), "error");
    const char *is = json_string_value(json_object_get(error, "code"));

    ck_assert_msg(is != NULL && strcmp(is, "mcp.auth") == 0, "%.3000s",
                  child.out);
    desk_out(words);
    json_decref(run);
}

static char request[64], url[4096];

/* The run asks for an authorization: `request`, and `url`, what to open. */
static void asks(const char *id)
{
    json_t *run = run_of(id);
    const json_t *pending = json_array_get(json_object_get(run, "pending"), 0);
    const char *mode, *open;

    ck_assert_msg(pending != NULL, "nothing is asked: %.3000s", child.out);
    snprintf(request, sizeof request, "%s",
             json_string_value(json_object_get(pending, "id")));
    json_unpack(json_object_get(pending, "payload"), "{s:s, s:s}", "mode",
                &mode, "url", &open);
    ck_assert_str_eq(mode, "authorization");
    snprintf(url, sizeof url, "%s", open);
    json_decref(run);
}

/* That node of it asks, or is going to soon. */
static void waits_at(const char *id, const char *node)
{
    char want[64];

    snprintf(want, sizeof want, ": %s asks", node);
    for (int i = 0; i < 1200; i++) {
        say("$MORTISE inbox %s", id);
        if (strstr(child.out, want) != NULL)
            return;
        usleep(50000);
    }
    desk_out(want);
}

/* A person opens `url`: where the browser is sent to. */
static const char *browser(void)
{
    static char location[4096];
    const char *path = strchr(url + strlen("http://"), '/');
    const char *answer = fetch("GET", path), *at;

    at = strstr(answer, "Location: ");
    ck_assert_msg(at != NULL, "%s", answer);
    at += strlen("Location: ");
    snprintf(location, sizeof location, "%.*s", (int)strcspn(at, "\r"), at);
    return location;
}

/* ... and tells the run, from a process of its own. */
static int allow(const char *id)
{
    asks(id);
    say("$MORTISE approve %s %s -v --answer '{\"redirect\": \"%s\"}'", id,
        request, browser());
    return child.code;
}

/* ---- what nobody sees (4) ------------------------------------------------------ */

#define SECRETS                                                                \
    "-e 'access-token-' -e 'refresh-token-' -e hunter2 -e 's3cr3t' "           \
    "-e aHVudGVyMmh1bnRlcjI -e a25vd246aHVudGVyMmh1bnRlcjI"

/* The bytes of the store, all that it gives out, and all that was said; tokens
 * are where this user's secrets are, which nobody else may read. */
static void conceals(void)
{
    desk_ok("for r in $($MORTISE runs | cut -d' ' -f1); do $MORTISE show $r; "
            "$MORTISE show $r --json; $MORTISE show $r --transcript; "
            "$MORTISE history $r --json; $MORTISE events $r --json; "
            "$MORTISE why $r; done >shown 2>&1; $MORTISE inbox >>shown; "
            "test -s shown");
    child_run("grep -ra " SECRETS " store shown said mortise.yaml");
    ck_assert_msg(child.code != 0, "a secret is shown:\n%.3000s", child.out);
    child_run("find home -type f ! -path 'home/mortise/secrets/*' -exec grep "
              "-la " SECRETS " {} +");
    ck_assert_msg(child.out[0] == '\0', "a secret is kept in %s", child.out);
    desk_ok("find home -path '*/secrets/*' -type f -perm /077");
    ck_assert_msg(child.out[0] == '\0', "others may read %s", child.out);
}

static void end(void)
{
    conceals();
    child_run("grep '^!' log");
    ck_assert_msg((child.code == 0) == objects, "the server says: %s",
                  child.out);
    stop();
    unsetenv("DESK");
    desk_end();
}

/* ---- a secret ------------------------------------------------------------------ */

/* Discovery, a token for a secret, and the call; the next process has the token
 * (1). */
START_TEST(a_secret_is_enough)
{
    serve(eras[_i], "basic", "");
    deploy(SECRET);
    ck_assert_int_eq(echo("a"), 0);
    completed("a");
    ck_assert_int_eq(logged("> GET /prm"), 1);
    ck_assert_int_eq(logged("> GET /.well-known/oauth-authorization-server"),
                     1);
    ck_assert_int_eq(logged("> POST /token"), 1);
    ck_assert_int_eq(logged("grant_type=client_credentials"), 1);
    ck_assert_int_eq(echo("b"), 0);
    completed("b");
    ck_assert_int_eq(logged("> POST /token"), 1);
    desk_ok("grep -rla access-token- home/mortise/secrets"); /* (4) bites */
}
END_TEST

/* One that is not the server's ends the call, with the server's own word for it,
 * and without the secret. */
START_TEST(a_wrong_secret)
{
    objects = true;
    setenv("DESK", "hunter2-but-another", 1);
    serve("both", "post", "");
    deploy(SECRET);
    ck_assert_int_eq(echo("a"), 1);
    failed("a", "status 401 (invalid_client)");
}
END_TEST

/* ---- a person ------------------------------------------------------------------ */

/* The run asks, with the address to open; the answer comes from another process,
 * in which the call goes on (2).  Who runs next is not asked. */
START_TEST(a_person_allows_it)
{
    serve(eras[_i], "iss", "");
    deploy(CODE);
    ck_assert_int_eq(echo("a"), 4);
    ck_assert_int_eq(logged("tools/call"), 0);
    say("$MORTISE inbox");
    desk_out("\n    server   s\n    tool     echo\n    url      http://127.0");
    desk_out("/authorize?response_type=code&");
    ck_assert_int_eq(allow("a"), 0);
    completed("a");
    ck_assert_int_eq(logged("> POST /register"), 1);
    ck_assert_int_eq(logged("> POST /token"), 1);
    ck_assert_int_eq(echo("b"), 0);
    ck_assert_int_eq(logged("> POST /token"), 1);
    desk_ok("grep -rla refresh-token- home/mortise/secrets"); /* (4) bites */
}
END_TEST

/* An engine that runs is told, and goes on. */
START_TEST(a_person_tells_an_engine)
{
    pid_t engine;

    serve(eras[_i], "iss", "");
    deploy(CODE);
    ck_assert_int_eq(echo("a"), 4);
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    ck_assert_int_eq(allow("a"), 0);
    completed("a");
    kill(engine, SIGTERM);
    child_wait(engine);
    desk_ok("cat engine.out engine.err >>said");
}
END_TEST

/* No: in the browser, or to the run. */
START_TEST(a_person_refuses)
{
    serve("both", "denied", "");
    deploy(CODE);
    ck_assert_int_eq(echo("a"), 4);
    ck_assert_int_eq(allow("a"), 1);
    failed("a", "access_denied");
    ck_assert_int_eq(echo("b"), 4);
    asks("b");
    say("$MORTISE reject b %s", request);
    desk_code(1);
    failed("b", "a person rejected the authorization");
    ck_assert_int_eq(logged("> POST /token"), 0);
}
END_TEST

/* The address of another question, of another server, or of none (3). */
START_TEST(addresses_that_are_anothers)
{
    static const struct {
        const char *auth, *words;
    } all[] = {{"state", "its `state` does not match"},
               {"iss-wrong", "another authorization server (`iss`)"},
               {"iss-missing", "has no `iss`"}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char id[8];

        snprintf(id, sizeof id, "n%d", (int)i);
        desk_ok("rm -rf home/mortise/secrets"); /* who we were registered as */
        serve("both", all[i].auth, "");
        deploy(CODE);
        ck_assert_int_eq(echo(id), 4);
        ck_assert_int_eq(allow(id), 1);
        failed(id, all[i].words);
    }
    ck_assert_int_eq(logged("> POST /token"), 0);
}
END_TEST

/* ---- tokens -------------------------------------------------------------------- */

/* One that is over is renewed, and nobody is asked. */
START_TEST(an_old_token_is_renewed)
{
    serve(eras[_i], "plain", "--token-ms 4000");
    deploy(CODE);
    ck_assert_int_eq(echo("a"), 4);
    ck_assert_int_eq(allow("a"), 0);
    usleep(4100000);
    ck_assert_int_eq(echo("b"), 0);
    completed("b");
    ck_assert_int_eq(logged("grant_type=refresh_token"), 1);
    ck_assert_int_eq(logged("> GET /authorize"), 1);
}
END_TEST

/* An authorization server may give the tokens that it gave before: they are heard
 * as they are, though they are covered everywhere else. */
START_TEST(tokens_that_stay_the_same)
{
    serve("both", "same-tokens", "--token-ms 3000");
    deploy(CODE);
    ck_assert_int_eq(echo("a"), 4);
    ck_assert_int_eq(allow("a"), 0);
    for (int i = 1; i <= 3; i++) {
        char id[16];

        snprintf(id, sizeof id, "n%d", i);
        usleep(3100000);
        ck_assert_int_eq(echo(id), 0);
        ck_assert_int_eq(logged("refresh_token=refresh-token-same"), i);
    }
    ck_assert_int_eq(logged("> GET /authorize"), 1);
}
END_TEST

/* Taken back between two calls of a run, in one process: while the refresh token
 * holds, it is renewed; after that the run asks again. */
START_TEST(a_token_is_revoked_in_the_middle)
{
    pid_t engine;

    serve(eras[_i], "plain", "");
    deploy(CODE);
    desk_graph("m", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: mcp/call, args: {server: s, tool: "
                    "count}, next: b}\n"
                    "  b: {type: human, prompt: On?, next: c}\n"
                    "  c: {type: tool, tool: mcp/call, args: {server: s, tool: "
                    "count}, next: d}\n"
                    "  d: {type: human, prompt: On?, next: e}\n"
                    "  e: {type: tool, tool: mcp/call, args: {server: s, tool: "
                    "count}, next: END}\n");
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    say("$MORTISE run m.yaml --id m");
    desk_code(4);
    ck_assert_int_eq(allow("m"), 0);
    waits_at("m", "b");
    take_back("access");
    say("$MORTISE approve $($MORTISE inbox m --ids)");
    waits_at("m", "d");
    ck_assert_int_eq(logged("grant_type=refresh_token"), 1);
    take_back("all");
    say("$MORTISE approve $($MORTISE inbox m --ids)");
    waits_at("m", "e");
    ck_assert_int_eq(allow("m"), 0);
    completed("m");
    ck_assert_int_eq(logged("> GET /authorize"), 2);
    desk_ok("wc -l <effects | tr -d ' \\n'");
    ck_assert_str_eq(child.out, "3");
    kill(engine, SIGTERM);
    child_wait(engine);
    desk_ok("cat engine.out engine.err >>said");
}
END_TEST

/* A tool that wants more than was allowed: a person is asked for all of it, and
 * the tool does once what it does. */
START_TEST(more_scope_is_asked_for)
{
    serve(eras[_i], "scope,challenge", "");
    deploy(CODE);
    ck_assert_int_eq(echo("a"), 4);
    asks("a");
    ck_assert_ptr_nonnull(strstr(url, "scope=read"));
    ck_assert_ptr_null(strstr(url, "write"));
    ck_assert_int_eq(allow("a"), 0);
    ck_assert_int_eq(call("b", "erase", "{\"label\": \"x\"}"), 4);
    asks("b");
    ck_assert_ptr_nonnull(strstr(url, "scope=read%20write"));
    ck_assert_int_eq(allow("b"), 0);
    completed("b");
    desk_ok("cat effects");
    ck_assert_str_eq(child.out, "x\n");
}
END_TEST

/* ... and one that never has enough is given up. */
START_TEST(scope_without_end)
{
    int code;

    serve("both", "scope-endless", "");
    deploy(CODE);
    code = call("a", "erase", "{}");
    for (int i = 0; i < 6 && code == 4; i++)
        code = allow("a");
    ck_assert_int_eq(code, 1);
    failed("a", "rejected three authorizations");
    ck_assert_int_le(logged("> GET /authorize"), 4);
}
END_TEST

/* ---- servers that have no time --------------------------------------------------- */

#define RETRIES                                                                \
    "start: a\nnodes:\n  a: {type: tool, tool: mcp/call, args: {server: s, "   \
    "tool: echo, arguments: {text: x}}, retry_policy: {max_attempts: 2, "      \
    "delay: 10ms}, next: END}\n"

static int ms_of(const char *text)
{
    int h = 0, m = 0, s = 0, ms = 0;

    ck_assert_int_eq(sscanf(text, "%*d-%*d-%*dT%d:%d:%d.%d", &h, &m, &s, &ms),
                     4);
    return ((h * 60 + m) * 60 + s) * 1000 + ms;
}

/* After how many milliseconds a call is made again, by the lines of its run. */
static int retries_in(const char *lines)
{
    const char *at = strstr(lines, " retry_scheduled "), *next, *line = at;

    ck_assert_msg(at != NULL, "it is not made again: %.2000s", lines);
    next = strstr(at, " next_at=");
    ck_assert_ptr_nonnull(next);
    while (line > lines && line[-1] != '\n')
        line--;
    return (ms_of(next + strlen(" next_at=")) - ms_of(line) + 86400000) %
           86400000;
}

/* Where /token has no time it is asked again by itself, and then by the node's
 * retry policy: in any case not before it said. */
START_TEST(a_busy_token_endpoint)
{
    serve("both", "slow-token", "");
    deploy(SECRET);
    ck_assert_int_eq(echo("a"), 0);
    desk_ok("rm -rf home/mortise/secrets");
    serve("both", "busy-token", "");
    desk_graph("r", RETRIES);
    say("timeout 100 $MORTISE run r.yaml --id b");
    desk_code(0);
    ck_assert_int_ge(retries_in(child.out), 900);
    completed("b");
    desk_out("\"attempts\": 2");
    ck_assert_int_eq(logged("> POST /token"), 2 + 7);
}
END_TEST

/* One that says to come back much later is not waited for by the call, which
 * fails, and is made again then. */
START_TEST(a_token_endpoint_that_says_later)
{
    pid_t pid;

    serve("both", "later-token", "");
    deploy(SECRET);
    desk_graph("r", RETRIES);
    pid = child_start("run", "$MORTISE run r.yaml --id a");
    child_await("run.out", "next_at=");
    usleep(100000);
    desk_ok("cat run.out");
    ck_assert_int_gt(retries_in(child.out), 50000);
    ck_assert_int_eq(logged("> POST /token"), 1);
    child_kill(pid);
    deploy("{grant: authorization_code, client_id: known, client_secret: "
           "\"secret://desk\"}");
    say("$MORTISE run r.yaml --id b");
    desk_code(4);
    asks("b");
    pid = child_start("approve",
                      "$MORTISE approve b %s --answer '{\"redirect\": \"%s\"}'",
                      request, browser());
    child_await("approve.out", "next_at=");
    usleep(100000);
    desk_ok("cat approve.out");
    ck_assert_int_gt(retries_in(child.out), 50000);
    ck_assert_int_eq(logged("> POST /token"), 2);
    child_kill(pid);
}
END_TEST

/* ---- many ----------------------------------------------------------------------- */

/* What the engine has open besides its store. */
static int holds(pid_t engine)
{
    desk_ok("ls -l /proc/%d/fd | grep -vc \"$PWD/store/\"", (int)engine);
    return atoi(child.out);
}

/* A run of n calls, eight at a time.  With an era, another server that knows no
 * session and no token replaces the present one before the run, and again in the
 * middle of the run.  Three servers in a row that reject a call's token fail the
 * call.  Here at most two do. */
static void many_calls(const char *id, int n, const char *era)
{
    int status = -1, calls;
    pid_t pid;

    if (era != NULL)
        serve(era, "basic", "");
    calls = logged("> POST /mcp");
    pid = child_start("many",
                      "$MORTISE run m.yaml --id %s --input '{\"n\": ['$(seq "
                      "-s, %d)']}'",
                      id, n);
    for (int i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
        usleep(10000);
        if (era != NULL && logged("> POST /mcp") > calls + n / 2) {
            serve(era, "basic", "");
            era = NULL;
        }
        ck_assert_int_lt(i, 20000);
    }
    desk_ok("tail -n 30 many.out");
    ck_assert_msg(status == 0, "%d: %.3000s", status, child.out);
    completed(id);
}

/* After many calls of one engine over HTTP, with tokens that are over, no
 * connection, stream or file is left that was not there after the first few. */
START_TEST(nothing_is_left_of_many_calls)
{
    int before, after = 0;
    pid_t engine;

    serve(eras[_i], "basic", "");
    deploy(SECRET);
    desk_ok("sed -i 's/timeout: 20s/effects: {read: [liar]}, &/' mortise.yaml");
    desk_ok("$MORTISE mcp pin");
    desk_graph("m", "limits: {steps: 1000}\nstart: a\nnodes:\n"
                    "  a: {type: tool, tool: mcp/s/liar, args: {label: a}, "
                    "retry_policy: {max_attempts: 50, delay: 50ms}, map: "
                    "{over: input.n, as: i, to: b, join: d, max_parallel: 8}}\n"
                    "  b: {type: tool, tool: mcp/s/liar, args: {label: b, ms: "
                    "20}, retry_policy: {max_attempts: 50, delay: 50ms}, "
                    "next: d}\n"
                    "  d: {type: tool, tool: mcp/s/liar, args: {label: d}, "
                    "retry_policy: {max_attempts: 50, delay: 50ms}, next: "
                    "END}\n");
    setenv("MORTISE_CORE_DUMPS", "1", 1); /* what it has open is looked at */
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    many_calls("few", 16, NULL);
    before = holds(engine);
    for (int i = 0; i < 8; i++) {
        char id[] = {'m', (char)('0' + i), '\0'};

        many_calls(id, 38, eras[_i]);
    }
    many_calls("last", 16, NULL);
    /* connections are kept for the next: as many as were used at once, at most */
    for (int i = 0; i < 240 && (after = holds(engine)) > before + 8; i++)
        usleep(250000);
    ck_assert_int_le(after, before + 8);
    say("$MORTISE inbox");
    desk_out("no requests are pending");
    ck_assert_int_gt(logged("> POST /token"), 4);
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
    desk_ok("cat engine.out engine.err >>said");
}
END_TEST

/* ---- who gives tokens ------------------------------------------------------------ */

/* One that `auth.issuers` does not have is not asked for anything (3). */
START_TEST(an_issuer_that_is_not_listed)
{
    serve("both", "plain", "");
    deploy("{grant: client_credentials, client_id: known, client_secret: "
           "\"secret://desk\", issuers: [\"https://login.example.com\"]}");
    ck_assert_int_eq(echo("a"), 1);
    failed("a", "to tools.mcp.s.auth.issuers");
    deploy("{grant: authorization_code, issuers: "
           "[\"https://login.example.com\"]}");
    ck_assert_int_eq(echo("b"), 1);
    failed("b", "to tools.mcp.s.auth.issuers");
    ck_assert_int_eq(logged("oauth-authorization-server"), 0);
    ck_assert_int_eq(logged("> POST /token"), 0);
    ck_assert_int_eq(logged("> POST /register"), 0);
}
END_TEST

/* Its documents may be elsewhere, where requests are permitted; a token is asked
 * for where the document says, and nowhere else. */
START_TEST(documents_that_moved)
{
    serve("both", "moved", "");
    deploy(SECRET);
    ck_assert_int_eq(echo("a"), 0);
    ck_assert_int_eq(logged("> GET /new/prm"), 1);
    ck_assert_int_eq(
        logged("> GET /new/.well-known/oauth-authorization-server"), 1);
    desk_ok("rm -rf home/mortise/secrets");
    serve("both", "moved-away", "");
    ck_assert_int_eq(echo("b"), 1);
    failed("b", "no metadata of an authorization server");
    ck_assert_int_eq(logged("> GET /new/"), 2);
    serve("both", "token-moved", "");
    ck_assert_int_eq(echo("c"), 1);
    failed("c", "gave no token: status 307");
    ck_assert_int_eq(logged("> POST /new/"), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_mcp_oauth");
    TCase *tc = tcase_create("cli_mcp_oauth");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, a_secret_is_enough, 0, 2);
    tcase_add_test(tc, a_wrong_secret);
    tcase_add_loop_test(tc, a_person_allows_it, 0, 2);
    tcase_add_loop_test(tc, a_person_tells_an_engine, 0, 2);
    tcase_add_test(tc, a_person_refuses);
    tcase_add_test(tc, addresses_that_are_anothers);
    tcase_add_loop_test(tc, an_old_token_is_renewed, 0, 2);
    tcase_add_test(tc, tokens_that_stay_the_same);
    tcase_add_loop_test(tc, a_token_is_revoked_in_the_middle, 0, 2);
    tcase_add_loop_test(tc, more_scope_is_asked_for, 0, 2);
    tcase_add_test(tc, scope_without_end);
    tcase_add_test(tc, a_busy_token_endpoint);
    tcase_add_test(tc, a_token_endpoint_that_says_later);
    tcase_add_loop_test(tc, nothing_is_left_of_many_calls, 0, 2);
    tcase_add_test(tc, an_issuer_that_is_not_listed);
    tcase_add_test(tc, documents_that_moved);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
