/* metaschema.h -- the metaschemas of JSON Schema draft 2020-12. [any] */
#ifndef MORTISE_LANG_SCHEMA_METASCHEMA_H
#define MORTISE_LANG_SCHEMA_METASCHEMA_H

/* The JSON text of the metaschema with this URI (without a fragment), or NULL.
 * Static. */
const char *mortise_metaschema_find(const char *uri);

#endif
