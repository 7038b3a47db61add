/* guardrail_errors.c -- cannot tell, which counts as a violation. */
#include "simple.h"

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    (void)stage;
    mortise_emit_verdict(i->host, i->api, r->call, 0, NULL);
    return mortise_refuse(i->host, i->api, r->call, MORTISE_S_IO, "transient",
                          NULL, "the rules cannot be read");
}

SIMPLE_GUARDRAIL("guardrail_errors")
