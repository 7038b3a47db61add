/* wild.h -- match a name against a pattern with `*`. [any] */
#ifndef MORTISE_BASE_WILD_H
#define MORTISE_BASE_WILD_H

#include <stdbool.h>

/* `*` matches any sequence of characters, including none.  Every other
 * character matches itself. */
bool mortise_wild_match(const char *pattern, const char *name);

#endif
