/* write.h -- JSON values as YAML that people read and our loader reads back.
 * [any] */
#ifndef MORTISE_LANG_YAML_WRITE_H
#define MORTISE_LANG_YAML_WRITE_H

#include "core/json/value.h"

/* What to say behind a scalar or an empty container, as a comment; NULL:
 * nothing.  The pointer (RFC 6901) says which. */
typedef const char *mortise_yaml_note_fn(void *ud, const char *pointer);

/* `v`, an object or an array, in block style, appended to b: one scalar a line.
 * mortise_yaml_parse() gives the same value back.  `note` may be NULL.
 * MORTISE_ENOMEM. */
int mortise_yaml_write(struct mortise_buf *b, const json_t *v,
                       mortise_yaml_note_fn *note, void *ud);

#endif
