/* secret.h -- secrets in values: references to them, and where they may stand.
 *
 * A reference is `secret://NAME`, whole or at the end of a string behind a
 * blank ("Bearer secret://NAME").  A schema marks with `x-secret: true` where
 * one may stand. [any] */
#ifndef MORTISE_JSON_SECRET_H
#define MORTISE_JSON_SECRET_H

#include "core/json/value.h"

enum { MORTISE_SECRET_NAME = 64 }; /* bytes of a name, at most */

/* [A-Za-z0-9][A-Za-z0-9._-]* */
bool mortise_secret_is_name(const char *name);

/* Does the string mention `secret://`? */
bool mortise_secret_in(const char *s);
/* The name that a reference ends with (inside s), or NULL: it is none. */
const char *mortise_secret_name(const char *s);
/* The string with the value in the place of its reference, a new reference;
 * NULL when memory ran out. */
json_t *mortise_secret_fill(const struct mortise_mem *mem, const char *s,
                            const char *value);

/* Places, as pointers; a token ~2 is any key or index. */
struct mortise_secret_places {
    const char *const *list; /* in an arena */
    size_t n;
};

/* Those that a schema marks below `properties`, `additionalProperties` and
 * `items`.  *lost: marks that stand elsewhere, which nobody follows. */
int mortise_secret_places(struct mortise_secret_places *out, size_t *lost,
                          struct mortise_arena *a, const json_t *schema);
bool mortise_secret_place(const struct mortise_secret_places *places,
                          const char *pointer);

/* Each string of a value that mentions `secret://`; `fn` returns MORTISE_OK or
 * what ends the walk.  It may set *string to a new value, whose reference is
 * taken: `value` must then be nobody else's. */
typedef int mortise_secret_fn(void *ud, const char *pointer, json_t **string);
int mortise_secret_each(json_t *value, const struct mortise_mem *mem,
                        mortise_secret_fn *fn, void *ud);

#endif
