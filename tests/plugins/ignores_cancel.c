/* ignores_cancel.c -- does not look whether it should stop before `ms` have
 * passed. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    simple_sleep_ms(simple_int(r, "ms", 300));
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("ignores_cancel")
