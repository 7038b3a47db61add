/* whole.h -- resolve paths to absolute ones without links. [any] */
#ifndef MORTISE_BASE_WHOLE_H
#define MORTISE_BASE_WHOLE_H

#include <limits.h>
#include <stdbool.h>

/* Resolve the links in the part of `path` that exists; append the rest by its
 * text.  The root is "".  False: the path is too long. */
bool mortise_path_resolve(char out[PATH_MAX], const char *path);
/* Is `path` equal to `top`, or below it?  Both must come
 * from mortise_path_resolve(). */
bool mortise_path_is_below(const char *path, const char *top);

#endif
