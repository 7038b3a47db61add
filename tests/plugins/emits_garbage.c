/* emits_garbage.c -- emits what is no JSON, and no UTF-8 either. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_emit(i, r, "{\"half\": \xff\xfe");
}

SIMPLE_EXECUTOR("emits_garbage")
