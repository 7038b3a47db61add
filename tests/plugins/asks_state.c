/* asks_state.c -- get {path}: what the run's state has there, or the status of
 * the refusal. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char path[256] = "", text[64];
    mortise_str answer;
    mortise_jv body;
    mortise_status status;

    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "path"), path, sizeof path);
    status = mortise_state_get_wait(i->host, i->api, r->call,
                                    mortise_strz(path), &answer);
    if (status == MORTISE_S_CANCELLED)
        return status;
    if (status == MORTISE_S_OK)
        return mortise_emit_output(i->host, i->api, r->call, answer);
    snprintf(text, sizeof text, "{\"status\": %d}", (int)status);
    return simple_emit(i, r, text);
}

SIMPLE_EXECUTOR("asks_state")
