/* parameters.h -- the schema of a tool's arguments in the form that model
 * servers accept. */
#ifndef MORTISE_LANG_SCHEMA_PARAMETERS_H
#define MORTISE_LANG_SCHEMA_PARAMETERS_H

#include <jansson.h>

/* Convert to an object schema with `type` and `properties`, without top-level
 * keywords that servers refuse: a new reference; NULL: memory ran out.  The
 * result allows everything that `schema` allows, and possibly more. [any] */
json_t *mortise_json_make_parameters(const json_t *schema);

#endif
