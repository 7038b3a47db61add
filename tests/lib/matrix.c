/* matrix.c -- how much of a matrix runs (matrix.h). */
#include "lib/matrix.h"

#include <stdlib.h>
#include <string.h>

bool matrix_is_whole(void)
{
    const char *much = getenv("MORTISE_MATRIX");

    return much != NULL && strcmp(much, "whole") == 0;
}

bool matrix_takes(size_t i, size_t share)
{
    return i % share == 0 || matrix_is_whole();
}

size_t matrix_step(size_t share)
{
    return matrix_is_whole() ? 1 : share;
}
