/* methods.c -- the table of methods that plugins may ask for in this build. */
#include "core/engine/runs/host_calls.h"

const struct mortise_host_call_row mortise_host_call_methods[] = {
#define METHOD(id, name, changes, late) {name, &mortise_host_call_##id},
#include "core/plugin/methods.def"
#undef METHOD
    {NULL, NULL},
};
