/* memory_floods.c -- a memory that gives more than it was asked for. */
#include "remembers.h"

static mortise_status on_read(mortise_inst *i, const mortise_request *r)
{
    char one[256];

    simple_emit(i, r, "{\"seq\": 1, \"traces\": [");
    for (int k = 0; k < 900; k++) {
        snprintf(one, sizeof one,
                 "%s{\"id\": \"%d\", \"type\": \"semantic\", \"scope\": "
                 "\"global\", \"content\": \"x\", \"strength\": 1, "
                 "\"created_at\": 1}",
                 k > 0 ? ", " : "", k);
        simple_emit(i, r, one);
    }
    return simple_emit(i, r, "]}");
}

/* Of output there may be 16 MiB. */
static mortise_status on_write(mortise_inst *i, const mortise_request *r)
{
    static char much[1 << 20];

    memset(much, ' ', sizeof much - 1);
    for (int k = 0; k < 20; k++)
        simple_emit(i, r, much);
    return MORTISE_S_OK;
}

static mortise_status on_forget(mortise_inst *i, const mortise_request *r)
{
    return on_write(i, r);
}

REMEMBERS_MODULE("memory_floods")
