/* methods.h -- the methods of the service `process`. */
#ifndef MORTISE_SERVICES_PROCESS_METHODS_H
#define MORTISE_SERVICES_PROCESS_METHODS_H

#include "core/engine/runs/host_calls.h"

/* program.c */
extern const struct mortise_host_call_method mortise_host_call_process_run;

/* spawn.c */
extern const struct mortise_host_call_method mortise_host_call_process_spawn;
extern const struct mortise_host_call_method mortise_host_call_process_write;
extern const struct mortise_host_call_method mortise_host_call_process_end;

#endif
