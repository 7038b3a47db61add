/* methods.c -- what plugins may ask: the methods of this build as a table. */
#include "engine/runs/door.h"

const struct mortise_door_row mortise_door_methods[] = {
#define METHOD(id, name, changes) {name, &mortise_door_##id},
#include "plugin/methods.def"
#undef METHOD
    {NULL, NULL},
};
