/* asks_undeclared.c -- asks for a method that its manifest does not list. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer;

    (void)i;
    return i->api->ask_wait(i->host, r->call, mortise_strz("kv.get/1"),
                            mortise_strz("{}"), &answer);
}

SIMPLE_EXECUTOR("asks_undeclared")
