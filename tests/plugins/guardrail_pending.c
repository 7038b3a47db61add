/* guardrail_pending.c -- wants to decide later, and its manifest says inline. */
#include "simple.h"

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    (void)i;
    (void)stage;
    (void)r;
    return MORTISE_S_PENDING;
}

SIMPLE_GUARDRAIL("guardrail_pending")
