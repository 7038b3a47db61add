/* hangs_in_quiesce.c -- never comes back from quiesce(). */
#include "simple.h"

static mortise_status quiesce(mortise_inst *i, uint64_t deadline)
{
    (void)deadline;
    while (i != NULL)
        simple_sleep_ms(1000);
    return MORTISE_S_OK;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("hangs_in_quiesce", simple_create, quiesce)
