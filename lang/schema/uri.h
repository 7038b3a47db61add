/* uri.h -- references to URIs (RFC 3986), as far as $id and $ref need them.
 * [any] */
#ifndef MORTISE_LANG_SCHEMA_URI_H
#define MORTISE_LANG_SCHEMA_URI_H

#include "core/base/mem.h"

/* `ref` as seen from `base` (section 5.2.2; a base that is relative itself or
 * "" is fine).  The fragment is that of `ref`.  NULL when memory ran out. */
char *mortise_uri_resolve(struct mortise_arena *a, const char *base,
                          const char *ref);

#endif
