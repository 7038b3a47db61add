/* test_cli_again.c -- an agent that is tried again makes the calls again that it
 * made before: what they did is not done a second time.  A server counts it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/errand.h"

static void answers(const char *path, const char *status)
{
    httpd_answer(errand_httpd, path, status, "", "x");
}

/* The first request of that path is answered so, the others with 200. */
static void answers_first(const char *path, const char *status)
{
    answers(path, status);
    httpd_times(errand_httpd, 1);
    answers(path, "200 OK");
}

/* How many requests came for that path. */
static size_t requests_for(const char *path)
{
    char begin[64];
    size_t n = 0;

    snprintf(begin, sizeof begin, "POST %s ", path);
    for (size_t i = 0; i < httpd_requests(errand_httpd); i++)
        n += strncmp(httpd_request(errand_httpd, i), begin, strlen(begin)) == 0;
    return n;
}

/* An agent `a` whose model makes this call in its first turn, with keys of the
 * node; `behind`: replies of the model from the second turn on. */
static void agent(const char *call, const char *keys, const char *behind)
{
    char text[2048];

    snprintf(text, sizeof text,
             "models:\n  default:\n    provider: scripted\n    model: m\n"
             "    replies:\n"
             "      - {when: {turn: 0}, tool_calls: [%s]}\n%s"
             "      - {text: done}\n",
             call, behind);
    errand_deploy("mortise.yaml", text);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: gmi, prompt: go, tool_allowlist: [http/request, "
             "graph/pay], next: END%s}\n",
             keys);
    errand_put("g.graph.yaml", text);
}

/* graph/pay: a POST to /first, what is in between (`next` of /first), and one to
 * /second. */
static void pay(const char *next, const char *between)
{
    char text[2048];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: pay, version: 1.0.0}\nstart: p\nnodes:\n"
             "  p: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: %s}\n%s"
             "  q: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: END}\n",
             httpd_url(errand_httpd, "/first"), next, between,
             httpd_url(errand_httpd, "/second"));
    errand_put("pay.graph.yaml", text);
    answers("/first", "200 OK");
}

static const char calls_pay[] = "{name: graph__pay, arguments: {}}";

/* The id of the one request that waits. */
static const char *request(void)
{
    static char id[64];
    char *space;

    ck_assert_int_eq(errand_mortise("inbox r --ids"), 0);
    space = strchr(child.out, ' ');
    ck_assert_ptr_nonnull(space);
    ck_assert_int_eq(sscanf(space, " %63s", id), 1);
    return id;
}

static int decide(const char *command, const char *more)
{
    char line[256];

    snprintf(line, sizeof line, "%s r %s %s", command, request(), more);
    return errand_mortise(line);
}

/* Each call of the run is one execution: none has a second visit. */
static void assert_no_second_visit(void)
{
    ck_assert_int_eq(errand_mortise("show r --json"), 0);
    ck_assert_ptr_null(strstr(child.out, "#2"));
}

/* The model fails once behind a graph that it used as a tool.  The next attempt is
 * told what that graph gave: it does not run again. */
START_TEST(a_graph_tool_runs_once)
{
    agent(calls_pay,
          ", retry_policy: {max_attempts: 2, delay: 1ms, retry_on: "
          "[transient]}",
          "      - {when: {turn: 1, attempt: 1}, error: {code: model.server, "
          "class: transient, message: down}}\n");
    pay("q", "");
    answers("/second", "200 OK");
    ck_assert_int_eq(errand_mortise("run g.graph.yaml --id r"), 0);
    ck_assert_uint_eq(requests_for("/first"), 1);
    ck_assert_uint_eq(requests_for("/second"), 1);
    assert_no_second_visit();
}
END_TEST

/* A graph that the model uses as a tool fails behind its first effect and the
 * answer of a person, and the agent with it.  A resume goes on inside: what was
 * done there is not done again, and nobody is asked again. */
START_TEST(a_graph_tool_goes_on_inside)
{
    agent(calls_pay, ", tool_errors: fail", "");
    pay("h", "  h: {type: human, prompt: go on?, next: q}\n");
    answers_first("/second", "404 Not Found");
    ck_assert_int_eq(errand_mortise("run g.graph.yaml --id r"), 4);
    ck_assert_int_eq(decide("approve", ""), 1);
    ck_assert_int_eq(errand_mortise("resume r"), 0);
    ck_assert_uint_eq(requests_for("/first"), 1);
    ck_assert_uint_eq(requests_for("/second"), 2);
    assert_no_second_visit();
}
END_TEST

/* The call of a tool (or one in a graph that is a tool) is in doubt, a person
 * takes it as failed, and the agent fails of that.  Who resumes the run is asked
 * again, and nothing is done before; what is said then is what the call gave. */
START_TEST(a_doubt_is_settled_first)
{
    char call[256];
    const char *path = _i == 0 ? "/second" : "/alone";

    snprintf(call, sizeof call,
             "{name: http__request, arguments: {url: \"%s\", method: POST}}",
             httpd_url(errand_httpd, "/alone"));
    agent(_i == 0 ? calls_pay : call, ", tool_errors: fail", "");
    pay("q", "");
    answers(path, "500 Oh");
    ck_assert_int_eq(errand_mortise("run g.graph.yaml --id r"), 5);
    ck_assert_int_eq(decide("resolve", "--fail"), 1);
    ck_assert_int_eq(errand_mortise("resume r"), 5);
    ck_assert_int_eq(errand_mortise("why r"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "--done"));
    ck_assert_uint_eq(requests_for(path), 1);
    ck_assert_int_eq(decide("resolve",
                            "--done '{\"url\": \"\", \"status\": 200, "
                            "\"headers\": {}, \"body\": \"\"}'"),
                     0);
    ck_assert_uint_eq(requests_for(path), 1);
    ck_assert_uint_eq(requests_for("/first"), _i == 0);
    assert_no_second_visit();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_again");
    TCase *tc = tcase_create("again");

    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_graph_tool_runs_once);
    tcase_add_test(tc, a_graph_tool_goes_on_inside);
    tcase_add_loop_test(tc, a_doubt_is_settled_first, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
