/* memory_hangs.c -- a memory that never answers, and lets go when it is told to. */
#include "remembers.h"

static mortise_status on_read(mortise_inst *i, const mortise_request *r)
{
    (void)i;
    (void)r;
    return MORTISE_S_PENDING;
}

static mortise_status on_write(mortise_inst *i, const mortise_request *r)
{
    return on_read(i, r);
}

static mortise_status on_forget(mortise_inst *i, const mortise_request *r)
{
    return on_read(i, r);
}

static void cancel(mortise_inst *i, mortise_call call)
{
    i->api->finish(i->host, call, MORTISE_S_CANCELLED, mortise_str_empty(),
                   mortise_str_empty());
}

static const mortise_memory memory = {sizeof(mortise_memory), 0, on_read,
                                      on_write, on_forget};
SIMPLE_INTERFACE(MORTISE_MEMORY_1, memory)

static const mortise_plugin plugin = {sizeof(mortise_plugin),
                                      0,
                                      "memory_hangs",
                                      "1.0.0",
                                      simple_create,
                                      simple_interface,
                                      cancel,
                                      simple_quiesce,
                                      simple_destroy};

MORTISE_MODULE_OF(plugin);
