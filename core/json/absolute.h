/* absolute.h -- absolute paths as JSON. [any] */
#ifndef MORTISE_JSON_ABSOLUTE_H
#define MORTISE_JSON_ABSOLUTE_H

#include <jansson.h>

/* The absolute path, with links resolved if the file exists.  A new reference;
 * NULL: memory ran out. */
json_t *mortise_json_absolute_path(const char *path);

#endif
