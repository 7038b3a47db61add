/* bench_now.c -- trivial work on the engine's thread.
 *
 *   step   pure: 20 bytes of output
 *   put    write, idempotent: the same
 *   line   pure: 1 KiB
 *   clock  pure: what this thread has computed so far, in ns */
#include <stdio.h>

#include "../../plugins/simple.h"

static const char line[] = "\"line: "
#define X32  "abcdefghijklmnopqrstuvwxyz012345"
#define X256 X32 X32 X32 X32 X32 X32 X32 X32
    X256 X256 X256 X256 "\"";

static mortise_status clock_ns(mortise_inst *i, const mortise_request *r)
{
    struct timespec t;
    char text[32];

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    snprintf(text, sizeof text, "%lld",
             (long long)t.tv_sec * 1000000000 + (long long)t.tv_nsec);
    return simple_emit(i, r, text);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    if (mortise_str_is(r->operation, "clock"))
        return clock_ns(i, r);
    if (mortise_str_is(r->operation, "line"))
        return simple_emit(i, r, line);
    return simple_emit(i, r, "\"abcdefghijklmnopqr\"");
}

SIMPLE_EXECUTOR("bench_now")
