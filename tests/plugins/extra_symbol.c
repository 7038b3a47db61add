/* extra_symbol.c -- exports a function beside its module. */
#include "simple.h"

MORTISE_EXPORT int acme_helper(void);

int acme_helper(void)
{
    return 42;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("extra_symbol")
