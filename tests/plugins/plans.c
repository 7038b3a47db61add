/* plans.c -- next {prompt, reply, turn, left}: says that it is done at the
 * second turn, and until then, by config.silent or not, what is to be done next.
 * It gives what it heard with it, as `heard`; nonsense {}: no plan at all. */
#include <stdio.h>

#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char room[4096];
    int64_t turn = simple_int(r, "turn", 0);

    if (mortise_str_is(r->operation, "nonsense"))
        return simple_emit(i, r, "{\"done\":\"perhaps\"}");
    snprintf(room, sizeof room, "{\"done\":%s%s,\"heard\":%.*s}",
             turn >= 2 ? "true" : "false",
             turn >= 2 || i->file[0] != '\0' ? "" : ",\"message\":\"And then?\"",
             (int)r->body.n, r->body.p);
    return simple_emit(i, r, room);
}

SIMPLE_EXECUTOR("plans")
