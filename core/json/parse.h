/* parse.h -- JSON text, parsed into jansson's values.  [any] */
#ifndef MORTISE_JSON_PARSE_H
#define MORTISE_JSON_PARSE_H

#include <jansson.h>

enum { MORTISE_JSON_DEEPEST = 256 }; /* the largest `depth` below */

/* The value of n bytes of UTF-8, a new reference.  The flags are jansson's:
 * JSON_DECODE_ANY, JSON_ALLOW_NUL, JSON_REJECT_DUPLICATES.  At most `depth`
 * containers are within each other.  NULL: *why (NULL is fine) has the code,
 * line, column, position and text that jansson reports.  Its code is
 * json_error_out_of_memory if memory ran out, and then only. */
json_t *mortise_json_load(const char *text, size_t n, size_t flags,
                          size_t depth, json_error_t *why);

#endif
