/* whole.h -- paths from the root on, links followed.  [any] */
#ifndef MORTISE_BASE_WHOLE_H
#define MORTISE_BASE_WHOLE_H

#include <limits.h>
#include <stdbool.h>

/* What exists of the path without links, what comes behind that by its words.
 * The root is "".  False: it is too long for any file. */
bool mortise_whole(char out[PATH_MAX], const char *path);
/* Is the one at the other, or below it?  Both are whole. */
bool mortise_whole_is_in(const char *path, const char *top);

#endif
