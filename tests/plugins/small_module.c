/* small_module.c -- says that its module is smaller than it may be. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)
__attribute__((used)) static const void *(*const kept)(
    mortise_inst *, const char *) = simple_interface;
MORTISE_MODULE mortise_module_v1 = {8, 1, 0, 0, 0, NULL, NULL, NULL};
