/* matrix.h -- how much of a matrix runs.
 *
 * Some suites go over a matrix: each file of a store and each way to damage it,
 * each call at which a process is killed, each byte after which a connection
 * breaks.  `make check` runs a part that is spread over the whole matrix and is
 * the same each time.  `make whole`, which sets MORTISE_MATRIX=whole, runs all
 * of it. */
#ifndef MORTISE_TESTS_MATRIX_H
#define MORTISE_TESTS_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

/* Was the whole matrix asked for? */
bool matrix_is_whole(void);

/* Does case `i` of a matrix belong to this run?  Without the whole matrix, that
 * is the first of each `share` cases. */
bool matrix_takes(size_t i, size_t share);

/* From one case to the next: 1, or `share` without the whole matrix. */
size_t matrix_step(size_t share);

#endif
