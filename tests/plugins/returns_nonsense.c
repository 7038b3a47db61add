/* returns_nonsense.c -- returns a status that does not exist. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    return (mortise_status)simple_int(r, "status", 7);
}

SIMPLE_EXECUTOR("returns_nonsense")
