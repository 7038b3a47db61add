/* speaks_gibberish.c -- fails with words that are none, and details that are
 * neither. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    (i->api->fail)(i->host, r->call, mortise_strz("\x01\xff\x1b[31m red"),
                   mortise_strz("{\"class\": \"weird\", \"code\": \"A B\"}"));
    i->api->log(i->host, 99, mortise_strz("\x07 ding"));
    i->api->emit(i->host, r->call, mortise_strz("smell"), mortise_strz("{}"));
    return -4711;
}

SIMPLE_EXECUTOR("speaks_gibberish")
