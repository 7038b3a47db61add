/* service.c -- the service `spawn`: child runs and child processes. */
#include "services/spawn/methods.h"
#include "core/plugin/services.h"

static const struct mortise_method methods[] = {
    {.name = "spawn.claim/1", .performs = &mortise_host_call_spawn_claim},
    {.name = "spawn.register/1", .performs = &mortise_host_call_spawn_register},
    {.name = "spawn.advance/1", .performs = &mortise_host_call_spawn_advance},
    {.name = "spawn.start/1", .performs = &mortise_host_call_spawn_start},
    {.name = "spawn.await/1", .performs = &mortise_host_call_spawn_await},
    {.name = "spawn.settle/1", .performs = &mortise_host_call_spawn_settle},
    {.name = "spawn.report/1", .performs = &mortise_host_call_spawn_report},
    {.name = "spawn.list/1", .performs = &mortise_host_call_spawn_list},
    {.name = "spawn.message/1", .performs = &mortise_host_call_spawn_message},
    {.name = "spawn.cancel/1", .performs = &mortise_host_call_spawn_cancel},
    {.name = NULL},
};

const struct mortise_service mortise_service_spawn = {.name = "spawn",
                                                      .methods = methods};
