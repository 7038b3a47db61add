/* service.c -- the service `process`: programs. */
#include "services/process/methods.h"
#include "core/plugin/services.h"
#include "services/process/process.h"

static const struct mortise_method methods[] = {
    {.name = "process.run/1",
     .changes = true,
     .performs = &mortise_host_call_process_run},
    {.name = "process.spawn/1", .performs = &mortise_host_call_process_spawn},
    {.name = "process.write/1", .performs = &mortise_host_call_process_write},
    {.name = "process.end/1", .performs = &mortise_host_call_process_end},
    {.name = NULL},
};

static int open_processes(struct mortise *m, void **kept,
                          struct mortise_err *err)
{
    struct mortise_processes *all = NULL;
    int rv = mortise_processes_open(&all, m->mem, &m->loop, &m->timers, err);

    *kept = all;
    return rv;
}

static void close_processes(struct mortise *m, void *kept)
{
    (void)m;
    mortise_processes_close(kept);
}

/* A process that was killed has to be reaped. */
static bool do_processes_exist(const void *kept)
{
    return mortise_processes_exist(kept);
}

const struct mortise_service mortise_service_process = {
    .name = "process",
    .methods = methods,
    .open = open_processes,
    .close = close_processes,
    .is_busy = do_processes_exist};
