/* masked.h -- a JSON value with its secrets masked. [any] */
#ifndef MORTISE_JSON_MASKED_H
#define MORTISE_JSON_MASKED_H

#include "core/base/mask.h"
#include "core/json/value.h"

/* Does a string, member name or number of the value contain a secret? */
bool mortise_json_has_secret(const struct mortise_mask *mask, const json_t *v);
/* The value itself (a new reference) if it contains no secret, else a masked
 * copy; NULL: out of memory. */
json_t *mortise_json_mask(const struct mortise_mask *mask, const json_t *v,
                          const struct mortise_mem *mem);

#endif
