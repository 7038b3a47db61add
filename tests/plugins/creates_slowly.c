/* creates_slowly.c -- create() takes 100 ms. */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    simple_sleep_ms(100);
    return simple_create(host, api, config, out);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_emit(i, r, "{}");
}

SIMPLE_EXECUTOR_WITH("creates_slowly", create, simple_quiesce)
