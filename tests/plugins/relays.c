/* relays.c -- asks http.request/1 with the body of its call, and gives the whole
 * answer: an operation for each way in which that can be an effect.  `call` and
 * its kin have an effect of their own besides, when config.file names one: a
 * line there, once they were answered.  Their reconcile asks the server, at
 * config.base_url/seen, whether anything happened. */
#include "simple.h"

static mortise_status refuse(mortise_inst *i, const mortise_request *r,
                             mortise_status status, mortise_str answer)
{
    char room[256], words[512];

    snprintf(words, sizeof words, "%.*s",
             (int)(answer.n < 500 ? answer.n : 500), answer.p);
    (i->api->fail)(i->host, r->call, mortise_strz(words),
                   mortise_http_detail(status, answer, room, sizeof room));
    return status == MORTISE_S_OK ? MORTISE_S_FAILED : status;
}

static int is_refused(mortise_str answer)
{
    mortise_jv v;
    int64_t status = 0;

    if (mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(v, "status"), &status);
    return status >= 400;
}

/* What a `call` does by itself. */
static mortise_status act(mortise_inst *i, const mortise_request *r)
{
    FILE *f;

    if (i->file[0] == '\0' || r->operation.n < 4 ||
        memcmp(r->operation.p, "call", 4) != 0)
        return MORTISE_S_OK;
    f = fopen(i->file, "a");
    if (f == NULL)
        return MORTISE_S_IO;
    fprintf(f, "%.*s\n", (int)r->idempotency_key.n, r->idempotency_key.p);
    return fclose(f) == 0 ? MORTISE_S_OK : MORTISE_S_IO;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer;
    mortise_status status =
        i->api->ask_wait(i->host, r->call, mortise_strz(MORTISE_HTTP_REQUEST_1),
                         r->body, &answer);

    if (status == MORTISE_S_SUSPENDED)
        return status;
    if (status != MORTISE_S_OK || is_refused(answer))
        return refuse(i, r, status, answer);
    status = mortise_emit_output(i->host, i->api, r->call, answer);
    return status == MORTISE_S_OK ? act(i, r) : status;
}

static mortise_status reconcile(mortise_inst *i, const mortise_request *r)
{
    char url[1100], room[2048];
    mortise_http_ask h = {0};
    mortise_str answer;
    mortise_jv v, body;
    mortise_status status;

    snprintf(url, sizeof url, "%s/seen", i->base_url);
    h.url = mortise_strz(url);
    status = mortise_http_request_wait(i->host, i->api, r->call, &h, room,
                                       sizeof room, &answer);
    if (status != MORTISE_S_OK || mortise_jv_parse(answer, &v) != MORTISE_S_OK)
        return MORTISE_S_FAILED;
    body = mortise_jv_get(v, "body");
    return simple_emit(i, r,
                       mortise_jv_is(body, mortise_strz("yes"))
                           ? "{\"happened\": true, \"result\": {}}"
                           : "{\"happened\": false}");
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute,
                                          .reconcile = reconcile};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)
SIMPLE_MODULE("relays", simple_create, simple_quiesce)
