/* fetches.c -- get BODY: asks http.request/1 with that very body and waits;
 * gives the whole answer, or fails as the SDK would have it. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer, detail;
    char room[256], words[512];
    mortise_status status =
        i->api->ask_wait(i->host, r->call, mortise_strz(MORTISE_HTTP_REQUEST_1),
                         r->body, &answer);

    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    snprintf(words, sizeof words, "%.*s", (int)answer.n, answer.p);
    detail = mortise_http_detail(status, answer, room, sizeof room);
    (i->api->fail)(i->host, r->call, mortise_strz(words), detail);
    return status;
}

SIMPLE_EXECUTOR("fetches")
