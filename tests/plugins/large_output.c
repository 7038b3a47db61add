/* large_output.c -- emits a string of `bytes` bytes: larger than what travels
 * inside a message, and still allowed. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    static char block[1 << 20];
    uint64_t left = (uint64_t)simple_int(r, "bytes", 0);

    memset(block, 'x', sizeof block);
    simple_emit(i, r, "\"");
    while (left > 0) {
        uint64_t n = left < sizeof block ? left : sizeof block;

        mortise_emit_output(i->host, i->api, r->call, mortise_strn(block, n));
        left -= n;
    }
    return simple_emit(i, r, "\"");
}

SIMPLE_EXECUTOR("large_output")
