/* event_loop.h -- create a libuv loop, or fail with an error. */
#ifndef MORTISE_ENGINE_PARTS_EVENT_LOOP_H
#define MORTISE_ENGINE_PARTS_EVENT_LOOP_H

#include <uv.h>

#include "core/base/err.h"

/* MORTISE_ELIMIT: the process has no file descriptors left for the loop. */
int mortise_event_loop_init(uv_loop_t *loop, struct mortise_err *err);

#endif
