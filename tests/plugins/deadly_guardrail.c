/* deadly_guardrail.c -- takes the engine down as it judges {how}, or the arguments
 * {value: {how}}. */
#include "deadly.h"

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    char how[32] = "";
    mortise_jv body, value;

    (void)stage;
    deadly_note(i);
    mortise_jv_parse(r->body, &body);
    value = mortise_jv_get(body, "value");
    mortise_jv_cstr(mortise_jv_get(value.p != NULL ? value : body, "how"), how,
                    sizeof how);
    deadly_do(how);
    return mortise_emit_verdict(i->host, i->api, r->call, 0, NULL);
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};
SIMPLE_INTERFACE(MORTISE_GUARDRAIL_2, guardrail)
SIMPLE_MODULE("deadly_guardrail", deadly_create, simple_quiesce)
