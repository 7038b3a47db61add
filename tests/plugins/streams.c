/* streams.c -- get {url}: a stream; gives {"head": ..., "pieces": n, "bytes":
 * n, "status": ...}, and an event for each piece. */
#include "simple.h"

struct asking {
    mortise_inst *inst;
    mortise_call call;
    int64_t pieces, bytes, status;
};

static void give(const struct asking *a)
{
    char room[256];
    mortise_str text;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "pieces");
    mortise_jw_int(&w, a->pieces);
    mortise_jw_key(&w, "bytes");
    mortise_jw_int(&w, a->bytes);
    mortise_jw_key(&w, "status");
    mortise_jw_int(&w, a->status);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &text);
    mortise_emit_output(a->inst->host, a->inst->api, a->call, text);
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct asking *a = (struct asking *)ud;
    mortise_jv v;

    if (status == MORTISE_S_PENDING && a->status == 0) { /* the head */
        mortise_jv_parse(answer, &v);
        mortise_jv_int(mortise_jv_get(v, "status"), &a->status);
        return;
    }
    if (status == MORTISE_S_PENDING) {
        a->pieces++;
        a->bytes += (int64_t)answer.n;
        a->inst->api->emit(a->inst->host, a->call, mortise_strz("event"),
                           mortise_strz("{}"));
        return;
    }
    if (status == MORTISE_S_OK)
        give(a);
    a->inst->api->finish(a->inst->host, a->call, status, mortise_str_empty(),
                         mortise_str_empty());
    free(a);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct asking *a = (struct asking *)calloc(1, sizeof *a);
    char url[512] = "", room[1024];
    mortise_http_ask h = {.stream = 1};
    mortise_jv body;
    mortise_status status;

    if (a == NULL)
        return MORTISE_S_NOMEM;
    a->inst = i;
    a->call = r->call;
    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "url"), url, sizeof url);
    h.url = mortise_strz(url);
    status = mortise_http_request(i->host, i->api, r->call, &h, room,
                                  sizeof room, answered, a);
    if (status != MORTISE_S_PENDING)
        free(a);
    return status;
}

SIMPLE_EXECUTOR("streams")
