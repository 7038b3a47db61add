/* methods.c -- what plugins may ask: the methods of this build as a table. */
#include "engine/runs/door.h"

const struct mortise_door_method *const mortise_door_methods[] = {
    &mortise_door_state_get,  &mortise_door_http_request,
    &mortise_door_interrupt,  &mortise_door_timer,
    &mortise_door_kv_get,     &mortise_door_kv_put,
    &mortise_door_secret_get, NULL,
};
