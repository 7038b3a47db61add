/* hostile.h -- how much of a hostile suite runs.
 *
 * A suite of tests/hostile/ goes over a matrix: each file of a store and each
 * way to spoil it, each byte at which a connection breaks.  `make check`
 * takes an affordable part of it, spread over the whole and the same each time;
 * `make hostile` takes all. */
#ifndef MORTISE_TESTS_HOSTILE_H
#define MORTISE_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>

/* Was the whole matrix asked for? */
bool hostile_is_whole(void);

/* Does case `i` of a matrix belong to this run, when about one in `share`
 * belongs to the affordable part? */
bool hostile_takes(size_t i, size_t share);

#endif
