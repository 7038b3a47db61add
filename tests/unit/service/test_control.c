/* test_control.c -- the control socket, by bytes.
 *
 * An engine turns in a thread of its own; the test is its client. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/control.h"
#include "core/base/owner.h"
#include "core/json/value.h"
#include "lib/knock.h"
#include "lib/shelf.h"
#include "lib/warm.h"

static struct shelf shelf;
static char dir[PATH_MAX - 64], store[PATH_MAX], deployment[PATH_MAX];
static struct mortise_err err;

/* ---- the engine ---------------------------------------------------------- */

static pthread_t thread;
static atomic_int ready, stop;

static void *turn(void *ud)
{
    struct mortise_options o = {.size = sizeof o,
                                .flags = MORTISE_OPEN_LISTEN,
                                .deployment = deployment,
                                .store = store,
                                .mem = &test_mem};
    struct mortise *m;
    struct mortise_err e;

    (void)ud;
    ck_assert_msg(mortise_open(&m, &o, &e) == MORTISE_OK, "%s", e.msg);
    atomic_store(&ready, 1);
    while (!atomic_load(&stop))
        mortise_poll(m, 5, NULL);
    mortise_close(m);
    return NULL;
}

static void open_engine(void)
{
    atomic_store(&ready, 0);
    atomic_store(&stop, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, turn, NULL), 0);
    while (!atomic_load(&ready))
        usleep(1000);
}

static void close_engine(void)
{
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
}

static void write_deployment_of(const char *plugins)
{
    char text[4 * PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins: {path: [\"%s\"]}\n"
             "trust: {dir: \"%s\"}\n",
             plugins, shelf.trust);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    test_write(deployment, text, strlen(text));
    snprintf(store, sizeof store, "%s/store", dir);
}

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "ok_inline");
    shelf_put(&shelf, "ok_async");
    shelf_put(&shelf, "emits_events");
    shelf_put(&shelf, "emits_many");
    shelf_put(&shelf, "emits_more");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
    write_deployment_of(shelf.plugins);
    open_engine();
}

static void teardown(void)
{
    close_engine();
    test_rmdir(dir);
    shelf_nothing_left();
}

/* ---- a socket that takes nothing for a while ------------------------------ */

static atomic_int refusals;

/* In the place of the C library's, for the engine and for the test.  The
 * engine's sends do not wait: the next `refusals` of them find no room, as if
 * the client read only in front of the one that follows. */
ssize_t send(int fd, const void *p, size_t n, int flags)
{
    if ((flags & MSG_DONTWAIT) != 0 && atomic_load(&refusals) > 0) {
        atomic_fetch_sub(&refusals, 1);
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)syscall(SYS_sendto, fd, p, n, flags, NULL, 0);
}

/* ---- a client ------------------------------------------------------------ */

static int client(void)
{
    return knock(store);
}

static void say(int fd, const char *text)
{
    knock_say(fd, text, strlen(text));
}

static const char *line(int fd)
{
    return knock_line(fd);
}

static const char *ask(int fd, const char *request)
{
    return knock_ask(fd, request);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

#define GRAPH(nodes)                                                           \
    "\"graph\":{\"path\":\"g.yaml\",\"source\":\"apiVersion: mortise/v1\\n"    \
    "kind: Graph\\nmetadata: {name: g, version: 1.0.0}\\n" nodes "\"}"
#define HUMAN                                                                  \
    GRAPH("start: a\\nnodes:\\n  a: {type: human, prompt: Well?, next: END}"   \
          "\\n")
#define SLEEP                                                                  \
    GRAPH("start: a\\nnodes:\\n  a: {type: tool, tool: ok_async/sleep,"        \
          " args: {ms: 60000}, next: END}\\n")

#define TYPED                                                                  \
    GRAPH("state: {input: {type: object, properties: {b: {type: object,"       \
          " properties: {n: {type: number}}}}}}\\nstart: a\\nnodes:\\n"        \
          "  a: {type: human, prompt: Well?, next: END}\\n")

/* ---- requests ------------------------------------------------------------ */

/* One connection, one request after the other, also handed in at once. */
START_TEST(requests_in_order)
{
    int fd = client();

    ck_assert_msg(has(ask(fd, "{\"do\":\"engine\"}"), "\"reply\":{\"pid\":"),
                  "%s", line(fd));
    say(fd, "{\"do\":\"start\",\"run\":\"one\"," HUMAN "}\n"
            "{\"do\":\"follow\",\"run\":\"one\",\"until\":\"idle\"}\n"
            "{\"do\":\"runs\"}\n{\"do\":\"inbox\"}\n");
    ck_assert_str_eq(line(fd),
                     "{\"reply\":{\"run\":\"one\",\"tenant\":\"default\"}}");
    ck_assert(has(line(fd), "{\"item\":{\"seq\":1"));
    while (!has(line(fd), "\"reply\":{\"run\":\"one\",\"status\":\"waiting\""))
        continue;
    ck_assert(has(line(fd), "\"runs\":["));
    ck_assert(has(line(fd), "\"pending\":["));
    close(fd);
}
END_TEST

/* What is wrong is said, and the connection goes on. */
START_TEST(malformed_requests)
{
    static const char *const bad[][2] = {
        {"", "E_INVALID"},
        {"nonsense", "one JSON object on one line"},
        {"[]", "must be a JSON object"},
        {"{}", "'do' is missing"},
        {"{\"do\":7}", "'do' must be a string"},
        {"{\"do\":\"fly\"}", "E_NOT_AVAILABLE"},
        {"{\"do\":\"runs\",\"aftr\":\"x\"}", "did you mean 'after'"},
        {"{\"do\":\"runs\",\"limit\":-1}", "'limit'"},
        {"{\"do\":\"runs\",\"tenant\":\"a/b\"}", "E_INVALID"},
        {"{\"do\":\"runs\",\"status\":\"failed\"}", "need 'newest'"},
        {"{\"do\":\"runs\",\"newest\":true,\"status\":\"failed,odd\"}",
         "unknown status 'odd'; use accepted"},
        {"{\"do\":\"runs\",\"newest\":true,\"after\":\"r1\"}",
         "'r1' is not a cursor of a page of runs"},
        {"{\"do\":\"runs\",\"newest\":true,\"after\":\"1/\"}", "not a cursor"},
        {"{\"do\":\"inbox\",\"newest\":true}", "'newest'"},
        {"{\"do\":\"show\"}", "'run' is missing"},
        {"{\"do\":\"show\",\"run\":\"nobody\"}", "E_NOT_FOUND"},
        {"{\"do\":\"show\",\"run\":\"a\\u0000b\"}", "E_INVALID"},
        {"{\"do\":\"follow\",\"run\":\"x\",\"until\":\"never\"}", "'until'"},
        {"{\"do\":\"start\"}", "'graph'"},
        {"{\"do\":\"start\",\"graph\":{\"path\":\"p\"}}", "'source'"},
        {"{\"do\":\"start\",\"run\":\"-x\"," HUMAN "}",
         "must not begin with '-', because options do: '-x'"},
        {"{\"do\":\"command\",\"run\":\"x\"}", "'commands'"},
        {"{\"do\":\"command\",\"run\":\"x\",\"commands\":[]}", "'commands'"},
        {"{\"do\":\"command\",\"run\":\"x\",\"commands\":[{}]}",
         "command 1: 'kind' is missing"},
        {"{\"do\":\"command\",\"run\":\"x\",\"commands\":[{\"kind\":\"no\"}]}",
         "unknown command 'no'"},
        {"{\"do\":\"command\",\"run\":\"x\",\"actor\":\"root\",\"commands\":"
         "[{\"kind\":\"resume\"}]}",
         "no member 'actor'"},
        {"{\"do\":\"command\",\"run\":\"x\",\"commands\":"
         "[{\"kind\":\"resume\"}]}",
         "E_NOT_FOUND"},
        {"{\"do\":\"command\",\"run\":\"x\",\"order\":7,\"commands\":"
         "[{\"kind\":\"resume\"}]}",
         "'order' must be a string"},
        {"{\"do\":\"command\",\"run\":\"x\",\"order\":\"a b\",\"commands\":"
         "[{\"kind\":\"resume\"}]}",
         "is not a valid order id: use 1 to 128 letters"},
        {"{\"do\":\"start\",\"order\":\"\"," HUMAN "}",
         "is not a valid order id: use 1 to 128 letters"},
        {"\xff\xfe", "E_INVALID"},
    };
    int fd = client();

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *said = ask(fd, bad[i][0]);

        ck_assert_msg(has(said, "{\"error\":{\"code\":\"E_"), "%s: %s",
                      bad[i][0], said);
        ck_assert_msg(has(said, bad[i][1]), "%s: %s", bad[i][0], said);
    }
    ck_assert(has(ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    close(fd);
}
END_TEST

/* What means nothing to a command is refused, and nothing of the list is
 * recorded; null and false say nothing. */
START_TEST(members_that_mean_nothing)
{
    static const char *const cases[][2] = {
        {"\"kind\":\"cancel\",\"shutdown\":true", "'shutdown'"},
        {"\"kind\":\"cancel\",\"value\":{}", "'value'"},
        {"\"kind\":\"pause\",\"merge\":true", "'merge'"},
        {"\"kind\":\"pause\",\"force\":true", "'force'"},
        {"\"kind\":\"resume\",\"reason\":\"why\"", "'reason'"},
        {"\"kind\":\"goto\",\"node\":\"ask\",\"id\":\"x\"", "'id'"},
        {"\"kind\":\"update\",\"value\":{},\"node\":\"ask\"", "'node'"},
        {"\"kind\":\"answer\",\"id\":\"x\",\"digest\":\"d\"", "'digest'"},
        {"\"kind\":\"limit\",\"decision\":\"done\"", "'decision'"},
    };
    static const char history[] = "{\"do\":\"history\",\"run\":\"r\"}";
    char request[512], before[8192];
    int fd = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," HUMAN "}");
    snprintf(before, sizeof before, "%s", ask(fd, history));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *said;

        snprintf(request, sizeof request,
                 "{\"do\":\"command\",\"run\":\"r\",\"commands\":[{%s}]}",
                 cases[i][0]);
        said = ask(fd, request);
        ck_assert_msg(has(said, "E_INVALID") && has(said, cases[i][1]) &&
                          has(said, "is not a member of the command"),
                      "%s: %s", cases[i][0], said);
    }
    ck_assert_str_eq(ask(fd, history), before);
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                          "[{\"kind\":\"pause\",\"reason\":\"w\","
                          "\"merge\":false,\"node\":null}]}"),
                  "\"reply\":{\"run\":\"r\""));
    close(fd);
}
END_TEST

enum { MANY_RUNS = 1100 }; /* more than are looked at in one go */

/* The pages of so many entries that `more` asks for: how many runs they have in
 * all, each one newer than the next. */
static size_t newest(int fd, int limit, const char *more)
{
    char request[512], cursor[256] = "", last[256] = "~";
    size_t n = 0;
    json_t *reply, *page, *one, *next;
    size_t i;

    do {
        snprintf(request, sizeof request,
                 "{\"do\":\"runs\",\"newest\":true,\"limit\":%d%s%s}", limit,
                 cursor, more);
        reply = json_loads(ask(fd, request), 0, NULL);
        page = json_object_get(reply, "reply");
        json_array_foreach(json_object_get(page, "runs"), i, one)
        {
            char this[256];

            snprintf(this, sizeof this, "%s %s",
                     json_string_value(json_object_get(one, "created")),
                     json_string_value(json_object_get(one, "run")));
            ck_assert_msg(strcmp(this, last) < 0, "%s behind %s", this, last);
            strcpy(last, this);
            n++;
        }
        next = json_object_get(page, "next");
        ck_assert(next != NULL);
        if (json_is_string(next)) {
            ck_assert_uint_eq(i, (size_t)limit);
            snprintf(cursor, sizeof cursor, ",\"after\":\"%s\"",
                     json_string_value(next));
        } else {
            cursor[0] = '\0';
        }
        json_decref(reply);
    } while (cursor[0] != '\0');
    return n;
}

/* issue 15, 5: runs come newest first, whatever their ids, in pages that meet,
 * as many as are asked for; another tenant's are none of them. */
START_TEST(runs_newest_first)
{
    char request[1024];
    int fd = client();

    for (int i = 0; i < MANY_RUNS; i++) {
        snprintf(request, sizeof request,
                 "{\"do\":\"start\",\"run\":\"r%04d\",\"tenant\":\"%s\"," HUMAN
                 "}",
                 i * 617 % MANY_RUNS, i % 100 == 7 ? "other" : "default");
        ck_assert(has(ask(fd, request), "\"reply\""));
    }
    ck_assert_uint_eq(newest(fd, 300, ""), MANY_RUNS - 11);
    ck_assert_uint_eq(newest(fd, 1, ",\"tenant\":\"other\""), 11);
    ck_assert_uint_eq(newest(fd, 1000, ",\"status\":\"waiting,failed\""),
                      MANY_RUNS - 11);
    ck_assert_uint_eq(newest(fd, 10, ",\"status\":\"failed\""), 0);
    ck_assert_uint_eq(newest(fd, 999, ",\"graph\":\"g\""), MANY_RUNS - 11);
    ck_assert_uint_eq(newest(fd, 10, ",\"graph\":\"h\""), 0);
    ck_assert_uint_eq(newest(fd, 10, ",\"since\":4000000000000"), 0);
    say(fd, "{\"do\":\"runs\",\"newest\":true}\n"); /* never heard */
    close(fd);
    fd = client();
    say(fd, "{\"do\":\"runs\",\"newest\":true}\n");
    close_engine(); /* in the middle of it */
    open_engine();
    close(fd);
}
END_TEST

/* A graph with findings: all of them, then the error. */
START_TEST(findings_come_as_an_item)
{
    int fd = client();
    const char *said =
        ask(fd, "{\"do\":\"start\"," GRAPH("start: b\\nnodes: {}\\n") "}");

    ck_assert_msg(has(said, "{\"item\":{\"type\":\"report\""), "%s", said);
    ck_assert(has(said, "g.yaml:4:"));
    ck_assert(has(line(fd), "E_CHECK"));
    close(fd);
}
END_TEST

/* A start that is asked for again is what it was: a run of that id, and of the
 * same graph and input, in memory or not; any other is refused, in words. */
START_TEST(started_again)
{
    static const char again[] =
        "{\"do\":\"start\",\"run\":\"r\",\"again\":true,";
    static const char input[] =
        "\"input\":{\"a\":[1,2.5,1e300,0.1,9007199254740993,\"x\\u00e9\"],"
        "\"b\":{\"n\":3}}";
    char same[2048], other[2048], bare[2048], graph[2048];
    int fd;

    snprintf(same, sizeof same, "%s%s,%s}", again, TYPED, input);
    snprintf(other, sizeof other, "%s%s,%s}", again, TYPED,
             "\"input\":{\"a\":[1],\"b\":{\"n\":3}}");
    snprintf(bare, sizeof bare, "%s%s}", again, TYPED);
    snprintf(graph, sizeof graph, "%s%s,%s}", again, HUMAN, input);
    for (int i = 0; i < 3; i++) {
        fd = client();
        ck_assert_msg(has(ask(fd, same), "\"reply\":{\"run\":\"r\""), "%d", i);
        ck_assert(
            has(ask(fd, other), "'r' already exists, with another input"));
        ck_assert(has(ask(fd, bare), "'r' already exists, with another input"));
        ck_assert(
            has(ask(fd, graph), "'r' already exists, with another graph"));
        ck_assert(
            has(ask(fd, "{\"do\":\"history\",\"run\":\"r\"}"), "\"admit\""));
        if (i == 1)
            ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                    "[{\"kind\":\"cancel\"}]}");
        close(fd);
        close_engine();
        open_engine();
    }
}
END_TEST

static size_t times(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

#define ORDER(id, v)                                                           \
    "{\"do\":\"command\",\"run\":\"r\",\"no_continue\":true,\"order\":\"" id   \
    "\",\"commands\":[{\"kind\":\"update\",\"value\":{\"scratch\":{\"v\":" v   \
    "}}}]}"

/* An order is obeyed once, however often it is said, by the same engine or by
 * the next; its id stands in its events, and means nothing else. */
START_TEST(orders_are_obeyed_once)
{
    static const char history[] = "{\"do\":\"history\",\"run\":\"r\"}";
    int fd = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\",\"order\":\"begin\"," HUMAN "}");
    for (int i = 0; i < 2; i++) {
        ck_assert(has(ask(fd, ORDER("one", "1")), "\"reply\":{\"run\":\"r\""));
        ck_assert(has(ask(fd, ORDER("one", "2")),
                      "was recorded before with other commands"));
        close(fd);
        close_engine();
        open_engine();
        fd = client();
    }
    ck_assert(has(ask(fd, ORDER("two", "3")), "\"reply\""));
    ck_assert(has(ask(fd, ORDER("one", "1")), "\"reply\""));
    ck_assert_uint_eq(times(ask(fd, history), "\"entry\":\"update\""), 2);
    ck_assert(has(ask(fd, "{\"do\":\"show\",\"run\":\"r\"}"),
                  "\"scratch\":{\"v\":3}"));
    say(fd, "{\"do\":\"follow\",\"run\":\"r\"}\n");
    ck_assert(has(line(fd), "\"order\":\"begin\""));
    close(fd);
}
END_TEST

/* A value is what stands there: a string is one, also where it could be read as
 * JSON, and under one order another value than what it holds. */
START_TEST(values_are_carried_once)
{
    int fd = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," HUMAN "}");
    ck_assert(has(ask(fd, ORDER("one", "\"{\\\"a\\\": 1}\"")), "\"reply\""));
    ck_assert(has(ask(fd, "{\"do\":\"show\",\"run\":\"r\"}"),
                  "\"scratch\":{\"v\":\"{\\\"a\\\": 1}\"}"));
    ck_assert(has(ask(fd, ORDER("one", "{\"a\": 1}")),
                  "was recorded before with other commands"));
    ck_assert(has(ask(fd, ORDER("one", "\"{\\u0022a\\\": 1}\"")), "\"reply\""));
    ck_assert(has(ask(fd, ORDER("two", "{\"a\":[1.0, null]}")), "\"reply\""));
    ck_assert(has(ask(fd, "{\"do\":\"show\",\"run\":\"r\"}"),
                  "\"scratch\":{\"v\":{\"a\":[1.0,null]}}"));
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                          "[{\"kind\":\"update\",\"value\":"
                          "\"{\\\"scratch\\\":{}}\"}]}"),
                  "\"error\""));
    close(fd);
}
END_TEST

/* What was to go on goes on, when it is said again; what could not be applied
 * now was applied then. */
START_TEST(orders_said_again)
{
    static const char cancel[] =
        "{\"do\":\"command\",\"run\":\"r\",\"order\":\"stop\",\"commands\":"
        "[{\"kind\":\"cancel\"}]}";
    int fd = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," HUMAN "}");
    for (int i = 0; i < 3; i++)
        ck_assert_msg(has(ask(fd, cancel), "\"status\":\"cancelled\""), "%d",
                      i);
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                          "[{\"kind\":\"cancel\"}]}"),
                  "E_STATE"));
    close(fd);
}
END_TEST

/* What was recorded is said to be, though nothing can go on here now. */
START_TEST(orders_answered_without_plugins)
{
    static const char order[] =
        "{\"do\":\"command\",\"run\":\"r\",\"order\":\"%s\",%s\"commands\":"
        "[{\"kind\":\"update\",\"value\":{\"scratch\":{\"v\":1}}}]}";
    char first[256], again[256], other[256];
    int fd = client();

    snprintf(first, sizeof first, order, "one", "\"no_continue\":true,");
    snprintf(again, sizeof again, order, "one", "");
    snprintf(other, sizeof other, order, "two", "");
    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," GRAPH(
                "start: a\\nnodes:\\n"
                "  a: {type: human, prompt: Well?, next: b}\\n"
                "  b: {type: tool, tool: ok_async/sleep, args: {ms: 1},"
                " next: END}\\n") "}");
    ck_assert(has(ask(fd, first), "\"reply\""));
    close(fd);
    close_engine();
    write_deployment_of(dir);
    open_engine();
    fd = client();
    ck_assert(has(ask(fd, other), "\"error\""));
    ck_assert(has(ask(fd, again), "\"reply\":{\"run\":\"r\""));
    ck_assert(has(ask(fd, other), "\"error\""));
    ck_assert_uint_eq(
        times(ask(fd, "{\"do\":\"history\",\"run\":\"r\"}"), "\"update\""), 1);
    close(fd);
}
END_TEST

/* A start that is said again is taken for one's own if it is. */
START_TEST(started_under_an_order)
{
#define START(order)                                                           \
    "{\"do\":\"start\",\"run\":\"r\",\"again\":true," order HUMAN "}"
    int fd = client();

    ck_assert(has(ask(fd, START("\"order\":\"a\",")), "\"reply\""));
    for (int i = 0; i < 2; i++) {
        ck_assert(has(ask(fd, START("\"order\":\"a\",")), "\"reply\""));
        ck_assert(has(ask(fd, START("\"order\":\"b\",")),
                      "'r' already exists; another user started it"));
        ck_assert(has(ask(fd, START("")), "\"reply\""));
        close(fd);
        close_engine();
        open_engine();
        fd = client();
    }
    close(fd);
}
END_TEST

/* Who did it is the kernel's word. */
START_TEST(the_actor_is_the_peer)
{
    char me[64];
    int fd = client();

    mortise_owner_get_name(geteuid(), me);
    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," SLEEP "}");
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                          "[{\"kind\":\"cancel\"}]}"),
                  "\"reply\""));
    ck_assert_msg(has(ask(fd, "{\"do\":\"history\",\"run\":\"r\"}"), me), "%s",
                  me);
    close(fd);
}
END_TEST

/* ---- strangers ----------------------------------------------------------- */

enum { NOBODY = 65534 };

/* Who the kernel is to say that the peer is; -1: the truth.  Whoever runs the
 * test, this reaches the refusal. */
static atomic_long pretended = -1;

int getsockopt(int fd, int level, int option, void *restrict value,
               socklen_t *restrict n)
{
    int rv = (int)syscall(SYS_getsockopt, fd, level, option, value, n);
    long uid = atomic_load(&pretended);

    if (rv == 0 && uid >= 0 && level == SOL_SOCKET && option == SO_PEERCRED)
        ((struct ucred *)value)->uid = (uid_t)uid;
    return rv;
}

static bool is_refusal(const char *text)
{
    return has(text, "\"E_NOT_ALLOWED\"") && has(text, "only the user of");
}

/* Another user is told so, whatever is asked, and root and ourselves are
 * served. */
START_TEST(other_users_are_refused)
{
    const uid_t served[] = {0, geteuid()};
    int fd;

    atomic_store(&pretended, geteuid() != NOBODY ? NOBODY : NOBODY - 1);
    fd = client();
    ck_assert_msg(is_refusal(line(fd)), "not a refusal");
    ck_assert_str_eq(line(fd), "");
    close(fd);
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&pretended, served[i]);
        fd = client();
        ck_assert(has(ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
        close(fd);
    }
    atomic_store(&pretended, -1);
}
END_TEST

/* In a child: connect as nobody, with the store as working directory, and pass
 * on what the engine says, behind a letter: what became of it. */
static void be_nobody(int to)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "control.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char text[256] = "f";
    ssize_t n;

    if (fd < 0 || chdir(store) != 0 ||
        syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0)
        text[0] = 'f';
    else if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        text[0] = 'c';
    else if (errno == EACCES)
        text[0] = 'd';
    n = write(to, text, 1);
    while (text[0] == 'c' && n > 0 && (n = recv(fd, text + 1, 254, 0)) > 0)
        n = write(to, text + 1, (size_t)n);
}

/* 'c' when the child was connected, 'd' when that was denied; and what it was
 * told.  It ends by a signal: an exit code is valgrind's to change. */
static char ask_as_nobody(char told[256])
{
    int ends[2];
    size_t n = 0;
    ssize_t got;
    pid_t child;
    char what;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        be_nobody(ends[1]);
        kill(getpid(), SIGKILL);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &what, 1), 1);
    while (n < 255 && (got = read(ends[0], told + n, 255 - n)) > 0)
        n += (size_t)got;
    told[n] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    return what;
}

/* In truth, which takes root to be somebody else: the modes keep another user
 * out, and where somebody opened those, the engine does. */
START_TEST(nobody_is_refused)
{
    char path[PATH_MAX + 32], told[256];

    ck_assert_int_eq(ask_as_nobody(told), 'd');
    snprintf(path, sizeof path, "%s/control.sock", store);
    ck_assert_int_eq(chmod(store, 0755), 0);
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_eq(ask_as_nobody(told), 'c');
    ck_assert_msg(is_refusal(told), "%s", told);
}
END_TEST

/* A line without end is refused before it fills the memory. */
START_TEST(endless_lines)
{
    static char junk[1 << 20];
    int fd = client();
    size_t sent = 0;

    memset(junk, 'x', sizeof junk);
    while (sent < (size_t)18 << 20) {
        ssize_t n = send(fd, junk, sizeof junk, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    ck_assert(has(line(fd), "E_LIMIT"));
    close(fd);
    fd = client(); /* the others are not concerned */
    ck_assert(has(ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    close(fd);
}
END_TEST

/* ---- followers ----------------------------------------------------------- */

/* One that goes away leaves the run as it is; one that asks in halves is
 * served; one that closes its side gets what it asked for. */
START_TEST(coming_and_going)
{
    int fd = client(), other = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," SLEEP "}");
    say(fd, "{\"do\":\"follow\",\"run\":\"r\",\"until\":\"end\"}\n");
    ck_assert(has(line(fd), "run_start"));
    close(fd);
    ck_assert(has(ask(other, "{\"do\":\"runs\"}"), "\"live\":true"));
    say(other, "{\"do\":");
    usleep(20000);
    ck_assert(has(ask(other, "\"runs\"}"), "\"running\""));
    say(other, "{\"do\":\"runs\"}\n{\"do\":\"command\",\"run\":\"r\","
               "\"commands\":[{\"kind\":\"cancel\"}]}\n");
    shutdown(other, SHUT_WR);
    ck_assert(has(line(other), "\"reply\""));
    ck_assert(has(line(other), "\"reply\""));
    ck_assert_str_eq(line(other), "");
    close(other);
}
END_TEST

enum { LARGE = 100000 }; /* more than the engine keeps unread */

/* Begin a run that waits, of which `show` says more than that. */
static void start_large(int fd)
{
    static char input[LARGE];

    memset(input, 'x', sizeof input - 1);
    say(fd, "{\"do\":\"start\",\"run\":\"r\"," GRAPH(
                "start: b\\nnodes:\\n  b: {type: human,"
                " prompt: \\\"${input.x}\\\", next: END}\\n") ","
                                                              "\"input\":{"
                                                              "\"x\":\"");
    say(fd, input);
    say(fd, "\"}}\n");
}

/* Every request that was sent before the end of all is answered, in order, a
 * follow too, however much that is and however late it is read; then the
 * connection is closed.  A request that was cut is not carried out, and said
 * to be none. */
START_TEST(half_closed)
{
    static const char *const ends[] = {"", "{\"do\":\"command\",\"run\":\"r\","
                                           "\"commands\":[{\"kind\":"
                                           "\"cancel\"}]}"};
    int fd = client(), other = client();
    const char *said;

    start_large(fd);
    for (int i = 0; i < 20; i++)
        say(fd, "{\"do\":\"show\",\"run\":\"r\"}\n"
                "{\"do\":\"follow\",\"run\":\"r\",\"until\":\"idle\"}\n"
                "{\"do\":\"engine\"}\n");
    say(fd, ends[_i]);
    shutdown(fd, SHUT_WR);
    usleep(200000);
    ck_assert(has(line(fd), "{\"reply\":{\"run\":\"r\",\"tenant\""));
    for (int i = 0; i < 20; i++) {
        ck_assert_uint_gt(strlen(line(fd)), LARGE);
        do
            said = line(fd);
        while (has(said, "{\"item\""));
        ck_assert_msg(has(said, "\"status\":\"waiting\""), "%.200s", said);
        ck_assert(has(line(fd), "\"pid\""));
    }
    if (_i == 1)
        ck_assert(has(line(fd), "no line end"));
    ck_assert_str_eq(line(fd), "");
    ck_assert(has(ask(other, "{\"do\":\"show\",\"run\":\"r\"}"),
                  "\"status\":\"waiting\""));
    close(fd);
    close(other);
}
END_TEST

/* Followers that send no more hear the end of the run; those that left, at
 * once or after that, make room. */
START_TEST(followers_that_send_no_more)
{
    enum { PLACES = 256, HEAR = 8 };
    static const char follow[] =
        "{\"do\":\"follow\",\"run\":\"r\",\"until\":\"end\"}\n";
    int fds[PLACES], fd = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," HUMAN "}");
    for (int i = 1; i < PLACES; i++) {
        fds[i] = client();
        say(fds[i], follow);
        ck_assert(has(line(fds[i]), "run_start"));
        if (i % 2 == 0)
            shutdown(fds[i], SHUT_WR);
    }
    usleep(100000);
    close(fd); /* it is idle, and would have to go */
    for (int i = HEAR; i < PLACES; i++)
        close(fds[i]);
    for (int i = HEAR; i < PLACES; i++) { /* at the latest when they tick */
        for (int n = 0; n < 600; n++) {
            fds[i] = client();
            send(fds[i], follow, sizeof follow - 1, MSG_NOSIGNAL); /* or not */
            if (has(line(fds[i]), "run_start"))
                break;
            close(fds[i]);
            ck_assert_int_lt(n, 599);
            usleep(100000);
        }
    }
    fd = client();
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                          "[{\"kind\":\"cancel\"}]}"),
                  "\"reply\""));
    for (int i = 1; i < PLACES; i++) {
        const char *said;

        do
            said = line(fds[i]);
        while (has(said, "{\"item\""));
        ck_assert_msg(has(said, "\"status\":\"cancelled\""), "%d: %s", i, said);
        close(fds[i]);
    }
    close(fd);
}
END_TEST

/* Many followers hear the same. */
START_TEST(many_followers)
{
    int fds[40], fd = client();

    ask(fd, "{\"do\":\"start\",\"run\":\"r\"," HUMAN "}");
    for (int i = 0; i < 40; i++) {
        fds[i] = client();
        say(fds[i], "{\"do\":\"follow\",\"run\":\"r\",\"until\":\"end\"}\n");
    }
    for (int i = 0; i < 40; i++)
        ck_assert(has(line(fds[i]), "\"seq\":1"));
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                          "[{\"kind\":\"cancel\"}]}"),
                  "\"reply\""));
    for (int i = 0; i < 40; i++) {
        while (!has(line(fds[i]), "{\"reply\":{\"run\":\"r\",\"status\":"
                                  "\"cancelled\""))
            continue;
        close(fds[i]);
    }
    close(fd);
}
END_TEST

/* What a follower was sent until its reply came. */
struct followed {
    uint64_t seq;
    long gaps, progress, disorder, missed;
    long next; /* progress */
    char types[512], reply[512];
};

static void note_item(struct followed *f, const json_t *item)
{
    const char *type = json_string_value(json_object_get(item, "type"));
    const json_t *seq = json_object_get(item, "seq");
    size_t n = strlen(f->types);
    long i;

    if (seq != NULL) {
        f->gaps += (uint64_t)json_integer_value(seq) != f->seq + 1;
        f->seq = (uint64_t)json_integer_value(seq);
    }
    if (strcmp(type, "missed") == 0)
        f->missed += (long)json_integer_value(json_object_get(item, "count"));
    if (strcmp(type, "progress") == 0) {
        i = (long)json_integer_value(
            json_object_get(json_object_get(item, "data"), "i"));
        f->disorder += i < f->next || (i > f->next && f->missed == 0);
        f->next = i + 1;
        f->progress++;
    }
    if (n < strlen(type) + 1 ||
        strncmp(f->types + n - strlen(type) - 1, type, strlen(type)) != 0)
        snprintf(f->types + n, sizeof f->types - n, "%s ", type);
}

/* Read items, a buffer at a time, until the reply. */
static void follow_to_the_reply(int fd, struct followed *f)
{
    static char text[4 << 20];
    size_t n = 0;

    memset(f, 0, sizeof *f);
    while (f->reply[0] == '\0') {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char *end, *at = text;
        ssize_t got;

        ck_assert_int_eq(poll(&p, 1, 60000), 1);
        got = recv(fd, text + n, sizeof text - 1 - n, 0);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        for (; (end = memchr(at, '\n', n - (size_t)(at - text))) != NULL;
             at = end + 1) {
            json_t *v, *item;

            ck_assert_int_eq(
                mortise_json_parse_written(&v, at, (size_t)(end - at), &err),
                MORTISE_OK);
            item = json_object_get(v, "item");
            if (item != NULL)
                note_item(f, item);
            else
                snprintf(f->reply, sizeof f->reply, "%.*s",
                         (int)(end - at < 500 ? end - at : 500), at);
            json_decref(v);
            if (f->reply[0] != '\0')
                break;
        }
        if (end != NULL) /* what is behind the reply is for the next */
            at = end + 1;
        n -= (size_t)(at - text);
        memmove(text, at, n);
    }
    ck_assert_uint_eq(n, 0);
}

/* A start that carries its watch: fifty of fifty hear everything. */
START_TEST(watched_starts)
{
    int fd = client();

    for (int i = 0; i < 50; i++) {
        struct followed f;

        say(fd,
            "{\"do\":\"start\",\"until\":\"idle\"," GRAPH(
                "start: a\\nnodes:\\n  a: {type: tool,"
                " tool: emits_many/run, args: {n: 16}, next: END}\\n") "}\n");
        follow_to_the_reply(fd, &f);
        ck_assert_str_eq(f.types, "started run_start node_start progress "
                                  "node_end run_end ");
        ck_assert_int_eq(f.progress, 16);
        ck_assert_int_eq(f.disorder + f.gaps + f.missed, 0);
        ck_assert_msg(has(f.reply, "\"completed\""), "%s", f.reply);
    }
    ck_assert(has(ask(fd, "{\"do\":\"start\",\"until\":\"now\"," HUMAN "}"),
                  "for a request that starts a run"));
    close(fd);
}
END_TEST

/* So does a command: nothing of what it leads to is lost; one that is refused
 * leaves no watch behind. */
START_TEST(watched_commands)
{
    int fd = client();

    for (int i = 0; i < 20; i++) {
        struct followed f;
        char text[512], id[80];
        const char *at;

        snprintf(text, sizeof text,
                 "{\"do\":\"start\",\"run\":\"r%d\",\"until\":\"idle\"," GRAPH(
                     "start: h\\nnodes:\\n"
                     "  h: {type: human, prompt: Well?, next: a}\\n"
                     "  a: {type: tool, tool: emits_many/run,"
                     " args: {n: 16}, next: END}\\n") "}\n",
                 i);
        say(fd, text);
        follow_to_the_reply(fd, &f);
        snprintf(text, sizeof text, "{\"do\":\"show\",\"run\":\"r%d\"}", i);
        at = strstr(ask(fd, text), "\"pending\":[");
        ck_assert_ptr_nonnull(at);
        at = strstr(at, "\"id\":\"");
        ck_assert_ptr_nonnull(at);
        snprintf(id, sizeof id, "%.64s", at + strlen("\"id\":\""));
        id[strcspn(id, "\"")] = '\0';
        snprintf(text, sizeof text,
                 "{\"do\":\"command\",\"run\":\"r%d\",\"until\":\"idle\","
                 "\"after\":%d,\"commands\":[{\"kind\":\"answer\","
                 "\"id\":\"%s\",\"value\":{\"approved\":true}}]}\n",
                 i, (int)f.seq, id);
        say(fd, text);
        follow_to_the_reply(fd, &f);
        ck_assert_msg(has(f.types, "decision"), "%s", f.types);
        ck_assert_msg(has(f.types, "progress node_end run_end "), "%s",
                      f.types);
        ck_assert_msg(has(f.types, "node_start"), "%s", f.types);
        ck_assert_msg(has(f.types, "recorded"), "%s", f.types);
        ck_assert_int_eq(f.progress, 16);
        ck_assert_int_eq(f.disorder + f.missed, 0);
        ck_assert_msg(has(f.reply, "\"completed\""), "%s", f.reply);
        say(fd, text); /* again: nobody asks any more */
        follow_to_the_reply(fd, &f);
        ck_assert_msg(has(f.reply, "\"error\""), "%s", f.reply);
    }
    ck_assert(has(ask(fd, "{\"do\":\"command\",\"run\":\"r0\",\"after\":1,"
                          "\"commands\":[{\"kind\":\"resume\"}]}"),
                  "'until'"));
    close(fd);
}
END_TEST

static bool is_completed(int fd, const char *run)
{
    char text[128];

    snprintf(text, sizeof text, "{\"do\":\"show\",\"run\":\"%s\"}", run);
    return has(ask(fd, text), "\"status\":\"completed\"");
}

/* A follower that does not read gets all that is stored when it reads at last,
 * and is told how many live events it missed: 20 MB of them were not kept. */
START_TEST(slow_readers_are_told)
{
    int slow = client(), fd = client();
    struct followed f;

    say(slow, "{\"do\":\"start\",\"run\":\"r\",\"until\":\"idle\"," GRAPH(
                  "start: a\\nnodes:\\n  a: {type: tool,"
                  " tool: emits_more/run, args: {n: 20000, pad: 1000},"
                  " next: b}\\n  b: {type: tool, tool: emits_many/run,"
                  " args: {n: 10}, next: END}\\n") "}\n");
    while (!is_completed(fd, "r"))
        usleep(20000);
    follow_to_the_reply(slow, &f);
    ck_assert_int_eq(f.gaps, 0);
    ck_assert_int_gt(f.missed, 0);
    ck_assert_int_gt(f.progress, 0);
    ck_assert_msg(has(f.types, "run_start node_start progress "), "%s",
                  f.types);
    ck_assert_msg(has(f.types, "run_end"), "%s", f.types);
    ck_assert_msg(has(f.reply, "\"completed\""), "%s", f.reply);
    /* The second node's start, and what it told, may be among the missed. */
    ck_assert_int_ge(f.progress + f.missed, 20000);
    ck_assert_int_le(f.progress + f.missed, 20000 + 2 + 10);
    close(slow);
    close(fd);
}
END_TEST

/* What is stored is read in pieces, as the client takes them: several requests
 * of more than the engine keeps for a client are all answered in full. */
START_TEST(slow_readers)
{
    static char input[900000];
    int slow = client(), fd = client();
    const char *said = "";

    memset(input, 'x', sizeof input - 1);
    for (int i = 0; i < 8; i++) { /* big answers in the journal */
        char head[512];

        snprintf(head, sizeof head,
                 "{\"do\":\"start\",\"run\":\"r%d\"," GRAPH(
                     "start: a\\nnodes:\\n  a: {type: tool,"
                     " tool: ok_inline/echo, args: {x: \\\"${input.x}\\\"},"
                     " next: b}\\n  b: {type: human,"
                     " prompt: \\\"${input.x}\\\", next: END}\\n") ","
                                                                   "\"input\":{"
                                                                   "\"x\":\"",
                 i);
        say(fd, head);
        say(fd, input);
        say(fd, "\"}}\n");
        said = line(fd);
        ck_assert_msg(has(said, "\"reply\""), "%s", said);
    }
    for (int i = 0; i < 8; i++) {
        char text[128];

        snprintf(text, sizeof text,
                 "{\"do\":\"follow\",\"run\":\"r%d\",\"until\":\"idle\"}\n", i);
        say(slow, text);
    }
    usleep(300000); /* the engine goes on with the others meanwhile */
    ck_assert(has(ask(fd, "{\"do\":\"engine\"}"), "\"pid\""));
    for (int i = 0; i < 8; i++) {
        do
            said = line(slow);
        while (!has(said, "\"reply\""));
        ck_assert_msg(has(said, "\"waiting\""), "%.200s", said);
    }
    close(slow);
    close(fd);
}
END_TEST

/* Room for answers may come to be while the engine is at work on a connection,
 * and then nothing else tells of it: requests that were sent ahead are answered
 * wherever in that work the client reads. */
START_TEST(readers_in_between)
{
    int fd = client();
    const char *said;

    start_large(fd);
    said = line(fd);
    ck_assert_msg(has(said, "\"reply\""), "%s", said);
    for (int i = 0; i < 8; i++) {
        atomic_store(&refusals, i);
        say(fd, "{\"do\":\"show\",\"run\":\"r\"}\n{\"do\":\"engine\"}\n");
        said = line(fd);
        ck_assert_msg(has(said, "\"reply\""), "%.200s", said);
        ck_assert_uint_gt(strlen(said), LARGE);
        ck_assert(has(line(fd), "\"pid\""));
        ck_assert_int_eq(atomic_load(&refusals), 0);
    }
    close(fd);
}
END_TEST

/* ---- the socket ---------------------------------------------------------- */

/* Nobody is served who was not asked to serve: there is no socket, and the words
 * for others are those for a store that somebody holds. */
START_TEST(no_socket_unless_asked)
{
    struct mortise_options o = {.size = sizeof o,
                                .deployment = deployment,
                                .store = store,
                                .mem = &test_mem};
    char path[PATH_MAX + 32];
    struct mortise *m, *other;
    pid_t pid;
    int fd;

    close_engine();
    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
    snprintf(path, sizeof path, "%s/control.sock", store);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(mortise_control_connect(store, NULL, &fd, &pid, &err),
                     MORTISE_ENOTFOUND);
    o.flags = MORTISE_OPEN_LISTEN;
    ck_assert_int_eq(mortise_open(&other, &o, &err), MORTISE_EBUSY);
    ck_assert_int_ne(access(path, F_OK), 0);
    mortise_close(m);
    o.flags = MORTISE_OPEN_LISTEN << 1;
    ck_assert_int_eq(mortise_open(&other, &o, &err), MORTISE_EINVAL);
    open_engine();
}
END_TEST

/* The socket is ours alone, replaces a stale one, and goes with the engine. */
START_TEST(the_socket_file)
{
    struct stat st;
    char path[PATH_MAX + 32];
    pid_t pid;
    int fd;

    snprintf(path, sizeof path, "%s/control.sock", store);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    close_engine();
    ck_assert_int_ne(stat(path, &st), 0);
    ck_assert_int_eq(mortise_control_connect(store, NULL, &fd, &pid, &err),
                     MORTISE_ENOTFOUND);
    test_write(path, "stale", 5);
    open_engine();
    fd = client();
    ck_assert(has(ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    close(fd);
}
END_TEST

/* In a child: try to connect, until the socket is there.  The first connection
 * must succeed; the exit is a signal, as above. */
static void connect_at_first_sight(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "control.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    while (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        if (errno != ENOENT)
            kill(getpid(), SIGUSR1);
    kill(getpid(), SIGKILL);
}

/* When the socket appears, the engine listens there. */
START_TEST(the_socket_appears_ready)
{
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child;

        close_engine();
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            if (chdir(store) == 0)
                connect_at_first_sight();
            kill(getpid(), SIGUSR1);
        }
        open_engine();
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    }
}
END_TEST

/* A store may lie deeper than a socket's address is long. */
START_TEST(long_paths)
{
    size_t n;
    int fd;

    close_engine();
    n = strlen(store);
    while (n < 400) {
        n += (size_t)snprintf(store + n, sizeof store - n, "/%050d", 0);
        mkdir(store, 0700);
    }
    /* the directories above must be there: the first is under the store */
    open_engine();
    fd = client();
    ck_assert(has(ask(fd, "{\"do\":\"engine\"}"), "0000"));
    close(fd);
}
END_TEST

/* Hundreds of connections are bounded, and those who leave make room. */
START_TEST(too_many_connections)
{
    int fds[300], refused = 0;

    for (int i = 0; i < 300; i++)
        fds[i] = client();
    for (int i = 0; i < 300; i++) {
        send(fds[i], "{\"do\":\"runs\"}\n", 14, MSG_NOSIGNAL); /* or not */
        refused += has(line(fds[i]), "idle the longest");
    }
    ck_assert_int_eq(refused, 300 - 256);
    for (int i = 0; i < 300; i++)
        close(fds[i]);
    usleep(50000);
    fds[0] = client();
    ck_assert(has(ask(fds[0], "{\"do\":\"runs\"}"), "\"reply\""));
    close(fds[0]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("control");
    TCase *tc = tcase_create("control");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, requests_in_order);
    tcase_add_test(tc, malformed_requests);
    tcase_add_test(tc, members_that_mean_nothing);
    tcase_add_test(tc, runs_newest_first);
    tcase_add_test(tc, findings_come_as_an_item);
    tcase_add_test(tc, started_again);
    tcase_add_test(tc, orders_are_obeyed_once);
    tcase_add_test(tc, values_are_carried_once);
    tcase_add_test(tc, orders_said_again);
    tcase_add_test(tc, orders_answered_without_plugins);
    tcase_add_test(tc, started_under_an_order);
    tcase_add_test(tc, the_actor_is_the_peer);
    tcase_add_test(tc, other_users_are_refused);
    if (geteuid() == 0) /* else other_users_are_refused alone says it */
        tcase_add_test(tc, nobody_is_refused);
    tcase_add_test(tc, endless_lines);
    tcase_add_test(tc, coming_and_going);
    tcase_add_loop_test(tc, half_closed, 0, 2);
    tcase_add_test(tc, followers_that_send_no_more);
    tcase_add_test(tc, many_followers);
    tcase_add_test(tc, watched_starts);
    tcase_add_test(tc, watched_commands);
    tcase_add_test(tc, slow_readers);
    tcase_add_test(tc, readers_in_between);
    tcase_add_test(tc, slow_readers_are_told);
    tcase_add_test(tc, the_socket_file);
    tcase_add_test(tc, the_socket_appears_ready);
    tcase_add_test(tc, no_socket_unless_asked);
    tcase_add_test(tc, long_paths);
    tcase_add_test(tc, too_many_connections);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
