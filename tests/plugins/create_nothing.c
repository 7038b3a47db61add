/* create_nothing.c -- says that it was created, and was not. */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    (void)host;
    (void)api;
    (void)config;
    *out = NULL;
    return MORTISE_S_OK;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("create_nothing", create, simple_quiesce)
