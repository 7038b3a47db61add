/* parameters.h -- the schema of a tool's arguments, as model servers take it. */
#ifndef MORTISE_LANG_SCHEMA_PARAMETERS_H
#define MORTISE_LANG_SCHEMA_PARAMETERS_H

#include <jansson.h>

/* The same as an object schema with `type` and `properties`, and without what
 * servers refuse at the top: a new reference, NULL when memory ran out.  It
 * allows all that `schema` allows, and maybe more.  [any] */
json_t *mortise_json_parameters(const json_t *schema);

#endif
