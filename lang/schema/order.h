/* order.h -- values compared as JSON Schema compares them: numbers by their
 * mathematical value, objects without regard to order.  [any] */
#ifndef MORTISE_LANG_SCHEMA_ORDER_H
#define MORTISE_LANG_SCHEMA_ORDER_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/mem.h"

/* A total order over all values: negative, 0 when they are equal (1 and 1.0
 * are), positive. */
int mortise_json_order(const json_t *a, const json_t *b);

/* The first pair of equal elements (first by the later one).  MORTISE_ENOMEM,
 * else MORTISE_OK with *found.  Takes n log n comparisons. */
int mortise_json_repeated(const json_t *array, const struct mortise_mem *mem,
                          bool *found, size_t *first, size_t *second);

/* Is `v` a whole multiple of `of` (> 0), both as the decimals that people
 * write: 0.0075 is one of 0.0001. */
bool mortise_json_multiple(const json_t *v, const json_t *of);

/* An integer, in whatever spelling, that 64 bits hold. */
bool mortise_json_is_whole(const json_t *v);

#endif
