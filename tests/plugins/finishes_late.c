/* finishes_late.c -- ignores cancelling, and finishes after `ms`: by then it
 * may have been given up. */
#include "simple.h"

static void run(mortise_inst *i, const mortise_request *r)
{
    simple_sleep_ms(simple_int(r, "ms", 100));
    simple_emit(i, r, "\"late\"");
    simple_finish(i, r, MORTISE_S_OK);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_pend(i, r, run);
}

SIMPLE_EXECUTOR("finishes_late")
