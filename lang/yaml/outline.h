/* outline.h -- tables of keys as JSON Schema, for editors.
 *
 * Draft-07, because the YAML support of editors reads that version. */
#ifndef MORTISE_LANG_YAML_OUTLINE_H
#define MORTISE_LANG_YAML_OUTLINE_H

#include <jansson.h>

#include "lang/yaml/keys.h"

/* The valid files that this place describes, as one self-contained schema
 * without the keys that this build does not have.  A new reference, or NULL:
 * out of memory. [any] */
json_t *mortise_outline_make(const struct mortise_place *place,
                             const char *title);

#endif
