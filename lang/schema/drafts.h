/* drafts.h -- schemas of earlier drafts.  [any] */
#ifndef MORTISE_LANG_SCHEMA_DRAFTS_H
#define MORTISE_LANG_SCHEMA_DRAFTS_H

#include <jansson.h>

/* Write what drafts 4 to 7 say otherwise as draft 2020-12 has it, in place.  What
 * 2020-12 has stays as it is.  MORTISE_ENOMEM: the schema is half written. */
int mortise_schema_modernize(json_t *schema);

#endif
