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

static const mortise_executor executor = {sizeof executor, 0, execute, NULL};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "creates_slowly",
    .version = "1.0.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = simple_destroy,
};

MORTISE_MODULE_OF(plugin);
