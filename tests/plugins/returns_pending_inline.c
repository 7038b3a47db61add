/* returns_pending_inline.c -- leaves an inline call pending. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    (void)r;
    return MORTISE_S_PENDING;
}

SIMPLE_EXECUTOR("returns_pending_inline")
