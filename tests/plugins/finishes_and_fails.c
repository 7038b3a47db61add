/* finishes_and_fails.c -- finishes a call with success and returns a failure.
 */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    simple_emit(i, r, "1");
    simple_finish(i, r, MORTISE_S_OK);
    return MORTISE_S_FAILED;
}

SIMPLE_EXECUTOR("finishes_and_fails")
