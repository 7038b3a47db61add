/* pay.c -- acme.pay: refunds, by acme's payment server.
 *
 * refund  {customer, amount}  ->  {id, amount}
 *
 * Config
 * base_url: http://127.0.0.1:8787     the URL of that server
 *
 * The server refunds once for each Idempotency-Key, and the host gives a key
 * that is the same on every attempt.  Therefore the manifest has `idempotent`:
 * after a crash in between, the request is made again, and no person is asked.
 *
 * Error codes
 * pay.declined      the server declined the refund (402)
 * http.503 and so on, http.unreachable ...
 *                   the host's codes; temporary errors are transient */
#include <mortise/ask.h>

#include <stdio.h>
#include <stdlib.h>

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char url[512];
};

/* Ask the server for the refund; its answer is lent. */
static mortise_status ask(mortise_inst *i, const mortise_request *r,
                          mortise_str *answer)
{
    const mortise_str headers[] = {mortise_strz("Idempotency-Key"),
                                   r->idempotency_key};
    mortise_http_ask h = {0};
    char room[8192];

    h.method = mortise_strz("POST");
    h.url = mortise_strz(i->url);
    h.headers = headers;
    h.n_headers = 1;
    h.json = r->body; /* {customer, amount}, as in its schema */
    return mortise_http_request_wait(i->host, i->api, r->call, &h, room,
                                     sizeof room, answer);
}

static mortise_status refuse(mortise_inst *i, const mortise_request *r,
                             mortise_status status, mortise_str answer)
{
    char detail[256];
    int64_t code = 0;
    mortise_jv v;

    if (mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(v, "status"), &code);
    if (code == 402)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                              "permanent", "pay.declined",
                              "the payment server declined");
    (i->api->fail)(i->host, r->call, mortise_strz("no refund was made"),
                   mortise_http_detail(status, answer, detail, sizeof detail));
    return status == MORTISE_S_OK ? MORTISE_S_FAILED : status;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer, text;
    mortise_status status = ask(i, r, &answer);
    int64_t code = 0;
    char room[4096];
    mortise_jv v;

    if (status == MORTISE_S_SUSPENDED || status == MORTISE_S_CANCELLED)
        return status;
    if (status == MORTISE_S_OK &&
        mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(v, "status"), &code);
    if (code != 200)
        return refuse(i, r, status, answer);
    status = mortise_jv_text(mortise_jv_get(v, "body"), room, sizeof room,
                             &text);
    return status == MORTISE_S_OK
               ? mortise_emit_output(i->host, i->api, r->call, text)
               : refuse(i, r, status, answer);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = calloc(1, sizeof *i);
    char base[400];
    mortise_jv c;

    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    if (mortise_jv_parse(config, &c) != MORTISE_S_OK ||
        mortise_jv_cstr(mortise_jv_get(c, "base_url"), base, sizeof base) !=
            MORTISE_S_OK) {
        free(i);
        return mortise_refuse(host, api, 0, MORTISE_S_INVALID, NULL, NULL,
                              "base_url is no URL of a server");
    }
    snprintf(i->url, sizeof i->url, "%s/refunds", base);
    *out = i;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const void *get_interface(mortise_inst *i, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "acme.pay",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
