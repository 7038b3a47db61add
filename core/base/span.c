/* span.c -- a position in the text of a file, as people read it. */
#include "core/base/span.h"

const char *mortise_source_file_name(const struct mortise_source_file *file)
{
    return file->alias != NULL ? file->alias : file->path;
}

void mortise_span_format(struct mortise_span span, struct mortise_buf *b)
{
    if (span.file == NULL)
        mortise_buf_puts(b, "?");
    else
        mortise_buf_printf(b, "%s:%u:%u", mortise_source_file_name(span.file),
                           span.line, span.col);
}
