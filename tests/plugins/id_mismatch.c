/* id_mismatch.c -- calls itself otherwise than its manifest does. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("somebody_else")
