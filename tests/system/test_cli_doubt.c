/* test_cli_doubt.c -- what the command line says of an effect in doubt that the
 * world said something of: which step of the call it is, and what was heard. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/errand.h"

/* A run whose POST is answered with a 500: who knows. */
static void ask_and(const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: END%s}\n",
             httpd_url(errand_httpd, "/x"), more);
    errand_put("g.yaml", text);
    httpd_answer(errand_httpd, "/x", "500 Oh", "", "half done");
}

static void ask_in_vain(void)
{
    ask_and("");
}

static void assert_said(const char *words)
{
    ck_assert_msg(strstr(child.out, words) != NULL, "no '%s' in:\n%s", words,
                  child.out);
}

/* Wherever the request is printed, it has its step, its cause and what was
 * heard. */
START_TEST(a_step)
{
    static const char *const commands[] = {"show r", "inbox r"};

    ask_in_vain();
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    for (size_t i = 0; i < 3; i++) {
        assert_said("has an effect that may or may not have happened");
        assert_said("    step     http.request/1\n");
        assert_said("    heard    {\"status\":500,");
        assert_said("\"body\":\"half done\"");
        assert_said("    effect   external\n");
        ck_assert_ptr_null(strstr(child.out, "    key  ")); /* none was sent */
        assert_said("    because  ");
        assert_said(" --done '{\"status\": 200, \"body\": \"\"}'\n");
        if (i < 2)
            ck_assert_int_eq(errand_mortise(commands[i]), 0);
    }
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("the server answered with status 500");
    assert_said(" --done '{\"status\": 200, \"body\": \"\"}'\n");
    ck_assert_ptr_null(strstr(child.out, "died"));
}
END_TEST

/* The key that is told is the one that the server was sent: what the author of
 * the request set. */
START_TEST(the_key_that_was_sent)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST, headers: {idempotency-KEY: order-7}}, next: END}\n",
             httpd_url(errand_httpd, "/x"));
    errand_put("g.yaml", text);
    httpd_answer(errand_httpd, "/x", "500 Oh", "", "half done");
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    assert_said("    key      order-7\n");
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("key is order-7.");
}
END_TEST

/* What a member of the one request of `r` says. */
static void of_request(const char *member, char text[128])
{
    char begin[64];
    const char *at;

    ck_assert_int_eq(errand_mortise("inbox r --json"), 0);
    snprintf(begin, sizeof begin, "\"%s\":\"", member);
    at = strstr(child.out, begin);
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at + strlen(begin), "%127[^\"]", text), 1);
}

static const char *request(void)
{
    static char id[128];

    of_request("id", id);
    return id;
}

/* The key under which what is asked about was sent. */
static const char *key(void)
{
    static char text[128];

    of_request("idempotency_key", text);
    return text;
}

/* Taken as failed, the same request is asked about when the run is resumed, with
 * what was heard of it; and it is made again under the same key. */
START_TEST(a_step_again)
{
    char line[256], was[128];

    ask_in_vain();
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    snprintf(was, sizeof was, "%s", key());
    snprintf(line, sizeof line, "resolve r %s --fail", request());
    ck_assert_int_eq(errand_mortise(line), 1);
    ck_assert_int_eq(errand_mortise("resume r"), 5);
    assert_said("    step     http.request/1\n");
    assert_said("    heard    {\"status\":500,");
    assert_said("    because  the server answered with status 500");
    assert_said(" --done '{\"status\": 200, \"body\": \"\"}'\n");
    snprintf(line, sizeof line, "resolve r %s --retry", request());
    ck_assert_str_eq(key(), was);
    ck_assert_int_eq(errand_mortise(line), 5);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
    ck_assert_str_eq(key(), was);
}
END_TEST

/* Issue 15, 1: what is said of a step is looked at before it is recorded, and
 * who was wrong says it again: where the call failed of it, or nothing went on
 * with it yet.  Nothing is made again by that. */
START_TEST(a_resolution_is_corrected)
{
    static const char *const none[] = {"{}", "{\"status\": \"200\"}", "17"};
    bool told = _i == 0;
    char line[512], id[128];

    ask_in_vain();
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    snprintf(id, sizeof id, "%s", request());
    for (size_t i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "resolve r %s --done '%s'", id, none[i]);
        ck_assert_int_eq(errand_mortise(line), 3);
        ck_assert_int_eq(errand_mortise("show r"), 0);
        assert_said("status   in_doubt");
    }
    snprintf(line, sizeof line, "resolve r %s --done '{\"status\": 404}'%s", id,
             told ? "" : " --no-continue");
    ck_assert_int_eq(errand_mortise(line), told ? 1 : 0);
    for (size_t i = 0; told && i < 3; i++) { /* it is said how */
        snprintf(line, sizeof line, " resolve r %.8s --done '{\"status\": 200,",
                 id);
        assert_said(line);
        ck_assert_int_eq(errand_mortise(i < 2 ? "why r" : "show r"), 0);
        if (i < 2)
            assert_said("resolve --done");
    }
    snprintf(line, sizeof line, "resolve r %.8s --done '{\"stat\": 200}'", id);
    ck_assert_int_eq(errand_mortise(line), 3);
    snprintf(line, sizeof line,
             "resolve r %.8s --done '{\"status\": 200, \"body\": \"right\"}'",
             id);
    ck_assert_int_eq(errand_mortise(line), 0);
    ck_assert_int_eq(errand_mortise("show r"), 0);
    assert_said("status   completed");
    assert_said("right");
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
    ck_assert_int_eq(errand_mortise(line), 3); /* it went on with that */
    ck_assert_int_eq(errand_mortise("history r"), 0);
    assert_said("correct a (by ");
    ck_assert_int_eq(errand_mortise("events r --json"), 0);
    assert_said("\"body\":\"right\"");
}
END_TEST

/* A run that was cancelled in the middle of an effect is not gone on with before
 * somebody said what came of it; `resume` asks, and `why` says so. */
START_TEST(a_cancelled_one)
{
    char line[256];

    ask_in_vain();
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    ck_assert_int_eq(errand_mortise("cancel r"), 5);
    assert_said("run r cancelled");
    assert_said("  node 'a': an effect may have happened");
    assert_said("mortise resume r");
    ck_assert_int_eq(errand_mortise("show r"), 0);
    assert_said("an effect may have happened");
    ck_assert_int_eq(errand_mortise("resume r --goto a"), 5);
    ck_assert_ptr_nonnull(strstr(child.err, "E_IN_DOUBT"));
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("but an effect of node");
    assert_said("mortise resume r");
    ck_assert_int_eq(errand_mortise("resume r"), 5);
    assert_said("has an effect that may or may not have happened");
    assert_said("    step     http.request/1\n");
    assert_said("    because  the server answered with status 500");
    assert_said("--retry records that the effect did not happen");
    snprintf(line, sizeof line, "resolve r %s --retry", request());
    ck_assert_int_eq(errand_mortise(line), 1);
    ck_assert_int_eq(errand_mortise("why r --json"), 0);
    assert_said("It waits");
    assert_said("--goto NODE");
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
    ck_assert_int_eq(errand_mortise("resume r --goto a"), 5); /* another */
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
}
END_TEST

/* The newest entry of that kind is the run's, and names no node. */
static void assert_of_the_run(const char *kind)
{
    char head[64], *at, *end;

    snprintf(head, sizeof head, "\"entry\":\"%s\"", kind);
    ck_assert_int_eq(errand_mortise("history r --json"), 0);
    at = strstr(child.out, head);
    ck_assert_msg(at != NULL, "%s", child.out);
    end = strchr(at, '}');
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    ck_assert_msg(strstr(at, "\"node\"") == NULL, "%s", at);
}

/* So is one that completed all the same: what was taken as failed is still in
 * doubt, and the run is as it was whatever is said of it. */
START_TEST(a_completed_one)
{
    char line[256];

    ask_and(", on_error: {value: \"{'url': '', 'status': 200, 'headers': {}, "
            "'body': ''}\"}");
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    snprintf(line, sizeof line, "resolve r %s --fail", request());
    ck_assert_int_eq(errand_mortise(line), 5);
    assert_said("run r completed");
    assert_said("  node 'a': an effect may have happened; resume asks about");
    assert_said("mortise resume r");
    ck_assert_int_eq(errand_mortise("resume r --goto a"), 5);
    ck_assert_ptr_nonnull(strstr(child.err, "E_IN_DOUBT"));
    ck_assert_ptr_nonnull(strstr(child.err, "mortise resume r"));
    ck_assert_int_eq(errand_mortise("show r"), 0);
    assert_said("an effect may have happened");
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("an effect of node a");
    assert_said("mortise resume r");
    ck_assert_int_eq(errand_mortise("resume r"), 5);
    assert_said("--retry records that the effect did not happen");
    assert_of_the_run("look_back");
    snprintf(line, sizeof line, "resolve r %s --retry", request());
    ck_assert_int_eq(errand_mortise(line), 0);
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("can only be continued from one of its nodes");
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
    ck_assert_int_eq(errand_mortise("resume r --goto a"), 5); /* another */
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_doubt");
    TCase *tc = tcase_create("doubt");

    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_step);
    tcase_add_test(tc, the_key_that_was_sent);
    tcase_add_test(tc, a_step_again);
    tcase_add_loop_test(tc, a_resolution_is_corrected, 0, 2);
    tcase_add_test(tc, a_cancelled_one);
    tcase_add_test(tc, a_completed_one);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
