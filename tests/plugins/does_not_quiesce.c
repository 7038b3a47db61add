/* does_not_quiesce.c -- says that something of it still runs. */
#include "simple.h"

static mortise_status quiesce(mortise_inst *i, uint64_t deadline)
{
    (void)i;
    (void)deadline;
    return MORTISE_S_FAILED;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("does_not_quiesce", simple_create, quiesce)
