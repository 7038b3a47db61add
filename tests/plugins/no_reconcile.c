/* no_reconcile.c -- has an operation to reconcile and no reconcile(). */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("no_reconcile")
