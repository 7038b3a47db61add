/* test_hostile_effects.c -- a server of the test's own counts every request
 * that reaches it, and breaks the connection wherever it likes: never is an
 * effect that is not idempotent asked for twice without a doubt in between.
 *
 * The first matrix goes over each byte of a POST and of its reply.  The second
 * takes the boundaries of both, for each method, each kind of operation (the
 * bundled http alone, and a plugin of each intent) and each policy.  What has
 * to come of it is said here a second time, from the manual's words. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json/value.h"
#include "lib/child.h"
#include "lib/matrix.h"
#include "lib/lone.h"
#include "lib/shelf.h"
#include "lib/warm.h"
#include "lang/yaml/diag.h"

/* ---- the server --------------------------------------------------------- */

enum { ALL = INT_MAX, ALL_BUT_ONE = INT_MAX - 1, REQUEST_MAX = 65536 };

struct plan {    /* what becomes of each request for an effect */
    int request; /* so many bytes are read, then it breaks; ALL */
    const char *reply;
    int reply_n; /* so many are sent of it */
    bool silent; /* ... and the connection stays open */
};

static struct server {
    int fd, port, shut_port, shut_fd, stop[2];
    pthread_t thread;
    pthread_mutex_t lock;
    struct plan plan;
    int tries;   /* requests for an effect, of which anything came */
    int whole;   /* ... and all */
    size_t size; /* of the last whole one */
} server;

static const char fine[] = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n"
                           "Connection: close\r\n\r\n{\"ok\":true}";

static bool wait_for(int fd, int ms)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                          {.fd = server.stop[0], .events = POLLIN}};

    poll(p, 2, ms);
    return p[1].revents == 0;
}

static size_t whole_size(const char *p)
{
    const char *end = strstr(p, "\r\n\r\n");
    const char *at = end != NULL ? strcasestr(p, "\r\ncontent-length:") : NULL;

    if (end == NULL)
        return 0;
    return (size_t)(end + 4 - p) +
           (at != NULL && at < end ? (size_t)atol(at + 17) : 0);
}

/* What of a request has come, without taking it, once all of it has. */
static size_t peek(int fd, char *p)
{
    ssize_t n;

    for (;;) {
        n = recv(fd, p, REQUEST_MAX - 1, MSG_PEEK);
        if (n <= 0)
            return 0;
        p[n] = '\0';
        if (whole_size(p) != 0 && (size_t)n >= whole_size(p))
            return whole_size(p);
        if (!wait_for(-1, 1))
            return 0;
    }
}

static void say(int fd, const char *text, int most)
{
    size_t n = strlen(text);

    if (most == ALL_BUT_ONE)
        n--;
    else if ((size_t)most < n)
        n = (size_t)most;
    (void)!send(fd, text, n, MSG_NOSIGNAL);
}

/* A question about effects, or where a redirect led. */
static bool serve_other(int fd, const char *p)
{
    char text[128];
    bool yes;

    if (strncmp(p, "GET /seen", 9) != 0) {
        if (strncmp(p, "GET /gone", 9) == 0)
            say(fd, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", ALL);
        return strncmp(p, "GET /gone", 9) == 0;
    }
    pthread_mutex_lock(&server.lock);
    yes = server.whole > 0;
    pthread_mutex_unlock(&server.lock);
    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n"
             "\r\n%s",
             yes ? 3 : 2, yes ? "yes" : "no");
    say(fd, text, ALL);
    return true;
}

static void serve(int fd)
{
    static char p[REQUEST_MAX];
    size_t n = peek(fd, p), take;
    struct plan plan;

    if (n == 0)
        return;
    if (serve_other(fd, p)) {
        (void)!recv(fd, p, n, 0);
        return;
    }
    pthread_mutex_lock(&server.lock);
    plan = server.plan;
    take = plan.request == ALL           ? n
           : plan.request == ALL_BUT_ONE ? n - 1
           : (size_t)plan.request < n    ? (size_t)plan.request
                                         : n;
    server.tries++;
    server.whole += take == n;
    server.size = n;
    pthread_mutex_unlock(&server.lock);
    if (take > 0)
        (void)!recv(fd, p, take, 0);
    if (take == n)
        say(fd, plan.reply, plan.reply_n);
    if (plan.silent)
        wait_for(fd, -1);
}

static void *serving(void *ud)
{
    (void)ud;
    while (wait_for(server.fd, -1)) {
        int fd = accept(server.fd, NULL, NULL);

        if (fd < 0)
            continue;
        serve(fd);
        shutdown(fd, SHUT_WR);
        close(fd); /* with a reset where something was not read */
    }
    return NULL;
}

static int bound(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    getsockname(fd, (struct sockaddr *)&a, &n);
    *port = ntohs(a.sin_port);
    return fd;
}

static void server_start(void)
{
    server.fd = bound(&server.port);
    server.shut_fd = bound(&server.shut_port); /* nobody listens there */
    ck_assert_int_eq(listen(server.fd, 64), 0);
    ck_assert_int_eq(pipe(server.stop), 0);
    pthread_mutex_init(&server.lock, NULL);
    pthread_create(&server.thread, NULL, serving, NULL);
}

static void server_stop(void)
{
    close(server.stop[1]);
    pthread_join(server.thread, NULL);
    close(server.fd);
    close(server.shut_fd);
    close(server.stop[0]);
    pthread_mutex_destroy(&server.lock);
}

static void server_plan(struct plan plan)
{
    pthread_mutex_lock(&server.lock);
    server.plan = plan;
    server.tries = server.whole = 0;
    pthread_mutex_unlock(&server.lock);
}

static void server_mend(void)
{
    pthread_mutex_lock(&server.lock);
    server.plan = (struct plan){ALL, fine, ALL, false};
    pthread_mutex_unlock(&server.lock);
}

static int tries(void)
{
    int n;

    pthread_mutex_lock(&server.lock);
    n = server.tries;
    pthread_mutex_unlock(&server.lock);
    return n;
}

static int whole(void)
{
    int n;

    pthread_mutex_lock(&server.lock);
    n = server.whole;
    pthread_mutex_unlock(&server.lock);
    return n;
}

/* ---- around each test --------------------------------------------------- */

static struct shelf shelf;

static void sign_http(void)
{
    char path[PATH_MAX];
    const char *object = path;
    struct mortise_sign_request signing = {
        .manifest = "plugins/executor/http/http.plugin.yaml",
        .objects = &object,
        .n_objects = 1,
        .out = shelf.plugins,
        .key = &shelf.key,
        .unchecked = true};
    struct mortise_diags diags;

    snprintf(path, sizeof path, "%s", child_build("plugins/http.so"));
    mortise_diags_init(&diags, &mortise_heap);
    ck_assert_int_eq(
        mortise_plugin_sign(&signing, NULL, &mortise_heap, &diags, &lone_err),
        MORTISE_OK);
    mortise_diags_finish(&diags);
}

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "relays");
    shelf_put(&shelf, "emits_garbage");
    shelf_put(&shelf, "huge_output");
    shelf_put(&shelf, "returns_nonsense");
    shelf_put(&shelf, "returns_pending_inline");
    shelf_put(&shelf, "ignores_cancel");
    sign_http();
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void setup(void)
{
    char config[1024];

    warm_libuv();
    lone_begin();
    server_start();
    snprintf(config, sizeof config,
             "{http: {allow: [\"http://127.0.0.1:%d\", "
             "\"http://127.0.0.1:%d\"]}, relays: {base_url: "
             "\"http://127.0.0.1:%d\", also: \"http://127.0.0.1:%d\"}}",
             server.port, server.shut_port, server.port, server.shut_port);
    lone_open(shelf.trust, shelf.plugins, config);
}

/* ... where a call may be at work until the process ends, and its plugin with
 * it: the next test has another release. */
static void setup_stuck(void)
{
    static unsigned newest = 1;

    shelf_put_release(&shelf, "ignores_cancel", ++newest);
    setup();
}

static void teardown_stuck(void)
{
    lone_end();
    server_stop();
}

static void teardown(void)
{
    teardown_stuck();
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

/* ---- what people do ----------------------------------------------------- */

static void apply(struct mortise_command c)
{
    c.size = sizeof c;
    ck_assert_msg(mortise_apply(lone, NULL, lone_run, &c, 1, 0, "ann",
                                &lone_err) == MORTISE_OK,
                  "%s", lone_err.msg);
    lone_finish();
}

static void resume(void)
{
    apply((struct mortise_command){.kind = MORTISE_CMD_RESUME});
}

/* Of the doubt that is pending, which says why it is one. */
static void resolve(const char *how, const char *json)
{
    json_t *pending = lone_shown("pending"), *p = json_array_get(pending, 0);
    char id[64];

    ck_assert_uint_eq(json_array_size(pending), 1);
    ck_assert_str_eq(json_string_value(json_object_get(p, "kind")), "in_doubt");
    ck_assert_ptr_nonnull(json_object_get(p, "cause"));
    snprintf(id, sizeof id, "%s", json_string_value(json_object_get(p, "id")));
    json_decref(pending);
    apply((struct mortise_command){
        .kind = MORTISE_CMD_RESOLVE, .id = id, .decision = how, .json = json});
}

#define ANSWER                                                                 \
    "{\"status\": 200, \"url\": \"\", \"headers\": {}, \"body\": \"seen\"}"

/* It is in doubt, after one try: whatever is said then happens, and no more.
 * `which` chooses what is said. */
static void settle(size_t which)
{
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_IN_DOUBT);
    ck_assert_int_le(tries(), 1);
    if (which % 3 == 0) {
        int before = tries();

        resolve("done", ANSWER);
        ck_assert_int_eq(lone_status, MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(tries(), before);
    } else if (which % 3 == 1) {
        server_mend();
        resolve("retry", NULL);
        ck_assert_int_eq(lone_status, MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(tries(), 2);
    } else { /* failed, and tried again: the question is still there */
        resolve("fail", NULL);
        ck_assert_int_eq(lone_status, MORTISE_RUN_FAILED);
        resume();
        ck_assert_int_eq(lone_status, MORTISE_RUN_IN_DOUBT);
        ck_assert_int_eq(tries(), 1);
    }
}

/* ---- each byte ---------------------------------------------------------- */

#define N(list) (sizeof(list) / sizeof((list)[0]))

#define RETRIES "retry_policy: {max_attempts: 3, delay: 1ms}"

static const char *const posts[] = {"http/request", "relays/steps",
                                    "relays/call"};

static void post(const char *tool)
{
    lone_start("tool: %s, args: {url: \"http://127.0.0.1:%d/do\", method: "
               "POST, body: hello}, on_in_doubt: ask, " RETRIES,
               tool, server.port);
}

/* How long a request is, by one that comes through. */
static size_t size_of_post(const char *tool)
{
    server_plan((struct plan){ALL, fine, ALL, false});
    post(tool);
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(whole(), 1);
    return server.size;
}

/* The request breaks behind each of its bytes, also before the first. */
START_TEST(at_each_byte_of_a_request)
{
    size_t n = size_of_post(posts[_i]);

    ck_assert_uint_gt(n, 100);
    for (size_t i = 0; i < n; i++) {
        if (!matrix_takes(i, 16) && i + 1 < n)
            continue;
        server_plan((struct plan){(int)i, fine, ALL, false});
        post(posts[_i]);
        settle(i);
    }
}
END_TEST

/* ... and the reply. */
START_TEST(at_each_byte_of_a_reply)
{
    for (size_t i = 0; i + 1 < sizeof fine; i++) {
        if (!matrix_takes(i, 8) && i + 2 < sizeof fine)
            continue;
        server_plan((struct plan){ALL, fine, (int)i, false});
        post(posts[_i]);
        settle(i);
    }
}
END_TEST

/* ---- the call's own time ------------------------------------------------- */

/* A node's timeout comes over a request that is under way: no policy repeats
 * what may have happened. */
START_TEST(a_timeout_in_the_middle)
{
    server_plan((struct plan){ALL, "", ALL, true});
    lone_start("tool: %s, args: {url: \"http://127.0.0.1:%d/do\", method: "
               "POST, body: hello}, timeout: 300ms, " RETRIES,
               posts[_i], server.port);
    settle(0);
}
END_TEST

/* Connections that nobody takes, until there is room for no more. */
static void fill_up(int *fds, size_t n)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)server.shut_port)};

    ck_assert_int_eq(listen(server.shut_fd, 0), 0);
    for (size_t i = 0; i < n; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(fds[i], (struct sockaddr *)&a, sizeof a);
    }
}

/* One that comes before anything has left is a failure like any. */
START_TEST(a_timeout_before_it_left)
{
    int fds[4];

    fill_up(fds, N(fds));
    server_plan((struct plan){ALL, fine, ALL, false});
    lone_start("tool: %s, args: {url: \"http://127.0.0.1:%d/do\", method: "
               "POST, body: hello}, timeout: 100ms",
               posts[_i], server.shut_port);
    if (strcmp(posts[_i], "relays/call") == 0) /* it only let go */
        ck_assert_int_eq(lone_finish(), MORTISE_RUN_IN_DOUBT);
    else
        lone_failed("timeout.call", "longer than 100 ms, its `timeout`");
    for (size_t i = 0; i < N(fds); i++)
        close(fds[i]);
}
END_TEST

/* ---- ends that say nothing ----------------------------------------------- */

static const char *const mutes[] = {"emits_garbage", "huge_output",
                                    "returns_nonsense",
                                    "returns_pending_inline"};

/* A call that broke its rules, or whose result could not be kept, may have had
 * its effect: it is no failure that a policy or a resume may repeat. */
START_TEST(an_end_that_says_nothing)
{
    lone_start("tool: %s/run, args: {}, effect_class: external, retry_policy: "
               "{max_attempts: 3, retry_on: [bad_output, failed, memory]}",
               mutes[_i]);
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_IN_DOUBT);
    resolve("done", "{}");
    ck_assert_int_eq(lone_status, MORTISE_RUN_COMPLETED);
}
END_TEST

static const char *const stuck[] = {
    "", ", on_in_doubt: ask",
    (", on_error: {value: \"1\"}, retry_policy: {max_attempts: 3, "
     "retry_on: [timeout, timeout.unresponsive]}")};

/* ... and so may one that never ends, and does not let go either. */
START_TEST(a_call_without_an_end)
{
    json_t *pending;

    lone_start("tool: ignores_cancel/run, args: {ms: 1500}, effect_class: "
               "external, timeout: 100ms%s",
               stuck[_i]);
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_IN_DOUBT);
    pending = lone_shown("pending");
    ck_assert_ptr_nonnull(strstr(
        json_string_value(json_object_get(json_array_get(pending, 0), "cause")),
        "did not return"));
    json_decref(pending);
}
END_TEST

/* ---- stopped by something else ------------------------------------------ */

/* Behind `a`, which is done soon, `p` posts. */
static const char *const stops[] = {
    ("next: [p, b]}\n  b: {type: tool, tool: ignores_cancel/run, args: {ms: "
     "500}, output_schema: {type: string}, next: END}\nfailure: fail_fast\n"),
    "next: p}\nlimits: {timeout: 500ms}\n",
    "next: p}\nbudget: {wall: 500ms, on_exceeded: fail}\n",
};

/* A failure, a timeout, a budget that stops a graph in the middle of a POST
 * leaves a doubt, and nothing is around it. */
START_TEST(stopped_in_the_middle)
{
    struct mortise_command jump = {
        .size = sizeof jump, .kind = MORTISE_CMD_GOTO, .node = "p"};
    const char *stop = stops[(size_t)_i / N(posts)];
    const char *rest = strchr(stop, '\n');

    server_plan((struct plan){ALL, "", ALL, true});
    lone_start("tool: ignores_cancel/run, args: {ms: 1}, %.*s\n  p: {type: "
               "tool, tool: %s, args: {url: \"http://127.0.0.1:%d/do\", "
               "method: POST, body: hello}, next: END, " RETRIES "}%sx-end: {",
               (int)(rest - stop), stop, posts[(size_t)_i % N(posts)],
               server.port, rest);
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(whole(), 1);
    ck_assert_int_eq(
        mortise_apply(lone, NULL, lone_run, &jump, 1, 0, "ann", &lone_err),
        MORTISE_EINDOUBT);
    if (_i % 2 == 0) {
        resolve("done", ANSWER);
        ck_assert_int_eq(lone_status, MORTISE_RUN_FAILED);
    } else {
        resolve("fail", NULL);
        ck_assert_int_eq(lone_status, MORTISE_RUN_FAILED);
        ck_assert_int_eq(
            mortise_apply(lone, NULL, lone_run, &jump, 1, 0, "ann", &lone_err),
            MORTISE_EINDOUBT);
        resume();
        ck_assert_int_eq(lone_status, MORTISE_RUN_IN_DOUBT);
    }
    ck_assert_int_eq(tries(), 1);
}
END_TEST

/* ---- the boundaries, for everything else -------------------------------- */

enum outcome { REFUSED, OPEN };

#define STATUS(n)                                                              \
    "HTTP/1.1 " #n " X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

#define LENGTH(text)                                                           \
    "HTTP/1.1 200 X\r\nContent-Length: " text "\r\n"                           \
    "Connection: close\r\n\r\n{\"a\":1}"

static const struct {
    const char *name;
    struct plan plan;
    enum outcome outcome;
    bool of_body;     /* a HEAD has none */
    bool shut;        /* nobody listens there */
    const char *more; /* in the request */
} breaks[] = {
    {"no process listens", {ALL, fine, ALL, false}, REFUSED, false, true, ""},
    {"accepted", {0, fine, ALL, false}, OPEN, false, false, ""},
    {"a byte", {1, fine, ALL, false}, OPEN, false, false, ""},
    {"all but a byte", {ALL_BUT_ONE, fine, 0, false}, OPEN, 0, 0, ""},
    {"no reply", {ALL, fine, 0, false}, OPEN, false, false, ""},
    {"a byte of the reply", {ALL, fine, 1, false}, OPEN, false, false, ""},
    {"a head alone", {ALL, fine, 57, false}, OPEN, true, false, ""},
    {"all but a byte of it", {ALL, fine, ALL_BUT_ONE, false}, OPEN, 1, 0, ""},
    {"silence", {ALL, "", ALL, true}, OPEN, 0, 0, ", timeout_ms: 80"},
    {"nonsense", {ALL, "SSH-2.0-x\r\n", ALL, false}, OPEN, false, false, ""},
    {"too large", {ALL, fine, ALL, false}, OPEN, true, false, ", max_body: 4"},
    {"led away",
     {ALL,
      "HTTP/1.1 303 See\r\nLocation: /gone\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n",
      ALL, false},
     OPEN,
     true,
     false,
     ""},
    {"404", {ALL, STATUS(404), ALL, false}, REFUSED, false, false, ""},
    {"408", {ALL, STATUS(408), ALL, false}, OPEN, false, false, ""},
    {"425", {ALL, STATUS(425), ALL, false}, REFUSED, false, false, ""},
    {"429", {ALL, STATUS(429), ALL, false}, REFUSED, false, false, ""},
    {"500", {ALL, STATUS(500), ALL, false}, OPEN, false, false, ""},
    {"501", {ALL, STATUS(501), ALL, false}, REFUSED, false, false, ""},
    {"502", {ALL, STATUS(502), ALL, false}, OPEN, false, false, ""},
    {"503", {ALL, STATUS(503), ALL, false}, REFUSED, false, false, ""},
    {"504", {ALL, STATUS(504), ALL, false}, OPEN, false, false, ""},
    {"a length that is none",
     {ALL, LENGTH("99999999999999999999999"), ALL, false},
     OPEN,
     0,
     0,
     ""},
    {"two lengths",
     {ALL, LENGTH("3\r\nContent-Length: 7"), ALL, false},
     OPEN,
     0,
     0,
     ""},
};

static const char *const methods[] = {"GET", "HEAD",  "OPTIONS", "POST",
                                      "PUT", "PATCH", "DELETE"};

static const char *const policies[] = {
    "", ", on_in_doubt: ask", ", on_in_doubt: retry", ", on_in_doubt: fail"};

enum class { READS, TWICE_IS_ONCE, CAN_TELL, NEITHER };

static const struct {
    const char *tool;
    enum class class;
} ways[] = {
    {"http/request", NEITHER},
    {"http/submit", TWICE_IS_ONCE},
    {"relays/read", READS},
    {"relays/call", NEITHER},
    {"relays/call_idem", TWICE_IS_ONCE},
    {"relays/call_rec", CAN_TELL},
    {"relays/steps", NEITHER},
    {"relays/steps_idem", TWICE_IS_ONCE},
    {"relays/steps_rec", CAN_TELL},
};

struct one { /* case of the matrix */
    size_t way, method, policy, brk, number;
};

static bool is_possible(const struct one *c)
{
    const char *method = methods[c->method];
    bool head = strcmp(method, "HEAD") == 0;
    bool safe =
        head || strcmp(method, "GET") == 0 || strcmp(method, "OPTIONS") == 0;

    if (safe && strcmp(ways[c->way].tool, "http/submit") == 0)
        return false; /* its schema wants a method that changes something */
    return !(head && breaks[c->brk].of_body);
}

/* May it be made again by itself? */
static bool may_be_repeated(const struct one *c)
{
    const char *method = methods[c->method];

    return ways[c->way].class == READS || ways[c->way].class == TWICE_IS_ONCE ||
           c->policy == 2 ||
           (strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0);
}

static void start(const struct one *c)
{
    const char *method = methods[c->method];
    bool bare = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

    server_plan(breaks[c->brk].plan);
    lone_start("tool: %s, args: {url: \"http://127.0.0.1:%d/do\", method: "
               "%s%s%s}, " RETRIES "%s",
               ways[c->way].tool,
               breaks[c->brk].shut ? server.shut_port : server.port, method,
               bare ? "" : ", body: hello", breaks[c->brk].more,
               policies[c->policy]);
}

/* Nothing was in doubt: it failed, after as many tries as the policy has. */
static void check_failed(void)
{
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_FAILED);
    ck_assert_int_le(tries(), 3);
}

static void check_open(const struct one *c)
{
    bool told = ways[c->way].class == CAN_TELL && c->policy == 0;

    if (told && breaks[c->brk].plan.request == ALL) { /* it happened, it says */
        ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(tries(), 1);
    } else if (told) { /* it did not: an error like any */
        check_failed();
        ck_assert_int_eq(tries(), 3);
        ck_assert_int_eq(whole(), 0);
    } else if (c->policy == 3) {
        lone_failed("in_doubt", "may have happened");
        resume();
        ck_assert_int_eq(lone_status, MORTISE_RUN_IN_DOUBT);
        ck_assert_int_eq(tries(), 1);
    } else {
        /* What the request itself asks for cannot be mended there. */
        settle(breaks[c->brk].more[0] == '\0' ? c->number : 0);
    }
}

static void check_one(const struct one *c)
{
    start(c);
    if (breaks[c->brk].outcome == REFUSED || may_be_repeated(c))
        check_failed();
    else
        check_open(c);
}

START_TEST(at_the_boundaries)
{
    struct one c = {.brk = (size_t)_i};

    for (c.way = 0; c.way < N(ways); c.way++)
        for (c.method = 0; c.method < N(methods); c.method++)
            for (c.policy = 0; c.policy < N(policies); c.policy++) {
                c.number = (c.way * N(methods) + c.method) * N(policies) +
                           c.policy + (size_t)_i * 5;
                /* What is never in doubt is worth less of our time. */
                if (is_possible(&c) &&
                    matrix_takes(c.number, may_be_repeated(&c) ? 41 : 7))
                    check_one(&c);
            }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("hostile_effects");
    TCase *tc = tcase_create("effects");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, matrix_is_whole() ? 600 : 120);
    tcase_add_loop_test(tc, at_each_byte_of_a_request, 0, N(posts));
    tcase_add_loop_test(tc, at_each_byte_of_a_reply, 0, N(posts));
    tcase_add_loop_test(tc, a_timeout_in_the_middle, 0, N(posts));
    tcase_add_loop_test(tc, a_timeout_before_it_left, 0, N(posts));
    tcase_add_loop_test(tc, an_end_that_says_nothing, 0, N(mutes));
    tcase_add_loop_test(tc, stopped_in_the_middle, 0, N(stops) * N(posts));
    tcase_add_loop_test(tc, at_the_boundaries, 0, N(breaks));
    suite_add_tcase(suite, tc);
    tc = tcase_create("stuck");
    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup_stuck, teardown_stuck);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_call_without_an_end, 0, N(stuck));
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
