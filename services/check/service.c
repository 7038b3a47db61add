/* service.c -- the service `check`: checks of values and graphs. */
#include "services/check/methods.h"
#include "core/plugin/services.h"

static const struct mortise_method methods[] = {
    {.name = "schema.check/1", .performs = &mortise_host_call_schema_check},
    {.name = "graph.check/1", .performs = &mortise_host_call_graph_check},
    {.name = NULL},
};

const struct mortise_service mortise_service_check = {.name = "check",
                                                      .methods = methods};
