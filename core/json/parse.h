/* parse.h -- parse JSON text to jansson values. [any] */
#ifndef MORTISE_JSON_PARSE_H
#define MORTISE_JSON_PARSE_H

#include <jansson.h>

enum { MORTISE_JSON_DEPTH_MAX = 256 }; /* the largest `depth` below */

/* Parse n bytes of UTF-8; returns a new reference.  `flags` are jansson's
 * JSON_DECODE_ANY, JSON_ALLOW_NUL and JSON_REJECT_DUPLICATES.  `depth` is the
 * largest nesting of containers.  NULL: *why (NULL is allowed) has the code,
 * line, column, position and text of jansson's error.  The code is
 * json_error_out_of_memory only if memory ran out. */
json_t *mortise_json_load(const char *text, size_t n, size_t flags,
                          size_t depth, json_error_t *why);

#endif
