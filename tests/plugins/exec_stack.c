/* exec_stack.c -- asks for an executable stack. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("exec_stack")
