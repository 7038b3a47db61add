/* deadly_blocking.c -- takes the engine down, on a thread of the pool. */
#include "deadly.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return deadly_execute(i, r);
}

SIMPLE_EXECUTOR_WITH("deadly_blocking", deadly_create, simple_quiesce)
