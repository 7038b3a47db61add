/* discovery_dies.c -- takes the process down as it is asked. */
#include "finds.h"

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    (void)r;
    finds_note("died");
    abort();
}

FINDS_MODULE("discovery_dies")
