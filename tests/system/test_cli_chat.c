/* test_cli_chat.c -- talking with models: `mortise chat`, what a terminal shows
 * of a conversation, and `show --transcript`.  The models are scripted, and one
 * of the suite's own servers. */
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/test.h"

static void deploy(const char *models)
{
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\nmodels:\n%s",
             models);
    desk_put("mortise.yaml", text);
}

static const char scripted[] =
    "  default:\n"
    "    provider: scripted\n"
    "    model: s\n"
    "    price: {input_per_mtok: 1, output_per_mtok: 2}\n"
    "    replies:\n"
    "      - {when: {user: broken}, error: {code: model.quota, message: "
    "gone}}\n"
    "      - when: {user: find, turn: 0}\n"
    "        text: I shall look.\n"
    "        tool_calls: [{name: text__grep, arguments: "
    "{text: \"a\\nb\\nerror x\", pattern: error}}]\n"
    "      - when: {user: find, turn: 2}\n"
    "        text: I shall look.\n"
    "        tool_calls: [{name: text__grep, arguments: "
    "{text: \"a\\nb\\nerror x\", pattern: error}}]\n"
    "      - {when: {tool: matches}, text: \"There is one:\\n\\n  error x\"}\n"
    "      - {when: {tool: not today}, text: Then not.}\n"
    "      - {when: {system: pirate}, text: Arr.}\n"
    "      - {when: {turn: 1}, text: the second}\n"
    "      - {text: the first}\n";

/* ---- in a pipe ------------------------------------------------------------------ */

/* What is said is all that stdout has; the rest is the run's. */
START_TEST(lines_are_messages)
{
    deploy(scripted);
    child_run("printf 'hello\\n\\nand now\\n' | $MORTISE chat --id c");
    desk_code(0);
    ck_assert_str_eq(child.out, "the first\nthe second\n");
    desk_err("chat --continue --id c");
    child_run("$MORTISE%s </dev/null",
              desk_line(child.err, "mortise chat ") + 7);
    desk_code(0);
    desk_ok("mv mortise.yaml other.yaml && $MORTISE chat --id t --tenant x "
            "--deployment other.yaml hello </dev/null");
    child_run("$MORTISE%s </dev/null",
              desk_line(child.err, "mortise chat ") + 7);
    desk_code(0);
    ck_assert_str_eq(child.out, "the first\n");
    desk_ok("mv other.yaml mortise.yaml");
    child_run("$MORTISE show c --json");
    desk_out("\"status\": \"waiting\"");
    child_run("printf 'more' | $MORTISE chat --continue --json");
    desk_code(0);
    desk_out("\"type\":\"model_reply\"");
    child_run("printf x | $MORTISE chat --instructions 'you: a ${pirate}'");
    desk_code(0);
    ck_assert_str_eq(child.out, "Arr.\n");
}
END_TEST

/* A script that gives no message has no reply, and hears so. */
START_TEST(no_message_is_no_success)
{
    deploy(scripted);
    child_run("$MORTISE chat --id c </dev/null");
    desk_code(1);
    desk_err("no message was given");
    desk_err("chat --continue --id c");
    ck_assert_str_eq(child.out, "");
    child_run("printf '\\n\\n' | $MORTISE chat --continue --id c --json");
    desk_code(1);
    desk_err("no message was given");
    child_run("$MORTISE chat --continue --id c hello </dev/null");
    desk_code(0);
    ck_assert_str_eq(child.out, "the first\n");
}
END_TEST

/* --continue takes the newest that is not over, or the one that is named. */
START_TEST(a_chat_goes_on)
{
    deploy(scripted);
    child_run("$MORTISE chat --continue </dev/null");
    desk_code(3);
    desk_err("there is no chat to continue");
    desk_ok("$MORTISE chat --id one hello </dev/null");
    desk_ok("$MORTISE chat --id two hello </dev/null");
    desk_graph("g",
               "start: a\nnodes:\n  a: {type: human, prompt: x, next: END}\n");
    child_run("$MORTISE run g.yaml --id other");
    desk_code(4);
    child_run("$MORTISE chat --continue hello </dev/null");
    desk_code(0);
    desk_err("--id two");
    ck_assert_str_eq(child.out, "the first\nthe second\n");
    desk_ok("$MORTISE cancel two");
    child_run("$MORTISE chat --continue hello </dev/null");
    desk_code(0);
    desk_err("--id one");
    child_run("$MORTISE chat --continue --id other hello </dev/null");
    desk_code(3);
    desk_err("run other is not a chat");
    ck_assert_ptr_null(strstr(child.err, "to continue it:"));
    child_run("$MORTISE chat --continue --id two hello </dev/null");
    desk_code(1);
    desk_err("run two is cancelled");
    ck_assert_ptr_null(strstr(child.err, "to continue it:"));
    child_run("$MORTISE chat --continue --model default");
    desk_code(3);
    desk_err("uses the model");
    child_run("$MORTISE chat --model nobody hello </dev/null");
    desk_code(2);
    desk_err("the deployment has no model 'nobody'");
    child_run("$MORTISE chat --tools 'nobody/*' hello </dev/null");
    desk_code(2);
    desk_err("no tool matches");
    child_run("$MORTISE chat --instructions \"$(printf '\\377')\" </dev/null");
    desk_code(3);
    desk_err("not UTF-8");
    child_run("$MORTISE tell one \"$(printf '\\377')\"");
    desk_code(3);
    desk_err("not UTF-8");
    child_run("printf '\\377\\n' | $MORTISE chat");
    desk_code(3);
    desk_err("not UTF-8");
}
END_TEST

/* What fails is said, and the chat goes on: nothing that was said is lost. */
START_TEST(failures_end_no_chat)
{
    deploy(scripted);
    child_run("printf 'hello\\nbroken\\nagain\\n' | $MORTISE chat --id c");
    desk_code(0);
    desk_out("the first\n");
    desk_out("model.quota: gone");
    desk_out("the second\n");
}
END_TEST

/* Tools that wait for somebody do so in the run's inbox. */
START_TEST(tools_wait_for_approval)
{
    deploy(scripted);
    child_run("$MORTISE chat --id c --tools text/grep find </dev/null");
    desk_code(4);
    desk_out("calls");
    desk_err("approve c");
    desk_err("accepts no message until then");
    child_run("$MORTISE%s", desk_line(child.err, "mortise approve c ") + 7);
    desk_code(4);
    desk_ok("$MORTISE chat --continue </dev/null");
    desk_out("There is one:");
    desk_ok("$MORTISE chat --allow 'text/*' --id d find </dev/null");
    desk_out("  calls     text__grep {\"text\":\"a\\nb\\nerror x\"");
    desk_out("  gave      text/grep, ");
    desk_out("There is one:\n\n  error x\n");
}
END_TEST

/* ---- kills --------------------------------------------------------------------- */

#define REPLY(text)                                                            \
    "{\"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", "    \
    "\"content\": \"" text "\"}, \"finish_reason\": \"stop\"}], \"usage\": "   \
    "{\"prompt_tokens\": 5, \"completion_tokens\": 2}}"

/* Killed in the middle of a reply it goes on with that reply, and knows what was
 * said before. */
START_TEST(a_kill_is_gone_on_from)
{
    struct httpd *d = httpd_start();
    char models[512];
    pid_t pid;

    snprintf(models, sizeof models,
             "  default: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy(models);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("blue"));
    httpd_times(d, 1);
    httpd_on(d, "/v1/chat/completions");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("red"));
    desk_put("said", "one\ntwo\n");
    pid = child_start("chat", "$MORTISE chat --id c <said");
    httpd_await(d, 2);
    ck_assert_uint_eq(httpd_requests(d), 2);
    child_kill(pid);
    child_run("$MORTISE chat --continue </dev/null");
    desk_code(0);
    ck_assert_str_eq(child.out, "blue\nred\n");
    ck_assert_uint_eq(httpd_requests(d), 3);
    ck_assert_ptr_nonnull(strstr(httpd_request(d, 2), "blue"));
    ck_assert_ptr_nonnull(strstr(httpd_request(d, 2), "two"));
    httpd_stop(d);
}
END_TEST

/* ---- at a terminal ---------------------------------------------------------------- */

static struct terminal {
    int fd;
    pid_t pid;
    char screen[1 << 16]; /* all that it was told */
    size_t n;
} t;

static void terminal(const char *line)
{
    struct winsize w = {.ws_col = 80, .ws_row = 30};

    t.n = 0;
    t.screen[0] = '\0';
    t.pid = forkpty(&t.fd, NULL, NULL, &w);
    ck_assert_int_ge(t.pid, 0);
    if (t.pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("NO_COLOR", "1", 1);
        setenv("MORTISE", child_build("mortise"), 1);
        if (chdir(desk_dir) == 0)
            execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
}

/* Until that is on the screen; NULL: until it is over. */
static void see(const char *text)
{
    ssize_t got;

    while (text == NULL || strstr(t.screen, text) == NULL) {
        ck_assert_uint_lt(t.n, sizeof t.screen - 1);
        got = read(t.fd, t.screen + t.n, sizeof t.screen - 1 - t.n);
        if (got <= 0)
            break;
        t.n += (size_t)got;
        t.screen[t.n] = '\0';
    }
    ck_assert_msg(text == NULL || strstr(t.screen, text) != NULL,
                  "no '%s' in:\n%s", text, t.screen);
}

static void type(const char *text)
{
    t.n = 0;
    t.screen[0] = '\0';
    ck_assert_int_eq((int)write(t.fd, text, strlen(text)), (int)strlen(text));
}

static int close_terminal(void)
{
    int status;

    see(NULL);
    status = child_wait(t.pid);
    close(t.fd);
    return status;
}

/* A person is asked for what is to be said, and before a tool is called: yes, no
 * and why, or other arguments.  While they think, the store is anybody's. */
START_TEST(people_are_asked)
{
    deploy(scripted);
    terminal("exec $MORTISE chat --id c --tools text/grep");
    see("\n> ");
    type("find\n");
    see("I shall look.");
    see("wants to call a tool");
    see("run it? ");
    desk_ok("$MORTISE inbox");
    desk_out("text/grep");
    /* Only what is meant for an answer is one. */
    type("you should not\n");
    see("run it? ");
    type("not yet\n");
    see("run it? ");
    type("yes, but later\n");
    see("run it? ");
    type("no, not today\n");
    see("Then not.");
    see("\n> ");
    type("find\n");
    see("run it? ");
    type("{\"text\": 5}\n");
    see("E_INVALID");
    see("run it? ");
    type("{\"text\": \"an error\", \"pattern\": \"error\"}\n");
    see("{\"matches\":[{\"line\":1,\"text\":\"an error\"}]");
    see("There is one:");
    see("\n> ");
    desk_ok("$MORTISE show c");
    type("\004");
    see("to continue it:");
    ck_assert_int_eq(close_terminal(), 0);
    terminal("exec $MORTISE chat --continue");
    see("There is one:");
    see("\n> ");
    type("\003");
    ck_assert_int_eq(close_terminal(), 0);
}
END_TEST

/* A run of a graph at a terminal is told like that, too, by node. */
START_TEST(runs_are_conversations)
{
    deploy(scripted);
    desk_graph("g", "start: work\nnodes:\n"
                    "  work: {type: gmi, prompt: find it, execution_mode: "
                    "react_bounded, stream: true, tool_allowlist: [text/grep], "
                    "next: END}\n");
    terminal("exec $MORTISE run g.yaml --id r");
    ck_assert_int_eq(close_terminal(), 0);
    see("  asks     work                 default: find it\r\n");
    see("  says     work");
    see("    I shall look.\r\n");
    see("  calls    work                 text__grep {\"text\":\"a\\nb");
    see("  gave     work                 text/grep, ");
    see("    There is one:\r\n\r\n      error x\r\n");
    see("  used     work ");
    see("; in all ");
    see("run r completed");
    terminal("exec $MORTISE events r");
    ck_assert_int_eq(close_terminal(), 0);
    see("  says     work                 default\r\n");
    see(" node_end work ms=");
    terminal("exec $MORTISE events r | cat");
    ck_assert_int_eq(close_terminal(), 0);
    see(" model_call work alias=default messages=[{\"role\":\"user\"");
    see("\"pattern\":\"error\"} tool_use_id="); /* nothing is cut */
}
END_TEST

/* ---- afterwards ---------------------------------------------------------------------- */

START_TEST(transcripts)
{
    deploy(scripted);
    desk_graph("g",
               "start: work\nnodes:\n"
               "  work: {type: gmi, prompt: find it, instructions: Look., "
               "execution_mode: react_bounded, tool_allowlist: [text/grep], "
               "next: more}\n"
               "  more: {type: gmi, prompt: hello, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --transcript");
    ck_assert_ptr_nonnull(strstr(
        child.out, "  system   work\n"
                   "    Look.\n"
                   "  user     work\n"
                   "    find it\n"
                   "  says     work                 default\n"
                   "    I shall look.\n"
                   "  calls    work                 text__grep "
                   "{\"text\":\"a\\nb\\nerror x\",\"pattern\":\"error\"}\n"
                   "  gave     work                 text/grep, "));
    desk_out("  user     more\n    hello\n");
    desk_out(" in, ");
    desk_out(" out, $0.0000");
    desk_ok("$MORTISE show r --transcript --node more");
    desk_not_out("find it");
    desk_out("hello");
    desk_ok("$MORTISE show r --transcript --node '1.0/more#1' --json");
    desk_out("\"events\": [");
    desk_out("\"type\": \"model_reply\"");
    child_run("$MORTISE show r --transcript --node nobody");
    desk_code(3);
    desk_err("has no conversation of 'nobody' with a model");
    desk_ok("$MORTISE show r --node work");
    desk_out("work\npath       1.0/work#1\n");
}
END_TEST

/* A tool that there is not, and a node that is handed over to, are told, too. */
START_TEST(what_no_tool_did_is_told)
{
    deploy("  default:\n    provider: scripted\n    model: s\n    replies:\n"
           "      - {when: {turn: 0}, tool_calls: [{name: nothing}]}\n"
           "      - {when: {turn: 1}, tool_calls: [{name: transfer_to_b}]}\n"
           "      - {text: done}\n");
    desk_graph("g",
               "start: a\nnodes:\n"
               "  a: {type: gmi, prompt: x, execution_mode: react_bounded, "
               "tool_allowlist: [text/grep], handoffs: [b], next: END}\n"
               "  b: {type: gmi, prompt: y, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --transcript");
    desk_out("  failed   a                    no tool 'nothing'");
    desk_out("  goes to  a                    b\n");
}
END_TEST

/* A NUL hides nothing from who reads. */
START_TEST(nuls_are_seen)
{
    deploy("  default: {provider: scripted, model: s, replies: [{json: "
           "\"ok\\0hidden\"}]}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, response: json, next: h}\n"
                    "  h: {type: human, prompt: \"approve ${artifacts.a}?\", "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_out("approve ok\\x00hidden?");
    desk_ok("$MORTISE inbox");
    desk_out("approve ok\\x00hidden?");
    desk_ok("$MORTISE show r --json");
    desk_out("approve ok\\u0000hidden?");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_chat");
    TCase *tc = tcase_create("cli_chat");

    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, lines_are_messages);
    tcase_add_test(tc, no_message_is_no_success);
    tcase_add_test(tc, a_chat_goes_on);
    tcase_add_test(tc, failures_end_no_chat);
    tcase_add_test(tc, tools_wait_for_approval);
    tcase_add_test(tc, a_kill_is_gone_on_from);
    tcase_add_test(tc, people_are_asked);
    tcase_add_test(tc, runs_are_conversations);
    tcase_add_test(tc, transcripts);
    tcase_add_test(tc, what_no_tool_did_is_told);
    tcase_add_test(tc, nuls_are_seen);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
