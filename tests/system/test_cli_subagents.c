/* test_cli_subagents.c -- what a graph says of agents that report and that have
 * agents, and what is refused of it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/test.h"

static void deploy(void)
{
    desk_deploy("models:\n  default:\n    provider: scripted\n    model: m\n"
                "    replies: [{text: heard}]\n");
}

/* A graph with a gmi node of these keys. */
static void graph(const char *keys)
{
    char text[2048];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n  a:\n    type: gmi\n    prompt: go\n%s"
             "    next: END\n",
             keys);
    desk_graph("g", text);
}

static void refused(const char *keys, const char *words)
{
    graph(keys);
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("g.yaml:");
    desk_out(words);
}

/* key: node.reports */
START_TEST(who_is_asked_once_calls_no_tools)
{
    deploy();
    refused("    execution_mode: single_turn\n    subagents: true\n",
            "error[E0212]: single_turn calls the model once, but 'subagents' "
            "needs tool calls");
    refused("    execution_mode: single_turn\n    reports: true\n",
            "'reports'");
    refused("    subagents: yes please\n", "'subagents' must be true or false");
    graph("    execution_mode: single_turn\n    subagents: false\n"
          "    reports: false\n");
    desk_ok("$MORTISE check g.yaml");
    graph("    execution_mode: react_bounded\n    subagents: true\n"
          "    reports: true\n");
    desk_ok("$MORTISE check g.yaml");
}
END_TEST

/* A leaf may have children, and reports anyway.
 * key: node.subagents */
START_TEST(leaves_may_have_children)
{
    deploy();
    desk_graph("g", "start: a\nnodes:\n  a: {goal: go, subagents: true, next: "
                    "END}\n");
    desk_ok("$MORTISE check g.yaml");
    desk_graph("g", "start: a\nnodes:\n  a: {goal: go, reports: true, next: "
                    "END}\n");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("'reports'");
}
END_TEST

/* key: node.messages */
START_TEST(what_was_said_is_said_once)
{
    deploy();
    refused("    conversation: c\n    messages: \"${input.before}\"\n",
            "error[E0212]: 'conversation' already has the earlier messages");
}
END_TEST

/* A run that waits ahead of its model. */
static void begin(const char *schema)
{
    char text[2048];

    snprintf(text, sizeof text,
             "start: h\nnodes:\n  h: {type: human, prompt: Go on?, next: a}\n"
             "  a:\n    type: gmi\n    prompt: go\n    message_schema: %s\n"
             "    next: END\n",
             schema);
    desk_graph("g", text);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
}

static void told(const char *text)
{
    desk_ok("$MORTISE tell r '%s' --node a --no-continue", text);
}

static void not_told(const char *text, const char *words)
{
    child_run("$MORTISE tell r '%s' --node a --no-continue", text);
    ck_assert_int_ne(child.code, 0);
    desk_err("the message_schema of node 'a' of run r rejects the message");
    desk_err(words);
}

/* key: node.message_schema */
START_TEST(it_hears_what_its_schema_allows)
{
    deploy();
    begin("{type: object, required: [n], properties: {n: {type: integer}}}");
    not_told("hello", "object");
    not_told("{\"n\": \"one\"}", "integer");
    not_told("{\"n\": ", "object");
    told("{\"n\": 7}");
    /* nor does it by way of the whole run */
    child_run("$MORTISE tell r hello --no-continue");
    ck_assert_int_ne(child.code, 0);
    desk_err("message_schema");
    desk_ok("id=$($MORTISE inbox r --json | grep -o '\"id\": *\"[0-9a-f]*' | "
            "head -1 | grep -o '[0-9a-f]*$'); $MORTISE approve r $id");
    desk_ok("$MORTISE events r --json");
    desk_out("{\\\"n\\\": 7}");
    desk_not_out("hello");
}
END_TEST

/* A text is a text, whatever it looks like. */
START_TEST(a_text_is_a_text)
{
    deploy();
    begin("{type: string, maxLength: 3}");
    told("42");
    told("[1]");
    not_told("much more", "3");
}
END_TEST

/* What is told stands in `show`, and moves nobody's cursor. */
START_TEST(words_are_shown_as_words)
{
    deploy();
    begin("{type: string}");
    desk_ok("$MORTISE tell r \"$(printf 'red \\033[31m')\" --no-continue");
    desk_ok("$MORTISE show r");
    desk_out("red \\x1b[31m");
    desk_not_out("\033");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_subagents");
    TCase *tc = tcase_create("graphs");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, who_is_asked_once_calls_no_tools);
    tcase_add_test(tc, leaves_may_have_children);
    tcase_add_test(tc, what_was_said_is_said_once);
    tcase_add_test(tc, it_hears_what_its_schema_allows);
    tcase_add_test(tc, a_text_is_a_text);
    tcase_add_test(tc, words_are_shown_as_words);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
