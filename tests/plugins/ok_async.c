/* ok_async.c -- behaves: echo, fail and sleep, each on a thread of its own. */
#include "simple.h"

static void run(mortise_inst *i, const mortise_request *r)
{
    mortise_status status = simple_operation(i, r);

    simple_finish(i, r, status);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_pend(i, r, run);
}

SIMPLE_EXECUTOR("ok_async")
