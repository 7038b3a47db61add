/* span.h -- a position in the text of a file. */
#ifndef MORTISE_BASE_SPAN_H
#define MORTISE_BASE_SPAN_H

#include <stdint.h>

#include "core/base/buf.h"

struct mortise_source_file {
    const char *path;  /* as given, for messages */
    const char *alias; /* the name for records; NULL: the path */
    const char *text;  /* the bytes, NUL-terminated */
    size_t size;
    const uint32_t *line_at; /* offset of each line's first byte */
    size_t n_lines;
};

/* Lines and columns count from 1, columns in bytes; the end is exclusive. file
 * NULL: no position. */
struct mortise_span {
    const struct mortise_source_file *file; /* valid as long as its tree */
    uint32_t line, col, end_line, end_col;
};

/* The name of the file in all data that outlives this process. */
const char *mortise_source_file_name(const struct mortise_source_file *file);
/* "path:line:col", or "?" without a position. */
void mortise_span_format(struct mortise_span span, struct mortise_buf *b);

#endif
