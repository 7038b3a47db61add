/* hostile.c -- how much of a hostile suite runs (hostile.h). */
#include "lib/hostile.h"

#include <stdlib.h>
#include <string.h>

bool hostile_is_whole(void)
{
    const char *much = getenv("MORTISE_HOSTILE");

    return much != NULL && strcmp(much, "whole") == 0;
}

bool hostile_takes(size_t i, size_t share)
{
    return i % share == 0 || hostile_is_whole();
}
