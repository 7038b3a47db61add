/* granted.c -- what a server may have of us where the deployment says so: a
 * model (tools.mcp.NAME.sampling), and names of directories (.roots).
 *
 * A request of sampling/createMessage becomes a call of the alias that the
 * deployment says (model.call/1): recorded, and paid from the node's budget, like
 * any other.
 *
 *   (1) It hears what the server said, and nothing of the run: includeContext is
 *       no more than a wish, as are modelPreferences.
 *   (2) Tools are not offered, so there are none: a request with some is refused.
 *   (3) Texts, images and audio go through as they are; what they say is a
 *       stranger's, like all of it.
 *   (4) maxTokens is the server's, or the deployment's where that is less.
 *
 * The answer is what the model said, as one text, with its name and why it
 * stopped. */
#include "call.h"
#include "rpc.h"

enum { MESSAGES_MAX = 1024 };

int mcp_sampling_is_offered(const struct mcp_server *s)
{
    return mortise_jv_type(s->sampling) != MORTISE_JV_NONE;
}

/* ---- sampling: what is asked ------------------------------------------------- */

static int is_text(mortise_jv of, const char *name)
{
    return mortise_jv_type(mortise_jv_get(of, name)) == MORTISE_JV_STRING;
}

static int is_block(mortise_jv content)
{
    mortise_jv type = mortise_jv_get(content, "type");

    if (mortise_jv_is(type, mortise_strz("text")))
        return is_text(content, "text");
    return (mortise_jv_is(type, mortise_strz("image")) ||
            mortise_jv_is(type, mortise_strz("audio"))) &&
           is_text(content, "data") && is_text(content, "mimeType");
}

static int is_content(mortise_jv content)
{
    mortise_jv_iter it = mortise_jv_each(content);
    mortise_jv one;

    if (mortise_jv_type(content) != MORTISE_JV_ARRAY)
        return is_block(content);
    while (mortise_jv_next(&it, NULL, &one))
        if (!is_block(one))
            return 0;
    return 1;
}

static const char *judge_messages(mortise_jv messages)
{
    mortise_jv_iter it = mortise_jv_each(messages);
    uint64_t n = 0;
    mortise_jv one;

    if (mortise_jv_type(messages) != MORTISE_JV_ARRAY)
        return "a request for a model has no messages";
    while (mortise_jv_next(&it, NULL, &one)) {
        mortise_jv role = mortise_jv_get(one, "role");

        if (++n > MESSAGES_MAX)
            return "a request for a model has more than 1,024 messages";
        if ((!mortise_jv_is(role, mortise_strz("user")) &&
             !mortise_jv_is(role, mortise_strz("assistant"))) ||
            !is_content(mortise_jv_get(one, "content")))
            return "a request for a model has a message that is not from the "
                   "user or the assistant with text, images or audio";
    }
    return n > 0 ? NULL : "a request for a model has no messages";
}

const char *mcp_sampling_judge(mortise_jv params)
{
    int64_t most = 0;

    if (mortise_jv_type(mortise_jv_get(params, "tools")) != MORTISE_JV_NONE)
        return "a request for a model has tools, which are not supported";
    if (mortise_jv_int(mortise_jv_get(params, "maxTokens"), &most) !=
            MORTISE_S_OK ||
        most < 1)
        return "a request for a model has no maxTokens";
    return judge_messages(mortise_jv_get(params, "messages"));
}

static void write_cstr(mortise_jw *w, const char *name, const char *value)
{
    mortise_jw_key(w, name);
    mortise_jw_cstr(w, value);
}

static void write_value(mortise_jw *w, const char *name, mortise_jv value)
{
    if (mortise_jv_type(value) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, value);
}

static void write_part(mortise_jw *w, mortise_jv block)
{
    mortise_jv type = mortise_jv_get(block, "type");
    int is_audio = mortise_jv_is(type, mortise_strz("audio"));

    mortise_jw_object(w);
    if (mortise_jv_is(type, mortise_strz("text"))) {
        write_cstr(w, "type", "text");
        write_value(w, "text", mortise_jv_get(block, "text"));
    } else {
        write_cstr(w, "type", is_audio ? "file" : "image");
        write_value(w, "media_type", mortise_jv_get(block, "mimeType"));
        write_value(w, "data", mortise_jv_get(block, "data"));
    }
    mortise_jw_end(w);
}

static void write_message(mortise_jw *w, mortise_jv message)
{
    mortise_jv content = mortise_jv_get(message, "content"), one;
    mortise_jv_iter it = mortise_jv_each(content);

    mortise_jw_object(w);
    write_value(w, "role", mortise_jv_get(message, "role"));
    mortise_jw_key(w, "parts");
    mortise_jw_array(w);
    if (mortise_jv_type(content) != MORTISE_JV_ARRAY)
        write_part(w, content);
    else
        while (mortise_jv_next(&it, NULL, &one))
            write_part(w, one);
    mortise_jw_end(w);
    mortise_jw_end(w);
}

static void write_system(mortise_jw *w, mortise_jv text)
{
    if (mortise_jv_type(text) != MORTISE_JV_STRING)
        return;
    mortise_jw_object(w);
    write_cstr(w, "role", "system");
    mortise_jw_key(w, "parts");
    mortise_jw_array(w);
    mortise_jw_object(w);
    write_cstr(w, "type", "text");
    write_value(w, "text", text);
    mortise_jw_end(w);
    mortise_jw_end(w);
    mortise_jw_end(w);
}

/* (4) */
static int64_t most_of(const struct mcp_server *s, mortise_jv params)
{
    int64_t most = 0, allowed = 0;

    mortise_jv_int(mortise_jv_get(params, "maxTokens"), &most);
    mortise_jv_int(mortise_jv_get(s->sampling, "max_tokens"), &allowed);
    return allowed > 0 && allowed < most ? allowed : most;
}

void mcp_sampling_write(mortise_jw *w, const struct mcp_server *s,
                        mortise_jv params, const char *step)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(params, "messages"));
    mortise_jv one;

    mortise_jw_object(w);
    write_cstr(w, "step", step);
    write_value(w, "alias", mortise_jv_get(s->sampling, "alias"));
    mortise_jw_key(w, "max_tokens");
    mortise_jw_int(w, most_of(s, params));
    write_value(w, "temperature", mortise_jv_get(params, "temperature"));
    write_value(w, "stop", mortise_jv_get(params, "stopSequences"));
    mortise_jw_key(w, "messages");
    mortise_jw_array(w);
    write_system(w, mortise_jv_get(params, "systemPrompt"));
    while (mortise_jv_next(&it, NULL, &one))
        write_message(w, one);
    mortise_jw_end(w);
    mortise_jw_end(w);
}

/* ---- ... and answered ---------------------------------------------------------- */

static void write_text(mortise_jw *w, mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    struct bytes text = {0};
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one)) {
        mortise_jv type = mortise_jv_get(one, "type");

        if ((mortise_jv_is(type, mortise_strz("text")) ||
             mortise_jv_is(type, mortise_strz("refusal"))) &&
            bytes_decode(&text, mortise_jv_get(one, "text")) == MORTISE_S_NOMEM)
            w->status = MORTISE_S_NOMEM;
    }
    mortise_jw_key(w, "content");
    mortise_jw_object(w);
    write_cstr(w, "type", "text");
    mortise_jw_key(w, "text");
    mortise_jw_string(w, bytes_str(&text));
    mortise_jw_end(w);
    bytes_free(&text);
}

static void write_stop(mortise_jw *w, mortise_jv stop)
{
    if (mortise_jv_is(stop, mortise_strz("end")))
        write_cstr(w, "stopReason", "endTurn");
    else if (mortise_jv_is(stop, mortise_strz("length")) ||
             mortise_jv_is(stop, mortise_strz("context")))
        write_cstr(w, "stopReason", "maxTokens");
    else
        write_value(w, "stopReason", stop); /* it may be any text */
}

int mcp_sampling_has_failed(mortise_jv answer)
{
    return mortise_jv_type(mortise_jv_get(answer, "error")) != MORTISE_JV_NONE;
}

void mcp_sampling_put_error(struct bytes *to, mortise_jv answer)
{
    bytes_put(to, mortise_strz("the model that the server requested failed: "));
    mcp_rpc_words(
        to, mortise_jv_get(mortise_jv_get(answer, "error"), "message"), 400);
}

void mcp_sampling_fail(struct mcp_call *c, mortise_jv answer)
{
    mortise_jv error = mortise_jv_get(answer, "error");
    struct bytes words = {0};
    char code[64], klass[16];

    if (mortise_jv_cstr(mortise_jv_get(error, "code"), code, sizeof code) !=
        MORTISE_S_OK)
        snprintf(code, sizeof code, "model.failed");
    if (mortise_jv_cstr(mortise_jv_get(error, "class"), klass, sizeof klass) !=
        MORTISE_S_OK)
        snprintf(klass, sizeof klass, "permanent");
    mcp_sampling_put_error(&words, answer);
    mcp_call_fail(c, code, klass, bytes_str(&words));
    bytes_free(&words);
}

void mcp_sampling_write_answer(mortise_jw *w, mortise_jv params,
                               mortise_jv answer)
{
    mortise_jv reply = mortise_jv_get(answer, "reply");
    mortise_jv model = mortise_jv_get(reply, "model");

    (void)params;
    write_cstr(w, "role", "assistant");
    write_text(w, mortise_jv_get(mortise_jv_get(reply, "message"), "parts"));
    write_value(w, "model",
                mortise_jv_type(model) == MORTISE_JV_STRING
                    ? model
                    : mortise_jv_get(answer, "alias"));
    write_stop(w, mortise_jv_get(reply, "stop"));
}

/* ---- roots -------------------------------------------------------------------- */

void mcp_roots_write(mortise_jw *w, const struct mcp_server *s)
{
    mortise_jw_key(w, "roots");
    if (mortise_jv_type(s->roots) != MORTISE_JV_NONE) {
        mortise_jw_value(w, s->roots);
    } else {
        mortise_jw_array(w);
        mortise_jw_end(w);
    }
}
