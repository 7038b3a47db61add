/* uri.h -- resolving references to URIs (RFC 3986), for $id and $ref. [any] */
#ifndef MORTISE_LANG_SCHEMA_URI_H
#define MORTISE_LANG_SCHEMA_URI_H

#include "core/base/mem.h"

/* Resolve `ref` relative to `base` (section 5.2.2), which may be relative
 * itself or "".  The fragment is that of `ref`.  NULL: memory ran out. */
char *mortise_uri_resolve(struct mortise_arena *a, const char *base,
                          const char *ref);

#endif
