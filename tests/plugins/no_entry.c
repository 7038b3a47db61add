/* no_entry.c -- exports nothing at all. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)

/* Kept, but not the way that a module is found. */
__attribute__((used)) static const void *(*const kept)(
    mortise_inst *, const char *) = simple_interface;
