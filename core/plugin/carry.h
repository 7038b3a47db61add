/* carry.h -- transfer of a message across the plugin boundary.
 *
 * In process, carry.c lends or copies the strings.  The test suites of `make
 * wire` link tests/wire/carry.c instead, which encodes and decodes each message
 * (wire.h).  This keeps messages independent of shared memory.
 *
 * Both functions set the strings of msg to those that the receiver reads. held
 * owns the memory that mortise_wire_release() frees later. */
#ifndef MORTISE_PLUGIN_CARRY_H
#define MORTISE_PLUGIN_CARRY_H

#include "core/base/err.h"
#include "core/plugin/wire.h"

/* Lend the strings.  The sender must keep them until the receiver returns. */
int mortise_carry_lend(struct mortise_wire *msg,
                       struct mortise_wire_storage *held,
                       const struct mortise_mem *mem, struct mortise_err *err);
/* Copy the strings into held, for a receiver that answers later. */
int mortise_carry_copy(struct mortise_wire *msg,
                       struct mortise_wire_storage *held,
                       const struct mortise_mem *mem, struct mortise_err *err);

#endif
