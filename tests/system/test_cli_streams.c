/* test_cli_streams.c -- what a model says is told as it comes, and of a node whose
 * guardrails judge its output only what they let pass.  The models are
 * scripted. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/test.h"

/* A long text in words, and one with a ticket number near its end. */
#define WORDS "one two three four five six seven eight nine ten "
#define LONG  WORDS WORDS WORDS WORDS WORDS WORDS WORDS WORDS

static void deploy(const char *more)
{
    char text[8192];

    snprintf(text, sizeof text,
             "models:\n"
             "  default:\n"
             "    provider: scripted\n"
             "    model: m\n"
             "    replies:\n"
             "      - {when: {user: good}, text: \"" LONG "end\"}\n"
             "      - {when: {user: bad}, text: \"" LONG
             "INC-4711 and no more\"}\n"
             "      - {when: {user: short}, text: brief}\n"
             "      - {when: {user: think}, reasoning: INC-4711, text: ok}\n"
             "      - {when: {user: escaped}, text: '{\"t\": "
             "\"\\u0049NC-4711\"}'}\n"
             "  small:\n"
             "    provider: scripted\n"
             "    model: m\n"
             "    replies: [{json: {score: 0, reason: fine}}]\n"
             "guardrails:\n"
             "  tickets: {plugin: pattern, config: {rules: [{name: ticket, "
             "pattern: 'INC-\\d+'}]}}\n"
             "  calm: {plugin: judge, config: {model: small, criteria: It is "
             "loud.}}\n"
             "%s",
             more);
    desk_deploy(text);
}

static int runs;

/* A gmi that is asked that, with that policy. */
static void graph(const char *prompt, const char *policy)
{
    char text[2048];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n  a:\n    type: gmi\n    prompt: %s\n"
             "    guardrail_policy: {%s}\n    next: END\n",
             prompt, policy);
    desk_graph("g", text);
}

static void run(const char *prompt, const char *policy)
{
    graph(prompt, policy);
    child_run("$MORTISE run g.yaml --id r%d", ++runs);
}

/* All that was told of it, one piece behind the other. */
static void assert_told(const char *want)
{
    char told[8192] = "", *p = child.out;
    const char mark[] = "text_delta a text=";

    while ((p = strstr(p, mark)) != NULL) {
        char *end = strchr(p += sizeof mark - 1, '\n');

        strncat(told, p, (size_t)(end - p));
        p = end;
    }
    ck_assert_str_eq(told, want);
}

/* What the guardrails let pass is told to its last word. */
START_TEST(what_passes_is_told)
{
    deploy("");
    run("good", "output: [tickets]");
    desk_code(0);
    assert_told(LONG "end");
    run("good", "output: [tickets, tickets], hold_back: 7B");
    desk_code(0);
    assert_told(LONG "end");
}
END_TEST

/* ... in front of the end of its node, however short it is. */
START_TEST(all_is_told_before_the_end)
{
    deploy("");
    for (int i = 0; i < 10; i++) {
        const char *told, *end;

        run("short", i % 2 ? "output: [tickets]"
                           : "output: [tickets, tickets], on_violation: warn");
        desk_code(0);
        assert_told("brief");
        told = strstr(child.out, "text_delta");
        end = strstr(child.out, "node_end a");
        ck_assert_ptr_nonnull(end);
        ck_assert_msg(told < end, "%s", child.out);
    }
}
END_TEST

/* What they do not let pass is told nowhere, whatever becomes of the output. */
START_TEST(what_is_blocked_is_never_told)
{
    static const struct {
        const char *policy;
        int code;
    } cases[] = {
        {"output: [tickets]", 1},
        {"output: [tickets], hold_back: 16B", 1},
        {"output: [tickets], on_violation: sanitize", 0},
        {"output: [tickets], on_violation: sanitize, hold_back: 256KiB", 0},
        {"output: [tickets], on_violation: reroute, reroute_target: END", 0},
    };

    deploy("");
    run("bad", cases[_i].policy);
    desk_code(cases[_i].code);
    desk_out("guardrail_result a guardrail=tickets stage=output "
             "violation=true");
    desk_not_out("4711");
    desk_not_out("and no more\n");
}
END_TEST

/* One piece of a streamed reply. */
#define PIECE(text)                                                            \
    "data: {\"id\": \"x\", \"object\": \"chat.completion.chunk\", "            \
    "\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"" text "\"}, "    \
    "\"finish_reason\": null}]}\n\n"

/* A server that says the one, waits to be released and then says the other; and a
 * deployment whose default model it is. */
static struct httpd *holding(const char *first, const char *then)
{
    struct httpd *d = httpd_start();
    char text[512];

    snprintf(text, sizeof text,
             "models: {default: {provider: openai, model: m, base_url: "
             "\"%s\"}}\n"
             "guardrails: {tickets: {plugin: pattern, config: {rules: [{name: "
             "ticket, pattern: 'INC-\\d+'}]}}}\n",
             httpd_url(d, "/v1"));
    desk_deploy(text);
    httpd_on(d, "/v1/chat/completions");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 "Connection: close\r\n\r\n");
    httpd_say(d, first);
    httpd_hold(d);
    httpd_say(d, then);
    httpd_say(d, "data: [DONE]\n\n");
    httpd_close(d);
    return d;
}

/* What was looked at is told but for so many bytes, while the model still speaks.
 * key: guardrail_policy.hold_back */
START_TEST(so_much_is_kept_back)
{
    struct httpd *d = holding(PIECE(LONG), PIECE("INC-4711 and no more"));
    char want[] = LONG;
    pid_t pid;

    want[sizeof want - 1 - 20] = '\0';
    graph("bad", "output: [tickets], hold_back: 20B");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("run.out", "text_delta a text=one");
    httpd_release(d);
    ck_assert_int_eq(child_wait(pid), 1);
    desk_ok("cat run.out");
    assert_told(want);
    httpd_stop(d);
}
END_TEST

/* A reply is whole with [DONE]: a server that keeps the connection open, and one
 * that goes on, hold nothing up. */
START_TEST(done_ends_the_call)
{
    struct httpd *d = holding(PIECE("one") "data: [DONE]\n\n", PIECE("two"));

    graph("bad", "output: [tickets], on_violation: warn");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_out("text_delta a text=one");
    desk_not_out("two");
    httpd_release(d);
    httpd_stop(d);
}
END_TEST

/* With less than that to look at, nobody looks. */
START_TEST(all_is_kept_back)
{
    deploy("");
    run("bad", "output: [tickets], hold_back: 100KiB");
    desk_code(1);
    desk_not_out("text_delta");
}
END_TEST

/* Where they only warn, it is told. */
START_TEST(a_warning_is_told)
{
    deploy("");
    run("bad", "output: [tickets], on_violation: warn");
    desk_code(0);
    assert_told(LONG "INC-4711 and no more");
}
END_TEST

/* What a model thinks is text, too. */
START_TEST(thoughts_are_looked_at)
{
    deploy("");
    run("think", "output: [tickets]");
    desk_code(0);
    desk_not_out("4711");
    assert_told("ok");
}
END_TEST

/* Of JSON nothing is told before it is read: an escape would hide from a look what
 * whoever watches can read. */
START_TEST(json_is_read_first)
{
    deploy("");
    run("escaped\n    response: json", "output: [tickets]");
    desk_code(1);
    desk_out("guardrail_result a guardrail=tickets stage=output "
             "violation=true");
    desk_not_out("text_delta");
    desk_not_out("NC-4711");
}
END_TEST

/* With one that asks somebody, nothing is told before all is looked at. */
START_TEST(a_judge_sees_it_whole)
{
    deploy("");
    run("good", "output: [tickets, calm]");
    desk_code(0);
    desk_not_out("text_delta");
    desk_not_out("three");
    desk_ok("$MORTISE show r%d --json", runs);
    desk_out("\"" LONG "end\"");
}
END_TEST

/* Nor of a model in a graph whose output is judged where it is used. */
START_TEST(graphs_inside_are_held)
{
    deploy("");
    for (int i = 0; i < 2; i++) {
        char text[1024];

        snprintf(text, sizeof text,
                 "start: s\nnodes:\n  s:\n    type: subgraph\n"

                 "%s"
                 "    graph:\n      start: a\n      nodes:\n        a: {type: "
                 "gmi, prompt: good, next: END}\n    next: END\n",
                 i == 0 ? "    guardrail_policy: {output: [tickets]}\n" : "");
        desk_graph("g", text);
        child_run("$MORTISE run g.yaml --id s%d", i);
        desk_code(0);
        if (i > 0) {
            desk_out("text_delta");
            desk_not_out("\"held\":true");
            continue;
        }
        desk_not_out("text_delta");
        desk_out("\"held\":true");
        desk_not_out("\"parts\":[{\"type\":\"text\",\"text\":\"one");
    }
}
END_TEST

/* The text of a reply is in no event of such a node but as its output. */
START_TEST(replies_are_held_back)
{
    deploy("");
    run("bad", "output: [tickets]");
    desk_out("model_reply a");
    desk_out("\"held\":true");
    run("good", "input: [tickets]");
    desk_code(0);
    desk_not_out("\"held\":true");
}
END_TEST

/* It is kept back from the output's guardrails alone. */
START_TEST(only_an_output_is_kept_back)
{
    deploy("");
    desk_graph("g", "start: a\nnodes:\n  a:\n    type: gmi\n    prompt: p\n"
                    "    guardrail_policy: {input: [tickets], hold_back: 10B}\n"
                    "    next: END\n");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("error[E0212]: 'hold_back' needs guardrails in 'output'");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_streams");
    TCase *tc = tcase_create("streams");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, what_passes_is_told);
    tcase_add_test(tc, all_is_told_before_the_end);
    tcase_add_loop_test(tc, what_is_blocked_is_never_told, 0, 5);
    tcase_add_test(tc, so_much_is_kept_back);
    tcase_add_test(tc, done_ends_the_call);
    tcase_add_test(tc, all_is_kept_back);
    tcase_add_test(tc, a_warning_is_told);
    tcase_add_test(tc, thoughts_are_looked_at);
    tcase_add_test(tc, json_is_read_first);
    tcase_add_test(tc, graphs_inside_are_held);
    tcase_add_test(tc, a_judge_sees_it_whole);
    tcase_add_test(tc, replies_are_held_back);
    tcase_add_test(tc, only_an_output_is_kept_back);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
