/* needs_library.c -- needs a library that is not on the list. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("needs_library")
