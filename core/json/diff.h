/* diff.h -- report the places at which two JSON values differ. [any] */
#ifndef MORTISE_JSON_DIFF_H
#define MORTISE_JSON_DIFF_H

#include "core/base/buf.h"
#include "core/json/value.h"

/* One difference: `a` and `b` are the values at `pointer` (RFC 6901; "" is the
 * root), NULL if there is none.  All are borrowed. */
typedef void mortise_json_diff_fn(void *ud, const char *pointer,
                                  const json_t *a, const json_t *b);

/* Report each difference at the deepest place: inside objects, and inside
 * arrays of equal length.  Members that only `b` has come last.
 * MORTISE_ENOMEM, or MORTISE_OK. */
int mortise_json_diff(const json_t *a, const json_t *b,
                      const struct mortise_mem *mem,
                      mortise_json_diff_fn *differ, void *ud);

#endif
