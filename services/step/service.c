/* service.c -- the service `step`: interrupts, timers, the state of the run, and steps that a plugin performs itself. */
#include "services/step/methods.h"
#include "core/plugin/services.h"

static const struct mortise_method methods[] = {
    {.name = "interrupt.request/1", .performs = &mortise_host_call_interrupt},
    {.name = "state.get/1", .performs = &mortise_host_call_state_get},
    {.name = "timer.wait/1", .performs = &mortise_host_call_timer},
    {.name = "journal.begin/1",
     .changes = true,
     .performs = &mortise_host_call_journal_begin},
    {.name = "journal.end/1",
     .late = true,
     .performs = &mortise_host_call_journal_end},
    {.name = NULL},
};

const struct mortise_service mortise_service_step = {.name = "step",
                                                     .methods = methods};
