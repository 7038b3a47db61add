/* begins.c -- kinds of calls that are not made to their node's plugin: one row
 * each. */
#include "core/engine/runs/call.h"
#include "core/engine/runs/discover.h"

static mortise_begin_fn *const rows[] = {
    [MORTISE_RUN_LOOKUP] = mortise_cache_look_up,
    [MORTISE_RUN_DISCOVER] = mortise_consult_discovery,
};

mortise_begin_fn *mortise_begin_find(enum mortise_run_call_kind kind)
{
    return (size_t)kind < sizeof rows / sizeof rows[0] ? rows[kind] : NULL;
}
