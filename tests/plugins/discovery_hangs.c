/* discovery_hangs.c -- never answers, and lets go when it is told to. */
#include "finds.h"

static void cancel(mortise_inst *i, mortise_call call)
{
    i->api->finish(i->host, call, MORTISE_S_CANCELLED, mortise_str_empty(),
                   mortise_str_empty());
}

FINDS_WHEN_TOLD("discovery_hangs")
