/* output.c -- a result as the call's output.
 *
 *     a tool      {content: [...], text, structured?}: the parts as the server
 *                 has them; those that are texts, with newlines between; and
 *                 structuredContent, which the host judges by the tool's
 *                 outputSchema; and, of an answer that had to be mended
 *                 (mend.c), {mended: [...], structured_text?}: what was changed,
 *                 and structuredContent as it came
 *     `read`      {contents: [...]}
 *     `prompt`    {description?, messages: [...]}
 *     `list`      offers.c
 *
 * A result of a tool that says isError is the error mcp.tool_error.  A person who
 * settles a doubt (mortise resolve --done) may give a text, which is the content,
 * or {content, text, structured} as above, taken as they are: `step_result` of the
 * manifest lets nothing else in.  Servers have no such members (step.c (5)).
 */
#include "call.h"
#include "rpc.h"

enum { OUTPUT_MAX = 16 << 20, WORDS_MAX_ = 1024 };

/* An isError that is no boolean says neither that it failed nor that it did not. */
int mcp_output_is_result(mortise_jv result)
{
    mortise_jv v = mortise_jv_get(result, "isError");
    int32_t is_error = 0, type = mortise_jv_type(v);

    mortise_jv_bool(v, &is_error);
    if (type != MORTISE_JV_BOOL && type > MORTISE_JV_NULL)
        return 0;
    return is_error ||
           mortise_jv_type(mortise_jv_get(result, "content")) ==
               MORTISE_JV_ARRAY ||
           mortise_jv_type(mortise_jv_get(result, "structuredContent")) !=
               MORTISE_JV_NONE;
}

/* The texts among the parts, with newlines between; or that of an output. */
static mortise_status put_texts(struct bytes *to, mortise_jv result,
                                mortise_jv content)
{
    mortise_jv_iter it = mortise_jv_each(content);
    mortise_status status = MORTISE_S_OK;
    int some = 0;
    mortise_jv part, its = mortise_jv_get(result, "text");

    if (mortise_jv_type(its) == MORTISE_JV_STRING)
        return bytes_decode(to, its);
    if (mortise_jv_type(content) == MORTISE_JV_STRING)
        return bytes_decode(to, content);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &part)) {
        mortise_jv text = mortise_jv_get(part, "text");

        if (!mortise_jv_is(mortise_jv_get(part, "type"),
                           mortise_strz("text")) ||
            mortise_jv_type(text) != MORTISE_JV_STRING)
            continue;
        if (some)
            status = bytes_put(to, mortise_strz("\n"));
        some = 1;
        if (status == MORTISE_S_OK)
            status = bytes_decode(to, text);
    }
    return status;
}

static void write_content(mortise_jw *w, mortise_jv content)
{
    mortise_jw_key(w, "content");
    if (mortise_jv_type(content) == MORTISE_JV_ARRAY) {
        mortise_jw_value(w, content);
        return;
    }
    mortise_jw_array(w);
    if (mortise_jv_type(content) == MORTISE_JV_STRING) {
        mortise_jw_object(w);
        mortise_jw_key(w, "type");
        mortise_jw_cstr(w, "text");
        mortise_jw_key(w, "text");
        mortise_jw_value(w, content);
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
}

static void write_mended(mortise_jw *w, mortise_jv mended)
{
    mortise_jv what = mortise_jv_get(mended, "what"),
               text = mortise_jv_get(mended, "structured_text");

    if (what.n > 0) {
        mortise_jw_key(w, "mended");
        mortise_jw_value(w, what);
    }
    if (text.n > 0) {
        mortise_jw_key(w, "structured_text");
        mortise_jw_value(w, text);
    }
}

static void write_tool(mortise_jw *w, mortise_jv result, mortise_jv content,
                       mortise_str text)
{
    mortise_jv structured = mortise_jv_get(result, "structuredContent");

    if (structured.n == 0)
        structured = mortise_jv_get(result, "structured");
    mortise_jw_object(w);
    write_content(w, content);
    mortise_jw_key(w, "text");
    mortise_jw_string(w, text);
    if (mortise_jv_type(structured) != MORTISE_JV_NONE) {
        mortise_jw_key(w, "structured");
        mortise_jw_value(w, structured);
    }
    write_mended(w, mortise_jv_get(result, MCP_MENDED));
    mortise_jw_end(w);
}

/* Takes the call, whose output is in w. */
static void emit(struct mcp_call *c, mortise_jw *w)
{
    mortise_str json;
    mortise_status status = mortise_jw_finish(w, &json);

    if (status == MORTISE_S_OK && json.n > OUTPUT_MAX) {
        mcp_call_fail(c, "mcp.protocol", "permanent",
                      mortise_strz("the output of the tool exceeds 16 MiB"));
        return;
    }
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(c->inst->host, c->inst->api, c->id, json);
    if (status == MORTISE_S_OK || status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(c, "mcp.protocol", "permanent",
                      mortise_strz("the output of the tool is invalid"));
}

/* Takes the call. */
static void fail_as_told(struct mcp_call *c, const struct bytes *text)
{
    uint64_t n = text->n < WORDS_MAX_ ? text->n : WORDS_MAX_;

    n = mortise_str_utf8(mortise_strn(text->p, n));
    mcp_call_fail(
        c, "mcp.tool_error", "permanent",
        n == 0    ? mortise_strz("the tool failed and gave no reason")
        : c->held ? mortise_strz("the tool failed; its error message is not "
                                 "shown, because no guardrail has checked it")
                  : mortise_strn(text->p, n));
}

/* Takes the call. */
static void give_tool(struct mcp_call *c, mortise_jv result)
{
    mortise_jv content = mortise_jv_type(result) == MORTISE_JV_STRING
                             ? result
                             : mortise_jv_get(result, "content");
    struct bytes text = {0};
    int32_t is_error = 0;
    mortise_jw w;

    if (content.n == 0)
        content = mortise_jv_get(result, "text");
    mortise_jv_bool(mortise_jv_get(result, "isError"), &is_error);
    if (put_texts(&text, result, content) != MORTISE_S_OK) {
        mcp_call_end(c, MORTISE_S_NOMEM);
    } else if (is_error) {
        fail_as_told(c, &text);
    } else {
        mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
        write_tool(&w, result, content, bytes_str(&text));
        emit(c, &w);
        free(w.p);
    }
    bytes_free(&text);
}

/* Takes the call: these members of the result, of which the last must be a
 * list. */
static void give_members(struct mcp_call *c, mortise_jv result,
                         const char *const *members, size_t n)
{
    mortise_jw w;

    if (mortise_jv_type(mortise_jv_get(result, members[n - 1])) !=
        MORTISE_JV_ARRAY) {
        mcp_call_fail(
            c, "mcp.protocol", "permanent",
            mortise_strz("the server's answer lacks the requested list"));
        return;
    }
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    for (size_t i = 0; i < n; i++) {
        mortise_jv v = mortise_jv_get(result, members[i]);

        if (mortise_jv_type(v) == MORTISE_JV_NONE)
            continue;
        mortise_jw_key(&w, members[i]);
        mortise_jw_value(&w, v);
    }
    mortise_jw_end(&w);
    emit(c, &w);
    free(w.p);
}

/* Takes the call: as it is. */
static void give_all(struct mcp_call *c, mortise_jv result)
{
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_value(&w, result);
    emit(c, &w);
    free(w.p);
}

void mcp_output_give(struct mcp_call *c, mortise_jv result)
{
    static const char *const contents[] = {"contents"};
    static const char *const messages[] = {"description", "messages"};

    switch (c->op) {
    case MCP_OP_TOOL:
        give_tool(c, result);
        break;
    case MCP_OP_LIST:
        give_all(c, result);
        break;
    case MCP_OP_READ:
        give_members(c, result, contents, 1);
        break;
    case MCP_OP_PROMPT:
        give_members(c, result, messages, 2);
        break;
    }
}
