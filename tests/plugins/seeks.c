/* seeks.c -- look {query, ...}: what discovery.query/1 answers to that, or {status,
 * words}.  As what gmi nodes run it looks for their prompt, among extensions alone
 * where that has the word. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    static const char pattern[] = "{\"query\": %.*s%s}";
    static const char only[] = ", \"kind\": \"extension\"";
    char room[1024], *text;
    mortise_jv body, prompt;
    mortise_str answer, ask = r->body, out;
    mortise_status status;
    mortise_jw w;

    mortise_jv_parse(r->body, &body);
    prompt = mortise_jv_get(mortise_jv_get(body, "node"), "prompt");
    if (prompt.p != NULL) {
        text = (char *)malloc(prompt.n + sizeof pattern + sizeof only);
        if (text == NULL)
            return MORTISE_S_NOMEM;
        snprintf(text, prompt.n + sizeof pattern + sizeof only, pattern,
                 (int)prompt.n, prompt.p,
                 memmem(prompt.p, prompt.n, "extension", 9) ? only : "");
        ask = mortise_strz(text);
    } else {
        text = NULL;
    }
    status =
        mortise_discovery_query_wait(i->host, i->api, r->call, ask, &answer);
    free(text);
    if (status == MORTISE_S_CANCELLED)
        return status;
    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "status");
    mortise_jw_int(&w, status);
    mortise_jw_key(&w, "words");
    mortise_jw_string(&w, answer);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &out) == MORTISE_S_OK
               ? mortise_emit_output(i->host, i->api, r->call, out)
               : MORTISE_S_NOMEM;
}

SIMPLE_EXECUTOR("seeks")
