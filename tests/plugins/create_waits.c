/* create_waits.c -- cannot be created while its config says `fails`, and says that
 * another try may help. */
#include "simple.h"

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    int32_t fails = 0;

    mortise_jv_bool(mortise_jv_get(mortise_jv_of(config), "fails"), &fails);
    if (!fails)
        return simple_create(host, api, config, out);
    api->fail(host, 0, mortise_strz("the moon is new"),
              mortise_strz("{\"class\":\"transient\",\"code\":\"moon.new\","
                           "\"retry_after_ms\":20}"));
    return MORTISE_S_FAILED;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR_WITH("create_waits", create, simple_quiesce)
