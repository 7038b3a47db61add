/* methods.h -- the methods of the service `spawn`. */
#ifndef MORTISE_SERVICES_SPAWN_METHODS_H
#define MORTISE_SERVICES_SPAWN_METHODS_H

#include "core/engine/runs/host_calls.h"

/* children.c */
extern const struct mortise_host_call_method mortise_host_call_spawn_start;
extern const struct mortise_host_call_method mortise_host_call_spawn_await;

/* handles.c */
extern const struct mortise_host_call_method mortise_host_call_spawn_claim;
extern const struct mortise_host_call_method mortise_host_call_spawn_register;
extern const struct mortise_host_call_method mortise_host_call_spawn_advance;
extern const struct mortise_host_call_method mortise_host_call_spawn_settle;
extern const struct mortise_host_call_method mortise_host_call_spawn_report;

/* tasks.c */
extern const struct mortise_host_call_method mortise_host_call_spawn_list;
extern const struct mortise_host_call_method mortise_host_call_spawn_message;
extern const struct mortise_host_call_method mortise_host_call_spawn_cancel;

#endif
