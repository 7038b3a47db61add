/* finishes_twice.c -- finishes a call, and then once more otherwise. */
#include "simple.h"

static void run(mortise_inst *i, const mortise_request *r)
{
    mortise_call call = r->call;

    simple_emit(i, r, "1");
    simple_finish(i, r, MORTISE_S_OK);
    /* The request is no longer ours. */
    i->api->finish(i->host, call, MORTISE_S_FAILED, mortise_strz("oh no"),
                   mortise_str_empty());
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_pend(i, r, run);
}

SIMPLE_EXECUTOR("finishes_twice")
