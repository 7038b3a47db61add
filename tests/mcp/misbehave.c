/* misbehave.c -- what servers do that they should not, in the middle of a call.
 *
 * The table has the words.  What is said besides the answer comes before it,
 * unless the word says otherwise; the answer is "misbehaved". */
#include "mcpd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is said -------------------------------------------------------- */

static void raw(struct mcpd_request *r, const char *text)
{
    mcpd_wire->raw(r->to, text, strlen(text));
}

static void fill(struct mcpd_request *r, const char *piece, size_t times)
{
    size_t n = strlen(piece);
    char *all = malloc(n * times);

    for (size_t i = 0; i < times; i++)
        memcpy(all + i * n, piece, n);
    mcpd_wire->raw(r->to, all, n * times);
    free(all);
}

/* The answer, or one with that for its id. */
static char *answer(const struct mcpd_request *r, const char *id,
                    const char *result)
{
    char *own = json_dumps(r->id, JSON_ENCODE_ANY), *out;

    if (result == NULL)
        result = r->modern ? "{\"resultType\":\"complete\",\"content\":[{"
                             "\"type\":\"text\",\"text\":\"misbehaved\"}]}"
                           : "{\"content\":[{\"type\":\"text\",\"text\":"
                             "\"misbehaved\"}]}";
    if (asprintf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}",
                 id != NULL ? id : own, result) < 0)
        abort();
    free(own);
    return out;
}

/* A line of that, which need not be a message; with an answer it is over. */
static void line(struct mcpd_request *r, const char *text, enum mcpd_saying s)
{
    void *to = r->to;

    if (s == MCPD_ANSWER)
        mcpd_drop(r);
    mcpd_wire->say(to, text, strlen(text), s, 0);
}

static void line_as(struct mcpd_request *r, const char *id, const char *result,
                    enum mcpd_saying s)
{
    char *text = answer(r, id, result);

    line(r, text, s);
    free(text);
}

static void end_as(struct mcpd_request *r, const char *result)
{
    line_as(r, NULL, result, MCPD_ANSWER);
}

static void end(void *ud)
{
    end_as(ud, NULL);
}

static size_t bytes(const struct mcpd_request *r, size_t otherwise)
{
    const json_t *n =
        json_object_get(json_object_get(r->params, "arguments"), "bytes");

    return n != NULL ? (size_t)json_integer_value(n) : otherwise;
}

static int ms(const struct mcpd_request *r, int otherwise)
{
    const json_t *n =
        json_object_get(json_object_get(r->params, "arguments"), "ms");

    return n != NULL ? (int)json_integer_value(n) : otherwise;
}

/* All of the answer was written, piece by piece. */
static void end_raw(struct mcpd_request *r)
{
    if (mcpd_wire->http)
        mcpd_wire->cut(r->to);
    mcpd_drop(r);
}

static void effect(const struct mcpd_request *r)
{
    const char *label = json_string_value(
        json_object_get(json_object_get(r->params, "arguments"), "label"));

    mcpd_effect(label != NULL ? label : "-");
}

/* ---- ends of the process ------------------------------------------------- */

static void die(struct mcpd_request *r)
{
    (void)r;
    _exit(1);
}

static void die_after(struct mcpd_request *r)
{
    effect(r);
    _exit(1);
}

static void be_killed(struct mcpd_request *r)
{
    effect(r);
    fputs("last words\n", stderr);
    kill(getpid(), SIGKILL);
}

static void half_and_die(struct mcpd_request *r)
{
    char *text = answer(r, NULL, NULL);

    mcpd_wire->raw(r->to, text, strlen(text) / 2);
    _exit(1);
}

static void answer_and_die(struct mcpd_request *r)
{
    end(r);
    _exit(1);
}

static void close_stdout(struct mcpd_request *r)
{
    close(STDOUT_FILENO);
    mcpd_drop(r);
}

static void stop_reading(struct mcpd_request *r)
{
    (void)r;
    sleep((unsigned)ms(r, 60000) / 1000);
    end(r);
}

static void cut(struct mcpd_request *r)
{
    void *to = r->to;

    mcpd_drop(r);
    mcpd_wire->cut(to);
}

static void cut_after(struct mcpd_request *r)
{
    effect(r);
    cut(r);
}

static void status(struct mcpd_request *r)
{
    void *to = r->to;
    int code = (int)bytes(r, 500);

    mcpd_drop(r);
    mcpd_wire->status(to, code);
}

/* ---- no answers, and too many -------------------------------------------- */

static void never(struct mcpd_request *r)
{
    mcpd_drop(r);
}

static void late(struct mcpd_request *r)
{
    r->late = true;
}

static void twice(struct mcpd_request *r)
{
    line_as(r, NULL, NULL, MCPD_MESSAGE);
    end(r);
}

static void unknown_id(struct mcpd_request *r)
{
    line_as(r, "987654321", NULL, MCPD_MESSAGE);
    mcpd_after(ms(r, 0), end, r);
}

/* The text of a number is not that number. */
static void string_id(struct mcpd_request *r)
{
    char *own = json_dumps(r->id, JSON_ENCODE_ANY), *as;

    if (asprintf(&as, json_is_string(r->id) ? "0%s" : "\"%s\"", own) < 0)
        abort();
    if (json_is_string(r->id))
        strcpy(as, "0");
    line_as(r, as, "{\"content\":[],\"isError\":true}", MCPD_MESSAGE);
    free(as);
    free(own);
    mcpd_after(ms(r, 50), end, r);
}

static void null_id(struct mcpd_request *r)
{
    line(r,
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
         "\"message\":\"Parse error\"}}",
         MCPD_MESSAGE);
    mcpd_after(ms(r, 50), end, r);
}

static void no_id(struct mcpd_request *r)
{
    line(r, "{\"jsonrpc\":\"2.0\",\"result\":{\"content\":[]}}", MCPD_MESSAGE);
    mcpd_after(ms(r, 50), end, r);
}

/* ---- lines --------------------------------------------------------------- */

static void split(struct mcpd_request *r)
{
    char *text = answer(r, NULL, NULL);

    for (char *p = text; *p != '\0'; p++) {
        mcpd_wire->raw(r->to, p, 1);
        usleep(200);
    }
    raw(r, "\n");
    free(text);
    end_raw(r);
}

static void half(struct mcpd_request *r)
{
    char *text = answer(r, NULL, NULL);

    mcpd_wire->raw(r->to, text, strlen(text) / 2);
    free(text);
    mcpd_drop(r);
}

static void long_line(struct mcpd_request *r)
{
    fill(r, "x", bytes(r, 20 << 20));
    raw(r, "\n");
    mcpd_after(ms(r, 50), end, r);
}

/* A valid answer, but for its length. */
static void long_answer(struct mcpd_request *r)
{
    size_t n = bytes(r, 20 << 20);
    char *text = malloc(n + 64);

    strcpy(text, "{\"content\":[{\"type\":\"text\",\"text\":\"");
    memset(text + strlen(text), 'x', n);
    strcpy(text + 36 + n, "\"}]}");
    end_as(r, text);
    free(text);
}

static void endless_line(struct mcpd_request *r)
{
    size_t left = bytes(r, (size_t)256 << 20);

    while (left > 0) {
        size_t n = left < 1 << 20 ? left : 1 << 20;

        fill(r, "x", n);
        left -= n;
    }
    raw(r, "\n");
    end(r);
}

static void bad_utf8(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\xfe"
              "b\"}]}");
}

static void surrogate(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\ud800b\"}]}");
}

static void escaped_nul(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000b\"}]}");
}

static void nul(struct mcpd_request *r)
{
    static const char text[] = "{\"jsonrpc\":\0 \"2.0\"}\n";

    mcpd_wire->raw(r->to, text, sizeof text - 1);
    end(r);
}

static void bad_json(struct mcpd_request *r)
{
    raw(r, "{\"jsonrpc\":\"2.0\",\"id\":\n}}}}\nnot JSON\n\n   \n\"text\"\n12\n"
           "null\n[]\n[1]\n{}\n");
    mcpd_after(ms(r, 20), end, r);
}

static void batch(struct mcpd_request *r)
{
    char *text = answer(r, NULL, "{\"content\":[],\"isError\":true}");

    raw(r, "[");
    raw(r, text);
    raw(r, "]\n");
    free(text);
    mcpd_after(ms(r, 50), end, r);
}

static void deep(struct mcpd_request *r)
{
    size_t n = bytes(r, 10000);

    raw(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":");
    fill(r, "{\"a\":", n);
    raw(r, "1");
    fill(r, "}", n);
    raw(r, "}\n");
    mcpd_after(ms(r, 50), end, r);
}

static void duplicate_keys(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[{\"type\":\"text\",\"text\":\"first\",\"text\":"
              "\"second\"}]}");
}

static void big_number(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[],\"structuredContent\":{\"n\":1e400}}");
}

static void big_integer(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[],\"structuredContent\":{\"n\":"
              "123456789012345678901234567890}}");
}

static void nan_value(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[],\"structuredContent\":{\"n\":NaN}}");
}

/* A member that is no JSON, behind the id. */
static void broken(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[}");
}

/* Deeper than what is recorded. */
static void too_deep(struct mcpd_request *r)
{
    char text[1024] = "{\"content\":[],\"structuredContent\":";

    for (int i = 0; i < 200; i++)
        strcat(text, "[");
    for (int i = 0; i < 200; i++)
        strcat(text, "]");
    strcat(text, "}");
    end_as(r, text);
}

static void carriage_return(struct mcpd_request *r)
{
    char *text = answer(r, NULL, NULL);

    raw(r, text);
    raw(r, "\r\n");
    free(text);
    end_raw(r);
}

static void flood(struct mcpd_request *r)
{
    size_t n = bytes(r, 100000) / 100;

    for (size_t i = 0; i < n; i++) {
        mcpd_notify(r, "notifications/progress",
                    json_pack("{s:s, s:I}", "progressToken", "nobody's",
                              "progress", (json_int_t)i));
        mcpd_notify(
            r, "notifications/message",
            json_pack("{s:s, s:s}", "level", "emergency", "data", "again"));
        fprintf(stderr, "line %zu of very many that nobody wants to read\n", i);
    }
    mcpd_notify(r, "notifications/no/such/thing", NULL);
    end(r);
}

static void changes(struct mcpd_request *r)
{
    for (int i = 0; i < 1000; i++)
        mcpd_announce();
    end(r);
}

/* ---- answers that are none ----------------------------------------------- */

static void result_type(struct mcpd_request *r)
{
    end_as(r, "{\"resultType\":\"surprise\",\"content\":[]}");
}

static void no_result(struct mcpd_request *r)
{
    char *own = json_dumps(r->id, JSON_ENCODE_ANY), *text;

    if (asprintf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s}", own) < 0)
        abort();
    line(r, text, MCPD_ANSWER);
    free(text);
    free(own);
}

static void both(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[]},\"error\":{\"code\":1,\"message\":\"x\"}");
}

static void null_error(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[]},\"error\":null");
}

static void result_text(struct mcpd_request *r)
{
    end_as(r, "\"text\"");
}

static void no_content(struct mcpd_request *r)
{
    end_as(r, r->modern ? "{\"resultType\":\"complete\"}" : "{}");
}

static void error_text(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],"
              "\"isError\":\"true\"}");
}

static void odd_content(struct mcpd_request *r)
{
    end_as(r, "{\"content\":[1,null,{\"type\":7},{\"type\":\"text\"},{\"type\":"
              "\"hologram\",\"x\":1},{\"type\":\"text\",\"text\":\"misbehaved"
              "\"}]}");
}

static void content_object(struct mcpd_request *r)
{
    end_as(r, "{\"content\":{\"type\":\"text\",\"text\":\"x\"}}");
}

static void error(struct mcpd_request *r)
{
    mcpd_error(r, -32603, "Internal error", mcpd_json("{'why': 'told to'}"));
}

static void odd_error(struct mcpd_request *r)
{
    char *own = json_dumps(r->id, JSON_ENCODE_ANY), *text;

    if (asprintf(&text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":"
                 "\"x\",\"message\":[]}}",
                 own) < 0)
        abort();
    line(r, text, MCPD_ANSWER);
    free(text);
    free(own);
}

/* ---- asking -------------------------------------------------------------- */

static void told(struct mcpd_request *r, json_t *answered)
{
    char *text = json_dumps(answered, JSON_COMPACT | JSON_SORT_KEYS);

    mcpd_result(r, mcpd_text("%s", text));
    free(text);
}

static void ask_for(struct mcpd_request *r, const char *method,
                    const char *params)
{
    if (!r->modern)
        mcpd_ask(r, method, mcpd_json(params), told);
    else
        mcpd_result(r, json_pack("{s:s, s:{s:{s:s, s:o}}, s:s}", "resultType",
                                 "input_required", "inputRequests", "who",
                                 "method", method, "params", mcpd_json(params),
                                 "requestState", "again"));
}

/* 2026: for ever, as the state that comes back is the one that went. */
static void ask_endlessly(struct mcpd_request *r)
{
    ask_for(r, "elicitation/create",
            "{'message': 'Again?', 'requestedSchema': {'type': 'object', "
            "'properties': {}}}");
}

static void ask_unknown(struct mcpd_request *r)
{
    ask_for(r, "client/reboot", "{}");
}

static void ask_odd(struct mcpd_request *r)
{
    ask_for(r, "elicitation/create",
            "{'message': 7, 'requestedSchema': {'type': 'array'}}");
}

static void ask_nothing(struct mcpd_request *r)
{
    end_as(r, "{\"resultType\":\"input_required\"}");
}

static const struct {
    const char *how;
    void (*run)(struct mcpd_request *);
} words[] = {
    {"die", die}, /* before the effect, and after it */
    {"die-after", die_after},
    {"kill", be_killed},
    {"half-die", half_and_die},
    {"answer-die", answer_and_die},
    {"close-stdout", close_stdout},
    {"cut", cut}, /* its connection */
    {"cut-after", cut_after},
    {"status", status}, /* of HTTP: `bytes` */
    {"stop-reading", stop_reading},
    {"never", never},
    {"late", late}, /* when it is cancelled */
    {"twice", twice},
    {"unknown-id", unknown_id},
    {"string-id", string_id},
    {"null-id", null_id},
    {"no-id", no_id},
    {"split", split}, /* a byte at a time */
    {"half", half},   /* of a line, and no more */
    {"long", long_line},
    {"long-answer", long_answer},
    {"endless-line", endless_line},
    {"bad-utf8", bad_utf8},
    {"surrogate", surrogate},
    {"escaped-nul", escaped_nul},
    {"nul", nul},
    {"bad-json", bad_json},
    {"batch", batch},
    {"deep", deep},
    {"duplicate-keys", duplicate_keys},
    {"big-number", big_number},
    {"big-integer", big_integer},
    {"nan", nan_value},
    {"broken", broken},
    {"too-deep", too_deep},
    {"crlf", carriage_return},
    {"flood", flood},
    {"changes", changes},
    {"result-type", result_type},
    {"no-result", no_result},
    {"both", both},
    {"null-error", null_error},
    {"result-text", result_text},
    {"no-content", no_content},
    {"error-text", error_text},
    {"odd-content", odd_content},
    {"content-object", content_object},
    {"error", error},
    {"odd-error", odd_error},
    {"ask-endlessly", ask_endlessly},
    {"ask-unknown", ask_unknown},
    {"ask-odd", ask_odd},
    {"ask-nothing", ask_nothing},
};

void mcpd_misbehave(struct mcpd_request *r, const json_t *args)
{
    const char *how = json_string_value(json_object_get(args, "how"));

    for (size_t i = 0; how != NULL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].how, how) == 0) {
            words[i].run(r);
            return;
        }
    mcpd_error(r, -32602, "no such word", NULL);
}
