/* huge_output.c -- emits 64 MiB, a MiB at a time, and never looks whether it
 * may. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    static char block[1 << 20];

    memset(block, ' ', sizeof block);
    for (int k = 0; k < 64; k++)
        mortise_emit_output(i->host, i->api, r->call,
                            mortise_strn(block, sizeof block));
    return MORTISE_S_OK;
}

SIMPLE_EXECUTOR("huge_output")
