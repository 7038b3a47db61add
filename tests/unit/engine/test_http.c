/* test_http.c -- HTTP requests on a loop, against a server that says exactly
 * the bytes it was told to. */
#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "services/http/curl.h"
#include "services/http/http.h"
#include "lib/httpd.h"
#include "lib/test.h"
#include "lib/turn.h"
#include "lib/warm.h"

enum { MANY = 1000 };

static struct httpd *d;
static struct mortise_http *h;
static struct mortise_err err;
static struct mortise_destination places[2];
static struct mortise_egress egress;

/* What came of the request under way. */
static struct {
    int dones, heads;
    enum mortise_http_outcome outcome;
    char words[512], url[512], headers[4096];
    int status;
    struct mortise_buf body, pieces;
    size_t n_pieces;
    bool retry_after, left, cancel_in_piece;
    uint64_t retry_after_ms;
    struct mortise_http_call *call;
} got;

/* ---- around each test --------------------------------------------------- */

static void open_all(void)
{
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(uv_timer_init(&loop, &alarm_), 0);
    memset(&timers, 0, sizeof timers);
    ck_assert_int_eq(mortise_http_open(&h, &test_mem, &loop, &timers, &err),
                     MORTISE_OK);
    memset(&got, 0, sizeof got);
    mortise_buf_init(&got.body, &test_mem);
    mortise_buf_init(&got.pieces, &test_mem);
}

static void close_all(void)
{
    mortise_http_close(h);
    uv_close((uv_handle_t *)&alarm_, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ck_assert_uint_eq(timers.n, 0);
    mortise_buf_finish(&got.body);
    mortise_buf_finish(&got.pieces);
}

static void setup(void)
{
    warm_libuv();
    test_begin();
    d = httpd_start();
    snprintf(places[0].host, sizeof places[0].host, "127.0.0.1");
    places[0].port = (uint16_t)httpd_port(d);
    places[1] = places[0];
    snprintf(places[1].host, sizeof places[1].host, "localhost");
    egress = (struct mortise_egress){places, 2};
    open_all();
}

static void teardown(void)
{
    close_all();
    httpd_stop(d);
    test_nothing_left();
}

/* ---- requests ----------------------------------------------------------- */

static void on_head(void *ud, const struct mortise_http_answer *a)
{
    (void)ud;
    got.heads++;
    ck_assert_uint_eq(got.n_pieces, 0);
    ck_assert_int_ge(a->status, 200);
}

static void on_piece(void *ud, const char *p, size_t n)
{
    (void)ud;
    ck_assert_uint_gt(n, 0);
    got.n_pieces++;
    mortise_buf_put(&got.pieces, p, n);
    if (got.cancel_in_piece) {
        mortise_http_cancel(got.call);
        got.call = NULL;
    }
}

static void on_done(void *ud, const struct mortise_http_answer *a)
{
    size_t at = 0;

    (void)ud;
    got.dones++;
    got.call = NULL;
    got.outcome = a->outcome;
    got.status = a->status;
    got.left = a->left;
    got.retry_after = a->retry_after;
    got.retry_after_ms = a->retry_after_ms;
    snprintf(got.words, sizeof got.words, "%s", a->words);
    snprintf(got.url, sizeof got.url, "%s", a->url);
    mortise_buf_clear(&got.body);
    mortise_buf_put(&got.body, a->body, a->n_body);
    got.headers[0] = '\0';
    for (size_t i = 0; i < a->n_headers && at < 2048; i++)
        at += (size_t)snprintf(got.headers + at, sizeof got.headers - at,
                               "%s=%s\n", a->headers[i].name,
                               a->headers[i].value);
}

static struct mortise_http_request request(const char *method, const char *path)
{
    return (struct mortise_http_request){
        .method = method,
        .url = path[0] == '/' ? httpd_url(d, path) : path,
        .egress = &egress,
        .safe = strcmp(method, "GET") == 0,
        .redirects = MORTISE_HTTP_REDIRECTS,
        .done = on_done};
}

static void start(const struct mortise_http_request *r)
{
    got.dones = 0;
    got.call = mortise_http_start(h, r);
    ck_assert_ptr_nonnull(got.call);
    ck_assert_int_eq(got.dones, 0);
}

static void finish(void)
{
    while (got.dones == 0)
        turn();
    ck_assert_int_eq(got.dones, 1);
}

static void perform(const struct mortise_http_request *r)
{
    start(r);
    finish();
}

static void get(const char *path)
{
    struct mortise_http_request r = request("GET", path);

    perform(&r);
}

static void assert_body(const char *want)
{
    ck_assert_msg(got.outcome == MORTISE_HTTP_ANSWERED, "%s", got.words);
    ck_assert_uint_eq(got.body.n, strlen(want));
    ck_assert(got.body.n == 0 || memcmp(got.body.p, want, got.body.n) == 0);
}

static void assert_outcome(enum mortise_http_outcome outcome, const char *words)
{
    ck_assert_msg(got.outcome == outcome, "%d: %s", (int)got.outcome,
                  got.words);
    ck_assert_msg(strstr(got.words, words) != NULL, "%s", got.words);
}

static bool has_line(size_t i, const char *line)
{
    return strstr(httpd_request(d, i), line) != NULL;
}

/* ---- plain answers ------------------------------------------------------ */

/* Status, headers and body, as they were said; whatever the status. */
START_TEST(an_answer_is_what_was_said)
{
    httpd_answer(d, "/a", "200 Fine",
                 "Content-Type: text/plain\r\nX-One:   1  \r\nX-one: 2\r\n",
                 "hello");
    httpd_answer(d, "/b", "418 Teapot", "", "short and stout");
    get("/a");
    assert_body("hello");
    ck_assert_int_eq(got.status, 200);
    ck_assert_str_eq(got.headers, "content-length=5\ncontent-type=text/plain\n"
                                  "x-one=1\nx-one=2\n");
    ck_assert_str_eq(got.url, httpd_url(d, "/a"));
    get("/b");
    assert_body("short and stout");
    ck_assert_int_eq(got.status, 418);
}
END_TEST

/* Bytes that come one by one, chunks with trailers, an interim answer, a body
 * that ends with the connection: all the same. */
START_TEST(however_it_is_cut)
{
    httpd_on(d, "/split");
    httpd_split(d, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\nabc");
    httpd_on(d, "/chunks");
    httpd_say(d, "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n"
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "2\r\nab\r\n");
    httpd_wait(d, 20);
    httpd_split(d, "1;ext=1\r\nc\r\n0\r\nX-Trailer: t\r\n\r\n");
    httpd_on(d, "/close");
    httpd_say(d, "HTTP/1.1 200 OK\r\n\r\nabc");
    httpd_close(d);
    get("/split");
    assert_body("abc");
    ck_assert_str_eq(got.headers, "content-length=3\nx=y\n");
    get("/chunks");
    assert_body("abc");
    ck_assert_str_eq(got.headers, "transfer-encoding=chunked\n");
    get("/close");
    assert_body("abc");
}
END_TEST

/* What is sent is what was asked to be sent, and no more of its own than it
 * must. */
START_TEST(a_request_is_what_was_asked)
{
    const struct mortise_http_header headers[] = {
        {"Authorization", "Bearer x"}, {"X-Empty", ""}, {"X-Blank", " \t"}};
    struct mortise_http_request r = request("PATCH", "/r");

    httpd_answer(d, "/r", "200 OK", "", "");
    r.headers = headers;
    r.n_headers = 3;
    r.body = "a\0b";
    r.n_body = 3;
    perform(&r);
    assert_body("");
    ck_assert_int_eq(strncmp(httpd_request(d, 0), "PATCH /r HTTP/1.1\r\n", 19),
                     0);
    ck_assert(has_line(0, "\r\nAuthorization: Bearer x\r\n"));
    ck_assert(has_line(0, "\r\nX-Empty:\r\n"));
    ck_assert(has_line(0, "\r\nX-Blank:\r\n"));
    ck_assert(has_line(0, "\r\nContent-Length: 3\r\n"));
    ck_assert(!has_line(0, "Expect:"));
    ck_assert(!has_line(0, "Content-Type:"));
    ck_assert_int_eq(
        memcmp(strstr(httpd_request(d, 0), "\r\n\r\n") + 4, "a", 2), 0);
}
END_TEST

/* Methods with and without a body; HEAD waits for none. */
START_TEST(methods)
{
    static const char *const list[] = {"GET",    "HEAD",    "POST", "PUT",
                                       "DELETE", "OPTIONS", "PATCH"};
    char line[64];

    httpd_on(d, "/m");
    httpd_say(d, "HTTP/1.1 204 No\r\n\r\n");
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct mortise_http_request r = request(list[i], "/m");

        perform(&r);
        assert_body("");
        snprintf(line, sizeof line, "%s /m HTTP/1.1\r\n", list[i]);
        ck_assert_int_eq(strncmp(httpd_request(d, i), line, strlen(line)), 0);
    }
    httpd_on(d, "/head");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    struct mortise_http_request head = request("HEAD", "/head");

    perform(&head);
    assert_body("");
}
END_TEST

/* A connection is used again; a hundred requests at once are no matter. */
START_TEST(connections_are_kept)
{
    static struct mortise_http_call *calls[100];

    httpd_answer(d, "/k", "200 OK", "", "k");
    for (int i = 0; i < 10; i++)
        get("/k");
    ck_assert_uint_eq(httpd_connections(d), 1);
    got.dones = 0;
    for (size_t i = 0; i < 100; i++) {
        struct mortise_http_request r = request("GET", "/k");

        calls[i] = mortise_http_start(h, &r);
        ck_assert_ptr_nonnull(calls[i]);
    }
    while (got.dones < 100)
        turn();
    assert_body("k");
    ck_assert_uint_eq(httpd_requests(d), 110);
}
END_TEST

/* ---- no requests -------------------------------------------------------- */

static const struct {
    const char *method, *url, *name, *value;
} wrong[] = {
    {"GET", "", NULL, NULL},
    {"GET", "nothing", NULL, NULL},
    {"GET", "ftp://127.0.0.1/", NULL, NULL},
    {"GET", "file:///etc/passwd", NULL, NULL},
    {"GET", "http://u:p@127.0.0.1/", NULL, NULL},
    {"GET", "http://127.0.0.1:0/", NULL, NULL},
    {"GET", "http://127.0.0.1:99999/", NULL, NULL},
    {"GET", "http://h\xc3\xb6st/", NULL, NULL},
    {"G T", "/x", NULL, NULL},
    {"", "/x", NULL, NULL},
    {"CONNECT", "/x", NULL, NULL},
    {"TRACE", "/x", NULL, NULL},
    {"GET\r\nX: y", "/x", NULL, NULL},
    {"GET", "/x", "Bad Name", "v"},
    {"GET", "/x", "", "v"},
    {"GET", "/x", "X", "a\r\nY: b"},
    {"GET", "/x", "X", "a\nb"},
    {"GET", "/x", "Host", "other"},
    {"GET", "/x", "content-length", "9"},
    {"GET", "/x", "Transfer-Encoding", "chunked"},
    {"GET", "/x", "Connection", "close"},
    {"GET", "/x", "Proxy-Authorization", "x"},
};

/* What is no request is not sent, and nobody is asked for it. */
START_TEST(nonsense_is_not_sent)
{
    const struct mortise_http_header header = {wrong[_i].name, wrong[_i].value};
    struct mortise_http_request r = request(wrong[_i].method, wrong[_i].url);

    r.headers = &header;
    r.n_headers = wrong[_i].name != NULL;
    perform(&r);
    assert_outcome(MORTISE_HTTP_INVALID, "");
    ck_assert_uint_eq(httpd_connections(d), 0);
}
END_TEST

/* A host or port that is not granted gets no connection. */
START_TEST(what_is_not_granted_is_not_asked)
{
    char url[64];

    get("http://example.com/");
    assert_outcome(MORTISE_HTTP_DENIED, "example.com:80");
    snprintf(url, sizeof url, "http://127.0.0.2:%d/", httpd_port(d));
    get(url);
    assert_outcome(MORTISE_HTTP_DENIED, "127.0.0.2");
    egress.n = 0;
    get("/a");
    assert_outcome(MORTISE_HTTP_DENIED, "permissions.net");
    ck_assert_uint_eq(httpd_connections(d), 0);
}
END_TEST

/* Other spellings of an address are that address. */
START_TEST(spellings_are_no_way_around)
{
    static const char *const same[] = {"127.1", "0x7f.1", "2130706433",
                                       "LOCALHOST"};
    char url[64];

    httpd_answer(d, "/", "200 OK", "", "x");
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        snprintf(url, sizeof url, "http://%s:%d/", same[i], httpd_port(d));
        get(url);
        assert_body("x");
    }
    egress.list = places + 1; /* localhost alone */
    egress.n = 1;
    for (size_t i = 0; i < 3; i++) {
        snprintf(url, sizeof url, "http://%s:%d/", same[i], httpd_port(d));
        get(url);
        assert_outcome(MORTISE_HTTP_DENIED, "127.0.0.1");
    }
}
END_TEST

/* A granted name that resolves to this machine gets no connection: this
 * machine's own name is such a one where /etc/hosts says so. */
START_TEST(a_name_that_leads_home_is_refused)
{
    char host[256], url[512];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM},
                    *found = NULL;
    bool home;

    ck_assert_int_eq(gethostname(host, sizeof host), 0);
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        snprintf(host, sizeof host, "127.0.0.1.nip.invalid");
    strcpy(places[0].host, "x.y");
    home = found != NULL &&
           !mortise_egress_covers_address(&places[0], found->ai_addr);
    if (found != NULL)
        freeaddrinfo(found);
    ck_assert_int_eq(mortise_destination_make(&places[0], host,
                                              (uint16_t)httpd_port(d), &err),
                     MORTISE_OK);
    snprintf(url, sizeof url, "http://%s:%d/", host, httpd_port(d));
    get(url);
    assert_outcome(home ? MORTISE_HTTP_DENIED : MORTISE_HTTP_UNREACHABLE, "");
    ck_assert_uint_eq(httpd_requests(d), 0);
}
END_TEST

/* One whose grant says that it is private is connected to; one that leads to a
 * private network without that is not. */
START_TEST(a_private_name_says_so)
{
    char url[128];

    snprintf(url, sizeof url, "http://home.invalid:%d/", httpd_port(d));
    httpd_answer(d, "/", "200 OK", "", "fine");
    ck_assert_int_eq(mortise_destination_make(&places[0], "home.invalid",
                                              (uint16_t)httpd_port(d), &err),
                     MORTISE_OK);
    get(url);
    assert_outcome(MORTISE_HTTP_DENIED, "private\", or localhost");
    ck_assert_uint_eq(httpd_requests(d), 0);
    places[0].is_private = true;
    get(url);
    assert_outcome(MORTISE_HTTP_ANSWERED, "");
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* libcurl's, whichever library it is in: tells what thread asked. */
static struct {
    atomic_int others, taking_signals;
    /* Those whose name server is silent, until the test has seen enough. */
    atomic_int asleep, answered;
    atomic_bool over;
} resolvers;

__attribute__((visibility("default"))) int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
            struct addrinfo **found)
{
    typedef int resolve_fn(const char *, const char *, const struct addrinfo *,
                           struct addrinfo **);
    void *p = dlsym(RTLD_NEXT, "getaddrinfo");
    resolve_fn *real;
    sigset_t mask;

    memcpy(&real, &p, sizeof real);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (gettid() != getpid()) {
        atomic_fetch_add(&resolvers.others, 1);
        atomic_fetch_add(&resolvers.taking_signals,
                         sigismember(&mask, SIGTERM) == 0);
    }
    if (name != NULL && strcmp(name, "silent.invalid") == 0) {
        const struct timespec a_moment = {.tv_nsec = 10000000};

        atomic_fetch_add(&resolvers.asleep, 1);
        while (!atomic_load(&resolvers.over))
            nanosleep(&a_moment, NULL);
        atomic_fetch_add(&resolvers.answered, 1);
        atomic_fetch_sub(&resolvers.asleep, 1);
        return EAI_AGAIN;
    }
    if (name != NULL && strcmp(name, "nobody.invalid") == 0)
        return EAI_NONAME; /* no name server of this machine is waited for */
    return real(name != NULL && strcmp(name, "home.invalid") == 0 ? "127.0.0.1"
                                                                  : name,
                service, hints, found);
}

/* A thread that curl resolves names on takes no signal of the program's. */
START_TEST(resolvers_take_no_signals)
{
    ck_assert_int_eq(
        mortise_destination_make(&places[0], "nobody.invalid", 80, &err),
        MORTISE_OK);
    get("http://nobody.invalid/");
    assert_outcome(MORTISE_HTTP_UNREACHABLE, "");
    ck_assert_int_gt(resolvers.others, 0);
    ck_assert_int_eq(resolvers.taking_signals, 0);
}
END_TEST

/* A name server that is silent holds nobody up: neither who is cancelled, nor
 * who is out of time, nor who else is on the loop. */
START_TEST(nobody_waits_for_a_name)
{
    struct mortise_http_request r = request("GET", "http://silent.invalid/");

    ck_assert_int_eq(
        mortise_destination_make(&places[0], "silent.invalid", 80, &err),
        MORTISE_OK);
    r.connect_ms = 600000; /* a busy machine may take long to start a thread */
    start(&r);
    while (resolvers.asleep == 0)
        turn();
    mortise_http_cancel(got.call);
    r.connect_ms = 50;
    perform(&r);
    assert_outcome(MORTISE_HTTP_TIMEOUT, "");
    r.connect_ms = 0;
    r.timeout_ms = 50;
    perform(&r);
    assert_outcome(MORTISE_HTTP_TIMEOUT, "50 ms");
    ck_assert_int_gt(resolvers.asleep, 0);
    ck_assert_int_eq(resolvers.answered, 0); /* none was waited for */
    atomic_store(&resolvers.over, true); /* teardown waits for their threads */
}
END_TEST

/* ---- redirects ---------------------------------------------------------- */

static void redirect(const char *path, const char *status, const char *to)
{
    char headers[600];

    snprintf(headers, sizeof headers, "Location: %s\r\n", to);
    httpd_answer(d, path, status, headers, "moved");
}

/* Redirects are followed, absolute and relative, and the answer says where it
 * came from; with none allowed the redirect is the answer. */
START_TEST(redirects_are_followed)
{
    struct mortise_http_request r = request("GET", "/1");

    redirect("/1", "301 x", "/2?a=b");
    redirect("/2?a=b", "302 x", "sub/3");
    redirect("/sub/3", "307 x", httpd_url(d, "/4"));
    httpd_answer(d, "/4", "200 OK", "", "there");
    get("/1");
    assert_body("there");
    ck_assert_str_eq(got.url, httpd_url(d, "/4"));
    ck_assert_uint_eq(httpd_requests(d), 4);
    r.redirects = 0;
    perform(&r);
    assert_body("moved");
    ck_assert_int_eq(got.status, 301);
}
END_TEST

/* The page of a redirect is nobody's, and no way to keep us busy for ever. */
START_TEST(pages_of_redirects_are_bounded)
{
    char *page = calloc(1, (1 << 20) + 2);

    ck_assert_ptr_nonnull(page);
    memset(page, 'x', 1 << 20);
    httpd_answer(d, "/there", "200 OK", "", "there");
    httpd_answer(d, "/large", "302 x", "Location: /there\r\n", page);
    get("/large");
    assert_body("there");
    page[1 << 20] = 'x';
    httpd_answer(d, "/larger", "302 x", "Location: /there\r\n", page);
    get("/larger");
    assert_outcome(MORTISE_HTTP_TOO_LARGE, "body of a redirect");
    free(page);
}
END_TEST

/* The method and the body go along where the status says so. */
START_TEST(methods_change_by_the_book)
{
    static const struct {
        const char *status, *method, *then;
    } book[] = {
        {"301 x", "POST", "GET"},  {"302 x", "POST", "GET"},
        {"303 x", "POST", "GET"},  {"307 x", "POST", "POST"},
        {"308 x", "POST", "POST"}, {"301 x", "PUT", "PUT"},
        {"303 x", "PUT", "GET"},   {"303 x", "HEAD", "HEAD"},
    };
    const struct mortise_http_header type = {"Content-Type", "text/x"};
    char line[64];

    httpd_on(d, "/to");
    httpd_say(d, "HTTP/1.1 204 OK\r\n\r\n");
    for (size_t i = 0; i < sizeof book / sizeof book[0]; i++) {
        struct mortise_http_request r = request(book[i].method, "/from");
        bool body = strcmp(book[i].method, "HEAD") != 0;
        bool keeps = strcmp(book[i].method, book[i].then) == 0;

        httpd_on(d, "/from");
        snprintf(line, sizeof line, "HTTP/1.1 %s\r\n", book[i].status);
        httpd_say(d, line);
        httpd_say(d, "Location: /to\r\nContent-Length: 0\r\n\r\n");
        httpd_times(d, 1);
        r.headers = &type;
        r.n_headers = body;
        r.body = body ? "body" : NULL;
        r.n_body = body ? 4 : 0;
        perform(&r);
        assert_body("");
        snprintf(line, sizeof line, "%s /to ", book[i].then);
        ck_assert_int_eq(
            strncmp(httpd_request(d, 2 * i + 1), line, strlen(line)), 0);
        ck_assert_int_eq(has_line(2 * i + 1, "\r\n\r\nbody"), keeps && body);
        ck_assert_int_eq(has_line(2 * i + 1, "text/x"), keeps && body);
    }
}
END_TEST

/* Where a redirect leads must be granted like any other place. */
START_TEST(redirects_are_judged)
{
    redirect("/out", "302 x", "http://169.254.169.254/latest/meta-data");
    redirect("/ftp", "302 x", "ftp://127.0.0.1/");
    redirect("/file", "302 x", "file:///etc/passwd");
    redirect("/user", "302 x", "http://u:p@127.0.0.1/");
    redirect("/bad", "302 x", "http://[::bad");
    get("/out");
    assert_outcome(MORTISE_HTTP_DENIED, "redirect");
    get("/ftp");
    ck_assert_int_ne(got.outcome, MORTISE_HTTP_ANSWERED);
    get("/file");
    ck_assert_int_ne(got.outcome, MORTISE_HTTP_ANSWERED);
    get("/user");
    assert_outcome(MORTISE_HTTP_INVALID, "password");
    get("/bad");
    assert_outcome(MORTISE_HTTP_BROKEN, "invalid URL");
}
END_TEST

/* A circle is left after as many redirects as are allowed. */
START_TEST(circles_end)
{
    struct mortise_http_request r = request("GET", "/o");

    redirect("/o", "302 x", "/o");
    r.redirects = 3;
    perform(&r);
    assert_outcome(MORTISE_HTTP_BROKEN, "more than 3");
    ck_assert_uint_eq(httpd_requests(d), 4);
}
END_TEST

/* Credentials stay with the origin that they were for, for good. */
START_TEST(credentials_stay)
{
    const struct mortise_http_header headers[] = {
        {"Authorization", "Bearer s3cret"},
        {"X-Api-Key", "s3cret"},
        {"Cookie", "s3cret"},
        {"Accept", "text/plain"}};
    struct mortise_http_request r = request("GET", "/same");
    char there[128];

    snprintf(there, sizeof there, "http://localhost:%d/there", httpd_port(d));
    redirect("/same", "302 x", "/away");
    redirect("/away", "302 x", there);
    redirect("/there", "302 x", httpd_url(d, "/back"));
    httpd_answer(d, "/back", "200 OK", "", "ok");
    r.headers = headers;
    r.n_headers = 4;
    perform(&r);
    assert_body("ok");
    ck_assert(has_line(0, "s3cret"));
    ck_assert(has_line(1, "s3cret"));
    ck_assert(!has_line(2, "s3cret"));
    ck_assert(has_line(2, "Accept: text/plain"));
    ck_assert(!has_line(3, "s3cret"));
}
END_TEST

/* ---- bounds ------------------------------------------------------------- */

/* A body that is too large ends the request, whether it said so or not. */
START_TEST(bodies_are_bounded)
{
    struct mortise_http_request r = request("GET", "/big");

    httpd_on(d, "/big");
    httpd_say(d, "HTTP/1.1 200 OK\r\n\r\n");
    httpd_repeat(d, 'x', 20 << 20);
    httpd_close(d);
    perform(&r);
    assert_outcome(MORTISE_HTTP_TOO_LARGE, "16777216");
    r.body_max = 1000;
    perform(&r);
    assert_outcome(MORTISE_HTTP_TOO_LARGE, "1000");
    httpd_answer(d, "/fits", "200 OK", "", "1234567890");
    r.url = httpd_url(d, "/fits");
    r.body_max = 10;
    perform(&r);
    assert_body("1234567890");
}
END_TEST

/* 20 MiB of zeroes, gzipped twice over: 20 KB that would be more than the
 * limit. */
START_TEST(bombs_do_not_go_off)
{
    size_t n;
    char *bomb, head[128], dir[PATH_MAX], path[PATH_MAX + 8],
        line[PATH_MAX + 64];

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(path, sizeof path, "%s/gz", dir);
    snprintf(line, sizeof line, "head -c 20971520 /dev/zero | gzip -9 >\"%s\"",
             path);
    ck_assert_int_eq(system(line), 0);
    bomb = test_read(path, &n);
    test_rmdir(dir);
    httpd_on(d, "/bomb");
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
             "%zu\r\n\r\n",
             n);
    httpd_say(d, head);
    httpd_send(d, bomb, n);
    free(bomb);
    ck_assert_uint_lt(n, 100000);
    get("/bomb");
    assert_outcome(MORTISE_HTTP_TOO_LARGE, "decompressed");
}
END_TEST

/* An answer with n headers, Content-Length among them. */
static void answer_with_headers(const char *path, int n)
{
    char lines[8192];
    size_t at = 0;

    for (int i = 1; i < n; i++)
        at += (size_t)snprintf(lines + at, sizeof lines - at, "a:b\r\n");
    httpd_answer(d, path, "200 OK", lines, "");
}

/* Headers without end, and headers with a NUL. */
START_TEST(headers_are_bounded)
{
    httpd_on(d, "/long");
    httpd_say(d, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 6; i++) {
        httpd_say(d, "X: ");
        httpd_repeat(d, 'x', 60000);
        httpd_say(d, "\r\n");
    }
    httpd_say(d, "\r\n");
    httpd_close(d);
    httpd_on(d, "/nul");
    httpd_send(d, "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", 27);
    httpd_close(d);
    answer_with_headers("/many", 512);
    answer_with_headers("/more", 513);
    get("/long");
    assert_outcome(MORTISE_HTTP_TOO_LARGE, "headers");
    get("/many");
    assert_body("");
    get("/more");
    assert_outcome(MORTISE_HTTP_TOO_LARGE, "512 headers");
    get("/nul");
    assert_outcome(MORTISE_HTTP_BROKEN, "");
}
END_TEST

/* Silence has an end, a trickle is none, and the whole has one, too. */
START_TEST(time_is_bounded)
{
    struct mortise_http_request r = request("GET", "/mute");
    uint64_t before = mortise_mono_ns();

    httpd_on(d, "/mute");
    httpd_hold(d);
    httpd_on(d, "/stalls");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    httpd_hold(d);
    httpd_on(d, "/trickles");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n");
    for (int i = 0; i < 14; i++) {
        httpd_wait(d, 250);
        httpd_say(d, "x");
    }
    r.idle_ms = 150;
    perform(&r);
    assert_outcome(MORTISE_HTTP_TIMEOUT, "150 ms");
    r.url = httpd_url(d, "/stalls");
    perform(&r);
    assert_outcome(MORTISE_HTTP_TIMEOUT, "150 ms");
    r.url = httpd_url(d, "/trickles");
    r.idle_ms =
        3000; /* ten times as long as it is silent, and less than it takes */
    perform(&r);
    assert_body("xxxxxxxxxxxxxx");
    r.timeout_ms = 200;
    perform(&r);
    assert_outcome(MORTISE_HTTP_TIMEOUT, "200 ms");
    ck_assert_uint_lt(mortise_mono_ns() - before, 50000000000u);
}
END_TEST

/* ---- what goes wrong ---------------------------------------------------- */

/* Nobody listens; the connection breaks early, in the middle, hard; what
 * answers speaks something else; TLS was expected. */
START_TEST(failures_have_their_kind)
{
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%d/", 1);
    places[1] = (struct mortise_destination){.host = "127.0.0.1", .port = 1};
    get(url);
    assert_outcome(MORTISE_HTTP_UNREACHABLE, "127.0.0.1:1");
    httpd_on(d, "/nothing");
    httpd_close(d);
    get("/nothing");
    assert_outcome(MORTISE_HTTP_LOST, "");
    httpd_on(d, "/half");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    httpd_close(d);
    get("/half");
    assert_outcome(MORTISE_HTTP_LOST, "");
    httpd_on(d, "/rst");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    httpd_wait(d, 20);
    httpd_reset(d);
    get("/rst");
    assert_outcome(MORTISE_HTTP_LOST, "");
    httpd_on(d, "/ssh");
    httpd_say(d, "SSH-2.0-OpenSSH\r\n");
    httpd_close(d);
    get("/ssh");
    assert_outcome(MORTISE_HTTP_BROKEN, "");
    httpd_on(d, "/cut");
    httpd_say(d, "HTTP/1.1 200 OK\r\nX: 1\r\n");
    httpd_close(d);
    get("/cut");
    assert_outcome(MORTISE_HTTP_LOST, "");
    httpd_on(d, "/odd");
    httpd_say(d, "HTTP/OK\r\nX: 0\r\n\r\nhalf");
    httpd_close(d);
    get("/odd");
    assert_outcome(MORTISE_HTTP_BROKEN, "");
    ck_assert_uint_eq(got.n_pieces, 0);
    snprintf(url, sizeof url, "https://127.0.0.1:%d/", httpd_port(d));
    get(url);
    ck_assert_int_ne(got.outcome, MORTISE_HTTP_ANSWERED);
}
END_TEST

/* Where an answer ends must be said in one way: else nobody knows whether it is
 * whole, and it is no answer. */
static const struct {
    const char *head, *body;
    const char *wrong; /* NULL: it is fine */
} ends[] = {
    {"1.1 200\r\nContent-Length: 3\r\n", "abc", NULL},
    {"1.1 200\r\ncontent-LENGTH:\t0003 \r\n", "abc", NULL},
    {"1.1 200\r\nContent-Length: 3\r\nContent-Length: 3\r\n", "abc", NULL},
    {"1.1 200\r\nContent-Length: 3, 3\r\n", "abc", NULL},
    {"1.1 200\r\nTransfer-Encoding: Chunked\r\n", "3\r\nabc\r\n0\r\n\r\n",
     NULL},
    {"1.0 200\r\n", "abc", NULL}, /* it ends with the connection */
    {"1.1 100\r\nContent-Length: x\r\n\r\nHTTP/1.1 200\r\n", "abc", NULL},
    {"1.1 200\r\nContent-Length: 99999999999999999999999\r\n", "abc", "Length"},
    {"1.1 200\r\nContent-Length: 9223372036854775808\r\n", "abc", "Length"},
    {"1.1 200\r\nContent-Length: 18446744073709551619\r\n", "abc", "Length"},
    {"1.1 200\r\nContent-Length: -3\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: +3\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: \r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 0x3\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 3.0\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 3 bytes\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: three\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 3,\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 3, 9\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 3\r\n 9\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length: 9\r\nContent-Length: 3\r\n", "abc", "Length"},
    {"1.1 200\r\nContent-Length: 3\r\nContent-Length: 9\r\n", "abc", ""},
    {"1.1 200\r\nContent-Length : 9\r\n", "abc", "a space after"},
    {"1.1 200\r\nTransfer-Encoding\t: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n",
     "a space after"},
    {"1.1 200\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
     "3\r\nabc\r\n0\r\n\r\n", "and a Transfer-Encoding"},
    {"1.1 200\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n",
     "3\r\nabc\r\n0\r\n\r\n", "and a Transfer-Encoding"},
    {"1.1 200\r\nTransfer-Encoding: chunked, chunked\r\n", "abc", ""},
    {"1.1 200\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
     "3\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding"},
    {"1.1 200\r\nTransfer-Encoding: gzip, chunked\r\n", "3\r\nabc\r\n0\r\n\r\n",
     ""},
    {"1.1 200\r\nTransfer-Encoding: identity\r\n", "abc", "Transfer-Encoding"},
    {"1.1 200\r\nTransfer-Encoding: morse\r\n", "abc", ""},
    {"1.0 200\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n",
     "Transfer-Encoding"},
    {"1.1 307\r\nLocation: /nowhere\r\nContent-Length: 0\r\n"
     "Content-Length: 1\r\n",
     "", ""},
};

START_TEST(an_answer_ends_in_one_way)
{
    struct mortise_http_request r = request("POST", "/end");
    char text[512];

    snprintf(text, sizeof text, "HTTP/%s\r\n%s", ends[_i].head, ends[_i].body);
    httpd_on(d, "/end");
    httpd_say(d, text);
    httpd_close(d);
    perform(&r);
    if (ends[_i].wrong == NULL) {
        assert_body("abc");
    } else {
        assert_outcome(MORTISE_HTTP_BROKEN, ends[_i].wrong);
        ck_assert(got.left);
    }
}
END_TEST

/* A kept connection that died is no matter to a request that changes nothing;
 * one that may have changed something is not sent twice. */
START_TEST(effects_are_sent_once)
{
    struct mortise_http_request r = request("POST", "/post");

    httpd_answer(d, "/keep", "200 OK", "", "kept");
    httpd_on(d, "/get"); /* read, and hung up on, once */
    httpd_close(d);
    httpd_times(d, 1);
    httpd_answer(d, "/get", "200 OK", "", "again");
    httpd_on(d, "/post");
    httpd_close(d);
    httpd_times(d, 1);
    httpd_answer(d, "/post", "200 OK", "", "twice!");
    get("/keep");
    get("/get");
    assert_body("again");
    ck_assert_uint_eq(httpd_requests(d), 3);
    get("/keep");
    r.body = "x";
    r.n_body = 1;
    perform(&r);
    assert_outcome(MORTISE_HTTP_LOST, "");
    ck_assert_uint_eq(httpd_requests(d), 5);
}
END_TEST

/* ---- Retry-After -------------------------------------------------------- */

/* Seconds and dates; nonsense is no wait; a day is enough. */
START_TEST(retry_after)
{
    char header[128];
    time_t at = time(NULL) + 1000;
    struct tm tm;
    size_t n;

    httpd_answer(d, "/s", "429 Slow", "Retry-After: 7\r\n", "");
    httpd_answer(d, "/no", "503 No", "Retry-After: soon\r\n", "");
    httpd_answer(d, "/max", "503 No", "Retry-After: 99999999999999999999\r\n",
                 "");
    httpd_answer(d, "/past", "503 No",
                 "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "");
    gmtime_r(&at, &tm);
    n = strftime(header, sizeof header,
                 "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    ck_assert_uint_gt(n, 0);
    httpd_answer(d, "/d", "503 No", header, "");
    get("/s");
    ck_assert(got.retry_after);
    ck_assert_uint_eq(got.retry_after_ms, 7000);
    get("/no");
    ck_assert(!got.retry_after);
    get("/max");
    ck_assert_uint_eq(got.retry_after_ms, 86400000);
    get("/past");
    ck_assert(got.retry_after);
    ck_assert_uint_eq(got.retry_after_ms, 0);
    get("/d");
    ck_assert_uint_gt(got.retry_after_ms, 900000);
    ck_assert_uint_le(got.retry_after_ms, 1000000);
}
END_TEST

/* ---- being made again --------------------------------------------------- */

static const struct {
    const char *status;
    bool again;
} failures[] = {{"408 T", true},  {"425 E", true},  {"429 M", true},
                {"500 E", true},  {"502 B", true},  {"503 U", true},
                {"504 G", true},  {"404 N", false}, {"501 N", false},
                {"505 V", false}, {"200 OK", false}};

/* As often as it is worth it, and no more often than was said; the last answer
 * counts. */
START_TEST(what_may_pass_is_tried_again)
{
    struct mortise_http_request r = request("PUT", "/x");
    uint64_t before = mortise_mono_ns();

    r.body = "b";
    r.n_body = 1;
    r.retries = 1;
    httpd_answer(d, "/x", failures[_i].status, "A: 1\r\n", "first");
    httpd_times(d, 1);
    httpd_answer(d, "/x", "201 OK", "A: 2\r\n", "second");
    perform(&r);
    assert_body(failures[_i].again ? "second" : "first");
    ck_assert_ptr_nonnull(
        strstr(got.headers, failures[_i].again ? "a=2\n" : "a=1\n"));
    ck_assert_uint_eq(httpd_requests(d), failures[_i].again ? 2 : 1);
    ck_assert(has_line(failures[_i].again ? 1 : 0, "\r\n\r\nb"));
    ck_assert_uint_lt(mortise_mono_ns() - before, 20000000000u);
}
END_TEST

/* It begins anew at its own URL, with all its headers and its body, however far
 * the last try came. */
START_TEST(a_try_begins_from_the_beginning)
{
    struct mortise_http_header secret = {"X-Key", "k"};
    struct mortise_http_request r = request("POST", "/a");
    char there[256];

    snprintf(there, sizeof there, "Location: http://localhost:%d/b\r\n",
             httpd_port(d));
    httpd_answer(d, "/a", "303 There", there, "");
    httpd_on(d, "/b");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    httpd_close(d);
    httpd_times(d, 1);
    httpd_answer(d, "/b", "200 OK", "", "whole");
    r.headers = &secret;
    r.n_headers = 1;
    r.body = "x";
    r.n_body = 1;
    r.retries = 2;
    perform(&r);
    assert_body("whole");
    ck_assert_uint_eq(httpd_requests(d), 4);
    ck_assert(has_line(2, "POST /a"));
    ck_assert(has_line(2, "X-Key: k\r\n"));
    ck_assert(has_line(2, "\r\n\r\nx"));
    ck_assert(!has_line(3, "X-Key"));
    ck_assert(got.left);
}
END_TEST

/* Its tries end: the last failure is told, and how often it was made is what was
 * said. */
START_TEST(tries_come_to_an_end)
{
    struct mortise_http_request r = request("GET", "/x");

    httpd_on(d, "/x");
    httpd_reset(d);
    r.retries = 2;
    r.safe = false; /* curl sends a safe one again by itself */
    perform(&r);
    assert_outcome(MORTISE_HTTP_LOST, "");
    ck_assert_uint_eq(httpd_requests(d), 3);
}
END_TEST

/* Retry-After is the least that is waited; what takes longer than a minute, or
 * than the request may, is not waited for. */
START_TEST(tries_wait_as_they_are_told)
{
    struct mortise_http_request r = request("GET", "/soon");
    uint64_t before = mortise_mono_ns();

    httpd_answer(d, "/soon", "429 Slow", "Retry-After: 1\r\n", "");
    httpd_times(d, 1);
    httpd_answer(d, "/soon", "200 OK", "", "now");
    httpd_answer(d, "/late", "429 Slow", "Retry-After: 61\r\n", "");
    r.retries = 3;
    perform(&r);
    assert_body("now");
    ck_assert_uint_ge(mortise_mono_ns() - before, 1000000000u);
    r = request("GET", "/late");
    r.retries = 3;
    perform(&r);
    ck_assert_int_eq(got.status, 429);
    httpd_answer(d, "/never", "429 Slow", "Retry-After: 50\r\n", "");
    r = request("GET", "/never");
    r.retries = 3;
    r.timeout_ms = 40000;
    before = mortise_mono_ns();
    perform(&r);
    ck_assert_int_eq(got.status, 429);
    ck_assert_uint_lt(mortise_mono_ns() - before, 30000000000u);
    ck_assert_uint_eq(httpd_requests(d), 4);
}
END_TEST

/* Time that is over, and what will not get better, is not tried again. */
START_TEST(what_will_not_pass_is_not)
{
    struct mortise_http_request r = request("GET", "/mute");

    httpd_on(d, "/mute");
    httpd_hold(d);
    httpd_on(d, "/odd");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
    httpd_close(d);
    r.retries = 5;
    r.timeout_ms = 1000; /* it has been sent by then */
    perform(&r);
    assert_outcome(MORTISE_HTTP_TIMEOUT, "1000 ms");
    httpd_await(d, 1);
    r = request("GET", "/odd");
    r.retries = 5;
    perform(&r);
    assert_outcome(MORTISE_HTTP_BROKEN, "Content-Length");
    ck_assert_uint_eq(httpd_requests(d), 2);
}
END_TEST

/* One that waits for its next try is let go of like any other, and has left. */
START_TEST(waiting_tries_are_let_go)
{
    struct mortise_http_request r = request("PUT", "/x");
    uint64_t until;

    httpd_answer(d, "/x", "503 No", "Retry-After: 30\r\n", "");
    r.retries = 1;
    start(&r);
    while (httpd_requests(d) == 0)
        turn();
    until = mortise_mono_ns() + 100000000u;
    while (mortise_mono_ns() < until) {
        uv_run(&loop, UV_RUN_NOWAIT);
        mortise_timers_fire(&timers, mortise_mono_ns());
        usleep(1000);
    }
    ck_assert_int_eq(got.dones, 0);
    ck_assert(mortise_http_has_left(got.call));
    mortise_http_cancel(got.call);
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* ---- streaming ---------------------------------------------------------- */

/* The head and then the body in pieces as they come, and the whole at the end;
 * of a redirect's page nothing. */
START_TEST(pieces_come_as_they_are_said)
{
    struct mortise_http_request r = request("GET", "/r");

    redirect("/r", "302 x", "/stream");
    httpd_on(d, "/stream");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        httpd_hold(d);
        httpd_say(d, "ab");
    }
    r.head = on_head;
    r.piece = on_piece;
    start(&r);
    while (got.heads == 0)
        turn();
    for (size_t i = 1; i <= 3; i++) {
        ck_assert_uint_eq(got.n_pieces, i - 1);
        httpd_release(d);
        while (got.n_pieces < i)
            turn();
    }
    finish();
    assert_body("ababab");
    ck_assert_int_eq(got.heads, 1);
    ck_assert_uint_eq(got.n_pieces, 3);
    ck_assert_uint_eq(got.pieces.n, 6);
    ck_assert_int_eq(memcmp(got.pieces.p, "ababab", 6), 0);
}
END_TEST

static int many_left;

static void one_of_many(void *ud, const struct mortise_http_answer *a)
{
    (void)ud;
    ck_assert_msg(a->outcome == MORTISE_HTTP_ANSWERED, "%s", a->words);
    many_left--;
}

/* That libcurl could not be opened for want of descriptors is not remembered. */
START_TEST(libcurl_is_looked_for_again)
{
    const struct mortise_curl *curl;
    struct rlimit was, none;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){0, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(mortise_curl_get(&curl, &err), MORTISE_ELIMIT);
    ck_assert_ptr_null(curl);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_int_eq(mortise_curl_get(&curl, &err), MORTISE_OK);
    ck_assert_ptr_nonnull(curl);
}
END_TEST

/* With few descriptors many requests at once wait for each other's connections;
 * none fails. */
START_TEST(descriptors_are_waited_for)
{
    struct mortise_http_request r = request("GET", "/a");
    struct rlimit was, now;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    now = (struct rlimit){96, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
    httpd_on(d, "/a");
    httpd_wait(d, 5);
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    r.done = one_of_many;
    for (many_left = 0; many_left < MANY; many_left++)
        ck_assert_ptr_nonnull(mortise_http_start(h, &r));
    while (many_left > 0)
        turn();
    ck_assert_uint_lt(httpd_connections(d), 96 / 2);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
}
END_TEST

/* Cancelled from a piece, in the middle, before anything: it is over, and never
 * heard of again. */
START_TEST(cancelled_is_cancelled)
{
    struct mortise_http_request r = request("GET", "/slow");
    uint64_t until;

    httpd_on(d, "/slow");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
    httpd_hold(d);
    httpd_say(d, "def");
    start(&r);
    mortise_http_cancel(got.call);
    r.piece = on_piece;
    got.cancel_in_piece = true;
    start(&r);
    while (got.n_pieces == 0)
        turn();
    r.piece = NULL;
    start(&r);
    while (httpd_requests(d) < 2)
        turn();
    mortise_http_cancel(got.call);
    for (int i = 0; i < 2; i++)
        httpd_release(d);
    until = mortise_mono_ns() + 100000000;
    while (mortise_mono_ns() < until)
        turn();
    ck_assert_int_eq(got.dones, 0);
    ck_assert_uint_eq(got.n_pieces, 1);
}
END_TEST

/* ---- memory ------------------------------------------------------------- */

/* Memory runs out anywhere: the request says so, or was never begun. */
START_TEST(memory_runs_out)
{
    const struct mortise_http_header header = {"X", "y"};
    struct mortise_http_request r = request("GET", "/1");
    int n = 0;
    bool failed;

    redirect("/1", "302 x", "/2");
    httpd_answer(d, "/2", "200 OK", "X: y\r\n", "hello");
    r.headers = &header;
    r.n_headers = 1;
    get("/1"); /* libcurl is there */
    do {
        test_mem_fail_at(n++);
        got.dones = 0;
        got.call = mortise_http_start(h, &r);
        while (got.call != NULL)
            turn();
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        if (got.dones == 0)
            ck_assert(failed);
        else if (!failed)
            assert_body("hello");
    } while (failed);
    ck_assert_int_gt(n, 8);
}
END_TEST

/* The same of a second try, which is made of what the first left. */
START_TEST(memory_runs_out_again)
{
    struct mortise_http_request r = request("GET", "/no");
    int n = 0;
    bool failed;

    httpd_answer(d, "/no", "503 No", "X: y\r\n", "busy");
    get("/no");
    r.retries = 1;
    do {
        test_mem_fail_at(n++);
        got.dones = 0;
        got.call = mortise_http_start(h, &r);
        while (got.call != NULL)
            turn();
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        if (!failed)
            ck_assert_int_eq(got.status, 503);
    } while (failed);
    ck_assert_int_gt(n, 12);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("http");
    TCase *tc = tcase_create("http"), *first = tcase_create("libcurl");

    /* First, where tests share a process; and beside no server, whose poll() fails
     * without descriptors. */
    tcase_add_test(first, libcurl_is_looked_for_again);
    suite_add_tcase(suite, first);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, an_answer_is_what_was_said);
    tcase_add_test(tc, however_it_is_cut);
    tcase_add_test(tc, a_request_is_what_was_asked);
    tcase_add_test(tc, methods);
    tcase_add_test(tc, connections_are_kept);
    tcase_add_loop_test(tc, nonsense_is_not_sent, 0,
                        sizeof wrong / sizeof wrong[0]);
    tcase_add_test(tc, what_is_not_granted_is_not_asked);
    tcase_add_test(tc, spellings_are_no_way_around);
    tcase_add_test(tc, a_name_that_leads_home_is_refused);
    tcase_add_test(tc, a_private_name_says_so);
    tcase_add_test(tc, resolvers_take_no_signals);
    tcase_add_test(tc, nobody_waits_for_a_name);
    tcase_add_test(tc, redirects_are_followed);
    tcase_add_test(tc, pages_of_redirects_are_bounded);
    tcase_add_test(tc, methods_change_by_the_book);
    tcase_add_test(tc, redirects_are_judged);
    tcase_add_test(tc, circles_end);
    tcase_add_test(tc, credentials_stay);
    tcase_add_test(tc, bodies_are_bounded);
    tcase_add_test(tc, bombs_do_not_go_off);
    tcase_add_test(tc, headers_are_bounded);
    tcase_add_test(tc, time_is_bounded);
    tcase_add_test(tc, failures_have_their_kind);
    tcase_add_loop_test(tc, an_answer_ends_in_one_way, 0,
                        sizeof ends / sizeof ends[0]);
    tcase_add_test(tc, effects_are_sent_once);
    tcase_add_test(tc, retry_after);
    tcase_add_loop_test(tc, what_may_pass_is_tried_again, 0,
                        sizeof failures / sizeof failures[0]);
    tcase_add_test(tc, a_try_begins_from_the_beginning);
    tcase_add_test(tc, tries_come_to_an_end);
    tcase_add_test(tc, tries_wait_as_they_are_told);
    tcase_add_test(tc, what_will_not_pass_is_not);
    tcase_add_test(tc, waiting_tries_are_let_go);
    tcase_add_test(tc, pieces_come_as_they_are_said);
    tcase_add_test(tc, descriptors_are_waited_for);
    tcase_add_test(tc, cancelled_is_cancelled);
    tcase_add_test(tc, memory_runs_out);
    tcase_add_test(tc, memory_runs_out_again);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
