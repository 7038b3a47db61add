/* imports_host.c -- wants a function of the host by name. */
#include "simple.h"

extern int mortise_plugins_close(void *);

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_plugins_close(NULL);
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("imports_host")
