/* metaschema.h -- the schemas of JSON Schema draft 2020-12 itself.  [any] */
#ifndef MORTISE_LANG_SCHEMA_METASCHEMA_H
#define MORTISE_LANG_SCHEMA_METASCHEMA_H

/* The JSON text of the one with this URI (no fragment), or NULL.  Static. */
const char *mortise_metaschema(const char *uri);

#endif
