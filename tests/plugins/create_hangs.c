/* create_hangs.c -- create() never returns. */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    for (;;)
        simple_sleep_ms(1000);
    return simple_create(host, api, config, out);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("create_hangs", create, simple_quiesce)
