/* emits_nothing.c -- succeeds without a result. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    (void)r;
    return MORTISE_S_OK;
}

SIMPLE_EXECUTOR("emits_nothing")
