/* guardrail_pending.c -- wants to decide later. */
#include "simple.h"

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r, mortise_verdict *v)
{
    (void)i;
    (void)stage;
    (void)r;
    (void)v;
    return MORTISE_S_PENDING;
}

SIMPLE_GUARDRAIL("guardrail_pending")
