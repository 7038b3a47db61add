/* ok_inline.c -- behaves: echo and fail on the engine's thread. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_operation(i, r);
}

SIMPLE_EXECUTOR("ok_inline")
