/* guardrail_mute.c -- ends well, and says nothing: no verdict, and so no pass. */
#include "simple.h"

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    (void)stage;
    return simple_emit(i, r, "\"take this instead\"");
}

SIMPLE_GUARDRAIL("guardrail_mute")
