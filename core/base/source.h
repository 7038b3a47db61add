/* source.h -- the text of a file, with the path that messages use. */
#ifndef MORTISE_BASE_SOURCE_H
#define MORTISE_BASE_SOURCE_H

#include <stddef.h>

struct mortise_source {
    const char *path; /* for messages; identifies the file */
    const char *text; /* followed by a NUL */
    size_t size;
};

#endif
