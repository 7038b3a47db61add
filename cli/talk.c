/* talk.c -- prints conversations with models.
 *
 *    asks     work                 default: Find the three largest
 *    says     work                 default
 *      I shall look.
 *    calls    work                 text__grep {"pattern": "error"}
 *    gave     work                 text__grep, 12 ms: {"lines": [...
 *    says     work                 default
 *      There are three:
 *      ...
 *    used     work                 120 in, 31 out, $0.0004; in all 310 in ...
 *
 * The text of a reply is streamed as long as no other output interrupts it:
 * that of the execution whose piece arrived first, until the reply is complete.
 * Replies of other executions are printed when they are complete.  A reply
 * whose streaming was interrupted is printed again as a whole. */
#include "cli/talk.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/json/value.h"

enum { INDENT = 4, LINE = 1024 };

bool mortise_talk_is_event(const char *type)
{
    static const char *const types[] = {"model_call", "model_reply",
                                        "tool_call",  "tool_result",
                                        "text_delta", "reasoning_delta"};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* ---- lines -------------------------------------------------------------- */

void mortise_talk_break_line(struct mortise_talk *t)
{
    if (t->in_line)
        mortise_out_puts(t->out, "\n");
    t->in_line = false;
    t->in_pieces = t->open[0] != '\0';
}

/* Print one line: word, execution, and the text as far as it fits the terminal.
 */
static void print_talk_line(struct mortise_talk *t, const json_t *event,
                            enum mortise_style style, const char *word,
                            const char *text)
{
    char name[MORTISE_CLI_EXECUTION];

    mortise_talk_break_line(t);
    mortise_out_put_margin_line(
        t->out, style, word,
        t->bare ? NULL : mortise_cli_format_execution(event, name), text);
}

/* Print "WORDS JSON"; a string is printed without quotes. */
static void print_folded_value(struct mortise_talk *t, const json_t *event,
                               enum mortise_style style, const char *word,
                               const char *words, const json_t *value)
{
    struct mortise_buf b;

    mortise_buf_init(&b, t->out->mem);
    mortise_buf_puts(&b, words);
    if (json_is_string(value))
        mortise_buf_puts(&b, json_string_value(value));
    else if (value != NULL && mortise_json_write(&b, value) != MORTISE_OK)
        mortise_buf_puts(&b, "...");
    print_talk_line(t, event, style, word,
                    mortise_buf_cstr(&b) != NULL ? b.p : words);
    mortise_buf_finish(&b);
}

/* ---- messages ----------------------------------------------------------- */

static void print_data_part(struct mortise_talk *t, const json_t *part)
{
    const char *url = mortise_cli_get_text(part, "url");

    mortise_out_put_cell(t->out, "", t->bare ? 0 : INDENT);
    mortise_out_print_escaped(t->out, "[%s %s%s",
                              mortise_cli_get_text(part, "type"), url,
                              mortise_cli_get_text(part, "media_type"));
    if (url[0] == '\0')
        mortise_out_printf(
            t->out, ", %llu bytes in base64",
            (unsigned long long)mortise_cli_get_integer(part, "data_bytes"));
    mortise_out_puts(t->out, "]\n");
}

static bool is_talk_part(const json_t *part, const char *type)
{
    return strcmp(mortise_cli_get_text(part, "type"), type) == 0;
}

/* Print the parts of a message, except tool calls and results. */
static void print_message_parts(struct mortise_talk *t, const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const json_t *text = json_object_get(part, "text");
        bool thought = is_talk_part(part, "reasoning");

        if (is_talk_part(part, "image") || is_talk_part(part, "file"))
            print_data_part(t, part);
        if (text == NULL || json_string_length(text) == 0 ||
            (thought && !t->whole))
            continue;
        mortise_out_set_style(t->out, thought ? MORTISE_DIM : MORTISE_PLAIN);
        mortise_out_put_text(t->out, json_string_value(text),
                             t->bare ? 0 : INDENT);
        mortise_out_set_style(t->out, MORTISE_PLAIN);
    }
}

static void print_whole_message(struct mortise_talk *t, const json_t *event,
                                const char *word, const json_t *message)
{
    print_talk_line(t, event, MORTISE_DIM, word, "");
    print_message_parts(t, message);
}

/* ---- model calls -------------------------------------------------------- */

/* Print a result that has no event of its own: as text if it is one text part,
 * otherwise as JSON. */
static void print_tool_result(struct mortise_talk *t, const json_t *event,
                              const json_t *part)
{
    const json_t *parts = json_object_get(part, "parts");
    const json_t *text = json_object_get(json_array_get(parts, 0), "text");
    bool failed = json_is_true(json_object_get(part, "is_error"));
    char words[LINE];

    snprintf(words, sizeof words, "%s: ", mortise_cli_get_text(part, "name"));
    print_folded_value(t, event, failed ? MORTISE_BAD : MORTISE_DIM,
                       failed ? "failed" : "gave", words,
                       text != NULL && json_array_size(parts) == 1 ? text
                                                                   : parts);
}

static void print_tool_results(struct mortise_talk *t, const json_t *event,
                               const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts"))
        if (is_talk_part(part, "tool_result"))
            print_tool_result(t, event, part);
}

static bool is_tool_message(const json_t *message)
{
    return strcmp(mortise_cli_get_text(message, "role"), "tool") == 0;
}

/* Get the first text of the last message. */
static const char *get_first_text(const json_t *messages)
{
    const json_t *last =
        json_array_get(messages, json_array_size(messages) - 1);

    MORTISE_JSON_EACH (part, i, json_object_get(last, "parts"))
        if (json_object_get(part, "text") != NULL)
            return mortise_cli_get_text(part, "text");
    return "";
}

static void print_model_call(struct mortise_talk *t, const json_t *event)
{
    const json_t *messages = json_object_get(event, "messages");
    const char *gist = get_first_text(messages);
    char words[LINE];

    MORTISE_JSON_EACH (one, i, messages) {
        if (is_tool_message(one))
            print_tool_results(t, event, one);
        else if (t->whole)
            print_whole_message(t, event, mortise_cli_get_text(one, "role"),
                                one);
    }
    if (t->whole || t->bare)
        return;
    snprintf(words, sizeof words, "%s%s%s",
             mortise_cli_get_text(event, "alias"), gist[0] != '\0' ? ": " : "",
             gist);
    words[strcspn(words, "\n")] = '\0';
    print_talk_line(t, event, MORTISE_DIM, "asks", words);
}

/* ---- model replies ------------------------------------------------------ */

static void print_reply_head(struct mortise_talk *t, const json_t *event)
{
    if (!t->bare)
        print_talk_line(t, event, MORTISE_GOOD, "says",
                        mortise_cli_get_text(event, "alias"));
}

static void print_text_piece(struct mortise_talk *t, const json_t *event)
{
    const char *path = mortise_cli_get_text(event, "path");
    const char *s = mortise_cli_get_text(event, "text");

    if (t->open[0] == '\0' && strlen(path) < sizeof t->open) {
        print_reply_head(t, event);
        strcpy(t->open, path);
        t->in_line = t->in_pieces = false;
    }
    if (strcmp(t->open, path) != 0 || t->in_pieces)
        return;
    while (*s != '\0') {
        size_t n = strcspn(s, "\n");

        if (!t->in_line && n > 0)
            mortise_out_put_cell(t->out, "", t->bare ? 0 : INDENT);
        mortise_out_put_piece(t->out, s, n);
        t->in_line = n > 0 || t->in_line;
        s += n;
        if (*s != '\n')
            break;
        mortise_out_puts(t->out, "\n");
        t->in_line = false;
        s++;
    }
}

/* End the streaming of the event's execution.  True if the whole text was
 * streamed without interruption. */
static bool end_streamed_reply(struct mortise_talk *t, const json_t *event)
{
    const char *path = mortise_cli_get_text(event, "path");
    bool is_open = t->open[0] != '\0' && strcmp(t->open, path) == 0;
    bool seen = is_open && !t->in_pieces;

    if (is_open && t->in_line)
        mortise_out_puts(t->out, "\n");
    if (is_open) {
        t->open[0] = '\0';
        t->in_line = t->in_pieces = false;
    }
    return seen;
}

static void format_usage(char *out, size_t n, uint64_t input, uint64_t output,
                         double usd)
{
    int at = snprintf(out, n, "%llu in, %llu out", (unsigned long long)input,
                      (unsigned long long)output);

    if (usd > 0 && (size_t)at < n)
        snprintf(out + at, n - (size_t)at, ", $%.*f", usd < 0.1 ? 6 : 2, usd);
}

static void print_reply_usage(struct mortise_talk *t, const json_t *event)
{
    const json_t *used = json_object_get(event, "usage");
    uint64_t input = mortise_cli_get_integer(used, "input_tokens");
    uint64_t output = mortise_cli_get_integer(used, "output_tokens");
    double usd = json_number_value(json_object_get(used, "usd"));
    char one[128], all[128], words[LINE];

    t->input += input;
    t->output += output;
    t->usd += usd;
    if (t->bare || t->whole || input + output == 0)
        return;
    format_usage(one, sizeof one, input, output, usd);
    format_usage(all, sizeof all, t->input, t->output, t->usd);
    snprintf(words, sizeof words, "%s; in all %s", one, all);
    print_talk_line(t, event, MORTISE_DIM, "used", words);
}

static void print_tool_calls(struct mortise_talk *t, const json_t *event,
                             const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const json_t *arguments = json_object_get(part, "arguments");
        char words[LINE];

        if (!is_talk_part(part, "tool_call"))
            continue;
        snprintf(words, sizeof words, "%s ",
                 mortise_cli_get_text(part, "name"));
        print_folded_value(t, event, MORTISE_PLAIN, "calls", words,
                           arguments != NULL
                               ? arguments
                               : json_object_get(part, "arguments_text"));
    }
}

/* Describe why the reply is incomplete; NULL: it is complete. */
static const char *describe_stop(const char *stop)
{
    static const struct {
        const char *stop, *words;
    } cuts[] = {{"length", "cut at max_tokens"},
                {"context", "cut: the model's window is full"},
                {"refusal", "refused"},
                {"filter", "the server removed a part"},
                {"other", "ended for an unknown reason"}};

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        if (strcmp(stop, cuts[i].stop) == 0)
            return cuts[i].words;
    return NULL;
}

static bool has_printable_text(const struct mortise_talk *t,
                               const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts"))
        if (json_string_length(json_object_get(part, "text")) > 0 &&
            (t->whole || !is_talk_part(part, "reasoning")))
            return true;
    return false;
}

static void print_model_reply(struct mortise_talk *t, const json_t *event)
{
    const json_t *error = json_object_get(event, "error");
    const json_t *reply = json_object_get(event, "reply");
    const json_t *message = json_object_get(reply, "message");
    const char *cut = describe_stop(mortise_cli_get_text(reply, "stop"));
    bool seen = end_streamed_reply(t, event);
    char words[LINE];

    MORTISE_JSON_EACH (one, i, json_object_get(event, "told"))
        if (!t->bare)
            print_whole_message(t, event, "told", one);
    if (error != NULL) {
        snprintf(words, sizeof words, "%s, %s: %s",
                 mortise_cli_get_text(event, "alias"),
                 mortise_cli_get_text(error, "code"),
                 mortise_cli_get_text(error, "message"));
        print_talk_line(t, event, MORTISE_BAD, "fails", words);
    }
    if (!seen && has_printable_text(t, message)) {
        print_reply_head(t, event);
        print_message_parts(t, message);
    } else if (t->whole && json_is_true(json_object_get(reply, "held"))) {
        print_reply_head(t, event);
        mortise_out_put_text(t->out, "(withheld: guardrails check it)", INDENT);
    }
    print_tool_calls(t, event, message);
    if (cut != NULL)
        print_talk_line(t, event, MORTISE_ATTENTION, "ends", cut);
    print_reply_usage(t, event);
}

/* ---- tools -------------------------------------------------------------- */

/* Calls by a model are printed with its reply. */
static void print_invoked_tool(struct mortise_talk *t, const json_t *event)
{
    char words[LINE];

    if (json_object_get(event, "tool_use_id") != NULL)
        return;
    snprintf(words, sizeof words, "%s ", mortise_cli_get_text(event, "tool"));
    print_folded_value(t, event, MORTISE_PLAIN, "calls", words,
                       json_object_get(event, "arguments"));
}

const json_t *mortise_talk_get_edited_args(const json_t *event)
{
    return strcmp(mortise_cli_get_text(event, "type"), "decision") == 0
               ? json_object_get(json_object_get(event, "value"), "args")
               : NULL;
}

/* The call was printed with the model's arguments; print the edited ones. */
static void print_edited_arguments(struct mortise_talk *t, const json_t *event)
{
    const json_t *args = mortise_talk_get_edited_args(event);
    char words[LINE];

    if (args == NULL)
        return;
    snprintf(words, sizeof words, "by %s, with edited arguments: ",
             mortise_cli_get_text(event, "actor"));
    print_folded_value(t, event, MORTISE_PLAIN, "approved", words, args);
}

static void print_invoked_result(struct mortise_talk *t, const json_t *event)
{
    const json_t *error = json_object_get(event, "error");
    const json_t *output = json_object_get(event, "output");
    const char *to = mortise_cli_get_text(event, "goto");
    char words[LINE] = "", took[32];

    if (to[0] != '\0') {
        print_talk_line(t, event, MORTISE_PLAIN, "goes to", to);
        return;
    }
    if (json_object_get(event, "tool") != NULL)
        snprintf(words, sizeof words,
                 "%s, %s: ", mortise_cli_get_text(event, "tool"),
                 mortise_out_format_duration(
                     mortise_cli_get_integer(event, "ms"), took));
    if (error != NULL)
        print_folded_value(t, event, MORTISE_BAD, "failed", words,
                           json_object_get(error, "message"));
    else
        print_folded_value(t, event, MORTISE_DIM, "gave", words,
                           output != NULL ? output
                                          : json_object_get(event, "text"));
}

/* ---- events ------------------------------------------------------------- */

void mortise_talk_print_event(struct mortise_talk *t, const char *type,
                              const json_t *event)
{
    static const struct {
        const char *type;
        void (*show)(struct mortise_talk *t, const json_t *event);
    } shows[] = {{"model_call", print_model_call},
                 {"text_delta", print_text_piece},
                 {"model_reply", print_model_reply},
                 {"tool_call", print_invoked_tool},
                 {"decision", print_edited_arguments},
                 {"tool_result", print_invoked_result}};

    for (size_t i = 0; i < sizeof shows / sizeof shows[0]; i++)
        if (strcmp(type, shows[i].type) == 0)
            shows[i].show(t, event);
}

void mortise_talk_print_total(const struct mortise_talk *t)
{
    char words[128];

    if (t->input + t->output == 0)
        return;
    format_usage(words, sizeof words, t->input, t->output, t->usd);
    mortise_out_put_styled(t->out, MORTISE_DIM, words, 0);
    mortise_out_puts(t->out, "\n");
}
