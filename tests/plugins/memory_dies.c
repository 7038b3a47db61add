/* memory_dies.c -- a memory that takes the process with it. */
#include <signal.h>

#include "remembers.h"

static mortise_status on_read(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    (void)r;
    raise(SIGSEGV);
    return MORTISE_S_OK;
}

static mortise_status on_write(mortise_inst *i, const mortise_request *r)
{
    return on_read(i, r);
}

static mortise_status on_forget(mortise_inst *i, const mortise_request *r)
{
    return on_read(i, r);
}

REMEMBERS_MODULE("memory_dies")
