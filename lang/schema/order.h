/* order.h -- comparing values by the rules of JSON Schema: numbers by their
 * mathematical value, objects without regard to order. [any] */
#ifndef MORTISE_LANG_SCHEMA_ORDER_H
#define MORTISE_LANG_SCHEMA_ORDER_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/mem.h"

/* A total order of all values: negative, 0 if they are equal (1 and 1.0 are),
 * or positive. */
int mortise_json_compare(const json_t *a, const json_t *b);

/* Find the first pair of equal elements, by the position of the later one.
 * MORTISE_OK with *found, or MORTISE_ENOMEM. Needs n log n comparisons. */
int mortise_json_find_repeated(const json_t *array,
                               const struct mortise_mem *mem, bool *found,
                               size_t *first, size_t *second);

/* Is `v` a multiple of `of` (> 0), both as decimals: 0.0075 is one of
 * 0.0001. */
bool mortise_json_is_multiple(const json_t *v, const json_t *of);

/* Is it an integer, in any notation, that fits in 64 bits? */
bool mortise_json_is_whole(const json_t *v);

#endif
