/* never_finishes.c -- leaves every call pending for good, cancelled or not. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    (void)r;
    return MORTISE_S_PENDING;
}

SIMPLE_EXECUTOR("never_finishes")
