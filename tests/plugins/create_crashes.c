/* create_crashes.c -- takes the process down in create(), unless the
 * environment's CREATE_CRASHES says no. */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    const char *crashes = getenv("CREATE_CRASHES");

    if (crashes == NULL || crashes[0] != 'n')
        abort();
    return simple_create(host, api, config, out);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("create_crashes", create, simple_quiesce)
