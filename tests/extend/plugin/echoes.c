/* echoes.c -- say {...}: gives what the method echo/1 answers to its body. */
#include "../../plugins/simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer;
    mortise_status status = i->api->ask_wait(
        i->host, r->call, mortise_strz("echo/1"), r->body, &answer);

    return status == MORTISE_S_OK
               ? mortise_emit_output(i->host, i->api, r->call, answer)
               : status;
}

SIMPLE_EXECUTOR("echoes")
