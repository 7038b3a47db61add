/* masked.h -- a JSON value without what must not be seen.  [any] */
#ifndef MORTISE_JSON_MASKED_H
#define MORTISE_JSON_MASKED_H

#include "core/base/mask.h"
#include "core/json/value.h"

/* Is anything of the mask in the value's strings, names of members or numbers?
 */
bool mortise_json_tells(const struct mortise_mask *mask, const json_t *v);
/* The value without it: the same (a new reference) when there is nothing, else
 * a copy; NULL when memory ran out. */
json_t *mortise_json_masked(const struct mortise_mask *mask, const json_t *v,
                            const struct mortise_mem *mem);

#endif
