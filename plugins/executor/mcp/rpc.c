/* rpc.c -- JSON-RPC 2.0 messages.
 *
 * What a server says is a stranger's text, so reading it promises:
 *
 *   (1) Any bytes give a message or the words why they are none.  A batch (a
 *       list) is none: the protocol gave them up.
 *   (2) Our ids are numbers from 1 on; an answer with any other id (a text, a
 *       fraction, null, nothing) has number 0, which no request has.
 *   (3) An answer has a result, which is an object, or an error, which is one or
 *       a text: both, or neither, is no message; null counts as absent beside the
 *       other.  It answers its request all the same: `number` says which.
 *   (4) Of several members of one name the last counts.
 *
 * `jsonrpc` is not looked at: what it would tell apart (version 1) the members
 * tell apart already, and servers have been seen without it. */
#include "rpc.h"

static enum mcp_rpc_kind none(struct mcp_rpc *out, const char *why)
{
    out->why = why;
    out->number = 0;
    return MCP_RPC_NONE;
}

static int is_object(mortise_jv v)
{
    return mortise_jv_type(v) == MORTISE_JV_OBJECT;
}

static int is_there(mortise_jv v)
{
    return mortise_jv_type(v) != MORTISE_JV_NONE;
}

static int is_null(mortise_jv v)
{
    return mortise_jv_type(v) == MORTISE_JV_NULL;
}

/* (3) */
static enum mcp_rpc_kind unreadable(struct mcp_rpc *out, const char *why)
{
    out->why = why;
    return MCP_RPC_NONE;
}

static enum mcp_rpc_kind read_method(struct mcp_rpc *out, mortise_jv method)
{
    int32_t type = mortise_jv_type(out->params);

    if (mortise_jv_type(method) != MORTISE_JV_STRING)
        return none(out, "its method is not text");
    if (mortise_jv_cstr(method, out->method, sizeof out->method) !=
        MORTISE_S_OK)
        out->method[0] = '\0';
    if (type != MORTISE_JV_NONE && type != MORTISE_JV_OBJECT)
        return none(out, "its params are not an object");
    if (!is_there(out->id))
        return MCP_RPC_NOTIFICATION;
    type = mortise_jv_type(out->id);
    return type == MORTISE_JV_STRING || type == MORTISE_JV_NUMBER
               ? MCP_RPC_REQUEST
               : none(out, "its id is neither a number nor text");
}

static enum mcp_rpc_kind read_answer(struct mcp_rpc *out)
{
    int has_result = is_there(out->result) &&
                     !(is_null(out->result) && is_there(out->error));
    int has_error =
        is_there(out->error) && !(is_null(out->error) && has_result);

    if (mortise_jv_int(out->id, &out->number) != MORTISE_S_OK ||
        out->number < 1)
        out->number = 0; /* (2) */
    if (has_result == has_error)
        return unreadable(out, has_result ? "it has both a result and an error"
                                          : "it has neither method, result nor "
                                            "error");
    if (has_result)
        return is_object(out->result)
                   ? MCP_RPC_RESULT
                   : unreadable(out, "its result is not an object");
    if (!is_object(out->error) &&
        mortise_jv_type(out->error) != MORTISE_JV_STRING)
        return unreadable(out, "its error is not an object");
    if (mortise_jv_int(mortise_jv_get(out->error, "code"), &out->code) !=
        MORTISE_S_OK)
        out->code = 0;
    return MCP_RPC_ERROR;
}

/* Are all of its braces closed?  What was cut off has some that are not. */
static int is_closed(mortise_str text)
{
    const char *p = text.p, *end = text.p + text.n;
    int64_t depth = 0;

    while (p < end) {
        depth += *p == '{';
        depth -= *p == '}';
        p = *p == '"' ? mortise_jp_skip_string(p, end) : p + 1;
    }
    return depth <= 0;
}

int64_t mcp_rpc_look(mortise_str text)
{
    static const char key[] = "\"id\"";
    const size_t n = sizeof key - 1;
    const char *p = text.p, *end = text.p + text.n;
    int64_t id = 0;

    if (text.n == 0 || *p != '{' || !is_closed(text))
        return 0;
    while (p != NULL && (size_t)(end - p) > n && memcmp(p, key, n) != 0)
        p = (const char *)memchr(p + 1, '"', (size_t)(end - p - 1));
    if (p == NULL || (size_t)(end - p) <= n)
        return 0;
    p = mortise_jp_space(p + n, end);
    if (p == end || *p != ':')
        return 0;
    p = mortise_jp_space(p + 1, end);
    for (; p < end && *p >= '0' && *p <= '9' && id < INT64_MAX / 100; p++)
        id = 10 * id + (*p - '0');
    return p < end && (*p == ',' || *p == '}' || *p == ' ') ? id : 0;
}

void mcp_rpc_read(mortise_str text, struct mcp_rpc *out)
{
    mortise_jv v, method;

    memset(out, 0, sizeof *out);
    if (mortise_jv_parse(text, &v) != MORTISE_S_OK) {
        out->kind = none(out, "it is not JSON");
        out->no_json = 1;
        return;
    }
    if (!is_object(v)) {
        out->kind = none(out, "it is not an object");
        return;
    }
    out->id = mortise_jv_get(v, "id");
    out->params = mortise_jv_get(v, "params");
    out->result = mortise_jv_get(v, "result");
    out->error = mortise_jv_get(v, "error");
    method = mortise_jv_get(v, "method");
    out->kind = is_there(method) ? read_method(out, method) : read_answer(out);
}

int64_t mcp_rpc_answers(mortise_str text)
{
    struct mcp_rpc m;

    mcp_rpc_read(text, &m);
    return m.no_json ? mcp_rpc_look(text) : m.number;
}

int mcp_rpc_is_refusal(int64_t code)
{
    static const int64_t refusals[] = {MCP_RPC_PARSE,     MCP_RPC_INVALID,
                                       MCP_RPC_NO_METHOD, MCP_RPC_BAD_PARAMS,
                                       MCP_RPC_HEADERS,   MCP_RPC_CAPABILITY,
                                       MCP_RPC_VERSION,   MCP_RPC_URL_REQUIRED};

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i] == code)
            return 1;
    return 0;
}

/* ---- writing ------------------------------------------------------------- */

static void begin(mortise_jw *w)
{
    mortise_jw_growing(w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(w);
    mortise_jw_key(w, "jsonrpc");
    mortise_jw_cstr(w, "2.0");
}

void mcp_rpc_begin(mortise_jw *w, int64_t id, const char *method)
{
    begin(w);
    if (id != 0) {
        mortise_jw_key(w, "id");
        mortise_jw_int(w, id);
    }
    mortise_jw_key(w, "method");
    mortise_jw_cstr(w, method);
    mortise_jw_key(w, "params");
    mortise_jw_object(w);
}

mortise_status mcp_rpc_end(mortise_jw *w, mortise_str *text)
{
    mortise_jw_end(w);
    mortise_jw_end(w);
    return mortise_jw_finish(w, text);
}

void mcp_rpc_begin_result(mortise_jw *w, mortise_jv id)
{
    begin(w);
    mortise_jw_key(w, "id");
    mortise_jw_value(w, id);
    mortise_jw_key(w, "result");
    mortise_jw_object(w);
}

mortise_status mcp_rpc_error(mortise_jw *w, mortise_jv id, int64_t code,
                             const char *message, mortise_str *text)
{
    begin(w);
    mortise_jw_key(w, "id");
    mortise_jw_value(w, id);
    mortise_jw_key(w, "error");
    mortise_jw_object(w);
    mortise_jw_key(w, "code");
    mortise_jw_int(w, code);
    mortise_jw_key(w, "message");
    mortise_jw_cstr(w, message);
    return mcp_rpc_end(w, text);
}

/* ---- words --------------------------------------------------------------- */

void mcp_rpc_words(struct bytes *to, mortise_jv text, uint64_t max)
{
    uint64_t from = to->n, n;

    if (bytes_decode(to, text) != MORTISE_S_OK)
        return;
    n = to->n - from;
    if (n > max)
        n = mortise_str_utf8(mortise_strn(to->p + from, max));
    to->n = from + n;
    for (uint64_t i = from; i < to->n; i++)
        if ((unsigned char)to->p[i] < ' ' || to->p[i] == '\x7f')
            to->p[i] = ' ';
}
