/* bench_now.c -- trivial work on the engine's thread.
 *
 *   step   pure: 20 bytes of output
 *   put    write, idempotent: the same
 *   line   pure: 1 KiB */
#include "../../plugins/simple.h"

static const char line[] = "\"line: "
#define X32  "abcdefghijklmnopqrstuvwxyz012345"
#define X256 X32 X32 X32 X32 X32 X32 X32 X32
    X256 X256 X256 X256 "\"";

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    if (mortise_str_is(r->operation, "line"))
        return simple_emit(i, r, line);
    return simple_emit(i, r, "\"abcdefghijklmnopqr\"");
}

SIMPLE_EXECUTOR("bench_now")
