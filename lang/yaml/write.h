/* write.h -- JSON values as YAML for people, which our loader can read.
 * [any] */
#ifndef MORTISE_LANG_YAML_WRITE_H
#define MORTISE_LANG_YAML_WRITE_H

#include "core/json/value.h"

/* A comment for the line of a scalar or an empty container, or NULL: none.  The
 * pointer (RFC 6901) names the value. */
typedef const char *mortise_yaml_note_fn(void *ud, const char *pointer);

/* Append `v`, an object or an array, to b in block style, one scalar per line.
 * mortise_yaml_parse() returns the same value.  `note` may be NULL.
 * MORTISE_ENOMEM. */
int mortise_yaml_write(struct mortise_buf *b, const json_t *v,
                       mortise_yaml_note_fn *note, void *ud);

#endif
