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
        request_refuse(b, "a user message cannot have a part of this type");
    } else if (mortise_jv_get(part, "data").n == 0) {
        request_refuse(b, "the chat API needs the data of a file, not its URL");
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

/* Messages behind each other. */
struct run {
    mortise_jv_iter at;
    const char *end; /* of the last one; NULL: there is none */
};

static bool next_of(struct run *r, mortise_jv *message)
{
    return r->end != NULL && r->at.p < r->end &&
           mortise_jv_next(&r->at, NULL, message);
}

/* Their texts, a blank line in between. */
static void write_texts(struct body *b, struct run r)
{
    const char *between = "";
    mortise_jv message, part;

    mortise_jw_string_begin(&b->w);
    while (next_of(&r, &message)) {
        mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));

        while (mortise_jv_next(&it, NULL, &part)) {
            mortise_jw_string_put(&b->w, mortise_strz(between));
            request_put(b, mortise_jv_get(part, "text"));
            between = "\n\n";
        }
    }
    mortise_jw_string_end(&b->w);
}

static bool has_media(struct run r)
{
    mortise_jv message;

    while (next_of(&r, &message))
        if (request_has_media(mortise_jv_get(message, "parts")))
            return true;
    return false;
}

static void write_parts(struct body *b, struct run r)
{
    mortise_jv message, part;

    while (next_of(&r, &message)) {
        mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));

        while (mortise_jv_next(&it, NULL, &part))
            write_part(b, part);
    }
}

static void write_system(struct body *b, struct run r)
{
    if (has_media(r))
        request_refuse(b, "a system message can have only text");
    open_message(b, "system");
    mortise_jw_key(&b->w, "content");
    write_texts(b, r);
    mortise_jw_end(&b->w);
}

/* The members of an object, behind others. */
static void write_opaque(struct body *b, mortise_jv object)
{
    mortise_jv_iter it = mortise_jv_each(object);
    mortise_jv name, value;

    while (it.is_object && mortise_jv_next(&it, &name, &value)) {
        mortise_jw_keyn(&b->w, request_text(b, name));
        mortise_jw_value(&b->w, value);
    }
}

/* The arguments are what the model wrote, byte by byte, where that is known:
 * so the server has them in its cache. */
static void write_call(struct body *b, mortise_jv call)
{
    mortise_jv own = request_own(b, call);
    mortise_jv wrote = mortise_jv_get(own, "arguments");

    open_part(b, "function");
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "name");
    mortise_jw_value(&b->w, mortise_jv_get(call, "name"));
    mortise_jw_key(&b->w, "arguments");
    if (wrote.n > 0)
        mortise_jw_value(&b->w, wrote);
    else
        request_arguments(b, call);
    write_opaque(b, mortise_jv_get(own, "function"));
    mortise_jw_end(&b->w);
    mortise_jw_key(&b->w, "id");
    mortise_jw_value(&b->w, mortise_jv_get(call, "id"));
    write_opaque(b, mortise_jv_get(own, "call"));
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

/* What was reasoned, if it is this server's and was in that place. */
static mortise_jv reasoned(const struct body *b, mortise_jv part, bool in_parts)
{
    mortise_jv in = mortise_jv_get(request_own(b, part), "in");

    return request_is(part, "type", "reasoning") && in.n > 0 &&
                   in_parts == mortise_jv_is(in, mortise_strz(CHAT_THINKING))
               ? mortise_jv_get(part, "text")
               : mortise_jv_none();
}

static bool has_thinking(const struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    while (mortise_jv_next(&it, NULL, &part))
        if (reasoned(b, part, true).n > 0)
            return true;
    return false;
}

/* Content in parts, as a server gave it. */
static void write_thinking(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    mortise_jw_array(&b->w);
    while (mortise_jv_next(&it, NULL, &part)) {
        mortise_jv text = reasoned(b, part, true);

        if (text.n > 0) {
            open_part(b, "thinking");
            mortise_jw_array(&b->w);
            open_part(b, "text");
            mortise_jw_value(&b->w, text);
            mortise_jw_end(&b->w);
            mortise_jw_end(&b->w);
            mortise_jw_end(&b->w);
        } else if (request_is(part, "type", "text") ||
                   request_is(part, "type", "refusal")) {
            open_part(b, "text");
            mortise_jw_value(&b->w, mortise_jv_get(part, "text"));
            mortise_jw_end(&b->w);
        }
    }
    mortise_jw_end(&b->w);
}

static void write_content(struct body *b, mortise_jv parts)
{
    mortise_jw_key(&b->w, "content");
    if (has_thinking(b, parts))
        write_thinking(b, parts);
    else if (has(parts, "tool_call") && !has(parts, "text") &&
             !has(parts, "refusal"))
        mortise_jw_null(&b->w);
    else
        request_joined(b, parts, false);
}

static void write_calls(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    if (!has(parts, "tool_call"))
        return;
    mortise_jw_key(&b->w, "tool_calls");
    mortise_jw_array(&b->w);
    while (mortise_jv_next(&it, NULL, &part))
        if (request_is(part, "type", "tool_call"))
            write_call(b, part);
    mortise_jw_end(&b->w);
}

/* What only the server understands: under the names that it came under. */
static void write_beside(struct body *b, mortise_jv part)
{
    mortise_jv own = request_own(b, part);
    mortise_jv text = reasoned(b, part, false);

    if (!request_is(part, "type", "reasoning"))
        return;
    if (text.n > 0) {
        mortise_jw_keyn(&b->w, request_text(b, mortise_jv_get(own, "in")));
        mortise_jw_value(&b->w, text);
    }
    write_opaque(b, mortise_jv_get(own, "message"));
}

static void write_assistant(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    if (has(parts, "image") || has(parts, "file"))
        request_refuse(b, "an assistant message cannot have pictures");
    open_message(b, "assistant");
    write_content(b, parts);
    write_calls(b, parts);
    while (mortise_jv_next(&it, NULL, &part))
        write_beside(b, part);
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
static void write_media(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts), inner;
    mortise_jv result, part;

    while (mortise_jv_next(&it, NULL, &result)) {
        if (!request_has_media(mortise_jv_get(result, "parts")))
            continue;
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

/* Do results of these messages have pictures or files? */
static bool have_media(struct run results)
{
    mortise_jv message, result;

    while (next_of(&results, &message)) {
        mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));

        while (mortise_jv_next(&it, NULL, &result))
            if (request_has_media(mortise_jv_get(result, "parts")))
                return true;
    }
    return false;
}

/* ---- turns --------------------------------------------------------------- */

enum role { NOBODY, SYSTEM, USER, ASSISTANT, CALLS, TOOL };

/* CALLS: an assistant's that calls tools. */
static enum role role_of(mortise_jv message)
{
    if (request_is(message, "role", "system"))
        return SYSTEM;
    if (request_is(message, "role", "user"))
        return USER;
    if (request_is(message, "role", "tool"))
        return TOOL;
    return has(mortise_jv_get(message, "parts"), "tool_call") ? CALLS
                                                              : ASSISTANT;
}

/* The messages that come next and are of one of the roles, if any; *it is then
 * behind them. */
static struct run take_run(mortise_jv_iter *it, enum role role, enum role or)
{
    struct run r = {.at = *it};
    mortise_jv_iter ahead = *it;
    mortise_jv message;

    while (mortise_jv_next(&ahead, NULL, &message) &&
           (role_of(message) == role || role_of(message) == or)) {
        r.end = message.p + message.n;
        *it = ahead;
    }
    return r;
}

/* What the conversation is written with. */
struct turns {
    struct body *b;
    mortise_jv_iter it;
    enum role last; /* who spoke */
};

/* Somebody has to speak there, for servers where turns alternate. */
static void fill(struct turns *t, const char *role, const char *words)
{
    if (!t->b->inst->alternate)
        return;
    open_message(t->b, role);
    mortise_jw_key(&t->b->w, "content");
    mortise_jw_cstr(&t->b->w, words);
    mortise_jw_end(&t->b->w);
}

/* All that the user says there is one message: ahead of it what the results
 * before have besides text.  Texts alone are one text, which every server takes.
 */
static void write_user(struct turns *t, struct run results)
{
    struct body *b = t->b;
    bool media = have_media(results);
    struct run said =
        take_run(&t->it, USER, b->inst->alternate ? SYSTEM : USER);
    mortise_jv message;

    if (!media && said.end == NULL)
        return;
    if (t->last == TOOL)
        fill(t, "assistant", "I have seen the results.");
    t->last = USER;
    open_message(b, "user");
    mortise_jw_key(&b->w, "content");
    if (media || has_media(said)) {
        mortise_jw_array(&b->w);
        while (media && next_of(&results, &message))
            write_media(b, mortise_jv_get(message, "parts"));
        write_parts(b, said);
        mortise_jw_end(&b->w);
    } else {
        write_texts(b, said);
    }
    mortise_jw_end(&b->w);
}

/* Results of a tool are text.  What else they have comes in a message of the
 * user's behind all of them: nothing may stand between. */
static void write_tools_turn(struct turns *t)
{
    struct run results = take_run(&t->it, TOOL, TOOL), each = results;
    mortise_jv message;

    while (next_of(&each, &message))
        request_results(t->b, mortise_jv_get(message, "parts"), write_result);
    t->last = TOOL;
    write_user(t, results);
}

static void write_system_turn(struct turns *t)
{
    if (t->b->inst->alternate && t->last > SYSTEM) {
        write_user(t, (struct run){.end = NULL});
        return;
    }
    write_system(t->b, take_run(&t->it, SYSTEM, SYSTEM));
    t->last = SYSTEM;
}

static void write_assistant_turn(struct turns *t, mortise_jv message)
{
    if (t->last != USER && t->last != TOOL)
        fill(t, "user", "Go on.");
    write_assistant(t->b, mortise_jv_get(message, "parts"));
    t->last = role_of(message);
}

/* Who spoke before that place. */
static enum role role_before(struct body *b, const char *place)
{
    mortise_jv_iter it = mortise_jv_each(request_get(b, "messages"));
    enum role last = NOBODY;
    mortise_jv message;

    if (!b->inst->alternate)
        return last;
    while (mortise_jv_next(&it, NULL, &message) && message.p < place)
        last = role_of(message);
    return last;
}

static void write_messages(struct body *b, mortise_jv_iter it)
{
    struct turns t = {.b = b, .it = it, .last = role_before(b, it.p)};
    mortise_jv_iter ahead = it;
    mortise_jv message;

    for (; mortise_jv_next(&ahead, NULL, &message); ahead = t.it)
        switch (role_of(message)) {
        case TOOL:
            write_tools_turn(&t);
            break;
        case USER:
            write_user(&t, (struct run){.end = NULL});
            break;
        case SYSTEM:
            write_system_turn(&t);
            break;
        default:
            t.it = ahead;
            write_assistant_turn(&t, message);
        }
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
