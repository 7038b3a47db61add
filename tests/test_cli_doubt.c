/* test_cli_doubt.c -- what the command line says of an effect in doubt that the
 * world said something of: which step of the call it is, and what was heard. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/errand.h"

/* A run whose POST is answered with a 500: who knows. */
static void ask_in_vain(void)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: END}\n",
             httpd_url(errand_httpd, "/x"));
    errand_put("g.yaml", text);
    httpd_answer(errand_httpd, "/x", "500 Oh", "", "half done");
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

/* The id of the one request of `r`. */
static const char *request(void)
{
    static char id[64];
    const char *at;

    ck_assert_int_eq(errand_mortise("inbox r --json"), 0);
    at = strstr(child.out, "\"id\":\"");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at, "\"id\":\"%63[^\"]", id), 1);
    return id;
}

/* A run that was cancelled in the middle of an effect is not gone on with before
 * somebody said what came of it; `resume` asks, and `why` says so. */
START_TEST(a_cancelled_one)
{
    char line[256];

    ask_in_vain();
    ck_assert_int_eq(errand_mortise("run g.yaml --id r"), 5);
    ck_assert_int_eq(errand_mortise("cancel r"), 0);
    ck_assert_int_eq(errand_mortise("resume r --goto a"), 5);
    ck_assert_ptr_nonnull(strstr(child.err, "E_IN_DOUBT"));
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("in doubt whether an effect of it happened");
    assert_said("mortise resume r");
    ck_assert_int_eq(errand_mortise("resume r"), 5);
    assert_said("has an effect that may or may not have happened");
    assert_said("    because  the run was cancelled");
    snprintf(line, sizeof line, "resolve r %s --retry", request());
    ck_assert_int_eq(errand_mortise(line), 1);
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_said("nothing can unblock it");
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
    tcase_add_test(tc, a_cancelled_one);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
