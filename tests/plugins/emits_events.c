/* emits_events.c -- tells three events, one of which is too large, before its
 * result. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    static char large[65537];

    memset(large, ' ', sizeof large);
    i->api->emit(i->host, r->call, mortise_strz("event"),
                 mortise_strz("{\"step\": 1}"));
    i->api->emit(i->host, r->call, mortise_strz("event"),
                 mortise_strn(large, sizeof large));
    i->api->emit(i->host, r->call, mortise_strz("event"),
                 mortise_strz("{\"step\": 2}"));
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("emits_events")
