/* responses_request.c -- POST /responses: what is asked.
 *
 * Stateless: nothing is stored there (`store: false`), and what was reasoned
 * comes with the reply, encrypted, and goes back with it.
 *
 * The way back   A reply is a list of items, and each part has the item that it
 *                came in as its `provider` data ({} where the part before it
 *                has it).  A message all parts of which are this issuer's goes
 *                back as those items, untouched: the server refuses a message
 *                without the reasoning before it, or reasoning without what
 *                followed.
 *                All or nothing: with one part that is another's, or that
 *                somebody changed and took the data from, the message is
 *                written anew, without ids and without reasoning.
 *                Reasoning that nothing follows (the reply was cut) is left
 *                out; and a message of which some reasoning came without its
 *                content is written anew: the server would look for it by its
 *                id. */
#include "dialects.h"

#include <string.h>

#include "fits.h"

/* ---- contents ------------------------------------------------------------ */

static void open_typed(struct body *b, const char *type)
{
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "type");
    mortise_jw_cstr(&b->w, type);
}

static void write_file(struct body *b, mortise_jv part)
{
    mortise_jv name = mortise_jv_get(part, "name");

    open_typed(b, "input_file");
    if (mortise_jv_get(part, "url").n > 0) {
        mortise_jw_key(&b->w, "file_url");
    } else {
        mortise_jw_key(&b->w, "filename");
        if (name.n > 0)
            mortise_jw_value(&b->w, name);
        else
            mortise_jw_cstr(&b->w, "file");
        mortise_jw_key(&b->w, "file_data");
    }
    request_url(b, part);
}

static void write_content(struct body *b, mortise_jv part)
{
    if (request_is(part, "type", "text")) {
        open_typed(b, "input_text");
        mortise_jw_key(&b->w, "text");
        mortise_jw_value(&b->w, mortise_jv_get(part, "text"));
    } else if (request_is(part, "type", "image")) {
        open_typed(b, "input_image");
        mortise_jw_key(&b->w, "image_url");
        request_url(b, part);
    } else if (request_is(part, "type", "file")) {
        write_file(b, part);
    } else {
        request_refuse(b, "an input message cannot have a part of this type");
        return;
    }
    mortise_jw_end(&b->w);
}

/* Texts alone are one text, which every server takes. */
static void write_contents(struct body *b, mortise_jv parts, bool is_error)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    if (!request_has_media(parts)) {
        request_joined(b, parts, is_error);
        return;
    }
    mortise_jw_array(&b->w);
    if (is_error) {
        open_typed(b, "input_text");
        mortise_jw_key(&b->w, "text");
        mortise_jw_cstr(&b->w, "error:");
        mortise_jw_end(&b->w);
    }
    while (mortise_jv_next(&it, NULL, &part))
        write_content(b, part);
    mortise_jw_end(&b->w);
}

/* ---- items --------------------------------------------------------------- */

static void open_message(struct body *b, const char *role)
{
    open_typed(b, "message");
    mortise_jw_key(&b->w, "role");
    mortise_jw_cstr(&b->w, role);
    mortise_jw_key(&b->w, "content");
}

static void write_input(struct body *b, const char *role, mortise_jv parts)
{
    open_message(b, role);
    write_contents(b, parts, false);
    mortise_jw_end(&b->w);
}

static void write_call(struct body *b, mortise_jv call)
{
    open_typed(b, "function_call");
    mortise_jw_key(&b->w, "call_id");
    mortise_jw_value(&b->w, mortise_jv_get(call, "id"));
    mortise_jw_key(&b->w, "name");
    mortise_jw_value(&b->w, mortise_jv_get(call, "name"));
    mortise_jw_key(&b->w, "arguments");
    request_arguments(b, call);
    mortise_jw_end(&b->w);
}

static bool is_reasoning(mortise_jv item)
{
    return request_is(item, "type", "reasoning");
}

/* Would the server know it again? */
static bool is_complete(mortise_jv item)
{
    mortise_jv sealed = mortise_jv_get(item, "encrypted_content");

    return !is_reasoning(item) ||
           (mortise_jv_type(sealed) == MORTISE_JV_STRING && sealed.n > 2) ||
           mortise_jv_count(mortise_jv_get(item, "content")) > 0;
}

/* Can all of it go back as it came?  *last: behind the last part that is not
 * reasoning. */
static bool is_own(const struct body *b, mortise_jv parts, const char **last)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    *last = it.p;
    while (mortise_jv_next(&it, NULL, &part)) {
        mortise_jv item = request_own(b, part);

        if (mortise_jv_type(item) != MORTISE_JV_OBJECT || !is_complete(item))
            return false;
        if (!is_reasoning(item))
            *last = it.p;
    }
    return true;
}

static void write_own(struct body *b, mortise_jv parts, const char *last)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    while (it.p < last && mortise_jv_next(&it, NULL, &part)) {
        mortise_jv item = request_own(b, part);

        if (mortise_jv_count(item) > 0)
            mortise_jw_value(&b->w, item);
    }
}

static void write_assistant(struct body *b, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    const char *last;
    mortise_jv part;

    if (is_own(b, parts, &last)) {
        write_own(b, parts, last);
        return;
    }
    while (mortise_jv_next(&it, NULL, &part)) {
        if (request_is(part, "type", "tool_call")) {
            write_call(b, part);
        } else if (request_is(part, "type", "text") ||
                   request_is(part, "type", "refusal")) {
            open_message(b, "assistant");
            mortise_jw_value(&b->w, mortise_jv_get(part, "text"));
            mortise_jw_end(&b->w);
        } else if (!request_is(part, "type", "reasoning")) {
            request_refuse(b, "an assistant message cannot have pictures");
        }
    }
}

static void write_result(struct body *b, mortise_jv part, bool is_error)
{
    open_typed(b, "function_call_output");
    mortise_jw_key(&b->w, "call_id");
    mortise_jw_value(&b->w, mortise_jv_get(part, "id"));
    mortise_jw_key(&b->w, "output");
    write_contents(b, mortise_jv_get(part, "parts"), is_error);
    mortise_jw_end(&b->w);
}

static void write_items(struct body *b, mortise_jv_iter it)
{
    mortise_jv message;

    while (mortise_jv_next(&it, NULL, &message)) {
        mortise_jv parts = mortise_jv_get(message, "parts");

        if (request_is(message, "role", "assistant"))
            write_assistant(b, parts);
        else if (request_is(message, "role", "tool"))
            request_results(b, parts, write_result);
        else
            write_input(
                b, request_is(message, "role", "system") ? "system" : "user",
                parts);
    }
}

/* ---- the others ---------------------------------------------------------- */

/* `strict` is said always: the server's own idea is true, and it refuses a
 * schema then that does not suit. */
static void write_tool(struct body *b, mortise_jv tool)
{
    open_typed(b, "function");
    request_tool(b, tool);
    mortise_jw_key(&b->w, "strict");
    mortise_jw_bool(&b->w, fits_strict(mortise_jv_get(tool, "parameters")));
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
    open_typed(b, "function");
    mortise_jw_key(&b->w, "name");
    mortise_jw_value(&b->w, mortise_jv_get(choice, "name"));
    mortise_jw_end(&b->w);
}

static void write_tools(struct body *b)
{
    mortise_jv tools = request_get(b, "tools"), tool;
    mortise_jv_iter it = mortise_jv_each(tools);

    if (mortise_jv_count(tools) == 0)
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

    if (response.n == 0 || !request_member(b, "text"))
        return;
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "format");
    if (mortise_jv_get(response, "schema").n == 0) {
        open_typed(b, "json_object");
    } else {
        open_typed(b, "json_schema");
        request_schema(b, response);
    }
    mortise_jw_end(&b->w);
    mortise_jw_end(&b->w);
}

static void write_state(struct body *b)
{
    if (request_member(b, "store"))
        mortise_jw_bool(&b->w, 0);
    if (!request_member(b, "include"))
        return;
    mortise_jw_array(&b->w);
    mortise_jw_cstr(&b->w, "reasoning.encrypted_content");
    mortise_jw_end(&b->w);
}

static void write_effort(struct body *b)
{
    mortise_jv effort = request_get(b, "reasoning_effort");

    if (effort.n == 0 || !request_member(b, "reasoning"))
        return;
    mortise_jw_object(&b->w);
    mortise_jw_key(&b->w, "effort");
    mortise_jw_value(&b->w, effort);
    mortise_jw_end(&b->w);
}

void responses_ask(struct body *b)
{
    if (mortise_jv_count(request_get(b, "stop")) > 0)
        request_refuse(b, "the Responses API does not support stop texts");
    request_copy(b, "model", "model");
    if (request_member(b, "input"))
        request_messages(b, write_items);
    write_state(b);
    write_tools(b);
    request_copy(b, "temperature", "temperature");
    request_copy(b, "max_output_tokens", "max_tokens");
    write_effort(b);
    write_response(b);
    if (b->stream && request_member(b, "stream"))
        mortise_jw_bool(&b->w, 1);
}
