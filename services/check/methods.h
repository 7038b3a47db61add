/* methods.h -- the methods of the service `check`. */
#ifndef MORTISE_SERVICES_CHECK_METHODS_H
#define MORTISE_SERVICES_CHECK_METHODS_H

#include "core/engine/runs/host_calls.h"

/* graph_check.c */
extern const struct mortise_host_call_method mortise_host_call_graph_check;

/* schema_check.c */
extern const struct mortise_host_call_method mortise_host_call_schema_check;

#endif
