/* chat_request.c -- POST /chat/completions: what is asked. */
#include "dialects.h"

#include <string.h>

#include "fits.h"

/* ---- parts --------------------------------------------------------------- */

/* {"type": TYPE, TYPE: {: the caller closes both. */
static void open_part(struct body *b, const char *type)
{
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "type");
    mortise_jw_cstr(&b->w, type);
    mortise_jw_key(&b->w, type);
}

/* Sound has a part of its own, for which its type is called by one word. */
static bool is_sound(mortise_jv part, const char **format)
{
    static const char *const types[][2] = {{"audio/wav", "wav"},
                                           {"audio/x-wav", "wav"},
                                           {"audio/mpeg", "mp3"},
                                           {"audio/mp3", "mp3"}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (request_is(part, "media_type", types[i][0])) {
            *format = types[i][1];
            return true;
        }
    return false;
}

static void write_file(struct body *b, mortise_jv part)
{
    mortise_jv name = mortise_jv_get(part, "name");
    const char *format;

    if (is_sound(part, &format)) {
        open_part(b, "input_audio");
        mortise_jw_object(&b->w);
        mortise_jw_key(&b->w, "data");
        mortise_jw_value(&b->w, mortise_jv_get(part, "data"));
        mortise_jw_key(&b->w, "format");
        mortise_jw_cstr(&b->w, format);
    } else {
        open_part(b, "file");
        mortise_jw_object(&b->w);
        mortise_jw_key(&b->w, "filename");
        if (name.n > 0)
            mortise_jw_value(&b->w, name);
        else
            mortise_jw_cstr(&b->w, "file");
        mortise_jw_key(&b->w, "file_data");
        request_url(b, part);
    }
    mortise_jw_end(&b->w);
    mortise_jw_end(&b->w);
}

static void write_part(struct body *b, mortise_jv part)
{
    if (request_is(part, "type", "text")) {
        open_part(b, "text");
        mortise_jw_value(&b->w, mortise_jv_get(part, "text"));
        mortise_jw_end(&b->w);
    } else if (request_is(part, "type", "image")) {
        open_part(b, "image_url");
        mortise_jw_object(&b->w);
        mortise_jw_key(&b->w, "url");
        request_url(b, part);
        mortise_jw_end(&b->w);
        mortise_jw_end(&b->w);
    } else if (!request_is(part, "type", "file")) {
        request_refuse(b, "such a part cannot be in a message of a user's");
    } else if (mortise_jv_get(part, "data").n == 0) {
        request_refuse(b, "a chat takes the data of a file, and not its URL");
    } else {
        write_file(b, part);
    }
}

/* ---- messages ------------------------------------------------------------ */

static void open_message(struct body *b, const char *role)
{
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "role");
    mortise_jw_cstr(&b->w, role);
}

/* Texts alone are one text, which every server takes. */
static void write_user(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    open_message(b, "user");
    mortise_jw_key(&b->w, "content");
    if (request_has_media(parts)) {
        mortise_jw_array(&b->w);
        while (mortise_jv_next(&it, NULL, &part))
            write_part(b, part);
        mortise_jw_end(&b->w);
    } else {
        request_joined(b, parts, false);
    }
    mortise_jw_end(&b->w);
}

static void write_system(struct body *b, mortise_jv parts)
{
    if (request_has_media(parts))
        request_refuse(b, "a system message has text only");
    open_message(b, "system");
    mortise_jw_key(&b->w, "content");
    request_joined(b, parts, false);
    mortise_jw_end(&b->w);
}

/* The arguments are what the model wrote, byte by byte, where that is known:
 * so the server has them in its cache. */
static void write_call(struct body *b, mortise_jv call)
{
    mortise_jv wrote = mortise_jv_get(request_own(b, call), "arguments");

    open_part(b, "function");
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "name");
    mortise_jw_value(&b->w, mortise_jv_get(call, "name"));
    mortise_jw_key(&b->w, "arguments");
    if (wrote.n > 0)
        mortise_jw_value(&b->w, wrote);
    else
        request_arguments(b, call);
    mortise_jw_end(&b->w);
    mortise_jw_key(&b->w, "id");
    mortise_jw_value(&b->w, mortise_jv_get(call, "id"));
    mortise_jw_end(&b->w);
}

static bool has(mortise_jv parts, const char *type)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    while (mortise_jv_next(&it, NULL, &part))
        if (request_is(part, "type", type))
            return true;
    return false;
}

/* What was reasoned is not sent: a chat has no place for it. */
static void write_assistant(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    bool calls = has(parts, "tool_call");
    mortise_jv part;

    if (has(parts, "image") || has(parts, "file"))
        request_refuse(b, "a message of the assistant's has no pictures");
    open_message(b, "assistant");
    mortise_jw_key(&b->w, "content");
    if (calls && !has(parts, "text") && !has(parts, "refusal"))
        mortise_jw_null(&b->w);
    else
        request_joined(b, parts, false);
    if (calls) {
        mortise_jw_key(&b->w, "tool_calls");
        mortise_jw_array(&b->w);
        while (mortise_jv_next(&it, NULL, &part))
            if (request_is(part, "type", "tool_call"))
                write_call(b, part);
        mortise_jw_end(&b->w);
    }
    mortise_jw_end(&b->w);
}

static void write_result(struct body *b, mortise_jv part, bool is_error)
{
    open_message(b, "tool");
    mortise_jw_key(&b->w, "tool_call_id");
    mortise_jw_value(&b->w, mortise_jv_get(part, "id"));
    mortise_jw_key(&b->w, "content");
    request_joined(b, mortise_jv_get(part, "parts"), is_error);
    mortise_jw_end(&b->w);
}

/* Pictures and files of a message's results: the text says of which. */
static void write_media(struct body *b, mortise_jv parts, bool *open)
{
    mortise_jv_iter it = mortise_jv_each(parts), inner;
    mortise_jv result, part;

    while (mortise_jv_next(&it, NULL, &result)) {
        if (!request_has_media(mortise_jv_get(result, "parts")))
            continue;
        if (!*open) {
            open_message(b, "user");
            mortise_jw_key(&b->w, "content");
            mortise_jw_array(&b->w);
            *open = true;
        }
        open_part(b, "text");
        mortise_jw_string_begin(&b->w);
        mortise_jw_string_put(&b->w, mortise_strz("The result of call "));
        request_put(b, mortise_jv_get(result, "id"));
        mortise_jw_string_put(&b->w, mortise_strz(" has:"));
        mortise_jw_string_end(&b->w);
        mortise_jw_end(&b->w);
        inner = mortise_jv_each(mortise_jv_get(result, "parts"));
        while (mortise_jv_next(&inner, NULL, &part))
            if (!request_is(part, "type", "text"))
                write_part(b, part);
    }
}

/* Results of a tool are text.  What else those have that start where `from` is
 * comes in a message of the user's behind all of them: nothing may stand
 * between. */
static void write_media_of(struct body *b, mortise_jv_iter from,
                           const char *behind)
{
    mortise_jv message;
    bool open = false;

    while (mortise_jv_next(&from, NULL, &message) && message.p < behind)
        write_media(b, mortise_jv_get(message, "parts"), &open);
    if (open) {
        mortise_jw_end(&b->w);
        mortise_jw_end(&b->w);
    }
}

static void write_message(struct body *b, mortise_jv message)
{
    mortise_jv parts = mortise_jv_get(message, "parts");

    if (request_is(message, "role", "system"))
        write_system(b, parts);
    else if (request_is(message, "role", "user"))
        write_user(b, parts);
    else if (request_is(message, "role", "assistant"))
        write_assistant(b, parts);
    else
        request_results(b, parts, write_result);
}

static void write_messages(struct body *b, mortise_jv_iter it)
{
    mortise_jv_iter before = it, results = it;
    bool in_results = false;
    mortise_jv message;

    while (mortise_jv_next(&it, NULL, &message)) {
        bool is_tool = request_is(message, "role", "tool");

        if (in_results && !is_tool)
            write_media_of(b, results, message.p);
        if (is_tool && !in_results)
            results = before;
        in_results = is_tool;
        write_message(b, message);
        before = it;
    }
    if (in_results)
        write_media_of(b, results, it.end);
}

/* ---- the others ---------------------------------------------------------- */

static void write_tool(struct body *b, mortise_jv tool)
{
    open_part(b, "function");
    mortise_jw_object(&b->w);
    request_tool(b, tool);
    mortise_jw_end(&b->w);
    mortise_jw_end(&b->w);
}

static void write_tool_choice(struct body *b)
{
    mortise_jv choice = request_get(b, "tool_choice");

    if (choice.n == 0 || !request_member(b, "tool_choice"))
        return;
    if (mortise_jv_type(choice) != MORTISE_JV_OBJECT) {
        mortise_jw_value(&b->w, choice);
        return;
    }
    open_part(b, "function");
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "name");
    mortise_jw_value(&b->w, mortise_jv_get(choice, "name"));
    mortise_jw_end(&b->w);
    mortise_jw_end(&b->w);
}

/* Servers refuse an empty list, and a choice among none. */
static void write_tools(struct body *b)
{
    mortise_jv_iter it = mortise_jv_each(request_get(b, "tools"));
    mortise_jv tool;

    if (mortise_jv_count(request_get(b, "tools")) == 0)
        return;
    if (request_member(b, "tools")) {
        mortise_jw_array(&b->w);
        while (mortise_jv_next(&it, NULL, &tool))
            write_tool(b, tool);
        mortise_jw_end(&b->w);
    }
    write_tool_choice(b);
    request_copy(b, "parallel_tool_calls", "parallel_tools");
}

static void write_response(struct body *b)
{
    mortise_jv response = request_get(b, "response");

    if (response.n == 0 || !request_member(b, "response_format"))
        return;
    if (mortise_jv_get(response, "schema").n == 0) {
        mortise_jw_object(&b->w);
        mortise_jw_key(&b->w, "type");
        mortise_jw_cstr(&b->w, "json_object");
    } else {
        open_part(b, "json_schema");
        mortise_jw_object(&b->w);
        request_schema(b, response);
        mortise_jw_end(&b->w);
    }
    mortise_jw_end(&b->w);
}

static void write_stream(struct body *b)
{
    if (!b->stream)
        return;
    if (request_member(b, "stream"))
        mortise_jw_bool(&b->w, 1);
    if (!request_member(b, "stream_options"))
        return;
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "include_usage");
    mortise_jw_bool(&b->w, 1);
    mortise_jw_end(&b->w);
}

void chat_ask(struct body *b)
{
    request_copy(b, "model", "model");
    if (request_member(b, "messages"))
        request_messages(b, write_messages);
    write_tools(b);
    request_copy(b, "temperature", "temperature");
    request_copy(b, b->inst->max_tokens, "max_tokens");
    request_copy(b, "stop", "stop");
    request_copy(b, "reasoning_effort", "reasoning_effort");
    write_response(b);
    write_stream(b);
}
