/* hangs_in_destroy.c -- never comes back from destroy(). */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

static void destroy(mortise_inst *i)
{
    while (i != NULL)
        simple_sleep_ms(1000);
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "hangs_in_destroy",
                                      .version = "1.0.0",
                                      .create = simple_create,
                                      .get_interface = simple_interface,
                                      .cancel = simple_cancel,
                                      .quiesce = simple_quiesce,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
