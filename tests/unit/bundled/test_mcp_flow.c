/* test_mcp_flow.c -- the plugin mcp between a host and a server that are both
 * played here, so that everything can be made to come in any order: answers,
 * questions, the end of the server, cancelling. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../plugins/executor/mcp/call.h"
#include "lib/test.h"

/* ---- a host ------------------------------------------------------------------- */

struct ask {
    struct ask *next;
    mortise_call call;
    char *method, *body;
    mortise_answer_fn *on_answer;
    void *ud;
};

struct ended {
    mortise_call call;
    mortise_status status;
    char words[512], detail[256];
};

struct mortise_host {
    struct ask *asks; /* that have no answer, the oldest first */
    struct ended ended[64];
    size_t n_ended;
    char output[4096];
    mortise_call cancelled;
    uint64_t now_ns;
};

static struct mortise_host host;
static mortise_inst *inst;
static const mortise_plugin *plugin;
static const mortise_executor *executor;
enum { BACKGROUND = 1000 };

static char *dup_str(mortise_str s)
{
    char *p = malloc(s.n + 1);

    memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

static void host_log(mortise_host *h, int32_t level, mortise_str msg)
{
    (void)h;
    (void)level;
    (void)msg;
}

static mortise_status host_emit(mortise_host *h, mortise_call call,
                                mortise_str kind, mortise_str chunk)
{
    (void)call;
    if (mortise_str_is(kind, "output"))
        snprintf(h->output, sizeof h->output, "%.*s", (int)chunk.n, chunk.p);
    return MORTISE_S_OK;
}

static mortise_status host_finish(mortise_host *h, mortise_call call,
                                  mortise_status status, mortise_str msg,
                                  mortise_str detail)
{
    struct ended *e = &h->ended[h->n_ended++];

    for (size_t i = 0; i + 1 < h->n_ended; i++)
        ck_assert(h->ended[i].call != call); /* exactly once */
    e->call = call;
    e->status = status;
    snprintf(e->words, sizeof e->words, "%.*s", (int)msg.n, msg.p);
    snprintf(e->detail, sizeof e->detail, "%.*s", (int)detail.n, detail.p);
    return MORTISE_S_OK;
}

static void host_fail(mortise_host *h, mortise_call call, mortise_str msg,
                      mortise_str detail)
{
    host_finish(h, call, MORTISE_S_INVALID, msg, detail);
}

static int32_t host_cancelled(mortise_host *h, mortise_call call)
{
    return h->cancelled == call;
}

static uint64_t host_now(mortise_host *h)
{
    return h->now_ns += 1000000;
}

static mortise_status host_ask(mortise_host *h, mortise_call call,
                               mortise_str method, mortise_str body,
                               mortise_answer_fn *on_answer, void *ud)
{
    struct ask *a = calloc(1, sizeof *a), **at = &h->asks;
    mortise_jv v;

    ck_assert_int_eq(mortise_jv_parse(body, &v), MORTISE_S_OK);
    *a =
        (struct ask){NULL, call, dup_str(method), dup_str(body), on_answer, ud};
    while (*at != NULL)
        at = &(*at)->next;
    *at = a;
    return MORTISE_S_PENDING;
}

static const mortise_host_api api = {.size = sizeof api,
                                     .log = host_log,
                                     .emit = host_emit,
                                     .finish = host_finish,
                                     .fail = host_fail,
                                     .cancelled = host_cancelled,
                                     .now_ns = host_now,
                                     .ask = host_ask};

static void ask_free(struct ask *a)
{
    free(a->method);
    free(a->body);
    free(a);
}

/* The oldest with that method and, somewhere in its body, that text. */
static struct ask **find(const char *method, const char *has)
{
    struct ask **at = &host.asks;

    while (*at != NULL && (strcmp((*at)->method, method) != 0 ||
                           strstr((*at)->body, has) == NULL))
        at = &(*at)->next;
    return at;
}

static int is_asked(const char *method, const char *has)
{
    return *find(method, has) != NULL;
}

/* Answer it for good. */
static void answer(const char *method, const char *has, mortise_status status,
                   const char *text)
{
    struct ask **at = find(method, has), *a = *at;

    ck_assert_msg(a != NULL, "nobody asked %s %s", method, has);
    *at = a->next;
    a->on_answer(a->ud, status, mortise_strz(text));
    ask_free(a);
}

/* A piece of the program's answer: a line that it said. */
static void say(const char *line)
{
    struct ask *a = *find("process.spawn/1", "");

    ck_assert_ptr_nonnull(a);
    a->on_answer(a->ud, MORTISE_S_PENDING, mortise_strz(line));
}

/* The message with that in it was written. */
static void hears(const char *has)
{
    char in_json[512];
    mortise_str text;
    mortise_jw w;

    mortise_jw_fixed(&w, in_json, sizeof in_json - 1);
    mortise_jw_cstr(&w, has);
    ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
    in_json[text.n - 1] = '\0';
    answer("process.write/1", in_json + 1, MORTISE_S_OK, "null");
}

static const struct ended *end_of(mortise_call call)
{
    for (size_t i = 0; i < host.n_ended; i++)
        if (host.ended[i].call == call)
            return &host.ended[i];
    return NULL;
}

static void ended(mortise_call call, mortise_status status, const char *detail)
{
    const struct ended *e = end_of(call);

    ck_assert_msg(e != NULL, "call %d goes on", (int)call);
    ck_assert_msg(e->status == status && strstr(e->detail, detail) != NULL,
                  "call %d ended with %d %s %s", (int)call, (int)e->status,
                  e->detail, e->words);
}

/* ---- what each test begins with -------------------------------------------------- */

extern const mortise_module mortise_module_v1;

static void begin(void)
{
    static const char config[] =
        "{\"servers\":{\"s\":{\"command\":true,\"unpinned\":true,\"timeout_"
        "ms\":1000,\"hold_ms\":"
        "5000}},\"places\":[],\"secrets\":[]}";
    const mortise_request r = {.size = sizeof r, .call = BACKGROUND};

    memset(&host, 0, sizeof host);
    plugin = mortise_module_v1.plugins[0];
    ck_assert_int_eq(plugin->create(&host, &api, mortise_strz(config), &inst),
                     MORTISE_S_OK);
    executor = plugin->get_interface(inst, MORTISE_EXECUTOR_1);
    ck_assert_int_eq(executor->background(inst, &r), MORTISE_S_PENDING);
}

/* The host answers what is open as it does when it closes. */
static void end(void)
{
    for (struct ask *a; (a = host.asks) != NULL;) {
        host.asks = a->next;
        a->on_answer(a->ud, MORTISE_S_CANCELLED, mortise_strz("closing"));
        ask_free(a);
    }
    plugin->cancel(inst, BACKGROUND);
    ended(BACKGROUND, MORTISE_S_CANCELLED, "");
    for (struct ask *a; (a = host.asks) != NULL;) {
        host.asks = a->next;
        a->on_answer(a->ud, MORTISE_S_CANCELLED, mortise_strz("closed"));
        ask_free(a);
    }
    plugin->destroy(inst);
}

/* A call of a tool, up to where its step is begun. */
static void call(mortise_call id, const char *tool)
{
    static char body[16][128];
    mortise_request r = {.size = sizeof r, .call = id};

    snprintf(body[id], sizeof body[id], "{\"server\":\"s\",\"tool\":\"%s\"}",
             tool);
    r.operation = mortise_strz("call");
    r.body = mortise_strz(body[id]);
    ck_assert_int_eq(executor->execute(inst, &r), MORTISE_S_PENDING);
    ck_assert(is_asked("journal.begin/1", tool));
    answer("journal.begin/1", tool, MORTISE_S_OK, "{\"key\":\"k\"}");
}

static void start_legacy(void)
{
    say("{\"process\":7}");
    hears("server/discover");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601}}");
    hears("\"initialize\"");
    say("{\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\","
        "\"capabilities"
        "\":{\"tools\":{}}}}");
    hears("notifications/initialized");
}

static void list(int id)
{
    char text[256];

    hears("tools/list");
    snprintf(
        text, sizeof text,
        "{\"id\":%d,\"result\":{\"tools\":[{\"name\":\"x\"},{\"name\":\"y\"}"
        ",{\"name\":\"z\"}]}}",
        id);
    say(text);
}

static void done(mortise_call id, const char *text)
{
    answer("journal.end/1", text, MORTISE_S_OK, "null");
    ended(id, MORTISE_S_OK, "");
}

/* ---- tests ---------------------------------------------------------------------------- */

/* Two calls, answered in the other order. */
START_TEST(answers_come_in_any_order)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    call(2, "y");
    hears("\"name\":\"y\"");
    say("{\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"of "
        "y\"}"
        "]}}");
    done(2, "of y");
    ck_assert_ptr_null(end_of(1));
    say("{\"id\":5,\"result\":{\"content\":[]}}"); /* twice: nobody's */
    say("{\"id\":4,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"of "
        "x\"}"
        "]}}");
    done(1, "of x");
    ck_assert_str_eq(host.output,
                     "{\"content\":[{\"type\":\"text\",\"text\":\"of "
                     "x\"}],\"text\":\"of x\"}");
}
END_TEST

/* Cancelled wherever it is, a call of which nothing was sent says so, and one of
 * which something was says no more than that it let go. */
START_TEST(cancelled_anywhere)
{
    call(1, "x");
    host.cancelled = 1;
    plugin->cancel(inst, 1); /* it waits for its server */
    answer("journal.end/1", "undone", MORTISE_S_OK, "null");
    ended(1, MORTISE_S_CANCELLED, "");
    start_legacy();
    call(2, "x");
    host.cancelled = 2;
    plugin->cancel(inst, 2); /* ... for its tools */
    answer("journal.end/1", "undone", MORTISE_S_OK, "null");
    ended(2, MORTISE_S_CANCELLED, "");
    list(3);
    call(3, "x");
    host.cancelled = 3;
    plugin->cancel(inst, 3); /* ... for an answer */
    ended(3, MORTISE_S_CANCELLED, "");
    hears("tools/call");
    hears("notifications/cancelled");
    say("{\"id\":4,\"result\":{\"content\":[]}}"); /* too late */
    ck_assert(!is_asked("journal.end/1", ""));
    plugin->cancel(inst, 3);
}
END_TEST

/* The server ends: what was sent is in doubt, what was not is sent to another. */
START_TEST(the_server_ends)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    call(2, "y");
    ck_assert(is_asked("process.write/1", "tools/call"));
    answer("process.write/1", "tools/call", MORTISE_S_IO, "gone");
    answer("process.end/1", "7", MORTISE_S_OK, "null");
    answer("process.spawn/1", "", MORTISE_S_OK,
           "{\"exit\":3,\"stderr\":\"out of luck\\n\"}");
    ended(1, MORTISE_S_DOUBT, "mcp.lost");
    ck_assert_str_eq(end_of(1)->words,
                     "its program exited with 3: out of luck");
    ck_assert_ptr_null(end_of(2));
    start_legacy();
    list(3);
    hears("\"name\":\"y\"");
    say("{\"id\":4,\"result\":{\"content\":[]}}");
    done(2, "content");
}
END_TEST

/* A program that ends of discovery is started once more, and no more than that. */
START_TEST(discovery_is_survived_once)
{
    call(1, "x");
    say("{\"process\":7}");
    hears("server/discover");
    answer("process.spawn/1", "", MORTISE_S_OK, "{\"exit\":1,\"stderr\":\"\"}");
    say("{\"process\":8}");
    ck_assert(!is_asked("process.write/1", "server/discover"));
    hears("\"initialize\"");
    answer("process.spawn/1", "", MORTISE_S_OK, "{\"exit\":1,\"stderr\":\"\"}");
    answer("journal.end/1", "undone", MORTISE_S_OK, "null");
    ended(1, MORTISE_S_FAILED, "mcp.not_started");
}
END_TEST

/* ... and one that ends of the question for its tools, twice. */
START_TEST(no_list_is_no_use)
{
    call(1, "x");
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(end_of(1));
        start_legacy();
        hears("tools/list");
        answer("process.spawn/1", "", MORTISE_S_OK,
               "{\"exit\":1,\"stderr\":\"\"}");
        ck_assert(!is_asked("process.spawn/1", "")); /* not at once */
        if (i == 0)
            while (!is_asked("process.spawn/1", ""))
                answer("timer.wait/1", "", MORTISE_S_OK, "null");
    }
    answer("journal.end/1", "undone", MORTISE_S_OK, "null");
    ended(1, MORTISE_S_FAILED, "mcp.lost");
}
END_TEST

/* A list that changes whenever it is asked for is used in the end. */
START_TEST(lists_that_never_hold)
{
    call(1, "x");
    start_legacy();
    for (int id = 3; id < 6; id++) {
        say("{\"method\":\"notifications/tools/list_changed\"}");
        list(id);
    }
    hears("tools/call");
    say("{\"id\":6,\"result\":{\"content\":[]}}");
    done(1, "content");
}
END_TEST

#define PAGE(id, tool, cursor)                                                 \
    "{\"id\":" id ",\"result\":{\"tools\":[{\"name\":\"" tool "\"}],"          \
    "\"nextCursor\":" cursor "}}"

/* The empty cursor leads to the next page; one that leads to the same page is
 * none, and a cursor that comes twice otherwise goes in a circle. */
START_TEST(empty_cursors_may_be_none)
{
    call(1, "y");
    start_legacy();
    hears("tools/list");
    say(PAGE("3", "x", "\"\""));
    hears("\"cursor\":\"\"");
    say(PAGE("4", "y", "null"));
    hears("tools/call");
    say("{\"id\":5,\"result\":{\"content\":[]}}");
    done(1, "content");
}
END_TEST

START_TEST(the_same_page_again_is_the_end)
{
    call(1, "x");
    start_legacy();
    hears("tools/list");
    say(PAGE("3", "x", "\"\""));
    hears("\"cursor\":\"\"");
    say(PAGE("4", "x", "\"\""));
    hears("tools/call");
    say("{\"id\":5,\"result\":{\"content\":[]}}");
    done(1, "content");
}
END_TEST

START_TEST(cursors_may_go_in_a_circle)
{
    call(1, "x");
    start_legacy();
    hears("tools/list");
    say(PAGE("3", "x", "\"\""));
    hears("\"cursor\":\"\"");
    say(PAGE("4", "y", "\"\""));
    answer("journal.end/1", "\"undone\":true", MORTISE_S_OK, "null");
    ended(1, MORTISE_S_FAILED, "mcp.protocol");
}
END_TEST

/* An answer that cannot be read ends its request, and no other. */
START_TEST(unreadable_answers_end_their_calls)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    say("{\"id\":5,\"result\":}");
    ck_assert_ptr_null(end_of(1));
    say("{\"id\":4,\"result\":}");
    answer("journal.end/1", "\"why\":\"it is not JSON\"", MORTISE_S_OK, "null");
    ended(1, MORTISE_S_FAILED, "mcp.protocol");
}
END_TEST

#define QUESTION(id)                                                           \
    "{\"id\":\"" id "\",\"method\":\"elicitation/create\",\"params\":{"        \
    "\"message\":\"" id "?\",\"requestedSchema\":{\"properties\":{}}}}"

/* With several calls out, a question waits until it is known whose it is; as many
 * questions as calls are each one's. */
START_TEST(questions_find_their_calls)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    call(2, "y");
    hears("\"name\":\"y\"");
    say(QUESTION("q1"));
    ck_assert(!is_asked("interrupt.request/1", ""));
    call(3, "z"); /* it was not there when that was asked */
    hears("\"name\":\"z\"");
    say("{\"id\":4,\"result\":{\"content\":[]}}");
    done(1, "content");
    ck_assert(is_asked("interrupt.request/1", "for 'y': q1?"));
    ck_assert(is_asked("interrupt.request/1", "\"hold_ms\":5000"));
    answer("interrupt.request/1", "q1?", MORTISE_S_OK, "{\"approved\":true}");
    hears(
        "{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"result\":{\"action\":\"accept\","
        "\"content\":{}}}");
    say(QUESTION("q2"));
    say(QUESTION("q3"));
    ck_assert(is_asked("interrupt.request/1", "for 'y': q2?"));
    ck_assert(is_asked("interrupt.request/1", "for 'z': q3?"));
    say("{\"method\":\"notifications/"
        "cancelled\",\"params\":{\"requestId\":\"q3\""
        "}}");
    answer("interrupt.request/1", "q3?", MORTISE_S_OK, "{\"approved\":true}");
    ck_assert(!is_asked("process.write/1", "q3"));
    answer("interrupt.request/1", "q2?", MORTISE_S_SUSPENDED, "later");
    ended(2, MORTISE_S_SUSPENDED, "");
    hears("notifications/cancelled");
    hears("\"action\":\"cancel\"");
    say("{\"id\":6,\"result\":{\"content\":[]}}");
    done(3, "content");
    say(QUESTION("q4")); /* nobody's */
    hears("{\"jsonrpc\":\"2.0\",\"id\":\"q4\",\"result\":{\"action\":"
          "\"cancel\"}}");
    say("{\"id\":0,\"method\":\"ping\"}");
    hears("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
    say("{\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{}}");
    hears("-32601");
}
END_TEST

/* The answer to the call comes while a person is asked: the person's is nobody's. */
START_TEST(nobody_waits_for_the_person)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    say(QUESTION("q1"));
    say("{\"id\":4,\"result\":{\"content\":[]}}");
    done(1, "content");
    answer("interrupt.request/1", "q1?", MORTISE_S_CANCELLED, "over");
    ck_assert(!is_asked("process.write/1", ""));
}
END_TEST

/* A refusal did nothing; any other error leaves that open. */
START_TEST(errors_say_what_happened)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    say("{\"id\":4,\"error\":{\"code\":-32602,\"message\":\"no\"}}");
    answer("journal.end/1", "undone", MORTISE_S_OK, "null");
    ended(1, MORTISE_S_FAILED, "mcp.refused");
    ck_assert_str_eq(end_of(1)->words,
                     "the server rejected the call (-32602): no");
    call(2, "x");
    hears("tools/call");
    say("{\"id\":5,\"error\":{\"code\":-32603,\"message\":\"oops\"}}");
    ended(2, MORTISE_S_DOUBT, "mcp.refused");
    call(3, "nope");
    answer("journal.end/1", "undone", MORTISE_S_OK, "null");
    ended(3, MORTISE_S_FAILED, "mcp.unknown_tool");
}
END_TEST

/* A result that the host does not take has happened. */
START_TEST(results_that_are_not_taken)
{
    call(1, "x");
    start_legacy();
    list(3);
    hears("tools/call");
    say("{\"id\":4,\"result\":{\"content\":[],\"content\":[1]}}");
    answer("journal.end/1", "content", MORTISE_S_INVALID, "no JSON");
    answer("journal.end/1",
           "\"result\":{\"content\":[1],\"mortise.mended\":{\"what\":[",
           MORTISE_S_INVALID, "too large");
    answer("journal.end/1", "\"result\":{\"resultType\":\"invalid\"",
           MORTISE_S_OK, "null");
    ended(1, MORTISE_S_FAILED, "mcp.protocol");
}
END_TEST

/* A call that is entered again asks the same, by the same names, and needs no
 * server for what it has done before. */
START_TEST(entered_again)
{
    static const char result[] =
        "{\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s\","
        "\"inputRequests\":{\"k\":{\"method\":\"elicitation/"
        "create\",\"params\":{"
        "\"message\":\"q\",\"requestedSchema\":{\"properties\":{}}}}}}}";
    mortise_request r = {.size = sizeof r, .call = 1};

    for (int i = 0; i < 2; i++) {
        r.call = (mortise_call)i + 1;
        r.operation = mortise_strz("call");
        r.body = mortise_strz("{\"server\":\"s\",\"tool\":\"x\"}");
        ck_assert_int_eq(executor->execute(inst, &r), MORTISE_S_PENDING);
        answer("journal.begin/1", "\"step\":\"call\"", MORTISE_S_OK, result);
        answer("interrupt.request/1", "\"step\":\"question-1\"",
               i == 0 ? MORTISE_S_SUSPENDED : MORTISE_S_OK,
               "{\"approved\":false}");
        ck_assert(!is_asked("process.spawn/1", ""));
    }
    ended(1, MORTISE_S_SUSPENDED, "");
    answer("journal.begin/1", "\"answers\":{\"k\":{\"action\":\"decline\"}}",
           MORTISE_S_OK, "{\"result\":{\"content\":[]}}");
    ended(2, MORTISE_S_OK, "");
}
END_TEST

/* A result that asks too much at once asks nothing of anybody. */
START_TEST(asks_too_much)
{
    static char result[64 << 10];
    mortise_request r = {.size = sizeof r, .call = 1};
    size_t n;

    snprintf(result, sizeof result,
             "{\"result\":{\"resultType\":\"input_required\","
             "\"requestState\":\"s\",\"inputRequests\":{\"k\":1");
    for (int i = 0; i < 256; i++) {
        n = strlen(result);
        snprintf(result + n, sizeof result - n,
                 ",\"k%d\":{\"method\":\"roots/list\"}", i);
    }
    n = strlen(result);
    snprintf(result + n, sizeof result - n, "}}}");
    r.operation = mortise_strz("call");
    r.body = mortise_strz("{\"server\":\"s\",\"tool\":\"x\"}");
    ck_assert_int_eq(executor->execute(inst, &r), MORTISE_S_PENDING);
    answer("journal.begin/1", "\"step\":\"call\"", MORTISE_S_OK, result);
    ended(1, MORTISE_S_FAILED, "mcp.protocol");
}
END_TEST

/* A task that never stops asking is left, whatever it asks. */
START_TEST(tasks_ask_no_end)
{
    mortise_request r = {.size = sizeof r, .call = 1};
    char text[256];

    r.operation = mortise_strz("call");
    r.body = mortise_strz("{\"server\":\"s\",\"tool\":\"x\"}");
    ck_assert_int_eq(executor->execute(inst, &r), MORTISE_S_PENDING);
    answer("journal.begin/1", "\"step\":\"call\"", MORTISE_S_OK,
           "{\"result\":{\"resultType\":\"task\",\"taskId\":\"t\"}}");
    for (int i = 0; i <= MCP_ROUNDS_MAX; i++) {
        ck_assert_ptr_null(end_of(1));
        answer("timer.wait/1", "", MORTISE_S_OK, "null");
        snprintf(text, sizeof text,
                 "{\"result\":{\"status\":\"input_required\","
                 "\"inputRequests\":{\"k%d\":{\"method\":\"roots/list\"}}}}",
                 i);
        answer("journal.begin/1", "\"step\":\"poll-", MORTISE_S_OK, text);
        if (i < MCP_ROUNDS_MAX)
            answer("journal.begin/1", "\"step\":\"answer-", MORTISE_S_OK,
                   "{\"result\":{}}");
    }
    ended(1, MORTISE_S_FAILED, "mcp.task");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("mcp_flow");
    TCase *tc = tcase_create("mcp_flow");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, answers_come_in_any_order);
    tcase_add_test(tc, cancelled_anywhere);
    tcase_add_test(tc, the_server_ends);
    tcase_add_test(tc, discovery_is_survived_once);
    tcase_add_test(tc, questions_find_their_calls);
    tcase_add_test(tc, nobody_waits_for_the_person);
    tcase_add_test(tc, errors_say_what_happened);
    tcase_add_test(tc, results_that_are_not_taken);
    tcase_add_test(tc, no_list_is_no_use);
    tcase_add_test(tc, lists_that_never_hold);
    tcase_add_test(tc, empty_cursors_may_be_none);
    tcase_add_test(tc, the_same_page_again_is_the_end);
    tcase_add_test(tc, cursors_may_go_in_a_circle);
    tcase_add_test(tc, unreadable_answers_end_their_calls);
    tcase_add_test(tc, entered_again);
    tcase_add_test(tc, asks_too_much);
    tcase_add_test(tc, tasks_ask_no_end);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
