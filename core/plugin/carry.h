/* carry.h -- how a message gets to the other side of the plugin boundary.
 *
 * In process it is lent or copied (carry.c).  The suites of `make wire` are linked
 * with tests/wire/carry.c instead: there each message goes through the encoding of
 * wire.h and back, so that nothing grows here that could not cross a process.
 *
 * Both functions leave msg with the strings that the receiver sees, and held with
 * what mortise_wire_release frees behind it. */
#ifndef MORTISE_PLUGIN_CARRY_H
#define MORTISE_PLUGIN_CARRY_H

#include "core/base/err.h"
#include "core/plugin/wire.h"

/* For as long as the sender waits: the strings stay the sender's. */
int mortise_carry_lend(struct mortise_wire *msg, struct mortise_wire_held *held,
                       const struct mortise_mem *mem, struct mortise_err *err);
/* For a receiver that answers later: the strings are held's. */
int mortise_carry_copy(struct mortise_wire *msg, struct mortise_wire_held *held,
                       const struct mortise_mem *mem, struct mortise_err *err);

#endif
