/* bench_large.c -- a plugin of about 100 KiB, for how long loading takes. */
#include "../../plugins/simple.h"

static const unsigned char ballast[88 * 1024] = {1, 2, 3};

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_emit(i, r, ballast[r->body.n % sizeof ballast] ? "1" : "0");
}

SIMPLE_EXECUTOR("bench_large")
