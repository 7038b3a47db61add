/* diff.h -- where two JSON values differ.  [any] */
#ifndef MORTISE_JSON_DIFF_H
#define MORTISE_JSON_DIFF_H

#include "core/base/buf.h"
#include "core/json/value.h"

/* `pointer` (RFC 6901; "" is the whole) leads to what differs in `a`, in `b`, or
 * in both: NULL where one of them has nothing there.  Lent. */
typedef void mortise_json_differ_fn(void *ud, const char *pointer,
                                    const json_t *a, const json_t *b);

/* Each place where they differ, the deepest ones: members of objects, and
 * elements of lists that are as long; those of `b` alone behind those of `a`.
 * MORTISE_ENOMEM, or MORTISE_OK. */
int mortise_json_diff(const json_t *a, const json_t *b,
                      const struct mortise_mem *mem,
                      mortise_json_differ_fn *differ, void *ud);

#endif
