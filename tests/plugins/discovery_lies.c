/* discovery_lies.c -- finds what nobody offered it. */
#include "finds.h"

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    return simple_emit(i, r,
                       "{\"results\": [{\"id\": \"exec/run\", \"kind\": "
                       "\"tool\", \"score\": 1}]}");
}

FINDS_MODULE("discovery_lies")
