/* source.h -- the text of a file, and what people call the file. */
#ifndef MORTISE_BASE_SOURCE_H
#define MORTISE_BASE_SOURCE_H

#include <stddef.h>

struct mortise_source {
    const char *path; /* for messages; tells files apart */
    const char *text; /* bytes; a NUL stands behind them */
    size_t size;
};

#endif
