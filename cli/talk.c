/* talk.c -- conversations with models, as people read them.
 *
 *     asks     work                 default: Find the three largest
 *     says     work                 default
 *       I shall look.
 *     calls    work                 text__grep {"pattern": "error"}
 *     gave     work                 text__grep, 12 ms: {"lines": [...
 *     says     work                 default
 *       There are three:
 *       ...
 *     used     work                 120 in, 31 out, $0.0004; in all 310 in ...
 *
 * Text of a model is shown as it comes, as long as nothing else has to be shown
 * in between: of the execution whose piece came first, until its reply is there.
 * Others that are told meanwhile are shown whole, when they are there.  What was
 * not seen in one piece is shown again as a whole. */
#include "cli/talk.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/json/value.h"

enum { INDENT = 4, LINE = 1024 };

bool mortise_talk_is_about(const char *type)
{
    static const char *const types[] = {"model_call", "model_reply",
                                        "tool_call",  "tool_result",
                                        "text_delta", "reasoning_delta"};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* ---- lines ----------------------------------------------------------------- */

void mortise_talk_break(struct mortise_talk *t)
{
    if (t->in_line)
        mortise_out_puts(t->out, "\n");
    t->in_line = false;
    t->in_pieces = t->open[0] != '\0';
}

/* One line: who, what, and as much of the text as fits a terminal. */
static void line(struct mortise_talk *t, const json_t *event,
                 enum mortise_style style, const char *word, const char *text)
{
    char name[MORTISE_CLI_EXECUTION];

    mortise_talk_break(t);
    mortise_out_margin(t->out, style, word,
                       t->bare ? NULL : mortise_cli_execution(event, name),
                       text);
}

/* "WORDS JSON", where a text is as it is. */
static void fold(struct mortise_talk *t, const json_t *event,
                 enum mortise_style style, const char *word, const char *words,
                 const json_t *value)
{
    struct mortise_buf b;

    mortise_buf_init(&b, t->out->mem);
    mortise_buf_puts(&b, words);
    if (json_is_string(value))
        mortise_buf_puts(&b, json_string_value(value));
    else if (value != NULL && mortise_json_write(&b, value) != MORTISE_OK)
        mortise_buf_puts(&b, "...");
    line(t, event, style, word, mortise_buf_cstr(&b) != NULL ? b.p : words);
    mortise_buf_finish(&b);
}

/* ---- messages -------------------------------------------------------------- */

static void put_data(struct mortise_talk *t, const json_t *part)
{
    const char *url = mortise_cli_text(part, "url");

    mortise_out_cell(t->out, "", t->bare ? 0 : INDENT);
    mortise_out_say(t->out, "[%s %s%s", mortise_cli_text(part, "type"), url,
                    mortise_cli_text(part, "media_type"));
    if (url[0] == '\0')
        mortise_out_printf(
            t->out, ", %llu bytes in base64",
            (unsigned long long)mortise_cli_integer(part, "data_bytes"));
    mortise_out_puts(t->out, "]\n");
}

static bool is_part(const json_t *part, const char *type)
{
    return strcmp(mortise_cli_text(part, "type"), type) == 0;
}

/* What stands in the parts of a message, but for what is folded. */
static void put_parts(struct mortise_talk *t, const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const json_t *text = json_object_get(part, "text");
        bool thought = is_part(part, "reasoning");

        if (is_part(part, "image") || is_part(part, "file"))
            put_data(t, part);
        if (text == NULL || json_string_length(text) == 0 ||
            (thought && !t->whole))
            continue;
        mortise_out_style(t->out, thought ? MORTISE_DIM : MORTISE_PLAIN);
        mortise_out_text(t->out, json_string_value(text), t->bare ? 0 : INDENT);
        mortise_out_style(t->out, MORTISE_PLAIN);
    }
}

static void put_message(struct mortise_talk *t, const json_t *event,
                        const char *word, const json_t *message)
{
    line(t, event, MORTISE_DIM, word, "");
    put_parts(t, message);
}

/* ---- asked ------------------------------------------------------------------ */

/* A result that no event of its own has: a text as it is, else its parts. */
static void put_result(struct mortise_talk *t, const json_t *event,
                       const json_t *part)
{
    const json_t *parts = json_object_get(part, "parts");
    const json_t *text = json_object_get(json_array_get(parts, 0), "text");
    bool failed = json_is_true(json_object_get(part, "is_error"));
    char words[LINE];

    snprintf(words, sizeof words, "%s: ", mortise_cli_text(part, "name"));
    fold(t, event, failed ? MORTISE_BAD : MORTISE_DIM,
         failed ? "failed" : "gave", words,
         text != NULL && json_array_size(parts) == 1 ? text : parts);
}

static void put_results(struct mortise_talk *t, const json_t *event,
                        const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts"))
        if (is_part(part, "tool_result"))
            put_result(t, event, part);
}

static bool is_of_tools(const json_t *message)
{
    return strcmp(mortise_cli_text(message, "role"), "tool") == 0;
}

/* The first words of the last message. */
static const char *gist_of(const json_t *messages)
{
    const json_t *last =
        json_array_get(messages, json_array_size(messages) - 1);

    MORTISE_JSON_EACH (part, i, json_object_get(last, "parts"))
        if (json_object_get(part, "text") != NULL)
            return mortise_cli_text(part, "text");
    return "";
}

static void show_call(struct mortise_talk *t, const json_t *event)
{
    const json_t *messages = json_object_get(event, "messages");
    const char *gist = gist_of(messages);
    char words[LINE];

    MORTISE_JSON_EACH (one, i, messages) {
        if (is_of_tools(one))
            put_results(t, event, one);
        else if (t->whole)
            put_message(t, event, mortise_cli_text(one, "role"), one);
    }
    if (t->whole || t->bare)
        return;
    snprintf(words, sizeof words, "%s%s%s", mortise_cli_text(event, "alias"),
             gist[0] != '\0' ? ": " : "", gist);
    words[strcspn(words, "\n")] = '\0';
    line(t, event, MORTISE_DIM, "asks", words);
}

/* ---- answered --------------------------------------------------------------- */

static void begin_reply(struct mortise_talk *t, const json_t *event)
{
    if (!t->bare)
        line(t, event, MORTISE_GOOD, "says", mortise_cli_text(event, "alias"));
}

static void show_piece(struct mortise_talk *t, const json_t *event)
{
    const char *path = mortise_cli_text(event, "path");
    const char *s = mortise_cli_text(event, "text");

    if (t->open[0] == '\0' && strlen(path) < sizeof t->open) {
        begin_reply(t, event);
        strcpy(t->open, path);
        t->in_line = t->in_pieces = false;
    }
    if (strcmp(t->open, path) != 0 || t->in_pieces)
        return;
    while (*s != '\0') {
        size_t n = strcspn(s, "\n");

        if (!t->in_line && n > 0)
            mortise_out_cell(t->out, "", t->bare ? 0 : INDENT);
        mortise_out_piece(t->out, s, n);
        t->in_line = n > 0 || t->in_line;
        s += n;
        if (*s != '\n')
            break;
        mortise_out_puts(t->out, "\n");
        t->in_line = false;
        s++;
    }
}

/* Its text was seen as it came, from the first to the last of it. */
static bool was_seen(struct mortise_talk *t, const json_t *event)
{
    const char *path = mortise_cli_text(event, "path");
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

static void put_amounts(char *out, size_t n, uint64_t input, uint64_t output,
                        double usd)
{
    int at = snprintf(out, n, "%llu in, %llu out", (unsigned long long)input,
                      (unsigned long long)output);

    if (usd > 0 && (size_t)at < n)
        snprintf(out + at, n - (size_t)at, ", $%.*f", usd < 0.1 ? 6 : 2, usd);
}

static void show_usage(struct mortise_talk *t, const json_t *event)
{
    const json_t *used = json_object_get(event, "usage");
    uint64_t input = mortise_cli_integer(used, "input_tokens");
    uint64_t output = mortise_cli_integer(used, "output_tokens");
    double usd = json_number_value(json_object_get(used, "usd"));
    char one[128], all[128], words[LINE];

    t->input += input;
    t->output += output;
    t->usd += usd;
    if (t->bare || t->whole || input + output == 0)
        return;
    put_amounts(one, sizeof one, input, output, usd);
    put_amounts(all, sizeof all, t->input, t->output, t->usd);
    snprintf(words, sizeof words, "%s; in all %s", one, all);
    line(t, event, MORTISE_DIM, "used", words);
}

static void show_tool_calls(struct mortise_talk *t, const json_t *event,
                            const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const json_t *arguments = json_object_get(part, "arguments");
        char words[LINE];

        if (!is_part(part, "tool_call"))
            continue;
        snprintf(words, sizeof words, "%s ", mortise_cli_text(part, "name"));
        fold(t, event, MORTISE_PLAIN, "calls", words,
             arguments != NULL ? arguments
                               : json_object_get(part, "arguments_text"));
    }
}

/* Why it is not all that there was to be said. */
static const char *cut_words(const char *stop)
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

static bool has_text(const struct mortise_talk *t, const json_t *message)
{
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts"))
        if (json_string_length(json_object_get(part, "text")) > 0 &&
            (t->whole || !is_part(part, "reasoning")))
            return true;
    return false;
}

static void show_reply(struct mortise_talk *t, const json_t *event)
{
    const json_t *error = json_object_get(event, "error");
    const json_t *reply = json_object_get(event, "reply");
    const json_t *message = json_object_get(reply, "message");
    const char *cut = cut_words(mortise_cli_text(reply, "stop"));
    bool seen = was_seen(t, event);
    char words[LINE];

    MORTISE_JSON_EACH (one, i, json_object_get(event, "told"))
        if (!t->bare)
            put_message(t, event, "told", one);
    if (error != NULL) {
        snprintf(words, sizeof words, "%s, %s: %s",
                 mortise_cli_text(event, "alias"),
                 mortise_cli_text(error, "code"),
                 mortise_cli_text(error, "message"));
        line(t, event, MORTISE_BAD, "fails", words);
    }
    if (!seen && has_text(t, message)) {
        begin_reply(t, event);
        put_parts(t, message);
    } else if (t->whole && json_is_true(json_object_get(reply, "held"))) {
        begin_reply(t, event);
        mortise_out_text(t->out, "(withheld: guardrails check it)", INDENT);
    }
    show_tool_calls(t, event, message);
    if (cut != NULL)
        line(t, event, MORTISE_ASKS, "ends", cut);
    show_usage(t, event);
}

/* ---- tools ------------------------------------------------------------------ */

/* One that a model called stands in its reply. */
static void show_invoked(struct mortise_talk *t, const json_t *event)
{
    char words[LINE];

    if (json_object_get(event, "tool_use_id") != NULL)
        return;
    snprintf(words, sizeof words, "%s ", mortise_cli_text(event, "tool"));
    fold(t, event, MORTISE_PLAIN, "calls", words,
         json_object_get(event, "arguments"));
}

const json_t *mortise_talk_edited(const json_t *event)
{
    return strcmp(mortise_cli_text(event, "type"), "decision") == 0
               ? json_object_get(json_object_get(event, "value"), "args")
               : NULL;
}

/* The call above has what the model asked for; this is what was made of it. */
static void show_edited(struct mortise_talk *t, const json_t *event)
{
    const json_t *args = mortise_talk_edited(event);
    char words[LINE];

    if (args == NULL)
        return;
    snprintf(words, sizeof words, "by %s, with edited arguments: ",
             mortise_cli_text(event, "actor"));
    fold(t, event, MORTISE_PLAIN, "approved", words, args);
}

static void show_result(struct mortise_talk *t, const json_t *event)
{
    const json_t *error = json_object_get(event, "error");
    const json_t *output = json_object_get(event, "output");
    const char *to = mortise_cli_text(event, "goto");
    char words[LINE] = "", took[32];

    if (to[0] != '\0') {
        line(t, event, MORTISE_PLAIN, "goes to", to);
        return;
    }
    if (json_object_get(event, "tool") != NULL)
        snprintf(words, sizeof words,
                 "%s, %s: ", mortise_cli_text(event, "tool"),
                 mortise_out_took(mortise_cli_integer(event, "ms"), took));
    if (error != NULL)
        fold(t, event, MORTISE_BAD, "failed", words,
             json_object_get(error, "message"));
    else
        fold(t, event, MORTISE_DIM, "gave", words,
             output != NULL ? output : json_object_get(event, "text"));
}

/* ---- all of them ------------------------------------------------------------- */

void mortise_talk_event(struct mortise_talk *t, const char *type,
                        const json_t *event)
{
    static const struct {
        const char *type;
        void (*show)(struct mortise_talk *t, const json_t *event);
    } shows[] = {{"model_call", show_call},   {"text_delta", show_piece},
                 {"model_reply", show_reply}, {"tool_call", show_invoked},
                 {"decision", show_edited},   {"tool_result", show_result}};

    for (size_t i = 0; i < sizeof shows / sizeof shows[0]; i++)
        if (strcmp(type, shows[i].type) == 0)
            shows[i].show(t, event);
}

void mortise_talk_total(const struct mortise_talk *t)
{
    char words[128];

    if (t->input + t->output == 0)
        return;
    put_amounts(words, sizeof words, t->input, t->output, t->usd);
    mortise_out_styled(t->out, MORTISE_DIM, words, 0);
    mortise_out_puts(t->out, "\n");
}
