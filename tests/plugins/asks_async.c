/* asks_async.c -- get {path}: as asks_state does, without waiting. */
#include "simple.h"

struct asking {
    mortise_inst *inst;
    mortise_call call;
};

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct asking a = *(struct asking *)ud;

    free(ud);
    if (status == MORTISE_S_OK)
        mortise_emit_output(a.inst->host, a.inst->api, a.call, answer);
    a.inst->api->finish(a.inst->host, a.call, status, mortise_str_empty(),
                        mortise_str_empty());
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct asking *a = (struct asking *)malloc(sizeof *a);
    char path[256] = "";
    mortise_jv body;
    mortise_status status;

    if (a == NULL)
        return MORTISE_S_NOMEM;
    *a = (struct asking){i, r->call};
    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "path"), path, sizeof path);
    status = mortise_state_get(i->host, i->api, r->call, mortise_strz(path),
                               answered, a);
    if (status != MORTISE_S_PENDING)
        free(a);
    return status;
}

SIMPLE_EXECUTOR("asks_async")
