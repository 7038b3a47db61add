/* test_cli_approvals.c -- ten approvals at three depths, decided in any order by
 * processes of their own, while others are killed: each tool runs at most once, and
 * with the bytes that somebody approved.
 *
 * The run is told from outside alone: what is asked by `mortise inbox`, what was done by
 * a server of the test's own, which keeps each request as it came.  A call of the
 * operation used can neither be made again nor be looked up, so a death in the middle of
 * one leaves it in doubt.
 *
 *   depth 1  the calls of two tool nodes, one behind the other
 *   depth 2  two calls of one reply of a leaf's, one that is rejected, and a question
 *            that expires, which no tool behind it survives
 *   depth 3  a leaf whose role wants an approval, its two calls, the first of which is
 *            approved with other arguments, and a question that a judge decides
 *
 * Order and deaths are those of a seed, which is printed where it fails; to make one
 * again:
 *
 *     MORTISE_APPROVALS=SEED make unit ONLY=cli_approvals */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/errand.h"

/* How a decision is given. */
enum how {
    GOES_ON,       /* by a process that goes on with the run */
    RECORDS,       /* by one that runs nothing; another one goes on */
    DIES_DECIDING, /* like that, and killed at any moment; then like the first */
    DIES_IN_EFFECT /* like the first, killed when the server has the request */
};

/* A call: `approved` is what the server is to get, NULL if it is rejected. */
struct call {
    const char *path, *asked, *approved;
    enum how how;
    bool is_decided;
};

static struct call calls[] = {
    {.path = "/top", .asked = "top: 1\n", .approved = "top: 1\n"},
    {.path = "/next", .asked = "next: {}", .approved = "next: {}"},
    {.path = "/mid/1", .asked = "gr\xc3\xbcn", .approved = "gr\xc3\xbcn"},
    {.path = "/mid/2", .asked = " \"2\" ", .approved = " \"2\" "},
    {.path = "/low/1", .asked = "all of it", .approved = "h\xc3\xa4lf, \"no\""},
    {.path = "/low/2", .asked = "low: 2", .approved = "low: 2"},
    {.path = "/bad", .asked = "rejected", .approved = NULL},
};

enum {
    CALLS = sizeof calls / sizeof *calls,
    NODES = 7 /* the teams with their results, and the leaves; once each */
};

/* Of the calls that are approved, all but the last one above. */
static const enum how hows[CALLS - 1] = {
    GOES_ON, GOES_ON, RECORDS, DIES_DECIDING, DIES_IN_EFFECT, DIES_IN_EFFECT};

static uint64_t seed;

static unsigned any(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

/* ---- the world --------------------------------------------------------------- */

#define ASKS(user, turn, calls)                                                \
    "      - {when: {user: " user ", turn: " turn "}, tool_calls: [" calls     \
    "]}\n"
#define POST(path, body)                                                       \
    "{name: http__request, arguments: {url: \"URL" path "\", body: \"" body    \
    "\"}}"

/* URL: that of the server. */
static const char models[] =
    "models:\n"
    "  default:\n"
    "    provider: scripted\n"
    "    model: m\n"
    "    replies:\n" ASKS(
        "send mid", "0",
        POST("/mid/1", "gr\\u00fcn") ", " POST("/mid/2", " \\\"2\\\" "))
        ASKS("send low", "0", POST("/low/1", "all of it"))
            ASKS("send low", "1", POST("/low/2", "low: 2")) ASKS(
                "send bad", "0",
                POST("/bad", "rejected")) "      - {text: fine}\n"
                                          "  judge:\n"
                                          "    provider: scripted\n"
                                          "    model: m\n"
                                          "    replies:\n"
                                          "      - {json: {approved: true, "
                                          "confidence: 0.9, reason: small}}\n";

static const char graph[] =
    "apiVersion: mortise/v1\n"
    "kind: Graph\n"
    "metadata: {name: g}\n"
    "hitl_mode: approve_tools\n"
    "roles: {careful: {requires_approval: true}}\n"
    "start: [top, crew]\n"
    "nodes:\n"
    "  top: {type: tool, tool: http/request, args: {url: \"URL/top\", body: "
    "\"top: 1\\n\"}, next: next}\n"
    "  next: {type: tool, tool: http/request, args: {url: \"URL/next\", "
    "body: \"next: {}\"}}\n"
    "  crew:\n"
    "    type: team\n"
    "    goal: bring the crew together\n"
    "    graph:\n"
    "      start: [mid, bad, late, inner]\n"
    "      nodes:\n"
    "        mid: {goal: send mid, tool_allowlist: [http/request]}\n"
    "        bad: {goal: send bad, tool_allowlist: [http/request]}\n"
    "        late: {type: human, prompt: Late?, wait: 1s, on_timeout: reject, "
    "routes: [{when: output.approved, to: never}], default: END}\n"
    "        never: {type: tool, tool: http/request, args: {url: "
    "\"URL/never\"}}\n"
    "        inner:\n"
    "          type: team\n"
    "          goal: bring the inner crew together\n"
    "          graph:\n"
    "            start: [may, low]\n"
    "            nodes:\n"
    "              may: {type: human, prompt: May it?, judge: {provider: "
    "judge, criteria: it is small}}\n"
    "              low: {goal: send low, role: careful, tool_allowlist: "
    "[http/request]}\n";

/* The server holds back what it answers to a call in which a process is to die. */
static void serve(const struct call *c)
{
    if (c->how == DIES_IN_EFFECT) {
        httpd_on(errand_httpd, c->path);
        httpd_hold(errand_httpd);
        httpd_times(errand_httpd, 1);
    }
    httpd_answer(errand_httpd, c->path, "200 OK",
                 "Content-Type: text/plain\r\n", "done");
}

static void put_world(void)
{
    errand_deploy("mortise.yaml", models);
    errand_put("g.yaml", graph);
    ck_assert_int_eq(child_run("sed -i 's|URL|%s|g' mortise.yaml g.yaml",
                               httpd_url(errand_httpd, "")),
                     0);
    for (int i = 0; i < CALLS - 1; i++) /* dealt out, one after the other */
        calls[i].how = hows[i];
    for (int i = CALLS - 2; i > 0; i--) {
        int with = (int)any((unsigned)i + 1);
        enum how how = calls[i].how;

        calls[i].how = calls[with].how;
        calls[with].how = how;
    }
    for (int i = 0; i < CALLS; i++)
        serve(&calls[i]);
}

/* ---- what was done ------------------------------------------------------------- */

/* How often the server was asked for that path, always with that body. */
static unsigned times(const char *path, const char *body)
{
    char line[64];
    unsigned n = 0;

    snprintf(line, sizeof line, "POST %s HTTP/1.1\r\n", path);
    for (size_t i = 0; i < httpd_requests(errand_httpd); i++) {
        const char *request = httpd_request(errand_httpd, i);

        if (strncmp(request, line, strlen(line)) != 0)
            continue;
        n++;
        ck_assert_ptr_nonnull(body);
        ck_assert_str_eq(strstr(request, "\r\n\r\n") + 4, body);
    }
    return n;
}

static json_t *printed(const char *line)
{
    json_t *got;

    ck_assert_msg(errand_mortise(line) == 0, "%s: %s", line, child.err);
    got = json_loads(child.out, 0, NULL);
    ck_assert_msg(got != NULL, "%s: %s", line, child.out);
    return got;
}

static bool is_waiting(void)
{
    json_t *show = printed("show r --json");
    const char *status = json_string_value(json_object_get(show, "status"));
    bool yes = strcmp(status, "waiting") == 0;

    json_decref(show);
    return yes;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

/* ---- deciding -------------------------------------------------------------------- */

/* A request of the run, which is of that kind or, where that is NULL, awaits us;
 * any of them; a new reference, or NULL. */
static json_t *pick(const char *kind)
{
    json_t *found = NULL;
    unsigned n = 0;
    char *line, *rest;

    ck_assert_int_eq(errand_mortise("inbox r --json"), 0);
    for (line = strtok_r(child.out, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *one = json_loads(line, 0, NULL);

        ck_assert_msg(one != NULL, "%s", line);
        ck_assert_str_ne(text_of(one, "node"), "may"); /* the judge is sure */
        if ((kind != NULL ? strcmp(text_of(one, "kind"), kind) == 0
                          : strcmp(text_of(one, "node"), "late") != 0) &&
            any(++n) == 0) {
            json_decref(found);
            found = json_incref(one);
        }
        json_decref(one);
    }
    return found;
}

static struct call *call_of(const json_t *request)
{
    const char *url = text_of(json_object_get(request, "args"), "url");

    for (int i = 0; i < CALLS; i++) {
        const char *path = strstr(url, calls[i].path);

        if (path != NULL && strcmp(path, calls[i].path) == 0)
            return &calls[i];
    }
    ck_abort_msg("nobody was to ask for '%s'", url);
}

/* What goes on with the run, or decides, got so far: to its end, or it waits. */
static void went_well(void)
{
    ck_assert_msg(child.code == 0 || child.code == 4, "exit code %d:\n%s%s",
                  child.code, child.out, child.err);
}

/* The line that decides the call; what it is approved with is what was asked, or
 * in the file args.json. */
static void write_decision(const struct call *c, const json_t *request,
                           char *line, size_t size)
{
    const char *id = text_of(request, "id");

    ck_assert_str_eq(text_of(json_object_get(request, "args"), "body"),
                     c->asked);
    if (c->approved == NULL) {
        snprintf(line, size, "reject r %s --reason no", id);
    } else if (strcmp(c->asked, c->approved) == 0) {
        snprintf(line, size, "approve r %s", id);
    } else {
        json_t *args = json_copy(json_object_get(request, "args"));
        char *text;

        json_object_set_new(args, "body", json_string(c->approved));
        text = json_dumps(args, JSON_COMPACT);
        errand_put("args.json", text);
        free(text);
        json_decref(args);
        snprintf(line, size, "approve r %s --args @args.json", id);
    }
}

/* The server has the request when its sender dies: it is in doubt, and a person who
 * knows the server says what came of it. */
static void die_in_effect(const struct call *c, const char *line)
{
    size_t before = httpd_requests(errand_httpd);
    pid_t pid = child_start("dies", "%s %s", child_build("mortise"), line);
    char resolve[128];
    json_t *doubt;

    httpd_await(errand_httpd, before + 1);
    child_kill(pid);
    httpd_release(errand_httpd);
    ck_assert_uint_eq(times(c->path, c->approved), 1);
    ck_assert_int_eq(errand_mortise("resume r"), 5);
    doubt = pick("in_doubt");
    ck_assert_ptr_nonnull(doubt);
    errand_put("done.json", "{\"status\": 200, \"url\": \"u\", \"headers\": "
                            "{}, \"body\": \"done\"}");
    snprintf(resolve, sizeof resolve, "resolve r %s --done @done.json",
             text_of(doubt, "id"));
    json_decref(doubt);
    errand_mortise(resolve);
    went_well();
}

/* At any moment: what it was to record is there afterwards, or it is not. */
static void die_deciding(struct call *c, const char *line)
{
    pid_t pid = child_start("dies", "%s %s --no-continue",
                            child_build("mortise"), line);

    usleep(any(50000));
    child_kill(pid);
    c->how = GOES_ON;
    errand_mortise("resume r");
    went_well();
    c->is_decided = times(c->path, c->approved) == 1;
}

static void decide_call(const json_t *request)
{
    struct call *c = call_of(request);
    char line[256];

    ck_assert_msg(!c->is_decided, "%s is asked for again", c->path);
    ck_assert_uint_eq(times(c->path, NULL), 0);
    write_decision(c, request, line, sizeof line - 16);
    if (c->how == DIES_DECIDING) {
        die_deciding(c, line);
        return;
    }
    c->is_decided = true;
    if (c->how == DIES_IN_EFFECT) {
        die_in_effect(c, line);
        return;
    }
    if (c->how == RECORDS)
        strcat(line, " --no-continue");
    errand_mortise(line);
    went_well();
    if (c->how != RECORDS)
        return;
    ck_assert_uint_eq(times(c->path, NULL), 0);
    errand_mortise("resume r");
    went_well();
}

/* That a node may begin at all, or the run. */
static void decide_node(const json_t *request)
{
    char line[64];

    if (strcmp(text_of(request, "kind"), "plan") == 0)
        ck_assert_uint_eq(httpd_requests(errand_httpd), 0);
    else if (strcmp(text_of(request, "node"), "low") == 0)
        ck_assert_uint_eq(times("/low/1", NULL), 0);
    snprintf(line, sizeof line, "approve r %s", text_of(request, "id"));
    errand_mortise(line);
    went_well();
}

/* Whatever is asked, in any order; how many nodes were approved. */
static unsigned decide_all(void)
{
    unsigned nodes = 0;
    json_t *request;

    while ((request = pick(NULL)) != NULL) {
        if (strcmp(text_of(request, "kind"), "approval_pending") == 0) {
            decide_call(request);
        } else {
            nodes += strcmp(text_of(request, "kind"), "node") == 0;
            decide_node(request);
        }
        json_decref(request);
    }
    return nodes;
}

/* ---- the test --------------------------------------------------------------------- */

/* Killed at any moment: before there is a run, or when some of it has begun. */
static void begin(void)
{
    pid_t pid =
        child_start("dies", "%s run g.yaml --id r", child_build("mortise"));

    usleep(any(100000));
    child_kill(pid);
    if (errand_mortise("resume r") == 3)
        errand_mortise("run g.yaml --id r");
    went_well();
}

/* The question that nobody answers: time does, whichever process sees it.  What is
 * asked once it has is decided, too; how many nodes were approved. */
static unsigned wait_for_expiry(void)
{
    time_t until = time(NULL) + 60;
    unsigned nodes = 0;

    while (is_waiting()) {
        ck_assert_int_lt(time(NULL), until);
        usleep(100000);
        errand_mortise("resume r");
        went_well();
        nodes += decide_all();
    }
    return nodes;
}

static void assert_output(const json_t *show, const char *node,
                          const char *want)
{
    json_t *value = json_loads(want, JSON_DECODE_ANY, NULL), *one;
    const json_t *found = NULL;
    size_t i;
    char *text;

    json_array_foreach(json_object_get(show, "nodes"), i, one)
    {
        if (strcmp(text_of(one, "node"), node) == 0)
            found = json_object_get(one, "output");
    }
    text = json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY);
    ck_assert_msg(json_equal(found, value), "output of %s: %s", node, text);
    free(text);
    json_decref(value);
}

/* Issue 17's own words. */
START_TEST(ten_approvals_at_three_depths)
{
    const char *again = getenv("MORTISE_APPROVALS");
    unsigned nodes;
    json_t *show;

    seed = again != NULL ? strtoull(again, NULL, 10)
                         : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid();
    printf("MORTISE_APPROVALS=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    put_world();
    begin();
    nodes = decide_all();
    ck_assert_uint_eq(nodes + wait_for_expiry(), NODES);
    for (int i = 0; i < CALLS; i++) {
        ck_assert_msg(calls[i].is_decided, "nobody asked for %s",
                      calls[i].path);
        ck_assert_uint_eq(times(calls[i].path, calls[i].approved),
                          calls[i].approved != NULL);
    }
    ck_assert_uint_eq(times("/never", NULL), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), CALLS - 1);
    show = printed("show r --json");
    ck_assert_str_eq(text_of(show, "status"), "completed");
    assert_output(show, "crew", "\"fine\"");
    assert_output(show, "low", "\"fine\"");
    assert_output(show, "bad", "\"fine\"");
    assert_output(show, "may",
                  "{\"approved\": true, \"reason\": \"small\", "
                  "\"decided_by\": \"judge\", \"answer\": null}");
    assert_output(show, "late",
                  "{\"approved\": false, \"reason\": \"no answer in time\", "
                  "\"decided_by\": \"timeout-reject\", \"answer\": null}");
    json_decref(show);
}
END_TEST

static void assert_printed(const char *command, const char *words)
{
    ck_assert_int_eq(errand_mortise(command), 0);
    ck_assert_msg(strstr(child.out, words) != NULL, "no '%s' in:\n%s", words,
                  child.out);
}

/* Who is asked whether a team may begin reads what it is to do, and is asked once. */
START_TEST(a_team_shows_its_goal)
{
    json_t *request;

    errand_deploy("mortise.yaml", models);
    errand_put("g.yaml", "apiVersion: mortise/v1\n"
                         "kind: Graph\n"
                         "metadata: {name: g}\n"
                         "roles: {careful: {requires_approval: true}}\n"
                         "start: crew\n"
                         "nodes:\n"
                         "  crew:\n"
                         "    type: team\n"
                         "    goal: \"mend ${input.what}\"\n"
                         "    role: careful\n"
                         "    graph: {start: a, nodes: {a: {goal: look}}}\n");
    ck_assert_int_eq(
        errand_mortise("run g.yaml --id r --input '{\"what\": \"it all\"}'"),
        4);
    assert_printed("inbox", "goal     mend it all\n");
    assert_printed("show r", "goal     mend it all\n");
    request = pick("node");
    ck_assert_str_eq(text_of(request, "goal"), "mend it all");
    decide_node(request);
    json_decref(request);
    assert_printed("show r", "status   completed\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_approvals");
    TCase *tc = tcase_create("approvals");

    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, ten_approvals_at_three_depths);
    tcase_add_test(tc, a_team_shows_its_goal);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
