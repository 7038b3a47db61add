/* ok_blocking.c -- behaves: echo, fail and sleep on a worker. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_operation(i, r);
}

SIMPLE_EXECUTOR("ok_blocking")
