/* ending.h -- the exit code or HTTP status with which a call ended: the members
 * `exit_code` and `status` of an error. [any] */
#ifndef MORTISE_JSON_ENDING_H
#define MORTISE_JSON_ENDING_H

#include <jansson.h>
#include <stdint.h>

struct mortise_exit_info {
    int32_t exit_code; /* of a program; 0: none */
    int32_t status;    /* of an HTTP response; 0: none */
};

/* Read both members of an error; 0 for a missing one, and for anything but a
 * 32-bit integer. */
struct mortise_exit_info mortise_exit_info_get(const json_t *from);
/* Set the members that are not 0 in `into`; -1: out of memory. */
int mortise_exit_info_set(json_t *into, const struct mortise_exit_info *e);

#endif
