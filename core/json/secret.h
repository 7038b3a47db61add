/* secret.h -- references to secrets in values, and the places that allow them.
 *
 * A reference is `secret://NAME`, as a whole string or at its end after a blank
 * ("Bearer secret://NAME").  A schema marks a place that allows references with
 * `x-secret: true`. [any] */
#ifndef MORTISE_JSON_SECRET_H
#define MORTISE_JSON_SECRET_H

#include "core/json/value.h"

enum { MORTISE_SECRET_NAME = 64 }; /* maximum length of a name in bytes */

/* Does it match [A-Za-z0-9][A-Za-z0-9._-]*, with at most MORTISE_SECRET_NAME
 * bytes? */
bool mortise_secret_is_name(const char *name);

/* Does the string contain `secret://`? */
bool mortise_secret_has_ref(const char *s);
/* The name of the reference in s (a pointer into s); NULL: not a valid
 * reference. */
const char *mortise_secret_get_name(const char *s);
/* The string with its reference replaced by `value`: a new JSON string; NULL:
 * out of memory. */
json_t *mortise_secret_substitute(const struct mortise_mem *mem, const char *s,
                                  const char *value);

/* Places as JSON pointers.  A token ~2 matches any key or index. */
struct mortise_secret_places {
    const char *const *list; /* in an arena */
    size_t n;
};

/* Find the places that a schema marks below `properties`,
 * `additionalProperties` and `items`.  *lost: the number of marks elsewhere,
 * which are not supported. */
int mortise_secret_places(struct mortise_secret_places *out, size_t *lost,
                          struct mortise_arena *a, const json_t *schema);
bool mortise_secret_is_allowed_at(const struct mortise_secret_places *places,
                                  const char *pointer);

/* Call `fn` for each string of a value that contains `secret://`, until it
 * returns something else than MORTISE_OK.  It may set *string to a new value,
 * which the walk takes; then nobody else may hold `value`. */
typedef int mortise_secret_fn(void *ud, const char *pointer, json_t **string);
int mortise_secret_for_each(json_t *value, const struct mortise_mem *mem,
                            mortise_secret_fn *fn, void *ud);

#endif
