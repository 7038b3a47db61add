/* service.c -- the service `process`: programs. */
#include "services/process/methods.h"
#include "core/plugin/services.h"

static const struct mortise_method methods[] = {
    {.name = "process.run/1",
     .changes = true,
     .performs = &mortise_host_call_process_run},
    {.name = "process.spawn/1", .performs = &mortise_host_call_process_spawn},
    {.name = "process.write/1", .performs = &mortise_host_call_process_write},
    {.name = "process.end/1", .performs = &mortise_host_call_process_end},
    {.name = NULL},
};

const struct mortise_service mortise_service_process = {.name = "process",
                                                        .methods = methods};
