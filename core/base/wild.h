/* wild.h -- names that fit a pattern with stars.  [any] */
#ifndef MORTISE_BASE_WILD_H
#define MORTISE_BASE_WILD_H

#include <stdbool.h>

/* `*` stands for any characters, none included; every other one for itself. */
bool mortise_wild_fits(const char *pattern, const char *name);

#endif
