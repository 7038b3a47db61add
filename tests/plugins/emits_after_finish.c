/* emits_after_finish.c -- goes on emitting when the call is over. */
#include "simple.h"

static void run(mortise_inst *i, const mortise_request *r)
{
    mortise_call call = r->call;

    simple_emit(i, r, "1");
    simple_finish(i, r, MORTISE_S_OK);
    i->api->emit(i->host, call, mortise_strz("output"), mortise_strz("2"));
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_pend(i, r, run);
}

SIMPLE_EXECUTOR("emits_after_finish")
