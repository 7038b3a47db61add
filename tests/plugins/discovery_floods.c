/* discovery_floods.c -- finds more than it was asked for. */
#include "finds.h"

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    char one[96];

    simple_emit(i, r, "{\"results\": [");
    for (int k = 0; k < 2000; k++) {
        snprintf(one, sizeof one,
                 "%s{\"id\": \"skill-%d\", \"kind\": \"skill\", \"score\": 1}",
                 k > 0 ? ", " : "", k);
        simple_emit(i, r, one);
    }
    return simple_emit(i, r, "]}");
}

FINDS_MODULE("discovery_floods")
