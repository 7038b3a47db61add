/* ending.h -- the number with which a program or a server ended a call: members
 * of an error (`exit_code`, `status`), wherever an error goes.  [any] */
#ifndef MORTISE_JSON_ENDING_H
#define MORTISE_JSON_ENDING_H

#include <jansson.h>
#include <stdint.h>

struct mortise_ending {
    int32_t exit_code; /* of a program; 0: none */
    int32_t status;    /* of an answer over HTTP; 0: none */
};

/* From the members of that name; what is no number of that size is none. */
struct mortise_ending mortise_ending_of(const json_t *from);
/* Into an object, as members, where they are; -1: memory ran out. */
int mortise_ending_put(json_t *into, const struct mortise_ending *e);

#endif
