/* carry.c -- each message through bytes and back, in place of core/plugin/carry.c
 * (`make wire`). */
#include "core/plugin/carry.h"

int mortise_carry_lend(struct mortise_wire *msg,
                       struct mortise_wire_storage *held,
                       const struct mortise_mem *mem, struct mortise_err *err)
{
    return mortise_wire_round_trip(msg, held, mem, err);
}

int mortise_carry_copy(struct mortise_wire *msg,
                       struct mortise_wire_storage *held,
                       const struct mortise_mem *mem, struct mortise_err *err)
{
    return mortise_wire_round_trip(msg, held, mem, err);
}
