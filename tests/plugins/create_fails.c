/* create_fails.c -- cannot be created, and says why. */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    (void)config;
    (void)out;
    return mortise_refuse(host, api, 0, MORTISE_S_FAILED, NULL, NULL,
                          "the moon is not full");
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("create_fails", create, simple_quiesce)
