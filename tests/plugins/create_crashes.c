/* create_crashes.c -- takes the process down in create(). */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    (void)host;
    (void)api;
    (void)config;
    (void)out;
    abort();
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("create_crashes", create, simple_quiesce)
