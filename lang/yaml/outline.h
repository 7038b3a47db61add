/* outline.h -- tables of keys as JSON Schema, for editors.
 *
 * Draft-07, since that is what editors' YAML support reads. */
#ifndef MORTISE_LANG_YAML_OUTLINE_H
#define MORTISE_LANG_YAML_OUTLINE_H

#include <jansson.h>

#include "lang/yaml/keys.h"

/* What a file that this place describes may say, as one schema with everything
 * in it; keys that are not in this build are not in it.  A new reference, or
 * NULL: out of memory.  [any] */
json_t *mortise_outline(const struct mortise_place *place, const char *title);

#endif
