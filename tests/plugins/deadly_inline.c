/* deadly_inline.c -- takes the engine down, on the engine's thread. */
#include "deadly.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return deadly_execute(i, r);
}

SIMPLE_EXECUTOR_WITH("deadly_inline", deadly_create, simple_quiesce)
