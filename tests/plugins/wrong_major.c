/* wrong_major.c -- was built for another major version of the abi. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)

static const mortise_plugin plugin = {sizeof(mortise_plugin), 0,
                                      "wrong_major",          "1.0.0",
                                      simple_create,          simple_interface,
                                      simple_cancel,          simple_quiesce,
                                      simple_destroy};
static const mortise_plugin *const plugins[] = {&plugin};
MORTISE_MODULE mortise_module_v1 = {
    sizeof(mortise_module), 2, 0, 0, 1, plugins, NULL, NULL};
