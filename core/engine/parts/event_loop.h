/* event_loop.h -- a loop of libuv's, or why there is none. */
#ifndef MORTISE_ENGINE_PARTS_EVENT_LOOP_H
#define MORTISE_ENGINE_PARTS_EVENT_LOOP_H

#include <uv.h>

#include "core/base/err.h"

/* MORTISE_ELIMIT: no descriptors are left for it. */
int mortise_event_loop_init(uv_loop_t *loop, struct mortise_err *err);

#endif
