/* methods.c -- what plugins may ask: the methods of this build as a table. */
#include "core/engine/runs/host_calls.h"

const struct mortise_host_call_row mortise_host_call_methods[] = {
#define METHOD(id, name, changes, late) {name, &mortise_host_call_##id},
#include "core/plugin/methods.def"
#undef METHOD
    {NULL, NULL},
};
