/* mcp_stub.c -- stands in for the bundled `mcp`: list {server} is what the file
 * SERVER.json has, and call {server, tool, arguments}, or the operation of one
 * that is pinned, is by its tool
 *
 *     echo   the arguments, as a text and as what they are
 *     ask    what a person answers to a form
 *     fail   a failure
 *     bare   an image, and no text
 *     hang   nothing, until it is stopped; says "at work" to stderr first */
#include <stdio.h>

#include "simple.h"

static mortise_status refuse(mortise_inst *i, const mortise_request *r,
                             const char *code, const char *words)
{
    return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                          "permanent", code, words);
}

static mortise_status list(mortise_inst *i, const mortise_request *r,
                           mortise_jv body)
{
    char name[64] = "", path[80], text[1 << 16];
    size_t n;
    FILE *f;

    mortise_jv_cstr(mortise_jv_get(body, "server"), name, sizeof name);
    snprintf(path, sizeof path, "%s.json", name);
    f = fopen(path, "r");
    if (f == NULL)
        return refuse(i, r, "mcp.not_started", "it says \x1b[31mno");
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return simple_emit(i, r, text);
}

static mortise_status echo(mortise_inst *i, const mortise_request *r,
                           mortise_str value)
{
    char room[4096];
    mortise_jw w;
    mortise_str out;
    mortise_jv v = {NULL, 0};

    v.p = value.p;
    v.n = value.n;
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "content");
    mortise_jw_array(&w);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "type");
    mortise_jw_string(&w, mortise_strz("text"));
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, value);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, value);
    mortise_jw_key(&w, "structured");
    mortise_jw_value(&w, v);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &out) == MORTISE_S_OK
               ? mortise_emit_output(i->host, i->api, r->call, out)
               : MORTISE_S_NOMEM;
}

static mortise_status ask(mortise_inst *i, const mortise_request *r)
{
    static const char schema[] =
        "{\"type\": \"object\", \"required\": [\"approved\"], \"properties\": "
        "{\"approved\": {\"type\": \"boolean\"}, \"answer\": {\"type\": "
        "\"object\", \"required\": [\"day\"], \"properties\": {\"day\": "
        "{\"type\": \"string\"}}}}}";
    mortise_question q = {.hold_ms = 0};
    mortise_str answer = {NULL, 0};
    char room[2048];
    mortise_status s;

    q.prompt = mortise_strz("Which \x1b[31mday?");
    q.schema = mortise_strz(schema);
    q.payload = mortise_strz("{\"url\": \"https://example.com/go\"}");
    s = mortise_interrupt_request_wait(i->host, i->api, r->call, &q, room,
                                       sizeof room, &answer);
    return s == MORTISE_S_OK ? echo(i, r, answer) : s;
}

static mortise_status call(mortise_inst *i, const mortise_request *r,
                           const char *tool, mortise_str args)
{
    if (strcmp(tool, "echo") == 0)
        return echo(i, r, args);
    if (strcmp(tool, "ask") == 0)
        return ask(i, r);
    if (strcmp(tool, "bare") == 0)
        return simple_emit(i, r,
                           "{\"content\": [{\"type\": \"image\", \"mimeType\": "
                           "\"image/png\", \"data\": \"AAAA\"}], \"text\": "
                           "\"\", \"structured\": {\"a\": 1}}");
    if (strcmp(tool, "hang") == 0) {
        fputs("at work\n", stderr);
        while (!i->api->cancelled(i->host, r->call))
            simple_sleep_ms(1);
        return MORTISE_S_CANCELLED;
    }
    return refuse(i, r, "mcp.tool_error", "it went \x1b[31mwrong");
}

/* One that is not pinned. */
static mortise_status try_out(mortise_inst *i, const mortise_request *r,
                              mortise_jv body)
{
    mortise_jv args = mortise_jv_get(body, "arguments");
    char tool[32] = "";
    mortise_str text = {NULL, 0};

    mortise_jv_cstr(mortise_jv_get(body, "tool"), tool, sizeof tool);
    text.p = args.p;
    text.n = args.n;
    return call(i, r, tool, text);
}

/* SERVER/TOOL */
static mortise_status call_pinned(mortise_inst *i, const mortise_request *r)
{
    const char *slash = memchr(r->operation.p, '/', r->operation.n);
    char tool[32];

    snprintf(tool, sizeof tool, "%.*s",
             (int)(r->operation.p + r->operation.n - slash - 1), slash + 1);
    return call(i, r, tool, r->body);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_jv body;

    mortise_jv_parse(r->body, &body);
    if (mortise_str_is(r->operation, "list"))
        return list(i, r, body);
    return mortise_str_is(r->operation, "call") ? try_out(i, r, body)
                                                : call_pinned(i, r);
}

SIMPLE_EXECUTOR("mcp")
