/* drafts.h -- schemas of earlier drafts.  [any] */
#ifndef MORTISE_LANG_SCHEMA_DRAFTS_H
#define MORTISE_LANG_SCHEMA_DRAFTS_H

#include <jansson.h>

/* Rewrite the keywords of drafts 4 to 7 to draft 2020-12, in place.  Keywords
 * of 2020-12 remain.  MORTISE_ENOMEM: the schema is incomplete. */
int mortise_schema_modernize(json_t *schema);

#endif
