/* test_hostile_socket.c -- clients that do not behave, and sockets that are not
 * what they seem.
 *
 * The engine is `mortise engine` in a process of its own, so that what it costs
 * can be seen from outside. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "server/peer.h"
#include "lib/child.h"
#include "lib/matrix.h"
#include "lib/knock.h"
#include "lib/test.h"

static char dir[PATH_MAX - 64], store[PATH_MAX];
static pid_t engine;

/* ---- around each test --------------------------------------------------- */

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(store, sizeof store, "%s/store", dir);
    child_dir(dir);
    put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                        "metadata: {name: t}\nstore: {path: ./store}\n");
    put("g.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                  "metadata: {name: g, version: 1.0.0}\n"
                  "start: a\nnodes:\n"
                  "  a: {type: human, prompt: Well?, next: END}\n");
    engine = 0;
}

/* An AddressSanitizer's engine keeps nothing of what it freed: its size is
 * measured. */
static void start_engine(const char *limits)
{
    engine = child_start("one",
                         "sh -c '%s ASAN_OPTIONS=$ASAN_OPTIONS:"
                         "quarantine_size_mb=0 exec %s engine'",
                         limits, child_build("mortise"));
    child_await("one.err", "holding the store");
}

static void stop_engine(void)
{
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
    engine = 0;
}

static void teardown(void)
{
    if (engine != 0)
        child_kill(engine);
    test_rmdir(dir);
}

static int mortise(const char *what)
{
    return child_run("%s %s", child_build("mortise"), what);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- what the engine costs ------------------------------------------------ */

/* ThreadSanitizer keeps a shadow of what is touched, of up to four times its
 * size. */
#ifdef __SANITIZE_THREAD__
enum { SHADOWS = 1 + 4 };
#else
enum { SHADOWS = 1 };
#endif

/* Its resident memory, in MiB. */
static long mib(void)
{
    char path[64], *text;
    long pages = 0;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)engine);
    text = test_read(path, &n);
    sscanf(text, "%*d %ld", &pages);
    free(text);
    return pages * sysconf(_SC_PAGESIZE) >> 20;
}

/* Processor time that it used so far, in clock ticks. */
static long ticks(void)
{
    char path[64], *text, *at;
    long user = 0, sys = 0;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)engine);
    text = test_read(path, &n);
    at = strrchr(text, ')');
    sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
           &user, &sys);
    free(text);
    return user + sys;
}

/* ---- clients that do not read ---------------------------------------------- */

/* A run whose `show` has 600 KB. */
static void start_large_run(int fd)
{
    static char input[600001];

    memset(input, 'x', sizeof input - 1);
    knock_say(
        fd,
        "{\"do\":\"start\",\"run\":\"r\",\"graph\":{\"path\":\"g\","
        "\"source\":\"apiVersion: mortise/v1\\nkind: Graph\\n"
        "metadata: {name: g, version: 1.0.0}\\nstart: a\\nnodes:\\n"
        "  a: {type: human, prompt: Well?, next: END}\\n\"},"
        "\"input\":{\"x\":\"",
        strlen("{\"do\":\"start\",\"run\":\"r\",\"graph\":{\"path\":\"g\","
               "\"source\":\"apiVersion: mortise/v1\\nkind: Graph\\n"
               "metadata: {name: g, version: 1.0.0}\\nstart: "
               "a\\nnodes:\\n"
               "  a: {type: human, prompt: Well?, next: END}\\n\"},"
               "\"input\":{\"x\":\""));
    knock_say(fd, input, sizeof input - 1);
    ck_assert_msg(has(knock_ask(fd, "\"}}"), "\"reply\""), "not started");
}

/* 1,500 questions of which no answer is read: the engine keeps a bounded part
 * of the answers, and others are served meanwhile. */
START_TEST(nothing_is_read)
{
    static const char ask[] = "{\"do\":\"show\",\"run\":\"r\"}\n";
    int fd, slow[4];
    long before;

    start_engine("");
    fd = knock(store);
    start_large_run(fd);
    before = mib();
    for (int i = 0; i < 4; i++) {
        slow[i] = knock(store);
        for (int n = 0; n < 1500; n++)
            knock_say(slow[i], ask, sizeof ask - 1);
    }
    for (int i = 0; i < 20; i++)
        ck_assert(has(knock_ask(fd, "{\"do\":\"engine\"}"), "\"pid\""));
    ck_assert_int_lt(mib() - before, SHADOWS * 64);
    for (int i = 0; i < 4; i++) { /* and who reads at last is answered */
        ck_assert(has(knock_line(slow[i]), "{\"reply\":{\"run\":\"r\""));
        close(slow[i]);
    }
    close(fd);
    stop_engine();
}
END_TEST

/* Halves of large requests from many clients: what is kept of them is bounded,
 * and whoever has a whole one is served. */
START_TEST(halves_of_requests)
{
    enum { CLIENTS = 24, LARGE = 15 << 20 };
    static char junk[64 << 10];
    int fds[CLIENTS], fd;
    size_t sent[CLIENTS] = {0};
    long before;

    memset(junk, ' ', sizeof junk);
    start_engine("");
    before = mib();
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = knock(store);
        for (;;) {
            ssize_t n =
                send(fds[i], junk, sizeof junk, MSG_NOSIGNAL | MSG_DONTWAIT);

            if (n <= 0 && sent[i] < LARGE / 2 && i < 4)
                usleep(1000); /* the first ones are read for sure */
            else if (n <= 0 || (sent[i] += (size_t)n) >= LARGE)
                break;
        }
    }
    fd = knock(store);
    ck_assert(has(knock_ask(fd, "{\"do\":\"engine\"}"), "\"pid\""));
    ck_assert_int_lt(mib() - before, SHADOWS * (64 + 16 + 64));
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    ck_assert(has(knock_ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    close(fd);
    stop_engine();
}
END_TEST

/* ---- requests that are cut ------------------------------------------------- */

/* What the engine said besides what runs did: nothing is wrong. */
static void assert_calm(void)
{
    char path[PATH_MAX], *said;
    size_t n;

    snprintf(path, sizeof path, "%s/one.err", dir);
    said = test_read(path, &n);
    ck_assert_msg(!has(said, "error") && !has(said, "warning"), "%s", said);
    free(said);
}

/* So much of a request that never ends, until nobody has taken any of it for so
 * long; how much that was. */
static size_t say_a_part(int fd, size_t most, int patience_ms)
{
    static char junk[64 << 10];
    size_t sent = 0;
    int pauses = 0;

    memset(junk, 'x', sizeof junk);
    knock_say(fd, "{\"do\":\"start\",\"run\":\"", 21);
    while (sent < most && pauses < patience_ms) {
        ssize_t n = send(fd, junk, sizeof junk, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            sent += (size_t)n, pauses = 0;
        else
            pauses++, usleep(1000);
    }
    return sent;
}

/* Clients that die in the middle of a request larger than any buffer: nothing
 * is kept of it, nothing comes of it, nobody else is kept waiting. */
START_TEST(senders_that_die)
{
    int fd;
    long before;

    start_engine("");
    fd = knock(store);
    ck_assert(has(knock_ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    before = mib();
    for (int i = 0; i < 12; i++) {
        int cut = knock(store);

        ck_assert_uint_ge(say_a_part(cut, 12 << 20, 60000), 12 << 20);
        ck_assert(has(knock_ask(fd, "{\"do\":\"engine\"}"), "\"pid\""));
        close(cut);
    }
    ck_assert(has(knock_ask(fd, "{\"do\":\"runs\"}"), "\"runs\":[]"));
    ck_assert_int_lt(mib() - before, SHADOWS * 48);
    close(fd);
    assert_calm();
    stop_engine();
}
END_TEST

/* Clients that stop in the middle, and may owe reading besides, have all the
 * room there is for large requests: small ones are answered, and a large one
 * gets the place of one of them, which is told so. */
START_TEST(senders_that_stop)
{
    enum { STOPPED = 6 };
    static const char ask[] = "{\"do\":\"show\",\"run\":\"r\"}\n";
    int fds[STOPPED], fd, told = 0;
    long before;

    put("tell.sh", "printf '{\"x\": \"%1000000s\"}' y >large.json\n");
    ck_assert_int_eq(child_run("sh tell.sh"), 0);
    start_engine("");
    fd = knock(store);
    start_large_run(fd);
    before = mib();
    for (int i = 0; i < STOPPED; i++) {
        fds[i] = knock(store);
        if (_i == 1)
            knock_say(fds[i], ask, sizeof ask - 1);
        say_a_part(fds[i], 15 << 20, 1000);
    }
    ck_assert(has(knock_ask(fd, "{\"do\":\"engine\"}"), "\"pid\""));
    ck_assert_int_eq(mortise("run g.yaml --id large --input @large.json"), 4);
    ck_assert_int_lt(mib() - before, SHADOWS * (64 + 16 + 64));
    ck_assert_int_eq(mortise("show large"), 0);
    for (int i = 0; i < STOPPED; i++) {
        const char *said = "{\"reply\"";
        struct pollfd p = {.fd = fds[i], .events = POLLIN};

        while (has(said, "{\"reply\"") && poll(&p, 1, 200) > 0)
            said = knock_line(fds[i]);
        told += has(said, "\"E_LIMIT\"") && has(said, "for its slot");
        close(fds[i]);
    }
    ck_assert_int_ge(told, 1);
    ck_assert(has(knock_ask(fd, "{\"do\":\"runs\"}"), "\"large\""));
    close(fd);
    assert_calm();
    stop_engine();
}
END_TEST

/* A request that is longer than any may be is refused in words, while it is
 * still being sent, and not sent again. */
START_TEST(longer_than_any)
{
    put("tell.sh", "printf '{\"x\": \"%20000000s\"}' y >large.json\n");
    ck_assert_int_eq(child_run("sh tell.sh"), 0);
    start_engine("");
    ck_assert_int_eq(mortise("run g.yaml --id large --input @large.json"), 1);
    ck_assert_msg(has(child.err, "exceeds the limit of 16 MiB") &&
                      has(child.err, "a request of 20000") &&
                      has(child.err, "(E_LIMIT)"),
                  "%s", child.err);
    ck_assert_int_eq(mortise("show large"), 3);
    assert_calm();
    stop_engine();
}
END_TEST

/* The same of a client that does not look at how long its request is. */
START_TEST(longer_than_any_on_the_socket)
{
    static char request[(16 << 20) + 1];
    const char *said;
    int fd;

    memset(request, ' ', sizeof request);
    start_engine("");
    fd = knock(store);
    knock_say(fd, request, sizeof request);
    said = knock_line(fd);
    ck_assert_msg(
        has(said, "\"E_LIMIT\"") &&
            has(said, "exceeds the limit of 16 MiB: 16777217 bytes were read"),
        "%s", said);
    ck_assert_str_eq(knock_line(fd), "");
    close(fd);
    assert_calm();
    stop_engine();
}
END_TEST

/* ---- places and descriptors ------------------------------------------------ */

/* Connections that say nothing keep nobody out. */
START_TEST(idle_connections)
{
    enum { IDLE = 400 };
    static int fds[IDLE];
    int fd;

    start_engine("");
    for (int i = 0; i < IDLE; i++)
        fds[i] = knock(store);
    fd = knock(store);
    ck_assert(has(knock_ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    ck_assert_int_eq(mortise("runs"), 0);
    for (int i = 0; i < IDLE; i++)
        close(fds[i]);
    close(fd);
    stop_engine();
}
END_TEST

/* All descriptors are taken by followers: who comes is told so, the engine does
 * not spin, and says it once. */
START_TEST(no_descriptors)
{
    enum { FOLLOWERS = 80 };
    static const char follow[] =
        "{\"do\":\"follow\",\"run\":\"r\",\"until\":\"end\"}\n";
    static int fds[FOLLOWERS];
    int refused = 0, fd;
    long used;
    size_t n;
    char *said, *first, path[PATH_MAX];

    start_engine("ulimit -n 64;");
    ck_assert_int_eq(mortise("run g.yaml --id r"), 4);
    for (int i = 0; i < FOLLOWERS; i++) {
        const char *line;

        fds[i] = knock(store);
        send(fds[i], follow, sizeof follow - 1, MSG_NOSIGNAL); /* or not */
        line = knock_line(fds[i]);
        refused += has(line, "no file descriptors left");
        ck_assert_msg(has(line, "run_start") || has(line, "E_LIMIT"), "%s",
                      line);
    }
    ck_assert_int_gt(refused, 0);
    used = ticks();
    sleep(1);
    ck_assert_int_lt(ticks() - used, sysconf(_SC_CLK_TCK) / 2);
    for (int i = 0; i < FOLLOWERS; i++)
        close(fds[i]);
    fd = knock(store);
    ck_assert(has(knock_ask(fd, "{\"do\":\"runs\"}"), "\"reply\""));
    close(fd);
    stop_engine();
    snprintf(path, sizeof path, "%s/one.err", dir);
    said = test_read(path, &n);
    first = strstr(said, "no file descriptors are left");
    ck_assert_msg(first != NULL &&
                      strstr(first + 1, "no file descriptors") == NULL,
                  "%s", said);
    free(said);
}
END_TEST

/* Too few to begin with: in words, whatever the number, and no abort. */
START_TEST(few_descriptors)
{
    start_engine(""); /* makes the store that is looked at */
    stop_engine();
    for (int n = 6; n < 64; n += matrix_is_whole() ? 1 : 6) {
        int code =
            child_run("ulimit -n %d; %s runs", n, child_build("mortise"));

        ck_assert_msg(code == 0 || code == 1, "%d of %d: %s", code, n,
                      child.err);
        ck_assert_msg(code == 0 || has(child.err, "descriptors") ||
                          has(child.err, " open files is reached"),
                      "%d: %s", n, child.err);
    }
    child_run("ulimit -n 12; %s runs", child_build("mortise"));
    ck_assert_msg(has(child.err, "ulimit -n"), "%s", child.err);
}
END_TEST

/* ---- other versions ---------------------------------------------------------- */

/* A client of another version is told both, and how to go on; whatever else it
 * says that we do not know. */
START_TEST(a_client_of_another_version)
{
    static const char *const said[][2] = {
        {"{\"do\":\"hello\",\"protocol\":2,\"version\":\"9.9.9\",\"news\":1}",
         "but this program uses 2, Mortise 9.9.9; "},
        {"{\"do\":\"hello\",\"protocol\":7}", "but this program uses 7; "},
        {"{\"do\":\"hello\"}", "but this program uses 0; "},
    };
    char ours[128];
    int fd;

    start_engine("");
    fd = knock(store);
    snprintf(ours, sizeof ours,
             "process %d uses the store with protocol 1 of the control socket "
             "(Mortise " MORTISE_VERSION ")",
             (int)engine);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        const char *line = knock_ask(fd, said[i][0]);

        ck_assert_msg(has(line, "\"E_NOT_AVAILABLE\"") && has(line, ours) &&
                          has(line, said[i][1]) && has(line, "(kill "),
                      "%s", line);
    }
    ck_assert(has(knock_ask(fd, "{\"do\":\"hello\",\"protocol\":1}"),
                  "\"version\":\"" MORTISE_VERSION "\""));
    close(fd);
    stop_engine();
}
END_TEST

/* One who listens at our store and gives these answers, a line for a line, to
 * each who comes. */
_Noreturn static void answer_with(const char *const answers[2], int ready)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "control.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;
    char byte;

    if (mkdir(store, 0700) != 0 || chdir(store) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 8) != 0 ||
        write(ready, "!", 1) != 1)
        _exit(1);
    for (;;) {
        size_t n = 0;

        peer = accept(fd, NULL, NULL);
        while (n < 2 && read(peer, &byte, 1) == 1)
            if (byte == '\n') {
                knock_say(peer, answers[n], strlen(answers[n]));
                n++;
            }
        close(peer);
    }
}

/* An engine of another version: its own words, before anything else is said to
 * it. */
START_TEST(an_engine_of_another_version)
{
    static const char *const answers[2] = {
        "{\"error\":{\"code\":\"E_NOT_AVAILABLE\",\"message\":\"I speak "
        "protocol 2 (Mortise 9.9.9)\"}}\n",
        "{}\n"};
    static const char *const commands[] = {"run g.yaml --id r", "runs",
                                           "cancel r", "engine"};
    char byte;
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    engine = fork();
    if (engine == 0)
        answer_with(answers, ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        ck_assert_int_eq(mortise(commands[i]), 78);
        ck_assert_msg(
            has(child.err,
                "I speak protocol 2 (Mortise 9.9.9) (E_NOT_AVAILABLE)"),
            "%s", child.err);
    }
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* ---- whose it is ----------------------------------------------------------- */

/* A store of others is one to speak with where the group that our deployment says
 * has it, and nowhere else; its owner answers there. */
START_TEST(whom_a_member_trusts)
{
    static const gid_t group = 100;
    static const struct {
        uid_t we, owner;
        gid_t of;
        mode_t mode;
        uid_t peer;
        bool store, answers;
    } cases[] = {
        {1000, 1001, 100, 0710, 1001, true, true},
        {1000, 1001, 100, 0710, 1002, true, false},
        {1000, 1001, 100, 0710, 0, true, false},
        {1000, 1001, 101, 0710, 1001, false, true},
        {1000, 1001, 100, 0730, 1001, false, true},
        {1000, 1001, 100, 0711 | S_IWOTH, 1001, false, true},
        {0, 1001, 100, 0710, 1001, true, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stat st = {.st_uid = cases[i].owner,
                          .st_gid = cases[i].of,
                          .st_mode = S_IFDIR | cases[i].mode};
        struct mortise_err err;
        int rv = mortise_peer_check_owner(cases[i].we, &group, &st, "the/store",
                                          &err);

        ck_assert_msg((rv == MORTISE_OK) == cases[i].store, "case %zu", i);
        if (!cases[i].store)
            continue;
        rv = mortise_peer_check_process(cases[i].we, &st, "the/store",
                                        cases[i].peer, 4711, &err);
        ck_assert_msg((rv == MORTISE_OK) == cases[i].answers, "case %zu", i);
    }
}
END_TEST

/* Root, and whoever else finds a store of another user, gets the command to paste:
 * also where that user has no name. */
START_TEST(advice_to_root)
{
    struct stat st = {.st_uid = 54321, .st_mode = S_IFDIR | 0700};
    struct mortise_err err;

    ck_assert_int_eq(mortise_peer_check_owner(0, NULL, &st, "the/store", &err),
                     MORTISE_EDENIED);
    ck_assert_msg(has(err.msg, "sudo -u '#54321' mortise"), "%s", err.msg);
    st.st_uid = 1;
    mortise_peer_check_owner(0, NULL, &st, "the/store", &err);
    ck_assert_msg(has(err.msg, "sudo -u daemon mortise"), "%s", err.msg);
}
END_TEST

/* Who may be told anything, for each of us, owner, mode and peer. */
START_TEST(whom_to_trust)
{
    static const struct {
        uid_t we, owner;
        mode_t mode;
        uid_t peer;
        bool store, answers;
    } cases[] = {
        {1000, 1000, 0700, 1000, true, true},
        {1000, 1000, 0755, 1000, true, true},
        {1000, 1000, 0700, 0, true, false},
        {1000, 1000, 0700, 1001, true, false},
        {1000, 0, 0755, 0, true, true},
        {1000, 0, 0755, 1001, true, false},
        {1000, 1001, 0755, 1001, false, false},
        {1000, 1000, 0770, 1000, false, true},
        {1000, 1000, 0702, 1000, false, true},
        {1000, 0, 01777, 1000, false, true},
        {0, 0, 0700, 0, true, true},
        {0, 1000, 0700, 1000, false, true},
        {0, 0, 0720, 0, false, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stat st = {.st_uid = cases[i].owner,
                          .st_mode = S_IFDIR | cases[i].mode};
        struct mortise_err err;
        int rv =
            mortise_peer_check_owner(cases[i].we, NULL, &st, "the/store", &err);

        ck_assert_msg((rv == MORTISE_OK) == cases[i].store, "case %zu", i);
        ck_assert_msg(rv == MORTISE_OK || has(err.msg, "the/store"), "%s",
                      err.msg);
        if (!cases[i].store)
            continue;
        rv = mortise_peer_check_process(cases[i].we, &st, "the/store",
                                        cases[i].peer, 4711, &err);
        ck_assert_msg((rv == MORTISE_OK) == cases[i].answers, "case %zu", i);
        ck_assert_msg(rv == MORTISE_OK || has(err.msg, "4711"), "%s", err.msg);
    }
}
END_TEST

enum { NOBODY = 65534 };

/* Somebody else's store, who listens there: what it hears goes to `heard`. */
_Noreturn static void be_a_trap(const char *path, int heard)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;
    char byte;

    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0 || mkdir(path, 0755) != 0 ||
        chdir(path) != 0)
        _exit(1);
    strcpy(a.sun_path, "control.sock");
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        chmod(a.sun_path, 0777) != 0 || listen(fd, 8) != 0 ||
        write(heard, "!", 1) != 1)
        _exit(2);
    for (;;) {
        peer = accept(fd, NULL, NULL);
        while (peer >= 0 && read(peer, &byte, 1) == 1)
            if (write(heard, &byte, 1) != 1)
                _exit(3);
        close(peer);
    }
}

/* In truth, which takes root: nothing is said to another user's store, in its
 * own place or in ours. */
START_TEST(a_trap)
{
    char path[PATH_MAX], byte;
    int ends[2];
    pid_t trap;

    ck_assert_int_eq(chmod(dir, 0755), 0);
    ck_assert_int_eq(child_run("mkdir -m 1777 open && chmod 1777 open"), 0);
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    snprintf(path, sizeof path, "%s/open/trap", dir);
    trap = fork();
    if (trap == 0)
        be_a_trap(path, ends[1]);
    for (int i = 0; i < 2000 && read(ends[0], &byte, 1) != 1; i++)
        usleep(10000);
    ck_assert_int_eq(byte, '!');
    ck_assert_int_eq(mortise("run g.yaml --id r --store open/trap"), 77);
    ck_assert_msg(has(child.err, "65534"), "%s", child.err);
    ck_assert_int_eq(mortise("runs --store open/trap"), 77);
    ck_assert_int_eq(mortise("approve r --store open/trap"), 77);
    /* A directory of ours that a stranger's socket was put into. */
    ck_assert_int_eq(chown(path, geteuid(), getegid()), 0);
    ck_assert_int_eq(mortise("run g.yaml --id r --store open/trap"), 77);
    ck_assert_msg(has(child.err, "no request was sent"), "%s", child.err);
    ck_assert_int_eq(read(ends[0], &byte, 1), -1);
    child_kill(trap);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* A directory that others may write is not used, and the command that mends it
 * does. */
START_TEST(writable_by_others)
{
    start_engine("");
    ck_assert_int_eq(chmod(store, 0770), 0);
    ck_assert_int_eq(mortise("runs"), 77);
    ck_assert_msg(has(child.err, "chmod go-w"), "%s", child.err);
    ck_assert_int_eq(child_run("chmod go-w ./store"), 0);
    ck_assert_int_eq(mortise("runs"), 0);
    stop_engine();
}
END_TEST

/* A directory that somebody else made leads to the store of an engine of ours, by
 * a link in place of the store or of its socket.  That engine would run the
 * graph with its own programs and secrets: it gets nothing. */
START_TEST(a_link_to_another_store)
{
    static const char there[] = "cd other && env -u MORTISE_DEPLOYMENT %s %s";
    const char *program = child_build("mortise");

    start_engine("");
    ck_assert_int_eq(child_run("mkdir other && cp g.yaml other && "
                               "ln -s ../store other/.mortise"),
                     0);
    ck_assert_int_eq(child_run(there, program, "run g.yaml --id r"), 77);
    ck_assert_msg(has(child.err, "is a symbolic link") &&
                      has(child.err, "--store"),
                  "%s", child.err);
    ck_assert_int_eq(child_run(there, program, "runs"), 77);
    ck_assert_int_eq(child_run(there, program, "runs --store .mortise"), 0);
    ck_assert_int_eq(
        child_run("cd other && rm .mortise && mkdir -m 700 .mortise && "
                  "ln -s ../../store/control.sock .mortise"),
        0);
    ck_assert_int_eq(child_run(there, program, "runs"), 0);
    ck_assert_int_eq(child_run(there, program, "run g.yaml --id r"), 4);
    ck_assert_int_eq(child_run(there, program, "show r"), 0);
    ck_assert_int_eq(mortise("show r"), 3);
    stop_engine();
}
END_TEST

/* A store that was renamed under its engine stays that engine's; the one that
 * took its place keeps its socket when the first one ends. */
START_TEST(a_renamed_store)
{
    pid_t first;
    char path[PATH_MAX + 32];

    start_engine("");
    first = engine;
    ck_assert_int_eq(mortise("run g.yaml --id old"), 4);
    ck_assert_int_eq(child_run("mv store moved"), 0);
    engine = child_start("two", "%s engine", child_build("mortise"));
    child_await("two.err", "holding the store");
    ck_assert_int_eq(mortise("show old --store moved"), 0);
    ck_assert_int_eq(mortise("show old"), 3);
    kill(first, SIGTERM);
    ck_assert_int_eq(child_wait(first), 0);
    snprintf(path, sizeof path, "%s/moved/control.sock", dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(mortise("run g.yaml --id new"), 4);
    ck_assert_int_eq(mortise("show new"), 0);
    stop_engine();
}
END_TEST

/* The socket is removed, or something else put in its place, while the engine
 * lives: who was connected goes on, who comes is refused with the engine's pid
 * (the lock is the directory's), and whoever has the store next finds all that
 * was acknowledged. */
START_TEST(a_socket_that_is_gone) /* loop: how; odd: the engine is killed */
{
    static const char *const ways[] = {
        "rm store/control.sock",
        "rm store/control.sock; echo hello >store/control.sock",
        "mv store/control.sock store/aside; mkdir store/control.sock"};
    char pid[32];
    int fd;

    start_engine("");
    snprintf(pid, sizeof pid, "process %d", (int)engine);
    ck_assert_int_eq(mortise("run g.yaml --id before"), 4);
    fd = knock(store);
    ck_assert_int_eq(child_run("%s", ways[_i]), 0);
    start_large_run(fd); /* `r` */
    ck_assert_int_ne(mortise(_i == 0 ? "engine" : "run g.yaml --id no"), 0);
    ck_assert_msg(has(child.err, pid), "%s", child.err);
    ck_assert_msg(
        has(knock_ask(fd, "{\"do\":\"show\",\"run\":\"r\"}"), "\"reply\""),
        "it serves no more");
    close(fd);
    if (_i % 2 == 0)
        stop_engine();
    else
        child_kill(engine);
    engine = 0;
    if (_i == 2)
        ck_assert_int_eq(child_run("rmdir store/control.sock"), 0);
    ck_assert_int_eq(mortise("show before"), 0);
    ck_assert_int_eq(mortise("show r"), 0);
    ck_assert_int_eq(mortise("show no"), 3);
    start_engine("");
    ck_assert_int_eq(mortise("run g.yaml --id after"), 4);
    ck_assert_int_eq(mortise("show r"), 0);
    stop_engine();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("hostile_socket");
    TCase *tc = tcase_create("socket");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, nothing_is_read);
    tcase_add_test(tc, halves_of_requests);
    tcase_add_test(tc, senders_that_die);
    tcase_add_loop_test(tc, senders_that_stop, 0, 2);
    tcase_add_test(tc, longer_than_any);
    tcase_add_test(tc, longer_than_any_on_the_socket);
    tcase_add_test(tc, idle_connections);
    tcase_add_test(tc, no_descriptors);
    tcase_add_test(tc, few_descriptors);
    tcase_add_test(tc, a_client_of_another_version);
    tcase_add_test(tc, an_engine_of_another_version);
    tcase_add_test(tc, whom_to_trust);
    tcase_add_test(tc, advice_to_root);
    tcase_add_test(tc, whom_a_member_trusts);
    if (geteuid() == 0) /* else whom_to_trust alone says it */
        tcase_add_test(tc, a_trap);
    tcase_add_test(tc, writable_by_others);
    tcase_add_test(tc, a_link_to_another_store);
    tcase_add_test(tc, a_renamed_store);
    tcase_add_loop_test(tc, a_socket_that_is_gone, 0, 3);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
